//! Flows and UDP sources that cannot be.

use super::{fail, receiver, sender};
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::{AppWrite, Experiment, FlowGroup};
use crate::run::build::flows_in;
use crate::units::Delay;

pub(super) fn flows(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    let total: u64 = e
        .flows
        .iter()
        .map(|g| flows_in(e, g))
        .fold(0, u64::saturating_add);
    if !e.flows.is_empty() && total == 0 {
        let message = "no group of flows has a flow".to_owned();
        let help = "at least one flow must run: raise `count`, or the `load` of `web`";
        return fail(source, "flows", message, help);
    }
    for (n, group) in e.flows.iter().enumerate() {
        let key = |name: &str| format!("flows.{n}.{name}");
        if e.path.is_some() && (group.from.is_some() || group.to.is_some()) {
            let message = "with a [path], flows run from its senders to its receivers".to_owned();
            let help = "leave out `from` and `to`; `reverse = true` turns them round";
            return fail(source, &key("from"), message, help);
        }
        if e.path.is_none() && group.reverse {
            let message = "in a topology, `from` and `to` say which way a flow runs".to_owned();
            return fail(source, &key("reverse"), message, "exchange `from` and `to`");
        }
        if group.bytes.is_some_and(|b| b.as_bytes() == 0) {
            let message = "a transfer of nothing is no transfer".to_owned();
            return fail(
                source,
                &key("bytes"),
                message,
                "leave `bytes` out for one without end",
            );
        }
        if let Some(start) = group.start.filter(|start| *start >= e.duration) {
            let message = format!("it starts at {start} and the run ends at {}", e.duration);
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
        let message = format!("short flows have their own sizes and starts, and no `{name}`");
        let help = format!("leave one of `{name}` and `web` out");
        return fail(source, &key(name), message, &help);
    }
    Ok(())
}

/// The most writes of a flow: each is an item of a list.
const MOST_WRITES: u64 = 1_000_000;

fn writes(
    e: &Experiment,
    group: &FlowGroup,
    key: &dyn Fn(&str) -> String,
    source: &Source,
) -> Result<(), ExperimentError> {
    if !group.writes.is_empty() && group.bytes.is_some() {
        let message = "a flow carries either so many bytes or what its writes say".to_owned();
        let help = "leave one of `bytes` and `writes` out";
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
        let message = format!("{total} writes are more than a flow can have");
        return fail(source, &key("writes"), message, "at most 1000000");
    }
    Ok(())
}

/// What is wrong with a write that comes no earlier than `latest`: the key, what is wrong, and what to do.
fn impossible(
    write: &AppWrite,
    latest: Delay,
    duration: Delay,
) -> Option<(&'static str, String, &'static str)> {
    if write.bytes.as_bytes() == 0 {
        return Some(("bytes", "a write of nothing is no write".to_owned(), ""));
    }
    if write.after.is_some() && (write.at.is_some() || write.every.is_some()) {
        let message = "a write comes at a time, or after what was before it".to_owned();
        return Some(("after", message, "leave out `after`, or `at` and `every`"));
    }
    if write.count == Some(0) {
        let message = "a write that never happens is no write".to_owned();
        return Some(("count", message, "at least 1"));
    }
    if write.count.is_some() && write.every.is_none() && write.after.is_none() {
        let message = "several writes have some time between them".to_owned();
        return Some(("count", message, "add `every` or `after`"));
    }
    if write.every.is_some_and(|every| every.as_nanos() == 0) {
        let message = "between two writes there is time".to_owned();
        return Some((
            "every",
            message,
            "leave `every` and `count` out for one write",
        ));
    }
    let at = write.at?;
    if at < latest {
        let message = format!("it comes at {at}, before the one in front of it, at {latest}");
        return Some(("at", message, "list the writes in the order of time"));
    }
    if at >= duration {
        let message = format!("it comes at {at} and the run ends at {duration}");
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
        let message = "a flow carries either so many bytes or video".to_owned();
        let help = "leave `bytes` and `writes` out, or `video`";
        return fail(source, &key("video"), message, help);
    }
    if video.frame.as_nanos() < 100_000 {
        let message = format!("a frame every {} is no video", video.frame);
        return fail(source, &key("video.frame"), message, "at least \"0.1ms\"");
    }
    if video.rate.as_bits_per_second() as f64 * video.frame.as_seconds() < 8.0 {
        let message = "a frame would be less than a byte".to_owned();
        let help = "raise `rate` or `frame`";
        return fail(source, &key("video.rate"), message, help);
    }
    Ok(())
}

/// The most packets of one UDP source: a quarter of an hour of simulation.
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
            let message = format!("it would send {packets:.1e} packets in {}", e.duration);
            let help = "what the links cannot carry is dropped anyway: lower the rate";
            return fail(source, &key("rate"), message, help);
        }
        if udp.on.is_some() != udp.off.is_some() {
            let message = "a source that goes on and off needs both `on` and `off`".to_owned();
            return fail(source, &key("on"), message, "");
        }
        if udp.on.is_some_and(|d| d.as_nanos() == 0) || udp.off.is_some_and(|d| d.as_nanos() == 0) {
            let message = "on and off periods last longer than no time".to_owned();
            return fail(
                source,
                &key("on"),
                message,
                "leave both out for a constant rate",
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
