//! Nodes, links and routes of an experiment, and the routes of its flows.

use std::collections::BTreeMap;

use dupack_net::flow::Path;
use dupack_net::ids::{LinkId, NodeId, RouteId};
use dupack_net::link::{Hosts, LinkConfig};
use dupack_net::topology::Topology;
use dupack_tcp::time::Duration;

use super::{BuildError, Scenario, bit_rate, complaint, fault, radio, span};
use crate::experiment::{FlowGroup, LinkOptions, MediaSource, UdpSource};

impl Scenario {
    /// Sets the capacities of queues that depend on the round-trip time, once all flows have routes. The capacity is
    /// calculated from the longest round-trip time of the TCP flows that cross the queue.
    pub(super) fn size_for_round_trips(&self, map: &Map, topology: &mut Topology, ways: &[Way]) {
        let e = &self.experiment;
        for (options, ids) in e.path.iter().chain(&e.links).zip(&map.described) {
            if options.has_fixed_room() {
                continue;
            }
            let crossing = ways.iter().filter(|way| {
                let mut links = way.links(topology);
                links.any(|link| ids.contains(&link))
            });
            let Some(longest) = crossing.map(|way| way.round_trip(topology)).max() else {
                continue;
            };
            let configs = ids.map(|id| topology.link_config(id).cloned());
            let [Some(mut there), Some(mut back)] = configs else {
                continue;
            };
            self.size_queues(options, longest, [&mut there, &mut back]);
            for (id, config) in ids.iter().zip([there, back]) {
                if let Some(link) = topology.link_config_mut(*id) {
                    link.queue.limit = config.queue.limit;
                }
            }
        }
    }
}

/// Nodes, links and hosts.
pub(super) struct Map {
    pub(super) topology: Topology,
    nodes: BTreeMap<String, NodeId>,
    /// Ends of the path, including the hosts' own nodes if there are access links.
    path: Option<PathEnds>,
    /// Ends of the radio chain.
    chain: Option<(NodeId, NodeId)>,
    pub(super) measured: Vec<LinkId>,
    /// Links of the file, in both directions.
    pub(super) described: Vec<[LinkId; 2]>,
    links: BTreeMap<(NodeId, NodeId), LinkId>,
    /// Explicit routes, by the nodes at their ends.
    routes: BTreeMap<(NodeId, NodeId), Vec<LinkId>>,
}

/// Routes between two hosts in both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) there: RouteId,
    pub(super) back: RouteId,
}

impl Way {
    pub(super) const fn path(self) -> Path {
        let Self { there, back } = self;
        Path::Explicit { there, back }
    }

    /// Returns all links of a round trip, in order.
    pub(super) fn links(self, topology: &Topology) -> impl Iterator<Item = LinkId> + '_ {
        let routes = [self.there, self.back];
        let links = routes.map(|route| topology.route_links(route));
        links.into_iter().flatten().copied()
    }

    /// Returns the base round-trip time, without queueing.
    pub(super) fn round_trip(self, topology: &Topology) -> Duration {
        let configs = self
            .links(topology)
            .filter_map(|id| topology.link_config(id));
        configs.fold(Duration::ZERO, |sum, link| sum + link.delay)
    }
}

struct PathEnds {
    left: NodeId,
    right: NodeId,
    hosts: Vec<(NodeId, NodeId)>,
}

impl Map {
    pub(super) fn new(scenario: &Scenario, flows: usize, seed: u64) -> Result<Self, BuildError> {
        let e = &scenario.experiment;
        let mut map = Self {
            topology: Topology::new(),
            nodes: BTreeMap::new(),
            path: None,
            chain: None,
            measured: Vec::new(),
            described: Vec::new(),
            links: BTreeMap::new(),
            routes: BTreeMap::new(),
        };
        if let Some(path) = &e.path {
            map.add_path(scenario, path, flows, seed)?;
        }
        for (n, link) in e.links.iter().enumerate() {
            let Some([a, b]) = &link.between else {
                let message = "a link of a topology needs two nodes: between = [\"a\", \"b\"]";
                return Err(complaint(&format!("links.{n}"), message));
            };
            let (a, b) = (map.node(a), map.node(b));
            let (there, back) = scenario.directions(link, &format!("links.{n}"), flows, seed)?;
            let (there, back) = map.topology.duplex(a, b, there, back);
            map.measured.extend([there, back]);
            map.described.push([there, back]);
            map.links.insert((a, b), there);
            map.links.insert((b, a), back);
        }
        if let Some(radio) = &e.radio {
            let chain = radio::chain(radio)?.build(&mut map.topology);
            for (n, &node) in chain.nodes.iter().enumerate() {
                map.nodes.insert(format!("node {n}"), node);
            }
            let (Some(&first), Some(&last)) = (chain.nodes.first(), chain.nodes.last()) else {
                return Err(complaint("radio.hops", "a chain needs at least one hop"));
            };
            map.chain = Some((first, last));
            map.measured.extend(chain.there.first());
        }
        for (n, route) in e.routes.iter().enumerate() {
            map.add_route(n, route)?;
        }
        Ok(map)
    }

    fn add_path(
        &mut self,
        scenario: &Scenario,
        path: &LinkOptions,
        flows: usize,
        seed: u64,
    ) -> Result<(), BuildError> {
        let (there, back) = scenario.directions(path, "path", flows, seed)?;
        let (left, right) = (self.topology.node("left"), self.topology.node("right"));
        let (there, back) = self.topology.duplex(left, right, there, back);
        self.measured.push(there);
        self.described.push([there, back]);
        let mut hosts = Vec::new();
        if let Some(access) = scenario.experiment.access {
            let rate = bit_rate(access.rate, "access.rate")?;
            let link = LinkConfig::rate(rate, span(access.delay));
            for n in 0..flows {
                let sender = self.topology.node(format!("sender {n}"));
                let receiver = self.topology.node(format!("receiver {n}"));
                self.topology
                    .duplex(sender, left, link.clone(), link.clone());
                self.topology
                    .duplex(right, receiver, link.clone(), link.clone());
                hosts.push((sender, receiver));
            }
        }
        self.path = Some(PathEnds { left, right, hosts });
        Ok(())
    }

    fn add_route(&mut self, n: usize, route: &[String]) -> Result<(), BuildError> {
        let key = format!("routes.{n}");
        let nodes: Vec<NodeId> = route
            .iter()
            .map(|name| self.known(name, &key))
            .collect::<Result<_, _>>()?;
        let hops = nodes.windows(2).enumerate().map(|(hop, pair)| {
            self.links.get(&(pair[0], pair[1])).copied().ok_or_else(|| {
                let message = format!("no link joins {} and {}", route[hop], route[hop + 1]);
                complaint(&key, &message)
            })
        });
        let links: Vec<LinkId> = hops.collect::<Result<_, _>>()?;
        let (Some(&from), Some(&to)) = (nodes.first(), nodes.last()) else {
            return Err(complaint(&key, "a route needs at least two nodes"));
        };
        if links.is_empty() {
            return Err(complaint(&key, "a route needs at least two nodes"));
        }
        self.routes.insert((from, to), links);
        Ok(())
    }

    /// Returns the explicit routes between two nodes, or the shortest ones.
    pub(super) fn way(
        &self,
        topology: &mut Topology,
        from: NodeId,
        to: NodeId,
    ) -> Result<Way, BuildError> {
        let mut one = |from: NodeId, to: NodeId| match self.routes.get(&(from, to)) {
            Some(links) => topology.explicit_route(links),
            None => topology.route(from, to),
        };
        let there = one(from, to).map_err(|x| fault("flows", x))?;
        let back = one(to, from).map_err(|x| fault("flows", x))?;
        Ok(Way { there, back })
    }

    fn node(&mut self, name: &str) -> NodeId {
        if let Some(&id) = self.nodes.get(name) {
            return id;
        }
        let id = self.topology.node(name);
        self.nodes.insert(name.to_owned(), id);
        id
    }

    fn known(&self, name: &str, key: &str) -> Result<NodeId, BuildError> {
        self.nodes.get(name).copied().ok_or_else(|| {
            let names: Vec<&str> = self.nodes.keys().map(String::as_str).collect();
            complaint(
                key,
                &format!(
                    "no link has a node `{name}`; the nodes are {}",
                    names.join(", ")
                ),
            )
        })
    }

    pub(super) fn ends(&self, group: &FlowGroup, n: usize) -> Result<(NodeId, NodeId), BuildError> {
        if let Some(path) = &self.path {
            let (left, right) = match path.hosts.get(n) {
                Some(&hosts) => hosts,
                None => (path.left, path.right),
            };
            return Ok(if group.reverse {
                (right, left)
            } else {
                (left, right)
            });
        }
        if let (Some(ends), None, None) = (self.chain, &group.from, &group.to) {
            return Ok(ends);
        }
        self.named_ends(group.from.as_deref(), group.to.as_deref(), "flows")
    }

    /// Returns the hosts of a flow. On a path, each group or source has one host on either side. In a topology, the
    /// nodes are the hosts.
    pub(super) const fn hosts(&self, ends: (NodeId, NodeId), group: u32) -> Hosts {
        let (sender, receiver) = match self.path {
            Some(_) => (group, group),
            None => (ends.0.0, ends.1.0),
        };
        Hosts { sender, receiver }
    }

    pub(super) fn udp_ends(&self, source: &UdpSource) -> Result<(NodeId, NodeId), BuildError> {
        if let Some(path) = &self.path {
            return Ok((path.left, path.right));
        }
        if let (Some(ends), None, None) = (self.chain, &source.from, &source.to) {
            return Ok(ends);
        }
        self.named_ends(source.from.as_deref(), source.to.as_deref(), "udp")
    }

    pub(super) fn media_ends(&self, source: &MediaSource) -> Result<(NodeId, NodeId), BuildError> {
        if let Some(path) = &self.path {
            return Ok(if source.reverse {
                (path.right, path.left)
            } else {
                (path.left, path.right)
            });
        }
        if let (Some(ends), None, None) = (self.chain, &source.from, &source.to) {
            return Ok(ends);
        }
        self.named_ends(source.from.as_deref(), source.to.as_deref(), "media")
    }

    fn named_ends(
        &self,
        from: Option<&str>,
        to: Option<&str>,
        key: &str,
    ) -> Result<(NodeId, NodeId), BuildError> {
        let (Some(from), Some(to)) = (from, to) else {
            let message =
                "in a topology of [[links]] a source needs its ends: from = \"…\" and to = \"…\"";
            return Err(complaint(key, message));
        };
        Ok((self.known(from, key)?, self.known(to, key)?))
    }

    pub(super) fn blame(&self) -> &'static str {
        match (&self.path, self.chain) {
            (Some(_), _) => "path",
            (None, Some(_)) => "radio",
            (None, None) => "links",
        }
    }
}
