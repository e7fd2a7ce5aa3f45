//! End of a connection: FINs, and the reset that an endpoint obeyed.
//!
//! Anyone can send a packet with RST. An endpoint whose SYN is outstanding obeys a reset only if the reset acknowledges
//! the SYN (RFC 9293 §3.10.7.3). Later, it obeys only a reset whose sequence number lies in its receive window (RFC
//! 9293 §3.10.7.4, RFC 5961 §3.2). An endpoint that resets a connection deletes its state. If it continues to send, the
//! reset was not its own.

use dupack_tcp::connection::Flags;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;

use crate::read::handshake::Handshake;
use crate::read::packet::Packet;
use crate::read::side::{Both, Side};

/// Number of packets after which a reset counts as forged, because its apparent sender continued to send (our choice:
/// the reset may overtake packets in transit).
const PACKETS_AFTER: u32 = 3;

/// Shift assumed for a window whose scale is unknown: the maximum (RFC 7323 §2.3).
const SCALE_MAX: u8 = 14;

/// Packet with RST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Endpoint that sent the packet, according to its addresses.
    pub side: Side,
    /// Capture time.
    pub at: Instant,
    /// Packet number in the capture.
    pub packet: u64,
}

/// End of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Capture time of the first FIN from each endpoint; `None` without a FIN.
    pub fins: Both<Option<Instant>>,
    /// First reset that was obeyed, as far as the capture shows it.
    pub reset: Option<Reset>,
    /// First reset that was not obeyed.
    pub ignored: Option<Ignored>,
    /// Number of resets that were not obeyed.
    pub ignored_resets: u64,
}

/// Reset that was not obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The reset packet.
    pub reset: Reset,
    /// Reason for not obeying the reset.
    pub why: WhyIgnored,
}

/// Reason for not obeying a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyIgnored {
    /// The reset answers a SYN but does not acknowledge it.
    NotOfTheSyn,
    /// The sequence number of the reset lies outside the receive window.
    OutsideWindow,
    /// The apparent sender of the reset continued to send.
    WentOn,
}

impl Ending {
    /// Returns `true` if neither endpoint will send more data.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.reset.is_some() || (self.fins.opener.is_some() && self.fins.answerer.is_some())
    }
}

/// Detector of the end of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endings {
    ending: Ending,
    /// Next sequence number that each endpoint expects according to its ACKs, and its window in bytes.
    expected: Both<Option<(SeqNumber, u32)>>,
    /// Number of packets from the apparent sender of the reset since the reset.
    after: u32,
}

impl Endings {
    pub(crate) const fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Processes a packet from `side`. `scale` is the shift of its windows; `None` if unknown.
    pub(crate) fn take(
        &mut self,
        side: Side,
        packet: &Packet,
        handshake: &Handshake,
        scale: Option<u8>,
    ) {
        let segment = &packet.segment;
        if segment.is(Flags::RST) {
            return self.take_reset(side, packet, handshake);
        }
        if segment.is(Flags::FIN) {
            self.ending.fins.of_mut(side).get_or_insert(packet.at);
        }
        if let Some(ack) = segment.ack {
            let shift = if segment.is(Flags::SYN) {
                0
            } else {
                scale.unwrap_or(SCALE_MAX)
            };
            let window = u32::from(segment.window) << shift.min(SCALE_MAX);
            *self.expected.of_mut(side) = Some((ack, window));
        }
        let Some(reset) = self.ending.reset.filter(|reset| reset.side == side) else {
            return;
        };
        self.after += 1;
        if self.after >= PACKETS_AFTER && !segment.is(Flags::SYN) {
            self.ending.reset = None;
            self.ignore(reset, WhyIgnored::WentOn);
        }
    }

    fn take_reset(&mut self, side: Side, packet: &Packet, handshake: &Handshake) {
        let reset = Reset {
            side,
            at: packet.at,
            packet: packet.number,
        };
        match self.why_ignored(side, packet, handshake) {
            Some(why) => self.ignore(reset, why),
            None if self.ending.reset.is_none() => {
                self.ending.reset = Some(reset);
                self.after = 0;
            }
            None => {}
        }
    }

    fn why_ignored(
        &self,
        side: Side,
        packet: &Packet,
        handshake: &Handshake,
    ) -> Option<WhyIgnored> {
        let segment = &packet.segment;
        let other = side.other();
        if let Some((expected, window)) = *self.expected.of(other) {
            // The reset of an endpoint that has closed the connection may have the sequence number of the endpoint's
            // FIN.
            let beyond = segment.seq.0.wrapping_sub(expected.0);
            let just_before = segment.seq.0 == expected.0.wrapping_sub(1);
            return (beyond > window && !just_before).then_some(WhyIgnored::OutsideWindow);
        }
        let syn = handshake.syns.of(other).as_ref()?;
        let acknowledges = segment.ack.is_some_and(|ack| {
            let beyond = ack.0.wrapping_sub(syn.isn.0);
            beyond >= 1 && beyond <= syn.len.saturating_add(1)
        });
        (!acknowledges).then_some(WhyIgnored::NotOfTheSyn)
    }

    fn ignore(&mut self, reset: Reset, why: WhyIgnored) {
        self.ending.ignored.get_or_insert(Ignored { reset, why });
        self.ending.ignored_resets += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::from;

    /// Returns the end of a connection that consists of these packets.
    fn ending(packets: &[Packet]) -> Ending {
        let (mut endings, mut handshake) = (Endings::default(), Handshake::default());
        for packet in packets {
            let opener = crate::read::packet::tests::address(Side::Opener);
            let side = if packet.source == opener {
                Side::Opener
            } else {
                Side::Answerer
            };
            handshake.take(side, packet);
            endings.take(side, packet, &handshake, Some(0));
        }
        endings.ending
    }

    fn reset(side: Side, seq: u32) -> Packet {
        from(side, 5.0, seq).flags(Flags::RST)
    }

    #[test]
    fn a_reset_that_answers_a_syn_acknowledges_it() {
        let syn = from(Side::Opener, 0.0, 99).syn(1460);
        let refused = ending(&[syn, reset(Side::Answerer, 0).ack(100)]);
        assert_eq!(refused.reset.map(|reset| reset.side), Some(Side::Answerer));
        let forged = ending(&[syn, reset(Side::Answerer, 0).ack(7)]);
        assert_eq!(forged.reset, None);
        assert_eq!(
            forged.ignored.map(|ignored| ignored.why),
            Some(WhyIgnored::NotOfTheSyn)
        );
    }

    #[test]
    fn a_reset_outside_the_window_is_ignored() {
        let open = from(Side::Answerer, 1.0, 300).ack(1000).granting(50_000);
        for (seq, obeyed) in [
            (1000, true),
            (51_000, true),
            (999, true),
            (51_001, false),
            (900, false),
        ] {
            let ending = ending(&[open, reset(Side::Opener, seq)]);
            assert_eq!(ending.reset.is_some(), obeyed, "{seq}");
            assert_eq!(ending.ignored_resets, u64::from(!obeyed));
        }
    }

    #[test]
    fn an_endpoint_that_keeps_sending_did_not_reset_the_connection() {
        let open = from(Side::Answerer, 1.0, 300).ack(1000);
        let more = from(Side::Opener, 9.0, 1000).len(100);
        let one = ending(&[open, reset(Side::Opener, 1000), more]);
        assert!(one.reset.is_some());
        let several = ending(&[open, reset(Side::Opener, 1000), more, more, more]);
        assert_eq!(several.reset, None);
        assert_eq!(
            several.ignored.map(|ignored| ignored.why),
            Some(WhyIgnored::WentOn)
        );
    }
}
