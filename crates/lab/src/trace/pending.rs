//! Events that wait until it is known what became of the segments sent.
//!
//! A trace says beside each transmission whether it arrived, and a packet's loss is known only
//! later. So events wait, in their order, for the oldest transmission that is still under way:
//! as many as happen in about a one-way delay, however long the run is.

use std::collections::{BTreeSet, VecDeque};

use super::{Event, Fate, What};

/// The events that wait.
#[derive(Debug, Default)]
pub(super) struct Pending {
    events: VecDeque<Event>,
    /// How many events have left: the place of the first that waits.
    left: u64,
    /// The transmissions under way: place in the order of sending, and among the events. Window
    /// probes all have the same place in the order of sending.
    under_way: BTreeSet<(u64, u64)>,
}

impl Pending {
    /// Takes an event in. One that tells of a segment's fate settles that of its transmission;
    /// where links make copies of their own, the first news of any of them does.
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

    /// The next event, if all is known of it.
    pub fn pop_settled(&mut self) -> Option<Event> {
        let waits = |event: &Event| matches!(event.what, What::Sent(s) if s.fate == Fate::Open);
        if self.events.front().is_none_or(waits) {
            return None;
        }
        self.pop()
    }

    /// The next event, whatever is known of it: for the end of a run.
    pub fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.left += 1;
        Some(event)
    }
}
