//! Stalls that ended with a packet of the peer: a request, a late ACK, or an ACK that the receiver delayed.
//!
//! A receiver delays the ACK of less than two full segments, in order to send it together with data (RFC 9293
//! §3.8.6.3). If the ACK arrives with data, the sender waited for the peer's next message, and the delay of the ACK did
//! not matter. If it arrives without data, the receiver's timer expired: after 40 ms on Linux, FreeBSD and macOS, and
//! after 200 ms on Windows and older BSDs. The network may also delay a packet by this time, so a single delay is not
//! attributed to the receiver.

use dupack_tcp::time::{Duration, Instant};

use super::{Before, Remedy, Stall, StallKind, Stalls, WaitedFor};

/// Ranges of the delay of ACKs by receivers (Linux: `TCP_DELACK_MIN`, minus a tick of 10 ms; Windows and BSD: 200 ms).
/// The upper ends are our choice, because timers of a busy host expire late.
const DELAYS: [(Duration, Duration); 2] = [
    (Duration::from_millis(30), Duration::from_millis(60)),
    (Duration::from_millis(180), Duration::from_millis(220)),
];

/// Maximum delay of an ACK by nearly all receivers (our choice; RFC 9293 §3.8.6.3 permits half a second).
const DELAY_MAX: Duration = Duration::from_millis(220);

/// Minimum number of delayed ACKs for a delay to be attributed to the receiver (our choice).
const DELAYED_MIN: u64 = 2;

/// Number of full segments that a receiver acknowledges at once (RFC 9293 §3.8.6.3).
const SEGMENTS_FOR_ACK: u64 = 2;

/// Packet of the peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    /// Number of bytes that this packet newly acknowledges; `None` unless it acknowledges everything outstanding.
    pub(super) rest: Option<u64>,
    /// `true` if the packet carries data.
    pub(super) carries: bool,
}

impl Stalls {
    /// Records data of the peer, possibly a request. It ends the wait for a request, even if it acknowledges no new
    /// data. If the packet acknowledges everything outstanding, `rest` is the number of bytes that it newly
    /// acknowledges, according to the capture. More bytes may be outstanding, because earlier ACKs may not have reached
    /// the sender yet.
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

    /// Records that the current segment had waited for the last ACK because of Nagle's algorithm.
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

    /// Adds the stall before the last ACK, with the kind that is known now.
    pub(super) fn settle_held(&mut self) {
        if let Some(stall) = self.held.take() {
            self.found.add(stall);
        }
    }

    /// Classifies a stall that ended with a packet of the peer.
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

    /// `true` if a receiver may delay the ACK of this number of bytes.
    fn is_too_little(&self, bytes: u64) -> bool {
        let full = self.smss.max(self.mss);
        bytes < full.saturating_mul(SEGMENTS_FOR_ACK)
    }

    /// Returns the number of outstanding bytes, and the delay of their ACK in excess of one round trip after the last
    /// data; the delay is `None` unless the receiver may have delayed the ACK.
    fn delay_of_ack(&self, before: &Before, at: Instant, came: Came) -> (u64, Option<Duration>) {
        let flight = before.flight.min(came.rest.unwrap_or(before.flight));
        let few = came.rest.is_some() && self.is_too_little(flight);
        let waited = at.since(self.left_at);
        let delay = before.least.filter(|_| few).map(|least| waited - least);
        (flight, delay)
    }

    /// Counts an ACK that was sent because a timer of the receiver expired, even if its delay was not a stall.
    pub(super) fn count_delay(&mut self, at: Instant, came: Came) {
        let Some(before) = self.before.filter(|_| !came.carries) else {
            return;
        };
        let (flight, delay) = self.delay_of_ack(&before, at, came);
        let delayed = flight > 0 && delay.is_some_and(is_of_a_timer);
        self.delays += u64::from(delayed);
    }

    /// Attributes delayed ACKs to the network if there were too few of them.
    pub(super) fn doubt_delayed_acks(&mut self) {
        if self.delays < DELAYED_MIN {
            let (one, other) = (StallKind::DelayedAck, StallKind::PacketDelay);
            self.found.rename(one, other);
        }
    }
}

/// `true` if a receiver's timer delays ACKs by this time.
fn is_of_a_timer(delay: Duration) -> bool {
    let mut ranges = DELAYS.into_iter();
    ranges.any(|(from, to)| (from..=to).contains(&delay))
}
