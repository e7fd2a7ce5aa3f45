//! Steps of a run with their wall and processor times, the table in docs/testing.md, and the budget on that page.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use dupack_build::root;
use serde::{Deserialize, Serialize};

/// The page with the table and the budget.
pub const PAGE: &str = "docs/testing.md";
/// Mark before the table in the page. `END` is the mark after the table.
const BEGIN: &str = "<!-- steps -->";
const END: &str = "<!-- end of steps -->";
/// Text before the budget in the page. The budget is in seconds of processor time.
const BUDGET: &str = "**Budget: ";

/// A finished step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub name: String,
    pub wall_s: f64,
    /// Processor time of all programs that the step started, in seconds; 0 if the system does not report this time.
    pub processor_s: f64,
    /// `true` if the step ran at the same time as another step, with a lower priority.
    #[serde(default)]
    pub beside: bool,
}

/// The finished steps.
#[derive(Debug, Default)]
pub struct Steps {
    pub done: Vec<Step>,
}

impl Steps {
    /// Runs a step and records its times.
    pub fn take<T>(
        &mut self,
        name: &str,
        step: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        eprintln!("\n── {name}");
        let (begin, before) = (now(), processor_time());
        let result = step();
        self.done.push(Step {
            name: name.to_owned(),
            wall_s: begin.elapsed().as_secs_f64(),
            processor_s: (processor_time() - before).as_secs_f64(),
            beside: false,
        });
        result
    }

    /// Adds the steps of another process that ran at the same time. The processor time of that process is subtracted
    /// from the last step, which waited for the process.
    pub fn took_beside(&mut self, steps: Vec<Step>) {
        let theirs: f64 = steps.iter().map(|step| step.processor_s).sum();
        if let Some(waited) = self.done.last_mut() {
            waited.processor_s = (waited.processor_s - theirs).max(0.0);
        }
        let beside = steps.into_iter().map(|step| Step {
            beside: true,
            ..step
        });
        self.done.extend(beside);
    }

    /// Returns the sum of processor times, in seconds.
    pub fn processor_s(&self) -> f64 {
        self.done.iter().map(|step| step.processor_s).sum()
    }

    /// Returns the sum of wall times, in seconds, of all steps that did not run at the same time as others.
    pub fn wall_s(&self) -> f64 {
        let alone = self.done.iter().filter(|step| !step.beside);
        alone.map(|step| step.wall_s).sum()
    }

    /// Returns a table with a line for each step, and a line for the sums.
    pub fn table(&self) -> String {
        let mut text = format!("{:42}{:>9}{:>14}\n", "step", "wall", "processor");
        for step in &self.done {
            let name = match step.beside {
                true => format!("  beside: {}", step.name),
                false => step.name.clone(),
            };
            text += &line(&name, step.wall_s, step.processor_s);
        }
        text + &line("all", self.wall_s(), self.processor_s())
    }

    /// Returns the same table in Markdown.
    fn markdown(&self) -> String {
        let mut text =
            "| step | wall time, s | processor time, s |\n| --- | --: | --: |\n".to_owned();
        for step in &self.done {
            let beside = if step.beside {
                " (beside the tests)"
            } else {
                ""
            };
            let (name, wall, processor) = (&step.name, step.wall_s, step.processor_s);
            text += &format!("| {name}{beside} | {wall:.0} | {processor:.0} |\n");
        }
        let (wall, processor) = (self.wall_s(), self.processor_s());
        text + &format!("| **all** | **{wall:.0}** | **{processor:.0}** |\n")
    }

    /// Writes the table, and a sentence about the run, into the page.
    ///
    /// # Errors
    /// If the page has no marks for the table, or cannot be read or written.
    pub fn record(&self, sentence: &str) -> Result<(), String> {
        let path = root().join(PAGE);
        let page = read(&path)?;
        let table = format!("\n{}\n{sentence}\n\n", self.markdown());
        let page = between(&page, &table)
            .ok_or_else(|| format!("{PAGE} has no `{BEGIN}` with an `{END}` after it"))?;
        fs::write(&path, page).map_err(|e| format!("cannot write {PAGE}: {e}"))
    }
}

fn line(name: &str, wall_s: f64, processor_s: f64) -> String {
    format!("{name:42}{wall_s:>7.1} s{processor_s:>12.1} s\n")
}

/// Returns `page` with `table` between the two marks.
fn between(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// Returns the budget of the first tier, in seconds of processor time. The page states the budget, which applies to a
/// build in an empty target folder.
///
/// # Errors
/// If the page cannot be read, or does not state the budget.
pub fn budget_s() -> Result<f64, String> {
    let page = read(&root().join(PAGE))?;
    budget_in(&page).ok_or_else(|| format!("{PAGE} has no line beginning with `{BUDGET}1,200 s`"))
}

fn budget_in(page: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(BUDGET))?;
    let (number, _) = line.split_once(" s")?;
    number.replace(',', "").parse().ok()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

#[expect(clippy::disallowed_methods, reason = "chores take real time")]
pub fn now() -> Instant {
    Instant::now()
}

/// Returns the processor time of all programs that this process has started and waited for.
#[cfg(unix)]
pub fn processor_time() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return Duration::ZERO;
    };
    let times = [usage.user_time(), usage.system_time()];
    let micros = times.map(|time| time.tv_sec() * 1_000_000 + time.tv_usec());
    Duration::from_micros(micros.iter().sum::<i64>().try_into().unwrap_or(0))
}

#[cfg(not(unix))]
pub fn processor_time() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, wall_s: f64, processor_s: f64) -> Step {
        Step {
            name: name.to_owned(),
            wall_s,
            processor_s,
            beside: false,
        }
    }

    fn some() -> Steps {
        let mut steps = Steps {
            done: vec![step("one", 1.3, 2.5), step("waited", 100.0, 60.0)],
        };
        steps.took_beside(vec![step("lint", 50.0, 40.0)]);
        steps
    }

    #[test]
    fn the_table_ends_with_sums_that_count_nothing_twice() {
        let expected = "\
step                                           wall     processor
one                                           1.3 s         2.5 s
waited                                      100.0 s        20.0 s
  beside: lint                               50.0 s        40.0 s
all                                         101.3 s        62.5 s
";
        assert_eq!(some().table(), expected);
    }

    #[test]
    fn the_new_table_replaces_the_old_one() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let new = between(&page, "new\n");
        assert_eq!(new, Some(format!("a\n{BEGIN}\nnew\n{END}\nb\n")));
        assert_eq!(between("no marks", "new"), None);
        assert!(
            some()
                .markdown()
                .ends_with("| **all** | **101** | **62** |\n")
        );
    }

    #[test]
    fn the_budget_is_read_from_the_page() {
        assert_eq!(budget_in("x\n**Budget: 1,250 s** of\n"), Some(1250.0));
        assert_eq!(budget_in("none"), None);
        assert!(budget_s().expect("the page says it") > 0.0);
    }

    #[cfg(unix)]
    #[test]
    fn processor_time_of_finished_programs_counts() {
        let mut steps = Steps::default();
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let busy = || {
            let status = std::process::Command::new("sh").args(["-c", work]).status();
            status.map(drop).map_err(|e| e.to_string())
        };
        steps.take("busy", busy).expect("there is a shell");
        assert!(steps.processor_s() > 0.0);
    }
}
