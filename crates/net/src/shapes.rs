//! Common network shapes: the dumbbell, the chain, and two radio networks.

use crate::ids::{LinkId, MediumId, NodeId, RouteId};
use crate::link::LinkConfig;
use crate::topology::{Topology, TopologyError};
use crate::wireless::{Position, RadioConfig};

/// *n* senders and *n* receivers on the two sides of one bottleneck.
///
/// ```text
/// sender 0 ──┐                          ┌── receiver 0
///            left ── bottleneck ── right
/// sender 1 ──┘                          └── receiver 1
/// ```
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// Bottleneck link towards the receivers.
    pub bottleneck: LinkConfig,
    /// Bottleneck link towards the senders.
    pub reverse: LinkConfig,
    /// Access links of each pair.
    pub pairs: Vec<PairAccess>,
}

/// Access links of one pair. Each link has the same configuration in both directions.
#[derive(Clone, Debug)]
pub struct PairAccess {
    /// Link between the sender and the left router.
    pub sender: LinkConfig,
    /// Link between the right router and the receiver.
    pub receiver: LinkConfig,
}

/// Ids of a dumbbell's parts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DumbbellMap {
    /// Senders, one per pair.
    pub senders: Vec<NodeId>,
    /// Receivers, one per pair.
    pub receivers: Vec<NodeId>,
    /// Router on the senders' side.
    pub left: NodeId,
    /// Router on the receivers' side.
    pub right: NodeId,
    /// Bottleneck link towards the receivers.
    pub bottleneck: LinkId,
    /// Bottleneck link towards the senders.
    pub reverse: LinkId,
    /// Route of each pair from the sender to the receiver.
    pub there: Vec<RouteId>,
    /// Route of each pair from the receiver to the sender.
    pub back: Vec<RouteId>,
}

impl Dumbbell {
    /// Adds the dumbbell to `map`.
    ///
    /// # Errors
    ///
    /// Does not fail in practice, because the routes are paths by construction.
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

/// Nodes in a row. Flows may run between any two nodes. One flow over all hops and one flow over each hop form a
/// parking lot.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Hops, from the first node to the last.
    pub hops: Vec<ChainHop>,
}

/// One hop of a chain.
#[derive(Clone, Debug)]
pub struct ChainHop {
    /// Link towards the end of the chain.
    pub there: LinkConfig,
    /// Link towards the start of the chain.
    pub back: LinkConfig,
}

/// Ids of a chain's parts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChainMap {
    /// Nodes; there is one more node than hops.
    pub nodes: Vec<NodeId>,
    /// Links towards the end.
    pub there: Vec<LinkId>,
    /// Links towards the start, in the order of the hops.
    pub back: Vec<LinkId>,
}

impl Chain {
    /// Returns a chain of two directly connected nodes: the smallest network.
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

/// Stations in a row, evenly spaced, that relay for each other over one radio channel.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioChain {
    /// Number of hops; there is one more station than hops.
    pub hops: u32,
    /// Distance between neighbours in metres.
    pub spacing_m: f64,
    /// Radio channel.
    pub radio: RadioConfig,
}

/// Ids of a radio chain's parts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RadioChainMap {
    /// Radio channel. Its stations are numbered along the chain.
    pub medium: MediumId,
    /// Nodes; there is one more node than hops.
    pub nodes: Vec<NodeId>,
    /// Links towards the end.
    pub there: Vec<LinkId>,
    /// Links towards the start, in the order of the hops.
    pub back: Vec<LinkId>,
}

impl RadioChain {
    /// Adds the chain to `map`. The shortest route between two nodes crosses all nodes in between.
    pub fn build(&self, map: &mut Topology) -> RadioChainMap {
        let medium = map.medium(self.radio.clone());
        let mut built = RadioChainMap {
            medium,
            nodes: Vec::new(),
            there: Vec::new(),
            back: Vec::new(),
        };
        let mut last = None;
        for n in 0..=self.hops {
            let node = map.node(format!("node {n}"));
            let place = Position::on_line(self.spacing_m * f64::from(n));
            let station = map.station(medium, node, place);
            built.nodes.push(node);
            if let Some(last) = last {
                let (there, back) = map.radio_duplex(medium, last, station);
                built.there.push(there);
                built.back.push(back);
            }
            last = Some(station);
        }
        built
    }
}

/// A cell: stations on a circle around an access point, close enough that all of them sense each other.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioCell {
    /// Number of stations, without the access point.
    pub stations: u32,
    /// Distance of each station from the access point in metres.
    pub radius_m: f64,
    /// Radio channel.
    pub radio: RadioConfig,
}

/// Ids of a cell's parts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RadioCellMap {
    /// Radio channel. Its station 0 is the access point.
    pub medium: MediumId,
    /// Access point.
    pub access_point: NodeId,
    /// Stations around the access point.
    pub stations: Vec<NodeId>,
    /// Link of each station to the access point.
    pub up: Vec<LinkId>,
    /// Link from the access point to each station.
    pub down: Vec<LinkId>,
}

impl RadioCell {
    /// Adds the cell to `map`.
    pub fn build(&self, map: &mut Topology) -> RadioCellMap {
        let medium = map.medium(self.radio.clone());
        let access_point = map.node("access point");
        let centre = map.station(medium, access_point, Position::default());
        let mut built = RadioCellMap {
            medium,
            access_point,
            stations: Vec::new(),
            up: Vec::new(),
            down: Vec::new(),
        };
        for n in 0..self.stations {
            let turn = f64::from(n) / f64::from(self.stations);
            let angle = core::f64::consts::TAU * turn;
            let place = Position {
                x_m: self.radius_m * libm::cos(angle),
                y_m: self.radius_m * libm::sin(angle),
            };
            let node = map.node(format!("station {n}"));
            let station = map.station(medium, node, place);
            let (up, down) = map.radio_duplex(medium, station, centre);
            built.stations.push(node);
            built.up.push(up);
            built.down.push(down);
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
    fn the_routes_of_a_dumbbell_are_the_shortest() {
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
    fn a_chain_has_two_links_per_hop() {
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
