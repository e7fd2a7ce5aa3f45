//! TCP-RR in LE's simplified form: only a timeout is congestion.
//!
//! M. Kang, H. Park and J. Mo (LE), §5.2.2, who name RR-TCP (M. Zhang, B. Karp, S. Floyd, L. Peterson, ICNP 2003) as
//! its origin and use only one of its ideas.
//!
//! ```text
//! duplicate ACKs   a wireless loss: cwnd and ssthresh stay
//! timeout          congestion: as Reno
//! timer            RTO' = factor · RTO, at least SRTT + min, at most RTO
//! ```
//!
//! Growth and timeout are those of [`reno`](super::reno). Except for the timer, TCP-RR is Reno with response 1 and a
//! differentiation that classifies every loss except a timeout as a wireless loss. The timer expires earlier because a
//! sender that responds only to timeouts has to respond sooner; otherwise it takes bandwidth from senders that respond
//! to losses.
//!
//! Readings: LE gives no number for the earlier timeout. `factor` halves it. `min` prevents the timer from expiring
//! before the ACKs can arrive: the time is SRTT, plus the minimum delay of an ACK by Linux's receivers (LE's testbed),
//! 40 ms. The factor applies to the current timeout, including its dialect's minimum and its backoff, and everything
//! that depends on the timeout uses the shortened one. A loss does not end slow start.

use dupack_tcp::congestion::CongestionControl;
use dupack_tcp::facts::LossFacts;
use dupack_tcp::rtt::RtoShortening;
use dupack_tcp::time::Duration;
use dupack_tcp::window::Window;

use super::aimd::Floor;
use super::aimd_control::{Aimd, AimdParameters, AimdVariant, Answer};
use crate::catalog::{Entry, Parameters};

/// TCP-RR's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct TcpRrParameters {
    /// fraction of the retransmission timeout that remains
    #[parameter(
        basic,
        source = "LE §5.2.2 (a smaller value); a half is our reading",
        range = 0.01..=1.0,
        default = 0.5,
    )]
    factor: f64,
    /// minimum time between SRTT and the shortened timeout
    #[parameter(
        basic,
        source = "our reading: above Linux's shortest delay of an ACK (TCP_DELACK_MIN, 40 ms)",
        default = Duration::from_millis(50),
    )]
    min: Duration,
    // The window is reduced only at timeouts, where it is one segment with every floor.
    #[embed(fix(decrease.floor = Floor::Both))]
    aimd: AimdParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("tcp-rr", file!())
        .summary(
            "only timeouts are congestion, and come earlier; other losses leave the window unchanged",
        )
        .citation("LE §5.2.2, after Zhang et al., RR-TCP, ICNP 2003")
        .build(|parameters: &TcpRrParameters, context| {
            parameters
                .aimd
                .build(context)
                .varied(TcpRr::new(parameters))
        })
}

/// Congestion control of TCP-RR.
#[derive(Debug)]
struct TcpRr {
    shortening: RtoShortening,
}

impl TcpRr {
    fn new(parameters: &TcpRrParameters) -> Self {
        Self {
            shortening: RtoShortening {
                factor: parameters.factor,
                margin: parameters.min,
            },
        }
    }
}

impl AimdVariant for TcpRr {
    fn rto_shortening(&self) -> Option<RtoShortening> {
        Some(self.shortening)
    }

    fn reduction(&self, loss: &LossFacts, _: &Aimd) -> Window {
        loss.window
    }

    fn on_loss(&mut self, _: &LossFacts, _: Answer, _: &mut Aimd) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Dialect;
    use crate::congestion::bench::Bench;
    use crate::congestion::reno;
    use crate::recovery::sack;
    use crate::testing::{Setup, ack};

    #[test]
    fn only_a_timeout_reduces() {
        let mut b = Bench::new(entry(), Dialect::Rfc, &[], 16.0, 64.0);
        b.loss(0, 16);
        assert_eq!((b.cwnd(), b.ssthresh()), (16.0, 64.0));
        // Slow start continues.
        b.ack(1);
        assert_eq!(b.cwnd(), 17.0);
        b.timeout(0, 17);
        assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 8.5));
    }

    #[test]
    fn the_timeout_comes_earlier() {
        // One sample of 100 ms: SRTT + 4 · RTTVAR = 300 ms, but at least 1 s, so the timer expires at 1100 ms. Half of
        // the timeout is 500 ms, which is later than SRTT + 50 ms, so the shortened timer expires at 600 ms.
        let rto_at = |entry| {
            let mut t = Setup::new(sack::entry()).controlled_by(entry).start(40);
            assert_eq!(t.rto_at(), Some(1000));
            t.receive(100, ack(1));
            t.rto_at()
        };
        assert_eq!(rto_at(reno::entry()), Some(1100));
        assert_eq!(rto_at(entry()), Some(600));
    }

    #[test]
    fn duplicate_acks_leave_the_window_and_lost_segments_are_retransmitted() {
        let setup = Setup::new(sack::entry()).controlled_by(entry());
        let mut t = setup.ssthresh(10.0).start(40);
        t.receive(100, ack(0).sack(1, 2));
        t.receive(101, ack(0).sack(1, 3));
        assert_eq!(t.receive(102, ack(0).sack(1, 4)), "dupacks:0 new:12");
        assert_eq!((t.cwnd(), t.ssthresh()), (10.0, 10.0));
    }
}
