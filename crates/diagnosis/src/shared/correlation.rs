//! Correlation of two quantities over time, and the probability that it occurs by chance.

/// Autocorrelations are summed up to a lag of the length of the series divided by this number (Pyper and Peterman,
/// 1998).
const LAGS: usize = 5;

/// Correlation of two series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    /// Pearson's coefficient, from -1 to 1.
    pub r: f64,
    /// Number of independent pairs with the same information. It is smaller than the number of pairs if neighbours in
    /// time are similar (Bartlett, 1935).
    pub independent: f64,
}

impl Correlation {
    /// Returns the correlation of two series of the same length; `None` if one of them is constant, or if they are too
    /// short.
    #[must_use]
    pub fn of(x: &[f64], y: &[f64]) -> Option<Self> {
        let Self { r, .. } = Self::of_independent(x, y)?;
        let n = x.len().min(y.len());
        let (x, y) = (centred(x.get(..n)?), centred(y.get(..n)?));
        let (of_x, of_y) = (product(&x, &x), product(&y, &y));
        let together: f64 = (1..=n / LAGS)
            .map(|lag| {
                let own = |series: &[f64], all: f64| {
                    let later = series.get(lag..).unwrap_or_default();
                    product(series, later) / all
                };
                own(&x, of_x) * own(&y, of_y)
            })
            .sum();
        let independent = n as f64 / (1.0 + 2.0 * together).max(1.0);
        Some(Self { r, independent })
    }

    /// Returns the correlation under the assumption that all pairs are independent. It is an upper bound of the
    /// significance that [`Self::of`] finds, and takes much less time.
    #[must_use]
    pub fn of_independent(x: &[f64], y: &[f64]) -> Option<Self> {
        let n = x.len().min(y.len());
        let (x, y) = (x.get(..n)?, y.get(..n)?);
        let (mean_x, mean_y) = (mean(x), mean(y));
        let (mut of_x, mut of_y, mut of_both) = (0.0, 0.0, 0.0);
        for (x, y) in x.iter().zip(y) {
            let (x, y) = (x - mean_x, y - mean_y);
            of_x += x * x;
            of_y += y * y;
            of_both += x * y;
        }
        if n < 4 || of_x <= 0.0 || of_y <= 0.0 {
            return None;
        }
        let r = (of_both / (of_x * of_y).sqrt()).clamp(-1.0, 1.0);
        Some(Self {
            r,
            independent: n as f64,
        })
    }

    /// Returns the number of standard deviations from zero, by Fisher's transformation of the coefficient (1921).
    #[must_use]
    pub fn deviations(&self) -> f64 {
        // A coefficient of one would be infinitely many standard deviations from zero.
        let r = self.r.clamp(-0.999, 0.999);
        r.atanh() * (self.independent - 3.0).max(0.0).sqrt()
    }
}

/// Returns the series minus its mean.
fn centred(series: &[f64]) -> Vec<f64> {
    let mean = mean(series);
    series.iter().map(|value| value - mean).collect()
}

fn product(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Returns the mean; 0 for an empty series.
#[must_use]
pub fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len().max(1) as f64
}

/// Returns the standard deviation as a fraction of the mean; infinite if the mean is not positive.
#[must_use]
pub fn variation(series: &[f64]) -> f64 {
    let square = product(&centred(series), &centred(series)) / series.len().max(1) as f64;
    let mean = mean(series);
    if mean > 0.0 {
        square.sqrt() / mean
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pseudorandom numbers between 0 and 1 (Knuth's linear congruential generator).
    fn noise(seed: u64) -> impl Iterator<Item = f64> {
        let mut state = seed;
        std::iter::from_fn(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            Some((state >> 40) as f64 / (1_u64 << 24) as f64)
        })
    }

    #[test]
    fn complementary_series_have_a_correlation_of_minus_one() {
        let x: Vec<f64> = noise(1).take(100).collect();
        let y: Vec<f64> = x.iter().map(|x| 10.0 - x).collect();
        let found = Correlation::of(&x, &y).unwrap();
        assert!((found.r + 1.0).abs() < 1e-9);
        assert!(found.deviations() < -10.0, "{found:?}");
        assert_eq!(Correlation::of(&x, &[1.0; 100]), None);
        assert_eq!(Correlation::of(&x[..3], &y[..3]), None);
    }

    #[test]
    fn chance_stays_within_a_few_deviations() {
        let far = (0..200).filter(|seed| {
            let x: Vec<f64> = noise(*seed).take(60).collect();
            let y: Vec<f64> = noise(seed + 1000).take(60).collect();
            Correlation::of(&x, &y).unwrap().deviations().abs() > 2.0
        });
        // By chance, 4.6 % of the 200 values, which is 9, are expected to be this far from zero.
        let far = far.count();
        assert!((2..=20).contains(&far), "{far}");
    }

    #[test]
    fn slow_series_carry_less_information() {
        // The series are sums of noise: neighbours are similar, and any two series are strongly correlated.
        let walk = |seed| -> Vec<f64> {
            let steps = noise(seed).map(|step| step - 0.5);
            let mut sum = 0.0;
            let walk = steps.map(|step| {
                sum += step;
                sum
            });
            walk.take(200).collect()
        };
        let mut far = 0;
        for seed in 0..100 {
            let found = Correlation::of(&walk(seed), &walk(seed + 500)).unwrap();
            assert!(found.independent < 60.0, "{found:?}");
            far += u32::from(found.deviations().abs() > 4.0);
        }
        assert!(far <= 2, "{far}");
    }

    #[test]
    fn a_constant_does_not_vary() {
        assert_eq!(variation(&[3.0; 9]), 0.0);
        assert!((variation(&[1.0, 3.0]) - 0.5).abs() < 1e-9);
        assert_eq!(variation(&[0.0; 3]), f64::INFINITY);
    }

    #[test]
    fn four_pairs_are_enough() {
        let (x, y) = ([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]);
        let found = Correlation::of_independent(&x, &y).unwrap();
        assert!((found.r + 1.0).abs() < 1e-9);
        assert_eq!(Correlation::of_independent(&x[..3], &y[..3]), None);
    }
}
