//! The measures of a run, between the end of the warm-up and now.

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

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// When measuring began.
    pub from: Instant,
    /// When the report was made.
    pub to: Instant,
    /// TCP transfers.
    pub tcp: Vec<TcpReport>,
    /// Datagram sources.
    pub udp: Vec<UdpReport>,
    /// Real-time media.
    pub media: Vec<MediaFlowReport>,
    /// Links, in the order of their ids.
    pub links: Vec<LinkReport>,
    /// The stations of all radio channels, in the order of media and stations.
    pub stations: Vec<StationReport>,
}

/// The measures of a TCP transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TcpReport {
    /// Which flow.
    pub flow: FlowId,
    /// When it started.
    pub start: Instant,
    /// How much it is to deliver, in bytes; `None` if there is no end to it.
    pub total_bytes: Option<u64>,
    /// How far it has come.
    pub progress: Progress,
    /// In-order bytes delivered to the receiver, in bit/s over the flow's time within the
    /// measured interval: from its start at the earliest, to its end at the latest.
    pub goodput_bps: f64,
    /// What was done in the measured interval.
    pub measured: FlowCounters,
    /// What was done since the start of the run.
    pub totals: FlowCounters,
    /// The sender's own counters, since the start of the run.
    pub sender: SenderStats,
    /// Payload bytes in flight at the end.
    pub in_flight_true: u64,
    /// What was seen of its video in the measured interval, if it carries one.
    pub video: Option<VideoCounters>,
}

/// The measures of a datagram source.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UdpReport {
    /// Which flow.
    pub flow: FlowId,
    /// Bytes on the wire that reached the sink, in bit/s over the measured interval.
    pub throughput_bps: f64,
    /// What was done in the measured interval.
    pub measured: UdpCounters,
}

/// The measures of real-time media.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MediaFlowReport {
    /// Which flow.
    pub flow: FlowId,
    /// Bytes on the wire that came, in bit/s over the measured interval.
    pub throughput_bps: f64,
    /// What was done in the measured interval.
    pub measured: MediaCounters,
    /// How long packets were on the way, if any came.
    pub ways: Option<WaitSummary>,
}

/// The measures of a link.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinkReport {
    /// Which link.
    pub link: LinkId,
    /// Its name.
    pub name: String,
    /// What passed in the measured interval.
    pub counters: LinkCounters,
    /// Share of the link's capacity that was used; `None` for a link without rate.
    pub utilisation: Option<f64>,
    /// Waiting times, if the link records them and there were any.
    pub waits: Option<WaitSummary>,
}

/// The measures of a station on a radio channel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StationReport {
    /// On which medium.
    pub medium: MediumId,
    /// Which of its stations.
    pub station: StationId,
    /// At which node.
    pub node: NodeId,
    /// What its MAC did in the measured interval.
    pub counters: StationCounters,
}

/// A distribution of waiting times: from arrival at the queue to the start of transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitSummary {
    /// How many packets.
    pub count: u64,
    /// The mean.
    pub mean: Duration,
    /// Median, within 0.8 %.
    pub median: Duration,
    /// 95th percentile, within 0.8 %.
    pub p95: Duration,
    /// The longest.
    pub max: Duration,
}

impl WaitSummary {
    /// The summary of `histogram`, if it holds anything.
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
    /// The measures so far. The run may go on afterwards.
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

    /// The measures of one link.
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

/// Zero for no time at all.
fn bits_per_second(bytes: u64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() {
        return 0.0;
    }
    bytes as f64 * 8.0 / elapsed.as_secs_f64()
}
