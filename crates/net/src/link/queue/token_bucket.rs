//! Token buckets: a policer, which drops non-conforming packets, and a shaper, which delays them.
//!
//! A bucket of `burst` bytes fills at `rate`. Each packet takes as many bytes out of the bucket as its size. The
//! policer drops a packet if there are not enough bytes, and delays nothing: conforming packets go on to the link's
//! FIFO. The shaper (`tbf` in Linux) lets packets wait, in order, until there are enough bytes, and drops at the tail
//! when its buffer is full. A packet that is larger than the bucket is dropped, because it would wait forever.
//!
//! Both buckets are full at the start. The second bucket of `tbf`, for a peak rate, is not implemented. Neither of the
//! two marks packets; as in Linux, they drop them.

use dupack_tcp::time::{Duration, Instant};

use super::store::{Line, Store, Waiting};
use super::{Fallout, Manage};
use crate::link::config::QueueLimit;
use crate::link::counters::DropCause;
use crate::units::BitRate;

/// Parameters of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenBucketConfig {
    /// Rate at which the bucket fills.
    pub rate: BitRate,
    /// Size of the bucket in bytes.
    pub burst_bytes: u32,
}

impl TokenBucketConfig {
    /// Creates a bucket of `burst_bytes` that fills at `rate`.
    #[must_use]
    pub const fn new(rate: BitRate, burst_bytes: u32) -> Self {
        Self { rate, burst_bytes }
    }

    /// Returns `true` if the parameters are valid: the bucket's size is above zero.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        self.burst_bytes > 0
    }
}

/// Number of tokens per byte. A token is a billionth of a bit: a rate of 1 bit/s adds one token per nanosecond.
const TOKENS_PER_BYTE: u128 = 8_000_000_000;

/// A bucket at run time, exact to a token.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: u128,
    capacity: u128,
    tokens: u128,
    filled: Instant,
}

impl Bucket {
    fn new(config: TokenBucketConfig) -> Self {
        let capacity = u128::from(config.burst_bytes) * TOKENS_PER_BYTE;
        Self {
            rate: u128::from(config.rate.as_bps()),
            capacity,
            tokens: capacity,
            filled: Instant::ZERO,
        }
    }

    /// Returns the number of tokens at `now`, which must not be before the time of the last call.
    fn tokens_at(&self, now: Instant) -> u128 {
        let elapsed = u128::from(now.since(self.filled).as_nanos());
        self.capacity.min(self.tokens + elapsed * self.rate)
    }

    /// Takes the tokens for `bytes` bytes, if there are enough.
    fn take(&mut self, now: Instant, bytes: u64) -> bool {
        let (have, need) = (self.tokens_at(now), u128::from(bytes) * TOKENS_PER_BYTE);
        if need > have {
            return false;
        }
        self.tokens = have - need;
        self.filled = now;
        true
    }

    /// Returns the time at which there are enough tokens for `bytes` bytes, if the bucket is large enough.
    fn enough_at(&self, now: Instant, bytes: u64) -> Instant {
        let need = u128::from(bytes) * TOKENS_PER_BYTE;
        let missing = need.saturating_sub(self.tokens_at(now));
        let nanos = missing.div_ceil(self.rate);
        now + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Drops packets for which the bucket has too few tokens.
#[derive(Clone, Debug)]
pub(in crate::link) struct Policer {
    bucket: Bucket,
}

impl Policer {
    pub(in crate::link) fn new(config: TokenBucketConfig) -> Self {
        Self {
            bucket: Bucket::new(config),
        }
    }

    /// Returns the cause if a packet of `bytes` bytes is dropped.
    pub(in crate::link) fn refuse(&mut self, now: Instant, bytes: u32) -> Option<DropCause> {
        let conforms = self.bucket.take(now, u64::from(bytes));
        (!conforms).then_some(DropCause::Policed)
    }
}

/// A queue of packets that wait for tokens.
#[derive(Clone, Debug)]
pub(in crate::link) struct Shaper {
    store: Store,
    line: Line,
    bucket: Bucket,
    burst_bytes: u64,
}

impl Shaper {
    pub(super) fn new(config: TokenBucketConfig, limit: QueueLimit) -> Self {
        Self {
            store: Store::new(limit),
            line: Line::default(),
            bucket: Bucket::new(config),
            burst_bytes: u64::from(config.burst_bytes),
        }
    }
}

impl Manage for Shaper {
    fn enqueue(&mut self, _: Instant, packet: Waiting, _: &mut Fallout) -> Result<(), DropCause> {
        if packet.bytes() > self.burst_bytes {
            return Err(DropCause::Policed);
        }
        if !self.store.has_room(packet.bytes()) {
            return Err(DropCause::QueueFull);
        }
        self.store.push(&mut self.line, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, _: &mut Fallout) -> Option<Waiting> {
        let bytes = self.store.first(&self.line)?.bytes();
        if !self.bucket.take(now, bytes) {
            return None;
        }
        self.store.pop(&mut self.line)
    }

    fn ready(&self, now: Instant) -> Option<Instant> {
        let first = self.store.first(&self.line)?;
        Some(self.bucket.enough_at(now, first.bytes()))
    }

    fn store(&self) -> &Store {
        &self.store
    }
}
