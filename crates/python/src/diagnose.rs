//! Diagnosis of captures, and packetdrill scripts.

use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use dupack_diagnosis::analyse::hints;
use dupack_diagnosis::both::{BothError, Which, diagnose_both};
use dupack_diagnosis::{
    ConnectionFindings, Continue, Diagnosis, Extent, Flow, LeftOut, Selection, Watch,
};
use dupack_diagnosis_tell::asking::{self, Asked};
use dupack_diagnosis_tell::numbers;
use dupack_lab::run::Interrupt;
use dupack_packet::captured::{CaptureReader, ReadError};
use dupack_script::Options;
use dupack_script::suite::{self, Suite};
use dupack_tcp::time::Duration;
use pyo3::prelude::*;

use crate::catalog::Catalog;
use crate::errors::exception;
use crate::watch::{Counts, attended};

/// Stops reading on an interrupt.
struct Reading<'i>(&'i Interrupt);

impl Watch for Reading<'_> {
    fn taken(&mut self, _: u64) -> Continue {
        match self.0.is_asked() {
            true => Continue::Stop,
            false => Continue::On,
        }
    }
}

/// Selection of packets and connections, as text.
#[derive(FromPyObject)]
pub struct Selected {
    #[pyo3(item)]
    flow: Option<String>,
    #[pyo3(item)]
    filter: Option<String>,
    #[pyo3(item)]
    since: Option<String>,
    #[pyo3(item)]
    until: Option<String>,
}

impl Selected {
    /// Parses the selection. An error has a message and a help text.
    fn parse(&self) -> Result<Selection, (String, &'static str)> {
        fn read<T: FromStr<Err: Display>>(
            name: &str,
            text: Option<&String>,
        ) -> Result<Option<T>, String> {
            let read = text.map(|text| text.parse()).transpose();
            read.map_err(|error| format!("{name}: {error}"))
        }
        let flow = read::<Flow>("flow", self.flow.as_ref())
            .map_err(|error| (error, "write the number of a connection, or its two ends"))?;
        let mut selection = Selection::from(flow.unwrap_or_default());
        selection.filter = read("filter", self.filter.as_ref())
            .map_err(|error| (error, "write a filter in the syntax of tcpdump"))?;
        let time = |error| (error, "docs/diagnose.md describes the formats of times");
        selection.time.since = read("since", self.since.as_ref()).map_err(time)?;
        selection.time.until = read("until", self.until.as_ref()).map_err(time)?;
        if selection.time.is_empty() {
            let error = "until is not later than since".to_owned();
            return Err((error, "write an earlier since or a later until"));
        }
        Ok(selection)
    }
}

/// Diagnoses a capture. Returns the findings as JSON, and as CSV with one line per data stream.
///
/// `selected` has a `flow`, a `filter` and two times, `since` and `until`. With `what_if`, the diagnosis also predicts
/// the completion times of other senders for the worst connection; `stacks` names these senders. `both` is a second
/// capture of the same transfer, taken at the other end.
#[pyfunction]
#[pyo3(signature = (path, catalog, selected, what_if=true, stacks=None, tick=None, both=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "they are the keywords of the Python function"
)]
pub fn diagnose(
    py: Python<'_>,
    path: PathBuf,
    catalog: &Catalog,
    selected: Selected,
    what_if: bool,
    stacks: Option<Vec<String>>,
    tick: Option<Py<PyAny>>,
    both: Option<PathBuf>,
) -> PyResult<(String, String)> {
    let place = path.display().to_string();
    let failed = |message: String, help: &str| {
        exception(
            py,
            "CaptureError",
            &message,
            &[("help", Some(help.to_owned()))],
        )
    };
    let selection = selected
        .parse()
        .map_err(|(error, help)| failed(error, help))?;
    let stacks = stacks.map(|names| {
        let stacks = names.iter().map(|name| catalog.stack(py, name));
        stacks.collect::<PyResult<Vec<_>>>()
    });
    let stacks = stacks.transpose()?;
    let files = [Some(&path), both.as_ref()];
    for path in files.into_iter().flatten() {
        // Report a missing file before any work.
        File::open(path).map_err(|error| {
            failed(
                format!("cannot open {}: {error}", path.display()),
                "name a capture, such as `tcpdump -w FILE` writes",
            )
        })?;
    }
    let catalog = catalog.now();
    let (counts, interrupt) = (Counts::of(asking_runs(what_if)), Interrupt::new());
    let ended = attended(py, (&counts, &interrupt), tick.as_ref(), || {
        let found = read(files, selection, &mut Reading(&interrupt))?;
        let asked = ask(&found, what_if, |stream| {
            asking::ask(stream, &catalog, stacks.as_deref(), &counts, &interrupt)
        });
        Ok::<_, BothError>((found, asked))
    })?;
    if let Some(by) = ended.by {
        return Err(by);
    }
    let (found, asked) = ended.made.map_err(|error| {
        let place = match &error {
            BothError::Read(Which::Second, _) => files[1].unwrap_or(&path),
            _ => &path,
        };
        failed(format!("{}: {error}", place.display()), error.help())
    })?;
    let asked =
        asked.map_err(|error| failed(format!("stacks: {error}"), "leave it out of the list"))?;
    check(&found, &place).map_err(|(message, help)| failed(message, &help))?;
    let csv = String::from_utf8_lossy(&numbers::connections_csv(&found)).into_owned();
    Ok((numbers::json(&found, asked.as_ref()), csv))
}

/// Reads one capture, or joins two.
fn read(
    files: [Option<&PathBuf>; 2],
    selection: Selection,
    watch: &mut Reading<'_>,
) -> Result<Diagnosis, BothError> {
    let open = |which| {
        let file = match which {
            Which::First => files[0],
            Which::Second => files[1],
        };
        let path = file.map_or(Path::new(""), PathBuf::as_path);
        CaptureReader::new(File::open(path).map_err(ReadError::Io)?)
    };
    let failed = |which| move |error| BothError::Read(which, error);
    let (mut found, which) = match files[1] {
        Some(_) => diagnose_both(open, &selection, watch)?,
        None => {
            let first = Which::First;
            let mut reader = open(first).map_err(failed(first))?;
            let found = dupack_diagnosis::diagnose(&mut reader, selection, watch);
            (found.map_err(failed(first))?, first)
        }
    };
    if found.connections.iter().any(|one| one.requests.is_some()) {
        let mut reader = open(which).map_err(failed(which))?;
        hints::look_up(&mut reader, &mut found.connections, watch).map_err(failed(which))?;
    }
    Ok(found)
}

const fn asking_runs(what_if: bool) -> usize {
    match what_if {
        true => dupack_diagnosis_tell::whatif::SEEDS as usize,
        false => 0,
    }
}

/// Predicts the completion times of other senders for the worst connection. Returns `None` if the prediction is not
/// `wanted`, if there is no connection, or if only a part of the capture was read.
fn ask(
    found: &Diagnosis,
    wanted: bool,
    ask: impl FnOnce(&dupack_diagnosis::StreamFindings) -> Result<Asked, String>,
) -> Result<Option<Asked>, String> {
    let worst = found.connections.first();
    let stream = worst.and_then(ConnectionFindings::main_stream);
    match stream.filter(|_| wanted && found.extent == Extent::Whole) {
        Some(stream) => ask(stream).map(Some),
        None => Ok(None),
    }
}

fn check(found: &Diagnosis, place: &str) -> Result<(), (String, String)> {
    if found.tally.with_tcp() == 0 {
        let help = match found.tally.packets {
            0 => "the file has no packets".to_owned(),
            _ => format!("the file has {}", found.tally),
        };
        return Err((format!("{place} has no TCP packets"), help));
    }
    let LeftOut { by_filter, by_time } = found.left_out;
    if found.connections_all == 0 && found.left_out != LeftOut::default() {
        let help = format!(
            "of {} TCP packets, filter excludes {by_filter}, since and until exclude {by_time}",
            found.tally.with_tcp()
        );
        return Err((format!("no packet of {place} is selected"), help));
    }
    if found.connections.is_empty() && found.connections_all > 0 {
        let all = found.connections_all;
        let help = format!(
            "the capture has {all} connections, numbered from 1 in the order of their first packets"
        );
        return Err((format!("{place} has no connection that matches flow"), help));
    }
    Ok(())
}

/// Runs packetdrill scripts. Returns a JSON list with the outcome of each script.
#[pyfunction]
#[pyo3(signature = (paths, catalog, stack=None, dialect="linux", tolerance_s=0.004))]
pub fn script(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    catalog: &Catalog,
    stack: Option<&str>,
    dialect: &str,
    tolerance_s: f64,
) -> PyResult<String> {
    let failed = |message: String, help: &str| {
        exception(
            py,
            "ScriptError",
            &message,
            &[("help", Some(help.to_owned()))],
        )
    };
    let mut options = Options::default();
    options.stack = stack.map(|stack| catalog.stack(py, stack)).transpose()?;
    options.dialect = serde_json::from_value(dialect.into()).map_err(|_| {
        failed(
            format!("dialect: unknown dialect `{dialect}`"),
            "write rfc, linux or ns2",
        )
    })?;
    if !(0.0..=3600.0).contains(&tolerance_s) {
        return Err(failed(
            format!("tolerance: expected 0 to 3600 seconds, found {tolerance_s}"),
            "packetdrill's own tolerance, 4 ms, is 0.004",
        ));
    }
    options.tolerance = Duration::from_nanos((tolerance_s * 1e9) as u64);
    let scripts = suite::scripts(&paths);
    if scripts.is_empty() {
        return Err(failed(
            "no script is given".to_owned(),
            "name files, or folders that have files ending in .pkt",
        ));
    }
    let (counts, interrupt) = (Counts::of(scripts.len()), Interrupt::new());
    let ended = attended(py, (&counts, &interrupt), None, || {
        let mut all = Suite::default();
        for path in scripts {
            if interrupt.is_asked() {
                break;
            }
            all.played.push(suite::play(&path, &options));
        }
        all
    })?;
    match ended.by {
        Some(by) => Err(by),
        None => Ok(ended.made.json().to_string()),
    }
}
