//! Outcome of a testbed: its finished and its failed runs, with warnings about both.

use std::error::Error;

use dupack_wire::path::{PathReport, Trust};
use dupack_wire::transfer::{Extent, TransferError};

use super::{Testbed, TestbedError, Watch, captures};
use dupack_lab::results::medium::{DOUBT, NO_ANSWER, SOUND_LEAST};
use dupack_lab::results::{Doubt, Medium, Results, Run, WireRecord};
use dupack_lab::run::Job;

/// Outcome of a testbed.
#[derive(Debug)]
#[non_exhaustive]
pub struct TestbedResults {
    /// Measures of the senders, in the form of a comparison.
    pub results: Results,
    /// Traffic of each run, in the order of the runs.
    pub passages: Vec<Passage>,
    /// Errors of the failed runs, which are not in the other fields.
    pub failures: Vec<TestbedError>,
}

/// Traffic over the path in a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Passage {
    /// The run.
    pub job: Job,
    /// Extent of the transfer.
    pub extent: Extent,
    /// Bytes that arrived and were verified.
    pub bytes: u64,
    /// Report of the path.
    pub path: PathReport,
    /// Validity of the run.
    pub trust: Trust,
}

impl Testbed {
    /// Calls `run_one` for every job until it is interrupted or the remaining runs would fail for the same reason.
    pub(super) fn run_each(
        &self,
        watch: &dyn Watch,
        run_one: &mut dyn FnMut(Job) -> Result<(Run, Passage), TransferError>,
    ) -> TestbedResults {
        let mut runs = Vec::new();
        let mut passages = Vec::new();
        let mut failures = Vec::new();
        for job in self.jobs() {
            watch.run_begins(&self.words(job));
            match run_one(job) {
                Ok((run, passage)) => {
                    runs.push(run);
                    passages.push(passage);
                    watch.run_done();
                }
                Err(TransferError::Interrupted) => break,
                Err(source) => {
                    // If the hosts, the path or the captures cannot be made, the other runs would fail as well.
                    let is_last = matches!(source, TransferError::Network(_));
                    failures.push(TestbedError::Run {
                        run: self.words(job),
                        source: Box::new(source),
                    });
                    if is_last {
                        break;
                    }
                }
            }
        }
        runs.sort_by_key(|run| (run.point, run.stack, run.seed));
        TestbedResults {
            results: self.results(runs, &passages, &failures),
            passages,
            failures,
        }
    }

    /// Returns the results of `runs`, including the reasons of void runs and the warnings about failed runs.
    fn results(&self, runs: Vec<Run>, passages: &[Passage], failures: &[TestbedError]) -> Results {
        let mut results = self.plan.empty_results();
        results.experiment = self.experiment.clone();
        let senders = self.options.senders.iter();
        results.stacks = senders.map(ToString::to_string).collect();
        results.planned = self.jobs().len();
        results.parameters = self.parameters(results.parameters);
        results.runs = runs;
        // A transfer ends when all bytes have arrived, so the used part of a recorded trace is unknown.
        results.recorded.clear();
        let mut doubts = Vec::new();
        for passage in passages {
            results.warnings.extend(self.complaints(passage));
            if let Trust::Worthless { reasons } = &passage.trust {
                doubts.push(Doubt {
                    point: passage.job.point,
                    stack: passage.job.stack,
                    seed: passage.job.seed,
                    reasons: reasons.clone(),
                });
            }
        }
        results.warnings.extend(failures.iter().map(in_words));
        results.medium = Medium::Wire(WireRecord {
            bytes: self.options.bytes,
            doubts,
        });
        results.warnings.extend(summary(&results));
        results
    }

    /// Returns the warnings about a run.
    fn complaints(&self, passage: &Passage) -> Vec<String> {
        let run = self.words(passage.job);
        let mut complaints = Vec::from_iter(captures::complaint(passage, &run));
        if passage.extent == Extent::CutOff {
            let limit = self.experiment.duration;
            complaints.push(format!(
                "{run}: cut off after {limit}, before the last byte."
            ));
        }
        complaints
    }
}

/// Returns a summary of the void runs. `path.csv` contains the reasons for each run.
fn summary(results: &Results) -> Vec<String> {
    let unsound = results.runs.iter().filter(|run| !results.is_sound(run));
    let (unsound, all) = (unsound.count(), results.runs.len());
    if unsound == 0 {
        return Vec::new();
    }
    let mut said = vec![format!(
        "{unsound} of {all} runs are void because the machine did not keep up ({DOUBT}); path.csv has the reasons for \
         each run."
    )];
    let (without, points) = (results.points_of_too_few().len(), results.points.len());
    if results.is_worthless() {
        said.push(NO_ANSWER.to_owned());
    } else if without > 0 {
        let at = match points {
            1 => String::new(),
            _ => format!(" at {without} of {points} points"),
        };
        said.push(format!(
            "There is no answer{at}: at least {SOUND_LEAST} runs of each sender, and at least half of them, must be sound."
        ));
    }
    said
}

/// Formats an error and its causes. Causes that the text already contains are left out.
fn in_words(error: &TestbedError) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !words.contains(&text) {
            words += &format!(": {text}");
        }
        next = cause.source();
    }
    words + "."
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io;

    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::{Family, SackCompression, SenderSpec, TestbedOptions};
    use dupack_lab::experiment::{Experiment, LinkOptions, Seeds};
    use dupack_lab::results::verdict::{Answer, Mark};
    use dupack_lab::results::{Contest, Measure, Values};
    use dupack_lab::units::Delay;
    use dupack_wire::path::NetworkError;

    /// Returns a testbed with two senders and three repetitions, which makes six runs.
    fn testbed(tolerance: Delay) -> Result<Testbed, TestbedError> {
        on_path(Some(tolerance), "0ms")
    }

    fn on_path(tolerance: Option<Delay>, delay: &str) -> Result<Testbed, TestbedError> {
        let mut experiment = Experiment::new(Vec::new());
        experiment.seeds = Seeds::Count(3);
        experiment.path = Some(LinkOptions {
            rate: Some("10Mbit/s".parse().unwrap()),
            delay: delay.parse().unwrap(),
            ..LinkOptions::default()
        });
        let senders = ["sack/reno", "kernel:reno"];
        let options = TestbedOptions {
            senders: senders
                .map(|text| SenderSpec::parse(text, &Catalog::builtin()).unwrap())
                .to_vec(),
            bytes: "1MB".parse().unwrap(),
            tolerance,
            family: Family::V4,
            sack_compression: SackCompression::Off,
            captures: None,
        };
        Testbed::new(experiment, options, &Catalog::builtin())
    }

    /// Counts the calls of its methods.
    #[derive(Default)]
    struct Count {
        begun: Cell<u32>,
        done: Cell<u32>,
    }

    impl Watch for Count {
        fn run_begins(&self, _: &str) {
            self.begun.set(self.begun.get() + 1);
        }

        fn run_done(&self) {
            self.done.set(self.done.get() + 1);
        }
    }

    fn done(job: Job, trust: Trust) -> (Run, Passage) {
        let mut values = Values::default();
        let spread = 1.0 + 0.01 * job.seed as f64;
        values.set(Measure::Goodput, (1.0 + job.stack as f64) * spread);
        let run = Run {
            point: job.point,
            stack: job.stack,
            seed: job.seed,
            values,
            flow_goodputs: vec![1.0],
            trace_hash: 0,
        };
        let passage = Passage {
            job,
            extent: Extent::Whole,
            bytes: 1_000_000,
            path: PathReport::default(),
            trust,
        };
        (run, passage)
    }

    /// Runs all jobs, of which the second one fails with this error.
    fn with_failure(failure: fn() -> TransferError) -> (TestbedResults, Count) {
        let count = Count::default();
        let outcome =
            testbed(Delay::from_nanos(1))
                .unwrap()
                .run_each(&count, &mut |job| match count.begun.get() {
                    2 => Err(failure()),
                    _ => Ok(done(job, Trust::Sound)),
                });
        (outcome, count)
    }

    #[test]
    fn a_broken_connection_does_not_spoil_other_runs() {
        let (outcome, count) = with_failure(|| TransferError::Damaged { bytes: 7 });
        assert_eq!((count.begun.get(), count.done.get()), (6, 5));
        assert_eq!((outcome.results.runs.len(), outcome.passages.len()), (5, 5));
        assert_eq!(outcome.results.missing(), 1);
        assert_eq!(outcome.failures.len(), 1);
        let [warning] = &outcome.results.warnings[..] else {
            panic!("{:?}", outcome.results.warnings);
        };
        for part in ["kernel:reno", "repetition 1", "the 7 bytes that arrived"] {
            assert!(warning.contains(part), "{warning}");
        }
    }

    #[test]
    fn without_a_network_the_testbed_ends_and_keeps_finished_runs() {
        let no_network = || TransferError::from(NetworkError::Path(io::Error::other("no thread")));
        let (outcome, count) = with_failure(no_network);
        assert_eq!((count.begun.get(), count.done.get()), (2, 1));
        assert_eq!(outcome.results.runs.len(), 1);
        assert_eq!(outcome.failures.len(), 1);

        let (outcome, count) = with_failure(|| TransferError::Interrupted);
        assert_eq!((count.begun.get(), count.done.get()), (2, 1));
        assert!(outcome.failures.is_empty());
        assert!(outcome.results.warnings.is_empty());
    }

    #[test]
    fn without_a_sound_run_there_is_no_answer() {
        let trust = |sound| match sound {
            true => Trust::Sound,
            false => Trust::Worthless {
                reasons: vec!["late".to_owned()],
            },
        };
        for sound in [false, true] {
            let testbed = testbed(Delay::from_nanos(1)).unwrap();
            let outcome = testbed.run_each(&Count::default(), &mut |job| {
                Ok(done(job, trust(sound && job.seed == 2 && job.stack == 0)))
            });
            assert_eq!(outcome.results.is_worthless(), !sound);
            // One sound run of a sender is not enough for an answer.
            let warnings = &outcome.results.warnings;
            let mut all = warnings.iter();
            assert!(
                all.any(|text| text.to_lowercase().contains("no answer")),
                "{warnings:?}"
            );
        }
    }

    /// Returns the outcome of five runs of each sender, of which the given number is sound.
    fn with_sound(sound: [u64; 2]) -> TestbedResults {
        let mut testbed = testbed(Delay::from_nanos(1)).unwrap();
        testbed.experiment.seeds = Seeds::Count(5);
        testbed.run_each(&Count::default(), &mut |job| {
            let trust = match job.seed <= sound[job.stack] {
                true => Trust::Sound,
                false => Trust::Worthless {
                    reasons: vec!["late".to_owned()],
                },
            };
            Ok(done(job, trust))
        })
    }

    #[test]
    fn a_point_has_an_answer_only_if_enough_runs_of_every_sender_are_sound() {
        let answer = |sound| {
            let results = with_sound(sound).results;
            let answer = Contest::of(&results, 0).answer;
            let none = matches!(answer, Answer::TooFew(_) | Answer::Worthless);
            assert_eq!(none, !results.points_of_too_few().is_empty());
            (answer, results.warnings.len())
        };
        assert_eq!(answer([5, 5]), (Answer::Stars(vec![1]), 0));
        assert_eq!(answer([5, 3]), (Answer::Stars(vec![1]), 1));
        assert_eq!(answer([5, 2]), (Answer::TooFew(vec![1]), 2));
        assert_eq!(answer([0, 5]), (Answer::TooFew(vec![0]), 2));
        assert_eq!(answer([2, 1]), (Answer::TooFew(vec![0, 1]), 2));
        assert_eq!(answer([0, 0]), (Answer::Worthless, 2));
    }

    /// A sender that is far ahead in its only sound run gets no mark, and the line states the reason.
    #[test]
    fn a_single_remaining_run_gets_no_star() {
        let results = with_sound([0, 1]).results;
        let verdict = Contest::of(&results, 0);
        assert!(verdict.stacks.iter().all(|stack| stack.mark == Mark::Plain));
        let why = verdict.no_answer().unwrap();
        for part in [
            "0 of sack/reno, 1 of kernel:reno",
            "at least 3, and half of its runs",
        ] {
            assert!(why.contains(part), "{why}");
        }
        let [count, none] = &results.warnings[..] else {
            panic!("{:?}", results.warnings);
        };
        assert!(count.starts_with("9 of 10 runs are void"), "{count}");
        assert!(none.starts_with("There is no answer:"), "{none}");
    }

    /// A lateness of one millisecond matters on a short path, but not on a path of 600 ms.
    #[test]
    fn the_tolerance_grows_with_the_path() {
        let tolerance = |delay| on_path(None, delay).unwrap().tolerance().to_string();
        assert_eq!(tolerance("10ms"), "1ms");
        assert_eq!(tolerance("300ms"), "6ms");
        let said = on_path(Some("3ms".parse().unwrap()), "300ms").unwrap();
        assert_eq!(said.tolerance().to_string(), "3ms");
    }

    /// There are six transfers of 1 MB at 10 Mbit/s. Each transfer takes 0.83 s with headers, plus half a second for
    /// its network.
    #[test]
    fn the_duration_is_estimated_in_advance() {
        let interrupt = dupack_lab::run::Interrupt::new();
        let testbed = on_path(None, "5ms").unwrap();
        let time = testbed.estimate(&Catalog::builtin(), &interrupt).unwrap();
        assert!((7.5..10.0).contains(&time.as_secs_f64()), "{time}");
    }

    #[test]
    fn a_tolerance_of_zero_is_rejected() {
        let refused = testbed(Delay::from_nanos(0)).unwrap_err();
        assert!(refused.to_string().contains("tolerance of 0"), "{refused}");
    }
}
