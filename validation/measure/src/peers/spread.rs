//! Minimum, median and maximum of several rounds.

/// Formats a value with about three significant digits.
pub fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        small if small >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Spread of several rounds.
#[derive(Debug, PartialEq)]
pub struct Spread {
    pub least: f64,
    pub median: f64,
    pub most: f64,
}

impl Spread {
    /// Returns the spread of these values, or `None` if there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            _ if values.is_empty() => return None,
            0 => (values[middle - 1] + values[middle]) / 2.0,
            _ => values[middle],
        };
        Some(Self {
            least: values[0],
            median,
            most: values[values.len() - 1],
        })
    }

    /// Formats the minimum, the median and the maximum.
    pub fn text(&self) -> String {
        let [least, median, most] = [self.least, self.median, self.most].map(short);
        format!("{least} / {median} / {most}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]).map(|s| s.median), Some(2.0));
        assert_eq!(spread(&[4.0, 1.0]).map(|s| s.median), Some(2.5));
    }
}
