//! Connections for a stack of the catalog.

use dupack_algorithms::catalog::dialect::sender_config;
use dupack_algorithms::catalog::spec::{Context, Dialect};
use dupack_algorithms::catalog::{Axis, RECOVERIES, StackSpec, all_stacks};
use dupack_tcp::connection::{BuildSender, Config, KeepAlive, Negotiated};
use dupack_tcp::sender::Agreed;
use dupack_tcp::seq::SeqNumber;

/// Every recovery of the catalog, each with the first stack that it is valid in.
pub fn every_recovery() -> Vec<StackSpec> {
    let with = |recovery: &str| all_stacks().find(|stack| stack.name(Axis::Recovery) == recovery);
    let stacks = RECOVERIES.iter().map(|entry| with(entry.name));
    stacks.map(|stack| stack.expect("it has a stack")).collect()
}

pub fn stack(text: &str) -> StackSpec {
    StackSpec::parse(text).expect("the stack is valid")
}

/// What makes the sender of `stack`.
pub fn builder(stack: &StackSpec, dialect: Dialect) -> BuildSender {
    let stack = stack.clone();
    Box::new(move |agreed: &Negotiated| {
        let smss = agreed.smss;
        let needs = stack.needs(dialect);
        let context = Context { smss, dialect };
        (sender_config(dialect, smss, &needs), stack.build(&context))
    })
}

/// The parameters of a connection for `stack`: what it needs is offered, and keep-alive is on as
/// fine timestamps want it.
pub fn config(stack: &StackSpec, dialect: Dialect, iss: u32) -> Config {
    let needs = stack.needs(dialect);
    let sender = sender_config(dialect, 1448, &needs);
    let mut config = Config::new(1460);
    config.iss = SeqNumber(iss);
    config.offer.sack = sender.sack;
    config.offer.dsack = sender.sack;
    config.offer.timestamps = sender.timestamps;
    config.timestamp_offset = iss.rotate_left(7);
    config.challenge_secret = u64::from(iss) << 20 | 0x5ec;
    config.keep_alive = Some(KeepAlive::STANDARD);
    config
}

/// Whether `agreed`.
pub fn yes(agreed: Agreed) -> bool {
    agreed.is_yes()
}
