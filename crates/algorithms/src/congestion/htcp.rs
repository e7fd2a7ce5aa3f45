//! H-TCP: the window grows faster with the time since the last loss, and the reduction is smaller if the queue is
//! short.
//!
//! D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004, and
//! draft-leith-tcp-htcp. The source of this file is the kernel, `net/ipv4/tcp_htcp.c`, not these texts. Δ is the time
//! since the last congestion event ended, in seconds; B is the throughput of a round trip.
//!
//! ```text
//! f(Δ)      = 1 for Δ ≤ 1 s,  1 + 10·(Δ − 1) + ((Δ − 1)/2)²  beyond
//! α         = 2·(1 − β) · max(f(Δ) · RTTmin/100 ms, 1),  RTTmin/100 ms within 0.1 to 2   (rtt_scaling)
//! per ACK   W ← W + α/W, a segment at most
//! loss      W ← β·W,  β = RTTmin/RTTmax within 0.5 to 0.8
//!           but 0.5 if the maximum B has changed by more than a fifth since the previous loss
//!                                                                             (bandwidth_switch)
//! slow start, timeout  as Reno; the timeout's ssthresh by β
//! ```
//!
//! During the first second H-TCP grows as Reno does, so it takes no more bandwidth than Reno on paths on which Reno
//! performs well. CUBIC also uses the time since a loss, but aims at the window of that loss; H-TCP has no such target.
//! [`illinois`](super::illinois) derives both factors from the queueing delay of the last round trip.
//!
//! Readings:
//! - Times are exact, not in ticks, and f is a real number, while the kernel truncates it to whole numbers.
//! - RTTmax is the longest sample of an undisturbed connection (nothing sacked or lost); a sample more than
//!   20 ms above RTTmax is ignored as an outlier. After each loss, RTTmax is moved 5 % closer to RTTmin.
//! - β is 0.5 for the first loss, and for any loss after the throughput changed, because the earlier delays belong to
//!   different levels of throughput.
//! - A congestion event ends when everything outstanding at its beginning is acknowledged.

#[cfg(test)]
mod tests;

use alloc::boxed::Box;

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::Prior;
use dupack_tcp::window::Window;

use super::aimd_control::{self, Aimd, AimdParameters, AimdVariant, Answer};
use crate::catalog::linux::{Knob, Place};
use crate::catalog::{Entry, InLinux, Parameters, Switch};

/// H-TCP's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct HtcpParameters {
    /// time after a congestion event in which the window grows as in Reno (Δ_L)
    #[parameter(basic, source = "Linux, htcp_alpha_update: HZ", default = Duration::from_secs(1))]
    delta_low: Duration,
    /// minimum fraction of the window that remains after a loss
    #[parameter(basic, source = "Linux, tcp_htcp: BETA_MIN", range = 0.0..=1.0, default = 0.5)]
    beta_min: f64,
    /// maximum fraction of the window that remains after a loss
    #[parameter(basic, source = "Linux, tcp_htcp: BETA_MAX, 102/128", range = 0.0..=1.0, default = 0.796_875)]
    beta_max: f64,
    /// growth in proportion to the minimum round-trip time: factor 1 at 100 ms, limited to 0.1 to 2
    #[parameter(basic, source = "Linux, tcp_htcp: use_rtt_scaling", default = Switch::On)]
    rtt_scaling: Switch,
    /// halving after a loss if the throughput has changed since the previous loss
    #[parameter(source = "Linux, tcp_htcp: use_bandwidth_switch", default = Switch::On)]
    bandwidth_switch: Switch,
    /// fraction by which the throughput may change
    #[parameter(source = "Linux, htcp_beta_update: 4/5 to 6/5", range = 0.0..=1.0, default = 0.2)]
    bandwidth_change: f64,
    /// minimum round-trip time above which delays indicate a queue
    #[parameter(source = "Linux, htcp_beta_update", default = Duration::from_millis(10))]
    rtt_least: Duration,
    // H-TCP has its own congestion avoidance.
    #[embed(fix(increase.increase = 1.0, decrease.decrease = beta_min))]
    aimd: AimdParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    let own = |parameter: &'static str| Place::module("tcp_htcp", parameter);
    let switch = &[("on", "1"), ("off", "0")];
    Entry::control("htcp", file!())
        .summary("H-TCP: growth by the time since the last loss, reduction by the queueing delay")
        .citation("Leith, Shorten, H-TCP, PFLDnet 2004; Linux, tcp_htcp.c")
        .linux(
            InLinux::module(
                "the congestion control `htcp`, since 2.6.13",
                "htcp",
                "tcp_htcp",
            )
            .differs("Linux counts time in ticks and the factor of growth in whole numbers")
            .knobs([
                Knob::words("rtt_scaling", switch, own("use_rtt_scaling")),
                Knob::words("bandwidth_switch", switch, own("use_bandwidth_switch")),
            ])
            .knobs(aimd_control::knobs()),
        )
        .build(|parameters: &HtcpParameters, context| {
            parameters.aimd.build(context).varied(Htcp::new(parameters))
        })
}

/// Maximum increase of the maximum round-trip time by one sample.
const RTT_STEP: Duration = Duration::from_millis(20);

/// Fraction of the queueing delay that the maximum round-trip time keeps after a loss.
const RTT_MEMORY: f64 = 0.95;

/// Round-trip time at which growth is not scaled, in seconds, and the limits of the ratio.
const SCALE_RTT: f64 = 0.1;
const SCALE_LEAST: f64 = 0.1;
const SCALE_MOST: f64 = 2.0;

/// Number of round trips after a loss in which the throughput is used unfiltered.
const FRESH_ROUNDS: f64 = 3.0;

/// State that a loss event changes.
#[derive(Clone, Copy, Debug)]
struct Memory {
    beta: f64,
    /// `On` if β depends on the delays from the next loss on.
    adapts: Switch,
    /// Time at which the last congestion event ended, or at which the current one began.
    since: Instant,
    /// Maximum round-trip time in seconds; 0 before there are samples.
    rtt_max: f64,
    /// Maximum throughput before the last loss, in bytes per second.
    old_max: f64,
}

/// Throughput since the last loss, in bytes per second.
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    delivered: f64,
    begun: Instant,
    filtered: f64,
    max: f64,
}

/// H-TCP's congestion control.
#[derive(Debug)]
struct Htcp {
    parameters: HtcpParameters,
    memory: Memory,
    throughput: Throughput,
    /// Minimum round-trip time in seconds.
    rtt_min: Option<f64>,
    /// Offset that ends the congestion event when the data before it is acknowledged. The inner value is `None` until
    /// the next ACK, which shows how much data was sent.
    event: Option<Option<u64>>,
    remembered: Option<Box<Memory>>,
}

impl Htcp {
    fn new(parameters: &HtcpParameters) -> Self {
        Self {
            parameters: *parameters,
            memory: Memory {
                beta: parameters.beta_min,
                adapts: Switch::Off,
                since: Instant::ZERO,
                rtt_max: 0.0,
                old_max: 0.0,
            },
            throughput: Throughput::default(),
            rtt_min: None,
            event: None,
            remembered: None,
        }
    }

    /// Returns α, in segments per round trip, at `now`.
    fn alpha(&self, now: Instant) -> f64 {
        let delta = now.since(self.memory.since);
        let mut factor = 1.0;
        if delta > self.parameters.delta_low {
            let over = delta.as_secs_f64() - self.parameters.delta_low.as_secs_f64();
            factor += 10.0 * over + (over / 2.0) * (over / 2.0);
        }
        if let Some(rtt) = self.rtt_min
            && self.parameters.rtt_scaling == Switch::On
        {
            let ratio = (rtt / SCALE_RTT).clamp(SCALE_LEAST, SCALE_MOST);
            factor = (factor * ratio).max(1.0);
        }
        2.0 * (1.0 - self.memory.beta) * factor
    }

    /// Returns the state after a loss event at the current time.
    fn after_event(&self) -> Memory {
        let (parameters, memory) = (&self.parameters, &self.memory);
        let mut next = Memory {
            beta: parameters.beta_min,
            ..*memory
        };
        let rtt_min = self.rtt_min.unwrap_or(0.0);
        if memory.rtt_max > rtt_min {
            next.rtt_max = rtt_min + (memory.rtt_max - rtt_min) * RTT_MEMORY;
        }
        if parameters.bandwidth_switch == Switch::On {
            next.old_max = self.throughput.max;
            let change = (self.throughput.max - memory.old_max).abs();
            if change > parameters.bandwidth_change * memory.old_max {
                next.adapts = Switch::Off;
                return next;
            }
        }
        let tells = rtt_min > parameters.rtt_least.as_secs_f64() && memory.rtt_max > 0.0;
        if memory.adapts == Switch::On && tells {
            let ratio = rtt_min / memory.rtt_max;
            let most = parameters.beta_max.max(parameters.beta_min);
            next.beta = ratio.clamp(parameters.beta_min, most);
        }
        next.adapts = Switch::On;
        next
    }

    /// Begins a congestion event.
    fn begin_event(&mut self, now: Instant) {
        self.memory = Memory {
            since: now,
            ..self.after_event()
        };
        self.event = Some(None);
    }

    /// Returns `true` if a congestion event is in progress. Δ starts at the end of the event.
    fn is_in_event(&mut self, ack: &AckFacts<'_>, nxt: u64) -> bool {
        let Some(point) = self.event else {
            return false;
        };
        let point = point.unwrap_or(nxt);
        if ack.una < point {
            self.event = Some(Some(point));
            return true;
        }
        self.event = None;
        self.memory.since = ack.now;
        false
    }

    fn measure_rtt(&mut self, rtt: Duration, calm: bool) {
        let rtt = rtt.as_secs_f64();
        let least = self.rtt_min.map_or(rtt, |least| least.min(rtt));
        self.rtt_min = Some(least);
        if calm {
            let max = self.memory.rtt_max.max(least);
            let near = rtt <= max + RTT_STEP.as_secs_f64();
            self.memory.rtt_max = if near { max.max(rtt) } else { max };
        }
    }

    /// Updates the throughput with `acked` acknowledged bytes, at a window of `cwnd` bytes.
    fn measure_throughput(&mut self, now: Instant, acked: u64, cwnd: f64, smss: f64) {
        self.throughput.delivered += acked as f64;
        let Some(rtt) = self.rtt_min.filter(|rtt| *rtt > 0.0) else {
            return;
        };
        let flight = cwnd - self.alpha(now).max(1.0) * smss;
        let lasted = now.since(self.throughput.begun).as_secs_f64();
        if self.throughput.delivered < flight || lasted < rtt {
            return;
        }
        let sample = self.throughput.delivered / lasted;
        let rounds = now.since(self.memory.since).as_secs_f64() / rtt;
        let t = &mut self.throughput;
        if libm::floor(rounds) <= FRESH_ROUNDS {
            (t.filtered, t.max) = (sample, sample);
        } else {
            t.filtered = (3.0 * t.filtered + sample) / 4.0;
            t.max = t.max.max(t.filtered);
        }
        (t.delivered, t.begun) = (0.0, now);
    }
}

impl AimdVariant for Htcp {
    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        let window = view.window;
        let in_event = self.is_in_event(ack, view.scoreboard.nxt());
        let calm = !in_event && ack.dup_acks == 0 && view.scoreboard.sacked_segments() == 0;
        if let Some(rtt) = ack.rtt {
            self.measure_rtt(rtt, calm);
        }
        if in_event {
            (self.throughput.delivered, self.throughput.begun) = (0.0, ack.now);
        } else {
            self.measure_throughput(ack.now, ack.acked_bytes, window.cwnd, aimd.smss);
        }
        let alpha = self.alpha(ack.now);
        let grown = aimd.increase.grown_by(alpha, ack, credit, window);
        if window.in_slow_start() {
            return grown;
        }
        Window {
            cwnd: grown.cwnd.min(window.cwnd + aimd.smss),
            ..grown
        }
    }

    fn reduction(&self, loss: &LossFacts, aimd: &Aimd) -> Window {
        let beta = self.after_event().beta;
        aimd.decrease.after_loss_by(beta, loss)
    }

    fn on_loss(&mut self, loss: &LossFacts, answer: Answer, _: &mut Aimd) {
        if answer == Answer::Own {
            self.begin_event(loss.now);
        }
    }

    fn on_timeout(&mut self, loss: &LossFacts, aimd: &mut Aimd) -> Window {
        self.begin_event(loss.now);
        aimd.increase.after_timeout();
        aimd.decrease.after_timeout_by(self.memory.beta, loss)
    }

    fn remember(&mut self) {
        self.remembered = Some(Box::new(self.memory));
    }

    fn on_spurious(&mut self, prior: &Prior, window: Window, aimd: &mut Aimd) -> Window {
        if let Some(memory) = self.remembered.take() {
            self.memory.since = memory.since;
            self.memory.rtt_max = memory.rtt_max;
            self.memory.old_max = memory.old_max;
            self.event = None;
        }
        aimd.on_spurious(prior, window)
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        (self.throughput.filtered > 0.0).then_some(self.throughput.filtered)
    }
}
