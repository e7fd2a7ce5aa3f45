use super::*;
use crate::catalog::{Dialect, Value, typed};
use crate::congestion::reno;
use crate::recovery::storm::{SackedSegments, build, storm};
use crate::testing::{SMSS, Setup, Timeline, ack, agrees_with_ns2};

/// Values of `reduction` that change what is sent.
const SPREAD: [&str; 5] = ["rate-halving", "prr-crb", "prr-ssrb", "prr-ub", "prr"];

/// Literal implementation of RFC 6675: it has only the scoreboard and the RFC's own variables, computes everything from
/// scratch for each call, and compares the results with those of the recovery.
#[derive(Debug)]
struct Literal {
    subject: Rfc6675,
    /// `HighRxt`, as the offset after it.
    high_rxt: u64,
    /// `RescueRxt`, as the offset after it.
    rescue_rxt: u64,
    /// End of the data that was outstanding at the last timeout; this data is lost.
    lost_by_rto: u64,
}

impl Literal {
    fn new(subject: Rfc6675) -> Self {
        Self {
            subject,
            high_rxt: 0,
            rescue_rxt: 0,
            lost_by_rto: 0,
        }
    }

    /// `IsLost` (§4).
    fn is_lost(&self, offset: u64, board: &Scoreboard) -> bool {
        if offset < self.lost_by_rto {
            return true;
        }
        let threshold = self.subject.dup_threshold;
        let (mut bytes, mut runs, mut before) = (0, 0, Reported::Missing);
        for (_, segment) in board.iter_from(board.id_at(offset + 1)) {
            if segment.reported == Reported::Sacked {
                bytes += u64::from(segment.len);
                runs += u32::from(before == Reported::Missing);
            }
            before = segment.reported;
        }
        runs >= threshold || bytes > u64::from(threshold - 1) * u64::from(SMSS)
    }

    /// `SetPipe` (§4).
    fn pipe(&self, board: &Scoreboard) -> u64 {
        let mut pipe = 0;
        for (_, segment) in board.iter_from(board.first()) {
            if segment.reported == Reported::Missing {
                let len = u64::from(segment.len);
                pipe += if self.is_lost(segment.start, board) {
                    0
                } else {
                    len
                };
                pipe += if segment.start < self.high_rxt {
                    len
                } else {
                    0
                };
            }
        }
        pipe
    }

    /// `NextSeg` (§4), during loss recovery and after the fast retransmit.
    fn next_seg(&self, view: &View<'_>) -> Option<Next> {
        let board = view.scoreboard;
        let missing = |s: &dupack_tcp::scoreboard::Segment| s.reported == Reported::Missing;
        let retransmit = |id, why| {
            let clearance = Clearance::Window;
            Some(Next::Retransmit { id, why, clearance })
        };
        let segments = || board.iter_from(board.first());
        let highest_sacked = segments().filter(|(_, s)| !missing(s)).last();
        let highest_sacked = highest_sacked.map_or(0, |(_, s)| s.end());
        let hole = segments()
            .find(|(_, s)| missing(s) && s.start >= self.high_rxt && s.start < highest_sacked);
        if let Some((id, _)) = hole.filter(|(_, s)| self.is_lost(s.start, board)) {
            return retransmit(id, SendReason::Retransmit(SACKED_ABOVE));
        }
        if view.new_len > 0 {
            return Some(NEW_DATA);
        }
        if let Some((id, _)) = hole {
            return retransmit(id, SendReason::HoleFill);
        }
        let (id, _) = segments().filter(|(_, s)| missing(s)).last()?;
        // A segment that cannot be sent is not searched for.
        let room = view.window.whole_bytes() >= self.pipe(board) + u64::from(SMSS);
        if board.una() > self.rescue_rxt && room {
            return retransmit(id, SendReason::Rescue);
        }
        None
    }
}

impl Recovery for Literal {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        match (sent.why, self.subject.phase) {
            (SendReason::Rescue, Phase::Recovery { until, .. }) => self.rescue_rxt = until,
            (SendReason::Retransmit(_) | SendReason::HoleFill, _) => {
                assert!(sent.segment.start >= self.high_rxt, "HighRxt only rises");
                self.high_rxt = sent.segment.end();
            }
            _ => {}
        }
        self.subject.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let outcome = self.subject.on_ack(ack, view);
        if let Some(event) = outcome.loss {
            let first = view.scoreboard.get(event.segment).expect("outstanding");
            self.rescue_rxt = first.end();
        }
        if self.subject.phase == Phase::Open || outcome.loss.is_some() {
            self.high_rxt = ack.una;
        }
        outcome
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.lost_by_rto = view.scoreboard.nxt();
        self.high_rxt = view.scoreboard.una();
        self.subject.on_rto(view);
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.subject.in_flight(view)
    }

    fn next(&self, view: &View<'_>) -> Next {
        let board = view.scoreboard;
        assert_eq!(self.subject.in_flight(view), self.pipe(board), "SetPipe");
        for (id, segment) in board.iter_from(board.first()) {
            if segment.reported == Reported::Missing {
                let lost = self.is_lost(segment.start, board);
                assert_eq!(self.subject.lost.contains(id), lost, "IsLost");
            }
        }
        let next = self.subject.next(view);
        if let Phase::Recovery {
            head: Head::Sent, ..
        } = self.subject.phase
        {
            assert_eq!(next, self.next_seg(view).unwrap_or(NEW_DATA), "NextSeg");
        }
        next
    }
}

#[test]
fn the_cursors_agree_with_the_rfcs_words_on_any_path() {
    for seed in 0..200 {
        let threshold = [("dup_threshold", Value::Integer(1 + seed % 5))];
        let parameters = typed::parameters(Dialect::Rfc, &threshold).expect("parameters");
        let context = Context::new(SMSS);
        let subject = Rfc6675::new(&parameters, &context);
        storm(
            Box::new(Literal::new(subject)),
            seed,
            SackedSegments::StayUnsent,
        );
    }
}

#[test]
fn it_survives_any_path_and_peer() {
    for seed in 0..40 {
        for pipe in ["rfc6675", "fall-floyd"] {
            for timer in ["advance", "head", "retransmission"] {
                let settings = [("pipe", pipe), ("rto_timer", timer)];
                let recovery = build(&entry(), Dialect::Rfc, &settings);
                storm(recovery, seed, SackedSegments::StayUnsent);
            }
            for partial in ["deflate", "resend"] {
                let settings = [("pipe", pipe), ("partial_ack", partial)];
                let recovery = build(&entry(), Dialect::Ns2, &settings);
                storm(recovery, seed, SackedSegments::MayBeResent);
            }
        }
    }
}

#[test]
fn it_survives_any_path_with_every_reduction() {
    for seed in 0..40 {
        for reduction in SPREAD {
            for exit in ["ssthresh", "in-flight"] {
                for floor in ["half", "ssthresh"] {
                    let settings = [
                        ("reduction", reduction),
                        ("prr_exit", exit),
                        ("halving_floor", floor),
                    ];
                    let recovery = build(&entry(), Dialect::Rfc, &settings);
                    storm(recovery, seed, SackedSegments::StayUnsent);
                }
            }
        }
    }
}

/// Returns the start of the examples of RFC 6937 §3.1: 20 segments are sent at once, and a loss leaves `ssthresh`
/// segments of the window.
fn example(reduction: &'static str, ssthresh: f64) -> Timeline {
    let control = reno::entry();
    let mut values = control.defaults(Dialect::Rfc);
    values
        .set("decrease", Value::Real(ssthresh / 20.0))
        .expect("a fraction");
    let setup = Setup::new(entry()).set("reduction", reduction).window(20.0);
    let control = control.build(&values, &Context::new(SMSS));
    setup.prepared().control(control).start(200)
}

/// Returns the rows `sent` and `pipe` of a diagram: what each of the ACKs for `first` to 19 sends, and the segments in
/// flight after it, when the segments below `first` are lost.
fn diagram(t: &mut Timeline, first: u32) -> (String, Vec<f64>) {
    let mut rows = (String::new(), Vec::new());
    for number in first..20 {
        let sent = t.receive(100 + u64::from(number), ack(0).sack(first, number + 1));
        let (news, resent) = (
            sent.matches("new:").count(),
            sent.split_whitespace().count(),
        );
        let limited = sent.matches("limited:").count();
        rows.0 += &match (news + limited, resent - news - limited) {
            (0, 0) => "-".to_owned(),
            (new, 0) => "N".repeat(new),
            (0, again) => "R".repeat(again),
            (new, again) => "N".repeat(new) + &"R".repeat(again),
        };
        rows.0.push(' ');
        rows.1.push(t.in_flight());
    }
    rows
}

#[test]
fn rfc_6937s_diagrams_of_a_single_loss() {
    let rows = [
        ("rfc6675", "N N R - - - - - - - - N N N N N N N N "),
        ("rate-halving", "N N R - N - N - N - N - N - N - N - N "),
        ("prr-crb", "N N R - N - N - N - N - N - N - - N N "),
        ("prr-ssrb", "N N R - N - N - N - N - N - N - - N N "),
    ];
    for (reduction, row) in rows {
        let mut t = example(reduction, 11.0);
        let (sent, pipe) = diagram(&mut t, 1);
        assert_eq!(sent, row, "{reduction}");
        // All have sent the same amount, and the bytes in flight are ssthresh.
        assert_eq!(pipe.last(), Some(&11.0), "{reduction}");
        // The retransmission, then the data sent by limited transmit, which ends the recovery. Rate halving goes on to
        // half of 20.
        t.receive(200, ack(20));
        t.receive(201, ack(22));
        let cwnd = if reduction == "rate-halving" {
            10.0
        } else {
            11.0
        };
        assert_eq!((t.cwnd(), t.ssthresh()), (cwnd, 11.0), "{reduction}");
    }
}

#[test]
fn rfc_6937s_diagrams_of_a_burst_of_losses() {
    let rows = [
        ("rfc6675", "N N RRRRRRR R R ", [11.0, 11.0, 11.0]),
        ("prr-ub", "N N RRRRRRR R R ", [11.0, 11.0, 11.0]),
        ("rate-halving", "N N R R R ", [5.0, 5.0, 5.0]),
        ("prr-crb", "N N R R R ", [5.0, 5.0, 5.0]),
        ("prr-ssrb", "N N RR RR RR ", [6.0, 7.0, 8.0]),
        // No ACK has advanced SND.UNA, so none is a SafeACK.
        ("prr", "N N R R R ", [5.0, 5.0, 5.0]),
    ];
    for (reduction, row, pipes) in rows {
        let mut t = example(reduction, 11.0);
        let (sent, pipe) = diagram(&mut t, 15);
        assert_eq!(sent, row, "{reduction}");
        assert_eq!(pipe[2..], pipes, "{reduction}");
    }
}

#[test]
fn the_window_after_a_recovery_is_ssthresh_or_what_rate_halving_left() {
    let cases = [
        ("rfc6675", "ssthresh", 11.0),
        ("prr-crb", "ssthresh", 11.0),
        ("prr-crb", "in-flight", 1.0),
        // The end of the data reduces the bytes in flight, and the window with them.
        ("rate-halving", "ssthresh", 2.0),
    ];
    for (reduction, exit, cwnd) in cases {
        let control = reno::entry();
        let mut values = control.defaults(Dialect::Rfc);
        values
            .set("decrease", Value::Real(0.55))
            .expect("a fraction");
        let control = control.build(&values, &Context::new(SMSS));
        let setup = Setup::new(entry())
            .set("reduction", reduction)
            .set("prr_exit", exit);
        // There are no more than 22 segments, so the bytes in flight fall at the end.
        let mut t = setup.window(20.0).prepared().control(control).start(22);
        diagram(&mut t, 15);
        t.receive(200, ack(0).sack(15, 21));
        t.receive(201, ack(0).sack(15, 22));
        for una in 1..15 {
            t.receive(300 + u64::from(una), ack(una).sack(15, 22));
        }
        t.receive(400, ack(22));
        // Nothing is in flight.
        assert_eq!(t.cwnd(), cwnd, "{reduction} {exit}");
    }
}

#[test]
fn two_limited_transmits_then_the_fast_retransmit_then_as_the_pipe_permits() {
    let mut t = Setup::new(entry()).window(8.0).start(100);
    assert_eq!(t.receive(100, ack(0).sack(1, 2)), "limited:8");
    assert_eq!(t.receive(101, ack(0).sack(1, 3)), "limited:9");
    // pipe = 10 − 3 sacked − 1 lost + 1 retransmitted = 7; FlightSize without limited transmit is 8.
    assert_eq!(t.receive(102, ack(0).sack(1, 4)), "dupacks:0");
    assert_eq!((t.cwnd(), t.in_flight()), (4.0, 7.0));
    assert_eq!(t.receive(103, ack(0).sack(1, 5)), "");
    assert_eq!(t.receive(104, ack(0).sack(1, 6)), "");
    assert_eq!(t.receive(105, ack(0).sack(1, 7)), "");
    assert_eq!(t.receive(106, ack(0).sack(1, 8)), "new:10");
    assert_eq!(t.receive(200, ack(0).sack(1, 9)), "new:11");
    assert_eq!(t.receive(202, ack(9)), "new:12");
    assert_eq!(t.cwnd(), 4.0, "frozen until RecoveryPoint");
    assert_eq!(t.receive(203, ack(10)), "new:13");
    assert_eq!(t.cwnd(), 4.0, "and on the ACK that covers it");
    t.receive(300, ack(11));
    assert_eq!(t.cwnd(), 4.25);
}

#[test]
fn a_first_segment_that_is_lost_needs_no_third_duplicate() {
    let mut t = Setup::new(entry()).window(8.0).start(100);
    // There is only one ACK, because those before it were lost, but it reports three segments above 0.
    assert_eq!(t.receive(100, ack(0).sack(1, 4)), "sacked:0");
}

#[test]
fn an_advancing_ack_with_news_is_a_duplicate() {
    let mut t = Setup::new(entry()).window(8.0).start(100);
    assert_eq!(
        t.receive(100, ack(1).sack(2, 3)),
        "limited:8 limited:9 limited:10"
    );
    assert_eq!(t.receive(101, ack(1).sack(2, 4)), "limited:11");
    assert_eq!(t.receive(102, ack(1).sack(2, 5)), "dupacks:1");
}

#[test]
fn without_new_data_it_fills_holes_and_rescues_the_tail() {
    let mut t = Setup::new(entry()).window(10.0).start(10);
    // Segments 0, 4 and 9 are lost.
    assert_eq!(t.receive(100, ack(0).sack(1, 4)), "sacked:0");
    t.receive(101, ack(0).sack(1, 4).sack(5, 6));
    assert_eq!(t.receive(102, ack(0).sack(1, 4).sack(5, 7)), "");
    assert_eq!(t.receive(103, ack(0).sack(1, 4).sack(5, 8)), "sacked:4");
    assert_eq!(t.receive(104, ack(0).sack(1, 4).sack(5, 9)), "");
    assert_eq!(t.receive(200, ack(4).sack(5, 9)), "rescue:9");
    assert_eq!(t.receive(203, ack(9)), "");
    assert_eq!(t.receive(300, ack(10)), "");
    assert_eq!(t.sender().stats().timeouts, 0);

    let mut t = Setup::new(entry()).window(8.0).start(8);
    // Segments 0 and 5 are lost.
    assert_eq!(t.receive(100, ack(0).sack(1, 4)), "sacked:0");
    t.receive(101, ack(0).sack(1, 5));
    assert_eq!(t.receive(102, ack(0).sack(1, 5).sack(6, 7)), "fill:5");
}

#[test]
fn a_timeout_keeps_the_sacks_and_forbids_a_recovery_until_all_is_covered() {
    let mut t = Setup::new(entry()).window(8.0).start(100);
    assert_eq!(t.receive(100, ack(0).sack(4, 6)), "limited:8 limited:9");
    assert_eq!(t.wait(1300), "rto:0");
    assert_eq!(t.receive(1400, ack(1).sack(4, 6)), "rto:1 rto:2");
    assert_eq!(t.receive(1500, ack(2).sack(4, 6)), "rto:3 rto:6");
    // These are duplicate ACKs with new sacked data, below RecoveryPoint: no recovery begins.
    t.receive(1501, ack(2).sack(4, 7));
    t.receive(1502, ack(2).sack(4, 8));
    t.receive(1503, ack(2).sack(4, 9));
    assert_eq!(t.sender().stats().loss_events, 0);
}

#[test]
fn the_careful_timer_restarts_with_each_retransmission() {
    for (word, expires) in [("advance", 1000), ("head", 1101), ("retransmission", 1102)] {
        let mut t = Setup::new(entry())
            .set("rto_timer", word)
            .configure(|c| c.rtt.initial_rto = dupack_tcp::time::Duration::from_secs(1))
            .window(10.0)
            .start(10);
        t.receive(101, ack(0).sack(2, 6));
        assert_eq!(t.receive(102, ack(0).sack(2, 7)), "sacked:1");
        assert_eq!(t.rto_at(), Some(expires), "{word}");
    }
}

/// Seven of eleven packets are lost: the counted pipe does not fall to the window, and the timer must help. With two
/// segments retransmitted per partial ACK, as in the Momentary paper's figure 3(b), the timer is not restarted after
/// the first partial ACK, and still expires before the last one.
#[test]
fn fall_and_floyds_sends_the_same_packets_as_ns2() {
    agrees_with_ns2(Setup::new(entry()), "sack");
    agrees_with_ns2(Setup::new(entry()).set("partial_ack", "resend"), "sack-pa");
}
