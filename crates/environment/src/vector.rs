//! Many environments at once, stepped by threads.
//!
//! What comes of a step does not depend on the number of threads: every environment has its own simulation, its own
//! random numbers and its own places in the caller's slices.

mod crew;
mod part;

use std::sync::{Arc, Mutex, PoisonError};

use dupack_lab::experiment::SweepValue;
use dupack_lab::run::room;
use dupack_lab::run::size::bytes_in_words;
use dupack_net::random::Stream;

use self::crew::Crew;
use self::part::Part;
use crate::blueprint::Blueprint;
use crate::environment::{Environment, Outcome, check_observations};
use crate::episode::Fingerprint;
use crate::error::{EnvironmentError, check_length};

/// Several environments of one blueprint.
#[derive(Debug)]
pub struct VectorEnvironment {
    blueprint: Arc<Blueprint>,
    environments: Vec<Environment>,
    crew: Crew,
    autoreset: Autoreset,
    /// With [`Autoreset::SameStep`], what was observed last in the episodes that ended.
    last: Vec<f32>,
}

/// What happens with an environment whose episode is over (Gymnasium's `AutoresetMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Autoreset {
    /// The next step begins its next episode instead of going on: its action is not looked at, the reward is 0, and
    /// what is observed is the new episode's beginning.
    #[default]
    NextStep,
    /// The step that ends its episode begins the next: what is observed is the new episode's beginning, and
    /// [`last_observations`](VectorEnvironment::last_observations) has what was observed at the end of the old one.
    SameStep,
    /// Nothing: a step is an error until it is reset.
    Disabled,
}

/// With which seeds environments are reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Seeds<'a> {
    /// Each with the next that follows from its last one.
    Next,
    /// Each with its own, which follow from this one ([`environment_seed`]).
    From(u64),
    /// Each with its own of the list.
    Each(&'a [u64]),
}

/// How many threads step environments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Threads {
    /// One for each processor, but no more than there are environments.
    #[default]
    All,
    /// So many, the caller's among them.
    Count(usize),
}

/// The most environments of a vector.
const MOST: usize = 1 << 20;

/// An error if `count` environments of `blueprint` do not fit into memory.
fn fits(blueprint: &Blueprint, count: usize) -> Result<(), EnvironmentError> {
    let observed = blueprint
        .agents()
        .len()
        .checked_mul(blueprint.observation_len());
    // What is observed, and what was observed last.
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
            "{count} environments take about {all} of memory, and {} are available",
            bytes_in_words(there)
        ),
        "fewer environments, fewer agents or a smaller buffer",
    ))
}

impl VectorEnvironment {
    /// `count` environments.
    ///
    /// # Errors
    /// If there are none, or more than 2²⁰, or more than fit into memory, or the threads cannot be started.
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
                format!("from 1 to {MOST}"),
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

    /// What they were built from.
    #[must_use]
    pub const fn blueprint(&self) -> &Arc<Blueprint> {
        &self.blueprint
    }

    /// The environments, in the order of the slices.
    #[must_use]
    pub fn environments(&self) -> &[Environment] {
        &self.environments
    }

    /// Threads that step them, the caller's among them.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.crew.size()
    }

    /// Whether the traces of episodes are hashed, from the next ones on.
    pub fn set_fingerprint(&mut self, fingerprint: Fingerprint) {
        for environment in &mut self.environments {
            environment.set_fingerprint(fingerprint);
        }
    }

    /// What agents observed at the end of the episodes that the last step has ended, with [`Autoreset::SameStep`]:
    /// in the places of those for which it says `terminated` or `truncated`. What stands in other places means
    /// nothing. Empty with any other mode.
    #[must_use]
    pub fn last_observations(&self) -> &[f32] {
        &self.last
    }

    /// Begins an episode in each. `fixed` is as in [`Environment::reset`], for all of them.
    ///
    /// # Errors
    /// If a slice has the wrong length, or an episode cannot be built: then of the first for which that is so.
    pub fn reset(
        &mut self,
        seeds: Seeds<'_>,
        fixed: &[(String, SweepValue)],
        observations: &mut [f32],
    ) -> Result<(), EnvironmentError> {
        let all = vec![true; self.environments.len()];
        self.reset_some(&all, seeds, fixed, observations)
    }

    /// Begins an episode in those that `which` names, and leaves the others and their observations as they are.
    ///
    /// # Errors
    /// As [`reset`](Self::reset).
    pub fn reset_some(
        &mut self,
        which: &[bool],
        seeds: Seeds<'_>,
        fixed: &[(String, SweepValue)],
        observations: &mut [f32],
    ) -> Result<(), EnvironmentError> {
        let count = self.environments.len();
        let each = || format!("one for each of {count} environments");
        check_length("environments to reset or not", which.len(), count, each)?;
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

    /// Goes on for a step in each, with `actions` in the order of environments and, within, of agents.
    ///
    /// # Errors
    /// If a slice has the wrong length, an environment was not reset, or an action is beyond its bounds: nothing has
    /// happened then. If a next episode cannot be built, all others have made their step.
    pub fn step(
        &mut self,
        actions: &[f32],
        outcome: &mut Outcome<'_>,
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
        let whole = Part {
            first: 0,
            environments: &mut self.environments,
            actions,
            outcome: Outcome::new(
                outcome.observations,
                outcome.rewards,
                outcome.terminated,
                outcome.truncated,
            ),
            last: &mut self.last,
        };
        self.crew
            .each(whole.cut(size, agents, width), &|part: Part<'_>| {
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

/// The first error of several environments, whichever thread meets it.
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

/// The seed of the `n`th environment of several that were given `seed`.
#[must_use]
pub fn environment_seed(seed: u64, n: usize) -> u64 {
    Stream::derive(seed, &format!("environment {n}")).bits()
}
