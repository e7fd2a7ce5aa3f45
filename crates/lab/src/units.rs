//! Quantities with units: `"10Mbit/s"`, `"20ms"`, `"1%"`, `"50pkt"`, `"20MB"`.
//!
//! The same text is accepted on the command line (`FromStr`) and in an experiment file (`Deserialize`). `Display`
//! writes the shortest exact form, which parses to the same value. Parsing is exact: `"0.1ms"` is 100,000 ns, and a
//! value that cannot be represented (`"0.5ns"`) is an error instead of being rounded. Every error contains the text,
//! the problem, and a suggestion.

mod parse;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use parse::{Family, Unit};
pub use parse::{Problem, UnitError};

/// Data rate in bits per second, such as that of a link: `"10Mbit/s"`, `"1.5Gbit/s"`, `"838kbit/s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// Time span in nanoseconds, such as a propagation delay: `"20ms"`, `"200us"`, `"1.5s"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delay(u64);

/// Number of bytes, such as the size of a transfer: `"20MB"`, `"64KiB"`, `"1460B"`.
///
/// `kB`, `MB`, `GB`, `TB` are powers of 1000; `KiB`, `MiB`, `GiB`, `TiB` are powers of 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u64);

/// Capacity in packets or in bytes: `"50pkt"`, `"64kB"`, `"1MiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// Number of packets of any size.
    Packets(u32),
    /// Number of bytes, including headers.
    Bytes(u64),
}

/// Capacity of a link's queue: a [`Buffer`], or a multiple of the path's bandwidth-delay product: `"34pkt"`, `"64kB"`,
/// `"0.5bdp"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Room {
    /// Number of packets or bytes.
    Fixed(Buffer),
    /// Multiple of the product of the link's rate and the base round-trip time, without queueing.
    Bdp {
        /// The factor, in thousandths.
        thousandths: u32,
    },
}

impl Room {
    /// One bandwidth-delay product.
    pub const ONE_BDP: Self = Self::Bdp { thousandths: 1000 };

    /// Returns `true` if the capacity is zero.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        matches!(
            self,
            Self::Fixed(Buffer::Packets(0) | Buffer::Bytes(0)) | Self::Bdp { thousandths: 0 }
        )
    }
}

impl From<Buffer> for Room {
    fn from(buffer: Buffer) -> Self {
        Self::Fixed(buffer)
    }
}

/// Distance in millimetres, such as that between two radio stations: `"200m"`, `"1.5km"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Distance(u64);

/// Probability between 0 and 1: `"1%"`, `"0.5%"`, `"0.01"`.
///
/// A bare number is a fraction, so `"5"` is an error that suggests `"5%"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

const RATE: Family = Family {
    units: &[
        Unit::new("bit/s", 1),
        Unit::new("kbit/s", 1_000),
        Unit::new("Mbit/s", 1_000_000),
        Unit::new("Gbit/s", 1_000_000_000),
        Unit::new("Tbit/s", 1_000_000_000_000),
        Unit::alias("bps", 1),
        Unit::alias("kbps", 1_000),
        Unit::alias("Mbps", 1_000_000),
        Unit::alias("Gbps", 1_000_000_000),
        Unit::alias("Tbps", 1_000_000_000_000),
    ],
    default_unit: "Mbit/s",
    bare_unit: "Mbit/s",
    finest: "1bit/s",
    zero_needs_unit: true,
    diagnose: diagnose_rate,
};

const DELAY: Family = Family {
    units: &[
        Unit::new("ns", 1),
        Unit::new("us", 1_000),
        Unit::new("ms", 1_000_000),
        Unit::new("s", 1_000_000_000),
        Unit::alias("\u{b5}s", 1_000),
        Unit::alias("\u{3bc}s", 1_000),
        Unit::alias("min", 60_000_000_000),
    ],
    default_unit: "ms",
    bare_unit: "ms",
    finest: "1ns",
    zero_needs_unit: false,
    diagnose: diagnose_delay,
};

const BYTES: Family = Family {
    units: &[
        Unit::new("B", 1),
        Unit::new("kB", 1_000),
        Unit::new("KiB", 1 << 10),
        Unit::new("MB", 1_000_000),
        Unit::new("MiB", 1 << 20),
        Unit::new("GB", 1_000_000_000),
        Unit::new("GiB", 1 << 30),
        Unit::new("TB", 1_000_000_000_000),
        Unit::new("TiB", 1 << 40),
    ],
    default_unit: "kB",
    bare_unit: "B",
    finest: "1B",
    zero_needs_unit: false,
    diagnose: diagnose_bytes,
};

const PACKETS: Family = Family {
    units: &[
        Unit::new("pkt", 1),
        Unit::alias("pkts", 1),
        Unit::alias("packet", 1),
        Unit::alias("packets", 1),
    ],
    default_unit: "pkt",
    bare_unit: "pkt",
    finest: "1pkt",
    zero_needs_unit: true,
    diagnose: |_, _| None,
};

const PRODUCTS: Family = Family {
    units: &[
        Unit::new("bdp", 1_000),
        Unit::alias("BDP", 1_000),
        Unit::alias("bdps", 1_000),
    ],
    default_unit: "bdp",
    bare_unit: "bdp",
    finest: "0.001bdp",
    zero_needs_unit: true,
    diagnose: |_, _| None,
};

const DISTANCE: Family = Family {
    units: &[
        Unit::new("mm", 1),
        Unit::new("m", 1_000),
        Unit::new("km", 1_000_000),
        Unit::alias("cm", 10),
    ],
    default_unit: "m",
    bare_unit: "m",
    finest: "1mm",
    zero_needs_unit: true,
    diagnose: |_, _| None,
};

impl Rate {
    /// Creates a rate from bits per second.
    #[must_use]
    pub const fn from_bits_per_second(bits_per_second: u64) -> Self {
        Self(bits_per_second)
    }

    /// Returns the rate in bits per second.
    #[must_use]
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }

    /// Returns the rate in megabits (10⁶ bits) per second, for measures and axes.
    #[must_use]
    pub fn as_megabits_per_second(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Delay {
    /// Creates a delay from nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the delay in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the delay in seconds, for measures and axes.
    #[must_use]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl ByteCount {
    /// Creates a byte count.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn as_bytes(self) -> u64 {
        self.0
    }
}

impl Distance {
    /// Creates a distance from millimetres.
    #[must_use]
    pub const fn from_millimetres(millimetres: u64) -> Self {
        Self(millimetres)
    }

    /// Returns the distance in metres.
    #[must_use]
    pub fn as_metres(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Probability {
    /// Creates the probability `fraction`.
    ///
    /// # Errors
    /// If `fraction` is not a number between 0 and 1.
    pub fn new(fraction: f64) -> Result<Self, UnitError> {
        if (0.0..=1.0).contains(&fraction) {
            // Adding zero turns -0.0 into 0.0, so that it is printed as `0%`.
            Ok(Self(fraction + 0.0))
        } else {
            Err(parse::bad_fraction(&fraction.to_string(), fraction))
        }
    }

    /// Returns the probability as a fraction between 0 and 1.
    #[must_use]
    pub const fn as_fraction(self) -> f64 {
        self.0
    }

    /// Returns the probability in percent, as it was written. For `7%` this is exactly 7, although a hundred times the
    /// nearest fraction is slightly more.
    #[must_use]
    pub fn as_percent(self) -> f64 {
        /// Resolution: parts per percent.
        const PARTS: f64 = 1e10;
        (self.0 * 100.0 * PARTS).round() / PARTS
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        RATE.parse(text).map(Self)
    }
}

impl FromStr for Delay {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        DELAY.parse(text).map(Self)
    }
}

impl FromStr for ByteCount {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        BYTES.parse(text).map(Self)
    }
}

impl FromStr for Distance {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        DISTANCE.parse(text).map(Self)
    }
}

impl FromStr for Buffer {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let unit = parse::unit_of(text);
        if PACKETS.units.iter().any(|known| known.name == unit) {
            let packets = PACKETS.parse(text)?;
            return u32::try_from(packets).map(Self::Packets).map_err(|_| {
                UnitError::new(text, Problem::TooLarge, format!("at most {}pkt", u32::MAX))
            });
        }
        let known = BYTES.units.iter().any(|known| known.name == unit);
        match BYTES.parse(text) {
            Ok(bytes) if known => Ok(Self::Bytes(bytes)),
            // A bare zero also needs a unit here, because the unit changes the meaning of a capacity.
            Ok(_) => Err(buffer_error(text, Problem::NoUnit)),
            Err(error) if matches!(error.problem, Problem::NoUnit | Problem::UnknownUnit(_)) => {
                Err(buffer_error(text, error.problem))
            }
            Err(error) => Err(error),
        }
    }
}

impl FromStr for Room {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let unit = parse::unit_of(text);
        if !PRODUCTS.units.iter().any(|known| known.name == unit) {
            return text.parse().map(Self::Fixed);
        }
        let thousandths = PRODUCTS.parse(text)?;
        u32::try_from(thousandths)
            .map(|thousandths| Self::Bdp { thousandths })
            .map_err(|_| UnitError::new(text, Problem::TooLarge, "at most 4000000bdp"))
    }
}

fn buffer_error(text: &str, problem: Problem) -> UnitError {
    let number = parse::number_of(text);
    let remedy = match parse::nearest(
        parse::unit_of(text),
        PACKETS.units.iter().chain(BYTES.units),
    ) {
        Some(unit) => format!("{number}{unit}"),
        None => format!("{number}pkt or {number}kB"),
    };
    UnitError::new(text, problem, remedy)
}

impl FromStr for Probability {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse::probability(text).map(Self)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&RATE.print(self.0))
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&DELAY.print(self.0))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&BYTES.print(self.0))
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&DISTANCE.print(self.0))
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match *self {
            Self::Packets(packets) => PACKETS.print(packets.into()),
            Self::Bytes(bytes) => BYTES.print(bytes),
        })
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(buffer) => buffer.fmt(f),
            Self::Bdp { thousandths } => f.pad(&format!("{}bdp", f64::from(thousandths) / 1000.0)),
        }
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&parse::print_probability(self.0))
    }
}

/// Diagnoses a rate: `10Mb`, `10M` and `10Mbit` lack the time unit; `10MB/s` counts bytes.
fn diagnose_rate(number: &str, unit: &str) -> Option<(Problem, String)> {
    let (stem, per_second) = match unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")) {
        Some(stem) => (stem, true),
        None => (unit, false),
    };
    let prefix = ["", "k", "K", "M", "G", "T"].into_iter().find(|&prefix| {
        ["", "b", "bit", "bits", "B"]
            .iter()
            .any(|tail| stem == format!("{prefix}{tail}"))
    })?;
    let prefix = if prefix == "K" { "k" } else { prefix };
    if stem.ends_with('B') {
        // The suggestion is in bits if possible, so that it can be copied.
        let bytes = RATE.parse(&format!("{number}{prefix}bit/s")).ok()?;
        return Some((Problem::CountsBytes, RATE.print(bytes.checked_mul(8)?)));
    }
    let problem = if per_second {
        Problem::UnknownUnit(unit.to_owned())
    } else {
        Problem::NoTimeUnit
    };
    Some((problem, format!("{number}{prefix}bit/s")))
}

/// Diagnoses a delay: `20m` could be milliseconds or minutes.
fn diagnose_delay(number: &str, unit: &str) -> Option<(Problem, String)> {
    match unit {
        "m" => Some((Problem::Ambiguous, format!("{number}ms or {number}min"))),
        "sec" | "secs" | "second" | "seconds" => {
            Some((Problem::UnknownUnit(unit.to_owned()), format!("{number}s")))
        }
        _ => None,
    }
}

/// Diagnoses a number of bytes: `20M` lacks the `B`; `10Mbit` counts bits.
fn diagnose_bytes(number: &str, unit: &str) -> Option<(Problem, String)> {
    let (prefix, counts_bits) = match unit.strip_suffix("bit").or_else(|| unit.strip_suffix('b')) {
        Some(prefix) => (prefix, true),
        None => (unit, false),
    };
    let prefix = if prefix == "K" { "k" } else { prefix };
    let known = BYTES
        .units
        .iter()
        .find(|unit| unit.name.strip_suffix('B') == Some(prefix))?;
    if counts_bits {
        let bits = BYTES.parse(&format!("{number}{}", known.name)).ok()?;
        let remedy = BYTES.print(bits.div_ceil(8));
        return Some((Problem::CountsBits, remedy));
    }
    Some((Problem::NoByteSign, format!("{number}{}", known.name)))
}

/// Parser of a quantity from a string in a file. A number is converted to text first, so that `delay = 20` gives the
/// same suggestion as `delay = "20"`.
struct QuantityVisitor<T> {
    expecting: &'static str,
    marker: std::marker::PhantomData<T>,
}

impl<T: FromStr<Err = UnitError>> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

macro_rules! quantity_in_files {
    ($type:ident, $expecting:literal, $schema:tt) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(QuantityVisitor {
                    expecting: $expecting,
                    marker: std::marker::PhantomData,
                })
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn schema_id() -> Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($type)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

quantity_in_files!(Rate, "a rate such as \"10Mbit/s\"", {
    "type": "string",
    "description": "A data rate: bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s (powers of 1000).",
    "pattern": r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*[kMGT]?(bit/s|bps)\s*$",
    "examples": ["10Mbit/s", "1.5Gbit/s", "838kbit/s"],
});

quantity_in_files!(Delay, "a time such as \"20ms\"", {
    "type": "string",
    "description": "A time span: ns, us, ms, s or min.",
    "pattern": r"^\s*(0+|([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ns|us|µs|μs|ms|s|min))\s*$",
    "examples": ["20ms", "200us", "1.5s"],
});

quantity_in_files!(ByteCount, "a number of bytes such as \"20MB\"", {
    "type": "string",
    "description": "A number of bytes: B; kB, MB, GB, TB (powers of 1000); KiB, MiB, GiB, TiB (of 1024).",
    "pattern": r"^\s*(0+|([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kMGT]|[KMGT]i)?B)\s*$",
    "examples": ["20MB", "64KiB", "1460B"],
});

quantity_in_files!(Buffer, "a buffer such as \"50pkt\" or \"64kB\"", {
    "type": "string",
    "description": "Capacity in packets (pkt) or in bytes (B, kB, KiB, MB, MiB, ...).",
    "pattern": r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(pkts?|packets?|([kMGT]|[KMGT]i)?B)\s*$",
    "examples": ["50pkt", "64kB", "1MiB"],
});

quantity_in_files!(Room, "a buffer such as \"50pkt\", \"64kB\" or \"0.5bdp\"", {
    "type": "string",
    "description": "Capacity of a link's queue: in packets (pkt), in bytes (B, kB, KiB, MB, MiB, ...), or in \
         bandwidth-delay products of the path (bdp).",
    "pattern": r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(pkts?|packets?|bdps?|BDP|([kMGT]|[KMGT]i)?B)\s*$",
    "examples": ["50pkt", "64kB", "0.5bdp"],
});

quantity_in_files!(Distance, "a distance such as \"200m\"", {
    "type": "string",
    "description": "A distance: mm, cm, m or km.",
    "pattern": r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(mm|cm|m|km)\s*$",
    "examples": ["200m", "1.5km"],
});

quantity_in_files!(Probability, "a probability such as \"1%\"", {
    "description": "A probability: a percentage as text, or 0.",
    "anyOf": [
        {
            "type": "string",
            "pattern": r"^\s*(0+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*%|([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+)\s*$",
        },
        { "type": "number", "const": 0 },
    ],
    "examples": ["1%", "0.5%"],
});
