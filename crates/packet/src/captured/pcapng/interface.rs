//! What a pcapng file says of an interface: above all, what its times count in.

use super::super::Order;
use super::super::link::LinkType;
use super::options::Options;
use crate::capture::CaptureTime;

/// Most bytes of a name that are kept: four times what Linux allows (`IFNAMSIZ`), as Windows has longer ones.
const NAME_BYTES_MAX: usize = 64;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// What Wireshark keeps, and others may write, for a count that is not known.
const UNKNOWN_COUNT: u64 = u64::MAX;

/// Options of an interface description (§4.2) and of statistics (§4.6).
mod code {
    pub(super) const NAME: u16 = 2;
    pub(super) const RESOLUTION: u16 = 9;
    pub(super) const OFFSET: u16 = 14;
    pub(super) const DROPPED_BY_INTERFACE: u16 = 5;
    pub(super) const DROPPED_BY_SYSTEM: u16 = 7;
}

/// An interface that a pcapng file describes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// What its packets begin with.
    pub link: LinkType,
    /// Its name, if the file tells.
    pub name: Option<Box<str>>,
    /// Most bytes that are kept of a packet; 0 if there is no limit.
    pub snap: u32,
    /// Packets that were dropped on it for want of room, by the interface or the system.
    pub dropped: u64,
    resolution: Resolution,
    /// Seconds to add to its times.
    offset: i64,
}

/// What an interface's times count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// So many nanoseconds.
    Nanos(u64),
    /// So many make a nanosecond.
    PerNano(u64),
    /// A second has 2 to the power of this.
    Binary(u8),
    /// So fine that no time of 64 bits is a nanosecond.
    Nothing,
}

impl Resolution {
    /// Microseconds, where a file says nothing.
    const DEFAULT: Self = Self::Nanos(1000);

    /// The option's value: the exponent, and above it whether it is of 2 or of 10.
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
                // Less than 2⁹⁴.
                let nanos = u128::from(ticks) * u128::from(NANOS_PER_SECOND);
                u64::try_from(nanos >> exponent).unwrap_or(u64::MAX)
            }
            Self::Nothing => 0,
        }
    }
}

impl Interface {
    /// Reads the body of an interface description block.
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

    /// The time that so many of the interface's ticks are; not before 1970.
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

    /// The time that so many ticks are on an interface that nothing is known of.
    pub(super) fn time_by_default(ticks: u64) -> CaptureTime {
        CaptureTime::from_unix_nanos(Resolution::DEFAULT.nanos(ticks))
    }

    /// Takes down how many packets were dropped so far.
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

/// A number of 64 bits, in the section's order.
fn number(order: Order, value: &[u8]) -> Option<u64> {
    let bytes = *value.first_chunk::<8>()?;
    Some(match order {
        Order::Big => u64::from_be_bytes(bytes),
        Order::Little => u64::from_le_bytes(bytes),
    })
}

/// As much of a name as is kept, with nothing in it that a terminal would heed.
fn readable(name: &[u8]) -> Box<str> {
    let kept = name.get(..NAME_BYTES_MAX).unwrap_or(name);
    let text = String::from_utf8_lossy(kept);
    let plain = text.chars().filter(|c| !c.is_control());
    plain.collect::<String>().into_boxed_str()
}
