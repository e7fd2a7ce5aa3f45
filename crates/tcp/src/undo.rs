//! Undo of spurious window reductions: the rules of a control, and the facts that plug-ins get.
//!
//! A delayed segment looks like a lost one: the sender reduces the window and retransmits the segment. A later ACK may
//! show that the original segment had arrived. There are three such signs:
//!
//! ```text
//! timestamps   the ACK echoes a time before the first retransmission        RFC 3522 (Eifel)
//! DSACK        every retransmission is reported as received twice           RFC 2883, RFC 3708
//! F-RTO        after a timeout, data that was sent once is acknowledged     RFC 5682
//! ```
//!
//! The sender detects them (`sender/undo.rs`), the recovery abandons its losses
//! ([`Recovery::on_spurious`](crate::recovery::Recovery::on_spurious)), and the control derives the new window from the
//! former one ([`CongestionControl::on_spurious`](crate::congestion::CongestionControl::on_spurious)).

use crate::window::Window;

/// Signs by which the sender detects spurious reductions. The control chooses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoRules {
    /// Use of echoed timestamps. It has no effect on a connection without timestamps.
    pub eifel: EifelRule,
    /// Use of DSACKs.
    pub dsack: DsackRule,
    /// Use of F-RTO.
    pub frto: FrtoRule,
    /// Slow start threshold to restore.
    pub threshold: PriorThreshold,
}

impl UndoRules {
    /// Rules that never undo a reduction.
    pub const OFF: Self = Self {
        eifel: EifelRule::Off,
        dsack: DsackRule::Off,
        frto: FrtoRule::Off,
        threshold: PriorThreshold::AsItWas,
    };

    /// Linux's rules (`tcp_may_undo`, `tcp_process_loss`).
    pub const LINUX: Self = Self {
        eifel: EifelRule::AnyAck,
        dsack: DsackRule::On,
        frto: FrtoRule::AnyAck,
        threshold: PriorThreshold::ThreeQuarters,
    };

    /// Returns these rules with [`PriorThreshold::AsItWas`].
    #[must_use]
    pub const fn new(eifel: EifelRule, dsack: DsackRule, frto: FrtoRule) -> Self {
        Self {
            eifel,
            dsack,
            frto,
            threshold: PriorThreshold::AsItWas,
        }
    }

    /// Returns `true` if all signs are off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.eifel == EifelRule::Off && self.dsack == DsackRule::Off && self.frto == FrtoRule::Off
    }
}

/// ACKs that are checked for an old timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EifelRule {
    /// None.
    Off,
    /// The first ACK that advances the cumulative acknowledgment after the first retransmission. If this ACK
    /// acknowledges all outstanding data, it counts only if the peer has sent a DSACK before, because all ACKs of a
    /// window may have been lost (RFC 3522 §3.2).
    FirstAck,
    /// Every ACK that advances the cumulative acknowledgment until the end of the loss event. In fast recovery, the
    /// sender waits until no retransmission is outstanding, and does not retransmit while it waits (Linux,
    /// `tcp_packet_delayed`, `tcp_try_undo_partial`).
    AnyAck,
}

/// Use of DSACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DsackRule {
    /// DSACKs have no effect.
    Off,
    /// A reduction is spurious if DSACKs report every retransmission since the start of the loss event, and those in
    /// flight at its start (RFC 3708 §3 (B.1); Linux, `undo_retrans`).
    On,
}

/// Use of F-RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrtoRule {
    /// F-RTO is off.
    Off,
    /// After the first ACK that advances the cumulative acknowledgment, the sender sends up to two new segments instead
    /// of retransmissions. The next ACK decides (RFC 5682 §2.1 without SACK, §3.1 with SACK).
    SecondAck,
    /// Same as `SecondAck`, but any ACK may decide, including the first (Linux, `tcp_process_loss`).
    AnyAck,
}

/// Slow start threshold to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorThreshold {
    /// The threshold before the reduction (RFC 9438 §4.9).
    AsItWas,
    /// The threshold before the reduction, but at least three quarters of the window before the reduction (Linux,
    /// `tcp_current_ssthresh`).
    ThreeQuarters,
}

/// Spurious reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spurious {
    /// Cause of the reduction.
    pub after: Reduction,
    /// Sign that the reduction was spurious.
    pub sign: Sign,
}

impl Spurious {
    /// Returns a spurious reduction with the cause `after`, detected by `sign`.
    #[must_use]
    pub const fn new(after: Reduction, sign: Sign) -> Self {
        Self { after, sign }
    }

    /// Returns `true` if no segment counts as lost any more. A DSACK in fast recovery shows only that the retransmitted
    /// segments had arrived, so other segments still count as lost (Linux, `tcp_undo_cwnd_reduction`).
    #[must_use]
    pub fn acquits_all(&self) -> bool {
        self.after == Reduction::Timeout || self.sign != Sign::Dsack
    }
}

/// Cause of a reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// A loss event detected by ACKs, or by a recovery's own timer.
    LossEvent,
    /// The retransmission timer.
    Timeout,
}

/// Sign that a reduction was spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Old timestamp.
    Timestamp,
    /// DSACKs.
    Dsack,
    /// F-RTO.
    Frto,
}

/// State before the first reduction of the loss event.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prior {
    /// Window before the reduction.
    pub window: Window,
}

impl Prior {
    /// Returns the state with this window.
    #[must_use]
    pub const fn new(window: Window) -> Self {
        Self { window }
    }

    /// Returns `window`, with both variables at least as large as before the reduction (RFC 9438 §4.9; Linux,
    /// `tcp_reno_undo_cwnd`).
    #[must_use]
    pub fn restored(&self, window: Window) -> Window {
        Window {
            cwnd: window.cwnd.max(self.window.cwnd),
            ssthresh: window.ssthresh.max(self.window.ssthresh),
        }
    }
}

/// Response of a recovery to a spurious reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reversal {
    /// The recovery continues unchanged, and the window stays reduced. If the window were restored, the recovery would
    /// retransmit segments at the rate of the restored window.
    Refused,
    /// The recovery has left its recovery phase, if it was in one. If a segment is nevertheless lost, this contains the
    /// start of a new loss event.
    Done(Option<crate::recovery::LossEvent>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_off_if_none_is_on() {
        use {DsackRule as D, EifelRule as E, FrtoRule as F};
        assert!(UndoRules::OFF.is_off());
        assert!(!UndoRules::LINUX.is_off());
        for (eifel, dsack, frto) in [
            (E::FirstAck, D::Off, F::Off),
            (E::Off, D::On, F::Off),
            (E::Off, D::Off, F::SecondAck),
        ] {
            assert!(!UndoRules::new(eifel, dsack, frto).is_off());
        }
    }

    #[test]
    fn a_dsack_in_fast_recovery_acquits_retransmissions_only() {
        let acquits = |after, sign| Spurious::new(after, sign).acquits_all();
        assert!(!acquits(Reduction::LossEvent, Sign::Dsack));
        assert!(acquits(Reduction::LossEvent, Sign::Timestamp));
        assert!(acquits(Reduction::Timeout, Sign::Dsack));
        assert!(acquits(Reduction::Timeout, Sign::Frto));
    }

    #[test]
    fn the_restored_window_is_never_smaller_than_the_current_one() {
        let window = |cwnd, ssthresh| Window { cwnd, ssthresh };
        let prior = Prior::new(window(10.0, 8.0));
        assert_eq!(prior.restored(window(5.0, 5.0)), window(10.0, 8.0));
        assert_eq!(prior.restored(window(12.0, 5.0)), window(12.0, 8.0));
        assert_eq!(prior.restored(window(5.0, 9.0)), window(10.0, 9.0));
    }
}
