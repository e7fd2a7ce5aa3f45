//! Timelines of the states of RFC 9293: the peer's segments and the connection's answers.

mod acceptable;
mod closing;
mod declined_sack;
mod open;
mod opening;
mod path_mtu;
