//! Predictions for other senders of a connection with turns.

use dupack_algorithms::catalog::Catalog;
use dupack_diagnosis::Side;
use dupack_diagnosis_tell::asking::{Asked, ask};
use dupack_diagnosis_tell::whatif::{Gain, Offer};
use dupack_lab::run::Interrupt;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

const ANSWERS: u32 = 20;
const RTT: f64 = 0.04;
const SERVER_THINKS: f64 = 0.003;
const CLIENT_THINKS: f64 = 0.03;

/// Returns a capture at a server of requests, and of answers with four segments. The round-trip time is 40 ms. The next
/// request carries the last ACK of an answer.
fn turns() -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).ack(1000).syn(1460, Some(7)));
    script.add(packet(RTT, End::Client, 1000).ack(5000).window(500));
    let (mut at, mut client, mut server) = (RTT + 0.001, 1000, 5000);
    for _ in 0..ANSWERS {
        script.add(
            packet(at, End::Client, client)
                .ack(server)
                .len(300)
                .push()
                .window(500),
        );
        client += 300;
        at += SERVER_THINKS;
        for n in 0..4 {
            let segment = packet(at + f64::from(n) * 1e-4, End::Server, server);
            let segment = segment.ack(client).len(1460).window(500);
            script.add(if n == 3 { segment.push() } else { segment });
            server += 1460;
        }
        let acked = packet(at + RTT + 1e-4, End::Client, client);
        script.add(acked.ack(server - 2 * 1460).window(500));
        at += 3e-4 + RTT + CLIENT_THINKS;
    }
    script.add(packet(at, End::Client, client).ack(server).window(500));
    script
}

#[test]
fn immediate_answers_are_simulated_individually() {
    let told = Told::of(&turns());
    let stream = told.stream(Side::Answerer);
    let writes = &stream.path.transfer.writes;
    assert_eq!(writes.len(), ANSWERS as usize);
    for write in &writes[1..] {
        // The client thinks while its ACK waits for the next request.
        let after = write.after.as_secs_f64();
        let thought = SERVER_THINKS + CLIENT_THINKS;
        assert!((after - thought).abs() < 0.002, "{write:?}");
        assert_eq!(write.bytes, 4 * 1460);
    }
    let asked = ask(stream, &Catalog::builtin(), None, &(), &Interrupt::new());
    let Ok(Asked::Answered(answers)) = asked else {
        panic!("{asked:?}");
    };
    // Nothing was lost, so all senders behave alike.
    for answer in answers.iter().filter(|answer| answer.offer == Offer::Given) {
        assert_ne!(answer.gain(), Gain::Faster, "{answer:?}");
    }
    let told = answers.iter().find_map(|answer| answer.replies.as_ref());
    let replies = told.expect("the fastest are told answer by answer");
    assert_eq!((replies.count, replies.sooner), (ANSWERS as usize, 0));
    let (median, longest) = replies.captured;
    assert!((median - RTT).abs() < 0.005 && longest < 2.0 * RTT + CLIENT_THINKS);
    assert!((replies.predicted.0 - RTT).abs() < 0.005, "{replies:?}");
}
