//! Offer of a connection with a stack to its peer, and the function that builds the sender after the handshake.

use alloc::boxed::Box;

use dupack_tcp::connection::{BuildSender, Config, EcnOffer};
use dupack_tcp::options::Dsack;

use super::dialect::{Dialect, connect_as, mark_echo, sender_config};
use super::entry::Context;
use super::stack::StackSpec;

/// Returns the arguments of [`Connection::connect`](dupack_tcp::connection::Connection::connect) and
/// [`listen`](dupack_tcp::connection::Connection::listen) for a connection with `stack` in `dialect`.
///
/// The SYN offers the options that the stack can use: SACK, ECN if the stack needs an exact echo of marks, and
/// timestamps as specified by the dialect. The stack is built when the handshake has determined the segment size, and
/// whether the peer permits SACK: without SACK, another recovery replaces one that needs it
/// ([`StackSpec::without_sack`]). The host sets the numbers that must be random, and the sizes that depend on the link
/// (`iss`, `mss`, `default_peer_mss`, `timestamp_offset`, `challenge_secret`, `seed`).
#[must_use]
pub fn offer(stack: &StackSpec, dialect: Dialect) -> (Config, BuildSender) {
    let stack = stack.clone();
    let needs = stack.needs(dialect);
    // The host sets the segment size, and the connection takes the peer's limit into account.
    let mut config = Config::new(u16::MAX);
    let sender = sender_config(dialect, u32::from(config.mss), &needs);
    config.offer.sack = sender.sack;
    config.offer.dsack = Dsack::when(sender.sack.is_on());
    config.offer.timestamps = sender.timestamps;
    connect_as(dialect, &mut config);
    if needs.exact_echo {
        // Linux does the same for such a control, regardless of `tcp_ecn` (`tcp_ca_needs_ecn`).
        config.offer.ecn = EcnOffer::Offered;
        config.mark_echo = mark_echo(&needs);
    }
    let build: BuildSender = Box::new(move |agreed| {
        let smss = agreed.smss;
        let context = Context::new(smss).seeded(agreed.seed);
        if agreed.sack.is_on() {
            let built = stack.build(dialect, &context);
            return (sender_config(dialect, smss, &needs), built);
        }
        let built = stack.build_without_sack(dialect, &context);
        (sender_config(dialect, smss, &needs.without_sack()), built)
    });
    (config, build)
}

#[cfg(test)]
mod tests {
    use dupack_tcp::options::MarkEcho;

    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn a_stack_that_needs_an_exact_echo_offers_ecn_and_echoes_exactly() {
        let catalog = Catalog::builtin();
        let offered = |text: &str| {
            let stack = StackSpec::parse(text, &catalog).expect("it is a stack");
            let (config, _) = offer(&stack, Dialect::Linux);
            (config.offer.ecn, config.mark_echo)
        };
        let dctcp = offered("rack/dctcp");
        assert_eq!(dctcp, (EcnOffer::Offered, MarkEcho::WhileMarked));
        let reno = offered("rack/reno");
        assert_eq!(reno, (EcnOffer::Accepted, MarkEcho::UntilCwr));
    }
}
