//! Managed queues in the fabric: a link with such a queue has one event slot for the transmitter and one for the far
//! end.

use dupack_tcp::time::Duration;

use super::{Fabric, Step};
use crate::event::InsertionNumber;
use crate::ids::{EventSlot, LinkId};
use crate::link::{Admission, DropCause, Offer};
use crate::observer::{Happening, Observer};

impl Fabric {
    /// Does the same as [`offer`](Self::offer), for a link with a managed queue. If the queue drops other packets than
    /// the offered one, the next steps report these drops.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_managed<O: Observer>(
        &mut self,
        offer: &Offer,
        link: LinkId,
        queue: u32,
        observer: &mut O,
    ) -> Result<(), DropCause> {
        let number = self.events.number();
        let verdict = self.links[link.index()].offer(self.now, number, offer);
        self.await_first(link, number);
        self.write_marks(link);
        self.await_managed(link, queue);
        match verdict {
            Admission::Dropped(cause) => {
                self.tell(offer.packet, Happening::Dropped { link, cause }, observer);
                Err(cause)
            }
            Admission::Accepted { .. } | Admission::Marked { .. } => {
                // The waiting time is not known yet.
                let wait = Duration::ZERO;
                self.tell(offer.packet, Happening::Queued { link, wait }, observer);
                Ok(())
            }
        }
    }

    /// Handles a managed queue that is due: transmits a packet, or reports a packet that the queue has dropped.
    #[inline(never)]
    pub(super) fn serve_managed<O: Observer>(
        &mut self,
        queue: u32,
        observer: &mut O,
    ) -> Option<Step> {
        let id = self.transmitters.managed[queue as usize];
        let link = &mut self.links[id.index()];
        if link.next_transmission().is_some_and(|at| at <= self.now) {
            let number = self.events.number();
            link.transmit(self.now, number);
            self.await_first(id, number);
            self.write_marks(id);
        }
        let dropped = self.links[id.index()].take_drop();
        self.await_managed(id, queue);
        let (packet, cause) = dropped?;
        self.tell(packet, Happening::Dropped { link: id, cause }, observer);
        Some(Step::Dropped(packet, cause))
    }

    /// Schedules the arrival of the packet with insertion `number` at the far end, if it is the next to arrive.
    fn await_first(&mut self, id: LinkId, number: InsertionNumber) {
        if let Some((at, first)) = self.links[id.index()].next_arrival()
            && first == number
        {
            self.events.set(EventSlot(id.0), at, number);
        }
    }

    fn write_marks(&mut self, id: LinkId) {
        while let Some(packet) = self.links[id.index()].take_mark() {
            self.packets.get_mut(packet).mark();
        }
    }

    /// Schedules the next transmission of the queue, or an immediate event if the queue has dropped packets.
    fn await_managed(&mut self, id: LinkId, queue: u32) {
        let slot = EventSlot((self.links.len() + self.transmitters.media.len()) as u32 + queue);
        let link = &self.links[id.index()];
        let next = if link.has_drops() {
            Some(self.now)
        } else {
            link.next_transmission()
        };
        if next == self.events.pending(slot) {
            return;
        }
        match next {
            Some(at) => {
                let number = self.events.number();
                self.events.set(slot, at, number);
            }
            None => self.events.clear(slot),
        }
    }
}
