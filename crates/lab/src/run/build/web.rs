//! Short flows: their number, arrival times and sizes.
//!
//! Arrivals are a Poisson process with the number of flows fixed at its mean. Given this number, the arrival times are
//! independent and uniform over the period. Therefore every seed has the same number of flows.

use dupack_net::random::Stream;
use dupack_tcp::time::{Duration, Instant};

use super::span;
use crate::experiment::{Experiment, FlowGroup, Web};

/// A short flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short {
    pub(super) start: Instant,
    pub(super) bytes: u64,
}

/// Returns the short flow with index `n` of `group`. The group has the index `place` in the experiment.
pub(super) fn short(
    e: &Experiment,
    group: &FlowGroup,
    web: &Web,
    (place, n): (usize, u64),
    seed: u64,
) -> Short {
    let mut stream = Stream::derive(seed, &format!("short flow {n} of flows.{place}"));
    let after = stream.unit() * group.sending(e).as_nanos() as f64;
    let start = span(group.start.unwrap_or_default()) + Duration::from_nanos(after as u64);
    Short {
        start: Instant::ZERO + start,
        bytes: web.sizes.distribution().draw(&mut stream),
    }
}
