//! Networks that experiments use again and again: the dumbbell and the chain.

use crate::ids::{LinkId, NodeId, RouteId};
use crate::link::LinkConfig;
use crate::topology::{Topology, TopologyError};

/// *n* senders and *n* receivers on either side of one bottleneck.
///
/// ```text
/// sender 0 ──┐                          ┌── receiver 0
///            left ── bottleneck ── right
/// sender 1 ──┘                          └── receiver 1
/// ```
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// The bottleneck towards the receivers.
    pub bottleneck: LinkConfig,
    /// The same wire towards the senders.
    pub reverse: LinkConfig,
    /// The pairs.
    pub pairs: Vec<PairAccess>,
}

/// How one pair reaches the bottleneck; each link is the same in both directions.
#[derive(Clone, Debug)]
pub struct PairAccess {
    /// Between the sender and the left router.
    pub sender: LinkConfig,
    /// Between the right router and the receiver.
    pub receiver: LinkConfig,
}

/// Where things are in a dumbbell.
#[derive(Clone, Debug)]
pub struct DumbbellMap {
    /// The senders, one per pair.
    pub senders: Vec<NodeId>,
    /// The receivers, one per pair.
    pub receivers: Vec<NodeId>,
    /// The router on the senders' side.
    pub left: NodeId,
    /// The router on the receivers' side.
    pub right: NodeId,
    /// The bottleneck towards the receivers.
    pub bottleneck: LinkId,
    /// The bottleneck towards the senders.
    pub reverse: LinkId,
    /// Each pair's route from sender to receiver.
    pub there: Vec<RouteId>,
    /// Each pair's route from receiver to sender.
    pub back: Vec<RouteId>,
}

impl Dumbbell {
    /// Adds the dumbbell to `map`.
    ///
    /// # Errors
    ///
    /// None in practice: the routes are paths by construction.
    pub fn build(&self, map: &mut Topology) -> Result<DumbbellMap, TopologyError> {
        let (left, right) = (map.node("left"), map.node("right"));
        let (bottleneck, reverse) =
            map.duplex(left, right, self.bottleneck.clone(), self.reverse.clone());
        let mut built = DumbbellMap {
            senders: Vec::new(),
            receivers: Vec::new(),
            left,
            right,
            bottleneck,
            reverse,
            there: Vec::new(),
            back: Vec::new(),
        };
        for (n, access) in self.pairs.iter().enumerate() {
            let sender = map.node(format!("sender {n}"));
            let receiver = map.node(format!("receiver {n}"));
            let (up, down) = duplex_alike(map, sender, left, &access.sender);
            let (out, back) = duplex_alike(map, right, receiver, &access.receiver);
            built.senders.push(sender);
            built.receivers.push(receiver);
            built
                .there
                .push(map.explicit_route(&[up, bottleneck, out])?);
            built.back.push(map.explicit_route(&[back, reverse, down])?);
        }
        Ok(built)
    }
}

/// Nodes in a row. Flows may run between any two of them: one over all hops and one across each
/// is a parking lot.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The hops, from the first node to the last.
    pub hops: Vec<ChainHop>,
}

/// One hop of a chain.
#[derive(Clone, Debug)]
pub struct ChainHop {
    /// Towards the end of the chain.
    pub there: LinkConfig,
    /// Towards its start.
    pub back: LinkConfig,
}

/// Where things are in a chain.
#[derive(Clone, Debug)]
pub struct ChainMap {
    /// The nodes, one more than hops.
    pub nodes: Vec<NodeId>,
    /// The links towards the end.
    pub there: Vec<LinkId>,
    /// The links towards the start, in the order of the hops.
    pub back: Vec<LinkId>,
}

impl Chain {
    /// Two nodes joined directly: the smallest network there is.
    #[must_use]
    pub fn single(there: LinkConfig, back: LinkConfig) -> Self {
        Self {
            hops: vec![ChainHop { there, back }],
        }
    }

    /// Adds the chain to `map`.
    pub fn build(&self, map: &mut Topology) -> ChainMap {
        let mut built = ChainMap {
            nodes: vec![map.node("node 0")],
            there: Vec::new(),
            back: Vec::new(),
        };
        let mut last = built.nodes[0];
        for (n, hop) in self.hops.iter().enumerate() {
            let next = map.node(format!("node {}", n + 1));
            let (there, back) = map.duplex(last, next, hop.there.clone(), hop.back.clone());
            built.nodes.push(next);
            built.there.push(there);
            built.back.push(back);
            last = next;
        }
        built
    }
}

fn duplex_alike(map: &mut Topology, a: NodeId, b: NodeId, link: &LinkConfig) -> (LinkId, LinkId) {
    map.duplex(a, b, link.clone(), link.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::BitRate;
    use dupack_tcp::time::Duration;

    fn delay(millis: u64) -> LinkConfig {
        LinkConfig::pure_delay(Duration::from_millis(millis))
    }

    #[test]
    fn a_dumbbells_routes_are_the_shortest_ones() {
        let mut map = Topology::new();
        let access = PairAccess {
            sender: delay(1),
            receiver: delay(2),
        };
        let dumbbell = Dumbbell {
            bottleneck: LinkConfig::rate(BitRate::from_mbps(10), Duration::from_millis(20)),
            reverse: delay(20),
            pairs: vec![access; 3],
        };
        let built = dumbbell.build(&mut map).unwrap();
        assert_eq!((map.node_count(), map.link_count()), (8, 14));
        for n in 0..3 {
            let (sender, receiver) = (built.senders[n], built.receivers[n]);
            let there = map.route(sender, receiver).unwrap();
            let back = map.route(receiver, sender).unwrap();
            assert_eq!(map.route_links(there), map.route_links(built.there[n]));
            assert_eq!(map.route_links(back), map.route_links(built.back[n]));
            assert_eq!(map.route_links(there)[1], built.bottleneck);
            assert_eq!(map.route_links(back)[1], built.reverse);
        }
    }

    #[test]
    fn a_chain_has_a_link_each_way_per_hop() {
        let mut map = Topology::new();
        let hop = ChainHop {
            there: delay(1),
            back: delay(1),
        };
        let built = Chain { hops: vec![hop; 3] }.build(&mut map);
        let route = map.route(built.nodes[0], built.nodes[3]).unwrap();
        assert_eq!(map.route_links(route), built.there);
        let route = map.route(built.nodes[2], built.nodes[0]).unwrap();
        assert_eq!(map.route_links(route), [built.back[1], built.back[0]]);
    }
}
