//! Tests of a replay: with the packets of our own sender, it determines the same facts as the sender, for every stack;
//! and malformed packets never make it panic.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex};

use dupack_algorithms::catalog::dialect::{receiver_config, sender_config};
use dupack_algorithms::catalog::{Catalog, Context, Dialect, StackSpec};
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, AckKind, LossCause, LossFacts, LossRule, View};
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::recovery::Recovery;
use dupack_tcp::replay::{Replay, ReplayLimits, SendingKind, Unusable};
use dupack_tcp::scoreboard::{DeliveredBy, Segment};
use dupack_tcp::segment::{Ack, DataSegment, SackBlock};
use dupack_tcp::sender::{SenderConfig, TransmitKind};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{Receiver, Sender};

static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

const SMSS: u32 = 1000;

/// Facts of an ACK, without those that only the sender can know (the limit of its transmissions, and the segments sent
/// by limited transmit).
#[derive(Clone, Debug, PartialEq)]
struct Learnt {
    una: u64,
    acked_bytes: u64,
    delivered_bytes: u64,
    sacked_bytes: u64,
    delivered: Vec<(u64, Segment, DeliveredBy)>,
    kind: AckKind,
    dup_acks: u32,
    dsack: Option<(u64, u64)>,
    prior_flight: u64,
    rtt: Option<Duration>,
    timestamp_echo: Option<u32>,
    order_echo: Option<u64>,
}

impl Learnt {
    fn of(facts: &AckFacts<'_>) -> Self {
        let delivered = facts.delivered.iter().map(|d| (d.id.0, d.segment, d.by));
        Self {
            una: facts.una,
            acked_bytes: facts.acked_bytes,
            delivered_bytes: facts.delivered_bytes,
            sacked_bytes: facts.sacked_bytes,
            delivered: delivered.collect(),
            kind: facts.kind,
            dup_acks: facts.dup_acks,
            dsack: facts.dsack,
            prior_flight: facts.prior_flight,
            rtt: facts.rtt,
            timestamp_echo: facts.timestamp_echo,
            order_echo: facts.order_echo,
        }
    }
}

/// Loss event: its time, its rule, and the first lost byte.
type Event = (Instant, LossRule, u64);

/// Differentiation that records the facts that the sender's plug-ins receive.
#[derive(Debug)]
struct Recorder {
    differentiation: Box<dyn Differentiation>,
    told: Arc<Mutex<Told>>,
}

#[derive(Debug, Default)]
struct Told {
    last: Option<Learnt>,
    events: Vec<Event>,
}

impl Differentiation for Recorder {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.told.lock().expect("no test panics in here").last = Some(Learnt::of(ack));
        self.differentiation.on_ack(ack, view);
    }

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        if loss.timeouts == 0 {
            let event = (loss.now, loss.rule, loss.segment.start);
            let mut told = self.told.lock().expect("no test panics in here");
            told.events.push(event);
        }
        self.differentiation.judge(loss)
    }
}

/// Event at the sender's end of the path.
#[derive(Clone, Debug)]
enum Passed {
    Sent(DataSegment),
    Ack(Ack, Box<Option<Learnt>>),
    TimedOut,
}

/// Random number generator (Vigna's SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Returns the log of a transfer of 400 segments over a path that loses one packet in twenty, and delays and duplicates
/// some, with the loss events of the sender.
fn log(stack: &StackSpec, dialect: Dialect, seed: u64) -> (Vec<(Instant, Passed)>, Vec<Event>) {
    let needs = stack.needs(dialect);
    let mut built = stack.build(dialect, &Context::new(SMSS));
    let told = Arc::new(Mutex::new(Told::default()));
    built.differentiation = Box::new(Recorder {
        differentiation: built.differentiation,
        told: Arc::clone(&told),
    });
    let mut sender = Sender::new(sender_config(dialect, SMSS, &needs), built);
    let policy = AckPolicy::Delayed(Duration::from_millis(40));
    let mut receiver = Receiver::new(receiver_config(dialect, SMSS, &needs, policy));
    let mut random = Random(seed);
    let mut data: VecDeque<(Instant, DataSegment)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, Ack)> = VecDeque::new();
    let mut now = Instant::ZERO;
    let mut log = Vec::new();
    sender.write(400 * u64::from(SMSS) - 300);
    while !sender.is_done() {
        while let Some(transmit) = sender.poll_transmit(now) {
            if transmit.kind != TransmitKind::Probe {
                log.push((now, Passed::Sent(transmit.segment)));
            }
            for _ in 0..1 + u64::from(random.below(50) == 0) {
                if random.below(20) > 0 {
                    let late = if random.below(20) == 0 { 15 } else { 0 };
                    data.push_back((now + Duration::from_millis(30 + late), transmit.segment));
                }
            }
        }
        while let Some(ack) = receiver.poll_ack() {
            if random.below(20) > 0 {
                acks.push_back((now + Duration::from_millis(30), ack));
            }
        }
        let first = |queue: &[Option<Instant>]| queue.iter().flatten().min().copied();
        let data_at = data.iter().map(|(at, _)| *at).min();
        let ack_at = acks.front().map(|(at, _)| *at);
        let due = [
            data_at,
            ack_at,
            sender.next_timeout(),
            receiver.next_timeout(),
        ];
        now = first(&due).expect("an event is left").max(now);
        if data_at.is_some_and(|at| at <= now) {
            let index = data.iter().position(|(at, _)| *at <= now);
            let (_, segment) = data
                .remove(index.expect("one is due"))
                .expect("it is there");
            receiver.handle_data(now, &segment);
        } else if ack_at.is_some_and(|at| at <= now) {
            let (_, ack) = acks.pop_front().expect("it is there");
            sender.handle_ack(now, &ack);
            let learnt = told.lock().expect("no test panics in here").last.take();
            log.push((now, Passed::Ack(ack, Box::new(learnt))));
        } else {
            let timeouts = sender.stats().timeouts;
            sender.handle_timeout(now);
            if sender.stats().timeouts > timeouts {
                log.push((now, Passed::TimedOut));
            }
            receiver.handle_timeout(now);
        }
    }
    let events = told.lock().expect("no test panics in here").events.clone();
    (log, events)
}

/// Recovery that receives each event of a replay, and the losses that it detects.
#[derive(Debug)]
struct Shadow {
    recovery: Box<dyn Recovery>,
    events: Vec<Event>,
}

/// Passes the log to a replay and to a shadow recovery, and compares the facts.
fn replay(
    config: SenderConfig,
    log: &[(Instant, Passed)],
    shadow: &mut Shadow,
    what: &str,
) -> Replay {
    let mut replay = Replay::new(config, ReplayLimits::default());
    for (number, (now, passed)) in log.iter().enumerate() {
        let now = *now;
        match passed {
            Passed::Sent(segment) => {
                let sending = replay.sent(now, segment).expect("it is of this stream");
                assert_eq!((sending.sent.len(), sending.unseen_bytes), (1, 0));
                shadow.recovery.on_sent(&sending.sent[0], &sending.view);
            }
            Passed::Ack(ack, learnt) => {
                let heard = replay.acknowledged(now, ack).expect("it is of this stream");
                assert_eq!(heard.unseen_bytes, 0);
                if let Some(learnt) = &**learnt {
                    let replayed = Learnt::of(&heard.facts);
                    assert_eq!(&replayed, learnt, "{what}, event {number}");
                }
                let outcome = shadow.recovery.on_ack(&heard.facts, &heard.view);
                if let Some(event) = outcome.loss {
                    let board = heard.view.scoreboard;
                    let segment = event.repaired.or(board.get(event.segment).copied());
                    let start = segment.expect("it is outstanding, or was repaired").start;
                    shadow.events.push((now, event.rule, start));
                }
            }
            Passed::TimedOut => {
                replay.timed_out(now);
                shadow.recovery.on_rto(&replay.view(now));
            }
        }
    }
    replay
}

#[test]
fn a_replay_of_our_own_packets_learns_what_the_sender_learned() {
    for stack in CATALOG.stacks_by_pairs() {
        for dialect in Dialect::ALL {
            for seed in 0..3 {
                let what = format!("{stack} in {dialect}, seed {seed}");
                let (log, _) = log(&stack, dialect, seed);
                let mut shadow = Shadow {
                    recovery: stack.build(dialect, &Context::new(SMSS)).recovery,
                    events: Vec::new(),
                };
                let config = sender_config(dialect, SMSS, &stack.needs(dialect));
                let replay = replay(config, &log, &mut shadow, &what);
                let end = replay.view(Instant::ZERO);
                assert!(end.scoreboard.is_empty(), "{what}: all is acknowledged");
            }
        }
    }
}

#[test]
fn a_recovery_in_its_shadow_calls_the_same_segments_lost() {
    // These recoveries detect losses only by ACKs, and not by the window or by timers.
    let mut found = 0;
    for recovery in ["reno", "sack", "fack", "momentary", "le"] {
        let stack = StackSpec::parse(&format!("{recovery}/reno"), &CATALOG).expect("a stack");
        for seed in 0..20 {
            let (log, events) = log(&stack, Dialect::Rfc, seed);
            let mut shadow = Shadow {
                recovery: stack.build(Dialect::Rfc, &Context::new(SMSS)).recovery,
                events: Vec::new(),
            };
            let config = sender_config(Dialect::Rfc, SMSS, &stack.needs(Dialect::Rfc));
            replay(config, &log, &mut shadow, recovery);
            assert_eq!(shadow.events, events, "{stack}, seed {seed}");
            found += events.len();
        }
    }
    assert!(found > 100, "{found} loss events");
}

#[test]
fn no_packet_is_too_wild() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut config = SenderConfig::new(SMSS);
        let sacks = StackSpec::parse("sack/reno", &CATALOG).expect("a stack");
        config.sack = sender_config(Dialect::Rfc, SMSS, &sacks.needs(Dialect::Rfc)).sack;
        config.isn = SeqNumber(random.below(1 << 32) as u32);
        let mut limits = ReplayLimits::default();
        limits.segments = 2000;
        limits.jump_bytes = 1 << 20;
        limits.repetitions = 10;
        let mut replay = Replay::new(config, limits);
        let mut now = Instant::ZERO;
        for _ in 0..2000 {
            // Time may stand still or run backwards.
            now = Instant::from_nanos(now.as_nanos() + random.below(1000))
                - Duration::from_nanos(100);
            let mut near = || {
                let spread =
                    [100, 10_000, 10_000, 10_000, 1 << 21, 1 << 32][random.below(6) as usize];
                let nxt = replay.view(now).scoreboard.nxt();
                let at = config
                    .isn
                    .at(nxt)
                    .0
                    .wrapping_add(random.below(spread) as u32);
                SeqNumber(at.wrapping_sub((spread / 2) as u32))
            };
            let (one, other, third) = (near(), near(), near());
            let sent = random.below(2) == 0;
            let refused = if sent {
                let segment = DataSegment {
                    seq: one,
                    len: [0, 1, 999, 1000, 65_000, u32::MAX][random.below(6) as usize],
                    timestamp: Some(random.below(1 << 32) as u32),
                    order: None,
                };
                replay.sent(now, &segment).err()
            } else {
                let mut ack = Ack {
                    ack: one,
                    window: random.below(1 << 32) as u32,
                    timestamp_echo: Some(random.below(1 << 32) as u32),
                    order_echo: Some(random.below(1 << 32) as u32),
                    ..Ack::default()
                };
                ack.sacks.push(SackBlock {
                    start: other,
                    end: third,
                });
                ack.sacks.push(SackBlock {
                    start: third,
                    end: one,
                });
                replay.acknowledged(now, &ack).err()
            };
            if random.below(50) == 0 {
                replay.timed_out(now);
            }
            let board = replay.view(now).scoreboard;
            assert!(board.len() < 2000 + 5000, "seed {seed}: {}", board.len());
            assert!(refused.is_none_or(|why| !why.to_string().is_empty()));
        }
    }
}

/// Returns a replay with SACK that begins at sequence number 5000.
fn from_the_middle() -> Replay {
    let stack = StackSpec::parse("sack/reno", &CATALOG).expect("a stack");
    let mut config = sender_config(Dialect::Rfc, SMSS, &stack.needs(Dialect::Rfc));
    config.isn = SeqNumber(5000);
    Replay::new(config, ReplayLimits::default())
}

fn segment(seq: u32, len: u32) -> DataSegment {
    DataSegment {
        seq: SeqNumber(seq),
        len,
        ..DataSegment::default()
    }
}

fn ack(number: u32) -> Ack {
    Ack {
        ack: SeqNumber(number),
        window: 60_000,
        ..Ack::default()
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn unseen_segments_are_reported_and_time_nothing() {
    let mut replay = from_the_middle();
    // Bytes 5000 to 6999 are not in the capture.
    let sending = replay.sent(at(0), &segment(7000, 1000)).expect("usable");
    assert_eq!(
        (sending.kind, sending.unseen_bytes),
        (SendingKind::First, 2000)
    );
    // Bytes 8000 to 8999 are not in the capture either, but they are acknowledged.
    let heard = replay.acknowledged(at(50), &ack(9000)).expect("usable");
    assert_eq!((heard.unseen_bytes, heard.facts.acked_bytes), (1000, 4000));
    assert_eq!(heard.facts.rtt, None);
    // The first ACK is from before the beginning of the capture, and the segment belongs to another stream.
    assert_eq!(
        replay
            .acknowledged(at(51), &ack(4000))
            .map(|h| h.facts.kind)
            .err(),
        Some(Unusable::BeforeStart)
    );
    assert_eq!(
        replay
            .sent(at(52), &segment(1 << 30, 1000))
            .map(|s| s.kind)
            .err(),
        Some(Unusable::TooFar)
    );
}

#[test]
fn a_large_segment_is_cut_up_and_repeated_in_parts() {
    let mut replay = from_the_middle();
    let sending = replay.sent(at(0), &segment(5000, 3500)).expect("usable");
    let lens: Vec<u32> = sending.sent.iter().map(|s| s.segment.len).collect();
    assert_eq!(lens, [1000, 1000, 1000, 500]);
    // The first range is part of the third segment, and the fourth. The second range is the fourth segment and new data
    // beyond it.
    let again = replay.sent(at(10), &segment(7500, 1000)).expect("usable");
    let ids: Vec<u64> = again.sent.iter().map(|s| s.id.0).collect();
    assert_eq!((again.kind, ids), (SendingKind::Repeat, vec![2, 3]));
    let both = replay.sent(at(11), &segment(8000, 1500)).expect("usable");
    assert_eq!((both.kind, both.sent.len()), (SendingKind::Both, 2));
}

#[test]
fn a_dsack_shows_which_retransmission_was_spurious() {
    let mut replay = from_the_middle();
    replay.sent(at(0), &segment(5000, 2000)).expect("usable");
    replay.sent(at(300), &segment(5000, 1000)).expect("usable");
    assert!(
        replay
            .acknowledged(at(310), &ack(7000))
            .expect("usable")
            .needless
            .is_none()
    );
    let mut dsack = ack(7000);
    dsack.sacks.push(SackBlock {
        start: SeqNumber(5000),
        end: SeqNumber(6000),
    });
    let heard = replay.acknowledged(at(390), &dsack).expect("usable");
    let needless = heard.needless.expect("it was");
    assert_eq!(
        (needless.start, needless.end, needless.sent_at),
        (0, 1000, at(300))
    );
    // The spurious retransmission is reported once.
    assert!(
        replay
            .acknowledged(at(391), &dsack)
            .expect("usable")
            .needless
            .is_none()
    );
    // A retransmission of acknowledged data is always spurious.
    let kind = replay
        .sent(at(400), &segment(5000, 1000))
        .expect("usable")
        .kind;
    assert_eq!(kind, SendingKind::Acknowledged);
}

#[test]
fn data_sacked_beyond_the_seen_data_was_sent() {
    let sacking = |start, end| {
        let mut replay = from_the_middle();
        replay.sent(at(0), &segment(5000, 1000)).expect("usable");
        let mut ack = ack(6000);
        ack.sacks.push(SackBlock {
            start: SeqNumber(start),
            end: SeqNumber(end),
        });
        let heard = replay.acknowledged(at(50), &ack).expect("usable");
        (heard.unseen_bytes, heard.facts.sacked_bytes)
    };
    assert_eq!(sacking(7000, 8000), (2000, 1000));
    // A SACK block that includes acknowledged data, or is empty, is ignored.
    assert_eq!(sacking(6000, 8000), (0, 0));
    assert_eq!(sacking(8000, 7000), (0, 0));
}
