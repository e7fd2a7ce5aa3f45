//! TCP Westwood: the window after a loss is what the returning ACKs say the path carries.
//!
//! S. Mascolo, C. Casetti, M. Gerla, S. S. Lee, M. Sanadidi, "TCP Westwood: congestion control
//! with faster recovery", UCLA CSD TR 200017, 2000.
//!
//! ```text
//! sample      s[k] = acked bytes / time since the previous ACK                        (§II)
//! filter      BWE[k] = (2r−1)/(2r+1) · BWE[k−1] + 1/(2r+1) · (s[k] + s[k−1]),  r = τ/T = 10
//!             that is 19/21 and 1/21 (Tustin)
//! 3 dup ACKs  ssthresh = BWE · RTTmin / a,  cwnd = min(cwnd, ssthresh)              (§IV.A)
//!             a: +0.25 up to 4 in slow start, 1 in congestion avoidance
//! timeout     ssthresh = max(BWE · RTTmin / a, 2 segments),  cwnd = 1 segment       (§IV.B)
//!             a: +1 up to 4 in slow start, 1 in congestion avoidance
//! ```
//!
//! Between losses it grows as Reno does. §III's general form has one function of BWE · RTTmin
//! for each phase at each event, f1 to f6; §IV chooses f1(x) = f3(x) = x, f2(x) = f5(x) = x/a,
//! f4 = f6 = 1: here they are `pipe`, divided by what `Reduction::after` answers.
//!
//! Readings:
//! - §IV.B's listing raises `ssthresh` to 2 if it is *above* 2; §III.B has the comparison right.
//! - Both values start at zero, as a filter's do. The first ACK opens the first interval.
//! - ACKs at the same instant have no rate: they count with the next ACK that comes later.
//! - `cwnd = ssthresh` is neither phase: `a` stays.
//! - A duplicate ACK counts for one segment. What the sender does not take for a duplicate ACK
//!   and acknowledges nothing (a window update) counts for none, and ends no interval.
//! - `a` moves when the reduction is Westwood's own. A loss that a response answered in another
//!   way says nothing of BWE.
//! - Before there is an estimate, a loss halves FlightSize (RFC 5681), as the paper's formula
//!   would leave a window of nothing.

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, AckKind, LossCause, LossFacts, View};
use dupack_tcp::time::Instant;
use dupack_tcp::window::Window;

use super::aimd::{self, Increase};
use crate::catalog::spec::{
    Context, Defaults, Entry, Kind, Needs, ParameterSpec, Parameters, Value,
};

const TAU: ParameterSpec = ParameterSpec {
    name: "tau",
    doc: "time constant of the bandwidth filter over its sampling time (τ/T)",
    source: "Westwood §II",
    kind: Kind::Real {
        min: 0.5,
        max: 1e6,
        unit: "ACK intervals",
    },
    default: Defaults::same(Value::Real(10.0)),
};

const ACKED_LIMIT: ParameterSpec = ParameterSpec {
    name: "acked_limit",
    doc: "segments that one ACK may count for in the estimate",
    source: "Westwood §II.A bounds nothing; the authors' ns-2 module bounds it to 2",
    kind: Kind::Integer {
        min: 1,
        max: 65_535,
        unit: "segments",
    },
    default: Defaults::same(Value::Integer(65_535)),
};

const STEP: ParameterSpec = ParameterSpec {
    name: "step",
    doc: "what 3 duplicate ACKs in slow start add to the reduction factor a",
    source: "Westwood §IV.A",
    kind: FACTOR,
    default: Defaults::same(Value::Real(0.25)),
};

const TIMEOUT_STEP: ParameterSpec = ParameterSpec {
    name: "timeout_step",
    doc: "what a timeout in slow start adds to the reduction factor a",
    source: "Westwood §IV.B",
    kind: FACTOR,
    default: Defaults::same(Value::Real(1.0)),
};

const A_MAX: ParameterSpec = ParameterSpec {
    name: "a_max",
    doc: "greatest reduction factor a",
    source: "Westwood §IV",
    kind: Kind::Real {
        min: 1.0,
        max: 1000.0,
        unit: "",
    },
    default: Defaults::same(Value::Real(4.0)),
};

const MIN_SSTHRESH: ParameterSpec = ParameterSpec {
    doc: "least slow start threshold after a timeout",
    source: "Westwood §III.B",
    ..aimd::MIN_SSTHRESH
};

const FACTOR: Kind = Kind::Real {
    min: 0.0,
    max: 1000.0,
    unit: "",
};

/// The entry in the catalog.
pub static ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "westwood",
    summary: "AIMD growth; a loss sets the window to the measured bandwidth times the least RTT",
    citation: "Mascolo et al., TCP Westwood, UCLA CSD TR 200017, 2000",
    parameters: &[
        TAU,
        ACKED_LIMIT,
        STEP,
        TIMEOUT_STEP,
        A_MAX,
        MIN_SSTHRESH,
        aimd::COUNT,
        aimd::LIMIT,
        aimd::LIMIT_AFTER_TIMEOUT,
        aimd::INCREASE,
        aimd::VALIDATE,
    ],
    needs: |_| Needs::NONE,
    conflicts: &[],
    build: |parameters, context| Box::new(Westwood::new(parameters, context)),
};

/// The control.
#[derive(Clone, Debug)]
pub struct Westwood {
    smss: f64,
    increase: Increase,
    acked: AckedCount,
    filter: Filter,
    reduction: Reduction,
    /// Least `ssthresh` after a timeout, in bytes.
    min_ssthresh: f64,
}

impl Westwood {
    /// One with these parameters.
    #[must_use]
    pub fn new(parameters: &Parameters, context: &Context) -> Self {
        let smss = f64::from(context.smss);
        let slope = parameters.real(aimd::INCREASE.name);
        Self {
            smss,
            increase: Increase::new(parameters, context, slope),
            acked: AckedCount::new(context.smss, parameters.integer(ACKED_LIMIT.name)),
            filter: Filter::new(parameters.real(TAU.name)),
            reduction: Reduction {
                a: 1.0,
                a_max: parameters.real(A_MAX.name),
                step: parameters.real(STEP.name),
                timeout_step: parameters.real(TIMEOUT_STEP.name),
            },
            min_ssthresh: parameters.integer(MIN_SSTHRESH.name) as f64 * smss,
        }
    }

    /// BWE · RTTmin in bytes: what the path holds. Without an estimate, FlightSize / 2.
    fn pipe(&self, loss: &LossFacts) -> f64 {
        let rtt_min = loss.rtt_min.map_or(0.0, |rtt| rtt.as_secs_f64());
        let pipe = self.filter.estimate * rtt_min;
        if pipe > 0.0 {
            pipe
        } else {
            (loss.flight_within_window() / 2.0).max(self.min_ssthresh)
        }
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        if ack.kind != AckKind::Other {
            let bytes = self.acked.count(ack.acked_bytes);
            self.filter.take(ack.now, bytes);
        }
        self.increase.grown(ack, credit, view.window)
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        let a = self.reduction.after(loss.window, self.reduction.step);
        let ssthresh = self.pipe(loss) / a;
        Window {
            cwnd: loss.window.cwnd.min(ssthresh),
            ssthresh,
        }
    }

    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        if aimd::is_own_reduction(cause, chosen, self.reduction(loss), self.smss) {
            self.reduction.a = self.reduction.after(loss.window, self.reduction.step);
            self.increase.after_loss();
        }
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.reduction.a = self
            .reduction
            .after(loss.window, self.reduction.timeout_step);
        self.increase.after_timeout();
        Window {
            cwnd: self.smss,
            ssthresh: (self.pipe(loss) / self.reduction.a).max(self.min_ssthresh),
        }
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        self.filter.last_ack.map(|_| self.filter.estimate)
    }
}

/// The threshold reduction factor a of §IV.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reduction {
    a: f64,
    a_max: f64,
    step: f64,
    timeout_step: f64,
}

impl Reduction {
    /// What a loss at this window makes of a.
    fn after(&self, window: Window, step: f64) -> f64 {
        if window.cwnd < window.ssthresh {
            (self.a + step).min(self.a_max)
        } else if window.cwnd > window.ssthresh {
            1.0
        } else {
            self.a
        }
    }
}

/// How much an ACK counts for, so that what duplicate ACKs announced is not counted again
/// (procedure AckedCount, §II.A). In bytes; the paper counts segments of equal size.
#[derive(Clone, Copy, Debug)]
struct AckedCount {
    segment: u64,
    limit: u64,
    accounted_for: u64,
}

impl AckedCount {
    fn new(smss: u32, limit_segments: u64) -> Self {
        let segment = u64::from(smss);
        Self {
            segment,
            limit: limit_segments * segment,
            accounted_for: 0,
        }
    }

    fn count(&mut self, cumulative: u64) -> u64 {
        let counted = if cumulative == 0 {
            self.accounted_for += self.segment;
            self.segment
        } else if cumulative <= self.segment {
            cumulative
        } else if self.accounted_for >= cumulative {
            self.accounted_for -= cumulative;
            self.segment
        } else {
            cumulative - core::mem::take(&mut self.accounted_for)
        };
        counted.min(self.limit)
    }
}

/// The low-pass filter of §II; rates in bytes per second.
#[derive(Clone, Copy, Debug)]
struct Filter {
    /// Weight of the previous estimate.
    keep: f64,
    /// Weight of each of the two samples.
    add: f64,
    estimate: f64,
    sample: f64,
    last_ack: Option<Instant>,
    /// Bytes counted since `last_ack`.
    pending: u64,
}

impl Filter {
    fn new(ratio: f64) -> Self {
        let denominator = 2.0 * ratio + 1.0;
        Self {
            keep: (2.0 * ratio - 1.0) / denominator,
            add: 1.0 / denominator,
            estimate: 0.0,
            sample: 0.0,
            last_ack: None,
            pending: 0,
        }
    }

    fn take(&mut self, now: Instant, bytes: u64) {
        let Some(last) = self.last_ack else {
            self.last_ack = Some(now);
            return;
        };
        self.pending += bytes;
        let interval = now.since(last);
        if interval.is_zero() {
            return;
        }
        let sample = self.pending as f64 / interval.as_secs_f64();
        self.estimate = self.keep * self.estimate + self.add * (sample + self.sample);
        self.sample = sample;
        self.pending = 0;
        self.last_ack = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::time::Duration;

    use super::*;
    use crate::catalog::spec::Dialect;
    use crate::congestion::bench::Bench;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs().max(1.0)
    }

    #[test]
    fn acked_count_in_the_example_of_section_2a() {
        // 100 to 109 lost, 110 to 129 arrive: 20 duplicate ACKs, one segment each.
        let mut acked = AckedCount::new(1, 65_535);
        for _ in 0..20 {
            assert_eq!(acked.count(0), 1);
        }
        assert_eq!(acked.accounted_for, 20);
        // 100 to 109 again: 5 delayed ACKs for 2 segments. Both were accounted for; each ACK
        // still counts for one.
        for left in [18, 16, 14, 12, 10] {
            assert_eq!(acked.count(2), 1);
            assert_eq!(acked.accounted_for, left);
        }
        // One ACK for 110 to 129: 20 less the 10 that are accounted for.
        assert_eq!(acked.count(20), 10);
        assert_eq!(acked.accounted_for, 0);
        // An ordinary delayed ACK counts in full.
        assert_eq!(acked.count(2), 2);
        assert_eq!(acked.count(1), 1);
    }

    #[test]
    fn one_ack_counts_for_no_more_than_the_limit() {
        let mut acked = AckedCount::new(1000, 2);
        assert_eq!(acked.count(20_000), 2000);
    }

    #[test]
    fn the_filter_by_hand() {
        let mut filter = Filter::new(10.0);
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        filter.take(ms(5), 1000);
        assert_eq!(filter.estimate, 0.0);
        // 1000 B in 10 ms are 100,000 B/s: BWE = (100,000 + 0)/21.
        filter.take(ms(15), 1000);
        assert!(close(filter.estimate, 100_000.0 / 21.0));
        // 2000 B in 10 ms: BWE = 19/21 · 100,000/21 + (200,000 + 100,000)/21.
        filter.take(ms(25), 2000);
        let expected = 19.0 / 21.0 * (100_000.0 / 21.0) + 300_000.0 / 21.0;
        assert!(close(filter.estimate, expected));
    }

    #[test]
    fn acks_at_the_same_instant_count_with_the_next() {
        let mut filter = Filter::new(10.0);
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        filter.take(ms(0), 1000);
        filter.take(ms(0), 1000);
        filter.take(ms(0), 1000);
        assert_eq!(filter.estimate, 0.0);
        // 3000 B in 10 ms.
        filter.take(ms(10), 1000);
        assert!(close(filter.sample, 300_000.0));
    }

    #[test]
    fn the_estimate_of_a_steady_stream_is_its_rate() {
        let mut b = Bench::new(&ENTRY, Dialect::Rfc, &[], 10.0, 5.0);
        for n in 0..300 {
            b.now = Instant::ZERO + Duration::from_millis(10 * n);
            b.ack(1);
        }
        // 1000 B per 10 ms; what is left of the start is (19/21)^299 < 1e-12.
        let estimate = b.control().bandwidth_estimate().unwrap();
        assert!(close(estimate, 100_000.0), "{estimate}");
    }

    /// A path of 100,000 B/s with RTTmin 200 ms: it holds 20 segments.
    fn measured(cwnd: f64, ssthresh: f64) -> Bench {
        let mut b = Bench::new(&ENTRY, Dialect::Rfc, &[], cwnd, ssthresh);
        b.rtt_sample = Some(Duration::from_millis(200));
        for n in 0..400 {
            b.now = Instant::ZERO + Duration::from_millis(10 * n);
            b.ack_with(1, Credit::default());
        }
        b
    }

    #[test]
    fn a_loss_in_congestion_avoidance_sets_the_window_to_the_pipe() {
        let mut b = measured(30.0, 10.0);
        b.loss(0, 30);
        assert!(close(b.cwnd(), 20.0));
        assert!(close(b.ssthresh(), 20.0));
        // A window below the pipe stays.
        let mut b = measured(12.0, 10.0);
        b.loss(0, 12);
        assert!(close(b.cwnd(), 12.0));
        assert!(close(b.ssthresh(), 20.0));
    }

    #[test]
    fn a_loss_in_slow_start_divides_by_a_growing_factor() {
        let mut b = measured(30.0, 64.0);
        b.loss(0, 30);
        // a = 1.25
        assert!(close(b.ssthresh(), 16.0));
        assert!(close(b.cwnd(), 16.0));
        // cwnd = ssthresh: a stays 1.25. Then slow start again: a = 1.5.
        b.loss(1, 16);
        assert!(close(b.ssthresh(), 16.0));
        b.window.cwnd = 10_000.0;
        b.loss(2, 10);
        assert!(close(b.ssthresh(), 20.0 / 1.5));
        assert!(close(b.cwnd(), 10.0));
        // Up to 4.
        for n in 3..30 {
            b.window.cwnd = 4000.0;
            b.loss(n, 4);
        }
        assert!(close(b.ssthresh(), 5.0));
        // Above ssthresh it was right: a = 1.
        b.window.cwnd = 30_000.0;
        b.loss(30, 30);
        assert!(close(b.ssthresh(), 20.0));
    }

    #[test]
    fn asking_changes_nothing_and_a_wireless_loss_leaves_a_alone() {
        let mut b = measured(30.0, 64.0);
        let facts = b.loss_facts(0, 30);
        let first = b.control().reduction(&facts);
        assert_eq!(first, b.control().reduction(&facts));
        b.control()
            .on_loss(&facts, LossCause::Wireless, facts.window);
        assert_eq!(first, b.control().reduction(&facts));
    }

    #[test]
    fn a_timeout_steps_by_one_and_leaves_two_segments_at_least() {
        let mut b = measured(30.0, 64.0);
        b.timeout(0, 30);
        // a = 2
        assert_eq!(b.cwnd(), 1.0);
        assert!(close(b.ssthresh(), 10.0));
        b.timeout(0, 30);
        b.timeout(0, 30);
        b.timeout(0, 30);
        // a = 4
        assert!(close(b.ssthresh(), 5.0));
        b.rtt_sample = Some(Duration::from_millis(20));
        b.timeout(0, 30);
        // 2 segments in the pipe, a quarter of them is below 2.
        assert_eq!(b.ssthresh(), 2.0);
    }

    #[test]
    fn without_an_estimate_a_loss_halves() {
        let mut b = Bench::new(&ENTRY, Dialect::Rfc, &[], 10.0, 5.0);
        b.loss(0, 10);
        assert_eq!((b.cwnd(), b.ssthresh()), (5.0, 5.0));
    }
}
