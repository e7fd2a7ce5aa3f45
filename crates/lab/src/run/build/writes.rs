//! Schedule of an application's writes.

use dupack_net::flow::{When, Write};
use dupack_tcp::time::Duration;

use super::span;
use crate::experiment::AppWrite;
use crate::units::Delay;

/// Returns the writes of a list in order, for a run of `duration`.
#[must_use]
pub fn application_writes(listed: &[AppWrite], duration: Delay) -> Vec<Write> {
    let mut script = Vec::new();
    // Defaults to the time of the previous write.
    let mut latest = Duration::ZERO;
    for write in listed {
        let every = write.every.map_or(Duration::ZERO, span);
        let first = write.at.map_or(latest, span);
        for n in 0..write.times(duration) {
            let when = match write.after {
                Some(after) => When::After(span(after)),
                None => When::At(first + every.saturating_mul(n)),
            };
            if let When::At(at) = when {
                latest = at;
            }
            script.push(Write {
                when,
                bytes: write.bytes.as_bytes(),
            });
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::ByteCount;

    const ONCE: AppWrite = AppWrite {
        at: None,
        after: None,
        every: None,
        count: None,
        bytes: ByteCount::from_bytes(1000),
    };

    fn ms(millis: u64) -> Delay {
        Delay::from_nanos(millis * 1_000_000)
    }

    fn times(listed: &[AppWrite]) -> Vec<When> {
        let script = application_writes(listed, ms(1000));
        script.iter().map(|write| write.when).collect()
    }

    #[test]
    fn repeated_writes_are_expanded() {
        let at = |millis| When::At(Duration::from_millis(millis));
        let after = |millis| When::After(Duration::from_millis(millis));
        let every = AppWrite {
            every: Some(ms(300)),
            ..ONCE
        };
        assert_eq!(times(&[every]), [0, 300, 600, 900].map(at));
        let twice = AppWrite {
            at: Some(ms(100)),
            count: Some(2),
            ..every
        };
        let answers = AppWrite {
            after: Some(ms(50)),
            count: Some(2),
            ..ONCE
        };
        let expected = [at(100), at(400), at(400), after(50), after(50)];
        assert_eq!(times(&[twice, ONCE, answers]), expected);
    }
}
