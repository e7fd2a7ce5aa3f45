//! ACKs that a receiver delays, and silent periods next to them.

use dupack_diagnosis::analyse::budget::Group;
use dupack_diagnosis::analyse::stalls::{Culprit, KindTotal, StallKind};
use dupack_diagnosis::{Side, StreamFindings};
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

/// Round-trip time in seconds.
const RTT: f64 = 0.03;

/// Presence of timestamps in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Clock {
    Stamped,
    Plain,
}

/// Returns a capture at `seen_at` of turns with one segment in each direction. The client sends the next request
/// `think` seconds after an answer, and it delays its ACKs by 40 ms, unless it sends a request before.
fn talk(seen_at: End, clock: Clock, turns: u32, think: f64) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let stamped = |packet: Packet, at: f64, heard: f64| match clock {
        Clock::Stamped => packet.stamps((at * 1e3) as u32 + 9000, (heard * 1e3) as u32 + 9000),
        Clock::Plain => packet,
    };
    // A packet is captured later at the endpoint that receives it.
    let (up, down) = match seen_at {
        End::Client => (0.0, RTT / 2.0),
        End::Server => (RTT / 2.0, 0.0),
    };
    let mut from = |end: End, at: f64, heard: f64, seq: u32, made: &dyn Fn(Packet) -> Packet| {
        let way = if end == End::Client { up } else { down };
        let made = made(packet(at + way, end, seq).window(500));
        script.add(stamped(made, at, heard));
    };
    let half = RTT / 2.0;
    let syn = |packet: Packet| packet.syn(1460, Some(7));
    from(End::Client, 0.0, 0.0, 999, &syn);
    from(End::Server, half, 0.0, 4999, &|packet| {
        syn(packet).ack(1000)
    });
    from(End::Client, RTT, half, 1000, &|packet| packet.ack(5000));
    let (mut at, mut asked, mut sent, mut heard) = (RTT + 0.001, 1000, 5000, half);
    for _ in 0..turns {
        let request = |packet: Packet| packet.ack(sent).len(50).push();
        from(End::Client, at, heard, asked, &request);
        asked += 50;
        let left = at + half + 1e-3;
        let answer = |packet: Packet| packet.ack(asked).len(70).push();
        from(End::Server, left, at, sent, &answer);
        sent += 70;
        let came = left + half;
        heard = left;
        if think > 0.04 {
            let ack = |packet: Packet| packet.ack(sent);
            from(End::Client, came + 0.04, heard, asked, &ack);
        }
        at = came + think;
    }
    script
}

/// Returns the stalls of a kind.
fn stalls(stream: &StreamFindings, kind: StallKind) -> KindTotal {
    stream.stalls.of(kind)
}

#[test]
fn a_silence_after_a_delayed_ack_is_the_applications() {
    for seen_at in [End::Client, End::Server] {
        for clock in [Clock::Plain, Clock::Stamped] {
            for think in [0.3, 3.0] {
                let told = Told::of(&talk(seen_at, clock, 12, think));
                let stream = told.stream(Side::Answerer);
                let name = format!("{seen_at:?} {clock:?} {think}\n{}", told.screen());
                assert_eq!(stalls(stream, StallKind::PacketDelay).count, 0, "{name}");
                let idle = stalls(stream, StallKind::ClientIdle);
                assert_eq!(idle.count, 11, "{name}");
                let each = idle.time.as_secs_f64() / 11.0;
                assert!((each - (think - 0.04)).abs() < 0.04, "{each} {name}");
                // The network causes no stall. The stalls are in total no longer than the time that is attributed to
                // the application.
                let network = stream.stalls.longest.iter();
                let network = network.filter(|stall| stall.kind.culprit() == Culprit::Network);
                assert_eq!(network.count(), 0, "{name}");
                let unused = stream.shares.of_group(Group::Application);
                assert!(stream.stalls.time() <= unused, "{name}");
            }
        }
    }
}

#[test]
fn an_ack_that_waits_for_the_next_request_is_neither_late_nor_delayed() {
    // The client thinks for 35 ms, which is less than its ACK delay of 40 ms, so the next request carries each ACK.
    for seen_at in [End::Client, End::Server] {
        let told = Told::of(&talk(seen_at, Clock::Stamped, 12, 0.035));
        let stream = told.stream(Side::Answerer);
        for kind in [StallKind::PacketDelay, StallKind::DelayedAck] {
            assert_eq!(stalls(stream, kind).count, 0, "{}", told.screen());
        }
    }
}
