//! What ends runs before their end: somebody asks all of them to stop, or a plug-in cannot go on and
//! gives up the run that it is in.
//!
//! The traits of the plug-ins have no way to say that they failed, and most plug-ins never do. One that
//! is somebody's script does: it calls [`give_up`] with whatever tells why, and answers from then on
//! with what does no harm. The run that its thread does ends soon after, has no result, and stands in
//! [`Interrupt::take_given_up`]. No other run is touched.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::build::Scenario;
use super::plan::Job;

/// Whether to stop, for those who have no other way to tell.
type Question = Box<dyn Fn() -> bool + Send + Sync>;

/// Asks running experiments to stop; what is finished by then is kept. It holds which runs gave up.
#[derive(Default)]
pub struct Interrupt {
    asked: AtomicBool,
    question: Option<Question>,
    given_up: Mutex<Vec<GivenUp>>,
}

impl Interrupt {
    /// Nobody has asked yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            asked: AtomicBool::new(false),
            question: None,
            given_up: Mutex::new(Vec::new()),
        }
    }

    /// One that is asked, too, as soon as `question` says so. The threads that do runs put it, each about
    /// once per simulated second and between runs.
    #[must_use]
    pub fn by(question: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            question: Some(Box::new(question)),
            ..Self::new()
        }
    }

    /// Asks them to stop.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked.
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

    /// The runs that gave up since this was last called, in the order in which they did.
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
    /// Which run of its plan. Of one that only shows a run again, such as a trace, the seed alone is
    /// known, and the others are 0.
    pub job: Job,
    /// The stack under comparison, in its canonical spelling.
    pub stack: String,
    /// What it was done for.
    pub purpose: Purpose,
    /// What the plug-in said.
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
    /// It compares stacks.
    Comparison,
    /// It measures harm: a standing flow is beside the stack.
    Harm,
    /// It shows what happens: a trace, or values over time.
    Show,
}

/// Why a plug-in gave up: what it means is between it and whoever reads
/// [`take_given_up`](Interrupt::take_given_up).
pub type Fault = Box<dyn Any + Send>;

thread_local! {
    /// Why the run that this thread does was given up.
    static FAULT: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// Gives up the run that this thread does. Called by a plug-in, which answers with what does no harm from
/// then on: the run ends within a simulated second. If there is a reason already, it stays.
pub fn give_up(fault: Fault) {
    FAULT.with_borrow_mut(|place| {
        place.get_or_insert(fault);
    });
}

/// Why a plug-in that was built on this thread gave up, outside of any run: a plan builds every stack
/// once to check it. Asked and forgotten.
#[must_use]
pub fn take_fault() -> Option<Fault> {
    FAULT.take()
}

/// Whether the run that this thread does was given up.
pub(super) fn is_given_up() -> bool {
    FAULT.with_borrow(Option::is_some)
}

/// One run that this thread does, from before its plug-ins are built until this is dropped; if the run
/// was given up, the interrupt has taken note of it then. A plug-in may itself run an experiment: what
/// the run outside has to say waits.
pub(crate) struct Attempt<'a> {
    outside: Option<Fault>,
    interrupt: &'a Interrupt,
    scenario: &'a Scenario,
    job: Job,
    purpose: Purpose,
}

impl<'a> Attempt<'a> {
    /// The run of `scenario` that is `job`. Nothing of it was given up yet.
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

    /// A run of `scenario` with `seed` that is only shown.
    pub(crate) fn show(interrupt: &'a Interrupt, scenario: &'a Scenario, seed: u64) -> Self {
        let (point, stack) = (0, 0);
        let job = Job { point, stack, seed };
        Self::begin(interrupt, scenario, job, Purpose::Show)
    }

    /// Whether a plug-in has given it up.
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
    fn a_run_that_was_given_up_is_told_once_with_its_first_reason() {
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
        // One that comes to its end says nothing.
        drop(begin());
        assert!(interrupt.take_given_up().is_empty() && !interrupt.is_asked());
    }

    #[test]
    fn a_run_within_a_run_has_its_own_faults() {
        let (plan, interrupt) = (plan(), Interrupt::new());
        let scenario = plan.scenario(plan.jobs()[0]);
        let outside = Attempt::show(&interrupt, &scenario, 1);
        give_up(Box::new("outside"));
        // A whole run: what was given up outside does not end it.
        assert!(plan.run(plan.jobs()[0], &interrupt).is_some());
        assert!(outside.is_given_up());
        drop(outside);
        assert_eq!(interrupt.take_given_up().len(), 1);
    }

    #[test]
    fn a_question_is_put_until_the_answer_is_yes() {
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
