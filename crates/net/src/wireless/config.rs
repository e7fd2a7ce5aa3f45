//! Configuration of a radio channel: rates, times, ranges, limits, errors.

use dupack_tcp::time::Duration;

use crate::link::QueueLimit;
use crate::units::{BitRate, Probability};

/// Maximum number of stations of a medium: the number of bits in a 64-bit word.
pub const MAX_STATIONS: usize = 64;

/// Configuration of a radio channel and of the MAC of all its stations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RadioConfig {
    /// Rate of data frames.
    pub data_rate: BitRate,
    /// Rate of RTS, CTS and ACK: one of the basic rates (IEEE 802.11-2007 §9.6).
    pub control_rate: BitRate,
    /// Lowest basic rate: EIFS includes an ACK at this rate (IEEE 802.11-2007 §9.2.10).
    pub lowest_basic_rate: BitRate,
    /// Slot time (IEEE 802.11-2007 table 18-5).
    pub slot: Duration,
    /// Short interframe space (same table). DIFS is SIFS plus two slots.
    pub sifs: Duration,
    /// Preamble and PLCP header in front of every frame (IEEE 802.11-2007 §18.2.2.1).
    pub plcp: Duration,
    /// Initial contention window: a backoff is drawn from 0 to this number of slots.
    pub cw_min: u32,
    /// Maximum contention window.
    pub cw_max: u32,
    /// Maximum number of attempts for a frame up to the RTS threshold, or for an RTS.
    pub short_retry_limit: u32,
    /// Maximum number of attempts for a frame above the RTS threshold, once its RTS was answered.
    pub long_retry_limit: u32,
    /// Data frames that are preceded by an RTS.
    pub rts_threshold: RtsThreshold,
    /// Size of the MAC header and frame check sequence of a data frame, in bytes.
    pub mac_bytes: u32,
    /// Size of the LLC and SNAP headers of a data frame, in bytes.
    pub llc_bytes: u32,
    /// Size of an ACK frame in bytes.
    pub ack_bytes: u32,
    /// Size of an RTS frame in bytes.
    pub rts_bytes: u32,
    /// Size of a CTS frame in bytes.
    pub cts_bytes: u32,
    /// Maximum distance at which a frame can be received, in metres.
    pub reception_range_m: f64,
    /// Maximum distance at which a carrier is sensed, in metres.
    pub carrier_sense_range_m: f64,
    /// Model of two frames that overlap at a receiver.
    pub interference: Interference,
    /// Treatment of frames that a station senses but cannot receive.
    pub sensed_frames: SensedFrames,
    /// State of the channel for a station that is about to send an ACK or CTS.
    pub answering: Answering,
    /// Interface queue of each station, without the packet that the MAC works on.
    pub queue: QueueLimit,
    /// Probability that a packet is lost on a hop although the MAC succeeded. Such a packet is acknowledged and not
    /// retried.
    pub packet_error: Probability,
    /// Probability that a data frame is corrupted. A corrupted frame is retried.
    pub frame_error: Probability,
}

/// Data frames that are preceded by an RTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtsThreshold {
    /// No RTS: basic access for all frames.
    Off,
    /// Frames that are larger than this number of bytes, including MAC header and FCS (`dot11RTSThreshold`).
    Above(u32),
}

/// Model of two frames that overlap at a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Interference {
    /// No capture: any sensed transmission at the receiver destroys the frame.
    AnyOverlap,
    /// Capture: the frame that the receiver is locked on survives if it is stronger by a threshold than every other
    /// frame, compared one by one and not with their sum. Received power is proportional to distance^(−exponent).
    Capture {
        /// Path loss exponent; 4 for two-ray ground reflection.
        path_loss_exponent: f64,
        /// Minimum ratio of received powers at which the frame survives, in dB.
        threshold_db: f64,
    },
}

/// Treatment of frames that a station senses but cannot receive. The sender may be too far away, the frame may have
/// begun while the station was transmitting, or other frames may have interfered with its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SensedFrames {
    /// The frame is treated as a frame in error, followed by EIFS, as in ns-2.
    Eifs,
    /// The frame is treated as noise without a preamble, followed by DIFS, as in ns-3. If other frames interfere only
    /// after the beginning, the frame is still treated as a frame in error.
    Difs,
}

/// State of the channel for a station that is about to send an ACK or CTS, if a packet to send reaches its MAC at that
/// moment. This is common: a station relays data that has just arrived, or TCP acknowledges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answering {
    /// The channel is busy: the packet needs a backoff, because the channel will not stay idle for DIFS (IEEE
    /// 802.11-2007 §9.2.5.1).
    Busy,
    /// The channel is idle: the packet is sent without backoff, DIFS after the answer, as in ns-3.
    Idle,
}

/// Position of a station in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East coordinate in metres.
    pub x_m: f64,
    /// North coordinate in metres.
    pub y_m: f64,
}

impl Position {
    /// Returns the position on a line, at distance `x_m` from the origin.
    #[must_use]
    pub const fn on_line(x_m: f64) -> Self {
        Self { x_m, y_m: 0.0 }
    }

    /// Returns the distance between two positions in metres.
    #[must_use]
    pub fn distance_m(self, other: Self) -> f64 {
        libm::hypot(self.x_m - other.x_m, self.y_m - other.y_m)
    }
}

impl RadioConfig {
    /// 802.11b at 11 Mbit/s with the long preamble, control frames at 1 Mbit/s, and basic access. The ranges and the
    /// capture model are those of ns-2 (250 m, 550 m, 10 dB), and the queue holds 50 packets.
    pub const DSSS_11_MBPS: Self = Self {
        data_rate: BitRate::from_mbps(11),
        control_rate: BitRate::from_mbps(1),
        lowest_basic_rate: BitRate::from_mbps(1),
        slot: Duration::from_micros(20),
        sifs: Duration::from_micros(10),
        plcp: Duration::from_micros(192),
        cw_min: 31,
        cw_max: 1023,
        short_retry_limit: 7,
        long_retry_limit: 4,
        rts_threshold: RtsThreshold::Off,
        mac_bytes: 28,
        llc_bytes: 8,
        ack_bytes: 14,
        rts_bytes: 20,
        cts_bytes: 14,
        reception_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference: Interference::Capture {
            path_loss_exponent: 4.0,
            threshold_db: 10.0,
        },
        sensed_frames: SensedFrames::Eifs,
        answering: Answering::Busy,
        queue: QueueLimit::Packets(50),
        packet_error: Probability::NEVER,
        frame_error: Probability::NEVER,
    };

    /// The same configuration, with ns-3.37's interpretation of the standard. With these two rules, the throughput of
    /// the medium equals that of ns-3 (`tests/it/ns3_agreement.rs`).
    pub const DSSS_11_MBPS_AS_NS3: Self = Self {
        sensed_frames: SensedFrames::Difs,
        answering: Answering::Idle,
        ..Self::DSSS_11_MBPS
    };

    /// Returns the fault in this configuration, if there is one.
    #[must_use]
    pub fn fault(&self) -> Option<RadioFault> {
        if matches!(self.queue, QueueLimit::Packets(0) | QueueLimit::Bytes(0)) {
            return Some(RadioFault::NoBuffer);
        }
        if self.cw_min > self.cw_max || self.cw_max > MAX_CONTENTION_WINDOW {
            return Some(RadioFault::ContentionWindow);
        }
        if self.short_retry_limit == 0 || self.long_retry_limit == 0 {
            return Some(RadioFault::NoAttempt);
        }
        if self.slot.is_zero() || self.sifs.is_zero() {
            return Some(RadioFault::NoTime);
        }
        let ordered = 0.0 < self.reception_range_m
            && self.reception_range_m <= self.carrier_sense_range_m
            && self.carrier_sense_range_m.is_finite();
        if !ordered {
            return Some(RadioFault::Ranges);
        }
        match self.interference {
            Interference::Capture {
                path_loss_exponent: exponent,
                threshold_db: db,
            } if !(exponent > 0.0 && exponent.is_finite() && db >= 0.0 && db.is_finite()) => {
                Some(RadioFault::Capture)
            }
            _ => None,
        }
    }
}

impl Default for RadioConfig {
    fn default() -> Self {
        Self::DSSS_11_MBPS
    }
}

/// Maximum contention window. With slots of 20 µs, its longest backoff takes 0.66 s. The maximum of the standard is
/// 1023.
const MAX_CONTENTION_WINDOW: u32 = 32_767;

/// Reason why a medium cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RadioFault {
    /// The queue limit is zero.
    NoBuffer,
    /// The contention windows are in the wrong order or too large.
    ContentionWindow,
    /// A retry limit is zero.
    NoAttempt,
    /// Slot or SIFS is zero.
    NoTime,
    /// The ranges are not positive and finite, or reception reaches further than carrier sense.
    Ranges,
    /// The capture parameters are out of range.
    Capture,
    /// There are more stations than [`MAX_STATIONS`].
    TooManyStations,
    /// A position is not a finite number of metres.
    Nowhere,
    /// A link joins two stations that cannot receive each other's frames.
    OutOfRange,
}

impl RadioFault {
    /// Returns the fault and its remedy.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NoBuffer => {
                "its queue limit is zero: give its queues room for at least one packet"
            }
            Self::ContentionWindow => {
                "its contention windows are invalid: expected cw_min <= cw_max <= 32767"
            }
            Self::NoAttempt => "a retry limit is zero: allow at least one attempt",
            Self::NoTime => "slot or SIFS is zero: expected durations above zero",
            Self::Ranges => {
                "its ranges are invalid: expected 0 < reception range <= carrier-sense range, both finite"
            }
            Self::Capture => {
                "its capture parameters are invalid: expected an exponent above zero and a \
                 threshold of at least 0 dB"
            }
            Self::TooManyStations => "it has more than 64 stations: use several media",
            Self::Nowhere => "a station's position is invalid: expected finite numbers of metres",
            Self::OutOfRange => {
                "its ends are further apart than the reception range: move them closer or add a relay"
            }
        }
    }
}
