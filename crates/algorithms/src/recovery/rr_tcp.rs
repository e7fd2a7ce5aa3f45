//! RR-TCP: SACK with a threshold that follows the reordering seen.
//!
//! M. Zhang, B. Karp, S. Floyd, L. Peterson, "RR-TCP: a reordering-robust TCP with DSACK", ICNP 2003; LE §2.3.4 names
//! it. Three duplicate ACKs are too few if packets overtake each other. RR-TCP keeps a histogram of how late segments
//! arrived, and takes the percentile of it that avoids a given share of false alarms:
//!
//! ```text
//! a segment is late by d segments:       histogram[d] + 1
//! threshold = least k with  (lengths below k) / (all lengths) ≥ share,     3 ≤ k ≤ threshold_max
//! ```
//!
//! Lost segments, bytes in flight and the next transmission are RFC 6675's (`sack`), with that threshold instead of 3.
//! Until it is reached each SACK releases a new segment, as far as the window has room.
//!
//! A segment was late if it is reported below data that was sacked before, and was sent once; or if it was
//! retransmitted, and a DSACK shows that both transmissions arrived. The control restores the window that a false alarm
//! has cost when a DSACK shows it: `undo_dsack = on`.
//!
//! LE with `threshold = adaptive` uses the longest delay and counts ACKs in the order of transmission; RR-TCP uses a
//! percentile and counts segments in the order of the data.
//!
//! Readings (the paper's own text was not available):
//! - `d` is the distance in segments to the highest that was sacked before.
//! - The threshold never exceeds the number of outstanding segments minus one: more duplicate ACKs cannot arrive.
//! - Not built: the cost model that moves `share` by the timeouts and idle times it causes, and its
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

/// Number of repaired segments that are remembered for a DSACK, as in `le/reordering.rs`.
const REMEMBERED: usize = 16;

/// RR-TCP. See the [module](self).
#[derive(Debug)]
struct RrTcp {
    sack: Rfc6675,
    lateness: Lateness,
    /// Segments that were retransmitted and arrived: start, end, and the number of segments by which each was late
    /// then.
    repaired: VecDeque<(u64, u64, usize)>,
    /// Byte after the highest that was sacked, before the ACK.
    highest: u64,
}

/// Number of segments by which others were late, and the threshold that this asks for.
#[derive(Debug)]
struct Lateness {
    share: f64,
    least: u32,
    threshold: u32,
    /// Number of segments by the number of segments by which they were late.
    histogram: Vec<u64>,
    lengths: u64,
}

impl Lateness {
    /// Returns one with thresholds from `least` to `most`.
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
        // Lengths up to `enough` are below the next number.
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

    /// Takes the reordering that an ACK shows.
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
    /// share of the late segments seen that would have caused no false alarm
    #[parameter(
        basic,
        source = "Zhang et al. 2003 use a percentile; the value is our choice",
        range = 0.0..=1.0,
        default = 0.9,
    )]
    share: f64,
    /// greatest threshold
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
