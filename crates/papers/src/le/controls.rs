//! Figure 6: five recoveries under AIMD, a fixed window, Westwood, and ten flows of it.

use super::{
    FACK, Findings, LE, NEWRENO, RECOVERIES, RENO, SACK, percents, point_at, points_from, ratios,
};
use crate::claims::{Finding, Verdict};
use crate::evidence::{At, Part};
use crate::judging::{all_above, finding, interval, list};
use dupack_lab::results::Measure;
use dupack_lab::stats::spread;
use dupack_lab::stats::{Summary, paired_ratio};

/// The recoveries other than LE.
const OTHERS: [usize; 4] = [RENO, NEWRENO, SACK, FACK];

/// A panel of figure 6: stacks in the order of [`RECOVERIES`], points by loss rate.
pub(super) struct Panel<'p>(pub(super) &'p Part);

impl Panel<'_> {
    pub(super) fn aimd(&self) -> Findings {
        vec![
            ("aimd-alike", self.alike()),
            ("aimd-le-slightly-better", self.slightly_better()),
            ("aimd-losses-per-rtt", self.losses_per_rtt()),
            ("aimd-small-window", self.small_window()),
        ]
    }

    pub(super) fn fixed(&self, aimd: &Panel<'_>) -> Findings {
        vec![
            ("fixed-le-ahead", self.ahead(1.0, None)),
            ("fixed-timeouts", self.frequent_timeouts()),
            ("fixed-le-no-timeouts", self.no_timeouts()),
            ("fixed-le-keeps-rate", self.keeps_rate()),
            ("gain-grows-with-window", self.gain_grows(aimd)),
        ]
    }

    pub(super) fn westwood(&self, aimd: &Panel<'_>) -> Findings {
        vec![
            ("westwood-le-ahead", self.ahead(1.0, Some((5.0, 1.2)))),
            ("westwood-larger-window", self.larger_window(aimd)),
            ("westwood-timeouts", self.timeouts_cost()),
        ]
    }

    pub(super) fn ten_flows(&self) -> Findings {
        vec![
            ("ten-flows-fill", self.fills()),
            ("ten-flows-le-ahead", self.ahead(5.0, None)),
        ]
    }

    fn at(&self, point: usize, stack: usize, measure: Measure) -> Option<Summary> {
        self.0.summary(At { point, stack }, measure)
    }

    /// LE's goodput over `base`'s from `low` percent of loss on.
    pub(super) fn gains(&self, base: usize, low: f64) -> Option<Vec<Summary>> {
        let points = points_from(self.0, low);
        ratios(self.0, &points, LE, base, Measure::Goodput)
    }

    fn alike(&self) -> Option<Finding> {
        let mut apart = Vec::new();
        for point in 0..self.0.results.points.len() {
            let means: Option<Vec<f64>> = (0..RECOVERIES.len())
                .map(|stack| Some(self.at(point, stack, Measure::Goodput)?.mean))
                .collect();
            let means = means?;
            let least = means.iter().copied().fold(f64::INFINITY, f64::min);
            apart.push(means.iter().copied().fold(0.0, f64::max) / least);
        }
        let texts: Vec<String> = apart.iter().map(|a| format!("{a:.2}")).collect();
        finding(
            apart.iter().all(|a| *a <= 1.25),
            format!("largest over smallest by loss rate: {}", texts.join(", ")),
        )
    }

    fn slightly_better(&self) -> Option<Finding> {
        let sums = |stack: usize| -> Vec<f64> {
            let seeds = self.0.results.experiment.seeds.to_vec();
            let points = points_from(self.0, 1.0);
            let runs = &self.0.results.runs;
            let sum = |seed: u64| -> f64 {
                let of_seed = runs.iter().filter(|run| {
                    run.stack == stack && run.seed == seed && points.contains(&run.point)
                });
                of_seed
                    .filter_map(|run| run.values.get(Measure::Goodput))
                    .sum()
            };
            seeds.into_iter().map(sum).collect()
        };
        let le = sums(LE);
        let mut holds = true;
        let mut parts = Vec::new();
        for other in OTHERS {
            let ratio = paired_ratio(&sums(other), &le).ratio?;
            holds &= interval(&ratio).0 > 1.0 && ratio.mean < 1.15;
            parts.push(format!("LE / {}: {}", RECOVERIES[other], spread(&ratio, 3)));
        }
        finding(holds, parts.join("; "))
    }

    fn losses_per_rtt(&self) -> Option<Finding> {
        let mut losses = Vec::new();
        for (point, percent) in percents(self.0).into_iter().enumerate() {
            losses.push(self.at(point, LE, Measure::InFlightTrue)?.mean * percent / 100.0);
        }
        let texts: Vec<String> = losses.iter().map(|l| format!("{l:.2}")).collect();
        finding(
            losses.iter().all(|l| *l < 1.0),
            format!(
                "packets lost per round trip by loss rate: {}",
                texts.join(", ")
            ),
        )
    }

    fn small_window(&self) -> Option<Finding> {
        let point = point_at(self.0, 10.0)?;
        let flights: Option<Vec<Summary>> = (0..RECOVERIES.len())
            .map(|stack| self.at(point, stack, Measure::InFlightTrue))
            .collect();
        let flights = flights?;
        let names = RECOVERIES.iter().zip(&flights);
        let texts: Vec<String> = names
            .map(|(n, s)| format!("{n} {}", spread(s, 2)))
            .collect();
        finding(
            flights.iter().all(|s| (2.0..=6.0).contains(&s.mean)),
            format!("packets in flight at 10 %: {}", texts.join(", ")),
        )
    }

    /// Whether LE is ahead of each other from `low` percent of loss on; and from a percentage
    /// on by so much.
    fn ahead(&self, low: f64, much: Option<(f64, f64)>) -> Option<Finding> {
        let mut holds = true;
        let mut parts = Vec::new();
        for other in OTHERS {
            let gains = self.gains(other, low)?;
            holds &= all_above(&gains, 1.0);
            if let Some((from, factor)) = much {
                holds &= self.gains(other, from)?.iter().all(|g| g.mean > factor);
            }
            parts.push(format!("LE / {}: {}", RECOVERIES[other], list(&gains, 2)));
        }
        finding(holds, parts.join("; "))
    }

    /// Timeouts in 100 s from `low` percent of loss on: the least and the greatest mean.
    fn timeouts(&self, stack: usize, low: f64) -> Option<(f64, f64)> {
        let span = self.0.results.experiment.duration.as_seconds();
        let means = points_from(self.0, low)
            .into_iter()
            .map(|point| Some(self.at(point, stack, Measure::Timeouts)?.mean * 100.0 / span));
        let means = means.collect::<Option<Vec<f64>>>()?;
        Some((
            means.iter().copied().fold(f64::INFINITY, f64::min),
            means.iter().copied().fold(0.0, f64::max),
        ))
    }

    fn frequent_timeouts(&self) -> Option<Finding> {
        let mut holds = true;
        let mut parts = Vec::new();
        for other in OTHERS {
            let (least, most) = self.timeouts(other, 5.0)?;
            holds &= least > 10.0;
            parts.push(format!("{} {least:.0} to {most:.0}", RECOVERIES[other]));
        }
        finding(holds, format!("in 100 s: {}", parts.join(", ")))
    }

    fn no_timeouts(&self) -> Option<Finding> {
        let (_, most) = self.timeouts(LE, 0.0)?;
        finding(
            most < 1.0,
            format!("at most {most:.1} in 100 s, on average at a loss rate"),
        )
    }

    fn keeps_rate(&self) -> Option<Finding> {
        let without = self.at(point_at(self.0, 0.0)?, LE, Measure::Goodput)?.mean;
        let mut shares = Vec::new();
        for (point, percent) in percents(self.0).into_iter().enumerate() {
            let goodput = self.at(point, LE, Measure::Goodput)?.mean;
            shares.push(goodput / (without * (1.0 - percent / 100.0)));
        }
        let texts: Vec<String> = shares.iter().map(|s| format!("{s:.3}")).collect();
        finding(
            shares.iter().all(|s| *s >= 0.9),
            format!(
                "share of (1 − p) of the goodput without loss: {}",
                texts.join(", ")
            ),
        )
    }

    fn gain_grows(&self, aimd: &Panel<'_>) -> Option<Finding> {
        let (large, small) = (self.gains(SACK, 1.0)?, aimd.gains(SACK, 1.0)?);
        let grows = |(l, s): (&Summary, &Summary)| interval(l).0 > interval(s).1;
        finding(
            large.iter().zip(&small).all(grows),
            format!(
                "LE / SACK with 32 packets {}; with AIMD {}",
                list(&large, 2),
                list(&small, 2)
            ),
        )
    }

    fn larger_window(&self, aimd: &Panel<'_>) -> Option<Finding> {
        let flights = |panel: &Panel<'_>| {
            let points = points_from(panel.0, 1.0).into_iter();
            let flights = points.map(|point| panel.at(point, LE, Measure::InFlightTrue));
            flights.collect::<Option<Vec<Summary>>>()
        };
        let (westwood, reno) = (flights(self)?, flights(aimd)?);
        let larger = |(w, r): (&Summary, &Summary)| interval(w).0 > interval(r).1;
        finding(
            westwood.iter().zip(&reno).all(larger),
            format!(
                "packets in flight with Westwood {}; with AIMD {}",
                list(&westwood, 1),
                list(&reno, 1)
            ),
        )
    }

    fn timeouts_cost(&self) -> Option<Finding> {
        let points = points_from(self.0, 5.0);
        let per_bit = |stack: usize| -> Option<Vec<f64>> {
            let rate = |&point: &usize| {
                let timeouts = self.at(point, stack, Measure::Timeouts)?.mean;
                Some(timeouts / self.at(point, stack, Measure::Goodput)?.mean)
            };
            points.iter().map(rate).collect()
        };
        let le = per_bit(LE)?;
        let mut least = f64::INFINITY;
        let mut parts = Vec::new();
        for other in OTHERS {
            let rates = per_bit(other)?;
            let factors = rates.iter().zip(&le).map(|(r, l)| r / l);
            let factor = factors.fold(f64::INFINITY, f64::min);
            least = least.min(factor);
            parts.push(match factor.is_finite() {
                true => format!("{} at least {factor:.0} times", RECOVERIES[other]),
                false => format!("{} has them, LE none", RECOVERIES[other]),
            });
        }
        finding(
            least >= 10.0,
            format!("LE's timeouts per bit: {}", parts.join(", ")),
        )
    }

    fn fills(&self) -> Option<Finding> {
        let used = self.0.curve(LE, Measure::Utilisation)?;
        Some(Finding::new(
            Verdict::of(used.iter().all(|u| u.mean >= 90.0)),
            format!("link in use by loss rate: {} %", list(&used, 1)),
        ))
    }
}
