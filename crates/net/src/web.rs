//! Published distributions of the sizes of short flows.
//!
//! Each transfer is a separate connection, and transfers arrive as a Poisson process. This is the usual load in papers
//! on flow completion times. The order, pauses and shared connections of a browser are not modelled.
//!
//! | distribution | flows | source |
//! | --- | --- | --- |
//! | [`WebObjects`](FlowSizes::WebObjects) | objects of web pages on the Internet | 3GPP2 C.R1002's HTTP model, with the values of ns-3's `ThreeGppHttpVariables` |
//! | [`WebSearch`](FlowSizes::WebSearch) | flows of a cluster that answers web searches | Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010 |
//! | [`DataMining`](FlowSizes::DataMining) | flows of a cluster that mines data | Greenberg et al., "VL2", SIGCOMM 2009 |
//!
//! The papers show the last two distributions as figures. The points used here are those of the traffic generator of
//! Bai et al. ("Information-Agnostic Flow Scheduling for Commodity Data Centers", NSDI 2015), with uniform sizes
//! between two points.

use crate::random::Stream;

/// A published distribution of flow sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlowSizes {
    /// Objects of web pages, with a mean of 8.7 kB.
    WebObjects,
    /// Flows of a web-search cluster: half are below 75 kB, and the mean is 1.7 MB.
    WebSearch,
    /// Flows of a data-mining cluster: half are below 1.1 kB, and the mean is 12.7 MB.
    DataMining,
}

/// A size in bytes, and the fraction of flows that are at most this large.
type Point = (f64, f64);

const WEB_SEARCH: [Point; 12] = [
    (0.0, 0.0),
    (10_000.0, 0.15),
    (20_000.0, 0.2),
    (30_000.0, 0.3),
    (50_000.0, 0.4),
    (80_000.0, 0.53),
    (200_000.0, 0.6),
    (1_000_000.0, 0.7),
    (2_000_000.0, 0.8),
    (5_000_000.0, 0.9),
    (10_000_000.0, 0.97),
    (30_000_000.0, 1.0),
];

const DATA_MINING: [Point; 13] = [
    (0.0, 0.0),
    (180.0, 0.1),
    (216.0, 0.2),
    (560.0, 0.3),
    (900.0, 0.4),
    (1_100.0, 0.5),
    (1_870.0, 0.6),
    (3_160.0, 0.7),
    (10_000.0, 0.8),
    (400_000.0, 0.9),
    (3_160_000.0, 0.95),
    (100_000_000.0, 0.98),
    (1_000_000_000.0, 1.0),
];

/// Log-normal distribution, with draws repeated until the size is between two limits.
#[derive(Clone, Copy, Debug)]
struct LogNormal {
    /// Mean and standard deviation of the sizes without the limits, in bytes.
    mean: f64,
    deviation: f64,
    min: f64,
    max: f64,
}

/// The main object: the page itself.
const MAIN_OBJECT: LogNormal = LogNormal {
    mean: 10_710.0,
    deviation: 25_032.0,
    min: 100.0,
    max: 2_000_000.0,
};

/// Objects that are embedded in a page.
const EMBEDDED_OBJECT: LogNormal = LogNormal {
    mean: 7_758.0,
    deviation: 126_168.0,
    min: 50.0,
    max: 2_000_000.0,
};

/// Mean number of embedded objects of a page (documentation of ns-3's model).
const EMBEDDED_PER_PAGE: f64 = 3.95;

/// Fraction of objects that are the page itself.
const MAIN_SHARE: f64 = 1.0 / (1.0 + EMBEDDED_PER_PAGE);

impl FlowSizes {
    /// Draws the size of a flow in bytes, which is at least one.
    pub fn draw(self, stream: &mut Stream) -> u64 {
        let bytes = match self {
            Self::WebObjects => {
                let main = stream.unit() < MAIN_SHARE;
                if main { MAIN_OBJECT } else { EMBEDDED_OBJECT }.draw(stream)
            }
            Self::WebSearch => quantile(&WEB_SEARCH, stream.unit()),
            Self::DataMining => quantile(&DATA_MINING, stream.unit()),
        };
        (bytes.round() as u64).max(1)
    }

    /// Returns the mean size in bytes.
    #[must_use]
    pub fn mean_bytes(self) -> f64 {
        match self {
            Self::WebObjects => {
                MAIN_SHARE * MAIN_OBJECT.mean() + (1.0 - MAIN_SHARE) * EMBEDDED_OBJECT.mean()
            }
            Self::WebSearch => mean(&WEB_SEARCH),
            Self::DataMining => mean(&DATA_MINING),
        }
    }
}

/// Returns the size that the fraction `unit` of the flows does not exceed.
fn quantile(points: &[Point], unit: f64) -> f64 {
    for pair in points.windows(2) {
        let [(from, below), (to, share)] = [pair[0], pair[1]];
        if unit <= share {
            return from + (to - from) * (unit - below) / (share - below);
        }
    }
    points.last().map_or(0.0, |&(size, _)| size)
}

fn mean(points: &[Point]) -> f64 {
    let parts = points.windows(2);
    parts
        .map(|pair| (pair[1].1 - pair[0].1) * (pair[1].0 + pair[0].0) / 2.0)
        .sum()
}

impl LogNormal {
    /// Returns the mean and standard deviation of the logarithm.
    fn of_logarithm(self) -> (f64, f64) {
        let ratio = self.deviation / self.mean;
        let variance = libm::log(1.0 + ratio * ratio);
        (libm::log(self.mean) - variance / 2.0, variance.sqrt())
    }

    fn draw(self, stream: &mut Stream) -> f64 {
        let (mean, deviation) = self.of_logarithm();
        // One embedded object in six is drawn again, so the limit of 1000 draws is never reached in practice.
        for _ in 0..1000 {
            let size = libm::exp(stream.normal(mean, deviation));
            if (self.min..self.max).contains(&size) {
                return size;
            }
        }
        self.min
    }

    /// Returns the mean of the sizes between the limits.
    fn mean(self) -> f64 {
        let (mean, deviation) = self.of_logarithm();
        // Fraction of a normal distribution below a size. With a shift, it is the same fraction weighted with the size.
        let below = |size: f64, shift: f64| {
            let distance = (libm::log(size) - mean) / deviation - shift;
            (1.0 + libm::erf(distance / core::f64::consts::SQRT_2)) / 2.0
        };
        let between = |shift| below(self.max, shift) - below(self.min, shift);
        self.mean * between(deviation) / between(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [FlowSizes; 3] = [
        FlowSizes::WebObjects,
        FlowSizes::WebSearch,
        FlowSizes::DataMining,
    ];

    #[test]
    fn the_mean_agrees_with_draws() {
        for (sizes, expected, tolerance) in [
            // Means of 500,000 draws, with a tolerance of four standard errors; the standard deviations are 40 kB, 3.6
            // MB and 79 MB.
            (FlowSizes::WebObjects, 8_720.0, 0.04),
            (FlowSizes::WebSearch, 1_711_250.0, 0.02),
            (FlowSizes::DataMining, 12_657_000.0, 0.04),
        ] {
            let mut stream = Stream::derive(1, "sizes");
            let draws = 500_000;
            let sum: f64 = (0..draws).map(|_| sizes.draw(&mut stream) as f64).sum();
            let (drawn, said) = (sum / f64::from(draws), sizes.mean_bytes());
            assert!(
                (drawn / said - 1.0).abs() < tolerance,
                "{sizes:?}: {drawn} {said}"
            );
            assert!((said / expected - 1.0).abs() < 0.001, "{sizes:?}: {said}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_points() {
        for (sizes, points) in [
            (FlowSizes::WebSearch, &WEB_SEARCH[..]),
            (FlowSizes::DataMining, &DATA_MINING[..]),
        ] {
            let mut stream = Stream::derive(2, "sizes");
            let drawn: Vec<u64> = (0..100_000).map(|_| sizes.draw(&mut stream)).collect();
            for &(size, share) in &points[1..] {
                let below = drawn.iter().filter(|&&bytes| bytes as f64 <= size).count();
                // The standard deviation is at most √(0.25 · 10⁵) = 158 of 10⁵.
                assert!(
                    (below as f64 / 1e5 - share).abs() < 0.007,
                    "{sizes:?} {size}"
                );
            }
        }
    }

    #[test]
    fn web_objects_lie_between_their_limits_and_most_are_small() {
        let mut stream = Stream::derive(3, "sizes");
        let mut drawn: Vec<u64> = (0..100_000)
            .map(|_| FlowSizes::WebObjects.draw(&mut stream))
            .collect();
        drawn.sort_unstable();
        assert!(drawn[0] >= 50 && drawn[99_999] < 2_000_000);
        // A fifth of the flows are pages with a median of 4.2 kB. The others have a median of 0.6 kB.
        assert!((600..1500).contains(&drawn[50_000]), "{}", drawn[50_000]);
    }

    #[test]
    fn no_flow_is_empty() {
        let mut stream = Stream::derive(4, "sizes");
        let mut all = ALL.iter().cycle().take(100_000);
        assert!(all.all(|sizes| sizes.draw(&mut stream) > 0));
    }
}
