//! §V.A: one connection while two UDP sources start and stop. The facts describe the bandwidth estimate and the
//! slow-start threshold over time, and the counts of the procedure of §II.A. The rules use these facts.

use dupack_algorithms::catalog::{Axis, Catalog, Choice as _, Dialect, StackSpec, Value};
use dupack_algorithms::congestion::westwood::{AckedCount, Counting};
use dupack_claims::{Fact, FactKind, FactValue, Facts};
use dupack_lab::experiment::Experiment;
use dupack_lab::run::{Course, Moment};
use dupack_lab::stats::{mean, quantile};
use dupack_lab::units::{ByteCount, Rate};

use crate::evidence::{ExperimentResults, Followed};

/// Times at which the available bandwidth steps down, in seconds.
const DOWN: [f64; 3] = [50.0, 100.0, 250.0];
/// Times at which the available bandwidth steps up, in seconds.
const UP: [f64; 3] = [150.0, 350.0, 400.0];
/// Start time of the burst, in seconds. The burst lasts two seconds.
const BURST: f64 = 460.0;
/// Time after the start of the burst until which the estimate is observed, in seconds.
const BURST_SEEN: f64 = 5.0;
/// Averaging period of the estimate, in seconds.
const AVERAGED: f64 = 1.0;
/// Fraction of a step of the available bandwidth that the estimate must cover to count as settled.
const COVERED: f64 = 0.75;
/// Time for which the estimate is observed after it has settled, in seconds.
const WATCHED: f64 = 20.0;
/// Time after a step in seconds: over this time the goodput is measured after a step up, and from then on the level of
/// the estimate after a step down.
const REACHED: f64 = 10.0;
/// Time after the start at which the estimate counts as settled, in seconds.
const STARTED: f64 = 10.0;
/// Ratio to the available bandwidth above which a sample counts as above it.
const ABOVE: f64 = 1.1;
/// Minimum round-trip time in seconds.
const RTT_MIN: f64 = 0.2;
/// Times at which the slow-start threshold is read, in seconds: the end of the phases that follow the steps down.
const AFTER_BURSTS: [f64; 3] = [100.0, 250.0, 400.0];

type OfEstimate = fn(&Estimate<'_>) -> Option<f64>;
type OfThreshold = fn(&Threshold<'_>) -> Option<f64>;

/// Facts of the estimate. `claims.toml` describes the facts per step.
const ESTIMATE: [(&str, OfEstimate); 5] = [
    // Time in s at which the estimate is nearest to the bandwidth that the burst leaves, within some seconds of the
    // start of the burst, and the estimate at that time in Mbit/s.
    ("burst_nearest_at", |e| Some(e.burst()?.0)),
    ("burst_estimate", |e| Some(e.burst()?.1)),
    // Samples after the start: number of all samples, number of samples above the available bandwidth, and the maximum
    // as a multiple of the available bandwidth.
    ("samples", |e| Some(e.shares().count() as f64)),
    ("samples_above", |e| {
        Some(e.shares().filter(|share| *share > ABOVE).count() as f64)
    }),
    ("greatest_share", |e| e.shares().reduce(f64::max)),
];

/// Facts of the slow-start threshold.
const THRESHOLD: [(&str, OfThreshold); 3] = [
    // Number of times that the threshold is set after the first step, and the median of its values, as a fraction of
    // the available bandwidth times the minimum round-trip time.
    ("ssthresh_set", |t| Some(t.set().len() as f64)),
    ("ssthresh_share", |t| quantile(&mut t.set(), 0.5)),
    // Threshold before the last step up, as a fraction of the same product.
    ("threshold_share_400s", |t| {
        let moment = t.before(UP[2])?;
        Some(moment.ssthresh / t.pipe(moment.at))
    }),
];

/// Returns the facts of the runs that were followed.
pub(super) fn facts(part: Option<&ExperimentResults>) -> Facts {
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
    out.extend(DOWN.map(|step| estimate(format!("level_{step}s"), &|e| e.level(step))));
    out.extend(DOWN.map(|step| estimate(format!("steps_off_{step}s"), &|e| e.steps_off(step))));
    out.extend(UP.map(|step| estimate(format!("reached_{step}s"), &|e| e.reached(step))));
    out.extend(ESTIMATE.map(|(name, of)| estimate(name.to_owned(), &of)));
    out.extend(THRESHOLD.map(|(name, of)| fact(name.to_owned(), &runs, |run| of(&run.threshold))));
    out.extend(AFTER_BURSTS.map(|at| {
        fact(format!("threshold_{at}s"), &runs, |run| {
            Some(run.threshold.before(at)?.ssthresh)
        })
    }));
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

/// Example of §II.A: 10 segments are lost and 20 more arrive. Then, 5 delayed ACKs acknowledge the retransmissions, and
/// one ACK acknowledges the 20 segments.
const EXAMPLE: [&str; 3] = ["example_duplicates", "example_delayed", "example_last"];

/// Returns the counts of the Westwood control in `stack` for this example, or `None` if the stack has none. The counts
/// are the same in every run.
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

/// A run, and the facts read from it.
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

/// Returns the bandwidth that the UDP sources leave at `at`, in Mbit/s.
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

/// Returns the payload and header bytes of a full segment, as the experiment file gives them.
fn segment(experiment: &Experiment) -> [f64; 2] {
    let bytes = |size: Option<ByteCount>| size.map_or(0.0, |size| size.as_bytes() as f64);
    [experiment.sender.segment, experiment.sender.header].map(bytes)
}

/// Returns the payload that the available bandwidth at `at` can carry, in Mbit/s. The estimate and the goodput count
/// payload, and the rates of the path and of the sources count headers.
fn payload(experiment: &Experiment, at: f64) -> f64 {
    let share = match segment(experiment) {
        [0.0, _] => 1.0,
        [segment, header] => segment / (segment + header),
    };
    available(experiment, at) * share
}

/// Returns the time of the first step after `step`.
fn next_after(step: f64) -> f64 {
    let steps = DOWN.into_iter().chain(UP).chain([BURST]);
    let later = steps.filter(|other| *other > step);
    later.fold(f64::INFINITY, f64::min)
}

/// The bandwidth estimate and the available bandwidth over time.
struct Estimate<'e> {
    experiment: &'e Experiment,
    course: &'e Course,
    /// Time in seconds, and the estimate averaged over the second that ends at this time, in Mbit/s.
    averaged: Vec<(f64, f64)>,
}

impl Estimate<'_> {
    fn exists(&self) -> bool {
        !self.averaged.is_empty()
    }

    fn available(&self, at: f64) -> f64 {
        payload(self.experiment, at)
    }

    /// Returns the distance of an estimate from the available bandwidth after a step, as a fraction of the step: 1 is
    /// the bandwidth before the step, and 0 that after it.
    fn left_of(&self, step: f64, estimate: f64) -> f64 {
        let [old, new] = [self.available(step - AVERAGED), self.available(step)];
        (estimate - new) / (old - new)
    }

    /// Returns the time after a step until the averaged estimate has covered most of the step, or until the next step
    /// if it does not.
    fn settling(&self, step: f64) -> f64 {
        let end = next_after(step);
        let averaged = self.averaged.iter();
        let mut within = averaged.filter(|(at, _)| (step..end).contains(at));
        let settled = within.find(|(_, value)| self.left_of(step, *value) <= 1.0 - COVERED);
        settled.map_or(end, |(at, _)| *at) - step
    }

    /// Returns the mean of the estimate from some seconds after a step until the next step, as a fraction of the
    /// available bandwidth.
    fn level(&self, step: f64) -> Option<f64> {
        let level = self.between(step + REACHED, next_after(step))?;
        Some(level / self.available(step))
    }

    /// Returns the distance of the mean of the estimate in the 20 seconds after it settled from the available
    /// bandwidth, as a fraction of the step.
    fn steps_off(&self, step: f64) -> Option<f64> {
        let from = step + self.settling(step);
        Some(self.left_of(step, self.between(from, from + WATCHED)?))
    }

    /// Returns the mean of the estimate between two times.
    fn between(&self, from: f64, until: f64) -> Option<f64> {
        let moments = self.course.moments.iter();
        let within = moments.filter(|m| (from..until).contains(&m.at));
        let values: Vec<f64> = within.filter_map(|m| m.estimate).collect();
        mean(&values)
    }

    /// Returns the goodput after a step, as a fraction of the available bandwidth.
    fn reached(&self, step: f64) -> Option<f64> {
        Some(self.goodput(step, step + REACHED)? / self.available(step))
    }

    /// Returns the goodput between `from` and `until`, in Mbit/s.
    fn goodput(&self, from: f64, until: f64) -> Option<f64> {
        let at = |time: f64| self.course.moments.iter().find(|m| m.at >= time);
        let (first, last) = (at(from)?, at(until)?);
        Some((last.delivered - first.delivered) / (last.at - first.at))
    }

    /// Returns the time and value at which the averaged estimate is nearest to the bandwidth that the burst leaves.
    fn burst(&self) -> Option<(f64, f64)> {
        let wanted = self.available(BURST);
        let seen = BURST + AVERAGED..BURST + BURST_SEEN;
        let within = self.averaged.iter().filter(|(at, _)| seen.contains(at));
        within
            .min_by(|a, b| (a.1 - wanted).abs().total_cmp(&(b.1 - wanted).abs()))
            .copied()
    }

    /// Returns the samples of the estimate after the start, as multiples of the available bandwidth.
    fn shares(&self) -> impl Iterator<Item = f64> {
        let moments = self.course.moments.iter().filter(|m| m.at > STARTED);
        moments.filter_map(|m| Some(m.estimate? / self.available(m.at)))
    }
}

/// The slow-start threshold over time.
struct Threshold<'e> {
    experiment: &'e Experiment,
    course: &'e Course,
}

impl Threshold<'_> {
    /// Returns the values to which the threshold is set after the first step, as fractions of the available bandwidth
    /// times the minimum round-trip time.
    fn set(&self) -> Vec<f64> {
        let pairs = self.course.moments.windows(2);
        let set =
            pairs.filter(|pair| pair[1].at >= DOWN[0] && pair[1].ssthresh != pair[0].ssthresh);
        set.map(|pair| pair[1].ssthresh / self.pipe(pair[1].at))
            .collect()
    }

    /// Returns the available bandwidth at `at` times the minimum round-trip time, in packets.
    fn pipe(&self, at: f64) -> f64 {
        let [segment, _] = segment(self.experiment);
        payload(self.experiment, at) * 1e6 * RTT_MIN / (segment * 8.0)
    }

    /// Returns the last sample before `at`, if the threshold has been set by then.
    fn before(&self, at: f64) -> Option<&Moment> {
        let mut before = self.course.moments.iter().rev();
        let last = before.find(|moment| moment.at < at)?;
        Some(last).filter(|moment| moment.ssthresh.is_finite())
    }
}

/// Averages the estimate over the second that ends at each moment.
fn averaged(moments: &[Moment]) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    let mut first = 0;
    for (n, moment) in moments.iter().enumerate() {
        // The tolerance is for rounding: times are multiples of the sampling interval.
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
        // The average contains five samples of each value.
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
    fn payload_and_thresholds_leave_out_headers() {
        let source = r#"
            stacks = ["reno/reno"]
            path = { rate = "10.4Mbit/s" }
            sender = { segment = "1000B", header = "40B" }
        "#;
        let experiment: Experiment = toml::from_str(source).unwrap();
        assert!((payload(&experiment, 0.0) - 10.0).abs() < 1e-9);
        let moments = (0..10).map(|n| Moment {
            ssthresh: if n < 5 { f64::INFINITY } else { 50.0 },
            ..moment(n, 1.0)
        });
        let course = Course {
            moments: moments.collect(),
        };
        let threshold = Threshold {
            experiment: &experiment,
            course: &course,
        };
        // 10 Mbit/s and 0.2 s are 250 segments of 8000 bits.
        assert!((threshold.pipe(0.0) - 250.0).abs() < 1e-9);
        assert!(threshold.before(0.5).is_none());
        assert_eq!(threshold.before(0.6).unwrap().ssthresh, 50.0);
    }

    #[test]
    fn settling_is_counted_from_the_step() {
        // A source of 4 Mbit/s sends from 50 to 400 s. The estimate falls from 10 to 6 Mbit/s at 51 s and stays there.
        let source = r#"
            stacks = ["reno/reno"]
            [path]
            rate = "10Mbit/s"
            [[udp]]
            rate = "4Mbit/s"
            start = "50s"
            stop = "400s"
        "#;
        let experiment: Experiment = toml::from_str(source).unwrap();
        let moments: Vec<Moment> = (0..4700)
            .map(|n| moment(n, if n < 510 { 10.0 } else { 6.0 }))
            .collect();
        let course = Course { moments };
        let estimate = Estimate {
            experiment: &experiment,
            averaged: averaged(&course.moments),
            course: &course,
        };
        // Eight of the ten samples that end at 51.7 s are 6, so the average is 6.8: four fifths of the step.
        let after = estimate.settling(50.0);
        assert!((after - 1.7).abs() < 0.05, "{after}");
        assert!((estimate.level(50.0).unwrap() - 1.0).abs() < 1e-9);
        assert!(estimate.steps_off(50.0).unwrap().abs() < 1e-9);
        // The estimate does not follow the step up, which ends at the next step.
        assert_eq!(estimate.settling(400.0), 60.0);
        assert!((estimate.steps_off(400.0).unwrap() - 1.0).abs() < 1e-9);
        // One megabit is delivered every 0.1 s.
        assert!((estimate.goodput(1.0, 11.0).unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn the_example_is_counted_as_the_stack_counts() {
        let counted = |stack| example(stack, Dialect::Ns2);
        assert_eq!(counted("reno/westwood"), Some([20, 5, 5]));
        // The printed procedure counts 35 segments, although there are only 30.
        assert_eq!(counted("reno/westwood(acked=printed)"), Some([20, 5, 10]));
        assert_eq!(counted("reno/westwood(acked_limit=2)"), Some([20, 5, 2]));
        assert_eq!(counted("reno/reno"), None);
        // Linux counts like the printed procedure.
        let linux = example("reno/westwood", Dialect::Linux);
        assert_eq!(linux, counted("reno/westwood(acked=printed)"));
    }
}
