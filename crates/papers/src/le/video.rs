//! The abstract and the conclusion: video over a lossy channel.

use super::{Findings, percents, points_from};
use crate::claims::Finding;
use crate::evidence::{At, Part};
use crate::judging::{figure, finding, interval};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::results::Measure;
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;
use dupack_report::figure::{LineChart, Point, Series};
use dupack_report::page::{Cell, Emphasis};

/// The stacks of the experiment, in its order.
const STACKS: [&str; 6] = [
    "SACK, AIMD",
    "FACK, AIMD",
    "LE, AIMD",
    "SACK, Westwood",
    "FACK, Westwood",
    "LE, Westwood",
];
const AIMD: [usize; 3] = [0, 1, 2];
const WESTWOOD: [usize; 3] = [3, 4, 5];

/// The share of frames with which one can watch, in percent, and up to which loss.
const WATCHABLE: f64 = 95.0;
const WATCHED_TO: f64 = 5.0;

pub(super) fn findings(part: &Part) -> Findings {
    vec![
        ("video-possible", possible(part)),
        ("video-westwood", ahead(part, WESTWOOD)),
        ("video-aimd", ahead(part, AIMD)),
    ]
}

fn possible(part: &Part) -> Option<Finding> {
    let [.., le] = WESTWOOD;
    let shares = part.curve(le, Measure::FramesInTime)?;
    let watched = percents(part).into_iter().zip(&shares);
    let watched: Vec<(f64, &Summary)> = watched.filter(|(loss, _)| *loss <= WATCHED_TO).collect();
    let holds = watched
        .iter()
        .all(|(_, share)| interval(share).0 >= WATCHABLE);
    let texts: Vec<String> = watched.iter().map(|(_, s)| spread(s, 1)).collect();
    finding(
        holds,
        format!(
            "{} % of the frames in time at 0 to 5 % loss",
            texts.join(", ")
        ),
    )
}

/// Whether LE, the last of three, has more frames in time than the other two wherever there is
/// loss.
fn ahead(part: &Part, [sack, fack, le]: [usize; 3]) -> Option<Finding> {
    let points = points_from(part, 1.0);
    let mut holds = true;
    let mut parts = Vec::new();
    for (other, name) in [(sack, "SACK"), (fack, "FACK")] {
        let leads = points.iter().map(|&point| lead(part, point, le, other));
        let leads: Vec<Summary> = leads.collect::<Option<_>>()?;
        holds &= leads.iter().all(|lead| interval(lead).0 > 0.0);
        let texts: Vec<String> = leads.iter().map(|lead| spread(lead, 1)).collect();
        parts.push(format!("{name} by {}", texts.join(", ")));
    }
    finding(
        holds,
        format!("LE leads {} percentage points", parts.join("; ")),
    )
}

/// By how many percentage points more frames are in time, paired by seed.
fn lead(part: &Part, point: usize, stack: usize, base: usize) -> Option<Summary> {
    let measure = Measure::FramesInTime;
    let bases: Vec<(u64, f64)> = part.results.samples(point, base, measure).collect();
    let leads = part.results.samples(point, stack, measure);
    let leads = leads.filter_map(|(seed, share)| {
        let (_, other) = bases.iter().find(|(s, _)| *s == seed)?;
        Some(share - other)
    });
    Summary::of(&leads.collect::<Vec<f64>>())
}

pub(super) fn exhibits(part: &Part) -> Vec<Exhibit> {
    let note = "The paper says that LE can carry video over a lossy channel and shows no numbers here. The setting is \
                ours: 2 Mbit/s, 25 frames per second, each to be shown half a second after it was written.";
    let mut out = vec![
        Exhibit::Heading("Abstract and conclusion: video".to_owned()),
        Exhibit::Note(note.to_owned()),
    ];
    out.extend(figure(
        "video",
        "Frames that are there by their deadline. Means and 95 % confidence intervals.",
        chart(part).svg(),
    ));
    out.push(Exhibit::Table(stalls(part)));
    out
}

fn chart(part: &Part) -> LineChart {
    let losses = percents(part);
    let series = STACKS.iter().enumerate().map(|(stack, name)| Series {
        name: (*name).to_owned(),
        points: losses
            .iter()
            .enumerate()
            .filter_map(|(point, loss)| {
                let share = part.summary(At { point, stack }, Measure::FramesInTime)?;
                Some(Point::from((*loss, share.mean, share.half_width_95)))
            })
            .collect(),
    });
    LineChart {
        title: "Video over a lossy channel".to_owned(),
        subtitle: "2 Mbit/s video over 8 Mbit/s · 50 ms · deadline 500 ms · ns-2's rules"
            .to_owned(),
        x_label: "packet loss (%)".to_owned(),
        y_label: "frames in time (%)".to_owned(),
        y_from_zero: true,
        series: series.collect(),
        ..LineChart::default()
    }
}

/// What the patient viewer sees.
fn stalls(part: &Part) -> Table {
    let losses = percents(part);
    let mut header = vec!["seconds of standing picture".to_owned()];
    header.extend(losses.iter().map(|loss| format!("{loss:.0} %")));
    let rows = STACKS.iter().enumerate().map(|(stack, name)| {
        let cells = (0..losses.len()).map(|point| {
            let stalled = part.summary(At { point, stack }, Measure::StallTime);
            let text = stalled.map_or("–".to_owned(), |s| spread(&s, 1));
            Cell::new(text, Emphasis::Number)
        });
        let name = Cell::new(*name, Emphasis::Group);
        std::iter::once(name).chain(cells).collect()
    });
    Table {
        name: "video-stalls".to_owned(),
        caption: "How long the picture stands still in 100 s for a viewer who waits for every frame, in s by loss rate."
            .to_owned(),
        header,
        rows: rows.collect(),
    }
}
