//! Lines of a journal and their parser.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use dupack_lab::results::{Measure, Run, Values};
use dupack_lab::run::{Fingerprint, Job, engine};

use super::{Done, checked};
use crate::set::RunId;

/// Line that names the engine of the runs after it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Maker {
    pub(super) engine: String,
}

/// Line of a finished run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) fingerprint: Fingerprint,
    point: String,
    stack: String,
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_seconds: Option<f64>,
    measures: BTreeMap<String, f64>,
    flow_goodputs_mbit_s: Vec<f64>,
    trace_hash: String,
}

/// Contents of a journal.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) done: HashMap<Fingerprint, Line>,
    /// Numbers of incomplete or unreadable lines, counted from 1.
    pub(super) unreadable: Vec<usize>,
    /// Number of runs made by another engine.
    pub(super) of_others: usize,
    /// Last engine that a line names.
    pub(super) engine: Option<String>,
}

impl Held {
    /// Parses `bytes`. Returns the contents and the length of the complete lines in bytes. Text after the last line
    /// break is an incomplete line.
    pub(super) fn read(bytes: &[u8]) -> (Self, usize) {
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
        let mut held = Self::default();
        let ours = engine();
        let lines = bytes[..whole].split(|&b| b == b'\n');
        for (number, line) in (1..).zip(lines) {
            held.take(number, line, &ours);
        }
        if whole < bytes.len() {
            let breaks = bytes[..whole].iter().filter(|&&b| b == b'\n');
            held.unreadable.push(breaks.count() + 1);
        }
        (held, whole)
    }

    /// Processes the line with this number. Only runs of the engine `ours` are stored.
    fn take(&mut self, number: usize, line: &[u8], ours: &str) {
        if line.is_empty() {
            return;
        }
        let is_whole = checked::is_whole(line);
        if let Ok(run) = serde_json::from_slice::<Line>(line)
            && (is_whole || self.engine.as_deref().is_some_and(|named| named != ours))
        {
            match &self.engine {
                Some(named) if named != ours => self.of_others += 1,
                _ => {
                    self.done.insert(run.fingerprint, run);
                }
            }
        } else if let Ok(maker) = serde_json::from_slice::<Maker>(line)
            && (is_whole || maker.engine != ours)
        {
            // Earlier builds wrote no checksums, so a line of another engine may lack one.
            self.engine = Some(maker.engine);
        } else {
            self.unreadable.push(number);
        }
    }

    /// Returns the run with the name `id` as `job`.
    pub(super) fn find(&self, id: &RunId, job: Job) -> Option<Done> {
        let line = self.done.get(&id.fingerprint)?;
        line.is_of(id, job.seed).then(|| line.done(job))?
    }
}

impl Line {
    pub(super) fn of(id: &RunId, done: &Done) -> Self {
        let run = &done.run;
        let measures = Measure::ALL
            .into_iter()
            .filter_map(|m| Some((m.key().to_owned(), run.values.get(m)?)));
        Self {
            fingerprint: id.fingerprint,
            point: id.point.clone(),
            stack: id.stack.clone(),
            seed: run.seed,
            cpu_seconds: done.cpu.map(|cpu| cpu.as_secs_f64()),
            measures: measures.collect(),
            flow_goodputs_mbit_s: run.flow_goodputs.clone(),
            trace_hash: format!("{:016x}", run.trace_hash),
        }
    }

    /// Returns `true` if the line has the point and stack of `id`, and this seed.
    pub(super) fn is_of(&self, id: &RunId, seed: u64) -> bool {
        (&self.point, &self.stack, self.seed) == (&id.point, &id.stack, seed)
    }

    /// Returns the run, or `None` if the line has unknown measures or invalid values.
    pub(super) fn done(&self, job: Job) -> Option<Done> {
        let mut values = Values::default();
        for (key, value) in &self.measures {
            values.set(Measure::of_key(key)?, *value);
        }
        let cpu = self.cpu_seconds.map(Duration::try_from_secs_f64);
        Some(Done {
            run: Run {
                point: job.point,
                stack: job.stack,
                seed: job.seed,
                values,
                flow_goodputs: self.flow_goodputs_mbit_s.clone(),
                trace_hash: u64::from_str_radix(&self.trace_hash, 16).ok()?,
            },
            cpu: cpu.transpose().ok()?,
        })
    }
}
