//! Early ends of runs: all runs are asked to stop, or a plug-in fails and gives up its own run.
//!
//! The plug-in traits have no way to report a failure, since most plug-ins never fail. A plug-in that calls a user's
//! script may fail: it calls [`give_up`] with a description of the fault, and returns harmless values from then on. The
//! run of that thread ends soon after without a result, and [`Interrupt::take_given_up`] reports it. Other runs are not
//! affected.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::build::Scenario;
use super::plan::Job;

/// Callback that returns `true` to stop.
type Question = Box<dyn Fn() -> bool + Send + Sync>;

/// Request to stop running experiments. Finished runs are kept. The interrupt also collects the runs that plug-ins gave
/// up.
#[derive(Default)]
pub struct Interrupt {
    asked: AtomicBool,
    question: Option<Question>,
    given_up: Mutex<Vec<GivenUp>>,
}

impl Interrupt {
    /// Creates an interrupt that has not been requested.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            asked: AtomicBool::new(false),
            question: None,
            given_up: Mutex::new(Vec::new()),
        }
    }

    /// Creates an interrupt that is also requested as soon as `question` returns `true`. The threads that perform runs
    /// call `question` about once per simulated second, and between runs.
    #[must_use]
    pub fn by(question: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            question: Some(Box::new(question)),
            ..Self::new()
        }
    }

    /// Requests the interrupt.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if the interrupt was requested.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        if self.asked.load(Ordering::Relaxed) {
            return true;
        }
        let asked = self.question.as_ref().is_some_and(|question| question());
        if asked {
            self.ask();
        }
        asked
    }

    /// Takes the runs that were given up since the last call, in the order in which they were given up.
    #[must_use]
    pub fn take_given_up(&self) -> Vec<GivenUp> {
        std::mem::take(&mut *self.given_up())
    }

    fn given_up(&self) -> MutexGuard<'_, Vec<GivenUp>> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt")
            .field("asked", &self.asked)
            .field("given_up", &self.given_up())
            .finish_non_exhaustive()
    }
}

/// A run that a plug-in gave up.
#[non_exhaustive]
pub struct GivenUp {
    /// Job in the plan. For a run that only displays a result, such as a trace, only the seed is known, and the other
    /// fields are 0.
    pub job: Job,
    /// Stack under comparison, in its canonical spelling.
    pub stack: String,
    /// Purpose of the run.
    pub purpose: Purpose,
    /// Fault that the plug-in reported.
    pub fault: Fault,
}

impl fmt::Debug for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenUp")
            .field("job", &self.job)
            .field("stack", &self.stack)
            .field("purpose", &self.purpose)
            .finish_non_exhaustive()
    }
}

/// Purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Comparison of stacks.
    Comparison,
    /// Measurement of harm, with a competing flow.
    Harm,
    /// Display: a trace, or values over time.
    Show,
}

/// Fault of a plug-in. The plug-in and the caller of [`take_given_up`](Interrupt::take_given_up) define its meaning.
pub type Fault = Box<dyn Any + Send>;

thread_local! {
    /// Fault for which the run on this thread was given up.
    static FAULT: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// Gives up the run on this thread. A plug-in that calls this must return harmless values from then on. The run ends
/// within a simulated second. The first fault is kept.
pub fn give_up(fault: Fault) {
    FAULT.with_borrow_mut(|place| {
        place.get_or_insert(fault);
    });
}

/// Takes the fault of a plug-in that was built on this thread outside of a run. A plan builds every stack once outside
/// of a run to check it.
#[must_use]
pub fn take_fault() -> Option<Fault> {
    FAULT.take()
}

/// Returns `true` if the run on this thread was given up.
pub(super) fn is_given_up() -> bool {
    FAULT.with_borrow(Option::is_some)
}

/// One run on this thread, from before its plug-ins are built until this guard is dropped. If the run was given up,
/// dropping the guard records it in the interrupt. A plug-in may run an experiment itself: the fault of the outer run
/// is stored until the inner run ends.
pub(crate) struct Attempt<'a> {
    outside: Option<Fault>,
    interrupt: &'a Interrupt,
    scenario: &'a Scenario,
    job: Job,
    purpose: Purpose,
}

impl<'a> Attempt<'a> {
    /// Begins the run of `scenario` for `job`, without a fault.
    pub(crate) fn begin(
        interrupt: &'a Interrupt,
        scenario: &'a Scenario,
        job: Job,
        purpose: Purpose,
    ) -> Self {
        Self {
            outside: FAULT.take(),
            interrupt,
            scenario,
            job,
            purpose,
        }
    }

    /// Begins a run of `scenario` with `seed` for display.
    pub(crate) fn show(interrupt: &'a Interrupt, scenario: &'a Scenario, seed: u64) -> Self {
        let (point, stack) = (0, 0);
        let job = Job { point, stack, seed };
        Self::begin(interrupt, scenario, job, Purpose::Show)
    }

    /// Returns `true` if a plug-in gave up the run.
    pub(crate) fn is_given_up(&self) -> bool {
        is_given_up()
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let Some(fault) = FAULT.replace(self.outside.take()) else {
            return;
        };
        self.interrupt.given_up().push(GivenUp {
            job: self.job,
            stack: self.scenario.stack.to_string(),
            purpose: self.purpose,
            fault,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::experiment::load::Source;
    use crate::run::Plan;

    fn plan() -> Plan {
        let text =
            "stacks = [\"sack/reno\"]\nseeds = 2\nduration = \"2s\"\n[path]\nrate = \"1Mbit/s\"\n";
        let source = Source::new("test.toml", text);
        Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
    }

    #[test]
    fn a_run_that_was_given_up_is_reported_once_with_its_first_fault() {
        let (plan, interrupt) = (plan(), Interrupt::new());
        let job = plan.jobs()[1];
        let scenario = plan.scenario(job);
        let begin = || Attempt::begin(&interrupt, &scenario, job, Purpose::Comparison);
        let attempt = begin();
        assert!(!attempt.is_given_up());
        give_up(Box::new(1_u8));
        give_up(Box::new(2_u8));
        assert!(attempt.is_given_up());
        drop(attempt);
        assert!(!is_given_up());
        let told = interrupt.take_given_up();
        assert_eq!(
            (told.len(), told[0].job, &*told[0].stack),
            (1, job, "sack/reno")
        );
        assert_eq!(told[0].fault.downcast_ref::<u8>(), Some(&1));
        // A completed run records nothing.
        drop(begin());
        assert!(interrupt.take_given_up().is_empty() && !interrupt.is_asked());
    }

    #[test]
    fn a_run_within_a_run_has_its_own_faults() {
        let (plan, interrupt) = (plan(), Interrupt::new());
        let scenario = plan.scenario(plan.jobs()[0]);
        let outside = Attempt::show(&interrupt, &scenario, 1);
        give_up(Box::new("outside"));
        // The inner run completes: a fault of the outer run does not end it.
        assert!(plan.run(plan.jobs()[0], &interrupt).is_some());
        assert!(outside.is_given_up());
        drop(outside);
        assert_eq!(interrupt.take_given_up().len(), 1);
    }

    #[test]
    fn the_callback_is_called_until_it_returns_true() {
        let asked = Arc::new(AtomicBool::new(false));
        let answer = Arc::clone(&asked);
        let interrupt = Interrupt::by(move || answer.load(Ordering::Relaxed));
        assert!(!interrupt.is_asked());
        asked.store(true, Ordering::Relaxed);
        assert!(interrupt.is_asked());
        asked.store(false, Ordering::Relaxed);
        assert!(interrupt.is_asked());
    }
}
