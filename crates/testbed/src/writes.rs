//! Writes of the senders' application, as listed in an experiment.

use dupack_lab::experiment::Experiment;
use dupack_lab::run::application_writes;
use dupack_wire::transfer::Write;

/// Returns the writes of an experiment's first flow, one by one. The list is empty if the application has all data at
/// the start.
#[must_use]
pub fn writes(experiment: &Experiment) -> Vec<Write> {
    let listed = experiment
        .flows
        .first()
        .map_or(&[][..], |flow| &flow.writes);
    application_writes(listed, experiment.duration)
}

#[cfg(test)]
mod tests {
    use dupack_lab::experiment::AppWrite;
    use dupack_lab::units::Delay;
    use dupack_tcp::time::Duration;
    use dupack_wire::transfer::When;

    use super::*;

    #[test]
    fn repeated_writes_are_listed_one_by_one() {
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
        let script = application_writes(&[every, once, answers], ms(1000));
        let at = |millis| When::At(Duration::from_millis(millis));
        let after = |millis| When::After(Duration::from_millis(millis));
        let times: Vec<When> = script.iter().map(|write| write.when).collect();
        assert_eq!(times, [at(0), at(300), at(300), after(50), after(50)]);
    }
}
