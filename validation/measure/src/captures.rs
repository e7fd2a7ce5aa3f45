//! `cargo measure diagnose --speed`: measures the time and memory of `dupack diagnose`, tshark and tcptrace for a large
//! capture, and writes a section of docs/performance.md.

use std::fs;
use std::path::Path;
use std::process::Command;

use dupack_build::{output, release, release_example, root, succeed, target};

use crate::peers::machine::Machine;
use crate::section;

const PAGE: &str = "docs/performance.md";

/// Heading of the section.
pub const HEADING: &str = "## Captures of many connections\n";

/// Program that measures memory. It is in Debian's package `time`.
const TIME: &str = "/usr/bin/time";

/// Number of connections in the capture. All of them are open at the same time.
const CONNECTIONS: &str = "1000";

/// Extent of the measurement.
pub struct Extent {
    pub rounds: u32,
    /// Approximate number of packets.
    pub packets: u64,
}

/// A program that describes each connection of a capture, and its arguments.
struct Reader {
    name: &'static str,
    program: &'static str,
    words: &'static [&'static str],
    /// Minimum accepted ratio of the program's time to dupack's time.
    aim: Option<f64>,
}

/// The programs. The first one is dupack.
const READERS: [Reader; 3] = [
    Reader {
        name: "dupack",
        program: "dupack",
        words: &["diagnose", "--no-what-if"],
        aim: None,
    },
    Reader {
        name: "tshark",
        program: "tshark",
        words: &["-q", "-z", "conv,tcp", "-r"],
        aim: Some(20.0),
    },
    Reader {
        name: "tcptrace",
        program: "tcptrace",
        // Without `-n`, tcptrace looks up the names of all hosts, which takes longer than the analysis.
        words: &["-n", "-lr"],
        aim: Some(1.0),
    },
];

/// Maximum accepted memory of dupack, in MB.
const MEGABYTES_MAX: f64 = 200.0;

/// Time and memory of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    seconds: f64,
    /// Processor time in seconds, summed over all processors.
    processor_s: f64,
    megabytes: f64,
}

/// Creates the capture, runs every program on it in turn, and writes the section.
pub fn run(extent: &Extent) -> Result<(), String> {
    let machine = Machine::here();
    if let Some(warning) = machine.warning() {
        eprintln!("warning: {warning}");
    }
    succeed(&mut release(&[
        "build",
        "--release",
        "--package",
        "dupack-cli",
    ]))?;
    let maker = release_example("dupack-wire", "make_capture")?;
    let folder = target().join("captures");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let capture = folder.join("headers.pcap");
    let making = [CONNECTIONS.to_owned(), extent.packets.to_string()];
    let (made, _) = output(Command::new(maker).arg(&capture).args(making))?;
    let measured = measure_all(extent.rounds, &capture, &folder);
    // The capture is removed, because it is large and can be created again in a minute.
    let _ = fs::remove_file(&capture);
    let text = told(made.trim(), &measured?, &machine);
    let page = root().join(PAGE);
    let before = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    fs::write(&page, section::put(&before, HEADING, &text))
        .map_err(|e| format!("cannot write {}: {e}", page.display()))?;
    println!("{text}");
    Ok(())
}

/// Runs every installed program in each round.
fn measure_all(rounds: u32, capture: &Path, folder: &Path) -> Result<Vec<Vec<Run>>, String> {
    let mut all: Vec<Vec<Run>> = READERS.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        for (reader, runs) in READERS.iter().zip(&mut all) {
            eprint!("round {round} of {rounds}: {} …", reader.name);
            match measure(reader, capture, folder)? {
                Some(run) => {
                    eprintln!(" {:.2} s", run.seconds);
                    runs.push(run);
                }
                None => eprintln!(" is not installed"),
            }
        }
    }
    Ok(all)
}

/// Runs a program once. Returns `None` if the program is not installed.
fn measure(reader: &Reader, capture: &Path, folder: &Path) -> Result<Option<Run>, String> {
    let own = target().join("release").join(reader.program);
    let program = match reader.aim {
        None => own.as_path(),
        Some(_) => Path::new(reader.program),
    };
    if output(Command::new("which").arg(program)).is_err() {
        return Ok(None);
    }
    let told = folder.join("time.txt");
    let mut command = Command::new(TIME);
    command
        .args(["--format", "%e %U %S %M", "--output"])
        .arg(&told);
    command.arg(program).args(reader.words).arg(capture);
    output(&mut command)?;
    let told = fs::read_to_string(&told).map_err(|e| format!("{}: {e}", told.display()))?;
    let run = parse(&told).ok_or_else(|| format!("{TIME} says `{}`", told.trim()))?;
    Ok(Some(run))
}

/// Parses the output of `time`: elapsed seconds, processor seconds of the program and of the system, and memory in kB.
fn parse(told: &str) -> Option<Run> {
    let numbers: Vec<f64> = told
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect::<Option<_>>()?;
    let [seconds, user, system, kilobytes] = *numbers else {
        return None;
    };
    Some(Run {
        seconds,
        processor_s: user + system,
        megabytes: kilobytes * 1024.0 / 1e6,
    })
}

/// Returns the text of the section.
fn told(made: &str, measured: &[Vec<Run>], machine: &Machine) -> String {
    let mut text = format!(
        "{HEADING}
`dupack diagnose` without what-if and figures, `tshark -q -z conv,tcp` and `tcptrace -n -lr` read the same file of headers, generated by
`crates/wire/examples/make_capture.rs`: {CONNECTIONS} connections at once, {made}. The programs run in turn. A time is the best of
the rounds, and a ratio is the median of the ratios within a round. `cargo measure diagnose --speed` generates this section.

| program | seconds | processor seconds | MB | time over dupack's | target | reached |
| --- | --- | --- | --- | --- | --- | --- |
"
    );
    let own = measured.first().map_or(&[][..], Vec::as_slice);
    for (reader, runs) in READERS.iter().zip(measured) {
        text += &row(reader, runs, own);
    }
    let rounds = measured.iter().map(Vec::len).max().unwrap_or(0);
    text += &format!("\n- rounds: {rounds}\n");
    for line in machine.lines() {
        text += &format!("- {line}\n");
    }
    text
}

fn row(reader: &Reader, runs: &[Run], own: &[Run]) -> String {
    let least = |of: fn(&Run) -> f64| runs.iter().map(of).min_by(f64::total_cmp);
    let (Some(seconds), Some(processor_s)) = (least(|r| r.seconds), least(|r| r.processor_s))
    else {
        return format!("| {} | | | | | | |\n", reader.name);
    };
    let most = runs.iter().map(|r| r.megabytes).fold(0.0, f64::max);
    let ratios = runs
        .iter()
        .zip(own)
        .map(|(run, own)| run.seconds / own.seconds);
    let (ratio, aim, reached) = match reader.aim {
        None => {
            let aim = format!("≤ {MEGABYTES_MAX} MB");
            (String::new(), aim, most <= MEGABYTES_MAX)
        }
        Some(aim) => {
            let ratio = median(ratios.collect());
            (format!("{ratio:.1}"), format!("≥ {aim}"), ratio >= aim)
        }
    };
    let reached = if reached { "yes" } else { "no" };
    format!(
        "| {} | {seconds:.2} | {processor_s:.2} | {most:.0} | {ratio} | {aim} | {reached} |\n",
        reader.name
    )
}

/// Returns the median. If the number of values is even, returns the smaller of the two values in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seconds: f64) -> Run {
        Run {
            seconds,
            processor_s: seconds,
            megabytes: 100.0,
        }
    }

    #[test]
    fn the_output_of_time_is_parsed() {
        let told = parse("2.50 4.00 0.50 100000\n").unwrap();
        assert_eq!((told.seconds, told.processor_s), (2.5, 4.5));
        assert_eq!(told.megabytes, 102.4);
        assert_eq!(parse("Command exited\n2.5 1 1 1"), None);
    }

    #[test]
    fn a_ratio_is_of_one_round_and_is_compared_with_the_aim() {
        let [own, tshark, _] = &READERS;
        let runs = [run(1.0), run(2.0), run(1.0)];
        let others = [run(19.0), run(60.0), run(21.0)];
        let line = row(tshark, &others, &runs);
        assert!(line.ends_with("| 21.0 | ≥ 20 | yes |\n"), "{line}");
        let line = row(own, &runs, &runs);
        assert!(line.ends_with("| 100 |  | ≤ 200 MB | yes |\n"), "{line}");
        assert_eq!(row(tshark, &[], &runs), "| tshark | | | | | | |\n");
    }
}
