//! Which signs a control takes for proof that it reduced the window in vain: a group of parameters.
//!
//! What they are and how they are looked for is told in `dupack_tcp::undo`. A control that embeds the
//! group answers `CongestionControl::undo` by [`UndoParameters::rules`], and returns to the window
//! before the reduction; what else it had changed it keeps a copy of.
//!
//! By dialect: `linux` has all three, each in Linux's way. `rfc` has none, as the RFCs only permit
//! them (RFC 3522 §3.2, RFC 5682 §3.1, RFC 4015 §3.1, RFC 9438 §4.9 say MAY); RFC 3522 is
//! `undo_eifel = first-ack` and RFC 5682 is `undo_frto = second-ack`. ns-2 has nothing of the kind.
//!
//! A reduction is undone whoever chose it: a response to a loss of the link's, too. It was as needless.

use dupack_tcp::undo::{DsackRule, EifelRule, FrtoRule, PriorThreshold, UndoRules};

use crate::catalog::linux::{Knob, Place};
use crate::catalog::{Choice, Parameters, Switch};

/// Which ACKs may show by their timestamps that a reduction was needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Eifel {
    /// none
    Off,
    /// the first after the first retransmission (RFC 3522)
    FirstAck,
    /// any until the loss event is over (Linux)
    AnyAck,
}

/// How F-RTO finds out that a timeout was needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Frto {
    /// it does not
    Off,
    /// by the ACK after the one that lets new data go (RFC 5682)
    SecondAck,
    /// by any ACK (Linux)
    AnyAck,
}

/// Which slow start threshold an undone reduction leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Threshold {
    /// the one before
    Before,
    /// the same, but at least three quarters of the window before
    ThreeQuarters,
}

/// What of the group Linux sets.
pub fn knobs() -> [Knob; 1] {
    let place = Place::sysctl("net.ipv4.tcp_frto");
    [Knob::words("undo_frto", &[("off", "0")], place)]
}

/// What a control takes for proof.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct UndoParameters {
    /// ACKs that may undo a reduction by their timestamps
    #[parameter(
        source = "rfc: RFC 3522 §3.2 (MAY); linux: tcp_packet_delayed, tcp_try_undo_partial",
        default(rfc = Eifel::Off, linux = Eifel::AnyAck, ns2 = Eifel::Off),
    )]
    pub undo_eifel: Eifel,
    /// DSACKs for all that was sent again undo a reduction
    #[parameter(
        source = "rfc: RFC 9438 §4.9 (MAY), RFC 3708 §3; linux: tcp_try_undo_dsack",
        default(rfc = Switch::Off, linux = Switch::On, ns2 = Switch::Off),
    )]
    pub undo_dsack: Switch,
    /// what after a timeout undoes it (F-RTO)
    #[parameter(
        source = "rfc: RFC 5682 §3.1 (MAY); linux: sysctl tcp_frto, tcp_process_loss",
        default(rfc = Frto::Off, linux = Frto::AnyAck, ns2 = Frto::Off),
    )]
    pub undo_frto: Frto,
    /// least slow start threshold after an undone reduction
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
    /// The same for the sender.
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
