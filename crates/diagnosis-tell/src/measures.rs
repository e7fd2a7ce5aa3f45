//! Measures of a connection for scripts: one line per connection, and conditions on the measures.
//!
//! The columns of [`lines()`] and the names in a [`Condition`] are the same measures. Their names are stable, and new
//! columns are added at the end.

use std::fmt;
use std::str::FromStr;

use dupack_tcp::time::Duration;

use crate::story::has_acks_alone;
use crate::{keys, words};
use dupack_diagnosis::Diagnosis;
use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::requests::Quantiles;
use dupack_diagnosis::findings::{ConnectionFindings, StreamFindings};
use dupack_diagnosis::read::side::Side;

/// Measure of a connection. A measure of a stream refers to the direction for whose data an endpoint waited longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes of data of both endpoints. Each byte counts once.
    Bytes,
    /// Time from the first packet of the connection to the last.
    Duration,
    /// Goodput of the stream.
    Goodput,
    /// Time lost to causes that a sender, a receiver or a host could avoid.
    Lost,
    /// Number of segments of both endpoints.
    Segments,
    /// Number of retransmitted segments of both endpoints.
    Retransmissions,
    /// Fraction of the segments of both endpoints that were retransmitted.
    Retransmitted,
    /// Number of retransmission timeouts of both endpoints.
    Timeouts,
    /// Mean round-trip time of the stream.
    Rtt,
    /// Minimum round-trip time of the stream.
    RttMin,
    /// Total duration of the stream's stalls, which are periods without packets.
    Stalled,
    /// Number of retransmitted SYNs of both endpoints.
    Syns,
    /// Number of resets that ended the connection: 0 or 1.
    Resets,
    /// Number of turns. A turn is a request and its answer.
    Requests,
    /// Median duration of the requests.
    P50,
    /// 95th percentile of the durations of the requests.
    P95,
    /// Longest duration of a request.
    Max,
}

/// Unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Count,
    Bytes,
    Share,
    Seconds,
    BitsPerSecond,
}

impl Measure {
    /// All measures, in the order of the columns.
    pub const ALL: [Self; 17] = [
        Self::Bytes,
        Self::Duration,
        Self::Goodput,
        Self::Lost,
        Self::Segments,
        Self::Retransmissions,
        Self::Retransmitted,
        Self::Timeouts,
        Self::Rtt,
        Self::RttMin,
        Self::Stalled,
        Self::Syns,
        Self::Resets,
        Self::Requests,
        Self::P50,
        Self::P95,
        Self::Max,
    ];

    /// Returns the name of the measure in a condition.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Goodput => "goodput",
            Self::Lost => "lost",
            Self::Segments => "segments",
            Self::Retransmissions => "retransmissions",
            Self::Retransmitted => "retransmitted",
            Self::Timeouts => "timeouts",
            Self::Rtt => "rtt",
            Self::RttMin => "rtt_min",
            Self::Stalled => "stalled",
            Self::Syns => "syns_retransmitted",
            Self::Resets => "resets",
            Self::Requests => "requests",
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::Max => "max",
        }
    }

    const fn unit(self) -> Unit {
        match self {
            Self::Bytes => Unit::Bytes,
            Self::Goodput => Unit::BitsPerSecond,
            Self::Retransmitted => Unit::Share,
            Self::Segments
            | Self::Retransmissions
            | Self::Timeouts
            | Self::Syns
            | Self::Resets
            | Self::Requests => Unit::Count,
            Self::Duration
            | Self::Lost
            | Self::Rtt
            | Self::RttMin
            | Self::Stalled
            | Self::P50
            | Self::P95
            | Self::Max => Unit::Seconds,
        }
    }

    /// Returns the name of the measure's column.
    fn column(self) -> String {
        let unit = match self.unit() {
            Unit::Seconds => "_s",
            Unit::BitsPerSecond => "_bit_per_s",
            Unit::Count | Unit::Bytes | Unit::Share => "",
        };
        format!("{}{unit}", self.name())
    }

    /// Returns the value in seconds, bit/s or bytes, or as a fraction of one. Returns `None` if the capture does not
    /// show the value.
    #[must_use]
    pub fn of(self, connection: &ConnectionFindings) -> Option<f64> {
        let stream = connection.main_stream();
        let long = |time: Duration| time.as_secs_f64();
        let sum = |of: fn(&StreamFindings) -> u64| connection.all_streams().map(of).sum::<u64>();
        let tells = connection.tells_retransmissions();
        let round_trips = || stream.and_then(StreamFindings::round_trips);
        let segments = || sum(|stream| stream.shares.segments);
        let requests = |of: fn(&Quantiles) -> Duration| {
            let requests = connection.requests.as_ref()?;
            Some(long(of(&requests.duration)))
        };
        match self {
            Self::Bytes => Some(connection.bytes() as f64),
            Self::Duration => Some(long(connection.duration())),
            Self::Goodput => stream.and_then(StreamFindings::goodput_told),
            Self::Lost => connection.lost().map(long),
            Self::Segments => Some(segments() as f64),
            Self::Retransmissions => tells.then(|| connection.retransmissions() as f64),
            Self::Retransmitted => {
                let all = segments();
                (tells && all > 0).then(|| connection.retransmissions() as f64 / all as f64)
            }
            Self::Timeouts => {
                let all = connection.all_streams().map(StreamFindings::timeouts);
                all.sum::<Option<u64>>().map(|sum| sum as f64)
            }
            Self::Rtt => round_trips().map(|(_, mean)| long(mean)),
            Self::RttMin => round_trips().map(|(least, _)| long(least)),
            Self::Stalled => stream.and_then(StreamFindings::stalled).map(long),
            Self::Syns => Some(syns(connection) as f64),
            Self::Resets => Some(f64::from(u8::from(connection.ending.reset.is_some()))),
            Self::Requests => {
                let requests = connection.requests.as_ref();
                requests.map(|requests| requests.count as f64)
            }
            Self::P50 => requests(|quantiles| quantiles.p50),
            Self::P95 => requests(|quantiles| quantiles.p95),
            Self::Max => requests(|quantiles| quantiles.max),
        }
    }
}

impl Measure {
    /// `true` if the value of `connection` is only a lower bound.
    fn is_at_least(self, connection: &ConnectionFindings) -> bool {
        self == Self::Lost && connection.may_have_lost_more()
    }

    /// `true` if `connection` has this measure but its value is unknown.
    fn is_missing(self, connection: &ConnectionFindings) -> bool {
        let has_requests = !matches!(self, Self::Requests | Self::P50 | Self::P95 | Self::Max);
        let has_data = connection.main_stream().is_some();
        has_requests && has_data && self.of(connection).is_none()
    }
}

/// Returns the number of retransmitted SYNs of both endpoints.
fn syns(connection: &ConnectionFindings) -> u64 {
    let of = |side| {
        let syn = connection.handshake.syns.of(side).as_ref();
        syn.map_or(0, |syn| u64::from(syn.times.saturating_sub(1)))
    };
    Side::BOTH.map(of).iter().sum()
}

impl Unit {
    /// Returns the value as text for a cell, without its unit.
    fn cell(self, value: f64) -> String {
        match self {
            Self::Count | Self::Bytes | Self::BitsPerSecond => format!("{value:.0}"),
            Self::Share | Self::Seconds => format!("{value:.6}"),
        }
    }

    /// Returns the value as text for people, with its unit.
    fn say(self, value: f64) -> String {
        match self {
            Self::Count => words::count(value as u64),
            Self::Bytes => words::bytes(value),
            Self::Share => words::share(value),
            Self::Seconds => words::seconds(value),
            Self::BitsPerSecond => words::rate(value),
        }
    }

    /// Returns the units that a condition may use, with their factors.
    const fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Count => &[("", 1.0)],
            Self::Bytes => &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)],
            Self::Share => &[("%", 0.01)],
            Self::Seconds => &[
                ("us", 1e-6),
                ("µs", 1e-6),
                ("ms", 1e-3),
                ("s", 1.0),
                ("min", 60.0),
                ("h", 3600.0),
            ],
            Self::BitsPerSecond => &[
                ("bit/s", 1.0),
                ("kbit/s", 1e3),
                ("Mbit/s", 1e6),
                ("Gbit/s", 1e9),
            ],
        }
    }

    /// Returns a description of a valid value, with an example, for error messages.
    const fn expected(self) -> &'static str {
        match self {
            Self::Count => "a number, such as `0`",
            Self::Bytes => "a size with its unit, such as `10kB`",
            Self::Share => "a percentage, such as `1%`",
            Self::Seconds => "a time with its unit, such as `200ms`",
            Self::BitsPerSecond => "a rate with its unit, such as `1Mbit/s`",
        }
    }

    fn read(self, text: &str) -> Option<f64> {
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let unit = text.trim_start_matches(digits);
        let (number, unit) = (text.strip_suffix(unit)?, unit.trim());
        let number: f64 = number.parse().ok()?;
        // Zero needs no unit.
        if unit.is_empty() && number == 0.0 {
            return Some(0.0);
        }
        let mut units = self.units().iter();
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        Some(number * factor)
    }
}

/// Returns a header and one line per connection, in tab-separated columns. A value that the capture does not show is
/// `-`.
#[must_use]
pub fn lines(diagnosis: &Diagnosis) -> String {
    let mut header = ["connection", "opener", "answerer", "sent_by", "limit"]
        .map(str::to_owned)
        .to_vec();
    header.extend(Measure::ALL.map(Measure::column));
    let mut text = header.join("\t");
    for connection in &diagnosis.connections {
        text.push('\n');
        text += &line(connection).join("\t");
    }
    text.push('\n');
    text
}

fn line(connection: &ConnectionFindings) -> Vec<String> {
    let none = || "-".to_owned();
    let stream = connection.main_stream();
    let limit = |stream: &StreamFindings| {
        if stream.limits_untold().is_some() || has_acks_alone(connection) {
            return None;
        }
        let most = Limit::ALL
            .into_iter()
            .max_by_key(|limit| (stream.shares.of(*limit), std::cmp::Reverse(*limit)));
        most.map(|limit| keys::limit_of(stream, limit))
    };
    let mut cells = vec![
        connection.number.to_string(),
        connection.addresses.opener.to_string(),
        connection.addresses.answerer.to_string(),
        stream.map_or_else(none, |stream| keys::key(&stream.side)),
        stream.and_then(limit).unwrap_or_else(none),
    ];
    cells.extend(Measure::ALL.map(|measure| {
        let value = measure.of(connection);
        value.map_or_else(none, |value| measure.unit().cell(value))
    }));
    cells
}

/// Comparison of a measure with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
}

impl Comparison {
    /// Operators. Longer operators come before operators that are prefixes of them.
    const SIGNS: [(&'static str, Self); 7] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        ("<", Self::Less),
        (">", Self::More),
        ("=", Self::Equal),
    ];

    /// Returns the result of the comparison for a value that is only known to be at least `least`: `true` if the
    /// comparison holds for every such value, `false` if it holds for none, and `None` otherwise.
    fn holds_from(self, least: f64, bound: f64) -> Option<bool> {
        match self {
            Self::More | Self::AtLeast => self.holds(least, bound).then_some(true),
            Self::Less | Self::AtMost => (!self.holds(least, bound)).then_some(false),
            Self::Unequal => (least > bound).then_some(true),
            Self::Equal => (least > bound).then_some(false),
        }
    }

    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::More => value > bound,
            Self::AtLeast => value >= bound,
            Self::Equal => value == bound,
            Self::Unequal => value != bound,
        }
    }
}

/// Condition on a measure of a connection: `retransmitted > 1%`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    measure: Measure,
    comparison: Comparison,
    bound: f64,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// Returns the value of `connection` in words if it meets the condition. An unknown value does not meet any
    /// condition.
    #[must_use]
    pub fn met_by(&self, connection: &ConnectionFindings) -> Option<String> {
        let value = self.measure.of(connection)?;
        let said = self.measure.unit().say(value);
        if self.measure.is_at_least(connection) {
            let known = self.comparison.holds_from(value, self.bound);
            return (known == Some(true)).then(|| format!("at least {said}"));
        }
        self.comparison.holds(value, self.bound).then_some(said)
    }

    /// `true` if `connection` has this measure but the capture does not show whether the condition holds.
    fn is_undecided(&self, connection: &ConnectionFindings) -> bool {
        match self.measure.of(connection) {
            None => self.measure.is_missing(connection),
            Some(least) if self.measure.is_at_least(connection) => {
                self.comparison.holds_from(least, self.bound).is_none()
            }
            Some(_) => false,
        }
    }

    /// Returns a sentence about the connections for which the capture does not show whether the condition holds.
    /// Returns `None` if there are no such connections.
    #[must_use]
    pub fn not_told(&self, connections: &[ConnectionFindings]) -> Option<String> {
        let told = |one: &&ConnectionFindings| self.measure.of(one).is_some();
        if !connections.iter().any(|one| told(&one)) {
            return Some("the capture shows this value for no connection".to_owned());
        }
        let untold = connections.iter().filter(|one| self.is_undecided(one));
        let untold: Vec<&ConnectionFindings> = untold.collect();
        let first = untold.first()?;
        let why = match (first.limits_untold(), self.measure.of(first)) {
            (Some(untold), _) => format!(", because {}", untold.why()),
            (None, Some(least)) => {
                let least = self.measure.unit().say(least);
                format!(", because it is only known to be {least} or more")
            }
            (None, None) => String::new(),
        };
        Some(format!(
            "the capture does not show this value for {} of {}, such as #{}{why}",
            words::count(untold.len() as u64),
            words::things(connections.len() as u64, "connection", "connections"),
            first.number
        ))
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let sign = text.find(['<', '>', '=', '!']);
        let (name, rest) = text.split_at(sign.unwrap_or(text.len()));
        let name = name.trim();
        let named = |measure: &Measure| measure.name() == name;
        let Some(measure) = Measure::ALL.into_iter().find(named) else {
            let names = Measure::ALL.map(Measure::name).join(", ");
            return Err(format!("unknown name `{name}`: expected one of {names}"));
        };
        let found = Comparison::SIGNS
            .into_iter()
            .find_map(|(sign, comparison)| Some((rest.strip_prefix(sign)?, comparison)));
        let Some((value, comparison)) = found else {
            return Err(format!(
                "no comparison after `{name}`: expected <, <=, >, >=, == or !=, such as `timeouts > 0`"
            ));
        };
        let (value, unit) = (value.trim(), measure.unit());
        let Some(bound) = unit.read(value) else {
            return Err(format!(
                "invalid value `{value}` for `{name}`: expected {}",
                unit.expected()
            ));
        };
        Ok(Self {
            text: text.to_owned(),
            measure,
            comparison,
            bound,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Condition {
        text.parse().unwrap()
    }

    #[test]
    fn a_condition_has_a_name_a_comparison_and_a_value_with_its_unit() {
        for (text, measure, comparison, bound) in [
            (
                "retransmitted > 1%",
                Measure::Retransmitted,
                Comparison::More,
                0.01,
            ),
            ("timeouts>0", Measure::Timeouts, Comparison::More, 0.0),
            ("lost >= 5 s", Measure::Lost, Comparison::AtLeast, 5.0),
            ("rtt > 200ms", Measure::Rtt, Comparison::More, 0.2),
            ("goodput < 1Mbit/s", Measure::Goodput, Comparison::Less, 1e6),
            (" p95 <= 0.5min ", Measure::P95, Comparison::AtMost, 30.0),
            ("resets == 1", Measure::Resets, Comparison::Equal, 1.0),
            ("resets = 1", Measure::Resets, Comparison::Equal, 1.0),
            ("bytes != 0", Measure::Bytes, Comparison::Unequal, 0.0),
            ("bytes < 10kB", Measure::Bytes, Comparison::Less, 10_000.0),
        ] {
            let read = read(text);
            assert_eq!(
                (read.measure, read.comparison),
                (measure, comparison),
                "{text}"
            );
            assert!((read.bound - bound).abs() < 1e-12, "{text}: {}", read.bound);
            assert_eq!(read.to_string(), text.trim());
        }
    }

    #[test]
    fn an_error_names_the_value_and_what_was_expected() {
        for (text, part) in [
            (
                "timeout > 0",
                "unknown name `timeout`: expected one of bytes, duration,",
            ),
            ("", "unknown name ``"),
            ("timeouts", "no comparison after `timeouts`"),
            ("timeouts ! 1", "no comparison after `timeouts`"),
            (
                "lost > 5",
                "invalid value `5` for `lost`: expected a time with its unit, such as `200ms`",
            ),
            (
                "retransmitted > 0.01",
                "expected a percentage, such as `1%`",
            ),
            (
                "goodput < 1MB",
                "expected a rate with its unit, such as `1Mbit/s`",
            ),
            ("timeouts > 1s", "expected a number, such as `0`"),
            ("rtt > -1s", "invalid value `-1s`"),
            ("rtt > 1.2.3s", "invalid value `1.2.3s`"),
            ("rtt >", "invalid value ``"),
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn comparisons_hold_as_written() {
        let holds = |sign: &str| {
            let condition = read(&format!("timeouts {sign} 2"));
            [1.0, 2.0, 3.0].map(|value| condition.comparison.holds(value, condition.bound))
        };
        assert_eq!(holds("<"), [true, false, false]);
        assert_eq!(holds("<="), [true, true, false]);
        assert_eq!(holds(">"), [false, false, true]);
        assert_eq!(holds(">="), [false, true, true]);
        assert_eq!(holds("=="), [false, true, false]);
        assert_eq!(holds("!="), [true, false, true]);
    }

    #[test]
    fn names_of_measures_are_unique() {
        let mut names = Measure::ALL.map(Measure::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
