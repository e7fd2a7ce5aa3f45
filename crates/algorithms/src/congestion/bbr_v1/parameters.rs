//! Constants of BBR version 1. Each is a parameter with Linux's value as its default.

use dupack_tcp::time::Duration;

use crate::catalog::Parameters;
use crate::congestion::undo::UndoParameters;

/// Parameters of BBR version 1.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct BbrV1Parameters {
    /// gain of the pacing rate and the window in Startup: 2/ln 2
    #[parameter(basic, source = "Linux, bbr_high_gain: 739/256", range = 0.1..=10.0, default = 2.886_718_75)]
    pub(super) high_gain: f64,
    /// pacing rate in Drain, as a multiple of the bandwidth
    #[parameter(source = "Linux, bbr_drain_gain: 88/256", range = 0.1..=10.0, default = 0.343_75)]
    pub(super) drain_gain: f64,
    /// window in ProbeBW as a multiple of the bandwidth-delay product
    #[parameter(basic, source = "Linux, bbr_cwnd_gain", range = 0.1..=10.0, default = 2.0)]
    pub(super) cwnd_gain: f64,
    /// pacing rate in the first phase of a ProbeBW cycle, which probes for bandwidth
    #[parameter(basic, source = "Linux, bbr_pacing_gain", range = 1.0..=10.0, default = 1.25)]
    pub(super) probe_gain: f64,
    /// pacing rate in the second phase, which drains the queue
    #[parameter(source = "Linux, bbr_pacing_gain", range = 0.1..=1.0, default = 0.75)]
    pub(super) yield_gain: f64,
    /// phases of a ProbeBW cycle: these two, and the others, in which the pacing rate is the bandwidth
    #[parameter(source = "Linux, CYCLE_LEN", range = 3..=1000, unit = "phases", default = 8)]
    pub(super) cycle_phases: u64,
    /// fraction by which the pacing rate stays below the bandwidth
    #[parameter(source = "Linux, bbr_pacing_margin_percent", range = 0.0..=0.5, default = 0.01)]
    pub(super) pacing_margin: f64,
    /// window of the bandwidth's maximum filter
    #[parameter(source = "Linux, bbr_bw_rtts", range = 1..=1000, unit = "round trips", default = 10)]
    pub(super) bw_rounds: u64,
    /// age of the minimum round-trip time after which ProbeRTT begins
    #[parameter(source = "Linux, bbr_min_rtt_win_sec", default = Duration::from_secs(10))]
    pub(super) min_rtt_window: Duration,
    /// minimum duration of the low window in ProbeRTT
    #[parameter(basic, source = "Linux, bbr_probe_rtt_mode_ms", default = Duration::from_millis(200))]
    pub(super) probe_rtt_duration: Duration,
    /// minimum window, which is also the window in ProbeRTT
    #[parameter(source = "Linux, bbr_cwnd_min_target", range = 1..=1000, unit = "segments", default = 4)]
    pub(super) min_cwnd: u64,
    /// growth factor of the bandwidth per round trip below which the pipe may be full
    #[parameter(source = "Linux, bbr_full_bw_thresh", range = 1.0..=10.0, default = 1.25)]
    pub(super) full_bw_growth: f64,
    /// round trips without that growth after which the pipe is considered full
    #[parameter(source = "Linux, bbr_full_bw_cnt", range = 1..=1000, unit = "round trips", default = 3)]
    pub(super) full_bw_rounds: u64,
    /// addition to the window for aggregated ACKs, as a multiple of their excess; 0: none
    #[parameter(source = "Linux, bbr_extra_acked_gain", range = 0.0..=10.0, default = 1.0)]
    pub(super) extra_acked_gain: f64,
    /// half of the window of the excess's maximum filter
    #[parameter(source = "Linux, bbr_extra_acked_win_rtts", range = 1..=1000, unit = "round trips", default = 5)]
    pub(super) extra_acked_rounds: u64,
    /// maximum excess, as a duration at the bandwidth
    #[parameter(source = "Linux, bbr_extra_acked_max_us", default = Duration::from_millis(100))]
    pub(super) extra_acked_max: Duration,
    /// minimum number of round trips in an interval of the policer detection
    #[parameter(source = "Linux, bbr_lt_intvl_min_rtts", range = 1..=1000, unit = "round trips", default = 4)]
    pub(super) policer_rounds: u64,
    /// lost data, as a fraction of the delivered data, from which an interval may show a policer
    #[parameter(source = "Linux, bbr_lt_loss_thresh: 50/256", range = 0.0..=1.0, default = 0.195_312_5)]
    pub(super) policer_loss: f64,
    /// maximum difference between the rates of two intervals, as a fraction of the first
    #[parameter(source = "Linux, bbr_lt_bw_ratio", range = 0.0..=1.0, default = 0.125)]
    pub(super) policer_bw_ratio: f64,
    /// maximum difference between the rates of two intervals, as an absolute value
    #[parameter(source = "Linux, bbr_lt_bw_diff", range = 0.0..=1e12, unit = "bit/s", default = 4000.0)]
    pub(super) policer_bw_diff: f64,
    /// round trips for which the rate of a policer is used
    #[parameter(source = "Linux, bbr_lt_bw_max_rtts", range = 1..=1000, unit = "round trips", default = 48)]
    pub(super) policer_use_rounds: u64,
    /// pacing rate from which bursts have at least two segments
    #[parameter(source = "Linux, bbr_min_tso_rate", range = 0.0..=1e12, unit = "bit/s", default = 1.2e6)]
    pub(super) burst_rate: f64,
    /// number of segments at the start of a connection that are not paced
    #[parameter(source = "Linux, tcp_update_skb_after_send, TCP_INIT_CWND", range = 0..=65_535, unit = "segments", default = 10)]
    pub(super) pacing_from: u64,
    /// seed of the first phases of ProbeBW, combined with the connection's seed
    #[parameter(source = "ours: Linux draws the phase, bbr_cycle_rand", range = 0..=u64::MAX, default = 0)]
    pub(super) seed: u64,
    #[embed]
    pub(super) undo: UndoParameters,
}
