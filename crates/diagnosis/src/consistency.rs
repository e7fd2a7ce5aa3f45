//! Consistency of the findings of a stream: findings that contradict more reliable ones are withdrawn.
//!
//! Each analysis knows only its own results. The following rules must hold between the analyses:
//!
//! - A capture without ACKs, or one that lacks much of the data, shows nothing about limits, the path, the sender, or
//!   the triggers of retransmissions.
//! - In a capture at the sender, every retransmission repeats bytes that the capture contains.
//! - All data that arrived has passed the bottleneck, so the rate of the bottleneck is at least the goodput.
//! - If a shaper before the capture point sets the rate, no pause is attributed to the application, and the window is not
//!   visible.
//! - Without TCP options, which contain SACK blocks, timestamps and window scales, the sender is unknown.
//! - A round trip is at least as long as the paths to both endpoints, and the clock of a capture cannot distinguish
//!   packets that are closer together than its tick.
//! - The minimum round-trip time is not greater than the mean.
//! - If other streams of the capture have the same direction at the same time, the times between the packets of one
//!   stream show nothing about the bottleneck.
//! - The number of lost segments equals the number of needed retransmissions, and is not greater than the number of all
//!   retransmissions.
//! - The number of retransmitted segments is not greater than the number of segments sent.

use crate::analyse::budget::{Group, Limit};
use crate::analyse::cause::{Cause, Need};
use crate::analyse::explain::Account;
use crate::analyse::signs::ConstantRate;
use crate::analyse::stalls::StallKind;
use dupack_tcp::time::Duration;

use crate::findings::{AcksSeen, OptionsSeen, StreamFindings};
use crate::path::Path;
use crate::read::counts::Counts;
use crate::read::vantage::Place;
use crate::sender::SenderReport;
use crate::told::Told;

/// Maximum fraction of the data that may be missing from a capture. If more is missing, the times between packets show
/// nothing about the sender (our choice).
pub const MISSING_MAX: f64 = 0.1;

/// Fraction of the goodput below which a rate contradicts it (our choice: it allows for clocks and for the ends of
/// transfers).
const BELOW: f64 = 0.9;

/// Factor by which a round trip must be shorter than the paths to both endpoints to contradict them (our choice: the
/// times of the paths are based on single packets).
const SHORT_OF: u64 = 2;

/// Interval in seconds below which the capture times of packets do not differ reliably (our choice: most captures count
/// microseconds, and hosts deliver several packets at once).
const CLOCK_S: f64 = 3e-6;

/// Maximum number by which losses may exceed retransmissions (our choice): the capture may end before the last losses
/// are repaired.
const LOSSES_OPEN: u64 = 8;

/// Findings that were withdrawn, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// Everything based on ACKs, because the capture has none.
    WithoutAcks,
    /// Everything based on times between packets, because packets are missing.
    PacketsMissing,
    /// The rate of the bottleneck, because data arrived faster.
    RateBelowGoodput,
    /// Losses, because more losses were found than retransmissions.
    LossesWithoutRepairs,
    /// Retransmissions, because the capture does not show their bytes twice.
    RetransmissionsUnseen,
    /// Retransmissions and everything based on them, because there are more retransmissions than segments.
    RetransmissionsBeyondSegments,
    /// The identification of the congestion control, because segments leave at a rate that ACKs do not change.
    ConstantRate,
    /// The identification of the sender, because TCP options are cut off.
    OptionsCut,
    /// The minimum round-trip time, because it is shorter than the paths to both endpoints.
    RoundTripTooShort,
    /// The rate of the bottleneck, because the clock of the capture is too coarse.
    RateBeyondClock,
    /// The bottleneck, because other streams of the capture may have used a part of its capacity.
    OthersBeside,
}

impl Withdrawn {
    /// Returns the reason, as a sentence without its full stop.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::WithoutAcks => "the ACKs are not in this capture",
            Self::PacketsMissing => "packets are missing from this capture",
            Self::RateBelowGoodput => "data arrived faster than the estimated rate",
            Self::LossesWithoutRepairs => "more losses were found than retransmissions",
            Self::RetransmissionsUnseen => {
                "the capture does not show the bytes of some retransmissions twice"
            }
            Self::RetransmissionsBeyondSegments => "more retransmissions were found than segments",
            Self::ConstantRate => "segments leave at a constant rate, which hides the window",
            Self::OptionsCut => "the TCP options of packets are cut off in this capture",
            Self::RoundTripTooShort => "samples are shorter than the paths to both endpoints",
            Self::RateBeyondClock => {
                "packets are closer together than the clock of the capture can resolve"
            }
            Self::OthersBeside => {
                "other connections of this capture may have used the bottleneck at the same time"
            }
        }
    }

    /// Returns a description of a capture that would show the finding.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::WithoutAcks => "a capture of both directions",
            Self::PacketsMissing => "a capture without drops",
            Self::RateBelowGoodput | Self::LossesWithoutRepairs | Self::RetransmissionsUnseen => {
                "a capture at the sender"
            }
            Self::ConstantRate => "a transfer without a shaper",
            Self::RetransmissionsBeyondSegments => {
                "a capture in which connections with these addresses and ports do not overlap"
            }
            Self::OptionsCut => "a capture with 128 bytes of each packet",
            Self::RoundTripTooShort => "a capture at the sender",
            Self::RateBeyondClock => "a slower path",
            Self::OthersBeside => "a capture in which no other transfer runs at the same time",
        }
    }

    fn cannot<T>(self) -> Told<T> {
        Told::CannotBeTold {
            why: self.why(),
            remedy: self.remedy(),
        }
    }
}

/// Compares the findings of a stream, and withdraws findings that contradict others. `counts` contains the counts of
/// the sender's packets.
pub(crate) fn settle(found: &mut StreamFindings, counts: &Counts) {
    let mut withdrawn = Vec::new();
    let beyond_all = lacks_most(found);
    if let Some(why) = beyond_all {
        withdrawn.push(why);
        forget_path(&mut found.path, why);
        forget_sender(&mut found.sender, why);
        forget_causes(found);
    }
    let goodput = found.goodput() - held_in_the_bucket(&found.path);
    if found
        .path
        .rate
        .value()
        .is_some_and(|rate| rate < BELOW * goodput)
    {
        withdrawn.push(Withdrawn::RateBelowGoodput);
        found.path.rate = Withdrawn::RateBelowGoodput.cannot();
        found.path.room = Withdrawn::RateBelowGoodput.cannot();
        found.path.policer = None;
    }
    // If the findings about losses have already been withdrawn, this contradiction is not reported.
    if beyond_all.is_none() && found.path.losses > found.account.retransmissions + LOSSES_OPEN {
        withdrawn.push(Withdrawn::LossesWithoutRepairs);
        forget_losses(&mut found.path, Withdrawn::LossesWithoutRepairs);
    }
    if found.vantage.place == Place::Sender
        && found.coverage.unseen_bytes == 0
        && found.account.retransmitted_bytes > counts.retransmitted_bytes
        && counts.retransmitted_bytes == 0
    {
        withdrawn.push(Withdrawn::RetransmissionsUnseen);
        forget_losses(&mut found.path, Withdrawn::RetransmissionsUnseen);
        found.account = Account::default();
        found.retransmissions.clear();
        found.shares.retransmissions = 0;
    }
    withdrawn.extend(forget_what_no_clock_tells(found));
    agree_on_round_trips(found);
    if found.coverage.options == OptionsSeen::Cut {
        withdrawn.push(Withdrawn::OptionsCut);
        forget_needs(found);
        let why = Withdrawn::OptionsCut.why();
        let (recovery, control) = (&mut found.sender.recovery, &mut found.sender.control);
        (recovery.name, recovery.nearest) = (None, None);
        (control.name, control.nearest) = (None, None);
        why.clone_into(&mut recovery.why);
        why.clone_into(&mut control.why);
        found.sender.stack = None;
    }
    if let Some(rate) = held_before_the_capture(found) {
        withdrawn.push(Withdrawn::ConstantRate);
        found.shares.held_back(rate.time);
        found.stalls.forget(StallKind::ResourceConstraint);
        let control = &mut found.sender.control;
        (control.name, control.nearest) = (None, None);
        Withdrawn::ConstantRate.why().clone_into(&mut control.why);
        found.sender.stack = None;
    }
    found.withdrawn = withdrawn;
}

/// Returns the reason why the limits, the path and the sender are unknown; `None` if they are known.
fn lacks_most(found: &StreamFindings) -> Option<Withdrawn> {
    if found.coverage.acks == AcksSeen::None {
        Some(Withdrawn::WithoutAcks)
    } else if found.coverage.missing() > MISSING_MAX {
        Some(Withdrawn::PacketsMissing)
    } else {
        let beyond = found.account.retransmissions > found.shares.segments;
        beyond.then_some(Withdrawn::RetransmissionsBeyondSegments)
    }
}

/// Returns the maximum rate that a policer's bucket adds to its own rate, averaged over the whole transfer, in bit/s.
fn held_in_the_bucket(path: &Path) -> f64 {
    let burst = path.policer.and_then(|policer| policer.burst.interval());
    let seconds = path.transfer.duration.as_secs_f64();
    burst.map_or(0.0, |(_, bytes)| bytes * 8.0 / seconds)
}

/// Withdraws round-trip times that are too short to be correct, and rates that are too high for the clock of the
/// capture.
fn forget_what_no_clock_tells(found: &mut StreamFindings) -> Vec<Withdrawn> {
    let mut withdrawn = Vec::new();
    let vantage = &found.vantage;
    let ways = vantage.to_sender + vantage.to_receiver;
    let is_short = |least: Duration| least.is_zero() || least * SHORT_OF < ways;
    if found.path.least_rtt.value().is_some_and(is_short) {
        withdrawn.push(Withdrawn::RoundTripTooShort);
        found.path.least_rtt = Withdrawn::RoundTripTooShort.cannot();
    }
    let packet_bits = f64::from(found.smss) * 8.0;
    let is_beyond = |rate: f64| rate * CLOCK_S > packet_bits;
    if found.path.rate.value().is_some_and(is_beyond) {
        withdrawn.push(Withdrawn::RateBeyondClock);
        found.path.rate = Withdrawn::RateBeyondClock.cannot();
        found.path.room = Withdrawn::RateBeyondClock.cannot();
    }
    if let Some(policer) = &mut found.path.policer
        && policer.link.value().is_some_and(is_beyond)
    {
        policer.link = Withdrawn::RateBeyondClock.cannot();
    }
    withdrawn
}

/// Limits the minimum round-trip time to the mean. A capture at the receiver shows no round trips: its samples are
/// delays in excess of the minimum, so the mean is limited by the minimum instead.
fn agree_on_round_trips(found: &mut StreamFindings) {
    let Some(mean) = found.shares.rtt_mean else {
        return;
    };
    match (&mut found.path.least_rtt, found.vantage.place) {
        (Told::Between { value, .. }, Place::Receiver) => {
            found.shares.rtt_mean = Some(mean.max(*value));
        }
        (Told::Between { value, low, .. }, _) => {
            *value = mean.min(*value);
            *low = mean.min(*low);
        }
        (Told::AtLeast { .. } | Told::CannotBeTold { .. }, _) => {}
    }
}

/// Returns the constant rate if it explains more of the stream's time than the path, timers, the receiver and
/// recoveries together; `None` otherwise.
fn held_before_the_capture(found: &StreamFindings) -> Option<ConstantRate> {
    let rate = found.signs.constant_rate?;
    let explained = [Group::Path, Group::Timers, Group::Receiver];
    let repairs = found.shares.of(Limit::Recovery);
    let explained = explained
        .into_iter()
        .fold(repairs, |sum, group| sum + found.shares.of_group(group));
    (rate.time > explained).then_some(rate)
}

/// Withdraws the findings of a stream about its bottleneck, because other streams of the capture may have used a part
/// of its capacity.
pub(crate) fn share_the_way(found: &mut StreamFindings) {
    let why = Withdrawn::OthersBeside;
    found.withdrawn.push(why);
    let path = &mut found.path;
    (path.rate, path.room) = (why.cannot(), why.cannot());
    (path.policer, path.trace) = (None, None);
    (path.random_loss, path.queue_share) = (why.cannot(), why.cannot());
}

/// Withdraws the findings about the need and the loss of retransmissions, which are unknown without SACK blocks and
/// timestamps.
fn forget_needs(found: &mut StreamFindings) {
    for again in &mut found.retransmissions {
        (again.need, again.lost) = (Need::Unknown, false);
    }
    let account = &mut found.account;
    account.of_unknown_need = account.retransmissions;
    (account.lost_first, account.lost_again) = (0, 0);
    (account.needless_by_dsack, account.needless_by_timestamp) = (0, 0);
    (account.needless_by_time, account.needless_by_arrival) = (0, 0);
    (account.needless_overtaken, account.needless_by_timer) = (0, 0);
}

fn forget_losses(path: &mut Path, why: Withdrawn) {
    path.loss = why.cannot();
    path.random_loss = why.cannot();
    path.queue_share = why.cannot();
}

/// Withdraws the triggers of retransmissions, because the capture lacks the ACKs or earlier packets.
fn forget_causes(found: &mut StreamFindings) {
    found.account.forget_causes();
    let all = found.retransmissions.iter_mut();
    for again in all.filter(|again| !again.cause.class().is_probe()) {
        (again.cause, again.trigger) = (Cause::Unknown, None);
    }
}

fn forget_sender(sender: &mut SenderReport, why: Withdrawn) {
    let (recovery, control) = (&mut sender.recovery, &mut sender.control);
    (recovery.name, recovery.nearest) = (None, None);
    (control.name, control.nearest) = (None, None);
    recovery.candidates.clear();
    control.candidates.clear();
    why.why().clone_into(&mut recovery.why);
    why.why().clone_into(&mut control.why);
    sender.stack = None;
}

fn forget_path(path: &mut Path, why: Withdrawn) {
    path.rate = why.cannot();
    path.room = why.cannot();
    if why != Withdrawn::PacketsMissing {
        path.least_rtt = why.cannot();
    }
    path.policer = None;
    path.trace = None;
    forget_losses(path, why);
}

#[cfg(test)]
mod tests;
