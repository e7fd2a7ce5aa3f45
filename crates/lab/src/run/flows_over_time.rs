//! Goodput of every flow over time, for every seed at one point. A plot of a single run cannot show how much the seeds
//! differ.

use dupack_net::ids::FlowId;
use dupack_net::observer::Unobserved;
use dupack_net::sampling::SamplingConfig;

use super::build::{Scenario, span};
use super::interrupt::{Attempt, Interrupt};
use super::plan::{Job, Plan};
use crate::results::Groups;

/// Number of intervals of a run, unless the limit on rows requires fewer.
const INTERVALS: usize = 300;

/// Minimum number of intervals.
const INTERVALS_LEAST: usize = 10;

/// Maximum number of rows of all runs together.
const ROWS_MOST: usize = 2_000_000;

/// Maximum number of flows of a run that are followed.
const FLOWS_MOST: usize = 1000;

/// Goodput over time of the flows of every run at a point.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowsOverTime {
    /// Index of the point.
    pub point: usize,
    /// Length of an interval in seconds.
    pub interval_s: f64,
    /// All followed flows of all runs, stack by stack.
    pub flows: Vec<FlowOverTime>,
}

/// Goodput of a flow over time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowOverTime {
    /// Stack of the run.
    pub stack: String,
    /// Seed of the run.
    pub seed: u64,
    /// Index of the flow in the run, counted from 0.
    pub flow: usize,
    /// Name of the flow's group.
    pub group: String,
    /// Start of each interval in seconds, and the rate of new data that arrived in it, in Mbit/s.
    pub goodput_mbit_s: Vec<(f64, f64)>,
}

impl Plan {
    /// Returns the runs whose flows are followed: all compared runs at the point in the middle of the sweep.
    #[must_use]
    pub fn jobs_of_flows_over_time(&self) -> Vec<Job> {
        let point = self.points().len() / 2;
        self.jobs_at(point..point + 1)
    }

    /// Performs the run of `job`, one of [`jobs_of_flows_over_time`](Self::jobs_of_flows_over_time), and follows its
    /// flows. Returns `None` if the run was interrupted or given up.
    #[must_use]
    pub fn follow_flows(&self, job: Job, interrupt: &Interrupt) -> Option<Vec<FlowOverTime>> {
        follow(
            &self.scenario(job),
            job.seed,
            self.flow_resolution(),
            interrupt,
        )
    }

    /// Returns the number of flows of a run that are followed, and the number of intervals.
    fn flow_resolution(&self) -> (usize, usize) {
        let jobs = self.jobs_of_flows_over_time();
        let flows = { jobs.first() }.map_or(1, |job| self.scenario(*job).tcp_flows().len());
        let followed = flows.clamp(1, FLOWS_MOST);
        let intervals = ROWS_MOST / followed / jobs.len().max(1);
        (followed, intervals.clamp(INTERVALS_LEAST, INTERVALS))
    }

    /// Combines the flows over time of all runs, in the order of the runs. Runs that were interrupted are missing.
    #[must_use]
    pub fn flows_over_time(&self, runs: Vec<Vec<FlowOverTime>>) -> FlowsOverTime {
        let point = self.points().len() / 2;
        let (_, intervals) = self.flow_resolution();
        let duration = self.points()[point].experiment.duration;
        FlowsOverTime {
            point,
            interval_s: duration.as_seconds() / intervals as f64,
            flows: runs.into_iter().flatten().collect(),
        }
    }
}

/// Follows the first flows of a run. Returns `None` if the run was interrupted.
fn follow(
    scenario: &Scenario,
    seed: u64,
    (followed, intervals): (usize, usize),
    interrupt: &Interrupt,
) -> Option<Vec<FlowOverTime>> {
    let attempt = Attempt::show(interrupt, scenario, seed);
    let mut built = scenario.build(seed).ok()?;
    let interval = span(scenario.experiment.duration) / intervals as u64;
    let mut sampling = SamplingConfig::new(interval, intervals + 2);
    sampling.flows = (0..followed as u32).map(FlowId).collect();
    built.simulation.sample(&sampling);
    let advanced = scenario.advance(&mut built.simulation, &mut Unobserved, interrupt);
    advanced.filter(|_| !attempt.is_given_up())?;
    let groups = Groups::of(&scenario.experiment);
    let samples = built.simulation.samples()?;
    let flows = samples.flows().iter().map(|(id, series)| {
        let pairs = series.samples().windows(2);
        let rates = pairs.map(|pair| {
            let (from, to) = (&pair[0], &pair[1]);
            let bytes = to
                .value
                .arrived_bytes
                .saturating_sub(from.value.arrived_bytes);
            let seconds = to.at.since(from.at).as_secs_f64().max(1e-9);
            (from.at.as_secs_f64(), bytes as f64 * 8.0 / 1e6 / seconds)
        });
        FlowOverTime {
            stack: scenario.stack.to_string(),
            seed,
            flow: id.index(),
            group: groups
                .of_flow(id.index())
                .map_or_else(String::new, |group| group.name.clone()),
            goodput_mbit_s: rates.collect(),
        }
    });
    Some(flows.collect())
}
