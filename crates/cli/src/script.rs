//! `dupack script`: packetdrill scripts against our endpoint, in simulated time.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use dupack_algorithms::catalog::{Catalog, Dialect, StackSpec};
use dupack_engine::folder::{IfPresent, OutputFolder};
use dupack_lab::units::Delay;
use dupack_report::files::Files;
use dupack_script::suite::{Played, Suite, play, play_traced, scripts};
use dupack_script::{Options, Trace};
use dupack_tcp::time::Duration;
use miette::{IntoDiagnostic, Report, Result, miette};

use crate::flags::{Format, dialect};
use crate::output::print;

/// Exit code if a script failed.
const FAILED: u8 = 1;

/// Exit code if a script cannot be read.
const UNREAD: u8 = 2;

#[derive(Debug, Args)]
#[command(after_help = "\
Scripts run in simulated time and do not use or change this machine. A script
that needs an unsupported feature is skipped, with the reason; docs/scripts.md
lists the supported features.

Examples:
  dupack script crates/script/conformance
  dupack script --stack le/reno --trace out fast-retransmit.pkt

Exit codes:
  0  every script passed or was skipped
  1  a script failed
  2  invalid flags, an unreadable file, or a trace that cannot be written; the
     other scripts are run all the same")]
pub struct ScriptArgs {
    /// Scripts, and folders that are searched for .pkt files
    #[arg(value_name = "FILE", required = true)]
    paths: Vec<PathBuf>,
    /// Recovery and congestion control [default: rack, with the control that the script requests, or cubic]
    #[arg(long)]
    stack: Option<String>,
    /// Rules that the endpoint follows
    #[arg(long, value_parser = dialect(), default_value_t = Dialect::Linux)]
    dialect: Dialect,
    /// Tolerance of the time of an event, unless the script sets its own
    #[arg(long, value_name = "DELAY", default_value = "4ms")]
    tolerance: Delay,
    /// Folder for a time–sequence figure and a capture of each script; must be empty or new
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &ScriptArgs, catalog: &Catalog) -> Result<ExitCode> {
    let options = options(args, catalog)?;
    let paths = scripts(&args.paths);
    if paths.is_empty() {
        return Err(miette!("there is no .pkt file"));
    }
    let mut traces = args.trace.as_deref().map(Traces::new).transpose()?;
    let mut suite = Suite::default();
    let mut missing = Vec::new();
    for path in &paths {
        let (played, untraced) = played(path, &options, traces.as_mut());
        if let Some(error) = untraced {
            say!("{error:?}");
            missing.push(path);
        }
        if args.format == Format::Table {
            print(&text(&played, paths.len()))?;
        }
        suite.played.push(played);
    }
    match args.format {
        Format::Table if paths.len() > 1 => print(&format!("\n{}", suite.table()))?,
        Format::Table => {}
        Format::Csv => print(&suite.csv())?,
        Format::Json => print(&format!("{:#}", suite.json()))?,
    }
    if !missing.is_empty() {
        let (missing, all) = (missing.len(), paths.len());
        say!(
            "error: the traces of {missing} of {all} scripts are missing or incomplete; all scripts were run"
        );
    }
    let counts = suite.counts();
    Ok(match (counts.unread, counts.failed) {
        (0, 0) if missing.is_empty() => ExitCode::SUCCESS,
        (0, 1..) if missing.is_empty() => ExitCode::from(FAILED),
        _ => ExitCode::from(UNREAD),
    })
}

fn options(args: &ScriptArgs, catalog: &Catalog) -> Result<Options> {
    let stack = args
        .stack
        .as_deref()
        .map(|stack| StackSpec::parse(stack, catalog))
        .transpose()
        .into_diagnostic()?;
    let mut options = Options::default();
    options.stack = stack;
    options.dialect = args.dialect;
    options.tolerance = Duration::from_nanos(args.tolerance.as_nanos());
    options.print = printer(args.format);
    Ok(options)
}

/// Returns the function that prints the output of a script's `print`: to standard output as in packetdrill, or to
/// standard error if standard output is read by other programs. A closed pipe is not an error.
fn printer(format: Format) -> fn(&str) {
    match format {
        Format::Table => |line| {
            let _ = writeln!(io::stdout(), "{line}");
        },
        Format::Csv | Format::Json => |line| {
            let _ = writeln!(io::stderr(), "{line}");
        },
    }
}

/// Folder for the traces of scripts.
struct Traces {
    folder: OutputFolder,
    names: BTreeSet<String>,
}

impl Traces {
    fn new(folder: &Path) -> Result<Self> {
        Ok(Self {
            folder: OutputFolder::create_for("--trace", folder, IfPresent::Refuse)?,
            names: BTreeSet::new(),
        })
    }

    /// Writes the figure and the capture of a script. The files are named after the script and its folder, and numbered
    /// if these names are taken because other folders have the same name.
    fn write(&mut self, path: &Path, trace: &Trace) -> Result<()> {
        let inside = path.parent().and_then(Path::file_name).unwrap_or_default();
        let stem = path.file_stem().unwrap_or_default();
        let name = Path::new(inside).join(stem);
        let name = self.unused(&name.to_string_lossy());
        let title = stem.to_string_lossy();
        let figure = trace
            .svg(&title, &path.display().to_string())
            .into_diagnostic()?;
        let capture = trace.pcapng().into_diagnostic()?;
        let mut files = Files::new();
        files.add_figure(&name, figure);
        files.add(format!("{name}.pcapng"), || capture.clone());
        files.write(&self.folder)?;
        Ok(())
    }

    fn unused(&mut self, name: &str) -> String {
        let mut unused = name.to_owned();
        let mut number = 2_u32;
        while !self.names.insert(unused.clone()) {
            unused = format!("{name}-{number}");
            number += 1;
        }
        unused
    }
}

/// Runs a script, and returns its outcome. Also returns an error if a requested trace cannot be written.
fn played(path: &Path, options: &Options, traces: Option<&mut Traces>) -> (Played, Option<Report>) {
    let Some(traces) = traces else {
        return (play(path, options), None);
    };
    let (played, trace) = play_traced(path, options);
    let error = trace.and_then(|trace| traces.write(path, &trace).err());
    (played, error)
}

/// Returns the text about a script: one line, or the details of a failure if there is only one script.
fn text(played: &Played, scripts: usize) -> String {
    match scripts {
        1 => played.text(),
        _ => played.line(),
    }
}
