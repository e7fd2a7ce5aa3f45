//! The recoveries that section 2 weighs: on the chain of table 2, and beside standard flows.

use crate::claims::Finding;
use crate::evidence::{At, Part};
use crate::judging::{all_below, figure, finding};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::experiment::{Experiment, Seeds};
use dupack_lab::results::Measure;
use dupack_lab::stats::spread;
use dupack_lab::stats::{Summary, paired_ratio};
use dupack_lab::units::Delay;
use dupack_report::figure::{Bar, BarChart, BarSeries, Reference};
use dupack_report::page::{Cell, Emphasis};

/// The stacks of both experiments, in their order; the last is only in `related-fair.toml`.
const STACKS: [&str; 7] = [
    "SACK",
    "Momentary",
    "Robust",
    "Delayed Fast",
    "Bulk Repeat, Spike",
    "Bulk Repeat, errs never",
    "Bulk Repeat, errs always",
];
const SACK: usize = 0;
const MOMENTARY: usize = 1;
const ROBUST: usize = 2;
const DELAYED: usize = 3;
const BULK_SPIKE: usize = 4;
const BULK_RIGHT: usize = 5;
const BULK_WRONG: usize = 6;

/// The points on the chain: loss of data, loss of ACKs.
const POINTS: [&str; 4] = ["0 %", "1 %", "3 %", "3 %, no ACKs lost"];
/// Places among [`POINTS`].
const LOSSY: usize = 2;
const LOSSY_DATA: usize = 3;

/// How much of their goodput standard flows may lose: the paper's bound in table 1.
const KEPT: f64 = 0.97;
/// Half of 10 Mbit/s, without headers.
const HALF: f64 = 5.0 * 1000.0 / 1040.0;
/// The share that is left where a network is not safe.
const UNSAFE: f64 = 0.5;

/// One seed, and 10 s of it after the warm-up.
pub(super) fn quicken_chain(experiment: &mut Experiment) {
    experiment.seeds = Seeds::Count(1);
    experiment.duration = Delay::from_nanos(20_000_000_000);
}

/// Two seeds, and 20 s of each after the warm-up.
pub(super) fn quicken_fair(experiment: &mut Experiment) {
    experiment.seeds = Seeds::Count(2);
    experiment.duration = Delay::from_nanos(30_000_000_000);
}

/// The findings of both experiments.
pub(super) fn findings(
    chain: Option<&Part>,
    fair: Option<&Part>,
) -> Vec<(&'static str, Option<Finding>)> {
    vec![
        ("related-delayed-infringes", fair.and_then(infringes)),
        ("related-bulk-lda", fair.and_then(depends)),
        ("related-robust-acks", chain.and_then(clock)),
    ]
}

/// Goodput in Mbit/s of the standard flows beside a stack, seed by seed.
fn standard(part: &Part, stack: usize) -> Vec<f64> {
    let own = part.results.samples(0, stack, Measure::Goodput);
    let all = part.results.samples(0, stack, Measure::TotalGoodput);
    own.zip(all).map(|((_, own), (_, all))| all - own).collect()
}

/// What the standard flows have beside `stack` over what they have beside `base`.
fn beside(part: &Part, stack: usize, base: usize) -> Option<Summary> {
    paired_ratio(&standard(part, base), &standard(part, stack)).ratio
}

fn infringes(part: &Part) -> Option<Finding> {
    let [delayed, momentary, robust] =
        [DELAYED, MOMENTARY, ROBUST].map(|stack| beside(part, stack, SACK));
    let (delayed, momentary, robust) = (delayed?, momentary?, robust?);
    finding(
        all_below(&[delayed], KEPT),
        format!(
            "standard flows keep ×{}; beside Momentary ×{}, beside Robust ×{}",
            spread(&delayed, 2),
            spread(&momentary, 2),
            spread(&robust, 2)
        ),
    )
}

fn depends(part: &Part) -> Option<Finding> {
    let wrong = beside(part, BULK_WRONG, BULK_RIGHT)?;
    let spike = beside(part, BULK_SPIKE, BULK_RIGHT)?;
    finding(
        all_below(&[wrong], UNSAFE),
        format!(
            "×{} if it always errs; ×{} with Spike",
            spread(&wrong, 2),
            spread(&spike, 2)
        ),
    )
}

/// Goodput with loss of ACKs over that without, seed by seed.
fn with_over_without(part: &Part, stack: usize) -> Vec<f64> {
    let of = |point| part.results.samples(point, stack, Measure::Goodput);
    let pairs = of(LOSSY).zip(of(LOSSY_DATA));
    pairs
        .map(|((_, with), (_, without))| with / without)
        .collect()
}

fn clock(part: &Part) -> Option<Finding> {
    let (robust, own) = (
        with_over_without(part, ROBUST),
        with_over_without(part, MOMENTARY),
    );
    let ratio = paired_ratio(&own, &robust).ratio?;
    finding(
        all_below(&[ratio], 1.0),
        format!(
            "×{}: Robust keeps ×{}, Momentary ×{}",
            spread(&ratio, 2),
            spread(&Summary::of(&robust)?, 2),
            spread(&Summary::of(&own)?, 2)
        ),
    )
}

/// A table and a picture of either experiment.
pub(super) fn exhibits(chain: Option<&Part>, fair: Option<&Part>) -> Vec<Exhibit> {
    let mut out = vec![Exhibit::Heading("The recoveries of section 2".to_owned())];
    if let Some(part) = chain {
        out.push(Exhibit::Table(chain_table(part)));
        out.extend(figure(
            "related-chain",
            "Goodput on the chain of table 2; the whiskers are 95 % confidence intervals.",
            chain_chart(part).svg(),
        ));
    }
    if let Some(part) = fair {
        out.push(Exhibit::Table(fair_table(part)));
        out.extend(figure(
            "related-fair",
            "Five flows of each kind beside five standard flows, where every loss is congestion; the whiskers are 95 % \
             confidence intervals.",
            fair_chart(part).svg(),
        ));
    }
    out
}

fn cell(summary: Option<Summary>, decimals: usize) -> Cell {
    let text = summary.map_or("–".to_owned(), |s| spread(&s, decimals));
    Cell::new(text, Emphasis::Number)
}

/// In kbit/s.
fn kbps(part: &Part, at: At) -> Option<Summary> {
    let samples = part.results.samples(at.point, at.stack, Measure::Goodput);
    let values: Vec<f64> = samples.map(|(_, mbps)| mbps * 1e3).collect();
    Summary::of(&values)
}

fn chain_table(part: &Part) -> Table {
    let names = STACKS.iter().take(BULK_WRONG).enumerate();
    let rows = names.map(|(stack, name)| {
        let mut cells = vec![Cell::new(*name, Emphasis::Group)];
        cells.extend((0..POINTS.len()).map(|point| cell(kbps(part, At { point, stack }), 0)));
        for measure in [Measure::Retransmissions, Measure::Timeouts] {
            let at = At {
                point: LOSSY,
                stack,
            };
            cells.push(cell(part.summary(at, measure), 1));
        }
        cells
    });
    let header = std::iter::once("").chain(POINTS);
    let header = header.chain(["resent at 3 %", "timeouts at 3 %"]);
    Table {
        name: "related-chain".to_owned(),
        caption: "Goodput in kbit/s on the chain of table 2 by loss rate of data and ACKs, and retransmissions and timeouts \
                  at 3 %; mean ± half the 95 % confidence interval."
            .to_owned(),
        header: header.map(str::to_owned).collect(),
        rows: rows.collect(),
    }
}

fn chain_chart(part: &Part) -> BarChart {
    let names = STACKS.iter().take(BULK_WRONG).enumerate();
    let series = names.map(|(stack, name)| BarSeries {
        name: (*name).to_owned(),
        bars: (0..POINTS.len())
            .map(|point| kbps(part, At { point, stack }).map(bar))
            .collect(),
    });
    BarChart {
        title: "The recoveries of section 2 on the chain of table 2".to_owned(),
        subtitle: "5 Mbit/s · 200 ms · buffers 40 packets · cross and reverse traffic".to_owned(),
        value_label: "goodput (kbit/s)".to_owned(),
        categories: POINTS.map(|point| format!("loss {point}")).to_vec(),
        series: series.collect(),
        reference: None,
    }
}

fn bar(summary: Summary) -> Bar {
    Bar {
        mean: summary.mean,
        half_width: summary.half_width_95,
    }
}

fn fair_table(part: &Part) -> Table {
    let rows = STACKS.iter().enumerate().map(|(stack, name)| {
        let at = At { point: 0, stack };
        vec![
            Cell::new(*name, Emphasis::Group),
            cell(part.summary(at, Measure::Goodput), 2),
            cell(Summary::of(&standard(part, stack)), 2),
            cell(beside(part, stack, SACK), 2),
            cell(part.summary(at, Measure::Timeouts), 1),
        ]
    });
    Table {
        name: "related-fair".to_owned(),
        caption: "Goodput in Mbit/s of five flows and of five standard flows beside them, on a link of 10 Mbit/s and 100 ms \
                  without random loss; and what the standard flows keep of what they have beside five more of their kind."
            .to_owned(),
        header: [
            "",
            "these five",
            "five standard",
            "the standard flows keep",
            "timeouts of these five",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: rows.collect(),
    }
}

fn fair_chart(part: &Part) -> BarChart {
    let stacks = 0..STACKS.len();
    let own = stacks.clone().map(|stack| {
        let at = At { point: 0, stack };
        part.summary(at, Measure::Goodput).map(bar)
    });
    let standard = stacks.map(|stack| Summary::of(&standard(part, stack)).map(bar));
    let series = [
        ("these five", own.collect::<Vec<_>>()),
        ("five standard flows", standard.collect()),
    ];
    BarChart {
        title: "The recoveries of section 2 beside standard flows".to_owned(),
        subtitle: "5 + 5 flows · 10 Mbit/s · 100 ms · buffer 60 packets · no random loss"
            .to_owned(),
        value_label: "goodput (Mbit/s)".to_owned(),
        categories: STACKS.map(str::to_owned).to_vec(),
        series: series
            .map(|(name, bars)| BarSeries {
                name: name.to_owned(),
                bars,
            })
            .to_vec(),
        reference: Some(Reference {
            value: HALF,
            name: "half of the link".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::momentary::PAPER;

    /// The stacks of an experiment of this paper.
    fn stacks_of(name: &str) -> usize {
        let file = PAPER.experiments.iter().find(|file| file.name == name);
        let experiment: Experiment = toml::from_str(file.unwrap().text).unwrap();
        experiment.stacks.len()
    }

    #[test]
    fn every_stack_has_a_name() {
        assert_eq!(stacks_of("related-fair"), STACKS.len());
        assert_eq!(stacks_of("related-work"), BULK_WRONG);
    }
}
