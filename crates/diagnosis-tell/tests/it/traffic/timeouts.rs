//! Timeouts: segments that the timer retransmits, and retransmissions after them.

use dupack_diagnosis::Side;
use dupack_diagnosis::analyse::cause::Class;
use dupack_truth::script::{End, Ip, Link, Script, packet};

use super::Told;

/// Bytes of a segment.
const FULL: u32 = 1000;
const RTT: f64 = 0.04;

/// Returns the TSval of a packet that was sent at the time `left`.
fn stamp(left: f64) -> u32 {
    1_000_000 + (left * 1e3) as u32
}

/// Presence of SACK and of timestamps.
#[derive(Clone, Copy, Debug)]
struct Options {
    sack: bool,
    stamps: bool,
}

const ALL: [Options; 4] = [
    Options {
        sack: true,
        stamps: true,
    },
    Options {
        sack: true,
        stamps: false,
    },
    Options {
        sack: false,
        stamps: true,
    },
    Options {
        sack: false,
        stamps: false,
    },
];

/// A download from a server, captured at the client. Times are times of the capture.
struct Download {
    script: Script,
    options: Options,
    at: f64,
    /// Number of segments that the client has received in order.
    acked: u32,
    /// Timestamp of the last of these segments, which ACKs echo (RFC 7323 §4.3).
    echo: u32,
}

impl Download {
    fn new(options: Options) -> Self {
        let mut script = Script::new(Ip::V4, Link::Raw);
        let mss = 1012;
        let syn = |packet: dupack_truth::script::Packet| match options.sack {
            true => packet.syn(mss, Some(7)),
            false => packet.syn(mss, Some(7)).without_sack(),
        };
        script.add(syn(packet(0.0, End::Client, 999)));
        script.add(syn(packet(RTT, End::Server, 4999)).ack(1000));
        let mut this = Self {
            script,
            options,
            at: RTT + 1e-4,
            acked: 0,
            echo: 1,
        };
        this.ack(0, None);
        let request = packet(this.at, End::Client, 1000).ack(5000).len(100).push();
        let request = this.stamped(request, this.at);
        this.script.add(request);
        this.at += RTT;
        this
    }

    fn stamped(
        &self,
        packet: dupack_truth::script::Packet,
        left: f64,
    ) -> dupack_truth::script::Packet {
        match self.options.stamps {
            true => packet.stamps(stamp(left), self.echo),
            false => packet,
        }
    }

    /// Adds the server's segment `n`, which arrives at the client.
    fn comes(&mut self, n: u32) {
        let segment = packet(self.at, End::Server, 5000 + n * FULL)
            .ack(1100)
            .len(FULL);
        let left = self.at - RTT / 2.0;
        let segment = self.stamped(segment, left);
        if n == self.acked {
            self.echo = stamp(left);
        }
        self.script.add(segment);
    }

    /// Adds a segment of the server that is lost on the path before the capture point.
    fn vanishes(&mut self) {
        self.script.unseen(End::Server);
    }

    /// Adds an ACK of all segments before `n`. If `block` is given and SACK is enabled, the ACK has this SACK block.
    fn ack(&mut self, n: u32, block: Option<(u32, u32)>) {
        self.acked = n;
        let mut ack = packet(
            self.at + 1e-5,
            End::Client,
            if n == 0 { 1000 } else { 1100 },
        );
        ack = ack.ack(5000 + n * FULL).window(20_000);
        if let Some((from, to)) = block.filter(|_| self.options.sack) {
            ack = ack.sack(5000 + from * FULL, 5000 + to * FULL);
        }
        let ack = self.stamped(ack, self.at);
        self.script.add(ack);
    }

    /// Adds segments in rounds. The first round has `window` segments, and each round has twice as many as the previous
    /// one. Each segment is followed by an ACK.
    fn rounds(&mut self, from: u32, to: u32, mut window: u32, acks_up_to: impl Fn(u32) -> u32) {
        let mut n = from;
        while n < to {
            for _ in 0..window.min(to - n) {
                self.comes(n);
                n += 1;
                self.ack(acks_up_to(n), None);
                self.at += 2e-4;
            }
            window *= 2;
            self.at += RTT;
        }
    }

    #[track_caller]
    fn classes(&self, which: &str, wanted: &[(Class, u64)]) {
        let told = Told::of(&self.script);
        let stream = told.stream(Side::Answerer);
        for class in Class::ALL {
            let count = stream.account.of(class);
            let should = wanted
                .iter()
                .find(|(of, _)| *of == class)
                .map_or(0, |(_, n)| *n);
            assert_eq!(
                count,
                should,
                "{which} {:?} {class:?}: {}",
                self.options,
                told.screen()
            );
        }
    }
}

#[test]
fn segments_retransmitted_after_a_timeout_have_that_class() {
    // A flight of 94 segments is lost except for the last one. After two seconds, the whole flight is retransmitted in
    // slow start.
    for options in ALL {
        let mut download = Download::new(options);
        download.rounds(0, 70, 10, |n| n);
        for _ in 70..163 {
            download.vanishes();
        }
        download.comes(163);
        download.ack(70, Some((163, 164)));
        download.at += 2.0;
        download.rounds(70, 163, 1, |n| if n == 163 { 164 } else { n });
        download.rounds(164, 200, 20, |n| n);
        download.classes("last", &[(Class::Timeout, 1), (Class::AfterTimeout, 92)]);
    }
}

#[test]
fn a_wholly_lost_flight_is_retransmitted_after_the_timeout() {
    // The IP identifications and the period without packets show that the flight had been sent before.
    for options in ALL {
        let mut download = Download::new(options);
        download.rounds(0, 70, 10, |n| n);
        for _ in 70..164 {
            download.vanishes();
        }
        download.at += 2.0;
        download.rounds(70, 164, 1, |n| n);
        download.rounds(164, 200, 20, |n| n);
        download.classes("all", &[(Class::Timeout, 1), (Class::AfterTimeout, 93)]);
    }
}

#[test]
fn arrived_segments_retransmitted_after_a_timeout_are_no_further_holes() {
    // Only the first segment of the flight is lost, but the ACKs after it are also lost, so the sender retransmits the
    // whole flight.
    for options in ALL {
        let mut download = Download::new(options);
        download.rounds(0, 70, 10, |n| n);
        download.vanishes();
        for n in 71..164 {
            download.comes(n);
            download.at += 2e-4;
        }
        download.ack(70, Some((71, 164)));
        download.at += 2.0;
        download.comes(70);
        download.ack(164, None);
        download.at += RTT;
        for n in 71..164 {
            download.comes(n);
            download.ack(164, None);
            download.at += 2e-4;
        }
        download.rounds(164, 200, 20, |n| n);
        download.classes("back", &[(Class::Timeout, 1), (Class::AfterTimeout, 93)]);
    }
}

/// Returns a capture at the client of 20 segments and a FIN. The FIN is retransmitted after each of `waits`, in
/// seconds, and is then acknowledged.
fn fin(stamps: bool, waits: &[f64]) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, RTT);
    let stamped = |packet: dupack_truth::script::Packet, at: f64| match stamps {
        true => packet.stamps(stamp(at), stamp(at - RTT)),
        false => packet,
    };
    let mut at = RTT + 1e-3;
    let mut seq = 1000;
    for _ in 0..20 {
        script.add(stamped(
            packet(at, End::Client, seq).ack(5000).len(FULL).push(),
            at,
        ));
        seq += FULL;
        at += RTT;
        script.add(stamped(
            packet(at, End::Server, 5000).ack(seq).window(500),
            at,
        ));
        at += 1e-4;
    }
    script.add(stamped(packet(at, End::Client, seq).ack(5000).fin(), at));
    for wait in waits {
        at += wait;
        script.add(stamped(packet(at, End::Client, seq).ack(5000).fin(), at));
    }
    at += RTT;
    script.add(stamped(
        packet(at, End::Server, 5000).ack(seq + 1).window(500),
        at,
    ));
    script
}

#[test]
fn repeats_of_a_fin_are_timeouts() {
    for stamps in [true, false] {
        for waits in [[0.24, 0.48, 0.96, 1.92], [1.0, 2.0, 4.0, 8.0]] {
            let told = Told::of(&fin(stamps, &waits));
            let account = &told.stream(Side::Opener).account;
            assert_eq!(account.of(Class::Timeout), 4, "{}", told.screen());
        }
    }
}

/// Returns a capture at `end` of requests of one segment. Every third request is lost three times.
fn backoff(rto: f64, end: End, stamps: bool) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, RTT);
    let (there, back) = match end {
        End::Client => (0.0, RTT),
        End::Server => (RTT / 2.0, RTT / 2.0),
    };
    let stamped = |packet: dupack_truth::script::Packet, at: f64| match stamps {
        true => packet.stamps(stamp(at), stamp(at - RTT)),
        false => packet,
    };
    let (mut at, mut seq, mut answer) = (RTT + 1e-3, 1000, 5000);
    for n in 0..24 {
        let request = packet(0.0, End::Client, seq).ack(answer).len(300).push();
        let mut sent = |at: f64| script.add(stamped(request.later(at + there), at));
        sent(at);
        if n % 3 == 2 {
            // The capture contains all transmissions, because they are lost after the capture point.
            for wait in [rto, 2.0 * rto, 4.0 * rto] {
                at += wait;
                sent(at);
            }
        }
        seq += 300;
        at += RTT;
        let reply = packet(at - RTT + there + back, End::Server, answer)
            .ack(seq)
            .len(500)
            .push();
        script.add(stamped(reply.window(500), at));
        answer += 500;
        at += 0.1;
    }
    script
}

#[test]
fn repeats_whose_waits_double_are_timeouts() {
    for end in [End::Client, End::Server] {
        for stamps in [true, false] {
            for rto in [0.24, 0.3, 1.0] {
                let told = Told::of(&backoff(rto, end, stamps));
                let account = &told.stream(Side::Opener).account;
                let counts = [Class::Timeout, Class::TailLossProbe].map(|class| account.of(class));
                assert_eq!(counts, [24, 0], "{end:?} {stamps} {rto} {}", told.screen());
            }
        }
    }
}

/// Returns a capture at the server of answers of one segment. Each answer is lost `repeats` times and retransmitted.
/// The first wait is `wait` seconds, and each further wait is twice as long.
fn answers(wait: f64, repeats: u32, stamps: bool) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.open(0.0, RTT);
    let stamped = |packet: dupack_truth::script::Packet, at: f64, echo: f64| match stamps {
        true => packet.stamps(stamp(at), stamp(echo)),
        false => packet,
    };
    let (mut at, mut asked, mut sent) = (RTT + 1e-3, 1000, 5000);
    for _ in 0..6 {
        let request = packet(at, End::Client, asked).ack(sent).len(100).push();
        script.add(stamped(request, at, at - RTT));
        asked += 100;
        let came = at;
        at += 1e-3;
        for n in 0..=repeats {
            let answer = packet(at, End::Server, sent).ack(asked).len(FULL).push();
            script.add(stamped(answer, at, came));
            if n < repeats {
                at += wait * f64::from(1 << n);
            }
        }
        sent += FULL;
        let ack = packet(at + RTT, End::Client, asked).ack(sent).window(500);
        script.add(stamped(ack, at + RTT, at));
        at += RTT + 0.01;
    }
    script
}

#[test]
fn short_waits_that_double_are_those_of_timers() {
    for wait in [0.05, 0.08, 0.12, 0.16] {
        for repeats in [2, 4] {
            for stamps in [true, false] {
                let told = Told::of(&answers(wait, repeats, stamps));
                let account = &told.stream(Side::Answerer).account;
                let name = format!("{wait} {repeats} {stamps}\n{}", told.screen());
                assert_eq!(account.of(Class::Timeout), 6 * u64::from(repeats), "{name}");
            }
        }
    }
}

#[test]
fn repeats_of_short_timers_between_answers_are_timeouts() {
    for stamps in [true, false] {
        for rto in [0.06, 0.08, 0.12] {
            let told = Told::of(&backoff(rto, End::Client, stamps));
            let account = &told.stream(Side::Opener).account;
            let counts = [Class::Timeout, Class::TailLossProbe].map(|class| account.of(class));
            assert_eq!(counts, [24, 0], "{stamps} {rto} {}", told.screen());
        }
    }
}
