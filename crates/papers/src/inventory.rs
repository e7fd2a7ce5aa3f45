//! Inventory of the papers: each item with its file and test here. `docs/inventory.md` is generated from the
//! `inventory.toml` of every folder.

use serde::Deserialize;

use super::{PAPERS, Paper};
use dupack_report::markdown::{escape, table};
use dupack_report::page::{Cell, Emphasis};

/// Name of the file with a paper's items.
const FILE: &str = "inventory.toml";

/// A paper's `inventory.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// Items of the paper, in the order of the text.
    #[serde(default, rename = "item")]
    pub items: Vec<Item>,
}

/// Item of a paper: something that it describes, shows or names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Name of the item.
    pub what: String,
    /// Kind of the item.
    pub kind: Kind,
    /// Section of the paper.
    pub section: String,
    /// File that implements the item, relative to the root of the repository. Empty if there is none.
    #[serde(default)]
    pub file: String,
    /// Evidence that the item is correct: `file::name_of_the_test`, or an experiment. Empty if there is none.
    #[serde(default)]
    pub test: String,
    /// Claims about the item.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Reason why the item, or a part of it, is missing here.
    #[serde(default)]
    pub note: String,
}

/// Kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Kind {
    /// An algorithm.
    #[serde(rename = "algorithm")]
    Algorithm,
    /// A variant of an algorithm.
    #[serde(rename = "variant")]
    Variant,
    /// A procedure, such as an experiment.
    #[serde(rename = "procedure")]
    Procedure,
    /// A figure.
    #[serde(rename = "figure")]
    Figure,
    /// A table.
    #[serde(rename = "table")]
    Table,
    /// Future work that the authors name.
    #[serde(rename = "future work")]
    FutureWork,
    /// Work of others that the paper runs or names.
    #[serde(rename = "related work")]
    RelatedWork,
}

impl Kind {
    /// Returns the name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Algorithm => "algorithm",
            Self::Variant => "variant",
            Self::Procedure => "procedure",
            Self::Figure => "figure",
            Self::Table => "table",
            Self::FutureWork => "future work",
            Self::RelatedWork => "related work",
        }
    }
}

impl Item {
    /// Returns the file of the item's test, and the name of the test if it has one.
    #[must_use]
    pub fn test(&self) -> Option<(&str, Option<&str>)> {
        let (file, name) = match self.test.split_once("::") {
            Some((file, name)) => (file, Some(name)),
            None => (self.test.as_str(), None),
        };
        (!file.is_empty()).then_some((file, name))
    }
}

impl Paper {
    /// Returns the inventory of the paper.
    ///
    /// # Panics
    /// If the built-in file is invalid; the tests would catch that.
    #[must_use]
    pub fn inventory(&self) -> Inventory {
        let own = self.files.iter().find(|(name, _)| *name == FILE);
        own.map_or_else(Inventory::default, |(_, text)| {
            toml::from_str(text).unwrap_or_else(|e| panic!("{}: {FILE}: {e}", self.key))
        })
    }
}

/// Returns the items of all papers as Markdown: the content of `docs/inventory.md`.
#[must_use]
pub fn inventory() -> String {
    let mut out = String::from(
        "# Contents of the papers\n\n\
         Algorithms, variants, procedures, figures, tables and future work of the papers, and the related work that they \
         run or name, each with the file that implements it. `dupack papers --inventory` generates this page from \
         `experiments/papers/<key>/inventory.toml`. The tests fail if a file, a test or a claim on this page does not \
         exist.\n",
    );
    for paper in PAPERS {
        let items = paper.inventory().items;
        if items.is_empty() {
            continue;
        }
        let here = items.iter().filter(|item| !item.file.is_empty()).count();
        out += &format!("\n## {}\n\n", escape(&paper.book().title));
        out += &format!("{here} of {} items are covered.\n\n", items.len());
        let header = ["item", "kind", "section", "file", "tested by", "claims"].map(str::to_owned);
        out += &table(&header, &items.iter().map(row).collect::<Vec<_>>());
    }
    out
}

fn row(item: &Item) -> Vec<Cell> {
    let place = match (item.file.is_empty(), item.note.is_empty()) {
        (true, _) => format!("not here: {}", item.note),
        (false, true) => item.file.clone(),
        (false, false) => format!("{} ({})", item.file, item.note),
    };
    let shown = match item.test() {
        Some((file, Some(name))) => format!("{name} in {file}"),
        Some((file, None)) => file.to_owned(),
        None => "–".to_owned(),
    };
    vec![
        Cell::new(item.what.clone(), Emphasis::Plain),
        item.kind.name().into(),
        item.section.clone().into(),
        place.into(),
        shown.into(),
        item.claims.join(", ").into(),
    ]
}
