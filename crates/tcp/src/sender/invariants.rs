//! Invariants of a sender. They hold at the start and at the end of each call by the host.
//!
//! With debug assertions, each of the three calls (an ACK, a timeout, a segment to send) checks all invariants on entry
//! and on exit. A check on exit detects a fault of the call itself, and a check on entry detects an earlier fault. A
//! check takes about twenty comparisons, regardless of the amount of outstanding data.
//! [`Scoreboard::check`](crate::scoreboard::Scoreboard) visits every segment and is for tests only.

use super::state::State;

impl State {
    /// Checks the invariants in constant time.
    ///
    /// # Panics
    ///
    /// Panics if an invariant does not hold, in builds with debug assertions.
    #[inline(always)]
    pub(crate) fn check(&self) {
        if cfg!(debug_assertions) {
            self.check_offsets();
            self.check_window();
            self.check_counts();
        }
    }

    /// Checks that SND.UNA ≤ forward ACK ≤ SND.NXT ≤ bytes written, and that the retransmission timer runs if and only
    /// if data is outstanding (RFC 6298 §5.1, §5.2).
    fn check_offsets(&self) {
        let board = &self.scoreboard;
        let (una, nxt, written) = (board.una(), board.nxt(), self.written);
        assert!(una <= nxt && nxt <= written, "{una}, {nxt}, {written}");
        let forward_ack = board.forward_ack();
        assert!(una <= forward_ack && forward_ack <= nxt, "{forward_ack}");
        assert_eq!(
            board.is_empty(),
            una == nxt,
            "segments exist if and only if bytes are outstanding"
        );
        assert_eq!(
            self.rto_at.is_some(),
            !board.is_empty(),
            "the timer runs if and only if data is outstanding"
        );
    }

    /// Checks that the window is at least one segment, and that no value is NaN.
    fn check_window(&self) {
        let smss = f64::from(self.config.smss);
        let window = self.window;
        assert!(window.cwnd >= smss && window.cwnd.is_finite() || window.cwnd == f64::INFINITY);
        assert!(window.ssthresh >= smss, "{window:?}");
        assert!((0.0..=1.0).contains(&self.growth), "{}", self.growth);
    }

    /// Checks that no count exceeds the total that includes it.
    fn check_counts(&self) {
        let board = &self.scoreboard;
        assert!(board.sacked_bytes() <= board.flight_size());
        assert!(board.sacked_segments() <= board.len() as u64);
        assert_eq!(board.sacked_bytes() == 0, board.sacked_segments() == 0);
        assert!(self.limited_transmit_bytes <= board.flight_size());
        assert!(self.dup_acks == 0 || !board.is_empty(), "{}", self.dup_acks);
        let timed = self.timing.as_deref().and_then(|timed| timed.segment);
        assert!(timed.is_none_or(|(end, _)| end <= board.nxt()));
        assert!(self.stats.retransmissions <= self.stats.segments_sent);
    }
}
