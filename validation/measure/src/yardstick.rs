//! Speed of the machine on which a measurement runs. The speed is measured by a work of the first tables of
//! docs/performance.md, so that measurements of different days and machines can be compared.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use dupack_build::{output, release_example, root};

use crate::peers::spread::{Spread, short};

/// Stack of a row in the table "Each recovery" of docs/performance.md. `PACKETS` is the number of packets of that row.
const STACK: &str = "rack/reno";
const PACKETS: u32 = 1_000_000;
/// Number of consecutive runs.
const TIMES: usize = 3;

/// Work of known size, and its times.
pub struct Yardstick {
    program: PathBuf,
    seconds: Vec<f64>,
}

impl Yardstick {
    pub fn new() -> Result<Self, String> {
        Ok(Self {
            program: release_example("dupack-net", "counted")?,
            seconds: Vec::new(),
        })
    }

    /// Runs the work several times. A command calls this function before, between and after its measurements.
    // The function measures wall-clock time.
    #[allow(clippy::disallowed_methods)]
    pub fn hold(&mut self) -> Result<(), String> {
        for _ in 0..TIMES {
            let begun = Instant::now();
            output(Command::new(&self.program).args([STACK, &PACKETS.to_string()]))?;
            self.seconds.push(begun.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Returns a sentence for the page.
    pub fn told(&self) -> String {
        let page = fs::read_to_string(root().join("docs/performance.md")).unwrap_or_default();
        told(&self.seconds, of_table(&page))
    }
}

/// Returns the median of the row in the page's table.
fn of_table(page: &str) -> Option<f64> {
    let row = page
        .lines()
        .find(|line| line.starts_with(&format!("| `{STACK}` |")))?;
    let seconds = row.split('|').nth(3)?;
    seconds.split('/').nth(1)?.trim().parse().ok()
}

fn told(seconds: &[f64], of_table: Option<f64>) -> String {
    let Some(spread) = Spread::of(seconds.iter().copied()) else {
        return String::new();
    };
    let mut text = format!(
        "Machine speed: between the measurements, {PACKETS} packets of `{STACK}` (`target/release/examples/counted {STACK} \
         {PACKETS}`, one thread) took {} s",
        spread.text()
    );
    if let Some(table) = of_table {
        text += &format!(
            ", compared with {} s for the tables of [performance.md](performance.md#each-recovery): × {}",
            short(table),
            short(spread.median / table)
        );
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_compared_with_that_of_the_table() {
        let page = "| `le/reno` | 5 | 0.1 / 0.2 / 0.3 | 1 |\n| `rack/reno` | 5 | 0.116 / 0.118 / 0.119 | 0.1 |\n";
        assert_eq!(of_table(page), Some(0.118));
        assert_eq!(of_table("| `le/reno` | 5 | 0.1 / 0.2 / 0.3 |\n"), None);
        let text = told(&[0.236, 0.2, 0.3], Some(0.118));
        assert!(
            text.contains("took 0.200 / 0.236 / 0.300 s, compared with 0.118 s for"),
            "{text}"
        );
        assert!(text.ends_with(": × 2.00."), "{text}");
        assert!(told(&[0.2], None).ends_with("took 0.200 / 0.200 / 0.200 s."));
    }
}
