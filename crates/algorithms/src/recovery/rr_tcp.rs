//! RR-TCP: SACK with a threshold that adapts to the observed reordering.
//!
//! M. Zhang, B. Karp, S. Floyd, L. Peterson, "RR-TCP: a reordering-robust TCP with DSACK", ICNP 2003; LE §2.3.4 names
//! it. Three duplicate ACKs are too few if packets overtake each other. RR-TCP keeps a histogram of the lateness of
//! segments, and uses the percentile of this histogram that avoids a given fraction of false alarms:
//!
//! ```text
//! a segment is late by d segments:       histogram[d] + 1
//! threshold = minimum k with  (lengths below k) / (all lengths) ≥ share,     3 ≤ k ≤ threshold_max
//! ```
//!
//! Lost segments, bytes in flight and the next transmission are those of RFC 6675 (`sack`), with this threshold instead
//! of 3. Until the threshold is reached, each SACK permits a new segment if the window permits it.
//!
//! A segment was late if it is reported below data that was sacked earlier, and was sent once; or if it was
//! retransmitted, and a DSACK shows that both transmissions arrived. The control restores the window after a false
//! alarm when a DSACK shows it: `undo_dsack = on`.
//!
//! LE with `threshold = adaptive` uses the maximum delay and counts ACKs in the order of transmission; RR-TCP uses a
//! percentile and counts segments in the order of the data.
//!
//! Readings (the text of the paper was not available):
//! - `d` is the distance in segments to the highest segment that was sacked earlier.
//! - The threshold never exceeds the number of outstanding segments minus one: more duplicate ACKs cannot arrive.
//! - Not implemented: the cost model that adapts `share` to the timeouts and idle times that it causes, and its
//!   sampling of round trips.
//!
//! Cost: amortised O(1) for an ACK; O(`threshold_max`) when a segment was late.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use dupack_tcp::facts::{AckFacts, Sent, View};
use dupack_tcp::recovery::{self, Next, Outcome, Recovery, RtoTimer};
use dupack_tcp::undo::{Reversal, Spurious};

use super::sack::{Rfc6675, Rfc6675Parameters};
use crate::catalog::{Context, Entry, Linux, Needs, Parameters};

/// Number of repaired segments that are stored for a DSACK, as in `le/reordering.rs`.
const REMEMBERED: usize = 16;

/// RR-TCP. See the [module](self).
#[derive(Debug)]
struct RrTcp {
    sack: Rfc6675,
    lateness: Lateness,
    /// Segments that were retransmitted and arrived: start, end, and the number of segments by which each was late when
    /// it arrived.
    repaired: VecDeque<(u64, u64, usize)>,
    /// Byte after the highest sacked byte, before the ACK.
    highest: u64,
}

/// Statistics of the lateness of segments, and the threshold that follows from them.
#[derive(Debug)]
struct Lateness {
    share: f64,
    least: u32,
    threshold: u32,
    /// Number of segments for each lateness.
    histogram: Vec<u64>,
    lengths: u64,
}

impl Lateness {
    /// Creates empty statistics with thresholds from `least` to `most`.
    fn new(share: f64, least: u32, most: u32) -> Self {
        Self {
            share,
            least,
            threshold: least,
            histogram: vec![0; most.max(least) as usize],
            lengths: 0,
        }
    }

    /// Counts a segment that was late by `length` segments.
    fn count(&mut self, length: usize) {
        let longest = self.histogram.len() - 1;
        self.histogram[length.min(longest)] += 1;
        self.lengths += 1;
        let wanted = self.share * self.lengths as f64;
        let mut below = 0;
        let enough = self.histogram.iter().position(|&count| {
            below += count;
            below as f64 >= wanted
        });
        // The threshold is the next number, so all lengths up to `enough` are below it.
        let threshold = enough.map_or(self.histogram.len(), |length| length + 1);
        self.threshold = self.least.max(threshold as u32);
    }
}

impl RrTcp {
    fn new(parameters: &RrTcpParameters, context: &Context) -> Self {
        let least = parameters.sack.counting.dup_threshold;
        Self {
            sack: Rfc6675::new(&parameters.sack, context),
            lateness: Lateness::new(parameters.share, least, parameters.threshold_max),
            repaired: VecDeque::new(),
            highest: 0,
        }
    }

    /// Records the reordering that an ACK shows.
    fn observe(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let board = view.scoreboard;
        let edge = board.id_at(self.highest);
        for delivered in ack.delivered {
            let segment = delivered.segment;
            let length = edge.0.saturating_sub(delivered.id.0 + 1) as usize;
            if segment.end() >= self.highest || length == 0 {
                continue;
            }
            if segment.transmissions == 1 {
                self.lateness.count(length);
            } else {
                if self.repaired.len() == REMEMBERED {
                    self.repaired.pop_front();
                }
                let late = (segment.start, segment.end(), length);
                self.repaired.push_back(late);
            }
        }
        if let Some((start, end)) = ack.dsack {
            let twice = |&(from, to, _): &(u64, u64, usize)| start < to && from < end;
            if let Some(index) = self.repaired.iter().position(twice)
                && let Some((.., length)) = self.repaired.remove(index)
            {
                self.lateness.count(length);
            }
        }
        self.highest = self.highest.max(board.forward_ack());
        let outstanding = board.len().saturating_sub(1) as u32;
        let threshold = self
            .lateness
            .threshold
            .min(outstanding.max(self.lateness.least));
        self.sack.set_dup_threshold(threshold);
    }
}

impl Recovery for RrTcp {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.sack.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.observe(ack, view);
        self.sack.on_ack(ack, view)
    }

    fn on_rto(&mut self, view: &View<'_>) {
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

/// RR-TCP's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct RrTcpParameters {
    #[embed]
    sack: Rfc6675Parameters,
    /// fraction of the observed late segments that would have caused no false alarm
    #[parameter(
        basic,
        source = "Zhang et al. 2003 use a percentile; the value is our choice",
        range = 0.0..=1.0,
        default = 0.9,
    )]
    share: f64,
    /// maximum threshold
    #[parameter(
        source = "Linux, sysctl tcp_max_reordering; the bound is ours",
        range = 1..=1000,
        unit = "segments",
        default = 300,
    )]
    threshold_max: u32,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("rr-tcp", file!())
        .summary("SACK whose threshold is a percentile of the lateness of segments")
        .citation("M. Zhang, B. Karp, S. Floyd and L. Peterson, RR-TCP, ICNP 2003")
        .needs(|_| Needs::SACK.and_dsack())
        .linux(Linux::missing("with SACK it has RACK-TLP").near("rack"))
        .build(|parameters, context| Box::new(RrTcp::new(parameters, context)))
}

#[cfg(test)]
mod tests;
