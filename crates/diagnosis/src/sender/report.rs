//! Report on a sender: names with the evidence for and against each, and visible facts of the sender's dialect.

use core::fmt;

use dupack_tcp::time::Duration;

/// Loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment.
    Tahoe,
    /// Fast recovery that ends with the first ACK that advances the cumulative ACK (RFC 5681).
    Reno,
    /// Fast recovery that retransmits one hole per round trip (RFC 6582).
    NewReno,
    /// Conservative recovery based on SACK (RFC 6675).
    Sack,
    /// Recovery that assumes that everything below the highest SACK has left the network.
    Fack,
    /// Time-based recovery, with tail loss probes and proportional rate reduction (RFC 8985, RFC 9937).
    Rack,
    /// Recovery based on the order of transmissions, without a recovery phase.
    Le,
    /// Recovery that halves the window once and continues to grow it.
    Momentary,
}

impl Recovery {
    /// All recoveries.
    pub const ALL: [Self; 8] = [
        Self::Tahoe,
        Self::Reno,
        Self::NewReno,
        Self::Sack,
        Self::Fack,
        Self::Rack,
        Self::Le,
        Self::Momentary,
    ];

    /// Returns the name used in a stack.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::NewReno => "newreno",
            Self::Sack => "sack",
            Self::Fack => "fack",
            Self::Rack => "rack",
            Self::Le => "le",
            Self::Momentary => "momentary",
        }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// Growth by one segment per round trip. After a loss, the window is halved.
    Reno,
    /// Cubic function of the time since the last loss (RFC 9438).
    Cubic,
    /// Model of the path, version 3 (draft-ietf-ccwg-bbr).
    Bbr,
    /// Model of the path, version 1, as in Linux.
    BbrOne,
    /// BBR of an unknown version. No candidate has this name.
    BbrOfSomeVersion,
    /// A control that halves the window after a loss and grows it by one segment per round trip: Reno, or another
    /// control that behaves like Reno in this capture (Vegas, Veno, Westwood). No candidate has this name.
    Halving,
    /// Growth as with Reno. After a loss, the window is the product of the measured rate and the minimum round-trip
    /// time.
    Westwood,
    /// Control that keeps a few segments in the queue.
    Vegas,
    /// Constant window.
    Fixed,
}

impl Control {
    /// All candidates.
    pub const ALL: [Self; 7] = [
        Self::Reno,
        Self::Cubic,
        Self::Bbr,
        Self::BbrOne,
        Self::Westwood,
        Self::Vegas,
        Self::Fixed,
    ];

    /// Returns the display name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::BbrOne => "bbr (version 1)",
            Self::BbrOfSomeVersion => "bbr (of some version)",
            Self::Halving => "loss-based (halves)",
            Self::Westwood => "westwood",
            Self::Vegas => "vegas",
            Self::Fixed => "fixed",
        }
    }

    /// `true` if `candidate` belongs to this family or is this control itself.
    #[must_use]
    pub const fn includes(self, candidate: Self) -> bool {
        match self {
            Self::Halving => matches!(candidate, Self::Reno | Self::Vegas | Self::Westwood),
            Self::BbrOfSomeVersion => matches!(candidate, Self::Bbr | Self::BbrOne),
            other => other as u8 == candidate as u8,
        }
    }

    /// `true` if this name stands for several controls that are indistinguishable.
    #[must_use]
    pub const fn is_family(self) -> bool {
        matches!(self, Self::Halving | Self::BbrOfSomeVersion)
    }

    /// Returns the name used in a stack. For a family, this is the most common member, so its fit to the capture must
    /// be checked.
    #[must_use]
    pub const fn in_stack(self) -> &'static str {
        match self {
            Self::BbrOne | Self::BbrOfSomeVersion => "bbr-v1",
            Self::Halving => "reno",
            other => other.name(),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Possible name of a sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<N> {
    /// Name of the recovery or control.
    pub name: N,
    /// Natural logarithm of the likelihood of the observations under this candidate. Only differences between
    /// candidates are meaningful.
    pub score: f64,
    /// Evidence for this candidate: short sentences without full stops.
    pub evidence_for: Vec<String>,
    /// Evidence against this candidate, in the same form.
    pub evidence_against: Vec<String>,
}

/// Verdict on the recovery or on the control of a sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Identification<N> {
    /// Identified name; `None` if it is unknown.
    pub name: Option<N>,
    /// Nearest candidate, if it fits the observations. If `name` is `None`, the evidence for this candidate is too
    /// weak, or other candidates fit as well.
    pub nearest: Option<N>,
    /// Reason for the name, or for its absence; a sentence without its full stop.
    pub why: String,
    /// All candidates, in descending order of their scores.
    pub candidates: Vec<Candidate<N>>,
}

/// Quantity that determines growth in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// ACKs, regardless of the number of bytes that each one acknowledges.
    Acks,
    /// Acknowledged bytes (RFC 3465).
    Bytes,
}

/// Reason for the end of the first slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartEnd {
    /// A loss.
    Loss,
    /// Slower growth for some rounds before the end: HyStart++ (RFC 9406).
    Gradual,
    /// An immediate stop before a loss: HyStart, or a preset threshold.
    AtOnce,
    /// A reduction of the window without a loss: BBR's Drain, or Vegas.
    Drained,
    /// The transfer ended during slow start.
    NotEnded,
}

/// Timing of departures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Departures are triggered by ACKs.
    WithAcks,
    /// Departures are between ACKs, triggered by a clock.
    Paced,
}

/// Shortest timeout of a sender, and the rule that matches its timeouts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastTimeout {
    /// Shortest timeout without backoff, measured from the last restart of the timer.
    pub shortest: Duration,
    /// SRTT at that time.
    pub srtt: Duration,
    /// Rule that matches the timeouts.
    pub rule: TimeoutRule,
}

/// Rule for the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutRule {
    /// RTO of at least one second (RFC 6298 §2.4).
    OneSecond,
    /// RTO of SRTT plus a term of at least 200 ms (Linux).
    Linux,
    /// RTO of at least 200 ms, in ticks of 10 ms (ns-2), or another timer with this minimum.
    Short,
    /// None of these rules matches, or several do.
    Other,
}

/// Visible facts of a dialect. A value is `None` if the capture does not show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traits {
    /// Number of bytes sent before the first ACK of data.
    pub initial_bytes: Option<u64>,
    /// Number of full segments in `initial_bytes`.
    pub initial_segments: Option<u32>,
    /// Limit of the first flight.
    pub initial_is_window: Option<InitialBound>,
    /// Quantity that growth counts.
    pub counting: Option<Counting>,
    /// End of the first slow start.
    pub slow_start_end: Option<SlowStartEnd>,
    /// Timing of departures, relative to the ACKs.
    pub timing: Option<Timing>,
    /// Shortest timeout.
    pub least_timeout: Option<LeastTimeout>,
    /// Number of tail loss probes.
    pub tail_loss_probes: u32,
    /// Number of timeouts without backoff: only the first of several consecutive timeouts counts.
    pub timeouts: u32,
    /// Size of a full segment in bytes.
    pub segment_bytes: u32,
}

/// Limit of the first flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialBound {
    /// The initial window: the first ACK released more data.
    Window,
    /// The application, or an unknown limit: the initial window was at least as large.
    AtLeast,
}

/// Nearest stack and dialect for a simulation of the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackGuess {
    /// Stack as `recovery/control`, in the syntax of experiments.
    pub stack: String,
    /// Dialect: `rfc`, `linux` or `ns2`.
    pub dialect: &'static str,
}

/// Identification of a sender.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderReport {
    /// Loss recovery.
    pub recovery: Identification<Recovery>,
    /// Congestion control.
    pub control: Identification<Control>,
    /// Visible facts of the sender's dialect.
    pub traits: Traits,
    /// Stack for a simulation: the most likely one if several fit, `None` if none fits.
    pub stack: Option<StackGuess>,
}
