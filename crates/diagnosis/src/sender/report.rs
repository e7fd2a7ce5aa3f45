//! What is said of a sender: names with the evidence for and against each, and the facts that its
//! dialect shows.

use core::fmt;

use dupack_tcp::time::Duration;

/// Which loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment.
    Tahoe,
    /// Fast recovery that ends with the first ACK that advances (RFC 5681).
    Reno,
    /// Fast recovery, one hole per round trip (RFC 6582).
    NewReno,
    /// Conservative recovery by SACK (RFC 6675).
    Sack,
    /// Everything below the highest SACK has left the network.
    Fack,
    /// By time, with tail loss probes and proportional rate reduction (RFC 8985, RFC 9937).
    Rack,
    /// By the order of transmission, without a recovery phase.
    Le,
    /// Halves once and goes on growing.
    Momentary,
}

impl Recovery {
    /// All of them.
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

    /// Its name in a stack.
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

/// Which congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// One segment per round trip, half at a loss.
    Reno,
    /// A cubic function of the time since the last loss (RFC 9438).
    Cubic,
    /// A model of the path, version 3 (draft-ietf-ccwg-bbr).
    Bbr,
    /// The same, version 1, as Linux has it.
    BbrOne,
    /// One of them: the capture does not tell which. No candidate goes by this name.
    BbrOfSomeVersion,
    /// One that halves at a loss and grows by a segment per round trip: Reno, or Vegas, Veno or Westwood where they
    /// do alike. No candidate goes by this name.
    Halving,
    /// Grows as Reno; a loss leaves what the measured rate fills.
    Westwood,
    /// A few segments in the queue.
    Vegas,
    /// The window never changes.
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

    /// What it is called.
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

    /// Whether this is a candidate's name that is of this family, or the name itself.
    #[must_use]
    pub const fn includes(self, candidate: Self) -> bool {
        match self {
            Self::Halving => matches!(candidate, Self::Reno | Self::Vegas | Self::Westwood),
            Self::BbrOfSomeVersion => matches!(candidate, Self::Bbr | Self::BbrOne),
            other => other as u8 == candidate as u8,
        }
    }

    /// Whether this names several that could not be told apart.
    #[must_use]
    pub const fn is_family(self) -> bool {
        matches!(self, Self::Halving | Self::BbrOfSomeVersion)
    }

    /// Its name in a stack. Of a family it is the commonest: whether the capture is as with it must be looked at.
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

/// A name that the sender might go by.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<N> {
    /// Which.
    pub name: N,
    /// How likely what was seen is with it, as a natural logarithm; only differences between
    /// candidates mean anything.
    pub score: f64,
    /// What speaks for it, a short sentence each, without full stops.
    pub evidence_for: Vec<String>,
    /// What speaks against it.
    pub evidence_against: Vec<String>,
}

/// What is said of one axis of a sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict<N> {
    /// Which it was; `None` if that cannot be told.
    pub name: Option<N>,
    /// Which comes nearest, if it fits: where it cannot be told from others, they fit as well.
    pub nearest: Option<N>,
    /// Why it is that one, or why it cannot be told; a sentence without its full stop.
    pub why: String,
    /// All candidates, the likeliest first.
    pub candidates: Vec<Candidate<N>>,
}

/// What growth in slow start counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Each ACK, whatever it covers.
    Acks,
    /// The bytes acknowledged (RFC 3465).
    Bytes,
}

/// What ended the first slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartEnd {
    /// A loss.
    Loss,
    /// It grew slower for some rounds before: HyStart++ (RFC 9406).
    Gradual,
    /// It stopped at once, before a loss: HyStart, or a threshold that was set.
    AtOnce,
    /// The window was given back without a loss: BBR's Drain, Vegas.
    Drained,
    /// It had not ended when the transfer did.
    NotEnded,
}

/// When segments left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// With the ACKs that made room for them.
    WithAcks,
    /// Between ACKs, by a clock.
    Paced,
}

/// The least timeout that fits what was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastTimeout {
    /// The shortest first timeout, counted from what last set the timer.
    pub shortest: Duration,
    /// SRTT then.
    pub srtt: Duration,
    /// Whose rule it fits.
    pub rule: TimeoutRule,
}

/// Whose rule for the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutRule {
    /// At least one second (RFC 6298 §2.4).
    OneSecond,
    /// SRTT and at least 200 ms (Linux).
    Linux,
    /// At least 200 ms in all, by ticks of 10 ms (ns-2), or another that is as short.
    Short,
    /// None of these.
    Other,
}

/// What of a dialect shows. `None` where nothing tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traits {
    /// Bytes that left before the first ACK of data.
    pub initial_bytes: Option<u64>,
    /// The same in full segments.
    pub initial_segments: Option<u32>,
    /// Whether the window was the bound of that, and not the application.
    pub initial_is_window: Option<InitialBound>,
    /// What growth counts.
    pub counting: Option<Counting>,
    /// What ended the first slow start.
    pub slow_start_end: Option<SlowStartEnd>,
    /// When segments left.
    pub timing: Option<Timing>,
    /// The least timeout.
    pub least_timeout: Option<LeastTimeout>,
    /// Tail loss probes seen.
    pub tail_loss_probes: u32,
    /// First timeouts seen (not those by backoff).
    pub timeouts: u32,
    /// A full segment, in bytes.
    pub segment_bytes: u32,
}

/// What bounded the first flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialBound {
    /// The initial window: the first ACK let more go.
    Window,
    /// The application, or nothing tells: the window was no less.
    AtLeast,
}

/// The stack and dialect that come nearest, to be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackGuess {
    /// `recovery/control`, as an experiment has it.
    pub stack: String,
    /// `rfc`, `linux` or `ns2`.
    pub dialect: &'static str,
}

/// Which sender it was.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderReport {
    /// Its loss recovery.
    pub recovery: Verdict<Recovery>,
    /// Its congestion control.
    pub control: Verdict<Control>,
    /// What of its dialect shows.
    pub traits: Traits,
    /// What to simulate it by: where several fit, the likeliest of them. `None` if nothing fits.
    pub stack: Option<StackGuess>,
}
