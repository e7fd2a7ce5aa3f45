//! TCP-DCR: the response to a loss is delayed, so that a segment that is only late may arrive.
//!
//! S. Bhandarkar, N. E. Sadry, A. L. N. Reddy, N. H. Vaidya, "TCP-DCR: a novel protocol for tolerating wireless channel
//! errors", IEEE Transactions on Mobile Computing 4(5), 2005; LE §1 names it. The first duplicate ACK starts a delay of
//! about one round trip. If the hole is filled in this time, by a link-layer retransmission or by a reordered packet,
//! the delay ends and nothing was lost. Otherwise fast retransmit and recovery follow as usual, but later:
//!
//! ```text
//! first SACK above a hole        wait until now + delay · SRTT
//! the hole is filled             no loss; if another hole is left, the wait restarts
//! the wait is over               RFC 6675's rules apply, with the counts so far
//! ```
//!
//! During the delay every SACK permits a new segment, so the ACK clock continues. Otherwise, lost segments, bytes in
//! flight and the next transmission are those of RFC 6675 (`sack`).
//!
//! For comparison: RR-TCP waits for a number of segments that depends on the observed lateness; TCP-DCR waits for a
//! time, which does not adapt. RACK waits for a time per segment; TCP-DCR waits four times as long, and handles the
//! holes of a window together.
//!
//! Readings (the text of the paper was not available):
//! - The delay is checked when ACKs arrive. Without ACKs, the retransmission timer decides.
//! - The delay begins at the first SACK above the first hole.
//!
//! Cost: that of RFC 6675; amortised O(1).

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, Sent, View};
use dupack_tcp::recovery::{self, Next, Outcome, Recovery, RtoTimer};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::{Reversal, Spurious};

use super::sack::{Rfc6675, Rfc6675Parameters};
use crate::catalog::{Context, Entry, Linux, Needs, Parameters};

/// TCP-DCR. See the [module](self).
#[derive(Debug)]
struct TcpDcr {
    sack: Rfc6675,
    dup_threshold: u32,
    /// Duration of the delay, in smoothed round-trip times.
    delay: f64,
    /// Time since which data above the first hole is sacked.
    since: Option<Instant>,
}

impl TcpDcr {
    fn new(parameters: &TcpDcrParameters, context: &Context) -> Self {
        Self {
            sack: Rfc6675::new(&parameters.sack, context),
            dup_threshold: parameters.sack.counting.dup_threshold,
            delay: parameters.delay,
            since: None,
        }
    }

    /// Returns `true` if the delay for the first hole is over.
    fn is_over(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> bool {
        if view.scoreboard.sacked_segments() == 0 {
            self.since = None;
            return false;
        }
        if ack.acked_bytes > 0 || self.since.is_none() {
            self.since = Some(ack.now);
        }
        let srtt = view.rtt.srtt().unwrap_or_default();
        let wait = Duration::from_secs_f64(srtt.as_secs_f64() * self.delay);
        self.since.is_some_and(|since| ack.now.since(since) >= wait)
    }
}

impl Recovery for TcpDcr {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.sack.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        // A recovery that is in progress continues by the usual rules.
        let usual = self.is_over(ack, view) || self.sack.recovery_point().is_some();
        self.sack
            .set_dup_threshold(if usual { self.dup_threshold } else { u32::MAX });
        self.sack.on_ack(ack, view)
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.since = None;
        self.sack.on_rto(view);
    }

    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        self.sack.on_spurious(spurious, view)
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.sack.in_flight(view)
    }

    fn phase(&self) -> Option<recovery::Phase> {
        self.sack.phase()
    }

    fn next(&self, view: &View<'_>) -> Next {
        self.sack.next(view)
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.sack.on_segment_size(from, to);
    }
}

/// TCP-DCR's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct TcpDcrParameters {
    #[embed]
    sack: Rfc6675Parameters,
    /// delay of the response to a loss, in smoothed round-trip times
    #[parameter(
        basic,
        source = "Bhandarkar et al. 2005: about one round trip",
        range = 0.0..=100.0,
        unit = "SRTT",
        default = 1.0,
    )]
    delay: f64,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("tcp-dcr", file!())
        .summary("SACK that waits for a round trip before it answers a loss")
        .citation(
            "S. Bhandarkar, N. E. Sadry, A. L. N. Reddy and N. H. Vaidya, TCP-DCR, IEEE TMC 4(5), 2005",
        )
        .needs(|_| Needs::SACK)
        .linux(Linux::missing("with SACK it has RACK-TLP").near("rack"))
        .build(|parameters, context| Box::new(TcpDcr::new(parameters, context)))
}

#[cfg(test)]
mod tests;
