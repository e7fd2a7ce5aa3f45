//! Shared bottlenecks as numbers.

use schemars::JsonSchema;
use serde::Serialize;

use super::long;
use dupack_diagnosis::read::side::Side;
use dupack_diagnosis::shared::{SharedBottleneck, SharedBottlenecks, Sharer};

/// Shared bottlenecks of the capture.
#[derive(Serialize, JsonSchema)]
pub(super) struct SharedNumbers {
    /// Bottlenecks that several streams share, as far as the capture shows it beyond chance.
    bottlenecks: Vec<BottleneckNumbers>,
    /// Streams that were compared with at least one other: both waited in a queue at the same time, for long enough.
    streams_compared: u64,
    /// Streams that could not be compared, so the capture does not show whether they share a bottleneck.
    streams_untold: u64,
}

/// Bottleneck that several streams share.
#[derive(Serialize, JsonSchema)]
struct BottleneckNumbers {
    /// Rate of all of them together while several waited, in bit/s, headers of IP and TCP included.
    rate_bit_per_s: f64,
    /// Standard deviation of that rate, as a share of it.
    rate_varies: f64,
    /// Number of the windows of time that show it.
    windows: usize,
    /// Length of a window.
    window_s: f64,
    /// Streams.
    streams: Vec<SharerNumbers>,
}

/// Stream that shares a bottleneck.
#[derive(Serialize, JsonSchema)]
struct SharerNumbers {
    /// Number of its connection.
    connection: u64,
    /// End that sent the data.
    sent_by: Side,
    /// Its share of the rate while it and others waited, from 0 to 1.
    share: f64,
    /// Correlation of the changes of its rate with those of the others' sum, from -1 to 1.
    correlation_of_rates: f64,
    /// Standard deviations by which that is below zero, of as many windows as are independent.
    deviations: f64,
    /// Correlation of the changes of its queueing delays with those of the others', from -1 to 1.
    correlation_of_delays: f64,
}

impl SharedNumbers {
    pub(super) fn of(shared: &SharedBottlenecks) -> Self {
        Self {
            bottlenecks: shared.found.iter().map(BottleneckNumbers::of).collect(),
            streams_compared: shared.compared,
            streams_untold: shared.untold,
        }
    }
}

impl BottleneckNumbers {
    fn of(shared: &SharedBottleneck) -> Self {
        Self {
            rate_bit_per_s: shared.rate,
            rate_varies: shared.rate_varies,
            windows: shared.windows,
            window_s: long(shared.width),
            streams: shared.streams.iter().map(SharerNumbers::of).collect(),
        }
    }
}

impl SharerNumbers {
    fn of(stream: &Sharer) -> Self {
        Self {
            connection: stream.connection,
            sent_by: stream.side,
            share: stream.share,
            correlation_of_rates: stream.rates,
            deviations: -stream.deviations,
            correlation_of_delays: stream.delays,
        }
    }
}
