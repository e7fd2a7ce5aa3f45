//! Durations of frames and exchanges (IEEE 802.11-2007 §9.2.3, §9.2.8, §18.3.4).

use dupack_tcp::time::Duration;

use super::config::RadioConfig;
use crate::units::BitRate;

/// Durations that follow from a [`RadioConfig`], computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Airtime {
    plcp: Duration,
    data_rate: BitRate,
    header_bytes: u32,
    /// Slot time.
    pub slot: Duration,
    /// Short interframe space: the space between the frames of an exchange.
    pub sifs: Duration,
    /// DCF interframe space: SIFS plus two slots.
    pub difs: Duration,
    /// Extended interframe space, after a frame in error: DIFS plus the time for an ACK that the receiver of the frame
    /// may be sending, at the lowest basic rate.
    pub eifs: Duration,
    /// Duration of an ACK frame.
    pub ack: Duration,
    /// Duration of an RTS frame.
    pub rts: Duration,
    /// Duration of a CTS frame.
    pub cts: Duration,
    /// Time that a sender waits after its frame for the beginning of an ACK or CTS: SIFS, a slot, and the time that the
    /// PHY needs to detect a frame, which is the duration of preamble and PLCP header.
    pub answer_timeout: Duration,
}

impl Airtime {
    /// Computes the durations for `config`.
    #[must_use]
    pub fn new(config: &RadioConfig) -> Self {
        let control = |bytes| frame(config.plcp, config.control_rate, bytes);
        let difs = config.sifs + config.slot * 2;
        let slowest_ack = frame(config.plcp, config.lowest_basic_rate, config.ack_bytes);
        Self {
            plcp: config.plcp,
            data_rate: config.data_rate,
            header_bytes: config.mac_bytes.saturating_add(config.llc_bytes),
            slot: config.slot,
            sifs: config.sifs,
            difs,
            eifs: config.sifs + difs + slowest_ack,
            ack: control(config.ack_bytes),
            rts: control(config.rts_bytes),
            cts: control(config.cts_bytes),
            answer_timeout: config.sifs + config.slot + config.plcp,
        }
    }

    /// Returns the duration of a data frame with a packet of `packet_bytes` bytes.
    #[must_use]
    pub fn data(&self, packet_bytes: u32) -> Duration {
        let bytes = packet_bytes.saturating_add(self.header_bytes);
        frame(self.plcp, self.data_rate, bytes)
    }

    /// Returns the duration of a successful exchange by basic access: data, SIFS, ACK.
    #[must_use]
    pub fn basic_exchange(&self, packet_bytes: u32) -> Duration {
        self.data(packet_bytes) + self.sifs + self.ack
    }

    /// Returns the duration that RTS and CTS add to an exchange.
    #[must_use]
    pub fn rts_overhead(&self) -> Duration {
        self.rts + self.sifs + self.cts + self.sifs
    }
}

/// Returns the duration of a frame. The bits after the preamble take a whole number of microseconds, rounded up, as in
/// the LENGTH field of the PLCP.
fn frame(plcp: Duration, rate: BitRate, bytes: u32) -> Duration {
    let bits = u128::from(bytes) * 8;
    let micros = (bits * 1_000_000).div_ceil(u128::from(rate.as_bps()));
    plcp + Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_802_11b() {
        let times = Airtime::new(&RadioConfig::DSSS_11_MBPS);
        let micros = |span: Duration| span.as_nanos() as f64 / 1000.0;
        assert_eq!(micros(times.difs), 50.0);
        // 14 bytes at 1 Mbit/s take 112 µs plus 192 µs of preamble; 20 bytes take 160 µs plus 192 µs.
        assert_eq!(micros(times.ack), 304.0);
        assert_eq!((micros(times.rts), micros(times.cts)), (352.0, 304.0));
        assert_eq!(micros(times.eifs), 10.0 + 50.0 + 304.0);
        // 1028 + 36 bytes at 11 Mbit/s take 773.8 µs, rounded up to 774 µs, plus 192 µs of preamble.
        assert_eq!(micros(times.data(1028)), 966.0);
        assert_eq!(micros(times.answer_timeout), 222.0);
    }
}
