//! Fields that a middlebox rewrites.

use std::collections::HashMap;

use super::matching::{Fields, at};
use super::pieces::{Piece, Pieces};
use super::record::{Syn, Track};
use crate::read::side::{Both, Side};

/// Minimum number of packets that must agree on a shift of sequence numbers (our choice).
const AGREE_MIN: usize = 3;
/// Minimum number of packets in ten comparable ones that must agree on a shift.
const AGREE_OF_TEN: usize = 6;

/// Values of a field at both endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<T> {
    /// Value when the packet was sent.
    pub sent: T,
    /// Value when the packet arrived.
    pub arrived: T,
}

impl<T: PartialEq> Changed<T> {
    fn of(sent: T, arrived: T) -> Option<Self> {
        (sent != arrived).then_some(Self { sent, arrived })
    }
}

/// Fields of one endpoint's packets that a middlebox rewrites. Fields that are missing from one of the captures are not
/// included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Shift of the sequence numbers, modulo 2³².
    pub sequence_numbers: Option<u32>,
    /// MSS of the SYN (RFC 9293 §3.7.1).
    pub mss: Option<Changed<Option<u16>>>,
    /// Window scale of the SYN (RFC 7323 §2).
    pub window_scale: Option<Changed<Option<u8>>>,
    /// Presence of SACK-permitted in the SYN (RFC 2018 §2).
    pub sack_permitted: Option<Changed<bool>>,
    /// Presence of timestamps in the SYN (RFC 7323 §3).
    pub timestamps: Option<Changed<bool>>,
    /// `true` if timestamp values differ.
    pub timestamp_values: bool,
    /// `true` if IPv4 identifications differ.
    pub identification: bool,
    /// `true` if windows, echoed timestamps or SACK blocks differ.
    pub windows_or_echoes: bool,
}

impl Rewritten {
    /// Returns `true` if any field is rewritten.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Compares the fields of packets that both captures contain.
    fn fields(
        &mut self,
        pairs: &[(u32, u32)],
        (sent, arrived): (&[Piece], &[Piece]),
        same: Fields,
    ) {
        let stamped = pairs.iter().filter_map(|&pair| at(sent, arrived, pair));
        let stamped = stamped.filter(|(one, two)| one.value != 0 && two.value != 0);
        let is_stamped = stamped.count() * 2 > pairs.len();
        self.timestamp_values = is_stamped && !same.value;
        self.identification = !same.id;
        self.windows_or_echoes = !same.digest;
    }

    fn syn(&mut self, sent: &Syn, arrived: &Syn) {
        self.mss = Changed::of(sent.mss, arrived.mss);
        self.window_scale = Changed::of(sent.window_scale, arrived.window_scale);
        self.sack_permitted = Changed::of(sent.sack, arrived.sack);
        self.timestamps = Changed::of(sent.timestamps, arrived.timestamps);
    }
}

/// Returns the fields that are rewritten in the packets of one endpoint. `near` and `sent` are from the capture near
/// the sender, `far` and `arrived` from the other one. `pairs` contains the indices of the same packets in both.
pub(super) fn rewritten(
    (near, far): (&Track, &Track),
    (sent, arrived): (&[Piece], &[Piece]),
    pairs: &[(u32, u32)],
    (same, shift): (Fields, u32),
) -> Rewritten {
    let mut told = Rewritten {
        sequence_numbers: (shift != 0).then_some(shift),
        ..Rewritten::default()
    };
    if pairs.is_empty() {
        return told;
    }
    told.fields(pairs, (sent, arrived), same);
    let of =
        |track: &'_ Track, packet: u32| track.syns.iter().find(|syn| syn.packet == packet).copied();
    let mut both = pairs.iter().filter_map(|&pair| at(sent, arrived, pair));
    let syns = both.find_map(|(one, two)| {
        let is_syn = one.is_syn() && two.is_syn();
        is_syn.then(|| of(near, one.packet).zip(of(far, two.packet)))?
    });
    if let Some((one, two)) = syns {
        told.syn(&one, &two);
    }
    told
}

/// Returns the shift of each endpoint's sequence numbers in the other capture.
pub(super) fn shifts(here: &Track, there: &Track) -> Both<u32> {
    let [opener, answerer] =
        Side::BOTH.map(|side| shift(here.sides.of(side), there.sides.of(side)));
    Both { opener, answerer }
}

fn shift(here: &[Piece], there: &[Piece]) -> u32 {
    // These fields are preserved by middleboxes if they are present.
    let key = |piece: &Piece| (piece.value, piece.id, piece.len, piece.kind());
    let tells = |piece: &&Piece| (piece.value != 0 || piece.id != 0) && !piece.is_copy();
    let mut numbers: HashMap<_, Option<u32>> = HashMap::new();
    for piece in here.iter().filter(tells) {
        let number = numbers.entry(key(piece)).or_insert(Some(piece.seq));
        // Packets with the same key but different sequence numbers are ambiguous.
        *number = number.filter(|&seq| seq == piece.seq);
    }
    let mut votes: HashMap<u32, usize> = HashMap::new();
    let mut all = 0;
    for piece in there.iter().filter(tells) {
        if let Some(seq) = numbers.get(&key(piece)).copied().flatten() {
            *votes.entry(piece.seq.wrapping_sub(seq)).or_default() += 1;
            all += 1;
        }
    }
    let most = votes
        .into_iter()
        .max_by_key(|&(shift, votes)| (votes, shift));
    let most = most.filter(|&(_, votes)| votes >= AGREE_MIN && votes * 10 >= all * AGREE_OF_TEN);
    most.map_or(0, |(shift, _)| shift)
}

/// Converts the packets of the other capture to the sequence numbers of this capture.
pub(super) fn unshift(pieces: &mut Both<Vec<Piece>>, shifts: &Both<u32>) {
    if *shifts == Both::default() {
        return;
    }
    for side in Side::BOTH {
        let (own, other) = (*shifts.of(side), *shifts.of(side.other()));
        for piece in pieces.of_mut(side) {
            *piece = piece.shifted(own, other);
        }
    }
}

/// If the other capture has several consecutive connections with the same addresses, only the packets of one connection
/// are kept. They begin with its SYN, before the first packet of `pairs`, and end before the next SYN with another
/// sequence number, after the last packet of `pairs`. Returns `true` if packets were removed.
pub(super) fn leave_one(pieces: &mut Both<Pieces>, pairs: [&[(u32, u32)]; 2]) -> bool {
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    let mut syns: Vec<(i64, u32, Side)> = Vec::new();
    for (side, pairs) in Side::BOTH.into_iter().zip(pairs) {
        let there = &pieces.of(side).there;
        let at = pairs.iter().filter_map(|pair| there.get(pair.1 as usize));
        for at in at.map(|piece| piece.at) {
            (first, last) = (first.min(at), last.max(at));
        }
        let all = there.iter().filter(|piece| piece.is_syn());
        syns.extend(all.map(|piece| (piece.at, piece.seq, side)));
    }
    if first > last {
        return false;
    }
    syns.sort_unstable();
    let before = syns.iter().rev().filter(|syn| syn.0 <= first);
    // Initial sequence number of each endpoint in this connection. Retransmitted SYNs have the same number.
    let mut own: [Option<u32>; 2] = [None; 2];
    let mut from = i64::MIN;
    for (at, seq, side) in before {
        let own = &mut own[*side as usize];
        if own.is_some_and(|own| own != *seq) {
            break;
        }
        *own = Some(*seq);
        from = *at;
    }
    let is_own = |syn: &(i64, u32, Side)| own[syn.2 as usize].is_none_or(|own| own == syn.1);
    let next = syns.iter().find(|syn| syn.0 > last && !is_own(syn));
    let until = next.map_or(i64::MAX, |syn| syn.0);
    let mut is_less = false;
    for side in Side::BOTH {
        let there = &mut pieces.of_mut(side).there;
        let all = there.len();
        there.retain(|piece| from <= piece.at && piece.at < until);
        is_less |= there.len() < all;
    }
    is_less
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::from;

    fn data(seq: u32, value: u32) -> Piece {
        let packet = from(Side::Opener, f64::from(value), seq)
            .len(100)
            .stamps(value, 1);
        Piece::new(&packet, i64::from(value))
    }

    #[test]
    fn sequence_numbers_are_shifted_if_packets_agree_on_the_shift() {
        let here: Vec<Piece> = (1..20).map(|n| data(n * 100, n)).collect();
        let there: Vec<Piece> = here
            .iter()
            .map(|piece| piece.shifted(7_u32.wrapping_neg(), 0))
            .collect();
        assert_eq!(shift(&here, &there), 7);
        assert_eq!(shift(&here, &here), 0);
        // The packets of an unrelated connection show no shift.
        let other: Vec<Piece> = (1..20).map(|n| data(n * n * 977, n)).collect();
        assert_eq!(shift(&here, &other), 0);
        assert_eq!(shift(&here, &[]), 0);
    }
}
