//! Timers that expire although nothing was lost.

use dupack_diagnosis::Side;
use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Returns a capture of 30 requests with two writes each. The second write waits for the ACK of the first write
/// (Nagle's algorithm). The server delays this ACK by `delay` seconds, unless the first write is retransmitted, which
/// happens after `timeout` seconds. `near` is the time from the client to the capture point, and the round-trip time is
/// 40 ms.
fn requests(delay: f64, timeout: f64, near: f64) -> Script {
    let rtt = 0.04;
    let mut script = Script::new(Ip::V4, Link::Raw);
    let client = |at: f64, seq: u32, ack: u32| packet(at + near, End::Client, seq).ack(ack);
    let server = |at: f64, seq: u32, ack: u32| packet(at - near, End::Server, seq).ack(ack);
    script.add(packet(near, End::Client, 999).syn(1460, Some(7)));
    script.add(
        packet(rtt - near, End::Server, 4999)
            .syn(1460, Some(7))
            .ack(1000),
    );
    script.add(client(rtt, 1000, 5000));
    let (mut at, mut asked, mut answered) = (0.1, 1000, 5000);
    for _ in 0..30 {
        script.add(client(at, asked, answered).len(100).push());
        // The ACK arrives one round trip plus the delay after the request, or one round trip after the retransmission.
        let acked_at = at + rtt + delay.min(timeout);
        if timeout < delay + rtt {
            script.add(client(at + timeout, asked, answered).len(100).push());
        }
        script.add(server(acked_at, answered, asked + 100));
        script.add(
            client(acked_at + 1e-5, asked + 100, answered)
                .len(100)
                .push(),
        );
        at = acked_at + rtt;
        asked += 200;
        script.add(server(at, answered, asked).len(1000).push());
        answered += 1000;
        at += 0.01;
    }
    script
}

#[test]
fn a_delayed_ack_that_is_later_than_the_timer_is_no_loss() {
    let rtt = 0.04;
    // In a capture at the client, the retransmission is spurious because its ACK arrives sooner than one round trip
    // later. In a capture at the server, it is spurious because the original request has arrived.
    for (delay, timeout, near) in [
        (0.22, 0.24, 1e-5),
        (0.2, 0.22, 1e-5),
        (0.5, 0.24, rtt / 2.0 - 1e-5),
    ] {
        let told = Told::of(&requests(delay, timeout, near));
        let stream = told.stream(Side::Opener);
        let name = format!("{delay} {near}\n{}", told.screen());
        assert_eq!(stream.account.retransmissions, 30, "{name}");
        assert!(stream.account.needless() >= 29, "{name}");
        assert!(stream.account.needless_by_timer >= 29, "{name}");
        let of = |kind| stream.stalls.of(kind).count;
        assert!(of(StallKind::TailOpen) <= 1, "{name}");
        assert!(of(StallKind::AckDelayOrLoss) >= 28, "{name}");
        let screen = told.screen();
        assert!(!screen.contains("tail losses of"), "{name}");
        assert!(!screen.contains("losses keep"), "{name}");
    }
}
