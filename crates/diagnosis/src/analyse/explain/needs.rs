//! Evidence of a retransmission's necessity in addition to the ACK that covers it.

use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::{Duration, Instant};

use super::Explainer;
use super::held::{After, Rest};
use super::holes::Filling;
use super::ledger::{Answered, Before, Origin, sooner_than_any};
use crate::analyse::cause::Cause;
use crate::read::moment::{Arrival, Departure};

/// Maximum time from segments to their ACKs if no packet is lost between the capture point and the receiver (our
/// choice: a host may take this long, and a path with queues takes longer).
const AT_RECEIVER: Duration = Duration::from_millis(1);

impl Explainer {
    /// Records a captured TSval.
    pub(super) fn note_stamp(&mut self, at: Instant, stamp: Option<u32>) {
        if let Some(stamp) = stamp
            && self.stamp_since.is_none_or(|(latest, _)| latest != stamp)
        {
            self.stamp_since = Some((stamp, at));
        }
    }

    /// Records the distance from the capture point to the receiver, and the data that the receiver holds.
    pub(super) fn note_answer(&mut self, arrival: &Arrival<'_>) {
        if let Some(rtt) = arrival.facts.rtt {
            let time = rtt.saturating_sub(arrival.at.since(arrival.captured));
            self.to_receiver = Some(self.to_receiver.map_or(time, |least| least.min(time)));
        }
        self.held.acknowledged(&arrival.facts, self.after_what());
    }

    /// Returns `Timeout` if the segments to which the receiver now responds were retransmitted after a timeout. The
    /// first retransmission at a timeout does not count, because it causes no duplicate ACK.
    pub(super) fn after_what(&self) -> After {
        match self.ledger.last().map(|record| record.cause) {
            Some(Cause::Timeout { expiry: 1 }) => After::Other,
            _ if self.judge.timed_out().is_some() => After::Timeout,
            _ => After::Other,
        }
    }

    /// Returns the facts about the transmission that this segment repeats.
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

    /// Returns the departure time of the first missing segment's retransmission, if the ACK shows that the receiver
    /// held all data after this segment.
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
            // Data that was in transit when the timer expired has arrived.
            Answered::Original { repaired_at } => Some(repaired_at),
            Answered::Repair { at } => {
                let segments = arrival.facts.delivered.len();
                self.held.was_something(segments).then_some(at)
            }
        }
    }

    /// `true` if all captured data reaches the receiver, because the capture point is at the receiver: ACKs are
    /// captured soon after the data, but need more time to reach the sender.
    pub(super) fn is_at_receiver(&self) -> bool {
        self.clock.is_away() && self.to_receiver.is_some_and(|time| time <= AT_RECEIVER)
    }

    /// Returns the origin of a retransmission: whether the capture contains the first transmission of its data.
    pub(super) fn origin(&self, filling: Option<Filling>, kind: SendingKind) -> Origin {
        match (filling, kind) {
            (Some(_), _) | (_, SendingKind::First) => Origin::PassedOver,
            (None, SendingKind::Repeat) if self.is_at_receiver() => Origin::Arrived,
            _ => Origin::Seen,
        }
    }

    /// Returns the part of the outstanding data that had arrived before the timeout, for retransmissions after a
    /// timeout.
    pub(super) fn rest(&self, cause: Cause) -> Rest {
        match cause {
            Cause::AfterTimeout => self.held.rest(),
            _ => Rest::None,
        }
    }
}
