//! The figure of a criterion: its measure at every point, for the stack under test and the baselines.

use dupack_lab::experiment::SweepValue;
use dupack_lab::results::{Measure, Results};
use dupack_report::figure::{Bar, BarChart, BarSeries, FigureError};

use crate::evidence::ScenarioResults;

/// Draws `measure` (its name in `summary.csv`) over the runs of `part` as SVG. Returns `None` if nothing was measured.
pub(crate) fn figure(
    part: &ScenarioResults,
    measure: &str,
    title: &str,
) -> Result<Option<String>, FigureError> {
    let results = &part.results;
    let Some(measure) = Measure::of_key(measure).filter(|&measure| results.has(measure)) else {
        return Ok(None);
    };
    let categories = results.points.iter().map(|point| label(&point.values));
    let series = results
        .stacks
        .iter()
        .enumerate()
        .map(|(stack, name)| BarSeries {
            name: name.clone(),
            bars: (0..results.points.len())
                .map(|point| bar(results, point, stack, measure))
                .collect(),
        });
    let chart = BarChart {
        title: title.to_owned(),
        subtitle: results.experiment.title.clone(),
        value_label: measure.label().to_owned(),
        categories: categories.collect(),
        series: series.collect(),
        reference: None,
    };
    chart.svg().map(Some)
}

fn bar(results: &Results, point: usize, stack: usize, measure: Measure) -> Option<Bar> {
    let summary = results.summary(point, stack, measure)?;
    Some(Bar {
        mean: summary.mean,
        half_width: summary.half_width_95,
    })
}

/// Describes a point in words. A stack that shares the path with the measured flows is marked as such. The duration of
/// the runs is omitted.
fn label(values: &[(String, SweepValue)]) -> String {
    let values = values.iter().filter(|(key, _)| key != "duration");
    let part = |(key, value): &(String, SweepValue)| match key.rsplit('.').next() {
        Some("stack") => format!("beside {value}"),
        Some(last) => format!("{} {value}", last.replace('_', " ")),
        None => value.to_string(),
    };
    let parts: Vec<String> = values.map(part).collect();
    parts.join(", ")
}
