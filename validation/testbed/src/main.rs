//! The testbed of LE §5.2 on real packets, and today's kernel beside it: `cargo measure testbed` writes
//! `docs/testbed.md`.
//!
//! Arguments: `--seconds N` (10) and `--repeat N` (5) for the duration and the repetitions of a run of figure 9,
//! `--today-seconds N` (20) and `--today-repeat N` (26) for those of today's senders, `--out DIR` for the folder of the
//! page instead of `docs`.

mod page;

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
    Beside, Family, Outcome, SackCompression, SenderSpec, Testbed, TestbedOptions, Watch,
};
use dupack_wire::namespace;

use page::Page;

/// Senders over a path.
#[derive(Clone, Copy)]
pub struct Part {
    /// Congestion control of its senders, or their names.
    pub name: &'static str,
    /// Name of its files beside the page.
    pub figure: &'static str,
    /// Rate of the path in both directions.
    pub rate: &'static str,
    /// Delay of the path in both directions.
    pub buffer: &'static str,
    /// Our senders, as the testbed names them.
    pub senders: &'static [&'static str],
    /// The kernel's senders beside them.
    pub kernel: &'static [&'static str],
    /// Loss probabilities of packets to the receiver.
    pub losses: &'static [&'static str],
    /// Largest window of the receiver; `None` if the kernel decides.
    pub window: Option<&'static str>,
    /// `true` if its ACKs are delayed as those of today's Linux.
    pub compression: SackCompression,
    /// The paper's text about 10 % loss: senders and Mbit/s.
    pub paper: &'static [(&'static str, f64)],
    /// Accepted difference of goodput between wire and simulator in percent.
    pub agrees_percent: f64,
}

const LOSSES: [&str; 7] = ["0%", "1%", "2%", "3%", "5%", "7%", "10%"];

/// iperf's old default ("85.3 KByte", tcp_rmem's default). TCP-RR does not respond to a fast retransmit, so that only
/// the window prevents it from filling any buffer.
pub const WINDOW: &str = "87380B";

/// Figure 9(a). `experiments/papers/le/README.md` states the rate and the reason for it.
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
    // "A performance improvement of 50 %" means that FACK has two thirds of it.
    paper: &[("LE", 6.0), ("FACK (LE gains 50 %)", 4.0)],
    ..WESTWOOD
};

/// Figure 9(a) under the control that shows the effect of today's receiver best.
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

/// Today's senders, over the path of the README and to Linux's receiver by default. One at a time here, so that they
/// run at once.
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

/// Largest lateness of a run's packets.
const TOLERANCE: &str = "1ms";

/// More bytes than any run transfers.
const BYTES: &str = "1GB";

/// Number of seeds in the simulator, where runs are cheap.
const SIMULATED: u32 = 200;

/// Results on the wire and in the simulator.
pub struct Measured {
    /// The measured part.
    pub part: Part,
    /// Results on the wire.
    pub outcome: Outcome,
    /// Results of a simulator whose receiver behaves as the wire's.
    pub beside: Vec<Beside>,
}

/// Arguments of the command.
pub struct Options {
    /// Duration of a run of figure 9.
    pub seconds: u32,
    /// Its repetitions.
    pub repeat: u32,
    /// Duration of a run of today's senders.
    pub today_seconds: u32,
    /// Its repetitions.
    pub today_repeat: u32,
    out: PathBuf,
}

impl Options {
    /// Returns the duration of the runs of `part`, and their repetitions.
    pub fn of(&self, part: &Part) -> (u32, u32) {
        match part.figure == PATH_OF_TODAY.figure {
            true => (self.today_seconds, self.today_repeat),
            false => (self.seconds, self.repeat),
        }
    }
}

fn main() -> ExitCode {
    let done = options().and_then(|options| {
        // This is possible only while there is one thread.
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

/// Runs all at once: a path at these rates leaves the machine idle, and reports it if it does not.
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
    /// Runs this part in the simulator, whose receiver delays ACKs as `compression` says.
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

/// Returns the cause of an error.
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
