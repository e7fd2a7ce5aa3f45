//! The folder of an experiment whose runs go to files as they are done: memory holds one block of them.
//!
//! A [`Block`] has two files or three: its runs, `runs/part-00001.csv`; where there are several flows, what each
//! had, `flows/part-00001.csv`; and what is kept of its points, `blocks/00001.json`, which is the last that is
//! written. Each is there whole or not at all. So what was interrupted goes on with the first block that is
//! missing. When all are there, the rows of `summary.csv` and its like are put together, and a page is made of what
//! was kept of the points that it shows; the folder `blocks` is taken away.

mod digest;
mod error;
mod finish;
mod identity;
mod page;
mod parts;
mod rows;
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
use parts::{Kept, Writer};
use thin::Thin;

/// An experiment with more runs than this is better streamed: results in memory, and what is written of them,
/// take some 10 kB a run.
pub const BETTER_STREAMED: usize = 200_000;

/// How an experiment is streamed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Whether harm was to be measured beside the runs.
    pub harm: Harm,
    /// In what files runs are kept.
    pub format: Format,
    /// How large a block is.
    pub size: BlockSize,
}

impl Settings {
    /// With harm as said, in CSV, and blocks of the usual size.
    #[must_use]
    pub fn new(harm: Harm) -> Self {
        Self {
            harm,
            format: Format::Csv,
            size: BlockSize::default(),
        }
    }
}

/// An experiment that is being streamed to its folder.
#[derive(Debug)]
pub struct Streaming {
    store: Store<Identity>,
    blocks: Vec<Block>,
    /// How many of them are done.
    done: usize,
    places: Places,
    thin: Thin,
    /// The plan's results without runs.
    bare: Results,
}

impl Streaming {
    /// Begins the experiment of `source`, which is `plan`, in `folder`, which is empty. The plan measures harm if
    /// `settings` say so, and prefers what the reader does.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn new(
        folder: OutputFolder,
        plan: &Plan,
        source: &Source,
        settings: &Settings,
    ) -> Result<Self, StreamError> {
        let identity = Identity::new(plan, settings);
        Self::open(Store::begin(folder, identity)?, plan, source)
    }

    /// Goes on with `plan`, which is the experiment of `source`, in the folder at `path`, with the settings with which
    /// it was begun ([`Store::read`]). Who names a `format` wants just that.
    ///
    /// # Errors
    /// If something else was begun there, or somebody else is at work in it.
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
        // Whoever was ended at once left no more than what is streamed.
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

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Whether everything is done and written.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.store.identity().is_finished()
    }

    /// How many runs there are to do, those that measure harm included, and those that a precision adds not.
    #[must_use]
    pub fn runs_to_do(&self) -> usize {
        let left = self.blocks[self.done..].iter();
        left.map(|block| block.runs).sum()
    }

    /// Does the runs that are missing. Those of a block that is interrupted are lost.
    ///
    /// # Errors
    /// If a block cannot be written: those before it are kept.
    ///
    /// # Panics
    /// If the threads cannot be started.
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

    /// What is kept of a block.
    fn kept(&self, block: &Block) -> Result<Kept, StreamError> {
        Kept::read(self.path(), block)
    }
}

/// Takes away what only an interruption needs.
fn tidy(path: &Path) {
    // What is left does no harm.
    let _ = fs::remove_dir_all(path.join(parts::BLOCKS));
}

#[cfg(test)]
mod tests;
