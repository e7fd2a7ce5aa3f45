//! Checks for invalid experiments, and warnings about options that defeat each other.

mod changes;
mod media;
mod traffic;

use dupack_algorithms::catalog::dialect::WIDE_OPEN;
use dupack_algorithms::catalog::{Catalog, Dialect, StackSpec};
use dupack_net::link::QueueLimit;
use dupack_tcp::options::Ecn;
use dupack_tcp::receiver::AckPolicy;

use super::build::{Built, Endpoints, PathRoom, Processing, Scenario, default_segment};
use super::plan::distinct;
use super::size;
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::points::Point;
use crate::experiment::queue::Queueing;
use crate::experiment::{
    Experiment, LinkOptions, QueueKind, ReceiverOptions, Seeds, SenderOptions,
};
use crate::units::{Buffer, ByteCount, Room};

pub(super) fn fail<T>(
    source: &Source,
    key: &str,
    message: String,
    help: &str,
) -> Result<T, ExperimentError> {
    let help = (!help.is_empty()).then(|| help.to_owned());
    Err(ExperimentError::at(source, key, message, help))
}

/// Parses the stacks under comparison.
pub(super) fn stacks(
    e: &Experiment,
    source: &Source,
    catalog: &Catalog,
) -> Result<Vec<StackSpec>, ExperimentError> {
    if e.stacks.is_empty() {
        let message = "there are no stacks to compare".to_owned();
        return fail(
            source,
            "stacks",
            message,
            "for example stacks = [\"sack/reno\"]",
        );
    }
    let mut stacks: Vec<StackSpec> = Vec::new();
    for (n, text) in e.stacks.iter().enumerate() {
        let stack = parsed(text, source, catalog, &format!("stacks.{n}"))?;
        if stacks.contains(&stack) {
            let message = format!("the stack {stack} occurs twice");
            return fail(
                source,
                &format!("stacks.{n}"),
                message,
                "remove one of the two",
            );
        }
        stacks.push(stack);
    }
    Ok(stacks)
}

fn parsed(
    text: &str,
    source: &Source,
    catalog: &Catalog,
    key: &str,
) -> Result<StackSpec, ExperimentError> {
    let help = "`dupack stacks` lists all algorithms";
    StackSpec::parse(text, catalog).or_else(|x| fail(source, key, x.to_string(), help))
}

/// Parses the stacks of the groups that have their own.
pub(super) fn group_stacks(
    e: &Experiment,
    source: &Source,
    catalog: &Catalog,
) -> Result<Vec<Option<StackSpec>>, ExperimentError> {
    let groups = e.flows.iter().enumerate();
    groups
        .map(|(n, group)| match &group.stack {
            None => Ok(None),
            Some(text) => parsed(text, source, catalog, &format!("flows.{n}.stack")).map(Some),
        })
        .collect()
}

/// Returns a stack for each group: its own, or the compared one.
pub(super) fn for_groups(
    e: &Experiment,
    own: &[Option<StackSpec>],
    compared: &StackSpec,
) -> Vec<StackSpec> {
    debug_assert_eq!(e.flows.len(), own.len());
    own.iter()
        .map(|stack| stack.clone().unwrap_or_else(|| compared.clone()))
        .collect()
}

/// Maximum number of seeds of an experiment.
const MOST_SEEDS: u32 = 100_000;

/// Returns the seeds.
pub(super) fn seeds(e: &Experiment, source: &Source) -> Result<Vec<u64>, ExperimentError> {
    if let Seeds::Count(count) = e.seeds {
        number_of_seeds(count, "seeds", source)?;
    }
    let seeds = e.seeds.to_vec();
    if seeds.is_empty() {
        return fail(
            source,
            "seeds",
            "there are no seeds".to_owned(),
            "for example seeds = 10",
        );
    }
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() != seeds.len() {
        let message = "a seed occurs twice, so its run would count twice".to_owned();
        return fail(source, "seeds", message, "");
    }
    Ok(seeds)
}

/// Checks the number of seeds at `key`.
pub(super) fn number_of_seeds(
    count: u32,
    key: &str,
    source: &Source,
) -> Result<(), ExperimentError> {
    if count > MOST_SEEDS {
        let message = format!("the maximum is {MOST_SEEDS} seeds");
        return fail(source, key, message, "ten seeds are usual");
    }
    Ok(())
}

/// Checks a point.
pub(super) fn point(point: &Point, source: &Source) -> Result<(), ExperimentError> {
    let e = &point.experiment;
    times(e, source)?;
    place(e, source)?;
    if let Some(path) = &e.path {
        link(path, "path", source)?;
        changes::link(e, path, "path", source)?;
    }
    for (n, options) in e.links.iter().enumerate() {
        let key = format!("links.{n}");
        link(options, &key, source)?;
        changes::link(e, options, &key, source)?;
    }
    sender(&e.sender, e.dialect, "sender", source)?;
    receiver(&e.receiver, "receiver", source)?;
    traffic::flows(e, source)?;
    traffic::udp(e, source)?;
    media::sources(e, source)?;
    size::run(e, source)
}

fn times(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    if e.duration.as_nanos() == 0 {
        let message = "a run of zero duration measures nothing".to_owned();
        return fail(
            source,
            "duration",
            message,
            "for example duration = \"60s\"",
        );
    }
    if e.warm_up >= e.duration {
        let message = format!(
            "a warm-up of {} leaves none of the {} to measure",
            e.warm_up, e.duration
        );
        return fail(
            source,
            "warm_up",
            message,
            "shorten the warm-up, or lengthen the duration",
        );
    }
    Ok(())
}

/// Network of the flows.
enum Place {
    Path,
    Links,
    Radio,
}

fn place(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    let places = [
        e.path.is_some().then_some(Place::Path),
        (!e.links.is_empty()).then_some(Place::Links),
        e.radio.is_some().then_some(Place::Radio),
    ];
    let mut places = places.into_iter().flatten();
    let Some(place) = places.next() else {
        return fail(
            source,
            "",
            "the experiment has no [path], no [[links]] and no [radio]".to_owned(),
            "for example\n[path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"50pkt\"",
        );
    };
    if let Some(second) = places.next() {
        let (key, message) = match second {
            Place::Radio => (
                "radio",
                "a [radio] chain cannot be combined with a [path] or [[links]]",
            ),
            _ => ("links", "a [path] cannot be combined with [[links]]"),
        };
        let help = "a path is a single bottleneck; for more, list every link in [[links]] and remove \
             [path]";
        return fail(source, key, message.to_owned(), help);
    }
    match place {
        Place::Path if !e.routes.is_empty() => fail(
            source,
            "routes",
            "a [path] has only one route".to_owned(),
            "routes need a topology of [[links]]",
        ),
        Place::Radio if !e.routes.is_empty() => fail(
            source,
            "routes",
            "in a [radio] chain packets take every hop between their ends".to_owned(),
            "routes need a topology of [[links]]",
        ),
        Place::Links | Place::Radio if e.access.is_some() => fail(
            source,
            "access",
            "access links need a [path]".to_owned(),
            "in a topology, list them in [[links]] like all others",
        ),
        Place::Links if e.flows.is_empty() => fail(
            source,
            "links",
            "in a topology, the flows need their ends".to_owned(),
            "for example\n[[flows]]\nfrom = \"a\"\nto = \"b\"",
        ),
        Place::Radio if e.radio.as_ref().is_some_and(|r| r.hops == 0) => fail(
            source,
            "radio.hops",
            "a chain needs at least one hop".to_owned(),
            "for example hops = 5",
        ),
        Place::Path | Place::Links | Place::Radio => Ok(()),
    }
}

fn link(options: &LinkOptions, key: &str, source: &Source) -> Result<(), ExperimentError> {
    if options.between.is_some() && key == "path" {
        let message = "a path joins the senders and the receivers, not named nodes".to_owned();
        return fail(
            source,
            "path.between",
            message,
            "remove it, or use [[links]]",
        );
    }
    if options.buffer.is_some_and(Room::is_nothing) {
        let message = "a queue without room drops every packet that has to wait".to_owned();
        return fail(source, &format!("{key}.buffer"), message, "at least 1pkt");
    }
    if let Some(burst) = &options.burst_loss
        && burst.leave.as_fraction() == 0.0
        && burst.enter.as_fraction() > 0.0
    {
        let message = "a burst that never ends loses all later packets".to_owned();
        return fail(
            source,
            &format!("{key}.burst_loss.leave"),
            message,
            "above 0%",
        );
    }
    queueing(options.queueing(), key, source)?;
    match &options.reverse {
        Some(reverse) => queueing(reverse.queueing(), &format!("{key}.reverse"), source),
        None => Ok(()),
    }
}

/// Checks the queue of one direction.
fn queueing(options: Queueing, key: &str, source: &Source) -> Result<(), ExperimentError> {
    match (options.kind, &options.red) {
        (QueueKind::Red, None) => {
            let message = "RED needs its thresholds".to_owned();
            let help = "for example red = { min = 5, max = 15 }";
            fail(source, &format!("{key}.queue"), message, help)
        }
        (kind, Some(_)) if kind != QueueKind::Red => {
            let message = "parameters of RED have no effect on other queues".to_owned();
            fail(
                source,
                &format!("{key}.red"),
                message,
                "add queue = \"red\"",
            )
        }
        (QueueKind::Red, Some(red)) if !(red.min > 0.0 && red.min < red.max) => {
            let message = format!(
                "RED needs 0 < min < max, but min is {} and max is {}",
                red.min, red.max
            );
            fail(source, &format!("{key}.red"), message, "0 < min < max")
        }
        (QueueKind::Red, Some(red)) if !(red.weight > 0.0 && red.weight <= 1.0) => {
            let message = format!("RED's weight {} is not above 0 and at most 1", red.weight);
            fail(
                source,
                &format!("{key}.red.weight"),
                message,
                "for example 0.002",
            )
        }
        _ => Ok(()),
    }?;
    managed(options, key, source)
}

/// Rejects tables that do not belong to the queue, and invalid parameters.
fn managed(options: Queueing, key: &str, source: &Source) -> Result<(), ExperimentError> {
    let kind = options.kind;
    let tables = options.tables();
    for (table, _) in tables.iter().filter(|(_, given)| *given) {
        if kind.table() != Some(*table) {
            let message = format!("these parameters have no effect on a {} queue", kind.name());
            let help = match *table {
                "token_bucket" => "add queue = \"policer\" or queue = \"shaper\"".to_owned(),
                other => format!("add queue = \"{other}\""),
            };
            return fail(source, &format!("{key}.{table}"), message, &help);
        }
    }
    if kind.table() == Some("token_bucket") && options.token_bucket.is_none() {
        let message = format!("a {} needs a token bucket", kind.name());
        let help = "for example token_bucket = { rate = \"5Mbit/s\", burst = \"15kB\" }";
        return fail(source, &format!("{key}.queue"), message, help);
    }
    let Some(table) = kind.table().filter(|_| kind != QueueKind::Red) else {
        return Ok(());
    };
    if options.is_shut() {
        let message = "a shaper with a rate of zero blocks all packets".to_owned();
        let help = "for example \"5Mbit/s\", or remove it";
        return fail(source, &format!("{key}.cake.rate"), message, help);
    }
    let Some(discipline) = options.managed() else {
        let message = "a token bucket needs a rate above zero".to_owned();
        let help = "for example \"5Mbit/s\"";
        return fail(source, &format!("{key}.token_bucket.rate"), message, help);
    };
    match discipline.fault() {
        None => Ok(()),
        Some(fault) => {
            // The explanation has the form "fault: remedy".
            let explained = fault.explain();
            let (message, help) = explained.split_once(": ").unwrap_or((explained, ""));
            fail(source, &format!("{key}.{table}"), message.to_owned(), help)
        }
    }
}

fn sender(
    options: &SenderOptions,
    dialect: Dialect,
    key: &str,
    source: &Source,
) -> Result<(), ExperimentError> {
    let segment = options
        .segment
        .map_or(u64::from(default_segment(dialect)), |b| b.as_bytes());
    if !(1..=65_000).contains(&segment) {
        let message = format!("a segment of {segment} bytes does not fit into a packet");
        return fail(source, &format!("{key}.segment"), message, "1B to 65000B");
    }
    if options.header.is_some_and(|b| b.as_bytes() > 500) {
        let message = "a header has at most 500 bytes".to_owned();
        return fail(
            source,
            &format!("{key}.header"),
            message,
            "40B is the size of IPv4 and TCP headers",
        );
    }
    let empty = |w: Option<Buffer>| matches!(w, Some(Buffer::Packets(0) | Buffer::Bytes(0)));
    for (name, window) in [
        ("initial_window", options.initial_window),
        ("initial_ssthresh", options.initial_ssthresh),
        ("max_window", options.max_window),
    ] {
        if empty(window) {
            let message = format!("with a {name} of zero nothing can be sent");
            return fail(source, &format!("{key}.{name}"), message, "at least 1pkt");
        }
    }
    if matches!(options.max_window, Some(Buffer::Bytes(bytes)) if bytes < segment) {
        let message = "max_window is less than one segment".to_owned();
        return fail(
            source,
            &format!("{key}.max_window"),
            message,
            "at least 1pkt",
        );
    }
    Ok(())
}

fn receiver(options: &ReceiverOptions, key: &str, source: &Source) -> Result<(), ExperimentError> {
    if matches!(options.buffer, Some(Buffer::Packets(0) | Buffer::Bytes(0))) {
        let message = "a receiver without a buffer cannot accept data".to_owned();
        return fail(source, &format!("{key}.buffer"), message, "at least 1B");
    }
    Ok(())
}

/// Returns warnings about options of `scenario` that defeat each other.
pub(super) fn warnings(scenario: &Scenario, built: &Built) -> Vec<String> {
    let e = &scenario.experiment;
    let mut out = Vec::new();
    let room = scenario.path_room();
    if let Some(room) = &room {
        room_warnings(room, e, &mut out);
    }
    phase_warnings(e, built, &mut out);
    let compared = (e.sender, e.receiver, &scenario.stack);
    let groups = e.flows.iter().zip(&scenario.group_stacks);
    let groups = groups.map(|(g, stack)| {
        (
            g.sender.over(&e.sender),
            g.receiver.over(&e.receiver),
            stack,
        )
    });
    let all: Vec<_> = if e.flows.is_empty() {
        vec![compared]
    } else {
        groups.collect()
    };
    for (sender, receiver, stack) in all {
        let ends = Endpoints::new(e.dialect, stack, &sender, &receiver);
        endpoint_warnings(&ends, stack, e.dialect, &mut out);
        if let Some(path) = &e.path {
            path_warnings(&ends, path, room.as_ref(), &mut out);
        }
    }
    out
}

fn endpoint_warnings(ends: &Endpoints, stack: &StackSpec, dialect: Dialect, out: &mut Vec<String>) {
    let needs = stack.needs(dialect);
    if needs.sack && !ends.receiver.sack.is_on() {
        out.push(format!(
            "{stack} repairs losses by SACK, but the receiver does not send it: losses will wait \
             for timeouts."
        ));
    }
    if !needs.sack && ends.receiver.sack.is_on() {
        out.push(format!(
            "{stack} does not use the SACK blocks that the receiver sends. It ignores duplicate \
             ACKs that carry no new SACK block."
        ));
    }
    if needs.trigger_timestamps && ends.sender.timestamps.is_none() {
        out.push(format!(
            "{stack} needs timestamps to tell retransmissions from original transmissions, but \
             they are off."
        ));
    }
    if needs.counted_marks && ends.sender.ecn != Ecn::Accurate {
        out.push(format!(
            "{stack} responds to the fraction of marked packets, which needs a receiver that \
             counts them: without ecn = \"accurate\" it behaves like Reno."
        ));
    }
    if needs.exact_echo && !ends.sender.ecn.is_on() {
        out.push(format!(
            "{stack} responds to the fraction of marked packets, but without ecn = true no packet \
             is marked: it behaves like Reno."
        ));
    }
    if ends.misbehaviour.claimed_bytes.is_some() && !ends.receiver.sack.is_on() {
        out.push(format!(
            "The receiver is configured to lie in SACK blocks, but it sends none to {stack}."
        ));
    }
    if ends.misbehaviour.optimistic_bytes.is_some() && ends.receiver.buffer == WIDE_OPEN {
        out.push(
            "The receiver hides losses and has an unlimited buffer: the window grows without \
             bound, and so does the running time. Set a `buffer` for the receiver."
                .to_owned(),
        );
    }
    if let AckPolicy::Delayed(delay) = ends.receiver.ack_policy
        && delay >= ends.sender.rtt.min_rto
    {
        out.push(format!(
            "ACKs may be delayed by {delay}, but the minimum retransmission timeout is {}: single \
             segments may suffer spurious timeouts.",
            ends.sender.rtt.min_rto
        ));
    }
    if ends.sender.max_window < 4.0 * f64::from(ends.sender.smss) {
        out.push(
            "A window of less than four segments cannot produce three duplicate ACKs: every loss \
             will wait for a timeout."
                .to_owned(),
        );
    }
}

/// Warns about queues that are much smaller or larger than the bandwidth-delay product. Such queues affect results more
/// than senders do.
fn room_warnings(room: &PathRoom, e: &Experiment, out: &mut Vec<String>) {
    const LEAST: f64 = 0.25;
    const MOST: f64 = 8.0;
    let drop_tail = e
        .path
        .as_ref()
        .is_some_and(|path| path.queue == QueueKind::DropTail);
    let Some(times) = room.times().filter(|_| drop_tail) else {
        return;
    };
    let queue = match room.limit {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => ByteCount::from_bytes(bytes).to_string(),
        QueueLimit::Unlimited => return,
    };
    let product = format!(
        "the path's bandwidth-delay product, {} packets",
        room.product.packets()
    );
    if times < LEAST {
        out.push(format!(
            "The buffer of {queue} is {times:.2} of {product}: senders that fill queues cannot \
             fill this path. `1bdp` is one product."
        ));
    } else if times > MOST {
        let full = times * room.round_trip.as_secs_f64();
        out.push(format!(
            "The buffer of {queue} is {times:.0} times {product}: when it is full, packets wait \
             {full:.1} s. `1bdp` is one product."
        ));
    }
}

/// Warns about flows in lockstep: without processing jitter, the phase of the packets decides how flows with different
/// round-trip times share the link.
fn phase_warnings(e: &Experiment, built: &Built, out: &mut Vec<String>) {
    let off = matches!(e.processing(), Processing::Given(jitter) if jitter.as_nanos() == 0);
    let round_trips = distinct(&built.round_trips);
    if off && round_trips.len() > 1 {
        out.push(format!(
            "processing_jitter is off, and the flows have {} different round-trip times: a \
             difference of a microsecond may decide which flow gets the link, and no seed samples \
             it.",
            round_trips.len()
        ));
    }
}

fn path_warnings(
    ends: &Endpoints,
    path: &LinkOptions,
    room: Option<&PathRoom>,
    out: &mut Vec<String>,
) {
    let packet = u64::from(ends.sender.smss + ends.headers.data_bytes);
    let room = match room.map(|room| room.limit) {
        Some(QueueLimit::Packets(packets)) => packets,
        Some(QueueLimit::Bytes(bytes)) => bytes / packet.max(1),
        Some(QueueLimit::Unlimited) | None => u64::MAX,
    };
    if room == 0 {
        out.push(format!(
            "The buffer is smaller than one packet of {packet} bytes."
        ));
    }
    let first = (ends.sender.initial_window / f64::from(ends.sender.smss)) as u64;
    // The packet in transmission does not occupy the buffer.
    if room.saturating_add(1) < first {
        out.push(format!(
            "The buffer of {room} packets is smaller than the initial window of {first}: the \
             first burst loses packets."
        ));
    }
    if let Some(rate) = path.rate {
        let back = path
            .reverse
            .as_ref()
            .and_then(|r| r.delay)
            .unwrap_or(path.delay);
        let rtt = path.delay.as_seconds() + back.as_seconds();
        let product = rate.as_bits_per_second() as f64 / 8.0 * rtt;
        let window = f64::from(ends.receiver.buffer).min(ends.sender.max_window);
        if window < product {
            out.push(format!(
                "The window is at most {:.0} bytes, but the path holds {:.0}: it cannot be \
                 filled.",
                window, product
            ));
        }
    }
}
