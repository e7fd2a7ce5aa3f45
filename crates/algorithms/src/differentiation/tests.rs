//! Tests of two facts about a loss that a sender passes to a differentiation: the length of the hole, and the time of
//! the last reduction.

use std::sync::{Arc, Mutex};

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::recovery::Recovery;
use dupack_tcp::time::Instant;
use dupack_tcp::{Sender, Stack};

use super::bench::at;
use crate::catalog::dialect;
use crate::catalog::{Dialect, Entry, Needs};
use crate::congestion::bench::{CONTEXT, SMSS};
use crate::recovery::{newreno, sack};
use crate::response::tcp::Tcp;
use crate::testing::{AckIn, ack};

/// Length of the hole and time of the last reduction, as reported for one loss.
type Told = (u32, Option<Instant>);

/// Differentiation that records these facts of each loss, and always gives the same classification.
#[derive(Debug)]
struct Recorder {
    says: LossCause,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Differentiation for Recorder {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        let mut told = self.told.lock().expect("no test panics in here");
        told.push((loss.hole, loss.reduced_at));
        self.says
    }
}

struct Connection {
    sender: Sender,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Connection {
    /// Returns a connection that has sent segments 0 to 9 at time 0 and has more data to send.
    fn new(recovery: &Entry<dyn Recovery>, says: LossCause) -> Self {
        fn built<P: ?Sized>(entry: &Entry<P>) -> (Box<P>, Needs) {
            let values = entry.defaults(Dialect::Rfc);
            (entry.build(&values, &CONTEXT), entry.needs(&values))
        }
        let told = Arc::default();
        let (recovery, needs) = built(recovery);
        let stack = Stack {
            recovery,
            control: built(&crate::congestion::reno::entry()).0,
            differentiation: Box::new(Recorder {
                says,
                told: Arc::clone(&told),
            }),
            response: Box::new(Tcp),
        };
        let config = dialect::sender_config(Dialect::Rfc, SMSS, &needs);
        let mut sender = Sender::new(config, stack);
        sender.write(1000 * u64::from(SMSS));
        let mut connection = Self { sender, told };
        connection.send(Instant::ZERO);
        connection
    }

    fn send(&mut self, now: Instant) {
        while self.sender.poll_transmit(now).is_some() {}
    }

    fn receive(&mut self, ms: u64, ack: AckIn) {
        self.sender.handle_ack(at(ms), &ack.0);
        self.send(at(ms));
    }

    /// Passes ACKs for the loss of segments `first..end`: three later segments arrive from `ms` on.
    fn lose(&mut self, ms: u64, first: u32, end: u32) {
        for n in 1..=3 {
            self.receive(ms + u64::from(n), ack(first).sack(end, end + n));
        }
    }

    /// Acknowledges everything sent so far. Returns the number of acknowledged segments.
    fn acknowledge_all(&mut self, ms: u64) -> u32 {
        let sent = (self.sender.scoreboard().nxt() / u64::from(SMSS)) as u32;
        self.receive(ms, ack(sent));
        sent
    }

    fn told(&self) -> Vec<Told> {
        self.told.lock().expect("no test panics in here").clone()
    }
}

#[test]
fn the_hole_is_as_long_as_sack_reports() {
    let mut with = Connection::new(&sack::entry(), LossCause::Congestion);
    with.receive(100, ack(2));
    with.lose(100, 2, 5);
    assert_eq!(with.told(), [(3, None)]);
    // Without SACK, these are plain duplicate ACKs.
    let mut without = Connection::new(&newreno::entry(), LossCause::Congestion);
    without.receive(100, ack(2));
    without.lose(100, 2, 5);
    assert_eq!(without.told(), [(1, None)]);
}

#[test]
fn a_loss_judged_congestion_is_a_reduction() {
    for (says, reduced) in [
        (LossCause::Congestion, Some(at(103))),
        (LossCause::Wireless, None),
    ] {
        let mut connection = Connection::new(&sack::entry(), says);
        connection.lose(100, 0, 1);
        let next = connection.acknowledge_all(200);
        connection.lose(300, next, next + 1);
        assert_eq!(connection.told(), [(1, None), (1, reduced)]);
    }
}

#[test]
fn a_timeout_is_a_reduction() {
    let mut connection = Connection::new(&sack::entry(), LossCause::Wireless);
    let expired = connection.sender.rto_at().expect("data is outstanding");
    connection.sender.handle_timeout(expired);
    connection.send(expired);
    assert_eq!(connection.sender.stats().timeouts, 1);
    // The window is one segment, so it takes some round trips until enough segments are in flight for a loss.
    let mut next = connection.acknowledge_all(1100);
    for round in 12..15 {
        next = connection.acknowledge_all(round * 100);
    }
    connection.lose(1500, next, next + 1);
    assert_eq!(connection.told(), [(1, Some(expired))]);
}
