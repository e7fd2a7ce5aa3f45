//! `dupack trace`: flows packet by packet, of one or more stacks under the same losses.

mod losses;
mod setting;

use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;

use clap::{Args, ValueEnum};
use dupack_algorithms::catalog::{Catalog, Dialect};
use dupack_engine::folder::OutputFolder;
use dupack_lab::experiment::{BurstLoss, DropRule};
use dupack_lab::run::{Plan, Role, Scenario};
use dupack_lab::trace::stream::{Account, Outputs, StreamError, TraceFile, stream, watch};
use dupack_lab::units::{Buffer, ByteCount, Delay, Probability, Rate, Room};
use dupack_report::figure::Arrangement;
use dupack_report::files::{EXPERIMENT, FIGURE_ENDINGS, Files};
use dupack_report::trace::{
    Asked, Detail, Extent, Figures, Followed, Found, Inflation, Rungs, Sketch, Span, Style,
    figures, summary,
};
use dupack_report::{parameters, table};
use dupack_tcp::time::{Duration, Instant};
use miette::{IntoDiagnostic, Result, miette};

use crate::flags::{Given, StackList, burst, dialect, scope, whole};
use crate::output::{INTERRUPTED, folder, print, terminal};
use crate::progress::interrupt;
use losses::Met;
use setting::{Flows, Setting};

/// Names of the figure files, without extensions.
const TIME_SEQUENCE: &str = "time-sequence";
const LADDER: &str = "ladder";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack trace momentary/reno --drop 24-30
  dupack trace sack/reno rack/cubic le/reno --drop 24-30
  dupack trace newreno/reno sack/reno --drop 10-16 --drop 12#2 --drop 'ack 30' \\
               --until 5s
  dupack trace sack/reno --loss 2% --seed 3 --from 1s --until 4s
  dupack trace sack/reno rack/cubic --burst-loss 0.5%,30% --flows 2
  dupack trace --experiment examples/fairness.toml --duration 20s

With --dialect ns2, the setting is that of figure 3 of the Momentary paper. All
stacks have the same losses: listed losses apply to packet numbers, and random
losses to positions, so that the n-th packet of a link has the same fate for
every stack. docs/trace.md explains the figures.")]
pub struct TraceArgs {
    /// Stacks to trace, each in its own run under the same losses
    #[arg(value_name = "STACK", required_unless_present = "experiment")]
    stacks: Vec<StackList>,
    /// Experiment file; its path, flows and stacks replace those of the options
    #[arg(long, value_name = "FILE", conflicts_with_all = setting::NOT_WITH_A_FILE)]
    experiment: Option<PathBuf>,
    /// Path file, as written by `dupack diagnose --path`: its path, application and endpoints replace those of the
    /// options
    #[arg(long, value_name = "FILE", conflicts_with = "experiment", conflicts_with_all = setting::NOT_WITH_A_FILE)]
    path: Option<PathBuf>,
    /// Point of the file's sweep, from 1 [default: the first]
    #[arg(long, value_name = "N", requires = "experiment", value_parser = whole::<usize>(1, 10_000))]
    point: Option<usize>,
    /// Listed losses of each flow: 24, 24-30, 26#2 (second transmission), '5 of 40-71' (random), 'ack 3', 1.5s..2s; may
    /// be repeated
    #[arg(long, value_delimiter = ',')]
    drop: Vec<DropRule>,
    /// Loss probability of data packets, in addition to the list
    #[arg(long, default_value = "0%", allow_hyphen_values = true)]
    loss: Probability,
    /// Burst losses: probabilities per packet that a burst begins and that it ends; a burst loses every packet
    #[arg(long, value_name = "BEGIN,END", value_parser = burst)]
    burst_loss: Option<BurstLoss>,
    /// Rate of the bottleneck
    #[arg(
        long,
        default_value = "1Mbit/s",
        conflicts_with = "trace",
        allow_hyphen_values = true
    )]
    rate: Rate,
    /// Recorded delivery opportunities in Mahimahi's format, instead of a rate
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// One-way propagation delay from end to end; up to 2ms of it are on the access links at both ends
    #[arg(long, default_value = "100ms", allow_hyphen_values = true)]
    delay: Delay,
    /// Buffer of the bottleneck in packets, bytes or bandwidth-delay products [default: 1bdp, at least 10pkt; 1000pkt
    /// in the dialect ns2]
    #[arg(long, value_name = "ROOM", allow_hyphen_values = true)]
    buffer: Option<Room>,
    /// Flows of the same stack that share the bottleneck
    #[arg(long, default_value_t = 1, value_parser = whole::<u32>(1, 1000))]
    flows: u32,
    /// Flows to trace, numbered from 1: 1,3 or all [default: the first of the stack]
    #[arg(long, value_name = "FLOWS")]
    follow: Option<Flows>,
    /// Initial congestion window [default: the dialect's; 1pkt in ns2, where packet 0 corresponds to the SYN of ns-2,
    /// so that packets have the numbers of the papers' figures]
    #[arg(long, value_name = "WINDOW")]
    initial_window: Option<Buffer>,
    /// Initial slow-start threshold [default: 20pkt; 10pkt in ns2]
    #[arg(long, value_name = "WINDOW")]
    initial_ssthresh: Option<Buffer>,
    /// Delayed ACKs with this timeout [default: every segment is acknowledged]
    #[arg(long, value_name = "DELAY")]
    delayed_ack: Option<Delay>,
    /// Rules that the endpoints follow where TCPs differ
    #[arg(long, value_parser = dialect(), default_value_t)]
    dialect: Dialect,
    /// Payload bytes of a full segment [default: the dialect's]
    #[arg(long, value_name = "BYTES")]
    segment: Option<ByteCount>,
    /// Seed of the random losses [default: 1, or the first of the file]
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX))]
    seed: Option<u64>,
    /// Simulated time of the run [default: 10s, or that of the file]
    #[arg(long, allow_hyphen_values = true)]
    duration: Option<Delay>,
    /// Beginning of the figures [default: just before the first loss]
    #[arg(long, value_name = "TIME")]
    from: Option<Delay>,
    /// End of the figures [default: shortly after the losses are repaired]
    #[arg(long, value_name = "TIME")]
    until: Option<Delay>,
    /// Arrangement of the plots of several stacks
    #[arg(long, value_enum, default_value_t)]
    arrange: Arrange,
    /// Also show the textbook cwnd, inflated during the fast recovery of Reno and NewReno
    #[arg(long)]
    inflation: bool,
    /// Folder for the files; must be empty or new [default: dupack-out/trace, numbered if taken]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the effective parameters with their sources, and run nothing
    #[arg(long)]
    explain: bool,
    /// With --explain, print all parameters, including those that are rarely changed
    #[arg(long, requires = "explain")]
    all: bool,
}

/// Arrangement of several plots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Arrange {
    /// One above the other, so that equal times are aligned
    #[default]
    Above,
    /// Side by side, so that equal packet numbers are aligned
    Beside,
}

/// A flow to trace, in a run of its stack.
struct Run {
    scenario: Rc<Scenario>,
    /// Index among the scenario's flows, from 0.
    flow: usize,
    /// Name of the flow.
    name: String,
    /// Folder for the files of this flow, relative to the folder of the trace. Empty for a single flow.
    place: String,
}

/// Result of a run.
struct Done {
    account: Account,
    found: Found,
    met: Met,
}

pub fn run(args: &TraceArgs, given: &Given, catalog: &Catalog) -> Result<ExitCode> {
    let setting = Setting::of(args, catalog)?;
    let plan = setting.plan(catalog)?;
    let plan = match args.experiment {
        None => setting::say_what_was_given(plan, given),
        Some(_) => plan,
    };
    let asked = asked(args, setting.experiment.duration)?;
    let runs = runs(&plan, args.follow.as_ref())?;
    if args.explain {
        let (_, width) = terminal();
        print(&parameters::text(
            &plan.empty_results(),
            scope(args.all),
            width,
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = folder(args.out.as_deref(), "trace")?;
    folder.write(EXPERIMENT, setting.source.text.as_bytes())?;
    let none = Met::none(&setting.experiment);
    let done = write_all(&runs, setting.seed, &none, &folder)?;
    let runs = &runs[..done.len()];

    for warning in plan.warnings().iter().chain(&setting.remarks) {
        say!("warning: {warning}");
    }
    let conditions = setting.subtitle(&plan);
    let (_, width) = terminal();
    print(&table::paragraph(&format!("Path: {conditions}"), width))?;
    for (run, done) in runs.iter().zip(&done) {
        if run.name != done.account.stack {
            print(&format!("{}:", run.name))?;
        }
        print(&summary(&done.account))?;
    }
    if !interrupt().is_asked() {
        losses::check(args, &setting, &folder, runs, &done)?;
    }
    let found = shown(&done, asked, &folder)?;
    let figures = draw(args, (&setting, &conditions), runs, &found)?;
    let mut pictures = Files::new();
    let svg = figures.time_sequence.svg().into_diagnostic()?;
    pictures.add_figure(TIME_SEQUENCE, svg);
    pictures.add_figure(LADDER, figures.ladder.svg().into_diagnostic()?);
    pictures.write(&folder)?;
    print(&files(&figures, &found, runs, &folder))?;
    Ok(conclude(&setting, &done))
}

fn conclude(setting: &Setting, done: &[Done]) -> ExitCode {
    if !interrupt().is_asked() {
        return ExitCode::SUCCESS;
    }
    let end = done.last().map_or(Instant::ZERO, |done| done.account.end);
    say!("interrupted at {end} of {}", setting.experiment.duration);
    ExitCode::from(INTERRUPTED)
}

/// Returns the flows to trace, stack by stack.
fn runs(plan: &Plan, follow: Option<&Flows>) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let jobs = plan.jobs();
    let stacks = jobs.len();
    for job in jobs {
        let scenario = Rc::new(plan.scenario(job));
        let flows = scenario.tcp_flows();
        let own = flows.iter().position(|flow| flow.role == Role::Compared);
        let chosen = match follow {
            None => vec![own.unwrap_or_default()],
            Some(follow) => follow.among(flows.len()).map_err(|e| miette!("{e}"))?,
        };
        let several = chosen.len() > 1;
        for flow in chosen {
            let stack = scenario.stack.to_string();
            let name = match flows[flow].role {
                _ if flows.len() == 1 => stack.clone(),
                Role::Compared => format!("{stack}, flow {}", flow + 1),
                Role::Other => {
                    let other = flows[flow].stack;
                    format!("flow {}: {other}, beside {stack}", flow + 1)
                }
            };
            let mut place = Vec::new();
            if stacks > 1 {
                place.push(folder_of(&stack));
            }
            if several {
                place.push(format!("flow-{}", flow + 1));
            }
            let mut place = place.join("/");
            if runs.iter().any(|run| run.place == place) {
                place = format!("{place}-{}", job.stack + 1);
            }
            runs.push(Run {
                scenario: Rc::clone(&scenario),
                flow,
                name,
                place,
            });
        }
    }
    Ok(runs)
}

/// Returns the name of a stack as a folder name: `sack/reno` becomes `sack-reno`.
fn folder_of(stack: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = stack.chars().map(plain).collect();
    name.trim_matches('-').to_owned()
}

/// Carries out the runs one after the other, and writes the events during each run. An interrupt ends the loop after
/// the current run.
fn write_all(runs: &[Run], seed: u64, none: &Met, folder: &OutputFolder) -> Result<Vec<Done>> {
    let mut all = Vec::new();
    for run in runs {
        all.push(write(run, seed, none.clone(), folder)?);
        if interrupt().is_asked() {
            break;
        }
    }
    Ok(all)
}

fn write(run: &Run, seed: u64, none: Met, folder: &OutputFolder) -> Result<Done> {
    let name = |file: TraceFile| match run.place.as_str() {
        "" => file.name().to_owned(),
        place => format!("{place}/{}", file.name()),
    };
    let file = |file: TraceFile| folder.make(&name(file));
    let outputs = Outputs {
        packets: file(TraceFile::Packets)?,
        windows: file(TraceFile::Windows)?,
        capture: file(TraceFile::Capture)?,
    };
    let mut seen = (Extent::default(), none);
    let flow = (seed, run.flow);
    let account = match stream(&run.scenario, flow, outputs, &mut seen, interrupt()) {
        Err(StreamError::Write { file, source }) => {
            return Err(folder.unwritten(&name(file), &source).into());
        }
        result => result.into_diagnostic()?,
    };
    let end = account.end;
    let (extent, met) = seen;
    let found = extent.found(end);
    let found = found.ok_or_else(|| miette!("the run ended at {end}, before the trace began"))?;
    Ok(Done {
        account,
        found,
        met,
    })
}

/// Returns the requested time range of the figures.
fn asked(args: &TraceArgs, duration: Delay) -> Result<Asked> {
    let at = |delay: Delay| Instant::ZERO + Duration::from_nanos(delay.as_nanos());
    let asked = Asked {
        from: args.from.map(at),
        until: args.until.map(at),
    };
    let end = at(duration);
    let span = Span {
        from: asked.from.unwrap_or(Instant::ZERO),
        until: asked.until.unwrap_or(end),
    };
    if span.shows_something(end) {
        Ok(asked)
    } else {
        Err(nothing(
            span,
            "--from must be before --until and within the run",
        ))
    }
}

fn nothing(span: Span, help: &str) -> miette::Report {
    let Span { from, until } = span;
    miette!(
        help = help,
        "the figure from {from} to {until} would be empty"
    )
}

/// Returns the time range of the figures, or an error if nothing happened in the requested range.
fn shown(done: &[Done], asked: Asked, folder: &OutputFolder) -> Result<Found> {
    let all: Vec<Found> = done.iter().map(|done| done.found).collect();
    let ends = done.iter().map(|done| done.account.end);
    let end = ends.max().unwrap_or(Instant::ZERO);
    let found = Found::of_all(&all, asked, end).ok_or_else(|| miette!("nothing was run"))?;
    if found.span.shows_something(end) {
        return Ok(found);
    }
    let help = format!(
        "--from must be before --until and within the run; give both with a new folder, because {} has everything but the \
         figure",
        folder.path().display()
    );
    Err(nothing(found.span, &help))
}

/// Repeats the runs up to the end of the figures, and draws the figures.
fn draw(
    args: &TraceArgs,
    (setting, conditions): (&Setting, &str),
    runs: &[Run],
    found: &Found,
) -> Result<Figures> {
    let mut followed = Vec::new();
    for run in runs {
        let until = found.span.until.max(found.ladder.until);
        let mut gathered = (Sketch::new(found.span), Rungs::new(found.ladder));
        let flow = (setting.seed, run.flow);
        watch(&run.scenario, flow, until, &mut gathered).into_diagnostic()?;
        followed.push(Followed {
            name: run.name.clone(),
            drawn: gathered.0.finish(),
            ladder: gathered.1.finish(&run.name),
            others: others(run, runs, setting.seed, found.span)?,
        });
    }
    let style = Style {
        title: setting.title(),
        subtitle: conditions.to_owned(),
        arrangement: match args.arrange {
            Arrange::Above => Arrangement::Above,
            Arrange::Beside => Arrangement::Beside,
        },
        inflation: match args.inflation {
            true => Inflation::Shown,
            false => Inflation::Hidden,
        },
    };
    Ok(figures(&style, found, followed))
}

/// Window sizes over time, in seconds and packets, for each named flow.
type Windows = Vec<(String, Vec<(f64, f64)>)>;

/// Maximum number of other flows whose windows are shown in a plot.
const MOST_OTHERS: usize = 4;

/// Returns the windows of the first flows that are not traced.
fn others(run: &Run, runs: &[Run], seed: u64, span: Span) -> Result<Windows> {
    let flows = run.scenario.tcp_flows();
    let followed = |flow: &usize| runs.iter().any(|run| run.flow == *flow);
    let places = (0..flows.len()).filter(|flow| !followed(flow));
    let mut others = Vec::new();
    for flow in places.take(MOST_OTHERS) {
        let mut sketch = Sketch::new(span);
        watch(&run.scenario, (seed, flow), span.until, &mut sketch).into_diagnostic()?;
        let name = match flows[flow].role {
            Role::Compared => format!("cwnd of flow {}", flow + 1),
            Role::Other => format!("cwnd of flow {}, {}", flow + 1, flows[flow].stack),
        };
        others.push((name, sketch.finish().figure.cwnd));
    }
    Ok(others)
}

fn files(figures: &Figures, found: &Found, runs: &[Run], folder: &OutputFolder) -> String {
    let thinned = match figures.detail {
        Detail::Full => "",
        Detail::Thinned => ", thinned because it cannot show every point",
    };
    let mut lines = vec![format!("files: {}", folder.path().display())];
    let mut add = |file: String, what: String| lines.push(format!("  {file:<24} {what}"));
    let seconds = Instant::as_secs_f64;
    let Span { from, until } = found.span;
    add(
        format!("{TIME_SEQUENCE}{FIGURE_ENDINGS}"),
        format!(
            "packets and windows, {:.3} s to {:.3} s{thinned}",
            seconds(from),
            seconds(until)
        ),
    );
    let (from, until) = figures.ladder.shown();
    add(
        format!("{LADDER}{FIGURE_ENDINGS}"),
        format!("segments and ACKs between the hosts, {from:.3} s to {until:.3} s"),
    );
    let places = runs.iter().map(|run| run.place.as_str());
    let places: Vec<&str> = places.filter(|place| !place.is_empty()).collect();
    if !places.is_empty() {
        let all = places.join("/, ");
        lines.push(format!("in each of {all}/:"));
    }
    let mut add = |file: &str, what: &str| lines.push(format!("  {file:<24} {what}"));
    add(
        "flow.pcapng",
        "for tshark, Wireshark and tcptrace, with comments",
    );
    add(
        "packets.csv, windows.csv",
        "every packet; cwnd, ssthresh, in flight, RTT, phase",
    );
    lines.join("\n")
}
