//! Tests of retransmissions while ACKs arrive, which may have been timeouts. The next departure decides.

use super::*;

/// Sends segments 1 to 8, of which 1 and 5 are lost. Segment 1 is retransmitted when the timer is due, although an ACK
/// has just arrived.
fn in_doubt() -> Line {
    let mut line = Line::warm(Sack::Permitted);
    for n in 1..9 {
        line.send(50, n);
    }
    line.ack(100, 1, &[(2, 4)]);
    line.ack(235, 1, &[(2, 5)]);
    line.ack(250, 1, &[(2, 5), (6, 8)]);
    assert_eq!(line.send(260, 1), again(Cause::SackedBeyond));
    line
}

fn causes(line: &Line) -> Vec<Cause> {
    line.explainer.records().map(|again| again.cause).collect()
}

#[test]
fn a_sender_that_then_repairs_the_next_hole_had_no_timeout() {
    let mut line = in_doubt();
    line.send(261, 5);
    assert_eq!(causes(&line), [Cause::SackedBeyond, Cause::FurtherHole]);
}

#[test]
fn a_sender_that_then_retransmits_sacked_data_had_a_timeout() {
    let mut line = in_doubt();
    line.send(261, 2);
    let timeout = Cause::Timeout { expiry: 1 };
    assert_eq!(causes(&line), [timeout, Cause::AfterTimeout]);
}

#[test]
fn a_sender_that_then_ignores_many_acks_had_a_timeout() {
    let mut line = in_doubt();
    for (ms, sacked) in [(300, 9), (302, 9), (304, 9), (306, 9)] {
        line.ack(ms, 1, &[(2, 5), (6, sacked)]);
    }
    line.send(307, 9);
    assert_eq!(causes(&line), [Cause::Timeout { expiry: 1 }]);
}
