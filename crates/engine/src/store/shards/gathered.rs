//! Folders of several shards that are to be merged.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use dupack_lab::experiment::Experiment;
use dupack_lab::run::engine;
use miette::Diagnostic;
use thiserror::Error;

use super::identity::folder_name;
use super::{Harm, Identity, ShardFolder};
use crate::journal::Stored;
use crate::merge::Merge;
use crate::shard::Shard;
use crate::shell::quoted;
use crate::split::Split;
use crate::store::{EXPERIMENT, FolderError};

/// Maximum number of unfinished shards listed in a message.
const SHARDS_TOLD: usize = 8;

/// Maximum number of runs listed in a message about a shard.
const RUNS_TOLD: usize = 2;

/// Folders of shards of one experiment, without duplicates.
#[derive(Debug)]
pub struct Gathered {
    /// At least one folder, sorted by shard.
    folders: Vec<ShardFolder>,
}

/// Error in a collection of folders.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum GatherError {
    /// A folder cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Folder(#[from] FolderError),
    /// There are no folders.
    #[error("there is no folder to merge")]
    #[diagnostic(help("name the folders of all shards"))]
    Nothing,
    /// The folders belong to different experiments.
    #[error("{second} does not belong to {first}: {difference} there")]
    #[diagnostic(help("name only folders of one `dupack run FILE --shard I/N`"))]
    Mixed {
        /// A folder.
        first: String,
        /// Another folder.
        second: String,
        /// First difference.
        difference: String,
    },
    /// The folders do not belong to the named experiment.
    #[error("{file} is not the experiment of {folder}: {difference} there")]
    #[diagnostic(help(
        "name the file that the shards were run with, unchanged, including its recorded traces"
    ))]
    OtherExperiment {
        /// File of the experiment.
        file: String,
        /// A folder.
        folder: String,
        /// First difference.
        difference: String,
    },
    /// Another engine made the shards.
    #[error("the engine of {folder} is {theirs}, but this one is {ours}")]
    #[diagnostic(help(
        "merge with the build of dupack that made the shards, or repeat all of them with this \
         one"
    ))]
    OtherEngine {
        /// A folder.
        folder: String,
        /// Engine of the shard.
        theirs: String,
        /// This engine.
        ours: String,
    },
}

impl Gathered {
    /// Collects the shards in the folders at `paths`, which may be in any order. A folder that is listed twice is used
    /// once.
    ///
    /// # Errors
    /// If a folder is not the folder of a shard, or if the shards do not belong to the same experiment and to this
    /// engine.
    pub fn of(paths: &[PathBuf]) -> Result<Self, GatherError> {
        // Canonical paths identify folders that are named in different ways.
        let mut known: BTreeMap<PathBuf, ShardFolder> = BTreeMap::new();
        for path in paths {
            let folder = ShardFolder::read(path)?;
            let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
            known.entry(whole).or_insert(folder);
        }
        let mut folders: Vec<ShardFolder> = known.into_values().collect();
        folders.sort_by(|a, b| (a.identity.shard, &a.path).cmp(&(b.identity.shard, &b.path)));
        let Some((first, others)) = folders.split_first() else {
            return Err(GatherError::Nothing);
        };
        let name = |folder: &ShardFolder| folder.path.display().to_string();
        let mixed = |second: &ShardFolder, difference| GatherError::Mixed {
            first: name(first),
            second: name(second),
            difference,
        };
        // The engines are compared first, because this engine may be unable to parse an experiment of another engine.
        for other in others {
            if other.identity.engine != first.identity.engine {
                let (ours, theirs) = (&other.identity.engine, &first.identity.engine);
                let difference = format!("the engine is {ours}, and was {theirs}");
                return Err(mixed(other, difference));
            }
        }
        let (ours, theirs) = (engine(), first.identity.engine.clone());
        if ours != theirs {
            let folder = name(first);
            return Err(GatherError::OtherEngine {
                folder,
                theirs,
                ours,
            });
        }
        let experiment = first.source()?.parse().map_err(FolderError::from)?;
        for other in others {
            let theirs = other.source()?.parse().map_err(FolderError::from)?;
            let difference = theirs.difference(&experiment);
            let difference = difference.or_else(|| other.identity.difference(&first.identity));
            if let Some(difference) = difference {
                return Err(mixed(other, difference));
            }
        }
        Ok(Self { folders })
    }

    /// Returns the folder of the first available shard, for data that all shards have in common.
    #[must_use]
    pub fn first(&self) -> &ShardFolder {
        self.folders.first().expect("there is at least one folder")
    }

    /// Checks that the shards belong to `split` of `experiment`, which was read from `file`.
    ///
    /// # Errors
    /// If the shards belong to another experiment or another split.
    pub fn check(
        &self,
        split: &Split<'_>,
        experiment: &Experiment,
        file: &str,
    ) -> Result<(), GatherError> {
        let first = self.first();
        let known = &first.identity;
        let ours = Identity::new(known.shard, split, &known.name, known.harm);
        let theirs = first.source()?.parse().map_err(FolderError::from)?;
        let difference = experiment.difference(&theirs);
        match difference.or_else(|| ours.difference(known)) {
            None => Ok(()),
            Some(difference) => Err(GatherError::OtherExperiment {
                file: file.to_owned(),
                folder: first.path.display().to_string(),
                difference,
            }),
        }
    }

    /// Returns the journal of each folder, with the folder's name.
    ///
    /// # Errors
    /// If a journal cannot be read, or has changed since its shard was finished.
    pub fn journals(&self) -> Result<Vec<(String, Stored)>, FolderError> {
        let journals = self.folders.iter();
        let read = |f: &ShardFolder| Ok((f.path.display().to_string(), f.runs()?));
        journals.map(read).collect()
    }

    /// Returns the shards of `split` that are unfinished or whose runs are missing in `merge`, or `None` if there are
    /// none. `merge` contains the runs of these folders, and `file` is the experiment, for suggested commands.
    #[must_use]
    pub fn incomplete(
        &self,
        split: &Split<'_>,
        merge: &Merge<'_>,
        file: Option<&Path>,
    ) -> Option<Incomplete> {
        let (mut missing, sizes) = (merge.missing(), split.sizes());
        let lacking = Shard::all(split.of()).filter_map(|shard| {
            let of_shard = |folder: &&ShardFolder| folder.identity.shard == shard;
            let mut there = self.folders.iter().filter(of_shard).peekable();
            let lacks = missing.remove(&shard).unwrap_or_default();
            let begun = there.peek().map(|folder| folder.path.clone());
            let is_whole = match begun {
                Some(_) => there.any(ShardFolder::is_finished),
                // A shard without runs needs no folder.
                None => true,
            };
            (!is_whole || !lacks.is_empty()).then(|| Lacking {
                shard,
                begun,
                runs: sizes[shard.index() as usize - 1],
                lacks,
            })
        });
        let lacking: Vec<Lacking> = lacking.collect();
        (!lacking.is_empty()).then(|| Incomplete {
            lacking,
            of: split.of(),
            commands: self.commands(file),
        })
    }

    fn commands(&self, file: Option<&Path>) -> Commands {
        let first = self.first();
        Commands {
            file: file.map(Path::to_path_buf),
            experiment: first.path.join(EXPERIMENT),
            harm: first.identity.harm,
            beside: first.path.clone(),
            name: first.identity.name.clone(),
        }
    }
}

/// Shards that are missing or unfinished. The display text has commands for the user.
#[derive(Debug)]
pub struct Incomplete {
    lacking: Vec<Lacking>,
    of: u32,
    commands: Commands,
}

/// Shard that is missing or unfinished.
#[derive(Debug)]
struct Lacking {
    shard: Shard,
    /// Folder of the shard, if it exists.
    begun: Option<PathBuf>,
    /// Number of runs of the shard.
    runs: usize,
    /// Descriptions of the missing runs.
    lacks: Vec<String>,
}

/// Common parts of the commands that perform the missing runs.
#[derive(Debug)]
struct Commands {
    /// File of the experiment, if it was named.
    file: Option<PathBuf>,
    /// Copy of the experiment in a folder.
    experiment: PathBuf,
    harm: Harm,
    /// Folder of another shard.
    beside: PathBuf,
    name: String,
}

impl Commands {
    fn of(&self, lacking: &Lacking) -> String {
        let word = |path: &Path| quoted(&path.display().to_string());
        match &lacking.begun {
            Some(folder) => {
                let file = self.file.as_deref().map(|file| word(file) + " ");
                let file = file.unwrap_or_default();
                format!("dupack run {file}--resume {}", word(folder))
            }
            None => {
                let file = self.file.as_ref().unwrap_or(&self.experiment);
                let shard = lacking.shard;
                let out = self.beside.with_file_name(folder_name(&self.name, shard));
                let harm = match self.harm {
                    Harm::Measured => "",
                    Harm::LeftOut => " --no-harm",
                };
                let (file, out) = (word(file), word(&out));
                format!("dupack run {file} --shard {shard} --out {out}{harm}")
            }
        }
    }
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indices = self.lacking.iter().map(|lacking| lacking.shard.index());
        let which = ranges(&indices.collect::<Vec<u32>>());
        writeln!(
            f,
            "{} of {} shards are missing or unfinished: {which}",
            self.lacking.len(),
            self.of
        )?;
        for lacking in self.lacking.iter().take(SHARDS_TOLD) {
            writeln!(f, "{lacking}")?;
            writeln!(f, "      {}", self.commands.of(lacking))?;
        }
        match self.lacking.len().saturating_sub(SHARDS_TOLD) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more"),
        }
    }
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shard, runs, lacks) = (self.shard, self.runs, self.lacks.len());
        match &self.begun {
            None => write!(f, "  {shard}: no folder was given; {runs} runs are missing")?,
            Some(folder) => {
                let folder = folder.display();
                write!(
                    f,
                    "  {shard}: {folder} is unfinished; {lacks} of {runs} runs are missing"
                )?;
            }
        }
        let named: Vec<&str> = self
            .lacks
            .iter()
            .take(RUNS_TOLD)
            .map(String::as_str)
            .collect();
        let more = if lacks > named.len() { "; …" } else { "" };
        match named.is_empty() {
            true => Ok(()),
            false => write!(f, " ({}{more})", named.join("; ")),
        }
    }
}

/// Formats ascending numbers as `2,5-9`, which Slurm's `--array` accepts.
fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let words = runs.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    words.collect::<Vec<String>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_numbers_form_a_range() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[2]), "2");
        assert_eq!(ranges(&[1, 2, 4, 6, 7, 8]), "1-2,4,6-8");
    }
}
