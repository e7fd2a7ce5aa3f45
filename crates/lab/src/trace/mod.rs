//! Traces: the packets of one flow, with the reasons for transmissions, the causes of losses, and the state of the
//! sender.
//!
//! A [`Trace`] is kept in memory for analysis. [`stream`](mod@stream) writes a trace to files during the run, with
//! memory that does not grow with the length of the run.

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

/// Configuration of both ends of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Configuration of the sender.
    pub sender: SenderConfig,
    /// Configuration of the receiver.
    pub receiver: ReceiverConfig,
}

impl Flow {
    /// Returns the payload of a full segment in bytes.
    #[must_use]
    pub fn segment_bytes(&self) -> f64 {
        f64::from(self.sender.smss)
    }
}

/// All events of one flow, in memory.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The stack, in its canonical spelling.
    pub stack: String,
    /// Configuration of the sender.
    pub sender: SenderConfig,
    /// Configuration of the receiver.
    pub receiver: ReceiverConfig,
    /// Events in order of time.
    pub events: Vec<Event>,
    /// Counters of the sender at the end.
    pub stats: SenderStats,
    /// Bytes of the stream that were received in order by the end of the run.
    pub delivered_bytes: u64,
    /// End of the run.
    pub end: Instant,
    /// Number of events that were dropped because there were too many.
    pub left_out: u64,
}

/// An event of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Time of the event.
    pub at: Instant,
    /// Kind of the event.
    pub what: What,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum What {
    /// The sender sent a data segment.
    Sent(Sent),
    /// The network dropped a data segment.
    DataDropped {
        /// Number of the packet: its offset in segments.
        number: u64,
        /// Number of the transmission.
        order: u64,
        /// Cause of the drop.
        cause: DropCause,
    },
    /// A data segment reached the receiver.
    DataArrived {
        /// Number of the packet.
        number: u64,
        /// Number of the transmission.
        order: u64,
    },
    /// The receiver sent an ACK.
    AckSent {
        /// Number of the ACK in the order of sending, counted from 0.
        number: u64,
        /// Contents of the ACK.
        ack: Ack,
    },
    /// An ACK reached the sender.
    AckArrived {
        /// Number of the ACK in the order of sending, counted from 0.
        number: u64,
        /// Contents of the ACK.
        ack: Ack,
    },
    /// The network dropped an ACK.
    AckDropped {
        /// Number of the ACK in the order of sending, counted from 0.
        number: u64,
        /// Cause of the drop.
        cause: DropCause,
    },
    /// The sender's window changed.
    Window(WindowChange),
    /// State of the sender after all events of this time.
    State(State),
}

/// Transmission of a data segment.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Header of the segment.
    pub segment: DataSegment,
    /// Number of the packet: its offset in segments.
    pub number: u64,
    /// Number of the transmission, counted from 1.
    pub order: u64,
    /// Reason for the transmission.
    pub why: SendReason,
    /// Kind of transmission: original or retransmission.
    pub repeated: Repeated,
    /// ECN field and CWR flag of the segment.
    pub marking: Marking,
    /// Fate of the segment, if the run was long enough to show it.
    pub fate: Fate,
}

/// Original transmission or retransmission of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// Original transmission.
    First,
    /// Retransmission of a segment that was lost.
    Needed,
    /// Spurious retransmission: the segment was not lost.
    Needless,
}

/// Fate of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// In transit at the end of the run.
    Open,
    /// Arrived.
    Arrived,
    /// Dropped.
    Dropped(DropCause),
}

/// State of the sender after an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Congestion window in bytes.
    pub cwnd: f64,
    /// Slow-start threshold in bytes.
    pub ssthresh: f64,
    /// Bytes in flight by the recovery's count.
    pub in_flight: u64,
    /// Bytes that are actually in flight.
    pub in_flight_true: u64,
    /// Latest round-trip sample.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Consecutive duplicate ACKs by the sender's count.
    pub dup_acks: u32,
    /// Excess of the textbook window over `cwnd`, in bytes ([`Sender::inflation`](dupack_tcp::Sender::inflation)).
    pub inflation: i64,
    /// Growth of the window without losses.
    pub growth: Growth,
}

/// Growth of a window without losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Slow start: the window is below the slow-start threshold.
    SlowStart,
    /// Congestion avoidance.
    Avoidance,
    /// Growth by a model of the path rather than by the window (BBR).
    Model,
}

impl Trace {
    /// Returns the configuration of both ends.
    #[must_use]
    pub const fn flow(&self) -> Flow {
        Flow {
            sender: self.sender,
            receiver: self.receiver,
        }
    }

    /// Returns the payload of a full segment in bytes.
    #[must_use]
    pub fn segment_bytes(&self) -> f64 {
        f64::from(self.sender.smss)
    }

    /// Returns all transmissions of data segments.
    pub fn sends(&self) -> impl Iterator<Item = (Instant, &Sent)> {
        self.events.iter().filter_map(|event| match &event.what {
            What::Sent(sent) => Some((event.at, sent)),
            _ => None,
        })
    }

    /// Returns all window changes.
    pub fn window_changes(&self) -> impl Iterator<Item = &WindowChange> {
        self.events.iter().filter_map(|event| match &event.what {
            What::Window(change) => Some(change),
            _ => None,
        })
    }

    /// Returns the states of the sender over time.
    pub fn states(&self) -> impl Iterator<Item = (Instant, &State)> {
        self.events.iter().filter_map(|event| match &event.what {
            What::State(state) => Some((event.at, state)),
            _ => None,
        })
    }

    /// Returns the ACKs that reached the sender.
    pub fn acks(&self) -> impl Iterator<Item = (Instant, &Ack)> {
        self.events.iter().filter_map(|event| match &event.what {
            What::AckArrived { ack, .. } => Some((event.at, ack)),
            _ => None,
        })
    }
}
