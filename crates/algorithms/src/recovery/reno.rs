//! Reno: fast retransmit and fast recovery.
//!
//! RFC 5681 §3.2 (4.3BSD-Reno, 1990). On the third duplicate ACK, the first unacknowledged segment is retransmitted and
//! the window is reduced to `ssthresh`. From then on every duplicate ACK shows that one segment has left the network
//! and permits another one; the first ACK that advances ends the recovery.
//!
//! ```text
//! RFC 5681                              here
//! cwnd = ssthresh + 3 SMSS              cwnd = ssthresh, inflation = 3 SMSS
//! per duplicate ACK: cwnd += SMSS       inflation += SMSS
//! may send cwnd − FlightSize            in flight = FlightSize − inflation,
//!                                       may send cwnd − in flight
//! next new ACK: cwnd = ssthresh         inflation = 0
//! ```
//!
//! The arithmetic is the same, but the window stays as the control set it.
//!
//! The last line makes a difference if a response has set `cwnd` and `ssthresh` to different values (methods 1 and 11
//! to 17 of Park et al.). `deflation = window` keeps the response's window; `threshold` sets `cwnd` to `ssthresh`, as
//! in the RFC; `inflated` is the variant of 4.4BSD (`tcp_input.c`): the inflated window is kept unless it is above
//! `ssthresh`. After TCP's own response the three are equal.
//!
//! For comparison: Tahoe empties the pipe after each loss. NewReno stays in recovery until everything outstanding at
//! the loss is acknowledged. Reno leaves at the first new ACK, so a second loss in the same window needs three more
//! duplicate ACKs, and halves the window again, or needs the timer. With `careful=on` (ns-2's default), Reno always
//! needs the timer.
//!
//! With `inflation=off` the bytes in flight are FlightSize: nothing new is sent until the retransmission is
//! acknowledged.
//!
//! `after_wireless` is the retransmission after a loss that the differentiation attributes to the link. With
//! `fast-recovery` it is that of every other loss. With `go-back-n`, SND.NXT returns to SND.UNA, and everything
//! outstanding is retransmitted as the response's window permits (`go_back_n`), as after a timeout: there is no fast
//! recovery, and every new ACK opens the window. This is a reading of Park et al. §4.3, whose TCP sets `cwnd` and
//! `ssthresh` anew at a fast retransmit and says nothing of SND.NXT. In 4.4BSD the fast retransmit itself sets SND.NXT
//! to SND.UNA, and Reno's next lines set it back. The receiver has most of these segments, so its duplicate ACKs reveal
//! no loss until something newer is acknowledged (as in RFC 6582 §3.2 step 2).

use alloc::boxed::Box;

use dupack_tcp::facts::{
    AckFacts, AckKind, LossCause, LossFacts, LossRule, SendReason, Sent, View,
};
use dupack_tcp::recovery::{Clearance, Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer};
use dupack_tcp::scoreboard::SegmentId;
use dupack_tcp::undo::{Reversal, Spurious};

use super::duplicate_acks::{Careful, DUPLICATE_ACKS, DuplicateAckParameters, DuplicateAcks};
use super::go_back_n::GoBackN;
use crate::catalog::{Choice, Context, Entry, Linux, Parameters, Switch};

/// Reno's recovery. See the [module](self).
#[derive(Debug)]
struct Reno {
    dup_acks: DuplicateAcks,
    resend: GoBackN,
    /// Bytes by which the window is inflated; `None` outside fast recovery.
    inflation: Option<u64>,
    /// Fast retransmission that is to be sent.
    retransmit: Option<SegmentId>,
    /// Bytes by which each duplicate ACK inflates the window.
    per_duplicate: u64,
    at_fast_retransmit: RtoTimer,
    at_exit: Growth,
    deflation: Deflation,
    after_wireless: AfterWireless,
    /// Stream offset up to which duplicate ACKs may come from segments that were retransmitted in vain; `None` if a
    /// wireless loss has never led to go-back-N.
    echo_end: Option<u64>,
}

impl Reno {
    /// Begins fast recovery (RFC 5681 §3.2 steps 2 and 3).
    fn enter(&mut self, view: &View<'_>) -> Outcome {
        let first = view.scoreboard.first();
        self.dup_acks.begin_event(view);
        self.inflation = Some(match self.per_duplicate {
            0 => 0,
            _ => self.dup_acks.departed_bytes(),
        });
        self.retransmit = Some(first);
        Outcome {
            loss: Some(LossEvent::of(first, DUPLICATE_ACKS)),
            rto: self.at_fast_retransmit,
            ..Outcome::default()
        }
    }

    /// Handles an ACK of new data. If the ACK ends the recovery, the window is deflated and nothing else happens (RFC
    /// 5681 §3.2 step 6).
    fn advance(&mut self, view: &View<'_>) -> Outcome {
        self.retransmit = None;
        let rto = RtoTimer::Restart;
        let Some(inflation) = self.inflation.take() else {
            return Outcome {
                growth: Growth::Acked,
                rto,
                ..Outcome::default()
            };
        };
        let left = self.deflated(inflation, view);
        Outcome {
            restore: left,
            limit: left,
            growth: self.at_exit,
            exit: Exit::Recovery,
            rto,
            ..Outcome::default()
        }
    }

    /// Returns `true` if retransmitted segments that the receiver already had cannot have caused this ACK.
    fn is_no_echo(&self, ack: &AckFacts<'_>) -> bool {
        self.echo_end.is_none_or(|end| ack.una > end)
    }

    /// Returns the window in bytes after a recovery, if it differs from the current one.
    fn deflated(&self, inflation: u64, view: &View<'_>) -> Option<f64> {
        let window = view.window;
        match self.deflation {
            Deflation::Window => None,
            Deflation::Threshold => Some(window.ssthresh),
            Deflation::Inflated => Some((window.cwnd + inflation as f64).min(window.ssthresh)),
        }
    }
}

impl Recovery for Reno {
    fn on_sent(&mut self, sent: &Sent, _: &View<'_>) -> RtoTimer {
        self.resend.on_sent(sent);
        self.retransmit = self.retransmit.filter(|&id| id != sent.id);
        RtoTimer::Keep
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.resend.on_ack(view);
        let loss = self.dup_acks.reveal_loss(ack) && self.is_no_echo(ack);
        match (ack.kind, &mut self.inflation) {
            (AckKind::Advance, _) => self.advance(view),
            (AckKind::Duplicate, Some(inflation)) => {
                *inflation += self.per_duplicate;
                Outcome::default()
            }
            (AckKind::Duplicate, None) if loss => self.enter(view),
            (AckKind::Duplicate | AckKind::Other, _) => Outcome::default(),
        }
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.dup_acks.on_rto(view);
        self.resend.begin(view, LossRule::TIMEOUT);
        self.inflation = None;
        self.retransmit = None;
    }

    fn on_judged(&mut self, loss: &LossFacts, cause: LossCause, view: &View<'_>) {
        if cause == LossCause::Wireless && self.after_wireless == AfterWireless::GoBackN {
            self.inflation = None;
            self.retransmit = None;
            self.resend.begin(view, loss.rule);
            self.echo_end = Some(view.scoreboard.nxt());
        }
    }

    fn on_spurious(&mut self, spurious: &Spurious, _: &View<'_>) -> Reversal {
        self.dup_acks.forget_event(spurious);
        self.resend.stop();
        self.inflation = None;
        self.retransmit = None;
        Reversal::Done(None)
    }

    fn inflation(&self) -> i64 {
        self.inflation.unwrap_or_default() as i64
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        let departed = self.inflation.unwrap_or_else(|| {
            self.dup_acks
                .limited_transmit_bytes(self.resend.is_active())
        });
        self.resend.flight_size(view).saturating_sub(departed)
    }

    fn next(&self, view: &View<'_>) -> Next {
        if let Some(id) = self.retransmit {
            return Next::Retransmit {
                id,
                why: SendReason::Retransmit(DUPLICATE_ACKS),
                clearance: Clearance::Immediate,
            };
        }
        self.resend
            .next()
            .unwrap_or_else(|| self.dup_acks.new_data(view.flight_size(), view))
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        if self.per_duplicate > 0 {
            self.per_duplicate = u64::from(to);
        }
        self.dup_acks.resize(to);
    }
}

/// Effect of a fast retransmit on the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FastRetransmitTimer {
    /// none: the timer continues to run
    Keep,
    /// the timer restarts
    Restart,
}

impl From<FastRetransmitTimer> for RtoTimer {
    fn from(timer: FastRetransmitTimer) -> Self {
        match timer {
            FastRetransmitTimer::Keep => Self::Keep,
            FastRetransmitTimer::Restart => Self::Restart,
        }
    }
}

/// Window after the recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum Deflation {
    /// the window that the control or the response set
    Window,
    /// `ssthresh`
    Threshold,
    /// the inflated window, or `ssthresh` if that is smaller
    Inflated,
}

/// Retransmission after a loss that the differentiation attributes to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum AfterWireless {
    /// fast recovery: the first segment that is not acknowledged
    FastRecovery,
    /// as after a timeout: everything outstanding, from SND.UNA on
    GoBackN,
}

/// Parameter of Reno and of the recoveries derived from it.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct TimerParameters {
    /// effect of a fast retransmit on the retransmission timer
    #[parameter(
        source = "RFC 6298 §5 restarts it on new ACKs only; Linux and ns-2 restart it",
        default(
            rfc = FastRetransmitTimer::Keep,
            linux = FastRetransmitTimer::Restart,
            ns2 = FastRetransmitTimer::Restart,
        ),
    )]
    pub(super) fast_retransmit_timer: FastRetransmitTimer,
}

/// Reno's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct RenoParameters {
    #[embed(change(careful(
        source = "RFC 5681 has no such check; RFC 6582 §3.2 step 2, ns-2 bugFix_",
        default(rfc = Careful::Off, linux = Careful::On, ns2 = Careful::On),
    )))]
    duplicates: DuplicateAckParameters,
    #[embed]
    timer: TimerParameters,
    /// growth of the window on the ACK that ends the recovery
    #[parameter(
        source = "RFC 5681 §3.2 step 6 only sets the window; Linux and ns-2 open it too",
        default(rfc = Switch::Off, linux = Switch::On, ns2 = Switch::On),
    )]
    exit_growth: Switch,
    /// inflation of the window by duplicate ACKs: each permits one segment, because another has arrived
    #[parameter(
        source = "RFC 5681 §3.2 steps 3 and 4; the ns-2 module of Westwood's authors has none",
        default = Switch::On,
    )]
    inflation: Switch,
    /// window after the recovery; all choices are equal after TCP's own response
    #[parameter(
        source = "window: ours; threshold: RFC 5681 §3.2 step 6 to the letter; inflated: 4.4BSD",
        default = Deflation::Window,
    )]
    deflation: Deflation,
    /// retransmission after a loss that the differentiation attributes to the link
    #[parameter(
        source = "fast-recovery: RFC 5681 §3.2; go-back-n: a reading of Park et al. §4.3",
        default = AfterWireless::FastRecovery,
    )]
    after_wireless: AfterWireless,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("reno", file!())
        .summary("fast retransmit and fast recovery, left at the first new ACK")
        .citation("RFC 5681 §3.2")
        .linux(Linux::missing("with SACK it has RACK-TLP, without it NewReno").near("rack"))
        .build(|parameters: &RenoParameters, context: &Context| {
            Box::new(Reno {
                dup_acks: DuplicateAcks::new(&parameters.duplicates, context),
                resend: GoBackN::default(),
                inflation: None,
                retransmit: None,
                at_fast_retransmit: parameters.timer.fast_retransmit_timer.into(),
                at_exit: match parameters.exit_growth {
                    Switch::On => Growth::Acked,
                    Switch::Off => Growth::Frozen,
                },
                per_duplicate: match parameters.inflation {
                    Switch::On => u64::from(context.smss),
                    Switch::Off => 0,
                },
                deflation: parameters.deflation,
                after_wireless: parameters.after_wireless,
                echo_end: None,
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Dialect, Value};
    use crate::testing::{Setup, ack, agrees_with_ns2};

    #[test]
    fn one_loss_is_recovered_within_a_round_trip() {
        // Segment 0 of 8 is lost. There are seven duplicate ACKs for 1 to 7, and two for the segments of limited
        // transmit.
        let mut t = Setup::new(entry()).window(8.0).start(100);
        assert_eq!(t.receive(100, ack(0)), "limited:8");
        assert_eq!(t.receive(101, ack(0)), "limited:9");
        assert_eq!(t.receive(102, ack(0)), "dupacks:0");
        // FlightSize is 10, including 2 of limited transmit: ssthresh is 4, and 10 − 3 are in flight.
        assert_eq!((t.cwnd(), t.ssthresh(), t.in_flight()), (4.0, 4.0, 7.0));
        for ms in 103..106 {
            assert_eq!(t.receive(ms, ack(0)), "", "in flight falls to 4");
        }
        assert_eq!(t.receive(106, ack(0)), "new:10");
        assert_eq!(t.receive(200, ack(0)), "new:11");
        assert_eq!(t.receive(201, ack(0)), "new:12");
        // The new ACK deflates the window: 10, 11 and 12 are in flight, and a window of 4 permits one more.
        assert_eq!(t.receive(202, ack(10)), "new:13");
        assert_eq!((t.cwnd(), t.in_flight()), (4.0, 4.0));
        assert_eq!(t.receive(206, ack(11)), "new:14");
        assert_eq!(t.cwnd(), 4.25);
    }

    #[test]
    fn as_many_duplicate_acks_as_were_set_make_a_loss() {
        for threshold in [2, 3, 5] {
            let mut t = Setup::new(entry())
                .set_value("dup_threshold", Value::Integer(threshold))
                .set("limited_transmit", "off")
                .window(8.0)
                .start(100);
            for ms in 1..threshold {
                assert_eq!(t.receive(100 + ms, ack(0)), "");
            }
            let sent = t.receive(110, ack(0));
            assert!(sent.starts_with("dupacks:0"), "{threshold}: {sent}");
        }
    }

    #[test]
    fn the_ack_that_ends_it_opens_the_window_in_ns2() {
        let mut t = Setup::new(entry())
            .dialect(Dialect::Ns2)
            .window(8.0)
            .start(100);
        for ms in 100..109 {
            t.receive(ms, ack(0));
        }
        t.receive(202, ack(10));
        assert_eq!(t.cwnd(), 4.25);
    }

    #[test]
    fn without_inflation_nothing_new_leaves_before_the_next_new_ack() {
        // The same as above, without the segments that the duplicate ACKs permit.
        let mut t = Setup::new(entry())
            .set("inflation", "off")
            .window(8.0)
            .start(100);
        assert_eq!(t.receive(100, ack(0)), "limited:8");
        assert_eq!(t.receive(101, ack(0)), "limited:9");
        assert_eq!(t.receive(102, ack(0)), "dupacks:0");
        assert_eq!((t.cwnd(), t.ssthresh(), t.in_flight()), (4.0, 4.0, 10.0));
        for ms in 103..109 {
            assert_eq!(t.receive(ms, ack(0)), "");
        }
        // Everything is acknowledged, so four segments are sent at once.
        assert_eq!(t.receive(200, ack(10)), "new:10 new:11 new:12 new:13");
        assert_eq!((t.cwnd(), t.in_flight()), (4.0, 4.0));
    }

    #[test]
    fn two_losses_halve_twice_or_need_the_timer() {
        // Segments 0 and 2 of 12 are lost.
        let start = |careful| {
            let mut t = Setup::new(entry())
                .set("careful", careful)
                .window(12.0)
                .start(100);
            for ms in 100..112 {
                t.receive(ms, ack(0));
            }
            assert_eq!(t.cwnd(), 6.0);
            // The partial ACK ends fast recovery, and FlightSize is larger than the window.
            assert_eq!(t.receive(202, ack(2)), "");
            assert_eq!(t.receive(210, ack(2)), "");
            assert_eq!(t.receive(211, ack(2)), "");
            t
        };
        let mut t = start("off");
        assert_eq!(t.receive(212, ack(2)), "dupacks:2");
        assert_eq!(t.sender().stats().loss_events, 2);
        // FlightSize is 16 with the segments that the inflation permitted, and half of FlightSize is more than the
        // previous window. This follows RFC 5681; ns-2 and Linux halve cwnd.
        assert_eq!(t.cwnd(), 8.0);

        let mut t = start("on");
        assert_eq!(t.receive(212, ack(2)), "");
        assert_eq!(t.wait(1201), "");
        assert_eq!(t.wait(1202), "rto:2");
        assert_eq!(t.cwnd(), 1.0);
    }

    #[test]
    fn limited_transmit_is_two_segments_beyond_the_window_or_none() {
        let mut t = Setup::new(entry())
            .set("limited_transmit", "off")
            .window(4.0)
            .start(100);
        assert_eq!(t.receive(100, ack(0)), "");
        assert_eq!(t.receive(101, ack(0)), "");
        assert_eq!(t.receive(102, ack(0)), "dupacks:0 new:4");
        assert_eq!(t.sender().scoreboard().flight_size(), 5000);

        let mut t = Setup::new(entry()).window(4.0).start(100);
        assert_eq!(t.receive(100, ack(0)), "limited:4");
        // A window update is not a duplicate ACK and permits nothing.
        assert_eq!(t.receive(101, ack(0).window(500)), "");
        assert_eq!(t.receive(102, ack(0).window(500)), "limited:5");
    }

    #[test]
    fn a_lost_retransmission_waits_for_the_timer() {
        let mut t = Setup::new(entry()).window(6.0).start(100);
        t.receive(100, ack(0));
        t.receive(101, ack(0));
        assert_eq!(t.receive(102, ack(0)), "dupacks:0");
        // Segment 0 is not retransmitted before the timer expires, regardless of the number of duplicate ACKs. Each of
        // them permits a new segment.
        for ms in 200..210 {
            assert!(!t.receive(ms, ack(0)).contains(":0"));
        }
        assert_eq!(t.wait(999), "");
        assert_eq!(t.wait(1000), "rto:0");
        assert_eq!((t.cwnd(), t.in_flight()), (1.0, 1.0));
    }

    /// Segment 0 of 8 is lost, the response sets `cwnd` to one segment and `ssthresh` to 65,535 bytes, and nine
    /// duplicate ACKs arrive before the ACK that advances.
    #[test]
    fn the_deflation_sets_the_window_after_a_response() {
        for (deflation, left) in [("window", 1.0), ("inflated", 10.0), ("threshold", 65.535)] {
            let mut t = Setup::new(entry())
                .set("deflation", deflation)
                .answered_by(crate::response::slow_start::method_11())
                .window(8.0)
                .start(100);
            for ms in 100..109 {
                t.receive(ms, ack(0));
            }
            assert_eq!((t.cwnd(), t.ssthresh()), (1.0, 65.535), "{deflation}");
            t.receive(202, ack(8));
            assert_eq!(t.cwnd(), left, "{deflation}");
        }
    }

    /// Segments 0 and 3 of 8 are lost, and the response sets both variables to one segment.
    #[test]
    fn after_a_wireless_loss_everything_is_resent_from_una_or_only_the_first_segment() {
        let start = |word| {
            let mut t = Setup::new(entry())
                .set("after_wireless", word)
                .answered_by(crate::response::avoidance::method_21())
                .window(8.0)
                .start(100);
            assert_eq!(t.receive(100, ack(0)), "limited:8");
            assert_eq!(t.receive(101, ack(0)), "limited:9");
            assert_eq!(t.receive(102, ack(0)), "dupacks:0", "{word}");
            assert_eq!((t.cwnd(), t.ssthresh()), (1.0, 1.0));
            t
        };
        // Nothing may leave with a window of one segment while the old flight counts, and segment 3 needs the timer.
        let mut t = start("fast-recovery");
        assert_eq!(t.receive(202, ack(3)), "");
        assert_eq!(t.wait(1201), "");
        assert_eq!(t.wait(1202), "rto:3");

        // The cursor is at 1, and the ACK moves it to 3: one segment is in flight, and the window is two by now.
        let mut t = start("go-back-n");
        assert_eq!(t.in_flight(), 1.0);
        assert_eq!(t.receive(103, ack(0)), "", "no inflation");
        assert_eq!(t.receive(202, ack(3)), "dupacks:3 dupacks:4");
        assert_eq!(t.cwnd(), 2.0);
        // Everything has arrived. The receiver had segment 4, and its echo is no loss.
        assert_eq!(t.receive(302, ack(10)), "new:10 new:11");
        for ms in 303..306 {
            assert!(!t.receive(ms, ack(10)).contains("dupacks"), "an echo");
        }
        assert_eq!(t.sender().stats().loss_events, 1);
    }

    #[test]
    fn a_congestion_loss_is_repaired_by_fast_recovery_in_any_case() {
        let sent = |word| {
            let mut t = Setup::new(entry())
                .set("after_wireless", word)
                .window(8.0)
                .start(100);
            let texts: Vec<String> = (100..109)
                .map(|ms| t.receive(ms, ack(0)).to_owned())
                .collect();
            (texts, t.receive(202, ack(10)).to_owned(), t.cwnd())
        };
        assert_eq!(sent("go-back-n"), sent("fast-recovery"));
    }

    #[test]
    fn after_tcps_own_response_every_deflation_is_the_same() {
        for deflation in ["window", "inflated", "threshold"] {
            let mut t = Setup::new(entry())
                .set("deflation", deflation)
                .window(8.0)
                .start(100);
            for ms in 100..109 {
                t.receive(ms, ack(0));
            }
            t.receive(202, ack(8));
            assert_eq!(t.cwnd(), 4.0, "{deflation}");
        }
    }

    #[test]
    fn the_timer_runs_on_through_a_fast_retransmit_or_restarts() {
        for (word, rto_at) in [("keep", 1000), ("restart", 1102)] {
            let mut t = Setup::new(entry())
                .set("fast_retransmit_timer", word)
                .window(6.0)
                .start(100);
            for ms in 100..103 {
                t.receive(ms, ack(0));
            }
            assert_eq!(t.rto_at(), Some(rto_at));
        }
    }

    #[test]
    fn it_sends_the_same_packets_as_ns2() {
        agrees_with_ns2(Setup::new(entry()), "reno");
    }
}
