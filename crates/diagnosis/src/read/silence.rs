//! Silent endpoint: an endpoint that stops sending although the other endpoint requests an answer.
//!
//! Data, a FIN and a keep-alive request an ACK (RFC 9293 §3.8.4, §3.10.7.4). An endpoint is silent if it sends no
//! packet until the end of the connection's capture while the other endpoint requests an answer repeatedly. The capture
//! does not show whether the host, the path to it, or the path from it failed.

use dupack_tcp::connection::Flags;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::read::packet::{Packet, is_after};
use crate::read::side::{Both, Side};

/// Minimum number of repeated requests for an answer (our choice: the answer to a single repetition may be in transit).
const AGAIN_MIN: u32 = 2;

/// Minimum time from the first to the last request: the initial retransmission timeout (RFC 6298 §2.1).
const FOR_MIN: Duration = Duration::from_secs(1);

/// Endpoint that stopped sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The silent endpoint.
    pub side: Side,
    /// Capture time of the last packet from this endpoint.
    pub since: Instant,
    /// Capture number of that packet.
    pub last: u64,
    /// Unanswered packets of the other endpoint.
    pub asked: Asked,
}

/// Packets that request an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Number of segments with data, including retransmissions.
    pub data: u32,
    /// Number of FINs without data.
    pub fins: u32,
    /// Number of keep-alives.
    pub keep_alives: u32,
    /// Number of packets, among all three kinds, that repeat earlier ones.
    pub again: u32,
    /// Capture time of the first of these packets.
    pub first: Instant,
    /// Capture time of the last of these packets.
    pub last: Instant,
}

impl Asked {
    /// Returns the time from the first packet to the last.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.last.since(self.first)
    }
}

/// Packets of one endpoint that request an answer, since the last packet from the other endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct Asking {
    /// Sequence number after the data that this endpoint has sent.
    end: Option<SeqNumber>,
    asked: Asked,
    /// `true` if this endpoint has requested an answer.
    has_asked: bool,
    /// Capture number and time of this endpoint's last packet; the number is 0 before the first packet.
    last: u64,
    last_at: Instant,
}

impl Asking {
    fn take(&mut self, packet: &Packet) {
        self.last = packet.number;
        self.last_at = packet.at;
        let segment = &packet.segment;
        if segment.is(Flags::SYN) || segment.is(Flags::RST) {
            return;
        }
        let len = segment.sequence_len();
        let end = segment.seq.at(u64::from(len));
        let is_known = self.end.is_some_and(|known| !is_after(end.0, known.0));
        // A keep-alive starts one byte before the next new byte, and may carry one byte of data (RFC 9293 §3.8.4).
        let is_keep_alive = len <= 1
            && !segment.is(Flags::FIN)
            && self.end.is_some_and(|known| segment.seq.at(1) == known);
        if !is_known {
            self.end = Some(end);
        }
        if len == 0 && !is_keep_alive {
            return;
        }
        let asked = &mut self.asked;
        if !core::mem::replace(&mut self.has_asked, true) {
            asked.first = packet.at;
        }
        asked.last = packet.at;
        let kind = if is_keep_alive {
            &mut asked.keep_alives
        } else if segment.len > 0 {
            &mut asked.data
        } else {
            &mut asked.fins
        };
        *kind = kind.saturating_add(1);
        asked.again = asked.again.saturating_add(u32::from(is_known));
    }
}

/// Detector of silent endpoints in a connection. It takes no memory before the first ACK, because many SYNs are never
/// answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silences(Option<Box<Both<Asking>>>);

impl Silences {
    /// Processes a packet from `side`.
    pub(crate) fn take(&mut self, side: Side, packet: &Packet) {
        if self.0.is_none() && packet.segment.ack.is_none() {
            return;
        }
        let both = self.0.get_or_insert_default();
        both.of_mut(side).take(packet);
        let other = both.of_mut(side.other());
        if core::mem::take(&mut other.has_asked) {
            other.asked = Asked::default();
        }
    }

    /// Returns the silent endpoint, if there is one.
    pub(crate) fn silence(&self) -> Option<Silence> {
        let both = self.0.as_ref()?;
        Side::BOTH.into_iter().find_map(|side| {
            let Asking { last, last_at, .. } = *both.of(side);
            let asked = both.of(side.other()).asked;
            let enough = asked.again >= AGAIN_MIN && asked.duration() >= FOR_MIN;
            (enough && last > 0).then_some(Silence {
                side,
                since: last_at,
                last,
                asked,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::{address, from};

    /// Returns the silent endpoint after these packets.
    fn silence(packets: &[Packet]) -> Option<Silence> {
        let mut silences = Silences::default();
        for (packet, number) in packets.iter().zip(1..) {
            let packet = &packet.numbered(number);
            let opens = packet.source == address(Side::Opener);
            let side = if opens { Side::Opener } else { Side::Answerer };
            silences.take(side, packet);
        }
        silences.silence()
    }

    fn data(at: f64) -> Packet {
        from(Side::Opener, at, 1000).ack(5000).len(300)
    }

    fn ack(at: f64) -> Packet {
        from(Side::Answerer, at, 5000).ack(1300)
    }

    #[test]
    fn an_endpoint_that_ignores_repeated_requests_is_silent() {
        let before = from(Side::Answerer, 0.0, 5000).ack(1000);
        let asked = [data(100.0), data(400.0), data(1300.0)];
        let found = silence(&[[before].as_slice(), &asked].concat()).unwrap();
        assert_eq!(found.side, Side::Answerer);
        assert_eq!(found.since, before.at);
        assert_eq!((found.asked.data, found.asked.again), (3, 2));
        assert_eq!(found.asked.duration(), Duration::from_millis(1200));
        // An answer ends the silence, regardless of its delay.
        let answered = [[before].as_slice(), &asked, &[ack(9000.0)]].concat();
        assert_eq!(silence(&answered), None);
        // The capture has no packet from the endpoint, so it does not count as silent.
        assert_eq!(silence(&asked), None);
    }

    #[test]
    fn new_data_and_quick_repetitions_show_no_silence() {
        let before = from(Side::Answerer, 0.0, 5000).ack(1000);
        let new = |n: u32| from(Side::Opener, f64::from(n) * 1000.0, 1000 + n * 300).len(300);
        assert_eq!(silence(&[before, new(0), new(1), new(2), new(3)]), None);
        assert_eq!(
            silence(&[before, data(100.0), data(300.0), data(700.0)]),
            None
        );
        let pure = |at| from(Side::Opener, at, 1000).ack(5000);
        assert_eq!(
            silence(&[before, pure(0.0), pure(3000.0), pure(6000.0)]),
            None
        );
    }

    #[test]
    fn keep_alives_and_fins_ask_for_an_ack() {
        for len in [0, 1] {
            let probe = |at| from(Side::Opener, at, 1299).ack(5000).len(len);
            let all = [data(0.0), ack(100.0), probe(10e3), probe(12e3), probe(14e3)];
            let found = silence(&all).unwrap();
            assert_eq!((found.asked.keep_alives, found.asked.data), (3, 0), "{len}");
        }
        let fin = |at| from(Side::Opener, at, 1300).ack(5000).flags(Flags::FIN);
        let found = silence(&[data(0.0), ack(100.0), fin(200.0), fin(500.0), fin(1400.0)]).unwrap();
        assert_eq!((found.asked.fins, found.asked.again), (3, 2));
    }
}
