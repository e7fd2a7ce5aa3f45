//! Runs that are done elsewhere: an [`Order`] goes out, a parcel with what came of it comes back, both as
//! a few bytes.
//!
//! Numbers come back to the same bits. A parcel names its engine, and the experiment by the
//! [`Fingerprint`](dupack_lab::run::Fingerprint)s of its runs, so that what was done for another experiment, or by
//! another engine, is refused.
//!
//! The bytes are those of [postcard](https://postcard.jamesmunns.com): a run takes a fifth of what its line
//! in a journal takes. Nothing is stored in this form: both ends are the same build.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3Default;

use dupack_lab::results::{Measure, Run, Values};
use dupack_lab::run::{Interrupt, Plan, engine};

use crate::batch::Order;
use crate::ledger::RUNS;
use crate::set::Task;

/// What came of an order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fulfilled {
    /// The runs that were done.
    pub runs: Vec<(Task, Run)>,
    /// Those that will never be: an algorithm in them could not go on.
    pub given_up: Vec<Task>,
}

impl Fulfilled {
    /// Whichever, all of them.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = Task> + '_ {
        let runs = self.runs.iter().map(|(task, _)| *task);
        runs.chain(self.given_up.iter().copied())
    }
}

/// What is sent back.
#[derive(Serialize, Deserialize)]
struct Parcel {
    engine: String,
    number: u64,
    experiment: u64,
    runs: Vec<Sent>,
    given_up: Vec<Task>,
}

/// A run that was done.
#[derive(Serialize, Deserialize)]
struct Sent {
    task: Task,
    /// In the order of [`Measure::ALL`]: the engine is the same on both sides.
    values: Vec<Option<f64>>,
    flow_goodputs: Vec<f64>,
    trace_hash: u64,
}

/// Why bytes are not taken for an order or for runs of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParcelError {
    /// They are nothing of the kind.
    #[error("this is no parcel of runs: {why}")]
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

impl Order {
    /// As it is sent.
    ///
    /// # Panics
    /// Never: it has numbers alone.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("numbers can be written")
    }
}

/// Reads the order that `bytes` are.
///
/// # Errors
/// If they are none, or one for runs that `plan` does not have.
pub fn read_order(plan: &Plan, bytes: &[u8]) -> Result<Order, ParcelError> {
    let order: Order = read(bytes)?;
    match order.tasks.iter().all(|task| has(plan, *task)) {
        true => Ok(order),
        false => Err(ParcelError::Experiment),
    }
}

/// Performs the runs of `order`, one after the other. Where it is interrupted, what is done by then comes
/// back.
///
/// # Panics
/// If one of them is none of this plan's.
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

/// Returns what came of the order with that number, or of a part of it, as it is sent.
///
/// # Panics
/// If a run in it is none of this plan's.
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
    postcard::to_allocvec(&parcel).expect("numbers and text can be written")
}

/// Reads the number, and what came of that order, as [`write`] wrote it, wherever that was.
///
/// # Errors
/// If its runs are not of `plan`, or another engine made them.
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

/// Returns a number for all that `tasks`, which are of `plan`, depend on.
fn identity_of(plan: &Plan, tasks: impl Iterator<Item = Task>) -> u64 {
    let mut hash = Xxh3Default::new();
    for task in tasks {
        hash.update(&plan.fingerprint_for(task.job, task.purpose).to_bytes());
    }
    hash.digest()
}

/// Returns `true` if `task` is one that a session of `plan` can give out.
fn has(plan: &Plan, task: Task) -> bool {
    task.part == RUNS && plan.has(task.job, task.purpose)
}

impl Sent {
    fn run(self) -> Run {
        let mut values = Values::default();
        for (measure, value) in Measure::ALL.into_iter().zip(self.values) {
            // What is not a number does not apply.
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

/// What `bytes` are, with nothing left over.
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
    fn it_reads_back_where_it_belongs_and_nowhere_else() {
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
        // Runs that measure harm are another's.
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
    fn what_is_damaged_or_of_another_engine_is_refused() {
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
        // The last digit of the engine, behind its length.
        let last = engine().len();
        older[last] ^= 1;
        let Err(ParcelError::Engine { theirs, ours }) = read_parcel(&plan, &older) else {
            panic!("it was taken");
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
    fn an_interruption_leaves_what_is_done() {
        let plan = plan("1Mbit/s");
        let interrupt = Interrupt::new();
        interrupt.ask();
        let done = fulfil(&plan, &order(&plan), &interrupt);
        assert_eq!(done, Fulfilled::default());
        assert_eq!(read_parcel(&plan, &write(&plan, 7, &done)), Ok((7, done)));
    }
}
