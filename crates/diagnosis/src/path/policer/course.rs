//! What left when, and what of it was lost.

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

use super::LOSSES_MIN;

/// So many transmissions are followed, of 8 bytes each (ours: 24 MB of full packets, more than shows a rate); and a
/// stream whose first so many lost too few is followed no more.
pub(super) const EVENTS: usize = 16_384;

/// Times are counted in these, from the first transmission on (ours): they suffice for four and a half minutes, and for rates of
/// several Gbit/s. What comes later is not followed.
const TICK_NS: u64 = 64;

/// So many transmissions are remembered of which it may turn out that they were lost (ours: more than are outstanding
/// at the rates that policers have).
pub(super) const RECENT: usize = 1024;

/// What left when, and what of it was lost; at the receiver's end, what came.
#[derive(Clone, Debug, Default)]
pub(in crate::path) struct Course {
    pub(super) events: Vec<Event>,
    /// The time of the first of them.
    begin: Option<Instant>,
    /// Their place, and what of the stream they begin with.
    pub(super) recent: VecDeque<Recent>,
    /// Losses that are marked: where in the stream, and where in `events`.
    pub(super) marked: VecDeque<(u64, usize, Mark)>,
    pub(super) losses: usize,
    /// It has as many transmissions as are followed.
    is_over: bool,
}

/// A segment that left, or came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// When, in ticks of [`TICK_NS`] since the first.
    ticks: u32,
    /// On the wire.
    bytes: u16,
    /// It was lost itself.
    pub(super) is_lost: bool,
    /// So many were lost after it that are not seen.
    pub(super) lost_after: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Recent {
    start: u64,
    event: usize,
    /// It had not been sent before.
    is_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Itself,
    After,
}

impl Course {
    /// What begins at `start` and has so many bytes on the wire left at `at`, or came.
    pub(in crate::path) fn sent(&mut self, at: Instant, start: u64, bytes: u64, is_new: bool) {
        if self.events.len() >= EVENTS && self.losses < LOSSES_MIN {
            *self = Self {
                is_over: true,
                ..Self::default()
            };
        }
        if self.is_over || self.events.len() >= EVENTS {
            self.is_over = true;
            return;
        }
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        let begin = *self.begin.get_or_insert(at);
        let Ok(ticks) = u32::try_from(at.since(begin).as_nanos() / TICK_NS) else {
            self.is_over = true;
            return;
        };
        self.recent.push_back(Recent {
            start,
            event: self.events.len(),
            is_new,
        });
        self.events.push(Event {
            ticks,
            bytes: u16::try_from(bytes).unwrap_or(u16::MAX),
            is_lost: false,
            lost_after: 0,
        });
    }

    /// What begins at `start` was lost when it was last sent.
    pub(in crate::path) fn lost(&mut self, start: u64) {
        if self.is_over {
            return;
        }
        let mut latest = self.recent.iter().rev();
        let itself = latest.find(|sent| sent.start == start);
        let (place, mark) = match itself {
            Some(itself) => (Some(itself.event), Mark::Itself),
            None => (self.place_of_unseen(start), Mark::After),
        };
        let Some(place) = place else {
            return;
        };
        let Some(event) = self.events.get_mut(place) else {
            return;
        };
        match mark {
            Mark::Itself if event.is_lost => return,
            Mark::Itself => event.is_lost = true,
            Mark::After => event.lost_after = event.lost_after.saturating_add(1),
        }
        self.losses += 1;
        if self.marked.len() >= RECENT {
            self.marked.pop_front();
        }
        self.marked.push_back((start, place, mark));
    }

    /// After which event a segment was lost that is not seen: the last before the next of the stream came, as repairs may have
    /// left between the one before it and this; without a next, the one before it.
    fn place_of_unseen(&self, start: u64) -> Option<usize> {
        let mut new = self.recent.iter().filter(|came| came.is_new);
        let next = new.clone().find(|came| came.start > start);
        let before_next = next.and_then(|next| next.event.checked_sub(1));
        before_next.or_else(|| {
            let last = new.rfind(|came| came.start < start)?;
            Some(last.event)
        })
    }

    /// What lies between these offsets had arrived: it was not lost the last time.
    pub(in crate::path) fn had_arrived(&mut self, start: u64, end: u64) {
        let within = |marked: &(u64, usize, Mark)| (start..end).contains(&marked.0);
        let Some(place) = self.marked.iter().rposition(within) else {
            return;
        };
        let marked = self.marked.remove(place);
        let event = marked.and_then(|(_, place, mark)| Some((self.events.get_mut(place)?, mark)));
        if let Some((event, mark)) = event {
            match mark {
                Mark::Itself => event.is_lost = false,
                Mark::After => event.lost_after = event.lost_after.saturating_sub(1),
            }
            self.losses = self.losses.saturating_sub(1);
        }
    }
}

impl Event {
    /// Seconds since the first.
    pub(super) fn at_s(&self) -> f64 {
        f64::from(self.ticks) * (TICK_NS as f64 / 1e9)
    }

    pub(super) fn bytes(&self) -> f64 {
        f64::from(self.bytes)
    }

    pub(super) const fn passed(&self) -> u64 {
        if self.is_lost { 0 } else { self.bytes as u64 }
    }

    pub(super) fn losses(&self) -> usize {
        usize::from(self.is_lost) + usize::from(self.lost_after)
    }
}
