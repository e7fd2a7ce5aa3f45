//! Parts of a vector: adjacent environments and their slices. Only one thread at a time works on a part.

use super::{Autoreset, Failed};
use crate::environment::{Environment, StepOutput};

/// Adjacent environments.
pub(super) struct Chunk<'a> {
    /// Index of the first environment.
    pub(super) first: usize,
    pub(super) environments: &'a mut [Environment],
    pub(super) actions: &'a [f32],
    pub(super) outcome: StepOutput<'a>,
    /// Destination for the last observations of an episode; empty if these are not needed.
    pub(super) last: &'a mut [f32],
}

impl<'a> Chunk<'a> {
    /// Splits the part into parts of `size` environments. Each environment has `agents` agents that observe `width`
    /// numbers.
    pub(super) fn cut(mut self, size: usize, agents: usize, width: usize) -> Vec<Self> {
        let mut parts = Vec::with_capacity(self.environments.len().div_ceil(size));
        while self.environments.len() > size {
            let (one, rest) = self.split(size, agents, width);
            parts.push(one);
            self = rest;
        }
        parts.push(self);
        parts
    }

    fn split(self, size: usize, agents: usize, width: usize) -> (Self, Self) {
        let places = size * agents;
        let numbers = places * width;
        let (environments, environments_left) = self.environments.split_at_mut(size);
        let (actions, actions_left) = self.actions.split_at(places);
        let (observations, observations_left) = self.outcome.observations.split_at_mut(numbers);
        let (rewards, rewards_left) = self.outcome.rewards.split_at_mut(places);
        let (terminated, terminated_left) = self.outcome.terminated.split_at_mut(places);
        let (truncated, truncated_left) = self.outcome.truncated.split_at_mut(places);
        let (last, last_left) = self.last.split_at_mut(numbers.min(self.last.len()));
        let one = Self {
            first: self.first,
            environments,
            actions,
            outcome: StepOutput::new(observations, rewards, terminated, truncated),
            last,
        };
        let rest = Self {
            first: self.first + size,
            environments: environments_left,
            actions: actions_left,
            outcome: StepOutput::new(
                observations_left,
                rewards_left,
                terminated_left,
                truncated_left,
            ),
            last: last_left,
        };
        (one, rest)
    }

    /// Performs a step in each environment. All inputs have been checked.
    pub(super) fn step(self, autoreset: Autoreset, agents: usize, width: usize, failed: &Failed) {
        let numbers = agents * width;
        let StepOutput {
            observations,
            rewards,
            terminated,
            truncated,
        } = self.outcome;
        for (n, environment) in self.environments.iter_mut().enumerate() {
            let places = n * agents..(n + 1) * agents;
            let mut outcome = StepOutput::new(
                &mut observations[n * numbers..][..numbers],
                &mut rewards[places.clone()],
                &mut terminated[places.clone()],
                &mut truncated[places.clone()],
            );
            if environment.is_running() {
                environment.go_on(&self.actions[places], &mut outcome);
                if autoreset == Autoreset::SameStep && !environment.is_running() {
                    self.last[n * numbers..][..numbers].copy_from_slice(outcome.observations);
                    failed.note(
                        self.first + n,
                        environment.reset(None, &[], outcome.observations),
                    );
                }
            } else {
                outcome.rewards.fill(0.0);
                outcome.terminated.fill(false);
                outcome.truncated.fill(false);
                failed.note(
                    self.first + n,
                    environment.reset(None, &[], outcome.observations),
                );
            }
        }
    }
}
