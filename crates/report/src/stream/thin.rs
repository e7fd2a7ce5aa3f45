//! Choice of the points of a sweep that are shown, because figures and tables of all points would be too large.

use dupack_lab::experiment::points::Point;
use dupack_lab::experiment::{Experiment, SweepValue};
use dupack_lab::results::scaled;

/// Maximum number of values of the key along a figure, and of the key across it.
const VALUES: usize = 16;

/// Maximum number of combinations of the remaining keys, which are neither along nor across a figure.
const SLICES: usize = 4;

/// Maximum number of points of a list that are shown.
const LISTED: usize = 48;

/// Maximum number of points in a table.
const IN_TABLE: usize = 40;

/// The points that are shown.
#[derive(Clone, Debug)]
pub(super) struct Thin {
    /// The experiment. Its sweep contains only the values that are shown.
    pub(super) experiment: Experiment,
    /// Indices of the points in figures among all points, ascending.
    pub(super) figures: Vec<usize>,
    /// Indices of the points in tables. They are a subset of `figures`.
    pub(super) table: Vec<usize>,
    /// Notes for readers on the values that are shown.
    pub(super) notes: Vec<String>,
}

impl Thin {
    pub(super) fn of(experiment: &Experiment, points: &[Point]) -> Self {
        let mut experiment = experiment.clone();
        // The experiment's own file contains the listed points.
        experiment.points.clear();
        let mut notes = Vec::new();
        let figures: Vec<usize> = match experiment.sweep.is_empty() {
            true => spread(points.len(), LISTED),
            false => {
                thin_sweep(&mut experiment, &mut notes);
                let is_shown = |(key, value): &(String, SweepValue)| {
                    { experiment.sweep.get(key) }.is_some_and(|values| values.contains(value))
                };
                let all = points.iter().enumerate();
                let shown = all.filter(|(_, point)| point.values.iter().all(is_shown));
                shown.map(|(place, _)| place).collect()
            }
        };
        if experiment.sweep.is_empty() && figures.len() < points.len() {
            notes.push(of_all(figures.len(), points.len(), "points"));
        }
        let table = spread(figures.len(), IN_TABLE);
        Self {
            table: table.into_iter().map(|n| figures[n]).collect(),
            experiment,
            figures,
            notes,
        }
    }
}

impl Thin {
    /// Returns the elements of `all` that belong to the points in figures. `all` has one element for each point.
    pub(super) fn shown_of<T: Copy>(&self, all: &[T]) -> Vec<T> {
        let shown = self.figures.iter();
        shown.filter_map(|place| all.get(*place).copied()).collect()
    }
}

/// Reduces the values of each key to a number that figures can show. Two keys are along and across a figure, and there
/// is one figure for each combination of the remaining keys.
fn thin_sweep(experiment: &mut Experiment, notes: &mut Vec<String>) {
    let mut keys: Vec<(String, bool, usize)> = { experiment.sweep.iter() }
        .map(|(key, values)| {
            let is_axis = values.iter().all(|value| scaled(value).is_some());
            (key.clone(), is_axis, values.len())
        })
        .collect();
    // Figures choose their keys in this order from the end: first numeric keys, then keys with more values, then later
    // keys.
    keys.sort_by_key(|(_, is_axis, length)| (*is_axis, *length));
    let mut slices = SLICES;
    for (n, (key, _, length)) in keys.iter().rev().enumerate() {
        let most = match n {
            0 | 1 => VALUES,
            _ => slices,
        };
        let kept = spread(*length, most);
        if n > 1 {
            slices /= kept.len().max(1);
        }
        if kept.len() == *length {
            continue;
        }
        notes.push(of_all(kept.len(), *length, &format!("values of {key}")));
        if let Some(values) = experiment.sweep.get_mut(key) {
            *values = kept.into_iter().map(|n| values[n].clone()).collect();
        }
    }
}

fn of_all(shown: usize, all: usize, what: &str) -> String {
    format!("{shown} of {all} {what}")
}

/// Returns at most `most` indices below `all`, at least one, evenly spaced from the first to the last.
fn spread(all: usize, most: usize) -> Vec<usize> {
    let most = most.max(1);
    match (all, most) {
        (all, most) if all <= most => (0..all).collect(),
        (all, 1) => vec![all / 2],
        (all, most) => (0..most).map(|n| n * (all - 1) / (most - 1)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_lab::experiment::load::Source;
    use dupack_lab::experiment::points::points;

    fn thin(lines: &str) -> (Thin, Vec<Point>) {
        let text = format!("stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit/s\"\n{lines}");
        let source = Source::new("test.toml", text);
        let experiment = source.parse().unwrap();
        let all = points(&experiment, &source).unwrap();
        (Thin::of(&experiment, &all), all)
    }

    /// Returns the line of a sweep that gives `key` `count` values.
    fn values(key: &str, count: usize, unit: &str) -> String {
        let all: Vec<String> = (1..=count).map(|n| format!("\"{n}{unit}\"")).collect();
        format!("\"{key}\" = [{}]\n", all.join(", "))
    }

    #[test]
    fn small_sweeps_are_shown_completely() {
        let (thin, all) = thin(&format!("[sweep]\n{}", values("path.delay", 16, "ms")));
        assert!(thin.figures.into_iter().eq(0..all.len()));
        assert_eq!((thin.table.len(), thin.notes.len()), (16, 0));
        let (alone, all) = self::thin("");
        assert_eq!((alone.figures, all.len()), (vec![0], 1));
    }

    #[test]
    fn large_sweeps_show_evenly_spaced_values_with_both_ends() {
        let sweep = [
            values("path.delay", 20, "ms"),
            values("path.rate", 18, "Mbit/s"),
            values("path.buffer", 5, "pkt"),
            values("path.loss", 3, "%"),
        ];
        let (thin, all) = thin(&format!("[sweep]\n{}", sweep.concat()));
        assert_eq!(all.len(), 20 * 18 * 5 * 3);
        let sweep = &thin.experiment.sweep;
        let shown = |key: &str| sweep[key].len();
        assert_eq!((shown("path.delay"), shown("path.rate")), (16, 16));
        // There are at most four slices.
        assert_eq!((shown("path.buffer"), shown("path.loss")), (4, 1));
        assert_eq!(thin.figures.len(), 16 * 16 * 4);
        assert_eq!(thin.table.len(), IN_TABLE);
        let delay = &sweep["path.delay"];
        let ends = [delay.first(), delay.last()].map(|value| value.unwrap().to_string());
        assert_eq!(ends, ["1ms", "20ms"]);
        for place in &thin.figures {
            for (key, value) in &all[*place].values {
                assert!(sweep[key].contains(value), "{key} {value}");
            }
        }
        assert!(thin.table.iter().all(|place| thin.figures.contains(place)));
        assert_eq!(thin.notes.len(), 4, "{:?}", thin.notes);
        assert!(
            thin.notes
                .contains(&"16 of 20 values of path.delay".to_owned())
        );
    }

    #[test]
    fn some_of_many_listed_points_are_shown() {
        let listed: String = (1..=100)
            .map(|n| format!("[[points]]\n\"path.delay\" = \"{n}ms\"\n"))
            .collect();
        let (thin, _) = thin(&listed);
        assert_eq!(thin.figures.len(), LISTED);
        assert_eq!((thin.figures[0], thin.figures[LISTED - 1]), (0, 99));
        assert_eq!(thin.notes, ["48 of 100 points"]);
        assert!(thin.experiment.points.is_empty());
    }
}
