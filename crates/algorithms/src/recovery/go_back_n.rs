//! Go-back-N: the action of every recovery without SACK after a retransmission timeout, and of Tahoe also after three
//! duplicate ACKs.
//!
//! Cumulative ACKs name at most one missing segment. Without the ACK clock the sender cannot know which other segments
//! arrived, so it considers everything outstanding lost and retransmits it in order, in slow start (RFC 5681 §3.1, RFC
//! 6298 §5.4; Jacobson 1988). A cursor marks the progress:
//!
//! ```text
//!      una          cursor            end = SND.NXT when it began
//!       ├── resent ───┤── to be resent ──┤── nothing: new data has to wait
//!       in flight = cursor − una
//! ```
//!
//! With each ACK, the window moves the cursor forward. An ACK may cover segments beyond the cursor because the receiver
//! had stored them: then the cursor jumps to the end of the acknowledged data, and these segments are not
//! retransmitted. When the cursor reaches the end, the sender is back in its normal state and the bytes in flight are
//! FlightSize.
//!
//! Recoveries with SACK know which segments arrived and need no cursor.

use dupack_tcp::facts::{LossRule, SendReason, Sent, View};
use dupack_tcp::recovery::{Clearance, Next};
use dupack_tcp::scoreboard::SegmentId;

/// Cursor of go-back-N; empty if there is nothing to retransmit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GoBackN {
    span: Option<Span>,
    /// SND.UNA after the last ACK.
    una: u64,
    /// `true` if the last ACK repeated the previous one: data sent beyond the end has arrived.
    repeats: bool,
}

/// Range that remains to be retransmitted: `cursor..end`, never empty.
#[derive(Clone, Copy, Debug)]
struct Span {
    cursor: SegmentId,
    end: SegmentId,
    rule: LossRule,
}

impl GoBackN {
    /// Considers everything outstanding lost, by `rule`, and retransmits it from SND.UNA on.
    pub(super) fn begin(&mut self, view: &View<'_>, rule: LossRule) {
        (self.una, self.repeats) = (view.scoreboard.una(), false);
        self.set(view.scoreboard.first(), view.scoreboard.end(), rule);
    }

    /// Stops the retransmission: the segments that were considered lost are in flight.
    pub(super) fn stop(&mut self) {
        self.span = None;
    }

    fn set(&mut self, cursor: SegmentId, end: SegmentId, rule: LossRule) {
        self.span = (cursor < end).then_some(Span { cursor, end, rule });
    }

    /// Moves the cursor past the data that an ACK acknowledged.
    pub(super) fn on_ack(&mut self, view: &View<'_>) {
        let una = view.scoreboard.una();
        self.repeats = una == self.una;
        self.una = una;
        if let Some(Span { cursor, end, rule }) = self.span {
            self.set(cursor.max(view.scoreboard.first()), end, rule);
        }
    }

    /// Moves the cursor past the segment that was sent. A fast retransmit behind the cursor does not move it.
    pub(super) fn on_sent(&mut self, sent: &Sent) {
        if let Some(Span { cursor, end, rule }) = self.span
            && sent.id == cursor
        {
            self.set(cursor.next(), end, rule);
        }
    }

    /// Moves the cursor forward to `id`, if it is not beyond it: the segments before `id` have arrived, or are
    /// retransmitted by other means.
    pub(super) fn skip_to(&mut self, id: SegmentId) {
        if let Some(Span { cursor, end, rule }) = self.span {
            self.set(cursor.max(id), end, rule);
        }
    }

    /// Returns the offset of the next transmission: the cursor if there is one, otherwise SND.NXT.
    pub(super) fn offset(&self, view: &View<'_>) -> u64 {
        let cursor = self.span.and_then(|span| view.scoreboard.get(span.cursor));
        cursor.map_or_else(|| view.scoreboard.nxt(), |segment| segment.start)
    }

    /// Returns `true` if the cursor is at `id`.
    pub(super) fn is_at(&self, id: SegmentId) -> bool {
        self.span.is_some_and(|span| span.cursor == id)
    }

    /// Returns `true` if segments remain to be retransmitted.
    pub(super) fn is_active(&self) -> bool {
        self.span.is_some()
    }

    /// Returns the bytes in flight. With a cursor, these are the bytes up to the cursor, and the data sent beyond the
    /// end (as F-RTO does) until a duplicate ACK shows that this data arrives. Without a cursor, the bytes in flight
    /// are FlightSize.
    pub(super) fn flight_size(&self, view: &View<'_>) -> u64 {
        let board = view.scoreboard;
        let Some((span, cursor)) = self.span.and_then(|s| Some((s, board.get(s.cursor)?))) else {
            return view.flight_size();
        };
        let beyond = board.get(span.end).filter(|_| !self.repeats);
        cursor.start - board.una() + beyond.map_or(0, |s| board.nxt() - s.start)
    }

    /// Returns the next segment to retransmit when the window permits it.
    pub(super) fn next(&self) -> Option<Next> {
        self.span.map(|span| Next::Retransmit {
            id: span.cursor,
            why: SendReason::Retransmit(span.rule),
            clearance: Clearance::Window,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{newreno, reno, tahoe};
    use crate::catalog::Dialect;
    use crate::testing::{Setup, ack, coin};

    /// Returns a timeline with six segments in flight and all ACKs lost: the timer expires at 1000 ms.
    fn after_the_timeout() -> crate::testing::Timeline {
        let mut t = Setup::new(reno::entry()).window(6.0).start(100);
        assert_eq!(t.sent(), "new:0 new:1 new:2 new:3 new:4 new:5");
        assert_eq!(t.wait(1000), "rto:0");
        assert_eq!((t.cwnd(), t.ssthresh(), t.in_flight()), (1.0, 3.0, 1.0));
        t
    }

    #[test]
    fn everything_is_resent_in_order_in_slow_start() {
        let mut t = after_the_timeout();
        assert_eq!(t.receive(1100, ack(1)), "rto:1 rto:2");
        assert_eq!(t.in_flight(), 2.0);
        assert_eq!(t.receive(1200, ack(2)), "rto:3 rto:4");
        // ssthresh = 3 is reached, and congestion avoidance begins: this ACK does not permit a third segment.
        assert_eq!(t.receive(1201, ack(3)), "rto:5");
        // The cursor has reached the end: new data follows, and FlightSize counts again.
        assert_eq!(t.receive(1300, ack(4)), "new:6");
        assert_eq!(t.in_flight(), 3.0);
    }

    #[test]
    fn the_cumulative_ack_jumps_over_the_cursor() {
        // Only segment 0 was lost: the ACK of its retransmission covers everything that the receiver had stored.
        let mut t = after_the_timeout();
        assert_eq!(t.receive(1100, ack(6)), "new:6 new:7");

        // Segments 0 and 4 were lost: the cursor jumps from 1 to 4.
        let mut t = after_the_timeout();
        assert_eq!(t.receive(1100, ack(4)), "rto:4 rto:5");
        assert_eq!(t.receive(1200, ack(6)), "new:6 new:7 new:8");
    }

    #[test]
    fn a_lost_resent_segment_times_out_again_with_a_doubled_timer() {
        let mut t = after_the_timeout();
        assert_eq!(t.wait(2999), "");
        assert_eq!(t.wait(3000), "rto:0");
        assert_eq!(t.wait(6999), "");
        assert_eq!(t.wait(7000), "rto:0");
        assert_eq!(t.receive(7100, ack(1)), "rto:1 rto:2");
    }

    #[test]
    fn an_ack_inside_the_segment_at_the_cursor_leaves_its_rest_to_resend() {
        let mut t = after_the_timeout();
        let mut half = ack(1);
        half.0.ack.0 += 500;
        assert_eq!(t.receive(1100, half), "rto:1 rto:2");
        assert_eq!(t.in_flight(), 1.5);
    }

    #[test]
    fn every_transfer_ends_whatever_is_lost() {
        for entry in [tahoe::entry, reno::entry, newreno::entry] {
            for dialect in Dialect::ALL {
                for seed in 0..40 {
                    let rate = 0.015 * seed as f64;
                    let mut lost = coin(seed, rate);
                    let setup = Setup::new(entry()).dialect(dialect);
                    let transfer = setup.transfer(300, |_, _| lost());
                    let stats = transfer.stats;
                    assert_eq!(stats.segments_sent - stats.retransmissions, 300);
                    assert!(seed > 0 || stats.retransmissions == 0);
                }
            }
        }
    }

    #[test]
    fn a_transfer_survives_the_loss_of_a_whole_window_and_of_its_repetitions() {
        for entry in [tahoe::entry, reno::entry, newreno::entry] {
            let transfer = Setup::new(entry()).transfer(50, |order, _| order <= 13);
            assert_eq!(transfer.stats.timeouts, 4);
        }
    }
}
