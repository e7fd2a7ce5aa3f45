//! The rate of the bottleneck: how fast packets come out of it while it has no pause.
//!
//! A packet waits at the bottleneck if it was sent before the one in front of it had left. The ACK of that
//! one comes no sooner than its way back takes after it left, so that
//!
//! ```text
//! the bottleneck had no pause before a packet  if  sent(packet) + least RTT ≤ ack(the packet before)
//! ```
//!
//! whatever the times of the two ways are. Stretches of packets of which this holds for each, with none
//! missing, are measured: their bytes over the time between the first ACK and the last. This is BBR's
//! delivery rate (Cardwell et al., 2017) without its samples that are limited by the sender; packets that
//! were lost on the way out of the queue cannot make it too low, as there are none within a stretch.
//!
//! Packets wait for other things than a queue: a radio that holds them all, a receiver that holds its ACKs.
//! They come out at once then, at a rate that is no bottleneck's. But a packet that waited in a queue for so
//! long waited for what came out of it meanwhile: what came through in that time, at the rate of the stretch.
//! A stretch of which that does not hold is not measured ([`Past`]).
//!
//! Two more things are asked of the same ACKs. The stretches' rates are all alike if the rate is the
//! link's and the link's is constant. And within a stretch packets follow one another evenly, if nobody
//! else's are between them.

use dupack_tcp::time::{Duration, Instant};

use super::bins::LogBins;
use super::company::{Company, Others, Pattern, Stretch};
use super::delivery::{Delivery, News};
use super::evenness::Course;
use super::intervals::median_ranks;
use super::past::Past;
use crate::told::Told;

/// A stretch is measured when it has so many segments and ACKs (ours): the first ACK's own delay then is a
/// few percent of it.
const SEGMENTS_MIN: u64 = 16;
const ACKS_MIN: u32 = 6;

/// It is also measured where it ends early, from so many segments on.
const SEGMENTS_LEAST: u64 = 7;
const ACKS_LEAST: u32 = 4;

/// It lasts at least the least round-trip time, within these bounds (ours): bursts of ACKs are shorter,
/// and a link whose rate varies is seen to.
const LASTS_MIN: Duration = Duration::from_millis(10);
const LASTS_MAX: Duration = Duration::from_millis(100);

/// What is not in the spread of the samples: clocks, and the ends of a stretch (ours).
const SYSTEMATIC: f64 = 0.01;

/// The same if there are too few stretches to tell their spread.
const SYSTEMATIC_OF_FEW: f64 = 0.03;

/// From so many stretches on their order statistics have an interval: below, both ends are among them.
const STRETCHES_MIN: u64 = 6;

/// The middle 80 % of the stretches' rates lie within this share of their median if the rate is constant
/// (ours: measured with ACKs of every second segment on constant links, they lie within 5 %).
const CONSTANT: f64 = 0.12;

/// Within a stretch packets are off a line over the bytes by no more than this share of the time between ACKs, in the
/// middle, if nobody else's packets are between ours (ours).
const SMOOTH: f64 = 0.1;

/// What they are off by less than this may be the hosts' (ours: interrupts, and who reads the clock).
const JITTER: Duration = Duration::from_micros(100);

/// So large a share of the stretches is smooth if the link is ours alone (ours).
const MOSTLY_SMOOTH: f64 = 0.8;

/// So large a share is rough if it is not (ours).
const OFTEN_ROUGH: f64 = 0.2;

/// While a packet waited, no less than this share of a stretch's rate came through, or it did not wait for
/// that (ours: a burst out of a radio is faster by an order of magnitude, a link whose rate varies by less).
const WAITED_FOR: f64 = 0.5;

/// Rates, bit per second.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    last: Option<(Instant, u64)>,
    run: Option<Run>,
    course: Course,
    /// The same without its last ACK.
    before_last: Option<Run>,
    /// Rates of stretches.
    stretches: LogBins<7>,
    /// The same of those that were told of as soon as always.
    prompt: LogBins<7>,
    /// How many of these were smooth, and how many rough; of the others, clocks and hosts may be the cause.
    smooth: u64,
    rough: u64,
    /// How long the bottleneck had no pause.
    busy: Duration,
    /// The window over which the present bound is taken.
    window: Option<Window>,
    past: Past,
    others: Others,
    /// The highest rate that came through for the time of a round trip.
    most: f64,
}

/// A stretch that is under way.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: Instant,
    until: Instant,
    bytes: u64,
    segments: u64,
    acks: u32,
    /// By how much longer than at best the packet was under way that waited longest, and when it came.
    waited: (Duration, Instant),
    /// Whether it was told of all of it as soon as always.
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
    /// When that left which came then.
    sent: Instant,
    bytes: u64,
}

/// How the rates of stretches are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spreading {
    /// As far as those of a constant rate are.
    Narrow,
    Wide,
}

/// Whether the bottleneck's rate stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steadiness {
    /// It does.
    Constant,
    /// It does not, and packets follow one another as fast as it then is: the link itself varies.
    LinkVaries,
    /// Other packets may be between ours: others share the bottleneck, or ACKs come in bursts.
    PerhapsShared,
    /// Nothing tells.
    Unknown,
}

/// Whether the bottleneck had a pause before what was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// It had none, for so long.
    Busy(Duration),
    /// It had one, or nothing tells.
    Pause,
}

impl Rates {
    /// Takes what was delivered; `base` is the least delay so far.
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

    /// The share of the packets that waited for more than ours.
    pub(super) fn foreign(&self) -> f64 {
        self.others.foreign(self.middle())
    }

    /// The rate of half of the stretches.
    fn middle(&self) -> u64 {
        self.stretches.quantile(0.5).unwrap_or(0)
    }

    fn before(&self, delivery: &Delivery, base: Option<Duration>) -> Before {
        let (Some((last_at, last_order)), Some(base)) = (self.last, base) else {
            return Before::Pause;
        };
        let gap = delivery.at.since(last_at);
        let (first, last) = delivery.sent;
        // The others of several, if they left one by one, followed the first no slower than they came out.
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

    /// The stretch that is under way ends before a pause. Its last ACK may have waited for a receiver's timer, as
    /// no other segment came: it is left out.
    fn end(&mut self) {
        let ended = self.before_last.take();
        if let Some(run) = ended.filter(|run| run.has(SEGMENTS_LEAST, ACKS_LEAST)) {
            self.measure(&run);
        }
    }

    /// Measures a stretch, if what came out of the queue is what its packets waited for.
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

    /// Whether packets came out evenly in a stretch.
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

    /// The most that came through in the time of a round trip: the bottleneck's rate is no less. Nothing comes
    /// through faster than it left, or else it had waited for something (BBR's delivery rate).
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

    /// How long the bottleneck had no pause, as far as it is seen.
    pub(super) const fn busy(&self) -> Duration {
        self.busy
    }

    /// Those of the stretches that tell the rate: where a receiver held back ACKs, they are off by what it held them.
    const fn best(&self) -> &LogBins<7> {
        match self.prompt.count() {
            0 => &self.stretches,
            _ => &self.prompt,
        }
    }

    /// The rate of the bottleneck in bit per second.
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
        const REMEDY: &str = "a capture at the sender of a transfer that is long enough to fill it, from a sender that does";
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

    /// The share of the stretches that were rough, of those that show it.
    pub(super) fn uneven(&self) -> f64 {
        self.rough as f64 / self.prompt.count().max(1) as f64
    }

    /// Whether others' packets were in the queue.
    pub(super) fn company(&self) -> Company {
        self.others.company(self.middle())
    }

    /// Whether the stretches' rates lie close together, whatever the cause. Those of which a receiver may have held
    /// back the ACKs are not asked.
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

    /// The rate that nine of ten stretches have at least, in bit per second.
    pub(super) fn slowest(&self) -> Option<f64> {
        self.prompt.quantile(0.1).map(|rate| rate as f64)
    }

    /// Whether the rate stays the same.
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

/// Bits per second; `None` in no time.
pub(super) fn per_second(bytes: u64, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| bytes as f64 * 8.0 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::super::delivery::Rest;
    use super::*;

    const BASE: Duration = Duration::from_millis(20);
    /// 1250 bytes at 10 Mbit/s.
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

    /// `n` packets, each sent when `window` before it are acknowledged, over 10 Mbit/s and 20 ms; those in
    /// `lost` never arrive.
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
    fn a_full_path_tells_its_rate() {
        let rates = windowed(400, 40, &[]);
        let rate = rates.told().value().unwrap();
        assert!((rate / 1e7 - 1.0).abs() < 0.01, "{rate}");
        assert_eq!(rates.steadiness(), Steadiness::Constant);
        assert!(rates.busy() > Duration::from_millis(350));
    }

    #[test]
    fn losses_after_the_queue_do_not_make_it_less() {
        let lost: Vec<u64> = (20..400).step_by(20).collect();
        let rate = windowed(400, 40, &lost).told().value().unwrap();
        assert!((rate / 1e7 - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn a_sender_that_never_fills_the_path_tells_a_bound() {
        // Five packets in 20 ms: a quarter of what the path carries.
        let told = windowed(400, 5, &[]).told();
        assert_eq!(told.value(), None);
        let bound = told.at_least().unwrap();
        assert!((2e6..=4e6).contains(&bound), "{bound}");
        // Ten at once at the beginning, one behind the other, tell how fast they come out.
        let rate = windowed(400, 10, &[]).told().value().unwrap();
        assert!((rate / 1e7 - 1.0).abs() < 0.01, "{rate}");
        assert_eq!(Rates::default().told().at_least(), None);
    }

    #[test]
    fn what_is_held_back_and_let_go_at_once_does_not_tell_how_fast_it_goes() {
        // A packet every 10 ms; a radio lets those go together that came in 250 ms.
        let mut rates = Rates::default();
        for n in 0..500 {
            let (sent, batch) = (n * 10_000_000, n / 25 + 1);
            let at = batch * 250_000_000 + 20_000_000 + n % 25 * 100_000;
            rates.delivered(&packet(n, sent, at), Some(BASE));
        }
        // 1250 bytes in 10 ms come through, and 100 Mbit/s when they do.
        let told = rates.told();
        let rate = told.value().or(told.at_least()).unwrap();
        assert!(rate <= 1.1e6, "{told:?}");
    }

    #[test]
    fn late_acks_of_lone_segments_are_no_queue() {
        // One segment every 100 ms, whose ACK is delayed by 40 ms.
        let mut rates = Rates::default();
        for n in 0..100 {
            let sent = n * 100_000_000;
            rates.delivered(&packet(n, sent, sent + 60_000_000), Some(BASE));
        }
        assert_eq!(rates.told().value(), None);
    }
}
