//! Comparison of diagnosed time budgets with the truth that simulated senders know. Random transfers are captured at
//! both ends, and the errors of their diagnoses are given in percent of the duration of the transfer.
//!
//! ```text
//! cargo run --release --manifest-path validation/Cargo.toml --bin limits -- [COUNT] [SEED] [--off PERCENT] [--only WORD] [--keep FOLDER]
//! cargo run --release --manifest-path validation/Cargo.toml --bin limits -- --stalls
//! ```
//!
//! The program prints a line for each transfer with an error above `--off` (5). With `--stalls`, it prints stalls of
//! known kinds and their diagnoses.

use std::env;

use dupack_truth::limits::cases;
use dupack_truth::limits::lot::Drawn;
use dupack_truth::limits::off::{MEASURES, Off, Summary};
use dupack_truth::limits::tape::End;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let after = |flag: &str| {
        let place = arguments.iter().position(|a| a == flag)?;
        arguments.get(place + 1).cloned()
    };
    let number = |place: usize, otherwise: u64| {
        let text = arguments.get(place).filter(|a| !a.starts_with("--"));
        text.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    if arguments.iter().any(|a| a == "--stalls") {
        stalls();
        return;
    }
    let (count, seed) = (number(0, 300), number(1, 1));
    let limit: f64 = after("--off").map_or(5.0, |text| text.parse().expect("a number"));
    let only = after("--only").unwrap_or_default();
    let mut summaries = End::BOTH.map(|_| Summary::default());
    for seed in seed..seed + count {
        let drawn = Drawn::of(seed);
        if !drawn.line.contains(&only) {
            continue;
        }
        let tape = drawn.tape();
        if let Some(folder) = after("--keep") {
            for end in End::BOTH {
                let path = format!("{folder}/{seed}-{end:?}.pcapng");
                std::fs::write(path, tape.capture(end)).expect("a folder");
            }
        }
        for (end, summary) in End::BOTH.into_iter().zip(&mut summaries) {
            let Some(found) = tape.diagnosed(end) else {
                println!("{seed} {end:?}: no findings");
                continue;
            };
            let off = Off::of(&tape.truth, &found);
            if off.is_beyond(limit) {
                println!("{seed:5} {end:?} {}\n      {}", drawn.line, off.line());
            }
            summary.add(&off);
        }
    }
    for (end, summary) in End::BOTH.into_iter().zip(&summaries) {
        println!("{end:?}: {} transfers", summary.count());
        for measure in MEASURES {
            println!("  {}", summary.line(measure));
        }
    }
}

fn stalls() {
    for case in cases::all() {
        println!("{}: {:?}", case.name, case.kinds);
        for end in End::BOTH {
            let told = case.told(end);
            let mark = if told.starts_with(case.kinds) {
                " "
            } else {
                "*"
            };
            println!("  {mark} {end:?} {told:?}");
        }
    }
}
