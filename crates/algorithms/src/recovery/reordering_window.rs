//! RACK's reordering window: how long a segment that was overtaken may still be on its way
//! (RFC 8985 §6.2, steps 3 and 4).
//!
//! ```text
//! reo_wnd = min(reo_wnd_mult · min_RTT · 1/4, SRTT)
//!         = 0   while no reordering has been seen, once in recovery or DupThresh are sacked
//! ```
//!
//! A DSACK shows that a retransmission was needless, so the multiplier grows by one, at most once
//! per round trip; after 16 recoveries without one it falls back to 1.

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::time::Duration;

use crate::catalog::Choice;

/// What determines the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(super) enum Rule {
    /// a share of the least RTT, more after each DSACK
    Adaptive,
    // The multiplier stays 1 (0x2 in Linux's sysctl `tcp_recovery`).
    /// a share of the least RTT
    Static,
    /// no time at all
    None,
}

/// Whether fast or RTO recovery is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovering {
    Yes,
    No,
}

/// The state behind the window. See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct ReorderingWindow {
    pub(super) rule: Rule,
    /// The share of the least round-trip time that the multiplier is applied to (1/4).
    pub(super) share: f64,
    /// Sacked segments that make a loss while no reordering has been seen.
    pub(super) dup_threshold: u64,
    /// Recoveries without a DSACK after which the multiplier falls back.
    pub(super) persist_recoveries: u64,
    seen: bool,
    /// RACK.fack: the byte after the highest one known to have arrived.
    fack: u64,
    multiplier: u64,
    persist: u64,
    /// SND.NXT when the multiplier last grew.
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

    /// Looks for reordering in what an ACK reports (step 3): a segment sent once, below what had
    /// arrived before. An ACK does not tell in which order its news arrived, so news is compared
    /// with what earlier ACKs had reported, not with each other.
    pub(super) fn observe(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let overtaken = ack
            .delivered
            .iter()
            .any(|d| d.segment.transmissions == 1 && d.segment.end() < self.fack);
        self.seen |= overtaken;
        self.fack = self.fack.max(view.scoreboard.forward_ack());
    }

    /// A segment taken for lost has arrived after others that were sent later.
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

    /// A fast or RTO recovery ended.
    pub(super) fn recovery_ended(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// The window now (the second half of step 4).
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
