//! Stalls that a packet of the peer ended: a request, an ACK that was late, or one that its receiver had delayed.
//!
//! A receiver delays the ACK of less than two full segments, in the hope of data to send with it (RFC 9293 §3.8.6.3). Where that data
//! came, the sender waited for the other end's next word, and the ACK is no later than that. Where it did not, the delay ran out:
//! 40 ms at Linux, FreeBSD and macOS, 200 ms at Windows and older BSDs. A network that delays one packet may look alike once, so that a
//! single one is not told as the receiver's.

use dupack_tcp::time::{Duration, Instant};

use super::{Before, Remedy, Stall, StallKind, Stalls, WaitedFor};

/// What receivers delay an ACK by (Linux: `TCP_DELACK_MIN`, less a tick of 10 ms; Windows and BSD: 200 ms), from and to. The upper
/// ends are ours: a busy host's timers are late.
const DELAYS: [(Duration, Duration); 2] = [
    (Duration::from_millis(30), Duration::from_millis(60)),
    (Duration::from_millis(180), Duration::from_millis(220)),
];

/// Hardly any receiver delays an ACK by more (ours; RFC 9293 §3.8.6.3 permits half a second).
const DELAY_MAX: Duration = Duration::from_millis(220);

/// A receiver that delays ACKs does so more than once (ours).
const DELAYED_MIN: u64 = 2;

/// A receiver acknowledges so many full segments at once (RFC 9293 §3.8.6.3).
const SEGMENTS_FOR_ACK: u64 = 2;

/// A packet of the peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    /// If it acknowledges everything that is outstanding, the bytes that no ACK before did.
    pub(super) rest: Option<u64>,
    /// It carries data.
    pub(super) carries: bool,
}

impl Stalls {
    /// Data of the peer came, a request perhaps: what ends the waiting for one, though as an ACK it may tell nothing new. If it
    /// acknowledges everything that is outstanding, `rest` are the bytes that no ACK before did, though the sender may not have had
    /// that one yet.
    pub fn asked(&mut self, at: Instant, packet: u64, rest: Option<u64>) {
        let Some(before) = self.before else {
            return;
        };
        self.settle_held();
        let carries = true;
        self.end_by_arrival(at, packet, Came { rest, carries });
        self.before = Some(Before {
            at: before.at.max(at),
            packet,
            ..before
        });
    }

    /// A segment that leaves now had waited for the last ACK by Nagle's algorithm.
    pub fn held_by_nagle(&mut self) {
        if let Some(stall) = &mut self.held {
            (stall.kind, stall.remedy) = (StallKind::Nagle, Remedy::NoDelay);
        }
    }

    pub(super) fn end_by_arrival(&mut self, at: Instant, packet: u64, came: Came) {
        let Some((before, stall)) = self.gap(at, packet) else {
            return;
        };
        let (kind, waited_for, remedy) = self.by_arrival(&before, at, came);
        let stall = Stall {
            kind,
            waited_for,
            remedy,
            ..stall
        };
        let Some(stall) = self.while_open(stall) else {
            return;
        };
        match kind {
            StallKind::ClientIdle => self.idle.add(stall),
            StallKind::DelayedAck | StallKind::PacketDelay => self.held = Some(stall),
            _ => self.found.add(stall),
        }
    }

    /// The stall before the last ACK is what it seemed to be, or what was told of it since.
    pub(super) fn settle_held(&mut self) {
        if let Some(stall) = self.held.take() {
            self.found.add(stall);
        }
    }

    /// A stall that ended with a packet of the peer.
    fn by_arrival(
        &self,
        before: &Before,
        at: Instant,
        came: Came,
    ) -> (StallKind, WaitedFor, Remedy) {
        if self.is_shut(before) {
            return (StallKind::ZeroWindow, WaitedFor::Window, Remedy::Reading);
        }
        let (flight, delay) = self.delay_of_ack(before, at, came);
        match delay {
            _ if flight == 0 => (StallKind::ClientIdle, WaitedFor::Request, Remedy::None),
            Some(delay) if came.carries && delay <= DELAY_MAX => {
                (StallKind::ClientIdle, WaitedFor::Request, Remedy::None)
            }
            Some(delay) if !came.carries && is_of_a_timer(delay) => {
                (StallKind::DelayedAck, WaitedFor::Ack, Remedy::None)
            }
            _ => (StallKind::PacketDelay, WaitedFor::Ack, Remedy::None),
        }
    }

    /// `true` if a receiver may delay the ACK of so many bytes.
    fn is_too_little(&self, bytes: u64) -> bool {
        let full = self.smss.max(self.mss);
        bytes < full.saturating_mul(SEGMENTS_FOR_ACK)
    }

    /// The bytes that were outstanding, and how much later than a round trip after the last data an ACK of them came, if its receiver
    /// may have delayed it.
    fn delay_of_ack(&self, before: &Before, at: Instant, came: Came) -> (u64, Option<Duration>) {
        let flight = before.flight.min(came.rest.unwrap_or(before.flight));
        let few = came.rest.is_some() && self.is_too_little(flight);
        let waited = at.since(self.left_at);
        let delay = before.least.filter(|_| few).map(|least| waited - least);
        (flight, delay)
    }

    /// Counts an ACK that a timer of the receiver sent, whether its delay was a stall or not.
    pub(super) fn count_delay(&mut self, at: Instant, came: Came) {
        let Some(before) = self.before.filter(|_| !came.carries) else {
            return;
        };
        let (flight, delay) = self.delay_of_ack(&before, at, came);
        let delayed = flight > 0 && delay.is_some_and(is_of_a_timer);
        self.delays += u64::from(delayed);
    }

    /// Takes a delay that came but once for the network's.
    pub(super) fn doubt_delayed_acks(&mut self) {
        if self.delays < DELAYED_MIN {
            let (one, other) = (StallKind::DelayedAck, StallKind::PacketDelay);
            self.found.rename(one, other);
        }
    }
}

/// `true` if a receiver's timer delays an ACK by so much.
fn is_of_a_timer(delay: Duration) -> bool {
    let mut ranges = DELAYS.into_iter();
    ranges.any(|(from, to)| (from..=to).contains(&delay))
}
