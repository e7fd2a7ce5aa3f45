//! Tests that environments in a vector behave like single environments, with any number of threads.

use std::sync::Arc;

use crate::common::{blueprint, experiment};
use dupack_environment::{
    Autoreset, Blueprint, Environment, EnvironmentError, Fingerprint, Seeds, StepOutput, Threads,
    VectorEnvironment, environment_seed, episode_seed,
};

const SETTINGS: &str = r#"
    observation = "orca"
    action = { kind = "rate", low = "1Mbit/s", high = "60Mbit/s" }
    reward = "orca"
    interval = "20ms"
    [ranges]
    "path.rate" = { low = "2Mbit/s", high = "30Mbit/s", scale = "log" }
    "path.delay" = { low = "5ms", high = "60ms" }
    "path.loss" = { low = "0%", high = "2%" }
"#;

/// Returns a blueprint of short episodes with two agents and another flow.
fn short() -> Arc<Blueprint> {
    let text = experiment("rack/reno", 1, "")
        + "[[flows]]\ncount = 2\n[[flows]]\nstack = \"rack/cubic\"\n";
    blueprint(&text, SETTINGS).unwrap()
}

/// Returns the actions of all agents in a step. They differ between agents, and are the same in every run.
fn actions(step: usize, count: usize) -> Vec<f32> {
    (0..count)
        .map(|agent| ((step * 31 + agent * 17) % 64) as f32 / 32.0 - 1.0)
        .collect()
}

struct Many {
    vector: VectorEnvironment,
    observations: Vec<f32>,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
}

impl Many {
    fn new(blueprint: &Arc<Blueprint>, count: usize, threads: usize, autoreset: Autoreset) -> Self {
        let agents = count * blueprint.agents().len();
        let threads = Threads::Count(threads);
        let mut vector =
            VectorEnvironment::new(Arc::clone(blueprint), count, threads, autoreset).unwrap();
        vector.set_fingerprint(Fingerprint::On);
        Self {
            vector,
            observations: vec![f32::NAN; agents * blueprint.observation_len()],
            rewards: vec![f64::NAN; agents],
            terminated: vec![true; agents],
            truncated: vec![true; agents],
        }
    }

    fn reset(&mut self, seeds: Seeds<'_>) -> Result<(), EnvironmentError> {
        self.vector.reset(seeds, &[], &mut self.observations)
    }

    fn step(&mut self, actions: &[f32]) -> Result<(), EnvironmentError> {
        let mut outcome = StepOutput::new(
            &mut self.observations,
            &mut self.rewards,
            &mut self.terminated,
            &mut self.truncated,
        );
        self.vector.step(actions, &mut outcome)
    }

    /// Returns the outcome of a step, with numbers as bits.
    fn bits(&self) -> (Vec<u32>, Vec<u64>, Vec<bool>, Vec<bool>) {
        (
            self.observations.iter().map(|x| x.to_bits()).collect(),
            self.rewards.iter().map(|x| x.to_bits()).collect(),
            self.terminated.clone(),
            self.truncated.clone(),
        )
    }

    fn hashes(&self) -> Vec<Option<u64>> {
        let all = self.vector.environments().iter();
        all.map(|e| e.info().and_then(|info| info.trace_hash))
            .collect()
    }
}

const STEPS: usize = 130;

#[test]
fn the_number_of_threads_makes_no_difference() {
    let blueprint = short();
    let play = |threads: usize| {
        let mut many = Many::new(&blueprint, 13, threads, Autoreset::NextStep);
        many.reset(Seeds::From(42)).unwrap();
        let mut all = vec![many.bits()];
        for step in 0..STEPS {
            many.step(&actions(step, 26)).unwrap();
            all.push(many.bits());
        }
        (all, many.hashes())
    };
    let alone = play(1);
    for (observations, rewards, ..) in &alone.0[1..] {
        assert!(observations.iter().all(|x| f32::from_bits(*x).is_finite()));
        assert!(rewards.iter().all(|x| f64::from_bits(*x).is_finite()));
    }
    for threads in [2, 3, 7] {
        assert!(play(threads) == alone, "{threads} threads");
    }
}

/// Each environment behaves like a single environment with the same seed and actions.
#[test]
fn each_environment_behaves_as_it_does_alone() {
    let blueprint = short();
    let mut many = Many::new(&blueprint, 5, 2, Autoreset::NextStep);
    many.reset(Seeds::From(7)).unwrap();
    let width = 2 * blueprint.observation_len();
    let mut alone: Vec<Environment> = (0..5)
        .map(|_| Environment::new(Arc::clone(&blueprint)))
        .collect();
    let mut observations = vec![0.0; width];
    for (n, environment) in alone.iter_mut().enumerate() {
        let seed = environment_seed(7, n);
        environment
            .reset(Some(seed), &[], &mut observations)
            .unwrap();
        assert_eq!(observations, many.observations[n * width..][..width]);
    }
    let mut begun = 0;
    for step in 0..STEPS {
        let actions = actions(step, 10);
        many.step(&actions).unwrap();
        for (n, environment) in alone.iter_mut().enumerate() {
            let (mut rewards, mut terminated, mut truncated) = ([0.0; 2], [false; 2], [false; 2]);
            if environment.is_running() {
                let mut outcome = StepOutput::new(
                    &mut observations,
                    &mut rewards,
                    &mut terminated,
                    &mut truncated,
                );
                environment
                    .step(&actions[2 * n..][..2], &mut outcome)
                    .unwrap();
            } else {
                environment.reset(None, &[], &mut observations).unwrap();
                begun += 1;
            }
            assert_eq!(
                observations,
                many.observations[n * width..][..width],
                "{step} {n}"
            );
            assert_eq!(rewards, many.rewards[2 * n..][..2]);
            assert_eq!(terminated, many.terminated[2 * n..][..2]);
            assert_eq!(truncated, many.truncated[2 * n..][..2]);
        }
    }
    assert_eq!(begun, 10, "two episodes more for each of five");
}

#[test]
fn episodes_derive_from_the_seed_and_differ() {
    let blueprint = short();
    let mut many = Many::new(&blueprint, 3, 1, Autoreset::NextStep);
    many.reset(Seeds::From(1)).unwrap();
    let drawn = |many: &Many| -> Vec<_> {
        let all = many.vector.environments().iter();
        all.map(|e| e.info().unwrap())
            .map(|info| (info.seed, info.drawn))
            .collect()
    };
    let first = drawn(&many);
    let seeds: Vec<u64> = first.iter().map(|(seed, _)| *seed).collect();
    assert_eq!(seeds, [0, 1, 2].map(|n| environment_seed(1, n)));
    many.reset(Seeds::Next).unwrap();
    let second = drawn(&many);
    for ((seed, one), (next, other)) in first.iter().zip(&second) {
        assert_eq!(*next, episode_seed(*seed, 1));
        assert_ne!(one, other);
    }
    many.reset(Seeds::From(1)).unwrap();
    assert_eq!(drawn(&many), first);
    many.reset(Seeds::Each(&[5, 5, 6])).unwrap();
    let listed = drawn(&many);
    assert_eq!(listed[0], listed[1]);
    assert_eq!(listed[2].0, 6);
}

#[test]
fn the_step_after_the_end_begins_the_next_episode() {
    let blueprint = short();
    let mut many = Many::new(&blueprint, 2, 1, Autoreset::NextStep);
    many.reset(Seeds::From(1)).unwrap();
    let beginning = many.observations.clone();
    for step in 0..50 {
        many.step(&actions(step, 4)).unwrap();
        let over = step == 49;
        assert!(
            many.truncated.iter().all(|truncated| *truncated == over),
            "{step}"
        );
    }
    assert_ne!(many.observations, beginning);
    // The actions of this step are ignored, even NaN.
    many.step(&[f32::NAN; 4]).unwrap();
    assert_eq!(
        many.observations, beginning,
        "before a step all paths look the same"
    );
    assert_eq!(many.rewards, [0.0; 4]);
    assert!(!many.truncated.contains(&true) && !many.terminated.contains(&true));
    let info = many.vector.environments()[1].info().unwrap();
    assert_eq!(
        (info.steps, info.seed),
        (0, episode_seed(environment_seed(1, 1), 1))
    );
    assert!(many.step(&[f32::NAN; 4]).is_err());
}

#[test]
fn the_step_that_ends_an_episode_can_begin_the_next() {
    let blueprint = short();
    let mut next = Many::new(&blueprint, 2, 1, Autoreset::NextStep);
    let mut same = Many::new(&blueprint, 2, 2, Autoreset::SameStep);
    next.reset(Seeds::From(1)).unwrap();
    same.reset(Seeds::From(1)).unwrap();
    let beginning = same.observations.clone();
    for step in 0..50 {
        let actions = actions(step, 4);
        next.step(&actions).unwrap();
        same.step(&actions).unwrap();
    }
    assert_eq!(same.truncated, [true; 4]);
    assert_eq!(same.observations, beginning);
    assert_eq!(same.vector.last_observations(), next.observations);
    assert_eq!(same.rewards, next.rewards);
    assert!(next.vector.last_observations().is_empty());
    // From now on, one of the two vectors is one step ahead.
    next.step(&[0.0; 4]).unwrap();
    same.step(&[0.5; 4]).unwrap();
    next.step(&[0.5; 4]).unwrap();
    assert_eq!(same.bits(), next.bits());
}

#[test]
fn without_autoreset_a_step_after_the_end_is_an_error() {
    let blueprint = short();
    let mut many = Many::new(&blueprint, 3, 1, Autoreset::Disabled);
    let error = many.step(&[0.0; 6]).unwrap_err().to_string();
    assert!(
        error.contains("environment 0 has not been reset"),
        "{error}"
    );
    many.reset(Seeds::From(1)).unwrap();
    for _ in 0..50 {
        many.step(&[0.0; 6]).unwrap();
    }
    let before = many.bits();
    let error = many.step(&[0.0; 6]).unwrap_err().to_string();
    assert!(
        error.contains("the episode of environment 0 is over"),
        "{error}"
    );
    assert_eq!(many.bits(), before);
    many.vector
        .reset_some(
            &[true, false, true],
            Seeds::Next,
            &[],
            &mut many.observations,
        )
        .unwrap();
    let error = many.step(&[0.0; 6]).unwrap_err().to_string();
    assert!(
        error.contains("the episode of environment 1 is over"),
        "{error}"
    );
    let width = 2 * blueprint.observation_len();
    let now = many.bits();
    assert_eq!(now.0[width..2 * width], before.0[width..2 * width]);
    assert_ne!(now.0[..width], before.0[..width]);
}

/// A single invalid action prevents the step in all environments.
#[test]
fn an_invalid_action_changes_nothing() {
    let blueprint = short();
    let mut many = Many::new(&blueprint, 3, 2, Autoreset::NextStep);
    many.reset(Seeds::From(1)).unwrap();
    many.step(&[0.1; 6]).unwrap();
    let (bits, hashes) = (many.bits(), many.hashes());
    for (wrong, said) in [(f32::NAN, "NaN"), (1.5, "1.5"), (f32::NEG_INFINITY, "-inf")] {
        let mut actions = [0.1; 6];
        actions[5] = wrong;
        let error = many.step(&actions).unwrap_err().to_string();
        let expected = format!(
            "invalid action {said} of agent 1 in environment 2: expected a number from -1 to 1"
        );
        assert_eq!(error, expected);
        assert_eq!((many.bits(), many.hashes()), (bits.clone(), hashes.clone()));
    }
}
