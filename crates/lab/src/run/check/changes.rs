//! Invalid changes of a link, duty cycles and ACK thinning.

use super::fail;
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::{
    AckThinning, Change, DutyCycle, Experiment, LinkOptions, QueueKind, Queued,
};
use crate::units::Delay;

type Checked = Result<(), ExperimentError>;

/// Checks both directions of the link at `key`.
pub(super) fn link(e: &Experiment, link: &LinkOptions, key: &str, source: &Source) -> Checked {
    let reverse = link.reverse.clone().unwrap_or_default();
    let back = format!("{key}.reverse");
    let own_changes = reverse.changes.clone().unwrap_or_default();
    for (at, changes, duty, trace) in [
        (key, &link.changes, link.duty, link.trace.is_some()),
        (&back, &own_changes, reverse.duty, reverse.trace.is_some()),
    ] {
        if trace && (!changes.is_empty() || duty.is_some()) {
            let name = if changes.is_empty() {
                "duty"
            } else {
                "changes"
            };
            let message = "a link with a recorded trace cannot have changes or a duty cycle";
            let help = "remove one of the two, or use a rate instead of the trace";
            return fail(source, &format!("{at}.{name}"), message.to_owned(), help);
        }
        for (n, one) in changes.iter().enumerate() {
            change(e.duration, one, &format!("{at}.changes.{n}"), source)?;
        }
        if let Some(duty) = duty {
            cycle(duty, &format!("{at}.duty"), source)?;
        }
        together(changes, duty, at, source)?;
    }
    let changes = link.changes.iter().chain(&own_changes);
    if link.overtaking && !changes.clone().any(|change| change.delay.is_some()) {
        let message = "no change sets a delay, so nothing can overtake".to_owned();
        let help = "set a `delay` in a change, or remove `overtaking`";
        return fail(source, &format!("{key}.overtaking"), message, help);
    }
    let managed =
        link.queue.table().is_some() && link.queueing().managed().is_some_and(|d| d.is_managed());
    let loses = |change: &Change| change.queued == Queued::Lost;
    if managed && let Some(n) = link.changes.iter().position(loses) {
        let message = format!("a {} queue keeps waiting packets", link.queue.name());
        let help = "remove `queued`, or use queue = \"droptail\" or \"red\"";
        return fail(source, &format!("{key}.changes.{n}.queued"), message, help);
    }
    thinning(link.thin_acks, link.queue, key, source)?;
    thinning(reverse.thin_acks, reverse.queue, &back, source)
}

fn change(duration: Delay, change: &Change, key: &str, source: &Source) -> Checked {
    let at = |name: &str| format!("{key}.{name}");
    let idle = change.rate.is_none()
        && change.delay.is_none()
        && change.gap.as_nanos() == 0
        && change.queued == Queued::Kept;
    if idle {
        let message = "this change has no effect".to_owned();
        let help = "set a rate, a delay, a gap, or queued = \"lost\"";
        return fail(source, key, message, help);
    }
    if change.at >= duration {
        let message = format!(
            "the change is at {}, but the run ends at {duration}",
            change.at
        );
        return fail(source, &at("at"), message, "");
    }
    if change.every.is_some_and(|every| every.as_nanos() < 10_000) {
        let message = "the interval between changes is too short".to_owned();
        return fail(source, &at("every"), message, "at least \"10us\"");
    }
    if change
        .rate
        .is_some_and(|rate| rate.as_bits_per_second() == 0)
    {
        let message = "a link needs a rate above zero".to_owned();
        let help = "for an outage, use `gap`";
        return fail(source, &at("rate"), message, help);
    }
    if change.rate_max.is_some() && change.rate_max < change.rate
        || change.rate_max.is_some() && change.rate.is_none()
    {
        let message = "rates are drawn from `rate` to `rate_max`".to_owned();
        return fail(
            source,
            &at("rate_max"),
            message,
            "set both, with the smaller one first",
        );
    }
    if change.delay_max.is_some() && change.delay_max < change.delay
        || change.delay_max.is_some() && change.delay.is_none()
    {
        let message = "delays are drawn from `delay` to `delay_max`".to_owned();
        return fail(
            source,
            &at("delay_max"),
            message,
            "set both, with the smaller one first",
        );
    }
    Ok(())
}

fn cycle(duty: DutyCycle, key: &str, source: &Source) -> Checked {
    if duty.period.as_nanos() < 10_000 {
        let message = "the period is too short".to_owned();
        return fail(
            source,
            &format!("{key}.period"),
            message,
            "at least \"10us\"",
        );
    }
    if duty.share.as_fraction() * (duty.period.as_nanos() as f64) < 1.0 {
        let message = "a link that is never open carries nothing".to_owned();
        return fail(
            source,
            &format!("{key}.share"),
            message,
            "for example \"20%\"",
        );
    }
    Ok(())
}

/// Rejects outages that leave no time for the transmission of packets.
fn together(changes: &[Change], duty: Option<DutyCycle>, key: &str, source: &Source) -> Checked {
    let part = |change: &Change| {
        let every = change.every?.as_seconds();
        Some(change.gap.as_seconds() / every)
    };
    let mut shut = duty.map_or(0.0, |duty| 1.0 - duty.share.as_fraction());
    for (n, change) in changes.iter().enumerate() {
        shut += part(change).unwrap_or(0.0);
        if shut >= 1.0 {
            let message = "the repeated gaps may leave no time to send".to_owned();
            let help = "shorten the gaps: together they must take less than the whole time";
            return fail(source, &format!("{key}.changes.{n}.gap"), message, help);
        }
    }
    Ok(())
}

fn thinning(thin: Option<AckThinning>, queue: QueueKind, key: &str, source: &Source) -> Checked {
    let Some(thin) = thin else {
        return Ok(());
    };
    let at = |name: &str| format!("{key}.thin_acks{name}");
    if thin.every.is_none() && !thin.superseded {
        let message = "this thins no ACKs".to_owned();
        let help = "for example { every = 4 } or { superseded = true }";
        return fail(source, &at(""), message, help);
    }
    if thin.every.is_some_and(|every| !(1..=1000).contains(&every)) {
        let message = "`every` is a number from 1 to 1000".to_owned();
        return fail(source, &at(".every"), message, "for example every = 4");
    }
    if thin.superseded && queue != QueueKind::DropTail {
        let message = "`superseded` needs queue = \"droptail\"".to_owned();
        return fail(source, &at(".superseded"), message, "remove `queue`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::run::Plan;

    fn complaint(path: &str) -> Option<String> {
        let text = format!(
            "stacks = [\"sack/reno\"]\nduration = \"60s\"\n[path]\nrate = \"8Mbit/s\"\n{path}\n"
        );
        let source = Source::new("test.toml", text);
        let experiment = source.parse().unwrap();
        let error = Plan::new(experiment, &source, &Catalog::builtin()).err()?;
        let ExperimentError::Invalid(complaint) = error else {
            panic!("{error}");
        };
        assert!(complaint.at.is_some(), "{complaint}");
        Some(format!(
            "{complaint} {}",
            complaint.help.as_deref().unwrap_or_default()
        ))
    }

    #[test]
    fn changes_without_effect_and_invalid_changes_are_located() {
        for (path, part) in [
            ("changes = [{ at = \"1s\" }]", "has no effect"),
            ("changes = [{ at = \"60s\", gap = \"1s\" }]", "the run ends"),
            ("changes = [{ at = \"1s\", rate = \"0bit/s\" }]", "`gap`"),
            (
                "changes = [{ at = \"1s\", every = \"1us\", gap = \"1ns\" }]",
                "10us",
            ),
            (
                "changes = [{ at = \"1s\", delay = \"2ms\", delay_max = \"1ms\" }]",
                "the smaller one first",
            ),
            (
                "changes = [{ at = \"1s\", rate_max = \"1Mbit/s\", gap = \"1s\" }]",
                "the smaller one first",
            ),
            (
                "changes = [{ at = \"1s\", every = \"1s\", gap = \"1s\" }]",
                "no time to send",
            ),
            (
                "duty = { period = \"1s\", share = \"0%\" }",
                "carries nothing",
            ),
            ("duty = { period = \"1us\", share = \"50%\" }", "10us"),
            (
                "duty = { period = \"1s\", share = \"50%\" }\n\
                 changes = [{ at = \"1s\", every = \"2s\", gap = \"1s\" }]",
                "no time to send",
            ),
            ("overtaking = true", "nothing can overtake"),
            (
                "queue = \"codel\"\nchanges = [{ at = \"1s\", queued = \"lost\" }]",
                "keeps waiting packets",
            ),
            ("thin_acks = {}", "thins no ACKs"),
            ("thin_acks = { every = 1001 }", "1 to 1000"),
            (
                "queue = \"codel\"\nthin_acks = { superseded = true }",
                "queue = \"droptail\"",
            ),
            ("[path.reverse]\nthin_acks = { every = 0 }", "1 to 1000"),
            (
                "[path.reverse]\nchanges = [{ at = \"1s\" }]",
                "has no effect",
            ),
        ] {
            let error = complaint(path).unwrap_or_else(|| panic!("{path} is accepted"));
            assert!(error.contains(part), "{path}: {error}");
        }
        assert_eq!(complaint("changes = [{ at = \"0s\", gap = \"1s\" }]"), None);
    }

    #[test]
    fn changes_can_be_swept() {
        let text = "stacks = [\"sack/reno\"]\n[path]\nrate = \"8Mbit/s\"\n\
                    duty = { period = \"100ms\", share = \"50%\" }\n\
                    changes = [{ at = \"1s\", delay = \"1ms\" }]\n[sweep]\n\
                    \"path.changes.0.delay\" = [\"1ms\", \"50ms\"]\n\
                    \"path.duty.share\" = [\"10%\", \"100%\"]\n";
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        let labels: Vec<String> = plan.points().iter().map(|p| p.label()).collect();
        assert_eq!(labels[3], "delay 50ms, share 100%");
    }
}
