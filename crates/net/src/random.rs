//! Random streams: one per component, derived from the run's seed and the component's name.
//!
//! If a component is added or removed, or draws more often, the random numbers of other components do not change. Two
//! runs that differ only in the TCP stack see the same losses of the same packets (common random numbers).
//!
//! Floating-point numbers are used only with `+ − · / √` and the `libm` crate, whose results do not depend on the
//! platform.

use dupack_tcp::time::Duration;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::units::Probability;

/// Random numbers of one component.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Returns the stream of `component` in the run with `seed`.
    #[must_use]
    pub fn derive(seed: u64, component: &str) -> Self {
        let state = xxh3_64_with_seed(component.as_bytes(), seed);
        Self(Xoshiro256PlusPlus::seed_from_u64(state))
    }

    /// Returns 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns `true` with probability `p`. Always draws exactly once.
    pub fn chance(&mut self, p: Probability) -> bool {
        p.covers(self.bits() >> 11)
    }

    /// Returns a uniform integer in `[0, bound)`; zero if `bound` is zero. The bias is below 2⁻⁶⁴ · `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a uniform duration in `[low, high]`; `low` if the interval is empty.
    pub fn between(&mut self, low: Duration, high: Duration) -> Duration {
        let width = high.saturating_sub(low).as_nanos();
        low + Duration::from_nanos(self.below(width.saturating_add(1)))
    }

    /// Returns an exponentially distributed duration.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        // 1 − u is in (0, 1], so the logarithm is finite.
        Duration::from_secs_f64(-mean.as_secs_f64() * libm::log(1.0 - self.unit()))
    }

    /// Returns a Pareto-distributed duration with the given mean. The mean exists only if `shape` is above 1; smaller
    /// values are replaced by 1.01.
    pub fn pareto(&mut self, mean: Duration, shape: f64) -> Duration {
        let shape = shape.max(1.01);
        let scale = mean.as_secs_f64() * (shape - 1.0) / shape;
        Duration::from_secs_f64(scale * libm::pow(1.0 - self.unit(), -1.0 / shape))
    }

    /// Returns a normally distributed number (Box–Muller, only the cosine half; two draws per number).
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        let angle = core::f64::consts::TAU * self.unit();
        mean + deviation * radius * libm::cos(angle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_only_on_the_seed_and_the_name() {
        let draw = |seed, name| Stream::derive(seed, name).bits();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }

    #[test]
    fn distributions_have_the_given_means() {
        const DRAWS: u32 = 100_000;
        let mut stream = Stream::derive(7, "means");
        let mut mean_of = |draw: &mut dyn FnMut(&mut Stream) -> f64| {
            (0..DRAWS).map(|_| draw(&mut stream)).sum::<f64>() / f64::from(DRAWS)
        };
        let mean = Duration::from_millis(10);

        // The standard error of the mean is 10 ms / √100000 = 0.03 ms; four standard errors are 0.13 ms.
        let exponential = mean_of(&mut |s| s.exponential(mean).as_secs_f64() * 1e3);
        assert!((exponential - 10.0).abs() < 0.13, "{exponential}");
        // The distribution is uniform on [0, 20] ms, with standard deviation 20/√12 = 5.8 ms.
        let uniform = mean_of(&mut |s| s.between(Duration::ZERO, mean * 2).as_secs_f64() * 1e3);
        assert!((uniform - 10.0).abs() < 0.08, "{uniform}");
        let normal = mean_of(&mut |s| s.normal(10.0, 3.0));
        assert!((normal - 10.0).abs() < 0.04, "{normal}");
        // With shape 2.5, the variance is scale²·a/((a−1)²(a−2)) = 36·2.5/(2.25·0.5) = 80 ms², so the standard
        // deviation is 8.9 ms.
        let pareto = mean_of(&mut |s| s.pareto(mean, 2.5).as_secs_f64() * 1e3);
        assert!((pareto - 10.0).abs() < 0.2, "{pareto}");
        let tails = mean_of(&mut |s| f64::from(u8::from(s.chance(Probability::clamped(0.25)))));
        assert!((tails - 0.25).abs() < 0.006, "{tails}");
    }

    #[test]
    fn an_empty_interval_yields_its_lower_end() {
        let mut stream = Stream::derive(1, "empty");
        let low = Duration::from_millis(3);
        assert_eq!(stream.between(low, low), low);
        assert_eq!(stream.between(low, Duration::ZERO), low);
        assert_eq!(stream.below(0), 0);
    }
}
