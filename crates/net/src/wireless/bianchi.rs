//! Saturation throughput of DCF in closed form: G. Bianchi, "Performance analysis of the IEEE 802.11 distributed
//! coordination function", IEEE JSAC 18(3), 2000.
//!
//! *n* stations always have a packet to send, and all sense each other. Each station transmits in a slot with
//! probability τ, and the transmission then collides with probability p:
//!
//! ```text
//! p = 1 − (1 − τ)^(n−1)                          at least one other station transmits
//! τ = Σ pⁱ / Σ pⁱ · (Wᵢ + 1)/2                   attempts per slot, Wᵢ = min(2ⁱ·W, W_max)
//! ```
//!
//! The sums are over the attempts for a packet, i = 0, 1, …. Infinite sums give Bianchi's equation (7); sums up to the
//! retry limit give the finite-retry variant (Wu et al., INFOCOM 2002). The throughput is the payload per slot divided
//! by the mean length of a slot (equation 13):
//!
//! ```text
//! S = Ps·Ptr·L / ((1 − Ptr)·σ + Ptr·Ps·Ts + Ptr·(1 − Ps)·Tc)
//! ```
//!
//! A collision keeps the channel busy until EIFS after the frame, because the stations that heard the frame wait this
//! long. In the model, a station also counts a slot while others transmit; in the standard, it does not. With a window
//! of 32 or more, the difference is small.

use dupack_tcp::time::Duration;

use super::airtime::Airtime;
use super::config::{RadioConfig, RtsThreshold};

/// Limit on the attempts for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempts {
    /// Attempts continue until success.
    Unlimited,
    /// At most this many attempts are made.
    AtMost(u32),
}

/// Results for *n* stations in saturation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Saturation {
    /// Probability τ that a station transmits in a slot.
    pub transmission_probability: f64,
    /// Probability p that a transmission collides.
    pub collision_probability: f64,
    /// Throughput of all stations together, in bits of packets per second.
    pub throughput_bps: f64,
}

/// Solves the model for `stations` stations (at least one) that send packets of `packet_bytes` bytes.
#[must_use]
pub fn saturation(
    config: &RadioConfig,
    stations: u32,
    packet_bytes: u32,
    attempts: Attempts,
) -> Saturation {
    let others = f64::from(stations.max(1) - 1);
    let collides = |tau: f64| 1.0 - libm::pow(1.0 - tau, others);
    // τ(p(τ)) decreases with τ, so the fixed point is its intersection with the diagonal.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if attempt_rate(config, collides(middle), attempts) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    let tau = 0.5 * (low + high);
    let idle = libm::pow(1.0 - tau, others + 1.0);
    let success = (others + 1.0) * tau * libm::pow(1.0 - tau, others);
    let lengths = SlotLengths::new(config, packet_bytes);
    let mean_slot_s = idle * config.slot.as_secs_f64()
        + success * lengths.success.as_secs_f64()
        + (1.0 - idle - success) * lengths.collision.as_secs_f64();
    Saturation {
        transmission_probability: tau,
        collision_probability: collides(tau),
        throughput_bps: success * f64::from(packet_bytes) * 8.0 / mean_slot_s,
    }
}

/// Number of bisections of the unit interval, down to the last bit of a double.
const BISECTIONS: u32 = 60;
/// Number of attempts after which the infinite sum over attempts continues in closed form, because the window no longer
/// grows.
const DOUBLINGS: u32 = 32;

/// Returns τ for a given p.
fn attempt_rate(config: &RadioConfig, p: f64, attempts: Attempts) -> f64 {
    let window = |i: u32| {
        let doubled = (f64::from(config.cw_min) + 1.0) * libm::pow(2.0, f64::from(i));
        doubled.min(f64::from(config.cw_max) + 1.0)
    };
    let (mut tries, mut slots, mut share) = (0.0, 0.0, 1.0);
    let counted = match attempts {
        Attempts::Unlimited => DOUBLINGS,
        Attempts::AtMost(limit) => limit,
    };
    for i in 0..counted {
        tries += share;
        slots += share * 0.5 * (window(i) + 1.0);
        share *= p;
    }
    if attempts == Attempts::Unlimited {
        // At p = 1, only the closed-form part remains, with the largest window.
        let tail = share / (1.0 - p).max(f64::MIN_POSITIVE);
        tries += tail;
        slots += tail * 0.5 * (window(DOUBLINGS) + 1.0);
    }
    tries / slots
}

/// Time for which the channel is busy with a success and with a collision, including the following interframe space.
struct SlotLengths {
    success: Duration,
    collision: Duration,
}

impl SlotLengths {
    fn new(config: &RadioConfig, packet_bytes: u32) -> Self {
        let times = Airtime::new(config);
        let basic = times.basic_exchange(packet_bytes) + times.difs;
        let frame_bytes = packet_bytes.saturating_add(config.mac_bytes + config.llc_bytes);
        match config.rts_threshold {
            RtsThreshold::Above(bytes) if frame_bytes > bytes => Self {
                success: times.rts_overhead() + basic,
                collision: times.rts + times.eifs,
            },
            RtsThreshold::Above(_) | RtsThreshold::Off => Self {
                success: basic,
                collision: times.data(packet_bytes) + times.eifs,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns τ by Bianchi's closed form, equation (7).
    fn equation_7(p: f64, window: f64, stages: i32) -> f64 {
        let q: f64 = 2.0 * p;
        2.0 * (1.0 - q) / ((1.0 - q) * (window + 1.0) + p * window * (1.0 - q.powi(stages)))
    }

    #[test]
    fn the_sums_agree_with_bianchis_equation() {
        let config = RadioConfig::DSSS_11_MBPS;
        for p in [0.0, 0.1, 0.3, 0.45, 0.7] {
            // The window is W = 32, with five doublings to 1024.
            let ours = attempt_rate(&config, p, Attempts::Unlimited);
            assert!((ours / equation_7(p, 32.0, 5) - 1.0).abs() < 1e-9, "{p}");
        }
    }

    #[test]
    fn a_lone_station_agrees_with_the_closed_form() {
        let config = RadioConfig::DSSS_11_MBPS;
        let alone = saturation(&config, 1, 1028, Attempts::AtMost(7));
        assert_eq!(alone.collision_probability, 0.0);
        // DIFS 50 + 15.5 slots 310 + data 966 + SIFS 10 + ACK 304 = 1640 µs.
        let expected = 1028.0 * 8.0 / 1640e-6;
        assert!((alone.throughput_bps / expected - 1.0).abs() < 1e-9);
    }
}
