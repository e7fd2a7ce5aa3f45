//! LE §5.2, its testbed, on real packets and today's kernel beside it: `cargo measure testbed` writes
//! `docs/testbed.md`.
//!
//! Arguments: `--seconds N` (10) and `--repeat N` (5) for a run and how often it is repeated, `--out DIR`
//! for where the page goes instead of `docs`.

mod page;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use dupack_algorithms::catalog::Catalog;
use dupack_algorithms::catalog::Dialect;
use dupack_lab::experiment::{Experiment, FlowGroup, LinkOptions, Seeds};
use dupack_lab::run::{Execution, Interrupt};
use dupack_lab::units::ByteCount;
use dupack_testbed::beside::compare;
use dupack_testbed::{
    Beside, Family, Outcome, SackCompression, SenderSpec, Testbed, TestbedOptions, Watch,
};
use dupack_wire::namespace;

use page::Page;

/// One half of figure 9.
pub struct Half {
    /// What its senders run under.
    pub name: &'static str,
    /// Its file beside the page.
    pub figure: &'static str,
    /// As `experiments/papers/le/README.md` says and why.
    pub rate: &'static str,
    /// As the testbed takes them; the kernel's are added.
    pub senders: &'static [&'static str],
    /// What the text of the paper says of 10 % loss: who, and Mbit/s.
    pub paper: &'static [(&'static str, f64)],
}

const HALVES: [Half; 2] = [
    Half {
        name: "Westwood",
        figure: "westwood",
        rate: "6Mbit/s",
        senders: &[
            "le/westwood",
            "fack/westwood",
            "sack/westwood",
            "le/fixed(window=10)",
        ],
        paper: &[("LE (more than)", 4.0), ("SACK and FACK (about)", 3.5)],
    },
    Half {
        name: "TCP-RR",
        figure: "tcp-rr",
        rate: "10Mbit/s",
        senders: &["le/tcp-rr", "fack/tcp-rr"],
        // "A performance improvement of 50 %" puts FACK at two thirds of it.
        paper: &[("LE", 6.0), ("FACK (LE gains 50 %)", 4.0)],
    },
];

/// Today's.
const KERNEL: [&str; 3] = ["kernel:cubic", "kernel:bbr", "kernel:reno"];

/// Half of the paper's 20 ms.
const DELAY: &str = "10ms";
const BUFFER: &str = "100pkt";
const LOSSES: [&str; 7] = ["0%", "1%", "2%", "3%", "5%", "7%", "10%"];

/// What iperf offered of old unless told otherwise ("85.3 KByte", tcp_rmem's default). TCP-RR answers no
/// fast retransmit, so that only the window keeps it from filling any buffer.
pub const WINDOW: &str = "87380B";

/// Linux's least delay of an ACK (`TCP_DELACK_MIN`), for the simulated counterpart of its receiver.
const DELAYED_ACK: &str = "40ms";

/// By how much a run's packets may leave the path late.
const TOLERANCE: &str = "1ms";

/// More than any run transfers.
const BYTES: &str = "1GB";

/// Seeds of the simulator, which are cheap.
const SIMULATED: u32 = 50;

/// Which senders meet a receiver that holds back ACKs as today's Linux does, and where.
const COMPRESSED_SENDERS: [&str; 3] = ["le/westwood", "fack/westwood", "sack/westwood"];
const COMPRESSED_LOSSES: [&str; 2] = ["5%", "10%"];

/// What came out: on the wire, and beside the simulator.
pub struct Measured {
    /// On the wire.
    pub outcome: Outcome,
    /// Beside the simulator.
    pub beside: Vec<Beside>,
}

/// What is asked for.
pub struct Options {
    /// How long a run sends.
    pub seconds: u32,
    /// How often it is repeated.
    pub repeat: u32,
    out: PathBuf,
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
            "--out" => options.out = value.into(),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let tasks = || {
        let halves = HALVES.iter().map(Task::half);
        halves.chain([Task::compressed()]).collect::<Vec<_>>()
    };
    let testbeds = tasks()
        .into_iter()
        .map(|task| task.testbed(options, options.repeat));
    let testbeds = testbeds.collect::<Result<Vec<_>, _>>()?;
    for testbed in &testbeds {
        let probed = testbed.probe();
        probed.map_err(|e| format!("{e}: {}", causes(&e)))?;
    }
    let mut measured = Vec::new();
    for (task, outcome) in tasks().iter().zip(run_all(&testbeds)?) {
        let simulator = task.testbed(options, SIMULATED)?;
        let plan = simulator.counterpart().ok_or("there are stacks")?;
        let simulated = plan.execute(Execution::default(), &(), &Interrupt::new());
        let beside = compare(&outcome.results, &simulated);
        measured.push(Measured { outcome, beside });
    }
    let compressed = measured.pop().ok_or("it was run last")?;
    Page {
        halves: &HALVES,
        measured: &measured,
        compressed: &compressed,
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

/// One testbed: senders over a path.
struct Task {
    title: String,
    rate: &'static str,
    senders: Vec<&'static str>,
    losses: Vec<&'static str>,
    compression: SackCompression,
}

impl Task {
    /// A half of the figure. Its receiver acknowledges as that of 2006 did.
    fn half(half: &Half) -> Self {
        Self {
            title: format!("LE's testbed under {}", half.name),
            rate: half.rate,
            senders: half.senders.iter().chain(&KERNEL).copied().collect(),
            losses: LOSSES.to_vec(),
            compression: SackCompression::Off,
        }
    }

    /// What today's receiver makes of it.
    fn compressed() -> Self {
        Self {
            title: "LE's testbed under Westwood, a receiver of today".to_owned(),
            senders: COMPRESSED_SENDERS.to_vec(),
            losses: COMPRESSED_LOSSES.to_vec(),
            compression: SackCompression::Kernel,
            ..Self::half(&HALVES[0])
        }
    }

    fn testbed(&self, options: &Options, repeat: u32) -> Result<Testbed, String> {
        let mut experiment = Experiment::new(Vec::new());
        experiment.title.clone_from(&self.title);
        experiment.dialect = Dialect::Linux;
        experiment.seeds = Seeds::Count(repeat);
        experiment.duration = format!("{}s", options.seconds).parse().map_err(told)?;
        experiment.receiver.delayed_ack = Some(DELAYED_ACK.parse().map_err(told)?);
        experiment.receiver.buffer = Some(WINDOW.parse().map_err(told)?);
        let bytes: ByteCount = BYTES.parse().map_err(told)?;
        experiment.flows.push(FlowGroup {
            count: 1,
            bytes: Some(bytes),
            ..FlowGroup::default()
        });
        let path = LinkOptions {
            rate: Some(self.rate.parse().map_err(told)?),
            delay: DELAY.parse().map_err(told)?,
            buffer: Some(BUFFER.parse().map_err(told)?),
            ..LinkOptions::default()
        };
        let losses = self.losses.iter().map(|loss| loss.parse().map_err(told));
        experiment.set_path(path, &losses.collect::<Result<Vec<_>, _>>()?);
        let senders = self.senders.iter();
        let catalog = Catalog::builtin();
        let senders = senders.map(|text| SenderSpec::parse(text, &catalog).map_err(told));
        let options = TestbedOptions {
            senders: senders.collect::<Result<_, _>>()?,
            bytes,
            tolerance: TOLERANCE.parse().map_err(told)?,
            family: Family::V4,
            sack_compression: self.compression,
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

/// Says how far both halves are.
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
