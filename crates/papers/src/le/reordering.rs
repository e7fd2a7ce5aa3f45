//! §2.3.4: packets that overtake each other, and nothing lost.

use super::{Findings, points_from, ratios};
use crate::claims::Finding;
use crate::evidence::{At, Part};
use crate::judging::{all_above, figure, finding, list};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::results::Measure;
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;
use dupack_report::figure::{LineChart, Point, Series};
use dupack_report::page::{Cell, Emphasis};

/// The stacks of the experiment, in its order.
const STACKS: [&str; 6] = [
    "NewReno",
    "SACK",
    "FACK",
    "LE",
    "LE, adaptive threshold",
    "RACK-TLP",
];
const LE: usize = 3;
const ADAPTIVE: usize = 4;

/// Least share of packets held back at which the claims are judged, in percent.
const JUDGED_FROM: f64 = 1.0;

pub(super) fn findings(part: &Part) -> Findings {
    vec![
        ("reordering-resilient", resilient(part)),
        ("reordering-threshold", threshold(part)),
    ]
}

fn resilient(part: &Part) -> Option<Finding> {
    let points = points_from(part, JUDGED_FROM);
    let mut holds = true;
    let mut parts = Vec::new();
    for (other, name) in STACKS.iter().enumerate().take(LE) {
        let gains = ratios(part, &points, LE, other, Measure::Goodput)?;
        holds &= all_above(&gains, 1.0);
        parts.push(format!("LE / {name}: {}", list(&gains, 2)));
    }
    finding(holds, parts.join("; "))
}

fn threshold(part: &Part) -> Option<Finding> {
    let points = points_from(part, JUDGED_FROM);
    let gains = ratios(part, &points, ADAPTIVE, LE, Measure::Goodput)?;
    let needless = |stack: usize| {
        let at = |&point: &usize| part.summary(At { point, stack }, Measure::Spurious);
        points.iter().map(at).collect::<Option<Vec<Summary>>>()
    };
    let (adaptive, fixed) = (needless(ADAPTIVE)?, needless(LE)?);
    let fewer = adaptive.iter().zip(&fixed).all(|(a, f)| a.mean < f.mean);
    finding(
        all_above(&gains, 1.0) && fewer,
        format!(
            "goodput ×{}; needless retransmissions {} instead of {}",
            list(&gains, 2),
            list(&adaptive, 0),
            list(&fixed, 0)
        ),
    )
}

pub(super) fn exhibits(part: &Part) -> Vec<Exhibit> {
    let note = "The paper proposes nothing against reordering and measures nothing: it believes LE to be more resilient, \
                and says that a variable threshold could be added. The setting is ours.";
    let mut out = vec![
        Exhibit::Heading("Section 2.3.4: reordering".to_owned()),
        Exhibit::Note(note.to_owned()),
    ];
    out.extend(figure(
        "reordering",
        "Goodput while some packets are held back for 10 ms and overtaken; nothing is lost on the link. Means and 95 % \
         confidence intervals.",
        chart(part).svg(),
    ));
    out.push(Exhibit::Table(table(part)));
    out
}

fn chart(part: &Part) -> LineChart {
    let xs = super::percents(part);
    let series = STACKS.iter().enumerate().map(|(stack, name)| {
        let summaries = part.curve(stack, Measure::Goodput).unwrap_or_default();
        let points = xs.iter().zip(summaries);
        Series {
            name: (*name).to_owned(),
            points: points
                .map(|(x, s)| Point::from((*x, s.mean, s.half_width_95)))
                .collect(),
        }
    });
    LineChart {
        title: "Goodput when packets overtake each other".to_owned(),
        subtitle: "8 Mbit/s · 50 ms · no random loss".to_owned(),
        x_label: "packets held back for 10 ms (%)".to_owned(),
        y_label: "goodput (Mbit/s)".to_owned(),
        y_from_zero: true,
        series: series.collect(),
        ..LineChart::default()
    }
}

fn table(part: &Part) -> Table {
    let rows = STACKS.iter().enumerate().map(|(stack, name)| {
        let cells = part.curve(stack, Measure::Spurious).unwrap_or_default();
        let cells = cells
            .into_iter()
            .map(|s| Cell::new(spread(&s, 0), Emphasis::Number));
        std::iter::once(Cell::new(*name, Emphasis::Group))
            .chain(cells)
            .collect()
    });
    let shares = super::percents(part).into_iter().map(|p| format!("{p} %"));
    Table {
        name: "reordering-needless".to_owned(),
        caption: "Needless retransmissions per run, by the share of packets held back.".to_owned(),
        header: std::iter::once(String::new()).chain(shares).collect(),
        rows: rows.collect(),
    }
}
