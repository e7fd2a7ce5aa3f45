//! A send buffer as Linux counts it, for sockets on which `SO_SNDBUF` or `TCP_NOTSENT_LOWAT` is set; others take
//! everything.
//!
//! What is written is kept in packets of as many segments as one hand-over to the device may have
//! (`tcp_xmit_size_goal`). Each takes memory beside its bytes. A write goes on filling the last packet as long as it is
//! not full, whatever that takes, and begins another only while less than the buffer is in use
//! (`tcp_sendmsg_locked`, `sk_stream_memory_free`). A packet of which only a part may leave is cut in two (`tso_fragment`),
//! after which there is room in its second part. A writer that waits goes on once a third of the buffer is free
//! (`sk_stream_is_writeable`). With `TCP_NOTSENT_LOWAT` no packet is begun while as much as that was not sent, and a writer
//! is woken when less than half of it was not (`tcp_stream_memory_free`).

use std::collections::VecDeque;

/// Memory that a packet takes beside its bytes (`SKB_TRUESIZE` of the headers' room, on a 64-bit machine).
const BESIDE: u64 = 1280;

/// The least that a buffer is set to (`SOCK_MIN_SNDBUF`).
const LEAST: u64 = 4608;

/// The most that may be asked for (`net.core.wmem_max`); twice as much is given.
const MOST_ASKED: u64 = 212_992;

/// The longest packet that is handed to a device (`sk_setup_caps`: GSO_LEGACY_MAX_SIZE less headers).
const LONGEST: u64 = 65_536 - 321;

/// A window up to this is not halved (`tcp_bound_to_half_wnd`: TCP_MSS_DEFAULT).
const SMALL_WINDOW: u64 = 536;

/// What is in use of it, and whether somebody waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendBuffer {
    /// What it may hold; `None` if nobody asked for a limit.
    limit: Option<u64>,
    /// What may wait to be sent; `None` if nobody asked for a bound.
    unsent: Option<u64>,
    /// Where packets that are not acknowledged end in the stream.
    ends: VecDeque<u64>,
    /// Something could not be written, and nothing has been since (`SOCK_NOSPACE`).
    is_full: bool,
    /// What the write that waits has got rid of.
    progress: Option<u64>,
    /// The widest window that the peer has told.
    widest: u64,
}

/// How a sender stands: places in its stream, and the bytes of a segment.
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
    /// Sets its size to what `SO_SNDBUF` makes of `asked`.
    pub(crate) fn set(&mut self, asked: u64) {
        self.limit = Some((2 * asked.min(MOST_ASKED)).max(LEAST));
    }

    /// Bounds what waits to be sent, as `TCP_NOTSENT_LOWAT` does; 0 for no bound.
    pub(crate) fn set_unsent(&mut self, bytes: u64) {
        self.unsent = (bytes > 0).then_some(bytes);
    }

    /// Whether anything bounds it.
    pub(crate) const fn is_bounded(&self) -> bool {
        self.limit.is_some() || self.unsent.is_some()
    }

    /// Its size, if it has one.
    pub(crate) const fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Whether a write was cut short or waits for room.
    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// The peer's window is so many bytes.
    pub(crate) fn note_window(&mut self, bytes: u64) {
        self.widest = self.widest.max(bytes);
    }

    /// Whether a writer that waits is woken.
    pub(crate) fn is_writable(&mut self, stand: Stand) -> bool {
        let used = self.used(stand);
        let has_room = self
            .limit
            .is_none_or(|limit| limit.saturating_sub(used) >= used / 2 && used < limit);
        has_room && self.unsent.is_none_or(|most| 2 * stand.unsent() < most)
    }

    /// Something was acknowledged: there may be room enough again.
    pub(crate) fn review(&mut self, stand: Stand) {
        if self.is_full && self.is_writable(stand) {
            self.is_full = false;
        }
    }

    /// Whether a write may be tried: one that is new may, one that waits when it is woken.
    pub(crate) fn admits(&mut self, stand: Stand) -> bool {
        self.progress.is_none() || self.is_writable(stand)
    }

    /// How many of the `bytes` of a write are done already.
    pub(crate) fn done(&self) -> u64 {
        self.progress.unwrap_or(0)
    }

    /// A write waits after so many bytes.
    pub(crate) fn wait_after(&mut self, bytes: u64) {
        self.is_full = true;
        self.progress = Some(bytes);
    }

    /// A write is over; it was cut short, or all of it was taken.
    pub(crate) fn end_write(&mut self, cut_short: bool) {
        self.is_full = cut_short;
        self.progress = None;
    }

    /// How much may be written at once: what is left of the last packet, or one more. None if it is full.
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

    /// So much was written, by leave of [`room`](Self::room).
    pub(crate) fn grew(&mut self, stand: Stand, bytes: u64) {
        if !self.is_bounded() {
            return;
        }
        if self.left_in_last(stand).is_some() {
            self.ends.pop_back();
        }
        self.ends.push_back(stand.written + bytes);
    }

    /// What still fits the last packet, if that is begun, not sent, and not full.
    fn left_in_last(&self, stand: Stand) -> Option<u64> {
        let goal = self.goal(stand.segment);
        let before = self.ends.iter().rev().nth(1).copied().unwrap_or(0);
        let unsent = stand.written.saturating_sub(stand.sent.max(before));
        (unsent > 0 && unsent < goal).then(|| goal - unsent)
    }

    /// Memory in use.
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

    /// Bytes of a full packet.
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
    fn little_may_wait_to_be_sent() {
        let mut buffer = SendBuffer::default();
        buffer.set_unsent(4000);
        buffer.note_window(16_000);
        assert!(buffer.is_bounded() && buffer.limit().is_none());
        buffer.grew(stand(0, 0, 0), 8000);
        assert_eq!(buffer.room(stand(0, 0, 8000)), 0);
        // The part that was not sent is filled; after that, nothing is begun before enough has left.
        assert_eq!(buffer.room(stand(0, 5000, 8000)), 5000);
        buffer.grew(stand(0, 5000, 8000), 5000);
        assert_eq!(buffer.room(stand(5000, 9000, 13_000)), 4000);
        assert!(!buffer.is_writable(stand(8000, 11_000, 13_000)));
        assert!(buffer.is_writable(stand(8000, 11_001, 13_000)));
        buffer.set_unsent(0);
        assert!(!buffer.is_bounded());
    }

    #[test]
    fn a_packet_is_begun_while_there_is_room_and_then_filled() {
        let mut buffer = buffer(5000, 16_000);
        buffer.grew(stand(0, 0, 0), 8000);
        // Of 10000 bytes 8000 and what goes beside them are in use.
        assert_eq!(buffer.room(stand(0, 0, 8000)), 8000);
        // Three segments have left: the rest is a packet by itself, with room for three more.
        assert_eq!(buffer.room(stand(0, 3000, 8000)), 3000);
        buffer.grew(stand(0, 3000, 8000), 3000);
        assert_eq!(buffer.room(stand(0, 3000, 11_000)), 0);
        // A third of it must be free for a writer to be woken.
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
