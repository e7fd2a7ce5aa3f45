//! What a radio channel is like: rates, times, ranges, limits, errors.

use dupack_tcp::time::Duration;

use crate::link::QueueLimit;
use crate::units::{BitRate, Probability};

/// The most stations that one medium takes: they are the bits of a word.
pub const MAX_STATIONS: usize = 64;

/// A radio channel and the stations' MAC, alike for all stations of a medium.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RadioConfig {
    /// Rate of data frames.
    pub data_rate: BitRate,
    /// Rate of RTS, CTS and ACK: one of the basic rates (IEEE 802.11-2007 §9.6).
    pub control_rate: BitRate,
    /// The lowest basic rate: EIFS allows for an ACK at it (IEEE 802.11-2007 §9.2.10).
    pub lowest_basic_rate: BitRate,
    /// Slot time (IEEE 802.11-2007 table 18-5).
    pub slot: Duration,
    /// Short interframe space (same table). DIFS is SIFS and two slots.
    pub sifs: Duration,
    /// Preamble and PLCP header in front of every frame (IEEE 802.11-2007 §18.2.2.1).
    pub plcp: Duration,
    /// The first contention window: backoffs are drawn from 0 to this, in slots.
    pub cw_min: u32,
    /// The largest contention window.
    pub cw_max: u32,
    /// How often a frame up to the RTS threshold, or an RTS, is tried.
    pub short_retry_limit: u32,
    /// How often a frame above the RTS threshold is tried once its RTS was answered.
    pub long_retry_limit: u32,
    /// Which data frames an RTS precedes.
    pub rts_threshold: RtsThreshold,
    /// MAC header and frame check sequence of a data frame, bytes.
    pub mac_bytes: u32,
    /// LLC and SNAP headers of a data frame, bytes.
    pub llc_bytes: u32,
    /// An ACK frame, bytes.
    pub ack_bytes: u32,
    /// An RTS frame, bytes.
    pub rts_bytes: u32,
    /// A CTS frame, bytes.
    pub cts_bytes: u32,
    /// How far a frame can be received, metres.
    pub reception_range_m: f64,
    /// How far a carrier is sensed, metres.
    pub carrier_sense_range_m: f64,
    /// Which of two frames that overlap at a receiver survive.
    pub interference: Interference,
    /// What a station makes of a frame that it senses but cannot receive.
    pub sensed_frames: SensedFrames,
    /// How a station that is about to send an ACK or CTS takes in a packet.
    pub answering: Answering,
    /// The interface queue of each station. The packet that the MAC works on is not in it.
    pub queue: QueueLimit,
    /// Probability that a packet is lost on a hop although the MAC was successful: it is
    /// acknowledged and not retried.
    pub packet_error: Probability,
    /// Probability that a data frame is corrupted: it is retried.
    pub frame_error: Probability,
}

/// Which data frames an RTS precedes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtsThreshold {
    /// None: basic access.
    Off,
    /// Those of more bytes than this, MAC header and FCS included (`dot11RTSThreshold`).
    Above(u32),
}

/// Which of two frames that overlap at a receiver survive.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Interference {
    /// Neither: whatever is sensed at the receiver destroys the frame.
    AnyOverlap,
    /// The frame on which the receiver is locked, if it is that much stronger than each other
    /// one (not than their sum). Power falls with distance to the exponent.
    Capture {
        /// The path loss exponent; 4 for two-ray ground reflection.
        path_loss_exponent: f64,
        /// The ratio of powers from which on the frame survives, in dB.
        threshold_db: f64,
    },
}

/// What a station makes of a frame that it senses but cannot receive: because it comes from too
/// far away, because it began while the station was transmitting, or because others drown its
/// beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SensedFrames {
    /// It is a frame in error: EIFS follows. So ns-2.
    Eifs,
    /// Without a preamble it is noise: DIFS follows. So ns-3. A frame that is drowned only after
    /// its beginning is still a frame in error.
    Difs,
}

/// What the channel is to a station that is about to send an ACK or CTS and gets a packet at that
/// moment. It is not rare: data that have just arrived are relayed, or TCP acknowledges them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answering {
    /// Busy: the packet needs a backoff, for the channel will not stay idle for DIFS (IEEE
    /// 802.11-2007 §9.2.5.1).
    Busy,
    /// Idle: the packet goes out without backoff DIFS after the answer. So ns-3.
    Idle,
}

/// Where a station stands, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// How far east, in metres.
    pub x_m: f64,
    /// How far north, in metres.
    pub y_m: f64,
}

impl Position {
    /// On a line, so far from its origin.
    #[must_use]
    pub const fn on_line(x_m: f64) -> Self {
        Self { x_m, y_m: 0.0 }
    }

    /// Metres between the two.
    #[must_use]
    pub fn distance_m(self, other: Self) -> f64 {
        libm::hypot(self.x_m - other.x_m, self.y_m - other.y_m)
    }
}

impl RadioConfig {
    /// 802.11b at 11 Mbit/s with the long preamble, control frames at 1 Mbit/s, basic access;
    /// ranges and capture as ns-2 has them (250 m, 550 m, 10 dB), 50 packets of queue.
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

    /// The same where ns-3.37 reads the standard differently: with these two rules the medium's
    /// throughput is ns-3's (`tests/ns3_agreement.rs`).
    pub const DSSS_11_MBPS_AS_NS3: Self = Self {
        sensed_frames: SensedFrames::Difs,
        answering: Answering::Idle,
        ..Self::DSSS_11_MBPS
    };

    /// What is wrong with this configuration, if anything is.
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

/// Beyond this a backoff would take most of a second; the standard's largest is 1023.
const MAX_CONTENTION_WINDOW: u32 = 32_767;

/// Why a medium cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RadioFault {
    /// The queue limit is zero.
    NoBuffer,
    /// The contention windows are out of order or too large.
    ContentionWindow,
    /// A retry limit is zero.
    NoAttempt,
    /// Slot or SIFS is zero.
    NoTime,
    /// The ranges are not positive, or reception reaches further than carrier sense.
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
    /// What is wrong, and the remedy.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NoBuffer => "its queues hold nothing: give them room for at least one packet",
            Self::ContentionWindow => {
                "its contention windows make no sense: they need cw_min <= cw_max <= 32767"
            }
            Self::NoAttempt => "a retry limit of zero sends nothing: allow at least one attempt",
            Self::NoTime => "slot and SIFS must be longer than nothing",
            Self::Ranges => {
                "its ranges make no sense: they need 0 < reception range <= carrier-sense range"
            }
            Self::Capture => {
                "its capture parameters make no sense: they need an exponent above zero and a \
                 threshold of at least 0 dB"
            }
            Self::TooManyStations => "it has more than 64 stations: use several media",
            Self::Nowhere => "a station's position is not a finite number of metres",
            Self::OutOfRange => {
                "its ends are further apart than the reception range: move them closer or relay"
            }
        }
    }
}
