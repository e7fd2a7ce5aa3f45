//! §V.B and §V.C: goodput by number of connections, rate and delay, without and with random loss.

use super::{RENO, SACK, SLOWER, WESTWOOD};
use crate::claims::Finding;
use crate::judging::{all_above, finding, list};
use crate::{At, Evidence, Part};
use dupack_lab::experiment::SweepValue;
use dupack_lab::results::Measure;
use dupack_lab::stats::Summary;
use dupack_lab::units::Rate;

/// The points that a quick look keeps, of seven.
pub(super) const QUICK_POINTS: [usize; 3] = [0, 2, 6];

/// What a sweep changes.
#[derive(Debug)]
pub(super) struct Axis {
    /// The experiment's name; with `-lossy` that with random loss.
    pub(super) experiment: &'static str,
    /// Its values.
    values: [f64; 7],
    /// Their unit, as it follows them.
    pub(super) unit: &'static str,
    /// What the value is.
    pub(super) label: &'static str,
}

pub(super) const AXES: [Axis; 3] = [
    Axis {
        experiment: "connections",
        values: [1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0],
        unit: "",
        label: "connections",
    },
    Axis {
        experiment: "rates",
        values: [2.0, 5.0, 10.0, 20.0, 45.0, 100.0, 150.0],
        unit: " Mbit/s",
        label: "rate of the bottleneck (Mbit/s)",
    },
    Axis {
        experiment: "delays",
        values: [10.0, 50.0, 100.0, 200.0, 300.0, 500.0, 1000.0],
        unit: " ms",
        label: "one-way delay (ms)",
    },
];

impl Axis {
    /// What goodput is shown by.
    pub(super) fn by(&self) -> &'static str {
        match self.experiment {
            "connections" => "number of connections",
            "rates" => "rate",
            _ => "delay",
        }
    }
}

const CONNECTIONS: usize = 0;
const RATES: usize = 1;
const DELAYS: usize = 2;

/// A value of a point, slower by [`SLOWER`] if it is a rate or a buffer.
pub(super) fn slow_down(key: &str, value: &mut SweepValue) {
    let SweepValue::Text(text) = value else {
        return;
    };
    if key.ends_with("rate") {
        if let Ok(rate) = text.parse::<Rate>() {
            *text = super::slower(rate).to_string();
        }
    } else if key.ends_with("buffer") {
        let packets: Option<u64> = text.strip_suffix("pkt").and_then(|n| n.parse().ok());
        if let Some(packets) = packets {
            *text = format!("{}pkt", packets / SLOWER);
        }
    }
}

/// One sweep as it came out.
pub(super) struct Sweep<'e> {
    pub(super) axis: &'static Axis,
    pub(super) part: &'e Part,
    /// The values of the points that were run.
    pub(super) values: Vec<f64>,
    /// Goodput of Westwood over that of Reno, and over that of SACK, by point.
    pub(super) to_reno: Vec<Summary>,
    pub(super) to_sack: Vec<Summary>,
}

impl<'e> Sweep<'e> {
    fn of(axis: &'static Axis, part: &'e Part) -> Option<Self> {
        let all = axis.values.into_iter().enumerate();
        let kept = all.filter(|(index, _)| {
            part.results.points.len() == axis.values.len() || QUICK_POINTS.contains(index)
        });
        Some(Self {
            axis,
            part,
            values: kept.map(|(_, value)| value).collect(),
            to_reno: part.ratios(WESTWOOD, RENO, Measure::Goodput)?,
            to_sack: part.ratios(WESTWOOD, SACK, Measure::Goodput)?,
        })
    }

    /// Whether it has only the points of a quick look.
    pub(super) fn is_quick(&self) -> bool {
        self.values.len() < self.axis.values.len()
    }

    /// The ratio at the point with `value`, if that was run.
    fn at<'s>(&self, ratios: &'s [Summary], value: f64) -> Option<&'s Summary> {
        let index = self.values.iter().position(|v| *v == value)?;
        ratios.get(index)
    }

    /// The ratios at those of `values` that were run.
    fn some(&self, ratios: &[Summary], values: &[f64]) -> Vec<Summary> {
        let found = values.iter().filter_map(|v| self.at(ratios, *v));
        found.copied().collect()
    }

    /// Mean goodput of a stack at the point with `value`.
    fn goodput(&self, stack: usize, value: f64) -> Option<f64> {
        let point = self.values.iter().position(|v| *v == value)?;
        Some(
            self.part
                .summary(At { point, stack }, Measure::Goodput)?
                .mean,
        )
    }
}

/// All sweeps, in the order of [`AXES`].
pub(super) struct Sweeps<'e> {
    pub(super) lossless: Vec<Sweep<'e>>,
    pub(super) lossy: Vec<Sweep<'e>>,
}

type Ratios<'s, 'e> = fn(&'s Sweep<'e>) -> &'s [Summary];

impl<'e> Sweeps<'e> {
    pub(super) fn of(evidence: &'e Evidence) -> Self {
        let sweeps = |ending: &str| {
            let parts = AXES.iter().filter_map(|axis| {
                let part = evidence.part(&format!("{}{ending}", axis.experiment))?;
                Sweep::of(axis, part)
            });
            parts.collect()
        };
        Self {
            lossless: sweeps(""),
            lossy: sweeps("-lossy"),
        }
    }

    /// Whether every run is there.
    fn whole(&self) -> bool {
        self.lossless.len() == AXES.len() && self.lossy.len() == AXES.len()
    }

    pub(super) fn findings(&self) -> Vec<(&'static str, Option<Finding>)> {
        if !self.whole() {
            return Vec::new();
        }
        vec![
            ("above-reno-everywhere", self.above_reno()),
            ("few-connections", self.few_connections()),
            ("high-rate", self.high_rate()),
            ("rate-pays-off", self.rate_pays_off()),
            ("sack-ahead-at-small-delay", self.small_delay()),
            ("ahead-of-sack-at-large-delay", self.large_delay()),
            ("delay-pays-off", self.delay_pays_off()),
            ("edge-over-sack", self.edge_over_sack()),
            ("lossy-above-reno", self.lossy_above()),
            (
                "lossy-gain-larger",
                self.gain_larger(|sweep| &sweep.to_reno),
            ),
            (
                "lossy-gain-larger-sack",
                self.gain_larger(|sweep| &sweep.to_sack),
            ),
            ("degradation-grows", self.degradation_grows()),
            ("considerable-gain", self.considerable()),
        ]
    }

    fn above_reno(&self) -> Option<Finding> {
        let ratios = self.lossless.iter().flat_map(|sweep| &sweep.to_reno);
        let holds = ratios.clone().all(|ratio| ratio.mean > 1.0);
        let parts = self.lossless.iter().map(|sweep| {
            let ratios = list(&sweep.to_reno, 2);
            format!("by {} {ratios}", sweep.axis.experiment)
        });
        finding(holds, parts.collect::<Vec<_>>().join("; "))
    }

    fn few_connections(&self) -> Option<Finding> {
        let sweep = &self.lossless[CONNECTIONS];
        let one = sweep.at(&sweep.to_reno, 1.0)?;
        let many = sweep.at(&sweep.to_reno, 30.0)?;
        finding(
            one.mean > many.mean && many.mean >= 0.95,
            format!(
                "{} of Reno's with one connection, {} with 30",
                spread(one),
                spread(many)
            ),
        )
    }

    fn high_rate(&self) -> Option<Finding> {
        let sweep = &self.lossless[RATES];
        let reno = sweep.at(&sweep.to_reno, 150.0)?;
        let sack = sweep.at(&sweep.to_sack, 150.0)?;
        finding(
            all_above(&[*reno, *sack], 1.0),
            format!("{} of Reno's, {} of SACK's", spread(reno), spread(sack)),
        )
    }

    fn rate_pays_off(&self) -> Option<Finding> {
        let sweep = &self.lossless[RATES];
        let low = sweep.at(&sweep.to_reno, 10.0)?;
        let high = sweep.at(&sweep.to_reno, 150.0)?;
        finding(
            high.mean > low.mean,
            format!(
                "{} at 10 Mbit/s, {} at 150 Mbit/s",
                spread(low),
                spread(high)
            ),
        )
    }

    fn small_delay(&self) -> Option<Finding> {
        let sweep = &self.lossless[DELAYS];
        let ratios = sweep.some(&sweep.to_sack, &[10.0, 50.0, 100.0]);
        let holds = ratios.iter().all(|r| (0.85..=1.0).contains(&r.mean));
        finding(holds, format!("{} of SACK's", list(&ratios, 2)))
    }

    fn large_delay(&self) -> Option<Finding> {
        let sweep = &self.lossless[DELAYS];
        let ratios = sweep.some(&sweep.to_sack, &[300.0, 500.0, 1000.0]);
        let holds = ratios.iter().all(|r| r.mean > 1.0);
        finding(holds, format!("{} of SACK's", list(&ratios, 2)))
    }

    fn delay_pays_off(&self) -> Option<Finding> {
        let mut holds = true;
        let mut parts = Vec::new();
        for (sweeps, what) in [(&self.lossless, "without"), (&self.lossy, "with")] {
            let sweep = &sweeps[DELAYS];
            let short = sweep.at(&sweep.to_reno, 10.0)?;
            let long = sweep.at(&sweep.to_reno, 1000.0)?;
            holds &= long.mean > short.mean;
            parts.push(format!(
                "{what} random loss {} at 10 ms and {} at 1 s",
                spread(short),
                spread(long)
            ));
        }
        finding(holds, parts.join(", "))
    }

    fn edge_over_sack(&self) -> Option<Finding> {
        let ratios = all(&self.lossless, |sweep| &sweep.to_sack);
        let above = ratios.iter().filter(|r| r.mean > 1.0).count();
        let wanted = scaled(17, 21, ratios.len());
        finding(
            above >= wanted,
            format!("at {above} of {} points", ratios.len()),
        )
    }

    fn lossy_above(&self) -> Option<Finding> {
        let reno = all(&self.lossy, |sweep| &sweep.to_reno);
        let sack = all(&self.lossy, |sweep| &sweep.to_sack);
        let pairs = reno.iter().zip(&sack);
        let above = pairs.filter(|(r, s)| r.mean > 1.0 && s.mean > 1.0).count();
        let least = |ratios: &[Summary]| ratios.iter().map(|r| r.mean).fold(f64::MAX, f64::min);
        let most = |ratios: &[Summary]| ratios.iter().map(|r| r.mean).fold(0.0, f64::max);
        finding(
            above >= scaled(18, 21, reno.len()),
            format!(
                "at {above} of {} points; {:.2} to {:.2} times Reno's and {:.2} to {:.2} times SACK's",
                reno.len(),
                least(&reno),
                most(&reno),
                least(&sack),
                most(&sack)
            ),
        )
    }

    fn gain_larger(&self, of: for<'s> fn(&'s Sweep<'e>) -> &'s [Summary]) -> Option<Finding> {
        let without = geometric_mean(&all(&self.lossless, of))?;
        let with = geometric_mean(&all(&self.lossy, of))?;
        finding(
            with > without,
            format!("{with:.2} with random loss, {without:.2} without"),
        )
    }

    fn degradation_grows(&self) -> Option<Finding> {
        let mut holds = true;
        let mut parts = Vec::new();
        for (axis, small, large) in [(DELAYS, 10.0, 1000.0), (RATES, 2.0, 150.0)] {
            let kept = |value| {
                let with = self.lossy[axis].goodput(RENO, value)?;
                Some(with / self.lossless[axis].goodput(RENO, value)?)
            };
            let (at_small, at_large): (f64, f64) = (kept(small)?, kept(large)?);
            holds &= at_large < at_small;
            let unit = AXES[axis].unit;
            parts.push(format!(
                "Reno keeps {at_small:.2} at {small}{unit} and {at_large:.2} at {large}{unit}"
            ));
        }
        finding(holds, parts.join("; "))
    }

    fn considerable(&self) -> Option<Finding> {
        let mut ratios = all(&self.lossless, |sweep| &sweep.to_reno);
        ratios.extend(all(&self.lossy, |sweep| &sweep.to_reno));
        let above = ratios.iter().filter(|r| r.mean > 1.1).count();
        finding(
            above >= scaled(34, 42, ratios.len()),
            format!("above 1.1 at {above} of {} points", ratios.len()),
        )
    }
}

/// The ratios of all sweeps.
fn all<'s, 'e: 's>(sweeps: &'s [Sweep<'e>], of: Ratios<'s, 'e>) -> Vec<Summary> {
    sweeps.iter().flat_map(|s| of(s).iter().copied()).collect()
}

/// `wanted` of `planned` points, in proportion, if a quick look has only `points` of them.
fn scaled(wanted: usize, planned: usize, points: usize) -> usize {
    (wanted * points).div_ceil(planned)
}

fn geometric_mean(ratios: &[Summary]) -> Option<f64> {
    let logarithms: Vec<f64> = ratios.iter().map(|r| r.mean.ln()).collect();
    Some(dupack_lab::stats::mean(&logarithms)?.exp())
}

fn spread(summary: &Summary) -> String {
    dupack_lab::stats::spread(summary, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_fewer_points_is_rounded_up() {
        assert_eq!(scaled(18, 21, 21), 18);
        assert_eq!(scaled(18, 21, 9), 8);
        assert_eq!(scaled(34, 42, 18), 15);
    }

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        let ratios = [Summary::of(&[4.0]).unwrap(), Summary::of(&[0.25]).unwrap()];
        assert!((geometric_mean(&ratios).unwrap() - 1.0).abs() < 1e-12);
        assert!(geometric_mean(&[]).is_none());
    }

    #[test]
    fn rates_and_buffers_slow_down_and_nothing_else() {
        let slow = |key, text: &str| {
            let mut value = SweepValue::Text(text.to_owned());
            slow_down(key, &mut value);
            value.to_string()
        };
        assert_eq!(
            slow("udp.0.rate", "4.5Mbit/s"),
            slow("path.rate", "4.5Mbit/s")
        );
        let rate: Rate = slow("path.rate", "4.5Mbit/s").parse().unwrap();
        assert_eq!(rate.as_bits_per_second(), 900_000);
        assert_eq!(slow("path.buffer", "5625pkt"), "1125pkt");
        assert_eq!(slow("path.delay", "500ms"), "500ms");
    }
}
