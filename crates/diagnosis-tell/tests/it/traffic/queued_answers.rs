//! Requests and answers that queue at a slow link.

use dupack_diagnosis::Side;
use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Returns a capture of 20 requests, and the duration of each. A request is sent when the previous answer is complete,
/// and it is answered by `segments` segments at once. The link takes `gap` seconds for each segment, and the round-trip
/// time is `rtt`. Every second segment and the last segment are acknowledged.
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

/// Returns a capture at the client of answers with one segment each. The client sends the next request after `think`
/// seconds. The link takes 59 ms for each answer, except for the first answer, which passes at once, as through a token
/// bucket. The timestamps show that each answer was sent `late` seconds after its request.
fn of_a_segment(turns: u32, think: f64, late: f64) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let clock = |at: f64| 70_000 + (at * 1e3) as u32;
    script.add(
        packet(0.0, End::Client, 999)
            .syn(1460, Some(7))
            .stamps(clock(0.0), 0),
    );
    let answer = packet(2e-5, End::Server, 4999).syn(1460, Some(7)).ack(1000);
    script.add(answer.stamps(clock(2e-5), clock(0.0)).hop_limit(63));
    let (mut at, mut asked, mut sent, mut echo) = (4e-5, 1000, 5000, clock(2e-5));
    for turn in 0..turns {
        let request = packet(at, End::Client, asked)
            .ack(sent)
            .len(8)
            .push()
            .window(500);
        script.add(request.stamps(clock(at), echo));
        asked += 8;
        let (late, way) = if turn == 0 {
            (0.0, 0.0)
        } else {
            (late, 0.0587)
        };
        let left = clock(at + 1e-5 + late);
        let came = at + 2e-5 + way;
        let answer = packet(came, End::Server, sent).ack(asked).len(1400).push();
        script.add(answer.stamps(left, clock(at)).window(500).hop_limit(63));
        (sent, echo) = (sent + 1400, left);
        at = came + think;
    }
    script.add(
        packet(at, End::Client, asked)
            .ack(sent)
            .window(500)
            .stamps(clock(at), echo),
    );
    script
}

#[test]
fn a_timestamp_shows_that_an_answer_on_its_way_was_ready() {
    let of = |late| {
        let told = Told::of(&of_a_segment(60, 1e-4, late));
        let stalls = &told.stream(Side::Answerer).stalls;
        let unready = stalls.of(StallKind::DataUnavailable).count;
        (unready, told.story(), told.screen())
    };
    let (unready, story, screen) = of(0.0);
    assert!(unready <= 2, "{screen}");
    assert!(
        story.starts_with("One request at a time: 60 turns of about 5"),
        "{screen}"
    );
    assert!(
        !screen.contains("slow start") && !screen.contains("for the next request"),
        "{screen}"
    );
    // The answers arrive at the same times, but they are sent late.
    let (unready, story, screen) = of(0.058);
    assert!(unready >= 58, "{screen}");
    assert!(
        story.contains("the application sent nothing") && story.contains("its data was not ready"),
        "{screen}"
    );
}
