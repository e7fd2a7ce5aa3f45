//! Quantities for people, with at most three digits and a unit.

use dupack_tcp::time::Duration;

use dupack_diagnosis::StreamFindings;
use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_diagnosis::doubt::{Doubt, InDoubt};
use dupack_diagnosis::told::Told;

/// Returns `value` with two or three significant digits.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 0,
        v if v >= 0.9995 => 1,
        v if v >= 0.0995 => 2,
        _ => 3,
    };
    let text = format!("{value:.places$}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Returns a duration: `"38 s"`, `"1.8 s"`, `"60 ms"`, `"12 min"`.
#[must_use]
pub fn time(span: Duration) -> String {
    seconds(span.as_secs_f64())
}

/// Returns a duration in the format of [`time`]. The argument is in seconds.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 2.0 * 3600.0 => format!("{} h", digits(s / 3600.0)),
        s if s >= 600.0 => format!("{} min", digits(s / 60.0)),
        s if s >= 1.0 => format!("{} s", digits(s)),
        s if s >= 0.000_999_5 => format!("{} ms", digits(s * 1e3)),
        s if s > 0.0 => format!("{} µs", digits(s * 1e6)),
        _ => "0 s".to_owned(),
    }
}

/// Returns a number of bytes: `"4.8 MB"`.
#[must_use]
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, ["B", "kB", "MB", "GB", "TB"])
}

/// Returns a rate in bit/s: `"3.2 Mbit/s"`.
#[must_use]
pub fn rate(bits_per_second: f64) -> String {
    scaled(
        bits_per_second,
        ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"],
    )
}

fn scaled(mut value: f64, units: [&str; 5]) -> String {
    let mut unit = units[0];
    for next in &units[1..] {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    let text = match unit == units[0] {
        true => format!("{value:.0}"),
        false => digits(value),
    };
    format!("{text} {unit}")
}

/// Returns a number with thousands separators: `"1,234"`.
#[must_use]
pub fn count(number: u64) -> String {
    let text = number.to_string();
    let mut out = String::new();
    for (place, digit) in text.chars().enumerate() {
        if place > 0 && (text.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a fraction of one as a percentage: `"6.2 %"`.
#[must_use]
pub fn share(of_one: f64) -> String {
    let percent = of_one * 100.0;
    match percent {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 0.01 => "less than 0.01 %".to_owned(),
        p => format!("{} %", digits(p)),
    }
}

/// Returns a number with the singular or the plural of a noun: `"1 timeout"`, `"2 timeouts"`.
#[must_use]
pub fn things(number: u64, one: &str, several: &str) -> String {
    let name = if number == 1 { one } else { several };
    format!("{} {name}", count(number))
}

/// Returns `"at least "` if some of the counted packets or events may be missing from the capture, and an empty text
/// otherwise.
#[must_use]
pub const fn at_least(may_be_more: bool) -> &'static str {
    if may_be_more { "at least " } else { "" }
}

/// Returns a quantity with its confidence interval, each value formatted by `say`, or the reason why the quantity is
/// unknown.
#[must_use]
pub fn told<T>(told: &Told<T>, say: impl Fn(&T) -> String) -> String {
    match told {
        Told::Between { value, low, high } => {
            let [value, low, high] = [value, low, high].map(say);
            with_interval(&value, &low, &high)
        }
        Told::AtLeast { bound, why, remedy } => {
            format!("at least {}: {why}; {remedy} would show more", say(bound))
        }
        Told::CannotBeTold { why, remedy } => {
            format!("cannot be determined: {why}; {remedy} would show it")
        }
    }
}

/// Returns the sentence with a capital first letter.
#[must_use]
pub fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| {
        format!("{}{}", first.to_uppercase(), letters.as_str())
    })
}

/// Returns a time between captured packets. Zero is shown as "less than 1 µs", because captures have a resolution of
/// microseconds or better.
#[must_use]
pub fn way(span: Duration) -> String {
    match span {
        Duration::ZERO => "less than 1 µs".to_owned(),
        _ => time(span),
    }
}

/// Returns a value and its confidence interval: `"100 ms (99 to 101 ms)"`. If both ends have the same unit, the unit is
/// printed once. If the interval of a time begins at 0, only the upper bound is printed.
#[must_use]
pub fn with_interval(value: &str, low: &str, high: &str) -> String {
    const NONE: &str = "less than 1 µs";
    if low == high {
        return value.to_owned();
    }
    if value == NONE {
        return format!("at most {high}");
    }
    if low == NONE {
        return format!("{value} (at most {high})");
    }
    let unit = high.split_once(' ').map_or("", |(_, unit)| unit);
    let low = match low.split_once(' ') {
        Some((number, own)) if own == unit => number,
        _ => low,
    };
    format!("{value} ({low} to {high})")
}

/// Returns a short form of a quantity. If only a bound is known, returns the bound; if nothing is known, returns
/// `None`.
#[must_use]
pub fn told_briefly<T: Copy>(quantity: &Told<T>, say: impl Fn(&T) -> String) -> Option<String> {
    match quantity {
        Told::Between { .. } => Some(told(quantity, say)),
        Told::AtLeast { bound, .. } => Some(format!("at least {}", say(bound))),
        Told::CannotBeTold { .. } => None,
    }
}

/// Returns whole percentages that sum to 100, in the order of `parts`. The percentages with the largest remainders are
/// rounded up.
#[must_use]
pub fn whole_percents(parts: &[f64]) -> Vec<u32> {
    let sum: f64 = parts.iter().sum();
    if sum <= 0.0 {
        return vec![0; parts.len()];
    }
    let exact = parts.iter().map(|part| (part / sum * 100.0).max(0.0));
    let exact: Vec<f64> = exact.collect();
    let mut whole: Vec<u32> = exact.iter().map(|part| part.floor() as u32).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let rest = |index: &usize| exact.get(*index).map_or(0.0, |part| part.fract());
    order.sort_by(|a, b| rest(b).total_cmp(&rest(a)));
    let missing = 100_u32.saturating_sub(whole.iter().sum());
    for index in order.into_iter().take(missing as usize) {
        if let Some(part) = whole.get_mut(index) {
            *part += 1;
        }
    }
    whole
}

/// Returns a bar for a fraction `part` of one, at most `columns` wide. A fraction above 0 is always visible.
#[must_use]
pub fn bar(part: f64, columns: usize) -> String {
    if part <= 0.0 {
        return String::new();
    }
    let filled = (part * columns as f64).round().max(1.0) as usize;
    "▇".repeat(filled.min(columns))
}

/// Returns the name of a limit.
#[must_use]
pub const fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Handshake => "handshake",
        Limit::Idle => "application had nothing to send",
        Limit::Pause => "application paused",
        Limit::ReceiveWindow => "receive window full",
        Limit::ZeroWindow => "receive window shut",
        Limit::Nagle => "waiting for an ACK (Nagle)",
        Limit::SenderBuffer => "sender's buffer, or unknown",
        Limit::SlowStart => "slow start",
        Limit::CongestionWindow => "congestion window",
        Limit::Recovery => "losses being repaired",
        Limit::RetransmissionTimer => "retransmission timer",
        Limit::ProbeTimer => "tail loss probe timer",
        Limit::EmptyQueue => "bottleneck, no queue",
        Limit::StandingQueue => "bottleneck, standing queue",
        Limit::OverflowingQueue => "bottleneck, overflowing queue",
    }
}

/// Returns the name of another possible cause of a limit's time.
#[must_use]
pub const fn doubt(cause: Doubt) -> &'static str {
    match cause {
        Doubt::Window => "receive window",
        Doubt::RoundTrip => "round trips",
        Doubt::Lost => "packets lost before the capture point",
        Doubt::Nagle => "Nagle",
        Doubt::Bottleneck => "bottleneck",
        Doubt::ConstantRate => "shaper or pacing",
    }
}

/// Returns the name of a kind of stall of a stream. For a pause of the application, other possible causes follow.
#[must_use]
pub fn stall_of(stream: &StreamFindings, kind: StallKind) -> String {
    let mut said = kind.words().to_owned();
    let paused = matches!(
        kind,
        StallKind::DataUnavailable | StallKind::ResourceConstraint
    );
    let doubt = stream.limits_in_doubt();
    let doubt = doubt.filter(|doubt| paused && doubt.has(Limit::Pause));
    for cause in doubt.iter().flat_map(InDoubt::causes) {
        said += &format!(", or {}", self::doubt(cause));
    }
    said
}

/// Returns the name of a limit of a stream, followed by other possible causes of its time: `"application paused, or
/// receive window"`.
#[must_use]
pub fn limit_of(stream: &StreamFindings, limit: Limit) -> String {
    let doubt = stream.limits_in_doubt().filter(|doubt| doubt.has(limit));
    let mut said = match (limit, doubt) {
        (Limit::SenderBuffer, Some(_)) => "sender's buffer".to_owned(),
        _ => self::limit(limit).to_owned(),
    };
    for cause in doubt.iter().flat_map(InDoubt::causes) {
        said += &format!(", or {}", self::doubt(cause));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_few_digits_and_a_fitting_unit() {
        for (seconds_of, wanted) in [
            (0.0, "0 s"),
            (0.000_000_5, "0.50 µs"),
            (0.000_42, "420 µs"),
            (0.001, "1 ms"),
            (0.0042, "4.2 ms"),
            (0.0604, "60 ms"),
            (1.84, "1.8 s"),
            (9.999, "10 s"),
            (52.2, "52 s"),
            (770.0, "13 min"),
            (9000.0, "2.5 h"),
        ] {
            assert_eq!(seconds(seconds_of), wanted);
        }
        assert_eq!(bytes(812.0), "812 B");
        assert_eq!(bytes(4_812_000.0), "4.8 MB");
        assert_eq!(bytes(999_900.0), "1 MB");
        assert_eq!(rate(738_000.0), "738 kbit/s");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
        assert_eq!(share(0.0621), "6.2 %");
        assert_eq!(share(0.5), "50 %");
        assert_eq!(things(1, "loss", "losses"), "1 loss");
    }

    #[test]
    fn an_interval_has_its_unit_once_if_it_is_the_same() {
        let told_of = |low, high| {
            let value = 0.1;
            told(&Told::Between { value, low, high }, |&s| seconds(s))
        };
        assert_eq!(told_of(0.099, 0.101), "100 ms (99 to 101 ms)");
        assert_eq!(told_of(0.0999, 1.5), "100 ms (100 ms to 1.5 s)");
        assert_eq!(told_of(0.1, 0.1), "100 ms");
        let of_way = |value, low, high| {
            let [value, low, high] = [value, low, high].map(Duration::from_micros);
            told(&Told::Between { value, low, high }, |&span| way(span))
        };
        assert_eq!(of_way(28, 9, 40), "28 µs (9 to 40 µs)");
        assert_eq!(of_way(28, 0, 28), "28 µs (at most 28 µs)");
        assert_eq!(of_way(0, 0, 4000), "at most 4 ms");
        assert_eq!(of_way(0, 0, 0), "less than 1 µs");
        let cannot: Told<f64> = Told::CannotBeTold {
            why: "nothing was lost",
            remedy: "a longer capture",
        };
        let said = told(&cannot, |&s| seconds(s));
        assert_eq!(
            said,
            "cannot be determined: nothing was lost; a longer capture would show it"
        );
    }

    #[test]
    fn percentages_sum_to_a_hundred() {
        assert_eq!(whole_percents(&[1.0, 1.0, 1.0]), [34, 33, 33]);
        assert_eq!(whole_percents(&[0.0, 7.0]), [0, 100]);
        assert_eq!(whole_percents(&[0.0, 0.0]), [0, 0]);
        let many: Vec<f64> = (1..15).map(f64::from).collect();
        assert_eq!(whole_percents(&many).iter().sum::<u32>(), 100);
    }

    #[test]
    fn a_bar_has_the_length_of_its_share_and_is_never_empty() {
        assert_eq!(bar(1.0, 10).chars().count(), 10);
        assert_eq!(bar(0.001, 10).chars().count(), 1);
        assert_eq!(bar(0.0, 10), "");
    }

    #[test]
    fn an_unknown_quantity_has_no_brief_words() {
        let say = |value: &u32| format!("{value} packets");
        let least = Told::AtLeast {
            bound: 7_u32,
            why: "",
            remedy: "",
        };
        assert_eq!(
            told_briefly(&least, say).as_deref(),
            Some("at least 7 packets")
        );
        let unknown = Told::<u32>::CannotBeTold {
            why: "",
            remedy: "",
        };
        assert_eq!(told_briefly(&unknown, say), None);
    }
}
