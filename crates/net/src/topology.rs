//! The map: nodes, links between them, and static routes.
//!
//! A route between two nodes is the path with the smallest propagation delay. If there are several such paths, it is
//! one with the fewest hops; if there are still several, the one that is found first in the order in which links were
//! created. A route can also be given explicitly.

mod radio;

use core::cmp::Reverse;
use core::fmt;
use std::collections::{BTreeMap, BinaryHeap};

use dupack_tcp::time::Duration;

use self::radio::MediumPlan;
use crate::event::MAX_SLOTS;
use crate::fabric::{Fabric, Transmitters};
use crate::ids::{LinkId, MediumId, NodeId, RouteId};
use crate::link::{Link, LinkConfig, LinkFault};
use crate::route::{Hop, RouteTable};
use crate::wireless::{RadioFault, RadioPort};

/// Nodes, links, and the routes requested so far.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    nodes: Vec<Node>,
    links: Vec<Edge>,
    media: Vec<MediumPlan>,
    routes: RouteTable,
    shortest: BTreeMap<(NodeId, NodeId), RouteId>,
}

#[derive(Clone, Debug)]
struct Node {
    name: String,
    outgoing: Vec<LinkId>,
}

#[derive(Clone, Debug)]
struct Edge {
    name: String,
    from: NodeId,
    to: NodeId,
    setup: LinkSetup,
}

/// Configuration of a link.
// Most links are wires, so a box for each would cost more than the space that radio links waste.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
enum LinkSetup {
    /// A link with its own channel.
    Wire(LinkConfig),
    /// A link from one station to another over a shared channel.
    Radio { medium: MediumId, port: RadioPort },
}

impl LinkSetup {
    /// Returns the propagation delay; zero for a radio link, whose nodes are metres apart.
    const fn delay(&self) -> Duration {
        match self {
            Self::Wire(config) => config.delay,
            Self::Radio { .. } => Duration::ZERO,
        }
    }
}

/// Reason why a network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyError {
    /// No path leads from one node to another.
    Unreachable {
        /// Name of the first node.
        from: String,
        /// Name of the destination.
        to: String,
    },
    /// The two ends of a flow are the same node.
    SameNode {
        /// Name of the node.
        node: String,
    },
    /// An explicit route is empty.
    EmptyRoute,
    /// A link of an explicit route does not start where the previous link ends.
    BrokenRoute {
        /// Name of the link that does not fit.
        link: String,
    },
    /// The configuration of a link is invalid.
    Link {
        /// Name of the link.
        link: String,
        /// Fault in the configuration.
        fault: LinkFault,
    },
    /// The configuration of a radio channel, or of a link on a radio channel, is invalid.
    Medium {
        /// Name of the channel or the link.
        medium: String,
        /// Fault in the configuration.
        fault: RadioFault,
    },
    /// There are more links and timers than event slots.
    TooLarge {
        /// Number of slots that the network needs.
        slots: usize,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { from, to } => write!(
                f,
                "no path leads from {from} to {to}: add the missing link (each direction is a \
                 separate link)"
            ),
            Self::SameNode { node } => write!(
                f,
                "a flow starts and ends at {node}: choose two different nodes"
            ),
            Self::EmptyRoute => write!(f, "an explicit route needs at least one link"),
            Self::BrokenRoute { link } => write!(
                f,
                "an explicit route is invalid: {link} does not start where the previous link ends"
            ),
            Self::Link { link, fault } => {
                write!(f, "the link {link} is invalid: {}", fault.explain())
            }
            Self::Medium { medium, fault } => {
                write!(f, "the radio of {medium} is invalid: {}", fault.explain())
            }
            Self::TooLarge { slots } => write!(
                f,
                "the network has {slots} links and timers; the maximum is {MAX_SLOTS}"
            ),
        }
    }
}

impl core::error::Error for TopologyError {}

impl Topology {
    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node.
    pub fn node(&mut self, name: impl Into<String>) -> NodeId {
        self.nodes.push(Node {
            name: name.into(),
            outgoing: Vec::new(),
        });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a link in one direction.
    ///
    /// The name of the link consists of its ends, `a->b`; further links between the same nodes are `a->b#2`, and so on.
    /// The name determines the link's random numbers.
    pub fn link(&mut self, from: NodeId, to: NodeId, config: LinkConfig) -> LinkId {
        self.edge(from, to, LinkSetup::Wire(config))
    }

    fn edge(&mut self, from: NodeId, to: NodeId, setup: LinkSetup) -> LinkId {
        let id = LinkId(self.links.len() as u32);
        let name = self.link_name_between(from, to);
        self.nodes[from.index()].outgoing.push(id);
        self.links.push(Edge {
            name,
            from,
            to,
            setup,
        });
        id
    }

    /// Adds a link in each direction; the first of the pair leads from `a` to `b`.
    pub fn duplex(
        &mut self,
        a: NodeId,
        b: NodeId,
        there: LinkConfig,
        back: LinkConfig,
    ) -> (LinkId, LinkId) {
        (self.link(a, b, there), self.link(b, a, back))
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of links.
    #[must_use]
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Returns the name of a node.
    #[must_use]
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.nodes[node.index()].name
    }

    /// Returns the name of a link.
    #[must_use]
    pub fn link_name(&self, link: LinkId) -> &str {
        &self.links[link.index()].name
    }

    /// Returns the configuration of a link; `None` for a radio link, which has the configuration of its medium.
    #[must_use]
    pub fn link_config(&self, link: LinkId) -> Option<&LinkConfig> {
        match &self.links[link.index()].setup {
            LinkSetup::Wire(config) => Some(config),
            LinkSetup::Radio { .. } => None,
        }
    }

    /// Returns the configuration of a link, to change it before the network is built; `None` for a radio link.
    pub fn link_config_mut(&mut self, link: LinkId) -> Option<&mut LinkConfig> {
        match &mut self.links[link.index()].setup {
            LinkSetup::Wire(config) => Some(config),
            LinkSetup::Radio { .. } => None,
        }
    }

    /// Returns the links of a route, in order.
    #[must_use]
    pub fn route_links(&self, route: RouteId) -> &[LinkId] {
        self.routes.links(route)
    }

    /// Returns the first hop of `route`.
    #[must_use]
    pub fn first_hop(&self, route: RouteId) -> Hop {
        self.routes.start(route)
    }

    /// Returns the nodes at which a route starts and ends.
    #[must_use]
    pub fn route_ends(&self, route: RouteId) -> Option<(NodeId, NodeId)> {
        let links = self.route_links(route);
        let (first, last) = (links.first()?, links.last()?);
        Some((self.links[first.index()].from, self.links[last.index()].to))
    }

    /// Returns the shortest route between two nodes, which is computed at the first request.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no route.
    pub fn route(&mut self, from: NodeId, to: NodeId) -> Result<RouteId, TopologyError> {
        if from == to {
            return Err(TopologyError::SameNode {
                node: self.node_name(from).to_owned(),
            });
        }
        if let Some(&route) = self.shortest.get(&(from, to)) {
            return Ok(route);
        }
        let links = self.shortest_path(from, to).ok_or_else(|| {
            let name = |node| self.node_name(node).to_owned();
            TopologyError::Unreachable {
                from: name(from),
                to: name(to),
            }
        })?;
        let route = self.routes.add(&links);
        self.shortest.insert((from, to), route);
        Ok(route)
    }

    /// Returns the route over exactly the given links.
    ///
    /// # Errors
    ///
    /// Returns an error if the links do not form a path.
    pub fn explicit_route(&mut self, links: &[LinkId]) -> Result<RouteId, TopologyError> {
        if links.is_empty() {
            return Err(TopologyError::EmptyRoute);
        }
        for pair in links.windows(2) {
            if self.links[pair[0].index()].to != self.links[pair[1].index()].from {
                return Err(TopologyError::BrokenRoute {
                    link: self.link_name(pair[1]).to_owned(),
                });
            }
        }
        Ok(self.routes.add(links))
    }

    /// Sets up the network for the run with `seed` and a driver with `timers` timers.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration of a link is invalid or if the network is too large.
    pub fn fabric(&self, seed: u64, timers: usize) -> Result<Fabric, TopologyError> {
        let managed = self.links.iter().filter(|edge| match &edge.setup {
            LinkSetup::Wire(config) => config.queue.discipline.is_managed(),
            LinkSetup::Radio { .. } => false,
        });
        let slots = self.links.len() + self.media.len() + managed.count() + timers;
        if slots > MAX_SLOTS {
            return Err(TopologyError::TooLarge { slots });
        }
        let media = self.build_media(seed)?;
        for edge in &self.links {
            if let LinkSetup::Wire(config) = &edge.setup
                && let Some(fault) = config.fault()
            {
                return Err(TopologyError::Link {
                    link: edge.name.clone(),
                    fault,
                });
            }
            if let Some(error) = self.radio_fault(edge) {
                return Err(error);
            }
        }
        // A radio link is represented by a wire that carries nothing and only counts.
        let counting = LinkConfig::pure_delay(Duration::ZERO);
        let links = self.links.iter().map(|edge| match &edge.setup {
            LinkSetup::Wire(config) => Link::new(config, seed, &edge.name),
            LinkSetup::Radio { .. } => Link::new(&counting, seed, &edge.name),
        });
        let links: Vec<Link> = links.collect();
        let ports = self.links.iter().map(|edge| match edge.setup {
            LinkSetup::Wire(_) => None,
            LinkSetup::Radio { medium, port } => Some((medium, port)),
        });
        let transmitters = Transmitters::new(&links, media, ports.collect());
        Ok(Fabric::new(
            links,
            transmitters,
            self.routes.clone(),
            timers,
        ))
    }

    fn link_name_between(&self, from: NodeId, to: NodeId) -> String {
        let outgoing = self.nodes[from.index()].outgoing.iter();
        let parallel = outgoing
            .filter(|link| self.links[link.index()].to == to)
            .count();
        let base = format!("{}->{}", self.node_name(from), self.node_name(to));
        match parallel {
            0 => base,
            n => format!("{base}#{}", n + 1),
        }
    }

    /// Dijkstra's algorithm from `from`, stopping at `to`.
    fn shortest_path(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let mut best: Vec<Option<Reach>> = vec![None; self.nodes.len()];
        let mut frontier = BinaryHeap::from([Reverse((Cost::default(), from))]);
        while let Some(Reverse((cost, node))) = frontier.pop() {
            if node == to {
                return Some(self.walk_back(&best, from, to));
            }
            if best[node.index()].is_some_and(|reach| reach.cost < cost) {
                continue;
            }
            for &link in &self.nodes[node.index()].outgoing {
                let edge = &self.links[link.index()];
                let next = edge.to;
                if next == from || (next != to && self.is_dead_end(next, node)) {
                    continue;
                }
                let cost = cost.after(edge);
                if best[next.index()].is_none_or(|reach| cost < reach.cost) {
                    best[next.index()] = Some(Reach { cost, over: link });
                    frontier.push(Reverse((cost, next)));
                }
            }
        }
        None
    }

    /// Returns `true` if a path that enters `node` from `from` can only go back. Such nodes are skipped, so that a star
    /// of a thousand hosts is cheap.
    fn is_dead_end(&self, node: NodeId, from: NodeId) -> bool {
        match self.nodes[node.index()].outgoing.as_slice() {
            [] => true,
            [only] => self.links[only.index()].to == from,
            _ => false,
        }
    }

    fn walk_back(&self, best: &[Option<Reach>], from: NodeId, to: NodeId) -> Vec<LinkId> {
        let mut path = Vec::new();
        let mut node = to;
        while node != from
            && let Some(reach) = best[node.index()]
        {
            path.push(reach.over);
            node = self.links[reach.over.index()].from;
        }
        path.reverse();
        path
    }
}

/// Length of a path, compared by delay first and then by hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    delay_ns: u64,
    hops: u32,
}

impl Cost {
    const fn after(self, edge: &Edge) -> Self {
        Self {
            delay_ns: self.delay_ns.saturating_add(edge.setup.delay().as_nanos()),
            hops: self.hops + 1,
        }
    }
}

/// Path by which a node was reached.
#[derive(Clone, Copy, Debug)]
struct Reach {
    cost: Cost,
    over: LinkId,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(millis: u64) -> LinkConfig {
        LinkConfig::pure_delay(Duration::from_millis(millis))
    }

    #[test]
    fn routes_have_the_least_delay_then_the_fewest_hops() {
        let mut map = Topology::new();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| map.node(name));
        let direct = map.link(a, d, delay(30));
        let ab = map.link(a, b, delay(10));
        let bd = map.link(b, d, delay(10));
        let ac = map.link(a, c, delay(5));
        let cb = map.link(c, b, delay(5));
        // a-b-d and a-c-b-d both take 20 ms, a-d takes 30 ms.
        let route = map.route(a, d).unwrap();
        assert_eq!(map.route_links(route), [ab, bd]);
        // Now a-c-b is shorter than a-b.
        map.link_config_mut(ac).unwrap().delay = Duration::from_millis(4);
        let route = map.route(a, b).unwrap();
        assert_eq!(map.route_links(route), [ac, cb]);
        let route = map.explicit_route(&[direct]).unwrap();
        assert_eq!(map.route_links(route), [direct]);
    }

    #[test]
    fn among_equal_routes_the_first_created_link_is_used() {
        let mut map = Topology::new();
        let [a, b] = ["a", "b"].map(|name| map.node(name));
        let first = map.link(a, b, delay(1));
        let second = map.link(a, b, delay(1));
        let route = map.route(a, b).unwrap();
        assert_eq!(map.route_links(route), [first]);
        assert_eq!(map.link_name(first), "a->b");
        assert_eq!(map.link_name(second), "a->b#2");
        assert_eq!(map.route(a, b).unwrap(), route);
    }

    #[test]
    fn a_path_through_a_node_with_a_single_link_is_found() {
        let mut map = Topology::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| map.node(name));
        let (ab, _) = map.duplex(a, b, delay(1), delay(1));
        let bc = map.link(b, c, delay(1));
        let ca = map.link(c, a, delay(1));
        let route = map.route(a, c).unwrap();
        assert_eq!(map.route_links(route), [ab, bc]);
        let route = map.route(c, b).unwrap();
        assert_eq!(map.route_links(route), [ca, ab]);
    }

    #[test]
    fn an_unreachable_node_is_named_in_the_error() {
        let mut map = Topology::new();
        let [a, b] = ["alice", "bob"].map(|name| map.node(name));
        map.link(b, a, delay(1));
        let error = map.route(a, b).unwrap_err();
        assert!(error.to_string().contains("from alice to bob"));
        assert!(matches!(
            map.route(a, a),
            Err(TopologyError::SameNode { .. })
        ));
    }

    #[test]
    fn an_explicit_route_must_be_connected() {
        let mut map = Topology::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| map.node(name));
        let ab = map.link(a, b, delay(1));
        let ca = map.link(c, a, delay(1));
        assert_eq!(map.explicit_route(&[]), Err(TopologyError::EmptyRoute));
        assert!(matches!(
            map.explicit_route(&[ab, ca]),
            Err(TopologyError::BrokenRoute { link }) if link == "c->a"
        ));
        assert!(map.explicit_route(&[ca, ab]).is_ok());
    }

    #[test]
    fn an_invalid_link_is_named_in_the_error() {
        let mut map = Topology::new();
        let [a, b] = ["a", "b"].map(|name| map.node(name));
        map.link(
            a,
            b,
            delay(1).with_queue(crate::link::QueueLimit::Packets(0)),
        );
        let error = map.fabric(1, 0).unwrap_err().to_string();
        assert!(
            error.contains("a->b") && error.contains("at least one packet"),
            "{error}"
        );
        let clean = Topology::new();
        assert!(matches!(
            clean.fabric(1, MAX_SLOTS + 1),
            Err(TopologyError::TooLarge { .. })
        ));
    }
}
