//! Packets in the order of their times.
//!
//! A capture of several interfaces, queues or processors may have its records in another order: by a few places, as each of them
//! hands over some packets at once. Times that go back by more are a clock that was set, and left to the table.

use dupack_tcp::time::Duration;

use crate::read::packet::Packet;

/// A record is late by so many places at most (ours: an interface hands over 64 packets of a queue at once).
pub(crate) const LATE_MAX: usize = 64;

/// Capture times that go back by less than this are packets in the wrong order, of several interfaces or
/// processors; by more, a clock that was set (ours).
pub(crate) const DISORDER_MAX: Duration = Duration::from_secs(1);

/// Packets on their way from the capture, of which the last may have to wait for earlier ones.
///
/// ```
/// use dupack_diagnosis::read::order::InOrder;
///
/// let mut order = InOrder::default();
/// // Packets are pushed as the capture has them, and taken as they were captured.
/// let mut packets = Vec::new();
/// order.ready(&mut packets);
/// assert!(packets.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct InOrder {
    packets: Vec<Packet>,
}

impl InOrder {
    /// The next packet of the capture.
    pub fn push(&mut self, packet: Packet) {
        self.packets.push(packet);
        let mut place = self.packets.len() - 1;
        let first = place.saturating_sub(LATE_MAX);
        while place > first && self.is_late(place) {
            self.packets.swap(place - 1, place);
            place -= 1;
        }
    }

    /// Returns `true` if the packet before this place is later.
    fn is_late(&self, place: usize) -> bool {
        let Some([before, packet]) = self.packets.get(place - 1..=place) else {
            return false;
        };
        before.at > packet.at && before.at.since(packet.at) <= DISORDER_MAX
    }

    /// Number of packets that are ready.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len().saturating_sub(LATE_MAX)
    }

    /// `true` if no packet is ready.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the packets that wait for no others; what `packets` had is gone.
    pub fn ready(&mut self, packets: &mut Vec<Packet>) {
        let ready = self.len();
        packets.clear();
        core::mem::swap(packets, &mut self.packets);
        self.packets.extend(packets.drain(ready..));
    }

    /// Takes all packets: nothing more is to come.
    pub fn rest(&mut self, packets: &mut Vec<Packet>) {
        packets.clear();
        core::mem::swap(packets, &mut self.packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::from;
    use crate::read::side::Side;

    fn numbers(packets: &[Packet]) -> Vec<u64> {
        packets.iter().map(|packet| packet.number).collect()
    }

    fn rest(order: &mut InOrder) -> Vec<Packet> {
        let mut packets = Vec::new();
        order.rest(&mut packets);
        packets
    }

    #[test]
    fn a_record_that_is_late_goes_to_its_place_and_others_wait_for_it() {
        let mut order = InOrder::default();
        // Of five each, the last was captured first.
        for n in 0..200_u32 {
            let at = f64::from(n) - if n % 5 == 4 { 4.5 } else { 0.0 };
            order.push(from(Side::Opener, at.max(0.0), n).numbered(n.into()));
            if n == 99 {
                assert_eq!(order.len(), 36);
                let mut packets = Vec::new();
                order.ready(&mut packets);
                assert_eq!(numbers(&packets)[..7], [0, 4, 1, 2, 3, 9, 5]);
            }
        }
        let rest = rest(&mut order);
        assert_eq!(rest.len(), 164);
        assert!(rest.is_sorted_by_key(|packet| packet.at));
    }

    #[test]
    fn a_clock_that_was_set_back_is_no_disorder() {
        let mut order = InOrder::default();
        for (n, at) in [(1, 5000.0), (2, 10.0), (3, 9.0)] {
            order.push(from(Side::Opener, at, 1).numbered(n));
        }
        assert_eq!(numbers(&rest(&mut order)), [1, 3, 2]);
    }

    #[test]
    fn no_record_goes_farther_than_the_last_places() {
        let mut order = InOrder::default();
        for n in 0..100_u32 {
            let packet = from(Side::Opener, f64::from(n) + 1.0, 1);
            order.push(packet.numbered(n.into()));
        }
        order.push(from(Side::Opener, 0.0, 1).numbered(1000));
        let place = numbers(&rest(&mut order)).iter().position(|n| *n == 1000);
        assert_eq!(place, Some(100 - LATE_MAX));
    }
}
