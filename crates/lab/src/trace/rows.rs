//! Rows of a trace's two tables: packets, and windows over time. Text and columnar writers share these rows, so both
//! write the same data.

use std::fmt;

use dupack_net::link::DropCause;
use dupack_tcp::facts::SendReason;
use dupack_tcp::segment::SackBlock;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;
use dupack_tcp::window::WindowCause;

use super::phase::{Phase, Phases};
use super::{Event, Fate, Flow, Repeated, State, What};

/// Kind of event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketEvent {
    /// The sender sent a data segment.
    Sent(Repeated),
    /// The network dropped a data segment.
    Dropped,
    /// A data segment reached the receiver.
    Arrived,
    /// An ACK reached the sender.
    AckArrived,
    /// The network dropped an ACK.
    AckDropped,
}

impl PacketEvent {
    /// Returns the name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent(Repeated::First) => "send",
            Self::Sent(Repeated::Needed) => "retransmit",
            Self::Sent(Repeated::Needless) => "retransmit needlessly",
            Self::Dropped => "drop",
            Self::Arrived => "arrive",
            Self::AckArrived => "ack",
            Self::AckDropped => "drop ack",
        }
    }
}

impl fmt::Display for PacketEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reason for an event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Reason for the transmission.
    Sent(SendReason),
    /// Cause of the drop.
    Dropped(DropCause),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent(reason) => reason.fmt(f),
            Self::Dropped(cause) => f.write_str(cause.name()),
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("under way"),
            Self::Arrived => f.write_str("arrived"),
            Self::Dropped(cause) => write!(f, "dropped: {}", cause.name()),
        }
    }
}

/// Event of a packet: a row of `packets.csv`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PacketRow<'e> {
    /// Time of the event.
    pub at: Instant,
    /// Kind of the event.
    pub event: PacketEvent,
    /// For a data segment, its offset in segments. For an ACK that arrived, the cumulative acknowledgment in segments,
    /// which is not a whole number if it lies within a segment. For an ACK that was dropped, its number in the order of
    /// sending, counted from 0.
    pub packet: f64,
    /// For a data segment, the number of the transmission, counted from 1.
    pub transmission: Option<u64>,
    /// Reason for the event, if there is one.
    pub why: Option<Why>,
    /// Fate of a transmitted segment.
    pub fate: Option<Fate>,
    sacks: &'e [SackBlock],
    offsets: Offsets,
}

/// Conversion of sequence numbers to offsets in segments.
#[derive(Clone, Copy, Debug)]
struct Offsets {
    isn: SeqNumber,
    smss: f64,
}

impl Offsets {
    fn of(self, seq: SeqNumber) -> f64 {
        f64::from(seq.0.wrapping_sub(self.isn.0)) / self.smss
    }
}

impl<'e> PacketRow<'e> {
    /// Returns the row of an event of `flow`, or `None` if it does not concern a packet in transit.
    #[must_use]
    pub fn of(event: &'e Event, flow: &Flow) -> Option<Self> {
        let offsets = Offsets {
            isn: flow.sender.isn,
            smss: flow.segment_bytes(),
        };
        let bare = |event_kind, packet| Self {
            at: event.at,
            event: event_kind,
            packet,
            transmission: None,
            why: None,
            fate: None,
            sacks: &[],
            offsets,
        };
        Some(match &event.what {
            What::Sent(sent) => Self {
                transmission: Some(sent.order),
                why: Some(Why::Sent(sent.why)),
                fate: Some(sent.fate),
                ..bare(PacketEvent::Sent(sent.repeated), sent.number as f64)
            },
            What::DataDropped {
                number,
                order,
                cause,
            } => Self {
                transmission: Some(*order),
                why: Some(Why::Dropped(*cause)),
                ..bare(PacketEvent::Dropped, *number as f64)
            },
            What::DataArrived { number, order } => Self {
                transmission: Some(*order),
                ..bare(PacketEvent::Arrived, *number as f64)
            },
            What::AckArrived { ack, .. } => Self {
                sacks: ack.sacks.as_slice(),
                ..bare(PacketEvent::AckArrived, offsets.of(ack.ack))
            },
            What::AckDropped { number, cause } => Self {
                why: Some(Why::Dropped(*cause)),
                ..bare(PacketEvent::AckDropped, *number as f64)
            },
            What::AckSent { .. } | What::Window(_) | What::State(_) => return None,
        })
    }

    /// Returns the SACK blocks of an ACK, each as the first segment in the block and the first segment after it.
    pub fn sack_blocks(&self) -> impl Iterator<Item = (f64, f64)> + use<'e> {
        let (blocks, offsets) = (self.sacks, self.offsets);
        let block = move |block: &SackBlock| (offsets.of(block.start), offsets.of(block.end));
        blocks.iter().map(block)
    }
}

/// State of a sender after a change: a row of `windows.csv`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WindowRow {
    /// Time of the change.
    pub at: Instant,
    /// State of the sender.
    pub state: State,
    /// Cause of the latest window change since the previous row, if there was one.
    pub cause: Option<WindowCause>,
    /// Phase of the sender.
    pub phase: Phase,
}

/// Conversion of a flow's events to [`WindowRow`]s.
#[derive(Clone, Debug)]
pub struct WindowRows {
    cause: Option<WindowCause>,
    phases: Phases,
    last: Option<(State, Phase)>,
}

impl WindowRows {
    /// Creates the conversion for a flow without any events yet.
    #[must_use]
    pub fn new(flow: &Flow) -> Self {
        Self {
            cause: None,
            phases: Phases::new(flow),
            last: None,
        }
    }

    /// Processes the next event of the flow. Returns a row if the state changed.
    pub fn event(&mut self, event: &Event) -> Option<WindowRow> {
        self.phases.event(event);
        match &event.what {
            What::Window(change) => {
                self.cause = Some(change.cause);
                None
            }
            What::State(state) => {
                let now = (*state, self.phases.now());
                if self.last.replace(now) == Some(now) {
                    return None;
                }
                Some(WindowRow {
                    at: event.at,
                    state: *state,
                    cause: self.cause.take(),
                    phase: now.1,
                })
            }
            _ => None,
        }
    }
}
