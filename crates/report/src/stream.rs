//! The folder of an experiment that streams its runs to files, so that memory holds only one block of runs.
//!
//! A [`Block`] has two or three files: `runs/part-00001.csv` contains its runs; `flows/part-00001.csv` contains the
//! goodput of each flow if there are several; and `blocks/00001.json`, which is written last, contains a digest of its
//! points. Each file is either complete or absent, so an interrupted experiment continues with the first block that is
//! missing. When all blocks are complete, the rows of `summary.csv` and similar files are combined, and the page is
//! made from the digests of the points that it shows. Then the folder `blocks` is deleted.

mod digest;
mod error;
mod finish;
mod identity;
mod parts;
mod rows;
mod stream_page;
mod thin;

use std::fs;
use std::path::Path;

use dupack_engine::{Block, BlockSize, Conduct, Progressed};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Results;
use dupack_lab::results::store::Places;
use dupack_lab::run::Plan;

pub use error::StreamError;
pub use finish::Finished;
pub use identity::Identity;
pub use parts::Format;

use dupack_engine::folder::OutputFolder;
use dupack_engine::store::shards::Harm;
use dupack_engine::store::{EXPERIMENT, Store};
use parts::{BlockRecord, Writer};
use thin::Thin;

/// Number of runs above which an experiment should be streamed. Results in memory, with their files, take about 10 kB
/// per run.
pub const BETTER_STREAMED: usize = 200_000;

/// Settings of a streamed experiment.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Measurement of harm, which needs additional runs.
    pub harm: Harm,
    /// File format of the runs.
    pub format: Format,
    /// Size of a block.
    pub size: BlockSize,
}

impl Settings {
    /// Returns settings with the given harm measurement, CSV files, and blocks of the default size.
    #[must_use]
    pub fn new(harm: Harm) -> Self {
        Self {
            harm,
            format: Format::Csv,
            size: BlockSize::default(),
        }
    }
}

/// An experiment that streams its runs to a folder.
#[derive(Debug)]
pub struct Streaming {
    store: Store<Identity>,
    blocks: Vec<Block>,
    /// Number of completed blocks.
    done: usize,
    places: Places,
    thin: Thin,
    /// Results of the plan without runs.
    bare: Results,
}

impl Streaming {
    /// Begins the experiment in the empty folder `folder`. The experiment has the text `source` and the plan `plan`.
    /// The plan must measure harm if `settings` require this, and it must contain the reader's preference.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder is not writable.
    pub fn new(
        folder: OutputFolder,
        plan: &Plan,
        source: &Source,
        settings: &Settings,
    ) -> Result<Self, StreamError> {
        let identity = Identity::new(plan, settings);
        Self::open(Store::begin(folder, identity)?, plan, source)
    }

    /// Continues the experiment in the folder at `path`. The experiment has the text `source` and the plan `plan`, and
    /// uses the settings with which it began ([`Store::read`]). If `format` is given, the folder must have this format.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder belongs to a different experiment, or if another process uses it.
    pub fn again(
        path: &Path,
        plan: &Plan,
        source: &Source,
        format: Option<Format>,
    ) -> Result<Self, StreamError> {
        let identity = Store::<Identity>::read(path)?;
        identity.check(path, plan, format)?;
        Self::open(Store::again(path, identity)?, plan, source)
    }

    fn open(store: Store<Identity>, plan: &Plan, source: &Source) -> Result<Self, StreamError> {
        // A process that was killed at once may have left a folder without the experiment file.
        if !store.path().join(EXPERIMENT).exists() {
            store.folder().replace(EXPERIMENT, source.text.as_bytes())?;
        }
        let identity = store.identity();
        if identity.is_finished() {
            tidy(store.path());
        }
        let blocks = dupack_engine::blocks(plan, identity.size());
        let done = match identity.is_finished() {
            true => blocks.len(),
            false => { blocks.iter() }
                .take_while(|block| parts::is_whole(store.path(), block.number))
                .count(),
        };
        let bare = plan.empty_results();
        Ok(Self {
            places: Places::of_points(plan.points()),
            thin: Thin::of(&bare.experiment, plan.points()),
            store,
            blocks,
            done,
            bare,
        })
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Returns `true` if all runs are done and all files are written.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.store.identity().is_finished()
    }

    /// Returns the number of missing runs. Runs that measure harm are included; runs that a required precision will add
    /// are not.
    #[must_use]
    pub fn runs_to_do(&self) -> usize {
        let left = self.blocks[self.done..].iter();
        left.map(|block| block.runs).sum()
    }

    /// Executes the missing runs. If a block is interrupted, its runs are lost.
    ///
    /// # Errors
    ///
    /// Returns an error if a block cannot be written. The blocks before it are kept.
    ///
    /// # Panics
    ///
    /// Panics if the threads cannot be started.
    pub fn execute(
        &mut self,
        plan: &Plan,
        conduct: &Conduct<'_>,
    ) -> Result<Progressed, StreamError> {
        let blocks = self.blocks[self.done..].to_vec();
        let mut writer = Writer::new(self, plan);
        let progressed = dupack_engine::stream(plan, &blocks, &mut writer, conduct);
        self.done += writer.written();
        progressed
    }

    /// Returns the stored data of a block.
    fn kept(&self, block: &Block) -> Result<BlockRecord, StreamError> {
        BlockRecord::read(self.path(), block)
    }
}

/// Deletes the files that are needed only to continue an interrupted experiment.
fn tidy(path: &Path) {
    // A folder that cannot be deleted does no harm.
    let _ = fs::remove_dir_all(path.join(parts::BLOCKS));
}

#[cfg(test)]
mod tests;
