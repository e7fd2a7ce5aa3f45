//! Tests of stored runs, samples and shared runs.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use dupack_lab::results::{Measure, Run, Values};
use dupack_lab::run::{Interrupt, Job, Purpose};

use super::*;
use crate::execution::Execution;
use crate::set::RunId;
use crate::threads::carry_out;

/// Set in which tasks with the same stack and seed share a run if `shares` is set. The goodput is the index of the
/// stack plus 1, or `wrong`.
#[derive(Default)]
struct Toy {
    shares: bool,
    wrong: Option<f64>,
    performed: Mutex<Vec<Task>>,
}

fn task(part: usize, stack: usize, seed: u64) -> Task {
    let job = Job {
        point: part,
        stack,
        seed,
    };
    Task {
        part,
        job,
        purpose: Purpose::Comparison,
    }
}

fn run(task: Task, goodput: f64) -> Run {
    let mut values = Values::default();
    values.set(Measure::Goodput, goodput);
    let Job { point, stack, seed } = task.job;
    Run {
        point,
        stack,
        seed,
        values,
        flow_goodputs: vec![goodput],
        trace_hash: 7,
    }
}

impl Set for Toy {
    type Outcome = Done;

    fn id(&self, task: Task) -> Option<RunId> {
        let (stack, seed) = (task.job.stack, task.job.seed);
        let part = if self.shares { 0 } else { task.part };
        Some(RunId {
            fingerprint: Fingerprint::of_text(&format!("{part} {stack} {seed}")),
            point: String::new(),
            stack: format!("stack {stack}"),
        })
    }

    fn packets(&self, task: Task) -> u64 {
        task.job.seed
    }

    fn schedule(&self) -> Schedule {
        Schedule::LongestFirst
    }

    fn shares(&self) -> bool {
        self.shares
    }
}

impl Worker<Done> for Toy {
    fn perform(&self, task: Task, _: &Interrupt) -> Option<Done> {
        self.performed.lock().unwrap().push(task);
        let goodput = self.wrong.unwrap_or(task.job.stack as f64 + 1.0);
        Some(Done {
            run: run(task, goodput),
            cpu: None,
        })
    }
}

#[derive(Default)]
struct Rounds {
    rounds: VecDeque<Vec<Task>>,
    entered: Vec<(Task, Done)>,
}

impl Evidence<Done> for Rounds {
    fn due(&mut self) -> Vec<Task> {
        self.rounds.pop_front().unwrap_or_default()
    }

    fn enter(&mut self, task: Task, done: Done) {
        self.entered.push((task, done));
    }
}

#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Watch for Told {
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dupack-session-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

/// Performs `rounds`. Returns the performed tasks, the entered outcomes, and the messages.
fn done(
    toy: &Toy,
    rounds: &[&[Task]],
    keeping: Keeping,
) -> (Vec<Task>, Vec<(Task, Done)>, Vec<String>) {
    let rounds = rounds.iter().map(|tasks| tasks.to_vec()).collect();
    let evidence = Rounds {
        rounds,
        ..Rounds::default()
    };
    let (told, interrupt) = (Told::default(), Interrupt::new());
    let conduct = Conduct {
        execution: Execution { jobs: Some(1) },
        watch: &told,
        interrupt: &interrupt,
    };
    let mut session = Session::new(toy, evidence, keeping);
    carry_out(&mut session, toy, &conduct);
    let performed = std::mem::take(&mut *toy.performed.lock().unwrap());
    let entered = session.end().unwrap().entered;
    (performed, entered, told.0.into_inner().unwrap())
}

#[test]
fn the_longest_run_is_first_and_shared_runs_are_performed_once() {
    let toy = Toy {
        shares: true,
        ..Toy::default()
    };
    let first = [task(0, 0, 1), task(0, 1, 5), task(1, 1, 5)];
    let second = [task(2, 0, 1), task(2, 1, 9)];
    let (performed, entered, _) = done(&toy, &[&first, &second], Keeping::nowhere());
    assert_eq!(performed, [task(0, 1, 5), task(0, 0, 1), task(2, 1, 9)]);
    assert_eq!(entered.len(), 5);
    // Each outcome has the point, stack and seed of its task.
    for (task, done) in entered {
        assert_eq!(done.run, run(task, task.job.stack as f64 + 1.0));
    }
}

#[test]
fn held_runs_are_used_only_if_all_samples_are_reproduced() {
    let path = folder("held");
    let keeping = || Keeping::within(Arc::new(Journal::open(&path).unwrap()));
    let tasks: Vec<Task> = (0..2)
        .flat_map(|stack| (1..=4).map(move |seed| task(0, stack, seed)))
        .collect();
    let toy = Toy::default();
    let (performed, whole, _) = done(&toy, &[&tasks[..6]], keeping());
    assert_eq!((performed.len(), whole.len()), (6, 6));
    // The shortest run of each stack is repeated, and the missing runs are performed.
    let (performed, entered, told) = done(&toy, &[&tasks], keeping());
    assert_eq!(performed[..2], [task(0, 0, 1), task(0, 1, 1)]);
    assert_eq!(performed[2..], [task(0, 1, 4), task(0, 1, 3)]);
    assert_eq!((entered.len(), told.len()), (8, 0));
    let wrong = Toy {
        wrong: Some(0.5),
        ..Toy::default()
    };
    let (performed, entered, told) = done(&wrong, &[&tasks], keeping());
    assert_eq!((performed.len(), entered.len()), (2 + 8, 8));
    assert!(
        told[0].contains("the result of a run of stack 0 differs"),
        "{told:?}"
    );
    let same = entered
        .iter()
        .all(|(_, done)| done.run.flow_goodputs == [0.5]);
    assert!(same, "{entered:?}");
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn sessions_that_share_their_trust_repeat_samples_once() {
    let path = folder("trust");
    let open = |name: &str| Arc::new(Journal::open(&path.join(name)).unwrap());
    let toy = Toy::default();
    let (first, second) = ([task(0, 0, 1), task(0, 0, 2)], [task(0, 1, 1)]);
    done(&toy, &[&first], Keeping::within(open("a")));
    done(&toy, &[&second], Keeping::within(open("b")));

    let trust = SharedTrust::default();
    let keeping = |name| Keeping::within(open(name)).trusted_with(&trust);
    let (performed, entered, _) = done(&toy, &[&first], keeping("a"));
    assert_eq!((&performed[..], entered.len()), (&first[..1], 2));
    let (performed, entered, _) = done(&toy, &[&second], keeping("b"));
    assert_eq!((performed.len(), entered.len()), (0, 1));

    // If a sample differs, the other session's stored runs are rejected, too.
    let trust = SharedTrust::default();
    let keeping = |name| Keeping::within(open(name)).trusted_with(&trust);
    let wrong = Toy {
        wrong: Some(0.5),
        ..Toy::default()
    };
    done(&wrong, &[&first], keeping("a"));
    let (performed, _, _) = done(&toy, &[&second], keeping("b"));
    assert_eq!(performed, second);
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn each_part_uses_its_own_journal() {
    let path = folder("parts");
    let open = |name: &str| Some(Arc::new(Journal::open(&path.join(name)).unwrap()));
    let toy = Toy::default();
    let tasks = [task(0, 0, 1), task(1, 0, 1), task(2, 0, 1)];
    let keeping = Keeping::by_part(vec![open("a"), None, open("c")]);
    done(&toy, &[&tasks], keeping);
    let keeping = Keeping::by_part(vec![open("a"), open("b"), None]);
    let (performed, entered, _) = done(&toy, &[&tasks], keeping);
    assert_eq!(entered.len(), 3);
    // The first task is performed as a sample, and the other two because their journals do not contain them.
    assert_eq!(performed, [task(0, 0, 1), task(1, 0, 1), task(2, 0, 1)]);
    fs::remove_dir_all(&path).unwrap();
}
