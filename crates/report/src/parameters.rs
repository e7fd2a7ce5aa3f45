//! The effective parameters of an experiment as a table for the terminal: `--explain`.

use dupack_lab::results::Results;

use crate::table::base;

/// The effective parameters, for `--explain`.
#[must_use]
pub fn text(results: &Results, width: Option<u16>) -> String {
    let mut table = base(width);
    table.set_header(vec!["part", "parameter", "value", "source"]);
    let mut last = "";
    for p in &results.parameters {
        let owner = if p.owner == last { "" } else { &p.owner };
        table.add_row(vec![owner, &p.name, &p.value, &p.source]);
        last = &p.owner;
    }
    table.to_string()
}
