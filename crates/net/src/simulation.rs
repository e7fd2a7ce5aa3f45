//! A run: flows over a network, with a seed.

use dupack_tcp::time::Instant;

use crate::fabric::{Fabric, Step, TimerId};
use crate::ids::{FlowId, LinkId, MediumId, StationId};
use crate::link::{DropCause, Hosts, LinkCounters};
use crate::network::{Flow, Network};
use crate::observer::Observer;
use crate::packet::{Body, Packet, PacketHandle};
use crate::random::Stream;
use crate::sampling::{Samples, SamplingConfig};
use crate::tcp_flow::{Progress, TcpFlow};
use crate::topology::{Topology, TopologyError};
use crate::wireless::StationCounters;

/// A network at run time. The same network and seed give the same packets on any machine, regardless of how the run is
/// divided into calls of [`Simulation::run_until`].
#[derive(Debug)]
pub struct Simulation {
    topology: Topology,
    fabric: Fabric,
    flows: Vec<Flow>,
    flow_names: Vec<String>,
    samples: Option<Samples>,
    measuring_since: Instant,
    link_baselines: Vec<LinkCounters>,
    /// Counters of each station of each medium, at the start of the measured interval.
    station_baselines: Vec<Vec<StationCounters>>,
}

/// Reason why a run paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// All events up to the requested time have happened.
    Reached,
    /// The given number of steps is used up; more events are due before the requested time.
    Steps,
}

impl Simulation {
    /// Sets up the run of `network` with `seed`, at time zero.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration of a link is invalid or if the network is too large.
    pub fn new(network: Network, seed: u64) -> Result<Self, TopologyError> {
        let Network {
            topology,
            mut flows,
            names,
            ..
        } = network;
        // Two timers per flow, and one for sampling.
        let mut fabric = topology.fabric(seed, 2 * flows.len() + 1)?;
        for (flow, name) in flows.iter_mut().zip(&names) {
            flow.begin(Stream::derive(seed, name), &mut fabric);
        }
        let link_baselines = vec![LinkCounters::default(); fabric.links().len()];
        let media = fabric.media().iter();
        let station_baselines = media
            .map(|medium| vec![StationCounters::default(); medium.station_count()])
            .collect();
        Ok(Self {
            topology,
            fabric,
            flows,
            flow_names: names,
            samples: None,
            measuring_since: Instant::ZERO,
            link_baselines,
            station_baselines,
        })
    }

    /// Assigns hosts to flows, by flow number, for all queues that are fair among hosts.
    pub fn know_hosts(&mut self, hosts: &[Hosts]) {
        for link in 0..self.fabric.links().len() as u32 {
            self.fabric.link_mut(LinkId(link)).know_hosts(hosts);
        }
    }

    /// Starts sampling flows and links.
    pub fn sample(&mut self, config: &SamplingConfig) {
        let now = self.now();
        self.samples = Some(Samples::new(config));
        self.fabric.set_timer(self.sampling_timer(), now);
    }

    /// Runs up to and including `until`. Long runs should be divided into several calls, so that they can be
    /// interrupted.
    pub fn run_until<O: Observer>(&mut self, until: Instant, observer: &mut O) {
        while self.run_some(until, u64::MAX, observer) == Pause::Steps {}
    }

    /// Runs up to and including `until`, but at most `steps` steps. Called in a loop, it returns control at bounded
    /// intervals, even if many events happen in a short time.
    pub fn run_some<O: Observer>(&mut self, until: Instant, steps: u64, observer: &mut O) -> Pause {
        for _ in 0..steps {
            match self.fabric.step(until, observer) {
                Step::Delivered(handle) => self.deliver(handle, observer),
                Step::Dropped(handle, cause) => self.dropped(handle, cause),
                Step::Timer(timer) => self.timer(timer, observer),
                Step::Idle => return Pause::Reached,
            }
        }
        Pause::Steps
    }

    /// Resets all measures at the end of a warm-up, so that measuring starts now.
    pub fn begin_measurement(&mut self) {
        let now = self.now();
        self.measuring_since = now;
        for flow in &mut self.flows {
            match flow {
                Flow::Tcp(flow) => flow.begin_measurement(now),
                Flow::Udp(flow) => flow.begin_measurement(),
                Flow::Media(flow) => flow.begin_measurement(now),
            }
        }
        for (link, baseline) in (0..).zip(&mut self.link_baselines) {
            let link = self.fabric.link_mut(LinkId(link));
            *baseline = *link.counters();
            link.clear_waits();
        }
        for (medium, baselines) in self.fabric.media().iter().zip(&mut self.station_baselines) {
            for (station, baseline) in (0..).zip(baselines) {
                *baseline = *medium.counters(StationId(station));
            }
        }
    }

    /// Returns the current time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.fabric.now()
    }

    /// Returns the time since which measures are counted.
    #[must_use]
    pub const fn measuring_since(&self) -> Instant {
        self.measuring_since
    }

    /// Returns all flows, in the order of their ids.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Returns all TCP flows, in the order of their ids.
    pub fn tcp_flows(&self) -> impl Iterator<Item = &TcpFlow> {
        self.flows.iter().filter_map(|flow| match flow {
            Flow::Tcp(flow) => Some(flow),
            Flow::Udp(_) | Flow::Media(_) => None,
        })
    }

    /// Returns the flow `id`, if it is a TCP flow.
    #[must_use]
    pub fn tcp(&self, id: FlowId) -> Option<&TcpFlow> {
        match self.flows.get(id.index())? {
            Flow::Tcp(flow) => Some(flow),
            Flow::Udp(_) | Flow::Media(_) => None,
        }
    }

    /// Returns a flow's name, which consists of its kind and its ends.
    #[must_use]
    pub fn flow_name(&self, id: FlowId) -> &str {
        &self.flow_names[id.index()]
    }

    /// Returns the links and packets.
    #[must_use]
    pub const fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Returns the map.
    #[must_use]
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns the counts of a link since measuring began.
    #[must_use]
    pub fn link_counters(&self, link: LinkId) -> LinkCounters {
        let now = self.fabric.link(link).counters();
        now.since(&self.link_baselines[link.index()])
    }

    /// Returns the counts of a station's MAC since measuring began.
    #[must_use]
    pub fn station_counters(&self, medium: MediumId, station: StationId) -> StationCounters {
        let now = self.fabric.media()[medium.index()].counters(station);
        now.since(&self.station_baselines[medium.index()][station.index()])
    }

    /// Returns the time series, if sampling was started.
    #[must_use]
    pub const fn samples(&self) -> Option<&Samples> {
        self.samples.as_ref()
    }

    /// Returns `true` if all TCP transfers have been delivered. A greedy transfer never ends.
    #[must_use]
    pub fn all_finished(&self) -> bool {
        self.flows.iter().all(|flow| match flow {
            Flow::Tcp(flow) => matches!(flow.progress(), Progress::Finished(_)),
            Flow::Udp(_) | Flow::Media(_) => true,
        })
    }

    fn deliver<O: Observer>(&mut self, handle: PacketHandle, observer: &mut O) {
        let packet = *self.fabric.packet(handle);
        let Packet {
            flow,
            wire_bytes,
            body,
            ..
        } = packet;
        self.fabric.release(handle);
        match (&mut self.flows[flow.index()], &body) {
            (Flow::Tcp(flow), Body::Data(data)) => {
                flow.data_arrived(data, &mut self.fabric, observer);
            }
            (Flow::Tcp(flow), Body::Ack(ack)) => flow.ack_arrived(ack, &mut self.fabric, observer),
            (Flow::Udp(flow), Body::Udp) => flow.arrived(wire_bytes),
            (Flow::Media(flow), Body::Media { sent }) => {
                flow.arrived(&packet, *sent, &mut self.fabric);
            }
            (Flow::Media(flow), Body::Report(report)) => flow.heard(self.fabric.now(), report),
            (Flow::Tcp(_) | Flow::Udp(_) | Flow::Media(_), _) => {
                debug_assert!(false, "wrong kind of packet");
            }
        }
    }

    fn dropped(&mut self, handle: PacketHandle, cause: DropCause) {
        let packet = *self.fabric.packet(handle);
        self.fabric.release(handle);
        match &mut self.flows[packet.flow.index()] {
            Flow::Tcp(flow) => flow.dropped(&packet.body, cause),
            Flow::Udp(flow) => flow.dropped(cause),
            Flow::Media(flow) => flow.dropped(&packet.body, cause),
        }
    }

    fn timer<O: Observer>(&mut self, timer: TimerId, observer: &mut O) {
        let Some(flow) = self.flows.get_mut(timer.0 as usize / 2) else {
            self.take_samples();
            return;
        };
        match flow {
            Flow::Tcp(flow) if timer.0.is_multiple_of(2) => {
                flow.sender_timeout(&mut self.fabric, observer);
            }
            Flow::Tcp(flow) => flow.receiver_timeout(&mut self.fabric, observer),
            Flow::Udp(flow) => flow.send(&mut self.fabric, observer),
            Flow::Media(flow) if timer.0.is_multiple_of(2) => {
                flow.send(&mut self.fabric, observer);
            }
            Flow::Media(flow) => flow.report(&mut self.fabric, observer),
        }
    }

    fn take_samples(&mut self) {
        let timer = self.sampling_timer();
        if let Some(samples) = &mut self.samples {
            samples.take(&mut self.fabric, &self.flows);
            if let Some(next) = samples.next() {
                self.fabric.set_timer(timer, next);
            }
        }
    }

    const fn sampling_timer(&self) -> TimerId {
        TimerId(2 * self.flows.len() as u32)
    }
}
