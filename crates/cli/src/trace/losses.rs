//! Whether the runs came to the losses that were asked for.

use std::collections::BTreeMap;

use dupack_engine::folder::OutputFolder;
use dupack_lab::experiment::{DropRule, Experiment};
use dupack_lab::trace::stream::{Account, Onlooker};
use dupack_lab::trace::{DropCause, Event, Flow, Unreached, What};
use dupack_lab::units::Delay;
use dupack_tcp::time::{Duration, Instant};
use miette::{Result, miette};

use super::{Done, Run, Setting, TraceArgs};

/// What became of the losses by list that may have met nothing although the run came to them.
#[derive(Clone, Debug, Default)]
pub(super) struct Met {
    /// How often each packet was sent whose second or later transmission is to be lost.
    sent: BTreeMap<u64, u32>,
    /// The packets whose transmissions are counted: from the first to the last of each rule.
    counted: Vec<(u64, u64)>,
    /// When something was lost by list.
    lost: Vec<Instant>,
    /// The outages in which that is asked.
    outages: Vec<(Instant, Instant)>,
}

impl Met {
    /// Nothing yet, of the lists of `experiment`.
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

    /// Why `rule` met nothing, if it did not.
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
                (!met).then(|| format!("nothing of {name} came to the link then"))
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
                // One of each outage is enough.
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

/// An error if a rule of the command line names only what came after the end of a run; a warning
/// where that is true of a part of it, or of a rule of the file, or where a rule met nothing.
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
                        say!("warning: `--drop {rule}` met nothing: {why}");
                    }
                }
                Some(Unreached::All) => {
                    let help = format!(
                        "name what comes before, or make the run longer with --duration; {} has the files of the run, but no figure",
                        folder.path().display()
                    );
                    let end = end_of(&run.name, rule, account);
                    return Err(miette!(
                        help = help,
                        "`--drop {rule}` lies beyond the run: {end}"
                    ));
                }
                Some(Unreached::End) => {
                    let end = end_of(&run.name, rule, account);
                    say!("warning: the end of `--drop {rule}` lies beyond the run: {end}");
                }
            }
        }
        for rule in of_file.clone() {
            if account.reach.beyond(rule, account.end).is_some() {
                let end = end_of(&run.name, rule, account);
                say!("warning: the file's loss `{rule}` lies beyond the run: {end}");
            } else if let Some(why) = done.met.nothing(rule, &run.name) {
                say!("warning: the file's loss `{rule}` met nothing: {why}");
            }
        }
    }
    Ok(())
}

/// Where a run ended, in what the rule counts.
fn end_of(name: &str, rule: &DropRule, account: &Account) -> String {
    let last = |what: &str, count: u64| match count.checked_sub(1) {
        Some(last) => format!(", and {what} {last} was the last sent"),
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
    fn a_transmission_that_never_was_meets_nothing() {
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
            ("1s..2s", Some("nothing of it came to the link then")),
        ] {
            let parsed: DropRule = rule.parse().unwrap();
            assert_eq!(met.nothing(&parsed, "it").as_deref(), why, "{rule}");
        }
    }
}
