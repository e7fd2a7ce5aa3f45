//! Facts for tests that pass them directly to a plug-in, without a sender.
//!
//! Each function sets as few fields as possible. The fields are public: set other fields before you pass the facts to a
//! plug-in.

use super::SMSS;
use crate::facts::{
    AckFacts, AckKind, Departure, LimitedBy, LossFacts, LossRule, SendReason, Sent, View, WindowUse,
};
use crate::rtt::RttEstimator;
use crate::scoreboard::{Delivered, DeliveredBy, Scoreboard, Segment, SegmentId};
use crate::segment::Bit;
use crate::time::Instant;
use crate::window::Window;

/// Returns the facts of an ACK at `now` that reports no data: neither an advance nor a duplicate.
///
/// ```
/// use dupack_tcp::facts::AckKind;
/// use dupack_tcp::testing::{SMSS, ack_facts, at};
///
/// let mut ack = ack_facts(at(100));
/// ack.kind = AckKind::Advance;
/// ack.acked_bytes = u64::from(SMSS);
/// ack.delivered_bytes = ack.acked_bytes;
/// ```
#[must_use]
pub const fn ack_facts(now: Instant) -> AckFacts<'static> {
    AckFacts {
        now,
        una: 0,
        acked_bytes: 0,
        delivered_bytes: 0,
        sacked_bytes: 0,
        delivered: &[],
        kind: AckKind::Other,
        dup_acks: 0,
        dsack: None,
        prior_flight: 0,
        prior_flight_unlimited: 0,
        prior_in_flight: None,
        rtt: None,
        timestamp_echo: None,
        order_echo: None,
        limited_by: LimitedBy::Congestion,
        ecn_echo: Bit::Clear,
        marked_packets: None,
        window_use: WindowUse::Filled,
    }
}

/// Returns the facts of a connection's first loss, which is of `segment` and detected by `rule` at time 0. The
/// outstanding data filled the window, and there are no round-trip samples.
#[must_use]
pub fn loss_facts(segment: Segment, rule: LossRule, flight_size: u64) -> LossFacts {
    LossFacts {
        now: Instant::ZERO,
        segment,
        rule,
        flight_size,
        window: Window {
            cwnd: flight_size as f64,
            ssthresh: f64::INFINITY,
        },
        timeouts: u32::from(rule == LossRule::TIMEOUT),
        srtt: None,
        rtt_min: None,
        rtt_latest: None,
        hole: 1,
        reduced_at: None,
        truth: None,
    }
}

/// Returns the view of a sender with this scoreboard, window and estimator, no timer, and a full segment to send.
#[must_use]
pub const fn view<'a>(
    now: Instant,
    scoreboard: &'a Scoreboard,
    window: Window,
    rtt: &'a RttEstimator,
) -> View<'a> {
    View {
        now,
        scoreboard,
        window,
        rtt,
        rto_at: None,
        new_len: SMSS,
    }
}

/// Returns a scoreboard with the first `segments` segments outstanding, sent at `sent_at` in order.
#[must_use]
pub fn outstanding(segments: u64, sent_at: Instant) -> Scoreboard {
    let mut board = Scoreboard::new(SMSS);
    for order in 1..=segments {
        board.push(SMSS, sent_at, order);
    }
    board
}

/// Returns segment `number`, sent once at `sent_at`, after all segments with lower numbers.
#[must_use]
pub fn segment(number: u64, sent_at: Instant) -> Segment {
    let mut board = outstanding(number, sent_at);
    board.push(SMSS, sent_at, number + 1).1
}

/// Returns the transmission of `segment` with id `id`, on a connection without timestamps.
#[must_use]
pub const fn sent(id: SegmentId, segment: Segment, why: SendReason) -> Sent {
    Sent {
        id,
        segment,
        timestamp: None,
        why,
    }
}

/// Returns the facts of a transmission in addition to [`sent`], for a control that is governed by a model.
#[must_use]
pub const fn departure(in_flight: u64, limited_by: LimitedBy) -> Departure {
    Departure {
        in_flight,
        lost_bytes: 0,
        limited_by,
    }
}

/// Returns a segment that an ACK reports for the first time, for [`AckFacts::delivered`].
#[must_use]
pub const fn delivered(id: SegmentId, segment: Segment, by: DeliveredBy) -> Delivered {
    Delivered { id, segment, by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    #[test]
    fn a_segment_equals_that_of_a_scoreboard() {
        let board = outstanding(3, at(7));
        board.check();
        assert_eq!((board.flight_size(), board.len()), (3 * u64::from(SMSS), 3));
        assert_eq!(board.get(SegmentId(2)), Some(&segment(2, at(7))));
        assert_eq!(segment(2, at(7)).order, 3);
    }

    #[test]
    fn only_a_timeout_counts_timeouts() {
        let found = |rule| loss_facts(segment(0, at(0)), rule, 4000).timeouts;
        assert_eq!([found(LossRule::TIMEOUT), found(LossRule::PROBE)], [1, 0]);
    }
}
