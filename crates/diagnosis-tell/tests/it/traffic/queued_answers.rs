//! Requests and answers that queue before a slow link, captured at the server's end.

use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// 20 requests, each sent when the answer before is complete, and answered by `segments` at once, which the link passes in `gap`
/// seconds each. Each second segment is acknowledged, and the last one. The round trip takes `rtt`.
fn answers(segments: u32, gap: f64, rtt: f64) -> (Script, f64) {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-5, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    let client = |at: f64, seq: u32, ack: u32| packet(at, End::Client, seq).ack(ack).window(2000);
    script.add(client(rtt, 1000, 5000));
    let (mut at, mut asked, mut sent) = (rtt + 1e-4, 1000, 5000);
    for _ in 0..20 {
        script.add(client(at, asked, sent).len(100).push());
        asked += 100;
        for n in 0..segments {
            let data = packet(
                at + 1e-4 + f64::from(n) * 1e-6,
                End::Server,
                sent + n * 1448,
            );
            let data = data.ack(asked).len(1448);
            script.add(if n + 1 == segments { data.push() } else { data });
            if n % 2 == 1 || n + 1 == segments {
                let back = at + 1e-4 + f64::from(n + 1) * gap + rtt;
                script.add(client(back, asked, sent + (n + 1) * 1448));
            }
        }
        sent += segments * 1448;
        at += 1e-4 + f64::from(segments) * gap + rtt + 2e-4;
    }
    (script, 1e-4 + f64::from(segments) * gap + rtt)
}

#[test]
fn an_answer_is_over_when_its_last_byte_has_arrived() {
    for (segments, gap, rtt) in [
        (10, 0.012, 0.02),
        (20, 0.001, 0.02),
        (40, 0.006, 0.1),
        (2, 0.001, 0.05),
    ] {
        let (script, wanted) = answers(segments, gap, rtt);
        let told = Told::of(&script);
        let requests = told.connection().requests.as_ref().unwrap();
        let name = format!("{segments} {gap} {rtt}\n{}", told.screen());
        assert_eq!(requests.count, 20, "{name}");
        let p50 = requests.duration.p50.as_secs_f64();
        assert!(
            (p50 - wanted).abs() < 0.002 + 0.02 * wanted,
            "{p50} {wanted} {name}"
        );
        let worst = &requests.worst[0];
        assert!(
            worst.think.is_none_or(|think| think.as_secs_f64() < 0.002),
            "{name}"
        );
        let pauses = worst.parts.pauses.as_secs_f64();
        assert!(pauses < 0.05 * wanted, "{pauses} {name}");
    }
}
