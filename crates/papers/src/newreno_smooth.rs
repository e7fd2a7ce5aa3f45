//! draft-nishida-newreno-modification-02: what NewReno's full ACK makes of the window. Both tables
//! of its section 6.

use super::claims::{Finding, Verdict};
use super::judging::{self, Whose, all_below, interval, list, row};
use super::reproduction::{Exhibit, Table};
use super::{Evidence, ExperimentFile, Judgement, Observe, Paper, Part};
use dupack_lab::experiment::{Experiment, Seeds};
use dupack_lab::results::Measure;
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;
use dupack_lab::units::ByteCount;
use dupack_report::figure::{LineChart, Point, Series};
use dupack_report::page::Cell;

pub(super) static PAPER: Paper = Paper {
    key: "newreno-smooth",
    claims: include_str!("../../../experiments/papers/newreno-smooth/claims.toml"),
    readme: include_str!("../../../experiments/papers/newreno-smooth/README.md"),
    experiments: &[ExperimentFile {
        name: "tables",
        text: include_str!("../../../experiments/papers/newreno-smooth/tables.toml"),
        observe: Observe::Measures,
        quicken,
    }],
    judge,
};

/// A fifth of the packets, an eighth of the seeds.
fn quicken(experiment: &mut Experiment) {
    experiment.seeds = Seeds::Count(5);
    for group in &mut experiment.flows {
        group.bytes = Some(ByteCount::from_bytes(20_000_000));
    }
}

const THROUGHPUT: &str = include_str!("../../../experiments/papers/newreno-smooth/throughput.csv");
const EVENTS: &str = include_str!("../../../experiments/papers/newreno-smooth/events.csv");
/// ns-2.35 in this setting, by default and with `exit_recovery_fix_`.
const NS2: &str = include_str!("../../../peers/ns2/nishida.csv");
const NS2_FIX: &str = include_str!("../../../peers/ns2/nishida-fix.csv");

/// The stacks of `tables.toml`, in its order.
const ALGORITHMS: [&str; 4] = ["alg1", "alg2", "alg3", "keep"];
const ALG1: usize = 0;
const ALG2: usize = 1;
const ALG3: usize = 2;
const KEEP: usize = 3;
/// Loss rates of the tables.
const RATES: usize = 6;
const PACKETS: f64 = 100_000.0;

/// The draft's figures: a row per algorithm, a column per loss rate.
fn draft(text: &str) -> Vec<Vec<f64>> {
    let rows = text.lines().skip(1);
    rows.map(|row| {
        let cells = row.split(',').skip(1);
        cells
            .map(|cell| cell.parse().expect("the built-in figures are numbers"))
            .collect()
    })
    .collect()
}

/// Mean goodput of ns-2.35 by loss rate, in kB/s.
fn ns2(text: &str) -> Vec<f64> {
    let mut rates = vec![Vec::new(); RATES];
    for row in text.lines().skip(1) {
        let cells: Vec<f64> = row.split(',').filter_map(|c| c.parse().ok()).collect();
        let rate = (cells[0] * 100.0).round() as usize;
        rates[rate - 1].push(cells[2] / 1e3);
    }
    rates
        .iter()
        .filter_map(|r| dupack_lab::stats::mean(r))
        .collect()
}

/// A quantity of a run, in the draft's unit.
#[derive(Clone, Copy)]
enum Quantity {
    /// kB/s.
    Throughput,
    /// Per 100 000 packets.
    Events,
}

/// Ours, by algorithm and loss rate.
struct Ours<'r>(&'r Part);

impl Ours<'_> {
    fn samples(&self, quantity: Quantity, algorithm: usize, rate: usize) -> Vec<f64> {
        let bytes = self
            .0
            .results
            .experiment
            .flows
            .first()
            .and_then(|f| f.bytes);
        let packets = bytes.map_or(PACKETS, |b| b.as_bytes() as f64 / 1e3);
        let (measure, scale) = match quantity {
            Quantity::Throughput => (Measure::Goodput, 1e3 / 8.0),
            Quantity::Events => (Measure::RecoveriesLeftEmpty, PACKETS / packets),
        };
        let samples = self.0.results.samples(rate, algorithm, measure);
        samples.map(|(_, value)| value * scale).collect()
    }

    fn summary(&self, quantity: Quantity, algorithm: usize, rate: usize) -> Option<Summary> {
        Summary::of(&self.samples(quantity, algorithm, rate))
    }

    /// All loss rates, if none is missing.
    fn row(&self, quantity: Quantity, algorithm: usize) -> Option<Vec<Summary>> {
        (0..RATES)
            .map(|rate| self.summary(quantity, algorithm, rate))
            .collect()
    }

    /// Throughput of `algorithm` over that of `base`, paired by seed, at every loss rate.
    fn ratios(&self, algorithm: usize, base: usize) -> Option<Vec<Summary>> {
        self.0.ratios(algorithm, base, Measure::Goodput)
    }
}

fn judge(evidence: &Evidence) -> Judgement {
    let mut judgement = Judgement::default();
    let Some(part) = evidence.part("tables") else {
        return judgement;
    };
    let ours = Ours(part);
    judgement.findings = vec![
        ("alg2-worst", alg2_worst(&ours)),
        ("alg2-deficit", within(&ours, ALG2, (0.50, 0.85))),
        ("alg2-grows-worse", alg2_grows_worse(&ours)),
        ("alg3-close", within(&ours, ALG3, (0.95, 1.05))),
        ("alg1-best", alg1_best(&ours)),
        (
            "throughput-figures",
            figures_agree(&ours, Quantity::Throughput, 0.10),
        ),
        ("event-share", event_share(&ours)),
        ("events-grow", events_grow(&ours)),
        ("events-alike", events_alike(&ours)),
        (
            "event-figures",
            figures_agree(&ours, Quantity::Events, 0.15),
        ),
    ];
    judgement.exhibits = exhibits(&ours);
    judgement
}

fn alg2_worst(ours: &Ours<'_>) -> Option<Finding> {
    let (to_first, to_third) = (ours.ratios(ALG2, ALG1)?, ours.ratios(ALG2, ALG3)?);
    let holds = all_below(&to_first, 1.0) && all_below(&to_third, 1.0);
    Some(Finding::new(
        Verdict::of(holds),
        format!(
            "alg2 / alg1: {}; alg2 / alg3: {}",
            list(&to_first, 3),
            list(&to_third, 3)
        ),
    ))
}

fn alg1_best(ours: &Ours<'_>) -> Option<Finding> {
    let (second, third) = (ours.ratios(ALG2, ALG1)?, ours.ratios(ALG3, ALG1)?);
    let holds = all_below(&second, 1.0) && all_below(&third, 1.0);
    Some(Finding::new(
        Verdict::of(holds),
        format!(
            "alg2 / alg1: {}; alg3 / alg1: {}",
            list(&second, 3),
            list(&third, 3)
        ),
    ))
}

/// Whether the ratio to alg1 lies within bounds at every loss rate.
fn within(ours: &Ours<'_>, algorithm: usize, bounds: (f64, f64)) -> Option<Finding> {
    let ratios = ours.ratios(algorithm, ALG1)?;
    let verdict = judging::all(ratios.iter().map(|s| judging::within(s, bounds)));
    let changes = ratios.iter().map(|s| {
        let half = s
            .half_width_95
            .map_or(String::new(), |h| format!(" ±{:.1}", h * 100.0));
        format!("{:.1}{half}", (1.0 - s.mean) * 100.0)
    });
    let changes: Vec<String> = changes.collect();
    Some(Finding::new(
        verdict,
        format!("{} % less than alg1", changes.join(", ")),
    ))
}

fn alg2_grows_worse(ours: &Ours<'_>) -> Option<Finding> {
    let ratios = ours.ratios(ALG2, ALG1)?;
    let (first, last) = (ratios.first()?, ratios.last()?);
    Some(Finding::new(
        Verdict::of(interval(last).1 < interval(first).0),
        format!(
            "alg2 / alg1: {} at 1 %, {} at 6 %",
            spread(first, 3),
            spread(last, 3)
        ),
    ))
}

/// Whether every mean is near the draft's figure.
fn figures_agree(ours: &Ours<'_>, quantity: Quantity, tolerance: f64) -> Option<Finding> {
    let paper = draft(match quantity {
        Quantity::Throughput => THROUGHPUT,
        Quantity::Events => EVENTS,
    });
    let mut off = Vec::new();
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (algorithm, figures) in paper.iter().enumerate() {
        let means = ours.row(quantity, algorithm)?;
        for (rate, (mean, figure)) in means.iter().zip(figures).enumerate() {
            let ratio = mean.mean / figure;
            (low, high) = (low.min(ratio), high.max(ratio));
            if (ratio - 1.0).abs() > tolerance {
                let name = ALGORITHMS[algorithm];
                off.push(format!("{name} at {} %: ×{ratio:.2}", rate + 1));
            }
        }
    }
    let mut found = format!("from ×{low:.2} to ×{high:.2} of the draft's");
    if !off.is_empty() {
        found = format!("{found}; beyond the bound: {}", off.join(", "));
    }
    Some(Finding::new(Verdict::of(off.is_empty()), found))
}

fn event_share(ours: &Ours<'_>) -> Option<Finding> {
    let mut holds = true;
    let mut parts = Vec::new();
    for (algorithm, name) in ALGORITHMS.iter().enumerate().take(KEEP) {
        let row = ours.row(Quantity::Events, algorithm)?;
        let share = |s: &Summary| (s.mean / PACKETS * 1000.0).round() / 10.0;
        let (first, last) = (share(row.first()?), share(row.last()?));
        holds &= first == 0.1 && (1.8..=2.2).contains(&last);
        parts.push(format!("{name}: {first:.1} % and {last:.1} %"));
    }
    Some(Finding::new(Verdict::of(holds), parts.join("; ")))
}

fn events_grow(ours: &Ours<'_>) -> Option<Finding> {
    let mut holds = true;
    let mut parts = Vec::new();
    for (algorithm, name) in ALGORITHMS.iter().enumerate().take(KEEP) {
        let row = ours.row(Quantity::Events, algorithm)?;
        holds &= row
            .windows(2)
            .all(|pair| interval(&pair[0]).1 < interval(&pair[1]).0);
        parts.push(format!("{name}: {}", list(&row, 0)));
    }
    Some(Finding::new(Verdict::of(holds), parts.join("; ")))
}

fn events_alike(ours: &Ours<'_>) -> Option<Finding> {
    let rows: Option<Vec<_>> = (0..KEEP).map(|a| ours.row(Quantity::Events, a)).collect();
    let rows = rows?;
    let apart = (0..RATES).map(|rate| {
        let means = rows.iter().map(|row| row[rate].mean);
        let low = means.clone().fold(f64::INFINITY, f64::min);
        means.fold(0.0, f64::max) / low - 1.0
    });
    let apart: Vec<f64> = apart.collect();
    let texts: Vec<String> = apart.iter().map(|a| format!("{:.0}", a * 100.0)).collect();
    Some(Finding::new(
        Verdict::of(apart.iter().all(|a| *a <= 0.15)),
        format!("{} % apart", texts.join(", ")),
    ))
}

fn exhibits(ours: &Ours<'_>) -> Vec<Exhibit> {
    let unit = "The draft's table says kbps, and is read as kilobytes per second: in the same setting \
                ns-2.35 measures these figures in kB/s, and eight times as much in kbit/s.";
    let code = "The draft calls alg1 the original code of ns-2. It is that of ns-2.35 with \
                exit_recovery_fix_ set; by default ns-2 keeps cwnd at the full ACK (keep), \
                and is faster than all three.";
    let mut out = vec![
        Exhibit::Heading("Throughput, in kB/s".to_owned()),
        Exhibit::Note(unit.to_owned()),
        Exhibit::Note(code.to_owned()),
        Exhibit::Table(throughput_table(ours)),
        Exhibit::Table(ratio_table(ours)),
    ];
    out.extend(drawn(ours, Quantity::Throughput));
    out.push(Exhibit::Heading(
        "Nothing outstanding after fast recovery".to_owned(),
    ));
    out.push(Exhibit::Table(event_table(ours)));
    out.extend(drawn(ours, Quantity::Events));
    out
}

fn header(first: &str, second: &str) -> Vec<String> {
    let rates = (1..=RATES).map(|rate| format!("{rate} %"));
    [first.to_owned(), second.to_owned()]
        .into_iter()
        .chain(rates)
        .collect()
}

fn our_row(
    ours: &Ours<'_>,
    quantity: Quantity,
    algorithm: usize,
    group: &str,
    decimals: usize,
) -> Vec<Cell> {
    let cells = (0..RATES).map(|rate| {
        ours.summary(quantity, algorithm, rate)
            .map_or("–".to_owned(), |s| spread(&s, decimals))
    });
    row(group, Whose::Ours, "here", cells)
}

fn throughput_table(ours: &Ours<'_>) -> Table {
    let mut rows = Vec::new();
    for (algorithm, figures) in draft(THROUGHPUT).iter().enumerate() {
        let name = ALGORITHMS[algorithm];
        let cells = figures.iter().map(|f| format!("{f:.1}"));
        rows.push(row(name, Whose::Paper, "the draft", cells));
        rows.push(our_row(ours, Quantity::Throughput, algorithm, "", 1));
        if algorithm == ALG1 {
            let cells = ns2(NS2_FIX).into_iter().map(|m| format!("{m:.1}"));
            rows.push(row(
                "",
                Whose::Paper,
                "ns-2.35, exit_recovery_fix_ 1",
                cells,
            ));
        }
    }
    rows.push(our_row(ours, Quantity::Throughput, KEEP, "keep", 1));
    let cells = ns2(NS2).into_iter().map(|m| format!("{m:.1}"));
    rows.push(row("", Whose::Paper, "ns-2.35, by default", cells));
    Table {
        name: "throughput".to_owned(),
        caption: "Throughput in kB/s by loss rate. Here: mean over the seeds ± half the 95 % confidence interval; \
                  the draft: one figure each; ns-2.35: means of ten runs, measured by us."
            .to_owned(),
        header: header("", ""),
        rows,
    }
}

fn ratio_table(ours: &Ours<'_>) -> Table {
    let paper = draft(THROUGHPUT);
    let mut rows = Vec::new();
    for algorithm in [ALG2, ALG3] {
        let name = format!("{} / alg1", ALGORITHMS[algorithm]);
        let cells = paper[algorithm].iter().zip(&paper[ALG1]);
        let cells = cells.map(|(a, b)| format!("{:.3}", a / b));
        rows.push(row(&name, Whose::Paper, "the draft", cells));
        let ratios = ours.ratios(algorithm, ALG1).unwrap_or_default();
        rows.push(row(
            "",
            Whose::Ours,
            "here",
            ratios.iter().map(|r| spread(r, 3)),
        ));
    }
    Table {
        name: "throughput-ratios".to_owned(),
        caption: "The same as a ratio to alg1. Here: paired by seed, so that most of the losses' chance cancels."
            .to_owned(),
        header: header("", ""),
        rows,
    }
}

fn event_table(ours: &Ours<'_>) -> Table {
    let mut rows = Vec::new();
    for (algorithm, figures) in draft(EVENTS).iter().enumerate() {
        let cells = figures.iter().map(|f| format!("{f:.0}"));
        rows.push(row(ALGORITHMS[algorithm], Whose::Paper, "the draft", cells));
        rows.push(our_row(ours, Quantity::Events, algorithm, "", 0));
    }
    rows.push(our_row(ours, Quantity::Events, KEEP, "keep", 0));
    Table {
        name: "events".to_owned(),
        caption:
            "Recoveries whose last ACK left nothing outstanding, per 100 000 packets, by loss rate."
                .to_owned(),
        header: header("", ""),
        rows,
    }
}

/// Ours beside the draft's, over the loss rate.
fn drawn(ours: &Ours<'_>, quantity: Quantity) -> Option<Exhibit> {
    let (name, title, y_label, text) = match quantity {
        Quantity::Throughput => (
            "throughput",
            "Throughput of the three ways, here and in the draft",
            "throughput (kB/s)",
            THROUGHPUT,
        ),
        Quantity::Events => (
            "events",
            "Recoveries that left nothing outstanding, here and in the draft",
            "per 100 000 packets",
            EVENTS,
        ),
    };
    let mut series = Vec::new();
    for (algorithm, figures) in draft(text).iter().enumerate() {
        let name = ALGORITHMS[algorithm];
        let points = (0..RATES).filter_map(|rate| {
            let summary = ours.summary(quantity, algorithm, rate)?;
            let x = (rate + 1) as f64;
            Some(Point::from((x, summary.mean, summary.half_width_95)))
        });
        series.push(Series {
            name: format!("{name}, here"),
            points: points.collect(),
        });
        let points = figures.iter().zip(1..);
        let points = points.map(|(figure, rate)| Point::from((f64::from(rate), *figure, None)));
        series.push(Series {
            name: format!("{name}, draft"),
            points: points.collect(),
        });
    }
    let chart = LineChart {
        title: title.to_owned(),
        subtitle: "10 Mbit/s · 2 ms one way · delayed ACK 200 ms · ns-2's rules".to_owned(),
        x_label: "packet loss (%)".to_owned(),
        y_label: y_label.to_owned(),
        y_from_zero: true,
        series,
        ..LineChart::default()
    };
    judging::figure(
        name,
        "Mean over the seeds; the whiskers are 95 % confidence intervals. The draft gives one figure each.",
        chart.svg(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_figures_are_complete() {
        for text in [THROUGHPUT, EVENTS] {
            let rows = draft(text);
            assert_eq!(rows.len(), KEEP);
            assert!(rows.iter().all(|row| row.len() == RATES));
        }
        assert_eq!(ns2(NS2).len(), RATES);
        // What papers call ns-2's result in this setting.
        assert!((ns2(NS2)[0] - 1052.0).abs() < 10.0);
        assert!((ns2(NS2_FIX)[5] - 186.7).abs() < 0.1);
    }
}
