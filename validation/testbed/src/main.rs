//! LE §5.2, its testbed, on real packets and today's kernel beside it: `cargo measure testbed` writes
//! `docs/testbed.md`.
//!
//! Arguments: `--seconds N` (10) and `--repeat N` (5) for a run of figure 9 and how often it is repeated,
//! `--today-seconds N` (20) and `--today-repeat N` (26) for one of today's senders, `--out DIR` for where the page
//! goes instead of `docs`.

mod page;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use dupack_algorithms::catalog::Catalog;
use dupack_algorithms::catalog::Dialect;
use dupack_lab::experiment::{Experiment, FlowGroup, LinkOptions, Seeds};
use dupack_lab::results::Results;
use dupack_lab::run::{Execution, Interrupt};
use dupack_lab::units::ByteCount;
use dupack_testbed::beside::compare;
use dupack_testbed::{
    Beside, Family, Outcome, SackCompression, SenderSpec, Testbed, TestbedOptions, Watch,
};
use dupack_wire::namespace;

use page::Page;

/// Senders over a path.
#[derive(Clone, Copy)]
pub struct Part {
    /// What its senders run under, or who they are.
    pub name: &'static str,
    /// Its files beside the page.
    pub figure: &'static str,
    /// Of the path, both ways.
    pub rate: &'static str,
    /// Of the path, both ways.
    pub buffer: &'static str,
    /// As the testbed takes them.
    pub senders: &'static [&'static str],
    /// The kernel's own, beside them.
    pub kernel: &'static [&'static str],
    /// Of packets to the receiver.
    pub losses: &'static [&'static str],
    /// The receiver's largest window; `None` where the kernel decides.
    pub window: Option<&'static str>,
    /// Whether its ACKs wait for others as those of today's Linux.
    pub compression: SackCompression,
    /// What the text of the paper says of 10 % loss: who, and Mbit/s.
    pub paper: &'static [(&'static str, f64)],
    /// By how many percent of goodput wire and simulator may differ.
    pub agrees_percent: f64,
}

const LOSSES: [&str; 7] = ["0%", "1%", "2%", "3%", "5%", "7%", "10%"];

/// What iperf offered of old unless told otherwise ("85.3 KByte", tcp_rmem's default). TCP-RR answers no
/// fast retransmit, so that only the window keeps it from filling any buffer.
pub const WINDOW: &str = "87380B";

/// Figure 9(a). The rate is as `experiments/papers/le/README.md` says and why.
const WESTWOOD: Part = Part {
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
    // A receiver of 2006 had none.
    compression: SackCompression::Off,
    paper: &[("LE (more than)", 4.0), ("SACK and FACK (about)", 3.5)],
    agrees_percent: 10.0,
};

/// Figure 9(b).
const TCP_RR: Part = Part {
    name: "TCP-RR",
    figure: "tcp-rr",
    rate: "10Mbit/s",
    senders: &["le/tcp-rr", "fack/tcp-rr"],
    // "A performance improvement of 50 %" puts FACK at two thirds of it.
    paper: &[("LE", 6.0), ("FACK (LE gains 50 %)", 4.0)],
    ..WESTWOOD
};

/// Figure 9(a) where it shows most what a receiver of today does.
const COMPRESSED: Part = Part {
    name: "Westwood, a receiver of today",
    figure: "compressed",
    senders: &["le/westwood", "fack/westwood", "sack/westwood"],
    kernel: &[],
    losses: &["5%", "10%"],
    compression: SackCompression::Kernel,
    paper: &[],
    ..WESTWOOD
};

/// Senders of which one asks today, over the path of the README and to Linux's receiver as it is. One at a time
/// here, so that they run at once.
const TODAY: [Part; 3] = [
    Part {
        senders: &["le/westwood"],
        ..PATH_OF_TODAY
    },
    Part {
        senders: &["sack/reno"],
        ..PATH_OF_TODAY
    },
    Part {
        senders: &["rack/cubic"],
        ..PATH_OF_TODAY
    },
];

const PATH_OF_TODAY: Part = Part {
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

/// Half of the paper's 20 ms.
const DELAY: &str = "10ms";

/// By how much a run's packets may leave the path late.
const TOLERANCE: &str = "1ms";

/// More than any run transfers.
const BYTES: &str = "1GB";

/// Seeds of the simulator, which are cheap.
const SIMULATED: u32 = 200;

/// What came out: on the wire, and beside the simulator.
pub struct Measured {
    /// What was measured.
    pub part: Part,
    /// On the wire.
    pub outcome: Outcome,
    /// Beside a simulator whose receiver does as the wire's.
    pub beside: Vec<Beside>,
}

/// What is asked for.
pub struct Options {
    /// How long a run of figure 9 sends.
    pub seconds: u32,
    /// How often it is repeated.
    pub repeat: u32,
    /// How long a run of today's senders sends.
    pub today_seconds: u32,
    /// How often it is repeated.
    pub today_repeat: u32,
    out: PathBuf,
}

impl Options {
    /// How long the runs of `part` send, and how often they are repeated.
    pub fn of(&self, part: &Part) -> (u32, u32) {
        match part.figure == PATH_OF_TODAY.figure {
            true => (self.today_seconds, self.today_repeat),
            false => (self.seconds, self.repeat),
        }
    }
}

fn main() -> ExitCode {
    let done = options().and_then(|options| {
        // It is possible only while there is one thread.
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

/// All at once: a path at these rates leaves the machine idle, and says so if it does not.
fn run_all(testbeds: &[Testbed]) -> Result<Vec<Outcome>, String> {
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
    let whole = |outcome: Outcome| match outcome.failures.first() {
        Some(e) => Err(format!("{e}: {}", causes(e))),
        None => Ok(outcome),
    };
    ends.into_iter().map(whole).collect()
}

impl Part {
    /// This part in the simulator, whose receiver holds back ACKs as `compression` says.
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

/// What is behind an error.
fn causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |e| e.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

/// Says how far all parts are.
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
