//! Conclusions about the congestion control of senders.

use dupack_diagnosis::Side;
use dupack_diagnosis::sender::Control;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Returns a client's upload, captured at the client. The client sends two segments at a time. Its rate is 10 Mbit/s
/// times one of the gains, and each gain applies for one round trip of 40 ms. Like Linux, the client sets PSH on the
/// last segment that it passes to the interface at once.
fn paced(gains: &[f64]) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let rtt = 0.04;
    script.open(0.0, rtt);
    let (begin, mut at, mut seq) = (2.0 * rtt, 2.0 * rtt, 1000);
    while at < 12.0 {
        for n in 0..2 {
            let segment = packet(at + f64::from(n) * 1e-6, End::Client, seq)
                .ack(5000)
                .len(1460);
            script.add(if n == 1 { segment.push() } else { segment });
            seq += 1460;
        }
        script.add(packet(at + rtt, End::Server, 5000).ack(seq).window(8000));
        let round = ((at - begin) / rtt) as usize;
        at += 2.4e-3 / gains[round % gains.len()];
    }
    script
}

fn control_of(gains: &[f64]) -> (Option<Control>, String) {
    let told = Told::of(&paced(gains));
    let control = told.stream(Side::Opener).sender.control.clone();
    (control.name, control.why)
}

#[test]
fn a_rate_with_the_cycle_of_eight_round_trips_is_version_1_of_bbr() {
    let (name, why) = control_of(&[1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(name, Some(Control::BbrOne), "{why}");
    assert!(why.contains("eight round trips"), "{why}");
}

#[test]
fn a_paced_rate_alone_names_no_control() {
    for gains in [&[1.0][..], &[1.25, 0.75, 1.0, 1.0, 1.0][..]] {
        let (name, why) = control_of(gains);
        assert_eq!(name, None, "{why}");
        assert!(why.contains("it was paced"), "{why}");
    }
}
