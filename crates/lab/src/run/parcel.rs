//! A finished run as text, to be sent from where it was done to where the results are put together.
//!
//! Numbers read back to the same bits. The text names the run by its [`Fingerprint`], so that what
//! was done for another experiment, or by another engine, is refused.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fingerprint::engine;
use super::journal::{Done, Line};
use super::kept::Task;
use super::plan::Plan;
use crate::results::Run;

/// What is sent.
#[derive(Serialize, Deserialize)]
struct Parcel {
    engine: String,
    task: Task,
    run: Line,
}

/// Why a text is not taken for a run of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParcelError {
    /// It is no run at all.
    #[error("this is no finished run: {why}")]
    Form {
        /// What is wrong.
        why: String,
    },
    /// Another engine made it.
    #[error(
        "it was made by the engine {theirs}, and this is {ours}: install the same build everywhere"
    )]
    Engine {
        /// The engine that made it.
        theirs: String,
        /// This one.
        ours: String,
    },
    /// It is of another experiment.
    #[error("it is of another experiment, or of an algorithm whose code differs here")]
    Experiment,
}

impl Plan {
    /// `run`, which came out of `task`, as text.
    ///
    /// # Panics
    /// If `task` is none of this plan's.
    #[must_use]
    pub fn write_run(&self, task: Task, run: &Run) -> String {
        let stack = self.scenario_of(task).stack.to_string();
        let place = (&*self.label(task.job().point), &*stack);
        let fingerprint = self.fingerprint_of(task).expect("a run of this plan");
        let done = Done {
            run: run.clone(),
            cpu: None,
        };
        let parcel = Parcel {
            engine: engine(),
            task,
            run: Line::of(fingerprint, place, &done),
        };
        serde_json::to_string(&parcel).expect("it has text keys and numbers")
    }

    /// What [`write_run`](Self::write_run) wrote, wherever that was.
    ///
    /// # Errors
    /// If it is no run of this plan, or another engine made it.
    pub fn read_run(&self, text: &str) -> Result<(Task, Run), ParcelError> {
        let form = |why: String| ParcelError::Form { why };
        let parcel: Parcel = serde_json::from_str(text).map_err(|error| form(error.to_string()))?;
        let ours = engine();
        if parcel.engine != ours {
            let theirs = parcel.engine;
            return Err(ParcelError::Engine { theirs, ours });
        }
        let task = parcel.task;
        let is_ours = self.has(task) && self.fingerprint_of(task) == Some(parcel.run.fingerprint);
        if !is_ours {
            return Err(ParcelError::Experiment);
        }
        let done = parcel.run.done(*task.job());
        let done = done.ok_or_else(|| form("a measure in it is not known here".to_owned()))?;
        Ok((task, done.run))
    }

    /// Whether `task` is one that this plan could give out.
    fn has(&self, task: Task) -> bool {
        let job = task.job();
        let harm = match task {
            Task::Compared(_) => true,
            Task::Harm(_) => self.harm.is_some(),
        };
        harm && job.point < self.points().len() && job.stack < self.stacks().len()
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::experiment::load::Source;
    use crate::run::{Interrupt, Job};

    fn plan(rate: &str) -> Plan {
        let text = format!(
            "stacks = [\"sack/reno\"]\nseeds = 1\nduration = \"2s\"\n[path]\nrate = \"{rate}\"\nloss = \"1%\"\n"
        );
        let source = Source::new("test.toml", text);
        Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
    }

    #[test]
    fn it_reads_back_where_it_belongs_and_nowhere_else() {
        let (ours, other) = (plan("1Mbit/s"), plan("2Mbit/s"));
        let task = Task::Compared(ours.jobs()[0]);
        let run = ours.perform(task, &Interrupt::new()).unwrap();
        let text = ours.write_run(task, &run);
        assert_eq!(ours.read_run(&text), Ok((task, run.clone())));
        assert_eq!(other.read_run(&text), Err(ParcelError::Experiment));
        let far = Task::Compared(Job {
            point: 7,
            ..ours.jobs()[0]
        });
        let moved = text.replacen("\"point\":0", "\"point\":7", 1);
        assert_ne!(moved, text, "{far:?}");
        assert_eq!(ours.read_run(&moved), Err(ParcelError::Experiment));
        let harm = text.replacen("\"compared\"", "\"harm\"", 1);
        assert_eq!(ours.read_run(&harm), Err(ParcelError::Experiment));
        let old = text.replacen(&engine(), "0.0.1 0000000000000000", 1);
        assert!(matches!(
            ours.read_run(&old),
            Err(ParcelError::Engine { .. })
        ));
        for text in ["", "{}", "null", "[1]", &text[..text.len() - 1]] {
            assert!(
                matches!(ours.read_run(text), Err(ParcelError::Form { .. })),
                "{text}"
            );
        }
    }
}
