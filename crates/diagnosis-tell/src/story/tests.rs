//! Tests of each sentence of the story and of the choice among the sentences.

mod reasons;

use dupack_tcp::time::{Duration, Instant};

use super::{Case, TEMPLATES, tell};
use dupack_diagnosis::analyse::budget::{AckTimes, Limit, PathFacts, Shares, Window};
use dupack_diagnosis::analyse::signs::Signs;
use dupack_diagnosis::analyse::stalls::{Remedy, Stall, StallKind, StallList, WaitedFor};
use dupack_diagnosis::findings::{AcksSeen, Coverage, OptionsSeen, Sharing, Shut};
use dupack_diagnosis::read::moment::Stage;
use dupack_diagnosis::read::vantage::Place;

/// Bytes of a full segment.
const MSS: u64 = 1000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns the coverage of a complete capture.
fn whole() -> Coverage {
    Coverage {
        acks: AcksSeen::Some,
        bytes: 1_000_000,
        unseen_bytes: 0,
        options: OptionsSeen::Whole,
    }
}

/// Returns shares with only these times, in milliseconds.
fn times(spent: &[(Limit, u64)]) -> Shares {
    let spent: Vec<_> = spent
        .iter()
        .map(|&(limit, long)| (limit, ms(long)))
        .collect();
    Shares::of_times(&spent)
}

/// Returns shares of a stream of a thousand segments with a round-trip time of 100 ms.
fn shares(spent: &[(Limit, u64)]) -> Shares {
    let mut shares = times(spent);
    shares.segments = 1000;
    shares.segment_size = MSS;
    shares.rtt_min = Some(ms(100));
    shares.rtt_mean = Some(ms(100));
    shares
}

fn say(shares: &Shares) -> (&'static str, String) {
    say_with(shares, PathFacts::default())
}

fn say_with(shares: &Shares, path: PathFacts) -> (&'static str, String) {
    let stalls = StallList::default();
    tell(&Case {
        path,
        ..plain(shares, &stalls)
    })
}

/// Returns the case of a stream captured at its sender, with only shares and stalls.
fn plain<'a>(shares: &'a Shares, stalls: &'a StallList) -> Case<'a> {
    Case {
        shares,
        stalls,
        path: PathFacts::default(),
        shut: Shut::default(),
        coverage: whole(),
        untold: None,
        signs: Signs::default(),
        headers: 40,
        place: Place::Sender,
        policer: None,
        spurious: 0,
        overtaken: 0,
        early: 0,
        to_sender: Duration::ZERO,
        may_lack_repairs: false,
        beside: false,
        sharing: None,
        turns: None,
    }
}

#[test]
fn the_sentence_on_a_shared_bottleneck_has_the_share() {
    let shares = shares(&[(Limit::StandingQueue, 4000), (Limit::SlowStart, 200)]);
    let stalls = StallList::default();
    let (name, said) = tell(&Case {
        beside: true,
        sharing: Some(Sharing {
            rate: 1e7,
            share: 0.29,
            others: 1,
        }),
        ..plain(&shares, &stalls)
    });
    assert_eq!(name, "path");
    let shared = "packets queue at a bottleneck of 10 Mbit/s that 2 transfers of this capture share, and this transfer has 29 % of it";
    assert!(said.contains(shared), "{said}");
}

#[test]
fn the_sentence_on_a_sender_that_holds_back_names_all_causes() {
    let (name, said) = say(&shares(&[
        (Limit::SenderBuffer, 2000),
        (Limit::SlowStart, 100),
    ]));
    assert_eq!(name, "sender");
    let causes = "although the receive window had room: its send buffer, a congestion window that does not grow, or a shaper before \
                  the capture point";
    assert!(said.contains(causes), "{said}");
}

#[test]
fn names_of_templates_are_unique() {
    let mut names = TEMPLATES.map(|template| template.name);
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn no_data() {
    let mut none = shares(&[(Limit::Handshake, 3000)]);
    none.segments = 0;
    let said = say(&none);
    assert_eq!(said, ("nothing", "no data was sent in 3.0 s".to_owned()));
}

#[test]
fn an_idle_application_and_the_rest_of_the_time() {
    let idle = shares(&[
        (Limit::Idle, 36_000),
        (Limit::Pause, 5000),
        (Limit::ReceiveWindow, 19_000),
    ]);
    let (name, said) = say(&idle);
    assert_eq!(name, "application");
    assert_eq!(
        said,
        "the application sent nothing for 41 of 60 s; of the rest, 19 s passed with a full receive window"
    );
}

/// Returns `count` stalls of one second each, caused by tail losses of small responses.
fn tails(count: u64) -> StallList {
    let mut stalls = StallList::default();
    for n in 0..count {
        stalls.add(Stall {
            from: Instant::ZERO + ms(n * 1400),
            to: Instant::ZERO + ms(n * 1400 + 1000),
            kind: StallKind::TailOpen,
            stage: Stage::Open,
            before: n,
            after: n + 1,
            waited_for: WaitedFor::RetransmissionTimer,
            flight: 500,
            missing: 1,
            srtt: Some(ms(30)),
            remedy: Remedy::TailLossProbe(ms(260)),
        });
    }
    stalls
}

#[test]
fn a_kind_of_stall_that_explains_less_than_half_of_the_time_is_not_named() {
    let shares = shares(&[(Limit::RetransmissionTimer, 38_000)]);
    let said = |count| {
        let stalls = tails(count);
        tell(&plain(&shares, &stalls)).1
    };
    assert!(said(20).contains("tail losses"), "{}", said(20));
    assert!(!said(18).contains("tail losses"), "{}", said(18));
}

#[test]
fn timers_with_the_kind_of_loss_and_the_remedy() {
    let stalls = tails(38);
    let shares = shares(&[
        (Limit::RetransmissionTimer, 38_000),
        (Limit::SlowStart, 4000),
        (Limit::Idle, 10_000),
    ]);
    let (name, said) = tell(&plain(&shares, &stalls));
    assert_eq!(name, "timers");
    assert_eq!(
        said,
        "38 s of 52 s were spent waiting for retransmission timers: tail losses of small responses; \
         RACK-TLP would have probed after 260 ms"
    );
}

#[test]
fn a_shut_window_has_a_sentence() {
    let shut = shares(&[(Limit::ZeroWindow, 30_000), (Limit::StandingQueue, 22_000)]);
    let (name, said) = say(&shut);
    assert_eq!(name, "shut window");
    assert_eq!(
        said,
        "the receive window was shut for 30 of 52 s: the receiver's application did not read"
    );
}

#[test]
fn a_slow_handshake_is_distinguished_from_a_short_transfer() {
    let slow = shares(&[(Limit::Handshake, 3000), (Limit::SlowStart, 200)]);
    assert_eq!(
        say(&slow),
        (
            "handshake",
            "opening the connection took 3.0 of 3.2 s".to_owned()
        )
    );
    let mut short = shares(&[(Limit::Handshake, 100), (Limit::SlowStart, 100)]);
    short.segments = 30;
    assert_eq!(
        say(&short),
        (
            "too short",
            "too short to tell: 30 segments in 200 ms".to_owned()
        )
    );
}

#[test]
fn a_receive_window_with_the_rate_that_it_allows() {
    let mut full = shares(&[(Limit::ReceiveWindow, 60_000), (Limit::SlowStart, 500)]);
    full.window_when_full = Some(65_535.0);
    full.rtt_when_full = Some(ms(100));
    let (name, said) = say(&full);
    assert_eq!(name, "receive window");
    assert_eq!(
        said,
        "the receive window of 66 kB limits the transfer to 5.2 Mbit/s: a round trip takes 100 ms"
    );
}

#[test]
fn a_full_path_with_its_queue() {
    let path = PathFacts {
        bytes_per_second: Some(1_250_000.0),
        ..PathFacts::default()
    };
    let of = |limit| {
        let mut full = shares(&[(limit, 60_000)]);
        full.busy_bytes_per_second = Some(1_187_500.0);
        full.queue_mean = Some(ms(80));
        full
    };
    let (name, said) = say_with(&of(Limit::StandingQueue), path);
    assert_eq!(name, "path");
    assert_eq!(
        said,
        "the transfer fills the path: 9.5 of 10 Mbit/s, with a standing queue of 80 ms"
    );
    let (_, said) = say(&of(Limit::OverflowingQueue));
    assert_eq!(
        said,
        "the transfer fills the path at 9.5 Mbit/s, with a queue of 80 ms that overflows"
    );
    let (_, said) = say_with(&of(Limit::EmptyQueue), path);
    assert_eq!(
        said,
        "the transfer fills the path: 9.5 of 10 Mbit/s, with almost no queue"
    );
}

#[test]
fn losses_with_their_share_and_the_capacity_of_the_path() {
    let mut lossy = shares(&[
        (Limit::CongestionWindow, 40_000),
        (Limit::Recovery, 10_000),
        (Limit::RetransmissionTimer, 10_000),
    ]);
    lossy.retransmissions = 12;
    lossy.flight = Some(12_000.0);
    let path = PathFacts {
        bytes_per_second: Some(520_000.0),
        ..PathFacts::default()
    };
    let (name, said) = say_with(&lossy, path);
    assert_eq!(name, "losses");
    // 520 kB/s · 100 ms is 52 segments.
    assert_eq!(
        said,
        "for 50 of 60 s, losses keep the window small: one segment in 83 was retransmitted, and 12 were in flight \
         where the path holds 52; 10 s were spent waiting for timers"
    );
}

#[test]
fn other_templates() {
    let slow_start = shares(&[(Limit::SlowStart, 800), (Limit::Handshake, 200)]);
    let (name, said) = say(&slow_start);
    assert_eq!(name, "slow start");
    assert_eq!(
        said,
        "the window was still growing in slow start for 800 ms of 1.0 s"
    );
    let (name, said) = say(&shares(&[(Limit::SenderBuffer, 60_000)]));
    assert_eq!(name, "sender");
    assert!(said.starts_with("the sender held back for 60 of 60 s"));
    assert!(said.contains("had room: its send buffer"), "{said}");
    let held = shares(&[(Limit::SenderBuffer, 60_000)]);
    let (_, said) = say_at(&held, &StallList::default(), Place::Receiver);
    assert!(
        said.contains("had room: its application, its send buffer"),
        "{said}"
    );
    let mixed = shares(&[
        (Limit::SenderBuffer, 3000),
        (Limit::SlowStart, 2900),
        (Limit::ReceiveWindow, 2000),
        (Limit::Recovery, 2000),
    ]);
    let (name, said) = say(&mixed);
    assert_eq!(name, "mixed");
    assert_eq!(
        said,
        "no single limit: 3.0 of 9.9 s passed with room in all windows, 2.9 of 9.9 s passed in slow start"
    );
}

#[test]
fn a_stream_without_any_duration_has_a_sentence() {
    let mut one = shares(&[]);
    one.segments = 1;
    assert_eq!(one.duration(), Duration::ZERO);
    let (name, said) = say(&one);
    assert_eq!(
        (name, said.as_str()),
        (
            "small",
            "nothing limits the transfer: one segment in 0.0 ms, which any window permits at once"
        )
    );
}

#[test]
fn a_shut_window_is_mentioned_in_short_transfers() {
    let shares = times(&[(Limit::SlowStart, 2)]);
    let stalls = StallList::default();
    let said = |times, probes| {
        let case = Case {
            shut: Shut {
                times,
                time: Duration::ZERO,
                probes,
            },
            ..plain(&shares, &stalls)
        };
        tell(&case).1
    };
    // The window was never closed.
    assert!(!said(0, 0).contains("shut"));
    assert!(said(1, 0).ends_with("; the receive window was shut once"));
    let twice = said(2, 3);
    assert!(twice.ends_with("; the receive window was shut 2 times, and probed 3 times"));
}

/// Returns shares of a stream that sends a thousand full segments in a tenth of the time and is silent for the
/// remaining time.
fn silent(limit: Limit) -> Shares {
    let mut silent = shares(&[(limit, 54_000), (Limit::CongestionWindow, 6000)]);
    silent.delivered = 1000 * MSS;
    silent
}

/// Returns the sentence of a stream captured at `place`.
fn say_at(shares: &Shares, stalls: &StallList, place: Place) -> (&'static str, String) {
    tell(&Case {
        place,
        ..plain(shares, stalls)
    })
}

#[test]
fn bulk_silences_may_be_the_receive_window_if_its_scale_is_unknown() {
    let told = |limit, window, bytes| {
        let mut shares = silent(limit);
        (shares.window, shares.delivered) = (window, bytes);
        say_at(&shares, &StallList::default(), Place::Sender).0
    };
    let bulk = 1000 * MSS;
    assert_eq!(told(Limit::Pause, Window::Unscaled, bulk), "in doubt");
    assert_eq!(
        told(Limit::SenderBuffer, Window::Unscaled, bulk),
        "in doubt"
    );
    assert_eq!(told(Limit::Pause, Window::Known, bulk), "application");
    assert_eq!(told(Limit::SenderBuffer, Window::Known, bulk), "sender");
    // If a message ends before each period without packets, or if nothing is outstanding, the receive window is not the
    // cause.
    assert_eq!(
        told(Limit::Pause, Window::Unscaled, bulk / 3),
        "application"
    );
    assert_eq!(told(Limit::Idle, Window::Unscaled, bulk), "application");
    let mut shares = silent(Limit::Pause);
    shares.window = Window::Unscaled;
    let (_, said) = say_at(&shares, &StallList::default(), Place::Sender);
    assert_eq!(
        said,
        "the sender sent nothing for 54 of 60 s: the application or the receive window, whose scale is not in this \
         capture; the capture does not show which"
    );
}

/// Returns `count` stalls of this kind, each of which lasts `each` milliseconds.
fn silences(kind: StallKind, count: u64, each: u64) -> StallList {
    let mut stalls = StallList::default();
    for n in 0..count {
        stalls.add(Stall {
            from: Instant::ZERO + ms(n * each),
            to: Instant::ZERO + ms((n + 1) * each),
            kind,
            stage: Stage::Open,
            before: n,
            after: n + 1,
            waited_for: WaitedFor::Data,
            flight: 0,
            missing: 0,
            srtt: None,
            remedy: Remedy::Application,
        });
    }
    stalls
}

#[test]
fn many_short_bulk_silences_may_be_round_trips_if_their_length_is_unknown() {
    let of_way = |way, ack_times, place, count, each| {
        let mut shares = silent(Limit::Idle);
        shares.ack_times = ack_times;
        let stalls = silences(StallKind::DataUnavailable, count, each);
        let case = Case {
            place,
            to_sender: ms(way),
            ..plain(&shares, &stalls)
        };
        tell(&case).0
    };
    let told = |ack_times, place, count, each| of_way(0, ack_times, place, count, each);
    let guessed = AckTimes::Guessed;
    assert_eq!(told(guessed, Place::Receiver, 450, 120), "in doubt");
    assert_eq!(
        told(AckTimes::Known, Place::Receiver, 450, 120),
        "application"
    );
    assert_eq!(told(guessed, Place::Sender, 450, 120), "application");
    assert_eq!(told(guessed, Place::Receiver, 9, 6000), "application");
    // The fastest response is an upper bound on the round-trip time.
    let of_way = |way| of_way(way, guessed, Place::Receiver, 450, 120);
    assert_eq!((of_way(80), of_way(40)), ("in doubt", "application"));
}

#[test]
fn silences_may_be_lost_packets_that_a_capture_at_the_receiver_lacks() {
    let told = |retransmissions, place, kind| {
        let mut shares = silent(Limit::Idle);
        shares.retransmissions = retransmissions;
        say_at(&shares, &silences(kind, 50, 1000), place).0
    };
    let unready = StallKind::DataUnavailable;
    assert_eq!(told(600, Place::Receiver, unready), "in doubt");
    assert_eq!(told(600, Place::Sender, unready), "application");
    // With a loss rate of 6 %, lost packets cause at most three of the 50 periods without packets.
    assert_eq!(told(60, Place::Receiver, unready), "application");
    assert_eq!(
        told(600, Place::Receiver, StallKind::ClientIdle),
        "application"
    );
}

#[test]
fn one_wait_for_an_ack_is_not_nagles_algorithm() {
    let mut shares = shares(&[(Limit::Nagle, 40), (Limit::SlowStart, 20)]);
    shares.segments = 4;
    let told = |waits, shares: &mut Shares| {
        shares.nagle_waits = waits;
        say(shares).0
    };
    assert_eq!(told(1, &mut shares), "too short");
    assert_eq!(told(3, &mut shares), "nagle");
}
