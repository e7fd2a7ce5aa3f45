//! Rates that the sending host sets, and windows that may look like a rate.

use dupack_diagnosis::Side;
use dupack_diagnosis::analyse::budget::{Group, Limit};
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// A server's answer in segments of 1448 bytes, captured at the server.
struct Answer {
    script: Script,
    sent: u32,
    rtt: f64,
}

impl Answer {
    fn new(rtt: f64) -> Self {
        let mut script = Script::new(Ip::V4, Link::Raw);
        script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
        script.add(packet(1e-4, End::Server, 4999).syn(1460, Some(7)).ack(1000));
        script.add(packet(rtt, End::Client, 1000).ack(5000).window(8000));
        let request = packet(rtt + 1e-4, End::Client, 1000).ack(5000).len(300);
        script.add(request.window(8000).push());
        script.add(packet(rtt + 2e-4, End::Server, 5000).ack(1300));
        Self {
            script,
            sent: 5000,
            rtt,
        }
    }

    /// Adds a segment that is sent at time `at`. If `is_acknowledged`, also adds its ACK one round trip later.
    fn segment(&mut self, at: f64, is_acknowledged: bool) {
        let data = packet(at, End::Server, self.sent).ack(1300).len(1448);
        self.script.add(data);
        self.sent += 1448;
        if is_acknowledged {
            let ack = packet(at + self.rtt, End::Client, 1300).ack(self.sent);
            self.script.add(ack.window(8000));
        }
    }

    fn told(&self) -> Told {
        Told::of(&self.script)
    }
}

#[test]
fn a_shaper_on_the_sending_host_is_named_at_any_round_trip_and_rate() {
    for mbit in [2.0, 8.0, 20.0] {
        let gap = f64::from(1448 + 40) * 8.0 / (mbit * 1e6);
        for rtt in [0.0002, 0.001, 0.002, 0.007, 0.01, 0.0393, 0.1537] {
            for acks_each in [1, 2] {
                let mut answer = Answer::new(rtt);
                for n in 0..1500 {
                    answer.segment(rtt + 0.001 + f64::from(n) * gap, n % acks_each == 0);
                }
                let told = answer.told();
                let story = told.story();
                let name = format!("{mbit} Mbit/s, {rtt} s, {acks_each}\n{}", told.screen());
                let wanted = format!("Packets leave at a constant {mbit} Mbit/s");
                assert!(story.starts_with(&wanted), "{story}\n{name}");
                let stream = told.stream(Side::Answerer);
                assert_eq!(stream.sender.control.name, None, "{name}");
                let idle = stream.shares.of_group(Group::Application);
                assert!(stream.shares.share(idle) < 0.1, "{name}");
                assert_eq!(stream.stalls.count(), 0, "{name}");
                assert!(stream.shares.of(Limit::SenderBuffer) > idle, "{name}");
            }
        }
    }
}

/// Returns the times at which `count` segments are sent with a window of `window` segments. Each segment is sent when
/// an ACK opens the window for it. The link takes `gap` seconds for a segment, and every `acks_each`-th segment is
/// acknowledged.
fn by_acks(window: usize, gap: f64, acks_each: usize, count: usize, rtt: f64) -> Vec<f64> {
    let mut left: Vec<f64> = Vec::new();
    let mut acked: Vec<f64> = Vec::new();
    for n in 0..count {
        let room = n.checked_sub(window).map_or(rtt + 0.001, |before| {
            // The ACK that covers the segment may be the ACK of a later segment.
            let covering = (before / acks_each * acks_each + acks_each - 1).min(n - 1);
            acked[covering] + 20e-6
        });
        let at = left.last().map_or(room, |last: &f64| room.max(last + 1e-6));
        let arrived = acked.last().map_or(0.0, |last| last + gap);
        left.push(at);
        acked.push(arrived.max(at + rtt));
    }
    left
}

#[test]
fn a_fixed_window_of_any_size_is_no_rate() {
    let rtt = 0.06;
    for window in [1, 2, 4, 8, 16, 24, 32, 64] {
        // The load of the link is between almost zero and nearly full.
        for part in [0.01, 0.3, 0.9] {
            for acks_each in [1, 2] {
                if window < acks_each {
                    continue;
                }
                let gap = rtt * part / window as f64;
                let times = by_acks(window, gap, acks_each, 20 * window.max(8), rtt);
                let mut answer = Answer::new(rtt);
                for (n, at) in times.into_iter().enumerate() {
                    answer.segment(at, n % acks_each == acks_each - 1);
                }
                let told = answer.told();
                assert_eq!(
                    told.stream(Side::Answerer).signs.constant_rate,
                    None,
                    "{window} {part} {acks_each}\n{}",
                    told.screen()
                );
            }
        }
    }
}

#[test]
fn periodic_writes_are_the_applications() {
    // The application writes three segments every 100 ms.
    let mut answer = Answer::new(0.02);
    for n in 0..300 {
        let at = 0.1 + f64::from(n / 3) * 0.1 + f64::from(n % 3) * 1e-5;
        answer.segment(at, n % 3 == 2);
    }
    let told = answer.told();
    assert_eq!(told.stream(Side::Answerer).signs.constant_rate, None);
    assert!(
        told.story().contains("the application sent nothing"),
        "{}",
        told.screen()
    );
}

/// Each round trip has four segments, which are acknowledged at once. With a bottleneck of 2.3 Mbit/s, the ACKs of the
/// pairs would be 10 ms apart.
#[test]
fn round_trips_longer_than_the_handshake_are_no_queue_by_themselves() {
    let mut answer = Answer::new(0.01);
    for round in 0..50 {
        let at = 0.0103 + f64::from(round) * 0.021;
        for n in 0..4 {
            let data = packet(at + f64::from(n) * 5e-6, End::Server, answer.sent);
            answer.script.add(data.ack(1300).len(1448));
            answer.sent += 1448;
            if n % 2 == 1 {
                let ack = packet(at + 0.02 + f64::from(n) * 1e-5, End::Client, 1300);
                answer.script.add(ack.ack(answer.sent).window(8000));
            }
        }
    }
    let told = answer.told();
    let shares = &told.stream(Side::Answerer).shares;
    let path = shares.share(shares.of_group(Group::Path));
    assert!(path < 0.1, "{}", told.screen());
}

/// Returns the diagnosis of segments that are sent at a constant rate. If `asks`, the client sends data after every
/// tenth segment.
fn at_a_constant_rate(asks: bool) -> Told {
    let mut answer = Answer::new(0.0325);
    for n in 0..600 {
        answer.segment(0.05 + f64::from(n) * 0.005, n % 10 > 0 || !asks);
        if asks && n % 10 == 0 {
            let asked = 1300 + 50 * n / 10;
            let at = 0.0825 + f64::from(n) * 0.005;
            let ack = packet(at, End::Client, asked as u32).ack(answer.sent);
            answer.script.add(ack.window(8000).len(50).push());
        }
    }
    answer.told()
}

#[test]
fn a_stream_that_may_answer_requests_has_no_constant_rate() {
    let rate = |asks| {
        let told = at_a_constant_rate(asks);
        told.stream(Side::Answerer).signs.constant_rate
    };
    assert!(rate(false).is_some());
    assert_eq!(rate(true), None);
}
