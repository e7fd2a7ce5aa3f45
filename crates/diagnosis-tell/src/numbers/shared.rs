//! Shared bottlenecks as numbers.

use schemars::JsonSchema;
use serde::Serialize;

use super::long;
use dupack_diagnosis::read::side::Side;
use dupack_diagnosis::shared::{SharedBottleneck, SharedBottlenecks, Sharer};

/// Shared bottlenecks of the capture.
#[derive(Serialize, JsonSchema)]
pub(super) struct SharedNumbers {
    /// Bottlenecks that several streams share. A bottleneck is listed only if the evidence exceeds chance.
    bottlenecks: Vec<BottleneckNumbers>,
    /// Number of streams that were compared with at least one other stream: both streams waited in a queue at the same
    /// time for long enough.
    streams_compared: u64,
    /// Number of streams that could not be compared. The capture does not show whether they share a bottleneck.
    streams_untold: u64,
}

/// A bottleneck that several streams share.
#[derive(Serialize, JsonSchema)]
struct BottleneckNumbers {
    /// Total rate of the streams while several of them waited, in bit/s, including the headers of IP and TCP.
    rate_bit_per_s: f64,
    /// Standard deviation of the total rate, as a fraction of the rate.
    rate_varies: f64,
    /// Number of time windows that show the bottleneck.
    windows: usize,
    /// Length of a time window.
    window_s: f64,
    /// Streams that share the bottleneck.
    streams: Vec<SharerNumbers>,
}

/// A stream that shares a bottleneck.
#[derive(Serialize, JsonSchema)]
struct SharerNumbers {
    /// Number of the stream's connection.
    connection: u64,
    /// Endpoint that sent the data.
    sent_by: Side,
    /// Fraction of the total rate that the stream had while it and other streams waited, from 0 to 1.
    share: f64,
    /// Correlation between changes of the stream's rate and changes of the other streams' total rate, from -1 to 1.
    correlation_of_rates: f64,
    /// Number of standard deviations by which this correlation is below zero, given the number of independent windows.
    deviations: f64,
    /// Correlation between changes of the stream's queueing delay and changes of the other streams' queueing delays,
    /// from -1 to 1.
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
