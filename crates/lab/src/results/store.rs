//! Results on disk: a folder that overwrites nothing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use super::{Comparison, Measure, Results};

/// Where the files of an experiment go.
#[derive(Clone, Debug)]
pub struct OutputFolder {
    path: PathBuf,
    files: Files,
    /// The folders that were not there before, the innermost first.
    made: Vec<PathBuf>,
}

/// What becomes of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    /// It stays: to write it is an error.
    Keep,
    /// It is made anew.
    Replace,
}

/// What went wrong on disk.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot {what} {path}: {cause}")]
pub struct StoreError {
    what: &'static str,
    path: String,
    cause: String,
    #[help]
    remedy: &'static str,
}

/// What to do about a folder that is of no use.
const ANOTHER_FOLDER: &str = "choose another folder with --out";

/// What to do if there is no room for a file. What was written of it is of no use.
const MORE_ROOM: &str =
    "make room, or choose a folder with more of it with --out; what is in this one is not complete";

impl StoreError {
    fn new(what: &'static str, path: &Path, cause: impl ToString) -> Self {
        Self {
            what,
            path: path.display().to_string(),
            cause: cause.to_string(),
            remedy: ANOTHER_FOLDER,
        }
    }

    /// An error of the system.
    fn system(what: &'static str, path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let is_full = matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        Self {
            remedy: if is_full { MORE_ROOM } else { ANOTHER_FOLDER },
            ..Self::new(what, path, error)
        }
    }
}

/// What to do if the folder is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfPresent {
    /// Take `name-2`, `name-3`, …: nobody asked for this very folder.
    Number,
    /// Refuse: somebody named it.
    Refuse,
}

impl OutputFolder {
    /// Makes a new, empty folder at `path`.
    ///
    /// # Errors
    /// If it cannot be made, or is there and holds something and may not be numbered.
    pub fn create(path: &Path, if_present: IfPresent) -> Result<Self, StoreError> {
        let taken = |p: &Path| {
            fs::symlink_metadata(p).is_ok()
                && fs::read_dir(p).map_or(true, |mut d| d.next().is_some())
        };
        let mut chosen = path.to_path_buf();
        let mut number = 2_u32;
        while taken(&chosen) {
            if if_present == IfPresent::Refuse {
                let cause = "it holds something already, and results are never overwritten";
                return Err(StoreError::new("write to", path, cause));
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            chosen = path.with_file_name(format!("{name}-{number}"));
            number += 1;
        }
        let is_new = |folder: &&Path| fs::symlink_metadata(folder).is_err();
        let ways = chosen.ancestors().filter(|p| !p.as_os_str().is_empty());
        let made = ways.take_while(is_new).map(Path::to_path_buf).collect();
        fs::create_dir_all(&chosen).map_err(|e| StoreError::new("make", &chosen, e))?;
        Ok(Self {
            path: chosen,
            files: Files::Keep,
            made,
        })
    }

    /// Takes the folder away again, and those on the way to it, as far as they were made for it and
    /// nothing is in them.
    pub fn abandon(self) {
        for folder in self.made {
            // It stays if something is in it, and then those around it stay, too.
            let _ = fs::remove_dir(folder);
        }
    }

    /// The folder at `path`, which was made before, to go on with: what is written takes the
    /// place of what was there.
    #[must_use]
    pub fn reopen(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            files: Files::Replace,
            made: Vec::new(),
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `bytes` to the file `name`, which may name a folder on the way.
    ///
    /// # Errors
    /// If the file is there already, unless the folder was reopened, or cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let mut file = self.make(name)?;
        file.write_all(bytes)
            .map_err(|error| self.unwritten(name, &error))?;
        Ok(self.path.join(name))
    }

    /// Makes the file `name`, which may name a folder on the way, to be written bit by bit.
    ///
    /// # Errors
    /// If the file is there already, unless the folder was reopened, or cannot be made.
    pub fn make(&self, name: &str) -> Result<File, StoreError> {
        let path = self.path.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| StoreError::system("make", parent, &e))?;
        }
        let file = match self.files {
            Files::Keep => File::create_new(&path),
            Files::Replace => File::create(&path),
        };
        file.map_err(|error| self.unwritten(name, &error))
    }

    /// What to say if the file `name` did not take what was written.
    #[must_use]
    pub fn unwritten(&self, name: &str, error: &io::Error) -> StoreError {
        StoreError::system("write", &self.path.join(name), error)
    }
}

/// Every run, a line each.
#[must_use]
pub fn runs_csv(results: &Results) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<&str> = keys(results);
    header.extend(["stack", "seed"]);
    header.extend(Measure::ALL.map(Measure::key));
    header.push("trace_hash");
    put(&mut out, header.iter().copied());
    for run in &results.runs {
        let mut row: Vec<String> = point_values(results, run.point);
        row.push(results.stacks[run.stack].clone());
        row.push(run.seed.to_string());
        row.extend(Measure::ALL.map(|m| run.values.get(m).map_or(String::new(), number)));
        let hash = results.hash_of(run);
        row.push(hash.map_or(String::new(), |hash| format!("{hash:016x}")));
        put(&mut out, row.iter().map(String::as_str));
    }
    out.into_inner().unwrap_or_default()
}

/// A line per point, stack and measure: mean, spread, and the ratio to the first stack.
#[must_use]
pub fn summary_csv(results: &Results) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<&str> = keys(results);
    header.extend([
        "stack",
        "measure",
        "runs",
        "mean",
        "ci95_half_width",
        "standard_deviation",
        "min",
        "max",
        "ratio_to_first",
        "ratio_ci95_low",
        "ratio_ci95_high",
    ]);
    put(&mut out, header.iter().copied());
    for point in 0..results.points.len() {
        for measure in Measure::ALL.into_iter().filter(|m| results.has(*m)) {
            for cell in Comparison::of(results, point, measure).cells {
                let Some(summary) = cell.summary else {
                    continue;
                };
                let ratio = cell.ratio;
                let ends = ratio.and_then(|r| r.interval_95);
                let mut row = point_values(results, point);
                let opt = |v: Option<f64>| v.map_or(String::new(), number);
                row.extend([
                    results.stacks[cell.stack].clone(),
                    measure.key().to_owned(),
                    summary.n.to_string(),
                    number(summary.mean),
                    opt(summary.half_width_95),
                    opt(summary.standard_deviation),
                    number(summary.min),
                    number(summary.max),
                    opt(ratio.map(|r| r.mean)),
                    opt(ends.map(|(low, _)| low)),
                    opt(ends.map(|(_, high)| high)),
                ]);
                put(&mut out, row.iter().map(String::as_str));
            }
        }
    }
    out.into_inner().unwrap_or_default()
}

/// Every effective parameter, a line each.
#[must_use]
pub fn parameters_csv(results: &Results) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    put(&mut out, ["owner", "parameter", "value", "source"]);
    for p in &results.parameters {
        put(&mut out, [&*p.owner, &*p.name, &*p.value, &*p.source]);
    }
    out.into_inner().unwrap_or_default()
}

/// The whole of the results as JSON.
#[must_use]
pub fn json(results: &Results) -> serde_json::Value {
    let runs = results.runs.iter().map(|run| {
        let measures: serde_json::Map<String, serde_json::Value> = Measure::ALL
            .into_iter()
            .filter_map(|m| Some((m.key().to_owned(), run.values.get(m)?.into())))
            .collect();
        let point: serde_json::Map<String, serde_json::Value> = results.points[run.point]
            .values
            .iter()
            .map(|(key, value)| (key.clone(), value.to_string().into()))
            .collect();
        serde_json::json!({
            "point": point,
            "stack": results.stacks[run.stack],
            "seed": run.seed,
            "measures": measures,
            "flow_goodputs_mbit_s": run.flow_goodputs,
            "trace_hash": results.hash_of(run).map(|hash| format!("{hash:016x}")),
        })
    });
    serde_json::json!({
        "title": results.experiment.title,
        "stacks": results.stacks,
        "planned_runs": results.planned,
        "warnings": results.warnings,
        "experiment": results.experiment,
        "parameters": results.parameters.iter().map(|p| serde_json::json!({
            "owner": p.owner, "name": p.name, "value": p.value, "source": p.source,
        })).collect::<Vec<_>>(),
        "runs": runs.collect::<Vec<_>>(),
    })
}

fn put<'a>(out: &mut csv::Writer<Vec<u8>>, row: impl IntoIterator<Item = &'a str>) {
    out.write_record(row)
        .expect("rows have equal length and memory does not fail");
}

/// The keys that vary from point to point.
fn keys(results: &Results) -> Vec<&str> {
    let first = results.points.first();
    let values = first.map_or(&[][..], |point| &point.values);
    values.iter().map(|(key, _)| key.as_str()).collect()
}

fn point_values(results: &Results, point: usize) -> Vec<String> {
    let values = results.points[point].values.iter();
    values.map(|(_, value)| value.to_string()).collect()
}

/// The shortest decimal that reads back to the same number.
fn number(value: f64) -> String {
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_something_is_never_reused() {
        let base = std::env::temp_dir().join(format!("dupack-store-{}", std::process::id()));
        let path = base.join("out");
        let first = OutputFolder::create(&path, IfPresent::Number).unwrap();
        first.write("figures/a.svg", b"x").unwrap();
        assert!(first.write("figures/a.svg", b"y").is_err());
        let again = OutputFolder::reopen(first.path());
        let replaced = again.write("figures/a.svg", b"z").unwrap();
        assert_eq!(fs::read(replaced).unwrap(), b"z");
        let second = OutputFolder::create(&path, IfPresent::Number).unwrap();
        assert!(second.path().ends_with("out-2"));
        assert!(OutputFolder::create(&path, IfPresent::Refuse).is_err());
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn what_is_abandoned_leaves_what_was_there() {
        let base = std::env::temp_dir().join(format!("dupack-abandoned-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let new = |name: &str| OutputFolder::create(&base.join(name), IfPresent::Number).unwrap();
        new("a/b/c").abandon();
        assert!(base.is_dir() && !base.join("a").exists());
        let kept = new("a/b");
        new("a/b/c").abandon();
        assert!(kept.path().is_dir() && !base.join("a/b/c").exists());
        kept.write("file", b"x").unwrap();
        kept.abandon();
        assert!(base.join("a/b/file").is_file());
        // One that was there and empty is not ours to take away.
        fs::create_dir(base.join("theirs")).unwrap();
        new("theirs").abandon();
        assert!(base.join("theirs").is_dir());
        fs::remove_dir_all(&base).unwrap();
    }
}
