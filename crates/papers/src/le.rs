//! M. Kang, H. Park and J. Mo, Implementation and evaluation of a new TCP loss recovery architecture, EURASIP JWCN
//! 2012:149: figures 4, 5, 6 and 9, the timer (§2.2.4), reordering (§2.3.4), and video (abstract).
//!
//! The rules, figures and tables are data. Facts that need packets are read here: the repairs of figure 4, Westwood's
//! estimate in the testbed of §5, and the mean window of figure 6(a).

mod repair;

use dupack_claims::{Fact, FactKind, FactValue, Facts};
use dupack_lab::run::Job;
use dupack_lab::stats::mean;
use dupack_lab::trace::Trace;
use dupack_tcp::window::WindowCause;

use super::Paper;
use super::evidence::ExperimentResults;
use repair::Repair;

/// Pairs a file of the folder with its name.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../experiments/le/", $name)))
    };
}

pub(super) static PAPER: Paper = Paper {
    key: "le",
    claims: include_str!("../experiments/le/claims.toml"),
    readme: include_str!("../experiments/le/README.md"),
    files: &[
        file!("exhibits.toml"),
        file!("figure4.toml"),
        file!("figure5.toml"),
        file!("figure6a.toml"),
        file!("figure6a-window.toml"),
        file!("figure6b.toml"),
        file!("figure6b-timeouts.toml"),
        file!("figure6c.toml"),
        file!("figure6d.toml"),
        file!("figure9a.toml"),
        file!("figure9a-printed.toml"),
        file!("figure9b.toml"),
        file!("figure9b-8mbit.toml"),
        file!("figure9-order.toml"),
        file!("estimate.toml"),
        file!("timer.toml"),
        file!("readings.toml"),
        file!("inventory.toml"),
        file!("reordering.toml"),
        file!("video.toml"),
        file!("video-aimd.toml"),
    ],
    facts,
    drawn: super::nothing_drawn,
};

/// A quantity of a recorded run: its name in the rules, and the function that reads it. The function returns `None` if
/// the run does not show the quantity.
type Quantity<T> = (&'static str, fn(&T) -> Option<f64>);

/// Quantities of the repair of a window's losses. `claims.toml` describes them.
const REPAIR: [Quantity<Repair>; 7] = [
    ("repair_time", |repair| Some(repair.duration)),
    ("repair_time_ms", |repair| Some(repair.duration_ms)),
    ("one_round_trip", |repair| {
        let in_one = repair.resending <= 1.0 && repair.timeout.is_none();
        Some(one_if(in_one))
    }),
    ("timed_out", |repair| Some(one_if(repair.timeout.is_some()))),
    ("timeout_after", |repair| Some(repair.timeout?.after)),
    ("resent_before_timeout", |repair| {
        Some(repair.timeout?.resent as f64)
    }),
    ("advanced_at_once", |repair| {
        let advance = repair.timeout?.advance;
        Some(one_if(advance.is_some_and(|after| after < 1.0)))
    }),
];

const ESTIMATE: [Quantity<f64>; 1] = [("westwood_estimate", |estimate| Some(*estimate))];

const WINDOW: [Quantity<f64>; 1] = [("window", |window| Some(*window))];

fn one_if(it_is: bool) -> f64 {
    f64::from(u8::from(it_is))
}

fn facts(experiment: &str, part: Option<&ExperimentResults>) -> Facts {
    match experiment {
        "figure4" => read_off(part, Repair::of, &REPAIR),
        "figure6a-window" => read_off(part, mean_window, &WINDOW),
        "estimate" => read_off(part, estimate, &ESTIMATE),
        _ => Facts::default(),
    }
}

/// Reads the quantities from the value that `of` returns for every recorded run.
fn read_off<T>(
    part: Option<&ExperimentResults>,
    of: fn(&Trace) -> Option<T>,
    quantities: &[Quantity<T>],
) -> Facts {
    let traces = part.map_or(&[][..], |part| part.traces.as_slice());
    let runs = traces
        .iter()
        .filter_map(|traced| Some((traced.job, of(&traced.trace)?)));
    let runs: Vec<(Job, T)> = runs.collect();
    let facts = quantities.iter().map(|(name, quantity)| {
        let values = runs.iter().filter_map(|(job, run)| {
            let value = FactValue::Number(quantity(run)?);
            Some((job.point, job.stack, job.seed, value))
        });
        Fact {
            name: (*name).to_owned(),
            kind: FactKind::Number,
            values: values.collect(),
        }
    });
    Facts(facts.collect())
}

/// Returns the mean of Westwood's bandwidth estimate at the window reductions of a run, in Mbit/s. In congestion
/// avoidance, ssthresh is set to the estimate times the minimum round-trip time (Westwood §IV.A, a = 1).
fn estimate(trace: &Trace) -> Option<f64> {
    let rtt = trace.states().filter_map(|(_, state)| state.rtt).min()?;
    let reductions = trace.window_changes().filter(|change| {
        change.cause == WindowCause::Congestion && change.before.cwnd > change.before.ssthresh
    });
    let estimates: Vec<f64> = reductions
        .map(|change| change.after.ssthresh * 8.0 / rtt.as_secs_f64() / 1e6)
        .collect();
    mean(&estimates)
}

/// Returns the congestion window of a run in segments, averaged over time.
fn mean_window(trace: &Trace) -> Option<f64> {
    let states: Vec<_> = trace.states().collect();
    let spans = states.windows(2).map(|pair| {
        let [(from, state), (until, _)] = pair else {
            return (0.0, 0.0);
        };
        let span = until.since(*from).as_secs_f64();
        (span, state.cwnd / trace.segment_bytes() * span)
    });
    let (time, area) = spans.fold((0.0, 0.0), |sum, (span, area)| (sum.0 + span, sum.1 + area));
    (time > 0.0).then(|| area / time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extent;

    #[test]
    fn a_quick_look_keeps_the_rates_that_the_rules_name() {
        let prepared = PAPER.prepare(Extent::Quick).unwrap();
        let swept = prepared
            .iter()
            .filter_map(|one| Some((one.name, one.experiment.sweep.get("path.loss")?)));
        let coarser: Vec<(&str, usize)> = swept
            .filter(|(_, rates)| rates.len() > 2)
            .filter(|(name, _)| *name != "estimate")
            .map(|(name, rates)| (name, rates.len()))
            .collect();
        assert_eq!(coarser.len(), 10);
        assert!(coarser.iter().all(|(_, rates)| *rates == 4), "{coarser:?}");
    }
}
