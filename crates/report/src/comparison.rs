//! The report of a comparison: its figures, the page around them, and all its files.

use dupack_algorithms::catalog::{Axis, Catalog, StackSpec};

use crate::answer;
use crate::claims;
use crate::figure::{
    Bar, BarChart, BarSeries, FigureError, LineChart, Point, Scale, Series, StepChart, StepSeries,
};
use crate::files::Files;
use crate::notes::{notes, range, seed_counts};
use crate::page::{Block, Cell, Emphasis, Page, Section};
use crate::theory::Connection;
use dupack_claims::Judged;
use dupack_lab::results::{Comparison, Measure, Medium, Results, Verdict, scaled, verdict};
use dupack_lab::run::{OverTime, Timeline};
use dupack_lab::stats::{spread, times};

/// A figure with the name of its file.
#[derive(Clone, Debug)]
pub struct Figure {
    /// File name without its ending.
    pub name: String,
    /// The picture.
    pub svg: String,
    /// What it shows.
    pub caption: String,
}

const FIGURES: [Measure; 10] = [
    Measure::Goodput,
    Measure::Retransmissions,
    Measure::Timeouts,
    Measure::DelayP95,
    Measure::Fairness,
    Measure::HarmGoodput,
    Measure::HarmDelay,
    Measure::Completion,
    Measure::FramesInTime,
    Measure::StallTime,
];

/// What is said of the lines of [`theory`].
const THEORY: &str = " Grey: what Mathis et al. (1997) and Padhye et al. (1998) say of Reno at this loss, with the \
     propagation of both directions and the transmission of one packet as the round trip; they \
     know neither the queue nor the rate of the link, and Padhye et al. take the rest of a round as \
     lost with its first lost packet.";

/// The figures of a comparison: one per measure that says something.
///
/// # Errors
/// If a picture cannot be drawn.
fn figures(results: &Results, catalog: &Catalog) -> Result<Vec<Figure>, FigureError> {
    FIGURES
        .into_iter()
        .filter(|&measure| tells_something(results, measure))
        .map(|measure| {
            let svg = match results.axis() {
                Some(axis) => lines(results, measure, &axis, catalog).svg()?,
                None => bars(results, measure).svg()?,
            };
            let mut caption = format!(
                "{}, mean over the seeds; the whiskers are 95 % confidence intervals.",
                title(measure)
            );
            if !theory(results, measure, catalog).is_empty() {
                caption.push_str(THEORY);
            }
            Ok(Figure {
                name: measure.key().to_owned(),
                svg,
                caption,
            })
        })
        .collect()
}

/// What is reported beside the results themselves.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// One run of each stack over time.
    pub over_time: Option<OverTime>,
    /// Sections of the page after the numbers and before what was run.
    pub sections: Vec<Section>,
    /// What has become of the claims of the experiment file.
    pub judged: Vec<Judged>,
}

/// Every file of a comparison, whose stacks are those of `catalog`: its figures, the page, and the
/// numbers for other programs.
///
/// # Errors
/// If a picture cannot be drawn.
pub fn files<'r>(
    results: &'r Results,
    catalog: &Catalog,
    beside: Beside,
) -> Result<Files<'r>, FigureError> {
    let mut figures = figures(results, catalog)?;
    if let Some(runs) = &beside.over_time {
        figures.extend(over_time(results, runs)?);
    }
    let mut page = page(results, &figures);
    let record = page.sections.len().saturating_sub(1);
    let claims = (!beside.judged.is_empty()).then(|| claims::section(&beside.judged));
    let own = claims.into_iter().chain(beside.sections);
    page.sections.splice(record..record, own);
    let mut files = Files::new();
    for figure in figures {
        files.add_figure(&format!("figures/{}", figure.name), figure.svg);
    }
    files.add_page(page);
    files.add_numbers(results);
    if !results.runs.is_empty() {
        files.add("verdicts.csv", || verdict::verdicts_csv(results));
        files.add("comparisons.csv", || verdict::comparisons_csv(results));
    }
    let judged = beside.judged.clone();
    files.add("results.json", move || claims::json_text(results, &judged));
    if !beside.judged.is_empty() {
        files.add("claims.csv", move || claims::csv(&beside.judged));
    }
    Ok(files)
}

/// The figures over time of one run per stack: goodput, beside what a recorded trace carries,
/// and the window.
fn over_time(results: &Results, runs: &OverTime) -> Result<Vec<Figure>, FigureError> {
    let OverTime {
        point,
        timelines,
        capacity,
        ..
    } = runs;
    if timelines.is_empty() {
        return Ok(Vec::new());
    }
    let label = results.points[*point].label();
    let at = match label.as_str() {
        "" => String::new(),
        label => format!(" ({label})"),
    };
    let subtitle = match label.as_str() {
        "" => subtitle(results),
        label => format!("{label} · {}", subtitle(results)),
    };
    let chart = |title: &str, y_label: &str, series| StepChart {
        title: title.to_owned(),
        subtitle: subtitle.clone(),
        x_label: "time (s)".to_owned(),
        y_label: y_label.to_owned(),
        time_range: None,
        series,
    };
    let lines = |of: fn(&Timeline) -> &Vec<(f64, f64)>| -> Vec<StepSeries> {
        let lines = timelines.iter().map(|t| StepSeries {
            name: t.stack.clone(),
            points: of(t).clone(),
        });
        lines.collect()
    };
    let mut goodput = lines(|t| &t.goodput_mbit_s);
    let mut beside = "";
    if !capacity.is_empty() {
        beside = " beside what the recorded link carries";
        goodput.push(StepSeries {
            name: "the link carries".to_owned(),
            points: capacity.clone(),
        });
    }
    Ok(vec![
        Figure {
            name: "goodput_over_time".to_owned(),
            svg: chart("Goodput over time", "goodput (Mbit/s)", goodput).svg()?,
            caption: format!("Goodput{beside}, in the run with the first seed{at}."),
        },
        Figure {
            name: "cwnd_over_time".to_owned(),
            svg: chart(
                "Congestion window over time",
                "cwnd (segments)",
                lines(|t| &t.cwnd_segments),
            )
            .svg()?,
            caption: format!("Congestion window in the same run{at}, sampled at each step."),
        },
    ])
}

/// Fairness of a single flow, or the completion of endless ones, is no figure.
fn tells_something(results: &Results, measure: Measure) -> bool {
    let flows = results.runs.first().map_or(0, |r| r.flow_goodputs.len());
    results.has(measure) && (measure != Measure::Fairness || flows > 1)
}

fn lines(results: &Results, measure: Measure, axis: &str, catalog: &Catalog) -> LineChart {
    let mut unit = "";
    let mut series = Vec::new();
    // A line per stack and per combination of the other swept values.
    for (s, stack) in results.stacks.iter().enumerate() {
        let mut lines: Vec<(String, Vec<Point>)> = Vec::new();
        for (p, point) in results.points.iter().enumerate() {
            let Some((x, in_unit)) = point
                .values
                .iter()
                .find(|(key, _)| key == axis)
                .and_then(|(_, value)| scaled(value))
            else {
                continue;
            };
            unit = in_unit;
            let others = point.values.iter().filter(|(key, _)| key != axis);
            let others: Vec<String> = others.map(|(_, value)| value.to_string()).collect();
            let name = match others.is_empty() {
                true => stack.clone(),
                false => format!("{stack}, {}", others.join(", ")),
            };
            let Some(summary) = results.summary(p, s, measure) else {
                continue;
            };
            let at = Point {
                x,
                mean: summary.mean,
                half_width: summary.half_width_95,
            };
            match lines.iter_mut().find(|(n, _)| *n == name) {
                Some((_, points)) => points.push(at),
                None => lines.push((name, vec![at])),
            }
        }
        series.extend(
            lines
                .into_iter()
                .map(|(name, points)| Series { name, points }),
        );
    }
    LineChart {
        title: title(measure),
        subtitle: subtitle(results),
        x_label: axis_label(axis, unit),
        y_label: measure.label().to_owned(),
        x_scale: Scale::default(),
        y_scale: Scale::default(),
        y_from_zero: true,
        series,
        references: theory(results, measure, catalog),
    }
}

/// What formulas say of the goodput, where they apply: Reno's control, one flow, and loss the
/// only thing swept. The stacks are those of `catalog`.
#[must_use]
pub fn theory(results: &Results, measure: Measure, catalog: &Catalog) -> Vec<Series> {
    let sweep = &results.experiment.sweep;
    if measure != Measure::Goodput || sweep.len() != 1 {
        return Vec::new();
    }
    let Some(losses) = sweep.get("path.loss") else {
        return Vec::new();
    };
    let percents: Vec<f64> = losses.iter().filter_map(scaled).map(|(p, _)| p).collect();
    let connection =
        reno(results, catalog).and_then(|stack| Connection::of(&results.experiment, &stack));
    connection.map_or_else(Vec::new, |connection| connection.lines(&percents))
}

/// The first stack whose congestion control is Reno's.
fn reno(results: &Results, catalog: &Catalog) -> Option<StackSpec> {
    let stacks = results.stacks.iter();
    let mut stacks = stacks.filter_map(|text| StackSpec::parse(text, catalog).ok());
    stacks.find(|stack| stack.name(Axis::Control) == "reno")
}

fn bars(results: &Results, measure: Measure) -> BarChart {
    let one_point = results.points.len() == 1;
    let bar = |point: usize, stack: usize| {
        results.summary(point, stack, measure).map(|s| Bar {
            mean: s.mean,
            half_width: s.half_width_95,
        })
    };
    let (categories, series) = if one_point {
        let bars = (0..results.stacks.len()).map(|s| bar(0, s)).collect();
        let name = measure.label().to_owned();
        (results.stacks.clone(), vec![BarSeries { name, bars }])
    } else {
        let labels = results
            .points
            .iter()
            .map(dupack_lab::experiment::points::Point::label);
        let series = results
            .stacks
            .iter()
            .enumerate()
            .map(|(s, name)| BarSeries {
                name: name.clone(),
                bars: (0..results.points.len()).map(|p| bar(p, s)).collect(),
            });
        (labels.collect(), series.collect())
    };
    BarChart {
        title: title(measure),
        subtitle: subtitle(results),
        value_label: measure.label().to_owned(),
        categories,
        series,
        reference: None,
    }
}

/// What a reader must know of the path to read a figure.
fn subtitle(results: &Results) -> String {
    let e = &results.experiment;
    let mut parts = Vec::new();
    let fixed = |key: &str| !e.varies(key);
    if let Some(path) = &e.path {
        if let Some(rate) = path.rate.filter(|_| fixed("path.rate")) {
            parts.push(rate.to_string());
        }
        if let Some(trace) = path.trace.as_ref().filter(|_| fixed("path.trace")) {
            let name = trace.file_name().unwrap_or_default().to_string_lossy();
            parts.push(format!("trace {name}"));
        }
        if fixed("path.delay") {
            parts.push(format!("{} one way", path.delay));
        }
        if let Some(buffer) = path.buffer.filter(|_| fixed("path.buffer")) {
            parts.push(format!("buffer {buffer}"));
        }
        if path.loss.as_fraction() > 0.0 && fixed("path.loss") {
            parts.push(format!("loss {}", path.loss));
        }
    }
    let seeds = match range(&seed_counts(results), "seed", "seeds") {
        Some(seeds) if e.precision.is_some() => seeds,
        _ => format!("{} seeds", e.seeds.to_vec().len()),
    };
    match &results.medium {
        Medium::Simulated => {
            parts.push(format!("{} simulated", e.duration));
            parts.push(seeds);
        }
        Medium::Wire(record) => {
            parts.push(format!("{} over real packets", record.bytes));
            parts.push(format!("{} repetitions", e.seeds.to_vec().len()));
        }
    }
    parts.join(" · ")
}

fn axis_label(key: &str, unit: &str) -> String {
    let name = match key {
        "path.loss" => "packet loss",
        "path.delay" => "one-way delay",
        "path.rate" => "rate of the bottleneck",
        "path.buffer" => "buffer of the bottleneck",
        other => other,
    };
    if unit.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({unit})")
    }
}

/// A measure's name without its unit, which the axis has.
fn title(measure: Measure) -> String {
    let label = measure.label();
    capitalised(label.split(" (").next().unwrap_or(label))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The page of a comparison.
fn page(results: &Results, figures: &[Figure]) -> Page {
    let title = match results.experiment.title.as_str() {
        "" => "Which sender should this path have?".to_owned(),
        given => given.to_owned(),
    };
    Page {
        title,
        lead: lead(results),
        sections: vec![
            answer::section(results),
            Section {
                heading: "Figures".to_owned(),
                blocks: figures
                    .iter()
                    .map(|f| Block::Figure {
                        svg: f.svg.clone(),
                        caption: f.caption.clone(),
                    })
                    .collect(),
                ..Section::default()
            },
            numbers(results),
            record(results),
        ],
    }
}

fn lead(results: &Results) -> String {
    let mut text = results.experiment.description.clone();
    if !text.is_empty() {
        text.push(' ');
    }
    text + &format!(
        "{} stacks under the same losses: {}. {}.",
        results.stacks.len(),
        results.stacks.join(", "),
        subtitle(results)
    )
}

const NUMBERS: [Measure; 11] = [
    Measure::Goodput,
    Measure::Retransmissions,
    Measure::RetransmissionShare,
    Measure::Spurious,
    Measure::Timeouts,
    Measure::DelayMedian,
    Measure::DelayP95,
    Measure::Fairness,
    Measure::HarmGoodput,
    Measure::HarmDelay,
    Measure::HarmDelayShare,
];

const NUMBERS_CAPTION: &str = "Mean over the seeds ± half the 95 % confidence interval. Ratios are \
    geometric means over pairs of the same seed, with their intervals. Where there is no ±, every seed \
    gave the same run: nothing was left to chance.";

const MARKS_CAPTION: &str = "★: nothing beats it; ☆: so, but of more than half of the stacks; ≈: beaten, \
    but not told from the best; !: it harms or wastes too much.";

fn numbers(results: &Results) -> Section {
    let measures: Vec<Measure> = NUMBERS
        .into_iter()
        .filter(|&m| tells_something(results, m))
        .collect();
    let mut header = vec![String::new(), "stack".to_owned()];
    for &measure in &measures {
        header.push(measure.label().to_owned());
        if measure == Measure::Goodput {
            header.push("× first".to_owned());
        }
    }
    let mut rows = Vec::new();
    for point in 0..results.points.len() {
        let verdict = Verdict::of(results, point);
        for cell in Comparison::of(results, point, Measure::Goodput).cells {
            let mark = verdict.stacks[cell.stack].mark;
            let emphasis = answer::emphasis(mark);
            let label = match cell.stack {
                0 => results.points[point].label(),
                _ => String::new(),
            };
            let mut row = vec![
                Cell::new(label, Emphasis::Group),
                Cell::new(answer::marked(results, point, cell.stack, mark), emphasis),
            ];
            for &measure in &measures {
                let text = results
                    .summary(point, cell.stack, measure)
                    .map_or("–".to_owned(), |s| spread(&s, decimals(measure)));
                if measure == Measure::Goodput {
                    row.push(Cell::new(text, emphasis));
                    let ratio = cell.ratio.as_ref();
                    let ratio = ratio.map_or("–".to_owned(), times);
                    row.push(Cell::new(ratio, emphasis));
                } else {
                    row.push(Cell::new(text, Emphasis::Number));
                }
            }
            rows.push(row);
        }
    }
    let table = Block::Table {
        caption: match results.is_worthless() {
            true => NUMBERS_CAPTION.to_owned(),
            false => format!("{NUMBERS_CAPTION} {MARKS_CAPTION}"),
        },
        header,
        rows,
    };
    let notes = notes(results).into_iter().map(Block::text);
    Section {
        heading: "Numbers".to_owned(),
        blocks: std::iter::once(table).chain(notes).collect(),
        ..Section::default()
    }
}

const fn decimals(measure: Measure) -> usize {
    match measure {
        Measure::Goodput | Measure::TotalGoodput | Measure::Fairness | Measure::HarmGoodput => 3,
        Measure::Retransmissions | Measure::LossEvents => 0,
        _ => 1,
    }
}

fn record(results: &Results) -> Section {
    let rows = results.parameters.iter().map(|p| {
        vec![
            Cell::from(p.owner.clone()),
            p.name.clone().into(),
            p.value.clone().into(),
            p.source.clone().into(),
        ]
    });
    Section {
        heading: "What was run".to_owned(),
        blocks: vec![
            Block::Listing {
                caption: match results.medium {
                    Medium::Simulated => "The experiment, as the command “dupack run” takes it:",
                    Medium::Wire(_) => {
                        "The same path and transfer in the simulator, as the command “dupack run” \
                         takes it:"
                    }
                }
                .to_owned(),
                text: toml::to_string_pretty(&results.experiment).unwrap_or_default(),
            },
            Block::Table {
                caption: "Every effective parameter, defaults included.".to_owned(),
                header: ["of", "parameter", "value", "from"]
                    .map(str::to_owned)
                    .to_vec(),
                rows: rows.collect(),
            },
        ],
        ..Section::default()
    }
}
