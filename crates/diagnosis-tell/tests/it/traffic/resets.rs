//! Resets without effect.

use dupack_diagnosis::Side;
use dupack_diagnosis::read::ending::WhyIgnored;
use dupack_tcp::connection::Flags;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

/// Returns a transfer of one megabyte in rounds of ten segments, with the packet `reset` as a reset in between.
fn transfer(reset: Packet) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 4999).syn(1460, None));
    script.add(packet(0.04, End::Server, 999).syn(1460, None).ack(5000));
    script.add(packet(0.0401, End::Client, 5000).ack(1000));
    script.add(packet(0.041, End::Client, 5000).ack(1000).len(200).push());
    script.add(packet(0.081, End::Server, 1000).ack(5200));
    let mut sent = 1000;
    for round in 0..70 {
        let at = 0.0811 + f64::from(round) * 0.14;
        for n in 0..10 {
            script.add(
                packet(at + f64::from(n) * 1e-5, End::Server, sent)
                    .ack(5200)
                    .len(1460),
            );
            sent += 1460;
        }
        for n in 0..5 {
            let ack = sent - 2920 * (4 - n);
            script.add(packet(at + 0.04 + f64::from(n) * 1e-5, End::Client, 5200).ack(ack));
        }
    }
    script.add(reset.flags(Flags::RST));
    script
}

#[test]
fn a_reset_of_a_syn_that_does_not_acknowledge_it_ends_nothing() {
    let told = Told::of(&transfer(packet(0.002, End::Server, 4999).id(7777)));
    let ending = told.connection().ending;
    assert_eq!(ending.reset, None, "{}", told.screen());
    assert_eq!(
        ending.ignored.map(|one| one.why),
        Some(WhyIgnored::NotOfTheSyn)
    );
    assert!(
        told.screen()
            .contains("packet 2) had no effect: it does not acknowledge the SYN")
    );
    assert_eq!(told.stream(Side::Answerer).bytes(), 70 * 14_600);
}

#[test]
fn a_reset_outside_the_window_ends_nothing() {
    let told = Told::of(&transfer(
        packet(2.9, End::Client, 5200 + 3_000_000).id(7777),
    ));
    let ending = told.connection().ending;
    assert_eq!(ending.reset, None, "{}", told.screen());
    assert_eq!(
        ending.ignored.map(|one| one.why),
        Some(WhyIgnored::OutsideWindow)
    );
}

#[test]
fn a_reset_within_the_window_from_an_end_that_continues_ends_nothing() {
    let told = Told::of(&transfer(packet(2.9, End::Client, 5200).id(7777)));
    let ending = told.connection().ending;
    assert_eq!(ending.reset, None, "{}", told.screen());
    assert_eq!(ending.ignored.map(|one| one.why), Some(WhyIgnored::WentOn));
}

#[test]
fn a_reset_at_the_end_ends_the_connection() {
    let told = Told::of(&transfer(packet(10.5, End::Client, 5200)));
    assert!(told.connection().ending.reset.is_some());
    assert!(told.screen().contains("by a reset from 10.0.0.1:40000"));
}
