//! One run of each stack over time: goodput, window and queue, for the report.

use dupack_net::link::{DeliveryTrace, OPPORTUNITY_BYTES};
use dupack_net::observer::Unobserved;
use dupack_net::sampling::SamplingConfig;
use dupack_tcp::time::Duration;

use super::build::{Scenario, span};
use super::execute::Interrupt;
use super::plan::Plan;

/// How many samples a run is cut into.
const SAMPLES: u64 = 60;

/// One run over time. Times are seconds; each value holds from its time on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Timeline {
    /// The stack.
    pub stack: String,
    /// Goodput of the compared flows in Mbit/s.
    pub goodput_mbit_s: Vec<(f64, f64)>,
    /// Congestion window of the first compared flow in segments.
    pub cwnd_segments: Vec<(f64, f64)>,
    /// Packets waiting at the bottleneck.
    pub queue_packets: Vec<(f64, f64)>,
}

/// One run of every stack over time, at one point.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OverTime {
    /// The point, by its place.
    pub point: usize,
    /// The runs, all with the first seed.
    pub timelines: Vec<Timeline>,
    /// What the path's recorded trace carries over the time of a run, in Mbit/s; empty if its rate
    /// is constant.
    pub capacity: Vec<(f64, f64)>,
}

impl Plan {
    /// A run of every stack over time, in the middle of the sweep, which says more over time than
    /// its ends; what an interrupt cuts off is missing.
    #[must_use]
    pub fn over_time(&self, interrupt: &Interrupt) -> OverTime {
        let point = self.points().len() / 2;
        OverTime {
            point,
            timelines: self.timelines(point, interrupt),
            capacity: self.capacity(point),
        }
    }

    /// A run of every stack at `point` with the first seed, over time; what an interrupt cuts
    /// off is missing.
    fn timelines(&self, point: usize, interrupt: &Interrupt) -> Vec<Timeline> {
        let jobs = self.jobs();
        let seed = jobs.first().map_or(1, |job| job.seed);
        jobs.into_iter()
            .filter(|job| job.point == point && job.seed == seed)
            .filter_map(|job| timeline(self.scenario(job), seed, interrupt))
            .collect()
    }

    /// What the path's recorded trace carries over the time of a run at `point`, in Mbit/s; empty
    /// if its rate is constant.
    fn capacity(&self, point: usize) -> Vec<(f64, f64)> {
        let Some(job) = self.jobs().into_iter().find(|job| job.point == point) else {
            return Vec::new();
        };
        let scenario = self.scenario(job);
        let path = scenario.experiment.path.as_ref();
        let trace = path.and_then(|p| scenario.traces.get(p.trace.as_ref()?));
        trace.map_or_else(Vec::new, |trace| {
            let trace = trace.clone();
            let trace = trace.beginning_at(scenario.beginning().ms(job.seed));
            opportunities(&trace, span(scenario.experiment.duration))
        })
    }
}

fn timeline(scenario: &Scenario, seed: u64, interrupt: &Interrupt) -> Option<Timeline> {
    let mut built = scenario.build(seed).ok()?;
    let interval = span(scenario.experiment.duration) / SAMPLES;
    let mut sampling = SamplingConfig::new(interval, SAMPLES as usize + 2);
    sampling.flows.clone_from(&built.compared);
    sampling.links = built.measured_links.iter().copied().take(1).collect();
    built.simulation.sample(&sampling);
    scenario.advance(&mut built.simulation, &mut Unobserved, interrupt)?;
    let samples = built.simulation.samples()?;
    let mut goodput: Vec<(f64, f64)> = Vec::new();
    for (_, series) in samples.flows() {
        for (n, pair) in series.samples().windows(2).enumerate() {
            let elapsed = pair[1].at.since(pair[0].at).as_secs_f64();
            let bytes = pair[1].value.delivered_bytes - pair[0].value.delivered_bytes;
            let rate = bytes as f64 * 8.0 / elapsed.max(1e-9) / 1e6;
            match goodput.get_mut(n) {
                Some((_, sum)) => *sum += rate,
                None => goodput.push((pair[0].at.as_secs_f64(), rate)),
            }
        }
    }
    let first = samples.flows().first();
    let smss = built
        .compared
        .first()
        .and_then(|&id| built.simulation.tcp(id))
        .map_or(1.0, |flow| f64::from(flow.sender().config().smss));
    let cwnd = first.iter().flat_map(|(_, series)| series.samples());
    let queue = samples.links().first();
    let queue = queue.iter().flat_map(|(_, series)| series.samples());
    Some(Timeline {
        stack: scenario.stack.to_string(),
        goodput_mbit_s: goodput,
        cwnd_segments: cwnd
            .map(|s| (s.at.as_secs_f64(), s.value.cwnd / smss))
            .collect(),
        queue_packets: queue
            .map(|s| (s.at.as_secs_f64(), s.value.backlog_packets as f64))
            .collect(),
    })
}

/// The rate of a trace over `duration`, as finely as timelines are sampled.
fn opportunities(trace: &DeliveryTrace, duration: Duration) -> Vec<(f64, f64)> {
    let bin_ms = (duration.as_nanos() as f64 / 1e6 / SAMPLES as f64).max(1.0);
    let mut bins = vec![0_u32; SAMPLES as usize];
    let period = f64::from(trace.period_ms());
    let mut offset = -f64::from(trace.begin_ms());
    while offset < bin_ms * SAMPLES as f64 {
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
    use super::*;

    #[test]
    fn what_a_trace_carries_is_read_from_where_the_run_begins() {
        // 10 opportunities in the first second of two, and one at the end.
        let times = (0..10).map(|n| n * 100 + 50).chain([2000]).collect();
        let trace = DeliveryTrace::new(times).unwrap();
        let in_first_second = |trace: &DeliveryTrace| {
            // 60 bins in 2 s: the first 30 are the first second.
            let rates = opportunities(trace, Duration::from_secs(2));
            let sum: f64 = rates[..30].iter().map(|(_, rate)| rate).sum();
            // A packet of 12000 bits in a bin of 1/30 s.
            (sum * 1e6 / 30.0 / 12000.0).round()
        };
        assert_eq!(in_first_second(&trace), 10.0);
        // From 1001 ms on there is none before 2000 ms, and the next comes 50 ms later.
        assert_eq!(in_first_second(&trace.clone().beginning_at(1001)), 1.0);
        assert_eq!(in_first_second(&trace.beginning_at(500)), 5.0);
    }
}
