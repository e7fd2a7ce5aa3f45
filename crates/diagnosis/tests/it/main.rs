//! Integration tests of this crate, in one program.

mod both;
mod limits;
mod paths;
mod retransmissions;
mod senders;
