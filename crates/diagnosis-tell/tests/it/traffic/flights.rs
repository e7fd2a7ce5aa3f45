//! Flights whose size shows their limit.

use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

const MSS: u32 = 1460;

/// Returns `count` rounds of 100 ms. A round has `flight` full segments, and the receive window is 128 times `field`.
fn rounds(field: u16, count: u32, flight: impl Fn(u32) -> u32) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    script.add(packet(0.1, End::Client, 1000).ack(5000).window(field));
    let (mut sent, mut acked) = (5000, 5000);
    let mut at = 0.1001;
    for round in 0..count {
        let flight = flight(round);
        for n in 0..flight {
            let step = f64::from(n) * 1e-4;
            // In all rounds except the first, every second segment follows an ACK.
            if round > 0 && n % 2 == 0 && acked < sent {
                acked += MSS;
                script.add(
                    packet(at + step - 2e-5, End::Client, 1000)
                        .ack(acked)
                        .window(field),
                );
            }
            script.add(packet(at + step, End::Server, sent).ack(1000).len(1460));
            sent += MSS;
        }
        acked = sent - flight * MSS;
        at += 0.1;
    }
    script.add(packet(at, End::Client, 1000).ack(sent).window(field));
    script
}

#[test]
fn a_flight_that_does_not_grow_for_many_rounds_is_not_limited_by_the_congestion_window() {
    let told = Told::of(&rounds(5000, 120, |round| 13 - 3 * (round % 2)));
    let story = told.story();
    assert!(
        story.contains("its send buffer"),
        "{story}\n{}",
        told.screen()
    );
    assert!(!story.contains("congestion window limits"), "{story}");
}

#[test]
fn a_small_steady_flight_does_not_show_the_window_scale() {
    // 10 segments are 14,600 bytes, and a window of 115 times 128 bytes would be 14,720 bytes.
    let mut script = rounds(115, 120, |_| 10);
    script.retain(|packet: &Packet| packet.at_s() > 0.15);
    let story = Told::of(&script).story();
    assert!(!story.contains("eceive window of"), "{story}");
}
