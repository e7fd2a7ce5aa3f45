//! Segments on the wire: packets that an interface with offload shows as one packet are divided into the segments that
//! they represent.

use std::collections::HashMap;

use dupack_tcp::connection::Flags;

use super::PACKETS_MAX;
use crate::read::packet::Packet;

/// Segment in one of the captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    /// Capture time in nanoseconds since the first TCP packet of this capture, on the clock of the segment's own
    /// capture.
    pub(super) at: i64,
    /// Packet number in the segment's own capture.
    pub(super) packet: u32,
    /// Sequence number of the first byte.
    pub(super) seq: u32,
    /// Number of data bytes.
    pub(super) len: u32,
    /// ACK number; 0 without an ACK.
    pub(super) ack: u32,
    /// TSval; 0 without timestamps.
    pub(super) value: u32,
    /// Digest of the echoed timestamp, the window, and the SACK blocks (relative to the ACK number).
    pub(super) digest: u32,
    /// First SACK block, which contains the data that triggered the ACK (RFC 2018 §4).
    pub(super) sack: [u32; 2],
    /// IPv4 identification; 0 if there is none.
    pub(super) id: u16,
    /// Bits of SYN, FIN, RST and ACK, and [`COPY`].
    pub(super) flags: u8,
}

/// Bits of [`Piece::flags`], as in the TCP header.
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
/// Bit of [`Piece::flags`] that is not in the header: the capture contains an identical earlier packet.
const COPY: u8 = 0x80;

impl Piece {
    pub(super) fn new(packet: &Packet, at: i64) -> Self {
        let segment = &packet.segment;
        let bit = |flag, bit| if segment.is(flag) { bit } else { 0 };
        let ack = segment.ack.map_or(0, |ack| ack.0);
        let is_ack = if segment.ack.is_some() { ACK } else { 0 };
        let mut digest = 0x811c_9dc5_u32;
        let mut add = |word: u32| digest = (digest ^ word).wrapping_mul(0x0100_0193).rotate_left(5);
        add(packet.echo().unwrap_or(0));
        add(u32::from(segment.window));
        let mut first = None;
        for block in segment.options.sacks.as_slice() {
            first.get_or_insert([block.start.0, block.end.0]);
            add(block.start.0.wrapping_sub(ack));
            add(block.end.0.wrapping_sub(ack));
        }
        Self {
            at,
            packet: u32::try_from(packet.number).unwrap_or(u32::MAX),
            seq: segment.seq.0,
            len: segment.len,
            ack,
            value: packet.value().unwrap_or(0),
            digest,
            sack: first.unwrap_or_default(),
            id: packet.ip_id.unwrap_or(0),
            flags: bit(Flags::SYN, SYN) | bit(Flags::FIN, FIN) | bit(Flags::RST, RST) | is_ack,
        }
    }

    /// Returns the bits SYN, FIN and RST.
    pub(super) const fn kind(&self) -> u8 {
        self.flags & (SYN | FIN | RST)
    }

    pub(super) const fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }

    /// Marks the segment as a copy of an earlier one in its capture.
    pub(super) const fn as_copy(mut self) -> Self {
        self.flags |= COPY;
        self
    }

    /// Returns `true` if the capture contains an identical earlier packet.
    pub(super) const fn is_copy(&self) -> bool {
        self.flags & COPY != 0
    }

    pub(super) const fn is_syn(&self) -> bool {
        self.flags & SYN != 0
    }

    /// Returns the number of sequence numbers that the segment occupies.
    pub(super) const fn span(&self) -> u32 {
        let controls = (self.flags & (SYN | FIN)).count_ones();
        self.len.saturating_add(controls)
    }

    /// Undoes a shift by a middlebox that added `own` to the sequence numbers of the sender and `other` to those of the
    /// other endpoint.
    pub(super) const fn shifted(mut self, own: u32, other: u32) -> Self {
        self.seq = self.seq.wrapping_sub(own);
        if self.is_ack() {
            self.ack = self.ack.wrapping_sub(other);
        }
        let [start, end] = self.sack;
        if start != end {
            self.sack = [start.wrapping_sub(other), end.wrapping_sub(other)];
        }
        self
    }

    /// Returns `true` if the segment occupies sequence numbers and must therefore be acknowledged.
    pub(super) const fn is_data(&self) -> bool {
        self.span() > 0 && self.flags & RST == 0
    }
}

/// Segments of one direction in both captures.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    /// Segments in this capture.
    pub(super) here: Vec<Piece>,
    /// Segments in the other capture.
    pub(super) there: Vec<Piece>,
}

/// Divides packets that are larger than a segment. `smss` is the segment size of the diagnosis. The candidates for the
/// size are `smss`, the maximum packet length in the capture with shorter packets, and the most common length above
/// half of the maximum. The size with which most packets match is chosen, because segments may be smaller than the size
/// on which the endpoints agreed.
pub(super) fn cut(
    here: &[Piece],
    there: &[Piece],
    smss: Option<u32>,
    matching: impl Fn(&Pieces) -> usize,
) -> Pieces {
    let longest = |all: &[Piece]| all.iter().map(|piece| piece.len).max().unwrap_or(0);
    let lengths = [longest(here), longest(there)];
    let finer = lengths[0].min(lengths[1]);
    let is_whole = lengths[0] == lengths[1] && smss.is_none_or(|smss| finer <= smss);
    let mut sizes = vec![finer];
    if !is_whole {
        sizes.extend(smss);
        sizes.extend(commonest(if lengths[0] < lengths[1] {
            here
        } else {
            there
        }));
        sizes.sort_unstable();
        sizes.dedup();
    }
    let mut all = sizes.iter().map(|&size| Pieces {
        here: each(here, size),
        there: each(there, size),
    });
    let best = match sizes.len() {
        1 => all.next(),
        _ => all.max_by_key(matching),
    };
    best.unwrap_or_default()
}

/// Returns the most common length of packets with data. Lengths of at most half the maximum are ignored.
fn commonest(packets: &[Piece]) -> Option<u32> {
    let longest = packets.iter().map(|piece| piece.len).max()?;
    let mut counts: HashMap<u32, usize> = HashMap::new();
    for piece in packets.iter().filter(|piece| piece.len > longest / 2) {
        *counts.entry(piece.len).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|&(len, count)| (count, len));
    most.map(|(len, _)| len).filter(|&len| len > 0)
}

/// Returns at most [`PACKETS_MAX`] segments of at most `size` bytes.
fn each(packets: &[Piece], size: u32) -> Vec<Piece> {
    let mut all = Vec::with_capacity(packets.len());
    for packet in packets {
        if size == 0 || packet.len <= size {
            all.push(*packet);
            continue;
        }
        let mut piece = Piece {
            len: size,
            flags: packet.flags & !FIN,
            ..*packet
        };
        let mut left = packet.len;
        while left > size && all.len() < PACKETS_MAX {
            all.push(piece);
            piece.seq = piece.seq.wrapping_add(size);
            piece.id = piece.id.wrapping_add(1);
            left -= size;
        }
        piece.len = left;
        piece.flags = packet.flags;
        all.push(piece);
        if all.len() >= PACKETS_MAX {
            break;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_larger_than_a_segment_is_cut_into_several() {
        let whole = Piece {
            seq: u32::MAX - 999,
            len: 2500,
            id: u16::MAX,
            flags: FIN | 0x40,
            ..Piece::default()
        };
        let short = Piece {
            len: 1000,
            ..Piece::default()
        };
        let all = each(&[whole, short], 1000);
        let told: Vec<_> = all
            .iter()
            .map(|piece| (piece.seq, piece.len, piece.id, piece.flags))
            .collect();
        let parts = [
            (u32::MAX - 999, 1000, u16::MAX, 0x40),
            (0, 1000, 0, 0x40),
            (1000, 500, 1, FIN | 0x40),
            (0, 1000, 0, 0),
        ];
        assert_eq!(told, parts);
        assert_eq!(each(&[whole], 0), [whole]);
    }
}
