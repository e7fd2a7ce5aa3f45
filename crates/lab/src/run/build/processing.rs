//! Processing jitter: the time that senders' hosts take to process ACKs, so that flows do not run in lockstep.
//!
//! Without jitter, the arrivals of several flows at a drop-tail queue keep their phase: a flow whose packets arrive
//! just before a departure finds the queue full every time (S. Floyd and V. Jacobson, "On traffic phase effects in
//! packet-switched gateways", 1992). A microsecond of round-trip time then decides which flow gets the capacity of the
//! link, and different seeds do not change this. The paper's remedy is a property of real hosts: a random processing
//! time at the sender, uniform between zero and the transmission time of a packet at the bottleneck. ns-2 implements it
//! as `overhead_`, and turns it off by default.
//!
//! Here a sender's host takes that time for each ACK, in the order of arrival, because ACKs clock the sender. The link
//! that delivers the ACKs to the host draws the times, from the run's seed and the link's name.

use dupack_net::link::{Discipline, Jitter, JitterDistribution, JitterOrder, ServiceConfig};
use dupack_net::topology::Topology;
use dupack_tcp::time::Duration;

use super::map::Way;
use super::{Scenario, span};
use crate::experiment::Experiment;
use crate::units::Delay;
use dupack_algorithms::catalog::Dialect;

/// Origin of an experiment's processing jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processing {
    /// Set by the file.
    Given(Delay),
    /// Transmission time of a packet at the bottleneck of each flow, if the queue of the bottleneck is drop-tail.
    OnePacket,
    /// None: the dialect is `ns2`, a radio channel already adds randomness, or there is only one flow.
    None,
}

impl Experiment {
    /// Returns the processing jitter of the senders.
    #[must_use]
    pub fn processing(&self) -> Processing {
        if let Some(jitter) = self.processing_jitter {
            return Processing::Given(jitter);
        }
        let tcp: u64 = match self.flows.as_slice() {
            [] => 1,
            groups => groups.iter().map(|group| group.flows_in(self)).sum(),
        };
        let media: u64 = self.media.iter().map(|media| u64::from(media.count)).sum();
        let udp = self
            .udp
            .iter()
            .filter(|udp| udp.rate.as_bits_per_second() > 0);
        let alone = tcp + media + udp.count() as u64 <= 1;
        if self.dialect == Dialect::Ns2 || self.radio.is_some() || alone {
            return Processing::None;
        }
        Processing::OnePacket
    }
}

impl Scenario {
    /// Adds the processing jitter to the links that deliver ACKs to senders.
    pub(super) fn jitter_hosts(&self, topology: &mut Topology, ways: &[Way]) {
        let processing = self.experiment.processing();
        for way in ways {
            let most = match processing {
                Processing::Given(jitter) => span(jitter),
                Processing::OnePacket => self.packet_time(topology, *way).unwrap_or_default(),
                Processing::None => return,
            };
            let last = topology.route_links(way.back).last().copied();
            let Some(link) = last.and_then(|id| topology.link_config_mut(id)) else {
                continue;
            };
            let before = match link.impairments.jitter {
                None => Duration::ZERO,
                Some(Jitter {
                    distribution: JitterDistribution::Uniform { max },
                    order: JitterOrder::Preserved,
                }) => max,
                // A link with another kind of jitter keeps it.
                Some(_) => continue,
            };
            let max = before.max(most);
            link.impairments.jitter = (!max.is_zero()).then_some(Jitter {
                distribution: JitterDistribution::Uniform { max },
                order: JitterOrder::Preserved,
            });
        }
    }

    /// Returns the transmission time of a full packet at the slowest link on the data path of `way`, or `None` if that
    /// link has a randomised queue or no rate.
    fn packet_time(&self, topology: &Topology, way: Way) -> Option<Duration> {
        let links = topology.route_links(way.there).iter();
        let configs = links.filter_map(|id| topology.link_config(*id));
        let rates = configs.filter_map(|link| match &link.service {
            ServiceConfig::Rate(rate) => Some((*rate, link)),
            _ => None,
        });
        let (rate, link) = rates.min_by_key(|(rate, _)| rate.as_bps())?;
        let drop_tail = matches!(
            link.queue.discipline,
            Discipline::DropTail | Discipline::AckFilter
        );
        let bytes = u64::from(self.full_packet());
        drop_tail.then(|| rate.transmission_time(bytes))
    }
}
