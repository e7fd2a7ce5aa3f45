//! Measurements of entries, and their storage.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::rows::{Entry, Reading};
use super::tools::{Build, Program, Tools};

/// One measurement of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub row: String,
    /// Name of the simulator and variant.
    pub entry: String,
    pub round: u32,
    pub ending: Ending,
    /// Number of delivered data packets.
    pub packets: u64,
    /// Wall-clock time from the start of the first process to the end of the last one.
    pub seconds: f64,
    /// Part of this time before the first event, in seconds, if the program prints it.
    pub setup_s: Option<f64>,
    /// Maximum resident set size in kB, if the program prints it.
    pub rss_kb: Option<u64>,
    /// Commit that dupack was built from.
    pub commit: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Finished,
    /// The process was stopped after [`SECONDS_MAX`].
    Stopped,
    /// The process ended with an error.
    Failed,
}

/// Maximum duration of a process in seconds, after which it is stopped.
pub const SECONDS_MAX: u32 = 300;

/// Exit status of `timeout` if it stops the process.
const TIMED_OUT: i32 = 124;

const HEADER: &str = "row,entry,round,ending,packets,seconds,setup_s,rss_kb,commit";

impl Entry {
    /// Returns the name of the entry within the row.
    pub fn name(&self) -> String {
        match self.variant.as_str() {
            "" => self.simulator.name().to_owned(),
            variant => format!("{}, {variant}", self.simulator.name()),
        }
    }

    /// Returns the name under which the samples of the entry are stored.
    pub fn key(&self) -> String {
        self.name().replace(',', "")
    }

    /// Returns the command line of the entry, for a shell in the workspace.
    pub fn command(&self) -> String {
        let program = match self.program {
            Program::Work(build) => format!("{}/work", examples(build)),
            Program::Counted(build) => format!("{}/counted", examples(build)),
            Program::Ns2(script) => format!("ns validation/peers/ns2/{script}"),
            Program::Ns3(name) => format!("target/ns3-{name}"),
            Program::Htsim => "target/peers/htsim-dumbbell".to_owned(),
        };
        vec![format!("{program} {}", self.arguments.join(" ")); self.at_once].join(" & ")
    }

    /// Runs the entry once, until the last of its processes has ended. Reads the output of a process that failed, or of
    /// the last process if none failed.
    ///
    /// # Errors
    /// If a process cannot be started.
    // The function measures wall-clock time.
    #[allow(clippy::disallowed_methods)]
    pub fn measure(&self, row: &str, round: u32, tools: &Tools) -> Result<Sample, String> {
        let mut command = Command::new("timeout");
        command
            .arg(SECONDS_MAX.to_string())
            .args(tools.words(self.program))
            .args(&self.arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let cannot_start = |e| format!("cannot start {}: {e}", self.name());
        let started = std::time::Instant::now();
        let processes: Vec<_> = (0..self.at_once).map(|_| command.spawn()).collect();
        let outputs = processes.into_iter().map(|p| p?.wait_with_output());
        let outputs: Vec<_> = outputs.collect::<Result<_, _>>().map_err(cannot_start)?;
        let seconds = started.elapsed().as_secs_f64();
        // Prefer the output of a process that failed, because it is more informative.
        let worst = outputs.iter().find(|output| !output.status.success());
        let output = worst.or(outputs.last()).ok_or("nothing to run")?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let packets = packets(&stdout, self.reading);
        let ending = match (output.status.code(), packets) {
            (Some(0), Some(_)) => Ending::Finished,
            (Some(TIMED_OUT), _) => Ending::Stopped,
            _ => Ending::Failed,
        };
        if ending == Ending::Failed {
            let stderr = String::from_utf8_lossy(&output.stderr);
            eprintln!(
                "{row}, {}: {}: {stderr}{stdout}",
                self.name(),
                output.status
            );
        }
        Ok(Sample {
            row: row.to_owned(),
            entry: self.key(),
            round,
            ending,
            packets: packets.unwrap_or(0),
            seconds,
            setup_s: value_of(&stdout, "setup_s"),
            rss_kb: value_of(&stdout, "rss_kb"),
            commit: tools.commit.clone(),
        })
    }
}

fn packets(stdout: &str, reading: Reading) -> Option<u64> {
    match reading {
        Reading::Line => value_of(stdout, "packets"),
        Reading::Known(packets) => Some(packets),
        Reading::WifiChain(seconds) => {
            let goodput_bps: f64 = stdout.lines().last()?.split(',').nth(2)?.parse().ok()?;
            Some((goodput_bps * seconds / 8000.0) as u64)
        }
    }
}

/// Returns the value of `key` in words of the form `key=value`.
pub fn value_of<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    let pairs = text
        .split_whitespace()
        .filter_map(|word| word.split_once('='));
    let mut values = pairs.filter_map(|(name, value)| (name == key).then(|| value.parse().ok())?);
    values.next()
}

/// The samples in a file, which is written after each measurement.
pub struct Store {
    path: PathBuf,
    pub samples: Vec<Sample>,
}

impl Store {
    /// Opens the file at `path`. The file need not exist.
    ///
    /// # Errors
    /// If the file cannot be read or is malformed.
    pub fn open(path: PathBuf) -> Result<Self, String> {
        let samples = match fs::read_to_string(&path) {
            Ok(text) => text
                .lines()
                .skip(1)
                .map(|line| {
                    let path = path.display();
                    parse(line).ok_or(format!("{path}: malformed line `{line}`: remove the file"))
                })
                .collect::<Result<_, _>>()?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(format!("{}: {e}", path.display())),
        };
        Ok(Self { path, samples })
    }

    /// Removes the samples of these rows.
    pub fn forget(&mut self, rows: &[&str]) {
        self.samples
            .retain(|sample| !rows.contains(&sample.row.as_str()));
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&mut self, sample: Sample) -> Result<(), String> {
        self.samples.push(sample);
        let mut text = format!("{HEADER}\n");
        for sample in &self.samples {
            text += &line(sample);
        }
        fs::write(&self.path, text).map_err(|e| format!("{}: {e}", self.path.display()))
    }

    /// Returns the commits from which dupack was built, and the rows measured with each commit.
    pub fn commits(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut commits = BTreeMap::<_, BTreeSet<_>>::new();
        for sample in &self.samples {
            let rows = commits.entry(sample.commit.as_str()).or_default();
            rows.insert(sample.row.as_str());
        }
        commits
    }

    /// Returns the samples of an entry in the order of their rounds.
    pub fn of(&self, row: &str, entry: &Entry) -> Vec<&Sample> {
        let key = entry.key();
        let samples = self.samples.iter();
        let its = samples.filter(|sample| sample.row == row && sample.entry == key);
        its.collect()
    }

    /// Returns the samples of an entry whose run finished, in the order of their rounds.
    pub fn finished(&self, row: &str, entry: &Entry) -> Vec<&Sample> {
        let mut samples = self.of(row, entry);
        samples.retain(|sample| sample.ending == Ending::Finished);
        samples
    }
}

/// Returns the folder of our programs, relative to the workspace.
fn examples(build: Build) -> String {
    match build {
        Build::Release => "target/release/examples".to_owned(),
        // An error means that no compiler is installed. In this case, the reader of the page cannot run any of the
        // programs.
        Build::Optimised => crate::optimise::examples().unwrap_or_default(),
    }
}

fn line(sample: &Sample) -> String {
    let ending = match sample.ending {
        Ending::Finished => "finished",
        Ending::Stopped => "stopped",
        Ending::Failed => "failed",
    };
    format!(
        "{},{},{},{ending},{},{:.4},{},{},{}\n",
        sample.row,
        sample.entry,
        sample.round,
        sample.packets,
        sample.seconds,
        sample.setup_s.map_or(String::new(), |s| s.to_string()),
        sample.rss_kb.map_or(String::new(), |kb| kb.to_string()),
        sample.commit,
    )
}

fn parse(line: &str) -> Option<Sample> {
    let fields: Vec<&str> = line.split(',').collect();
    let [
        row,
        entry,
        round,
        ending,
        packets,
        seconds,
        setup_s,
        rss_kb,
        commit,
    ] = *fields
    else {
        return None;
    };
    Some(Sample {
        row: row.to_owned(),
        entry: entry.to_owned(),
        round: round.parse().ok()?,
        ending: match ending {
            "finished" => Ending::Finished,
            "stopped" => Ending::Stopped,
            "failed" => Ending::Failed,
            _ => return None,
        },
        packets: packets.parse().ok()?,
        seconds: seconds.parse().ok()?,
        setup_s: setup_s.parse().ok(),
        rss_kb: rss_kb.parse().ok(),
        commit: commit.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_programs_is_parsed() {
        let text = "SORTING LISTS\npackets=18743 setup_s=0.035 run_s=1.282 rss_kb=14944\n";
        assert_eq!(packets(text, Reading::Line), Some(18_743));
        assert_eq!(value_of(text, "setup_s"), Some(0.035));
        assert_eq!(value_of::<u64>(text, "none"), None);
        let chain = "chain,1,800000,22336,0,0,0,9697176,21.73,14.54\n";
        assert_eq!(packets(chain, Reading::WifiChain(190.0)), Some(19_000));
        assert_eq!(packets("", Reading::Known(7)), Some(7));
    }

    #[test]
    fn a_sample_reads_back() {
        let sample = Sample {
            row: "one".to_owned(),
            entry: "ns-2".to_owned(),
            round: 2,
            ending: Ending::Finished,
            packets: 10,
            seconds: 1.5,
            setup_s: None,
            rss_kb: Some(7),
            commit: "0a1b2c3".to_owned(),
        };
        assert_eq!(parse(line(&sample).trim_end()), Some(sample));
        assert_eq!(parse("one,ns-2"), None);
    }
}
