//! A test bench: one control, and the events that its tests hand it.

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{
    AckFacts, AckKind, LimitedBy, LossCause, LossFacts, LossRule, SendReason, Sent, View,
};
use dupack_tcp::recovery::{Clearance, Next, Outcome, Recovery, RtoTimer};
use dupack_tcp::rtt::RttEstimator;
use dupack_tcp::scoreboard::{Scoreboard, Segment, SegmentId};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;
use dupack_tcp::{Sender, Stack};

use crate::catalog::dialect;
use crate::catalog::{Context, Dialect, Entry, Needs, Value, Values};
use crate::differentiation::none::NoDifferentiation;
use crate::response::tcp::Tcp;

/// Segment size of every test, in bytes.
pub const SMSS: u32 = 1000;

/// What every plug-in of a test is built for: segments of [`SMSS`] bytes.
pub const CONTEXT: Context = Context::new(SMSS);

/// Values of the parameters of `entry` in `dialect`, with `changes`.
pub fn values<P: ?Sized>(entry: &Entry<P>, dialect: Dialect, changes: &[(&str, Value)]) -> Values {
    let mut values = entry.defaults(dialect);
    for (name, value) in changes {
        let set = values.set(name, value.clone());
        set.unwrap_or_else(|error| panic!("{error}"));
    }
    values
}

/// A plug-in of `entry` in `dialect`, with `changes`.
pub fn built<P: ?Sized>(entry: &Entry<P>, dialect: Dialect, changes: &[(&str, Value)]) -> Box<P> {
    entry.build(&values(entry, dialect, changes), &CONTEXT)
}

/// A control with the window it has made so far.
pub struct Bench {
    control: Box<dyn CongestionControl>,
    scoreboard: Scoreboard,
    rtt: RttEstimator,
    /// The window in force.
    pub window: Window,
    /// The time.
    pub now: Instant,
    /// What stopped the sender.
    pub limited_by: LimitedBy,
    /// The round-trip time that every ACK and loss reports.
    pub rtt_sample: Option<Duration>,
}

impl Bench {
    /// A bench for `entry` in `dialect` with `changes`, at a window given in segments.
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
            rtt_sample: None,
        }
    }

    /// The window in segments.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd / f64::from(SMSS)
    }

    /// The slow start threshold in segments.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh / f64::from(SMSS)
    }

    /// The control.
    pub fn control(&mut self) -> &mut dyn CongestionControl {
        &mut *self.control
    }

    /// An ACK for `segments` new segments, all of which count; 0 is a duplicate ACK, which
    /// does not.
    pub fn ack(&mut self, segments: u64) -> Window {
        let bytes = segments * u64::from(SMSS);
        let credit = Credit {
            acks: u32::from(segments > 0),
            bytes,
            ..Credit::default()
        };
        self.ack_with(segments, credit)
    }

    /// An ACK for `segments` new segments, with this credit.
    pub fn ack_with(&mut self, segments: u64, credit: Credit) -> Window {
        let facts = ack_facts(self.now, segments, self.limited_by, self.rtt_sample);
        let view = View {
            now: self.now,
            scoreboard: &self.scoreboard,
            window: self.window,
            rtt: &self.rtt,
            rto_at: None,
            new_len: SMSS,
        };
        self.window = self.control.on_ack(&facts, credit, &view);
        self.window
    }

    /// A round trip: the whole window is acknowledged, `per_ack` segments at a time.
    pub fn round(&mut self, per_ack: u64) -> Window {
        let mut left = self.window.whole_bytes() / u64::from(SMSS);
        while left > 0 {
            let segments = left.min(per_ack);
            self.ack(segments);
            left -= segments;
        }
        self.window
    }

    /// The facts of a loss of the segment `number`, with `flight` segments outstanding.
    pub fn loss_facts(&self, number: u64, flight: u64) -> LossFacts {
        LossFacts {
            window: self.window,
            now: self.now,
            rtt_min: self.rtt_sample,
            rtt_latest: self.rtt_sample,
            srtt: self.rtt_sample,
            ..loss_facts(number, flight)
        }
    }

    /// A congestion loss of the segment `number`, with `flight` segments outstanding.
    pub fn loss(&mut self, number: u64, flight: u64) -> Window {
        let facts = self.loss_facts(number, flight);
        let chosen = self.control.reduction(&facts);
        self.control.on_loss(&facts, LossCause::Congestion, chosen);
        self.window = chosen;
        chosen
    }

    /// A timeout of the segment `number`, with `flight` segments outstanding.
    pub fn timeout(&mut self, number: u64, flight: u64) -> Window {
        let facts = LossFacts {
            rule: LossRule::TIMEOUT,
            timeouts: 1,
            ..self.loss_facts(number, flight)
        };
        self.window = self.control.on_timeout(&facts);
        self.window
    }
}

/// The facts of an ACK for `segments` new segments.
pub fn ack_facts(
    now: Instant,
    segments: u64,
    limited_by: LimitedBy,
    rtt: Option<Duration>,
) -> AckFacts<'static> {
    let bytes = segments * u64::from(SMSS);
    AckFacts {
        now,
        una: 0,
        acked_bytes: bytes,
        delivered_bytes: bytes.max(u64::from(SMSS)),
        sacked_bytes: 0,
        delivered: &[],
        kind: if segments > 0 {
            AckKind::Advance
        } else {
            AckKind::Duplicate
        },
        dup_acks: u32::from(segments == 0),
        dsack: None,
        prior_flight: 0,
        prior_flight_unlimited: 0,
        prior_in_flight: Some(0),
        rtt,
        timestamp_echo: None,
        order_echo: None,
        limited_by,
    }
}

/// The facts of a loss of the segment `number`, with `flight` segments outstanding and a window
/// as large.
pub fn loss_facts(number: u64, flight: u64) -> LossFacts {
    let flight_size = flight * u64::from(SMSS);
    LossFacts {
        now: Instant::ZERO,
        segment: segment(number),
        rule: crate::recovery::DUPLICATE_ACKS,
        flight_size,
        window: Window {
            cwnd: flight_size as f64,
            ssthresh: f64::INFINITY,
        },
        timeouts: 0,
        srtt: None,
        rtt_min: None,
        rtt_latest: None,
        hole: 1,
        reduced_at: None,
        truth: None,
    }
}

/// The segment `number`, as a sender remembers it.
pub fn segment(number: u64) -> Segment {
    let config = dialect::sender_config(Dialect::Rfc, SMSS, &Needs::NONE);
    let wide_open = [("window", Value::Integer(1_000_000))];
    let stack = Stack {
        recovery: Box::new(OpenLoop),
        control: built(&super::fixed::entry(), Dialect::Rfc, &wide_open),
        differentiation: Box::new(NoDifferentiation),
        response: Box::new(Tcp),
    };
    let mut sender = Sender::new(config, stack);
    sender.write((number + 1) * u64::from(SMSS));
    while sender.poll_transmit(Instant::ZERO).is_some() {}
    *sender
        .scoreboard()
        .get(SegmentId(number))
        .expect("it was sent")
}

/// A recovery that recovers nothing: it sends new data while the window has room.
#[derive(Debug)]
pub struct OpenLoop;

impl Recovery for OpenLoop {
    fn on_sent(&mut self, _sent: &Sent, _view: &View<'_>) -> RtoTimer {
        RtoTimer::Keep
    }

    fn on_ack(&mut self, _ack: &AckFacts<'_>, _view: &View<'_>) -> Outcome {
        Outcome::default()
    }

    fn on_rto(&mut self, _view: &View<'_>) {}

    fn in_flight(&self, view: &View<'_>) -> u64 {
        view.flight_size()
    }

    fn next(&self, _view: &View<'_>) -> Next {
        Next::New {
            why: SendReason::NewData,
            clearance: Clearance::Window,
        }
    }
}
