//! Round trips, and the window in each of them.
//!
//! A round ends when an ACK reports a segment that was sent after the round began (BBR counts its rounds in the same
//! way). The maximum flight of a round is the size of the window, unless there was another limit.

use dupack_tcp::connection::Flags;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::Instant;

use super::flight::Flight;
use crate::analyse::cause::Cause;
use crate::read::moment::{Arrival, Departure, Explained, Stage};

/// Set of events in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    /// The receive window was the limit.
    pub const RECEIVE_WINDOW: Self = Self(1);
    /// The application had no more data to send.
    pub const APPLICATION: Self = Self(2);
    /// A segment that was detected as lost was retransmitted.
    pub const REPAIR: Self = Self(4);
    /// A timer expired.
    pub const TIMEOUT: Self = Self(8);
    /// There were duplicate ACKs or losses in a part of the round.
    pub const UNSETTLED: Self = Self(16);
    /// A tail loss probe was sent.
    pub const PROBE: Self = Self(32);

    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// `true` if the window was the only limit, and there were neither losses nor probes.
    pub const fn is_clear(self) -> bool {
        self.0 == 0
    }

    /// `true` if the receive window or the application was the limit.
    pub const fn is_bounded(self) -> bool {
        self.has(Self(Self::RECEIVE_WINDOW.0 | Self::APPLICATION.0))
    }
}

/// Completed round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Number, counted from 0.
    pub number: u32,
    /// Time at which the round began.
    pub begin: Instant,
    /// Time at which the round ended.
    pub end: Instant,
    /// Maximum flight, in segments.
    pub most: f32,
    /// Maximum flight while there were no duplicate ACKs or losses, in segments; 0 if there were some from the
    /// beginning.
    pub most_open: f32,
    /// Number of segments reported as delivered.
    pub delivered: f32,
    /// Number of ACKs that reported deliveries.
    pub acks: u32,
    /// Minimum round-trip sample, in seconds; 0 without a sample.
    pub rtt_min: f32,
    /// Maximum round-trip sample, in seconds; 0 without a sample.
    pub rtt_max: f32,
    /// Events in the round.
    pub marks: Marks,
}

impl Round {
    const fn begin(number: u32, at: Instant) -> Self {
        Self {
            number,
            begin: at,
            end: at,
            most: 0.0,
            most_open: 0.0,
            delivered: 0.0,
            acks: 0,
            rtt_min: 0.0,
            rtt_max: 0.0,
            marks: Marks(0),
        }
    }

    /// Returns the duration in seconds.
    pub fn seconds(&self) -> f32 {
        self.end.since(self.begin).as_secs_f64() as f32
    }
}

/// Minimum time without a departure, after everything was acknowledged, that shows that the sender had no more data, as
/// a fraction of the round-trip time. Our choice: a host responds to an ACK in less time.
const IDLE_SHARE: f64 = 0.25;

/// Division of a stream into rounds.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    current: Round,
    /// Position of the first transmission whose delivery ends the round, in the order of all transmissions.
    ends_with: u64,
    /// Position of the last transmission, in the order of all transmissions.
    last_order: u64,
    /// Time at which all data was acknowledged; `None` after the next departure.
    drained_at: Option<Instant>,
    /// Minimum round-trip time so far, in seconds.
    base: f32,
    delivered_bytes: u64,
}

impl Rounds {
    pub const fn new(at: Instant) -> Self {
        Self {
            current: Round::begin(0, at),
            ends_with: 1,
            last_order: 0,
            drained_at: None,
            base: 0.0,
            delivered_bytes: 0,
        }
    }

    /// Returns the round in progress.
    pub const fn current(&self) -> &Round {
        &self.current
    }

    /// Returns the minimum round-trip time so far, in seconds; 0 without a sample.
    pub const fn base(&self) -> f32 {
        self.base
    }

    /// Records a departure; `in_flight` is the flight in segments, including this departure.
    pub fn departed(
        &mut self,
        departure: &Departure<'_>,
        explained: &Explained<'_>,
        (flight, in_flight): (&Flight, f32),
    ) {
        for sent in departure.sent {
            self.last_order = self.last_order.max(sent.segment.order);
        }
        if let Some(drained_at) = self.drained_at.take() {
            let idle = departure.at.since(drained_at).as_secs_f64();
            if idle > IDLE_SHARE * f64::from(self.base) {
                self.current.marks.add(Marks::APPLICATION);
            }
        }
        let round = &mut self.current;
        round.most = round.most.max(in_flight);
        match explained.stage {
            Stage::Open => round.most_open = round.most_open.max(in_flight),
            Stage::Disorder | Stage::Recovery | Stage::Loss => round.marks.add(Marks::UNSETTLED),
        }
        let len = departure.end.saturating_sub(departure.start);
        let is_short = !len.is_multiple_of(flight.smss());
        let is_new = departure.kind == SendingKind::First;
        if (is_short && is_new) || departure.flags.contains(Flags::FIN) {
            round.marks.add(Marks::APPLICATION);
        }
        if departure
            .window_left
            .is_some_and(|left| left < flight.smss())
        {
            round.marks.add(Marks::RECEIVE_WINDOW);
        }
        if let Some(retransmission) = explained.retransmission {
            round.marks.add(match retransmission.cause {
                Cause::Timeout { .. } | Cause::AfterTimeout => Marks::TIMEOUT,
                Cause::TailLossProbe => Marks::PROBE,
                Cause::WindowProbe => Marks::RECEIVE_WINDOW,
                Cause::KeepAlive => Marks::APPLICATION,
                _ => Marks::REPAIR,
            });
        }
    }

    /// Records an ACK. Returns the round that ended with this ACK.
    pub fn arrived(
        &mut self,
        arrival: &Arrival<'_>,
        explained: &Explained<'_>,
        flight: &Flight,
    ) -> Option<Round> {
        let facts = &arrival.facts;
        if explained.stage != Stage::Open {
            self.current.marks.add(Marks::UNSETTLED);
        }
        if let Some(rtt) = facts.rtt {
            let rtt = rtt.as_secs_f64() as f32;
            let round = &mut self.current;
            if round.rtt_min == 0.0 || rtt < round.rtt_min {
                round.rtt_min = rtt;
            }
            round.rtt_max = round.rtt_max.max(rtt);
            if self.base == 0.0 || rtt < self.base {
                self.base = rtt;
            }
        }
        if facts.delivered_bytes > 0 {
            self.current.acks += 1;
            self.delivered_bytes = self.delivered_bytes.saturating_add(facts.delivered_bytes);
        }
        if arrival.view.flight_size() == 0 {
            self.drained_at = Some(arrival.at);
        }
        let ends = |d: &dupack_tcp::scoreboard::Delivered| d.segment.order >= self.ends_with;
        if !facts.delivered.iter().any(ends) {
            return None;
        }
        let next = Round::begin(self.current.number.saturating_add(1), arrival.at);
        let mut ended = core::mem::replace(&mut self.current, next);
        ended.end = arrival.at;
        ended.delivered = self.delivered_bytes as f32 / flight.smss() as f32;
        self.delivered_bytes = 0;
        self.ends_with = self.last_order.saturating_add(1);
        if explained.stage != Stage::Open {
            self.current.marks.add(Marks::UNSETTLED);
        }
        Some(ended)
    }
}
