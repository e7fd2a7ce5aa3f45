//! Tests of several agents, of transfers that end, and of spaces.

use crate::common::{Player, blueprint, experiment};
use dupack_environment::Settings;
use dupack_lab::experiment::SweepValue;

const RATE: &str = r#"
    observation = { features = ["throughput"] }
    action = { kind = "rate", low = "1Mbit/s", high = "16Mbit/s" }
    interval = "50ms"
"#;

#[test]
fn every_flow_of_the_stack_has_an_agent_and_others_have_none() {
    let text = experiment("rack/reno", 20, "starts = \"given\"")
        + "[[flows]]\ncount = 2\n[[flows]]\nstack = \"rack/cubic\"\n[[flows]]\ncount = 1\n";
    let mut player = Player::begun(&text, RATE, 1);
    assert_eq!(
        player.environment.blueprint().agents(),
        ["agent_0", "agent_1", "agent_2"]
    );
    // The actions are 4, 2 and 1 Mbit/s. CUBIC uses the remaining capacity.
    player.play(&[0.0, -0.5, -1.0], |_| {});
    let agents = player.environment.info().unwrap().agents;
    let goodputs: Vec<f64> = agents.iter().map(|agent| agent.goodput).collect();
    for (goodput, expected) in goodputs.iter().zip([4.0, 2.0, 1.0]) {
        assert!((goodput - expected).abs() < 0.08 * expected, "{goodputs:?}");
    }
    assert_eq!(player.truncated, [true; 3]);
}

#[test]
fn an_agent_is_terminated_when_its_transfer_completes_and_others_continue() {
    let text = experiment("rack/reno", 20, "starts = \"given\"")
        + "[[flows]]\nbytes = \"100kB\"\n[[flows]]\nbytes = \"1MB\"\n";
    let mut player = Player::begun(&text, RATE, 1);
    let mut ends = Vec::new();
    while player.environment.is_running() {
        let first = player.terminated[0];
        // The actions of the first agent are now ignored.
        player
            .step(&[if first { f32::NAN } else { 0.0 }, 0.0])
            .unwrap();
        if first {
            assert_eq!(player.rewards[0], 0.0);
        }
        ends.push(player.terminated.clone());
    }
    let at = |agent: usize| ends.iter().position(|end| end[agent]).unwrap();
    // At 4 Mbit/s, 100 kB and 1 MB take 0.2 s and 2 s. Including the propagation delay, these are 5 and 41 steps.
    assert_eq!(at(0), 4);
    assert!((39..=42).contains(&at(1)), "{}", at(1));
    assert_eq!(at(1), ends.len() - 1, "and the episode is over");
    assert_eq!(player.truncated, [false; 2]);
    let error = player.step(&[0.0, 0.0]).unwrap_err().to_string();
    assert!(error.contains("is over"), "{error}");
    player.reset(None).unwrap();
    player.step(&[0.0, 0.0]).unwrap();
}

#[test]
fn observations_stay_within_their_space() {
    let text = experiment("rack/cubic", 5, "") + "loss = \"3%\"\n";
    for settings in ["aurora", "orca"] {
        let settings = Settings::preset(settings).unwrap();
        let actions = settings.action.space();
        let (low, high) = (actions.low[0], actions.high[0]);
        let source = dupack_lab::experiment::load::Source::new("test.toml", text.clone());
        let catalog = dupack_algorithms::catalog::Catalog::builtin();
        let blueprint = dupack_environment::Blueprint::new(&source, settings, &catalog).unwrap();
        let space = blueprint.observation_space();
        let mut player = Player::new(blueprint);
        player.reset(Some(1)).unwrap();
        let mut n = 1_u32;
        while player.environment.is_running() {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let unit = (n >> 8) as f32 / (1 << 24) as f32;
            player
                .step(&[(low + (high - low) * unit).clamp(low, high)])
                .unwrap();
            for (place, value) in player.observations.iter().enumerate() {
                let bounds = space.low[place]..=space.high[place];
                assert!(bounds.contains(value), "{}: {value}", space.names[place]);
            }
            assert!(player.rewards[0].is_finite());
        }
    }
}

#[test]
fn drawn_values_can_be_fixed_for_an_episode() {
    let text = experiment("rack/reno", 5, "");
    let settings =
        format!("{RATE}\n[ranges]\n\"path.rate\" = {{ low = \"5Mbit/s\", high = \"15Mbit/s\" }}");
    let blueprint = blueprint(&text, &settings).unwrap();
    let mut player = Player::new(blueprint);
    // A fixed value may be outside the range, for tests on held-out paths.
    let fixed = |rate: &str| [("path.rate".to_owned(), SweepValue::Text(rate.to_owned()))];
    player
        .environment
        .reset(Some(1), &fixed("2Mbit/s"), &mut player.observations)
        .unwrap();
    // The pacing rate is 16^0.3 = 2.3 Mbit/s. A path of 2 Mbit/s carries 1.93 Mbit/s of payload; every path in the
    // range carries the complete rate.
    let mean = |player: &mut Player| {
        let (mut delivered, mut steps) = (0.0, 0.0);
        player.play(&[-0.4], |player| {
            delivered += f64::from(player.observations[0]);
            steps += 1.0;
        });
        delivered / steps
    };
    let delivered = mean(&mut player);
    assert!((1.85..1.94).contains(&delivered), "{delivered}");
    let info = player.environment.info().unwrap();
    assert_eq!(info.drawn, fixed("2Mbit/s"));
    player.reset(None).unwrap();
    let delivered = mean(&mut player);
    assert!(delivered > 2.2, "{delivered}");
    assert_ne!(player.environment.info().unwrap().drawn, fixed("2Mbit/s"));
    for (key, value, part) in [
        ("path.delay", "5ms", "`path.delay` has no range"),
        ("path.rate", "fast", "fast"),
        ("path.rate", "0Mbit/s", "rate above zero"),
    ] {
        let fixed = [(key.to_owned(), SweepValue::Text(value.to_owned()))];
        let error = player
            .environment
            .reset(None, &fixed, &mut player.observations)
            .unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
