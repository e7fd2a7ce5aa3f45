//! Completion times of short flows by size.
//!
//! The classes are those of pFabric (Alizadeh et al., SIGCOMM 2013): up to 100 kB, up to 10 MB, and above. Only flows
//! that start after the warm-up count.

use dupack_net::report::{Report, TcpReport};
use dupack_net::tcp_flow::Progress;

use super::build::Built;
use crate::results::{Measure, Values};

const SHORT_BYTES: u64 = 100_000;
const MEDIUM_BYTES: u64 = 10_000_000;

/// Sets the completion times of the short flows of a run: the flows under comparison, or all flows if none is.
pub(super) fn measure(values: &mut Values, report: &Report, built: &Built) {
    let of_compared = built.short_flows.iter().any(|id| built.is_compared(*id));
    let flows = built.short_flows.iter().filter_map(|id| {
        if of_compared && !built.is_compared(*id) {
            return None;
        }
        let place = report.tcp.binary_search_by_key(id, |flow| flow.flow);
        let flow = &report.tcp[place.ok()?];
        (flow.start >= report.from).then_some(flow)
    });
    let flows: Vec<&TcpReport> = flows.collect();
    if flows.is_empty() {
        return;
    }
    let done = flows.iter().filter(|flow| completion_ms(flow).is_some());
    let undone = flows.len() - done.count();
    values.set(
        Measure::Unfinished,
        100.0 * undone as f64 / flows.len() as f64,
    );
    for (measure, from, to) in [
        (Measure::CompletionShort, 0, SHORT_BYTES),
        (Measure::CompletionMedium, SHORT_BYTES, MEDIUM_BYTES),
        (Measure::CompletionLong, MEDIUM_BYTES, u64::MAX),
    ] {
        let of_class = |flow: &&&TcpReport| {
            let bytes = flow.total_bytes.unwrap_or(0);
            from < bytes && bytes <= to
        };
        let class = flows.iter().filter(of_class);
        let mut times: Vec<f64> = class.filter_map(|flow| completion_ms(flow)).collect();
        times.sort_unstable_by(f64::total_cmp);
        // The mean of no flows is NaN, which `set` ignores.
        values.set(measure, times.iter().sum::<f64>() / times.len() as f64);
        if measure == Measure::CompletionShort
            && let Some(last) = times.len().checked_sub(1)
        {
            let place = (0.99 * last as f64).ceil() as usize;
            values.set(Measure::CompletionShortP99, times[place]);
        }
    }
}

/// Returns the time from the start of a flow to its last byte in ms, if the flow is complete.
fn completion_ms(flow: &TcpReport) -> Option<f64> {
    match flow.progress {
        Progress::Finished(at) => Some(at.since(flow.start).as_secs_f64() * 1e3),
        Progress::NotStarted | Progress::Running => None,
    }
}
