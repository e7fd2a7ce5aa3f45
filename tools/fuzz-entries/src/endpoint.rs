//! Fuzzer entry point for a connection whose peer, network and application follow a script of arbitrary bytes.

use std::sync::OnceLock;

use dupack_algorithms::catalog::{Axis, Catalog, Dialect, StackSpec, offer};
use dupack_tcp::accurate_ecn::{CounterOrder, EcnCounters};
use dupack_tcp::connection::{
    AccurateOption, Config, Connection, EcnOffer, Event, Flags, IcmpError, IcmpReport, KeepAlive,
    Options, ProbingRule, Segment, State, Timestamps, TooBigRule, Unreachable,
};
use dupack_tcp::options::{Sack, WindowScale};
use dupack_tcp::segment::{Codepoint, SackBlock, SackBlocks};
use dupack_tcp::sender::CutRule;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

/// Maximum number of segments that answer one input: a window of the smallest segments, and some more.
const ANSWERS_MAX: usize = 4000;

/// Minimum number of bytes per segment, except for a few segments.
const LEAST_SEGMENT_BYTES: u64 = 64;

/// Maximum number of bytes that the application writes at once, and maximum receive buffer in bytes.
const BYTES_MAX: u64 = 100_000;

/// Runs `bytes` as a script. The first bytes choose the connection, the remaining bytes the events.
///
/// # Panics
/// If the connection violates an invariant.
pub fn endpoint(bytes: &[u8]) {
    let mut script = Bytes { rest: bytes };
    let Some(mut world) = World::new(&mut script) else {
        return;
    };
    world.drain();
    while let Some(what) = script.byte() {
        world.happen(what, &mut script);
        world.drain();
        world.check();
    }
    world.finish();
}

/// Returns a stack for every recovery of the catalog.
fn stacks() -> &'static [StackSpec] {
    static STACKS: OnceLock<Vec<StackSpec>> = OnceLock::new();
    STACKS.get_or_init(|| {
        let catalog = Catalog::builtin();
        let with = |name: &str| {
            let mut stacks = catalog.stacks();
            stacks.find(|stack| stack.name(Axis::Recovery) == name)
        };
        let stacks = catalog.on(Axis::Recovery);
        stacks.filter_map(|entry| with(&entry.name)).collect()
    })
}

/// The remaining script. Bytes that are missing at its end count as zero.
struct Bytes<'a> {
    rest: &'a [u8],
}

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn small(&mut self) -> u32 {
        u32::from(self.byte().unwrap_or(0))
    }

    fn word(&mut self) -> u32 {
        (0..4).fold(0, |word, _| word << 8 | self.small())
    }

    /// Returns a number that is often near zero, positive or negative, and sometimes arbitrary.
    fn near(&mut self) -> u32 {
        let kind = self.small();
        let value = self.small();
        match kind % 6 {
            0 => 0,
            1 => value,
            2 => value.wrapping_neg(),
            3 => value * 257,
            4 => (value * 997).wrapping_neg(),
            _ => self.word(),
        }
    }
}

struct World {
    connection: Connection,
    now: Instant,
    /// Sequence number after the highest one that the connection has sent.
    our_next: SeqNumber,
    our_una: SeqNumber,
    peer_next: SeqNumber,
    last_timestamp: u32,
    read: u64,
    acknowledged: u64,
    closed: bool,
}

impl World {
    fn new(script: &mut Bytes<'_>) -> Option<Self> {
        let choice = script.byte()?;
        let stacks = stacks();
        let stack = stacks[usize::from(choice) % stacks.len()].clone();
        let dialect = Dialect::ALL[script.small() as usize % Dialect::ALL.len()];
        let switches = script.small();
        let iss = script.word();
        let (offered, build) = offer(&stack, dialect);
        let config = Self::config(offered, switches, iss, script);
        let connection = if switches & 1 == 0 {
            Connection::connect(config, build)
        } else {
            Connection::listen(config, build)
        };
        Some(Self {
            connection,
            now: Instant::ZERO + Duration::from_secs(1),
            our_next: SeqNumber(iss),
            our_una: SeqNumber(iss),
            peer_next: SeqNumber(script.word()),
            last_timestamp: 0,
            read: 0,
            acknowledged: 0,
            closed: false,
        })
    }

    /// Returns the configuration of a connection, which offers at most the features of `offered`.
    fn config(offered: Config, switches: u32, iss: u32, script: &mut Bytes<'_>) -> Config {
        let mut config = offered;
        config.mss = script.small() as u16 * 8;
        config.iss = SeqNumber(iss);
        config.receive_buffer = (script.word() as u64 % BYTES_MAX) as u32;
        config.offer.timestamps = offered.offer.timestamps.filter(|_| switches & 2 == 0);
        config.timestamp_offset = iss.rotate_left(9);
        config.challenge_secret = u64::from(iss);
        config.offer.ecn = match (switches >> 4) & 7 {
            0 => EcnOffer::Off,
            1 => EcnOffer::Offered,
            2 => EcnOffer::AccurateAccepted,
            3 => EcnOffer::AccurateOrClassicOffered,
            4 | 5 => EcnOffer::AccurateOffered,
            _ => EcnOffer::Accepted,
        };
        config.accurate_option = match iss % 3 {
            0 => AccurateOption::Off,
            1 => AccurateOption::Changed,
            _ => AccurateOption::Always,
        };
        if switches & 4 == 0 {
            config.offer.window_scale = WindowScale::Absent;
        }
        config.path_mtu.probing = match iss >> 2 & 3 {
            0 | 1 => ProbingRule::Off,
            2 => ProbingRule::BlackHole,
            _ => ProbingRule::Always,
        };
        if iss & 16 != 0 {
            config.path_mtu.too_big = TooBigRule::Guarded;
            config.path_mtu.cut = CutRule::SlowStart;
            config.path_mtu.least_believed = 68;
        }
        if switches & 8 == 0 {
            config.keep_alive = Some(KeepAlive::STANDARD);
        }
        config
    }

    fn happen(&mut self, what: u8, script: &mut Bytes<'_>) {
        match what % 16 {
            0 => self.pass(Duration::from_millis(u64::from(script.small()))),
            1 => self.pass(Duration::from_millis(u64::from(script.word() % 1_000_000))),
            2 => {
                let bytes = u64::from(script.word()) % BYTES_MAX;
                let _ = self.connection.write(bytes);
            }
            3 => self.read += self.connection.read(u64::from(script.word())),
            4 if script.small() < 32 => self.connection.close(),
            5 if script.small() < 4 => self.connection.abort(),
            6 => self.handshake(script),
            8 => self.icmp(script),
            _ => self.segment(what, script),
        }
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        for _ in 0..200 {
            let next = self.connection.next_timeout();
            let Some(at) = next.filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(at);
            self.connection.handle_timeout(self.now);
            self.drain();
        }
        self.now = self.now.max(until);
        self.connection.handle_timeout(self.now);
    }

    /// Sends the SYN of an honest peer, either as an answer to ours or as the first segment.
    fn handshake(&mut self, script: &mut Bytes<'_>) {
        let mut syn = Segment::new(self.peer_next);
        syn.flags = Flags::SYN;
        if self.connection.state() == State::SynSent {
            syn.ack = Some(self.our_next);
        }
        syn.window = script.word() as u16;
        syn.options = Options {
            mss: Some(script.small() as u16 * 8),
            window_scale: Some(script.small() as u8),
            sack_permitted: Sack::Permitted,
            timestamps: Some(self.timestamps(script)),
            sacks: SackBlocks::NONE,
            accurate_ecn: None,
        };
        // The ECN bits come from bytes that have already been read, so old inputs keep their meaning.
        syn.flags = syn.flags.with(Flags::of_ace(syn.window as u8));
        syn.ecn = Codepoint::from_bits((syn.window >> 3) as u8);
        self.peer_next = self.peer_next.at(1);
        let _ = self.connection.handle_segment(self.now, &syn);
        self.drain();
        if self.connection.state() == State::SynReceived {
            let mut ack = Segment::new(self.peer_next);
            ack.ack = Some(self.our_next);
            ack.window = syn.window;
            ack.flags = Flags::of_ace((syn.window >> 5) as u8);
            ack.options.timestamps = syn.options.timestamps;
            let _ = self.connection.handle_segment(self.now, &ack);
        }
    }

    /// Delivers an ICMP error about a packet. The error may be from a router or forged.
    fn icmp(&mut self, script: &mut Bytes<'_>) {
        let bits = script.small();
        let base = match bits & 1 {
            0 => self.our_una,
            _ => self.our_next,
        };
        let seq = base.at(u64::from(script.near()));
        let says = match bits & 6 {
            0 => IcmpReport::Unreachable(Unreachable::Host),
            2 => IcmpReport::Unreachable(Unreachable::Port),
            _ => IcmpReport::PacketTooBig {
                mtu: script.near() & 0xffff,
            },
        };
        self.connection
            .handle_icmp(self.now, &IcmpError::new(seq, says));
    }

    fn timestamps(&mut self, script: &mut Bytes<'_>) -> Timestamps {
        Timestamps {
            value: ((self.now.as_nanos() / 1_000_000) as u32).wrapping_add(script.near()),
            echo: self.last_timestamp.wrapping_sub(script.near()),
        }
    }

    fn segment(&mut self, what: u8, script: &mut Bytes<'_>) {
        let mut segment = Segment::new(self.peer_next.at(u64::from(script.near())));
        let bits = script.small();
        segment.flags = match bits % 8 {
            0 => Flags::from_bits(script.small() as u16),
            1 => Flags::FIN,
            _ => Flags::NONE,
        };
        let base = if bits & 16 == 0 {
            self.our_next
        } else {
            self.our_una
        };
        if bits & 32 == 0 {
            segment.ack = Some(base.at(u64::from(script.near())));
        }
        segment.ecn = Codepoint::from_bits((bits >> 6) as u8);
        let told = segment.seq.0;
        segment.flags = segment.flags.with(Flags::of_ace(told as u8));
        if told & 8 != 0 {
            let order = match told & 16 {
                0 => CounterOrder::Ect0First,
                _ => CounterOrder::Ect1First,
            };
            let counters = [told, told.rotate_left(8), told.rotate_left(16)];
            let counters = &counters[..(told >> 5) as usize % 4];
            segment.options.accurate_ecn = Some(EcnCounters::new(order, counters));
        }
        segment.window = script.near() as u16;
        segment.len = match what & 16 {
            0 => 0,
            _ => script.near() & 0xffff,
        };
        if bits & 64 == 0 {
            segment.options.timestamps = Some(self.timestamps(script));
        }
        if what & 32 != 0 {
            segment.options.sacks = self.sacks(script);
        }
        if what & 64 != 0 {
            segment.options.mss = Some(script.small() as u16);
            segment.options.window_scale = Some(script.small() as u8);
        }
        self.arrive(&segment);
    }

    fn sacks(&self, script: &mut Bytes<'_>) -> SackBlocks {
        let mut sacks = SackBlocks::NONE;
        for _ in 0..script.small() % 5 {
            let start = self.our_una.at(u64::from(script.near()));
            let end = start.at(u64::from(script.near()));
            sacks.push(SackBlock { start, end });
        }
        sacks
    }

    fn arrive(&mut self, segment: &Segment) {
        let before = self.connection.readable();
        let Some(store) = self.connection.handle_segment(self.now, segment) else {
            return;
        };
        let end = store.offset + u64::from(store.len);
        let buffer = u64::from(self.connection.config().receive_buffer);
        assert!(store.len > 0 && store.skip + store.len <= segment.len);
        assert!(store.offset >= before, "readable bytes are not overwritten");
        assert!(end <= self.read + buffer, "the host has no room for it");
        let next = self.connection.readable();
        if next > before {
            self.peer_next = self.peer_next.at(next - before);
        }
    }

    /// Takes all segments and events from the connection.
    fn drain(&mut self) {
        let mut count = 0;
        while let Some(outgoing) = self.connection.poll_transmit(self.now) {
            let segment = &outgoing.segment;
            count += 1;
            // When a large window opens at once, the connection may send all written data in small segments.
            let segments = self.connection.written() / LEAST_SEGMENT_BYTES;
            assert!(count < ANSWERS_MAX + segments as usize, "it never stops");
            assert!(outgoing.data.end <= self.connection.written());
            assert!(segment.len <= u32::from(self.connection.config().mss));
            let end = segment.seq.at(u64::from(segment.sequence_len()));
            if segment.sequence_len() > 0 && end.0.wrapping_sub(self.our_next.0) as i32 > 0 {
                self.our_next = end;
            }
            if let Some(stamps) = segment.options.timestamps {
                self.last_timestamp = stamps.value;
            }
        }
        while let Some(event) = self.connection.poll_event() {
            assert!(!self.closed, "nothing follows the end");
            self.closed = matches!(event, Event::Closed(_));
        }
    }

    fn check(&mut self) {
        let acknowledged = self.connection.acknowledged();
        assert!(acknowledged >= self.acknowledged && acknowledged <= self.connection.written());
        self.our_una = self.our_una.at(acknowledged - self.acknowledged);
        self.acknowledged = acknowledged;
        assert_eq!(self.closed, self.connection.state() == State::Closed);
        if let Some(sender) = self.connection.sender() {
            let window = sender.window();
            assert!(window.cwnd.is_finite() && window.cwnd > 0.0 && !window.ssthresh.is_nan());
        }
        if let Some(receiver) = self.connection.receiver() {
            let buffer = self.connection.config().receive_buffer as usize;
            assert!(receiver.out_of_order_bytes() <= buffer as u64 + 1);
            assert!(receiver.out_of_order_ranges() <= buffer / 100 + 17);
        }
    }

    /// Checks that a connection without further input does not wait forever with unacknowledged data. After 400 s, all
    /// data is acknowledged, or the connection listens or is closed.
    fn finish(&mut self) {
        if self.connection.state() == State::Closed {
            assert_eq!(self.connection.next_timeout(), None);
            return;
        }
        self.pass(Duration::from_secs(400));
        let idle = self.connection.sender().is_none_or(|s| s.is_done());
        let waits = matches!(self.connection.state(), State::Listen | State::Closed);
        assert!(idle || waits, "{:?} waits forever", self.connection);
    }
}
