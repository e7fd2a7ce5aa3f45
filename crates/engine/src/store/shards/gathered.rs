//! The folders of several shards, which are to be one result.

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

/// So many shards that are not finished are told one by one.
const SHARDS_TOLD: usize = 8;

/// So many runs are named of each.
const RUNS_TOLD: usize = 2;

/// The folders of shards of one whole, each once.
#[derive(Debug)]
pub struct Gathered {
    /// At least one, sorted by shard.
    folders: Vec<ShardFolder>,
}

/// Folders that do not belong together.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum GatherError {
    /// One of them is of no use.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Folder(#[from] FolderError),
    /// There are none.
    #[error("there is no folder to merge")]
    #[diagnostic(help("name the folders of all shards"))]
    Nothing,
    /// They are parts of different wholes.
    #[error("{second} does not belong to {first}: {difference} there")]
    #[diagnostic(help("name the folders of one `dupack run FILE --shard I/N` alone"))]
    Mixed {
        /// A folder.
        first: String,
        /// Another.
        second: String,
        /// Where they differ first.
        difference: String,
    },
    /// They are not of the experiment that was named.
    #[error("{file} is not the experiment of {folder}: {difference} there")]
    #[diagnostic(help(
        "name the file that the shards were run with, as it was then, with the recorded traces that it names"
    ))]
    OtherExperiment {
        /// The experiment's file.
        file: String,
        /// A folder.
        folder: String,
        /// Where they differ first.
        difference: String,
    },
    /// Another program has made them.
    #[error("{folder} was made by the engine {theirs}, and this one is {ours}")]
    #[diagnostic(help(
        "merge with the build of dupack that made the shards, or do all of them again with this one"
    ))]
    OtherEngine {
        /// A folder.
        folder: String,
        /// Its engine.
        theirs: String,
        /// This program's.
        ours: String,
    },
}

impl Gathered {
    /// The shards in the folders at `paths`, in whatever order; one that is named twice counts once.
    ///
    /// # Errors
    /// If one is no shard's folder, or they are not of one experiment and one engine, which is this
    /// program's.
    pub fn of(paths: &[PathBuf]) -> Result<Self, GatherError> {
        // By what they are, however they were called.
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
        // What another engine calls an experiment, this one may not be able to read.
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

    /// That of the first shard that is there, for what all have in common.
    #[must_use]
    pub fn first(&self) -> &ShardFolder {
        self.folders.first().expect("there is at least one")
    }

    /// An error if their runs are not those of `split`, which is of `experiment`, which `file` has.
    ///
    /// # Errors
    /// If so.
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

    /// What the journal of each holds, with the folder's name.
    ///
    /// # Errors
    /// If one cannot be read, or is not what its shard was finished with.
    pub fn journals(&self) -> Result<Vec<(String, Stored)>, FolderError> {
        let journals = self.folders.iter();
        let read = |f: &ShardFolder| Ok((f.path.display().to_string(), f.runs()?));
        journals.map(read).collect()
    }

    /// What is missing of `split`, of which `merge` has what these folders hold; `None` if nothing is.
    /// `file` is the experiment, for the commands to do.
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
                // What has no runs lacks none.
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

/// Shards of which runs are missing. It prints as what a reader can do about it.
#[derive(Debug)]
pub struct Incomplete {
    lacking: Vec<Lacking>,
    of: u32,
    commands: Commands,
}

/// A shard of which runs are missing.
#[derive(Debug)]
struct Lacking {
    shard: Shard,
    /// Its folder, if there is one.
    begun: Option<PathBuf>,
    /// How many runs it has to do.
    runs: usize,
    /// Those that are missing, in words.
    lacks: Vec<String>,
}

/// What the commands have in common that do what is missing.
#[derive(Debug)]
struct Commands {
    /// The experiment, if it was named.
    file: Option<PathBuf>,
    /// A copy of it.
    experiment: PathBuf,
    harm: Harm,
    /// A folder of another shard.
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
            "{} of {} shards are missing or not finished: {which}",
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
            None => write!(f, "  {shard}: no folder is given; {runs} runs are missing")?,
            Some(folder) => {
                let folder = folder.display();
                write!(
                    f,
                    "  {shard}: {folder} is not finished; {lacks} of {runs} runs are missing"
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

/// Ascending numbers as `2,5-9`, which Slurm's `--array` takes.
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
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[2]), "2");
        assert_eq!(ranges(&[1, 2, 4, 6, 7, 8]), "1-2,4,6-8");
    }
}
