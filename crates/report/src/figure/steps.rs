//! Lines whose value remains constant until the next sample, such as a window over time.

use super::FigureError;
use super::canvas::{Canvas, Place, Stroke};
use super::panel::Panel;

/// A sample: a time in seconds and a value in the unit of the vertical axis.
pub(super) type Sample = (f64, f64);

/// Draws `samples`, in time order, as steps; the last step ends at the right edge of the panel. A value that is not
/// finite or that lies above the panel, such as an arbitrarily high initial `ssthresh`, interrupts the line.
pub(super) fn draw(
    canvas: &Canvas<'_>,
    panel: &Panel,
    samples: &[Sample],
    stroke: &Stroke,
) -> Result<(), FigureError> {
    let mut places: Vec<Place> = Vec::new();
    for (index, &(time, value)) in samples.iter().enumerate() {
        let until = samples.get(index + 1).map_or(panel.x.high, |next| next.0);
        let (from, until) = (time.max(panel.x.low), until.min(panel.x.high));
        let visible = value.is_finite() && value <= panel.y.high && from.is_finite();
        if !visible {
            canvas.line(&thin(&places), stroke)?;
            places.clear();
        } else if until >= from {
            places.push(panel.at(from, value));
            places.push(panel.at(until, value));
        }
    }
    canvas.line(&thin(&places), stroke)
}

/// Keeps the first, the lowest, the highest and the last place of each column of half a pixel. The line looks the same,
/// and the picture of a long run stays small.
fn thin(places: &[Place]) -> Vec<Place> {
    const COLUMNS_PER_PX: f64 = 2.0;
    let column = |place: &Place| (place.0 * COLUMNS_PER_PX).round();
    let mut kept = Vec::new();
    for group in places.chunk_by(|a, b| column(a) == column(b)) {
        let extreme = |better: fn(f64, f64) -> bool| {
            (0..group.len()).reduce(|a, b| if better(group[b].1, group[a].1) { b } else { a })
        };
        let least = extreme(|a, b| a < b);
        let most = extreme(|a, b| a > b);
        let mut indices = [Some(0), least, most, group.len().checked_sub(1)];
        indices.sort_unstable();
        kept.extend(indices.iter().flatten().map(|&index| group[index]));
    }
    kept.dedup();
    kept
}

/// Returns the samples whose values are visible within a time window: the samples inside the window, and the last
/// sample before it.
pub(super) fn within(samples: &[Sample], (start, end): (f64, f64)) -> &[Sample] {
    let first = samples
        .partition_point(|&(time, _)| time <= start)
        .saturating_sub(1);
    let last = samples.partition_point(|&(time, _)| time <= end);
    samples.get(first..last).unwrap_or_default()
}

/// Returns the time window to draw, in seconds: the requested window if it is valid, and otherwise the range of
/// `times`.
pub(super) fn window(
    asked: Option<(f64, f64)>,
    times: impl Iterator<Item = f64>,
) -> Option<(f64, f64)> {
    asked
        .filter(|(start, end)| start.is_finite() && end.is_finite() && start < end)
        .or_else(|| {
            times
                .filter(|time| time.is_finite())
                .map(|time| (time, time))
                .reduce(|(low, high), (time, _)| (low.min(time), high.max(time)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_of_each_column() {
        let places = [
            (0.0, 5.0),
            (0.1, 9.0),
            (0.1, 6.0),
            (0.2, 1.0),
            (0.2, 4.0),
            (3.0, 2.0),
        ];
        assert_eq!(
            thin(&places),
            [(0.0, 5.0), (0.1, 9.0), (0.2, 1.0), (0.2, 4.0), (3.0, 2.0)]
        );
        assert_eq!(thin(&[]), []);
    }

    #[test]
    fn a_window_begins_with_the_value_in_effect() {
        let samples = [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0)];
        assert_eq!(within(&samples, (1.5, 2.5)), [(1.0, 2.0), (2.0, 3.0)]);
        assert_eq!(within(&samples, (-1.0, 0.5)), [(0.0, 1.0)]);
        assert_eq!(within(&[], (0.0, 1.0)), []);
    }
}
