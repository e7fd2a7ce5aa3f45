//! The testbed of LE §5.2, and today's kernel, on real packets: `cargo measure testbed` writes `docs/testbed.md`.
//!
//! Arguments: `--seconds N` (10) and `--repeat N` (5) for the duration and the repetitions of a run of figure 9,
//! `--today-seconds N` (20) and `--today-repeat N` (26) for those of today's senders, `--out DIR` for the folder of the
//! page instead of `docs`.

mod testbed_page;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use dupack_algorithms::catalog::Catalog;
use dupack_algorithms::catalog::Dialect;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::{Experiment, FlowGroup, LinkOptions, Seeds};
use dupack_lab::results::Results;
use dupack_lab::run::Interrupt;
use dupack_lab::units::ByteCount;
use dupack_testbed::beside::compare;
use dupack_testbed::{
    Beside, Family, SackCompression, SenderSpec, Testbed, TestbedOptions, TestbedResults, Watch,
};
use dupack_wire::namespace;

use testbed_page::Page;

/// A group of senders that run over the same path.
#[derive(Clone, Copy)]
pub struct SenderGroup {
    /// Congestion control of the senders, or a name of the group.
    pub name: &'static str,
    /// Name of the group's figure files.
    pub figure: &'static str,
    /// Rate of the path in each direction.
    pub rate: &'static str,
    /// Buffer of the path in each direction.
    pub buffer: &'static str,
    /// Our senders, by their names in `dupack testbed`.
    pub senders: &'static [&'static str],
    /// The kernel's senders in the same table.
    pub kernel: &'static [&'static str],
    /// Loss probabilities of packets to the receiver.
    pub losses: &'static [&'static str],
    /// Maximum receive window, or `None` if the kernel decides.
    pub window: Option<&'static str>,
    /// Compression of ACKs in the receiver. `Kernel` stands for the delays of today's Linux.
    pub compression: SackCompression,
    /// Values in the text of the paper for 10 % loss: senders, and goodput in Mbit/s.
    pub paper: &'static [(&'static str, f64)],
    /// Accepted difference in goodput between wire and simulator, in percent.
    pub agrees_percent: f64,
}

const LOSSES: [&str; 7] = ["0%", "1%", "2%", "3%", "5%", "7%", "10%"];

/// Old default window of iperf ("85.3 KByte", the default of tcp_rmem). TCP-RR does not respond to a fast retransmit,
/// so only the receive window prevents it from filling any buffer.
pub const WINDOW: &str = "87380B";

/// Figure 9(a). `experiments/papers/le/README.md` states the rate and the reason for it.
const WESTWOOD: SenderGroup = SenderGroup {
    name: "Westwood",
    figure: "westwood",
    rate: "6Mbit/s",
    buffer: "100pkt",
    senders: &[
        "le/westwood",
        "fack/westwood",
        "sack/westwood",
        "le/fixed(window=10)",
    ],
    kernel: &["kernel:cubic", "kernel:bbr", "kernel:reno"],
    losses: &LOSSES,
    window: Some(WINDOW),
    // A receiver of 2006 had no compression.
    compression: SackCompression::Off,
    paper: &[("LE (more than)", 4.0), ("SACK and FACK (about)", 3.5)],
    agrees_percent: 10.0,
};

/// Figure 9(b).
const TCP_RR: SenderGroup = SenderGroup {
    name: "TCP-RR",
    figure: "tcp-rr",
    rate: "10Mbit/s",
    senders: &["le/tcp-rr", "fack/tcp-rr"],
    // "A performance improvement of 50 %" means that FACK has two thirds of LE's goodput.
    paper: &[("LE", 6.0), ("FACK (LE gains 50 %)", 4.0)],
    ..WESTWOOD
};

/// Figure 9(a) with today's receiver, and with the congestion control that shows the effect of this receiver best.
const COMPRESSED: SenderGroup = SenderGroup {
    name: "Westwood, a receiver of today",
    figure: "compressed",
    senders: &["le/westwood", "fack/westwood", "sack/westwood"],
    kernel: &[],
    losses: &["5%", "10%"],
    compression: SackCompression::Kernel,
    paper: &[],
    ..WESTWOOD
};

/// Today's senders, over the path of the README and to Linux's receiver with its defaults. Each sender has its own
/// group, so that the groups run at the same time.
const TODAY: [SenderGroup; 3] = [
    SenderGroup {
        senders: &["le/westwood"],
        ..PATH_OF_TODAY
    },
    SenderGroup {
        senders: &["sack/reno"],
        ..PATH_OF_TODAY
    },
    SenderGroup {
        senders: &["rack/cubic"],
        ..PATH_OF_TODAY
    },
];

const PATH_OF_TODAY: SenderGroup = SenderGroup {
    name: "today's receiver",
    figure: "today",
    rate: "10Mbit/s",
    buffer: "50pkt",
    senders: &[],
    kernel: &[],
    losses: &LOSSES,
    window: None,
    compression: SackCompression::Kernel,
    paper: &[],
    agrees_percent: 5.0,
};

/// One-way delay: half of the paper's 20 ms.
const DELAY: &str = "10ms";

/// Maximum lateness of the packets of a run.
const TOLERANCE: &str = "1ms";

/// Size of a transfer. No run can complete a transfer of this size.
const BYTES: &str = "1GB";

/// Number of seeds in the simulator, where runs are cheap.
const SIMULATED: u32 = 200;

/// Results on the wire and in the simulator.
pub struct Measured {
    /// The measured group of senders.
    pub part: SenderGroup,
    /// Results on the wire.
    pub outcome: TestbedResults,
    /// Comparison with a simulator whose receiver behaves like the receiver on the wire.
    pub beside: Vec<Beside>,
}

/// Arguments of the command.
pub struct Options {
    /// Duration of a run of figure 9, in seconds.
    pub seconds: u32,
    /// Number of repetitions of a run of figure 9.
    pub repeat: u32,
    /// Duration of a run of today's senders, in seconds.
    pub today_seconds: u32,
    /// Number of repetitions of a run of today's senders.
    pub today_repeat: u32,
    out: PathBuf,
}

impl Options {
    /// Returns the duration of the runs of `part` in seconds, and the number of repetitions.
    pub fn of(&self, part: &SenderGroup) -> (u32, u32) {
        match part.figure == PATH_OF_TODAY.figure {
            true => (self.today_seconds, self.today_repeat),
            false => (self.seconds, self.repeat),
        }
    }
}

fn main() -> ExitCode {
    let done = options().and_then(|options| {
        // `prepare` works only while the process has a single thread.
        namespace::prepare().map_err(|e| format!("{e}: {}", causes(&e)))?;
        run(&options)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut options = Options {
        seconds: 10,
        repeat: 5,
        today_seconds: 20,
        today_repeat: 26,
        out: docs,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or(format!("{name} wants a value"))?;
        let number = |least: u32| {
            let number = value.parse().ok().filter(|&number| number >= least);
            number.ok_or(format!("{name} wants a number of at least {least}"))
        };
        match name.as_str() {
            "--seconds" => options.seconds = number(1)?,
            "--repeat" => options.repeat = number(2)?,
            "--today-seconds" => options.today_seconds = number(1)?,
            "--today-repeat" => options.today_repeat = number(2)?,
            "--out" => options.out = value.into(),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let parts = [&[WESTWOOD, TCP_RR, COMPRESSED][..], &TODAY].concat();
    let testbeds = parts.iter().map(|part| {
        let (seconds, repeat) = options.of(part);
        part.testbed(seconds, repeat, part.compression)
    });
    let testbeds = testbeds.collect::<Result<Vec<_>, _>>()?;
    for testbed in &testbeds {
        let probed = testbed.probe();
        probed.map_err(|e| format!("{e}: {}", causes(&e)))?;
    }
    let mut measured = Vec::new();
    for (&part, outcome) in parts.iter().zip(run_all(&testbeds)?) {
        let simulated = part.simulated(options, part.compression)?;
        let beside = compare(&outcome.results, &simulated);
        measured.push(Measured {
            part,
            outcome,
            beside,
        });
    }
    let plain = COMPRESSED.simulated(options, SackCompression::Off)?;
    let plain = compare(&measured[2].outcome.results, &plain);
    Page {
        westwood: &measured[..1],
        tcp_rr: &measured[1..2],
        compressed: &measured[2..3],
        beside_plain: &plain,
        today: &measured[3..],
        options,
    }
    .write(&options.out)
}

/// Runs all testbeds at the same time. At these rates, a path leaves most of the machine idle. If packets are late
/// nevertheless, the path reports the lateness.
fn run_all(testbeds: &[Testbed]) -> Result<Vec<TestbedResults>, String> {
    let watch = Told {
        done: AtomicUsize::new(0),
        of: testbeds.iter().map(|testbed| testbed.jobs().len()).sum(),
    };
    let never = Interrupt::new();
    let ends = std::thread::scope(|scope| {
        let (watch, never) = (&watch, &never);
        let running = testbeds
            .iter()
            .map(|testbed| scope.spawn(move || testbed.run(watch, never)));
        let running: Vec<_> = running.collect();
        let ends = running.into_iter().map(|running| running.join());
        ends.collect::<Result<Vec<_>, _>>()
    });
    let ends = ends.map_err(|_| "a testbed panicked")?;
    let whole = |outcome: TestbedResults| match outcome.failures.first() {
        Some(e) => Err(format!("{e}: {}", causes(e))),
        None => Ok(outcome),
    };
    ends.into_iter().map(whole).collect()
}

impl SenderGroup {
    /// Runs this group in the simulator. The simulated receiver delays ACKs according to `compression`.
    fn simulated(
        &self,
        options: &Options,
        compression: SackCompression,
    ) -> Result<Results, String> {
        let (seconds, _) = options.of(self);
        let testbed = self.testbed(seconds, SIMULATED, compression)?;
        let plan = testbed.counterpart().ok_or("there are stacks")?;
        Ok(plan.execute(Execution::default(), &(), &Interrupt::new()))
    }

    fn testbed(
        &self,
        seconds: u32,
        repeat: u32,
        compression: SackCompression,
    ) -> Result<Testbed, String> {
        let mut experiment = Experiment::new(Vec::new());
        experiment.title = format!("LE's testbed under {}", self.name);
        experiment.dialect = Dialect::Linux;
        experiment.seeds = Seeds::Count(repeat);
        experiment.duration = format!("{seconds}s").parse().map_err(told)?;
        let window = self.window.map(|window| window.parse().map_err(told));
        experiment.receiver.buffer = window.transpose()?;
        let bytes: ByteCount = BYTES.parse().map_err(told)?;
        experiment.flows.push(FlowGroup {
            count: 1,
            bytes: Some(bytes),
            ..FlowGroup::default()
        });
        let path = LinkOptions {
            rate: Some(self.rate.parse().map_err(told)?),
            delay: DELAY.parse().map_err(told)?,
            buffer: Some(self.buffer.parse().map_err(told)?),
            ..LinkOptions::default()
        };
        let losses = self.losses.iter().map(|loss| loss.parse().map_err(told));
        experiment.set_path(path, &losses.collect::<Result<Vec<_>, _>>()?);
        let senders = self.senders.iter().chain(self.kernel);
        let catalog = Catalog::builtin();
        let senders = senders.map(|text| SenderSpec::parse(text, &catalog).map_err(told));
        let options = TestbedOptions {
            senders: senders.collect::<Result<_, _>>()?,
            bytes,
            tolerance: Some(TOLERANCE.parse().map_err(told)?),
            family: Family::V4,
            sack_compression: compression,
            captures: None,
        };
        Testbed::new(experiment, options, &catalog).map_err(told)
    }
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Returns the causes of an error, as text.
fn causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |e| e.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

/// Prints the progress of all parts.
struct Told {
    done: AtomicUsize,
    of: usize,
}

impl Watch for Told {
    fn run_begins(&self, _: &str) {}

    fn run_done(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        eprint!("\r{done} of {} runs", self.of);
        if done == self.of {
            eprintln!();
        }
    }
}
