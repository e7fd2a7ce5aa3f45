//! Flows and UDP sources that cannot be.

use super::{fail, receiver, sender};
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::{Experiment, FlowGroup};
use crate::run::build::flows_in;

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
    if total > 1_000_000 {
        let message = format!("{total} flows are more than a run can hold");
        return fail(source, "flows", message, "at most 1000000");
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

fn video(
    group: &FlowGroup,
    key: &dyn Fn(&str) -> String,
    source: &Source,
) -> Result<(), ExperimentError> {
    let Some(video) = &group.video else {
        return Ok(());
    };
    if group.bytes.is_some() {
        let message = "a flow carries either so many bytes or video".to_owned();
        let help = "leave one of `bytes` and `video` out";
        return fail(source, &key("bytes"), message, help);
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
