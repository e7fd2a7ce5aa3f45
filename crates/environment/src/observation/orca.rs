//! Orca's observation: seven numbers of the last ten reports.
//!
//! Abbasloo, Yen, Chao, "Classic Meets Modern: A Pragmatic Learning-Based Congestion Control for the Internet",
//! SIGCOMM 2020. The text was not at hand: this follows its authors' code (github.com/Soheil-ab/Orca,
//! `rl-module/envwrapper.py` and `params.json`), as it builds the vector `state`.
//!
//! ```text
//! 1  thr / thr_max              4  acknowledged packets / cwnd      6  RTTmin / SRTT
//! 2  min(pace / thr_max, 10)    5  time since the last report       7  min(1.25 · RTTmin / SRTT, 1)
//! 3  5 · loss rate / thr_max
//! ```
//!
//! Readings:
//! - `thr` is what was delivered in the interval; the code's kernel takes the mean of Linux's delivery rate samples.
//! - The fourth counts ACKs; the code's `cnt` is the number of its samples, one for each ACK.
//! - The loss rate counts what was sent again; the code's kernel counts what is marked lost (`tp->lost`).
//! - `thr_max` is the most of the episode, as the code keeps it for a run.

use super::Observation;
use crate::feature::Feature;

/// Reports that are shown (`rec_dim`).
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
