//! Paths that swallow segments of a size, whatever the sizes are.

use dupack_diagnosis::Side;
use dupack_diagnosis::analyse::signs::BlackHole;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Segments of `fails` bytes vanish; after four timeouts the sender takes those of `passes` bytes. It had sent `flight` of the former.
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
fn both_sizes_are_those_of_packets_whatever_they_are() {
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
            };
            let name = format!("{fails} {passes} {flight}\n{}", told.screen());
            assert_eq!(found, Some(wanted), "{name}");
            let said = format!("Segments of {fails} bytes never arrive and those of {passes} do");
            assert!(told.story().starts_with(&said), "{name}");
        }
    }
}
