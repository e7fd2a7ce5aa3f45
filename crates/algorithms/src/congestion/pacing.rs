//! Pacing of a window over the round-trip time: a group of parameters.
//!
//! A control that embeds the group contains a [`Pace`] and returns [`Pace::rule`] from `CongestionControl::pacing`; the
//! sender computes the pacing rate (`dupack_tcp::congestion::WindowPacing`). BBR sets its own pacing rate.
//!
//! Pacing is off in every dialect: the RFCs leave it open, ns-2 has none, and Linux paces such a control only on an
//! interface with the queueing discipline fq, or if the application requests it.

use alloc::boxed::Box;

use dupack_tcp::congestion::{Pacing, WindowPacing};

use crate::catalog::linux::{Knob, Place};
use crate::catalog::{Parameters, Switch};

/// Parameters of pacing.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct PacingParameters {
    /// pacing of the window over the round-trip time
    #[parameter(
        basic,
        source = "linux: with the queueing discipline fq, or SO_MAX_PACING_RATE",
        default = Switch::Off,
    )]
    pub pacing: Switch,
    /// pacing rate in slow start, in windows per round-trip time
    #[parameter(
        source = "linux: sysctl tcp_pacing_ss_ratio",
        range = 0.1..=10.0,
        default = 2.0,
    )]
    pub pacing_slow_start: f64,
    /// pacing rate from half of ssthresh on, in windows per round-trip time
    #[parameter(
        source = "linux: sysctl tcp_pacing_ca_ratio",
        range = 0.1..=10.0,
        default = 1.2,
    )]
    pub pacing_avoidance: f64,
    /// segments that are sent together, if the window permits it
    #[parameter(
        source = "linux: sysctl tcp_min_tso_segs",
        range = 1..=64,
        unit = "segments",
        default = 2,
    )]
    pub pacing_burst: u64,
    /// number of segments at the start of a connection that are not paced
    #[parameter(
        source = "linux: tcp_update_skb_after_send, TCP_INIT_CWND",
        range = 0..=65_535,
        unit = "segments",
        default = 10,
    )]
    pub pacing_from: u64,
}

/// Returns the parameters of the group that Linux can set. Linux paces if the interface has the queueing discipline fq;
/// a program can pace a socket with SO_MAX_PACING_RATE.
pub fn knobs() -> [Knob; 4] {
    let ratio = |parameter: &'static str, key: &'static str| {
        Knob::number(parameter, 100.0, Place::sysctl(key))
    };
    let burst = Place::sysctl("net.ipv4.tcp_min_tso_segs");
    [
        Knob::words("pacing", &[("on", "fq")], Place::Qdisc),
        ratio("pacing_slow_start", "net.ipv4.tcp_pacing_ss_ratio"),
        ratio("pacing_avoidance", "net.ipv4.tcp_pacing_ca_ratio"),
        Knob::number("pacing_burst", 1.0, burst),
    ]
}

/// Pacing of a control; empty if the control does not pace.
#[derive(Clone, Debug)]
pub struct Pace(Option<Box<WindowPacing>>);

impl Pace {
    /// Creates the pacing with these parameters.
    #[must_use]
    pub fn new(parameters: &PacingParameters) -> Self {
        let rule = || {
            Box::new(WindowPacing {
                slow_start: parameters.pacing_slow_start,
                avoidance: parameters.pacing_avoidance,
                burst_least: u32::try_from(parameters.pacing_burst).unwrap_or(u32::MAX),
                unpaced: parameters.pacing_from,
            })
        };
        Self(match parameters.pacing {
            Switch::Off => None,
            Switch::On => Some(rule()),
        })
    }

    /// Returns `On` if the control paces.
    #[must_use]
    pub fn switch(&self) -> Switch {
        match self.0 {
            None => Switch::Off,
            Some(_) => Switch::On,
        }
    }

    /// Returns the pacing rule for the sender.
    #[must_use]
    pub fn rule(&self) -> Pacing {
        self.0
            .as_deref()
            .map_or(Pacing::Off, |rule| Pacing::Window(*rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Dialect, Value};
    use crate::congestion::bench::built;
    use crate::congestion::{cubic, reno, rr, vegas, veno, westwood};

    #[test]
    fn a_control_paces_by_its_parameters() {
        let told = [
            ("pacing", Value::word("on")),
            ("pacing_slow_start", Value::Real(3.0)),
            ("pacing_burst", Value::Integer(4)),
        ];
        let rule = WindowPacing {
            slow_start: 3.0,
            avoidance: 1.2,
            burst_least: 4,
            unpaced: 10,
        };
        for entry in [
            reno::entry,
            cubic::entry,
            rr::entry,
            vegas::entry,
            veno::entry,
            westwood::entry,
        ] {
            let pacing = |changes| built(&entry(), Dialect::Rfc, changes).pacing();
            assert_eq!(pacing(&told), Pacing::Window(rule));
            assert_eq!(pacing(&[]), Pacing::Off);
        }
    }
}
