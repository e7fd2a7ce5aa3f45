//! The nearer of two ends that are in one machine or one room, where the least times tell neither from the other.
//!
//! A queue between them makes a difference all the same: behind it, data is acknowledged at once and comes late after ACKs; before
//! it, the reverse. Two things show the side of it on which the capture was taken: a router takes one from the hop limit of what
//! it passes on, and most of the packets of the near end answer sooner than those of the far one.

use dupack_tcp::time::{Duration, Instant};

use crate::read::packet::Packet;
use crate::read::side::{Both, Side};
use crate::read::ways::News;

/// Hop limits with which hosts send (Linux and BSD 64, Windows 128, others 255).
const HOP_LIMITS: [u8; 3] = [64, 128, 255];

/// One end answers so many times as soon as the other ...
const SOONER: u64 = 4;
/// ... so often at least, and in so many times as many cases as the reverse (ours).
const VOTES_MIN: u32 = 8;
const VOTES_OF: u32 = 3;

/// What tells which end is nearer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nearness {
    /// Routers that packets of each end have passed.
    hops: Both<Option<u8>>,
    answers: Option<Box<Answers>>,
}

/// How soon ends that are in one machine answer each other.
#[derive(Clone, Debug, Default)]
struct Answers {
    last: Option<(Side, Instant)>,
    /// How soon each end answered last.
    answer: Both<Option<Duration>>,
    /// How often each end has answered far sooner than the other.
    votes: Both<u32>,
}

impl Answers {
    fn take(&mut self, side: Side, at: Instant) {
        let before = self.last.replace((side, at));
        let Some((_, since)) = before.filter(|(who, _)| *who != side) else {
            return;
        };
        let here = at.since(since);
        *self.answer.of_mut(side) = Some(here);
        let Some(there) = *self.answer.of(side.other()) else {
            return;
        };
        if here * SOONER <= there {
            *self.votes.of_mut(side) = self.votes.of(side).saturating_add(1);
        } else if there * SOONER <= here {
            let other = side.other();
            *self.votes.of_mut(other) = self.votes.of(other).saturating_add(1);
        }
    }

    fn sooner(&self) -> Option<Side> {
        let sooner = |side: &Side| {
            let (own, others) = (*self.votes.of(*side), *self.votes.of(side.other()));
            own >= VOTES_MIN && own >= others.saturating_mul(VOTES_OF)
        };
        Side::BOTH.into_iter().find(sooner)
    }
}

impl Nearness {
    /// Takes in a packet that `side` has sent. Times of answers count where both ends are in one machine.
    pub(crate) fn take(&mut self, side: Side, packet: &Packet, in_one_machine: bool) -> News {
        let initial = HOP_LIMITS
            .iter()
            .find(|initial| packet.hop_limit <= **initial);
        let hops = initial.map_or(0, |initial| initial - packet.hop_limit);
        let known = self.hops.of_mut(side);
        let is_least = known.is_none_or(|known| hops < known);
        if is_least {
            *known = Some(hops);
        }
        if !in_one_machine {
            let had_answers = self.answers.take().is_some();
            return News::when(is_least || had_answers);
        }
        let answers = self.answers.get_or_insert_with(Box::default);
        let before = answers.sooner();
        answers.take(side, packet.at);
        News::when(is_least || answers.sooner() != before)
    }

    /// The end that is nearer, if that shows.
    pub(crate) fn nearest(&self) -> Option<Side> {
        let hops = self.hops.opener.zip(self.hops.answerer);
        match hops {
            Some((0, 1..)) => Some(Side::Opener),
            Some((1.., 0)) => Some(Side::Answerer),
            _ => self.answers.as_ref()?.sooner(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::from;

    #[test]
    fn the_end_that_answers_sooner_most_of_the_time_is_nearer() {
        let mut nearness = Nearness::default();
        for n in 0..20 {
            assert_eq!(nearness.nearest(), (n > 4).then_some(Side::Opener));
            // Data comes each 2 ms, and every second segment is acknowledged after 10 µs.
            let at = f64::from(n) * 4.0;
            nearness.take(Side::Answerer, &from(Side::Answerer, at, 1).len(1000), true);
            nearness.take(
                Side::Answerer,
                &from(Side::Answerer, at + 2.0, 1001).len(9),
                true,
            );
            nearness.take(
                Side::Opener,
                &from(Side::Opener, at + 2.01, 1).ack(2001),
                true,
            );
        }
    }

    #[test]
    fn ends_that_are_alike_are_not_told_apart() {
        let mut nearness = Nearness::default();
        for n in 0..100 {
            let at = f64::from(n);
            nearness.take(Side::Answerer, &from(Side::Answerer, at, 1).len(1000), true);
            nearness.take(
                Side::Opener,
                &from(Side::Opener, at + 0.5, 1).ack(2001),
                true,
            );
        }
        assert_eq!(nearness.nearest(), None);
    }

    #[test]
    fn the_fewest_hops_of_an_end_count() {
        let mut nearness = Nearness::default();
        let mut take = |side, hop_limit| {
            let mut packet = from(side, 0.0, 1);
            packet.hop_limit = hop_limit;
            nearness.take(side, &packet, false);
        };
        // Routes change: its packets have come over four routers, and over none.
        take(Side::Opener, 60);
        take(Side::Opener, 64);
        take(Side::Opener, 61);
        take(Side::Answerer, 60);
        assert_eq!(nearness.nearest(), Some(Side::Opener));
    }
}
