//! Limits that cannot be distinguished from another cause in a capture.
//!
//! The shares of a stream name one limit for each instant. If another cause explains most of this time as well, every
//! output format of a diagnosis names both causes. Only this module decides when this is the case.

use schemars::JsonSchema;
use serde::Serialize;

use crate::analyse::budget::{AckTimes, Group, Limit, Shares, Stamps, Window};
use crate::analyse::signs::Signs;
use crate::analyse::stalls::{StallKind, StallList};
use crate::findings::{Shut, TurnsTold};
use crate::read::vantage::Place;
use crate::untold::main;
use dupack_tcp::time::Duration;

/// Minimum fraction of the time that a cause must explain to be named (our choice).
const HALF: f64 = 0.5;

/// Minimum fraction of the bottleneck's rate that a transfer must use for the path to count as full (our choice).
pub const FULL: f64 = 0.75;

/// Minimum ratio of the mean segment size to the full segment size for a transfer to count as bulk data (our choice).
/// In bulk data, a period without packets does not begin at the end of a message.
const BULK: f64 = 0.8;

/// Minimum number and maximum mean length of periods without packets that may be round trips (our choice: the longest
/// paths have round-trip times of half a second).
const ROUND_TRIPS_OFTEN: u64 = 16;
const ROUND_TRIP_MAX: Duration = Duration::from_millis(500);

/// Minimum fraction of lost segments for losses to explain periods without packets at the receiver (our choice).
const LOSSES_HIDDEN: f64 = 0.03;

/// Assumed maximum time that is lost when only a timer repairs a loss (our choice).
const TIMEOUT: Duration = Duration::from_secs(1);

/// Minimum number of segments that a bottleneck may have spread, and the maximum mean time between them (our choice:
/// this is 120 kbit/s with full segments).
const SPREAD_MIN: u64 = 32;
const SPREAD_MAX: Duration = Duration::from_millis(100);

/// Possible cause of a stream's time other than the limit that its shares name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// A receive window with unknown scale.
    #[serde(rename = "receive_window")]
    Window,
    /// Round trips of unknown length.
    #[serde(rename = "round_trips")]
    RoundTrip,
    /// Packets that were lost before the capture point.
    #[serde(rename = "lost_before_capture")]
    Lost,
    /// Nagle's algorithm, which makes short segments wait for ACKs.
    Nagle,
    /// A bottleneck before the capture point, so that the capture does not show when a segment was sent.
    Bottleneck,
    /// A rate limit before the capture point: a shaper, or pacing.
    #[serde(rename = "shaper_or_pacing")]
    ConstantRate,
}

/// Limits of a stream that cannot be distinguished from other causes in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InDoubt {
    groups: &'static [Group],
    causes: [Option<Doubt>; 2],
}

impl InDoubt {
    /// Returns `true` if the time of `limit` may have another cause.
    #[must_use]
    pub fn has(&self, limit: Limit) -> bool {
        self.groups.contains(&limit.group())
    }

    /// Returns the other causes, one or two.
    pub fn causes(&self) -> impl Iterator<Item = Doubt> {
        self.causes.into_iter().flatten()
    }

    /// Returns `true` if the time in doubt does not count as lost, but one of the other causes would make it count as
    /// lost.
    #[must_use]
    pub fn hides_lost_time(&self) -> bool {
        let is_lost = |cause| !matches!(cause, Doubt::Bottleneck | Doubt::ConstantRate);
        let counted = self.groups.contains(&Group::Sender);
        !counted && self.causes().any(is_lost)
    }
}

/// Findings on which the decision is based.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Limits of the stream's time.
    pub shares: &'a Shares,
    /// Stalls of the stream.
    pub stalls: &'a StallList,
    /// Closures of the receive window.
    pub shut: Shut,
    /// Signs of middleboxes and shapers in the stream.
    pub signs: &'a Signs,
    /// Capture point.
    pub place: Place,
    /// Upper bound of the round-trip time between the capture point and the sender, according to responses; zero
    /// without responses.
    pub to_sender: Duration,
    /// Rate of the bottleneck in bytes of payload per second; `None` if unknown.
    pub bytes_per_second: Option<f64>,
    /// Turns of the stream's data; `None` if there are none.
    pub turns: Option<TurnsTold>,
}

impl Evidence<'_> {
    /// Returns the limits that may have another cause, and these causes; `None` if there are none.
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

    /// Returns `true` if a rate limit before the capture point explains the time attributed to the application or the
    /// sender.
    #[must_use]
    pub fn leaves_at_a_constant_rate(&self) -> bool {
        let part = |group| self.shares.share(self.shares.of_group(group));
        let unexplained = part(Group::Application) + part(Group::Sender);
        let idle = self.shares.share(self.shares.of(Limit::Idle));
        let rate = self.signs.constant_rate;
        let paced = rate.is_some_and(|rate| self.shares.share(rate.time) >= HALF);
        paced && self.place != Place::Receiver && unexplained - idle >= HALF
    }

    /// Returns a cause that explains the periods without packets as well as the application or the sender's buffer
    /// does; `None` if there is none.
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

    /// Returns `true` if the rate of the bottleneck is known and this transfer uses most of it.
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

    /// Returns the maximum mean length of periods without packets that may be round trips.
    fn round_trip_max(&self) -> Duration {
        match self.to_sender {
            Duration::ZERO => ROUND_TRIP_MAX,
            way => way.saturating_mul(2).min(ROUND_TRIP_MAX),
        }
    }

    /// Returns the time between responses and after bursts. No data of the stream was in flight in this time,
    /// regardless of the segments' departure times.
    fn path_was_empty(&self) -> Duration {
        let waiting = self.stalls.of(StallKind::ClientIdle).time
            + self.stalls.of(StallKind::DataUnavailable).time;
        let answers = self.turns.filter(|turns| !turns.asks);
        let between = answers.map_or(Duration::ZERO, |turns| turns.between);
        waiting.max(between).max(self.shares.after_bursts)
    }

    /// Returns `true` if the bottleneck may have spread the segments, because the capture does not show when they were
    /// sent.
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
