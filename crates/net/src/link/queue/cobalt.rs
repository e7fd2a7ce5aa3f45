//! COBALT: CoDel for responsive flows, BLUE for unresponsive ones (Høiland-Jørgensen, Täht, Morton, "Piece of CAKE",
//! LANMAN 2018, §III-C; Palmei et al., LANMAN 2019).
//!
//! Its CoDel differs from [RFC 8289](super::codel) in two ways. First, it signals as soon as packets have waited too
//! long for an interval, with at most one signal at a time. Second, when the wait is short again, `count` is not reset,
//! but decreases by the same law by which it increased:
//!
//! ```text
//! wait > target    a signal at drop_next, count ← count + 1, drop_next ← drop_next + interval/√count
//! wait ≤ target    no signal,             count ← count − 1, drop_next ← drop_next + interval/√count
//! ```
//!
//! BLUE (Feng et al., 1999) drops packets at random, including ECN-capable packets. Its probability rises by 1/256 when
//! the buffer overflows and falls by 1/4096 when the queue is found empty, each at most once per `target`.

use dupack_tcp::time::{Duration, Instant};

use super::store::Waiting;
use crate::link::red::Capable;
use crate::random::Stream;

/// Parameters of COBALT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CobaltConfig {
    /// Acceptable wait; default 5 ms (as in CoDel).
    pub target: Duration,
    /// Time for which the target must be exceeded; default 100 ms (as in CoDel).
    pub interval: Duration,
    /// Treatment of ECN-capable packets that CoDel would drop; default: they are marked.
    pub capable: Capable,
}

impl CobaltConfig {
    /// The defaults of the paper.
    pub const PAPER: Self = Self {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        capable: Capable::Mark,
    };

    /// Returns `true` if the parameters are valid: `0 < target ≤ interval`.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.target.is_zero() && self.target <= self.interval
    }
}

/// Unit of BLUE's probability: the probability decreases by one part of 4096 and increases by sixteen parts.
const BLUE_PARTS: u32 = 4096;
const BLUE_RISE: u32 = 16;

/// Control law of one flow queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    count: u32,
    drop_next: Instant,
    state: State,
    /// BLUE's probability in parts of [`BLUE_PARTS`].
    blue: u32,
    /// Time of BLUE's last change.
    blue_changed: Instant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Calm,
    /// Packets wait too long.
    Dropping,
}

/// Fate of a packet that leaves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Send,
    Mark,
    Drop,
}

impl Cobalt {
    /// Returns the fate of a packet at the head of its queue. A wait is too long only if it exceeds both the target and
    /// `patience`.
    pub(super) fn judge(
        &mut self,
        config: &CobaltConfig,
        now: Instant,
        packet: &Waiting,
        patience: Duration,
        stream: &mut Stream,
    ) -> Fate {
        let sojourn = packet.sojourn(now);
        let over = sojourn > config.target && sojourn > patience;
        let was_due = self.is_due(now);
        if !over {
            self.state = State::Calm;
        } else if self.state == State::Calm {
            self.state = State::Dropping;
            self.count = self.count.max(1);
            self.drop_next = self.law(config, now);
        }
        let mut fate = Fate::Send;
        if self.state == State::Dropping && was_due {
            let marks = config.capable == Capable::Mark && packet.is_capable();
            fate = if marks { Fate::Mark } else { Fate::Drop };
            self.count = self.count.saturating_add(1);
            self.drop_next = self.law(config, self.drop_next);
        } else if self.state == State::Calm {
            self.relax(config, now);
        }
        if self.blue > 0 && stream.below(u64::from(BLUE_PARTS)) < u64::from(self.blue) {
            fate = Fate::Drop;
        }
        if fate != Fate::Drop && self.count > 0 && now > self.drop_next {
            // Overdue signals are skipped.
            self.drop_next = now;
        }
        fate
    }

    /// Updates the state after the buffer was full and this queue has dropped a packet.
    pub(super) fn overflowed(&mut self, config: &CobaltConfig, now: Instant) {
        if now.since(self.blue_changed) > config.target {
            self.blue = (self.blue + BLUE_RISE).min(BLUE_PARTS);
            self.blue_changed = now;
        }
        self.state = State::Dropping;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Updates the state after the queue was found empty.
    pub(super) fn found_empty(&mut self, config: &CobaltConfig, now: Instant) {
        if self.blue > 0 && now.since(self.blue_changed) > config.target {
            self.blue -= 1;
            self.blue_changed = now;
        }
        self.state = State::Calm;
        if self.is_due(now) {
            self.count -= 1;
            self.drop_next = self.law(config, self.drop_next);
        }
    }

    /// Decreases `count` once for each time that is due.
    fn relax(&mut self, config: &CobaltConfig, now: Instant) {
        while self.is_due(now) {
            self.count -= 1;
            self.drop_next = self.law(config, self.drop_next);
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Returns `time + interval/√count`; one interval if the count is zero.
    fn law(&self, config: &CobaltConfig, time: Instant) -> Instant {
        let root = f64::from(self.count.max(1)).sqrt();
        time + Duration::from_nanos((config.interval.as_nanos() as f64 / root) as u64)
    }
}
