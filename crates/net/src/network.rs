//! A network and its flows, before the run.

use std::collections::BTreeMap;

use crate::fabric::Fabric;
use crate::flow::{MediaFlowConfig, Path, TcpFlowConfig, UdpFlowConfig};
use crate::ids::{FlowId, NodeId, RouteId};
use crate::media_flow::MediaFlow;
use crate::random::Stream;
use crate::tcp_flow::TcpFlow;
use crate::topology::{Topology, TopologyError};
use crate::udp_flow::UdpFlow;

/// A map and its flows. [`Simulation::new`](crate::simulation::Simulation::new) starts it.
#[derive(Debug, Default)]
pub struct Network {
    pub(crate) topology: Topology,
    /// Flows in their state at the start of the run, without their random numbers. Storing a separate configuration for
    /// each flow would need half as much memory again, in networks of a hundred thousand flows.
    pub(crate) flows: Vec<Flow>,
    /// Name of each flow, which determines its random numbers.
    pub(crate) names: Vec<String>,
    /// Number of flows of a kind between two nodes.
    parallel: BTreeMap<(FlowKind, NodeId, NodeId), u32>,
}

/// A flow, before or during its run.
// Usually all of a network's many flows are TCP, so a box for each would cost more memory than it saves.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Flow {
    /// A TCP transfer.
    Tcp(TcpFlow),
    /// A datagram source and its sink.
    Udp(UdpFlow),
    /// Real-time media.
    Media(Box<MediaFlow>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FlowKind {
    Tcp,
    Udp,
    Media,
}

impl Network {
    /// Creates a network without flows.
    #[must_use]
    pub const fn new(topology: Topology) -> Self {
        Self {
            topology,
            flows: Vec::new(),
            names: Vec::new(),
            parallel: BTreeMap::new(),
        }
    }

    /// Adds a TCP transfer.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no path between its ends.
    pub fn tcp(&mut self, config: TcpFlowConfig) -> Result<FlowId, TopologyError> {
        let (there, back) = self.both_ways(config.path)?;
        let id = self.name(FlowKind::Tcp, there);
        let [there, back] = [there, back].map(|route| self.topology.first_hop(route));
        self.flows
            .push(Flow::Tcp(TcpFlow::new(id, config, there, back)));
        Ok(id)
    }

    /// Adds a datagram source.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no path to its destination.
    pub fn udp(&mut self, config: UdpFlowConfig) -> Result<FlowId, TopologyError> {
        let there = match config.path {
            Path::Shortest { from, to } => self.topology.route(from, to)?,
            Path::Explicit { there, .. } => there,
        };
        let id = self.name(FlowKind::Udp, there);
        let there = self.topology.first_hop(there);
        self.flows
            .push(Flow::Udp(UdpFlow::new(id, config.source, there)));
        Ok(id)
    }

    /// Adds real-time media.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no path between its ends.
    pub fn media(&mut self, config: MediaFlowConfig) -> Result<FlowId, TopologyError> {
        let (there, back) = self.both_ways(config.path)?;
        let id = self.name(FlowKind::Media, there);
        let [there, back] = [there, back].map(|route| self.topology.first_hop(route));
        let flow = MediaFlow::new(id, config.source, there, back);
        self.flows.push(Flow::Media(Box::new(flow)));
        Ok(id)
    }

    fn both_ways(&mut self, path: Path) -> Result<(RouteId, RouteId), TopologyError> {
        Ok(match path {
            Path::Shortest { from, to } => (
                self.topology.route(from, to)?,
                self.topology.route(to, from)?,
            ),
            Path::Explicit { there, back } => (there, back),
        })
    }

    /// Returns the map.
    #[must_use]
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns the map, to change it or to query routes.
    pub const fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// Returns a flow's name, which consists of its kind and ends: `tcp a->b`, or `tcp a->b#2` for the second such
    /// flow.
    #[must_use]
    pub fn flow_name(&self, flow: FlowId) -> &str {
        &self.names[flow.index()]
    }

    /// Assigns a number and a name to the next flow.
    fn name(&mut self, kind: FlowKind, route: RouteId) -> FlowId {
        let name = self.name_of(kind, route);
        self.names.push(name);
        FlowId(self.flows.len() as u32)
    }

    /// Returns the next flow's name. The name depends on the flow's ends, so a flow keeps its random numbers when flows
    /// between other nodes are added.
    fn name_of(&mut self, kind: FlowKind, route: RouteId) -> String {
        let kind_name = match kind {
            FlowKind::Tcp => "tcp",
            FlowKind::Udp => "udp",
            FlowKind::Media => "media",
        };
        let Some((from, to)) = self.topology.route_ends(route) else {
            return format!("{kind_name} {}", self.flows.len());
        };
        let parallel = self.parallel.entry((kind, from, to)).or_default();
        *parallel += 1;
        let (from, to) = (self.topology.node_name(from), self.topology.node_name(to));
        match *parallel {
            1 => format!("{kind_name} {from}->{to}"),
            n => format!("{kind_name} {from}->{to}#{n}"),
        }
    }
}

impl Flow {
    /// Begins a run. The flow draws its random numbers from `stream`.
    pub(crate) fn begin(&mut self, stream: Stream, fabric: &mut Fabric) {
        match self {
            Self::Tcp(flow) => flow.begin(stream, fabric),
            Self::Udp(flow) => flow.begin(stream, fabric),
            Self::Media(flow) => flow.begin(fabric),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LinkConfig;
    use crate::udp::{UdpConfig, UdpPattern};
    use crate::units::BitRate;
    use dupack_tcp::time::Duration;

    #[test]
    fn flows_are_named_after_their_ends() {
        let mut map = Topology::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| map.node(name));
        for (from, to) in [(a, b), (b, c)] {
            map.link(from, to, LinkConfig::pure_delay(Duration::from_millis(1)));
        }
        let mut network = Network::new(map);
        let mut add = |from, to| {
            let rate = BitRate::from_mbps(1);
            let source = UdpConfig::new(UdpPattern::Constant { rate }, 100);
            let path = Path::Shortest { from, to };
            network.udp(UdpFlowConfig::new(path, source))
        };
        assert_eq!(add(a, c), Ok(FlowId(0)));
        assert_eq!(add(a, b), Ok(FlowId(1)));
        assert_eq!(add(a, c), Ok(FlowId(2)));
        assert!(add(c, a).is_err());
        let names = [0, 1, 2].map(|n| network.flow_name(FlowId(n)));
        assert_eq!(names, ["udp a->c", "udp a->b", "udp a->c#2"]);
    }
}
