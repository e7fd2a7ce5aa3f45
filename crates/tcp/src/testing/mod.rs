//! Timelines for tests: a real sender with the plug-in under test. The test passes in ACKs and the time, and the
//! timeline returns the transmissions and their reasons. The feature `testing` makes timelines available to authors of
//! plug-ins.
//!
//! Data is counted in segments of [`SMSS`] bytes, numbered from 0, and time is in milliseconds. Transmissions are
//! listed in order as words, `reason:segment`. The reason of a retransmission is the
//! [name](crate::facts::LossRule::name) of the rule.
//!
//! ```
//! use dupack_tcp::testing::{Setup, Timeline, ack};
//! # use dupack_tcp::facts::*;
//! # use dupack_tcp::recovery::*;
//! # #[derive(Debug, Default)]
//! # struct MyRecovery(bool);
//! # impl Recovery for MyRecovery {
//! #     fn on_sent(&mut self, _: &Sent, _: &View<'_>) -> RtoTimer { self.0 = false; RtoTimer::Keep }
//! #     fn on_ack(&mut self, ack: &AckFacts<'_>, _: &View<'_>) -> Outcome {
//! #         let advanced = ack.acked_bytes > 0;
//! #         Outcome {
//! #             growth: Growth::Acked,
//! #             rto: if advanced { RtoTimer::Restart } else { RtoTimer::Keep },
//! #             ..Outcome::default()
//! #         }
//! #     }
//! #     fn on_rto(&mut self, _: &View<'_>) { self.0 = true; }
//! #     fn in_flight(&self, view: &View<'_>) -> u64 {
//! #         if self.0 { 0 } else { view.flight_size() }
//! #     }
//! #     fn next(&self, view: &View<'_>) -> Next {
//! #         let clearance = Clearance::Window;
//! #         if self.0 {
//! #             let why = SendReason::Retransmit(LossRule::TIMEOUT);
//! #             return Next::Retransmit { id: view.scoreboard.first(), why, clearance };
//! #         }
//! #         Next::New { why: SendReason::NewData, clearance }
//! #     }
//! # }
//! let mut t = Setup::new(MyRecovery::default()).window(2.0).start(100);
//! assert_eq!(t.sent(), "new:0 new:1");
//! // In slow start: one segment for the ACK, and one for the growth.
//! assert_eq!(t.receive(100, ack(1)), "new:2 new:3");
//! // The retransmission timer restarts with that ACK, and lasts one second.
//! assert_eq!(t.wait(1100), "rto:1");
//! assert_eq!(t.cwnd(), 1.0);
//! ```
//!
//! The plug-ins on the other three axes are as simple as possible: Reno's AIMD ([`Aimd`]), every loss judged as
//! congestion ([`Always`]), and no separate response to losses of the link ([`NoResponse`]). [`Setup::transfer`] runs
//! the sender against a real receiver over a link that drops chosen segments.
//!
//! To test a plug-in without a sender, pass facts to it. [`ack_facts`], [`loss_facts`], [`view`], [`sent`] and similar
//! functions create facts, so that tests still compile when fields are added to the structs.
//!
//! This module is for tests: its functions panic if they are misused, or if the sender violates one of its guarantees.

mod facts;
mod loopback;
mod plugins;
mod setup;
mod timeline;

pub use facts::{ack_facts, delivered, departure, loss_facts, outstanding, segment, sent, view};
pub use loopback::{Loopback, Path, Transfer, coin};
pub use plugins::{Aimd, Always, NoResponse};
pub use setup::Setup;
pub use timeline::{AckIn, Timeline, ack};

use crate::time::{Duration, Instant};

/// Payload bytes of every segment.
pub const SMSS: u32 = 1000;

/// The peer's default window: a thousand segments.
pub const PEER_WINDOW: u32 = 1000 * SMSS;

/// Returns the instant `ms` milliseconds after the start.
#[must_use]
pub fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}
