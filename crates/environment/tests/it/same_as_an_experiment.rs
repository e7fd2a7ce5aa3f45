//! Tests that a policy that acts like a control produces the same packets as this control in an experiment.

use std::sync::Arc;

use crate::common::{PATH, Player, experiment};
use dupack_algorithms::catalog::{Catalog, Entry};
use dupack_environment::{Blueprint, Settings};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Job, Plan};
use dupack_tcp::congestion::{CongestionControl, Credit, Governance, Pacing};
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::window::Window;

/// Returns the trace hash of an experiment's run with `seed`.
fn run(text: &str, catalog: &Catalog, seed: u64) -> u64 {
    let source = Source::new("test.toml", text);
    let plan = Plan::new(source.parse().unwrap(), &source, catalog).unwrap();
    let job = Job {
        point: 0,
        stack: 0,
        seed,
    };
    plan.run(job, &Interrupt::new()).unwrap().trace_hash
}

const LOSSES: &str = "seeds = 9";

/// With a factor of 1, only the underlying control sets the window, regardless of the length of steps.
#[test]
fn a_factor_of_one_equals_the_underlying_control() {
    let catalog = Catalog::builtin();
    for stack in [
        "sack/reno",
        "rack/cubic",
        "newreno/westwood",
        "le/reno/veno/24",
        "tahoe/reno",
    ] {
        let text = experiment(stack, 12, LOSSES) + "loss = \"1%\"\n";
        let expected = run(&text, &catalog, 5);
        assert_ne!(expected, run(&text, &catalog, 6));
        for interval in ["10ms", "7ms", "rtt", "ack"] {
            let settings = format!("action = \"orca\"\ninterval = \"{interval}\"\n");
            let mut player = Player::begun(&text, &settings, 5);
            player.play(&[0.0], |_| {});
            assert_eq!(player.hash(), expected, "{stack}, {interval}");
        }
    }
}

#[test]
fn a_factor_of_one_equals_it_with_other_traffic_and_in_dialects() {
    let catalog = Catalog::builtin();
    for dialect in ["rfc", "linux"] {
        let text = format!(
            r#"
            stacks = ["rack/cubic"]
            dialect = "{dialect}"
            duration = "15s"
            [path]
            rate = "10Mbit/s"
            delay = "20ms"
            buffer = "30pkt"
            queue = "fq_codel"
            [[flows]]
            count = 2
            [[flows]]
            stack = "sack/reno"
            [[flows]]
            stack = "rack/bbr"
            reverse = true
            [[udp]]
            rate = "500kbit/s"
            "#
        );
        let mut player = Player::begun(&text, "action = \"orca\"\ninterval = \"20ms\"\n", 3);
        assert_eq!(player.rewards.len(), 2);
        player.play(&[0.0, 0.0], |_| {});
        assert_eq!(player.hash(), run(&text, &catalog, 3), "{dialect}");
    }
}

/// Control outside the catalog, with a constant window or a constant pacing rate.
#[derive(Debug)]
struct Constant {
    window: f64,
    pace: Option<f64>,
}

impl Constant {
    fn window(&self) -> Window {
        Window {
            cwnd: self.window,
            ssthresh: self.window,
        }
    }
}

impl CongestionControl for Constant {
    fn opening(&self, _: Window) -> Window {
        self.window()
    }
    fn governance(&self) -> Governance {
        Governance::Model
    }
    fn on_ack(&mut self, _: &AckFacts<'_>, _: Credit, _: &View<'_>) -> Window {
        self.window()
    }
    fn reduction(&self, _: &LossFacts) -> Window {
        self.window()
    }
    fn on_loss(&mut self, _: &LossFacts, _: LossCause, _: Window) {}
    fn on_timeout(&mut self, _: &LossFacts) -> Window {
        self.window()
    }
    fn pacing(&self) -> Pacing {
        self.pace.map_or(Pacing::Off, |_| Pacing::Rate)
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.pace
    }
}

fn catalog(window: f64, pace: Option<f64>) -> Catalog {
    let mut catalog = Catalog::builtin();
    let entry = Entry::control("constant", file!())
        .summary("never changes")
        .citation("none")
        .build(move |(), _| Box::new(Constant { window, pace }));
    catalog.register(entry).unwrap();
    catalog
}

#[test]
fn an_agent_with_a_constant_window_equals_a_control_with_a_constant_window() {
    let text = |stack: &str| experiment(stack, 10, LOSSES) + "loss = \"2%\"\n";
    for recovery in ["rack", "sack", "newreno"] {
        // The action 0.5 gives a window of 4 · 256^0.75 = 256 segments. This action has an exact floating-point value,
        // unlike 1/3, which would give 64 segments.
        let segments = 4.0 * 256_f64.powf(0.75);
        let expected = run(
            &text(&format!("{recovery}/constant")),
            &catalog(segments * 1448.0, None),
            2,
        );
        let settings = "action = { kind = \"window\", low = 4, high = 1024, first = 256 }";
        let mut player = Player::begun(&text(&format!("{recovery}/reno")), settings, 2);
        player.play(&[0.5], |_| {});
        assert_eq!(segments, 256.0);
        assert_eq!(player.hash(), expected, "{recovery}");
    }
}

#[test]
fn an_agent_with_a_constant_pace_equals_a_control_with_a_constant_pace() {
    let text = |stack: &str| experiment(stack, 10, LOSSES) + "loss = \"1%\"\n";
    // The constant rate is 8 Mbit/s, the geometric mean of 4 and 16 Mbit/s.
    let catalog = catalog(1e12, Some(1e6));
    let expected = run(&text("rack/constant"), &catalog, 4);
    let settings = r#"
        action = { kind = "rate", low = "4Mbit/s", high = "16Mbit/s" }
        interval = "rtt"
    "#;
    let mut player = Player::begun(&text("rack/reno"), settings, 4);
    player.play(&[0.0], |_| {});
    assert_eq!(player.hash(), expected);
}

/// An episode with drawn values equals a run of a file that contains these values.
#[test]
fn a_drawn_path_equals_the_path_of_a_file() {
    let text = experiment("rack/cubic", 8, "");
    let settings = r#"
        action = "orca"
        [ranges]
        "path.rate" = { low = "2Mbit/s", high = "40Mbit/s", scale = "log" }
        "path.delay" = { low = "2ms", high = "80ms" }
        "path.loss" = { low = "0%", high = "3%" }
        "path.queue" = { values = ["droptail", "codel", "pie"] }
    "#;
    let mut seen = Vec::new();
    for seed in 1..6 {
        let mut player = Player::begun(&text, settings, seed);
        let drawn = player.environment.info().unwrap().drawn;
        player.play(&[0.0], |_| {});
        let mut written = text
            .lines()
            .filter(|line| !line.contains("rate =") && !line.contains("delay ="))
            .collect::<Vec<_>>()
            .join("\n");
        for (key, value) in &drawn {
            let key = key.strip_prefix("path.").unwrap();
            written += &format!("\n{key} = \"{value}\"");
        }
        assert_eq!(
            player.hash(),
            run(&written, &Catalog::builtin(), seed),
            "{written}"
        );
        seen.push(drawn);
    }
    seen.dedup();
    assert_eq!(seen.len(), 5);
}

/// The division of a run into steps does not change the run.
#[test]
fn the_length_of_steps_does_not_change_a_run() {
    let source = Source::new(
        "test.toml",
        format!("stacks = [\"rack/reno\"]\nduration = \"5s\"\n{PATH}"),
    );
    let hash = |observation: &str| {
        let settings = format!(
            "observation = \"{observation}\"\naction = {{ kind = \"window\", low = 2, high = 200 }}\n"
        );
        let settings = Settings::from_toml(&settings).unwrap();
        let blueprint = Blueprint::new(&source, settings, &Catalog::builtin()).unwrap();
        let mut player = Player::new(Arc::clone(&blueprint));
        player.reset(Some(1)).unwrap();
        let mut n = 0_u8;
        while player.environment.is_running() {
            n = n.wrapping_mul(77).wrapping_add(13);
            player.step(&[f32::from(n) / 128.0 - 1.0]).unwrap();
        }
        player.hash()
    };
    assert_eq!(hash("aurora"), hash("orca"));
}
