//! Files of a block: its runs and the digests of its points.

use std::fs;
use std::path::Path;

use dupack_engine::{Block, Sink};
use dupack_lab::results::{Answered, store, verdict};
use dupack_lab::run::Plan;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::rows::{Rows, Tables};
use super::{StreamError, Streaming};
use dupack_engine::folder::OutputFolder;

/// Folder of the digests, which exists until the experiment is finished.
pub(super) const BLOCKS: &str = "blocks";

/// File format of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// CSV.
    Csv,
    /// Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    /// Returns the file name extension.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            #[cfg(feature = "parquet")]
            Self::Parquet => "parquet",
        }
    }

    /// Returns the path of the file of block `number` in `folder`, such as `runs`.
    #[must_use]
    pub fn part(self, folder: &str, number: usize) -> String {
        format!("{folder}/part-{number:05}.{}", self.ending())
    }
}

/// Rows of one or more points, for the files that have one row for each point of a comparison.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Texts {
    pub(super) summary: String,
    pub(super) verdicts: String,
    pub(super) comparisons: String,
    pub(super) traces: String,
}

/// Stored data of a block, which is written after the other files of the block.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BlockRecord {
    block: usize,
    /// Number of runs.
    pub(super) runs: usize,
    /// Files with the runs of the block, and their lengths in bytes.
    pub(super) files: Vec<(String, u64)>,
    pub(super) texts: Texts,
    pub(super) digests: Vec<Digest>,
}

/// Returns the path of the stored data of block `number`.
fn kept_name(number: usize) -> String {
    format!("{BLOCKS}/{number:05}.json")
}

/// Returns `true` if block `number` is complete: its stored data exists, and the files of its runs have the stored
/// lengths.
pub(super) fn is_whole(folder: &Path, number: usize) -> bool {
    let kept = fs::read(folder.join(kept_name(number))).ok();
    let kept = kept.and_then(|text| serde_json::from_slice::<BlockRecord>(&text).ok());
    kept.is_some_and(|kept| {
        kept.block == number
            && kept.files.iter().all(|(name, length)| {
                fs::metadata(folder.join(name)).is_ok_and(|file| file.len() == *length)
            })
    })
}

impl BlockRecord {
    /// Reads the stored data of `block` from `folder`.
    pub(super) fn read(folder: &Path, block: &Block) -> Result<Self, StreamError> {
        let file = folder.join(kept_name(block.number));
        let text = fs::read(&file).map_err(|e| StreamError::damaged(&file, &e))?;
        let kept: Self =
            serde_json::from_slice(&text).map_err(|e| StreamError::damaged(&file, &e))?;
        match kept.digests.len() == block.points.len() {
            true => Ok(kept),
            false => Err(StreamError::damaged(&file, &"it belongs to other points")),
        }
    }
}

/// Data of a point: its runs in the format of their files, and its digest.
#[derive(Debug)]
pub(super) struct OfPoint {
    runs: usize,
    rows: Rows,
    texts: Texts,
    digest: Digest,
}

/// Writer of the blocks of an experiment.
#[derive(Debug)]
pub(super) struct Writer<'s> {
    streaming: &'s Streaming,
    plan: &'s Plan,
    tables: Tables,
    written: usize,
}

impl<'s> Writer<'s> {
    pub(super) fn new(streaming: &'s Streaming, plan: &'s Plan) -> Self {
        Self {
            streaming,
            plan,
            tables: Tables::new(streaming.store.identity().format(), &streaming.bare),
            written: 0,
        }
    }

    /// Returns the number of blocks that this writer has written.
    pub(super) const fn written(&self) -> usize {
        self.written
    }

    fn folder(&self) -> &'s OutputFolder {
        self.streaming.store.folder()
    }
}

impl Sink for Writer<'_> {
    type Kept = OfPoint;
    type Error = StreamError;

    fn point(&self, results: &Answered<'_>, at: usize, point: usize) -> OfPoint {
        let place = self.streaming.places.at(point);
        OfPoint {
            runs: results.runs_at(at).len(),
            rows: self.tables.rows(results, at, (point, place)),
            texts: Texts::of(results, at, place),
            digest: Digest::of(results, at, (self.plan, &self.streaming.thin), point),
        }
    }

    fn block(&mut self, block: &Block, points: Vec<OfPoint>) -> Result<(), StreamError> {
        let (mut rows, mut texts, mut digests) = (Vec::new(), Texts::default(), Vec::new());
        let mut runs = 0;
        for of in points {
            runs += of.runs;
            rows.push(of.rows);
            texts.add(&of.texts);
            digests.push(of.digest);
        }
        let places = &self.streaming.places;
        let names = self
            .tables
            .write(self.folder(), block.number, places, rows)?;
        let kept = BlockRecord {
            block: block.number,
            runs,
            files: self.lengths(names)?,
            texts,
            digests,
        };
        let name = kept_name(block.number);
        let text = serde_json::to_vec(&kept).expect("its keys are strings");
        self.folder().replace(&name, &text)?;
        self.written += 1;
        Ok(())
    }
}

impl Writer<'_> {
    /// Returns the files of a block's runs, each with its length in bytes.
    fn lengths(&self, names: Vec<String>) -> Result<Vec<(String, u64)>, StreamError> {
        let length = |name: String| {
            let file = self.streaming.path().join(&name);
            let length = fs::metadata(&file).map_err(|e| StreamError::damaged(&file, &e))?;
            Ok((name, length.len()))
        };
        names.into_iter().map(length).collect()
    }
}

impl Texts {
    fn of(results: &Answered<'_>, at: usize, place: &[String]) -> Self {
        let text = |rows: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            rows(&mut out);
            String::from_utf8(out).expect("all of its parts are text")
        };
        Self {
            summary: text(&|out| store::summary_rows(out, results, at, place)),
            verdicts: text(&|out| verdict::verdict_rows(out, results, at, place)),
            comparisons: text(&|out| verdict::comparison_rows(out, results, at, place)),
            traces: text(&|out| store::trace_rows(out, results, at, place)),
        }
    }

    fn add(&mut self, other: &Self) {
        self.summary += &other.summary;
        self.verdicts += &other.verdicts;
        self.comparisons += &other.comparisons;
        self.traces += &other.traces;
    }
}
