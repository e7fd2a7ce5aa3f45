//! Short flows that come and go: how many there are, when each comes, and how long it is.
//!
//! Arrivals are a Poisson process whose number is fixed at its mean: given how many there are, each
//! comes at a time of its own, spread evenly over the span. So every seed has as many flows.

use dupack_net::random::Stream;
use dupack_net::web::FlowSizes as NetSizes;
use dupack_tcp::time::{Duration, Instant};

use super::span;
use crate::experiment::{Experiment, FlowGroup, FlowSizes, Web};

/// A short flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short {
    pub(super) start: Instant,
    pub(super) bytes: u64,
}

/// How long its sources of `web` send, from when its group starts to the end of the run.
fn sending(e: &Experiment, group: &FlowGroup) -> Duration {
    let start = span(group.start.unwrap_or_default());
    span(e.duration).saturating_sub(start)
}

/// How many flows one source of `group` has; not a whole number.
fn flows_of_one(e: &Experiment, group: &FlowGroup, web: &Web) -> f64 {
    let bytes = web.load.as_bits_per_second() as f64 / 8.0 * sending(e, group).as_secs_f64();
    bytes / sizes(web.sizes).mean_bytes()
}

/// How many flows `group` has in all.
pub(crate) fn flows_in(e: &Experiment, group: &FlowGroup) -> u64 {
    match &group.web {
        None => u64::from(group.count),
        Some(web) => (flows_of_one(e, group, web) * f64::from(group.count)).round() as u64,
    }
}

/// The `n`th flow of the group `group`, which is the `place`th of the experiment.
pub(super) fn short(
    e: &Experiment,
    group: &FlowGroup,
    web: &Web,
    (place, n): (usize, u64),
    seed: u64,
) -> Short {
    let mut stream = Stream::derive(seed, &format!("short flow {n} of flows.{place}"));
    let after = stream.unit() * sending(e, group).as_nanos() as f64;
    let start = span(group.start.unwrap_or_default()) + Duration::from_nanos(after as u64);
    Short {
        start: Instant::ZERO + start,
        bytes: sizes(web.sizes).draw(&mut stream),
    }
}

const fn sizes(sizes: FlowSizes) -> NetSizes {
    match sizes {
        FlowSizes::WebObjects => NetSizes::WebObjects,
        FlowSizes::WebSearch => NetSizes::WebSearch,
        FlowSizes::DataMining => NetSizes::DataMining,
    }
}
