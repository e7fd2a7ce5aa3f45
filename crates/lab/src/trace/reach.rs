//! Progress of a flow, and the scripted losses beyond its end.

use dupack_tcp::time::{Duration, Instant};

use super::{Event, What};
use crate::experiment::DropRule;

/// Progress of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Number of data packets: one more than the highest number sent.
    pub packets: u64,
    /// Number of ACKs that the receiver sent.
    pub acks: u64,
}

/// Part of a rule that was not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// The whole rule.
    All,
    /// The end of the rule.
    End,
}

impl Reach {
    pub(super) fn see(&mut self, event: &Event) {
        match event.what {
            What::Sent(sent) => self.packets = self.packets.max(sent.number + 1),
            What::AckSent { number, .. } => self.acks = self.acks.max(number + 1),
            _ => {}
        }
    }

    /// Returns the part of `rule` that lies beyond the run, if any. The rule for a second transmission counts as
    /// reached if the first transmission took place, because the sender decides whether there is a second one.
    #[must_use]
    pub fn beyond(&self, rule: &DropRule, end: Instant) -> Option<Unreached> {
        let (first, last, reached) = match *rule {
            DropRule::Data { first, last, .. } | DropRule::Chosen { first, last, .. } => {
                (first, last, self.packets)
            }
            DropRule::Ack { first, last } => (first, last, self.acks),
            DropRule::Time { from, .. } => {
                let from = Instant::ZERO + Duration::from_nanos(from.as_nanos());
                return (from >= end).then_some(Unreached::All);
            }
        };
        match reached {
            _ if first >= reached => Some(Unreached::All),
            _ if last >= reached => Some(Unreached::End),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_reached_completely_partly_or_not_at_all() {
        let reach = Reach {
            packets: 30,
            acks: 10,
        };
        let end = Instant::ZERO + Duration::from_secs(2);
        for (rule, beyond) in [
            ("29", None),
            ("29#2", None),
            ("30", Some(Unreached::All)),
            ("24-30", Some(Unreached::End)),
            ("2 of 20-29", None),
            ("2 of 40-50", Some(Unreached::All)),
            ("ack 9", None),
            ("ack 10", Some(Unreached::All)),
            ("1s..3s", None),
            ("2s..3s", Some(Unreached::All)),
        ] {
            let parsed: DropRule = rule.parse().unwrap();
            assert_eq!(reach.beyond(&parsed, end), beyond, "{rule}");
        }
    }
}
