//! Straight lines and exponentials through a handful of points.

/// A curve `y = f(x)` fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Curve {
    /// `intercept + slope · x`.
    Line { intercept: f64, slope: f64 },
    /// `exp(intercept + slope · x)`, fitted to the logarithms.
    Exponential { intercept: f64, slope: f64 },
}

impl Curve {
    /// The line through `points`; nothing if their x do not differ.
    pub(super) fn line(points: &[(f64, f64)]) -> Option<Self> {
        let (intercept, slope) = least_squares(points)?;
        Some(Self::Line { intercept, slope })
    }

    /// The exponential through `points`; nothing if a y is not positive.
    pub(super) fn exponential(points: &[(f64, f64)]) -> Option<Self> {
        if points.iter().any(|(_, y)| *y <= 0.0) {
            return None;
        }
        let logarithms: Vec<(f64, f64)> = points.iter().map(|(x, y)| (*x, y.ln())).collect();
        let (intercept, slope) = least_squares(&logarithms)?;
        Some(Self::Exponential { intercept, slope })
    }

    fn at(self, x: f64) -> f64 {
        match self {
            Self::Line { intercept, slope } => intercept + slope * x,
            Self::Exponential { intercept, slope } => (intercept + slope * x).exp(),
        }
    }

    /// The sum of the squared distances.
    pub(super) fn squares(self, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|(x, y)| (y - self.at(*x)).powi(2)).sum()
    }

    /// The largest distance.
    pub(super) fn farthest(self, points: &[(f64, f64)]) -> f64 {
        let distances = points.iter().map(|(x, y)| (y - self.at(*x)).abs());
        distances.fold(0.0, f64::max)
    }
}

fn least_squares(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let x_mean = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let y_mean = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let over: f64 = points
        .iter()
        .map(|(x, y)| (x - x_mean) * (y - y_mean))
        .sum();
    let under: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let slope = over / under;
    slope
        .is_finite()
        .then_some((y_mean - slope * x_mean, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_fits_its_own() {
        let line: Vec<(f64, f64)> = (1..10)
            .map(|x| (f64::from(x), 3.0 + 0.5 * f64::from(x)))
            .collect();
        let bend: Vec<(f64, f64)> = (1..10).map(|x| (f64::from(x), 2_f64.powi(x))).collect();
        let fit = Curve::line(&line).unwrap();
        assert!(fit.squares(&line) < 1e-18 && fit.farthest(&line) < 1e-9);
        let fit = Curve::exponential(&bend).unwrap();
        assert!(fit.squares(&bend) < 1e-12);
        assert!(Curve::line(&bend).unwrap().squares(&bend) > fit.squares(&bend));
        assert!(
            (Curve::line(&[(0.0, 0.0), (1.0, 0.0), (2.0, 3.0)])
                .unwrap()
                .farthest(&[(1.0, 0.0)])
                - 1.0)
                .abs()
                < 1e-9
        );
    }

    #[test]
    fn what_cannot_be_fitted_is_not() {
        assert_eq!(Curve::line(&[(1.0, 2.0)]), None);
        assert_eq!(Curve::line(&[]), None);
        assert_eq!(Curve::exponential(&[(1.0, 0.0), (2.0, 1.0)]), None);
    }
}
