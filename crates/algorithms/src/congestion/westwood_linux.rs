//! TCP Westwood+ as in Linux 2.6.17, the kernel of LE's testbed (§4, §5.1).
//!
//! Linux 2.6.17, `net/ipv4/tcp_westwood.c`; A. Dell'Aera, L. A. Grieco, S. Mascolo, "Linux 2.4 implementation of
//! Westwood+ TCP with rate-halving", ICC 2004. It uses the same idea as [`westwood`](super::westwood), but differs in
//! most details ([+] marks the change that gives Westwood+ its name):
//!
//! ```text
//! sample     bk / time, once in max(SRTT, window = 50 ms); bk: bytes counted since the last sample  [+]
//! filter     ns = 7/8 · ns + 1/8 · sample,  BWE = 7/8 · BWE + 1/8 · ns,  both start at zero
//! RTTmin     the minimum *smoothed* round-trip time
//! 3 dup ACKs cwnd = ssthresh = max(BWE · RTTmin, 2 segments), rounded down; may also increase cwnd
//! timeout    as Reno: half the window, one segment
//! ```
//!
//! A sample per ACK is affected by bursts of ACKs, and a sample per round trip is not: the estimate is lower, and
//! closer to the delivered rate. Between losses, the window grows as in Reno.
//!
//! A duplicate ACK counts for a segment. An ACK that acknowledges more than a segment counts for the part that no
//! earlier duplicate ACK counted for, and for at least a segment.
//!
//! Readings:
//! - The kernel reaches this window at the end of a recovery, by rate halving. A control of this
//!   project sets the window at the beginning of a recovery, and LE's recovery has no end.
//! - Times are exact, not in ticks; rates are not truncated to whole bytes per tick.
//! - Before there is an estimate, the formula gives two segments, which are used.

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, AckKind, LossFacts, View};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;

use super::aimd_control::{self, Aimd, AimdParameters, AimdVariant};
use crate::catalog::{Entry, InLinux, Parameters};

/// Minimum window in the kernel, in segments.
const LEAST_WINDOW: f64 = 2.0;

/// Parameters of the kernel's Westwood+.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct WestwoodLinuxParameters {
    /// minimum duration of a sample
    #[parameter(
        basic,
        source = "Linux 2.6.17, TCP_WESTWOOD_RTT_MIN",
        default = Duration::from_millis(50),
    )]
    window: Duration,
    /// weight of the old value in each filter
    #[parameter(
        basic,
        source = "Linux 2.6.17, westwood_do_filter",
        range = 0.0..=1.0,
        default = 0.875,
    )]
    keep: f64,
    #[embed]
    aimd: AimdParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("westwood-linux", file!())
        .summary("Westwood+ of Linux 2.6.17: a sample per round trip, two filters, smoothed RTTs")
        .citation("Linux 2.6.17, tcp_westwood.c; Dell'Aera, Grieco, Mascolo, ICC 2004")
        .linux(
            InLinux::module(
                "the congestion control `westwood` (Westwood+), since 2.6.13",
                "westwood",
                "tcp_westwood",
            )
            .differs("after a timeout today's module takes ssthresh from its estimate; ours halves")
            .differs("Linux reaches the window at the end of a recovery, ours at its beginning")
            .knobs(aimd_control::knobs()),
        )
        .build(|parameters: &WestwoodLinuxParameters, context| {
            parameters
                .aimd
                .build(context)
                .varied(WestwoodLinux::new(parameters))
        })
}

/// Congestion control of the kernel's Westwood+.
#[derive(Debug)]
struct WestwoodLinux {
    sampling: Sampling,
    /// Minimum smoothed round-trip time, in seconds.
    rtt_min: Option<f64>,
}

impl WestwoodLinux {
    fn new(parameters: &WestwoodLinuxParameters) -> Self {
        Self {
            sampling: Sampling {
                least: parameters.window,
                keep: parameters.keep,
                begun: None,
                counted: 0.0,
                accounted: 0.0,
                nearly: 0.0,
                estimate: 0.0,
            },
            rtt_min: None,
        }
    }

    /// Returns the window that corresponds to the estimate, in bytes.
    fn pipe(&self, smss: f64) -> f64 {
        let segments = self.sampling.estimate * self.rtt_min.unwrap_or(0.0) / smss;
        libm::floor(segments).max(LEAST_WINDOW) * smss
    }
}

impl AimdVariant for WestwoodLinux {
    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        if let Some(srtt) = view.rtt.srtt() {
            let seconds = srtt.as_secs_f64();
            self.rtt_min = Some(self.rtt_min.map_or(seconds, |least| least.min(seconds)));
            self.sampling.look(ack.now, srtt);
        }
        if ack.kind != AckKind::Other {
            self.sampling.count(ack.acked_bytes as f64, aimd.smss);
        }
        aimd.increase.grown(ack, credit, view.window)
    }

    fn reduction(&self, _: &LossFacts, aimd: &Aimd) -> Window {
        let pipe = self.pipe(aimd.smss);
        Window {
            cwnd: pipe,
            ssthresh: pipe,
        }
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        self.sampling.begun.map(|_| self.sampling.estimate)
    }
}

/// Estimate of the bandwidth, in bytes per second.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    least: Duration,
    keep: f64,
    /// Start of the current sample.
    begun: Option<Instant>,
    /// Bytes that ACKs have counted for since the start of the sample.
    counted: f64,
    /// Bytes that duplicate ACKs have counted for, and that no cumulative ACK has covered yet.
    accounted: f64,
    /// Estimate after the first filter.
    nearly: f64,
    estimate: f64,
}

impl Sampling {
    /// Computes a sample if enough time has passed since the last one.
    fn look(&mut self, now: Instant, srtt: Duration) {
        let begun = *self.begun.get_or_insert(now);
        let age = now.since(begun);
        if age <= srtt.max(self.least) {
            return;
        }
        let rate = self.counted / age.as_secs_f64();
        let keep = self.keep;
        self.nearly = keep * self.nearly + (1.0 - keep) * rate;
        self.estimate = keep * self.estimate + (1.0 - keep) * self.nearly;
        self.counted = 0.0;
        self.begun = Some(now);
    }

    /// Counts an ACK of `acked` new bytes; a duplicate ACK has none.
    fn count(&mut self, acked: f64, segment: f64) {
        self.counted += if acked <= 0.0 {
            self.accounted += segment;
            segment
        } else if acked <= segment {
            acked
        } else if self.accounted >= acked {
            self.accounted -= acked;
            segment
        } else {
            let rest = acked - self.accounted;
            self.accounted = 0.0;
            rest
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Dialect;
    use crate::congestion::bench::Bench;
    use crate::recovery::sack;
    use crate::testing::{Setup, ack};

    fn sampling() -> Sampling {
        Sampling {
            least: Duration::from_millis(50),
            keep: 0.875,
            begun: None,
            counted: 0.0,
            accounted: 0.0,
            nearly: 0.0,
            estimate: 0.0,
        }
    }

    #[test]
    fn a_sample_is_taken_once_in_50_ms_and_filtered_twice() {
        let mut s = sampling();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let srtt = Duration::from_millis(20);
        for ms in (0..=60).step_by(10) {
            s.look(at(ms), srtt);
            s.count(1000.0, 1000.0);
        }
        // Six ACKs of 1000 B have been counted between 0 and 60 ms, because `look` runs before the seventh is counted.
        let sample = 6000.0 / 0.060;
        assert!((s.nearly - sample / 8.0).abs() < 1e-6);
        assert!((s.estimate - sample / 64.0).abs() < 1e-6);
        assert_eq!(s.counted, 1000.0);
    }

    #[test]
    fn segments_that_duplicate_acks_counted_are_not_counted_again() {
        let mut s = sampling();
        for _ in 0..20 {
            s.count(0.0, 1.0);
        }
        s.count(30.0, 1.0);
        assert_eq!((s.counted, s.accounted), (30.0, 0.0));
        // There are more duplicate ACKs than the advance covers: the ACK counts for one segment, and one announced
        // segment remains.
        s.count(0.0, 1.0);
        s.count(0.0, 1.0);
        s.count(0.0, 1.0);
        s.count(2.0, 1.0);
        assert_eq!((s.counted, s.accounted), (34.0, 1.0));
    }

    #[test]
    fn without_an_estimate_a_loss_leaves_two_segments_and_a_timeout_half() {
        let mut b = Bench::new(entry(), Dialect::Rfc, &[], 16.0, 64.0);
        b.loss(0, 16);
        assert_eq!((b.cwnd(), b.ssthresh()), (2.0, 2.0));
        let mut b = Bench::new(entry(), Dialect::Rfc, &[], 16.0, 64.0);
        b.timeout(0, 16);
        assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 8.0));
    }

    #[test]
    fn after_a_loss_the_counting_of_acks_begins_anew() {
        let mut b = Bench::new(entry(), Dialect::Rfc, &[], 16.0, 8.0);
        // In congestion avoidance, 12 of the 16 segments that are needed for an increase are acknowledged.
        b.ack(12);
        assert_eq!(b.cwnd(), 16.0);
        b.loss(0, 16);
        assert_eq!(b.cwnd(), 2.0);
        b.ack(1);
        assert_eq!(b.cwnd(), 2.0);
        b.ack(1);
        assert_eq!(b.cwnd(), 3.0);
    }

    #[test]
    fn a_loss_sets_the_window_to_the_delivered_rate() {
        // Ten segments of 1000 B are acknowledged in every round trip of 100 ms, for a hundred round trips.
        let setup = Setup::new(sack::entry()).controlled_by(entry());
        let mut t = setup.window(10.0).ssthresh(2.0).start(10_000);
        assert_eq!(t.sender().stack().control.bandwidth_estimate(), None);
        let mut end = 0;
        for ms in (100..10_000).step_by(10) {
            end += 1;
            t.receive(ms, ack(end));
        }
        for (ms, high) in [(10_000, 2), (10_001, 3), (10_002, 4)] {
            t.receive(ms, ack(end).sack(end + 1, end + high));
        }
        let estimate = t.sender().stack().control.bandwidth_estimate();
        assert!(estimate.is_some_and(|bytes| (90_000.0..100_000.0).contains(&bytes)));
        // One segment is acknowledged every 10 ms; the minimum smoothed round-trip time is the first, 100 ms. The
        // filters approach ten segments from below, and the window is rounded down.
        assert_eq!((t.cwnd(), t.ssthresh()), (9.0, 9.0));
    }
}
