//! Tests of invalid input: every error names the place and suggests a correction.

use crate::common::{PATH, Player, blueprint, experiment};
use dupack_environment::{
    Autoreset, EnvironmentError, Seeds, StepOutput, Threads, VectorEnvironment,
};
use miette::Diagnostic;

/// Returns the message and the help of the error.
fn words(error: &EnvironmentError) -> String {
    let help = error.help().map_or(String::new(), |help| help.to_string());
    format!("{error}\n{help}")
}

fn refused(experiment: &str, settings: &str, parts: &[&str]) {
    let error = blueprint(experiment, settings).expect_err("the settings are invalid");
    let words = words(&error);
    for part in parts {
        assert!(words.contains(part), "{settings}: {words}");
    }
    let says_what_to_do = error
        .help()
        .is_some_and(|help| !help.to_string().is_empty());
    assert!(says_what_to_do, "{words}");
}

#[test]
fn invalid_settings_are_refused() {
    let text = experiment("rack/reno", 5, "");
    for (settings, parts) in [
        ("observation = \"auroa\"", &["did you mean `aurora`?"][..]),
        (
            "observation = { features = [] }",
            &["observation.features", "cannot learn"],
        ),
        (
            "observation = { features = [\"rtt\", \"rtt\"] }",
            &["features.1", "twice"],
        ),
        (
            "observation = { features = [\"rtt\"], history = 0 }",
            &["observation.history"],
        ),
        (
            "action = { kind = \"rate\", low = \"9Mbit/s\", high = \"5Mbit/s\" }",
            &["action.low", "low < high"],
        ),
        (
            "action = { kind = \"rate\", low = \"0Mbit/s\", high = \"50Mbit/s\" }",
            &["action.low", "nothing is ever sent"],
        ),
        (
            "action = { kind = \"rate\", low = \"1Mbit/s\", high = \"5Mbit/s\" }",
            &["action.high", "cannot fill"],
        ),
        (
            "action = { kind = \"rate_factor\", alpha = 0.0 }",
            &["action.alpha"],
        ),
        (
            "action = { kind = \"rate_factor\", bound = nan }",
            &["action.bound"],
        ),
        (
            "action = { kind = \"rate_factor\", first = [1.5, 0.3] }",
            &["action.first", "ascending"],
        ),
        (
            "action = { kind = \"window\", low = 0, high = 9 }",
            &["action.low", "nothing is ever sent"],
        ),
        (
            "action = { kind = \"window\", low = 9, high = 9 }",
            &["action.low", "low < high"],
        ),
        (
            "action = { kind = \"window_factor\", bound = 50.0 }",
            &["action.bound", "Orca uses 2"],
        ),
        (
            "action = { kind = \"window_factor\", least = 0 }",
            &["action.least"],
        ),
        (
            "reward = { kind = \"weights\", weights = {} }",
            &["reward.weights", "the same reward"],
        ),
        (
            "reward = { kind = \"weights\", weights = { rtt = nan } }",
            &["reward.weights.rtt"],
        ),
        (
            "reward = { kind = \"linear\", loss = inf }",
            &["reward.loss"],
        ),
        (
            "reward = { kind = \"power\", margin = 0.5 }",
            &["reward.margin", "1.25"],
        ),
        ("interval = \"0ms\"", &["makes no progress"]),
        (
            "[ranges]\n\"path.rate\" = { low = \"9Mbit/s\", high = \"5Mbit/s\" }",
            &["path.rate", "low ≤ high"],
        ),
        (
            "[ranges]\n\"path.rate\" = { low = \"9Mbit/s\", high = \"5Gbit/s\" }",
            &["action.high", "cannot fill a path of 5Gbit/s"],
        ),
        (
            "[ranges]\n\"path.speed\" = { low = \"1Mbit/s\", high = \"5Mbit/s\" }",
            &["unknown field `speed`"],
        ),
        (
            "[ranges]\n\"path.loss\" = { low = \"0%\", high = \"5ms\" }",
            &["different units"],
        ),
        (
            "[ranges]\n\"path.delay\" = { low = \"0%\", high = \"5%\" }",
            &["0%"],
        ),
        (
            "[ranges]\n\"path.queue\" = { values = [\"droptail\", \"magic\"] }",
            &["magic"],
        ),
        (
            "[ranges]\n\"path.buffer\" = { low = \"0pkt\", high = \"5pkt\" }",
            &["at least 1pkt"],
        ),
        (
            "[ranges]\nseeds = { low = 1, high = 5 }",
            &["`seeds` cannot be swept"],
        ),
    ] {
        refused(&text, settings, parts);
    }
}

#[test]
fn invalid_experiments_are_refused() {
    let flows = |flows: &str| experiment("rack/reno", 5, "") + flows;
    for (text, parts) in [
        (
            experiment("rack/reno", 5, "") + "rate = \"1Mbit/s\"",
            &["duplicate key"][..],
        ),
        (experiment("rack/renno", 5, ""), &["renno"]),
        (
            format!("stacks = [\"rack/reno\", \"rack/cubic\"]\n{PATH}"),
            &["single stack"],
        ),
        (
            flows("[sweep]\n\"path.loss\" = [\"1%\", \"2%\"]\n"),
            &["single path"],
        ),
        (
            flows("[[flows]]\nstack = \"rack/cubic\"\n"),
            &["flows", "no flow is left for an agent"],
        ),
        (
            flows("[[flows]]\nweb = { sizes = \"web_objects\", load = \"1Mbit/s\" }\n"),
            &["flows.0.web", "come and go"],
        ),
        ("stacks = [\"rack/reno\"]\n".to_owned(), &["no [path]"]),
        (experiment("tahoe/reno", 5, ""), &["stacks.0", "Tahoe"]),
        (
            experiment("reno/reno/veno/24", 5, ""),
            &["stacks.0", "single losses"],
        ),
    ] {
        let settings = "action = { kind = \"rate\", low = \"1Mbit/s\", high = \"50Mbit/s\" }";
        let error = blueprint(&text, settings).expect_err("the experiment is invalid");
        for part in parts {
            assert!(words(&error).contains(part), "{text}: {}", words(&error));
        }
    }
    refused(
        &experiment("rack/bbr", 5, ""),
        "action = \"orca\"",
        &["stacks.0", "would last for only one ACK"],
    );
    let links = "stacks = [\"rack/reno\"]\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"9Mbit/s\"\n[[flows]]\nfrom = \"a\"\nto = \"b\"\n";
    refused(
        links,
        "action = \"aurora\"",
        &["action.first", "no path.rate"],
    );
    let flows = experiment("rack/reno", 5, "") + "[[flows]]\ncount = 1\n";
    let drawn = "[ranges]\n\"flows.0.count\" = { low = 1, high = 3 }";
    refused(
        &flows,
        drawn,
        &["ranges", "3 agents, but the experiment has 1"],
    );
}

#[test]
fn invalid_calls_are_refused() {
    let text = experiment("rack/reno", 1, "");
    let blueprint = blueprint(&text, "interval = \"100ms\"").unwrap();
    let mut player = Player::new(blueprint.clone());
    let said = |outcome: Result<(), EnvironmentError>| words(&outcome.unwrap_err());
    assert!(said(player.step(&[0.0])).contains("has not been reset\ncall reset first"));
    let mut short = [0.0; 29];
    let error = player.environment.reset(Some(1), &[], &mut short);
    assert!(said(error).contains("29 given, 30 expected\n30 numbers for each of 1 agents"));
    player.reset(Some(1)).unwrap();
    assert!(said(player.step(&[])).contains("actions: 0 given, 1 expected"));
    assert!(said(player.step(&[0.0, 0.0])).contains("actions: 2 given, 1 expected"));
    assert!(said(player.step(&[f32::NAN])).contains("invalid action NaN of agent 0"));
    assert!(said(player.step(&[40.5])).contains("expected a number from -40 to 40\nclip actions"));
    let mut numbers = [0.0; 30];
    for (rewards, terminated, truncated, part) in [
        (0, 1, 1, "rewards: 0 given"),
        (1, 2, 1, "terminations: 2 given"),
        (1, 1, 0, "truncations: 0 given"),
    ] {
        let (mut rewards, mut terminated, mut truncated) = (
            vec![0.0; rewards],
            vec![false; terminated],
            vec![false; truncated],
        );
        let mut outcome =
            StepOutput::new(&mut numbers, &mut rewards, &mut terminated, &mut truncated);
        assert!(said(player.environment.step(&[0.0], &mut outcome)).contains(part));
    }
    // None of these calls performed a step.
    assert_eq!(player.environment.info().unwrap().steps, 0);
    assert_eq!(player.play(&[0.0], |_| {}), 10);
    assert!(said(player.step(&[0.0])).contains("the episode of environment 0 is over"));

    let vector = |count, threads| {
        VectorEnvironment::new(blueprint.clone(), count, threads, Autoreset::NextStep)
    };
    assert!(words(&vector(0, Threads::All).unwrap_err()).contains("count: 0 environments"));
    assert!(words(&vector(2, Threads::Count(0)).unwrap_err()).contains("threads: 0 threads"));
    let mut two = vector(2, Threads::All).unwrap();
    let mut numbers = [0.0; 60];
    let error = two.reset(Seeds::Each(&[1]), &[], &mut numbers);
    assert!(said(error).contains("seeds: 1 given, 2 expected"));
    let error = two.reset(Seeds::Next, &[], &mut numbers[1..]);
    assert!(said(error).contains("59 given, 60 expected"));
    let error = two.reset_some(&[true], Seeds::Next, &[], &mut numbers);
    assert!(said(error).contains("selection of environments to reset: 1 given"));
}
