//! What a plug-in is told, for tests that hand it over themselves, without a sender.
//!
//! Each says as little as may be; the rest is public fields, to be set before it is handed over.

use super::SMSS;
use crate::facts::{
    AckFacts, AckKind, Departure, LimitedBy, LossFacts, LossRule, SendReason, Sent, View, WindowUse,
};
use crate::rtt::RttEstimator;
use crate::scoreboard::{Delivered, DeliveredBy, Scoreboard, Segment, SegmentId};
use crate::segment::Bit;
use crate::time::Instant;
use crate::window::Window;

/// An ACK that came at `now` and tells nothing: neither an advance nor a duplicate.
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

/// The first loss of a connection, of `segment` and by `rule`, at time 0: what was outstanding
/// filled the window, and there are no round-trip samples.
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

/// A sender with this scoreboard, window and estimator, no timer, and a full segment to send.
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

/// A scoreboard with the first `segments` segments outstanding, sent at `sent_at` in order.
#[must_use]
pub fn outstanding(segments: u64, sent_at: Instant) -> Scoreboard {
    let mut board = Scoreboard::new(SMSS);
    for order in 1..=segments {
        board.push(SMSS, sent_at, order);
    }
    board
}

/// The segment `number`, sent once, at `sent_at`, after those before it.
#[must_use]
pub fn segment(number: u64, sent_at: Instant) -> Segment {
    let mut board = outstanding(number, sent_at);
    board.push(SMSS, sent_at, number + 1).1
}

/// The transmission of `segment`, the one called `id`, of a connection without timestamps.
#[must_use]
pub const fn sent(id: SegmentId, segment: Segment, why: SendReason) -> Sent {
    Sent {
        id,
        segment,
        timestamp: None,
        why,
    }
}

/// What a control under a model is told beside [`sent`].
#[must_use]
pub const fn departure(in_flight: u64, limited_by: LimitedBy) -> Departure {
    Departure {
        in_flight,
        lost_bytes: 0,
        limited_by,
    }
}

/// A segment that an ACK is the first to report, for [`AckFacts::delivered`].
#[must_use]
pub const fn delivered(id: SegmentId, segment: Segment, by: DeliveredBy) -> Delivered {
    Delivered { id, segment, by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    #[test]
    fn a_segment_is_as_the_scoreboard_has_it() {
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
