//! Every effective parameter, and where it comes from.

use dupack_algorithms::catalog::dialect::settings;
use dupack_algorithms::catalog::{Origin, StackSpec};

use super::build::{DEFAULT_BUFFER, Endpoints, Scenario};
use crate::experiment::{Experiment, LinkOptions};
use crate::results::Parameter;

/// The parameters of an experiment, for the stacks of its first point.
pub(super) fn parameters(e: &Experiment, scenarios: &[Scenario]) -> Vec<Parameter> {
    let mut out = Vec::new();
    run(e, &mut out);
    if let Some(path) = &e.path {
        link("path", path, e, &mut out);
    }
    for (n, options) in e.links.iter().enumerate() {
        let owner = match &options.between {
            Some([a, b]) => format!("link {a} – {b}"),
            None => format!("link {n}"),
        };
        link(&owner, options, e, &mut out);
    }
    let mut seen: Vec<&StackSpec> = Vec::new();
    for scenario in scenarios {
        for stack in std::iter::once(&scenario.stack).chain(&scenario.group_stacks) {
            if !seen.contains(&stack) {
                seen.push(stack);
                self::stack(stack, e, &mut out);
                endpoint(stack, e, &mut out);
            }
        }
    }
    out
}

fn given(e: &Experiment, key: &str) -> &'static str {
    if e.sweep.contains_key(key) {
        "swept"
    } else {
        "given"
    }
}

fn push(out: &mut Vec<Parameter>, owner: &str, name: &str, value: String, source: &str) {
    out.push(Parameter {
        owner: owner.to_owned(),
        name: name.to_owned(),
        value,
        source: source.to_owned(),
    });
}

fn run(e: &Experiment, out: &mut Vec<Parameter>) {
    let dialect = format!("{:?}", e.dialect).to_lowercase();
    push(out, "run", "dialect", dialect, given(e, "dialect"));
    push(
        out,
        "run",
        "duration",
        e.duration.to_string(),
        given(e, "duration"),
    );
    push(
        out,
        "run",
        "warm_up",
        e.warm_up.to_string(),
        given(e, "warm_up"),
    );
    let seeds = e.seeds.to_vec();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    push(out, "run", "seeds", seeds.join(" "), "given");
    for (key, values) in &e.sweep {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        push(out, "sweep", key, values.join(", "), "given");
    }
}

fn link(owner: &str, link: &LinkOptions, e: &Experiment, out: &mut Vec<Parameter>) {
    let mut add = |name: &str, value: String| {
        push(out, owner, name, value, given(e, &format!("path.{name}")));
    };
    if let Some(rate) = link.rate {
        add("rate", rate.to_string());
    }
    if let Some(trace) = &link.trace {
        add("trace", trace.display().to_string());
    }
    add("delay", link.delay.to_string());
    add("loss", link.loss.to_string());
    if let Some(burst) = &link.burst_loss {
        add(
            "burst_loss",
            format!(
                "enter {} leave {} good {} bad {}",
                burst.enter, burst.leave, burst.good, burst.bad
            ),
        );
    }
    let drop: Vec<String> = link.drop.iter().map(ToString::to_string).collect();
    if !drop.is_empty() {
        add("drop", drop.join(", "));
    }
    if let Some(reorder) = &link.reorder {
        add(
            "reorder",
            format!("{} by {}", reorder.probability, reorder.delay),
        );
    }
    add("duplicate", link.duplicate.to_string());
    add("jitter", link.jitter.to_string());
    add("queue", format!("{:?}", link.queue).to_lowercase());
    if let Some(red) = &link.red {
        add(
            "red",
            format!(
                "min {} max {} probability {} weight {} gentle {}",
                red.min, red.max, red.probability, red.weight, red.gentle
            ),
        );
    }
    add(
        "loss_placement",
        format!("{:?} the queue", link.loss_placement).to_lowercase(),
    );
    let reverse = link.reverse.clone().unwrap_or_default();
    add("reverse.loss", reverse.loss.to_string());
    match link.buffer {
        Some(buffer) => push(
            out,
            owner,
            "buffer",
            buffer.to_string(),
            given(e, "path.buffer"),
        ),
        None => push(out, owner, "buffer", DEFAULT_BUFFER.to_string(), "default"),
    }
}

fn stack(stack: &StackSpec, e: &Experiment, out: &mut Vec<Parameter>) {
    for effective in stack.effective(e.dialect.into()) {
        let owner = format!("{stack}: {} {}", effective.axis.noun(), effective.algorithm);
        if effective.parameters.is_empty() {
            push(out, &owner, "–", "no parameters".to_owned(), "");
        }
        for (spec, value, origin) in effective.parameters {
            let source = match origin {
                Origin::Given => "given",
                Origin::Default => spec.source,
            };
            push(out, &owner, spec.name, value.to_string(), source);
        }
    }
}

fn endpoint(stack: &StackSpec, e: &Experiment, out: &mut Vec<Parameter>) {
    let dialect = e.dialect.into();
    let ends = Endpoints::new(dialect, stack, &e.sender, &e.receiver);
    let owner = format!("{stack}: endpoints");
    let segment = if e.sender.segment.is_some() {
        "given"
    } else {
        "default of the dialect"
    };
    push(
        out,
        &owner,
        "segment",
        format!("{} bytes", ends.sender.smss),
        segment,
    );
    for setting in settings(dialect, ends.sender.smss, &stack.needs(dialect)) {
        push(out, &owner, setting.name, setting.value, setting.source);
    }
    // What the file says instead of the dialect.
    let sender = serde_json::to_value(e.sender).unwrap_or_default();
    let receiver = serde_json::to_value(e.receiver).unwrap_or_default();
    for (side, options) in [("sender", sender), ("receiver", receiver)] {
        for (name, value) in options.as_object().into_iter().flatten() {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let key = format!("{side}.{name}");
            push(out, &owner, &key, value, given(e, &key));
        }
    }
}
