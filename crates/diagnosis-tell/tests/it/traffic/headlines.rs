//! Choice of the stream that the first sentence describes, and this sentence.

use dupack_diagnosis::{Flow, Side, diagnose};
use dupack_diagnosis_tell::story::story;
use dupack_packet::captured::CaptureReader;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Adds a request of 300 bytes and an answer of `segments` segments, ten per round trip of 50 ms. The client's FIN
/// follows 8 s after the answer.
fn download(script: &mut Script, ports: (u16, u16), segments: u32) {
    download_and_linger(script, ports, segments, 8.0);
}

/// Adds the same packets as `download`, but the client's FIN follows `linger` seconds after the answer.
fn download_and_linger(script: &mut Script, ports: (u16, u16), segments: u32, linger: f64) {
    let of = |at: f64, end: End, seq: u32| packet(at, end, seq).ports(ports.0, ports.1);
    script.add(of(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(of(0.05, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    script.add(of(0.0501, End::Client, 1000).ack(5000).window(500));
    script.add(
        of(0.0502, End::Client, 1000)
            .ack(5000)
            .window(500)
            .len(300)
            .push(),
    );
    script.add(of(0.1, End::Server, 5000).ack(1300));
    let (mut at, mut sent) = (0.101, 5000);
    for n in 0..segments {
        script.add(
            of(at + f64::from(n % 10) * 1e-5, End::Server, sent)
                .ack(1300)
                .len(1460),
        );
        sent += 1460;
        if n % 10 == 9 || n + 1 == segments {
            at += 0.05;
            script.add(of(at, End::Client, 1300).ack(sent).window(500));
        }
    }
    script.add(of(at + 0.001, End::Server, sent).ack(1300).fin());
    script.add(of(at + 0.051, End::Client, 1300).ack(sent + 1).window(500));
    script.add(of(at + linger, End::Client, 1300).ack(sent + 1).fin());
    script.add(of(at + linger + 0.05, End::Server, sent + 1).ack(1301));
}

/// A client with a pool of connections closes a connection long after its last answer.
#[test]
fn a_client_that_closes_late_does_not_make_its_request_the_headline() {
    for (segments, linger) in [(4, 1.0), (40, 5.0), (100, 30.0), (1000, 600.0)] {
        let mut script = Script::new(Ip::V4, Link::Raw);
        download_and_linger(&mut script, (40_000, 443), segments, linger);
        let told = Told::of(&script);
        let main = told.connection().main_stream().unwrap();
        assert_eq!(
            main.side,
            Side::Answerer,
            "{segments} {linger}: {}",
            told.screen()
        );
    }
}

#[test]
fn a_download_comes_before_its_request_and_its_fin() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    download(&mut script, (40_000, 443), 1000);
    let told = Told::of(&script);
    let main = told.connection().main_stream().unwrap();
    assert_eq!((main.side, main.bytes()), (Side::Answerer, 1_460_000));
    assert_eq!(told.stream(Side::Opener).bytes(), 300);
    let screen = told.screen();
    assert!(screen.contains("1.5 MB in"), "{screen}");
    assert!(screen.contains("reverse data"), "{screen}");
}

#[test]
fn a_fin_alone_is_no_data() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.02);
    script.add(packet(8.0, End::Client, 1000).ack(5000).fin());
    script.add(packet(8.02, End::Server, 5000).ack(1001).fin());
    script.add(packet(8.03, End::Client, 1001).ack(5001));
    let told = Told::of(&script);
    assert!(told.connection().main_stream().is_none());
    assert!(told.screen().contains("no data"), "{}", told.screen());
}

#[test]
fn the_connection_that_an_end_waits_for_comes_first() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    // As with iperf3, one connection carries control messages with little data, and another one carries the data.
    let control = |at: f64, end: End, seq: u32| packet(at, end, seq).ports(39_999, 5201);
    script.add(control(-0.2 + 0.2, End::Client, 999).syn(1460, Some(7)));
    script.add(
        control(0.05, End::Server, 4999)
            .syn(1460, Some(7))
            .ack(1000),
    );
    script.add(control(0.0501, End::Client, 1000).ack(5000));
    script.add(control(0.06, End::Client, 1000).ack(5000).len(37).push());
    script.add(control(0.11, End::Server, 5000).ack(1037));
    download(&mut script, (40_000, 5201), 2000);
    script.add(control(15.0, End::Client, 1037).ack(5000).len(1).push());
    script.add(control(15.05, End::Server, 5000).ack(1038));
    let file = script.pcap();
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    let found = diagnose(&mut reader, Flow::All, &mut ()).unwrap();
    let first = &found.connections[0];
    assert_eq!(
        first.addresses.opener.port(),
        40_000,
        "{}",
        story(first.main_stream().unwrap())
    );
}

#[test]
fn a_shaper_before_the_capture_point_is_named_with_its_rate() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    script.add(packet(0.03, End::Client, 1000).ack(5000).window(2000));
    let spacing = 1500.0 * 8.0 / 20e6;
    let mut sent = 5000;
    for n in 0..5000_u32 {
        let at = 0.04 + f64::from(n) * spacing;
        script.add(
            packet(at, End::Server, sent)
                .ack(1000)
                .len(1460)
                .window(500),
        );
        sent += 1460;
        if n % 2 == 1 {
            script.add(packet(at + 0.03, End::Client, 1000).ack(sent).window(2000));
        }
    }
    let told = Told::of(&script);
    let story = told.story();
    assert!(
        story.starts_with("Packets leave at a constant 20 Mbit/s"),
        "{story}\n{}",
        told.screen()
    );
}
