//! docs/mutants.md.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::known::{Found, Known};
use super::mutant::Mutant;
use super::reasons::Reasons;

/// What the page is made of.
pub struct Page<'a> {
    pub all: &'a [Mutant],
    /// The sample, or all.
    pub chosen: &'a [&'a Mutant],
    pub known: &'a Known,
    pub reasons: &'a Reasons,
    pub commit: String,
    /// Of cargo-mutants.
    pub version: String,
}

/// What was found of some.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    all: usize,
    chosen: usize,
    caught: usize,
    missed: usize,
    unviable: usize,
    /// Missed by the first tests, and not tried with the last.
    undecided: usize,
}

impl Counts {
    fn add(&mut self, found: Option<Found>, has_begun: bool) {
        self.chosen += 1;
        match found {
            Some(Found::Caught | Found::TimedOut) => self.caught += 1,
            Some(Found::Missed) => self.missed += 1,
            Some(Found::Unviable) => self.unviable += 1,
            Some(Found::Doubted) | None => self.undecided += usize::from(has_begun),
        }
    }

    fn tried(&self) -> usize {
        self.caught + self.missed + self.unviable
    }

    /// How much of what could be caught was, in per cent. Nothing before all are tried: those that are caught are known
    /// first.
    fn score(&self) -> String {
        match self.caught + self.missed {
            0 => "–".to_owned(),
            _ if self.tried() < self.chosen => "–".to_owned(),
            all => format!("{:.0} %", 100.0 * self.caught as f64 / all as f64),
        }
    }

    fn row(&self, name: &str) -> String {
        let Self {
            all,
            chosen,
            caught,
            missed,
            unviable,
            undecided: _,
        } = self;
        let score = self.score();
        format!("| {name} | {all} | {chosen} | {caught} | {missed} | {unviable} | {score} |\n")
    }
}

impl Page<'_> {
    /// Those that no test noticed, in the order of the sources.
    pub fn survivors(&self) -> Vec<&Mutant> {
        let is = |mutant: &&&Mutant| self.known.verdict(mutant) == Some(Found::Missed);
        let mut survivors: Vec<&Mutant> = self.chosen.iter().filter(is).copied().collect();
        let place = |mutant: &Mutant| {
            let mut numbers = mutant.name.split(':').skip(1).map_while(|n| n.parse().ok());
            let line: usize = numbers.next().unwrap_or(0);
            (line, numbers.next().unwrap_or(0))
        };
        survivors.sort_by_key(|mutant| (mutant.file.clone(), place(mutant)));
        survivors
    }

    fn counts(&self) -> (Counts, BTreeMap<&str, Counts>) {
        let mut total = Counts::default();
        let mut files: BTreeMap<&str, Counts> = BTreeMap::new();
        for mutant in self.all {
            total.all += 1;
            files.entry(&mutant.file).or_default().all += 1;
        }
        for mutant in self.chosen {
            let found = self.known.verdict(mutant);
            let has_begun = self.known.has_begun(mutant);
            total.add(found, has_begun);
            files.entry(&mutant.file).or_default().add(found, has_begun);
        }
        (total, files)
    }

    /// In a line.
    pub fn in_short(&self) -> String {
        let (total, _) = self.counts();
        format!(
            "{} of {} mutants tried: {} caught, {} survived, {} did not compile",
            total.tried(),
            total.chosen,
            total.caught,
            total.missed,
            total.unviable
        )
    }

    pub fn text(&self) -> String {
        let (total, files) = self.counts();
        let mut text = "# Mutants\n\n".to_owned();
        text.push_str(
            "Do the tests detect wrong code? cargo-mutants makes one small change at a time (a mutant: `<` instead of `<=`, a \
             function\nthat returns a constant, a `match` without one of its arms) in the endpoint, the recoveries and the \
             congestion controls.\nFor each mutant the crate's own tests run, for the endpoint also the tests of the plug-ins, \
             and for the remaining mutants\nconformance scripts, hostile networks, and tests of connections state by state. \
             Trace hashes and the comparison with ns-2\nare not used: they show that something changed, not that it is wrong. \
             A mutant whose tests do not terminate counts as\ncaught; a mutant that does not compile is not counted. `cargo \
             xtask mutants` generates this page.\n\n",
        );
        let _ = writeln!(
            text,
            "{}, sources of {}: {} mutants{}.\n{}\n",
            self.version,
            self.commit,
            total.all,
            self.sample(&total),
            verdict(&total)
        );
        text.push_str(
            "A result remains valid until the surrounding function changes.\n\n\
             | file | mutants | chosen | caught | survived | not compiled | score |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
        for (file, counts) in &files {
            text.push_str(&counts.row(&format!("`{}`", file.trim_start_matches("crates/"))));
        }
        text.push_str(&total.row("**all**"));
        text.push_str(&self.table());
        text
    }

    fn sample(&self, total: &Counts) -> String {
        let mut text = String::new();
        if total.chosen < total.all {
            let _ = write!(
                text,
                "; a fixed seed draws a sample of {} from all files",
                total.chosen
            );
        }
        if total.tried() < total.chosen {
            let _ = write!(text, "; {} of these are tried so far", total.tried());
        }
        text
    }

    /// The survivors.
    fn table(&self) -> String {
        let survivors = self.survivors();
        if survivors.is_empty() {
            return "\nNo mutant survived.\n".to_owned();
        }
        let mut text = "\n## Survivors\n\n".to_owned();
        let mut file = "";
        for mutant in survivors {
            if file != mutant.file {
                file = &mutant.file;
                let name = file.trim_start_matches("crates/");
                let _ = write!(text, "### `{name}`\n\n| mutant | reason |\n| --- | --- |\n");
            }
            let why = self.reasons.of(mutant).map_or_else(
                || "**not explained**".to_owned(),
                |reason| format!("{}: {}", reason.class, reason.why),
            );
            // Code is read as it stands, but for what ends a cell.
            let change = mutant.change().replace('|', "\\|");
            let _ = writeln!(text, "| `{change}` | {why} |");
        }
        text
    }
}

/// The score, or how far it is from one.
fn verdict(total: &Counts) -> String {
    let Counts {
        caught,
        missed,
        unviable,
        undecided,
        ..
    } = *total;
    if total.tried() < total.chosen {
        return format!(
            "{caught} are caught, {missed} survived, {unviable} did not compile, and {undecided} survived the first tests but were \
             not tried\nwith the others yet. The score follows when all are tried."
        );
    }
    let all = caught + missed;
    let score = total.score();
    format!("**{caught} of {all} caught, {score}**; {unviable} did not compile.")
}

#[cfg(test)]
mod tests {
    use super::super::known::Finding;
    use super::super::mutant::tests::mutant;
    use super::super::stage::Stage;
    use super::*;

    #[test]
    fn the_page_counts_and_tells_survivors() {
        let folder = tempfile::tempdir().unwrap();
        let mut known = Known::open(folder.path()).unwrap();
        let all: Vec<Mutant> = (1..=5).map(|key| mutant("crates/a.rs", key)).collect();
        let found = [
            (Found::Caught, Stage::Own),
            (Found::TimedOut, Stage::PlugIns),
            (Found::Missed, Stage::Whole),
            (Found::Unviable, Stage::Own),
        ];
        for (mutant, (found, stage)) in all.iter().zip(found) {
            known.note(Finding::of(mutant, found, stage)).unwrap();
        }
        let page = Page {
            all: &all,
            chosen: &all.iter().collect::<Vec<_>>(),
            known: &known,
            reasons: &Reasons::default(),
            commit: "`abc`".to_owned(),
            version: "cargo-mutants 27".to_owned(),
        };
        assert_eq!(page.survivors(), [&all[2]]);
        let text = page.text();
        assert!(
            text.contains("| `a.rs` | 5 | 5 | 2 | 1 | 1 | – |"),
            "{text}"
        );
        assert!(text.contains("4 of these are tried so far"), "{text}");
        assert!(text.contains("The score follows when all are tried"));
        assert!(text.contains("| `replace < with <= in f: a < b` | **not explained** |"));
        let page = Page {
            chosen: &all[..4].iter().collect::<Vec<_>>(),
            ..page
        };
        let text = page.text();
        assert!(text.contains("**2 of 3 caught, 67 %**"), "{text}");
    }
}
