//! A TCP packet of a capture, as a connection is told of it.

use std::net::SocketAddr;

use dupack_packet::CaptureTime;
use dupack_packet::captured::{Cut, TcpPacket};
use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;

/// A TCP packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// When it was captured, counted from the capture's first packet.
    pub at: Instant,
    /// Where it comes from.
    pub source: SocketAddr,
    /// Where it goes.
    pub destination: SocketAddr,
    /// Its TCP header.
    pub segment: Segment,
    /// IPv4's identification; there is none in IPv6.
    pub ip_id: Option<u16>,
    /// IPv4's time to live, IPv6's hop limit.
    pub hop_limit: u8,
    /// The interface that it was captured on.
    pub interface: u32,
    /// Where it was cut off when it was captured.
    pub cut: Cut,
}

impl Packet {
    /// A packet of a capture whose first packet was captured at `first`.
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

    /// Whether the capture has its options.
    #[must_use]
    pub fn has_options(&self) -> bool {
        self.cut < Cut::Options
    }

    /// The window field, if the capture has it.
    #[must_use]
    pub fn window(&self) -> Option<u16> {
        (self.cut < Cut::Window).then_some(self.segment.window)
    }

    /// The number of its first byte of data, past a SYN.
    #[must_use]
    pub fn data_seq(&self) -> SeqNumber {
        self.segment.seq.at(u64::from(self.segment.is(Flags::SYN)))
    }

    /// Bytes of data, and one more for a FIN.
    #[must_use]
    pub fn data_len(&self) -> u32 {
        let fin = u32::from(self.segment.is(Flags::FIN));
        self.segment.len.saturating_add(fin)
    }

    /// Whether it carries something of the stream: data or a FIN. What a RST carries is a text for people
    /// (RFC 9293 §3.5.3).
    #[must_use]
    pub fn is_of_stream(&self) -> bool {
        self.data_len() > 0 && !self.segment.is(Flags::RST)
    }

    /// TSval, if it has timestamps.
    #[must_use]
    pub fn value(&self) -> Option<u32> {
        self.segment.options.timestamps.map(|stamps| stamps.value)
    }

    /// TSecr, if it has timestamps. Without ACK it means nothing (RFC 7323 §3.2).
    #[must_use]
    pub fn echo(&self) -> Option<u32> {
        let stamps = self.segment.ack.and(self.segment.options.timestamps);
        stamps.map(|stamps| stamps.echo)
    }
}

/// Whether `one` comes after `other` in the modular order of sequence numbers and timestamps
/// (RFC 9293 §3.4, RFC 7323 §5.2).
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

    /// An instant, in milliseconds, to a microsecond.
    pub(crate) fn ms(ms: f64) -> Instant {
        Instant::ZERO + Duration::from_micros((ms * 1e3).round() as u64)
    }

    /// The address of a side: 10.0.0.1 has opened a connection to 10.0.0.2.
    pub(crate) fn address(side: Side) -> SocketAddr {
        match side {
            Side::Opener => (Ipv4Addr::new(10, 0, 0, 1), 4000).into(),
            Side::Answerer => (Ipv4Addr::new(10, 0, 0, 2), 80).into(),
        }
    }

    /// A packet from `side`, an ACK of 1 without data; the steps that follow change it.
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

        /// A SYN: without ACK from the opener.
        pub(crate) fn syn(mut self, mss: u16) -> Self {
            if self.source == address(Side::Opener) {
                self.segment.ack = None;
            }
            self.segment.options.mss = Some(mss);
            self.flags(Flags::SYN)
        }
    }

    #[test]
    fn a_packet_knows_what_of_the_stream_it_carries() {
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
    fn the_order_of_numbers_goes_round() {
        assert!(is_after(5, u32::MAX) && !is_after(u32::MAX, 5) && !is_after(5, 5));
    }
}
