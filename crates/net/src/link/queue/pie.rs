//! PIE, proportional integral controller enhanced (RFC 8033): drops packets at the tail, at random, with a probability
//! that follows the waiting time.
//!
//! Every `update`, the controller compares the wait with its target and with the previous wait (§4.2):
//!
//! ```text
//! p ← p + scale(p) · (alpha·(delay − target) + beta·(delay − delay_old))
//! ```
//!
//! The factor `scale` is between 1 and 1/2048 and is smaller for smaller `p`. While `delay` and `delay_old` are zero,
//! `p` decays by 2 % per update. Nothing is dropped for `max_burst` after a period in which the queue was quiet (§4.4),
//! nor while the queue is short.
//!
//! The wait is either that of the last packet that left, or the backlog divided by the measured departure rate (§5.2).
//! If the last packet left the queue empty, its wait counts as zero. In the appendix, the wait would remain until
//! another packet arrives, and the probability would never decay. With `derandomised`, drops are spread evenly (§5.4),
//! and `cap` bounds the steps of a high probability (§5.5). §5.3, which enables PIE only when a third of the buffer is
//! full, is not implemented.
//!
//! Unlike [CoDel](super::codel), PIE makes its decision when a packet arrives, so a dropped packet has never waited.

use dupack_tcp::time::{Duration, Instant};

use super::store::{Line, Store, Waiting};
use super::updates::Updates;
use super::{Fallout, Manage};
use crate::link::config::QueueLimit;
use crate::link::counters::DropCause;
use crate::link::red::Capable;
use crate::random::Stream;

/// Parameters of PIE.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PieConfig {
    /// `QDELAY_REF`: target of the wait; default 15 ms (RFC 8033 §4.2).
    pub target: Duration,
    /// `T_UPDATE`: interval between updates of the probability; default 15 ms (§4.2).
    pub update: Duration,
    /// `alpha`: weight of the excess over the target, per second; default 1/8 (§4.2).
    pub alpha_hz: f64,
    /// `beta`: weight of the growth of the wait, per second; default 5/4 (§4.2).
    pub beta_hz: f64,
    /// `MAX_BURST`: duration in which nothing is dropped after the queue was quiet; default 150 ms (§4.4).
    pub max_burst: Duration,
    /// `MEAN_PKTSIZE`: nothing is dropped while at most two packets of this size wait; default 1500 bytes.
    pub mean_packet_bytes: u32,
    /// Treatment of ECN-capable packets; default: they are dropped.
    pub capable: Capable,
    /// `mark_ecnth`: probability from which ECN-capable packets are dropped as well; default 0.1 (§5.1).
    pub mark_below: f64,
    /// Estimator of the wait; default timestamps (Appendix A).
    pub delay: PieDelay,
    /// Spacing of drops; default random (§4.1).
    pub spread: PieSpread,
    /// Maximum step of a probability above 0.1; §5.5 uses 0.02; default: unbounded.
    pub cap: Option<f64>,
}

/// Estimator of the wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PieDelay {
    /// Wait of the last packet that left (§4.3, Appendix A).
    #[default]
    Timestamp,
    /// Backlog over the departure rate, which is measured over a number of bytes (§5.2, Appendix B).
    DepartureRate {
        /// `DQ_THRESHOLD`: number of bytes in a measurement; 16384 in the RFC.
        threshold_bytes: u32,
    },
}

/// Spacing of drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PieSpread {
    /// Random, independently for each packet.
    #[default]
    Random,
    /// Neither too soon nor too late after the last drop (§5.4).
    Derandomised,
}

impl PieConfig {
    /// Basic PIE (Appendix A), without ECN.
    pub const RFC: Self = Self {
        target: Duration::from_millis(15),
        update: Duration::from_millis(15),
        alpha_hz: 0.125,
        beta_hz: 1.25,
        max_burst: Duration::from_millis(150),
        mean_packet_bytes: 1500,
        capable: Capable::Drop,
        mark_below: 0.1,
        delay: PieDelay::Timestamp,
        spread: PieSpread::Random,
        cap: None,
    };

    /// Returns `true` if the parameters are valid: times and weights are above zero, probabilities from 0 to 1.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let weight = |value: f64| value > 0.0 && value.is_finite();
        let measured = match self.delay {
            PieDelay::Timestamp => true,
            // The weight of a new measurement is the threshold divided by 2^16.
            PieDelay::DepartureRate { threshold_bytes } => (1..=65_536).contains(&threshold_bytes),
        };
        !self.target.is_zero()
            && !self.update.is_zero()
            && weight(self.alpha_hz)
            && weight(self.beta_hz)
            && (0.0..=1.0).contains(&self.mark_below)
            && self.cap.is_none_or(|cap| cap > 0.0 && cap <= 1.0)
            && measured
    }
}

impl Default for PieConfig {
    fn default() -> Self {
        Self::RFC
    }
}

/// Sum of probabilities below which nothing is dropped if drops are derandomised (§5.4).
const ACCUMULATED_MIN: f64 = 0.85;
/// Sum of probabilities from which a packet is always dropped if drops are derandomised (§5.4).
const ACCUMULATED_MAX: f64 = 8.5;
/// Factor by which each update of a quiet queue reduces `p` (§4.2).
const DECAY: f64 = 0.98;
/// Probability from which steps are bounded by `cap` (§5.5).
const CAPPED_FROM: f64 = 0.1;
/// Probability below which nothing is dropped while the wait is short (§4.1).
const SAFE_PROBABILITY: f64 = 0.2;

/// The controller: all of PIE except for the queue.
#[derive(Clone, Debug)]
struct Controller {
    config: PieConfig,
    stream: Stream,
    /// `drop_prob_`.
    probability: f64,
    /// `accu_prob_`.
    accumulated: f64,
    /// `current_qdelay`, in seconds.
    delay: f64,
    /// `qdelay_old_`, in seconds.
    delay_old: f64,
    burst_allowance: Duration,
    meter: Meter,
}

/// Measurement of the departure rate (§5.2).
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    /// Start of the current measurement, and the number of bytes that have departed since then.
    under_way: Option<(Instant, u64)>,
    /// `avg_dq_time_`: seconds that `DQ_THRESHOLD` bytes take; zero before the first measurement.
    seconds: f64,
}

impl Controller {
    /// Updates the probability (`calculate_drop_prob`). Returns `true` if the state changed.
    fn update(&mut self, backlog_bytes: u64) -> bool {
        let before = (self.probability, self.delay_old, self.burst_allowance);
        if let PieDelay::DepartureRate { threshold_bytes } = self.config.delay {
            self.delay = backlog_bytes as f64 * self.meter.seconds / f64::from(threshold_bytes);
        }
        let target = self.config.target.as_secs_f64();
        let error = self.config.alpha_hz * (self.delay - target);
        let growth = self.config.beta_hz * (self.delay - self.delay_old);
        let mut step = (error + growth) / self.scale();
        if let Some(cap) = self.config.cap
            && self.probability >= CAPPED_FROM
        {
            step = step.min(cap);
        }
        self.probability += step;
        if self.delay <= 0.0 && self.delay_old <= 0.0 {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_old = self.delay;
        self.burst_allowance = self.burst_allowance.saturating_sub(self.config.update);
        before != (self.probability, self.delay_old, self.burst_allowance)
    }

    /// Returns the divisor of a step (§4.2).
    fn scale(&self) -> f64 {
        match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        }
    }

    /// Returns `true` if the arriving packet must be dropped or marked.
    fn strikes(&mut self, backlog_bytes: u64) -> bool {
        let short = self.config.target.as_secs_f64() / 2.0;
        let quiet = self.delay < short && self.delay_old < short;
        if self.probability <= 0.0 && quiet {
            self.burst_allowance = self.config.max_burst;
        }
        if !self.burst_allowance.is_zero() {
            return false;
        }
        let safe = self.delay_old < short && self.probability < SAFE_PROBABILITY;
        if safe || backlog_bytes <= 2 * u64::from(self.config.mean_packet_bytes) {
            return false;
        }
        match self.config.spread {
            PieSpread::Random => self.stream.unit() < self.probability,
            PieSpread::Derandomised => self.strikes_evenly(),
        }
    }

    fn strikes_evenly(&mut self) -> bool {
        if self.probability <= 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let strikes = match self.accumulated {
            sum if sum < ACCUMULATED_MIN => false,
            sum if sum >= ACCUMULATED_MAX => true,
            _ => self.stream.unit() < self.probability,
        };
        if strikes {
            self.accumulated = 0.0;
        }
        strikes
    }

    fn marks(&self, packet: &Waiting) -> bool {
        self.config.capable == Capable::Mark
            && packet.is_capable()
            && self.probability < self.config.mark_below
    }

    /// Updates the estimate when a packet leaves and `backlog_bytes` remain.
    fn departs(&mut self, packet: &Waiting, now: Instant, backlog_bytes: u64) {
        match self.config.delay {
            // A packet that leaves the queue empty counts as a wait of zero.
            PieDelay::Timestamp if backlog_bytes == 0 => self.delay = 0.0,
            PieDelay::Timestamp => self.delay = packet.sojourn(now).as_secs_f64(),
            PieDelay::DepartureRate { threshold_bytes } => {
                self.meter
                    .departs(packet, now, backlog_bytes, threshold_bytes);
            }
        }
    }
}

impl Meter {
    fn departs(&mut self, packet: &Waiting, now: Instant, backlog_bytes: u64, threshold: u32) {
        if let Some((since, departed)) = &mut self.under_way {
            *departed += packet.bytes();
            if *departed >= u64::from(threshold) {
                let seconds = now.since(*since).as_secs_f64();
                let weight = f64::from(threshold) / 65_536.0;
                self.seconds = if self.seconds > 0.0 {
                    seconds * weight + self.seconds * (1.0 - weight)
                } else {
                    seconds
                };
                self.under_way = None;
            }
        }
        if self.under_way.is_none() && backlog_bytes >= u64::from(threshold) {
            self.under_way = Some((now, 0));
        }
    }
}

/// A queue with PIE. It also drops packets when the buffer is full.
#[derive(Clone, Debug)]
pub(in crate::link) struct PieQueue {
    store: Store,
    line: Line,
    controller: Controller,
    updates: Updates,
}

impl PieQueue {
    /// Creates the queue of the link called `name` in the run with `seed`.
    pub(super) fn new(config: PieConfig, limit: QueueLimit, seed: u64, name: &str) -> Self {
        Self {
            store: Store::new(limit),
            line: Line::default(),
            controller: Controller {
                config,
                stream: Stream::derive(seed, &format!("{name}/pie")),
                probability: 0.0,
                accumulated: 0.0,
                delay: 0.0,
                delay_old: 0.0,
                burst_allowance: config.max_burst,
                meter: Meter::default(),
            },
            updates: Updates::every(config.update),
        }
    }

    /// Applies the updates that are due by `now`.
    fn catch_up(&mut self, now: Instant) {
        while self.updates.take_due(now).is_some() {
            // An update depends only on the state and the queue, and the queue does not change until `now`.
            if !self.controller.update(self.store.bytes()) {
                self.updates.skip_to(now);
            }
        }
    }
}

impl Manage for PieQueue {
    fn enqueue(
        &mut self,
        now: Instant,
        mut packet: Waiting,
        fallout: &mut Fallout,
    ) -> Result<(), DropCause> {
        self.catch_up(now);
        if !self.store.has_room(packet.bytes()) {
            self.controller.accumulated = 0.0;
            return Err(DropCause::QueueFull);
        }
        if self.controller.strikes(self.store.bytes()) {
            if !self.controller.marks(&packet) {
                return Err(DropCause::Aqm);
            }
            fallout.mark(&mut packet);
        }
        self.store.push(&mut self.line, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, _: &mut Fallout) -> Option<Waiting> {
        self.catch_up(now);
        let packet = self.store.pop(&mut self.line)?;
        self.controller.departs(&packet, now, self.store.bytes());
        Some(packet)
    }

    fn ready(&self, now: Instant) -> Option<Instant> {
        (self.store.packets() > 0).then_some(now)
    }

    fn store(&self) -> &Store {
        &self.store
    }
}
