//! Tests that compare the observations of agents with the true values in the simulator.

use crate::common::{Player, experiment};

/// Returns the sum and the mean, over all steps, of the observed number at index `place`.
fn observed(player: &mut Player, action: f32, place: usize) -> (f64, f64) {
    let (mut sum, mut steps) = (0.0, 0.0);
    player.play(&[action], |player| {
        sum += f64::from(player.observations[place]);
        steps += 1.0;
    });
    (sum, sum / steps)
}

/// Fraction of payload in a packet: 10 Mbit/s on the link are 9.653 Mbit/s of payload.
const SHARE: f64 = 1448.0 / 1500.0;

fn rate(low: &str, high: &str, features: &str) -> String {
    format!(
        r#"
        observation = {{ features = [{features}] }}
        action = {{ kind = "rate", low = "{low}", high = "{high}" }}
        reward = "aurora"
        interval = "100ms"
        "#
    )
}

#[test]
fn a_pace_a_little_above_the_link_fills_it() {
    let text = experiment("rack/reno", 20, "");
    let settings = rate("5Mbit/s", "20Mbit/s", "\"throughput\"");
    let mut player = Player::begun(&text, &settings, 1);
    player.play(&[0.0], |_| {});
    let info = player.environment.info().unwrap();
    let goodput = info.agents[0].goodput;
    assert!((goodput - 10.0 * SHARE).abs() < 0.1, "{goodput}");
    assert_eq!((info.time, info.steps), (20.0, 200));
    // The pacing rate exceeds the payload rate of the link by 1/28, and the queue drops the excess.
    let packets = info.agents[0].packets as f64;
    let dropped = info.agents[0].queue_drops as f64 / packets;
    assert!((dropped - (1.0 - SHARE)).abs() < 0.006, "{dropped}");
}

#[test]
fn a_pace_of_half_the_link_leaves_the_queue_empty() {
    let text = experiment("rack/reno", 20, "");
    let settings = rate(
        "5Mbit/s",
        "20Mbit/s",
        "\"rtt\", \"throughput\", \"queueing\"",
    );
    let mut player = Player::begun(&text, &settings, 1);
    let mut steps = 0;
    player.play(&[-1.0], |player| {
        steps += 1;
        if steps < 5 {
            return;
        }
        let [rtt, throughput, queueing] = player.observations[..] else {
            panic!("three numbers");
        };
        // The round-trip time is 20 ms in each direction, plus 1.2 ms for a packet of 1500 bytes and 0.04 ms for an ACK
        // of 52 bytes.
        assert!((rtt - 0.041_242).abs() < 1e-5, "{rtt}");
        assert!(queueing.abs() < 1e-6, "{queueing}");
        // The tolerance is one segment in 100 ms.
        assert!((throughput - 5.0).abs() < 0.12, "{throughput}");
    });
    assert_eq!(player.environment.info().unwrap().agents[0].queue_drops, 0);
}

#[test]
fn observed_losses_are_true_losses_plus_spurious_retransmissions() {
    let text = experiment("rack/reno", 60, "") + "loss = \"2%\"\n";
    let settings = rate(
        "2Mbit/s",
        "20Mbit/s",
        "\"loss_ratio\", \"throughput\", \"interval\"",
    );
    let mut player = Player::begun(&text, &settings, 3);
    let (mut lost, mut delivered) = (0.0, 0.0);
    player.play(&[0.0], |player| {
        let [ratio, throughput, interval] = [0, 1, 2].map(|n| f64::from(player.observations[n]));
        let bits = throughput * 1e6 * interval;
        delivered += bits;
        lost += bits * ratio / (1.0 - ratio);
    });
    let flow = player.environment.info().unwrap().agents[0];
    assert!(flow.link_losses > 400, "{flow:?}");
    let segments = lost / 8.0 / 1448.0;
    let really = (flow.link_losses + flow.queue_drops + flow.needless_repeats) as f64;
    // Segments lost in the last round trip are not retransmitted yet.
    assert!((segments - really).abs() < 6.0, "{segments} {flow:?}");
    let goodput = delivered / 60.0 / 1e6;
    assert!((goodput - flow.goodput).abs() < 0.05, "{goodput} {flow:?}");
}

#[test]
fn a_growing_queue_shows_in_the_gradient() {
    // The sender sends 15 Mbit/s of payload into a link with 9.65 Mbit/s, so the queue grows during the 2 s, and the
    // delay grows by 0.55 s per second.
    let text = experiment("rack/reno", 2, "").replace("50pkt", "2000pkt");
    let settings = rate("15Mbit/s", "16Mbit/s", "\"latency_gradient\"");
    let mut player = Player::begun(&text, &settings, 1);
    let mut gradients = Vec::new();
    player.play(&[-1.0], |player| gradients.push(player.observations[0]));
    let late = &gradients[5..];
    let mean = late.iter().sum::<f32>() / late.len() as f32;
    // The samples are timed by the arrival of ACKs, so the slope is 1 − 9.65/15 = 0.356.
    assert!((mean - 0.356).abs() < 0.02, "{mean} {gradients:?}");
}

#[test]
fn a_large_window_shows_as_queueing() {
    let text = experiment("rack/reno", 20, "");
    let settings = r#"
        observation = { features = ["rtt", "window", "in_flight"] }
        action = { kind = "window", low = 10, high = 70 }
        interval = "100ms"
    "#;
    let mut player = Player::begun(&text, settings, 1);
    let (_, mean) = observed(&mut player, 1.0, 0);
    // Except in the first steps, 70 segments of 1.2 ms each are in flight, so the round-trip time is 84 ms.
    assert!((mean - 0.084).abs() < 0.002, "{mean}");
    assert_eq!(player.observations[1..], [70.0, 70.0]);
}

/// The reward can be computed from the observation.
#[test]
fn rewards_follow_from_observations() {
    let text = experiment("rack/reno", 10, "") + "loss = \"1%\"\n";
    let settings = r#"
        observation = { features = ["throughput", "rtt", "loss_ratio"] }
        action = { kind = "rate", low = "5Mbit/s", high = "20Mbit/s" }
        reward = "aurora"
        interval = "50ms"
    "#;
    let mut player = Player::begun(&text, settings, 1);
    player.play(&[0.1], |player| {
        let [throughput, rtt, loss] = [0, 1, 2].map(|n| f64::from(player.observations[n]));
        let packets = throughput * 1e6 / 8.0 / 1448.0;
        let expected = (10.0 * packets - 1000.0 * rtt - 2000.0 * loss) / 1000.0;
        let reward = player.rewards[0];
        assert!((reward - expected).abs() < 1e-5, "{reward} {expected}");
    });
}

/// Orca's factor changes the window at the next ACK, and the underlying control continues with the new window.
#[test]
fn a_factor_multiplies_the_window_once() {
    let text = experiment("sack/reno", 10, "[sender]\ninitial_ssthresh = \"10pkt\"\n");
    let settings = r#"
        observation = { features = ["window"] }
        action = "orca"
        interval = "100ms"
    "#;
    let mut player = Player::begun(&text, settings, 1);
    for _ in 0..10 {
        player.step(&[0.0]).unwrap();
    }
    let before = player.observations[0];
    player.step(&[1.0]).unwrap();
    let doubled = player.observations[0];
    // Reno adds one segment per round trip, and a step has two or three round trips.
    assert!((doubled - 2.0 * before).abs() < 4.0, "{before} {doubled}");
    player.step(&[0.0]).unwrap();
    assert!((player.observations[0] - doubled).abs() < 4.0);
    player.step(&[-2.0]).unwrap();
    let quarter = player.observations[0];
    // The data in flight is four times the new window. Its ACKs increase the window by about four segments, and one
    // more round trip follows.
    assert!(
        (quarter - doubled / 4.0 - 5.0).abs() < 2.0,
        "{before} {doubled} {quarter}"
    );
    // If the factor is applied at every ACK, the window falls to its minimum.
    let mut player = Player::begun(&text, &settings.replace("100ms", "ack"), 1);
    for _ in 0..20 {
        player.step(&[-2.0]).unwrap();
    }
    assert_eq!(player.observations, [4.0]);
}

#[test]
fn the_warm_up_ends_before_the_first_observation() {
    let text = experiment("rack/reno", 4, "warm_up = \"2s\"\n");
    let settings = rate("5Mbit/s", "20Mbit/s", "\"throughput\"");
    let mut player = Player::begun(&text, &settings, 1);
    assert_eq!(player.environment.info().unwrap().time, 2.0);
    player.step(&[0.0]).unwrap();
    assert!(player.observations[0] > 9.0, "{:?}", player.observations);
    assert_eq!(player.play(&[0.0], |_| {}), 19);
}

#[test]
fn steps_have_the_configured_length() {
    let text = experiment("rack/reno", 5, "");
    let lengths = |interval: &str| {
        let settings = format!(
            r#"
            observation = {{ features = ["interval", "acks", "srtt"] }}
            action = {{ kind = "window", low = 10, high = 20 }}
            interval = "{interval}"
            "#
        );
        let mut player = Player::begun(&text, &settings, 1);
        let mut seen = Vec::new();
        player.play(&[-1.0], |player| {
            seen.push([0, 1, 2].map(|n| player.observations[n]));
        });
        // The last step ends with the episode.
        seen.pop();
        seen
    };
    assert!(
        lengths("30ms")
            .iter()
            .all(|[length, ..]| (length - 0.030).abs() < 1e-6)
    );
    assert!(lengths("ack").iter().all(|[_, acks, _]| *acks == 1.0));
    let mut srtt = 0.0;
    for (n, [length, _, now]) in lengths("2rtt").into_iter().enumerate() {
        // The first step lasts until the first ACK.
        if n > 0 {
            assert!((length - 2.0 * srtt).abs() < 1e-4, "{n}: {length} {srtt}");
        }
        srtt = now;
    }
}
