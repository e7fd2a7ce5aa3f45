//! The facts that a sentence rests on, and what follows from them.

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

/// From this part on, nobody asks for the rest. Ours.
pub(super) const HALF: f64 = 0.5;

/// From this part on, a limit needs no "for so long". Ours.
pub(super) const ALMOST_ALL: f64 = 0.9;

/// The rest is worth a word from this part on. Ours.
pub(super) const REST_SHARE: f64 = 0.1;

/// A window that still grows for the first time loses no more of its segments than this. Ours.
pub(super) const LOSSES_IN_SLOW_START: f64 = 0.02;

/// Fewer round trips tell nothing of how a window moves. Ours: slow start needs one to show, and a loss two.
pub(super) const ROUND_TRIPS_MIN: f64 = 3.0;

/// An initial window (RFC 6928): what is no more than this is small, and needs no ACK to be sent.
pub(super) const SMALL_SEGMENTS: u64 = 10;

/// So many waits for an ACK are no chance. Ours.
pub(super) const NAGLE_MIN: u64 = 3;

/// So many requests one after another are a habit. Ours.
const TURNS_MIN: u64 = 8;

/// The turns of a stream, where they are what its time went to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turning {
    /// Round trips: so many, of this length, with nothing else to speak of.
    RoundTrips(u64, Duration),
    /// So many turns of this length, in each of which the answer was on its way for so long.
    Answers(u64, [Duration; 2]),
}

/// The facts that a sentence rests on.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The limits of its time.
    pub shares: &'a Shares,
    /// Where nothing happened.
    pub stalls: &'a StallList,
    /// The path, as far as it is known.
    pub path: PathFacts,
    /// How often the receiver's window was shut.
    pub shut: Shut,
    /// How much of it the capture has.
    pub coverage: Coverage,
    /// Why the limit is not told; `None` if it is.
    pub untold: Option<Untold>,
    /// Signs of middleboxes and shapers.
    pub signs: Signs,
    /// Bytes of the headers of a data packet.
    pub headers: u64,
    /// Where the capture was taken.
    pub place: Place,
    /// The way from there to the sender and back, as far as answers tell: it is no longer. Zero if none tells.
    pub to_sender: Duration,
    /// The rate of a policer in bit/s, if one was found.
    pub policer: Option<f64>,
    /// Retransmissions that were spurious.
    pub spurious: u64,
    /// Those of them that later segments had overtaken.
    pub overtaken: u64,
    /// Those of them that a timer sent.
    pub early: u64,
    /// Retransmissions may be missing from the capture.
    pub may_lack_repairs: bool,
    /// Other streams of the capture may have had their part of the bottleneck.
    pub beside: bool,
    /// The bottleneck that it was found to share with others of the capture.
    pub sharing: Option<Sharing>,
    /// The turns that its data was part of, if there are some.
    pub turns: Option<TurnsTold>,
}

impl<'a> Case<'a> {
    /// The facts of a stream.
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

    /// The time in which there was something to do.
    pub(super) fn active(&self) -> Duration {
        self.shares.duration() - self.shares.of_group(Group::Application)
    }

    /// `true` if a window that was shut belongs into the sentence though it was not the most of it.
    pub(super) fn shut_matters(&self) -> bool {
        let shut = self.shares.share(self.shares.of(Limit::ZeroWindow));
        self.shut.times > 0 && (shut >= REST_SHARE || self.is_short())
    }

    /// The part of the time that losses and timers took.
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

    /// `true` if a rate before the capture explains what would be told of the application or the sender.
    pub(super) fn leaves_at_a_constant_rate(&self) -> bool {
        self.evidence().leaves_at_a_constant_rate()
    }

    /// A limit that explains the silences as well as the application, or the sender's buffer, does; `None` if there is none.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        self.evidence().doubt()
    }

    /// `true` if the bottleneck may be what keeps segments apart: nothing says when they left.
    pub(super) fn may_be_spread(&self) -> bool {
        self.evidence().may_be_spread()
    }

    /// `true` if so much is retransmitted that no window grows undisturbed.
    pub(super) fn loses_much(&self) -> bool {
        self.shares.retransmissions as f64 > LOSSES_IN_SLOW_START * self.shares.segments as f64
    }

    /// The turns of the stream, if waiting for the other end's next one was most of what its application had to do.
    pub(super) fn turning(&self) -> Option<Turning> {
        let turns = self.turns.filter(|turns| turns.count >= TURNS_MIN)?;
        let silent = self.shares.of_group(Group::Application);
        let most = |time: Duration| time.as_secs_f64() >= HALF * silent.as_secs_f64();
        if let Some(round_trip) = turns.round_trip
            && most(round_trip.saturating_mul(turns.count))
        {
            return Some(Turning::RoundTrips(turns.count, round_trip));
        }
        // An answer whose ACK is delayed is not on its way.
        let outstanding = self.shares.of(Limit::Pause) - turns.ack_held;
        let much = outstanding.as_secs_f64() >= MAIN_SHARE * silent.as_secs_f64();
        (!turns.asks && much).then(|| {
            Turning::Answers(
                turns.count,
                [silent, outstanding].map(|time| time / turns.count),
            )
        })
    }

    /// `true` if every retransmission was spurious: nothing was lost.
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

    /// `true` if it is so little that no window holds it back, and nothing was lost.
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

    /// Groups by their time, the largest first.
    pub(super) fn ranked(&self) -> Vec<(Group, Duration)> {
        untold::ranked(self.shares)
    }

    /// The group that took most of the time, if that is much of it.
    pub(super) fn main(&self) -> Option<Group> {
        untold::main(self.shares)
    }

    /// `true` if losses, timers and the path took most of the time.
    pub(super) fn is_wasted_most(&self) -> bool {
        let groups = [Group::Losses, Group::Timers, Group::Path];
        let spent: f64 = groups.iter().map(|group| self.part(*group)).sum();
        let ranked = self.ranked().into_iter();
        let mut others = ranked.filter(|(group, _)| !groups.contains(group));
        spent >= MAIN_SHARE && others.all(|(group, _)| self.part(group) < spent)
    }

    /// `true` if the receive window was shut for longer than it was full.
    pub(super) fn is_shut_most(&self) -> bool {
        self.shares.of(Limit::ZeroWindow) >= self.shares.of(Limit::ReceiveWindow)
    }

    /// `for 41 of 60 s`, where it was not almost all the time.
    pub(super) fn for_so_long(&self, group: Group) -> String {
        if self.part(group) >= ALMOST_ALL {
            String::new()
        } else {
            let spent = part(self.shares.of_group(group), self.shares.duration());
            format!("for {spent}, ")
        }
    }
}

/// `true` if it takes round trips to tell that a group limits a stream.
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
