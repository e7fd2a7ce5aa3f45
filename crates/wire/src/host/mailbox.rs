//! Mailbox of a host for packets that a sibling has read.

use std::collections::VecDeque;
use std::mem::size_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dupack_tcp::time::Instant;

use crate::device::{Pending, Received};

/// Maximum size of the packets that wait for a host, including overhead, in bytes. Excess packets are lost, as they are
/// when the kernel's queue is full. The limit is large enough for a peer's whole window, which may arrive before our
/// first answer makes the kernel deliver the flow to the right queue.
const ROOM_BYTES: usize = 4 << 20;

/// A packet that a sibling has read.
#[derive(Debug)]
pub(super) struct Letter {
    at: Instant,
    pending: Pending,
    bytes: Box<[u8]>,
}

/// Result of posting a letter.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Posted {
    /// The letter is the first in the mailbox. The reader may be asleep.
    First,
    /// Other letters were already waiting.
    Behind,
    /// The mailbox was full, and the letter was dropped.
    Lost,
}

/// Packets for one host.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    letters: Mutex<Letters>,
    /// `true` if there are letters. The reader can check this without the lock.
    any: AtomicBool,
}

#[derive(Debug, Default)]
struct Letters {
    queue: VecDeque<Letter>,
    /// Total cost of the letters, in bytes.
    bytes: usize,
}

impl Letter {
    pub(super) fn new(received: &Received<'_>) -> Self {
        Self {
            at: received.at,
            pending: received.pending,
            bytes: received.bytes.into(),
        }
    }

    /// Returns the packet as it was read.
    pub(super) fn received(&self) -> Received<'_> {
        Received {
            at: self.at,
            pending: self.pending,
            bytes: &self.bytes,
        }
    }

    fn cost(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

impl Mailbox {
    /// Adds a letter.
    pub(super) fn post(&self, letter: Letter) -> Posted {
        let mut letters = self.lock();
        let bytes = letters.bytes + letter.cost();
        if bytes > ROOM_BYTES {
            return Posted::Lost;
        }
        letters.bytes = bytes;
        letters.queue.push_back(letter);
        self.any.store(true, Ordering::Release);
        match letters.queue.len() {
            1 => Posted::First,
            _ => Posted::Behind,
        }
    }

    /// Removes and returns the oldest letters, at most `count`.
    pub(super) fn take(&self, count: usize) -> VecDeque<Letter> {
        let mut letters = self.lock();
        let count = count.min(letters.queue.len());
        let rest = letters.queue.split_off(count);
        let taken = std::mem::replace(&mut letters.queue, rest);
        letters.bytes -= taken.iter().map(Letter::cost).sum::<usize>();
        self.any.store(!letters.queue.is_empty(), Ordering::Release);
        taken
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    /// Locks the letters. Poisoning is ignored, because a panic cannot leave a change incomplete.
    fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(length: usize, at: u64) -> Letter {
        Letter::new(&Received {
            at: Instant::from_nanos(at),
            pending: Pending::NOTHING,
            bytes: &vec![0; length],
        })
    }

    fn fill(mailbox: &Mailbox, length: usize) -> usize {
        (0..)
            .take_while(|at| mailbox.post(letter(length, *at)) != Posted::Lost)
            .count()
    }

    #[test]
    fn a_flood_stops_at_the_limit_for_any_packet_size() {
        for length in [0, 40, 1500, 65_535] {
            let mailbox = Mailbox::default();
            let count = fill(&mailbox, length);
            let cost = letter(length, 0).cost();
            assert!(count * cost <= ROOM_BYTES, "{count} of {length}");
            assert!((count + 1) * cost > ROOM_BYTES, "{count} of {length}");
        }
    }

    #[test]
    fn taking_letters_makes_room() {
        let mailbox = Mailbox::default();
        let count = fill(&mailbox, 1500);
        assert_eq!(mailbox.take(10).len(), 10);
        assert_eq!(fill(&mailbox, 1500), 10);
        assert_eq!(mailbox.take(usize::MAX).len(), count);
        assert_eq!(mailbox.lock().bytes, 0);
        assert_eq!(fill(&mailbox, 1500), count);
    }

    #[test]
    fn letters_keep_their_order_and_the_first_is_announced() {
        let mailbox = Mailbox::default();
        assert!(mailbox.is_empty());
        assert_eq!(mailbox.post(letter(1, 1)), Posted::First);
        assert_eq!(mailbox.post(letter(2, 2)), Posted::Behind);
        assert_eq!(mailbox.post(letter(3, 3)), Posted::Behind);
        let taken = mailbox.take(2);
        let times: Vec<u64> = taken.iter().map(|l| l.received().at.as_nanos()).collect();
        assert_eq!(times, [1, 2]);
        assert!(!mailbox.is_empty());
        assert_eq!(mailbox.post(letter(4, 4)), Posted::Behind);
        assert_eq!(mailbox.take(9).len(), 2);
        assert!(mailbox.is_empty());
        assert_eq!(mailbox.post(letter(5, 5)), Posted::First);
    }
}
