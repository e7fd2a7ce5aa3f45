//! Where the bytes of a connection come from and where they go.

use std::fmt;

use xxhash_rust::xxh3::Xxh3Default;

use dupack_tcp::connection::{Negotiated, Outgoing, PathCounters, Reason};
use dupack_tcp::sender::{Sender, SenderStats};

/// What uses a connection. The host calls it on its own thread: nothing here may wait.
pub trait Application: Send {
    /// The handshake is over.
    fn connected(&mut self, _negotiated: &Negotiated) {}

    /// Writes bytes for the peer to the start of `room`, which is not empty.
    fn supply(&mut self, room: &mut [u8]) -> Supply;

    /// Takes bytes from the peer, which are not empty, and says how many. What is not taken is
    /// offered again; meanwhile the peer is told of less and less room.
    fn take(&mut self, bytes: &[u8]) -> usize;

    /// The peer has acknowledged our stream up to there.
    fn acknowledged(&mut self, _until: u64) {}

    /// A segment of our stream leaves; `sender` is as it is right after the decision.
    fn sent(&mut self, _outgoing: &Outgoing, _sender: &Sender) {}

    /// The peer's stream is at its end, and everything has been taken.
    fn finished(&mut self) {}

    /// The connection is over.
    fn closed(&mut self, _outcome: &Outcome) {}
}

/// What an application has to send.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// So many bytes were written, at least one.
    Bytes(usize),
    /// Nothing for the moment; [`Waker::wake`](super::Waker::wake) tells the host to ask again.
    /// It asks too whenever a packet has come.
    NothingNow,
    /// Nothing any more.
    End,
    /// What was to come cannot be had. The connection is aborted, so that the peer does not take
    /// what it has for the whole.
    Abort,
}

/// How a connection went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended; `None` if it is in TIME-WAIT, after both ends have finished.
    pub reason: Option<Reason>,
    /// What was agreed on, if it came so far.
    pub negotiated: Option<Negotiated>,
    /// What its sender counted, if it came so far.
    pub sender: Option<SenderStats>,
    /// What ICMP and probes of the path's MTU have come to.
    pub path: PathCounters,
    /// Payload bytes of a full segment at the end, if it came so far.
    pub segment_size: Option<u32>,
    /// Bytes that the peer has acknowledged.
    pub sent_bytes: u64,
    /// Bytes that the application has taken.
    pub received_bytes: u64,
}

impl Outcome {
    /// Whether both directions came to their end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.reason, None | Some(Reason::Finished))
    }
}

/// A stream of bytes that depends on its seed alone and in which a byte that is misplaced,
/// missing or twice there shows.
#[derive(Clone, Debug)]
pub struct Pattern {
    state: u64,
    word: [u8; 8],
    used: usize,
}

impl Pattern {
    /// The stream of `seed` from its start.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            state: seed,
            word: [0; 8],
            used: 8,
        }
    }

    /// The next `room.len()` bytes.
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

    /// How many bytes were added.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hash of all bytes added (XXH3, 128 bits).
    #[must_use]
    pub fn value(&self) -> u128 {
        self.hasher.digest128()
    }

    /// The hash of the first `bytes` bytes of a pattern.
    #[must_use]
    pub fn of_pattern(seed: u64, bytes: u64) -> u128 {
        let mut pattern = Pattern::new(seed);
        let mut digest = Self::default();
        let mut buffer = [0; 1 << 14];
        while digest.bytes < bytes {
            // At most the buffer's length.
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
    fn a_pattern_does_not_depend_on_how_it_is_asked_for() {
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
