//! `cargo measure diagnose`: what `dupack diagnose` says of real packets, held against what was so, by
//! `validation/diagnosis/src/bin/diagnose_truth`.

use std::path::PathBuf;

use clap::Args;
use dupack_build::cargo;

use crate::captures::{self, Extent};

#[derive(Args)]
pub struct DiagnoseArgs {
    /// Predictions for other senders, instead of what is told of the captured one
    #[arg(long)]
    what_if: bool,
    /// How often each predicted sender is run
    #[arg(long, default_value_t = 5, requires = "what_if", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// After how many minutes no prediction is begun; the same command goes on
    #[arg(long, requires = "what_if")]
    minutes: Option<u64>,
    /// What the paths' random numbers depend on
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Transfers at a time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// Only transfers whose words have this: `kernel:cubic over 2 % loss`
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Where captures go, and the list of all that was told wrongly
    #[arg(long, value_name = "DIR", default_value = "dupack-out/diagnose-truth")]
    out: PathBuf,
    /// Diagnose the captures of an earlier run in that folder, and make no transfers
    #[arg(long)]
    again: bool,
    /// Where the page goes, instead of docs/diagnose-truth.md or, of predictions, docs/diagnose-what-if.md
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// How long a large capture takes, beside tshark and tcptrace; nothing is said of what is told
    #[arg(long, conflicts_with_all = ["what_if", "again", "page"])]
    speed: bool,
    /// Packets of the large capture, about
    #[arg(long, default_value_t = 10_000_000, requires = "speed")]
    packets: u64,
    /// How often each program reads it
    #[arg(long, default_value_t = 1, requires = "speed", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

const PAGE: &str = "docs/diagnose-truth.md";
const WHAT_IF_PAGE: &str = "docs/diagnose-what-if.md";

impl DiagnoseArgs {
    /// Measures what is asked for.
    pub fn run(&self) -> Result<(), String> {
        match self.speed {
            true => captures::run(&Extent {
                rounds: self.rounds,
                packets: self.packets,
            }),
            false => cargo(&self.command()),
        }
    }

    /// What cargo is told.
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
