//! Comparison of diagnosed senders with the truth, for simulated transfers that are chosen by seeds and captured at
//! both ends.
//!
//! ```text
//! cargo run --release --manifest-path validation/Cargo.toml --bin senders -- [--seeds FROM..TO] [--only WORD] [--stack RECOVERY/CONTROL] [--end sender|receiver] [--verbose]
//! ```
//!
//! With `--stack`, all transfers use this sender, which may be a sender that the seeds never choose. The program prints
//! the transfers with a wrong diagnosis, or all transfers with `--verbose`.

use std::{env, fmt};

use dupack_diagnosis::sender::{Identification, SenderReport};
use dupack_truth::limits::lot::Drawn;
use dupack_truth::limits::tape::End;
use dupack_truth::senders::{Axis, Table, is_right, name_of};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let after = |flag: &str| {
        let place = arguments.iter().position(|a| a == flag)?;
        arguments.get(place + 1).cloned()
    };
    let seeds = after("--seeds").unwrap_or_else(|| "0..200".to_owned());
    let (from, to) = seeds.split_once("..").expect("--seeds FROM..TO");
    let (from, to): (u64, u64) = (from.parse().expect("a seed"), to.parse().expect("a seed"));
    let only = after("--only").unwrap_or_default();
    let at = after("--end").unwrap_or_default();
    let stack = after("--stack").unwrap_or_default();
    let verbose = arguments.iter().any(|a| a == "--verbose");
    let mut tables = End::BOTH.map(|_| [Table::default(), Table::default()]);
    for seed in from..to {
        let mut drawn = Drawn::of(seed);
        if let Some((recovery, control)) = stack.split_once('/') {
            send_by(&mut drawn, recovery, control);
        }
        if !drawn.line.contains(&only) {
            continue;
        }
        let tape = drawn.tape();
        for (end, tables) in End::BOTH.into_iter().zip(&mut tables) {
            if !format!("{end:?}").to_lowercase().contains(&at) {
                continue;
            }
            let Some(found) = tape.diagnosed(end) else {
                continue;
            };
            let report = &found.sender;
            let mut wrong = false;
            for (axis, table) in Axis::BOTH.into_iter().zip(tables) {
                let (truth, said) = (axis.truth(&drawn), name_of(axis, report));
                wrong |= said != "unknown" && !is_right(truth, said);
                table.add(drawn.work, truth, said);
            }
            if wrong || verbose {
                println!("{seed:4} {end:?} {}", drawn.line);
                describe(report, &drawn);
            }
        }
    }
    for (end, tables) in End::BOTH.into_iter().zip(&tables) {
        for (axis, table) in Axis::BOTH.into_iter().zip(tables) {
            table.print(&format!("{axis:?} at the {end:?}'s end"));
        }
    }
}

/// Replaces the sender of the transfer.
fn send_by(drawn: &mut Drawn, recovery: &str, control: &str) {
    let (_, rest) = drawn.text.split_once('\n').expect("stacks come first");
    drawn.text = format!("stacks = [\"{recovery}/{control}\"]\n{rest}");
    drawn.recovery = recovery.to_owned().leak();
    drawn.control = control.to_owned().leak();
}

fn describe(report: &SenderReport, drawn: &Drawn) {
    of_axis(Axis::Control, report, (&report.control, 4), drawn.control);
    of_axis(
        Axis::Recovery,
        report,
        (&report.recovery, 3),
        drawn.recovery,
    );
    println!("       {:?} {:?}", report.traits, report.stack);
}

/// Prints the diagnosis of an axis with at most `most` candidates. The true candidate is marked.
fn of_axis<N: fmt::Display>(
    axis: Axis,
    report: &SenderReport,
    (verdict, most): (&Identification<N>, usize),
    truth: &str,
) {
    let said = name_of(axis, report);
    println!("       {axis:?} {said}: {}", verdict.why);
    for candidate in verdict.candidates.iter().take(most) {
        let name = candidate.name.to_string();
        let mark = if name == truth { "*" } else { " " };
        println!("      {mark}{name:10} {:7.1}", candidate.score);
        println!("         for     {}", candidate.evidence_for.join("; "));
        println!("         against {}", candidate.evidence_against.join("; "));
    }
}
