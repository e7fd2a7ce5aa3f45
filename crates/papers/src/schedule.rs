//! The runs of all experiments of all papers as one list, the longest first, so that no processor
//! waits for the last run of an experiment while others have work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::campaign::Campaign;
use dupack_lab::run::{Execution, Interrupt, Job, Scenario};
use dupack_lab::units::Rate;

/// One run to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Which campaign, by its place.
    pub(super) campaign: usize,
    /// Which of its experiments, by its place.
    pub(super) part: usize,
    /// Which run of that.
    pub(super) job: Job,
    /// About how many packets it sends.
    pub(super) packets: u64,
}

/// Every run, in the order of papers and experiments.
pub(super) fn tasks(campaigns: &[Campaign]) -> Vec<Task> {
    let mut out = Vec::new();
    for (c, campaign) in campaigns.iter().enumerate() {
        for (p, part) in campaign.parts.iter().enumerate() {
            out.extend(part.plan.jobs().into_iter().map(|job| Task {
                campaign: c,
                part: p,
                job,
                packets: packets(part.plan.scenario(job)),
            }));
        }
    }
    out
}

/// Where a rate is not known, as with recorded traces.
const ASSUMED_MBIT_S: f64 = 10.0;
/// Bytes of a packet, about.
const PACKET_BYTES: f64 = 1000.0;

/// About how many packets a run sends: what its bottleneck can carry, or all that its flows have.
/// It orders the runs and tells the remaining time; nothing else rests on it.
fn packets(scenario: &Scenario) -> u64 {
    let e = &scenario.experiment;
    let rates = e.path.iter().chain(&e.links).filter_map(|link| link.rate);
    let rate = rates
        .map(Rate::as_megabits_per_second)
        .reduce(f64::max)
        .unwrap_or(ASSUMED_MBIT_S);
    let carried = rate * 1e6 / 8.0 * e.duration.as_seconds();
    let finite = e.flows.iter().map(|group| {
        let bytes = group.bytes?.as_bytes() as f64;
        Some(bytes * f64::from(group.count))
    });
    let bytes = match finite.sum::<Option<f64>>() {
        Some(sent) if !e.flows.is_empty() => sent.min(carried),
        _ => carried,
    };
    (bytes / PACKET_BYTES).ceil().max(1.0) as u64
}

/// Does all `tasks`, the longest first, and returns what came of those that were finished, in
/// any order.
pub(super) fn run_all<T: Send>(
    mut tasks: Vec<Task>,
    execution: Execution,
    interrupt: &Interrupt,
    one: impl Fn(&Task) -> Option<T> + Sync,
) -> Vec<(Task, T)> {
    tasks.sort_by_key(|task| std::cmp::Reverse(task.packets));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(execution.jobs.unwrap_or(0))
        .build()
        .expect("threads can be started");
    let next = AtomicUsize::new(0);
    let finished = Mutex::new(Vec::new());
    pool.broadcast(|_| {
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            if interrupt.is_asked() {
                return;
            }
            if let Some(outcome) = one(task) {
                let mut finished = finished.lock().expect("no thread panics holding it");
                finished.push((*task, outcome));
            }
        }
    });
    finished.into_inner().expect("all threads are through")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extent, PAPERS};

    #[test]
    fn every_run_is_done_once_and_the_longest_first() {
        let plans = PAPERS.map(|paper| paper.plan(Extent::Quick).unwrap());
        let all = tasks(&plans);
        assert_eq!(all.len(), plans.iter().map(Campaign::runs).sum::<usize>());
        let order = Mutex::new(Vec::new());
        let execution = Execution { jobs: Some(1) };
        let done = run_all(all.clone(), execution, &Interrupt::new(), |task| {
            order.lock().unwrap().push(task.packets);
            Some(())
        });
        assert_eq!(done.len(), all.len());
        assert!(order.into_inner().unwrap().is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn a_transfer_counts_by_its_bytes_and_a_stream_by_its_time() {
        let draft = super::super::find("newreno-smooth").unwrap();
        let plan = draft.plan(Extent::Full).unwrap();
        assert_eq!(tasks(&[plan])[0].packets, 100_000);
        let momentary = super::super::find("momentary").unwrap();
        let first = &tasks(&[momentary.plan(Extent::Full).unwrap()])[0];
        assert!((500..50_000).contains(&first.packets), "{}", first.packets);
    }
}
