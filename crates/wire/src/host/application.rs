//! Applications: sources and sinks of a connection's bytes.

use std::fmt;

use xxhash_rust::xxh3::Xxh3Default;

use dupack_tcp::connection::{Negotiated, Outgoing, PathCounters, Reason};
use dupack_tcp::sender::{Sender, SenderStats};

/// Application on top of a connection. The host calls it on its own thread, so no method may block.
pub trait Application: Send {
    /// Called when the handshake is complete.
    fn connected(&mut self, _negotiated: &Negotiated) {}

    /// Writes bytes for the peer to the start of `room`, which is not empty.
    fn supply(&mut self, room: &mut [u8]) -> Supply;

    /// Takes bytes from the peer and returns their number. `bytes` is not empty. Bytes that are not taken are offered
    /// again later; until then, the receive window shrinks.
    fn take(&mut self, bytes: &[u8]) -> usize;

    /// Called when the peer has acknowledged our stream up to `_until`.
    fn acknowledged(&mut self, _until: u64) {}

    /// Called when a segment of our stream is sent. `_sender` has the state right after the decision to send the
    /// segment.
    fn sent(&mut self, _outgoing: &Outgoing, _sender: &Sender) {}

    /// Called when the peer's stream has ended and all of its bytes have been taken.
    fn finished(&mut self) {}

    /// Called when the connection is over.
    fn closed(&mut self, _outcome: &ConnectionReport) {}
}

/// Data that an application has to send.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// Number of bytes written. It is at least one.
    Bytes(usize),
    /// There is nothing to send at the moment. The host asks again after [`Waker::wake`](super::Waker::wake), and also
    /// whenever a packet arrives.
    NothingNow,
    /// The stream has ended.
    End,
    /// The remaining part of the stream is not available. The connection is aborted, so that the peer does not take an
    /// incomplete stream for a complete one.
    Abort,
}

/// Result of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionReport {
    /// Reason for the end. `None` if the connection is in TIME-WAIT, after both ends have finished.
    pub reason: Option<Reason>,
    /// Negotiated options, if the handshake was completed.
    pub negotiated: Option<Negotiated>,
    /// Statistics of the sender, if there was one.
    pub sender: Option<SenderStats>,
    /// Counters of ICMP errors and path MTU probes.
    pub path: PathCounters,
    /// Payload bytes of a full segment at the end, if there was a sender.
    pub segment_size: Option<u32>,
    /// Bytes that the peer acknowledged.
    pub sent_bytes: u64,
    /// Bytes that the application took.
    pub received_bytes: u64,
}

impl ConnectionReport {
    /// Returns `true` if both directions ended properly.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.reason, None | Some(Reason::Finished))
    }
}

/// A byte stream that depends only on its seed. Misplaced, missing and duplicated bytes are detectable.
#[derive(Clone, Debug)]
pub struct Pattern {
    state: u64,
    word: [u8; 8],
    used: usize,
}

impl Pattern {
    /// Creates the stream of `seed`, positioned at its start.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            state: seed,
            word: [0; 8],
            used: 8,
        }
    }

    /// Writes the next `room.len()` bytes to `room`.
    pub fn fill(&mut self, room: &mut [u8]) {
        let left = (8 - self.used).min(room.len());
        let (head, rest) = room.split_at_mut(left);
        head.copy_from_slice(&self.word[self.used..self.used + left]);
        self.used += left;
        let mut words = rest.chunks_exact_mut(8);
        for word in &mut words {
            word.copy_from_slice(&self.next_word());
        }
        let tail = words.into_remainder();
        if !tail.is_empty() {
            self.word = self.next_word();
            self.used = tail.len();
            tail.copy_from_slice(&self.word[..tail.len()]);
        }
    }

    /// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, §4), without its last mixing step.
    const fn next_word(&mut self) -> [u8; 8] {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (z ^ (z >> 27)).to_le_bytes()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {:032x}", self.bytes, self.value())
    }
}

/// Length and hash of a stream.
#[derive(Clone, Default)]
pub struct Digest {
    bytes: u64,
    hasher: Xxh3Default,
}

impl Digest {
    /// Adds bytes to the stream.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hasher.update(bytes);
    }

    /// Returns the number of bytes added.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the hash of all bytes added (XXH3, 128 bits).
    #[must_use]
    pub fn value(&self) -> u128 {
        self.hasher.digest128()
    }

    /// Returns the hash of the first `bytes` bytes of a pattern.
    #[must_use]
    pub fn of_pattern(seed: u64, bytes: u64) -> u128 {
        let mut pattern = Pattern::new(seed);
        let mut digest = Self::default();
        let mut buffer = [0; 1 << 14];
        while digest.bytes < bytes {
            // The value is at most the buffer's length, so it fits into `usize`.
            let length = (bytes - digest.bytes).min(buffer.len() as u64) as usize;
            pattern.fill(&mut buffer[..length]);
            digest.add(&buffer[..length]);
        }
        digest.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_does_not_depend_on_the_read_sizes() {
        let mut whole = [0; 1000];
        Pattern::new(3).fill(&mut whole);
        let mut pattern = Pattern::new(3);
        let mut parts = Vec::new();
        for length in (0..).map(|n| n % 19) {
            if parts.len() + length > whole.len() {
                break;
            }
            let mut part = vec![0; length];
            pattern.fill(&mut part);
            parts.extend(part);
        }
        assert_eq!(parts, whole[..parts.len()]);
        assert!(parts.len() > 980);
    }

    #[test]
    fn digests_agree_with_patterns() {
        let mut bytes = vec![0; 40_001];
        Pattern::new(9).fill(&mut bytes);
        let mut digest = Digest::default();
        digest.add(&bytes);
        assert_eq!(digest.value(), Digest::of_pattern(9, 40_001));
        assert_ne!(digest.value(), Digest::of_pattern(9, 40_000));
    }
}
