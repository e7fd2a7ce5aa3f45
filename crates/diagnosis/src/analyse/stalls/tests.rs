//! Tests with one stall of each kind.

use super::{Culprit, LISTED_MAX, Remedy, Stall, StallKind, StallList, Stalls, WaitedFor};
use dupack_tcp::options::Sack;

use crate::analyse::budget::film::{Film, MSS, at, ms};
use crate::analyse::cause::Cause;
use crate::read::moment::Stage;

/// Creates a connection with a round trip of 100 ms, which is known from one segment. The next offset is 1000.
fn film(window: u64) -> Film<Stalls> {
    let mut film = Film::new(Stalls::new(Sack::Permitted), window);
    film.send(at(0), 1);
    film.ack(at(100), MSS);
    film
}

fn only(film: Film<Stalls>) -> Stall {
    let list = film.told.finish();
    assert_eq!(list.count(), 1, "{list:?}");
    list.longest[0]
}

fn kinds(film: Film<Stalls>) -> Vec<StallKind> {
    let list = film.told.finish();
    list.longest.iter().map(|stall| stall.kind).collect()
}

#[test]
fn two_round_trips_are_no_stall() {
    let mut film = film(100_000);
    film.send(at(300), 1);
    assert_eq!(film.told.finish().count(), 0);
}

#[test]
fn an_unready_answer_differs_from_one_that_stops_in_the_middle() {
    let mut ready = film(100_000);
    ready.send_last(at(110), 300);
    ready.ack(at(210), MSS + 300);
    ready.send(at(5000), 1);
    let stall = only(ready);
    assert_eq!(stall.kind, StallKind::DataUnavailable);
    assert_eq!((stall.from, stall.to), (at(210), at(5000)));
    assert_eq!((stall.before, stall.after), (4, 5));
    assert_eq!(stall.waited_for, WaitedFor::Data);
    assert_eq!(stall.kind.culprit(), Culprit::Server);

    let mut stopped = film(100_000);
    stopped.send(at(5000), 1);
    assert_eq!(only(stopped).kind, StallKind::ResourceConstraint);
}

#[test]
fn an_idle_peer_differs_from_a_shut_window() {
    let mut idle = film(100_000);
    idle.send_last(at(110), 300);
    idle.ack(at(210), MSS + 300);
    // The request repeats the last ACK.
    idle.told.asked(at(9000), 6, Some(0));
    idle.send(at(9001), 1);
    assert_eq!(only(idle).kind, StallKind::ClientIdle);

    let mut shut = film(4 * MSS);
    shut.send(at(110), 4);
    shut.ack_with(at(210), 5 * MSS, 0, None);
    shut.ack_with(at(1000), 5 * MSS, 4 * MSS, None);
    let stall = only(shut);
    assert_eq!(
        (stall.kind, stall.remedy),
        (StallKind::ZeroWindow, Remedy::Reading)
    );
}

#[test]
fn a_late_ack_without_a_retransmission_is_a_delay() {
    let mut film = film(100_000);
    film.send(at(110), 4);
    film.ack(at(400), 5 * MSS);
    let stall = only(film);
    assert_eq!(stall.kind, StallKind::PacketDelay);
    assert_eq!((stall.flight, stall.missing), (4 * MSS, 4));
}

#[test]
fn a_probe_would_have_shortened_a_tail_loss() {
    let mut film = film(100_000);
    film.send(at(110), 3);
    film.send_last(at(110), 500);
    film.ack(at(210), 2 * MSS);
    film.repeat(at(510), 2 * MSS, Cause::Timeout { expiry: 1 }, Stage::Loss);
    film.ack_in(at(610), 4 * MSS + 500, Stage::Open);
    let stall = only(film);
    assert_eq!(stall.kind, StallKind::TailOpen);
    assert_eq!(stall.waited_for, WaitedFor::RetransmissionTimer);
    // The probe would be sent after two round trips of 100 ms.
    assert_eq!(stall.remedy, Remedy::TailLossProbe(ms(200)));
    assert_eq!(stall.duration(), ms(300));
}

#[test]
fn without_sack_there_is_no_probe() {
    let mut film = Film::new(Stalls::new(Sack::Absent), 100_000);
    film.send(at(0), 2);
    film.send_last(at(0), 300);
    film.ack(at(100), 2 * MSS);
    film.repeat(at(400), 2 * MSS, Cause::Timeout { expiry: 1 }, Stage::Loss);
    assert_eq!(only(film).remedy, Remedy::None);
}

#[test]
fn a_lost_retransmission_is_a_double_retransmission() {
    let mut fast = film(100_000);
    fast.send(at(110), 10);
    fast.ack_with(at(210), MSS, 100_000, Some((2 * MSS, 11 * MSS)));
    fast.repeat(at(210), MSS, Cause::SackedBeyond, Stage::Recovery);
    fast.repeat_as(at(600), MSS, Cause::Timeout { expiry: 1 }, Stage::Loss, 3);
    fast.repeat_as(at(1200), MSS, Cause::Timeout { expiry: 2 }, Stage::Loss, 4);
    assert_eq!(
        kinds(fast),
        [StallKind::FastDouble, StallKind::TimeoutDouble]
    );
}

#[test]
fn a_small_flight_causes_too_few_duplicate_acks() {
    for (window, kind) in [
        (100_000, StallKind::SmallCongestionWindow),
        (2 * MSS, StallKind::SmallReceiveWindow),
    ] {
        let mut film = film(window);
        film.send(at(110), 2);
        film.repeat(at(500), MSS, Cause::Timeout { expiry: 1 }, Stage::Loss);
        assert_eq!(only(film).kind, kind);
    }
}

#[test]
fn a_whole_flight_may_be_lost() {
    let mut film = film(100_000);
    film.send(at(110), 10);
    film.repeat(at(500), MSS, Cause::Timeout { expiry: 1 }, Stage::Loss);
    assert_eq!(only(film).kind, StallKind::ContinuousLoss);
}

#[test]
fn a_timeout_at_the_sender_despite_duplicate_acks_has_an_unknown_cause() {
    let mut film = film(100_000);
    film.send(at(110), 10);
    film.ack_with(at(210), MSS, 100_000, Some((5 * MSS, 11 * MSS)));
    film.repeat(at(600), MSS, Cause::Timeout { expiry: 1 }, Stage::Loss);
    assert_eq!(only(film).kind, StallKind::Undetermined);
}

#[test]
fn other_data_that_arrived_reveals_lost_acks() {
    let mut film = film(100_000);
    film.send(at(110), 10);
    film.repeat(at(500), MSS, Cause::Timeout { expiry: 1 }, Stage::Loss);
    film.ack(at(600), 11 * MSS);
    let stall = only(film);
    assert_eq!(stall.kind, StallKind::AckDelayOrLoss);
    assert_eq!(stall.remedy, Remedy::None);
}

#[test]
fn a_dsack_shows_that_the_ack_was_late() {
    let mut film = film(100_000);
    film.send(at(110), 10);
    film.repeat(at(500), MSS, Cause::Timeout { expiry: 1 }, Stage::Loss);
    // The DSACK is below the ACK number.
    film.ack_with(at(600), 11 * MSS, 100_000, Some((MSS, 2 * MSS)));
    let stall = only(film);
    assert_eq!(stall.kind, StallKind::AckDelayOrLoss);
    assert_eq!(stall.remedy, Remedy::SpuriousTimeout);
}

#[test]
fn the_list_is_bounded_and_the_totals_are_not() {
    let mut film = film(100_000);
    let mut now = 110;
    for n in 0..100 {
        film.send_last(at(now), 300);
        film.ack(at(now + 100), film.next());
        now += 1000 + n;
    }
    let list: StallList = film.told.finish();
    assert_eq!(list.longest.len(), LISTED_MAX);
    assert_eq!(list.of(StallKind::DataUnavailable).count, 99);
    // The longest stalls are the last ones, listed in order of time.
    let shortest = list.longest.iter().map(Stall::duration).min();
    assert_eq!(shortest, Some(ms(900 + 99 - LISTED_MAX as u64)));
    assert!(list.longest.is_sorted_by_key(|stall| stall.from));
}

/// Returns the stalls of `times` segments with a round trip of 100 ms. The ACK of each one arrives without data after
/// `wait` milliseconds. If `nagle`, the ACK released the next segment.
fn delayed(wait: u64, times: u64, nagle: bool) -> StallList {
    let mut film = film(100_000);
    let mut now = 1000;
    for _ in 0..times {
        film.send_last(at(now), 300);
        film.ack(at(now + wait), film.next());
        if nagle {
            film.told.held_by_nagle();
        }
        now += 10_000;
    }
    film.send(at(now), 1);
    film.told.finish()
}

#[test]
fn acks_delayed_by_the_receivers_timer_are_not_late() {
    // The delay is 200 ms in excess of the round trip.
    let list = delayed(285, 1, false);
    assert_eq!(list.of(StallKind::PacketDelay).count, 1, "once: {list:?}");
    assert_eq!(list.of(StallKind::DelayedAck).count, 0, "once: {list:?}");
    let list = delayed(285, 2, false);
    assert_eq!(list.of(StallKind::DelayedAck).count, 2, "{list:?}");
    // No timer of a receiver takes this time.
    let list = delayed(385, 2, false);
    assert_eq!(list.of(StallKind::PacketDelay).count, 2, "{list:?}");
    let list = delayed(285, 2, true);
    assert_eq!(list.of(StallKind::Nagle).count, 2, "{list:?}");
    let mut waits = list.longest.iter();
    let wait = waits.find(|stall| stall.kind == StallKind::Nagle).unwrap();
    assert_eq!(wait.remedy, Remedy::NoDelay);
    assert_eq!(wait.kind.culprit(), Culprit::Server);
}

#[test]
fn delays_below_the_stall_threshold_count_as_delayed_acks() {
    let mut film = film(100_000);
    for (now, wait) in [(1000, 135), (2000, 285)] {
        film.send_last(at(now), 300);
        film.ack(at(now + wait), film.next());
    }
    let list = film.told.finish();
    assert_eq!(list.of(StallKind::DelayedAck).count, 1, "{list:?}");
}
