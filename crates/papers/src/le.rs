//! M. Kang, H. Park and J. Mo, Implementation and evaluation of a new TCP loss recovery
//! architecture, EURASIP JWCN 2012:149: figures 4, 5, 6 and 9, reordering (§2.3.4),
//! and video (abstract).

mod controls;
mod exhibits;
mod fairness;
mod fit;
mod reordering;
mod repair;
mod testbed;
mod video;
mod window_losses;

use super::evidence::Part;
use super::{Evidence, ExperimentFile, Finding, Judgement, Observe, Paper};
use controls::Panel;
use dupack_lab::experiment::{Experiment, Seeds, SweepValue};
use dupack_lab::results::Measure;
use dupack_lab::stats::Summary;
use dupack_lab::units::Delay;
use fairness::Mixes;
use testbed::Testbed;
use window_losses::WindowLosses;

/// An experiment of this paper.
macro_rules! file {
    ($name:literal, $observe:ident, $quicken:ident) => {
        ExperimentFile {
            name: $name,
            text: include_str!(concat!("../../../experiments/papers/le/", $name, ".toml")),
            observe: Observe::$observe,
            quicken: $quicken,
        }
    };
}

pub(super) static PAPER: Paper = Paper {
    key: "le",
    claims: include_str!("../../../experiments/papers/le/claims.toml"),
    readme: include_str!("../../../experiments/papers/le/README.md"),
    files: &[],
    facts: super::no_facts,
    experiments: &[
        file!("figure4", Packets, fewer_seeds),
        file!("figure5", Measures, shorter),
        file!("figure6a", Measures, coarser),
        file!("figure6b", Measures, coarser),
        file!("figure6c", Measures, coarser),
        file!("figure6d", Measures, coarser),
        file!("figure9a", Measures, coarser),
        file!("figure9b", Measures, coarser),
        file!("estimate", Packets, fewer_seeds),
        file!("reordering", Measures, shorter),
        file!("video", Measures, coarser),
    ],
    judge,
};

/// The recoveries of figures 4 and 6, in their order.
const RECOVERIES: [&str; 5] = ["Reno", "NewReno", "SACK", "FACK", "LE"];
const RENO: usize = 0;
const NEWRENO: usize = 1;
const SACK: usize = 2;
const FACK: usize = 3;
const LE: usize = 4;

fn fewer_seeds(experiment: &mut Experiment) {
    experiment.seeds = Seeds::Count(2);
}

fn shorter(experiment: &mut Experiment) {
    experiment.seeds = Seeds::Count(3);
    experiment.duration = Delay::from_nanos(15_000_000_000);
}

/// Shorter, and at fewer loss rates.
fn coarser(experiment: &mut Experiment) {
    shorter(experiment);
    let kept = ["0%", "1%", "5%", "10%"].map(|rate| SweepValue::Text(rate.to_owned()));
    for rates in experiment.sweep.values_mut() {
        rates.retain(|rate| kept.contains(rate));
    }
}

fn judge(evidence: &Evidence) -> Judgement {
    let mut judgement = Judgement::default();
    let out = &mut judgement;
    if let Some(part) = evidence.part("figure4") {
        let losses = WindowLosses::of(part);
        out.findings.extend(losses.findings());
        out.exhibits.extend(exhibits::figure_4(&losses));
    }
    if let Some(part) = evidence.part("figure5") {
        let mixes = Mixes(part);
        out.findings.extend(mixes.findings());
        out.exhibits.extend(mixes.exhibits());
    }
    let panel = |name| evidence.part(name).map(Panel);
    if let (Some(aimd), Some(fixed), Some(westwood), Some(ten)) = (
        panel("figure6a"),
        panel("figure6b"),
        panel("figure6c"),
        panel("figure6d"),
    ) {
        out.findings.extend(aimd.aimd());
        out.findings.extend(fixed.fixed(&aimd));
        out.findings.extend(westwood.westwood(&aimd));
        out.findings.extend(ten.ten_flows());
        out.exhibits
            .extend(exhibits::figure_6([&aimd, &fixed, &westwood, &ten]));
        if let (Some(under_westwood), Some(under_rr), Some(estimate)) = (
            evidence.part("figure9a"),
            evidence.part("figure9b"),
            evidence.part("estimate"),
        ) {
            let testbed = Testbed {
                westwood: under_westwood,
                rr: under_rr,
                estimate,
            };
            out.findings.extend(testbed.findings(&westwood));
            out.exhibits.extend(testbed.exhibits());
        }
    }
    if let Some(part) = evidence.part("reordering") {
        out.findings.extend(reordering::findings(part));
        out.exhibits.extend(reordering::exhibits(part));
    }
    if let Some(part) = evidence.part("video") {
        out.findings.extend(video::findings(part));
        out.exhibits.extend(video::exhibits(part));
    }
    judgement
}

/// Findings by the names of their claims.
type Findings = Vec<(&'static str, Option<Finding>)>;

/// The swept values of an experiment with one key, in percent.
fn percents(part: &Part) -> Vec<f64> {
    let points = part.results.points.iter();
    points
        .filter_map(|point| {
            let (_, value) = point.values.first()?;
            dupack_lab::results::scaled(value).map(|(number, _)| number)
        })
        .collect()
}

/// The points of an experiment at which the swept value is `low` percent or more.
fn points_from(part: &Part, low: f64) -> Vec<usize> {
    let percents = percents(part).into_iter().enumerate();
    percents
        .filter(|(_, percent)| *percent >= low)
        .map(|(point, _)| point)
        .collect()
}

/// The point at which the swept value is `percent`.
fn point_at(part: &Part, percent: f64) -> Option<usize> {
    percents(part)
        .iter()
        .position(|p| (p - percent).abs() < 1e-9)
}

/// A measure of one stack over that of another at these points, paired by seed.
fn ratios(
    part: &Part,
    points: &[usize],
    stack: usize,
    base: usize,
    measure: Measure,
) -> Option<Vec<Summary>> {
    let at = |&point: &usize| part.ratio(super::At { point, stack }, base, measure);
    points.iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_lab::experiment::load::Source;

    #[test]
    fn a_quick_look_keeps_the_rates_that_the_rules_name() {
        for file in PAPER
            .experiments
            .iter()
            .filter(|f| f.name.starts_with("figure6"))
        {
            let source = Source {
                name: file.name.to_owned(),
                text: file.text.to_owned(),
                folder: std::path::PathBuf::new(),
            };
            let mut experiment = source.parse().unwrap();
            (file.quicken)(&mut experiment);
            assert_eq!(experiment.sweep["path.loss"].len(), 4, "{}", file.name);
        }
    }
}
