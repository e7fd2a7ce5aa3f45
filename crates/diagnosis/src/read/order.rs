//! Packets in the order of their capture times.
//!
//! A capture of several interfaces, queues or processors may contain records out of order by a few positions, because
//! each of these sources delivers several packets at once. If a capture time goes back further, the clock was set. The
//! table of connections handles this case.
//!
//! If records are out of order, the order of records with equal times is not reliable either. Packets of one connection
//! with equal times are then sorted into the order in which the endpoints sent them, as far as the packets' numbers
//! show this order.

use dupack_packet::CaptureTime;
use dupack_tcp::time::Duration;

use crate::read::packet::{Packet, is_after};

/// Maximum number of positions by which a record may be late (our choice: an interface delivers 64 packets of a queue
/// at once).
pub(crate) const LATE_MAX: usize = 64;

/// Maximum step back of capture times that counts as disorder between interfaces or processors. A larger step means
/// that the clock was set (our choice).
pub(crate) const DISORDER_MAX: Duration = Duration::from_secs(1);

/// Returns the earliest time at the beginning of a capture. If a time goes back by more than [`DISORDER_MAX`], the
/// clock was set, and this time is ignored.
pub(crate) fn earliest(times: impl Iterator<Item = CaptureTime>) -> Option<CaptureTime> {
    let disorder = DISORDER_MAX.as_nanos();
    times.reduce(|first, at| {
        let back = first.as_unix_nanos().saturating_sub(at.as_unix_nanos());
        if (1..=disorder).contains(&back) {
            at
        } else {
            first
        }
    })
}

/// Buffer that sorts packets by capture time. It retains the last packets, because earlier ones may follow.
///
/// ```
/// use dupack_diagnosis::read::order::InOrder;
///
/// let mut order = InOrder::default();
/// // Packets are pushed in the order of the capture, and taken in the order of their times.
/// let mut packets = Vec::new();
/// order.ready(&mut packets);
/// assert!(packets.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct InOrder {
    packets: Vec<Packet>,
    is_disordered: bool,
}

impl InOrder {
    /// Reserves capacity for exactly this number of ready packets, because a batch of packets takes most of the memory.
    pub fn expect(&mut self, packets: usize) {
        let room = packets.saturating_add(LATE_MAX);
        self.packets
            .reserve_exact(room.saturating_sub(self.packets.len()));
    }

    /// Adds the next packet of the capture.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        let is_late = self.packets.last().is_some_and(|last| last.at > packet.at);
        self.packets.push(packet);
        if is_late || self.is_disordered {
            self.put_last_in_order();
        }
    }

    fn put_last_in_order(&mut self) {
        let mut place = self.packets.len() - 1;
        let first = place.saturating_sub(LATE_MAX);
        while place > first && self.is_late(place) {
            self.packets.swap(place - 1, place);
            place -= 1;
        }
        if place + 1 < self.packets.len() && !self.is_disordered {
            self.is_disordered = true;
            for place in 1..self.packets.len() {
                self.order_equals(place);
            }
        } else if self.is_disordered {
            self.order_equals(place);
        }
    }

    /// Moves the packet at `place` before packets with the same time that were sent later.
    fn order_equals(&mut self, place: usize) {
        let Some(packet) = self.packets.get(place) else {
            return;
        };
        let before = self.packets.get(..place).unwrap_or_default().iter().rev();
        let equals = before.take(LATE_MAX).take_while(|one| one.at == packet.at);
        let later = equals.enumerate().filter(|(_, one)| is_before(packet, one));
        if let Some((farthest, _)) = later.last()
            && let Some(moved) = self.packets.get_mut(place - farthest - 1..=place)
        {
            moved.rotate_right(1);
        }
    }

    /// Returns `true` if the packet before `place` has a later time.
    fn is_late(&self, place: usize) -> bool {
        let Some([before, packet]) = self.packets.get(place - 1..=place) else {
            return false;
        };
        before.at > packet.at && before.at.since(packet.at) <= DISORDER_MAX
    }

    /// Returns the number of packets that are ready.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len().saturating_sub(LATE_MAX)
    }

    /// Returns `true` if no packet is ready.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves the ready packets to `packets`, whose previous content is discarded.
    pub fn ready(&mut self, packets: &mut Vec<Packet>) {
        let ready = self.len();
        packets.clear();
        core::mem::swap(packets, &mut self.packets);
        self.packets.extend(packets.drain(ready..));
    }

    /// Moves all packets to `packets`, at the end of the capture.
    pub fn rest(&mut self, packets: &mut Vec<Packet>) {
        packets.clear();
        core::mem::swap(packets, &mut self.packets);
    }
}

/// Maximum difference between the identifications of consecutive packets from one host (our choice).
const NUMBERED_APART: u16 = 256;

/// Returns `true` if the numbers of two packets of a connection show that `one` was sent before `other`.
fn is_before(one: &Packet, other: &Packet) -> bool {
    let same_way = (one.source, one.destination) == (other.source, other.destination);
    let opposite = (one.source, one.destination) == (other.destination, other.source);
    if same_way {
        return is_numbered_before(one, other);
    }
    opposite && (acknowledges(other, one) || lets_go(one, other))
}

/// Compares two packets from the same endpoint.
fn is_numbered_before(one: &Packet, other: &Packet) -> bool {
    if let (Some(id @ 1..), Some(of_other @ 1..)) = (one.ip_id, other.ip_id) {
        let step = of_other.wrapping_sub(id) as i16;
        if step != 0 && step.unsigned_abs() < NUMBERED_APART {
            return step > 0;
        }
    }
    let ack = |packet: &Packet| packet.segment.ack.map_or(0, |ack| ack.0);
    let numbers = |packet: &Packet| {
        [
            packet.value().unwrap_or(0),
            ack(packet),
            packet.data_seq().0,
        ]
    };
    let pairs = numbers(one).into_iter().zip(numbers(other));
    let mut differ = pairs.filter(|(own, other)| own != other);
    differ
        .next()
        .is_some_and(|(own, of_other)| is_after(of_other, own))
}

/// Returns `true` if `ack` acknowledges all data in `data`.
fn acknowledges(ack: &Packet, data: &Packet) -> bool {
    let end = data.segment.seq.at(u64::from(data.segment.sequence_len()));
    let number = ack.segment.ack;
    data.segment.sequence_len() > 0 && number.is_some_and(|number| !is_after(end.0, number.0))
}

/// Returns `true` if `ack` was sent before its sender received `data`, or before its receiver sent `data` in response:
/// it acknowledges none of `data`.
fn lets_go(ack: &Packet, data: &Packet) -> bool {
    let number = ack.segment.ack;
    let knows_nothing = number.is_some_and(|number| !is_after(number.0, data.data_seq().0));
    data.is_of_stream() && !ack.is_of_stream() && knows_nothing
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
    fn a_late_record_moves_to_its_position_and_later_ones_wait() {
        let mut order = InOrder::default();
        // In every group of five packets, the last one was captured first.
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

    /// Returns the order of twelve packets with the same capture time, pushed in the order of `places`: an ACK, ten
    /// segments from the opener, and an ACK of all ten segments.
    fn at_one_time(places: [usize; 12], numbered: bool) -> Vec<u64> {
        let mut packets = vec![from(Side::Answerer, 5.0, 1).ack(5000)];
        for n in 0..10_u16 {
            let data = from(Side::Opener, 5.0, 5000 + u32::from(n) * 100).len(100);
            packets.push(if numbered {
                data.id((u16::MAX - 4).wrapping_add(n))
            } else {
                data
            });
        }
        packets.push(from(Side::Answerer, 5.0, 1).ack(6000));
        let mut order = InOrder::default();
        for place in places {
            let number = place as u64;
            order.push(packets[place].numbered(number));
        }
        // A later record with an earlier time shows that the order of records is not reliable.
        order.push(from(Side::Opener, 4.0, 1).numbered(100));
        numbers(&rest(&mut order))
    }

    #[test]
    fn packets_with_equal_times_are_sorted_by_their_numbers() {
        let wanted: Vec<u64> = core::iter::once(100).chain(0..12).collect();
        let orders = [
            [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
            [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10],
            [4, 0, 8, 1, 5, 9, 2, 11, 6, 10, 3, 7],
        ];
        for places in orders {
            for numbered in [false, true] {
                assert_eq!(at_one_time(places, numbered), wanted, "{places:?}");
            }
        }
    }

    #[test]
    fn records_keep_their_order_if_no_time_goes_back() {
        let mut order = InOrder::default();
        for n in [3, 1, 2] {
            let packet = from(Side::Opener, 5.0, n * 100).len(100);
            order.push(packet.numbered(n.into()));
        }
        assert_eq!(numbers(&rest(&mut order)), [3, 1, 2]);
    }

    #[test]
    fn a_clock_set_back_is_not_disorder() {
        let mut order = InOrder::default();
        for (n, at) in [(1, 5000.0), (2, 10.0), (3, 9.0)] {
            order.push(from(Side::Opener, at, 1).numbered(n));
        }
        assert_eq!(numbers(&rest(&mut order)), [1, 3, 2]);
    }

    #[test]
    fn a_record_moves_a_bounded_number_of_positions() {
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
