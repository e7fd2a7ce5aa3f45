//! Execution of a single run: from a scenario and a seed to its measures.

use dupack_net::ids::FlowId;
use dupack_net::observer::Observer;
use dupack_net::report::{Report, TcpReport};
use dupack_net::sampling::SamplingConfig;
use dupack_net::simulation::{Pause, Simulation};
use dupack_net::tcp_flow::Progress as Transfer;
use dupack_net::trace_hash::TraceHash;
use dupack_net::truth::Judgements;
use dupack_net::video::VideoCounters;
use dupack_tcp::sender::SenderStats;
use dupack_tcp::time::{Duration, Instant};

use super::build::{Built, Scenario, span};
use super::course::Course;
use super::interrupt::{Attempt, Interrupt, Purpose, is_given_up};
use super::plan::{Job, Plan};
use super::short_flows;
use crate::results::{Measure, Run, Values};
use crate::stats::jain_index;

/// Number of samples of the amount in flight in a run.
const IN_FLIGHT_SAMPLES: u64 = 500;

/// Number of simulation steps between two checks of the interrupt. This many steps take a fraction of a second.
const STEPS: u64 = 1_000_000;

/// Simulated time between two checks for completed transfers.
const CHUNK: Duration = Duration::from_secs(1);

impl Plan {
    /// Performs the run of `job` for `purpose`. Returns `None` if the run was interrupted or given up.
    ///
    /// # Panics
    /// If the plan has no such run.
    #[must_use]
    pub fn perform(&self, job: Job, purpose: Purpose, interrupt: &Interrupt) -> Option<Run> {
        let (run, _) = run(&self.scenario_for(job, purpose), job, purpose, interrupt)?;
        Some(run)
    }

    /// Performs the compared run of `job`. Returns `None` if the run was interrupted or given up.
    ///
    /// # Panics
    /// If the plan has no such run.
    #[must_use]
    pub fn run(&self, job: Job, interrupt: &Interrupt) -> Option<Run> {
        self.perform(job, Purpose::Comparison, interrupt)
    }

    /// Performs the run of `job` and samples its first compared flow over time. The run is the same as that of
    /// [`run`](Self::run). Returns `None` if the run was interrupted or given up.
    ///
    /// # Panics
    /// If the plan has no such run.
    #[must_use]
    pub fn follow(&self, job: Job, interrupt: &Interrupt) -> Option<(Run, Course)> {
        let (run, built) = run(&self.scenario(job), job, Purpose::Show, interrupt)?;
        let course = Course::of(&built);
        Some((run, course))
    }
}

/// Returns the number of samples that are taken for each sample that counts in the mean number of segments in flight.
const fn fineness(purpose: Purpose) -> u64 {
    match purpose {
        Purpose::Comparison | Purpose::Harm => 1,
        Purpose::Show => 10,
    }
}

/// Performs a run and returns it with its simulation, or `None` if the run was interrupted or given up.
fn run(
    scenario: &Scenario,
    job: Job,
    purpose: Purpose,
    interrupt: &Interrupt,
) -> Option<(Run, Built)> {
    let attempt = Attempt::begin(interrupt, scenario, job, purpose);
    let mut built = scenario
        .build(job.seed)
        .expect("the plan has built this network before");
    let samples = IN_FLIGHT_SAMPLES * fineness(purpose);
    let interval = span(scenario.experiment.duration) / samples;
    let mut sampling = SamplingConfig::new(interval, samples as usize + 2);
    sampling.flows = sampled(&built);
    built.simulation.sample(&sampling);
    let mut hash = TraceHash::default();
    let advanced = scenario.advance(&mut built.simulation, &mut hash, interrupt);
    let stats = advanced.filter(|_| !attempt.is_given_up())?;
    let report = built.simulation.report();
    let mut values = values(&built, &report, &stats);
    in_flight(&mut values, &built, purpose);
    let run = Run {
        point: job.point,
        stack: job.stack,
        seed: job.seed,
        values,
        flow_goodputs: report.tcp.iter().map(|f| f.goodput_bps / 1e6).collect(),
        trace_hash: hash.digest(),
    };
    Some((run, built))
}

/// Returns the flows whose amount in flight is sampled: the long flows under comparison. Short flows are not sampled,
/// because there may be thousands of them. There is always at least one sampled flow.
fn sampled(built: &Built) -> Vec<FlowId> {
    let compared = built.compared.iter().copied();
    let lasting: Vec<FlowId> = compared.filter(|id| !built.is_short(*id)).collect();
    if lasting.is_empty() {
        return built.compared.first().copied().into_iter().collect();
    }
    lasting
}

impl Scenario {
    /// Runs the simulation to the end of the experiment, or until every finite transfer is complete. Returns the
    /// senders' counters at the end of the warm-up. Returns `None` if the run was interrupted, or given up by a
    /// plug-in. The caller must hold an [`Attempt`], which records a run that was given up.
    pub(crate) fn advance<O: Observer>(
        &self,
        simulation: &mut Simulation,
        observer: &mut O,
        interrupt: &Interrupt,
    ) -> Option<Vec<SenderStats>> {
        self.advance_unless(simulation, observer, &|| interrupt.is_asked())
    }

    /// Works like [`advance`](Self::advance), and ends early when `stop` returns `true`.
    pub(crate) fn advance_unless<O: Observer>(
        &self,
        simulation: &mut Simulation,
        observer: &mut O,
        stop: &dyn Fn() -> bool,
    ) -> Option<Vec<SenderStats>> {
        let end = Instant::ZERO + span(self.experiment.duration);
        let warm = Instant::ZERO + span(self.experiment.warm_up);
        run_to(simulation, warm, observer, stop)?;
        simulation.begin_measurement();
        let stats = simulation
            .tcp_flows()
            .map(|flow| flow.sender().stats())
            .collect();
        run_to(simulation, end, observer, stop)?;
        Some(stats)
    }
}

fn run_to<O: Observer>(
    simulation: &mut Simulation,
    end: Instant,
    observer: &mut O,
    stop: &dyn Fn() -> bool,
) -> Option<()> {
    let stop = || stop() || is_given_up();
    while simulation.now() < end && !simulation.all_finished() {
        if stop() {
            return None;
        }
        let next = end.min(simulation.now() + CHUNK);
        while simulation.run_some(next, STEPS, observer) == Pause::Steps {
            if stop() {
                return None;
            }
        }
    }
    Some(())
}

fn values(built: &Built, report: &Report, before: &[SenderStats]) -> Values {
    let mut values = Values::default();
    let compared = || {
        let flows = report.tcp.iter().zip(before);
        flows.filter(|(flow, _)| built.is_compared(flow.flow))
    };
    let sum =
        |of: &dyn Fn(&TcpReport) -> f64| -> f64 { compared().map(|(flow, _)| of(flow)).sum() };
    let counted = |of: fn(&SenderStats) -> u64| -> f64 {
        let counts = compared().map(|(flow, before)| of(&flow.sender) - of(before));
        counts.sum::<u64>() as f64
    };
    // The goodput of a short flow is relative to the whole run, not to its own lifetime.
    let seconds = report.to.since(report.from).as_secs_f64();
    let goodput = |f: &TcpReport| {
        let bps = match built.is_short(f.flow) {
            true => f.measured.delivered_bytes as f64 * 8.0 / seconds,
            false => f.goodput_bps,
        };
        bps / 1e6
    };
    values.set(Measure::Goodput, sum(&goodput));
    let total: f64 = report.tcp.iter().map(goodput).sum();
    values.set(Measure::TotalGoodput, total);
    values.set(Measure::Retransmissions, counted(|s| s.retransmissions));
    let share = counted(|s| s.retransmissions) / counted(|s| s.segments_sent);
    values.set(Measure::RetransmissionShare, share * 100.0);
    values.set(Measure::Timeouts, counted(|s| s.timeouts));
    values.set(Measure::LossEvents, counted(|s| s.loss_events));
    values.set(Measure::Recoveries, counted(|s| s.recoveries));
    values.set(
        Measure::RecoveriesLeftEmpty,
        counted(|s| s.recoveries_left_empty),
    );
    values.set(Measure::Undone, counted(SenderStats::undone));
    values.set(
        Measure::Spurious,
        sum(&|f| f.measured.truth.spurious_retransmissions as f64),
    );
    if compared().any(|(flow, _)| flow.measured.truth.marked_packets > 0) {
        let marked = sum(&|f| f.measured.truth.marked_packets as f64);
        values.set(Measure::Marks, marked);
    }
    let natural =
        |nature| move |f: &TcpReport| f.measured.truth.data_drops.of_nature(nature) as f64;
    use dupack_net::link::LossNature;
    values.set(Measure::QueueDrops, sum(&natural(LossNature::Congestion)));
    values.set(Measure::LinkLosses, sum(&natural(LossNature::Wireless)));
    let lasting = compared().filter(|(f, _)| !built.is_short(f.flow));
    let goodputs: Vec<f64> = lasting.map(|(f, _)| f.goodput_bps).collect();
    if let Some(index) = jain_index(&goodputs) {
        values.set(Measure::Fairness, index);
    }
    links(&mut values, built, report);
    media(&mut values, report);
    completion(&mut values, report, built);
    short_flows::measure(&mut values, report, built);
    accuracy(&mut values, &|of| {
        sum(&|f| of(&f.measured.judgements) as f64)
    });
    let seen: Vec<VideoCounters> = compared().filter_map(|(f, _)| f.video).collect();
    video(&mut values, &seen);
    values
}

/// Sets the amounts in flight after the warm-up: by the sender's count, and the true amount. A run for display has more
/// samples, but only the samples that other runs also have are used.
fn in_flight(values: &mut Values, built: &Built, purpose: Purpose) {
    let Some(samples) = built.simulation.samples() else {
        return;
    };
    let (mut believed, mut real, mut count) = (0.0, 0.0, 0_u64);
    let lasting = samples.flows().iter();
    for (id, series) in lasting.filter(|(id, _)| !built.is_short(*id)) {
        let Some(flow) = built.simulation.tcp(*id) else {
            continue;
        };
        let smss = f64::from(flow.sender().config().smss);
        let warm = built.simulation.measuring_since();
        let samples = series.samples().iter().step_by(fineness(purpose) as usize);
        for sample in samples.filter(|s| s.at >= warm) {
            believed += sample.value.in_flight_believed as f64 / smss;
            real += sample.value.in_flight_true as f64 / smss;
            count += 1;
        }
    }
    values.set(Measure::InFlight, believed / count as f64);
    values.set(Measure::InFlightTrue, real / count as f64);
}

/// Sets the queueing delay of the link with the highest 95th percentile, and the utilisation of the busiest link.
fn links(values: &mut Values, built: &Built, report: &Report) {
    let links = || {
        let links = report.links.iter();
        links.filter(|link| built.measured_links.contains(&link.link))
    };
    if let Some(waits) = links().filter_map(|l| l.waits).max_by_key(|w| w.p95) {
        values.set(Measure::DelayMedian, waits.median.as_secs_f64() * 1e3);
        values.set(Measure::DelayP95, waits.p95.as_secs_f64() * 1e3);
    }
    if let Some(used) = links().filter_map(|l| l.utilisation).max_by(f64::total_cmp) {
        values.set(Measure::Utilisation, used * 100.0);
    }
}

/// Sets the measures of real-time media, over all sources.
fn media(values: &mut Values, report: &Report) {
    if report.media.is_empty() {
        return;
    }
    let rate: f64 = report.media.iter().map(|media| media.throughput_bps).sum();
    values.set(Measure::MediaRate, rate / 1e6);
    let ways = report.media.iter().filter_map(|media| media.ways);
    if let Some(longest) = ways.map(|ways| ways.p95).max() {
        values.set(Measure::MediaDelayP95, longest.as_secs_f64() * 1e3);
    }
    let all = report.media.iter().map(|media| media.measured);
    let (settled, in_time) = all.fold((0, 0), |(settled, in_time), media| {
        (
            settled + media.settled_packets,
            in_time + media.in_time_packets,
        )
    });
    let late = 1.0 - in_time as f64 / settled as f64;
    values.set(Measure::MediaLate, late * 100.0);
}

fn completion(values: &mut Values, report: &Report, built: &Built) {
    let mut last = None;
    for flow in report.tcp.iter().filter(|f| built.is_compared(f.flow)) {
        match flow.progress {
            Transfer::Finished(at) => last = last.max(Some(at)),
            Transfer::NotStarted | Transfer::Running => return,
        }
    }
    if let Some(at) = last {
        values.set(Measure::Completion, at.as_secs_f64());
    }
}

/// Sets the measures of video, over all flows with video.
fn video(values: &mut Values, seen: &[VideoCounters]) {
    if seen.is_empty() {
        return;
    }
    let sum = |of: fn(&VideoCounters) -> u64| seen.iter().map(of).sum::<u64>() as f64;
    let in_time = sum(|v| v.in_time) / sum(|v| v.due);
    values.set(Measure::FramesInTime, in_time * 100.0);
    values.set(Measure::Stalls, sum(|v| v.stalls));
    let stalled: f64 = seen.iter().map(|v| v.stalled.as_secs_f64()).sum();
    values.set(Measure::StallTime, stalled);
}

/// Sets the accuracy of loss differentiation, by the true cause of the loss.
fn accuracy(values: &mut Values, judged: &dyn Fn(fn(&Judgements) -> u64) -> f64) {
    let mut share = |measure, right: f64, wrong: f64| {
        values.set(measure, 100.0 * right / (right + wrong));
    };
    share(
        Measure::AccuracyWireless,
        judged(|j| j.wireless_right),
        judged(|j| j.wireless_wrong),
    );
    share(
        Measure::AccuracyCongestion,
        judged(|j| j.congestion_right),
        judged(|j| j.congestion_wrong),
    );
}
