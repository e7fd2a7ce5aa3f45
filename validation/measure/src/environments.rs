//! `cargo measure environments`: measures the steps per second of environments and of ns-3 on the same path, and writes
//! the last section of docs/environments.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use dupack_build::{release_example, root};

use crate::ns3;
use crate::peers::machine::Machine;
use crate::peers::sample::value_of;
use crate::peers::spread::{Spread, short};
use crate::yardstick::Yardstick;

/// Arguments of the command.
#[derive(Args)]
pub struct EnvironmentsArgs {
    /// Number of rounds. Each round measures everything once. Five rounds take about five minutes.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Leave out ns-3 (which needs: apt-get install g++ pkg-config libns3-dev libgsl-dev).
    #[arg(long)]
    without_ns3: bool,
    /// Output file, instead of docs/environments.md.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const PAGE: &str = "docs/environments.md";

/// Heading of the section, which is the last one.
const HEADING: &str = "## Speed\n";

/// Number of environments in a vector, and the target for steps per second on two processors.
const SIZES: [(usize, Option<f64>); 4] = [
    (1, None),
    (64, Some(500_000.0)),
    (256, None),
    (1024, Some(250_000.0)),
];

/// Behaviour of the agents: its name in `crates/environment/examples/steps.rs`, and its description.
const AGENTS: [(&str, &str); 4] = [
    (
        "window",
        "keeps a window of 60 segments: the link is full, nothing is lost",
    ),
    ("pace", "keeps a pace that fills the link"),
    (
        "orca",
        "has Orca's preset, with factors of √2 and √½ on CUBIC's window, alternating",
    ),
    (
        "aurora",
        "has Aurora's preset, with factors of 1.0125 and its inverse on the pace, alternating",
    ),
];

/// Minimum number of steps in a measurement, summed over all environments.
const STEPS: usize = 500_000;

/// Number of steps of an episode, including the step that begins the next episode.
const EPISODE: usize = 1001;

/// Simulated seconds of ns-3 in a round.
const NS3_SECONDS: u32 = 60;

/// Measurements of one row.
struct Row {
    name: String,
    threads: String,
    aim: Option<f64>,
    /// Steps per second in each round.
    rates: Vec<f64>,
    /// Number of data packets per step.
    packets: f64,
    /// Memory of one environment, in bytes.
    bytes: f64,
    command: String,
}

/// A row, and the program that measures it.
struct Work {
    row: Row,
    program: PathBuf,
    words: Vec<String>,
    /// Number of simultaneous processes.
    processes: usize,
}

pub fn run(args: &EnvironmentsArgs) -> Result<(), String> {
    let machine = Machine::here();
    if let Some(warning) = machine.warning() {
        eprintln!("warning: {warning}");
    }
    let steps = release_example("dupack-environment", "steps")?;
    let ns3 = match args.without_ns3 {
        true => None,
        false => {
            Some(ns3::build(root(), "dumbbell").map_err(|e| format!("{e}, or add --without-ns3"))?)
        }
    };
    let mut all = works(&steps, ns3.as_deref());
    let mut yardstick = Yardstick::new()?;
    for round in 1..=args.rounds {
        yardstick.hold()?;
        for work in &mut all {
            eprint!(
                "round {round} of {}: {}, {} …",
                args.rounds, work.row.name, work.row.threads
            );
            let rate = work.measure()?;
            eprintln!(" {} steps/s", short(rate));
        }
    }
    let rows: Vec<Row> = all.into_iter().map(|work| work.row).collect();
    yardstick.hold()?;
    let text = section(&rows, &machine, &yardstick.told(), args);
    let page = root().join(PAGE);
    let before = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    let above = before
        .find(HEADING)
        .map_or(before.as_str(), |at| &before[..at]);
    let out = args
        .out
        .as_ref()
        .map_or(page.clone(), |out| root().join(out));
    fs::write(&out, format!("{}\n\n{text}", above.trim_end()))
        .map_err(|e| format!("cannot write {}: {e}", out.display()))?;
    println!("{text}");
    Ok(())
}

/// Returns all measurements of a round.
fn works(steps: &Path, ns3: Option<&Path>) -> Vec<Work> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads = vec![1, processors];
    threads.dedup();
    let mut all = Vec::new();
    for (count, aim) in SIZES {
        for threads in threads.iter().copied().filter(|threads| *threads <= count) {
            // For the other numbers of environments, one kind of agent is enough.
            let agents = if count == 64 || count == 1024 {
                &AGENTS[..]
            } else {
                &AGENTS[..1]
            };
            for (agent, _) in agents {
                let episodes = STEPS.div_ceil(EPISODE * count).to_string();
                let words = [
                    count.to_string(),
                    threads.to_string(),
                    (*agent).to_owned(),
                    episodes,
                ];
                all.push(Work {
                    row: Row {
                        name: format!("{count} environments, `{agent}`"),
                        threads: format!("{threads} thread{}", if threads == 1 { "" } else { "s" }),
                        aim: aim.filter(|_| threads == 2),
                        rates: Vec::new(),
                        packets: 0.0,
                        bytes: 0.0,
                        command: format!("steps {}", words.join(" ")),
                    },
                    program: steps.to_owned(),
                    words: words.to_vec(),
                    processes: 1,
                });
            }
        }
    }
    if let Some(ns3) = ns3 {
        all.extend(
            threads
                .into_iter()
                .map(|processes| ns3_work(ns3, processes)),
        );
    }
    all
}

fn ns3_work(program: &Path, processes: usize) -> Work {
    let words = format!(
        "--flows=1 --rate=10e6 --delay=0.02 --buffer=50 --access-rate=0 --size=1460 --window=60 --spread=0 \
         --duration={NS3_SECONDS} --step=0.01"
    );
    Work {
        row: Row {
            name: "ns-3, a window of 60 segments, stopped every 10 ms".to_owned(),
            threads: format!(
                "{processes} process{}",
                if processes == 1 { "" } else { "es" }
            ),
            aim: None,
            rates: Vec::new(),
            packets: 0.0,
            bytes: 0.0,
            command: format!("target/ns3-dumbbell {words}"),
        },
        program: program.to_owned(),
        words: words.split_whitespace().map(str::to_owned).collect(),
        processes,
    }
}

impl Work {
    /// Measures steps per second, summed over all processes.
    fn measure(&mut self) -> Result<f64, String> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let cannot = |e| format!("cannot start {}: {e}", self.program.display());
        let started: Vec<_> = (0..self.processes).map(|_| command.spawn()).collect();
        let mut rate = 0.0;
        for process in started {
            let output = process
                .map_err(cannot)?
                .wait_with_output()
                .map_err(cannot)?;
            let said = String::from_utf8_lossy(&output.stdout);
            let value = |key: &str| value_of::<f64>(&said, key);
            let seconds = value("seconds").or(value("run_s"));
            let (Some(steps), Some(seconds), Some(packets)) =
                (value("steps"), seconds, value("packets"))
            else {
                let why = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{}: {why}{said}", self.row.command));
            };
            rate += steps / seconds;
            self.row.packets = packets / steps;
            let peak = value("rss_kb").map(|kb| kb * 1024.0);
            self.row.bytes = value("bytes_each").or(peak).unwrap_or(0.0);
        }
        self.row.rates.push(rate);
        Ok(rate)
    }
}

fn section(rows: &[Row], machine: &Machine, speed: &str, args: &EnvironmentsArgs) -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let lines = machine.lines();
    let mut text = format!(
        "{HEADING}\n`cargo measure {}` wrote this section {}; {}; {}.\n\n",
        words.join(" "),
        lines[0],
        lines[1],
        lines[2]
    );
    text += "An environment is a path of 10 Mbit/s with a round trip of 40 ms, a buffer of 50 packets and one flow. A step takes \
         10 ms, or 8.3 packets of 1500 bytes on a full link. An episode takes 10 s, and its reset counts as a step, as in a vector \
         with autoreset. The agents:\n\n";
    for (agent, words) in AGENTS {
        text += &format!("- `{agent}` {words}\n");
    }
    text += &format!(
        "\nSteps per second over all environments: minimum / median / maximum of {} rounds. Memory is what one environment adds to the \
         process (for ns-3, the whole process).\n\n\
         | setup | on | steps/s | packets/step | kB each | target | reached |\n| --- | --- | --: | --: | --: | --: | --- |\n",
        args.rounds
    );
    for row in rows {
        text += &line(row);
    }
    text += &beside_ns3(rows);
    text += &format!("\n{speed}\n");
    text += "\nCommand for our rows: `target/release/examples/steps COUNT THREADS AGENT EPISODES` (`crates/environment/examples/steps.rs`).";
    if let Some(row) = rows.iter().find(|row| row.name.starts_with("ns-3")) {
        text += &format!(
            " Command for the ns-3 rows, without any agent, observation or Python: `{}`; each process has one path, as in ns3-gym.",
            row.command
        );
    }
    text + "\n"
}

fn line(row: &Row) -> String {
    let thousands = row.rates.iter().map(|rate| rate / 1000.0);
    let Some(spread) = Spread::of(thousands) else {
        return String::new();
    };
    let (aim, reached) = match row.aim {
        None => (String::new(), ""),
        Some(aim) if spread.median * 1000.0 >= aim => {
            (format!("≥ {} k", short(aim / 1000.0)), "yes")
        }
        Some(aim) if spread.most * 1000.0 >= aim => (
            format!("≥ {} k", short(aim / 1000.0)),
            "only the best round",
        ),
        Some(aim) => (format!("≥ {} k", short(aim / 1000.0)), "no"),
    };
    format!(
        "| {} | {} | {} k | {:.1} | {} | {aim} | {reached} |\n",
        row.name,
        row.threads,
        spread.text(),
        row.packets,
        short(row.bytes / 1000.0),
    )
}

/// Returns a sentence with the ratios of our speed to the speed of ns-3 with a process on every processor, for
/// environments with the same window on the same path.
fn beside_ns3(rows: &[Row]) -> String {
    let median = |row: &Row| Spread::of(row.rates.iter().copied()).map(|spread| spread.median);
    let of = |begins: &str| {
        let found = rows.iter().rfind(|row| {
            row.name.starts_with(begins) && (begins == "ns-3" || row.name.contains("`window`"))
        });
        found.and_then(median)
    };
    match (of("1024 "), of("64 "), of("ns-3")) {
        (Some(many), Some(some), Some(ns3)) => format!(
            "\nWith the same window on the same path, 1024 environments perform {} times as many steps per second as one ns-3 \
             process per processor, and 64 environments perform {} times as many.\n",
            short(many / ns3),
            short(some / ns3)
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, aim: Option<f64>, rates: &[f64]) -> Row {
        Row {
            name: name.to_owned(),
            threads: "2 threads".to_owned(),
            aim,
            rates: rates.to_vec(),
            packets: 8.33,
            bytes: 20_000.0,
            command: String::new(),
        }
    }

    #[test]
    fn an_aim_is_reached_by_the_median() {
        for (rates, said) in [
            (&[600e3, 700e3, 400e3][..], "| ≥ 500 k | yes |"),
            (&[300e3, 700e3, 400e3], "| ≥ 500 k | only the best round |"),
            (&[300e3, 400e3], "| ≥ 500 k | no |"),
        ] {
            let line = line(&row("64 environments, `window`", Some(500e3), rates));
            assert!(line.contains(said), "{line}");
        }
    }

    #[test]
    fn ns3_is_compared_with_the_same_load() {
        let rows = [
            row("64 environments, `window`", None, &[800e3]),
            row("64 environments, `orca`", None, &[1.0]),
            row("1024 environments, `window`", None, &[400e3]),
            row("ns-3, a window", None, &[2e3]),
        ];
        let text = beside_ns3(&rows);
        assert!(
            text.contains("perform 200 times")
                && text.contains("64 environments perform 400 times"),
            "{text}"
        );
        assert_eq!(beside_ns3(&rows[..3]), "");
    }
}
