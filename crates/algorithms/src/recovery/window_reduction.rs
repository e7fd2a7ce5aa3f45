//! Window reduction of a fast recovery: at once, or spread over the round trip by [`prr`](super::prr) or
//! [`rate_halving`](super::rate_halving).
//!
//! RFC 6937 compares these ways with the same loss detection. A recovery decides what is lost and what is sent; the
//! window reduction decides how much is sent for each ACK. A [`Spread`] exists from the beginning of a fast recovery to
//! its end and determines `Recovery::allowance`. The sender's window is the reduced one from the beginning, and is
//! ssthresh here.

use dupack_tcp::facts::{AckFacts, View};

use super::prr::{Bound, Progress, Prr};
use super::rate_halving::{Floor, RateHalving};
use crate::catalog::Choice;

/// Way to reduce the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// At once: data is sent as soon as the bytes in flight are below the reduced window (RFC 6675).
    AtOnce,
    /// Proportional Rate Reduction.
    Prr(Bound),
    /// Rate halving.
    RateHalving(Floor),
}

/// Window after a recovery with PRR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum PrrExit {
    /// the slow start threshold, even if less is in flight
    Ssthresh,
    /// one segment more than is in flight, at most the slow start threshold; slow start follows
    InFlight,
}

/// Reduction that is spread over the round trip: the state of one fast recovery.
#[derive(Clone, Debug)]
pub(crate) enum Spread {
    /// Proportional Rate Reduction.
    Prr(Prr),
    /// Rate halving.
    RateHalving(RateHalving),
}

impl Spread {
    /// Begins a fast recovery with the ACK `ack`. `window` is the window in bytes before the reduction. Returns `None` if
    /// the window is reduced at once. The ACK must also be passed to [`on_ack`](Self::on_ack).
    pub(crate) fn begin(
        method: Method,
        smss: u32,
        window: u64,
        ack: Option<&AckFacts<'_>>,
        view: &View<'_>,
    ) -> Option<Self> {
        let (acked, delivered) = ack.map_or((0, 0), |ack| (ack.acked_bytes, ack.delivered_bytes));
        match method {
            Method::AtOnce => None,
            Method::Prr(bound) => {
                let recover_fs = bound.recover_fs(acked, delivered, view.scoreboard);
                Some(Self::Prr(Prr::new(bound, smss, recover_fs)))
            }
            Method::RateHalving(floor) => {
                Some(Self::RateHalving(RateHalving::new(floor, smss, window)))
            }
        }
    }

    /// Processes an ACK of the recovery. `delivered` bytes are reported for the first time, and `in_flight` bytes are
    /// in flight after the ACK.
    pub(crate) fn on_ack(
        &mut self,
        delivered: u64,
        progress: Progress,
        in_flight: u64,
        view: &View<'_>,
    ) {
        match self {
            Self::Prr(prr) => prr.on_ack(delivered, progress),
            Self::RateHalving(halving) if delivered > 0 => {
                halving.on_ack(in_flight, view.window.whole_bytes());
            }
            Self::RateHalving(_) => {}
        }
    }

    /// Records that `bytes` were sent, new or retransmitted.
    pub(crate) fn on_sent(&mut self, bytes: u32) {
        match self {
            Self::Prr(prr) => prr.on_sent(bytes),
            Self::RateHalving(_) => {}
        }
    }

    /// Returns the bytes that may be sent now.
    pub(crate) fn allowance(&self, in_flight: u64, view: &View<'_>) -> u64 {
        match self {
            Self::Prr(prr) => prr.sndcnt(view.window.whole_bytes(), in_flight),
            Self::RateHalving(halving) => halving.cwnd().saturating_sub(in_flight),
        }
    }

    /// Returns the maximum of the window at the end of the recovery, if it is not ssthresh. `in_flight` bytes are in
    /// flight then.
    pub(crate) fn limit_at_exit(&self, exit: PrrExit, smss: u32, in_flight: u64) -> Option<f64> {
        match (self, exit) {
            (Self::Prr(_), PrrExit::Ssthresh) => None,
            (Self::Prr(_), PrrExit::InFlight) => Some((in_flight + u64::from(smss)) as f64),
            (Self::RateHalving(halving), _) => Some(halving.cwnd() as f64),
        }
    }
}
