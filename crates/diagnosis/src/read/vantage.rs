//! Where a capture was taken, seen from the sender of the data.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::Duration;

/// Where a capture was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// At the sender: an ACK is answered at once.
    Sender,
    /// At the receiver: data is acknowledged at once.
    Receiver,
    /// Somewhere between.
    Middle,
    /// Nothing tells.
    Unknown,
}

/// Where a capture was taken, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vantage {
    /// Where.
    pub place: Place,
    /// The least time from there to the sender and back: so long an ACK is under way before the sender
    /// can answer it where the capture was taken.
    pub to_sender: Duration,
    /// The least time from there to the receiver and back.
    pub to_receiver: Duration,
    /// What tells.
    pub reason: Reason,
}

/// What tells where a capture was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The times between the packets of the handshake.
    Handshake,
    /// How soon timestamps are echoed.
    Timestamps,
    /// How soon data follows the ACKs that let it go.
    Responses,
    /// How soon repairs came that duplicate ACKs had asked for.
    Repairs,
    /// None of these: no answer of either end was seen.
    Nothing,
}
