//! TLP, the tail loss probe: it makes the receiver send an ACK when the last ACKs of a flight are missing (RFC 8985
//! §7).
//!
//! When the tail of a flight is lost, no ACK arrives, and RACK has no information until the retransmission timer
//! expires. The probe timer is shorter:
//!
//! ```text
//! PTO = 2 · SRTT                     (1 s before there is an SRTT)
//!       + max_ack_delay              if one segment is in flight, whose ACK may be delayed
//!       at most the remaining time of the retransmission timer           (§7.2)
//! ```
//!
//! Linux's timers have ticks: 2 · SRTT is rounded up to whole ticks, plus two, unless a delayed ACK is expected.
//!
//! TLP then sends one segment beyond the window: new data, or otherwise the last segment again (§7.3). The SACK or ACK
//! in reply to the probe lets RACK detect the losses. If the probe was a retransmission and repaired the only loss,
//! nothing else would show the loss. §7.4 therefore looks for the DSACK that a spurious probe would cause: without a
//! DSACK, the loss is handled like any other.
//!
//! TLP is not a recovery but a part of RACK-TLP; see [`rack`](super::rack).

use dupack_tcp::facts::{AckFacts, Sent, View};
use dupack_tcp::scoreboard::{Segment, SegmentId};
use dupack_tcp::time::{Duration, Instant};

/// Probe timeout before there is a round-trip sample (RFC 8985 §7.2).
const PTO_WITHOUT_SRTT: Duration = Duration::from_secs(1);

/// Segment in its state before it was retransmitted as a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) id: SegmentId,
    pub(super) segment: Segment,
}

/// Kind of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeKind {
    /// New data.
    New,
    /// The last segment, retransmitted (TLP.is_retrans).
    Repeat(Tail),
}

/// Probe whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// SND.NXT after the probe (TLP.end_seq).
    end: u64,
    kind: ProbeKind,
}

/// Information of an ACK about the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeReport {
    /// Nothing relevant.
    Nothing,
    /// The probe repaired a loss of this segment, which nothing else will show.
    RepairedLoss(Tail),
}

/// Returns `now` plus the time to `at`, rounded up to whole ticks, plus two ticks: the first tick is not reliable,
/// because the current tick may be nearly over (Linux's TCP_TIMEOUT_MIN_US).
pub(super) fn in_ticks(tick: Duration, now: Instant, at: Instant) -> Instant {
    let tick_nanos = tick.as_nanos();
    if tick_nanos == 0 {
        return at;
    }
    let ticks = at.since(now).as_nanos().div_ceil(tick_nanos);
    now + tick.saturating_mul(ticks.saturating_add(2))
}

/// State of the probe timer and of the probe. See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Tlp {
    max_ack_delay: Duration,
    tick: Duration,
    /// Time at which the probe is to be sent.
    pto_at: Option<Instant>,
    /// `true` if the timer has expired and the probe has not been sent yet.
    due: bool,
    /// Last segment in its state when the timer expired.
    tail: Option<Tail>,
    probe: Option<Probe>,
    /// `true` if a round-trip sample was taken since the last probe. Another probe requires this (§7.3).
    sampled: bool,
}

impl Tlp {
    pub(super) fn new(max_ack_delay: Duration, tick: Duration) -> Self {
        Self {
            max_ack_delay,
            tick,
            pto_at: None,
            due: false,
            tail: None,
            probe: None,
            sampled: true,
        }
    }

    /// Restarts the probe timer (§7.2). `rto_at` is the expiry of the retransmission timer.
    pub(super) fn schedule(&mut self, view: &View<'_>, rto_at: Instant) {
        self.cancel();
        if self.probe.is_some() || !self.sampled || view.scoreboard.is_empty() {
            return;
        }
        let alone = view.scoreboard.len() == 1;
        let pto_at = match view.rtt.srtt() {
            None => view.now + PTO_WITHOUT_SRTT,
            Some(srtt) if alone => view.now + srtt * 2 + self.max_ack_delay,
            Some(srtt) => in_ticks(self.tick, view.now, view.now + srtt * 2),
        };
        self.pto_at = Some(pto_at.min(rto_at));
    }

    /// Cancels the probe.
    pub(super) fn cancel(&mut self) {
        self.pto_at = None;
        self.due = false;
    }

    /// Resets the state at the beginning of a recovery, which detects all losses (§7.1).
    pub(super) fn reset(&mut self) {
        self.cancel();
        self.probe = None;
    }

    pub(super) const fn timer(&self) -> Option<Instant> {
        self.pto_at
    }

    /// Returns `true` if the timer has expired, and marks the probe as due.
    pub(super) fn expire(&mut self, view: &View<'_>) -> bool {
        if self.pto_at.is_none_or(|at| at > view.now) {
            return false;
        }
        self.pto_at = None;
        self.due = true;
        let last = view.scoreboard.end().0.checked_sub(1).map(SegmentId);
        self.tail = last.and_then(|id| {
            let segment = *view.scoreboard.get(id)?;
            Some(Tail { id, segment })
        });
        true
    }

    /// Returns `true` if a probe is to be sent.
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// Records that the probe was sent, and that SND.NXT is `nxt` after it.
    pub(super) fn sent(&mut self, sent: &Sent, nxt: u64) {
        self.cancel();
        let (id, segment) = (sent.id, sent.segment);
        let kind = if segment.transmissions == 1 {
            ProbeKind::New
        } else {
            let before = self.tail.filter(|tail| tail.id == id);
            ProbeKind::Repeat(before.unwrap_or(Tail { id, segment }))
        };
        self.probe = Some(Probe { end: nxt, kind });
        self.sampled = false;
    }

    /// Evaluates the probe with an ACK (§7.4).
    pub(super) fn on_ack(&mut self, ack: &AckFacts<'_>) -> ProbeReport {
        self.sampled |= ack.rtt.is_some();
        let Some(probe) = self.probe.filter(|probe| ack.una >= probe.end) else {
            return ProbeReport::Nothing;
        };
        let both_arrived = ack.dsack.is_some_and(|(_, end)| end == probe.end)
            // A receiver without DSACK replies to the second copy with a plain duplicate ACK.
            || (ack.una == probe.end && ack.acked_bytes == 0 && ack.sacked_bytes == 0);
        match probe.kind {
            ProbeKind::Repeat(tail) if !both_arrived => {
                if ack.una == probe.end {
                    return ProbeReport::Nothing;
                }
                self.probe = None;
                ProbeReport::RepairedLoss(tail)
            }
            ProbeKind::New | ProbeKind::Repeat(_) => {
                self.probe = None;
                ProbeReport::Nothing
            }
        }
    }
}
