//! Networks that experiments use again and again: the dumbbell, the chain, and two on the radio.

use crate::ids::{LinkId, MediumId, NodeId, RouteId};
use crate::link::LinkConfig;
use crate::topology::{Topology, TopologyError};
use crate::wireless::{Position, RadioConfig};

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
#[non_exhaustive]
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
#[non_exhaustive]
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

/// Stations in a row, evenly spaced, that relay for each other over one radio channel.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioChain {
    /// How many hops, one less than stations.
    pub hops: u32,
    /// Metres between neighbours.
    pub spacing_m: f64,
    /// The channel.
    pub radio: RadioConfig,
}

/// Where things are in a radio chain.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RadioChainMap {
    /// The channel. Its stations are numbered along the chain.
    pub medium: MediumId,
    /// The nodes, one more than hops.
    pub nodes: Vec<NodeId>,
    /// The links towards the end.
    pub there: Vec<LinkId>,
    /// The links towards the start, in the order of the hops.
    pub back: Vec<LinkId>,
}

impl RadioChain {
    /// Adds the chain to `map`. The shortest route between two nodes leads over all between.
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

/// A cell: stations on a circle around an access point, so near that all hear each other.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioCell {
    /// How many stations, the access point not counted.
    pub stations: u32,
    /// Metres from the access point to each of them.
    pub radius_m: f64,
    /// The channel.
    pub radio: RadioConfig,
}

/// Where things are in a cell.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RadioCellMap {
    /// The channel. Its station 0 is the access point.
    pub medium: MediumId,
    /// The access point.
    pub access_point: NodeId,
    /// The stations around it.
    pub stations: Vec<NodeId>,
    /// Each station's link to the access point.
    pub up: Vec<LinkId>,
    /// The links back.
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
