//! Radio links in the fabric: their packets cross shared channels, each of which has an event slot.

use dupack_tcp::time::Instant;

use super::{Crossed, Fabric, Step};
use crate::ids::{EventSlot, LinkId, MediumId};
use crate::link::{Admission, DropCause, Fate, Offer};
use crate::observer::{Happening, Observer};
use crate::wireless::RadioPort;

impl Fabric {
    /// Does the same as [`offer`](Self::offer), for a link over a shared channel.
    #[inline(never)]
    pub(super) fn offer_by_radio<O: Observer>(
        &mut self,
        offer: &Offer,
        link: LinkId,
        medium: MediumId,
        port: RadioPort,
        observer: &mut O,
    ) -> Result<(), DropCause> {
        let channel = &mut self.transmitters.media[medium.index()];
        let verdict = channel.offer(self.now, offer, link, port);
        let (waiting, _) = channel.backlog(port.from);
        let counters = self.links[link.index()].counters_mut();
        counters.offered_packets += 1;
        counters.backlog_max_packets = counters.backlog_max_packets.max(waiting);
        self.await_medium(medium);
        match verdict {
            Admission::Accepted { wait } | Admission::Marked { wait } => {
                self.tell(offer.packet, Happening::Queued { link, wait }, observer);
                Ok(())
            }
            Admission::Dropped(cause) => {
                self.links[link.index()].counters_mut().drops.add(cause);
                self.tell(offer.packet, Happening::Dropped { link, cause }, observer);
                Err(cause)
            }
        }
    }

    /// Handles a shared channel that is due.
    #[inline(always)]
    pub(super) fn on_air<O: Observer>(&mut self, id: MediumId, observer: &mut O) -> Option<Step> {
        let medium = &mut self.transmitters.media[id.index()];
        if !medium.has_outcome() {
            medium.advance(self.now);
            // Most events on a channel concern only its stations.
            if !medium.has_outcome() {
                let next = medium.next_event();
                self.move_medium_on(id, next);
                return None;
            }
        }
        self.come_through(id, observer)
    }

    /// Schedules the next event of a medium that was due.
    #[inline(always)]
    fn move_medium_on(&mut self, id: MediumId, next: Option<Instant>) {
        if next != Some(self.now) {
            let slot = self.medium_slot(id);
            let next = next.map(|at| (at, self.events.number()));
            self.events.move_on(slot, next);
        }
    }

    /// Handles the outcome of a transmission on a medium that is due. The function is never inlined, so that the loop
    /// over wires stays small.
    #[inline(never)]
    fn come_through<O: Observer>(&mut self, id: MediumId, observer: &mut O) -> Option<Step> {
        let medium = &mut self.transmitters.media[id.index()];
        let outcome = medium.take_outcome();
        let next = if medium.has_outcome() {
            Some(self.now)
        } else {
            medium.next_event()
        };
        self.move_medium_on(id, next);
        let outcome = outcome?;
        let link = outcome.link;
        let packet = outcome.packet;
        let counters = self.links[link.index()].counters_mut();
        if let Fate::Lost(cause) = outcome.fate {
            counters.drops.add(cause);
            if cause == DropCause::Random {
                counters.carried(packet.bytes);
            }
            self.tell(packet.packet, Happening::Dropped { link, cause }, observer);
            return Some(Step::Dropped(packet.packet, cause));
        }
        counters.carried(packet.bytes);
        self.tell(packet.packet, Happening::Crossed { link }, observer);
        let crossed = Crossed {
            packet: packet.packet,
            hop: packet.hop,
            bytes: packet.bytes,
            kind: packet.kind,
        };
        self.forward(crossed, observer)
    }

    /// Schedules the next event of a medium, or an immediate event if the medium has an outcome.
    fn await_medium(&mut self, id: MediumId) {
        let slot = self.medium_slot(id);
        let medium = &self.transmitters.media[id.index()];
        let next = if medium.has_outcome() {
            Some(self.now)
        } else {
            medium.next_event()
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

    const fn medium_slot(&self, medium: MediumId) -> EventSlot {
        EventSlot(self.links.len() as u32 + medium.0)
    }
}
