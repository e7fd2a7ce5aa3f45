//! Captures without the packets of one direction, or without some packets.

use dupack_diagnosis::Side;
use dupack_diagnosis::findings::AcksSeen;
use dupack_diagnosis_tell::measures;
use dupack_diagnosis_tell::story::headline;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

/// Returns a transfer of 3 MB in 1 s.
pub(super) fn transfer() -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.02);
    let mut sent = 5000;
    for round in 0..50 {
        let at = 0.021 + f64::from(round) * 0.0205;
        for n in 0..40 {
            script.add(
                packet(at + f64::from(n) * 1e-5, End::Server, sent)
                    .ack(1000)
                    .len(1460)
                    .window(500),
            );
            sent += 1460;
        }
        for n in 0..20 {
            let ack = sent - 2920 * (19 - n);
            script.add(
                packet(at + 0.02 + f64::from(n) * 1e-5, End::Client, 1000)
                    .ack(ack)
                    .window(900),
            );
        }
    }
    script
}

#[test]
fn without_acks_the_bytes_are_printed_and_no_limit() {
    let mut script = transfer();
    script.retain(|packet: &Packet| packet.from() == End::Server);
    let told = Told::of(&script);
    let stream = told.connection().main_stream().unwrap();
    assert_eq!(stream.coverage.acks, AcksSeen::None);
    assert_eq!(stream.bytes(), 50 * 40 * 1460);
    let story = told.story();
    assert_eq!(
        story,
        "2.9 MB were sent in 1 s; the ACKs are not in this capture: the limit cannot be determined."
    );
    assert!(!told.screen().contains("application"), "{}", told.screen());
    told.nothing_was_lost();
}

#[test]
fn a_capture_of_acks_shows_the_amount_of_data_that_it_lacks() {
    let mut script = transfer();
    script.add(
        packet(0.0205, End::Client, 1000)
            .ack(5000)
            .len(100)
            .window(900),
    );
    script.retain(|packet: &Packet| packet.from() == End::Client);
    let said = headline(Told::of(&script).connection());
    assert_eq!(
        said,
        "10.0.0.2:443 sent 2.9 MB, but this capture has none of its packets, only the ACKs of 10.0.0.1:40000: the limit \
         cannot be determined."
    );
    let lines = measures::lines(&Told::of(&script).0);
    let cells: Vec<&str> = lines.lines().nth(1).unwrap().split('\t').collect();
    assert_eq!(cells[3..5], ["opener", "-"], "{lines}");
    // If the request is also missing, the capture has no data at all.
    script.retain(|packet: &Packet| packet.at_s() != 0.0205);
    let said = headline(Told::of(&script).connection());
    assert!(
        said.ends_with(
            "the capture has no packet of 10.0.0.2:443, although 2.9 MB from it were acknowledged."
        ),
        "{said}"
    );
}

#[test]
fn data_that_the_capture_lacks_is_counted() {
    for every in [100_u64, 20, 2] {
        let mut script = transfer();
        let mut data = 0;
        let mut left_out = 0;
        script.retain(|packet: &Packet| {
            let is_data = packet.from() == End::Server && packet.at_s() > 0.021;
            data += u64::from(is_data);
            let out = is_data && data % every == 1;
            left_out += u64::from(out);
            !out
        });
        let told = Told::of(&script);
        let stream = told.stream(Side::Answerer);
        // All bytes that the capture lacks are counted, because they are acknowledged.
        assert_eq!(stream.coverage.unseen_bytes, left_out * 1460, "{every}");
        assert_eq!(
            stream.account.retransmissions,
            0,
            "{every}\n{}",
            told.screen()
        );
        assert_eq!(stream.path.losses, 0, "{every}\n{}", told.screen());
        assert!(
            told.screen()
                .contains("were acknowledged but are not in the capture")
        );
    }
}

#[test]
fn a_segment_that_the_capture_lacks_was_not_retransmitted_after_the_pause_that_follows() {
    // The server sends a message of two segments every 355 ms. The capture is taken at the receiver, which acknowledges
    // each segment.
    for every in [7_u32, 30] {
        let mut script = Script::new(Ip::V4, Link::Raw);
        script.open(0.0, 0.02);
        let mut sent = 5000;
        for n in 0..60_u32 {
            let at = 0.1 + f64::from(n) * 0.355;
            for (part, len) in [1448, 337].into_iter().enumerate() {
                let at = at + part as f64 * 1e-4;
                let data = packet(at, End::Server, sent).ack(1000).len(len);
                script.add(if part == 1 { data.push() } else { data });
                sent += len;
                script.add(packet(at + 1e-5, End::Client, 1000).ack(sent).window(500));
            }
        }
        let mut short = 0;
        script.retain(|packet: &Packet| {
            let is_short = packet.from() == End::Server && packet.bytes() == 337;
            short += u32::from(is_short);
            !is_short || short % every != every - 1
        });
        let told = Told::of(&script);
        told.nothing_was_lost();
        let lacks = told.stream(Side::Answerer).coverage.unseen_bytes;
        assert_eq!(lacks, u64::from(60 / every) * 337, "{}", told.screen());
    }
}

#[test]
fn a_fin_after_keep_alives_is_no_retransmission_where_the_capture_lacks_a_keep_alive() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    script.add(packet(0.02, End::Client, 1000).ack(5000).window(500));
    script.add(packet(0.03, End::Client, 1000).ack(5000).len(463).push());
    let mut sent = 5000;
    for n in 0..40 {
        let at = 0.06 + f64::from(n) * 1e-3;
        script.add(packet(at, End::Server, sent).ack(1463).len(1448));
        sent += 1448;
        script.add(packet(at + 0.02, End::Client, 1463).ack(sent).window(500));
    }
    for n in 1..6 {
        let at = f64::from(n) * 1.01;
        let probe = packet(at, End::Client, 1462).ack(sent).window(500);
        script.add(probe);
        script.add(packet(at + 1e-5, End::Server, sent).ack(1463));
    }
    script.add(packet(5.5, End::Client, 1463).ack(sent).window(500).fin());
    script.add(packet(5.51, End::Server, sent).ack(1464).fin());
    script.add(packet(5.53, End::Client, 1464).ack(sent + 1).window(500));
    // The capture at the server lacks the last keep-alive.
    script.retain(|packet: &Packet| {
        packet.from() == End::Server || (packet.at_s() - 5.05).abs() > 0.01
    });
    Told::of(&script).nothing_was_lost();
}
