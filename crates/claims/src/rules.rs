//! The rules of a file: read, checked before anything runs, judged when all is run.

use std::collections::{BTreeMap, BTreeSet};

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::experiment::{Claim, Vocabulary};
use dupack_lab::results::Results;
use dupack_lab::run::Plan;

use crate::dictionary::{Dictionary, complain};
use crate::eval::Evaluator;
use crate::syntax::Fault;
use crate::value::Value;
use crate::verdict::{Finding, Judged, Verdict};
use crate::world::{Cell, World};

/// An expression, or text with expressions in it, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Said<'s> {
    /// The file.
    pub source: &'s Source,
    /// Its key there.
    pub place: &'s str,
    /// What is said.
    pub text: &'s str,
    /// The experiment that it is about where it names none.
    pub experiment: Option<&'s str>,
}

/// The vocabulary and the claims of a file, read and ready to be judged.
#[derive(Debug)]
pub struct Rules {
    dictionary: Dictionary,
    claims: Vec<Claim>,
}

/// What a rule asks about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The cells, by experiment.
    pub cells: BTreeMap<String, BTreeSet<Cell>>,
    /// Whether it pools the samples of several quantities: cells that have more runs than others count
    /// for more then.
    pub pools: bool,
}

impl Rules {
    /// Reads the expressions of a file whose text is `source` and whose stacks are of `catalog`.
    ///
    /// # Errors
    /// If a name or a definition is not what it should be, a claim has no rule, or two have one name:
    /// the error points at the place in the file.
    pub fn new(
        vocabulary: &Vocabulary,
        claims: &[Claim],
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Self, ExperimentError> {
        for (n, claim) in claims.iter().enumerate() {
            if claim.id.is_empty() || claim.id.contains(char::is_control) {
                let message = "a claim's `id` is a name on one line".to_owned();
                let help = "give it a short one, such as `sack-ahead`".to_owned();
                let place = format!("claim.{n}.id");
                return Err(ExperimentError::at(source, &place, message, Some(help)));
            }
            if claim.holds_if.is_empty() {
                let message = format!("the claim `{}` does not say when it holds", claim.id);
                let help = "give it `holds_if`, as docs/claims.md describes".to_owned();
                let place = format!("claim.{n}");
                return Err(ExperimentError::at(source, &place, message, Some(help)));
            }
        }
        let dictionary = Dictionary::new(vocabulary, source, catalog)?;
        for (n, claim) in claims.iter().enumerate() {
            if claims[..n].iter().any(|other| other.id == claim.id) {
                let message = format!("there are two claims called `{}`", claim.id);
                let place = format!("claim.{n}.id");
                return Err(ExperimentError::at(source, &place, message, None));
            }
        }
        Ok(Self {
            dictionary,
            claims: claims.to_vec(),
        })
    }

    /// Those of the experiment file `source` that `plan` was made of, held against the plan, of
    /// which nothing has run. What comes out is for [`judge_results`](Self::judge_results).
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`check`](Self::check).
    pub fn of_plan(
        plan: &Plan,
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Self, ExperimentError> {
        let experiment = plan.experiment();
        let vocabulary = experiment.vocabulary();
        let rules = Self::new(&vocabulary, &experiment.claims, source, catalog)?;
        rules.check(&World::planned(&plan.empty_results()))?;
        Ok(rules)
    }

    /// What has become of every claim of an experiment file by the results of its plan. Nothing
    /// is settled while runs are missing.
    #[must_use]
    pub fn judge_results(&self, results: &Results) -> Vec<Judged> {
        self.judge_all(&World::of(results), results.missing())
    }

    /// The claims.
    #[must_use]
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Whether every rule asks for what there is.
    ///
    /// # Errors
    /// If one does not: the error points at the place in the file and says what was meant.
    pub fn check(&self, planned: &World<'_>) -> Result<(), ExperimentError> {
        self.dictionary.check(planned)?;
        for (n, claim) in self.claims.iter().enumerate() {
            let at = |field: &str| format!("claim.{n}.{field}");
            let mut asked = Evaluator::new(&self.dictionary, planned);
            if let Some(name) = &claim.experiment {
                asked
                    .enter(name, &(0..name.len()))
                    .map_err(|fault| self.dictionary.complain(&at("experiment"), name, fault))?;
            }
            asked.verdict(&claim.holds_if).map_err(|fault| {
                self.dictionary
                    .complain(&at("holds_if"), &claim.holds_if, fault)
            })?;
            if let Some(found) = &claim.found {
                asked
                    .template(found)
                    .map_err(|fault| self.dictionary.complain(&at("found"), found, fault))?;
            }
        }
        Ok(())
    }

    /// What has become of a claim; nothing if runs that it needs are missing or do not show
    /// what it is about. A rule that does not fit what was run, such as a sweep of which a quick look has
    /// left out too much, cannot be told.
    #[must_use]
    pub fn judge(&self, claim: &Claim, world: &World<'_>) -> Option<Finding> {
        self.judged(claim, world).unwrap_or_else(|fault| {
            let found = format!("the rule does not fit what was run: {}", fault.message);
            Some(Finding::new(Verdict::CannotBeTold, found))
        })
    }

    fn judged(&self, claim: &Claim, world: &World<'_>) -> Result<Option<Finding>, Fault> {
        let mut asked = Evaluator::new(&self.dictionary, world);
        if let Some(name) = &claim.experiment {
            asked.enter(name, &(0..name.len()))?;
        }
        let Some(verdict) = asked.verdict(&claim.holds_if)? else {
            return Ok(None);
        };
        let found = match &claim.found {
            Some(template) => asked.template(template)?,
            None => asked.shown(&claim.holds_if)?,
        };
        Ok(Some(Finding { verdict, found }))
    }

    /// The names of the experiments that a claim's rule, and what is shown beside it, ask about.
    #[must_use]
    pub fn experiments_of(&self, claim: &Claim, planned: &World<'_>) -> Vec<String> {
        let mut asked = self.by_rule(claim, planned);
        if let Some(found) = &claim.found {
            let _ = asked.template(found);
        }
        asked.entered().map(str::to_owned).collect()
    }

    /// What a claim's rule asks about: where more runs would tell more.
    #[must_use]
    pub fn asked_by(&self, claim: &Claim, world: &World<'_>) -> Asked {
        world.take_asked().for_each(drop);
        world.take_pooled();
        self.by_rule(claim, world);
        Asked {
            cells: world.take_asked().collect(),
            pools: world.take_pooled(),
        }
    }

    /// What has asked all that a claim's rule asks.
    fn by_rule<'a>(&'a self, claim: &Claim, world: &'a World<'_>) -> Evaluator<'a> {
        let mut asked = Evaluator::new(&self.dictionary, world);
        let entered = claim.experiment.iter().try_for_each(|name| {
            let nowhere = 0..name.len();
            asked.enter(name, &nowhere)
        });
        // What is asked before a fault counts: `check` tells of the fault.
        let _ = entered.and_then(|()| asked.verdict(&claim.holds_if).map(|_| ()));
        asked
    }

    /// What has become of every claim, where so many of the planned runs are `missing`.
    #[must_use]
    pub fn judge_all(&self, world: &World<'_>, missing: usize) -> Vec<Judged> {
        let judged = self.claims.iter().map(|claim| Judged {
            claim: claim.clone(),
            finding: Finding::settled(self.judge(claim, world), missing),
        });
        judged.collect()
    }

    /// What an expression comes to; `variables` are known to it beside what the file defines.
    ///
    /// # Errors
    /// If it is no expression, or asks for what there is not.
    pub fn evaluate(
        &self,
        said: &Said<'_>,
        variables: &[(String, Value)],
        world: &World<'_>,
    ) -> Result<Value, ExperimentError> {
        self.asked(said, variables, world, |asked| asked.value(said.text))
    }

    /// Text with expressions in braces, filled in.
    ///
    /// # Errors
    /// If an expression in it is none, or asks for what there is not.
    pub fn fill(
        &self,
        said: &Said<'_>,
        variables: &[(String, Value)],
        world: &World<'_>,
    ) -> Result<String, ExperimentError> {
        self.asked(said, variables, world, |asked| asked.template(said.text))
    }

    fn asked<T>(
        &self,
        said: &Said<'_>,
        variables: &[(String, Value)],
        world: &World<'_>,
        what: impl FnOnce(&mut Evaluator<'_>) -> Result<T, Fault>,
    ) -> Result<T, ExperimentError> {
        let mut asked = Evaluator::new(&self.dictionary, world);
        let entered = said
            .experiment
            .map_or(Ok(()), |name| asked.enter(name, &(0..0)));
        asked.bind(variables);
        let out = entered.and_then(|()| what(&mut asked));
        out.map_err(|fault| match fault.definition {
            Some(_) => self.dictionary.complain("", said.text, fault),
            None => complain(said.source, said.place, said.text, fault),
        })
    }
}
