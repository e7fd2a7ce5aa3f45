//! A shared radio channel: IEEE 802.11 DCF with the 802.11b rates.
//!
//! ```text
//!          queue full?    DIFS, backoff    DATA ─ SIFS ─ ACK       packet error?
//! offer ───────▶ queue ──▶ contention ──▶ exchange on the air ──▶ take_outcome
//!                              ▲                 │ no ACK: double CW, again
//!                              └─────────────────┘ retry limit: dropped
//! ```
//!
//! Read it from the bottom up: [`config`] and its `airtime`, `reach` (who hears whom), `station`
//! (queue, backoff), [`medium`] (the channel and its exchanges). [`bianchi`] is the textbook
//! model that the tests hold the medium against.
//!
//! Like a [link](crate::link) a medium is sans-I/O, but a packet's future is not known when it is
//! accepted: [`Medium::next_event`] changes with every offer, and one exchange takes four events.
//!
//! What is left out on purpose: mobility, propagation delay, fading and summed interference,
//! fragmentation, rate adaptation, management frames, broadcasts, and the optional reset of a
//! NAV that an RTS without data has set. A carrier is sensed at once, so stations collide only
//! when they start at the same instant or do not sense each other.

mod airtime;
pub mod bianchi;
pub mod config;
mod counters;
pub mod medium;
mod reach;
mod station;
#[cfg(test)]
mod tests;

pub use airtime::Airtime;
pub use config::{
    Answering, Interference, Position, RadioConfig, RadioFault, RtsThreshold, SensedFrames,
};
pub use counters::StationCounters;
pub use medium::{Medium, Outcome, RadioPort};
