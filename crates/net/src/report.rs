//! Report of a run: the measures between the end of the warm-up and now.

use dupack_tcp::sender::SenderStats;
use dupack_tcp::time::{Duration, Instant};

use crate::histogram::Histogram;
use crate::ids::{FlowId, LinkId, MediumId, NodeId, StationId};
use crate::link::{LinkCounters, ServiceConfig};
use crate::media_flow::MediaCounters;
use crate::network::Flow;
use crate::simulation::Simulation;
use crate::tcp_flow::{FlowCounters, Progress, TcpFlow};
use crate::udp_flow::UdpCounters;
use crate::video::VideoCounters;
use crate::wireless::StationCounters;

/// All measures of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Start of the measured interval.
    pub from: Instant,
    /// End of the measured interval.
    pub to: Instant,
    /// TCP transfers.
    pub tcp: Vec<TcpReport>,
    /// Datagram sources.
    pub udp: Vec<UdpReport>,
    /// Real-time media.
    pub media: Vec<MediaFlowReport>,
    /// Links, in the order of their ids.
    pub links: Vec<LinkReport>,
    /// Stations of all radio channels, in the order of media and stations.
    pub stations: Vec<StationReport>,
}

/// Measures of a TCP transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TcpReport {
    /// Id of the flow.
    pub flow: FlowId,
    /// Start time.
    pub start: Instant,
    /// Bytes to deliver; `None` if unlimited.
    pub total_bytes: Option<u64>,
    /// Progress of the transfer.
    pub progress: Progress,
    /// Goodput in bit/s: bytes delivered in order to the receiver, divided by the part of the measured interval between
    /// the start and the end of the flow.
    pub goodput_bps: f64,
    /// Counts in the measured interval.
    pub measured: FlowCounters,
    /// Counts since the start of the run.
    pub totals: FlowCounters,
    /// The sender's own counters, since the start of the run.
    pub sender: SenderStats,
    /// Payload bytes in flight at the end.
    pub in_flight_true: u64,
    /// Playout of the flow's video in the measured interval, if the flow carries video.
    pub video: Option<VideoCounters>,
}

/// Measures of a datagram source.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UdpReport {
    /// Id of the flow.
    pub flow: FlowId,
    /// Bytes on the wire that reached the sink, in bit/s over the measured interval.
    pub throughput_bps: f64,
    /// Counts in the measured interval.
    pub measured: UdpCounters,
}

/// Measures of real-time media.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MediaFlowReport {
    /// Id of the flow.
    pub flow: FlowId,
    /// Bytes on the wire that reached the receiver, in bit/s over the measured interval.
    pub throughput_bps: f64,
    /// Counts in the measured interval.
    pub measured: MediaCounters,
    /// One-way delays, if any packets arrived.
    pub ways: Option<WaitSummary>,
}

/// Measures of a link.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinkReport {
    /// Id of the link.
    pub link: LinkId,
    /// Name of the link.
    pub name: String,
    /// Counts in the measured interval.
    pub counters: LinkCounters,
    /// Fraction of the link's capacity that was used; `None` for a link without a rate.
    pub utilisation: Option<f64>,
    /// Waiting times, if the link records them and there were any.
    pub waits: Option<WaitSummary>,
}

/// Measures of a station on a radio channel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StationReport {
    /// Medium of the station.
    pub medium: MediumId,
    /// Id of the station in the medium.
    pub station: StationId,
    /// Node of the station.
    pub node: NodeId,
    /// Counts of its MAC in the measured interval.
    pub counters: StationCounters,
}

/// Summary of waiting times: from arrival at the queue to the start of transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitSummary {
    /// Number of packets.
    pub count: u64,
    /// Mean.
    pub mean: Duration,
    /// Median, within 0.8 %.
    pub median: Duration,
    /// 95th percentile, within 0.8 %.
    pub p95: Duration,
    /// Maximum.
    pub max: Duration,
}

impl WaitSummary {
    /// Returns the summary of `histogram`; `None` if it is empty.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Option<Self> {
        Some(Self {
            count: histogram.count(),
            mean: histogram.mean()?,
            median: histogram.quantile(0.5)?,
            p95: histogram.quantile(0.95)?,
            max: histogram.max(),
        })
    }
}

impl Simulation {
    /// Returns the measures so far. The run may continue afterwards.
    #[must_use]
    pub fn report(&self) -> Report {
        let mut report = Report {
            from: self.measuring_since(),
            to: self.now(),
            tcp: Vec::new(),
            udp: Vec::new(),
            media: Vec::new(),
            links: Vec::new(),
            stations: Vec::new(),
        };
        report.tcp.reserve_exact(self.tcp_flows().count());
        for (flow, n) in self.flows().iter().zip(0..) {
            match flow {
                Flow::Tcp(tcp) => report.tcp.push(self.tcp_report(FlowId(n), tcp)),
                Flow::Udp(udp) => report.udp.push(UdpReport {
                    flow: FlowId(n),
                    throughput_bps: bits_per_second(
                        udp.measured().received_bytes,
                        report.to.since(report.from),
                    ),
                    measured: udp.measured(),
                }),
                Flow::Media(media) => report.media.push(MediaFlowReport {
                    flow: FlowId(n),
                    throughput_bps: bits_per_second(
                        media.measured().received_bytes,
                        report.to.since(report.from),
                    ),
                    measured: media.measured(),
                    ways: WaitSummary::of(media.ways()),
                }),
            }
        }
        let links = 0..self.fabric().links().len() as u32;
        report.links = links.map(|n| self.link_report(LinkId(n))).collect();
        report.stations = self.station_reports();
        report
    }

    /// Returns the measures of one link.
    #[must_use]
    pub fn link_report(&self, id: LinkId) -> LinkReport {
        let counters = self.link_counters(id);
        let elapsed = self.now().since(self.measuring_since());
        let config = self.topology().link_config(id);
        let changing = self
            .fabric()
            .link(id)
            .mean_rate_bps(self.measuring_since(), self.now());
        let steady_bps = config.and_then(|config| match &config.service {
            ServiceConfig::Unlimited => None,
            ServiceConfig::Rate(rate) => Some(rate.as_bps() as f64),
            ServiceConfig::Trace(trace) => Some(trace.mean_rate_bps()),
        });
        let capacity_bps = changing.or(steady_bps);
        let used_bps = bits_per_second(counters.carried_bytes, elapsed);
        LinkReport {
            link: id,
            name: self.topology().link_name(id).to_owned(),
            counters,
            utilisation: capacity_bps.map(|capacity| used_bps / capacity),
            waits: self.fabric().link(id).waits().and_then(WaitSummary::of),
        }
    }

    fn station_reports(&self) -> Vec<StationReport> {
        let media = (0..self.topology().medium_count() as u32).map(MediumId);
        let all = media.flat_map(|medium| {
            let stations = 0..self.topology().station_count(medium) as u32;
            stations.map(move |n| (medium, StationId(n)))
        });
        all.map(|(medium, station)| StationReport {
            medium,
            station,
            node: self.topology().station_node(medium, station),
            counters: self.station_counters(medium, station),
        })
        .collect()
    }

    fn tcp_report(&self, id: FlowId, flow: &TcpFlow) -> TcpReport {
        let measured = flow.measured();
        let from = self.measuring_since().max(flow.start());
        let to = match flow.progress() {
            Progress::Finished(at) => at,
            Progress::NotStarted | Progress::Running => self.now(),
        };
        TcpReport {
            flow: id,
            start: flow.start(),
            total_bytes: flow.total_bytes(),
            progress: flow.progress(),
            goodput_bps: bits_per_second(measured.delivered_bytes, to.since(from)),
            measured,
            totals: flow.totals(),
            sender: flow.sender().stats(),
            in_flight_true: flow.truth().in_flight_bytes(),
            video: flow.video(self.now()),
        }
    }
}

/// Returns the rate of `bytes` in `elapsed` in bit/s; zero if `elapsed` is zero.
fn bits_per_second(bytes: u64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() {
        return 0.0;
    }
    bytes as f64 * 8.0 / elapsed.as_secs_f64()
}
