//! Tests with one event sequence per limit, and a test that no time is lost or counted twice for any input.

use dupack_tcp::time::{Duration, Instant};

use super::film::{Film, MSS, at, ms};
use super::{Budget, EPOCHS_MAX, Group, Limit, PathFacts, Shares, Terms};
use crate::analyse::cause::Cause;
use crate::read::moment::Stage;
use crate::read::vantage::Place;

fn film(window: u64) -> Film<Budget> {
    Film::new(Budget::new(Terms::new(at(0))), window)
}

fn finish(film: Film<Budget>, end: u64) -> Shares {
    finish_with(film, end, &PathFacts::default())
}

fn finish_with(film: Film<Budget>, end: u64, path: &PathFacts) -> Shares {
    let shares = film.told.finish(at(end), path);
    let sum = Limit::ALL.map(|limit| shares.of(limit));
    let sum = sum.into_iter().fold(Duration::ZERO, |sum, time| sum + time);
    assert_eq!(sum, shares.duration());
    shares
}

/// Simulates rounds of 100 ms that start at `start` milliseconds. Each round sends `flight` segments at once, which are
/// acknowledged one by one. Returns the time of the last ACK.
fn rounds(film: &mut Film<Budget>, start: u64, flights: &[u64]) -> u64 {
    let mut now = start;
    for flight in flights {
        let first = film.next();
        film.send(at(now), *flight);
        now += 100;
        for n in 1..=*flight {
            film.ack(at(now), first + n * MSS);
        }
    }
    now
}

#[test]
fn a_doubling_window_is_slow_start() {
    let mut film = film(1_000_000);
    film.told.handshake(at(0), at(100));
    let end = rounds(&mut film, 100, &[10, 20, 40, 80]);
    let shares = finish(film, end);
    assert_eq!(shares.of(Limit::Handshake), ms(100));
    // After the last segment, there was no more data to send.
    assert_eq!(shares.of(Limit::SlowStart), ms(300));
    assert_eq!(shares.of(Limit::Pause), ms(100));
    assert_eq!(shares.delivered, 150 * MSS);
    assert_eq!(shares.rtt_min, Some(ms(100)));
    let mean = shares.rtt_mean.expect("there were samples");
    assert!(mean.abs_diff(ms(100)) < Duration::from_micros(1), "{mean}");
    assert_eq!(shares.bands.len(), 3);
    assert_eq!(shares.bands[1].from, at(100));
}

#[test]
fn a_window_that_grows_by_one_after_a_loss_is_the_congestion_window() {
    let mut film = film(1_000_000);
    let now = rounds(&mut film, 0, &[10]);
    // The first of ten segments is lost, and the repair takes one round trip.
    film.send(at(now), 10);
    let lost = film.next() - 10 * MSS;
    film.ack_with(
        at(now + 100),
        lost,
        1_000_000,
        Some((lost + MSS, lost + 10 * MSS)),
    );
    film.repeat(at(now + 100), lost, Cause::SackedBeyond, Stage::Recovery);
    film.ack_in(at(now + 200), lost + 10 * MSS, Stage::Open);
    let end = rounds(&mut film, now + 200, &[5, 6, 7, 8, 9]);
    let shares = finish(film, end);
    assert_eq!(shares.of(Limit::SlowStart), ms(200));
    assert_eq!(shares.of(Limit::Recovery), ms(100));
    assert_eq!(shares.of(Limit::CongestionWindow), ms(400));
    assert_eq!(shares.of(Limit::Pause), ms(100));
    assert_eq!((shares.losses, shares.retransmissions), (1, 1));
}

#[test]
fn a_full_window_belongs_to_the_receiver() {
    let mut film = film(8 * MSS);
    let end = rounds(&mut film, 0, &[8; 10]);
    let shares = finish(film, end);
    assert_eq!(shares.of(Limit::ReceiveWindow), ms(1000));
    assert_eq!(shares.kernel.receive_window, ms(1000));
    assert_eq!(shares.kernel.busy, ms(1000));
    let window = shares.window_when_full.expect("it was full");
    assert!((window - 8000.0).abs() < 1e-6, "{window}");
}

#[test]
fn a_shut_window_belongs_to_the_receiver_even_with_nothing_outstanding() {
    let mut film = film(4 * MSS);
    film.send(at(0), 4);
    film.ack_with(at(100), 4 * MSS, 0, None);
    // The sender probes twice. Then the window opens, and data follows at once.
    for now in [400, 1000] {
        film.repeat(at(now), 4 * MSS - 1, Cause::WindowProbe, Stage::Open);
        film.ack_with(at(now + 100), 4 * MSS, 0, None);
    }
    film.ack_with(at(2000), 4 * MSS, 4 * MSS, None);
    film.send(at(2000), 1);
    film.ack(at(2100), 5 * MSS);
    assert_eq!(film.told.spent().window, ms(2000));
    let shares = finish(film, 2100);
    assert_eq!(shares.of(Limit::ZeroWindow), ms(1900));
    assert_eq!(shares.of_group(Group::Receiver), ms(2000));
    assert_eq!(shares.kernel.busy, ms(2100));
}

#[test]
fn nothing_outstanding_is_an_idle_application() {
    let mut film = film(100_000);
    film.send_last(at(0), 300);
    film.ack(at(100), 300);
    film.send_last(at(5000), 300);
    film.ack(at(5100), 600);
    assert_eq!(film.told.spent().paused, ms(5000));
    let shares = finish(film, 5100);
    assert_eq!(shares.of(Limit::Idle), ms(4900));
    assert_eq!(shares.kernel.busy, ms(200));
}

#[test]
fn a_keep_alive_does_not_end_idleness() {
    let mut film = film(100_000);
    film.send_last(at(0), 300);
    film.ack(at(100), 300);
    for n in 1..=100 {
        film.repeat(at(n * 1000), 299, Cause::KeepAlive, Stage::Open);
        film.ack(at(n * 1000 + 100), 300);
    }
    let shares = finish(film, 101_000);
    assert_eq!(shares.of(Limit::Idle), ms(100_900));
    assert_eq!(shares.bands.len(), 2);
}

#[test]
fn a_pause_lasts_from_the_end_of_a_message_to_the_next_one() {
    let mut film = film(100_000);
    // A message of 2.5 segments is sent every 30 ms, with a round trip of 100 ms, so data is always outstanding.
    let mut sent = Vec::new();
    for n in 0..20 {
        let now = n * 30;
        while sent.first().is_some_and(|(due, _)| *due < now) {
            let (due, end) = sent.remove(0);
            film.ack(at(due), end);
        }
        film.send(at(now), 2);
        film.send_last(at(now), 500);
        sent.push((now + 105, film.next()));
    }
    let shares = finish(film, 570);
    assert!(shares.of(Limit::Pause) >= ms(510), "{shares:?}");
    assert_eq!(shares.of(Limit::Idle), ms(0));
}

/// Returns the shares of a sender that has space in its window for 50 ms. Before that, it set PSH on `pushed` of its
/// segments.
fn with_room(pushed: u64) -> Shares {
    let mut film = film(1_000_000);
    let now = rounds(&mut film, 0, &[10, 20, 40]);
    // The first ACK makes space that the sender does not use.
    film.send(at(now), 20 - pushed);
    for _ in 0..pushed {
        film.send_last(at(now), MSS);
    }
    film.send(at(now), 20);
    let first = film.next();
    film.ack(at(now + 100), first - 10 * MSS);
    film.send(at(now + 150), 5);
    film.ack(at(now + 200), first);
    film.ack(at(now + 250), film.next());
    finish(film, now + 250)
}

#[test]
fn unused_room_is_a_pause() {
    // The sender sets PSH on no segment. It had no more data after the segment before the pause, and none after the
    // last segment.
    assert_eq!(with_room(0).of(Limit::Pause), ms(150 + 100));
}

#[test]
fn an_unpushed_segment_means_more_data_from_a_sender_that_pushes() {
    assert_eq!(with_room(1).of(Limit::Pause), ms(100));
}

#[test]
fn a_sender_paced_more_slowly_than_its_round_trips_is_busy() {
    let idle = |pushed: bool| {
        let mut film = film(100_000);
        if pushed {
            film.send_last(at(0), MSS);
            film.ack(at(20), film.next());
        }
        for n in 1..40 {
            film.send(at(n * 50), 1);
            film.ack(at(n * 50 + 20), film.next());
        }
        let shares = finish(film, 1970);
        let silent = shares.of(Limit::Idle) + shares.of(Limit::Pause);
        (silent, shares.kernel.busy)
    };
    let (silent, busy) = idle(false);
    assert!(
        silent >= ms(39 * 30) && busy < ms(900),
        "{silent:?} {busy:?}"
    );
    let (silent, busy) = idle(true);
    assert!(silent <= ms(100) && busy >= ms(1870), "{silent:?} {busy:?}");
}

/// Returns the shares of three segments and one more after `silence` milliseconds. The third segment has PSH if
/// `pushed`, and all segments are acknowledged.
fn silent_after(place: Place, pushed: bool, silence: u64) -> Shares {
    let mut terms = Terms::new(at(0));
    terms.place = place;
    let mut film = Film::new(Budget::new(terms), 100_000);
    film.send_last(at(0), MSS / 2);
    film.ack(at(20), film.next());
    film.send(at(21), 2);
    if pushed {
        film.send_last(at(21), MSS / 2);
    } else {
        film.send(at(21), 1);
    }
    film.ack(at(41), film.next());
    film.send_last(at(41 + silence), MSS / 2);
    film.ack(at(61 + silence), film.next());
    finish(film, 61 + silence)
}

#[test]
fn a_long_silence_in_a_message_may_hide_a_loss_away_from_the_sender() {
    let cut_short = |place, pushed, silence| silent_after(place, pushed, silence).cut_short;
    let told = cut_short(Place::Receiver, false, 1500);
    assert!(told >= ms(1490) && told <= ms(1530), "{told:?}");
    assert_eq!(cut_short(Place::Receiver, true, 1500), ms(0));
    assert_eq!(cut_short(Place::Sender, false, 1500), ms(0));
    // The time without packets is shorter than a timeout.
    assert_eq!(cut_short(Place::Receiver, false, 150), ms(0));
    // The wait is not attributed to a window.
    let shares = silent_after(Place::Receiver, false, 1500);
    let windows = shares.of(Limit::SlowStart) + shares.of(Limit::CongestionWindow);
    assert!(windows <= ms(100), "{windows:?}");
}

#[test]
fn waiting_for_the_timer_is_known_when_it_expires() {
    let mut film = film(100_000);
    film.send(at(0), 3);
    film.ack(at(100), 2 * MSS);
    // The third segment was lost, and the timer expires twice.
    film.repeat(at(400), 2 * MSS, Cause::Timeout { expiry: 1 }, Stage::Loss);
    film.repeat_as(
        at(1000),
        2 * MSS,
        Cause::Timeout { expiry: 2 },
        Stage::Loss,
        3,
    );
    film.ack_in(at(1100), 3 * MSS, Stage::Open);
    assert_eq!(film.told.spent().repair, ms(900));
    let shares = finish(film, 1100);
    assert_eq!(shares.of(Limit::SlowStart), ms(100));
    assert_eq!(shares.of(Limit::RetransmissionTimer), ms(900));
    assert_eq!(shares.of(Limit::Recovery), ms(100));
}

#[test]
fn waiting_for_a_probe_differs_from_waiting_for_a_timeout() {
    let mut film = film(100_000);
    film.send(at(0), 3);
    film.ack(at(100), MSS);
    film.repeat(at(300), 2 * MSS, Cause::TailLossProbe, Stage::Recovery);
    film.ack_in(at(400), 3 * MSS, Stage::Open);
    let shares = finish(film, 400);
    assert_eq!(shares.of(Limit::ProbeTimer), ms(200));
    assert_eq!(shares.of(Limit::RetransmissionTimer), ms(0));
}

#[test]
fn round_trip_times_show_a_standing_queue() {
    let mut film = film(1_000_000);
    let mut now = rounds(&mut film, 0, &[10, 20]);
    let before = now;
    // With 50 segments every 200 ms, there is a queue of 100 ms.
    for _ in 0..10 {
        let first = film.next();
        film.send(at(now), 50);
        now += 200;
        for n in 1..=50 {
            film.ack(at(now), first + n * MSS);
        }
    }
    let shares = finish(film, now);
    assert_eq!(shares.of(Limit::StandingQueue), ms(now - before - 200));
    assert_eq!(shares.of(Limit::Pause), ms(200));
    assert_eq!(shares.queue_mean, Some(ms(100)));
    // The bottleneck delivers 50 segments of 1000 bytes in 200 ms.
    let rate = shares.busy_bytes_per_second.expect("it was busy");
    assert!((rate - 250_000.0).abs() < 1e-6, "{rate}");
}

#[test]
fn a_loss_at_the_greatest_delay_is_an_overflow() {
    let mut film = film(1_000_000);
    let mut now = rounds(&mut film, 0, &[10, 20]);
    for flight in [40, 50] {
        let first = film.next();
        film.send(at(now), flight);
        now += 200;
        for n in 1..=flight {
            film.ack(at(now), first + n * MSS);
        }
    }
    let lost = film.next();
    film.send(at(now), 50);
    now += 200;
    film.ack_with(
        at(now),
        lost,
        1_000_000,
        Some((lost + MSS, lost + 50 * MSS)),
    );
    film.repeat(at(now), lost, Cause::SackedBeyond, Stage::Recovery);
    film.ack_in(at(now + 100), lost + 50 * MSS, Stage::Open);
    let shares = finish(film, now + 100);
    assert_eq!(shares.of(Limit::OverflowingQueue), ms(200));
    assert_eq!(shares.of(Limit::StandingQueue), ms(400));
    assert_eq!(shares.of(Limit::Recovery), ms(100));
}

#[test]
fn moving_data_at_the_bottlenecks_rate_is_limited_by_it_even_without_a_queue() {
    let path = PathFacts {
        bytes_per_second: Some(200_000.0),
        ..PathFacts::default()
    };
    // A flight of 20 segments every 100 ms is the full rate of the bottleneck, and 10 segments are half of it.
    for (flight, limit) in [(20, Limit::EmptyQueue), (10, Limit::SenderBuffer)] {
        let mut film = film(1_000_000);
        let end = rounds(&mut film, 0, &[flight; 20]);
        let shares = finish_with(film, end, &path);
        assert!(shares.of(limit) >= ms(1600), "{flight}: {shares:?}");
    }
}

#[test]
fn a_single_packet_and_an_empty_stream_have_no_shares() {
    let nothing = finish(film(1000), 0);
    assert_eq!((nothing.duration(), nothing.share(ms(1))), (ms(0), 0.0));
    let mut one = film(100_000);
    one.send(at(0), 1);
    let shares = finish(one, 0);
    assert_eq!(shares.duration(), ms(0));
    assert!(shares.bands.is_empty());
}

#[test]
fn a_capture_may_begin_late_and_its_clock_may_stop_or_go_back() {
    let mut middle = film(100_000);
    middle.ack(at(50), 3000);
    middle.ack(at(50), 4000);
    middle.send(at(50), 4);
    middle.ack(at(40), 6000);
    middle.send(at(30), 2);
    middle.ack(at(150), 10_000);
    let shares = finish(middle, 150);
    assert_eq!(shares.duration(), ms(150));
    assert_eq!(shares.of(Limit::Idle), ms(50));
}

#[test]
fn silence_with_data_outstanding_is_a_wait_for_a_timer() {
    let mut film = film(100_000);
    film.send(at(0), 2);
    film.ack(at(100), MSS);
    let shares = finish(film, 60_000);
    assert_eq!(shares.of(Limit::RetransmissionTimer), ms(59_900));
}

/// Small random number generator, so that the test below needs only a seed.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn the_shares_always_sum_to_the_duration() {
    for seed in 1..=200_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut film = {
            let mut terms = Terms::new(at(0));
            terms.epochs_max = 2 + seed as usize % 20;
            Film::new(Budget::new(terms), 20 * MSS)
        };
        let mut now = 0_u64;
        for _ in 0..500 {
            let step = [0, 1, 999, 20_000, 1_000_000, 400_000_000];
            now += step[(next(&mut state) % 6) as usize] * (next(&mut state) % 7);
            let then = Instant::from_nanos(now);
            let stages = [Stage::Open, Stage::Disorder, Stage::Recovery, Stage::Loss];
            let stage = stages[(next(&mut state) % 4) as usize];
            match next(&mut state) % 5 {
                0 if film.flight() < 100_000 => film.send(then, 1 + next(&mut state) % 5),
                1 if film.flight() < 100_000 => film.send_last(then, 1 + next(&mut state) % 999),
                2 if film.flight() > 0 => {
                    let causes = [
                        Cause::Timeout { expiry: 1 },
                        Cause::TailLossProbe,
                        Cause::WindowProbe,
                        Cause::Rack,
                        Cause::Unknown,
                    ];
                    let cause = causes[(next(&mut state) % 5) as usize];
                    let start = film.next() - 1 - next(&mut state) % film.flight();
                    film.repeat(then, start, cause, stage);
                }
                _ => {
                    let una = film.next() - next(&mut state) % (film.flight() + 1);
                    film.ack_with(then, una, next(&mut state) % 4 * 5000, None);
                }
            }
        }
        let end = now + next(&mut state) % 1_000_000_000;
        let sum_is_checked = film
            .told
            .finish(Instant::from_nanos(end), &PathFacts::default());
        let sum = Limit::ALL.map(|limit| sum_is_checked.of(limit).as_nanos());
        assert_eq!(sum.iter().sum::<u64>(), end, "seed {seed}");
        let bands = &sum_is_checked.bands;
        assert!(bands.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert!(sum_is_checked.kernel.busy <= sum_is_checked.duration());
    }
}

#[test]
fn memory_is_bounded_for_any_length_of_stream() {
    let mut film = film(1_000_000);
    let mut now = 0;
    for n in 0..3000 {
        now = rounds(&mut film, now, &[1 + n % 7]);
        if n % 5 == 0 {
            now += 1000;
        }
    }
    let size = core::mem::size_of::<super::span::Span>() * EPOCHS_MAX;
    assert!(size <= 64 << 10, "{size}");
    let shares = finish(film, now);
    assert!(
        shares.bands.len() <= EPOCHS_MAX + 3,
        "{}",
        shares.bands.len()
    );
    assert_eq!(shares.of(Limit::Idle), ms(600 * 1000));
}
