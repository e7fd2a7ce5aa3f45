//! Sender and receiver at the ends of a path that drops chosen segments.

use alloc::collections::VecDeque;

use crate::segment::{Ack, DataSegment};
use crate::sender::SenderStats;
use crate::time::{Duration, Instant};
use crate::window::Window;
use crate::{Receiver, Sender, Transmit};

/// Result of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Arrival time of the last ACK.
    pub finished: Instant,
    /// Counters of the sender.
    pub stats: SenderStats,
}

/// Path from the sender to the receiver and back.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Propagation delay in each direction.
    pub delay: Duration,
    /// Transmission time of a segment. ACKs have no transmission time.
    pub transmission: Duration,
}

impl Path {
    /// Path with a delay of 50 ms in each direction and an unlimited rate.
    pub const SHORT: Self = Self {
        delay: Duration::from_millis(50),
        transmission: Duration::ZERO,
    };
}

/// Sender and receiver at the ends of a path.
#[derive(Debug)]
pub struct Loopback {
    /// The sender.
    pub sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) path: Path,
    pub(super) now: Instant,
    pub(super) data: VecDeque<(Instant, DataSegment)>,
    /// Time at which the link can send the next segment.
    pub(super) data_free: Instant,
    pub(super) acks: VecDeque<(Instant, Ack)>,
}

impl Loopback {
    /// Returns the result of the transfer.
    ///
    /// # Panics
    ///
    /// Panics if not all data is acknowledged.
    #[must_use]
    pub fn finished(&self) -> Transfer {
        assert!(self.sender.is_done(), "{:?}", self.sender);
        Transfer {
            finished: self.now,
            stats: self.sender.stats(),
        }
    }

    /// Runs until all data is acknowledged, or until `end`. `lost` is called for every transmission, with the current
    /// window, and returns `true` if the transmission is lost.
    ///
    /// # Panics
    ///
    /// Panics if the transfer does not end.
    pub fn run(&mut self, end: Instant, lost: &mut dyn FnMut(&Transmit, Window) -> bool) {
        for _ in 0..10_000_000 {
            self.emit(lost);
            if self.sender.is_done() || !self.step(end) {
                return;
            }
        }
        panic!("the transfer does not end: {:?}", self.sender);
    }

    /// Handles the next event. Returns `false` if there was none before `end`.
    fn step(&mut self, end: Instant) -> bool {
        let data_at = self.data.front().map(|d| d.0);
        let ack_at = self.acks.front().map(|a| a.0);
        let timer_at = self.sender.next_timeout();
        let next = [data_at, ack_at, timer_at].into_iter().flatten().min();
        let Some(next) = next.filter(|&next| next < end) else {
            return false;
        };
        self.now = self.now.max(next);
        if data_at == Some(next) {
            let (_, segment) = self.data.pop_front().expect("the queue is not empty");
            self.receiver.handle_data(self.now, &segment);
            while let Some(ack) = self.receiver.poll_ack() {
                self.acks.push_back((self.now + self.path.delay, ack));
            }
        } else if ack_at == Some(next) {
            let (_, ack) = self.acks.pop_front().expect("the queue is not empty");
            self.sender.handle_ack(self.now, &ack);
        } else {
            self.sender.handle_timeout(self.now);
        }
        true
    }

    fn emit(&mut self, lost: &mut dyn FnMut(&Transmit, Window) -> bool) {
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            if !lost(&transmit, self.sender.window()) {
                self.data_free = self.data_free.max(self.now) + self.path.transmission;
                self.data
                    .push_back((self.data_free + self.path.delay, transmit.segment));
            }
        }
    }
}

/// Returns a function that returns `true` with probability `rate`. It is deterministic (Vigna's SplitMix64), so that a
/// failing test can be repeated with the same seed.
pub fn coin(seed: u64, rate: f64) -> impl FnMut() -> bool {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 53) as f64 <= rate
    }
}
