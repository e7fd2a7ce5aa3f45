//! Requests and answers whose times for network, server, transfer, repair, window and client are known.

use dupack_diagnosis::analyse::hints;
use dupack_diagnosis::{Request, Requests, Side};
use dupack_diagnosis_tell::numbers::{json, requests_csv};
use dupack_diagnosis_tell::requests::table;
use dupack_packet::captured::CaptureReader;
use dupack_report::page::Block;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

const RTT: f64 = 0.03;
/// Time that a host takes to answer in the handshake, in seconds.
const HOST: f64 = 1e-4;

/// A client and a server that take turns, captured at one endpoint. All times are times of the capture.
struct Talk {
    script: Script,
    seen_at: End,
    at: f64,
    client: u32,
    server: u32,
}

impl Talk {
    fn new(seen_at: End) -> Self {
        let mut script = Script::new(Ip::V4, Link::Raw);
        match seen_at {
            End::Client => script.open(0.0, RTT),
            End::Server => {
                script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
                script.add(packet(HOST, End::Server, 4999).syn(1460, Some(7)).ack(1000));
                script.add(packet(HOST + RTT, End::Client, 1000).ack(5000).window(500));
            }
        }
        Self {
            script,
            seen_at,
            at: 0.1,
            client: 1000,
            server: 5000,
        }
    }

    /// Advances the time.
    fn later(&mut self, seconds: f64) -> &mut Self {
        self.at += seconds;
        self
    }

    /// Adds a request of `bytes` bytes.
    fn asks(&mut self, bytes: u32) -> &mut Self {
        let request = packet(self.at, End::Client, self.client);
        self.script
            .add(request.ack(self.server).len(bytes).push().window(500));
        self.client += bytes;
        self
    }

    /// Adds an answer of `bytes` bytes.
    fn answers(&mut self, bytes: u32) -> &mut Self {
        let answer = packet(self.at, End::Server, self.server);
        self.script
            .add(answer.ack(self.client).len(bytes).push().window(500));
        self.server += bytes;
        self
    }

    /// Adds an ACK of the client for all data.
    fn acks(&mut self) -> &mut Self {
        let ack = packet(self.at, End::Client, self.client);
        self.script.add(ack.ack(self.server).window(500));
        self
    }

    /// Returns the time from a request to the first byte of its answer in the capture, if the server takes `server_s`
    /// seconds.
    fn wait(&self, server_s: f64) -> f64 {
        match self.seen_at {
            End::Client => RTT + server_s,
            End::Server => HOST + server_s,
        }
    }

    /// Returns the time from the end of an answer to the next request in the capture, if the client thinks for
    /// `think_s` seconds.
    fn think(&self, think_s: f64) -> f64 {
        match self.seen_at {
            End::Client => HOST + think_s,
            End::Server => RTT + think_s,
        }
    }

    /// Adds a request, its answer after `server_s` seconds, and an ACK. The answer has `segments` segments, which are
    /// one millisecond apart.
    fn turn(&mut self, server_s: f64, segments: u32) -> &mut Self {
        self.asks(200);
        self.later(self.wait(server_s));
        for n in 0..segments {
            if n > 0 {
                self.later(0.001);
            }
            self.answers(1460);
        }
        let last = self.at;
        self.later(self.think(0.0)).acks();
        self.at = last;
        self
    }

    fn told(&self) -> Told {
        Told::of(&self.script)
    }
}

/// Returns the diagnosis of two requests and their answers, including their beginnings. The capture contains these
/// bytes of each request and of each answer.
fn with_texts(texts: [[&'static [u8]; 2]; 2]) -> Told {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, RTT);
    let (mut at, mut client, mut server) = (0.1, 1000, 5000);
    for [asked, answered] in texts {
        let request = packet(at, End::Client, client).ack(server).len(400);
        script.add(request.text(asked).push().window(500));
        client += 400;
        let answer = packet(at + 0.1, End::Server, server).ack(client).len(900);
        script.add(answer.text(answered).push().window(500));
        server += 900;
        at += 0.2;
    }
    let mut told = Told::of(&script);
    let file = script.pcap();
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    hints::look_up(&mut reader, &mut told.0.connections, &mut ()).unwrap();
    told
}

#[test]
fn beginnings_of_requests_are_printed_if_plain_and_captured() {
    let told = with_texts([
        [
            b"GET /slow?token=secret HTTP/1.1\r\n\r\n",
            b"HTTP/1.1 503 Service Unavailable\r\n",
        ],
        [&[23, 3, 3, 1, 0], &[23, 3, 3, 2, 0]],
    ]);
    let [screen, json] = [told.screen(), json(&told.0, None)];
    assert!(screen.contains("(GET /slow… → status 503)"), "{screen}");
    assert!(json.contains("\"content\": \"GET /slow…\""), "{json}");
    assert!(
        json.contains("\"content\": \"TLS application data\""),
        "{json}"
    );
    let csv = String::from_utf8(requests_csv(&told.0)).unwrap();
    assert!(csv.contains(",GET /slow…,status 503"), "{csv}");
    let page = format!("{:?}", table(told.connection()));
    assert!(
        page.contains("GET /slow… → status 503") && page.contains("TLS application data"),
        "{page}"
    );
    assert!(!page.contains("secret") && !json.contains("secret"));
}

#[test]
fn truncated_or_binary_bytes_are_not_printed() {
    let told = with_texts([
        [b"GET /cut-off", b"HTTP/1.1 20"],
        [b"GET /\x1b[2J HTTP/1.1\r\n", b"\x1b[31m"],
    ]);
    for text in [told.screen(), json(&told.0, None)] {
        assert!(!text.contains('\u{1b}') && !text.contains("GET"), "{text}");
    }
    let page = format!("{:?}", table(told.connection()));
    assert!(!page.contains("content"), "{page}");
}

fn found(told: &Told) -> &Requests {
    told.connection().requests.as_ref().expect("requests")
}

/// Returns the request with this number.
fn nth(told: &Told, number: u64) -> &Request {
    let mut all = found(told).worst.iter();
    all.find(|request| request.number == number)
        .expect("the request")
}

fn micros(time: dupack_tcp::time::Duration) -> u64 {
    (time.as_secs_f64() * 1e6).round() as u64
}

/// Returns the parts of a request's time in microseconds: network, request transfer, server, transfer, repair, window,
/// pauses.
fn parts(request: &Request) -> [u64; 7] {
    request.parts.named().map(|(_, time)| micros(time))
}

/// Both ends of a connection.
const ENDS: [End; 2] = [End::Client, End::Server];

#[test]
fn network_server_transfer_and_think_time_are_known_at_either_end() {
    for end in ENDS {
        let mut talk = Talk::new(end);
        talk.turn(0.0, 1);
        talk.later(talk.think(0.4)).turn(0.07, 3);
        talk.later(talk.think(2.0)).turn(2.9, 11);
        let told = talk.told();
        let requests = found(&told);
        let screen = told.screen();
        assert_eq!((requests.asker, requests.count), (Side::Opener, 3));
        assert_eq!(requests.round_trip.map(micros), Some(30_100), "{screen}");
        assert_eq!(parts(nth(&told, 1)), [30_100, 0, 0, 0, 0, 0, 0], "{screen}");
        assert_eq!(
            parts(nth(&told, 2)),
            [30_100, 0, 70_000, 2000, 0, 0, 0],
            "{screen}"
        );
        assert_eq!(
            parts(nth(&told, 3)),
            [30_100, 0, 2_900_000, 10_000, 0, 0, 0],
            "{screen}"
        );
        let think = [1, 2, 3].map(|number| nth(&told, number).think.map(micros));
        assert_eq!(think, [None, Some(400_000), Some(2_000_000)], "{screen}");
        let durations = requests.duration;
        assert_eq!(
            [durations.p50, durations.p95, durations.max].map(micros),
            [102_100, 2_940_100, 2_940_100]
        );
        let server = requests.server;
        assert_eq!(
            [server.p50, server.p95, server.max].map(micros),
            [70_000, 2_900_000, 2_900_000]
        );
        let worst = requests.worst[0];
        assert_eq!((worst.number, worst.request.bytes), (3, 200));
        assert_eq!(worst.answer.bytes, 11 * 1460);
        // Three packets open the connection, three belong to the first turn, and five to the second turn.
        assert_eq!(
            (worst.request.first_packet, worst.answer.last_packet),
            (12, 23)
        );
        assert!(
            screen.contains(
                "3 requests: p50 102 ms, p95 2.9 s; the worst 2.9 s at packet 12: server 2.9 s"
            ),
            "{screen}"
        );
    }
}

#[test]
fn a_lost_request_is_repair_and_not_time_of_the_server() {
    let mut talk = Talk::new(End::Client);
    talk.turn(0.01, 1).later(0.2);
    let (client, at) = (talk.client, talk.at);
    talk.asks(200);
    // The retransmission timer retransmits the request.
    let again = packet(at + 0.23, End::Client, client);
    let again = again.ack(talk.server).len(200).push().window(500);
    talk.script.add(again);
    talk.later(0.23 + RTT + 0.05)
        .answers(1000)
        .later(HOST)
        .acks();
    let told = talk.told();
    assert_eq!(
        parts(nth(&told, 2)),
        [30_100, 0, 50_000, 0, 230_000, 0, 0],
        "{}",
        told.screen()
    );
    assert_eq!(nth(&told, 2).request.bytes, 200);
}

/// Returns two turns. The second answer has 12 segments, of which the fourth is lost.
fn lossy(end: End) -> Talk {
    let mut talk = Talk::new(end);
    talk.turn(0.01, 1).later(0.2).asks(200);
    talk.later(talk.wait(0.005));
    let (client, first) = (talk.client, talk.server);
    let (begun, hole) = (talk.at, first + 3 * 1460);
    let ack_after = match end {
        End::Client => HOST,
        End::Server => RTT,
    };
    for n in 0..12 {
        let at = begun + f64::from(n) * 1e-4;
        let segment = packet(at, End::Server, first + n * 1460)
            .ack(client)
            .window(500);
        if n == 3 && end == End::Client {
            // The capture lacks this segment, because it was lost before the capture point.
            talk.script.unseen(End::Server);
            continue;
        }
        talk.script.add(segment.len(1460));
        if n != 3 {
            let ack = packet(at + ack_after, End::Client, client).window(500);
            let end = first + (n + 1) * 1460;
            talk.script.add(if n < 3 {
                ack.ack(end)
            } else {
                ack.ack(hole).sack(hole + 1460, end)
            });
        }
    }
    // The third duplicate ACK is triggered by the seventh segment.
    let repaired = begun + 6e-4 + RTT;
    let repair = packet(repaired, End::Server, hole).ack(client).window(500);
    talk.script.add(repair.len(1460));
    talk.server = first + 12 * 1460;
    talk.at = repaired + ack_after;
    talk.acks();
    talk
}

#[test]
fn the_repair_of_an_answer_is_known_at_either_end() {
    for end in ENDS {
        let told = lossy(end).told();
        // Without the loss, the answer would take 1.1 ms.
        assert_eq!(
            parts(nth(&told, 2)),
            [30_100, 0, 5000, 1100, 29_500, 0, 0],
            "{end:?}\n{}",
            told.screen()
        );
        assert_eq!(nth(&told, 2).answer.bytes, 12 * 1460);
    }
}

#[test]
fn a_timeout_within_an_answer_is_repair() {
    let mut talk = Talk::new(End::Server);
    talk.turn(0.01, 1).later(0.2).asks(200);
    talk.later(talk.wait(0.02)).answers(1000);
    let again = packet(talk.at + 0.25, End::Server, talk.server - 1000);
    let again = again.ack(talk.client).len(1000).push().window(500);
    talk.script.add(again);
    talk.later(0.25 + RTT).acks();
    let told = talk.told();
    assert_eq!(
        parts(nth(&told, 2)),
        [30_100, 0, 20_000, 0, 250_000, 0, 0],
        "{}",
        told.screen()
    );
}

#[test]
fn a_shut_window_within_an_answer_is_the_receivers() {
    let mut talk = Talk::new(End::Server);
    talk.turn(0.01, 1).later(0.2).asks(200);
    talk.later(talk.wait(0.02)).answers(1460).answers(1460);
    let ack = |talk: &Talk, at: f64, window: u16| {
        packet(at, End::Client, talk.client)
            .ack(talk.server)
            .window(window)
    };
    let shut = talk.at + RTT;
    talk.script.add(ack(&talk, shut, 0));
    talk.script.add(ack(&talk, shut + 1.0, 500));
    talk.later(RTT + 1.0 + HOST).answers(1460);
    talk.later(RTT).acks();
    let told = talk.told();
    let [network, sending, server, transfer, repair, window, pauses] = parts(nth(&told, 2));
    assert_eq!([network, sending, server], [30_100, 0, 20_000]);
    assert_eq!(transfer + window + repair + pauses, 1_030_100);
    assert_eq!((repair, window / 100_000), (0, 10), "{}", told.screen());
}

#[test]
fn a_pause_within_an_answer_is_the_servers() {
    let mut talk = Talk::new(End::Server);
    talk.turn(0.01, 1).later(0.2).asks(200);
    talk.later(talk.wait(0.02)).answers(300);
    talk.later(RTT).acks().later(0.8).answers(300);
    talk.later(RTT).acks();
    let told = talk.told();
    let [network, sending, server, transfer, repair, window, pauses] = parts(nth(&told, 2));
    assert_eq!([network, sending, server], [30_100, 0, 20_000]);
    assert_eq!(
        [transfer, repair, window, pauses],
        [0, 0, 0, 830_000],
        "{}",
        told.screen()
    );
}

#[test]
fn pipelined_requests_are_one_turn() {
    for end in ENDS {
        let mut talk = Talk::new(end);
        talk.turn(0.01, 1).later(0.2).asks(200);
        talk.later(talk.wait(0.02)).answers(1460);
        // The second request arrives while the first answer is sent.
        match end {
            End::Client => {
                let known = talk.client;
                talk.later(HOST).asks(300);
                let late = packet(talk.at + 1e-4, End::Server, talk.server);
                talk.script.add(late.ack(known).len(1460).window(500));
                talk.server += 1460;
            }
            End::Server => {
                let known = talk.server;
                talk.later(HOST).answers(1460).later(HOST);
                let early = packet(talk.at, End::Client, talk.client);
                talk.script
                    .add(early.ack(known).len(300).push().window(500));
                talk.client += 300;
            }
        }
        talk.later(0.1).answers(1460);
        talk.later(talk.think(0.0)).acks();
        talk.later(0.3).turn(0.01, 1);
        let told = talk.told();
        let requests = found(&told);
        let screen = told.screen();
        assert_eq!((requests.count, requests.joined), (3, 1), "{screen}");
        let joined = nth(&told, 2);
        assert_eq!((joined.joined, joined.request.bytes), (1, 500), "{screen}");
        assert_eq!(joined.answer.bytes, 3 * 1460);
        assert!(
            screen.contains("; 1 consists of several pipelined requests"),
            "{screen}"
        );
    }
}

#[test]
fn one_transfer_has_no_table_of_requests() {
    let mut talk = Talk::new(End::Client);
    talk.turn(0.01, 20);
    let told = talk.told();
    assert_eq!(told.connection().requests, None);
    assert!(!told.screen().contains("requests"), "{}", told.screen());
}

#[test]
fn files_have_a_row_per_request() {
    let told = lossy(End::Server).told();
    let csv = String::from_utf8(requests_csv(&told.0)).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    let worst = "1,2,opener,0,0.310100,7,0.310100,7,200,0.315200,8,0.345800,26,17520,\
                 0.065700,0.030100,0.000000,0.005000,0.001100,0.029500,0.000000,0.000000,0.170000,,";
    assert_eq!(lines[1], worst);
    let json: serde_json::Value = serde_json::from_str(&json(&told.0, None)).unwrap();
    let requests = &json["connections"][0]["requests"];
    assert_eq!(requests["requests"], 2);
    assert_eq!(requests["worst"][0]["repair_s"], 0.0295);
    // The page has one column for each part that takes time.
    let blocks = table(told.connection());
    let [
        Block::Table {
            header,
            rows,
            caption,
        },
    ] = blocks.as_slice()
    else {
        panic!("one table: {blocks:?}");
    };
    assert_eq!(
        header[1..],
        [
            "sent (s)",
            "first byte (s)",
            "last byte (s)",
            "packets",
            "request",
            "answer",
            "time",
            "network",
            "server",
            "transfer",
            "loss repair",
            "think time before"
        ]
    );
    assert_eq!(rows.len(), 2);
    // The first row is the worst request, with its times in the capture.
    let times: Vec<&str> = rows[0][1..4]
        .iter()
        .map(|cell| cell.text.as_str())
        .collect();
    assert_eq!(times, ["0.310", "0.315", "0.346"]);
    assert!(rows.iter().all(|row| row.len() == header.len()));
    assert!(
        caption.starts_with("2 requests: half took 40 ms or less, 95 % took 66 ms or less"),
        "{caption}"
    );
}
