//! Receiving application at run time: schedules its reads and the receiver's reneging.

use dupack_tcp::Receiver;
use dupack_tcp::receiver::Reading;
use dupack_tcp::time::{Duration, Instant};

use crate::flow::{Reader, Reneging};
use crate::random::Stream;

/// Receiving application of one flow; sans-I/O.
#[derive(Clone, Debug)]
pub(crate) struct ReaderState {
    reader: Reader,
    reneging: Reneging,
    /// `None` before the run begins.
    stream: Option<Stream>,
    phase: Phase,
    next_read: Option<Instant>,
    next_renege: Option<Instant>,
}

/// Phase of a pausing reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Reading,
    Pausing,
}

/// Minimum interval between two reads and between two renege events, so that simulated time always advances.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);

impl Reader {
    /// Returns the mode that the receiver needs for this application.
    pub(crate) const fn reading(self) -> Reading {
        match self {
            Self::AtOnce => Reading::AtOnce,
            Self::Periodic { .. } | Self::Pausing { .. } => Reading::OnDemand,
        }
    }
}

impl ReaderState {
    /// Creates the application. Returns `None` if the application reads at once and the receiver never reneges.
    pub(crate) fn new(reader: Reader, reneging: Reneging, start: Instant) -> Option<Self> {
        if reader == Reader::AtOnce && reneging == Reneging::Never {
            return None;
        }
        Some(Self {
            reader,
            reneging,
            stream: None,
            phase: Phase::Reading,
            next_read: match reader {
                Reader::AtOnce => None,
                Reader::Periodic { every, .. } => Some(start + every.max(SHORTEST_INTERVAL)),
                Reader::Pausing { reading, .. } => Some(start + reading.max(SHORTEST_INTERVAL)),
            },
            next_renege: None,
        })
    }

    /// Begins a run, with random numbers from `stream`.
    pub(crate) fn begin(&mut self, start: Instant, stream: Stream) {
        self.stream = Some(stream);
        self.next_renege = self.plan_renege(start);
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match (self.next_read, self.next_renege) {
            (Some(read), Some(renege)) => Some(read.min(renege)),
            (read, renege) => read.or(renege),
        }
    }

    /// Reads all available data if a pausing reader is in its reading phase. Called when data has arrived.
    pub(crate) fn data_arrived(&self, receiver: &mut Receiver) {
        if matches!(self.reader, Reader::Pausing { .. }) && self.phase == Phase::Reading {
            receiver.read(u64::MAX);
        }
    }

    /// Handles everything that is due at `now`.
    pub(crate) fn handle_timeout(&mut self, now: Instant, receiver: &mut Receiver) {
        if self.next_renege.is_some_and(|at| at <= now) {
            receiver.renege();
            self.next_renege = self.plan_renege(now);
        }
        if self.next_read.is_none_or(|at| at > now) {
            return;
        }
        let wait = match (self.reader, self.phase) {
            (Reader::AtOnce, _) => {
                self.next_read = None;
                return;
            }
            (Reader::Periodic { bytes, every }, _) => {
                receiver.read(bytes);
                every
            }
            (Reader::Pausing { pause, .. }, Phase::Reading) => {
                self.phase = Phase::Pausing;
                pause
            }
            (Reader::Pausing { reading, .. }, Phase::Pausing) => {
                self.phase = Phase::Reading;
                receiver.read(u64::MAX);
                reading
            }
        };
        self.next_read = Some(now + wait.max(SHORTEST_INTERVAL));
    }

    fn plan_renege(&mut self, now: Instant) -> Option<Instant> {
        match self.reneging {
            Reneging::Never => None,
            Reneging::Random { mean_interval } => {
                let wait = self.stream.as_mut()?.exponential(mean_interval);
                Some(now + wait.max(SHORTEST_INTERVAL))
            }
        }
    }
}
