//! Carrying out the runs of a plan.

use std::ops::Range;
#[cfg(feature = "parallel")]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

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
use super::harm::HarmRun;
use super::interrupt::{Attempt, Interrupt, Purpose, is_given_up};
use super::journal::Journal;
use super::kept::{Kept, Task};
use super::ledger::Ledger;
use super::plan::{Job, Plan};
use super::short_flows;
use crate::results::{Measure, Results, Run, Values};
use crate::stats::jain_index;

/// Told of every run that finishes, from whichever thread.
pub trait Progress: Sync {
    /// One more run is done.
    fn run_done(&self);

    /// There are so many more runs to do than was known, as a precision takes more seeds.
    fn runs_added(&self, runs: usize) {
        let _ = runs;
    }

    /// Something has to be said, for people.
    fn note(&self, text: &str) {
        let _ = text;
    }
}

impl Progress for () {
    fn run_done(&self) {}
}

/// How a plan is carried out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution {
    /// Runs at a time; one per processor if `None`. One at a time is done on the calling thread.
    pub jobs: Option<usize>,
}

impl Execution {
    /// How many runs are done at a time.
    #[must_use]
    pub fn threads(self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        match cfg!(feature = "parallel") {
            true => self.jobs.unwrap_or_else(all),
            false => 1,
        }
    }

    /// What `one` makes of each of `items`, as many at a time as asked for, begun in their order.
    ///
    /// # Panics
    /// If the threads cannot be started.
    #[cfg(feature = "parallel")]
    pub fn each<I: Sync, O: Send>(
        self,
        items: &[I],
        one: impl Fn(&I) -> Option<O> + Sync,
    ) -> Vec<O> {
        if self.jobs == Some(1) {
            return items.iter().filter_map(one).collect();
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.jobs.unwrap_or(0))
            .build()
            .expect("threads can be started");
        let next = AtomicUsize::new(0);
        let made = Mutex::new(Vec::new());
        pool.broadcast(|_| {
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Some(outcome) = one(item) {
                    made.lock()
                        .expect("no thread panics holding it")
                        .push(outcome);
                }
            }
        });
        made.into_inner().expect("all threads are through")
    }

    /// What `one` makes of each of `items`, one after the other: there are no threads.
    #[cfg(not(feature = "parallel"))]
    pub fn each<I: Sync, O: Send>(
        self,
        items: &[I],
        one: impl Fn(&I) -> Option<O> + Sync,
    ) -> Vec<O> {
        items.iter().filter_map(one).collect()
    }
}

/// How often in a run the amount in flight is read.
const IN_FLIGHT_SAMPLES: u64 = 500;

/// Steps of a simulation between two looks at the interrupt: a fraction of a second.
const STEPS: u64 = 1_000_000;

/// Simulated time between two looks at whether all transfers are done.
const CHUNK: Duration = Duration::from_secs(1);

impl Plan {
    /// Does every run, on as many threads as `execution` says; without the feature `parallel`, one
    /// after the other. The order in which runs finish makes no difference to the results. Where the
    /// experiment asks for a precision, it does as many more as that takes.
    ///
    /// # Panics
    /// If the threads cannot be started.
    #[must_use]
    pub fn execute(
        &self,
        execution: Execution,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Results {
        self.execute_with(
            &Kept::<_, &Journal>::nowhere(self),
            execution,
            progress,
            interrupt,
        )
    }

    /// The same, and every finished run is kept in `journal` at once. Runs that it holds are not done
    /// again, those that a precision added and those that measure harm included: the results are the
    /// same to the last bit. Of these, the shortest of each stack is done again, and where it does not come
    /// out the same, none of that stack is taken.
    ///
    /// # Panics
    /// If the threads cannot be started.
    #[must_use]
    pub fn execute_keeping(
        &self,
        journal: &Journal,
        execution: Execution,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Results {
        let tasks = self.tasks(&self.jobs());
        let kept = Kept::within((self, &tasks), journal, execution, progress, interrupt);
        self.execute_with(&kept, execution, progress, interrupt)
    }

    fn execute_with(
        &self,
        kept: &Kept<&Self, &Journal>,
        execution: Execution,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Results {
        let ledger = Ledger::new(self);
        Self::execute_ledger(ledger, kept, execution, progress, interrupt)
    }

    /// Does every run at `points`, which are those of the results.
    pub(super) fn execute_at(
        &self,
        points: Range<usize>,
        kept: &Kept<&Self, &Journal>,
        execution: Execution,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Results {
        let ledger = Ledger::at(self, points);
        Self::execute_ledger(ledger, kept, execution, progress, interrupt)
    }

    fn execute_ledger(
        mut ledger: Ledger<&Self>,
        kept: &Kept<&Self, &Journal>,
        execution: Execution,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Results {
        loop {
            let tasks = ledger.due();
            if tasks.is_empty() {
                break;
            }
            progress.runs_added(ledger.added());
            let taken = Mutex::new(&mut ledger);
            execution.each(&tasks, |&task| {
                let run = kept.run(task, progress, interrupt)?;
                progress.run_done();
                let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
                taken.enter([(task, run)]);
                Some(())
            });
            if interrupt.is_asked() {
                break;
            }
        }
        ledger.results()
    }

    /// The runs that the experiment's precision takes beside those that there are: none if it asks for
    /// none, or has it. The first point of `results` is the `first` of the plan's. `begun` is how many seeds
    /// each of them has had, those whose runs were given up included; it is brought up to date.
    pub(super) fn more_jobs(&self, results: &Results, first: usize, begun: &mut [u64]) -> Vec<Job> {
        let Some(rule) = self.precision else {
            return Vec::new();
        };
        let mut jobs = Vec::new();
        for (at, had) in begun.iter_mut().enumerate() {
            if let Some(wanted) = rule.wanted(results, at, *had as usize) {
                let seeds = *had + 1..=wanted as u64;
                jobs.extend(seeds.flat_map(|seed| self.jobs_of(first + at, seed)));
                *had = wanted as u64;
            }
        }
        jobs
    }

    /// What there is to say where the experiment's precision is not reached.
    pub(super) fn shortfall(&self, results: &Results) -> Option<String> {
        let points = 0..results.points.len();
        self.shortfall_of(points.filter_map(|point| self.missed(results, point)))
    }

    /// Where `point` of `results` misses the experiment's precision, in words.
    #[must_use]
    pub fn missed(&self, results: &Results, point: usize) -> Option<String> {
        self.precision?.missed(results, point)
    }

    /// What there is to say of points that [`missed`](Self::missed) the experiment's precision.
    #[must_use]
    pub fn shortfall_of(&self, missed: impl Iterator<Item = String>) -> Option<String> {
        self.precision?.shortfall(missed)
    }

    /// One of the runs that measure harm; `None` if it was interrupted, or there are none.
    pub(super) fn harm_run(&self, job: Job, interrupt: &Interrupt) -> Option<Run> {
        let scenario = self.harm.as_ref()?.scenario(job);
        let (run, _) = run(scenario, job, Purpose::Harm, interrupt)?;
        Some(run)
    }

    /// Does one run; `None` if it was interrupted.
    ///
    /// # Panics
    /// If `job` is none of this plan's.
    #[must_use]
    pub fn run(&self, job: Job, interrupt: &Interrupt) -> Option<Run> {
        let (run, _) = run(self.scenario(job), job, Purpose::Comparison, interrupt)?;
        Some(run)
    }

    /// Does one run and follows its first compared flow over time; the run is the same as
    /// [`run`](Self::run)'s. `None` if it was interrupted.
    ///
    /// # Panics
    /// If `job` is none of this plan's.
    #[must_use]
    pub fn follow(&self, job: Job, interrupt: &Interrupt) -> Option<(Run, Course)> {
        let (run, built) = run(self.scenario(job), job, Purpose::Show, interrupt)?;
        let course = Course::of(&built);
        Some((run, course))
    }
}

/// The runs that were done, and what those beside them measured.
#[derive(Clone, Debug)]
pub(super) struct Outcomes {
    pub(super) results: Results,
    /// Which of the plan's points is the first of the results.
    pub(super) first: usize,
    harm: Vec<HarmRun>,
}

impl Outcomes {
    /// None yet of `plan`.
    pub(super) fn none_of(plan: &Plan) -> Self {
        Self::none_at(plan, 0..plan.points().len())
    }

    /// None yet at these points of `plan`.
    pub(super) fn none_at(plan: &Plan, points: Range<usize>) -> Self {
        Self {
            first: points.start,
            results: plan.empty_results_at(points),
            harm: Vec::new(),
        }
    }

    /// Makes room for what comes out of `tasks`, exactly: there may be a million of them.
    pub(super) fn expect(&mut self, tasks: &[Task]) {
        let compared = |task: &&Task| matches!(task, Task::Compared(_));
        let runs = tasks.iter().filter(compared).count();
        self.results.runs.reserve_exact(runs);
        self.harm.reserve_exact(tasks.len() - runs);
    }

    /// With `run` as well, which is what came out of `task`, in whatever order.
    pub(super) fn take(&mut self, task: Task, mut run: Run) {
        run.point -= self.first;
        match task {
            Task::Compared(_) => self.results.runs.push(run),
            Task::Harm(_) => self.harm.push(HarmRun::of(&run)),
        }
    }

    /// Puts the runs in their order.
    pub(super) fn sort(&mut self) {
        let place = |run: &Run| (run.point, run.stack, run.seed);
        self.results.runs.sort_unstable_by_key(place);
    }

    /// The results of `plan`, each run with the harm that it does.
    pub(super) fn with_harm(mut self, plan: &Plan) -> Results {
        self.sort();
        if let Some(harm) = &plan.harm {
            harm.enter(&mut self.results.runs, &self.harm);
        }
        self.results
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
