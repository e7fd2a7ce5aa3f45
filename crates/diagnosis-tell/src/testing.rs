//! Captures of simulated transfers, for tests.

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_diagnosis::read::follow::StreamId;
use dupack_diagnosis::{Diagnosis, Flow, Path, Selection, Side, StreamFindings, diagnose};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Job, Plan};
use dupack_lab::trace::{self, Trace};
use dupack_packet::captured::CaptureReader;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use crate::film::{Remarks, Scene, retell};
use crate::whatif::{Answer, Estimate, Gain, Offer, Role};

/// Returns the findings of a capture at the sender of a simulated flow.
pub(crate) fn stream(experiment: &str, seed: u64) -> StreamFindings {
    let source = Source::new("test.toml", experiment);
    let experiment = source.parse().unwrap();
    let plan = Plan::new(experiment, &source, &Catalog::builtin()).unwrap();
    let job = Job {
        point: 0,
        stack: 0,
        seed,
    };
    let trace = Trace::record(&plan.scenario(job), seed, &Interrupt::new()).unwrap();
    let file = trace::capture(&trace).unwrap();
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    let found = diagnose(&mut reader, Flow::All, &mut ()).unwrap();
    found.connections[0].main_stream().unwrap().clone()
}

/// Returns the path that a capture at the sender shows.
pub(crate) fn at_sender(experiment: &str, seed: u64) -> Path {
    stream(experiment, seed).path
}

/// Returns an answer with these predicted durations in seconds. The captured duration is 10 s.
pub(crate) fn answer(
    stack: &str,
    (low, mean, high): (f64, f64, f64),
    role: Role,
    offer: Offer,
) -> Answer {
    let stack = StackSpec::parse(stack, &Catalog::builtin()).unwrap();
    let estimate = |low, mean, high| Estimate { mean, low, high };
    Answer {
        stack,
        role,
        duration: estimate(low, mean, high),
        captured: 10.0,
        goodput: estimate(1.0, 1.0, 1.0),
        ratio: None,
        beside: match (low, high) {
            (_, high) if high < 10.0 => Gain::Faster,
            (low, _) if low > 10.0 => Gain::Slower,
            _ => Gain::None,
        },
        offer,
        senders: vec!["rack/reno".to_owned()],
        is_rivalled: false,
        replies: None,
    }
}

/// Returns a download of eight segments of 1000 bytes with a round-trip time of 50 ms, captured at the server. The
/// second segment is lost, and it is retransmitted after three duplicate ACKs. A timer retransmits the seventh segment,
/// whose ACK was late. Then the client closes its receive window for 100 ms.
pub(crate) fn download() -> Vec<u8> {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let data = |at, n: u32| packet(at, End::Server, 5000 + n * 1000).ack(1000).len(1000);
    let ack = |at, n: u32| {
        let packet = packet(at, End::Client, 1000).ack(5000 + n * 1000);
        packet.window(500)
    };
    let block =
        |packet: Packet, from: u32, to: u32| packet.sack(5000 + from * 1000, 5000 + to * 1000);
    script.add(packet(0.0, End::Client, 999).syn(1000, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).syn(1000, Some(7)).ack(1000));
    script.add(ack(0.05, 0));
    for n in 0..6 {
        script.add(data(0.051 + f64::from(n) * 1e-5, n));
    }
    script.add(ack(0.101, 1));
    for n in 3..6 {
        script.add(block(ack(0.1011 + f64::from(n) * 1e-5, 1), 2, n));
    }
    script.add(data(0.1012, 1));
    script.add(ack(0.152, 6));
    script.add(data(0.153, 6));
    script.add(data(0.15301, 7));
    script.add(data(0.403, 6));
    script.add(ack(0.404, 8));
    script.add(block(ack(0.454, 8), 6, 7));
    script.add(ack(0.5, 8).window(0));
    script.add(ack(0.6, 8));
    script.pcap()
}

/// Returns the findings of [`download`].
pub(crate) fn found() -> Diagnosis {
    let file = download();
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    diagnose(&mut reader, Flow::All, &mut ()).unwrap()
}

/// Returns the scene of [`download`], which describes each packet.
pub(crate) fn scene(remarks: Remarks) -> Scene {
    let file = download();
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    let all = retell(&mut reader, &[1], &Selection::default(), remarks, &mut ()).unwrap();
    let of_server =
        |(stream, scene): (StreamId, Scene)| (stream.sender == Side::Answerer).then_some(scene);
    all.into_iter().find_map(of_server).unwrap()
}
