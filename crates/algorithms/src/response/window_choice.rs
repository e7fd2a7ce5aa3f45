//! Seven windows that Park et al. try after a wireless loss (Table 1).
//!
//! ```text
//! x1  one segment                     x5  maximum of cwnd so far
//! x2  cwnd after TCP's response       x6  the sender's buffer
//! x3  cwnd before the loss            x7  bandwidth-delay product
//! x4  average of cwnd
//! ```
//!
//! x is 1 in [`slow_start`](super::slow_start) and 2 in [`avoidance`](super::avoidance), which differ only in
//! `ssthresh`. The sender limits the chosen window to its own maximum window, and the data that is sent to the peer's
//! window.
//!
//! The paper names the seven windows and defines none of them. Readings:
//! - The average is over the ACKs of the connection, each with the current window at its arrival (`average = mean`):
//!   this is the usual meaning of the word, and simple to compute in a simulator. `average = ewma` is exponentially
//!   weighted: every ACK has the weight `gain`.
//! - The maximum is over the whole connection, including the first slow start.
//! - The buffer is exactly as large as the paper's maximum window: 48 packets (§4.2).
//! - The bandwidth is computed from the ACKs, round by round (`Bandwidth`); the delay is the minimum round-trip time,
//!   so the product does not include the queue. Before there is a sample, TCP's response is used.

use alloc::vec;
use alloc::vec::Vec;

use dupack_tcp::facts::{AckFacts, AckKind, LossFacts, View};
use dupack_tcp::time::Instant;
use dupack_tcp::window::Window;

use crate::catalog::{Choice, Context, Parameters};

/// Choice of the window by a method: the parameters of the method, and the resulting choice.
pub(super) trait Method: Parameters {
    /// Returns the choice for a connection.
    fn choice(&self, context: &Context) -> WindowChoice;
}

/// One segment (methods 11 and 21).
#[derive(Clone, Copy, Debug, Parameters)]
pub(super) struct OneSegment {}

impl Method for OneSegment {
    fn choice(&self, context: &Context) -> WindowChoice {
        WindowChoice::Fixed(f64::from(context.smss))
    }
}

/// Window after TCP's response (methods 12 and 22).
#[derive(Clone, Copy, Debug, Parameters)]
pub(super) struct AsTcp {}

impl Method for AsTcp {
    fn choice(&self, _: &Context) -> WindowChoice {
        WindowChoice::Tcp
    }
}

/// Window before the loss (methods 13 and 23).
#[derive(Clone, Copy, Debug, Parameters)]
pub(super) struct AsBefore {}

impl Method for AsBefore {
    fn choice(&self, _: &Context) -> WindowChoice {
        WindowChoice::Previous
    }
}

/// Kind of average.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum Averaging {
    /// over all ACKs of the connection
    Mean,
    /// exponentially weighted, by `gain` per ACK
    Ewma,
}

/// Average so far (methods 14 and 24).
#[derive(Clone, Copy, Debug, Parameters)]
pub(super) struct AverageSoFar {
    /// kind of average of cwnd
    #[parameter(source = "left open by Park et al.; our reading", default = Averaging::Mean)]
    average: Averaging,
    /// weight of one ACK, with average = ewma
    #[parameter(
        source = "our reading: 100 ACKs are two of the largest windows of Park et al.",
        range = 1e-6..=1.0,
        default = 0.01,
    )]
    gain: f64,
}

impl Method for AverageSoFar {
    fn choice(&self, _: &Context) -> WindowChoice {
        WindowChoice::Average(match self.average {
            Averaging::Mean => Average::Mean { sum: 0.0, acks: 0 },
            Averaging::Ewma => Average::Weighted {
                gain: self.gain,
                value: None,
            },
        })
    }
}

/// Maximum so far (methods 15 and 25).
#[derive(Clone, Copy, Debug, Parameters)]
pub(super) struct GreatestSoFar {}

impl Method for GreatestSoFar {
    fn choice(&self, _: &Context) -> WindowChoice {
        WindowChoice::Maximum(0.0)
    }
}

/// Sender's buffer (methods 16 and 26).
#[derive(Clone, Copy, Debug, Parameters)]
pub(super) struct SendersBuffer {
    /// the sender's buffer
    #[parameter(
        source = "our reading of Park et al. §4.2: the size of their largest window, 48 packets",
        range = 1..=1_000_000,
        unit = "segments",
        default = 48,
    )]
    buffer: u64,
}

impl Method for SendersBuffer {
    fn choice(&self, context: &Context) -> WindowChoice {
        WindowChoice::Fixed(self.buffer as f64 * f64::from(context.smss))
    }
}

/// Bandwidth-delay product (methods 17 and 27).
#[derive(Clone, Copy, Debug, Parameters)]
pub(super) struct BandwidthDelayProduct {
    /// bandwidth, from the delivery rates of the last `rounds` round trips
    #[parameter(
        source = "left open by Park et al.; our reading, after BBR (Cardwell et al. 2016)",
        default = Pick::Max,
    )]
    bandwidth: Pick,
    /// number of round trips whose delivery rates are used
    #[parameter(
        source = "our reading, after BBR (Cardwell et al. 2016)",
        range = 1..=1000,
        unit = "round trips",
        default = 10,
    )]
    rounds: u64,
    /// delay in the bandwidth-delay product
    #[parameter(
        source = "left open by Park et al.; our reading: the path without its queue",
        default = Delay::Min,
    )]
    delay: Delay,
}

impl Method for BandwidthDelayProduct {
    fn choice(&self, context: &Context) -> WindowChoice {
        WindowChoice::BandwidthDelay(Bandwidth::new(self, context), self.delay)
    }
}

/// Choice of the window, with its state. Windows are in bytes.
#[derive(Clone, Debug)]
pub(super) enum WindowChoice {
    /// Number of bytes.
    Fixed(f64),
    /// The window after TCP's response.
    Tcp,
    /// The window before the loss.
    Previous,
    /// Average so far.
    Average(Average),
    /// Maximum so far.
    Maximum(f64),
    /// Bandwidth times delay.
    BandwidthDelay(Bandwidth, Delay),
}

impl WindowChoice {
    /// Changes the size of a full segment from `from` to `to` bytes.
    pub(super) fn resize(&mut self, from: u32, to: u32) {
        match self {
            Self::Fixed(bytes) => *bytes *= f64::from(to) / f64::from(from),
            Self::BandwidthDelay(bandwidth, _) => bandwidth.smss = u64::from(to),
            Self::Tcp | Self::Previous | Self::Average(_) | Self::Maximum(_) => {}
        }
    }

    /// Records an ACK, and the current window at its arrival.
    pub(super) fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        match self {
            Self::Average(average) => average.take(view.window.cwnd),
            Self::Maximum(most) => *most = most.max(view.window.cwnd),
            Self::BandwidthDelay(bandwidth, _) => bandwidth.take(ack, view),
            Self::Fixed(_) | Self::Tcp | Self::Previous => {}
        }
    }

    /// Returns the window for a loss to which TCP's response would be `congestion`.
    pub(super) fn cwnd(&self, loss: &LossFacts, congestion: Window) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Tcp => congestion.cwnd,
            Self::Previous => loss.window.cwnd,
            Self::Average(average) => average.value().unwrap_or(loss.window.cwnd),
            Self::Maximum(most) => most.max(loss.window.cwnd),
            Self::BandwidthDelay(bandwidth, delay) => {
                let delay = match delay {
                    Delay::Min => loss.rtt_min,
                    Delay::Smoothed => loss.srtt,
                };
                let product = delay.map_or(0.0, |d| bandwidth.rate() * d.as_secs_f64());
                if product > 0.0 {
                    product
                } else {
                    congestion.cwnd
                }
            }
        }
    }
}

/// Average of the windows at the arrival of ACKs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Average {
    Mean { sum: f64, acks: u64 },
    Weighted { gain: f64, value: Option<f64> },
}

impl Average {
    fn take(&mut self, cwnd: f64) {
        match self {
            Self::Mean { sum, acks } => {
                *sum += cwnd;
                *acks += 1;
            }
            Self::Weighted { gain, value } => {
                *value = Some(value.map_or(cwnd, |average| average + *gain * (cwnd - average)));
            }
        }
    }

    /// Returns the average; `None` before the first ACK.
    fn value(&self) -> Option<f64> {
        match *self {
            Self::Mean { acks: 0, .. } => None,
            Self::Mean { sum, acks } => Some(sum / acks as f64),
            Self::Weighted { value, .. } => value,
        }
    }
}

/// Delay by which the bandwidth is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(super) enum Delay {
    /// the minimum round-trip time
    Min,
    /// SRTT (RFC 6298), including queueing
    Smoothed,
}

/// Rate that is used as the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum Pick {
    /// the maximum rate: the rate that the path can carry
    Max,
    /// the mean rate: the rate that the path did carry
    Mean,
}

/// Bandwidth, from the data that ACKs report as delivered, in bytes per second.
///
/// A round lasts at least one SRTT and ends with an ACK; its rate is the delivered data divided by its duration.
/// Without SACK, a duplicate ACK counts as one segment, which is subtracted from the advance that follows: data above a
/// hole counts when it arrives, and not again when the hole is filled.
#[derive(Clone, Debug)]
pub(super) struct Bandwidth {
    smss: u64,
    pick: Pick,
    /// Rates of the last rounds, in a ring that is not full at first.
    rates: Vec<f64>,
    /// Number of rounds so far.
    finished: usize,
    begin: Option<Instant>,
    /// Bytes delivered in this round.
    delivered: u64,
    /// Bytes that duplicate ACKs have counted, and that no advance has covered yet.
    announced: u64,
}

impl Bandwidth {
    fn new(parameters: &BandwidthDelayProduct, context: &Context) -> Self {
        Self {
            smss: u64::from(context.smss),
            pick: parameters.bandwidth,
            rates: vec![0.0; parameters.rounds as usize],
            finished: 0,
            begin: None,
            delivered: 0,
            announced: 0,
        }
    }

    fn take(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let Some(begin) = self.begin else {
            // The first ACK begins the first round.
            self.begin = Some(ack.now);
            return;
        };
        self.delivered += self.news(ack);
        let took = ack.now.since(begin);
        if took.is_zero() || view.rtt.srtt().is_none_or(|srtt| took < srtt) {
            return;
        }
        let place = self.finished % self.rates.len();
        self.rates[place] = self.delivered as f64 / took.as_secs_f64();
        self.finished += 1;
        self.begin = Some(ack.now);
        self.delivered = 0;
    }

    /// Returns the bytes that this ACK is the first to report as delivered.
    fn news(&mut self, ack: &AckFacts<'_>) -> u64 {
        if ack.kind == AckKind::Duplicate && ack.delivered_bytes == 0 {
            self.announced += self.smss;
            return self.smss;
        }
        let known = self.announced.min(ack.acked_bytes);
        self.announced -= known;
        ack.delivered_bytes.saturating_sub(known)
    }

    /// Returns the estimate; 0 before a round has ended.
    fn rate(&self) -> f64 {
        let known = &self.rates[..self.finished.min(self.rates.len())];
        match self.pick {
            Pick::Max => known.iter().copied().fold(0.0, f64::max),
            Pick::Mean => known.iter().sum::<f64>() / known.len().max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests;
