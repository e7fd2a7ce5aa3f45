//! What a sender is about, as one can tell by watching it: the same rule for every stack.
//!
//! A repair begins with the first retransmission, or with a reduction of the window for a loss, and
//! lasts until everything is acknowledged that had been sent by then (the `recover` of RFC 6582
//! §3.2, the RecoveryPoint of RFC 6675 §5). Whoever sends a packet again that was sent after that
//! point has a repair that lasts longer. It is not what the sender calls its own state: Reno leaves
//! fast recovery at the first new ACK, and Momentary has no such state at all. By one rule the
//! repairs of all stacks can be compared.

use std::fmt;

use dupack_tcp::facts::{LossRule, SendReason};
use dupack_tcp::window::WindowCause;

use super::{Event, Flow, Growth, Repeated, Sent, What};

/// What a sender is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is being repaired, and the window grows as congestion avoidance has it.
    #[default]
    Avoidance,
    /// Nothing is being repaired, and a model of the path says how much is sent (BBR).
    Model,
    /// Nothing is being repaired, and the window is below the slow start threshold.
    SlowStart,
    /// Losses are being repaired.
    Recovery,
    /// The retransmission timer expired, and what was outstanding then is not yet acknowledged.
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

/// Follows the phases of a flow, event by event.
#[derive(Clone, Debug)]
pub struct Phases {
    flow: Flow,
    /// Offset in the stream up to which everything is acknowledged.
    una: u64,
    /// Offset of the end of what was sent.
    sent: u64,
    repair: Option<Repair>,
    calm: Phase,
}

/// Losses that are being repaired.
#[derive(Clone, Copy, Debug)]
struct Repair {
    phase: Phase,
    /// Over when all up to this offset is acknowledged.
    point: u64,
}

impl Phases {
    /// Of a flow of which nothing is sent yet.
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

    /// The phase after all events so far.
    #[must_use]
    pub fn now(&self) -> Phase {
        self.repair.map_or(self.calm, |repair| repair.phase)
    }

    /// Takes the next event.
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

    /// A repair begins, unless there is one; a timeout begins one in any case.
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
