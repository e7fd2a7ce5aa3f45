//! Hostile network for property tests: it loses, delays, reorders and duplicates segments and ACKs, acknowledges parts
//! of segments, and makes the receiver renege. After some time, these disturbances stop, and then every transfer must
//! end. Everything depends only on a seed, which a failing test prints.

use std::collections::BinaryHeap;

use dupack_tcp::options::{Dsack, Sack};
use dupack_tcp::receiver::{AckPolicy, Reading, TimestampEcho};
use dupack_tcp::recovery::Recovery;
use dupack_tcp::segment::{Ack, DataSegment};
use dupack_tcp::sender::{TimestampClock, TimestampValues};
use dupack_tcp::time::Duration;
use dupack_tcp::{Receiver, ReceiverConfig};

use crate::catalog::{Entry, Value};
use crate::testing::{AckIn, SMSS, Setup, Timeline, at};

/// Random number generator (Vigna's SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// Returns `true` with probability 1/`n`; always `false` if `n` is 0.
    fn once_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }

    /// Returns a random element of `choices`.
    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Prints the seed if the test panics while this value exists.
struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay with seed {}", self.0);
        }
    }
}

/// Probabilities of events: each is 1 divided by this number; 0 means never.
#[derive(Clone, Copy, Debug)]
struct Dangers {
    data_lost: u64,
    ack_lost: u64,
    repeated: u64,
    partial_ack: u64,
    reneging: u64,
    /// Maximum extra delay of segments and ACKs, in milliseconds.
    data_jitter_ms: u64,
    ack_jitter_ms: u64,
}

impl Dangers {
    const NONE: Self = Self {
        data_lost: 0,
        ack_lost: 0,
        repeated: 0,
        partial_ack: 0,
        reneging: 0,
        data_jitter_ms: 0,
        ack_jitter_ms: 0,
    };

    fn draw(random: &mut Random) -> Self {
        Self {
            data_lost: random.of(&[0, 2, 3, 5, 10, 30]),
            ack_lost: random.of(&[0, 0, 2, 4, 10]),
            repeated: random.of(&[0, 0, 10]),
            partial_ack: random.of(&[0, 0, 10]),
            reneging: random.of(&[0, 0, 0, 0, 60]),
            data_jitter_ms: random.of(&[0, 0, 5, 30]),
            ack_jitter_ms: random.of(&[0, 0, 5, 30]),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Packet {
    Data(DataSegment),
    Ack(Ack),
}

/// Packet in transit. The heap returns the earliest packet first, and packets with equal times in the order in which
/// they were sent.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    due_ms: u64,
    number: u64,
    packet: Packet,
}

impl PartialEq for UnderWay {
    fn eq(&self, other: &Self) -> bool {
        (self.due_ms, self.number) == (other.due_ms, other.number)
    }
}
impl Eq for UnderWay {}
impl PartialOrd for UnderWay {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for UnderWay {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.due_ms, other.number).cmp(&(self.due_ms, self.number))
    }
}

const DELAY_MS: u64 = 20;
/// Time at which the disturbances stop.
const STORM_MS: u64 = 4_000;
/// Time limit, which allows at least six backed-off timeouts.
const END_MS: u64 = 600_000;

struct Network {
    random: Random,
    dangers: Dangers,
    timeline: Timeline,
    receiver: Receiver,
    packets: BinaryHeap<UnderWay>,
    now_ms: u64,
    number: u64,
}

/// Runs a transfer of 10 to 49 segments with `entry`, in a network that `seed` determines.
pub(crate) fn transfer(
    entry: Entry<dyn Recovery>,
    seed: u64,
    adjust: impl FnOnce(Setup, &mut Random) -> Setup,
) {
    let replay = Replay(seed);
    let mut random = Random(seed);
    let dangers = Dangers::draw(&mut random);
    let window = random.of(&[1.0, 3.0, 10.0, 30.0]);
    let setup = adjust(
        Setup::new(entry)
            .window(window)
            .ssthresh(random.of(&[2.0, 100.0])),
        &mut random,
    );
    let setup = match random.below(6) {
        0 => setup.configure(|c| c.peer_window = SMSS),
        1 => setup.configure(|c| c.peer_window = 8 * SMSS),
        _ => setup,
    };
    let segments = 10 + random.below(40);
    let timeline = setup.start(segments);
    let config = timeline.sender().config();
    let mut receiver = ReceiverConfig::new(SMSS);
    receiver.buffer = config.peer_window;
    receiver.ack_policy = random.of(&[
        AckPolicy::Immediate,
        AckPolicy::Delayed(Duration::from_millis(40)),
    ]);
    receiver.sack = Sack::Permitted;
    receiver.dsack = random.of(&[Dsack::Reported, Dsack::Absent]);
    receiver.timestamps = config
        .timestamps
        .map(|_| random.of(&[TimestampEcho::Trigger, TimestampEcho::Standard]));
    receiver.order_echo = config.order_echo;
    receiver.application = Reading::AtOnce;
    let receiver = Receiver::new(receiver);
    Network {
        random,
        dangers,
        timeline,
        receiver,
        packets: BinaryHeap::new(),
        now_ms: 0,
        number: 0,
    }
    .run();
    drop(replay);
}

impl Network {
    fn run(mut self) {
        self.launch();
        while !self.timeline.sender().is_done() {
            if self.now_ms > STORM_MS {
                self.dangers = Dangers::NONE;
            }
            assert!(self.now_ms < END_MS, "no end: {:#?}", self.timeline);
            self.step();
        }
    }

    fn step(&mut self) {
        let packet_ms = self.packets.peek().map(|p| p.due_ms);
        let timer_ms = self.timeline.sender().next_timeout().map(round_up_ms);
        let delayed_ms = self.receiver.next_timeout().map(round_up_ms);
        let next_ms = [packet_ms, timer_ms, delayed_ms]
            .into_iter()
            .flatten()
            .min();
        let Some(next_ms) = next_ms else {
            panic!("no event is left: {:#?}", self.timeline);
        };
        self.now_ms = self.now_ms.max(next_ms);
        self.timeline.wait(self.now_ms);
        self.launch();
        self.receiver.handle_timeout(at(self.now_ms));
        if packet_ms == Some(next_ms)
            && let Some(arrived) = self.packets.pop()
        {
            match arrived.packet {
                Packet::Data(segment) => {
                    self.receiver.handle_data(at(self.now_ms), &segment);
                    if self.random.once_in(self.dangers.reneging) {
                        self.receiver.renege();
                    }
                }
                Packet::Ack(ack) => {
                    self.timeline.receive(self.now_ms, AckIn(ack));
                    self.launch();
                }
            }
        }
        while let Some(mut ack) = self.receiver.poll_ack() {
            if self.random.once_in(self.dangers.partial_ack) && ack.ack.0 >= SMSS {
                ack.ack.0 -= self.random.below(u64::from(SMSS)) as u32;
            }
            let (lost, jitter) = (self.dangers.ack_lost, self.dangers.ack_jitter_ms);
            self.send(Packet::Ack(ack), lost, jitter);
        }
    }

    /// Passes the segments of the last step to the network.
    fn launch(&mut self) {
        let segments: Vec<_> = self
            .timeline
            .transmits()
            .iter()
            .map(|t| t.segment)
            .collect();
        let (lost, jitter) = (self.dangers.data_lost, self.dangers.data_jitter_ms);
        for segment in segments {
            self.send(Packet::Data(segment), lost, jitter);
        }
    }

    fn send(&mut self, packet: Packet, lost: u64, jitter_ms: u64) {
        let copies = 1 + u64::from(self.random.once_in(self.dangers.repeated));
        for _ in 0..copies {
            if self.random.once_in(lost) {
                continue;
            }
            let jitter_ms = self.random.below(jitter_ms + 1);
            self.number += 1;
            self.packets.push(UnderWay {
                due_ms: self.now_ms + DELAY_MS + jitter_ms,
                number: self.number,
                packet,
            });
        }
    }
}

fn round_up_ms(instant: dupack_tcp::time::Instant) -> u64 {
    instant.as_nanos().div_ceil(1_000_000)
}

/// Chooses timestamps at random: those that the recovery requests, unique ones, or ones shared by all segments sent
/// within 300 ms, which is several round trips.
pub(crate) fn any_timestamps(setup: Setup, random: &mut Random) -> Setup {
    match random.below(3) {
        0 => setup,
        1 => setup.configure(|c| {
            c.timestamps = Some(TimestampClock {
                tick: Duration::from_millis(1),
                values: TimestampValues::Unique,
            });
        }),
        _ => setup.configure(|c| {
            c.timestamps = Some(TimestampClock {
                tick: Duration::from_millis(300),
                values: TimestampValues::Clock,
            });
        }),
    }
}

/// Sets a random `dup_threshold` between 1 and 8, most often 3.
pub(crate) fn any_threshold(setup: Setup, random: &mut Random) -> Setup {
    setup.set_value(
        "dup_threshold",
        Value::Integer(random.of(&[3, 3, 3, 1, 2, 5, 8])),
    )
}
