//! Experiments whose results do not fit into memory. Runs are written to files as they finish.

use std::path::PathBuf;

use dupack_engine::folder::{IfPresent, OutputFolder};
use dupack_engine::store::shards::Harm;
use dupack_engine::{Conduct, Progressed, Watch};
use dupack_lab::run::Held;
use dupack_report::stream::{Format, Settings, StreamError, Streaming};
use dupack_report::table::{Colour, Legend};
use pyo3::prelude::*;

use crate::errors::{diagnosed, exception};
use crate::plan::{Plan, fits};
use crate::supervise::{Place, supervised};

/// Outcome of a finished stream.
#[pyclass(frozen, get_all, module = "dupack._native")]
#[derive(Debug)]
pub struct Streamed {
    warnings: Vec<String>,
    text: String,
}

/// Options of a stream.
pub struct Asked {
    pub folder: PathBuf,
    pub resume: bool,
    /// Format of the files with runs. The default is the format of the existing folder, or Parquet in a new folder.
    pub format: Option<Format>,
    pub jobs: usize,
}

/// Parses the name of a format.
pub fn format(word: &str) -> Option<Format> {
    match word {
        "csv" => Some(Format::Csv),
        "parquet" => Some(Format::Parquet),
        _ => None,
    }
}

/// Performs all runs of `plan`, with or without the measurement of harm, and calls `tick` during the runs. Returns the
/// outcome, or the exception that interrupted the runs. Files of finished runs are kept.
pub fn stream(
    py: Python<'_>,
    plan: &Plan,
    asked: &Asked,
    tick: Option<Py<PyAny>>,
) -> PyResult<(Option<Streamed>, Option<PyErr>)> {
    let checked = &plan.0;
    let place = Place::of_plan(&checked.plan);
    if place == Place::Here {
        let message = "an algorithm in Python may end a run, but a stream needs every run";
        let help = "use Experiment.run(out=…), which keeps finished runs; with executor= it uses all processors";
        return Err(exception(
            py,
            "ExperimentError",
            message,
            &[("help", Some(help.to_owned()))],
        ));
    }
    let execution = place.execution(asked.jobs);
    fits(py, &checked.plan, Held::Points, execution)?;
    let failed = |error: StreamError| diagnosed(py, "FolderError", &error);
    let mut streaming = begin(plan, asked).map_err(failed)?;
    if streaming.is_finished() {
        let nothing = Streamed {
            warnings: Vec::new(),
            text: String::new(),
        };
        return Ok((Some(nothing), None));
    }
    let all = streaming.runs_to_do();
    let ended = supervised(py, (place, all), tick, |watch, interrupt| {
        if !checked.rules.claims().is_empty() {
            watch.note("the claims are not judged: this needs all runs in memory; Experiment.run judges them");
        }
        let conduct = Conduct {
            execution,
            watch,
            interrupt,
        };
        let progressed = streaming.execute(&checked.plan, &conduct)?;
        match progressed {
            Progressed::ToBlock(_) => Ok(None),
            Progressed::ToTheEnd => streaming.finish(&checked.plan, &checked.catalog).map(Some),
        }
    })?;
    let finished = ended.made.map_err(failed)?;
    let streamed = finished.map(|finished| Streamed {
        text: finished.text(Legend::Whole, Colour::No, None),
        warnings: finished.warnings,
    });
    Ok((streamed, ended.by))
}

fn begin(plan: &Plan, asked: &Asked) -> Result<Streaming, StreamError> {
    let checked = &plan.0;
    if asked.resume {
        return Streaming::again(&asked.folder, &checked.plan, &checked.source, asked.format);
    }
    let folder = OutputFolder::create(&asked.folder, IfPresent::Refuse)?;
    let mut settings = Settings::new(match checked.harm {
        true => Harm::Measured,
        false => Harm::LeftOut,
    });
    settings.format = asked.format.unwrap_or(Format::Parquet);
    Streaming::new(folder, &checked.plan, &checked.source, &settings)
}
