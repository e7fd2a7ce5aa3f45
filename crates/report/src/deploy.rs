//! Deployment of stacks in Linux: which parts of a stack Linux implements, and how to enable them. This module
//! describes one stack as text and as JSON, an algorithm in a listing, and all stacks as Markdown. [`answer`] describes
//! the stacks of a comparison, and [`wire`] the check on real packets.
//!
//! The properties of Linux are data of the catalog (`dupack_algorithms::catalog::linux`).

pub mod answer;
pub mod host;
pub mod wire;

use std::fmt::Write;

use dupack_algorithms::catalog::linux::Linux;
use dupack_algorithms::catalog::{Axis, Catalog, Deployment, Description, StackSpec};
use serde_json::{Value, json};

use crate::table;

/// Returns the commands that enable a stack, ready to be pasted, or the parts that Linux lacks.
#[must_use]
pub fn text(stack: &StackSpec, catalog: &Catalog, width: Option<u16>) -> String {
    let deployment = Deployment::of(stack);
    let mut text = heading(stack, &deployment);
    let parts = deployment
        .parts
        .iter()
        .filter(|part| !is_null(part.axis, &part.name));
    let parts = parts.map(|part| {
        let name = format!("  {} `{}`", part.axis.noun(), part.name);
        let what = match &part.linux {
            Linux::Has(has) => has.what.to_string(),
            _ => "not in Linux".to_owned(),
        };
        (None, [name, what])
    });
    text += &table::beside(parts.collect(), table::Colour::No, width);
    if !deployment.is_possible() {
        text += "\nMissing:\n";
        for obstacle in &deployment.obstacles {
            text += &indented(&obstacle.to_string(), width);
        }
        if let Some(near) = catalog.nearest_deployable(stack) {
            text += &format!("\nMost similar stack in Linux: `dupack stacks {near}`\n");
        }
        return text;
    }
    for (title, commands) in ways(&deployment) {
        let _ = writeln!(text, "\n{title}:");
        for command in commands {
            let _ = writeln!(text, "  {command}");
        }
    }
    let differences: Vec<_> = deployment.differences().collect();
    if !differences.is_empty() {
        text += "\nDifferences between Linux's implementation and ours:\n";
        for (name, how) in differences {
            text += &indented(&format!("{name}: {how}"), width);
        }
    }
    text += &match on_the_wire(stack, &deployment) {
        Ok(commands) => {
            let rights = if commands.len() > 1 {
                wire::NEEDS_ROOT
            } else {
                ""
            };
            let commands = commands.iter().map(|command| format!("  {command}\n"));
            let commands: String = commands.collect();
            format!("\nTo compare ours with the kernel's on real packets{rights}:\n{commands}")
        }
        Err(why) => table::paragraph(&format!("\n{why}"), width),
    };
    text
}

fn heading(stack: &StackSpec, deployment: &Deployment) -> String {
    match deployment.is_possible() {
        true => format!("{stack} can be turned on in Linux.\n\n"),
        false => format!("{stack} cannot be turned on in Linux.\n\n"),
    }
}

/// Returns the ways to enable a stack, and the way to verify that it is enabled. Each way is a title and lines of
/// commands.
fn ways(deployment: &Deployment) -> Vec<(&'static str, Vec<String>)> {
    let prepared = |last: Option<String>| {
        let mut lines = deployment.preparations();
        lines.extend(last);
        lines
    };
    vec![
        ("For all new connections, as root", deployment.commands()),
        (
            "Only for connections over the default route, as root",
            prepared(deployment.route_command()),
        ),
        (
            "For one socket, in its program before it connects, after all but the last line above",
            deployment.socket_option().into_iter().collect(),
        ),
        ("To verify", deployment.checks()),
    ]
}

/// Returns the commands that compare our stack with the kernel's stack on real packets, or the reason why this is
/// impossible.
fn on_the_wire(stack: &StackSpec, deployment: &Deployment) -> Result<Vec<String>, String> {
    let Some(control) = deployment.counterpart() else {
        return Err(
            "`dupack testbed` has no kernel sender with this stack, because its kernel keeps Linux's defaults, \
             including SACK."
                .to_owned(),
        );
    };
    let senders = format!("{stack},kernel:{}", control.name);
    let mut commands: Vec<String> = control
        .to_load()
        .into_iter()
        .map(|m| wire::load(m))
        .collect();
    commands.push(format!(
        "dupack testbed --senders {}",
        dupack_engine::quoted(&senders)
    ));
    Ok(commands)
}

/// Returns a sentence about the support of an algorithm in Linux.
fn in_words(linux: &Linux) -> String {
    match linux {
        Linux::Has(has) => has.what.to_string(),
        Linux::Missing(missing) if missing.why.is_empty() => "not in Linux".to_owned(),
        Linux::Missing(missing) => format!("not in Linux: {}", missing.why),
        _ => String::new(),
    }
}

/// Returns the line about Linux in a listing of algorithms. If `listed` is `true`, it names the parameters that Linux
/// can set.
#[must_use]
pub fn line(entry: &Description, listed: bool) -> String {
    let knobs = match &entry.linux {
        Linux::Has(has) => has.knobs.as_slice(),
        _ => &[],
    };
    let mut line = match &entry.linux {
        Linux::Missing(missing) if missing.why.is_empty() => "Linux: no".to_owned(),
        Linux::Missing(missing) => format!("Linux: no; {}", missing.why),
        linux => format!("Linux: {}", in_words(linux)),
    };
    if listed && !knobs.is_empty() {
        let names: Vec<&str> = knobs.iter().map(|knob| &*knob.parameter).collect();
        line += &format!("; settable parameters: {}", names.join(", "));
    }
    line
}

/// Returns the Linux support of an algorithm as JSON.
#[must_use]
pub fn entry_json(entry: &Description) -> Value {
    match &entry.linux {
        Linux::Has(has) => json!({
            "has": true,
            "what": has.what,
            "congestion_control": has.control.as_ref().map(|control| &control.name),
            "module": has.control.as_ref().and_then(|control| control.module.as_ref()),
            "settings": has.settings.iter().map(|s| s.command()).collect::<Vec<_>>(),
            "differs": has.differs,
            "parameters": has.knobs.iter().map(|knob| {
                json!({ "name": knob.parameter, "set_by": knob.place.to_string() })
            }).collect::<Vec<_>>(),
        }),
        Linux::Missing(missing) => json!({
            "has": false,
            "why": missing.why,
            "near": missing.near,
        }),
        _ => Value::Null,
    }
}

/// Returns the commands that enable a stack, or the parts that Linux lacks, as JSON.
#[must_use]
pub fn stack_json(stack: &StackSpec, catalog: &Catalog) -> Value {
    let deployment = Deployment::of(stack);
    let kernel = deployment.counterpart();
    json!({
        "stack": stack.to_string(),
        "deployable": deployment.is_possible(),
        "parts": deployment.parts.iter().map(|part| json!({
            "axis": part.axis.name(),
            "name": part.name,
            "linux": in_words(&part.linux),
        })).collect::<Vec<_>>(),
        "missing": deployment.obstacles.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "nearest": catalog.nearest_deployable(stack).map(|near| near.to_string()),
        "commands": deployment.commands(),
        "route": deployment.route_command(),
        "socket_option": deployment.socket_option(),
        "checks": deployment.checks(),
        "differs": deployment.differences().map(|(name, how)| format!("{name}: {how}")).collect::<Vec<_>>(),
        "kernel_sender": kernel.map(|control| format!("kernel:{}", control.name)),
    })
}

/// Returns the Linux support of the whole catalog, as tables of a Markdown page.
#[must_use]
pub fn markdown(catalog: &Catalog) -> String {
    let mut page = String::from(
        "| stack | for all new connections, as root | differences in Linux |\n| --- | --- | --- |\n",
    );
    for stack in catalog.deployable() {
        let deployment = Deployment::of(&stack);
        let commands = deployment.commands();
        let commands: Vec<String> = commands.iter().map(|c| format!("`{c}`")).collect();
        let differs: Vec<&str> = deployment.differences().map(|(_, how)| how).collect();
        let differs = differs.join("<br>");
        let _ = writeln!(
            page,
            "| `{stack}` | {} | {differs} |",
            commands.join("<br>")
        );
    }
    for axis in Axis::ALL {
        let _ = writeln!(page, "\n| {} | in Linux |\n| --- | --- |", axis.noun());
        for (names, what) in alike(catalog, axis) {
            let _ = writeln!(page, "| {} | {what} |", names.join(", "));
        }
    }
    page += "\n| parameter | algorithms | set by |\n| --- | --- | --- |\n";
    for (parameter, of, place) in knobs(catalog) {
        let of: Vec<String> = of.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "| `{parameter}` | {} | {place} |", of.join(", "));
    }
    page
}

/// Returns the algorithms on an axis, grouped by their support in Linux.
fn alike(catalog: &Catalog, axis: Axis) -> Vec<(Vec<String>, String)> {
    let mut rows: Vec<(Vec<String>, String)> = Vec::new();
    for entry in catalog.on(axis) {
        let (name, what) = (format!("`{}`", entry.name), in_words(&entry.linux));
        match rows.iter_mut().find(|row| row.1 == what) {
            Some(row) => row.0.push(name),
            None => rows.push((vec![name], what)),
        }
    }
    rows
}

/// Returns every parameter that a setting of Linux controls, with the algorithms that have this parameter, and the
/// setting.
fn knobs(catalog: &Catalog) -> Vec<(String, Vec<String>, String)> {
    let mut rows: Vec<(String, Vec<String>, String)> = Vec::new();
    for entry in catalog.descriptions() {
        let Linux::Has(has) = &entry.linux else {
            continue;
        };
        for knob in &has.knobs {
            let (parameter, place) = (knob.parameter.to_string(), knob.place.to_string());
            let mut known = rows.iter_mut();
            match known.find(|row| row.0 == parameter && row.2 == place) {
                Some(row) => row.1.push(entry.name.to_string()),
                None => rows.push((parameter, vec![entry.name.to_string()], place)),
            }
        }
    }
    rows
}

/// Returns `true` if `name` is the algorithm of `axis` that does nothing. The text of a stack leaves this algorithm
/// out.
fn is_null(axis: Axis, name: &str) -> bool {
    axis.null() == Some(name)
}

/// Returns a paragraph with a margin.
fn indented(text: &str, width: Option<u16>) -> String {
    let narrower = width.map(|width| width.saturating_sub(2));
    let paragraph = table::paragraph(text, narrower);
    paragraph
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect()
}

#[cfg(test)]
mod tests;
