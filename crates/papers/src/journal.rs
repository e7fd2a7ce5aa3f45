//! The journal of an experiment: every finished run on a line of its own, written at once, so
//! that an interrupted campaign goes on where it stopped.
//!
//! A line is a JSON object: the run's [`Fingerprint`], what it is in words (point, stack, seed),
//! the CPU time that it took, and everything that was measured. Numbers read back to the same
//! bits. A line that a crash has torn is ignored, and the run done again.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use dupack_lab::results::{Measure, Run, Values};
use dupack_lab::run::{Fingerprint, Job};

/// The file's name, in the experiment's folder.
const NAME: &str = "runs.jsonl";

/// The journal of one experiment.
#[derive(Debug)]
pub(super) struct Journal {
    done: HashMap<Fingerprint, Line>,
    unreadable: usize,
    path: PathBuf,
    file: Mutex<File>,
}

/// A finished run and the CPU time that it took.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Done {
    pub(super) run: Run,
    pub(super) cpu: Duration,
}

/// What went wrong with a journal.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot {what} the journal {path}: {cause}")]
#[diagnostic(help("the runs are kept there; choose another folder with --out"))]
pub struct JournalError {
    what: &'static str,
    path: String,
    cause: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    fingerprint: Fingerprint,
    point: String,
    stack: String,
    seed: u64,
    cpu_seconds: f64,
    measures: BTreeMap<String, f64>,
    flow_goodputs_mbit_s: Vec<f64>,
    trace_hash: String,
}

impl Journal {
    /// Opens the journal in `folder`, or begins one there.
    ///
    /// # Errors
    /// If it can be neither read nor written.
    pub(super) fn open(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(NAME);
        let fail = |what, cause: std::io::Error| JournalError {
            what,
            path: path.display().to_string(),
            cause: cause.to_string(),
        };
        fs::create_dir_all(folder).map_err(|e| fail("make", e))?;
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(fail("read", e)),
        };
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|e| fail("write", e))?;
        // What follows the last line break is torn: the next line must not be glued to it.
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
        let mut unreadable = 0;
        if whole < bytes.len() {
            unreadable += 1;
            file.set_len(whole as u64).map_err(|e| fail("mend", e))?;
        }
        let mut done = HashMap::new();
        for line in bytes[..whole].split(|&b| b == b'\n') {
            match serde_json::from_slice::<Line>(line) {
                Ok(line) => {
                    done.insert(line.fingerprint, line);
                }
                Err(_) if line.is_empty() => {}
                Err(_) => unreadable += 1,
            }
        }
        Ok(Self {
            done,
            unreadable,
            path,
            file: Mutex::new(file),
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Lines that could not be read, and so do not count.
    pub(super) const fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// Whether it holds no run that was done before.
    pub(super) fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// The run with `fingerprint`, as `job`, if it was done before.
    pub(super) fn find(&self, fingerprint: Fingerprint, job: Job) -> Option<Done> {
        self.done.get(&fingerprint)?.done(job)
    }

    /// Notes a finished run. It is in the system's hands when this returns: only a crash of the
    /// machine, not one of the program, can lose it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn append(
        &self,
        fingerprint: Fingerprint,
        (point, stack): (&str, &str),
        done: &Done,
    ) -> Result<(), JournalError> {
        let line = Line::of(fingerprint, (point, stack), done);
        let mut text = serde_json::to_string(&line).map_err(|e| self.unwritten(e))?;
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes())
            .map_err(|e| self.unwritten(e))
    }

    fn unwritten(&self, cause: impl ToString) -> JournalError {
        JournalError {
            what: "write",
            path: self.path.display().to_string(),
            cause: cause.to_string(),
        }
    }
}

impl Line {
    fn of(fingerprint: Fingerprint, (point, stack): (&str, &str), done: &Done) -> Self {
        let run = &done.run;
        let measures = Measure::ALL
            .into_iter()
            .filter_map(|m| Some((m.key().to_owned(), run.values.get(m)?)));
        Self {
            fingerprint,
            point: point.to_owned(),
            stack: stack.to_owned(),
            seed: run.seed,
            cpu_seconds: done.cpu.as_secs_f64(),
            measures: measures.collect(),
            flow_goodputs_mbit_s: run.flow_goodputs.clone(),
            trace_hash: format!("{:016x}", run.trace_hash),
        }
    }

    /// `None` if it speaks of measures that are not known here.
    fn done(&self, job: Job) -> Option<Done> {
        let mut values = Values::default();
        for (key, value) in &self.measures {
            values.set(Measure::of_key(key)?, *value);
        }
        Some(Done {
            run: Run {
                point: job.point,
                stack: job.stack,
                seed: job.seed,
                values,
                flow_goodputs: self.flow_goodputs_mbit_s.clone(),
                trace_hash: u64::from_str_radix(&self.trace_hash, 16).ok()?,
            },
            cpu: Duration::try_from_secs_f64(self.cpu_seconds).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            cpu: Duration::from_millis(1500),
        }
    }

    fn print(n: u64) -> Fingerprint {
        Fingerprint::try_from(format!("{n:x}")).unwrap()
    }

    #[test]
    fn what_was_noted_reads_back_to_the_last_bit() {
        let path = folder("journal-bits");
        // Numbers that need all of their digits.
        let goodputs = [1.0 / 3.0, 0.1 + 0.2, 1e22 / 3.0, f64::MIN_POSITIVE];
        let journal = Journal::open(&path).unwrap();
        for (n, goodput) in goodputs.into_iter().enumerate() {
            let place = ("loss 1%", "sack/reno");
            journal
                .append(print(n as u64), place, &done(goodput))
                .unwrap();
        }
        let again = Journal::open(&path).unwrap();
        assert_eq!(again.unreadable(), 0);
        for (n, goodput) in goodputs.into_iter().enumerate() {
            let read = again.find(print(n as u64), JOB).unwrap();
            assert_eq!(read, done(goodput));
            let bits = |d: &Done| d.run.values.get(Measure::Goodput).unwrap().to_bits();
            assert_eq!(bits(&read), goodput.to_bits());
        }
        assert!(again.find(print(99), JOB).is_none());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_torn_last_line_is_ignored_and_the_next_is_not_glued_to_it() {
        let path = folder("journal-torn");
        let place = ("", "sack/reno");
        let journal = Journal::open(&path).unwrap();
        journal.append(print(1), place, &done(1.0)).unwrap();
        journal.append(print(2), place, &done(2.0)).unwrap();
        let file = path.join(NAME);
        let whole = fs::read(&file).unwrap();
        // Torn anywhere in its second line, the break at its end included.
        let first = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
        for end in [first + 1, first + 40, whole.len() - 1] {
            fs::write(&file, &whole[..end]).unwrap();
            let torn = Journal::open(&path).unwrap();
            assert_eq!(torn.unreadable(), 1);
            assert!(torn.find(print(1), JOB).is_some());
            assert!(torn.find(print(2), JOB).is_none());
            torn.append(print(3), place, &done(3.0)).unwrap();
            let mended = Journal::open(&path).unwrap();
            assert_eq!(mended.unreadable(), 0);
            assert_eq!(mended.find(print(3), JOB), Some(done(3.0)));
        }
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_line_of_another_making_does_not_count() {
        let path = folder("journal-other");
        Journal::open(&path).unwrap();
        let other = "{\"fingerprint\":\"1\",\"point\":\"\",\"stack\":\"a/b\",\"seed\":1,\"cpu_seconds\":1.0,\
                     \"measures\":{\"beauty\":1.0},\"flow_goodputs_mbit_s\":[],\"trace_hash\":\"0\"}";
        fs::write(path.join(NAME), format!("{other}\nnonsense\n")).unwrap();
        let journal = Journal::open(&path).unwrap();
        assert_eq!(journal.unreadable(), 1);
        assert!(journal.find(print(1), JOB).is_none());
        fs::remove_dir_all(&path).unwrap();
    }
}
