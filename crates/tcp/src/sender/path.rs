//! Changes of the segment size during a connection, and probes for larger segments.
//!
//! **Shorter segments.** The path has dropped segments because they were too long, which is not a sign of congestion.
//! The outstanding segments are cut into shorter ones with new ids, and the recovery is informed that they must be
//! retransmitted ([`Recovery::on_cut`](crate::recovery::Recovery::on_cut)). The window keeps its number of segments.
//!
//! **A probe** (RFC 4821 §7.5) is one packet of new data, longer than a full segment. The scoreboard and the recovery
//! treat the probe as several segments of the current size. If the probe is lost, these segments are retransmitted one
//! by one, and no segment has to be cut.
//!
//! ```text
//! packets      ├─ 1000 ─┤├────── 1400 ──────┤├─ 1000 ─┤
//! scoreboard   │   7    ││   8    │   9     ││   10   │
//! ```

use alloc::boxed::Box;

use super::state::State;
use super::{Sender, Transmit};
use crate::facts::{LossCause, SendReason};
use crate::recovery::{Clearance, LossEvent, Next, RtoTimer};
use crate::scoreboard::{Reported, Segment};
use crate::segment::DataSegment;
use crate::time::Instant;
use crate::window::{Window, WindowCause};

/// Retransmission of segments that are too long for the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CutRule {
    /// As fast as the window permits. The window keeps its number of segments (Linux, `tcp_simple_retransmit`).
    Window,
    /// In slow start from a window of one segment, up to the former window (RFC 1191 §6.4, RFC 8201 §5.4).
    SlowStart,
}

/// Result of an attempt to send a probe.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeAttempt {
    /// The probe was sent.
    Sent(Transmit),
    /// The congestion window or the receive window does not permit the probe now, but will permit it if no other data
    /// is sent until more acknowledgments arrive.
    Waits,
    /// There is not enough data, a window is too small, pacing delays the next segment, a retransmission is due, or a
    /// probe is already outstanding.
    Impossible,
}

/// Outcome of a probe (RFC 4821 §7.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeOutcome {
    /// The probe was delivered: the path can carry packets of its length.
    Delivered,
    /// Only the probe was lost. The window was not reduced (§7.6.2).
    Lost,
    /// A timeout detected the loss of the probe, and the window was reduced (§7.6.3).
    TimedOut,
    /// Other segments were lost as well, so the result is inconclusive (§7.6.4).
    Inconclusive,
}

/// Outstanding probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathProbe {
    start: u64,
    end: u64,
    /// Outcome, if it is known that the probe failed.
    failure: Option<ProbeOutcome>,
}

impl PathProbe {
    const fn covers(&self, offset: u64) -> bool {
        self.start <= offset && offset < self.end
    }
}

impl Sender {
    /// Sets the size of a full segment to `smss` bytes, because the known MTU of the path has changed.
    ///
    /// If segments become shorter, the window keeps its number of segments, and longer outstanding segments are
    /// retransmitted in pieces. If segments become longer, the window keeps its size in bytes (as in Linux,
    /// `tcp_mtup_probe_success`; RFC 4821 §7.6.1 permits either).
    pub fn set_segment_size(&mut self, now: Instant, smss: u32, rule: CutRule) {
        let smss = smss.max(1);
        let before = self.state.config.smss;
        if smss == before {
            return;
        }
        self.state.resize(smss);
        self.stack.recovery.on_segment_size(before, smss);
        self.stack.control.on_segment_size(before, smss);
        self.stack.differentiation.on_segment_size(before, smss);
        self.stack.response.on_segment_size(before, smss);
        // With longer segments, the window is at least one segment.
        let ratio = (f64::from(smss) / f64::from(before)).min(1.0);
        let scaled = Window {
            cwnd: self.state.window.cwnd * ratio,
            ssthresh: self.state.window.ssthresh * ratio,
        };
        self.state.set_window(now, scaled, WindowCause::SegmentSize);
        if self.state.scoreboard.has_missing_beyond(smss) {
            self.cut(now, rule);
        }
        self.state.check();
    }

    /// Cuts the outstanding segments, and informs the recovery that they must be retransmitted.
    fn cut(&mut self, now: Instant, rule: CutRule) {
        self.state.scoreboard.cut(self.state.config.smss);
        self.state.start_over();
        // The retransmission of a segment that was too long does not show that a loss was spurious.
        self.state.undo.forbid();
        self.state.probe = None;
        if rule == CutRule::SlowStart {
            let restart = Window {
                cwnd: f64::from(self.state.config.smss),
                ssthresh: self.state.window.ssthresh.min(self.state.window.cwnd),
            };
            self.state
                .set_window(now, restart, WindowCause::SegmentSize);
        }
        self.stack.recovery.on_cut(&self.state.view(now));
        // RFC 1191 §6.4: the retransmission timer must not expire for segments that are about to be retransmitted.
        self.state.set_timer(now, RtoTimer::Restart);
    }

    /// Sends one packet of `len` bytes of new data, which is more than a full segment. At least `len + after` bytes of
    /// data must be ready to be sent. The `after` bytes follow the probe, so that its loss can be detected without a
    /// timeout (RFC 4821 §7.4). [`take_probe_outcome`](Self::take_probe_outcome) returns the outcome.
    pub fn poll_probe(&mut self, now: Instant, len: u32, after: u32) -> ProbeAttempt {
        let state = &self.state;
        let board = &state.scoreboard;
        let needed = u64::from(len) + u64::from(after);
        let data = state
            .written
            .saturating_sub(board.nxt() + u64::from(state.fin));
        let windows = state.window.whole_bytes().min(u64::from(state.peer_window));
        if state.probe.is_some()
            || len <= state.config.smss
            || data.min(windows) < needed
            || (now < state.pace_until && !state.pacer.lets_burst_go_on(now))
        {
            return ProbeAttempt::Impossible;
        }
        let view = state.view(now);
        let Next::New { why, clearance } = self.stack.recovery.next(&view) else {
            return ProbeAttempt::Impossible;
        };
        if (why, clearance) != (SendReason::NewData, Clearance::Window) {
            return ProbeAttempt::Impossible;
        }
        let nxt = board.nxt();
        let room = state.peer_edge.saturating_sub(nxt);
        if room < needed || self.stack.recovery.allowance(&view) < u64::from(len) {
            // An acknowledgment of outstanding data may permit the probe later.
            return match board.is_empty() {
                true => ProbeAttempt::Impossible,
                false => ProbeAttempt::Waits,
            };
        }
        self.end_idle(now);
        match self.send_probe(now, nxt, len) {
            Some(probe) => ProbeAttempt::Sent(probe),
            None => ProbeAttempt::Impossible,
        }
    }

    fn send_probe(&mut self, now: Instant, nxt: u64, len: u32) -> Option<Transmit> {
        let mut probe: Option<Transmit> = None;
        let mut rest = len;
        while rest > 0 {
            let piece = self.send_new(now, SendReason::PathProbe, rest.min(self.state.config.smss));
            rest -= piece.segment.len;
            probe.get_or_insert(piece);
        }
        self.state.probe = Some(Box::new(PathProbe {
            start: nxt,
            end: nxt + u64::from(len),
            failure: None,
        }));
        self.state.check();
        probe.map(|first| Transmit {
            segment: DataSegment {
                len,
                ..first.segment
            },
            ..first
        })
    }

    /// Returns `true` if a probe is outstanding or its outcome was not yet taken.
    #[must_use]
    pub const fn is_probing_path(&self) -> bool {
        self.state.probe.is_some()
    }

    /// Returns the outcome of the last probe once; `None` while the outcome is unknown.
    pub fn take_probe_outcome(&mut self) -> Option<ProbeOutcome> {
        let outcome = self.state.probe_outcome()?;
        self.state.probe = None;
        Some(outcome)
    }

    /// Returns `true` and records the outcome if only the probe was lost: this is not a sign of congestion (RFC 4821
    /// §7.6.2).
    #[cold]
    #[inline(never)]
    pub(super) fn excuses_probe(
        &mut self,
        now: Instant,
        event: LossEvent,
        segment: Segment,
    ) -> bool {
        let alone = self.state.lost_probe_alone(segment.start) && event.repaired.is_none();
        if !alone {
            return false;
        }
        if let Some(probe) = &mut self.state.probe {
            probe.failure = Some(ProbeOutcome::Lost);
        }
        self.state.stop_timing();
        self.state.undo.forbid();
        let flight_size = self.state.unlimited_flight_size();
        let loss = self.state.loss_facts(now, segment, event.rule, flight_size);
        // The recovery repairs the loss within the current window.
        self.tell_cause(&loss, LossCause::Wireless);
        true
    }
}

impl State {
    /// Sets the size of a full segment to `smss` bytes.
    fn resize(&mut self, smss: u32) {
        let ratio = f64::from(smss) / f64::from(self.config.smss);
        self.config.initial_window *= ratio;
        self.config.smss = smss;
        self.reserved = self.reserved.min(smss / 2);
        self.scoreboard.expect_segments_of(smss);
    }

    /// Returns `true` if the lost segment at offset `lost` belongs to the probe, the probe is the first outstanding
    /// data, and all segments between the probe and the highest sacked segment have arrived.
    fn lost_probe_alone(&self, lost: u64) -> bool {
        let Some(probe) = self.probe.as_deref() else {
            return false;
        };
        let board = &self.scoreboard;
        let mut beyond = board
            .iter_from(board.id_at(probe.end))
            .map(|(_, segment)| segment)
            .take_while(|segment| segment.end() <= board.forward_ack());
        probe.failure.is_none()
            && probe.covers(lost)
            && board.una() == probe.start
            && beyond.all(|segment| segment.reported == Reported::Sacked)
    }

    fn probe_outcome(&self) -> Option<ProbeOutcome> {
        let probe = self.probe.as_deref()?;
        if probe.failure.is_some() {
            return probe.failure;
        }
        let board = &self.scoreboard;
        let mut pieces = board
            .iter_from(board.id_at(probe.start))
            .map(|(_, segment)| segment)
            .take_while(|segment| segment.start < probe.end);
        let arrived = board.una() >= probe.end
            || (board.una() <= probe.start && pieces.all(|s| s.reported == Reported::Sacked));
        arrived.then_some(ProbeOutcome::Delivered)
    }

    /// Records that the segment at `offset` is retransmitted: its acknowledgment then does not show that the probe
    /// arrived.
    #[cold]
    #[inline(never)]
    pub(super) fn note_repeat_of_probe(&mut self, offset: u64) {
        if let Some(probe) = &mut self.probe
            && probe.covers(offset)
        {
            probe.failure.get_or_insert(ProbeOutcome::Inconclusive);
        }
    }

    /// Records the outcome of the probe if the retransmission timer expired.
    pub(super) fn note_timeout_of_probe(&mut self) {
        let una = self.scoreboard.una();
        if let Some(probe) = &mut self.probe
            && probe.failure.is_none()
        {
            probe.failure = Some(if probe.start == una {
                ProbeOutcome::TimedOut
            } else {
                ProbeOutcome::Inconclusive
            });
        }
    }
}
