//! Figures 1, 3 and 4 redrawn, and the tables behind them.

use super::claims::{accuracy, against_the_best, percent};
use super::gains::{Gains, Scenario, everywhere};
use super::{ALGORITHMS, Groups, METHODS, TCP};
use crate::judging::figure;
use crate::reproduction::{Exhibit, Table};
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;
use dupack_report::figure::{Bar, BarChart, BarSeries, Reference};
use dupack_report::page::{Cell, Emphasis};

const NONE: &str = "–";

pub(super) fn exhibits(groups: &Groups) -> Vec<Exhibit> {
    let mut out = wireless(groups);
    out.extend(congestion(&groups.c));
    out.extend([
        Exhibit::Heading("Both groups: gains and ranks".to_owned()),
        Exhibit::Table(gains_table(groups)),
        Exhibit::Heading("The dynamic response".to_owned()),
        Exhibit::Table(dynamic_table(groups)),
        Exhibit::Heading("Figure 1: loss differentiation".to_owned()),
        Exhibit::Table(accuracy_table(&groups.lda_w, &groups.lda_c)),
        Exhibit::Table(range_table(&groups.lda_w, &groups.lda_c)),
    ]);
    out.extend(ranges(&groups.lda_w, &groups.lda_c));
    out
}

type Place = Box<dyn Fn(&Scenario) -> bool>;

fn wireless(groups: &Groups) -> Vec<Exhibit> {
    let w = &groups.w;
    let losses = [1.0, 3.0, 5.0].map(|loss| {
        let at: Place = Box::new(move |s| s.hops == 1 && (s.loss - loss).abs() < 1e-9);
        (format!("{loss:.0} % loss"), at)
    });
    let hops = by_hops();
    let mut out = vec![Exhibit::Heading(
        "Figure 3: group W, one flow and the link's losses only".to_owned(),
    )];
    out.extend(figure(
        "figure3a",
        "Change of goodput against TCP (method 0) by response and loss rate. Means over the seeds; whiskers are \
         95 % confidence intervals, paired by seed.",
        chart("Figure 3(a): responses by loss rate", "1 hop · one flow", w, &losses).svg(),
    ));
    out.extend(figure(
        "figure3b",
        "The same by the number of hops, over the three loss rates per hop.",
        chart(
            "Figure 3(b): responses by hops",
            "loss of 1, 3 and 5 % per hop · one flow",
            w,
            &hops,
        )
        .svg(),
    ));
    out.extend(figure(
        "figure3a-1s",
        "As figure 3(a), but with a retransmission timer of at least 1 s (RFC 6298) instead of 200 ms. The paper does \
         not say which it had.",
        chart("Figure 3(a), timer of at least 1 s", "1 hop · one flow", &groups.w_1s, &losses).svg(),
    ));
    out.extend(figure(
        "figure3b-1s",
        "As figure 3(b), with that timer.",
        chart(
            "Figure 3(b), timer of at least 1 s",
            "loss of 1, 3 and 5 % per hop · one flow",
            &groups.w_1s,
            &hops,
        )
        .svg(),
    ));
    out
}

fn congestion(c: &Gains) -> Vec<Exhibit> {
    let flows = [5, 15, 20].map(|flows| {
        let at: Place = Box::new(move |s| s.hops == 1 && s.flows == flows);
        (format!("{flows} flows"), at)
    });
    let hops = by_hops();
    let mut out = vec![Exhibit::Heading(
        "Figure 4: group C, congestion only, every loss taken for the link's".to_owned(),
    )];
    out.extend(figure(
        "figure4a",
        "Change of the goodput of all flows together against TCP, by response and number of flows, over the buffers.",
        chart("Figure 4(a): responses by flows", "1 hop · buffers of 10 to 50 packets", c, &flows).svg(),
    ));
    out.extend(figure(
        "figure4b",
        "The same by the number of hops, over flows and buffers.",
        chart(
            "Figure 4(b): responses by hops",
            "5, 15 and 20 flows · buffers of 10 to 50 packets",
            c,
            &hops,
        )
        .svg(),
    ));
    out
}

fn by_hops() -> [(String, Place); 3] {
    [1, 3, 5].map(|hops| {
        let at: Place = Box::new(move |s| s.hops == hops);
        let plural = if hops == 1 { "" } else { "s" };
        (format!("{hops} hop{plural}"), at)
    })
}

/// Changes in per cent by method, a bar for each of `series`.
fn chart(title: &str, subtitle: &str, gains: &Gains, series: &[(String, Place)]) -> BarChart {
    let bars = |at: &Place| {
        let methods = 1..METHODS.len();
        methods
            .map(|method| gains.gain(method, at).map(|gain| bar(&gain)))
            .collect()
    };
    BarChart {
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        value_label: "goodput against TCP (%)".to_owned(),
        categories: METHODS[1..].iter().map(|m| (*m).to_owned()).collect(),
        series: series
            .iter()
            .map(|(name, at)| BarSeries {
                name: name.clone(),
                bars: bars(at),
            })
            .collect(),
        reference: Some(Reference {
            value: 0.0,
            name: "TCP".to_owned(),
        }),
    }
}

fn bar(gain: &Summary) -> Bar {
    Bar {
        mean: (gain.mean - 1.0) * 100.0,
        half_width: gain.half_width_95.map(|half| half * 100.0),
    }
}

/// Methods with the rank of their mean gain, 1 the best.
fn ranks(gains: &Gains) -> Vec<usize> {
    let means: Vec<f64> = (0..METHODS.len())
        .map(|method| {
            gains
                .gain(method, everywhere)
                .map_or(f64::NEG_INFINITY, |gain| gain.mean)
        })
        .collect();
    let better = |own: &f64| means.iter().filter(|mean| *mean > own).count();
    means.iter().map(|mean| better(mean) + 1).collect()
}

fn cell(gain: Option<Summary>, best: bool) -> Cell {
    let emphasis = if best {
        Emphasis::Best
    } else {
        Emphasis::Number
    };
    Cell::new(gain.map_or(NONE.to_owned(), |g| percent(&g)), emphasis)
}

fn gains_table(groups: &Groups) -> Table {
    let parts = [
        &groups.w,
        &groups.c,
        &groups.drawn_w,
        &groups.drawn_c,
        &groups.w_1s,
    ];
    let ranked = parts.map(ranks);
    let rows = METHODS.iter().enumerate().map(|(method, name)| {
        let mut row = vec![Cell::new(*name, Emphasis::Group)];
        for (gains, ranks) in parts.iter().zip(&ranked) {
            let rank = ranks[method];
            row.push(cell(gains.gain(method, everywhere), rank == 1));
            row.push(Cell::new(rank.to_string(), Emphasis::Number));
        }
        row
    });
    Table {
        name: "gains".to_owned(),
        caption: "Mean change of goodput against TCP over all scenarios of a group, ± half the 95 % confidence \
                  interval, and the method's rank. The drawn groups were drawn after the dynamic response was \
                  designed on W and C."
            .to_owned(),
        header: ["method", "W", "rank", "C", "rank", "drawn W", "rank", "drawn C", "rank", "W, RTO ≥ 1 s", "rank"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}

fn dynamic_table(groups: &Groups) -> Table {
    let rows = [
        ("W", &groups.w),
        ("C", &groups.c),
        ("drawn W", &groups.drawn_w),
        ("drawn C", &groups.drawn_c),
        ("W, RTO ≥ 1 s", &groups.w_1s),
        ("drawn W, RTO ≥ 1 s", &groups.drawn_w_1s),
        ("drawn C, RTO ≥ 1 s", &groups.drawn_c_1s),
    ];
    let rows = rows.into_iter().filter_map(|(name, gains)| {
        let (own, (best, gain), difference) = against_the_best(gains)?;
        let points = Summary {
            mean: difference.mean * 100.0,
            half_width_95: difference.half_width_95.map(|half| half * 100.0),
            ..difference
        };
        Some(vec![
            Cell::new(name, Emphasis::Group),
            cell(Some(own), own.mean > gain.mean),
            Cell::new(METHODS[best], Emphasis::Number),
            cell(Some(gain), gain.mean >= own.mean),
            Cell::new(spread(&points, 1), Emphasis::Number),
        ])
    });
    Table {
        name: "dynamic".to_owned(),
        caption: "The dynamic response against the best of the fifteen methods and TCP in each group: mean change of \
                  goodput against TCP, and the difference in percentage points, paired by scenario and seed."
            .to_owned(),
        header: ["group", "dynamic", "best other", "its gain", "difference"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}

fn accuracy_table(w: &Gains, c: &Gains) -> Table {
    let paper = |name: &str| match name {
        "TCP" => ["0", "100", "50"],
        "LDA_EQ" => ["67", "93", "80"],
        _ => [NONE; 3],
    };
    let rows = ALGORITHMS.iter().enumerate().map(|(algorithm, name)| {
        let ours = accuracy(w, c, algorithm);
        let ours = ours.map_or(
            [NONE; 3].map(str::to_owned),
            |(wireless, congestion, mean)| {
                [
                    spread(&wireless, 1),
                    spread(&congestion, 1),
                    format!("{mean:.1}"),
                ]
            },
        );
        let mut row = vec![Cell::new(*name, Emphasis::Group)];
        for (ours, theirs) in ours.into_iter().zip(paper(name)) {
            row.push(Cell::new(ours, Emphasis::Best));
            row.push(Cell::new(theirs, Emphasis::Number));
        }
        row
    });
    Table {
        name: "accuracy".to_owned(),
        caption: "Loss events judged rightly, in per cent: A_w of the link's losses in group W, A_c of congestion \
                  losses in group C, A_t their mean. The paper's text gives TCP's and LDA_EQ's only; oracle, zigzag \
                  and always are not in the paper."
            .to_owned(),
        header: ["algorithm", "A_w", "paper", "A_c", "paper", "A_t", "paper"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}

/// Lowest, mean and highest gain of an algorithm over the scenarios of both groups, in per cent.
fn range(w: &Gains, c: &Gains, algorithm: usize) -> Option<[f64; 3]> {
    let points = [w.by_point(algorithm), c.by_point(algorithm)].concat();
    let all = Summary::of(&points)?;
    Some([all.min, all.mean, all.max].map(|gain| (gain - 1.0) * 100.0))
}

fn range_table(w: &Gains, c: &Gains) -> Table {
    let paper = |name: &str| match name {
        "Veno" => "−6, 0, 6",
        "LDA_EQ" => "−8, 0, 7",
        _ => NONE,
    };
    let rows = (TCP + 1..ALGORITHMS.len()).map(|algorithm| {
        let ours = range(w, c, algorithm).unwrap_or([f64::NAN; 3]);
        let means = [w, c].map(|group| cell(group.gain(algorithm, everywhere), false));
        let mut row = vec![Cell::new(ALGORITHMS[algorithm], Emphasis::Group)];
        row.extend(ours.map(|gain| Cell::new(format!("{gain:.1}"), Emphasis::Best)));
        row.push(Cell::new(paper(ALGORITHMS[algorithm]), Emphasis::Number));
        row.extend(means);
        row
    });
    Table {
        name: "figure1b".to_owned(),
        caption: "Change of goodput against TCP when method 1 answers what the algorithm takes for the link's, in per \
                  cent: lowest, mean and highest over the scenarios of both groups (each the mean over its seeds), \
                  the paper's words, and the means over the runs of each group."
            .to_owned(),
        header: ["algorithm", "lowest", "mean", "highest", "the paper", "mean in W", "mean in C"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}

/// Which number of a summary is drawn.
type Pick = fn(&Summary) -> f64;

/// Figure 1(b): in its two groups, since their scales differ by an order of magnitude.
fn ranges(w: &Gains, c: &Gains) -> Vec<Exhibit> {
    let one = |name: &str, title: &str, gains: &Gains| {
        let points = |algorithm| Summary::of(&gains.by_point(algorithm));
        let bars = |pick: Pick| {
            let one = |algorithm| {
                points(algorithm).map(|all| Bar {
                    mean: (pick(&all) - 1.0) * 100.0,
                    half_width: None,
                })
            };
            (TCP + 1..ALGORITHMS.len()).map(one).collect()
        };
        let kinds: [(&str, Pick); 3] = [
            ("lowest", |all| all.min),
            ("mean", |all| all.mean),
            ("highest", |all| all.max),
        ];
        let chart = BarChart {
            title: title.to_owned(),
            subtitle: "method 1 answers what is judged the link's".to_owned(),
            value_label: "goodput against TCP (%)".to_owned(),
            categories: ALGORITHMS[TCP + 1..]
                .iter()
                .map(|a| (*a).to_owned())
                .collect(),
            series: kinds
                .into_iter()
                .map(|(name, pick)| BarSeries {
                    name: name.to_owned(),
                    bars: bars(pick),
                })
                .collect(),
            reference: Some(Reference {
                value: 0.0,
                name: "TCP".to_owned(),
            }),
        };
        figure(
            name,
            "Lowest, mean and highest change of goodput over the scenarios, each the mean over its seeds.",
            chart.svg(),
        )
    };
    let w = one("figure1b-w", "Figure 1(b): differentiation in group W", w);
    let c = one("figure1b-c", "Figure 1(b): differentiation in group C", c);
    w.into_iter().chain(c).collect()
}
