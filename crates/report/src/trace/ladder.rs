//! The ladder of a trace: the segments and ACKs between sender and receiver, with their times.

use std::collections::HashMap;

use dupack_lab::trace::phase::{Phase, Phases};
use dupack_lab::trace::stream::Onlooker;
use dupack_lab::trace::{Event, Flow, Repeated, What};
use dupack_tcp::segment::Ack;
use dupack_tcp::time::{Duration, Instant};

use super::Span;
use crate::figure::{LadderColumn, Rung, RungEnd, RungKind};

/// Maximum number of rungs that are kept. More rungs do not fit into a figure.
const MOST_RUNGS: usize = 4096;

/// Gatherer of the rungs of a part of a trace while the trace is written, in bounded memory.
#[derive(Debug)]
pub struct Rungs {
    span: Span,
    gathering: Option<Gathering>,
}

#[derive(Debug)]
struct Gathering {
    flow: Flow,
    rungs: Vec<Rung>,
    /// Send time of the first rung that exceeds the limit.
    full: Option<Instant>,
    /// Indices of rungs in flight: of segments by their order, and of ACKs by their number.
    segments: HashMap<u64, usize>,
    acks: HashMap<u64, usize>,
    /// Index of the last ACK that reached the sender.
    last_ack: Option<usize>,
    una: u64,
    dup_acks: u32,
    phases: Phases,
    changes: Vec<(f64, Phase)>,
}

impl Rungs {
    /// Returns a gatherer for this part of the trace.
    #[must_use]
    pub const fn new(span: Span) -> Self {
        Self {
            span,
            gathering: None,
        }
    }

    /// Returns the column of a ladder with the name `name`.
    #[must_use]
    pub fn finish(self, name: &str) -> LadderColumn {
        let (rungs, full, phases) = self
            .gathering
            .map(|g| (g.rungs, g.full, g.changes))
            .unwrap_or_default();
        LadderColumn {
            name: name.to_owned(),
            rungs,
            full_at: full.map(Instant::as_secs_f64),
            phases,
        }
    }
}

impl Onlooker for Rungs {
    fn begin(&mut self, flow: &Flow, _: Option<Duration>) {
        self.gathering = Some(Gathering::new(flow));
    }

    fn event(&mut self, event: &Event) {
        if let Some(gathering) = &mut self.gathering {
            gathering.event(event, self.span);
        }
    }
}

impl Gathering {
    fn new(flow: &Flow) -> Self {
        Self {
            flow: *flow,
            rungs: Vec::new(),
            full: None,
            segments: HashMap::new(),
            acks: HashMap::new(),
            last_ack: None,
            una: 0,
            dup_acks: 0,
            phases: Phases::new(flow),
            changes: Vec::new(),
        }
    }

    fn event(&mut self, event: &Event, span: Span) {
        let at = event.at;
        self.phases.event(event);
        match &event.what {
            What::Sent(sent) => {
                let kind = match sent.repeated {
                    Repeated::First => RungKind::Segment,
                    Repeated::Needed | Repeated::Needless => RungKind::Again,
                };
                if let Some(rung) = self.add(at, span, kind, sent.number as f64) {
                    self.segments.insert(sent.order, rung);
                }
            }
            What::DataArrived { order, .. } => {
                let rung = self.segments.remove(order);
                self.end(rung, RungEnd::Arrived(at.as_secs_f64()));
            }
            What::DataDropped { order, .. } => {
                let rung = self.segments.remove(order);
                self.end(rung, RungEnd::Lost(at.as_secs_f64()));
            }
            What::AckSent { number, ack } => {
                let packet = self.packet(ack);
                if let Some(rung) = self.add(at, span, RungKind::Ack, packet) {
                    self.acks.insert(*number, rung);
                }
            }
            What::AckArrived { number, .. } => {
                self.last_ack = self.acks.remove(number);
                self.end(self.last_ack, RungEnd::Arrived(at.as_secs_f64()));
            }
            What::AckDropped { number, .. } => {
                let rung = self.acks.remove(number);
                self.end(rung, RungEnd::Lost(at.as_secs_f64()));
            }
            What::State(state) => {
                self.state(state.dup_acks);
                self.note_phase(at, span);
            }
            _ => {}
        }
    }

    /// Adds a rung if its time is in the part shown and the limit is not reached. Returns the index of the rung.
    fn add(&mut self, at: Instant, span: Span, kind: RungKind, packet: f64) -> Option<usize> {
        if at < span.from || at > span.until || self.full.is_some() {
            return None;
        }
        if self.rungs.len() >= MOST_RUNGS {
            self.full = Some(at);
            return None;
        }
        self.rungs.push(Rung {
            kind,
            packet,
            sent: at.as_secs_f64(),
            end: RungEnd::UnderWay,
        });
        Some(self.rungs.len() - 1)
    }

    fn end(&mut self, rung: Option<usize>, end: RungEnd) {
        if let Some(rung) = rung.and_then(|rung| self.rungs.get_mut(rung)) {
            rung.end = end;
        }
    }

    /// Returns the packet that an ACK asks for.
    fn packet(&mut self, ack: &Ack) -> f64 {
        let offset = ack.ack.offset(self.flow.sender.isn, self.una);
        self.una = self.una.max(offset.unwrap_or_default());
        offset.unwrap_or(self.una) as f64 / self.flow.segment_bytes()
    }

    /// Marks the last ACK as a duplicate if the sender's count of duplicates has increased.
    fn state(&mut self, dup_acks: u32) {
        let last = self.last_ack.take();
        if dup_acks > self.dup_acks
            && let Some(rung) = last.and_then(|rung| self.rungs.get_mut(rung))
        {
            rung.kind = RungKind::Duplicate(dup_acks);
        }
        self.dup_acks = dup_acks;
    }

    /// Records a change of the phase. Of the phases before the part, only the last is kept.
    fn note_phase(&mut self, at: Instant, span: Span) {
        let now = self.phases.now();
        let is_new = self.changes.last().is_none_or(|last| last.1 != now);
        if !is_new || at > span.until || self.full.is_some() {
            return;
        }
        if at <= span.from {
            self.changes.clear();
        }
        self.changes.push((at.as_secs_f64(), now));
    }
}
