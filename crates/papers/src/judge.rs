//! Judgement of papers: turns a paper's data and the results of its experiments into verdicts, figures and tables.

use std::collections::{BTreeMap, BTreeSet};

use dupack_algorithms::catalog::Catalog;
use dupack_claims::{Asked, Cell, Facts, Rules, Said, World};
use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::load::{Complaint, ExperimentError, Source};
use dupack_lab::results::Results;

use super::campaign::Campaign;
use super::claims::{Book, Claim, Finding, Judged, Verdict};
use super::exhibits::{Drawing, Exhibits};
use super::readings::{self, Way};
use super::{Evidence, Exhibit, ExperimentResults, Extent, Observe, Paper};

/// Name of the file with the figures and tables of a paper.
const EXHIBITS: &str = "exhibits.toml";

/// Verdicts, exhibits and conclusion of a paper.
pub(super) struct Judgements {
    pub(super) judged: Vec<Judged>,
    pub(super) exhibits: Vec<Exhibit>,
    /// Paragraphs.
    pub(super) conclusion: Vec<String>,
}

/// Text in place of a conclusion whose numbers the runs do not show.
const NO_CONCLUSION: &str = "Runs that the conclusion needs are missing.";

/// An experiment of a paper, ready to be planned.
pub(super) struct Prepared {
    pub(super) name: &'static str,
    pub(super) source: Source,
    pub(super) experiment: Experiment,
    pub(super) observe: Observe,
}

impl Paper {
    /// Wraps a file of the paper's folder as a source for error messages.
    fn source(&self, file: &str, text: &str) -> Source {
        Source {
            name: format!("experiments/papers/{}/{file}", self.key),
            text: text.to_owned(),
            folder: std::path::PathBuf::new(),
        }
    }

    fn rules(&self, book: &Book) -> Result<Rules, ExperimentError> {
        let source = self.source("claims.toml", self.claims);
        Rules::new(
            &book.vocabulary(),
            &book.claims,
            &source,
            &Catalog::builtin(),
        )
    }

    /// Returns the experiments at `extent`.
    #[cfg(test)]
    pub(super) fn prepare(&self, extent: Extent) -> Result<Vec<Prepared>, ExperimentError> {
        self.prepare_as(extent, &Way::default())
    }

    /// Returns the experiments at `extent`, under a reading of the paper.
    pub(super) fn prepare_as(
        &self,
        extent: Extent,
        way: &Way<'_>,
    ) -> Result<Vec<Prepared>, ExperimentError> {
        let book = self.book();
        let declared = book.experiments.iter().enumerate().map(|(n, declared)| {
            let complain = |message: String| {
                let claims = self.source("claims.toml", self.claims);
                ExperimentError::at(&claims, &format!("experiment.{n}"), message, None)
            };
            let file = format!("{}.toml", declared.name);
            let found = self.files.iter().find(|(name, _)| *name == file);
            let (name, text) = found.ok_or_else(|| complain(format!("there is no {file}")))?;
            let mut source = self.source(name, text);
            let mut experiment: Experiment = source.parse()?;
            let as_written = experiment.clone();
            way.apply(&declared.name, &mut experiment)
                .map_err(|why| self.complain_of_readings(why))?;
            if extent == Extent::Quick {
                declared.quick.apply(&mut experiment).map_err(complain)?;
            }
            if experiment != as_written {
                source.text = Source::of_flags(&experiment).text;
            }
            let name = name.trim_end_matches(".toml");
            Ok(Prepared {
                name,
                source,
                experiment,
                observe: declared.keep,
            })
        });
        declared.collect()
    }

    fn complain_of_readings(&self, why: String) -> ExperimentError {
        let text = self.files.iter().find(|(name, _)| *name == readings::FILE);
        let source = self.source(readings::FILE, text.map_or("", |(_, text)| text));
        ExperimentError::at(&source, "", why, None)
    }

    /// Returns the claims, where the names of stacks are adapted to a reading.
    fn book_as(&self, way: &Way<'_>) -> Book {
        let mut book = self.book();
        way.rename(&mut book);
        book
    }

    /// Checks that, under this reading, the experiments can be run and the rules ask only for things that exist.
    ///
    /// # Errors
    /// If an experiment or a rule is invalid under this reading. The error contains the reason.
    pub fn check_way(&'static self, way: &Way<'_>) -> Result<(), ExperimentError> {
        let book = self.book_as(way);
        let known = |name: &str| book.experiments.iter().any(|own| own.name == name);
        if let Some(foreign) = way.experiments().find(|name| !known(name)) {
            return Err(self.complain_of_readings(format!("there is no experiment `{foreign}`")));
        }
        self.plan_as(Extent::Quick, way)?;
        let full = self.plan_as(Extent::Full, way)?;
        self.with_planned(&book, &full, |rules, world| rules.check(world))
    }

    /// Calls `ask` with the rules and with the world of the experiments that `campaign` plans.
    fn with_planned<T>(
        &self,
        book: &Book,
        campaign: &Campaign,
        ask: impl FnOnce(&Rules, &World<'_>) -> Result<T, ExperimentError>,
    ) -> Result<T, ExperimentError> {
        let planned: Vec<(&str, Results)> = campaign.planned().collect();
        let mut world = self.world(book)?;
        for (name, results) in &planned {
            world.plan(name, results, (self.facts)(name, None));
        }
        ask(&self.rules(book)?, &world)
    }

    /// Returns, for each claim, the experiments for which its rule asks.
    ///
    /// # Errors
    /// If a rule or an experiment is invalid; the tests would catch that.
    pub(super) fn asked(&'static self) -> Result<Vec<Vec<String>>, ExperimentError> {
        let (book, campaign) = (self.book(), self.plan(Extent::Full)?);
        self.with_planned(&book, &campaign, |rules, world| {
            let claims = book.claims.iter();
            Ok(claims
                .map(|claim| rules.experiments_of(claim, world))
                .collect())
        })
    }

    /// Returns a bench that judges single claims of `book`, which belongs to this paper.
    ///
    /// # Errors
    /// If a rule or a file of numbers is invalid; the tests would catch that.
    pub(super) fn bench(&'static self, book: Book) -> Result<Bench, ExperimentError> {
        self.world(&book)?;
        Ok(Bench {
            paper: self,
            rules: self.rules(&book)?,
            book,
        })
    }

    /// Judges every claim under this reading by the results in `parts`.
    ///
    /// # Errors
    /// If a rule is invalid for these results; the tests would catch that.
    pub(super) fn judge_as(
        &self,
        way: &Way<'_>,
        parts: &[&ExperimentResults],
    ) -> Result<Vec<Judged>, ExperimentError> {
        let book = self.book_as(way);
        let world = self.world_with(&book, parts.iter().copied())?;
        let missing = parts.iter().map(|part| part.missing()).sum();
        Ok(self.rules(&book)?.judge_all(&world, missing))
    }

    /// Returns the cells for which the rule of a claim, and the text next to its verdict, ask under a reading.
    pub(super) fn cells_of(
        &'static self,
        way: &Way<'_>,
        claim: usize,
        campaign: &Campaign,
    ) -> Result<BTreeMap<String, BTreeSet<Cell>>, ExperimentError> {
        let book = self.book_as(way);
        self.with_planned(&book, campaign, |rules, world| {
            Ok(rules.shown_by(&book.claims[claim], world).cells)
        })
    }

    /// Judges one claim under a reading by the results in `parts`, which need to contain only the cells of the claim.
    pub(super) fn judge_one(
        &self,
        way: &Way<'_>,
        claim: usize,
        parts: &[&ExperimentResults],
    ) -> Result<Finding, ExperimentError> {
        let book = self.book_as(way);
        let world = self.world_with(&book, parts.iter().copied())?;
        let found = self.rules(&book)?.judge(&book.claims[claim], &world);
        Ok(Finding::settled(found, 0))
    }

    /// Returns the declared exhibits, or `None` if the paper has no such file.
    fn exhibits(&self) -> Result<Option<(Exhibits, Source)>, ExperimentError> {
        let Some((name, text)) = self.files.iter().find(|(name, _)| *name == EXHIBITS) else {
            return Ok(None);
        };
        let source = self.source(name, text);
        let exhibits = toml::from_str(text).map_err(|error| {
            ExperimentError::Invalid(Box::new(Complaint {
                message: error.message().to_owned(),
                field: None,
                file: miette::NamedSource::new(&source.name, source.text.clone()),
                at: error.span().map(Into::into),
                help: None,
            }))
        });
        Ok(Some((exhibits?, source)))
    }

    /// Returns the world of the rules with the printed numbers, but without experiments.
    fn world(&self, book: &Book) -> Result<World<'static>, ExperimentError> {
        let mut world = World::default();
        for (n, printed) in book.printed.iter().enumerate() {
            let text = self.files.iter().find(|(name, _)| *name == printed.file);
            let text = text.ok_or_else(|| format!("there is no file {}", printed.file));
            let numbers = text.and_then(|(_, text)| printed.read(text));
            world.print(numbers.map_err(|message| {
                let claims = self.source("claims.toml", self.claims);
                ExperimentError::at(&claims, &format!("printed.{n}"), message, None)
            })?);
        }
        Ok(world)
    }

    /// Returns the world of the rules with the results in `parts`.
    fn world_with<'p>(
        &self,
        book: &Book,
        parts: impl IntoIterator<Item = &'p ExperimentResults>,
    ) -> Result<World<'p>, ExperimentError> {
        let mut world = self.world(book)?;
        for part in parts {
            world.add(part.name, &part.results, part.facts(self.facts));
        }
        Ok(world)
    }

    /// Checks that the rules, figures and tables ask only for data that the experiments have.
    ///
    /// # Errors
    /// If a rule, figure or table asks for anything else. The error points at its place in the file.
    pub fn check(&'static self) -> Result<(), ExperimentError> {
        let (book, campaign) = (self.book(), self.plan(Extent::Full)?);
        self.with_planned(&book, &campaign, |rules, world| {
            rules.check(world)?;
            self.conclusion(&book, rules, world)?;
            if let Some((exhibits, source)) = self.exhibits()? {
                let drawing = Drawing {
                    rules,
                    world,
                    source: &source,
                };
                drawing.all(&exhibits, &(self.drawn)(&Evidence::default()))?;
            }
            Ok(())
        })
    }

    /// Returns a verdict for every claim, the figures and tables, and the conclusion.
    pub(super) fn judge(
        &self,
        book: &Book,
        evidence: &Evidence,
    ) -> Result<Judgements, ExperimentError> {
        let rules = self.rules(book)?;
        let world = self.world_with(book, &evidence.parts)?;
        let judged = rules.judge_all(&world, evidence.missing());
        let exhibits = match self.exhibits()? {
            Some((declared, source)) => {
                let drawing = Drawing {
                    rules: &rules,
                    world: &world,
                    source: &source,
                };
                drawing.all(&declared, &(self.drawn)(evidence))?
            }
            None => Vec::new(),
        };
        let conclusion = self.conclusion(book, &rules, &world);
        let conclusion = conclusion.unwrap_or_else(|_| vec![NO_CONCLUSION.to_owned()]);
        Ok(Judgements {
            judged,
            exhibits,
            conclusion,
        })
    }

    /// Returns the conclusion, with values in place of its expressions.
    fn conclusion(
        &self,
        book: &Book,
        rules: &Rules,
        world: &World<'_>,
    ) -> Result<Vec<String>, ExperimentError> {
        let source = self.source("claims.toml", self.claims);
        let paragraphs = book.conclusion.iter().enumerate();
        let paragraphs = paragraphs.map(|(n, text)| {
            let said = Said {
                source: &source,
                place: &format!("conclusion.{n}"),
                text,
                experiment: None,
            };
            rules.fill(&said, &[], world)
        });
        paragraphs.collect()
    }
}

/// Judges single claims of a paper by any set of runs.
#[derive(Debug)]
pub(super) struct Bench {
    paper: &'static Paper,
    pub(super) book: Book,
    rules: Rules,
}

impl Bench {
    /// Returns the world of the rules: experiments with their results.
    pub(super) fn world<'p>(
        &self,
        scenes: impl IntoIterator<Item = (&'static str, &'p Results, Facts)>,
    ) -> World<'p> {
        let world = self.paper.world(&self.book);
        let mut world = world.expect("it was made before");
        for (name, results, facts) in scenes {
            world.add(name, results, facts);
        }
        world
    }

    /// Returns the experiments and cells for which the rule of the given claim asks.
    pub(super) fn asked(&self, claim: usize, world: &World<'_>) -> Asked {
        self.rules.asked_by(&self.book.claims[claim], world)
    }

    /// Judges the given claim. Returns `None` if the runs do not contain its quantities.
    pub(super) fn judge(&self, claim: usize, world: &World<'_>) -> Option<Finding> {
        self.rules.judge(&self.book.claims[claim], world)
    }

    /// Returns `true` if the runs decide the rule of the given claim. The numbers that are shown next to it are
    /// ignored.
    pub(super) fn decides(&self, claim: usize, world: &World<'_>) -> bool {
        let bare = Claim {
            found: Some(String::new()),
            ..self.book.claims[claim].clone()
        };
        let finding = self.rules.judge(&bare, world);
        finding.is_some_and(|found| found.verdict != Verdict::CannotBeTold)
    }
}

#[cfg(test)]
mod tests {
    use crate::PAPERS;

    #[test]
    fn every_rule_and_exhibit_asks_for_what_there_is() {
        for paper in PAPERS {
            if let Err(error) = paper.check() {
                panic!("{:?}", miette::Report::new(error));
            }
        }
    }
}
