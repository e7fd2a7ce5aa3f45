//! Tests of turns, spurious retransmissions, small streams, and causes that a capture at the receiver cannot exclude.

use dupack_diagnosis::analyse::budget::Stamps;
use dupack_diagnosis::findings::TurnsTold;

use super::*;

/// Returns the sentence about a plain case at the sender that `change` has modified.
fn say_of(shares: &Shares, change: impl FnOnce(&mut Case<'_>)) -> (&'static str, String) {
    let stalls = StallList::default();
    let mut case = plain(shares, &stalls);
    change(&mut case);
    tell(&case)
}

fn turns(asks: bool, count: u64, round_trip: u64) -> Option<TurnsTold> {
    Some(TurnsTold {
        asks,
        count,
        round_trip: Some(ms(round_trip)),
        between: Duration::ZERO,
        answering: Duration::ZERO,
        ack_held: Duration::ZERO,
        unheard: Duration::ZERO,
    })
}

#[test]
fn round_trips_of_one_request_at_a_time_are_named_if_they_took_the_time() {
    let shares = shares(&[
        (Limit::Idle, 3000),
        (Limit::Pause, 2000),
        (Limit::Nagle, 1000),
    ]);
    let told = |told| say_of(&shares, |case| case.turns = told);
    assert_eq!(
        told(turns(true, 50, 60)),
        (
            "turns",
            "50 round trips of 60 ms: one request at a time; of the rest, 1.0 s passed while short segments waited for \
             ACKs (Nagle's algorithm)"
                .to_owned()
        )
    );
    // 50 round trips of 40 ms are two fifths of the time without packets, and data was outstanding for another two
    // fifths.
    assert_eq!(told(turns(true, 50, 40)).0, "application");
    assert_eq!(told(turns(true, 5, 600)).0, "application");
    assert_eq!(told(None).0, "application");
}

#[test]
fn answers_on_their_way_for_most_of_each_turn_are_named_with_their_time() {
    let shares = shares(&[(Limit::Idle, 1000), (Limit::Pause, 4000)]);
    let told = |asks| say_of(&shares, |case| case.turns = turns(asks, 50, 2));
    assert_eq!(
        told(false).1,
        "one request at a time: 50 turns of about 100 ms; for 80 ms of each turn, the answer was on its way and not yet \
         acknowledged"
    );
    // The endpoint that sends the requests also waits for the other endpoint.
    assert_eq!(told(true).0, "application");
    let under_way = |idle, pause| {
        let shares = super::shares(&[(Limit::Idle, idle), (Limit::Pause, pause)]);
        say_of(&shares, |case| case.turns = turns(false, 50, 2)).0
    };
    assert_eq!(under_way(3200, 1800), "turns");
    assert_eq!(under_way(3500, 1500), "application");
}

#[test]
fn spurious_retransmissions_are_not_named_as_losses() {
    let mut shares = shares(&[(Limit::CongestionWindow, 9000), (Limit::SlowStart, 1000)]);
    shares.retransmissions = 9;
    let told = |spurious, overtaken, early| {
        say_of(&shares, |case| {
            (case.spurious, case.overtaken, case.early) = (spurious, overtaken, early);
        })
        .1
    };
    assert_eq!(
        told(9, 9, 0),
        "spurious retransmissions keep the window small: 9 segments were retransmitted, none of which was lost: packets \
         overtake one another on the path"
    );
    let most = told(9, 5, 4);
    assert!(
        most.ends_with(": packets overtake one another on the path, which explains 5 of them"),
        "{most}"
    );
    let early = told(9, 0, 9);
    assert!(
        early.ends_with("none of which was lost: timers expired before the ACKs arrived"),
        "{early}"
    );
    // Neither cause explains most of the spurious retransmissions.
    assert!(told(9, 4, 4).ends_with("none of which was lost"));
    assert!(told(8, 8, 0).starts_with("losses keep the window small"));
}

#[test]
fn retransmissions_are_a_lower_bound_if_the_capture_may_lack_some() {
    let mut lossy = shares(&[(Limit::CongestionWindow, 9000), (Limit::SlowStart, 1000)]);
    lossy.retransmissions = 10;
    let told = |lacks| say_of(&lossy, |case| case.may_lack_repairs = lacks).1;
    assert!(told(false).contains("small: one segment in 100 was retransmitted"));
    assert!(told(true).contains("small: at least one segment in 100 was retransmitted"));
}

#[test]
fn the_asking_end_waits_for_answers() {
    let idle = shares(&[(Limit::Idle, 9500), (Limit::SlowStart, 500)]);
    let stalls = silences(StallKind::ClientIdle, 50, 180);
    let told = |asks, answering| {
        let mut case = plain(&idle, &stalls);
        case.turns = turns(asks, 50, 2).map(|turns| TurnsTold {
            answering: ms(answering),
            ..turns
        });
        tell(&case).1
    };
    assert_eq!(
        told(true, 9000),
        "nothing limits the transfer: the application sent nothing for 9.5 of 10 s: it waited for 50 answers"
    );
    // The requesting endpoint had no request to send. An end that answers waits for requests instead.
    assert_eq!(
        told(true, 2000),
        "nothing limits the transfer: the application sent nothing for 9.5 of 10 s"
    );
    assert!(told(false, 2000).ends_with("it waited 49 times for the next request"));
    let mut case = plain(&idle, &stalls);
    case.turns = turns(false, 2, 2);
    assert!(
        tell(&case)
            .1
            .ends_with("it waited once for the next request")
    );
    // If the stream has no turns, no requests are known: the other endpoint may send data that this endpoint only
    // acknowledges.
    let unasked = tell(&plain(&idle, &stalls)).1;
    assert!(
        unasked.ends_with("sent nothing for 9.5 of 10 s"),
        "{unasked}"
    );
}

#[test]
fn no_window_limits_a_stream_of_a_few_segments() {
    let mut few = shares(&[(Limit::Handshake, 40), (Limit::SlowStart, 40)]);
    few.segments = 2;
    let said = say_of(&few, |_| ());
    assert_eq!(
        said,
        (
            "small",
            "nothing limits the transfer: 2 segments in 80 ms, which any window permits at once"
                .to_owned()
        )
    );
    few.retransmissions = 1;
    assert_eq!(say_of(&few, |_| ()).0, "too short");
    few.retransmissions = 0;
    few.segments = 11;
    assert_eq!(say_of(&few, |_| ()).0, "too short");
}

#[test]
fn bulk_silences_behind_the_bottleneck_may_be_caused_by_it_if_departure_times_are_unknown() {
    let mut silent = silent(Limit::Pause);
    let told = |shares: &Shares, place, rate| {
        say_of(shares, |case| {
            (case.place, case.path.bytes_per_second) = (place, rate);
        })
    };
    silent.stamps = Stamps::Missing;
    let (name, said) = told(&silent, Place::Receiver, None);
    assert_eq!(name, "in doubt");
    assert!(
        said.starts_with("nothing arrived for 54 of 60 s: the application or the bottleneck"),
        "{said}"
    );
    assert_eq!(told(&silent, Place::Sender, None).0, "application");
    assert_eq!(told(&silent, Place::Receiver, Some(1e5)).0, "application");
    // Now only a tenth of the segments arrive in the same time. No bottleneck is this slow.
    silent.segments = 100;
    silent.delivered = 100 * MSS;
    assert_eq!(told(&silent, Place::Receiver, None).0, "application");
    silent.segments = 1000;
    silent.delivered = 1000 * MSS;
    silent.stamps = Stamps::Seen;
    assert_eq!(told(&silent, Place::Receiver, None).0, "application");
}

#[test]
fn the_bottleneck_is_idle_between_answers_and_after_bursts() {
    let mut silent = silent(Limit::Pause);
    silent.stamps = Stamps::Missing;
    let told = |shares: &Shares, asks, between| {
        say_of(shares, |case| {
            case.place = Place::Receiver;
            case.turns = turns(asks, 5, 20).map(|turns| TurnsTold {
                between: ms(between),
                ..turns
            });
        })
        .0
    };
    // The sender sent nothing for 54 s in total.
    assert_eq!(told(&silent, false, 30_000), "application");
    assert_eq!(told(&silent, false, 20_000), "in doubt");
    assert_eq!(told(&silent, true, 30_000), "in doubt");
    silent.after_bursts = ms(40_000);
    assert_eq!(told(&silent, true, 0), "application");
}

#[test]
fn answers_without_a_previous_ack_may_have_been_lost_before_the_capture() {
    let messages = shares(&[(Limit::Idle, 9000), (Limit::SlowStart, 1000)]);
    let told = |place, unheard| {
        say_of(&messages, |case| {
            case.place = place;
            case.turns = turns(false, 5, 20).map(|turns| TurnsTold {
                unheard: ms(unheard),
                ..turns
            });
        })
    };
    let (name, said) = told(Place::Receiver, 5000);
    assert_eq!(name, "in doubt");
    assert!(
        said.contains("packets that were lost before the capture point"),
        "{said}"
    );
    assert_eq!(told(Place::Receiver, 4000).0, "application");
    assert_eq!(told(Place::Sender, 5000).0, "application");
}

#[test]
fn a_queue_at_an_unfilled_bottleneck_may_be_a_window_of_unknown_scale() {
    let mut queued = shares(&[(Limit::StandingQueue, 9000), (Limit::SlowStart, 1000)]);
    queued.window = Window::Unscaled;
    queued.busy_bytes_per_second = Some(1e6);
    let told = |shares: &Shares, rate| say_of(shares, |case| case.path.bytes_per_second = rate);
    let (name, said) = told(&queued, Some(2e6));
    assert_eq!(name, "in doubt");
    assert_eq!(
        said,
        "for 9.0 of 10 s, packets queued at a bottleneck, or the sender waited for the receive window, whose scale is not \
         in this capture; the capture does not show which"
    );
    assert_eq!(told(&queued, None).0, "in doubt");
    assert_eq!(told(&queued, Some(1.2e6)).0, "path");
    queued.window = Window::Known;
    assert_eq!(told(&queued, Some(2e6)).0, "path");
}

#[test]
fn short_segments_may_wait_for_acks_if_the_times_of_acks_are_unknown() {
    let mut messages = shares(&[(Limit::Idle, 9000), (Limit::SlowStart, 1000)]);
    messages.delivered = 100 * 1000;
    messages.nagle_perhaps = ms(5000);
    let at = |shares: &Shares, place| say_of(shares, |case| case.place = place);
    let (name, said) = at(&messages, Place::Receiver);
    assert_eq!(name, "in doubt");
    assert!(said.contains("Nagle's algorithm"), "{said}");
    messages.nagle_perhaps = ms(3000);
    assert_eq!(at(&messages, Place::Receiver).0, "application");
    // Most of the time without packets is in the middle of messages, as if the remaining segments of the messages had
    // been lost.
    messages.cut_short = ms(5000);
    let (name, said) = at(&messages, Place::Receiver);
    assert_eq!(name, "in doubt");
    assert!(said.contains("lost before the capture point"), "{said}");
    assert_eq!(at(&messages, Place::Sender).0, "application");
}
