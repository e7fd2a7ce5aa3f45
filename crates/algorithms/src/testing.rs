//! Timelines for tests: a real sender with the recovery under test, told what arrives and when,
//! answering with what it sent and why.
//!
//! Everything is counted in segments of [`SMSS`] bytes, numbered from 0, and time runs in
//! milliseconds. What was sent is written as words, `reason:segment`, in the order of sending:
//!
//! ```ignore
//! let mut t = Setup::new(&newreno::ENTRY).set("full_ack", "alg2").window(4.0).start(100);
//! assert_eq!(t.sent(), "new:0 new:1 new:2 new:3");
//! assert_eq!(t.receive(100, ack(1)), "new:4 new:5");
//! assert_eq!(t.receive(101, ack(1).sack(2, 3)), "");
//! assert_eq!(t.wait(1300), "rto:1");
//! assert_eq!(t.cwnd(), 1.0);
//! ```
//!
//! The other three axes are the simplest there are: Reno's AIMD ([`Aimd`]), every loss taken for
//! congestion, and no response. [`Setup::transfer`] runs the sender against a real receiver over
//! a link that drops what it is told to.

#![allow(
    dead_code,
    reason = "a toolbox: not every tool is in use at every time"
)]

mod loopback;
mod ns2;

use std::fmt::Write as _;

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, SendReason, View};
use dupack_tcp::options::{OrderEcho, Sack};
use dupack_tcp::recovery::Recovery;
use dupack_tcp::response::Response;
use dupack_tcp::rtt::{BackoffReset, RttArithmetic, RttConfig, RttSampling, VarianceFloor};
use dupack_tcp::segment::{Ack, SackBlock};
use dupack_tcp::sender::{
    DuplicateAckRule, IdleRule, SackMemory, TimestampClock, TimestampValues, WindowLog,
};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::{Window, WindowRounding};
use dupack_tcp::{Sender, SenderConfig, Stack, Transmit};

pub(crate) use loopback::coin;
pub(crate) use ns2::agrees_with_ns2;

use crate::catalog::spec::{Context, Dialect, Entry, Kind, Needs, Parameters, Value};

/// Payload bytes of every segment.
pub(crate) const SMSS: u32 = 1000;

/// `ms` milliseconds after the beginning.
pub(crate) fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// Reno's additive increase and multiplicative decrease, and nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aimd {
    /// Half of FlightSize (RFC 5681 §3.1).
    FlightSize,
    /// Half of cwnd (ns-2). The sender is to round it as ns-2 does.
    Window,
}

impl Aimd {
    fn halved(self, loss: &LossFacts) -> Window {
        let floor = 2.0 * f64::from(SMSS);
        match self {
            Self::FlightSize => {
                let half = (loss.flight_size as f64 / 2.0).max(floor);
                Window {
                    cwnd: half,
                    ssthresh: half,
                }
            }
            Self::Window => Window {
                cwnd: loss.window.cwnd / 2.0,
                ssthresh: (loss.window.cwnd / 2.0).max(floor),
            },
        }
    }
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, _: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        let smss = f64::from(SMSS);
        let mut window = view.window;
        if credit.acks > 0 {
            window.cwnd += if window.in_slow_start() {
                smss
            } else {
                smss * smss / window.cwnd
            };
        }
        window
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        self.halved(loss)
    }

    fn on_loss(&mut self, _: &LossFacts, _: LossCause, _: Window) {}

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        Window {
            cwnd: f64::from(SMSS),
            ..self.halved(loss)
        }
    }
}

/// Every loss is congestion; nothing else to respond to.
#[derive(Debug)]
struct Null;

impl Differentiation for Null {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn judge(&mut self, _: &LossFacts) -> LossCause {
        LossCause::Congestion
    }
}

impl Response for Null {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn respond(&mut self, _: &LossFacts, congestion: Window) -> Window {
        congestion
    }
}

/// Every loss is the link's.
#[derive(Debug)]
struct AllWireless;

impl Differentiation for AllWireless {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn judge(&mut self, _: &LossFacts) -> LossCause {
        LossCause::Wireless
    }
}

/// What is to be tested, and in which surroundings.
#[derive(Debug)]
pub(crate) struct Setup {
    entry: &'static Entry<dyn Recovery>,
    dialect: Dialect,
    settings: Vec<(&'static str, Value)>,
    configure: Vec<fn(&mut SenderConfig)>,
    control: Aimd,
    /// A control of the catalog instead, with its defaults.
    catalog_control: Option<&'static Entry<dyn CongestionControl>>,
    /// A response of the catalog, to losses that are then all taken for the link's.
    response: Option<&'static Entry<dyn Response>>,
    window: f64,
    ssthresh: f64,
}

impl Setup {
    /// The catalog's `entry` with its defaults; a window of 10 segments, no `ssthresh` yet.
    pub(crate) fn new(entry: &'static Entry<dyn Recovery>) -> Self {
        Self {
            entry,
            dialect: Dialect::Rfc,
            settings: Vec::new(),
            configure: Vec::new(),
            control: Aimd::FlightSize,
            catalog_control: None,
            response: None,
            window: 10.0,
            ssthresh: f64::INFINITY,
        }
    }

    /// The defaults of `dialect` instead of those of `rfc`.
    pub(crate) fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Chooses a word for a parameter.
    pub(crate) fn set(mut self, name: &'static str, word: &'static str) -> Self {
        let spec = self.entry.parameters.iter().find(|p| p.name == name);
        let spec = spec.unwrap_or_else(|| panic!("no parameter `{name}`"));
        let Kind::Choice(words) = spec.kind else {
            panic!("`{name}` takes no words");
        };
        assert!(words.iter().any(|(w, _)| *w == word), "no choice `{word}`");
        self.settings.push((name, Value::Choice(word)));
        self
    }

    /// Gives any parameter a value.
    pub(crate) fn set_value(mut self, name: &'static str, value: Value) -> Self {
        let known = self.entry.parameters.iter().any(|p| p.name == name);
        assert!(known, "no parameter `{name}`");
        self.settings.push((name, value));
        self
    }

    /// The initial congestion window, in segments.
    pub(crate) fn window(mut self, segments: f64) -> Self {
        self.window = segments;
        self
    }

    /// The initial slow start threshold, in segments.
    pub(crate) fn ssthresh(mut self, segments: f64) -> Self {
        self.ssthresh = segments;
        self
    }

    /// What a loss halves: FlightSize unless this says otherwise.
    pub(crate) fn control(mut self, control: Aimd) -> Self {
        self.control = control;
        self
    }

    /// A control of the catalog, with its defaults, in place of [`Aimd`].
    pub(crate) fn controlled_by(mut self, entry: &'static Entry<dyn CongestionControl>) -> Self {
        self.catalog_control = Some(entry);
        self
    }

    /// Takes every loss for the link's, and answers it with a response of the catalog.
    pub(crate) fn answered_by(mut self, entry: &'static Entry<dyn Response>) -> Self {
        self.response = Some(entry);
        self
    }

    /// Changes the sender's configuration.
    pub(crate) fn configure(mut self, change: fn(&mut SenderConfig)) -> Self {
        self.configure.push(change);
        self
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::defaults(self.entry.parameters, self.dialect);
        for &(name, value) in &self.settings {
            parameters.set(name, value);
        }
        parameters
    }

    /// The sender, with the options agreed that the recovery needs.
    fn sender(&self) -> (Sender, Needs) {
        let parameters = self.parameters();
        let needs = (self.entry.needs)(&parameters);
        let mut config = SenderConfig {
            smss: SMSS,
            isn: SeqNumber(0),
            initial_window: self.window * f64::from(SMSS),
            initial_ssthresh: self.ssthresh * f64::from(SMSS),
            max_window: f64::INFINITY,
            rounding: WindowRounding::Exact,
            rtt: RttConfig {
                initial_rto: Duration::from_secs(1),
                min_rto: Duration::from_secs(1),
                max_rto: Duration::from_secs(60),
                granularity: Duration::ZERO,
                arithmetic: RttArithmetic::Exact,
                variance_floor: VarianceFloor::Granularity,
                sampling: RttSampling::EverySegment,
                backoff_reset: BackoffReset::OnSample,
            },
            timestamps: needs.trigger_timestamps.then_some(TimestampClock {
                tick: Duration::from_millis(1),
                values: TimestampValues::Unique,
            }),
            sack: Sack::when(needs.sack),
            sacks_after_timeout: SackMemory::Keep,
            order_echo: OrderEcho::when(needs.order_echo),
            duplicate_ack: DuplicateAckRule::Standard,
            idle: IdleRule::Keep,
            peer_window: DEFAULT_PEER_WINDOW,
            log: WindowLog::Off,
        };
        for change in &self.configure {
            change(&mut config);
        }
        let context = Context {
            smss: SMSS,
            dialect: self.dialect,
        };
        let control: Box<dyn CongestionControl> = match self.catalog_control {
            Some(entry) => {
                let defaults = Parameters::defaults(entry.parameters, self.dialect);
                (entry.build)(&defaults, &context)
            }
            None => Box::new(self.control),
        };
        let stack = Stack {
            recovery: (self.entry.build)(&parameters, &context),
            control,
            differentiation: match self.response {
                Some(_) => Box::new(AllWireless),
                None => Box::new(Null),
            },
            response: match self.response {
                Some(entry) => {
                    let defaults = Parameters::defaults(entry.parameters, self.dialect);
                    (entry.build)(&defaults, &context)
                }
                None => Box::new(Null),
            },
        };
        (Sender::new(config, stack), needs)
    }

    /// Begins at time 0 with `segments` segments to send.
    pub(crate) fn start(self, segments: u64) -> Timeline {
        let (sender, _) = self.sender();
        let mut timeline = Timeline {
            sender,
            now: Instant::ZERO,
            sent: String::new(),
            transmits: Vec::new(),
        };
        timeline.sender.write(segments * u64::from(SMSS));
        timeline.sent = timeline.flush();
        timeline
    }
}

/// The peer's window unless an ACK says otherwise: a thousand segments.
const DEFAULT_PEER_WINDOW: u32 = 1000 * SMSS;

/// An ACK of everything before segment `next`.
pub(crate) fn ack(next: u32) -> AckIn {
    AckIn(Ack {
        ack: SeqNumber(next * SMSS),
        window: DEFAULT_PEER_WINDOW,
        ..Ack::default()
    })
}

/// An ACK about to arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckIn(pub(crate) Ack);

impl AckIn {
    /// Adds a SACK block over the segments `first..end`.
    pub(crate) fn sack(mut self, first: u32, end: u32) -> Self {
        self.0.sacks.push(SackBlock {
            start: SeqNumber(first * SMSS),
            end: SeqNumber(end * SMSS),
        });
        self
    }

    /// Advertises a window of this many segments.
    pub(crate) fn window(mut self, segments: u32) -> Self {
        self.0.window = segments * SMSS;
        self
    }

    /// Echoes the order of the transmission that caused the ACK (LE §4.2).
    pub(crate) fn order(mut self, order: u32) -> Self {
        self.0.order_echo = Some(order);
        self
    }

    /// Echoes a timestamp.
    pub(crate) fn timestamp(mut self, value: u32) -> Self {
        self.0.timestamp_echo = Some(value);
        self
    }
}

/// A sender and the time it is.
#[derive(Debug)]
pub(crate) struct Timeline {
    sender: Sender,
    now: Instant,
    sent: String,
    transmits: Vec<Transmit>,
}

impl Timeline {
    /// What the last step sent.
    pub(crate) fn sent(&self) -> &str {
        &self.sent
    }

    /// The transmissions of the last step, with their order and timestamp.
    pub(crate) fn transmits(&self) -> &[Transmit] {
        &self.transmits
    }

    /// An ACK arrives `ms` milliseconds in; answers with what it makes the sender send. No timer
    /// may be due before: let them expire with [`wait`](Self::wait).
    pub(crate) fn receive(&mut self, ms: u64, ack: AckIn) -> &str {
        let due = self.sender.next_timeout();
        assert!(
            due.is_none_or(|due| due > at(ms)),
            "a timer is due at {due:?}, before {ms} ms"
        );
        self.pass_to(at(ms));
        self.sender.handle_ack(self.now, &ack.0);
        self.sent = self.flush();
        &self.sent
    }

    /// Time passes up to `ms` milliseconds in; answers with what timers made the sender send.
    pub(crate) fn wait(&mut self, ms: u64) -> &str {
        let mut sent = Vec::new();
        let mut transmits = Vec::new();
        while let Some(due) = self.sender.next_timeout().filter(|&due| due <= at(ms)) {
            self.pass_to(due);
            self.sender.handle_timeout(due);
            let words = self.flush();
            if !words.is_empty() {
                sent.push(words);
            }
            transmits.append(&mut self.transmits);
        }
        self.pass_to(at(ms));
        self.sent = sent.join(" ");
        self.transmits = transmits;
        &self.sent
    }

    /// The application writes `segments` more segments now.
    pub(crate) fn write(&mut self, segments: u64) -> &str {
        self.sender.write(segments * u64::from(SMSS));
        self.sent = self.flush();
        &self.sent
    }

    fn pass_to(&mut self, now: Instant) {
        assert!(now >= self.now, "time runs forward");
        self.now = now;
    }

    fn flush(&mut self) -> String {
        let mut words = String::new();
        self.transmits.clear();
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            self.transmits.push(transmit);
            let separator = if words.is_empty() { "" } else { " " };
            let number = transmit.offset / u64::from(SMSS);
            write!(words, "{separator}{}:{number}", word(transmit.why)).expect("a string grows");
        }
        words
    }

    /// The congestion window, in segments.
    pub(crate) fn cwnd(&self) -> f64 {
        self.sender.window().cwnd / f64::from(SMSS)
    }

    /// The slow start threshold, in segments.
    pub(crate) fn ssthresh(&self) -> f64 {
        self.sender.window().ssthresh / f64::from(SMSS)
    }

    /// What counts as in flight, in segments.
    pub(crate) fn in_flight(&self) -> f64 {
        self.sender.in_flight(self.now) as f64 / f64::from(SMSS)
    }

    /// When the retransmission timer expires, in milliseconds.
    pub(crate) fn rto_at(&self) -> Option<u64> {
        self.sender.rto_at().map(|at| at.as_nanos() / 1_000_000)
    }

    /// The sender, for whatever else a test wants to know.
    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }
}

/// The word for a reason in a timeline.
fn word(why: SendReason) -> &'static str {
    match why {
        SendReason::NewData => "new",
        SendReason::LimitedTransmit => "limited",
        SendReason::Retransmit(rule) => rule.name(),
        SendReason::HoleFill => "fill",
        SendReason::Rescue => "rescue",
        SendReason::TailLossProbe => "tlp",
        SendReason::WindowProbe => "probe",
    }
}
