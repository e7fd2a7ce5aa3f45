//! Ways to open a connection.

use dupack_diagnosis::Side;
use dupack_diagnosis_tell::notes::notes;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Adds 20 rounds of ten segments from `from`, acknowledged in pairs one round trip later. Returns the next sequence
/// number.
fn rounds(
    script: &mut Script,
    from: End,
    (mut at, rtt): (f64, f64),
    mut seq: u32,
    ack: u32,
) -> u32 {
    let to = if from == End::Client {
        End::Server
    } else {
        End::Client
    };
    for _ in 0..20 {
        for n in 0..10 {
            script.add(
                packet(at + f64::from(n) * 1e-5, from, seq)
                    .ack(ack)
                    .len(1460),
            );
            seq += 1460;
        }
        for n in 0..5 {
            let number = seq - 2920 * (4 - n);
            script.add(
                packet(at + rtt + f64::from(n) * 1e-5, to, ack)
                    .ack(number)
                    .window(1000),
            );
        }
        at += rtt + 5e-4;
    }
    seq
}

#[test]
fn two_ends_may_open_it_at_once() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(0.05, End::Server, 4999).syn(1460, Some(7)));
    script.add(
        packet(0.0501, End::Client, 999)
            .syn(1460, Some(7))
            .ack(5000),
    );
    script.add(packet(0.1, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    script.add(packet(0.1001, End::Client, 1000).ack(5000));
    rounds(&mut script, End::Client, (0.11, 0.1), 1000, 5000);
    let told = Told::of(&script);
    told.nothing_was_lost();
    assert!(!told.screen().contains("handshake  "), "{}", told.screen());
    let note = "both ends opened the connection at once (RFC 9293 §3.5, figure 7)";
    assert_eq!(notes(told.connection()), [note]);
    let rtt = told.stream(Side::Opener).path.least_rtt.value().unwrap();
    assert!((0.098..0.102).contains(&rtt.as_secs_f64()), "{rtt:?}");
}

#[test]
fn a_syn_answered_only_by_a_syn_is_no_simultaneous_open() {
    // The server's SYN arrives after the client's SYN was sent, and no SYN of the server acknowledges the client's SYN.
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(0.05, End::Server, 4999).syn(1460, Some(7)));
    let answer = packet(0.0501, End::Client, 999).syn(1460, Some(7));
    script.add(answer.ack(5000));
    script.add(packet(0.1, End::Server, 5000).ack(1000));
    rounds(&mut script, End::Client, (0.11, 0.1), 1000, 5000);
    let screen = Told::of(&script).screen();
    assert!(!screen.contains("at once (RFC 9293"), "{screen}");
}

#[test]
fn an_ordinary_handshake_has_no_note() {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, 0.1);
    rounds(&mut script, End::Server, (0.11, 0.1), 5000, 1000);
    assert!(notes(Told::of(&script).connection()).is_empty());
}

/// Returns a connection whose SYN has 500 bytes of data. The answer to the SYN acknowledges `taken` of these bytes.
fn fast_open(taken: u32) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, None).len(500));
    script.add(
        packet(0.02, End::Server, 4999)
            .syn(1460, None)
            .ack(1000 + taken),
    );
    let first = packet(0.0201, End::Client, 1000).ack(5000);
    match taken {
        0 => script.add(first.len(500).push()),
        _ => script.add(packet(0.0201, End::Client, 1500).ack(5000)),
    }
    script.add(packet(0.04, End::Server, 5000).ack(1500));
    let end = rounds(&mut script, End::Server, (0.041, 0.02), 5000, 1500);
    script.add(packet(0.6, End::Client, 1500).ack(end).len(60).push());
    script.add(packet(0.62, End::Server, end).ack(1560));
    script
}

#[test]
fn data_of_a_syn_that_the_server_does_not_accept_is_not_lost() {
    let told = Told::of(&fast_open(0));
    told.nothing_was_lost();
    assert_eq!(told.stream(Side::Opener).bytes(), 560);
    assert!(
        told.screen()
            .contains("did not accept the 500 B in the SYN"),
        "{}",
        told.screen()
    );
}

#[test]
fn a_retransmitted_syn_with_data_may_have_been_lost() {
    // The second SYN has no data. This SYN is answered.
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, None).len(500));
    script.add(packet(1.0, End::Client, 999).syn(1460, None));
    script.add(packet(1.02, End::Server, 4999).syn(1460, None).ack(1000));
    let first = packet(1.0201, End::Client, 1000).ack(5000);
    script.add(first.len(500).push());
    script.add(packet(1.04, End::Server, 5000).ack(1500));
    let end = rounds(&mut script, End::Server, (1.041, 0.02), 5000, 1500);
    script.add(packet(1.6, End::Client, 1500).ack(end).len(60).push());
    script.add(packet(1.62, End::Server, end).ack(1560));
    let told = Told::of(&script);
    let screen = told.screen();
    let words: Vec<&str> = screen.split_whitespace().collect();
    let screen = words.join(" ");
    assert!(
        screen.contains("does not acknowledge the 500 B"),
        "{screen}"
    );
    assert!(
        screen.contains("it or its answer was lost, or the answer arrived late"),
        "{screen}"
    );
    assert!(!screen.contains("nothing was lost"), "{screen}");
}

#[test]
fn data_of_a_syn_that_the_server_accepts_is_sent_once() {
    let told = Told::of(&fast_open(500));
    told.nothing_was_lost();
    assert_eq!(told.stream(Side::Opener).bytes(), 560);
    assert!(!told.screen().contains("did not accept"));
}
