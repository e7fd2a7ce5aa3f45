//! Operations of a link with a variable rate and delay.

use dupack_tcp::time::Instant;

use super::Link;
use super::counters::DropCause;
use super::far_end::{Fate, Flight};
use super::offer::{Admission, Offer};
use super::service::Service;
use super::transmission::Transmission;
use crate::event::InsertionNumber;

impl Link {
    /// Does the same as [`offer`](Self::offer), for a link with a variable rate. Packets that a step removes from the
    /// queue are reported at the far end, like all losses on the wire.
    #[inline(never)]
    pub(super) fn offer_scheduled(
        &mut self,
        now: Instant,
        number: InsertionNumber,
        packet: &Offer,
    ) -> Admission {
        self.backlog.advance(now);
        if let Some(cause) = self.refuse(now, packet) {
            self.counters.drops.add(cause);
            return Admission::Dropped(cause);
        }
        let Service::Scheduled(clock) = &mut self.service else {
            return Admission::Dropped(DropCause::LinkDown);
        };
        let booked = clock.book(now, packet.bytes);
        let wait = booked.transmission.start.since(now);
        if !wait.is_zero() {
            self.backlog.push(booked.transmission.start, packet.bytes);
            let peak = &mut self.counters.backlog_max_packets;
            *peak = (*peak).max(self.backlog.packets());
        }
        if booked.lost {
            self.far_end.push(Flight {
                fate: Fate::Lost(DropCause::LinkDown),
                ..Flight::of(packet, number, booked.arrival)
            });
        } else {
            if let Some(waits) = &mut self.waits
                && waits.whose.covers(packet)
            {
                waits.histogram.record(wait);
            }
            self.launch(now, number, packet, booked.arrival);
        }
        if let Some(extras) = &mut self.extras
            && extras.take_mark().is_set()
        {
            self.counters.marked_packets += 1;
            return Admission::Marked { wait };
        }
        Admission::Accepted { wait }
    }

    /// Returns the arrival time of a transmitted packet at the far end of an ideal wire.
    pub(super) fn far_end_at(&mut self, transmission: Transmission) -> Instant {
        match &mut self.service {
            Service::Scheduled(clock) => clock.arrival_of(transmission),
            _ => transmission.end + self.delay,
        }
    }

    /// Returns the mean capacity of the link from `from` to `to`, in bit/s, if its rate varies.
    #[must_use]
    pub fn mean_rate_bps(&self, from: Instant, to: Instant) -> Option<f64> {
        match &self.service {
            Service::Scheduled(clock) if from < to => Some(clock.mean_rate_bps(from, to)),
            _ => None,
        }
    }
}
