//! A network and what runs over it, before it runs.

use crate::flow::{Path, TcpFlowConfig, UdpFlowConfig};
use crate::ids::{FlowId, RouteId};
use crate::topology::{Topology, TopologyError};

/// A map and its flows. [`Simulation::new`](crate::simulation::Simulation::new) sets it going.
#[derive(Debug, Default)]
pub struct Network {
    pub(crate) topology: Topology,
    pub(crate) flows: Vec<FlowConfig>,
}

/// A flow and its routes.
#[derive(Debug)]
pub(crate) enum FlowConfig {
    Tcp {
        config: Box<TcpFlowConfig>,
        there: RouteId,
        back: RouteId,
    },
    Udp {
        config: UdpFlowConfig,
        there: RouteId,
    },
}

impl Network {
    /// A network without flows.
    #[must_use]
    pub const fn new(topology: Topology) -> Self {
        Self {
            topology,
            flows: Vec::new(),
        }
    }

    /// Adds a TCP transfer.
    ///
    /// # Errors
    ///
    /// If there is no way between its ends.
    pub fn tcp(&mut self, config: TcpFlowConfig) -> Result<FlowId, TopologyError> {
        let (there, back) = match config.path {
            Path::Shortest { from, to } => (
                self.topology.route(from, to)?,
                self.topology.route(to, from)?,
            ),
            Path::Explicit { there, back } => (there, back),
        };
        Ok(self.add(FlowConfig::Tcp {
            config: Box::new(config),
            there,
            back,
        }))
    }

    /// Adds a datagram source.
    ///
    /// # Errors
    ///
    /// If there is no way to its destination.
    pub fn udp(&mut self, config: UdpFlowConfig) -> Result<FlowId, TopologyError> {
        let there = match config.path {
            Path::Shortest { from, to } => self.topology.route(from, to)?,
            Path::Explicit { there, .. } => there,
        };
        Ok(self.add(FlowConfig::Udp { config, there }))
    }

    /// The map.
    #[must_use]
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The map, to be changed or asked for routes.
    pub const fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// How many flows there are.
    #[must_use]
    pub const fn flow_count(&self) -> usize {
        self.flows.len()
    }

    fn add(&mut self, flow: FlowConfig) -> FlowId {
        self.flows.push(flow);
        FlowId(self.flows.len() as u32 - 1)
    }
}
