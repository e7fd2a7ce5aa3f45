//! HyStart: slow start ends when the ACKs of a round show that the path is full.
//!
//! S. Ha, I. Rhee, "Taming the elephants: new TCP slow start", NCSU TR 2008, in the form of Linux's CUBIC
//! (`net/ipv4/tcp_cubic.c`, `hystart_update`, 6.11). Either of two signs sets `ssthresh = cwnd`:
//!
//! ```text
//! ACK train   ACKs no more than 2 ms apart, since the round began, for longer than
//!             (D + d) / 2      D: minimum round-trip time,  d: min(1 ms, 4 · 64 KiB / pacing rate)
//! delay       the minimum of the round's samples, from the 9th on, is above
//!             D + max(4 ms, min(D / 8, 16 ms))
//! ```
//!
//! A train as long as half the round-trip time means that the data of one round occupies the bottleneck for that time.
//! The next round has twice as much data and would fill the path.
//!
//! Unlike HyStart++, HyStart does not recover from a false alarm. It compares with the minimum of all round trips and
//! not with the last round, and it is active in every slow start.
//!
//! Readings:
//! - A round ends with the first ACK beyond the data sent when the round began. Below 16 segments
//!   nothing is examined, not even the end of a round.
//! - If Linux paces, the train's threshold is not divided by two. `pacing = on` has the same effect here. The
//!   pacing rate in `d` is Linux's pacing rate in slow start, two windows per smoothed
//!   round-trip time.
//! - After a timeout, D is measured again.

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::time::{Duration, Instant};

use super::slow_start::{Detect, SlowStartParameters};
use crate::catalog::{Context, Switch};

/// Maximum tolerance for segments that are sent and received in bursts.
const BUNCH_MAX: Duration = Duration::from_millis(1);

/// Total size of the tolerated bursts in bytes: four of the largest bursts that Linux passes to a device
/// (`hystart_ack_delay`, GSO_MAX_SIZE).
const BUNCHES: f64 = 4.0 * 65_536.0;

/// State of HyStart.
#[derive(Clone, Debug)]
pub struct Hystart {
    parameters: SlowStartParameters,
    paced: Switch,
    /// Minimum window, in bytes, at which HyStart examines ACKs.
    low_window: f64,
    /// Minimum round-trip time (`delay_min`).
    least: Option<Duration>,
    round: Round,
    /// `true` if an exit was found, and there was no timeout since then.
    found: bool,
}

/// Current round.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    began: Instant,
    /// Offset that ends the round when data beyond it is acknowledged.
    end: u64,
    /// Time of the last ACK of the train.
    train: Instant,
    samples: u64,
    /// Minimum round-trip time of the round.
    least: Option<Duration>,
}

impl Hystart {
    /// Creates HyStart with these parameters.
    #[must_use]
    pub fn new(parameters: &SlowStartParameters, paced: Switch, context: &Context) -> Self {
        Self {
            parameters: *parameters,
            paced,
            low_window: parameters.hystart_low_window as f64 * f64::from(context.smss),
            least: None,
            round: Round::default(),
            found: false,
        }
    }

    /// Changes the size of a full segment to `to` bytes.
    pub(super) fn resize(&mut self, to: u32) {
        self.low_window = self.parameters.hystart_low_window as f64 * f64::from(to);
    }

    /// Examines an ACK. Returns `true` if slow start ends now.
    pub(super) fn finds_exit(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if self.found || !view.window.in_slow_start() || view.window.cwnd < self.low_window {
            return false;
        }
        if ack.una > self.round.end {
            self.round = Round {
                began: ack.now,
                end: view.scoreboard.nxt(),
                train: ack.now,
                samples: 0,
                least: None,
            };
        }
        // Both are evaluated because both record the ACK.
        let train = self.is_long_train(ack.now, least, view);
        let delay = self.is_late(rtt, least);
        self.found = match self.parameters.hystart_detect {
            Detect::Both => train || delay,
            Detect::AckTrain => train,
            Detect::Delay => delay,
        };
        self.found
    }

    fn is_long_train(&mut self, now: Instant, least: Duration, view: &View<'_>) -> bool {
        if now.since(self.round.train) > self.parameters.hystart_ack_delta {
            return false;
        }
        self.round.train = now;
        let srtt = view.rtt.srtt().unwrap_or(least).as_secs_f64();
        let pacing_rate = 2.0 * view.window.cwnd / srtt;
        let bunch = Duration::from_secs_f64(BUNCHES / pacing_rate).min(BUNCH_MAX);
        let full = least + bunch;
        // Pacing alone spreads the ACKs over up to half of the round-trip time.
        let threshold = match self.paced {
            Switch::Off => full / 2,
            Switch::On => full,
        };
        now.since(self.round.began) > threshold
    }

    fn is_late(&mut self, rtt: Duration, least: Duration) -> bool {
        let round_least = self.round.least.map_or(rtt, |least| least.min(rtt));
        self.round.least = Some(round_least);
        if self.round.samples < self.parameters.rtt_samples {
            self.round.samples += 1;
            return false;
        }
        round_least > least + self.parameters.rtt_thresh(least)
    }

    /// Restarts the search after a timeout. The next ACK begins a round.
    pub(super) fn after_timeout(&mut self) {
        self.least = None;
        self.found = false;
        self.round = Round::default();
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::rtt::RttEstimator;
    use dupack_tcp::testing;
    use dupack_tcp::window::Window;

    use super::*;
    use crate::catalog::{Dialect, Needs, Value, dialect, typed};
    use crate::congestion::bench::{CONTEXT, SMSS};

    /// HyStart and the state of a connection. Windows and offsets are in segments.
    struct Watch {
        hystart: Hystart,
        rtt: RttEstimator,
        cwnd: f64,
        now: Duration,
    }

    impl Watch {
        fn new(changes: &[(&str, Value)]) -> Self {
            let parameters = typed::parameters(Dialect::Linux, changes).expect("they are there");
            Self {
                hystart: Hystart::new(&parameters, Switch::Off, &CONTEXT),
                rtt: RttEstimator::new(
                    dialect::sender_config(Dialect::Linux, SMSS, &Needs::NONE).rtt,
                ),
                cwnd: 20.0,
                now: Duration::ZERO,
            }
        }

        /// Passes an ACK, `after` the previous one, of everything before segment `una`, while everything before `nxt`
        /// has been sent. The ACK has a sample of `rtt` milliseconds.
        fn ack(&mut self, after: Duration, una: u64, nxt: u64, rtt: u64) -> bool {
            self.now += after;
            let mut facts = testing::ack_facts(Instant::ZERO + self.now);
            facts.una = una * u64::from(SMSS);
            facts.rtt = Some(Duration::from_millis(rtt));
            let board = testing::outstanding(nxt, Instant::ZERO);
            let window = Window {
                cwnd: self.cwnd * f64::from(SMSS),
                ssthresh: f64::INFINITY,
            };
            let view = testing::view(facts.now, &board, window, &self.rtt);
            self.hystart.finds_exit(&facts, &view)
        }
    }

    const APART: Duration = Duration::from_millis(5);

    #[test]
    fn the_ninth_late_sample_of_a_round_ends_slow_start() {
        // D = 100 ms, and a rise of 12.5 ms is a sign of a queue: 112 ms is below the threshold, and 113 ms is above
        // it.
        for (rtt, exit) in [(112, false), (113, true)] {
            let mut w = Watch::new(&[]);
            assert!(!w.ack(APART, 1, 20, 100));
            for una in 21..29 {
                assert!(!w.ack(APART, una, 40, rtt), "{una}");
            }
            assert_eq!(w.ack(APART, 29, 40, rtt), exit);
            // Slow start ends only once.
            assert!(!w.ack(APART, 30, 40, 200));
        }
    }

    #[test]
    fn the_rise_is_bounded_on_both_sides() {
        // 8 ms / 8 is below 4 ms; 400 ms / 8 is above 16 ms.
        for (least, rtt, exit) in [
            (8, 12, false),
            (8, 13, true),
            (400, 416, false),
            (400, 417, true),
        ] {
            let mut w = Watch::new(&[("hystart_detect", Value::word("delay"))]);
            w.ack(APART, 1, 20, least);
            let found = (21..=29).fold(false, |found, una| found | w.ack(APART, una, 40, rtt));
            assert_eq!(found, exit, "{least} {rtt}");
        }
    }

    #[test]
    fn one_early_sample_in_a_round_is_enough_to_go_on() {
        let mut w = Watch::new(&[]);
        w.ack(APART, 1, 20, 100);
        for una in 21..40 {
            let rtt = if una == 29 { 105 } else { 150 };
            assert!(!w.ack(APART, una, 40, rtt), "{una}");
        }
        // The next round has no early sample.
        let found: Vec<_> = (41..50).map(|una| w.ack(APART, una, 80, 150)).collect();
        assert_eq!(found.iter().position(|&found| found), Some(8));
    }

    #[test]
    fn a_sample_that_lowers_the_least_round_trip_time_is_no_sign() {
        let mut w = Watch::new(&[]);
        w.ack(APART, 1, 20, 200);
        for una in 21..29 {
            w.ack(APART, una, 40, 201);
        }
        assert!(!w.ack(APART, 29, 40, 29));
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        // D = 100 ms, and SRTT is unknown, so D is used instead: 2 · 20 segments in 100 ms are 400 kB/s. Four bursts
        // take 655 ms at this rate, but at most 1 ms counts. The threshold is 50.5 ms.
        let mut w = Watch::new(&[("hystart_detect", Value::word("ack-train"))]);
        w.ack(APART, 1, 20, 100);
        let step = Duration::from_millis(2);
        // The round begins with the first of these ACKs.
        let found: Vec<_> = (21..60).map(|una| w.ack(step, una, 60, 100)).collect();
        assert_eq!(found.iter().position(|&found| found), Some(26));
    }

    #[test]
    fn a_pace_needs_a_train_of_a_whole_round_trip() {
        let mut w = Watch::new(&[("hystart_detect", Value::word("ack-train"))]);
        w.hystart.paced = Switch::On;
        w.ack(APART, 1, 20, 100);
        let step = Duration::from_millis(2);
        let found: Vec<_> = (21..90).map(|una| w.ack(step, una, 90, 100)).collect();
        assert_eq!(found.iter().position(|&found| found), Some(51));
    }

    #[test]
    fn a_fast_sender_has_its_bunches_received_sooner() {
        // With 1000 segments in 100 ms, paced at twice this rate, four bursts of 64 KiB take 13 ms, but at most 1 ms
        // counts. With 20,000 segments they take 655 µs, and with a million 13 µs.
        for (cwnd, end) in [(1e3, 506), (2e4, 504), (1e6, 501)] {
            let mut w = Watch::new(&[("hystart_detect", Value::word("ack-train"))]);
            w.cwnd = cwnd;
            w.ack(APART, 1, 20, 100);
            let step = Duration::from_micros(100);
            let found: Vec<_> = (21..600).map(|una| w.ack(step, una, 600, 100)).collect();
            assert_eq!(found.iter().position(|&found| found), Some(end));
        }
    }

    #[test]
    fn a_gap_ends_the_train_for_this_round() {
        let mut w = Watch::new(&[("hystart_detect", Value::word("ack-train"))]);
        w.ack(APART, 1, 20, 100);
        let step = Duration::from_millis(2);
        for una in 21..40 {
            assert!(!w.ack(step, una, 100, 100));
        }
        assert!(!w.ack(Duration::from_micros(2001), 40, 100, 100));
        for una in 41..100 {
            assert!(!w.ack(step, una, 100, 100));
        }
    }

    #[test]
    fn below_sixteen_segments_it_does_not_look() {
        let mut w = Watch::new(&[]);
        w.ack(APART, 1, 10, 100);
        w.cwnd = 15.9;
        for una in 11..40 {
            assert!(!w.ack(APART, una, 40, 300));
        }
        w.cwnd = 16.0;
        let found: Vec<_> = (40..60).map(|una| w.ack(APART, una, 80, 300)).collect();
        assert_eq!(found.iter().position(|&found| found), Some(8));
    }

    #[test]
    fn sixteen_segments_are_of_the_size_that_the_path_carries_now() {
        for (smss, exit) in [(2 * SMSS, false), (SMSS / 2, true)] {
            let mut w = Watch::new(&[]);
            w.cwnd = 12.0;
            w.hystart.resize(smss);
            w.ack(APART, 1, 20, 100);
            let found = (21..=29).fold(false, |found, una| found | w.ack(APART, una, 40, 150));
            assert_eq!(found, exit, "{smss}");
        }
    }

    #[test]
    fn after_a_timeout_it_looks_again() {
        let mut w = Watch::new(&[]);
        w.ack(APART, 1, 20, 100);
        for una in 21..=29 {
            w.ack(APART, una, 40, 150);
        }
        assert!(w.hystart.found);
        w.hystart.after_timeout();
        // The minimum round-trip time is measured again: now 150 ms is no sign of a queue, but 170 ms is.
        w.ack(APART, 40, 60, 150);
        for una in 61..80 {
            assert!(!w.ack(APART, una, 80, 150));
        }
        let found = (81..=89).fold(false, |found, una| found | w.ack(APART, una, 120, 170));
        assert!(found);
    }
}
