//! Orca's observation: seven numbers for each of the last ten reports.
//!
//! Source: Abbasloo, Yen, Chao, "Classic Meets Modern: A Pragmatic Learning-Based Congestion Control for the Internet",
//! SIGCOMM 2020. The paper was not available to us, so this file follows the authors' code (github.com/Soheil-ab/Orca,
//! `rl-module/envwrapper.py` and `params.json`), which builds the vector `state`.
//!
//! ```text
//! 1  thr / thr_max              4  acknowledged packets / cwnd      6  RTTmin / SRTT
//! 2  min(pace / thr_max, 10)    5  time since the last report       7  min(1.25 · RTTmin / SRTT, 1)
//! 3  5 · loss rate / thr_max
//! ```
//!
//! Our interpretation:
//! - `thr` is the data delivered in the interval, per second; the kernel of the code averages Linux's delivery rate
//!   samples.
//! - The fourth number counts ACKs; `cnt` in the code is the number of its samples, one per ACK.
//! - The loss rate counts retransmissions; the kernel of the code counts segments marked as lost (`tp->lost`).
//! - `thr_max` is the maximum over the episode; in the code, it is the maximum over a run.

use super::Observation;
use crate::feature::Feature;

/// Number of reports in an observation (`rec_dim`).
const HISTORY: usize = 10;

pub(super) fn observation() -> Observation {
    let features = [
        Feature::ThroughputShare,
        Feature::PaceShare,
        Feature::LossShare,
        Feature::AcksPerWindow,
        Feature::Interval,
        Feature::RttShare,
        Feature::DelayMargin,
    ];
    Observation::new(&features, HISTORY)
}
