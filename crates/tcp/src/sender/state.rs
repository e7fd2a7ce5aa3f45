//! State of a sender without its plug-ins. It is separate so that plug-ins can borrow the state while they are called.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ecn::Marks;
use super::pacing::Pacer;
use super::path::PathProbe;
use super::stats::Counters;
use super::undo::Undo;
use super::{SackMemory, SenderConfig, WindowChange, WindowLog};
use crate::congestion::{Governance, MarkAnswer, Pacing};
use crate::facts::{LimitedBy, View, WindowUse};
use crate::recovery::RtoTimer;
use crate::rtt::{RttEstimator, RttSampling};
use crate::scoreboard::{Delivered, Reported, Scoreboard, Segment};
use crate::time::Instant;
use crate::undo::UndoRules;
use crate::window::{Window, WindowCause, WindowRounding};

/// State of a sender without its plug-ins.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) config: SenderConfig,
    pub(crate) governance: Governance,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) rtt: RttEstimator,
    pub(crate) window: Window,
    /// Number of bytes that the application has written.
    pub(crate) written: u64,
    /// Number of bytes of a full segment that are reserved for options that only some segments carry.
    pub(crate) reserved: u32,
    /// Number of offsets at the end of the stream without payload: 1 if the stream ends with a FIN.
    pub(crate) fin: u32,
    /// Right edge of the peer's window according to the last ACK, as a stream offset.
    pub(crate) peer_edge: u64,
    /// Advertised window of the last ACK, for detecting duplicates.
    pub(crate) peer_window: u32,
    /// Largest window that the peer has advertised.
    pub(crate) peer_window_max: u32,
    pub(crate) dup_acks: u32,
    /// Without SACK: number of bytes above SND.UNA that duplicate ACKs are assumed to have reported.
    pub(crate) presumed_bytes: u64,
    /// Number of transmissions so far, which is also the number of the last transmission.
    pub(crate) order: u64,
    pub(crate) last_timestamp: Option<u32>,
    pub(crate) last_sent: Instant,
    /// The timed segment, with [`RttSampling::OnePerWindow`](crate::rtt::RttSampling::OnePerWindow).
    pub(crate) timing: Option<Box<Timed>>,
    /// Bytes retransmitted as lost, if the control is governed by a model.
    pub(crate) repaired_bytes: u64,
    /// Bytes sent by limited transmit since the last advance of the cumulative acknowledgment.
    pub(crate) limited_transmit_bytes: u64,
    pub(crate) limited_by: LimitedBy,
    pub(crate) usage: Usage,
    /// Time of the last reduction of the window for congestion.
    pub(crate) reduced_at: Option<Instant>,
    /// Factor by which the control's increase of the window is multiplied.
    pub(crate) growth: f64,
    pub(crate) rto_at: Option<Instant>,
    pub(crate) persist: Persist,
    /// Time before which pacing permits no segment.
    pub(crate) pace_until: Instant,
    /// `true` if pacing currently delays a segment.
    pub(crate) pacing: bool,
    pub(crate) pacer: Pacer,
    pub(crate) undo: Undo,
    /// State of ECN. It is boxed because most flows do not use ECN.
    pub(crate) marks: Option<Box<Marks>>,
    /// Outstanding probe of the path MTU. It is boxed because few flows send probes.
    pub(crate) probe: Option<Box<PathProbe>>,
    pub(crate) stats: Counters,
    /// Log of window changes; `None` if they are not logged.
    pub(crate) log: Option<Box<Log>>,
    /// Buffer that is reused to avoid allocation.
    pub(crate) delivered: Vec<Delivered>,
}

/// State for timing one segment at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timed {
    /// End offset and send time of the timed segment.
    pub(crate) segment: Option<(u64, Instant)>,
    /// Send time of the segment whose timestamp the peer would echo.
    pub(crate) echoed: Option<Instant>,
}

/// Window changes that were not yet taken.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) changes: Vec<WindowChange>,
}

/// Use of the window in each flight (Linux: `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) of_flight: WindowUse,
    /// SND.NXT when `of_flight` was set. The flight ends when this offset is acknowledged.
    end: u64,
    /// Number of the last transmission before the sender last stopped.
    order: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            of_flight: WindowUse::Partly { flight_max: 0 },
            end: 0,
            order: 0,
        }
    }
}

impl Usage {
    /// Returns `true` if a segment was sent since the sender last stopped.
    #[inline(always)]
    pub(crate) fn has_news(&self, order: u64) -> bool {
        self.order != order
    }

    /// Records that the sender stops because the window does not permit a full segment.
    #[inline(always)]
    pub(crate) fn filled(&mut self, board: &Scoreboard, order: u64) {
        self.of_flight = WindowUse::Filled;
        self.end = board.nxt();
        self.order = order;
    }

    /// Records that the sender stops for another reason after it has sent segments.
    pub(crate) fn partly(&mut self, board: &Scoreboard, order: u64) {
        self.order = order;
        let flight = board.flight_size();
        let more = match self.of_flight {
            WindowUse::Filled => false,
            WindowUse::Partly { flight_max } => flight > flight_max,
        };
        if more || board.una() >= self.end {
            self.of_flight = WindowUse::Partly { flight_max: flight };
            self.end = board.nxt();
        }
    }
}

/// State of zero-window probing (RFC 9293 §3.8.6.1).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Persist {
    pub(crate) at: Option<Instant>,
    pub(crate) backoff: u32,
    /// `true` if the timer has expired: the sender then sends a probe, or a segment that is shorter than silly window
    /// avoidance permits.
    pub(crate) due: bool,
}

impl Persist {
    /// Returns `true` if the persist timer runs or has expired. An open window resets this state.
    pub(crate) const fn is_under_way(self) -> bool {
        self.at.is_some() || self.due
    }
}

impl State {
    /// Returns the state at the start of an established connection without data to send. `answer`, `rtt`, `opening`,
    /// `pacing` and `undo` are the control's choices.
    pub(crate) fn new(
        config: SenderConfig,
        governance: Governance,
        answer: MarkAnswer,
        rtt: RttEstimator,
        opening: Window,
        pacing: Pacing,
        undo: UndoRules,
    ) -> Self {
        Self {
            governance,
            scoreboard: Scoreboard::new(config.smss),
            rtt,
            window: super::bounded(&config, opening),
            written: 0,
            reserved: 0,
            fin: 0,
            peer_edge: u64::from(config.peer_window),
            peer_window: config.peer_window,
            peer_window_max: config.peer_window,
            dup_acks: 0,
            presumed_bytes: 0,
            order: 0,
            last_timestamp: None,
            last_sent: Instant::ZERO,
            timing: (config.rtt.sampling == RttSampling::OnePerWindow).then(Box::default),
            repaired_bytes: 0,
            limited_transmit_bytes: 0,
            limited_by: LimitedBy::Application,
            usage: Usage::default(),
            reduced_at: None,
            growth: 1.0,
            rto_at: None,
            persist: Persist::default(),
            pace_until: Instant::ZERO,
            pacing: false,
            pacer: Pacer::new(pacing),
            undo: Undo::new(undo),
            marks: Marks::of(config.ecn, config.wrapped_marks, answer),
            probe: None,
            stats: Counters::default(),
            log: (config.log == WindowLog::On).then(Box::default),
            delivered: Vec::new(),
            config,
        }
    }

    /// Stops timing the segment.
    pub(crate) fn stop_timing(&mut self) {
        if let Some(timed) = &mut self.timing {
            timed.segment = None;
        }
    }

    /// Returns the plug-ins' view. This is the only function that creates a view.
    #[inline(always)]
    pub(crate) fn view(&self, now: Instant) -> View<'_> {
        View {
            now,
            scoreboard: &self.scoreboard,
            window: self.window,
            rtt: &self.rtt,
            rto_at: self.rto_at,
            new_len: self.new_len(),
        }
    }

    /// Returns the length of the new segment that the application's data and the peer's window permit, with the
    /// sender's part of silly window avoidance (RFC 9293 §3.8.6.2.1): a segment that the peer's window shortens is sent
    /// only if it is at least half the largest window ever advertised, or if the persist timer has expired.
    pub(crate) fn new_len(&self) -> u32 {
        let nxt = self.scoreboard.nxt();
        let waiting = self.written - nxt;
        let room = self.peer_edge.saturating_sub(nxt);
        let full = waiting.min(u64::from(self.config.smss - self.reserved));
        if room >= full {
            // The last full segment carries the FIN if the peer's window permits both.
            let last = self.fin > 0 && waiting == full + u64::from(self.fin) && waiting <= room;
            return if last { waiting } else { full } as u32;
        }
        if room >= u64::from(self.peer_window_max / 2).max(1) || self.persist.due {
            return room as u32;
        }
        0
    }

    /// Starts the retransmission timer if data is outstanding and the timer does not run; stops it if no data is
    /// outstanding (RFC 6298 §5.1, §5.2).
    pub(crate) fn arm_rto(&mut self, now: Instant) {
        if self.scoreboard.is_empty() {
            self.rto_at = None;
        } else if self.rto_at.is_none() {
            self.rto_at = Some(now + self.rtt.rto());
        }
    }

    /// Returns a plug-in's window, rounded as configured.
    pub(crate) fn rounded(&self, window: Window) -> Window {
        let smss = f64::from(self.config.smss);
        let whole = |bytes: f64| {
            if bytes.is_finite() {
                libm::floor(bytes / smss) * smss
            } else {
                bytes
            }
        };
        match self.config.rounding {
            WindowRounding::Exact => window,
            WindowRounding::NsTwo => Window {
                ssthresh: whole(window.ssthresh),
                ..window
            },
            WindowRounding::Segments => Window {
                cwnd: whole(window.cwnd),
                ssthresh: whole(window.ssthresh),
            },
        }
    }

    /// Sets the window within its limits. After the handshake, this is the only function that changes the window.
    pub(crate) fn set_window(&mut self, now: Instant, window: Window, cause: WindowCause) {
        let smss = f64::from(self.config.smss);
        // `max` also turns NaN into one segment. The window is at least one segment, because otherwise no data could
        // ever be sent again.
        let after = Window {
            cwnd: window.cwnd.max(smss).min(self.config.max_window.max(smss)),
            ssthresh: window.ssthresh.max(smss),
        };
        if let Some(log) = &mut self.log
            && after != self.window
        {
            log.changes.push(WindowChange {
                at: now,
                cause,
                before: self.window,
                after,
            });
        }
        self.window = after;
    }

    /// Sets the window to the control's value after an ACK. In congestion avoidance, the increase is multiplied by the
    /// response's factor.
    #[inline(always)]
    pub(crate) fn grow(&mut self, now: Instant, mut grown: Window) {
        let cause = if self.window.in_slow_start() {
            WindowCause::SlowStart
        } else {
            WindowCause::Avoidance
        };
        if self.growth < 1.0 && cause == WindowCause::Avoidance {
            let increase = (grown.cwnd - self.window.cwnd).max(0.0);
            grown.cwnd -= increase * (1.0 - self.growth);
        }
        self.set_window(now, grown, cause);
    }

    /// Sets the retransmission timer as the recovery decided.
    #[inline(always)]
    pub(crate) fn set_timer(&mut self, now: Instant, rto: RtoTimer) {
        if rto == RtoTimer::Restart {
            self.rto_at = None;
        }
        self.arm_rto(now);
    }

    /// Returns FlightSize without the bytes sent by limited transmit (RFC 5681 §3.2 step 2).
    pub(crate) fn unlimited_flight_size(&self) -> u64 {
        let flight_size = self.scoreboard.flight_size();
        flight_size.saturating_sub(self.limited_transmit_bytes)
    }

    /// Handles the retransmission timeout: discards SACK information if the receiver reneged or the configuration
    /// requires it. Returns the first outstanding segment, if there is one.
    pub(crate) fn time_out(&mut self) -> Option<Segment> {
        self.rto_at = None;
        let segment = *self.scoreboard.get(self.scoreboard.first())?;
        self.stats.timeouts += 1;
        self.note_timeout_of_probe();
        if segment.reported == Reported::Sacked {
            self.scoreboard.forget_sacks();
            self.stats.renegings += 1;
        } else if self.config.sacks_after_timeout == SackMemory::Forget {
            self.scoreboard.forget_sacks();
        }
        Some(segment)
    }

    /// Resets the counts that end with a timeout.
    pub(crate) fn start_over(&mut self) {
        self.dup_acks = 0;
        self.presumed_bytes = 0;
        self.limited_transmit_bytes = 0;
        self.stop_timing();
    }

    /// Handles the expiry of the persist timer if it is due.
    pub(crate) fn expire_persist(&mut self, now: Instant) {
        if self.persist.at.is_some_and(|at| at <= now) {
            self.persist.at = None;
            self.persist.due = true;
            self.persist.backoff = (self.persist.backoff + 1).min(32);
        }
    }
}
