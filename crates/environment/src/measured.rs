//! What an agent's sender has seen in a step: all that observations and rewards are made of.
//!
//! Nothing here is the simulator's knowledge. A sender of today's TCP could know each of these numbers:
//!
//! | what | how the sender knows it |
//! | --- | --- |
//! | delivered | bytes of which an ACK is the first to say that they arrived, cumulatively or by SACK |
//! | sent | segments that left, repeated ones included |
//! | lost | segments that it sent again: what the recovery took for lost, and probes of a tail |
//! | round-trip times | of each ACK, the age of the youngest segment that it reports and that was sent once |
//!
//! What counts is when the sender learns of it: ACKs of a step tell of what was sent a round trip before. PCC, on
//! which Aurora stands, waits for the ACKs of what was sent in an interval; Aurora's own simulator does as is done here.

use dupack_net::tcp_flow::TcpFlow;
use dupack_tcp::time::{Duration, Instant};

use crate::cell::{Cell, Notes, RoundTrips};

/// What an agent's sender has seen in a step, and what it has seen so far. Times are in seconds, rates in bytes
/// of payload per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// How long the step was.
    pub duration: f64,
    /// Bytes that left, repeated ones included.
    pub sent_bytes: f64,
    /// Bytes of which ACKs said for the first time that they arrived.
    pub delivered_bytes: f64,
    /// Bytes that were sent again.
    pub lost_bytes: f64,
    /// ACKs that came.
    pub acks: f64,
    /// Expiries of the retransmission timer.
    pub timeouts: f64,
    /// The mean round-trip time; in a step without a sample that of the last step with one, and 0 before any.
    pub rtt: f64,
    /// How the round-trip time grew within the step, in seconds per second.
    pub rtt_slope: f64,
    /// The least of the means of all steps so far; 0 before any.
    pub rtt_mean_least: f64,
    /// The least round-trip time so far; 0 before any.
    pub rtt_least: f64,
    /// The smoothed round-trip time (RFC 6298); 0 before any.
    pub srtt: f64,
    /// The most that a step so far delivered, per second.
    pub rate_most: f64,
    /// The pace: the agent's, or the window per smoothed round-trip time.
    pub pace: f64,
    /// The congestion window in segments.
    pub window: f64,
    /// Segments in flight, as the recovery counts them.
    pub in_flight: f64,
    /// Payload bytes of a full segment.
    pub segment: f64,
    /// The action that began the step.
    pub action: f64,
}

impl Measured {
    /// Bytes delivered per second.
    #[must_use]
    pub fn delivery_rate(&self) -> f64 {
        per(self.delivered_bytes, self.duration)
    }

    /// Bytes sent per second.
    #[must_use]
    pub fn send_rate(&self) -> f64 {
        per(self.sent_bytes, self.duration)
    }

    /// Bytes sent again per second.
    #[must_use]
    pub fn loss_rate(&self) -> f64 {
        per(self.lost_bytes, self.duration)
    }

    /// The share of what was lost in what was lost or delivered.
    #[must_use]
    pub fn loss_ratio(&self) -> f64 {
        per(self.lost_bytes, self.lost_bytes + self.delivered_bytes)
    }
}

/// `amount` per `unit`; 0 of nothing.
pub(crate) fn per(amount: f64, unit: f64) -> f64 {
    if unit > 0.0 { amount / unit } else { 0.0 }
}

/// What is remembered of a sender between two steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    at: Instant,
    segments_sent: u64,
    retransmissions: u64,
    /// Mean round-trip time of the last step that had a sample, and the least of all such.
    rtt: f64,
    rtt_mean_least: f64,
    rate_most: f64,
}

impl Gauge {
    /// From `now` on it is measured anew; nothing so far counts, but for the least round-trip time.
    pub(crate) fn begin(&mut self, now: Instant, flow: &TcpFlow, cell: &Cell) {
        self.read(now, flow, cell, None, 0.0);
        self.rate_most = 0.0;
    }

    /// What `flow`, whose control has `cell`, did since it was read last. `pace` is the agent's, if it sets one.
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

    /// Remembers round-trip times; answers with their slope.
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
