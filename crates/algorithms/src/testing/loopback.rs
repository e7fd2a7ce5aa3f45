//! A sender and a receiver at either end of a path that loses what it is told to.

use std::collections::VecDeque;

use dupack_tcp::options::Dsack;
use dupack_tcp::receiver::{AckPolicy, Reading, TimestampEcho};
use dupack_tcp::segment::{Ack, DataSegment};
use dupack_tcp::sender::SenderStats;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;
use dupack_tcp::{Receiver, ReceiverConfig, Sender, Transmit};

use super::{DEFAULT_PEER_WINDOW, SMSS, Setup};

impl Setup {
    /// Carries `segments` segments over a link of 50 ms each way that loses every transmission
    /// for which `lost` holds: it is given the place of the transmission, from 1, and the number
    /// of the segment. ACKs are not lost.
    ///
    /// # Panics
    /// If the transfer stops before everything is acknowledged.
    pub(crate) fn transfer(
        self,
        segments: u64,
        mut lost: impl FnMut(u64, u64) -> bool,
    ) -> Transfer {
        let mut loopback = self.loopback(Path::SHORT);
        loopback.sender.write(segments * u64::from(SMSS));
        loopback.run(Instant::FAR_FUTURE, &mut |t, _| {
            lost(t.order, t.offset / u64::from(SMSS))
        });
        assert!(loopback.sender.is_done(), "{:?}", loopback.sender);
        Transfer {
            finished: loopback.now,
            stats: *loopback.sender.stats(),
        }
    }

    /// The sender, and a receiver that offers what the recovery needs, at either end of `path`.
    pub(super) fn loopback(self, path: Path) -> Loopback {
        let (sender, needs) = self.sender();
        let echo = if needs.trigger_timestamps {
            TimestampEcho::Trigger
        } else {
            TimestampEcho::Standard
        };
        let receiver = Receiver::new(ReceiverConfig {
            irs: sender.config().isn,
            mss: SMSS,
            buffer: DEFAULT_PEER_WINDOW,
            ack_policy: AckPolicy::Immediate,
            sack: sender.config().sack,
            dsack: Dsack::when(needs.dsack),
            timestamps: sender.config().timestamps.map(|_| echo),
            order_echo: sender.config().order_echo,
            application: Reading::AtOnce,
        });
        Loopback {
            sender,
            receiver,
            path,
            now: Instant::ZERO,
            data: VecDeque::new(),
            data_free: Instant::ZERO,
            acks: VecDeque::new(),
        }
    }
}

/// How a transfer went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// When the last ACK came.
    pub(crate) finished: Instant,
    /// What the sender counted.
    pub(crate) stats: SenderStats,
}

/// The way from the sender to the receiver and back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Propagation delay each way.
    pub(super) delay: Duration,
    /// Time that a segment occupies the link; ACKs occupy it for none.
    pub(super) transmission: Duration,
}

impl Path {
    /// 50 ms each way, at any rate.
    const SHORT: Self = Self {
        delay: Duration::from_millis(50),
        transmission: Duration::ZERO,
    };
}

/// A sender and a receiver at either end of a path.
pub(super) struct Loopback {
    pub(super) sender: Sender,
    receiver: Receiver,
    path: Path,
    now: Instant,
    data: VecDeque<(Instant, DataSegment)>,
    /// When the link can take the next segment.
    data_free: Instant,
    acks: VecDeque<(Instant, Ack)>,
}

impl Loopback {
    /// Runs until everything is acknowledged, or until `end`. `lost` sees every transmission
    /// and the window in force.
    pub(super) fn run(&mut self, end: Instant, lost: &mut dyn FnMut(&Transmit, Window) -> bool) {
        for _ in 0..10_000_000 {
            self.emit(lost);
            if self.sender.is_done() || !self.step(end) {
                return;
            }
        }
        panic!("the transfer does not end: {:?}", self.sender);
    }

    /// The next event, whatever it is; says whether there was one before `end`.
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
            let (_, segment) = self.data.pop_front().expect("it is there");
            self.receiver.handle_data(self.now, &segment);
            while let Some(ack) = self.receiver.poll_ack() {
                self.acks.push_back((self.now + self.path.delay, ack));
            }
        } else if ack_at == Some(next) {
            let (_, ack) = self.acks.pop_front().expect("it is there");
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

/// A coin that comes up `true` with probability `rate`: a small deterministic generator
/// (Vigna's SplitMix64), so that a failing seed can be run again.
pub(crate) fn coin(seed: u64, rate: f64) -> impl FnMut() -> bool {
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
