//! Turns of requests and answers, pauses, and short writes.

use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_diagnosis::read::vantage::Reason;
use dupack_diagnosis::{Class, Side};
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

/// Returns a client's requests. Each of the first 20 requests follows the previous answer at once, and the client
/// pauses after the 20th answer and after each later one. The ACK of the last answer before a pause is a separate
/// packet, which uses an identification.
fn asks(rtt: f64) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, rtt);
    let (mut at, mut client, mut server) = (rtt + 0.001, 1000, 5000);
    let mut ask = |script: &mut Script, at: &mut f64| {
        *at += 1e-4;
        script.add(packet(*at, End::Client, client).ack(server).len(100).push());
        client += 100;
        *at += rtt;
        script.add(packet(*at, End::Server, server).ack(client).len(200).push());
        server += 200;
        (client, server)
    };
    for (times, pause) in [(20, 10.0), (1, 5.0), (1, 3.0), (1, 0.0)] {
        let mut numbers = (0, 0);
        for _ in 0..times {
            numbers = ask(&mut script, &mut at);
        }
        at += 0.04;
        script.add(packet(at, End::Client, numbers.0).ack(numbers.1));
        at += pause;
    }
    script
}

#[test]
fn identifications_of_acks_are_no_retransmissions() {
    for rtt in [0.001, 0.03] {
        let told = Told::of(&asks(rtt));
        told.nothing_was_lost();
        let story = told.story();
        assert!(
            story.starts_with("Nothing limits the transfer: the application sent nothing for 1"),
            "{story}"
        );
    }
}

#[test]
fn identifications_of_other_connections_are_no_retransmissions() {
    // Another connection between the same hosts, which is not in the capture, uses identifications in every pause.
    for end in [End::Client, End::Server] {
        let mut script = Script::new(Ip::V4, Link::Raw);
        script.open(0.0, 0.03);
        let (mut client, mut server) = (1000, 5000);
        for turn in 0..60 {
            let at = 0.1 + f64::from(turn) * 0.5;
            script.add(packet(at, End::Client, client).ack(server).len(100).push());
            client += 100;
            if turn > 40 {
                script.unseen(end);
                script.unseen(end);
            }
            script.add(
                packet(at + 0.03, End::Server, server)
                    .ack(client)
                    .len(200)
                    .push(),
            );
            server += 200;
        }
        Told::of(&script).nothing_was_lost();
    }
}

#[test]
fn nagle_against_delayed_acks_is_named() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 4e-4);
    let (mut at, mut client, mut server) = (0.001, 1000, 5000);
    for _ in 0..50 {
        script.add(
            packet(at, End::Client, client)
                .ack(server)
                .len(60)
                .push()
                .window(500),
        );
        client += 60;
        at += 0.0402;
        script.add(packet(at, End::Server, server).ack(client).window(500));
        at += 2e-5;
        script.add(
            packet(at, End::Client, client)
                .ack(server)
                .len(140)
                .push()
                .window(500),
        );
        client += 140;
        at += 6e-4;
        script.add(
            packet(at, End::Server, server)
                .ack(client)
                .len(300)
                .push()
                .window(500),
        );
        server += 300;
        at += 2e-4;
    }
    script.add(packet(at, End::Client, client).ack(server).window(500));
    let told = Told::of(&script);
    assert_eq!(
        told.connection().main_stream().map(|stream| stream.side),
        Some(Side::Opener)
    );
    let story = told.story();
    assert!(
        story.starts_with("50 × about 40 ms: short segments waited for the ACK"),
        "{story}"
    );
    told.nothing_was_lost();
    // The stalls show the same cause. The answering endpoint waits for requests.
    let stalls = &told.stream(Side::Opener).stalls;
    let waits = stalls.of(StallKind::Nagle).count;
    assert!(waits > 30, "{}", told.screen());
    assert_eq!(waits, stalls.count(), "{}", told.screen());
    let other = told.screen();
    assert!(
        other.contains("it waited 49 times for the next request"),
        "{other}"
    );
}

#[test]
fn a_download_is_no_waiting_for_requests() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 1e-3);
    let request = packet(0.002, End::Client, 1000).ack(5000).len(150).push();
    script.add(request);
    for n in 0..200 {
        let at = 0.003 + f64::from(n) * 0.005;
        let data = packet(at, End::Server, 5000 + n * 1460).ack(1150);
        script.add(data.len(1460));
        let ack = packet(at + 1e-4, End::Client, 1150);
        script.add(ack.ack(5000 + (n + 1) * 1460));
    }
    let end = packet(1.01, End::Client, 1150).ack(5000 + 200 * 1460);
    script.add(end.fin());
    let told = Told::of(&script);
    let screen = told.screen();
    let other = screen.lines().find(|line| line.contains("reverse data"));
    let other = other.expect("the other direction");
    assert!(
        other.ends_with("sent nothing for 1.0 of 1.0 s."),
        "{screen}"
    );
}

#[test]
fn answers_at_once_are_not_nagles() {
    // Each request is sent when the previous answer has arrived, so the request carries the ACK of the answer.
    let told = Told::of(&asks(0.03));
    let waits: u64 = told
        .connection()
        .all_streams()
        .map(|stream| stream.shares.nagle_waits)
        .sum();
    assert_eq!(waits, 0, "{}", told.screen());
}

/// Returns a download with a round-trip time of 360 ms, captured at the receiver. The server's first responses take
/// `slow` seconds.
fn after_a_slow_handshake(slow: f64) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, None));
    script.add(
        packet(slow, End::Server, 4999)
            .syn(1460, None)
            .ack(1000)
            .id(100),
    );
    let mut at = slow + 2e-4;
    script.add(packet(at, End::Client, 1000).ack(5000));
    script.add(
        packet(at + 1e-4, End::Client, 1000)
            .ack(5000)
            .len(300)
            .push(),
    );
    at += slow;
    script.add(packet(at, End::Server, 5000).ack(1300).id(900));
    at += 0.001;
    let (mut sent, mut id) = (5000, 900_u16);
    let mut number = || {
        id = id.wrapping_add(700 + id % 200);
        id
    };
    for round in 0..40 {
        let lossy = round % 2 == 0;
        let hole = sent + 1460 * 3;
        for n in 0..10 {
            if lossy && n == 3 {
                number();
                continue;
            }
            let when = at + f64::from(n) * 2e-4;
            let end = sent + 1460 * (n + 1);
            script.add(
                packet(when, End::Server, sent + 1460 * n)
                    .ack(1300)
                    .len(1460)
                    .id(number()),
            );
            let ack = packet(when + 1e-4, End::Client, 1300);
            if lossy && n > 3 {
                script.add(ack.ack(hole).sack(hole + 1460, end));
            } else if n % 2 == 1 {
                script.add(ack.ack(end));
            }
        }
        sent += 14_600;
        if lossy {
            at += 0.4;
            script.add(
                packet(at, End::Server, hole)
                    .ack(1300)
                    .len(1460)
                    .id(number()),
            );
            script.add(packet(at + 1e-4, End::Client, 1300).ack(sent));
        }
        at += 0.36;
    }
    script
}

#[test]
fn a_slow_handshake_is_no_round_trip() {
    for slow in [0.36, 3.4] {
        let told = Told::of(&after_a_slow_handshake(slow));
        let stream = told.stream(Side::Answerer);
        let rtt = stream.path.least_rtt.value().unwrap().as_secs_f64();
        assert!(
            (0.355..0.365).contains(&rtt),
            "{slow}: {rtt}\n{}",
            told.screen()
        );
        // The bottleneck may be slow, so the round trip of a full segment may take longer than that of a short segment.
        let (_, high) = stream.path.least_rtt.interval().unwrap();
        assert!(high.as_secs_f64() > 0.38, "{slow}: {high}");
        assert_eq!(
            stream.account.retransmissions,
            20,
            "{slow}\n{}",
            told.screen()
        );
        assert_eq!(stream.path.losses, 20, "{slow}\n{}", told.screen());
        assert!(!told.story().contains("receive window"), "{}", told.story());
    }
}

#[test]
fn without_a_handshake_repairs_tell_the_round_trip_at_the_receivers_end() {
    let mut script = after_a_slow_handshake(3.4);
    script.retain(|packet: &Packet| packet.at_s() > 7.0);
    let told = Told::of(&script);
    let (stream, screen) = (told.connection().main_stream().unwrap(), told.screen());
    let way = stream.vantage.to_sender.as_secs_f64();
    assert!((0.35..0.37).contains(&way), "{screen}");
    assert_eq!(stream.vantage.reason, Reason::Repairs);
    let fast = stream.account.of(Class::Fast);
    assert_eq!((fast, stream.account.retransmissions), (19, 19), "{screen}");
    assert!(
        told.story().contains("losses keep the window small"),
        "{screen}"
    );
}

/// Returns a capture at the client of answers of four segments. The server is 20 µs away and answers 200 ms after each
/// request.
fn thinks(turns: u32) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let clock = |at: f64| 70_000 + (at * 1e3) as u32;
    let near = 2e-5;
    script.add(
        packet(0.0, End::Client, 999)
            .syn(1460, Some(7))
            .stamps(clock(0.0), 0),
    );
    let answer = packet(near, End::Server, 4999)
        .syn(1460, Some(7))
        .ack(1000)
        .hop_limit(63);
    script.add(answer.stamps(clock(near), clock(0.0)));
    let (mut at, mut asked, mut sent) = (2.0 * near, 1000, 5000);
    for _ in 0..turns {
        let request = packet(at, End::Client, asked).ack(sent).len(8).push();
        script.add(request.window(500).stamps(clock(at), clock(at - 2e-4)));
        asked += 8;
        let ack = packet(at + near, End::Server, sent)
            .ack(asked)
            .hop_limit(63);
        script.add(ack.stamps(clock(at), clock(at)));
        at += 0.2;
        for n in 0..4 {
            let data = packet(at + f64::from(n) * 1e-6, End::Server, sent)
                .ack(asked)
                .len(if n == 3 { 600 } else { 1448 })
                .hop_limit(63);
            let data = data.stamps(clock(at), clock(at - 0.2));
            script.add(if n == 3 { data.push() } else { data });
            sent += if n == 3 { 600 } else { 1448 };
        }
        script.add(
            packet(at + 5e-6, End::Client, asked)
                .ack(sent)
                .window(500)
                .stamps(clock(at), clock(at)),
        );
        at += 3e-4;
    }
    script
}

#[test]
fn a_thinking_server_is_named_if_other_answers_arrived_much_sooner() {
    let told = Told::of(&thinks(25));
    let main = told.connection().main_stream().map(|stream| stream.side);
    assert_eq!(main, Some(Side::Answerer), "{}", told.screen());
    let story = told.story();
    assert!(
        story.starts_with(
            "Nothing limits the transfer: the application sent nothing for 5.0 of 5.0 s: its data was not ready 24 times"
        ),
        "{}",
        told.screen()
    );
    assert!(
        told.screen().contains("it waited for 25 answers"),
        "{}",
        told.screen()
    );
}
