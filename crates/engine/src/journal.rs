//! Journal of an experiment. Every finished run is written at once, on its own line, so that an interrupted experiment
//! can be resumed.
//!
//! A line is a JSON object: the run's [`Fingerprint`], its point, stack and seed, its processor time if it was
//! measured, its results, and a checksum of the text before the checksum. Numbers are preserved to the last bit. The
//! runs of an engine follow a line that names this engine. A line is ignored, and its run is repeated, if the line is
//! incomplete, if its checksum is wrong, or if its point, stack or seed differ from those of the run with the same
//! fingerprint.

pub(crate) mod checked;
mod file;
mod line;
mod stored;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use miette::Diagnostic;
use serde::Serialize;
use thiserror::Error;

use dupack_lab::results::Run;
use dupack_lab::run::{Fingerprint, Job, engine};

use crate::set::RunId;
use line::{Held, Line, Maker};
pub use stored::Stored;

/// Name of the journal in the experiment's folder.
pub const NAME: &str = "runs.jsonl";

/// Journal of one experiment. The file stays locked until the journal is dropped.
#[derive(Debug)]
pub struct Journal {
    held: Held,
    /// Other journals with runs that need not be repeated.
    others: Vec<Stored>,
    path: PathBuf,
    file: Mutex<Appended>,
}

/// File of the journal, and the length of its complete lines in bytes.
#[derive(Debug)]
struct Appended {
    file: File,
    whole: u64,
    /// Number of lines that could not be written.
    lost: usize,
}

/// Finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Results of the run.
    pub run: Run,
    /// Processor time of the run, if it was measured.
    pub cpu: Option<Duration>,
}

/// Error of a journal.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum JournalError {
    /// The system reported an error.
    #[error("cannot {what} the journal {path}: {cause}")]
    System {
        /// Verb of the failed operation.
        what: &'static str,
        /// Path of the file.
        path: String,
        /// Cause, as the system reports it.
        cause: String,
        /// Suggestion.
        #[help]
        remedy: &'static str,
    },
    /// The journal does not fit into memory.
    #[error("the journal {path} has {size}, but only {there} of memory are available")]
    #[diagnostic(help(
        "resume it on a machine with more memory, or start in a new folder with --out"
    ))]
    TooLarge {
        /// Path of the file.
        path: String,
        /// Size of the journal.
        size: String,
        /// Available memory.
        there: String,
    },
    /// Another process has locked the journal.
    #[error("another dupack process is using {folder}")]
    #[diagnostic(help("wait for it, or start in a new folder with --out"))]
    Busy {
        /// Folder of the journal.
        folder: String,
    },
    /// There is no journal.
    #[error("there is nothing to resume in {folder}: it has no {NAME}")]
    #[diagnostic(help(
        "name the folder of an interrupted run; {NAME} is removed when all runs are done"
    ))]
    Missing {
        /// Folder without a journal.
        folder: String,
    },
}

impl Journal {
    /// Opens or creates the journal in `folder`.
    ///
    /// # Errors
    /// If the journal cannot be read or written, or another process has locked it.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(NAME);
        let fail = |what, cause: io::Error| system(what, &path, &cause);
        fs::create_dir_all(folder).map_err(|e| fail("create", e))?;
        let file = match file::open(&path).map_err(|e| fail("open", e))? {
            Some(file) => file,
            // Two processes with the same journal would perform all runs twice.
            None => {
                return Err(JournalError::Busy {
                    folder: folder.display().to_string(),
                });
            }
        };
        let bytes = file::read(&file, &path)?;
        let (held, whole) = Held::read(&bytes);
        if whole < bytes.len() {
            // Otherwise, the next line would be appended to the incomplete one.
            file.set_len(whole as u64).map_err(|e| fail("repair", e))?;
        }
        let engine = engine();
        let is_named = held.engine.as_deref() == Some(&engine);
        let whole = whole as u64;
        let file = Mutex::new(Appended {
            file,
            whole,
            lost: 0,
        });
        let journal = Self {
            held,
            others: Vec::new(),
            path: path.clone(),
            file,
        };
        if !is_named {
            journal.put(&Maker { engine })?;
        }
        Ok(journal)
    }

    /// Adds the runs of another journal. They count as runs of this one, but are not written into its file.
    #[must_use]
    pub fn with_runs_of(mut self, other: Stored) -> Self {
        self.others.push(other);
        self
    }

    /// Opens the existing journal in `folder`.
    ///
    /// # Errors
    /// If there is no journal, and in the cases of [`open`](Self::open).
    pub fn reopen(folder: &Path) -> Result<Self, JournalError> {
        match folder.join(NAME).is_file() {
            true => Self::open(folder),
            false => Err(JournalError::Missing {
                folder: folder.display().to_string(),
            }),
        }
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns messages for the user about lines that cannot be used.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let path = self.path.display();
        let mut said = Vec::new();
        let lines = self.held.unreadable.len();
        if lines > 0 {
            said.push(format!(
                "{path}: {lines} incomplete or unreadable line(s): these runs are repeated"
            ));
        }
        let runs = self.held.of_others;
        if runs > 0 {
            let version = env!("CARGO_PKG_VERSION");
            said.push(format!(
                "{path}: {runs} run(s) were made by another build of dupack than this one \
                 ({version}), with different code: they are repeated"
            ));
        }
        said
    }

    /// Returns `true` if the journal contains no run that can be reused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.done.is_empty() && self.others.iter().all(Stored::is_empty)
    }

    /// Returns the run with the name `id` as `job`, if the journal contains it. A line with a different point, stack or
    /// seed does not count.
    #[must_use]
    pub fn find(&self, id: &RunId, job: Job) -> Option<Done> {
        let others = || self.others.iter().find_map(|other| other.find(id, job));
        self.held.find(id, job).or_else(others)
    }

    /// Returns `true` if the file has a line with `fingerprint`, regardless of the line's point, stack and seed.
    #[must_use]
    pub fn has(&self, fingerprint: Fingerprint) -> bool {
        self.held.done.contains_key(&fingerprint)
    }

    /// Appends a finished run. When this method returns, the operating system has the data: a crash of the program does
    /// not lose it, but a crash of the machine may.
    ///
    /// # Errors
    /// If the run cannot be written.
    pub fn append(&self, id: &RunId, done: &Done) -> Result<(), JournalError> {
        self.put(&Line::of(id, done))
    }

    /// Returns the number of finished runs that could not be appended.
    #[must_use]
    pub fn unkept(&self) -> usize {
        let to = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        to.lost
    }

    /// Flushes the journal to the disk, so that its runs survive a crash of the machine.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn sync(&self) -> Result<(), JournalError> {
        let to = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let synced = to.file.sync_all();
        synced.map_err(|e| system("write", &self.path, &e))
    }

    /// Removes the journal, once all results are written.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn remove(&self) -> Result<(), JournalError> {
        // Removes the file, or a link that has replaced the file. A link is not followed.
        fs::remove_file(&self.path).map_err(|e| system("remove", &self.path, &e))?;
        // If the folder cannot be synced, the journal may reappear after a crash of the machine, which is harmless.
        let _ = self.path.parent().map(file::sync_folder);
        Ok(())
    }

    fn put(&self, line: &impl Serialize) -> Result<(), JournalError> {
        let text =
            checked::line(line).map_err(|e| system("write", &self.path, &io::Error::other(e)))?;
        let mut to = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = to.file.write_all(&text) {
            // If the disk is full, a part of the line may have been written. This part is removed, so that the next
            // record starts on a new line.
            let _ = to.file.set_len(to.whole);
            to.lost += 1;
            return Err(system("write", &self.path, &error));
        }
        to.whole += text.len() as u64;
        Ok(())
    }
}

fn system(what: &'static str, path: &Path, error: &io::Error) -> JournalError {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    JournalError::System {
        what,
        path: path.display().to_string(),
        cause: error.to_string(),
        remedy: match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => {
                "make room on the disk: the runs are kept there, so that an interruption does not \
                 lose them"
            }
            _ => "the runs are kept there; choose another folder with --out",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_lab::results::{Measure, Values};

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("dupack-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    const JOB: Job = Job {
        point: 1,
        stack: 2,
        seed: 3,
    };

    fn id(n: u64) -> RunId {
        RunId {
            fingerprint: print(n),
            point: "loss 1%".to_owned(),
            stack: "sack/reno".to_owned(),
        }
    }

    fn done(goodput: f64) -> Done {
        let mut values = Values::default();
        values.set(Measure::Goodput, goodput);
        values.set(Measure::DelayP95, 1e-300 / 3.0);
        Done {
            run: Run {
                point: JOB.point,
                stack: JOB.stack,
                seed: JOB.seed,
                values,
                flow_goodputs: vec![goodput, 0.1 + 0.2, -0.0],
                trace_hash: u64::MAX - 1,
            },
            cpu: Some(Duration::from_millis(1500)),
        }
    }

    fn print(n: u64) -> Fingerprint {
        Fingerprint::try_from(format!("{n:x}")).unwrap()
    }

    #[test]
    fn runs_of_another_journal_are_found_and_not_written() {
        let (path, of_other) = (folder("journal-own"), folder("journal-other"));
        let other = Journal::open(&of_other).unwrap();
        other.append(&id(1), &done(2.0)).unwrap();
        drop(other);
        let empty = || Journal::open(&path).unwrap();
        assert!(empty().is_empty());
        let journal = empty().with_runs_of(Stored::read(&of_other).unwrap());
        assert!(!journal.is_empty());
        assert_eq!(journal.find(&id(1), JOB), Some(done(2.0)));
        // A run of its own has precedence.
        journal.append(&id(1), &done(3.0)).unwrap();
        drop(journal);
        let journal = empty().with_runs_of(Stored::read(&of_other).unwrap());
        assert_eq!(journal.find(&id(1), JOB), Some(done(3.0)));
        drop(journal);
        assert_eq!(empty().held.done.len(), 1);
        fs::remove_dir_all(&path).unwrap();
        fs::remove_dir_all(&of_other).unwrap();
    }

    #[test]
    fn runs_are_read_back_to_the_last_bit() {
        let path = folder("journal-bits");
        // The numbers need all of their digits.
        let goodputs = [1.0 / 3.0, 0.1 + 0.2, 1e22 / 3.0, f64::MIN_POSITIVE];
        let journal = Journal::open(&path).unwrap();
        for (n, goodput) in goodputs.into_iter().enumerate() {
            journal.append(&id(n as u64), &done(goodput)).unwrap();
        }
        drop(journal);
        let again = Journal::open(&path).unwrap();
        assert_eq!(again.complaints(), Vec::<String>::new());
        for (n, goodput) in goodputs.into_iter().enumerate() {
            let read = again.find(&id(n as u64), JOB).unwrap();
            assert_eq!(read, done(goodput));
            let bits = |d: &Done| d.run.values.get(Measure::Goodput).unwrap().to_bits();
            assert_eq!(bits(&read), goodput.to_bits());
        }
        assert!(again.find(&id(99), JOB).is_none());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn an_incomplete_last_line_is_ignored_and_removed() {
        let path = folder("journal-torn");
        let journal = Journal::open(&path).unwrap();
        journal.append(&id(1), &done(1.0)).unwrap();
        journal.append(&id(2), &done(2.0)).unwrap();
        drop(journal);
        let file = path.join(NAME);
        let whole = fs::read(&file).unwrap();
        // The text is cut at several positions in its last line, including just before the line break.
        let breaks: Vec<usize> = (0..whole.len()).filter(|&n| whole[n] == b'\n').collect();
        let last = breaks[breaks.len() - 2] + 1;
        for end in [last + 1, last + 40, whole.len() - 1] {
            fs::write(&file, &whole[..end]).unwrap();
            let torn = Journal::open(&path).unwrap();
            assert!(torn.complaints()[0].contains("1 incomplete or unreadable line(s)"));
            assert!(torn.find(&id(1), JOB).is_some());
            assert!(torn.find(&id(2), JOB).is_none());
            torn.append(&id(3), &done(3.0)).unwrap();
            drop(torn);
            let mended = Journal::open(&path).unwrap();
            assert!(mended.complaints().is_empty());
            assert_eq!(mended.find(&id(3), JOB), Some(done(3.0)));
        }
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_second_process_and_a_missing_journal_are_errors() {
        let path = folder("journal-busy");
        assert!(matches!(
            Journal::reopen(&path),
            Err(JournalError::Missing { .. })
        ));
        let first = Journal::open(&path).unwrap();
        assert!(matches!(
            Journal::reopen(&path),
            Err(JournalError::Busy { .. })
        ));
        drop(first);
        Journal::reopen(&path).unwrap().remove().unwrap();
        assert!(Journal::reopen(&path).is_err());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn runs_of_another_engine_are_reported_and_ignored() {
        let path = folder("journal-engine");
        let journal = Journal::open(&path).unwrap();
        journal.append(&id(1), &done(1.0)).unwrap();
        drop(journal);
        let file = path.join(NAME);
        let text = fs::read_to_string(&file).unwrap();
        let lines = { text.lines() }.map(|line| match line.contains(&engine()) {
            true => "{\"engine\":\"0.0.1 0123456789abcdef\"}",
            false => line,
        });
        let lines: Vec<&str> = lines.collect();
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        let other = Journal::open(&path).unwrap();
        assert!(other.find(&id(1), JOB).is_none() && other.is_empty());
        assert!(other.complaints()[0].contains("1 run(s) were made by another build"));
        // New runs are found again although the journal has unusable lines.
        other.append(&id(1), &done(2.0)).unwrap();
        drop(other);
        let again = Journal::open(&path).unwrap();
        assert_eq!(again.find(&id(1), JOB), Some(done(2.0)));
        assert_eq!(again.complaints().len(), 1);
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_modified_line_is_ignored() {
        let path = folder("journal-changed");
        let journal = Journal::open(&path).unwrap();
        journal.append(&id(1), &done(1.0)).unwrap();
        drop(journal);
        let file = path.join(NAME);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("\"goodput_mbit_s\":1.0"), "{text}");
        for (from, to) in [
            ("\"goodput_mbit_s\":1.0", "\"goodput_mbit_s\":2.0"),
            ("sack/reno", "sack/cubic"),
            (",\"sum\":", ",\"sum \":"),
        ] {
            fs::write(&file, text.replace(from, to)).unwrap();
            let journal = Journal::open(&path).unwrap();
            assert!(journal.find(&id(1), JOB).is_none(), "{to}");
            assert_eq!(journal.complaints().len(), 1, "{to}");
        }
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_line_that_contradicts_its_fingerprint_is_ignored() {
        let path = folder("journal-stranger");
        let journal = Journal::open(&path).unwrap();
        journal.append(&id(1), &done(1.0)).unwrap();
        drop(journal);
        let journal = Journal::open(&path).unwrap();
        let seed = Job { seed: 4, ..JOB };
        let point = RunId {
            point: "loss 2%".to_owned(),
            ..id(1)
        };
        let stack = RunId {
            stack: "sack/cubic".to_owned(),
            ..id(1)
        };
        for (id, job) in [(point, JOB), (stack, JOB), (id(1), seed)] {
            assert!(journal.find(&id, job).is_none());
            assert!(journal.has(id.fingerprint));
        }
        assert!(journal.find(&id(1), JOB).is_some());
        assert!(!journal.has(print(2)));
        fs::remove_dir_all(&path).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_the_journal_is_not_followed() {
        let path = folder("journal-link");
        fs::create_dir_all(&path).unwrap();
        let theirs = path.join("theirs");
        fs::write(&theirs, "no line").unwrap();
        std::os::unix::fs::symlink(&theirs, path.join(NAME)).unwrap();
        let error = Journal::open(&path).unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "no line");
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_line_with_unknown_measures_is_ignored() {
        let path = folder("journal-other");
        Journal::open(&path).unwrap();
        let other = "{\"fingerprint\":\"1\",\"point\":\"loss 1%\",\"stack\":\"sack/reno\",\"seed\":3,\"cpu_seconds\":1.0,\
                     \"measures\":{\"beauty\":1.0},\"flow_goodputs_mbit_s\":[],\"trace_hash\":\"0\"}";
        let other: serde_json::Value = serde_json::from_str(other).unwrap();
        let mut text = checked::line(&other).unwrap();
        text.extend(b"nonsense\n");
        fs::write(path.join(NAME), text).unwrap();
        let journal = Journal::open(&path).unwrap();
        assert!(journal.complaints()[0].contains("1 incomplete or unreadable line(s)"));
        assert!(journal.find(&id(1), JOB).is_none());
        fs::remove_dir_all(&path).unwrap();
    }
}
