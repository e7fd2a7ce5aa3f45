//! Identification of the sender: its recovery, congestion control and dialect, with the evidence for and against each.
//!
//! ```text
//! departures, ACKs ─► flight: data in the network
//!                      └─► rounds: maximum of each round trip ─► opening     first flight, slow start
//!                                                                reductions  window after losses
//!                                                                growth      window between losses
//!                                                                probing     dips without a loss
//!                                                                cycle       a rate that rises and falls
//!                      repairs, timer, pace: retransmissions, timeouts and timing of departures
//! ```
//!
//! Observations become clues (`clue.rs`), which `control.rs` and `recovery.rs` weigh. A sender that matches no known
//! one is reported as unknown. Each event takes O(1) time. A stream takes less than 16 kB of memory, and none before
//! its first segment.

mod clue;
mod control;
mod cycle;
mod flight;
mod growth;
mod opening;
mod pace;
mod probing;
mod recovery;
mod reductions;
mod repairs;
pub mod report;
mod rounds;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod timer;

pub use report::{
    Candidate, Control, Counting, Identification, InitialBound, LeastTimeout, Recovery,
    SenderReport, SlowStartEnd, StackGuess, TimeoutRule, Timing, Traits,
};

use dupack_tcp::time::Instant;

use self::cycle::Cycle;
use self::flight::{Flight, Sack};
use self::growth::Growth;
use self::opening::Opening;
use self::pace::Pace;
use self::probing::Probing;
use self::reductions::{Found, Reductions};
use self::repairs::Repairs;
use self::rounds::Rounds;
use self::timer::Timer;
use crate::read::moment::{Analysis, Arrival, Departure, Explained, Stage};

/// Visibility of the beginning of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beginning {
    /// The beginning was captured.
    #[default]
    Seen,
    /// The capture begins after the handshake: the first flight and slow start are unknown.
    Missed,
}

/// Analysis of the sender of one stream.
#[derive(Clone, Debug, Default)]
pub struct SenderAnalysis {
    beginning: Beginning,
    segment_size: u32,
    seen: Option<Box<Seen>>,
}

/// Observations of a sender.
#[derive(Clone, Debug)]
struct Seen {
    begin: Instant,
    end: Instant,
    flight: Flight,
    rounds: Rounds,
    opening: Opening,
    reductions: Reductions,
    growth: Growth,
    probing: Probing,
    cycle: Cycle,
    repairs: Repairs,
    timer: Timer,
    pace: Pace,
}

impl SenderAnalysis {
    /// Creates an analysis without observations. `segment_size` is the announced size of a full segment in bytes.
    #[must_use]
    pub const fn new(beginning: Beginning, segment_size: u32) -> Self {
        Self {
            beginning,
            segment_size,
            seen: None,
        }
    }

    /// Returns the current identification.
    #[must_use]
    pub fn report(&self) -> SenderReport {
        let fresh;
        let seen = match &self.seen {
            Some(seen) => seen.as_ref(),
            None => {
                fresh = Seen::new(Instant::ZERO, self.segment_size);
                &fresh
            }
        };
        let control = control::verdict(seen);
        let recovery = recovery::verdict(seen, &control);
        let traits = seen.traits(self.beginning);
        let stack = stack(&recovery, &control, &traits);
        SenderReport {
            recovery,
            control,
            traits,
            stack,
        }
    }
}

impl Analysis for SenderAnalysis {
    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        let seen = self
            .seen
            .get_or_insert_with(|| Box::new(Seen::new(departure.at, self.segment_size)));
        seen.departed(departure, explained);
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>) {
        if let Some(seen) = &mut self.seen {
            seen.arrived(arrival, explained);
        }
    }
}

impl Seen {
    fn new(at: Instant, segment_size: u32) -> Self {
        Self {
            begin: at,
            end: at,
            flight: Flight::new(segment_size),
            rounds: Rounds::new(at),
            opening: Opening::new(),
            reductions: Reductions::new(),
            growth: Growth::new(),
            probing: Probing::new(),
            cycle: Cycle::default(),
            repairs: Repairs::default(),
            timer: Timer::default(),
            pace: Pace::default(),
        }
    }

    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        self.end = self.end.max(departure.at);
        let before = self.rounds.current().most;
        let nxt_before = self.flight.nxt();
        self.flight.departed(departure, explained);
        let in_flight = self.flight.segments(&departure.view);
        self.opening.departed(departure, self.flight.smss());
        self.pace.departed(departure, explained, self.flight.smss());
        self.timer.departed(&departure.view, explained);
        self.repairs
            .departed(departure, explained, (&self.flight, before, nxt_before));
        let base = self.rounds.base();
        let found =
            self.reductions
                .departed(explained, (self.rounds.current(), base), &self.flight);
        if found == Found::Loss {
            self.opening.lost();
            self.growth.lost();
        }
        if explained.stage == Stage::Loss {
            self.probing.spoil();
        }
        let number = self.rounds.current().number;
        self.cycle
            .departed(departure.at, departure.sent.len(), (number, base));
        if explained.retransmission.is_some() {
            self.probing.lost(number);
        }
        let round_trip = departure
            .view
            .rtt
            .srtt()
            .map_or(0.0, |srtt| srtt.as_secs_f64());
        self.probing
            .departed(departure.at, in_flight, (number, round_trip));
        self.rounds
            .departed(departure, explained, (&self.flight, in_flight));
        if self.rounds.current().marks.is_bounded() {
            // The flight is low because the application has no data to send, or the receiver has no buffer space.
            self.probing.spoil();
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>) {
        self.end = self.end.max(arrival.at);
        self.flight.arrived(arrival);
        self.opening.arrived(arrival);
        self.pace.arrived(arrival, self.flight.smss());
        self.timer.arrived(arrival, explained);
        self.repairs.arrived(arrival, explained, &self.flight);
        let Some(round) = self.rounds.arrived(arrival, explained, &self.flight) else {
            return;
        };
        self.opening.round(&round);
        self.probing.round(&round);
        match self
            .reductions
            .round(&round, explained.stage, self.flight.sack())
        {
            Found::Measured(reduction) => {
                self.repairs.measured(reduction.factor());
                self.growth.reduced(reduction.before, &round);
            }
            Found::Nothing | Found::Loss => self.growth.round(&round, self.rounds.base()),
        }
    }

    fn seconds(&self) -> f64 {
        self.end.since(self.begin).as_secs_f64()
    }

    /// Returns the median flight after a loss, as a fraction of the window and in segments, and the number of
    /// measurements; `None` if the connection uses SACK.
    fn restarts_from_one(&self) -> Option<(f32, f32, u32)> {
        if self.flight.sack() == Sack::Seen {
            return None;
        }
        let kept = self.reductions.kept();
        let (share, segments) = control::middle_first(kept)?;
        let times = u32::try_from(kept.len()).unwrap_or(u32::MAX);
        Some((share, segments, times))
    }

    fn traits(&self, beginning: Beginning) -> Traits {
        let smss = self.flight.smss();
        let is_seen = beginning == Beginning::Seen && self.opening.initial_bytes() > 0;
        let opening = is_seen.then_some(&self.opening);
        let segments = |bytes: u64| u32::try_from(bytes.div_ceil(smss)).unwrap_or(u32::MAX);
        Traits {
            initial_bytes: opening.map(Opening::initial_bytes),
            initial_segments: opening.map(|o| segments(o.initial_bytes())),
            initial_is_window: opening.and_then(Opening::initial_bound),
            counting: opening.and_then(Opening::counting),
            slow_start_end: opening.and_then(Opening::end),
            timing: self.pace.timing(),
            least_timeout: self.timer.least(),
            tail_loss_probes: self.timer.probes(),
            timeouts: self.timer.timeouts(),
            segment_bytes: u32::try_from(smss).unwrap_or(u32::MAX),
        }
    }
}

/// Maximum initial window, in segments, of RFC 3390 and RFC 2581. Only the dialect of ns-2 still uses it.
const SMALL_INITIAL: u32 = 4;

/// Returns a stack for a simulation of the sender. If the recovery is unknown, the most likely recovery is used.
fn stack(
    recovery: &Identification<Recovery>,
    control: &Identification<Control>,
    traits: &Traits,
) -> Option<StackGuess> {
    let of_family = |nearest: &Control| control.name.is_none_or(|name| name.includes(*nearest));
    let control = control.nearest.filter(of_family).or(control.name)?;
    let control = control.in_stack();
    let recovery = recovery
        .name
        .or_else(|| recovery.candidates.first().map(|c| c.name))?;
    let is_small = traits.initial_is_window == Some(InitialBound::Window)
        && traits.initial_segments.is_some_and(|n| n <= SMALL_INITIAL);
    let dialect = match traits.least_timeout.map(|t| t.rule) {
        Some(TimeoutRule::Linux) => "linux",
        Some(TimeoutRule::OneSecond) => "rfc",
        Some(TimeoutRule::Short) if is_small || traits.initial_segments.is_none() => "ns2",
        Some(TimeoutRule::Other) | None if is_small => "ns2",
        Some(TimeoutRule::Other | TimeoutRule::Short) | None => "linux",
    };
    Some(StackGuess {
        stack: format!("{recovery}/{control}"),
        dialect,
    })
}
