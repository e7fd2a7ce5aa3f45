//! Facts of the recorded runs of figures 3 and 5 and of table 3, for the rules. Packets are numbered as in ns-2. Times
//! are in seconds from the start of the run.

use std::collections::BTreeSet;

use dupack_algorithms::recovery::newreno::PARTIAL_ACK;
use dupack_claims::{Fact, FactKind, FactValue, Facts};
use dupack_lab::trace::{Repeated, Sent, Trace, What};
use dupack_tcp::facts::SendReason;
use dupack_tcp::time::{Duration, Instant};

use super::LOST;
use super::episode::{Episode, SYN, acknowledged};
use crate::evidence::{ExperimentResults, Traced};

/// Experiments that record packets.
const RECORDED: [&str; 4] = ["figure3", "figure5", "table3-newreno", "table3-recovery"];
/// Time at which the senders of figure 5 are compared.
const COMPARED_AT: Duration = Duration::from_secs(4);

type Of<T> = fn(&Episode<'_>) -> T;

/// Numeric facts of a recovery. An event that does not happen has no number.
const NUMBERS: [(&str, Of<Option<f64>>); 23] = [
    // Window in packets before and right after the detection.
    ("cwnd_before", |e| Some(e.cwnd.0)),
    ("cwnd_after", |e| Some(e.cwnd.1)),
    ("round_trip", |e| Some(e.rtt.as_secs_f64())),
    ("detected_at", |e| Some(e.detection.as_secs_f64())),
    ("completed_at", |e| Some(e.complete.as_secs_f64())),
    ("recovery_time", |e| {
        Some(e.complete.since(e.detection).as_secs_f64())
    }),
    ("recovery_rtts", |e| Some(e.length_rtts())),
    ("recovery_timeouts", |e| Some(e.timeouts() as f64)),
    // The first growth by congestion avoidance, and the first growth that is at least a round trip after the detection.
    ("first_growth_at", |e| {
        Some(e.avoidance_from(e.detection)?.as_secs_f64())
    }),
    ("restarted_at", |e| {
        Some(e.avoidance_from(e.detection + e.rtt)?.as_secs_f64())
    }),
    // Number of ACKs from the detection to the first ACK that lets the window grow. 0 if the window does not grow.
    ("acks_to_growth", |e| {
        let first = e.avoidance_from(e.detection);
        Some(first.map_or(0.0, |first| e.acks_until(first) as f64))
    }),
    // Number of retransmissions from the detection to the end of the recovery.
    ("resent", |e| Some(e.retransmissions().len() as f64)),
    // Minimum time between two retransmissions, in round trips.
    ("resent_apart", |e| {
        let resent = e.retransmissions();
        let gaps = resent.windows(2).map(|pair| e.rtts(pair[0].0, pair[1].0));
        gaps.reduce(f64::min)
    }),
    ("fourth_resent_at", |e| {
        Some(e.retransmissions().get(3)?.0.as_secs_f64())
    }),
    // First new packet after the detection.
    ("new_data_at", |e| Some(e.new_data()?.0.as_secs_f64())),
    ("new_data_packet", |e| {
        Some((e.new_data()?.1.number + SYN) as f64)
    }),
    ("resent_before_new_data", |e| {
        let (new, _) = e.new_data()?;
        let resent = e.retransmissions();
        Some(resent.iter().filter(|(at, _)| *at <= new).count() as f64)
    }),
    // Number of packets that limited transmit sends from the first duplicate ACK to the detection.
    ("limited_transmits", |e| {
        let sends = to_detection(e);
        let limited = sends
            .iter()
            .filter(|(_, s)| s.why == SendReason::LimitedTransmit);
        Some(limited.count() as f64)
    }),
    ("second_round_packets", |e| {
        Some(second_round(e).len() as f64)
    }),
    // Number of partial ACKs when at least two lost packets are not yet retransmitted, and the number of these ACKs
    // that trigger exactly two retransmissions and no other packet.
    ("partial_acks", |e| Some(answers(e).len() as f64)),
    ("answered_by_two", |e| {
        let answers = answers(e);
        let by_two = answers
            .iter()
            .filter(|(resent, sent)| (resent.len(), *sent) == (2, 2));
        Some(by_two.count() as f64)
    }),
    // Number of packets dropped up to the end of the first recovery.
    ("dropped_in_recovery", |e| Some(e.dropped().0 as f64)),
    // Length of the longest sequence of consecutive dropped packets: n, n + 1, n + 2 and so on.
    ("dropped_in_a_row", |e| Some(e.dropped_in_a_row() as f64)),
];
/// Number of packets dropped after the first recovery.
const DROPPED_LATER: &str = "dropped_later";
/// Number of packets that are cumulatively acknowledged at [`COMPARED_AT`].
const ACKED: &str = "acked_at_4s";

/// Texts that describe the packets sent and the behaviour of the window.
const TEXTS: [(&str, Of<String>); 7] = [
    // Packets sent after the last ACK for new data and before the detection.
    ("sent_before_detection", |e| {
        let after = e.last_advance() + Duration::from_nanos(1);
        describe(&e.sends(after, e.detection))
    }),
    // Packets sent from the first duplicate ACK to the detection, including packets that the detection triggers.
    ("sent_to_detection", |e| describe(&to_detection(e))),
    // Packets sent in the round trip that begins with the first duplicate ACK, and in the next one.
    ("sent_first_round", |e| {
        describe(&e.sends(e.first_duplicate, e.first_duplicate + e.rtt))
    }),
    ("sent_second_round", |e| describe(&second_round(e))),
    // Packets retransmitted from the detection to the end of the recovery.
    ("resent_packets", |e| {
        list(e.retransmissions().iter().map(|(_, number)| *number))
    }),
    ("partial_answers", |e| {
        let answers = answers(e);
        let texts = answers
            .iter()
            .map(|(resent, _)| format!("[{}]", list(resent.iter().copied())));
        texts.collect::<Vec<_>>().join(", ")
    }),
    // Behaviour of the window between the detection and the end of the recovery.
    ("meanwhile", |e| {
        let what = match (e.grew_before_the_end(), e.timeouts()) {
            (false, _) => "waits",
            (true, 0) => "grows in recovery",
            (true, _) => "times out and grows",
        };
        what.to_owned()
    }),
];

/// Returns the facts of the runs of an experiment.
pub(super) fn facts(experiment: &str, part: Option<&ExperimentResults>) -> Facts {
    if !RECORDED.contains(&experiment) {
        return Facts::default();
    }
    let traces = part.map_or(&[][..], |part| &part.traces);
    let episodes: Vec<(&Traced, Episode<'_>)> = traces
        .iter()
        .filter_map(|traced| Some((traced, Episode::of(&traced.trace)?)))
        .collect();
    let number = |name: &str, of: &dyn Fn(&Episode<'_>) -> Option<f64>| {
        let values = episodes
            .iter()
            .filter_map(|(traced, episode)| Some(value(traced, FactValue::Number(of(episode)?))));
        fact(name, FactKind::Number, values.collect())
    };
    let mut out: Vec<Fact> = NUMBERS.iter().map(|(name, of)| number(name, of)).collect();
    out.push(number(DROPPED_LATER, &|e| Some(e.dropped().1 as f64)));
    out.extend(TEXTS.iter().map(|(name, of)| {
        let values = episodes
            .iter()
            .map(|(traced, episode)| value(traced, FactValue::Text(of(episode))));
        fact(name, FactKind::Text, values.collect())
    }));
    let acked = traces.iter().map(|traced| {
        let packets = acknowledged(&traced.trace, Instant::ZERO + COMPARED_AT);
        value(traced, FactValue::Number(packets as f64))
    });
    out.push(fact(ACKED, FactKind::Number, acked.collect()));
    Facts(out)
}

type Known = (usize, usize, u64, FactValue);

fn value(of: &Traced, value: FactValue) -> Known {
    (of.job.point, of.job.stack, of.job.seed, value)
}

fn fact(name: &str, kind: FactKind, values: Vec<Known>) -> Fact {
    Fact {
        name: name.to_owned(),
        kind,
        values,
    }
}

type Sends<'t> = Vec<(Instant, &'t Sent)>;

fn to_detection<'t>(e: &Episode<'t>) -> Sends<'t> {
    e.sends(e.first_duplicate, e.detection + Duration::from_nanos(1))
}

fn second_round<'t>(e: &Episode<'t>) -> Sends<'t> {
    let begin = e.first_duplicate + e.rtt;
    e.sends(begin, begin + e.rtt)
}

/// Returns an entry for each partial ACK when at least two lost packets are not yet retransmitted: the packets that the
/// ACK causes to be retransmitted at once, and the number of packets sent.
fn answers(e: &Episode<'_>) -> Vec<(Vec<u64>, usize)> {
    let by_partial = |sent: &Sent| sent.why == SendReason::Retransmit(PARTIAL_ACK);
    let mut resent: Vec<u64> = vec![LOST[0]];
    let mut out = Vec::new();
    for (at, _) in e.partial_acks() {
        let left = LOST.iter().filter(|n| !resent.contains(n)).count();
        if left < 2 {
            break;
        }
        let sends = e.sends(at, at + Duration::from_nanos(1));
        let again = sends.iter().filter(|(_, sent)| by_partial(sent));
        let again: Vec<u64> = again.map(|(_, sent)| sent.number + SYN).collect();
        resent.extend(&again);
        out.push((again, sends.len()));
    }
    out
}

fn list(numbers: impl Iterator<Item = u64>) -> String {
    let texts: Vec<String> = numbers.map(|number| number.to_string()).collect();
    texts.join(", ")
}

/// Lists packets and marks retransmissions: `35, 24 again`.
fn describe(sends: &[(Instant, &Sent)]) -> String {
    let texts = sends.iter().map(|(_, sent)| {
        let number = sent.number + SYN;
        match sent.repeated {
            Repeated::First => format!("{number}"),
            Repeated::Needed => format!("{number} again"),
            Repeated::Needless => format!("{number} again for nothing"),
        }
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        "nothing".to_owned()
    } else {
        texts.join(", ")
    }
}

impl<'t> Episode<'t> {
    /// Returns the first new packet after the detection.
    fn new_data(&self) -> Option<(Instant, &'t Sent)> {
        let mut sends = self.trace.sends();
        sends.find(|(at, sent)| *at >= self.detection && sent.repeated == Repeated::First)
    }

    /// Returns the number of ACKs after the detection up to `until`.
    fn acks_until(&self, until: Instant) -> usize {
        let acks = self.trace.acks();
        let after = acks.filter(|(at, _)| self.detection < *at && *at <= until);
        after.count()
    }

    /// Returns the length of the longest sequence of consecutive packets that were dropped up to the end of the
    /// recovery.
    fn dropped_in_a_row(&self) -> usize {
        let until_end = self.trace.events.iter();
        let until_end = until_end.take_while(|event| event.at <= self.complete);
        let numbers: BTreeSet<u64> = until_end
            .filter_map(|event| match event.what {
                What::DataDropped { number, .. } => Some(number),
                _ => None,
            })
            .collect();
        let length = |first: &u64| {
            let row = *first..;
            row.take_while(|number| numbers.contains(number)).count()
        };
        numbers.iter().map(length).max().unwrap_or(0)
    }

    /// Returns the number of packets dropped up to the end of the recovery, and the number dropped after it.
    fn dropped(&self) -> (usize, usize) {
        let drops = |trace: &Trace| {
            let events = trace.events.iter();
            let drops = events.filter(|event| matches!(event.what, What::DataDropped { .. }));
            drops.map(|event| event.at).collect::<Vec<_>>()
        };
        let all = drops(self.trace);
        let before = all.iter().filter(|at| **at <= self.complete).count();
        (before, all.len() - before)
    }
}
