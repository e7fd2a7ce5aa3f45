//! What one run holds: stations, flows, what applications write, and packets on their way and in queues.

use dupack_algorithms::catalog::dialect::WIDE_OPEN;
use dupack_net::event::MAX_SLOTS;
use dupack_net::wireless::config::MAX_STATIONS;

use super::bytes_in_words;
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::{AppWrite, Experiment, FlowGroup, LinkOptions};
use crate::run::build::{Scenario, default_segment, flows_in};
use crate::run::check::fail;
use crate::run::room;
use crate::units::{Buffer, Rate, Room};

/// Bytes of a run while it goes on.
pub(super) const RUNNING: u64 = 1_000_000;
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

/// Bits per second that no recorded trace is expected to exceed.
const RECORDED: f64 = 1e9;

/// So much every machine has: nobody is asked.
pub(super) const SMALL: u64 = 256_000_000;

/// Event slots of a TCP flow and of a pair of access links.
const SLOTS_FLOW: u64 = 2;
const SLOTS_ACCESS: u64 = 4;

/// An error if a run of `e`, which has no sweep, is more than a network or the memory can hold. Nothing is built yet.
pub(in crate::run) fn run(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
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
pub(super) fn flows(e: &Experiment) -> u64 {
    let groups = e.flows.iter().map(|group| flows_in(e, group));
    groups.fold(0, u64::saturating_add).max(1)
}

/// Bytes of a run of `e` while it goes on; the most that can be counted if there are more.
pub(super) fn running_bytes(e: &Experiment) -> u64 {
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
/// links and queues hold, no more than was sent, and no more than windows let out.
fn held_bytes(e: &Experiment) -> u64 {
    let segment = e.sender.segment.map(|bytes| bytes.as_bytes());
    let segment = segment.unwrap_or(default_segment(e.dialect).into()).max(1) as f64;
    let (links, seconds) = (|| e.path.iter().chain(&e.links), e.duration.as_seconds());
    // A sender that knows of no loss sends two segments for each that is acknowledged.
    let sent = links().map(rate_of).sum::<f64>() * 2.0 / 8.0 * seconds / segment;
    let hops = e.radio.as_ref().map_or(0.0, |radio| f64::from(radio.hops));
    let delays: f64 = links().map(|link| link.delay.as_seconds()).sum();
    let access = e.access.map_or(0.0, |access| access.delay.as_seconds());
    let round_trip = 2.0 * delays + 4.0 * access;
    let waits = |link| waiting(link, round_trip, segment);
    let in_links = links().map(waits).sum::<f64>();
    let room = in_links + hops * STATION_QUEUE;
    // Lost segments are remembered beside those that are under way.
    let room_of_flows = 2.0 * room + in_access(e) / segment;
    let windows = flows(e) as f64 * window(e) / segment;
    let given = e
        .udp
        .iter()
        .map(|source| bps(source.rate) / 8.0 * seconds / source.packet.as_bytes().max(1) as f64);
    let datagrams = given.sum::<f64>().min(room);
    let segments = windows.min(sent).min(room_of_flows);
    // A number that is too large becomes the largest.
    (segments * SEGMENT as f64 + datagrams * PACKET as f64) as u64
}

/// The rate of `link`, or what no recorded trace is faster than.
fn rate_of(link: &LinkOptions) -> f64 {
    link.rate.map_or(RECORDED, bps)
}

/// Segments that `link` and its queues hold, both ways, where no round trip without a queue is longer than this.
fn waiting(link: &LinkOptions, round_trip: f64, segment: f64) -> f64 {
    let product = rate_of(link) / 8.0 * round_trip / segment;
    let queue = |of: Option<Room>| match of {
        Some(Room::Fixed(room)) => buffer(room, segment),
        Some(Room::Bdp { thousandths }) => product * f64::from(thousandths) / 1000.0,
        None => product.max(10.0),
    };
    let back = { link.reverse.as_ref() }.and_then(|reverse| reverse.buffer);
    let changed = { link.changes.iter() }.filter_map(|change| change.delay_max.or(change.delay));
    let delay = changed.fold(link.delay, Ord::max).as_seconds();
    let in_flight = rate_of(link) / 8.0 * delay / segment;
    queue(link.buffer) + queue(back.or(link.buffer)) + 2.0 * in_flight
}

/// Bytes that the access links of all flows hold. Their queues have no limit: where they are slower than the path,
/// all that was sent may wait there.
fn in_access(e: &Experiment) -> f64 {
    let Some(access) = &e.access else {
        return 0.0;
    };
    let (rate, path) = (bps(access.rate), e.path.as_ref().map_or(0.0, rate_of));
    let seconds = match rate < path {
        true => e.duration.as_seconds(),
        false => access.delay.as_seconds(),
    };
    flows(e) as f64 * 2.0 * rate / 8.0 * seconds
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
