//! Conversion of links, queues, losses and UDP sources to the configuration of `dupack-net`.

use std::path::Path;

use dupack_algorithms::catalog::dialect::Headers;
use dupack_net::link::{
    Capable, Discipline, Duplication, GilbertElliott, ImpairmentConfig, Jitter, JitterDistribution,
    JitterOrder, LinkConfig, LossConfig, LossModel, LossPlacement as NetPlacement, LossScript,
    PacketFilter, QueueConfig, QueueLimit, RedAbove, RedConfig, Reordering, ServiceConfig,
};
use dupack_net::udp::{Spans, UdpConfig, UdpPattern};
use dupack_net::units::{BitRate, Probability as NetProbability};
use dupack_tcp::time::{Duration, Instant};

use super::endpoints::default_segment;
use super::room::Product;
use super::schedule::schedules;
use super::script::Script;
use super::{BuildError, Scenario, bit_rate, complaint, span};
use crate::experiment::queue::Queueing;
use crate::experiment::traffic::Periods;
use crate::experiment::{
    AckThinning, BurstLoss, Direction, DropRule, LinkOptions, LossPlacement, QueueKind, UdpSource,
};
use crate::units::{Delay, Probability};

impl Scenario {
    /// Returns both directions of the experiment's path, for a run with `seed` of a single flow.
    ///
    /// # Errors
    /// If the experiment has no path, or an invalid one.
    pub fn path_links(&self, seed: u64) -> Result<(LinkConfig, LinkConfig), BuildError> {
        match &self.experiment.path {
            Some(path) => self.directions(path, "path", 1, seed),
            None => Err(complaint("path", "the experiment has no [path]")),
        }
    }

    /// Returns both directions of a link.
    pub(super) fn directions(
        &self,
        link: &LinkOptions,
        key: &str,
        flows: usize,
        seed: u64,
    ) -> Result<(LinkConfig, LinkConfig), BuildError> {
        let service = match (&link.rate, &link.trace) {
            (Some(rate), None) => ServiceConfig::Rate(bit_rate(*rate, &format!("{key}.rate"))?),
            (None, Some(path)) => self.recorded(path, &format!("{key}.trace"), seed)?,
            (None, None) => return Err(complaint(key, "a link needs a rate or a trace")),
            (Some(_), Some(_)) => {
                let message = "a link cannot have both a rate and a trace";
                return Err(complaint(&format!("{key}.trace"), message));
            }
        };
        let mut there = LinkConfig::new(service.clone(), span(link.delay));
        there.queue = queue(link.queueing(), self.mean_packet());
        there.waits = self.waits;
        let place = match link.loss_placement {
            LossPlacement::After => NetPlacement::AfterTransmission,
            LossPlacement::Before => NetPlacement::BeforeQueue,
        };
        let drop_key = format!("{key}.drop");
        let list = Script {
            flows,
            seed,
            key: &drop_key,
        };
        let burst = link.burst_loss.as_ref();
        there.losses = losses(link.loss, burst, &link.drop, place, list)
            .map_err(|m| complaint(&drop_key, &m))?;
        there.impairments = impairments(link);

        let reverse = link.reverse.clone().unwrap_or_default();
        let back_service = match (reverse.rate, &reverse.trace) {
            (Some(rate), None) => {
                ServiceConfig::Rate(bit_rate(rate, &format!("{key}.reverse.rate"))?)
            }
            (None, Some(path)) => self.recorded(path, &format!("{key}.reverse.trace"), seed)?,
            (None, None) => service,
            (Some(_), Some(_)) => {
                let message = "a direction cannot have both a rate and a trace";
                return Err(complaint(&format!("{key}.reverse.trace"), message));
            }
        };
        let drop_key = format!("{key}.reverse.drop");
        let list = Script {
            flows,
            seed,
            key: &drop_key,
        };
        let mut back = self.backward(link, &reverse, back_service, place, list)?;
        self.size_queues(link, there.delay + back.delay, [&mut there, &mut back]);
        [there.schedule, back.schedule] = schedules(link, &reverse, key, seed)?;
        thin(&mut there, link.thin_acks, &format!("{key}.thin_acks"))?;
        thin(
            &mut back,
            reverse.thin_acks,
            &format!("{key}.reverse.thin_acks"),
        )?;
        Ok((there, back))
    }

    /// Returns a recorded trace that starts at the position at which the run with `seed` begins.
    fn recorded(&self, path: &Path, key: &str, seed: u64) -> Result<ServiceConfig, BuildError> {
        let trace = self.traces.get(path).cloned();
        let trace = trace.ok_or_else(|| complaint(key, "the trace has not been read"))?;
        let begin_ms = self.beginning().ms(seed);
        Ok(ServiceConfig::Trace(trace.beginning_at(begin_ms)))
    }

    fn backward(
        &self,
        link: &LinkOptions,
        reverse: &Direction,
        service: ServiceConfig,
        place: NetPlacement,
        list: Script<'_>,
    ) -> Result<LinkConfig, BuildError> {
        let mut back = LinkConfig::new(service, span(reverse.delay.unwrap_or(link.delay)));
        back.queue = queue(reverse.queueing(), self.mean_packet());
        back.waits = self.waits;
        let burst = reverse.burst_loss.as_ref();
        back.losses = losses(reverse.loss, burst, &reverse.drop, place, list)
            .map_err(|m| complaint(list.key, &m))?;
        Ok(back)
    }

    /// Sets the capacity of both queues of `link`. `round_trip` determines the bandwidth-delay product.
    pub(super) fn size_queues(
        &self,
        link: &LinkOptions,
        round_trip: Duration,
        [there, back]: [&mut LinkConfig; 2],
    ) {
        there.queue.limit = self.product(there, round_trip).limit(link.buffer);
        let reverse = link.reverse.as_ref().and_then(|reverse| reverse.buffer);
        back.queue.limit = match reverse {
            Some(room) => self.product(back, round_trip).limit(Some(room)),
            None => there.queue.limit,
        };
    }

    /// Returns the bandwidth-delay product of `link` for a base round-trip time of `round_trip`.
    pub(in crate::run) fn product(&self, link: &LinkConfig, round_trip: Duration) -> Product {
        Product::of(link, round_trip, self.full_packet())
    }

    /// Returns the size of a full data packet in bytes, including headers.
    pub(super) fn full_packet(&self) -> u32 {
        let e = &self.experiment;
        let header = e.sender.header.map(|header| header.as_bytes() as u32);
        let usual = || Headers::new(e.dialect, &self.stack.needs(e.dialect)).data;
        self.mean_packet() + header.unwrap_or_else(usual)
    }

    fn mean_packet(&self) -> u32 {
        let dialect = self.experiment.dialect;
        let segment = self.experiment.sender.segment;
        segment.map_or(default_segment(dialect), |b| b.as_bytes() as u32)
    }
}

/// Configures the link to thin ACKs.
fn thin(link: &mut LinkConfig, thin: Option<AckThinning>, key: &str) -> Result<(), BuildError> {
    let Some(thin) = thin else {
        return Ok(());
    };
    link.thin_acks = thin.every;
    if thin.superseded {
        if link.queue.discipline != Discipline::DropTail {
            let message = "`superseded` needs queue = \"droptail\"";
            return Err(complaint(&format!("{key}.superseded"), message));
        }
        link.queue.discipline = Discipline::AckFilter;
    }
    Ok(())
}

/// Creates a queue without a capacity, which is set later.
fn queue(queueing: Queueing, mean_packet_bytes: u32) -> QueueConfig {
    let discipline = match (queueing.kind, &queueing.red) {
        (QueueKind::Red, Some(options)) => {
            let mut red = RedConfig::packets(options.min, options.max);
            red.max_probability = options.probability.as_fraction();
            red.weight = options.weight;
            red.above = if options.gentle {
                RedAbove::Gentle
            } else {
                RedAbove::DropAll
            };
            red.mean_packet_bytes = mean_packet_bytes;
            if options.ecn {
                red.capable = Capable::Mark;
            }
            Discipline::Red(red)
        }
        _ => queueing.managed().unwrap_or_default(),
    };
    QueueConfig {
        limit: QueueLimit::Unlimited,
        discipline,
    }
}

fn losses(
    each: Probability,
    burst: Option<&BurstLoss>,
    drop: &[DropRule],
    placement: NetPlacement,
    list: Script<'_>,
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
        let script = LossScript::new(list.rules(drop)).map_err(|x| x.to_string())?;
        add(LossModel::Script(script), NetPlacement::BeforeQueue);
    }
    Ok(losses)
}

fn impairments(link: &LinkOptions) -> ImpairmentConfig {
    let some = |p: Probability| p.as_fraction() > 0.0;
    let mut config = ImpairmentConfig::default();
    config.jitter = (link.jitter.as_nanos() > 0).then(|| Jitter {
        distribution: JitterDistribution::Uniform {
            max: span(link.jitter),
        },
        order: JitterOrder::Overtaking,
    });
    config.reordering = link
        .reorder
        .filter(|r| some(r.probability))
        .map(|r| Reordering {
            probability: probability(r.probability),
            delay_min: span(r.delay),
            delay_max: span(r.delay),
        });
    config.duplication = some(link.duplicate).then(|| Duplication {
        probability: probability(link.duplicate),
        lag: Duration::ZERO,
    });
    config
}

/// Returns the configuration of a UDP source that starts at `start`.
pub(super) fn udp(source: &UdpSource, start: Instant) -> UdpConfig {
    let rate =
        BitRate::new(source.rate.as_bits_per_second()).expect("idle sources have been skipped");
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
    let mut config = UdpConfig::new(pattern, source.packet.as_bytes() as u32);
    config.start = start;
    if let Some(at) = source.stop {
        config.stop = Instant::ZERO + span(at);
    }
    config
}

fn probability(p: Probability) -> NetProbability {
    NetProbability::clamped(p.as_fraction())
}
