//! Random faults on a path and in a peer, for the tests of the SACK-based recoveries. Every transmission is checked
//! against the duties of a recovery towards the sender.

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::options::Sack;
use dupack_tcp::recovery::Recovery;
use dupack_tcp::response::Response;
use dupack_tcp::rtt::RttSampling;
use dupack_tcp::scoreboard::Reported;
use dupack_tcp::segment::{Ack, SackBlock};
use dupack_tcp::sender::{DuplicateAckRule, IdleRule, TransmitKind};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::{Window, WindowRounding};
use dupack_tcp::{Sender, SenderConfig, Stack, Transmit};

use crate::catalog::{Context, Dialect, Entry, Value};
use crate::testing::{Aimd, SMSS};

#[derive(Debug)]
struct Nothing;

impl Differentiation for Nothing {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}
    fn judge(&mut self, _: &LossFacts) -> LossCause {
        LossCause::Congestion
    }
}

impl Response for Nothing {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}
    fn respond(&mut self, _: &LossFacts, congestion: Window) -> Window {
        congestion
    }
}

/// Returns the recovery of `entry` with the defaults of `dialect`, except for `settings`.
pub(super) fn build(
    entry: &Entry<dyn Recovery>,
    dialect: Dialect,
    settings: &[(&'static str, &'static str)],
) -> Box<dyn Recovery> {
    let mut values = entry.defaults(dialect);
    for &(name, word) in settings {
        let set = values.set(name, Value::word(word));
        set.unwrap_or_else(|error| panic!("{error}"));
    }
    entry.build(&values, &Context::new(SMSS))
}

/// Returns a sender that follows ns-2's rules, except for the effect of `change`.
pub(super) fn sender(
    recovery: Box<dyn Recovery>,
    change: impl FnOnce(&mut SenderConfig),
) -> Sender {
    let smss = f64::from(SMSS);
    let mut config = SenderConfig::new(SMSS);
    config.initial_window = smss;
    config.initial_ssthresh = 10.0 * smss;
    config.rounding = WindowRounding::NsTwo;
    config.rtt.initial_rto = Duration::from_secs(3);
    config.rtt.min_rto = Duration::from_millis(200);
    config.rtt.granularity = Duration::from_millis(10);
    config.rtt.sampling = RttSampling::OnePerWindow;
    config.sack = Sack::Permitted;
    config.duplicate_ack = DuplicateAckRule::AckNumberOnly;
    config.idle = IdleRule::Keep;
    config.peer_window = 1000 * SMSS;
    change(&mut config);
    let stack = Stack {
        recovery,
        control: Box::new(Aimd::Window),
        differentiation: Box::new(Nothing),
        response: Box::new(Nothing),
    };
    Sender::new(config, stack)
}

/// Generator of deterministic random numbers (Vigna's SplitMix64).
#[derive(Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    /// Returns `true` with a probability of `percent` percent.
    pub(super) fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Receiver with all kinds of faults: it discards data that it has sacked, accepts and reports parts of segments,
/// reports its blocks in any order, and closes its window.
#[derive(Debug)]
struct Peer {
    received: Vec<bool>,
    next: u64,
    edge: u64,
}

impl Peer {
    fn take(&mut self, start: u64, len: u32, chance: &mut Chance) {
        let end = (start + u64::from(len)).min(self.edge);
        for byte in start.min(end)..end {
            self.received[byte as usize] = true;
        }
        if chance.happens(1) {
            // The receiver reneges (RFC 2018 §8).
            self.received[self.next as usize..].fill(false);
        }
        while self.received.get(self.next as usize) == Some(&true) {
            self.next += 1;
        }
    }

    fn ack(&mut self, chance: &mut Chance) -> Ack {
        let room = match chance.below(10) {
            0 => 0,
            1 => chance.below(5000),
            _ => 40_000,
        };
        self.edge = self.edge.max(self.next + room);
        let mut ack = Ack {
            ack: SeqNumber(self.next as u32),
            window: (self.edge - self.next) as u32,
            ..Ack::default()
        };
        let mut runs = self.runs();
        for _ in 0..3 {
            if runs.is_empty() {
                break;
            }
            let run = chance.below(runs.len() as u64) as usize;
            let (start, mut end) = runs.swap_remove(run);
            if chance.happens(10) {
                end = start + 1 + chance.below(u64::from(end - start)) as u32;
            }
            ack.sacks.push(SackBlock {
                start: SeqNumber(start),
                end: SeqNumber(end),
            });
        }
        ack
    }

    fn runs(&self) -> Vec<(u32, u32)> {
        let mut runs = Vec::new();
        let mut at = self.next as usize;
        let last = self.received.len().min(at + 60_000);
        while at < last {
            if self.received[at] {
                let start = at;
                while at < last && self.received[at] {
                    at += 1;
                }
                runs.push((start as u32, at as u32));
            } else {
                at += 1;
            }
        }
        runs
    }
}

/// Permission to retransmit sacked segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SackedSegments {
    StayUnsent,
    MayBeResent,
}

/// Transfers data over a path with losses, duplicates and reordering in both directions, to a faulty peer, with
/// segments of all sizes. Checks that all data arrives, that only outstanding segments are retransmitted, and that
/// sacked segments are retransmitted only if this is permitted.
///
/// # Panics
/// If a check fails, or if no event is left.
pub(super) fn storm(recovery: Box<dyn Recovery>, seed: u64, sacked: SackedSegments) {
    let mut storm = Storm::new(recovery, seed, sacked);
    for _ in 0..200_000 {
        storm.write();
        storm.emit();
        if storm.sender.is_done() && storm.written == Storm::BYTES {
            return;
        }
        storm.step();
    }
    panic!("seed {seed}: no end: {:?}", storm.sender);
}

/// Sender, peer, and the packets between them.
struct Storm {
    seed: u64,
    chance: Chance,
    loss_percent: u64,
    sacked: SackedSegments,
    sender: Sender,
    peer: Peer,
    now: Instant,
    written: u64,
    /// Arrival time, start and length of each segment in transit.
    data: Vec<(Instant, u64, u32)>,
    acks: Vec<(Instant, Ack)>,
}

impl Storm {
    const BYTES: u64 = 150_000;

    fn new(recovery: Box<dyn Recovery>, seed: u64, sacked: SackedSegments) -> Self {
        let mut chance = Chance::new(seed);
        let loss_percent = chance.below(30);
        let sender = sender(recovery, |config| {
            config.initial_window = 20.0 * f64::from(SMSS);
            config.peer_window = 10_000;
            config.duplicate_ack = DuplicateAckRule::Standard;
            config.rtt.sampling = RttSampling::EverySegment;
        });
        Self {
            seed,
            chance,
            loss_percent,
            sacked,
            sender,
            peer: Peer {
                received: vec![false; Self::BYTES as usize],
                next: 0,
                edge: 10_000,
            },
            now: Instant::ZERO,
            written: 0,
            data: Vec::new(),
            acks: Vec::new(),
        }
    }

    /// Writes data as the application: at random times, and always if the sender has nothing to do.
    fn write(&mut self) {
        let left = Self::BYTES - self.written;
        if left > 0 && (self.sender.is_done() || self.chance.happens(30)) {
            let more = (self.chance.below(4 * u64::from(SMSS)) + 1).min(left);
            self.sender.write(more);
            self.written += more;
        }
    }

    fn emit(&mut self) {
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            self.check(&transmit);
            let copies = 1 + u64::from(self.chance.happens(3));
            for _ in 0..copies {
                if !self.chance.happens(self.loss_percent) {
                    let there = self.now + self.delay(10, 40);
                    self.data
                        .push((there, transmit.offset, transmit.segment.len));
                }
            }
        }
    }

    /// Returns 50 ms; with a probability of `percent` percent, up to `late_ms` are added.
    fn delay(&mut self, percent: u64, late_ms: u64) -> Duration {
        let late = if self.chance.happens(percent) {
            self.chance.below(late_ms)
        } else {
            0
        };
        Duration::from_millis(50 + late)
    }

    fn step(&mut self) {
        let data_at = self.data.iter().map(|d| d.0).min();
        let ack_at = self.acks.iter().map(|a| a.0).min();
        let next = [data_at, ack_at, self.sender.next_timeout()];
        let Some(next) = next.into_iter().flatten().min() else {
            let stuck = self.written == Self::BYTES;
            assert!(!stuck, "seed {}: stuck: {:?}", self.seed, self.sender);
            return;
        };
        self.now = self.now.max(next);
        if let Some(i) = self.data.iter().position(|d| d.0 <= self.now) {
            let (_, start, len) = self.data.remove(i);
            self.peer.take(start, len, &mut self.chance);
            let ack = self.peer.ack(&mut self.chance);
            if !self.chance.happens(self.loss_percent / 2) {
                let there = self.now + self.delay(5, 20);
                self.acks.push((there, ack));
            }
        } else if let Some(i) = self.acks.iter().position(|a| a.0 <= self.now) {
            let (_, ack) = self.acks.remove(i);
            self.sender.handle_ack(self.now, &ack);
        } else {
            self.sender.handle_timeout(self.now);
        }
    }

    fn check(&self, transmit: &Transmit) {
        if transmit.kind != TransmitKind::Repeat {
            return;
        }
        let seed = self.seed;
        let board = self.sender.scoreboard();
        assert!(transmit.offset >= board.una(), "seed {seed}: outstanding");
        let segment = board.get(board.id_at(transmit.offset));
        let segment = segment.expect("it is outstanding");
        if self.sacked == SackedSegments::StayUnsent {
            assert_eq!(segment.reported, Reported::Missing, "seed {seed}: sacked");
        }
    }
}
