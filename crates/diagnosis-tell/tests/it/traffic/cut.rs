//! Captures without TCP options, without packets of one endpoint, or with a clock that is too coarse.

use dupack_diagnosis::Side;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Returns a download in `rounds` round trips of 40 ms with ten segments each. In every tenth round trip, the second
/// segment is lost and retransmitted.
fn lossy(rounds: u32, near: f64) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let stamps = |at: f64| (at * 1e3) as u32 + 1;
    script.add(
        packet(0.0, End::Client, 999)
            .syn(1460, Some(7))
            .stamps(1, 0),
    );
    let answer = packet(0.04 - near, End::Server, 4999).syn(1460, Some(7));
    script.add(answer.ack(1000).stamps(stamps(0.04), 1));
    let (mut at, mut sent) = (0.05, 5000);
    let client = |at: f64, ack: u32| {
        let packet = packet(at, End::Client, 1100).ack(ack).window(500);
        packet.stamps(stamps(at), stamps(at - 0.02))
    };
    let request = packet(at, End::Client, 1000).ack(5000).window(500).len(100);
    script.add(request.push().stamps(stamps(at), 1));
    for round in 0..rounds {
        let is_lossy = round % 10 == 5;
        let data = |at: f64, seq: u32| {
            let packet = packet(at, End::Server, seq).ack(1100).len(1448);
            packet.stamps(stamps(at), stamps(at - 0.02))
        };
        at += 0.001;
        for n in 0..10 {
            script.add(data(at + f64::from(n) * 1e-4, sent + n * 1448));
        }
        at += 0.04;
        if is_lossy {
            for n in 2..10 {
                let ack = client(at + f64::from(n) * 1e-4, sent + 1448);
                script.add(ack.sack(sent + 2896, sent + (n + 1) * 1448));
            }
            at += 0.001;
            script.add(data(at, sent + 1448));
            at += 0.04;
        }
        sent += 14_480;
        script.add(client(at, sent));
    }
    script
}

#[test]
fn no_sender_and_no_window_are_named_without_options() {
    let mut script = lossy(200, 0.0399);
    assert!(!Told::of(&script).screen().contains("cut off"));
    // 40 bytes are the headers of IP and TCP without options.
    script.keep_bytes(40);
    let told = Told::of(&script);
    let screen = told.screen();
    assert!(screen.contains("the TCP options of 2,"), "{screen}");
    let sender = &told.stream(Side::Answerer).sender;
    assert_eq!(
        (sender.recovery.name, sender.control.name),
        (None, None),
        "{screen}"
    );
    assert!(told.story().contains("TCP options are cut off"), "{screen}");
}

#[test]
fn an_end_without_packets_is_known_by_its_acknowledged_data() {
    let mut script = lossy(100, 0.0399);
    script.retain(|packet| packet.from() == End::Client);
    let told = Told::of(&script);
    let screen = told.screen();
    let said =
        "1.4 MB from 10.0.0.2:443 were acknowledged, but the capture has none of its packets";
    assert!(screen.contains(said), "{screen}");
}

#[test]
fn a_rate_beyond_the_clock_is_not_printed() {
    // Each flight of 20 segments arrives within 20 µs.
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.04);
    let (mut at, mut sent) = (0.05, 5000);
    for _ in 0..60 {
        for n in 0..20 {
            let data = packet(at + f64::from(n) * 1e-6, End::Server, sent).ack(1000);
            script.add(data.len(1448));
            sent += 1448;
            if n % 2 == 1 {
                let ack = packet(at + f64::from(n) * 1e-6, End::Client, 1000).ack(sent);
                script.add(ack.window(500));
            }
        }
        at += 0.0401;
    }
    let told = Told::of(&script);
    let screen = told.screen();
    assert!(!screen.contains("Gbit/s ("), "{screen}");
    assert!(!told.story().contains("where the path holds"), "{screen}");
}
