//! Goodput of each group of flows: a table below the table of the stacks, and a section of the page.

use dupack_lab::results::{Group, Groups, Results};
use dupack_lab::stats::Summary;

use crate::page::{Block, Cell, Section};
use crate::table::Plain;

const HEADER: [&str; 7] = [
    "stack",
    "group",
    "flows",
    "goodput Mbit/s",
    "per flow",
    "share %",
    "Jain's index",
];

const CAPTION: &str = "Goodput of all flows of a group and per flow, the group's share of the goodput of all \
    flows, and Jain's index among its flows. Mean over the seeds ± half the 95 % confidence interval. flows.csv has every flow \
    of every run.";

/// Returns the table for the terminal, or `None` if the flows form a single group.
#[must_use]
pub fn table(results: &Results, width: Option<u16>) -> Option<String> {
    if !results.has_groups() {
        return None;
    }
    let mut text = "Groups of flows:\n".to_owned();
    for (point, at) in results.points.iter().enumerate() {
        let label = at.label();
        if !label.is_empty() {
            text += &format!("\n{label}\n");
        }
        let mut table = Plain::new(&HEADER, 2, width);
        rows(results, point)
            .into_iter()
            .for_each(|row| table.add(row));
        text += table.text().trim_end();
        text.push('\n');
    }
    Some(text)
}

/// Returns the section of the page, or `None` if the flows form a single group.
pub(crate) fn section(results: &Results) -> Option<Section> {
    if !results.has_groups() {
        return None;
    }
    let points = results.points.iter().enumerate();
    let rows = points.flat_map(|(point, at)| {
        let label = at.label();
        rows(results, point).into_iter().map(move |row| {
            let cells = std::iter::once(label.clone()).chain(row);
            cells.map(Cell::from).collect()
        })
    });
    let table = Block::Table {
        caption: CAPTION.to_owned(),
        header: std::iter::once("point")
            .chain(HEADER)
            .map(str::to_owned)
            .collect(),
        rows: rows.collect(),
    };
    Some(Section {
        heading: "Groups of flows".to_owned(),
        blocks: vec![table],
        ..Section::default()
    })
}

/// Returns one row for each group of each stack, and one row for all flows of each stack.
fn rows(results: &Results, point: usize) -> Vec<Vec<String>> {
    let groups = Groups::of(&results.points[point].experiment);
    let mut rows = Vec::new();
    for (stack, name) in results.stacks.iter().enumerate() {
        for group in groups.all() {
            rows.extend(row(results, (point, stack), group, name));
        }
        let flows: usize = groups.all().iter().map(|group| group.flows.len()).sum();
        let jain = results.fairness_of_all(point, stack);
        rows.push(vec![
            name.clone(),
            "all".to_owned(),
            flows.to_string(),
            String::new(),
            String::new(),
            String::new(),
            jain.map_or_else(|| "–".to_owned(), |jain| shown(&jain, 3)),
        ]);
    }
    rows
}

fn row(
    results: &Results,
    (point, stack): (usize, usize),
    group: &Group,
    name: &str,
) -> Option<Vec<String>> {
    let share = results.share_of(point, stack, group)?;
    let group_name = match &group.stack {
        Some(own) => format!("{} ({own})", group.name),
        None => group.name.clone(),
    };
    Some(vec![
        name.to_owned(),
        group_name,
        group.flows.len().to_string(),
        shown(&share.goodput, 2),
        shown(&share.per_flow, 2),
        shown(&share.share, 1),
        share
            .fairness
            .map_or_else(|| "–".to_owned(), |jain| shown(&jain, 3)),
    ])
}

/// Returns a mean with half the width of its confidence interval.
fn shown(summary: &Summary, digits: usize) -> String {
    let mean = format!("{:.digits$}", summary.mean);
    match summary.half_width_95 {
        Some(half) => format!("{mean} ±{half:.digits$}"),
        None => mean,
    }
}
