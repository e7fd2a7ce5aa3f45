//! Two captures of the same transfer, one at each end, joined.
//!
//! ```text
//! capture here ──► diagnose ─► worst connections ─► record ─┐
//!                                                           ├─► match ─► clock ─► match ─► fates, delays
//! capture there ─► find them by sequence numbers ─► record ─┘
//! ```
//!
//! A connection is found in the other capture by sequence and ACK numbers, which a NAT leaves alone, or by timestamps, which a
//! box that moves sequence numbers leaves alone. Each packet is matched by sequence numbers, length, and whatever else the path
//! preserves: timestamps, IPv4 identification, window and SACK blocks. Of equal ones the latest that can have arrived by then is
//! the one that arrived.
//!
//! The clocks need not agree. For a packet of each direction, one soon after the other, the sum of both one-way delays
//! follows from four times without any offset: its sign tells which capture is nearer to which end. The offset lies between
//! the least differences of both directions; no capture tells where, so that the least round trip is halved. Skew is the
//! slope of the convex hull of the least differences (Moon, Skelly, Towsley: INFOCOM 1999).
//!
//! Memory is bounded: at most [`CONNECTIONS_MAX`] connections are joined, and the first [`PACKETS_MAX`] packets of them in
//! each capture, of some 60 bytes each and twice that while they are matched.

mod clock;
mod error;
mod fates;
mod join;
mod matching;
mod names;
mod pieces;
mod ranges;
mod record;
mod rewritten;
mod settle;

use std::net::SocketAddr;

use dupack_tcp::time::Duration;

use crate::read::side::{Both, Side};
use crate::told::Told;

pub use error::BothError;
pub use join::diagnose_both;
pub use rewritten::{Changed, Rewritten};

/// Connections that are joined, the worst of a capture (ours).
pub const CONNECTIONS_MAX: usize = 64;

/// Packets of all these connections that are joined, of each capture (ours: some 200 MB while they are matched).
pub const PACKETS_MAX: usize = 1 << 20;

/// A connection in two captures: this one and the other.
#[derive(Clone, Debug, PartialEq)]
pub struct BothEnds {
    /// Addresses of both ends in the other capture: others than here if a NAT lies between.
    pub there: Both<SocketAddr>,
    /// The end that this capture is nearer to. The other capture is nearer to the other end.
    pub near: Side,
    /// Least time from one capture to the other and back. It depends on no clock.
    pub round_trip: Duration,
    /// The other capture's clock; `None` if no line describes it: a clock was set meanwhile.
    pub clock: Option<Clock>,
    /// The packets of each end, between the two captures.
    pub ways: Both<Way>,
    /// Fields of each end's packets that are rewritten between the two captures.
    pub rewritten: Both<Rewritten>,
    /// Whether all packets of the connection were joined.
    pub extent: Joined,
    /// The findings of this capture alone that were replaced, for the data of [`Self::near`].
    pub alone: Option<Alone>,
}

/// Whether all packets of a connection were joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// All of them.
    All,
    /// The first of them: there are more than [`PACKETS_MAX`].
    First,
}

/// The other capture's clock beside this one's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Seconds that it is ahead at the first packet that both captures have; negative if it is behind.
    pub offset_s: f64,
    /// Half of the least round trip: the offset may be so much more or less, as no capture tells how the least round trip
    /// divides between both ways.
    pub uncertainty: Duration,
    /// Seconds that it gains in a second; negative if it loses.
    pub skew: Told<f64>,
}

/// Lost packets that are kept one by one of each way, the first ones (ours: some 10 kB).
pub const LOST_MAX: usize = 256;

/// The packets of one end, between the two captures. Packets are segments: what an interface with offload shows as one is
/// counted as the segments that it stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Packets that the capture near their sender has.
    pub sent: u64,
    /// Those of them that the other capture has, too.
    pub arrived: u64,
    /// Lost packets with data.
    pub lost_data: u64,
    /// Retransmissions among them.
    pub lost_again: u64,
    /// Lost packets without data: ACKs and resets.
    pub lost_acks: u64,
    /// Lost SYNs and FINs without data.
    pub lost_controls: u64,
    /// Packets that the far capture lacks although they arrived: they were acknowledged there.
    pub missing_far: u64,
    /// Packets that the far capture has and the near one lacks.
    pub missing_near: u64,
    /// Bytes of data that were acknowledged and that neither capture has.
    pub unseen_bytes: u64,
    /// Packets whose fate is not known: the other capture had not begun or was over, or lacks packets of that kind.
    pub undecided: u64,
    /// Packets that arrived after others that were sent later.
    pub reordered: u64,
    /// Copies that the path made: the far capture has them more often than the near one.
    pub duplicated: u64,
    /// Packets that the far capture has more often than the near one, of which nothing tells if the path made copies or if the
    /// near capture lacks them.
    pub unexplained: u64,
    /// Packets with data.
    pub segments: u64,
    /// Retransmissions, without probes.
    pub retransmissions: u64,
    /// Retransmissions of data that had arrived or was on its way.
    pub needless: u64,
    /// Retransmissions of which this is not known.
    pub need_unknown: u64,
    /// Lost packets with data, SYN or FIN, the first [`LOST_MAX`].
    pub lost: Vec<Lost>,
    /// One-way delays, if the offset is known.
    pub delays: Option<Delays>,
}

impl Way {
    /// All lost packets.
    #[must_use]
    pub const fn lost_all(&self) -> u64 {
        self.lost_data + self.lost_acks + self.lost_controls
    }

    /// `true` if a capture lacks packets, or the fate of some is not known: then others may have been lost, too.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.missing_near + self.missing_far + self.undecided + self.unexplained + self.unseen_bytes
            > 0
    }
}

/// A lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its number in the capture near its sender.
    pub packet: u32,
    /// Bytes of data.
    pub bytes: u32,
    /// `true` for a retransmission.
    pub is_again: bool,
}

/// One-way delays. The least of either way is half of the least round trip by definition; what exceeds it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// The least.
    pub least: Duration,
    /// Median.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// The longest.
    pub max: Duration,
}

impl Delays {
    /// The time beyond the least, of which 5 % of the packets took more: time in queues.
    #[must_use]
    pub fn queueing(&self) -> Duration {
        self.p95.saturating_sub(self.least)
    }
}

/// Place of the queue between the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Packets wait nowhere.
    Nowhere,
    /// On the way of the packets of this end.
    From(Side),
    /// On both ways.
    BothWays,
}

/// Delay beyond the least that counts as a queue (ours): a delayed interrupt or a busy host takes less.
const QUEUE_MIN: Duration = Duration::from_millis(1);

/// One way has the queue if packets wait so many times as long there (ours).
const QUEUE_RATIO: u64 = 3;

impl BothEnds {
    /// The place of the queue; `None` if delays are not known.
    #[must_use]
    pub fn queue(&self) -> Option<Queue> {
        let [one, other] = [self.ways.opener.delays?, self.ways.answerer.delays?];
        let waits = [one.queueing(), other.queueing()];
        let least = QUEUE_MIN.max(self.round_trip / 20);
        let longer = |a: Duration, b: Duration| a > b.saturating_mul(QUEUE_RATIO);
        Some(match waits {
            [a, b] if a < least && b < least => Queue::Nowhere,
            [a, b] if longer(a, b) => Queue::From(Side::Opener),
            [a, b] if longer(b, a) => Queue::From(Side::Answerer),
            _ => Queue::BothWays,
        })
    }
}

/// What one capture alone told, where both tell something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Lost segments.
    pub losses: u64,
    /// Needless retransmissions.
    pub needless: u64,
}

/// One of two captures, in the order in which they were named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first.
    First,
    /// The second.
    Second,
}

impl Which {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}
