//! Harm: the goodput and delay that a competing flow loses next to each stack.
//!
//! Ware et al. ("Beyond Jain's Fairness Index: Setting the Bar For The Deployment of Congestion Control Algorithms",
//! HotNets 2019) measure the loss of a flow that competes with another flow, relative to the flow alone. They compare
//! this with the loss next to a flow of its own stack. Here both are one number: a [`STANDING`] flow competes with the
//! flows under comparison, and the result is relative to the same flow with the same seed next to as many [`STANDING`]
//! flows.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use dupack_algorithms::catalog::{Catalog, StackSpec};

use super::build::Scenario;
use super::fingerprint::{Fingerprint, Identities};
use super::plan::{Job, Plan};
use crate::experiment::{Experiment, FlowGroup};
use crate::results::measure::STANDING;
use crate::results::{HarmRecord, Measure, Run};
use crate::units::Delay;

/// Range of the random start of the competing flow. With a random start, these runs differ between seeds even if
/// nothing else in the experiment is random.
const STANDING_START_SPREAD: Delay = Delay::from_nanos(1_000_000_000);

/// Runs that measure harm, in addition to the compared runs of a plan.
#[derive(Clone, Debug)]
pub(super) struct Harm {
    /// The compared stacks, followed by the stack of the competing flow if it is not among them.
    companions: Vec<StackSpec>,
    standing: StackSpec,
    /// Index of the companion that has the same stack as the competing flow.
    own_kind: usize,
    /// Identities by point and companion, where companions vary fastest.
    identities: Identities,
}

/// Measures of one run with a competing flow.
#[derive(Clone, Copy, Debug)]
pub struct HarmRun {
    /// Point, companion (in place of the stack) and seed.
    pub(super) job: Job,
    /// Goodput of the competing flow in Mbit/s.
    goodput: f64,
    /// 95th percentile of the queueing delay of the competing flow's packets in ms.
    delay: Option<f64>,
}

impl HarmRun {
    /// Extracts the measures from `run`, whose last flow is the competing one.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        Self {
            job: Job {
                point: run.point,
                stack: run.stack,
                seed: run.seed,
            },
            goodput: run.flow_goodputs.last().copied().unwrap_or(f64::NAN),
            delay: run.values.get(Measure::DelayP95),
        }
    }
}

impl Harm {
    /// Creates the harm runs of `plan`, whose stacks are from `catalog`. Returns a reason if harm is not meaningful for
    /// the plan.
    pub(super) fn of(plan: &Plan, catalog: &Catalog) -> Result<Self, String> {
        for point in plan.points() {
            objection(&point.experiment)?;
        }
        let standing = StackSpec::parse(STANDING, catalog).map_err(|x| x.to_string())?;
        let mut companions = plan.stacks().to_vec();
        let own_kind = match companions.iter().position(|stack| *stack == standing) {
            Some(place) => place,
            None => {
                companions.push(standing.clone());
                companions.len() - 1
            }
        };
        let points = plan.points().len();
        let harm = Self {
            identities: Identities::new(points.saturating_mul(companions.len())),
            companions,
            standing,
            own_kind,
        };
        for point in 0..points {
            for job in harm.jobs(point, 1) {
                let built = harm.scenario(plan, job).build(job.seed);
                built.map_err(|fault| fault.message)?;
            }
        }
        Ok(harm)
    }

    /// Returns the runs at `point` with `seed`. The stack of each job is the index of the companion.
    pub(super) fn jobs(&self, point: usize, seed: u64) -> impl Iterator<Item = Job> + use<> {
        (0..self.companions()).map(move |stack| Job { point, stack, seed })
    }

    /// Returns the number of runs at a point for each seed.
    pub(super) const fn companions(&self) -> usize {
        self.companions.len()
    }

    /// Returns the companion of the competing flow in the run of `job`.
    pub(super) fn companion(&self, job: Job) -> &StackSpec {
        &self.companions[job.stack]
    }

    /// Iterates over all stacks of the harm runs.
    pub(super) fn stacks(&self) -> impl Iterator<Item = &StackSpec> {
        self.companions
            .iter()
            .chain(std::iter::once(&self.standing))
    }

    /// Returns the scenario of the run of `job`. These harm runs belong to `plan`.
    pub(super) fn scenario(&self, plan: &Plan, job: Job) -> Scenario {
        let model = plan.scenario(plan.first_job(job.point));
        let experiment = Arc::new(with_standing(&model.experiment));
        let companion = self.companion(job);
        let own = experiment.flows.len() - 1;
        let mut group_stacks = vec![companion.clone(); own];
        group_stacks.push(self.standing.clone());
        let scenario = Scenario {
            experiment,
            stack: companion.clone(),
            group_stacks,
            ..model
        };
        scenario.with_waits_of_last_flow()
    }

    /// Returns the fingerprint of the run of `job`. These harm runs belong to `plan`.
    pub(super) fn fingerprint(&self, plan: &Plan, job: Job) -> Fingerprint {
        let place = job.point * self.companions() + job.stack;
        self.identities
            .fingerprint(place, job.seed, || self.scenario(plan, job))
    }

    /// Sets the measures of harm of each of `runs`, from the harm runs with the same point, stack and seed.
    pub(super) fn enter(&self, runs: &mut [Run], measured: &[HarmRun]) {
        let by_job: HashMap<(usize, usize, u64), &HarmRun> = measured
            .iter()
            .map(|run| ((run.job.point, run.job.stack, run.job.seed), run))
            .collect();
        for run in runs {
            let find = |stack| by_job.get(&(run.point, stack, run.seed));
            let (Some(beside), Some(own)) = (find(run.stack), find(self.own_kind)) else {
                continue;
            };
            // If `own.goodput` is zero, the share is not finite and `set` ignores it.
            let share = 1.0 - beside.goodput / own.goodput;
            run.values.set(Measure::HarmGoodput, share);
            if let (Some(beside), Some(own)) = (beside.delay, own.delay) {
                run.values.set(Measure::HarmDelay, beside - own);
                let percent = (beside / own - 1.0) * 100.0;
                run.values.set(Measure::HarmDelayShare, percent);
            }
        }
    }
}

/// Returns an error with the reason if harm is not meaningful at a point.
fn objection(e: &Experiment) -> Result<(), String> {
    let no = |why: &str| Err(why.to_owned());
    if e.radio.is_some() {
        return no("on a radio chain, flows share more than a queue");
    }
    if e.flows.iter().any(|group| group.stack.is_some()) {
        return no("the experiment already has other flows");
    }
    if e.flows
        .iter()
        .any(|group| group.bytes.is_some() || !group.writes.is_empty() || group.web.is_some())
    {
        return no("its flows end, and the competing flow would then be alone");
    }
    let ends = |group: &FlowGroup| (group.from.clone(), group.to.clone(), group.reverse);
    match e.flows.first() {
        Some(first) if e.flows.iter().any(|group| ends(group) != ends(first)) => {
            no("its flows take different routes")
        }
        _ => Ok(()),
    }
}

/// Returns `e` with a competing flow as its last flow.
fn with_standing(e: &Experiment) -> Experiment {
    let mut e = e.clone();
    let flows = &mut e.flows;
    if flows.is_empty() {
        flows.push(FlowGroup::default());
    }
    flows.push(FlowGroup {
        name: "standing".to_owned(),
        stack: Some(STANDING.to_owned()),
        from: flows[0].from.clone(),
        to: flows[0].to.clone(),
        reverse: flows[0].reverse,
        start_spread: Some(STANDING_START_SPREAD),
        ..FlowGroup::default()
    });
    e
}

impl Plan {
    /// Returns the plan with additional runs that measure harm, which doubles the number of runs. If harm is not
    /// meaningful, the results contain the reason.
    #[must_use]
    pub fn measuring_harm(mut self, catalog: &Catalog) -> Self {
        self.harm = match Harm::of(&self, catalog) {
            Ok(harm) => {
                self.harm_record = HarmRecord::Measured;
                Some(harm)
            }
            Err(why) => {
                self.harm_record = HarmRecord::Senseless { why };
                None
            }
        };
        self
    }

    /// Iterates over the runs that measure harm at `point` with `seed`. The stack of each job is the index of the
    /// companion. There are no such runs if harm is not measured.
    pub fn harm_jobs(&self, point: usize, seed: u64) -> impl Iterator<Item = Job> + use<> {
        let harm = self.harm.as_ref();
        harm.map(|harm| harm.jobs(point, seed))
            .into_iter()
            .flatten()
    }

    /// Sets the harm of each of `runs` from the runs with a competing flow in `measured`.
    pub fn set_harm(&self, runs: &mut [Run], measured: &[HarmRun]) {
        if let Some(harm) = &self.harm {
            harm.enter(runs, measured);
        }
    }

    /// Returns the number of runs of an execution, including those that measure harm.
    #[must_use]
    pub fn work(&self) -> usize {
        self.work_at(0..self.points().len())
    }

    /// Returns the number of runs at `points`.
    #[must_use]
    pub fn work_at(&self, points: Range<usize>) -> usize {
        let harm = self.harm.as_ref().map_or(0, Harm::companions);
        let stacks = self.stacks().len().saturating_add(harm);
        let at_point = self.seeds().len().saturating_mul(stacks);
        points.len().saturating_mul(at_point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::load::Source;
    use crate::results::Results;
    use crate::run::{Interrupt, Purpose};
    use dupack_net::ids::FlowId;
    use dupack_net::link::WaitRecording;
    use dupack_net::observer::Unobserved;

    fn plan(stacks: &str, more: &str) -> Plan {
        let text = format!(
            "stacks = [{stacks}]\nseeds = 2\nduration = \"10s\"\n[path]\nrate = \"5Mbit/s\"\n\
             delay = \"10ms\"\nbuffer = \"20pkt\"\n{more}"
        );
        let source = Source::new("test.toml", &text);
        let catalog = Catalog::builtin();
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        plan.measuring_harm(&catalog)
    }

    fn run(plan: &Plan) -> Results {
        crate::run::testing::results(plan)
    }

    fn harm(results: &Results, stack: usize, measure: Measure) -> Vec<f64> {
        results.samples(0, stack, measure).map(|(_, v)| v).collect()
    }

    /// On this path, two flows of LE over Westwood leave almost nothing to two CUBIC flows.
    #[test]
    fn harm_is_zero_beside_the_same_stack_and_high_beside_a_greedy_one() {
        let text = "stacks = [\"sack/reno\", \"rack/cubic\", \"le/westwood\"]\nseeds = 2\n\
                    duration = \"30s\"\ndialect = \"linux\"\n[path]\nrate = \"20Mbit/s\"\n\
                    delay = \"20ms\"\nbuffer = \"67pkt\"\n[[flows]]\ncount = 2\n";
        let source = Source::new("test.toml", text);
        let catalog = Catalog::builtin();
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        let results = run(&plan.measuring_harm(&catalog));
        assert_eq!(results.harm, HarmRecord::Measured);
        assert_eq!(harm(&results, 1, Measure::HarmGoodput), [0.0, 0.0]);
        assert_eq!(harm(&results, 1, Measure::HarmDelay), [0.0, 0.0]);
        let greedy = harm(&results, 2, Measure::HarmGoodput);
        assert!(greedy.iter().all(|h| *h > 0.5), "{greedy:?}");
        let reno = harm(&results, 0, Measure::HarmGoodput);
        assert!(reno.iter().all(|h| *h < 0.2), "{reno:?}");
    }

    #[test]
    fn harm_does_not_depend_on_other_compared_stacks() {
        let with = run(&plan("\"sack/reno\", \"rack/cubic\"", ""));
        let without = run(&plan("\"sack/reno\"", ""));
        for measure in [
            Measure::HarmGoodput,
            Measure::HarmDelay,
            Measure::HarmDelayShare,
        ] {
            let values = harm(&with, 0, measure);
            assert_eq!(values.len(), 2);
            assert_eq!(values, harm(&without, 0, measure));
        }
    }

    /// If each flow has its own queue, the queue of a greedy flow does not delay the competing flow.
    #[test]
    fn the_delay_is_that_of_the_competing_flow() {
        let text = "stacks = [\"le/westwood\"]\nseeds = 1\nduration = \"20s\"\n[path]\n\
                    rate = \"10Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"200pkt\"\nqueue = \"fq_codel\"\n";
        let source = Source::new("test.toml", text);
        let catalog = Catalog::builtin();
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        let plan = plan.measuring_harm(&catalog);
        let job = Job {
            point: 0,
            stack: 0,
            seed: 1,
        };
        let scenario = plan.scenario_for(job, Purpose::Harm);
        let p95 = |waits| {
            let mut scenario = scenario.clone();
            scenario.waits = waits;
            let mut built = scenario.build(1).unwrap();
            let end = Interrupt::new();
            scenario.advance(&mut built.simulation, &mut Unobserved, &end);
            let links = built.simulation.report().links;
            let waits = links.iter().filter_map(|link| link.waits);
            waits.map(|w| w.p95.as_secs_f64() * 1e3).fold(0.0, f64::max)
        };
        let (greedy, standing) = (FlowId(0), FlowId(1));
        let run = plan.perform(job, Purpose::Harm, &Interrupt::new()).unwrap();
        let said = run.values.get(Measure::DelayP95).unwrap();
        assert_eq!(said, p95(WaitRecording::DataOf(standing)));
        let [greedy, all] = [WaitRecording::DataOf(greedy), WaitRecording::Data].map(p95);
        assert!(said < 0.8 * greedy && said < all, "{said} {greedy} {all}");
    }

    #[test]
    fn harm_has_an_interval_even_if_the_runs_are_not_random() {
        let results = run(&plan("\"sack/reno\"", ""));
        assert!(results.is_without_chance(0, 0));
        let of = |measure| results.summary(0, 0, measure).unwrap().half_width_95;
        assert!(of(Measure::Goodput).is_none());
        assert!(of(Measure::HarmGoodput).is_some());
    }

    #[test]
    fn harm_does_not_affect_compared_runs() {
        let plan = plan("\"sack/reno\"", "[[flows]]\ncount = 2\n");
        let with = run(&plan);
        let mut bare = plan.clone();
        bare.harm = None;
        let without = run(&bare);
        let hash = |results: &Results| {
            results
                .runs
                .iter()
                .map(|r| r.trace_hash)
                .collect::<Vec<_>>()
        };
        assert_eq!(hash(&with), hash(&without));
        assert_eq!(with.runs[0].flow_goodputs.len(), 2);
    }

    #[test]
    fn results_explain_why_harm_is_not_meaningful() {
        for (more, why) in [
            (
                "[[flows]]\n[[flows]]\nstack = \"sack/reno\"\n",
                "other flows",
            ),
            ("[[flows]]\nbytes = \"1MB\"\n", "end"),
            ("[[flows]]\n[[flows]]\nreverse = true\n", "different routes"),
        ] {
            let plan = plan("\"sack/reno\"", more);
            let HarmRecord::Senseless { why: said } = run(&plan).harm else {
                panic!("{more}");
            };
            assert!(said.contains(why), "{said}");
            assert_eq!(plan.work(), 2);
        }
    }

    #[test]
    fn in_a_topology_the_competing_flow_uses_the_same_route() {
        let text = "stacks = [\"sack/reno\"]\nseeds = 1\nduration = \"5s\"\n[[links]]\n\
                    between = [\"a\", \"b\"]\nrate = \"5Mbit/s\"\n[[flows]]\nfrom = \"a\"\nto = \"b\"\n";
        let source = Source::new("test.toml", text);
        let catalog = Catalog::builtin();
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        let results = run(&plan.measuring_harm(&catalog));
        assert_eq!(harm(&results, 0, Measure::HarmGoodput).len(), 1);
    }
}
