//! Recoveries in a recorded run, read from the packets: what each ACK delivered, and what was sent for it.

use dupack_lab::trace::{Fate, Repeated, State, Trace, What};
use dupack_tcp::segment::Ack;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::{Window, WindowCause};

/// Everything that happens at the sender at one event: an ACK, a write of the application, or a timer.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) at: Instant,
    /// The ACK, if the event is one.
    pub(super) ack: Option<Arrived>,
    /// Number of new segments, and of retransmissions, that were sent.
    pub(super) new: u64,
    pub(super) again: u64,
    /// Number of segments sent, and of retransmissions sent, that the network dropped.
    pub(super) dropped: u64,
    pub(super) dropped_again: u64,
    /// End of the segments that were ever sent.
    pub(super) end: u64,
    /// Window after a loss event, or after a timeout.
    reduced: Option<(WindowCause, Window)>,
    pub(super) state: State,
}

/// An ACK that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// The packet that the ACK expects next.
    pub(super) una: u64,
    /// Number of segments that it was the first to report (DeliveredData).
    pub(super) delivered: u64,
    /// End of the segments that it reports.
    pub(super) end: u64,
}

impl Step {
    /// Returns the number of segments that were sent.
    pub(super) const fn sent(&self) -> u64 {
        self.new + self.again
    }

    fn delivered(&self) -> u64 {
        self.ack.map_or(0, |ack| ack.delivered)
    }

    fn is_timeout(&self) -> bool {
        matches!(self.reduced, Some((WindowCause::Timeout, _)))
    }
}

/// Returns the steps of a run.
pub(super) fn steps(trace: &Trace) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut known = Known::default();
    let mut end = 0;
    let mut ack = None;
    let (mut new, mut again, mut dropped, mut dropped_again) = (0, 0, 0, 0);
    let mut reduced = None;
    for event in &trace.events {
        match &event.what {
            What::AckArrived { ack: arrived, .. } => ack = Some(known.take(trace, arrived)),
            What::Sent(sent) => {
                let lost = u64::from(matches!(sent.fate, Fate::Dropped(_)));
                dropped += lost;
                if sent.repeated == Repeated::First {
                    new += 1;
                } else {
                    again += 1;
                    dropped_again += lost;
                }
                end = end.max(sent.number + 1);
            }
            What::Window(change) => {
                let cause = change.cause;
                if matches!(cause, WindowCause::Congestion | WindowCause::Timeout) {
                    reduced = Some((cause, change.after));
                }
            }
            What::State(state) => steps.push(Step {
                at: event.at,
                ack: ack.take(),
                new: std::mem::take(&mut new),
                again: std::mem::take(&mut again),
                dropped: std::mem::take(&mut dropped),
                dropped_again: std::mem::take(&mut dropped_again),
                end,
                reduced: reduced.take(),
                state: *state,
            }),
            _ => {}
        }
    }
    steps
}

/// Segments that ACKs have reported.
#[derive(Debug, Default)]
struct Known {
    /// All segments below this one are reported.
    below: usize,
    reported: Vec<bool>,
}

impl Known {
    fn take(&mut self, trace: &Trace, ack: &Ack) -> Arrived {
        let packet = |seq: u32| u64::from(seq.wrapping_sub(trace.sender.isn.0) / trace.sender.smss);
        let una = packet(ack.ack.0);
        let mut arrived = Arrived {
            una,
            delivered: 0,
            end: una,
        };
        self.report(0, una, &mut arrived);
        for block in ack.sacks.as_slice() {
            self.report(packet(block.start.0), packet(block.end.0), &mut arrived);
        }
        arrived
    }

    fn report(&mut self, from: u64, until: u64, arrived: &mut Arrived) {
        let (from, until) = ((from as usize).max(self.below), until as usize);
        arrived.end = arrived.end.max(until as u64);
        if self.reported.len() < until {
            self.reported.resize(until, false);
        }
        for reported in self.reported.iter_mut().take(until).skip(from) {
            arrived.delivered += u64::from(!*reported);
            *reported = true;
        }
        if from == self.below {
            self.below = self.below.max(until);
        }
    }
}

/// A fast recovery, from the ACK that begins it to the ACK that ends it.
#[derive(Clone, Debug)]
pub(super) struct Episode<'s> {
    /// All steps of the run.
    all: &'s [Step],
    /// Index of the step that begins the recovery.
    first: usize,
    /// Index of the step that ends it: all data that was outstanding at its beginning is acknowledged.
    last: usize,
    /// ssthresh, in segments.
    pub(super) target: f64,
    smss: f64,
    rtt: Duration,
}

impl<'s> Episode<'s> {
    /// Returns the completed recoveries of a run. `steps` are those of `trace`.
    pub(super) fn all(trace: &Trace, steps: &'s [Step]) -> Vec<Self> {
        let Some(rtt) = steps.iter().filter_map(|step| step.state.rtt).min() else {
            return Vec::new();
        };
        let smss = trace.segment_bytes();
        let mut episodes = Vec::new();
        let mut from = 0;
        while let Some((first, target)) = beginning(steps, from) {
            let before = first.checked_sub(1).map_or(0, |before| steps[before].end);
            let covers = |step: &Step| step.ack.is_some_and(|ack| ack.una >= before);
            let Some(after) = steps[first + 1..].iter().position(covers) else {
                break;
            };
            let last = first + 1 + after;
            episodes.push(Self {
                all: steps,
                first,
                last,
                target: target / smss,
                smss,
                rtt,
            });
            from = last + 1;
        }
        episodes
    }

    /// Returns the steps of the recovery without the one that ends it.
    fn steps(&self) -> &'s [Step] {
        &self.all[self.first..self.last]
    }

    /// Returns the steps of the recovery up to the first timeout.
    fn calm(&self) -> &'s [Step] {
        let steps = self.steps();
        let timeout = steps.iter().position(Step::is_timeout);
        &steps[..timeout.unwrap_or(steps.len())]
    }

    /// Returns the ACKs of the first round trip with what was sent for them: those that report no segment sent after
    /// the first of them arrived. The recovery must be the first of the run, and the window must have been sent at
    /// once.
    fn round(&self) -> impl Iterator<Item = (usize, &'s Step)> {
        let acked = |step: &Step| step.ack.is_some();
        let first = self.all.iter().position(acked).unwrap_or(0);
        let window = first
            .checked_sub(1)
            .map_or(0, |before| self.all[before].end);
        let own = self.all.iter().enumerate().skip(first);
        own.take_while(move |(_, step)| step.ack.is_none_or(|ack| ack.end <= window))
    }

    /// Returns what each ACK of the first round trip sends, as in the diagrams of RFC 6937: `N` for a new segment, `R`
    /// for a retransmission.
    pub(super) fn sent_row(&self) -> String {
        let acks = self.round().filter(|(_, step)| step.ack.is_some());
        let cells = acks.map(|(_, step)| {
            let cell = |count: u64, letter: &str| match count {
                0 => String::new(),
                1 => letter.to_owned(),
                many => format!("{many}{letter}"),
            };
            let both = cell(step.new, "N") + &cell(step.again, "R");
            if both.is_empty() {
                "-".to_owned()
            } else {
                both
            }
        });
        cells.collect::<Vec<_>>().join(" ")
    }

    /// Returns the bytes in flight after each ACK of the first round trip and before what it sends, in segments.
    pub(super) fn pipe_row(&self) -> String {
        let acks = self.round().filter(|(_, step)| step.ack.is_some());
        let cells = acks.map(|(_, step)| format!("{:.0}", self.pipe(step)));
        cells.collect::<Vec<_>>().join(" ")
    }

    /// Returns the bytes in flight before what a step sends, in segments.
    fn pipe(&self, step: &Step) -> f64 {
        step.state.in_flight as f64 / self.smss - step.sent() as f64
    }

    /// Returns the number of segments sent in the first round trip.
    pub(super) fn sent_in_round(&self) -> u64 {
        self.round().map(|(_, step)| step.sent()).sum()
    }

    /// Returns the number of consecutive ACKs of the first round trip, from the beginning of the recovery on, that send
    /// nothing.
    pub(super) fn longest_silence(&self) -> u64 {
        let own = self.round().filter(|(index, _)| *index >= self.first);
        let mut silence = (0, 0);
        for (_, step) in own {
            silence.0 = if step.sent() == 0 { silence.0 + 1 } else { 0 };
            silence.1 = silence.1.max(silence.0);
        }
        silence.1
    }

    /// Returns the largest number of segments that one event sends before the end of the recovery.
    pub(super) fn longest_burst(&self) -> u64 {
        let sent = self.calm().iter().map(Step::sent);
        sent.max().unwrap_or(0)
    }

    /// Returns the number of segments that the first ACK of the recovery sends.
    pub(super) fn entry_burst(&self) -> u64 {
        self.all[self.first].sent()
    }

    /// Returns the number of segments that the ACK sends that ends the recovery.
    pub(super) fn exit_burst(&self) -> u64 {
        self.all[self.last].sent()
    }

    /// Returns the maximum over the recovery of the segments sent so far minus the segments delivered so far, and minus
    /// `per_ack` for each ACK so far.
    pub(super) fn ahead(&self, per_ack: f64) -> f64 {
        let mut balance = 0.0;
        let balances = self.calm().iter().map(|step| {
            balance += step.sent() as f64 - step.delivered() as f64;
            balance -= per_ack * f64::from(u8::from(step.ack.is_some()));
            balance
        });
        balances.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the length of the recovery in minimum round trips.
    pub(super) fn rtts(&self) -> f64 {
        self.between(self.first, self.last)
    }

    /// Returns the length of the recovery in milliseconds.
    pub(super) fn milliseconds(&self) -> f64 {
        let (first, last) = (self.all[self.first].at, self.all[self.last].at);
        last.since(first).as_secs_f64() * 1e3
    }

    /// Returns the time from the beginning of the recovery to its last retransmission, in minimum round trips.
    pub(super) fn resending_rtts(&self) -> f64 {
        let last = self.steps().iter().rposition(|step| step.again > 0);
        self.between(self.first, self.first + last.unwrap_or(0))
    }

    fn between(&self, from: usize, until: usize) -> f64 {
        let time = self.all[until].at.since(self.all[from].at);
        time.as_secs_f64() / self.rtt.as_secs_f64()
    }

    /// Returns the number of timeouts.
    pub(super) fn timeouts(&self) -> usize {
        let steps = self.steps().iter();
        steps.filter(|step| step.is_timeout()).count()
    }

    /// Returns the sum of a count over the recovery.
    pub(super) fn total(&self, count: fn(&Step) -> u64) -> u64 {
        self.steps().iter().map(count).sum()
    }

    /// Returns the bytes in flight before the ACK that ends the recovery, in segments; `None` after a timeout.
    pub(super) fn end_window(&self) -> Option<f64> {
        (self.timeouts() == 0).then(|| self.all[self.last - 1].state.in_flight as f64 / self.smss)
    }

    /// Returns the window after the recovery, in segments; `None` after a timeout.
    pub(super) fn cwnd_after(&self) -> Option<f64> {
        (self.timeouts() == 0).then(|| self.all[self.last].state.cwnd / self.smss)
    }

    /// Returns `true` if no more than ssthresh was in flight when the loss was detected, before anything was sent.
    pub(super) fn started_below(&self) -> bool {
        self.pipe(&self.all[self.first]) <= self.target
    }

    /// Returns the difference between the most and the least data that was actually in flight from the last event before
    /// the recovery on, after what each event sends, in segments.
    pub(super) fn flight_span(&self) -> f64 {
        let before = &self.all[self.first.saturating_sub(1)..self.first];
        let steps = before.iter().chain(self.calm());
        let flights = steps.map(|step| step.state.in_flight_true);
        let (least, most) = flights.fold((u64::MAX, 0), |(least, most), flight| {
            (least.min(flight), most.max(flight))
        });
        most.saturating_sub(least) as f64 / self.smss
    }

    /// Returns the number of ACKs and the number of segments sent so far, from the first ACK to the end of the
    /// recovery.
    pub(super) fn sent_so_far(&self) -> Vec<(f64, f64)> {
        let acked = |step: &Step| step.ack.is_some();
        let first = self.all.iter().position(acked).unwrap_or(0);
        let (mut acks, mut sent) = (0, 0);
        let mut points = vec![(0.0, 0.0)];
        for step in &self.all[first..=self.last] {
            acks += u64::from(step.ack.is_some());
            sent += step.sent();
            points.push((acks as f64, sent as f64));
        }
        points
    }

    /// Returns the time span of the recovery.
    pub(super) fn span(&self) -> (Instant, Instant) {
        (self.all[self.first].at, self.all[self.last].at)
    }
}

/// Returns the first step from `from` on at which a loss event reduces the window, and the new ssthresh in bytes.
fn beginning(steps: &[Step], from: usize) -> Option<(usize, f64)> {
    steps.iter().enumerate().skip(from).find_map(|(n, step)| {
        let (cause, window) = step.reduced?;
        (cause == WindowCause::Congestion).then_some((n, window.ssthresh))
    })
}
