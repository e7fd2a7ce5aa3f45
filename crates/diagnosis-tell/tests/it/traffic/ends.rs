//! Captures at either end of a connection whose ends are in one machine or in one room.

use dupack_diagnosis::Side;
use dupack_diagnosis::analyse::budget::Group;
use dupack_diagnosis::read::vantage::Place;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Returns a download by a receiver with a window of `window` segments, captured at the receiver. The server is 40 µs
/// away, and the whole window queues at a link that takes `gap` seconds for a segment. The server's packets have a hop
/// limit of `hops`.
fn download(window: u16, gap: f64, hops: u8, with_stamps: bool) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let millis = |at: f64| (at * 1e3) as u32 + 1;
    let bytes = window * 1448;
    let mut add = |at: f64, end: End, seq: u32, ack: u32, len: u32, echo: f64| {
        let mut packet = packet(at, end, seq).ack(ack).len(len).window(bytes);
        if end == End::Server {
            packet = packet.hop_limit(hops);
        }
        if with_stamps {
            packet = packet.stamps(millis(at), millis(echo));
        }
        script.add(packet);
    };
    add(4e-5, End::Client, 1000, 5000, 0, 4e-5);
    add(5e-5, End::Client, 1000, 5000, 100, 4e-5);
    add(9e-5, End::Server, 5000, 1100, 0, 5e-5);
    let queued = f64::from(window) * gap;
    for n in 0..1000_u32 {
        let at = 0.001 + f64::from(n) * gap;
        // The segment was sent when the ACK of the segment one window earlier arrived.
        let sent = 5000 + n * 1448;
        add(at, End::Server, sent, 1100, 1448, (at - queued).max(5e-5));
        if n % 2 == 1 {
            add(at + 1e-5, End::Client, 1100, sent + 1448, 0, at);
        }
    }
    let opening = |at: f64, end: End, seq: u32| {
        let syn = packet(at, end, seq).syn(1460, Some(0)).window(bytes);
        if with_stamps { syn.stamps(1, 0) } else { syn }
    };
    script.add(opening(0.0, End::Client, 999));
    script.add(opening(3e-5, End::Server, 4999).ack(1000).hop_limit(hops));
    script
}

#[test]
fn behind_the_queue_is_the_receivers_end_even_near_the_sender() {
    for window in [6, 16, 40] {
        for gap in [0.0006, 0.0024, 0.024] {
            for (hops, with_stamps) in [(63, true), (63, false), (64, true)] {
                let told = Told::of(&download(window, gap, hops, with_stamps));
                let screen = told.screen();
                let stream = told.stream(Side::Answerer);
                let name = format!("{window} {gap} {hops} {with_stamps}\n{screen}");
                assert_eq!(stream.vantage.place, Place::Receiver, "{name}");
                assert_eq!(stream.sender.control.name, None, "{name}");
                assert!(!told.story().contains("application sent nothing"), "{name}");
            }
        }
    }
}

#[test]
fn late_arrival_at_the_receivers_end_is_no_pause() {
    // Each round trip of 40 ms has four segments, and the capture is taken at the client. For every tenth flight,
    // either the path takes 150 ms longer, or the server writes 150 ms later.
    for (is_path, wanted) in [(true, 0.05), (false, 0.15)] {
        let mut script = Script::new(Ip::V4, Link::Raw);
        let millis = |at: f64| (at * 1e3) as u32 + 1;
        script.add(
            packet(0.0, End::Client, 999)
                .syn(1460, Some(7))
                .stamps(1, 0),
        );
        let answer = packet(0.04, End::Server, 4999).syn(1460, Some(7)).ack(1000);
        script.add(answer.stamps(millis(0.02), 1));
        let (mut at, mut sent) = (0.04, 5000);
        for flight in 0..150 {
            let ack = packet(at + 1e-5, End::Client, 1000).ack(sent).window(500);
            script.add(ack.stamps(millis(at), millis(at - 0.02)));
            let late = if flight % 10 == 9 { 0.15 } else { 0.0 };
            let left = at + 0.02 + if is_path { 0.0 } else { late };
            at += 0.04 + late;
            for n in 0..4 {
                let data = packet(at + f64::from(n) * 1e-6, End::Server, sent).ack(1000);
                script.add(data.len(1448).stamps(millis(left), millis(left - 0.02)));
                sent += 1448;
            }
        }
        let told = Told::of(&script);
        let shares = &told.stream(Side::Answerer).shares;
        let paused = shares.share(shares.of_group(Group::Application));
        let screen = told.screen();
        assert_eq!(is_path, paused < wanted, "{paused}\n{screen}");
    }
}
