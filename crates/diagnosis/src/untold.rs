//! Streams whose limits are not reported.
//!
//! A limit follows from the outstanding data, the times of its ACKs, and the granted windows. If these are missing from
//! the capture, [`Shares`] is wrong. Therefore, the limits are not reported, and neither are stalls and lost time,
//! which are based on the same facts. Only this module decides this, for every output format of a diagnosis.

use crate::analyse::budget::{Group, Limit, Shares};
use crate::consistency::{MISSING_MAX, Withdrawn};
use crate::findings::{AcksSeen, Coverage, OptionsSeen};
use dupack_tcp::time::Duration;

/// Minimum fraction of the time for a limit to be reported as the limit of the transfer (our choice).
pub const MAIN_SHARE: f64 = 1.0 / 3.0;

/// Minimum fraction of the time for which the window is closed. The limits are then reported although packets are
/// missing, because ACKs show the window (our choice).
const SHUT: f64 = 0.5;

/// Loss rate that keeps the congestion window below 12 segments, regardless of the receive window (Mathis et al., CCR
/// 1997: 1.2 / √p).
const LOSSES_PLAIN: f64 = 0.01;

/// Reason for which the limits of a stream are not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// The capture has no ACKs.
    WithoutAcks,
    /// The fraction of data missing from the capture exceeds [`MISSING_MAX`].
    PacketsMissing,
    /// There are more retransmissions than segments.
    Contradictory,
    /// TCP options are cut off, and the apparent limit depends on them.
    OptionsCut,
}

impl Untold {
    /// Returns the reason why the limits of a stream are not reported; `None` if they are reported. `spurious` is
    /// the number of the stream's spurious retransmissions.
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

    /// Returns the reason, as a sentence without its full stop.
    #[must_use]
    pub const fn why(self) -> &'static str {
        self.withdrawn().why()
    }

    /// Returns a description of a capture that would show the limits.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        self.withdrawn().remedy()
    }
}

/// Returns `true` if the apparent limit depends on TCP options, which are missing from the capture.
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

/// Returns the groups with nonzero time, in descending order of their time.
#[must_use]
pub fn ranked(shares: &Shares) -> Vec<(Group, Duration)> {
    let mut groups = Group::ALL.map(|group| (group, shares.of_group(group)));
    groups.sort_by_key(|(_, time)| core::cmp::Reverse(*time));
    let there = groups.into_iter().filter(|(_, time)| !time.is_zero());
    there.collect()
}

/// Returns the group with the longest time; `None` if its fraction is below [`MAIN_SHARE`].
#[must_use]
pub fn main(shares: &Shares) -> Option<Group> {
    let (first, time) = *ranked(shares).first()?;
    (shares.share(time) >= MAIN_SHARE).then_some(first)
}
