//! Rows of the comparison: the work, the programs that do the work, and the target.

use super::tools::{Build, Program, Simulator};

/// A row: some work that several programs do.
pub struct Row {
    /// Name of the row for `--only`.
    pub id: &'static str,
    /// Description of the work.
    pub work: &'static str,
    pub goal: Goal,
    pub entries: Vec<Entry>,
}

/// A program that does the work of a row.
pub struct Entry {
    pub simulator: Simulator,
    /// Name that distinguishes the entries of one simulator. Empty if the simulator has only one entry.
    pub variant: String,
    pub program: Program,
    pub arguments: Vec<String>,
    /// Number of simultaneous processes. Each process does all the work.
    pub at_once: usize,
    pub reading: Reading,
    /// The part of the row's work that this entry does. An entry does only a part if all of the work would take
    /// minutes.
    pub part: Portion,
    pub length: Length,
}

/// Part of a row's work.
#[derive(Clone, Copy, PartialEq)]
pub enum Portion {
    All,
    /// A share of the work, with its description.
    Share(f64, &'static str),
}

impl Portion {
    /// Returns the share of the row's packets.
    pub fn share(self) -> f64 {
        match self {
            Self::All => 1.0,
            Self::Share(share, _) => share,
        }
    }
}

/// Length of a run. `--quick` leaves out long runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Short,
    Long,
}

/// Position of the number of packets in a program's output.
#[derive(Clone, Copy)]
pub enum Reading {
    /// In a line `packets=N setup_s=S run_s=S rss_kb=K`. All fields except the first are optional.
    Line,
    /// The output does not contain the number. This value is the known number.
    Known(u64),
    /// In the line of `wifi-chain.cc`. Its third field is the goodput in bit/s over this number of seconds, which is
    /// converted to packets of 1000 bytes.
    WifiChain(f64),
}

/// Target for dupack in a row.
#[derive(Clone, Copy)]
pub enum Goal {
    /// Maximum time of each entry of a build of dupack, in seconds.
    Seconds(f64),
    /// Maximum time in seconds, and maximum memory in MB.
    SecondsAndMemory(f64, f64),
    /// Minimum number of data packets per second.
    PacketsPerSecond(f64),
    /// Minimum ratio of dupack's speed to the speed of the fastest other program.
    TimesTheFastest(f64),
    /// Minimum speed-up of two threads over one thread. The third variant consists of two independent processes with
    /// one thread each; their speed is the maximum that the machine allows.
    SpeedUp(f64),
    /// Maximum memory per flow in bytes, from the difference between the last two variants, whose flows have not
    /// started and have no window yet. In the first two variants, the same flows are in operation.
    BytesPerFlow(f64),
}

/// Numbers of flows of the two variants from which the memory per flow is calculated.
pub const FLOWS: [u32; 2] = [100_000, 1000];

const NS2_RUN: Program = Program::Ns2("run.tcl");
const NS2_DUMBBELL: Program = Program::Ns2("dumbbell.tcl");

/// Returns all rows. `stacks` contains a stack for each recovery of the catalog.
pub fn rows(stacks: &[String]) -> Vec<Row> {
    let with_stack = |stack: &String| Entry {
        program: Program::Counted(Build::Release),
        ..dupack(stack, &[stack, "1000000"])
    };
    let mut rows = vec![
        one(),
        Row {
            id: "recoveries",
            work: "the same with each recovery in the catalog",
            goal: Goal::Seconds(0.13),
            entries: stacks.iter().map(with_stack).collect(),
        },
        ten(),
        hundred(),
        thousand(),
        huge(),
        Row {
            id: "sweep",
            work: "a sweep of 1000 runs of 10 s: SACK and LE, five loss rates, 100 seeds",
            goal: Goal::SpeedUp(1.9),
            entries: vec![
                dupack("1 thread", &["sweep", "1"]),
                dupack("2 threads", &["sweep", "2"]),
                Entry {
                    at_once: 2,
                    ..dupack("two processes of 1 thread at once", &["sweep", "1"])
                },
            ],
        },
        chain(),
    ];
    for row in &mut rows {
        let twins: Vec<Entry> = row.entries.iter().filter_map(optimised).collect();
        row.entries.extend(twins);
    }
    rows
}

/// Returns the same entry for the optimised build.
fn optimised(entry: &Entry) -> Option<Entry> {
    let program = match entry.program {
        Program::Work(_) => Program::Work(Build::Optimised),
        Program::Counted(_) => Program::Counted(Build::Optimised),
        _ => return None,
    };
    Some(Entry {
        simulator: Simulator::Optimised,
        program,
        variant: entry.variant.clone(),
        arguments: entry.arguments.clone(),
        ..*entry
    })
}

fn one() -> Row {
    let ns2 = "-recovery newreno -delay 0.002 -loss 0.01 -buffer 50 -delack 0.2 -packets 1000000";
    let ns3 = "--flows=1 --rate=10e6 --delay=0.002 --loss=0.01 --buffer=50 --access-rate=0 \
               --size=1000 --delack=0.2 --sack=0 --spread=0.001 --packets=300000";
    Row {
        id: "one",
        work: "1,000,000 packets of 1000 B, 10 Mbit/s, 2 ms, 1 % loss, NewReno, delayed ACK",
        goal: Goal::Seconds(0.10),
        entries: vec![
            dupack("", &["one", "newreno"]),
            Entry {
                reading: Reading::Known(1_000_000),
                ..peer(Simulator::Ns2, NS2_RUN, ns2)
            },
            Entry {
                part: Portion::Share(0.3, "300,000 packets"),
                ..peer(Simulator::Ns3, Program::Ns3("dumbbell"), ns3)
            },
        ],
    }
}

fn ten() -> Row {
    Row {
        id: "ten",
        work: "10 SACK flows, 100 Mbit/s, 44 ms RTT, 1500 B, DropTail of 333 packets, 200 s",
        goal: Goal::PacketsPerSecond(6e6),
        entries: vec![
            dupack("", &["ten", "200"]),
            peer(Simulator::Ns2, NS2_DUMBBELL, "-duration 200"),
            Entry {
                part: Portion::Share(0.05, "10 s"),
                ..peer(Simulator::Ns3, Program::Ns3("dumbbell"), "--duration=10")
            },
            peer(Simulator::Htsim, Program::Htsim, "-duration 200"),
        ],
    }
}

fn hundred() -> Row {
    let ns2 = "-flows 100 -rate 100e6 -delay 0.010 -access-delay 0.005 -buffer 400 -duration 20";
    let ns3 = "--flows=100 --rate=100e6 --delay=0.010 --access-delay=0.005 --buffer=400 \
               --duration=5";
    Row {
        id: "hundred",
        work: "100 SACK flows, 100 Mbit/s, 40 ms RTT, 1500 B, access links of 5 ms, 20 s",
        goal: Goal::Seconds(0.10),
        entries: vec![
            dupack("", &["hundred"]),
            peer(Simulator::Ns2, NS2_DUMBBELL, ns2),
            Entry {
                part: Portion::Share(0.25, "5 s"),
                ..peer(Simulator::Ns3, Program::Ns3("dumbbell"), ns3)
            },
            peer(Simulator::Htsim, Program::Htsim, ns2),
        ],
    }
}

fn thousand() -> Row {
    let ns2 = "-flows 1000 -rate 1e9 -delay 0.010 -access-delay 0.005 -buffer 4000 -duration 20";
    let ns3 = "--flows=1000 --rate=1e9 --delay=0.010 --access-delay=0.005 --buffer=4000 \
               --window=200 --duration=1";
    Row {
        id: "thousand",
        work: "1000 SACK flows, 1 Gbit/s, 40 ms RTT, 1500 B, access links of 5 ms, 20 s",
        goal: Goal::SecondsAndMemory(1.0, 40.0),
        entries: vec![
            dupack("", &["thousand"]),
            Entry {
                length: Length::Long,
                ..peer(Simulator::Ns2, NS2_DUMBBELL, ns2)
            },
            Entry {
                part: Portion::Share(0.05, "1 s"),
                length: Length::Long,
                ..peer(Simulator::Ns3, Program::Ns3("dumbbell"), ns3)
            },
            peer(Simulator::Htsim, Program::Htsim, ns2),
        ],
    }
}

fn huge() -> Row {
    let ns2 = "-flows 10000 -rate 10e9 -delay 0.020 -access-rate 0 -buffer 40000 -spread 0.5 \
               -duration 1";
    let [many, few] = FLOWS.map(|flows| flows.to_string());
    Row {
        id: "huge",
        work: "100,000 SACK flows, 100 Gbit/s, 40 ms RTT, 1500 B, one hop, 1 s",
        goal: Goal::BytesPerFlow(2048.0),
        entries: vec![
            dupack("100,000 flows", &["huge", &many]),
            dupack("1000 flows", &["huge", &few]),
            dupack("100,000 flows before they start", &["idle", &many]),
            dupack("1000 flows before they start", &["idle", &few]),
            Entry {
                part: Portion::Share(0.1, "10,000 flows"),
                length: Length::Long,
                ..peer(Simulator::Ns2, NS2_DUMBBELL, ns2)
            },
        ],
    }
}

fn chain() -> Row {
    let ns3 = "--id=chain --traffic=tcp --hops=5 --window=8 --duration=190";
    Row {
        id: "chain",
        work: "five-hop 802.11b chain, one TCP flow with a window of 8 packets of 1000 B, 200 s",
        goal: Goal::TimesTheFastest(20.0),
        entries: vec![
            dupack("", &["chain", "200"]),
            peer(
                Simulator::Ns2,
                Program::Ns2("wifi-chain.tcl"),
                "-duration 200",
            ),
            Entry {
                reading: Reading::WifiChain(190.0),
                part: Portion::Share(0.95, "packets of the last 190 s"),
                length: Length::Long,
                ..peer(Simulator::Ns3, Program::Ns3("wifi-chain"), ns3)
            },
        ],
    }
}

fn dupack(variant: &str, arguments: &[&str]) -> Entry {
    Entry {
        simulator: Simulator::Dupack,
        variant: variant.to_owned(),
        program: Program::Work(Build::Release),
        arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        at_once: 1,
        reading: Reading::Line,
        part: Portion::All,
        length: Length::Short,
    }
}

/// Returns an entry that does all the work with these arguments. The arguments are separated by spaces.
fn peer(simulator: Simulator, program: Program, arguments: &str) -> Entry {
    Entry {
        simulator,
        variant: String::new(),
        program,
        arguments: arguments.split_whitespace().map(str::to_owned).collect(),
        at_once: 1,
        reading: Reading::Line,
        part: Portion::All,
        length: Length::Short,
    }
}
