//! Reno: additive increase, multiplicative decrease (AIMD).
//!
//! V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988; RFC 5681 §3.1, §3.2.
//!
//! ```text
//! cwnd < ssthresh   slow start: +1 segment per ACK, doubling per round trip
//! otherwise         congestion avoidance: +1 segment per round trip
//! congestion loss   ssthresh = max(FlightSize / 2, 2 segments), cwnd = ssthresh
//! timeout           the same ssthresh, cwnd = 1 segment
//! ```
//!
//! Reno is the baseline of this axis: Westwood grows in the same way and reduces to its bandwidth estimate, CUBIC grows
//! with the time since the last loss, and the fixed window does neither. The window inflation of fast recovery belongs
//! to the recoveries. The control consists of [`Increase`](super::aimd::Increase) and
//! [`Decrease`](super::aimd::Decrease); the readings are described there.
//!
//! By dialect: `rfc` halves FlightSize and counts bytes; `linux` halves `cwnd` and counts bytes without limit; `ns2`
//! halves `cwnd`, counts ACKs, does not check whether the window was used, keeps `cwnd` as a real number (the sender
//! truncates `ssthresh` to whole segments), and recomputes `ssthresh` at every timeout. Slow start may end early with
//! `slow_start` (HyStart++, RFC 9406).

use dupack_tcp::congestion::CongestionControl;

use super::aimd::{DecreaseParameters, IncreaseParameters};
use super::aimd_control::{self, Aimd, AimdVariant};
use super::pacing::PacingParameters;
use super::slow_start::SlowStartParameters;
use super::undo::UndoParameters;
use crate::catalog::{Entry, InLinux, Parameters};

/// Reno's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct RenoParameters {
    #[embed]
    increase: IncreaseParameters,
    #[embed]
    decrease: DecreaseParameters,
    #[embed]
    slow_start: SlowStartParameters,
    #[embed]
    undo: UndoParameters,
    #[embed]
    pacing: PacingParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("reno", file!())
        .summary("AIMD: one segment more per round trip, half the window at a loss")
        .citation("RFC 5681")
        .linux(
            InLinux::control("the congestion control `reno`, in every kernel", "reno")
                .knobs(aimd_control::knobs()),
        )
        .build(|parameters: &RenoParameters, context| {
            let p = parameters;
            Aimd::new(&p.increase, &p.decrease, &p.undo, &p.pacing, context)
                .exiting_early(&p.slow_start, context)
                .varied(Reno)
        })
}

/// Reno's congestion control: AIMD without differences.
#[derive(Debug)]
struct Reno;

impl AimdVariant for Reno {}

#[cfg(test)]
mod tests {
    use dupack_tcp::congestion::Credit;
    use dupack_tcp::facts::{LimitedBy, LossCause, LossRule, WindowUse};
    use dupack_tcp::testing::SMSS;
    use dupack_tcp::window::Window;

    use super::*;
    use crate::catalog::{Dialect, Value};
    use crate::congestion::bench::Bench;

    const BYTES: (&str, Value) = ("count", Value::word("bytes"));
    const ACKS: (&str, Value) = ("count", Value::word("acks"));

    fn bench(changes: &[(&str, Value)], cwnd: f64, ssthresh: f64) -> Bench {
        Bench::new(entry(), Dialect::Rfc, changes, cwnd, ssthresh)
    }

    #[test]
    fn slow_start_doubles_when_every_segment_is_acknowledged() {
        for count in [ACKS, BYTES] {
            let mut b = bench(&[count], 2.0, 64.0);
            let rounds: Vec<f64> = (0..4)
                .map(|_| {
                    b.round(1);
                    b.cwnd()
                })
                .collect();
            assert_eq!(rounds, [4.0, 8.0, 16.0, 32.0]);
        }
    }

    #[test]
    fn growth_is_in_segments_of_the_size_that_the_path_carries_now() {
        // Ten segments of 1000 bytes become twenty of 500 bytes; the ACKs of the bench are for 1000 bytes.
        let grown = |ssthresh, changes: &[(&str, Value)]| {
            let mut b = bench(changes, 10.0, ssthresh);
            b.control().on_segment_size(SMSS, SMSS / 2);
            let before = b.window.cwnd;
            b.round(1);
            b.window.cwnd - before
        };
        // Slow start with L = 1 adds 500 bytes for each of ten ACKs. With L = 2, it adds all acknowledged bytes.
        let two = ("limit", Value::Integer(2));
        assert_eq!(grown(64.0, &[BYTES]), 5000.0);
        assert_eq!(grown(64.0, &[BYTES, two]), 10_000.0);
        // Congestion avoidance adds one segment per round trip.
        assert_eq!(grown(2.0, &[BYTES]), 500.0);
    }

    #[test]
    fn slow_start_with_delayed_acks_grows_by_half_or_by_all_with_a_limit_of_two() {
        // 2 ACKs for 4 segments add one segment each.
        let mut b = bench(&[ACKS], 4.0, 64.0);
        b.round(2);
        assert_eq!(b.cwnd(), 6.0);
        // Counting bytes with L = 1 gives the same result: each ACK adds at most one segment.
        let mut b = bench(&[BYTES], 4.0, 64.0);
        b.round(2);
        assert_eq!(b.cwnd(), 6.0);
        let mut b = bench(&[BYTES, ("limit", Value::Integer(2))], 4.0, 64.0);
        b.round(2);
        assert_eq!(b.cwnd(), 8.0);
    }

    #[test]
    fn after_a_timeout_the_limit_is_one_until_slow_start_ends() {
        let mut b = bench(&[BYTES, ("limit", Value::Integer(2))], 8.0, 64.0);
        b.timeout(0, 8);
        assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 4.0));
        // Three ACKs add one segment each and reach ssthresh. An ordinary slow start would need only two ACKs.
        b.ack(2);
        assert_eq!(b.cwnd(), 2.0);
        b.ack(2);
        b.ack(2);
        assert_eq!(b.cwnd(), 4.0);
        b.window.ssthresh = f64::INFINITY;
        b.ack(2);
        assert_eq!(b.cwnd(), 6.0);
    }

    #[test]
    fn slow_start_by_bytes_stops_at_ssthresh_and_the_rest_counts_for_avoidance() {
        let mut b = bench(&[BYTES, ("limit", Value::Integer(4))], 8.0, 9.0);
        // Of 4 segments, 1 raises the window to 9, and 3 count towards the 9 that congestion avoidance requires.
        b.ack(4);
        assert_eq!(b.cwnd(), 9.0);
        b.ack(5);
        assert_eq!(b.cwnd(), 9.0);
        b.ack(1);
        assert_eq!(b.cwnd(), 10.0);
    }

    #[test]
    fn avoidance_adds_a_segment_per_round_trip() {
        // If bytes are counted, the window grows by one segment per cwnd of data, with or without delayed ACKs.
        for per_ack in [1, 2] {
            let mut b = bench(&[BYTES], 10.0, 10.0);
            b.round(per_ack);
            assert_eq!(b.cwnd(), 11.0);
            b.round(per_ack);
            assert_eq!(b.cwnd(), 12.0);
        }
        // If ACKs are counted, each ACK adds 1/cwnd: 4 + 1/4 + 1/4.25 + …
        let mut b = bench(&[ACKS], 4.0, 4.0);
        b.ack(1);
        assert_eq!(b.cwnd(), 4.25);
        b.ack(1);
        assert!((b.cwnd() - (4.25 + 1.0 / 4.25)).abs() < 1e-12);
        // Half as many ACKs give half the growth.
        let mut b = bench(&[ACKS], 4.0, 4.0);
        b.round(2);
        assert!((b.cwnd() - (4.25 + 1.0 / 4.25)).abs() < 1e-12);
    }

    #[test]
    fn a_loss_halves_the_bytes_in_flight_but_leaves_two_segments() {
        let mut b = bench(&[], 20.0, 10.0);
        b.loss(0, 15);
        assert_eq!((b.cwnd(), b.ssthresh()), (7.5, 7.5));
        // The part of FlightSize beyond cwnd shows nothing about the data in the network.
        b.loss(1, 40);
        assert_eq!(b.cwnd(), 3.75);
        b.loss(2, 3);
        assert_eq!((b.cwnd(), b.ssthresh()), (2.0, 2.0));
    }

    #[test]
    fn ns2_halves_the_window_and_lets_it_fall_below_ssthresh() {
        let mut b = Bench::new(entry(), Dialect::Ns2, &[], 11.408, 10.0);
        b.loss(0, 5);
        assert!((b.cwnd() - 5.704).abs() < 1e-9);
        b.window.cwnd = 3000.0;
        b.loss(1, 3);
        assert_eq!((b.cwnd(), b.ssthresh()), (1.5, 2.0));
    }

    #[test]
    fn a_repeated_timeout_of_a_segment_holds_ssthresh() {
        let mut b = bench(&[], 16.0, 64.0);
        b.timeout(0, 16);
        assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 8.0));
        b.timeout(0, 16);
        assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 8.0));
        // A timeout of a different segment recomputes ssthresh.
        b.window.cwnd = 12_000.0;
        b.timeout(4, 12);
        assert_eq!(b.ssthresh(), 6.0);
        // Unacknowledged data beyond the window of one segment is not in flight.
        b.timeout(8, 12);
        assert_eq!(b.ssthresh(), 2.0);

        let mut b = Bench::new(entry(), Dialect::Ns2, &[], 16.0, 64.0);
        b.timeout(0, 16);
        assert_eq!(b.ssthresh(), 8.0);
        b.timeout(0, 16);
        assert_eq!(b.ssthresh(), 2.0);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        for limited_by in [LimitedBy::Application, LimitedBy::ReceiveWindow] {
            let mut b = bench(&[], 4.0, 64.0);
            b.limited_by = limited_by;
            b.ack(1);
            assert_eq!(b.cwnd(), 4.0);
            let mut b = Bench::new(entry(), Dialect::Ns2, &[], 4.0, 64.0);
            b.limited_by = limited_by;
            b.ack(1);
            assert_eq!(b.cwnd(), 5.0);
        }
    }

    #[test]
    fn a_mark_counts_as_a_loss_or_has_a_factor_of_its_own() {
        // RFC 3168 §6.1.2: half of 20 segments. RFC 8511 §3.1: 0.8 of 20 segments.
        for (changes, left) in [
            (&[][..], 10.0),
            (&[("mark_decrease", Value::Real(0.8))][..], 16.0),
        ] {
            let mut b = bench(changes, 20.0, 10.0);
            let mut mark = b.loss_facts(0, 20);
            mark.rule = LossRule::MARK;
            let marked = b.control().reduction(&mark);
            assert_eq!(marked.cwnd, left * f64::from(SMSS));
            assert_eq!(marked.ssthresh, marked.cwnd);
            // A loss halves in both cases.
            b.loss(0, 20);
            assert_eq!(b.cwnd(), 10.0);
        }
    }

    #[test]
    fn linux_grows_in_slow_start_to_twice_the_outstanding_data() {
        let mut b = Bench::new(entry(), Dialect::Linux, &[], 10.0, 64.0);
        b.limited_by = LimitedBy::Application;
        b.window_use = WindowUse::Partly { flight_max: 6000 };
        b.ack(1);
        b.ack(1);
        assert_eq!(b.cwnd(), 12.0);
        b.ack(1);
        assert_eq!(b.cwnd(), 12.0);
        // In congestion avoidance, the window grows only if it was filled.
        let mut b = Bench::new(entry(), Dialect::Linux, &[], 10.0, 10.0);
        b.limited_by = LimitedBy::Application;
        b.window_use = WindowUse::Partly { flight_max: 9000 };
        b.ack(10);
        assert_eq!(b.cwnd(), 10.0);
        b.window_use = WindowUse::Filled;
        b.ack(10);
        assert_eq!(b.cwnd(), 11.0);
    }

    #[test]
    fn nothing_grows_without_credit() {
        for dialect in Dialect::ALL {
            for ssthresh in [64.0, 2.0] {
                let mut b = Bench::new(entry(), dialect, &[], 4.0, ssthresh);
                b.ack(0);
                b.ack_with(3, Credit::default());
                assert_eq!(b.cwnd(), 4.0);
            }
        }
    }

    #[test]
    fn a_reduction_is_its_own_if_window_and_threshold_are() {
        // Half a window has been counted when a wireless loss leaves a window of 5 segments. The other half then
        // increases the window, unless the chosen window was exactly the control's own reduction.
        let grown = |ssthresh: f64| {
            let mut b = bench(&[BYTES], 10.0, 2.0);
            b.ack(5);
            let facts = b.loss_facts(0, 10);
            let chosen = Window {
                cwnd: 5000.0,
                ssthresh,
            };
            b.control().on_loss(&facts, LossCause::Wireless, chosen);
            b.window = chosen;
            b.ack(1);
            b.cwnd()
        };
        assert_eq!(grown(5000.0), 5.0);
        assert_eq!(grown(2000.0), 6.0);
    }
}
