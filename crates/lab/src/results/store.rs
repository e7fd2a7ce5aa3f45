//! CSV and JSON output for other programs.
//!
//! Numbers give the position of a row in the sweep: there is one column per swept key, and a unit is in the column next
//! to it. The column `point` is for readers. The column is never empty in a sweep, and is absent without a sweep.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::sheet::to_sheet;
use super::{Answered, Coordinate, Groups, Measure, Results, SummaryRow, verdict};
use crate::experiment::points::Point;
use crate::stats::Ratio;

/// Returns a CSV file with one line per run.
#[must_use]
pub fn runs_csv(results: &Answered<'_>) -> Vec<u8> {
    whole(results, runs_head, run_rows)
}

/// Returns a CSV file: its header line, and its rows at every point.
pub(super) fn whole(
    results: &Answered<'_>,
    head: impl Fn(&Places) -> Vec<u8>,
    rows: impl Fn(&mut Vec<u8>, &Answered<'_>, usize, &[String]),
) -> Vec<u8> {
    let places = Places::of(results);
    let mut out = head(&places);
    for point in 0..results.points.len() {
        rows(&mut out, results, point, places.at(point));
    }
    out
}

/// Returns the header line of [`runs_csv`].
#[must_use]
pub fn runs_head(places: &Places) -> Vec<u8> {
    let measures = Measure::ALL.map(Measure::key);
    let own = ["stack", "seed"].into_iter().chain(measures);
    places.head(own.chain(["trace_hash"]))
}

/// Appends the rows of [`runs_csv`] at the point `at` of `results`. `place` is the position of that point in the sweep.
pub fn run_rows(out: &mut Vec<u8>, results: &Answered<'_>, at: usize, place: &[String]) {
    for (stack, name) in results.stacks.iter().enumerate() {
        // The cells that all rows of a stack share, with quotes if needed. The other cells are numbers.
        let mut common = line(place.iter().map(String::as_str).chain([name.as_str()]));
        common.truncate(common.trim_ascii_end().len());
        for run in results.runs_of(at, stack) {
            out.extend(&common);
            let hash = results.hash_of(run);
            let mut put = || -> std::io::Result<()> {
                write!(out, ",{}", run.seed)?;
                for measure in Measure::ALL {
                    out.push(b',');
                    if let Some(value) = run.values.get(measure) {
                        write!(out, "{value}")?;
                    }
                }
                out.push(b',');
                if let Some(hash) = hash {
                    write!(out, "{hash:016x}")?;
                }
                writeln!(out)
            };
            put().expect("writing to memory cannot fail");
        }
    }
}

/// Returns the header line of [`flows_csv`].
#[must_use]
pub fn flows_head(places: &Places) -> Vec<u8> {
    places.head(["stack", "seed", "flow", "group", "goodput_mbit_s"])
}

/// Appends the rows of [`flows_csv`] at a point, as [`run_rows`] does. Flows are counted from 0.
pub fn flow_rows(out: &mut Vec<u8>, results: &Answered<'_>, at: usize, place: &[String]) {
    let groups = Groups::of(&results.points[at].experiment);
    for run in results.runs_at(at) {
        for (flow, goodput) in run.flow_goodputs.iter().enumerate() {
            let group = groups.of_flow(flow).map_or("", |group| &group.name);
            let own = [
                results.stacks[run.stack].clone(),
                run.seed.to_string(),
                flow.to_string(),
                group.to_owned(),
                number(*goodput),
            ];
            put(out, place, &own);
        }
    }
}

/// Returns a CSV file with one line per TCP flow of every run, in the order of the flows: its group and its goodput.
#[must_use]
pub fn flows_csv(results: &Answered<'_>) -> Vec<u8> {
    whole(results, flows_head, flow_rows)
}

/// Returns the rows of all points.
fn rows<'a>(results: &'a Answered<'_>) -> impl Iterator<Item = &'a SummaryRow> {
    (0..results.points.len()).flat_map(|point| results.summary_rows(point))
}

/// Returns the name of the central value of a ratio, or an empty text if there is no ratio.
fn centre(ratio: Option<Ratio>) -> &'static str {
    ratio.map_or("", |ratio| ratio.centre.name())
}

/// Returns a CSV file with one line per point, stack and measure: mean, spread, and ratio to the first stack.
#[must_use]
pub fn summary_csv(results: &Answered<'_>) -> Vec<u8> {
    whole(results, summary_head, summary_rows)
}

/// Returns the header line of [`summary_csv`].
#[must_use]
pub fn summary_head(places: &Places) -> Vec<u8> {
    places.head([
        "stack",
        "measure",
        "runs",
        "mean",
        "ci95_half_width",
        "standard_deviation",
        "min",
        "max",
        "ratio_to_first",
        "ratio_ci95_low",
        "ratio_ci95_high",
        "ratio_pairs",
        "ratio_is",
    ])
}

/// Appends the rows of [`summary_csv`] at a point, as [`run_rows`] does.
pub fn summary_rows(out: &mut Vec<u8>, results: &Answered<'_>, at: usize, place: &[String]) {
    for row in results.summary_rows(at) {
        let summary = row.summary;
        let ends = row.ratio.and_then(|r| r.interval_95);
        let opt = |v: Option<f64>| v.map_or(String::new(), number);
        let own = [
            results.stacks[row.stack].clone(),
            row.measure.key().to_owned(),
            summary.n.to_string(),
            number(summary.mean),
            opt(summary.half_width_95),
            opt(summary.standard_deviation),
            number(summary.min),
            number(summary.max),
            opt(row.ratio.map(|r| r.mean)),
            opt(ends.map(|(low, _)| low)),
            opt(ends.map(|(_, high)| high)),
            row.pairs.to_string(),
            centre(row.ratio).to_owned(),
        ];
        put(out, place, &own);
    }
}

/// Returns a CSV file with one line per point, trace and seed: the part of the recorded trace that the run uses. If the
/// part would end beyond the trace, it continues at the start of the trace. A run longer than the trace repeats it.
#[must_use]
pub fn traces_csv(results: &Answered<'_>) -> Vec<u8> {
    whole(results, traces_head, trace_rows)
}

/// Returns the header line of [`traces_csv`].
#[must_use]
pub fn traces_head(places: &Places) -> Vec<u8> {
    places.head([
        "key", "trace", "seed", "from_s", "seen_s", "length_s", "run_s",
    ])
}

/// Appends the rows of [`traces_csv`] at a point, as [`run_rows`] does.
pub fn trace_rows(out: &mut Vec<u8>, results: &Answered<'_>, at: usize, place: &[String]) {
    for recorded in results.recorded.iter().filter(|r| r.point == at) {
        for seed in results.seeds_at(at) {
            let own = [
                recorded.key.clone(),
                recorded.file.display().to_string(),
                seed.to_string(),
                number(recorded.from_ms(seed) as f64 / 1e3),
                number(recorded.seen_ms as f64 / 1e3),
                number(f64::from(recorded.length_ms) / 1e3),
                number(recorded.run_ms as f64 / 1e3),
            ];
            put(out, place, &own);
        }
    }
}

/// Returns a CSV file with one line per effective parameter.
#[must_use]
pub fn parameters_csv(results: &Results) -> Vec<u8> {
    let mut out = line(["owner", "parameter", "value", "source"]);
    for p in &results.parameters {
        out.extend(line([&*p.owner, &*p.name, &*p.value, &*p.source]));
    }
    out
}

/// Returns the results as JSON.
#[must_use]
pub fn json(results: &Answered<'_>) -> Value {
    let points = point_objects(results);
    let runs = results.runs.iter().map(|run| {
        let measures: Map<String, Value> = Measure::ALL
            .into_iter()
            .filter_map(|m| Some((m.key().to_owned(), run.values.get(m)?.into())))
            .collect();
        json!({
            "point": points[run.point],
            "stack": results.stacks[run.stack],
            "seed": run.seed,
            "measures": measures,
            "flow_goodputs_mbit_s": run.flow_goodputs,
            "trace_hash": results.hash_of(run).map(|hash| format!("{hash:016x}")),
        })
    });
    let summary = rows(results).map(|row| row_object(results, &points, row));
    let traces = results.recorded.iter().flat_map(|recorded| {
        let seeds = results.seeds_at(recorded.point).into_iter();
        seeds.map(|seed| {
            json!({
                "point": points[recorded.point],
                "key": recorded.key,
                "trace": recorded.file,
                "seed": seed,
                "from_s": recorded.from_ms(seed) as f64 / 1e3,
                "seen_s": recorded.seen_ms as f64 / 1e3,
                "length_s": f64::from(recorded.length_ms) / 1e3,
                "run_s": recorded.run_ms as f64 / 1e3,
            })
        })
    });
    json!({
        "title": results.experiment.title,
        "stacks": results.stacks,
        "planned_runs": results.planned,
        "warnings": results.warnings,
        "experiment": results.experiment,
        "parameters": results.parameters.iter().map(|p| json!({
            "owner": p.owner, "name": p.name, "value": p.value, "source": p.source,
        })).collect::<Vec<_>>(),
        "verdicts": verdict::json(results),
        "runs": runs.collect::<Vec<_>>(),
        "summary": summary.collect::<Vec<_>>(),
        "traces": traces.collect::<Vec<_>>(),
    })
}

/// Returns a line of [`summary_csv`] as an object. An infinite end of an interval is null, because JSON has no
/// infinity.
fn row_object(results: &Answered<'_>, points: &[Map<String, Value>], row: &SummaryRow) -> Value {
    let summary = row.summary;
    let ends = row.ratio.and_then(|r| r.interval_95);
    json!({
        "point": points[row.point],
        "stack": results.stacks[row.stack],
        "measure": row.measure.key(),
        "runs": summary.n,
        "mean": summary.mean,
        "ci95_half_width": summary.half_width_95,
        "standard_deviation": summary.standard_deviation,
        "min": summary.min,
        "max": summary.max,
        "ratio_to_first": row.ratio.map(|r| r.mean),
        "ratio_ci95_low": ends.map(|(low, _)| low),
        "ratio_ci95_high": ends.map(|(_, high)| high),
        "ratio_pairs": row.pairs,
        "ratio_is": row.ratio.map(|r| r.centre.name()),
    })
}

/// Returns [`json()`] as text.
#[must_use]
pub fn json_text(results: &Answered<'_>) -> String {
    format!("{:#}", json(results))
}

/// Appends a row: its position in the sweep, then the cells in `own`.
pub(super) fn put<'a>(out: &mut Vec<u8>, place: &'a [String], own: &'a [String]) {
    out.extend(line(place.iter().chain(own).map(String::as_str)));
}

/// Returns a line of CSV.
fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let cells: Vec<_> = cells.into_iter().map(to_sheet).collect();
    let cells = cells.iter().map(|cell| cell.as_bytes());
    out.write_record(cells)
        .expect("writing to memory cannot fail");
    out.into_inner().unwrap_or_default()
}

/// Columns with the position of a row in the sweep. There are none without a sweep.
#[derive(Clone, Debug)]
pub struct Places {
    header: Vec<String>,
    /// Cells of these columns at each point.
    rows: Vec<Vec<String>>,
}

impl Places {
    /// Returns the columns of a comparison.
    #[must_use]
    pub fn of(results: &Results) -> Self {
        Self::of_points(&results.points)
    }

    /// Returns the columns for all points of a sweep.
    #[must_use]
    pub fn of_points(points: &[Point]) -> Self {
        let mut header = Vec::new();
        if let Some(first) = points.first().filter(|p| !p.values.is_empty()) {
            header.push("point".to_owned());
            for (key, _) in &first.values {
                header.extend([key.clone(), format!("{key}_unit")]);
            }
        }
        let rows = points.iter().zip(Coordinate::of_points(points));
        let rows = rows.map(|(point, coordinates)| {
            let mut row = Vec::new();
            if !coordinates.is_empty() {
                row.push(point.label());
            }
            for coordinate in coordinates {
                row.extend([cell(&coordinate), coordinate.unit().to_owned()]);
            }
            row
        });
        Self {
            rows: rows.collect(),
            header,
        }
    }

    /// Returns the headers of the columns.
    #[must_use]
    pub fn heads(&self) -> &[String] {
        &self.header
    }

    /// Returns the header line of a file: these columns, then the columns in `own`.
    pub(super) fn head<'a>(&'a self, own: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
        line(self.header.iter().map(String::as_str).chain(own))
    }

    /// Returns the cells of these columns at the point with the index `point`.
    ///
    /// # Panics
    /// If there is no such point.
    #[must_use]
    pub fn at(&self, point: usize) -> &[String] {
        &self.rows[point]
    }
}

fn cell(coordinate: &Coordinate) -> String {
    match coordinate {
        Coordinate::Number { number: value, .. } => number(*value),
        Coordinate::Switch(on) => on.to_string(),
        Coordinate::Word(word) => word.clone(),
    }
}

/// Returns the position of each point in the sweep: for each key the value, its unit, and the text in the file.
fn point_objects(results: &Results) -> Vec<Map<String, Value>> {
    let points = results.points.iter().zip(results.coordinates());
    let object = |(point, coordinates): (&Point, Vec<Coordinate>)| {
        let values = point.values.iter().zip(coordinates);
        let entries = values.map(|((key, written), coordinate)| {
            let value: Value = match &coordinate {
                Coordinate::Number { number, .. } => (*number).into(),
                Coordinate::Switch(on) => (*on).into(),
                Coordinate::Word(word) => word.as_str().into(),
            };
            let entry = json!({
                "value": value,
                "unit": coordinate.unit(),
                "text": written.to_string(),
            });
            (key.clone(), entry)
        });
        entries.collect()
    };
    points.map(object).collect()
}

/// Returns the shortest decimal that parses to the same number.
pub(super) fn number(value: f64) -> String {
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::experiment::load::Source;
    use crate::run::Plan;

    fn results(sweep: &str) -> Answered<'static> {
        let text = format!(
            "stacks = [\"sack/reno\", \"rack/cubic\"]\nseeds = 2\nduration = \"2s\"\n[path]\n\
             rate = \"1Mbit/s\"\nloss = \"1%\"\n{sweep}"
        );
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        Answered::owning(crate::run::testing::results(&plan))
    }

    /// Returns the columns of a CSV file with their headers.
    fn columns(csv: &[u8]) -> Vec<(String, Vec<String>)> {
        let mut reader = csv::Reader::from_reader(csv);
        let heads = reader.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let column = |n: usize| rows.iter().map(|row| row[n].to_owned()).collect();
        let heads = heads.iter().enumerate();
        heads
            .map(|(n, head)| (head.to_owned(), column(n)))
            .collect()
    }

    fn column(csv: &[u8], head: &str) -> Vec<String> {
        let mut columns = columns(csv).into_iter();
        let found = columns.find(|(name, _)| name == head);
        found.unwrap_or_else(|| panic!("there is no {head}")).1
    }

    const SWEEP: &str =
        "[sweep]\n\"path.delay\" = [\"500us\", \"20ms\"]\n\"path.rate\" = [\"900kbit/s\"]\n";

    #[test]
    fn every_file_has_the_swept_keys_as_numbers_with_units() {
        let results = results(SWEEP);
        for csv in [
            runs_csv(&results),
            summary_csv(&results),
            verdict::verdicts_csv(&results),
            verdict::comparisons_csv(&results),
        ] {
            let delays = column(&csv, "path.delay");
            let delays: Vec<f64> = delays.iter().map(|text| text.parse().unwrap()).collect();
            assert!(
                delays.contains(&0.5) && delays.contains(&20.0),
                "{delays:?}"
            );
            let all_are = |head: &str, text: &str| {
                let cells = column(&csv, head);
                !cells.is_empty() && cells.iter().all(|cell| cell == text)
            };
            assert!(all_are("path.delay_unit", "ms"));
            assert!(all_are("path.rate", "0.9") && all_are("path.rate_unit", "Mbit/s"));
            assert_eq!(column(&csv, "point")[0], "delay 500us, rate 900kbit/s");
        }
        let json = json(&results);
        for part in ["runs", "summary"] {
            let delay = &json[part][0]["point"]["path.delay"];
            assert_eq!(delay["value"], 0.5, "{part}");
            assert_eq!(delay["unit"], "ms", "{part}");
            assert_eq!(delay["text"], "500us", "{part}");
        }
    }

    #[test]
    fn without_a_sweep_there_are_no_position_columns() {
        let results = results("");
        assert_eq!(columns(&summary_csv(&results))[0].0, "stack");
        assert_eq!(json(&results)["runs"][0]["point"], json!({}));
    }

    #[test]
    fn ratios_are_written_with_their_number_of_pairs() {
        let results = results(SWEEP);
        // A stack without losses to classify has no pair for that measure.
        let all_are_two = |csv: &[u8], head: &str| {
            let cells = column(csv, head).into_iter().zip(column(csv, "measure"));
            let goodput: Vec<_> = cells.filter(|(_, m)| m == "goodput_mbit_s").collect();
            !goodput.is_empty() && goodput.iter().all(|(cell, _)| cell == "2")
        };
        assert!(all_are_two(&summary_csv(&results), "ratio_pairs"));
        assert!(all_are_two(&verdict::comparisons_csv(&results), "pairs"));
        let pairs = column(&verdict::verdicts_csv(&results), "pairs");
        assert_eq!(pairs, ["2"; 4]);
        let json = json(&results);
        assert_eq!(json["summary"][1]["ratio_pairs"], 2);
        let point = &json["verdicts"]["points"][0];
        assert_eq!(point["stacks"][1]["pairs"], 2);
    }
}
