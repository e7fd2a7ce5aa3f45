//! Additional sections of a testbed's report: the lateness of the path, and a comparison with the simulator.

use std::sync::Arc;

use dupack_algorithms::catalog::Catalog;
use dupack_lab::results::sheet::to_sheet;
use dupack_net::histogram::Histogram;
use dupack_tcp::time::Duration;
use dupack_wire::path::Trust;
use dupack_wire::transfer::Extent;

use super::{Beside, Passage, TestbedResults};
use dupack_lab::results::medium::DOUBT;
use dupack_lab::results::{Answered, Results};
use dupack_lab::stats::spread;
use dupack_lab::units::Delay;
use dupack_report::comparison;
use dupack_report::figure::FigureError;
use dupack_report::files::Files;
use dupack_report::page::{Block, Cell, Emphasis, Section};
use dupack_report::table::{Plain, paragraph};

/// Quantile of the lateness that is reported. [`dupack_wire::path::PathReport::trust`] judges the same quantile.
const IN_TIME: f64 = 0.99;

/// Returns all files of a testbed whose stacks are in `catalog`: the files of a comparison with additional sections,
/// and `path.csv`.
///
/// # Errors
/// Returns an error if a figure cannot be drawn.
pub fn files<'o>(
    outcome: &'o TestbedResults,
    catalog: &Catalog,
    beside: Option<&[Beside]>,
    tolerance: Delay,
) -> Result<Files<'o>, FigureError> {
    let TestbedResults {
        results, passages, ..
    } = outcome;
    let beside = beside.map(|beside| beside_section(results, beside));
    let path = path_section(results, passages, tolerance);
    let more = comparison::Beside {
        sections: beside.into_iter().chain([path]).collect(),
        ..comparison::Beside::default()
    };
    let mut files = comparison::files(&Arc::new(Answered::of(results)), catalog, more)?;
    files.add("path.csv", || passages_csv(results, passages));
    Ok(files)
}

/// Returns the traffic of each run as CSV, one line per run.
fn passages_csv(results: &Results, passages: &[Passage]) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut put = |row: &[String]| {
        let cells: Vec<_> = row.iter().map(|cell| to_sheet(cell)).collect();
        out.write_record(cells.iter().map(|cell| cell.as_bytes()))
            .expect("rows have equal length and memory does not fail");
    };
    put(&COLUMNS.map(str::to_owned));
    for passage in passages {
        let (path, job) = (&passage.path, passage.job);
        let lane = |lane: &dupack_wire::path::LaneReport| {
            let lateness = &lane.lateness;
            [
                lane.link.offered_packets.to_string(),
                lane.link.drops.total().to_string(),
                lane.delivered.to_string(),
                millis(at(lateness, 0.5)),
                millis(at(lateness, IN_TIME)),
                millis(lateness.max()),
            ]
        };
        let mut row = vec![
            results.points[job.point].label(),
            results.stacks[job.stack].clone(),
            job.seed.to_string(),
            passage.bytes.to_string(),
            match passage.extent {
                Extent::Whole => "whole".to_owned(),
                Extent::CutOff => "cut off".to_owned(),
            },
        ];
        row.extend(lane(&path.forward));
        row.extend(lane(&path.backward));
        row.push(millis(at(&path.unattended, IN_TIME)));
        let waited = path.waited_for_processor;
        row.push(waited.map_or(String::new(), millis));
        row.push(match &passage.trust {
            Trust::Sound => String::new(),
            Trust::Worthless { reasons } => reasons.join("; "),
        });
        put(&row);
    }
    out.into_inner().unwrap_or_default()
}

const COLUMNS: [&str; 20] = [
    "point",
    "sender",
    "repetition",
    "bytes_checked",
    "extent",
    "forward_offered",
    "forward_dropped",
    "forward_delivered",
    "forward_late_median_ms",
    "forward_late_99_ms",
    "forward_late_max_ms",
    "backward_offered",
    "backward_dropped",
    "backward_delivered",
    "backward_late_median_ms",
    "backward_late_99_ms",
    "backward_late_max_ms",
    "unattended_99_ms",
    "waited_for_processor_ms",
    "not_to_be_trusted",
];

/// Returns one line for the terminal with the lateness of the path in the worst run.
#[must_use]
pub fn lateness(passages: &[Passage], tolerance: Delay) -> String {
    let worst = |of: &dyn Fn(&Passage) -> Duration| {
        millis(passages.iter().map(of).max().unwrap_or(Duration::ZERO))
    };
    let trusted = passages.iter().filter(|p| p.trust == Trust::Sound).count();
    format!(
        "The path in the worst run: 99 % of packets left at most {} ms late in the forward direction and {} ms late in \
         the backward direction; {trusted} of {} runs stayed within {tolerance}.",
        worst(&|p| at(&p.path.forward.lateness, IN_TIME)),
        worst(&|p| at(&p.path.backward.lateness, IN_TIME)),
        passages.len(),
    )
}

/// Returns the tolerance, in whole milliseconds, at which every run would have been sound. Returns `None` if no such
/// tolerance exists, for example because packets were also lost outside the links.
#[must_use]
pub fn needed_tolerance(passages: &[Passage]) -> Option<Delay> {
    let late = passages.iter().flat_map(|passage| {
        let lanes = [&passage.path.forward, &passage.path.backward];
        lanes.map(|lane| at(&lane.lateness, IN_TIME))
    });
    let most = late.max()?;
    let millis = most.as_nanos().div_ceil(1_000_000).max(1);
    let tolerance = Delay::from_nanos(millis * 1_000_000);
    let kept = |passage: &Passage| {
        let trust = passage
            .path
            .trust(Duration::from_nanos(tolerance.as_nanos()));
        trust == Trust::Sound
    };
    passages.iter().all(kept).then_some(tolerance)
}

/// Returns the section on the path's lateness for each sender.
fn path_section(results: &Results, passages: &[Passage], tolerance: Delay) -> Section {
    let mut rows = Vec::new();
    for point in 0..results.points.len() {
        for stack in 0..results.stacks.len() {
            let here: Vec<&Passage> = passages
                .iter()
                .filter(|p| p.job.point == point && p.job.stack == stack)
                .collect();
            let worst = |of: &dyn Fn(&Passage) -> Duration| {
                let worst = here.iter().map(|p| of(p)).max();
                Cell::new(worst.map_or("–".to_owned(), millis), Emphasis::Number)
            };
            let doubts = results.medium.doubts(point, stack).count();
            rows.push(vec![
                Cell::new(group(results, point, stack), Emphasis::Group),
                results.name_at(point, stack).into(),
                worst(&|p| at(&p.path.forward.lateness, IN_TIME)),
                worst(&|p| at(&p.path.backward.lateness, IN_TIME)),
                worst(&|p| at(&p.path.unattended, IN_TIME)),
                Cell::new(format!("{doubts} of {}", here.len()), Emphasis::Number),
            ]);
        }
    }
    let caption = format!(
        "Lateness that 99 % of the packets did not exceed, in the worst run of each sender, in ms. A run with more than \
         {tolerance} is void and excluded from all numbers. {DOUBT} marks entries with void runs, followed by the \
         number of remaining runs out of all runs."
    );
    Section {
        heading: "Lateness of the path".to_owned(),
        blocks: vec![
            Block::Table {
                caption,
                header: [
                    "",
                    "sender",
                    "forward",
                    "backward",
                    "unattended",
                    "void runs",
                ]
                .map(str::to_owned)
                .to_vec(),
                rows,
            },
            Block::Files {
                links: vec![dupack_report::page::Link::to("path.csv")],
            },
        ],
        ..Section::default()
    }
}

/// Returns the section that compares real packets with the simulator.
fn beside_section(results: &Results, all: &[Beside]) -> Section {
    let rows = all.iter().map(|beside| {
        let [wire, simulated, difference] = numbers(beside);
        vec![
            Cell::new(group(results, beside.point, beside.sender), Emphasis::Group),
            results.name_at(beside.point, beside.sender).into(),
            Cell::new(wire, Emphasis::Number),
            Cell::new(simulated, Emphasis::Number),
            Cell::new(difference, Emphasis::Number),
        ]
    });
    Section {
        heading: "Real packets compared with the simulator".to_owned(),
        blocks: vec![Block::Table {
            caption: BESIDE.to_owned(),
            header: HEADER.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }],
        ..Section::default()
    }
}

/// Returns the comparison with the simulator as text for the terminal.
#[must_use]
pub fn beside_text(results: &Results, all: &[Beside], width: Option<u16>) -> String {
    let mut table = Plain::new(&HEADER, 2, width);
    for beside in all {
        let [wire, simulated, difference] = numbers(beside);
        let point = group(results, beside.point, beside.sender);
        let name = results.name_at(beside.point, beside.sender);
        table.add([point, name, wire, simulated, difference]);
    }
    format!("{}\n{}", paragraph(BESIDE, width), table.text())
}

const HEADER: [&str; 5] = [
    "",
    "sender",
    "wire Mbit/s",
    "simulated Mbit/s",
    "difference",
];

const BESIDE: &str = "Goodput on real packets and in the simulator, mean ± 95 % confidence interval. \
    A kernel's sender has no counterpart in the simulator (–).";

fn numbers(beside: &Beside) -> [String; 3] {
    let mean = |summary: &Option<dupack_lab::stats::Summary>| {
        let summary = summary.as_ref();
        summary.map_or("–".to_owned(), |s| spread(s, 3))
    };
    let difference = beside.difference_percent();
    [
        mean(&beside.wire),
        mean(&beside.simulated),
        difference.map_or("–".to_owned(), |percent| format!("{percent:+.1} %")),
    ]
}

/// Returns the label of the point for its first row, and an empty text for the other rows.
fn group(results: &Results, point: usize, sender: usize) -> String {
    if sender == 0 {
        results.points[point].label()
    } else {
        String::new()
    }
}

fn at(histogram: &Histogram, q: f64) -> Duration {
    histogram.quantile(q).unwrap_or(Duration::ZERO)
}

fn millis(span: Duration) -> String {
    format!("{:.3}", span.as_secs_f64() * 1e3)
}
