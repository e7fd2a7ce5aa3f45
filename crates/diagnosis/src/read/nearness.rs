//! Detection of the endpoint that is nearer to the capture point, if both endpoints are on one machine or in one room.
//! Their minimum response times are then too similar for a decision.
//!
//! A queue between the endpoints still makes a difference. If the capture point is after the queue, data is
//! acknowledged immediately and follows ACKs late; if it is before the queue, the reverse is true. Two facts show the
//! side of the capture point: a router decrements the hop limit of the packets that it forwards, and most packets of
//! the near endpoint follow sooner than those of the far endpoint.

use dupack_tcp::time::{Duration, Instant};

use crate::read::packet::Packet;
use crate::read::side::{Both, Side};
use crate::read::ways::News;

/// Initial hop limits of hosts (Linux and BSD 64, Windows 128, others 255).
const HOP_LIMITS: [u8; 3] = [64, 128, 255];

/// Minimum ratio of the two response times for a vote. The endpoint that responds sooner gets the vote.
const SOONER: u64 = 4;
/// Minimum number of votes, and their minimum ratio to the votes of the other endpoint (our choice).
const VOTES_MIN: u32 = 8;
const VOTES_OF: u32 = 3;

/// Evidence of the nearer endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nearness {
    /// Number of routers that packets from each endpoint have passed: the minimum so far.
    hops: Both<Option<u8>>,
    answers: Option<Box<Answers>>,
}

/// Response times of two endpoints on one machine.
#[derive(Clone, Debug, Default)]
struct Answers {
    last: Option<(Side, Instant)>,
    /// Last response time of each endpoint.
    answer: Both<Option<Duration>>,
    /// Number of times that each endpoint answered much sooner than the other endpoint.
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
    /// Processes a packet from `side`. Response times count only if both endpoints are on one machine.
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

    /// Returns the nearer endpoint; `None` if it is unknown.
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
    fn the_endpoint_that_mostly_answers_sooner_is_nearer() {
        let mut nearness = Nearness::default();
        for n in 0..20 {
            assert_eq!(nearness.nearest(), (n > 4).then_some(Side::Opener));
            // Data arrives every 2 ms, and every second segment is acknowledged after 10 µs.
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
    fn equally_fast_endpoints_are_indistinguishable() {
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
    fn the_fewest_hops_of_an_endpoint_count() {
        let mut nearness = Nearness::default();
        let mut take = |side, hop_limit| {
            let mut packet = from(side, 0.0, 1);
            packet.hop_limit = hop_limit;
            nearness.take(side, &packet, false);
        };
        // Routes change: the opener's packets have passed four routers, and later none.
        take(Side::Opener, 60);
        take(Side::Opener, 64);
        take(Side::Opener, 61);
        take(Side::Answerer, 60);
        assert_eq!(nearness.nearest(), Some(Side::Opener));
    }
}
