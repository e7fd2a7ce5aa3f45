//! Timelines for tests: a real sender with the plug-in under test, told what arrives and when,
//! answering with what it sent and why. With the feature `testing`, for whoever writes plug-ins.
//!
//! Everything is counted in segments of [`SMSS`] bytes, numbered from 0, and time runs in
//! milliseconds. What was sent is written as words, `reason:segment`, in the order of sending; a
//! retransmission's reason is the [name](crate::facts::LossRule::name) of its rule.
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
//! // In slow start: one for the ACK, and one for the growth.
//! assert_eq!(t.receive(100, ack(1)), "new:2 new:3");
//! // The retransmission timer starts anew with that ACK, and lasts a second.
//! assert_eq!(t.wait(1100), "rto:1");
//! assert_eq!(t.cwnd(), 1.0);
//! ```
//!
//! The other three axes are the simplest there are: Reno's AIMD ([`Aimd`]), every loss taken for
//! congestion ([`Always`]), and no response ([`NoResponse`]). [`Setup::transfer`] runs the sender
//! against a real receiver over a link that drops what it is told to.
//!
//! A plug-in that is tested without a sender is handed its facts by the test: [`ack_facts`],
//! [`loss_facts`], [`view`], [`sent`] and their like make them, as their structs will grow.
//!
//! Everything here panics when it is misused or when the sender breaks one of its promises: it is
//! for tests.

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

/// The peer's window unless an ACK says otherwise: a thousand segments.
pub const PEER_WINDOW: u32 = 1000 * SMSS;

/// `ms` milliseconds after the beginning.
#[must_use]
pub fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}
