//! Parameters and a loss rule that several recoveries share.

use dupack_tcp::facts::{LossRule, RuleWords};

use crate::catalog::{Parameters, Switch};

/// Rule of enough sacked data above a segment (RFC 6675 §4, `IsLost`).
pub const SACKED_ABOVE: LossRule = LossRule::new(&RuleWords {
    name: "sacked",
    meaning: "enough sacked above",
});

/// Duplicate ACK threshold of the recoveries that count duplicate ACKs.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct DupThreshold {
    /// number of duplicate ACKs (or their equivalent) that shows a loss
    #[parameter(basic, source = "RFC 5681 §3.2", range = 1..=1000, unit = "ACKs", default = 3)]
    pub dup_threshold: u32,
}

/// Limited transmit of the recoveries that count duplicate ACKs.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct LimitedTransmit {
    /// one new segment for each of the first two duplicate ACKs
    #[parameter(basic, source = "RFC 3042", default = Switch::On)]
    pub limited_transmit: Switch,
}
