//! Connections for the stacks of the catalog.

use dupack_algorithms::catalog::{Axis, Catalog, Dialect, StackSpec, offer};
use dupack_tcp::connection::{BuildSender, Config, KeepAlive};
use dupack_tcp::seq::SeqNumber;

/// Returns every recovery in the catalog, each in the first stack in which it is valid.
pub fn every_recovery() -> Vec<StackSpec> {
    let catalog = Catalog::builtin();
    let with = |recovery: &str| {
        let mut stacks = catalog.stacks();
        stacks.find(|stack| stack.name(Axis::Recovery) == recovery)
    };
    let stacks = catalog.on(Axis::Recovery).map(|entry| with(&entry.name));
    stacks.map(|stack| stack.expect("it has a stack")).collect()
}

pub fn stack(text: &str) -> StackSpec {
    StackSpec::parse(text, &Catalog::builtin()).expect("the stack is valid")
}

/// Returns the builder of the sender of `stack`.
pub fn builder(stack: &StackSpec, dialect: Dialect) -> BuildSender {
    offer(stack, dialect).1
}

/// Returns the parameters of a connection for `stack`. All required options are offered, and keep-alive is on, because
/// timestamps with short ticks require it.
pub fn config(stack: &StackSpec, dialect: Dialect, iss: u32) -> Config {
    let (mut config, _) = offer(stack, dialect);
    config.mss = 1460;
    config.iss = SeqNumber(iss);
    config.timestamp_offset = iss.rotate_left(7);
    config.challenge_secret = u64::from(iss) << 20 | 0x5ec;
    config.keep_alive = Some(KeepAlive::STANDARD);
    config
}
