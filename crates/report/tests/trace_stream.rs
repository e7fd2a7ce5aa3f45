//! Traces that go to files while they happen: the same as in memory, however long, or an error.

use dupack_algorithms::catalog::Catalog;
use std::io::{self, Write};

use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan};
use dupack_lab::trace::stream::{Account, Outputs, StreamError, TraceFile, stream};
use dupack_lab::trace::{Trace, capture, packets_csv, windows_csv};
use dupack_report::trace::{Asked, Detail, Drawn, Sketch, time_sequence};

fn plan(stack: &str, duration: &str, path: &str) -> Plan {
    let text = format!("stacks = [\"{stack}\"]\nseeds = 1\nduration = \"{duration}\"\n{path}");
    let source = Source::new("test", text);
    Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
}

fn streamed<W: Write>(
    plan: &Plan,
    asked: Asked,
    outputs: Outputs<W>,
) -> Result<(Account, Drawn), StreamError> {
    let job = plan.jobs()[0];
    let never = Interrupt::new();
    let mut sketch = Sketch::new(asked);
    let account = stream(plan.scenario(job), job.seed, outputs, &mut sketch, &never)?;
    let drawn = sketch.finish(account.end).unwrap();
    Ok((account, drawn))
}

#[test]
fn files_and_figure_are_those_of_the_trace_in_memory() {
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
        let trace = Trace::record(plan.scenario(job), job.seed, &Interrupt::new()).unwrap();
        let (mut packets, mut windows, mut captured) = (Vec::new(), Vec::new(), Vec::new());
        let outputs = Outputs {
            packets: &mut packets,
            windows: &mut windows,
            capture: &mut captured,
        };
        let (account, drawn) = streamed(&plan, Asked::default(), outputs).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert!(text(packets) == packets_csv(&trace), "{stack}");
        assert!(text(windows) == windows_csv(&trace), "{stack}");
        assert!(captured == capture(&trace).unwrap(), "{stack}");
        assert_eq!(account.stats, trace.stats);
        assert_eq!(account.end, trace.end);
        assert_eq!(drawn.detail, Detail::Full);
        let figure = time_sequence(&trace, drawn.span, "", "");
        assert!(
            drawn.figure.svg().unwrap() == figure.svg().unwrap(),
            "{stack}"
        );
    }
}

/// Takes some bytes, and says then that the disk is full.
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
fn a_full_disk_ends_the_run_and_is_told_with_the_file() {
    // Months: a test that ends shows that the run did not go on.
    let plan = plan("sack/reno", "10000000s", "[path]\nrate = \"10Mbit/s\"");
    each_full_disk_is_told(&plan, |is_full| Disk {
        room: if is_full { 100_000 } else { usize::MAX },
    });
}

/// What is left in a buffer at the end is written, too, and its errors are told.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_at_the_end_is_told() {
    let plan = plan(
        "sack/reno",
        "300ms",
        "[path]\nrate = \"1Mbit/s\"\ndelay = \"40ms\"",
    );
    let open = |path: &str| std::fs::OpenOptions::new().write(true).open(path).unwrap();
    each_full_disk_is_told(&plan, |is_full| {
        open(if is_full { "/dev/full" } else { "/dev/null" })
    });
}

/// Streams `plan` with one disk after the other full: the error names its file.
fn each_full_disk_is_told<W: Write>(plan: &Plan, disk: impl Fn(bool) -> W) {
    for full in [TraceFile::Packets, TraceFile::Windows, TraceFile::Capture] {
        let disk = |file| disk(file == full);
        let outputs = Outputs {
            packets: disk(TraceFile::Packets),
            windows: disk(TraceFile::Windows),
            capture: disk(TraceFile::Capture),
        };
        match streamed(plan, Asked::default(), outputs) {
            Err(StreamError::Write { file, source }) => {
                assert_eq!(file, full);
                assert_eq!(source.kind(), io::ErrorKind::StorageFull);
            }
            other => panic!("{full:?}: {other:?}"),
        }
    }
}

/// Memory in the test's own process, which the test starts again for each duration: what a
/// process held at most never falls.
#[cfg(target_os = "linux")]
mod memory {
    use dupack_tcp::time::{Duration, Instant};

    use super::*;

    /// Set for the child: the simulated time in seconds.
    const SECONDS: &str = "DUPACK_TEST_TRACE_SECONDS";
    const PEAK: &str = "peak KiB: ";

    /// Most that the longer run may need beyond the shorter. Its events alone are 400 MB.
    const GROWTH_KIB_MAX: u64 = 4096;

    #[test]
    fn a_run_ten_times_as_long_needs_no_more() {
        if let Ok(seconds) = std::env::var(SECONDS) {
            return trace(seconds.parse().unwrap());
        }
        let [short, long] = [10, 100].map(peak_kib_of);
        assert!(
            long < short + GROWTH_KIB_MAX,
            "{short} KiB for 10 s, {long} KiB for 100 s"
        );
    }

    /// A trace of 50 Mbit/s, all of it in the figure.
    fn trace(seconds: u64) {
        let path = "[path]\nrate = \"50Mbit/s\"\ndelay = \"5ms\"\nbuffer = \"50pkt\"";
        let plan = plan("sack/cubic", &format!("{seconds}s"), path);
        let asked = Asked {
            from: Some(Instant::ZERO),
            until: Some(Instant::ZERO + Duration::from_secs(seconds)),
        };
        let outputs = Outputs {
            packets: io::sink(),
            windows: io::sink(),
            capture: io::sink(),
        };
        let (account, drawn) = streamed(&plan, asked, outputs).unwrap();
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
        let name = "memory::a_run_ten_times_as_long_needs_no_more";
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
