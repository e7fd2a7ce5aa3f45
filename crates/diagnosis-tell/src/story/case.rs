//! Facts for the choice and the content of a sentence, and conclusions from these facts.

use dupack_diagnosis::StreamFindings;
use dupack_diagnosis::analyse::budget::{Group, Limit, PathFacts, Shares};
use dupack_diagnosis::analyse::signs::Signs;
use dupack_diagnosis::analyse::stalls::StallList;
use dupack_diagnosis::consistency::Withdrawn;
use dupack_diagnosis::doubt::{Doubt, Evidence};
use dupack_diagnosis::findings::{Coverage, Sharing, Shut, TurnsTold};
use dupack_diagnosis::read::vantage::Place;
use dupack_diagnosis::untold::{self, MAIN_SHARE, Untold};
use dupack_tcp::time::Duration;

use super::words::part;

/// Minimum fraction of a time for an explanation of it to suffice (our choice).
pub(super) const HALF: f64 = 0.5;

/// Minimum fraction of the time for the sentence to omit "for 41 of 60 s" (our choice).
pub(super) const ALMOST_ALL: f64 = 0.9;

/// Minimum fraction of the time for a further group of limits to be mentioned (our choice).
pub(super) const REST_SHARE: f64 = 0.1;

/// Maximum fraction of retransmitted segments in slow start (our choice).
pub(super) const LOSSES_IN_SLOW_START: f64 = 0.02;

/// Minimum number of round trips to show how a window changes (our choice: slow start is visible after one round trip,
/// and a loss after two).
pub(super) const ROUND_TRIPS_MIN: f64 = 3.0;

/// Initial window in segments (RFC 6928). A stream with at most this number of segments is small, because its sender
/// need not wait for an ACK.
pub(super) const SMALL_SEGMENTS: u64 = 10;

/// Minimum number of waits for an ACK to be reported: fewer may be a coincidence (our choice).
pub(super) const NAGLE_MIN: u64 = 3;

/// Minimum number of successive requests for a pattern (our choice).
const TURNS_MIN: u64 = 8;

/// Turns that took most of a stream's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turning {
    /// Number and duration of the round trips that took the time.
    RoundTrips(u64, Duration),
    /// Number of turns, mean duration of a turn, and the part of this duration in which the answer was in flight.
    Answers(u64, [Duration; 2]),
}

/// Facts for a sentence.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// Limits of the stream's time.
    pub shares: &'a Shares,
    /// Stalls of the stream.
    pub stalls: &'a StallList,
    /// The path, as far as it is known.
    pub path: PathFacts,
    /// Times for which the receive window was closed.
    pub shut: Shut,
    /// Extent to which the capture contains the stream.
    pub coverage: Coverage,
    /// Reason why the limit is unknown, or `None` if the limit is known.
    pub untold: Option<Untold>,
    /// Signs of middleboxes and of shapers.
    pub signs: Signs,
    /// Size of the headers of a data packet in bytes.
    pub headers: u64,
    /// Place where the capture was taken.
    pub place: Place,
    /// Upper bound of the time from the place of the capture to the sender and back, according to the sender's
    /// responses. Zero if no response shows this time.
    pub to_sender: Duration,
    /// Rate of a policer in bit/s, if one was found.
    pub policer: Option<f64>,
    /// Number of spurious retransmissions.
    pub spurious: u64,
    /// Number of spurious retransmissions whose original was overtaken by later segments.
    pub overtaken: u64,
    /// Number of spurious retransmissions that a timer triggered.
    pub early: u64,
    /// `true` if retransmissions may be missing from the capture.
    pub may_lack_repairs: bool,
    /// `true` if other streams of the capture may have used a part of the bottleneck's rate.
    pub beside: bool,
    /// Bottleneck that the stream shares with other streams of the capture, if one was found.
    pub sharing: Option<Sharing>,
    /// Turns of the stream, if it has turns.
    pub turns: Option<TurnsTold>,
}

impl<'a> Case<'a> {
    /// Returns the facts of a stream.
    #[must_use]
    pub fn of(stream: &'a StreamFindings) -> Self {
        Self {
            shares: &stream.shares,
            stalls: &stream.stalls,
            path: stream.path.facts(),
            shut: stream.shut,
            coverage: stream.coverage,
            untold: stream.limits_untold(),
            signs: stream.signs,
            headers: stream.path.headers,
            place: stream.vantage.place,
            to_sender: stream.vantage.to_sender,
            policer: stream.path.policer.and_then(|policer| policer.rate.value()),
            spurious: stream.account.needless(),
            overtaken: stream.account.needless_overtaken,
            early: stream.account.needless_by_timer,
            may_lack_repairs: stream.may_lack_repairs(),
            beside: stream.withdrawn.contains(&Withdrawn::OthersBeside),
            sharing: stream.sharing,
            turns: stream.turns,
        }
    }
}

impl Case<'_> {
    pub(super) fn part(&self, group: Group) -> f64 {
        self.shares.share(self.shares.of_group(group))
    }

    /// Returns the time that is not attributed to the application.
    pub(super) fn active(&self) -> Duration {
        self.shares.duration() - self.shares.of_group(Group::Application)
    }

    /// `true` if the sentence mentions that the window was closed, although a closed window did not take most of the
    /// time.
    pub(super) fn shut_matters(&self) -> bool {
        let shut = self.shares.share(self.shares.of(Limit::ZeroWindow));
        self.shut.times > 0 && (shut >= REST_SHARE || self.is_short())
    }

    /// Returns the fraction of the time that losses and timers took.
    pub(super) fn wasted(&self) -> f64 {
        self.part(Group::Timers) + self.part(Group::Losses)
    }

    const fn evidence(&self) -> Evidence<'_> {
        Evidence {
            shares: self.shares,
            stalls: self.stalls,
            shut: self.shut,
            signs: &self.signs,
            place: self.place,
            to_sender: self.to_sender,
            bytes_per_second: self.path.bytes_per_second,
            turns: self.turns,
        }
    }

    /// `true` if a constant rate before the capture point explains the time that would otherwise be attributed to the
    /// application or to the sender.
    pub(super) fn leaves_at_a_constant_rate(&self) -> bool {
        self.evidence().leaves_at_a_constant_rate()
    }

    /// Returns another cause that explains the periods without packets as well as the application or the sender's
    /// buffer does, or `None` if there is none.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        self.evidence().doubt()
    }

    /// `true` if the bottleneck may have spaced the segments, because the capture does not show when the segments were
    /// sent.
    pub(super) fn may_be_spread(&self) -> bool {
        self.evidence().may_be_spread()
    }

    /// `true` if so many segments are retransmitted that losses keep the window from growing.
    pub(super) fn loses_much(&self) -> bool {
        self.shares.retransmissions as f64 > LOSSES_IN_SLOW_START * self.shares.segments as f64
    }

    /// Returns the turns of the stream if waiting for the other endpoint took a large part of the time in which the
    /// application sent nothing.
    pub(super) fn turning(&self) -> Option<Turning> {
        let turns = self.turns.filter(|turns| turns.count >= TURNS_MIN)?;
        let silent = self.shares.of_group(Group::Application);
        let most = |time: Duration| time.as_secs_f64() >= HALF * silent.as_secs_f64();
        if let Some(round_trip) = turns.round_trip
            && most(round_trip.saturating_mul(turns.count))
        {
            return Some(Turning::RoundTrips(turns.count, round_trip));
        }
        // The time by which ACKs were delayed is subtracted, because the answers had already arrived in this time.
        let outstanding = self.shares.of(Limit::Pause) - turns.ack_held;
        let much = outstanding.as_secs_f64() >= MAIN_SHARE * silent.as_secs_f64();
        (!turns.asks && much).then(|| {
            Turning::Answers(
                turns.count,
                [silent, outstanding].map(|time| time / turns.count),
            )
        })
    }

    /// `true` if every retransmission was spurious, so that nothing was lost.
    pub(super) fn is_all_spurious(&self) -> bool {
        self.shares.retransmissions > 0 && self.spurious >= self.shares.retransmissions
    }

    pub(super) fn waited_to_open(&self) -> bool {
        let handshake = self.shares.of(Limit::Handshake).as_secs_f64();
        self.shares
            .rtt_min
            .is_none_or(|rtt| handshake > ROUND_TRIPS_MIN * rtt.as_secs_f64())
    }

    pub(super) fn is_short(&self) -> bool {
        let moving = self.active() - self.shares.of(Limit::Handshake);
        let few = self.shares.segments <= SMALL_SEGMENTS;
        let brief = self
            .shares
            .rtt_min
            .is_none_or(|rtt| moving.as_secs_f64() < ROUND_TRIPS_MIN * rtt.as_secs_f64());
        few || brief
    }

    /// `true` if the stream is so small that no window limits it, and no segment was retransmitted.
    pub(super) fn is_small(&self) -> bool {
        let held = [
            Group::Receiver,
            Group::Losses,
            Group::Timers,
            Group::Nagle,
            Group::Sender,
        ];
        self.shares.segments <= SMALL_SEGMENTS
            && self.shares.retransmissions == 0
            && held.into_iter().all(|group| self.part(group) < REST_SHARE)
    }

    /// Returns the groups of limits with their times, the largest time first.
    pub(super) fn ranked(&self) -> Vec<(Group, Duration)> {
        untold::ranked(self.shares)
    }

    /// Returns the group with the longest time, if its fraction of the time is at least [`MAIN_SHARE`].
    pub(super) fn main(&self) -> Option<Group> {
        untold::main(self.shares)
    }

    /// `true` if losses, timers and the path together took most of the time.
    pub(super) fn is_wasted_most(&self) -> bool {
        let groups = [Group::Losses, Group::Timers, Group::Path];
        let spent: f64 = groups.iter().map(|group| self.part(*group)).sum();
        let ranked = self.ranked().into_iter();
        let mut others = ranked.filter(|(group, _)| !groups.contains(group));
        spent >= MAIN_SHARE && others.all(|(group, _)| self.part(group) < spent)
    }

    /// `true` if the receive window was closed for at least as long as it was full.
    pub(super) fn is_shut_most(&self) -> bool {
        self.shares.of(Limit::ZeroWindow) >= self.shares.of(Limit::ReceiveWindow)
    }

    /// Returns `for 41 of 60 s, `, or an empty text if the group took almost all of the time.
    pub(super) fn for_so_long(&self, group: Group) -> String {
        if self.part(group) >= ALMOST_ALL {
            String::new()
        } else {
            let spent = part(self.shares.of_group(group), self.shares.duration());
            format!("for {spent}, ")
        }
    }
}

/// `true` if several round trips are needed to show that a group limits a stream.
pub(super) const fn is_a_window(group: Group) -> bool {
    matches!(
        group,
        Group::Handshake
            | Group::SlowStart
            | Group::Losses
            | Group::Sender
            | Group::Path
            | Group::Receiver
    )
}
