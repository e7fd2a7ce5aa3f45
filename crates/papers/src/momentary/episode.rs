//! What a recorded run shows of its one recovery.

use dupack_tcp::segment::Ack;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::WindowCause;

use dupack_lab::trace::{Repeated, Sent, Trace, What};

/// Numbers of packets here are ours plus this: ns-2 counts from the SYN, its packet 0.
pub(super) const SYN: u64 = 1;

/// The loss, its detection, and the repair.
#[derive(Clone, Debug)]
pub(super) struct Episode<'t> {
    pub(super) trace: &'t Trace,
    /// The least round trip before the detection.
    pub(super) rtt: Duration,
    /// The first duplicate ACK.
    pub(super) first_duplicate: Instant,
    /// The reduction of the window.
    pub(super) detection: Instant,
    /// cwnd in packets before and right after the detection.
    pub(super) cwnd: (f64, f64),
    /// When everything outstanding at the detection was acknowledged.
    pub(super) complete: Instant,
}

impl<'t> Episode<'t> {
    /// The first recovery in `trace`, if it was detected without a timeout and came to its end.
    pub(super) fn of(trace: &'t Trace) -> Option<Self> {
        let mut reduction = trace
            .window_changes()
            .skip_while(|change| change.cause != WindowCause::Congestion);
        let first = reduction.next()?;
        let detection = first.at;
        // ns-2's FACK sets the window in two steps.
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

    /// `span` in round trips.
    pub(super) fn rtts(&self, from: Instant, until: Instant) -> f64 {
        let length = if until < from {
            -from.since(until).as_secs_f64()
        } else {
            until.since(from).as_secs_f64()
        };
        length / self.rtt.as_secs_f64()
    }

    /// From the detection to the end.
    pub(super) fn length_rtts(&self) -> f64 {
        self.rtts(self.detection, self.complete)
    }

    /// What was sent from `from` up to but not including `until`.
    pub(super) fn sends(&self, from: Instant, until: Instant) -> Vec<(Instant, &'t Sent)> {
        let sends = self.trace.sends();
        sends.filter(|(at, _)| from <= *at && *at < until).collect()
    }

    /// What was sent again from the detection to the end.
    pub(super) fn retransmissions(&self) -> Vec<(Instant, u64)> {
        self.sends(self.detection, self.complete)
            .into_iter()
            .filter(|(_, sent)| sent.repeated != Repeated::First)
            .map(|(at, sent)| (at, sent.number + SYN))
            .collect()
    }

    /// The first growth by congestion avoidance at `from` or later.
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

    /// Whether the window grew after the detection and before the end.
    pub(super) fn grew_before_the_end(&self) -> bool {
        self.trace.window_changes().any(|change| {
            self.detection < change.at
                && change.at < self.complete
                && change.after.cwnd > change.before.cwnd
        })
    }

    /// Timeouts before the end.
    pub(super) fn timeouts(&self) -> usize {
        let changes = self.trace.window_changes();
        changes
            .filter(|change| change.at < self.complete && change.cause == WindowCause::Timeout)
            .count()
    }

    /// The last ACK before the first duplicate one.
    pub(super) fn last_advance(&self) -> Instant {
        let acks = self.trace.acks();
        let before = acks.take_while(|(at, _)| *at < self.first_duplicate);
        before.last().map_or(self.first_duplicate, |(at, _)| at)
    }

    /// ACKs that advance before the end: the time, and the packet acknowledged last.
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

/// The packet that an ACK expects next, by our count.
fn packet(trace: &Trace, ack: &Ack) -> u64 {
    let bytes = ack.ack.0.wrapping_sub(trace.sender.isn.0);
    u64::from(bytes / trace.sender.smss)
}

/// The highest cumulative acknowledgment at `at`, in packets.
pub(super) fn acknowledged(trace: &Trace, at: Instant) -> u64 {
    let acks = trace.acks().take_while(|(time, _)| *time <= at);
    acks.map(|(_, ack)| packet(trace, ack)).max().unwrap_or(0)
}

/// When everything below packet `end` was acknowledged, after `since`.
fn acknowledged_at(trace: &Trace, end: u64, since: Instant) -> Option<Instant> {
    trace
        .acks()
        .find(|(at, ack)| *at > since && packet(trace, ack) >= end)
        .map(|(at, _)| at)
}

/// The cumulative acknowledgment over time, in packets.
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

/// The least time from a packet's first transmission to an ACK that covers it.
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
