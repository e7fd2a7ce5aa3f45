//! What left when, and what of it was lost.

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

use super::LOSSES_MIN;
use crate::grow;
use crate::read::packet::is_after;

/// So many steps are kept, of 4 bytes each (ours: 24 MB of full packets, more than shows a rate); and a stream whose first so
/// many lost too few is followed no more.
pub(super) const STEPS: usize = 16_384;

/// Times are counted in these (ours): a full packet takes as long at 12 Gbit/s.
const TICK_NS: u64 = 1024;

/// Ticks of a step of time.
const LONG: u64 = 1 << u16::BITS;

/// So many transmissions are remembered of which it may turn out that they were lost (ours: more than are outstanding
/// at the rates that policers have).
pub(super) const RECENT: usize = 1024;

/// What left when, and what of it was lost; at the receiver's end, what came.
#[derive(Clone, Debug, Default)]
pub(in crate::path) struct Course {
    pub(super) steps: Vec<Step>,
    /// What was lost, by the place in `steps`.
    lost: Vec<(u16, Fate)>,
    /// The time of the first step, and that of the last in ticks since then.
    begin: Option<Instant>,
    ticks: u64,
    /// The last transmissions.
    pub(super) recent: VecDeque<Recent>,
    /// Losses that are marked: where in the stream, and where in `steps`.
    pub(super) marked: VecDeque<(u64, u16, Mark)>,
    pub(super) losses: usize,
    /// It has as many steps as are kept.
    is_over: bool,
}

/// A segment that left, or came; or a long time in which nothing did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Ticks since the step before: of a long time, times [`LONG`].
    ticks: u16,
    /// On the wire; zero for a long time.
    bytes: u16,
}

impl Step {
    const fn is_time(self) -> bool {
        self.bytes == 0
    }
}

/// What of a segment and after it was lost.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    itself: bool,
    after: u8,
}

/// A segment that left, or came, with all that is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// When, in ticks of [`TICK_NS`] since the first.
    ticks: u64,
    /// On the wire.
    bytes: u16,
    /// It was lost itself.
    pub(super) is_lost: bool,
    /// So many were lost after it that are not seen.
    pub(super) lost_after: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Recent {
    /// The lower half of its offset in the stream: what is remembered lies no farther apart.
    start: u32,
    /// Its place in `steps`, of which there are no more than [`STEPS`].
    step: u16,
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
        if self.is_over {
            return;
        }
        if self.steps.len() >= STEPS {
            self.end();
            return;
        }
        let begin = *self.begin.get_or_insert(at);
        let ticks = at.since(begin).as_nanos() / TICK_NS;
        let since = ticks.saturating_sub(self.ticks);
        // What comes after a silence of more than an hour is not followed.
        let Ok(long) = u16::try_from(since / LONG) else {
            self.end();
            return;
        };
        self.ticks += since;
        if long > 0 {
            let step = Step {
                ticks: long,
                bytes: 0,
            };
            grow::push(&mut self.steps, step);
        }
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Recent {
            start: start as u32,
            step: self.steps.len() as u16,
            is_new,
        });
        let step = Step {
            ticks: (since % LONG) as u16,
            bytes: u16::try_from(bytes).unwrap_or(u16::MAX).max(1),
        };
        grow::push(&mut self.steps, step);
    }

    /// Nothing more is followed; and what was is forgotten, if it shows nothing.
    fn end(&mut self) {
        if self.losses < LOSSES_MIN {
            *self = Self::default();
        }
        self.is_over = true;
    }

    /// All that left, or came, in order.
    pub(super) fn events(&self) -> Vec<Event> {
        let mut lost = self.lost.iter().peekable();
        let mut ticks = 0;
        let mut events = Vec::with_capacity(self.steps.len());
        for (place, step) in (0_u16..).zip(&self.steps) {
            if step.is_time() {
                ticks += u64::from(step.ticks) * LONG;
                continue;
            }
            ticks += u64::from(step.ticks);
            let fate = lost.next_if(|(of, _)| *of == place);
            let fate = fate.map_or(Fate::default(), |(_, fate)| *fate);
            events.push(Event {
                ticks,
                bytes: step.bytes,
                is_lost: fate.itself,
                lost_after: fate.after,
            });
        }
        events
    }

    /// The fate of the segment at this place.
    fn fate(&mut self, step: u16) -> Option<&mut Fate> {
        let place = self.lost.partition_point(|(of, _)| *of < step);
        if self.lost.get(place).is_none_or(|(of, _)| *of != step) {
            self.lost.insert(place, (step, Fate::default()));
        }
        self.lost.get_mut(place).map(|(_, fate)| fate)
    }

    /// What begins at `start` was lost when it was last sent.
    pub(in crate::path) fn lost(&mut self, start: u64) {
        if self.is_over {
            return;
        }
        let mut latest = self.recent.iter().rev();
        let itself = latest.find(|sent| sent.start == start as u32);
        let (place, mark) = match itself {
            Some(itself) => (Some(itself.step), Mark::Itself),
            None => (self.place_of_unseen(start), Mark::After),
        };
        let Some((place, fate)) = place.and_then(|place| Some((place, self.fate(place)?))) else {
            return;
        };
        match mark {
            Mark::Itself if fate.itself => return,
            Mark::Itself => fate.itself = true,
            Mark::After => fate.after = fate.after.saturating_add(1),
        }
        self.losses += 1;
        if self.marked.len() >= RECENT {
            self.marked.pop_front();
        }
        self.marked.push_back((start, place, mark));
    }

    /// After which segment one was lost that is not seen: the last before the next of the stream came, as repairs may have
    /// left between the one before it and this; without a next, the one before it.
    fn place_of_unseen(&self, start: u64) -> Option<u16> {
        let start = start as u32;
        let mut new = self.recent.iter().filter(|came| came.is_new);
        let next = new.clone().find(|came| is_after(came.start, start));
        let before_next = next.and_then(|next| {
            let before = self.steps.get(..usize::from(next.step))?;
            let place = before.iter().rposition(|step| !step.is_time())?;
            u16::try_from(place).ok()
        });
        before_next.or_else(|| {
            let last = new.rfind(|came| is_after(start, came.start))?;
            Some(last.step)
        })
    }

    /// What lies between these offsets had arrived: it was not lost the last time.
    pub(in crate::path) fn had_arrived(&mut self, start: u64, end: u64) {
        let within = |marked: &(u64, u16, Mark)| (start..end).contains(&marked.0);
        let Some(place) = self.marked.iter().rposition(within) else {
            return;
        };
        let marked = self.marked.remove(place);
        let fate = marked.and_then(|(_, place, mark)| Some((self.fate(place)?, mark)));
        if let Some((fate, mark)) = fate {
            match mark {
                Mark::Itself => fate.itself = false,
                Mark::After => fate.after = fate.after.saturating_sub(1),
            }
            self.losses = self.losses.saturating_sub(1);
        }
    }
}

impl Event {
    /// Seconds since the first.
    pub(super) fn at_s(&self) -> f64 {
        self.ticks as f64 * (TICK_NS as f64 / 1e9)
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
