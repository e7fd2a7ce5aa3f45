//! Captures that do not show the limit. No output of the diagnosis contains a limit, or a finding that depends on the
//! limit.

use dupack_diagnosis::untold::Untold;
use dupack_diagnosis_tell::asking::experiment_files;
use dupack_diagnosis_tell::measures::{self, Condition};
use dupack_diagnosis_tell::numbers;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};
use serde_json::Value;

use super::Told;
use super::directions::transfer;
use super::pages::page;

/// Returns the transfer of [`transfer`] without its ACKs.
fn without_acks() -> Script {
    let mut script = transfer();
    script.retain(|packet: &Packet| packet.from() == End::Server);
    script
}

/// Returns the transfer of [`transfer`] without every second segment, but with a late segment and a pause that look
/// like stalls.
fn half() -> Script {
    let mut script = transfer();
    script.add(
        packet(2.0, End::Server, 5000 + 50 * 40 * 1460)
            .ack(1000)
            .len(1460)
            .window(500),
    );
    let acked = packet(2.02, End::Client, 1000).ack(5000 + 50 * 40 * 1460 + 1460);
    script.add(acked.window(900));
    let mut data = 0;
    script.retain(|packet: &Packet| {
        let is_data = packet.from() == End::Server && packet.at_s() > 0.021;
        data += u32::from(is_data && packet.at_s() < 1.9);
        !is_data || packet.at_s() > 1.9 || data % 2 == 0
    });
    script
}

/// Words that name limits and stalls.
const LIMITS: [&str; 8] = [
    "slow start",
    "no queue",
    "standing queue",
    "overflowing queue",
    "application had",
    "application paused",
    "congestion window",
    "late packets",
];

/// Checks the words and the numbers of every output for a capture whose limits are unknown.
fn check(script: &Script, untold: Untold) {
    let told = Told::of(script);
    let connection = told.connection();
    let stream = connection.main_stream().unwrap();
    assert_eq!(stream.limits_untold(), Some(untold));
    assert_eq!((connection.lost(), stream.stalled()), (None, None));
    for text in [told.screen(), page(&told)] {
        assert!(text.contains("cannot be determined"), "{text}");
        for limit in LIMITS {
            assert!(!text.contains(limit), "{limit}: {text}");
        }
    }
    let lines = measures::lines(&told.0);
    let mut lines = lines.lines().map(|line| line.split('\t'));
    let cells: Vec<(&str, &str)> = lines.next().unwrap().zip(lines.next().unwrap()).collect();
    for name in ["limit", "lost_s", "stalled_s"] {
        assert!(cells.contains(&(name, "-")), "{name}: {cells:?}");
    }
    let document: Value = serde_json::from_str(&numbers::json(&told.0, None)).unwrap();
    let found = &document["connections"][0];
    assert_eq!(found["lost_s"], Value::Null);
    let stream = found["streams"].as_array().unwrap().last().unwrap();
    for field in ["limits_s", "lost_s", "stalls", "stalled_s", "kernel_busy_s"] {
        assert_eq!(stream[field], Value::Null, "{field}");
    }
    assert_eq!(stream["limits_untold"]["why"], untold.why());
    let server = &document["groups"]["servers"][0];
    assert_eq!(
        (&server["lost_s"], &server["limits_s"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(stream["longest_stalls"], Value::Array(Vec::new()));
    let limits = String::from_utf8(numbers::limits_csv(&told.0)).unwrap();
    assert!(limits.lines().skip(1).all(|line| line.ends_with(",,")));
    let stalls = String::from_utf8(numbers::stalls_csv(&told.0)).unwrap();
    assert_eq!(stalls.lines().count(), 1, "{stalls}");
}

#[test]
fn without_acks_no_output_shows_a_limit() {
    check(&without_acks(), Untold::WithoutAcks);
    let told = Told::of(&without_acks());
    let lines = measures::lines(&told.0);
    assert!(!lines.contains("slow_start"), "{lines}");
    let page = page(&told);
    assert!(page.contains("goodput"), "{page}");
    // The title contains the rate at which the data was sent.
    assert_eq!(page.matches("23 Mbit/s").count(), 1, "{page}");
    assert!(!page.contains("lost nothing"), "{page}");
}

#[test]
fn with_half_of_the_packets_no_output_shows_a_limit() {
    check(&half(), Untold::PacketsMissing);
}

#[test]
fn without_acks_retransmissions_are_counted_without_causes() {
    let mut script = transfer();
    let last = 5000 + 50 * 40 * 1460 - 1460;
    for at in [1.5, 2.5] {
        script.add(
            packet(at, End::Server, last)
                .ack(1000)
                .len(1460)
                .window(500),
        );
    }
    script.retain(|packet: &Packet| packet.from() == End::Server);
    let told = Told::of(&script);
    let screen = told.screen();
    assert!(screen.contains("2 of unknown cause"), "{screen}");
    assert!(!screen.contains("contradict"), "{screen}");
    let timeouts: Condition = "timeouts >= 0".parse().unwrap();
    assert_eq!(timeouts.met_by(told.connection()), None, "{screen}");
    let again: Condition = "retransmissions == 2".parse().unwrap();
    assert!(again.met_by(told.connection()).is_some(), "{screen}");
}

#[test]
fn a_condition_on_an_unknown_value_holds_for_no_connection_and_says_so() {
    let told = Told::of(&without_acks());
    for text in [
        "lost > 0.5s",
        "lost < 100s",
        "stalled < 1s",
        "goodput > 1Mbit/s",
        "rtt < 1s",
    ] {
        let condition: Condition = text.parse().unwrap();
        assert_eq!(condition.met_by(told.connection()), None, "{text}");
        let note = condition.not_told(&told.0.connections);
        assert_eq!(
            note.as_deref(),
            Some("the capture shows this value for no connection"),
            "{text}"
        );
    }
    let mut both = without_acks();
    for packet in whole_one() {
        both.add(packet);
    }
    let found = Told::of(&both).0;
    let note = |text: &str| {
        text.parse::<Condition>()
            .unwrap()
            .not_told(&found.connections)
    };
    assert_eq!(
        note("lost > 0.5s").as_deref(),
        Some(
            "the capture does not show this value for 1 of 2 connections, such as #1, because the ACKs are not in this capture"
        )
    );
    assert_eq!(note("bytes > 1B"), None);
    // The capture shows the duration of every connection.
    assert_eq!(note("duration > 1s"), None);
}

/// Returns a short connection with different ports, whose ACKs are in the capture.
fn whole_one() -> Vec<Packet> {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.02);
    let mut packets = vec![
        packet(0.5, End::Client, 999).syn(1460, Some(7)),
        packet(0.51, End::Server, 4999).syn(1460, Some(7)).ack(1000),
        packet(0.52, End::Client, 1000).ack(5000).window(500),
    ];
    for n in 0..4 {
        let at = 0.53 + f64::from(n) * 0.02;
        packets.push(packet(at, End::Server, 5000 + n * 1460).ack(1000).len(1460));
        let ack = packet(at + 0.01, End::Client, 1000).ack(6460 + n * 1460);
        packets.push(ack.window(500));
    }
    packets
        .into_iter()
        .map(|one| one.ports(40_001, 443))
        .collect()
}

#[test]
fn connections_with_known_limits_come_first() {
    let mut both = without_acks();
    for packet in whole_one() {
        both.add(packet);
    }
    let told = Told::of(&both);
    let numbers: Vec<u64> = told.0.connections.iter().map(|one| one.number).collect();
    assert_eq!(numbers, [2, 1], "{}", told.screen());
    assert!(told.screen().contains("cannot be determined"));
}

#[test]
fn an_unknown_path_is_no_experiment() {
    for (script, said) in [
        (
            without_acks(),
            "the path cannot be determined: the ACKs are not in this capture",
        ),
        (
            half(),
            "the path cannot be determined: packets are missing from this capture",
        ),
    ] {
        let told = Told::of(&script);
        let stream = told.connection().main_stream().unwrap();
        let error = experiment_files(stream, "path.toml".into()).unwrap_err();
        assert_eq!(error.to_string(), said);
        assert!(error.remedy.starts_with("a capture"), "{}", error.remedy);
    }
    let told = Told::of(&transfer());
    let stream = told.connection().main_stream().unwrap();
    assert!(experiment_files(stream, "path.toml".into()).is_ok());
}

/// Returns two concurrent transfers between the same addresses and ports. The second transfer's sequence numbers are
/// `apart` higher, and it begins `later` seconds after the first.
fn merged(apart: u32, later: f64) -> Script {
    let mut script = transfer();
    let mut sent = 5000 + apart;
    for round in 0..50 {
        let at = 0.021 + later + f64::from(round) * 0.0205;
        for n in 0..40 {
            let data = packet(at + f64::from(n) * 1e-5, End::Server, sent);
            script.add(data.ack(1000).len(1460).window(500));
            sent += 1460;
        }
        for n in 0..20 {
            let ack = packet(at + 0.02 + f64::from(n) * 1e-5, End::Client, 1000);
            script.add(ack.ack(sent - 2920 * (19 - n)).window(900));
        }
    }
    script
}

#[test]
fn retransmissions_of_acknowledged_data_count_as_segments() {
    for (apart, later) in [(700, 0.5), (14_600, 0.5), (730_000, 0.003)] {
        let told = Told::of(&merged(apart, later));
        let stream = told.connection().main_stream().unwrap();
        let (again, all) = (stream.account.retransmissions, stream.shares.segments);
        let came = told.connection().counts.of(stream.side).packets;
        assert!(again >= 1000, "{apart}: {}", told.screen());
        // The packets are the segments and the SYN-ACK.
        assert!(all + 100 >= came, "{all} of {came}: {}", told.screen());
        assert!(2 * again <= all, "{apart}: {}", told.screen());
    }
}
