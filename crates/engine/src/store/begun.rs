//! Folder of an experiment, which can be resumed after an interruption.

use std::path::Path;
use std::sync::Arc;

use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::load::Source;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::shards::ShardFolder;
use super::{EXPERIMENT, FolderError, PAGE, RESULTS, Unlike};
use crate::folder::{OutputFolder, StoreError, is_blank};
use crate::journal::{Journal, NAME as JOURNAL};

/// Folder of an experiment with its finished runs. The journal stays in the folder until all runs are done and the
/// results are written.
#[derive(Debug)]
pub struct Begun {
    /// Folder of all files.
    pub folder: OutputFolder,
    /// Finished runs.
    pub journal: Arc<Journal>,
}

impl Begun {
    /// Starts the experiment of `source` in the empty `folder`. The file with the experiment is written before the
    /// runs, so it always exists.
    ///
    /// # Errors
    /// If the folder is not writable, or another process has locked it.
    pub fn new(folder: OutputFolder, source: &Source) -> Result<Self, FolderError> {
        // The journal is opened first, because its lock keeps other processes out of the folder.
        let journal = Arc::new(Journal::open(folder.path())?);
        if folder.path().join(EXPERIMENT).exists() {
            return Err(StoreError::taken(folder.path()).into());
        }
        folder.replace(EXPERIMENT, source.text.as_bytes())?;
        Ok(Self { folder, journal })
    }

    /// Resumes `experiment`, whose text is `source`, in the folder at `path`. An empty folder counts as a new folder,
    /// because a process that was killed at its start may have created it.
    ///
    /// # Errors
    /// If the folder contains another experiment, is complete, or is locked by another process.
    pub fn again(
        path: &Path,
        experiment: &Experiment,
        source: &Source,
    ) -> Result<Self, FolderError> {
        let folder = path.display().to_string();
        if ShardFolder::is_at(path) {
            return Err(FolderError::Shard { folder });
        }
        if is_blank(path) {
            return Self::new(OutputFolder::reopen(path), source);
        }
        let no_experiment = |cause: String| FolderError::NoExperiment {
            folder: folder.clone(),
            cause,
        };
        let text = std::fs::read_to_string(path.join(EXPERIMENT))
            .map_err(|e| no_experiment(format!("cannot be read: {e}")))?;
        let before: Experiment = Source::new(EXPERIMENT, &text)
            .parse()
            .map_err(|e| no_experiment(format!("is not a valid experiment: {e}")))?;
        if let Some(difference) = experiment.difference(&before) {
            return Err(FolderError::Other {
                folder,
                what: Unlike::Experiment,
                difference,
            });
        }
        if !path.join(JOURNAL).exists() && is_complete(path) {
            return Err(FolderError::Complete { folder });
        }
        Ok(Self {
            journal: Arc::new(Journal::reopen(path)?),
            folder: OutputFolder::reopen(path),
        })
    }

    /// Completes the folder, so that it has the same content as without an interruption. The journal is removed when
    /// all other files are on the disk.
    ///
    /// # Errors
    /// If the files cannot be synced, or the journal cannot be removed.
    pub fn complete(self) -> Result<OutputFolder, FolderError> {
        self.folder.sync()?;
        self.journal.remove()?;
        Ok(self.folder)
    }
}

/// Returns `true` if the folder at `path` has a report and results with all planned runs.
fn is_complete(path: &Path) -> bool {
    let read = || {
        let text = std::fs::read(path.join(RESULTS)).ok()?;
        let results: Counts = serde_json::from_slice(&text).ok()?;
        path.join(PAGE).is_file().then_some(results)
    };
    read().is_some_and(|results| results.runs.len() >= results.planned_runs)
}

/// Parts of the results that determine completeness.
#[derive(Deserialize)]
struct Counts {
    planned_runs: usize,
    runs: Vec<IgnoredAny>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::IfPresent;
    use miette::Diagnostic;

    const TEXT: &str = "stacks = [\"sack/reno\"]\nseeds = 3\n[path]\nrate = \"1Mbit/s\"\n";

    fn refused(path: &Path, text: &str) -> String {
        let experiment = Source::new("test.toml", text).parse().unwrap();
        let error = Begun::again(path, &experiment, &Source::new("test.toml", text)).unwrap_err();
        assert!(error.help().is_some(), "{error}");
        error.to_string()
    }

    #[test]
    fn only_the_same_experiment_is_resumed_until_it_is_complete() {
        let base = std::env::temp_dir().join(format!("dupack-begun-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        let path = base.join("out");
        assert!(refused(&path, TEXT).contains("there is no experiment to resume"));
        let source = Source::new("test.toml", TEXT);
        let folder = OutputFolder::create(&path, IfPresent::Refuse).unwrap();
        let begun = Begun::new(folder, &source).unwrap();
        assert!(refused(&path, TEXT).contains("another dupack process is using"));
        drop(begun);
        for (from, to, difference) in [
            ("seeds = 3", "seeds = 4", "seeds is 4, and was 3"),
            (
                "1Mbit/s",
                "2Mbit/s",
                "path.rate is \"2Mbit/s\", and was \"1Mbit/s\"",
            ),
            ("seeds = 3", "seeds = 3\nprecision = \"2%\"", "precision is"),
        ] {
            let words = refused(&path, &TEXT.replace(from, to));
            assert!(words.contains(difference), "{words}");
        }
        // Comments are not part of the experiment.
        let commented = format!("# as before\n{TEXT}");
        let same = Source::new("test.toml", &commented).parse().unwrap();
        Begun::again(&path, &same, &source)
            .unwrap()
            .complete()
            .unwrap();
        let left: Vec<_> = std::fs::read_dir(&path).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(refused(&path, TEXT).contains("nothing to resume"));
        std::fs::remove_dir_all(&base).unwrap();
    }
}
