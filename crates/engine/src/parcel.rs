//! Serialisation of work for external workers: an [`Order`] is sent to a worker, and a parcel with the outcomes is
//! returned. Both have a compact binary format.
//!
//! Numbers keep all of their bits. A parcel names its engine, and identifies the experiment by the
//! [`Fingerprint`](dupack_lab::run::Fingerprint)s of its runs. Parcels of another experiment or another engine are
//! rejected.
//!
//! The format is [postcard](https://postcard.jamesmunns.com): a run takes a fifth of the size of its line in a journal.
//! Parcels are never stored, because both ends must be the same build.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3Default;

use dupack_lab::results::{Measure, Run, Values};
use dupack_lab::run::{Interrupt, Plan, engine};

use crate::batch::Order;
use crate::ledger::RUNS;
use crate::set::Task;

/// Outcomes of an order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fulfilled {
    /// Finished runs.
    pub runs: Vec<(Task, Run)>,
    /// Runs that will never finish, because a plug-in gave up.
    pub given_up: Vec<Task>,
}

impl Fulfilled {
    /// Returns the tasks of both lists.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = Task> + '_ {
        let runs = self.runs.iter().map(|(task, _)| *task);
        runs.chain(self.given_up.iter().copied())
    }
}

/// Contents of a parcel.
#[derive(Serialize, Deserialize)]
struct Parcel {
    engine: String,
    number: u64,
    experiment: u64,
    runs: Vec<Sent>,
    given_up: Vec<Task>,
}

/// Finished run.
#[derive(Serialize, Deserialize)]
struct Sent {
    task: Task,
    /// Values in the order of [`Measure::ALL`], which is the same at both ends because both have the same engine.
    values: Vec<Option<f64>>,
    flow_goodputs: Vec<f64>,
    trace_hash: u64,
}

/// Error in the bytes of an order or a parcel.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParcelError {
    /// The format of the bytes is invalid.
    #[error("this is not a parcel of runs: {why}")]
    Form {
        /// Description of the error.
        why: String,
    },
    /// Another engine made the parcel.
    #[error(
        "the engine of the parcel is {theirs}, but this one is {ours}: install the same build \
         everywhere"
    )]
    Engine {
        /// Engine of the parcel.
        theirs: String,
        /// This engine.
        ours: String,
    },
    /// The order or parcel belongs to another experiment.
    #[error("it belongs to another experiment, or to an algorithm with different code")]
    Experiment,
}

impl Order {
    /// Serialises the order.
    ///
    /// # Panics
    /// Never, because an order consists of numbers.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("numbers are serialisable")
    }
}

/// Parses an order.
///
/// # Errors
/// If `bytes` is not an order, or if the order has runs that `plan` does not have.
pub fn read_order(plan: &Plan, bytes: &[u8]) -> Result<Order, ParcelError> {
    let order: Order = read(bytes)?;
    match order.tasks.iter().all(|task| has(plan, *task)) {
        true => Ok(order),
        false => Err(ParcelError::Experiment),
    }
}

/// Performs the runs of `order` one after the other. After an interruption, returns the runs that are done so far.
///
/// # Panics
/// If `plan` does not have one of the runs.
#[must_use]
pub fn fulfil(plan: &Plan, order: &Order, interrupt: &Interrupt) -> Fulfilled {
    let mut done = Fulfilled::default();
    for task in &order.tasks {
        match plan.perform(task.job, task.purpose, interrupt) {
            Some(run) => done.runs.push((*task, run)),
            None if interrupt.is_asked() => break,
            None => done.given_up.push(*task),
        }
    }
    done
}

/// Serialises the outcomes of the order `number`, or of some of its runs.
///
/// # Panics
/// If `plan` does not have one of the runs.
#[must_use]
pub fn write(plan: &Plan, number: u64, done: &Fulfilled) -> Vec<u8> {
    let sent = done.runs.iter().map(|(task, run)| Sent {
        task: *task,
        values: Measure::ALL.map(|measure| run.values.get(measure)).into(),
        flow_goodputs: run.flow_goodputs.clone(),
        trace_hash: run.trace_hash,
    });
    let parcel = Parcel {
        engine: engine(),
        number,
        experiment: identity_of(plan, done.tasks()),
        runs: sent.collect(),
        given_up: done.given_up.clone(),
    };
    postcard::to_allocvec(&parcel).expect("numbers and text are serialisable")
}

/// Parses the number and the outcomes of an order, as written by [`write()`].
///
/// # Errors
/// If the runs do not belong to `plan`, or another engine made them.
pub fn read_parcel(plan: &Plan, bytes: &[u8]) -> Result<(u64, Fulfilled), ParcelError> {
    let parcel: Parcel = read(bytes)?;
    let ours = engine();
    if parcel.engine != ours {
        let theirs = parcel.engine;
        return Err(ParcelError::Engine { theirs, ours });
    }
    let runs = parcel.runs.into_iter().map(|sent| (sent.task, sent.run()));
    let done = Fulfilled {
        runs: runs.collect(),
        given_up: parcel.given_up,
    };
    let is_ours = done.tasks().all(|task| has(plan, task));
    if !is_ours || identity_of(plan, done.tasks()) != parcel.experiment {
        return Err(ParcelError::Experiment);
    }
    Ok((parcel.number, done))
}

/// Returns a hash of the fingerprints of `tasks` of `plan`.
fn identity_of(plan: &Plan, tasks: impl Iterator<Item = Task>) -> u64 {
    let mut hash = Xxh3Default::new();
    for task in tasks {
        hash.update(&plan.fingerprint_for(task.job, task.purpose).to_bytes());
    }
    hash.digest()
}

/// Returns `true` if a session of `plan` can give out `task`.
fn has(plan: &Plan, task: Task) -> bool {
    task.part == RUNS && plan.has(task.job, task.purpose)
}

impl Sent {
    fn run(self) -> Run {
        let mut values = Values::default();
        for (measure, value) in Measure::ALL.into_iter().zip(self.values) {
            // NaN means that the measure does not apply.
            values.set(measure, value.unwrap_or(f64::NAN));
        }
        let job = self.task.job;
        Run {
            point: job.point,
            stack: job.stack,
            seed: job.seed,
            values,
            flow_goodputs: self.flow_goodputs,
            trace_hash: self.trace_hash,
        }
    }
}

/// Parses all of `bytes`.
fn read<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, ParcelError> {
    let form = |why: String| ParcelError::Form { why };
    let (value, rest) =
        postcard::take_from_bytes(bytes).map_err(|error| form(error.to_string()))?;
    match rest {
        [] => Ok(value),
        _ => Err(form(format!("{} bytes too many", rest.len()))),
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use dupack_lab::experiment::load::Source;
    use dupack_lab::run::{Job, Purpose};

    fn plan(rate: &str) -> Plan {
        let text = format!(
            "stacks = [\"sack/reno\"]\nseeds = 2\nduration = \"2s\"\n[path]\nrate = \"{rate}\"\nloss = \"1%\"\n"
        );
        let source = Source::new("test.toml", text);
        Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
    }

    const fn task(job: Job, purpose: Purpose) -> Task {
        let part = RUNS;
        Task { part, job, purpose }
    }

    fn order(plan: &Plan) -> Order {
        let tasks = plan
            .jobs()
            .into_iter()
            .map(|job| task(job, Purpose::Comparison))
            .collect();
        Order { number: 7, tasks }
    }

    #[test]
    fn a_parcel_is_read_by_its_own_plan_only() {
        let catalog = Catalog::builtin();
        let (ours, other) = (plan("1Mbit/s"), plan("2Mbit/s"));
        let order = order(&ours);
        assert_eq!(read_order(&ours, &order.to_bytes()), Ok(order.clone()));
        let done = fulfil(&ours, &order, &Interrupt::new());
        assert_eq!((done.runs.len(), done.given_up.len()), (2, 0));
        let bytes = write(&ours, order.number, &done);
        assert_eq!(read_parcel(&ours, &bytes), Ok((7, done.clone())));
        assert_eq!(read_parcel(&other, &bytes), Err(ParcelError::Experiment));
        let half = Fulfilled {
            runs: done.runs[..1].to_vec(),
            given_up: vec![done.runs[1].0],
        };
        let bytes = write(&ours, order.number, &half);
        assert_eq!(read_parcel(&ours, &bytes), Ok((7, half)));
        assert_eq!(read_parcel(&other, &bytes), Err(ParcelError::Experiment));
        // Runs that measure harm belong to the plan `with_harm` only.
        let with_harm = plan("1Mbit/s").measuring_harm(&catalog);
        let job = Job {
            stack: 1,
            ..ours.jobs()[0]
        };
        let harm = task(job, Purpose::Harm);
        let of_harm = Order {
            number: 1,
            tasks: vec![harm],
        };
        assert_eq!(
            read_order(&with_harm, &of_harm.to_bytes()),
            Ok(of_harm.clone())
        );
        assert_eq!(
            read_order(&ours, &of_harm.to_bytes()),
            Err(ParcelError::Experiment)
        );
        let done = fulfil(&with_harm, &of_harm, &Interrupt::new());
        let bytes = write(&with_harm, 1, &done);
        assert_eq!(read_parcel(&with_harm, &bytes), Ok((1, done)));
        assert_eq!(read_parcel(&ours, &bytes), Err(ParcelError::Experiment));
    }

    #[test]
    fn damaged_parcels_and_those_of_another_engine_are_refused() {
        let plan = plan("1Mbit/s");
        let order = order(&plan);
        let bytes = write(&plan, 7, &fulfil(&plan, &order, &Interrupt::new()));
        for end in 0..bytes.len() {
            assert!(read_parcel(&plan, &bytes[..end]).is_err(), "{end}");
        }
        let longer = [&*bytes, &[0]].concat();
        assert!(matches!(
            read_parcel(&plan, &longer),
            Err(ParcelError::Form { .. })
        ));
        let mut older = bytes;
        // `last` is the position of the last digit of the engine's name, because one byte with the length of the name
        // precedes the name.
        let last = engine().len();
        older[last] ^= 1;
        let Err(ParcelError::Engine { theirs, ours }) = read_parcel(&plan, &older) else {
            panic!("it was accepted");
        };
        assert_ne!(theirs, ours);
        let job = Job {
            point: 9,
            ..plan.jobs()[0]
        };
        let far = task(job, Purpose::Comparison);
        let far = Order {
            number: 1,
            tasks: vec![far],
        };
        assert_eq!(
            read_order(&plan, &far.to_bytes()),
            Err(ParcelError::Experiment)
        );
        assert!(matches!(
            read_order(&plan, b"\xff"),
            Err(ParcelError::Form { .. })
        ));
    }

    #[test]
    fn an_interruption_keeps_finished_runs() {
        let plan = plan("1Mbit/s");
        let interrupt = Interrupt::new();
        interrupt.ask();
        let done = fulfil(&plan, &order(&plan), &interrupt);
        assert_eq!(done, Fulfilled::default());
        assert_eq!(read_parcel(&plan, &write(&plan, 7, &done)), Ok((7, done)));
    }
}
