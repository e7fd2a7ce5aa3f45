//! Phases of a sender from an observer's point of view, by the same rule for every stack.
//!
//! A recovery begins with the first retransmission, or with a window reduction after a loss. The recovery ends when all
//! data that had been sent before it began is acknowledged (`recover` of RFC 6582 §3.2, RecoveryPoint of RFC 6675 §5).
//! A retransmission of data that was sent after this point extends the recovery. This rule may differ from the sender's
//! own state: Reno leaves fast recovery at the first new ACK, and Momentary has no such state. The common rule makes
//! the recoveries of all stacks comparable.

use std::fmt;

use dupack_tcp::facts::{LossRule, SendReason};
use dupack_tcp::window::WindowCause;

use super::{Event, Flow, Growth, Repeated, Sent, What};

/// Phase of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Congestion avoidance, without losses to repair.
    #[default]
    Avoidance,
    /// Sending by a model of the path (BBR), without losses to repair.
    Model,
    /// Slow start, without losses to repair: the window is below the slow-start threshold.
    SlowStart,
    /// Recovery: losses are being repaired.
    Recovery,
    /// The retransmission timer expired, and the data that was outstanding then is not yet acknowledged.
    Timeout,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avoidance => "congestion avoidance",
            Self::Model => "by model",
            Self::SlowStart => "slow start",
            Self::Recovery => "recovery",
            Self::Timeout => "timeout",
        })
    }
}

/// Tracker of a flow's phases, which processes one event at a time.
#[derive(Clone, Debug)]
pub struct Phases {
    flow: Flow,
    /// Offset in the stream up to which all data is acknowledged.
    una: u64,
    /// Offset of the end of the data sent.
    sent: u64,
    repair: Option<Repair>,
    calm: Phase,
}

/// Recovery in progress.
#[derive(Clone, Copy, Debug)]
struct Repair {
    phase: Phase,
    /// Offset whose acknowledgment ends the recovery.
    point: u64,
}

impl Phases {
    /// Creates the tracker of a flow that has not sent anything.
    #[must_use]
    pub fn new(flow: &Flow) -> Self {
        Self {
            flow: *flow,
            una: 0,
            sent: 0,
            repair: None,
            calm: Phase::default(),
        }
    }

    /// Returns the phase after all events so far.
    #[must_use]
    pub fn now(&self) -> Phase {
        self.repair.map_or(self.calm, |repair| repair.phase)
    }

    /// Processes the next event.
    pub fn event(&mut self, event: &Event) {
        match &event.what {
            What::Sent(sent) => self.sent(sent),
            What::Window(change) => match change.cause {
                WindowCause::Timeout => self.begin(Phase::Timeout),
                WindowCause::Congestion | WindowCause::Wireless => self.begin(Phase::Recovery),
                WindowCause::Undo => self.repair = None,
                _ => {}
            },
            What::AckArrived { ack, .. } => {
                let offset = ack.ack.offset(self.flow.sender.isn, self.una);
                self.una = self.una.max(offset.unwrap_or_default());
                self.repair = self.repair.filter(|repair| self.una < repair.point);
            }
            What::State(state) => {
                self.calm = match state.growth {
                    Growth::SlowStart => Phase::SlowStart,
                    Growth::Avoidance => Phase::Avoidance,
                    Growth::Model => Phase::Model,
                };
            }
            _ => {}
        }
    }

    fn sent(&mut self, sent: &Sent) {
        let start = sent.number * u64::from(self.flow.sender.smss);
        let end = start + u64::from(sent.segment.len);
        if sent.repeated != Repeated::First {
            match sent.why {
                SendReason::Retransmit(rule) if rule == LossRule::TIMEOUT => {
                    self.begin(Phase::Timeout);
                }
                SendReason::Retransmit(_) | SendReason::HoleFill | SendReason::Rescue => {
                    self.begin(Phase::Recovery);
                }
                _ => {}
            }
            if let Some(repair) = &mut self.repair
                && end > repair.point
            {
                repair.point = self.sent;
            }
        }
        self.sent = self.sent.max(end);
    }

    /// Begins a recovery if data is outstanding. A recovery in progress continues, except that a timeout ends a
    /// recovery that a loss began.
    fn begin(&mut self, phase: Phase) {
        match self.repair {
            Some(repair) if phase == Phase::Recovery || repair.phase == phase => {}
            _ if self.sent > self.una => {
                let point = self.sent;
                self.repair = Some(Repair { phase, point });
            }
            _ => {}
        }
    }
}
