//! Vegas: keeps a small number of segments in the queue.
//!
//! L. S. Brakmo, L. L. Peterson, "TCP Vegas: end to end congestion avoidance on a global internet", IEEE JSAC 13(8),
//! 1995. Once per round trip, the rate that the window would have without a queue is compared with the actual rate; the
//! difference, times the minimum round-trip time, is N, the number of segments in the queue ([`backlog`]).
//!
//! ```text
//! slow start   doubles every other round trip; after the others, N > γ ends it          (γ = 1)
//! avoidance    N < α: cwnd + 1 segment,  N > β: cwnd − 1 segment               (α = 1, β = 3)
//! loss         as Reno;  timeout  as Reno
//! ```
//!
//! Vegas slows down before a queue is full, so it yields bandwidth to Reno in the same queue. [`veno`](super::veno)
//! computes the same N and never shrinks its window because of it.
//!
//! There is a parameter for each difference between implementations: the round-trip time of a round (`sample`), the
//! frequency of doubling in slow start (`doubling`), and the window after slow start (`leave`). Linux also divides by
//! the minimum round-trip time where the paper's N has the current one; this is not modelled. Vegas's own rules for
//! retransmission belong to the recovery and are not modelled either.
//!
//! Readings:
//! - The actual rate is `cwnd` over the round's RTT, and the window changes as soon as the
//!   round ends.
//! - A round ends when everything outstanding at its beginning is acknowledged. A round is ignored if it has
//!   a loss or no sample, or if it ends while the recovery controls the window.
//! - The window does not fall below 2 segments, and does not grow unless it was used (`validate`).

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::time::Duration;
use dupack_tcp::window::Window;

use super::aimd_control::{self, Aimd, AimdParameters, AimdVariant, Answer};
use super::backlog::backlog;
use crate::catalog::linux::{Knob, Place};
use crate::catalog::{Choice, Context, Entry, InLinux, Parameters};

/// Definition of the round-trip time of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Sample {
    /// time of the segment whose ACK ends the round
    Last,
    /// minimum in the round
    Min,
    /// mean over the round
    Mean,
}

/// Round trips in which slow start doubles the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Doubling {
    /// every other round trip; the others measure
    EveryOther,
    /// every round trip; each also measures
    Every,
}

/// Window when a backlog ends slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Leave {
    /// unchanged
    Keep,
    /// the window that fills the path without a queue, plus 1 segment
    Target,
    /// reduced by an eighth
    Eighth,
}

/// Vegas's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct VegasParameters {
    /// backlog below which the window grows (α)
    #[parameter(
        basic,
        source = "Brakmo, Peterson 1995 §III (1; their other setting has 2); linux: tcp_vegas",
        range = 0.0..=1e6,
        unit = "segments",
        default(rfc = 1.0, linux = 2.0, ns2 = 1.0),
    )]
    alpha: f64,
    /// backlog above which the window shrinks (β)
    #[parameter(
        basic,
        source = "Brakmo, Peterson 1995 §III (3; their other setting has 4); linux: tcp_vegas",
        range = 0.0..=1e6,
        unit = "segments",
        default(rfc = 3.0, linux = 4.0, ns2 = 3.0),
    )]
    beta: f64,
    /// backlog above which slow start ends (γ)
    #[parameter(
        basic,
        source = "Brakmo, Peterson 1995 §III (one buffer)",
        range = 0.0..=1e6,
        unit = "segments",
        default = 1.0,
    )]
    gamma: f64,
    /// round-trip time of a round
    #[parameter(
        source = "rfc: Brakmo, Peterson 1995 §III; linux: tcp_vegas; ns2: tcp-vegas.cc",
        default(rfc = Sample::Last, linux = Sample::Min, ns2 = Sample::Mean),
    )]
    sample: Sample,
    /// round trips in which slow start doubles the window
    #[parameter(
        source = "rfc, ns2: Brakmo, Peterson 1995 §III; linux: tcp_vegas",
        default(
            rfc = Doubling::EveryOther,
            linux = Doubling::Every,
            ns2 = Doubling::EveryOther,
        ),
    )]
    doubling: Doubling,
    /// window when a backlog ends slow start
    #[parameter(
        source = "rfc: Brakmo, Peterson 1995 describe no cut; linux: tcp_vegas; ns2: tcp-vegas.cc",
        default(rfc = Leave::Keep, linux = Leave::Target, ns2 = Leave::Eighth),
    )]
    leave: Leave,
    #[embed]
    aimd: AimdParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("vegas", file!())
        .summary("keeps one to three segments in the queue, by the round-trip time")
        .citation("Brakmo, Peterson, TCP Vegas, IEEE JSAC 13(8), 1995")
        .linux(linux())
        .build(|parameters: &VegasParameters, context| {
            parameters
                .aimd
                .build(context)
                .varied(Vegas::new(parameters, context))
        })
}

/// Returns the availability in Linux. The parameters can be set once the module is loaded.
fn linux() -> InLinux {
    let own = |parameter: &'static str| {
        let place = Place::module("tcp_vegas", parameter);
        Knob::number(parameter, 1.0, place)
    };
    InLinux::module(
        "the congestion control `vegas`, since 2.6.13",
        "vegas",
        "tcp_vegas",
    )
    .differs("Linux estimates the queue with the least round-trip time, ours with the present one")
    .knobs(["alpha", "beta", "gamma"].map(own))
    .knobs(aimd_control::knobs())
}

/// Purpose of a round in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Double,
    Measure,
}

/// Round trip and its round-trip time samples.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Offset that ends the round when the data before it is acknowledged.
    end: u64,
    purpose: Purpose,
    last: Option<Duration>,
    least: Option<Duration>,
    sum: Duration,
    samples: u64,
}

impl Round {
    fn new(end: u64, purpose: Purpose) -> Self {
        Self {
            end,
            purpose,
            last: None,
            least: None,
            sum: Duration::ZERO,
            samples: 0,
        }
    }

    fn take(&mut self, rtt: Duration) {
        self.last = Some(rtt);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.sum += rtt;
        self.samples += 1;
    }

    fn rtt(&self, sample: Sample) -> Option<Duration> {
        match sample {
            Sample::Last => self.last,
            Sample::Min => self.least,
            Sample::Mean => (self.samples > 0).then(|| self.sum / self.samples),
        }
    }
}

/// Congestion control of Vegas.
#[derive(Debug)]
struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    /// Change of the window at the end of a round, in bytes.
    step: f64,
    sample: Sample,
    doubling: Doubling,
    leave: Leave,
    /// Current round; `None` after a loss, until the next ACK.
    round: Option<Round>,
}

impl Vegas {
    fn new(parameters: &VegasParameters, context: &Context) -> Self {
        Self {
            alpha: parameters.alpha,
            beta: parameters.beta,
            gamma: parameters.gamma,
            step: parameters.aimd.increase.increase * f64::from(context.smss),
            sample: parameters.sample,
            doubling: parameters.doubling,
            leave: parameters.leave,
            round: None,
        }
    }

    /// Returns the round in progress, and the round that ended with this ACK, if any.
    fn turn(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> (Round, Option<Round>) {
        let nxt = view.scoreboard.nxt();
        let Some(mut round) = self.round else {
            return (Round::new(nxt, Purpose::Double), None);
        };
        if let Some(rtt) = ack.rtt {
            round.take(rtt);
        }
        if ack.una < round.end {
            return (round, None);
        }
        let purpose = match (self.doubling, round.purpose) {
            (Doubling::EveryOther, Purpose::Double) => Purpose::Measure,
            (Doubling::EveryOther, Purpose::Measure) | (Doubling::Every, _) => Purpose::Double,
        };
        (Round::new(nxt, purpose), Some(round))
    }

    /// Returns the window when slow start ends with a round that took `rtt`.
    fn leave_slow_start(&self, cwnd: f64, rtt: Duration, rtt_min: Duration, smss: f64) -> Window {
        let cwnd = match self.leave {
            Leave::Keep => cwnd,
            Leave::Target => {
                let full = cwnd * rtt_min.as_secs_f64() / rtt.as_secs_f64();
                cwnd.min(full + smss)
            }
            Leave::Eighth => cwnd - cwnd / 8.0,
        };
        let cwnd = cwnd.max(2.0 * smss);
        Window {
            cwnd,
            ssthresh: cwnd,
        }
    }

    /// Returns the window in congestion avoidance, at the end of a round with a backlog of `n` segments.
    fn steered(&self, ack: &AckFacts<'_>, window: Window, n: f64, aimd: &Aimd) -> Window {
        if n > self.beta {
            let cwnd = (window.cwnd - self.step).max(2.0 * aimd.smss);
            // A window below `ssthresh` would begin slow start.
            Window {
                cwnd,
                ssthresh: window.ssthresh.min(cwnd),
            }
        } else if n < self.alpha && aimd.increase.permits(ack, window) {
            Window {
                cwnd: window.cwnd + self.step,
                ..window
            }
        } else {
            window
        }
    }
}

impl AimdVariant for Vegas {
    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        let window = view.window;
        let (round, ended) = self.turn(ack, view);
        self.round = Some(round);
        if credit.acks == 0 && credit.bytes == 0 {
            return window;
        }
        // Purpose, round-trip time and backlog of the round that ended.
        let told = ended.and_then(|ended| {
            let rtt = ended.rtt(self.sample)?;
            let n = backlog(window.cwnd / aimd.smss, Some(rtt), view.rtt.min())?;
            Some((ended.purpose, rtt, n))
        });
        if !window.in_slow_start() {
            return told.map_or(window, |(_, _, n)| self.steered(ack, window, n, aimd));
        }
        if let (Some((purpose, rtt, n)), Some(rtt_min)) = (told, view.rtt.min()) {
            let measured = self.doubling == Doubling::Every || purpose == Purpose::Measure;
            if measured && n > self.gamma {
                return self.leave_slow_start(window.cwnd, rtt, rtt_min, aimd.smss);
            }
        }
        // The ACK that ends a round belongs to that round.
        let purpose = ended.map_or(round.purpose, |ended| ended.purpose);
        if purpose == Purpose::Double && aimd.increase.permits(ack, window) {
            aimd.increase.slow_start(window, credit).0
        } else {
            window
        }
    }

    fn on_loss(&mut self, _: &LossFacts, _: Answer, _: &mut Aimd) {
        self.round = None;
    }

    fn on_timeout(&mut self, loss: &LossFacts, aimd: &mut Aimd) -> Window {
        self.round = None;
        aimd.on_timeout(loss)
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.step *= f64::from(to) / f64::from(from);
    }
}

#[cfg(test)]
mod tests;
