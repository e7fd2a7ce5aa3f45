//! Algorithms written in Python, as plug-ins of the endpoint.
//!
//! A registered class ([`declare`]) becomes an ordinary entry of the catalog. Each connection has its own instance
//! ([`object`]), and the four traits call the methods of this instance. Rust does not call a method that the class does
//! not override, but uses the default of the trait.
//!
//! ```text
//! facts    arguments of a method; filled for a call, invalid after it    facts, board
//! values   objects that may be kept: windows, segments, losses           values, reasons
//! answers  return values of a method                                     answers, words, read
//! reused   arguments that are created once and filled for each call      reused
//! failure  an exception ends the run, and names its place                failure
//! ```
//!
//! The runs of an experiment with such an algorithm are performed one at a time on the calling thread. This thread
//! holds the interpreter's lock all the time ([`crate::supervise`]), so a call takes no lock.

mod answers;
mod board;
mod control;
mod declare;
mod differentiation;
mod facts;
mod failure;
mod object;
mod read;
mod reasons;
mod recovery;
mod response;
mod reused;
mod values;
mod words;

pub use answers::{Expiry, LossEvent, Next, Outcome, Reversal};
pub use board::{Scoreboard, SegmentIterator};
pub use declare::{Declaration, entry_of, is_python};
pub use facts::{AckFacts, Credit, Departure, Sent, View};
pub use failure::{failed_check, failures, given_up, take_fatal, told};
pub use reasons::{LossRule, SendReason};
pub use values::{Context, Delivered, LossFacts, RttEstimator, Segment, Window, WindowUse};
