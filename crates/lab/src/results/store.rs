//! Results as text for other programs: CSV and JSON.

use super::{Comparison, Measure, Results};

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
    ]);
    put(&mut out, header.iter().copied());
    for point in 0..results.points.len() {
        for measure in Measure::ALL.into_iter().filter(|m| results.has(*m)) {
            for cell in Comparison::of(results, point, measure).cells {
                let Some(summary) = cell.summary else {
                    continue;
                };
                let ratio = cell.ratio;
                let ends = ratio.and_then(|r| r.interval_95);
                let mut row = point_values(results, point);
                let opt = |v: Option<f64>| v.map_or(String::new(), number);
                row.extend([
                    results.stacks[cell.stack].clone(),
                    measure.key().to_owned(),
                    summary.n.to_string(),
                    number(summary.mean),
                    opt(summary.half_width_95),
                    opt(summary.standard_deviation),
                    number(summary.min),
                    number(summary.max),
                    opt(ratio.map(|r| r.mean)),
                    opt(ends.map(|(low, _)| low)),
                    opt(ends.map(|(_, high)| high)),
                ]);
                put(&mut out, row.iter().map(String::as_str));
            }
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
pub fn json(results: &Results) -> serde_json::Value {
    let runs = results.runs.iter().map(|run| {
        let measures: serde_json::Map<String, serde_json::Value> = Measure::ALL
            .into_iter()
            .filter_map(|m| Some((m.key().to_owned(), run.values.get(m)?.into())))
            .collect();
        let point: serde_json::Map<String, serde_json::Value> = results.points[run.point]
            .values
            .iter()
            .map(|(key, value)| (key.clone(), value.to_string().into()))
            .collect();
        serde_json::json!({
            "point": point,
            "stack": results.stacks[run.stack],
            "seed": run.seed,
            "measures": measures,
            "flow_goodputs_mbit_s": run.flow_goodputs,
            "trace_hash": results.hash_of(run).map(|hash| format!("{hash:016x}")),
        })
    });
    serde_json::json!({
        "title": results.experiment.title,
        "stacks": results.stacks,
        "planned_runs": results.planned,
        "warnings": results.warnings,
        "experiment": results.experiment,
        "parameters": results.parameters.iter().map(|p| serde_json::json!({
            "owner": p.owner, "name": p.name, "value": p.value, "source": p.source,
        })).collect::<Vec<_>>(),
        "runs": runs.collect::<Vec<_>>(),
    })
}

/// [`json`] as text.
#[must_use]
pub fn json_text(results: &Results) -> String {
    format!("{:#}", json(results))
}

fn put<'a>(out: &mut csv::Writer<Vec<u8>>, row: impl IntoIterator<Item = &'a str>) {
    out.write_record(row)
        .expect("rows have equal length and memory does not fail");
}

/// The keys that vary from point to point.
fn keys(results: &Results) -> Vec<&str> {
    let first = results.points.first();
    let values = first.map_or(&[][..], |point| &point.values);
    values.iter().map(|(key, _)| key.as_str()).collect()
}

fn point_values(results: &Results, point: usize) -> Vec<String> {
    let values = results.points[point].values.iter();
    values.map(|(_, value)| value.to_string()).collect()
}

/// The shortest decimal that reads back to the same number.
fn number(value: f64) -> String {
    format!("{value}")
}
