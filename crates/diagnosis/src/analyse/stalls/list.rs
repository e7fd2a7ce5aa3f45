//! All stalls of a stream: how many of each kind, how long, and the longest one by one.

use dupack_tcp::time::Duration;

use super::Stall;
use super::kind::StallKind;

/// Stalls that are listed, the longest. Ours.
pub const LISTED_MAX: usize = 32;

/// All stalls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KindTotal {
    /// How many.
    pub count: u64,
    /// How long together.
    pub time: Duration,
    /// Of those for which it is known how soon something else would have acted: how many, and how soon all
    /// together.
    pub remedied: (u64, Duration),
    /// Bytes that were outstanding, all together.
    pub flight: u64,
}

impl KindTotal {
    /// How soon something else would have acted, on average.
    #[must_use]
    pub fn remedy_after(&self) -> Option<Duration> {
        let (count, sum) = self.remedied;
        (count > 0).then(|| sum / count)
    }

    /// How much was outstanding, on average.
    #[must_use]
    pub const fn mean_flight(&self) -> Option<u64> {
        self.flight.checked_div(self.count)
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StallList {
    totals: [KindTotal; StallKind::COUNT],
    /// The longest, in the order of time.
    pub longest: Vec<Stall>,
}

impl StallList {
    /// All stalls of a kind.
    #[must_use]
    pub fn of(&self, kind: StallKind) -> KindTotal {
        self.totals.get(kind.index()).copied().unwrap_or_default()
    }

    /// How many there were of all kinds.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.totals
            .iter()
            .fold(0, |sum, total| sum.saturating_add(total.count))
    }

    /// `true` if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.longest.is_empty()
    }

    /// How long all were together.
    #[must_use]
    pub fn time(&self) -> Duration {
        let totals = self.totals.iter();
        totals.fold(Duration::ZERO, |sum, total| sum + total.time)
    }

    /// Adds all stalls of another list; of the longest, [`LISTED_MAX`] are listed.
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

    /// Takes out all stalls of a kind: something else explains them.
    pub(crate) fn forget(&mut self, kind: StallKind) {
        if let Some(total) = self.totals.get_mut(kind.index()) {
            *total = KindTotal::default();
        }
        self.longest.retain(|stall| stall.kind != kind);
    }

    /// Makes all stalls of a kind stalls of another.
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

    /// Adds a stall; of the longest, [`LISTED_MAX`] are listed.
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
