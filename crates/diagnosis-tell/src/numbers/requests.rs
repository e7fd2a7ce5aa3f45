//! Requests as numbers.

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
    /// End that sends the requests.
    asked_by: Side,
    /// Number of requests; pipelined ones count as one.
    requests: u64,
    /// Number of those that are several pipelined requests.
    pipelined: u64,
    /// Time from the first byte of a request until its answer is complete at the asking end.
    duration_s: QuantileNumbers,
    /// Time from the arrival of a request until its answer begins.
    server_s: QuantileNumbers,
    /// Round-trip time that counts as network; null if the capture shows none.
    round_trip_s: Option<f64>,
    /// The longest requests in order of their durations, at most 64.
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
    /// Pipelined requests beyond the first.
    pub(super) pipelined: u32,
    /// The request in the capture.
    pub(super) request: MessageNumbers,
    /// The answer in the capture.
    pub(super) answer: MessageNumbers,
    /// Time from the first byte of the request until the answer is complete at the asking end: the sum of the seven
    /// times that follow.
    pub(super) duration_s: f64,
    /// One round trip.
    pub(super) network_s: f64,
    /// Transfer of the request.
    pub(super) request_transfer_s: f64,
    /// Time from the arrival of the request until the answer begins.
    pub(super) server_s: f64,
    /// Transfer of the answer.
    pub(super) transfer_s: f64,
    /// Recoveries, and retransmission and probe timers that had to expire.
    pub(super) repair_s: f64,
    /// Time in which the receive window was full.
    pub(super) receive_window_s: f64,
    /// Time in which the answering application gave nothing more, within the answer.
    pub(super) server_pauses_s: f64,
    /// Time from the end of the answer before until the request, at the asking end; null for the first request.
    pub(super) think_s: Option<f64>,
}

/// A request or an answer in the capture.
#[derive(Serialize, JsonSchema)]
pub(super) struct MessageNumbers {
    /// Time of its first byte.
    pub(super) first_s: f64,
    /// Time of its last byte.
    pub(super) last_s: f64,
    /// Packet of its first byte.
    pub(super) first_packet: u64,
    /// Packet of its last byte.
    pub(super) last_packet: u64,
    /// Bytes of the stream.
    pub(super) bytes: u64,
    /// Its beginning, if that is plain and captured: request line of HTTP/1 without the query (`GET /index.html`),
    /// `status 200`, or type of the TLS record (`TLS application data`); otherwise null. Null for a capture from
    /// standard input.
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
