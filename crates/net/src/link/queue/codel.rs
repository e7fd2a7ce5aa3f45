//! CoDel, controlled delay (RFC 8289): drops packets at the head once they have waited too long.
//!
//! The controlled quantity is the wait of each packet when it leaves. If the wait has stayed above `target` for a whole
//! `interval`, a packet is dropped. While the wait stays above `target`, another packet is dropped after
//! `interval/√count`, so that drops become more frequent as Reno's throughput law requires:
//!
//! ```text
//! drop_next ← drop_next + interval/√count        (§5.6, control_law)
//! ```
//!
//! If the dropping state is entered again soon after it was left, it continues with the last effective count (§5.5, the
//! Linux version, which the RFC prints). Nothing is dropped while at most `mtu` bytes wait.
//!
//! Unlike [RED](super::super::RedConfig), CoDel needs no average and no packet counts. Unlike [PIE](super::pie), it
//! needs no random numbers. However, every packet must carry its arrival time.
//!
//! With ECN, ECN-capable packets are marked instead of dropped. One packet is marked at each time at which the next
//! drop would be due, as in Linux; the RFC does not specify marks. With `l4s_threshold`, each packet with ECT(1) that
//! has waited longer than this is marked as well: the `ce_threshold` of RFC 8290 §5.2.7, for L4S only.

use dupack_tcp::segment::Codepoint;
use dupack_tcp::time::{Duration, Instant};

use super::store::{Line, Store, Waiting};
use super::{Fallout, Manage};
use crate::link::config::QueueLimit;
use crate::link::counters::DropCause;
use crate::link::red::Capable;

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoDelConfig {
    /// `TARGET`: acceptable wait; default 5 ms (RFC 8289 §4.3).
    pub target: Duration,
    /// `INTERVAL`: time for which the target must be exceeded; default 100 ms (RFC 8289 §4.3).
    pub interval: Duration,
    /// `maxpacket`: nothing is dropped while at most this many bytes wait; default 1500 (§5.2 requires the MTU).
    pub mtu_bytes: u32,
    /// Treatment of ECN-capable packets; default: they are dropped.
    pub capable: Capable,
    /// Wait above which all packets with ECT(1) are marked; default off.
    pub l4s_threshold: Option<Duration>,
    /// Implementation to follow in the arithmetic; default: the RFC.
    pub like: CoDelLike,
}

/// Implementation that CoDel follows exactly in its arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoDelLike {
    /// RFC 8289: `1/√count` is exact, and the interval to the next mark starts at the due time of the current mark.
    #[default]
    Rfc,
    /// ns-3.37: `1/√count` is approximated by one step of Newton's method, in 16 bits, each time `count` changes, as in
    /// Linux. So the first intervals of an episode are too short (a factor of 0.5 instead of 0.71 for a count of 2).
    /// The interval to the next mark starts at the time at which the current mark is made.
    Ns3,
}

impl CoDelConfig {
    /// The constants of the RFC, without ECN.
    pub const RFC: Self = Self {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        mtu_bytes: 1500,
        capable: Capable::Drop,
        l4s_threshold: None,
        like: CoDelLike::Rfc,
    };

    /// Returns `true` if the parameters are valid: `0 < target ≤ interval`.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.target.is_zero() && self.target <= self.interval
    }
}

impl Default for CoDelConfig {
    fn default() -> Self {
        Self::RFC
    }
}

/// Control law of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CoDel {
    /// `first_above_time`: time from which packets may be dropped, if they still wait too long.
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    state: State,
    /// Newton's approximation of `1/√count`, in units of 1/65536.
    inverse_root: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// The control law drops packets.
    Dropping,
}

/// Packet from the head, and the verdict: `OkToDrop` if it may be dropped (`dodequeue_result`).
#[derive(Clone, Copy, Debug)]
struct Head {
    packet: Option<Waiting>,
    verdict: HeadVerdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadVerdict {
    Keep,
    OkToDrop,
}

/// Number of intervals after the last drop within which a new episode continues with the last count (§5.5).
const RECENT_INTERVALS: u64 = 16;

impl CoDel {
    /// Takes the next packet of `line` that is not dropped.
    pub(super) fn dequeue(
        &mut self,
        config: &CoDelConfig,
        store: &mut Store,
        line: &mut Line,
        now: Instant,
        fallout: &mut Fallout,
    ) -> Option<Waiting> {
        let head = self.head(config, store, line, now);
        let ok_to_drop = head.verdict == HeadVerdict::OkToDrop;
        let mut packet = match self.state {
            State::Idle if ok_to_drop => self.enter(config, store, line, now, head, fallout),
            State::Dropping if ok_to_drop => self.go_on(config, store, line, now, head, fallout),
            _ => {
                self.state = State::Idle;
                head.packet
            }
        };
        if let Some(packet) = &mut packet
            && packet.offer.ecn == Codepoint::Ect1
            && let Some(threshold) = config.l4s_threshold
            && packet.sojourn(now) > threshold
        {
            fallout.mark(packet);
        }
        packet
    }

    /// Makes the first drop or mark of an episode. Returns the packet to send.
    fn enter(
        &mut self,
        config: &CoDelConfig,
        store: &mut Store,
        line: &mut Line,
        now: Instant,
        head: Head,
        fallout: &mut Fallout,
    ) -> Option<Waiting> {
        let mut packet = head.packet?;
        let sent = if config.marks(&packet) {
            fallout.mark(&mut packet);
            Some(packet)
        } else {
            fallout.drop(&packet, DropCause::Aqm);
            self.head(config, store, line, now).packet
        };
        self.state = State::Dropping;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < config.interval * RECENT_INTERVALS;
        if delta > 1 && recent {
            self.set_count(delta);
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.drop_next = self.control_law(config, now);
        self.last_count = self.count;
        sent
    }

    /// Makes the drops or the mark that are due in an episode. Returns the packet to send.
    fn go_on(
        &mut self,
        config: &CoDelConfig,
        store: &mut Store,
        line: &mut Line,
        now: Instant,
        mut head: Head,
        fallout: &mut Fallout,
    ) -> Option<Waiting> {
        while now >= self.drop_next && self.state == State::Dropping {
            let mut packet = head.packet?;
            self.set_count(self.count.saturating_add(1));
            if config.marks(&packet) {
                fallout.mark(&mut packet);
                let from = match config.like {
                    CoDelLike::Rfc => self.drop_next,
                    CoDelLike::Ns3 => now,
                };
                self.drop_next = self.control_law(config, from);
                return Some(packet);
            }
            fallout.drop(&packet, DropCause::Aqm);
            head = self.head(config, store, line, now);
            match head.verdict {
                HeadVerdict::Keep => self.state = State::Idle,
                HeadVerdict::OkToDrop => {
                    self.drop_next = self.control_law(config, self.drop_next);
                }
            }
        }
        head.packet
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_root = newton_step(self.inverse_root, count);
    }

    /// Returns the time of the drop after the one at `time`.
    fn control_law(&self, config: &CoDelConfig, time: Instant) -> Instant {
        let interval = config.interval.as_nanos();
        time + Duration::from_nanos(match config.like {
            CoDelLike::Rfc => (interval as f64 / f64::from(self.count).sqrt()) as u64,
            CoDelLike::Ns3 => ((u128::from(interval) * u128::from(self.inverse_root)) >> 16) as u64,
        })
    }

    /// Takes the first packet of `line` and decides whether it may be dropped (`dodequeue`, §5.6).
    fn head(
        &mut self,
        config: &CoDelConfig,
        store: &mut Store,
        line: &mut Line,
        now: Instant,
    ) -> Head {
        let packet = store.pop(line);
        let waits_long = packet.as_ref().is_some_and(|packet| {
            packet.sojourn(now) >= config.target && line.bytes() > u64::from(config.mtu_bytes)
        });
        let mut verdict = HeadVerdict::Keep;
        match self.first_above {
            _ if !waits_long => self.first_above = None,
            None => self.first_above = Some(now + config.interval),
            Some(first_above) if now >= first_above => verdict = HeadVerdict::OkToDrop,
            Some(_) => {}
        }
        Head { packet, verdict }
    }
}

/// Returns the next approximation `x ← x·(3 − count·x²)/2` of `1/√count`, in units of 1/65536.
fn newton_step(x: u16, count: u32) -> u16 {
    let x = i128::from(x);
    let rest = (3 << 32) - i128::from(count) * x * x;
    u16::try_from((x * rest.max(0)) >> 33).unwrap_or(u16::MAX)
}

impl CoDelConfig {
    fn marks(&self, packet: &Waiting) -> bool {
        self.capable == Capable::Mark && packet.is_capable()
    }
}

/// A queue with CoDel. It drops at the tail when the buffer is full.
#[derive(Clone, Debug)]
pub(in crate::link) struct CoDelQueue {
    config: CoDelConfig,
    store: Store,
    line: Line,
    law: CoDel,
}

impl CoDelQueue {
    pub(super) fn new(config: CoDelConfig, limit: QueueLimit) -> Self {
        Self {
            config,
            store: Store::new(limit),
            line: Line::default(),
            law: CoDel::default(),
        }
    }
}

impl Manage for CoDelQueue {
    fn enqueue(&mut self, _: Instant, packet: Waiting, _: &mut Fallout) -> Result<(), DropCause> {
        if !self.store.has_room(packet.bytes()) {
            return Err(DropCause::QueueFull);
        }
        self.store.push(&mut self.line, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, fallout: &mut Fallout) -> Option<Waiting> {
        let (store, line) = (&mut self.store, &mut self.line);
        self.law.dequeue(&self.config, store, line, now, fallout)
    }

    fn ready(&self, now: Instant) -> Option<Instant> {
        (self.store.packets() > 0).then_some(now)
    }

    fn store(&self) -> &Store {
        &self.store
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newtons_first_steps_are_too_short_and_then_converge() {
        // In units of 1/65536: 1, then (3 − 2)/2 = 0.5 for √½ = 0.707, then 0.5·(3 − 3/4)/2 = 0.5625.
        let steps = [2, 3, 4].iter().scan(u16::MAX, |x, &count| {
            *x = newton_step(*x, count);
            Some(f64::from(*x) / 65_536.0)
        });
        for (found, expected) in steps.zip([0.5, 0.5625, 0.487_793]) {
            assert!((found - expected).abs() < 1e-3, "{found}");
        }
        let far = (2..200).fold(u16::MAX, newton_step);
        assert!((f64::from(far) / 65_536.0 - 1.0 / f64::sqrt(199.0)).abs() < 1e-3);
    }

    #[test]
    fn the_control_law_follows_the_rfc_or_ns3() {
        let mut law = CoDel {
            inverse_root: u16::MAX,
            ..CoDel::default()
        };
        law.set_count(2);
        let mut config = CoDelConfig::RFC;
        let after = |config: &CoDelConfig| law.control_law(config, Instant::ZERO).as_nanos() / 1000;
        assert_eq!(after(&config), 70_710);
        config.like = CoDelLike::Ns3;
        assert!(after(&config).abs_diff(50_000) < 100);
    }
}
