//! The examples of docs/diagnose.md are the program's output. `DUPACK_WRITE_EXAMPLES=1` regenerates them.

use std::env;
use std::fs;
use std::path::Path;

use dupack_diagnosis::both::{Which, diagnose_both};
use dupack_diagnosis::{Diagnosis, Flow, Selection, diagnose};
use dupack_diagnosis_tell::summary::{Look, summary};
use dupack_lab::trace;
use dupack_packet::captured::CaptureReader;
use dupack_report::table::Colour;
use dupack_truth::both::Pair;
use dupack_truth::limits::tape::{self, Tape};
use dupack_truth::paths::judge::run;
use dupack_truth::script::{End, Ip, Link, Script, packet};

const PAGE: &str = "../../docs/diagnose.md";
const SHORT_ANSWERS: &str = "../../examples/short-answers.toml";
const SHORT_ANSWERS_SEED: u64 = 3;

/// Returns a capture of 3 MB over a link of 10 Mbit/s with a round-trip time of 60 ms and a loss rate of 2 %.
fn lossy_download() -> Vec<u8> {
    let text = "stacks = [\"rack/cubic\"]\nseeds = 1\nduration = \"300s\"\ndialect = \"linux\"\n\
                [path]\nrate = \"10Mbit/s\"\ndelay = \"30ms\"\nbuffer = \"100pkt\"\nloss = \"2%\"\n\
                [[flows]]\nbytes = \"3MB\"\n";
    trace::capture(&run(text, 1)).unwrap()
}

/// Returns a capture of eight requests to a server at a round-trip time of 40 ms. The server needs 300 ms for an
/// answer, and 1.9 s for one of the answers.
fn slow_server() -> Vec<u8> {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.04);
    let (mut at, mut client, mut server) = (0.05, 1000, 5000);
    for turn in 0..8 {
        script.add(
            packet(at, End::Client, client)
                .ack(server)
                .len(400)
                .push()
                .window(500),
        );
        client += 400;
        at += 0.04;
        script.add(packet(at, End::Server, server).ack(client).window(500));
        at += if turn == 5 { 1.9 } else { 0.3 };
        for n in 0..4 {
            let segment = packet(at + f64::from(n) * 2e-4, End::Server, server)
                .ack(client)
                .window(500);
            script.add(if n == 3 {
                segment.len(900).push()
            } else {
                segment.len(1460)
            });
            server += if n == 3 { 900 } else { 1460 };
        }
        at += 0.001;
        script.add(packet(at, End::Client, client).ack(server).window(500));
        at += 0.02;
    }
    script.pcap()
}

/// Returns a capture of forty requests without TCP_NODELAY. Each request consists of two short writes, and the other
/// host delays its ACKs by 40 ms.
fn nagle_stall() -> Vec<u8> {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 4e-4);
    let (mut at, mut client, mut server) = (0.001, 1000, 5000);
    for _ in 0..40 {
        script.add(
            packet(at, End::Client, client)
                .ack(server)
                .len(60)
                .push()
                .window(500),
        );
        client += 60;
        at += 0.0404;
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
    script.pcap()
}

/// Returns the diagnosis of a transfer of 5 MB over 10 Mbit/s and 60 ms with losses in both directions, captured at
/// both endpoints. The receiver's clock is two hours ahead and gains 30 ppm, and the sender is behind a NAT.
fn both_ends() -> Diagnosis {
    let text = "stacks = [\"rack/cubic\"]\nseeds = 1\nduration = \"300s\"\ndialect = \"linux\"\n\
                [path]\nrate = \"10Mbit/s\"\ndelay = \"30ms\"\nbuffer = \"100pkt\"\nloss = \"1%\"\n\
                reverse = { loss = \"3%\" }\n[[flows]]\nbytes = \"5MB\"\n";
    let mut pair = Pair::of(&Tape::of(text, 1));
    pair.clock(7200.0, 30.0);
    pair.nat();
    let files = tape::End::BOTH.map(|end| pair.file(end));
    let open = |which| {
        CaptureReader::new(match which {
            Which::First => files[0].as_slice(),
            Which::Second => files[1].as_slice(),
        })
    };
    diagnose_both(open, &Selection::default(), &mut ())
        .unwrap()
        .0
}

fn alone(capture: &[u8]) -> Diagnosis {
    let mut reader = CaptureReader::new(capture).unwrap();
    diagnose(&mut reader, Flow::All, &mut ()).unwrap()
}

fn screen(found: &Diagnosis) -> String {
    let look = Look {
        colour: Colour::No,
        width: Some(80),
        detailed: 1,
        listed: 0,
    };
    summary(found, None, &look).trim_end().to_owned()
}

/// Returns a capture of the answers of `examples/short-answers.toml` with the seed [`SHORT_ANSWERS_SEED`].
fn short_answers() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SHORT_ANSWERS);
    trace::capture(&run(&fs::read_to_string(path).unwrap(), SHORT_ANSWERS_SEED)).unwrap()
}

/// Beginning of the line about other senders. This line is the last one, and it is not compared because the simulations
/// take several seconds.
const WHAT_IF: &str = "\n  what if ";

#[test]
fn the_examples_are_the_programs_output() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let mut page = fs::read_to_string(&path).unwrap();
    let examples = [
        ("### A lossy download\n", alone(&lossy_download())),
        ("### A slow server\n", alone(&slow_server())),
        ("### A Nagle stall\n", alone(&nagle_stall())),
        ("## Both ends\n", both_ends()),
        (
            "## One capture from start to end\n",
            alone(&short_answers()),
        ),
    ];
    for (heading, found) in examples {
        let mut said = screen(&found);
        let start = page
            .find(heading)
            .unwrap_or_else(|| panic!("{PAGE} has no {heading}"));
        let open = start + page[start..].find("```text\n").unwrap() + "```text\n".len();
        let mut close = open + page[open..].find("\n```").unwrap();
        if let Some(before) = page[open..close].find(WHAT_IF) {
            close = open + before;
            said.truncate(said.rfind("\n\nIn the capture").unwrap());
        }
        if env::var_os("DUPACK_WRITE_EXAMPLES").is_some() {
            page.replace_range(open..close, &said);
            continue;
        }
        assert_eq!(&page[open..close], said, "{heading}");
    }
    if env::var_os("DUPACK_WRITE_EXAMPLES").is_some() {
        fs::write(&path, page).unwrap();
    }
}
