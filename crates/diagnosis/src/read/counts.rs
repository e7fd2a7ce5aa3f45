//! Packet counts of one endpoint, as tcptrace computes them (`tcptrace -l`).
//!
//! The definitions are those of tcptrace, so that the numbers can be compared. A retransmission is a packet with a
//! byte, SYN or FIN that was seen before. A packet is out of order if it begins in a gap that earlier packets left. A
//! packet that is sent while the peer's window is closed is a window probe, and counts neither as retransmitted nor as
//! out of order. A duplicate ACK has no data, and the same ACK number and window as the previous ACK.

use dupack_packet::captured::Cut;
use dupack_tcp::connection::Flags;
use dupack_tcp::segment::SackBlock;
use dupack_tcp::seq::SeqNumber;

use crate::read::packet::{Packet, is_after};
use crate::read::seen::SeenBytes;

/// Number of duplicate ACKs that make a triple (RFC 5681 §3.2).
const TRIPLE: u32 = 3;

/// Counts of the packets that one endpoint sent.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Number of all packets except copies.
    pub packets: u64,
    /// Number of second copies of packets that the capture contains twice. No other field counts them.
    pub copies: u64,
    /// Number of packets with an ACK.
    pub acks: u64,
    /// Number of ACKs without data, SYN or FIN.
    pub pure_acks: u64,
    /// Number of packets with SACK blocks.
    pub sacks: u64,
    /// Number of packets whose first block is a DSACK (RFC 2883).
    pub dsacks: u64,
    /// Maximum number of SACK blocks in a packet.
    pub sack_blocks_max: u64,
    /// Number of data bytes, each counted once.
    pub unique_bytes: u64,
    /// Number of packets with data.
    pub data_packets: u64,
    /// Number of data bytes, including retransmissions.
    pub data_bytes: u64,
    /// Number of packets with data, SYN or FIN that were seen before.
    pub retransmitted_packets: u64,
    /// Number of sequence numbers in these packets that were seen before.
    pub retransmitted_bytes: u64,
    /// Number of packets sent while the peer's window was closed.
    pub window_probe_packets: u64,
    /// Number of data bytes in these packets.
    pub window_probe_bytes: u64,
    /// Number of packets that fill a gap.
    pub out_of_order_packets: u64,
    /// Number of packets with data and the PSH flag.
    pub pushed_packets: u64,
    /// Number of packets with data and the URG flag.
    pub urgent_packets: u64,
    /// Number of SYNs.
    pub syns: u64,
    /// Number of FINs.
    pub fins: u64,
    /// Number of RSTs.
    pub resets: u64,
    /// Maximum payload of a packet, in bytes.
    pub segment_max: u32,
    /// Minimum nonzero payload of a packet, in bytes.
    pub segment_min: Option<u32>,
    /// Maximum advertised window, in bytes.
    pub window_max: u64,
    /// Minimum advertised window other than zero, in bytes.
    pub window_min: Option<u64>,
    /// Number of packets with a window of zero.
    pub zero_windows: u64,
    /// Number of duplicate ACKs.
    pub duplicate_acks: u64,
    /// Number of times that three duplicate ACKs arrived in a row.
    pub triple_duplicate_acks: u64,
    /// Number of packets with data that the capture truncated.
    pub truncated_packets: u64,
    /// Number of packets whose options the capture cut off.
    pub packets_without_options: u32,
    seen: SeenBytes,
    windows: Windows,
    acked: Acked,
}

/// Sum of the windows and number of packets, for the average window.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    sum: u64,
    packets: u64,
    scaled: bool,
    /// Last advertised window, in bytes.
    last: u64,
}

/// Last ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    last: Option<SeqNumber>,
    /// Number of consecutive duplicates of the last ACK.
    duplicates: u32,
    /// `true` if the peer has sent a packet other than a SYN, a RST or a repetition since the first ACK.
    has_peer_sent: bool,
}

impl Counts {
    /// Returns the average advertised window in bytes. If windows are scaled, only scaled windows count.
    #[must_use]
    pub fn window_average(&self) -> u64 {
        self.windows
            .sum
            .checked_div(self.windows.packets)
            .unwrap_or(0)
    }

    /// Returns the number of bytes from this endpoint that were acknowledged but are missing from the capture.
    #[must_use]
    pub fn unseen_bytes(&self) -> u64 {
        self.seen.unseen()
    }

    /// Counts a packet. `peer` contains the counts of the other endpoint, and `scale` is the window scale shift; `None`
    /// if unknown.
    pub(crate) fn take(&mut self, peer: &mut Self, packet: &Packet, scale: Option<u8>) {
        let segment = &packet.segment;
        let is_reset = segment.is(Flags::RST);
        self.packets += 1;
        let is_cut = u32::from(!packet.has_options());
        self.packets_without_options = self.packets_without_options.saturating_add(is_cut);
        self.syns += u64::from(segment.is(Flags::SYN));
        self.fins += u64::from(segment.is(Flags::FIN));
        self.resets += u64::from(is_reset);
        if segment.len > 0 {
            self.take_data(packet);
        }
        let again = self.take_sequence(peer, packet);
        let window = self.window(packet, scale);
        if segment.ack.is_some() {
            self.acks += 1;
            self.take_ack(peer, packet, window);
        }
        self.acked_by(peer, packet, again);
        if is_reset {
            return;
        }
        if segment.ack.is_some() {
            self.pure_acks += u64::from(segment.sequence_len() == 0);
            self.zero_windows += u64::from(window == 0);
            self.take_sacks(segment.options.sacks.as_slice(), segment.ack);
        }
        self.take_window(packet, window, scale);
    }

    fn take_data(&mut self, packet: &Packet) {
        let len = packet.segment.len;
        self.data_packets += 1;
        self.data_bytes += u64::from(len);
        self.pushed_packets += u64::from(packet.segment.is(Flags::PSH));
        self.urgent_packets += u64::from(packet.segment.is(Flags::URG));
        self.segment_max = self.segment_max.max(len);
        self.segment_min = Some(self.segment_min.map_or(len, |least| least.min(len)));
        self.truncated_packets += u64::from(packet.cut != Cut::Whole);
    }

    /// Counts repeated sequence numbers. Returns `true` if the packet is a retransmission or out of order.
    fn take_sequence(&mut self, peer: &Self, packet: &Packet) -> bool {
        let segment = &packet.segment;
        let len = segment.sequence_len();
        if len == 0 {
            return false;
        }
        let is_syn = segment.is(Flags::SYN);
        if peer.windows.last == 0 && peer.packets > 0 && !is_syn {
            self.window_probe_packets += 1;
            self.window_probe_bytes += u64::from(segment.len);
            self.seen.probe(segment.seq, len);
            return false;
        }
        let added = self.seen.add(segment.seq, len);
        self.out_of_order_packets += u64::from(added.out_of_order);
        if added.again > 0 {
            self.retransmitted_packets += 1;
            self.retransmitted_bytes += u64::from(added.again);
        }
        // SYN and FIN are not data.
        let repeated_syn = u32::from(is_syn && self.syns > 1);
        let repeated_fin = u32::from(segment.is(Flags::FIN) && self.fins > 1);
        let again = added.again.saturating_sub(repeated_syn + repeated_fin);
        self.unique_bytes += u64::from(segment.len.saturating_sub(again));
        added.again > 0 || added.out_of_order
    }

    /// Returns the window of a packet in bytes.
    fn window(&self, packet: &Packet, scale: Option<u8>) -> u64 {
        let segment = &packet.segment;
        let window = u64::from(segment.window);
        if segment.is(Flags::SYN) {
            window
        } else if segment.ack.is_some() {
            window << scale.unwrap_or(0).min(14)
        } else {
            0
        }
    }

    fn take_ack(&mut self, peer: &mut Self, packet: &Packet, window: u64) {
        let Some(ack) = packet.segment.ack else {
            return;
        };
        if !packet.segment.is(Flags::RST) {
            peer.seen.acknowledged(ack);
        }
        let duplicate = self.acked.last == Some(ack)
            && packet.segment.len == 0
            && window == self.windows.last
            && self.acked.has_peer_sent
            && peer.seen.has_before(ack);
        if duplicate {
            self.duplicate_acks += 1;
            self.acked.duplicates = self.acked.duplicates.saturating_add(1);
            self.triple_duplicate_acks += u64::from(self.acked.duplicates == TRIPLE);
        } else {
            self.acked.duplicates = 0;
        }
        if !packet.segment.is(Flags::RST) {
            self.acked.last = Some(ack);
        }
    }

    /// Records for the peer that this endpoint has sent a packet, unless the packet is a SYN, a RST, a repetition or
    /// out of order.
    fn acked_by(&self, peer: &mut Self, packet: &Packet, again: bool) {
        let syn = packet.segment.is(Flags::SYN) || packet.segment.is(Flags::RST);
        if !syn && !again && peer.acked.last.is_some() {
            peer.acked.has_peer_sent = true;
        }
    }

    fn take_sacks(&mut self, blocks: &[SackBlock], ack: Option<SeqNumber>) {
        let (Some(first), Some(ack)) = (blocks.first(), ack) else {
            return;
        };
        self.sacks += 1;
        self.sack_blocks_max = self.sack_blocks_max.max(blocks.len() as u64);
        let not_after = |one: SeqNumber, other: SeqNumber| !is_after(one.0, other.0);
        let below = not_after(first.end, ack);
        // The first block overlaps the second block or lies within it.
        let overlaps = blocks.get(1).is_some_and(|second| {
            is_after(first.end.0, second.start.0) && is_after(second.end.0, first.start.0)
        });
        self.dsacks += u64::from(below || overlaps);
    }

    fn take_window(&mut self, packet: &Packet, window: u64, scale: Option<u8>) {
        self.windows.last = window;
        let is_syn = packet.segment.is(Flags::SYN);
        if packet.segment.ack.is_none() && !is_syn {
            self.windows.packets += 1;
            return;
        }
        let begins = scale.is_some_and(|shift| shift > 0) && !is_syn && window > 0;
        if begins && !self.windows.scaled {
            // The windows of SYNs are not scaled, so they are discarded.
            self.windows = Windows {
                scaled: true,
                last: window,
                ..Windows::default()
            };
            self.window_max = 0;
            self.window_min = None;
        }
        self.windows.packets += 1;
        self.windows.sum = self.windows.sum.saturating_add(window);
        self.window_max = self.window_max.max(window);
        if window > 0 {
            self.window_min = Some(self.window_min.map_or(window, |least| least.min(window)));
        }
    }
}

#[cfg(test)]
mod tests;
