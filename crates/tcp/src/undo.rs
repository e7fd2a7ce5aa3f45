//! Undoing a reduction of the window that proves to have been needless: what a control asks for,
//! and what plug-ins are told when it happens.
//!
//! A segment that is late looks like one that is lost. The sender reduces the window and sends the
//! segment again; then an ACK shows that the original had arrived. Three kinds of ACK show it:
//!
//! ```text
//! timestamps   the ACK echoes a time before the first retransmission        RFC 3522 (Eifel)
//! DSACK        all that was sent again is reported as received twice        RFC 2883, RFC 3708
//! F-RTO        after a timeout, something never sent again is acknowledged  RFC 5682
//! ```
//!
//! The sender looks for them (`sender/undo.rs`), the recovery gives up what it took for lost
//! ([`Recovery::on_spurious`](crate::recovery::Recovery::on_spurious)), and the control makes the new window
//! of the one before ([`CongestionControl::on_spurious`](crate::congestion::CongestionControl::on_spurious)).

use crate::window::Window;

/// By which signs the sender finds out that a reduction was needless, as a control asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoRules {
    /// Echoed timestamps; of no use on a connection without them.
    pub eifel: EifelRule,
    /// DSACKs.
    pub dsack: DsackRule,
    /// F-RTO.
    pub frto: FrtoRule,
    /// Which slow start threshold comes back.
    pub threshold: PriorThreshold,
}

impl UndoRules {
    /// No reduction is ever undone.
    pub const OFF: Self = Self {
        eifel: EifelRule::Off,
        dsack: DsackRule::Off,
        frto: FrtoRule::Off,
        threshold: PriorThreshold::AsItWas,
    };

    /// What Linux does (`tcp_may_undo`, `tcp_process_loss`).
    pub const LINUX: Self = Self {
        eifel: EifelRule::AnyAck,
        dsack: DsackRule::On,
        frto: FrtoRule::AnyAck,
        threshold: PriorThreshold::ThreeQuarters,
    };

    /// By these signs; the slow start threshold comes back as it was.
    #[must_use]
    pub const fn new(eifel: EifelRule, dsack: DsackRule, frto: FrtoRule) -> Self {
        Self {
            eifel,
            dsack,
            frto,
            threshold: PriorThreshold::AsItWas,
        }
    }

    /// Whether none of them is on.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.eifel == EifelRule::Off && self.dsack == DsackRule::Off && self.frto == FrtoRule::Off
    }
}

/// Which ACKs are looked at for an old timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EifelRule {
    /// None.
    Off,
    /// The first that advances the cumulative acknowledgment after the first retransmission. If it
    /// acknowledges everything, the peer must have sent a DSACK before: all ACKs of a window may
    /// have been lost (RFC 3522 §3.2).
    FirstAck,
    /// Each that advances it until the loss event is over. In fast recovery it waits until nothing
    /// that was sent again is outstanding, and sends nothing again while it waits (Linux,
    /// `tcp_packet_delayed`, `tcp_try_undo_partial`).
    AnyAck,
}

/// Whether DSACKs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DsackRule {
    /// They do not.
    Off,
    /// If they report all that was sent again since the loss event began, and what was still on its
    /// way then (RFC 3708 §3 (B.1); Linux, `undo_retrans`).
    On,
}

/// How F-RTO is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrtoRule {
    /// It is not.
    Off,
    /// The first ACK that advances lets up to two new segments go instead of retransmissions; the
    /// next one tells (RFC 5682 §2.1 without SACK, §3.1 with it).
    SecondAck,
    /// As above, but each ACK may tell, the first included (Linux, `tcp_process_loss`).
    AnyAck,
}

/// Which slow start threshold comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorThreshold {
    /// The one before (RFC 9438 §4.9).
    AsItWas,
    /// The same, but at least three quarters of the window before (Linux, `tcp_current_ssthresh`).
    ThreeQuarters,
}

/// A reduction that proves to have been needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spurious {
    /// What reduced the window.
    pub after: Reduction,
    /// What shows that it was needless.
    pub sign: Sign,
}

impl Spurious {
    /// The reduction `after` something, found out by `sign`.
    #[must_use]
    pub const fn new(after: Reduction, sign: Sign) -> Self {
        Self { after, sign }
    }

    /// Whether everything taken for lost has to be thought of anew. A DSACK in fast recovery says
    /// only that what was sent again had arrived, and nothing of what was not (Linux,
    /// `tcp_undo_cwnd_reduction`).
    #[must_use]
    pub fn acquits_all(&self) -> bool {
        self.after == Reduction::Timeout || self.sign != Sign::Dsack
    }
}

/// What reduced the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// A loss event that ACKs, or a recovery's own timer, revealed.
    LossEvent,
    /// The retransmission timer.
    Timeout,
}

/// What shows that a reduction was needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// An old timestamp.
    Timestamp,
    /// DSACKs.
    Dsack,
    /// F-RTO.
    Frto,
}

/// What stood before the first reduction of the loss event.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prior {
    /// The window.
    pub window: Window,
}

impl Prior {
    /// This window stood before.
    #[must_use]
    pub const fn new(window: Window) -> Self {
        Self { window }
    }

    /// `window`, but no less than the one before in either part (RFC 9438 §4.9; Linux,
    /// `tcp_reno_undo_cwnd`).
    #[must_use]
    pub fn restored(&self, window: Window) -> Window {
        Window {
            cwnd: window.cwnd.max(self.window.cwnd),
            ssthresh: window.ssthresh.max(self.window.ssthresh),
        }
    }
}

/// What a recovery makes of a reduction that proves to have been needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reversal {
    /// It goes on as if nothing were known, and so the window stays reduced: to send a whole window
    /// again at full speed would be worse than to be slow.
    Refused,
    /// It is out of its recovery, if it was in one. If there is something lost all the same, a new
    /// loss event begins.
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
    fn dsacks_acquit_what_was_sent_again_and_every_other_sign_all() {
        let acquits = |after, sign| Spurious::new(after, sign).acquits_all();
        assert!(!acquits(Reduction::LossEvent, Sign::Dsack));
        assert!(acquits(Reduction::LossEvent, Sign::Timestamp));
        assert!(acquits(Reduction::Timeout, Sign::Dsack));
        assert!(acquits(Reduction::Timeout, Sign::Frto));
    }

    #[test]
    fn what_is_restored_is_never_less_than_what_there_is() {
        let window = |cwnd, ssthresh| Window { cwnd, ssthresh };
        let prior = Prior::new(window(10.0, 8.0));
        assert_eq!(prior.restored(window(5.0, 5.0)), window(10.0, 8.0));
        assert_eq!(prior.restored(window(12.0, 5.0)), window(12.0, 8.0));
        assert_eq!(prior.restored(window(5.0, 9.0)), window(10.0, 9.0));
    }
}
