//! Networks with every impairment at once, for tests of properties that must hold on any network.
//!
//! A [`HostilePath`] is drawn from a seed. It has random and burst loss in both directions, short queues, jitter,
//! reordering, duplication and outages. Its receiver has a small window and may renege, and the receiving application
//! reads slowly or pauses. The path is fair: a packet that is retransmitted often enough arrives, so every finite
//! transfer must end.

use dupack_tcp::time::{Duration, Instant};

use crate::flow::{Reader, Reneging};
use crate::link::{
    Duplication, GilbertElliott, ImpairmentConfig, Jitter, JitterDistribution, JitterOrder,
    LinkConfig, LossConfig, LossModel, LossPlacement, PacketFilter, QueueLimit, Reordering,
    TimeWindow,
};
use crate::random::Stream;
use crate::units::{BitRate, Probability};

/// A hostile path and its receiver.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HostilePath {
    /// Link from the sender to the receiver.
    pub there: LinkConfig,
    /// Link from the receiver to the sender.
    pub back: LinkConfig,
    /// Reading behaviour of the receiving application.
    pub reader: Reader,
    /// Reneging behaviour of the receiver.
    pub reneging: Reneging,
    /// Receive buffer in bytes, from less than one segment to many segments.
    pub receive_buffer_bytes: u32,
}

impl HostilePath {
    /// Draws the path of `seed`, for segments of `mss` bytes.
    #[must_use]
    pub fn draw(seed: u64, mss: u32) -> Self {
        let mut stream = Stream::derive(seed, "hostile path");
        Self {
            there: draw_link(&mut stream, mss),
            back: draw_link(&mut stream, mss),
            reader: draw_reader(&mut stream, mss),
            reneging: draw_reneging(&mut stream),
            receive_buffer_bytes: draw_buffer(&mut stream, mss),
        }
    }
}

fn draw_link(stream: &mut Stream, mss: u32) -> LinkConfig {
    let magnitude = [50_000, 1_000_000, 20_000_000, 1_000_000_000][stream.below(4) as usize];
    let rate = magnitude + stream.below(9 * magnitude);
    let rate = BitRate::new(rate).unwrap_or(BitRate::from_mbps(1));
    let delay = Duration::from_micros(stream.below(100_000));
    let limit = match stream.below(3) {
        0 => QueueLimit::Packets(1 + stream.below(50)),
        1 => QueueLimit::Bytes(u64::from(mss) + 100 + stream.below(50 * u64::from(mss))),
        _ => QueueLimit::Unlimited,
    };
    let mut link = LinkConfig::rate(rate, delay).with_queue(limit);
    link.losses = draw_losses(stream);
    link.impairments = draw_impairments(stream);
    for _ in 0..stream.below(4).saturating_sub(1) {
        let from = Instant::ZERO + Duration::from_millis(stream.below(5_000));
        link.outages.push(TimeWindow {
            from,
            to: from + Duration::from_millis(1 + stream.below(3_000)),
        });
    }
    link
}

fn draw_losses(stream: &mut Stream) -> Vec<LossConfig> {
    let mut losses = Vec::new();
    let place = |stream: &mut Stream, model| LossConfig {
        model,
        placement: if one_in(stream, 2) {
            LossPlacement::BeforeQueue
        } else {
            LossPlacement::AfterTransmission
        },
        filter: PacketFilter::All,
    };
    // Light loss is drawn more often than heavy loss, because above a loss rate of about 10 % fast recovery no longer
    // occurs.
    if one_in(stream, 2) {
        let p = Probability::clamped(square(stream.unit()) * 0.3);
        losses.push(place(stream, LossModel::Bernoulli(p)));
    }
    if one_in(stream, 2) {
        let (rate, burst) = (square(stream.unit()) * 0.2, 1.0 + stream.unit() * 9.0);
        if let Some(model) = GilbertElliott::from_loss_rate_and_burst(rate, burst) {
            losses.push(place(stream, LossModel::GilbertElliott(model)));
        }
    }
    losses
}

fn draw_impairments(stream: &mut Stream) -> ImpairmentConfig {
    let jitter = one_in(stream, 2).then(|| Jitter {
        distribution: if one_in(stream, 2) {
            JitterDistribution::Uniform {
                max: Duration::from_micros(stream.below(50_000)),
            }
        } else {
            JitterDistribution::Exponential {
                mean: Duration::from_micros(stream.below(50_000)),
            }
        },
        order: if one_in(stream, 2) {
            JitterOrder::Overtaking
        } else {
            JitterOrder::Preserved
        },
    });
    let reordering = one_in(stream, 2).then(|| Reordering {
        probability: Probability::clamped(stream.unit() * 0.3),
        delay_min: Duration::from_micros(stream.below(1_000)),
        delay_max: Duration::from_micros(1_000 + stream.below(300_000)),
    });
    let duplication = one_in(stream, 2).then(|| Duplication {
        probability: Probability::clamped(stream.unit() * 0.2),
        lag: Duration::from_micros(stream.below(2) * stream.below(100_000)),
    });
    ImpairmentConfig {
        jitter,
        reordering,
        duplication,
    }
}

fn draw_reader(stream: &mut Stream, mss: u32) -> Reader {
    match stream.below(3) {
        0 => Reader::AtOnce,
        1 => Reader::Periodic {
            bytes: 1 + stream.below(u64::from(mss) * 20),
            every: Duration::from_millis(1 + stream.below(100)),
        },
        _ => Reader::Pausing {
            reading: Duration::from_millis(1 + stream.below(1_000)),
            pause: Duration::from_millis(1 + stream.below(3_000)),
        },
    }
}

fn draw_reneging(stream: &mut Stream) -> Reneging {
    if one_in(stream, 3) {
        Reneging::Random {
            mean_interval: Duration::from_millis(200 + stream.below(5_000)),
        }
    } else {
        Reneging::Never
    }
}

fn draw_buffer(stream: &mut Stream, mss: u32) -> u32 {
    match stream.below(4) {
        0 => 1 + stream.below(u64::from(mss)) as u32,
        1 => mss + stream.below(4 * u64::from(mss)) as u32,
        2 => mss * (2 + stream.below(62) as u32),
        _ => mss * 1000,
    }
}

fn square(x: f64) -> f64 {
    x * x
}

fn one_in(stream: &mut Stream, n: u64) -> bool {
    stream.below(n) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_depends_on_its_seed_and_can_be_built() {
        assert_eq!(HostilePath::draw(1, 1000), HostilePath::draw(1, 1000));
        assert_ne!(HostilePath::draw(1, 1000), HostilePath::draw(2, 1000));
        for seed in 0..1000 {
            let path = HostilePath::draw(seed, 1000);
            assert_eq!((path.there.fault(), path.back.fault()), (None, None));
            assert!(path.receive_buffer_bytes > 0);
        }
    }
}
