//! Conversion of real-time media to the configuration of `dupack-net`.

use dupack_net::media::MediaConfig;
use dupack_tcp::time::Instant;

use super::{BuildError, bit_rate, span};
use crate::experiment::MediaSource;

/// Returns the configuration of the source `media` at `key`, which starts at `start`.
pub(super) fn media(
    media: &MediaSource,
    key: &str,
    start: Instant,
) -> Result<MediaConfig, BuildError> {
    let rates = media.rates.iter().enumerate();
    let rates = rates.map(|(n, rate)| bit_rate(*rate, &format!("{key}.rates.{n}")));
    let mut config = MediaConfig::new(rates.collect::<Result<_, _>>()?);
    config.start = start;
    if let Some(stop) = media.stop {
        config.stop = Instant::ZERO + span(stop);
    }
    if let Some(packet) = media.packet {
        config.packet_bytes = packet.as_bytes() as u32;
    }
    for (given, place) in [
        (media.frame, &mut config.frame),
        (media.report, &mut config.report),
        (media.delay_limit, &mut config.delay_limit),
        (media.hold, &mut config.hold),
        (media.deadline, &mut config.deadline),
    ] {
        if let Some(given) = given {
            *place = span(given);
        }
    }
    Ok(config)
}
