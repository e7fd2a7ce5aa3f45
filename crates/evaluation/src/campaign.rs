//! Evaluating stacks: all runs of all scenarios as one list, the longest first, each run once.

mod runs;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_claims::{Judged, Verdict};
use dupack_engine::JournalError;
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Results;

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
    /// How their runs are performed.
    pub runs: dupack_engine::Conduct<'c>,
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
            let own = own.flat_map(|of| of.plan.experiment().claims.clone());
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
        runs::first_runs(self)
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

    /// Performs every run and judges every criterion; a scenario whose runs do not decide a criterion is then
    /// run with more seeds, but not in a quick look. What an interrupt leaves undone is missing in the cards;
    /// what rests on it cannot be told.
    ///
    /// # Errors
    /// If the journal can be neither read nor begun.
    pub fn carry_out(&self, conduct: &Conduct<'_>) -> Result<Vec<Evaluated>, JournalError> {
        let mut parts = runs::carry_out(self, conduct)?.into_iter();
        let evaluated = self.subjects.iter().map(|subject| {
            let own: Vec<(Part, usize)> = parts.by_ref().take(subject.scenarios.len()).collect();
            let missing: usize = own.iter().map(|(_, missing)| missing).sum();
            let own = own.into_iter().map(|(part, _)| part);
            let mut evaluated = self.evaluated(subject, own.collect());
            evaluated.card.missing += missing;
            evaluated
        });
        Ok(evaluated.collect())
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
