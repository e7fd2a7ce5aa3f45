//! A trace as rows of two tables, as its events come: every packet, and windows over time. Whoever writes them
//! down, as text or as columns, writes the same.

use std::fmt;

use dupack_net::link::DropCause;
use dupack_tcp::facts::SendReason;
use dupack_tcp::segment::SackBlock;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;
use dupack_tcp::window::WindowCause;

use super::phase::{Phase, Phases};
use super::{Event, Fate, Flow, Repeated, State, What};

/// What happened to a packet.
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
    /// What it is called in tables.
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

/// Why something happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Why the sender sent it.
    Sent(SendReason),
    /// Why the network dropped it.
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

/// Something that happened to a packet: a row of `packets.csv`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PacketRow<'e> {
    /// When it happened.
    pub at: Instant,
    /// What happened.
    pub event: PacketEvent,
    /// Of a data segment, its offset in segments. Of an ACK that arrived, the first that it asks for, which is no
    /// whole number within a segment. Of an ACK that was dropped, its place in the order of sending, from 0.
    pub packet: f64,
    /// Of a data segment, its place in the order of transmissions, from 1.
    pub transmission: Option<u64>,
    /// Why it happened, where there is a reason.
    pub why: Option<Why>,
    /// What became of a segment that was sent.
    pub fate: Option<Fate>,
    sacks: &'e [SackBlock],
    offsets: Offsets,
}

/// Turns sequence numbers into offsets in segments.
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
    /// The row of `event`, which is one of `flow`'s; none if it concerns no packet on its way.
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

    /// The blocks that an ACK selectively acknowledges: the first segment of each, and the first after it.
    pub fn sack_blocks(&self) -> impl Iterator<Item = (f64, f64)> + use<'e> {
        let (blocks, offsets) = (self.sacks, self.offsets);
        let block = move |block: &SackBlock| (offsets.of(block.start), offsets.of(block.end));
        blocks.iter().map(block)
    }
}

/// How a sender stands after something has changed: a row of `windows.csv`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WindowRow {
    /// Since when.
    pub at: Instant,
    /// How it stands.
    pub state: State,
    /// Why the window changed last, if it did since the row before.
    pub cause: Option<WindowCause>,
    /// What the sender is about.
    pub phase: Phase,
}

/// Makes [`WindowRow`]s of a flow's events.
#[derive(Clone, Debug)]
pub struct WindowRows {
    cause: Option<WindowCause>,
    phases: Phases,
    last: Option<(State, Phase)>,
}

impl WindowRows {
    /// Of a flow of which nothing has happened yet.
    #[must_use]
    pub fn new(flow: &Flow) -> Self {
        Self {
            cause: None,
            phases: Phases::new(flow),
            last: None,
        }
    }

    /// The row after `event`, the next of the flow's, if something has changed.
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
