//! Single environment: a series of episodes.

use std::sync::Arc;

use dupack_lab::experiment::SweepValue;
use dupack_net::random::Stream;

use crate::blueprint::Blueprint;
use crate::episode::{Episode, Fingerprint};
use crate::error::{EnvironmentError, check_length};
use crate::info::Info;

/// Environment: a path, and agents that control flows over the path.
///
/// [`reset`](Self::reset) starts an episode, and [`step`](Self::step) advances it. An environment with one agent
/// corresponds to Gymnasium's `Env`, and an environment with several agents to PettingZoo's `ParallelEnv`.
#[derive(Debug)]
pub struct Environment {
    blueprint: Arc<Blueprint>,
    /// Seed of the first episode; the seeds of later episodes derive from it.
    seed: u64,
    /// Number of episodes started since the seed was set.
    episodes: u64,
    episode: Option<Episode>,
    fingerprint: Fingerprint,
}

/// Destination for the outcome of a step. With several environments or agents, each slice has the numbers of the first
/// environment, agent by agent, then the numbers of the next environment.
#[derive(Debug)]
#[non_exhaustive]
pub struct StepOutput<'a> {
    /// Observations of the agents.
    pub observations: &'a mut [f32],
    /// Rewards of the agents.
    pub rewards: &'a mut [f64],
    /// `true` for each agent whose transfer is complete.
    pub terminated: &'a mut [bool],
    /// `true` for each agent whose episode ended before its transfer was complete.
    pub truncated: &'a mut [bool],
}

impl<'a> StepOutput<'a> {
    /// Creates an outcome that writes to these slices.
    #[must_use]
    pub const fn new(
        observations: &'a mut [f32],
        rewards: &'a mut [f64],
        terminated: &'a mut [bool],
        truncated: &'a mut [bool],
    ) -> Self {
        Self {
            observations,
            rewards,
            terminated,
            truncated,
        }
    }

    /// Checks that the slices have the lengths for `agents` agents with `observed` numbers each.
    pub(crate) fn check(&self, agents: usize, observed: usize) -> Result<(), EnvironmentError> {
        let each = || format!("one for each of {agents} agents, environment by environment");
        check_observations(self.observations.len(), agents, observed)?;
        check_length("rewards", self.rewards.len(), agents, each)?;
        check_length("terminations", self.terminated.len(), agents, each)?;
        check_length("truncations", self.truncated.len(), agents, each)
    }
}

/// Checks that a slice with `given` numbers has the length for the observations of all agents.
pub(crate) fn check_observations(
    given: usize,
    agents: usize,
    observed: usize,
) -> Result<(), EnvironmentError> {
    check_length("numbers for observations", given, agents * observed, || {
        format!("{observed} numbers for each of {agents} agents, environment by environment")
    })
}

impl Environment {
    /// Creates an environment. If the first call of `reset` has no seed, the first episode has seed 0.
    #[must_use]
    pub const fn new(blueprint: Arc<Blueprint>) -> Self {
        Self {
            blueprint,
            seed: 0,
            episodes: 0,
            episode: None,
            fingerprint: Fingerprint::Off,
        }
    }

    /// Returns the blueprint from which the environment was built.
    #[must_use]
    pub const fn blueprint(&self) -> &Arc<Blueprint> {
        &self.blueprint
    }

    /// Turns trace hashes on or off, starting with the next episode.
    pub const fn set_fingerprint(&mut self, fingerprint: Fingerprint) {
        self.fingerprint = fingerprint;
    }

    /// Starts an episode. With a `seed`, the network is the same as in a run of the experiment with that seed, apart
    /// from the agents. Without a seed, the seed is derived from the last one. Values in `fixed` replace drawn values;
    /// only keys with a range can be fixed.
    ///
    /// # Errors
    /// Returns an error if the length of `observations` is not the total length of all observations, or if the episode
    /// cannot be built.
    pub fn reset(
        &mut self,
        seed: Option<u64>,
        fixed: &[(String, SweepValue)],
        observations: &mut [f32],
    ) -> Result<(), EnvironmentError> {
        let observed = self.blueprint.observation_len();
        check_observations(observations.len(), self.blueprint.agents().len(), observed)?;
        self.blueprint.check_fixed(fixed)?;
        if let Some(seed) = seed {
            self.seed = seed;
            self.episodes = 0;
        }
        let seed = episode_seed(self.seed, self.episodes);
        // The old episode is dropped first, so that the new one can reuse its memory.
        self.episode = None;
        let episode = Episode::new(&self.blueprint, seed, fixed, self.fingerprint)?;
        self.episodes += 1;
        let agents = episode.agents.iter();
        for (agent, slot) in agents.zip(observations.chunks_exact_mut(observed)) {
            slot.copy_from_slice(&agent.numbers);
        }
        self.episode = Some(episode);
        Ok(())
    }

    /// Applies the action of each agent, simulates one step, and writes the outcome. For an agent whose transfer is
    /// complete, the action is ignored, the reward is 0, and the observation does not change.
    ///
    /// # Errors
    /// Returns an error without simulating a step if there is no episode, the episode is over, a slice has the wrong
    /// length, or an action is out of bounds.
    pub fn step(
        &mut self,
        actions: &[f32],
        outcome: &mut StepOutput<'_>,
    ) -> Result<(), EnvironmentError> {
        self.check_actions(actions)?;
        outcome.check(
            self.blueprint.agents().len(),
            self.blueprint.observation_len(),
        )?;
        self.go_on(actions, outcome);
        Ok(())
    }

    /// Returns `true` if there is an episode that is not over yet.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let episode = self.episode.as_ref();
        episode.is_some_and(|episode| !episode.is_at_end() && !episode.is_done())
    }

    /// Returns the state of the episode, or `None` before the first one.
    #[must_use]
    pub fn info(&self) -> Option<Info> {
        let episode = self.episode.as_ref()?;
        let seed = episode_seed(self.seed, self.episodes.saturating_sub(1));
        Some(Info::of(episode, seed))
    }

    /// Checks that a step with these actions is possible.
    pub(crate) fn check_actions(&self, actions: &[f32]) -> Result<(), EnvironmentError> {
        let Some(episode) = &self.episode else {
            return Err(EnvironmentError::NotReset { environment: 0 });
        };
        if !self.is_running() {
            return Err(EnvironmentError::Over { environment: 0 });
        }
        let agents = self.blueprint.agents().len();
        check_length("actions", actions.len(), agents, || {
            format!("one for each of {agents} agents")
        })?;
        let (low, high) = self.blueprint.settings().action.bounds();
        let mut all = episode.agents.iter().zip(actions).enumerate();
        // No range contains NaN.
        let wrong =
            all.find(|(_, (agent, action))| !agent.is_done && !(low..=high).contains(*action));
        match wrong {
            None => Ok(()),
            Some((agent, (_, value))) => Err(EnvironmentError::Action {
                environment: 0,
                agent,
                value: *value,
                low,
                high,
            }),
        }
    }

    /// Performs a step whose inputs have been checked.
    pub(crate) fn go_on(&mut self, actions: &[f32], outcome: &mut StepOutput<'_>) {
        let Some(episode) = &mut self.episode else {
            return;
        };
        let settings = self.blueprint.settings();
        let width = self.blueprint.observation_len();
        episode.order(&self.blueprint, actions);
        episode.advance(settings.interval);
        outcome.rewards.fill(0.0);
        episode.read(settings.action.hold(), |n, agent, step| {
            settings.observation.add(&mut agent.numbers, step);
            outcome.rewards[n] = settings.reward.of(step);
        });
        let is_at_end = episode.is_at_end();
        for (n, agent) in episode.agents.iter().enumerate() {
            outcome.observations[n * width..][..width].copy_from_slice(&agent.numbers);
            outcome.terminated[n] = agent.is_done;
            outcome.truncated[n] = is_at_end && !agent.is_done;
        }
    }
}

/// Returns the seed of episode `n`, counted from 0, of an environment that was reset with `seed`. Episode 0 has `seed`
/// itself.
#[must_use]
pub fn episode_seed(seed: u64, n: u64) -> u64 {
    match n {
        0 => seed,
        n => Stream::derive(seed, &format!("episode {n}")).bits(),
    }
}
