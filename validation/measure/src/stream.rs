//! `cargo measure stream`: measures the cost of a sweep of a million runs, calculates its cost on many machines, and
//! writes a section of docs/performance.md.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use dupack_build::{output, release, root, succeed, target};

use crate::peers::machine::Machine;
use crate::section;
use crate::yardstick::Yardstick;

#[derive(Args)]
pub struct StreamArgs {
    /// A build of dupack to use instead of a new release build
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Another build of dupack for comparison, which carries out a tenth of the runs in memory
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,
    /// Description of the build in --beside for the page, such as its commit
    #[arg(
        long,
        value_name = "WORDS",
        requires = "beside",
        default_value = "another build"
    )]
    beside_what: String,
    /// Carry out only 1/N of the runs, to try the command; nothing is written
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    part: u32,
}

const PAGE: &str = "docs/performance.md";

/// Heading of the section.
pub const HEADING: &str = "## A million runs\n";

/// Program that measures memory. It is in Debian's package `time`.
const TIME: &str = "/usr/bin/time";

/// A sweep, and how its results are kept.
struct Work {
    what: &'static str,
    /// Number of points along each of three swept keys.
    points: [u32; 3],
    stacks: usize,
    seeds: u32,
    keeps: Keeps,
    aim: Option<Aim>,
}

/// Place where the results of runs are kept until the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// In memory.
    Memory,
    /// In files (`--stream`).
    Files,
}

/// Targets for a sweep.
#[derive(Clone, Copy)]
struct Aim {
    seconds_max: f64,
    megabytes_max: f64,
}

const STACKS: [&str; 10] = [
    "newreno/reno",
    "sack/reno",
    "rack/cubic",
    "le/westwood",
    "rack/bbr",
    "fack/reno",
    "momentary/reno",
    "le/reno",
    "sack/westwood",
    "rack/reno",
];

const WORKS: [Work; 5] = [
    Work {
        what: "a million runs, streamed",
        points: [10, 10, 10],
        stacks: 5,
        seeds: 200,
        keeps: Keeps::Files,
        aim: Some(Aim {
            seconds_max: 200.0,
            megabytes_max: 300.0,
        }),
    },
    Work {
        what: "one tenth of them, streamed",
        points: [10, 10, 1],
        stacks: 5,
        seeds: 200,
        keeps: Keeps::Files,
        aim: None,
    },
    Work {
        what: "the same in memory",
        points: [10, 10, 1],
        stacks: 5,
        seeds: 200,
        keeps: Keeps::Memory,
        aim: None,
    },
    Work {
        what: "one point with all seeds, streamed",
        points: [1, 1, 1],
        stacks: 5,
        seeds: 20_000,
        keeps: Keeps::Files,
        aim: None,
    },
    Work {
        what: "many points and stacks, streamed",
        points: [100, 100, 1],
        stacks: 10,
        seeds: 1,
        keeps: Keeps::Files,
        aim: None,
    },
];

/// Index of the sweep in memory, which any build of dupack can carry out.
const IN_MEMORY: usize = 2;

impl Work {
    fn points(&self) -> u32 {
        self.points.iter().product()
    }

    fn runs(&self, part: u32) -> u64 {
        u64::from(self.points()) * self.stacks as u64 * u64::from(self.seeds(part))
    }

    fn seeds(&self, part: u32) -> u32 {
        (self.seeds / part).max(1)
    }

    /// Returns the text of the experiment, whose runs simulate one second at 1 Mbit/s.
    fn experiment(&self, part: u32) -> String {
        let values = |count: u32, value: &dyn Fn(u32) -> String| -> String {
            let all: Vec<String> = (0..count).map(|n| format!("{:?}", value(n))).collect();
            all.join(", ")
        };
        let [losses, delays, buffers] = self.points;
        format!(
            "title = \"{}\"\nstacks = {:?}\nseeds = {}\nduration = \"1s\"\n[path]\nrate = \"1Mbit/s\"\n[sweep]\n\
             \"path.loss\" = [{}]\n\"path.delay\" = [{}]\n\"path.buffer\" = [{}]\n",
            self.what,
            &STACKS[..self.stacks],
            self.seeds(part),
            values(losses, &|n| format!("{}%", f64::from(n) / 10.0)),
            values(delays, &|n| format!("{}ms", 2 + n)),
            values(buffers, &|n| format!("{}pkt", 10 + 5 * n)),
        )
    }
}

/// Cost of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Taken {
    runs: u64,
    seconds: f64,
    /// Processor time in seconds, summed over all processors.
    processor_s: f64,
    /// Maximum memory in MB, as reported by the kernel.
    megabytes: f64,
    /// Size of the folder at the end, in MB.
    written_mb: f64,
}

/// Runs the measurement and writes the section.
pub fn run(args: &StreamArgs) -> Result<(), String> {
    let machine = Machine::here();
    if let Some(warning) = machine.warning() {
        eprintln!("warning: {warning}");
    }
    let program = match &args.program {
        Some(program) => program.clone(),
        None => {
            let words = ["build", "--release", "--package", "dupack-cli"];
            succeed(&mut release(&words))?;
            target().join("release/dupack")
        }
    };
    let folder = target().join("stream");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut yardstick = Yardstick::new()?;
    let mut measure = |program: &Path, what: &str, work: &Work| {
        yardstick.hold()?;
        eprint!("{what} …");
        let taken = measure(program, work, args.part, &folder)?;
        eprintln!(" {:.1} s, {:.0} MB", taken.seconds, taken.megabytes);
        Ok::<Taken, String>(taken)
    };
    let other = match &args.beside {
        None => None,
        Some(other) => {
            let what = args.beside_what.as_str();
            Some((what, measure(other, what, &WORKS[IN_MEMORY])?))
        }
    };
    let measured = WORKS.iter().map(|work| measure(&program, work.what, work));
    let measured: Result<Vec<Taken>, String> = measured.collect();
    let measured = measured?;
    yardstick.hold()?;
    let _ = fs::remove_dir_all(&folder);
    let text = told(&measured, other, &yardstick.told(), &machine);
    println!("{text}");
    if args.part > 1 {
        eprintln!("only a part was measured: nothing is written");
        return Ok(());
    }
    let page = root().join(PAGE);
    let before = fs::read_to_string(&page).map_err(|e| format!("{PAGE}: {e}"))?;
    let whole = section::put(&before, HEADING, &text);
    fs::write(&page, whole).map_err(|e| format!("cannot write {PAGE}: {e}"))
}

fn measure(program: &Path, work: &Work, part: u32, folder: &Path) -> Result<Taken, String> {
    let file = folder.join("sweep.toml");
    fs::write(&file, work.experiment(part)).map_err(|e| format!("{}: {e}", file.display()))?;
    let (out, times) = (folder.join("out"), folder.join("time.txt"));
    let mut command = Command::new(TIME);
    command
        .args(["--format", "%e %U %S %M", "--output"])
        .arg(&times);
    command.arg(program).arg("run").arg(&file);
    if work.keeps == Keeps::Files {
        command.arg("--stream");
    }
    output(command.args(["--no-harm", "--out"]).arg(&out))?;
    let told = fs::read_to_string(&times).map_err(|e| format!("{}: {e}", times.display()))?;
    let [seconds, user, system, kilobytes] =
        numbers(&told).ok_or_else(|| format!("{TIME} says `{}`", told.trim()))?;
    let written = size(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    fs::remove_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    Ok(Taken {
        runs: work.runs(part),
        seconds,
        processor_s: user + system,
        megabytes: kilobytes * 1024.0 / 1e6,
        written_mb: written as f64 / 1e6,
    })
}

/// Parses the output of `time`.
fn numbers(told: &str) -> Option<[f64; 4]> {
    let words = told.split_whitespace();
    let numbers: Vec<f64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// Returns the size of all files below `folder`, in bytes.
fn size(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += match about.is_dir() {
            true => size(&entry.path())?,
            false => about.len(),
        };
    }
    Ok(bytes)
}

/// Time that a scheduler needs per task, in seconds. According to Dask's documentation, this time is up to one
/// millisecond.
const SCHEDULER_S: f64 = 0.001;

/// Intended duration of a task, in seconds.
const TASK_S: f64 = 1.0;

const CORES: [f64; 5] = [2.0, 16.0, 100.0, 1000.0, 10_000.0];

/// Returns the text of the section.
fn told(
    measured: &[Taken],
    other: Option<(&str, Taken)>,
    speed: &str,
    machine: &Machine,
) -> String {
    let mut text = format!(
        "{HEADING}
`dupack run FILE --stream --no-harm` with runs of 1 s over 1 Mbit/s. Memory is the maximum resident set reported by the kernel.
`cargo measure stream` generates this section.

| sweep | points × stacks × seeds | runs | seconds | processor seconds | MB of memory | MB written | target | reached |
| --- | --- | --: | --: | --: | --: | --: | --- | --- |
"
    );
    for (work, taken) in WORKS.iter().zip(measured) {
        text += &row(work, taken);
    }
    if let Some((what, taken)) = other {
        text += &beside(what, &taken, measured);
    }
    text += &costs(measured);
    text += &format!("\n{speed}\n");
    if let Some(million) = measured.first() {
        text += &on_many(million);
    }
    text.push('\n');
    for line in machine.lines() {
        let _ = writeln!(text, "- {line}");
    }
    text
}

fn row(work: &Work, taken: &Taken) -> String {
    let (aim, reached) = match &work.aim {
        None => (String::new(), ""),
        Some(aim) => {
            let text = format!("≤ {} s, ≤ {} MB", aim.seconds_max, aim.megabytes_max);
            let is = taken.seconds <= aim.seconds_max && taken.megabytes <= aim.megabytes_max;
            (text, if is { "yes" } else { "no" })
        }
    };
    let seeds = taken.runs / u64::from(work.points()) / work.stacks as u64;
    format!(
        "| {} | {} × {} × {seeds} | {} | {:.1} | {:.1} | {:.0} | {:.0} | {aim} | {reached} |\n",
        work.what,
        work.points(),
        work.stacks,
        taken.runs,
        taken.seconds,
        taken.processor_s,
        taken.megabytes,
        taken.written_mb,
    )
}

/// Returns the row of another build, and a sentence that compares its runs with the million runs.
fn beside(what: &str, taken: &Taken, measured: &[Taken]) -> String {
    let work = Work {
        what: "the same in memory, by ",
        ..WORKS[IN_MEMORY]
    };
    let mut text = row(&work, taken).replacen(work.what, &format!("{}{what}", work.what), 1);
    if let Some(million) = measured.first() {
        let each = |taken: &Taken| taken.seconds / taken.runs as f64;
        let _ = writeln!(
            text,
            "\nA run of the million takes {:.2} of the time of a run with {what}, and the million needs {:.2} of the memory of \
             its {} runs.",
            each(million) / each(taken),
            million.megabytes / taken.megabytes,
            taken.runs,
        );
    }
    text
}

/// Returns a description of the growth of memory with the number of runs per point, and with points × stacks.
fn costs(measured: &[Taken]) -> String {
    let [million, tenth, _, seeds, points] = measured else {
        return String::new();
    };
    let per = |taken: &Taken, count: u64| (taken.megabytes - tenth.megabytes) * 1e6 / count as f64;
    let places = u64::from(WORKS[4].points()) * WORKS[4].stacks as u64;
    format!(
        "\nTen times as many points need {:.2} times the memory. The runs of a point are in memory together, which needs {:.0} bytes \
         for each of the {} runs of one point, compared with one tenth of a million. Each of {places} points × stacks needs {:.0} \
         bytes in addition to its runs.\n",
        million.megabytes / tenth.megabytes,
        per(seeds, seeds.runs).max(0.0),
        seeds.runs,
        per(points, places).max(0.0),
    )
}

/// Returns a description of the calculated time on many processors.
fn on_many(million: &Taken) -> String {
    let each = million.processor_s / million.runs as f64;
    let per_task = (TASK_S / each).max(1.0).round();
    let mut text = format!(
        "\nProjection: a run takes {:.0} µs of processor time, so that {per_task:.0} runs make a task of about {TASK_S} s. If a \
         scheduler needs up to {} ms per task, it can serve {:.0} processors; for more, tasks must be longer. The projection ignores \
         the time for starting workers and moving results, and assumes processors as fast as this one.\n\n\
         | runs | tasks | scheduler, s |",
        each * 1e6,
        SCHEDULER_S * 1e3,
        TASK_S / SCHEDULER_S,
    );
    for cores in CORES {
        let _ = write!(text, " {cores:.0} processors, s |");
    }
    text += "\n| --: | --: | --: |";
    text += &" --: |".repeat(CORES.len());
    text.push('\n');
    for runs in [1e6, 1e9] {
        let tasks = (runs / per_task).ceil();
        let scheduler = tasks * SCHEDULER_S;
        let _ = write!(text, "| {runs:.0} | {tasks:.0} | {scheduler:.1} |");
        for cores in CORES {
            // Tasks are not divided, and no task begins before the scheduler has handled it.
            let work = (tasks / cores).ceil() * each * per_task;
            let _ = write!(text, " {:.1} |", work.max(scheduler));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(runs: u64, seconds: f64, megabytes: f64) -> Taken {
        Taken {
            runs,
            seconds,
            processor_s: 2.0 * seconds,
            megabytes,
            written_mb: 100.0,
        }
    }

    #[test]
    fn the_sweeps_have_the_stated_number_of_runs() {
        let runs = WORKS.map(|work| work.runs(1));
        assert_eq!(runs, [1_000_000, 100_000, 100_000, 100_000, 100_000]);
        let text = WORKS[0].experiment(10);
        assert!(text.contains("seeds = 20\n"), "{text}");
        assert!(
            text.contains("\"0%\", \"0.1%\"") && text.contains("\"10pkt\", \"15pkt\""),
            "{text}"
        );
    }

    #[test]
    fn another_build_is_compared_with_the_million_run_by_run() {
        let million = taken(1_000_000, 200.0, 50.0);
        let text = beside("`abc`", &taken(100_000, 40.0, 500.0), &[million]);
        assert!(
            text.starts_with("| the same in memory, by `abc` | 100 × 5 × 200 | 100000 | 40.0 |"),
            "{text}"
        );
        assert!(text.contains("takes 0.50 of the time"), "{text}");
        assert!(text.contains("needs 0.10 of the memory"), "{text}");
    }

    #[test]
    fn time_and_memory_are_compared_with_the_aim() {
        let line = |seconds, megabytes| row(&WORKS[0], &taken(1_000_000, seconds, megabytes));
        assert!(line(199.0, 299.0).ends_with("| ≤ 200 s, ≤ 300 MB | yes |\n"));
        assert!(line(201.0, 299.0).ends_with("| no |\n"));
        assert!(line(199.0, 301.0).ends_with("| no |\n"));
        assert!(line(1.0, 1.0).contains("| 1000 × 5 × 200 | 1000000 | 1.0 | 2.0 |"));
    }

    #[test]
    fn many_processors_are_limited_by_the_scheduler() {
        // At 200 µs per run, a task has 5000 runs. A million runs are 200 tasks, and a billion runs are 200,000 tasks.
        let text = on_many(&taken(1_000_000, 100.0, 100.0));
        assert!(text.contains("a run takes 200 µs"), "{text}");
        assert!(
            text.contains("5000 runs make a task of about 1 s"),
            "{text}"
        );
        let million = "| 1000000 | 200 | 0.2 | 100.0 | 13.0 | 2.0 | 1.0 | 1.0 |\n";
        assert!(text.contains(million), "{text}");
        let milliard =
            "| 1000000000 | 200000 | 200.0 | 100000.0 | 12500.0 | 2000.0 | 200.0 | 200.0 |\n";
        assert!(text.ends_with(milliard), "{text}");
    }

    #[test]
    fn the_output_of_time_is_parsed() {
        assert_eq!(
            numbers("2.50 4.00 0.50 100000\n"),
            Some([2.5, 4.0, 0.5, 100_000.0])
        );
        assert_eq!(numbers("2.5 1 1"), None);
    }
}
