//! Measurements of an agent's sender in a step, from which observations and rewards are computed.
//!
//! A real TCP sender can measure each of these numbers; none depends on information that only the simulator has.
//!
//! | quantity | source |
//! | --- | --- |
//! | delivered | bytes that an ACK reports as received for the first time, cumulatively or by SACK |
//! | sent | segments sent, including retransmissions |
//! | lost | retransmitted segments: those that the recovery considered lost, and tail loss probes |
//! | round-trip times | for each ACK, the age of the segment that was sent last, among those that the ACK reports and that were sent once |
//!
//! Each event counts in the step in which the sender learns of it: the ACKs of a step report data that was sent one
//! round-trip time earlier. PCC, on which Aurora is based, waits for the ACKs of the data sent in an interval. Aurora's
//! own simulator works like this module.

use dupack_net::tcp_flow::TcpFlow;
use dupack_tcp::time::{Duration, Instant};

use crate::cell::{Cell, Notes, RoundTrips};

/// Measurements of an agent's sender in a step and since the start of the flow. Times are in seconds, and rates are in
/// payload bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// Length of the step.
    pub duration: f64,
    /// Number of bytes sent, including retransmissions.
    pub sent_bytes: f64,
    /// Number of bytes that ACKs reported as received for the first time.
    pub delivered_bytes: f64,
    /// Number of bytes retransmitted.
    pub lost_bytes: f64,
    /// Number of ACKs.
    pub acks: f64,
    /// Number of retransmission timeouts.
    pub timeouts: f64,
    /// Mean round-trip time. In a step without a sample, this is the mean of the last step with a sample; 0 before the
    /// first sample.
    pub rtt: f64,
    /// Slope of the round-trip time within the step, in seconds per second.
    pub rtt_slope: f64,
    /// Minimum of the mean round-trip times of all steps; 0 before the first sample.
    pub rtt_mean_least: f64,
    /// Minimum round-trip time so far; 0 before the first sample.
    pub rtt_least: f64,
    /// Smoothed round-trip time (RFC 6298); 0 before the first sample.
    pub srtt: f64,
    /// Maximum delivery rate of any step so far.
    pub rate_most: f64,
    /// Pacing rate of the agent; if the agent sets no pacing rate, the window divided by the smoothed round-trip time.
    pub pace: f64,
    /// Congestion window in segments.
    pub window: f64,
    /// Segments in flight, as the recovery counts them.
    pub in_flight: f64,
    /// Payload bytes of a full segment.
    pub segment: f64,
    /// Action at the start of the step.
    pub action: f64,
}

impl Measured {
    /// Returns the number of bytes delivered per second.
    #[must_use]
    pub fn delivery_rate(&self) -> f64 {
        per(self.delivered_bytes, self.duration)
    }

    /// Returns the number of bytes sent per second.
    #[must_use]
    pub fn send_rate(&self) -> f64 {
        per(self.sent_bytes, self.duration)
    }

    /// Returns the number of bytes retransmitted per second.
    #[must_use]
    pub fn loss_rate(&self) -> f64 {
        per(self.lost_bytes, self.duration)
    }

    /// Returns lost / (lost + delivered).
    #[must_use]
    pub fn loss_ratio(&self) -> f64 {
        per(self.lost_bytes, self.lost_bytes + self.delivered_bytes)
    }
}

/// Returns `amount` per `unit`, or 0 if `unit` is 0.
pub(crate) fn per(amount: f64, unit: f64) -> f64 {
    if unit > 0.0 { amount / unit } else { 0.0 }
}

/// State of a sender's measurements between two steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    at: Instant,
    segments_sent: u64,
    retransmissions: u64,
    /// Mean round-trip time of the last step with a sample. `rtt_mean_least` is the minimum of these means.
    rtt: f64,
    rtt_mean_least: f64,
    rate_most: f64,
}

impl Gauge {
    /// Starts measuring at `now`. Earlier measurements are discarded, except round-trip times.
    pub(crate) fn begin(&mut self, now: Instant, flow: &TcpFlow, cell: &Cell) {
        self.read(now, flow, cell, None, 0.0);
        self.rate_most = 0.0;
    }

    /// Returns the measurements of `flow`, whose control has `cell`, since the last call. `pace` is the agent's pacing
    /// rate, if the agent sets one.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        flow: &TcpFlow,
        cell: &Cell,
        pace: Option<f64>,
        action: f64,
    ) -> Measured {
        let sender = flow.sender();
        let stats = sender.stats();
        let segment = f64::from(sender.config().smss);
        let notes = cell.take(now);
        let since = |count: u64, before: u64| (count - before) as f64 * segment;
        let sent_bytes = since(stats.segments_sent, self.segments_sent);
        let lost_bytes = since(stats.retransmissions, self.retransmissions);
        let duration = now.since(self.at).as_secs_f64();
        let delivered_bytes = notes.delivered_bytes as f64;
        self.at = now;
        self.segments_sent = stats.segments_sent;
        self.retransmissions = stats.retransmissions;
        self.rate_most = self.rate_most.max(per(delivered_bytes, duration));
        let rtt_slope = self.learn(&notes);
        let window = sender.window().cwnd;
        let srtt = sender.rtt().srtt().map_or(0.0, Duration::as_secs_f64);
        Measured {
            duration,
            sent_bytes,
            delivered_bytes,
            lost_bytes,
            acks: notes.acks as f64,
            timeouts: notes.timeouts as f64,
            rtt: self.rtt,
            rtt_slope,
            rtt_mean_least: self.rtt_mean_least,
            rtt_least: sender.rtt().min().map_or(0.0, Duration::as_secs_f64),
            srtt,
            rate_most: self.rate_most,
            pace: pace.unwrap_or_else(|| per(window, srtt)),
            window: window / segment,
            in_flight: sender.in_flight(now) as f64 / segment,
            segment,
            action,
        }
    }

    /// Records round-trip times and returns their slope.
    fn learn(&mut self, notes: &Notes) -> f64 {
        let Some(RoundTrips { mean, slope, .. }) = notes.rtt else {
            return 0.0;
        };
        self.rtt = mean;
        if self.rtt_mean_least == 0.0 || mean < self.rtt_mean_least {
            self.rtt_mean_least = mean;
        }
        slope
    }
}
