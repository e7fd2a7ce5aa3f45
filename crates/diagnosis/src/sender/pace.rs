//! Whether segments leave with the ACKs that make room for them, or between them by a clock.
//!
//! At the sender's end an ACK that lets something go is answered within microseconds, and what one ACK lets go
//! leaves together; what is paced leaves one by one, whenever its time comes. So does what an application
//! writes: what follows the end of a message, or leaves while nothing is outstanding, tells nothing. Farther
//! from the sender, the bottleneck spaces what it left, and nothing can be told: only captures at the
//! sender's end are looked at.

use dupack_tcp::connection::Flags;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::Instant;

use super::report::Timing;
use crate::read::moment::{Arrival, Departure, Explained, Stage};

/// What leaves within this after an ACK answers it: a busy host's time. Ours.
const ANSWER_NANOS: f64 = 60_000.0;
/// The same as a share of the time between ACKs, whichever is longer.
const ANSWER_SHARE: f64 = 0.2;
/// What one time between ACKs weighs in their average.
const WEIGHT: f64 = 0.05;
/// So many departures must have been judged.
const LEAST: u32 = 50;
/// Above this share between ACKs it is paced: by chance 1 − `ANSWER_SHARE` of them are.
const PACED_SHARE: f64 = 0.4;
/// Above this share its rate is its own: of 2,000 simulated transfers, those of BBR have 0.42 to 1, most above
/// 0.6, and those with a paced window up to 0.5.
const RATE_SHARE: f64 = 0.55;
/// So many segments to an ACK spread what a paced window lets go, too.
const STRETCHED: f64 = 2.6;
/// Below this share it is not: what a window paced by Linux's fq leaves between ACKs is a few percent more.
const CLOCKED_SHARE: f64 = 0.02;

/// Whether a segment was the last of what the application had written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// It was short, or the last of all: the next one leaves when the application writes again.
    Ends,
    /// It was neither.
    GoesOn,
}

/// Counts departures with and between ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    last_ack: Option<Instant>,
    /// When the last new data left, and what it was.
    last_data: Option<(Instant, Tail)>,
    /// Average time between ACKs, in nanoseconds.
    spacing: f64,
    with: u32,
    between: u32,
    /// ACKs of data, and the segments that they reported.
    acks: u32,
    acked: f64,
    /// ACKs that were not taken at the sender.
    elsewhere: u32,
}

impl Pace {
    /// A segment left; a full one has `smss` bytes.
    pub fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>, smss: u64) {
        if departure.kind != SendingKind::First {
            return;
        }
        let len = departure.end.saturating_sub(departure.start);
        let is_full = len.is_multiple_of(smss);
        // Linux pushes the last segment of whatever it hands to the interface at once: a push alone ends nothing.
        let tail = if !is_full || departure.flags.contains(Flags::FIN) {
            Tail::Ends
        } else {
            Tail::GoesOn
        };
        let before = self.last_data.replace((departure.at, tail));
        let (Some(last_ack), Some((last, Tail::GoesOn))) = (self.last_ack, before) else {
            return;
        };
        let was_empty = departure.view.flight_size() <= len;
        if explained.stage != Stage::Open || was_empty || !is_full {
            return;
        }
        let since = |at: Instant| departure.at.since(at).as_nanos() as f64;
        if since(last) <= ANSWER_NANOS {
            // It left together with the one before, which was judged.
            return;
        }
        if since(last_ack) <= ANSWER_NANOS.max(ANSWER_SHARE * self.spacing) {
            self.with = self.with.saturating_add(1);
        } else {
            self.between = self.between.saturating_add(1);
        }
    }

    pub fn arrived(&mut self, arrival: &Arrival<'_>, smss: u64) {
        let delivered = arrival.facts.delivered_bytes;
        if delivered > 0 {
            self.acks = self.acks.saturating_add(1);
            self.acked += delivered as f64 / smss as f64;
        }
        if arrival.at != arrival.captured {
            self.elsewhere = self.elsewhere.saturating_add(1);
        }
        if let Some(last) = self.last_ack {
            let gap = arrival.at.since(last).as_nanos() as f64;
            // A pause of many ACKs' time is no time between ACKs.
            let gap = if self.spacing > 0.0 {
                gap.min(4.0 * self.spacing)
            } else {
                gap
            };
            self.spacing += WEIGHT * (gap - self.spacing);
        }
        self.last_ack = Some(arrival.at);
    }

    /// Whether the capture was taken where ACKs are heard: elsewhere, in which order segments left and ACKs came
    /// is inferred.
    pub const fn is_at_sender(&self) -> bool {
        self.elsewhere == 0
    }

    /// The share of new data that left between ACKs; `None` if too little was seen, or from afar.
    pub fn share_between(&self) -> Option<f64> {
        let all = self.with.saturating_add(self.between);
        (all >= LEAST && self.elsewhere == 0).then(|| f64::from(self.between) / f64::from(all))
    }

    /// Whether it leaves by a rate of its own, as with a control by a model: a window that is paced (Linux's fq, at
    /// 1.2 times itself in a round trip) hardly lets a segment leave apart from the ACKs, unless each
    /// ACK lets many go.
    pub fn is_by_rate(&self) -> bool {
        let stretched = self.acked > STRETCHED * f64::from(self.acks);
        !stretched
            && self
                .share_between()
                .is_some_and(|share| share >= RATE_SHARE)
    }

    pub fn timing(&self) -> Option<Timing> {
        match self.share_between()? {
            share if share >= PACED_SHARE => Some(Timing::Paced),
            share if share <= CLOCKED_SHARE => Some(Timing::WithAcks),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::time::Duration;

    use super::*;
    use crate::analyse::budget::film::{Film, MSS, at};
    use crate::read::moment::Analysis;

    impl Analysis for Pace {
        fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
            self.departed(departure, explained, MSS);
        }

        fn arrived(&mut self, arrival: &Arrival<'_>, _: &Explained<'_>) {
            self.arrived(arrival, MSS);
        }
    }

    /// Every 10 ms an ACK of so many segments comes, and as many leave, the first so many microseconds later.
    fn after_acks(rounds: u64, segments: u64, later: impl Fn(u64) -> u64) -> Pace {
        let mut film = Film::new(Pace::default(), 1 << 30);
        film.send(at(0), 8 * segments);
        for n in 1..=rounds {
            film.ack(at(n * 10), n * segments * MSS);
            film.send(at(n * 10) + Duration::from_micros(later(n)), segments);
        }
        film.told
    }

    #[test]
    fn segments_that_leave_between_acks_are_paced_and_those_that_answer_them_are_not() {
        let with = after_acks(60, 1, |_| 50);
        assert_eq!(with.share_between(), Some(0.0));
        assert_eq!(with.timing(), Some(Timing::WithAcks));
        let between = after_acks(60, 1, |_| 5000);
        assert_eq!(between.share_between(), Some(1.0));
        assert_eq!(between.timing(), Some(Timing::Paced));
        assert!(between.is_by_rate());
        // An answer may take a fifth of the time between ACKs.
        assert_eq!(
            after_acks(5000, 1, |_| 1800).timing(),
            Some(Timing::WithAcks)
        );
        assert_eq!(after_acks(200, 1, |_| 2200).share_between(), Some(1.0));
    }

    #[test]
    fn what_is_paced_now_and_then_has_no_rate_of_its_own() {
        let of = |part: u64| {
            let pace = after_acks(100, 1, move |n| if n % 10 < part { 5000 } else { 20 });
            (pace.timing(), pace.is_by_rate())
        };
        assert_eq!(of(2), (None, false));
        assert_eq!(of(5), (Some(Timing::Paced), false));
        assert_eq!(of(6), (Some(Timing::Paced), true));
    }

    #[test]
    fn acks_of_many_segments_spread_what_a_paced_window_lets_go() {
        assert!(after_acks(60, 2, |_| 5000).is_by_rate());
        let stretched = after_acks(60, 3, |_| 5000);
        assert_eq!(stretched.timing(), Some(Timing::Paced));
        assert!(!stretched.is_by_rate());
    }

    #[test]
    fn few_segments_tell_nothing() {
        assert_eq!(after_acks(49, 1, |_| 5000).timing(), None);
        assert_eq!(after_acks(50, 1, |_| 5000).timing(), Some(Timing::Paced));
    }

    #[test]
    fn what_follows_the_end_of_a_message_tells_nothing() {
        let mut film = Film::new(Pace::default(), 1 << 30);
        film.send(at(0), 8);
        let mut acked = 0;
        for n in 1..=100 {
            acked += 1;
            film.ack(at(n * 10), acked * MSS);
            // Each message has a segment and a half, and is written 5 ms after an ACK.
            film.send(at(n * 10 + 5), 1);
            film.send_last(at(n * 10 + 5), 500);
        }
        assert_eq!(film.told.share_between(), None);
    }
}
