//! The page docs/conformance.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::reasons::Reasons;
use super::results::{Played, Results, ScriptOutcome};
use super::suites::{Scope, Suite};
use super::{Known, STACKS};

/// Contents of the page.
pub struct Page<'p> {
    pub suites: &'p Known<'p>,
    pub ours: &'p Results,
    /// Results of our own scripts with each stack.
    pub stacks: &'p [(&'p str, Results)],
    pub kernel: Option<Results>,
    pub reasons: &'p Reasons,
}

/// Number of scripts by outcome.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Counts {
    fn of<'r>(played: impl Iterator<Item = &'r Played>) -> Self {
        let mut counts = Self::default();
        for one in played {
            match one.outcome {
                ScriptOutcome::Passed => counts.passed += 1,
                ScriptOutcome::Failed => counts.failed += 1,
                ScriptOutcome::Skipped => counts.skipped += 1,
            }
        }
        counts
    }

    const fn all(self) -> usize {
        self.passed + self.failed + self.skipped
    }

    fn row(self, name: &str) -> String {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        format!(
            "| {name} | {} | {passed} | {failed} | {skipped} |\n",
            self.all()
        )
    }
}

const HEAD: &str =
    "| | scripts | passed | failed | skipped |\n| --- | ---: | ---: | ---: | ---: |\n";

impl Page<'_> {
    /// Returns the page.
    pub fn text(&self) -> String {
        let mut text = "# Conformance\n\n".to_owned();
        text.push_str(
            "The results of packetdrill scripts against our endpoint. `dupack script` plays them with `rack/cubic`, dialect \
             `linux` and a\ntolerance of 4 ms, unless a script sets something else. A script that needs an unsupported feature \
             is skipped, and a skipped\nscript never counts as passed. The repository has no copies of third-party scripts: \
             `validation/peers/packetdrill` has their names,\nresults, and reasons for failures. `cargo measure conformance` generates this \
             page; [scripts.md](scripts.md) describes the\nlanguage.\n\n",
        );
        text.push_str(&self.overview());
        for (suite, results) in self.suites {
            text.push_str(&self.suite(suite, results));
        }
        text.push_str(&self.ours());
        if let Some(kernel) = &self.kernel {
            text.push_str(&self.kernel(kernel));
        }
        text
    }

    fn overview(&self) -> String {
        let mut text = HEAD.to_owned();
        for (suite, results) in self.suites {
            let of = |scope| {
                let found = results.played.iter();
                Counts::of(found.filter(move |p| suite.scope(&p.script) == scope))
            };
            if !suite.counted.is_empty() {
                let counted =
                    |p: &&Played| suite.counted.iter().any(|c| c == suite.group(&p.script));
                let counts = Counts::of(results.played.iter().filter(counted));
                let name = format!("{}: recovery and congestion control", suite.name);
                text.push_str(&counts.row(&name));
            }
            text.push_str(&of(Scope::In).row(&format!("{}: all in scope", suite.name)));
            for apart in &suite.apart {
                let counts = of(Scope::Apart);
                if counts.all() > 0 {
                    text.push_str(&counts.row(&format!("{}: {}", suite.name, apart.name)));
                }
            }
        }
        text.push_str(&Counts::of(self.ours.played.iter()).row("our own scripts"));
        if let Some(kernel) = &self.kernel {
            let name = format!("our own scripts, {}", kernel.revision);
            text.push_str(&Counts::of(kernel.played.iter()).row(&name));
        }
        text.push('\n');
        text
    }

    fn suite(&self, suite: &Suite, results: &Results) -> String {
        let mut text = format!("## {}\n\n", suite.name);
        let _ = writeln!(text, "{}, version `{}`.\n", suite.source, results.revision);
        if let Some(note) = &suite.note {
            let _ = writeln!(text, "{}\n", note.trim());
        }
        let mut groups: BTreeMap<&str, Vec<&Played>> = BTreeMap::new();
        let inside = |p: &&Played| suite.scope(&p.script) != Scope::Out;
        for played in results.played.iter().filter(inside) {
            groups
                .entry(suite.group(&played.script))
                .or_default()
                .push(played);
        }
        text.push_str(HEAD);
        for (name, played) in &groups {
            let counts = Counts::of(played.iter().copied());
            let counted = suite.counted.iter().any(|counted| counted == name);
            let name = if counted {
                format!("**{name}**")
            } else {
                (*name).to_owned()
            };
            text.push_str(&counts.row(&name));
        }
        text.push('\n');
        if !suite.counted.is_empty() {
            text.push_str("Folders in **bold** are about recovery and congestion control.\n\n");
        }
        text.push_str(&self.failures(&suite.key, &results.played, &|p| {
            suite.scope(&p.script) != Scope::Out
        }));
        text.push_str(&skips(results, suite));
        if !suite.out_of_scope.is_empty() {
            text.push_str("Out of scope:\n\n");
            let mut told: Vec<&str> = Vec::new();
            for out in &suite.out_of_scope {
                if !told.contains(&&*out.why) {
                    let _ = writeln!(text, "- {}", out.why);
                    told.push(&out.why);
                }
            }
            text.push('\n');
        }
        text
    }

    /// Returns the list of failing scripts, with the reasons.
    fn failures(&self, key: &str, played: &[Played], counts: &dyn Fn(&Played) -> bool) -> String {
        let failed = |p: &&Played| p.outcome == ScriptOutcome::Failed && counts(p);
        if !played.iter().any(|p| failed(&p)) {
            return String::new();
        }
        let mut text =
            "| failed script | line | difference | reason |\n| --- | --- | --- | --- |\n"
                .to_owned();
        for one in played.iter().filter(failed) {
            let why = match self.reasons.find(key, &one.script) {
                None => "**not explained**".to_owned(),
                Some(reason) => {
                    let linux = reason.linux.as_ref();
                    let place = linux.map_or_else(String::new, |place| format!(" ({place})"));
                    format!("{}: {}{place}", reason.class, reason.why)
                }
            };
            let (script, line) = (&one.script, one.line);
            let _ = writeln!(
                text,
                "| {script} | {line} | {} | {} |",
                cell(&one.reason),
                cell(&why)
            );
        }
        text.push('\n');
        text
    }

    fn ours(&self) -> String {
        let mut text = "## Our own scripts\n\n".to_owned();
        text.push_str(
            "Each script in `crates/script/conformance` tests a clause of an RFC, which its first line names.\n\n| RFC | scripts | passed | sections |\n| --- | ---: | ---: | --- |\n",
        );
        let mut rfcs: BTreeMap<u32, Vec<&Played>> = BTreeMap::new();
        for played in &self.ours.played {
            let folder = played.script.split('/').next().unwrap_or_default();
            let number = folder.trim_start_matches("rfc").parse().unwrap_or(0);
            rfcs.entry(number).or_default().push(played);
        }
        for (rfc, played) in &rfcs {
            let counts = Counts::of(played.iter().copied());
            let mut sections: Vec<&str> =
                played.iter().filter_map(|p| section(&p.script)).collect();
            sections.dedup();
            let (all, passed, sections) = (counts.all(), counts.passed, sections.join(", "));
            let _ = writeln!(text, "| {rfc} | {all} | {passed} | {sections} |");
        }
        text.push('\n');
        text.push_str(&self.failures("ours", &self.ours.played, &|_| true));
        text.push_str(&self.by_stack());
        text
    }

    /// Returns a table of the results of our scripts with each stack.
    fn by_stack(&self) -> String {
        let mut text = "The same scripts with explicit stacks. They are written for `rack/cubic`, so that legitimate differences of \
             another recovery, or another\ncontrol's window, count as failures here.\n\n"
            .to_owned();
        text.push_str(HEAD);
        for name in STACKS {
            if let Some((_, results)) = self.stacks.iter().find(|(stack, _)| *stack == name) {
                text.push_str(&Counts::of(results.played.iter()).row(&format!("`{name}`")));
            }
        }
        text.push('\n');
        text
    }

    fn kernel(&self, kernel: &Results) -> String {
        let mut text = "## Differences between the kernel and the RFCs\n\n".to_owned();
        let _ = writeln!(
            text,
            "packetdrill plays our own scripts against {}, each in its own network namespace, with CUBIC and a tolerance\n\
             of 10 ms: {}. A failing script is tried three times.\n",
            kernel.revision,
            kernel.in_short()
        );
        text.push_str(&self.failures("kernel", &kernel.played, &|_| true));
        text
    }
}

/// Returns a table of the features that skipped scripts need, with the scripts.
fn skips(results: &Results, suite: &Suite) -> String {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let inside = |p: &&Played| suite.scope(&p.script) != Scope::Out;
    for played in results.with(ScriptOutcome::Skipped).filter(inside) {
        reasons
            .entry(&played.reason)
            .or_default()
            .push(&played.script);
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut text = "| unsupported feature | skipped scripts |\n| --- | --- |\n".to_owned();
    for (reason, scripts) in &reasons {
        let _ = writeln!(text, "| {} | {} |", cell(reason), scripts.join(", "));
    }
    text.push('\n');
    text
}

/// Returns the section of the RFC that a script of ours tests: `rfc9293/3.5-passive-open.pkt`.
fn section(script: &str) -> Option<&str> {
    let name = script.rsplit('/').next()?;
    name.split('-').next()
}

/// Escapes text for a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace(['\n', '\t'], " ")
        .replace('<', "&lt;")
}
