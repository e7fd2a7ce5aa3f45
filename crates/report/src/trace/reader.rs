//! Conversion of the events of a trace into the data of a figure.

use dupack_lab::trace::phase::{Phase, Phases};
use dupack_lab::trace::{Event, Flow, Repeated, Sent, State, What};
use dupack_tcp::facts::SendReason;
use dupack_tcp::segment::Ack;
use dupack_tcp::time::Instant;

/// An item of a figure. Packets and windows are in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub at: Instant,
    pub what: Shown,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Shown {
    Sent(f64),
    Again(SendReason, f64),
    Dropped(f64),
    Acked(f64),
    Sacked(f64, f64),
    /// The number of a duplicate ACK in its series, and the packet that it asks for.
    Duplicates(u32, f64),
    State(Windows),
}

/// A sender's state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub cwnd: f64,
    /// Textbook congestion window, which is inflated during fast recovery.
    pub inflated: f64,
    pub ssthresh: f64,
    pub in_flight: f64,
    pub phase: Phase,
}

/// Converts events into the items of a figure.
#[derive(Debug)]
pub(super) struct Reader {
    flow: Flow,
    phases: Phases,
    /// Highest cumulative acknowledgment, as an offset in bytes.
    una: u64,
    /// Number of duplicate ACKs in the current series.
    dup_acks: u32,
}

impl Reader {
    pub fn new(flow: &Flow) -> Self {
        Self {
            flow: *flow,
            phases: Phases::new(flow),
            una: 0,
            dup_acks: 0,
        }
    }

    pub fn read(&mut self, event: &Event, mut show: impl FnMut(Entry)) {
        self.phases.event(event);
        let at = event.at;
        let mut show = |what| show(Entry { at, what });
        match &event.what {
            What::State(state) => self.state(state, show),
            What::Sent(Sent {
                number,
                why,
                repeated,
                ..
            }) => show(match repeated {
                Repeated::First => Shown::Sent(*number as f64),
                Repeated::Needed | Repeated::Needless => Shown::Again(*why, *number as f64),
            }),
            What::DataDropped { number, .. } => show(Shown::Dropped(*number as f64)),
            What::AckArrived { ack, .. } => self.ack(ack, show),
            _ => {}
        }
    }

    fn state(&mut self, state: &State, mut show: impl FnMut(Shown)) {
        let smss = self.flow.segment_bytes();
        if state.dup_acks > self.dup_acks {
            show(Shown::Duplicates(state.dup_acks, self.una as f64 / smss));
        }
        self.dup_acks = state.dup_acks;
        show(Shown::State(Windows {
            cwnd: state.cwnd / smss,
            inflated: (state.cwnd + state.inflation as f64) / smss,
            ssthresh: state.ssthresh / smss,
            in_flight: state.in_flight as f64 / smss,
            phase: self.phases.now(),
        }));
    }

    fn ack(&mut self, ack: &Ack, mut show: impl FnMut(Shown)) {
        let (isn, smss) = (self.flow.sender.isn, self.flow.segment_bytes());
        let Some(offset) = ack.ack.offset(isn, self.una) else {
            return;
        };
        self.una = self.una.max(offset);
        show(Shown::Acked(offset as f64 / smss));
        for block in ack.sacks.as_slice() {
            let first = block.start.offset(isn, offset);
            let end = block.end.offset(isn, offset);
            if let Some((first, end)) = first.zip(end) {
                show(Shown::Sacked(first as f64 / smss, end as f64 / smss));
            }
        }
    }
}
