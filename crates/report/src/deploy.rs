//! What of stacks can be turned on in Linux today, and how: one stack for people and programs, in a
//! listing, and as Markdown. For the stacks of a comparison, see [`answer`]; the check on real packets
//! is in [`wire`].
//!
//! What Linux has is data of the catalog (`dupack_algorithms::catalog::linux`).

pub mod answer;
pub mod host;
pub mod wire;

use std::fmt::Write;

use dupack_algorithms::catalog::linux::Linux;
use dupack_algorithms::catalog::{Axis, Catalog, Deployment, Description, StackSpec};
use serde_json::{Value, json};

use crate::table;

/// What turns a stack on, for one who wants to paste it; or what is missing.
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
            text += &format!("\nThe nearest that can be turned on: `dupack stacks {near}`\n");
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
        text += "\nWhere Linux's differs from ours:\n";
        for (name, how) in differences {
            text += &indented(&format!("{name}: {how}"), width);
        }
    }
    text += &match on_the_wire(stack, &deployment) {
        Ok(commands) => {
            let rights = if commands.len() > 1 {
                wire::WANTS_ROOT
            } else {
                ""
            };
            let commands = commands.iter().map(|command| format!("  {command}\n"));
            let commands: String = commands.collect();
            format!("\nOurs and the kernel's on real packets{rights}:\n{commands}")
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

/// The ways to turn it on, and to see that it is: what each is for, and its lines.
fn ways(deployment: &Deployment) -> Vec<(&'static str, Vec<String>)> {
    let prepared = |last: Option<String>| {
        let mut lines = deployment.preparations();
        lines.extend(last);
        lines
    };
    vec![
        ("For all new connections, as root", deployment.commands()),
        (
            "For those over the default route alone, as root",
            prepared(deployment.route_command()),
        ),
        (
            "For one socket, in its program before it connects, after the lines above but the last",
            deployment.socket_option().into_iter().collect(),
        ),
        ("To see that it is on", deployment.checks()),
    ]
}

/// The commands that set our stack beside the kernel's on real packets, or why there is none.
fn on_the_wire(stack: &StackSpec, deployment: &Deployment) -> Result<Vec<String>, String> {
    let Some(control) = deployment.counterpart() else {
        return Err(
            "`dupack testbed` has no kernel's sender like it: its kernel keeps Linux's defaults, SACK among \
             them."
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

/// What of an algorithm Linux has, in a sentence.
fn in_words(linux: &Linux) -> String {
    match linux {
        Linux::Has(has) => has.what.to_string(),
        Linux::Missing(missing) if missing.why.is_empty() => "not in Linux".to_owned(),
        Linux::Missing(missing) => format!("not in Linux: {}", missing.why),
        _ => String::new(),
    }
}

/// The line about it in a listing of algorithms; with the parameters that Linux can set, if they are
/// `listed`.
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
        line += &format!("; there can be set: {}", names.join(", "));
    }
    line
}

/// The same for programs.
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

/// What turns a stack on, or what is missing, for programs.
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

/// What Linux has of the whole catalog, as tables of a Markdown page.
#[must_use]
pub fn markdown(catalog: &Catalog) -> String {
    let mut page = String::from(
        "| stack | for all new connections, as root | where Linux's differs |\n| --- | --- | --- |\n",
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
    page += "\n| parameter | of | set by |\n| --- | --- | --- |\n";
    for (parameter, of, place) in knobs(catalog) {
        let of: Vec<String> = of.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "| `{parameter}` | {} | {place} |", of.join(", "));
    }
    page
}

/// The algorithms on an axis, those of which the same is to be said together.
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

/// Every parameter that something in Linux sets, the algorithms that have it, and what sets it.
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

/// Whether a part is the one that does nothing, of which nobody has to be told.
fn is_null(axis: Axis, name: &str) -> bool {
    axis.null() == Some(name)
}

/// A paragraph with a margin.
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
