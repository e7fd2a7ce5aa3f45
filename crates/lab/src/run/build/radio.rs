//! Conversion of a radio chain to the configuration of `dupack-net`.

use dupack_net::link::QueueLimit;
use dupack_net::shapes::RadioChain;
use dupack_net::units::Probability as NetProbability;
use dupack_net::wireless::{Answering, Interference, RadioConfig, RtsThreshold, SensedFrames};

use super::{BuildError, bit_rate, complaint, span};
use crate::experiment::RadioOptions;
use crate::experiment::radio;
use crate::units::{Buffer, Probability};

/// Creates the chain described by `options`.
pub(super) fn chain(options: &RadioOptions) -> Result<RadioChain, BuildError> {
    if options.hops == 0 {
        return Err(complaint("radio.hops", "a chain needs at least one hop"));
    }
    Ok(RadioChain {
        hops: options.hops,
        spacing_m: options.spacing.as_metres(),
        radio: config(options)?,
    })
}

fn config(options: &RadioOptions) -> Result<RadioConfig, BuildError> {
    let mut radio = RadioConfig::DSSS_11_MBPS;
    if let Some(rate) = options.rate {
        radio.data_rate = bit_rate(rate, "radio.rate")?;
    }
    if let Some(rate) = options.control_rate {
        radio.control_rate = bit_rate(rate, "radio.control_rate")?;
    }
    radio.slot = options.slot.map_or(radio.slot, span);
    radio.cw_min = options.cw_min.unwrap_or(radio.cw_min);
    radio.cw_max = options.cw_max.unwrap_or(radio.cw_max);
    radio.short_retry_limit = options.short_retry_limit.unwrap_or(radio.short_retry_limit);
    radio.long_retry_limit = options.long_retry_limit.unwrap_or(radio.long_retry_limit);
    if let Some(bytes) = options.rts_threshold {
        let bytes = u32::try_from(bytes.as_bytes()).unwrap_or(u32::MAX);
        radio.rts_threshold = RtsThreshold::Above(bytes);
    }
    radio.reception_range_m = options.reception_range.as_metres();
    radio.carrier_sense_range_m = options.carrier_sense_range.as_metres();
    radio.interference = match options.interference {
        radio::Interference::Capture => radio.interference,
        radio::Interference::Overlap => Interference::AnyOverlap,
    };
    radio.sensed_frames = match options.sensed_frames {
        radio::SensedFrames::Eifs => SensedFrames::Eifs,
        radio::SensedFrames::Difs => SensedFrames::Difs,
    };
    radio.answering = match options.answering {
        radio::Answering::Busy => Answering::Busy,
        radio::Answering::Idle => Answering::Idle,
    };
    if let Some(buffer) = options.buffer {
        radio.queue = match buffer {
            Buffer::Packets(packets) => QueueLimit::Packets(u64::from(packets)),
            Buffer::Bytes(bytes) => QueueLimit::Bytes(bytes),
        };
    }
    radio.packet_error = NetProbability::clamped(loss_per_hop(options));
    radio.frame_error = probability(options.frame_error);
    Ok(radio)
}

/// Returns the probability that a packet is lost on one hop. With probability `q` on each of `h` hops, `1 − (1 − q)^h`
/// of the packets are lost.
fn loss_per_hop(options: &RadioOptions) -> f64 {
    let loss = options.loss.as_fraction();
    match options.loss_over {
        radio::LossOver::Hop => loss,
        radio::LossOver::Path => 1.0 - (1.0 - loss).powf(1.0 / f64::from(options.hops)),
    }
}

fn probability(p: Probability) -> NetProbability {
    NetProbability::clamped(p.as_fraction())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> RadioOptions {
        toml::from_str(text).expect("options")
    }

    #[test]
    fn loss_over_the_path_is_divided_among_its_hops() {
        let hop = options("hops = 5\nloss = \"5%\"");
        assert_eq!(loss_per_hop(&hop), 0.05);
        let path = options("hops = 5\nloss = \"5%\"\nloss_over = \"path\"");
        // 0.9898⁵ is 0.95.
        assert!((loss_per_hop(&path) - 0.010_206).abs() < 1e-6);
        let arrives = (1.0 - loss_per_hop(&path)).powi(5);
        assert!((arrives - 0.95).abs() < 1e-12);
    }
}
