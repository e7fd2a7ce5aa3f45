//! Conversion of scheduled link changes to the configuration of `dupack-net`.

use dupack_net::link::{JitterOrder, Queued as NetQueued, ScheduleConfig, Span, Step};
use dupack_net::random::Stream;
use dupack_net::units::BitRate;
use dupack_tcp::time::{Duration, Instant};

use super::{BuildError, bit_rate, span};
use crate::experiment::{Change, Direction, DutyCycle, LinkOptions, Queued};
use crate::units::{Delay, Rate};

/// Returns the changes of both directions of the link at `key`, in the run with `seed`.
pub(super) fn schedules(
    link: &LinkOptions,
    reverse: &Direction,
    key: &str,
    seed: u64,
) -> Result<[Option<ScheduleConfig>; 2], BuildError> {
    let one = |changes: &[Change], duty: Option<DutyCycle>, key: &str| {
        let steps = changes.iter().enumerate();
        let steps = steps.map(|(n, change)| step(change, &format!("{key}.changes.{n}")));
        let mut steps = steps.collect::<Result<Vec<_>, _>>()?;
        steps.extend(duty.and_then(shut));
        if steps.is_empty() {
            return Ok(None);
        }
        let mut schedule = ScheduleConfig::new(steps);
        if link.overtaking {
            schedule.order = JitterOrder::Overtaking;
        }
        schedule.draws = Stream::derive(seed, &format!("changes of {key}")).bits();
        Ok(Some(schedule))
    };
    let there = one(&link.changes, link.duty, key)?;
    let back = match &reverse.changes {
        Some(own) => one(own, reverse.duty.or(link.duty), &format!("{key}.reverse"))?,
        None if reverse.trace.is_some() => one(&[], reverse.duty, key)?,
        None => {
            let mut alike = link.changes.clone();
            for change in &mut alike {
                if reverse.rate.is_some() {
                    (change.rate, change.rate_max) = (None, None);
                }
                if reverse.delay.is_some() {
                    (change.delay, change.delay_max) = (None, None);
                }
            }
            one(&alike, reverse.duty.or(link.duty), key)?
        }
    };
    Ok([there, back])
}

fn step(change: &Change, key: &str) -> Result<Step, BuildError> {
    let mut step = Step::at(Instant::ZERO + span(change.at));
    step.every = change.every.map(span);
    step.rate = rates(change.rate, change.rate_max, key)?;
    step.delay = change.delay.map(|min| delays(min, change.delay_max));
    step.gap = span(change.gap);
    step.queued = match change.queued {
        Queued::Kept => NetQueued::Kept,
        Queued::Lost => NetQueued::Lost,
    };
    Ok(step)
}

fn rates(
    min: Option<Rate>,
    max: Option<Rate>,
    key: &str,
) -> Result<Option<Span<BitRate>>, BuildError> {
    let Some(min) = min else {
        return Ok(None);
    };
    let key = format!("{key}.rate");
    let max = bit_rate(max.unwrap_or(min), &key)?;
    let min = bit_rate(min, &key)?;
    Ok(Some(Span { min, max }))
}

fn delays(min: Delay, max: Option<Delay>) -> Span<Duration> {
    Span {
        min: span(min),
        max: span(max.unwrap_or(min)),
    }
}

/// Returns the periodic outages of a duty cycle, or `None` if the link is always open.
fn shut(duty: DutyCycle) -> Option<Step> {
    let on = duty.period.as_nanos() as f64 * duty.share.as_fraction();
    let on = Duration::from_nanos(on.round() as u64);
    let step = ScheduleConfig::duty(span(duty.period), on);
    (!step.gap.is_zero()).then_some(step)
}
