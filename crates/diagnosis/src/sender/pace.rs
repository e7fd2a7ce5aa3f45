//! Timing of departures: with the ACKs that make space for segments, or between ACKs, by a clock.
//!
//! At the sender, an ACK that releases segments is answered within microseconds, and the segments that one ACK releases
//! leave together. Paced segments leave one by one, each at its own time. So do the segments that an application
//! writes; therefore, segments after the end of a message, and segments that leave while nothing is outstanding, do not
//! count. Away from the sender, the bottleneck spaces the segments, so only captures at the sender are evaluated.

use dupack_tcp::connection::Flags;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::Instant;

use super::report::Timing;
use crate::read::moment::{Arrival, Departure, Explained, Stage};

/// Time after an ACK within which a segment answers it, on a busy host. Our choice.
const ANSWER_NANOS: f64 = 60_000.0;
/// The same as a part of the time between ACKs; the longer of the two applies.
const ANSWER_SHARE: f64 = 0.2;
/// Weight of one time between ACKs in their average.
const WEIGHT: f64 = 0.05;
/// Minimum number of departures that must have been evaluated.
const LEAST: u32 = 50;
/// Part of departures between ACKs above which the sender is paced: by chance, 1 − `ANSWER_SHARE` are between ACKs.
const PACED_SHARE: f64 = 0.4;
/// Part of departures between ACKs above which the sender has a rate of its own. In 2,000 simulated transfers, BBR has
/// 0.42 to 1, mostly above 0.6, and a paced window at most 0.5.
const RATE_SHARE: f64 = 0.55;
/// Number of segments per ACK above which the releases of a paced window are spread as well.
const STRETCHED: f64 = 2.6;
/// Part of departures between ACKs below which the sender is not paced: with Linux's fq, a paced window has a few
/// percent more.
const CLOCKED_SHARE: f64 = 0.02;

/// Position of a segment in the data that the application had written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// Short, or the last one: the next segment leaves when the application writes again.
    Ends,
    /// Neither short nor the last one.
    GoesOn,
}

/// Counts departures with and between ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    last_ack: Option<Instant>,
    /// Time and position of the last new data.
    last_data: Option<(Instant, Tail)>,
    /// Mean time between ACKs, in nanoseconds.
    spacing: f64,
    with: u32,
    between: u32,
    /// Number of ACKs of data, and of the segments that they reported.
    acks: u32,
    acked: f64,
    /// Number of ACKs that were not captured at the sender.
    elsewhere: u32,
}

impl Pace {
    /// Records a departure; a full segment has `smss` bytes.
    pub fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>, smss: u64) {
        if departure.kind != SendingKind::First {
            return;
        }
        let len = departure.end.saturating_sub(departure.start);
        let is_full = len.is_multiple_of(smss);
        // Linux pushes the last segment of each packet that it hands to the interface, so a push alone is no end.
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
            // It left together with the previous segment, which was evaluated.
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
            // A pause of many ACK intervals is no time between ACKs.
            let gap = if self.spacing > 0.0 {
                gap.min(4.0 * self.spacing)
            } else {
                gap
            };
            self.spacing += WEIGHT * (gap - self.spacing);
        }
        self.last_ack = Some(arrival.at);
    }

    /// `true` if the capture was taken at the sender: elsewhere, the order of departures and ACKs is inferred.
    pub const fn is_at_sender(&self) -> bool {
        self.elsewhere == 0
    }

    /// Returns the part of new data that left between ACKs; `None` if there is too little evidence, or none from the
    /// sender.
    pub fn share_between(&self) -> Option<f64> {
        let all = self.with.saturating_add(self.between);
        (all >= LEAST && self.elsewhere == 0).then(|| f64::from(self.between) / f64::from(all))
    }

    /// `true` if segments leave at a rate of their own, as with a model-based control. With a paced window (Linux's fq,
    /// at 1.2 times the window per round trip), hardly any segment leaves apart from the ACKs, unless each ACK releases
    /// many.
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

    /// Plays an ACK of `segments` segments every 10 ms, after each of which as many leave, the first after `later`
    /// microseconds.
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
    fn segments_between_acks_are_paced_and_segments_that_answer_acks_are_not() {
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
    fn occasional_pacing_is_no_rate_of_its_own() {
        let of = |part: u64| {
            let pace = after_acks(100, 1, move |n| if n % 10 < part { 5000 } else { 20 });
            (pace.timing(), pace.is_by_rate())
        };
        assert_eq!(of(2), (None, false));
        assert_eq!(of(5), (Some(Timing::Paced), false));
        assert_eq!(of(6), (Some(Timing::Paced), true));
    }

    #[test]
    fn acks_of_many_segments_spread_the_releases_of_a_paced_window() {
        assert!(after_acks(60, 2, |_| 5000).is_by_rate());
        let stretched = after_acks(60, 3, |_| 5000);
        assert_eq!(stretched.timing(), Some(Timing::Paced));
        assert!(!stretched.is_by_rate());
    }

    #[test]
    fn few_segments_are_no_evidence() {
        assert_eq!(after_acks(49, 1, |_| 5000).timing(), None);
        assert_eq!(after_acks(50, 1, |_| 5000).timing(), Some(Timing::Paced));
    }

    #[test]
    fn segments_after_the_end_of_a_message_are_no_evidence() {
        let mut film = Film::new(Pace::default(), 1 << 30);
        film.send(at(0), 8);
        let mut acked = 0;
        for n in 1..=100 {
            acked += 1;
            film.ack(at(n * 10), acked * MSS);
            // Each message has one and a half segments, and is written 5 ms after an ACK.
            film.send(at(n * 10 + 5), 1);
            film.send_last(at(n * 10 + 5), 500);
        }
        assert_eq!(film.told.share_between(), None);
    }
}
