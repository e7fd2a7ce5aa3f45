//! Two captures of the same transfer, one at each endpoint, joined.
//!
//! ```text
//! capture here ──► diagnose ─► worst connections ─► record ─┐
//!                                                           ├─► match ─► clock ─► match ─► fates, delays
//! capture there ─► find them by sequence numbers ─► record ─┘
//! ```
//!
//! A connection is found in the other capture by sequence and ACK numbers, which a NAT preserves, or by timestamps,
//! which a middlebox that shifts sequence numbers preserves. Each packet is matched by sequence numbers, length, and
//! the other fields that the path preserves: timestamps, IPv4 identification, window and SACK blocks. Of equal
//! candidates, the latest one that can have arrived by then is taken.
//!
//! The clocks need not agree. For two packets of opposite directions, one soon after the other, the sum of both one-way
//! delays follows from four times without any offset. Its sign shows which capture is nearer to which endpoint. The
//! offset lies between the minimum differences of both directions; no capture shows where, so the minimum round-trip
//! time is halved. The skew is the slope of the convex hull of the minimum differences (Moon, Skelly, Towsley: INFOCOM
//! 1999).
//!
//! Memory is bounded: at most [`CONNECTIONS_MAX`] connections are joined, and the first [`PACKETS_MAX`] of their
//! packets in each capture, of about 60 bytes each and twice that during matching.

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

/// Maximum number of connections that are joined, the worst of a capture (ours).
pub const CONNECTIONS_MAX: usize = 64;

/// Maximum number of packets of all these connections that are joined, in each capture (ours: about 200 MB during
/// matching).
pub const PACKETS_MAX: usize = 1 << 20;

/// Connection in two captures: this one and the other.
#[derive(Clone, Debug, PartialEq)]
pub struct BothEnds {
    /// Addresses of both endpoints in the other capture: they differ if there is a NAT in between.
    pub there: Both<SocketAddr>,
    /// Endpoint to which this capture is nearer. The other capture is nearer to the other endpoint.
    pub near: Side,
    /// Minimum round-trip time between the captures. It is independent of the clocks.
    pub round_trip: Duration,
    /// Minimum round-trip time between the endpoints, according to the diagnosed capture.
    pub whole: Option<Duration>,
    /// Clock of the other capture; `None` if no line describes it: a clock was set in the meantime.
    pub clock: Option<Clock>,
    /// Packets of each endpoint between the two captures.
    pub ways: Both<Way>,
    /// Fields of each endpoint's packets that are rewritten between the two captures.
    pub rewritten: Both<Rewritten>,
    /// Extent of the joined packets.
    pub extent: Joined,
    /// Findings from this capture alone that were replaced, for the data of [`Self::near`].
    pub alone: Option<Alone>,
}

/// Extent of the joined packets of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// All packets.
    All,
    /// The first packets only: there are more than [`PACKETS_MAX`].
    First,
}

/// Clock of the other capture, relative to that of this one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Seconds by which it is ahead at the first packet that both captures have; negative if it is behind.
    pub offset_s: f64,
    /// Half of the minimum round-trip time: the offset may be larger or smaller by this, because no capture shows how
    /// the round-trip time is divided between the directions.
    pub uncertainty: Duration,
    /// Seconds that it gains per second; negative if it loses.
    pub skew: Told<f64>,
}

/// Maximum number of lost packets that are kept individually for each direction, the first ones (ours: about 10 kB).
pub const LOST_MAX: usize = 256;

/// Packets of one endpoint between the two captures. Packets are segments: a packet from an interface with offload
/// counts as the segments that it stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Packets in the capture near their sender.
    pub sent: u64,
    /// Packets of these that the other capture also has.
    pub arrived: u64,
    /// Lost packets with data.
    pub lost_data: u64,
    /// Retransmissions among these.
    pub lost_again: u64,
    /// Lost packets without data: ACKs and resets.
    pub lost_acks: u64,
    /// Lost SYNs and FINs without data.
    pub lost_controls: u64,
    /// Packets that the far capture lacks although they arrived: they were acknowledged there.
    pub missing_far: u64,
    /// Packets that the far capture has but the near one lacks.
    pub missing_near: u64,
    /// Bytes of data that were acknowledged but are in neither capture.
    pub unseen_bytes: u64,
    /// Packets of unknown fate: the other capture had not begun, was over, or lacks packets of that kind.
    pub undecided: u64,
    /// Packets that arrived after others that were sent later.
    pub reordered: u64,
    /// Copies that the path made: the far capture has more of them than the near one.
    pub duplicated: u64,
    /// Surplus packets in the far capture, which are either copies that the path made or packets that the near capture
    /// lacks.
    pub unexplained: u64,
    /// Packets with data.
    pub segments: u64,
    /// Retransmissions, except probes.
    pub retransmissions: u64,
    /// Retransmissions of data that had arrived or was in flight. None are known if the captures do not span the path
    /// ([`BothEnds::spans_path`]).
    pub needless: u64,
    /// Retransmissions of unknown need.
    pub need_unknown: u64,
    /// First [`LOST_MAX`] lost packets with data, SYN or FIN.
    pub lost: Vec<Lost>,
    /// One-way delays, if the clock offset is known.
    pub delays: Option<Delays>,
}

impl Way {
    /// Returns the number of all lost packets.
    #[must_use]
    pub const fn lost_all(&self) -> u64 {
        self.lost_data + self.lost_acks + self.lost_controls
    }

    /// Returns `true` if a capture lacks packets, or if the fate of some is unknown: others may also have been lost
    /// then.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.missing_near + self.missing_far + self.undecided + self.unexplained + self.unseen_bytes
            > 0
    }
}

/// Lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Packet number in the capture near its sender.
    pub packet: u32,
    /// Bytes of data.
    pub bytes: u32,
    /// `true` for a retransmission.
    pub is_again: bool,
}

/// One-way delays. The minimum of either direction is half of the minimum round-trip time by definition; the excess
/// over it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Minimum.
    pub least: Duration,
    /// Median.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// Maximum.
    pub max: Duration,
}

impl Delays {
    /// Returns the queueing delay: the time beyond the minimum that 5 % of the packets exceeded.
    #[must_use]
    pub fn queueing(&self) -> Duration {
        self.p95.saturating_sub(self.least)
    }
}

/// Location of the queue between the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// No queue.
    Nowhere,
    /// In the direction of the packets from this endpoint.
    From(Side),
    /// In both directions.
    BothWays,
}

/// Minimum delay beyond the minimum that counts as a queue (ours): a delayed interrupt or a busy host takes less.
const QUEUE_MIN: Duration = Duration::from_millis(1);

/// Ratio of the queueing delays at which one direction alone has the queue (ours).
const QUEUE_RATIO: u64 = 3;

/// Minimum share of the round-trip time between captures that were taken at the endpoints (ours: hosts take time, too).
const BETWEEN_SHARE: f64 = 0.8;

impl BothEnds {
    /// Returns `true` if most of the path is between the captures. If much of it is beyond, packets in both captures
    /// may have been lost there.
    #[must_use]
    pub fn spans_path(&self) -> bool {
        let between = self.round_trip.as_secs_f64();
        self.whole
            .is_some_and(|whole| between >= BETWEEN_SHARE * whole.as_secs_f64())
    }

    /// Returns the location of the queue; `None` if the delays are unknown.
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

/// Findings from one capture alone, if both together show something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Number of lost segments.
    pub losses: u64,
    /// Number of spurious retransmissions.
    pub needless: u64,
}

/// One of two captures, in the order in which they were named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// First capture.
    First,
    /// Second capture.
    Second,
}

impl Which {
    /// Returns the other capture.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}
