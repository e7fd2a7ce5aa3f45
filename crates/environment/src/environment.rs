//! One environment: episodes, one after the other.

use std::sync::Arc;

use dupack_lab::experiment::SweepValue;
use dupack_net::random::Stream;

use crate::blueprint::Blueprint;
use crate::episode::{Episode, Fingerprint};
use crate::error::{EnvironmentError, check_length};
use crate::info::Info;

/// A path, and agents that control flows over it.
///
/// [`reset`](Self::reset) begins an episode, [`step`](Self::step) goes on in it. With one agent it is what
/// Gymnasium calls an `Env`, with several what PettingZoo calls a `ParallelEnv`.
#[derive(Debug)]
pub struct Environment {
    blueprint: Arc<Blueprint>,
    /// The seed of its first episode, of which those of the others follow.
    seed: u64,
    /// Episodes begun since it got that seed.
    episodes: u64,
    episode: Option<Episode>,
    fingerprint: Fingerprint,
}

/// Where the outcome of a step goes. With several environments, or several agents, each slice has the numbers of
/// the first environment, agent by agent, then those of the next.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome<'a> {
    /// What each agent observes.
    pub observations: &'a mut [f32],
    /// What each agent is rewarded with.
    pub rewards: &'a mut [f64],
    /// Whether each agent's transfer is done.
    pub terminated: &'a mut [bool],
    /// Whether the time was up before.
    pub truncated: &'a mut [bool],
}

impl<'a> Outcome<'a> {
    /// These slices.
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

    /// Makes sure that there is room for so many agents, each of which observes `observed` numbers.
    pub(crate) fn check(&self, agents: usize, observed: usize) -> Result<(), EnvironmentError> {
        let each = || format!("one for each of {agents} agents, environment by environment");
        check_observations(self.observations.len(), agents, observed)?;
        check_length("rewards", self.rewards.len(), agents, each)?;
        check_length("terminations", self.terminated.len(), agents, each)?;
        check_length("truncations", self.truncated.len(), agents, each)
    }
}

/// Makes sure that there is room for what so many agents observe.
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
    /// One whose first episode, unless a seed is given, is that of seed 0.
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

    /// What it was built from.
    #[must_use]
    pub const fn blueprint(&self) -> &Arc<Blueprint> {
        &self.blueprint
    }

    /// Whether the traces of its episodes are hashed, from the next one on.
    pub const fn set_fingerprint(&mut self, fingerprint: Fingerprint) {
        self.fingerprint = fingerprint;
    }

    /// Begins an episode. With a `seed` it is that seed's: the same as a run of the experiment with the same seed,
    /// but for the agents. Without, it is the next of those that follow from the last seed. `fixed` stands in the
    /// place of what would be drawn; only keys that have a range can be fixed.
    ///
    /// # Errors
    /// If `observations` has another length than what all agents observe, or the episode cannot be built.
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
        // The old one goes first: its memory serves the new one.
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

    /// Gives each agent's order, goes on for a step, and writes what came of it. An agent whose transfer is done
    /// gives no more orders: its action is not looked at, its reward is 0, and it observes what it observed last.
    ///
    /// # Errors
    /// If there is no episode, or it is over; if a slice has the wrong length, or an action is beyond its bounds.
    /// Nothing has happened then.
    pub fn step(
        &mut self,
        actions: &[f32],
        outcome: &mut Outcome<'_>,
    ) -> Result<(), EnvironmentError> {
        self.check_actions(actions)?;
        outcome.check(
            self.blueprint.agents().len(),
            self.blueprint.observation_len(),
        )?;
        self.go_on(actions, outcome);
        Ok(())
    }

    /// Whether the next step is one of the episode at hand: there is one, and it is not over.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let episode = self.episode.as_ref();
        episode.is_some_and(|episode| !episode.is_at_end() && !episode.is_done())
    }

    /// How the episode stands; `None` before the first.
    #[must_use]
    pub fn info(&self) -> Option<Info> {
        let episode = self.episode.as_ref()?;
        let seed = episode_seed(self.seed, self.episodes.saturating_sub(1));
        Some(Info::of(episode, seed))
    }

    /// Makes sure that a step with these actions can be made.
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
        // NaN is in no range.
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

    /// A step of which everything has been checked.
    pub(crate) fn go_on(&mut self, actions: &[f32], outcome: &mut Outcome<'_>) {
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

/// The seed of the `n`th episode after an environment got `seed`: the first has it itself.
#[must_use]
pub fn episode_seed(seed: u64, n: u64) -> u64 {
    match n {
        0 => seed,
        n => Stream::derive(seed, &format!("episode {n}")).bits(),
    }
}
