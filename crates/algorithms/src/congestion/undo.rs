//! Signs that a reduction was spurious and is undone: a group of parameters.
//!
//! `dupack_tcp::undo` describes the signs and their detection. A control that embeds the group returns
//! [`UndoParameters::rules`] from `CongestionControl::undo`, and restores the window from before the reduction. The
//! control also saves a copy of the other state that the reduction changes.
//!
//! By dialect: `linux` has all three signs, each in Linux's variant. `rfc` has none because the RFCs only permit them
//! (RFC 3522 §3.2, RFC 5682 §3.1, RFC 4015 §3.1, RFC 9438 §4.9 say MAY); RFC 3522 is `undo_eifel = first-ack` and RFC
//! 5682 is `undo_frto = second-ack`. ns-2 has none.
//!
//! A spurious reduction is undone even if it was the response to a loss classified as wireless.

use dupack_tcp::undo::{DsackRule, EifelRule, FrtoRule, PriorThreshold, UndoRules};

use crate::catalog::linux::{Knob, Place};
use crate::catalog::{Choice, Parameters, Switch};

/// ACKs whose timestamps may show that a reduction was spurious (Eifel detection).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Eifel {
    /// none
    Off,
    /// the first ACK after the first retransmission (RFC 3522)
    FirstAck,
    /// any ACK until the loss event is over (Linux)
    AnyAck,
}

/// ACKs by which F-RTO detects a spurious timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Frto {
    /// none
    Off,
    /// the ACK after the one that permits new data (RFC 5682)
    SecondAck,
    /// any ACK (Linux)
    AnyAck,
}

/// Slow start threshold after an undone reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Threshold {
    /// the threshold before the reduction
    Before,
    /// the threshold before the reduction, but at least three quarters of the window before it
    ThreeQuarters,
}

/// Returns the parameters of the group that Linux can set.
pub fn knobs() -> [Knob; 1] {
    let place = Place::sysctl("net.ipv4.tcp_frto");
    [Knob::words("undo_frto", &[("off", "0")], place)]
}

/// Signs of a spurious reduction.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct UndoParameters {
    /// ACKs that may undo a reduction by their timestamps
    #[parameter(
        source = "rfc: RFC 3522 §3.2 (MAY); linux: tcp_packet_delayed, tcp_try_undo_partial",
        default(rfc = Eifel::Off, linux = Eifel::AnyAck, ns2 = Eifel::Off),
    )]
    pub undo_eifel: Eifel,
    /// undo of a reduction when DSACKs report all retransmitted data
    #[parameter(
        source = "rfc: RFC 9438 §4.9 (MAY), RFC 3708 §3; linux: tcp_try_undo_dsack",
        default(rfc = Switch::Off, linux = Switch::On, ns2 = Switch::Off),
    )]
    pub undo_dsack: Switch,
    /// ACKs that may undo a timeout (F-RTO)
    #[parameter(
        source = "rfc: RFC 5682 §3.1 (MAY); linux: sysctl tcp_frto, tcp_process_loss",
        default(rfc = Frto::Off, linux = Frto::AnyAck, ns2 = Frto::Off),
    )]
    pub undo_frto: Frto,
    /// minimum slow start threshold after an undone reduction
    #[parameter(
        source = "rfc: RFC 9438 §4.9; linux: tcp_current_ssthresh",
        default(
            rfc = Threshold::Before,
            linux = Threshold::ThreeQuarters,
            ns2 = Threshold::Before,
        ),
    )]
    pub undo_ssthresh: Threshold,
}

impl UndoParameters {
    /// Returns the rules for the sender.
    #[must_use]
    pub fn rules(&self) -> UndoRules {
        let mut rules = UndoRules::new(
            match self.undo_eifel {
                Eifel::Off => EifelRule::Off,
                Eifel::FirstAck => EifelRule::FirstAck,
                Eifel::AnyAck => EifelRule::AnyAck,
            },
            match self.undo_dsack {
                Switch::Off => DsackRule::Off,
                Switch::On => DsackRule::On,
            },
            match self.undo_frto {
                Frto::Off => FrtoRule::Off,
                Frto::SecondAck => FrtoRule::SecondAck,
                Frto::AnyAck => FrtoRule::AnyAck,
            },
        );
        rules.threshold = match self.undo_ssthresh {
            Threshold::Before => PriorThreshold::AsItWas,
            Threshold::ThreeQuarters => PriorThreshold::ThreeQuarters,
        };
        rules
    }
}

#[cfg(test)]
mod tests;
