//! Readings of a paper as data: the points that its text leaves open, the alternatives for each point, and the changes
//! that an alternative makes to the experiments.
//!
//! [`ways`](Readings::ways) are the complete readings under which a paper is rerun: ours, each alternative alone, and
//! the pairs that the file names. [`reread`] reruns the paper under these readings and reports which reading changes
//! which verdict.

mod outcome;
mod readings_page;
mod reread;

use serde::Deserialize;
use serde::de::Error as _;

use crate::Paper;
use crate::changes::Changes;
use crate::claims::Book;
use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::{LabelledStack, Named, OneOrMore};

pub use outcome::{Count, Fit, Reread, Scale, Seen, Turn, WayOutcome};
pub use reread::reread;

/// Name of the file with the readings of a paper.
pub(crate) const FILE: &str = "readings.toml";

/// A paper's `readings.toml`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Points that the text leaves open.
    #[serde(default, rename = "reading")]
    pub open: Vec<Reading>,
    /// Alternatives that are also tried together.
    #[serde(default, rename = "pair")]
    pub pairs: Vec<Pair>,
}

/// A point that a text leaves open.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Name of the point.
    pub key: String,
    /// Section where the text is silent or contradicts itself.
    pub section: String,
    /// The open point, as a sentence.
    pub open: String,
    /// Our choice.
    pub ours: String,
    /// Reason for our choice.
    pub why: String,
    /// Other possible choices.
    #[serde(rename = "alternative")]
    pub alternatives: Vec<Alternative>,
}

/// Another choice for an open point.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// Name, unique within its reading.
    pub key: String,
    /// Description.
    pub is: String,
    /// Runs at full scale: `true` for every claim that it affects, `false` for none, because the runs would take too
    /// long. By default, it is run at full scale where a quick look does not decide or turns a verdict.
    #[serde(default)]
    pub full: Option<bool>,
    /// Changes to the experiments.
    pub changes: Vec<Change>,
}

/// A change to some experiments of a paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Names of the experiments. Empty for all experiments.
    pub experiments: Vec<String>,
    /// The changes.
    pub what: Changes,
}

impl<'de> Deserialize<'de> for Change {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(from)?;
        let experiments = match table.remove("experiments") {
            Some(list) => list.try_into().map_err(D::Error::custom)?,
            None => Vec::new(),
        };
        let what = Changes::deserialize(toml::Value::Table(table)).map_err(D::Error::custom)?;
        Ok(Self { experiments, what })
    }
}

/// Alternatives that are tried together.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Names of the alternatives, each as `reading=alternative`.
    pub of: Vec<String>,
    /// Runs at full scale, as for an alternative.
    #[serde(default)]
    pub full: Option<bool>,
}

/// A complete reading of a paper: ours, or ours with one or more alternatives.
#[derive(Clone, Debug, Default)]
pub struct Way<'r> {
    alternatives: Vec<(&'r Reading, &'r Alternative)>,
    full: Option<bool>,
}

impl Readings {
    /// Returns the readings of the paper: ours first, then each alternative alone, then the pairs.
    ///
    /// # Errors
    /// If a pair names an alternative that does not exist. The error is a message.
    pub fn ways(&self) -> Result<Vec<Way<'_>>, String> {
        let mut ways = vec![Way::default()];
        for reading in &self.open {
            ways.extend(reading.alternatives.iter().map(|alternative| Way {
                alternatives: vec![(reading, alternative)],
                full: alternative.full,
            }));
        }
        for pair in &self.pairs {
            let taken = pair.of.iter().map(|name| self.alternative(name));
            ways.push(Way {
                alternatives: taken.collect::<Result<_, _>>()?,
                full: pair.full,
            });
        }
        Ok(ways)
    }

    /// Returns the alternative called `reading=alternative`.
    fn alternative(&self, name: &str) -> Result<(&Reading, &Alternative), String> {
        let found = self.open.iter().find_map(|reading| {
            let own = |a: &&Alternative| name == format!("{}={}", reading.key, a.key);
            Some((reading, reading.alternatives.iter().find(own)?))
        });
        found.ok_or_else(|| format!("there is no alternative `{name}` in {FILE}"))
    }

    /// Returns the names of all alternatives, as `reading=alternative`.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.open.iter().flat_map(|reading| {
            let alternatives = reading.alternatives.iter();
            alternatives.map(|alternative| format!("{}={}", reading.key, alternative.key))
        })
    }
}

impl Way<'_> {
    /// Returns the name of the reading: the names of its alternatives, `reading=alternative`, joined by `+`.
    #[must_use]
    pub fn name(&self) -> String {
        let names = self.alternatives.iter();
        let names =
            names.map(|(reading, alternative)| format!("{}={}", reading.key, alternative.key));
        names.collect::<Vec<_>>().join("+")
    }

    /// Describes the reading in words.
    #[must_use]
    pub fn is(&self) -> String {
        let words = self
            .alternatives
            .iter()
            .map(|(_, alternative)| alternative.is.as_str());
        words.collect::<Vec<_>>().join("; ")
    }

    /// Describes the reading in words, with the points that it settles.
    #[must_use]
    pub fn words(&self) -> String {
        let words = self.alternatives.iter().map(|(reading, alternative)| {
            let open = reading.open.trim_end_matches('.');
            // A name such as LE's keeps its capital letter.
            let begins = open.chars().take(2).filter(|c| c.is_uppercase()).count();
            let first = open.chars().next().unwrap_or_default();
            let lower: String = match begins {
                1 => first.to_lowercase().chain(open.chars().skip(1)).collect(),
                _ => open.to_owned(),
            };
            format!("{lower}: {}", alternative.is)
        });
        words.collect::<Vec<_>>().join("; ")
    }

    /// Returns `Some(true)` if it is run at full scale for every claim, and `Some(false)` if it is for none.
    pub(crate) const fn full(&self) -> Option<bool> {
        self.full
    }

    /// Returns the names of its alternatives if it has several.
    pub(crate) fn parts(&self) -> impl Iterator<Item = String> {
        let several = self.alternatives.len() > 1;
        let parts = self.alternatives.iter().filter(move |_| several);
        parts.map(|(reading, alternative)| format!("{}={}", reading.key, alternative.key))
    }

    /// Returns `true` if this is our reading.
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        self.alternatives.is_empty()
    }

    fn changes(&self) -> impl Iterator<Item = &Change> {
        self.alternatives
            .iter()
            .flat_map(|(_, alternative)| &alternative.changes)
    }

    /// Returns the names of the experiments that the reading changes, if it names them.
    pub(crate) fn experiments(&self) -> impl Iterator<Item = &str> {
        self.changes()
            .flat_map(|change| change.experiments.iter().map(String::as_str))
    }

    /// Applies the changes of this reading to the experiment `name`.
    pub(crate) fn apply(&self, name: &str, experiment: &mut Experiment) -> Result<(), String> {
        let own = |change: &&Change| {
            change.experiments.is_empty() || change.experiments.iter().any(|own| own == name)
        };
        self.changes().filter(own).try_for_each(|change| {
            let changed = change.what.apply(experiment);
            changed.map_err(|why| format!("{} in {name}: {why}", self.name()))
        })
    }

    /// Applies the changes of stacks to the names in the rules. If a change affects only some experiments, a name keeps
    /// its stack and also stands for the new stack in those experiments.
    pub(crate) fn rename(&self, book: &mut Book) {
        for Change { experiments, what } in self.changes() {
            let respell = |stacks: &[String]| stacks.iter().map(|s| what.respell(s)).collect();
            for (name, named) in &mut book.names {
                let mut stacks = stacks(named);
                if let Some(instead) = book.instead.get_mut(name) {
                    *instead = respell(instead);
                }
                let changed: Vec<String> = respell(&stacks);
                if changed == stacks {
                    continue;
                }
                if experiments.is_empty() {
                    stacks = changed;
                } else {
                    let instead = book.instead.entry(name.clone()).or_default();
                    instead.extend(changed);
                }
                match named {
                    Named::Labelled(LabelledStack { stack, .. }) => {
                        *stack = OneOrMore::More(stacks);
                    }
                    _ => *named = Named::Several(stacks),
                }
            }
        }
    }
}

/// Returns the stacks for which a name stands.
fn stacks(named: &Named) -> Vec<String> {
    match named {
        Named::One(stack) => vec![stack.clone()],
        Named::Several(stacks) => stacks.clone(),
        Named::Labelled(labelled) => match &labelled.stack {
            OneOrMore::One(stack) => vec![stack.clone()],
            OneOrMore::More(stacks) => stacks.clone(),
        },
    }
}

impl Paper {
    /// Returns the readings of the paper. The list is empty if the paper's folder has no such file.
    ///
    /// # Panics
    /// If the built-in file is invalid; the tests would catch that.
    #[must_use]
    pub fn readings(&self) -> Readings {
        let own = self.files.iter().find(|(name, _)| *name == FILE);
        own.map_or_else(Readings::default, |(_, text)| {
            toml::from_str(text).unwrap_or_else(|e| panic!("{}: {FILE}: {e}", self.key))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAPERS;

    const TEXT: &str = r#"
        [[reading]]
        key = "window"
        section = "6"
        open = "How large the receiver's buffer is."
        ours = "no limit"
        why = "It says nothing."
        [[reading.alternative]]
        key = "small"
        is = "20 packets"
        changes = [{ set = { "receiver.buffer" = "20kB" } }]
        [[reading]]
        key = "fack"
        section = "2"
        open = "Which FACK."
        ours = "that of ns-2"
        why = "They used it."
        [[reading.alternative]]
        key = "half"
        is = "halving"
        changes = [{ experiments = ["one"], stacks = { "fack/reno" = "fack(entry=half)/reno" } }]
        [[pair]]
        of = ["window=small", "fack=half"]
    "#;

    #[test]
    fn ways_are_ours_each_alternative_and_the_pairs() {
        let readings: Readings = toml::from_str(TEXT).unwrap();
        let ways = readings.ways().unwrap();
        let names: Vec<String> = ways.iter().map(Way::name).collect();
        assert_eq!(
            names,
            ["", "window=small", "fack=half", "window=small+fack=half"]
        );
        let mut experiment = Experiment::new(vec!["fack/reno".to_owned()]);
        ways[3].apply("one", &mut experiment).unwrap();
        assert_eq!(experiment.stacks, ["fack(entry=half)/reno"]);
        let mut other = Experiment::new(vec!["fack/reno".to_owned()]);
        ways[2].apply("other", &mut other).unwrap();
        assert_eq!(other.stacks, ["fack/reno"]);
    }

    #[test]
    fn a_pair_of_what_is_not_there_is_an_error() {
        let readings: Readings = toml::from_str("pair = [{ of = [\"a=b\"] }]").unwrap();
        assert!(readings.ways().unwrap_err().contains("`a=b`"));
    }

    /// Checks every twentieth reading in an ordinary test run, and all readings before a release.
    #[test]
    fn every_way_to_read_every_paper_can_be_run_and_judged() {
        let stride = dupack_testing::cases(20, 1) as usize;
        for paper in PAPERS {
            let readings = paper.readings();
            for way in readings.ways().unwrap().iter().step_by(stride) {
                if let Err(error) = paper.check_way(way) {
                    panic!("{}: {:?}", way.name(), miette::Report::new(error));
                }
            }
        }
    }
}
