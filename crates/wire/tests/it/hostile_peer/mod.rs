//! Tests of a malicious peer, or of an attacker who impersonates it. After each attack, the connection is correct or
//! closed with an error, stores no more than its limits allow, and has not panicked.

mod acknowledgments;
mod data;
mod forgery;
mod options;

use dupack_algorithms::catalog::{Dialect, StackSpec};
use dupack_tcp::connection::Config;

use crate::endpoint::script::{OUR_ISS, Script, plain, stamped};
use crate::endpoint::stacks::{config, every_recovery};

/// Upper bound on the number of answers to suspicious segments per second.
const ANSWERS_BOUND: usize = 21;

/// Returns the parameters of [`plain`] with the options that `stack` needs.
fn plain_for(stack: &StackSpec) -> Config {
    let needed = config(stack, Dialect::Rfc, OUR_ISS);
    let mut plain = plain();
    plain.offer.sack = needed.offer.sack;
    plain.offer.dsack = needed.offer.dsack;
    plain
}

/// Runs an attack on an established connection with every recovery. The application has written `written` bytes, of
/// which the first ones have been sent.
fn each(written: u64, mut attack: impl FnMut(&mut Script)) {
    for stack in every_recovery() {
        let mut t = Script::established_with(plain_for(&stack), &stack.to_string());
        t.connection.write(written).expect("open");
        t.drain();
        attack(&mut t);
    }
}

/// Creates an established connection with timestamps. The peer's clock shows `peer_time`.
fn established_stamped(peer_time: u32) -> Script {
    let mut t = Script::active(stamped());
    t.peer_time = Some(peer_time);
    t.sends(&["S 0"]);
    t.arrive("S. 0 ack 1");
    t.drain();
    t.events();
    t
}

/// Lets the peer acknowledge all sent data repeatedly, and asserts that all written data is acknowledged in the end.
#[track_caller]
fn finishes(t: &mut Script) {
    t.window = 40_000;
    for _ in 0..10_000 {
        if t.connection.acknowledged() == t.connection.written() {
            return;
        }
        let sender = t.connection.sender().expect("established");
        let nxt = sender.scoreboard().nxt() as u32 + 1;
        let next = t.connection.readable() + 1;
        t.arrive(&format!(". {next} ack {nxt}"));
        t.drain();
        t.pass(500);
    }
    panic!("it is stuck: {:?}", t.connection);
}

fn outstanding_segments(t: &Script) -> usize {
    let sender = t.connection.sender().expect("established");
    sender.scoreboard().len()
}
