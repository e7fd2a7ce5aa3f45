//! Treatment of segments with a timestamp older than one received before: old duplicates or reordered segments (RFC
//! 7323 §5.3 R1, PAWS).

use super::OldStamp;
use super::engine::Engine;
use super::header::Segment;

/// Maximum number of ticks by which a timestamp may be older than the newest one in Linux (TCP_PAWS_WINDOW).
const LINUX_TICKS_BORNE: u32 = 1;

/// Maximum rate of a peer's clock, in ticks per second, as assumed by Linux (`tcp_tsval_replay`).
const LINUX_TICKS_PER_SECOND: u64 = 1200;

/// Treatment of a segment with an old timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The segment is processed.
    Taken,
    /// The segment is dropped silently.
    Ignored,
    /// The segment is dropped, and an ACK is sent in response.
    Answered,
}

impl Engine {
    /// Returns the treatment of `segment` according to `rule`. Its timestamp is `behind` ticks older than the newest
    /// one.
    pub(super) fn fate_of_overtaken(&self, rule: OldStamp, segment: &Segment, behind: u32) -> Fate {
        let is_pure_ack = segment.ack.is_some() && segment.sequence_len() == 0;
        match rule {
            OldStamp::Answered => Fate::Answered,
            OldStamp::AcksPass if behind <= LINUX_TICKS_BORNE => Fate::Taken,
            OldStamp::AcksPass if is_pure_ack => self.fate_of_overtaken_ack(segment, behind),
            OldStamp::AcksPass => Fate::Answered,
        }
    }

    /// Returns the treatment of a segment without data, as in Linux (`tcp_disordered_ack_check`).
    fn fate_of_overtaken_ack(&self, segment: &Segment, behind: u32) -> Fate {
        let distance = self.distance(segment);
        if distance < 0 {
            // Data that was sent later has already arrived.
            return Fate::Ignored;
        }
        let rto_millis = self.sender.rtt().rto().as_nanos() / 1_000_000;
        let replayed = u64::from(behind) > rto_millis * LINUX_TICKS_PER_SECOND / 1000;
        let is_duplicate = segment.ack == Some(self.first().at(self.una()));
        if distance == 0 && is_duplicate && !self.tells_window(segment) && !replayed {
            Fate::Taken
        } else {
            Fate::Answered
        }
    }

    /// Returns `true` if a duplicate ACK at RCV.NXT updates the peer's window.
    fn tells_window(&self, segment: &Segment) -> bool {
        let window = u64::from(segment.window) << self.negotiated.shifts.peers;
        let known = self.sender.peer_edge().saturating_sub(self.una());
        let later = self.receiver.in_order_bytes() > self.window_news.0;
        later || window > known || window == 0
    }
}
