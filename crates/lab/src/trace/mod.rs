//! One flow, packet by packet: what was sent and why, what was lost and why, what came back,
//! and what the sender made of it.
//!
//! [`Trace`] holds it in memory, to be asked; [`stream`](mod@stream) writes it to files while it
//! happens, in memory that does not grow with the run.

mod capture;
mod csv;
mod pending;
pub mod phase;
mod reach;
mod record;
pub mod rows;
pub mod stream;

pub use capture::capture;
pub use csv::{packets_csv, windows_csv};
pub use reach::{Reach, Unreached};

pub use dupack_net::link::DropCause;
use dupack_packet::Marking;
use dupack_tcp::facts::SendReason;
use dupack_tcp::segment::{Ack, DataSegment};
use dupack_tcp::sender::{SenderStats, WindowChange};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{ReceiverConfig, SenderConfig};

/// The parameters of both ends of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The sender's.
    pub sender: SenderConfig,
    /// The receiver's.
    pub receiver: ReceiverConfig,
}

impl Flow {
    /// Payload bytes of a full segment.
    #[must_use]
    pub fn segment_bytes(&self) -> f64 {
        f64::from(self.sender.smss)
    }
}

/// Everything that happened to one flow, in memory.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The stack, in its canonical spelling.
    pub stack: String,
    /// The sender's parameters.
    pub sender: SenderConfig,
    /// The receiver's parameters.
    pub receiver: ReceiverConfig,
    /// What happened, in the order of time.
    pub events: Vec<Event>,
    /// The sender's own counters at the end.
    pub stats: SenderStats,
    /// Stream bytes received in order at the end.
    pub delivered_bytes: u64,
    /// When the run ended.
    pub end: Instant,
    /// Events that were not kept, as there were too many.
    pub left_out: u64,
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When it happened.
    pub at: Instant,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum What {
    /// The sender sent a data segment.
    Sent(Sent),
    /// The network dropped a data segment.
    DataDropped {
        /// The packet's number: its offset in segments.
        number: u64,
        /// The transmission that was lost.
        order: u64,
        /// Why the network dropped it.
        cause: DropCause,
    },
    /// A data segment reached the receiver.
    DataArrived {
        /// The packet's number.
        number: u64,
        /// Which transmission.
        order: u64,
    },
    /// The receiver sent an ACK.
    AckSent {
        /// The ACK's place in the order of sending, from 0.
        number: u64,
        /// What it says.
        ack: Ack,
    },
    /// An ACK reached the sender.
    AckArrived {
        /// The ACK's place in the order of sending, from 0.
        number: u64,
        /// What it says.
        ack: Ack,
    },
    /// The network dropped an ACK.
    AckDropped {
        /// The ACK's place in the order of sending, from 0.
        number: u64,
        /// Why the network dropped it.
        cause: DropCause,
    },
    /// The sender's window changed.
    Window(WindowChange),
    /// The sender had handled whatever came before at this time.
    State(State),
}

/// A data segment as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The header.
    pub segment: DataSegment,
    /// The packet's number: its offset in segments.
    pub number: u64,
    /// The place in the order of transmissions, from 1.
    pub order: u64,
    /// Why it was sent.
    pub why: SendReason,
    /// Whether it was a retransmission.
    pub repeated: Repeated,
    /// The ECN field it was sent with, and CWR.
    pub marking: Marking,
    /// What became of it, if the run lasted long enough to tell.
    pub fate: Fate,
}

/// Whether a segment had been sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// It had not.
    First,
    /// It had, and was really lost.
    Needed,
    /// It had, and was not lost: the retransmission was needless.
    Needless,
}

/// What became of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// It was still under way at the end.
    Open,
    /// It arrived.
    Arrived,
    /// It was dropped.
    Dropped(DropCause),
}

/// The sender's state after an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Congestion window in bytes.
    pub cwnd: f64,
    /// Slow start threshold in bytes.
    pub ssthresh: f64,
    /// Bytes in flight as the recovery counts them.
    pub in_flight: u64,
    /// Bytes really in flight.
    pub in_flight_true: u64,
    /// The last round-trip sample.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Duplicate ACKs in a row, as the sender counts them.
    pub dup_acks: u32,
    /// Bytes by which the textbook's window is larger than `cwnd`
    /// ([`Sender::inflation`](dupack_tcp::Sender::inflation)).
    pub inflation: i64,
    /// How the window grows if nothing is lost.
    pub growth: Growth,
}

/// How a window grows if nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It is below the slow start threshold.
    SlowStart,
    /// It is not.
    Avoidance,
    /// The control goes by a model of the path and not by the window (BBR).
    Model,
}

impl Trace {
    /// The parameters of both ends.
    #[must_use]
    pub const fn flow(&self) -> Flow {
        Flow {
            sender: self.sender,
            receiver: self.receiver,
        }
    }

    /// Payload bytes of a full segment.
    #[must_use]
    pub fn segment_bytes(&self) -> f64 {
        f64::from(self.sender.smss)
    }

    /// All data segments sent.
    pub fn sends(&self) -> impl Iterator<Item = (Instant, &Sent)> {
        self.events.iter().filter_map(|event| match &event.what {
            What::Sent(sent) => Some((event.at, sent)),
            _ => None,
        })
    }

    /// All window changes.
    pub fn window_changes(&self) -> impl Iterator<Item = &WindowChange> {
        self.events.iter().filter_map(|event| match &event.what {
            What::Window(change) => Some(change),
            _ => None,
        })
    }

    /// The sender's states over time.
    pub fn states(&self) -> impl Iterator<Item = (Instant, &State)> {
        self.events.iter().filter_map(|event| match &event.what {
            What::State(state) => Some((event.at, state)),
            _ => None,
        })
    }

    /// The cumulative acknowledgments that reached the sender, as packets, and their blocks.
    pub fn acks(&self) -> impl Iterator<Item = (Instant, &Ack)> {
        self.events.iter().filter_map(|event| match &event.what {
            What::AckArrived { ack, .. } => Some((event.at, ack)),
            _ => None,
        })
    }
}
