//! `dupack trace`: one flow, packet by packet.

use std::process::ExitCode;

use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::{Access, Experiment, LinkOptions, Seeds};
use dupack_lab::results::OutputFolder;
use dupack_lab::run::Plan;
use dupack_lab::trace::stream::{Account, Outputs, StreamError, TraceFile, stream};
use dupack_lab::units::{Delay, Rate};
use dupack_report::figure::{TimeSequence, png};
use dupack_report::table;
use dupack_report::trace::{Asked, Detail, Drawn, Sketch, Span};
use dupack_tcp::time::{Duration, Instant};
use miette::{IntoDiagnostic, Result, miette};

use crate::args::TraceArgs;
use crate::output::{INTERRUPTED, PNG_SCALE, folder, print, terminal};
use crate::progress::interrupt;

pub fn run(args: &TraceArgs) -> Result<ExitCode> {
    let experiment = experiment(args);
    let source = Source::of_flags(&experiment);
    let plan = Plan::new(experiment, &source)?;
    let asked = asked(args)?;
    let folder = folder(args.out.as_deref(), "trace")?;
    folder.write("experiment.toml", source.text.as_bytes())?;
    let (account, drawn) = write(&plan, asked, &folder)?;
    let figure = figure(args, &account, &drawn, &folder)?;
    let svg = figure.svg().into_diagnostic()?;
    folder.write("time-sequence.svg", svg.as_bytes())?;
    let bitmap = png(&svg, PNG_SCALE).into_diagnostic()?;
    folder.write("time-sequence.png", &bitmap)?;

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
    experiment.dialect = args.dialect.into();
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
    if shows_something(span, end) {
        Ok(asked)
    } else {
        Err(nothing(
            span,
            "--from must lie before --until, and within the run",
        ))
    }
}

fn shows_something(span: Span, end: Instant) -> bool {
    span.from < span.until && span.from < end
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
    if !shows_something(drawn.span, account.end) {
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

fn summary(account: &Account) -> String {
    let stats = &account.stats;
    let seconds = account.end.as_secs_f64().max(f64::MIN_POSITIVE);
    let goodput = account.delivered_bytes as f64 * 8.0 / seconds / 1e6;
    let mut out = format!(
        "{}: {:.3} Mbit/s over {:.1} s, {} segments sent, {} of them again, {} timeouts\n",
        account.stack, goodput, seconds, stats.segments_sent, stats.retransmissions, stats.timeouts
    );
    let smss = account.flow.segment_bytes();
    for change in &account.changes {
        out.push_str(&format!(
            "  {:>9.4} s  {}: cwnd {:.3} → {:.3}, ssthresh {:.3} segments\n",
            change.at.as_secs_f64(),
            change.cause,
            change.before.cwnd / smss,
            change.after.cwnd / smss,
            change.after.ssthresh / smss,
        ));
    }
    if account.more_changes > 0 {
        let more = account.more_changes;
        out.push_str(&format!("  and {more} more changes, in windows.csv\n"));
    }
    out
}

fn files(drawn: &Drawn, folder: &OutputFolder) -> String {
    let thinned = match drawn.detail {
        Detail::Full => "",
        Detail::Thinned => ", thinned out as it cannot show every point",
    };
    format!(
        "files: {}\n  time-sequence.svg, .png  the figure, {:.3} s to {:.3} s{thinned}\n  flow.pcapng              for tshark, Wireshark and tcptrace; comments say why\n  packets.csv, windows.csv every packet; cwnd, ssthresh, in flight, RTT",
        folder.path().display(),
        drawn.span.from.as_secs_f64(),
        drawn.span.until.as_secs_f64(),
    )
}
