//! The catalog of algorithms for readers: `dupack stacks` and the algorithm reference.

use std::fmt::Write;

use comfy_table::{Cell, ContentArrangement, Table, presets::NOTHING};
use dupack_algorithms::catalog::{
    Axis, Catalog, Choice, Description, Dialect, Kind, Opponent, ParameterSpec, Switch,
};

use crate::deploy;
use crate::table::Colour;

/// All or some algorithms of the catalog.
#[derive(Clone, Debug)]
pub struct Listing {
    entries: Vec<Description>,
    detail: Detail,
}

/// Detail of the parameters in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// Names, defaults and units, on a line or two.
    Brief,
    /// For each parameter its effect, its values and the source of its default.
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
    pub fn text(&self, colour: Colour, width: Option<u16>) -> String {
        let mut out = String::from(
            "A stack is recovery/control[/differentiation/response], each with parameters if\n\
             they are not the dialect's: newreno(full_ack=alg2)/reno, le/westwood, sack/reno/veno/1\n",
        );
        for axis in Axis::ALL {
            let entries: Vec<&Description> =
                self.entries.iter().filter(|d| d.axis == axis).collect();
            if entries.is_empty() {
                continue;
            }
            let _ = writeln!(out, "\n{}", heading(axis));
            for entry in entries {
                out.push_str(&entry_text(entry, self.detail, colour, width));
            }
        }
        if self.detail == Detail::Brief {
            out.push_str(
                "\n`dupack stacks NAME` says what each parameter does and takes,\n\
                 `dupack stacks rack/cubic` what turns a stack on in Linux, or what is missing.\n",
            );
        }
        out
    }

    /// Returns the listing as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        self.entries.iter().map(entry_json).collect()
    }
}

fn heading(axis: Axis) -> String {
    let what = match axis {
        Axis::Recovery => "what is lost, what goes out next, what counts as in flight",
        Axis::Control => "how the window grows, and what a congestion loss makes of it",
        Axis::Differentiation => "was this loss congestion, or the link?",
        Axis::Response => "what the window becomes after a loss that was the link's",
    };
    let name = axis.noun().to_uppercase();
    format!("{name}: {what}")
}

fn entry_text(entry: &Description, detail: Detail, colour: Colour, width: Option<u16>) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = width {
        table.set_width(width);
    }
    let name = match entry.aliases.as_slice() {
        [] => entry.name.to_string(),
        aliases => format!("{} ({})", entry.name, aliases.join(", ")),
    };
    let mut out = match colour {
        Colour::Yes => format!("\n  \u{1b}[1m{name}\u{1b}[0m  {}\n", entry.summary),
        Colour::No => format!("\n  {name}  {}\n", entry.summary),
    };
    let _ = writeln!(out, "    {}", entry.citation);
    let _ = writeln!(out, "    {}", deploy::line(entry, detail == Detail::Full));
    for conflict in &entry.conflicts {
        let with = match &conflict.with {
            Opponent::AnyButNull => format!("any {}", conflict.axis),
            Opponent::Named(with) => format!("{} {with}", conflict.axis),
        };
        let _ = writeln!(out, "    not with {with}: {}", conflict.why);
    }
    if detail == Detail::Brief {
        out.push_str(&brief(&entry.parameters));
        return out;
    }
    let _ = writeln!(out, "    {}", entry.file);
    for parameter in entry.parameters.iter() {
        let default = Cell::new(defaults(parameter));
        table.add_row(vec![
            Cell::new(format!("     {}", parameter.name)),
            default,
            Cell::new(parameter.kind.to_string()),
            Cell::new(explained(parameter)),
        ]);
    }
    if !entry.parameters.is_empty() {
        out.push_str(&table.to_string());
        out.push('\n');
    }
    out
}

/// Returns the effect of a parameter, the source of its default, and one line for each word of a choice with its
/// meaning.
fn explained(parameter: &ParameterSpec) -> String {
    let mut text = format!("{} [{}]", parameter.doc, parameter.source);
    // `on` and `off` need no explanation.
    if let Kind::Choice(words) = &parameter.kind
        && **words != *Switch::WORDS
    {
        for known in words.iter() {
            let _ = write!(text, "\n{}: {}", known.word, known.meaning);
        }
    }
    text
}

/// Returns the parameters with their defaults, with as many on a line as fit.
fn brief(parameters: &[ParameterSpec]) -> String {
    let mut out = String::new();
    let mut column = usize::MAX;
    for parameter in parameters {
        let unit = match &parameter.kind {
            Kind::Integer { unit, .. } | Kind::Real { unit, .. } if !unit.is_empty() => {
                format!(" {unit}")
            }
            _ => String::new(),
        };
        let word = format!("{} = {}{unit}", parameter.name, defaults(parameter));
        if column.saturating_add(word.len()) > 100 {
            out.push_str(if out.is_empty() {
                "      "
            } else {
                ";\n      "
            });
            column = 6;
        } else {
            out.push_str("; ");
            column += 2;
        }
        column += word.len();
        out.push_str(&word);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Returns the default, or the defaults of all dialects if they differ.
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
        let text = listing.text(Colour::No, Some(200));
        assert!(text.contains("smoothed: SRTT (RFC 6298)"), "{text}");
        let json = listing.json();
        let parameters = json[0]["parameters"].as_array().unwrap();
        let words = parameters.iter().map(|p| &p["words"]);
        assert!(
            words
                .into_iter()
                .any(|w| w["smoothed"] == "SRTT (RFC 6298)")
        );
        // Words that need no explanation have no line.
        let reno = Listing::of(&catalog, Some("reno")).unwrap();
        let text = reno.text(Colour::No, Some(200));
        assert!(text.contains("`on` or `off`"), "{text}");
        assert!(!text.contains("on: yes"), "{text}");
    }
}
