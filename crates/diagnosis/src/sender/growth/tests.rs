//! Tests of the shape that fits a series of windows best.

use dupack_tcp::time::{Duration, Instant};

use super::*;
use crate::sender::testing::{marked, round};

/// Returns a round of 100 ms in which each ACK reported `segments_per_ack` segments.
fn slow(number: u32, most: f32, segments_per_ack: f32) -> Round {
    let begin = Instant::ZERO + Duration::from_millis(100) * u64::from(number);
    Round {
        begin,
        end: begin + Duration::from_millis(100),
        acks: (most / segments_per_ack).round() as u32,
        ..round(number, most)
    }
}

/// Returns the fits after a loss that reduced `prior` to the first of `windows`, followed by the other windows.
fn grown(prior: f32, windows: impl IntoIterator<Item = f32>, segments_per_ack: f32) -> Fits {
    let mut growth = Growth::new();
    for (n, window) in (0..).zip(windows) {
        let round = slow(n, window, segments_per_ack);
        match n {
            0 => growth.reduced(prior, &round),
            _ => growth.round(&round, 0.05),
        }
    }
    growth.fits()
}

/// Returns the name of the shape with the best fit.
fn best(fits: &Fits) -> &'static str {
    let all = [
        ("by bytes", fits.by_bytes),
        ("by ACKs", fits.by_acks),
        ("cubic", fits.cubic()),
        ("constant", fits.constant),
        ("plateau", fits.plateau),
        ("probing", fits.probing),
    ];
    let best = all
        .into_iter()
        .max_by(|one, other| one.1.total_cmp(&other.1));
    best.expect("there are some").0
}

#[test]
fn a_segment_per_round_trip_is_a_line() {
    let fits = grown(60.0, (30..60).map(|n| n as f32), 1.0);
    assert_eq!(fits.epochs, 1);
    assert!(fits.line() > 0.0 && fits.line() >= fits.cubic(), "{fits:?}");
    assert!(
        fits.constant < 0.0 && fits.plateau < fits.line(),
        "{fits:?}"
    );
}

#[test]
fn counting_delayed_acks_grows_by_half_a_segment() {
    let fits = grown(60.0, (0..30).map(|n| 30.0 + 0.5 * n as f32), 2.0);
    assert!(fits.by_acks > fits.by_bytes + 1.0, "{fits:?}");
    assert_eq!(fits.line(), fits.by_acks);
    let fits = grown(60.0, (0..30).map(|n| 30.0 + n as f32), 2.0);
    assert!(fits.by_bytes > fits.by_acks + 1.0, "{fits:?}");
    assert_eq!(fits.line(), fits.by_bytes);
}

#[test]
fn a_curve_that_flattens_at_the_window_before_the_loss_is_cubic() {
    // RFC 9438 §4.2: the window is 100 segments before the loss and 70 after it. K is the cube root of 30/0.4, which is
    // 4.2 s.
    let k = 75.0_f32.cbrt();
    let curve = (0..70).map(|n| 0.4 * (n as f32 * 0.1 - k).powi(3) + 100.0);
    let fits = grown(100.0, curve, 1.0);
    assert_eq!(best(&fits), "cubic", "{fits:?}");
    assert!(fits.cubic() > fits.line() + 2.0, "{fits:?}");
}

#[test]
fn beyond_the_window_before_the_loss_the_friendly_estimate_grows_like_reno() {
    // RFC 9438 §4.3: the estimate grows by 0.53 segments per round trip up to the window before the loss, and then by
    // one.
    let reno = |n: i16| {
        let n = f32::from(n);
        let below = 6.0 / CUBIC_ALPHA;
        14.0 + CUBIC_ALPHA * n.min(below) + (n - below).max(0.0)
    };
    let of = |beyond: f32| {
        // In this short time, the cubic curve hardly changes.
        let mut growth = Growth::new();
        for n in 0..30_i16 {
            let steep = reno(n).min(20.0) + (reno(n) - 20.0).max(0.0) * beyond;
            let round = round(n as u32, steep);
            match n {
                0 => growth.reduced(20.0, &round),
                _ => growth.round(&round, 0.05),
            }
        }
        growth.fits()
    };
    let [one, alpha] = [of(1.0), of(CUBIC_ALPHA)];
    assert!(one.cubics[0] > one.cubics[1] + 0.5, "{one:?}");
    assert!(alpha.cubics[1] > alpha.cubics[0] + 0.5, "{alpha:?}");
    assert!(one.cubic() > one.constant && alpha.cubic() > alpha.constant);
}

#[test]
fn an_unchanged_window_is_a_constant_and_one_that_stops_growing_a_plateau() {
    let fits = grown(30.0, [30.0; 20], 1.0);
    assert_eq!(best(&fits), "constant", "{fits:?}");
    let fits = grown(60.0, (0..60).map(|n| (30.0 + n as f32).min(38.0)), 1.0);
    assert_eq!(best(&fits), "plateau", "{fits:?}");
}

#[test]
fn a_window_that_varies_around_a_mean_is_probing() {
    let cycle = [40.0, 50.0, 30.0, 40.0, 40.0, 40.0, 40.0, 40.0];
    let fits = grown(60.0, cycle.into_iter().cycle().skip(3).take(60), 1.0);
    assert_eq!(best(&fits), "probing", "{fits:?}");
}

#[test]
fn short_epochs_and_slow_start_are_not_fitted() {
    assert_eq!(grown(60.0, [30.0, 31.0, 32.0, 33.0], 1.0).epochs, 0);
    assert_eq!(grown(60.0, [30.0, 31.0, 32.0, 33.0, 34.0], 1.0).epochs, 1);
    let doubling = [10.0, 20.0, 40.0, 41.0, 42.0, 43.0, 44.0, 45.0];
    assert_eq!(grown(60.0, doubling, 1.0).epochs, 0);
}

#[test]
fn every_epoch_counts_and_many_count_as_twelve() {
    let mut growth = Growth::new();
    for epoch in 0..24 {
        growth.reduced(40.0, &slow(epoch * 20, 20.0, 1.0));
        for n in 1..20 {
            growth.round(&slow(epoch * 20 + n, 20.0 + n as f32, 1.0), 0.05);
        }
        growth.lost();
    }
    let fits = growth.fits();
    assert_eq!((fits.epochs, fits.weight()), (24, 0.5));
    let one = grown(40.0, (20..40).map(|n| n as f32), 1.0);
    assert_eq!(one.weight(), 1.0);
    assert!((fits.by_bytes - 24.0 * one.by_bytes).abs() < 0.1);
}

#[test]
fn a_bounded_round_ends_an_epoch_and_many_rounds_are_thinned_out() {
    let mut growth = Growth::new();
    growth.reduced(60.0, &round(0, 30.0));
    for n in 1..10 {
        growth.round(&round(n, 30.0 + n as f32), 0.05);
    }
    growth.round(&marked(10, 40.0, Marks::RECEIVE_WINDOW), 0.05);
    for n in 11..30 {
        growth.round(&round(n, 5.0), 0.05);
    }
    let fits = growth.fits();
    assert_eq!(fits.epochs, 1);
    assert!(fits.by_bytes > 0.0, "{fits:?}");
    // A line of a thousand rounds is still recognised.
    let fits = grown(2000.0, (0..1000).map(|n| 30.0 + n as f32), 1.0);
    assert!(fits.by_bytes > 0.0 && fits.constant < 0.0, "{fits:?}");
}

#[test]
fn moves_are_counted_by_the_backlog() {
    // If a round trip takes one ninth longer than the minimum, two of 20 segments are in the queue.
    let counted = |rtt_min: f32, next: f32| {
        let mut growth = Growth::new();
        for (n, most) in [(0, 20.0), (1, next)] {
            let round = Round {
                rtt_min,
                ..round(n, most)
            };
            growth.round(&round, 0.05);
        }
        let backlogs = [Backlog::Few, Backlog::Some, Backlog::Many].into_iter();
        let all = backlogs
            .flat_map(|backlog| [Move::Down, Move::Stays, Move::Up].map(|step| (backlog, step)));
        let mut all = all.filter(|(backlog, step)| growth.count(*backlog, *step) == 1);
        all.next()
    };
    assert_eq!(counted(0.05, 21.0), Some((Backlog::Few, Move::Up)));
    assert_eq!(counted(0.0556, 20.0), Some((Backlog::Some, Move::Stays)));
    assert_eq!(counted(0.1, 19.0), Some((Backlog::Many, Move::Down)));
    // Rounds between two classes, and rounds in slow start, are not counted.
    assert_eq!(counted(0.053, 21.0), None);
    assert_eq!(counted(0.062, 21.0), None);
    assert_eq!(counted(0.05, 29.0), None);
}
