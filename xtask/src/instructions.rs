//! Counts of instructions per packet, measured by callgrind and compared with committed numbers.
//!
//! Times depend on the machine and its load, but counts of instructions hardly depend on either. Each work runs with a
//! smaller and with a larger amount, and the difference between the two counts is used. The start of the process and
//! other common costs cancel out in this difference.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use clap::Args;
use dupack_build::{output, release_example, root, rustc, target};
use serde::{Deserialize, Serialize};

use crate::needs::{COMPARABLE, VALGRIND};
use crate::profile::Profile;
use crate::test::steps::now;

/// Arguments of `cargo xtask count`.
#[derive(Args)]
pub struct CountArgs {
    /// Write the counts as the new committed numbers, and the tables in docs/how-an-event-travels.md, instead of
    /// comparing.
    #[arg(long)]
    renew: bool,
    /// Print the instructions of one work by source file: newreno, le, rack, dumbbell or radio.
    #[arg(long, value_name = "WORK", conflicts_with = "renew")]
    by_file: Option<String>,
}

const FILE: &str = "xtask/instructions.toml";

/// The page with tables of instructions by source file. `END` is the mark at the end of a table.
const PAGE: &str = "docs/how-an-event-travels.md";
const END: &str = "<!-- end -->";

const HEADER: &str = "\
# Instructions per delivered data packet, counted by callgrind. `cargo xtask test` fails when one of
# them rises by more than 10 %. `cargo xtask count --renew` writes this file: do that, and say why
# in the commit, when a rise is worth it or a new compiler counts otherwise.

";

/// Maximum accepted increase, relative to the committed number. Counts of the same program differ by less than 0.1 %.
const RISE_MAX: f64 = 0.10;

/// A work of `crates/net/examples/counted.rs`, with the smaller and the larger amount.
struct Work {
    name: &'static str,
    amounts: [u64; 2],
}

const WORKS: [Work; 5] = [
    Work {
        name: "newreno",
        amounts: [20_000, 120_000],
    },
    Work {
        name: "le",
        amounts: [20_000, 120_000],
    },
    Work {
        name: "rack",
        amounts: [20_000, 120_000],
    },
    Work {
        name: "dumbbell",
        amounts: [10, 40],
    },
    Work {
        name: "radio",
        amounts: [10, 40],
    },
];

/// The committed numbers, and the compiler for which they were counted.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    rustc: String,
    instructions_per_packet: BTreeMap<String, f64>,
}

/// Runs `cargo xtask count`.
///
/// # Errors
/// If counting is impossible here or fails, or if a number has risen too far.
pub fn run(args: &CountArgs) -> Result<(), String> {
    if !COMPARABLE {
        return Err("the committed numbers are for x86-64 and Linux".to_owned());
    }
    if !VALGRIND.thing.is_here() {
        return Err(VALGRIND.message());
    }
    match &args.by_file {
        Some(work) => by_file(work),
        None if args.renew => renew(),
        None => gate(),
    }
}

/// Compares the counts with the committed numbers, or returns the reason why nothing is counted here.
///
/// # Errors
/// Same as for [`run`].
pub fn gate_where_possible() -> Result<Option<String>, String> {
    if !COMPARABLE {
        let why = "instructions per packet are counted only on x86-64 Linux";
        return Ok(Some(why.to_owned()));
    }
    if !VALGRIND.thing.is_here() {
        return Ok(Some(VALGRIND.message()));
    }
    gate().map(|()| None)
}

/// Slowness of this machine, relative to the machine to which budgets of processor time refer.
pub struct Slowness {
    /// Time of the work [`SPEED`], in seconds.
    seconds: f64,
}

/// The work by which the speed of machines is compared. `SPEED_S` is its time, in seconds, on the machine to which the
/// budgets refer.
const SPEED: [&str; 2] = ["rack/reno", "1000000"];
const SPEED_S: f64 = 0.15;
/// Number of runs. The fastest run is used, because other load can only make a run slower.
const SPEED_RUNS: u32 = 5;

impl Slowness {
    /// Returns the factor by which budgets are multiplied on this machine.
    pub fn factor(&self) -> f64 {
        (self.seconds / SPEED_S).max(1.0)
    }

    /// Returns a clause about the measurement, for messages.
    pub fn message(&self) -> String {
        let work = SPEED.join(" ");
        format!(
            "`counted {work}` takes {:.3} s on this machine",
            self.seconds
        )
    }
}

/// Measures the slowness.
///
/// # Errors
/// If the program does not compile or fails.
pub fn slowness() -> Result<Slowness, String> {
    let program = release_example("dupack-net", "counted")?;
    let mut seconds = f64::INFINITY;
    for _ in 0..SPEED_RUNS {
        let begin = now();
        output(Command::new(&program).args(SPEED))?;
        seconds = seconds.min(begin.elapsed().as_secs_f64());
    }
    Ok(Slowness { seconds })
}

/// Counts the instructions and prints the comparison. Fails if a number has risen too far.
fn gate() -> Result<(), String> {
    let path = root().join(FILE);
    let text =
        fs::read_to_string(&path).map_err(|e| format!("{FILE}: {e}: cargo xtask count --renew"))?;
    let committed: Counts = toml::from_str(&text).map_err(|e| format!("{FILE}: {e}"))?;
    let counted = count()?;
    let (table, risen) = compare(&committed, &counted);
    print!("{table}");
    if risen.is_empty() {
        return Ok(());
    }
    let compilers = if committed.rustc == counted.rustc {
        String::new()
    } else {
        format!(
            " They were counted with {}, this is {}: if the counts of the old code rise as well, renew them.",
            committed.rustc, counted.rustc
        )
    };
    Err(format!(
        "instructions per packet have risen by more than {:.0} %: {}.{compilers} Find the cause with \
         `cargo xtask count --by-file WORK`; accept the rise with `cargo xtask count --renew`.",
        RISE_MAX * 100.0,
        risen.join(", ")
    ))
}

fn renew() -> Result<(), String> {
    let counted = count()?;
    let text = toml::to_string(&counted).map_err(|e| format!("cannot write TOML: {e}"))?;
    fs::write(root().join(FILE), format!("{HEADER}{text}"))
        .map_err(|e| format!("cannot write {FILE}: {e}"))?;
    print!("{text}");
    renew_page()
}

/// Prints the instructions of a work by source file.
fn by_file(name: &str) -> Result<(), String> {
    let names = WORKS.map(|work| work.name).join(", ");
    let work = WORKS.iter().find(|work| work.name == name);
    let work = work.ok_or(format!("invalid work `{name}`: expected one of {names}"))?;
    print!("{}", files_of(work)?);
    Ok(())
}

/// Returns the table of instructions by source file, from the difference between the two amounts of a work.
fn files_of(work: &Work) -> Result<String, String> {
    let program = release_example("dupack-net", "counted")?;
    let file = target().join("callgrind.out");
    let profiled = |amount| {
        let counted = callgrind(&program, work, amount, &file)?;
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok::<_, String>((Profile::read(&text), counted.packets))
    };
    let [small, large] = work.amounts;
    let ((small, before), (large, after)) = (profiled(small)?, profiled(large)?);
    let packets = after.saturating_sub(before).max(1);
    Ok(large.since(&small).table(packets))
}

/// Replaces the tables of instructions by source file in `PAGE`.
fn renew_page() -> Result<(), String> {
    let path = root().join(PAGE);
    let mut page = fs::read_to_string(&path).map_err(|e| format!("{PAGE}: {e}"))?;
    for work in &WORKS {
        if page.contains(&mark(work.name)) {
            page = replaced(&page, work.name, &files_of(work)?)
                .ok_or_else(|| format!("{PAGE}: no `{END}` after `{}`", mark(work.name)))?;
        }
    }
    fs::write(&path, page).map_err(|e| format!("cannot write {PAGE}: {e}"))
}

/// Returns the mark in the page that is above the table of a work.
fn mark(work: &str) -> String {
    format!("<!-- by file: {work} -->")
}

/// Replaces the table between the marks of a work. Returns `None` if a mark is missing in the page.
fn replaced(page: &str, work: &str, table: &str) -> Option<String> {
    let mark = mark(work);
    let (before, rest) = page.split_once(&mark)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{mark}\n{table}{END}{after}"))
}

/// Returns the table of old and new numbers, and the works whose number has risen too far or is not committed.
fn compare(committed: &Counts, counted: &Counts) -> (String, Vec<String>) {
    let mut table = format!(
        "{:12}{:>12}{:>12}{:>10}\n",
        "per packet", "committed", "counted", "change"
    );
    let mut risen = Vec::new();
    for (work, &new) in &counted.instructions_per_packet {
        let Some(&old) = committed.instructions_per_packet.get(work) else {
            table += &format!("{work:12}{:>12}{new:12.1}\n", "—");
            risen.push(format!("{work} (never committed)"));
            continue;
        };
        let change = new / old - 1.0;
        table += &format!("{work:12}{old:12.1}{new:12.1}{:+9.1} %\n", change * 100.0);
        if change > RISE_MAX || change.is_nan() {
            risen.push(format!("{work} ({:+.1} %)", change * 100.0));
        }
    }
    (table, risen)
}

fn count() -> Result<Counts, String> {
    let program = release_example("dupack-net", "counted")?;
    let names = WORKS.map(|work| work.name).join(", ");
    eprintln!("counting the instructions of {names}");
    // The works are counted in parallel, because other load does not change the counts.
    let counted: Result<_, String> = thread::scope(|scope| {
        let counting = WORKS.map(|work| {
            let program = &program;
            (work.name, scope.spawn(move || count_work(program, &work)))
        });
        let counted = counting.into_iter().map(|(name, thread)| {
            let count = thread
                .join()
                .map_err(|_| format!("{name}: counting failed"))?;
            Ok((name.to_owned(), count?))
        });
        counted.collect()
    });
    Ok(Counts {
        rustc: rustc(&["--version"])?,
        instructions_per_packet: counted?,
    })
}

/// Returns the instructions per packet of a work.
fn count_work(program: &Path, work: &Work) -> Result<f64, String> {
    let [small, large] = work.amounts;
    let nowhere = Path::new("/dev/null");
    let (small, large) = (
        callgrind(program, work, small, nowhere)?,
        callgrind(program, work, large, nowhere)?,
    );
    per_packet(small, large)
        .ok_or_else(|| format!("{}: the larger amount is not larger", work.name))
}

/// Result of one run under callgrind.
#[derive(Clone, Copy)]
struct Counted {
    instructions: u64,
    packets: u64,
}

/// Returns the difference in instructions per packet, rounded to a tenth.
fn per_packet(small: Counted, large: Counted) -> Option<f64> {
    let instructions = large.instructions.checked_sub(small.instructions)?;
    let packets = large.packets.checked_sub(small.packets)?;
    (packets > 0).then(|| (10.0 * instructions as f64 / packets as f64).round() / 10.0)
}

/// Runs a work under callgrind. Callgrind writes its profile to `file`.
fn callgrind(program: &Path, work: &Work, amount: u64, file: &Path) -> Result<Counted, String> {
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args([work.name, &amount.to_string()]);
    let (stdout, stderr) = output(&mut command)?;
    let instructions = number_after(&stderr, "Collected : ");
    let packets = number_after(&stdout, "packets=");
    match (instructions, packets) {
        (Some(instructions), Some(packets)) => Ok(Counted {
            instructions,
            packets,
        }),
        _ => Err(format!("callgrind did not count: {stderr}{stdout}")),
    }
}

/// Returns the number that follows `label` in `text`.
fn number_after(text: &str, label: &str) -> Option<u64> {
    let (_, rest) = text.split_once(label)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    rest[..digits.unwrap_or(rest.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: &[(&str, f64)]) -> Counts {
        let pairs = values.iter().map(|&(name, n)| (name.to_owned(), n));
        Counts {
            rustc: "rustc 1".to_owned(),
            instructions_per_packet: pairs.collect(),
        }
    }

    #[test]
    fn a_rise_of_more_than_a_tenth_is_named() {
        let committed = counts(&[("le", 1000.0), ("rack", 1000.0), ("sack", 1000.0)]);
        let counted = counts(&[("le", 1099.0), ("rack", 1101.0), ("sack", 500.0)]);
        let (table, risen) = compare(&committed, &counted);
        assert_eq!(risen, ["rack (+10.1 %)"]);
        assert_eq!(table.lines().count(), 4);
    }

    #[test]
    fn a_work_without_a_number_fails() {
        let (_, risen) = compare(&counts(&[]), &counts(&[("le", 1.0)]));
        assert_eq!(risen, ["le (never committed)"]);
        let nothing = counts(&[("le", 0.0)]);
        let (_, risen) = compare(&nothing, &counts(&[("le", 0.0)]));
        assert_eq!(risen.len(), 1);
    }

    #[test]
    fn common_costs_cancel_out() {
        let counted = |instructions, packets| Counted {
            instructions,
            packets,
        };
        let count = per_packet(counted(5_000_400, 10), counted(5_000_900, 20));
        assert_eq!(count, Some(50.0));
        assert_eq!(per_packet(counted(1, 10), counted(2, 10)), None);
    }

    #[test]
    fn a_table_in_the_page_is_replaced() {
        let page = "a\n<!-- by file: le -->\nold\n<!-- end -->\nb\n";
        let new = "a\n<!-- by file: le -->\nnew\n<!-- end -->\nb\n";
        assert_eq!(replaced(page, "le", "new\n").as_deref(), Some(new));
        assert_eq!(replaced(page, "rack", "new\n"), None);
    }

    #[test]
    fn the_output_of_callgrind_is_read() {
        let text = "==7== Events    : Ir\n==7== Collected : 2871093\n==7==\n";
        assert_eq!(number_after(text, "Collected : "), Some(2_871_093));
        assert_eq!(number_after("packets=12", "packets="), Some(12));
        assert_eq!(number_after(text, "packets="), None);
    }

    #[test]
    fn the_committed_file_names_every_work() {
        let text = fs::read_to_string(root().join(FILE)).expect("it is committed");
        let committed: Counts = toml::from_str(&text).expect("it is well formed");
        let names: Vec<_> = committed.instructions_per_packet.into_keys().collect();
        let mut works = WORKS.map(|work| work.name);
        works.sort_unstable();
        assert_eq!(names, works);
    }
}
