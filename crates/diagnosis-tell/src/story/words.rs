//! Numbers in sentences, with two digits and a suitable unit. Amounts are formatted by [`crate::words::bytes`].

use dupack_tcp::time::Duration;

/// Returns a duration: `38 s`, `1.9 s`, `60 ms`, `0.4 ms`.
#[must_use]
pub fn time(duration: Duration) -> String {
    let (value, unit) = in_unit(duration, unit_of(duration));
    format!("{value} {unit}")
}

/// Returns a part of a duration together with the whole: `41 of 60 s`, `400 ms of 1.2 s`.
#[must_use]
pub fn part(some: Duration, all: Duration) -> String {
    let unit = unit_of(all);
    if some.is_zero() || unit == unit_of(some) {
        let ((some, _), (all, unit)) = (in_unit(some, unit), in_unit(all, unit));
        format!("{some} of {all} {unit}")
    } else {
        format!("{} of {}", time(some), time(all))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Milliseconds,
}

fn unit_of(duration: Duration) -> Unit {
    // A duration that is rounded to one second is printed in seconds.
    if duration.as_secs_f64() >= 0.9995 {
        Unit::Seconds
    } else {
        Unit::Milliseconds
    }
}

fn in_unit(duration: Duration, unit: Unit) -> (String, &'static str) {
    match unit {
        Unit::Seconds => (number(duration.as_secs_f64()), "s"),
        Unit::Milliseconds => (number(duration.as_secs_f64() * 1e3), "ms"),
    }
}

/// Returns a number with one decimal place if it is below ten, and without decimals otherwise.
#[must_use]
pub fn number(value: f64) -> String {
    if value < 9.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Returns a rate, given in bytes per second: `5.2 Mbit/s`.
#[must_use]
pub fn rate(bytes_per_second: f64) -> String {
    let (value, unit) = in_rate_unit(bytes_per_second, rate_unit(bytes_per_second));
    format!("{value} {unit}")
}

/// Returns a part of a rate together with the whole: `9.5 of 10 Mbit/s`.
#[must_use]
pub fn part_of_rate(some: f64, all: f64) -> String {
    let unit = rate_unit(all);
    let ((some, _), (all, unit)) = (in_rate_unit(some, unit), in_rate_unit(all, unit));
    format!("{some} of {all} {unit}")
}

fn rate_unit(bytes_per_second: f64) -> (f64, &'static str) {
    match bytes_per_second * 8.0 {
        bits if bits >= 1e9 => (1e9, "Gbit/s"),
        bits if bits >= 1e6 => (1e6, "Mbit/s"),
        _ => (1e3, "kbit/s"),
    }
}

fn in_rate_unit(
    bytes_per_second: f64,
    (size, name): (f64, &'static str),
) -> (String, &'static str) {
    (number(bytes_per_second * 8.0 / size), name)
}

/// Returns a number with its noun: `one segment`, `3 segments`.
#[must_use]
pub fn count(number: u64, one: &str) -> String {
    if number == 1 {
        format!("one {one}")
    } else {
        format!("{number} {one}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let ms = Duration::from_millis;
        let told = [38_000, 1_860, 999, 60, 9].map(|millis| time(ms(millis)));
        assert_eq!(told, ["38 s", "1.9 s", "999 ms", "60 ms", "9.0 ms"]);
        assert_eq!(time(Duration::from_micros(400)), "0.4 ms");
        assert_eq!(part(ms(41_000), ms(60_000)), "41 of 60 s");
        assert_eq!(part(ms(400), ms(1200)), "400 ms of 1.2 s");
        assert_eq!(part(ms(0), ms(1200)), "0.0 of 1.2 s");
        assert_eq!(rate(655_350.0), "5.2 Mbit/s");
        assert_eq!(rate(1250.0), "10 kbit/s");
        assert_eq!(part_of_rate(1_187_500.0, 1_250_000.0), "9.5 of 10 Mbit/s");
        assert_eq!(
            [count(1, "loss"), count(3, "segment")],
            ["one loss", "3 segments"]
        );
    }
}
