//! Retransmission ambiguity (Karn and Partridge): it is unknown which transmission of a segment arrived.
//!
//! LE and RACK assign an ACK to the last transmission of a segment that it reports. If an earlier transmission of that
//! segment arrived instead, segments sent between the two transmissions would wrongly be considered overtaken and lost.
//! RFC 8985 §6.2 step 2 names two signs of this case.

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::scoreboard::{Delivered, DeliveredBy};

/// Returns `true` if the report of `delivered` may be attributed to the segment's last transmission, whose TSval was
/// `timestamp`. It must not be attributed to this transmission if
/// - the report came sooner after that transmission than the minimum round-trip time, or
/// - the ACK echoes an older timestamp. This sign is valid only for cumulative acknowledgments: for
///   data beyond a gap, a receiver repeats the echo of the last segment before the gap
///   (RFC 7323 §4.3), which is no sign.
pub(super) fn last_transmission_arrived(
    delivered: &Delivered,
    timestamp: Option<u32>,
    ack: &AckFacts<'_>,
    view: &View<'_>,
) -> bool {
    if delivered.segment.transmissions == 1 {
        return true;
    }
    let age = ack.now.since(delivered.segment.sent_at);
    if view.rtt.min().is_some_and(|least| age < least) {
        return false;
    }
    match (delivered.by, ack.timestamp_echo, timestamp) {
        (DeliveredBy::Cumulative, Some(echo), Some(sent)) => (echo.wrapping_sub(sent) as i32) >= 0,
        _ => true,
    }
}
