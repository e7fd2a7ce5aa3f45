//! Traces that are streamed to files. The result is the same as in memory for any length, or an error.

use dupack_algorithms::catalog::Catalog;
use std::io::{self, Write};

use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan};
use dupack_lab::trace::stream::{Account, Outputs, StreamError, TraceFile, stream, watch};
use dupack_lab::trace::{Trace, capture, packets_csv, windows_csv};
use dupack_report::figure::RungEnd;
use dupack_report::trace::{
    Asked, Detail, Drawn, Extent, Found, Rungs, Sketch, Span, annotated, figures,
};
use dupack_report::trace::{Followed, Style};

fn plan(stack: &str, duration: &str, path: &str) -> Plan {
    let text = format!("stacks = [\"{stack}\"]\nseeds = 1\nduration = \"{duration}\"\n{path}");
    let source = Source::new("test", text);
    Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
}

/// Writes the files of a trace, and then gathers the figure of the part that was found, like `dupack trace`.
fn streamed<W: Write>(
    plan: &Plan,
    outputs: Outputs<W>,
) -> Result<(Account, Found, Drawn), StreamError> {
    let job = plan.jobs()[0];
    let never = Interrupt::new();
    let mut extent = Extent::default();
    let scenario = plan.scenario(job);
    let account = stream(&scenario, (job.seed, 0), outputs, &mut extent, &never)?;
    let found = extent.found(account.end).unwrap();
    let found = Found::of_all(&[found], Asked::default(), account.end).unwrap();
    let mut sketch = Sketch::new(found.span);
    watch(&scenario, (job.seed, 0), found.span.until, &mut sketch)?;
    Ok((account, found, sketch.finish()))
}

#[test]
fn files_and_figure_match_the_trace_in_memory() {
    let lossy = "[path]\nrate = \"2Mbit/s\"\ndelay = \"40ms\"\nbuffer = \"20pkt\"\nloss = \"3%\"";
    let listed = "[path]\nrate = \"1Mbit/s\"\ndelay = \"98ms\"\ndrop = [\"24-30\", \"26#2\"]";
    let calm = "[path]\nrate = \"1Mbit/s\"\ndelay = \"10ms\"\n[sender]\nmax_window = \"4pkt\"";
    let silent = "[path]\nrate = \"1Mbit/s\"\ndelay = \"10ms\"\nloss = \"100%\"";
    let shuffled = "[path]\nrate = \"2Mbit/s\"\ndelay = \"40ms\"\nreorder = { probability = \"5%\", delay = \"30ms\" }";
    for (stack, path) in [
        ("sack/reno", lossy),
        ("rack/cubic", lossy),
        ("le(cause=order-echo)/westwood", lossy),
        ("momentary/reno", listed),
        ("newreno/reno", silent),
        ("sack/reno", calm),
        ("rack/cubic", shuffled),
    ] {
        let plan = plan(stack, "12s", path);
        let job = plan.jobs()[0];
        let trace = Trace::record(&plan.scenario(job), job.seed, &Interrupt::new()).unwrap();
        let (mut packets, mut windows, mut captured) = (Vec::new(), Vec::new(), Vec::new());
        let outputs = Outputs {
            packets: &mut packets,
            windows: &mut windows,
            capture: &mut captured,
        };
        let (account, found, drawn) = streamed(&plan, outputs).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert!(text(packets) == packets_csv(&trace), "{stack}");
        assert!(text(windows) == windows_csv(&trace), "{stack}");
        assert!(captured == capture(&trace).unwrap(), "{stack}");
        assert_eq!(account.stats, trace.stats);
        assert_eq!(account.end, trace.end);
        assert_eq!(drawn.detail, Detail::Full);
        assert!(drawn.figure == annotated(&trace, found.span), "{stack}");
    }
}

/// The second of two stacks repairs its losses later. One part covers both stacks, and the figure has a text
/// description.
#[test]
fn figures_of_several_stacks_share_their_axes() {
    let path = "[path]\nrate = \"1Mbit/s\"\ndelay = \"98ms\"\ndrop = [\"24-30\"]";
    let plans = ["sack/reno", "reno/reno"].map(|stack| plan(stack, "12s", path));
    let parts = plans.each_ref().map(|plan| {
        let sinks = || Outputs {
            packets: io::sink(),
            windows: io::sink(),
            capture: io::sink(),
        };
        let (account, found, _) = streamed(plan, sinks()).unwrap();
        (account.end, found)
    });
    let end = parts[0].0.max(parts[1].0);
    let founds = parts.map(|part| part.1);
    let found = Found::of_all(&founds, Asked::default(), end).unwrap();
    assert!(founds[0].span.until < founds[1].span.until);
    assert_eq!(
        found.span.from,
        founds[0].span.from.min(founds[1].span.from)
    );
    assert_eq!(found.span.until, founds[1].span.until);
    let followed = plans.iter().map(|plan| {
        let job = plan.jobs()[0];
        let scenario = plan.scenario(job);
        let mut gathered = (Sketch::new(found.span), Rungs::new(found.ladder));
        let until = found.span.until.max(found.ladder.until);
        watch(&scenario, (job.seed, 0), until, &mut gathered).unwrap();
        let name = scenario.stack.to_string();
        Followed {
            drawn: gathered.0.finish(),
            ladder: gathered.1.finish(&name),
            others: Vec::new(),
            name,
        }
    });
    let drawn = figures(&Style::default(), &found, followed.collect());
    let plots = &drawn.time_sequence.plots;
    assert_eq!(plots[0].time_range, plots[1].time_range);
    for (plot, column) in plots.iter().zip(&drawn.ladder.columns) {
        let lost: Vec<f64> = plot.drops.iter().take(7).map(|drop| drop.1).collect();
        assert_eq!(lost, [24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0]);
        let lost = column.rungs.iter();
        let lost = lost.filter(|rung| matches!(rung.end, RungEnd::Lost(_)));
        assert_eq!(lost.take(7).count(), 7);
        assert!(plot.duplicates.iter().any(|row| row.count >= 3));
    }
    let words = &drawn.time_sequence.description;
    for part in [
        "sack/reno, ",
        "(24 to 30)",
        "recovery ",
        "reno/reno, ",
        "timeout ",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let svg = drawn.time_sequence.svg().unwrap();
    assert!(svg.contains("(24 to 30)"));
    assert!(drawn.ladder.svg().unwrap().contains("24"));
}

/// Writer that accepts a number of bytes and then reports a full disk.
struct Disk {
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        match taken {
            0 => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_run_with_an_error_that_names_the_file() {
    // The run would take months of simulated time, so the test ends only if the run stops at the error.
    let plan = plan("sack/reno", "10000000s", "[path]\nrate = \"10Mbit/s\"");
    each_full_disk_is_an_error(&plan, |is_full| Disk {
        room: if is_full { 100_000 } else { usize::MAX },
    });
}

/// The buffer is flushed at the end of the run, and errors of the flush are reported.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_at_the_end_is_an_error() {
    let plan = plan(
        "sack/reno",
        "300ms",
        "[path]\nrate = \"1Mbit/s\"\ndelay = \"40ms\"",
    );
    let open = |path: &str| std::fs::OpenOptions::new().write(true).open(path).unwrap();
    each_full_disk_is_an_error(&plan, |is_full| {
        open(if is_full { "/dev/full" } else { "/dev/null" })
    });
}

/// Streams `plan` three times, each time with a different disk that is full. The error names the file on this disk.
fn each_full_disk_is_an_error<W: Write>(plan: &Plan, disk: impl Fn(bool) -> W) {
    for full in [TraceFile::Packets, TraceFile::Windows, TraceFile::Capture] {
        let disk = |file| disk(file == full);
        let outputs = Outputs {
            packets: disk(TraceFile::Packets),
            windows: disk(TraceFile::Windows),
            capture: disk(TraceFile::Capture),
        };
        match streamed(plan, outputs) {
            Err(StreamError::Write { file, source }) => {
                assert_eq!(file, full);
                assert_eq!(source.kind(), io::ErrorKind::StorageFull);
            }
            other => panic!("{full:?}: {other:?}"),
        }
    }
}

/// Memory of the test's own process. The test starts the process again for each duration, because the peak memory of a
/// process never decreases.
#[cfg(target_os = "linux")]
mod memory {
    use dupack_tcp::time::{Duration, Instant};

    use super::*;

    /// Environment variable that gives the child process the simulated time in seconds.
    const SECONDS: &str = "DUPACK_TEST_TRACE_SECONDS";
    const PEAK: &str = "peak KiB: ";

    /// Maximum additional memory of the longer run. The events of this run alone would take 400 MB.
    const GROWTH_KIB_MAX: u64 = 4096;

    #[test]
    fn runs_ten_times_as_long_need_no_more_memory() {
        if let Ok(seconds) = std::env::var(SECONDS) {
            return trace(seconds.parse().unwrap());
        }
        let [short, long] = [10, 100].map(peak_kib_of);
        assert!(
            long < short + GROWTH_KIB_MAX,
            "{short} KiB for 10 s, {long} KiB for 100 s"
        );
    }

    /// Traces a flow at 50 Mbit/s, with the whole run in the figure.
    fn trace(seconds: u64) {
        let path = "[path]\nrate = \"50Mbit/s\"\ndelay = \"5ms\"\nbuffer = \"50pkt\"";
        let plan = plan("sack/cubic", &format!("{seconds}s"), path);
        let span = Span {
            from: Instant::ZERO,
            until: Instant::ZERO + Duration::from_secs(seconds),
        };
        let outputs = Outputs {
            packets: io::sink(),
            windows: io::sink(),
            capture: io::sink(),
        };
        let job = plan.jobs()[0];
        let mut gathered = (Sketch::new(span), Rungs::new(span));
        let never = Interrupt::new();
        let flow = (job.seed, 0);
        let account = stream(&plan.scenario(job), flow, outputs, &mut gathered, &never).unwrap();
        let ladder = gathered.1.finish("all of it");
        assert!(ladder.full_at.is_some(), "{} rungs", ladder.rungs.len());
        let drawn = gathered.0.finish();
        assert!(
            account.stats.segments_sent > 2500 * seconds,
            "{:?}",
            account.stats
        );
        assert_eq!(drawn.detail, Detail::Thinned);
        assert!(drawn.figure.svg().unwrap().len() > 10_000);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.split_whitespace().next());
        println!("{PEAK}{}", peak.unwrap());
    }

    fn peak_kib_of(seconds: u64) -> u64 {
        let name = "trace_stream::memory::runs_ten_times_as_long_need_no_more_memory";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(SECONDS, seconds.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
        let (_, peak) = text.split_once(PEAK).unwrap();
        peak.split_whitespace().next().unwrap().parse().unwrap()
    }
}
