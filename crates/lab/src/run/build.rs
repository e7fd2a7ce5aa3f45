//! Construction of a simulation from a point of an experiment, a stack and a seed.

mod endpoints;
mod links;
mod map;
mod media;
mod processing;
mod radio;
mod room;
mod schedule;
mod script;
mod starts;
mod web;
mod writes;

pub use writes::application_writes;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use dupack_algorithms::catalog::Context;
use dupack_algorithms::catalog::StackSpec;
use dupack_net::flow::{
    Application, MediaFlowConfig, Path, TcpFlowConfig, UdpFlowConfig, scripted,
};
use dupack_net::ids::{FlowId, LinkId};
use dupack_net::link::{DeliveryTrace, Hosts, WaitRecording};
use dupack_net::network::Network;
use dupack_net::random::Stream;
use dupack_net::simulation::Simulation;
use dupack_net::units::BitRate;
use dupack_net::video::VideoConfig;
use dupack_tcp::Stack;
use dupack_tcp::sender::WindowLog;
use dupack_tcp::time::{Duration, Instant};

pub use endpoints::Endpoints;
pub(super) use endpoints::default_segment;
pub(super) use starts::{carries, recordings};

use crate::experiment::{Experiment, FlowGroup};
use crate::units::{Delay, Rate};
use links::udp;
use map::Map;
pub use processing::Processing;
pub use room::{PathRoom, Product};

/// Error in the construction of a network, with the key in the file that caused it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    /// Dotted key in the file.
    pub key: String,
    /// Description of the error.
    pub message: String,
}

/// All inputs of a run except its seed. There is one scenario per stack and point of a sweep, so scenarios share their
/// data.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The point of the experiment.
    pub experiment: Arc<Experiment>,
    /// The stack under comparison.
    pub stack: StackSpec,
    /// The stacks of the groups of flows, in the order of the groups.
    pub group_stacks: Vec<StackSpec>,
    /// The recorded traces of the links.
    pub traces: Arc<BTreeMap<PathBuf, DeliveryTrace>>,
    /// Log of window changes by the senders.
    pub log: WindowLog,
    /// Packets whose queueing delay is measured.
    pub waits: WaitRecording,
}

/// A simulation, with the flows and links that are measured.
#[derive(Debug)]
#[non_exhaustive]
pub struct Built {
    /// The simulation, before its first event.
    pub simulation: Simulation,
    /// The flows of the stack under comparison, or all flows if no flow uses it.
    pub compared: Vec<FlowId>,
    /// The links whose queues and utilisation are measured.
    pub measured_links: Vec<LinkId>,
    /// The short flows (`web`).
    pub short_flows: Vec<FlowId>,
    /// Base round-trip time of each TCP flow, without queueing.
    pub round_trips: Vec<Duration>,
}

impl Built {
    /// Returns `true` if the flow is under comparison.
    pub(super) fn is_compared(&self, flow: FlowId) -> bool {
        self.compared.binary_search(&flow).is_ok()
    }

    /// Returns `true` if the flow is a short flow.
    pub(super) fn is_short(&self, flow: FlowId) -> bool {
        self.short_flows.binary_search(&flow).is_ok()
    }
}

/// Description of a TCP flow of a scenario.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TcpFlow<'a> {
    /// Name of the flow's group. May be empty.
    pub group: &'a str,
    /// Stack of the flow.
    pub stack: &'a StackSpec,
    /// Role of the stack.
    pub role: Role,
}

/// Role of a flow's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The stack under comparison.
    Compared,
    /// The flow's own stack.
    Other,
}

/// A TCP flow to be built.
struct Flow<'a> {
    group: &'a FlowGroup,
    stack: &'a StackSpec,
    /// Index of the group, and index within the group.
    place: (usize, u64),
}

impl Scenario {
    /// Builds the simulation for `seed`.
    ///
    /// # Errors
    /// If the network cannot be built. A plan checks this before any run.
    pub fn build(&self, seed: u64) -> Result<Built, BuildError> {
        self.build_with(seed, &mut |stack| stack)
    }

    /// Builds the simulation for `seed`, and replaces the stack of each flow under comparison by the result of
    /// `change`. Callers use this to insert plug-ins that are controlled from outside. `change` is called in the order
    /// of the flows.
    ///
    /// # Errors
    /// If the network cannot be built.
    pub fn build_with(
        &self,
        seed: u64,
        change: &mut dyn FnMut(Stack) -> Stack,
    ) -> Result<Built, BuildError> {
        let e = &self.experiment;
        let flows = self.flows();
        let mut map = Map::new(self, flows.len(), seed)?;
        let mut network = Network::new(std::mem::take(&mut map.topology));
        let mut compared = Vec::new();
        let mut hosts = Vec::new();
        let mut short_flows = Vec::new();
        let mut ways = Vec::new();
        let starts = self.flow_starts(seed);
        for (n, flow) in flows.iter().enumerate() {
            let (from, to) = map.ends(flow.group, n)?;
            let way = map.way(network.topology_mut(), from, to)?;
            let path = way.path();
            ways.push(way);
            let chance = Stream::derive(seed, &format!("sender of flow {n}")).bits();
            let mut config = self.tcp(flow, path, starts[n], chance);
            if flow.group.stack.is_none() {
                config.stack = change(config.stack);
            }
            if let Some(web) = &flow.group.web {
                let short = web::short(e, flow.group, web, flow.place, seed);
                config.start = short.start;
                config.application = Application::Finite(short.bytes);
            }
            hosts.push(map.hosts((from, to), flow.place.0 as u32));
            let id = network.tcp(config).map_err(|x| fault("flows", x))?;
            if flow.group.web.is_some() {
                short_flows.push(id);
            }
            if flow.group.stack.is_none() {
                compared.push(id);
            }
        }
        if compared.is_empty() {
            compared = (0..flows.len() as u32).map(FlowId).collect();
        }
        for (n, source) in e.udp.iter().enumerate() {
            if source.rate.as_bits_per_second() == 0 {
                continue;
            }
            let (from, to) = map.udp_ends(source)?;
            let path = map.way(network.topology_mut(), from, to)?.path();
            let config = UdpFlowConfig::new(path, udp(source, self.udp_start(n, seed)));
            network.udp(config).map_err(|x| fault("udp", x))?;
            hosts.push(map.hosts((from, to), (e.flows.len().max(1) + n) as u32));
        }
        self.add_media(&map, &mut network, seed, &mut hosts)?;
        self.size_for_round_trips(&map, network.topology_mut(), &ways);
        self.jitter_hosts(network.topology_mut(), &ways);
        let round_trips = ways
            .iter()
            .map(|way| way.round_trip(network.topology_mut()));
        let round_trips = round_trips.collect();
        let mut simulation = Simulation::new(network, seed).map_err(|x| fault(map.blame(), x))?;
        simulation.know_hosts(&hosts);
        Ok(Built {
            simulation,
            compared,
            measured_links: map.measured,
            short_flows,
            round_trips,
        })
    }

    fn add_media(
        &self,
        map: &Map,
        network: &mut Network,
        seed: u64,
        hosts: &mut Vec<Hosts>,
    ) -> Result<(), BuildError> {
        let e = &self.experiment;
        let before = e.flows.len().max(1) + e.udp.len();
        let mut number = 0;
        for (n, source) in self.experiment.media.iter().enumerate() {
            let (from, to) = map.media_ends(source)?;
            let path = map.way(network.topology_mut(), from, to)?.path();
            for _ in 0..source.count {
                let start = self.media_start(source, number, seed);
                number += 1;
                let config = media::media(source, &format!("media.{n}"), start)?;
                let config = MediaFlowConfig::new(path, config);
                network.media(config).map_err(|x| fault("media", x))?;
                hosts.push(map.hosts((from, to), (before + n) as u32));
            }
        }
        Ok(())
    }

    /// Returns the TCP flows in the order of their numbers.
    #[must_use]
    pub fn tcp_flows(&self) -> Vec<TcpFlow<'_>> {
        let flows = self.flows().into_iter();
        let named = flows.map(|flow| TcpFlow {
            group: &flow.group.name,
            stack: flow.stack,
            role: match flow.group.stack {
                None => Role::Compared,
                Some(_) => Role::Other,
            },
        });
        named.collect()
    }

    /// Returns the scenario with measurement of the queueing delay of the last flow's packets only.
    pub(super) fn with_waits_of_last_flow(mut self) -> Self {
        let last = self.flows().len().saturating_sub(1);
        self.waits = WaitRecording::DataOf(FlowId(last as u32));
        self
    }

    /// Returns every flow, group by group, or one flow of the compared stack if there are no groups.
    fn flows(&self) -> Vec<Flow<'_>> {
        static LONE: std::sync::LazyLock<FlowGroup> = std::sync::LazyLock::new(FlowGroup::default);
        let groups: &[FlowGroup] = match self.experiment.flows.as_slice() {
            [] => std::slice::from_ref(&*LONE),
            groups => groups,
        };
        let stacks = self
            .group_stacks
            .iter()
            .chain(std::iter::repeat(&self.stack));
        let groups = groups.iter().zip(stacks).enumerate();
        groups
            .flat_map(|(n, (group, stack))| {
                let flows = 0..group.flows_in(&self.experiment);
                flows.map(move |flow| Flow {
                    group,
                    stack,
                    place: (n, flow),
                })
            })
            .collect()
    }

    /// Returns the configuration of a flow. `chance` is the seed of its sender's random decisions.
    fn tcp(&self, flow: &Flow<'_>, path: Path, start: Instant, chance: u64) -> TcpFlowConfig {
        let e = &self.experiment;
        let dialect = e.dialect;
        let endpoints = Endpoints::new(
            dialect,
            flow.stack,
            &flow.group.sender.over(&e.sender),
            &flow.group.receiver.over(&e.receiver),
        );
        let mut sender = endpoints.sender;
        sender.log = self.log;
        let context = Context::new(sender.smss).seeded(chance);
        let stack = flow.stack.build(dialect, &context);
        let mut config = TcpFlowConfig::new(path, sender, stack, endpoints.receiver);
        config.start = start;
        config.application = self.application(flow.group);
        if !flow.group.writes.is_empty() {
            config.writes = application_writes(&flow.group.writes, e.duration);
            config.application = scripted(&config.writes);
        }
        config.headers = endpoints.headers;
        config.coalescing = endpoints.coalescing;
        config.misbehaviour = endpoints.misbehaviour;
        config
    }
}

impl Scenario {
    fn application(&self, group: &FlowGroup) -> Application {
        if let Some(video) = &group.video {
            let frame = video.frame.as_seconds();
            let bytes = video.rate.as_bits_per_second() as f64 / 8.0 * frame;
            let start = group.start.unwrap_or_default().as_seconds();
            let sending = (self.experiment.duration.as_seconds() - start).max(frame);
            return Application::Video(VideoConfig {
                frame_bytes: (bytes.round() as u64).max(1),
                frames: (sending / frame).ceil() as u64,
                every: span(video.frame),
                deadline: span(video.deadline),
            });
        }
        let finite = group
            .bytes
            .map(|bytes| Application::Finite(bytes.as_bytes()));
        finite.unwrap_or(Application::Greedy)
    }
}

pub(super) fn span(delay: Delay) -> Duration {
    Duration::from_nanos(delay.as_nanos())
}

fn bit_rate(rate: Rate, key: &str) -> Result<BitRate, BuildError> {
    BitRate::new(rate.as_bits_per_second())
        .ok_or_else(|| complaint(key, "a link needs a rate above zero"))
}

fn complaint(key: &str, message: &str) -> BuildError {
    BuildError {
        key: key.to_owned(),
        message: message.to_owned(),
    }
}

fn fault(key: &str, error: impl ToString) -> BuildError {
    complaint(key, &error.to_string())
}
