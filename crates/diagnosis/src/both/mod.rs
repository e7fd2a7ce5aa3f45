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
//! the other fields that the path preserves: timestamps, IPv4 identification, window and SACK blocks. If several sent
//! packets are equal, the latest one that can have arrived by the capture time is taken.
//!
//! The clocks need not agree. For two packets of opposite directions that were sent within a short time, the sum of
//! both one-way delays follows from their four capture times, independently of the offset between the clocks. The sign
//! of the sum shows the endpoint to which each capture is nearer. The minimum differences of the capture times in both
//! directions are bounds of the offset. No capture shows the exact offset, so the middle between the bounds is taken.
//! The skew is the slope of the convex hull of the minimum differences (Moon, Skelly, Towsley: INFOCOM 1999).
//!
//! Memory is bounded: at most [`CONNECTIONS_MAX`] connections are joined, and in each capture the first [`PACKETS_MAX`]
//! of their packets, with about 60 bytes per packet, and twice this amount during matching.

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

/// Maximum number of connections that are joined: the worst ones of a capture (our choice).
pub const CONNECTIONS_MAX: usize = 64;

/// Maximum number of packets that are joined in each capture, for all these connections (our choice: about 200 MB
/// during matching).
pub const PACKETS_MAX: usize = 1 << 20;

/// Findings about a connection in two captures: this one and the other.
#[derive(Clone, Debug, PartialEq)]
pub struct BothEnds {
    /// Addresses of both endpoints in the other capture. They differ from those in this capture if there is a NAT in
    /// between.
    pub there: Both<SocketAddr>,
    /// Endpoint to which this capture is nearer. The other capture is nearer to the other endpoint.
    pub near: Side,
    /// Minimum round-trip time between the captures. It does not depend on the clocks.
    pub round_trip: Duration,
    /// Minimum round-trip time between the endpoints, according to the diagnosed capture; `None` if unknown.
    pub whole: Option<Duration>,
    /// Clock of the other capture; `None` if its offset is not a linear function of time, because a clock was set
    /// during the capture.
    pub clock: Option<Clock>,
    /// Packets from each endpoint between the two captures.
    pub ways: Both<Way>,
    /// Fields of each endpoint's packets that are rewritten between the two captures.
    pub rewritten: Both<Rewritten>,
    /// Extent of the joined packets.
    pub extent: Joined,
    /// Findings from this capture alone about the data from [`Self::near`], which were replaced by findings from both
    /// captures; `None` if none were replaced.
    pub alone: Option<Alone>,
}

/// Extent to which the packets of a connection were joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// All packets.
    All,
    /// The first packets only, because there are more than [`PACKETS_MAX`].
    First,
}

/// Clock of the other capture, relative to the clock of this capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Offset of the other clock in seconds at the first packet that both captures contain: positive if that clock is
    /// ahead, negative if it is behind.
    pub offset_s: f64,
    /// Half of the minimum round-trip time. The offset may be larger or smaller by this time, because no capture shows
    /// how the round-trip time is divided between the directions.
    pub uncertainty: Duration,
    /// Seconds that the other clock gains per second; negative if it loses time.
    pub skew: Told<f64>,
}

/// Maximum number of lost packets that are stored individually for each direction: the first ones (our choice: about 10
/// kB).
pub const LOST_MAX: usize = 256;

/// Packets from one endpoint between the two captures. Packets are counted as segments: a packet from an interface with
/// offload counts as the segments that it represents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Number of packets in the capture near their sender.
    pub sent: u64,
    /// Number of these packets that the other capture also contains.
    pub arrived: u64,
    /// Number of lost packets with data.
    pub lost_data: u64,
    /// Number of retransmissions among the lost packets with data.
    pub lost_again: u64,
    /// Number of lost packets without data: ACKs and resets.
    pub lost_acks: u64,
    /// Number of lost SYNs and FINs without data.
    pub lost_controls: u64,
    /// Number of packets that are missing from the far capture although ACKs show that they arrived.
    pub missing_far: u64,
    /// Number of packets in the far capture that are missing from the near capture.
    pub missing_near: u64,
    /// Number of data bytes that were acknowledged but are in neither capture.
    pub unseen_bytes: u64,
    /// Number of packets of unknown fate: the other capture had not begun, was over, or lacks packets of this kind.
    pub undecided: u64,
    /// Number of packets that arrived after packets that were sent later.
    pub reordered: u64,
    /// Number of surplus packets in the far capture that are copies made by the path.
    pub duplicated: u64,
    /// Number of surplus packets in the far capture of unknown origin: the path made copies, or the packets are missing
    /// from the near capture.
    pub unexplained: u64,
    /// Number of packets with data.
    pub segments: u64,
    /// Number of retransmissions, except probes.
    pub retransmissions: u64,
    /// Number of retransmissions of data that had arrived or was in flight; 0 if the captures do not span the path
    /// ([`BothEnds::spans_path`]).
    pub needless: u64,
    /// Number of retransmissions for which it is unknown whether they were needed.
    pub need_unknown: u64,
    /// The first [`LOST_MAX`] lost packets with data, SYN or FIN.
    pub lost: Vec<Lost>,
    /// One-way delays; `None` if the clock offset is unknown.
    pub delays: Option<Delays>,
}

impl Way {
    /// Returns the number of all lost packets.
    #[must_use]
    pub const fn lost_all(&self) -> u64 {
        self.lost_data + self.lost_acks + self.lost_controls
    }

    /// Returns `true` if packets are missing from a capture, or if the fate of some packets is unknown. In this case,
    /// other packets may also have been lost.
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
    /// Number of data bytes.
    pub bytes: u32,
    /// `true` for a retransmission.
    pub is_again: bool,
}

/// One-way delays. By definition, the minimum of each direction is half of the minimum round-trip time. Only the delay
/// in excess of the minimum is measured.
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
    /// Returns the queueing delay: the 95th percentile of the delay minus the minimum.
    #[must_use]
    pub fn queueing(&self) -> Duration {
        self.p95.saturating_sub(self.least)
    }
}

/// Location of the queue between the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// There is no queue.
    Nowhere,
    /// The queue is in the direction of the packets from this endpoint.
    From(Side),
    /// There are queues in both directions.
    BothWays,
}

/// Minimum queueing delay for a queue to be reported (our choice): a delayed interrupt or a busy host causes a shorter
/// delay.
const QUEUE_MIN: Duration = Duration::from_millis(1);

/// If the ratio of the queueing delays of both directions exceeds this number, only the direction with the longer delay
/// has a queue (our choice).
const QUEUE_RATIO: u64 = 3;

/// Minimum fraction of the endpoints' round-trip time that must be between the captures for the captures to span the
/// path (our choice: the hosts cause delays, too).
const BETWEEN_SHARE: f64 = 0.8;

impl BothEnds {
    /// Returns `true` if most of the path is between the captures. Otherwise, packets that both captures contain may
    /// have been lost on the remaining path.
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

/// Findings from one capture alone that differ from the findings of both captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Number of lost segments.
    pub losses: u64,
    /// Number of spurious retransmissions.
    pub needless: u64,
}

/// One of two captures, in the order in which they were given.
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
