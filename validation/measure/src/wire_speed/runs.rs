//! The runs of the measurement.

/// One run of `crates/wire/examples/wire_speed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub party: Party,
    pub task: Task,
}

/// Program that moves the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    Dupack,
    /// smoltcp with its default, which has no congestion control.
    Smoltcp,
    /// smoltcp with its Reno congestion control.
    SmoltcpReno,
    /// A second kernel, through a relay.
    Relay,
}

/// Direction and kind of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    pub direction: Direction,
    pub packets: Packets,
}

/// Direction, as seen from the endpoint. The relay does the same work in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Send,
    Receive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packets {
    Plain,
    Offload,
}

/// The rows of the page, with their targets.
pub const TASKS: [(Task, f64); 4] = [
    (Task::new(Direction::Send, Packets::Plain), PLAIN_AIM),
    (Task::new(Direction::Receive, Packets::Plain), PLAIN_AIM),
    (Task::new(Direction::Send, Packets::Offload), OFFLOAD_AIM),
    (Task::new(Direction::Receive, Packets::Offload), OFFLOAD_AIM),
];

/// Target throughput in Gbit/s to and from the kernel on one core. `OFFLOAD_AIM` is the target with offload.
const PLAIN_AIM: f64 = 1.0;
const OFFLOAD_AIM: f64 = 5.0;

/// The runs of a round. Runs that are compared follow each other.
pub const RUNS: [Run; 12] = [
    Run::new(Party::Dupack, Direction::Send, Packets::Plain),
    Run::new(Party::Smoltcp, Direction::Send, Packets::Plain),
    Run::new(Party::SmoltcpReno, Direction::Send, Packets::Plain),
    Run::new(Party::Dupack, Direction::Receive, Packets::Plain),
    Run::new(Party::Smoltcp, Direction::Receive, Packets::Plain),
    Run::new(Party::Relay, Direction::Send, Packets::Plain),
    Run::new(Party::Dupack, Direction::Send, Packets::Offload),
    Run::new(Party::Smoltcp, Direction::Send, Packets::Offload),
    Run::new(Party::SmoltcpReno, Direction::Send, Packets::Offload),
    Run::new(Party::Dupack, Direction::Receive, Packets::Offload),
    Run::new(Party::Smoltcp, Direction::Receive, Packets::Offload),
    Run::new(Party::Relay, Direction::Send, Packets::Offload),
];

impl Task {
    const fn new(direction: Direction, packets: Packets) -> Self {
        Self { direction, packets }
    }

    pub const fn name(self) -> &'static str {
        match (self.direction, self.packets) {
            (Direction::Send, Packets::Plain) => "sending, packets of 1500 bytes",
            (Direction::Receive, Packets::Plain) => "receiving, packets of 1500 bytes",
            (Direction::Send, Packets::Offload) => "sending, with offload",
            (Direction::Receive, Packets::Offload) => "receiving, with offload",
        }
    }
}

impl Run {
    const fn new(party: Party, direction: Direction, packets: Packets) -> Self {
        Self {
            party,
            task: Task::new(direction, packets),
        }
    }

    /// Returns the arguments of the run.
    pub fn words(self) -> Vec<&'static str> {
        let direction = match self.task.direction {
            Direction::Send => "send",
            Direction::Receive => "receive",
        };
        let packets = match self.task.packets {
            Packets::Plain => "plain",
            Packets::Offload => "offload",
        };
        match self.party {
            Party::Dupack => vec!["dupack", direction, packets],
            Party::Smoltcp => vec!["smoltcp", direction, packets],
            Party::SmoltcpReno => vec!["smoltcp", direction, packets, "--control", "reno"],
            Party::Relay => vec!["relay", packets],
        }
    }

    /// Returns the name of the run in the table of all measurements.
    pub fn name(self) -> String {
        let packets = match self.task.packets {
            Packets::Plain => "packets of 1500 bytes",
            Packets::Offload => "with offload",
        };
        match self.party {
            Party::Dupack => format!("dupack, {}", self.task.name()),
            Party::Smoltcp => format!("smoltcp, {}", self.task.name()),
            Party::SmoltcpReno => format!("smoltcp with Reno, {}", self.task.name()),
            Party::Relay => format!("kernel to kernel, {packets}"),
        }
    }
}
