//! Aurora's observation: three ratios for each of the last ten intervals. The ratios are comparable between paths.
//!
//! Source: Jay, Rotman, Godfrey, Schapira, Tamar, "A Deep Reinforcement Learning Perspective on Internet Congestion
//! Control", ICML 2019, and the authors' code (github.com/PCCproject/PCC-RL, `src/common/sender_obs.py`).
//!
//! ```text
//! latency gradient   d RTT / dt within the interval
//! latency ratio      mean RTT of the interval / minimum of these means over the connection
//! sending ratio      sent / acknowledged
//! history            k = 10 intervals
//! ```
//!
//! Our interpretation:
//! - The gradient is the slope of a straight line through the samples, as in PCC Vivace (NSDI 2018), which introduced
//!   this signal. The authors' code computes a different value: the mean of the second half of the samples minus the mean
//!   of the first half, divided by the length of the interval. For steady growth, this is half of the slope.
//! - The sending ratio is 1 if no data was acknowledged, as in the code. The code subtracts one packet from the number of
//!   acknowledged packets, for the time before the first ACK of an interval; we do not.
//! - The data sent in an interval is not the data acknowledged in the interval, as in the code.
//! - The bounds are those of the code, except for the gradient: −10 to 10 instead of −1 to 10, because the round-trip time
//!   can fall as fast as it grows.

use super::Observation;
use crate::feature::Feature;

/// Number of intervals in an observation (§4.1; `--history-len`).
const HISTORY: usize = 10;

pub(super) fn observation() -> Observation {
    let features = [
        Feature::LatencyGradient,
        Feature::LatencyRatio,
        Feature::SendRatio,
    ];
    Observation::new(&features, HISTORY)
}
