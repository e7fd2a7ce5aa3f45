//! Arguments of the command, and its tasks.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::kernel::{TRACING, Tracer};
use super::packets::PORT;
use super::paths::{SENDERS, places};
use super::run::{Done, End, Task, again, run};
use super::truth_page::{page, wrong};
use super::what_if;

/// Arguments of the command.
#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    pub jobs: usize,
    pub only: String,
    pub out: PathBuf,
    pub page: Option<PathBuf>,
    pub what_if: bool,
    /// `true` to diagnose the captures of an earlier run again.
    pub again: bool,
    /// Number of runs of each predicted sender.
    pub repeat: u64,
    /// Minutes after which no further prediction is begun.
    pub minutes: Option<u64>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            seed: 1,
            jobs: 3,
            only: String::new(),
            out: PathBuf::from("dupack-out/diagnose-truth"),
            page: None,
            what_if: false,
            again: false,
            repeat: 5,
            minutes: None,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--what-if" => options.what_if = true,
                "--again" => options.again = true,
                _ => {}
            }
            if matches!(word.as_str(), "--what-if" | "--again") {
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("missing value for {word}"))?;
            let number = || {
                let number = value.parse::<u64>();
                number.map_err(|error| format!("{word} {value}: {error}"))
            };
            match word.as_str() {
                "--seed" => options.seed = number()?,
                "--jobs" => options.jobs = usize::try_from(number()?).unwrap_or(1).max(1),
                "--repeat" => options.repeat = number()?.max(1),
                "--minutes" => options.minutes = Some(number()?),
                "--only" => options.only = value,
                "--out" => options.out = PathBuf::from(value),
                "--page" => options.page = Some(PathBuf::from(value)),
                _ => return Err(format!("unknown argument {word}")),
            }
        }
        Ok(options)
    }
}

/// Environment variable that is set if the command runs in its own mount namespace.
const MOUNTED: &str = "DUPACK_TRACING_MOUNTED";

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
    fs::create_dir_all(&options.out)
        .map_err(|error| format!("{}: {error}", options.out.display()))?;
    if options.what_if {
        return what_if::run(&options);
    }
    let tasks = tasks(&options);
    let (done, failed) = if options.again {
        all(&tasks, &options, &|task| again(task, &options.out))
    } else {
        mount()?;
        let tracer = Tracer::start(PORT)?;
        all(&tasks, &options, &|task| run(task, &options.out, &tracer))
    };
    let text = page(&done, &failed, &format!("seed {}", options.seed));
    // The program `ordinary` writes the last section of the page, which must be kept.
    let before = options.page.as_ref().map(fs::read_to_string);
    let before = before.and_then(Result::ok).unwrap_or_default();
    let text = match before.find("<!-- ordinary traffic -->") {
        Some(at) => format!("{}\n\n{}", text.trim_end(), &before[at..]),
        None => text,
    };
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write(&options.out.join("wrong.csv"), &wrong(&done))?;
    write(
        options
            .page
            .as_ref()
            .unwrap_or(&options.out.join("diagnose-truth.md")),
        &text,
    )?;
    println!("{text}");
    let long = done
        .iter()
        .filter(|one| one.long.is_some_and(|long| long > 0));
    let (long, dumped) = (
        long.count(),
        done.iter().filter(|one| one.long.is_some()).count(),
    );
    if dumped > 0 && long == 0 {
        return Err(
            "no capture at a host has a packet longer than a segment: is offload off?".to_owned(),
        );
    }
    Ok(())
}

/// Mounts the kernel's tracing. If necessary, starts the command again in a separate mount namespace.
fn mount() -> Result<(), String> {
    if Path::new(TRACING).join("instances").exists() {
        return Ok(());
    }
    if std::env::var_os(MOUNTED).is_some() {
        return Err(format!(
            "cannot find the kernel's tracing in {TRACING}: run as root, with a kernel that has tracefs"
        ));
    }
    let itself = std::env::current_exe().map_err(|error| error.to_string())?;
    let script = format!("mount -t tracefs tracefs {TRACING} && exec \"$0\" \"$@\"");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--", "sh", "-c", &script])
        .arg(itself);
    command.args(std::env::args_os().skip(1)).env(MOUNTED, "1");
    Err(format!("unshare: {}", command.exec()))
}

/// Returns all requested combinations of senders and paths.
fn tasks(options: &Options) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut number = 0;
    for place in places(options.seed) {
        for sender in SENDERS {
            number += 1;
            if format!("{sender} over {}", place.name).contains(&options.only) {
                tasks.push(Task {
                    number,
                    place: place.clone(),
                    sender: sender.to_owned(),
                    // The seeds are chosen so that no two transfers have the same losses.
                    seed: options.seed * 1000 + number,
                });
            }
        }
    }
    tasks
}

fn all(
    tasks: &[Task],
    options: &Options,
    job: &(dyn Fn(&Task) -> Result<Done, String> + Sync),
) -> (Vec<Done>, Vec<String>) {
    let results = at_once(options.jobs, tasks, &|task| {
        let result = job(task);
        match &result {
            Ok(done) => eprintln!("{}", in_a_line(done)),
            Err(error) => eprintln!("failed: {error}"),
        }
        result
    });
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(one) => done.push(one),
            Err(error) => failed.push(error),
        }
    }
    (done, failed)
}

fn in_a_line(done: &Done) -> String {
    let mut text = format!(
        "{} over {}, seed {}: {:.1} s",
        done.task.sender, done.task.place.name, done.task.seed, done.seconds
    );
    for (end, score) in &done.scores {
        let (right, all) = score.classified();
        text += &format!(", {right}/{all} {}", end.name());
        if score.unknown > 0 && *end != End::Receiver {
            text += &format!(" ({} unknown)", score.unknown);
        }
    }
    if let Some((kernel, traced)) = done.counted.filter(|(kernel, traced)| kernel != traced) {
        text += &format!(", the kernel counted {kernel} and traced {traced}");
    }
    if !done.unsound.is_empty() {
        text += ", late";
    }
    text
}

/// Runs `jobs` tasks at a time. The results are in the order of the tasks.
pub fn at_once<T: Sync, R: Send>(
    jobs: usize,
    tasks: &[T],
    job: &(dyn Fn(&T) -> R + Sync),
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.min(tasks.len()) {
            scope.spawn(|| {
                while let Some((place, task)) = {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    tasks.get(place).map(|task| (place, task))
                } {
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
