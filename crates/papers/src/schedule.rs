//! The runs of all experiments of all papers as one list, the longest first, so that no processor
//! waits for the last run of an experiment while others have work.

use std::cmp::Reverse;

use dupack_lab::run::{Execution, Interrupt, Job, Plan};

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

/// Every run of `plans`, an experiment of a campaign and its runs each, in the order of papers and
/// experiments.
pub(super) fn tasks(plans: &[Vec<(&Plan, &[Job])>]) -> Vec<Task> {
    let mut out = Vec::new();
    for (campaign, plans) in plans.iter().enumerate() {
        for (part, (plan, jobs)) in plans.iter().enumerate() {
            out.extend(jobs.iter().map(|&job| Task {
                campaign,
                part,
                job,
                packets: plan.scenario(job).packets(),
            }));
        }
    }
    out
}

/// Does all `tasks`, the longest first, and returns what came of those that were finished, in
/// any order.
pub(super) fn run_all<T: Send>(
    mut tasks: Vec<Task>,
    execution: Execution,
    interrupt: &Interrupt,
    one: impl Fn(&Task) -> Option<T> + Sync,
) -> Vec<(Task, T)> {
    tasks.sort_by_key(|task| Reverse(task.packets));
    execution.each(&tasks, |task| {
        let to_do = Some(task).filter(|_| !interrupt.is_asked());
        to_do.and_then(|task| Some((*task, one(task)?)))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use dupack_algorithms::catalog::Catalog;
    use dupack_lab::experiment::load::Source;

    /// The plan of one flow of ten seconds, and of one transfer of 100 MB.
    fn plans() -> [Plan; 2] {
        let path = "stacks = [\"sack/reno\", \"newreno/reno\"]\nseeds = 3\nduration = \"10s\"\n\
                    [path]\nrate = \"10Mbit/s\"\ndelay = \"5ms\"\n";
        let transfer = "stacks = [\"sack/reno\"]\nseeds = 1\nduration = \"1000s\"\n\
                        [path]\nrate = \"10Mbit/s\"\ndelay = \"5ms\"\n[[flows]]\nbytes = \"100MB\"\n";
        [path, transfer].map(|text| {
            let source = Source {
                name: "test".to_owned(),
                text: text.to_owned(),
                folder: std::path::PathBuf::new(),
            };
            Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
        })
    }

    #[test]
    fn every_run_is_done_once_and_the_longest_first() {
        let [streams, transfer] = &plans();
        let jobs = [streams.jobs(), transfer.jobs()];
        let stream = (streams, &jobs[0][..]);
        let all = tasks(&[vec![stream, (transfer, &jobs[1])], vec![stream]]);
        assert_eq!(all.len(), 6 + 1 + 6);
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
        let [stream, transfer] = &plans();
        let jobs = [stream.jobs(), transfer.jobs()];
        let all = tasks(&[vec![(stream, &jobs[0]), (transfer, &jobs[1])]]);
        let packets = |part| all.iter().find(|task| task.part == part).unwrap().packets;
        assert_eq!(packets(0), 12_500, "10 s of 10 Mbit/s");
        assert_eq!(packets(1), 100_000);
    }
}
