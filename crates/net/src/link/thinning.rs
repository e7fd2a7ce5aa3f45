//! ACK thinning: a link drops ACKs on purpose, so that a narrow reverse path carries fewer of them.
//!
//! Two methods are common on asymmetric links (RFC 3449 names both: thinning by a router on the path, and filtering in
//! the queue of the link):
//!
//! * one of every n ACKs of a flow passes, independently of the queue ([`Thinning`], in this file);
//! * a waiting ACK is dropped when a later ACK of the same flow arrives
//!   ([`AckFilter`](super::queue::ack_filter::AckFilter), in the queue).
//!
//! Both methods pass ACKs that carry more information than the acknowledged data ([`Offer::acknowledges`]): SACK
//! blocks, an echo of congestion, or a repetition of the previous ACK, because senders count duplicate ACKs. A link
//! does not wait for a possible later ACK. It may therefore drop the last ACKs of a burst, and then the sender's timer
//! fires.

use std::collections::BTreeMap;

use dupack_tcp::seq::SeqNumber;

use super::offer::Offer;
use crate::ids::FlowId;

/// Passes one of every n ACKs of a flow.
#[derive(Clone, Debug)]
pub(super) struct Thinning {
    every: u32,
    flows: BTreeMap<FlowId, Flow>,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Sequence number that the last ACK acknowledged.
    last: SeqNumber,
    /// Number of ACKs since the last ACK that passed, including that ACK.
    since: u32,
}

impl Thinning {
    pub(super) const fn new(every: u32) -> Self {
        Self {
            every,
            flows: BTreeMap::new(),
        }
    }

    /// Returns `true` if the packet is an ACK that must be dropped.
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

/// Returns `true` if an ACK of `later` contains all information of an ACK of `earlier`, and acknowledges more.
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
    fn one_of_three_acks_of_each_flow_passes() {
        let mut thinning = Thinning::new(3);
        let dropped: Vec<bool> = (0..7).map(|n| thinning.drops(&ack(0, n * 100))).collect();
        assert_eq!(dropped, [false, true, true, false, true, true, false]);
        assert!(
            !thinning.drops(&ack(1, 100)),
            "the first ACK of another flow"
        );
        assert!(thinning.drops(&ack(0, 800)));
    }

    #[test]
    fn acks_with_more_information_and_duplicates_pass() {
        let mut thinning = Thinning::new(1000);
        assert!(!thinning.drops(&ack(0, u32::MAX - 50)));
        assert!(thinning.drops(&ack(0, 49)), "sequence numbers wrap");
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
