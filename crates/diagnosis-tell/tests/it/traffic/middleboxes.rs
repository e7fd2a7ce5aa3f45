//! Middleboxes: a small MTU without ICMP messages, rewritten sequence numbers, and a removed window scale.

use dupack_diagnosis::Side;
use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

#[test]
fn a_path_that_drops_full_segments_is_named_with_both_sizes() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    let client = |at: f64, seq: u32, ack: u32| packet(at, End::Client, seq).ack(ack).window(500);
    let server = |at: f64, seq: u32, ack: u32| packet(at, End::Server, seq).ack(ack).window(500);
    script.add(client(0.03, 1000, 5000));
    script.add(client(0.0301, 1000, 5000).len(300).push());
    script.add(server(0.0302, 5000, 1300));
    script.add(server(0.031, 5000, 1300).len(700).push());
    script.add(client(0.061, 1300, 5700));
    script.add(client(0.0611, 1300, 5700).len(300).push());
    script.add(server(0.0612, 5700, 1600));
    for n in 0..3 {
        script.add(server(0.065 + f64::from(n) * 1e-5, 5700 + 1460 * n, 1600).len(1460));
    }
    script.add(server(0.065_04, 10_080, 1600).len(200).push());
    script.add(client(0.0951, 1600, 5700).sack(10_080, 10_280));
    script.add(server(0.125, 8620, 1600).len(1460));
    let (mut at, mut timeout) = (0.0951, 0.23);
    for _ in 0..7 {
        at += timeout;
        timeout *= 2.0;
        script.add(server(at, 5700, 1600).len(1460));
    }
    script.add(client(at + 1.0, 1600, 5700));
    let told = Told::of(&script);
    let story = told.story();
    assert!(
        story.starts_with(
            "Segments of 1460 bytes never arrive, but segments of 700 bytes do: packets of 740 bytes pass, packets of 1500"
        ),
        "{story}"
    );
}

#[test]
fn losses_are_no_black_hole() {
    // One full segment and its retransmissions are lost. The other segments arrive.
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.02);
    for n in 0..10 {
        script.add(
            packet(0.03 + f64::from(n) * 1e-4, End::Server, 5000 + 1460 * n)
                .ack(1000)
                .len(1460),
        );
        if n > 0 {
            let sack = packet(0.05 + f64::from(n) * 1e-4, End::Client, 1000).ack(5000);
            script.add(sack.sack(6460, 6460 + 1460 * n));
        }
    }
    for (n, at) in [0.3, 0.7, 1.5, 3.1, 6.3].into_iter().enumerate() {
        script.add(packet(at, End::Server, 5000).ack(1000).len(1460));
        if n == 4 {
            script.add(packet(at + 0.02, End::Client, 1000).ack(5000 + 14_600));
        }
    }
    let told = Told::of(&script);
    assert_eq!(told.stream(Side::Answerer).signs.black_hole, None);
    assert!(
        told.story().contains("waiting for retransmission timers"),
        "{}",
        told.story()
    );
}

#[test]
fn sack_blocks_of_other_bytes_are_named() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.03);
    let offset = 1_200_000_000;
    let (mut at, mut sent) = (0.031, 5000);
    for _ in 0..20 {
        for n in 0..10 {
            script.add(
                packet(at + f64::from(n) * 1e-5, End::Server, sent + 1460 * n)
                    .ack(1000)
                    .len(1460)
                    .window(500),
            );
        }
        let hole = sent + 1460 * 3;
        at += 0.03;
        script.add(packet(at, End::Client, 1000).ack(hole).window(500));
        for n in 4..10 {
            let dup = packet(at + f64::from(n - 3) * 1e-5, End::Client, 1000)
                .ack(hole)
                .window(500);
            script.add(dup.sack(hole + 1460 + offset, sent + 1460 * (n + 1) + offset));
        }
        at += 0.25;
        script.add(
            packet(at, End::Server, hole)
                .ack(1000)
                .len(1460)
                .window(500),
        );
        at += 0.03;
        sent += 14_600;
        script.add(packet(at, End::Client, 1000).ack(sent).window(500));
        at += 0.001;
    }
    let told = Told::of(&script);
    let story = told.story();
    assert!(
        story.contains("120 SACK blocks name bytes that were never sent"),
        "{story}"
    );
    let stream = told.stream(Side::Answerer);
    assert_eq!(stream.path.losses, 20, "{}", told.screen());
    assert!(!story.contains("had arrived"), "{story}");
    assert_eq!(
        stream.stalls.of(StallKind::ForeignSack).count,
        20,
        "{}",
        told.screen()
    );
    assert_eq!(stream.stalls.count(), 20, "{}", told.screen());
}

#[test]
fn a_sender_that_does_not_know_the_scale_is_named() {
    for (field, end) in [
        (502, End::Server),
        (2920, End::Client),
        (4000, End::Server),
        (14_600, End::Server),
        (14_600, End::Client),
    ] {
        let story = Told::of(&with_field(field, end)).story();
        let bound = format!("without its scale, {field} bytes");
        assert!(story.contains(&bound), "{field} {end:?}: {story}");
    }
}

/// Returns a capture at `end` of 100 flights. The server does not know the client's window scale of 7, so each of its
/// flights fills a window of `field` bytes. The one-way delay is 50 ms.
fn with_field(field: u16, end: End) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    // Delay from the server to the capture point, and delay from there to the client.
    let (near, far) = match end {
        End::Server => (0.0, 0.05),
        End::Client => (0.05, 0.0),
    };
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(
        packet(near + 1e-4, End::Server, 4999)
            .syn(1460, Some(7))
            .ack(1000),
    );
    let asked = 0.0501;
    script.add(packet(asked, End::Client, 1000).ack(5000).window(field));
    let request = packet(asked + 1e-4, End::Client, 1000).ack(5000);
    script.add(request.window(field).len(100));
    let (mut at, mut sent) = (asked + 2e-4, 5000);
    script.add(packet(at + near, End::Server, sent).ack(1100).window(502));
    for _ in 0..100 {
        at += 1e-3;
        let mut left = u32::from(field);
        while left > 0 {
            let len = left.min(1460);
            at += 2e-5;
            let data = packet(at + near, End::Server, sent).ack(1100);
            script.add(data.len(len).window(502));
            (sent, left) = (sent + len, left - len);
        }
        at += 1e-4;
        let came = at + near + far;
        script.add(packet(came, End::Client, 1100).ack(sent).window(field));
        // The ACK reaches the server after the one-way delay.
        at = came + near;
    }
    script
}
