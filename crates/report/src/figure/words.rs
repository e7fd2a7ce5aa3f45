//! Text descriptions of figures for readers who cannot see them: the highest line at each point, and the range of the
//! values. The descriptions are derived from the data.

use super::axis::{in_company, plain};
use super::bar::{Bar, BarChart};
use super::facets::Facets;
use super::heat::{HeatCell, HeatMap, HeatPanel, Shades};
use super::line::{LineChart, Point, Series};
use super::step::StepChart;
use super::steps;
use super::winners::Winners;

/// Description of a figure without data.
pub(super) const NOTHING: &str = "There is no data.";

/// Maximum number of series that are described one by one.
const SERIES_TOLD_MAX: usize = 12;
/// Maximum number of points that are listed one by one.
const PLACES_TOLD_MAX: usize = 8;

/// Returns the description of a line chart.
pub(super) fn of_lines(chart: &LineChart) -> String {
    let shown = shown(chart, &chart.series);
    let Some(range) = ranges(&shown, chart) else {
        return NOTHING.to_owned();
    };
    let mut told = vec![format!("Lines of {range}."), extremes(&shown)];
    if shown.len() <= SERIES_TOLD_MAX {
        told.extend(shown.iter().filter_map(course));
    }
    if !chart.references.is_empty() {
        let names = chart.references.iter().map(|line| line.name.clone());
        told.push(format!("References: {}.", and(names.collect())));
    }
    joined(told)
}

/// Returns the description of panels of lines.
pub(super) fn of_facets(facets: &Facets) -> String {
    let chart = &facets.whole();
    let all = shown(chart, &chart.series);
    let Some(range) = ranges(&all, chart) else {
        return NOTHING.to_owned();
    };
    let panels = facets.panels.iter().map(|panel| {
        let shown = shown(chart, &panel.series);
        let what = match extremes(&shown).as_str() {
            "" if shown.iter().all(|series| series.points.is_empty()) => NOTHING.to_owned(),
            // The panel has only one line.
            "" => joined(shown.iter().filter_map(course).collect()),
            told => told.to_owned(),
        };
        format!("{}: {what}", panel.name)
    });
    let count = facets.panels.len();
    let first = format!("{count} panels of lines of {range}.");
    joined(std::iter::once(first).chain(panels).collect())
}

/// Returns the description of a bar chart.
pub(super) fn of_bars(chart: &BarChart) -> String {
    let bars: Vec<(&str, &str, f64)> = chart
        .series
        .iter()
        .flat_map(|series| {
            let own = chart.bars(series);
            own.map(|(at, bar): (usize, &Bar)| {
                (
                    chart.categories[at].as_str(),
                    series.name.as_str(),
                    bar.mean,
                )
            })
        })
        .collect();
    let most = bars.iter().map(|bar| bar.2.abs()).fold(0.0, f64::max);
    let number = |value: f64| in_company(value, most);
    let Some((low, high)) = range(bars.iter().map(|bar| bar.2)) else {
        return NOTHING.to_owned();
    };
    let label = &chart.value_label;
    let mut told = vec![format!(
        "Bars of {label}, {} to {}.",
        number(low),
        number(high)
    )];
    if chart.series.len() == 1 {
        let mut sorted = bars.clone();
        sorted.sort_by(|a, b| b.2.total_cmp(&a.2));
        let more = sorted.len().saturating_sub(SERIES_TOLD_MAX);
        sorted.truncate(SERIES_TOLD_MAX);
        let each = sorted
            .iter()
            .map(|bar| format!("{} {}", bar.0, number(bar.2)));
        let mut each: Vec<String> = each.collect();
        if more > 0 {
            each.push(format!("{more} lower bars"));
        }
        told.push(format!("In descending order: {}.", each.join(", ")));
    } else {
        let places = chart.categories.iter().take(PLACES_TOLD_MAX);
        told.extend(places.filter_map(|category| {
            let here: Vec<(&str, f64)> = { bars.iter() }
                .filter(|bar| bar.0 == category)
                .map(|bar| (bar.1, bar.2))
                .collect();
            let (low, high) = ends(&here)?;
            let told = |(names, value): (String, f64)| format!("{names} {}", number(value));
            Some(format!(
                "{category}: highest {}, lowest {}.",
                told(high),
                told(low)
            ))
        }));
    }
    if let Some(line) = &chart.reference {
        told.push(format!("A line at {}: {}.", plain(line.value), line.name));
    }
    joined(told)
}

/// Returns the description of values over time, for the time range that is shown.
pub(super) fn of_steps(chart: &StepChart, part: Option<(f64, f64)>) -> String {
    let Some(part) = part else {
        return NOTHING.to_owned();
    };
    let told = chart.series.iter().filter_map(|series| {
        let points = steps::within(&series.points, part);
        let values = || points.iter().map(|point| point.1).filter(|v| v.is_finite());
        let (low, high) = range(values())?;
        let mean = over_time(points, part.1)?;
        let number = |value| in_company(value, high.abs());
        let name = match series.name.as_str() {
            "" => &chart.y_label,
            name => name,
        };
        let [low, high, mean] = [low, high, mean].map(number);
        Some(format!("{name}: {low} to {high}, mean {mean}."))
    });
    let first = format!(
        "{} over {}, from {} to {}.",
        chart.y_label,
        chart.x_label,
        plain(part.0),
        plain(part.1)
    );
    joined(std::iter::once(first).chain(told).collect())
}

/// Returns the description of shaded tables.
pub(super) fn of_heat(map: &HeatMap) -> String {
    let panels = map.panels.iter().map(|panel| of_heat_panel(map, panel));
    let first = format!(
        "Shaded tables of {}: {} from left to right ({}), {} from top to bottom ({}).",
        map.value_label,
        map.x_label,
        map.columns.join(", "),
        map.y_label,
        map.rows.join(", ")
    );
    joined(std::iter::once(first).chain(panels).collect())
}

/// Returns a description with the number of wins of each candidate.
pub(super) fn of_winners(map: &Winners) -> String {
    let cells = || map.cells.iter().flatten();
    let all = cells().count();
    let count = |who: Option<usize>| cells().filter(|winner| **winner == who).count();
    let told = |name: &str, count: usize| (count > 0).then(|| format!("{name}: {count} of {all}"));
    let names = map.names.iter().enumerate();
    let winners = names.filter_map(|(place, name)| told(name, count(Some(place))));
    let winners: Vec<String> = winners.chain(told("no answer", count(None))).collect();
    let rows = match map.y_label.as_str() {
        "" => String::new(),
        label => format!(", {label} from top to bottom ({})", map.rows.join(", ")),
    };
    format!(
        "Best stack: {} from left to right ({}){rows}. {}.",
        map.x_label,
        map.columns.join(", "),
        winners.join("; ")
    )
}

fn of_heat_panel(map: &HeatMap, panel: &HeatPanel) -> String {
    let cells = || {
        panel.cells.iter().enumerate().flat_map(|(row, cells)| {
            let cells = cells.iter().enumerate();
            cells.filter_map(move |(column, cell)| {
                let cell = cell.as_ref().filter(|cell| !cell.value.is_nan())?;
                Some((row, column, cell))
            })
        })
    };
    type Place<'c> = (usize, usize, &'c HeatCell);
    // Of equal values, the first is chosen.
    let low = cells().reduce(|a, b| if b.2.value < a.2.value { b } else { a });
    let high = cells().reduce(|a, b| if b.2.value > a.2.value { b } else { a });
    let (Some(low), Some(high)) = (low, high) else {
        return format!("{}: {NOTHING}", panel.name);
    };
    let place = |cell: &Place<'_>| {
        let name = |names: &[String], at: usize| names.get(at).cloned().unwrap_or_default();
        let (row, column) = (name(&map.rows, cell.0), name(&map.columns, cell.1));
        format!("{} ({column}, {row})", map.number(cell.2.value))
    };
    let mut told = format!("{}: from {} to {}", panel.name, place(&low), place(&high));
    if map.shades == Shades::Ratio {
        let count = |is: fn(f64) -> bool| {
            { cells() }
                .filter(|(_, _, cell)| cell.is_told() && is(cell.value))
                .count()
        };
        let all = cells().count();
        let (above, below) = (count(|v| v > 1.0), count(|v| v < 1.0));
        told += &format!(
            "; above 1 in {above} of {all}, below 1 in {below}, not significantly different from 1 in {}",
            all - above - below
        );
    }
    told + "."
}

/// Returns the series with only the points that the chart shows.
fn shown(chart: &LineChart, all: &[Series]) -> Vec<Series> {
    let series = all.iter().map(|series| Series {
        name: series.name.clone(),
        points: { series.points.iter() }
            .filter(|point| chart.shows(point))
            .copied()
            .collect(),
    });
    series.collect()
}

/// Returns a text with the measure, its range, the horizontal quantity, and the range of that quantity.
fn ranges(shown: &[Series], chart: &LineChart) -> Option<String> {
    let points = || shown.iter().flat_map(|series| &series.points);
    let (from, to) = range(points().map(|point| point.x))?;
    let (low, high) = range(points().map(|point| point.mean))?;
    let (x, y) = (&chart.x_label, &chart.y_label);
    // The note on the scale is useful only to readers who see the figure.
    let x = x.strip_suffix(chart.x_scale.note()).unwrap_or(x);
    let y = y.strip_suffix(chart.y_scale.note()).unwrap_or(y);
    let [from, to, low, high] = [from, to, low, high].map(brief);
    Some(format!("{y}, {low} to {high}, over {x}, {from} to {to}"))
}

/// Returns a text with the highest and the lowest line at each point. The text is empty if there is only one line.
fn extremes(shown: &[Series]) -> String {
    if shown.len() < 2 {
        return String::new();
    }
    let mut xs: Vec<f64> = shown.iter().flat_map(|s| &s.points).map(|p| p.x).collect();
    xs.sort_unstable_by(f64::total_cmp);
    xs.dedup();
    let mut found: [Vec<(String, Vec<f64>)>; 2] = Default::default();
    for &x in &xs {
        let here: Vec<(&str, f64)> = { shown.iter() }
            .filter_map(|series| {
                let point = series.points.iter().find(|point| point.x == x)?;
                Some((series.name.as_str(), point.mean))
            })
            .collect();
        let Some((low, high)) = ends(&here) else {
            continue;
        };
        for (list, (names, _)) in found.iter_mut().zip([high, low]) {
            match list.iter_mut().find(|(known, _)| *known == names) {
                Some((_, places)) => places.push(x),
                None => list.push((names, vec![x])),
            }
        }
    }
    let told = |list: &[(String, Vec<f64>)]| {
        let each = list.iter().map(|(names, places)| match places.len() {
            n if n == xs.len() => format!("{names} everywhere"),
            n if n > PLACES_TOLD_MAX => format!("{names} at {n} of {} places", xs.len()),
            _ => {
                let places = places.iter().map(|&x| brief(x)).collect();
                format!("{names} at {}", and(places))
            }
        });
        each.collect::<Vec<String>>().join("; ")
    };
    let [high, low] = found;
    format!("Highest: {}. Lowest: {}.", told(&high), told(&low))
}

/// Returns the names of the lowest and of the highest series, each with its value. If several series are equal to three
/// digits, all of their names are returned.
fn ends(values: &[(&str, f64)]) -> Option<((String, f64), (String, f64))> {
    let (low, high) = range(values.iter().map(|value| value.1))?;
    let named = |end: f64| {
        let own = values.iter().filter(|value| brief(value.1) == brief(end));
        let own: Vec<String> = own.map(|value| value.0.to_owned()).collect();
        let names = match own.len() {
            n if n == values.len() && n > 1 => "all equal".to_owned(),
            n if n > 4 => format!("{n} equal"),
            _ => and(own),
        };
        (names, end)
    };
    Some((named(low), named(high)))
}

/// Returns the values at the start and at the end of a line. The maximum and the minimum follow if they lie in between.
fn course(series: &Series) -> Option<String> {
    let (first, last) = (series.points.first()?, series.points.last()?);
    let at = |point: &Point| format!("{} at {}", brief(point.mean), brief(point.x));
    let mut told = format!("{}: {}", series.name, at(first));
    if series.points.len() > 1 {
        told += &format!(", {}", at(last));
    }
    let by_mean = |a: &&Point, b: &&Point| a.mean.total_cmp(&b.mean);
    let highest = series.points.iter().max_by(by_mean)?;
    let lowest = series.points.iter().min_by(by_mean)?;
    if highest.mean > first.mean.max(last.mean) {
        told += &format!(", at most {}", at(highest));
    }
    if lowest.mean < first.mean.min(last.mean) {
        told += &format!(", at least {}", at(lowest));
    }
    Some(told + ".")
}

/// Returns the time average of values that remain constant until the next sample. The last value counts until `end`.
fn over_time(points: &[(f64, f64)], end: f64) -> Option<f64> {
    let (mut sum, mut time) = (0.0, 0.0);
    for (index, &(from, value)) in points.iter().enumerate() {
        let until = points.get(index + 1).map_or(end, |next| next.0);
        if value.is_finite() && until > from {
            sum += value * (until - from);
            time += until - from;
        }
    }
    (time > 0.0).then(|| sum / time)
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .map(|value| (value, value))
        .reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
}

/// Returns a number with three significant digits.
fn brief(value: f64) -> String {
    super::axis::shortened(value, 3)
}

/// Returns `a, b and c`.
fn and(mut names: Vec<String>) -> String {
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

fn joined(told: Vec<String>) -> String {
    let told: Vec<String> = told.into_iter().filter(|text| !text.is_empty()).collect();
    told.join(" ")
}
