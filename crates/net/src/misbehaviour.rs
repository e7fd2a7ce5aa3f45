//! Misbehaving receivers, which try to make a sender faster than the path permits.
//!
//! RFC 9743 asks how a congestion control handles misbehaving nodes. Three kinds are known from Savage, Cardwell,
//! Wetherall and Anderson, "TCP Congestion Control with a Misbehaving Receiver" (Computer Communication Review 29(5),
//! 1999), and from SACK:
//!
//! * *ACK division*: an ACK of n bytes is divided into several ACKs, each for a part of these bytes. The window of a
//!   sender that counts ACKs grows several times as fast; a sender that counts bytes is not affected (RFC 3465
//!   §2.3).
//! * *Optimistic ACKs*: data is acknowledged before it has arrived, or although it was lost. The sender
//!   sees a shorter round-trip time and no losses. TCP has no effective protection; it only discards an ACK of
//!   data that was never sent (RFC 9293 §3.10.7.4).
//! * *False SACK blocks*: blocks cover data that has not arrived, so that the sender considers lost data received.
//!   It sends new data without repairing losses until the retransmission timer expires, because the cumulative ACK does
//!   not advance. Then it must discard the SACK information (RFC 2018 §8).
//!
//! The misbehaviour is added to an honest receiver: only data that the honest receiver has in order counts as
//! delivered.

use dupack_tcp::segment::{Ack, SackBlock, SackBlocks};
use dupack_tcp::seq::SeqNumber;

/// Misbehaviour of a receiver. The default is an honest receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misbehaviour {
    /// Number of ACKs into which an ACK of new data is divided; 1 for an honest receiver.
    pub pieces: u32,
    /// Number of bytes beyond the end of the received data up to which all data is acknowledged, including lost data;
    /// `None` for an honest receiver.
    pub optimistic_bytes: Option<u64>,
    /// Number of bytes beyond the received data up to which a false SACK block extends. The block is sent while there
    /// is a gap and begins at the end of this gap. `None` for an honest receiver.
    pub claimed_bytes: Option<u64>,
}

impl Default for Misbehaviour {
    fn default() -> Self {
        Self {
            pieces: 1,
            optimistic_bytes: None,
            claimed_bytes: None,
        }
    }
}

/// Maximum number of ACKs into which one ACK is divided.
pub const MOST_PIECES: u32 = 64;

/// Misbehaving receiver at run time. It observes arrivals and changes the ACKs of an honest receiver.
#[derive(Clone, Debug)]
pub(crate) struct Liar {
    how: Misbehaviour,
    /// End of the received data, as a stream offset.
    seen: u64,
    /// Last acknowledgment, as a stream offset.
    told: u64,
    /// Number of ACKs in addition to those of the honest receiver.
    extra: u64,
}

impl Liar {
    /// Creates the state of a misbehaving receiver; `None` for an honest one.
    pub(crate) fn new(how: Misbehaviour) -> Option<Self> {
        (how != Misbehaviour::default()).then_some(Self {
            how,
            seen: 0,
            told: 0,
            extra: 0,
        })
    }

    /// Records that data up to `end` of the stream has arrived.
    pub(crate) fn sees(&mut self, end: u64) {
        self.seen = self.seen.max(end);
    }

    /// Returns the number of ACKs in addition to those of the honest receiver.
    pub(crate) const fn extra_acks(&self) -> u64 {
        self.extra
    }

    /// Returns the ACKs that replace `honest`, for a receiver that has `in_order` bytes in order. The n-th ACK is
    /// [`piece`](Self::piece) n.
    pub(crate) fn forge(&mut self, honest: Ack, in_order: u64) -> Forged {
        let origin = SeqNumber(honest.ack.0.wrapping_sub(in_order as u32));
        let mut ack = honest;
        let mut up_to = in_order;
        if let Some(ahead) = self.how.optimistic_bytes {
            up_to = (self.seen + ahead).max(self.told).max(in_order);
            ack.ack = origin.at(up_to);
            if up_to > in_order {
                ack.sacks = SackBlocks::NONE;
            }
        }
        if let Some(ahead) = self.how.claimed_bytes {
            ack.sacks = claim(honest.sacks, origin, in_order, self.seen + ahead);
        }
        let from = self.told.min(up_to);
        self.told = up_to;
        let new = up_to - from;
        let pieces = u64::from(self.how.pieces).clamp(1, new.max(1));
        self.extra += pieces - 1;
        Forged {
            ack,
            from,
            new,
            pieces,
        }
    }
}

/// Returns one block, from the start of the first block that the honest receiver reports beyond its data in order to
/// `end`. Returns no block if there is no such block.
fn claim(honest: SackBlocks, origin: SeqNumber, in_order: u64, end: u64) -> SackBlocks {
    let starts = honest.as_slice().iter();
    let starts = starts.filter_map(|block| block.start.offset(origin, in_order));
    let mut claimed = SackBlocks::NONE;
    if let Some(start) = starts.filter(|start| *start > in_order).min() {
        claimed.push(SackBlock {
            start: origin.at(start),
            end: origin.at(end),
        });
    }
    claimed
}

/// A forged ACK, divided into pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forged {
    ack: Ack,
    from: u64,
    new: u64,
    pieces: u64,
}

impl Forged {
    /// Returns the number of pieces.
    pub(crate) const fn pieces(&self) -> u64 {
        self.pieces
    }

    /// Returns piece `n`, counted from 1. The right edge of the window is the same in each piece.
    pub(crate) fn piece(&self, n: u64) -> Ack {
        let mut ack = self.ack;
        let missing = self.new - self.new * n / self.pieces;
        ack.ack = SeqNumber(self.ack.ack.0.wrapping_sub(missing as u32));
        let window = u64::from(self.ack.window) + missing;
        ack.window = u32::try_from(window).unwrap_or(u32::MAX);
        debug_assert!(missing <= self.from + self.new);
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_tcp::segment::EcnEcho;

    const ORIGIN: SeqNumber = SeqNumber(u32::MAX - 1500);

    fn ack(in_order: u64, sacks: &[(u64, u64)]) -> Ack {
        let mut blocks = SackBlocks::NONE;
        for &(start, end) in sacks {
            blocks.push(SackBlock {
                start: ORIGIN.at(start),
                end: ORIGIN.at(end),
            });
        }
        Ack {
            ack: ORIGIN.at(in_order),
            window: 10_000,
            timestamp_echo: None,
            order_echo: None,
            sacks: blocks,
            ecn: EcnEcho::Silent,
        }
    }

    fn liar(how: Misbehaviour) -> Liar {
        Liar::new(how).expect("the receiver misbehaves")
    }

    /// Returns the acknowledgment and the right edge of the window of each piece, both from the start of the stream.
    fn told(liar: &mut Liar, honest: Ack, in_order: u64) -> Vec<(u32, u32)> {
        let forged = liar.forge(honest, in_order);
        let pieces = (1..=forged.pieces()).map(|n| forged.piece(n));
        let offset = |ack: Ack| ack.ack.0.wrapping_sub(ORIGIN.0);
        pieces
            .map(|ack| (offset(ack), offset(ack) + ack.window))
            .collect()
    }

    #[test]
    fn an_honest_receiver_needs_no_state() {
        assert!(Liar::new(Misbehaviour::default()).is_none());
    }

    #[test]
    fn a_divided_ack_ends_at_the_honest_ack() {
        let mut liar = liar(Misbehaviour {
            pieces: 4,
            ..Misbehaviour::default()
        });
        let first = told(&mut liar, ack(2000, &[]), 2000);
        let edge = 12_000;
        assert_eq!(
            first,
            [(500, edge), (1000, edge), (1500, edge), (2000, edge)]
        );
        // A repeated ACK is not divided, and an ACK of three bytes gives three pieces.
        assert_eq!(told(&mut liar, ack(2000, &[]), 2000), [(2000, edge)]);
        assert_eq!(told(&mut liar, ack(2003, &[]), 2003).len(), 3);
        assert_eq!(liar.extra_acks(), 5);
    }

    #[test]
    fn optimistic_acks_cover_losses_and_never_decrease() {
        let mut liar = liar(Misbehaviour {
            optimistic_bytes: Some(3000),
            ..Misbehaviour::default()
        });
        liar.sees(1000);
        assert_eq!(told(&mut liar, ack(1000, &[]), 1000), [(4000, 14_000)]);
        // The second segment is lost.
        liar.sees(3000);
        let gap = ack(1000, &[(2000, 3000)]);
        let forged = liar.forge(gap, 1000);
        assert_eq!(forged.piece(1).ack, ORIGIN.at(6000));
        assert!(forged.piece(1).sacks.as_slice().is_empty());
        assert_eq!(told(&mut liar, ack(1000, &[]), 1000), [(6000, 16_000)]);
    }

    #[test]
    fn a_false_sack_block_begins_after_the_first_gap() {
        let mut liar = liar(Misbehaviour {
            claimed_bytes: Some(2000),
            ..Misbehaviour::default()
        });
        liar.sees(6000);
        let honest = ack(1000, &[(5000, 6000), (2000, 3000)]);
        let forged = liar.forge(honest, 1000).piece(1);
        assert_eq!(forged.ack, honest.ack);
        let block = SackBlock {
            start: ORIGIN.at(2000),
            end: ORIGIN.at(8000),
        };
        assert_eq!(forged.sacks.as_slice(), [block]);
        // Without a gap, there is no false block. A duplicate below the ACK is not a gap.
        for sacks in [&[][..], &[(0, 1000)][..]] {
            let forged = liar.forge(ack(6000, sacks), 6000).piece(1);
            assert!(forged.sacks.as_slice().is_empty());
        }
    }
}
