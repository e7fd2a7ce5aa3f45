//! Streams whose limits are not reported.
//!
//! A limit follows from the outstanding data, the times of its ACKs, and the granted windows. If the capture lacks
//! these, [`Shares`] describes a transfer that did not happen: it is not reported, and neither are stalls and lost
//! time, which are based on the same facts. The decision is made here, once, for every form of a diagnosis.

use crate::analyse::budget::{Group, Limit, Shares};
use crate::consistency::{MISSING_MAX, Withdrawn};
use crate::findings::{AcksSeen, Coverage, OptionsSeen};
use dupack_tcp::time::Duration;

/// Minimum share of the time for a limit to be reported as that of the transfer (ours).
pub const MAIN_SHARE: f64 = 1.0 / 3.0;

/// Minimum share of the time for a closed window to be reported although packets are missing: the ACKs show it (ours).
const SHUT: f64 = 0.5;

/// Loss rate that keeps a window below 12 segments, regardless of the receive window (Mathis et al., CCR 1997: 1.2 /
/// √p).
const LOSSES_PLAIN: f64 = 0.01;

/// Reason why the limits of a stream are not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// The capture has no ACKs.
    WithoutAcks,
    /// The capture lacks more of the data than [`MISSING_MAX`].
    PacketsMissing,
    /// There are more retransmissions than segments.
    Contradictory,
    /// The TCP options are cut off, and the apparent limit is one that they would show.
    OptionsCut,
}

impl Untold {
    /// Returns the reason, if the limits of a stream are not reported. `spurious` is the number of its spurious
    /// retransmissions.
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

/// Returns `true` if the apparent limit is one that TCP options would show, but the capture lacks them.
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

/// Returns the groups with nonzero time, the largest first.
#[must_use]
pub fn ranked(shares: &Shares) -> Vec<(Group, Duration)> {
    let mut groups = Group::ALL.map(|group| (group, shares.of_group(group)));
    groups.sort_by_key(|(_, time)| core::cmp::Reverse(*time));
    let there = groups.into_iter().filter(|(_, time)| !time.is_zero());
    there.collect()
}

/// Returns the group that took most of the time, if that is at least [`MAIN_SHARE`].
#[must_use]
pub fn main(shares: &Shares) -> Option<Group> {
    let (first, time) = *ranked(shares).first()?;
    (shares.share(time) >= MAIN_SHARE).then_some(first)
}
