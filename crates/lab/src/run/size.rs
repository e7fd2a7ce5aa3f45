//! The size of an experiment, found before anything of it is built: how many runs it has, and how much memory they
//! take. Every front asks here before it begins.
//!
//! The memory is an estimate. It rests on what was measured of runs on 64-bit Linux, rounded up, and is there to
//! refuse what cannot work: an experiment that is refused takes several times the memory that there is, or close
//! to it.

use dupack_algorithms::catalog::dialect::WIDE_OPEN;
use dupack_net::event::MAX_SLOTS;
use dupack_net::wireless::config::MAX_STATIONS;
use miette::Diagnostic;
use thiserror::Error;

use super::build::{Scenario, default_segment, flows_in};
use super::check::fail;
use super::execute::Execution;
use super::harm::Harm;
use super::plan::Plan;
use super::room::room;
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::points::bare;
use crate::experiment::{AppWrite, Experiment, FlowGroup, LinkOptions};
use crate::units::{Buffer, Rate, Room};

/// Bytes of a finished run in memory, with what is written of it: 10,000 runs take 110 MB.
const RUN: u64 = 11_000;
/// The same for each of its flows.
const RUN_FLOW: u64 = 100;
/// Bytes of a run in a list of what is to do.
const TASK: u64 = 100;
/// Bytes of a point beside its experiment, and so many for each byte of the experiment's text.
const POINT: u64 = 10_000;
const POINT_TEXT: u64 = 16;
/// Bytes of a stack at a point, and so many for each group of flows.
const SCENARIO: u64 = 1_000;
const SCENARIO_GROUP: u64 = 500;
/// Bytes of a run while it goes on.
const RUNNING: u64 = 1_000_000;
/// The same where nothing is sampled: that of an environment for reinforcement learning.
const BARE: u64 = 10_000;
/// Bytes of a flow that lasts, most of them samples of what it has in flight: 10,000 take 540 MB.
const FLOW: u64 = 60_000;
/// Bytes of a short flow: 100,000 take 280 MB.
const SHORT_FLOW: u64 = 4_000;
/// Bytes of a write that an application is to do.
const WRITE: u64 = 32;
/// Bytes of a packet on its way, and of a segment that a sender remembers.
const PACKET: u64 = 200;
const SEGMENT: u64 = 400;

/// So much every machine has: nobody is asked.
const SMALL: u64 = 256_000_000;

/// Event slots of a TCP flow and of a pair of access links.
const SLOTS_FLOW: u64 = 2;
const SLOTS_ACCESS: u64 = 4;

/// What is in memory at a time of the results of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Those of all runs.
    All,
    /// Those of one point after the other, as with `--stream`.
    Points,
    /// Those of so many runs, as of a shard.
    Runs(u64),
}

/// How large an experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// Points of its sweep.
    pub points: u64,
    /// Runs at a point, those that measure harm and those that a precision may add included.
    pub runs_at_point: u64,
    /// Bytes of memory that the plan takes.
    pub plan_bytes: u64,
    /// Bytes of memory of a finished run.
    pub run_bytes: u64,
    /// Bytes of memory of a run while it goes on, at the point where that is most.
    pub running_bytes: u64,
}

/// An experiment that does not fit into memory.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[error("{runs} take about {needed} of memory, and {there} are available")]
pub struct TooLarge {
    runs: String,
    needed: String,
    there: String,
    #[help]
    remedy: &'static str,
}

impl Size {
    /// All runs; `None` if they cannot be counted.
    #[must_use]
    pub const fn runs(&self) -> Option<u64> {
        self.points.checked_mul(self.runs_at_point)
    }

    /// Bytes of memory that it takes with `jobs` runs at a time; `None` if they cannot be counted.
    #[must_use]
    pub fn bytes(&self, held: Held, jobs: u64) -> Option<u64> {
        let (runs, dealt) = match held {
            Held::All => (self.runs()?, 0),
            Held::Points => (self.runs_at_point, 0),
            // To deal runs to shards takes a list of all of them.
            Held::Runs(runs) => (runs, self.runs()?.checked_mul(TASK)?),
        };
        let results = runs.checked_mul(self.run_bytes)?.checked_add(dealt)?;
        let running = jobs.checked_mul(self.running_bytes)?;
        results.checked_add(running)?.checked_add(self.plan_bytes)
    }

    /// An error if it does not fit into `room` bytes of memory with `jobs` runs at a time.
    ///
    /// # Errors
    /// If so.
    pub fn fits(&self, held: Held, jobs: u64, room: u64) -> Result<(), TooLarge> {
        let needed = self.bytes(held, jobs);
        if needed.is_some_and(|needed| needed <= room) {
            return Ok(());
        }
        let all = self.runs();
        let count = |runs: Option<u64>| runs.map_or("more than 2^64".to_owned(), |n| n.to_string());
        let runs = match held {
            Held::All => format!("the results of {} runs", count(all)),
            Held::Points => format!("the results of the {} runs of a point", self.runs_at_point),
            Held::Runs(runs) => format!("the results of {runs} runs"),
        };
        let least = self.plan_bytes.checked_add(self.running_bytes);
        let small = least.is_some_and(|least| least <= room);
        let few = self.bytes(held, 1).is_some_and(|one| one <= room);
        let (runs, remedy) = match (small, few, held) {
            (false, ..) => (
                "one run of this experiment".to_owned(),
                "take fewer flows, a smaller buffer or a shorter run",
            ),
            (_, true, _) => (
                format!("{jobs} runs at a time"),
                "run fewer of them at a time, with --jobs",
            ),
            (_, _, Held::All) => (
                runs,
                "take fewer points, stacks or seeds; or keep an experiment file's results in files: `dupack run FILE \
                 --stream`, or Experiment.stream in Python",
            ),
            (_, _, Held::Points) => (
                runs,
                "--stream holds one point at a time: take fewer seeds or stacks",
            ),
            (_, _, Held::Runs(_)) => (runs, "split the runs into more shards"),
        };
        let needed = needed.map_or("more than 10 exabytes".to_owned(), bytes_in_words);
        let there = bytes_in_words(room);
        Err(TooLarge {
            runs,
            needed,
            there,
            remedy,
        })
    }
}

impl Plan {
    /// How large it is.
    #[must_use]
    pub fn size(&self) -> Size {
        let e = self.experiment();
        let points = self.points();
        let each = points.iter().map(|point| &*point.experiment);
        let flows = each.clone().map(flows).max().unwrap_or(1);
        let running = each.map(running_bytes).max().unwrap_or(RUNNING);
        let companions = self.harm.as_ref().map_or(0, Harm::companions);
        let stacks = (self.stacks().len() + companions) as u64;
        let seeds = self
            .precision
            .map_or(self.seeds().len(), |rule| rule.seeds_max());
        Size {
            points: points.len() as u64,
            runs_at_point: stacks.saturating_mul(seeds as u64),
            plan_bytes: plan_bytes(e, points.len() as u64).unwrap_or(u64::MAX),
            run_bytes: RUN.saturating_add(flows.saturating_mul(RUN_FLOW)),
            running_bytes: running,
        }
    }

    /// An error if it does not fit into the memory of this machine.
    ///
    /// # Errors
    /// If so.
    pub fn fits(&self, held: Held, execution: Execution) -> Result<(), TooLarge> {
        let size = self.size();
        let all = size.runs().unwrap_or(u64::MAX);
        let jobs = (execution.threads() as u64).min(all);
        size.fits(held, jobs, room())
    }
}

/// An error if there are too many points, runs or scenarios to make a plan of `e`. Nothing is built yet.
pub(super) fn plan(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    let lengths = e.sweep.values().map(Vec::len);
    let points = match e.points.len() {
        0 => product(lengths),
        listed => Some(listed as u64),
    };
    let needed = points.and_then(|points| plan_bytes(e, points));
    let there = room();
    if needed.is_some_and(|needed| needed <= there) {
        return Ok(());
    }
    let key = if e.points.is_empty() {
        "sweep"
    } else {
        "points"
    };
    let points = points.map_or("more than 2^64".to_owned(), |points| points.to_string());
    let message = format!(
        "{points} points with {} stacks do not fit into memory, of which {} are available",
        e.stacks.len(),
        bytes_in_words(there)
    );
    fail(
        source,
        key,
        message,
        "take fewer points or stacks, or fewer groups of flows",
    )
}

/// An error if a run of `e`, which has no sweep, is more than a network or the memory can hold. Nothing is built yet.
pub(super) fn run(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    if let Some(radio) = &e.radio
        && u64::from(radio.hops) >= MAX_STATIONS as u64
    {
        let message = format!(
            "a chain of {} hops has more than {MAX_STATIONS} stations",
            radio.hops
        );
        let help = format!(
            "at most {} hops: a radio channel has {MAX_STATIONS} stations at most",
            MAX_STATIONS - 1
        );
        return fail(source, "radio.hops", message, &help);
    }
    let (flows, most) = (flows(e), most_flows(e));
    if flows > most {
        let message = format!("{flows} flows are more than a run can hold");
        return fail(source, "flows", message, &format!("at most {most} here"));
    }
    let needed = running_bytes(e);
    if needed <= SMALL {
        return Ok(());
    }
    let there = room();
    if needed <= there {
        return Ok(());
    }
    let message = format!(
        "one run takes about {} of memory, and {} are available",
        bytes_in_words(needed),
        bytes_in_words(there)
    );
    let key = if held_bytes(e) > needed / 2 {
        blamed(e)
    } else {
        "flows"
    };
    fail(
        source,
        key,
        message,
        "take fewer flows or writes, a smaller buffer, a lower rate or a shorter run",
    )
}

impl Scenario {
    /// Bytes of memory that a run of it takes while it goes on and nothing is sampled of it, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let flows = flows(&self.experiment).saturating_mul(SHORT_FLOW);
        let held = held_bytes(&self.experiment);
        BARE.saturating_add(flows).saturating_add(held)
    }
}

/// What holds the packets that wait.
const fn blamed(e: &Experiment) -> &'static str {
    match (&e.path, &e.radio) {
        (Some(_), _) => "path",
        (None, Some(_)) => "radio",
        (None, None) => "links",
    }
}

/// The most flows that a network has events for.
fn most_flows(e: &Experiment) -> u64 {
    let each = SLOTS_FLOW + e.access.map_or(0, |_| SLOTS_ACCESS);
    let links = 2 * (e.links.len() as u64 + 1);
    (MAX_SLOTS as u64 - 1).saturating_sub(links) / each
}

/// How many TCP flows a run of `e` has.
fn flows(e: &Experiment) -> u64 {
    let groups = e.flows.iter().map(|group| flows_in(e, group));
    groups.fold(0, u64::saturating_add).max(1)
}

/// Bytes of the points and scenarios of `e`; `None` if they cannot be counted.
fn plan_bytes(e: &Experiment, points: u64) -> Option<u64> {
    // A point has its own values in place of the sweep.
    let text = bare(e).to_string();
    let text = (text.len() as u64).checked_mul(POINT_TEXT)?;
    let groups = (e.flows.len() as u64).checked_mul(SCENARIO_GROUP)?;
    let scenarios = (e.stacks.len() as u64).checked_mul(SCENARIO.checked_add(groups)?)?;
    let point = POINT.checked_add(text)?.checked_add(scenarios)?;
    points.checked_mul(point)
}

/// The product; `None` if it is more than 2^64.
fn product(mut factors: impl Iterator<Item = usize>) -> Option<u64> {
    factors.try_fold(1_u64, |product, factor| product.checked_mul(factor as u64))
}

/// Bytes of a run of `e` while it goes on; the most that can be counted if there are more.
fn running_bytes(e: &Experiment) -> u64 {
    let of = |group: &FlowGroup| {
        let each = if group.web.is_some() {
            SHORT_FLOW
        } else {
            FLOW
        };
        let writes = group
            .writes
            .iter()
            .map(|write: &AppWrite| write.times(e.duration));
        let writes = writes.fold(0, u64::saturating_add).saturating_mul(WRITE);
        flows_in(e, group).saturating_mul(each.saturating_add(writes))
    };
    let flows = e
        .flows
        .iter()
        .map(of)
        .fold(0, u64::saturating_add)
        .max(FLOW);
    RUNNING.saturating_add(flows).saturating_add(held_bytes(e))
}

/// Packets that the queue of a radio station holds at most, about.
const STATION_QUEUE: f64 = 50.0;

/// Bytes of the packets that are on their way at a time, and of what their senders remember of them: no more than
/// links and queues hold, and no more than was sent.
fn held_bytes(e: &Experiment) -> u64 {
    let links = || e.path.iter().chain(&e.links);
    let segment = e
        .sender
        .segment
        .map_or(u64::from(default_segment(e.dialect)), |b| b.as_bytes())
        .max(1) as f64;
    let seconds = e.duration.as_seconds();
    let rate = links()
        .map(|link| link.rate.map_or(f64::INFINITY, bps))
        .fold(0.0, f64::max);
    // A sender that knows of no loss sends two segments for each that is acknowledged.
    let sent = 2.0 * rate / 8.0 * seconds / segment;
    let hops = e.radio.as_ref().map_or(0.0, |radio| f64::from(radio.hops));
    let delays: f64 = links().map(|link| link.delay.as_seconds()).sum();
    let access = e.access.map_or(0.0, |access| access.delay.as_seconds());
    let round_trip = 2.0 * delays + 4.0 * access;
    let waiting = links()
        .map(|link| waiting(link, round_trip, segment))
        .sum::<f64>()
        + hops * STATION_QUEUE;
    let windows = flows(e) as f64 * window(e) / segment;
    let given = e
        .udp
        .iter()
        .map(|source| bps(source.rate) / 8.0 * seconds / source.packet.as_bytes().max(1) as f64);
    let datagrams = given.sum::<f64>().min(waiting);
    let access = if e.access.is_some() {
        f64::INFINITY
    } else {
        2.0 * waiting
    };
    let segments = windows.min(sent).min(access);
    // A number that is too large becomes the largest.
    (segments * SEGMENT as f64 + datagrams * PACKET as f64) as u64
}

/// Segments that `link` and its queues hold, both ways, where no round trip without a queue is longer than this.
fn waiting(link: &LinkOptions, round_trip: f64, segment: f64) -> f64 {
    let product = link.rate.map_or(f64::INFINITY, bps) / 8.0 * round_trip / segment;
    let queue = |of: Option<Room>| match of {
        Some(Room::Fixed(room)) => buffer(room, segment),
        Some(Room::Bdp { thousandths }) => product * f64::from(thousandths) / 1000.0,
        None => product.max(10.0),
    };
    let back = link
        .reverse
        .as_ref()
        .and_then(|reverse| reverse.buffer)
        .or(link.buffer);
    let rate = link.rate.map_or(f64::INFINITY, bps);
    let changed = link
        .changes
        .iter()
        .filter_map(|change| change.delay_max.or(change.delay));
    let delay = changed.fold(link.delay, Ord::max).as_seconds();
    let in_flight = if delay > 0.0 {
        rate / 8.0 * delay / segment
    } else {
        0.0
    };
    queue(link.buffer) + queue(back) + 2.0 * in_flight
}

fn buffer(buffer: Buffer, segment: f64) -> f64 {
    match buffer {
        Buffer::Packets(packets) => f64::from(packets),
        Buffer::Bytes(bytes) => bytes as f64 / segment,
    }
}

/// The largest window of a sender of `e`, in bytes.
fn window(e: &Experiment) -> f64 {
    let segment = f64::from(default_segment(e.dialect));
    let of = |window: Option<Buffer>| window.map(|window| buffer(window, segment) * segment);
    let groups = { e.flows.iter() }.map(|group| {
        let (sender, receiver) = (
            group.sender.over(&e.sender),
            group.receiver.over(&e.receiver),
        );
        [of(sender.max_window), of(receiver.buffer)]
            .into_iter()
            .flatten()
            .fold(f64::from(WIDE_OPEN), f64::min)
    });
    groups.reduce(f64::max).unwrap_or(f64::from(WIDE_OPEN))
}

fn bps(rate: Rate) -> f64 {
    rate.as_bits_per_second() as f64
}

/// `bytes` for people: `23.8 GB`.
#[must_use]
pub fn bytes_in_words(bytes: u64) -> String {
    let units = [
        (1e18, "EB"),
        (1e15, "PB"),
        (1e12, "TB"),
        (1e9, "GB"),
        (1e6, "MB"),
    ];
    let bytes = bytes as f64;
    let unit = units.into_iter().find(|(size, _)| bytes >= *size);
    match unit {
        Some((size, unit)) => format!("{:.1} {unit}", bytes / size),
        None => format!("{:.0} kB", (bytes / 1e3).ceil()),
    }
}

#[cfg(test)]
mod tests;
