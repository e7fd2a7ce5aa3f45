//! Tests of the path MTU: messages from routers, missing messages, validation of messages, and probes.

use dupack_algorithms::catalog::Dialect;
use dupack_tcp::connection::{
    Config, Connection, Event, IcmpError, IcmpReport, KnownMtu, PathCounters, ProbingRule, Reason,
    TooBigRule, Unreachable,
};
use dupack_tcp::sender::{CutRule, Sender};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::endpoint::script::{OUR_ISS, Script, plain};
use crate::endpoint::stacks::{builder, every_recovery, stack};

/// Length of the IPv4 and TCP headers, in bytes.
const HEADERS: u32 = 40;

/// Returns the parameters for a link with an MTU of 1440 bytes, i.e. with segments of 1400 bytes.
fn link() -> Config {
    let mut config = plain();
    config.mss = 1400;
    config
}

/// Returns the parameters of Linux for this link.
fn prompt() -> Config {
    let mut config = link();
    config.path_mtu.too_big = TooBigRule::AtOnce;
    config.path_mtu.cut = CutRule::Window;
    config.path_mtu.probing = ProbingRule::Off;
    config
}

fn opened(config: Config, text: &str, dialect: Dialect) -> Script {
    let build = builder(&stack(text), dialect);
    let mut t = Script::new(Connection::connect(config, build));
    t.options.mss = Some(1400);
    t.window = 60_000;
    t.sends(&["S 0"]);
    t.arrive("S. 0 ack 1");
    t.sends(&[". 1 ack 1"]);
    let _ = t.events();
    t
}

fn established(config: Config) -> Script {
    opened(config, "sack/reno", Dialect::Rfc)
}

/// Delivers an ICMP message about the segment at `seq`.
fn hear(t: &mut Script, seq: u32, says: IcmpReport) {
    let error = IcmpError::new(SeqNumber(OUR_ISS.wrapping_add(seq)), says);
    t.connection.handle_icmp(t.now, &error);
}

fn too_big(t: &mut Script, seq: u32, mtu: u32) {
    hear(t, seq, IcmpReport::PacketTooBig { mtu });
}

fn sender(t: &Script) -> &Sender {
    t.connection.sender().expect("it is established")
}

fn smss(t: &Script) -> u32 {
    sender(t).config().smss
}

#[test]
fn a_segment_that_is_too_big_is_cut_and_retransmitted_at_once() {
    let mut t = established(prompt());
    t.connection.write(4200).expect("it is open");
    t.sends(&[". 1:1401 ack 1", ". 1401:2801 ack 1", "P. 2801:4201 ack 1"]);
    t.pass(50);
    too_big(&mut t, 1, 1040);
    t.sends(&[
        ". 1:1001 ack 1",
        ". 1001:1401 ack 1",
        ". 1401:2401 ack 1",
        ". 2401:2801 ack 1",
        ". 2801:3801 ack 1",
        "P. 3801:4201 ack 1",
    ]);
    // The window keeps its number of segments, because the message is not a sign of congestion.
    let window = sender(&t).window();
    assert_eq!((window.cwnd, window.ssthresh), (10_000.0, f64::INFINITY));
    assert_eq!(sender(&t).stats().loss_events, 0);
    assert_eq!(t.connection.path_mtu().map(|known| known.mtu), Some(1040));
    // The messages about the other dropped segments change nothing.
    too_big(&mut t, 1401, 1040);
    too_big(&mut t, 2801, 1040);
    t.sends(&[]);
    let counted = t.connection.path_counters();
    assert_eq!((counted.too_big, counted.icmp_ignored), (1, 0));
    t.pass(50);
    t.arrive(". 1 ack 4201");
    t.connection.write(2500).expect("it is open");
    t.sends(&[
        ". 4201:5201 ack 1",
        ". 5201:6201 ack 1",
        "P. 6201:6701 ack 1",
    ]);
}

#[test]
fn a_later_router_may_carry_less() {
    let mut t = established(prompt());
    t.connection.write(1400).expect("it is open");
    t.sends(&["P. 1:1401 ack 1"]);
    too_big(&mut t, 1, 1240);
    t.sends(&[". 1:1201 ack 1", "P. 1201:1401 ack 1"]);
    too_big(&mut t, 1, 840);
    t.sends(&[". 1:801 ack 1", ". 801:1201 ack 1", "P. 1201:1401 ack 1"]);
    assert_eq!(smss(&t), 800);
}

#[test]
fn in_slow_start_one_segment_goes_first() {
    // RFC 8201 §5.4.
    let mut config = prompt();
    config.path_mtu.cut = CutRule::SlowStart;
    let mut t = established(config);
    t.connection.write(4200).expect("it is open");
    assert_eq!(t.drain().len(), 3);
    too_big(&mut t, 1, 1040);
    t.sends(&[". 1:1001 ack 1"]);
    let window = sender(&t).window();
    assert_eq!((window.cwnd, window.ssthresh), (1000.0, 10_000.0));
    t.pass(100);
    t.arrive(". 1 ack 1001");
    t.sends(&[
        ". 1001:1401 ack 1",
        ". 1401:2401 ack 1",
        ". 2401:2801 ack 1",
    ]);
    t.pass(100);
    t.arrive(". 1 ack 2801");
    t.sends(&[". 2801:3801 ack 1", "P. 3801:4201 ack 1"]);
    assert_eq!(sender(&t).stats().timeouts, 0);
}

#[test]
fn impossible_messages_are_ignored_and_counted() {
    let mut t = established(prompt());
    t.connection.write(4200).expect("it is open");
    assert_eq!(t.drain().len(), 3);
    t.pass(100);
    t.arrive(". 1 ack 1401");
    let _ = t.drain();
    // The first three cases quote an acknowledged segment, a segment that was never sent, and the acknowledged SYN. The
    // MTUs of the other cases are that of the link, a larger one, two below the minimum accepted value, and 0, which
    // routers older than RFC 1191 send.
    for (seq, mtu) in [
        (1, 1040),
        (4201, 1040),
        (0, 1040),
        (1401, 1440),
        (1401, 9000),
        (1401, 551),
        (1401, 68),
        (1401, 0),
    ] {
        too_big(&mut t, seq, mtu);
    }
    t.sends(&[]);
    assert_eq!(smss(&t), 1400);
    let expected = 8;
    assert_eq!(t.connection.path_counters().icmp_ignored, expected);
    too_big(&mut t, 1401, 552);
    assert_eq!(smss(&t), 512);
}

#[test]
fn without_data_in_flight_no_message_is_accepted() {
    let mut t = established(prompt());
    for seq in [0, 1, 2] {
        too_big(&mut t, seq, 1040);
        hear(&mut t, seq, IcmpReport::Unreachable(Unreachable::Port));
    }
    assert_eq!(t.connection.path_counters().icmp_ignored, 6);
    assert_eq!((smss(&t), t.connection.unreachable()), (1400, None));
}

#[test]
fn a_message_below_an_acknowledged_size_is_deferred() {
    // RFC 5927 §7.3.1: the message is accepted initially.
    let mut t = established(link());
    t.connection.write(1400).expect("it is open");
    t.sends(&["P. 1:1401 ack 1"]);
    too_big(&mut t, 1, 1240);
    assert_eq!(smss(&t), 1200);
    t.sends(&[". 1:1201 ack 1"]);
    t.pass(100);
    t.arrive(". 1 ack 1401");

    // RFC 5927 §7.3.4: packets of 1240 bytes have arrived. An ACK of another such packet refutes the message.
    t.connection.write(1200).expect("it is open");
    t.sends(&["P. 1401:2601 ack 1"]);
    too_big(&mut t, 1401, 600);
    assert_eq!(smss(&t), 1200);
    t.sends(&[]);
    t.pass(100);
    t.arrive(". 1 ack 2601");
    let counted = *t.connection.path_counters();
    assert_eq!((counted.too_big_delayed, counted.too_big_refuted), (1, 1));

    // RFC 5927 §7.3.2: a timeout of the packet confirms the message.
    t.connection.write(1200).expect("it is open");
    t.sends(&["P. 2601:3801 ack 1"]);
    too_big(&mut t, 2601, 600);
    assert_eq!(t.pass(1000), [". 2601:3161 ack 1"]);
    assert_eq!(smss(&t), 560);
    let counted = *t.connection.path_counters();
    assert_eq!((counted.too_big, counted.too_big_delayed), (2, 2));
}

#[test]
fn a_path_mtu_is_forgotten_after_ten_minutes() {
    let mut t = established(prompt());
    t.connection.write(1400).expect("it is open");
    assert_eq!(t.drain().len(), 1);
    too_big(&mut t, 1, 1040);
    assert_eq!(t.drain().len(), 2);
    t.pass(100);
    t.arrive(". 1 ack 1401");
    let _ = t.drain();
    t.pass(599_000);
    t.connection.write(1400).expect("it is open");
    t.sends(&[". 1401:2401 ack 1", "P. 2401:2801 ack 1"]);
    t.pass(100);
    t.arrive(". 1 ack 2801");
    let _ = t.drain();
    t.pass(900);
    t.connection.write(1400).expect("it is open");
    t.sends(&["P. 2801:4201 ack 1"]);
    assert_eq!(t.connection.path_mtu(), None);
}

#[test]
fn the_next_connection_knows_the_path_mtu() {
    let mut t = established(prompt());
    t.connection.write(1400).expect("it is open");
    assert_eq!(t.drain().len(), 1);
    too_big(&mut t, 1, 1040);
    let mut config = prompt();
    config.path_mtu.known = t.connection.path_mtu();
    let mut next = established(config);
    next.connection.write(1400).expect("it is open");
    next.sends(&[". 1:1001 ack 1", "P. 1001:1401 ack 1"]);
    assert_eq!(sender(&next).window().cwnd, 10_000.0);
}

#[test]
fn a_known_path_mtu_counts_if_valid_and_below_the_links() {
    let until = established(prompt()).now + Duration::from_secs(60);
    let least = prompt().path_mtu.least_believed;
    for (mtu, len) in [
        (least - 1, None),
        (least, Some(512)),
        (1439, Some(1399)),
        (1440, None),
    ] {
        let mut config = prompt();
        config.path_mtu.known = Some(KnownMtu { mtu, until });
        let t = established(config);
        assert_eq!(smss(&t), len.unwrap_or(1400), "{mtu}");
        let known = t.connection.path_mtu().map(|known| known.mtu);
        assert_eq!(known, len.map(|_| mtu), "{mtu}");
    }
}

#[test]
fn a_known_path_mtu_expires() {
    let until = established(prompt()).now;
    for (until, len) in [(until, 1400), (until + Duration::from_nanos(1), 1000)] {
        let mut config = prompt();
        config.path_mtu.known = Some(KnownMtu { mtu: 1040, until });
        assert_eq!(smss(&established(config)), len);
    }
}

#[test]
fn no_error_ends_an_established_connection() {
    // RFC 5927 §5.2, RFC 9293 §3.9.2.2.
    let mut config = link();
    config.user_timeout = Duration::from_secs(10);
    let mut t = established(config);
    t.connection.write(1000).expect("it is open");
    t.sends(&["P. 1:1001 ack 1"]);
    for what in [Unreachable::Port, Unreachable::Protocol, Unreachable::Host] {
        hear(&mut t, 1, IcmpReport::Unreachable(what));
    }
    assert_eq!(t.connection.unreachable(), Some(Unreachable::Host));
    t.pass(100);
    t.arrive(". 1 ack 1001");
    // Data was acknowledged, so the error is no longer valid.
    assert_eq!(t.connection.unreachable(), None);
    t.connection.write(1000).expect("it is open");
    assert_eq!(t.drain().len(), 1);
    hear(&mut t, 1001, IcmpReport::Unreachable(Unreachable::Host));
    let _ = t.events();
    t.pass(11_000);
    let reason = Reason::Unreachable(Unreachable::Host);
    assert_eq!(t.events(), [Event::Closed(reason)]);
    assert_eq!(t.connection.path_counters().unreachable, 4);
}

#[test]
fn a_hard_error_ends_an_opening_attempt() {
    let cases = [
        (Unreachable::Port, Dialect::Rfc, true),
        (Unreachable::Host, Dialect::Rfc, false),
        (Unreachable::Host, Dialect::Linux, true),
    ];
    for (what, dialect, ends) in cases {
        let stack = stack("sack/reno");
        let mut config = link();
        let (of_dialect, _) = dupack_algorithms::catalog::offer(&stack, dialect);
        config.opening_errors = of_dialect.opening_errors;
        config.open_timeout = Duration::from_secs(20);
        let mut t = Script::new(Connection::connect(config, builder(&stack, dialect)));
        hear(&mut t, 0, IcmpReport::Unreachable(what));
        assert_eq!(
            t.connection.path_counters().icmp_ignored,
            1,
            "nothing was sent"
        );
        t.sends(&["S 0"]);
        hear(&mut t, 1, IcmpReport::Unreachable(what));
        too_big(&mut t, 0, 600);
        assert_eq!(t.connection.path_counters().icmp_ignored, 3);
        hear(&mut t, 0, IcmpReport::Unreachable(what));
        let over = Event::Closed(Reason::Unreachable(what));
        if ends {
            assert_eq!(t.events(), [over]);
            continue;
        }
        assert!(t.events().is_empty());
        // The error is reported when the attempt times out.
        t.pass(21_000);
        assert_eq!(t.events(), [over]);
    }
}

/// A path of 100 ms with a limited MTU, and the peer behind it.
struct Path {
    /// Payload of the longest segment that passes, in bytes.
    carries: u32,
    router: Router,
    /// Next byte that the peer expects, relative to our SYN.
    next: u32,
    /// Ranges above `next` that have arrived.
    beyond: Vec<(u32, u32)>,
    on_the_way: Vec<(Instant, Arrival)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Router {
    Speaks,
    Silent,
}

#[derive(Clone, Copy)]
enum Arrival {
    Data(u32, u32),
    Message(u32),
}

impl Path {
    fn new(carries: u32, router: Router) -> Self {
        Self {
            carries,
            router,
            next: 1,
            beyond: Vec::new(),
            on_the_way: Vec::new(),
        }
    }

    /// Sends all due segments over the path.
    fn take(&mut self, t: &mut Script) {
        while let Some(outgoing) = t.connection.poll_transmit(t.now) {
            let seq = outgoing.segment.seq.0.wrapping_sub(OUR_ISS);
            let len = outgoing.segment.len;
            assert!(len <= 1400, "the link carries no more");
            if len == 0 {
                continue;
            }
            let arrival = match (len > self.carries, self.router) {
                (false, _) => Arrival::Data(seq, seq + len),
                (true, Router::Speaks) => Arrival::Message(seq),
                (true, Router::Silent) => continue,
            };
            let at = t.now + Duration::from_millis(100);
            self.on_the_way.push((at, arrival));
        }
    }

    /// Lets time pass until all written data is acknowledged.
    fn finish(&mut self, t: &mut Script) {
        for _ in 0..1_000_000 {
            self.take(t);
            if sender(t).is_done() {
                return;
            }
            let first = self.on_the_way.iter().map(|(at, _)| *at).min();
            let timer = t.connection.next_timeout();
            let at = [first, timer].into_iter().flatten().min();
            t.now = t.now.max(at.expect("a packet or timer is pending"));
            if first.is_some_and(|first| first <= t.now) {
                let index = self
                    .on_the_way
                    .iter()
                    .position(|(at, _)| Some(*at) == first);
                let (_, arrival) = self.on_the_way.remove(index.expect("it is there"));
                self.arrive(t, arrival);
            } else {
                t.connection.handle_timeout(t.now);
            }
        }
        panic!("it never ends");
    }

    fn arrive(&mut self, t: &mut Script, arrival: Arrival) {
        let (start, end) = match arrival {
            Arrival::Data(start, end) => (start, end),
            Arrival::Message(seq) => return too_big(t, seq, self.carries + HEADERS),
        };
        if end > self.next {
            self.beyond.push((start.max(self.next), end));
        }
        self.beyond.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for (start, end) in self.beyond.drain(..) {
            match ranges.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => ranges.push((start, end)),
            }
        }
        ranges.retain(|&(start, end)| {
            if start <= self.next {
                self.next = self.next.max(end);
            }
            end > self.next
        });
        self.beyond = ranges;
        // The block with the newest data comes first.
        let mut blocks = self.beyond.clone();
        blocks.sort_by_key(|&(from, to)| !(from <= start && end <= to));
        blocks.truncate(3);
        let ack = format!(". 1 ack {}", self.next);
        t.arrive_sacking(&ack, &blocks);
    }
}

fn counted(t: &Script) -> PathCounters {
    *t.connection.path_counters()
}

#[test]
fn every_recovery_avoids_timeouts_if_routers_report() {
    for spec in every_recovery() {
        for dialect in [Dialect::Rfc, Dialect::Linux] {
            let text = spec.to_string();
            let (config, _) = dupack_algorithms::catalog::offer(&stack(&text), dialect);
            let mut ours = link();
            ours.path_mtu = config.path_mtu;
            let mut t = opened(ours, &text, dialect);
            t.connection.write(100_000).expect("it is open");
            Path::new(1000, Router::Speaks).finish(&mut t);
            assert_eq!(smss(&t), 1000, "{text}, {dialect}");
            let stats = sender(&t).stats();
            assert_eq!(stats.timeouts, 0, "{text}, {dialect}");
            assert_eq!(stats.loss_events, 0, "{text}, {dialect}");
            assert_eq!(counted(&t).too_big, 1, "{text}, {dialect}");
        }
    }
}

#[test]
fn every_recovery_survives_a_path_change() {
    for spec in every_recovery() {
        for dialect in [Dialect::Rfc, Dialect::Linux] {
            let text = spec.to_string();
            let (config, _) = dupack_algorithms::catalog::offer(&stack(&text), dialect);
            let mut ours = link();
            ours.path_mtu = config.path_mtu;
            let mut t = opened(ours, &text, dialect);
            let mut path = Path::new(1400, Router::Speaks);
            for carries in [1400, 1100, 700] {
                path.carries = carries;
                t.connection.write(60_000).expect("it is open");
                path.finish(&mut t);
                assert_eq!(smss(&t), carries, "{text}, {dialect}");
            }
        }
    }
}

#[test]
fn every_recovery_gets_out_of_a_black_hole() {
    for spec in every_recovery() {
        for dialect in [Dialect::Rfc, Dialect::Linux] {
            let text = spec.to_string();
            let mut config = link();
            config.path_mtu.probing = ProbingRule::BlackHole;
            let mut t = opened(config, &text, dialect);
            t.connection.write(400_000).expect("it is open");
            Path::new(1200, Router::Silent).finish(&mut t);
            let counted = counted(&t);
            assert_eq!(counted.black_holes, 1, "{text}, {dialect}: {counted:?}");
            // The connection finds the path MTU by itself.
            let found = smss(&t);
            assert!((984..=1200).contains(&found), "{text}, {dialect}: {found}");
            assert!(counted.probes_delivered + counted.probes_lost <= counted.probes);
        }
    }
}

#[test]
fn a_search_finds_the_path_mtu() {
    let mut config = link();
    config.path_mtu.probing = ProbingRule::Always;
    let mut t = established(config);
    assert_eq!(smss(&t), 984);
    t.connection.write(60_000_000).expect("it is open");
    Path::new(1200, Router::Silent).finish(&mut t);
    let counted = counted(&t);
    let found = smss(&t);
    assert!((1193..=1200).contains(&found), "{found}: {counted:?}");
    assert!(
        counted.probes_lost > 0 && counted.probes_delivered > 0,
        "{counted:?}"
    );
    let stats = sender(&t).stats();
    // Only probes were lost, and none of them reduced the window.
    assert_eq!((stats.timeouts, stats.loss_events), (0, 0), "{counted:?}");
    assert!(sender(&t).window().in_slow_start());
}

#[test]
fn a_search_over_ipv6_starts_with_the_minimum_mtu() {
    // RFC 8200 §5: the minimum MTU is 1280 bytes, including 60 bytes of headers.
    let mut config = link();
    config.path_mtu = config.path_mtu.over_ipv6();
    config.path_mtu.probing = ProbingRule::Always;
    assert_eq!(smss(&established(config)), 1220);
    config.path_mtu.base = 1400;
    config.path_mtu = config.path_mtu.over_ipv6();
    assert_eq!(smss(&established(config)), 1340);
}

#[test]
fn a_search_stops_when_it_is_close_enough() {
    // The probes have 1192, 1296, 1348, 1374, 1387 and 1394 bytes, and the path carries 1400 bytes. A gain below eight
    // bytes does not justify another probe.
    let mut config = link();
    config.path_mtu.probing = ProbingRule::Always;
    let mut t = established(config);
    let mut path = Path::new(1400, Router::Silent);
    for _ in 0..2 {
        t.connection.write(4_000_000).expect("it is open");
        path.finish(&mut t);
        assert_eq!((counted(&t).probes, smss(&t)), (6, 1394));
    }
}

#[test]
fn a_probe_that_a_router_drops_bounds_the_search() {
    let mut config = prompt();
    config.path_mtu.probing = ProbingRule::Always;
    config.path_mtu.base = 1024;
    let mut t = established(config);
    t.connection.write(60_000_000).expect("it is open");
    Path::new(1200, Router::Speaks).finish(&mut t);
    // The message contains the limit, so only the first probe that was too long is lost.
    let counted = counted(&t);
    assert_eq!(counted.probes_lost, 1, "{counted:?}");
    let found = smss(&t);
    assert!((1193..=1200).contains(&found), "{found}: {counted:?}");
    assert_eq!(sender(&t).stats().loss_events, 0);
}

#[test]
fn consecutive_timeouts_halve_the_segment_size_down_to_a_minimum() {
    let mut config = link();
    config.path_mtu.probing = ProbingRule::BlackHole;
    config.user_timeout = Duration::from_secs(100_000);
    let mut t = established(config);
    t.connection.write(1400).expect("it is open");
    t.sends(&["P. 1:1401 ack 1"]);
    let mut lengths = Vec::new();
    for words in t.pass(2_000_000) {
        let end = words.split([':', ' ']).nth(2).expect("a range");
        lengths.push(end.parse::<u32>().expect("a number") - 1);
    }
    // RFC 4821 §7.7: the first two retransmissions keep their length, because R1 is three timeouts. The third has the
    // base length, and each later one has half of the previous length, but at least 48 bytes.
    let shrinking = [1400, 1400, 984, 492, 246, 123, 61, 48];
    assert_eq!(lengths[..8], shrinking);
    assert_eq!(lengths.last(), Some(&48));
}
