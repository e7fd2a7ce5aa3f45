//! Time series of chosen flows and links, in bounded memory.

use dupack_tcp::time::{Duration, Instant};

use crate::fabric::Fabric;
use crate::ids::{FlowId, LinkId};
use crate::network::Flow;
use crate::series::Series;
use crate::tcp_flow::TcpFlow;

/// What to sample and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SamplingConfig {
    /// Time between samples at first; it doubles when a series is full.
    pub interval: Duration,
    /// The most samples that a series holds.
    pub capacity: usize,
    /// Which TCP flows.
    pub flows: Vec<FlowId>,
    /// Which links.
    pub links: Vec<LinkId>,
}

impl SamplingConfig {
    /// At first every `interval`, at most `capacity` samples in a series, and no series yet.
    #[must_use]
    pub const fn new(interval: Duration, capacity: usize) -> Self {
        Self {
            interval,
            capacity,
            flows: Vec::new(),
            links: Vec::new(),
        }
    }
}

/// A flow at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FlowSample {
    /// Stream bytes received in order so far.
    pub delivered_bytes: u64,
    /// Stream bytes that have arrived so far, each once, in order or not.
    pub arrived_bytes: u64,
    /// Congestion window in bytes.
    pub cwnd: f64,
    /// Slow start threshold in bytes, infinite if there is none yet.
    pub ssthresh: f64,
    /// Bytes that the sender believes to be in flight.
    pub in_flight_believed: u64,
    /// Payload bytes that are in flight.
    pub in_flight_true: u64,
    /// The sender's smoothed round-trip time, once it has one.
    pub srtt: Option<Duration>,
    /// What its congestion control takes the bandwidth for, in bytes per second, if it measures it.
    pub bandwidth_estimate: Option<f64>,
}

/// A link at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkSample {
    /// Packets waiting for their transmission to begin.
    pub backlog_packets: u64,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Bytes that have crossed the link so far.
    pub carried_bytes: u64,
    /// Packets dropped so far.
    pub dropped_packets: u64,
}

/// The series of one run.
#[derive(Clone, Debug)]
pub struct Samples {
    flows: Vec<(FlowId, Series<FlowSample>)>,
    links: Vec<(LinkId, Series<LinkSample>)>,
}

impl Samples {
    pub(crate) fn new(config: &SamplingConfig) -> Self {
        let (interval, capacity) = (config.interval, config.capacity);
        let flows = config.flows.iter();
        let links = config.links.iter();
        Self {
            flows: flows
                .map(|&id| (id, Series::new(interval, capacity)))
                .collect(),
            links: links
                .map(|&id| (id, Series::new(interval, capacity)))
                .collect(),
        }
    }

    /// The sampled flows, in the order in which they were asked for.
    #[must_use]
    pub fn flows(&self) -> &[(FlowId, Series<FlowSample>)] {
        &self.flows
    }

    /// The sampled links, in the order in which they were asked for.
    #[must_use]
    pub fn links(&self) -> &[(LinkId, Series<LinkSample>)] {
        &self.links
    }

    /// When the next sample is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        let flows = self.flows.iter().map(|(_, series)| series.next());
        let links = self.links.iter().map(|(_, series)| series.next());
        flows.chain(links).min()
    }

    /// Takes every sample that is due.
    pub(crate) fn take(&mut self, fabric: &mut Fabric, flows: &[Flow]) {
        let now = fabric.now();
        for (id, series) in &mut self.flows {
            if let Some(Flow::Tcp(flow)) = flows.get(id.index()) {
                series.push(now, sample_flow(now, flow));
            }
        }
        for (id, series) in &mut self.links {
            let (backlog_packets, backlog_bytes) = fabric.backlog(*id);
            let link = fabric.link(*id);
            let sample = LinkSample {
                backlog_packets,
                backlog_bytes,
                carried_bytes: link.counters().carried_bytes,
                dropped_packets: link.counters().drops.total(),
            };
            series.push(now, sample);
        }
    }
}

fn sample_flow(now: Instant, flow: &TcpFlow) -> FlowSample {
    let (sender, receiver) = (flow.sender(), flow.receiver());
    FlowSample {
        delivered_bytes: receiver.in_order_bytes(),
        arrived_bytes: receiver.in_order_bytes() + receiver.out_of_order_bytes(),
        cwnd: sender.window().cwnd,
        ssthresh: sender.window().ssthresh,
        in_flight_believed: sender.in_flight(now),
        in_flight_true: flow.truth().in_flight_bytes(),
        srtt: sender.rtt().srtt(),
        bandwidth_estimate: sender.stack().control.bandwidth_estimate(),
    }
}
