//! DualPI2 (RFC 9332, Appendix A): an L4S queue and a classic queue with a coupled controller.
//!
//! Packets with ECT(1) or CE enter the L queue, all others the C queue. Every `update`, a PI controller compares the
//! longer of the two waits with its target (Figure 8):
//!
//! ```text
//! p' ← p' + alpha·(wait − target) + beta·(wait − wait_before)
//! p_C = p'²        classic: probability of a drop, or of a mark if ECN-capable
//! p_CL = k·p'      coupled: minimum probability of a mark in the L queue
//! ```
//!
//! The window of a classic sender is proportional to 1/√p_C and that of an L4S sender to 1/p_CL, so the square gives
//! both senders the same rate. The L queue also has its own AQM: a ramp from no marks at a wait of `min_th` to all
//! marks at `min_th + range` (Figure 5), or a step if `range` is zero. Signals are not random: they are counted
//! (`recur`, Figure 4), so this queue needs no random numbers.
//!
//! Once `p_CL` reaches 1, so that `p_C` is 1/k², the queues are overloaded: both queues then drop packets with
//! probability `p_C`, even if they are ECN-capable (Figure 7).
//!
//! The scheduler is a weighted round robin, which changes its credit only while both queues are backlogged, or a
//! time-shifted FIFO. Unlike [PIE](super::pie), DualPI2 makes its decision when a packet leaves, and needs no scaled
//! steps.
//!
//! Where the text leaves a choice: "more than `th_len` packets" includes the packet that leaves, and the ramp uses the
//! wait of this packet.

use dupack_tcp::time::{Duration, Instant};

use super::store::{Line, Store, Waiting};
use super::updates::Updates;
use super::{Fallout, Manage};
use crate::link::config::QueueLimit;
use crate::link::counters::DropCause;

/// Parameters of DualPI2.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DualPi2Config {
    /// `target`: target of the classic wait; default 15 ms (RFC 9332, Figure 2).
    pub target: Duration,
    /// `RTT_max`: maximum expected round-trip time, which determines the gains; default 100 ms.
    pub rtt_max: Duration,
    /// `Tupdate`: interval between updates; default 15 ms, the smaller of `target` and `rtt_max`/3.
    pub update: Duration,
    /// `k`: coupling factor; default 2.
    pub coupling: f64,
    /// `minTh`: wait above which packets in the L queue are marked; default 800 µs.
    pub min_th: Duration,
    /// `range`: additional wait at which all packets are marked; default 400 µs. With zero, the ramp becomes a step.
    pub range: Duration,
    /// `Th_len`: the ramp marks nothing in an L queue of at most this many packets; default 1.
    pub th_len_packets: u32,
    /// `MTU`: free space that the buffer must have for a packet of any size; default 1500 bytes.
    pub mtu_bytes: u32,
    /// Scheduler of the two queues; default weighted round robin with a share of 1/16 for the C queue (A.2).
    pub scheduler: DualScheduler,
}

/// Scheduler of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DualScheduler {
    /// Weighted round robin: while both queues are backlogged, the C queue sends a fixed share of the bytes.
    Weighted {
        /// Reciprocal of the C queue's share; default 16.
        one_in: u32,
    },
    /// Time-shifted FIFO: sends the packet that has waited longest, with a bonus for the L queue.
    TimeShifted {
        /// `tshift`: bonus added to waits in the L queue; default 50 ms.
        shift: Duration,
    },
}

impl DualPi2Config {
    /// The defaults of the RFC.
    pub const RFC: Self = Self {
        target: Duration::from_millis(15),
        rtt_max: Duration::from_millis(100),
        update: Duration::from_millis(15),
        coupling: 2.0,
        min_th: Duration::from_micros(800),
        range: Duration::from_micros(400),
        th_len_packets: 1,
        mtu_bytes: 1500,
        scheduler: DualScheduler::Weighted { one_in: 16 },
    };

    /// Returns `true` if the parameters are valid: all times other than thresholds are above zero, `k` is at least 1,
    /// and the share of the C queue is at most one half.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let share = match self.scheduler {
            DualScheduler::Weighted { one_in } => one_in >= 2,
            DualScheduler::TimeShifted { .. } => true,
        };
        !self.target.is_zero()
            && !self.rtt_max.is_zero()
            && !self.update.is_zero()
            && self.coupling >= 1.0
            && self.coupling.is_finite()
            && share
    }

    /// Returns `alpha`: the change of the probability per update and per second of wait (Figure 2, line 13).
    fn alpha_hz(&self) -> f64 {
        let rtt_max = self.rtt_max.as_secs_f64();
        0.1 * self.update.as_secs_f64() / (rtt_max * rtt_max)
    }

    /// Returns `beta` (Figure 2, line 14).
    fn beta_hz(&self) -> f64 {
        0.3 / self.rtt_max.as_secs_f64()
    }
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self::RFC
    }
}

/// The coupled controller.
#[derive(Clone, Copy, Debug, Default)]
struct Controller {
    /// `p'`.
    base: f64,
    /// `prevq`, in seconds.
    wait_before: f64,
}

impl Controller {
    /// Updates the probability (`dualpi2_update`, Figure 8). Returns `true` if the state changed.
    fn update(&mut self, config: &DualPi2Config, wait: Duration) -> bool {
        let before = (self.base, self.wait_before);
        let wait = wait.as_secs_f64();
        let error = config.alpha_hz() * (wait - config.target.as_secs_f64());
        let growth = config.beta_hz() * (wait - self.wait_before);
        self.base = (self.base + error + growth).clamp(0.0, 1.0);
        self.wait_before = wait;
        before != (self.base, self.wait_before)
    }

    /// Returns `p_C`.
    const fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// Returns `p_CL`.
    const fn coupled(&self, config: &DualPi2Config) -> f64 {
        self.base * config.coupling
    }

    /// Returns `true` if marks are no longer sufficient: `p_C ≥ p_Cmax`, and so `p_CL ≥ p_Lmax`.
    const fn is_overloaded(&self, config: &DualPi2Config) -> bool {
        self.coupled(config) >= 1.0
    }
}

/// Deterministic signals (`recur`): one signal each time the sum of probabilities has increased by one.
#[derive(Clone, Copy, Debug, Default)]
struct Recurrence(f64);

impl Recurrence {
    fn strikes(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let strikes = self.0 > 1.0;
        if strikes {
            self.0 -= 1.0;
        }
        strikes
    }
}

/// Two queues with one buffer, controlled by DualPI2.
#[derive(Clone, Debug)]
pub(in crate::link) struct DualPi2Queue {
    config: DualPi2Config,
    store: Store,
    l: Line,
    c: Line,
    controller: Controller,
    updates: Updates,
    l_signals: Recurrence,
    c_signals: Recurrence,
    /// Bytes that the C queue is entitled to send. If both queues are backlogged, the C queue sends next if this is
    /// above zero.
    c_credit: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pick {
    L,
    C,
}

impl DualPi2Queue {
    pub(super) fn new(config: DualPi2Config, limit: QueueLimit) -> Self {
        Self {
            config,
            store: Store::new(limit),
            l: Line::default(),
            c: Line::default(),
            controller: Controller::default(),
            updates: Updates::every(config.update),
            l_signals: Recurrence::default(),
            c_signals: Recurrence::default(),
            c_credit: config.first_credit(),
        }
    }

    /// Applies the updates that are due by `now`.
    fn catch_up(&mut self, now: Instant) {
        while let Some(at) = self.updates.take_due(now) {
            let (l, c) = (&self.l, &self.c);
            let wait = self.store.sojourn(l, at).max(self.store.sojourn(c, at));
            let changed = self.controller.update(&self.config, wait);
            if !changed && self.store.packets() == 0 {
                self.updates.skip_to(now);
            }
        }
    }

    /// Returns the queue that sends next (`scheduler()`); `None` if both are empty.
    fn pick(&self, now: Instant) -> Option<Pick> {
        match (self.l.is_empty(), self.c.is_empty()) {
            (true, true) => None,
            (false, true) => Some(Pick::L),
            (true, false) => Some(Pick::C),
            (false, false) => Some(self.pick_of_both(now)),
        }
    }

    fn pick_of_both(&self, now: Instant) -> Pick {
        let l_first = match self.config.scheduler {
            DualScheduler::Weighted { .. } => self.c_credit <= 0,
            DualScheduler::TimeShifted { shift } => {
                let l = self.store.sojourn(&self.l, now) + shift;
                l >= self.store.sojourn(&self.c, now)
            }
        };
        if l_first { Pick::L } else { Pick::C }
    }

    /// Accounts for a packet that leaves `line` while both queues are backlogged.
    fn charge(&mut self, line: Pick, bytes: u64) {
        let DualScheduler::Weighted { one_in } = self.config.scheduler else {
            return;
        };
        let bytes = bytes as i64;
        match line {
            Pick::L => self.c_credit += bytes,
            Pick::C => self.c_credit -= bytes * i64::from(one_in - 1),
        }
    }

    /// Takes the next packet from its queue.
    fn take(&mut self, now: Instant) -> Option<(Pick, Waiting)> {
        let pick = self.pick(now)?;
        let contended = !self.l.is_empty() && !self.c.is_empty();
        let line = match pick {
            Pick::L => &mut self.l,
            Pick::C => &mut self.c,
        };
        let packet = self.store.pop(line)?;
        if contended {
            self.charge(pick, packet.bytes());
        }
        Some((pick, packet))
    }

    /// Returns the signal for a packet that leaves the L queue (Figure 7, 4b–8j).
    fn signal_l(&mut self, packet: &Waiting, now: Instant) -> Signal {
        let coupled = self.controller.coupled(&self.config);
        if self.controller.is_overloaded(&self.config) {
            if self.l_signals.strikes(self.controller.classic()) {
                return Signal::Drop;
            }
            return Signal::mark_if(self.l_signals.strikes(coupled));
        }
        // The packet itself has already been removed from the queue.
        let own = if self.l.packets() + 1 > self.config.th_len_packets {
            self.config.ramp(packet.sojourn(now))
        } else {
            0.0
        };
        Signal::mark_if(self.l_signals.strikes(own.max(coupled)))
    }

    /// Returns the signal for a packet that leaves the C queue (Figure 7, 11–17).
    fn signal_c(&mut self, packet: &Waiting) -> Signal {
        if !self.c_signals.strikes(self.controller.classic()) {
            return Signal::None;
        }
        if !packet.is_capable() || self.controller.is_overloaded(&self.config) {
            return Signal::Drop;
        }
        Signal::Mark
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    None,
    Mark,
    Drop,
}

impl Signal {
    const fn mark_if(strikes: bool) -> Self {
        if strikes { Self::Mark } else { Self::None }
    }
}

impl DualPi2Config {
    /// Returns the marking probability of the L queue's own AQM (`laqm`, Figure 5).
    fn ramp(&self, wait: Duration) -> f64 {
        if wait >= self.min_th + self.range {
            1.0
        } else if wait > self.min_th {
            wait.saturating_sub(self.min_th).as_secs_f64() / self.range.as_secs_f64()
        } else {
            0.0
        }
    }

    /// Returns the credit after an idle period: a whole round in favour of the L queue.
    fn first_credit(&self) -> i64 {
        match self.scheduler {
            DualScheduler::Weighted { one_in } => {
                -i64::from(self.mtu_bytes) * i64::from(one_in - 1)
            }
            DualScheduler::TimeShifted { .. } => 0,
        }
    }
}

impl Manage for DualPi2Queue {
    fn enqueue(&mut self, now: Instant, packet: Waiting, _: &mut Fallout) -> Result<(), DropCause> {
        self.catch_up(now);
        if !self.store.has_room(u64::from(self.config.mtu_bytes)) {
            return Err(DropCause::QueueFull);
        }
        let line = if packet.is_l4s() {
            &mut self.l
        } else {
            &mut self.c
        };
        self.store.push(line, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, fallout: &mut Fallout) -> Option<Waiting> {
        self.catch_up(now);
        let sent = loop {
            let Some((line, mut packet)) = self.take(now) else {
                break None;
            };
            let signal = match line {
                Pick::L => self.signal_l(&packet, now),
                Pick::C => self.signal_c(&packet),
            };
            match signal {
                Signal::None => break Some(packet),
                Signal::Mark => {
                    fallout.mark(&mut packet);
                    break Some(packet);
                }
                Signal::Drop => fallout.drop(&packet, DropCause::Aqm),
            }
        };
        if self.store.packets() == 0 {
            self.c_credit = self.config.first_credit();
        }
        sent
    }

    fn ready(&self, now: Instant) -> Option<Instant> {
        (self.store.packets() > 0).then_some(now)
    }

    fn store(&self) -> &Store {
        &self.store
    }
}
