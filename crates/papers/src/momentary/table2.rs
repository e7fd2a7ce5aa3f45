//! Table 2: one flow on a chain of routers with other traffic and random loss (section 4.3).

use super::numbers::{number, paper_rows};
use crate::claims::{Finding, Verdict};
use crate::evidence::{At, Part};
use crate::judging::{self, Whose, figure, finding, interval, list, row};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::experiment::{Experiment, Seeds};
use dupack_lab::results::Measure;
use dupack_lab::stats::spread;
use dupack_lab::stats::{Summary, paired_ratio};
use dupack_lab::units::Delay;
use dupack_report::figure::{Bar, BarChart, BarSeries, Reference};
use dupack_report::page::{Cell, Emphasis};

const PAPER: &str = include_str!("../../experiments/momentary/table2.csv");

/// Loss rates of the experiment, in percent.
const RATES: [f64; 5] = [0.0, 0.1, 0.5, 1.0, 3.0];
/// Places among [`RATES`].
const CLEAN: usize = 0;
const ONE: usize = 3;
const LOSSY: usize = 4;

/// Its first stacks, in their order.
pub(super) const NAMES: [&str; 4] = ["NewReno", "SACK", "FACK", "Momentary"];
const NEWRENO: usize = 0;
const SACK: usize = 1;
const FACK: usize = 2;
const MOMENTARY: usize = 3;

/// The length of the paper's runs as its retransmissions suggest, in s; ours are counted for it.
const PAPER_SECONDS: f64 = 500.0;

/// Two seeds, and 15 s of each after the warm-up.
pub(super) fn quicken(experiment: &mut Experiment) {
    experiment.seeds = Seeds::Count(2);
    experiment.duration = Delay::from_nanos(25_000_000_000);
}

/// What the paper has for a recovery at a loss rate: goodput in kbit/s, retransmissions.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    goodput: f64,
    resent: f64,
}

fn paper(recovery: usize, percent: f64) -> Option<Figures> {
    let name = NAMES.get(recovery)?.to_lowercase();
    let rows = paper_rows(PAPER);
    let found = rows
        .iter()
        .find(|row| number(row, 0) == Some(percent) && row.get(1) == Some(&name.as_str()))?;
    Some(Figures {
        goodput: number(found, 2)?,
        resent: number(found, 3)?,
    })
}

/// The paper's goodput of Momentary over that of another recovery.
pub(super) fn paper_gain(over: usize, percent: f64) -> Option<f64> {
    Some(paper(MOMENTARY, percent)?.goodput / paper(over, percent)?.goodput)
}

/// Momentary's `measure` over that of another, by loss rate.
fn gains(part: &Part, over: usize, measure: Measure) -> Option<Vec<Summary>> {
    part.ratios(MOMENTARY, over, measure)
        .filter(|ratios| ratios.len() == RATES.len())
}

/// The findings of this table.
pub(super) fn findings(part: &Part) -> Vec<(&'static str, Option<Finding>)> {
    vec![
        ("table2-best", best(part)),
        (
            "table2-clean-newreno",
            gain(part, CLEAN, NEWRENO, (1.17, 1.29)),
        ),
        ("table2-clean-sack", gain(part, CLEAN, SACK, (1.15, 1.27))),
        ("table2-clean-fack", gain(part, CLEAN, FACK, (1.04, 1.16))),
        ("table2-no-worse", no_worse(part)),
        ("table2-gain-grows", gain_grows(part)),
        (
            "table2-lossy-newreno",
            gain(part, LOSSY, NEWRENO, (1.20, 1.34)),
        ),
        ("table2-lossy-sack", gain(part, LOSSY, SACK, (1.21, 1.35))),
        ("table2-lossy-fack", gain(part, LOSSY, FACK, (1.31, 1.45))),
        ("table2-fack-falls", fack_falls(part)),
        ("table2-more-resent", more_resent(part)),
        ("table2-not-out-of-proportion", in_proportion(part)),
        ("table2-sack-resends-most", sack_resends_most(part)),
        ("table2-figures", figures_agree(part)),
    ]
}

fn best(part: &Part) -> Option<Finding> {
    let mut holds = true;
    let mut texts = Vec::new();
    for other in [NEWRENO, SACK, FACK] {
        let ratios = gains(part, other, Measure::Goodput)?;
        holds &= judging::all_above(&ratios, 1.0);
        texts.push(format!("over {}: {}", NAMES[other], list(&ratios, 2)));
    }
    finding(holds, texts.join("; "))
}

fn gain(part: &Part, rate: usize, over: usize, bounds: (f64, f64)) -> Option<Finding> {
    let ratios = gains(part, over, Measure::Goodput)?;
    let ratio = ratios.get(rate)?;
    let paper = paper_gain(over, RATES[rate])?;
    Some(Finding::new(
        judging::within(ratio, bounds),
        format!("×{} here, ×{paper:.2} in the paper", spread(ratio, 2)),
    ))
}

/// What counts as "about as much".
const ALIKE: (f64, f64) = (0.85, 1.15);

fn no_worse(part: &Part) -> Option<Finding> {
    let of = |other| Some(*gains(part, other, Measure::Retransmissions)?.get(CLEAN)?);
    let (newreno, sack, fack) = (of(NEWRENO)?, of(SACK)?, of(FACK)?);
    let verdicts = [
        judging::within(&newreno, ALIKE),
        judging::within(&fack, ALIKE),
        judging::within(&sack, (0.0, ALIKE.1)),
    ];
    Some(Finding::new(
        judging::all(verdicts),
        format!(
            "retransmissions over NewReno's, SACK's, FACK's: {}",
            list(&[newreno, sack, fack], 2)
        ),
    ))
}

fn gain_grows(part: &Part) -> Option<Finding> {
    let mut verdicts = Vec::new();
    let mut texts = Vec::new();
    for other in [NEWRENO, SACK, FACK] {
        let ratios = gains(part, other, Measure::Goodput)?;
        let lossy = ratios.get(1..)?;
        verdicts.push(grows(lossy));
        texts.push(format!("over {}: {}", NAMES[other], list(lossy, 2)));
    }
    Some(Finding::new(judging::all(verdicts), texts.join("; ")))
}

/// Whether a curve rises: not if a step falls for certain or the ends do not rise, and it cannot
/// be told if the ends' intervals overlap.
fn grows(curve: &[Summary]) -> Verdict {
    let falls = |pair: &[Summary]| interval(&pair[1]).1 < interval(&pair[0]).0;
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else {
        return Verdict::CannotBeTold;
    };
    if curve.windows(2).any(falls) || last.mean <= first.mean {
        Verdict::DoesNotHold
    } else if interval(last).0 > interval(first).1 {
        Verdict::Holds
    } else {
        Verdict::CannotBeTold
    }
}

fn fack_falls(part: &Part) -> Option<Finding> {
    let to_newreno = part.ratios(FACK, NEWRENO, Measure::Goodput)?;
    let to_sack = part.ratios(FACK, SACK, Measure::Goodput)?;
    let both = [&to_newreno, &to_sack];
    let above = both
        .iter()
        .all(|ratios| ratios.iter().take(2).all(|ratio| ratio.mean > 1.0));
    let below = both.iter().all(|ratios| {
        ratios
            .get(LOSSY)
            .is_some_and(|ratio| interval(ratio).1 < 1.0)
    });
    finding(
        above && below,
        format!(
            "FACK over NewReno: {}; over SACK: {}",
            list(&to_newreno, 2),
            list(&to_sack, 2)
        ),
    )
}

fn more_resent(part: &Part) -> Option<Finding> {
    let mut holds = true;
    let mut texts = Vec::new();
    for other in [NEWRENO, FACK] {
        let ratios = gains(part, other, Measure::Retransmissions)?;
        let (one, lossy) = (*ratios.get(ONE)?, *ratios.get(LOSSY)?);
        holds &= one.mean > 1.0 && interval(&lossy).0 > 1.0;
        let pair = list(&[one, lossy], 2);
        texts.push(format!("over {}'s at 1 and 3 %: {pair}", NAMES[other]));
    }
    finding(holds, texts.join("; "))
}

fn in_proportion(part: &Part) -> Option<Finding> {
    let per_goodput = |stack| -> Vec<f64> {
        let resent = part.results.samples(LOSSY, stack, Measure::Retransmissions);
        let goodput = part.results.samples(LOSSY, stack, Measure::Goodput);
        resent.zip(goodput).map(|((_, r), (_, g))| r / g).collect()
    };
    let ratio = paired_ratio(&per_goodput(FACK), &per_goodput(MOMENTARY)).ratio?;
    finding(
        interval(&ratio).1 < 1.0,
        format!(
            "retransmissions per goodput over FACK's: {}",
            spread(&ratio, 2)
        ),
    )
}

fn sack_resends_most(part: &Part) -> Option<Finding> {
    let mut holds = true;
    let mut texts = Vec::new();
    let sack = part.curve(SACK, Measure::Retransmissions)?;
    for (stack, name) in NAMES.iter().enumerate() {
        if stack == SACK {
            continue;
        }
        let counts = part.curve(stack, Measure::Retransmissions)?;
        holds &= counts
            .iter()
            .zip(&sack)
            .all(|(other, own)| other.mean < own.mean);
        let ratios = part.ratios(stack, SACK, Measure::Retransmissions)?;
        texts.push(format!("{name} over SACK: {}", list(&ratios, 2)));
    }
    finding(holds, texts.join("; "))
}

/// How far a goodput may be from the paper's.
const TOLERANCE: f64 = 0.15;

fn figures_agree(part: &Part) -> Option<Finding> {
    let mut off = Vec::new();
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (stack, name) in NAMES.iter().enumerate() {
        let curve = part.curve(stack, Measure::Goodput)?;
        for (mean, percent) in curve.iter().zip(RATES) {
            let ratio = mean.mean * 1e3 / paper(stack, percent)?.goodput;
            (low, high) = (low.min(ratio), high.max(ratio));
            if (ratio - 1.0).abs() > TOLERANCE {
                off.push(format!("{name} at {percent} %: ×{ratio:.2}"));
            }
        }
    }
    let mut found = format!("from ×{low:.2} to ×{high:.2} of the paper's");
    if !off.is_empty() {
        found = format!("{found}; beyond the bound: {}", off.join(", "));
    }
    finding(off.is_empty(), found)
}

/// The table beside the paper's, the ratios, and pictures of both.
pub(super) fn exhibits(part: &Part) -> Vec<Exhibit> {
    let mut out = vec![
        Exhibit::Heading("Table 2: overall performance".to_owned()),
        Exhibit::Note(
            "How much background traffic there is, the paper does not say: six flows against the chain and two across each \
             of its links let SACK without random loss come close to the paper's figure. All else follows, and the \
             ratios are what is judged."
                .to_owned(),
        ),
        Exhibit::Table(goodput_table(part)),
        Exhibit::Table(ratio_table(part)),
        Exhibit::Table(resent_table(part)),
    ];
    out.extend(figure(
        "table2-goodput",
        "Goodput by the loss rate; the whiskers are 95 % confidence intervals.",
        goodput_chart("here", |stack, point| our_goodput(part, stack, point)).svg(),
    ));
    out.extend(figure(
        "table2-goodput-paper",
        "The same in the paper, which gives one figure each.",
        goodput_chart("in the paper", paper_goodput).svg(),
    ));
    out.extend(figure(
        "table2-gain",
        "Momentary's goodput over that of the others, paired by seed, and in the paper.",
        gain_chart(part).svg(),
    ));
    out
}

fn header() -> Vec<String> {
    let rates = RATES.iter().map(|rate| format!("{rate} %"));
    [String::new(), String::new()]
        .into_iter()
        .chain(rates)
        .collect()
}

/// A table with two rows for each recovery: the paper's figures and ours.
fn two_rows(
    part: &Part,
    decimals: usize,
    of_paper: impl Fn(Figures) -> f64,
    measure: Measure,
    scale: f64,
) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for (stack, name) in NAMES.iter().enumerate() {
        let cells = RATES.iter().map(|&percent| {
            paper(stack, percent)
                .map_or("–".to_owned(), |f| format!("{:.decimals$}", of_paper(f)))
        });
        rows.push(row(name, Whose::Paper, "the paper", cells));
        let cells = (0..RATES.len()).map(|point| {
            let samples = part.results.samples(point, stack, measure);
            let values: Vec<f64> = samples.map(|(_, value)| value * scale).collect();
            Summary::of(&values).map_or("–".to_owned(), |s| spread(&s, decimals))
        });
        rows.push(row("", Whose::Ours, "here", cells));
    }
    rows
}

fn goodput_table(part: &Part) -> Table {
    Table {
        name: "table2-goodput".to_owned(),
        caption: "Goodput in kbit/s by loss rate. Here: mean over the seeds ± half the 95 % confidence interval.".to_owned(),
        header: header(),
        rows: two_rows(part, 1, |f| f.goodput, Measure::Goodput, 1e3),
    }
}

fn resent_table(part: &Part) -> Table {
    let e = &part.results.experiment;
    let seconds = e.duration.as_seconds() - e.warm_up.as_seconds();
    let mut rows = two_rows(
        part,
        0,
        |f| f.resent,
        Measure::Retransmissions,
        PAPER_SECONDS / seconds,
    );
    for (stack, name) in NAMES.iter().enumerate() {
        let curve = part.curve(stack, Measure::Timeouts).unwrap_or_default();
        let cells = curve
            .iter()
            .map(|s| format!("{:.1}", s.mean * PAPER_SECONDS / seconds));
        let names = [
            Cell::new(*name, Emphasis::Group),
            Cell::new("timeouts, here", Emphasis::Plain),
        ];
        let cells = cells.map(|cell| Cell::new(cell, Emphasis::Number));
        rows.push(names.into_iter().chain(cells).collect());
    }
    Table {
        name: "table2-retransmissions".to_owned(),
        caption: "Retransmissions by loss rate, ours scaled to 500 s, which the paper's seem to have lasted; and the \
                  timeouts here, which cause some of them, per 500 s."
            .to_owned(),
        header: header(),
        rows,
    }
}

fn ratio_table(part: &Part) -> Table {
    let mut rows = Vec::new();
    for other in [NEWRENO, SACK, FACK] {
        let cells = RATES
            .iter()
            .map(|&rate| paper_gain(other, rate).map_or("–".to_owned(), |g| format!("{g:.3}")));
        let name = format!("Momentary / {}", NAMES[other]);
        rows.push(row(&name, Whose::Paper, "the paper", cells));
        let ratios = gains(part, other, Measure::Goodput).unwrap_or_default();
        rows.push(row(
            "",
            Whose::Ours,
            "here",
            ratios.iter().map(|r| spread(r, 3)),
        ));
    }
    Table {
        name: "table2-ratios".to_owned(),
        caption: "Goodput as ratios. Here: paired by seed.".to_owned(),
        header: header(),
        rows,
    }
}

const SETTING: &str =
    "chain of 5 routers · 5 Mbit/s · 200 ms · reverse and cross traffic · ns-2's rules";

fn categories() -> Vec<String> {
    RATES.iter().map(|rate| format!("{rate}\u{a0}%")).collect()
}

/// Bars by loss rate for each recovery: ours, or the paper's.
fn goodput_chart(whose: &str, of: impl Fn(usize, usize) -> Option<Bar>) -> BarChart {
    let series = NAMES.iter().enumerate().map(|(stack, name)| BarSeries {
        name: (*name).to_owned(),
        bars: (0..RATES.len()).map(|rate| of(stack, rate)).collect(),
    });
    BarChart {
        title: format!("Table 2: goodput by random loss, {whose}"),
        subtitle: SETTING.to_owned(),
        value_label: "goodput (kbit/s)".to_owned(),
        categories: categories(),
        series: series.collect(),
        reference: None,
    }
}

fn our_goodput(part: &Part, stack: usize, point: usize) -> Option<Bar> {
    let s = part.summary(At { point, stack }, Measure::Goodput)?;
    Some(Bar {
        mean: s.mean * 1e3,
        half_width: s.half_width_95.map(|h| h * 1e3),
    })
}

fn paper_goodput(stack: usize, rate: usize) -> Option<Bar> {
    Some(Bar {
        mean: paper(stack, RATES[rate])?.goodput,
        half_width: None,
    })
}

fn gain_chart(part: &Part) -> BarChart {
    let mut series = Vec::new();
    for other in [NEWRENO, SACK, FACK] {
        let ours = (0..RATES.len()).map(|point| {
            let at = At {
                point,
                stack: MOMENTARY,
            };
            let s = part.ratio(at, other, Measure::Goodput)?;
            Some(Bar {
                mean: s.mean,
                half_width: s.half_width_95,
            })
        });
        series.push(BarSeries {
            name: format!("over {}, here", NAMES[other]),
            bars: ours.collect(),
        });
        let figures = RATES.iter().map(|&rate| {
            Some(Bar {
                mean: paper_gain(other, rate)?,
                half_width: None,
            })
        });
        series.push(BarSeries {
            name: format!("over {}, paper", NAMES[other]),
            bars: figures.collect(),
        });
    }
    BarChart {
        title: "Table 2: Momentary's gain".to_owned(),
        subtitle: SETTING.to_owned(),
        value_label: "Momentary's goodput over the other's".to_owned(),
        categories: categories(),
        series,
        reference: Some(Reference {
            value: 1.0,
            name: "no gain".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_figures_are_found_by_recovery_and_loss_rate() {
        let figures = paper(FACK, 3.0).unwrap();
        assert_eq!((figures.goodput, figures.resent), (96.75, 286.0));
        // What the text says of 3 %: 27, 28 and 38 %.
        let gains = [NEWRENO, SACK, FACK].map(|other| paper_gain(other, 3.0).unwrap());
        assert_eq!(gains.map(|g| (g * 100.0).round()), [127.0, 128.0, 138.0]);
        assert_eq!(paper(FACK, 2.0), None);
    }

    #[test]
    fn a_curve_grows_if_no_step_falls_and_its_ends_are_apart() {
        let at = |mean: f64| Summary::of(&[mean - 0.01, mean, mean + 0.01]).unwrap();
        let curve = |means: [f64; 3]| means.map(at);
        assert_eq!(grows(&curve([1.0, 1.1, 1.2])), Verdict::Holds);
        assert_eq!(grows(&curve([1.0, 1.3, 1.1])), Verdict::DoesNotHold);
        assert_eq!(grows(&curve([1.0, 1.0, 1.01])), Verdict::CannotBeTold);
        assert_eq!(grows(&curve([1.1, 1.1, 1.09])), Verdict::DoesNotHold);
    }
}
