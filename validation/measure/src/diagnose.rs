//! `cargo measure diagnose`: compares diagnoses of real packets with the truth, by
//! `validation/diagnosis/src/bin/diagnose_truth`.

use std::path::PathBuf;

use clap::Args;
use dupack_build::cargo;

use crate::captures::{self, Extent};

#[derive(Args)]
pub struct DiagnoseArgs {
    /// Measure predictions for other senders, instead of diagnoses of the captured sender
    #[arg(long)]
    what_if: bool,
    /// Number of runs of each predicted sender
    #[arg(long, default_value_t = 5, requires = "what_if", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Begin no further prediction after this number of minutes; the same command continues the measurement
    #[arg(long, requires = "what_if")]
    minutes: Option<u64>,
    /// Seed of the random numbers of the paths
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of simultaneous transfers
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// Only transfers whose description contains this text: `kernel:cubic over 2 % loss`
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Folder for the captures and the list of wrong diagnoses
    #[arg(long, value_name = "DIR", default_value = "dupack-out/diagnose-truth")]
    out: PathBuf,
    /// Diagnose the captures of an earlier run in the folder of --out again, without new transfers
    #[arg(long)]
    again: bool,
    /// File for the page, instead of docs/diagnose-truth.md or, with `--what-if`, docs/diagnose-what-if.md
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Measure the time of dupack, tshark and tcptrace for a large capture, instead of diagnoses
    #[arg(long, conflicts_with_all = ["what_if", "again", "page"])]
    speed: bool,
    /// Approximate number of packets in the large capture
    #[arg(long, default_value_t = 10_000_000, requires = "speed")]
    packets: u64,
    /// Number of times that each program reads the large capture
    #[arg(long, default_value_t = 1, requires = "speed", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

const PAGE: &str = "docs/diagnose-truth.md";
const WHAT_IF_PAGE: &str = "docs/diagnose-what-if.md";

impl DiagnoseArgs {
    /// Runs the command.
    pub fn run(&self) -> Result<(), String> {
        match self.speed {
            true => captures::run(&Extent {
                rounds: self.rounds,
                packets: self.packets,
            }),
            false => cargo(&self.command()),
        }
    }

    /// Returns the arguments of cargo.
    pub fn command(&self) -> Vec<String> {
        let fixed = "run --release --manifest-path validation/Cargo.toml --bin diagnose_truth --";
        let mut words: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
        let usual = if self.what_if { WHAT_IF_PAGE } else { PAGE };
        let page = self.page.clone().unwrap_or_else(|| PathBuf::from(usual));
        for (name, value) in [
            ("--seed", self.seed.to_string()),
            ("--jobs", self.jobs.to_string()),
            ("--repeat", self.repeat.to_string()),
            ("--only", self.only.clone()),
            ("--out", self.out.display().to_string()),
            ("--page", page.display().to_string()),
        ] {
            words.extend([name.to_owned(), value]);
        }
        if let Some(minutes) = self.minutes {
            words.extend(["--minutes".to_owned(), minutes.to_string()]);
        }
        for (name, given) in [("--what-if", self.what_if), ("--again", self.again)] {
            words.extend(given.then(|| name.to_owned()));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: DiagnoseArgs,
    }

    fn words(given: &[&str]) -> String {
        let given = ["diagnose"].iter().chain(given);
        Command::parse_from(given).args.command().join(" ")
    }

    #[test]
    fn each_question_has_its_page() {
        assert!(words(&[]).ends_with("--page docs/diagnose-truth.md"));
        let asked = words(&["--what-if", "--seed", "3"]);
        assert!(
            asked.ends_with("--page docs/diagnose-what-if.md --what-if"),
            "{asked}"
        );
        assert!(asked.contains("--seed 3"), "{asked}");
        let bounded = words(&["--what-if", "--minutes", "8"]);
        assert!(bounded.contains("--minutes 8 --what-if"), "{bounded}");
    }
}
