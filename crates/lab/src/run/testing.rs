//! Results for tests: all runs of a plan, performed in order.

use super::{HarmRun, Interrupt, Plan, Purpose};
use crate::results::Results;

/// Performs the compared runs of `plan`, and the runs that measure harm.
pub(crate) fn results(plan: &Plan) -> Results {
    let interrupt = Interrupt::new();
    let perform = |purpose| {
        let interrupt = &interrupt;
        move |job| plan.perform(job, purpose, interrupt)
    };
    let mut results = plan.empty_results();
    let jobs = plan.jobs().into_iter();
    results.runs = jobs.filter_map(perform(Purpose::Comparison)).collect();
    results
        .runs
        .sort_by_key(|run| (run.point, run.stack, run.seed));
    let beside = plan.seeds().iter().flat_map(|&seed| {
        let points = 0..plan.points().len();
        points.flat_map(move |point| plan.harm_jobs(point, seed))
    });
    let harm = beside.filter_map(perform(Purpose::Harm));
    let harm: Vec<HarmRun> = harm.map(|run| HarmRun::of(&run)).collect();
    plan.set_harm(&mut results.runs, &harm);
    results
}
