//! Carrying out a paper's experiments.

use std::path::PathBuf;

use rayon::prelude::*;

use super::claims::{Finding, Judged, Verdict};
use super::evidence::{Evidence, Part, Traced};
use super::{Extent, Observe, Paper, Reproduction};
use crate::experiment::load::{ExperimentError, Source};
use crate::run::{Execution, Interrupt, Plan, Progress};
use crate::trace::Trace;

/// A paper's experiments, checked and ready to run.
#[derive(Debug)]
pub struct Campaign {
    paper: &'static Paper,
    extent: Extent,
    parts: Vec<(&'static str, Observe, Plan)>,
}

impl Paper {
    /// Its experiments, checked and ready to run.
    ///
    /// # Errors
    /// If one of them is impossible, which the tests would show.
    pub fn plan(&'static self, extent: Extent) -> Result<Campaign, ExperimentError> {
        let parts = self.experiments.iter().map(|file| {
            let mut source = Source {
                name: format!("experiments/papers/{}/{}.toml", self.key, file.name),
                text: file.text.to_owned(),
                folder: PathBuf::new(),
            };
            let mut experiment = source.parse()?;
            if extent == Extent::Quick {
                (file.quicken)(&mut experiment);
                source.text = Source::of_flags(&experiment).text;
            }
            Ok((file.name, file.observe, Plan::new(experiment, &source)?))
        });
        Ok(Campaign {
            paper: self,
            extent,
            parts: parts.collect::<Result<_, ExperimentError>>()?,
        })
    }
}

impl Campaign {
    /// How many runs it has.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.parts.iter().map(|(.., plan)| plan.jobs().len()).sum()
    }

    /// Does every run and judges the claims. What an interrupt leaves undone is missing in the
    /// outcome; claims cannot be told then.
    #[must_use]
    pub fn execute(
        &self,
        execution: Execution,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Reproduction {
        let parts = self.parts.iter().map(|(name, observe, plan)| {
            let (results, traces) = match observe {
                Observe::Measures => (plan.execute(execution, progress, interrupt), Vec::new()),
                Observe::Packets => (
                    plan.empty_results(),
                    record(plan, execution, progress, interrupt),
                ),
            };
            Part {
                name,
                results,
                traces,
            }
        });
        let evidence = Evidence {
            parts: parts.collect(),
        };
        self.judge(evidence)
    }

    fn judge(&self, evidence: Evidence) -> Reproduction {
        let mut judgement = (self.paper.judge)(&evidence);
        let book = self.paper.book();
        let missing = evidence.missing();
        let judged = book.claims.iter().map(|claim| {
            let own = judgement
                .findings
                .iter_mut()
                .find(|(id, _)| *id == claim.id);
            let why = match (&own, missing) {
                (None, _) => "no rule of this claim has been built",
                (Some(_), 0) => "the runs do not show what it is about",
                (Some(_), _) => "runs that it needs are missing",
            };
            let found = own.and_then(|(_, finding)| finding.take());
            let finding = match found {
                None => Finding::new(Verdict::CannotBeTold, why),
                // The rules were made for all runs: fewer might seem to refute a claim.
                Some(finding) if missing > 0 => {
                    Finding::new(Verdict::CannotBeTold, format!("so far: {}", finding.found))
                }
                Some(finding) => finding,
            };
            Judged {
                claim: claim.clone(),
                finding,
            }
        });
        Reproduction {
            key: self.paper.key,
            readme: self.paper.readme,
            extent: self.extent,
            judged: judged.collect(),
            exhibits: judgement.exhibits,
            evidence,
            book,
        }
    }
}

/// Records every run of `plan`, in its order.
fn record(
    plan: &Plan,
    execution: Execution,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Vec<Traced> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(execution.jobs.unwrap_or(0))
        .build()
        .expect("threads can be started");
    let jobs = plan.jobs();
    let mut traces: Vec<Traced> = pool.install(|| {
        jobs.par_iter()
            .with_max_len(1)
            .filter_map(|&job| {
                let trace = Trace::record(plan.scenario(job), job.seed, interrupt)
                    .expect("the plan has built it before");
                if interrupt.is_asked() {
                    // It may have ended early.
                    return None;
                }
                progress.run_done();
                Some(Traced { job, trace })
            })
            .collect()
    });
    traces.sort_by_key(|traced| (traced.job.point, traced.job.stack, traced.job.seed));
    traces
}
