//! Stacks of a comparison that a kernel offers, in the order of the answer, with the commands that turn on each stack.

use dupack_algorithms::catalog::{Deployment, Dialect, Kernel, StackSpec};
use dupack_lab::results::{Measure, Prefer, Results};

use super::answer::Candidate;
use crate::table::{columns_of, paragraph};
use crate::wrap::indented;

/// Maximum number of stacks that the text lists.
const MOST: usize = 3;

/// A stack that the kernel supports.
struct Offered<'c> {
    spec: &'c StackSpec,
    /// Sort key: the stack with the largest value comes first.
    merit: f64,
    commands: Vec<String>,
    told: String,
}

/// Returns the stacks of `results` that `kernel` offers, with a sentence about each stack and its commands. The stack
/// that is best by the reader's preference comes first. Returns `None` if there are no candidates.
pub(super) fn text(
    results: &Results,
    candidates: &[Candidate],
    kernel: &Kernel,
    width: Option<u16>,
) -> Option<String> {
    if candidates.is_empty() {
        return None;
    }
    let mut offered: Vec<Offered<'_>> = { candidates.iter().enumerate() }
        .filter_map(|(stack, candidate)| offer(results, (stack, candidate), kernel))
        .collect();
    let name = kernel.name();
    if offered.is_empty() {
        let none = format!(
            "On {name}: none of these stacks is available. --deployable compares those that are."
        );
        return Some(paragraph(&none, width));
    }
    offered.sort_by(|a, b| b.merit.total_cmp(&a.merit));
    let order = match results.prefer {
        Some(Prefer::Delay) => "lowest delay first",
        Some(Prefer::Friendly) => "least harm first",
        _ => "highest goodput first",
    };
    let mut text = paragraph(&format!("On {name}, {order}, as root:"), width);
    for (place, one) in offered.iter().take(MOST).enumerate() {
        let told = format!("{}: {}", one.spec, one.told);
        let told = indented(&told, 3, columns_of(width));
        text += &format!("{}. {}\n", place + 1, told.trim_start());
        text.extend(
            one.commands
                .iter()
                .map(|command| format!("     {command}\n")),
        );
    }
    Some(text)
}

fn offer<'c>(
    results: &Results,
    (stack, candidate): (usize, &'c Candidate),
    kernel: &Kernel,
) -> Option<Offered<'c>> {
    let commands = kernel.commands(&candidate.deployment)?;
    let unbeaten = candidate.stars.len() + candidate.open.len();
    let points = 0..results.points.len();
    let mean = |measure| {
        let means = points
            .clone()
            .filter_map(move |point| results.summary(point, stack, measure));
        means.map(|summary| summary.mean).collect::<Vec<f64>>()
    };
    let goodputs = mean(Measure::Goodput);
    let harms = mean(Measure::HarmGoodput);
    let merit = match results.prefer {
        Some(Prefer::Delay) => -average(&mean(Measure::DelayP95)),
        Some(Prefer::Friendly) => -average(&harms),
        _ => geometric(&goodputs),
    };
    let place = match candidate.spec.needs(Dialect::Linux).exact_echo {
        true => "; only for data centres whose queues mark packets (RFC 8257 §5)",
        false => "",
    };
    Some(Offered {
        spec: &candidate.spec,
        merit,
        commands,
        told: sentence(results, (unbeaten, &goodputs), &harms) + place,
    })
}

/// Returns a sentence about a stack: its goodput, the number of points at which it is undominated, and its harm to
/// other flows.
fn sentence(results: &Results, (unbeaten, goodputs): (usize, &[f64]), harms: &[f64]) -> String {
    let all = results.points.len();
    let mut parts = Vec::new();
    if let Some(told) = range(goodputs, |goodput| format!("{goodput:.2}")) {
        parts.push(format!("{told} Mbit/s"));
    }
    match (unbeaten, all) {
        (0, 1) => parts.push("dominated by another stack".to_owned()),
        (_, 1) => parts.push("undominated".to_owned()),
        (0, _) => parts.push("dominated at every point".to_owned()),
        (n, _) => parts.push(format!("undominated at {n} of {all} points")),
    }
    let most = harms.iter().copied().max_by(f64::total_cmp);
    parts.extend(most.map(|harm| match harm {
        ..0.02 => "takes no more from a CUBIC flow than another CUBIC flow does".to_owned(),
        _ => format!(
            "takes up to {:.0} % of a CUBIC flow's goodput",
            harm * 100.0
        ),
    }));
    parts.join("; ")
}

/// Returns the range of `numbers`, or a single number if both ends have the same text.
fn range(numbers: &[f64], show: impl Fn(f64) -> String) -> Option<String> {
    let least = numbers.iter().copied().min_by(f64::total_cmp)?;
    let most = numbers.iter().copied().max_by(f64::total_cmp)?;
    Some(match (show(least), show(most)) {
        (one, other) if one == other => one,
        (one, other) => format!("{one} to {other}"),
    })
}

fn average(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// Returns the geometric mean. The mean is zero if one of the numbers is zero.
fn geometric(numbers: &[f64]) -> f64 {
    let logs: Vec<f64> = numbers.iter().map(|number| number.ln()).collect();
    average(&logs).exp()
}

/// Returns the stacks that `kernel` offers, and the other stacks, each with the reason why the kernel lacks it.
#[must_use]
pub fn offered_by(
    kernel: &Kernel,
    stacks: Vec<StackSpec>,
) -> (Vec<StackSpec>, Vec<(StackSpec, String)>) {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for stack in stacks {
        let deployment = Deployment::of(&stack);
        if kernel.commands(&deployment).is_some() {
            there.push(stack);
            continue;
        }
        let obstacles: Vec<String> = deployment
            .obstacles
            .iter()
            .map(ToString::to_string)
            .collect();
        let why = match (obstacles.is_empty(), &deployment.control) {
            (true, Some(control)) => format!("{} has no `{}`", kernel.name(), control.name),
            _ => obstacles.join("; "),
        };
        missing.push((stack, why));
    }
    (there, missing)
}
