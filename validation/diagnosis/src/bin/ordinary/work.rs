//! The command and its arguments.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::app::{self, Record};
use super::derive::{self, Derived};
use super::diagnoses_page;
use super::plan::{Kind, Plan};
use super::score::{At, Capture, Grade, Score, score};
use super::truth::streams;

struct Options {
    seeds: Range<u64>,
    kinds: Vec<Kind>,
    jobs: usize,
    out: PathBuf,
    again: bool,
    page: Option<PathBuf>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            seeds: 1..23,
            kinds: Vec::new(),
            jobs: 4,
            out: PathBuf::from("dupack-out/ordinary"),
            again: false,
            page: None,
        };
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("`{word}` needs a value"))?;
            match word.as_str() {
                "--seeds" => {
                    let ends = value.split_once("..");
                    let ends = ends.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    let (from, to) = ends.ok_or_else(|| {
                        format!(
                            "invalid value `{value}` for `--seeds`: expected a range such as 1..23"
                        )
                    })?;
                    options.seeds = from..to;
                }
                "--kinds" => {
                    let kinds: Result<_, _> = value.split(',').map(str::parse).collect();
                    options.kinds = kinds?;
                }
                "--jobs" => {
                    options.jobs = value.parse().map_err(|_| {
                        format!("invalid value `{value}` for `--jobs`: expected a number such as 4")
                    })?;
                }
                "--out" => options.out = PathBuf::from(value),
                "--again" => {
                    options.out = PathBuf::from(value);
                    options.again = true;
                }
                "--page" => options.page = Some(PathBuf::from(value)),
                _ => {
                    return Err(format!(
                        "unknown argument `{word}`: see the program's documentation"
                    ));
                }
            }
        }
        Ok(options)
    }

    /// Returns the plans of all seeds. The kinds of application take turns.
    fn plans(&self) -> Vec<Plan> {
        let kinds: &[Kind] = if self.kinds.is_empty() {
            &Kind::ALL
        } else {
            &self.kinds
        };
        let kind = |seed: u64| kinds[(seed % kinds.len() as u64) as usize];
        self.seeds
            .clone()
            .map(|seed| Plan::draw(seed, kind(seed)))
            .collect()
    }
}

pub fn main() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<(), String> {
    let options = Options::read(std::env::args().skip(1))?;
    let out = &options.out;
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(out.join("derived")).map_err(|error| failed(out, error))?;
    let mut names: Vec<String> = Vec::new();
    let mut problems = Vec::new();
    if options.again {
        for entry in fs::read_dir(out).map_err(|error| failed(out, error))? {
            let entry = entry.map_err(|error| failed(out, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".truth.json").map(str::to_owned));
        }
        names.sort();
    } else {
        let plans = options.plans();
        let results = at_once(options.jobs, &plans, &|plan| make(plan, out));
        for (plan, result) in plans.iter().zip(results) {
            match result {
                Ok(()) => names.push(plan.name()),
                Err(error) => problems.push(format!("{}: {error}", plan.name())),
            }
        }
    }
    let mut scores = Vec::new();
    for result in at_once(2, &names, &|name| judge(name, out)) {
        match result {
            Ok(some) => scores.extend(some),
            Err(error) => problems.push(error),
        }
    }
    let seeds = scores.iter().map(|score: &Score| score.seed);
    let seeds = seeds.clone().min().zip(seeds.max());
    let seeds = seeds.map_or_else(
        || "no seeds".to_owned(),
        |(from, to)| format!("seeds {from} to {to}"),
    );
    let section = diagnoses_page::section(&scores, &problems, &seeds);
    let list = diagnoses_page::wrong(&scores);
    for (name, text) in [("wrong.txt", &list), ("section.md", &section)] {
        let path = out.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    if let Some(file) = &options.page {
        diagnoses_page::replace(file, &section)?;
    }
    println!("{section}\n{list}");
    for problem in &problems {
        eprintln!("failed: {problem}");
    }
    Ok(())
}

fn capture(out: &Path, name: &str, at: At) -> PathBuf {
    out.join(format!("{name}.{}.pcapng", at.name()))
}

/// Runs a plan, and writes its captures and its truth to files.
fn make(plan: &Plan, out: &Path) -> Result<(), String> {
    let name = plan.name();
    let [near, far] = At::BOTH.map(|at| capture(out, &name, at));
    for file in [&near, &far] {
        // The file may exist from an earlier run.
        let _ = fs::remove_file(file);
    }
    let record = app::run(plan, &near, &far)?;
    let text = serde_json::to_string(&record).map_err(|error| error.to_string())?;
    let path = out.join(format!("{name}.truth.json"));
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    eprintln!("{} {}", plan.line(), record.note);
    Ok(())
}

/// Diagnoses the captures of a run and the captures derived from them. Derived captures with wrong diagnoses are kept.
fn judge(name: &str, out: &Path) -> Result<Vec<Score>, String> {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let text = read(&out.join(format!("{name}.truth.json")))?;
    let record: Record =
        serde_json::from_slice(&text).map_err(|error| format!("{name}: {error}"))?;
    let streams = streams(&record);
    let mut scores = Vec::new();
    for at in At::BOTH {
        let file = capture(out, name, at);
        let bytes = read(&file)?;
        let packets = derive::read(&bytes)?;
        for derived in Derived::ALL {
            let made;
            let (bytes, file) = if derived == Derived::Whole {
                (&bytes, file.clone())
            } else {
                made = derived.make(&packets, record.seed);
                let file = format!("derived/{name}.{}.{}.pcap", at.name(), derived.name());
                (&made, out.join(file))
            };
            let capture = Capture {
                file: file.clone(),
                bytes,
                at,
                derived,
            };
            let some = score(&record, &streams, &capture)?;
            let is_wrong =
                |s: &Score| !s.says_incomplete() && s.fine > Grade::Abstained || s.invented();
            if derived != Derived::Whole && some.iter().any(is_wrong) {
                fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
            }
            scores.extend(some);
        }
    }
    Ok(scores)
}

/// Runs `jobs` tasks at a time. The results are in the order of the tasks.
fn at_once<T: Sync, R: Send>(jobs: usize, tasks: &[T], job: &(dyn Fn(&T) -> R + Sync)) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, tasks.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(place) else { break };
                    let result = job(task);
                    let mut kept = results.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push((place, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}
