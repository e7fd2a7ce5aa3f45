//! FIFO with ACK filtering (RFC 3449): an ACK removes earlier ACKs of the same flow from the queue if it contains all
//! of their information. CAKE does the same, with more exceptions.
//!
//! The later ACK is appended at the end of the queue, so it overtakes no packet. Of the plain ACKs of a flow, only
//! those for the highest acknowledged sequence number wait, regardless of the data rate; duplicate ACKs are kept.

use dupack_tcp::time::Instant;

use super::store::{Line, Store, Waiting};
use super::{Fallout, Manage};
use crate::link::config::QueueLimit;
use crate::link::counters::DropCause;
use crate::link::offer::Offer;
use crate::link::thinning::supersedes;

/// A queue of packets in which later ACKs replace earlier ones.
#[derive(Clone, Debug)]
pub(in crate::link) struct AckFilter {
    store: Store,
    line: Line,
}

impl AckFilter {
    pub(super) fn new(limit: QueueLimit) -> Self {
        Self {
            store: Store::new(limit),
            line: Line::default(),
        }
    }
}

/// Returns `true` if `later` makes `earlier` redundant.
fn replaces(later: &Offer, earlier: &Offer) -> bool {
    let both = later.acknowledges.zip(earlier.acknowledges);
    later.flow == earlier.flow && both.is_some_and(|(later, earlier)| supersedes(later, earlier))
}

impl Manage for AckFilter {
    fn enqueue(
        &mut self,
        _: Instant,
        packet: Waiting,
        fallout: &mut Fallout,
    ) -> Result<(), DropCause> {
        if packet.offer.acknowledges.is_some() {
            let redundant = |waiting: &Waiting| replaces(&packet.offer, &waiting.offer);
            while let Some(earlier) = self.store.remove(&mut self.line, redundant) {
                fallout.drop(&earlier, DropCause::Aqm);
            }
        }
        if !self.store.has_room(packet.bytes()) {
            return Err(DropCause::QueueFull);
        }
        self.store.push(&mut self.line, packet);
        Ok(())
    }

    fn dequeue(&mut self, _: Instant, _: &mut Fallout) -> Option<Waiting> {
        self.store.pop(&mut self.line)
    }

    fn ready(&self, now: Instant) -> Option<Instant> {
        self.store.first(&self.line).map(|_| now)
    }

    fn store(&self) -> &Store {
        &self.store
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::seq::SeqNumber;

    use super::*;
    use crate::ids::FlowId;
    use crate::packet::PacketHandle;

    fn waiting(n: u32, flow: u32, acknowledges: Option<u32>) -> Waiting {
        Waiting {
            offer: Offer {
                packet: PacketHandle(n),
                flow: FlowId(flow),
                acknowledges: acknowledges.map(SeqNumber),
                bytes: 52,
                ..Offer::default()
            },
            arrived: Instant::ZERO,
        }
    }

    #[test]
    fn only_the_last_plain_ack_of_each_flow_is_kept() {
        let mut filter = AckFilter::new(QueueLimit::Packets(4));
        let mut fallout = Fallout::default();
        let mut put = |n, flow, acknowledges| {
            filter.enqueue(Instant::ZERO, waiting(n, flow, acknowledges), &mut fallout)
        };
        // There are three flows. Packet 2 has SACK blocks, packet 4 is a duplicate of packet 3, packet 5 finds the
        // buffer full, and packet 6 replaces packets 3 and 4.
        for (n, flow, acknowledges) in [
            (0, 0, Some(100)),
            (1, 1, Some(100)),
            (2, 0, None),
            (3, 0, Some(200)),
            (4, 0, Some(200)),
        ] {
            assert_eq!(put(n, flow, acknowledges), Ok(()), "{n}");
        }
        assert_eq!(put(5, 2, Some(1)), Err(DropCause::QueueFull));
        assert_eq!(put(6, 0, Some(300)), Ok(()));
        let dropped: Vec<_> = fallout.dropped.iter().map(|d| (d.0.0, d.1)).collect();
        let gone = |n| (n, DropCause::Aqm);
        assert_eq!(dropped, [gone(0), gone(3), gone(4)]);
        let mut left = || filter.dequeue(Instant::ZERO, &mut Fallout::default());
        let order = [(); 4].map(|()| left().map(|w| w.offer.packet.0));
        assert_eq!(order, [Some(1), Some(2), Some(6), None]);
        assert_eq!((filter.store.packets(), filter.store.bytes()), (0, 0));
        assert_eq!(filter.ready(Instant::ZERO), None);
    }
}
