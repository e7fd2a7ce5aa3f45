//! Connections that were not opened, and endpoints that stop responding. The first sentence says so.

use dupack_diagnosis::Side;
use dupack_diagnosis_tell::diagnosis_page::{Scenes, files};
use dupack_diagnosis_tell::numbers::json;
use dupack_diagnosis_tell::story::headline;
use dupack_engine::folder::MemoryFolder;
use dupack_report::files::PAGE;
use dupack_tcp::connection::Flags;
use dupack_tcp::time::Duration;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

fn told(packets: impl IntoIterator<Item = Packet>) -> Told {
    let mut script = Script::new(Ip::V4, Link::Raw);
    for packet in packets {
        script.add(packet);
    }
    Told::of(&script)
}

fn first_sentence(packets: impl IntoIterator<Item = Packet>) -> String {
    let told = told(packets);
    let said = headline(told.connection());
    // All outputs have the same first sentence.
    let screen = on_one_line(&told.screen());
    assert!(screen.starts_with(&said), "{screen}");
    let document: serde_json::Value = serde_json::from_str(&json(&told.0, None)).unwrap();
    assert_eq!(document["connections"][0]["headline"], said.as_str());
    said
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn syn(at: f64) -> Packet {
    packet(at, End::Client, 999).syn(1460, Some(7))
}

fn answer(at: f64) -> Packet {
    packet(at, End::Server, 4999).syn(1460, Some(7)).ack(1000)
}

/// Returns the third packet of the handshake, which the client sends.
fn opened(at: f64) -> Packet {
    packet(at, End::Client, 1000).ack(5000).window(500)
}

fn reset(at: f64, from: End, seq: u32, ack: u32) -> Packet {
    packet(at, from, seq).ack(ack).flags(Flags::RST)
}

#[test]
fn a_syn_without_an_answer_comes_first() {
    let times = [0.0, 1.0, 3.0, 7.0, 15.0, 31.0];
    let said = first_sentence(times.map(syn));
    assert_eq!(
        said,
        "The SYN got no answer: 10.0.0.1:40000 sent its SYN 6 times in 31 s, and the capture has no packet of 10.0.0.2:443."
    );
    let said = first_sentence([syn(0.0)]);
    assert!(said.contains("sent its SYN once"), "{said}");
}

#[test]
fn a_refused_connection_comes_first() {
    let tries = [0.0, 0.5, 1.0].map(|at| [syn(at), reset(at + 0.02, End::Server, 0, 1000)]);
    let said = first_sentence(tries.into_iter().flatten());
    assert_eq!(
        said,
        "10.0.0.2:443 refused the connection: 10.0.0.1:40000 sent its SYN 3 times in 1 s and got 3 resets."
    );
}

#[test]
fn a_syn_ack_without_an_answer_comes_first() {
    let all = [
        syn(0.0),
        answer(0.02),
        answer(1.02),
        answer(3.02),
        answer(7.02),
    ];
    let said = first_sentence(all);
    assert_eq!(
        said,
        "The SYN-ACK got no answer: 10.0.0.2:443 sent its SYN-ACK 4 times in 7 s, and the capture has no ACK of \
         10.0.0.1:40000."
    );
    // In this capture, there is no packet of the client.
    let said = first_sentence([answer(0.02)]);
    assert!(
        said.contains("the capture has no packet of 10.0.0.1:40000"),
        "{said}"
    );
}

#[test]
fn a_connection_without_data_is_no_failure() {
    let open = [syn(0.0), answer(0.02), opened(0.0201)];
    let fin = packet(5.0, End::Client, 1000).ack(5000).fin();
    let said = first_sentence(open.into_iter().chain([fin]));
    assert_eq!(
        said,
        "The connection was opened, and carried no data in 5 s."
    );
    let scan = [
        syn(0.0),
        answer(0.02),
        reset(0.0201, End::Client, 1000, 5000),
    ];
    let said = first_sentence(scan);
    assert!(said.ends_with("10.0.0.1:40000 reset it."), "{said}");
}

/// Returns a handshake, a request and its answer.
fn exchange() -> Vec<Packet> {
    vec![
        syn(0.0),
        answer(0.03),
        opened(0.0301),
        opened(0.0302).len(300).push(),
        packet(0.061, End::Server, 5000).ack(1300).len(700).push(),
        packet(0.0612, End::Client, 1300).ack(5700).window(500),
    ]
}

/// Returns keep-alives at these times.
fn keep_alives(times: &[f64]) -> Vec<Packet> {
    let probe = |at: &f64| packet(*at, End::Client, 1299).ack(5700).window(500);
    times.iter().map(probe).collect()
}

#[test]
fn keep_alives_without_an_answer_come_first() {
    let probes = keep_alives(&[60.0, 75.0, 90.0, 105.0, 120.0]);
    let gives_up = reset(135.0, End::Client, 1300, 5700);
    let all = exchange().into_iter().chain(probes).chain([gives_up]);
    let found = told(all.clone());
    let silence = found.connection().silence.expect("a silence");
    assert_eq!((silence.side, silence.last), (Side::Answerer, 5));
    assert_eq!(silence.asked.keep_alives, 5);
    // Most of the connection's time passed before the endpoint became silent.
    assert!(!headline(found.connection()).contains("sent nothing more"));
    let note = "10.0.0.2:443 sent nothing more after 61 ms (packet 5): 5 keep-alives in 60 s got no answer";
    let screen = on_one_line(&found.screen());
    assert!(screen.contains(note), "{screen}");
    let probes = keep_alives(&[10.0, 20.0, 30.0, 40.0, 50.0]);
    let said = first_sentence(exchange().into_iter().chain(probes));
    assert!(
        said.contains("5 keep-alives in 40 s got no answer"),
        "{said}"
    );
}

#[test]
fn a_request_without_an_answer_comes_first() {
    let mut all = vec![syn(0.0), answer(0.03), opened(0.0301)];
    let (mut at, mut wait) = (0.0302, 0.23);
    for _ in 0..8 {
        all.push(opened(at).len(300).push());
        at += wait;
        wait *= 2.0;
    }
    let said = first_sentence(all.clone());
    assert_eq!(
        said,
        "10.0.0.2:443 sent nothing more after 30 ms (packet 2): 8 segments with data in 29 s got no answer."
    );
    let document: serde_json::Value =
        serde_json::from_str(&json(&told(all.clone()).0, None)).unwrap();
    let silence = &document["connections"][0]["silence"];
    assert_eq!(
        (&silence["silent"], &silence["unanswered_data"]),
        (&"answerer".into(), &8.into())
    );
    // The server finally answers.
    all.push(packet(40.0, End::Server, 5000).ack(1300));
    let answered = told(all);
    assert_eq!(answered.connection().silence, None);
}

#[test]
fn an_end_that_resets_the_connection_is_not_silent() {
    let all = exchange().into_iter();
    let crossing = [1.0, 2.0, 3.0].map(|at| packet(at, End::Client, 1300).ack(5700).len(200));
    let all = all
        .chain([reset(0.5, End::Server, 5700, 1300)])
        .chain(crossing);
    assert_eq!(told(all).connection().silence, None);
}

#[test]
fn data_in_flight_at_the_end_of_the_capture_is_no_silence() {
    let data = (0..40_u32).map(|n| {
        packet(1.0 + f64::from(n) * 0.1, End::Client, 1300 + n * 1000)
            .ack(5700)
            .len(1000)
    });
    assert_eq!(
        told(exchange().into_iter().chain(data))
            .connection()
            .silence,
        None
    );
}

#[test]
fn the_page_begins_with_the_first_sentence_and_lists_the_connection() {
    let found = told([syn(0.0), syn(1.0), syn(3.0)]);
    let made = files(&found.0, None, ("x.pcap", 1), &Scenes::new(), &[]).unwrap();
    let folder = MemoryFolder::default();
    made.write(&folder).unwrap();
    let page = String::from_utf8(folder.into_files()[PAGE].clone()).unwrap();
    assert!(page.contains("The SYN got no answer"), "{page}");
    assert!(page.contains("no answer to 3 SYNs"), "{page}");
    let screen = found.screen();
    assert!(screen.contains("1 connection without data"), "{screen}");
    assert_eq!(found.connection().lost(), Some(Duration::from_secs(3)));
}
