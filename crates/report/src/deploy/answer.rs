//! Linux support of the stacks in a comparison: text below the table, a section of the page, and JSON.

use dupack_algorithms::catalog::linux::{Place, Setting, Usual};
use dupack_algorithms::catalog::{Catalog, Deployment, Dialect, Kernel, Presence, StackSpec};
use dupack_lab::experiment::{EcnKind, SenderOptions};
use dupack_lab::results::verdict::{Answer, Mark};
use dupack_lab::results::{Answered, Contest, Measure, Medium};
use dupack_lab::units::Buffer;
use serde_json::Value;

use super::wire::WireCheck;
use super::{host, stack_json, ways};
use crate::page::{Block, Cell, Emphasis, Section};
use crate::table;

/// Linux's default sender, which is the baseline if Linux implements none of the stacks.
const LINUX_DEFAULT: &str = "kernel:cubic";

/// A stack of a comparison with its deployment in Linux.
pub(super) struct Candidate {
    pub(super) spec: StackSpec,
    pub(super) deployment: Deployment,
    /// The points at which the stack has a ★.
    pub(super) stars: Vec<String>,
    /// The points without a ★ at which the stack is undominated: it has a ☆, or the runs have no randomness.
    pub(super) open: Vec<String>,
}

impl Candidate {
    /// Returns `true` if the stack is undominated at one or more points.
    fn is_unbeaten(&self) -> bool {
        !self.stars.is_empty() || !self.open.is_empty()
    }
}

/// Returns the stacks of a comparison in their order. A testbed has no candidates, because its senders have already run
/// on real packets.
fn candidates(results: &Answered<'_>, catalog: &Catalog) -> Vec<Candidate> {
    if results.medium != Medium::Simulated {
        return Vec::new();
    }
    let verdicts = (0..results.points.len()).map(|point| (point, results.verdict(point)));
    let verdicts: Vec<_> = verdicts.collect();
    let at = |which: fn(&Contest, usize) -> bool, stack: usize| {
        let there = verdicts.iter().filter(|(_, verdict)| which(verdict, stack));
        let labels = there.map(|(point, _)| results.points[*point].label());
        labels.collect()
    };
    let all = results.stacks.iter().enumerate();
    all.filter_map(|(index, text)| {
        let spec = StackSpec::parse(text, catalog).ok()?;
        Some(Candidate {
            deployment: Deployment::of(&spec),
            stars: at(has_star, index),
            open: at(is_open, index),
            spec,
        })
    })
    .collect()
}

fn has_star(verdict: &Contest, stack: usize) -> bool {
    verdict.stacks[stack].mark == Mark::Star
}

/// Returns `true` if the point has no ★ and `stack` is undominated there.
fn is_open(verdict: &Contest, stack: usize) -> bool {
    let judgement = &verdict.stacks[stack];
    match &verdict.answer {
        Answer::TooMany(front) => front.contains(&stack),
        Answer::SameRuns | Answer::SameRunsOf(_) | Answer::OneRun => {
            let mut better = judgement.beaten_by.iter();
            let is_sound = |stack: usize| verdict.stacks[stack].warnings.is_empty();
            // A stack that delivers nothing is worthless even if it is undominated.
            let goodput = verdict.contenders[stack].mean(Measure::Goodput);
            goodput.is_some_and(|goodput| goodput > 0.0)
                && judgement.warnings.is_empty()
                && !better.any(|better| is_sound(better.stack))
        }
        _ => false,
    }
}

/// Returns the text below the table, or `None` if every stack is dominated. With a `kernel`, the text lists the stacks
/// that this kernel offers. Otherwise it names the stacks that can be turned on in Linux, among the stacks with a ★ and
/// the undominated stacks at points without a ★. The command for the check on real packets follows.
#[must_use]
pub fn text(
    results: &Answered<'_>,
    catalog: &Catalog,
    kernel: Option<&Kernel>,
    width: Option<u16>,
) -> Option<String> {
    let candidates = candidates(results, catalog);
    let mut text = match kernel {
        Some(kernel) => host::text(results, &candidates, kernel, width)?,
        None => of_any_linux(&candidates, width)?,
    };
    if let Some(check) = wire_check(results, &candidates, kernel) {
        text += &format!("On real packets{}:\n", check.rights());
        text += &check.lines(width);
        text.push('\n');
        if let Some(left_out) = &check.left_out {
            text += &table::paragraph(left_out, width);
        }
    }
    Some(text)
}

/// Returns one sentence about the stacks with a ★ that some version of Linux supports, and one about the undominated
/// stacks at points without a ★.
fn of_any_linux(candidates: &[Candidate], width: Option<u16>) -> Option<String> {
    let starred = |candidate: &Candidate| !candidate.stars.is_empty();
    let open = |candidate: &Candidate| candidate.stars.is_empty() && !candidate.open.is_empty();
    let lines = [
        on_linux("★ on Linux", candidates, starred),
        on_linux("Undominated, on Linux", candidates, open),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    if lines.is_empty() {
        return None;
    }
    let paragraphs = lines.iter().map(|line| table::paragraph(line, width));
    Some(paragraphs.collect())
}

/// Returns a sentence about the stacks that satisfy `which`: the stacks that can be turned on in Linux, and the command
/// that shows how.
fn on_linux(
    head: &str,
    candidates: &[Candidate],
    which: impl Fn(&Candidate) -> bool,
) -> Option<String> {
    let named = |possible: bool| -> Vec<String> {
        let all = candidates.iter().filter(|candidate| which(candidate));
        let those = all.filter(|c| c.deployment.is_possible() == possible);
        those.map(|candidate| candidate.spec.to_string()).collect()
    };
    Some(match (named(true).as_slice(), named(false).as_slice()) {
        ([], []) => return None,
        ([], missing) => format!(
            "{head}: none of {} is available; `dupack stacks {}` lists what is missing.",
            missing.join(", "),
            missing[0]
        ),
        (there, []) => format!(
            "{head}: {} can be turned on; `dupack stacks {}` shows how.",
            there.join(", "),
            there[0]
        ),
        (there, missing) => format!(
            "{head}: {} can be turned on (`dupack stacks {}` shows how); not available: {}.",
            there.join(", "),
            there[0],
            missing.join(", ")
        ),
    })
}

/// Returns the command that compares the undominated stacks that Linux supports with the kernel's own senders. If Linux
/// supports none of them, the command compares all undominated stacks with the kernel's default sender.
fn wire_check(
    results: &Answered<'_>,
    candidates: &[Candidate],
    kernel: Option<&Kernel>,
) -> Option<WireCheck> {
    let unbeaten = || candidates.iter().filter(|c| c.is_unbeaten());
    unbeaten().next()?;
    let mut senders = Vec::new();
    let mut modules = Vec::new();
    for candidate in unbeaten() {
        let Some(control) = candidate.deployment.counterpart() else {
            continue;
        };
        let is_ready = kernel.is_some_and(|kernel| kernel.presence(control) == Presence::Ready);
        let module = control.to_load().filter(|_| !is_ready);
        modules.extend(module.map(ToString::to_string));
        for sender in [
            candidate.spec.to_string(),
            format!("kernel:{}", control.name),
        ] {
            if !senders.contains(&sender) {
                senders.push(sender);
            }
        }
    }
    if senders.is_empty() {
        senders.extend(unbeaten().map(|candidate| candidate.spec.to_string()));
        senders.push(LINUX_DEFAULT.to_owned());
    }
    Some(WireCheck::of(&results.experiment, &senders)?.needing(modules))
}

/// Returns the section of the page, or `None` if none of the senders is a stack of the catalog.
#[must_use]
pub fn section(results: &Answered<'_>, catalog: &Catalog) -> Option<Section> {
    let candidates = candidates(results, catalog);
    if candidates.is_empty() {
        return None;
    }
    let mut blocks = vec![overview(&candidates, catalog)];
    let unbeaten = candidates.iter().filter(|c| c.is_unbeaten());
    for candidate in unbeaten.filter(|c| c.deployment.is_possible()) {
        blocks.push(recipe(candidate));
    }
    blocks.extend(of_the_experiment(results));
    if let Some(check) = wire_check(results, &candidates, None) {
        blocks.push(Block::Listing {
            caption: format!(
                "Check on real packets, with the path of this comparison{}. {}{}",
                check.rights(),
                check.caution(),
                check
                    .left_out
                    .as_ref()
                    .map_or(String::new(), |left_out| format!(" {left_out}"))
            ),
            text: check.lines(None),
        });
    }
    Some(Section {
        heading: "Deployment in Linux".to_owned(),
        blocks,
        ..Section::default()
    })
}

/// Returns a table of all stacks, with the points where each stack has a ★, and its support in Linux.
fn overview(candidates: &[Candidate], catalog: &Catalog) -> Block {
    let row = |candidate: &Candidate| {
        let Candidate {
            spec,
            deployment,
            stars,
            open,
        } = candidate;
        let (answer, emphasis) = match deployment.is_possible() {
            true => ("yes", Emphasis::Holds),
            false => ("no", Emphasis::Plain),
        };
        let marked = |mark: &str, points: &[String]| match (points.len(), points.concat()) {
            (0, _) => None,
            (_, labels) if labels.is_empty() => Some(mark.to_owned()),
            _ => Some(format!("{mark} {}", points.join(", "))),
        };
        let marks = [marked("★", stars), marked("undominated:", open)];
        let marks: Vec<String> = marks.into_iter().flatten().collect();
        let marks = marks.join("; ");
        vec![
            Cell::from(spec.to_string()),
            marks.trim_end_matches(':').into(),
            Cell::new(answer, emphasis),
            told(spec, deployment, catalog).into(),
        ]
    };
    Block::Table {
        caption:
            "Linux support of these stacks. Linux must have all parts of a stack. `dupack stacks STACK` prints \
             the same for any stack."
                .to_owned(),
        header: ["stack", "★", "in Linux", "commands, or missing parts"]
            .map(str::to_owned)
            .to_vec(),
        rows: candidates.iter().map(row).collect(),
    }
}

/// Returns the commands that turn on a stack, in a short form. If Linux does not support the stack, returns the parts
/// that Linux lacks and the most similar stack that it supports.
fn told(spec: &StackSpec, deployment: &Deployment, catalog: &Catalog) -> String {
    if deployment.is_possible() {
        let differs: Vec<&str> = deployment.differences().map(|(_, how)| how).collect();
        // Settings that are Linux's defaults are left out here. The recipes contain them for readers who have changed
        // them.
        let settings = deployment.settings.iter();
        let usual = settings.filter(|setting| setting.usual == Usual::Yes);
        let usual: Vec<String> = usual.map(Setting::command).collect();
        let mut commands = deployment.commands();
        commands.retain(|command| !usual.contains(command));
        let mut told = commands.join("; ");
        if !differs.is_empty() {
            told += &format!(" ({})", differs.join("; "));
        }
        return told;
    }
    let obstacles: Vec<String> = deployment
        .obstacles
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut told = obstacles.join(". ");
    if let Some(near) = catalog.nearest_deployable(spec) {
        told += &format!(". The most similar stack in Linux: {near}");
    }
    told
}

/// Returns the commands that turn on an undominated stack.
fn recipe(candidate: &Candidate) -> Block {
    let mut text = String::new();
    for (title, lines) in ways(&candidate.deployment) {
        text += &format!("# {title}\n{}\n\n", lines.join("\n"));
    }
    Block::Listing {
        caption: format!("To turn on {}", candidate.spec),
        text: text.trim_end().to_owned(),
    }
}

/// Returns the sender settings that all stacks of the comparison share, and the corresponding settings of Linux.
fn of_the_experiment(results: &Answered<'_>) -> Vec<Block> {
    let experiment = &results.experiment;
    let mut blocks = Vec::new();
    if experiment.dialect != Dialect::Linux {
        blocks.push(Block::text(format!(
            "These numbers use the dialect {}. Linux's senders have other defaults; --dialect linux compares the \
             stacks with them.",
            experiment.dialect
        )));
    }
    let (commands, fixed) = sender_settings(&experiment.sender);
    if !commands.is_empty() {
        blocks.push(Block::Listing {
            caption: "Settings of this comparison for all senders".to_owned(),
            text: commands.join("\n"),
        });
    }
    if !fixed.is_empty() {
        blocks.push(Block::text(format!(
            "Linux has no setting for these options of this comparison: {}.",
            fixed.join(", ")
        )));
    }
    blocks
}

/// Returns the commands that apply an experiment's sender settings, and the settings that no command can apply.
fn sender_settings(sender: &SenderOptions) -> (Vec<String>, Vec<&'static str>) {
    let SenderOptions {
        segment: _,
        header: _,
        initial_window,
        initial_ssthresh,
        max_window,
        min_rto,
        initial_rto,
        granularity,
        timestamps,
        credit,
        ecn,
    } = sender;
    let mut settings = Vec::new();
    let mut fixed = Vec::new();
    let route = |attribute: &'static str| Place::Route(attribute.into());
    match initial_window {
        Some(Buffer::Packets(segments)) => {
            settings.push(Setting::changed(route("initcwnd"), segments.to_string()));
        }
        Some(Buffer::Bytes(_)) => fixed.push("an initial window in bytes"),
        None => {}
    }
    if let Some(least) = min_rto {
        let millis = format!("{}ms", (least.as_seconds() * 1e3).round());
        settings.push(Setting::changed(route("rto_min"), millis));
    }
    if let Some(stamped) = timestamps {
        let key = Place::sysctl("net.ipv4.tcp_timestamps");
        settings.push(Setting::changed(key, if *stamped { "1" } else { "0" }));
    }
    let ecn = match ecn {
        Some(EcnKind::Classic(true)) => Some("1"),
        Some(EcnKind::Classic(false)) => Some("0"),
        Some(EcnKind::Named(_)) => Some("3"),
        None => None,
    };
    let key = || Place::sysctl("net.ipv4.tcp_ecn");
    settings.extend(ecn.map(|value| Setting::changed(key(), value)));
    let others = [
        (initial_ssthresh.is_some(), "initial_ssthresh"),
        (max_window.is_some(), "max_window"),
        (initial_rto.is_some(), "initial_rto"),
        (granularity.is_some(), "granularity"),
        (credit.is_some(), "credit"),
    ];
    fixed.extend(
        others
            .iter()
            .filter(|(is_set, _)| *is_set)
            .map(|(_, name)| *name),
    );
    (settings.iter().map(Setting::command).collect(), fixed)
}

/// Returns the Linux support of each stack as JSON.
#[must_use]
pub fn json(results: &Answered<'_>, catalog: &Catalog) -> Vec<Value> {
    let candidates = candidates(results, catalog);
    let all = candidates.iter();
    all.map(|candidate| stack_json(&candidate.spec, catalog))
        .collect()
}
