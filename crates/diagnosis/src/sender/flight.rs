//! How much is in the network, as the packets tell it.
//!
//! With SACK it is FACK's count: what lies beyond the highest SACK, and what was sent again and is
//! not acknowledged (Mathis and Mahdavi, SIGCOMM 1996). Every recovery's own count agrees with it
//! to within its duplicate threshold, and that is all that a window's size takes. Without SACK,
//! each duplicate ACK says that one segment has left. After a timeout all that was outstanding
//! counts as lost.

use dupack_tcp::connection::Flags;
use dupack_tcp::facts::View;

use crate::analyse::cause::Cause;
use crate::read::moment::{Arrival, Departure, Explained};

/// Counts what is in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    /// Bytes of a full segment: as announced, and the most that was seen of what goes on after it.
    announced: u64,
    smss: u64,
    /// Bytes sent again and not acknowledged.
    repeated: u64,
    /// What lies below was outstanding at the last timeout.
    lost_below: u64,
    dup_acks: u64,
    sack: Sack,
    /// SND.NXT before the departure at hand.
    nxt: u64,
}

/// Whether there are selective ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sack {
    /// None has come.
    #[default]
    Unseen,
    /// One has.
    Seen,
}

impl Flight {
    /// Nothing is in flight; so many bytes were announced for a full segment.
    pub fn new(announced: u32) -> Self {
        Self {
            announced: u64::from(announced),
            ..Self::default()
        }
    }

    /// A full segment, in bytes; at least 1.
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

    /// SND.NXT after the last event.
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
            // What ends a message may be short, though nothing longer was seen.
            let goes_on = !departure.flags.contains(Flags::PSH);
            if goes_on || len >= self.announced {
                self.smss = self.smss.max(len);
            }
            // What was lost again is counted already.
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

    /// Bytes in flight.
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

    /// The same in full segments.
    pub fn segments(&self, view: &View<'_>) -> f32 {
        self.bytes(view) as f32 / self.smss() as f32
    }
}
