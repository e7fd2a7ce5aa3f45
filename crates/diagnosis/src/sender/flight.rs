//! Amount of data in the network, inferred from packets.
//!
//! With SACK, this is FACK's count: the data beyond the highest SACK, plus retransmitted data that is not acknowledged
//! (Mathis and Mahdavi, SIGCOMM 1996). The count of each recovery algorithm differs from this one by at most the
//! duplicate threshold, so this count is accurate enough for the size of a window. Without SACK, each duplicate ACK
//! means that one segment has left the network. After a timeout, all outstanding data counts as lost.

use dupack_tcp::connection::Flags;
use dupack_tcp::facts::View;

use crate::analyse::cause::Cause;
use crate::read::moment::{Arrival, Departure, Explained};

/// Counter of the data in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    /// Size of a full segment in bytes: the announced size, and the largest size seen in segments that do not end a
    /// message.
    announced: u64,
    smss: u64,
    /// Number of bytes that were retransmitted and are not acknowledged.
    repeated: u64,
    /// End of the data that was outstanding at the last timeout.
    lost_below: u64,
    dup_acks: u64,
    sack: Sack,
    /// SND.NXT before the current departure.
    nxt: u64,
}

/// Presence of selective ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sack {
    /// No selective ACK has arrived.
    #[default]
    Unseen,
    /// A selective ACK has arrived.
    Seen,
}

impl Flight {
    /// Creates a counter with no data in flight; `announced` is the announced size of a full segment in bytes.
    pub fn new(announced: u32) -> Self {
        Self {
            announced: u64::from(announced),
            ..Self::default()
        }
    }

    /// Returns the size of a full segment in bytes; at least 1.
    pub fn smss(&self) -> u64 {
        if self.smss == 0 {
            self.announced.max(1)
        } else {
            self.smss
        }
    }

    pub fn sack(&self) -> Sack {
        self.sack
    }

    /// Returns SND.NXT after the last event.
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    pub fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        let cause = explained.retransmission.map(|r| r.cause);
        if matches!(cause, Some(Cause::Timeout { .. })) {
            self.lost_below = self.nxt;
            self.repeated = 0;
        }
        for sent in departure.sent {
            let len = u64::from(sent.segment.len);
            // The last segment of a message may be short, even if it is the longest segment so far.
            let goes_on = !departure.flags.contains(Flags::PSH);
            if goes_on || len >= self.announced {
                self.smss = self.smss.max(len);
            }
            // A retransmission of a lost retransmission is already counted.
            if sent.segment.transmissions > 1 && cause != Some(Cause::LostAgain) {
                self.repeated = self.repeated.saturating_add(len);
            }
        }
        self.nxt = departure.view.scoreboard.nxt();
    }

    pub fn arrived(&mut self, arrival: &Arrival<'_>) {
        let facts = &arrival.facts;
        if facts.sacked_bytes > 0 {
            self.sack = Sack::Seen;
        }
        self.dup_acks = u64::from(facts.dup_acks);
        for delivered in facts.delivered {
            if delivered.segment.transmissions > 1 {
                let len = u64::from(delivered.segment.len);
                self.repeated = self.repeated.saturating_sub(len);
            }
        }
        self.nxt = arrival.view.scoreboard.nxt();
        if arrival.view.flight_size() == 0 {
            self.repeated = 0;
        }
    }

    /// Returns the number of bytes in flight.
    pub fn bytes(&self, view: &View<'_>) -> u64 {
        let board = view.scoreboard;
        let outstanding = board.flight_size();
        match self.sack {
            Sack::Seen => {
                let edge = board.forward_ack().max(board.una()).max(self.lost_below);
                let beyond = board.nxt().saturating_sub(edge);
                beyond.saturating_add(self.repeated).min(outstanding)
            }
            Sack::Unseen if self.lost_below > board.una() => {
                let beyond = board.nxt().saturating_sub(self.lost_below);
                beyond.saturating_add(self.repeated).min(outstanding)
            }
            Sack::Unseen => outstanding.saturating_sub(self.dup_acks.saturating_mul(self.smss)),
        }
    }

    /// Returns the data in flight in full segments.
    pub fn segments(&self, view: &View<'_>) -> f32 {
        self.bytes(view) as f32 / self.smss() as f32
    }
}
