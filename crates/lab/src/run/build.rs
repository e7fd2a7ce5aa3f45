//! From a point of an experiment, a stack and a seed to a simulation.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dupack_algorithms::catalog::StackSpec;
use dupack_algorithms::catalog::dialect::{Headers, WIDE_OPEN, receiver_config, sender_config};
use dupack_algorithms::catalog::spec::{Context, Dialect, Needs};
use dupack_net::flow::{
    Application, HeaderSizes, Path, Reader, Reneging, TcpFlowConfig, UdpFlowConfig,
};
use dupack_net::ids::{FlowId, LinkId, NodeId};
use dupack_net::link::{
    DeliveryTrace, Discipline, Duplication, GilbertElliott, ImpairmentConfig, Jitter,
    JitterDistribution, JitterOrder, LinkConfig, LossConfig, LossModel,
    LossPlacement as NetPlacement, LossScript, PacketFilter, QueueConfig, QueueLimit, RedAbove,
    RedConfig, RedUnit, Reordering, ScriptRule, ServiceConfig, TimeWindow, Transmissions,
    WaitRecording,
};
use dupack_net::network::Network;
use dupack_net::random::Stream;
use dupack_net::simulation::Simulation;
use dupack_net::topology::Topology;
use dupack_net::udp::{Spans, UdpConfig, UdpPattern};
use dupack_net::units::{BitRate, Probability as NetProbability};
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::sender::{Agreed, TimestampClock, TimestampValues, WindowLog};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{ReceiverConfig, SenderConfig};

use crate::experiment::endpoint::bytes_of;
use crate::experiment::traffic::Periods;
use crate::experiment::{
    BurstLoss, Direction, DropRule, Experiment, FlowGroup, LinkOptions, LossPlacement, QueueKind,
    ReceiverOptions, SenderOptions, UdpSource,
};
use crate::units::{Buffer, Delay, Probability, Rate};

/// Packets that a link's queue holds if nothing is said.
pub(super) const DEFAULT_BUFFER: Buffer = Buffer::Packets(50);

/// A network that cannot be built, in words, with the key in the file that is to blame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    /// The key, by its path in the file.
    pub key: String,
    /// What is wrong.
    pub message: String,
}

/// Everything of a run but its seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The point of the experiment.
    pub experiment: Experiment,
    /// The stack under comparison.
    pub stack: StackSpec,
    /// The stacks of the groups of flows, in their order.
    pub group_stacks: Vec<StackSpec>,
    /// The recorded traces that its links use.
    pub traces: BTreeMap<PathBuf, DeliveryTrace>,
    /// Whether senders log their window changes.
    pub log: WindowLog,
}

/// A simulation, and which of its parts the measures are about.
#[derive(Debug)]
pub struct Built {
    /// The simulation, at time zero.
    pub simulation: Simulation,
    /// The flows that run the stack under comparison, or all if none does.
    pub compared: Vec<FlowId>,
    /// The links whose queues and use are measured.
    pub measured_links: Vec<LinkId>,
}

/// One TCP flow to be.
struct Flow<'a> {
    group: &'a FlowGroup,
    stack: &'a StackSpec,
}

impl Scenario {
    /// The simulation for `seed`.
    ///
    /// # Errors
    /// If the network cannot be built; a plan has tried before any run.
    pub fn build(&self, seed: u64) -> Result<Built, BuildError> {
        let e = &self.experiment;
        let flows = self.flows();
        let mut map = Map::new(self, flows.len())?;
        let mut network = Network::new(std::mem::take(&mut map.topology));
        let mut compared = Vec::new();
        for (n, flow) in flows.iter().enumerate() {
            let mut stream = Stream::derive(seed, &format!("start of flow {n}"));
            let spread = flow.group.start_spread.as_nanos() as f64;
            let late = Duration::from_nanos((stream.unit() * spread) as u64);
            let (from, to) = map.ends(flow.group, n)?;
            let path = map.way(network.topology_mut(), from, to)?;
            let config = self.tcp(flow, path, Instant::ZERO + span(flow.group.start) + late);
            let id = network.tcp(config).map_err(|x| fault("flows", x))?;
            if flow.group.stack.is_none() {
                compared.push(id);
            }
        }
        if compared.is_empty() {
            compared = (0..flows.len() as u32).map(FlowId).collect();
        }
        for source in e.udp.iter().filter(|s| s.rate.as_bits_per_second() > 0) {
            let (from, to) = map.udp_ends(source)?;
            let config = UdpFlowConfig {
                path: map.way(network.topology_mut(), from, to)?,
                source: udp(source),
            };
            network.udp(config).map_err(|x| fault("udp", x))?;
        }
        let simulation = Simulation::new(network, seed).map_err(|x| fault(map.blame(), x))?;
        Ok(Built {
            simulation,
            compared,
            measured_links: map.measured,
        })
    }

    /// Every flow, group by group; one of the compared stack if no group is given.
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
        groups
            .iter()
            .zip(stacks)
            .flat_map(|(group, stack)| (0..group.count).map(move |_| Flow { group, stack }))
            .collect()
    }

    fn tcp(&self, flow: &Flow<'_>, path: Path, start: Instant) -> TcpFlowConfig {
        let e = &self.experiment;
        let dialect = e.dialect.into();
        let endpoints = Endpoints::new(
            dialect,
            flow.stack,
            &flow.group.sender.over(&e.sender),
            &flow.group.receiver.over(&e.receiver),
        );
        let mut sender = endpoints.sender;
        sender.log = self.log;
        TcpFlowConfig {
            path,
            start,
            application: flow
                .group
                .bytes
                .map_or(Application::Greedy, |b| Application::Finite(b.as_bytes())),
            sender,
            stack: flow.stack.build(&Context {
                smss: sender.smss,
                dialect,
            }),
            receiver: endpoints.receiver,
            reader: Reader::AtOnce,
            reneging: Reneging::Never,
            headers: endpoints.headers,
        }
    }
}

/// The two ends of a flow with every option in place.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints {
    /// The sender's parameters.
    pub sender: SenderConfig,
    /// The receiver's.
    pub receiver: ReceiverConfig,
    /// Sizes on the wire.
    pub headers: HeaderSizes,
}

/// Payload bytes of a full segment if nothing is said.
pub(super) const fn default_segment(dialect: Dialect) -> u32 {
    match dialect {
        // 1500 bytes of packet less IPv4, TCP and timestamps.
        Dialect::Rfc | Dialect::Linux => 1448,
        Dialect::Ns2 => 1000,
    }
}

impl Endpoints {
    /// The ends of a flow of `stack`.
    #[must_use]
    pub fn new(
        dialect: Dialect,
        stack: &StackSpec,
        sender: &SenderOptions,
        receiver: &ReceiverOptions,
    ) -> Self {
        let needs = stack.needs(dialect);
        let smss = sender
            .segment
            .map_or(default_segment(dialect), |b| b.as_bytes() as u32);
        let policy = match receiver.delayed_ack {
            Some(delay) if delay.as_nanos() > 0 => AckPolicy::Delayed(span(delay)),
            _ => AckPolicy::Immediate,
        };
        let mut ends = Self {
            sender: sender_config(dialect, smss, &needs),
            receiver: receiver_config(dialect, smss, &needs, policy),
            headers: header_sizes(dialect, &needs),
        };
        ends.apply_sender(sender, smss);
        ends.apply_receiver(receiver, smss);
        ends
    }

    fn apply_sender(&mut self, options: &SenderOptions, smss: u32) {
        let config = &mut self.sender;
        let bytes = |buffer: Buffer| bytes_of(buffer, smss) as f64;
        if let Some(window) = options.initial_window {
            config.initial_window = bytes(window);
        }
        if let Some(threshold) = options.initial_ssthresh {
            config.initial_ssthresh = bytes(threshold);
        }
        if let Some(window) = options.max_window {
            config.max_window = bytes(window);
        }
        if let Some(rto) = options.min_rto {
            config.rtt.min_rto = span(rto);
        }
        if let Some(rto) = options.initial_rto {
            config.rtt.initial_rto = span(rto);
        }
        if let Some(tick) = options.granularity {
            config.rtt.granularity = span(tick);
        }
        match options.timestamps {
            Some(false) => {
                config.timestamps = None;
                self.receiver.timestamps = None;
            }
            Some(true) if config.timestamps.is_none() => {
                config.timestamps = Some(TimestampClock {
                    tick: Duration::from_millis(1),
                    values: TimestampValues::Clock,
                });
                self.receiver.timestamps = Some(dupack_tcp::receiver::TimestampEcho::Standard);
            }
            _ => {}
        }
        if let Some(header) = options.header {
            self.headers.data_bytes = header.as_bytes() as u32;
        }
    }

    fn apply_receiver(&mut self, options: &ReceiverOptions, smss: u32) {
        let agreed = |yes: bool| if yes { Agreed::Yes } else { Agreed::No };
        if let Some(buffer) = options.buffer {
            let bytes = bytes_of(buffer, smss).clamp(1, u64::from(WIDE_OPEN)) as u32;
            self.receiver.buffer = bytes;
            self.sender.peer_window = bytes;
        }
        if let Some(sack) = options.sack {
            self.receiver.sack = agreed(sack);
            self.sender.sack = agreed(sack);
        }
        if let Some(dsack) = options.dsack {
            self.receiver.dsack = agreed(dsack);
        }
    }
}

fn header_sizes(dialect: Dialect, needs: &Needs) -> HeaderSizes {
    let headers = Headers::new(dialect, needs);
    let none = headers.ack(0);
    let one = headers.ack(1) - none;
    let two = headers.ack(2) - none;
    HeaderSizes {
        data_bytes: headers.data,
        ack_bytes: none,
        sack_block_bytes: two - one,
        sack_fixed_bytes: one - (two - one),
    }
}

/// Nodes and links, and who is where.
struct Map {
    topology: Topology,
    nodes: BTreeMap<String, NodeId>,
    /// Both ends of a path, with the hosts' own nodes if there are access links.
    path: Option<PathEnds>,
    measured: Vec<LinkId>,
    links: BTreeMap<(NodeId, NodeId), LinkId>,
    /// Routes given in the file, by their ends.
    routes: BTreeMap<(NodeId, NodeId), Vec<LinkId>>,
}

struct PathEnds {
    left: NodeId,
    right: NodeId,
    hosts: Vec<(NodeId, NodeId)>,
}

impl Map {
    fn new(scenario: &Scenario, flows: usize) -> Result<Self, BuildError> {
        let e = &scenario.experiment;
        let mut map = Self {
            topology: Topology::new(),
            nodes: BTreeMap::new(),
            path: None,
            measured: Vec::new(),
            links: BTreeMap::new(),
            routes: BTreeMap::new(),
        };
        if let Some(path) = &e.path {
            map.add_path(scenario, path, flows)?;
        }
        for (n, link) in e.links.iter().enumerate() {
            let Some([a, b]) = &link.between else {
                let message =
                    "a link of a topology says between which nodes it is: between = [\"a\", \"b\"]";
                return Err(complaint(&format!("links.{n}"), message));
            };
            let (a, b) = (map.node(a), map.node(b));
            let (there, back) = scenario.directions(link, &format!("links.{n}"), flows)?;
            let (there, back) = map.topology.duplex(a, b, there, back);
            map.measured.extend([there, back]);
            map.links.insert((a, b), there);
            map.links.insert((b, a), back);
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
    ) -> Result<(), BuildError> {
        let (there, back) = scenario.directions(path, "path", flows)?;
        let (left, right) = (self.topology.node("left"), self.topology.node("right"));
        let (there, _) = self.topology.duplex(left, right, there, back);
        self.measured.push(there);
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
            return Err(complaint(&key, "a route names at least two nodes"));
        };
        if links.is_empty() {
            return Err(complaint(&key, "a route names at least two nodes"));
        }
        self.routes.insert((from, to), links);
        Ok(())
    }

    /// The way between two nodes and back: as the file says, or the shortest.
    fn way(&self, topology: &mut Topology, from: NodeId, to: NodeId) -> Result<Path, BuildError> {
        let mut one = |from: NodeId, to: NodeId| match self.routes.get(&(from, to)) {
            Some(links) => topology.explicit_route(links),
            None => topology.route(from, to),
        };
        let there = one(from, to).map_err(|x| fault("flows", x))?;
        let back = one(to, from).map_err(|x| fault("flows", x))?;
        Ok(Path::Explicit { there, back })
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
                    "no link leads to a node `{name}`; the nodes are {}",
                    names.join(", ")
                ),
            )
        })
    }

    fn ends(&self, group: &FlowGroup, n: usize) -> Result<(NodeId, NodeId), BuildError> {
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
        self.named_ends(group.from.as_deref(), group.to.as_deref(), "flows")
    }

    fn udp_ends(&self, source: &UdpSource) -> Result<(NodeId, NodeId), BuildError> {
        if let Some(path) = &self.path {
            return Ok((path.left, path.right));
        }
        self.named_ends(source.from.as_deref(), source.to.as_deref(), "udp")
    }

    fn named_ends(
        &self,
        from: Option<&str>,
        to: Option<&str>,
        key: &str,
    ) -> Result<(NodeId, NodeId), BuildError> {
        let (Some(from), Some(to)) = (from, to) else {
            let message =
                "in a topology of [[links]] it says where it leads: from = \"…\" and to = \"…\"";
            return Err(complaint(key, message));
        };
        Ok((self.known(from, key)?, self.known(to, key)?))
    }

    fn blame(&self) -> &'static str {
        if self.path.is_some() { "path" } else { "links" }
    }
}

impl Scenario {
    /// Both directions of a link.
    fn directions(
        &self,
        link: &LinkOptions,
        key: &str,
        flows: usize,
    ) -> Result<(LinkConfig, LinkConfig), BuildError> {
        let service = match (&link.rate, &link.trace) {
            (Some(rate), None) => ServiceConfig::Rate(bit_rate(*rate, &format!("{key}.rate"))?),
            (None, Some(path)) => {
                let trace = self.traces.get(path).cloned();
                ServiceConfig::Trace(trace.ok_or_else(|| {
                    complaint(&format!("{key}.trace"), "the trace has not been read")
                })?)
            }
            (None, None) => return Err(complaint(key, "a link has a rate or a trace")),
            (Some(_), Some(_)) => {
                let message = "a link has either a rate or a trace, not both";
                return Err(complaint(&format!("{key}.trace"), message));
            }
        };
        let mut there = LinkConfig::new(service.clone(), span(link.delay));
        there.queue = queue(
            link.buffer,
            link.queue,
            link.red.as_ref(),
            self.mean_packet(),
        );
        there.waits = WaitRecording::Data;
        let place = match link.loss_placement {
            LossPlacement::After => NetPlacement::AfterTransmission,
            LossPlacement::Before => NetPlacement::BeforeQueue,
        };
        there.losses = losses(
            link.loss,
            link.burst_loss.as_ref(),
            &link.drop,
            place,
            flows,
        )
        .map_err(|m| complaint(&format!("{key}.drop"), &m))?;
        there.impairments = impairments(link);

        let reverse = link.reverse.clone().unwrap_or_default();
        let back_service = match reverse.rate {
            Some(rate) => ServiceConfig::Rate(bit_rate(rate, &format!("{key}.reverse.rate"))?),
            None => service,
        };
        let back = self.backward(link, &reverse, back_service, place, flows, key)?;
        Ok((there, back))
    }

    fn backward(
        &self,
        link: &LinkOptions,
        reverse: &Direction,
        service: ServiceConfig,
        place: NetPlacement,
        flows: usize,
        key: &str,
    ) -> Result<LinkConfig, BuildError> {
        let mut back = LinkConfig::new(service, span(reverse.delay.unwrap_or(link.delay)));
        let buffer = reverse.buffer.or(link.buffer);
        back.queue = queue(buffer, QueueKind::DropTail, None, self.mean_packet());
        back.waits = WaitRecording::Data;
        back.losses = losses(
            reverse.loss,
            reverse.burst_loss.as_ref(),
            &reverse.drop,
            place,
            flows,
        )
        .map_err(|m| complaint(&format!("{key}.reverse.drop"), &m))?;
        Ok(back)
    }

    fn mean_packet(&self) -> u32 {
        let dialect = self.experiment.dialect.into();
        let segment = self.experiment.sender.segment;
        segment.map_or(default_segment(dialect), |b| b.as_bytes() as u32)
    }
}

fn queue(
    buffer: Option<Buffer>,
    kind: QueueKind,
    red: Option<&crate::experiment::RedOptions>,
    mean_packet_bytes: u32,
) -> QueueConfig {
    let limit = match buffer.unwrap_or(DEFAULT_BUFFER) {
        Buffer::Packets(packets) => QueueLimit::Packets(u64::from(packets)),
        Buffer::Bytes(bytes) => QueueLimit::Bytes(bytes),
    };
    let discipline = match (kind, red) {
        (QueueKind::Red, Some(red)) => Discipline::Red(RedConfig {
            unit: RedUnit::Packets,
            min_threshold: red.min,
            max_threshold: red.max,
            max_probability: red.probability.as_fraction(),
            weight: red.weight,
            above: if red.gentle {
                RedAbove::Gentle
            } else {
                RedAbove::DropAll
            },
            mean_packet_bytes,
        }),
        _ => Discipline::DropTail,
    };
    QueueConfig { limit, discipline }
}

fn losses(
    each: Probability,
    burst: Option<&BurstLoss>,
    drop: &[DropRule],
    placement: NetPlacement,
    flows: usize,
) -> Result<Vec<LossConfig>, String> {
    let mut losses = Vec::new();
    let mut add = |model: LossModel, placement| {
        losses.push(LossConfig {
            model,
            placement,
            filter: PacketFilter::All,
        });
    };
    if each.as_fraction() > 0.0 {
        add(LossModel::Bernoulli(probability(each)), placement);
    }
    if let Some(burst) = burst {
        let chain = GilbertElliott {
            good_to_bad: probability(burst.enter),
            bad_to_good: probability(burst.leave),
            loss_in_good: probability(burst.good),
            loss_in_bad: probability(burst.bad),
        };
        add(LossModel::GilbertElliott(chain), placement);
    }
    if !drop.is_empty() {
        let script = LossScript::new(script(drop, flows)).map_err(|x| x.to_string())?;
        add(LossModel::Script(script), NetPlacement::BeforeQueue);
    }
    Ok(losses)
}

/// The rules for every flow: a list speaks of each flow's own packets.
fn script(drop: &[DropRule], flows: usize) -> Vec<ScriptRule> {
    let mut rules = Vec::new();
    for rule in drop {
        match *rule {
            DropRule::Time { from, until } => rules.push(ScriptRule::During(TimeWindow {
                from: Instant::ZERO + span(from),
                to: Instant::ZERO + span(until),
            })),
            DropRule::Data {
                first,
                last,
                transmission,
            } => rules.extend((0..flows as u32).map(|flow| ScriptRule::Data {
                flow: FlowId(flow),
                packets: first..=last,
                transmissions: Transmissions::Nth(transmission),
            })),
            DropRule::Ack { first, last } => {
                rules.extend((0..flows as u32).map(|flow| ScriptRule::Acks {
                    flow: FlowId(flow),
                    acks: first..=last,
                }));
            }
        }
    }
    rules
}

fn impairments(link: &LinkOptions) -> ImpairmentConfig {
    let some = |p: Probability| p.as_fraction() > 0.0;
    ImpairmentConfig {
        jitter: (link.jitter.as_nanos() > 0).then(|| Jitter {
            distribution: JitterDistribution::Uniform {
                max: span(link.jitter),
            },
            order: JitterOrder::Overtaking,
        }),
        reordering: link
            .reorder
            .filter(|r| some(r.probability))
            .map(|r| Reordering {
                probability: probability(r.probability),
                delay_min: span(r.delay),
                delay_max: span(r.delay),
            }),
        duplication: some(link.duplicate).then(|| Duplication {
            probability: probability(link.duplicate),
            lag: Duration::ZERO,
        }),
    }
}

fn udp(source: &UdpSource) -> UdpConfig {
    let rate = BitRate::new(source.rate.as_bits_per_second()).expect("idle sources are left out");
    let spans = |delay: Delay| match source.periods {
        Periods::Fixed => Spans::Constant(span(delay)),
        Periods::Exponential => Spans::Exponential { mean: span(delay) },
    };
    let pattern = match (source.on, source.off) {
        (Some(on), Some(off)) => UdpPattern::OnOff {
            rate,
            on: spans(on),
            off: spans(off),
        },
        _ => UdpPattern::Constant { rate },
    };
    UdpConfig {
        pattern,
        packet_bytes: source.packet.as_bytes() as u32,
        start: Instant::ZERO + span(source.start),
        stop: source
            .stop
            .map_or(Instant::FAR_FUTURE, |at| Instant::ZERO + span(at)),
    }
}

pub(super) fn span(delay: Delay) -> Duration {
    Duration::from_nanos(delay.as_nanos())
}

fn probability(p: Probability) -> NetProbability {
    NetProbability::clamped(p.as_fraction())
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
