//! Results of the scenarios, by which the criteria are judged, and the settings for the runs.

use std::path::Path;

use dupack_claims::{Judged, Verdict};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Results;

/// Settings for carrying out an evaluation.
#[derive(Clone, Copy)]
pub struct Conduct<'c> {
    /// Settings for performing the runs.
    pub runs: dupack_engine::Conduct<'c>,
    /// Folder in which finished runs are stored, so that they can be reused. `None` to store no runs.
    pub journal: Option<&'c Path>,
}

/// Results of a scenario.
#[derive(Debug)]
pub struct ScenarioResults {
    /// Name of the scenario.
    pub name: String,
    /// The experiment as it was run.
    pub source: Source,
    /// `true` if the scenario was run with more seeds because the first seeds did not decide every criterion.
    pub has_more_seeds: bool,
    /// Runs of the scenario.
    pub results: Results,
    /// Outcomes of the scenario's claims, one for each criterion.
    pub judged: Vec<Judged>,
}

impl ScenarioResults {
    /// Returns the name of the experiment file. The file of the first round is kept in the same folder.
    pub(crate) const fn file(&self) -> &'static str {
        match self.has_more_seeds {
            true => "experiment-more-seeds.toml",
            false => dupack_report::files::EXPERIMENT,
        }
    }

    /// Returns `true` if all runs were performed and some criterion is undecided.
    pub(crate) fn is_open(&self) -> bool {
        let open = |judged: &Judged| judged.finding.verdict == Verdict::CannotBeTold;
        self.results.missing() == 0 && self.judged.iter().any(open)
    }
}
