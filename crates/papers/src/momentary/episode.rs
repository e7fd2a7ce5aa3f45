//! The first recovery in a recorded run.

use dupack_tcp::segment::Ack;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::WindowCause;

use dupack_lab::trace::{Repeated, Sent, Trace, What};

/// Offset from our packet numbers to those of ns-2, which counts the SYN as packet 0.
pub(super) const SYN: u64 = 1;

/// A recovery: the loss, its detection, and the repair.
#[derive(Clone, Debug)]
pub(super) struct Episode<'t> {
    pub(super) trace: &'t Trace,
    /// Minimum round-trip time before the detection.
    pub(super) rtt: Duration,
    /// Time of the first duplicate ACK.
    pub(super) first_duplicate: Instant,
    /// Time at which the window was reduced.
    pub(super) detection: Instant,
    /// Congestion window in packets before and right after the detection.
    pub(super) cwnd: (f64, f64),
    /// End of the recovery: all data that was outstanding at the detection is acknowledged.
    pub(super) complete: Instant,
}

impl<'t> Episode<'t> {
    /// Returns the first recovery in `trace` that was detected without a timeout, if it was completed.
    pub(super) fn of(trace: &'t Trace) -> Option<Self> {
        let mut reduction = trace
            .window_changes()
            .skip_while(|change| change.cause != WindowCause::Congestion);
        let first = reduction.next()?;
        let detection = first.at;
        // ns-2's FACK reduces the window in two steps.
        let last = reduction
            .take_while(|change| change.at == detection)
            .last()
            .unwrap_or(first);
        let smss = trace.segment_bytes();
        let sent_before = trace.sends().filter(|(at, _)| *at < detection);
        let outstanding = sent_before.map(|(_, sent)| sent.number).max()? + 1;
        Some(Self {
            trace,
            rtt: least_rtt(trace, detection)?,
            first_duplicate: first_duplicate(trace)?,
            detection,
            cwnd: (first.before.cwnd / smss, last.after.cwnd / smss),
            complete: acknowledged_at(trace, outstanding, detection)?,
        })
    }

    /// Returns the time between two instants, in round trips.
    pub(super) fn rtts(&self, from: Instant, until: Instant) -> f64 {
        let length = if until < from {
            -from.since(until).as_secs_f64()
        } else {
            until.since(from).as_secs_f64()
        };
        length / self.rtt.as_secs_f64()
    }

    /// Returns the time from the detection to the end of the recovery, in round trips.
    pub(super) fn length_rtts(&self) -> f64 {
        self.rtts(self.detection, self.complete)
    }

    /// Returns the packets sent from `from` up to but not including `until`.
    pub(super) fn sends(&self, from: Instant, until: Instant) -> Vec<(Instant, &'t Sent)> {
        let sends = self.trace.sends();
        sends.filter(|(at, _)| from <= *at && *at < until).collect()
    }

    /// Returns the retransmissions from the detection to the end of the recovery.
    pub(super) fn retransmissions(&self) -> Vec<(Instant, u64)> {
        self.sends(self.detection, self.complete)
            .into_iter()
            .filter(|(_, sent)| sent.repeated != Repeated::First)
            .map(|(at, sent)| (at, sent.number + SYN))
            .collect()
    }

    /// Returns the time of the first window growth by congestion avoidance at or after `from`, and after the detection.
    pub(super) fn avoidance_from(&self, from: Instant) -> Option<Instant> {
        self.trace
            .window_changes()
            .find(|change| {
                change.at >= from
                    && change.at > self.detection
                    && change.cause == WindowCause::Avoidance
                    && change.after.cwnd > change.before.cwnd
            })
            .map(|change| change.at)
    }

    /// Returns `true` if the window grew between the detection and the end of the recovery.
    pub(super) fn grew_before_the_end(&self) -> bool {
        self.trace.window_changes().any(|change| {
            self.detection < change.at
                && change.at < self.complete
                && change.after.cwnd > change.before.cwnd
        })
    }

    /// Returns the number of timeouts before the end of the recovery.
    pub(super) fn timeouts(&self) -> usize {
        let changes = self.trace.window_changes();
        changes
            .filter(|change| change.at < self.complete && change.cause == WindowCause::Timeout)
            .count()
    }

    /// Returns the time of the last ACK before the first duplicate ACK.
    pub(super) fn last_advance(&self) -> Instant {
        let acks = self.trace.acks();
        let before = acks.take_while(|(at, _)| *at < self.first_duplicate);
        before.last().map_or(self.first_duplicate, |(at, _)| at)
    }

    /// Returns the partial ACKs: the time of each ACK for new data before the end of the recovery, and the last packet
    /// that it acknowledges.
    pub(super) fn partial_acks(&self) -> Vec<(Instant, u64)> {
        let mut highest = 0;
        let mut out = Vec::new();
        for (at, ack) in self.trace.acks() {
            let next = packet(self.trace, ack);
            if next > highest && self.detection < at && at < self.complete {
                out.push((at, next));
            }
            highest = highest.max(next);
        }
        out
    }
}

/// Returns the packet that an ACK expects next, by our numbering.
fn packet(trace: &Trace, ack: &Ack) -> u64 {
    let bytes = ack.ack.0.wrapping_sub(trace.sender.isn.0);
    u64::from(bytes / trace.sender.smss)
}

/// Returns the highest cumulative acknowledgment at `at`, in packets.
pub(super) fn acknowledged(trace: &Trace, at: Instant) -> u64 {
    let acks = trace.acks().take_while(|(time, _)| *time <= at);
    acks.map(|(_, ack)| packet(trace, ack)).max().unwrap_or(0)
}

/// Returns the time after `since` at which all packets below `end` were acknowledged.
fn acknowledged_at(trace: &Trace, end: u64, since: Instant) -> Option<Instant> {
    trace
        .acks()
        .find(|(at, ack)| *at > since && packet(trace, ack) >= end)
        .map(|(at, _)| at)
}

/// Returns the cumulative acknowledgment over time, in packets by ns-2's numbering.
pub(super) fn acknowledgments(trace: &Trace) -> Vec<(f64, f64)> {
    let mut highest = 0;
    let acks = trace.acks().map(|(at, ack)| {
        highest = highest.max(packet(trace, ack));
        (at.as_secs_f64(), (highest + SYN) as f64)
    });
    acks.collect()
}

fn first_duplicate(trace: &Trace) -> Option<Instant> {
    let mut last = None;
    for (at, ack) in trace.acks() {
        if last == Some(ack.ack) {
            return Some(at);
        }
        last = Some(ack.ack);
    }
    None
}

/// Returns the minimum time from a packet's transmission to an ACK that covers it, before `until`.
fn least_rtt(trace: &Trace, until: Instant) -> Option<Duration> {
    let mut least: Option<Duration> = None;
    let mut waiting: std::collections::VecDeque<(u64, Instant)> = std::collections::VecDeque::new();
    for event in trace.events.iter().take_while(|event| event.at < until) {
        match &event.what {
            What::Sent(sent) => waiting.push_back((sent.number, event.at)),
            What::AckArrived { ack, .. } => {
                while let Some(&(number, at)) = waiting.front()
                    && number < packet(trace, ack)
                {
                    waiting.pop_front();
                    let rtt = event.at.since(at);
                    least = Some(least.map_or(rtt, |l| l.min(rtt)));
                }
            }
            _ => {}
        }
    }
    least
}
