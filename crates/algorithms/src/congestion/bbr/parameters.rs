//! BBR's constants. Each is a parameter with the draft's value as its default.

use dupack_tcp::time::Duration;

use crate::catalog::{Context, Parameters, Switch};
use crate::congestion::undo::UndoParameters;

/// BBR's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct BbrParameters {
    /// pacing rate in Startup, as a multiple of the bandwidth (StartupPacingGain)
    #[parameter(basic, source = "draft-ietf-ccwg-bbr §2.5", range = 0.1..=10.0, default = 2.77)]
    startup_pacing_gain: f64,
    /// pacing rate in Drain, as a multiple of the bandwidth (DrainPacingGain)
    #[parameter(source = "draft-ietf-ccwg-bbr §2.5, §5.3.2", range = 0.1..=10.0, default = 0.5)]
    drain_pacing_gain: f64,
    /// pacing rate in ProbeBW_DOWN, as a multiple of the bandwidth
    #[parameter(source = "draft-ietf-ccwg-bbr §5.3.3.1", range = 0.1..=10.0, default = 0.9)]
    down_pacing_gain: f64,
    /// pacing rate in ProbeBW_UP, as a multiple of the bandwidth
    #[parameter(source = "draft-ietf-ccwg-bbr §5.3.3.5", range = 0.1..=10.0, default = 1.25)]
    up_pacing_gain: f64,
    /// window as a multiple of the bandwidth-delay product (DefaultCwndGain)
    #[parameter(basic, source = "draft-ietf-ccwg-bbr §2.6", range = 0.1..=10.0, default = 2.0)]
    cwnd_gain: f64,
    /// window in ProbeBW_UP as a multiple of the bandwidth-delay product
    #[parameter(source = "draft-ietf-ccwg-bbr §5.3.3.5", range = 0.1..=10.0, default = 2.25)]
    up_cwnd_gain: f64,
    /// window in ProbeRTT as a multiple of the bandwidth-delay product (ProbeRTTCwndGain)
    #[parameter(source = "draft-ietf-ccwg-bbr §2.16.2", range = 0.1..=10.0, default = 0.5)]
    probe_rtt_cwnd_gain: f64,
    /// fraction by which the pacing rate stays below the bandwidth (PacingMarginPercent)
    #[parameter(source = "draft-ietf-ccwg-bbr §2.5", range = 0.0..=0.5, default = 0.01)]
    pacing_margin: f64,
    /// fraction lost in a round trip that ends a probe for bandwidth (LossThresh)
    #[parameter(basic, source = "draft-ietf-ccwg-bbr §2.8", range = 0.0..=0.9, default = 0.02)]
    loss_thresh: f64,
    /// minimum fraction of the short-term bounds that remains after a round trip with loss (Beta)
    #[parameter(basic, source = "draft-ietf-ccwg-bbr §2.8", range = 0.0..=1.0, default = 0.7)]
    beta: f64,
    /// fraction of inflight_longterm that is left to other flows (Headroom)
    #[parameter(basic, source = "draft-ietf-ccwg-bbr §2.8", range = 0.0..=1.0, default = 0.15)]
    headroom: f64,
    /// minimum window (MinPipeCwnd)
    #[parameter(
        source = "draft-ietf-ccwg-bbr §2.8, §5.6.4.3",
        range = 1..=1000,
        unit = "segments",
        default = 4,
    )]
    min_pipe_cwnd: u64,
    /// growth factor of the delivery rate per round trip below which the pipe may be full
    #[parameter(source = "draft-ietf-ccwg-bbr §5.3.1.2", range = 1.0..=10.0, default = 1.25)]
    full_bw_growth: f64,
    /// round trips without that growth after which the pipe is considered full
    #[parameter(
        source = "draft-ietf-ccwg-bbr §5.3.1.2",
        range = 1..=1000,
        unit = "round trips",
        default = 3,
    )]
    full_bw_rounds: u64,
    /// number of separate ranges lost in a round trip that ends Startup (StartupFullLossCnt)
    #[parameter(
        source = "draft-ietf-ccwg-bbr §5.3.1.3",
        range = 1..=1000,
        unit = "ranges",
        default = 6,
    )]
    full_loss_count: u64,
    /// round trips after which Drain ends even if the queue is not drained
    #[parameter(
        source = "draft-ietf-ccwg-bbr §5.3.2",
        range = 1..=1000,
        unit = "round trips",
        default = 3,
    )]
    drain_rounds: u64,
    /// window of the bandwidth's maximum filter (MaxBwFilterLen)
    #[parameter(
        source = "draft-ietf-ccwg-bbr §2.11",
        range = 1..=1000,
        unit = "ProbeBW cycles",
        default = 2,
    )]
    max_bw_cycles: u64,
    /// window of the aggregation's maximum filter after Startup (ExtraAckedFilterLen)
    #[parameter(
        source = "draft-ietf-ccwg-bbr §2.12",
        range = 1..=1000,
        unit = "round trips",
        default = 10,
    )]
    extra_acked_rounds: u64,
    /// window of the minimum filter of the round-trip time (MinRTTFilterLen)
    #[parameter(source = "draft-ietf-ccwg-bbr §2.16.1", default = Duration::from_secs(10))]
    min_rtt_window: Duration,
    /// age of the minimum round-trip time after which ProbeRTT begins (ProbeRTTInterval)
    #[parameter(source = "draft-ietf-ccwg-bbr §2.16.2", default = Duration::from_secs(5))]
    probe_rtt_interval: Duration,
    /// minimum duration of the low window in ProbeRTT (ProbeRTTDuration)
    #[parameter(source = "draft-ietf-ccwg-bbr §2.16.2", default = Duration::from_millis(200))]
    probe_rtt_duration: Duration,
    /// minimum time between two probes for bandwidth
    #[parameter(source = "draft-ietf-ccwg-bbr §5.3.3.8.3", default = Duration::from_secs(2))]
    probe_wait: Duration,
    /// maximum random addition to that time
    #[parameter(source = "draft-ietf-ccwg-bbr §5.3.3.8.3", default = Duration::from_secs(1))]
    probe_wait_spread: Duration,
    /// maximum number of round trips between two probes; fewer if the window has fewer segments
    #[parameter(
        source = "draft-ietf-ccwg-bbr §5.3.3.8.3",
        range = 1..=1000,
        unit = "round trips",
        default = 63,
    )]
    probe_rounds_max: u64,
    /// duration of a send quantum at the pacing rate
    #[parameter(source = "draft-ietf-ccwg-bbr §5.6.3", default = Duration::from_millis(1))]
    quantum_time: Duration,
    /// maximum size of a send quantum
    #[parameter(
        source = "draft-ietf-ccwg-bbr §5.6.3",
        range = 1..=1 << 24,
        unit = "bytes",
        default = 64 * 1024,
    )]
    quantum_max: u64,
    /// minimum size of a send quantum
    #[parameter(
        source = "draft-ietf-ccwg-bbr §5.6.3",
        range = 1..=1000,
        unit = "segments",
        default = 2,
    )]
    quantum_min: u64,
    /// minimum window, in send quanta (offload_budget)
    #[parameter(
        source = "draft-ietf-ccwg-bbr §5.5.8.1",
        range = 0..=1000,
        unit = "quanta",
        default = 3,
    )]
    offload_quanta: u64,
    /// seed of the waits between probes, combined with the connection's seed
    #[parameter(
        source = "ours: the draft asks for random waits and leaves the generator open",
        range = 0..=u64::MAX,
        default = 0,
    )]
    seed: u64,
    // BBR evaluates DSACKs itself (§5.5.11).
    #[embed(fix(undo_dsack = Switch::Off))]
    pub(super) undo: UndoParameters,
}

/// Values of the parameters. Volumes are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub smss: f64,
    pub startup_pacing_gain: f64,
    pub drain_pacing_gain: f64,
    pub down_pacing_gain: f64,
    pub up_pacing_gain: f64,
    pub cwnd_gain: f64,
    pub up_cwnd_gain: f64,
    pub probe_rtt_cwnd_gain: f64,
    pub pacing_margin: f64,
    pub loss_thresh: f64,
    pub beta: f64,
    pub headroom: f64,
    pub min_pipe_cwnd: f64,
    pub full_bw_growth: f64,
    pub full_bw_rounds: u64,
    pub full_loss_count: u64,
    pub drain_rounds: u64,
    pub max_bw_cycles: u64,
    pub extra_acked_rounds: u64,
    pub min_rtt_window: Duration,
    pub probe_rtt_interval: Duration,
    pub probe_rtt_duration: Duration,
    pub probe_wait: Duration,
    pub probe_wait_spread: Duration,
    pub probe_rounds_max: u64,
    pub quantum_time: Duration,
    pub quantum_max: f64,
    pub quantum_min: f64,
    pub offload_quanta: f64,
    pub seed: u64,
}

impl Constants {
    /// Changes the size of a full segment from `from` to `to` bytes.
    pub(super) fn resize(&mut self, from: u32, to: u32) {
        let ratio = f64::from(to) / f64::from(from);
        self.smss = f64::from(to);
        self.min_pipe_cwnd *= ratio;
        self.quantum_min *= ratio;
    }

    pub(super) fn new(parameters: &BbrParameters, context: &Context) -> Self {
        let smss = f64::from(context.smss);
        Self {
            smss,
            startup_pacing_gain: parameters.startup_pacing_gain,
            drain_pacing_gain: parameters.drain_pacing_gain,
            down_pacing_gain: parameters.down_pacing_gain,
            up_pacing_gain: parameters.up_pacing_gain,
            cwnd_gain: parameters.cwnd_gain,
            up_cwnd_gain: parameters.up_cwnd_gain,
            probe_rtt_cwnd_gain: parameters.probe_rtt_cwnd_gain,
            pacing_margin: parameters.pacing_margin,
            loss_thresh: parameters.loss_thresh,
            beta: parameters.beta,
            headroom: parameters.headroom,
            min_pipe_cwnd: parameters.min_pipe_cwnd as f64 * smss,
            full_bw_growth: parameters.full_bw_growth,
            full_bw_rounds: parameters.full_bw_rounds,
            full_loss_count: parameters.full_loss_count,
            drain_rounds: parameters.drain_rounds,
            max_bw_cycles: parameters.max_bw_cycles,
            extra_acked_rounds: parameters.extra_acked_rounds,
            min_rtt_window: parameters.min_rtt_window,
            probe_rtt_interval: parameters.probe_rtt_interval,
            probe_rtt_duration: parameters.probe_rtt_duration,
            probe_wait: parameters.probe_wait,
            probe_wait_spread: parameters.probe_wait_spread,
            probe_rounds_max: parameters.probe_rounds_max,
            quantum_time: parameters.quantum_time,
            quantum_max: parameters.quantum_max as f64,
            quantum_min: parameters.quantum_min as f64 * smss,
            offload_quanta: parameters.offload_quanta as f64,
            seed: parameters.seed ^ context.seed,
        }
    }
}
