//! Streams whose limits are not told.
//!
//! A limit follows from what was outstanding, when it was acknowledged and what the receiver granted. Where the capture does not have
//! that, the shares of [`Shares`] are of a transfer that was not so: nobody is told of them, nor of stalls and of lost time, which rest on
//! the same. The decision is made here, once, for every form of a diagnosis.

use crate::analyse::budget::{Group, Limit, Shares};
use crate::consistency::{MISSING_MAX, Withdrawn};
use crate::findings::{AcksSeen, Coverage, OptionsSeen};
use dupack_tcp::time::Duration;

/// From this part of the time on, a limit is said to be the transfer's (ours).
pub const MAIN_SHARE: f64 = 1.0 / 3.0;

/// From this part of the time on, a window that was shut is told though packets are missing: the ACKs tell of it (ours).
const SHUT: f64 = 0.5;

/// Losses of this part keep a window below 12 segments, whatever the receiver grants (Mathis et al., CCR 1997: 1.2 / √p).
const LOSSES_PLAIN: f64 = 0.01;

/// Why the limits of a stream are not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// The capture has no ACKs.
    WithoutAcks,
    /// More of the data than [`MISSING_MAX`] is not in the capture.
    PacketsMissing,
    /// More retransmissions were found than segments.
    Contradictory,
    /// The TCP options are cut off, and the limit seems to be one that they would tell.
    OptionsCut,
}

impl Untold {
    /// The reason, if the limits of a stream are not told; `spurious` of its retransmissions were.
    #[must_use]
    pub fn of(coverage: &Coverage, shares: &Shares, spurious: u64) -> Option<Self> {
        let shut = shares.share(shares.of(Limit::ZeroWindow));
        if coverage.acks == AcksSeen::None {
            Some(Self::WithoutAcks)
        } else if coverage.missing() > MISSING_MAX && shut < SHUT {
            Some(Self::PacketsMissing)
        } else {
            lacks_options(coverage, shares, spurious).then_some(Self::OptionsCut)
        }
    }

    const fn withdrawn(self) -> Withdrawn {
        match self {
            Self::WithoutAcks => Withdrawn::WithoutAcks,
            Self::PacketsMissing => Withdrawn::PacketsMissing,
            Self::Contradictory => Withdrawn::RetransmissionsBeyondSegments,
            Self::OptionsCut => Withdrawn::OptionsCut,
        }
    }

    /// The reason, as a sentence without its full stop.
    #[must_use]
    pub const fn why(self) -> &'static str {
        self.withdrawn().why()
    }

    /// A capture that would tell.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        self.withdrawn().remedy()
    }
}

/// `true` if the limit seems to be one that TCP options would tell, and they are not in the capture.
fn lacks_options(coverage: &Coverage, shares: &Shares, spurious: u64) -> bool {
    if coverage.options == OptionsSeen::Whole {
        return false;
    }
    let again = shares.retransmissions;
    let is_all_spurious = again > 0 && spurious >= again;
    let lossy = again as f64 >= LOSSES_PLAIN * shares.segments as f64 && !is_all_spurious;
    let needs = |group: Group| match group {
        Group::Sender | Group::SlowStart => true,
        Group::Losses => !lossy,
        _ => false,
    };
    main(shares).is_none_or(needs)
}

/// Groups by their time, the largest first; those that took none are left out.
#[must_use]
pub fn ranked(shares: &Shares) -> Vec<(Group, Duration)> {
    let mut groups = Group::ALL.map(|group| (group, shares.of_group(group)));
    groups.sort_by_key(|(_, time)| core::cmp::Reverse(*time));
    let there = groups.into_iter().filter(|(_, time)| !time.is_zero());
    there.collect()
}

/// The group that took most of the time, if that is [`MAIN_SHARE`] of it.
#[must_use]
pub fn main(shares: &Shares) -> Option<Group> {
    let (first, time) = *ranked(shares).first()?;
    (shares.share(time) >= MAIN_SHARE).then_some(first)
}
