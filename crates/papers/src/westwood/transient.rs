//! §V.A: one connection while two UDP sources come and go. What the estimate, the window and the
//! threshold do.

use super::{RENO, WESTWOOD};
use crate::claims::{Finding, Verdict};
use crate::judging::{all_above, finding};
use crate::{At, Evidence, Part};
use dupack_lab::experiment::Experiment;
use dupack_lab::results::Measure;
use dupack_lab::run::{Course, Moment};
use dupack_lab::stats::spread;
use dupack_lab::stats::{mean, quantile};
use dupack_lab::units::Rate;

/// When the available bandwidth steps down, in seconds.
const DOWN: [f64; 3] = [50.0, 100.0, 250.0];
/// When it steps up.
const UP: [f64; 3] = [150.0, 350.0, 400.0];
/// When the burst of two seconds begins.
const BURST: f64 = 460.0;
/// The estimate is averaged over so many seconds.
const AVERAGED: f64 = 1.0;
/// Least round-trip time in seconds.
const RTT_MIN: f64 = 0.2;
/// Bits of a segment.
const SEGMENT: f64 = 8000.0;

/// The experiments.
pub(super) struct Transients<'e> {
    pub(super) lossless: Option<&'e Part>,
    pub(super) lossy: Option<&'e Part>,
    /// Without random loss, and with half the buffer: another reading.
    pub(super) half: Option<&'e Part>,
}

/// A stack of an experiment that has one point.
pub(super) const fn only(stack: usize) -> At {
    At { point: 0, stack }
}

impl<'e> Transients<'e> {
    pub(super) fn of(evidence: &'e Evidence) -> Self {
        Self {
            lossless: evidence.part("transient"),
            lossy: evidence.part("transient-lossy"),
            half: evidence.part("transient-half"),
        }
    }

    pub(super) fn findings(&self) -> Vec<(&'static str, Option<Finding>)> {
        let estimate = self.lossless.and_then(Estimate::of);
        let estimate = estimate.as_ref();
        vec![
            (
                "estimate-follows-down",
                estimate.and_then(Estimate::follows_down),
            ),
            (
                "estimate-follows-burst",
                estimate.and_then(Estimate::follows_burst),
            ),
            ("estimate-slow-up", estimate.and_then(Estimate::slow_up)),
            (
                "slow-up-by-the-window",
                estimate.and_then(Estimate::late_by_the_window),
            ),
            (
                "estimate-overshoots",
                estimate.and_then(Estimate::overshoots),
            ),
            ("westwood-ssthresh", estimate.and_then(Estimate::ssthresh)),
            ("reno-ssthresh", self.reno_ssthresh()),
            ("transient-throughput", self.throughput()),
            ("transient-throughput-lossy", self.throughput_lossy()),
        ]
    }

    fn reno_ssthresh(&self) -> Option<Finding> {
        let part = self.lossless?;
        let thresholds = |stack| -> Option<(f64, f64)> {
            let moments = &part.course(only(stack))?.moments;
            let within = moments.iter().filter(|m| (50.0..400.0).contains(&m.at));
            let values: Vec<f64> = within
                .map(|m| m.ssthresh)
                .filter(|ssthresh| ssthresh.is_finite())
                .collect();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            Some((mean(&values)?, least))
        };
        let (westwood, westwood_least) = thresholds(WESTWOOD)?;
        let (reno, reno_least) = thresholds(RENO)?;
        finding(
            reno < westwood && reno_least < westwood_least / 2.0,
            format!(
                "mean {reno:.0} packets against {westwood:.0} of Westwood's, least {reno_least:.0} against {westwood_least:.0}"
            ),
        )
    }

    fn throughput(&self) -> Option<Finding> {
        let part = self.lossless?;
        let westwood = part.summary(only(WESTWOOD), Measure::Goodput)?;
        let reno = part.summary(only(RENO), Measure::Goodput)?;
        finding(
            westwood.mean > reno.mean,
            format!(
                "Westwood {}, Reno {} Mbit/s",
                spread(&westwood, 2),
                spread(&reno, 2)
            ),
        )
    }

    fn throughput_lossy(&self) -> Option<Finding> {
        let kept = |stack| -> Option<f64> {
            let with = self.lossy?.summary(only(stack), Measure::Goodput)?;
            let without = self.lossless?.summary(only(stack), Measure::Goodput)?;
            Some(with.mean / without.mean)
        };
        let (westwood, reno) = (kept(WESTWOOD)?, kept(RENO)?);
        let ratio = self.lossy?.ratio(only(WESTWOOD), RENO, Measure::Goodput)?;
        finding(
            westwood >= 0.75 && reno <= 0.5 && all_above(&[ratio], 1.5),
            format!(
                "Westwood keeps {westwood:.2} of its goodput, Reno {reno:.2}; Westwood has {} times Reno's",
                spread(&ratio, 2)
            ),
        )
    }
}

/// The bandwidth that the UDP sources leave at `at`, in Mbit/s.
pub(super) fn available(experiment: &Experiment, at: f64) -> f64 {
    let mbit_s = Rate::as_megabits_per_second;
    let path = experiment.path.as_ref().and_then(|path| path.rate);
    let sending = experiment.udp.iter().filter(|source| {
        let stop = source.stop.map_or(f64::INFINITY, |stop| stop.as_seconds());
        (source.start.as_seconds()..stop).contains(&at)
    });
    let taken: f64 = sending.map(|source| mbit_s(source.rate)).sum();
    path.map_or(0.0, mbit_s) - taken
}

/// Westwood's estimate beside what is available.
struct Estimate<'e> {
    experiment: &'e Experiment,
    course: &'e Course,
    /// Time in seconds and the estimate averaged over the second that ends there, in Mbit/s.
    averaged: Vec<(f64, f64)>,
}

impl<'e> Estimate<'e> {
    fn of(part: &'e Part) -> Option<Self> {
        let course = part.course(only(WESTWOOD))?;
        Some(Self {
            experiment: &part.results.experiment,
            course,
            averaged: averaged(&course.moments),
        })
    }

    fn available(&self, at: f64) -> f64 {
        available(self.experiment, at)
    }

    /// How long after a step at `step` the averaged estimate is within 15 % of what is available
    /// from then on; counted until `end` if it never is.
    fn settling(&self, step: f64, end: f64) -> (f64, Settled) {
        let wanted = self.available(step);
        let first = self
            .averaged
            .iter()
            .filter(|(at, _)| *at >= step + AVERAGED && *at < end)
            .find(|(_, value)| near(*value, wanted, 0.15));
        match first {
            Some((at, _)) => (at - step, Settled::Yes),
            None => (end - step, Settled::No),
        }
    }

    /// The mean of the estimate from `from` to `until`.
    fn mean(&self, from: f64, until: f64) -> Option<f64> {
        let within = self
            .course
            .moments
            .iter()
            .filter(|m| m.at >= from && m.at < until);
        let values: Vec<f64> = within.filter_map(|m| m.estimate).collect();
        mean(&values)
    }

    fn follows_down(&self) -> Option<Finding> {
        let mut holds = true;
        let mut parts = Vec::new();
        for step in DOWN {
            let (after, settled) = self.settling(step, step + 10.0);
            let wanted = self.available(step);
            let stays = self.mean(step + after, step + after + 20.0)?;
            holds &= settled == Settled::Yes && near(stays, wanted, 0.25);
            let when = match settled {
                Settled::Yes => format!("after {after:.1} s"),
                Settled::No => "not within 10 s".to_owned(),
            };
            parts.push(format!(
                "at {step} s {when}, then {:.2} of the available",
                stays / wanted
            ));
        }
        finding(holds, parts.join("; "))
    }

    fn follows_burst(&self) -> Option<Finding> {
        let wanted = self.available(BURST);
        let within = self
            .averaged
            .iter()
            .filter(|(at, _)| (BURST + AVERAGED..BURST + 5.0).contains(at));
        let (at, value) = within
            .min_by(|a, b| (a.1 - wanted).abs().total_cmp(&(b.1 - wanted).abs()))
            .copied()?;
        finding(
            near(value, wanted, 0.25),
            format!("nearest at {at:.1} s: {value:.1} of {wanted:.1} Mbit/s"),
        )
    }

    fn slow_up(&self) -> Option<Finding> {
        let end_of = |step: f64| {
            let steps = DOWN.into_iter().chain(UP).chain([BURST]);
            steps
                .filter(|other| *other > step)
                .fold(f64::INFINITY, f64::min)
        };
        let times = |steps: [f64; 3]| steps.map(|step| self.settling(step, end_of(step)).0);
        let (up, down) = (times(UP), times(DOWN));
        let text = |times: [f64; 3]| times.map(|t| format!("{t:.1}")).join(", ");
        finding(
            mean(&up)? > mean(&down)?,
            format!("upwards {} s, downwards {} s", text(up), text(down)),
        )
    }

    fn late_by_the_window(&self) -> Option<Finding> {
        let mut holds = true;
        let mut parts = Vec::new();
        for step in UP {
            let share = self.goodput(step, step + 10.0)? / self.available(step);
            holds &= share < 0.95;
            parts.push(format!("{share:.2} at {step} s"));
        }
        finding(
            holds,
            format!("goodput over what is available: {}", parts.join(", ")),
        )
    }

    /// Delivered from `from` to `until`, in Mbit/s.
    fn goodput(&self, from: f64, until: f64) -> Option<f64> {
        let at = |time: f64| self.course.moments.iter().find(|m| m.at >= time);
        let (first, last) = (at(from)?, at(until)?);
        Some((last.delivered - first.delivered) / (last.at - first.at))
    }

    fn overshoots(&self) -> Option<Finding> {
        let over = |m: &&Moment| {
            m.estimate
                .is_some_and(|estimate| estimate > 1.1 * self.available(m.at))
        };
        let moments = self.course.moments.iter().filter(|m| m.at > 10.0);
        let all = moments.clone().count();
        let above = moments.clone().filter(over).count();
        let ratios = moments.filter_map(|m| Some(m.estimate? / self.available(m.at)));
        let greatest = ratios.fold(0.0, f64::max);
        finding(
            above > 0,
            format!("{above} of {all} samples, the greatest {greatest:.2} times what is available"),
        )
    }

    fn ssthresh(&self) -> Option<Finding> {
        let pairs = self.course.moments.windows(2);
        let set = pairs.filter(|pair| pair[1].at >= 50.0 && pair[1].ssthresh != pair[0].ssthresh);
        let mut ratios: Vec<f64> = set
            .map(|pair| {
                let pipe = self.available(pair[1].at) * 1e6 * RTT_MIN / SEGMENT;
                pair[1].ssthresh / pipe
            })
            .collect();
        let times = ratios.len();
        let Some(median) = quantile(&mut ratios, 0.5) else {
            return Some(Finding::new(Verdict::CannotBeTold, "it is never set"));
        };
        finding(
            near(median, 1.0, 0.25),
            format!("set {times} times, the median to {median:.2} of what the path holds"),
        )
    }
}

/// Whether the estimate came near what is available in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    Yes,
    No,
}

/// Whether `value` is within a `share` of `wanted`.
fn near(value: f64, wanted: f64, share: f64) -> bool {
    (value - wanted).abs() <= share * wanted
}

/// The estimate averaged over the second that ends at each moment.
fn averaged(moments: &[Moment]) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    let mut first = 0;
    for (n, moment) in moments.iter().enumerate() {
        // Times are multiples of the sampling interval, but for rounding.
        while moments[first].at <= moment.at - AVERAGED + 1e-6 {
            first += 1;
        }
        let values = moments[first..=n].iter().filter_map(|m| m.estimate);
        if let Some(average) = mean(&values.collect::<Vec<f64>>()) {
            out.push((moment.at, average));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_lab::experiment::load::Source;

    fn moment(tenths: u32, estimate: f64) -> Moment {
        Moment {
            at: f64::from(tenths) / 10.0,
            cwnd: 1.0,
            ssthresh: f64::INFINITY,
            estimate: Some(estimate),
            delivered: f64::from(tenths),
        }
    }

    #[test]
    fn an_average_is_that_of_the_last_second() {
        let moments: Vec<Moment> = (0..30)
            .map(|n| moment(n, if n < 10 { 20.0 } else { 10.0 }))
            .collect();
        let averages = averaged(&moments);
        assert_eq!(averages.len(), 30);
        assert_eq!(averages[9].1, 20.0);
        // Five of each.
        assert!((averages[14].1 - 15.0).abs() < 1e-9);
        assert_eq!(averages[19].1, 10.0);
    }

    #[test]
    fn what_the_sources_leave_is_the_schedule_of_the_paper() {
        let source = Source {
            name: "transient".to_owned(),
            text: include_str!("../../experiments/westwood/transient.toml").to_owned(),
            folder: std::path::PathBuf::new(),
        };
        let experiment = source.parse().unwrap();
        let left = |at| available(&experiment, at);
        for (at, rate) in [
            (0.0, 45.0),
            (50.0, 36.0),
            (100.0, 27.0),
            (150.0, 36.0),
            (250.0, 27.0),
            (350.0, 36.0),
            (400.0, 45.0),
            (461.0, 27.0),
            (462.0, 45.0),
        ] {
            assert!((left(at) - rate).abs() < 1e-9, "{at} s: {}", left(at));
        }
    }

    #[test]
    fn settling_is_counted_from_the_step() {
        let source = "stacks = [\"reno/reno\"]\n[path]\nrate = \"10Mbit/s\"";
        let experiment: Experiment = toml::from_str(source).unwrap();
        // 20 Mbit/s until 5 s, then 10.
        let moments: Vec<Moment> = (0..200)
            .map(|n| moment(n, if n < 50 { 20.0 } else { 10.0 }))
            .collect();
        let course = Course { moments };
        let estimate = Estimate {
            experiment: &experiment,
            averaged: averaged(&course.moments),
            course: &course,
        };
        let (after, settled) = estimate.settling(4.0, 10.0);
        assert_eq!(settled, Settled::Yes);
        // Of the ten samples that end at 5.8 s, one is still 20: 11 on average.
        assert!((after - 1.8).abs() < 0.15, "{after}");
        assert_eq!(estimate.settling(2.0, 4.0), (2.0, Settled::No));
        // A tenth of a megabit per tenth of a second.
        assert!((estimate.goodput(1.0, 11.0).unwrap() - 10.0).abs() < 1e-9);
    }
}
