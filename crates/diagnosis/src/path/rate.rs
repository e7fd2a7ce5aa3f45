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
//! Two more things are asked of the same ACKs. The stretches' rates are all alike if the rate is the
//! link's and the link's is constant. And within a stretch packets follow one another evenly, if nobody
//! else's are between them.

use dupack_tcp::time::{Duration, Instant};

use super::bins::LogBins;
use super::delivery::Delivery;
use super::intervals::median_ranks;
use crate::told::Told;

/// A stretch is measured when it has so many segments and ACKs (ours): the first ACK's own delay then is a
/// few percent of it.
const SEGMENTS_MIN: u64 = 16;
const ACKS_MIN: u32 = 6;

/// It is also measured where it ends early, from so many segments on.
const SEGMENTS_LEAST: u64 = 8;
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

/// Within a stretch the times between packets, per byte, deviate from their mean by no more than this share
/// of it if nobody else's packets are between ours (ours: simulated alone, by less than 1 %; beside one
/// flow that paces as ours does, by 12 % in the middle, and by more beside all others).
const SMOOTH: f64 = 0.1;

/// A deviation of less than this may be the hosts' (ours: interrupts, and who reads the clock).
const JITTER: Duration = Duration::from_micros(300);

/// So large a share of the stretches is smooth if the link is ours alone (ours).
const MOSTLY_SMOOTH: f64 = 0.8;

/// So large a share is rough if it is not (ours).
const OFTEN_ROUGH: f64 = 0.2;

/// Rates, bit per second.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    last: Option<(Instant, u64)>,
    run: Option<Run>,
    /// Rates of stretches.
    stretches: LogBins<7>,
    /// How many of them were smooth, and how many rough; of the others, clocks and hosts may be the cause.
    smooth: u64,
    rough: u64,
    /// How long the bottleneck had no pause.
    busy: Duration,
    /// The window over which the present bound is taken.
    window: Option<Window>,
    /// The highest rate that came through for the time of a round trip.
    most: f64,
}

/// A stretch that is under way.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: Instant,
    bytes: u64,
    segments: u64,
    acks: u32,
    /// The sum of the squares of the times between ACKs, each by its bytes.
    squares: f64,
}

impl Run {
    const fn from(at: Instant) -> Self {
        Self {
            from: at,
            bytes: 0,
            segments: 0,
            acks: 0,
            squares: 0.0,
        }
    }

    /// The deviation of the times per byte from their mean, as a share of it.
    fn roughness(&self, until: Instant) -> f64 {
        let seconds = until.since(self.from).as_secs_f64();
        let mean = seconds / self.bytes as f64;
        let square = self.squares / self.bytes as f64;
        (square / (mean * mean) - 1.0).max(0.0).sqrt()
    }
}

#[derive(Clone, Copy, Debug)]
struct Window {
    from: Instant,
    bytes: u64,
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
        self.bound(delivery, base);
        let before = self.before(delivery, base);
        match before {
            Before::Busy(gap) => self.extend(delivery, gap, base),
            Before::Pause => {
                if let Some((until, _)) = self.last {
                    self.measure(until, SEGMENTS_LEAST, ACKS_LEAST);
                }
                self.run = Some(Run::from(delivery.at));
            }
        }
        self.last = Some((delivery.at, delivery.orders.1));
        before
    }

    fn before(&self, delivery: &Delivery, base: Option<Duration>) -> Before {
        let (Some((last_at, last_order)), Some(base)) = (self.last, base) else {
            return Before::Pause;
        };
        let gap = delivery.at.since(last_at);
        let (first, last) = delivery.sent;
        // The others of several, if they left one by one, followed the first no slower than they came out.
        let others = delivery.segments.saturating_sub(1);
        let allowance = gap.as_nanos() / delivery.segments.max(1) * others;
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
        run.bytes += delivery.bytes;
        run.segments += delivery.segments;
        run.acks += 1;
        run.squares += gap.as_secs_f64().powi(2) / delivery.bytes.max(1) as f64;
        let lasts = base.unwrap_or_default().max(LASTS_MIN).min(LASTS_MAX);
        if delivery.at.since(run.from) >= lasts && self.measure(delivery.at, SEGMENTS_MIN, ACKS_MIN)
        {
            self.run = Some(Run::from(delivery.at));
        }
    }

    /// Measures the stretch that ends at `until` if it has so many segments and ACKs; says whether it had.
    fn measure(&mut self, until: Instant, segments: u64, acks: u32) -> bool {
        let Some(run) = self.run else {
            return false;
        };
        if run.segments < segments || run.acks < acks {
            return false;
        }
        if let Some(rate) = per_second(run.bytes, until.since(run.from)) {
            self.stretches.record(rate as u64);
            self.look_at(&run, until);
        }
        true
    }

    /// Whether packets came out evenly in a stretch that ends at `until`.
    fn look_at(&mut self, run: &Run, until: Instant) {
        let roughness = run.roughness(until);
        let each = until.since(run.from).as_secs_f64() / f64::from(run.acks.max(1));
        if roughness <= SMOOTH {
            self.smooth += 1;
        } else if roughness * each > JITTER.as_secs_f64() {
            self.rough += 1;
        }
    }

    /// The most that came through in the time of a round trip: the bottleneck's rate is no less.
    fn bound(&mut self, delivery: &Delivery, base: Option<Duration>) {
        let Some(window) = &mut self.window else {
            self.window = Some(Window {
                from: delivery.at,
                bytes: 0,
            });
            return;
        };
        window.bytes += delivery.bytes;
        let length = delivery.at.since(window.from);
        if length < base.unwrap_or_default().max(LASTS_MIN) {
            return;
        }
        if let Some(rate) = per_second(window.bytes, length) {
            self.most = self.most.max(rate);
        }
        self.window = Some(Window {
            from: delivery.at,
            bytes: 0,
        });
    }

    /// How long the bottleneck had no pause, as far as it is seen.
    pub(super) const fn busy(&self) -> Duration {
        self.busy
    }

    /// The rate of the bottleneck in bit per second.
    pub(super) fn told(&self) -> Told<f64> {
        let Some(median) = self.stretches.quantile(0.5) else {
            return self.only_a_bound();
        };
        let n = self.stretches.count();
        let (ranks, systematic) = if n < STRETCHES_MIN {
            ((0, n.saturating_sub(1)), SYSTEMATIC_OF_FEW)
        } else {
            (median_ranks(n), SYSTEMATIC)
        };
        let at = |rank| self.stretches.at_rank(rank).unwrap_or(median) as f64;
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

    /// Whether the rate stays the same.
    pub(super) fn steadiness(&self) -> Steadiness {
        let at = |q| self.stretches.quantile(q).map(|rate| rate as f64);
        let (Some(low), Some(median), Some(high)) = (at(0.1), at(0.5), at(0.9)) else {
            return Steadiness::Unknown;
        };
        if self.stretches.count() < STRETCHES_MIN {
            return Steadiness::Unknown;
        }
        let stretches = self.stretches.count() as f64;
        if self.rough as f64 > OFTEN_ROUGH * stretches {
            return Steadiness::PerhapsShared;
        }
        if high - low <= CONSTANT * median {
            return Steadiness::Constant;
        }
        if self.smooth as f64 >= MOSTLY_SMOOTH * stretches {
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
