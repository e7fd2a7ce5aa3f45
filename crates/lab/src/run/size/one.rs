//! Memory of a single run: stations, flows, scheduled writes, and packets in links and queues.

use dupack_algorithms::catalog::dialect::WIDE_OPEN;
use dupack_net::event::MAX_SLOTS;
use dupack_net::wireless::config::MAX_STATIONS;

use super::bytes_in_words;
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::{AppWrite, Experiment, FlowGroup, LinkOptions};
use crate::run::build::{Scenario, default_segment};
use crate::run::check::fail;
use crate::run::room;
use crate::units::{Buffer, Rate, Room};

/// Bytes of a run in progress.
pub(super) const RUNNING: u64 = 1_000_000;
/// Bytes of a run in progress without sampling, as in an environment for reinforcement learning.
const BARE: u64 = 10_000;
/// Bytes of a long flow. Most of them are samples of its amount in flight: 10,000 flows take 540 MB.
const FLOW: u64 = 60_000;
/// Bytes of a short flow: 100,000 flows take 280 MB.
const SHORT_FLOW: u64 = 4_000;
/// Bytes of a scheduled write.
const WRITE: u64 = 32;
/// Bytes of a packet in transit, and of a segment in a sender's scoreboard.
const PACKET: u64 = 200;
const SEGMENT: u64 = 400;

/// Assumed maximum rate of a recorded trace, in bits per second.
const RECORDED: f64 = 1e9;

/// Bytes that every machine is assumed to have, so that available memory is not queried for smaller runs.
pub(super) const SMALL: u64 = 256_000_000;

/// Event slots of a TCP flow, and of a pair of access links.
const SLOTS_FLOW: u64 = 2;
const SLOTS_ACCESS: u64 = 4;

/// Rejects a run of `e` that exceeds the limits of a network or the memory, before anything is built. `e` has no sweep.
pub(in crate::run) fn run(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    if let Some(radio) = &e.radio
        && u64::from(radio.hops) >= MAX_STATIONS as u64
    {
        let message = format!(
            "a chain of {} hops has more than {MAX_STATIONS} stations",
            radio.hops
        );
        let help = format!(
            "use at most {} hops: a radio channel has at most {MAX_STATIONS} stations",
            MAX_STATIONS - 1
        );
        return fail(source, "radio.hops", message, &help);
    }
    let (flows, most) = (flows(e), most_flows(e));
    if flows > most {
        let message = format!("a run cannot hold {flows} flows");
        return fail(
            source,
            "flows",
            message,
            &format!("use at most {most} flows in this experiment"),
        );
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
        "about {} of memory are needed for one run, but only {} are available",
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
        "reduce the number of flows or writes, the buffer, the rate or the duration",
    )
}

impl Scenario {
    /// Estimates the bytes of memory of a run in progress without sampling.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let flows = flows(&self.experiment).saturating_mul(SHORT_FLOW);
        let held = held_bytes(&self.experiment);
        BARE.saturating_add(flows).saturating_add(held)
    }
}

/// Returns the key of the network whose links and queues hold the packets.
const fn blamed(e: &Experiment) -> &'static str {
    match (&e.path, &e.radio) {
        (Some(_), _) => "path",
        (None, Some(_)) => "radio",
        (None, None) => "links",
    }
}

/// Returns the maximum number of flows for which a network has event slots.
fn most_flows(e: &Experiment) -> u64 {
    let each = SLOTS_FLOW + e.access.map_or(0, |_| SLOTS_ACCESS);
    let links = 2 * (e.links.len() as u64 + 1);
    (MAX_SLOTS as u64 - 1).saturating_sub(links) / each
}

/// Returns the number of TCP flows in a run of `e`.
pub(super) fn flows(e: &Experiment) -> u64 {
    let groups = e.flows.iter().map(|group| group.flows_in(e));
    groups.fold(0, u64::saturating_add).max(1)
}

/// Returns the bytes of a run of `e` in progress, saturating at the maximum.
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
        group
            .flows_in(e)
            .saturating_mul(each.saturating_add(writes))
    };
    let flows = e
        .flows
        .iter()
        .map(of)
        .fold(0, u64::saturating_add)
        .max(FLOW);
    RUNNING.saturating_add(flows).saturating_add(held_bytes(e))
}

/// Approximate maximum number of packets in the queue of a radio station.
const STATION_QUEUE: f64 = 50.0;

/// Estimates the memory, in bytes, of the packets in transit and of their entries in scoreboards. The number of packets
/// is limited by the capacity of links and queues, by the amount of data sent, and by the windows.
fn held_bytes(e: &Experiment) -> u64 {
    let segment = e.sender.segment.map(|bytes| bytes.as_bytes());
    let segment = segment.unwrap_or(default_segment(e.dialect).into()).max(1) as f64;
    let (links, seconds) = (|| e.path.iter().chain(&e.links), e.duration.as_seconds());
    // In slow start a sender sends two segments for each acknowledged one.
    let sent = links().map(rate_of).sum::<f64>() * 2.0 / 8.0 * seconds / segment;
    let hops = e.radio.as_ref().map_or(0.0, |radio| f64::from(radio.hops));
    let delays: f64 = links().map(|link| link.delay.as_seconds()).sum();
    let access = e.access.map_or(0.0, |access| access.delay.as_seconds());
    let round_trip = 2.0 * delays + 4.0 * access;
    let waits = |link| waiting(link, round_trip, segment);
    let in_links = links().map(waits).sum::<f64>();
    let room = in_links + hops * STATION_QUEUE;
    // Scoreboards contain lost segments in addition to the segments in transit.
    let room_of_flows = 2.0 * room + in_access(e) / segment;
    let windows = flows(e) as f64 * window(e) / segment;
    let given = e
        .udp
        .iter()
        .map(|source| bps(source.rate) / 8.0 * seconds / source.packet.as_bytes().max(1) as f64);
    let datagrams = given.sum::<f64>().min(room);
    let segments = windows.min(sent).min(room_of_flows);
    // The cast saturates.
    (segments * SEGMENT as f64 + datagrams * PACKET as f64) as u64
}

/// Returns the rate of `link`, or the assumed maximum of recorded traces.
fn rate_of(link: &LinkOptions) -> f64 {
    link.rate.map_or(RECORDED, bps)
}

/// Estimates the number of segments in `link` and its queues in both directions. `round_trip` is the longest base
/// round-trip time.
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

/// Returns the bytes in the access links of all flows. Their queues are unlimited: if they are slower than the path,
/// all data that was sent may wait there.
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

/// Returns the maximum window of a sender of `e`, in bytes.
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
