//! Receivers that lie, to make a sender faster than the path permits.
//!
//! RFC 9743 asks what a congestion control does about misbehaving nodes. Three kinds are known since
//! Savage, Cardwell, Wetherall and Anderson, "TCP Congestion Control with a Misbehaving Receiver"
//! (Computer Communication Review 29(5), 1999), and from SACK:
//!
//! * *ACK division*: an ACK of n bytes comes as several ACKs for a part each. A sender that counts
//!   ACKs grows several times as fast; one that counts bytes does not (RFC 3465 §2.3).
//! * *Optimistic ACKs*: data is acknowledged before it has come, or although it was lost. The sender
//!   sees a shorter round trip and no losses. Against it helps only what TCP does not have; an ACK of
//!   what was never sent is thrown away (RFC 9293 §3.10.7.4).
//! * *SACK lies*: blocks cover what has not come, so that the sender takes for there what was lost.
//!   It sends on without repairing, until the cumulative ACK stands still for a timeout, after
//!   which it is to forget what SACK said (RFC 2018 §8).
//!
//! The receiver behind it is honest: what it has in order counts as delivered, and nothing else does.

use dupack_tcp::segment::{Ack, SackBlock, SackBlocks};
use dupack_tcp::seq::SeqNumber;

/// How a receiver lies; the default does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misbehaviour {
    /// Into how many ACKs one for new data is divided; 1 is honest.
    pub pieces: u32,
    /// Acknowledged is everything up to so many bytes beyond the end of what has come, lost or not;
    /// `None` is honest.
    pub optimistic_bytes: Option<u64>,
    /// As soon as there is a gap, SACK covers everything behind it up to so many bytes beyond what has
    /// come; `None` is honest.
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

/// The most ACKs that one is divided into.
pub const MOST_PIECES: u32 = 64;

/// A lying receiver at work: it sees what comes, and writes the ACKs of an honest one anew.
#[derive(Clone, Debug)]
pub(crate) struct Liar {
    how: Misbehaviour,
    /// End of what has come, as a stream offset.
    seen: u64,
    /// What was acknowledged last, as a stream offset.
    told: u64,
    /// ACKs beyond those of the honest receiver.
    extra: u64,
}

impl Liar {
    /// `None` for an honest one.
    pub(crate) fn new(how: Misbehaviour) -> Option<Self> {
        (how != Misbehaviour::default()).then_some(Self {
            how,
            seen: 0,
            told: 0,
            extra: 0,
        })
    }

    /// Data up to `end` of the stream has come.
    pub(crate) fn sees(&mut self, end: u64) {
        self.seen = self.seen.max(end);
    }

    /// ACKs sent beyond those of the honest receiver.
    pub(crate) const fn extra_acks(&self) -> u64 {
        self.extra
    }

    /// What is sent instead of `honest`, of a receiver that has `in_order` bytes in order. The n-th of
    /// them is [`piece`](Self::piece) n.
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

/// One block from the first that the honest receiver reports to `end`, if it reports one beyond what
/// it has in order.
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

/// An ACK in pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forged {
    ack: Ack,
    from: u64,
    new: u64,
    pieces: u64,
}

impl Forged {
    /// How many ACKs it is.
    pub(crate) const fn pieces(&self) -> u64 {
        self.pieces
    }

    /// The `n`th of them, from 1. The right edge of the window is that of the whole in each.
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
        Liar::new(how).expect("it lies")
    }

    /// What is acknowledged up to, and the right edge of the window, both from the start.
    fn told(liar: &mut Liar, honest: Ack, in_order: u64) -> Vec<(u32, u32)> {
        let forged = liar.forge(honest, in_order);
        let pieces = (1..=forged.pieces()).map(|n| forged.piece(n));
        let offset = |ack: Ack| ack.ack.0.wrapping_sub(ORIGIN.0);
        pieces
            .map(|ack| (offset(ack), offset(ack) + ack.window))
            .collect()
    }

    #[test]
    fn an_honest_receiver_needs_none_of_this() {
        assert!(Liar::new(Misbehaviour::default()).is_none());
    }

    #[test]
    fn a_divided_ack_ends_where_the_honest_one_does() {
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
        // The same again is one ACK, and three bytes are three.
        assert_eq!(told(&mut liar, ack(2000, &[]), 2000), [(2000, edge)]);
        assert_eq!(told(&mut liar, ack(2003, &[]), 2003).len(), 3);
        assert_eq!(liar.extra_acks(), 5);
    }

    #[test]
    fn an_optimistic_one_passes_over_losses_and_never_goes_back() {
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
    fn a_claim_begins_behind_the_first_gap() {
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
        // Without a gap there is nothing to claim; a duplicate below is none.
        for sacks in [&[][..], &[(0, 1000)][..]] {
            let forged = liar.forge(ack(6000, sacks), 6000).piece(1);
            assert!(forged.sacks.as_slice().is_empty());
        }
    }
}
