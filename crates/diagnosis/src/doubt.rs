//! Limits that a capture does not tell from another cause.
//!
//! The shares of a stream name one limit for each instant. Where another cause explains most of that time as well, every form of a
//! diagnosis names both. The decision is made here, once.

use schemars::JsonSchema;
use serde::Serialize;

use crate::analyse::budget::{AckTimes, Group, Limit, Shares, Stamps, Window};
use crate::analyse::signs::Signs;
use crate::analyse::stalls::{StallKind, StallList};
use crate::findings::{Shut, TurnsTold};
use crate::read::vantage::Place;
use crate::untold::main;
use dupack_tcp::time::Duration;

/// From this part of the time on, a cause explains it. Ours.
const HALF: f64 = 0.5;

/// A path is full if this part of its rate moves. Ours.
pub const FULL: f64 = 0.75;

/// If the mean segment has this part of a full one, the data is bulk, and no message ends where a silence begins. Ours.
const BULK: f64 = 0.8;

/// Silences of one cause that come so often, and are so short on average, may be round trips. Ours: the longest paths have half a
/// second.
const ROUND_TRIPS_OFTEN: u64 = 16;
const ROUND_TRIP_MAX: Duration = Duration::from_millis(500);

/// From this part of its segments on, losses may have left silences at the receiver's end. Ours.
const LOSSES_HIDDEN: f64 = 0.03;

/// Time that a loss takes at most, mostly, if only a timer repairs it. Ours.
const TIMEOUT: Duration = Duration::from_secs(1);

/// So many segments, that far apart at most on average, may be kept apart by a bottleneck (ours: 120 kbit/s).
const SPREAD_MIN: u64 = 32;
const SPREAD_MAX: Duration = Duration::from_millis(100);

/// Cause that a stream's time may have instead of the limit that its shares name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The receive window, whose scale is not known.
    #[serde(rename = "receive_window")]
    Window,
    /// Round trips, whose length is not known.
    #[serde(rename = "round_trips")]
    RoundTrip,
    /// Packets that were lost before the capture.
    #[serde(rename = "lost_before_capture")]
    Lost,
    /// Nagle's algorithm: short segments that wait for ACKs.
    Nagle,
    /// The bottleneck, behind which nothing says when a segment left.
    Bottleneck,
    /// A bottleneck before the capture, such as a shaper, or pacing.
    #[serde(rename = "shaper_or_pacing")]
    ConstantRate,
}

/// Limits of a stream that the capture does not tell from other causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InDoubt {
    groups: &'static [Group],
    causes: [Option<Doubt>; 2],
}

impl InDoubt {
    /// `true` if the time of `limit` may have another cause.
    #[must_use]
    pub fn has(&self, limit: Limit) -> bool {
        self.groups.contains(&limit.group())
    }

    /// The other causes, one or two.
    pub fn causes(&self) -> impl Iterator<Item = Doubt> {
        self.causes.into_iter().flatten()
    }

    /// `true` if the time in doubt is not counted as lost, and one of the other causes would be.
    #[must_use]
    pub fn hides_lost_time(&self) -> bool {
        let is_lost = |cause| !matches!(cause, Doubt::Bottleneck | Doubt::ConstantRate);
        let counted = self.groups.contains(&Group::Sender);
        !counted && self.causes().any(is_lost)
    }
}

/// The findings that the decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The limits of its time.
    pub shares: &'a Shares,
    /// Where nothing happened.
    pub stalls: &'a StallList,
    /// How often the receiver's window was shut.
    pub shut: Shut,
    /// Signs of middleboxes and shapers.
    pub signs: &'a Signs,
    /// Where the capture was taken.
    pub place: Place,
    /// The way from there to the sender and back, as far as answers tell: it is no longer. Zero if none tells.
    pub to_sender: Duration,
    /// Bytes of payload that the bottleneck passes in a second.
    pub bytes_per_second: Option<f64>,
    /// The turns that its data was part of, if there are some.
    pub turns: Option<TurnsTold>,
}

impl Evidence<'_> {
    /// The limits that may have another cause, and that cause; `None` if there are none.
    #[must_use]
    pub fn in_doubt(&self) -> Option<InDoubt> {
        if self.leaves_at_a_constant_rate() {
            return Some(InDoubt {
                groups: &[Group::Application, Group::Sender],
                causes: [Some(Doubt::ConstantRate), None],
            });
        }
        let first = self.doubt()?;
        let spread = first != Doubt::Bottleneck && self.may_be_spread();
        let (groups, second): (&[Group], Option<Doubt>) = match main(self.shares) {
            Some(Group::Sender) => (&[Group::Sender], None),
            Some(Group::Path) => (&[Group::Path], None),
            _ => (&[Group::Application], spread.then_some(Doubt::Bottleneck)),
        };
        Some(InDoubt {
            groups,
            causes: [Some(first), second],
        })
    }

    /// `true` if a rate before the capture explains what would be told of the application or the sender.
    #[must_use]
    pub fn leaves_at_a_constant_rate(&self) -> bool {
        let part = |group| self.shares.share(self.shares.of_group(group));
        let unexplained = part(Group::Application) + part(Group::Sender);
        let idle = self.shares.share(self.shares.of(Limit::Idle));
        let rate = self.signs.constant_rate;
        let paced = rate.is_some_and(|rate| self.shares.share(rate.time) >= HALF);
        paced && self.place != Place::Receiver && unexplained - idle >= HALF
    }

    /// A limit that explains the silences as well as the application, or the sender's buffer, does; `None` if there is none.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        match main(self.shares)? {
            Group::Sender if self.shares.window == Window::Unscaled => Some(Doubt::Window),
            Group::Path if self.shares.window == Window::Unscaled && !self.fills_the_path() => {
                Some(Doubt::Window)
            }
            Group::Application => self.doubt_of_the_application(),
            _ => None,
        }
    }

    /// `true` if the rate of the bottleneck is known, and most of it is this transfer's.
    fn fills_the_path(&self) -> bool {
        let moved = self.shares.busy_bytes_per_second.unwrap_or(0.0);
        self.bytes_per_second.is_some_and(|all| moved >= FULL * all)
    }

    fn doubt_of_the_application(&self) -> Option<Doubt> {
        let bulk = self.is_bulk();
        let pause = self.shares.of(Limit::Pause);
        let paused = pause > self.shares.of(Limit::Idle) || self.shut.times > 0;
        if self.shares.window == Window::Unscaled && bulk && paused {
            return Some(Doubt::Window);
        }
        let silent = self.shares.of_group(Group::Application).as_secs_f64();
        let nagle_perhaps = self.shares.nagle_perhaps.as_secs_f64() >= HALF * silent;
        if self.place == Place::Sender {
            return nagle_perhaps.then_some(Doubt::Nagle);
        }
        if self.may_be_spread() && bulk && self.path_was_empty().as_secs_f64() < HALF * silent {
            return Some(Doubt::Bottleneck);
        }
        let asked = self.stalls.of(StallKind::ClientIdle).time.as_secs_f64() <= HALF * silent;
        let guessed = self.shares.ack_times == AckTimes::Guessed;
        let unready = self.stalls.of(StallKind::DataUnavailable);
        let stopped = self.stalls.of(StallKind::ResourceConstraint);
        let (often, long) = (unready.count + stopped.count, unready.time + stopped.time);
        let brief = long <= self.round_trip_max().saturating_mul(often);
        if guessed && bulk && asked && brief && often >= ROUND_TRIPS_OFTEN {
            return Some(Doubt::RoundTrip);
        }
        if nagle_perhaps {
            return Some(Doubt::Nagle);
        }
        let answers = self.turns.filter(|turns| !turns.asks);
        let unheard = answers.map_or(Duration::ZERO, |turns| turns.unheard);
        if unheard.max(self.shares.cut_short).as_secs_f64() >= HALF * silent {
            return Some(Doubt::Lost);
        }
        let losses = self.shares.retransmissions as f64;
        let part = losses / self.shares.segments.max(1) as f64;
        let explained = part * unready.count as f64 * TIMEOUT.as_secs_f64();
        (asked && part >= LOSSES_HIDDEN && losses > 1.0 && explained >= HALF * silent)
            .then_some(Doubt::Lost)
    }

    /// The longest silence that may be a round trip, on average.
    fn round_trip_max(&self) -> Duration {
        match self.to_sender {
            Duration::ZERO => ROUND_TRIP_MAX,
            way => way.saturating_mul(2).min(ROUND_TRIP_MAX),
        }
    }

    /// Time in which nothing of the stream was on its way, whatever its segments say of when they left: between an answer and the
    /// next, and after bursts.
    fn path_was_empty(&self) -> Duration {
        let waiting = self.stalls.of(StallKind::ClientIdle).time
            + self.stalls.of(StallKind::DataUnavailable).time;
        let answers = self.turns.filter(|turns| !turns.asks);
        let between = answers.map_or(Duration::ZERO, |turns| turns.between);
        waiting.max(between).max(self.shares.after_bursts)
    }

    /// `true` if the bottleneck may be what keeps segments apart: nothing says when they left.
    #[must_use]
    pub fn may_be_spread(&self) -> bool {
        let unknown = self.bytes_per_second.is_none();
        let silent = self.shares.of_group(Group::Application);
        let segments = self.shares.segments;
        let close = segments >= SPREAD_MIN && silent <= SPREAD_MAX.saturating_mul(segments);
        let unstamped = self.shares.stamps == Stamps::Missing;
        self.place == Place::Receiver && unknown && unstamped && close
    }

    fn is_bulk(&self) -> bool {
        let full = self.shares.segments as f64 * self.shares.segment_size as f64;
        self.shares.delivered as f64 >= BULK * full
    }
}
