//! What bears on whether a repair was needed, beside the ACK that covers it.

use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::{Duration, Instant};

use super::Explainer;
use super::held::{After, Rest};
use super::holes::Filling;
use super::ledger::{Answered, Before, Origin, sooner_than_any};
use crate::analyse::cause::Cause;
use crate::read::moment::{Arrival, Departure};

/// Where ACKs follow segments within this time, nothing is lost between the capture and the receiver (ours: as long
/// as a host may take, and shorter than any path that queues).
const AT_RECEIVER: Duration = Duration::from_millis(1);

impl Explainer {
    /// A packet with this TSval was captured.
    pub(super) fn note_stamp(&mut self, at: Instant, stamp: Option<u32>) {
        if let Some(stamp) = stamp
            && self.stamp_since.is_none_or(|(latest, _)| latest != stamp)
        {
            self.stamp_since = Some((stamp, at));
        }
    }

    /// How far the receiver is from where the capture was taken, and what it holds.
    pub(super) fn note_answer(&mut self, arrival: &Arrival<'_>) {
        if let Some(rtt) = arrival.facts.rtt {
            let time = rtt.saturating_sub(arrival.at.since(arrival.captured));
            self.to_receiver = Some(self.to_receiver.map_or(time, |least| least.min(time)));
        }
        self.held.acknowledged(&arrival.facts, self.after_what());
    }

    /// Whether what comes to the receiver now was sent again after a timeout. Of the first repair after it there is no
    /// duplicate ACK.
    pub(super) fn after_what(&self) -> After {
        match self.ledger.last().map(|record| record.cause) {
            Some(Cause::Timeout { expiry: 1 }) => After::Other,
            _ if self.judge.timed_out().is_some() => After::Timeout,
            _ => After::Other,
        }
    }

    /// What is known of the transmission that a segment repeats.
    pub(super) fn before(&self, departure: &Departure<'_>) -> Before {
        let Some(rtt) = departure.view.rtt.min() else {
            return Before::Unknown;
        };
        let is_soon = |at: Instant| departure.at.since(at) < sooner_than_any(rtt);
        if let Some(newest) = self
            .newest
            .filter(|newest| newest.end == departure.end && is_soon(newest.at))
        {
            return Before::UnderWay {
                stamp: newest.stamp,
            };
        }
        match self.stamp_since {
            Some((_, since)) if is_soon(since) => Before::OlderStamp,
            _ => Before::Unknown,
        }
    }

    /// When the repair of the first missing segment left, if the ACK says that the receiver held all beyond it.
    pub(super) fn filled(
        &self,
        arrival: &Arrival<'_>,
        una_before: u64,
        echo: Option<u32>,
    ) -> Option<Instant> {
        if self.held.is_told() {
            return None;
        }
        match self.ledger.answered(una_before, echo)? {
            // What was under way when the timer expired came after all.
            Answered::Original { repaired_at } => Some(repaired_at),
            Answered::Repair { at } => {
                let segments = arrival.facts.delivered.len();
                self.held.was_something(segments).then_some(at)
            }
        }
    }

    /// Whether the receiver has all that was captured, as its ACKs are there at once and are under way to the sender
    /// for longer.
    pub(super) fn is_at_receiver(&self) -> bool {
        self.clock.is_away() && self.to_receiver.is_some_and(|time| time <= AT_RECEIVER)
    }

    /// Whether the capture shows what a repair repeats, and where.
    pub(super) fn origin(&self, filling: Option<Filling>, kind: SendingKind) -> Origin {
        match (filling, kind) {
            (Some(_), _) | (_, SendingKind::First) => Origin::PassedOver,
            (None, SendingKind::Repeat) if self.is_at_receiver() => Origin::Arrived,
            _ => Origin::Seen,
        }
    }

    /// What had arrived when the timer expired, for what is sent again after that.
    pub(super) fn rest(&self, cause: Cause) -> Rest {
        match cause {
            Cause::AfterTimeout => self.held.rest(),
            _ => Rest::None,
        }
    }
}
