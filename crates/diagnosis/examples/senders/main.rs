//! Which sender was it, asked of transfers whose sender is known: simulated ones, over paths drawn from
//! seeds. Prints who was taken for whom.
//!
//! ```text
//! cargo run --release -p dupack-diagnosis --example senders -- [--seeds FROM..TO] [--only CONTROL] [--verbose]
//! ```

mod feed;
mod scenario;

use std::collections::BTreeMap;
use std::env;

use dupack_diagnosis::sender::{Control, SenderReport};

use scenario::Drawn;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let after = |flag: &str| {
        let place = arguments.iter().position(|a| a == flag)?;
        arguments.get(place + 1).cloned()
    };
    let seeds = after("--seeds").unwrap_or_else(|| "0..60".to_owned());
    let (from, to) = seeds.split_once("..").expect("--seeds FROM..TO");
    let (from, to): (u64, u64) = (from.parse().expect("a seed"), to.parse().expect("a seed"));
    let only = after("--only");
    let verbose = arguments.iter().any(|a| a == "--verbose");
    let mut controls = Table::default();
    let mut recoveries = Table::default();
    for seed in from..to {
        let drawn = Drawn::of(seed);
        if only
            .as_ref()
            .is_some_and(|only| !drawn.stack().contains(only.as_str()))
        {
            continue;
        }
        let report = feed::report(&drawn);
        let control = control(&report);
        let recovery = name(report.recovery.name.map(|r| r.name()));
        let is_off = |truth: &str, said: &str| said != truth;
        if verbose || is_off(drawn.control, control) {
            println!("{seed:4} {}", drawn.line());
            describe(&report, &drawn);
        }
        controls.add(drawn.control, control);
        recoveries.add(drawn.recovery, recovery);
    }
    controls.print("control");
    recoveries.print("recovery");
}

fn name(name: Option<&'static str>) -> &'static str {
    name.unwrap_or("unknown")
}

/// The control that was named. Which version of BBR it is need not be told.
fn control(report: &SenderReport) -> &'static str {
    match report.control.name {
        Some(Control::BbrOfSomeVersion) => Control::Bbr.name(),
        other => name(other.map(|c| c.name())),
    }
}

fn describe(report: &SenderReport, drawn: &Drawn) {
    let control = control(report);
    let recovery = name(report.recovery.name.map(|r| r.name()));
    println!("       control {control}: {}", report.control.why);
    for candidate in report.control.candidates.iter().take(3) {
        let mark = if candidate.name.name() == drawn.control {
            "*"
        } else {
            " "
        };
        println!("      {mark}{:10} {:7.1}", candidate.name, candidate.score);
        println!("         for     {}", candidate.evidence_for.join("; "));
        println!("         against {}", candidate.evidence_against.join("; "));
    }
    println!("       recovery {recovery}: {}", report.recovery.why);
    for candidate in report.recovery.candidates.iter().take(2) {
        let mark = if candidate.name.name() == drawn.recovery {
            "*"
        } else {
            " "
        };
        println!("      {mark}{:10} {:7.1}", candidate.name, candidate.score);
        println!("         for     {}", candidate.evidence_for.join("; "));
        println!("         against {}", candidate.evidence_against.join("; "));
    }
    println!("       {:?} {:?}", report.traits, report.stack);
}

/// Who was taken for whom.
#[derive(Default)]
struct Table(BTreeMap<(&'static str, &'static str), u32>);

impl Table {
    fn add(&mut self, truth: &'static str, said: &'static str) {
        *self.0.entry((truth, said)).or_default() += 1;
    }

    fn print(&self, what: &str) {
        let (mut right, mut unknown, mut all) = (0, 0, 0);
        let mut truths: Vec<_> = self.0.keys().map(|k| k.0).collect();
        truths.dedup();
        println!("\n{what}: truth, and what was said");
        for truth in truths {
            let of: Vec<_> = self.0.iter().filter(|(k, _)| k.0 == truth).collect();
            let said: Vec<_> = of.iter().map(|(k, n)| format!("{} {n}", k.1)).collect();
            println!("  {truth:12} {}", said.join(", "));
            for (key, n) in of {
                all += n;
                right += if key.1 == truth { *n } else { 0 };
                unknown += if key.1 == "unknown" { *n } else { 0 };
            }
        }
        let wrong = all - right - unknown;
        let percent = |n: u32| 100.0 * f64::from(n) / f64::from(all.max(1));
        println!(
            "  {all} transfers: right {right} ({:.1} %), unknown {unknown} ({:.1} %), wrong {wrong} ({:.1} %)",
            percent(right),
            percent(unknown),
            percent(wrong)
        );
    }
}
