//! The rules of a file. They are parsed and checked before anything runs, and judged after all runs.

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

/// An expression, or text that contains expressions, and its place in a file.
#[derive(Clone, Copy, Debug)]
pub struct Said<'s> {
    /// The file.
    pub source: &'s Source,
    /// Key in the file.
    pub place: &'s str,
    /// The text.
    pub text: &'s str,
    /// Default experiment, for expressions in the text that name no experiment.
    pub experiment: Option<&'s str>,
}

/// The parsed vocabulary and claims of a file, ready to be judged.
#[derive(Debug)]
pub struct Rules {
    dictionary: Dictionary,
    claims: Vec<Claim>,
}

/// The data for which a rule asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Cells, by experiment.
    pub cells: BTreeMap<String, BTreeSet<Cell>>,
    /// `true` if the rule pools samples of several quantities. Cells with more runs then have more weight.
    pub pools: bool,
}

impl Rules {
    /// Parses the expressions of the file `source`. Stacks come from `catalog`.
    ///
    /// # Errors
    /// Returns an error that points at the place in the file if a name or a definition is invalid, a claim has no rule,
    /// or two claims have the same name.
    pub fn new(
        vocabulary: &Vocabulary,
        claims: &[Claim],
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Self, ExperimentError> {
        for (n, claim) in claims.iter().enumerate() {
            if claim.id.is_empty() || claim.id.contains(char::is_control) {
                let message = "a claim's `id` must be a non-empty name on one line".to_owned();
                let help = "choose a short one, such as `sack-ahead`".to_owned();
                let place = format!("claim.{n}.id");
                return Err(ExperimentError::at(source, &place, message, Some(help)));
            }
            if claim.holds_if.is_empty() {
                let message = format!("the claim `{}` has no rule", claim.id);
                let help = "add `holds_if`; docs/claims.md describes rules".to_owned();
                let place = format!("claim.{n}");
                return Err(ExperimentError::at(source, &place, message, Some(help)));
            }
        }
        let dictionary = Dictionary::new(vocabulary, source, catalog)?;
        for (n, claim) in claims.iter().enumerate() {
            if claims[..n].iter().any(|other| other.id == claim.id) {
                let message = format!("two claims are called `{}`", claim.id);
                let place = format!("claim.{n}.id");
                return Err(ExperimentError::at(source, &place, message, None));
            }
        }
        Ok(Self {
            dictionary,
            claims: claims.to_vec(),
        })
    }

    /// Parses the claims of the experiment file `source` and checks them against `plan`, which was made from the same
    /// file. No run is needed for this. Judge the rules with [`judge_results`](Self::judge_results).
    ///
    /// # Errors
    /// The errors of [`new`](Self::new) and [`check`](Self::check).
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

    /// Judges every claim of an experiment file by the results of its plan. While runs are missing, no claim is
    /// decided.
    #[must_use]
    pub fn judge_results(&self, results: &Results) -> Vec<Judged> {
        self.judge_all(&World::of(results), results.missing())
    }

    /// Returns the claims.
    #[must_use]
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Checks that every rule asks only for things that exist.
    ///
    /// # Errors
    /// Returns an error that points at the place in the file and suggests a correction.
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

    /// Judges a claim. Returns `None` if runs that it needs are missing or do not show its quantities. If the rule does
    /// not fit the runs, for example because a quick look has omitted too much of a sweep, the claim is undecided.
    #[must_use]
    pub fn judge(&self, claim: &Claim, world: &World<'_>) -> Option<Finding> {
        self.judged(claim, world).unwrap_or_else(|fault| {
            let found = format!("the rule does not fit the runs: {}", fault.message);
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

    /// Returns the names of the experiments to which a claim's rule and the text next to its verdict refer.
    #[must_use]
    pub fn experiments_of(&self, claim: &Claim, planned: &World<'_>) -> Vec<String> {
        let mut asked = self.by_rule(claim, planned);
        if let Some(found) = &claim.found {
            let _ = asked.template(found);
        }
        asked.entered().map(str::to_owned).collect()
    }

    /// Returns the cells for which a claim's rule asks. More runs of these cells give more evidence.
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

    /// Works like [`asked_by`](Self::asked_by), but includes the cells of the text next to the verdict.
    #[must_use]
    pub fn shown_by(&self, claim: &Claim, world: &World<'_>) -> Asked {
        world.take_asked().for_each(drop);
        world.take_pooled();
        let mut asked = self.by_rule(claim, world);
        if let Some(found) = &claim.found {
            let _ = asked.template(found);
        }
        Asked {
            cells: world.take_asked().collect(),
            pools: world.take_pooled(),
        }
    }

    /// Returns an evaluator that has evaluated a claim's rule.
    fn by_rule<'a>(&'a self, claim: &Claim, world: &'a World<'_>) -> Evaluator<'a> {
        let mut asked = Evaluator::new(&self.dictionary, world);
        let entered = claim.experiment.iter().try_for_each(|name| {
            let nowhere = 0..name.len();
            asked.enter(name, &nowhere)
        });
        // A fault is ignored, because `check` reports faults. The cells used before the fault are kept.
        let _ = entered.and_then(|()| asked.verdict(&claim.holds_if).map(|_| ()));
        asked
    }

    /// Judges every claim. `missing` is the number of planned runs that are missing.
    #[must_use]
    pub fn judge_all(&self, world: &World<'_>, missing: usize) -> Vec<Judged> {
        let judged = self.claims.iter().map(|claim| Judged {
            claim: claim.clone(),
            finding: Finding::settled(self.judge(claim, world), missing),
        });
        judged.collect()
    }

    /// Returns the value of an expression, which may use `variables` in addition to the definitions of the file.
    ///
    /// # Errors
    /// Returns an error if the text is not an expression or asks for something that does not exist.
    pub fn evaluate(
        &self,
        said: &Said<'_>,
        variables: &[(String, Value)],
        world: &World<'_>,
    ) -> Result<Value, ExperimentError> {
        self.asked(said, variables, world, |asked| asked.value(said.text))
    }

    /// Replaces the expressions in the braces of a text by their values.
    ///
    /// # Errors
    /// Returns an error if the text in braces is not an expression or asks for something that does not exist.
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
