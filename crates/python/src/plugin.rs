//! Algorithms that are written in Python, as plug-ins of the endpoint.
//!
//! A class that is registered ([`declare`]) becomes an entry of the catalog like any other. Each
//! connection has an instance of its own ([`object`]), whose methods the four traits call. What a method
//! does not override is not called: it is the default of the trait, without Python.
//!
//! ```text
//! facts    what a method is told; filled for the call, dead after it     facts, board
//! values   what may be kept: windows, segments, losses                   values, reasons
//! answers  what a method gives back                                      answers, words, read
//! reused   arguments that are made once and filled again for each call   reused
//! failure  an exception ends the run, and says where it was              failure
//! ```
//!
//! The interpreter stays attached for all runs of an experiment with such an algorithm, which are done
//! one at a time on the thread that asked for them ([`crate::supervise`]): a call costs no lock
//! then.

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
