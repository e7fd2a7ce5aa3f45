//! Timing of departures: clocked by ACKs, or paced by a timer between ACKs.
//!
//! At the sender, segments that an ACK releases are sent within microseconds after the ACK, and all at once. Paced
//! segments are sent one by one. Segments that an application writes one by one look like paced segments. Therefore,
//! segments after the end of a message and segments sent while nothing is outstanding are not counted. Away from the
//! sender, the bottleneck spaces the segments, so only captures at the sender are evaluated.

use dupack_tcp::connection::Flags;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::Instant;

use super::report::Timing;
use crate::read::moment::{Arrival, Departure, Explained, Stage};

/// Maximum time from an ACK to a segment that it triggers, in nanoseconds. It allows for a busy host. Our choice.
const ANSWER_NANOS: f64 = 60_000.0;
/// Maximum time from an ACK to a segment that it triggers, as a fraction of the mean time between ACKs. The longer of
/// the two times applies.
const ANSWER_SHARE: f64 = 0.2;
/// Weight of a new interval in the moving average of the intervals between ACKs.
const WEIGHT: f64 = 0.05;
/// Minimum number of evaluated departures for a verdict.
const LEAST: u32 = 50;
/// Minimum fraction of departures between ACKs for a paced sender. If departures were independent of ACKs, the fraction
/// would be 1 − `ANSWER_SHARE`.
const PACED_SHARE: f64 = 0.4;
/// Minimum fraction of departures between ACKs for a sender that sends at its own rate. In 2,000 simulated transfers,
/// the fraction is 0.42 to 1 with BBR, mostly above 0.6, and at most 0.5 with a paced window.
const RATE_SHARE: f64 = 0.55;
/// Maximum number of segments per ACK for this conclusion. If ACKs acknowledge more segments, a paced window also sends
/// many segments between ACKs.
const STRETCHED: f64 = 2.6;
/// Maximum fraction of departures between ACKs for a sender that is not paced. With a window paced by Linux's fq, the
/// fraction is a few percent higher.
const CLOCKED_SHARE: f64 = 0.02;

/// Position of a segment in the data that the application had written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// A short segment or the last one: the next segment is sent when the application writes again.
    Ends,
    /// The segment is neither short nor the last one.
    GoesOn,
}

/// Counts departures in response to ACKs, and departures between ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    last_ack: Option<Instant>,
    /// Time and position of the last new data.
    last_data: Option<(Instant, Tail)>,
    /// Mean time between ACKs, in nanoseconds.
    spacing: f64,
    with: u32,
    between: u32,
    /// Number of ACKs that acknowledged data, and of the segments that these ACKs acknowledged.
    acks: u32,
    acked: f64,
    /// Number of ACKs that arrived at the sender later than they were captured, because the capture point is elsewhere.
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
        // Linux sets PSH on the last segment of each packet that it passes to the interface, so PSH alone does not mark
        // the end of a message.
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
            // This segment left together with the previous one, which was evaluated.
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
            // An interval of more than four mean intervals is a pause and counts as four.
            let gap = if self.spacing > 0.0 {
                gap.min(4.0 * self.spacing)
            } else {
                gap
            };
            self.spacing += WEIGHT * (gap - self.spacing);
        }
        self.last_ack = Some(arrival.at);
    }

    /// `true` if the capture was taken at the sender. Elsewhere, the order of departures and ACKs is inferred.
    pub const fn is_at_sender(&self) -> bool {
        self.elsewhere == 0
    }

    /// Returns the fraction of evaluated departures that were between ACKs; `None` if too few were evaluated, or if the
    /// capture was not taken at the sender.
    pub fn share_between(&self) -> Option<f64> {
        let all = self.with.saturating_add(self.between);
        (all >= LEAST && self.elsewhere == 0).then(|| f64::from(self.between) / f64::from(all))
    }

    /// `true` if segments leave at the sender's own rate, as with a model-based control. A paced window (Linux's fq, at
    /// 1.2 times the window per round trip) sends fewer segments between ACKs, unless each ACK releases many segments.
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

    /// Simulates an ACK of `segments` segments every 10 ms. `later` microseconds after each ACK, the same number of
    /// segments is sent.
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
        // A segment counts as triggered by an ACK for up to a fifth of the mean time between ACKs.
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
