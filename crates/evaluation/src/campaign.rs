//! Campaigns: the evaluation of stacks in all scenarios. All runs form one list that begins with the longest runs. Each
//! run is performed once.

mod runs;

use std::collections::BTreeSet;
use std::path::PathBuf;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_engine::JournalError;

use crate::card::{Card, WireCard};
use crate::error::EvaluationError;
use crate::evidence::{Conduct, ScenarioResults};
use crate::found::{found_in, found_on_wire};
use crate::prepare::{Prepared, place, slug, stack};
use crate::suite::{Criterion, Extent, Round, Scale, Scenario, Suite};
use crate::wire::{self, KERNEL, OnWire, RealPackets};

/// Stacks with the scenarios of the selected criteria, checked and ready to run.
#[derive(Debug)]
pub struct Campaign<'s> {
    suite: &'s Suite,
    scale: Scale,
    /// `true` if all criteria are selected.
    whole: bool,
    subjects: Vec<Subject>,
}

/// A stack under evaluation.
#[derive(Debug)]
struct Subject {
    stack: String,
    /// The stack's folder inside the card's folder. `None` if it is the only stack.
    folder: Option<String>,
    /// Scenarios in the simulator: the scenarios of the suite, and those that accompany real packets.
    scenarios: Vec<Prepared>,
    /// The same scenarios with more seeds, for criteria that the first runs do not decide. Empty in a quick look.
    more: Vec<Prepared>,
    /// Scenarios on real packets.
    wire: Vec<OnWire>,
}

/// A stack's card and the results on which it is based.
#[derive(Debug)]
pub struct Evaluated {
    /// The card.
    pub card: Card,
    /// Results of each scenario.
    pub parts: Vec<ScenarioResults>,
    /// The stack's folder inside the card's folder. `None` if it is the only stack.
    pub(crate) folder: Option<String>,
}

impl<'s> Campaign<'s> {
    /// Creates the evaluation of `stacks` from `catalog` by the criteria called `keys`, or by all criteria if `keys` is
    /// empty.
    ///
    /// # Errors
    /// If a stack or a criterion does not exist, a stack is given twice, or a scenario does not suit a stack.
    pub fn new(
        suite: &'s Suite,
        (stacks, catalog): (&[String], &Catalog),
        keys: &[String],
        scale: impl Into<Scale>,
    ) -> Result<Self, EvaluationError> {
        Self::make(suite, (stacks, catalog), keys, scale.into(), None)
    }

    /// Works like [`new`](Self::new), but includes the criteria on real packets, for [`carry_out_on_wire`]. The
    /// kernel's senders (`kernel:NAME`) have only these criteria.
    ///
    /// [`carry_out_on_wire`]: Self::carry_out_on_wire
    ///
    /// # Errors
    /// As for [`new`](Self::new), and if the suite has no part for real packets.
    pub fn with_wire(
        suite: &'s Suite,
        (stacks, catalog): (&[String], &Catalog),
        keys: &[String],
        scale: impl Into<Scale>,
    ) -> Result<Self, EvaluationError> {
        let wire = suite.wire().ok_or_else(|| {
            EvaluationError::suite("it has no criteria on real packets: there is no folder `wire`")
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
                    message: format!("the stack {} is named twice", subject.stack),
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

    /// Returns the selected criteria of each stack.
    pub(crate) fn keys(&self) -> impl Iterator<Item = BTreeSet<String>> + '_ {
        self.subjects.iter().map(|subject| {
            let own = subject.scenarios.iter();
            let own = own.flat_map(|of| of.plan.experiment().claims.clone());
            let wire = subject.wire.iter().flat_map(OnWire::claims);
            own.chain(wire).map(|claim| claim.id).collect()
        })
    }

    /// Returns the extent of the runs.
    pub(crate) const fn extent(&self) -> Extent {
        self.scale.extent
    }

    /// Returns the number of runs of the first round. Runs that several stacks share are counted once. Criteria that
    /// are still undecided get more runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        runs::first_runs(self)
    }

    /// Returns the experiment files as they are run, and the traces in the same folders, with their paths relative to
    /// the card's folder.
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

    /// Returns `true` if there are runs on real packets.
    #[must_use]
    pub fn is_on_wire(&self) -> bool {
        self.subjects.iter().any(|subject| !subject.wire.is_empty())
    }

    /// Performs all runs on real packets with `packets`, and adds the results to the cards of `evaluated`, which
    /// [`carry_out`](Self::carry_out) made. A run is void if its emulated path missed its timing. Void runs do not
    /// count towards any verdict.
    ///
    /// # Errors
    /// If the journal cannot be read or created, or this machine cannot perform the runs. The cards are then unchanged.
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

    /// Performs all runs and judges every criterion. Except in a quick look, a scenario whose runs do not decide a
    /// criterion is then run with more seeds. After an interrupt, the remaining runs are missing in the cards, and the
    /// criteria that need them are undecided.
    ///
    /// # Errors
    /// If the journal cannot be read or created.
    pub fn carry_out(&self, conduct: &Conduct<'_>) -> Result<Vec<Evaluated>, JournalError> {
        let mut parts = runs::carry_out(self, conduct)?.into_iter();
        let evaluated = self.subjects.iter().map(|subject| {
            let own: Vec<(ScenarioResults, usize)> =
                parts.by_ref().take(subject.scenarios.len()).collect();
            let missing: usize = own.iter().map(|(_, missing)| missing).sum();
            let own = own.into_iter().map(|(part, _)| part);
            let mut evaluated = self.evaluated(subject, own.collect());
            evaluated.card.missing += missing;
            evaluated
        });
        Ok(evaluated.collect())
    }

    fn evaluated(&self, subject: &Subject, parts: Vec<ScenarioResults>) -> Evaluated {
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
    /// Returns the scenarios with the seeds of a round. The list is empty if there is no such round.
    fn scenarios(&self, round: Round) -> &[Prepared] {
        match round {
            Round::First => &self.scenarios,
            Round::More => &self.more,
        }
    }
}

/// A scenario with its criteria.
type Shown<'s> = (&'s Scenario, Vec<&'s Criterion>);

/// Groups `criteria` by the scenarios of `suite`.
fn by_scenario<'s>(suite: &'s Suite, criteria: &[&'s Criterion]) -> Vec<Shown<'s>> {
    let all = suite.scenarios.iter().map(|scenario| {
        let of = |c: &&&Criterion| c.scenario == scenario.name;
        (scenario, criteria.iter().filter(of).copied().collect())
    });
    all.filter(|(_, own): &Shown<'_>| !own.is_empty()).collect()
}

/// Parts of an evaluation that all stacks share.
struct Asked<'s> {
    suite: &'s Suite,
    catalog: &'s Catalog,
    scale: Scale,
    own: Vec<Shown<'s>>,
    /// Scenarios on real packets, with the suite that has them.
    of_wire: Vec<(&'s Suite, &'s Scenario, Vec<&'s Criterion>)>,
    /// `true` if real packets are included. Only then, the kernel's senders are allowed.
    is_on_wire: bool,
}

impl Asked<'_> {
    /// Returns the stack or the kernel's sender called `text`, with its scenarios.
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

    /// Prepares the scenarios in the simulator, including the scenarios that accompany real packets. The kernel's
    /// senders have none.
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
