//! RACK's reordering window: the time by which an overtaken segment may still be late (RFC 8985 §6.2, steps 3 and 4).
//!
//! ```text
//! reo_wnd = min(reo_wnd_mult · min_RTT · 1/4, SRTT)
//!         = 0   while no reordering has been seen, once in recovery or DupThresh are sacked
//! ```
//!
//! A DSACK shows that a retransmission was spurious, so the multiplier grows by one, at most once per round trip; after
//! 16 recoveries without a DSACK it is reset to 1.

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::time::Duration;

use crate::catalog::Choice;

/// Rule for the size of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(super) enum Rule {
    /// a fraction of the minimum round-trip time, increased after each DSACK
    Adaptive,
    // The multiplier stays 1 (0x2 in Linux's sysctl `tcp_recovery`).
    /// a fraction of the minimum round-trip time
    Static,
    /// zero
    None,
}

/// State of the connection: `Yes` if fast recovery or RTO recovery is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovering {
    Yes,
    No,
}

/// State of the window. See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct ReorderingWindow {
    pub(super) rule: Rule,
    /// Fraction of the minimum round-trip time to which the multiplier is applied (1/4).
    pub(super) share: f64,
    /// Number of sacked segments that shows a loss while no reordering has been seen.
    pub(super) dup_threshold: u64,
    /// Number of recoveries without a DSACK after which the multiplier is reset.
    pub(super) persist_recoveries: u64,
    seen: bool,
    /// RACK.fack: the byte after the highest one known to have arrived.
    fack: u64,
    multiplier: u64,
    persist: u64,
    /// SND.NXT at the last increase of the multiplier.
    dsack_round: Option<u64>,
}

impl ReorderingWindow {
    pub(super) fn new(rule: Rule, share: f64, dup_threshold: u64, persist: u64) -> Self {
        Self {
            rule,
            share,
            dup_threshold,
            persist_recoveries: persist,
            seen: false,
            fack: 0,
            multiplier: 1,
            persist,
            dsack_round: None,
        }
    }

    /// Detects reordering in the reports of an ACK (step 3): a segment sent once, below one that had arrived earlier.
    /// An ACK does not show the order in which its segments arrived, so they are compared with the reports of earlier
    /// ACKs, not with each other.
    pub(super) fn observe(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let overtaken = ack
            .delivered
            .iter()
            .any(|d| d.segment.transmissions == 1 && d.segment.end() < self.fack);
        self.seen |= overtaken;
        self.fack = self.fack.max(view.scoreboard.forward_ack());
    }

    /// Records that a segment that was considered lost has arrived after others that were sent later.
    pub(super) fn overtaken(&mut self) {
        self.seen = true;
    }

    /// Adapts the multiplier (the first half of step 4).
    pub(super) fn adapt(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        if self.dsack_round.is_some_and(|round| ack.una >= round) {
            self.dsack_round = None;
        }
        if self.rule == Rule::Adaptive && ack.dsack.is_some() && self.dsack_round.is_none() {
            self.dsack_round = Some(view.scoreboard.nxt());
            self.multiplier += 1;
            self.persist = self.persist_recoveries;
        }
    }

    /// Records the end of a fast recovery or RTO recovery.
    pub(super) fn recovery_ended(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// Returns the current size of the window (the second half of step 4).
    pub(super) fn now(&self, recovering: Recovering, view: &View<'_>) -> Duration {
        let enough = view.scoreboard.sacked_segments() >= self.dup_threshold;
        let at_once = !self.seen && (recovering == Recovering::Yes || enough);
        let (Some(least), Some(srtt)) = (view.rtt.min(), view.rtt.srtt()) else {
            return Duration::ZERO;
        };
        if at_once || self.rule == Rule::None {
            return Duration::ZERO;
        }
        let step = Duration::from_secs_f64(least.as_secs_f64() * self.share);
        step.saturating_mul(self.multiplier).min(srtt)
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::scoreboard::{DeliveredBy, SegmentId};
    use dupack_tcp::testing::{ack_facts, delivered, segment, view};

    use super::*;
    use crate::recovery::rack;
    use crate::testing::{Setup, Timeline, ack, at};

    fn window(rule: Rule) -> ReorderingWindow {
        ReorderingWindow::new(rule, 0.25, 3, 16)
    }

    /// Returns a timeline with a round-trip time of 100 ms. Segments 1 to 10 are outstanding, and no data remains to be
    /// sent.
    fn path() -> Timeline {
        let mut t = Setup::new(rack::entry()).window(11.0).start(11);
        t.receive(100, ack(1));
        t
    }

    /// Returns the view of `t` that a plug-in receives.
    fn shown(t: &Timeline) -> View<'_> {
        let sender = t.sender();
        view(at(200), sender.scoreboard(), sender.window(), sender.rtt())
    }

    /// Returns the window in milliseconds, with nothing sacked.
    fn millis(window: &ReorderingWindow, recovering: Recovering) -> u64 {
        window.now(recovering, &shown(&path())).as_nanos() / 1_000_000
    }

    /// Passes an ACK of everything before segment `una`, with or without a DSACK.
    fn adapt(window: &mut ReorderingWindow, una: u64, dsack: Option<(u64, u64)>) {
        let mut facts = ack_facts(at(200));
        (facts.una, facts.dsack) = (una * 1000, dsack);
        window.adapt(&facts, &shown(&path()));
    }

    const DSACK: Option<(u64, u64)> = Some((0, 1000));

    #[test]
    fn a_dsack_widens_it_once_in_a_round_trip() {
        let mut w = window(Rule::Adaptive);
        w.overtaken();
        assert_eq!(millis(&w, Recovering::Yes), 25);
        adapt(&mut w, 1, DSACK);
        assert_eq!(millis(&w, Recovering::Yes), 50);
        // SND.NXT was 11: until data up to there is acknowledged, it is the same round trip.
        adapt(&mut w, 10, DSACK);
        assert_eq!(millis(&w, Recovering::Yes), 50);
        adapt(&mut w, 11, None);
        assert_eq!(millis(&w, Recovering::Yes), 50);
        adapt(&mut w, 11, DSACK);
        assert_eq!(millis(&w, Recovering::Yes), 75);
        // The window is at most SRTT.
        for _ in 0..3 {
            adapt(&mut w, 11, DSACK);
        }
        assert_eq!(millis(&w, Recovering::Yes), 100);
    }

    #[test]
    fn it_falls_back_after_16_recoveries_without_a_dsack() {
        let mut w = window(Rule::Adaptive);
        w.overtaken();
        let ended = |w: &mut ReorderingWindow, recoveries: u32| {
            for _ in 0..recoveries {
                w.recovery_ended();
            }
        };
        adapt(&mut w, 1, DSACK);
        ended(&mut w, 15);
        assert_eq!(millis(&w, Recovering::No), 50);
        // After another DSACK the count starts again.
        adapt(&mut w, 11, DSACK);
        ended(&mut w, 15);
        assert_eq!(millis(&w, Recovering::No), 75);
        ended(&mut w, 1);
        assert_eq!(millis(&w, Recovering::No), 25);
        adapt(&mut w, 11, DSACK);
        assert_eq!(millis(&w, Recovering::No), 50);
    }

    #[test]
    fn the_window_may_be_static_or_zero() {
        for (rule, wanted) in [(Rule::Static, 25), (Rule::None, 0)] {
            let mut w = window(rule);
            w.overtaken();
            adapt(&mut w, 1, DSACK);
            assert_eq!(millis(&w, Recovering::No), wanted, "{rule:?}");
        }
    }

    #[test]
    fn without_reordering_it_closes_in_recovery_and_when_enough_are_sacked() {
        let w = window(Rule::Adaptive);
        assert_eq!(millis(&w, Recovering::No), 25);
        assert_eq!(millis(&w, Recovering::Yes), 0);
        let with_sacked = |segments: u32| {
            let mut t = path();
            t.receive(101, ack(1).sack(5, 5 + segments));
            w.now(Recovering::No, &shown(&t))
        };
        assert_eq!(with_sacked(2), Duration::from_millis(25));
        assert_eq!(with_sacked(3), Duration::ZERO);
    }

    #[test]
    fn reordering_is_a_segment_sent_once_below_an_earlier_arrival() {
        // Segment 5 has arrived before this segment.
        let seen = |number: u64, transmissions: u32| {
            let mut w = window(Rule::Adaptive);
            let mut t = path();
            t.receive(101, ack(1).sack(5, 6));
            let mut facts = ack_facts(at(200));
            w.observe(&facts, &shown(&t));
            let mut late = segment(number, at(0));
            late.transmissions = transmissions;
            let late = [delivered(SegmentId(number), late, DeliveredBy::Sack)];
            facts.delivered = &late;
            w.observe(&facts, &shown(&t));
            millis(&w, Recovering::Yes) > 0
        };
        assert!(seen(4, 1));
        assert!(!seen(5, 1));
        assert!(!seen(6, 1));
        assert!(!seen(4, 2));
    }
}
