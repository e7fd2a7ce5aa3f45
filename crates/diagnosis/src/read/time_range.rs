//! Time range of a capture, relative to its first packet or in absolute time.
//!
//! | form | example | meaning |
//! | --- | --- | --- |
//! | duration | `30s`, `1.5s`, `2min`, `90` | after the first TCP packet; seconds if there is no unit |
//! | time of day | `12:30`, `12:30:05.25` | UTC; the first occurrence from one hour before the first TCP packet on |
//! | time | `2026-11-28T12:30:05Z` | RFC 3339; UTC if there is no offset |
//!
//! The first TCP packet is the origin of all times in a diagnosis. A time of day needs a date. Most captures last
//! minutes, so the next time at which a UTC clock shows this time of day is used. The search starts an hour before the
//! first packet, because a range often begins a little before the capture.

use std::fmt;
use std::str::FromStr;

use dupack_packet::CaptureTime;
use dupack_tcp::time::Duration;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Maximum time before the first packet at which a time of day may be, in nanoseconds (our choice).
const BEFORE_FIRST: u64 = HOUR;

/// Number of nanoseconds in each unit of durations.
const UNITS: [(&str, u64); 9] = [
    ("", SECOND),
    ("ns", 1),
    ("us", 1000),
    ("µs", 1000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("min", MINUTE),
    ("m", MINUTE),
    ("h", HOUR),
];

/// Point in time, relative to a capture or absolute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimePoint {
    /// Time after the first TCP packet.
    AfterFirst(Duration),
    /// Time of day in UTC, since midnight.
    OfDay(Duration),
    /// Absolute time.
    At(CaptureTime),
}

impl TimePoint {
    /// Returns the time in a capture whose first TCP packet was captured at `first`.
    #[must_use]
    pub fn in_capture(self, first: CaptureTime) -> CaptureTime {
        match self {
            Self::AfterFirst(span) => first.after(span),
            Self::At(time) => time,
            Self::OfDay(of_day) => {
                let earliest = first.as_unix_nanos().saturating_sub(BEFORE_FIRST);
                let midnight = earliest - earliest % DAY;
                let same_day = midnight.saturating_add(of_day.as_nanos());
                CaptureTime::from_unix_nanos(match same_day < earliest {
                    true => same_day.saturating_add(DAY),
                    false => same_day,
                })
            }
        }
    }
}

/// Text that is not a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimePointError(());

impl std::error::Error for TimePointError {}

impl fmt::Display for TimePointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected a time after the first packet (30s, 1.5s, 2min), a time of day in UTC (12:30:05) or a time in \
             the form of RFC 3339 (2026-11-28T12:30:05Z)",
        )
    }
}

impl FromStr for TimePoint {
    type Err = TimePointError;

    fn from_str(text: &str) -> Result<Self, TimePointError> {
        let text = text.trim();
        let parsed = match text.split_once(['T', 't', ' ']) {
            Some((date, time)) if time.contains(':') => absolute(date, time).map(Self::At),
            _ if text.contains(':') => {
                let time = text.strip_suffix(['Z', 'z']).unwrap_or(text);
                of_day(time).map(|nanos| Self::OfDay(Duration::from_nanos(nanos)))
            }
            _ => duration(text).map(Self::AfterFirst),
        };
        parsed.ok_or(TimePointError(()))
    }
}

/// Parses a duration such as `1.5s`; `None` if it is invalid.
fn duration(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| c != '.' && !c.is_ascii_digit());
    let (number, unit) = text.split_at_checked(unit.unwrap_or(text.len()))?;
    let unit = unit.trim_start();
    let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    decimal(number, factor).map(Duration::from_nanos)
}

/// Parses a decimal number and multiplies it by `factor`, rounded down.
fn decimal(text: &str, factor: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let whole = match whole {
        "" => 0,
        _ => digits(whole)?,
    };
    // With 15 digits, the result is exact to a nanosecond in every unit.
    let part = part.get(..15).unwrap_or(part);
    let below = match part {
        "" => 0,
        _ => u128::from(digits(part)?) * u128::from(factor) / 10_u128.pow(part.len() as u32),
    };
    whole
        .checked_mul(factor)?
        .checked_add(u64::try_from(below).ok()?)
}

/// Parses a number that consists of digits only. The parser of the standard library also accepts a sign.
fn digits(text: &str) -> Option<u64> {
    let all = text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// Parses a number of two digits.
fn two_digits(text: &str) -> Option<u64> {
    digits(text).filter(|_| text.len() == 2)
}

/// Parses a time such as `12:30:05.25` or `12:30`. Returns the nanoseconds since midnight.
fn of_day(text: &str) -> Option<u64> {
    let (hour, rest) = text.split_once(':')?;
    let (minute, second) = rest.split_once(':').unwrap_or((rest, "00"));
    let whole = second.split_once('.').map_or(second, |(whole, _)| whole);
    let hours = digits(hour).filter(|hours| hour.len() <= 2 && *hours < 24)?;
    let minutes = two_digits(minute).filter(|minutes| *minutes < 60)?;
    // A value of 60 is a leap second (RFC 3339 §5.6).
    two_digits(whole).filter(|seconds| *seconds <= 60)?;
    Some(hours * HOUR + minutes * MINUTE + decimal(second, SECOND)?)
}

/// Parses a time in the form of RFC 3339.
fn absolute(date: &str, time: &str) -> Option<CaptureTime> {
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() != 4 || parts.next().is_some() {
        return None;
    }
    let days = days_from_1970(digits(year)?, two_digits(month)?, two_digits(day)?)?;
    let (time, ahead) = match time.find(['+', '-']) {
        Some(sign) => {
            let (time, offset) = time.split_at_checked(sign)?;
            (time, offset_nanos(offset)?)
        }
        None => (time.strip_suffix(['Z', 'z']).unwrap_or(time), 0),
    };
    let local = days.checked_mul(DAY)?.checked_add(of_day(time)?)?;
    let utc = local.checked_add_signed(-ahead)?;
    Some(CaptureTime::from_unix_nanos(utc))
}

/// Returns the nanoseconds by which a clock with an offset such as `+02:00` is ahead of UTC.
fn offset_nanos(offset: &str) -> Option<i64> {
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let hours = two_digits(hours).filter(|hours| *hours < 24)?;
    let minutes = two_digits(minutes).filter(|minutes| *minutes < 60)?;
    let nanos = i64::try_from(hours * HOUR + minutes * MINUTE).ok()?;
    Some(match offset.starts_with('-') {
        true => -nanos,
        false => nanos,
    })
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

const fn days_of(year: u64) -> u64 {
    match is_leap(year) {
        true => 366,
        false => 365,
    }
}

fn days_of_months(year: u64) -> [u64; 12] {
    let february = days_of(year) - 337;
    [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

/// Returns the number of days from 1970-01-01 to a date of the Gregorian calendar.
fn days_from_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let months = days_of_months(year);
    let before = usize::try_from(month.checked_sub(1)?).ok()?;
    let in_range = year >= 1970 && (1..=*months.get(before)?).contains(&day);
    let years: u64 = (1970..year).map(days_of).sum();
    let months: u64 = months.get(..before)?.iter().sum();
    in_range.then_some(years + months + day - 1)
}

/// Formats a time as RFC 3339, to a millisecond.
#[must_use]
pub fn rfc3339(time: CaptureTime) -> String {
    let nanos = time.as_unix_nanos();
    let (mut days, of_day) = (nanos / DAY, nanos % DAY);
    let mut year = 1970;
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let mut month = 1;
    for length in days_of_months(year) {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute) = (of_day / HOUR, of_day / MINUTE % 60);
    let (second, millis) = (of_day / SECOND % 60, of_day / 1_000_000 % 1000);
    let day = days + 1;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Time range from `since` (included) to `until` (excluded).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// Start of the range; `None` for the start of the capture.
    pub since: Option<TimePoint>,
    /// End of the range; `None` for the end of the capture.
    pub until: Option<TimePoint>,
}

impl TimeRange {
    /// Returns the range in a capture whose first TCP packet was captured at `first`.
    #[must_use]
    pub fn in_capture(self, first: CaptureTime) -> Span {
        let time = |point: TimePoint| point.in_capture(first);
        Span {
            since: self.since.map(time),
            until: self.until.map(time),
        }
    }

    /// Returns `true` if the range is empty in any capture.
    #[must_use]
    pub fn is_empty(self) -> bool {
        match (self.since, self.until) {
            (Some(TimePoint::AfterFirst(since)), Some(TimePoint::AfterFirst(until))) => {
                since >= until
            }
            (Some(TimePoint::At(since)), Some(TimePoint::At(until))) => since >= until,
            (_, Some(TimePoint::AfterFirst(until))) => until.is_zero(),
            _ => false,
        }
    }
}

/// Time range in one capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    since: Option<CaptureTime>,
    until: Option<CaptureTime>,
}

impl Span {
    /// Returns `true` if `time` is in the range.
    #[must_use]
    pub fn contains(self, time: CaptureTime) -> bool {
        self.since.is_none_or(|since| since <= time) && self.until.is_none_or(|until| time < until)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-11-28T12:30:05Z, as `date -u +%s` prints it.
    const THEN: u64 = 1_795_869_005;

    fn at(unix_seconds: u64) -> CaptureTime {
        CaptureTime::from_unix_nanos(unix_seconds * SECOND)
    }

    fn point(text: &str) -> TimePoint {
        text.parse().unwrap()
    }

    #[test]
    fn durations_are_exact() {
        for (text, nanos) in [
            ("30s", 30 * SECOND),
            ("1.5s", 1_500_000_000),
            ("2min", 2 * MINUTE),
            ("2m", 2 * MINUTE),
            ("90", 90 * SECOND),
            (" 0 ", 0),
            ("0.000000001", 1),
            (".5h", 30 * MINUTE),
            ("5. ms", 5_000_000),
            ("12us", 12_000),
            ("12µs", 12_000),
            ("12.9ns", 12),
            ("0.3333333333333333333333333333s", 333_333_333),
        ] {
            let expected = TimePoint::AfterFirst(Duration::from_nanos(nanos));
            assert_eq!(point(text), expected, "{text}");
        }
    }

    #[test]
    fn times_are_in_utc() {
        for (text, expected) in [
            ("2026-11-28T12:30:05Z", at(THEN)),
            ("2026-11-28t12:30:05z", at(THEN)),
            ("2026-11-28 12:30:05", at(THEN)),
            ("2026-11-28T14:30:05+02:00", at(THEN)),
            ("2026-11-28T07:00:05-05:30", at(THEN)),
            ("2026-11-28T12:30", at(THEN - 5)),
            (
                "2026-11-28T12:30:05.250Z",
                CaptureTime::from_unix_nanos(THEN * SECOND + 250_000_000),
            ),
            ("1970-01-01T00:00:00Z", at(0)),
            ("2000-02-29T00:00:00Z", at(951_782_400)),
            ("2016-12-31T23:59:60Z", at(1_483_228_800)),
        ] {
            assert_eq!(point(text), TimePoint::At(expected), "{text}");
        }
        let of_day = TimePoint::OfDay(Duration::from_nanos(12 * HOUR + 30 * MINUTE + 5 * SECOND));
        for text in ["12:30:05", "12:30:05Z", "12:30:05.0"] {
            assert_eq!(point(text), of_day, "{text}");
        }
        assert_eq!(
            point("7:05"),
            TimePoint::OfDay(Duration::from_nanos(7 * HOUR + 5 * MINUTE))
        );
        assert_eq!(rfc3339(at(THEN)), "2026-11-28T12:30:05.000Z");
        assert_eq!(rfc3339(at(951_782_400)), "2000-02-29T00:00:00.000Z");
        assert_eq!(
            rfc3339(CaptureTime::from_unix_nanos(u64::MAX)),
            "2554-07-21T23:34:33.709Z"
        );
    }

    #[test]
    fn a_time_of_day_is_the_next_one() {
        let in_capture = |text: &str| point(text).in_capture(at(THEN)).as_unix_nanos() / SECOND;
        assert_eq!(in_capture("12:30:05"), THEN);
        assert_eq!(in_capture("12:30:00"), THEN - 5);
        assert_eq!(in_capture("11:30:05"), THEN - 3600);
        assert_eq!(in_capture("23:59:59"), THEN + 41_394);
        assert_eq!(in_capture("00:00"), THEN + 41_395);
        assert_eq!(in_capture("11:30:04"), THEN - 3601 + 86_400);
        // Shortly after midnight, 23:59:59 is on the previous day.
        let early = at(THEN + 41_395 + 60);
        let evening = point("23:59:59").in_capture(early);
        assert_eq!(evening, at(THEN + 41_394));
    }

    #[test]
    fn a_range_has_its_start_and_not_its_end() {
        let range = TimeRange {
            since: Some(point("1s")),
            until: Some(point("2s")),
        };
        let span = range.in_capture(at(THEN));
        for (seconds, is_in) in [(0, false), (1, true), (2, false), (3, false)] {
            assert_eq!(span.contains(at(THEN + seconds)), is_in, "{seconds}");
        }
        assert!(TimeRange::default().in_capture(at(THEN)).contains(at(0)));
    }

    #[test]
    fn an_empty_range_is_known_without_a_capture_if_both_bounds_have_the_same_form() {
        for (since, until, empty) in [
            ("2s", "2s", true),
            ("3s", "2s", true),
            ("1s", "2s", false),
            ("2026-11-28T12:30:05Z", "2026-11-28T12:30:04Z", true),
            ("2026-11-28T12:30:05Z", "2026-11-28T12:30:06Z", false),
            ("23:50", "00:10", false),
            ("23:50", "0", true),
        ] {
            let range = TimeRange {
                since: Some(point(since)),
                until: Some(point(until)),
            };
            assert_eq!(range.is_empty(), empty, "{since} {until}");
        }
    }

    #[test]
    fn other_text_is_an_error_with_examples() {
        for text in [
            "",
            ".",
            "s",
            "-1",
            "+1",
            "1e3",
            "1,5s",
            "1.5.2",
            "5 parsecs",
            "24:00",
            "12:60",
            "12:30:61",
            "12:3",
            "1:2:3:4",
            "012:30",
            "99999999999999999999:00",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-1-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "9999-12-31T23:59:59Z",
            "2026-11-28",
            "2026-11-28T12:30:05+2",
            "1970-01-01T00:00:00+01:00",
            "999999999999h",
            "yesterday",
        ] {
            let error = text.parse::<TimePoint>().unwrap_err().to_string();
            assert!(error.contains("2026-11-28T12:30:05Z"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", digits in "[0-9TZ:.+ hms-]{0,40}") {
            for text in [text, digits] {
                if let Ok(point) = text.parse::<TimePoint>() {
                    let _ = point.in_capture(at(0));
                    let _ = point.in_capture(CaptureTime::from_unix_nanos(u64::MAX));
                }
            }
        }

        #[test]
        fn a_time_is_read_as_it_is_written(millis in 0..=u64::MAX / 1_000_000) {
            let time = CaptureTime::from_unix_nanos(millis * 1_000_000);
            prop_assert_eq!(rfc3339(time).parse(), Ok(TimePoint::At(time)));
        }
    }
}
