//! BBR's constants. Each is a parameter with the draft's value as its default.

use dupack_tcp::time::Duration;

use crate::catalog::spec::{Context, Defaults, Kind, ParameterSpec, Parameters, Value};

const fn real(
    name: &'static str,
    doc: &'static str,
    source: &'static str,
    (min, max, unit): (f64, f64, &'static str),
    default: f64,
) -> ParameterSpec {
    ParameterSpec {
        name,
        doc,
        source,
        kind: Kind::Real { min, max, unit },
        default: Defaults::same(Value::Real(default)),
    }
}

const fn whole(
    name: &'static str,
    doc: &'static str,
    source: &'static str,
    (min, max, unit): (u64, u64, &'static str),
    default: u64,
) -> ParameterSpec {
    ParameterSpec {
        name,
        doc,
        source,
        kind: Kind::Integer { min, max, unit },
        default: Defaults::same(Value::Integer(default)),
    }
}

const fn time(
    name: &'static str,
    doc: &'static str,
    source: &'static str,
    default: Duration,
) -> ParameterSpec {
    ParameterSpec {
        name,
        doc,
        source,
        kind: Kind::Time,
        default: Defaults::same(Value::Time(default)),
    }
}

const GAIN: (f64, f64, &str) = (0.1, 10.0, "");
const SHARE: (f64, f64, &str) = (0.0, 1.0, "");
const ROUNDS: (u64, u64, &str) = (1, 1000, "round trips");

const STARTUP_PACING_GAIN: ParameterSpec = real(
    "startup_pacing_gain",
    "pace in Startup, as a multiple of the bandwidth (StartupPacingGain)",
    "draft-ietf-ccwg-bbr §2.5",
    GAIN,
    2.77,
);
const DRAIN_PACING_GAIN: ParameterSpec = real(
    "drain_pacing_gain",
    "pace in Drain, as a multiple of the bandwidth (DrainPacingGain)",
    "draft-ietf-ccwg-bbr §2.5, §5.3.2",
    GAIN,
    0.5,
);
const DOWN_PACING_GAIN: ParameterSpec = real(
    "down_pacing_gain",
    "pace in ProbeBW_DOWN, as a multiple of the bandwidth",
    "draft-ietf-ccwg-bbr §5.3.3.1",
    GAIN,
    0.9,
);
const UP_PACING_GAIN: ParameterSpec = real(
    "up_pacing_gain",
    "pace in ProbeBW_UP, as a multiple of the bandwidth",
    "draft-ietf-ccwg-bbr §5.3.3.5",
    GAIN,
    1.25,
);
const CWND_GAIN: ParameterSpec = real(
    "cwnd_gain",
    "window as a multiple of the bandwidth-delay product (DefaultCwndGain)",
    "draft-ietf-ccwg-bbr §2.6",
    GAIN,
    2.0,
);
const UP_CWND_GAIN: ParameterSpec = real(
    "up_cwnd_gain",
    "the same in ProbeBW_UP",
    "draft-ietf-ccwg-bbr §5.3.3.5",
    GAIN,
    2.25,
);
const PROBE_RTT_CWND_GAIN: ParameterSpec = real(
    "probe_rtt_cwnd_gain",
    "the same in ProbeRTT (ProbeRTTCwndGain)",
    "draft-ietf-ccwg-bbr §2.16.2",
    GAIN,
    0.5,
);
const PACING_MARGIN: ParameterSpec = real(
    "pacing_margin",
    "share by which the pace stays below the bandwidth (PacingMarginPercent)",
    "draft-ietf-ccwg-bbr §2.5",
    (0.0, 0.5, ""),
    0.01,
);
const LOSS_THRESH: ParameterSpec = real(
    "loss_thresh",
    "share lost in a round trip that ends a probe for bandwidth (LossThresh)",
    "draft-ietf-ccwg-bbr §2.8",
    (0.0, 0.9, ""),
    0.02,
);
const BETA: ParameterSpec = real(
    "beta",
    "the most that a round trip with loss takes off the model, as a factor (Beta)",
    "draft-ietf-ccwg-bbr §2.8",
    SHARE,
    0.7,
);
const HEADROOM: ParameterSpec = real(
    "headroom",
    "share of inflight_longterm left free for others (Headroom)",
    "draft-ietf-ccwg-bbr §2.8",
    SHARE,
    0.15,
);
const MIN_PIPE_CWND: ParameterSpec = whole(
    "min_pipe_cwnd",
    "least window that the model sets (MinPipeCwnd)",
    "draft-ietf-ccwg-bbr §2.8, §5.6.4.3",
    (1, 1000, "segments"),
    4,
);
const FULL_BW_GROWTH: ParameterSpec = real(
    "full_bw_growth",
    "growth of the delivery rate in a round trip that shows that the pipe is not full",
    "draft-ietf-ccwg-bbr §5.3.1.2",
    (1.0, 10.0, ""),
    1.25,
);
const FULL_BW_ROUNDS: ParameterSpec = whole(
    "full_bw_rounds",
    "round trips without that growth that show that it is",
    "draft-ietf-ccwg-bbr §5.3.1.2",
    ROUNDS,
    3,
);
const FULL_LOSS_COUNT: ParameterSpec = whole(
    "full_loss_count",
    "separate ranges lost in a round trip that end Startup (StartupFullLossCnt)",
    "draft-ietf-ccwg-bbr §5.3.1.3",
    (1, 1000, "ranges"),
    6,
);
const DRAIN_ROUNDS: ParameterSpec = whole(
    "drain_rounds",
    "round trips after which Drain ends, drained or not",
    "draft-ietf-ccwg-bbr §5.3.2",
    ROUNDS,
    3,
);
const MAX_BW_CYCLES: ParameterSpec = whole(
    "max_bw_cycles",
    "window of the bandwidth's max filter (MaxBwFilterLen)",
    "draft-ietf-ccwg-bbr §2.11",
    (1, 1000, "ProbeBW cycles"),
    2,
);
const EXTRA_ACKED_ROUNDS: ParameterSpec = whole(
    "extra_acked_rounds",
    "window of the aggregation's max filter after Startup (ExtraAckedFilterLen)",
    "draft-ietf-ccwg-bbr §2.12",
    ROUNDS,
    10,
);
const MIN_RTT_WINDOW: ParameterSpec = time(
    "min_rtt_window",
    "window of the min filter of the round-trip time (MinRTTFilterLen)",
    "draft-ietf-ccwg-bbr §2.16.1",
    Duration::from_secs(10),
);
const PROBE_RTT_INTERVAL: ParameterSpec = time(
    "probe_rtt_interval",
    "age of the least round-trip time that calls for ProbeRTT (ProbeRTTInterval)",
    "draft-ietf-ccwg-bbr §2.16.2",
    Duration::from_secs(5),
);
const PROBE_RTT_DURATION: ParameterSpec = time(
    "probe_rtt_duration",
    "how long ProbeRTT holds the window low at least (ProbeRTTDuration)",
    "draft-ietf-ccwg-bbr §2.16.2",
    Duration::from_millis(200),
);
const PROBE_WAIT: ParameterSpec = time(
    "probe_wait",
    "least time between two probes for bandwidth",
    "draft-ietf-ccwg-bbr §5.3.3.8.3",
    Duration::from_secs(2),
);
const PROBE_WAIT_SPREAD: ParameterSpec = time(
    "probe_wait_spread",
    "up to how much is added to it, at random",
    "draft-ietf-ccwg-bbr §5.3.3.8.3",
    Duration::from_secs(1),
);
const PROBE_ROUNDS_MAX: ParameterSpec = whole(
    "probe_rounds_max",
    "round trips between two probes, at most; fewer if the window holds fewer segments",
    "draft-ietf-ccwg-bbr §5.3.3.8.3",
    ROUNDS,
    63,
);
const QUANTUM_TIME: ParameterSpec = time(
    "quantum_time",
    "time at the pace that a send quantum is worth",
    "draft-ietf-ccwg-bbr §5.6.3",
    Duration::from_millis(1),
);
const QUANTUM_MAX: ParameterSpec = whole(
    "quantum_max",
    "most bytes in a send quantum",
    "draft-ietf-ccwg-bbr §5.6.3",
    (1, 1 << 24, "bytes"),
    64 * 1024,
);
const QUANTUM_MIN: ParameterSpec = whole(
    "quantum_min",
    "least segments in a send quantum",
    "draft-ietf-ccwg-bbr §5.6.3",
    (1, 1000, "segments"),
    2,
);
const OFFLOAD_QUANTA: ParameterSpec = whole(
    "offload_quanta",
    "send quanta that the window has room for at least (offload_budget)",
    "draft-ietf-ccwg-bbr §5.5.8.1",
    (0, 1000, "quanta"),
    3,
);
const SEED: ParameterSpec = whole(
    "seed",
    "another seed gives other waits between probes",
    "ours: the draft asks for random waits and leaves the generator open",
    (0, u64::MAX, ""),
    0,
);

/// All of them, as the catalog has them.
pub(super) const ALL: &[ParameterSpec] = &[
    STARTUP_PACING_GAIN,
    DRAIN_PACING_GAIN,
    DOWN_PACING_GAIN,
    UP_PACING_GAIN,
    CWND_GAIN,
    UP_CWND_GAIN,
    PROBE_RTT_CWND_GAIN,
    PACING_MARGIN,
    LOSS_THRESH,
    BETA,
    HEADROOM,
    MIN_PIPE_CWND,
    FULL_BW_GROWTH,
    FULL_BW_ROUNDS,
    FULL_LOSS_COUNT,
    DRAIN_ROUNDS,
    MAX_BW_CYCLES,
    EXTRA_ACKED_ROUNDS,
    MIN_RTT_WINDOW,
    PROBE_RTT_INTERVAL,
    PROBE_RTT_DURATION,
    PROBE_WAIT,
    PROBE_WAIT_SPREAD,
    PROBE_ROUNDS_MAX,
    QUANTUM_TIME,
    QUANTUM_MAX,
    QUANTUM_MIN,
    OFFLOAD_QUANTA,
    SEED,
];

/// Their values. Volumes are in bytes.
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
    pub(super) fn new(parameters: &Parameters, context: &Context) -> Self {
        let smss = f64::from(context.smss);
        let real = |spec: ParameterSpec| parameters.real(spec.name);
        let whole = |spec: ParameterSpec| parameters.integer(spec.name);
        let time = |spec: ParameterSpec| parameters.time(spec.name);
        Self {
            smss,
            startup_pacing_gain: real(STARTUP_PACING_GAIN),
            drain_pacing_gain: real(DRAIN_PACING_GAIN),
            down_pacing_gain: real(DOWN_PACING_GAIN),
            up_pacing_gain: real(UP_PACING_GAIN),
            cwnd_gain: real(CWND_GAIN),
            up_cwnd_gain: real(UP_CWND_GAIN),
            probe_rtt_cwnd_gain: real(PROBE_RTT_CWND_GAIN),
            pacing_margin: real(PACING_MARGIN),
            loss_thresh: real(LOSS_THRESH),
            beta: real(BETA),
            headroom: real(HEADROOM),
            min_pipe_cwnd: whole(MIN_PIPE_CWND) as f64 * smss,
            full_bw_growth: real(FULL_BW_GROWTH),
            full_bw_rounds: whole(FULL_BW_ROUNDS),
            full_loss_count: whole(FULL_LOSS_COUNT),
            drain_rounds: whole(DRAIN_ROUNDS),
            max_bw_cycles: whole(MAX_BW_CYCLES),
            extra_acked_rounds: whole(EXTRA_ACKED_ROUNDS),
            min_rtt_window: time(MIN_RTT_WINDOW),
            probe_rtt_interval: time(PROBE_RTT_INTERVAL),
            probe_rtt_duration: time(PROBE_RTT_DURATION),
            probe_wait: time(PROBE_WAIT),
            probe_wait_spread: time(PROBE_WAIT_SPREAD),
            probe_rounds_max: whole(PROBE_ROUNDS_MAX),
            quantum_time: time(QUANTUM_TIME),
            quantum_max: whole(QUANTUM_MAX) as f64,
            quantum_min: whole(QUANTUM_MIN) as f64 * smss,
            offload_quanta: whole(OFFLOAD_QUANTA) as f64,
            seed: whole(SEED),
        }
    }
}
