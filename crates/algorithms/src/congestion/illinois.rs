//! Illinois: additive increase and multiplicative decrease, where both factors depend on the queueing delay.
//!
//! S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm for high-speed
//! networks", Performance Evaluation 65 (2008). The source of this file is the kernel, `net/ipv4/tcp_illinois.c`, and
//! the paper's abstract. d_a is the mean queueing delay of a round trip, and d_m the maximum of the connection; d₁ =
//! d_m/100, d₂ = d_m/10, d₃ = 8 d_m/10.
//!
//! ```text
//! α = α_max = 10                      d_a ≤ d₁
//!     κ₁/(κ₂ + d_a)                   beyond, so that α(d₁) = α_max and α(d_m) = α_min = 0.3:
//!         κ₁ = (d_m − d₁) α_min α_max/(α_max − α_min),  κ₂ = (d_m − d₁) α_min/(α_max − α_min) − d₁
//! β = β_min = 1/8                     d_a ≤ d₂
//!     linear                          between
//!     β_max = 1/2                     d_a ≥ d₃
//! per ACK  W ← W + α/W;   loss  W ← (1 − β) W;   below win_thresh = 15 segments α = 1, β = 1/2
//! ```
//!
//! Loss determines *when* the window is reduced, and delay by how much. A window that is far from filling the queue
//! grows ten times as fast as Reno's and is reduced by an eighth after a random loss; a window that fills the queue is
//! more cautious than Reno. The window grows along a concave curve. [`htcp`](super::htcp) uses the time since the last
//! loss, while Illinois needs no clock; unlike in [`vegas`](super::vegas), delay alone never reduces the window.
//!
//! Readings:
//! - α and β are set once per round trip, when data beyond SND.NXT at the last update is acknowledged.
//! - Once the delay has exceeded d₁, α returns to α_max after `theta` round trips with a delay below d₁, which need not
//!   be consecutive.
//! - The module's parameters `win_thresh` and `theta` can be set only when the module is loaded: the catalog
//!   has no command for that.
//! - A timeout sets α = 1 and β = 1/2 until the next round trip is measured.

#[cfg(test)]
mod tests;

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::time::Duration;
use dupack_tcp::window::Window;

use super::aimd_control::{self, Aimd, AimdParameters, AimdVariant};
use crate::catalog::{Entry, InLinux, KernelVersion, Parameters};

/// Illinois's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct IllinoisParameters {
    /// growth per round trip without a queue (α_max)
    #[parameter(basic, source = "Linux, tcp_illinois: ALPHA_MAX", range = 1.0..=1000.0, unit = "segments", default = 10.0)]
    alpha_max: f64,
    /// growth per round trip with the longest queue (α_min)
    #[parameter(basic, source = "Linux, tcp_illinois: ALPHA_MIN, 38/128", range = 0.001..=1.0, unit = "segments", default = 0.296_875)]
    alpha_min: f64,
    /// fraction by which a loss reduces the window without a queue (β_min)
    #[parameter(basic, source = "Linux, tcp_illinois: BETA_MIN", range = 0.0..=1.0, default = 0.125)]
    beta_min: f64,
    /// fraction by which a loss reduces the window with a long queue (β_max)
    #[parameter(basic, source = "Linux, tcp_illinois: BETA_MAX", range = 0.0..=1.0, default = 0.5)]
    beta_max: f64,
    /// window below which growth and reduction are as in Reno
    #[parameter(source = "Linux, tcp_illinois: win_thresh", range = 0.0..=1e9, unit = "segments", default = 15.0)]
    win_thresh: f64,
    /// round trips without a queue after which growth returns to its maximum
    #[parameter(source = "Linux, tcp_illinois: theta", range = 1..=255, unit = "round trips", default = 5)]
    theta: u64,
    // Illinois has its own congestion avoidance.
    #[embed(fix(increase.increase = 1.0, decrease.decrease = 1.0 - beta_max))]
    aimd: AimdParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("illinois", file!())
        .summary(
            "Illinois: loss decides when to reduce, queueing delay by how much, and how fast to grow",
        )
        .citation("Liu, Basar, Srikant, Performance Evaluation 65, 2008; Linux, tcp_illinois.c")
        .linux(
            InLinux::module(
                "the congestion control `illinois`, since 2.6.22",
                "illinois",
                "tcp_illinois",
            )
            .since(KernelVersion::of(2, 6, 22))
            .differs("Linux grows in whole segments, ours in real numbers")
            .knobs(aimd_control::knobs()),
        )
        .build(|parameters: &IllinoisParameters, context| {
            parameters
                .aimd
                .build(context)
                .varied(Illinois::new(parameters))
        })
}

/// Round trip that is being measured. Times are in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// SND.NXT when the round trip began.
    end: u64,
    sum: f64,
    samples: u64,
}

/// `Seen` if the delay has exceeded d₁, with the number of later round trips below d₁.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Never,
    Seen { low: u64 },
}

/// Congestion control of Illinois.
#[derive(Debug)]
struct Illinois {
    parameters: IllinoisParameters,
    alpha: f64,
    beta: f64,
    queue: Queue,
    round: Round,
    /// Minimum and maximum round-trip time, in seconds.
    base: f64,
    longest: f64,
}

impl Illinois {
    fn new(parameters: &IllinoisParameters) -> Self {
        Self {
            parameters: *parameters,
            alpha: parameters.alpha_max,
            beta: parameters.beta_max,
            queue: Queue::Never,
            round: Round::default(),
            base: f64::INFINITY,
            longest: 0.0,
        }
    }

    fn measure(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        self.base = self.base.min(rtt);
        self.longest = self.longest.max(rtt);
        self.round.sum += rtt;
        self.round.samples += 1;
    }

    /// Ends a round trip, at a window of `cwnd` segments; `nxt` is SND.NXT.
    fn update(&mut self, cwnd: f64, nxt: u64) {
        if cwnd < self.parameters.win_thresh {
            (self.alpha, self.beta) = (1.0, self.parameters.beta_max);
        } else if self.round.samples > 0 {
            let mean = self.round.sum / self.round.samples as f64;
            let (delay, most) = (mean - self.base, self.longest - self.base);
            self.alpha = self.alpha_at(delay, most);
            self.beta = self.beta_at(delay, most);
        }
        self.begin_round(nxt);
    }

    fn begin_round(&mut self, nxt: u64) {
        self.round = Round {
            end: nxt,
            ..Round::default()
        };
    }

    /// Returns α for a mean delay `delay` (d_a) and a maximum delay `most` (d_m).
    fn alpha_at(&mut self, delay: f64, most: f64) -> f64 {
        let (max, min) = (self.parameters.alpha_max, self.parameters.alpha_min);
        let low = most / 100.0;
        if delay > low {
            self.queue = match self.queue {
                Queue::Never => Queue::Seen { low: 0 },
                seen @ Queue::Seen { .. } => seen,
            };
            // κ₁/(κ₂ + d_a), with the common factor cancelled.
            let (most, delay) = (most - low, delay - low);
            return most * max / (most + delay * (max - min) / min);
        }
        match self.queue {
            Queue::Seen { low } if low + 1 < self.parameters.theta => {
                self.queue = Queue::Seen { low: low + 1 };
                self.alpha
            }
            Queue::Never | Queue::Seen { .. } => {
                self.queue = Queue::Never;
                max
            }
        }
    }

    /// Returns β for these delays.
    fn beta_at(&self, delay: f64, most: f64) -> f64 {
        let (max, min) = (self.parameters.beta_max, self.parameters.beta_min);
        let (low, high) = (most / 10.0, most * 0.8);
        if delay <= low {
            min
        } else if delay >= high {
            max
        } else {
            min + (max - min) * (delay - low) / (high - low)
        }
    }
}

impl AimdVariant for Illinois {
    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        if let Some(rtt) = ack.rtt {
            self.measure(rtt);
        }
        if ack.una > self.round.end {
            self.update(view.window.cwnd / aimd.smss, view.scoreboard.nxt());
        }
        aimd.increase.grown_by(self.alpha, ack, credit, view.window)
    }

    fn reduction(&self, loss: &LossFacts, aimd: &Aimd) -> Window {
        aimd.decrease.after_loss_by(1.0 - self.beta, loss)
    }

    fn on_timeout(&mut self, loss: &LossFacts, aimd: &mut Aimd) -> Window {
        let window = aimd.decrease.after_timeout_by(1.0 - self.beta, loss);
        (self.alpha, self.beta) = (1.0, self.parameters.beta_max);
        self.queue = Queue::Never;
        self.begin_round(loss.segment.start + loss.flight_size);
        aimd.increase.after_timeout();
        window
    }
}
