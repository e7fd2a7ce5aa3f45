//! The effective parameters of an experiment as a table for the terminal: `--explain`.

use dupack_lab::results::{Level, Parameter, Results};

use crate::table::{Plain, base, paragraph};

const HEADER: [&str; 4] = ["part", "parameter", "value", "source"];

/// Source of a value from the file or the flags.
const GIVEN: &str = "given";

/// Extent of a list of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Basic parameters, with the number of the others.
    Basic,
    /// All parameters.
    All,
}

/// Returns the effective parameters for `--explain`.
#[must_use]
pub fn text(results: &Results, scope: Scope, width: Option<u16>) -> String {
    match scope {
        Scope::Basic => basic(&results.parameters, width),
        Scope::All => all(&results.parameters, width),
    }
}

fn all(parameters: &[Parameter], width: Option<u16>) -> String {
    let mut table = base(width);
    table.set_header(HEADER);
    let mut last = "";
    for p in parameters {
        let owner = if p.owner == last { "" } else { &p.owner };
        table.add_row(vec![owner, &p.name, &p.value, &p.source]);
        last = &p.owner;
    }
    table.to_string()
}

fn basic(parameters: &[Parameter], width: Option<u16>) -> String {
    let blocks = blocks(parameters);
    let mut table = Plain::new(&HEADER, HEADER.len(), width);
    for block in &blocks {
        let differs = |other: &Block<'_>| other.part == block.part && other.rows != block.rows;
        let mut label = match blocks.iter().any(differs) {
            true => format!("{} of {}", block.part, block.stacks.join(", ")),
            false => block.part.to_owned(),
        };
        for row in &block.rows {
            let first = [std::mem::take(&mut label)];
            table.add(first.into_iter().chain(row.map(str::to_owned)));
        }
    }
    let hidden = parameters.iter().filter(|p| p.level == Level::Advanced);
    let note = match hidden.count() {
        0 => return table.text(),
        1 => "1 more parameter has its default. --all prints all parameters with their sources."
            .to_owned(),
        count => format!(
            "{count} more parameters have their defaults. --all prints all parameters with their sources."
        ),
    };
    let note = paragraph(&note, width);
    format!("{}\n\n{}", table.text(), note.trim_end())
}

/// Basic parameters of a part of the experiment, or of an algorithm that has the same values in several stacks.
#[derive(Debug, PartialEq)]
struct Block<'p> {
    part: &'p str,
    /// Empty for parts that are not algorithms.
    stacks: Vec<&'p str>,
    /// Name, value and source.
    rows: Vec<[&'p str; 3]>,
}

fn blocks(parameters: &[Parameter]) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for own in parameters.chunk_by(|a, b| a.owner == b.owner) {
        let (stack, part) = match own[0].owner.split_once(": ") {
            Some((stack, part)) => (Some(stack), part),
            None => (None, &*own[0].owner),
        };
        let shown = own.iter().filter(|p| p.level == Level::Basic);
        let rows: Vec<_> = shown
            .map(|p| [&*p.name, &*p.value, source(p, stack.is_some())])
            .collect();
        let mut known = blocks.iter_mut();
        match known.find(|block| block.part == part && block.rows == rows) {
            Some(block) => block.stacks.extend(stack),
            None if rows.is_empty() => {}
            None => blocks.push(Block {
                part,
                stacks: stack.into_iter().collect(),
                rows,
            }),
        }
    }
    blocks
}

/// Returns the source of a value in short. Defaults of a stack's algorithms come from papers and RFCs, which only the
/// list of all parameters cites.
fn source(parameter: &Parameter, is_of_stack: bool) -> &str {
    match is_of_stack && parameter.source != GIVEN {
        true => "default",
        false => &parameter.source,
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;
    use dupack_lab::experiment::load::Source;
    use dupack_lab::run::Plan;

    use super::*;
    use crate::wrap::columns;

    fn results(stacks: &[&str]) -> Results {
        let text = format!("stacks = {stacks:?}\nseeds = 3\n[path]\nrate = \"1Mbit/s\"\n");
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        plan.empty_results()
    }

    #[test]
    fn basic_parameters_fit_80_columns_without_broken_words() {
        let results = results(&["rack/cubic", "le/westwood", "sack/reno/veno/24"]);
        let text = text(&results, Scope::Basic, Some(80));
        assert!(columns(&text) <= 80, "{text}");
        for p in results
            .parameters
            .iter()
            .filter(|p| p.level == Level::Basic)
        {
            assert!(text.contains(&p.name), "{}: {text}", p.name);
        }
        for hidden in ["endpoints", "css_rounds", "undo_dsack", "loss_placement"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
        assert!(text.lines().count() < 60, "{text}");
    }

    #[test]
    fn the_note_has_the_number_of_the_other_parameters() {
        let results = results(&["rack/cubic"]);
        let all = results.parameters.len();
        let hidden = { results.parameters.iter() }
            .filter(|p| p.level == Level::Advanced)
            .count();
        let basic = text(&results, Scope::Basic, Some(80));
        assert!(
            basic.contains(&format!("{hidden} more parameters")),
            "{basic}"
        );
        // The header, the line below it, a row for each basic parameter, and the note of two lines after an empty one.
        assert_eq!(basic.lines().count(), 2 + (all - hidden) + 3, "{basic}");
        let whole = text(&results, Scope::All, Some(200));
        for p in &results.parameters {
            assert!(whole.contains(&p.name), "{}: {whole}", p.name);
        }
        assert!(!whole.contains("--all"));
    }

    #[test]
    fn given_parameters_are_shown_with_their_stacks() {
        let results = results(&["rack/cubic(undo_dsack=off)", "rack/cubic"]);
        let text = text(&results, Scope::Basic, Some(160));
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|l| l.split_whitespace().collect())
            .collect();
        assert!(rows.contains(&vec!["undo_dsack", "off", "given"]), "{text}");
        let of = "congestion control cubic of rack/cubic(undo_dsack=off) ";
        assert!(text.contains(of), "{text}");
        assert_eq!(text.matches("loss recovery rack").count(), 1, "{text}");
        assert_eq!(text.matches("reo_wnd").count(), 1, "{text}");
    }
}
