//! Paths that drop segments of a certain size, for various sizes.

use dupack_diagnosis::Side;
use dupack_diagnosis::analyse::signs::{BlackHole, Evidence};
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Returns a capture in which segments of `fails` bytes are lost. The sender first sends `flight` such segments, and
/// after four timeouts it sends segments of `passes` bytes.
fn black_hole(fails: u16, passes: u16, flight: u32) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(fails, Some(7)));
    script.add(
        packet(1e-4, End::Server, 4999)
            .syn(fails, Some(7))
            .ack(1000),
    );
    let client = |at: f64, seq: u32, ack: u32| packet(at, End::Client, seq).ack(ack).window(500);
    let server =
        |at: f64, seq: u32, len: u16| packet(at, End::Server, seq).ack(1300).len(u32::from(len));
    script.add(client(0.03, 1000, 5000));
    script.add(client(0.0301, 1000, 5000).len(300).push());
    script.add(server(0.0302, 5000, 0));
    for n in 0..flight {
        let at = 0.031 + f64::from(n) * 1e-5;
        script.add(server(at, 5000 + n * u32::from(fails), fails));
    }
    let (mut at, mut timeout) = (0.031, 0.23);
    for _ in 0..4 {
        at += timeout;
        timeout *= 2.0;
        script.add(server(at, 5000, fails));
    }
    at += 0.5;
    let mut sent = 5000;
    for _ in 0..100 {
        script.add(server(at, sent, passes));
        sent += u32::from(passes);
        script.add(client(at + 0.03, 1300, sent));
        at += 0.031;
    }
    script
}

#[test]
fn both_sizes_are_named_for_all_sizes_of_packets() {
    let sizes = [
        (8948, 1448),
        (8948, 8000),
        (4000, 1448),
        (2500, 1200),
        (1460, 536),
        (1460, 1388),
        (1360, 1300),
    ];
    for (fails, passes) in sizes {
        for flight in [1, 4, 10] {
            let told = Told::of(&black_hole(fails, passes, flight));
            let found = told.stream(Side::Answerer).signs.black_hole;
            let wanted = BlackHole {
                passes: passes.into(),
                fails: fails.into(),
                transmissions: u64::from(flight) + 4,
                evidence: Evidence::NeverArrives,
            };
            let name = format!("{fails} {passes} {flight}\n{}", told.screen());
            assert_eq!(found, Some(wanted), "{name}");
            let said = format!(
                "Segments of {fails} bytes never arrive, but segments of {passes} bytes do"
            );
            assert!(told.story().starts_with(&said), "{name}");
        }
    }
}

/// Behaviour of a sender after it has divided a segment into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The sender continues to send pieces until the end.
    Pieces,
    /// The first piece is lost as well.
    PieceLost,
    /// The sender sends full segments again after three pieces. All of these segments arrive.
    FullAgain,
}

/// Returns a capture in which `before` full segments of a server arrive. The next flight of ten segments is lost,
/// except for the second segment if `sacked`. The first segment of the flight is retransmitted `repeats` times and then
/// divided into pieces.
fn cut(before: u32, sacked: bool, repeats: i32, then: Then) -> Script {
    const FULL: u32 = 1460;
    const PIECE: u32 = 1024;
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.03);
    let server = |at: f64, seq: u32, len: u32| packet(at, End::Server, seq).ack(1000).len(len);
    let client = |at: f64, ack: u32| packet(at, End::Client, 1000).ack(ack).window(60_000);
    let (mut at, mut sent) = (0.031, 5000);
    for _ in 0..before {
        script.add(server(at, sent, FULL));
        sent += FULL;
        script.add(client(at + 0.03, sent));
        at += 0.031;
    }
    for n in 0..10 {
        script.add(server(at + f64::from(n) * 1e-5, sent + n * FULL, FULL));
    }
    if sacked {
        let sack = client(at + 0.03, sent);
        script.add(sack.sack(sent + FULL, sent + 2 * FULL));
    }
    let all = sent + 10 * FULL;
    for n in 0..repeats {
        at += 0.25 * f64::from(1 << n);
        script.add(server(at, sent, FULL));
    }
    at += 0.25 * f64::from(1 << repeats);
    let mut pieces = 0;
    while sent < all {
        let full = then == Then::FullAgain && pieces >= 3;
        let len = if full { FULL } else { PIECE }.min(all - sent);
        script.add(server(at, sent, len));
        if pieces == 0 && then == Then::PieceLost {
            at += 0.25 * f64::from(2 << repeats);
            script.add(server(at, sent, len));
        }
        sent += len;
        pieces += 1;
        script.add(client(at + 0.03, sent));
        at += 0.031;
    }
    script
}

#[test]
fn a_segment_that_arrives_once_it_is_cut_is_named() {
    for before in [0, 1, 50] {
        for repeats in [2, 3, 5] {
            let told = Told::of(&cut(before, false, repeats, Then::Pieces));
            let name = format!("{before} {repeats}\n{}", told.screen());
            let found = told.stream(Side::Answerer).signs.black_hole.expect(&name);
            assert_eq!((found.passes, found.fails), (1024, 1460), "{name}");
            let said = format!(
                "A segment of 1460 bytes was sent {} times in vain and arrived once it was cut to 1024",
                repeats + 1
            );
            let never = "Segments of 1460 bytes never arrive, but segments of 1024 bytes do";
            let wanted = if before == 0 && repeats > 3 {
                never
            } else {
                &said
            };
            assert!(told.story().starts_with(wanted), "{name}");
        }
    }
}

#[test]
fn a_segment_that_is_cut_after_losses_is_no_black_hole() {
    for before in [1, 50] {
        for (sacked, repeats, then) in [
            (false, 1, Then::Pieces),
            (true, 2, Then::Pieces),
            (false, 3, Then::PieceLost),
            (false, 3, Then::FullAgain),
            (true, 4, Then::FullAgain),
        ] {
            let told = Told::of(&cut(before, sacked, repeats, then));
            let found = told.stream(Side::Answerer).signs.black_hole;
            let name = format!("{before} {sacked} {repeats} {then:?}\n{}", told.screen());
            assert_eq!(found, None, "{name}");
        }
    }
}
