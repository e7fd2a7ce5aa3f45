//! Results of the scenarios, on which the criteria are judged, and the settings for the runs.

use std::path::Path;

use dupack_claims::{Judged, Verdict};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Results;

/// Settings for carrying out an evaluation.
#[derive(Clone, Copy)]
pub struct Conduct<'c> {
    /// Settings for performing the runs.
    pub runs: dupack_engine::Conduct<'c>,
    /// Folder in which finished runs are kept and found again; `None` to keep none.
    pub journal: Option<&'c Path>,
}

/// Results of a scenario.
#[derive(Debug)]
pub struct ScenarioResults {
    /// Name of the scenario.
    pub name: String,
    /// The experiment as it was run.
    pub source: Source,
    /// `true` if it was run with more seeds because the first ones did not decide every criterion.
    pub has_more_seeds: bool,
    /// Its runs.
    pub results: Results,
    /// Outcome of its claims, one for each criterion.
    pub judged: Vec<Judged>,
}

impl ScenarioResults {
    /// Returns the name of the experiment file; the file of the first round is kept beside it.
    pub(crate) const fn file(&self) -> &'static str {
        match self.has_more_seeds {
            true => "experiment-more-seeds.toml",
            false => dupack_report::files::EXPERIMENT,
        }
    }

    /// Returns `true` if all of its runs were performed and some criterion is undecided.
    pub(crate) fn is_open(&self) -> bool {
        let open = |judged: &Judged| judged.finding.verdict == Verdict::CannotBeTold;
        self.results.missing() == 0 && self.judged.iter().any(open)
    }
}
