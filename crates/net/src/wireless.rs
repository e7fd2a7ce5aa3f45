//! A shared radio channel: IEEE 802.11 DCF with the 802.11b rates.
//!
//! ```text
//!          queue full?    DIFS, backoff    DATA ─ SIFS ─ ACK       packet error?
//! offer ───────▶ queue ──▶ contention ──▶ exchange on the air ──▶ take_outcome
//!                              ▲                 │ no ACK: double CW, again
//!                              └─────────────────┘ retry limit: dropped
//! ```
//!
//! The modules, from the bottom up: [`config`] and its `airtime`, `reach` (which stations hear each other), `station`
//! (queue, backoff), [`medium`] (the channel and its frame exchanges). [`bianchi`] is the textbook model with which the
//! tests compare the medium.
//!
//! A medium is sans-I/O like a [link](crate::link), but the schedule of a packet is not known when it is accepted:
//! [`Medium::next_event`] changes with every offer, and one exchange takes four events.
//!
//! The following is deliberately not modelled: mobility, propagation delay, fading and summed interference,
//! fragmentation, rate adaptation, management frames, broadcasts, and the optional reset of a NAV that was set by an
//! RTS without data. A carrier is sensed at once, so stations collide only if they start at the same instant or do not
//! sense each other.

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
pub use medium::{Medium, RadioPort, Transmitted};
