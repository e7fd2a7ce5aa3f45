//! `dupack diagnose`: the limits of the transfers in a capture.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_diagnosis::analyse::hints;
use dupack_diagnosis::both::{BothError, Which, diagnose_both};
use dupack_diagnosis::read::time_range::rfc3339;
use dupack_diagnosis::{
    ConnectionFindings, Continue, Diagnosis, Extent, Filter, Flow, LeftOut, Selection, TimePoint,
    TimeRange, Watch, diagnose,
};
use dupack_diagnosis_tell::annotate::{AnnotateError, annotate};
use dupack_diagnosis_tell::asking::{Asked, ask, courses, experiment_files};
use dupack_diagnosis_tell::diagnosis_page::{self, Scenes};
use dupack_diagnosis_tell::film::{Remarks, retell};
use dupack_diagnosis_tell::measures::{self, Condition};
use dupack_diagnosis_tell::numbers;
use dupack_diagnosis_tell::summary::{Look, summary};
use dupack_diagnosis_tell::whatif::SEEDS;
use dupack_diagnosis_tell::words;
use dupack_engine::folder::OutputFolder;
use dupack_packet::CaptureTime;
use dupack_packet::captured::{CaptureReader, ReadError};
use dupack_report::files::PAGE;
use dupack_tcp::time::Duration;
use miette::{IntoDiagnostic, Report, Result, miette};

use crate::flags::{StackList, whole};
use crate::input::Input;
use crate::output::{INTERRUPTED, folder, print, terminal};
use crate::progress::{Bar, Reading, interrupt_of_input, interrupt_saying};

/// Message about the results that are kept when the user interrupts.
const KEPT: &str = "the findings so far are shown";

/// Name of the command's folder.
const NAME: &str = "diagnose";

/// Exit code if a connection of the capture meets a condition of `--fail-on`.
const FAILED: u8 = 3;

/// Maximum number of connections that are listed because they meet a condition (our choice).
const FAILURES_SHOWN: usize = 20;

/// File name that means standard input.
const STDIN: &str = "-";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack diagnose slow.pcap
  tcpdump -i eth0 -s 128 -w - tcp port 443 | dupack diagnose -
  dupack diagnose slow.pcapng.gz --flow 3
  dupack diagnose slow.pcap --flow 10.0.0.7:443 --format json
  dupack diagnose slow.pcap --filter 'net 10.0.0.0/8 and port 443'
  dupack diagnose slow.pcap --since 12:30:05 --until 12:31
  dupack diagnose slow.pcap --out slow --annotate slow-annotated.pcapng
  dupack diagnose slow.pcap --stacks rack/cubic,rack/bbr --path slow-path.toml
  dupack diagnose slow.pcap --summary | cut -f 1-3,12
  dupack diagnose slow.pcap --summary --by server
  dupack diagnose slow.pcap --fail-on 'retransmitted > 1%'
  dupack diagnose --both client.pcap server.pcap

The worst connections come first: those whose data an end waited for the
longest. docs/diagnose.md explains the findings, their derivation and their
limits.")]
pub struct DiagnoseArgs {
    /// Capture in pcap or pcapng format, optionally compressed by gzip; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "both")]
    file: Option<PathBuf>,
    /// Join two captures of the same transfer, one from each end, to get the losses and delays of each direction. The
    /// offset of the clocks is estimated
    #[arg(long, num_args = 2, value_names = ["A.pcap", "B.pcap"], conflicts_with = "file")]
    both: Option<Vec<PathBuf>>,
    /// Report only these connections: a number of the table (3), an address with or without a port (10.0.0.1:443), or a
    /// port (:443)
    #[arg(long, value_name = "N|ADDRESS")]
    flow: Option<Flow>,
    /// Analyse only packets that match this filter in the syntax of tcpdump: host, net, port, src, dst, and, or, not
    /// ('host 10.0.0.1 and port 443'). Both directions of a connection match, or neither
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Filter>,
    /// Analyse only packets from this time on: a time after the first TCP packet (30s, 1.5s, 2min), a time of day in
    /// UTC (12:30:05), or a date and time (2026-11-28T12:30:05Z)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<TimePoint>,
    /// Analyse only packets before this time, in the formats of --since
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<TimePoint>,
    /// Number of connections described in detail
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<usize>(1, 1000))]
    detail: usize,
    /// Maximum number of further connections that are listed
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<usize>(0, 1000))]
    most: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Print a header and one line per connection, in columns separated by tabs; nothing is simulated
    #[arg(long, conflicts_with = "format")]
    summary: bool,
    /// Rows of --summary
    #[arg(long, value_enum, default_value_t, requires = "summary")]
    by: By,
    /// Exit with code 3 if a connection meets this condition, such as 'retransmitted > 1%', 'timeouts > 0', 'lost >
    /// 5s', 'rtt > 200ms', 'goodput < 1Mbit/s' or 'p95 > 500ms' (of its requests). May be repeated
    #[arg(long, value_name = "CONDITION")]
    fail_on: Vec<Condition>,
    /// Folder for a report with figures, CSV and JSON; must be empty or new
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Copy the packets of the connections described in detail to this pcapng file, with a comment on each packet
    #[arg(long, value_name = "FILE.pcapng")]
    annotate: Option<PathBuf>,
    /// Write the path of the worst connection as an experiment for run, trace, compare, testbed and evaluate
    #[arg(long, value_name = "FILE.toml")]
    path: Option<PathBuf>,
    /// Stacks whose completion time is predicted by simulation [default: all stacks in Linux]
    #[arg(long, value_name = "STACKS", conflicts_with = "no_what_if")]
    stacks: Option<StackList>,
    /// Do not simulate other senders
    #[arg(long)]
    no_what_if: bool,
}

/// Rows of a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// Each connection
    #[default]
    Connection,
    /// Each server, with the sums of its connections
    Server,
}

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for the terminal
    #[default]
    Text,
    /// One object with everything
    Json,
    /// One line per stream of data
    Csv,
}

pub fn run(args: &DiagnoseArgs, catalog: &Catalog) -> Result<ExitCode> {
    let mut selection = selection(args)?;
    let stacks = stacks(args, catalog)?;
    let is_stdin = args.file.as_deref().is_some_and(is_stdin);
    if args.annotate.is_some() && is_stdin {
        return Err(miette!(
            help = "write it to a file first: tee FILE | dupack diagnose -",
            "--annotate reads the capture several times, but standard input can be read only once"
        ));
    }
    // Create the folder first, so that an unusable folder costs no time.
    let out = args.out.as_deref().map(|path| folder(Some(path), NAME));
    let out = out.transpose()?;
    let copy = args.annotate.as_deref().map(new_file).transpose()?;
    let read = match &args.both {
        Some(files) => read_both(files, &selection),
        None => {
            let file = args.file.clone().unwrap_or_default();
            read(&file, &selection).map(|found| (found, file))
        }
    };
    let checked = read.and_then(|(found, file)| Ok((check(args, &file, found)?, file)));
    let (mut diagnosis, file) = match checked {
        Ok(read) => read,
        Err(error) => {
            if let Some(out) = out {
                out.abandon();
            }
            if let Some((path, _)) = copy {
                // The file is empty and was just created.
                let _ = std::fs::remove_file(path);
            }
            return Err(error);
        }
    };
    selection.origin = diagnosis.first;
    if !args.summary || out.is_some() {
        look_up(&mut diagnosis, &file)?;
    }
    for note in &diagnosis.notes {
        say!("note: {note}");
    }
    if diagnosis.left_out != LeftOut::default() {
        say!("note: {}", left_out(&diagnosis));
    }
    let asked = what_if(args, &diagnosis, catalog, stacks.as_deref())?;
    match args.format {
        _ if args.summary => print(&match args.by {
            By::Connection => measures::lines(&diagnosis),
            By::Server => numbers::server_lines(&diagnosis),
        })?,
        Format::Text => {
            let (colour, width) = terminal();
            let look = Look {
                colour,
                width,
                detailed: args.detail,
                listed: args.most,
            };
            print(&summary(&diagnosis, asked.as_ref(), &look))?;
        }
        Format::Json => print(&numbers::json(&diagnosis, asked.as_ref()))?,
        Format::Csv => print(&String::from_utf8_lossy(&numbers::connections_csv(
            &diagnosis,
        )))?,
    }
    if let Some(out) = out {
        report(
            (args, &file),
            &diagnosis,
            (asked.as_ref(), &selection),
            &out,
        )?;
    }
    if let Some((path, copy)) = copy {
        annotated((args, &file), &diagnosis, &selection, (path, copy))?;
    }
    if let Some(path) = &args.path {
        write_path(&diagnosis, path)?;
    }
    if diagnosis.extent == Extent::Interrupted || interrupt_saying(KEPT).is_asked() {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(match failures(&args.fail_on, &diagnosis) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(FAILED),
    })
}

/// Prints the connections that meet conditions, and returns their number.
fn failures(conditions: &[Condition], diagnosis: &Diagnosis) -> usize {
    let mut failures = 0;
    for condition in conditions {
        let connections = &diagnosis.connections;
        if let Some(note) = condition.not_told(connections) {
            say!("note: --fail-on '{condition}': {note}");
        }
        for connection in connections {
            let Some(value) = condition.met_by(connection) else {
                continue;
            };
            failures += 1;
            if failures <= FAILURES_SHOWN {
                say!(
                    "failed: connection #{} ({} – {}) meets '{condition}': {value}",
                    connection.number,
                    connection.addresses.opener,
                    connection.addresses.answerer
                );
            }
        }
    }
    if failures > FAILURES_SHOWN {
        say!("failed: {} more connections", failures - FAILURES_SHOWN);
    }
    if !conditions.is_empty() && diagnosis.beyond.connections > 0 {
        say!(
            "note: --fail-on checks {} connections; {} more are not stored or not selected by --flow",
            diagnosis.connections.len(),
            diagnosis.beyond.connections
        );
    }
    failures
}

/// Returns the selected packets and connections.
fn selection(args: &DiagnoseArgs) -> Result<Selection> {
    let mut selection = Selection::from(args.flow.unwrap_or_default());
    selection.filter.clone_from(&args.filter);
    selection.time = TimeRange {
        since: args.since,
        until: args.until,
    };
    if selection.time.is_empty() {
        return Err(miette!(
            help = "use an earlier --since or a later --until; packets exactly at --until are not analysed",
            "--until is not after --since"
        ));
    }
    Ok(selection)
}

/// Returns a sentence about the TCP packets that were not selected.
fn left_out(diagnosis: &Diagnosis) -> String {
    let LeftOut { by_filter, by_time } = diagnosis.left_out;
    let all = diagnosis.tally.with_tcp();
    let part = |packets: u64, by: &str, verb: &str| {
        (packets > 0).then(|| format!("{by} {verb} {packets} of {all} TCP packets"))
    };
    let parts = [
        part(by_time, "--since and --until", "exclude"),
        part(by_filter, "--filter", "excludes"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", and ")
}

/// Returns the stacks of `--stacks`.
fn stacks(args: &DiagnoseArgs, catalog: &Catalog) -> Result<Option<Vec<StackSpec>>> {
    let Some(StackList(names)) = &args.stacks else {
        return Ok(None);
    };
    let parsed = names.iter().map(|name| StackSpec::parse(name, catalog));
    let parsed = parsed.collect::<std::result::Result<Vec<_>, _>>();
    parsed
        .map(Some)
        .map_err(|error| miette!("--stacks: {error}"))
}

/// Returns the prediction for other senders of the worst connection.
fn what_if(
    args: &DiagnoseArgs,
    diagnosis: &Diagnosis,
    catalog: &Catalog,
    stacks: Option<&[StackSpec]>,
) -> Result<Option<Asked>> {
    let worst = diagnosis.connections.first();
    let worst = worst.and_then(ConnectionFindings::main_stream);
    let is_shown = !args.summary || args.out.is_some();
    let Some(stream) = worst.filter(|_| is_shown && !args.no_what_if) else {
        return Ok(None);
    };
    let stop = interrupt_saying(KEPT);
    if stop.is_asked() {
        return Ok(None);
    }
    let bar = Bar::new(SEEDS as usize, "what if");
    let asked = ask(stream, catalog, stacks, &bar, stop);
    bar.finish();
    asked
        .map(Some)
        .map_err(|error| miette!("--stacks: {error}"))
}

/// Writes the path of the worst connection as an experiment, with the files that it names.
fn write_path(diagnosis: &Diagnosis, path: &Path) -> Result<()> {
    let worst = diagnosis.connections.first();
    let Some(stream) = worst.and_then(ConnectionFindings::main_stream) else {
        return Err(miette!("--path: no connection carried data"));
    };
    let name = PathBuf::from(path.file_name().unwrap_or_default());
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = experiment_files(stream, name).map_err(|error| {
        miette!(
            help = format!("{} would provide it", error.remedy),
            "--path: {error}"
        )
    })?;
    for (file, text) in files {
        let file = folder.join(file);
        let (_, mut made) = new_file(&file)?;
        made.write_all(text.as_bytes())
            .map_err(|error| miette!("cannot write {}: {error}", file.display()))?;
        say!("path: {}", file.display());
    }
    Ok(())
}

/// Writes the report. The figures need a second pass over the capture.
fn report(
    (args, file): (&DiagnoseArgs, &Path),
    diagnosis: &Diagnosis,
    (asked, selection): (Option<&Asked>, &Selection),
    out: &OutputFolder,
) -> Result<()> {
    let scenes = if is_stdin(file) {
        say!("note: there are no figures, because standard input cannot be read twice");
        Scenes::new()
    } else {
        let detailed = diagnosis.connections.iter().take(args.detail);
        let numbers: Vec<u64> = detailed.map(|found| found.number).collect();
        let (mut reader, mut reading) = again(file)?;
        let scenes = retell(
            &mut reader,
            &numbers,
            selection,
            Remarks::None,
            &mut reading,
        );
        reading.bar.finish();
        scenes.map_err(|error| unreadable(file, error))?
    };
    let name = name(file);
    let name = name.rsplit('/').next().unwrap_or(&name);
    let first = diagnosis.connections.first();
    let courses = match first.and_then(ConnectionFindings::main_stream).zip(asked) {
        Some((stream, asked)) => courses(stream, asked, &Catalog::builtin()),
        None => Vec::new(),
    };
    diagnosis_page::files(diagnosis, asked, (name, args.detail), &scenes, &courses)
        .into_diagnostic()?
        .write(out)?;
    say!("report: {}", out.path().join(PAGE).display());
    Ok(())
}

/// Copies the packets of the connections described in detail, with comments.
fn annotated(
    (args, captured): (&DiagnoseArgs, &Path),
    diagnosis: &Diagnosis,
    selection: &Selection,
    (path, file): (&Path, File),
) -> Result<()> {
    let detailed: Vec<_> = diagnosis.connections.iter().take(args.detail).collect();
    let ((mut first, mut reading), (mut second, other)) = (again(captured)?, again(captured)?);
    other.bar.finish();
    let done = annotate(
        (&mut first, &mut second),
        &detailed,
        selection,
        file,
        &mut reading,
    );
    reading.bar.finish();
    let copied = done.map_err(|error| match error {
        AnnotateError::Read(error) => unreadable(captured, error),
        AnnotateError::Write(error) => miette!("cannot write {}: {error}", path.display()),
    })?;
    say!("comments: {} ({copied} packets)", path.display());
    Ok(())
}

/// Creates a file, and returns an error if the file exists.
fn new_file(path: &Path) -> Result<(&Path, File)> {
    let made = File::create_new(path).map_err(|error| {
        miette!(
            help = "name a new file; existing files are not overwritten",
            "cannot write {}: {error}",
            path.display()
        )
    })?;
    Ok((path, made))
}

/// Reads the first bytes of requests and answers in another pass over the capture.
fn look_up(diagnosis: &mut Diagnosis, file: &Path) -> Result<()> {
    let has_requests = diagnosis
        .connections
        .iter()
        .any(|one| one.requests.is_some());
    if is_stdin(file) || !has_requests || diagnosis.extent == Extent::Interrupted {
        return Ok(());
    }
    let (mut reader, mut reading) = again(file)?;
    let done = hints::look_up(&mut reader, &mut diagnosis.connections, &mut reading);
    reading.bar.finish();
    done.map(|_| ()).map_err(|error| unreadable(file, error))
}

/// Opens the capture again at its start.
fn again(file: &Path) -> Result<(CaptureReader<Box<dyn Read>>, Reader)> {
    let (input, length) = open(file)?;
    let reading = Reader::new(file, length);
    let reader = CaptureReader::new(input).map_err(|error| unreadable(file, error))?;
    Ok((reader, reading))
}

/// Reads the capture and shows the progress.
fn read(file: &Path, selection: &Selection) -> Result<Diagnosis> {
    let (input, length) = open(file)?;
    let mut reading = Reader::new(file, length);
    let failed = |error| unreadable(file, error);
    let mut reader = CaptureReader::new(input).map_err(failed)?;
    let done = diagnose(&mut reader, selection.clone(), &mut reading);
    reading.bar.finish();
    done.map_err(failed)
}

/// Reads two captures, and returns the findings with the capture that they refer to.
fn read_both(files: &[PathBuf], selection: &Selection) -> Result<(Diagnosis, PathBuf)> {
    let [first, second] = files else {
        return Err(miette!("--both takes two captures"));
    };
    if let Some(stdin) = files.iter().find(|file| is_stdin(file)) {
        return Err(miette!(
            help = "write it to a file first: tee FILE",
            "--both reads each capture several times, but standard input ({}) can be read only once",
            stdin.display()
        ));
    }
    let file = |which| match which {
        Which::First => first,
        Which::Second => second,
    };
    // Report a missing file before reading any.
    let lengths = [open(first)?.1, open(second)?.1];
    let length = lengths.into_iter().flatten().max();
    let mut reading = Reader::new(first, length);
    let again = |which| {
        let opened = File::open(file(which)).map_err(ReadError::Io)?;
        CaptureReader::new(opened)
    };
    let done = diagnose_both(again, selection, &mut reading);
    reading.bar.finish();
    let (found, which) = done.map_err(|error| match error {
        BothError::Read(which, error) => unreadable(file(which), error),
        error => miette!(
            help = error.help(),
            "cannot join {} and {}: {error}",
            first.display(),
            second.display()
        ),
    })?;
    let (this, other) = (file(which), file(which.other()));
    say!(
        "note: findings, packets and times refer to {}; {} is the other capture",
        this.display(),
        other.display()
    );
    Ok((found, this.clone()))
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == STDIN
}

/// Opens the file or standard input, and returns its length if it is known.
fn open(file: &Path) -> Result<(Box<dyn Read>, Option<u64>)> {
    if is_stdin(file) {
        let ends = interrupt_of_input(KEPT);
        return Ok((Box::new(Input::new(io::stdin(), ends)), None));
    }
    let opened = File::open(file).map_err(|error| {
        miette!(
            help = "name a capture, such as one written by `tcpdump -w FILE`; - is standard input",
            "cannot open {}: {error}",
            file.display()
        )
    })?;
    let length = opened.metadata().ok().filter(std::fs::Metadata::is_file);
    Ok((Box::new(opened), length.map(|of| of.len())))
}

fn name(file: &Path) -> String {
    if is_stdin(file) {
        return "standard input".to_owned();
    }
    file.display().to_string()
}

fn unreadable(file: &Path, error: ReadError) -> Report {
    let name = name(file);
    match error {
        ReadError::Io(cause) if cause.kind() == io::ErrorKind::IsADirectory => miette!(
            help = format!(
                "name a capture in the folder, such as {}",
                file.join("x.pcap").display()
            ),
            "cannot read {name}: it is a folder, not a capture"
        ),
        ReadError::Io(cause) => miette!("cannot read {name}: {cause}"),
        other => miette!(
            help = "captures written by `tcpdump -w FILE` and Wireshark are supported",
            "{name}: {other}"
        ),
    }
}

/// Returns the time of the last packet of a capture, from its first packet and its duration.
fn last_of(first: CaptureTime, duration: Duration) -> CaptureTime {
    CaptureTime::from_unix_nanos(first.as_unix_nanos().saturating_add(duration.as_nanos()))
}

/// Returns an error if there is nothing to report.
fn check(args: &DiagnoseArgs, file: &Path, diagnosis: Diagnosis) -> Result<Diagnosis> {
    let name = name(file);
    if diagnosis.tally.with_tcp() == 0 {
        let help = match diagnosis.tally.packets {
            0 => "it has no packets".to_owned(),
            _ => format!("it has {}", diagnosis.tally),
        };
        return Err(miette!(help = help, "{name} has no TCP packets"));
    }
    if diagnosis.connections_all == 0
        && diagnosis.left_out != LeftOut::default()
        && let Some(first) = diagnosis.first
    {
        let help = match diagnosis.left_out.by_time {
            0 => {
                "without --filter, the addresses and ports of its connections are listed".to_owned()
            }
            _ => format!(
                "its first packet was captured at {}, its last at {}",
                rfc3339(first),
                rfc3339(last_of(first, diagnosis.duration))
            ),
        };
        return Err(miette!(
            help = help,
            "no packet of {name} is selected: {}",
            left_out(&diagnosis)
        ));
    }
    if diagnosis.connections.is_empty() && args.flow.is_some() {
        return Err(miette!(
            help = format!(
                "it has {}, numbered from 1 in the order of their first packets; without --flow, the worst of them \
                 are shown",
                words::things(diagnosis.connections_all, "connection", "connections")
            ),
            "no connection of {name} matches --flow"
        ));
    }
    Ok(diagnosis)
}

/// Progress of reading. Reading stops when the user interrupts.
struct Reader {
    bar: Reading,
    stop: &'static dupack_lab::run::Interrupt,
}

impl Reader {
    fn new(file: &Path, length: Option<u64>) -> Self {
        Self {
            bar: Reading::new(length, &name(file)),
            stop: interrupt_saying(KEPT),
        }
    }
}

impl Watch for Reader {
    fn taken(&mut self, bytes: u64) -> Continue {
        self.bar.taken(bytes);
        match self.stop.is_asked() {
            true => Continue::Stop,
            false => Continue::On,
        }
    }
}
