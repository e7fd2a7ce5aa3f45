//! Shared helpers of the tests.

use std::sync::Arc;

use dupack_algorithms::catalog::Catalog;
use dupack_environment::{
    Blueprint, Environment, EnvironmentError, Fingerprint, Settings, StepOutput,
};
use dupack_lab::experiment::load::Source;

/// Path with 10 Mbit/s, a round-trip time of 40 ms, and a buffer of 50 packets.
pub const PATH: &str = r#"
    [path]
    rate = "10Mbit/s"
    delay = "20ms"
    buffer = "50pkt"
"#;

/// Returns an experiment of `seconds` seconds with one flow of `stack` on [`PATH`]. The settings in `more` precede the
/// path.
pub fn experiment(stack: &str, seconds: u32, more: &str) -> String {
    format!("stacks = [\"{stack}\"]\nduration = \"{seconds}s\"\n{more}\n{PATH}")
}

pub fn blueprint(experiment: &str, settings: &str) -> Result<Arc<Blueprint>, EnvironmentError> {
    let source = Source::new("test.toml", experiment);
    Blueprint::new(&source, Settings::from_toml(settings)?, &Catalog::builtin())
}

/// Environment and the slices for the outcomes of its steps.
pub struct Player {
    pub environment: Environment,
    pub observations: Vec<f32>,
    pub rewards: Vec<f64>,
    pub terminated: Vec<bool>,
    pub truncated: Vec<bool>,
}

impl Player {
    pub fn new(blueprint: Arc<Blueprint>) -> Self {
        let agents = blueprint.agents().len();
        let observed = agents * blueprint.observation_len();
        let mut environment = Environment::new(blueprint);
        environment.set_fingerprint(Fingerprint::On);
        Self {
            environment,
            observations: vec![f32::NAN; observed],
            rewards: vec![f64::NAN; agents],
            terminated: vec![false; agents],
            truncated: vec![false; agents],
        }
    }

    /// Creates a player and starts the episode of `seed`.
    pub fn begun(experiment: &str, settings: &str, seed: u64) -> Self {
        let mut player = Self::new(blueprint(experiment, settings).unwrap());
        player.reset(Some(seed)).unwrap();
        player
    }

    pub fn reset(&mut self, seed: Option<u64>) -> Result<(), EnvironmentError> {
        self.environment.reset(seed, &[], &mut self.observations)
    }

    pub fn step(&mut self, actions: &[f32]) -> Result<(), EnvironmentError> {
        let mut outcome = StepOutput::new(
            &mut self.observations,
            &mut self.rewards,
            &mut self.terminated,
            &mut self.truncated,
        );
        self.environment.step(actions, &mut outcome)
    }

    /// Performs steps with `actions` until the end of the episode, and calls `look` after each step. Returns the number
    /// of steps.
    pub fn play(&mut self, actions: &[f32], mut look: impl FnMut(&Self)) -> usize {
        let mut steps = 0;
        while self.environment.is_running() {
            self.step(actions).unwrap();
            look(self);
            steps += 1;
        }
        steps
    }

    pub fn hash(&self) -> u64 {
        self.environment.info().unwrap().trace_hash.unwrap()
    }
}
