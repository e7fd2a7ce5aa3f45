//! The packets under way on one direction of the path, in slots that are used again.

use dupack_net::packet::PacketHandle;

use super::frame::{Frame, MAX_SEGMENTS, Unfit};
use crate::device::Received;

/// Packets and how many of their segments are still under way.
#[derive(Debug, Default)]
pub(super) struct FrameStore {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

#[derive(Debug, Default)]
struct Slot {
    frame: Frame,
    outstanding: usize,
}

/// A segment of a stored packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentId {
    pub(super) slot: usize,
    pub(super) index: usize,
}

/// How many packets can be under way at once: what a handle of 32 bits has room for.
const MAX_SLOTS: usize = (1 << 32) / MAX_SEGMENTS;

impl SegmentId {
    /// The handle by which a link knows the segment.
    pub(super) const fn handle(self) -> PacketHandle {
        // `slot` is below MAX_SLOTS and `index` below MAX_SEGMENTS: the product fits.
        PacketHandle((self.slot * MAX_SEGMENTS + self.index) as u32)
    }

    /// The segment of a handle.
    pub(super) const fn of(handle: PacketHandle) -> Self {
        let number = handle.0 as usize;
        Self {
            slot: number / MAX_SEGMENTS,
            index: number % MAX_SEGMENTS,
        }
    }
}

impl FrameStore {
    /// Stores a packet; all its segments are under way. Says in which slot.
    pub(super) fn insert(&mut self, received: &Received<'_>) -> Result<usize, Unfit> {
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.slots.len() < MAX_SLOTS => {
                self.slots.push(Slot::default());
                self.slots.len() - 1
            }
            None => return Err(Unfit::NoRoom),
        };
        let slot = &mut self.slots[number];
        if let Err(unfit) = slot.frame.load(received) {
            self.free.push(number);
            return Err(unfit);
        }
        slot.outstanding = slot.frame.shape().segments();
        Ok(number)
    }

    pub(super) fn frame(&self, slot: usize) -> &Frame {
        &self.slots[slot].frame
    }

    /// A queue has marked a segment.
    pub(super) fn mark(&mut self, id: SegmentId) {
        self.slots[id.slot].frame.mark(id.index);
    }

    /// `count` segments of a packet are no longer under way.
    pub(super) fn release(&mut self, slot: usize, count: usize) {
        let outstanding = &mut self.slots[slot].outstanding;
        *outstanding -= count;
        if *outstanding == 0 {
            self.free.push(slot);
        }
    }

    /// How many packets have a segment under way.
    pub(super) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
