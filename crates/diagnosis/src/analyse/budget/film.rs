//! Event sequences for tests: departures and arrivals, reported in the same form as from a capture.

use dupack_tcp::SenderConfig;
use dupack_tcp::connection::Flags;
use dupack_tcp::options::Sack;
use dupack_tcp::replay::{Replay, ReplayLimits};
use dupack_tcp::segment::{Ack, DataSegment, SackBlock, SackBlocks};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::analyse::cause::{Cause, Need, Repeat, Retransmission};
use crate::read::moment::{Analysis, Arrival, Departure, Explained, Stage};

/// Number of bytes in a full segment.
pub(crate) const MSS: u64 = 1000;

/// Returns the instant `millis` milliseconds after the beginning.
pub(crate) const fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// Returns a duration of `millis` milliseconds.
pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Simulated connection, and the analysis that observes it.
pub(crate) struct Film<A> {
    replay: Replay,
    pub(crate) told: A,
    stage: Stage,
    /// Receive window in bytes, and the offset at which it starts.
    window: u64,
    una: u64,
    nxt: u64,
    packet: u64,
    /// Time at which the timer was last restarted, as a capture would show it.
    moved_at: Instant,
}

impl<A: Analysis> Film<A> {
    /// Creates a connection whose peer initially grants `window` bytes.
    pub(crate) fn new(told: A, window: u64) -> Self {
        let mut config = SenderConfig::new(MSS as u32);
        config.isn = SeqNumber(0);
        config.sack = Sack::Permitted;
        config.rtt.min_rto = ms(200);
        Self {
            replay: Replay::new(config, ReplayLimits::default()),
            told,
            stage: Stage::Open,
            window,
            una: 0,
            nxt: 0,
            packet: 0,
            moved_at: Instant::ZERO,
        }
    }

    /// Sends the next `count` full segments.
    pub(crate) fn send(&mut self, now: Instant, count: u64) {
        for _ in 0..count {
            self.leave(now, self.nxt, MSS, Flags::NONE, None);
        }
    }

    /// Sends a segment of `len` bytes with PSH.
    pub(crate) fn send_last(&mut self, now: Instant, len: u64) {
        self.leave(now, self.nxt, len, Flags::PSH, None);
    }

    /// Retransmits the segment at `start` because of `cause`. The stage is `stage` from then on.
    pub(crate) fn repeat(&mut self, now: Instant, start: u64, cause: Cause, stage: Stage) {
        self.repeat_as(now, start, cause, stage, 2);
    }

    /// Retransmits like [`Self::repeat`]. `transmission` is the number of this transmission.
    pub(crate) fn repeat_as(
        &mut self,
        now: Instant,
        start: u64,
        cause: Cause,
        stage: Stage,
        transmission: u32,
    ) {
        self.stage = stage;
        if matches!(cause, Cause::Timeout { .. }) {
            self.replay.timed_out(now);
        }
        let len = MSS.min(self.nxt.saturating_sub(start)).max(1);
        let again = Retransmission {
            at: now,
            packet: self.packet + 1,
            start,
            end: start + len,
            transmission,
            cause,
            trigger: None,
            waited: now.since(self.moved_at),
            need: Need::Unknown,
            lost: false,
        };
        self.leave(now, start, len, Flags::NONE, Some(&again));
    }

    fn leave(
        &mut self,
        now: Instant,
        start: u64,
        len: u64,
        flags: Flags,
        again: Option<&Retransmission>,
    ) {
        self.packet += 1;
        let segment = DataSegment {
            seq: SeqNumber(start as u32),
            len: len as u32,
            ..DataSegment::default()
        };
        let left = self
            .replay
            .sent(now, &segment)
            .expect("it is of the stream");
        self.nxt = self.nxt.max(start + len);
        self.moved_at = now;
        let departure = Departure {
            at: now,
            packet: self.packet,
            start,
            end: start + len,
            kind: left.kind,
            unseen_bytes: left.unseen_bytes,
            flags,
            timestamps: None,
            ip_id: None,
            window_left: Some((self.una + self.window).saturating_sub(self.nxt)),
            sent: left.sent,
            view: left.view,
        };
        let explained = Explained {
            stage: self.stage,
            repeat: again.map(|again| Repeat::Retransmission(again.cause)),
            retransmission: again,
            needless: None,
        };
        self.told.departed(&departure, &explained);
    }

    /// Simulates an ACK of everything before `una`; the window stays the same.
    pub(crate) fn ack(&mut self, now: Instant, una: u64) {
        self.ack_with(now, una, self.window, None);
    }

    /// Simulates an ACK of everything before `una`. The stage is `stage` from then on.
    pub(crate) fn ack_in(&mut self, now: Instant, una: u64, stage: Stage) {
        self.stage = stage;
        self.ack(now, una);
    }

    /// Simulates an ACK like [`Self::ack_in`], with a SACK block.
    pub(crate) fn ack_in_with(
        &mut self,
        now: Instant,
        una: u64,
        stage: Stage,
        sack: Option<(u64, u64)>,
    ) {
        self.stage = stage;
        self.ack_with(now, una, self.window, sack);
    }

    /// Simulates an ACK with a window of `window` bytes and a SACK block.
    pub(crate) fn ack_with(
        &mut self,
        now: Instant,
        una: u64,
        window: u64,
        sack: Option<(u64, u64)>,
    ) {
        self.packet += 1;
        self.window = window;
        let mut sacks = SackBlocks::default();
        if let Some((start, end)) = sack {
            sacks.push(SackBlock {
                start: SeqNumber(start as u32),
                end: SeqNumber(end as u32),
            });
        }
        let ack = Ack {
            ack: SeqNumber(una as u32),
            window: window as u32,
            sacks,
            ..Ack::default()
        };
        let heard = self
            .replay
            .acknowledged(now, &ack)
            .expect("it is of the stream");
        if una > self.una {
            self.moved_at = now;
        }
        self.una = self.una.max(una);
        self.nxt = self.nxt.max(una);
        let arrival = Arrival {
            at: now,
            captured: now,
            packet: self.packet,
            facts: heard.facts,
            needless: heard.needless,
            timestamps: None,
            window: Some(window),
            field: None,
            carried: 0,
            window_left: Some((self.una + window).saturating_sub(self.nxt)),
            view: heard.view,
        };
        let explained = Explained {
            stage: self.stage,
            repeat: None,
            retransmission: None,
            needless: None,
        };
        self.told.arrived(&arrival, &explained);
    }

    /// Returns the number of outstanding bytes.
    pub(crate) const fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// Returns the offset of the next new byte.
    pub(crate) const fn next(&self) -> u64 {
        self.nxt
    }
}
