//! The catalog of algorithms for readers: `dupack stacks` and the algorithm reference.

use std::fmt::Write;

use dupack_algorithms::catalog::{
    Axis, Catalog, Choice, Description, Dialect, Kind, Level, Opponent, ParameterSpec, Switch,
};

use crate::deploy;
use crate::parameters::Scope;
use crate::table::{Colour, columns_of};
use crate::wrap::{columns, indented};

/// All or some algorithms of the catalog.
#[derive(Clone, Debug)]
pub struct Listing {
    entries: Vec<Description>,
    detail: Detail,
}

/// Detail of the parameters in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// The name, the default and the unit of each parameter, on one or two lines.
    Brief,
    /// The effect, the values and the source of the default of each parameter.
    Full,
}

impl Listing {
    /// Returns the algorithms of `catalog` called `name`, or all of them if `name` is `None`. Returns `None` if no
    /// algorithm has this name.
    #[must_use]
    pub fn of(catalog: &Catalog, name: Option<&str>) -> Option<Self> {
        let entries: Vec<Description> = catalog
            .descriptions()
            .filter(|entry| name.is_none_or(|name| entry.is_called(name)))
            .cloned()
            .collect();
        let detail = match name {
            Some(_) => Detail::Full,
            None => Detail::Brief,
        };
        (!entries.is_empty()).then_some(Self { entries, detail })
    }

    /// Returns the listing as text for the terminal.
    #[must_use]
    pub fn text(&self, scope: Scope, colour: Colour, width: Option<u16>) -> String {
        let room = columns_of(width);
        let mut out = String::from(
            "A stack is recovery/control[/differentiation/response], such as le/westwood or\n\
             sack/reno/veno/1. Brackets change parameters: newreno(full_ack=alg2)/reno.\n",
        );
        for axis in Axis::ALL {
            let entries: Vec<&Description> =
                self.entries.iter().filter(|d| d.axis == axis).collect();
            if entries.is_empty() {
                continue;
            }
            let _ = writeln!(out, "\n{}", heading(axis));
            for entry in entries {
                let lines = Lines { room, colour };
                out.push_str(&lines.entry(entry, self.detail, scope));
            }
        }
        if self.detail == Detail::Brief {
            out.push_str(FOOTER);
        }
        out
    }

    /// Returns the listing as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        self.entries.iter().map(entry_json).collect()
    }
}

/// Text below the list of all algorithms.
const FOOTER: &str = "
`dupack stacks NAME` describes the parameters of an algorithm, and with --all
also those that are rarely changed. `dupack stacks rack/cubic` shows how to turn
on a stack in Linux.
";

fn heading(axis: Axis) -> String {
    let what = match axis {
        Axis::Recovery => "lost segments, order of sending, data in flight",
        Axis::Control => "growth of the window, reduction after congestion losses",
        Axis::Differentiation => "cause of a loss: congestion or the link",
        Axis::Response => "window after losses of the link",
    };
    let name = axis.noun().to_uppercase();
    format!("{name}: {what}")
}

/// Formatter of the lines of a listing.
struct Lines {
    /// Width of the listing in columns.
    room: usize,
    colour: Colour,
}

impl Lines {
    /// Returns the lines about an algorithm.
    fn entry(&self, entry: &Description, detail: Detail, scope: Scope) -> String {
        let name = match entry.aliases.as_slice() {
            [] => entry.name.to_string(),
            aliases => format!("{} ({})", entry.name, aliases.join(", ")),
        };
        let head = self.indented(&format!("{name}  {}", entry.summary), 4);
        let head = head.replacen("    ", "  ", 1);
        let mut out = match self.colour {
            Colour::Yes => head.replacen(&name, &format!("\u{1b}[1m{name}\u{1b}[0m"), 1),
            Colour::No => head,
        };
        out.insert(0, '\n');
        out += &self.indented(&entry.citation, 4);
        out += &self.indented(&deploy::line(entry, detail == Detail::Full), 4);
        for conflict in &entry.conflicts {
            let with = match &conflict.with {
                Opponent::AnyButNull => format!("any {}", conflict.axis),
                Opponent::Named(with) => format!("{} {with}", conflict.axis),
            };
            out += &self.indented(&format!("not with {with}: {}", conflict.why), 4);
        }
        let (shown, hidden) = selected(&entry.parameters, scope);
        if detail == Detail::Brief {
            return out + &self.brief(&shown, hidden);
        }
        out += &self.indented(&entry.file, 4);
        for parameter in shown {
            out += &self.explained(parameter);
        }
        if hidden > 0 {
            let parameters = if hidden == 1 {
                "parameter"
            } else {
                "parameters"
            };
            let note = format!(
                "{hidden} more {parameters}: `dupack stacks {} --all`",
                entry.name
            );
            out += &format!("\n{}", self.indented(&note, 4));
        }
        out
    }

    /// Returns a description of a parameter: its default, its effect, the source of its default, and its possible
    /// values. Each word of a choice is on its own line with its meaning.
    fn explained(&self, parameter: &ParameterSpec) -> String {
        let (name, default) = (&parameter.name, defaults(parameter));
        let mut out = format!("\n    {name} = {default}\n");
        out += &self.indented(&format!("{} [{}]", parameter.doc, parameter.source), 8);
        match &parameter.kind {
            // `on` and `off` need no explanation.
            Kind::Choice(words) if **words != *Switch::WORDS => {
                for known in words.iter() {
                    out += &self.indented(&format!("{}: {}", known.word, known.meaning), 8);
                }
            }
            kind => out += &self.indented(&kind.to_string(), 8),
        }
        out
    }

    /// Returns the parameters with their defaults, as many per line as fit. The number of hidden parameters follows.
    fn brief(&self, parameters: &[&ParameterSpec], hidden: usize) -> String {
        let mut words: Vec<String> = parameters.iter().map(|p| assignment(p)).collect();
        if hidden > 0 {
            words.push(format!("{hidden} more"));
        }
        let mut lines: Vec<String> = Vec::new();
        for word in words {
            match lines.last_mut() {
                Some(line) if columns(line) + columns(&word) + 3 <= self.room => {
                    line.push_str("; ");
                    line.push_str(&word);
                }
                last => {
                    last.into_iter().for_each(|line| line.push(';'));
                    lines.push(format!("      {word}"));
                }
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn indented(&self, text: &str, spaces: usize) -> String {
        indented(text, spaces, self.room) + "\n"
    }
}

/// Returns the parameters in `scope`, and the number of parameters outside it.
fn selected(parameters: &[ParameterSpec], scope: Scope) -> (Vec<&ParameterSpec>, usize) {
    let is_shown = |p: &&ParameterSpec| scope == Scope::All || p.level == Level::Basic;
    let shown: Vec<&ParameterSpec> = parameters.iter().filter(is_shown).collect();
    let hidden = parameters.len() - shown.len();
    (shown, hidden)
}

/// Returns a parameter with its default and unit.
fn assignment(parameter: &ParameterSpec) -> String {
    let unit = match &parameter.kind {
        Kind::Integer { unit, .. } | Kind::Real { unit, .. } if !unit.is_empty() => {
            format!(" {unit}")
        }
        _ => String::new(),
    };
    format!("{} = {}{unit}", parameter.name, defaults(parameter))
}

/// Returns the default of a parameter. If the dialects have different defaults, returns all of them.
fn defaults(parameter: &ParameterSpec) -> String {
    let rfc = parameter.default.of(Dialect::Rfc).to_string();
    let others =
        [Dialect::Linux, Dialect::Ns2].map(|d| (d.name(), parameter.default.of(d).to_string()));
    let differ: Vec<String> = others
        .iter()
        .filter(|(_, value)| *value != rfc)
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    if differ.is_empty() {
        return rfc;
    }
    format!("{rfc} ({})", differ.join(", "))
}

fn entry_json(entry: &Description) -> serde_json::Value {
    let parameters = entry.parameters.iter().map(|p| {
        let defaults = Dialect::ALL.map(|d| {
            let value = p.default.of(d).to_string();
            (d.name().to_owned(), serde_json::Value::from(value))
        });
        let words: serde_json::Map<_, _> = match &p.kind {
            Kind::Choice(words) => words
                .iter()
                .map(|known| (known.word.to_string(), known.meaning.clone().into()))
                .collect(),
            Kind::Integer { .. } | Kind::Real { .. } | Kind::Time => serde_json::Map::new(),
        };
        serde_json::json!({
            "name": p.name,
            "doc": p.doc,
            "source": p.source,
            "takes": p.kind.to_string(),
            "words": words,
            "default": serde_json::Map::from_iter(defaults),
        })
    });
    let conflicts = entry.conflicts.iter().map(
        |c| serde_json::json!({ "with": c.with.to_string(), "axis": c.axis.name(), "why": c.why }),
    );
    serde_json::json!({
        "axis": entry.axis.name(),
        "name": entry.name,
        "aliases": entry.aliases,
        "summary": entry.summary,
        "citation": entry.citation,
        "file": entry.file,
        "linux": deploy::entry_json(entry),
        "parameters": parameters.collect::<Vec<_>>(),
        "conflicts": conflicts.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_choice_are_explained() {
        let catalog = Catalog::builtin();
        let listing = Listing::of(&catalog, Some("veno")).unwrap();
        let text = listing.text(Scope::All, Colour::No, Some(200));
        assert!(text.contains("smoothed: SRTT (RFC 6298)"), "{text}");
        let json = listing.json();
        let parameters = json[0]["parameters"].as_array().unwrap();
        let words = parameters.iter().map(|p| &p["words"]);
        assert!(
            words
                .into_iter()
                .any(|w| w["smoothed"] == "SRTT (RFC 6298)")
        );
        // Values that need no explanation have no separate line.
        let reno = Listing::of(&catalog, Some("reno")).unwrap();
        let text = reno.text(Scope::All, Colour::No, Some(200));
        assert!(text.contains("`on` or `off`"), "{text}");
        assert!(!text.contains("on: yes"), "{text}");
    }

    #[test]
    fn basic_parameters_come_first_and_the_others_on_request() {
        let catalog = Catalog::builtin();
        let cubic = Listing::of(&catalog, Some("cubic")).unwrap();
        let basic = cubic.text(Scope::Basic, Colour::No, Some(80));
        assert!(basic.contains("\n    fast_convergence = on\n"), "{basic}");
        assert!(!basic.contains("css_rounds"), "{basic}");
        let all = cubic.text(Scope::All, Colour::No, Some(80));
        let is_parameter = |line: &&str| line.starts_with("    ") && !line.starts_with("     ");
        let count = |text: &str| {
            { text.lines() }
                .filter(|line| is_parameter(line) && line.contains(" = "))
                .count()
        };
        let hidden = cubic.entries[0].parameters.len() - count(&basic);
        let note = format!("{hidden} more parameters: `dupack stacks cubic --all`");
        assert!(hidden > 20 && basic.contains(&note), "{basic}");
        assert!(
            all.contains("\n    css_rounds = 5\n") && !all.contains("--all"),
            "{all}"
        );
        let json = cubic.json();
        let parameters = json[0]["parameters"].as_array().unwrap();
        assert_eq!(parameters.len(), cubic.entries[0].parameters.len());
    }

    #[test]
    fn lines_fit_the_terminal() {
        let catalog = Catalog::builtin();
        let names = catalog.descriptions().map(|entry| Some(&*entry.name));
        for name in names.chain([None]) {
            let listing = Listing::of(&catalog, name).unwrap();
            for scope in [Scope::Basic, Scope::All] {
                let text = listing.text(scope, Colour::No, Some(80));
                let long = text.lines().find(|line| columns(line) > 80);
                assert_eq!(long, None, "{name:?}");
            }
        }
    }
}
