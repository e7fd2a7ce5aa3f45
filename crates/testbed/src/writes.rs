//! What the senders' application writes when, as an experiment lists it.

use dupack_lab::experiment::{AppWrite, Experiment};
use dupack_lab::units::Delay;
use dupack_tcp::time::Duration;
use dupack_wire::transfer::{When, Write};

/// What the first flow of an experiment writes when, one write after the other; nothing if its application has
/// everything at once.
#[must_use]
pub fn writes(experiment: &Experiment) -> Vec<Write> {
    let listed = experiment
        .flows
        .first()
        .map_or(&[][..], |flow| &flow.writes);
    script(listed, experiment.duration)
}

/// As the simulator reads the list: where nothing is said of the time, a write comes with the one before.
fn script(listed: &[AppWrite], duration: Delay) -> Vec<Write> {
    let mut script = Vec::new();
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
            let bytes = write.bytes.as_bytes();
            script.push(Write { when, bytes });
        }
    }
    script
}

const fn span(delay: Delay) -> Duration {
    Duration::from_nanos(delay.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_is_listed_one_by_one() {
        let ms = |millis: u64| Delay::from_nanos(millis * 1_000_000);
        let once = AppWrite {
            at: None,
            after: None,
            every: None,
            count: None,
            bytes: dupack_lab::units::ByteCount::from_bytes(1000),
        };
        let every = AppWrite {
            every: Some(ms(300)),
            count: Some(2),
            ..once
        };
        let answers = AppWrite {
            after: Some(ms(50)),
            count: Some(2),
            ..once
        };
        let script = script(&[every, once, answers], ms(1000));
        let at = |millis| When::At(Duration::from_millis(millis));
        let after = |millis| When::After(Duration::from_millis(millis));
        let times: Vec<When> = script.iter().map(|write| write.when).collect();
        assert_eq!(times, [at(0), at(300), at(300), after(50), after(50)]);
    }
}
