//! Evaluating stacks: all runs of all scenarios as one list, the longest first, each run once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_claims::{Judged, Verdict};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Results, Run};
use dupack_lab::run::journal::{Done, Journal, JournalError, changed};
use dupack_lab::run::{Amount, Execution, Fingerprint, Interrupt, Job, Watch};

use crate::card::{Card, WireCard};
use crate::error::EvaluationError;
use crate::found::{found_in, found_on_wire};
use crate::prepare::{Prepared, place, slug, stack};
use crate::suite::{Criterion, Extent, Round, Scale, Scenario, Suite};
use crate::wire::{self, KERNEL, OnWire, RealPackets};

/// Stacks with the scenarios of the criteria that are asked about, checked and ready to run.
#[derive(Debug)]
pub struct Campaign<'s> {
    suite: &'s Suite,
    scale: Scale,
    /// Whether all criteria are asked about.
    whole: bool,
    subjects: Vec<Subject>,
}

/// A stack that is evaluated.
#[derive(Debug)]
struct Subject {
    stack: String,
    /// Its folder below the card's; none if it is the only one.
    folder: Option<String>,
    /// In the simulator: those of the suite, and those that stand beside real packets.
    scenarios: Vec<Prepared>,
    /// The same with more seeds, for those whose runs do not decide a criterion; none in a quick look.
    more: Vec<Prepared>,
    /// On real packets.
    wire: Vec<OnWire>,
}

/// How stacks are evaluated.
#[derive(Clone, Copy)]
pub struct Conduct<'c> {
    /// How many runs at a time.
    pub execution: Execution,
    /// Who looks on.
    pub watch: &'c dyn Watch,
    /// What stops it.
    pub interrupt: &'c Interrupt,
    /// The folder in which finished runs are kept, and from which they are taken; nowhere if there is none.
    pub journal: Option<&'c Path>,
}

/// A stack with its card and the runs behind it.
#[derive(Debug)]
pub struct Evaluated {
    /// The card.
    pub card: Card,
    /// What came out of each scenario.
    pub parts: Vec<Part>,
    /// Its folder below the card's; none if it is the only stack.
    pub(crate) folder: Option<String>,
}

/// What came out of a scenario.
#[derive(Debug)]
pub struct Part {
    /// The scenario.
    pub name: String,
    /// The experiment as it was run.
    pub source: Source,
    /// Whether it has more seeds than it began with, as these did not decide every criterion.
    pub has_more_seeds: bool,
    /// Its runs.
    pub results: Results,
    /// What has become of its claims, one for each criterion.
    pub judged: Vec<Judged>,
}

/// One run to do.
#[derive(Clone, Copy, Debug)]
struct Task {
    round: Round,
    subject: usize,
    part: usize,
    job: Job,
    packets: u64,
}

/// Runs, those that are the same together.
type Tasks = BTreeMap<Fingerprint, Vec<Task>>;

/// A run that was done, in the place of each of these.
type Taken<'t> = (&'t [Task], Done);

/// What came out of the scenarios, by the places of the stack and of the scenario.
type Parts = BTreeMap<(usize, usize), Part>;

impl<'s> Campaign<'s> {
    /// The evaluation of `stacks`, which are of `catalog`, by the criteria called `keys`; by all, if none is
    /// named.
    ///
    /// # Errors
    /// If there is no such stack or no such criterion, a stack is there twice, or a scenario does not suit
    /// it.
    pub fn new(
        suite: &'s Suite,
        (stacks, catalog): (&[String], &Catalog),
        keys: &[String],
        scale: impl Into<Scale>,
    ) -> Result<Self, EvaluationError> {
        Self::make(suite, (stacks, catalog), keys, scale.into(), None)
    }

    /// As [`new`](Self::new), with the criteria on real packets as well, for [`carry_out_on_wire`]. Of the
    /// kernel's senders (`kernel:NAME`) there are only these.
    ///
    /// [`carry_out_on_wire`]: Self::carry_out_on_wire
    ///
    /// # Errors
    /// As there, and if the suite has no part for real packets.
    pub fn with_wire(
        suite: &'s Suite,
        (stacks, catalog): (&[String], &Catalog),
        keys: &[String],
        scale: impl Into<Scale>,
    ) -> Result<Self, EvaluationError> {
        let wire = suite.wire().ok_or_else(|| {
            EvaluationError::suite("it has no criteria on real packets: no folder `wire`")
        })?;
        Self::make(suite, (stacks, catalog), keys, scale.into(), Some(wire))
    }

    fn make(
        suite: &'s Suite,
        (stacks, catalog): (&[String], &Catalog),
        keys: &[String],
        scale: Scale,
        wire: Option<&'s Suite>,
    ) -> Result<Self, EvaluationError> {
        let is_of_wire = |key: &&String| wire.is_some() && suite.is_of_wire(key);
        let (of_wire, own): (Vec<&String>, Vec<&String>) = keys.iter().partition(is_of_wire);
        let [of_wire, own] = [of_wire, own].map(|keys| keys.into_iter().cloned().collect());
        let of_wire: Vec<String> = of_wire;
        let own: Vec<String> = own;
        let criteria = match keys.is_empty() || !own.is_empty() {
            true => suite.choose(&own)?,
            false => Vec::new(),
        };
        let wire = wire.filter(|_| keys.is_empty() || !of_wire.is_empty());
        let wire = wire.map(|wire| Ok::<_, EvaluationError>((wire, wire.choose(&of_wire)?)));
        let wire = wire.transpose()?;
        let is_on_wire = wire.is_some();
        let asked = Asked {
            own: by_scenario(suite, &criteria),
            of_wire: wire.map_or_else(Vec::new, |(wire, own)| {
                let scenarios = by_scenario(wire, &own).into_iter();
                scenarios
                    .map(|(scenario, own)| (wire, scenario, own))
                    .collect()
            }),
            is_on_wire,
            suite,
            catalog,
            scale,
        };
        let mut subjects: Vec<Subject> = Vec::new();
        for text in stacks {
            let number = subjects.len() + 1;
            let mut subject = asked.subject(text)?;
            if subjects.iter().any(|other| other.stack == subject.stack) {
                return Err(EvaluationError::Stack {
                    message: format!("the stack {} is there twice", subject.stack),
                    help: "name each stack once".to_owned(),
                });
            }
            subject.folder =
                (stacks.len() > 1).then(|| format!("{number}-{}", slug(&subject.stack)));
            subjects.push(subject);
        }
        Ok(Self {
            suite,
            scale,
            whole: keys.is_empty(),
            subjects,
        })
    }

    /// The criteria that are asked about, of each stack.
    pub(crate) fn keys(&self) -> impl Iterator<Item = BTreeSet<String>> + '_ {
        self.subjects.iter().map(|subject| {
            let own = subject.scenarios.iter();
            let own = own.flat_map(|of| of.plan.empty_results().experiment.claims);
            let wire = subject.wire.iter().flat_map(OnWire::claims);
            own.chain(wire).map(|claim| claim.id).collect()
        })
    }

    /// How much is run.
    pub(crate) const fn extent(&self) -> Extent {
        self.scale.extent
    }

    /// How many runs it has, those that several stacks share counted once; what is not decided by them gets
    /// more.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.tasks(Round::First, |_| true).len()
    }

    /// The experiments' files as they are run, and the traces beside them, by their names from the card's
    /// folder on.
    pub fn experiments(&self) -> impl Iterator<Item = (PathBuf, &str)> + '_ {
        let wire = self.subjects.iter().flat_map(|subject| {
            let folder = subject.folder.as_deref();
            let file = dupack_report::files::EXPERIMENT;
            subject.wire.iter().map(move |of| {
                let place = place(folder, &of.name).join(file);
                (place, of.source.text.as_str())
            })
        });
        let simulated = self.subjects.iter().flat_map(|subject| {
            subject.scenarios.iter().flat_map(|prepared| {
                let folder = place(subject.folder.as_deref(), &prepared.name);
                let own = (
                    folder.join(dupack_report::files::EXPERIMENT),
                    prepared.source.text.as_str(),
                );
                let traces = prepared.traces.iter();
                let traces = traces.map(move |(name, text)| (folder.join(name), text.as_str()));
                std::iter::once(own).chain(traces)
            })
        });
        simulated.chain(wire)
    }

    /// Whether it has runs on real packets.
    #[must_use]
    pub fn is_on_wire(&self) -> bool {
        self.subjects.iter().any(|subject| !subject.wire.is_empty())
    }

    /// Does every run on real packets, as `packets` makes them, and puts what they show on the cards of
    /// `evaluated`, which [`carry_out`](Self::carry_out) made. A run whose path did not keep its time is void: it is in
    /// no verdict.
    ///
    /// # Errors
    /// If the journal can be neither read nor begun, or this machine does not give what the runs take. The cards
    /// are as they were then.
    pub fn carry_out_on_wire(
        &self,
        evaluated: &mut [Evaluated],
        packets: &dyn RealPackets,
        conduct: &Conduct<'_>,
    ) -> Result<(), EvaluationError> {
        let Some(suite) = self.suite.wire() else {
            return Ok(());
        };
        let subjects: Vec<&[OnWire]> = self.subjects.iter().map(|of| &of.wire[..]).collect();
        let parts = wire::carry_out(&subjects, &suite.files, packets, conduct)?;
        for (of, parts) in evaluated.iter_mut().zip(parts) {
            if parts.is_empty() {
                continue;
            }
            let found = found_on_wire(&parts, of.folder.as_deref());
            let simulated = found_in(&of.parts, None);
            let counted = parts.iter().flat_map(|part| &part.results.runs).count();
            let void = parts.iter().map(|part| part.results.medium.all_doubts());
            let rows = Card::new(suite, &of.card.stack, (self.scale, false), &found).rows;
            let rows = rows.into_iter().map(|mut row| {
                let key = row.key.as_deref();
                let own = simulated.iter().find(|of| Some(of.key.as_str()) == key);
                row.simulated = own.map(|of| of.mark);
                row
            });
            of.card.wire = Some(WireCard {
                runs: counted,
                void: void.sum(),
                rows: rows.collect(),
            });
            let missing = parts.iter().map(|part| part.results.missing());
            of.card.missing += missing.sum::<usize>();
            of.parts.extend(parts);
        }
        Ok(())
    }

    /// Does every run and judges every criterion; a scenario whose runs do not decide a criterion is then
    /// run with more seeds, but not in a quick look. What an interrupt leaves undone is missing in the cards;
    /// what rests on it cannot be told.
    ///
    /// Runs that the journal holds are taken from it, as long as the shortest of each stack comes out the
    /// same again.
    ///
    /// # Errors
    /// If the journal can be neither read nor begun.
    pub fn carry_out(&self, conduct: &Conduct<'_>) -> Result<Vec<Evaluated>, JournalError> {
        let journal = conduct.journal.map(Journal::open).transpose()?;
        for complaint in journal.iter().flat_map(Journal::complaints) {
            conduct.watch.note(&complaint);
        }
        let mut known = BTreeMap::new();
        let first = self.tasks(Round::First, |_| true);
        let mut parts = self.round(&first, journal.as_ref(), conduct, &mut known);
        let open = |place: &(usize, usize)| parts.get(place).is_some_and(Part::is_open);
        let more = self.tasks(Round::More, open);
        let mut undone = BTreeMap::new();
        if !more.is_empty() {
            let note = "criteria that these runs do not decide get more seeds";
            conduct.watch.note(note);
            for (place, part) in self.round(&more, journal.as_ref(), conduct, &mut known) {
                match part.results.missing() {
                    0 => drop(parts.insert(place, part)),
                    missing => drop(undone.insert(place, missing)),
                }
            }
        }
        Ok(self.conclude(parts, &undone))
    }

    /// Does `tasks`. `known` are runs that were done before, and those that are done now.
    fn round(
        &self,
        tasks: &Tasks,
        journal: Option<&Journal>,
        conduct: &Conduct<'_>,
        known: &mut BTreeMap<Fingerprint, Done>,
    ) -> Parts {
        let (of_known, rest): (Tasks, Tasks) = tasks
            .clone()
            .into_iter()
            .partition(|(fingerprint, _)| known.contains_key(fingerprint));
        let (held, to_do) = self.taken(&rest, journal, conduct);
        let sum = |tasks: &mut dyn Iterator<Item = u64>| tasks.fold(Amount::default(), Amount::and);
        let total = sum(&mut rest.values().map(|group| group[0].packets));
        let done = sum(&mut held.iter().map(|(group, _)| group[0].packets));
        conduct.watch.begins(total, done);
        let broken = AtomicBool::new(false);
        let finished = conduct.execution.each(&to_do, |group| {
            if conduct.interrupt.is_asked() {
                return None;
            }
            let first = group[0];
            let of = self.prepared(first);
            conduct
                .watch
                .run_begins(&self.subjects[first.subject].stack, &of.name);
            let before = conduct.watch.cpu_time();
            let run = of.plan.run(first.job, conduct.interrupt)?;
            let cpu = Some(conduct.watch.cpu_time().saturating_sub(before));
            let done = Done { run, cpu };
            if let Some(journal) = journal
                && let Err(error) = of.plan.keep(journal, first.job, &done)
                && !broken.swap(true, Ordering::Relaxed)
            {
                let lost = "the runs go on, but after an interruption they begin anew";
                conduct.watch.note(&format!("{error}; {lost}"));
            }
            conduct.watch.run_done(first.packets);
            Some((*group, done))
        });
        let before = of_known.iter();
        let before = before.map(|(fingerprint, group)| (&group[..], known[fingerprint].clone()));
        let all: Vec<Taken<'_>> = before.chain(held).chain(finished).collect();
        let parts = self.parts(tasks, &all);
        for (group, done) in all {
            let of = self.prepared(group[0]).plan.fingerprint(group[0].job);
            known.insert(of, done);
        }
        parts
    }

    /// The runs of `round` for the stacks and scenarios at the places that are `wanted`, those that are the same
    /// together: the baselines' are, whatever stack is beside them.
    fn tasks(&self, round: Round, wanted: impl Fn(&(usize, usize)) -> bool) -> Tasks {
        let mut tasks = Tasks::new();
        for (subject, of) in self.subjects.iter().enumerate() {
            let scenarios = of.scenarios(round).iter().enumerate();
            for (part, prepared) in scenarios.filter(|(part, _)| wanted(&(subject, *part))) {
                for job in prepared.plan.jobs() {
                    let packets = prepared.plan.scenario(job).packets();
                    let same = tasks.entry(prepared.plan.fingerprint(job)).or_default();
                    same.push(Task {
                        round,
                        subject,
                        part,
                        job,
                        packets,
                    });
                }
            }
        }
        tasks
    }

    fn prepared(&self, task: Task) -> &Prepared {
        &self.subjects[task.subject].scenarios(task.round)[task.part]
    }

    /// The runs that the journal holds, and those that are still to do, the longest first.
    fn taken<'t>(
        &self,
        tasks: &'t Tasks,
        journal: Option<&Journal>,
        conduct: &Conduct<'_>,
    ) -> (Vec<Taken<'t>>, Vec<&'t [Task]>) {
        let journal = journal.filter(|journal| !journal.is_empty());
        let (mut held, mut to_do) = (Vec::new(), Vec::new());
        for group in tasks.values() {
            let plan = &self.prepared(group[0]).plan;
            match journal.and_then(|journal| plan.find(journal, group[0].job)) {
                Some(done) => held.push((&group[..], done)),
                None => to_do.push(&group[..]),
            }
        }
        let of_stack = |group: &&[Task]| (group[0].subject, group[0].job.stack);
        let stale = changed(
            held.iter().map(|(group, done)| (*group, done)),
            (of_stack, |group: &&[Task]| group[0].packets),
            conduct.execution,
            |group| {
                self.prepared(group[0])
                    .plan
                    .run(group[0].job, conduct.interrupt)
            },
        );
        if !stale.is_empty() {
            conduct.watch.note("a run does not come out as the journal says: the program has changed, and such runs are done again");
        }
        let (again, good): (Vec<_>, Vec<_>) = held
            .into_iter()
            .partition(|(group, _)| stale.contains(&of_stack(group)));
        to_do.extend(again.into_iter().map(|(group, _)| group));
        to_do.sort_by_key(|group| std::cmp::Reverse(group[0].packets));
        (good, to_do)
    }

    /// What came out of the scenarios of `tasks`.
    fn parts(&self, tasks: &Tasks, done: &[Taken<'_>]) -> Parts {
        let mut runs: BTreeMap<(usize, usize), (Task, Vec<Run>)> = BTreeMap::new();
        for task in tasks.values().flatten() {
            runs.entry((task.subject, task.part))
                .or_insert((*task, Vec::new()));
        }
        for (group, done) in done {
            for task in *group {
                let run = Run {
                    point: task.job.point,
                    stack: task.job.stack,
                    seed: task.job.seed,
                    ..done.run.clone()
                };
                let place = (task.subject, task.part);
                runs.entry(place).or_insert((*task, Vec::new())).1.push(run);
            }
        }
        let parts = runs.into_iter();
        let parts = parts.map(|(place, (task, runs))| {
            let more = task.round == Round::More;
            (place, self.prepared(task).conclude(runs, more))
        });
        parts.collect()
    }

    /// The cards of `parts`; `undone` counts the runs that are missing of those with more seeds.
    fn conclude(
        &self,
        mut parts: Parts,
        undone: &BTreeMap<(usize, usize), usize>,
    ) -> Vec<Evaluated> {
        let subjects = self.subjects.iter().enumerate();
        let evaluated = subjects.map(|(n, subject)| {
            let own = (0..subject.scenarios.len()).map(|part| (n, part));
            let missing: usize = own.clone().filter_map(|place| undone.get(&place)).sum();
            let own = own.filter_map(|place| parts.remove(&place));
            let mut evaluated = self.evaluated(subject, own.collect());
            evaluated.card.missing += missing;
            evaluated
        });
        evaluated.collect()
    }

    fn evaluated(&self, subject: &Subject, parts: Vec<Part>) -> Evaluated {
        let found = found_in(&parts, subject.folder.as_deref());
        let scale = (self.scale, self.whole);
        let mut card = Card::new(self.suite, &subject.stack, scale, &found);
        card.missing = parts.iter().map(|part| part.results.missing()).sum();
        Evaluated {
            card,
            parts,
            folder: subject.folder.clone(),
        }
    }
}

impl Subject {
    /// Its scenarios with the seeds of a round; none, if there is no such round.
    fn scenarios(&self, round: Round) -> &[Prepared] {
        match round {
            Round::First => &self.scenarios,
            Round::More => &self.more,
        }
    }
}

impl Part {
    /// The name of its experiment's file: what it began with stays beside it.
    pub(crate) const fn file(&self) -> &'static str {
        match self.has_more_seeds {
            true => "experiment-more-seeds.toml",
            false => dupack_report::files::EXPERIMENT,
        }
    }

    /// Whether all of its runs were done and do not decide a criterion.
    fn is_open(&self) -> bool {
        let open = |judged: &Judged| judged.finding.verdict == Verdict::CannotBeTold;
        self.results.missing() == 0 && self.judged.iter().any(open)
    }
}

/// A scenario with the criteria that it shows.
type Shown<'s> = (&'s Scenario, Vec<&'s Criterion>);

/// The scenarios of `suite` that show some of `criteria`.
fn by_scenario<'s>(suite: &'s Suite, criteria: &[&'s Criterion]) -> Vec<Shown<'s>> {
    let all = suite.scenarios.iter().map(|scenario| {
        let of = |c: &&&Criterion| c.scenario == scenario.name;
        (scenario, criteria.iter().filter(of).copied().collect())
    });
    all.filter(|(_, own): &Shown<'_>| !own.is_empty()).collect()
}

/// What is asked of every stack.
struct Asked<'s> {
    suite: &'s Suite,
    catalog: &'s Catalog,
    scale: Scale,
    own: Vec<Shown<'s>>,
    /// On real packets, with the suite that has them.
    of_wire: Vec<(&'s Suite, &'s Scenario, Vec<&'s Criterion>)>,
    /// Whether real packets are asked about, so that the kernel's senders are.
    is_on_wire: bool,
}

impl Asked<'_> {
    /// The stack called `text`, or the kernel's sender, with the scenarios that it goes through.
    fn subject(&self, text: &str) -> Result<Subject, EvaluationError> {
        let spec = match text.starts_with(KERNEL) && self.is_on_wire {
            true => None,
            false => Some(stack(text, self.catalog)?),
        };
        let stack = spec.as_ref().map_or(text.to_owned(), ToString::to_string);
        let wire = self.of_wire.iter().map(|(suite, scenario, own)| {
            suite.on_wire(scenario, own, (&stack, self.catalog), self.scale)
        });
        Ok(Subject {
            folder: None,
            scenarios: self.prepared(spec.as_ref(), Round::First)?,
            more: match self.scale.has_more() {
                true => self.prepared(spec.as_ref(), Round::More)?,
                false => Vec::new(),
            },
            wire: wire.collect::<Result<_, _>>()?,
            stack,
        })
    }

    /// The scenarios in the simulator, and those that stand beside real packets; none of the kernel's senders.
    fn prepared(
        &self,
        spec: Option<&StackSpec>,
        round: Round,
    ) -> Result<Vec<Prepared>, EvaluationError> {
        let Some(spec) = spec else {
            return Ok(Vec::new());
        };
        let (stack, scale) = ((spec, self.catalog), (self.scale, round));
        let own = self.own.iter();
        let own = own.map(|(scenario, own)| self.suite.prepare(scenario, own, stack, scale));
        let beside = self.of_wire.iter();
        let beside =
            beside.map(|(suite, scenario, own)| suite.simulated(scenario, own, stack, scale));
        own.chain(beside).collect()
    }
}

impl Prepared {
    /// What came out of it.
    fn conclude(&self, mut runs: Vec<Run>, has_more_seeds: bool) -> Part {
        runs.sort_by_key(|run| (run.point, run.stack, run.seed));
        let mut results = self.plan.empty_results();
        results.runs = runs;
        Part {
            name: self.name.clone(),
            source: self.source.clone(),
            has_more_seeds,
            judged: self.rules.judge_results(&results),
            results,
        }
    }
}
