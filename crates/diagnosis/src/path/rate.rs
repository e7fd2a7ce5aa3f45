//! Rate of the bottleneck: the rate at which packets leave it while it does not pause.
//!
//! A packet waits at the bottleneck if it was sent before the previous packet had left the bottleneck. The ACK of the
//! previous packet arrives no sooner than one return trip after that packet left, so that
//!
//! ```text
//! the bottleneck had no pause before a packet  if  sent(packet) + minimum RTT ≤ ack(previous packet)
//! ```
//!
//! regardless of the two one-way delays. The rate is measured in stretches of packets for which this holds and of which
//! none is missing: it is the number of bytes of a stretch, divided by the time between its first ACK and its last ACK.
//! This is BBR's delivery rate (Cardwell et al., 2017) without samples limited by the sender. Packets lost after the
//! queue cannot reduce the rate, because a stretch contains no losses.
//!
//! Packets also wait for other reasons, for example because a radio holds all of them or because a receiver delays its
//! ACKs. Afterwards, they arrive together, at a rate that is not the bottleneck's. However, while a packet waits in a
//! queue, other data leaves the queue at the rate of the stretch. If less data was delivered during the wait, the
//! stretch is not measured ([`Past`]).
//!
//! The same ACKs show two more properties. If the rates of all stretches are similar, the link's rate is constant. If
//! the packets of a stretch follow one another evenly, there is no cross traffic between them.

use dupack_tcp::time::{Duration, Instant};

use super::bins::LogBins;
use super::company::{Company, Others, Pattern, Stretch};
use super::delivery::{Delivery, News};
use super::evenness::Course;
use super::intervals::median_ranks;
use super::past::Past;
use crate::told::Told;

/// Minimum number of segments and ACKs in a measured stretch (our choice): with these, the delay of the first ACK is
/// only a few percent of the duration of the stretch.
const SEGMENTS_MIN: u64 = 16;
const ACKS_MIN: u32 = 6;

/// Minimum number of segments and ACKs in a stretch that ends early.
const SEGMENTS_LEAST: u64 = 7;
const ACKS_LEAST: u32 = 4;

/// Bounds of the duration of a stretch. Within these bounds, it is the minimum round-trip time (our choice: bursts of
/// ACKs are shorter than the lower bound, and with the upper bound, changes of a link's rate remain visible).
const LASTS_MIN: Duration = Duration::from_millis(10);
const LASTS_MAX: Duration = Duration::from_millis(100);

/// Relative error in addition to the spread of the samples, due to clocks and to the ends of a stretch (our choice).
const SYSTEMATIC: f64 = 0.01;

/// Relative error if there are too few stretches to determine their spread.
const SYSTEMATIC_OF_FEW: f64 = 0.03;

/// Minimum number of stretches for an interval from order statistics. With fewer, the interval includes both extremes.
const STRETCHES_MIN: u64 = 6;

/// Maximum width of the middle 80 % of the stretches' rates, as a fraction of their median, for a constant rate (our
/// choice: on constant links with ACKs of every second segment, 5 % were measured).
const CONSTANT: f64 = 0.12;

/// Maximum median distance of packets from a line over the bytes, as a fraction of the time between ACKs, in a stretch
/// without cross traffic (our choice).
const SMOOTH: f64 = 0.1;

/// Maximum distance from the line that hosts may cause (our choice: interrupts, and the time of reading the clock).
const JITTER: Duration = Duration::from_micros(100);

/// Minimum fraction of even stretches on a link without cross traffic (our choice).
const MOSTLY_SMOOTH: f64 = 0.8;

/// Minimum fraction of uneven stretches on a link with cross traffic (our choice).
const OFTEN_ROUGH: f64 = 0.2;

/// Minimum rate of the data delivered while a packet waited, as a fraction of the stretch's rate. If the rate is lower,
/// the packet waited for another reason than the queue (our choice: a burst from a radio is faster by an order of
/// magnitude, and a variable link changes its rate by less).
const WAITED_FOR: f64 = 0.5;

/// Measurement of rates, in bit/s.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    last: Option<(Instant, u64)>,
    run: Option<Run>,
    course: Course,
    /// Current stretch without its last ACK.
    before_last: Option<Run>,
    /// Distribution of the rates of stretches.
    stretches: LogBins<7>,
    /// Distribution of the rates of stretches that were reported promptly.
    prompt: LogBins<7>,
    /// Number of even and of uneven stretches among those reported promptly. The other stretches are uneven, but clocks
    /// and hosts may be the cause.
    smooth: u64,
    rough: u64,
    /// Total time during which the bottleneck did not pause.
    busy: Duration,
    /// Window for the measurement of a lower bound of the rate.
    window: Option<Window>,
    past: Past,
    others: Others,
    /// Highest rate over a round trip, in bit/s.
    most: f64,
}

/// Current stretch.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: Instant,
    until: Instant,
    bytes: u64,
    segments: u64,
    acks: u32,
    /// Longest queueing delay of the packets in this stretch, and the arrival time of the packet with this delay.
    waited: (Duration, Instant),
    /// `AsAlways` if the whole stretch was reported promptly.
    news: News,
}

impl Run {
    const fn from(at: Instant) -> Self {
        Self {
            from: at,
            until: at,
            bytes: 0,
            segments: 0,
            acks: 0,
            waited: (Duration::ZERO, at),
            news: News::AsAlways,
        }
    }

    const fn has(&self, segments: u64, acks: u32) -> bool {
        self.segments >= segments && self.acks >= acks
    }
}

#[derive(Clone, Copy, Debug)]
struct Window {
    from: Instant,
    /// Departure time of the data that arrived at `from`.
    sent: Instant,
    bytes: u64,
}

/// Spread of the rates of stretches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spreading {
    /// The spread is as narrow as for a constant rate.
    Narrow,
    Wide,
}

/// Steadiness of the bottleneck's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steadiness {
    /// The rate is constant.
    Constant,
    /// The rate varies, and packets follow one another evenly at the current rate, so the link itself varies.
    LinkVaries,
    /// There may be packets of other flows between those of this flow, or ACKs arrive in bursts.
    PerhapsShared,
    /// There is no evidence about the steadiness.
    Unknown,
}

/// State of the bottleneck before a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// The bottleneck did not pause during this time, which is the time since the previous delivery.
    Busy(Duration),
    /// The bottleneck paused, or its state is unknown.
    Pause,
}

impl Rates {
    /// Processes a delivery. `base` is the minimum delay so far.
    pub(super) fn delivered(&mut self, delivery: &Delivery, base: Option<Duration>) -> Before {
        let delay = delivery.delay.unwrap_or_default();
        self.past.delivered(delivery.at, delivery.bytes, delay);
        self.others.delivered(delivery, base, &self.past);
        self.bound(delivery, base);
        let before = self.before(delivery, base);
        match before {
            Before::Busy(gap) => self.extend(delivery, gap, base),
            Before::Pause => {
                self.end();
                self.begin(delivery.at);
            }
        }
        self.last = Some((delivery.at, delivery.orders.1));
        before
    }

    /// Returns the fraction of the packets that waited longer than this flow's own packets explain.
    pub(super) fn foreign(&self) -> f64 {
        self.others.foreign(self.middle())
    }

    /// Returns the median rate of the stretches in bit/s.
    fn middle(&self) -> u64 {
        self.stretches.quantile(0.5).unwrap_or(0)
    }

    fn before(&self, delivery: &Delivery, base: Option<Duration>) -> Before {
        let (Some((last_at, last_order)), Some(base)) = (self.last, base) else {
            return Before::Pause;
        };
        let gap = delivery.at.since(last_at);
        let (first, last) = delivery.sent;
        // If several packets were sent one after the other, the last one may have been sent later than the first one,
        // at most by the time in which the bottleneck transmits them.
        let allowance = match delivery.segments {
            0 | 1 => 0,
            segments => gap.as_nanos() / segments * (segments - 1),
        };
        let waited =
            first + base <= last_at && last + base <= last_at + Duration::from_nanos(allowance);
        if delivery.follows(last_order) && waited {
            Before::Busy(gap)
        } else {
            Before::Pause
        }
    }

    fn extend(&mut self, delivery: &Delivery, gap: Duration, base: Option<Duration>) {
        self.busy += gap;
        let Some(run) = &mut self.run else {
            return;
        };
        self.before_last = Some(*run);
        run.until = delivery.at;
        run.bytes += delivery.bytes;
        run.segments += delivery.segments;
        run.acks += 1;
        if delivery.news == News::PerhapsHeld {
            run.news = News::PerhapsHeld;
        }
        self.course.came(run.bytes, run.until.since(run.from));
        let base = base.unwrap_or_default();
        let waited = delivery.delay.unwrap_or_default().saturating_sub(base);
        run.waited = run.waited.max((waited, delivery.at));
        let lasts = base.max(LASTS_MIN).min(LASTS_MAX);
        if run.until.since(run.from) >= lasts && run.has(SEGMENTS_MIN, ACKS_MIN) {
            let run = *run;
            self.measure(&run);
            self.begin(delivery.at);
            self.before_last = None;
        }
    }

    fn begin(&mut self, at: Instant) {
        self.run = Some(Run::from(at));
        self.course.begin();
    }

    /// Ends the current stretch before a pause. The last ACK of the stretch is excluded, because a receiver's timer may
    /// have delayed it if no other segment arrived.
    fn end(&mut self) {
        let ended = self.before_last.take();
        if let Some(run) = ended.filter(|run| run.has(SEGMENTS_LEAST, ACKS_LEAST)) {
            self.measure(&run);
        }
    }

    /// Measures a stretch, unless its packets waited for something other than the data that left the queue.
    fn measure(&mut self, run: &Run) {
        let Some(rate) = per_second(run.bytes, run.until.since(run.from)) else {
            return;
        };
        let (longest, at) = run.waited;
        let meanwhile = self.past.rate(at, longest);
        if meanwhile.is_some_and(|meanwhile| meanwhile < WAITED_FOR * rate) {
            return;
        }
        self.stretches.record(rate as u64);
        if run.news == News::AsAlways {
            self.prompt.record(rate as u64);
            self.look_at(run);
        }
    }

    /// Determines whether packets arrived evenly in a stretch.
    fn look_at(&mut self, run: &Run) {
        let Some(scatter) = self.course.scatter() else {
            return;
        };
        let each = run.until.since(run.from) / u64::from(run.acks.max(1));
        let share = scatter.as_secs_f64() / each.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut pattern = Pattern::Smooth;
        if share <= SMOOTH {
            self.smooth += 1;
        } else if scatter > JITTER {
            self.rough += 1;
            pattern = Pattern::Rough;
        }
        self.others.stretch(Stretch {
            from: run.from,
            until: run.until,
            bytes: run.bytes,
            pattern,
        });
    }

    /// Updates the highest rate over a round trip, which is a lower bound of the bottleneck's rate. If data arrives
    /// faster than it was sent, it was delayed before (see BBR's delivery rate). Therefore, the rate of departures
    /// limits the bound.
    fn bound(&mut self, delivery: &Delivery, base: Option<Duration>) {
        let fresh = Window {
            from: delivery.at,
            sent: delivery.sent.1,
            bytes: 0,
        };
        let Some(window) = &mut self.window else {
            self.window = Some(fresh);
            return;
        };
        window.bytes += delivery.bytes;
        let length = delivery.at.since(window.from);
        if length < base.unwrap_or_default().max(LASTS_MIN) {
            return;
        }
        let length = length.max(delivery.sent.1.since(window.sent));
        if let Some(rate) = per_second(window.bytes, length) {
            self.most = self.most.max(rate);
        }
        self.window = Some(fresh);
    }

    /// Returns the observed time during which the bottleneck did not pause.
    pub(super) const fn busy(&self) -> Duration {
        self.busy
    }

    /// Returns the rates of the stretches that show the bottleneck's rate. Stretches whose ACKs a receiver may have
    /// delayed are used only if there are no others.
    const fn best(&self) -> &LogBins<7> {
        match self.prompt.count() {
            0 => &self.stretches,
            _ => &self.prompt,
        }
    }

    /// Returns the rate of the bottleneck in bit/s.
    pub(super) fn told(&self) -> Told<f64> {
        let stretches = self.best();
        let Some(median) = stretches.quantile(0.5) else {
            return self.only_a_bound();
        };
        let n = stretches.count();
        let (ranks, systematic) = if n < STRETCHES_MIN {
            ((0, n.saturating_sub(1)), SYSTEMATIC_OF_FEW)
        } else {
            (median_ranks(n), SYSTEMATIC)
        };
        let at = |rank| stretches.at_rank(rank).unwrap_or(median) as f64;
        Told::Between {
            value: median as f64,
            low: at(ranks.0) * (1.0 - systematic),
            high: at(ranks.1) * (1.0 + systematic),
        }
    }

    fn only_a_bound(&self) -> Told<f64> {
        const WHY: &str = "the sender never filled the path";
        const REMEDY: &str =
            "a capture at the sender of a transfer that is long and fast enough to fill the path";
        if self.most > 0.0 {
            return Told::AtLeast {
                bound: self.most,
                why: WHY,
                remedy: REMEDY,
            };
        }
        Told::CannotBeTold {
            why: WHY,
            remedy: REMEDY,
        }
    }

    /// Returns the fraction of uneven stretches.
    pub(super) fn uneven(&self) -> f64 {
        self.rough as f64 / self.prompt.count().max(1) as f64
    }

    /// Returns the evidence of cross traffic in the queue.
    pub(super) fn company(&self) -> Company {
        self.others.company(self.middle())
    }

    /// Returns the spread of the stretches' rates, regardless of its cause. Stretches whose ACKs a receiver may have
    /// delayed are excluded.
    pub(super) fn spread(&self) -> Spreading {
        let at = |q| self.prompt.quantile(q).map(|rate| rate as f64);
        match (at(0.1), at(0.5), at(0.9)) {
            (Some(low), Some(median), Some(high))
                if self.prompt.count() >= STRETCHES_MIN && high - low > CONSTANT * median =>
            {
                Spreading::Wide
            }
            _ => Spreading::Narrow,
        }
    }

    /// Returns the 10 % quantile of the stretches' rates, in bit/s.
    pub(super) fn slowest(&self) -> Option<f64> {
        self.prompt.quantile(0.1).map(|rate| rate as f64)
    }

    /// Returns the steadiness of the rate.
    pub(super) fn steadiness(&self) -> Steadiness {
        if self.prompt.count() < STRETCHES_MIN {
            return Steadiness::Unknown;
        }
        if self.uneven() > OFTEN_ROUGH {
            return Steadiness::PerhapsShared;
        }
        if self.spread() == Spreading::Narrow {
            return Steadiness::Constant;
        }
        if self.smooth as f64 >= MOSTLY_SMOOTH * self.prompt.count() as f64 {
            Steadiness::LinkVaries
        } else {
            Steadiness::PerhapsShared
        }
    }
}

/// Returns the rate in bit/s; `None` if `time` is zero.
pub(super) fn per_second(bytes: u64, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| bytes as f64 * 8.0 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::super::delivery::Rest;
    use super::*;

    const BASE: Duration = Duration::from_millis(20);
    /// Transmission time of 1250 bytes at 10 Mbit/s, in nanoseconds.
    const EACH: u64 = 1_000_000;

    fn packet(n: u64, sent: u64, at: u64) -> Delivery {
        let sent = Instant::from_nanos(sent);
        Delivery {
            at: Instant::from_nanos(at),
            orders: (n + 1, n + 1),
            segments: 1,
            bytes: 1250,
            sent: (sent, sent),
            start: n * 1250,
            delay: Some(Instant::from_nanos(at).since(sent)),
            news: News::AsAlways,
            rest: Rest::More,
        }
    }

    /// Returns the rates of `n` packets with a window of `window` packets, over a path of 10 Mbit/s and 20 ms. Packets
    /// in `lost` never arrive.
    fn windowed(n: u64, window: u64, lost: &[u64]) -> Rates {
        let mut rates = Rates::default();
        let (mut free, mut acked) = (0, Vec::new());
        for packet_number in 0..n {
            let sent = match packet_number.checked_sub(window) {
                None => 0,
                Some(before) => acked[before as usize],
            };
            free = (sent + BASE.as_nanos() / 2).max(free) + EACH;
            let at = free - EACH + BASE.as_nanos() / 2;
            acked.push(at);
            if !lost.contains(&packet_number) {
                rates.delivered(&packet(packet_number, sent, at), Some(BASE));
            }
        }
        rates
    }

    #[test]
    fn a_full_path_shows_its_rate() {
        let rates = windowed(400, 40, &[]);
        let rate = rates.told().value().unwrap();
        assert!((rate / 1e7 - 1.0).abs() < 0.01, "{rate}");
        assert_eq!(rates.steadiness(), Steadiness::Constant);
        assert!(rates.busy() > Duration::from_millis(350));
    }

    #[test]
    fn losses_after_the_queue_do_not_reduce_the_rate() {
        let lost: Vec<u64> = (20..400).step_by(20).collect();
        let rate = windowed(400, 40, &lost).told().value().unwrap();
        assert!((rate / 1e7 - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn a_sender_that_never_fills_the_path_shows_a_bound() {
        // Five packets per 20 ms are a quarter of the path's capacity.
        let told = windowed(400, 5, &[]).told();
        assert_eq!(told.value(), None);
        let bound = told.at_least().unwrap();
        assert!((2e6..=4e6).contains(&bound), "{bound}");
        // The ten back-to-back packets at the beginning show the rate.
        let rate = windowed(400, 10, &[]).told().value().unwrap();
        assert!((rate / 1e7 - 1.0).abs() < 0.01, "{rate}");
        assert_eq!(Rates::default().told().at_least(), None);
    }

    #[test]
    fn bursts_after_a_hold_do_not_show_the_rate() {
        // A packet is sent every 10 ms, and a radio releases the packets of 250 ms together.
        let mut rates = Rates::default();
        for n in 0..500 {
            let (sent, batch) = (n * 10_000_000, n / 25 + 1);
            let at = batch * 250_000_000 + 20_000_000 + n % 25 * 100_000;
            rates.delivered(&packet(n, sent, at), Some(BASE));
        }
        // On average, 1250 bytes arrive per 10 ms. Within a burst, they arrive at 100 Mbit/s.
        let told = rates.told();
        let rate = told.value().or(told.at_least()).unwrap();
        assert!(rate <= 1.1e6, "{told:?}");
    }

    #[test]
    fn late_acks_of_lone_segments_show_no_queue() {
        // A segment is sent every 100 ms, and its ACK is delayed by 40 ms.
        let mut rates = Rates::default();
        for n in 0..100 {
            let sent = n * 100_000_000;
            rates.delivered(&packet(n, sent, sent + 60_000_000), Some(BASE));
        }
        assert_eq!(rates.told().value(), None);
    }
}
