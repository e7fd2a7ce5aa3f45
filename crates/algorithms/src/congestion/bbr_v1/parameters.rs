//! Constants of BBR version 1. Each is a parameter with Linux's value as its default.

use dupack_tcp::time::Duration;

use crate::catalog::Parameters;
use crate::congestion::undo::UndoParameters;

/// Parameters of BBR version 1.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct BbrV1Parameters {
    /// pace and window in Startup, as a multiple of the model's: 2/ln 2
    #[parameter(basic, source = "Linux, bbr_high_gain: 739/256", range = 0.1..=10.0, default = 2.886_718_75)]
    pub(super) high_gain: f64,
    /// pace in Drain, as a multiple of the bandwidth
    #[parameter(source = "Linux, bbr_drain_gain: 88/256", range = 0.1..=10.0, default = 0.343_75)]
    pub(super) drain_gain: f64,
    /// window in ProbeBW as a multiple of the bandwidth-delay product
    #[parameter(basic, source = "Linux, bbr_cwnd_gain", range = 0.1..=10.0, default = 2.0)]
    pub(super) cwnd_gain: f64,
    /// pace in the first phase of a ProbeBW cycle, which probes for bandwidth
    #[parameter(basic, source = "Linux, bbr_pacing_gain", range = 1.0..=10.0, default = 1.25)]
    pub(super) probe_gain: f64,
    /// pace in the second phase, which lets the queue run empty
    #[parameter(source = "Linux, bbr_pacing_gain", range = 0.1..=1.0, default = 0.75)]
    pub(super) yield_gain: f64,
    /// phases of a ProbeBW cycle: those two, and the rest with the bandwidth as the pace
    #[parameter(source = "Linux, CYCLE_LEN", range = 3..=1000, unit = "phases", default = 8)]
    pub(super) cycle_phases: u64,
    /// share by which the pace stays below the bandwidth
    #[parameter(source = "Linux, bbr_pacing_margin_percent", range = 0.0..=0.5, default = 0.01)]
    pub(super) pacing_margin: f64,
    /// window of the bandwidth's max filter
    #[parameter(source = "Linux, bbr_bw_rtts", range = 1..=1000, unit = "round trips", default = 10)]
    pub(super) bw_rounds: u64,
    /// age of the least round-trip time that calls for ProbeRTT
    #[parameter(source = "Linux, bbr_min_rtt_win_sec", default = Duration::from_secs(10))]
    pub(super) min_rtt_window: Duration,
    /// least duration of the low window in ProbeRTT
    #[parameter(basic, source = "Linux, bbr_probe_rtt_mode_ms", default = Duration::from_millis(200))]
    pub(super) probe_rtt_duration: Duration,
    /// least window, and that of ProbeRTT
    #[parameter(source = "Linux, bbr_cwnd_min_target", range = 1..=1000, unit = "segments", default = 4)]
    pub(super) min_cwnd: u64,
    /// growth of the bandwidth in a round trip below which the pipe may be full
    #[parameter(source = "Linux, bbr_full_bw_thresh", range = 1.0..=10.0, default = 1.25)]
    pub(super) full_bw_growth: f64,
    /// round trips without that growth after which the pipe is full
    #[parameter(source = "Linux, bbr_full_bw_cnt", range = 1..=1000, unit = "round trips", default = 3)]
    pub(super) full_bw_rounds: u64,
    /// addition to the window for aggregated ACKs, as a multiple of their excess; 0: none
    #[parameter(source = "Linux, bbr_extra_acked_gain", range = 0.0..=10.0, default = 1.0)]
    pub(super) extra_acked_gain: f64,
    /// half of the window of the excess's max filter
    #[parameter(source = "Linux, bbr_extra_acked_win_rtts", range = 1..=1000, unit = "round trips", default = 5)]
    pub(super) extra_acked_rounds: u64,
    /// greatest excess, as a duration at the bandwidth
    #[parameter(source = "Linux, bbr_extra_acked_max_us", default = Duration::from_millis(100))]
    pub(super) extra_acked_max: Duration,
    /// least round trips of an interval of the policer detection
    #[parameter(source = "Linux, bbr_lt_intvl_min_rtts", range = 1..=1000, unit = "round trips", default = 4)]
    pub(super) policer_rounds: u64,
    /// loss, as a share of the delivery, that makes an interval suspect
    #[parameter(source = "Linux, bbr_lt_loss_thresh: 50/256", range = 0.0..=1.0, default = 0.195_312_5)]
    pub(super) policer_loss: f64,
    /// greatest difference of the rates of two intervals, as a share of the first
    #[parameter(source = "Linux, bbr_lt_bw_ratio", range = 0.0..=1.0, default = 0.125)]
    pub(super) policer_bw_ratio: f64,
    /// greatest difference of the rates of two intervals, as an absolute value
    #[parameter(source = "Linux, bbr_lt_bw_diff", range = 0.0..=1e12, unit = "bit/s", default = 4000.0)]
    pub(super) policer_bw_diff: f64,
    /// round trips for which the rate of a policer is used
    #[parameter(source = "Linux, bbr_lt_bw_max_rtts", range = 1..=1000, unit = "round trips", default = 48)]
    pub(super) policer_use_rounds: u64,
    /// pace from which bursts have two segments at least
    #[parameter(source = "Linux, bbr_min_tso_rate", range = 0.0..=1e12, unit = "bit/s", default = 1.2e6)]
    pub(super) burst_rate: f64,
    /// segments of a connection that leave before the first gap
    #[parameter(source = "Linux, tcp_update_skb_after_send, TCP_INIT_CWND", range = 0..=65_535, unit = "segments", default = 10)]
    pub(super) pacing_from: u64,
    /// seed of the first phases of ProbeBW, in addition to the connection's own
    #[parameter(source = "ours: Linux draws the phase, bbr_cycle_rand", range = 0..=u64::MAX, default = 0)]
    pub(super) seed: u64,
    #[embed]
    pub(super) undo: UndoParameters,
}
