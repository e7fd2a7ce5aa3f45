//! State of a session: due tasks, tasks that were given out, and stored runs.
//!
//! A session performs no runs itself. Its drivers, which are threads or other processes, take due tasks and enter
//! outcomes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dupack_lab::run::Fingerprint;

use crate::journal::{Done, Journal, JournalError};
use crate::samples::samples;
use crate::set::{Conduct, Evidence, Outcome, Schedule, Set, Task, Worker};
use crate::watch::{Amount, Watch};

/// Minimum number of stored runs that are repeated, if there are enough kinds.
const SAMPLES_LEAST: usize = 16;

/// Journals in which finished runs are stored and found.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    journals: Journals,
    failure: OnFailure,
    trust: SharedTrust,
}

/// Trust in the stored runs of several sessions, such as those of one command. The first session that finds stored runs
/// repeats samples of them, and the other sessions take its result.
#[derive(Clone, Debug, Default)]
pub struct SharedTrust(Arc<Mutex<Trust>>);

#[derive(Clone, Debug, Default)]
enum Journals {
    #[default]
    Nowhere,
    Together(Arc<Journal>),
    ByPart(Vec<Option<Arc<Journal>>>),
}

/// Consequence of a finished run that cannot be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OnFailure {
    /// The user is informed once, and the session continues.
    #[default]
    GoOn,
    /// No further run is started, because runs that are not stored are lost.
    Stop,
}

impl Keeping {
    /// Stores no runs.
    #[must_use]
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// Stores the runs of all parts in one journal.
    #[must_use]
    pub fn within(journal: Arc<Journal>) -> Self {
        Self {
            journals: Journals::Together(journal),
            ..Self::default()
        }
    }

    /// Stores the runs of each part in its own journal, if the part has one.
    #[must_use]
    pub fn by_part(journals: Vec<Option<Arc<Journal>>>) -> Self {
        Self {
            journals: Journals::ByPart(journals),
            ..Self::default()
        }
    }

    /// Returns the same journals, whose trust is shared with other sessions.
    #[must_use]
    pub fn trusted_with(mut self, trust: &SharedTrust) -> Self {
        self.trust = trust.clone();
        self
    }

    /// Returns the same journals, but the session ends if a run cannot be stored.
    #[must_use]
    pub const fn or_stop(mut self) -> Self {
        self.failure = OnFailure::Stop;
        self
    }

    fn of(&self, part: usize) -> Option<&Journal> {
        match &self.journals {
            Journals::Nowhere => None,
            Journals::Together(journal) => Some(journal),
            Journals::ByPart(journals) => journals.get(part)?.as_deref(),
        }
    }

    fn all(&self) -> Vec<&Journal> {
        match &self.journals {
            Journals::Nowhere => Vec::new(),
            Journals::Together(journal) => vec![journal],
            Journals::ByPart(journals) => journals.iter().flatten().map(|own| &**own).collect(),
        }
    }
}

/// Execution of a set of runs.
#[derive(Debug)]
pub struct Session<S: Set, E> {
    pub(crate) set: S,
    pub(crate) books: Books<S::Outcome, E>,
}

/// Cost of a run in addition to its packets, in packets, for setup and summary. Runs of 1 s at 1 Mbit/s (125 packets)
/// take about 0.3 ms, and long runs take 0.3 µs per packet (`python/benchmarks/executors.py --costs`).
const RUN_PACKETS: u64 = 1000;

/// Tasks that share one run.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    /// Task that is performed.
    pub(crate) task: Task,
    /// Other tasks with the same run.
    same: Vec<Task>,
    pub(crate) packets: u64,
}

impl Due {
    /// Returns the estimated cost in packets.
    pub(crate) const fn cost(&self) -> u64 {
        self.packets.saturating_add(RUN_PACKETS)
    }
}

/// State of the tasks.
#[derive(Debug)]
pub(crate) struct Books<O, E> {
    pub(crate) evidence: E,
    keeping: Keeping,
    /// Outcomes of earlier rounds, if the set shares runs.
    known: HashMap<Fingerprint, O>,
    due: VecDeque<Due>,
    /// Estimated cost of all due tasks in packets.
    pub(crate) due_packets: u64,
    pub(crate) out: BTreeMap<u64, Vec<Due>>,
    pub(crate) next_order: u64,
    /// `true` if the journals have been read, and the user was informed of problems with them.
    is_read: bool,
    /// `true` if the user was informed that runs cannot be stored.
    is_told: bool,
    failure: Option<JournalError>,
}

/// Trust in stored runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Trust {
    /// No samples have been performed yet.
    #[default]
    Unknown,
    Taken,
    Refused,
}

impl SharedTrust {
    fn lock(&self) -> MutexGuard<'_, Trust> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Set, E: Evidence<S::Outcome>> Session<S, E> {
    /// Creates a session without due tasks.
    #[must_use]
    pub fn new(set: S, evidence: E, keeping: Keeping) -> Self {
        if !set.is_reproducible() {
            *keeping.trust.lock() = Trust::Taken;
        }
        Self {
            set,
            books: Books {
                evidence,
                keeping,
                known: HashMap::new(),
                due: VecDeque::new(),
                due_packets: 0,
                out: BTreeMap::new(),
                next_order: 0,
                is_read: false,
                is_told: false,
                failure: None,
            },
        }
    }

    /// Returns the set.
    #[must_use]
    pub const fn set(&self) -> &S {
        &self.set
    }

    /// Ends the session and returns the evidence.
    ///
    /// # Errors
    /// If a run could not be stored and [`Keeping::or_stop`] was set.
    pub fn end(self) -> Result<E, JournalError> {
        match self.books.failure {
            Some(failure) => Err(failure),
            None => Ok(self.books.evidence),
        }
    }

    /// Starts the next round: tasks with stored runs are entered, and the other tasks become due. Returns `false` if
    /// there is no further round. `worker` repeats samples of the stored runs.
    pub(crate) fn next_round(
        &mut self,
        worker: &dyn Worker<S::Outcome>,
        conduct: &Conduct<'_>,
    ) -> bool {
        let Self { set, books } = self;
        let tasks = books.evidence.due();
        if tasks.is_empty() {
            return false;
        }
        let mut round = books.known(set, together(set, tasks));
        if set.schedule() == Schedule::LongestFirst {
            round.sort_by_key(|due| std::cmp::Reverse(due.packets));
        }
        let mut held = books.held(set, &round, conduct);
        let mut trust = books.keeping.trust.lock();
        if *trust == Trust::Unknown && held.iter().any(Option::is_some) {
            *trust = verify(set, &round, &held, worker, conduct);
        }
        if *trust == Trust::Refused {
            held.fill(None);
        }
        drop(trust);
        let total = round.iter().map(|due| due.packets);
        let before = round.iter().zip(&held).filter(|(_, held)| held.is_some());
        let before = before.map(|(due, _)| due.packets);
        conduct.watch.begins(
            total.fold(Amount::default(), Amount::and),
            before.fold(Amount::default(), Amount::and),
        );
        for (due, held) in round.into_iter().zip(held) {
            match held {
                Some(done) => books.take(set, due, S::Outcome::found(done)),
                None => books.push(due),
            }
        }
        true
    }
}

/// Groups the tasks that share one run, in the order of `tasks`.
fn together<S: Set>(set: &S, tasks: Vec<Task>) -> Vec<Due> {
    let mut places: HashMap<Fingerprint, usize> = HashMap::new();
    let mut round: Vec<Due> = Vec::with_capacity(tasks.len());
    for task in tasks {
        if set.shares()
            && let Some(id) = set.id(task)
        {
            let place = *places.entry(id.fingerprint).or_insert(round.len());
            if let Some(due) = round.get_mut(place) {
                due.same.push(task);
                continue;
            }
        }
        round.push(Due {
            task,
            same: Vec::new(),
            packets: set.packets(task),
        });
    }
    round
}

/// Repeats samples of the stored runs `held`. If a result differs, informs the user and rejects all stored runs.
fn verify<S: Set>(
    set: &S,
    round: &[Due],
    held: &[Option<Done>],
    worker: &dyn Worker<S::Outcome>,
    conduct: &Conduct<'_>,
) -> Trust {
    let held = round.iter().zip(held);
    let held: Vec<(&Due, &Done)> = held
        .filter_map(|(due, held)| Some((due, held.as_ref()?)))
        .collect();
    let kinds = held.iter().map(|(due, _)| (due.task.kind(), due.packets));
    let samples = samples(kinds, SAMPLES_LEAST);
    let mut changed = conduct.execution.each(&samples, |&sample| {
        let (due, held) = held[sample];
        let again = worker.perform(due.task, conduct.interrupt)?;
        (again.done()?.run != held.run).then_some(sample)
    });
    changed.sort_unstable();
    let Some(&sample) = changed.first() else {
        return Trust::Taken;
    };
    let task = held[sample].0.task;
    let (whole, experiment) = set.names(task);
    let names = [&*whole, &*experiment].into_iter();
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    let place = match names.is_empty() {
        true => String::new(),
        false => format!("{}: ", names.join("/")),
    };
    let stack = set.id(task).map_or_else(String::new, |id| id.stack);
    conduct.watch.note(&format!(
        "{place}the result of a run of {stack} differs from the journal: the program or the \
         machine has changed, and all runs are repeated"
    ));
    Trust::Refused
}

impl<O: Outcome, E: Evidence<O>> Books<O, E> {
    /// Adds `due` to the due tasks.
    pub(crate) fn push(&mut self, due: Due) {
        self.due_packets = self.due_packets.saturating_add(due.cost());
        self.due.push_back(due);
    }

    /// Returns the first due task.
    pub(crate) fn front(&self) -> Option<&Due> {
        self.due.front()
    }

    /// Removes the first due task.
    pub(crate) fn pop(&mut self) -> Option<Due> {
        let due = self.due.pop_front()?;
        self.due_packets = self.due_packets.saturating_sub(due.cost());
        Some(due)
    }

    /// Removes all due tasks.
    pub(crate) fn take_due(&mut self) -> Vec<Due> {
        self.due_packets = 0;
        std::mem::take(&mut self.due).into()
    }

    /// Enters the tasks of `round` whose runs an earlier round performed, and returns the other tasks.
    fn known<S: Set<Outcome = O>>(&mut self, set: &S, round: Vec<Due>) -> Vec<Due> {
        if self.known.is_empty() {
            return round;
        }
        let mut unknown = Vec::new();
        for due in round {
            let known = set
                .id(due.task)
                .and_then(|id| self.known.get(&id.fingerprint));
            match known.cloned() {
                Some(outcome) => self.enter(due, outcome),
                None => unknown.push(due),
            }
        }
        unknown
    }

    /// Returns the finished run of each task of `round`, if a journal contains it, and informs the user of problems
    /// with the journals.
    fn held<S: Set<Outcome = O>>(
        &mut self,
        set: &S,
        round: &[Due],
        conduct: &Conduct<'_>,
    ) -> Vec<Option<Done>> {
        if !std::mem::replace(&mut self.is_read, true) {
            let complaints = self.keeping.all().into_iter().flat_map(Journal::complaints);
            complaints.for_each(|complaint| conduct.watch.note(&complaint));
        }
        let mut contradicted = 0;
        let held = round.iter().map(|due| {
            let journal = self.keeping.of(due.task.part);
            let journal = journal.filter(|journal| !journal.is_empty())?;
            let id = set.id(due.task)?;
            let found = journal.find(&id, due.task.job);
            contradicted += usize::from(found.is_none() && journal.has(id.fingerprint));
            found
        });
        let held = held.collect();
        if contradicted > 0 {
            conduct.watch.note(&format!(
                "{contradicted} line(s) of the journal name another point, stack or seed than \
                 their runs have: these runs are repeated"
            ));
        }
        held
    }

    /// Processes the outcome of `due`: stores it in the journal, enters it, and reports the run as done.
    pub(crate) fn done<S: Set<Outcome = O>>(
        &mut self,
        set: &S,
        due: Due,
        outcome: O,
        watch: &dyn Watch,
    ) {
        if let (Some(journal), Some(done)) = (self.keeping.of(due.task.part), outcome.done())
            && let Some(id) = set.id(due.task)
            && let Err(error) = journal.append(&id, done)
        {
            self.fail(error, watch);
        }
        let packets = due.packets;
        self.take(set, due, outcome);
        watch.run_done(packets);
    }

    fn fail(&mut self, error: JournalError, watch: &dyn Watch) {
        if self.keeping.failure == OnFailure::Stop {
            // Only the first failure is reported.
            self.failure.get_or_insert(error);
        } else if !std::mem::replace(&mut self.is_told, true) {
            watch.note(&format!(
                "{error}; the runs continue, but an interruption would lose them"
            ));
        }
    }

    /// Returns `true` if no further run should be started.
    pub(crate) const fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Enters the outcome of `due`, and keeps it for later rounds if the set shares runs.
    fn take<S: Set<Outcome = O>>(&mut self, set: &S, due: Due, outcome: O) {
        if set.shares()
            && let Some(id) = set.id(due.task)
        {
            self.known.insert(id.fingerprint, outcome.clone());
        }
        self.enter(due, outcome);
    }

    fn enter(&mut self, due: Due, outcome: O) {
        for task in due.same {
            self.evidence.enter(task, outcome.clone().at(task.job));
        }
        self.evidence.enter(due.task, outcome.at(due.task.job));
    }
}

#[cfg(test)]
mod tests;
