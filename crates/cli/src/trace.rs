//! `dupack trace`: one flow, packet by packet.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use dupack_algorithms::catalog::{Catalog, Dialect};
use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::{Access, DropRule, Experiment, LinkOptions, Seeds};
use dupack_lab::run::Plan;
use dupack_lab::trace::stream::{Account, Outputs, StreamError, TraceFile, stream};
use dupack_lab::units::{Buffer, ByteCount, Delay, Probability, Rate};
use dupack_report::figure::TimeSequence;
use dupack_report::files::{EXPERIMENT, FIGURE_ENDINGS, Files};
use dupack_report::folder::OutputFolder;
use dupack_report::table;
use dupack_report::trace::{Asked, Detail, Drawn, Sketch, Span, summary};
use dupack_tcp::time::{Duration, Instant};
use miette::{IntoDiagnostic, Result, miette};

use crate::flags::dialect;
use crate::output::{INTERRUPTED, folder, print, terminal};
use crate::progress::interrupt;

/// The figure's file, without its ending.
const FIGURE: &str = "time-sequence";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack trace momentary/reno --drop 24-30
  dupack trace le/reno --drop 10-20 --drop 12#2 --drop 'ack 5' --until 3s
  dupack trace sack/reno --loss 2% --seed 7 --from 1s --until 2s

Without further options this is the setting of the Momentary paper's figure 3.")]
pub struct TraceArgs {
    /// The stack to follow
    stack: String,
    /// Losses by list: 24, 24-30, 26#2 (second transmission), '5 of 40-71' (at random), 'ack 3', 1.5s..2s; may be repeated
    #[arg(long, value_delimiter = ',')]
    drop: Vec<DropRule>,
    /// Loss probability of data packets, beside the list
    #[arg(long, default_value = "0%", allow_hyphen_values = true)]
    loss: Probability,
    /// Rate of the bottleneck
    #[arg(long, default_value = "1Mbit/s", allow_hyphen_values = true)]
    rate: Rate,
    /// One-way propagation delay
    #[arg(long, default_value = "98ms", allow_hyphen_values = true)]
    delay: Delay,
    /// Buffer of the bottleneck
    #[arg(long, default_value = "1000pkt", allow_hyphen_values = true)]
    buffer: Buffer,
    /// Initial congestion window; with one packet, packet 0 takes the place that ns-2 gives the
    /// SYN, and packets have the numbers of the papers' figures
    #[arg(long, value_name = "WINDOW", default_value = "1pkt")]
    initial_window: Buffer,
    /// Initial slow start threshold
    #[arg(long, value_name = "WINDOW", default_value = "10pkt")]
    initial_ssthresh: Buffer,
    /// Delayed ACKs with this timeout [default: every segment is acknowledged]
    #[arg(long, value_name = "DELAY")]
    delayed_ack: Option<Delay>,
    /// Which rules the endpoints follow where TCPs differ
    #[arg(long, value_parser = dialect(), default_value = "ns2")]
    dialect: Dialect,
    /// Payload bytes of a full segment
    #[arg(long, value_name = "BYTES", default_value = "1000B")]
    segment: ByteCount,
    /// Seed of the random losses
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Simulated time of the run
    #[arg(long, default_value = "10s", allow_hyphen_values = true)]
    duration: Delay,
    /// Beginning of the figure [default: just before the first loss]
    #[arg(long, value_name = "TIME")]
    from: Option<Delay>,
    /// End of the figure [default: when the losses are repaired and a little more]
    #[arg(long, value_name = "TIME")]
    until: Option<Delay>,
    /// Folder for the files; must be empty or new [default: dupack-out/trace, numbered if taken]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print every effective parameter, defaults included
    #[arg(long)]
    explain: bool,
}

pub fn run(args: &TraceArgs, catalog: &Catalog) -> Result<ExitCode> {
    let experiment = experiment(args);
    let source = Source::of_flags(&experiment);
    let plan = Plan::new(experiment, &source, catalog)?;
    let asked = asked(args)?;
    let folder = folder(args.out.as_deref(), "trace")?;
    folder.write(EXPERIMENT, source.text.as_bytes())?;
    let (account, drawn) = write(&plan, asked, &folder)?;
    let figure = figure(args, &account, &drawn, &folder)?;
    let svg = figure.svg().into_diagnostic()?;
    let mut pictures = Files::new();
    pictures.add_figure(FIGURE, svg);
    pictures.write(&folder)?;

    if args.explain {
        let (_, width) = terminal();
        print(&table::parameters(&plan.empty_results(), width))?;
    }
    for warning in plan.warnings() {
        eprintln!("warning: {warning}");
    }
    print(&summary(&account))?;
    print(&files(&drawn, &folder))?;
    Ok(if interrupt().is_asked() {
        eprintln!("interrupted at {} of {}", account.end, args.duration);
        ExitCode::from(INTERRUPTED)
    } else {
        ExitCode::SUCCESS
    })
}

/// Does the run, and writes what happens while it does.
fn write(plan: &Plan, asked: Asked, folder: &OutputFolder) -> Result<(Account, Drawn)> {
    let job = plan.jobs()[0];
    let file = |file: TraceFile| folder.make(file.name());
    let outputs = Outputs {
        packets: file(TraceFile::Packets)?,
        windows: file(TraceFile::Windows)?,
        capture: file(TraceFile::Capture)?,
    };
    let mut sketch = Sketch::new(asked);
    let scenario = plan.scenario(job);
    let account = match stream(scenario, job.seed, outputs, &mut sketch, interrupt()) {
        Err(StreamError::Write { file, source }) => {
            return Err(folder.unwritten(file.name(), &source).into());
        }
        result => result.into_diagnostic()?,
    };
    let end = account.end;
    let drawn = sketch.finish(end);
    let drawn = drawn.ok_or_else(|| miette!("the run had ended at {end} before it began"))?;
    Ok((account, drawn))
}

/// One flow over a bottleneck between access links of 10 Mbit/s and 1 ms, as in the Momentary
/// paper's figure 3, or faster ones if the bottleneck is.
fn experiment(args: &TraceArgs) -> Experiment {
    let mut experiment = Experiment::new(vec![args.stack.clone()]);
    experiment.title = format!("{}, packet by packet", args.stack);
    experiment.dialect = args.dialect;
    experiment.seeds = Seeds::List(vec![args.seed]);
    experiment.duration = args.duration;
    let access = args.rate.as_bits_per_second().saturating_mul(10);
    experiment.access = Some(Access {
        rate: Rate::from_bits_per_second(access.max(10_000_000)),
        delay: Delay::from_nanos(1_000_000),
    });
    experiment.path = Some(LinkOptions {
        rate: Some(args.rate),
        delay: args.delay,
        buffer: Some(args.buffer),
        loss: args.loss,
        drop: args.drop.clone(),
        ..LinkOptions::default()
    });
    experiment.sender.segment = Some(args.segment);
    experiment.sender.initial_window = Some(args.initial_window);
    experiment.sender.initial_ssthresh = Some(args.initial_ssthresh);
    experiment.receiver.delayed_ack = args.delayed_ack;
    experiment
}

/// The part that the figure is to show, as far as that is said.
fn asked(args: &TraceArgs) -> Result<Asked> {
    let at = |delay: Delay| Instant::ZERO + Duration::from_nanos(delay.as_nanos());
    let asked = Asked {
        from: args.from.map(at),
        until: args.until.map(at),
    };
    let end = at(args.duration);
    let span = Span {
        from: asked.from.unwrap_or(Instant::ZERO),
        until: asked.until.unwrap_or(end),
    };
    if span.shows_something(end) {
        Ok(asked)
    } else {
        Err(nothing(
            span,
            "--from must lie before --until, and within the run",
        ))
    }
}

fn nothing(span: Span, help: &str) -> miette::Report {
    let Span { from, until } = span;
    miette!(
        help = help,
        "the figure from {from} to {until} shows nothing"
    )
}

/// The figure, unless the run turned out to have nothing to show where it was asked for.
fn figure(
    args: &TraceArgs,
    account: &Account,
    drawn: &Drawn,
    folder: &OutputFolder,
) -> Result<TimeSequence> {
    if !drawn.span.shows_something(account.end) {
        let help = format!(
            "--from must lie before --until, and within the run; give both, to a new folder: {} has all but the figure",
            folder.path().display()
        );
        return Err(nothing(drawn.span, &help));
    }
    let mut subtitle = subtitle(args);
    if drawn.detail == Detail::Thinned {
        subtitle += " · points thinned out";
    }
    Ok(TimeSequence {
        title: account.stack.clone(),
        subtitle,
        ..drawn.figure.clone()
    })
}

fn subtitle(args: &TraceArgs) -> String {
    let mut parts = vec![
        args.rate.to_string(),
        format!("{} one way", args.delay),
        format!("buffer {}", args.buffer),
    ];
    if !args.drop.is_empty() {
        let rules: Vec<String> = args.drop.iter().map(ToString::to_string).collect();
        parts.push(format!("lost: {}", rules.join(", ")));
    }
    if args.loss.as_fraction() > 0.0 {
        parts.push(format!("loss {}, seed {}", args.loss, args.seed));
    }
    parts.join(" · ")
}

fn files(drawn: &Drawn, folder: &OutputFolder) -> String {
    let thinned = match drawn.detail {
        Detail::Full => "",
        Detail::Thinned => ", thinned out as it cannot show every point",
    };
    format!(
        "files: {}\n  {:<24} the figure, {:.3} s to {:.3} s{thinned}\n  flow.pcapng              for tshark, Wireshark and tcptrace; comments say why\n  packets.csv, windows.csv every packet; cwnd, ssthresh, in flight, RTT",
        folder.path().display(),
        format!("{FIGURE}{FIGURE_ENDINGS}"),
        drawn.span.from.as_secs_f64(),
        drawn.span.until.as_secs_f64(),
    )
}
