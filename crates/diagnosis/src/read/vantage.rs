//! Capture point, relative to the sender of the data.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::Duration;

/// Kind of capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// At the sender: it responds to ACKs immediately.
    Sender,
    /// At the receiver: it acknowledges data immediately.
    Receiver,
    /// Between the endpoints.
    Middle,
    /// Unknown: there is no evidence.
    Unknown,
}

/// Capture point and the evidence for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vantage {
    /// Kind of capture point.
    pub place: Place,
    /// Minimum round-trip time between the capture point and the sender: an ACK takes this long until the capture point
    /// can see the sender's response to it.
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
    /// Delay until timestamps are echoed.
    Timestamps,
    /// Delay between ACKs and the data that they allow.
    Responses,
    /// Delay between duplicate ACKs and the retransmissions that they trigger.
    Repairs,
    /// No evidence: the capture shows no response from either endpoint.
    Nothing,
}
