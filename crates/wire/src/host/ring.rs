//! Ring buffer for the part of a stream that is in use: bytes before it are no longer needed, and bytes after it do not
//! exist yet.

use std::ops::Range;

/// Ring buffer in which the position of a byte follows from its offset in the stream.
#[derive(Debug)]
pub(super) struct Ring {
    bytes: Box<[u8]>,
}

impl Ring {
    /// Creates a ring with a capacity of `capacity` bytes, but at least one.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            bytes: vec![0; capacity.max(1)].into_boxed_slice(),
        }
    }

    /// Returns the capacity in bytes.
    pub(super) const fn capacity(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Stores `bytes` at the stream offset `offset`.
    pub(super) fn put(&mut self, offset: u64, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.bytes.len());
        let at = self.place(offset);
        let first = bytes.len().min(self.bytes.len() - at);
        self.bytes[at..at + first].copy_from_slice(&bytes[..first]);
        self.bytes[..bytes.len() - first].copy_from_slice(&bytes[first..]);
    }

    /// Copies the bytes of `range` to `target`, which must have the same length.
    pub(super) fn copy_to(&self, range: &Range<u64>, target: &mut [u8]) {
        let first = self.piece(range);
        target[..first.len()].copy_from_slice(first);
        let rest = target.len() - first.len();
        target[first.len()..].copy_from_slice(&self.bytes[..rest]);
    }

    /// Returns the longest contiguous slice at the start of `range`.
    pub(super) fn piece(&self, range: &Range<u64>) -> &[u8] {
        let at = self.place(range.start);
        let length = self.length(range, at);
        &self.bytes[at..at + length]
    }

    /// Returns the same slice as [`piece`](Self::piece), for writing.
    pub(super) fn piece_mut(&mut self, range: &Range<u64>) -> &mut [u8] {
        let at = self.place(range.start);
        let length = self.length(range, at);
        &mut self.bytes[at..at + length]
    }

    fn place(&self, offset: u64) -> usize {
        // The remainder is less than the capacity, so it fits into `usize`.
        (offset % self.capacity()) as usize
    }

    fn length(&self, range: &Range<u64>, at: usize) -> usize {
        let wanted = range.end.saturating_sub(range.start);
        // The minimum is at most the capacity, so it fits into `usize`.
        wanted.min((self.bytes.len() - at) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_the_wrap_of_the_ring() {
        let mut ring = Ring::new(10);
        for start in 0..25_u64 {
            let bytes: Vec<u8> = (0..7).map(|i| (start as u8) * 10 + i).collect();
            ring.put(start, &bytes);
            let range = start..start + 7;
            let mut copy = [0; 7];
            ring.copy_to(&range, &mut copy);
            assert_eq!(copy, bytes[..]);
            let first = ring.piece(&range).len() as u64;
            let whole = [
                ring.piece(&range),
                ring.piece(&(range.start + first..range.end)),
            ];
            assert_eq!(whole.concat(), bytes);
        }
    }
}
