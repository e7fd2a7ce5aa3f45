//! Answers that an endpoint waits for: answers through a busy bottleneck, answers of one round trip each, and answers
//! at the end of connections.

use dupack_diagnosis::Side;
use dupack_diagnosis::analyse::budget::{Group, Limit};
use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

const MSS: u32 = 1460;

/// Returns a capture of `turns` turns at the server, with a round-trip time of 40 ms. The server sends the `segments`
/// segments of an answer at once, and each of them takes `each` seconds at a bottleneck. The client sends the next
/// request as soon as it has the whole answer.
fn answers(turns: u32, segments: u32, each: f64) -> Script {
    let rtt = 0.04;
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    script.add(packet(rtt, End::Client, 1000).ack(5000).window(2000));
    let (mut at, mut client, mut server) = (rtt + 1e-4, 1000, 5000);
    for _ in 0..turns {
        let request = packet(at, End::Client, client).ack(server).window(2000);
        script.add(request.len(200).push());
        client += 200;
        let sent = server;
        for n in 0..segments {
            let data = packet(at + 1e-4 + f64::from(n) * 1e-6, End::Server, server).ack(client);
            let (len, last) = (MSS - 100 * u32::from(n + 1 == segments), n + 1 == segments);
            script.add(if last {
                data.len(len).push()
            } else {
                data.len(len)
            });
            server += len;
        }
        // Every second segment is acknowledged. The last segment of the answer is acknowledged by the next request.
        for n in (2..segments).step_by(2) {
            let when = at + 2e-4 + rtt + f64::from(n) * each;
            let ack = packet(when, End::Client, client).ack(sent + n * MSS);
            script.add(ack.window(2000));
        }
        at += 3e-4 + rtt + f64::from(segments) * each;
    }
    script.add(packet(at, End::Client, client).ack(server).window(2000));
    script
}

#[test]
fn a_bottleneck_that_drains_written_data_is_busy() {
    // The transmission of 60 segments at 2 Mbit/s takes 360 ms, and the round trip takes 40 ms.
    let told = Told::of(&answers(30, 60, 6e-3));
    let shares = &told.stream(Side::Answerer).shares;
    let busy = shares.share(shares.of_group(Group::Path));
    assert!((0.85..0.93).contains(&busy), "{busy}\n{}", told.screen());
    let story = told.story();
    let said = ["he transfer fills the path", "1.9 Mbit/s"];
    assert!(said.iter().all(|part| story.contains(part)), "{story}");
}

#[test]
fn a_bottleneck_that_is_soon_idle_is_not_the_limit() {
    // At 500 Mbit/s, the transmission of the same answer takes 1.4 ms.
    let told = Told::of(&answers(30, 60, 2.4e-5));
    let shares = &told.stream(Side::Answerer).shares;
    let busy = shares.share(shares.of_group(Group::Path));
    assert!(busy < 0.1, "{busy}\n{}", told.screen());
    let story = told.story();
    assert!(
        story.starts_with("30 round trips of 40 ms: one request at a time"),
        "{story}"
    );
}

#[test]
fn one_small_answer_per_round_trip_is_named_as_round_trips() {
    let told = Told::of(&answers(50, 1, 2e-5));
    assert_eq!(
        told.connection().main_stream().map(|stream| stream.side),
        Some(Side::Answerer)
    );
    let story = told.story();
    assert!(
        story.starts_with("50 round trips of 40 ms: one request at a time"),
        "{story}\n{}",
        told.screen()
    );
}

#[test]
fn a_fin_that_nobody_acknowledges_is_no_part_of_the_transfer() {
    let mut script = answers(10, 60, 6e-3);
    let at = 0.0401 + 10.0 * (0.0403 + 60.0 * 6e-3);
    let seq = 5000 + 10 * (60 * MSS - 100);
    for after in [0.001, 0.3, 0.9, 2.1, 4.5, 9.3] {
        script.add(packet(at + after, End::Server, seq).ack(3000).fin());
    }
    let told = Told::of(&script);
    let shares = &told.stream(Side::Answerer).shares;
    assert!(
        shares.duration().as_secs_f64() < at + 0.01,
        "{}",
        told.screen()
    );
    assert!(shares.of(Limit::RetransmissionTimer).is_zero());
}

#[test]
fn a_fin_is_not_held_back_by_nagles_algorithm() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.03);
    let (mut at, mut client) = (0.1, 1000);
    for _ in 0..5 {
        script.add(packet(at, End::Client, client).ack(5000).len(60).push());
        client += 60;
        at += 0.07;
        script.add(packet(at, End::Server, 5000).ack(client));
        at += 0.5;
    }
    script.add(packet(at, End::Client, client).ack(5000).len(60).push());
    at += 0.07;
    script.add(packet(at, End::Server, 5000).ack(client + 60).fin());
    at += 5e-5;
    script.add(packet(at, End::Client, client + 60).ack(5001).fin());
    script.add(packet(at + 0.03, End::Server, 5001).ack(client + 61));
    let told = Told::of(&script);
    let shares = &told.stream(Side::Opener).shares;
    assert_eq!(shares.nagle_waits, 0, "{}", told.screen());
}

#[test]
fn an_answer_to_a_request_after_a_bare_ack_is_not_held_back() {
    // The client sends an ACK for each answer, and immediately afterwards the next request.
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.03);
    let (mut at, mut client, mut server) = (0.1, 1000, 5000);
    for _ in 0..20 {
        script.add(packet(at, End::Client, client).ack(server).len(60).push());
        client += 60;
        let data = packet(at + 5e-5, End::Server, server).ack(client);
        script.add(data.len(600).push());
        server += 600;
        at += 0.04;
        script.add(packet(at, End::Client, client).ack(server));
        at += 2e-5;
    }
    let told = Told::of(&script);
    let shares = &told.stream(Side::Answerer).shares;
    assert_eq!(shares.nagle_waits, 0, "{}", told.screen());
}

#[test]
fn the_answer_that_took_the_time_comes_before_its_request() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.04);
    script.add(packet(0.041, End::Client, 1000).ack(5000).len(200).fin());
    script.add(packet(0.082, End::Server, 5000).ack(1201));
    script.add(packet(2.1, End::Server, 5000).ack(1201).len(100).fin());
    script.add(packet(2.101, End::Client, 1201).ack(5101));
    let told = Told::of(&script);
    assert_eq!(
        told.connection().main_stream().map(|stream| stream.side),
        Some(Side::Answerer),
        "{}",
        told.screen()
    );
}

#[test]
fn waiting_for_requests_after_the_last_data_is_no_stall_of_the_transfer() {
    // The client sends 200 bytes once, and the server sends 600 bytes every second.
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.04);
    script.add(packet(0.1, End::Client, 1000).ack(5000).len(200).push());
    script.add(packet(0.14, End::Server, 5000).ack(1200));
    let mut server = 5000;
    for n in 0..100 {
        let at = 1.0 + f64::from(n);
        script.add(packet(at, End::Server, server).ack(1200).len(600).push());
        server += 600;
        script.add(packet(at + 1e-4, End::Client, 1200).ack(server));
    }
    let told = Told::of(&script);
    let stream = told.stream(Side::Opener);
    let idle = stream.stalls.of(StallKind::ClientIdle);
    assert_eq!(idle.count, 0, "{}", told.screen());
    assert!(stream.stalls.time() <= stream.shares.duration());
}

#[test]
fn a_request_after_an_answer_is_not_held_back_at_the_server() {
    // The capture is taken at the server. The server acknowledges each request before it answers, and the client sends
    // the next request at once.
    let rtt = 0.03;
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    script.add(packet(rtt, End::Client, 1000).ack(5000).window(500));
    let (mut at, mut client, mut server) = (rtt + 1e-4, 1000, 5000);
    for _ in 0..20 {
        script.add(packet(at, End::Client, client).ack(server).len(300).push());
        client += 300;
        script.add(packet(at + 1e-4, End::Server, server).ack(client));
        let data = packet(at + 9e-4, End::Server, server).ack(client);
        script.add(data.len(700).push());
        server += 700;
        at += 9e-4 + rtt;
        script.add(packet(at, End::Client, client).ack(server));
        at += 1e-4;
    }
    let told = Told::of(&script);
    let shares = &told.stream(Side::Opener).shares;
    assert_eq!(shares.nagle_waits, 0, "{}", told.screen());
    assert!(shares.of(Limit::Nagle).is_zero(), "{}", told.screen());
}

#[test]
fn a_segment_that_waits_for_an_ack_is_held_back_at_the_server_too() {
    // Each request consists of two writes. The server delays the ACK of the first write, and answers when it has both.
    let rtt = 0.03;
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    script.add(packet(rtt, End::Client, 1000).ack(5000).window(500));
    let (mut at, mut client, mut server) = (rtt + 1e-4, 1000, 5000);
    for _ in 0..20 {
        script.add(packet(at, End::Client, client).ack(server).len(60).push());
        client += 60;
        at += 0.04;
        script.add(packet(at, End::Server, server).ack(client));
        at += rtt;
        script.add(packet(at, End::Client, client).ack(server).len(140).push());
        client += 140;
        let data = packet(at + 5e-4, End::Server, server).ack(client);
        script.add(data.len(300).push());
        server += 300;
        at += 5e-4 + rtt;
    }
    let told = Told::of(&script);
    let shares = &told.stream(Side::Opener).shares;
    assert!(shares.nagle_waits > 10, "{}", told.screen());
}
