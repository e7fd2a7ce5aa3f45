//! Retransmissions of data whose first transmission is not in the capture. If the capture point is after the place of a
//! tail loss on the path, the retransmission looks like new data.
//!
//! If a sender numbers its packets (IPv4's identification, incremented by one), the numbers of the lost packets are
//! missing. Missing numbers alone are no evidence, because other packets of the host also have numbers: ACKs, some of
//! which may be missing from the capture, and packets of other connections. A second sign is required: the sender was
//! in the middle of a message (the last segment had no PSH), and then sent nothing for longer than any timer for a tail
//! loss takes. In this case, the packet is a retransmission. If several numbers are missing, the following packets are
//! also retransmissions, one for each missing number.
//!
//! In a capture taken at the sender, no data is hidden.

use dupack_tcp::connection::Flags;
use dupack_tcp::time::Duration;

use super::clock::{Distance, Timing};
use crate::read::moment::Departure;

/// Minimum number of packets with consecutive numbers for the numbers to count as evidence (our choice).
const TO_TRUST: u32 = 16;

/// Inverse of the maximum fraction of packets that may be out of order or follow a loss (our choice).
const IN_ORDER_OF: u32 = 8;

/// Lower bound of the timers for a tail loss (our choice: Linux's probe waits for two round trips, and at least for
/// this time).
const SILENCE_MIN: Duration = Duration::from_millis(10);

/// Maximum number of consecutive missing packets. If more numbers are missing, the packets were not lost; the host
/// numbers packets in another way (our choice: a window of 64 KiB has 45 full segments).
const MISSING_MAX: u64 = 4096;

/// Evidence from the identification numbers of packets.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// Highest number so far; `None` before the first packet.
    highest: Option<u16>,
    by_one: u32,
    otherwise: u32,
    /// Length of a full segment: the maximum so far.
    full: u64,
    /// End of the data that had been sent when a hidden loss was detected.
    edge: u64,
    /// End of the data that was captured or skipped.
    seen_to: u64,
    /// State of the message after the last new data.
    message: Message,
}

/// State of the application's message after the last segment, as far as PSH shows it (RFC 9293 §3.9.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Message {
    /// The message may have ended.
    #[default]
    Ended,
    UnderWay,
}

/// Kind of a packet that looks new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// The numbers do not show that the packet was sent before.
    New,
    /// The bytes of the packet had been sent before, and so had all bytes up to `edge`.
    SentBefore {
        /// End of the data that had been sent.
        edge: u64,
    },
}

impl Hidden {
    /// Records a packet of the sender without data.
    pub fn numbered(&mut self, id: u16) {
        self.missing(Some((id, id)));
    }

    /// Examines the next packet.
    pub fn look(&mut self, departure: &Departure<'_>, timing: &Timing) -> Looks {
        let segments = departure.sent.len().max(1);
        let bytes = departure.end.saturating_sub(departure.start);
        self.full = self.full.max(bytes.div_ceil(segments as u64));
        // An interface that splits a packet gives the packet's number to the first segment, and the following numbers
        // to the other segments.
        let last = departure
            .ip_id
            .map(|id| id.wrapping_add((segments - 1) as u16));
        let missing = self.missing(departure.ip_id.zip(last));
        let pushed = departure.flags.contains(Flags::PSH) || departure.flags.contains(Flags::FIN);
        let now = match bytes {
            // A keep-alive carries no information about messages.
            0 => self.message,
            _ if pushed => Message::Ended,
            _ => Message::UnderWay,
        };
        let message = core::mem::replace(&mut self.message, now);
        // Packets with data that is missing from the capture also had numbers, and may have ended a message. This
        // includes data acknowledged in the meantime.
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

    /// Returns the number of packets that are missing between the highest number so far and a packet with the given
    /// first and last number.
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
