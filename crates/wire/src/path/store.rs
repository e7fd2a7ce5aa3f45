//! Store of the packets in flight on one direction of the path. Slots are reused.

use dupack_net::packet::PacketHandle;

use super::frame::{Frame, MAX_SEGMENTS, Unfit};
use crate::device::Received;

/// Stored packets, each with the number of its segments that are still in flight.
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

/// Maximum number of packets in flight, so that every segment has a 32-bit handle.
const MAX_SLOTS: usize = (1 << 32) / MAX_SEGMENTS;

impl SegmentId {
    /// Returns the handle that identifies the segment to a link.
    pub(super) const fn handle(self) -> PacketHandle {
        // `slot` is less than MAX_SLOTS and `index` is less than MAX_SEGMENTS, so the result fits.
        PacketHandle((self.slot * MAX_SEGMENTS + self.index) as u32)
    }

    /// Returns the segment that a handle identifies.
    pub(super) const fn of(handle: PacketHandle) -> Self {
        let number = handle.0 as usize;
        Self {
            slot: number / MAX_SEGMENTS,
            index: number % MAX_SEGMENTS,
        }
    }
}

impl FrameStore {
    /// Stores a packet with all of its segments in flight. Returns its slot.
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

    /// Sets the CE mark of a segment when a queue marks it.
    pub(super) fn mark(&mut self, id: SegmentId) {
        self.slots[id.slot].frame.mark(id.index);
    }

    /// Releases `count` segments of a packet, which are no longer in flight.
    pub(super) fn release(&mut self, slot: usize, count: usize) {
        let outstanding = &mut self.slots[slot].outstanding;
        *outstanding -= count;
        if *outstanding == 0 {
            self.free.push(slot);
        }
    }

    /// Returns the number of packets with a segment in flight.
    pub(super) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
