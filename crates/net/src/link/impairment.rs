//! Impairments between the transmitter and the far end: jitter, reordering, and duplication.

use dupack_tcp::time::{Duration, Instant};

use crate::random::Stream;
use crate::units::Probability;

/// Impairments of a link's wire. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImpairmentConfig {
    /// Extra delay for every packet.
    pub jitter: Option<Jitter>,
    /// Extra delay for some packets, so that others overtake them.
    pub reordering: Option<Reordering>,
    /// A second copy of some packets.
    pub duplication: Option<Duplication>,
}

/// Random extra delay for every packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Distribution of the extra delay.
    pub distribution: JitterDistribution,
    /// Order of packets.
    pub order: JitterOrder,
}

/// Distribution of an extra delay.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum JitterDistribution {
    /// Uniform in `[0, max]`.
    Uniform {
        /// Maximum extra delay.
        max: Duration,
    },
    /// Exponentially distributed.
    Exponential {
        /// Mean extra delay.
        mean: Duration,
    },
    /// Normally distributed, with negative values replaced by zero.
    Normal {
        /// Mean of the untruncated distribution.
        mean: Duration,
        /// Standard deviation of the untruncated distribution.
        deviation: Duration,
    },
}

/// Effect of jitter on the order of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JitterOrder {
    /// A packet arrives no earlier than the previous one.
    #[default]
    Preserved,
    /// A packet with less extra delay may overtake others.
    Overtaking,
}

/// Delays some packets, so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reordering {
    /// Fraction of packets that are delayed.
    pub probability: Probability,
    /// Minimum extra delay of such a packet.
    pub delay_min: Duration,
    /// Maximum extra delay; the delay is uniform between the two.
    pub delay_max: Duration,
}

/// Duplicates some packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplication {
    /// Fraction of packets that are duplicated.
    pub probability: Probability,
    /// Time from the arrival of the first copy to that of the second.
    pub lag: Duration,
}

impl ImpairmentConfig {
    /// Returns `true` if packets may be reordered.
    #[must_use]
    pub fn reorders(&self) -> bool {
        self.reordering.is_some()
            || self
                .duplication
                .is_some_and(|duplication| !duplication.lag.is_zero())
            || self
                .jitter
                .is_some_and(|jitter| jitter.order == JitterOrder::Overtaking)
    }
}

/// Impairments at run time; each kind draws from its own stream.
#[derive(Clone, Debug)]
pub(super) struct Impairments {
    config: ImpairmentConfig,
    jitter: Stream,
    reordering: Stream,
    duplication: Stream,
    last_in_order: Instant,
}

impl Impairments {
    pub(super) fn new(config: ImpairmentConfig, seed: u64, link: &str) -> Self {
        let stream = |part: &str| Stream::derive(seed, &format!("{link}/{part}"));
        Self {
            config,
            jitter: stream("jitter"),
            reordering: stream("reordering"),
            duplication: stream("duplication"),
            last_in_order: Instant::ZERO,
        }
    }

    /// Returns the arrival time of a packet and of its second copy, if there is one. `ideal` is the arrival time on a
    /// wire without impairments.
    pub(super) fn pass(&mut self, ideal: Instant) -> (Instant, Option<Instant>) {
        let mut arrival = ideal;
        if let Some(jitter) = self.config.jitter {
            arrival += jitter.distribution.draw(&mut self.jitter);
            if jitter.order == JitterOrder::Preserved {
                arrival = arrival.max(self.last_in_order);
                self.last_in_order = arrival;
            }
        }
        if let Some(reordering) = self.config.reordering {
            // Both numbers are always drawn, so that the fate of one packet does not affect that of another.
            let held_back = self.reordering.chance(reordering.probability);
            let delay = self
                .reordering
                .between(reordering.delay_min, reordering.delay_max);
            if held_back {
                arrival += delay;
            }
        }
        let second_copy = self
            .config
            .duplication
            .filter(|duplication| self.duplication.chance(duplication.probability))
            .map(|duplication| arrival + duplication.lag);
        (arrival, second_copy)
    }
}

impl JitterDistribution {
    fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Self::Uniform { max } => stream.between(Duration::ZERO, max),
            Self::Exponential { mean } => stream.exponential(mean),
            Self::Normal { mean, deviation } => {
                Duration::from_secs_f64(stream.normal(mean.as_secs_f64(), deviation.as_secs_f64()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn arrivals(config: ImpairmentConfig) -> Vec<(Instant, Option<Instant>)> {
        let mut wire = Impairments::new(config, 1, "wire");
        (0..1000).map(|n| wire.pass(at(100 * n))).collect()
    }

    fn sorted(passages: &[(Instant, Option<Instant>)]) -> bool {
        passages.is_sorted_by_key(|passage| passage.0)
    }

    #[test]
    fn a_wire_without_impairments_changes_nothing() {
        let passages = arrivals(ImpairmentConfig::default());
        for (passage, n) in passages.iter().zip(0..) {
            assert_eq!(passage.0, at(100 * n));
            assert_eq!(passage.1, None);
        }
    }

    #[test]
    fn jitter_is_in_its_range_and_may_preserve_order() {
        let with = |order| {
            arrivals(ImpairmentConfig {
                jitter: Some(Jitter {
                    distribution: JitterDistribution::Uniform {
                        max: Duration::from_micros(500),
                    },
                    order,
                }),
                ..ImpairmentConfig::default()
            })
        };
        assert!(sorted(&with(JitterOrder::Preserved)));
        let free = with(JitterOrder::Overtaking);
        assert!(!sorted(&free));
        for (passage, n) in free.iter().zip(0..) {
            assert!(passage.0 >= at(100 * n) && passage.0 <= at(100 * n + 500));
        }
    }

    #[test]
    fn the_configured_fraction_is_delayed() {
        let passages = arrivals(ImpairmentConfig {
            reordering: Some(Reordering {
                probability: Probability::clamped(0.1),
                delay_min: Duration::from_micros(250),
                delay_max: Duration::from_micros(350),
            }),
            ..ImpairmentConfig::default()
        });
        let held_back = (0..).zip(&passages).filter(|(n, p)| p.0 > at(100 * n));
        // The mean is 1000 · 0.1 = 100 and the standard deviation √90 = 9.5.
        let count = held_back.clone().count();
        assert!((62..=138).contains(&count), "{count}");
        for (n, passage) in held_back {
            let extra = passage.0.since(at(100 * n)).as_nanos();
            assert!((250_000..=350_000).contains(&extra), "{extra}");
        }
    }

    #[test]
    fn the_second_copy_lags_behind_the_first() {
        let passages = arrivals(ImpairmentConfig {
            duplication: Some(Duplication {
                probability: Probability::clamped(0.5),
                lag: Duration::from_micros(70),
            }),
            ..ImpairmentConfig::default()
        });
        let twice = passages.iter().filter_map(|p| Some((p, p.1?)));
        let count = twice.clone().count();
        // The mean is 500 and the standard deviation √250 = 16.
        assert!((436..=564).contains(&count), "{count}");
        for (passage, second) in twice {
            assert_eq!(second.since(passage.0), Duration::from_micros(70));
        }
    }
}
