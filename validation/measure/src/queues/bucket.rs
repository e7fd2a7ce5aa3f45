//! Comparison of Linux's `tbf` with our shaper. Both run in `crates/wire/examples/token_bucket.rs`.

use std::path::Path;
use std::process::Command;

use dupack_build::output;

use super::{Sample, value_of};

/// A token bucket and its load.
#[derive(Clone, Copy)]
pub struct Setting {
    pub rate_mbps: u32,
    pub burst_bytes: u32,
    pub limit_bytes: u32,
    pub load: f64,
    pub train: u32,
}

const fn setting(rate_mbps: u32, burst: u32, limit: u32, load: f64, train: u32) -> Setting {
    Setting {
        rate_mbps,
        burst_bytes: burst,
        limit_bytes: limit,
        load,
        train,
    }
}

/// The settings of the comparison. In these settings, packets wait for milliseconds, so that late wake-ups of the
/// system do not matter.
pub const SETTINGS: [Setting; 7] = [
    setting(1, 5_000, 50_000, 1.5, 1),
    setting(2, 10_000, 30_000, 0.9, 4),
    setting(5, 5_000, 100_000, 1.2, 1),
    setting(5, 20_000, 60_000, 0.8, 16),
    setting(10, 15_000, 100_000, 1.3, 8),
    setting(10, 50_000, 200_000, 0.95, 32),
    setting(20, 20_000, 400_000, 2.0, 4),
];

/// Number of runs per setting.
pub const ROUNDS: u32 = 3;

/// Results of Linux and of our shaper, one sample per round.
pub struct Measured {
    pub setting: Setting,
    pub theirs: Vec<Sample>,
    pub ours: Vec<Sample>,
}

impl Setting {
    pub fn words(&self) -> String {
        format!(
            "{} Mbit/s, bucket {} kB, queue {} kB, load {}, trains of {}",
            self.rate_mbps,
            self.burst_bytes / 1000,
            self.limit_bytes / 1000,
            self.load,
            self.train
        )
    }
}

pub fn measure(program: &Path, setting: Setting) -> Result<Measured, String> {
    let mut measured = Measured {
        setting,
        theirs: Vec::new(),
        ours: Vec::new(),
    };
    for round in 1..=ROUNDS {
        let words = format!(
            "--rate {}000000 --burst {} --limit {} --load {} --train {} --seed {round}",
            setting.rate_mbps,
            setting.burst_bytes,
            setting.limit_bytes,
            setting.load,
            setting.train
        );
        let (line, _) = output(Command::new(program).args(words.split(' ')))?;
        for (whose, samples) in [
            ("theirs", &mut measured.theirs),
            ("ours", &mut measured.ours),
        ] {
            let [offered, dropped, wait_s] = ["offered", "dropped", "wait_s"]
                .map(|name| value_of(&line, &format!("{whose}_{name}")));
            samples.push(Sample {
                wait_ms: wait_s? * 1e3,
                signals: dropped? / offered? * 100.0,
            });
        }
    }
    Ok(measured)
}
