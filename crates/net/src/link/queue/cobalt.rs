//! COBALT: CoDel for queues that answer, BLUE for those that do not (Høiland-Jørgensen, Täht, Morton,
//! "Piece of CAKE", LANMAN 2018, §III-C; Palmei et al., LANMAN 2019).
//!
//! Two things set its CoDel apart from [RFC 8289's](super::codel): it signals as soon as packets
//! wait too long for an interval, at most one at a time, and `count` is not forgotten when the wait
//! is short again, but goes down by the law that it came up by:
//!
//! ```text
//! wait > target    a signal at drop_next, count ← count + 1, drop_next ← drop_next + interval/√count
//! wait ≤ target    no signal,             count ← count − 1, drop_next ← drop_next + interval/√count
//! ```
//!
//! BLUE (Feng et al., 1999) drops with a probability, ECN or not, that rises by 1/256 when the buffer
//! overflows and falls by 1/4096 when the line is found empty, each at most once per `target`.

use dupack_tcp::time::{Duration, Instant};

use super::store::Waiting;
use crate::link::red::Capable;
use crate::random::Stream;

/// COBALT's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CobaltConfig {
    /// The wait that is not too long; 5 ms (as CoDel's).
    pub target: Duration,
    /// For how long it must be exceeded; 100 ms (as CoDel's).
    pub interval: Duration,
    /// What becomes of ECN-capable packets that CoDel's half would drop; they are marked.
    pub capable: Capable,
}

impl CobaltConfig {
    /// The paper's defaults.
    pub const PAPER: Self = Self {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        capable: Capable::Mark,
    };

    /// Whether the parameters make sense: `0 < target ≤ interval`.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.target.is_zero() && self.target <= self.interval
    }
}

/// BLUE's probability is counted in parts of this; it falls by one part and rises by sixteen.
const BLUE_PARTS: u32 = 4096;
const BLUE_RISE: u32 = 16;

/// The law, for one line of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    count: u32,
    drop_next: Instant,
    state: State,
    /// In parts of [`BLUE_PARTS`].
    blue: u32,
    /// When that was changed last.
    blue_changed: Instant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Calm,
    /// Packets have waited too long.
    Dropping,
}

/// What becomes of a packet that leaves its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Send,
    Mark,
    Drop,
}

impl Cobalt {
    /// What becomes of a packet at the head that has waited for `sojourn`, where a wait is too long
    /// only if it is longer than `patience`, too.
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
            // What was due is not made up for.
            self.drop_next = now;
        }
        fate
    }

    /// The buffer was full, and this line has lost a packet.
    pub(super) fn overflowed(&mut self, config: &CobaltConfig, now: Instant) {
        if now.since(self.blue_changed) > config.target {
            self.blue = (self.blue + BLUE_RISE).min(BLUE_PARTS);
            self.blue_changed = now;
        }
        self.state = State::Dropping;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The line was found empty.
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

    /// Takes back what is due to be taken back.
    fn relax(&mut self, config: &CobaltConfig, now: Instant) {
        while self.is_due(now) {
            self.count -= 1;
            self.drop_next = self.law(config, self.drop_next);
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// `time + interval/√count`; one interval without any count.
    fn law(&self, config: &CobaltConfig, time: Instant) -> Instant {
        let root = f64::from(self.count.max(1)).sqrt();
        time + Duration::from_nanos((config.interval.as_nanos() as f64 / root) as u64)
    }
}
