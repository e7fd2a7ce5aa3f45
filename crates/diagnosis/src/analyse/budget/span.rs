//! Interval of time with facts about it: the time of each kind, delivered bytes, and round-trip times. Two neighbouring
//! intervals can be merged.

use dupack_tcp::time::{Duration, Instant};

/// Limit of the sender, as far as it is known while packets are still being processed. At the end, time of the last
/// four kinds may be assigned to the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Handshake,
    Idle,
    Pause,
    ReceiveWindow,
    ZeroWindow,
    RetransmissionTimer,
    ProbeTimer,
    Nagle,
    SenderBuffer,
    SlowStart,
    Congestion,
    Recovery,
}

impl Kind {
    pub(super) const COUNT: usize = 12;

    /// First of the kinds whose time may be assigned to the path, and the number of these kinds.
    const FIRST_YIELDING: usize = Self::SenderBuffer as usize;
    const YIELDING: usize = Self::COUNT - Self::FIRST_YIELDING;

    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Handshake,
        Self::Idle,
        Self::Pause,
        Self::ReceiveWindow,
        Self::ZeroWindow,
        Self::RetransmissionTimer,
        Self::ProbeTimer,
        Self::Nagle,
        Self::SenderBuffer,
        Self::SlowStart,
        Self::Congestion,
        Self::Recovery,
    ];

    /// `true` if time of this kind is assigned to the bottleneck when the bottleneck was busy.
    pub(super) const fn yields_to_path(self) -> bool {
        matches!(
            self,
            Self::SenderBuffer | Self::SlowStart | Self::Congestion | Self::Recovery
        )
    }

    /// `true` if the sender waits for its application. The bottleneck may be busy in the meantime.
    pub(super) const fn is_silence(self) -> bool {
        matches!(self, Self::Idle | Self::Pause)
    }

    /// `true` if data is delivered during time of this kind.
    pub(super) const fn moves_data(self) -> bool {
        !matches!(
            self,
            Self::Handshake
                | Self::Idle
                | Self::ZeroWindow
                | Self::RetransmissionTimer
                | Self::ProbeTimer
        )
    }
}

/// Queue at the bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// There is no queue according to the round-trip times.
    #[default]
    Clear,
    Standing,
    Overflowing,
}

impl Level {
    const COUNT: usize = 3;
    pub(super) const ALL: [Self; Self::COUNT] = [Self::Clear, Self::Standing, Self::Overflowing];
}

/// Time of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times([Duration; Kind::COUNT]);

impl Times {
    pub(super) fn add(&mut self, kind: Kind, time: Duration) {
        if let Some(slot) = self.0.get_mut(kind as usize) {
            *slot += time;
        }
    }

    pub(super) fn of(&self, kind: Kind) -> Duration {
        self.0.get(kind as usize).copied().unwrap_or_default()
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += *theirs;
        }
    }

    /// Adds time with a queue.
    fn queue(&mut self, queued: &Queued) {
        let yielding = self.0.iter_mut().skip(Kind::FIRST_YIELDING);
        for (mine, theirs) in yielding.zip(&queued.0) {
            *mine += *theirs;
        }
    }

    /// Returns the total time of the kinds for which `choose` returns `true`.
    pub(super) fn sum(&self, choose: impl Fn(Kind) -> bool) -> Duration {
        let chosen = Kind::ALL.into_iter().filter(|kind| choose(*kind));
        chosen.fold(Duration::ZERO, |sum, kind| sum + self.of(kind))
    }
}

/// Time of each kind that may be assigned to the path, at one queue level other than [`Level::Clear`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Queued([Duration; Kind::YIELDING]);

impl Queued {
    fn of(&self, kind: Kind) -> Duration {
        let place = (kind as usize).checked_sub(Kind::FIRST_YIELDING);
        let time = place.and_then(|place| self.0.get(place));
        time.copied().unwrap_or_default()
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += *theirs;
        }
    }

    fn is_none(&self) -> bool {
        self.0.iter().all(|time| time.is_zero())
    }
}

/// Round-trip samples of an interval. The minimum and the maximum are zero if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Samples {
    min: Duration,
    max: Duration,
    sum: Duration,
    count: u32,
}

impl Samples {
    pub(super) fn take(&mut self, sample: Duration) {
        self.merge(&Self {
            min: sample,
            max: sample,
            sum: sample,
            count: 1,
        });
    }

    fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            *self = *other;
        } else if other.count > 0 {
            self.min = self.min.min(other.min);
            self.max = self.max.max(other.max);
            self.sum += other.sum;
            self.count = self.count.saturating_add(other.count);
        }
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    fn known(&self, time: Duration) -> Option<Duration> {
        (self.count > 0).then_some(time)
    }

    pub(super) fn min(&self) -> Option<Duration> {
        self.known(self.min)
    }

    pub(super) fn max(&self) -> Option<Duration> {
        self.known(self.max)
    }

    pub(super) fn mean(&self) -> Option<Duration> {
        self.known(self.sum / u64::from(self.count.max(1)))
    }
}

/// Maximum flights, in bytes, of the rounds of an interval in which a window limited the sender: the lowest and the
/// highest of them, and the number of rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flights {
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) rounds: u32,
}

impl Flights {
    pub(super) const fn one(flight: u64) -> Self {
        Self {
            low: flight,
            high: flight,
            rounds: 1,
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if other.rounds == 0 {
            return;
        }
        if self.rounds == 0 {
            *self = *other;
            return;
        }
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.rounds = self.rounds.saturating_add(other.rounds);
    }
}

/// Interval of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Span {
    pub(super) from: Instant,
    pub(super) to: Instant,
    /// Time at the level [`Level::Clear`], and all time of kinds that cannot be assigned to the path.
    clear: Times,
    standing: Queued,
    overflowing: Queued,
    pub(super) delivered: u64,
    /// Number of bytes that were delivered while the application provided no data. These bytes had been written before.
    pub(super) drained: u64,
    pub(super) rtt: Samples,
    pub(super) flights: Flights,
    /// Number of losses detected in the interval that began a repair.
    pub(super) losses: u32,
}

impl Span {
    pub(super) fn new(from: Instant) -> Self {
        Self {
            from,
            to: from,
            ..Self::default()
        }
    }

    pub(super) const fn duration(&self) -> Duration {
        self.to.since(self.from)
    }

    pub(super) fn add(&mut self, kind: Kind, until: Instant) {
        let time = until.since(self.to);
        self.clear.add(kind, time);
        self.to = self.to.max(until);
    }

    /// Adds bytes delivered while the application provided no data.
    pub(super) const fn drained(&mut self, bytes: u64) {
        self.drained = self.drained.saturating_add(bytes);
    }

    /// Sets the level of the bottleneck's queue for the whole interval.
    pub(super) fn set_level(&mut self, level: Level) {
        self.clear = self.times();
        (self.standing, self.overflowing) = (Queued::default(), Queued::default());
        let queued = match level {
            Level::Clear => return,
            Level::Standing => &mut self.standing,
            Level::Overflowing => &mut self.overflowing,
        };
        let yielding = self.clear.0.iter_mut().skip(Kind::FIRST_YIELDING);
        for (time, queued) in yielding.zip(&mut queued.0) {
            *queued = core::mem::take(time);
        }
    }

    pub(super) fn at(&self, level: Level) -> Times {
        let queued = match level {
            Level::Clear => return self.clear,
            Level::Standing => &self.standing,
            Level::Overflowing => &self.overflowing,
        };
        let mut times = Times::default();
        times.queue(queued);
        times
    }

    pub(super) fn time(&self, kind: Kind) -> Duration {
        self.clear.of(kind) + self.standing.of(kind) + self.overflowing.of(kind)
    }

    /// Returns the time of each kind, at all queue levels.
    pub(super) fn times(&self) -> Times {
        let mut all = self.clear;
        all.queue(&self.standing);
        all.queue(&self.overflowing);
        all
    }

    /// Returns the kind of the interval's time if there is only one; `None` otherwise.
    pub(super) fn alone(&self) -> Option<Kind> {
        let mut some = Kind::ALL
            .into_iter()
            .filter(|kind| !self.time(*kind).is_zero());
        let first = some.next()?;
        some.next().is_none().then_some(first)
    }

    pub(super) fn has_queue(&self) -> bool {
        !self.standing.is_none()
    }

    /// Merges the next interval into this one.
    pub(super) fn merge(&mut self, next: &Self) {
        self.clear.merge(&next.clear);
        self.standing.merge(&next.standing);
        self.overflowing.merge(&next.overflowing);
        self.to = self.to.max(next.to);
        self.delivered = self.delivered.saturating_add(next.delivered);
        self.drained(next.drained);
        self.rtt.merge(&next.rtt);
        self.flights.merge(&next.flights);
        self.losses = self.losses.saturating_add(next.losses);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.duration().is_zero() && self.delivered == 0 && self.losses == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::budget::film::{at, ms};

    fn samples(all: &[u64]) -> Samples {
        let mut samples = Samples::default();
        all.iter().for_each(|&sample| samples.take(ms(sample)));
        samples
    }

    #[test]
    fn merging_samples_combines_both_intervals() {
        let mut both = samples(&[30, 50]);
        both.merge(&samples(&[20, 100]));
        assert_eq!(both, samples(&[30, 50, 20, 100]));
        assert_eq!((both.min(), both.max()), (Some(ms(20)), Some(ms(100))));
        assert_eq!(both.mean(), Some(ms(50)));
        both.merge(&Samples::default());
        assert_eq!(both.count, 4);
        let mut none = Samples::default();
        assert_eq!(none.mean(), None);
        none.merge(&samples(&[7]));
        assert_eq!((none.min(), none.max()), (Some(ms(7)), Some(ms(7))));
    }

    #[test]
    fn merging_flights_keeps_the_least_and_the_greatest() {
        let mut both = Flights::one(5000);
        both.merge(&Flights::default());
        both.merge(&Flights::one(9000));
        both.merge(&Flights::one(7000));
        assert_eq!((both.low, both.high, both.rounds), (5000, 9000, 3));
        let mut none = Flights::default();
        none.merge(&both);
        assert_eq!(none, both);
    }

    #[test]
    fn an_interval_is_divided_by_kind_and_only_some_kinds_yield_to_a_queue() {
        let mut span = Span::new(at(100));
        assert!(span.is_empty() && span.alone().is_none());
        span.add(Kind::Congestion, at(130));
        assert_eq!(span.alone(), Some(Kind::Congestion));
        span.add(Kind::Idle, at(200));
        assert_eq!(span.alone(), None);
        span.set_level(Level::Standing);
        assert!(span.has_queue() && !span.is_empty());
        assert_eq!(span.at(Level::Standing).of(Kind::Congestion), ms(30));
        assert_eq!(span.at(Level::Clear).of(Kind::Idle), ms(70));
        assert_eq!(span.at(Level::Clear).of(Kind::Congestion), ms(0));
        assert_eq!(
            (span.time(Kind::Congestion), span.duration()),
            (ms(30), ms(100))
        );
        for kind in Kind::ALL {
            let queued = kind as usize >= Kind::FIRST_YIELDING;
            assert_eq!(queued, kind.yields_to_path(), "{kind:?}");
        }
        span.set_level(Level::Overflowing);
        assert!(!span.has_queue());
        assert_eq!(span.at(Level::Overflowing).sum(|_| true), ms(30));
        assert_eq!(span.times().sum(|_| true), ms(100));
        assert_eq!(span.times().sum(Kind::is_silence), ms(70));
        assert_eq!(span.times().sum(Kind::moves_data), ms(30));
    }

    #[test]
    fn consecutive_intervals_merge() {
        let mut first = Span::new(at(0));
        first.add(Kind::SlowStart, at(40));
        (first.delivered, first.drained, first.losses) = (1000, 300, 1);
        let mut next = Span::new(at(40));
        next.add(Kind::SlowStart, at(100));
        (next.delivered, next.drained, next.losses) = (5000, 20, 2);
        next.flights = Flights::one(8000);
        next.rtt = samples(&[60]);
        first.merge(&next);
        assert_eq!(
            (first.duration(), first.time(Kind::SlowStart)),
            (ms(100), ms(100))
        );
        assert_eq!(
            (first.delivered, first.drained, first.losses),
            (6000, 320, 3)
        );
        assert_eq!(
            (first.flights, first.rtt.mean()),
            (Flights::one(8000), Some(ms(60)))
        );
    }
}
