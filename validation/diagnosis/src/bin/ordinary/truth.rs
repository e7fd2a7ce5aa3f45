//! The limit of a stream at every instant. This module determines the limit from samples of the sender's socket, which
//! are taken every 10 ms, and from the actions of the sender's program.
//!
//! The kernel's counters divide each interval into four parts: time with nothing outstanding (limited by the
//! application), time limited by the receive window, time limited by the send buffer, and other busy time. The state at
//! the end of the interval determines the class of the other busy time:
//!
//! | class | condition, in this order |
//! | --- | --- |
//! | receive window | the window is closed: retransmissions probe it |
//! | timers | nothing was sent and nothing new was acknowledged for more than 1.25 round trips plus 12 ms, and then a segment was retransmitted |
//! | Nagle | less than a segment waits to be sent, data is outstanding, TCP_NODELAY is off, the congestion window is not full, no loss is being repaired, and the program is not in a write call |
//! | path | all streams of the direction together have at least 95 % of the bandwidth-delay product in flight (the path is full), and more data waits to be sent, the program is in a write call, or a loss is being repaired |
//! | path or application | the path is full, but all data that the program wrote was sent, and more than two segments are outstanding: a sentence may name either limit |
//! | application | all data that the program wrote was sent, and the program is not in a write call |
//! | send buffer | the same, but the program is in a write call |
//! | slow start | the congestion window is below its threshold, and nothing has been retransmitted or marked as lost |
//! | losses | otherwise: the congestion window, or the repair of a loss |
//!
//! If the receive window or the send buffer limits a stream while the path is full, both limits hold: without the first
//! limit, the other would remain. The time is attributed to the window or the buffer, but a sentence may also name the
//! path.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::app::{EndRecord, Record};
use super::info::Sample;

/// Limits of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Handshake,
    Application,
    Receiver,
    SendBuffer,
    Nagle,
    Timers,
    SlowStart,
    Losses,
    Path,
    /// The application had sent all its data, and this data kept the bottleneck busy. A sentence may name either limit.
    Either,
}

impl Class {
    pub const COUNT: usize = 10;
    pub const ALL: [Self; Self::COUNT] = [
        Self::Handshake,
        Self::Application,
        Self::Receiver,
        Self::SendBuffer,
        Self::Nagle,
        Self::Timers,
        Self::SlowStart,
        Self::Losses,
        Self::Path,
        Self::Either,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Application => "application",
            Self::Receiver => "receive window",
            Self::SendBuffer => "send buffer",
            Self::Nagle => "Nagle",
            Self::Timers => "timers",
            Self::SlowStart => "slow start",
            Self::Losses => "losses",
            Self::Path => "path",
            Self::Either => "path or application",
        }
    }

    /// Returns the class, with slow start, losses and path as one limit, which is the congestion window. The kernel's
    /// counters do not distinguish these three.
    pub const fn coarse(self) -> Self {
        match self {
            Self::SlowStart | Self::Losses => Self::Path,
            other => other,
        }
    }
}

/// Times by class, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    pub classes: [f64; Class::COUNT],
    /// Time limited by the receive window or the send buffer while the path was full, in seconds.
    full_path: f64,
}

impl Budget {
    pub fn all(&self) -> f64 {
        self.classes.iter().sum()
    }

    /// Returns the share of a class, from 0 to 1.
    pub fn share(&self, class: Class) -> f64 {
        self.classes[class as usize] / self.all().max(f64::MIN_POSITIVE)
    }

    /// Returns the share of the time, from 0 to 1, in which this class and another limit held at the same time. This
    /// time is attributed to the other limit.
    pub fn shared(&self, class: Class) -> f64 {
        let seconds = match class {
            Class::Application => self.classes[Class::Either as usize],
            Class::Path => self.classes[Class::Either as usize] + self.full_path,
            _ => 0.0,
        };
        seconds / self.all().max(f64::MIN_POSITIVE)
    }

    /// Returns the share of all classes with the same coarse class as `class`.
    pub fn coarse_share(&self, class: Class) -> f64 {
        let members = Class::ALL
            .into_iter()
            .filter(|one| one.coarse() == class.coarse());
        members.map(|one| self.share(one)).sum()
    }

    fn add(&mut self, class: Class, seconds: f64) {
        self.classes[class as usize] += seconds.max(0.0);
    }

    /// Returns text with the classes of at least 3 %, the largest first.
    pub fn in_words(&self) -> String {
        let mut parts = Class::ALL.map(|class| (self.share(class), class.name()));
        parts.sort_by(|one, other| other.0.total_cmp(&one.0));
        let parts = parts.iter().filter(|(share, _)| *share >= 0.03);
        let parts: Vec<String> = parts
            .map(|(share, name)| format!("{name} {:.0} %", share * 100.0))
            .collect();
        format!("{} of {:.1} s", parts.join(", "), self.all())
    }
}

/// The budget of one interval between two samples.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: u64,
    to: u64,
    budget: Budget,
}

/// The truth about a stream of data, from its sender.
pub struct Stream {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub retransmissions: u64,
    /// The last sample. Its counters cover the whole stream.
    pub last: Sample,
    spans: Vec<Span>,
}

impl Stream {
    /// Returns the budget between two times. The times are in nanoseconds since 1970.
    pub fn budget(&self, from: u64, to: u64) -> Budget {
        let mut sum = Budget::default();
        for span in &self.spans {
            let (start, end) = (span.from.max(from), span.to.min(to));
            if end > start {
                let part = (end - start) as f64 / (span.to - span.from).max(1) as f64;
                for (all, one) in sum.classes.iter_mut().zip(span.budget.classes) {
                    *all += one * part;
                }
                sum.full_path += span.budget.full_path * part;
            }
        }
        // After the last sample, the application has nothing to send.
        let known = self.spans.last().map_or(from, |span| span.to).max(from);
        sum.add(Class::Application, to.saturating_sub(known) as f64 / 1e9);
        sum
    }
}

/// Returns all streams of a run whose program wrote something.
pub fn streams(record: &Record) -> Vec<Stream> {
    let product = record.route.product();
    let mut streams = Vec::new();
    for side in 0..2 {
        let ends = record
            .ends
            .iter()
            .filter(|end| is_client(end) == (side == 0));
        let ends: Vec<&EndRecord> = ends.collect();
        let flights = flights(&ends);
        for end in ends {
            if end.written > 0 && end.samples.len() >= 2 {
                let other = record
                    .ends
                    .iter()
                    .find(|one| one.peer == end.local && one.local == end.peer);
                // A server's stream begins with the client's SYN.
                let opened = other.map_or(end.opened, |other| other.opened.min(end.opened));
                streams.push(stream(end, opened, &flights, product));
            }
        }
    }
    streams
}

/// Returns `true` for a client. The ports of servers are below 10,000.
fn is_client(end: &EndRecord) -> bool {
    end.local.port() >= 10_000
}

/// Returns the bytes in flight, summed over the connections of one host, for each period of 10 ms.
fn flights(ends: &[&EndRecord]) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    for end in ends {
        let mut last = None;
        for sample in &end.samples {
            let slot = sample.at / 10_000_000;
            if last != Some(slot) {
                *sums.entry(slot).or_default() += sample.in_flight();
                last = Some(slot);
            }
        }
    }
    sums
}

fn stream(end: &EndRecord, opened: u64, flights: &BTreeMap<u64, u64>, product: f64) -> Stream {
    let samples = &end.samples;
    let waits = timer_waits(samples);
    let mut spans = Vec::new();
    if let Some(first) = samples.first() {
        let mut budget = Budget::default();
        let seconds = first.at.saturating_sub(opened) as f64 / 1e9;
        budget.add(Class::Handshake, seconds);
        spans.push(Span {
            from: opened,
            to: first.at,
            budget,
        });
    }
    let (mut writes, mut in_writes) = (end.writing.iter().peekable(), [0, 0]);
    for pair in samples.windows(2) {
        let [before, now] = [pair[0], pair[1]];
        while let Some(next) = writes.next_if(|interval| interval[0] <= now.at) {
            in_writes = *next;
        }
        let writing = in_writes[0] <= now.at && in_writes[1] > now.at;
        let seconds = now.at.saturating_sub(before.at) as f64 / 1e9;
        let part = |now: u64, before: u64| now.saturating_sub(before) as f64 / 1e6;
        // The kernel's counters advance in ticks, so a part may seem longer than the interval.
        let busy = part(now.busy, before.busy).min(seconds);
        let window = part(now.receive_window, before.receive_window).min(busy);
        let buffer = part(now.send_buffer, before.send_buffer).min(busy - window);
        let mut budget = Budget::default();
        budget.add(Class::Application, seconds - busy);
        budget.add(Class::Receiver, window);
        budget.add(Class::SendBuffer, buffer);
        let mut rest = busy - window - buffer;
        if now.window == 0 {
            budget.add(Class::Receiver, rest);
            rest = 0.0;
        }
        let overlap: u64 = waits
            .iter()
            .map(|[from, to]| now.at.min(*to).saturating_sub(before.at.max(*from)))
            .sum();
        let waited = (overlap as f64 / 1e9).min(rest);
        budget.add(Class::Timers, waited);
        let together = flights.get(&(now.at / 10_000_000)).copied().unwrap_or(0);
        let together = together.max(now.in_flight()) as f64;
        let path_is_full = together >= 0.95 * product;
        if path_is_full {
            budget.full_path = window + buffer;
        }
        let class = class_of(end, &now, writing, path_is_full);
        budget.add(class, rest - waited);
        spans.push(Span {
            from: before.at,
            to: now.at,
            budget,
        });
    }
    let last = samples.last().copied().unwrap_or_default();
    Stream {
        from: end.local,
        to: end.peer,
        retransmissions: last.total_retrans,
        last,
        spans,
    }
}

const RECOVERY: u64 = 3;

fn class_of(end: &EndRecord, now: &Sample, writing: bool, path_is_full: bool) -> Class {
    let repairing = now.ca_state >= RECOVERY;
    let short = now.not_sent > 0 && now.not_sent < now.mss && now.unacked > 0;
    if short && !end.no_delay && !repairing && now.unacked < now.cwnd && !writing {
        Class::Nagle
    } else if path_is_full && (now.not_sent > 0 || writing || repairing) {
        Class::Path
    } else if path_is_full && now.outstanding() > 2 * now.mss {
        Class::Either
    } else if now.not_sent == 0 && !repairing {
        if writing {
            Class::SendBuffer
        } else {
            Class::Application
        }
    } else if now.cwnd < now.ssthresh && now.total_retrans == 0 && now.lost == 0 {
        Class::SlowStart
    } else {
        Class::Losses
    }
}

/// Returns the periods without packets that a timer ended, in nanoseconds since 1970.
fn timer_waits(samples: &[Sample]) -> Vec<[u64; 2]> {
    let mut waits = Vec::new();
    for (place, pair) in samples.windows(2).enumerate() {
        let [before, now] = [pair[0], pair[1]];
        if now.total_retrans == before.total_retrans {
            continue;
        }
        let quiet = samples.get(..=place).unwrap_or_default().iter().rev();
        let quiet = quiet.take_while(|one| {
            one.bytes_acked == before.bytes_acked
                && one.bytes_sent == before.bytes_sent
                && one.sacked == before.sacked
                && one.unacked > 0
        });
        let Some(since) = quiet.map(|one| one.at).last() else {
            continue;
        };
        let round_trip = before.rtt * 1000;
        if now.at - since > round_trip + round_trip / 4 + 12_000_000 {
            waits.push([since, now.at]);
        }
    }
    waits
}
