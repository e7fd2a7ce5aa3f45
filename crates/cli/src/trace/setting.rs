//! The setting of a trace: the experiment that the flags describe, or one from a file.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use dupack_algorithms::catalog::{Catalog, Dialect};
use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::points::points;
use dupack_lab::experiment::{Access, DropRule, Experiment, FlowGroup, LinkOptions, Seeds};
use dupack_lab::path_file::PathFile;
use dupack_lab::run::Plan;
use dupack_lab::units::{Buffer, ByteCount, Delay, Rate, Room};
use dupack_report::trace;
use miette::{Result, miette};

use super::TraceArgs;
use crate::flags::{Given, whole_path};

/// Options of [`TraceArgs`] that a file replaces.
pub(super) const NOT_WITH_A_FILE: [&str; 12] = [
    "loss",
    "burst_loss",
    "rate",
    "trace",
    "delay",
    "buffer",
    "flows",
    "initial_window",
    "initial_ssthresh",
    "delayed_ack",
    "dialect",
    "segment",
];

/// The setting of a trace.
pub(super) struct Setting {
    pub experiment: Experiment,
    pub source: Source,
    pub seed: u64,
    /// Label of the point, if the file has several.
    point: String,
    /// Experiment in the file, which is checked before the flags change it, and its source.
    file: Option<(Experiment, Source)>,
    /// Notes on the values taken from the file.
    pub remarks: Vec<String>,
}

impl Setting {
    pub fn of(args: &TraceArgs, catalog: &Catalog) -> Result<Self> {
        match &args.experiment {
            Some(file) => Self::of_file(args, file),
            None => {
                let mut experiment = of_flags(args);
                if let Some(file) = &args.path {
                    let file = PathFile::read(file, catalog)?;
                    on_path(&file, args, &mut experiment);
                }
                let source = Source::of_flags(&experiment);
                Ok(Self {
                    experiment,
                    source,
                    seed: args.seed.unwrap_or(DEFAULT_SEED),
                    point: String::new(),
                    file: None,
                    remarks: Vec::new(),
                })
            }
        }
    }

    fn of_file(args: &TraceArgs, file: &Path) -> Result<Self> {
        let own = Source::read(file)?;
        let whole = own.parse()?;
        let points = points(&whole, &own)?;
        let number = args.point.unwrap_or(1);
        let Some(point) = number.checked_sub(1).and_then(|n| points.get(n)) else {
            let labels = points.iter().enumerate();
            let labels = labels.map(|(n, point)| format!("{}: {}", n + 1, point.label()));
            let help = labels.collect::<Vec<String>>().join("\n");
            return Err(miette!(
                help = help,
                "the file has no point {number}; it has {} points",
                points.len()
            ));
        };
        let mut remarks = Vec::new();
        if points.len() > 1 && args.point.is_none() {
            let (count, label) = (points.len(), point.label());
            remarks.push(format!(
                "the file has {count} points; this is the first, {label} (choose with --point 1 to {count})"
            ));
        }
        let mut e = Experiment::clone(&point.experiment);
        let seed = args.seed.or_else(|| e.seeds.to_vec().first().copied());
        let seed = seed.unwrap_or(DEFAULT_SEED);
        e.seeds = Seeds::List(vec![seed]);
        e.duration = args.duration.unwrap_or(e.duration);
        // Nothing is measured, so no warm-up is necessary.
        e.warm_up = Delay::default();
        let stacks = stacks(args);
        if !stacks.is_empty() {
            e.stacks = stacks;
        }
        add_drops(args, file, &mut e)?;
        for link in e.path.iter_mut().chain(&mut e.links) {
            let from_root = |name: &PathBuf| whole_path(&own.folder.join(name));
            link.trace = link.trace.as_ref().map(from_root);
        }
        let mut source = Source::of_flags(&e);
        source.name = format!("{}, as traced", own.name);
        Ok(Self {
            experiment: e,
            source,
            seed,
            point: point.label(),
            file: Some((whole, own)),
            remarks,
        })
    }

    /// Returns a plan with one run for each stack. The unchanged file is checked first, so that errors point to lines
    /// of the file.
    pub fn plan(&self, catalog: &Catalog) -> Result<Plan> {
        if let Some((whole, own)) = &self.file {
            Plan::new(whole.clone(), own, catalog)?;
        }
        Ok(Plan::new(self.experiment.clone(), &self.source, catalog)?)
    }

    pub fn title(&self) -> String {
        let name = match (&self.file, self.experiment.title.as_str()) {
            (Some(_), title) if !title.is_empty() => title.to_owned(),
            _ => self.experiment.stacks.join(", "),
        };
        match self.experiment.dialect {
            Dialect::Ns2 => format!("{name} · dialect ns2"),
            _ => name,
        }
    }

    /// Returns the conditions of the runs, with the effective parameters of `plan`.
    pub fn subtitle(&self, plan: &Plan) -> String {
        let setting = trace::setting(&self.experiment, plan.parameters(), self.seed);
        match self.point.as_str() {
            "" => setting,
            point => format!("{point} · {setting}"),
        }
    }
}

/// Default seed.
const DEFAULT_SEED: u64 = 1;

/// Default simulated time of a run without a file.
const DEFAULT_DURATION: Delay = Delay::from_nanos(10_000_000_000);

fn stacks(args: &TraceArgs) -> Vec<String> {
    let lists = args.stacks.iter();
    lists.flat_map(|list| list.0.iter().cloned()).collect()
}

/// Adds the losses of the command line to those of the file.
fn add_drops(args: &TraceArgs, file: &Path, e: &mut Experiment) -> Result<()> {
    match &mut e.path {
        Some(path) => lose(path, &args.drop),
        None if args.drop.is_empty() => {}
        None => {
            return Err(miette!(
                help = "add `drop = [\"24-30\"]` to the link that should lose the packets",
                "`--drop` applies to the bottleneck of a [path], but {} has none",
                file.display()
            ));
        }
    }
    Ok(())
}

/// Adds losses to the path: of data in the forward direction, of ACKs in the reverse direction.
fn lose(path: &mut LinkOptions, rules: &[DropRule]) {
    let is_ack = |rule: &&DropRule| matches!(rule, DropRule::Ack { .. });
    path.drop.extend(rules.iter().filter(|rule| !is_ack(rule)));
    let mut acks = rules.iter().filter(is_ack).peekable();
    if acks.peek().is_some() {
        let back = path.reverse.get_or_insert_default();
        back.drop.extend(acks);
    }
}

/// Returns the experiment that the flags describe: one bottleneck between access links of 10 Mbit/s and 1 ms, as in
/// figure 3 of the Momentary paper. The access links are faster if the bottleneck is faster, and shorter if the path is
/// shorter.
fn of_flags(args: &TraceArgs) -> Experiment {
    let mut e = Experiment::new(stacks(args));
    e.title = format!("{}, packet by packet", e.stacks.join(", "));
    e.dialect = args.dialect;
    e.seeds = Seeds::List(vec![args.seed.unwrap_or(DEFAULT_SEED)]);
    e.duration = args.duration.unwrap_or(DEFAULT_DURATION);
    let access = Access {
        rate: access_rate(args),
        delay: Delay::from_nanos((args.delay.as_nanos() / 4).min(1_000_000)),
    };
    e.access = Some(access);
    let bottleneck = args.delay.as_nanos() - 2 * access.delay.as_nanos();
    let mut path = LinkOptions {
        rate: args.trace.is_none().then_some(args.rate),
        trace: args.trace.as_deref().map(whole_path),
        delay: Delay::from_nanos(bottleneck),
        buffer: args.buffer.or(Usual::of(args.dialect).buffer),
        loss: args.loss,
        burst_loss: args.burst_loss,
        ..LinkOptions::default()
    };
    lose(&mut path, &args.drop);
    e.path = Some(path);
    if args.flows > 1 {
        e.flows.push(FlowGroup {
            count: args.flows,
            ..FlowGroup::default()
        });
    }
    let usual = Usual::of(args.dialect);
    e.sender.segment = args.segment.or(usual.segment);
    e.sender.initial_window = args.initial_window.or(usual.initial_window);
    e.sender.initial_ssthresh = args.initial_ssthresh.or(Some(usual.initial_ssthresh));
    e.receiver.delayed_ack = args.delayed_ack;
    e
}

/// Applies a path file to `experiment`.
fn on_path(file: &PathFile, args: &TraceArgs, experiment: &mut Experiment) {
    experiment.access = None;
    file.apply(experiment);
    experiment.duration = args.duration.unwrap_or(file.duration);
    if let Some(path) = &mut experiment.path {
        lose(path, &args.drop);
    }
}

/// Default values of a trace.
struct Usual {
    buffer: Option<Room>,
    segment: Option<ByteCount>,
    initial_window: Option<Buffer>,
    initial_ssthresh: Buffer,
}

impl Usual {
    /// Returns the values of figure 3 of the Momentary paper for the dialect of its simulator. The other dialects keep
    /// their own defaults except for the slow-start threshold: slow start ends before the queue is full, so that the
    /// requested losses are the first losses.
    fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Ns2 => Self {
                buffer: Some(Room::Fixed(Buffer::Packets(1000))),
                segment: Some(ByteCount::from_bytes(1000)),
                initial_window: Some(Buffer::Packets(1)),
                initial_ssthresh: Buffer::Packets(10),
            },
            Dialect::Rfc | Dialect::Linux => Self {
                buffer: None,
                segment: None,
                initial_window: None,
                initial_ssthresh: Buffer::Packets(20),
            },
        }
    }
}

/// Returns the `plan` of the flags. Its parameters distinguish given values, defaults and built-in values.
pub(super) fn say_what_was_given(plan: Plan, given: &Given) -> Plan {
    given
        .mark(plan, &DEFAULTS)
        .not_given("access.rate", "built in")
        .not_given("access.delay", "built in")
        .not_given("path.delay", "remainder of --delay for the bottleneck")
}

/// Flags that always have a value, and the keys of the experiment that they set. The list does not contain the delay,
/// because a part of the delay belongs to the access links.
const DEFAULTS: [(&str, &[&str]); 5] = [
    ("rate", &["path.rate"]),
    ("loss", &["path.loss"]),
    ("dialect", &["dialect"]),
    ("duration", &["duration"]),
    ("seed", &["seeds"]),
];

/// Returns the rate of the access links. The rate is so high that the access links never delay the traffic of the
/// bottleneck.
fn access_rate(args: &TraceArgs) -> Rate {
    const LEAST: u64 = 10_000_000;
    /// Rate of the access links if the bottleneck is a recorded link, whose rate is unknown before the file is read.
    const BESIDE_A_TRACE: u64 = 1_000_000_000;
    let rate = match args.trace {
        Some(_) => BESIDE_A_TRACE,
        None => args.rate.as_bits_per_second().saturating_mul(10),
    };
    Rate::from_bits_per_second(rate.max(LEAST))
}

/// Selection of flows, numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flows {
    /// All flows.
    All,
    /// These flows, by their numbers.
    These(Vec<usize>),
}

impl FromStr for Flows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let number = |part: &str| match part.trim().parse::<usize>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!(
                "invalid flow `{}`: expected 1, 1,3 or all",
                part.trim()
            )),
        };
        let mut numbers = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Self::These(numbers))
    }
}

impl Flows {
    /// Returns the indices of the selected flows among `count` flows, from 0.
    pub fn among(&self, count: usize) -> Result<Vec<usize>, String> {
        match self {
            Self::All if count > MOST_FOLLOWED => Err(format!(
                "there are {count} flows, but figures have room for {MOST_FOLLOWED}: name the flows with --follow"
            )),
            Self::All => Ok((0..count).collect()),
            Self::These(numbers) => match numbers.iter().find(|&&number| number > count) {
                Some(number) => Err(format!(
                    "there is no flow {number}: the flows are 1 to {count}"
                )),
                None => Ok(numbers.iter().map(|number| number - 1).collect()),
            },
        }
    }
}

/// Maximum number of flows that `all` traces.
const MOST_FOLLOWED: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_counted_from_1_and_missing_ones_named() {
        let flows: Flows = "3, 1,1".parse().unwrap();
        assert_eq!(flows.among(3), Ok(vec![0, 2]));
        assert!(flows.among(2).unwrap_err().contains("no flow 3"));
        assert_eq!("all".parse::<Flows>().unwrap().among(2), Ok(vec![0, 1]));
        assert!("0".parse::<Flows>().unwrap_err().contains("1,3 or all"));
        assert!(Flows::All.among(13).unwrap_err().contains("--follow"));
    }
}
