//! Report cards, and reruns of published results.

use std::path::PathBuf;

use dupack_algorithms::catalog::StackSpec;
use dupack_evaluation::{Campaign, Card, Conduct, Extent, Scale, Suite};
use dupack_lab::run::{Interrupt, take_fault};
use dupack_papers as papers;
use pyo3::prelude::*;

use crate::catalog::Catalog;
use crate::errors::{diagnosed, experiment};
use crate::plugin::{failed_check, failures, told};
use crate::supervise::{Place, supervised};
use crate::watch::{Counts, attended};

/// Evaluates `stacks`. Returns a JSON list with a report card for each stack.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the keywords of the Python function"
)]
#[pyo3(signature = (stacks, catalog, keys, quick, jobs, suite=None, tick=None))]
pub fn evaluate(
    py: Python<'_>,
    stacks: Vec<String>,
    catalog: &Catalog,
    keys: Vec<String>,
    quick: bool,
    jobs: usize,
    suite: Option<PathBuf>,
    tick: Option<Py<PyAny>>,
) -> PyResult<String> {
    let failed = |error| diagnosed(py, "StackError", &error);
    let suite = suite.map_or_else(|| Ok(Suite::builtin()), |path| Suite::read(&path));
    let suite = suite.map_err(failed)?;
    let scale = Scale {
        extent: match quick {
            true => Extent::Quick,
            false => Extent::Full,
        },
        seed_set: 1,
    };
    let catalog = catalog.now();
    drop(take_fault());
    let campaign = Campaign::new(&suite, (&stacks, &catalog), &keys, scale);
    if let Some(fault) = take_fault() {
        return Err(failed_check(py, fault));
    }
    let campaign = campaign.map_err(failed)?;
    let specs = stacks
        .iter()
        .filter_map(|stack| StackSpec::parse(stack, &catalog).ok());
    let specs: Vec<StackSpec> = specs.collect();
    let place = Place::of(specs.iter());
    let ended = supervised(py, (place, campaign.runs()), tick, |watch, interrupt| {
        campaign.carry_out(&Conduct {
            runs: dupack_engine::Conduct {
                execution: place.execution(jobs),
                watch,
                interrupt,
            },
            journal: None,
        })
    })?;
    if let Some(by) = ended.by {
        return Err(by);
    }
    let evaluated = ended
        .made
        .map_err(|error| diagnosed(py, "FolderError", &error))?;
    let failures = failures(py, None, ended.given_up)?;
    let parts = evaluated.iter().flat_map(|of| &of.parts);
    let runs: usize = parts.map(|part| part.results.runs.len()).sum();
    told(py, failures, runs)?;
    let cards: Vec<&Card> = evaluated.iter().map(|of| &of.card).collect();
    Ok(serde_json::to_string(&cards).expect("cards are text"))
}

/// Repeats the experiments of a paper. Returns the verdicts on its claims as JSON, and its tables as CSV, by name.
#[pyfunction]
#[pyo3(signature = (key, quick, jobs, tick=None))]
pub fn paper(
    py: Python<'_>,
    key: &str,
    quick: bool,
    jobs: usize,
    tick: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<(String, String)>)> {
    let paper = papers::find(key).map_err(|error| diagnosed(py, "ExperimentError", &error))?;
    let extent = match quick {
        true => papers::Extent::Quick,
        false => papers::Extent::Full,
    };
    let campaign = paper.plan(extent).map_err(|error| experiment(py, &error))?;
    let (counts, interrupt) = (Counts::of(campaign.runs()), Interrupt::new());
    let ended = attended(py, (&counts, &interrupt), tick.as_ref(), || {
        campaign.execute(Place::Threads.execution(jobs), &counts, &interrupt)
    })?;
    if let Some(by) = ended.by {
        return Err(by);
    }
    let made = ended.made;
    let claims = made.judged.iter().map(|judged| {
        serde_json::json!({
            "claim": judged.claim.id,
            "text": judged.claim.statement,
            "paper": judged.claim.paper,
            "standing": papers::Standing::of(made.key, &judged.claim).name(),
            "verdict": judged.finding.verdict.name(),
            "found": judged.found(),
            "explanation": judged.explanation(),
        })
    });
    let claims = serde_json::Value::Array(claims.collect());
    let tables = made.tables().map(|table| {
        let csv = String::from_utf8_lossy(&table.csv()).into_owned();
        (table.name.clone(), csv)
    });
    Ok((claims.to_string(), tables.collect()))
}

/// Returns the keys and titles of the papers.
#[pyfunction]
pub fn paper_list() -> Vec<(&'static str, String)> {
    let all = papers::PAPERS.iter();
    all.map(|paper| (paper.key, paper.book().title)).collect()
}
