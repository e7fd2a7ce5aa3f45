//! Parameters of managed queues and token buckets, in tables next to the key `queue`.
//!
//! The defaults of each struct are those of the RFC, as in `dupack-net`.

use dupack_net::link::{
    CakeConfig, Capable, CoDelConfig, Discipline, DualPi2Config, DualScheduler, FqCoDelConfig,
    Isolation, PieConfig, PieDelay, PieSpread, TokenBucketConfig,
};
use dupack_net::units::BitRate;
use dupack_tcp::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link::{Direction, LinkOptions, QueueKind, RedOptions};
use crate::units::{ByteCount, Delay, Probability, Rate};

/// Parameters of CoDel (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CoDelOptions {
    /// Acceptable queueing delay.
    pub target: Delay,
    /// Time for which the target must be exceeded before the first drop.
    pub interval: Delay,
    /// Number of waiting bytes up to which no packet is dropped.
    pub mtu: ByteCount,
    /// Marks packets of flows that use ECN instead of dropping them.
    pub ecn: bool,
    /// Queueing delay above which every packet with ECT(1) is marked. Off by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l4s_threshold: Option<Delay>,
}

/// Parameters of FQ-CoDel (RFC 8290): the parameters of CoDel and of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCoDelOptions {
    /// Acceptable queueing delay.
    pub target: Delay,
    /// Time for which the target must be exceeded before the first drop.
    pub interval: Delay,
    /// Number of waiting bytes of a flow up to which no packet of the flow is dropped.
    pub mtu: ByteCount,
    /// Marks packets of flows that use ECN instead of dropping them.
    pub ecn: bool,
    /// Queueing delay above which every packet with ECT(1) is marked. Off by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l4s_threshold: Option<Delay>,
    /// Bytes that a flow may send per turn.
    pub quantum: ByteCount,
    /// Number of queues to which flows are hashed.
    pub flows: u32,
    /// Maximum number of packets that are dropped at once, from the flow with the most bytes, when the buffer is full.
    pub drop_batch: u32,
}

/// Parameters of PIE (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PieOptions {
    /// Target of the queueing delay.
    pub target: Delay,
    /// Interval between updates of the drop probability.
    pub update: Delay,
    /// Weight of the excess over the target, per second.
    pub alpha: f64,
    /// Weight of the growth of the queueing delay, per second.
    pub beta: f64,
    /// Time for which no packet is dropped after the queueing delay was short.
    pub max_burst: Delay,
    /// Mean size of a packet. No packet is dropped while at most two packets of this size wait.
    pub mean_packet: ByteCount,
    /// Marks packets of flows that use ECN instead of dropping them.
    pub ecn: bool,
    /// Drop probability above which packets of flows that use ECN are dropped instead of marked.
    pub mark_below: Probability,
    /// Estimates the queueing delay from the departure rate, measured over this many bytes. By default the delay is
    /// taken from timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub departure_rate: Option<ByteCount>,
    /// Spaces drops more evenly (derandomisation, RFC 8033 §5.4).
    pub derandomised: bool,
    /// Maximum step of a drop probability above 10 % in one update (2 % in RFC 8033 §5.5). Unbounded by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<Probability>,
}

/// Parameters of DualPI2 (RFC 9332, Appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2Options {
    /// Target of the queueing delay of classic packets.
    pub target: Delay,
    /// Maximum expected round-trip time, which determines the gains.
    pub rtt_max: Delay,
    /// Interval between updates of the probability.
    pub update: Delay,
    /// Coupling factor: for L4S packets, the base probability is multiplied by this factor.
    pub coupling: f64,
    /// Queueing delay above which L4S packets are marked.
    pub min_th: Delay,
    /// Additional queueing delay at which all L4S packets are marked. Zero makes the ramp a step.
    pub range: Delay,
    /// The ramp marks nothing in an L4S queue of at most this many packets.
    pub th_len: u32,
    /// Minimum free space in the buffer for a packet to be accepted.
    pub mtu: ByteCount,
    /// Reciprocal of the classic queue's share of the bytes while both queues are backlogged.
    pub classic_one_in: u32,
    /// Time-shifted FIFO instead of the fixed share: the packet that has waited longest is sent, where this time (50 ms
    /// in the RFC) is added to the waiting time of L4S packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift: Option<Delay>,
}

/// Parameters of the CAKE-like queue (Høiland-Jørgensen et al., LANMAN 2018).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CakeOptions {
    /// Rate of the shaper, which allows no bursts. Without this rate, only the rate of the link limits the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Bytes that the shaper adds to each packet.
    pub overhead: ByteCount,
    /// Acceptable queueing delay.
    pub target: Delay,
    /// Time for which the target must be exceeded before the first drop.
    pub interval: Delay,
    /// Marks packets of flows that use ECN instead of dropping them.
    pub ecn: bool,
    /// Fairness among hosts or among flows.
    pub fair: Fairness,
    /// Bytes that a queue may send per turn.
    pub quantum: ByteCount,
    /// Number of queues to which flows are hashed.
    pub lines: u32,
    /// Number of queues in a set. A hash selects the set, and the flow takes a free queue of the set.
    pub ways: u32,
    /// Maximum size of a packet, in bytes on the link.
    pub mtu: ByteCount,
}

/// Fairness of the CAKE-like queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fairness {
    /// Fairness among hosts, then among the flows of each host. On a `[path]`, the flows of one `[[flows]]` group share
    /// a host on either side. In a topology, the nodes are the hosts.
    Hosts,
    /// Fairness among flows.
    Flows,
}

/// Token bucket, for `queue = "policer"` or `queue = "shaper"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBucketOptions {
    /// Rate at which the bucket fills.
    pub rate: Rate,
    /// Size of the bucket.
    pub burst: ByteCount,
}

const fn delay(duration: Duration) -> Delay {
    Delay::from_nanos(duration.as_nanos())
}

const fn span(delay: Delay) -> Duration {
    Duration::from_nanos(delay.as_nanos())
}

const fn bytes(bytes: u32) -> ByteCount {
    ByteCount::from_bytes(bytes as u64)
}

/// Converts to the byte count of `dupack-net`, and saturates at its maximum.
fn counted(bytes: ByteCount) -> u32 {
    u32::try_from(bytes.as_bytes()).unwrap_or(u32::MAX)
}

const fn capable(ecn: bool) -> Capable {
    if ecn { Capable::Mark } else { Capable::Drop }
}

impl Default for CoDelOptions {
    fn default() -> Self {
        let rfc = CoDelConfig::RFC;
        Self {
            target: delay(rfc.target),
            interval: delay(rfc.interval),
            mtu: bytes(rfc.mtu_bytes),
            ecn: rfc.capable == Capable::Mark,
            l4s_threshold: rfc.l4s_threshold.map(delay),
        }
    }
}

impl Default for FqCoDelOptions {
    fn default() -> Self {
        let rfc = FqCoDelConfig::RFC;
        Self {
            target: delay(rfc.codel.target),
            interval: delay(rfc.codel.interval),
            mtu: bytes(rfc.codel.mtu_bytes),
            ecn: rfc.codel.capable == Capable::Mark,
            l4s_threshold: rfc.codel.l4s_threshold.map(delay),
            quantum: bytes(rfc.quantum_bytes),
            flows: rfc.flows,
            drop_batch: rfc.drop_batch,
        }
    }
}

impl Default for PieOptions {
    fn default() -> Self {
        let rfc = PieConfig::RFC;
        Self {
            target: delay(rfc.target),
            update: delay(rfc.update),
            alpha: rfc.alpha_hz,
            beta: rfc.beta_hz,
            max_burst: delay(rfc.max_burst),
            mean_packet: bytes(rfc.mean_packet_bytes),
            ecn: rfc.capable == Capable::Mark,
            mark_below: Probability::new(rfc.mark_below).unwrap_or_default(),
            departure_rate: None,
            derandomised: false,
            cap: None,
        }
    }
}

impl Default for DualPi2Options {
    fn default() -> Self {
        let rfc = DualPi2Config::RFC;
        Self {
            target: delay(rfc.target),
            rtt_max: delay(rfc.rtt_max),
            update: delay(rfc.update),
            coupling: rfc.coupling,
            min_th: delay(rfc.min_th),
            range: delay(rfc.range),
            th_len: rfc.th_len_packets,
            mtu: bytes(rfc.mtu_bytes),
            classic_one_in: 16,
            shift: None,
        }
    }
}

impl CoDelOptions {
    fn config(&self) -> CoDelConfig {
        let mut config = CoDelConfig::RFC;
        config.target = span(self.target);
        config.interval = span(self.interval);
        config.mtu_bytes = counted(self.mtu);
        config.capable = capable(self.ecn);
        config.l4s_threshold = self.l4s_threshold.map(span);
        config
    }
}

impl FqCoDelOptions {
    fn config(&self) -> FqCoDelConfig {
        let codel = CoDelOptions {
            target: self.target,
            interval: self.interval,
            mtu: self.mtu,
            ecn: self.ecn,
            l4s_threshold: self.l4s_threshold,
        };
        let mut config = FqCoDelConfig::RFC;
        config.codel = codel.config();
        config.quantum_bytes = counted(self.quantum);
        config.flows = self.flows;
        config.drop_batch = self.drop_batch;
        config
    }
}

impl PieOptions {
    fn config(&self) -> PieConfig {
        let mut config = PieConfig::RFC;
        config.target = span(self.target);
        config.update = span(self.update);
        config.alpha_hz = self.alpha;
        config.beta_hz = self.beta;
        config.max_burst = span(self.max_burst);
        config.mean_packet_bytes = counted(self.mean_packet);
        config.capable = capable(self.ecn);
        config.mark_below = self.mark_below.as_fraction();
        if let Some(threshold) = self.departure_rate {
            config.delay = PieDelay::DepartureRate {
                threshold_bytes: counted(threshold),
            };
        }
        if self.derandomised {
            config.spread = PieSpread::Derandomised;
        }
        config.cap = self.cap.map(Probability::as_fraction);
        config
    }
}

impl DualPi2Options {
    fn config(&self) -> DualPi2Config {
        let mut config = DualPi2Config::RFC;
        config.target = span(self.target);
        config.rtt_max = span(self.rtt_max);
        config.update = span(self.update);
        config.coupling = self.coupling;
        config.min_th = span(self.min_th);
        config.range = span(self.range);
        config.th_len_packets = self.th_len;
        config.mtu_bytes = counted(self.mtu);
        config.scheduler = match self.shift {
            Some(shift) => DualScheduler::TimeShifted { shift: span(shift) },
            None => DualScheduler::Weighted {
                one_in: self.classic_one_in,
            },
        };
        config
    }
}

impl Default for CakeOptions {
    fn default() -> Self {
        let paper = CakeConfig::PAPER;
        Self {
            rate: None,
            overhead: bytes(paper.overhead_bytes),
            target: delay(paper.cobalt.target),
            interval: delay(paper.cobalt.interval),
            ecn: paper.cobalt.capable == Capable::Mark,
            fair: Fairness::Hosts,
            quantum: bytes(paper.quantum_bytes),
            lines: paper.lines,
            ways: paper.ways,
            mtu: bytes(paper.mtu_bytes),
        }
    }
}

impl CakeOptions {
    fn config(&self) -> CakeConfig {
        let mut config = CakeConfig::PAPER;
        config.rate = self
            .rate
            .and_then(|rate| BitRate::new(rate.as_bits_per_second()));
        config.overhead_bytes = counted(self.overhead);
        config.cobalt.target = span(self.target);
        config.cobalt.interval = span(self.interval);
        config.cobalt.capable = capable(self.ecn);
        config.isolation = match self.fair {
            Fairness::Hosts => Isolation::Hosts,
            Fairness::Flows => Isolation::Flows,
        };
        config.quantum_bytes = counted(self.quantum);
        config.lines = self.lines;
        config.ways = self.ways;
        config.mtu_bytes = counted(self.mtu);
        config
    }

    /// Returns `true` if the shaper has a rate of zero.
    pub(crate) fn is_shut(&self) -> bool {
        self.rate.is_some_and(|rate| rate.as_bits_per_second() == 0)
    }
}

impl TokenBucketOptions {
    fn config(&self) -> Option<TokenBucketConfig> {
        let rate = BitRate::new(self.rate.as_bits_per_second())?;
        Some(TokenBucketConfig::new(rate, counted(self.burst)))
    }
}

/// Queue options of one direction of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Queueing {
    pub(crate) kind: QueueKind,
    pub(crate) red: Option<RedOptions>,
    codel: Option<CoDelOptions>,
    fq_codel: Option<FqCoDelOptions>,
    pie: Option<PieOptions>,
    dualpi2: Option<DualPi2Options>,
    cake: Option<CakeOptions>,
    pub(crate) token_bucket: Option<TokenBucketOptions>,
}

impl LinkOptions {
    /// Returns the queue options of the forward direction.
    pub(crate) const fn queueing(&self) -> Queueing {
        Queueing {
            kind: self.queue,
            red: self.red,
            codel: self.codel,
            fq_codel: self.fq_codel,
            pie: self.pie,
            dualpi2: self.dualpi2,
            cake: self.cake,
            token_bucket: self.token_bucket,
        }
    }
}

impl Direction {
    /// Returns the queue options.
    pub(crate) const fn queueing(&self) -> Queueing {
        Queueing {
            kind: self.queue,
            red: self.red,
            codel: self.codel,
            fq_codel: self.fq_codel,
            pie: self.pie,
            dualpi2: self.dualpi2,
            cake: self.cake,
            token_bucket: self.token_bucket,
        }
    }
}

impl Queueing {
    /// Returns `true` if a shaper has a rate of zero.
    pub(crate) fn is_shut(&self) -> bool {
        self.cake.is_some_and(|cake| cake.is_shut())
    }

    /// Returns the keys of the tables of managed queues and token buckets, and `true` for those that are present.
    pub(crate) const fn tables(&self) -> [(&'static str, bool); 6] {
        [
            ("codel", self.codel.is_some()),
            ("fq_codel", self.fq_codel.is_some()),
            ("pie", self.pie.is_some()),
            ("dualpi2", self.dualpi2.is_some()),
            ("cake", self.cake.is_some()),
            ("token_bucket", self.token_bucket.is_some()),
        ]
    }

    /// Returns the managed queue or token bucket that `queue` names, with its parameters. `None` for the other
    /// disciplines, and for a token bucket without a rate.
    pub(crate) fn managed(&self) -> Option<Discipline> {
        match self.kind {
            QueueKind::DropTail | QueueKind::Red => None,
            QueueKind::CoDel => Some(Discipline::CoDel(self.codel.unwrap_or_default().config())),
            QueueKind::FqCoDel => {
                let options = self.fq_codel.unwrap_or_default();
                Some(Discipline::FqCoDel(options.config()))
            }
            QueueKind::Pie => Some(Discipline::Pie(self.pie.unwrap_or_default().config())),
            QueueKind::DualPi2 => {
                let options = self.dualpi2.unwrap_or_default();
                Some(Discipline::DualPi2(options.config()))
            }
            QueueKind::Cake => Some(Discipline::Cake(self.cake.unwrap_or_default().config())),
            QueueKind::Policer => Some(Discipline::Policer(self.token_bucket?.config()?)),
            QueueKind::Shaper => Some(Discipline::Shaper(self.token_bucket?.config()?)),
        }
    }

    /// Returns the key of the table that `queue` reads, with all effective parameters and their defaults. `None` for
    /// RED, and for disciplines without such a table.
    pub(crate) fn managed_parameters(
        &self,
    ) -> Option<(&'static str, serde_json::Value, serde_json::Value)> {
        let both = match self.kind {
            QueueKind::DropTail | QueueKind::Red => return None,
            QueueKind::CoDel => effective(self.codel),
            QueueKind::FqCoDel => effective(self.fq_codel),
            QueueKind::Pie => effective(self.pie),
            QueueKind::DualPi2 => effective(self.dualpi2),
            QueueKind::Cake => effective(self.cake),
            QueueKind::Policer | QueueKind::Shaper => {
                let given = serde_json::to_value(self.token_bucket).unwrap_or_default();
                (given, serde_json::Value::Null)
            }
        };
        Some((self.kind.table()?, both.0, both.1))
    }
}

fn effective<T: Copy + Default + Serialize>(
    given: Option<T>,
) -> (serde_json::Value, serde_json::Value) {
    let value = |options: T| serde_json::to_value(options).unwrap_or_default();
    (value(given.unwrap_or_default()), value(T::default()))
}

impl QueueKind {
    /// Returns the name in experiment files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DropTail => "droptail",
            Self::Red => "red",
            Self::CoDel => "codel",
            Self::FqCoDel => "fq_codel",
            Self::Pie => "pie",
            Self::DualPi2 => "dualpi2",
            Self::Cake => "cake",
            Self::Policer => "policer",
            Self::Shaper => "shaper",
        }
    }

    /// Returns the key of the table with the parameters, if there is one.
    #[must_use]
    pub const fn table(self) -> Option<&'static str> {
        match self {
            Self::DropTail => None,
            Self::Policer | Self::Shaper => Some("token_bucket"),
            _ => Some(self.name()),
        }
    }
}
