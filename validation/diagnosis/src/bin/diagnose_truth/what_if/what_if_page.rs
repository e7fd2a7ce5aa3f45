//! The page docs/diagnose-what-if.md.

use std::fmt::Write as _;
use std::fs;

use dupack_lab::stats::Summary;

use super::super::work::Options;
use super::Found;

/// Maximum relative error of a correct prediction.
const RIGHT: f64 = 0.15;

/// Contents of the page.
pub(super) struct Run {
    pub rows: Vec<Found>,
    pub failed: Vec<String>,
    /// Number of pairs in the list.
    pub listed: usize,
}

/// Returns the page.
pub(super) fn page(run: &Run, options: &Options) -> String {
    let mut text = first(run, options);
    text += "| path | captured sender | duration | losses | other sender | predicted | measured | error | in the interval | \
             reason for no answer |\n";
    text += "| --- | --- | --: | --: | --- | --: | --: | --: | :-: | --- |\n";
    for row in &run.rows {
        let _ = writeln!(text, "{}", in_a_row(row));
    }
    for one in &run.failed {
        let _ = writeln!(text, "\nFailed: {one}");
    }
    text
}

/// Describes the runs and the number of correct predictions.
fn first(run: &Run, options: &Options) -> String {
    let rows = &run.rows;
    let errors = rows.iter().filter_map(Found::error).map(f64::abs);
    let mut errors: Vec<f64> = errors.collect();
    errors.sort_by(f64::total_cmp);
    let right = errors.iter().filter(|error| **error <= RIGHT).count();
    let inside = rows.iter().filter(|row| row.is_inside()).count();
    let refused = rows.len() - errors.len();
    let share = |count: usize, of: usize| count as f64 * 100.0 / of.max(1) as f64;
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "# Predictions for other senders compared with their transfers\n\nOne sender is captured, and the duration with another \
         sender is predicted from the capture. Then the other sender is run {} times over the same path with other losses; the \
         truth is the mean of these runs. The list of pairs was fixed before the first run \
         (`validation/diagnosis/src/bin/diagnose_truth/what-if.toml`): {} of its {} pairs were run here, seed {}, on Linux {}. {} were \
         answered: {right} of them ({:.0} %) are within 15 % of the truth, and the intervals of {inside} contain it; the median \
         error is {:.1} %. {refused} ({:.0} %) have no answer, for the reason in the last column. `cargo measure diagnose \
         --what-if` writes this page.\n\n",
        options.repeat,
        rows.len(),
        run.listed,
        options.seed,
        release.trim(),
        errors.len(),
        share(right, errors.len()),
        median(&errors) * 100.0,
        share(refused, rows.len()),
    )
}

/// Returns the median of sorted values.
fn median(sorted: &[f64]) -> f64 {
    let at = |place: usize| sorted.get(place).copied().unwrap_or(0.0);
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    f64::midpoint(at(low), at(high))
}

/// Formats a pair as a row of the table.
fn in_a_row(row: &Found) -> String {
    let other = match &row.pair.run {
        Some(run) => format!("{} (as {run})", row.pair.other),
        None => row.pair.other.clone(),
    };
    let told = row.given().map(|answer| answer.duration);
    let told = told.map_or_else(
        || "–".to_owned(),
        |told| format!("{:.2} s ({:.2} to {:.2})", told.mean, told.low, told.high),
    );
    let deviation = Summary::of(&row.known.truth).and_then(|summary| summary.standard_deviation);
    let error = row.error().map_or_else(
        || "–".to_owned(),
        |error| format!("{:+.1} %", error * 100.0),
    );
    let inside = match (row.given(), row.is_inside()) {
        (None, _) => "–",
        (Some(_), true) => "yes",
        (Some(_), false) => "no",
    };
    let late = if row.known.late > 0 {
        format!(", {} late", row.known.late)
    } else {
        String::new()
    };
    format!(
        "| {} | {} | {:.2} s | {} | {other} | {told} | {:.2} ± {:.2} s{late} | {error} | {inside} | {} |",
        row.place,
        row.pair.captured,
        row.known.captured,
        row.known.losses,
        row.mean(),
        deviation.unwrap_or(0.0),
        row.refusal().unwrap_or_default()
    )
}
