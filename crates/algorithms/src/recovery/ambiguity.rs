//! Retransmission ambiguity (Karn and Partridge): which transmission of a segment arrived.
//!
//! LE and RACK date an ACK by the last transmission of a segment that it reports. If an earlier transmission of that
//! segment arrived, the date is too late, and segments sent between the two would be taken for overtaken, and lost. RFC
//! 8985 §6.2 step 2 names two signs.

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::scoreboard::{Delivered, DeliveredBy};

/// Returns `true` if the report of `delivered` may be attributed to the segment's last transmission, whose TSval was
/// `timestamp`. It may not if
/// - it came sooner after that transmission than the minimum round-trip time, or
/// - the ACK echoes an older timestamp. This sign holds for cumulative acknowledgments only: for
///   data beyond a gap a receiver repeats the echo of the last segment before the gap
///   (RFC 7323 §4.3), which says nothing.
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
