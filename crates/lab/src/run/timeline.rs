//! One run of each stack over time, for the report: goodput, window and queue.

use dupack_net::link::{DeliveryTrace, OPPORTUNITY_BYTES};
use dupack_net::observer::Unobserved;
use dupack_net::sampling::SamplingConfig;
use dupack_tcp::time::Duration;

use super::build::{Built, Scenario, span};
use super::interrupt::{Attempt, Interrupt};
use super::plan::{Job, Plan};

/// Maximum number of samples of a flow in a run.
const SAMPLES_MOST: u64 = 6000;

/// Minimum number of samples of a flow, if memory limits the number.
const SAMPLES_LEAST: u64 = 60;

/// Maximum number of samples in memory of all flows of a run together.
const IN_MEMORY: u64 = 250_000;

/// Number of samples per round trip, unless other limits apply. A sawtooth lasts many round trips, but its falling edge
/// takes less than one.
const PER_ROUND_TRIP: f64 = 2.0;

/// Number of samples per goodput value. Over only one or two round trips, goodput would show the bursts of the sender.
const PER_GOODPUT: usize = 10;

/// Maximum number of samples of all flows of all runs together, which limits the size of an output file.
const ROWS_MOST: usize = 100_000;

/// Maximum number of flows of a run that are followed individually. The other flows count in the total.
const FLOWS_MOST: usize = 8;

/// One run over time. Times are in seconds. Each value applies from its time on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Timeline {
    /// The stack.
    pub stack: String,
    /// Goodput of all compared flows together, in Mbit/s. New data counts when it arrives, even out of order.
    pub goodput_mbit_s: Vec<(f64, f64)>,
    /// The first compared flows, individually.
    pub flows: Vec<FlowTimeline>,
    /// Packets waiting at the bottleneck. Empty if no link is measured.
    pub queue_packets: Vec<(f64, f64)>,
}

/// One flow over time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowTimeline {
    /// Number of the flow in the run, counted from 1.
    pub flow: usize,
    /// Goodput in Mbit/s.
    pub goodput_mbit_s: Vec<(f64, f64)>,
    /// Congestion window in segments.
    pub cwnd_segments: Vec<(f64, f64)>,
}

/// One run of every stack over time, at one point.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OverTime {
    /// Index of the point.
    pub point: usize,
    /// Seed of the runs.
    pub seed: u64,
    /// Time between samples of window and queue, in seconds.
    pub interval_s: f64,
    /// Interval over which goodput is computed, in seconds.
    pub goodput_interval_s: f64,
    /// Minimum round-trip time of all runs in seconds, if there was a sample.
    pub round_trip_s: Option<f64>,
    /// Number of compared flows of a run. Each timeline contains the first few of these flows.
    pub flows: usize,
    /// The runs, all with the same seed.
    pub timelines: Vec<Timeline>,
    /// Capacity of the path's recorded trace over the duration of a run, in Mbit/s. Empty if the rate is constant.
    pub capacity: Vec<(f64, f64)>,
}

impl Plan {
    /// Returns the runs that show the stacks over time: every stack with the first seed, at the point in the middle of
    /// the sweep, which is usually more informative than its ends.
    #[must_use]
    pub fn jobs_over_time(&self) -> Vec<Job> {
        let point = self.points().len() / 2;
        self.jobs_of(point, self.first_job(point).seed).collect()
    }

    /// Performs the run of `job`, one of [`jobs_over_time`](Self::jobs_over_time). Returns `None` if the run was
    /// interrupted or given up.
    #[must_use]
    pub fn sample(&self, job: Job, interrupt: &Interrupt) -> Option<Sampled> {
        Sampled::of(&self.scenario(job), job.seed, interrupt)
    }

    /// Combines the sampled `runs` to the stacks over time, in the order of the stacks. Runs that were interrupted are
    /// missing.
    #[must_use]
    pub fn over_time(&self, runs: Vec<Sampled>) -> OverTime {
        let point = self.points().len() / 2;
        let seed = self.first_job(point).seed;
        let step = step(&runs);
        let sampled_s = runs.first().map_or(0.0, |run| run.interval_s);
        let interval_s = sampled_s * step as f64;
        let goodput_interval_s = interval_s * PER_GOODPUT as f64;
        OverTime {
            point,
            seed,
            interval_s,
            goodput_interval_s,
            round_trip_s: round_trip(&runs),
            flows: runs.first().map_or(0, |run| run.compared),
            capacity: match goodput_interval_s > 0.0 {
                true => self.capacity(point, goodput_interval_s),
                false => Vec::new(),
            },
            timelines: runs.into_iter().map(|run| run.timeline(step)).collect(),
        }
    }

    /// Returns the capacity of the path's recorded trace over the duration of a run at `point`, in Mbit/s, every
    /// `interval_s` seconds. Empty if the rate is constant.
    fn capacity(&self, point: usize, interval_s: f64) -> Vec<(f64, f64)> {
        let job = self.first_job(point);
        let scenario = self.scenario(job);
        let path = scenario.experiment.path.as_ref();
        let trace = path.and_then(|p| scenario.traces.get(p.trace.as_ref()?));
        trace.map_or_else(Vec::new, |trace| {
            let trace = trace.clone();
            let trace = trace.beginning_at(scenario.beginning().ms(job.seed));
            let duration = span(scenario.experiment.duration);
            opportunities(&trace, duration, interval_s * 1e3)
        })
    }
}

/// One run at the resolution of its samples, for [`Plan::over_time`].
#[derive(Clone, Debug)]
pub struct Sampled {
    stack: String,
    interval_s: f64,
    round_trip_s: Option<f64>,
    /// Number of compared flows.
    compared: usize,
    times_s: Vec<f64>,
    /// New data of all compared flows that has arrived so far, in megabits.
    delivered: Vec<f64>,
    flows: Vec<SampledFlow>,
    queue: Vec<f64>,
}

#[derive(Clone, Debug)]
struct SampledFlow {
    flow: usize,
    /// New data that has arrived so far, in megabits.
    delivered: Vec<f64>,
    cwnd_segments: Vec<f64>,
}

impl Sampled {
    fn of(scenario: &Scenario, seed: u64, interrupt: &Interrupt) -> Option<Self> {
        let attempt = Attempt::show(interrupt, scenario, seed);
        let mut built = scenario.build(seed).ok()?;
        let flows = built.compared.len().max(1) as u64;
        let samples = (IN_MEMORY / flows).clamp(SAMPLES_LEAST, SAMPLES_MOST);
        let interval = span(scenario.experiment.duration) / samples;
        let mut sampling = SamplingConfig::new(interval, samples as usize + 2);
        sampling.flows.clone_from(&built.compared);
        sampling.links = built.measured_links.iter().copied().take(1).collect();
        built.simulation.sample(&sampling);
        let advanced = scenario.advance(&mut built.simulation, &mut Unobserved, interrupt);
        advanced.filter(|_| !attempt.is_given_up())?;
        Self::read(&built, scenario.stack.to_string())
    }

    fn read(built: &Built, stack: String) -> Option<Self> {
        let samples = built.simulation.samples()?;
        let senders = built.compared.iter();
        let senders = senders.filter_map(|&id| Some(built.simulation.tcp(id)?.sender()));
        let least = senders.filter_map(|sender| sender.rtt().min()).min();
        let megabits = |bytes: u64| bytes as f64 * 8.0 / 1e6;
        let (first, series) = (samples.flows().first(), samples.flows());
        let times = first.map_or(&[][..], |(_, series)| series.samples());
        let mut delivered = vec![0.0; times.len()];
        for (_, series) in series {
            for (sum, sample) in delivered.iter_mut().zip(series.samples()) {
                *sum += megabits(sample.value.arrived_bytes);
            }
        }
        let flows = series.iter().take(FLOWS_MOST).map(|(id, series)| {
            let flow = built.simulation.tcp(*id);
            let smss = flow.map_or(1.0, |flow| f64::from(flow.sender().config().smss));
            let values = || series.samples().iter().map(|sample| sample.value);
            SampledFlow {
                flow: id.index() + 1,
                delivered: values().map(|v| megabits(v.arrived_bytes)).collect(),
                cwnd_segments: values().map(|v| v.cwnd / smss).collect(),
            }
        });
        let queue = samples.links().first();
        let queue = queue.iter().flat_map(|(_, series)| series.samples());
        Some(Self {
            stack,
            interval_s: first.map_or(0.0, |(_, series)| series.interval().as_secs_f64()),
            round_trip_s: least.map(Duration::as_secs_f64),
            compared: built.compared.len(),
            times_s: times.iter().map(|s| s.at.as_secs_f64()).collect(),
            delivered,
            flows: flows.collect(),
            queue: queue.map(|s| s.value.backlog_packets as f64).collect(),
        })
    }

    /// Returns the timeline with every `step`-th sample.
    fn timeline(self, step: usize) -> Timeline {
        let times = &self.times_s;
        let thin = |values: Vec<f64>| -> Vec<(f64, f64)> {
            let samples = times.iter().copied().zip(values);
            samples.step_by(step).collect()
        };
        let flows = self.flows.into_iter().map(|flow| FlowTimeline {
            flow: flow.flow,
            goodput_mbit_s: goodput(times, &flow.delivered, step * PER_GOODPUT),
            cwnd_segments: thin(flow.cwnd_segments),
        });
        Timeline {
            flows: flows.collect(),
            goodput_mbit_s: goodput(times, &self.delivered, step * PER_GOODPUT),
            queue_packets: thin(self.queue),
            stack: self.stack,
        }
    }
}

/// Returns the rate of new data between each pair of `step`-th samples.
fn goodput(times_s: &[f64], delivered: &[f64], step: usize) -> Vec<(f64, f64)> {
    let samples: Vec<(f64, f64)> = { times_s.iter().copied() }
        .zip(delivered.iter().copied())
        .step_by(step)
        .collect();
    let rate = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0).max(1e-9);
    samples
        .windows(2)
        .map(|pair| (pair[0].0, rate(pair)))
        .collect()
}

/// Returns the minimum round-trip time of all runs.
fn round_trip(runs: &[Sampled]) -> Option<f64> {
    let all = runs.iter().filter_map(|run| run.round_trip_s);
    all.min_by(f64::total_cmp)
}

/// Returns the step between kept samples, which is the same in all runs.
fn step(runs: &[Sampled]) -> usize {
    let interval_s = runs.first().map_or(0.0, |run| run.interval_s);
    let wanted = round_trip(runs).map_or(1.0, |rtt| rtt / PER_ROUND_TRIP / interval_s.max(1e-9));
    let rows: usize = runs
        .iter()
        .map(|run| run.times_s.len() * run.flows.len())
        .sum();
    (wanted as usize).max(rows.div_ceil(ROWS_MOST)).max(1)
}

/// Returns the rate of a trace over `duration`, every `bin_ms` milliseconds.
fn opportunities(trace: &DeliveryTrace, duration: Duration, bin_ms: f64) -> Vec<(f64, f64)> {
    // Traces have a resolution of one millisecond.
    let bin_ms = bin_ms.max(1.0);
    let count = (duration.as_nanos() as f64 / 1e6 / bin_ms).ceil() as usize;
    let mut bins = vec![0_u32; count.min(SAMPLES_MOST as usize)];
    let period = f64::from(trace.period_ms());
    let mut offset = -f64::from(trace.begin_ms());
    while offset < bin_ms * bins.len() as f64 {
        for &at in trace.times_ms() {
            let since = offset + f64::from(at);
            if since < 0.0 {
                continue;
            }
            if let Some(bin) = bins.get_mut((since / bin_ms) as usize) {
                *bin += 1;
            }
        }
        offset += period;
    }
    let rate =
        |count: u32| f64::from(count) * f64::from(OPPORTUNITY_BYTES) * 8.0 / (bin_ms / 1e3) / 1e6;
    bins.into_iter()
        .enumerate()
        .map(|(n, count)| (n as f64 * bin_ms / 1e3, rate(count)))
        .collect()
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::experiment::load::Source;

    fn over_time(lines: &str) -> OverTime {
        let text = format!(
            "stacks = [\"sack/reno\", \"rack/cubic\"]\nseeds = 1\n[path]\nrate = \"10Mbit/s\"\n\
             delay = \"20ms\"\nbuffer = \"50pkt\"\n{lines}"
        );
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        let jobs = plan.jobs_over_time().into_iter();
        let runs = jobs.filter_map(|job| plan.sample(job, &Interrupt::new()));
        plan.over_time(runs.collect())
    }

    /// Reno runs on a path that loses packets only in its queue: each loss halves the window, which then grows by one
    /// segment per round trip.
    #[test]
    fn a_sawtooth_is_resolved_by_two_samples_per_round_trip() {
        let over_time = over_time("");
        let round_trip = over_time.round_trip_s.unwrap();
        assert!(over_time.interval_s <= round_trip / 2.0);
        assert!(
            over_time.interval_s > round_trip / 3.0,
            "the resolution is higher than necessary"
        );
        let cwnd = &over_time.timelines[0].flows[0].cwnd_segments;
        let after_slow_start = || cwnd.windows(2).filter(|pair| pair[0].0 > 10.0);
        let falls = after_slow_start().filter(|pair| pair[1].1 < 0.7 * pair[0].1);
        assert!(falls.count() >= 3, "teeth in 50 s");
        let steepest = after_slow_start().map(|pair| pair[1].1 - pair[0].1);
        let steepest = steepest.fold(0.0, f64::max);
        assert!(
            steepest < 2.0,
            "a step of the increase is missing: {steepest}"
        );
        let queue = &over_time.timelines[0].queue_packets;
        let fullest = queue.iter().map(|sample| sample.1).fold(0.0, f64::max);
        assert!((40.0..=50.0).contains(&fullest), "{fullest}");
    }

    #[test]
    fn goodput_over_time_adds_up_to_the_delivered_data() {
        let over_time = over_time("[[flows]]\ncount = 3\n");
        for timeline in &over_time.timelines {
            let numbers: Vec<usize> = timeline.flows.iter().map(|flow| flow.flow).collect();
            assert_eq!(numbers, [1, 2, 3]);
            for (n, (time, all)) in timeline.goodput_mbit_s.iter().enumerate() {
                let each = timeline.flows.iter().map(|flow| flow.goodput_mbit_s[n]);
                let sum: f64 = each.map(|(_, rate)| rate).sum();
                assert!((sum - all).abs() < 1e-9, "{time}: {sum} {all}");
            }
        }
    }

    #[test]
    fn the_number_of_samples_is_bounded() {
        let over_time = over_time("[[flows]]\ncount = 100\n");
        assert_eq!(over_time.flows, 100);
        let samples: usize = over_time
            .timelines
            .iter()
            .flat_map(|timeline| &timeline.flows)
            .map(|flow| flow.cwnd_segments.len())
            .sum();
        assert_eq!(over_time.timelines[0].flows.len(), FLOWS_MOST);
        assert!((1000..=ROWS_MOST).contains(&samples), "{samples}");
    }

    #[test]
    fn the_capacity_of_a_trace_starts_where_the_run_begins() {
        // There are 10 opportunities in the first second, and one at the end of the next second.
        let times = (0..10).map(|n| n * 100 + 50).chain([2000]).collect();
        let trace = DeliveryTrace::new(times).unwrap();
        let in_first_second = |trace: &DeliveryTrace| {
            // There are 60 bins in 2 s: the first 30 cover the first second.
            let rates = opportunities(trace, Duration::from_secs(2), 2000.0 / 60.0);
            let sum: f64 = rates[..30].iter().map(|(_, rate)| rate).sum();
            // Each opportunity is a packet of 12000 bits, and a bin lasts 1/30 s.
            (sum * 1e6 / 30.0 / 12000.0).round()
        };
        assert_eq!(in_first_second(&trace), 10.0);
        // After the position 1001 ms, the next opportunities are at 2000 ms and, because the trace repeats, 50 ms
        // later. Only the first of them is within a second.
        assert_eq!(in_first_second(&trace.clone().beginning_at(1001)), 1.0);
        assert_eq!(in_first_second(&trace.beginning_at(500)), 5.0);
    }
}
