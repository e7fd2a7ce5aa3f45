//! List of time intervals with bounded memory. Each interval is about one round trip long. If there are too many
//! intervals, neighbours are merged.

use dupack_tcp::time::{Duration, Instant};

use super::quiet::Settled;
use super::span::{Kind, Level, Span};
use crate::grow;

/// Fraction of the maximum queueing delay so far that a round must reach for its loss to count as a queue overflow. Our
/// choice: a full queue causes the maximum delay, and the tolerance of a quarter allows for queues that drop early or
/// are shared.
const OVERFLOW_SHARE: (u64, u64) = (3, 4);

/// Intervals of the stream so far.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    /// Round in progress.
    current: Span,
    /// Previous round. Its queue level may still change to an overflow, because a loss is detected about one round trip
    /// after the queue dropped the segment.
    pending: Option<Span>,
    epochs: Vec<Span>,
    epochs_max: usize,
    /// Maximum total duration of two neighbours that are merged.
    grain: Duration,
    last_level: Level,
    /// Minimum number of delivered bytes for a round to give evidence of a queue.
    bytes_min: u64,
    /// Minimum and maximum round-trip time so far.
    rtt_min: Option<Duration>,
    rtt_max: Option<Duration>,
    delivered: u64,
}

impl Ledger {
    pub(super) fn new(from: Instant, epochs_max: usize) -> Self {
        Self {
            current: Span::new(from),
            pending: None,
            bytes_min: 0,
            epochs: Vec::new(),
            epochs_max: epochs_max.max(2),
            grain: Duration::ZERO,
            last_level: Level::Clear,
            rtt_min: None,
            rtt_max: None,
            delivered: 0,
        }
    }

    /// Assigns time to its kind. A long interval of a kind that does not depend on the path stays separate, so that it
    /// does not affect the rounds next to it.
    pub(super) fn add(&mut self, settled: &Settled, round_trip: Duration) {
        let (kind, until) = (settled.kind, settled.to);
        let from = self.current.to;
        let long = !kind.yields_to_path() && until.since(from) > round_trip;
        let alone = long || kind == Kind::Handshake;
        if alone {
            self.end_round();
        }
        self.current.add(kind, until);
        if kind.is_silence() {
            self.current.drained(settled.delivered);
        }
        if alone {
            self.end_round();
        }
    }

    pub(super) fn sample(&mut self, rtt: Duration) {
        self.current.rtt.take(rtt);
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
        self.rtt_max = Some(self.rtt_max.map_or(rtt, |max| max.max(rtt)));
    }

    pub(super) fn delivered(&mut self, bytes: u64) {
        self.current.delivered = self.current.delivered.saturating_add(bytes);
        self.delivered = self.delivered.saturating_add(bytes);
    }

    pub(super) const fn current(&mut self) -> &mut Span {
        &mut self.current
    }

    pub(super) const fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    /// Sets the minimum number of delivered bytes. In a smaller round, the receiver may have delayed the ACKs.
    pub(super) const fn set_bytes_min(&mut self, bytes: u64) {
        self.bytes_min = bytes;
    }

    /// Returns the level of the bottleneck's queue, derived from the minimum round-trip time of the round. A queue that
    /// empties during the round does not count. A round without samples has at most the level of the previous round.
    fn level(&self) -> Level {
        if self.current.delivered < self.bytes_min {
            return Level::Clear;
        }
        let least = self.rtt_min.zip(self.current.rtt.min());
        let Some((least, of_round)) = least else {
            return self.last_level.min(Level::Standing);
        };
        if of_round.saturating_sub(least) > super::queue_noise(least) {
            Level::Standing
        } else {
            Level::Clear
        }
    }

    /// Records a detected loss. If the queue was almost at its maximum length in this round or in the previous one, the
    /// queue overflowed.
    pub(super) fn loss(&mut self) {
        self.current.losses = self.current.losses.saturating_add(1);
    }

    /// Ends the round.
    pub(super) fn end_round(&mut self) {
        let mut level = self.level();
        let to = self.current.to;
        let mut span = core::mem::replace(&mut self.current, Span::new(to));
        if span.is_empty() {
            return;
        }
        if span.rtt.count() > 0 {
            self.last_level = level;
        }
        let mut before = self.pending.take();
        let near_full = |span: &Span| self.near_full(span);
        if span.losses > 0 && (near_full(&span) || before.as_ref().is_some_and(near_full)) {
            if level == Level::Standing {
                level = Level::Overflowing;
            }
            if let Some(before) = before.as_mut().filter(|span| span.has_queue()) {
                before.set_level(Level::Overflowing);
            }
        }
        span.set_level(level);
        self.pending = Some(span);
        if let Some(settled) = before {
            self.settle(settled);
        }
    }

    /// `true` if the queue was almost at its maximum length in an interval.
    fn near_full(&self, span: &Span) -> bool {
        let (Some(least), Some(most), Some(here)) = (self.rtt_min, self.rtt_max, span.rtt.max())
        else {
            return false;
        };
        let (share, of) = OVERFLOW_SHARE;
        let fullest = most.saturating_sub(least);
        here.saturating_sub(least).saturating_mul(of) >= fullest.saturating_mul(share)
            && fullest > super::queue_noise(least)
    }

    fn settle(&mut self, span: Span) {
        let joins = self
            .epochs
            .last_mut()
            .filter(|last| belong_together(last, &span, self.grain));
        if let Some(last) = joins {
            last.merge(&span);
            return;
        }
        if self.epochs.len() >= self.epochs_max {
            self.thin_out();
        }
        grow::push(&mut self.epochs, span, self.epochs_max);
    }

    /// Merges neighbours until at most half of the maximum number of intervals remain. This takes a few steps per
    /// interval (amortised).
    fn thin_out(&mut self) {
        let goal = self.epochs_max / 2;
        while self.epochs.len() > goal {
            let longest = Duration::from_nanos(1_000_000);
            self.grain = self.grain.max(longest).saturating_mul(2);
            let grain = self.grain;
            self.epochs.dedup_by(|span, last| {
                let joins = belong_together(last, span, grain);
                if joins {
                    last.merge(span);
                }
                joins
            });
        }
    }

    /// Returns all intervals in order, and the minimum round-trip time.
    pub(super) fn finish(mut self) -> (Vec<Span>, Option<Duration>) {
        self.end_round();
        if let Some(rest) = self.pending.take() {
            self.settle(rest);
        }
        (self.epochs, self.rtt_min)
    }
}

/// `true` if two neighbours are merged, because they are short, or because both consist of the same single kind.
fn belong_together(one: &Span, next: &Span, grain: Duration) -> bool {
    let together = one.duration() + next.duration();
    let same = || {
        let alone = one.alone();
        alone.is_some_and(|kind| !kind.yields_to_path()) && alone == next.alone()
    };
    together <= grain || same()
}
