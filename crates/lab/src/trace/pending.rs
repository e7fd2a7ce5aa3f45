//! Queue of events that wait until the fate of earlier segments is known.
//!
//! A trace states the fate of each transmission in the same row, but a loss is known only later. Therefore, events wait
//! in order until the fate of the oldest transmission in transit is known. The queue holds the events of about one
//! one-way delay, regardless of the length of the run.

use std::collections::{BTreeSet, VecDeque};

use super::{Event, Fate, What};

/// Waiting events.
#[derive(Debug, Default)]
pub(super) struct Pending {
    events: VecDeque<Event>,
    /// Number of events that have left the queue, which is the index of the first waiting event.
    left: u64,
    /// Transmissions in transit: number of the transmission, and index of the event. All window probes have the same
    /// transmission number.
    under_way: BTreeSet<(u64, u64)>,
}

impl Pending {
    /// Appends an event. If the event reports the fate of a segment, the transmission gets this fate. If a link
    /// duplicates packets, the first report of any copy counts.
    pub fn push(&mut self, event: Event) {
        match event.what {
            What::Sent(sent) => {
                let place = self.left + self.events.len() as u64;
                self.under_way.insert((sent.order, place));
            }
            What::DataArrived { order, .. } => self.settle(order, Fate::Arrived),
            What::DataDropped { order, cause, .. } => self.settle(order, Fate::Dropped(cause)),
            _ => {}
        }
        self.events.push_back(event);
    }

    fn settle(&mut self, order: u64, fate: Fate) {
        let first = self.under_way.range((order, 0)..=(order, u64::MAX)).next();
        let Some(&(order, place)) = first else {
            return;
        };
        self.under_way.remove(&(order, place));
        let event = self.events.get_mut((place - self.left) as usize);
        if let Some(What::Sent(sent)) = event.map(|event| &mut event.what) {
            sent.fate = fate;
        }
    }

    /// Removes the next event, unless it is a transmission with an unknown fate.
    pub fn pop_settled(&mut self) -> Option<Event> {
        let waits = |event: &Event| matches!(event.what, What::Sent(s) if s.fate == Fate::Open);
        if self.events.front().is_none_or(waits) {
            return None;
        }
        self.pop()
    }

    /// Removes the next event, even if it is incomplete. Used at the end of a run.
    pub fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.left += 1;
        Some(event)
    }
}
