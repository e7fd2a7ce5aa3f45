//! Time series of selected flows and links, in bounded memory.

use dupack_tcp::time::{Duration, Instant};

use crate::fabric::Fabric;
use crate::ids::{FlowId, LinkId};
use crate::network::Flow;
use crate::series::Series;
use crate::tcp_flow::TcpFlow;

/// Flows and links to sample, and the sampling interval.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SamplingConfig {
    /// Initial interval between samples; it doubles when a series is full.
    pub interval: Duration,
    /// Maximum number of samples of a series.
    pub capacity: usize,
    /// TCP flows to sample.
    pub flows: Vec<FlowId>,
    /// Links to sample.
    pub links: Vec<LinkId>,
}

impl SamplingConfig {
    /// Creates a configuration without series, with an initial `interval` and at most `capacity` samples per series.
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

/// Sample of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FlowSample {
    /// Stream bytes received in order so far.
    pub delivered_bytes: u64,
    /// Stream bytes that have arrived so far, in order or not. Each byte is counted once.
    pub arrived_bytes: u64,
    /// Congestion window in bytes.
    pub cwnd: f64,
    /// Slow start threshold in bytes; infinite if it is not set.
    pub ssthresh: f64,
    /// Bytes that are in flight according to the sender.
    pub in_flight_believed: u64,
    /// Payload bytes that are actually in flight.
    pub in_flight_true: u64,
    /// Smoothed round-trip time of the sender; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Bandwidth estimate of the congestion control in bytes per second, if it has one.
    pub bandwidth_estimate: Option<f64>,
}

/// Sample of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkSample {
    /// Packets that wait for their transmission to begin.
    pub backlog_packets: u64,
    /// Bytes that wait for their transmission to begin.
    pub backlog_bytes: u64,
    /// Bytes that have crossed the link so far.
    pub carried_bytes: u64,
    /// Packets dropped so far.
    pub dropped_packets: u64,
}

/// Time series of one run.
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

    /// Returns the sampled flows, in the order of the configuration.
    #[must_use]
    pub fn flows(&self) -> &[(FlowId, Series<FlowSample>)] {
        &self.flows
    }

    /// Returns the sampled links, in the order of the configuration.
    #[must_use]
    pub fn links(&self) -> &[(LinkId, Series<LinkSample>)] {
        &self.links
    }

    /// Returns the time of the next sample.
    pub(crate) fn next(&self) -> Option<Instant> {
        let flows = self.flows.iter().map(|(_, series)| series.next());
        let links = self.links.iter().map(|(_, series)| series.next());
        flows.chain(links).min()
    }

    /// Takes all samples that are due.
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
