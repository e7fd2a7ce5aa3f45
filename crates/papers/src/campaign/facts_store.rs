//! Facts of finished runs, stored so that a resumed campaign does not repeat these runs.
//!
//! The packets of a run are too large to be stored, but the facts that a paper reads from them are small. Every run is
//! one line of `facts.jsonl` in the folder of its experiment. A line names the run by its fingerprint, and the sources
//! of the program that read the facts. A line is ignored, and its run is repeated, if it is incomplete or changed, if
//! other sources wrote it, or if it does not have the facts that the experiment asks for.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dupack_claims::{FactKind, FactValue, Facts};
use dupack_engine::JournalError;
use dupack_lab::run::{Fingerprint, Job, engine};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Name of the file in the experiment's folder.
const NAME: &str = "facts.jsonl";

/// Stored facts of one experiment.
#[derive(Debug)]
pub(super) struct FactsStore {
    held: HashMap<Fingerprint, Record>,
    file: File,
}

/// A line: the record as JSON text, and a hash of this text.
#[derive(Serialize, Deserialize)]
struct Line {
    record: String,
    sum: u64,
}

/// Facts of one run.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    fingerprint: Fingerprint,
    /// Sources of the engine and of this crate.
    sources: String,
    seed: u64,
    cpu_seconds: f64,
    /// Name and values of each fact.
    facts: Vec<(String, Vec<Value>)>,
}

/// Value of a fact. A number is stored as its bits, because JSON has no infinite numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Value {
    #[serde(rename = "n")]
    Number(u64),
    #[serde(rename = "t")]
    Text(String),
}

impl FactsStore {
    /// Opens or creates the store in `folder`, with the records of the stores in `others`.
    pub(super) fn open(folder: &Path, others: &[PathBuf]) -> Result<Self, JournalError> {
        let path = folder.join(NAME);
        let fail = |what| {
            let path = path.display().to_string();
            move |cause: io::Error| JournalError::System {
                what,
                path,
                cause: cause.to_string(),
                remedy: "check the folder, or start in a new one with --out",
            }
        };
        let mut held = HashMap::new();
        for folder in others.iter().map(PathBuf::as_path).chain([folder]) {
            let bytes = match fs::read(folder.join(NAME)) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
                read => read.map_err(fail("read"))?,
            };
            let lines = bytes.split(|&byte| byte == b'\n');
            held.extend(lines.filter_map(parsed).map(|r| (r.fingerprint, r)));
        }
        fs::create_dir_all(folder).map_err(fail("create"))?;
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = opened.map_err(fail("open"))?;
        // The last line may be incomplete. A line break separates it from the next one.
        file.write_all(b"\n").map_err(fail("write"))?;
        Ok(Self { held, file })
    }

    /// Returns the stored facts of the run `job`, and its processor time. `asked` has the names and kinds of the facts.
    pub(super) fn find(
        &self,
        fingerprint: Fingerprint,
        job: Job,
        asked: Facts,
    ) -> Option<(Facts, Duration)> {
        let record = self.held.get(&fingerprint)?;
        if record.seed != job.seed || record.facts.len() != asked.0.len() {
            return None;
        }
        let mut facts = asked;
        for (fact, (name, values)) in facts.0.iter_mut().zip(&record.facts) {
            if fact.name != *name {
                return None;
            }
            for value in values {
                let value = match (fact.kind, value) {
                    (FactKind::Number, Value::Number(bits)) => {
                        FactValue::Number(f64::from_bits(*bits))
                    }
                    (FactKind::Text, Value::Text(text)) => FactValue::Text(text.clone()),
                    _ => return None,
                };
                fact.values.push((job.point, job.stack, job.seed, value));
            }
        }
        let cpu = Duration::try_from_secs_f64(record.cpu_seconds).ok()?;
        Some((facts, cpu))
    }

    /// Stores the facts of a run. If the system reports an error, the run is repeated when the campaign is resumed.
    pub(super) fn put(&mut self, fingerprint: Fingerprint, job: Job, facts: &Facts, cpu: Duration) {
        let value = |value: &FactValue| match value {
            FactValue::Number(number) => Value::Number(number.to_bits()),
            FactValue::Text(text) => Value::Text(text.clone()),
        };
        let facts = facts.0.iter().map(|fact| {
            let values = fact.values.iter().map(|(.., of)| value(of));
            (fact.name.clone(), values.collect())
        });
        let record = Record {
            fingerprint,
            sources: sources(),
            seed: job.seed,
            cpu_seconds: cpu.as_secs_f64(),
            facts: facts.collect(),
        };
        let Ok(record) = serde_json::to_string(&record) else {
            return;
        };
        let sum = xxh3_64(record.as_bytes());
        if let Ok(mut line) = serde_json::to_vec(&Line { record, sum }) {
            line.push(b'\n');
            let _ = self.file.write_all(&line);
        }
    }
}

/// Returns the sources of the engine and of this crate, whose code reads the facts.
fn sources() -> String {
    format!("{} {}", engine(), env!("DUPACK_SOURCE_HASH"))
}

/// Returns the record of a line, or `None` if the line cannot be used.
fn parsed(line: &[u8]) -> Option<Record> {
    let line: Line = serde_json::from_slice(line).ok()?;
    if xxh3_64(line.record.as_bytes()) != line.sum {
        return None;
    }
    let record: Record = serde_json::from_str(&line.record).ok()?;
    (record.sources == sources()).then_some(record)
}

#[cfg(test)]
mod tests {
    use dupack_claims::Fact;
    use dupack_testing::command::Folder;

    use super::*;

    const JOB: Job = Job {
        point: 2,
        stack: 1,
        seed: 7,
    };

    fn facts(values: &[f64], words: &str) -> Facts {
        let place = |value| (JOB.point, JOB.stack, JOB.seed, value);
        let numbers = values.iter().map(|&v| place(FactValue::Number(v)));
        Facts(vec![
            Fact {
                name: "share".into(),
                kind: FactKind::Number,
                values: numbers.collect(),
            },
            Fact {
                name: "kinds".into(),
                kind: FactKind::Text,
                values: vec![place(FactValue::Text(words.into()))],
            },
        ])
    }

    fn asked() -> Facts {
        let mut facts = facts(&[], "");
        facts.0[1].values.clear();
        facts
    }

    #[test]
    fn a_stored_run_is_found_with_every_bit_of_its_facts() {
        let folder = Folder::new("facts-store");
        let run = Fingerprint::of_text("a run");
        let stored = facts(&[0.1 + 0.2, f64::INFINITY, -0.0], "R \"x\"\nS");
        let cpu = Duration::from_millis(1500);
        let mut store = FactsStore::open(folder.path(), &[]).unwrap();
        assert!(store.find(run, JOB, asked()).is_none());
        store.put(run, JOB, &stored, cpu);
        drop(store);

        let store = FactsStore::open(folder.path(), &[]).unwrap();
        let (found, spent) = store.find(run, JOB, asked()).unwrap();
        assert_eq!(format!("{found:?}"), format!("{stored:?}"));
        assert_eq!(spent, cpu);
        let other = Job { seed: 8, ..JOB };
        assert!(store.find(run, other, asked()).is_none(), "another seed");
        let mut renamed = asked();
        renamed.0[0].name = "sum".into();
        assert!(store.find(run, JOB, renamed).is_none(), "another fact");
    }

    #[test]
    fn a_torn_or_changed_line_is_ignored_and_the_lines_around_it_are_not() {
        let folder = Folder::new("facts-store-torn");
        let path = folder.path().join(NAME);
        let cpu = Duration::from_secs(1);
        let runs: Vec<_> = ["a", "b", "c"].map(Fingerprint::of_text).into();
        for (number, run) in (1..).zip(&runs) {
            let mut store = FactsStore::open(folder.path(), &[]).unwrap();
            store.put(*run, JOB, &facts(&[f64::from(number)], "x"), cpu);
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 3);
        let changed = lines[1].replacen("share", "shake", 1);
        let torn = &lines[2][..lines[2].len() / 2];
        fs::write(&path, format!("{}\n{changed}\n{torn}", lines[0])).unwrap();

        let mut store = FactsStore::open(folder.path(), &[]).unwrap();
        let is_there = |store: &FactsStore| -> Vec<bool> {
            let found = |run| store.find(run, JOB, asked()).is_some();
            runs.iter().map(|&run| found(run)).collect()
        };
        assert_eq!(is_there(&store), [true, false, false]);
        store.put(runs[2], JOB, &facts(&[3.0], "x"), cpu);
        drop(store);
        let store = FactsStore::open(folder.path(), &[]).unwrap();
        assert_eq!(is_there(&store), [true, false, true]);
    }

    #[test]
    fn a_reading_finds_the_runs_that_the_other_extent_has_stored() {
        let (own, other) = (Folder::new("facts-own"), Folder::new("facts-other"));
        let run = Fingerprint::of_text("a run");
        let mut store = FactsStore::open(other.path(), &[]).unwrap();
        store.put(run, JOB, &facts(&[1.0], "x"), Duration::ZERO);
        let store = FactsStore::open(own.path(), &[other.path().into()]).unwrap();
        assert!(store.find(run, JOB, asked()).is_some());
    }
}
