//! Conversion of loss scripts to the configuration of `dupack-net`. The rules apply to the packets of each flow
//! separately.

use dupack_net::ids::FlowId;
use dupack_net::link::{ScriptRule, TimeWindow, Transmissions};
use dupack_net::random::Stream;
use dupack_tcp::time::Instant;

use super::span;
use crate::experiment::DropRule;

/// Context of a link's loss script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script<'a> {
    /// Number of TCP flows in the network.
    pub(super) flows: usize,
    /// Seed of the run.
    pub(super) seed: u64,
    /// Key of the script in the file. Scripts with different keys make different random choices.
    pub(super) key: &'a str,
}

impl Script<'_> {
    /// Returns the rules of `drop` for every flow.
    pub(super) fn rules(self, drop: &[DropRule]) -> Vec<ScriptRule> {
        let mut rules = Vec::new();
        for (n, rule) in drop.iter().enumerate() {
            let flows = (0..self.flows as u32).map(FlowId);
            match *rule {
                DropRule::Time { from, until } => rules.push(ScriptRule::During(TimeWindow {
                    from: Instant::ZERO + span(from),
                    to: Instant::ZERO + span(until),
                })),
                DropRule::Data {
                    first,
                    last,
                    transmission,
                } => rules.extend(flows.map(|flow| ScriptRule::Data {
                    flow,
                    packets: first..=last,
                    transmissions: Transmissions::Nth(transmission),
                })),
                DropRule::Chosen { count, first, last } => {
                    rules.extend(flows.flat_map(|flow| {
                        let chosen = self.choose(n, flow, count, first, last);
                        chosen.into_iter().map(move |packet| ScriptRule::Data {
                            flow,
                            packets: packet..=packet,
                            transmissions: Transmissions::Nth(1),
                        })
                    }));
                }
                DropRule::Ack { first, last } => rules.extend(flows.map(|flow| ScriptRule::Acks {
                    flow,
                    acks: first..=last,
                })),
            }
        }
        rules
    }

    /// Chooses `count` packets out of `first..=last`: the first packets of a shuffled list. Therefore a smaller count
    /// chooses a subset of the packets of a larger count.
    fn choose(self, rule: usize, flow: FlowId, count: u64, first: u64, last: u64) -> Vec<u64> {
        let name = format!("rule {rule} of {} for flow {}", self.key, flow.0);
        let mut stream = Stream::derive(self.seed, &name);
        let mut packets: Vec<u64> = (first..=last).collect();
        let count = packets.len().min(count as usize);
        for place in 0..count {
            let left = packets.len() - place;
            packets.swap(place, place + stream.below(left as u64) as usize);
        }
        packets.truncate(count);
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(seed: u64, flow: u32, count: u64) -> Vec<u64> {
        let script = Script {
            flows: 2,
            seed,
            key: "path.drop",
        };
        let drop = [DropRule::Chosen {
            count,
            first: 40,
            last: 71,
        }];
        let rules = script.rules(&drop).into_iter();
        let packets = rules.filter_map(|rule| match rule {
            ScriptRule::Data {
                flow: FlowId(of),
                packets,
                transmissions: Transmissions::Nth(1),
            } if of == flow && packets.start() == packets.end() => Some(*packets.start()),
            _ => None,
        });
        packets.collect()
    }

    #[test]
    fn a_choice_has_distinct_packets_and_depends_on_seed_and_flow() {
        let mut five = chosen(1, 0, 5);
        assert_eq!(five, chosen(1, 0, 5));
        assert_ne!(five, chosen(2, 0, 5));
        assert_ne!(five, chosen(1, 1, 5));
        assert_eq!(
            five,
            chosen(1, 0, 32)[..5],
            "not a subset of the larger choice"
        );
        five.sort_unstable();
        five.dedup();
        assert_eq!(five.len(), 5);
        let mut all = chosen(1, 0, 32);
        all.sort_unstable();
        assert!(all.into_iter().eq(40..=71));
    }

    #[test]
    fn every_packet_is_equally_likely_to_be_chosen() {
        let mut hits = [0_u32; 32];
        for seed in 0..4000 {
            for packet in chosen(seed, 0, 8) {
                hits[(packet - 40) as usize] += 1;
            }
        }
        // In 4000 choices of a quarter of the packets, each packet is chosen 1000 times on average, with a standard
        // deviation of √750 = 27. The tolerance is five standard deviations.
        assert!(hits.iter().all(|n| n.abs_diff(1000) < 140), "{hits:?}");
    }
}
