//! Test bench: one control, and the events that its tests pass to it.

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, AckKind, LimitedBy, LossCause, LossFacts, LossRule, WindowUse};
use dupack_tcp::rtt::RttEstimator;
use dupack_tcp::scoreboard::Scoreboard;
use dupack_tcp::testing;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;

use crate::catalog::dialect;
use crate::catalog::{Context, Dialect, Entry, Needs, Value, Values};

/// Segment size of every test, in bytes.
pub const SMSS: u32 = 1000;

/// Context of every plug-in under test: segments of [`SMSS`] bytes.
pub const CONTEXT: Context = Context::new(SMSS);

/// Returns the values of the parameters of `entry` in `dialect`, with `changes`.
pub fn values<P: ?Sized>(entry: &Entry<P>, dialect: Dialect, changes: &[(&str, Value)]) -> Values {
    let mut values = entry.defaults(dialect);
    for (name, value) in changes {
        let set = values.set(name, value.clone());
        set.unwrap_or_else(|error| panic!("{error}"));
    }
    values
}

/// Returns a plug-in of `entry` in `dialect`, with `changes`.
pub fn built<P: ?Sized>(entry: &Entry<P>, dialect: Dialect, changes: &[(&str, Value)]) -> Box<P> {
    entry.build(&values(entry, dialect, changes), &CONTEXT)
}

/// Control with the window that it has set so far.
pub struct Bench {
    control: Box<dyn CongestionControl>,
    scoreboard: Scoreboard,
    rtt: RttEstimator,
    /// Current window.
    pub window: Window,
    /// Current time.
    pub now: Instant,
    /// Limit that stopped the sender.
    pub limited_by: LimitedBy,
    /// Use of the window by the last flight.
    pub window_use: WindowUse,
    /// Round-trip time that every ACK and loss reports.
    pub rtt_sample: Option<Duration>,
    /// Sequence state; `None` unless the test calls [`fly`](Bench::fly).
    flight: Option<Flight>,
}

/// Acknowledged data, sent data and end of the round, as offsets in segments.
#[derive(Clone, Copy)]
struct Flight {
    una: u64,
    nxt: u64,
    round_end: u64,
}

impl Bench {
    /// Returns a bench for `entry` in `dialect` with `changes`. The initial window is given in segments.
    pub fn new(
        entry: Entry<dyn CongestionControl>,
        dialect: Dialect,
        changes: &[(&str, Value)],
        cwnd: f64,
        ssthresh: f64,
    ) -> Self {
        let smss = f64::from(SMSS);
        Self {
            control: built(&entry, dialect, changes),
            scoreboard: Scoreboard::new(SMSS),
            rtt: RttEstimator::new(dialect::sender_config(Dialect::Rfc, SMSS, &Needs::NONE).rtt),
            window: Window {
                cwnd: cwnd * smss,
                ssthresh: ssthresh * smss,
            },
            now: Instant::ZERO,
            limited_by: LimitedBy::Congestion,
            window_use: WindowUse::Filled,
            rtt_sample: None,
            flight: None,
        }
    }

    /// Keeps the window full from now on, and lets ACKs carry their offset.
    pub fn fly(&mut self) {
        let nxt = self.cwnd() as u64;
        self.flight = Some(Flight {
            una: 0,
            nxt,
            round_end: nxt,
        });
    }

    /// Returns the number of segments until the end of the round.
    pub fn left_of_round(&self) -> u64 {
        self.flight
            .map_or(0, |flight| flight.round_end - flight.una)
    }

    /// Returns the window in segments.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd / f64::from(SMSS)
    }

    /// Returns the slow start threshold in segments.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh / f64::from(SMSS)
    }

    /// Returns the control.
    pub fn control(&mut self) -> &mut dyn CongestionControl {
        &mut *self.control
    }

    /// Passes an ACK for `segments` new segments, all of which are credited; 0 is a duplicate ACK, without credit.
    pub fn ack(&mut self, segments: u64) -> Window {
        let bytes = segments * u64::from(SMSS);
        self.ack_with(segments, Credit::new(u32::from(segments > 0), bytes))
    }

    /// Passes an ACK for `segments` new segments, with this credit.
    pub fn ack_with(&mut self, segments: u64, credit: Credit) -> Window {
        let mut facts = ack_facts(self.now, segments, self.limited_by, self.rtt_sample);
        if let Some(flight) = &mut self.flight {
            flight.una += segments;
            facts.una = flight.una * u64::from(SMSS);
            self.scoreboard = testing::outstanding(flight.nxt, Instant::ZERO);
        }
        facts.window_use = self.window_use;
        let view = testing::view(self.now, &self.scoreboard, self.window, &self.rtt);
        self.window = self.control.on_ack(&facts, credit, &view);
        let cwnd = self.cwnd() as u64;
        if let Some(flight) = &mut self.flight {
            if flight.una >= flight.round_end {
                flight.round_end = flight.nxt;
            }
            flight.nxt = flight.nxt.max(flight.una + cwnd);
        }
        self.window
    }

    /// Passes the ACKs of a round trip: the whole window is acknowledged, with up to `per_ack` segments per ACK.
    pub fn round(&mut self, per_ack: u64) -> Window {
        let mut left = self.window.whole_bytes() / u64::from(SMSS);
        while left > 0 {
            let segments = left.min(per_ack);
            self.ack(segments);
            left -= segments;
        }
        self.window
    }

    /// Returns the facts of a loss of the segment `number`, with `flight` segments outstanding.
    pub fn loss_facts(&self, number: u64, flight: u64) -> LossFacts {
        let mut facts = loss_facts(number, flight);
        facts.window = self.window;
        facts.now = self.now;
        facts.rtt_min = self.rtt_sample;
        facts.rtt_latest = self.rtt_sample;
        facts.srtt = self.rtt_sample;
        facts
    }

    /// Passes a congestion loss of the segment `number`, with `flight` segments outstanding.
    pub fn loss(&mut self, number: u64, flight: u64) -> Window {
        let facts = self.loss_facts(number, flight);
        let chosen = self.control.reduction(&facts);
        self.control.on_loss(&facts, LossCause::Congestion, chosen);
        self.window = chosen;
        chosen
    }

    /// Passes a timeout of the segment `number`, with `flight` segments outstanding.
    pub fn timeout(&mut self, number: u64, flight: u64) -> Window {
        let mut facts = self.loss_facts(number, flight);
        facts.rule = LossRule::TIMEOUT;
        facts.timeouts = 1;
        self.window = self.control.on_timeout(&facts);
        self.window
    }
}

/// Returns the facts of an ACK for `segments` new segments.
pub fn ack_facts(
    now: Instant,
    segments: u64,
    limited_by: LimitedBy,
    rtt: Option<Duration>,
) -> AckFacts<'static> {
    let bytes = segments * u64::from(SMSS);
    let mut facts = testing::ack_facts(now);
    facts.acked_bytes = bytes;
    facts.delivered_bytes = bytes.max(u64::from(SMSS));
    facts.kind = if segments > 0 {
        AckKind::Advance
    } else {
        AckKind::Duplicate
    };
    facts.dup_acks = u32::from(segments == 0);
    facts.prior_in_flight = Some(0);
    facts.rtt = rtt;
    facts.limited_by = limited_by;
    facts
}

/// Returns the facts of a loss of the segment `number`, with `flight` segments outstanding and a window of this size.
pub fn loss_facts(number: u64, flight: u64) -> LossFacts {
    let lost = testing::segment(number, Instant::ZERO);
    let flight_size = flight * u64::from(SMSS);
    testing::loss_facts(lost, crate::recovery::DUPLICATE_ACKS, flight_size)
}
