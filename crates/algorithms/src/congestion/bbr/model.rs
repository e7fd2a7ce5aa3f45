//! Model of the path: round trips, bandwidth, round-trip time, aggregation, and the short-term bounds (§5.5).

use dupack_tcp::time::{Duration, Instant};

use super::{Bbr, CwndLimited};
use crate::congestion::delivery_rate::{RateSample, Supply};
use crate::congestion::max_filter::MaxFilter;

/// Packet-timed round trips (§5.5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    pub count: u64,
    /// `true` if the current ACK begins a round trip (`round_start`).
    pub start: bool,
    pub since_probe_up: u64,
    next_delivered: u64,
}

/// Minimum round-trip time, and the separate minimum that schedules ProbeRTT (§2.16, §5.3.4.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    value: Option<Duration>,
    stamp: Instant,
    probe_delay: Option<Duration>,
    pub probe_stamp: Instant,
    /// `probe_rtt_expired`.
    pub expired: bool,
}

impl MinRtt {
    /// Initializes the minimum at the beginning of the connection, with `srtt` if it is known.
    pub(super) fn begin(&mut self, now: Instant, srtt: Option<Duration>) {
        self.value = srtt;
        (self.stamp, self.probe_stamp) = (now, now);
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.value.is_none()
    }

    /// Returns the minimum in seconds.
    pub(super) fn secs(&self) -> Option<f64> {
        self.value.map(Duration::as_secs_f64)
    }
}

/// Excess of the acknowledged data over the expected data when ACKs are aggregated (§5.5.9).
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    interval_start: Instant,
    delivered: f64,
    filter: MaxFilter,
}

impl Aggregation {
    /// Begins a new interval. The delivered data of the last interval is kept, as in the draft: the next ACK either
    /// begins a new interval, if the delivered data does not exceed the expected data, or adds to it.
    pub(super) fn restart(&mut self, now: Instant) {
        self.interval_start = now;
    }

    /// `extra_acked`.
    pub(super) fn extra_acked(&self) -> f64 {
        self.filter.max()
    }
}

/// Delivery of the last round trip, and its losses (§2.10, §5.5.10.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    bw_latest: f64,
    pub inflight_latest: f64,
    /// `is_loss_in_round`.
    pub loss_in_round: bool,
    pub loss_round_delivered: u64,
    /// `true` if the current ACK ends a loss round. A loss round begins at a loss, or at the end of the last loss
    /// round.
    pub loss_round_start: bool,
    /// Number of separate ranges lost in this round trip, and the end of the last range.
    lost_ranges: u64,
    last_lost_end: Option<u64>,
}

impl Signals {
    pub(super) fn note_lost_range(&mut self, start: u64, end: u64) {
        self.lost_ranges += u64::from(self.last_lost_end != Some(start));
        self.last_lost_end = Some(end);
    }

    pub(super) fn take_lost_ranges(&mut self) -> u64 {
        self.last_lost_end = None;
        core::mem::take(&mut self.lost_ranges)
    }
}

impl Bbr {
    /// `StartRound`.
    pub(super) fn start_round(&mut self) {
        self.rounds.next_delivered = self.sampler.delivered;
    }

    fn update_round(&mut self, rs: &RateSample) {
        self.rounds.start = rs.prior_delivered >= self.rounds.next_delivered;
        if self.rounds.start {
            self.start_round();
            self.rounds.count += 1;
            self.rounds.since_probe_up += 1;
            self.cwnd_limited = CwndLimited {
                this_round: false,
                last_round: self.cwnd_limited.this_round,
            };
        }
    }

    /// C.is_cwnd_limited.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited.this_round || self.cwnd_limited.last_round
    }

    /// `UpdateMaxBw` (§5.5.5).
    fn update_max_bw(&mut self, rs: &RateSample) {
        self.update_round(rs);
        let rate = rs.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw.max() || rs.supply == Supply::Ample) {
            let window = self.constants.max_bw_cycles;
            self.max_bw.update(rate, self.cycle.count, window);
        }
    }

    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw.max().min(self.bw_shortterm);
    }

    pub(super) fn update_latest_delivery_signals(&mut self, rs: &RateSample) {
        let signals = &mut self.signals;
        signals.loss_round_start = false;
        signals.bw_latest = signals.bw_latest.max(rs.delivery_rate);
        signals.inflight_latest = signals.inflight_latest.max(rs.delivered as f64);
        if rs.prior_delivered >= signals.loss_round_delivered {
            signals.loss_round_delivered = self.sampler.delivered;
            signals.loss_round_start = true;
        }
    }

    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &RateSample) {
        if self.signals.loss_round_start {
            self.signals.bw_latest = rs.delivery_rate;
            self.signals.inflight_latest = rs.delivered as f64;
        }
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.signals.loss_in_round = false;
        self.signals.bw_latest = 0.0;
        self.signals.inflight_latest = 0.0;
    }

    pub(super) fn update_congestion_signals(&mut self, rs: &RateSample) {
        self.update_max_bw(rs);
        if self.signals.loss_round_start {
            self.adapt_lower_bounds_from_congestion();
            self.signals.loss_in_round = false;
        }
    }

    /// Adapts the lower bounds once per round trip with loss, outside of probes for bandwidth (§5.5.10.3).
    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.state.is_probing_bw() || !self.signals.loss_in_round {
            return;
        }
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw.max();
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = self.cwnd;
        }
        let (signals, beta) = (&self.signals, self.constants.beta);
        self.bw_shortterm = signals.bw_latest.max(beta * self.bw_shortterm);
        self.inflight_shortterm = signals.inflight_latest.max(beta * self.inflight_shortterm);
    }

    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// `UpdateACKAggregation` (§5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, rs: &RateSample) {
        let interval = self.now.since(self.aggregation.interval_start);
        let mut expected = self.bw * interval.as_secs_f64();
        if self.aggregation.delivered <= expected {
            self.aggregation.delivered = 0.0;
            self.aggregation.interval_start = self.now;
            expected = 0.0;
        }
        self.aggregation.delivered += rs.newly_acked as f64;
        let extra = (self.aggregation.delivered - expected).min(self.cwnd);
        let window = if self.full_pipe.reached {
            self.constants.extra_acked_rounds
        } else {
            1
        };
        self.aggregation
            .filter
            .update(extra, self.rounds.count, window);
    }

    /// `UpdateMinRTT` (§5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, rtt: Option<Duration>) {
        let (now, constants) = (self.now, &self.constants);
        let m = &mut self.min_rtt;
        m.expired = now.since(m.probe_stamp) > constants.probe_rtt_interval;
        if let Some(rtt) = rtt
            && (m.expired || m.probe_delay.is_none_or(|least| rtt < least))
        {
            m.probe_delay = Some(rtt);
            m.probe_stamp = now;
        }
        let Some(probed) = m.probe_delay else {
            return;
        };
        let expired = now.since(m.stamp) > constants.min_rtt_window;
        if expired || m.value.is_none_or(|least| probed < least) {
            m.value = Some(probed);
            m.stamp = m.probe_stamp;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::super::tests::settled;
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_least_round_trip_expires_after_its_window_and_not_at_its_end() {
        // The minimum is valid for ten seconds, and ProbeRTT is due after five (§5.3.4.3).
        let after = |elapsed: Duration| {
            let mut bbr = settled(State::ProbeBwCruise);
            bbr.now += elapsed;
            bbr.update_min_rtt(Some(MS(60)));
            (bbr.min_rtt.value, bbr.min_rtt.expired)
        };
        assert_eq!(after(MS(5_000)), (Some(MS(41)), false));
        assert_eq!(after(MS(5_001)), (Some(MS(41)), true));
        assert_eq!(after(MS(10_000)), (Some(MS(41)), true));
        assert_eq!(after(MS(10_001)), (Some(MS(60)), true));
    }

    #[test]
    fn a_shorter_round_trip_counts_at_once() {
        let mut bbr = settled(State::ProbeBwCruise);
        bbr.now += MS(100);
        bbr.update_min_rtt(Some(MS(40)));
        assert_eq!(bbr.min_rtt.value, Some(MS(40)));
        bbr.now += MS(100);
        bbr.update_min_rtt(Some(MS(40)));
        bbr.update_min_rtt(None);
        assert_eq!(bbr.min_rtt.value, Some(MS(40)));
        // The ten seconds begin with the first of the equal minimum samples.
        bbr.now += MS(9_901);
        bbr.update_min_rtt(Some(MS(50)));
        assert_eq!(bbr.min_rtt.value, Some(MS(50)));
    }
}
