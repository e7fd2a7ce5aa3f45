//! The report of a comparison: its figures, its page, and all its files.

mod charts;
mod text;

use std::sync::Arc;

use dupack_algorithms::catalog::{Catalog, Dialect};

pub use charts::theory;
pub(crate) use charts::{Charts, FIGURES, charts, winners};
pub use text::text;

use crate::answer;
use crate::claims;
use crate::deploy;
use crate::figure::{Figure, FigureError};
use crate::files::{FIGURE_KINDS, Files, RESULTS};
use crate::groups;
use crate::notes::notes;
use crate::over_time;
use crate::page::{Block, Cell, Emphasis, Link, Page, Section};
use crate::shown::Shown;
use dupack_claims::Judged;
use dupack_lab::results::{Answered, Measure, Medium, Results, verdict};
use dupack_lab::run::{FlowsOverTime, OverTime};
use dupack_lab::stats::{spread, times};

/// Parts of the report in addition to the results.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// One run of each stack over time.
    pub over_time: Option<OverTime>,
    /// Every flow over time, for all seeds.
    pub flows_over_time: Option<FlowsOverTime>,
    /// Sections of the page that follow the numbers and precede the record of the experiment.
    pub sections: Vec<Section>,
    /// Verdicts on the claims of the experiment file.
    pub judged: Vec<Judged>,
}

/// Returns all files of a comparison: its figures, the page, and the numbers for other programs. `catalog` contains the
/// stacks of the comparison.
///
/// # Errors
///
/// Returns an error if a picture cannot be drawn.
pub fn files<'r>(
    results: &Arc<Answered<'r>>,
    catalog: &Catalog,
    beside: Beside,
) -> Result<Files<'r>, FigureError> {
    let Charts { mut figures, note } = charts(&**results, catalog)?;
    if let Some(runs) = &beside.over_time {
        figures.extend(over_time::figures(results, runs)?);
    }
    let mut files = Files::new();
    for figure in &figures {
        files.add_figure(&format!("figures/{}", figure.name), figure.svg.clone());
    }
    if let Some(runs) = beside.over_time {
        over_time::add_files(&mut files, results, runs);
    }
    if let Some(flows) = beside.flows_over_time {
        let results = Arc::clone(results);
        files.add(over_time::FLOWS, move || {
            over_time::flows_csv(&results, &flows)
        });
    }
    files.add_numbers(results);
    if !results.runs.is_empty() {
        let [first, second] = [Arc::clone(results), Arc::clone(results)];
        files.add("verdicts.csv", move || verdict::verdicts_csv(&first));
        files.add("comparisons.csv", move || verdict::comparisons_csv(&second));
    }
    let judged = beside.judged.clone();
    let linux = deploy::answer::json(results, catalog);
    let answered = Arc::clone(results);
    files.add(RESULTS, move || {
        with_linux(claims::json(&answered, &judged), linux.clone())
    });
    let claims = (!beside.judged.is_empty()).then(|| claims::section(&beside.judged));
    if !beside.judged.is_empty() {
        files.add("claims.csv", move || claims::csv(&beside.judged));
    }
    // The page is added last because it links to the other files.
    let links = Links::of(&files);
    let mut page = page(results, (&figures, note), &links);
    let record = page.sections.len().saturating_sub(1);
    let claims = claims.map(|section| links.after(section, &["claims.csv"]));
    let deploy = deploy::answer::section(results, catalog);
    let groups = groups::section(results).map(|section| links.after(section, &["flows.csv"]));
    let claims = groups.into_iter().chain(claims);
    let own = claims.chain(beside.sections).chain(deploy);
    page.sections.splice(record..record, own);
    files.add_page(page);
    Ok(files)
}

/// Returns the whole comparison as one JSON object, as in `results.json`.
#[must_use]
pub fn json_text(results: &Answered<'_>, judged: &[Judged], catalog: &Catalog) -> String {
    with_linux(
        claims::json(results, judged),
        deploy::answer::json(results, catalog),
    )
}

/// Returns the JSON of the results, with the Linux support of each stack added.
fn with_linux(mut json: serde_json::Value, linux: Vec<serde_json::Value>) -> String {
    if !linux.is_empty() {
        json["linux"] = linux.into();
    }
    format!("{json:#}")
}

/// Returns the page of a comparison.
fn page(
    results: &Answered<'_>,
    (figures, note): (&[Figure], Option<String>),
    links: &Links,
) -> Page {
    let mut title = match results.experiment.title.as_str() {
        "" => "Which sender should this path have?".to_owned(),
        given => given.to_owned(),
    };
    if results.experiment.dialect == Dialect::Ns2 {
        title += " (dialect ns2)";
    }
    Page {
        title,
        lead: lead(results),
        sections: vec![
            links.after(
                answer::section(results),
                &["verdicts.csv", "comparisons.csv"],
            ),
            Section {
                heading: "Figures".to_owned(),
                blocks: { figures.iter() }
                    .flat_map(|figure| links.figure(figure))
                    .chain(note.map(Block::text))
                    .collect(),
                ..Section::default()
            },
            links.after(
                numbers(results),
                &["summary.csv", "runs.csv", "results.json"],
            ),
            links.after(
                record(results, results.experiment.text()),
                &["parameters.csv", "traces.csv"],
            ),
        ],
    }
}

/// Files of a report that a page can link to.
pub(crate) struct Links {
    names: Vec<String>,
}

impl Links {
    pub(crate) fn of(files: &Files<'_>) -> Self {
        Self {
            names: files.all_names().map(str::to_owned).collect(),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Returns a section with links to the files in `names` that exist.
    pub(crate) fn after(&self, mut section: Section, names: &[&str]) -> Section {
        let there = names.iter().filter(|name| self.has(name));
        let links: Vec<Link> = there.map(|name| Link::to(name)).collect();
        if !links.is_empty() {
            section.blocks.push(Block::Files { links });
        }
        section
    }

    /// Returns a figure, followed by links to its picture and to the files with its numbers. These are a separate file
    /// if the figure has one, and otherwise the files with all measures.
    pub(crate) fn figure(&self, figure: &Figure) -> [Block; 2] {
        let own = format!("figures/{}.csv", figure.name);
        let numbers = match self.has(&own) {
            true => vec![own],
            false => vec!["summary.csv".to_owned(), "runs.csv".to_owned()],
        };
        let pictures = FIGURE_KINDS.map(|kind| format!("figures/{}.{kind}", figure.name));
        let there = { numbers.iter().chain(&pictures) }.filter(|name| self.has(name));
        let links = there.map(|name| Link::to(name)).collect();
        let picture = Block::Figure {
            svg: figure.svg.clone(),
            caption: figure.caption.clone(),
        };
        [picture, Block::Files { links }]
    }
}

pub(crate) fn lead(results: &dyn Shown) -> String {
    let mut text = results.experiment().description.clone();
    if !text.is_empty() {
        text.push(' ');
    }
    text + &format!(
        "{} stacks under the same losses: {}. {}.",
        results.stacks().len(),
        results.stacks().join(", "),
        results.subtitle()
    )
}

pub(crate) const NUMBERS: [Measure; 11] = [
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

pub(crate) const NUMBERS_CAPTION: &str = "Mean over the seeds ± half the 95 % confidence interval. Ratios are \
    geometric means over pairs of the same seed, with their intervals. Numbers without ± \
    are the same for every seed, because nothing in the runs is random.";

pub(crate) const MARKS_CAPTION: &str = "★ undominated; ☆ also undominated, but so are most stacks: choose a \
    criterion with `--prefer`; ≈ dominated, but not significantly different from the best; ! excessive harm or waste.";

fn numbers(results: &Answered<'_>) -> Section {
    let measures: Vec<Measure> = NUMBERS.into_iter().filter(|&m| results.tells(m)).collect();
    let points = 0..results.points.len();
    let rows = points.flat_map(|point| number_rows(results, point, &measures));
    let table = Block::Table {
        caption: match results.is_worthless() {
            true => NUMBERS_CAPTION.to_owned(),
            false => format!("{NUMBERS_CAPTION} {MARKS_CAPTION}"),
        },
        header: number_header(&measures),
        rows: rows.collect(),
    };
    let notes = notes(results).into_iter().map(Block::text);
    Section {
        heading: "Numbers".to_owned(),
        blocks: std::iter::once(table).chain(notes).collect(),
        ..Section::default()
    }
}

/// Returns the column names of a table of numbers. Goodput has two columns.
pub(crate) fn number_header(measures: &[Measure]) -> Vec<String> {
    let mut header = vec![String::new(), "stack".to_owned()];
    for &measure in measures {
        header.push(measure.label().to_owned());
        if measure == Measure::Goodput {
            header.push("× first".to_owned());
        }
    }
    header
}

/// Text of a cell without a number in a table of numbers.
pub(crate) const NO_NUMBER: &str = "–";

/// Returns the rows of a table of numbers at a point, one per stack.
pub(crate) fn number_rows(
    results: &Answered<'_>,
    point: usize,
    measures: &[Measure],
) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for cell in &results.goodput(point).cells {
        let mark = results.verdict(point).stacks[cell.stack].mark;
        let emphasis = answer::emphasis(mark);
        let label = match cell.stack {
            0 => results.points[point].label(),
            _ => String::new(),
        };
        let mut row = vec![
            Cell::new(label, Emphasis::Group),
            Cell::new(answer::marked(results, point, cell.stack, mark), emphasis),
        ];
        for &measure in measures {
            let text = results
                .summary(point, cell.stack, measure)
                .map_or(NO_NUMBER.to_owned(), |s| spread(&s, decimals(measure)));
            if measure == Measure::Goodput {
                row.push(Cell::new(text, emphasis));
                let ratio = cell.ratio.as_ref();
                let ratio = ratio.map_or(NO_NUMBER.to_owned(), times);
                row.push(Cell::new(ratio, emphasis));
            } else {
                row.push(Cell::new(text, Emphasis::Number));
            }
        }
        rows.push(row);
    }
    rows
}

const fn decimals(measure: Measure) -> usize {
    match measure {
        Measure::Goodput | Measure::TotalGoodput | Measure::Fairness | Measure::HarmGoodput => 3,
        Measure::Retransmissions | Measure::LossEvents => 0,
        _ => 1,
    }
}

pub(crate) fn record(results: &Results, text: String) -> Section {
    let rows = results.parameters.iter().map(|p| {
        vec![
            Cell::from(p.owner.clone()),
            p.name.clone().into(),
            p.value.clone().into(),
            p.source.clone().into(),
        ]
    });
    Section {
        heading: "The experiment".to_owned(),
        blocks: vec![
            Block::Listing {
                caption: match results.medium {
                    Medium::Simulated => "The experiment file, as input for “dupack run”:",
                    Medium::Wire(_) => {
                        "The same path and transfer in the simulator, as input for “dupack run”:"
                    }
                }
                .to_owned(),
                text,
            },
            Block::Table {
                caption: "All effective parameters, including defaults.".to_owned(),
                header: ["part", "parameter", "value", "source"]
                    .map(str::to_owned)
                    .to_vec(),
                rows: rows.collect(),
            },
        ],
        ..Section::default()
    }
}
