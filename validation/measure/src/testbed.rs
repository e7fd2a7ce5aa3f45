//! `cargo measure testbed`: runs LE's testbed and today's senders on real packets, by `validation/testbed/`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct TestbedArgs {
    /// Duration in seconds of each run of LE's figure
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Number of repetitions of each run of LE's figure
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..))]
    repeat: u32,
    /// Duration in seconds of each run of today's senders
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    today_seconds: u32,
    /// Number of repetitions of each run of today's senders
    #[arg(long, default_value_t = 26, value_parser = clap::value_parser!(u32).range(2..))]
    today_repeat: u32,
    /// Folder for the page and its figures, instead of docs
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl TestbedArgs {
    /// Returns the arguments of cargo.
    pub fn command(&self) -> Vec<String> {
        let fixed = "run --release --manifest-path validation/Cargo.toml --bin le_testbed --";
        let mut words: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
        for (name, number) in [
            ("--seconds", self.seconds),
            ("--repeat", self.repeat),
            ("--today-seconds", self.today_seconds),
            ("--today-repeat", self.today_repeat),
        ] {
            words.extend([name.to_owned(), number.to_string()]);
        }
        if let Some(out) = &self.out {
            words.extend(["--out".to_owned(), out.display().to_string()]);
        }
        words
    }
}
