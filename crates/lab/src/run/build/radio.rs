//! The radio chain of an experiment as the network takes it.

use dupack_net::link::QueueLimit;
use dupack_net::shapes::RadioChain;
use dupack_net::units::Probability as NetProbability;
use dupack_net::wireless::{Answering, Interference, RadioConfig, RtsThreshold, SensedFrames};

use super::{BuildError, bit_rate, complaint, span};
use crate::experiment::RadioOptions;
use crate::experiment::radio;
use crate::units::{Buffer, Probability};

/// The chain that `options` describe.
pub(super) fn chain(options: &RadioOptions) -> Result<RadioChain, BuildError> {
    if options.hops == 0 {
        return Err(complaint("radio.hops", "a chain has at least one hop"));
    }
    Ok(RadioChain {
        hops: options.hops,
        spacing_m: options.spacing.as_metres(),
        radio: config(options)?,
    })
}

fn config(options: &RadioOptions) -> Result<RadioConfig, BuildError> {
    let standard = RadioConfig::DSSS_11_MBPS;
    let rate = |given: Option<_>, key, default| match given {
        Some(rate) => bit_rate(rate, key),
        None => Ok(default),
    };
    Ok(RadioConfig {
        data_rate: rate(options.rate, "radio.rate", standard.data_rate)?,
        control_rate: rate(
            options.control_rate,
            "radio.control_rate",
            standard.control_rate,
        )?,
        slot: options.slot.map_or(standard.slot, span),
        cw_min: options.cw_min.unwrap_or(standard.cw_min),
        cw_max: options.cw_max.unwrap_or(standard.cw_max),
        short_retry_limit: options
            .short_retry_limit
            .unwrap_or(standard.short_retry_limit),
        long_retry_limit: options
            .long_retry_limit
            .unwrap_or(standard.long_retry_limit),
        rts_threshold: options.rts_threshold.map_or(RtsThreshold::Off, |bytes| {
            RtsThreshold::Above(u32::try_from(bytes.as_bytes()).unwrap_or(u32::MAX))
        }),
        reception_range_m: options.reception_range.as_metres(),
        carrier_sense_range_m: options.carrier_sense_range.as_metres(),
        interference: match options.interference {
            radio::Interference::Capture => standard.interference,
            radio::Interference::Overlap => Interference::AnyOverlap,
        },
        sensed_frames: match options.sensed_frames {
            radio::SensedFrames::Eifs => SensedFrames::Eifs,
            radio::SensedFrames::Difs => SensedFrames::Difs,
        },
        answering: match options.answering {
            radio::Answering::Busy => Answering::Busy,
            radio::Answering::Idle => Answering::Idle,
        },
        queue: options
            .buffer
            .map_or(standard.queue, |buffer| match buffer {
                Buffer::Packets(packets) => QueueLimit::Packets(u64::from(packets)),
                Buffer::Bytes(bytes) => QueueLimit::Bytes(bytes),
            }),
        packet_error: probability(options.loss),
        frame_error: probability(options.frame_error),
        ..standard
    })
}

fn probability(p: Probability) -> NetProbability {
    NetProbability::clamped(p.as_fraction())
}
