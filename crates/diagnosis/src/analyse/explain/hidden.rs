//! Repairs of what the capture never showed: behind the place where a tail was lost, its repair looks
//! like new data.
//!
//! Where a sender numbers its packets (IPv4's identification, counted up by one), numbers are missing:
//! more than the bytes account for that were passed over. But a host's other packets take numbers, too: ACKs, of which the
//! capture may lack some, and those of its other connections. So missing numbers alone show nothing, and it takes a second
//! sign: the sender was in the middle of a message (what came last was not pushed), and then it was silent for longer than
//! any timer of a lost tail takes. Then this packet is not the first that carries these bytes, and as many packets after it
//! are repairs, too, as numbers are missing.
//!
//! At the sender's own end nothing is hidden.

use dupack_tcp::connection::Flags;
use dupack_tcp::time::Duration;

use super::clock::{Distance, Timing};
use crate::read::moment::Departure;

/// Packets in order that must have been numbered one by one before the numbers count (ours).
const TO_TRUST: u32 = 16;

/// Of this many one may be out of order, or have followed a loss (ours).
const IN_ORDER_OF: u32 = 8;

/// A timer that repairs a tail takes no less (ours: a probe of Linux's takes two round trips and no less than this).
const SILENCE_MIN: Duration = Duration::from_millis(10);

/// More missing packets in a row than this are no loss but another way of numbering (ours: a
/// window of 64 KiB in full segments has 45).
const MISSING_MAX: u64 = 4096;

/// What is told by the numbers of packets.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// The highest number.
    highest: Option<u16>,
    by_one: u32,
    otherwise: u32,
    /// Length of a full segment: the longest so far.
    full: u64,
    /// Before this offset everything had been sent when a hidden loss was found.
    edge: u64,
    /// Before this offset everything was seen, or passed over.
    seen_to: u64,
    /// State of the message after the last new data.
    message: Message,
}

/// State of the application's message when the last segment left, as far as PSH tells (RFC 9293 §3.9.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Message {
    /// It may have ended.
    #[default]
    Ended,
    UnderWay,
}

/// What a packet is that looks new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// As far as numbers tell, it is.
    New,
    /// Its bytes had been sent before, and all up to here.
    SentBefore {
        /// The end of what had been sent.
        edge: u64,
    },
}

impl Hidden {
    /// The sender has sent a packet without data.
    pub fn numbered(&mut self, id: u16) {
        self.missing(Some((id, id)));
    }

    /// Looks at the next packet.
    pub fn look(&mut self, departure: &Departure<'_>, timing: &Timing) -> Looks {
        let segments = departure.sent.len().max(1);
        let bytes = departure.end.saturating_sub(departure.start);
        self.full = self.full.max(bytes.div_ceil(segments as u64));
        // A packet that an interface cuts up has the number of its first segment, and the others' follow.
        let last = departure
            .ip_id
            .map(|id| id.wrapping_add((segments - 1) as u16));
        let missing = self.missing(departure.ip_id.zip(last));
        let pushed = departure.flags.contains(Flags::PSH) || departure.flags.contains(Flags::FIN);
        let now = match bytes {
            // A keep-alive says nothing of messages.
            0 => self.message,
            _ if pushed => Message::Ended,
            _ => Message::UnderWay,
        };
        let message = core::mem::replace(&mut self.message, now);
        // Data that the capture lacks took numbers, and may have ended a message; what was acknowledged meanwhile is among it.
        let lacking = departure.start.saturating_sub(self.seen_to);
        self.seen_to = self.seen_to.max(departure.end);
        let rtt = timing.rtt.smoothed;
        let silent = timing.silence >= rtt.max(SILENCE_MIN) && !rtt.is_zero();
        if timing.distance == Distance::Here {
            return Looks::New;
        }
        if departure.start < self.edge {
            return Looks::SentBefore { edge: self.edge };
        }
        let lacking = lacking.max(departure.unseen_bytes);
        let unaccounted = missing.saturating_sub(lacking.div_ceil(self.full.max(1)));
        let in_a_message = message == Message::UnderWay && lacking == 0;
        if unaccounted == 0 || !self.can_be_trusted() || !silent || !in_a_message {
            return Looks::New;
        }
        let beyond = (unaccounted - 1).saturating_mul(self.full);
        self.edge = departure.end.saturating_add(beyond);
        Looks::SentBefore { edge: self.edge }
    }

    /// How many packets were sent since the highest number that nobody saw, before one with the numbers from `id` to
    /// the last.
    fn missing(&mut self, ids: Option<(u16, u16)>) -> u64 {
        let Some((id, last)) = ids else { return 0 };
        let Some(highest) = self.highest.replace(last) else {
            return 0;
        };
        let step = id.wrapping_sub(highest) as i16;
        match step {
            1 => self.by_one = self.by_one.saturating_add(1),
            _ => self.otherwise = self.otherwise.saturating_add(1),
        }
        let step = u64::try_from(step).unwrap_or(0);
        if step == 0 {
            self.highest = Some(highest);
        }
        Some(step.saturating_sub(1))
            .filter(|&missing| missing <= MISSING_MAX)
            .unwrap_or(0)
    }

    const fn can_be_trusted(&self) -> bool {
        self.by_one >= TO_TRUST && self.otherwise <= self.by_one / IN_ORDER_OF
    }
}
