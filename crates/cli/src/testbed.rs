//! `dupack testbed`: compares senders on real packets.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use dupack_algorithms::catalog::{Catalog, Dialect};
use dupack_engine::folder::{IfPresent, OutputFolder};
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::{
    AppWrite, Experiment, FlowGroup, LinkOptions, QueueKind, Reorder, Seeds, TokenBucketOptions,
};
use dupack_lab::path_file::PathFile;
use dupack_lab::results::medium::DOUBT;
use dupack_lab::results::{Answered, store};
use dupack_lab::results::{HarmRecord, Prefer};
use dupack_lab::run::Plan;
use dupack_lab::units::{Buffer, ByteCount, Delay, Probability, Rate, Room};
use dupack_report::{comparison, setting, table};
use dupack_testbed::beside::compare;
use dupack_testbed::report::{beside_text, files, lateness, needed_tolerance};
use dupack_testbed::together::{Member, Together};
use dupack_testbed::{
    Beside, CaptureFolder, Family, SackCompression, SenderSpec, Snap, Testbed, TestbedOptions,
    TestbedResults,
};
use dupack_wire::namespace;
use miette::{IntoDiagnostic, Result};

use crate::flags::{
    Format, Given, StackList, check_preference, dialect, lasting, legend, prefer, whole, whole_path,
};
use crate::output::{INTERRUPTED, command_without, folder, print, terminal, warn};
use crate::progress::{Bar, interrupt};

/// Exit code if a run failed or the testbed cannot start.
const FAILED: u8 = 2;

/// Exit code if all runs finished but too few runs are valid for an answer.
const NO_ANSWER: u8 = 3;

#[derive(Debug, Args)]
#[command(after_help = "\
Every transfer runs in two network namespaces of its own, which vanish with it,
and every byte is verified by a hash. Requires root, or a system that allows
unprivileged user namespaces, and an idle machine: a run in which packets left
too late, or were lost outside the path's links, is marked and void. With
`chrt --fifo 40` before the command, as root, it runs with real-time priority.

Examples:
  dupack testbed
  dupack testbed --loss 0,1,2,5,10% --bytes 20MB \\
                 --senders le/westwood,sack/reno,kernel:cubic,kernel:bbr
  dupack testbed --senders sack/reno,rack/cubic,kernel:reno --simulate
  dupack testbed --trace cellular.down --reorder 1% --reorder-delay 10ms
  dupack testbed --write 30kB --pause 100ms --bytes 1.2MB --loss 2%
  dupack testbed --rate 40Mbit/s --policer 5Mbit/s --burst 40kB --loss 0
  dupack testbed --senders sack/reno,kernel:cubic --loss 1% --bytes 2MB \\
                 --repeat 1 --pcap captures
  dupack testbed --together --probe --loss 0 --senders kernel:bbr,rack/bbr@60ms

Exit codes:
  0    all runs finished, and every point has enough sound runs
  2    invalid flags, or a run failed; the table and the report have the others
  3    all runs finished, but a point has no answer: fewer than 3 runs of a
       sender, or fewer than half of them, are sound there
  130  interrupted; the table and the report have the finished runs")]
pub struct TestbedArgs {
    /// Path file, as written by `dupack diagnose --path`: its path, application and endpoints replace those of the
    /// options. --loss and --dialect, if given, override its own
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_WITH_A_PATH)]
    path: Option<PathBuf>,
    /// Rate of the path, in both directions
    #[arg(
        long,
        default_value = "10Mbit/s",
        conflicts_with = "trace",
        allow_hyphen_values = true
    )]
    rate: Rate,
    /// Recorded delivery opportunities in Mahimahi's format, instead of a rate, in both directions
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// One-way propagation delay, in both directions
    #[arg(long, default_value = "10ms", allow_hyphen_values = true)]
    delay: Delay,
    /// Buffer of the path in packets, bytes or bandwidth-delay products, in both directions [default: 1bdp, at least
    /// 10pkt]
    #[arg(long, value_name = "ROOM", allow_hyphen_values = true)]
    buffer: Option<Room>,
    /// Loss probabilities of packets to the receiver, compared one after the other
    #[arg(long, default_value = "0,1,2,5,10%", allow_hyphen_values = true)]
    loss: LossList,
    /// Probability that a packet to the receiver is held back at the end of the path, so that others overtake it
    #[arg(long, value_name = "PROBABILITY", allow_hyphen_values = true)]
    reorder: Option<Probability>,
    /// Time for which such a packet is held back
    #[arg(long, value_name = "TIME", default_value = "5ms", requires = "reorder", value_parser = lasting, allow_hyphen_values = true)]
    reorder_delay: Delay,
    /// Rate of a policer in front of the path to the receiver; it drops packets above the rate
    #[arg(
        long,
        value_name = "RATE",
        requires = "burst",
        allow_hyphen_values = true
    )]
    policer: Option<Rate>,
    /// Burst that the policer allows
    #[arg(
        long,
        value_name = "SIZE",
        requires = "policer",
        allow_hyphen_values = true
    )]
    burst: Option<ByteCount>,
    /// Senders: stacks as recovery/control[/lda/response], or kernel:NAME for the kernel's sender with that congestion
    /// control; the first one is the baseline
    #[arg(
        long,
        default_value = "le/westwood,sack/reno,rack/cubic,kernel:cubic,kernel:reno"
    )]
    senders: StackList,
    /// Rules that the stacks follow where TCPs differ
    #[arg(long, value_parser = dialect(), default_value_t = Dialect::Linux)]
    dialect: Dialect,
    /// Size of each transfer
    #[arg(long, default_value = "20MB", allow_hyphen_values = true)]
    bytes: ByteCount,
    /// Size of each write of the application, like a server that sends responses; without it, everything is written at
    /// once
    #[arg(
        long,
        value_name = "SIZE",
        requires = "pause",
        allow_hyphen_values = true
    )]
    write: Option<ByteCount>,
    /// Pause before the next write, after everything before has been acknowledged
    #[arg(
        long,
        value_name = "TIME",
        requires = "write",
        allow_hyphen_values = true
    )]
    pause: Option<Delay>,
    /// Runs per sender and point; the repetition is the seed of the path's losses
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<u32>(1, 100_000))]
    repeat: u32,
    /// Time after which a run is cut off
    #[arg(long, value_name = "TIME", default_value = "10min")]
    time_limit: Delay,
    /// Lateness that at most 1 % of a run's packets may exceed; otherwise, the run is void [default: 1 % of the
    /// round-trip time without queueing, at least 1ms]
    #[arg(long, value_name = "TIME")]
    tolerance: Option<Delay>,
    /// Run all senders at the same time over one path and compare their shares. A sender may have a longer round-trip
    /// time: kernel:cubic@40ms
    #[arg(long, conflicts_with_all = NOT_TOGETHER)]
    together: bool,
    /// Length of each run with --together
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "together", value_parser = lasting)]
    duration: Delay,
    /// Measure the latency with --together, by the round trips of a datagram every 20 ms
    #[arg(long, requires = "together")]
    probe: bool,
    /// Also run the stacks on the same path in the simulator, and print both results side by side
    #[arg(long)]
    simulate: bool,
    /// IP version
    #[arg(long, value_enum, default_value_t)]
    family: FamilyArg,
    /// Maximum receive window in packets or bytes, on real packets and in the simulator [default: the kernel's
    /// autotuning; unlimited in the simulator]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    receive_window: Option<Buffer>,
    /// Compression of the ACKs of out-of-order segments, on real packets and in the simulator
    #[arg(long, value_enum, default_value_t)]
    sack_compression: SackCompressionArg,
    /// Folder for captures, empty or new: SENDER_LOSS_REPETITION.sender.pcapng has every packet that enters or leaves
    /// the path at the sender's end, .receiver.pcapng those at the receiver's; a packet that is only in the file of the
    /// end where it entered was lost on the way
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Number of bytes of each packet that captures keep
    #[arg(long, value_enum, default_value_t, requires = "pcap")]
    snap: SnapArg,
    /// Folder for CSV, figures and report; must be empty or new [default: dupack-out/testbed, numbered if taken]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Main criterion: it orders the answer, and decides if too many senders are undominated
    #[arg(long, value_name = "WHAT", value_parser = prefer())]
    prefer: Option<Prefer>,
    /// Explain the marks below the table: the measures and limits behind them
    #[arg(long)]
    legend: bool,
}

/// IP version of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FamilyArg {
    /// IPv4
    #[default]
    Ipv4,
    /// IPv6
    Ipv6,
}

/// Compression of the ACKs of out-of-order segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SackCompressionArg {
    /// As in Linux since 4.18: ACKs are delayed for at most 5 % of a round trip and 1 ms
    #[default]
    Kernel,
    /// No compression: each segment is acknowledged immediately, as in the RFCs
    Off,
}

/// Number of bytes of a packet that a capture keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SnapArg {
    /// The whole packet, so that readers can verify the TCP checksum
    #[default]
    Whole,
    /// The first 128 bytes, which include the headers
    Headers,
}

/// A list of loss probabilities. A final percent sign applies to all items without one.
#[derive(Clone, Debug, PartialEq)]
struct LossList(Vec<Probability>);

impl std::str::FromStr for LossList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let in_percent = text.trim_end().ends_with('%');
        let one = |item: &str| {
            let item = item.trim();
            let sign = if in_percent && !item.contains('%') {
                "%"
            } else {
                ""
            };
            let probability: Result<Probability, _> = format!("{item}{sign}").parse();
            probability.map_err(|error| error.to_string())
        };
        text.split(',').map(one).collect::<Result<_, _>>().map(Self)
    }
}

/// Options whose values come from the path file if there is one.
const NOT_WITH_A_PATH: [&str; 9] = [
    "rate",
    "trace",
    "delay",
    "buffer",
    "reorder",
    "policer",
    "write",
    "pause",
    "receive_window",
];

/// Options that cannot be used with `--together`.
const NOT_TOGETHER: [&str; 10] = [
    "simulate",
    "write",
    "pause",
    "bytes",
    "family",
    "receive_window",
    "sack_compression",
    "pcap",
    "prefer",
    "time_limit",
];

/// Interval of the datagrams that measure latency.
const PROBE: Delay = Delay::from_nanos(20_000_000);

pub fn run(args: &TestbedArgs, given: &Given, catalog: &Catalog) -> Result<ExitCode> {
    if args.together {
        return together(args, given, catalog);
    }
    let harm = HarmRecord::Senseless {
        why: "it is not measured on real packets".to_owned(),
    };
    check_preference(args.prefer, &harm)?;
    // `prepare` must be called first, while the process has a single thread.
    namespace::prepare().into_diagnostic()?;
    let testbed = testbed(args, given, catalog)?;
    testbed.probe()?;
    // Create the folder before the work, so that an unusable folder costs no time.
    let folder = folder(args.out.as_deref(), "testbed")?;
    let captures = match args.pcap.as_deref().map(captures_folder).transpose() {
        Ok(captures) => captures,
        Err(error) => {
            folder.abandon();
            return Err(error);
        }
    };
    announce(&testbed, catalog);
    let bar = Bar::new(testbed.jobs().len(), "testbed");
    let mut outcome = testbed.run(&bar, interrupt());
    outcome.results.prefer = args.prefer;
    bar.finish();
    if outcome.passages.is_empty() {
        folder.abandon();
        captures.into_iter().for_each(OutputFolder::abandon);
        return nothing_done(outcome);
    }
    let wanted = args.simulate && !interrupt().is_asked();
    let counterpart = testbed.counterpart().filter(|_| wanted);
    if wanted && counterpart.is_none() {
        say!(
            "warning: nothing to simulate: the kernel's senders have no counterpart in the simulator"
        );
    }
    let beside = counterpart.map(|plan| simulate(plan, &outcome));
    deliver(
        (args, testbed.tolerance()),
        &outcome,
        catalog,
        beside.as_deref(),
        &folder,
    )?;
    Ok(verdict(&outcome))
}

/// Runs all senders at the same time.
fn together(args: &TestbedArgs, given: &Given, catalog: &Catalog) -> Result<ExitCode> {
    // `prepare` must be called first, while the process has a single thread.
    namespace::prepare().into_diagnostic()?;
    let members = args
        .senders
        .0
        .iter()
        .map(|text| Member::parse(text, catalog));
    let members = members
        .collect::<Result<Vec<Member>, _>>()
        .into_diagnostic()?;
    let mut experiment = on_the_wire(args, given, catalog)?;
    experiment.title = "How do the senders share the path, on real packets?".to_owned();
    experiment.duration = args.duration;
    let probe = args.probe.then_some(PROBE);
    let together = Together::new(&experiment, members, (probe, args.tolerance), catalog)?;
    let folder = folder(args.out.as_deref(), "testbed")?;
    let seconds = together.count() as f64 * (args.duration.as_seconds() + 1.0);
    say!(
        "{} runs of {}: about {:.0} s",
        together.count(),
        args.duration,
        seconds
    );
    let bar = Bar::new(together.count(), "testbed");
    let runs = match together.run(&bar, interrupt()) {
        Ok(runs) if !runs.is_empty() => runs,
        Ok(_) => {
            folder.abandon();
            return Ok(ExitCode::from(INTERRUPTED));
        }
        Err(error) => {
            folder.abandon();
            return Err(error.into());
        }
    };
    bar.finish();
    folder.write("experiment.toml", experiment.text().as_bytes())?;
    folder.write("together.csv", &together.csv(&runs))?;
    if let Some(latency) = together.latency_csv(&runs) {
        folder.write("latency.csv", &latency)?;
    }
    let (_, width) = terminal();
    let source = Source::of_flags(&experiment);
    let mut planned = experiment.clone();
    planned.stacks = vec!["rack/cubic".to_owned()];
    let path = Plan::new(planned, &source, catalog)?.empty_results();
    let line = format!(
        "Path: {} · all senders at the same time for {}, on real packets · {} repetitions",
        setting::path(&path),
        args.duration,
        args.repeat,
    );
    print(&table::paragraph(&line, width))?;
    print(&format!("\n{}", together.text(&runs, width)))?;
    say!("files: {}", folder.path().display());
    match runs.len() < together.count() {
        true => Ok(ExitCode::from(INTERRUPTED)),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// Prints an estimate of the duration.
fn announce(testbed: &Testbed, catalog: &Catalog) {
    let runs = testbed.jobs().len();
    let Some(time) = testbed.estimate(catalog, interrupt()) else {
        return;
    };
    let time = match time.as_secs_f64() {
        seconds @ ..90.0 => format!("{seconds:.0} s"),
        seconds @ ..5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    };
    say!(
        "{runs} transfers in real time: about {time}, according to the simulator; lower --repeat or --bytes to shorten it"
    );
}

/// Creates the folder for captures.
fn captures_folder(path: &Path) -> Result<OutputFolder> {
    Ok(OutputFolder::create_for("--pcap", path, IfPresent::Refuse)?)
}

/// Reports the reason why no run finished.
fn nothing_done(outcome: TestbedResults) -> Result<ExitCode> {
    let mut failures = outcome.failures.into_iter();
    let Some(first) = failures.next() else {
        say!("interrupted before the first run finished: there is nothing to show");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let others = failures.count();
    if others > 0 {
        say!("no run finished; {others} more failed after this one:");
    }
    Err(first.into())
}

/// Prints the numbers of failed and missing runs, and returns the exit code.
fn verdict(outcome: &TestbedResults) -> ExitCode {
    let TestbedResults {
        results, failures, ..
    } = outcome;
    let (missing, planned) = (results.missing(), results.planned);
    let rest = "the tables and figures use the others";
    if !failures.is_empty() {
        let failed = failures.len();
        say!("error: {failed} of {planned} runs failed, {missing} are missing; {rest}");
    } else if missing > 0 {
        say!("interrupted: {missing} of {planned} runs are missing; {rest}");
    }
    if interrupt().is_asked() {
        ExitCode::from(INTERRUPTED)
    } else if !failures.is_empty() {
        ExitCode::from(FAILED)
    } else if !results.points_of_too_few().is_empty() {
        ExitCode::from(NO_ANSWER)
    } else {
        ExitCode::SUCCESS
    }
}

/// Returns the experiment that the flags describe: the path and its traffic.
fn on_the_wire(args: &TestbedArgs, given: &Given, catalog: &Catalog) -> Result<Experiment> {
    let mut experiment = Experiment::new(Vec::new());
    experiment.title = "Which sender should this path have, on real packets?".to_owned();
    experiment.dialect = args.dialect;
    experiment.seeds = Seeds::Count(args.repeat);
    experiment.duration = args.time_limit;
    experiment.receiver.buffer = args.receive_window;
    let writes = writes(args)?;
    experiment.flows.push(FlowGroup {
        count: 1,
        bytes: writes.is_empty().then_some(args.bytes),
        writes,
        ..FlowGroup::default()
    });
    let bucket = args.policer.zip(args.burst);
    let bucket = bucket.map(|(rate, burst)| TokenBucketOptions { rate, burst });
    let path = LinkOptions {
        rate: args.trace.is_none().then_some(args.rate),
        trace: args.trace.as_deref().map(whole_path),
        delay: args.delay,
        buffer: args.buffer,
        queue: bucket.map_or_else(QueueKind::default, |_| QueueKind::Policer),
        token_bucket: bucket,
        reorder: args.reorder.map(|probability| Reorder {
            probability,
            delay: args.reorder_delay,
        }),
        ..LinkOptions::default()
    };
    experiment.set_path(path, &args.loss.0);
    if let Some(file) = &args.path {
        let file = PathFile::read(file, catalog)?;
        on_path(&file, &mut experiment, args, given);
    }
    Ok(experiment)
}

/// Returns the testbed that the flags describe.
fn testbed(args: &TestbedArgs, given: &Given, catalog: &Catalog) -> Result<Testbed> {
    let senders = args.senders.0.iter();
    let senders = senders.map(|text| SenderSpec::parse(text, catalog));
    let senders = senders
        .collect::<Result<Vec<SenderSpec>, _>>()
        .into_diagnostic()?;
    let experiment = on_the_wire(args, given, catalog)?;
    let written = experiment.flows.iter().flat_map(|flow| &flow.writes);
    let written = written.map(|write| {
        write
            .bytes
            .as_bytes()
            .saturating_mul(write.times(experiment.duration))
    });
    let written: u64 = written.fold(0, u64::saturating_add);
    let options = TestbedOptions {
        senders,
        bytes: match written {
            0 => args.bytes,
            bytes => ByteCount::from_bytes(bytes),
        },
        tolerance: args.tolerance,
        family: match args.family {
            FamilyArg::Ipv4 => Family::V4,
            FamilyArg::Ipv6 => Family::V6,
        },
        sack_compression: match args.sack_compression {
            SackCompressionArg::Kernel => SackCompression::Kernel,
            SackCompressionArg::Off => SackCompression::Off,
        },
        captures: args.pcap.as_ref().map(|path| CaptureFolder {
            path: path.clone(),
            snap: match args.snap {
                SnapArg::Whole => Snap::Full,
                SnapArg::Headers => Snap::Headers,
            },
        }),
    };
    Ok(Testbed::new(experiment, options, catalog)?)
}

/// Applies the path of a file to `experiment`, except for options that are given on the command line. A flow without a
/// size transfers as much data as the command line specifies.
fn on_path(file: &PathFile, experiment: &mut Experiment, args: &TestbedArgs, given: &Given) {
    let limit = experiment.duration;
    file.apply(experiment);
    experiment.duration = limit;
    if given.has("dialect") {
        experiment.dialect = args.dialect;
    }
    experiment.sweep.clear();
    if given.has("loss") {
        experiment.set_path(file.path.clone(), &args.loss.0);
    }
    let greedy = |flow: &FlowGroup| flow.bytes.is_none() && flow.writes.is_empty();
    for flow in experiment.flows.iter_mut().filter(|flow| greedy(flow)) {
        flow.bytes = Some(args.bytes);
    }
}

/// Returns the writes of the application, whose sizes sum to `--bytes`. Empty if everything is written at once.
fn writes(args: &TestbedArgs) -> Result<Vec<AppWrite>> {
    let Some((each, pause)) = args.write.zip(args.pause) else {
        return Ok(Vec::new());
    };
    let (all, size) = (args.bytes.as_bytes(), each.as_bytes());
    if size == 0 || size > all {
        miette::bail!(
            "--write {each}: expected at least 1 byte and at most --bytes {}",
            args.bytes
        );
    }
    let once = AppWrite {
        at: None,
        after: None,
        every: None,
        count: None,
        bytes: each,
    };
    let answers = |count: u64, bytes| AppWrite {
        after: Some(pause),
        count: Some(u32::try_from(count).unwrap_or(u32::MAX)),
        bytes: ByteCount::from_bytes(bytes),
        ..once
    };
    let (more, rest) = (all / size - 1, all % size);
    let mut writes = vec![once];
    writes.extend((more > 0).then(|| answers(more, size)));
    writes.extend((rest > 0).then(|| answers(1, rest)));
    Ok(writes)
}

/// Runs the same scenario in the simulator, and compares its results with those on real packets.
fn simulate(plan: &Plan, outcome: &TestbedResults) -> Vec<Beside> {
    let bar = Bar::new(plan.work(), "simulation");
    let simulated = plan.execute(Execution::default(), &bar, interrupt());
    bar.finish();
    compare(&outcome.results, &simulated)
}

/// Writes all files, prints the requested output, and prints warnings.
fn deliver(
    (args, tolerance): (&TestbedArgs, Delay),
    outcome: &TestbedResults,
    catalog: &Catalog,
    beside: Option<&[Beside]>,
    folder: &OutputFolder,
) -> Result<()> {
    let results = &Answered::of(&outcome.results);
    let files = files(outcome, catalog, beside, tolerance).into_diagnostic()?;
    let written = files.write(folder);
    // Print the results even if the disk has no space for the files.
    match args.format {
        Format::Table => tables((args, tolerance), (outcome, results), beside)?,
        Format::Csv => print(&String::from_utf8_lossy(&store::summary_csv(results)))?,
        Format::Json => print(&store::json_text(results))?,
    }
    written?;
    warn(results, folder);
    if results.runs.iter().any(|run| !results.is_sound(run)) {
        say!("{}", remedy(std::env::args_os(), Standing::now()));
        if let Some(needed) = needed_tolerance(&outcome.passages) {
            say!(
                "or accept later packets, if that does not matter on this path: `--tolerance {needed}` would have kept every run"
            );
        }
    }
    Ok(())
}

/// Scheduling privileges of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The process already has real-time priority.
    Precedence,
    /// The process may request real-time priority.
    Root,
    /// The process may not request real-time priority.
    User,
}

impl Standing {
    /// Reads the privileges from `/proc`.
    fn now() -> Self {
        // Fields 40 and 41 are the real-time priority and the policy. Field 2 ends at the last `)`.
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let policy = fields.split_whitespace().nth(41 - 3);
        let is_real_time = matches!(policy, Some("1" | "2"));
        match fs::metadata("/proc/self").map(|own| own.uid()) {
            _ if is_real_time => Self::Precedence,
            Ok(0) => Self::Root,
            _ => Self::User,
        }
    }
}

/// Returns a remedy for a machine that was too slow for the command given by `args`.
fn remedy(args: impl Iterator<Item = OsString>, standing: Standing) -> String {
    let command = command_without(args, &["--out", "--pcap"]).join(" ");
    let first = match standing {
        Standing::Precedence => {
            return "remedy: the command already has real-time priority; stop other programs on this machine, lower --rate, or \
                    accept later packets with --tolerance if that does not matter"
                .to_owned();
        }
        Standing::Root => "chrt --fifo 40",
        Standing::User => "sudo chrt --fifo 40",
    };
    format!(
        "remedy: stop other programs on this machine, or use real-time priority (chrt is part of util-linux):\n  {first} {command}"
    )
}

fn tables(
    (args, tolerance): (&TestbedArgs, Delay),
    (outcome, results): (&TestbedResults, &Answered<'_>),
    beside: Option<&[Beside]>,
) -> Result<()> {
    let (colour, width) = terminal();
    let TestbedResults { passages, .. } = outcome;
    print(&comparison::text(
        results,
        legend(args.legend),
        colour,
        width,
    ))?;
    if let Some(beside) = beside {
        print(&format!("\n{}", beside_text(results, beside, width)))?;
    }
    let lateness = lateness(passages, tolerance);
    print(&format!("\n{}", table::paragraph(&lateness, width)))?;
    if let Some(path) = &args.pcap {
        print(&format!("captures: {}", path.display()))?;
    }
    let doubted = results.runs.iter().filter(|run| !results.is_sound(run));
    match doubted.count() {
        0 => Ok(()),
        count => {
            let meaning = format!(
                "{DOUBT} precedes the number of sound runs out of all runs. During the others ({count} in total), the \
                 machine did not keep up, and no number includes them."
            );
            print(&table::paragraph(&meaning, width))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_a_command_that_can_be_pasted() {
        let words = "target/dupack testbed --loss 0,2% --senders sack(dup_threshold=4)/reno --out a --pcap=b";
        let with = |standing| remedy(words.split(' ').map(OsString::from), standing);
        let command = "dupack testbed --loss 0,2% --senders 'sack(dup_threshold=4)/reno'";
        for (standing, before) in [
            (Standing::Root, "\n  chrt --fifo 40 "),
            (Standing::User, "\n  sudo chrt --fifo 40 "),
        ] {
            let text = with(standing);
            assert!(text.ends_with(&format!("{before}{command}")), "{text}");
        }
        assert!(!with(Standing::Precedence).contains("chrt"));
    }

    #[test]
    fn a_final_percent_sign_applies_to_the_whole_list() {
        let list = |text: &str| text.parse::<LossList>();
        assert_eq!(list("0,1,0.5,10%"), list("0%,1%,0.5%,10%"));
        assert_eq!(list("0").unwrap().0.len(), 1);
        for guess in ["0,1", "1%,2", "1,,2%", ""] {
            assert!(list(guess).is_err(), "{guess}");
        }
    }
}
