//! Checks that the requested losses occurred in the runs.

use std::collections::BTreeMap;

use dupack_engine::folder::OutputFolder;
use dupack_lab::experiment::{DropRule, Experiment};
use dupack_lab::trace::stream::{Account, Onlooker};
use dupack_lab::trace::{DropCause, Event, Flow, Unreached, What};
use dupack_lab::units::Delay;
use dupack_tcp::time::{Duration, Instant};
use miette::{Result, miette};

use super::{Done, Run, Setting, TraceArgs};

/// Record of requested losses, to find rules that matched nothing although the run lasted long enough.
#[derive(Clone, Debug, Default)]
pub(super) struct Met {
    /// Number of transmissions of each packet in `counted`.
    sent: BTreeMap<u64, u32>,
    /// Packets whose second or later transmission is to be lost: the first and the last packet of each rule.
    counted: Vec<(u64, u64)>,
    /// Times of losses during the outages.
    lost: Vec<Instant>,
    /// Requested outages, for which loss times are recorded.
    outages: Vec<(Instant, Instant)>,
}

impl Met {
    /// Returns an empty record for the lists of `experiment`.
    pub(super) fn none(experiment: &Experiment) -> Self {
        let mut this = Self::default();
        for rule in experiment.path.iter().flat_map(|path| &path.drop) {
            match *rule {
                DropRule::Data {
                    first,
                    last,
                    transmission: 2..,
                } => this.counted.push((first, last)),
                DropRule::Time { from, until } => this.outages.push((at(from), at(until))),
                _ => {}
            }
        }
        this
    }

    /// Returns the reason if `rule` matched nothing, otherwise `None`.
    fn nothing(&self, rule: &DropRule, name: &str) -> Option<String> {
        match *rule {
            DropRule::Data {
                first,
                last,
                transmission: nth @ 2..,
            } => {
                let sent = self.sent.range(first..=last).map(|(_, times)| *times);
                let most = sent.max().unwrap_or(0);
                let which = match first == last {
                    true => format!("packet {first}"),
                    false => format!("each of the packets {first}-{last}"),
                };
                let times = match most {
                    1 => "once".to_owned(),
                    2 => "twice".to_owned(),
                    most => format!("{most} times"),
                };
                let most_of_all = if first == last { "" } else { " at most" };
                (most < nth).then(|| format!("{name} sent {which} {times}{most_of_all}"))
            }
            DropRule::Time { from, until } => {
                let inside = at(from)..at(until);
                let met = self.lost.iter().any(|time| inside.contains(time));
                (!met).then(|| format!("no packet of {name} was on the link at that time"))
            }
            _ => None,
        }
    }
}

impl Onlooker for Met {
    fn begin(&mut self, _: &Flow, _: Option<Duration>) {}

    fn event(&mut self, event: &Event) {
        match event.what {
            What::Sent(sent) => {
                let holds = |(first, last): &(u64, u64)| (first..=last).contains(&&sent.number);
                if self.counted.iter().any(holds) {
                    *self.sent.entry(sent.number).or_default() += 1;
                }
            }
            What::DataDropped {
                cause: DropCause::Script,
                ..
            } => {
                // One recorded loss per outage is sufficient.
                let open = |(from, until): &(Instant, Instant)| {
                    let inside = *from..*until;
                    inside.contains(&event.at) && !self.lost.iter().any(|at| inside.contains(at))
                };
                if self.outages.iter().any(open) {
                    self.lost.push(event.at);
                }
            }
            _ => {}
        }
    }
}

fn at(time: Delay) -> Instant {
    Instant::ZERO + Duration::from_nanos(time.as_nanos())
}

/// Returns an error if a rule of the command line would apply only after the end of a run. Prints a warning if this is
/// true for a part of the rule or for a rule of the file, or if a rule matched nothing.
pub(super) fn check(
    args: &TraceArgs,
    setting: &Setting,
    folder: &OutputFolder,
    runs: &[Run],
    done: &[Done],
) -> Result<()> {
    let of_file = setting.experiment.path.iter().flat_map(|path| &path.drop);
    let of_file = of_file.filter(|rule| !args.drop.contains(rule));
    for (run, done) in runs.iter().zip(done) {
        let account = &done.account;
        for rule in &args.drop {
            match account.reach.beyond(rule, account.end) {
                None => {
                    if let Some(why) = done.met.nothing(rule, &run.name) {
                        say!("warning: `--drop {rule}` matched nothing: {why}");
                    }
                }
                Some(Unreached::All) => {
                    let help = format!(
                        "name packets before the end, or extend the run with --duration; {} has the files of the run, but no figure",
                        folder.path().display()
                    );
                    let end = end_of(&run.name, rule, account);
                    return Err(miette!(
                        help = help,
                        "`--drop {rule}` is beyond the end of the run: {end}"
                    ));
                }
                Some(Unreached::End) => {
                    let end = end_of(&run.name, rule, account);
                    say!("warning: the end of `--drop {rule}` is beyond the end of the run: {end}");
                }
            }
        }
        for rule in of_file.clone() {
            if account.reach.beyond(rule, account.end).is_some() {
                let end = end_of(&run.name, rule, account);
                say!("warning: the file's loss `{rule}` is beyond the end of the run: {end}");
            } else if let Some(why) = done.met.nothing(rule, &run.name) {
                say!("warning: the file's loss `{rule}` matched nothing: {why}");
            }
        }
    }
    Ok(())
}

/// Returns the end of a run in the unit of the rule.
fn end_of(name: &str, rule: &DropRule, account: &Account) -> String {
    let last = |what: &str, count: u64| match count.checked_sub(1) {
        Some(last) => format!(", and the last {what} sent was {last}"),
        None => format!(", and no {what} was sent"),
    };
    let last = match rule {
        DropRule::Data { .. } | DropRule::Chosen { .. } => last("packet", account.reach.packets),
        DropRule::Ack { .. } => last("ACK", account.reach.acks),
        _ => String::new(),
    };
    format!("{name} ended at {:.3} s{last}", account.end.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_transmissions_match_nothing() {
        let met = Met {
            sent: [(12, 2), (13, 1), (14, 3)].into(),
            ..Met::default()
        };
        for (rule, why) in [
            ("12#7", Some("it sent packet 12 twice")),
            ("12#2", None),
            ("13#2", Some("it sent packet 13 once")),
            (
                "12-13#3",
                Some("it sent each of the packets 12-13 twice at most"),
            ),
            ("12-14#3", None),
            ("12", None),
            (
                "1s..2s",
                Some("no packet of it was on the link at that time"),
            ),
        ] {
            let parsed: DropRule = rule.parse().unwrap();
            assert_eq!(met.nothing(&parsed, "it").as_deref(), why, "{rule}");
        }
    }
}
