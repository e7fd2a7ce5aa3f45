//! The states of RFC 9293 one way after another, as timelines: what the peer sends, what the
//! connection answers.

mod acceptable;
mod closing;
mod declined_sack;
mod open;
mod opening;
mod path_mtu;
