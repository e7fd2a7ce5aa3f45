//! Majority: a hole is lost once most of the data sent after it has arrived.
//!
//! An example, not from the literature. Other recoveries count: three duplicate ACKs, or three segments sacked above
//! the hole, however many are outstanding. Majority requires a share of them:
//!
//! ```text
//! loss      sacked bytes > share · FlightSize                       (share = 0.5)
//! resends   every hole below the forward ACK, lowest first, then new data
//! ends      when everything outstanding at the loss is acknowledged
//! in flight FlightSize − sacked − lost and not resent
//! ```
//!
//! With few segments outstanding it is quicker than a count of three; with many it is slower and less easily misled by
//! reordering. A lost retransmission waits for the timer.

use std::collections::VecDeque;

use dupack_algorithms::catalog::{Context, Entry, Needs, Parameters};
use dupack_tcp::facts::{AckFacts, LossRule, RuleWords, SendReason, Sent, View};
use dupack_tcp::recovery::{Clearance, Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer};
use dupack_tcp::scoreboard::{Reported, Scoreboard, SegmentId};

/// The rule by which it detects a loss: traces, figures and captures show its name.
const MOST_ARRIVED: LossRule = LossRule::new(&RuleWords {
    name: "majority",
    meaning: "most of the data sent after it has arrived",
});

/// Its parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct MajorityParameters {
    /// share of the outstanding data that must arrive before a hole is lost
    #[parameter(source = "ours", range = 0.0..=1.0, default = 0.5)]
    share: f64,
}

/// Returns its entry in a catalog.
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("majority", file!())
        .summary("a hole is lost once most of the data sent after it has arrived")
        .citation("examples/own_recovery")
        .needs(|_| Needs::SACK)
        .build(|parameters: &MajorityParameters, _: &Context| {
            Box::new(Majority {
                share: parameters.share,
                lost: VecDeque::new(),
                rule: MOST_ARRIVED,
                searched: SegmentId(0),
                until: None,
                after_rto: 0,
                first: false,
            })
        })
}

#[derive(Debug)]
struct Majority {
    share: f64,
    /// Lost holes to be retransmitted, lowest first.
    lost: VecDeque<SegmentId>,
    rule: LossRule,
    /// First segment that has not been searched for holes.
    searched: SegmentId,
    /// In recovery, the end of the data that was outstanding at its beginning.
    until: Option<u64>,
    /// End of the data that was outstanding at the last timeout: all of it is lost, and no hole below it is another
    /// loss event (RFC 6675 §5.1).
    after_rto: u64,
    /// `true` if the fast retransmit is due, which needs no room in the window.
    first: bool,
}

impl Majority {
    /// Adds the holes between the last searched segment and `end`.
    fn search(&mut self, end: SegmentId, board: &Scoreboard) {
        let from = self.searched.max(board.first());
        let holes = board.iter_from(from).take_while(|(id, _)| *id < end);
        let missing = holes.filter(|(_, segment)| segment.reported == Reported::Missing);
        self.lost.extend(missing.map(|(id, _)| id));
        self.searched = self.searched.max(end);
    }

    /// Removes the holes that have been filled.
    fn forget(&mut self, board: &Scoreboard) {
        let missing = |id: &SegmentId| {
            let segment = board.get(*id);
            segment.is_some_and(|segment| segment.reported == Reported::Missing)
        };
        self.lost.retain(missing);
    }

    fn begin(&mut self, view: &View<'_>) -> Option<LossEvent> {
        let board = view.scoreboard;
        let most = self.share * board.flight_size() as f64;
        if board.sacked_bytes() as f64 <= most || board.sacked_segments() == 0 {
            return None;
        }
        self.until = Some(board.nxt());
        self.rule = MOST_ARRIVED;
        self.search(board.id_at(board.forward_ack()), board);
        self.first = true;
        Some(LossEvent::of(*self.lost.front()?, MOST_ARRIVED))
    }
}

impl Recovery for Majority {
    fn on_sent(&mut self, sent: &Sent, _: &View<'_>) -> RtoTimer {
        if self.lost.front() == Some(&sent.id) {
            self.lost.pop_front();
            self.first = false;
        }
        RtoTimer::Keep
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let board = view.scoreboard;
        self.forget(board);
        let mut outcome = Outcome::default();
        if ack.acked_bytes > 0 {
            outcome.rto = RtoTimer::Restart;
        }
        if self.until.is_some_and(|until| ack.una >= until) {
            self.until = None;
            outcome.exit = Exit::Recovery;
        }
        if self.until.is_some() {
            self.search(board.id_at(board.forward_ack()), board);
            return outcome;
        }
        if ack.una >= self.after_rto {
            outcome.loss = self.begin(view);
        }
        if ack.acked_bytes > 0 && outcome.loss.is_none() {
            outcome.growth = Growth::Acked;
        }
        outcome
    }

    /// Everything that is not sacked is lost.
    fn on_rto(&mut self, view: &View<'_>) {
        self.lost.clear();
        self.rule = LossRule::TIMEOUT;
        self.searched = view.scoreboard.first();
        self.search(view.scoreboard.end(), view.scoreboard);
        self.until = None;
        self.after_rto = view.scoreboard.nxt();
        self.first = false;
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        let board = view.scoreboard;
        let lost = self.lost.iter().filter_map(|id| board.get(*id));
        let lost: u64 = lost.map(|segment| u64::from(segment.len)).sum();
        board.flight_size() - board.sacked_bytes() - lost
    }

    fn next(&self, _: &View<'_>) -> Next {
        match self.lost.front() {
            Some(&id) => Next::Retransmit {
                id,
                why: SendReason::Retransmit(self.rule),
                clearance: if self.first {
                    Clearance::Immediate
                } else {
                    Clearance::Window
                },
            },
            None => Next::New {
                why: SendReason::NewData,
                clearance: Clearance::Window,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Value;
    use dupack_algorithms::testing::{Setup, ack};

    use super::*;

    #[test]
    fn a_hole_is_lost_once_more_than_half_has_arrived() {
        let mut t = Setup::new(entry()).window(4.0).start(4);
        assert_eq!(t.sent(), "new:0 new:1 new:2 new:3");
        assert_eq!(t.receive(100, ack(0).sack(1, 2)), "");
        assert_eq!(t.receive(101, ack(0).sack(1, 3)), "");
        assert_eq!(t.receive(102, ack(0).sack(1, 4)), "majority:0");
        assert_eq!(t.cwnd(), 2.0);
    }

    #[test]
    fn a_smaller_share_is_quicker() {
        let setup = Setup::new(entry()).set_value("share", Value::Real(0.2));
        let mut t = setup.window(4.0).start(4);
        assert_eq!(t.receive(100, ack(0).sack(1, 2)), "majority:0");
    }
}
