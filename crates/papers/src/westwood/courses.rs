//! §V.A: one connection while two UDP sources come and go. What the estimate, the window and the
//! threshold do over time, as quantities for the rules; and what the procedure of §II.A counts.

use dupack_algorithms::catalog::{Axis, Catalog, Choice as _, Dialect, StackSpec, Value};
use dupack_algorithms::congestion::westwood::{AckedCount, Counting};
use dupack_claims::{Fact, FactKind, FactValue, Facts};
use dupack_lab::experiment::Experiment;
use dupack_lab::run::{Course, Moment};
use dupack_lab::stats::{mean, quantile};
use dupack_lab::units::Rate;

use crate::evidence::{Followed, Part};

/// When the available bandwidth steps down, in seconds.
const DOWN: [f64; 3] = [50.0, 100.0, 250.0];
/// When it steps up.
const UP: [f64; 3] = [150.0, 350.0, 400.0];
/// When the burst of two seconds begins.
const BURST: f64 = 460.0;
/// So long after its beginning the estimate is looked at.
const BURST_SEEN: f64 = 5.0;
/// The estimate is averaged over so many seconds.
const AVERAGED: f64 = 1.0;
/// It has come near if it is within this share of the available bandwidth.
const NEAR: f64 = 0.15;
/// How long it is watched after that, in seconds.
const WATCHED: f64 = 20.0;
/// How long the goodput is after a step up.
const REACHED: f64 = 10.0;
/// From this time on the estimate counts as settled from the start.
const STARTED: f64 = 10.0;
/// A sample is above the available bandwidth if it is so many times as much.
const ABOVE: f64 = 1.1;
/// Least round-trip time in seconds.
const RTT_MIN: f64 = 0.2;
/// Bits of a segment.
const SEGMENT: f64 = 8000.0;

type OfEstimate = fn(&Estimate<'_>) -> Option<f64>;
type OfThreshold = fn(&Threshold<'_>) -> Option<f64>;

/// Of the estimate; `claims.toml` says what those by steps are.
const ESTIMATE: [(&str, OfEstimate); 5] = [
    // In s and Mbit/s: when, up to some seconds after the burst's beginning, it is nearest to what that leaves.
    ("burst_nearest_at", |e| Some(e.burst()?.0)),
    ("burst_estimate", |e| Some(e.burst()?.1)),
    // Once it has started: all samples, those above the available bandwidth, and the greatest as a share of it.
    ("samples", |e| Some(e.shares().count() as f64)),
    ("samples_above", |e| {
        Some(e.shares().filter(|share| *share > ABOVE).count() as f64)
    }),
    ("greatest_share", |e| e.shares().reduce(f64::max)),
];

/// Of the threshold.
const THRESHOLD: [(&str, OfThreshold); 4] = [
    // How often it is set after the first step, and the median as a share of what the path holds.
    ("ssthresh_set", |t| Some(t.set().len() as f64)),
    ("ssthresh_share", |t| quantile(&mut t.set(), 0.5)),
    // In packets, from the first step down to the last up.
    ("ssthresh_mean", |t| mean(&t.finite())),
    ("ssthresh_least", |t| {
        t.finite().into_iter().reduce(f64::min)
    }),
];

/// What is known of the runs that were followed.
pub(super) fn facts(part: Option<&Part>) -> Facts {
    let runs = part.map_or_else(Vec::new, |part| {
        let experiment = &part.results.experiment;
        let runs = part.followed.iter();
        runs.map(|run| Run::of(experiment, run)).collect()
    });
    let estimate = |name: String, of: &dyn Fn(&Estimate<'_>) -> Option<f64>| {
        fact(name, &runs, |run| of(&run.estimate))
    };
    let mut out = Vec::new();
    for step in DOWN.into_iter().chain(UP) {
        out.push(estimate(format!("settling_{step}s"), &|e| {
            Some(e.settling(step)).filter(|_| e.exists())
        }));
    }
    out.extend(DOWN.map(|step| estimate(format!("settled_{step}s"), &|e| e.settled(step))));
    out.extend(UP.map(|step| estimate(format!("reached_{step}s"), &|e| e.reached(step))));
    out.extend(ESTIMATE.map(|(name, of)| estimate(name.to_owned(), &of)));
    out.extend(THRESHOLD.map(|(name, of)| fact(name.to_owned(), &runs, |run| of(&run.threshold))));
    for (n, name) in EXAMPLE.into_iter().enumerate() {
        out.push(fact(name.to_owned(), &runs, |run| {
            let of = part?.results.stacks.get(run.of.job.stack)?;
            Some(example(of, part?.results.experiment.dialect)?[n] as f64)
        }));
    }
    Facts(out)
}

fn fact(name: String, runs: &[Run<'_>], of: impl Fn(&Run<'_>) -> Option<f64>) -> Fact {
    let values = runs.iter().filter_map(|run| {
        let job = run.of.job;
        let value = FactValue::Number(of(run)?);
        Some((job.point, job.stack, job.seed, value))
    });
    Fact {
        name,
        kind: FactKind::Number,
        values: values.collect(),
    }
}

/// §II.A: 10 segments lost, 20 more arrive; 5 delayed ACKs answer the retransmissions, and one ACK
/// acknowledges the 20.
const EXAMPLE: [&str; 3] = ["example_duplicates", "example_delayed", "example_last"];

/// What the Westwood of `stack` counts there; nothing if it has none. The same in every run.
fn example(stack: &str, dialect: Dialect) -> Option<[u64; 3]> {
    let spec = StackSpec::parse(stack, &Catalog::builtin()).ok()?;
    let entries = spec.effective(dialect);
    let control = entries.iter().find(|entry| entry.axis == Axis::Control)?;
    let of = |name: &str| {
        let mut parameters = control.parameters.iter();
        parameters.find_map(|(spec, value, _)| (spec.name == name).then_some(*value))
    };
    let (Value::Choice(counting), Value::Integer(limit)) = (of("acked")?, of("acked_limit")?)
    else {
        return None;
    };
    let mut acked = AckedCount::new(Counting::from_word(counting)?, 1, *limit);
    Some([
        (0..20).map(|_| acked.count(0)).sum(),
        (0..5).map(|_| acked.count(2)).sum(),
        acked.count(20),
    ])
}

/// A run, and what is read off it.
struct Run<'e> {
    of: &'e Followed,
    estimate: Estimate<'e>,
    threshold: Threshold<'e>,
}

impl<'e> Run<'e> {
    fn of(experiment: &'e Experiment, of: &'e Followed) -> Self {
        let course = &of.course;
        Self {
            of,
            estimate: Estimate {
                experiment,
                course,
                averaged: averaged(&course.moments),
            },
            threshold: Threshold { experiment, course },
        }
    }
}

/// The bandwidth that the UDP sources leave at `at`, in Mbit/s.
pub(super) fn available(experiment: &Experiment, at: f64) -> f64 {
    let mbit_s = Rate::as_megabits_per_second;
    let path = experiment.path.as_ref().and_then(|path| path.rate);
    let sending = experiment.udp.iter().filter(|source| {
        let stop = source.stop.map_or(f64::INFINITY, |stop| stop.as_seconds());
        (source.start.unwrap_or_default().as_seconds()..stop).contains(&at)
    });
    let taken: f64 = sending.map(|source| mbit_s(source.rate)).sum();
    path.map_or(0.0, mbit_s) - taken
}

/// The estimate beside what is available.
struct Estimate<'e> {
    experiment: &'e Experiment,
    course: &'e Course,
    /// Time in seconds and the estimate averaged over the second that ends there, in Mbit/s.
    averaged: Vec<(f64, f64)>,
}

impl Estimate<'_> {
    fn exists(&self) -> bool {
        !self.averaged.is_empty()
    }

    fn available(&self, at: f64) -> f64 {
        available(self.experiment, at)
    }

    /// How long after a step the averaged estimate is near what is available from then on;
    /// counted until the next step if it never is.
    fn settling(&self, step: f64) -> f64 {
        let steps = DOWN.into_iter().chain(UP).chain([BURST]);
        let later = steps.filter(|other| *other > step);
        let end = later.fold(f64::INFINITY, f64::min);
        let wanted = self.available(step);
        let within = self
            .averaged
            .iter()
            .filter(|(at, _)| (step + AVERAGED..end).contains(at));
        let mut near = within.filter(|(_, value)| (value - wanted).abs() <= NEAR * wanted);
        near.next().map_or(end, |(at, _)| *at) - step
    }

    /// Its mean for some time after it has come near, as a share of what is available.
    fn settled(&self, step: f64) -> Option<f64> {
        let from = step + self.settling(step);
        let until = from + WATCHED;
        let moments = self.course.moments.iter();
        let within = moments.filter(|m| (from..until).contains(&m.at));
        let values: Vec<f64> = within.filter_map(|m| m.estimate).collect();
        Some(mean(&values)? / self.available(step))
    }

    /// The goodput after a step, as a share of what is available.
    fn reached(&self, step: f64) -> Option<f64> {
        Some(self.goodput(step, step + REACHED)? / self.available(step))
    }

    /// Delivered from `from` to `until`, in Mbit/s.
    fn goodput(&self, from: f64, until: f64) -> Option<f64> {
        let at = |time: f64| self.course.moments.iter().find(|m| m.at >= time);
        let (first, last) = (at(from)?, at(until)?);
        Some((last.delivered - first.delivered) / (last.at - first.at))
    }

    /// Where the averaged estimate is nearest to what the burst leaves: time and value.
    fn burst(&self) -> Option<(f64, f64)> {
        let wanted = self.available(BURST);
        let seen = BURST + AVERAGED..BURST + BURST_SEEN;
        let within = self.averaged.iter().filter(|(at, _)| seen.contains(at));
        within
            .min_by(|a, b| (a.1 - wanted).abs().total_cmp(&(b.1 - wanted).abs()))
            .copied()
    }

    /// Its samples as shares of what is available.
    fn shares(&self) -> impl Iterator<Item = f64> {
        let moments = self.course.moments.iter().filter(|m| m.at > STARTED);
        moments.filter_map(|m| Some(m.estimate? / self.available(m.at)))
    }
}

/// The threshold over time.
struct Threshold<'e> {
    experiment: &'e Experiment,
    course: &'e Course,
}

impl Threshold<'_> {
    /// The values that it is set to after the first step, as shares of what the path holds.
    fn set(&self) -> Vec<f64> {
        let pairs = self.course.moments.windows(2);
        let set =
            pairs.filter(|pair| pair[1].at >= DOWN[0] && pair[1].ssthresh != pair[0].ssthresh);
        set.map(|pair| {
            let pipe = available(self.experiment, pair[1].at) * 1e6 * RTT_MIN / SEGMENT;
            pair[1].ssthresh / pipe
        })
        .collect()
    }

    /// Its values while the sources come and go, in packets.
    fn finite(&self) -> Vec<f64> {
        let moments = self.course.moments.iter();
        let within = moments.filter(|m| (DOWN[0]..UP[2]).contains(&m.at));
        within
            .map(|m| m.ssthresh)
            .filter(|s| s.is_finite())
            .collect()
    }
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
        // 20 Mbit/s until 51 s, then 10, and too much from 140 s on.
        let moments: Vec<Moment> = (0..4000)
            .map(|n| match n {
                0..510 => moment(n, 20.0),
                510..1400 => moment(n, 10.0),
                _ => moment(n, 12.0),
            })
            .collect();
        let course = Course { moments };
        let estimate = Estimate {
            experiment: &experiment,
            averaged: averaged(&course.moments),
            course: &course,
        };
        // Of the ten samples that end at 51.8 s, one is still 20: 11 on average.
        let after = estimate.settling(50.0);
        assert!((after - 1.8).abs() < 0.15, "{after}");
        assert!((estimate.settled(50.0).unwrap() - 1.0).abs() < 1e-9);
        // It never comes near, until the next step.
        assert_eq!(estimate.settling(150.0), 100.0);
        // A tenth of a megabit per tenth of a second.
        assert!((estimate.goodput(1.0, 11.0).unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn the_example_is_counted_as_the_stack_counts() {
        let counted = |stack| example(stack, Dialect::Ns2);
        assert_eq!(counted("reno/westwood"), Some([20, 5, 5]));
        // As printed it is 35 of 30.
        assert_eq!(counted("reno/westwood(acked=printed)"), Some([20, 5, 10]));
        assert_eq!(counted("reno/westwood(acked_limit=2)"), Some([20, 5, 2]));
        assert_eq!(counted("reno/reno"), None);
        // Linux has it as printed.
        let linux = example("reno/westwood", Dialect::Linux);
        assert_eq!(linux, counted("reno/westwood(acked=printed)"));
    }
}
