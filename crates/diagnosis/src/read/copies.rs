//! Packets that the capture has twice.
//!
//! A mirror port, an interface and the bridge above it, or a router seen from both sides show the same packet
//! again: the same header, the hop limit one less in the last case. Every stack numbers the packets that it
//! sends, retransmissions as well (RFC 6864 §2: the identification), so that two with one number are one. Where
//! there is none (IPv6, or 0 as RFC 6864 §4.1 permits), only data that comes again sooner than any
//! sender repeats it is taken for a copy: duplicate ACKs are alike, and may follow one another at once.

use dupack_tcp::time::{Duration, Instant};

use crate::read::packet::Packet;

/// Between a packet and its copy there are no more than so many others of its direction (ours): room for a
/// queue between two places, where one was found.
const AT_FIRST: usize = 16;
const ONCE_FOUND: usize = 1024;

/// A copy is no later than this (ours): identifications come again, after 65,536 packets.
const WITHIN: Duration = Duration::from_millis(500);

/// Nobody sends data again so soon (ours): the shortest round trips, in one machine, take some 20 µs, and three
/// duplicate ACKs must come back.
const WITHIN_WITHOUT_ID: Duration = Duration::from_micros(30);

/// A packet that was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    at: Instant,
    /// A digest of what does not change on the way; 0 for none.
    digest: u64,
    id: u16,
}

/// The last packets of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    /// By identification.
    seen: Vec<Seen>,
    /// The last packet that has none.
    last: Seen,
    /// Two different packets had one identification, one soon after the other: it tells nothing here.
    useless: bool,
    room: usize,
}

impl Copies {
    /// Whether a packet is the copy of one that was seen.
    #[inline]
    pub(crate) fn is_copy(&mut self, packet: &Packet) -> bool {
        let seen = Seen {
            at: packet.at,
            digest: digest(packet),
            id: packet.ip_id.unwrap_or(0),
        };
        if seen.id == 0 || self.useless {
            let before = core::mem::replace(&mut self.last, seen);
            let soon = seen.at.since(before.at) <= WITHIN_WITHOUT_ID;
            return packet.segment.len > 0 && soon && before.digest == seen.digest;
        }
        if self.seen.is_empty() {
            self.make_room(AT_FIRST);
        }
        let index = usize::from(seen.id) & self.room.saturating_sub(1);
        let Some(slot) = self.seen.get_mut(index) else {
            return false;
        };
        let before = core::mem::replace(slot, seen);
        let same_id = before.digest != 0 && before.id == seen.id;
        if !same_id || seen.at.since(before.at) > WITHIN {
            return false;
        }
        if before.digest != seen.digest {
            self.useless = true;
            self.seen = Vec::new();
            return false;
        }
        if self.room < ONCE_FOUND {
            self.make_room(ONCE_FOUND);
        }
        true
    }

    fn make_room(&mut self, room: usize) {
        self.room = room;
        self.seen = vec![Seen::default(); room];
    }
}

/// A number that differs where two packets do. It need not withstand anybody: a packet that is made to
/// look like a copy is left out, and that is all.
fn digest(packet: &Packet) -> u64 {
    /// 2⁶⁴ divided by the golden ratio, odd (Knuth, *The Art of Computer Programming*, §6.4).
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let segment = &packet.segment;
    let pair = |high: u32, low: u32| (u64::from(high) << 32) | u64::from(low);
    let stamps = segment.options.timestamps.unwrap_or_default();
    let ack = segment.ack.map_or(0, |ack| ack.0);
    let bits = (u32::from(segment.flags.bits()) << 16) | u32::from(segment.window);
    let sacks = segment.options.sacks.as_slice().iter();
    let words = [
        pair(segment.seq.0, ack),
        pair(segment.len, bits),
        pair(stamps.value, stamps.echo),
    ];
    let sacks = sacks.map(|block| pair(block.start.0, block.end.0));
    let mixed = words.into_iter().chain(sacks).fold(1, |digest: u64, word| {
        (digest.rotate_left(29) ^ word).wrapping_mul(FACTOR)
    });
    mixed | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::from;
    use crate::read::side::Side;

    fn data(at: f64, seq: u32) -> Packet {
        from(Side::Opener, at, seq).len(1000)
    }

    #[test]
    fn a_packet_with_the_same_identification_is_the_same() {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(&data(0.0, 1).id(7)));
        assert!(!copies.is_copy(&data(0.1, 1001).id(8)));
        // As a router sends it on.
        let mut routed = data(0.2, 1).id(7);
        routed.hop_limit -= 1;
        assert!(copies.is_copy(&routed));
        // Sent again: another number.
        assert!(!copies.is_copy(&data(0.3, 1).id(9)));
        // After that identifications have gone round.
        assert!(!copies.is_copy(&data(900.0, 1).id(9)));
    }

    #[test]
    fn where_a_copy_was_found_more_are_looked_for_behind_a_queue() {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(&data(0.0, 1).id(1)));
        assert!(copies.is_copy(&data(0.0, 1).id(1)));
        for n in 2..500 {
            assert!(!copies.is_copy(&data(0.0, u32::from(n) * 1000).id(n)));
        }
        assert!(copies.is_copy(&data(50.0, 2000).id(2)));
    }

    #[test]
    fn an_identification_that_never_changes_tells_nothing() {
        let mut copies = Copies::default();
        let ack = |at| from(Side::Answerer, at, 1).id(1);
        assert!(!copies.is_copy(&ack(0.0).ack(1)));
        assert!(!copies.is_copy(&ack(1.0).ack(1001)));
        // Duplicate ACKs.
        for n in 0..5 {
            assert!(!copies.is_copy(&ack(2.0 + f64::from(n)).ack(1001)));
        }
    }

    #[test]
    fn without_one_only_data_is_a_copy_and_only_at_once() {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(&data(0.0, 1)));
        assert!(copies.is_copy(&data(0.01, 1)));
        assert!(!copies.is_copy(&data(0.2, 1)));
        let ack = from(Side::Opener, 1.0, 1);
        assert!(!copies.is_copy(&ack));
        assert!(!copies.is_copy(&ack));
    }
}
