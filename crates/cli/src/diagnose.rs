//! `dupack diagnose`: what limited the transfers of a capture.

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
use dupack_diagnosis_tell::film::{Remarks, retell};
use dupack_diagnosis_tell::measures::{self, Condition};
use dupack_diagnosis_tell::numbers;
use dupack_diagnosis_tell::page::{self, Scenes};
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

/// What becomes of what was done when somebody asks to stop.
const KEPT: &str = "what was read so far is shown";

/// What its folder would be called.
const NAME: &str = "diagnose";

/// Exit code of a capture with a connection that meets a condition of `--fail-on`.
const FAILED: u8 = 3;

/// Connections that are named where they meet a condition (ours).
const FAILURES_SHOWN: usize = 20;

/// Standard input, as a file's name.
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
longest.
docs/diagnose.md says what is told, how it is known, and what cannot be told.")]
pub struct DiagnoseArgs {
    /// The capture: pcap or pcapng, plain or packed by gzip; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "both")]
    file: Option<PathBuf>,
    /// Join two captures of the same transfer, one of each end: losses and delays of each direction.
    /// The offset of the clocks is worked out
    #[arg(long, num_args = 2, value_names = ["A.pcap", "B.pcap"], conflicts_with = "file")]
    both: Option<Vec<PathBuf>>,
    /// Tell of these connections alone: a number of the table (3), an address with a port or
    /// without (10.0.0.1:443), or a port (:443)
    #[arg(long, value_name = "N|ADDRESS")]
    flow: Option<Flow>,
    /// Analyse only packets that this filter passes, in the syntax of tcpdump: host, net, port, src,
    /// dst, and, or, not ('host 10.0.0.1 and port 443'). Both directions of a connection pass, or none
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Filter>,
    /// Analyse only packets from this time on: after the first TCP packet (30s, 1.5s, 2min), a time of
    /// day in UTC (12:30:05), or a date and time (2026-11-28T12:30:05Z)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<TimePoint>,
    /// Analyse only packets before this time, written as for --since
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<TimePoint>,
    /// How many connections are told of in detail
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<usize>(1, 1000))]
    detail: usize,
    /// How many more connections are listed
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<usize>(0, 1000))]
    most: usize,
    /// How the findings are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Print one line per connection under a header, in columns that tabs separate; nothing is simulated
    #[arg(long, conflicts_with = "format")]
    summary: bool,
    /// Rows of --summary
    #[arg(long, value_enum, default_value_t, requires = "summary")]
    by: By,
    /// Exit with code 3 if a connection meets this condition, such as 'retransmitted > 1%', 'timeouts > 0',
    /// 'lost > 5s', 'rtt > 200ms', 'goodput < 1Mbit/s' or 'p95 > 500ms' (of its requests). Repeatable
    #[arg(long, value_name = "CONDITION")]
    fail_on: Vec<Condition>,
    /// Folder for a report with figures, CSV and JSON; must be empty or new
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Copy the packets of the connections told of in detail to this pcapng file, with comments that
    /// say what each was
    #[arg(long, value_name = "FILE.pcapng")]
    annotate: Option<PathBuf>,
    /// Write the path of the worst connection as an experiment, which run, trace, compare, testbed and
    /// evaluate take
    #[arg(long, value_name = "FILE.toml")]
    path: Option<PathBuf>,
    /// Stacks to ask what they would have taken [default: all that Linux has]
    #[arg(long, value_name = "STACKS", conflicts_with = "no_what_if")]
    stacks: Option<StackList>,
    /// Do not ask what another sender would have taken, which is simulated
    #[arg(long)]
    no_what_if: bool,
}

/// Rows of a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// Each connection
    #[default]
    Connection,
    /// Each server, with the sum of its connections
    Server,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A screen for reading
    #[default]
    Text,
    /// Everything, in one object
    Json,
    /// A line per stream of data
    Csv,
}

pub fn run(args: &DiagnoseArgs, catalog: &Catalog) -> Result<ExitCode> {
    let mut selection = selection(args)?;
    let stacks = stacks(args, catalog)?;
    let is_stdin = args.file.as_deref().is_some_and(is_stdin);
    if args.annotate.is_some() && is_stdin {
        return Err(miette!(
            help = "write it to a file first: tee FILE | dupack diagnose -",
            "--annotate reads the capture several times, and standard input can be read once"
        ));
    }
    // Made before the work, so that a folder that cannot be had costs no time.
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
                // It is empty, and was made just now.
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

/// Says which connections meet which conditions, and returns how often that is so.
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
        say!("failed: {} more are not shown", failures - FAILURES_SHOWN);
    }
    if !conditions.is_empty() && diagnosis.beyond.connections > 0 {
        say!(
            "note: --fail-on looks at {} connections; {} more are not kept, or are not those of --flow",
            diagnosis.connections.len(),
            diagnosis.beyond.connections
        );
    }
    failures
}

/// The packets and connections that are asked for.
fn selection(args: &DiagnoseArgs) -> Result<Selection> {
    let mut selection = Selection::from(args.flow.unwrap_or_default());
    selection.filter.clone_from(&args.filter);
    selection.time = TimeRange {
        since: args.since,
        until: args.until,
    };
    if selection.time.is_empty() {
        return Err(miette!(
            help = "write an earlier --since or a later --until: packets at --until itself are not analysed",
            "no time lies between --since and --until"
        ));
    }
    Ok(selection)
}

/// The TCP packets that were not selected, in a sentence.
fn left_out(diagnosis: &Diagnosis) -> String {
    let LeftOut { by_filter, by_time } = diagnosis.left_out;
    let all = diagnosis.tally.with_tcp();
    let part = |packets: u64, by: &str, verb: &str| {
        (packets > 0).then(|| format!("{by} {verb} out {packets} of {all} TCP packets"))
    };
    let parts = [
        part(by_time, "--since and --until", "leave"),
        part(by_filter, "--filter", "leaves"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", and ")
}

/// The stacks that are named.
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

/// What other senders would have taken for the worst connection.
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

/// Writes the path of the worst connection as an experiment, and what it names beside it.
fn write_path(diagnosis: &Diagnosis, path: &Path) -> Result<()> {
    let worst = diagnosis.connections.first();
    let Some(stream) = worst.and_then(ConnectionFindings::main_stream) else {
        return Err(miette!("--path: no connection carried data"));
    };
    let name = PathBuf::from(path.file_name().unwrap_or_default());
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = experiment_files(stream, name).map_err(|error| {
        miette!(
            help = format!("{} would tell it", error.remedy),
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

/// Writes the report; its figures need a second look at the capture.
fn report(
    (args, file): (&DiagnoseArgs, &Path),
    diagnosis: &Diagnosis,
    (asked, selection): (Option<&Asked>, &Selection),
    out: &OutputFolder,
) -> Result<()> {
    let scenes = if is_stdin(file) {
        say!("note: there are no figures, as standard input cannot be read a second time");
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
    page::files(diagnosis, asked, (name, args.detail), &scenes, &courses)
        .into_diagnostic()?
        .write(out)?;
    say!("report: {}", out.path().join(PAGE).display());
    Ok(())
}

/// Copies the packets of the connections that are told of in detail, with comments.
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

/// A file that was not there before.
fn new_file(path: &Path) -> Result<(&Path, File)> {
    let made = File::create_new(path).map_err(|error| {
        miette!(
            help = "name a file that is not there yet: nothing is overwritten",
            "cannot write {}: {error}",
            path.display()
        )
    })?;
    Ok((path, made))
}

/// Looks up what requests and answers begin with, which takes another reading.
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

/// The capture once more, from its start.
fn again(file: &Path) -> Result<(CaptureReader<Box<dyn Read>>, Reader)> {
    let (input, length) = open(file)?;
    let reading = Reader::new(file, length);
    let reader = CaptureReader::new(input).map_err(|error| unreadable(file, error))?;
    Ok((reader, reading))
}

/// Reads the capture, and shows how far it is.
fn read(file: &Path, selection: &Selection) -> Result<Diagnosis> {
    let (input, length) = open(file)?;
    let mut reading = Reader::new(file, length);
    let failed = |error| unreadable(file, error);
    let mut reader = CaptureReader::new(input).map_err(failed)?;
    let done = diagnose(&mut reader, selection.clone(), &mut reading);
    reading.bar.finish();
    done.map_err(failed)
}

/// Reads two captures, and returns which of them the findings are of.
fn read_both(files: &[PathBuf], selection: &Selection) -> Result<(Diagnosis, PathBuf)> {
    let [first, second] = files else {
        return Err(miette!("--both takes two captures"));
    };
    if let Some(stdin) = files.iter().find(|file| is_stdin(file)) {
        return Err(miette!(
            help = "write it to a file first: tee FILE",
            "--both reads each capture several times, and standard input ({}) can be read once",
            stdin.display()
        ));
    }
    let file = |which| match which {
        Which::First => first,
        Which::Second => second,
    };
    // A file that is not there is told of before any is read.
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
        "note: findings, packets and times are those of {}; {} is the other capture",
        this.display(),
        other.display()
    );
    Ok((found, this.clone()))
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == STDIN
}

/// The file or standard input, and how long it is, if that is known.
fn open(file: &Path) -> Result<(Box<dyn Read>, Option<u64>)> {
    if is_stdin(file) {
        let ends = interrupt_of_input(KEPT);
        return Ok((Box::new(Input::new(io::stdin(), ends)), None));
    }
    let opened = File::open(file).map_err(|error| {
        miette!(
            help = "name a capture, as `tcpdump -w FILE` writes it; - is standard input",
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
                "name a capture in it, such as {}",
                file.join("x.pcap").display()
            ),
            "cannot read {name}: it is a folder, not a capture"
        ),
        ReadError::Io(cause) => miette!("cannot read {name}: {cause}"),
        other => miette!(
            help = "`tcpdump -w FILE` and Wireshark write captures that can be read",
            "{name}: {other}"
        ),
    }
}

/// The time of the last packet of a capture that takes so long from its first.
fn last_of(first: CaptureTime, duration: Duration) -> CaptureTime {
    CaptureTime::from_unix_nanos(first.as_unix_nanos().saturating_add(duration.as_nanos()))
}

/// An error if there is nothing to tell of.
fn check(args: &DiagnoseArgs, file: &Path, diagnosis: Diagnosis) -> Result<Diagnosis> {
    let name = name(file);
    if diagnosis.tally.with_tcp() == 0 {
        let help = match diagnosis.tally.packets {
            0 => "it has no packets at all".to_owned(),
            _ => format!("it has {}", diagnosis.tally),
        };
        return Err(miette!(help = help, "{name} has no TCP in it"));
    }
    if diagnosis.connections_all == 0
        && diagnosis.left_out != LeftOut::default()
        && let Some(first) = diagnosis.first
    {
        let help = match diagnosis.left_out.by_time {
            0 => {
                "without --filter the addresses and ports of its connections are listed".to_owned()
            }
            _ => format!(
                "its first packet was captured at {}, its last at {}",
                rfc3339(first),
                rfc3339(last_of(first, diagnosis.duration))
            ),
        };
        return Err(miette!(
            help = help,
            "nothing of {name} is selected: {}",
            left_out(&diagnosis)
        ));
    }
    if diagnosis.connections.is_empty() && args.flow.is_some() {
        return Err(miette!(
            help = format!(
                "it has {}, numbered from 1 in the order of their first packets; without --flow the worst of them \
                 are shown",
                words::things(diagnosis.connections_all, "connection", "connections")
            ),
            "no connection of {name} is the one that --flow asks for"
        ));
    }
    Ok(diagnosis)
}

/// Shows how far the reading is, and stops it when somebody asks.
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
