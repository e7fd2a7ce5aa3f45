//! Tests of a peer that declines SACK: every recovery still repairs losses.

use dupack_algorithms::catalog::{Axis, Dialect};
use dupack_tcp::connection::Connection;
use dupack_tcp::options::Sack;

use crate::endpoint::script::{Script, plain};
use crate::endpoint::stacks::{builder, every_recovery, stack};

/// Creates an established connection with a round-trip time of 100 ms. The stack offers SACK, and the peer declines it.
fn declined(text: &str, dialect: Dialect) -> Script {
    let build = builder(&stack(text), dialect);
    let mut t = Script::new(Connection::connect(plain(), build));
    t.options.sack_permitted = Sack::Absent;
    t.sends(&["S 0"]);
    t.pass(100);
    t.arrive("S. 0 ack 1");
    t.sends(&[". 1 ack 1"]);
    t
}

#[test]
fn every_recovery_repairs_a_loss_without_a_timeout() {
    for spec in every_recovery() {
        for dialect in [Dialect::Rfc, Dialect::Linux] {
            let text = spec.to_string();
            let mut t = declined(&text, dialect);
            t.connection.write(10_000).expect("it is open");
            assert_eq!(t.drain().len(), 10, "{text}");
            t.pass(100);
            let mut sent = Vec::new();
            for _ in 0..3 {
                t.arrive(". 1 ack 1");
                sent.extend(t.drain());
            }
            let repaired = |words: &String| words.contains(" 1:1001 ");
            assert!(sent.iter().any(repaired), "{text}, {dialect}: {sent:?}");
            t.pass(100);
            t.arrive(". 1 ack 10001");
            let sender = t.connection.sender().expect("it is established");
            assert!(sender.is_done(), "{text}, {dialect}");
            assert_eq!(sender.stats().timeouts, 0, "{text}, {dialect}");
        }
    }
}

#[test]
fn what_replaces_a_recovery_is_said() {
    for spec in every_recovery() {
        let needs = spec.needs(Dialect::Linux).sack;
        let said = spec.without_sack(Dialect::Linux);
        assert_eq!(said.is_some(), needs, "{spec}");
        let recovery = spec.name(Axis::Recovery);
        let mut t = declined(&spec.to_string(), Dialect::Linux);
        t.connection.write(1).expect("it is open");
        let sender = t.connection.sender().expect("it is established");
        let built = format!("{:?}", sender.stack().recovery);
        match (recovery, needs) {
            ("le", _) => assert!(built.starts_with("WithoutSack"), "{built}"),
            (_, true) => {
                assert_eq!(said, Some("newreno"));
                assert!(built.starts_with("NewReno"), "{spec}: {built}");
            }
            (_, false) => {}
        }
    }
}
