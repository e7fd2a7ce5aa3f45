//! Capture point, relative to the sender of the data.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::Duration;

/// Kind of capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// At the sender: the sender responds to ACKs immediately.
    Sender,
    /// At the receiver: the receiver acknowledges data immediately.
    Receiver,
    /// Between the endpoints.
    Middle,
    /// There is no evidence of the capture point.
    Unknown,
}

/// Capture point and the evidence for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vantage {
    /// Kind of capture point.
    pub place: Place,
    /// Minimum round-trip time between the capture point and the sender. The sender's response to an ACK is captured
    /// after at least this time.
    pub to_sender: Duration,
    /// Minimum round-trip time between the capture point and the receiver.
    pub to_receiver: Duration,
    /// Evidence for the capture point.
    pub reason: Reason,
}

/// Evidence for a capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Times between the packets of the handshake.
    Handshake,
    /// Delay until the endpoints echo timestamps.
    Timestamps,
    /// Delay between ACKs and the data sent in response to them.
    Responses,
    /// Delay between duplicate ACKs and the retransmissions that they trigger.
    Repairs,
    /// No evidence: the capture shows no response from either endpoint.
    Nothing,
}
