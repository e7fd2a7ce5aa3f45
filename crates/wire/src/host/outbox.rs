//! Writes segments to the device, one by one or joined into long packets if the kernel accepts them.
//!
//! Segments are joined by the rules of receive coalescing: consecutive full segments of one connection with the same
//! header fields. The last segment may be shorter and may carry PSH or FIN.

use std::io;
use std::net::SocketAddr;

use dupack_tcp::connection::{Flags, Outgoing};

use super::ring::Ring;
use crate::device::{
    ChecksumState, Device, Granted, MAX_PACKET_BYTES, Pending, Segmentation, Writing,
};
use crate::family::Family;
use dupack_packet::emit::{
    CHECKSUM_AT, Checksum, EmitError, Envelope, MAX_HEADER_BYTES, emit, emit_headers,
};

/// Maximum payload of a joined packet, in bytes. A payload of this size fits into the longest packet with any headers.
const MAX_JOINED_BYTES: u32 = (MAX_PACKET_BYTES - MAX_HEADER_BYTES) as u32;

/// Identification of every IPv4 packet. All packets forbid fragmentation, so the field has no meaning and may hold any
/// value (RFC 6864 §4.1). A counter would reveal to each peer how many packets the host sends to other peers, including
/// challenge ACKs (idle scan). When the kernel cuts a joined packet, it counts up from this value, and starts again for
/// each packet.
const IDENTIFICATION: u16 = 0;

/// Output of a host.
#[derive(Debug)]
pub(super) struct Outbox {
    buffer: Vec<u8>,
    joined: Option<Joined>,
    counters: OutboxCounters,
}

/// Counters of the packets that a host has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxCounters {
    /// Segments sent.
    pub segments: u64,
    /// Packets that carried the segments. There are fewer packets than segments if the device accepts long packets.
    pub packets: u64,
    /// Packets that the device refused.
    pub refused: u64,
}

/// Segments that wait to be joined with later ones.
#[derive(Debug)]
struct Joined {
    outgoing: Outgoing,
    /// Payload bytes of the first segment.
    size: u32,
    count: u64,
}

/// Both ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            buffer: vec![0; MAX_PACKET_BYTES],
            joined: None,
            counters: OutboxCounters::default(),
        }
    }

    pub(super) const fn counters(&self) -> OutboxCounters {
        self.counters
    }

    /// Sends a segment, or keeps it to join it with the next one. The segment's payload is in `stream`. Call
    /// [`flush`](Self::flush) after the last segment of a connection.
    pub(super) fn push<D: Device>(
        &mut self,
        outgoing: Outgoing,
        ends: Ends,
        stream: &Ring,
        device: &mut D,
    ) -> io::Result<()> {
        if let Some(joined) = &mut self.joined
            && joined.admits(&outgoing)
        {
            joined.add(&outgoing);
            return Ok(());
        }
        self.flush(ends, stream, device)?;
        let joined = Joined {
            size: outgoing.segment.len,
            outgoing,
            count: 1,
        };
        if device.offload() == Granted::Offload && joined.size > 0 {
            self.joined = Some(joined);
            return Ok(());
        }
        self.send(&joined, ends, stream, device)
    }

    /// Sends the segments that wait.
    pub(super) fn flush<D: Device>(
        &mut self,
        ends: Ends,
        stream: &Ring,
        device: &mut D,
    ) -> io::Result<()> {
        match self.joined.take() {
            Some(joined) => self.send(&joined, ends, stream, device),
            None => Ok(()),
        }
    }

    fn send<D: Device>(
        &mut self,
        joined: &Joined,
        ends: Ends,
        stream: &Ring,
        device: &mut D,
    ) -> io::Result<()> {
        let envelope = Envelope {
            source: ends.local,
            destination: ends.remote,
            identification: IDENTIFICATION,
            checksum: match device.offload() {
                Granted::Offload => Checksum::Offloaded,
                Granted::Plain => Checksum::Full,
            },
        };
        let made = packet(&mut self.buffer, joined, &envelope, stream);
        // Pushed segments fit the buffer, and both of their ends belong to the same IP version.
        let Ok((head, tail)) = made else {
            debug_assert!(false, "{made:?}");
            return Ok(());
        };
        let pending = match device.offload() {
            Granted::Offload => joined.pending(ends, head.len() + tail.len()),
            Granted::Plain => Pending::NOTHING,
        };
        self.counters.segments += joined.count;
        self.counters.packets += 1;
        match device.write(&pending, head, tail)? {
            Writing::Done => {}
            Writing::Refused => self.counters.refused += 1,
        }
        Ok(())
    }
}

/// Builds the packet in two parts. The payload is not copied if its checksum is not computed here and the payload is
/// contiguous in the ring.
fn packet<'a>(
    buffer: &'a mut [u8],
    joined: &Joined,
    envelope: &Envelope,
    stream: &'a Ring,
) -> Result<(&'a [u8], &'a [u8]), EmitError> {
    let Outgoing { segment, data, .. } = &joined.outgoing;
    let payload = stream.piece(data);
    let whole = payload.len() as u64 == data.end - data.start;
    if whole && envelope.checksum == Checksum::Offloaded {
        let length = emit_headers(buffer, envelope, segment)?;
        return Ok((&buffer[..length], payload));
    }
    let length = emit(buffer, envelope, segment, |room| stream.copy_to(data, room))?;
    Ok((&buffer[..length], &[]))
}

impl Joined {
    /// Returns `true` if `next` can be joined with these segments.
    fn admits(&self, next: &Outgoing) -> bool {
        let (mine, theirs) = (&self.outgoing.segment, &next.segment);
        // Devices copy these flags to every segment, but copy CWR only to the first one.
        let echo = Flags::AE.with(Flags::ECE);
        mine.flags.without(echo) == Flags::NONE
            && is_end(theirs.flags.without(echo))
            && mine.is(Flags::AE) == theirs.is(Flags::AE)
            && mine.is(Flags::ECE) == theirs.is(Flags::ECE)
            && u64::from(mine.len) == u64::from(self.size) * self.count
            && theirs.len > 0
            && theirs.len <= self.size
            && mine.len + theirs.len <= MAX_JOINED_BYTES
            && self.outgoing.data.end == next.data.start
            && mine.seq.at(u64::from(mine.len)) == theirs.seq
            && (mine.ack, mine.window) == (theirs.ack, theirs.window)
            && mine.options == theirs.options
            && mine.ecn == theirs.ecn
    }

    fn add(&mut self, next: &Outgoing) {
        self.outgoing.segment.len += next.segment.len;
        self.outgoing.segment.flags = next.segment.flags;
        self.outgoing.data.end = next.data.end;
        self.count += 1;
    }

    /// Returns the work left to the kernel on a packet of `length` bytes.
    fn pending(&self, ends: Ends, length: usize) -> Pending {
        let (family, start) = match ends.local {
            SocketAddr::V4(_) => (Family::V4, etherparse::Ipv4Header::MIN_LEN),
            SocketAddr::V6(_) => (Family::V6, etherparse::Ipv6Header::LEN),
        };
        let header_len = length - self.outgoing.segment.len as usize;
        Pending {
            checksum: ChecksumState::Partial {
                // All three values are below 128.
                start: start as u16,
                offset: CHECKSUM_AT as u16,
            },
            segmentation: if self.count > 1 {
                Segmentation::Tcp {
                    // A segment is shorter than the device's MTU, which has 16 bits.
                    size: self.size as u16,
                    header_len: header_len as u16,
                    family,
                }
            } else {
                Segmentation::Whole
            },
        }
    }
}

/// Returns `true` if these flags may appear on the last of several joined segments.
fn is_end(flags: Flags) -> bool {
    let end = Flags::PSH.with(Flags::FIN);
    flags.without(end) == Flags::NONE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::WallClock;
    use crate::device::{BUFFER_BYTES, PairConfig, Reading, pair};
    use dupack_tcp::connection::Segment;
    use dupack_tcp::seq::SeqNumber;

    fn segment(start: u64, len: u32, flags: Flags) -> Outgoing {
        let mut segment = Segment::new(SeqNumber(0xffff_ff00).at(start));
        segment.len = len;
        segment.flags = flags;
        segment.ack = Some(SeqNumber(7));
        Outgoing {
            segment,
            data: start..start + u64::from(len),
            why: None,
        }
    }

    fn joined(segments: &[Outgoing]) -> Joined {
        let mut joined = Joined {
            size: segments[0].segment.len,
            outgoing: segments[0].clone(),
            count: 1,
        };
        for next in &segments[1..] {
            assert!(joined.admits(next), "{next:?}");
            joined.add(next);
        }
        joined
    }

    #[test]
    fn full_segments_and_a_last_one_are_joined() {
        let run = joined(&[
            segment(0, 1000, Flags::NONE),
            segment(1000, 1000, Flags::NONE),
            segment(2000, 300, Flags::PSH.with(Flags::FIN)),
        ]);
        assert_eq!(run.outgoing.data, 0..2300);
        assert_eq!(run.outgoing.segment.len, 2300);
        assert!(run.outgoing.segment.is(Flags::PSH.with(Flags::FIN)));
        assert!(!run.admits(&segment(2300, 1000, Flags::NONE)));
    }

    #[test]
    fn segments_that_do_not_follow_are_not_joined() {
        let run = joined(&[segment(0, 1000, Flags::NONE)]);
        assert!(!run.admits(&segment(2000, 1000, Flags::NONE)), "a gap");
        assert!(!run.admits(&segment(1000, 1001, Flags::NONE)), "longer");
        assert!(!run.admits(&segment(1000, 1000, Flags::RST)), "a RST");
        assert!(!run.admits(&segment(1000, 0, Flags::NONE)), "an ACK");
        let mut other = segment(1000, 1000, Flags::NONE);
        other.segment.ack = Some(SeqNumber(8));
        assert!(!run.admits(&other), "a different acknowledgment");
        let mut marked = segment(1000, 1000, Flags::NONE);
        marked.segment.ecn = dupack_tcp::segment::Codepoint::Ect0;
        assert!(!run.admits(&marked), "another ECN field");
        let mut counting = segment(1000, 1000, Flags::NONE);
        counting.segment.flags = Flags::of_ace(5);
        assert!(!run.admits(&counting), "a different count of marks");
        let counted = joined(&[segment(0, 1000, Flags::of_ace(5))]);
        assert!(counted.admits(&counting), "the same count");
        counting.segment.flags = Flags::of_ace(5).with(Flags::CWR);
        assert!(!counted.admits(&counting), "CWR");
        let short = joined(&[segment(0, 1000, Flags::NONE), segment(1000, 5, Flags::NONE)]);
        assert!(
            !short.admits(&segment(1005, 5, Flags::NONE)),
            "after a short segment"
        );
    }

    /// Returns the IPv4 fields for identification and fragmentation of the packets that one peer receives. `others`
    /// transmissions to another peer take place between the first and the last of these packets.
    fn identifications_seen(others: u64, offload: Granted) -> Vec<[u8; 4]> {
        let mut config = PairConfig::new();
        config.offload = offload;
        let (mut ours, mut theirs) = pair(config).expect("a pair");
        let ends = |remote: &str| Ends {
            local: "10.0.0.1:1".parse().expect("an address"),
            remote: remote.parse().expect("an address"),
        };
        let (one, other) = (ends("10.0.0.2:2"), ends("10.0.0.3:3"));
        let stream = Ring::new(1 << 16);
        let mut outbox = Outbox::new();
        let mut send = |ends: Ends, n: u64| {
            for start in [2 * n, 2 * n + 1].map(|n| n * 100) {
                let pushed =
                    outbox.push(segment(start, 100, Flags::NONE), ends, &stream, &mut ours);
                pushed.expect("the pair is there");
            }
            outbox
                .flush(ends, &stream, &mut ours)
                .expect("the pair is there");
        };
        send(one, 0);
        (0..others).for_each(|n| send(other, n));
        send(one, 1);
        let mut seen = Vec::new();
        let (clock, mut buffer) = (WallClock::start(), vec![0; BUFFER_BYTES]);
        while let Reading::Packet(packet) = theirs.read(&clock, &mut buffer).expect("a pair") {
            if packet.bytes[16..20] == [10, 0, 0, 2] {
                seen.push(packet.bytes[4..8].try_into().expect("four bytes"));
            }
        }
        seen
    }

    #[test]
    fn a_peer_learns_nothing_about_packets_to_another() {
        for offload in [Granted::Plain, Granted::Offload] {
            let alone = identifications_seen(0, offload);
            assert!(alone.len() >= 2);
            for others in [1, 7, 300] {
                assert_eq!(identifications_seen(others, offload), alone, "{others}");
            }
            // RFC 6864 §4.1 leaves the field free if fragmentation is impossible: DF, no MF, offset 0.
            assert!(alone.iter().all(|fields| fields[2..] == [0x40, 0]));
        }
    }

    #[test]
    fn a_packet_stays_below_64_kib() {
        let all: Vec<Outgoing> = (0..45)
            .map(|n| segment(n * 1448, 1448, Flags::NONE))
            .collect();
        let run = joined(&all);
        assert!(!run.admits(&segment(45 * 1448, 1448, Flags::NONE)));
    }
}
