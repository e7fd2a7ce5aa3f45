//! Figures 1 to 12 redrawn, and the sweeps as tables.

use super::sweeps::{Sweep, Sweeps};
use super::transient::{Transients, available, only};
use super::{RENO, SACK, WESTWOOD};
use crate::judging::figure;
use crate::reproduction::{Exhibit, Table};
use crate::{At, Part};
use dupack_lab::results::Measure;
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;
use dupack_report::figure::{
    Bar, BarChart, BarSeries, LineChart, Point, Scale, Series, StepChart, StepSeries,
};
use dupack_report::page::{Cell, Emphasis};

/// The stacks of the paper, in the order of the experiments.
const STACKS: [&str; 3] = ["Westwood", "Reno", "SACK"];
/// Those of the transient: after the paper's, ours.
const TRANSIENT_STACKS: [&str; 5] = [
    "Westwood",
    "Reno",
    "SACK",
    "Westwood with NewReno's recovery",
    "Westwood with SACK's recovery",
];
/// Samples of an estimate that make one point of figure 1.
const PER_POINT: usize = 5;

pub(super) fn transient(transients: &Transients<'_>) -> Vec<Exhibit> {
    let mut out = vec![
        Exhibit::Heading("Figures 1 to 6: the transient".to_owned()),
        Exhibit::Note(
            "The paper's curves are not in our hands; what its text says of them is judged above. The source whose 9 Mbit/s \
             are taken from 50 to 400 s is joined by another from 100 to 150 and from 250 to 350 s; both send for two seconds \
             at 460 s."
                .to_owned(),
        ),
    ];
    if let Some(part) = transients.lossless {
        out.extend(figure(
            "figure1-estimate",
            "Westwood's estimate, averaged over half a second, beside what the UDP sources leave.",
            estimate(part).svg(),
        ));
        out.extend(window(part, WESTWOOD, ("figure2-westwood", "Figure 2", "")));
        out.extend(window(part, RENO, ("figure3-reno", "Figure 3", "")));
    }
    if let Some(part) = transients.lossy {
        let lossy = ", random loss";
        out.extend(window(
            part,
            WESTWOOD,
            ("figure4-westwood-lossy", "Figure 4", lossy),
        ));
        out.extend(window(
            part,
            RENO,
            ("figure5-reno-lossy", "Figure 5", lossy),
        ));
    }
    out.extend(figure(
        "figure6-throughput",
        "The paper shows Westwood and Reno; SACK, and Westwood with other recoveries, are not in its figure.",
        throughputs(transients).svg(),
    ));
    out.extend(summary(transients));
    out.extend(other_reading(transients));
    out
}

/// Rate, delay and random loss of a transient.
fn path_of(part: &Part) -> String {
    let known = [
        rate_of(part),
        Some("100 ms one way".to_owned()),
        loss_of(part),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    known.join(" · ")
}

fn rate_of(part: &Part) -> Option<String> {
    let rate = part.results.experiment.path.as_ref()?.rate?;
    Some(format!("{} Mbit/s", rate.as_megabits_per_second()))
}

fn loss_of(part: &Part) -> Option<String> {
    let loss = part.results.experiment.path.as_ref()?.loss.as_fraction();
    (loss > 0.0).then(|| format!("a loss in {:.0} packets", 1.0 / loss))
}

fn estimate(part: &Part) -> LineChart {
    let experiment = &part.results.experiment;
    let moments = part
        .course(only(WESTWOOD))
        .map_or(&[][..], |course| &course.moments);
    let points = moments.chunks(PER_POINT).filter_map(|chunk| {
        let values: Vec<f64> = chunk.iter().filter_map(|m| m.estimate).collect();
        let at = chunk.first()?.at;
        Some(Point::from((at, dupack_lab::stats::mean(&values)?, None)))
    });
    let mut steps = Vec::new();
    for pair in moments.windows(2) {
        let (before, after) = (
            available(experiment, pair[0].at),
            available(experiment, pair[1].at),
        );
        if steps.is_empty() {
            steps.push(Point::from((pair[0].at, before, None)));
        }
        if before != after {
            steps.push(Point::from((pair[1].at, before, None)));
            steps.push(Point::from((pair[1].at, after, None)));
        }
    }
    if let Some(last) = moments.last() {
        steps.push(Point::from((last.at, available(experiment, last.at), None)));
    }
    LineChart {
        title: "Figure 1: the bandwidth estimate".to_owned(),
        subtitle: path_of(part),
        x_label: "time (s)".to_owned(),
        y_label: "Mbit/s".to_owned(),
        y_from_zero: true,
        series: vec![Series {
            name: "estimate".to_owned(),
            points: points.collect(),
        }],
        references: vec![Series {
            name: "available".to_owned(),
            points: steps,
        }],
        ..LineChart::default()
    }
}

/// `cwnd` and `ssthresh` of a stack: figures 2 to 5.
fn window(part: &Part, stack: usize, (name, number, how): (&str, &str, &str)) -> Option<Exhibit> {
    let moments = &part.course(only(stack))?.moments;
    let chart = StepChart {
        title: format!("{number}: cwnd and ssthresh of {}{how}", STACKS[stack]),
        subtitle: path_of(part),
        x_label: "time (s)".to_owned(),
        y_label: "packets".to_owned(),
        time_range: None,
        series: vec![
            StepSeries {
                name: "cwnd".to_owned(),
                points: moments.iter().map(|m| (m.at, m.cwnd)).collect(),
            },
            StepSeries {
                name: "ssthresh".to_owned(),
                points: moments.iter().map(|m| (m.at, m.ssthresh)).collect(),
            },
        ],
    };
    figure(
        name,
        "Sampled ten times a second; ssthresh begins without limit.",
        chart.svg(),
    )
}

fn throughputs(transients: &Transients<'_>) -> BarChart {
    let parts = [
        (transients.lossless, "without random loss"),
        (transients.lossy, "with random loss"),
    ];
    let series = parts.into_iter().filter_map(|(part, name)| {
        let part = part?;
        let loss = loss_of(part).map_or(String::new(), |loss| format!(" ({loss})"));
        let bars = (0..TRANSIENT_STACKS.len()).map(|stack| {
            let summary = part.summary(only(stack), Measure::Goodput)?;
            Some(Bar {
                mean: summary.mean,
                half_width: summary.half_width_95,
            })
        });
        Some(BarSeries {
            name: format!("{name}{loss}"),
            bars: bars.collect(),
        })
    });
    let path = transients.lossless.map(path_of);
    BarChart {
        title: "Figure 6: goodput in the transient".to_owned(),
        subtitle: path.unwrap_or_default(),
        value_label: "goodput (Mbit/s)".to_owned(),
        categories: TRANSIENT_STACKS.map(str::to_owned).to_vec(),
        series: series.collect(),
        reference: None,
    }
}

/// Figure 6 in numbers.
fn summary(transients: &Transients<'_>) -> Option<Exhibit> {
    let (lossless, lossy) = (transients.lossless?, transients.lossy?);
    table_of(
        "figure6-throughput",
        "The transient in numbers: without random loss, and with it.",
        [(lossless, ""), (lossy, "with loss: ")],
    )
}

/// The transient with the buffer that the text may mean as well.
fn other_reading(transients: &Transients<'_>) -> Option<Exhibit> {
    let (whole, half) = (transients.lossless?, transients.half?);
    table_of(
        "figure6-half-buffer",
        "Another reading: the product of rate and one-way delay as the buffer, half of what we give it. No verdict rests on it.",
        [(whole, ""), (half, "half the buffer: ")],
    )
}

/// Two experiments side by side; before the columns of each, what it is.
fn table_of(name: &str, caption: &str, parts: [(&Part, &str); 2]) -> Option<Exhibit> {
    let mut header = vec![String::new()];
    for (_, what) in parts {
        header.push(format!("{what}goodput (Mbit/s)"));
        header.extend(["loss events", "timeouts"].map(str::to_owned));
    }
    let mut rows = Vec::new();
    for (stack, name) in TRANSIENT_STACKS.into_iter().enumerate() {
        let mut row = vec![Cell::new(name, Emphasis::Group)];
        for (part, _) in parts {
            for (measure, decimals) in [
                (Measure::Goodput, 2),
                (Measure::LossEvents, 1),
                (Measure::Timeouts, 1),
            ] {
                let summary = part.summary(only(stack), measure)?;
                row.push(Cell::new(spread(&summary, decimals), Emphasis::Number));
            }
        }
        rows.push(row);
    }
    Some(Exhibit::Table(Table {
        name: name.to_owned(),
        caption: caption.to_owned(),
        header,
        rows,
    }))
}

/// The numbers of the figures, without and with random loss, by sweep.
const NUMBERS: [(u32, u32); 3] = [(7, 10), (8, 11), (9, 12)];

pub(super) fn sweeps(sweeps: &Sweeps<'_>) -> Vec<Exhibit> {
    let mut out = vec![
        Exhibit::Heading("Figures 7 to 12: the bursty source".to_owned()),
        Exhibit::Note(
            "Goodput is what one connection has on average, as the paper plots it. Its curves are not in our hands; what its \
             text says of them is judged above."
                .to_owned(),
        ),
    ];
    if sweeps.lossless.iter().any(Sweep::is_quick) {
        out.push(Exhibit::Note(
            "A quick look: all rates are a fifth of those named at the axis and in the tables."
                .to_owned(),
        ));
    }
    for (group, ending) in [(&sweeps.lossless, ""), (&sweeps.lossy, "-lossy")] {
        for sweep in group {
            let Some(index) = super::sweeps::AXES
                .iter()
                .position(|axis| axis.experiment == sweep.axis.experiment)
            else {
                continue;
            };
            let (without, with) = NUMBERS[index];
            let number = if ending.is_empty() { without } else { with };
            let name = format!("figure{number}-{}{ending}", sweep.axis.experiment);
            out.extend(figure(&name, "", chart(sweep, number).svg()));
            out.extend(table(sweep, number, &name));
        }
    }
    out
}

/// Connections at a point.
fn connections(sweep: &Sweep<'_>, point: usize) -> f64 {
    match sweep.axis.experiment {
        "connections" => sweep.values[point],
        _ => f64::from(
            sweep
                .part
                .results
                .experiment
                .flows
                .first()
                .map_or(1, |f| f.count),
        ),
    }
}

/// Goodput per connection of a stack, by point, in Mbit/s.
fn per_connection(sweep: &Sweep<'_>, stack: usize) -> Option<Vec<Summary>> {
    let points = 0..sweep.values.len();
    points
        .map(|point| {
            let n = connections(sweep, point);
            let samples = sweep.part.results.samples(point, stack, Measure::Goodput);
            let values: Vec<f64> = samples.map(|(_, value)| value / n).collect();
            Summary::of(&values)
        })
        .collect()
}

fn chart(sweep: &Sweep<'_>, number: u32) -> LineChart {
    let series = STACKS.iter().enumerate().filter_map(|(stack, name)| {
        let values = per_connection(sweep, stack)?;
        let points = sweep.values.iter().zip(values);
        Some(Series {
            name: (*name).to_owned(),
            points: points
                .map(|(x, y)| Point::from((*x, y.mean, interval_shown(&y))))
                .collect(),
        })
    });
    let scale = match sweep.axis.experiment {
        "connections" => Scale::Linear,
        _ => Scale::Log,
    };
    let mut known = Vec::new();
    if sweep.axis.experiment != "connections" {
        known.push(format!("{} connections", connections(sweep, 0)));
    }
    if sweep.axis.experiment != "rates" {
        known.extend(rate_of(sweep.part));
    }
    if sweep.axis.experiment != "delays" {
        known.push("500 ms one way".to_owned());
    }
    known.extend(loss_of(sweep.part));
    LineChart {
        title: format!("Figure {number}: goodput by {}", sweep.axis.by()),
        subtitle: known.join(" · "),
        x_label: sweep.axis.label.to_owned(),
        y_label: "goodput per connection (Mbit/s)".to_owned(),
        x_scale: scale,
        y_scale: match sweep.axis.experiment {
            "delays" => Scale::Linear,
            _ => Scale::Log,
        },
        y_from_zero: true,
        series: series.collect(),
        ..LineChart::default()
    }
}

/// Two samples have an interval so wide that a figure would show nothing else; the tables have it.
fn interval_shown(summary: &Summary) -> Option<f64> {
    summary.half_width_95.filter(|_| summary.n > 2)
}

fn table(sweep: &Sweep<'_>, number: u32, name: &str) -> Option<Exhibit> {
    let number_cell = |text: String| Cell::new(text, Emphasis::Number);
    let goodputs: Option<Vec<Vec<Summary>>> = [WESTWOOD, RENO, SACK]
        .map(|stack| per_connection(sweep, stack))
        .into_iter()
        .collect();
    let goodputs = goodputs?;
    let mut rows = Vec::new();
    for (point, value) in sweep.values.iter().enumerate() {
        let at = At {
            point,
            stack: WESTWOOD,
        };
        let mut row = vec![Cell::new(
            format!("{value}{}", sweep.axis.unit),
            Emphasis::Group,
        )];
        row.extend(
            goodputs
                .iter()
                .map(|of| number_cell(format!("{:.3}", of[point].mean))),
        );
        for ratios in [&sweep.to_reno, &sweep.to_sack] {
            row.push(Cell::new(spread(&ratios[point], 2), Emphasis::Best));
        }
        row.push(number_cell(spread(
            &sweep.part.summary(at, Measure::Timeouts)?,
            0,
        )));
        rows.push(row);
    }
    let header = [
        sweep.axis.by(),
        "Westwood",
        "Reno",
        "SACK",
        "× Reno",
        "× SACK",
        "Westwood's timeouts",
    ];
    Some(Exhibit::Table(Table {
        name: name.to_owned(),
        caption: format!(
            "Figure {number} in numbers: goodput per connection in Mbit/s, and Westwood's over that of the others, paired by \
             seed."
        ),
        header: header.map(str::to_owned).to_vec(),
        rows,
    }))
}
