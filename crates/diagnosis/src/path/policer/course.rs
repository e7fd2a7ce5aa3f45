//! History of a stream: departures over time, each marked as lost or not.

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

use super::LOSSES_MIN;
use crate::grow;
use crate::read::packet::is_after;

/// Maximum number of steps, which take 2 or 3 bytes each (our choice: 24 MB of full packets are more than an estimate
/// of the rate requires). If a stream has too few losses in these steps, its history is discarded.
pub(super) const STEPS: u16 = 16_384;

/// Unit of time in nanoseconds (our choice): the transmission time of a full packet at 12 Gbit/s.
const TICK_NS: u64 = 1024;

/// Maximum time between two steps, in ticks. After a longer time, no more steps are recorded (our choice: slightly more
/// than an hour).
const SILENCE_TICKS: u64 = (1 << 32) - 1;

/// Maximum memory of a step in bytes: five for its ticks, and two for its size on the wire.
const STEP_BYTES: usize = 7;

/// Number of recent transmissions that are stored because they may be lost (our choice: more than are outstanding at
/// the rates of policers).
pub(super) const RECENT: usize = 1024;

/// History of a stream: departures over time, each marked as lost or not. At the receiver, arrivals take the place of
/// departures.
#[derive(Clone, Debug, Default)]
pub(in crate::path) struct Course {
    pub(super) steps: Steps,
    /// Losses, by step.
    lost: Vec<(u16, Fate)>,
    /// Time of the first step, and the time of the last step in ticks since the first.
    begin: Option<Instant>,
    ticks: u64,
    /// Recent transmissions.
    pub(super) recent: VecDeque<Recent>,
    /// Marked losses: the offset in the stream, the step, and the kind of mark.
    pub(super) marked: VecDeque<(u64, u16, Mark)>,
    pub(super) losses: usize,
    /// `true` if no more steps are recorded.
    is_over: bool,
}

/// Departure or arrival of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    /// Number of ticks since the previous step.
    ticks: u64,
    /// Size on the wire in bytes.
    bytes: u16,
}

/// Packed steps. A step is stored as a number: twice its ticks, plus one if its size on the wire differs from that of
/// the previous step. The number is divided into groups of seven bits, the lowest first. Every group except the last
/// one has the eighth bit set. If the size differs, it follows the groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    packed: Vec<u8>,
    /// Number of steps.
    pub(super) count: u16,
    /// Size of the last step on the wire, in bytes.
    bytes: u16,
}

impl Steps {
    fn push(&mut self, step: Step) {
        let differs = step.bytes != self.bytes;
        let mut word = (step.ticks << 1) | u64::from(differs);
        let most = STEP_BYTES * usize::from(STEPS);
        let room = self.packed.len() + STEP_BYTES;
        grow::make_room(&mut self.packed, room, most);
        while word >= 0x80 {
            self.packed.push(word as u8 | 0x80);
            word >>= 7;
        }
        self.packed.push(word as u8);
        if differs {
            self.packed.extend(step.bytes.to_le_bytes());
            self.bytes = step.bytes;
        }
        self.count += 1;
    }

    fn iter(&self) -> impl Iterator<Item = Step> {
        let mut rest = self.packed.iter().copied();
        let mut bytes = 0;
        core::iter::from_fn(move || {
            let (mut word, mut shift) = (0, 0);
            loop {
                let group = rest.next()?;
                word |= u64::from(group & 0x7f) << shift;
                shift += 7;
                if group & 0x80 == 0 {
                    break;
                }
            }
            if word & 1 == 1 {
                bytes = u16::from_le_bytes([rest.next()?, rest.next()?]);
            }
            Some(Step {
                ticks: word >> 1,
                bytes,
            })
        })
    }

    #[cfg(test)]
    pub(super) const fn memory(&self) -> usize {
        self.packed.capacity()
    }
}

/// Losses at a step: of the segment itself, and the number of lost segments after it.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    itself: bool,
    after: u8,
}

/// Departure or arrival of a segment, with all losses that are known at this step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// Time in ticks of [`TICK_NS`] since the first event.
    ticks: u64,
    /// Size on the wire in bytes.
    bytes: u16,
    /// `true` if the segment itself was lost.
    pub(super) is_lost: bool,
    /// Number of lost segments after this one that were not captured.
    pub(super) lost_after: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Recent {
    /// Lower 32 bits of the offset in the stream. They suffice, because stored segments are less than 4 GiB apart.
    start: u32,
    /// Index of the step.
    step: u16,
    /// `true` if the segment had not been sent before.
    is_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Itself,
    After,
}

impl Course {
    /// Records the departure or arrival at `at` of a segment that begins at `start` and has `bytes` bytes on the wire.
    pub(in crate::path) fn sent(&mut self, at: Instant, start: u64, bytes: u64, is_new: bool) {
        if self.is_over {
            return;
        }
        if self.steps.count >= STEPS {
            self.end();
            return;
        }
        let begin = *self.begin.get_or_insert(at);
        let ticks = at.since(begin).as_nanos() / TICK_NS;
        let since = ticks.saturating_sub(self.ticks);
        if since > SILENCE_TICKS {
            self.end();
            return;
        }
        self.ticks += since;
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Recent {
            start: start as u32,
            step: self.steps.count,
            is_new,
        });
        self.steps.push(Step {
            ticks: since,
            bytes: u16::try_from(bytes).unwrap_or(u16::MAX),
        });
    }

    /// Stops the recording. The history is discarded if it has too few losses.
    fn end(&mut self) {
        if self.losses < LOSSES_MIN {
            *self = Self::default();
        }
        self.is_over = true;
    }

    /// Returns all departures or arrivals in order.
    pub(super) fn events(&self) -> Vec<Event> {
        let mut lost = self.lost.iter().peekable();
        let mut ticks = 0;
        let mut events = Vec::with_capacity(usize::from(self.steps.count));
        for (place, step) in (0_u16..).zip(self.steps.iter()) {
            ticks += step.ticks;
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

    /// Returns the losses at this step. An entry is created if there is none.
    fn fate(&mut self, step: u16) -> Option<&mut Fate> {
        let place = self.lost.partition_point(|(of, _)| *of < step);
        if self.lost.get(place).is_none_or(|(of, _)| *of != step) {
            self.lost.insert(place, (step, Fate::default()));
        }
        self.lost.get_mut(place).map(|(_, fate)| fate)
    }

    /// Marks the last transmission of the segment that begins at `start` as lost.
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

    /// Returns the step after which a segment that was not captured was lost. This is the last step before the arrival
    /// of the next segment of the stream, because retransmissions may have arrived just before. Without a next segment,
    /// it is the step of the previous segment of the stream.
    fn place_of_unseen(&self, start: u64) -> Option<u16> {
        let start = start as u32;
        let mut new = self.recent.iter().filter(|came| came.is_new);
        let next = new.clone().find(|came| is_after(came.start, start));
        let before_next = next.and_then(|next| next.step.checked_sub(1));
        before_next.or_else(|| {
            let last = new.rfind(|came| is_after(start, came.start))?;
            Some(last.step)
        })
    }

    /// Removes the last mark between these offsets, because the segment had arrived.
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
    /// Returns the time since the first event in seconds.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_packed_without_loss() {
        let ticks = [0, 1, 63, 64, 8191, 8192, 1 << 20, SILENCE_TICKS, 5];
        let sizes = [1500, 1500, 0, u16::MAX, 1500];
        let given: Vec<_> = ticks
            .into_iter()
            .zip(sizes.into_iter().cycle())
            .map(|(ticks, bytes)| Step { ticks, bytes })
            .collect();
        let mut steps = Steps::default();
        for step in &given {
            let before = steps.packed.len();
            steps.push(*step);
            assert!(steps.packed.len() - before <= STEP_BYTES);
        }
        assert_eq!(usize::from(steps.count), given.len());
        assert!(steps.iter().eq(given));
    }
}
