//! Linux's accounting of a send buffer, for sockets with `SO_SNDBUF` or `TCP_NOTSENT_LOWAT`. Other sockets accept every
//! write.
//!
//! Written data is stored in packets. A packet has at most as many segments as one transfer to the device may have
//! (`tcp_xmit_size_goal`), and needs memory in addition to its bytes. A write fills the last packet up regardless of
//! memory, and starts another packet only while the memory in use is smaller than the buffer (`tcp_sendmsg_locked`,
//! `sk_stream_memory_free`). A packet is split if only a part of it may be sent (`tso_fragment`); the second part can
//! then be filled up again. A blocked writer continues once a third of the buffer is free (`sk_stream_is_writable`).
//! With `TCP_NOTSENT_LOWAT`, no packet is started while that much data is unsent, and a writer is woken when less than
//! half of that amount is unsent (`tcp_stream_memory_free`).

use std::collections::VecDeque;

/// Memory of a packet in addition to its bytes (`SKB_TRUESIZE` of the headroom, on a 64-bit machine).
const BESIDE: u64 = 1280;

/// Minimum size of a buffer (`SOCK_MIN_SNDBUF`).
const LEAST: u64 = 4608;

/// Maximum size that can be requested (`net.core.wmem_max`). The buffer gets twice the requested size.
const MOST_ASKED: u64 = 212_992;

/// Maximum length of a packet passed to a device (`sk_setup_caps`: GSO_LEGACY_MAX_SIZE minus headers).
const LONGEST: u64 = 65_536 - 321;

/// A window up to this size is not halved (`tcp_bound_to_half_wnd`: TCP_MSS_DEFAULT).
const SMALL_WINDOW: u64 = 536;

/// Use of a send buffer, and the write that is blocked because of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendBuffer {
    /// Size of the buffer; `None` if no limit was set.
    limit: Option<u64>,
    /// Maximum amount of unsent data in bytes; `None` if no bound was set.
    unsent: Option<u64>,
    /// Stream offsets at which unacknowledged packets end.
    ends: VecDeque<u64>,
    /// `true` if a write could not be completed and no write has succeeded since (`SOCK_NOSPACE`).
    is_full: bool,
    /// Bytes that the blocked write has written so far.
    progress: Option<u64>,
    /// Largest window that the peer has advertised, in bytes.
    widest: u64,
}

/// State of a sender: offsets in its stream, and the segment size in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand {
    pub(crate) written: u64,
    pub(crate) sent: u64,
    pub(crate) acknowledged: u64,
    pub(crate) segment: u64,
}

impl Stand {
    const fn unsent(self) -> u64 {
        self.written.saturating_sub(self.sent)
    }
}

impl SendBuffer {
    /// Sets the size that `SO_SNDBUF` gives for a request of `asked` bytes.
    pub(crate) fn set(&mut self, asked: u64) {
        self.limit = Some((2 * asked.min(MOST_ASKED)).max(LEAST));
    }

    /// Bounds the unsent data as `TCP_NOTSENT_LOWAT` does; 0 removes the bound.
    pub(crate) fn set_unsent(&mut self, bytes: u64) {
        self.unsent = (bytes > 0).then_some(bytes);
    }

    /// Returns `true` if the memory of the buffer or its unsent data is bounded.
    pub(crate) const fn is_bounded(&self) -> bool {
        self.limit.is_some() || self.unsent.is_some()
    }

    /// Returns the size, if one was set.
    pub(crate) const fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Returns `true` if a write was cut short or is waiting for space.
    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Records the peer's window.
    pub(crate) fn note_window(&mut self, bytes: u64) {
        self.widest = self.widest.max(bytes);
    }

    /// Returns `true` if a blocked writer may continue.
    pub(crate) fn is_writable(&mut self, stand: Stand) -> bool {
        let used = self.used(stand);
        let has_room = self
            .limit
            .is_none_or(|limit| limit.saturating_sub(used) >= used / 2 && used < limit);
        has_room && self.unsent.is_none_or(|most| 2 * stand.unsent() < most)
    }

    /// Records after an ACK that a blocked writer may continue, if there is enough space.
    pub(crate) fn review(&mut self, stand: Stand) {
        if self.is_full && self.is_writable(stand) {
            self.is_full = false;
        }
    }

    /// Returns `true` if a write may be tried: a new write always, and a blocked write when it may continue.
    pub(crate) fn admits(&mut self, stand: Stand) -> bool {
        self.progress.is_none() || self.is_writable(stand)
    }

    /// Returns the number of bytes that the current write has already written.
    pub(crate) fn done(&self) -> u64 {
        self.progress.unwrap_or(0)
    }

    /// Blocks the current write after `bytes` bytes.
    pub(crate) fn wait_after(&mut self, bytes: u64) {
        self.is_full = true;
        self.progress = Some(bytes);
    }

    /// Ends the current write, which was complete or cut short.
    pub(crate) fn end_write(&mut self, cut_short: bool) {
        self.is_full = cut_short;
        self.progress = None;
    }

    /// Returns the number of bytes that can be written at once: the free space in the last packet, or one new packet; 0
    /// if the buffer is full.
    pub(crate) fn room(&mut self, stand: Stand) -> u64 {
        if !self.is_bounded() {
            return u64::MAX;
        }
        let used = self.used(stand);
        if let Some(left) = self.left_in_last(stand) {
            return left;
        }
        let begins = self.limit.is_none_or(|limit| used < limit)
            && self.unsent.is_none_or(|most| stand.unsent() < most);
        match begins {
            true => self.goal(stand.segment),
            false => 0,
        }
    }

    /// Records a write of `bytes`, which is at most [`room`](Self::room).
    pub(crate) fn grew(&mut self, stand: Stand, bytes: u64) {
        if !self.is_bounded() {
            return;
        }
        if self.left_in_last(stand).is_some() {
            self.ends.pop_back();
        }
        self.ends.push_back(stand.written + bytes);
    }

    /// Returns the free space in the last packet, if this packet is started, unsent and not full.
    fn left_in_last(&self, stand: Stand) -> Option<u64> {
        let goal = self.goal(stand.segment);
        let before = self.ends.iter().rev().nth(1).copied().unwrap_or(0);
        let unsent = stand.written.saturating_sub(stand.sent.max(before));
        (unsent > 0 && unsent < goal).then(|| goal - unsent)
    }

    /// Returns the memory in use, in bytes.
    fn used(&mut self, stand: Stand) -> u64 {
        while self
            .ends
            .front()
            .is_some_and(|&end| end <= stand.acknowledged)
        {
            self.ends.pop_front();
        }
        let at = self.ends.partition_point(|&end| end < stand.sent);
        if stand.sent > stand.acknowledged && self.ends.get(at).is_some_and(|&end| end > stand.sent)
        {
            self.ends.insert(at, stand.sent);
        }
        stand.written.saturating_sub(stand.acknowledged) + BESIDE * self.ends.len() as u64
    }

    /// Returns the size of a full packet in bytes.
    fn goal(&self, segment: u64) -> u64 {
        let half = match self.widest > SMALL_WINDOW {
            true => self.widest / 2,
            false => self.widest,
        };
        let segment = segment.max(1);
        (half.min(LONGEST) / segment).max(1) * segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand(acknowledged: u64, sent: u64, written: u64) -> Stand {
        Stand {
            written,
            sent,
            acknowledged,
            segment: 1000,
        }
    }

    fn buffer(asked: u64, window: u64) -> SendBuffer {
        let mut buffer = SendBuffer::default();
        buffer.set(asked);
        buffer.note_window(window);
        buffer
    }

    #[test]
    fn without_a_limit_there_is_room_for_everything() {
        let mut none = SendBuffer::default();
        assert_eq!(none.room(stand(0, 0, 1 << 40)), u64::MAX);
        assert!(none.is_writable(stand(0, 0, 1 << 40)) && none.admits(stand(0, 0, 0)));
    }

    #[test]
    fn the_size_is_doubled_within_bounds() {
        assert_eq!(buffer(10_000, 0).limit(), Some(20_000));
        assert_eq!(buffer(1, 0).limit(), Some(4608));
        assert_eq!(buffer(u64::MAX, 0).limit(), Some(425_984));
    }

    #[test]
    fn a_packet_holds_half_a_window() {
        assert_eq!(buffer(1, 9000).room(stand(0, 0, 0)), 4000);
        assert_eq!(buffer(1, 500).room(stand(0, 0, 0)), 1000);
        assert_eq!(buffer(1, 1 << 20).room(stand(0, 0, 0)), 65_000);
    }

    #[test]
    fn notsent_lowat_bounds_unsent_data() {
        let mut buffer = SendBuffer::default();
        buffer.set_unsent(4000);
        buffer.note_window(16_000);
        assert!(buffer.is_bounded() && buffer.limit().is_none());
        buffer.grew(stand(0, 0, 0), 8000);
        assert_eq!(buffer.room(stand(0, 0, 8000)), 0);
        // The unsent part is filled up. After that, no packet is started until enough data has been sent.
        assert_eq!(buffer.room(stand(0, 5000, 8000)), 5000);
        buffer.grew(stand(0, 5000, 8000), 5000);
        assert_eq!(buffer.room(stand(5000, 9000, 13_000)), 4000);
        assert!(!buffer.is_writable(stand(8000, 11_000, 13_000)));
        assert!(buffer.is_writable(stand(8000, 11_001, 13_000)));
        buffer.set_unsent(0);
        assert!(!buffer.is_bounded());
    }

    #[test]
    fn a_packet_is_started_while_there_is_room_and_then_filled() {
        let mut buffer = buffer(5000, 16_000);
        buffer.grew(stand(0, 0, 0), 8000);
        // 8000 of 10000 bytes and their overhead are in use.
        assert_eq!(buffer.room(stand(0, 0, 8000)), 8000);
        // Three segments were sent. The remaining data is a separate packet, in which three more segments fit.
        assert_eq!(buffer.room(stand(0, 3000, 8000)), 3000);
        buffer.grew(stand(0, 3000, 8000), 3000);
        assert_eq!(buffer.room(stand(0, 3000, 11_000)), 0);
        // A writer is woken only when a third of the buffer is free.
        buffer.wait_after(11_000);
        assert!(!buffer.admits(stand(4000, 6000, 11_000)));
        assert!(buffer.admits(stand(7000, 7000, 11_000)));
        assert_eq!(buffer.done(), 11_000);
        buffer.review(stand(4000, 6000, 11_000));
        assert!(buffer.is_full());
        buffer.review(stand(7000, 7000, 11_000));
        assert!(!buffer.is_full());
        buffer.end_write(false);
        assert!(!buffer.is_full() && buffer.done() == 0);
    }
}
