//! Aurora's observation: three ratios that mean the same on every path, of the last ten intervals.
//!
//! Jay, Rotman, Godfrey, Schapira, Tamar, "A Deep Reinforcement Learning Perspective on Internet Congestion
//! Control", ICML 2019, and its authors' code (github.com/PCCproject/PCC-RL, `src/common/sender_obs.py`).
//!
//! ```text
//! latency gradient   d RTT / dt within the interval
//! latency ratio      mean RTT of the interval / least such mean of the connection
//! sending ratio      sent / acknowledged
//! history            k = 10 intervals
//! ```
//!
//! Readings:
//! - The gradient is the slope of a straight line through the samples, as PCC Vivace (NSDI 2018), from which the
//!   signal is, takes it. The authors' code has another: the mean of the second half of the samples less that of
//!   the first half, by the length of the interval; of a steady growth that is half of the slope.
//! - The sending ratio is 1 where nothing was acknowledged, as in the code. There a packet is taken off what was
//!   acknowledged, for the time before the first ACK of an interval; here it is not.
//! - What is sent and what is acknowledged in the interval is not the same data, as in the code.
//! - Bounds are the code's, but for the gradient: −10 to 10 instead of −1 to 10, as it falls as fast as it grows.

use super::Observation;
use crate::feature::Feature;

/// Intervals that are shown (§4.1; `--history-len`).
const HISTORY: usize = 10;

pub(super) fn observation() -> Observation {
    let features = [
        Feature::LatencyGradient,
        Feature::LatencyRatio,
        Feature::SendRatio,
    ];
    Observation::new(&features, HISTORY)
}
