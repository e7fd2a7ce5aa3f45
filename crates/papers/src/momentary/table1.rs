//! Table 1: standard and Momentary flows on one link (section 4.2).

use super::numbers::{number, paper_rows};
use crate::claims::{Finding, Verdict};
use crate::evidence::{Evidence, Part};
use crate::judging::{self, Whose, all_above, figure, finding, list, row};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::experiment::Experiment;
use dupack_lab::stats::spread;
use dupack_lab::stats::{Summary, jain_index};
use dupack_lab::units::{Buffer, Delay, Rate};
use dupack_report::figure::{Bar, BarChart, BarSeries};

const PAPER: &str = include_str!("../../experiments/momentary/table1.csv");

/// All flows there are, in the paper.
const FLOWS: u32 = 1000;
/// By how much a quick look divides flows, rate and buffer, so that the share of each stays.
const QUICK: u32 = 20;
const QUICK_DURATION: Delay = Delay::from_nanos(30_000_000_000);
/// What is not measured of it.
const QUICK_START: Delay = Delay::from_nanos(10_000_000_000);

/// Fewer flows on a link that is slower in proportion, and half a minute.
pub(super) fn quicken(experiment: &mut Experiment) {
    experiment.duration = QUICK_DURATION;
    experiment.warm_up = QUICK_START;
    for group in &mut experiment.flows {
        group.count /= QUICK;
    }
    if let Some(path) = &mut experiment.path {
        path.rate = path
            .rate
            .map(|rate| Rate::from_bits_per_second(rate.as_bits_per_second() / u64::from(QUICK)));
        path.buffer = path.buffer.map(|buffer| match buffer {
            Buffer::Packets(packets) => Buffer::Packets(packets / QUICK),
            Buffer::Bytes(bytes) => Buffer::Bytes(bytes / u64::from(QUICK)),
        });
    }
}

/// The same of the beginning alone.
pub(super) fn quicken_start(experiment: &mut Experiment) {
    quicken(experiment);
    experiment.duration = QUICK_START;
    experiment.warm_up = Delay::default();
}

/// A row of the table: what the flows of each kind got, in kbit/s.
struct Mix {
    /// Flows of the standard among [`FLOWS`].
    standard_flows: u32,
    standard: Vec<f64>,
    momentary: Vec<f64>,
}

/// The table, as far as its runs are there.
pub(super) struct Mixes {
    mixes: Vec<Mix>,
    /// The mix of halves with its beginning.
    whole: Option<Mix>,
}

/// The experiments that mix, and how many standard flows they have.
const MIXED: [(&str, u32); 3] = [
    ("table1-300", 300),
    ("table1-500", 500),
    ("table1-700", 700),
];

/// Goodputs of the flows of each run in kbit/s, in the order of the seeds; nothing if there is none.
fn goodputs(part: &Part, stack: usize) -> Option<Vec<Vec<f64>>> {
    let runs = part.results.runs.iter().filter(|run| run.stack == stack);
    let in_kbps = |mbps: &f64| mbps * 1e3;
    let runs = runs.map(|run| run.flow_goodputs.iter().map(in_kbps).collect());
    let runs: Vec<Vec<f64>> = runs.collect();
    (!runs.is_empty()).then_some(runs)
}

impl Mixes {
    /// In the order of the paper's table; nothing if a run is missing.
    pub(super) fn of(evidence: &Evidence) -> Option<Self> {
        let alone = evidence.part("table1-alone")?;
        let whole = whole_run(evidence.part("table1-500"), evidence.part("table1-start"));
        let mut mixes = vec![Mix {
            standard_flows: 0,
            standard: Vec::new(),
            momentary: goodputs(alone, 1)?.concat(),
        }];
        for (name, standard_flows) in MIXED {
            let part = evidence.part(name)?;
            mixes.push(Mix::of(part, standard_flows, &goodputs(part, 0)?)?);
        }
        mixes.push(Mix {
            standard_flows: FLOWS,
            standard: goodputs(alone, 0)?.concat(),
            momentary: Vec::new(),
        });
        Some(Self { mixes, whole })
    }

    fn mixed(&self) -> impl Iterator<Item = &Mix> {
        let both = |mix: &&Mix| !mix.standard.is_empty() && !mix.momentary.is_empty();
        self.mixes.iter().filter(both)
    }

    /// What 1000 standard flows get.
    fn all_standard(&self) -> Option<Summary> {
        Summary::of(&self.mixes.last()?.standard)
    }

    fn all_momentary(&self) -> Option<Summary> {
        Summary::of(&self.mixes.first()?.momentary)
    }

    /// What the standard flows of each mix keep of that.
    fn kept(&self) -> Option<Vec<Summary>> {
        let alone = self.all_standard()?;
        self.mixed()
            .map(|mix| Some(ratio_of_means(&Summary::of(&mix.standard)?, &alone)))
            .collect()
    }

    /// Momentary's over the standard's, in each mix.
    fn advantages(&self) -> Option<Vec<Summary>> {
        self.mixed()
            .map(|mix| {
                let (own, other) = (Summary::of(&mix.momentary)?, Summary::of(&mix.standard)?);
                Some(ratio_of_means(&own, &other))
            })
            .collect()
    }

    /// Jain's index over the Momentary flows of each mix that has any, of all runs together.
    fn fairness(&self) -> Option<Vec<f64>> {
        let with = self.mixes.iter().filter(|mix| !mix.momentary.is_empty());
        with.map(|mix| jain_index(&mix.momentary)).collect()
    }
}

impl Mix {
    /// From the goodputs of all flows of each run, standard flows first.
    fn of(part: &Part, standard_flows: u32, runs: &[Vec<f64>]) -> Option<Self> {
        let count = part.results.experiment.flows.first()?.count as usize;
        let mut mix = Self {
            standard_flows,
            standard: Vec::new(),
            momentary: Vec::new(),
        };
        for run in runs {
            let (standard, momentary) = run.split_at_checked(count)?;
            mix.standard.extend(standard);
            mix.momentary.extend(momentary);
        }
        Some(mix)
    }
}

/// A mix over its whole length, from what was measured and the beginning, which was not.
fn whole_run(measured: Option<&Part>, start: Option<&Part>) -> Option<Mix> {
    let (measured, start) = (measured?, start?);
    let experiment = &measured.results.experiment;
    let end = experiment.duration.as_nanos() as f64;
    let share = experiment.warm_up.as_nanos() as f64 / end;
    let (later, before) = (goodputs(measured, 0)?, goodputs(start, 0)?);
    // The first seed's: the beginning was run with it alone.
    let goodputs: Vec<f64> = later[0]
        .iter()
        .zip(&before[0])
        .map(|(later, before)| later * (1.0 - share) + before * share)
        .collect();
    Mix::of(measured, FLOWS / 2, &[goodputs])
}

/// The ratio of two means of samples that are not paired, with an interval to first order.
fn ratio_of_means(over: &Summary, under: &Summary) -> Summary {
    let mean = over.mean / under.mean;
    let relative = |s: &Summary| s.half_width_95.unwrap_or(0.0) / s.mean;
    let half = mean * relative(over).hypot(relative(under));
    Summary {
        n: over.n.min(under.n),
        mean,
        standard_deviation: None,
        half_width_95: Some(half),
        min: mean - half,
        max: mean + half,
    }
}

/// The findings of this table.
pub(super) fn findings(mixes: Option<&Mixes>) -> Vec<(&'static str, Option<Finding>)> {
    vec![
        ("standard-keep-97", mixes.and_then(keep)),
        ("momentary-takes-more", mixes.and_then(more)),
        ("momentary-takes-little-more", mixes.and_then(little)),
        ("momentary-fills-better", mixes.and_then(fills)),
        ("momentary-fair", mixes.and_then(fair)),
    ]
}

/// The claim allows 3 %; that they might gain is no objection.
const KEPT: (f64, f64) = (0.97, 2.0);
/// The paper's largest advantage is 1.08.
const LITTLE: (f64, f64) = (1.0, 1.1);
/// From here on sharing is called perfect.
const PERFECT: f64 = 0.99;

fn keep(mixes: &Mixes) -> Option<Finding> {
    let kept = mixes.kept()?;
    let verdict = judging::all(kept.iter().map(|s| judging::within(s, KEPT)));
    let alone = spread(&mixes.all_standard()?, 0);
    Some(Finding::new(
        verdict,
        format!("of {alone} kbit/s alone they keep {}", list(&kept, 3)),
    ))
}

fn more(mixes: &Mixes) -> Option<Finding> {
    let advantages = mixes.advantages()?;
    finding(
        all_above(&advantages, 1.0),
        format!("Momentary / standard: {}", list(&advantages, 3)),
    )
}

fn little(mixes: &Mixes) -> Option<Finding> {
    let advantages = mixes.advantages()?;
    let verdict = judging::all(advantages.iter().map(|s| judging::within(s, LITTLE)));
    Some(Finding::new(
        verdict,
        format!("Momentary / standard: {}", list(&advantages, 3)),
    ))
}

fn fills(mixes: &Mixes) -> Option<Finding> {
    let ratio = ratio_of_means(&mixes.all_momentary()?, &mixes.all_standard()?);
    finding(
        all_above(&[ratio], 1.0),
        format!("1000 Momentary / 1000 standard: {}", spread(&ratio, 3)),
    )
}

fn fair(mixes: &Mixes) -> Option<Finding> {
    let indices = mixes.fairness()?;
    let texts: Vec<String> = indices.iter().map(|i| format!("{i:.4}")).collect();
    Some(Finding::new(
        Verdict::of(indices.iter().all(|i| *i >= PERFECT)),
        format!("Jain's index {}", texts.join(", ")),
    ))
}

/// The table, beside the paper's, and a picture of it.
pub(super) fn exhibits(mixes: &Mixes) -> Vec<Exhibit> {
    let mut out = vec![
        Exhibit::Heading("Table 1: friendliness".to_owned()),
        Exhibit::Table(table(mixes)),
    ];
    out.extend(figure(
        "table1-goodput",
        "Mean goodput per flow of each kind; the whiskers are 95 % confidence intervals over the flows. The paper gives one \
         figure each.",
        chart(mixes).svg(),
    ));
    out
}

fn table(mixes: &Mixes) -> Table {
    let paper = paper_rows(PAPER);
    let mut rows = Vec::new();
    for mix in &mixes.mixes {
        let group = format!("{} / {}", mix.standard_flows, FLOWS - mix.standard_flows);
        let figures = paper
            .iter()
            .find(|row| number(row, 0) == Some(f64::from(mix.standard_flows)));
        let figure = |at: usize| figures.and_then(|row| number(row, at));
        let ratio = figure(3).zip(figure(2)).map(|(m, s)| m / s);
        let cells =
            [figure(2), figure(3)].map(|f| f.map_or("–".to_owned(), |f| format!("{f:.1}")));
        let ratio = ratio.map_or("–".to_owned(), |r| format!("{r:.3}"));
        let none = std::iter::repeat_n("–".to_owned(), 2);
        rows.push(row(
            &group,
            Whose::Paper,
            "the paper",
            cells.into_iter().chain([ratio]).chain(none),
        ));
        rows.push(row("", Whose::Ours, "here", ours(mix)));
        let whole = mixes.whole.iter();
        for whole in whole.filter(|whole| whole.standard_flows == mix.standard_flows) {
            rows.push(row("", Whose::Paper, "with its beginning", ours(whole)));
        }
    }
    Table {
        name: "table1".to_owned(),
        caption: "Goodput per flow in kbit/s, standard flows / Momentary flows. Here: mean over the flows of three runs \
                  after their first 100 s ± half the 95 % confidence interval."
            .to_owned(),
        header: [
            "flows",
            "",
            "standard",
            "Momentary",
            "Momentary / standard",
            "Jain, standard",
            "Jain, Momentary",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
    }
}

fn ours(mix: &Mix) -> Vec<String> {
    let none = || "–".to_owned();
    let (standard, momentary) = (Summary::of(&mix.standard), Summary::of(&mix.momentary));
    let mean = |s: &Option<Summary>| s.as_ref().map_or_else(none, |s| spread(s, 1));
    let ratio = momentary
        .as_ref()
        .zip(standard.as_ref())
        .map_or_else(none, |(m, s)| spread(&ratio_of_means(m, s), 3));
    let jain = |flows: &[f64]| jain_index(flows).map_or_else(none, |i| format!("{i:.4}"));
    vec![
        mean(&standard),
        mean(&momentary),
        ratio,
        jain(&mix.standard),
        jain(&mix.momentary),
    ]
}

fn chart(mixes: &Mixes) -> BarChart {
    let paper = paper_rows(PAPER);
    let bar = |flows: &[f64]| {
        Summary::of(flows).map(|s| Bar {
            mean: s.mean,
            half_width: s.half_width_95,
        })
    };
    let of_paper = |at: usize| {
        let bars = paper.iter().map(|row| {
            number(row, at).map(|mean| Bar {
                mean,
                half_width: None,
            })
        });
        bars.collect()
    };
    let series = [
        (
            "standard, here",
            mixes.mixes.iter().map(|m| bar(&m.standard)).collect(),
        ),
        ("standard, the paper", of_paper(2)),
        (
            "Momentary, here",
            mixes.mixes.iter().map(|m| bar(&m.momentary)).collect(),
        ),
        ("Momentary, the paper", of_paper(3)),
    ];
    let categories = mixes.mixes.iter().map(|mix| {
        let standard = mix.standard_flows;
        format!("{standard} + {}", FLOWS - standard)
    });
    BarChart {
        title: "Table 1: goodput per flow, by mix".to_owned(),
        subtitle: "standard + Momentary flows · 950 Mbit/s · 360 ms · buffer 10 000 packets"
            .to_owned(),
        value_label: "goodput per flow (kbit/s)".to_owned(),
        categories: categories.collect(),
        series: series
            .map(|(name, bars)| BarSeries {
                name: name.to_owned(),
                bars,
            })
            .to_vec(),
        reference: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_means_adds_the_relative_spreads_in_squares() {
        let (over, under) = (
            Summary::of(&[9.0, 10.0, 11.0]).unwrap(),
            Summary::of(&[4.0, 5.0, 6.0]).unwrap(),
        );
        let ratio = ratio_of_means(&over, &under);
        let relative = |s: &Summary| s.half_width_95.unwrap() / s.mean;
        assert!((ratio.mean - 2.0).abs() < 1e-12);
        let expected = 2.0 * (relative(&over).powi(2) + relative(&under).powi(2)).sqrt();
        assert!((ratio.half_width_95.unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn the_papers_rows_are_those_of_the_mixes() {
        let rows = paper_rows(PAPER);
        assert_eq!(rows.len(), 5);
        assert_eq!(number(&rows[0], 2), None);
        assert_eq!(number(&rows[2], 3), Some(863.35));
    }
}
