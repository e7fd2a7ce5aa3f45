//! Tahoe: fast retransmit, then slow start from one segment.
//!
//! Tahoe was the first recovery that did not wait for the timer (4.3BSD-Tahoe; Jacobson, *Congestion Avoidance and
//! Control*, SIGCOMM 1988; Fall & Floyd, *Simulation-based Comparisons of Tahoe, Reno, and SACK TCP*, CCR 1996, §2). On
//! the third duplicate ACK:
//!
//! ```text
//! ssthresh = the control's reduction,  cwnd = 1 SMSS
//! everything outstanding is resent from SND.UNA as slow start permits (go-back-N)
//! ```
//!
//! Several losses in a window have no additional cost, because Tahoe retransmits everything up to the point to which
//! the cumulative ACK jumps; the price is an empty pipe after every loss. Reno differs after the fast retransmit: it
//! keeps half the window and the ACK clock. Both handle a timeout in the same way.
//!
//! A response to wireless loss can choose Tahoe's `ssthresh`, but never its window.

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, Sent, View};
use dupack_tcp::recovery::{Growth, LossEvent, Next, Outcome, Recovery, RtoTimer};
use dupack_tcp::undo::{Reversal, Spurious};

use super::duplicate_acks::{DUPLICATE_ACKS, DuplicateAckParameters, DuplicateAcks};
use super::go_back_n::GoBackN;
use crate::catalog::{Context, Entry, Linux, Parameters};

/// Tahoe's recovery. See the [module](self).
#[derive(Debug)]
struct Tahoe {
    dup_acks: DuplicateAcks,
    resend: GoBackN,
    smss: u32,
}

impl Tahoe {
    /// Handles the third duplicate ACK. Everything outstanding counts as lost, so nothing is in flight, and the window
    /// of one segment permits the fast retransmit itself.
    fn restart(&mut self, view: &View<'_>) -> Outcome {
        self.dup_acks.begin_event(view);
        self.resend.begin(view, DUPLICATE_ACKS);
        Outcome {
            loss: Some(LossEvent::of(view.scoreboard.first(), DUPLICATE_ACKS)),
            limit: Some(f64::from(self.smss)),
            // A timer that was set for the previous flight would expire in the middle of the new one.
            rto: RtoTimer::Restart,
            ..Outcome::default()
        }
    }
}

impl Recovery for Tahoe {
    fn on_sent(&mut self, sent: &Sent, _: &View<'_>) -> RtoTimer {
        self.resend.on_sent(sent);
        RtoTimer::Keep
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.resend.on_ack(view);
        if self.dup_acks.reveal_loss(ack) {
            return self.restart(view);
        }
        match ack.kind {
            AckKind::Advance => Outcome {
                growth: Growth::Acked,
                rto: RtoTimer::Restart,
                ..Outcome::default()
            },
            AckKind::Duplicate | AckKind::Other => Outcome::default(),
        }
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.dup_acks.on_rto(view);
        self.resend.begin(view, LossRule::TIMEOUT);
    }

    fn on_spurious(&mut self, spurious: &Spurious, _: &View<'_>) -> Reversal {
        self.dup_acks.forget_event(spurious);
        self.resend.stop();
        Reversal::Done(None)
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        let limited = self
            .dup_acks
            .limited_transmit_bytes(self.resend.is_active());
        self.resend.flight_size(view).saturating_sub(limited)
    }

    fn next(&self, view: &View<'_>) -> Next {
        self.resend
            .next()
            .unwrap_or_else(|| self.dup_acks.new_data(view.flight_size(), view))
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = to;
        self.dup_acks.resize(to);
    }
}

/// Tahoe's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct TahoeParameters {
    #[embed(change(careful(
        source = "RFC 6582 §3.2 step 2; without it Tahoe takes the echo of its own retransmissions for \
                  losses (ns-2 bugFix_)",
    )))]
    duplicates: DuplicateAckParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("tahoe", file!())
        .summary("fast retransmit, then slow start from one segment")
        .citation("Jacobson, Congestion Avoidance and Control, SIGCOMM 1988")
        .linux(Linux::missing("with SACK it has RACK-TLP, without it NewReno").near("rack"))
        .build(|parameters: &TahoeParameters, context: &Context| {
            Box::new(Tahoe {
                dup_acks: DuplicateAcks::new(&parameters.duplicates, context),
                resend: GoBackN::default(),
                smss: context.smss,
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, ack};

    #[test]
    fn one_loss_restarts_from_one_segment_and_the_ack_jumps() {
        let mut t = Setup::new(entry()).window(8.0).start(100);
        assert_eq!(t.receive(100, ack(0)), "limited:8");
        assert_eq!(t.receive(101, ack(0)), "limited:9");
        assert_eq!(t.receive(102, ack(0)), "dupacks:0");
        // FlightSize was 8 without limited transmit, so ssthresh is 4.
        assert_eq!((t.cwnd(), t.ssthresh(), t.in_flight()), (1.0, 4.0, 1.0));
        for ms in 103..109 {
            assert_eq!(t.receive(ms, ack(0)), "");
        }
        assert_eq!(t.receive(202, ack(10)), "new:10 new:11");
        assert_eq!(t.receive(302, ack(11)), "new:12 new:13");
    }

    #[test]
    fn several_losses_are_resent_on_the_way_without_a_timeout() {
        // Segments 0, 3 and 6 are lost.
        let mut t = Setup::new(entry()).window(8.0).start(100);
        t.receive(100, ack(0));
        t.receive(101, ack(0));
        assert_eq!(t.receive(102, ack(0)), "dupacks:0");
        assert_eq!(t.receive(200, ack(3)), "dupacks:3 dupacks:4");
        assert_eq!(t.receive(300, ack(6)), "dupacks:6 dupacks:7 dupacks:8");
        assert_eq!(t.sender().stats().timeouts, 0);
        assert_eq!(t.sender().stats().loss_events, 1);
    }

    #[test]
    fn the_echo_of_its_own_repetitions_is_no_loss_if_careful() {
        let start = |careful| {
            let mut t = Setup::new(entry())
                .set("careful", careful)
                .window(8.0)
                .start(100);
            assert_eq!(t.wait(1000), "rto:0");
            t.receive(1100, ack(4));
            // The receiver already had segments 4, 5 and 6, but its ACKs were late: three duplicate ACKs.
            t.receive(1101, ack(7));
            t.receive(1102, ack(7));
            t.receive(1103, ack(7));
            t.receive(1104, ack(7));
            t.sender().stats().loss_events
        };
        assert_eq!(start("on"), 0);
        assert_eq!(start("off"), 1);
    }
}
