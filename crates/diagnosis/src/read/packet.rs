//! TCP packet of a capture, as a connection receives it.

use std::net::SocketAddr;

use dupack_packet::CaptureTime;
use dupack_packet::captured::{Cut, TcpPacket};
use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;

/// TCP packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Packet number in the capture, from 1.
    pub number: u64,
    /// Capture time, counted from the first packet of the capture.
    pub at: Instant,
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// TCP header.
    pub segment: Segment,
    /// IPv4 identification; `None` in IPv6.
    pub ip_id: Option<u16>,
    /// Time to live (IPv4) or hop limit (IPv6).
    pub hop_limit: u8,
    /// Interface on which the packet was captured.
    pub interface: u32,
    /// Point at which the capture cut the packet off.
    pub cut: Cut,
}

impl Packet {
    /// Creates a packet of a capture whose first packet was captured at `first`.
    #[must_use]
    #[inline]
    pub fn new(packet: &TcpPacket, first: CaptureTime) -> Self {
        let nanos = packet
            .at
            .as_unix_nanos()
            .saturating_sub(first.as_unix_nanos());
        Self {
            number: packet.number,
            at: Instant::from_nanos(nanos),
            source: packet.source,
            destination: packet.destination,
            segment: packet.segment,
            ip_id: packet.ip_id,
            hop_limit: packet.hop_limit,
            interface: packet.interface,
            cut: packet.cut,
        }
    }

    /// Returns `true` if the capture has the options of the packet.
    #[must_use]
    pub fn has_options(&self) -> bool {
        self.cut < Cut::Options
    }

    /// Returns the window field, if the capture has it.
    #[must_use]
    pub fn window(&self) -> Option<u16> {
        (self.cut < Cut::Window).then_some(self.segment.window)
    }

    /// Returns the sequence number of the first data byte, which follows a SYN.
    #[must_use]
    pub fn data_seq(&self) -> SeqNumber {
        self.segment.seq.at(u64::from(self.segment.is(Flags::SYN)))
    }

    /// Returns the number of data bytes, plus one for a FIN.
    #[must_use]
    pub fn data_len(&self) -> u32 {
        let fin = u32::from(self.segment.is(Flags::FIN));
        self.segment.len.saturating_add(fin)
    }

    /// Returns `true` if the packet carries a part of the stream: data or a FIN. Data in a RST does not count, because
    /// it is a diagnostic text (RFC 9293 §3.5.3).
    #[must_use]
    pub fn is_of_stream(&self) -> bool {
        self.data_len() > 0 && !self.segment.is(Flags::RST)
    }

    /// Returns TSval; `None` if the packet has no timestamps.
    #[must_use]
    pub fn value(&self) -> Option<u32> {
        self.segment.options.timestamps.map(|stamps| stamps.value)
    }

    /// Returns TSecr; `None` if the packet has no timestamps or no ACK. Without an ACK, TSecr has no meaning (RFC 7323
    /// §3.2).
    #[must_use]
    pub fn echo(&self) -> Option<u32> {
        let stamps = self.segment.ack.and(self.segment.options.timestamps);
        stamps.map(|stamps| stamps.echo)
    }
}

/// Returns `true` if `one` comes after `other` in the modular order of sequence numbers and timestamps (RFC 9293 §3.4,
/// RFC 7323 §5.2).
#[must_use]
pub(crate) const fn is_after(one: u32, other: u32) -> bool {
    one.wrapping_sub(other) as i32 > 0
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use dupack_tcp::connection::{Flags, Segment, Timestamps};
    use dupack_tcp::segment::SackBlock;
    use dupack_tcp::seq::SeqNumber;
    use dupack_tcp::time::{Duration, Instant};

    use super::*;
    use crate::read::side::Side;

    /// Returns the time `ms` in milliseconds as an instant, rounded to a microsecond.
    pub(crate) fn ms(ms: f64) -> Instant {
        Instant::ZERO + Duration::from_micros((ms * 1e3).round() as u64)
    }

    /// Returns the address of a side: 10.0.0.1 has opened the connection to 10.0.0.2.
    pub(crate) fn address(side: Side) -> SocketAddr {
        match side {
            Side::Opener => (Ipv4Addr::new(10, 0, 0, 1), 4000).into(),
            Side::Answerer => (Ipv4Addr::new(10, 0, 0, 2), 80).into(),
        }
    }

    /// Returns a packet from `side`: an ACK of 1 without data, which the methods below modify.
    pub(crate) fn from(side: Side, at: f64, seq: u32) -> Packet {
        let mut segment = Segment::new(SeqNumber(seq));
        segment.ack = Some(SeqNumber(1));
        segment.window = 50_000;
        Packet {
            number: 0,
            at: ms(at),
            source: address(side),
            destination: address(side.other()),
            segment,
            ip_id: None,
            hop_limit: 64,
            interface: 0,
            cut: Cut::Payload,
        }
    }

    impl Packet {
        pub(crate) fn numbered(mut self, number: u64) -> Self {
            self.number = number;
            self
        }

        pub(crate) fn len(mut self, len: u32) -> Self {
            self.segment.len = len;
            self
        }

        pub(crate) fn ack(mut self, ack: u32) -> Self {
            self.segment.ack = Some(SeqNumber(ack));
            self
        }

        pub(crate) fn granting(mut self, window: u16) -> Self {
            self.segment.window = window;
            self
        }

        pub(crate) fn flags(mut self, flags: Flags) -> Self {
            self.segment.flags = self.segment.flags.with(flags);
            self
        }

        pub(crate) fn id(mut self, id: u16) -> Self {
            self.ip_id = Some(id);
            self
        }

        pub(crate) fn stamps(mut self, value: u32, echo: u32) -> Self {
            self.segment.options.timestamps = Some(Timestamps { value, echo });
            self
        }

        pub(crate) fn sack(mut self, start: u32, end: u32) -> Self {
            self.segment.options.sacks.push(SackBlock {
                start: SeqNumber(start),
                end: SeqNumber(end),
            });
            self
        }

        /// Turns the packet into a SYN with this MSS. The opener's SYN has no ACK.
        pub(crate) fn syn(mut self, mss: u16) -> Self {
            if self.source == address(Side::Opener) {
                self.segment.ack = None;
            }
            self.segment.options.mss = Some(mss);
            self.flags(Flags::SYN)
        }
    }

    #[test]
    fn a_packet_knows_its_part_of_the_stream() {
        let syn = from(Side::Opener, 0.0, 9).syn(1000).len(5);
        assert_eq!((syn.data_seq(), syn.data_len()), (SeqNumber(10), 5));
        let fin = from(Side::Opener, 0.0, 9).flags(Flags::FIN);
        assert_eq!((fin.data_seq(), fin.data_len()), (SeqNumber(9), 1));
        assert!(fin.is_of_stream() && !fin.flags(Flags::RST).is_of_stream());
        assert!(!from(Side::Opener, 0.0, 9).is_of_stream());
    }

    #[test]
    fn a_syn_echoes_nothing() {
        let syn = from(Side::Opener, 0.0, 9).syn(1000).stamps(7, 3);
        assert_eq!((syn.value(), syn.echo()), (Some(7), None));
        assert_eq!(from(Side::Opener, 0.0, 9).stamps(7, 3).echo(), Some(3));
    }

    #[test]
    fn the_order_of_numbers_wraps_around() {
        assert!(is_after(5, u32::MAX) && !is_after(u32::MAX, 5) && !is_after(5, 5));
    }
}
