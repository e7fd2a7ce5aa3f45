//! Loss script: loses exactly the listed packets, so that an example in a text can be replayed.
//!
//! Data packets of a flow are identified by packet number, which a retransmission shares with its original. ACKs and
//! datagrams are identified by their count. All numbers are per flow and start at 0; transmissions start at 1. A
//! transmission is counted when it reaches the script's link. The second copy of packet 26 that arrives there is
//! therefore its second transmission, even if an earlier link lost a copy in between.

use core::fmt;
use core::ops::RangeInclusive;

use dupack_tcp::time::Instant;

use crate::ids::FlowId;
use crate::link::offer::Offer;
use crate::link::outage::TimeWindow;
use crate::packet::PacketKind;

/// Validated list of rules. A packet is lost if any rule matches it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossScript {
    rules: Vec<ScriptRule>,
}

/// Rule that matches packets to lose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptRule {
    /// Data packets of a flow, by packet number and transmission.
    Data {
        /// The flow.
        flow: FlowId,
        /// Range of packet numbers, from 0.
        packets: RangeInclusive<u64>,
        /// Transmissions of these packets.
        transmissions: Transmissions,
    },
    /// ACKs of a flow, in the order in which its receiver sent them.
    Acks {
        /// The flow.
        flow: FlowId,
        /// Range of counts, from 0.
        acks: RangeInclusive<u64>,
    },
    /// Datagrams of a flow, in the order in which they were sent.
    Datagrams {
        /// The flow.
        flow: FlowId,
        /// Range of counts, from 0.
        datagrams: RangeInclusive<u64>,
    },
    /// Packets by their order of arrival at the link, of any flow and of every kind that passes the model's filter.
    Count(
        /// Range of counts, from 0.
        RangeInclusive<u64>,
    ),
    /// All packets that are offered to the link in this time window and pass the model's filter.
    During(TimeWindow),
}

/// Transmissions of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmissions {
    /// The n-th transmission, from 1: 1 is the original, 2 the first retransmission.
    Nth(u32),
    /// The first n transmissions.
    First(u32),
    /// All transmissions.
    Every,
}

/// Maximum number of data packets in a rule that counts their transmissions.
pub const MAX_SCRIPTED_PACKETS: u64 = 1_000_000;

/// Error in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptError {
    /// A range ends before it starts, or a time window is empty.
    EmptyRange {
        /// Index of the rule in the script, from 0.
        rule: usize,
    },
    /// A rule counts the transmissions of too many packets.
    TooManyPackets {
        /// Index of the rule in the script, from 0.
        rule: usize,
        /// Number of packets in the rule's range.
        packets: u64,
    },
    /// A rule names transmission 0; transmissions are counted from 1.
    TransmissionZero {
        /// Index of the rule in the script, from 0.
        rule: usize,
    },
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyRange { rule } => write!(
                f,
                "rule {} of the loss script matches nothing: its range ends before it starts",
                rule + 1
            ),
            Self::TooManyPackets { rule, packets } => write!(
                f,
                "rule {} of the loss script counts the transmissions of {packets} packets; \
                 the maximum is {MAX_SCRIPTED_PACKETS}: use a smaller range, or drop every \
                 transmission",
                rule + 1
            ),
            Self::TransmissionZero { rule } => write!(
                f,
                "rule {} of the loss script names transmission 0: transmissions are counted from 1",
                rule + 1
            ),
        }
    }
}

impl core::error::Error for ScriptError {}

impl LossScript {
    /// Creates a script of `rules`.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule matches no packets, or more than can be counted.
    pub fn new(rules: Vec<ScriptRule>) -> Result<Self, ScriptError> {
        for (index, rule) in rules.iter().enumerate() {
            rule.check(index)?;
        }
        Ok(Self { rules })
    }

    /// Returns the rules.
    #[must_use]
    pub fn rules(&self) -> &[ScriptRule] {
        &self.rules
    }
}

impl ScriptRule {
    fn check(&self, rule: usize) -> Result<(), ScriptError> {
        let empty = match self {
            Self::Data { packets: range, .. }
            | Self::Acks { acks: range, .. }
            | Self::Datagrams {
                datagrams: range, ..
            }
            | Self::Count(range) => range.is_empty(),
            Self::During(window) => window.from >= window.to,
        };
        if empty {
            return Err(ScriptError::EmptyRange { rule });
        }
        let Self::Data {
            packets,
            transmissions: Transmissions::Nth(nth) | Transmissions::First(nth),
            ..
        } = self
        else {
            return Ok(());
        };
        if *nth == 0 {
            return Err(ScriptError::TransmissionZero { rule });
        }
        let count = (packets.end() - packets.start()).saturating_add(1);
        if count > MAX_SCRIPTED_PACKETS {
            return Err(ScriptError::TooManyPackets {
                rule,
                packets: count,
            });
        }
        Ok(())
    }
}

/// A script at run time.
#[derive(Clone, Debug)]
pub(super) struct ScriptState {
    rules: Vec<RuleState>,
    /// Number of packets that have reached the link.
    count: u64,
}

#[derive(Clone, Debug)]
struct RuleState {
    rule: ScriptRule,
    /// Number of transmissions of each packet in the range of a rule that counts transmissions.
    seen: Vec<u32>,
}

impl ScriptState {
    pub(super) fn new(script: &LossScript) -> Self {
        let rules = script.rules.iter().cloned().map(RuleState::new).collect();
        Self { rules, count: 0 }
    }

    /// Returns `true` if a rule matches this packet.
    pub(super) fn takes(&mut self, now: Instant, packet: &Offer) -> bool {
        let place = self.count;
        self.count += 1;
        let mut taken = false;
        for state in &mut self.rules {
            // The operator does not short-circuit, because every rule must count every packet.
            taken |= state.names(now, place, packet);
        }
        taken
    }
}

impl RuleState {
    fn new(rule: ScriptRule) -> Self {
        let counted = match &rule {
            ScriptRule::Data {
                packets,
                transmissions: Transmissions::Nth(_) | Transmissions::First(_),
                ..
            } => packets.end() - packets.start() + 1,
            _ => 0,
        };
        Self {
            rule,
            seen: vec![0; counted as usize],
        }
    }

    fn names(&mut self, now: Instant, place: u64, packet: &Offer) -> bool {
        match &self.rule {
            ScriptRule::Data {
                flow,
                packets,
                transmissions,
            } => {
                is_named(PacketKind::Data, *flow, packets, packet)
                    && nth_transmission(
                        &mut self.seen,
                        packet.number - packets.start(),
                        *transmissions,
                    )
            }
            ScriptRule::Acks { flow, acks } => is_named(PacketKind::Ack, *flow, acks, packet),
            ScriptRule::Datagrams { flow, datagrams } => {
                is_named(PacketKind::Udp, *flow, datagrams, packet)
            }
            ScriptRule::Count(places) => places.contains(&place),
            ScriptRule::During(window) => window.contains(now),
        }
    }
}

fn is_named(kind: PacketKind, flow: FlowId, range: &RangeInclusive<u64>, packet: &Offer) -> bool {
    packet.kind == kind && packet.flow == flow && range.contains(&packet.number)
}

/// Counts one more transmission of the packet at `index` of a rule's range. Returns `true` if it is one of
/// `transmissions`.
fn nth_transmission(seen: &mut [u32], index: u64, transmissions: Transmissions) -> bool {
    let mut count = || {
        let seen = &mut seen[index as usize];
        *seen = seen.saturating_add(1);
        *seen
    };
    match transmissions {
        Transmissions::Nth(nth) => count() == nth,
        Transmissions::First(n) => count() <= n,
        Transmissions::Every => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(kind: PacketKind, flow: u32, number: u64) -> Offer {
        Offer {
            kind,
            flow: FlowId(flow),
            number,
            ..Offer::default()
        }
    }

    fn state(rules: Vec<ScriptRule>) -> ScriptState {
        ScriptState::new(&LossScript::new(rules).unwrap())
    }

    fn data_rule(packets: RangeInclusive<u64>, transmissions: Transmissions) -> ScriptRule {
        ScriptRule::Data {
            flow: FlowId(0),
            packets,
            transmissions,
        }
    }

    #[test]
    fn a_range_of_first_transmissions_and_one_second_transmission() {
        let mut script = state(vec![
            data_rule(24..=30, Transmissions::Nth(1)),
            data_rule(26..=26, Transmissions::Nth(2)),
        ]);
        let mut lost = |number| script.takes(Instant::ZERO, &offer(PacketKind::Data, 0, number));
        let first_pass: Vec<u64> = (20..35).filter(|&n| lost(n)).collect();
        assert_eq!(first_pass, [24, 25, 26, 27, 28, 29, 30]);
        let second_pass: Vec<u64> = (20..35).filter(|&n| lost(n)).collect();
        assert_eq!(second_pass, [26]);
        assert_eq!((20..35).filter(|&n| lost(n)).count(), 0);
    }

    #[test]
    fn the_first_two_and_every_transmission() {
        let mut script = state(vec![
            data_rule(1..=1, Transmissions::First(2)),
            data_rule(2..=2, Transmissions::Every),
        ]);
        let mut lost = |number| script.takes(Instant::ZERO, &offer(PacketKind::Data, 0, number));
        assert_eq!([(); 4].map(|()| lost(1)), [true, true, false, false]);
        assert_eq!([(); 4].map(|()| lost(2)), [true; 4]);
    }

    #[test]
    fn rules_match_flow_and_kind() {
        let mut script = state(vec![
            data_rule(5..=5, Transmissions::Every),
            ScriptRule::Acks {
                flow: FlowId(0),
                acks: 3..=3,
            },
            ScriptRule::Datagrams {
                flow: FlowId(2),
                datagrams: 0..=1,
            },
        ]);
        let mut lost = |kind, flow, n| script.takes(Instant::ZERO, &offer(kind, flow, n));
        assert!(lost(PacketKind::Data, 0, 5));
        assert!(!lost(PacketKind::Data, 1, 5));
        assert!(!lost(PacketKind::Ack, 0, 5));
        assert!(lost(PacketKind::Ack, 0, 3));
        assert!(!lost(PacketKind::Data, 0, 3));
        assert!(lost(PacketKind::Udp, 2, 1));
        assert!(!lost(PacketKind::Udp, 2, 2));
    }

    #[test]
    fn rules_by_count_and_by_time() {
        let window = TimeWindow {
            from: Instant::from_nanos(100),
            to: Instant::from_nanos(200),
        };
        let mut script = state(vec![ScriptRule::Count(1..=2), ScriptRule::During(window)]);
        let lost: Vec<u64> = [0, 50, 99, 99, 100, 199, 200]
            .into_iter()
            .filter(|&t| script.takes(Instant::from_nanos(t), &offer(PacketKind::Udp, 0, 0)))
            .collect();
        assert_eq!(lost, [50, 99, 100, 199]);
    }

    #[test]
    fn invalid_scripts_are_rejected() {
        let error = |rule| LossScript::new(vec![rule]).unwrap_err();
        #[allow(clippy::reversed_empty_ranges)]
        let backwards = data_rule(5..=4, Transmissions::Every);
        assert_eq!(error(backwards), ScriptError::EmptyRange { rule: 0 });
        assert_eq!(
            error(data_rule(0..=0, Transmissions::Nth(0))),
            ScriptError::TransmissionZero { rule: 0 }
        );
        assert_eq!(
            error(data_rule(0..=u64::MAX, Transmissions::Nth(1))),
            ScriptError::TooManyPackets {
                rule: 0,
                packets: u64::MAX
            }
        );
        assert!(LossScript::new(vec![data_rule(0..=u64::MAX, Transmissions::Every)]).is_ok());
        let empty = TimeWindow {
            from: Instant::ZERO,
            to: Instant::ZERO,
        };
        assert_eq!(
            error(ScriptRule::During(empty)),
            ScriptError::EmptyRange { rule: 0 }
        );
    }
}
