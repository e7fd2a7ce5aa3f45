//! One run: from a scenario and a seed to its measures.

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

/// How often in a run the amount in flight is read.
const IN_FLIGHT_SAMPLES: u64 = 500;

/// Steps of a simulation between two looks at the interrupt: a fraction of a second.
const STEPS: u64 = 1_000_000;

/// Simulated time between two looks at whether all transfers are done.
const CHUNK: Duration = Duration::from_secs(1);

impl Plan {
    /// Performs the run of `job` for `purpose`; returns `None` if it was interrupted or given up.
    ///
    /// # Panics
    /// If the plan has no such run.
    #[must_use]
    pub fn perform(&self, job: Job, purpose: Purpose, interrupt: &Interrupt) -> Option<Run> {
        let (run, _) = run(&self.scenario_for(job, purpose), job, purpose, interrupt)?;
        Some(run)
    }

    /// Does one run; `None` if it was interrupted.
    ///
    /// # Panics
    /// If `job` is none of this plan's.
    #[must_use]
    pub fn run(&self, job: Job, interrupt: &Interrupt) -> Option<Run> {
        self.perform(job, Purpose::Comparison, interrupt)
    }

    /// Does one run and follows its first compared flow over time; the run is the same as
    /// [`run`](Self::run)'s. `None` if it was interrupted.
    ///
    /// # Panics
    /// If `job` is none of this plan's.
    #[must_use]
    pub fn follow(&self, job: Job, interrupt: &Interrupt) -> Option<(Run, Course)> {
        let (run, built) = run(&self.scenario(job), job, Purpose::Show, interrupt)?;
        let course = Course::of(&built);
        Some((run, course))
    }
}

/// How many samples are taken for each that the amount in flight needs.
const fn fineness(purpose: Purpose) -> u64 {
    match purpose {
        Purpose::Comparison | Purpose::Harm => 1,
        Purpose::Show => 10,
    }
}

/// One run and what is left of it; `None` if it was interrupted or given up.
fn run(
    scenario: &Scenario,
    job: Job,
    purpose: Purpose,
    interrupt: &Interrupt,
) -> Option<(Run, Built)> {
    let attempt = Attempt::begin(interrupt, scenario, job, purpose);
    let mut built = scenario
        .build(job.seed)
        .expect("the plan has built it before");
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

/// The flows whose amount in flight is read: those under comparison that last, for of short ones there
/// are thousands; at least the first.
fn sampled(built: &Built) -> Vec<FlowId> {
    let compared = built.compared.iter().copied();
    let lasting: Vec<FlowId> = compared.filter(|id| !built.is_short(*id)).collect();
    if lasting.is_empty() {
        return built.compared.first().copied().into_iter().collect();
    }
    lasting
}

impl Scenario {
    /// Runs to the end of the experiment, or until every finite transfer is done. Returns the
    /// senders' counters as they stood at the end of the warm-up; `None` if it was interrupted, or a
    /// plug-in gave it up, of which the caller takes note.
    pub(crate) fn advance<O: Observer>(
        &self,
        simulation: &mut Simulation,
        observer: &mut O,
        interrupt: &Interrupt,
    ) -> Option<Vec<SenderStats>> {
        self.advance_unless(simulation, observer, &|| interrupt.is_asked())
    }

    /// As [`advance`](Self::advance), until `stop` says so.
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
    // A short flow has its own time for nothing else than what it sends.
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

/// Belief beside truth, after the warm-up: of a run that is followed, no more samples than of
/// another.
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

/// Queueing delay where it is longest, and use where it is greatest.
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

/// What came of real-time media, all sources together.
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

/// What the viewers of all flows with video saw together.
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

/// How often the differentiation was right, by what the loss was.
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
