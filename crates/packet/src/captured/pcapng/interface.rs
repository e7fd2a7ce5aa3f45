//! Interface description of a pcapng file, including the unit of its times.

use super::super::Order;
use super::super::link::LinkType;
use super::options::Options;
use crate::capture::CaptureTime;

/// Maximum number of bytes kept of a name: four times Linux's limit (`IFNAMSIZ`), because Windows has longer names.
const NAME_BYTES_MAX: usize = 64;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Value for an unknown count, in Wireshark and possibly in other programs.
const UNKNOWN_COUNT: u64 = u64::MAX;

/// Options of an interface description (§4.2) and of statistics (§4.6).
mod code {
    pub(super) const NAME: u16 = 2;
    pub(super) const RESOLUTION: u16 = 9;
    pub(super) const OFFSET: u16 = 14;
    pub(super) const DROPPED_BY_INTERFACE: u16 = 5;
    pub(super) const DROPPED_BY_SYSTEM: u16 = 7;
}

/// Interface that a pcapng file describes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// Type of the first header of the interface's packets.
    pub link: LinkType,
    /// Name, if the file has one.
    pub name: Option<Box<str>>,
    /// Maximum number of captured bytes of a packet; 0 if there is no limit.
    pub snap: u32,
    /// Number of packets that the interface or the system dropped because a buffer was full.
    pub dropped: u64,
    resolution: Resolution,
    /// Seconds that are added to the interface's times.
    offset: i64,
}

/// Unit of the times of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// A tick has this number of nanoseconds.
    Nanos(u64),
    /// There is this number of ticks per nanosecond.
    PerNano(u64),
    /// There are 2 to the power of this number of ticks per second.
    Binary(u8),
    /// The unit is so small that even the largest 64-bit time is shorter than a nanosecond.
    Nothing,
}

impl Resolution {
    /// Microseconds, the default.
    const DEFAULT: Self = Self::Nanos(1000);

    /// Parses the option's value. The highest bit selects base 2 or 10; the other bits are the exponent.
    fn of(value: u8) -> Self {
        let exponent = value & 0x7f;
        if value & 0x80 != 0 {
            return Self::Binary(exponent);
        }
        let apart = u32::from(exponent.abs_diff(9));
        match (exponent <= 9, 10_u64.checked_pow(apart)) {
            (true, Some(nanos)) => Self::Nanos(nanos),
            (false, Some(ticks)) => Self::PerNano(ticks),
            (_, None) => Self::Nothing,
        }
    }

    #[inline]
    fn nanos(self, ticks: u64) -> u64 {
        match self {
            Self::Nanos(nanos) => ticks.saturating_mul(nanos),
            Self::PerNano(per_nano) => ticks / per_nano,
            Self::Binary(exponent) => {
                // The product is less than 2⁹⁴.
                let nanos = u128::from(ticks) * u128::from(NANOS_PER_SECOND);
                u64::try_from(nanos >> exponent).unwrap_or(u64::MAX)
            }
            Self::Nothing => 0,
        }
    }
}

impl Interface {
    /// Parses the body of an interface description block.
    pub(super) fn parse(order: Order, body: &[u8]) -> Self {
        let mut interface = Self {
            link: LinkType(u32::from(order.u16_at(body, 0))),
            name: None,
            snap: order.u32_at(body, 4),
            dropped: 0,
            resolution: Resolution::DEFAULT,
            offset: 0,
        };
        let options = body.get(8..).unwrap_or_default();
        for (code, value) in Options::new(order, options) {
            match (code, value) {
                (code::NAME, name) => interface.name = Some(readable(name)),
                (code::RESOLUTION, &[value, ..]) => interface.resolution = Resolution::of(value),
                (code::OFFSET, _) => {
                    interface.offset = number(order, value).map_or(0, u64::cast_signed);
                }
                _ => {}
            }
        }
        interface
    }

    /// Converts a number of the interface's ticks to a time, which is not before 1970.
    #[inline]
    pub(super) fn time(&self, ticks: u64) -> CaptureTime {
        let nanos = self.resolution.nanos(ticks);
        let apart = self.offset.unsigned_abs().saturating_mul(NANOS_PER_SECOND);
        CaptureTime::from_unix_nanos(match self.offset {
            0 => nanos,
            1.. => nanos.saturating_add(apart),
            _ => nanos.saturating_sub(apart),
        })
    }

    /// Converts a number of ticks of an unknown interface to a time, in the default unit.
    pub(super) fn time_by_default(ticks: u64) -> CaptureTime {
        CaptureTime::from_unix_nanos(Resolution::DEFAULT.nanos(ticks))
    }

    /// Records the number of packets dropped so far.
    pub(super) fn count_dropped(&mut self, statistics: Options<'_>) {
        let order = statistics.order();
        let mut dropped = 0_u64;
        for (code, value) in statistics {
            if matches!(code, code::DROPPED_BY_INTERFACE | code::DROPPED_BY_SYSTEM) {
                let count = number(order, value).filter(|&count| count != UNKNOWN_COUNT);
                dropped = dropped.saturating_add(count.unwrap_or(0));
            }
        }
        self.dropped = self.dropped.max(dropped);
    }
}

/// Returns a 64-bit number in the section's byte order.
fn number(order: Order, value: &[u8]) -> Option<u64> {
    let bytes = *value.first_chunk::<8>()?;
    Some(match order {
        Order::Big => u64::from_be_bytes(bytes),
        Order::Little => u64::from_le_bytes(bytes),
    })
}

/// Returns the kept part of a name, without control characters.
fn readable(name: &[u8]) -> Box<str> {
    let kept = name.get(..NAME_BYTES_MAX).unwrap_or(name);
    let text = String::from_utf8_lossy(kept);
    let plain = text.chars().filter(|c| !c.is_control());
    plain.collect::<String>().into_boxed_str()
}
