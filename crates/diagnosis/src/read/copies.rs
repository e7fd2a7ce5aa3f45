//! Copies: packets that the capture contains more than once.
//!
//! A mirror port, an interface together with the bridge above it, or a router captured on both sides records the same
//! packet twice. The headers are the same, except that the router has decremented the hop limit. If two packets have
//! the same header, one is a copy of the other if at least one of these conditions holds:
//!
//! - They have the same IPv4 identification, and the host numbers its packets (RFC 6864 §2: retransmissions have
//!   another identification).
//! - They were captured on different interfaces or with different hop limits, within less time than any timeout.
//! - They are SYNs, captured within less time than any timeout. If their identifications differ, a middlebox rewrites
//!   identifications.
//! - They carry data, and the time between them is too short for any sender to retransmit.
//! - Such copies were found before, and the delay of this packet is similar to that of earlier copies.
//!
//! If only the last condition holds, each packet has exactly one copy. Duplicate ACKs are also identical: if there are
//! four identical ACKs, two of them are copies.

use dupack_tcp::connection::Flags;
use dupack_tcp::time::{Duration, Instant};

use crate::read::packet::Packet;

/// Table sizes in packets: initially, and after copies were found (our choice: enough for a queue between two capture
/// points).
const AT_FIRST: usize = WAYS;
const ONCE_FOUND: usize = 128 * WAYS;

/// Number of slots per hash for packets without identification. The packets in these slots are replaced in turn.
const WAYS: usize = 16;

/// Maximum delay of a copy with the same identification (our choice): identifications repeat after 65,536 packets.
const WITHIN: Duration = Duration::from_millis(500);

/// Maximum delay of a copy from another interface or hop (our choice): half of the shortest timeout of common hosts
/// (Linux: 200 ms).
const WITHIN_TIMEOUT: Duration = Duration::from_millis(100);

/// Time within which no sender retransmits data (our choice): the shortest round-trip times, on one machine, are about
/// 20 µs, and three duplicate ACKs must arrive first.
const AT_ONCE: Duration = Duration::from_micros(30);

/// Maximum ratio of a copy's delay to the delay of earlier copies (our choice).
const LATER: u64 = 4;

/// Number of immediate copies without other evidence after which later copies without evidence are recognised as well
/// (our choice).
const AT_ONCE_MIN: u32 = 3;

/// Conditions under which the packets held back for [`Copies::learn`] show copies: a minimum number of pairs, and at
/// least [`SINGLE_OF`] pairs for each single packet (our choice).
const PAIRS_MIN: u32 = 3;
const SINGLE_OF: u32 = 8;

/// Packet that was captured.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    at: Instant,
    /// Digest of all fields that do not change along the path; 0 if the slot is empty.
    digest: u64,
    id: u16,
    interface: u32,
    hop_limit: u8,
    /// `true` if a copy of the packet was found.
    is_paired: bool,
}

/// Captured packets, stored by identification, or by digest if identifications are useless.
#[derive(Clone, Debug)]
struct Places {
    seen: Vec<Seen>,
    /// Next slot to be replaced in each set of [`WAYS`] slots, for packets without identification.
    turns: Vec<u8>,
}

impl Places {
    fn new(room: usize) -> Self {
        Self {
            seen: vec![Seen::default(); room],
            turns: vec![0; room / WAYS],
        }
    }

    /// Returns the slot of a packet. It is the slot with an identical packet, or the slot where the packet will be
    /// stored.
    #[inline]
    fn of(&mut self, seen: &Seen, numbered: bool) -> Option<&mut Seen> {
        let place = if numbered {
            usize::from(seen.id) & (self.seen.len() - 1)
        } else {
            self.of_unnumbered(seen.digest)
        };
        self.seen.get_mut(place)
    }

    fn of_unnumbered(&mut self, digest: u64) -> usize {
        let set = (digest >> 32) as usize & (self.turns.len() - 1);
        let first = set * WAYS;
        let ways = self.seen.get(first..first + WAYS).unwrap_or_default();
        if let Some(twin) = ways.iter().position(|one| one.digest == digest) {
            return first + twin;
        }
        let Some(turn) = self.turns.get_mut(set) else {
            return first;
        };
        let way = usize::from(*turn);
        *turn = ((way + 1) % WAYS) as u8;
        first + way
    }
}

/// Detector of copies among the recent packets of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    /// `None` before the first packet.
    places: Option<Box<Places>>,
    /// `true` if two different packets had the same identification within a short time, so that identifications are
    /// useless.
    is_id_useless: bool,
    /// Delay of copies without other evidence; `None` if there are no such copies.
    habit: Option<Duration>,
    /// Number of copies recognised only because they followed immediately.
    at_once: u32,
    /// Last SYN; `None` before the first one.
    syn: Option<Box<Seen>>,
}

impl Copies {
    /// Returns `true` if `packet` is a copy of an earlier one.
    #[inline]
    pub(crate) fn is_copy(&mut self, packet: &Packet) -> bool {
        let seen = Seen::new(packet);
        if packet.segment.is(Flags::SYN) && self.is_syn_renumbered(seen) {
            return true;
        }
        let numbered = seen.id != 0 && !self.is_id_useless;
        let places = self
            .places
            .get_or_insert_with(|| Box::new(Places::new(AT_FIRST)));
        let Some(slot) = places.of(&seen, numbered) else {
            return false;
        };
        let before = *slot;
        let age = seen.at.since(before.at);
        if numbered {
            *slot = seen;
            let same_id = before.digest != 0 && before.id == seen.id && age <= WITHIN;
            if same_id && before.digest != seen.digest {
                self.is_id_useless = true;
                return false;
            }
            if same_id {
                self.found(None);
            }
            return same_id;
        }
        if before.digest != seen.digest {
            *slot = seen;
            return false;
        }
        let elsewhere = before.interface != seen.interface || before.hop_limit != seen.hop_limit;
        let by_sign = (elsewhere || packet.segment.is(Flags::SYN)) && age <= WITHIN_TIMEOUT;
        let limit = self
            .habit
            .map_or(Duration::ZERO, |late| late.saturating_mul(LATER));
        let limit = if packet.segment.len > 0 {
            limit.max(AT_ONCE)
        } else {
            limit
        };
        let by_time = !before.is_paired && age <= limit && !limit.is_zero();
        let is_copy = by_sign || by_time;
        if is_copy {
            slot.is_paired = true;
            // A copy from another interface or hop is certain. Immediate copies count only if there are several.
            self.at_once += u32::from(!by_sign && age <= AT_ONCE);
            let habitual = by_sign || self.habit.is_some() || self.at_once >= AT_ONCE_MIN;
            self.found((!elsewhere && habitual).then_some(age));
        } else {
            *slot = seen;
        }
        is_copy
    }

    /// Returns `true` if a SYN is a copy of the previous one with another identification, as after a firewall that
    /// rewrites identifications. In this case, all identifications are useless.
    fn is_syn_renumbered(&mut self, seen: Seen) -> bool {
        let before = self.syn.replace(Box::new(seen));
        let same = before.filter(|before| {
            before.digest == seen.digest && seen.at.since(before.at) <= WITHIN_TIMEOUT
        });
        let Some(before) = same.filter(|before| before.id != seen.id) else {
            return false;
        };
        self.is_id_useless = true;
        let elsewhere = before.interface != seen.interface || before.hop_limit != seen.hop_limit;
        self.found((!elsewhere).then_some(seen.at.since(before.at)));
        true
    }

    /// Processes the first packets of one direction in advance. If nearly all of them occur twice, later copies without
    /// evidence are recognised as well.
    pub(crate) fn learn<'a>(&mut self, packets: impl Iterator<Item = &'a Packet>) {
        let mut open: Vec<Seen> = Vec::new();
        let (mut pairs, mut late, mut end) = (0, Duration::ZERO, Instant::ZERO);
        let mut renumbered = 0;
        for seen in packets.map(Seen::new) {
            end = end.max(seen.at);
            let twin = open.iter().position(|one| {
                one.digest == seen.digest && seen.at.since(one.at) <= WITHIN_TIMEOUT
            });
            match twin {
                Some(place) => {
                    let before = open.remove(place);
                    late = late.max(seen.at.since(before.at));
                    pairs += 1;
                    renumbered += u32::from(before.id != seen.id);
                }
                None => open.push(seen),
            }
        }
        // The copies of the last packets may follow later.
        let alone = open.iter().filter(|seen| end.since(seen.at) > late);
        if pairs >= PAIRS_MIN && alone.count() as u32 * SINGLE_OF <= pairs {
            self.is_id_useless |= renumbered == pairs;
            self.found(Some(late));
        }
    }

    /// Records a copy. `late` is its delay if there is no other evidence.
    fn found(&mut self, late: Option<Duration>) {
        let room = self.places.as_ref().map_or(0, |places| places.seen.len());
        if room < ONCE_FOUND {
            self.make_room();
        }
        if let Some(late) = late {
            let known = self.habit.get_or_insert(late);
            *known = late.max(*known).min(WITHIN_TIMEOUT);
        }
    }

    fn make_room(&mut self) {
        let old = self
            .places
            .replace(Box::new(Places::new(ONCE_FOUND)))
            .map_or_else(Vec::new, |places| places.seen);
        let Some(places) = &mut self.places else {
            return;
        };
        for seen in old.into_iter().filter(|seen| seen.digest != 0) {
            let numbered = seen.id != 0 && !self.is_id_useless;
            if let Some(slot) = places.of(&seen, numbered) {
                *slot = seen;
            }
        }
    }
}

impl Seen {
    #[inline]
    fn new(packet: &Packet) -> Self {
        Self {
            at: packet.at,
            digest: digest(packet),
            id: packet.ip_id.unwrap_or(0),
            interface: packet.interface,
            hop_limit: packet.hop_limit,
            is_paired: false,
        }
    }
}

/// Returns a digest that differs for different packets. It need not resist attacks, because a packet that is forged to
/// look like a copy is only ignored.
#[inline]
fn digest(packet: &Packet) -> u64 {
    /// 2⁶⁴ divided by the golden ratio, made odd (Knuth, *The Art of Computer Programming*, §6.4).
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
    fn a_packet_with_the_same_identification_is_a_copy() {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(&data(0.0, 1).id(7)));
        assert!(!copies.is_copy(&data(0.1, 1001).id(8)));
        // This is a copy that a router forwarded.
        let mut routed = data(0.2, 1).id(7);
        routed.hop_limit -= 1;
        assert!(copies.is_copy(&routed));
        // A retransmission has another identification.
        assert!(!copies.is_copy(&data(0.3, 1).id(9)));
        // The identifications have wrapped around before this packet.
        assert!(!copies.is_copy(&data(900.0, 1).id(9)));
    }

    /// Returns bursts of four data packets and two ACKs. Each packet is captured on two interfaces, 40 µs apart.
    fn on_two_interfaces(second: impl Fn(Packet) -> Packet) -> Vec<Packet> {
        let mut packets = Vec::new();
        for round in 0..20_u32 {
            let start = f64::from(round) * 20.0;
            let burst = (0..4).map(|n| data(start + f64::from(n) * 0.005, (round * 4 + n) * 1000));
            // The burst ends with two identical duplicate ACKs.
            let acks = [1.0, 1.1].map(|at| from(Side::Opener, start + at, 7).ack(round));
            let burst: Vec<Packet> = burst.chain(acks).collect();
            for packet in &burst {
                let mut copy = second(*packet);
                copy.at += Duration::from_micros(40);
                packets.extend([*packet, copy]);
            }
        }
        packets.sort_by_key(|packet| packet.at);
        packets
    }

    fn count(packets: &[Packet], copies: &mut Copies) -> usize {
        packets
            .iter()
            .filter(|packet| copies.is_copy(packet))
            .count()
    }

    #[test]
    fn without_identification_another_interface_or_hop_limit_is_a_sign() {
        let elsewhere = on_two_interfaces(|mut packet| {
            packet.interface = 3;
            packet
        });
        assert_eq!(count(&elsewhere, &mut Copies::default()), 120);
        let routed = on_two_interfaces(|mut packet| {
            packet.hop_limit -= 1;
            packet
        });
        assert_eq!(count(&routed, &mut Copies::default()), 120);
    }

    #[test]
    fn a_syn_repeated_too_soon_for_a_timer_establishes_a_habit() {
        let plain = on_two_interfaces(|packet| packet);
        // There is no evidence that these packets are copies.
        assert_eq!(count(&plain, &mut Copies::default()), 0);
        let mut copies = Copies::default();
        let syn = from(Side::Opener, -1.0 + 1.0, 9).syn(1460);
        assert!(!copies.is_copy(&syn));
        let mut again = syn;
        again.at += Duration::from_micros(40);
        assert!(copies.is_copy(&again));
        let mut later: Vec<Packet> = plain.clone();
        for packet in &mut later {
            packet.at += Duration::from_millis(30);
        }
        assert_eq!(count(&later, &mut copies), 120);
        // If data repeats after a round trip, it is a retransmission.
        let data = data(900.0, 1);
        assert!(!copies.is_copy(&data));
        let mut sent_again = data;
        sent_again.at += Duration::from_millis(20);
        assert!(!copies.is_copy(&sent_again));
    }

    #[test]
    fn identifications_rewritten_by_a_firewall_are_ignored() {
        let mut next = 0;
        let mut firewall = move |mut packet: Packet| {
            next += 1;
            packet.hop_limit -= 1;
            packet.id(30_000 + next * 7)
        };
        for first in [0, 5] {
            let own =
                |n: usize, packet: Packet| packet.id(if first == 0 { 0 } else { first + n as u16 });
            let mut packets = Vec::new();
            let mut all = vec![from(Side::Opener, 0.0, 9).syn(1460)];
            all.extend((0..40).map(|n| data(f64::from(n) + 10.0, u32::from(n as u16) * 1000)));
            for (n, packet) in all.into_iter().enumerate() {
                let packet = own(n, packet);
                let mut copy = firewall(packet);
                copy.at += Duration::from_micros(40);
                packets.extend([packet, copy]);
            }
            assert_eq!(count(&packets, &mut Copies::default()), 41, "{first}");
            let mut without_syn = Copies::default();
            without_syn.learn(packets.iter().skip(2).take(20));
            assert_eq!(count(&packets[2..], &mut without_syn), 40, "{first}");
        }
    }

    #[test]
    fn looking_ahead_finds_the_habit_without_a_syn() {
        let plain = on_two_interfaces(|packet| packet);
        let mut copies = Copies::default();
        copies.learn(plain.iter());
        assert_eq!(count(&plain, &mut copies), 120);
        // Retransmissions of a few packets do not count as copies.
        let mut some = on_two_interfaces(|packet| packet);
        some.retain(|packet| packet.at.as_nanos() % 3 == 0);
        let mut copies = Copies::default();
        copies.learn(some.iter().take(6));
        assert!(copies.habit.is_none());
    }

    #[test]
    fn after_a_copy_more_are_found_behind_a_queue() {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(&data(0.0, 1).id(1)));
        assert!(copies.is_copy(&data(0.0, 1).id(1)));
        for n in 2..500 {
            assert!(!copies.is_copy(&data(0.0, u32::from(n) * 1000).id(n)));
        }
        assert!(copies.is_copy(&data(50.0, 2000).id(2)));
    }

    #[test]
    fn a_constant_identification_is_ignored() {
        let mut copies = Copies::default();
        let ack = |at| from(Side::Answerer, at, 1).id(1);
        assert!(!copies.is_copy(&ack(0.0).ack(1)));
        assert!(!copies.is_copy(&ack(1.0).ack(1001)));
        // These are duplicate ACKs, not copies.
        for n in 0..5 {
            assert!(!copies.is_copy(&ack(2.0 + f64::from(n)).ack(1001)));
        }
    }

    #[test]
    fn without_identification_only_immediate_data_is_a_copy() {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(&data(0.0, 1)));
        assert!(copies.is_copy(&data(0.01, 1)));
        assert!(!copies.is_copy(&data(0.2, 1)));
        let ack = from(Side::Opener, 1.0, 1);
        assert!(!copies.is_copy(&ack));
        assert!(!copies.is_copy(&ack));
    }
}
