//! Results as text for other programs: CSV and JSON.

use serde_json::{Map, Value, json};

use super::{Cell, Comparison, Measure, Results, verdict};
use crate::stats::{Ratio, Summary};

/// Every run, a line each.
#[must_use]
pub fn runs_csv(results: &Results) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<&str> = keys(results);
    header.extend(["stack", "seed"]);
    header.extend(Measure::ALL.map(Measure::key));
    header.push("trace_hash");
    put(&mut out, header.iter().copied());
    for run in &results.runs {
        let mut row: Vec<String> = point_values(results, run.point);
        row.push(results.stacks[run.stack].clone());
        row.push(run.seed.to_string());
        row.extend(Measure::ALL.map(|m| run.values.get(m).map_or(String::new(), number)));
        let hash = results.hash_of(run);
        row.push(hash.map_or(String::new(), |hash| format!("{hash:016x}")));
        put(&mut out, row.iter().map(String::as_str));
    }
    out.into_inner().unwrap_or_default()
}

/// What the runs of a stack at a point say together by a measure.
struct Row {
    point: usize,
    measure: Measure,
    cell: Cell,
    summary: Summary,
}

/// A row per point, measure and stack, for what was measured.
fn rows(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for point in 0..results.points.len() {
        for measure in Measure::ALL.into_iter().filter(|m| results.has(*m)) {
            for cell in Comparison::of(results, point, measure).cells {
                if let Some(summary) = cell.summary {
                    rows.push(Row {
                        point,
                        measure,
                        cell,
                        summary,
                    });
                }
            }
        }
    }
    rows
}

/// What a ratio is called where there is none.
fn centre(ratio: Option<Ratio>) -> &'static str {
    ratio.map_or("", |ratio| ratio.centre.name())
}

/// A line per point, stack and measure: mean, spread, and the ratio to the first stack.
#[must_use]
pub fn summary_csv(results: &Results) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<&str> = keys(results);
    header.extend([
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
    ]);
    put(&mut out, header.iter().copied());
    for row in rows(results) {
        let Row { cell, summary, .. } = row;
        let ends = cell.ratio.and_then(|r| r.interval_95);
        let opt = |v: Option<f64>| v.map_or(String::new(), number);
        let mut line = point_values(results, row.point);
        line.extend([
            results.stacks[cell.stack].clone(),
            row.measure.key().to_owned(),
            summary.n.to_string(),
            number(summary.mean),
            opt(summary.half_width_95),
            opt(summary.standard_deviation),
            number(summary.min),
            number(summary.max),
            opt(cell.ratio.map(|r| r.mean)),
            opt(ends.map(|(low, _)| low)),
            opt(ends.map(|(_, high)| high)),
            cell.pairs.to_string(),
            centre(cell.ratio).to_owned(),
        ]);
        put(&mut out, line.iter().map(String::as_str));
    }
    out.into_inner().unwrap_or_default()
}

/// Which part of each recorded trace the runs saw: a line per point, trace and seed. A part that ends
/// beyond the trace goes on at its start.
#[must_use]
pub fn traces_csv(results: &Results) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<&str> = keys(results);
    header.extend(["key", "trace", "seed", "from_s", "seen_s", "length_s"]);
    put(&mut out, header.iter().copied());
    for recorded in &results.recorded {
        for seed in results.seeds_at(recorded.point) {
            let mut line = point_values(results, recorded.point);
            line.extend([
                recorded.key.clone(),
                recorded.file.display().to_string(),
                seed.to_string(),
                number(recorded.from_ms(seed) as f64 / 1e3),
                number(recorded.seen_ms as f64 / 1e3),
                number(f64::from(recorded.length_ms) / 1e3),
            ]);
            put(&mut out, line.iter().map(String::as_str));
        }
    }
    out.into_inner().unwrap_or_default()
}

/// Every effective parameter, a line each.
#[must_use]
pub fn parameters_csv(results: &Results) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    put(&mut out, ["owner", "parameter", "value", "source"]);
    for p in &results.parameters {
        put(&mut out, [&*p.owner, &*p.name, &*p.value, &*p.source]);
    }
    out.into_inner().unwrap_or_default()
}

/// The whole of the results as JSON.
#[must_use]
pub fn json(results: &Results) -> Value {
    let runs = results.runs.iter().map(|run| {
        let measures: Map<String, Value> = Measure::ALL
            .into_iter()
            .filter_map(|m| Some((m.key().to_owned(), run.values.get(m)?.into())))
            .collect();
        json!({
            "point": point_object(results, run.point),
            "stack": results.stacks[run.stack],
            "seed": run.seed,
            "measures": measures,
            "flow_goodputs_mbit_s": run.flow_goodputs,
            "trace_hash": results.hash_of(run).map(|hash| format!("{hash:016x}")),
        })
    });
    let summary = rows(results).into_iter();
    let summary = summary.map(|row| row_object(results, &row));
    let traces = results.recorded.iter().flat_map(|recorded| {
        let seeds = results.seeds_at(recorded.point).into_iter();
        seeds.map(|seed| {
            json!({
                "point": point_object(results, recorded.point),
                "key": recorded.key,
                "trace": recorded.file,
                "seed": seed,
                "from_s": recorded.from_ms(seed) as f64 / 1e3,
                "seen_s": recorded.seen_ms as f64 / 1e3,
                "length_s": f64::from(recorded.length_ms) / 1e3,
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

/// A line of [`summary_csv`]. An end of an interval that is infinite is null: JSON has none.
fn row_object(results: &Results, row: &Row) -> Value {
    let Row { cell, summary, .. } = row;
    let ends = cell.ratio.and_then(|r| r.interval_95);
    json!({
        "point": point_object(results, row.point),
        "stack": results.stacks[cell.stack],
        "measure": row.measure.key(),
        "runs": summary.n,
        "mean": summary.mean,
        "ci95_half_width": summary.half_width_95,
        "standard_deviation": summary.standard_deviation,
        "min": summary.min,
        "max": summary.max,
        "ratio_to_first": cell.ratio.map(|r| r.mean),
        "ratio_ci95_low": ends.map(|(low, _)| low),
        "ratio_ci95_high": ends.map(|(_, high)| high),
        "ratio_pairs": cell.pairs,
        "ratio_is": cell.ratio.map(|r| r.centre.name()),
    })
}

/// [`json()`] as text.
#[must_use]
pub fn json_text(results: &Results) -> String {
    format!("{:#}", json(results))
}

pub(super) fn put<'a>(out: &mut csv::Writer<Vec<u8>>, row: impl IntoIterator<Item = &'a str>) {
    out.write_record(row)
        .expect("rows have equal length and memory does not fail");
}

/// The keys that vary from point to point.
pub(super) fn keys(results: &Results) -> Vec<&str> {
    let first = results.points.first();
    let values = first.map_or(&[][..], |point| &point.values);
    values.iter().map(|(key, _)| key.as_str()).collect()
}

fn point_object(results: &Results, point: usize) -> Map<String, Value> {
    let values = results.points[point].values.iter();
    values
        .map(|(key, value)| (key.clone(), value.to_string().into()))
        .collect()
}

pub(super) fn point_values(results: &Results, point: usize) -> Vec<String> {
    let values = results.points[point].values.iter();
    values.map(|(_, value)| value.to_string()).collect()
}

/// The shortest decimal that reads back to the same number.
pub(super) fn number(value: f64) -> String {
    format!("{value}")
}
