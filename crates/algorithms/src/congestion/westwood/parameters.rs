//! Westwood's parameters and their sources.

use dupack_tcp::time::Duration;

use super::estimate::{Counting, Sampling};
use super::functions::Shape;
use crate::catalog::{Choice, Parameters};
use crate::congestion::aimd::{
    Basis, DecreaseParameters, Floor, IncreaseParameters, RepeatedTimeout,
};
use crate::congestion::pacing::PacingParameters;
use crate::congestion::undo::UndoParameters;

/// Westwood's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct WestwoodParameters {
    /// time constant of the bandwidth filter divided by its sampling time (τ/T)
    #[parameter(basic, source = "Westwood §II", range = 0.5..=1e6, unit = "ACK intervals", default = 10.0)]
    pub(super) tau: f64,
    /// sampling time of the bandwidth filter
    #[parameter(
        basic,
        source = "Westwood §II; footnote 2 leaves the other to further work",
        default = Sampling::Acks,
    )]
    pub(super) sampling: Sampling,
    /// time constant of the filter that uses the time between ACKs (sampling = time)
    #[parameter(
        source = "Westwood has none; the authors' ns-2 module has 1 s (filter_type_ 3)",
        default = Duration::from_secs(1),
    )]
    pub(super) time_constant: Duration,
    /// count, in the estimate, of an ACK that covers no more than duplicate ACKs have announced
    #[parameter(
        source = "Westwood §II.A as printed; the authors' ns-2 module, tcp-westwood.cc, has what the example requires; Linux has it as printed",
        default(rfc = Counting::Once, linux = Counting::Printed, ns2 = Counting::Once),
    )]
    pub(super) acked: Counting,
    /// maximum number of segments for which one ACK counts in the estimate
    #[parameter(
        source = "Westwood §II.A bounds nothing; the authors' ns-2 module bounds it to 2",
        range = 1..=65_535,
        unit = "segments",
        default = 65_535,
    )]
    pub(super) acked_limit: u64,
    /// tick of RTTmin, which is a number of whole ticks and at least one; 0s: exact
    #[parameter(
        source = "Westwood §II only refers to the timer's RTT; the authors' ns-2 module has that in ticks (tcpTick_)",
        default = Duration::ZERO,
    )]
    pub(super) rtt_tick: Duration,
    /// addition to the reduction factor a at 3 duplicate ACKs in slow start
    #[parameter(source = "Westwood §IV.A", range = 0.0..=1000.0, default = 0.25)]
    pub(super) step: f64,
    /// addition to the reduction factor a at a timeout in slow start
    #[parameter(source = "Westwood §IV.B", range = 0.0..=1000.0, default = 1.0)]
    pub(super) timeout_step: f64,
    /// maximum reduction factor a
    #[parameter(source = "Westwood §IV", range = 1.0..=1000.0, default = 4.0)]
    pub(super) a_max: f64,
    /// minimum slow start threshold after 3 duplicate ACKs
    #[parameter(
        source = "Westwood §III.A and §IV.A have none; the authors' ns-2 module has 2",
        range = 0..=65_535,
        unit = "segments",
        default = 0,
    )]
    pub(super) dup_ack_min_ssthresh: u64,
    // Without an estimate, the reduction of RFC 5681 is used.
    #[embed(
        change(min_ssthresh(
            doc = "least slow start threshold after a timeout",
            source = "Westwood §III.B",
        )),
        fix(
            basis = Basis::Flight,
            decrease = 0.5,
            mark_decrease = 0.0,
            floor = Floor::Both,
            repeated_timeout = RepeatedTimeout::Recompute,
        ),
    )]
    pub(super) decrease: DecreaseParameters,
    /// cwnd after 3 duplicate ACKs in congestion avoidance
    #[parameter(source = "Westwood §IV.A (lower); §III.A has set", default = CwndRule::Lower)]
    pub(super) cwnd: CwndRule,
    /// ssthresh after 3 duplicate ACKs in congestion avoidance
    #[parameter(source = "Westwood §III, §IV", default = Shape::Pipe)]
    pub(super) f1: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    pub(super) f1_gain: f64,
    /// ssthresh after 3 duplicate ACKs in slow start
    #[parameter(source = "Westwood §III, §IV", default = Shape::Reduced)]
    pub(super) f2: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    pub(super) f2_gain: f64,
    /// ssthresh after a timeout in congestion avoidance
    #[parameter(source = "Westwood §III, §IV", default = Shape::Pipe)]
    pub(super) f3: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    pub(super) f3_gain: f64,
    /// cwnd after a timeout in congestion avoidance
    #[parameter(source = "Westwood §III, §IV", default = Shape::Segment)]
    pub(super) f4: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    pub(super) f4_gain: f64,
    /// ssthresh after a timeout in slow start
    #[parameter(source = "Westwood §III, §IV", default = Shape::Reduced)]
    pub(super) f5: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    pub(super) f5_gain: f64,
    /// cwnd after a timeout in slow start
    #[parameter(source = "Westwood §III, §IV", default = Shape::Segment)]
    pub(super) f6: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    pub(super) f6_gain: f64,
    /// increase of ssthresh between losses
    #[parameter(source = "Westwood §IV.B leaves it to further work", default = Raise::Off)]
    pub(super) raise: Raise,
    /// round-trip time, divided by RTTmin, up to which the path counts as idle (raise = idle)
    #[parameter(source = "our reading", range = 1.0..=1000.0, default = 1.1)]
    pub(super) raise_rtt: f64,
    #[embed]
    pub(super) increase: IncreaseParameters,
    #[embed]
    pub(super) undo: UndoParameters,
    #[embed]
    pub(super) pacing: PacingParameters,
}

/// `cwnd` after 3 duplicate ACKs in congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum CwndRule {
    /// ssthresh, if it is smaller than cwnd
    Lower,
    /// ssthresh
    Set,
}

/// Increase of `ssthresh` between losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Raise {
    /// none
    Off,
    /// to BWE · RTTmin, while the round-trip time shows no queue
    Idle,
}
