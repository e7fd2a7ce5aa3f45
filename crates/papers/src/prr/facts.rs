//! Facts of the recorded runs, for the rules. Amounts of data are in segments.

use dupack_claims::{Fact, FactKind, FactValue, Facts};
use dupack_lab::stats::mean;

use super::episode::{Episode, Step, steps};
use crate::evidence::{ExperimentResults, Traced};

/// Experiments whose runs have one recovery that matters.
const SINGLE: [&str; 10] = [
    "examples",
    "burst",
    "row",
    "random",
    "late",
    "stall",
    "acks",
    "stretch",
    "reordering",
    "conservation",
];
/// Experiments whose runs have many recoveries.
const MANY: [&str; 2] = ["loaded", "responses"];

type Of<T> = fn(&Episode<'_>) -> T;

/// Numeric facts of the first recovery of a run.
const NUMBERS: [(&str, Of<Option<f64>>); 21] = [
    // Length in minimum round trips, to the last retransmission and to the end.
    ("resending_rtts", |e| Some(e.resending_rtts())),
    ("recovery_rtts", |e| Some(e.rtts())),
    ("recovery_timeouts", |e| Some(e.timeouts() as f64)),
    // ssthresh after the loss event.
    ("target", |e| Some(e.target)),
    // 1 if no more than that was in flight when the recovery began.
    ("started_below", |e| {
        Some(f64::from(u8::from(e.started_below())))
    }),
    // Segments that the first ACK of the recovery sends, that any of its ACKs sends, and that the ACK sends that ends
    // it.
    ("entry_burst", |e| Some(e.entry_burst() as f64)),
    ("longest_burst", |e| Some(e.longest_burst() as f64)),
    ("exit_burst", |e| Some(e.exit_burst() as f64)),
    // ACKs in a row of the first round trip that send nothing, and segments sent in that round trip, those of limited
    // transmit included.
    ("longest_silence", |e| Some(e.longest_silence() as f64)),
    ("round_sent", |e| Some(e.sent_in_round() as f64)),
    // Maximum of the segments sent so far minus those delivered so far, and minus the number of ACKs so far.
    ("ahead", |e| Some(e.ahead(0.0))),
    ("ahead_of_acks", |e| Some(e.ahead(1.0))),
    // 1 if these are never positive: no more was sent than was delivered, or one segment more for each ACK.
    ("conserved", |e| {
        Some(f64::from(u8::from(e.ahead(0.0) <= 0.0)))
    }),
    ("one_more_per_ack", |e| {
        Some(f64::from(u8::from(e.ahead(1.0) <= 0.0)))
    }),
    // Retransmissions, and what the network dropped of the segments sent in the recovery.
    ("resent", |e| Some(e.total(|step| step.again) as f64)),
    ("dropped_in_recovery", |e| {
        Some(e.total(|step| step.dropped) as f64)
    }),
    ("lost_again", |e| {
        Some(e.total(|step| step.dropped_again) as f64)
    }),
    // Data in flight before the ACK that ends the recovery, and the same over ssthresh.
    ("end_window", |e| e.end_window()),
    ("end_share", |e| Some(e.end_window()? / e.target)),
    // Window right after the recovery.
    ("cwnd_after", |e| e.cwnd_after()),
    // Range of the data that is actually in flight.
    ("flight_span", |e| Some(e.flight_span())),
];

/// Rows of the diagrams of RFC 6937 §3.1.
const TEXTS: [(&str, Of<String>); 2] = [
    ("sent_row", |e| e.sent_row()),
    ("pipe_row", |e| e.pipe_row()),
];

type OfAll = fn(&[Episode<'_>]) -> Option<f64>;

/// Facts of all recoveries of a run. All but the first three are means over the recoveries.
const OF_ALL: [(&str, OfAll); 11] = [
    ("recoveries_seen", |all| Some(all.len() as f64)),
    ("timeouts_seen", |all| {
        Some(all.iter().map(Episode::timeouts).sum::<usize>() as f64)
    }),
    ("bursts_above_three", |all| {
        Some(all.iter().filter(|e| e.longest_burst() > 3).count() as f64)
    }),
    ("mean_recovery_ms", |all| {
        of_each(all, |e| Some(e.milliseconds()))
    }),
    ("mean_recovery_rtts", |all| of_each(all, |e| Some(e.rtts()))),
    ("timeouts_per_recovery", |all| {
        of_each(all, |e| Some(e.timeouts() as f64))
    }),
    ("lost_again_per_recovery", |all| {
        of_each(all, |e| Some(e.total(|step| step.dropped_again) as f64))
    }),
    ("dropped_per_recovery", |all| {
        of_each(all, |e| Some(e.total(|step| step.dropped) as f64))
    }),
    ("mean_end_share", |all| {
        of_each(all, |e| Some(e.end_window()? / e.target))
    }),
    ("mean_cwnd_after", |all| {
        of_each(all, |e| Some(e.cwnd_after()? / e.target))
    }),
    ("share_started_below", |all| {
        of_each(all, |e| Some(f64::from(u8::from(e.started_below()))))
    }),
];

fn of_each(all: &[Episode<'_>], of: Of<Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = all.iter().filter_map(of).collect();
    mean(&values)
}

/// Returns the facts of the runs of an experiment.
pub(super) fn facts(experiment: &str, part: Option<&ExperimentResults>) -> Facts {
    let traces = part.map_or(&[][..], |part| &part.traces);
    let runs: Vec<(&Traced, Vec<Step>)> = traces
        .iter()
        .map(|traced| (traced, steps(&traced.trace)))
        .collect();
    let episodes: Vec<(&Traced, Vec<Episode<'_>>)> = runs
        .iter()
        .map(|(traced, steps)| (*traced, Episode::all(&traced.trace, steps)))
        .collect();
    if SINGLE.contains(&experiment) {
        return of_first(&episodes);
    }
    if MANY.contains(&experiment) {
        return of_all(&episodes);
    }
    Facts::default()
}

type Runs<'t> = [(&'t Traced, Vec<Episode<'t>>)];

fn of_first(runs: &Runs<'_>) -> Facts {
    let firsts = || {
        runs.iter()
            .filter_map(|(traced, episodes)| Some((*traced, episodes.first()?)))
    };
    let numbers = NUMBERS.iter().map(|(name, of)| {
        let values = firsts()
            .filter_map(|(traced, episode)| Some((traced, FactValue::Number(of(episode)?))));
        fact(name, FactKind::Number, values)
    });
    let texts = TEXTS.iter().map(|(name, of)| {
        let values = firsts().map(|(traced, episode)| (traced, FactValue::Text(of(episode))));
        fact(name, FactKind::Text, values)
    });
    Facts(numbers.chain(texts).collect())
}

fn of_all(runs: &Runs<'_>) -> Facts {
    let facts = OF_ALL.iter().map(|(name, of)| {
        let values = runs
            .iter()
            .filter_map(|(traced, episodes)| Some((*traced, FactValue::Number(of(episodes)?))));
        fact(name, FactKind::Number, values)
    });
    Facts(facts.collect())
}

fn fact<'t>(
    name: &str,
    kind: FactKind,
    values: impl Iterator<Item = (&'t Traced, FactValue)>,
) -> Fact {
    Fact {
        name: name.to_owned(),
        kind,
        values: values
            .map(|(of, value)| (of.job.point, of.job.stack, of.job.seed, value))
            .collect(),
    }
}
