//! State of features that few receivers use. It is boxed so that other receivers stay small.

use alloc::boxed::Box;

use super::ReceiverConfig;
use super::bandwidth::Arrivals;
use super::marks::MarkCounts;
use super::timing::Timing;
use crate::options::{Ecn, MarkEcho};
use crate::segment::Ack;

/// State of adaptive ACKs, SACK compression, ECN other than the classic echo, and a window that follows the bandwidth.
#[derive(Clone, Debug)]
pub(super) struct Extras {
    pub(super) timing: Timing,
    /// Counters of Accurate ECN.
    pub(super) marks: Option<MarkCounts>,
    /// ACK for the data before a change between marked and unmarked data ([`MarkEcho::WhileMarked`]).
    pub(super) before_change: Option<Ack>,
    /// Bandwidth estimate for the window.
    pub(super) arrivals: Option<Arrivals>,
}

impl Extras {
    /// Returns the state that a receiver with this configuration needs, if any.
    pub(super) fn of(config: &ReceiverConfig) -> Option<Box<Self>> {
        let timing = Timing::of(config);
        let marks = (config.ecn == Ecn::Accurate).then(MarkCounts::default);
        let arrivals = config
            .bandwidth_window
            .map(|w| Arrivals::new(w, config.mss));
        let follows = config.ecn == Ecn::Classic && config.mark_echo == MarkEcho::WhileMarked;
        let any = timing.is_some() || marks.is_some() || arrivals.is_some();
        (any || follows).then(|| {
            Box::new(Self {
                timing: timing.unwrap_or_default(),
                marks,
                before_change: None,
                arrivals,
            })
        })
    }
}
