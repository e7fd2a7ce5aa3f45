//! What of a comparison's answer can be turned on in Linux: below the table, in the page, in JSON.

use dupack_algorithms::catalog::linux::{Place, Setting, Usual};
use dupack_algorithms::catalog::{Catalog, Deployment, Dialect, Kernel, Presence, StackSpec};
use dupack_lab::experiment::{EcnKind, SenderOptions};
use dupack_lab::results::verdict::{Answer, Mark};
use dupack_lab::results::{Answered, Measure, Medium, Verdict};
use dupack_lab::units::Buffer;
use serde_json::Value;

use super::wire::WireCheck;
use super::{host, stack_json, ways};
use crate::page::{Block, Cell, Emphasis, Section};
use crate::table;

/// What Linux's senders are measured against where none of the stacks is in Linux: its default.
const LINUX_DEFAULT: &str = "kernel:cubic";

/// A stack of a comparison, and what of it Linux has.
pub(super) struct Candidate {
    pub(super) spec: StackSpec,
    pub(super) deployment: Deployment,
    /// The points at which it has a ★.
    pub(super) stars: Vec<String>,
    /// The points without a ★ at which nothing beats it: it has a ☆, or chance had no part in the runs.
    pub(super) open: Vec<String>,
}

impl Candidate {
    /// Whether there is a point at which nothing beats it.
    fn is_unbeaten(&self) -> bool {
        !self.stars.is_empty() || !self.open.is_empty()
    }
}

/// The stacks of a comparison in their order. Those of a testbed are none: they were on real packets.
fn candidates(results: &Answered<'_>, catalog: &Catalog) -> Vec<Candidate> {
    if results.medium != Medium::Simulated {
        return Vec::new();
    }
    let verdicts = (0..results.points.len()).map(|point| (point, results.verdict(point)));
    let verdicts: Vec<_> = verdicts.collect();
    let at = |which: fn(&Verdict, usize) -> bool, stack: usize| {
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

fn has_star(verdict: &Verdict, stack: usize) -> bool {
    verdict.stacks[stack].mark == Mark::Star
}

/// Whether nothing beats a stack at a point that has no ★.
fn is_open(verdict: &Verdict, stack: usize) -> bool {
    let judgement = &verdict.stacks[stack];
    match &verdict.answer {
        Answer::TooMany(front) => front.contains(&stack),
        Answer::SameRuns | Answer::SameRunsOf(_) | Answer::OneRun => {
            let mut better = judgement.beaten_by.iter();
            let is_sound = |stack: usize| verdict.stacks[stack].warnings.is_empty();
            // Where nothing gets across, nothing beats nobody.
            let goodput = verdict.contenders[stack].mean(Measure::Goodput);
            goodput.is_some_and(|goodput| goodput > 0.0)
                && judgement.warnings.is_empty()
                && !better.any(|better| is_sound(better.stack))
        }
        _ => false,
    }
}

/// What is to be said below the table: which stacks `kernel` offers; without one, of the stacks with a ★, and of
/// those that nothing beats where there is none, which can be turned on. And the command that checks it. Nothing, if
/// every stack is beaten.
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

/// Of the stacks with a ★, and of those that nothing beats where there is none, which some Linux has.
fn of_any_linux(candidates: &[Candidate], width: Option<u16>) -> Option<String> {
    let starred = |candidate: &Candidate| !candidate.stars.is_empty();
    let open = |candidate: &Candidate| candidate.stars.is_empty() && !candidate.open.is_empty();
    let lines = [
        on_linux("★ on Linux", candidates, starred),
        on_linux("Beaten by none, on Linux", candidates, open),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    if lines.is_empty() {
        return None;
    }
    let paragraphs = lines.iter().map(|line| table::paragraph(line, width));
    Some(paragraphs.collect())
}

/// Which of those stacks can be turned on, and what says how.
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
            "{head}: none of {} is there; `dupack stacks {}` says what is missing.",
            missing.join(", "),
            missing[0]
        ),
        (there, []) => format!(
            "{head}: {} can be turned on; `dupack stacks {}` says how.",
            there.join(", "),
            there[0]
        ),
        (there, missing) => format!(
            "{head}: {} can be turned on (`dupack stacks {}` says how); not there: {}.",
            there.join(", "),
            there[0],
            missing.join(", ")
        ),
    })
}

/// The command that has the stacks that nothing beats and that Linux has beside the kernel's own; where it
/// has none of them, all that nothing beats beside the kernel's default.
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

/// The section of the page; nothing, if none of the senders is a stack.
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
                "The check on real packets, with the path of this comparison{}. {}{}",
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
        heading: "Turning it on".to_owned(),
        blocks,
        ..Section::default()
    })
}

/// Every stack: where it has a ★, and whether Linux has it.
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
        let marks = [marked("★", stars), marked("beaten by none:", open)];
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
            "What of these stacks Linux has today. All parts of a stack must be there together. \
                  `dupack stacks STACK` says the same of any stack."
                .to_owned(),
        header: ["stack", "★", "in Linux", "how, or what is missing"]
            .map(str::to_owned)
            .to_vec(),
        rows: candidates.iter().map(row).collect(),
    }
}

/// How a stack is turned on in short, or what is missing and what comes nearest.
fn told(spec: &StackSpec, deployment: &Deployment, catalog: &Catalog) -> String {
    if deployment.is_possible() {
        let differs: Vec<&str> = deployment.differences().map(|(_, how)| how).collect();
        // What is Linux's default is in the recipes, for who has changed it.
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
        told += &format!(". The nearest that is there: {near}");
    }
    told
}

/// The commands for a stack that nothing beats.
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

/// What the comparison says of its senders beside their stacks, and what sets that in Linux.
fn of_the_experiment(results: &Answered<'_>) -> Vec<Block> {
    let experiment = &results.experiment;
    let mut blocks = Vec::new();
    if experiment.dialect != Dialect::Linux {
        blocks.push(Block::text(format!(
            "These numbers are by the dialect {}. Linux's senders have other defaults: --dialect linux compares them \
             as Linux has them.",
            experiment.dialect
        )));
    }
    let (commands, fixed) = sender_settings(&experiment.sender);
    if !commands.is_empty() {
        blocks.push(Block::Listing {
            caption: "What this comparison sets for all senders".to_owned(),
            text: commands.join("\n"),
        });
    }
    if !fixed.is_empty() {
        blocks.push(Block::text(format!(
            "Nothing in Linux sets what this comparison sets for all senders: {}.",
            fixed.join(", ")
        )));
    }
    blocks
}

/// The commands for what an experiment sets for its senders, and what has none.
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

/// What of each stack Linux has, for programs.
#[must_use]
pub fn json(results: &Answered<'_>, catalog: &Catalog) -> Vec<Value> {
    let candidates = candidates(results, catalog);
    let all = candidates.iter();
    all.map(|candidate| stack_json(&candidate.spec, catalog))
        .collect()
}
