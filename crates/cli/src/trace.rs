//! `dupack trace`: one flow, packet by packet.

use std::process::ExitCode;

use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::{Access, Experiment, LinkOptions, Seeds};
use dupack_lab::figure::png;
use dupack_lab::results::table;
use dupack_lab::run::Plan;
use dupack_lab::trace::{Span, Trace, capture, packets_csv, repair, time_sequence, windows_csv};
use dupack_lab::units::{Delay, Rate};
use dupack_tcp::time::{Duration, Instant};
use miette::{IntoDiagnostic, Result, miette};

use crate::args::TraceArgs;
use crate::output::{INTERRUPTED, PNG_SCALE, folder, print, terminal};
use crate::progress::interrupt;

pub fn run(args: &TraceArgs) -> Result<ExitCode> {
    let experiment = experiment(args);
    let source = Source::of_flags(&experiment);
    let plan = Plan::new(experiment, &source)?;
    let job = plan.jobs()[0];
    let trace = Trace::record(plan.scenario(job), job.seed, interrupt()).into_diagnostic()?;
    let span = span(args, &trace)?;
    let folder = folder(args.out.as_deref(), "trace")?;

    folder.write("experiment.toml", source.text.as_bytes())?;
    folder.write("packets.csv", packets_csv(&trace).as_bytes())?;
    folder.write("windows.csv", windows_csv(&trace).as_bytes())?;
    folder.write("flow.pcapng", &capture(&trace).into_diagnostic()?)?;
    let figure = time_sequence(&trace, span, &trace.stack, &subtitle(args));
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
    print(&summary(&trace))?;
    print(&format!(
        "files: {}\n  time-sequence.svg, .png  the figure, {:.3} s to {:.3} s\n  flow.pcapng              for tshark, Wireshark and tcptrace; comments say why\n  packets.csv, windows.csv every packet; cwnd, ssthresh, in flight, RTT",
        folder.path().display(),
        span.from.as_secs_f64(),
        span.until.as_secs_f64(),
    ))?;
    if trace.left_out > 0 {
        eprintln!(
            "warning: {} events came after the first four million and were not kept: shorten the run with --duration",
            trace.left_out
        );
    }
    Ok(if interrupt().is_asked() {
        eprintln!("interrupted at {} of {}", trace.end, args.duration);
        ExitCode::from(INTERRUPTED)
    } else {
        ExitCode::SUCCESS
    })
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

fn span(args: &TraceArgs, trace: &Trace) -> Result<Span> {
    let at = |delay: Delay| Instant::ZERO + Duration::from_nanos(delay.as_nanos());
    let whole = repair(trace);
    let span = Span {
        from: args.from.map_or(whole.from, at),
        until: args.until.map_or(whole.until, at),
    };
    if span.from >= span.until || span.from >= trace.end {
        return Err(miette!(
            help = "--from must lie before --until, and within the run",
            "the figure from {} to {} shows nothing",
            span.from,
            span.until
        ));
    }
    Ok(span)
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

fn summary(trace: &Trace) -> String {
    let stats = &trace.stats;
    let seconds = trace.end.as_secs_f64().max(f64::MIN_POSITIVE);
    let goodput = trace.delivered_bytes as f64 * 8.0 / seconds / 1e6;
    let mut out = format!(
        "{}: {:.3} Mbit/s over {:.1} s, {} segments sent, {} of them again, {} timeouts\n",
        trace.stack, goodput, seconds, stats.segments_sent, stats.retransmissions, stats.timeouts
    );
    for change in trace.window_changes() {
        use dupack_tcp::window::WindowCause;
        let smss = trace.segment_bytes();
        if matches!(
            change.cause,
            WindowCause::SlowStart | WindowCause::Avoidance
        ) {
            continue;
        }
        out.push_str(&format!(
            "  {:>9.4} s  {}: cwnd {:.3} → {:.3}, ssthresh {:.3} segments\n",
            change.at.as_secs_f64(),
            change.cause,
            change.before.cwnd / smss,
            change.after.cwnd / smss,
            change.after.ssthresh / smss,
        ));
    }
    out
}
