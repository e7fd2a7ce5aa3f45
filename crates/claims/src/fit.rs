//! Least-squares lines through a few values, and a ratio of means.

use dupack_lab::stats::Summary;

/// Returns the ratio of the means of two unpaired samples, with a first-order confidence interval.
pub(crate) fn ratio_of_means(over: &Summary, under: &Summary) -> Summary {
    let mean = over.mean / under.mean;
    let relative = |s: &Summary| s.half_width_95.unwrap_or(0.0) / s.mean;
    let half = mean * relative(over).hypot(relative(under));
    Summary {
        n: over.n.min(under.n),
        mean,
        standard_deviation: None,
        half_width_95: Some(half),
        min: mean - half,
        max: mean + half,
    }
}

/// Returns the intercept and slope of the least-squares line through values at 1, 2, 3, ….
pub(crate) fn line(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let x_mean = (n + 1.0) / 2.0;
    let y_mean = values.iter().sum::<f64>() / n;
    let (mut over, mut under) = (0.0, 0.0);
    for (x, y) in (1..).map(f64::from).zip(values) {
        over += (x - x_mean) * (y - y_mean);
        under += (x - x_mean) * (x - x_mean);
    }
    let slope = over / under;
    slope
        .is_finite()
        .then_some((y_mean - slope * x_mean, slope))
}

/// Returns the differences between the values and the curve `of(line)`.
pub(crate) fn distances(
    values: &[f64],
    line: Option<(f64, f64)>,
    of: impl Fn(f64) -> f64,
) -> Option<Vec<f64>> {
    let (intercept, slope) = line?;
    let at = |x: f64| of(intercept + slope * x);
    let all = (1..).map(f64::from).zip(values);
    Some(all.map(|(x, y)| (y - at(x)).abs()).collect())
}

pub(crate) fn squares(distances: Option<Vec<f64>>) -> Option<f64> {
    distances.map(|all| all.iter().map(|d| d * d).sum())
}
