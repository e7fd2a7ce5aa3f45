//! Many environments whose steps are performed together by threads.
//!
//! The outcome of a step does not depend on the number of threads, because every environment has its own simulation,
//! its own random numbers, and its own parts of the caller's slices.

mod crew;
mod part;

use std::sync::{Arc, Mutex, PoisonError};

use dupack_lab::experiment::SweepValue;
use dupack_lab::run::room;
use dupack_lab::run::size::bytes_in_words;
use dupack_net::random::Stream;

use self::crew::Crew;
use self::part::Chunk;
use crate::blueprint::Blueprint;
use crate::environment::{Environment, StepOutput, check_observations};
use crate::episode::Fingerprint;
use crate::error::{EnvironmentError, check_length};

/// Several environments of one blueprint.
#[derive(Debug)]
pub struct VectorEnvironment {
    blueprint: Arc<Blueprint>,
    environments: Vec<Environment>,
    crew: Crew,
    autoreset: Autoreset,
    /// Last observations of the episodes that ended, with [`Autoreset::SameStep`].
    last: Vec<f32>,
}

/// Behaviour when the episode of an environment is over (Gymnasium's `AutoresetMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Autoreset {
    /// The next step starts a new episode instead: the action of this step is ignored, the reward is 0, and the
    /// observation is the first one of the new episode.
    #[default]
    NextStep,
    /// The step that ends an episode also starts the next one: the observation is the first one of the new episode, and
    /// [`last_observations`](VectorEnvironment::last_observations) has the last one of the old episode.
    SameStep,
    /// No reset: a step is an error until the environment is reset.
    Disabled,
}

/// Seeds for the reset of environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Seeds<'a> {
    /// Each environment continues with a seed that is derived from its last one.
    Next,
    /// Each environment gets its own seed, derived from this one ([`environment_seed`]).
    From(u64),
    /// Each environment gets its own seed from the list.
    Each(&'a [u64]),
}

/// Number of threads that perform the steps of environments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Threads {
    /// One thread per processor, but at most one per environment.
    #[default]
    All,
    /// This number, including the caller's thread.
    Count(usize),
}

/// Maximum number of environments in a vector.
const MOST: usize = 1 << 20;

/// Returns an error if `count` environments of `blueprint` do not fit into memory.
fn fits(blueprint: &Blueprint, count: usize) -> Result<(), EnvironmentError> {
    let observed = blueprint
        .agents()
        .len()
        .checked_mul(blueprint.observation_len());
    // Both the current and the last observations need memory.
    let numbers = observed.and_then(|numbers| numbers.checked_mul(2 * size_of::<f32>()));
    let each = numbers.and_then(|bytes| blueprint.bytes().checked_add(bytes as u64));
    let all = each.and_then(|bytes| bytes.checked_mul(count as u64));
    let there = room();
    if all.is_some_and(|all| all <= there) {
        return Ok(());
    }
    let all = all.map_or("more than 10 EB".to_owned(), bytes_in_words);
    Err(EnvironmentError::setting(
        "count",
        format!(
            "{count} environments need about {all} of memory, but only {} are available",
            bytes_in_words(there)
        ),
        "use fewer environments, fewer agents or a smaller buffer",
    ))
}

impl VectorEnvironment {
    /// Creates `count` environments.
    ///
    /// # Errors
    /// Returns an error if `count` is 0 or more than 2²⁰, if the environments do not fit into memory, or if the threads
    /// cannot be started.
    pub fn new(
        blueprint: Arc<Blueprint>,
        count: usize,
        threads: Threads,
        autoreset: Autoreset,
    ) -> Result<Self, EnvironmentError> {
        if !(1..=MOST).contains(&count) {
            let message = format!("{count} environments");
            return Err(EnvironmentError::setting(
                "count",
                message,
                format!("choose a number from 1 to {MOST}"),
            ));
        }
        fits(&blueprint, count)?;
        let environments = (0..count).map(|_| Environment::new(Arc::clone(&blueprint)));
        let last = match autoreset {
            Autoreset::SameStep => count * blueprint.agents().len() * blueprint.observation_len(),
            Autoreset::NextStep | Autoreset::Disabled => 0,
        };
        Ok(Self {
            environments: environments.collect(),
            crew: Crew::new(threads, count)?,
            autoreset,
            last: vec![0.0; last],
            blueprint,
        })
    }

    /// Returns the blueprint from which the environments were built.
    #[must_use]
    pub const fn blueprint(&self) -> &Arc<Blueprint> {
        &self.blueprint
    }

    /// Returns the environments, in the order of the slices.
    #[must_use]
    pub fn environments(&self) -> &[Environment] {
        &self.environments
    }

    /// Returns the number of threads that perform the steps, including the caller's thread.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.crew.size()
    }

    /// Turns trace hashes on or off, starting with the next episodes.
    pub fn set_fingerprint(&mut self, fingerprint: Fingerprint) {
        for environment in &mut self.environments {
            environment.set_fingerprint(fingerprint);
        }
    }

    /// Returns the last observations of the episodes that ended in the last step, with [`Autoreset::SameStep`]. Only
    /// the observations of environments whose episode has ended in this step are meaningful. The slice is empty in
    /// other modes.
    #[must_use]
    pub fn last_observations(&self) -> &[f32] {
        &self.last
    }

    /// Starts an episode in each environment. `fixed` has the same meaning as in [`Environment::reset`], and applies to
    /// all environments.
    ///
    /// # Errors
    /// Returns an error if a slice has the wrong length, or for the first environment whose episode cannot be built.
    pub fn reset(
        &mut self,
        seeds: Seeds<'_>,
        fixed: &[(String, SweepValue)],
        observations: &mut [f32],
    ) -> Result<(), EnvironmentError> {
        let all = vec![true; self.environments.len()];
        self.reset_some(&all, seeds, fixed, observations)
    }

    /// Starts an episode in the environments selected by `which`. The other environments and their observations do not
    /// change.
    ///
    /// # Errors
    /// Same as [`reset`](Self::reset).
    pub fn reset_some(
        &mut self,
        which: &[bool],
        seeds: Seeds<'_>,
        fixed: &[(String, SweepValue)],
        observations: &mut [f32],
    ) -> Result<(), EnvironmentError> {
        let count = self.environments.len();
        let each = || format!("one for each of {count} environments");
        check_length(
            "selection of environments to reset",
            which.len(),
            count,
            each,
        )?;
        if let Seeds::Each(seeds) = seeds {
            check_length("seeds", seeds.len(), count, each)?;
        }
        let (agents, observed) = (
            self.blueprint.agents().len(),
            self.blueprint.observation_len(),
        );
        check_observations(observations.len(), count * agents, observed)?;
        self.blueprint.check_fixed(fixed)?;
        let width = agents * observed;
        let size = self.crew.part_of(count);
        let parts = self.environments.chunks_mut(size);
        let parts = parts.zip(observations.chunks_mut(size * width)).enumerate();
        let parts =
            parts.map(|(n, (environments, observations))| (n * size, environments, observations));
        let failed = Failed::default();
        self.crew
            .each(parts.collect(), &|(first, environments, observations)| {
                let places = observations.chunks_exact_mut(width);
                for (n, (environment, place)) in (first..).zip(environments.iter_mut().zip(places))
                {
                    if which[n] {
                        let seed = match seeds {
                            Seeds::Next => None,
                            Seeds::From(seed) => Some(environment_seed(seed, n)),
                            Seeds::Each(seeds) => Some(seeds[n]),
                        };
                        failed.note(n, environment.reset(seed, fixed, place));
                    }
                }
            });
        failed.outcome()
    }

    /// Performs one step in each environment. `actions` are ordered by environment, then by agent.
    ///
    /// # Errors
    /// Returns an error without simulating a step if a slice has the wrong length, an environment was not reset, or an
    /// action is out of bounds. Also returns an error if the next episode of an environment cannot be built; the other
    /// environments have then performed their step.
    pub fn step(
        &mut self,
        actions: &[f32],
        outcome: &mut StepOutput<'_>,
    ) -> Result<(), EnvironmentError> {
        let agents = self.blueprint.agents().len();
        let all = self.environments.len() * agents;
        let each = || format!("one for each of {all} agents, environment by environment");
        check_length("actions", actions.len(), all, each)?;
        outcome.check(all, self.blueprint.observation_len())?;
        self.check_actions(actions)?;
        let failed = Failed::default();
        let size = self.crew.part_of(self.environments.len());
        let autoreset = self.autoreset;
        let width = self.blueprint.observation_len();
        let whole = Chunk {
            first: 0,
            environments: &mut self.environments,
            actions,
            outcome: StepOutput::new(
                outcome.observations,
                outcome.rewards,
                outcome.terminated,
                outcome.truncated,
            ),
            last: &mut self.last,
        };
        self.crew
            .each(whole.cut(size, agents, width), &|part: Chunk<'_>| {
                part.step(autoreset, agents, width, &failed);
            });
        failed.outcome()
    }

    fn check_actions(&self, actions: &[f32]) -> Result<(), EnvironmentError> {
        let agents = self.blueprint.agents().len();
        let each = self.environments.iter().zip(actions.chunks_exact(agents));
        for (n, (environment, actions)) in each.enumerate() {
            match environment.check_actions(actions) {
                Err(EnvironmentError::Over { .. }) if self.autoreset == Autoreset::NextStep => {}
                checked => checked.map_err(|error| error.of_environment(n))?,
            }
        }
        Ok(())
    }
}

/// Error of the environment with the smallest index, regardless of the order in which threads report errors.
#[derive(Default)]
struct Failed(Mutex<Option<(usize, EnvironmentError)>>);

impl Failed {
    fn note(&self, number: usize, outcome: Result<(), EnvironmentError>) {
        let Err(error) = outcome else {
            return;
        };
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| number < *known) {
            *first = Some((number, error.of_environment(number)));
        }
    }

    fn outcome(self) -> Result<(), EnvironmentError> {
        match self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((_, error)) => Err(error),
        }
    }
}

/// Returns the seed of the environment with index `n` in a vector that was reset with [`Seeds::From`]`(seed)`.
#[must_use]
pub fn environment_seed(seed: u64, n: usize) -> u64 {
    Stream::derive(seed, &format!("environment {n}")).bits()
}
