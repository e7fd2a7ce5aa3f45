//! Invalid flows and UDP sources.

use super::{fail, receiver, sender};
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::{AppWrite, Experiment, FlowGroup};
use crate::units::Delay;

pub(super) fn flows(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    let total: u64 = e
        .flows
        .iter()
        .map(|g| g.flows_in(e))
        .fold(0, u64::saturating_add);
    if !e.flows.is_empty() && total == 0 {
        let message = "the groups of flows contain no flow".to_owned();
        let help = "at least one flow is needed: increase `count`, or the `load` of `web`";
        return fail(source, "flows", message, help);
    }
    for (n, group) in e.flows.iter().enumerate() {
        let key = |name: &str| format!("flows.{n}.{name}");
        if e.path.is_some() && (group.from.is_some() || group.to.is_some()) {
            let message = "on a [path], flows run from the senders to the receivers".to_owned();
            let help = "remove `from` and `to`; `reverse = true` reverses the direction";
            return fail(source, &key("from"), message, help);
        }
        if e.path.is_none() && group.reverse {
            let message = "in a topology, `from` and `to` give the direction of a flow".to_owned();
            return fail(source, &key("reverse"), message, "exchange `from` and `to`");
        }
        if group.bytes.is_some_and(|b| b.as_bytes() == 0) {
            let message = "a transfer of zero bytes transfers nothing".to_owned();
            return fail(
                source,
                &key("bytes"),
                message,
                "remove `bytes` for an unlimited transfer",
            );
        }
        if let Some(start) = group.start.filter(|start| *start >= e.duration) {
            let message = format!(
                "the flow starts at {start}, but the run ends at {}",
                e.duration
            );
            return fail(source, &key("start"), message, "");
        }
        writes(e, group, &key, source)?;
        video(group, &key, source)?;
        web(group, &key, source)?;
        receiver(&group.receiver, &key("receiver"), source)?;
        let merged = group.sender.over(&e.sender);
        sender(&merged, e.dialect, &key("sender"), source)?;
    }
    Ok(())
}

fn web(
    group: &FlowGroup,
    key: &dyn Fn(&str) -> String,
    source: &Source,
) -> Result<(), ExperimentError> {
    if group.web.is_none() {
        return Ok(());
    }
    let other = [
        ("bytes", group.bytes.is_some()),
        ("writes", !group.writes.is_empty()),
        ("video", group.video.is_some()),
        ("start_spread", group.start_spread.is_some()),
    ];
    if let Some((name, _)) = other.into_iter().find(|(_, given)| *given) {
        let message =
            format!("short flows have their own sizes and starts, so `{name}` has no effect");
        let help = format!("remove either `{name}` or `web`");
        return fail(source, &key(name), message, &help);
    }
    Ok(())
}

/// Maximum number of writes of a flow. Each write is an item of a list in memory.
const MOST_WRITES: u64 = 1_000_000;

fn writes(
    e: &Experiment,
    group: &FlowGroup,
    key: &dyn Fn(&str) -> String,
    source: &Source,
) -> Result<(), ExperimentError> {
    if !group.writes.is_empty() && group.bytes.is_some() {
        let message = "a flow has either `bytes` or `writes`".to_owned();
        let help = "remove either `bytes` or `writes`";
        return fail(source, &key("bytes"), message, help);
    }
    let mut latest = Delay::default();
    let mut total: u64 = 0;
    for (n, write) in group.writes.iter().enumerate() {
        let key = |name: &str| key(&format!("writes.{n}.{name}"));
        if let Some((name, message, help)) = impossible(write, latest, e.duration) {
            return fail(source, &key(name), message, help);
        }
        let times = write.times(e.duration);
        total = total.saturating_add(times);
        latest = latest.max(write.at.unwrap_or_default());
    }
    if total > MOST_WRITES {
        let message = format!("a flow cannot have {total} writes");
        return fail(source, &key("writes"), message, "at most 1000000");
    }
    Ok(())
}

/// Checks a write, which must not be earlier than `latest`. Returns the key, the error and the help if it is invalid.
fn impossible(
    write: &AppWrite,
    latest: Delay,
    duration: Delay,
) -> Option<(&'static str, String, &'static str)> {
    if write.bytes.as_bytes() == 0 {
        return Some(("bytes", "a write has at least 1 byte".to_owned(), ""));
    }
    if write.after.is_some() && (write.at.is_some() || write.every.is_some()) {
        let message = "a write happens either at a time, or after the previous ones".to_owned();
        return Some(("after", message, "remove `after`, or `at` and `every`"));
    }
    if write.count == Some(0) {
        let message = "a write happens at least once".to_owned();
        return Some(("count", message, "at least 1"));
    }
    if write.count.is_some() && write.every.is_none() && write.after.is_none() {
        let message = "repeated writes need a time between them".to_owned();
        return Some(("count", message, "add `every` or `after`"));
    }
    if write.every.is_some_and(|every| every.as_nanos() == 0) {
        let message = "the interval between writes must be above zero".to_owned();
        return Some((
            "every",
            message,
            "for a single write, remove `every` and `count`",
        ));
    }
    let at = write.at?;
    if at < latest {
        let message = format!("the write is at {at}, but the previous one is at {latest}");
        return Some(("at", message, "list the writes in order of time"));
    }
    if at >= duration {
        let message = format!("the write is at {at}, but the run ends at {duration}");
        return Some(("at", message, ""));
    }
    None
}

fn video(
    group: &FlowGroup,
    key: &dyn Fn(&str) -> String,
    source: &Source,
) -> Result<(), ExperimentError> {
    let Some(video) = &group.video else {
        return Ok(());
    };
    if group.bytes.is_some() || !group.writes.is_empty() {
        let message = "a flow has either video, or `bytes` and `writes`".to_owned();
        let help = "remove `video`, or `bytes` and `writes`";
        return fail(source, &key("video"), message, help);
    }
    if video.frame.as_nanos() < 100_000 {
        let message = format!("a frame every {} is too frequent", video.frame);
        return fail(source, &key("video.frame"), message, "at least \"0.1ms\"");
    }
    if video.rate.as_bits_per_second() as f64 * video.frame.as_seconds() < 8.0 {
        let message = "a frame would have less than one byte".to_owned();
        let help = "increase `rate` or `frame`";
        return fail(source, &key("video.rate"), message, help);
    }
    Ok(())
}

/// Maximum number of packets of one UDP source. The simulation of this many packets takes a quarter of an hour.
const MOST_DATAGRAMS: f64 = 1e10;

pub(super) fn udp(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    for (n, udp) in e.udp.iter().enumerate() {
        let key = |name: &str| format!("udp.{n}.{name}");
        if !(1..=65_000).contains(&udp.packet.as_bytes()) {
            let message = format!("{} do not fit into a packet", udp.packet);
            return fail(source, &key("packet"), message, "1B to 65000B");
        }
        let packets = udp.rate.as_bits_per_second() as f64 / 8.0 / udp.packet.as_bytes() as f64
            * e.duration.as_seconds();
        if packets > MOST_DATAGRAMS {
            let message = format!(
                "the source would send {packets:.1e} packets in {}",
                e.duration
            );
            let help =
                "lower the rate: packets beyond the capacity of the links are dropped anyway";
            return fail(source, &key("rate"), message, help);
        }
        if udp.on.is_some() != udp.off.is_some() {
            let message = "a source with on and off periods needs both `on` and `off`".to_owned();
            return fail(source, &key("on"), message, "");
        }
        if udp.on.is_some_and(|d| d.as_nanos() == 0) || udp.off.is_some_and(|d| d.as_nanos() == 0) {
            let message = "on and off periods must be longer than zero".to_owned();
            return fail(
                source,
                &key("on"),
                message,
                "remove both for a constant rate",
            );
        }
        if udp
            .stop
            .is_some_and(|stop| stop <= udp.start.unwrap_or_default())
        {
            let message = "it stops before it starts".to_owned();
            return fail(source, &key("stop"), message, "");
        }
    }
    Ok(())
}
