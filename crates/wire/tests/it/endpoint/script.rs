//! Connection with a scripted peer: segments are text, and time advances in milliseconds.
//!
//! Segments are written as tcpdump writes them, with the numbers of both ends relative to their SYNs:
//!
//! ```text
//! S 0                 SYN
//! S. 0 ack 1          SYN, ACK
//! . 1 ack 1           an ACK
//! P. 1:101 ack 1      100 bytes, PSH
//! F. 101 ack 1        FIN; 101:201 would put 100 bytes before it
//! R 1                 RST
//! ```
//!
//! Only these fields of the connection's segments are compared. [`Script::last`] holds all other fields.

use dupack_algorithms::catalog::Dialect;
use dupack_tcp::connection::{
    Config, Connection, Event, Flags, Options, Outgoing, Segment, State, Store, Timestamps,
};
use dupack_tcp::options::Sack;
use dupack_tcp::segment::{SackBlock, SackBlocks};
use dupack_tcp::sender::{TimestampClock, TimestampValues};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use super::stacks::{builder, config, stack};

/// Initial sequence numbers that wrap around within the first hundred bytes.
pub const OUR_ISS: u32 = u32::MAX - 50;
pub const PEER_ISS: u32 = u32::MAX - 70;

pub struct Script {
    pub connection: Connection,
    pub now: Instant,
    /// Last segment sent.
    pub last: Option<Outgoing>,
    /// TSval of the peer's next segment, if it uses timestamps.
    pub peer_time: Option<u32>,
    /// Window field of the peer's segments.
    pub window: u16,
    pub options: Options,
}

/// Returns the parameters of scripted connections, with immediate ACKs and without timestamps.
pub fn plain() -> Config {
    let mut plain = config(&stack("sack/reno"), Dialect::Rfc, OUR_ISS);
    plain.mss = 1000;
    plain.offer.timestamps = None;
    plain.offer.sack = Sack::Permitted;
    plain.receive_buffer = 50_000;
    plain.ack_policy = dupack_tcp::receiver::AckPolicy::Immediate;
    plain.keep_alive = None;
    plain
}

/// Returns the parameters of scripted connections with millisecond timestamps.
pub fn stamped() -> Config {
    let mut config = plain();
    config.offer.timestamps = Some(TimestampClock {
        tick: Duration::from_millis(1),
        values: TimestampValues::Clock,
    });
    config
}

impl Script {
    pub fn new(connection: Connection) -> Self {
        Self {
            connection,
            now: Instant::ZERO + Duration::from_secs(1000),
            last: None,
            peer_time: None,
            window: 20_000,
            options: Options {
                sack_permitted: Sack::Permitted,
                mss: Some(1000),
                ..Options::NONE
            },
        }
    }

    pub fn active(config: Config) -> Self {
        let build = builder(&stack("sack/reno"), Dialect::Rfc);
        Self::new(Connection::connect(config, build))
    }

    pub fn passive(config: Config) -> Self {
        let build = builder(&stack("sack/reno"), Dialect::Rfc);
        Self::new(Connection::listen(config, build))
    }

    /// Creates an established connection that we opened, without pending segments.
    pub fn established(config: Config) -> Self {
        let mut script = Self::active(config);
        script.sends(&["S 0"]);
        script.arrive("S. 0 ack 1");
        script.sends(&[". 1 ack 1"]);
        assert!(matches!(
            script.connection.poll_event(),
            Some(Event::Connected(_))
        ));
        script
    }

    /// Same as [`established`](Self::established), for the stack `text`.
    pub fn established_with(config: Config, text: &str) -> Self {
        let build = builder(&stack(text), Dialect::Rfc);
        let mut script = Self::new(Connection::connect(config, build));
        script.sends(&["S 0"]);
        script.arrive("S. 0 ack 1");
        script.sends(&[". 1 ack 1"]);
        let _ = script.connection.poll_event();
        script
    }

    /// Lets `ms` milliseconds pass and serves every timer when it is due. Returns the segments sent during this time,
    /// as text.
    pub fn pass(&mut self, ms: u64) -> Vec<String> {
        let until = self.now + Duration::from_millis(ms);
        let mut sent = Vec::new();
        for _ in 0..100_000 {
            let Some(at) = self.connection.next_timeout().filter(|at| *at <= until) else {
                self.now = until;
                return sent;
            };
            self.now = self.now.max(at);
            self.connection.handle_timeout(self.now);
            sent.extend(self.drain());
        }
        panic!("the connection's timers never stop");
    }

    /// Returns all due segments as text.
    pub fn drain(&mut self) -> Vec<String> {
        let mut sent = Vec::new();
        while let Some(outgoing) = self.connection.poll_transmit(self.now) {
            sent.push(words(&outgoing));
            self.last = Some(outgoing);
            assert!(sent.len() < 100_000, "it never stops sending");
        }
        sent
    }

    /// Asserts that exactly these segments are due now.
    #[track_caller]
    pub fn sends(&mut self, expected: &[&str]) {
        assert_eq!(self.drain(), expected);
    }

    /// Returns the peer's segment that `words` describe.
    pub fn segment(&mut self, words: &str) -> Segment {
        let mut segment = read(words);
        segment.window = self.window;
        if segment.is(Flags::SYN) {
            segment.options = self.options;
        }
        if let Some(value) = &mut self.peer_time {
            *value = value.wrapping_add(1);
            let echo = self
                .last
                .as_ref()
                .and_then(|o| o.segment.options.timestamps);
            segment.options.timestamps = Some(Timestamps {
                value: *value,
                echo: echo.map_or(0, |stamps| stamps.value),
            });
        }
        segment
    }

    pub fn arrive(&mut self, words: &str) -> Option<Store> {
        let segment = self.segment(words);
        self.handle(&segment)
    }

    /// Delivers the peer's segment that `words` describe, with SACK blocks.
    pub fn arrive_sacking(&mut self, words: &str, blocks: &[(u32, u32)]) -> Option<Store> {
        let mut segment = self.segment(words);
        let mut sacks = SackBlocks::NONE;
        for &(start, end) in blocks {
            sacks.push(SackBlock {
                start: SeqNumber(OUR_ISS.wrapping_add(start)),
                end: SeqNumber(OUR_ISS.wrapping_add(end)),
            });
        }
        segment.options.sacks = sacks;
        self.handle(&segment)
    }

    pub fn handle(&mut self, segment: &Segment) -> Option<Store> {
        let store = self.connection.handle_segment(self.now, segment);
        if let Some(store) = store {
            assert!(store.len > 0 && store.skip + store.len <= segment.len);
        }
        store
    }

    pub fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.connection.poll_event()).collect()
    }

    #[track_caller]
    pub fn is(&self, state: State) {
        assert_eq!(self.connection.state(), state);
    }
}

/// Returns the segment as text.
pub fn words(outgoing: &Outgoing) -> String {
    let segment = &outgoing.segment;
    let mut words = String::new();
    for (flag, letter) in [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
    ] {
        if segment.is(flag) {
            words.push(letter);
        }
    }
    if segment.ack.is_some() {
        words.push('.');
    }
    let seq = segment.seq.0.wrapping_sub(OUR_ISS);
    words += &format!(" {seq}");
    if segment.len > 0 {
        words += &format!(":{}", seq.wrapping_add(segment.len));
    }
    if let Some(ack) = segment.ack {
        words += &format!(" ack {}", ack.0.wrapping_sub(PEER_ISS));
    }
    words
}

/// Parses the text of a segment from the peer.
fn read(text: &str) -> Segment {
    let mut parts = text.split(' ');
    let letters = parts.next().expect("flags");
    let numbers = parts.next().expect("a sequence number");
    let (start, end) = numbers.split_once(':').unwrap_or((numbers, numbers));
    // Negative numbers are before the SYN.
    let number = |text: &str| text.parse::<i64>().expect("a number") as u32;
    let mut segment = Segment::new(SeqNumber(PEER_ISS.wrapping_add(number(start))));
    segment.len = number(end).wrapping_sub(number(start));
    for letter in letters.chars() {
        let flag = match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::NONE,
            _ => panic!("`{letter}` is not a flag"),
        };
        segment.flags = segment.flags.with(flag);
    }
    if letters.contains('.') {
        assert_eq!(parts.next(), Some("ack"), "{text}");
        let ack = number(parts.next().expect("an acknowledgment"));
        segment.ack = Some(SeqNumber(OUR_ISS.wrapping_add(ack)));
    }
    assert_eq!(parts.next(), None, "{text}");
    segment
}
