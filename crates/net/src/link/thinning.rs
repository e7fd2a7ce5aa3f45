//! ACKs that a link drops on purpose, so that a narrow way back carries fewer of them.
//!
//! Two ways are common on asymmetric links (RFC 3449 names both kinds, as thinning by a router on the
//! way and as filtering in the queue of the link):
//!
//! * one of every n ACKs of a flow passes, whatever the queue ([`Thinning`], here);
//! * an ACK that still waits is dropped when a later one of its flow comes
//!   ([`AckFilter`](super::queue::ack_filter::AckFilter), in the queue).
//!
//! Both leave alone what says more than how far the data came: SACK blocks, an echo of congestion, and
//! an ACK that repeats the one before it, for a sender counts these ([`Offer::acknowledges`]). A link
//! does not wait and look whether another ACK comes: the last ACKs of a burst may be among the dropped,
//! and the sender's timer finds out.

use std::collections::BTreeMap;

use dupack_tcp::seq::SeqNumber;

use super::offer::Offer;
use crate::ids::FlowId;

/// Lets one of every n ACKs of a flow pass.
#[derive(Clone, Debug)]
pub(super) struct Thinning {
    every: u32,
    flows: BTreeMap<FlowId, Flow>,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// What the last ACK acknowledged.
    last: SeqNumber,
    /// ACKs since the last that passed, itself included.
    since: u32,
}

impl Thinning {
    pub(super) const fn new(every: u32) -> Self {
        Self {
            every,
            flows: BTreeMap::new(),
        }
    }

    /// Whether the packet is an ACK that does not pass.
    pub(super) fn drops(&mut self, packet: &Offer) -> bool {
        let Some(acknowledges) = packet.acknowledges else {
            return false;
        };
        let Some(flow) = self.flows.get_mut(&packet.flow) else {
            let first = Flow {
                last: acknowledges,
                since: 1,
            };
            self.flows.insert(packet.flow, first);
            return false;
        };
        if !supersedes(acknowledges, flow.last) {
            return false;
        }
        flow.last = acknowledges;
        let passes = flow.since >= self.every;
        flow.since = if passes { 1 } else { flow.since + 1 };
        !passes
    }
}

/// Whether an ACK up to `later` says all that one up to `earlier` does, and more.
pub(super) const fn supersedes(later: SeqNumber, earlier: SeqNumber) -> bool {
    (later.0.wrapping_sub(earlier.0) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(flow: u32, acknowledges: u32) -> Offer {
        Offer {
            flow: FlowId(flow),
            acknowledges: Some(SeqNumber(acknowledges)),
            ..Offer::default()
        }
    }

    #[test]
    fn one_of_three_of_each_flow_passes() {
        let mut thinning = Thinning::new(3);
        let dropped: Vec<bool> = (0..7).map(|n| thinning.drops(&ack(0, n * 100))).collect();
        assert_eq!(dropped, [false, true, true, false, true, true, false]);
        assert!(!thinning.drops(&ack(1, 100)), "the first of another flow");
        assert!(thinning.drops(&ack(0, 800)));
    }

    #[test]
    fn what_says_more_and_what_repeats_passes() {
        let mut thinning = Thinning::new(1000);
        assert!(!thinning.drops(&ack(0, u32::MAX - 50)));
        assert!(thinning.drops(&ack(0, 49)), "across the end of the numbers");
        let sacks = Offer {
            acknowledges: None,
            ..ack(0, 0)
        };
        for repeated in [ack(0, 49), ack(0, 49), sacks, ack(0, u32::MAX)] {
            assert!(!thinning.drops(&repeated), "{repeated:?}");
        }
        assert!(thinning.drops(&ack(0, 50)));
    }
}
