//! Captures that show a limit but cannot exclude another cause: every output of the diagnosis names both.

use dupack_diagnosis_tell::measures::{self, Condition};
use dupack_diagnosis_tell::notes::notes;
use dupack_diagnosis_tell::numbers;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};
use serde_json::Value;

use super::Told;
use super::pages::page;

/// Returns 30 flights of 10 segments. Each flight is acknowledged after 80 ms, and the next one follows 20 ms later.
/// The handshake is in the capture if `opened`.
fn flights(opened: bool) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.08);
    let mut sent = 5000;
    for flight in 0..30 {
        let at = 0.1 + 0.1 * f64::from(flight);
        for n in 0..10 {
            let data = packet(at + f64::from(n) * 1e-5, End::Server, sent);
            script.add(data.ack(1000).len(1460).window(500));
            sent += 1460;
        }
        for n in 0..5 {
            let ack = packet(at + 0.08 + f64::from(n) * 1e-5, End::Client, 1000);
            script.add(ack.ack(sent - 2920 * (4 - n)).window(913));
        }
    }
    if !opened {
        script.retain(|packet: &Packet| packet.at_s() > 0.09);
    }
    script
}

/// Returns full segments at intervals of 30 to 70 ms, captured at the receiver. The capture does not show when the
/// segments were sent.
fn spread() -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.02);
    for n in 0..100_u32 {
        let at = 0.1 + 0.05 * f64::from(n) + 0.02 * f64::from(n * n % 3);
        let data = packet(at, End::Server, 5000 + 1460 * n);
        script.add(data.ack(1000).len(1460).window(500));
        let ack = packet(at + 1e-4, End::Client, 1000).window(900);
        script.add(ack.ack(5000 + 1460 * (n + 1)));
    }
    script
}

/// Returns the value of a column in the line of the first connection.
fn cell(told: &Told, column: &str) -> String {
    let lines = measures::lines(&told.0);
    let mut lines = lines.lines().map(|line| line.split('\t'));
    let (names, cells) = (lines.next().unwrap(), lines.next().unwrap());
    let mut cells = names.zip(cells).filter(|(name, _)| *name == column);
    cells.next().unwrap().1.to_owned()
}

/// Returns the first stream of the first connection in the JSON document, and the first server.
fn document(told: &Told) -> (Value, Value) {
    let text = numbers::json(&told.0, None);
    let all: Value = serde_json::from_str(&text).unwrap();
    let stream = all["connections"][0]["streams"][0].clone();
    (stream, all["groups"]["servers"][0].clone())
}

/// Asserts that every output names the other possible cause in addition to the limit.
#[track_caller]
fn names_both(told: &Told, limit: &str, words: &str) {
    let (screen, page) = (told.screen(), page(told));
    assert!(screen.contains(words), "{screen}");
    assert!(page.contains(words), "{page}");
    assert_eq!(cell(told, "limit"), limit);
    let limits = String::from_utf8(numbers::limits_csv(&told.0)).unwrap();
    let (first, other) = limit.split_once('|').unwrap();
    let row = limits.lines().find(|row| row.contains(first)).unwrap();
    assert!(row.ends_with(&format!(",{other}")), "{row}");
    let shut = limits.lines().find(|row| row.contains("slow_start"));
    assert!(shut.unwrap().ends_with(','), "{limits}");
    let (stream, _) = document(told);
    let doubt = &stream["limits_in_doubt"];
    assert_eq!(doubt["or"], serde_json::json!([other]), "{doubt}");
    let named = doubt["limits"].as_array().unwrap();
    assert!(named.contains(&first.into()), "{doubt}");
}

#[test]
fn every_output_names_the_window_beside_the_application_if_its_scale_is_unknown() {
    let told = Told::of(&flights(false));
    assert!(
        told.story()
            .contains("the application or the receive window")
    );
    names_both(
        &told,
        "application_pause|receive_window",
        "application paused, or receive window",
    );
    let (stream, server) = document(&told);
    assert_eq!(stream["limits_in_doubt"]["lost_at_least"], true);
    assert_eq!(server["connections_lost_at_least"], 1);
    let screen = told.screen();
    let bars = screen.lines().filter(|line| line.contains(" % "));
    assert!(
        bars.filter(|line| line.contains("or receive")).count() == 2,
        "{screen}"
    );
}

#[test]
fn lost_time_is_a_bound_if_the_limit_may_be_another() {
    let told = Told::of(&flights(false));
    let met = |text: &str| {
        let condition: Condition = text.parse().unwrap();
        let connections = &told.0.connections;
        (
            condition.met_by(told.connection()),
            condition.not_told(connections).is_some(),
        )
    };
    let said = |text: &str| Some(text.to_owned());
    assert_eq!(met("lost > 0.1ms"), (said("at least 960 µs"), false));
    assert_eq!(met("lost != 0"), (said("at least 960 µs"), false));
    for open in ["lost > 1s", "lost < 1s", "lost == 1ms", "lost != 1s"] {
        assert_eq!(met(open), (None, true), "{open}");
    }
    assert_eq!(met("lost < 0.1ms"), (None, false));
    assert_eq!(met("lost == 0.1ms"), (None, false));
    let condition: Condition = "lost > 1s".parse().unwrap();
    let note = condition.not_told(&told.0.connections).unwrap();
    assert!(
        note.ends_with("because it is only known to be 960 µs or more"),
        "{note}"
    );
}

#[test]
fn every_output_names_the_bottleneck_beside_the_application_if_departure_times_are_unknown() {
    let told = Told::of(&spread());
    let story = told.story();
    assert!(
        story.contains("the application or the bottleneck"),
        "{}",
        told.screen()
    );
    let limit = cell(&told, "limit");
    let words = match limit.split_once('|').unwrap().0 {
        "application_idle" => "application had nothing to send, or bottleneck",
        _ => "application paused, or bottleneck",
    };
    names_both(&told, &limit, words);
    // Time for which packets wait at a bottleneck is not lost time.
    let (stream, server) = document(&told);
    assert_eq!(stream["limits_in_doubt"]["lost_at_least"], false);
    assert_eq!(server["connections_lost_at_least"], 0);
}

#[test]
fn a_limit_that_is_certain_has_no_other_cause() {
    let told = Told::of(&flights(true));
    assert_eq!(cell(&told, "limit"), "application_pause");
    let (stream, _) = document(&told);
    assert_eq!(stream["limits_in_doubt"], Value::Null);
    assert!(!told.screen().contains("paused, or"));
}

/// Returns 40 rounds of ten segments at intervals of 360 ms, captured at the receiver without the SYN.
fn rounds_at_the_receiver() -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let mut sent = 5000;
    for round in 0..40 {
        let at = 0.1 + 0.36 * f64::from(round);
        for n in 0..10 {
            let when = at + 2e-4 * f64::from(n);
            script.add(packet(when, End::Server, sent).ack(1000).len(1460));
            sent += 1460;
            if n % 2 == 1 {
                let ack = packet(when + 1e-4, End::Client, 1000).ack(sent);
                script.add(ack.window(500));
            }
        }
    }
    script
}

#[test]
fn silences_of_a_round_trip_each_may_be_round_trips_of_unknown_length() {
    let told = Told::of(&rounds_at_the_receiver());
    let (story, screen) = (told.story(), told.screen());
    assert!(
        story.contains("the application, the bottleneck or round trips"),
        "{screen}"
    );
    let limit = cell(&told, "limit");
    assert!(limit.ends_with("|round_trips|bottleneck"), "{limit}");
    assert!(
        screen.contains("the distance to the sender is unknown"),
        "{screen}"
    );
    assert!(!screen.contains("1 µs"), "{screen}");
    let note = "the capture has no SYN of this connection: all times and counts refer to the captured part";
    assert_eq!(notes(told.connection()), [note]);
    // If the capture has the SYNs, or if the connection has no data, there is no such note.
    assert!(notes(Told::of(&flights(true)).connection()).is_empty());
    let mut refused = Script::new(Ip::V4, Link::Raw);
    refused.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    let notes = notes(Told::of(&refused).connection());
    assert!(!notes.iter().any(|one| one == note), "{notes:?}");
}

/// Returns 40 messages of alternating sizes. Each message is sent as soon as the previous one is acknowledged, which
/// takes 100 ms.
fn after_each_ack(sizes: [u32; 2]) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.1);
    let (mut at, mut sent) = (0.101, 1000);
    for n in 0..40 {
        let len = sizes[n % 2];
        script.add(packet(at, End::Client, sent).ack(5000).len(len).push());
        sent += len;
        at += 0.1;
        script.add(packet(at, End::Server, 5000).ack(sent).window(500));
        at += 1e-5;
    }
    script
}

#[test]
fn messages_that_follow_the_previous_ack_may_have_the_period_of_a_round_trip() {
    let told = Told::of(&after_each_ack([700, 700]));
    let story = told.story();
    assert!(
        story.contains("the application or Nagle's algorithm"),
        "{story}"
    );
    assert!(!story.contains("TCP_NODELAY"), "{story}");
    // Some segments contain two messages, so messages did wait: this is Nagle's algorithm.
    let story = Told::of(&after_each_ack([700, 1400])).story();
    assert!(story.contains("TCP_NODELAY"), "{story}");
}

const RTT: f64 = 0.125;

/// Returns writes of 2,848 bytes every 35.5 ms over a path of 125 ms, with Nagle's algorithm: the remaining bytes, less
/// than a full segment, are sent when no short segment is outstanding, or in a full segment together with the next
/// write.
fn periodic_writes(from: End) -> Script {
    let (to, first, answer) = match from {
        End::Client => (End::Server, 1000, 5000),
        End::Server => (End::Client, 5000, 1000),
    };
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, RTT);
    let send = |script: &mut Script, at: f64, sent: u32, len: u32, ends: bool| {
        let data = packet(at, from, first + sent).ack(answer).len(len);
        script.add(if ends { data.push() } else { data });
        let acked = packet(at + RTT, to, answer).ack(first + sent + len);
        script.add(acked.window(900));
    };
    let (mut written, mut sent) = (0, 0);
    // Time at which the last short segment is acknowledged.
    let mut free_at = 0.0;
    for n in 0..120_u32 {
        let at = 0.2 + 0.0355 * f64::from(n);
        written += 2848;
        while written - sent >= 1460 {
            let whole = written - sent - 1460;
            send(&mut script, at, sent, 1460, whole < 1460 && n % 2 == 0);
            sent += 1460;
        }
        let leaves = f64::max(at, free_at + 1e-5);
        if sent < written && leaves < at + 0.0355 {
            send(&mut script, leaves, sent, written - sent, true);
            sent = written;
            free_at = leaves + RTT;
        }
    }
    script
}

#[test]
fn no_window_is_blamed_for_a_short_rest_that_may_wait() {
    for from in [End::Client, End::Server] {
        let told = Told::of(&periodic_writes(from));
        let (story, screen) = (told.story(), told.screen());
        assert!(story.contains("the application"), "{screen}");
        for wrong in ["slow start", "losses keep", "held back"] {
            assert!(!story.contains(wrong), "{screen}");
        }
    }
}
