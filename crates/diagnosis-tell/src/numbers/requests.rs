//! Requests and answers as numbers.

use schemars::JsonSchema;
use serde::Serialize;

use super::{long, secs};
use crate::requests::hint_in_words;
use dupack_diagnosis::analyse::requests::{MessageTiming, Quantiles};
use dupack_diagnosis::read::side::Side;
use dupack_diagnosis::{Request, Requests};

/// Requests of a connection and their answers.
#[derive(Serialize, JsonSchema)]
pub(super) struct RequestsNumbers {
    /// Endpoint that sends the requests.
    asked_by: Side,
    /// Number of requests. Pipelined requests count as one.
    requests: u64,
    /// Number of requests that consist of several pipelined requests.
    pipelined: u64,
    /// Time from the first byte of a request until the answer is complete at the endpoint that sent the request.
    duration_s: QuantileNumbers,
    /// Time from the arrival of a request until its answer begins.
    server_s: QuantileNumbers,
    /// Round-trip time that counts as time of the network; null if the capture shows none.
    round_trip_s: Option<f64>,
    /// The longest requests, ordered by their durations. At most 64 are listed.
    worst: Vec<RequestNumbers>,
}

/// Quantiles of a time, in seconds.
#[derive(Serialize, JsonSchema)]
pub(super) struct QuantileNumbers {
    /// Median.
    pub(super) p50: f64,
    /// 95th percentile.
    pub(super) p95: f64,
    /// Maximum.
    pub(super) max: f64,
}

/// A request with its answer.
#[derive(Serialize, JsonSchema)]
pub(super) struct RequestNumbers {
    /// Number of the request in its connection, from 1.
    pub(super) number: u64,
    /// Number of pipelined requests after the first.
    pub(super) pipelined: u32,
    /// The request in the capture.
    pub(super) request: MessageNumbers,
    /// The answer in the capture.
    pub(super) answer: MessageNumbers,
    /// Time from the first byte of the request until the answer is complete at the endpoint that sent the request. It
    /// is the sum of the next seven times.
    pub(super) duration_s: f64,
    /// Time of the network: one round trip.
    pub(super) network_s: f64,
    /// Time for the transfer of the request.
    pub(super) request_transfer_s: f64,
    /// Time from the arrival of the request until the answer begins.
    pub(super) server_s: f64,
    /// Time for the transfer of the answer.
    pub(super) transfer_s: f64,
    /// Time spent in recoveries, and in waiting for retransmission and probe timers.
    pub(super) repair_s: f64,
    /// Time in which the receive window was full.
    pub(super) receive_window_s: f64,
    /// Time within the answer in which the answering application provided no more data.
    pub(super) server_pauses_s: f64,
    /// Time from the end of the previous answer until this request, at the endpoint that sent the request; null for the
    /// first request.
    pub(super) think_s: Option<f64>,
}

/// A request or an answer in the capture.
#[derive(Serialize, JsonSchema)]
pub(super) struct MessageNumbers {
    /// Time of the first byte.
    pub(super) first_s: f64,
    /// Time of the last byte.
    pub(super) last_s: f64,
    /// Number of the packet with the first byte.
    pub(super) first_packet: u64,
    /// Number of the packet with the last byte.
    pub(super) last_packet: u64,
    /// Number of bytes.
    pub(super) bytes: u64,
    /// Beginning of the message: the request line of HTTP/1 without the query (`GET /index.html`), the status (`status
    /// 200`), or the type of the TLS record (`TLS application data`). Null for other protocols, if the beginning was
    /// not captured, and for a capture from standard input.
    pub(super) content: Option<String>,
}

impl RequestsNumbers {
    pub(super) fn of(requests: &Requests) -> Self {
        Self {
            asked_by: requests.asker,
            requests: requests.count,
            pipelined: requests.joined,
            duration_s: QuantileNumbers::of(&requests.duration),
            server_s: QuantileNumbers::of(&requests.server),
            round_trip_s: requests.round_trip.map(long),
            worst: requests.worst.iter().map(RequestNumbers::of).collect(),
        }
    }
}

impl QuantileNumbers {
    pub(super) fn of(quantiles: &Quantiles) -> Self {
        Self {
            p50: long(quantiles.p50),
            p95: long(quantiles.p95),
            max: long(quantiles.max),
        }
    }
}

impl RequestNumbers {
    pub(super) fn of(request: &Request) -> Self {
        let parts = &request.parts;
        Self {
            number: request.number,
            pipelined: request.joined,
            request: MessageNumbers::of(&request.request),
            answer: MessageNumbers::of(&request.answer),
            duration_s: long(request.duration()),
            network_s: long(parts.network),
            request_transfer_s: long(parts.sending),
            server_s: long(parts.server),
            transfer_s: long(parts.transfer),
            repair_s: long(parts.repair),
            receive_window_s: long(parts.window),
            server_pauses_s: long(parts.pauses),
            think_s: request.think.map(long),
        }
    }
}

impl MessageNumbers {
    fn of(part: &MessageTiming) -> Self {
        Self {
            first_s: secs(part.first_at),
            last_s: secs(part.last_at),
            first_packet: part.first_packet,
            last_packet: part.last_packet,
            bytes: part.bytes,
            content: part.hint.map(|hint| hint_in_words(&hint)),
        }
    }
}
