//! Stalls of a stream: their number and total time for each kind, and details of the longest ones.

use dupack_tcp::time::Duration;

use super::Stall;
use super::kind::StallKind;

/// Maximum number of stalls that are listed: the longest ones. Our choice.
pub const LISTED_MAX: usize = 32;

/// Totals of all stalls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KindTotal {
    /// Number of stalls.
    pub count: u64,
    /// Total time of the stalls.
    pub time: Duration,
    /// Number of stalls for which [`Remedy::after`](super::Remedy::after) is known, and the sum of these times.
    pub remedied: (u64, Duration),
    /// Sum of the outstanding bytes over all stalls.
    pub flight: u64,
}

impl KindTotal {
    /// Returns the mean time after which the remedy would have taken effect; `None` if unknown.
    #[must_use]
    pub fn remedy_after(&self) -> Option<Duration> {
        let (count, sum) = self.remedied;
        (count > 0).then(|| sum / count)
    }

    /// Returns the mean number of outstanding bytes; `None` without stalls.
    #[must_use]
    pub const fn mean_flight(&self) -> Option<u64> {
        self.flight.checked_div(self.count)
    }
}

/// Stalls of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StallList {
    totals: [KindTotal; StallKind::COUNT],
    /// Longest stalls, in order of time.
    pub longest: Vec<Stall>,
}

impl StallList {
    /// Returns the totals of a kind.
    #[must_use]
    pub fn of(&self, kind: StallKind) -> KindTotal {
        self.totals.get(kind.index()).copied().unwrap_or_default()
    }

    /// Returns the number of stalls of all kinds.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.totals
            .iter()
            .fold(0, |sum, total| sum.saturating_add(total.count))
    }

    /// `true` if there are no stalls.
    pub(super) fn is_empty(&self) -> bool {
        self.longest.is_empty()
    }

    /// Returns the total time of all stalls.
    #[must_use]
    pub fn time(&self) -> Duration {
        let totals = self.totals.iter();
        totals.fold(Duration::ZERO, |sum, total| sum + total.time)
    }

    /// Adds all stalls of another list. Only the [`LISTED_MAX`] longest stalls are listed.
    pub(super) fn absorb(&mut self, other: Self) {
        for (total, more) in self.totals.iter_mut().zip(other.totals) {
            total.count = total.count.saturating_add(more.count);
            total.time += more.time;
            total.flight = total.flight.saturating_add(more.flight);
            total.remedied.0 = total.remedied.0.saturating_add(more.remedied.0);
            total.remedied.1 += more.remedied.1;
        }
        for stall in other.longest {
            self.list(stall);
        }
    }

    /// Removes all stalls of a kind, because another finding explains them.
    pub(crate) fn forget(&mut self, kind: StallKind) {
        if let Some(total) = self.totals.get_mut(kind.index()) {
            *total = KindTotal::default();
        }
        self.longest.retain(|stall| stall.kind != kind);
    }

    /// Changes all stalls of one kind to another kind.
    pub(super) fn rename(&mut self, kind: StallKind, other: StallKind) {
        let mut renamed = Self::default();
        if let Some(total) = self.totals.get_mut(kind.index())
            && let Some(into) = renamed.totals.get_mut(other.index())
        {
            *into = core::mem::take(total);
        }
        self.absorb(renamed);
        let listed = self.longest.iter_mut();
        for stall in listed.filter(|stall| stall.kind == kind) {
            stall.kind = other;
        }
    }

    /// Adds a stall. Only the [`LISTED_MAX`] longest stalls are listed.
    pub fn add(&mut self, stall: Stall) {
        if let Some(total) = self.totals.get_mut(stall.kind.index()) {
            total.count = total.count.saturating_add(1);
            total.time += stall.duration();
            total.flight = total.flight.saturating_add(stall.flight);
            if let Some(after) = stall.remedy.after() {
                total.remedied.0 = total.remedied.0.saturating_add(1);
                total.remedied.1 += after;
            }
        }
        self.list(stall);
    }

    fn list(&mut self, stall: Stall) {
        if self.longest.len() >= LISTED_MAX {
            let durations = self.longest.iter().enumerate();
            let shortest = durations.min_by_key(|(_, listed)| listed.duration());
            let Some((index, _)) = shortest.filter(|(_, s)| s.duration() < stall.duration()) else {
                return;
            };
            self.longest.remove(index);
        }
        self.longest.push(stall);
    }
}
