//! A single queue in front of a transmitter of constant rate, without a network, for `cargo measure queues`. The
//! program reads the same description as `validation/peers/ns3/queue.cc`, which documents the words.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, stdin};
use std::str::{FromStr, SplitWhitespace};

use dupack_net::event::InsertionNumber;
use dupack_net::ids::FlowId;
use dupack_net::link::{
    Admission, Capable, CoDelConfig, CoDelLike, Discipline, Fate, FqCoDelConfig, Link, LinkConfig,
    Offer, PieConfig, QueueLimit, RedConfig, RedLike,
};
use dupack_net::packet::PacketHandle;
use dupack_net::units::BitRate;
use dupack_tcp::segment::Codepoint;
use dupack_tcp::time::{Duration, Instant};

fn main() -> Result<(), String> {
    let mut text = String::new();
    stdin()
        .read_to_string(&mut text)
        .map_err(|e| format!("cannot read standard input: {e}"))?;
    let setting = Setting::read(&text)?;
    let mut run = Run::new(&setting)?;
    run.go();
    let Counts {
        offered,
        delivered,
        dropped,
        marked,
        wait_s,
    } = run.counts;
    let mean = wait_s / (delivered as f64).max(1.0);
    println!(
        "offered {offered} delivered {delivered} dropped {dropped} marked {marked} wait_s {mean:.9}"
    );
    Ok(())
}

/// Description that is read from standard input.
struct Setting {
    discipline: String,
    rate_bps: u64,
    limit: u64,
    seed: u64,
    from_s: f64,
    until_s: f64,
    target_ms: f64,
    interval_ms: f64,
    capable: Capable,
    like: CoDelLike,
    red: RedConfig,
    arrivals: Vec<(Instant, u32, u32)>,
    windows: Vec<(Instant, Window)>,
}

impl Setting {
    fn read(text: &str) -> Result<Self, String> {
        let mut setting = Self {
            discipline: String::new(),
            rate_bps: 10_000_000,
            limit: 1000,
            seed: 1,
            from_s: 0.0,
            until_s: 1.0,
            target_ms: 5.0,
            interval_ms: 100.0,
            capable: Capable::Drop,
            like: CoDelLike::Rfc,
            red: RedConfig::packets(5.0, 15.0),
            arrivals: Vec::new(),
            windows: Vec::new(),
        };
        setting.red.mean_packet_bytes = 1500;
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            setting.take(word, &mut words)?;
        }
        Ok(setting)
    }

    fn take(&mut self, word: &str, words: &mut SplitWhitespace<'_>) -> Result<(), String> {
        match word {
            "discipline" => self.discipline = next(words, word)?,
            "rate" => self.rate_bps = next(words, word)?,
            "limit" => self.limit = next(words, word)?,
            "seed" => self.seed = next(words, word)?,
            "from" => self.from_s = next(words, word)?,
            "until" => self.until_s = next(words, word)?,
            "target" => self.target_ms = next(words, word)?,
            "interval" => self.interval_ms = next(words, word)?,
            "ecn" if next::<u8>(words, word)? == 1 => self.capable = Capable::Mark,
            "ecn" => self.capable = Capable::Drop,
            "as_ns3" if next::<u8>(words, word)? == 1 => {
                self.like = CoDelLike::Ns3;
                self.red.like = RedLike::Ns2;
            }
            "as_ns3" => {}
            "min" => self.red.min_threshold = next(words, word)?,
            "max" => self.red.max_threshold = next(words, word)?,
            "probability" => self.red.max_probability = next(words, word)?,
            "weight" => self.red.weight = next(words, word)?,
            "packet" => {
                let at = Instant::from_nanos(next(words, word)?);
                self.arrivals
                    .push((at, next(words, word)?, next(words, word)?));
            }
            "window" => {
                let start = Instant::from_nanos(next(words, word)?);
                let rtt = Duration::from_nanos(next(words, word)?);
                self.windows
                    .push((start, Window::new(rtt, next(words, word)?)));
            }
            other => return Err(format!("unknown word `{other}` in the description")),
        }
        Ok(())
    }

    fn discipline(&self) -> Result<Discipline, String> {
        let target = Duration::from_secs_f64(self.target_ms / 1e3);
        let interval = Duration::from_secs_f64(self.interval_ms / 1e3);
        let mut codel = CoDelConfig::RFC;
        (codel.target, codel.interval) = (target, interval);
        (codel.capable, codel.like) = (self.capable, self.like);
        Ok(match self.discipline.as_str() {
            "codel" => Discipline::CoDel(codel),
            "fq_codel" => {
                let mut fair = FqCoDelConfig::RFC;
                fair.codel = codel;
                Discipline::FqCoDel(fair)
            }
            "pie" => {
                let mut pie = PieConfig::RFC;
                (pie.target, pie.update, pie.capable) = (target, interval, self.capable);
                Discipline::Pie(pie)
            }
            "red" => {
                let mut red = self.red;
                red.capable = self.capable;
                Discipline::Red(red)
            }
            other => {
                return Err(format!(
                    "unknown discipline `{other}`: expected `codel`, `fq_codel`, `pie` or `red`"
                ));
            }
        })
    }

    fn ecn(&self) -> Codepoint {
        match self.capable {
            Capable::Mark => Codepoint::Ect0,
            Capable::Drop => Codepoint::NotEct,
        }
    }
}

fn next<T: FromStr>(words: &mut SplitWhitespace<'_>, key: &str) -> Result<T, String> {
    let word = words
        .next()
        .ok_or_else(|| format!("missing value after `{key}`"))?;
    word.parse()
        .map_err(|_| format!("invalid value `{word}` for `{key}`"))
}

/// Congestion window that grows and halves like that of Reno, without retransmissions. The window learns the fate of a
/// packet one round-trip time after the packet has left the queue or was dropped.
#[derive(Clone)]
struct Window {
    rtt: Duration,
    bytes: u32,
    cwnd: f64,
    ssthresh: f64,
    next: u64,
    recover: u64,
    outstanding: u64,
}

impl Window {
    fn new(rtt: Duration, bytes: u32) -> Self {
        Self {
            rtt,
            bytes,
            cwnd: 10.0,
            ssthresh: 1e9,
            next: 0,
            recover: 0,
            outstanding: 0,
        }
    }

    /// Returns the number of the next packet, if the window permits a packet.
    fn send(&mut self) -> Option<u64> {
        if self.outstanding as f64 >= self.cwnd.floor() {
            return None;
        }
        self.outstanding += 1;
        self.next += 1;
        Some(self.next - 1)
    }

    fn hear(&mut self, number: u64, congested: bool) {
        self.outstanding -= 1;
        if !congested {
            let slow_start = self.cwnd < self.ssthresh;
            self.cwnd += if slow_start { 1.0 } else { 1.0 / self.cwnd };
        } else if number >= self.recover {
            self.cwnd = (self.cwnd / 2.0).max(1.0);
            self.ssthresh = self.cwnd;
            self.recover = self.next;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Arrival of the packet with this index.
    Arrive(usize),
    Start(usize),
    Hear {
        window: usize,
        number: u64,
        congested: bool,
    },
}

#[derive(Clone, Copy)]
struct Known {
    came: Instant,
    bytes: u32,
    source: Option<(usize, u64)>,
    marked: bool,
}

#[derive(Default)]
struct Counts {
    offered: u64,
    delivered: u64,
    dropped: u64,
    marked: u64,
    wait_s: f64,
}

struct Run<'a> {
    setting: &'a Setting,
    link: Link,
    rate: BitRate,
    from: Instant,
    until: Instant,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    numbers: u64,
    windows: Vec<Window>,
    packets: Vec<Known>,
    counts: Counts,
}

impl<'a> Run<'a> {
    fn new(setting: &'a Setting) -> Result<Self, String> {
        let rate = BitRate::new(setting.rate_bps).ok_or("the rate is zero")?;
        let config = LinkConfig::rate(rate, Duration::ZERO)
            .with_queue(QueueLimit::Packets(setting.limit))
            .with_discipline(setting.discipline()?);
        if let Some(fault) = config.fault() {
            return Err(fault.explain().to_owned());
        }
        let mut run = Self {
            setting,
            link: Link::new(&config, setting.seed, "queue"),
            rate,
            from: Instant::ZERO + Duration::from_secs_f64(setting.from_s),
            until: Instant::ZERO + Duration::from_secs_f64(setting.until_s),
            events: BinaryHeap::new(),
            numbers: 0,
            windows: setting.windows.iter().map(|(_, w)| w.clone()).collect(),
            packets: Vec::new(),
            counts: Counts::default(),
        };
        if let Some((at, ..)) = setting.arrivals.first() {
            run.plan(*at, Event::Arrive(0));
        }
        for (n, (start, _)) in setting.windows.iter().enumerate() {
            run.plan(*start, Event::Start(n));
        }
        Ok(run)
    }

    fn go(&mut self) {
        loop {
            let arrival = self.link.next_arrival().map(|(at, _)| at);
            let transmission = self.link.next_transmission();
            let event = self.events.peek().map(|Reverse((at, ..))| *at);
            let times = [arrival, transmission, event];
            let Some(now) = times.into_iter().flatten().min() else {
                return;
            };
            if now > self.until {
                return;
            }
            if arrival == Some(now) {
                self.deliver(now);
            } else if transmission == Some(now) {
                let number = self.number();
                self.link.transmit(now, number);
                self.settle(now);
            } else if let Some(Reverse((_, _, event))) = self.events.pop() {
                self.act(now, event);
            }
        }
    }

    fn act(&mut self, now: Instant, event: Event) {
        match event {
            Event::Arrive(n) => {
                let (_, flow, bytes) = self.setting.arrivals[n];
                if let Some((at, ..)) = self.setting.arrivals.get(n + 1) {
                    self.plan(*at, Event::Arrive(n + 1));
                }
                self.offer(now, flow, bytes, None);
            }
            Event::Start(n) => self.send(now, n),
            Event::Hear {
                window,
                number,
                congested,
            } => {
                self.windows[window].hear(number, congested);
                self.send(now, window);
            }
        }
    }

    fn send(&mut self, now: Instant, window: usize) {
        while let Some(number) = self.windows[window].send() {
            let bytes = self.windows[window].bytes;
            self.offer(now, window as u32, bytes, Some((window, number)));
        }
    }

    fn offer(&mut self, now: Instant, flow: u32, bytes: u32, source: Option<(usize, u64)>) {
        let packet = PacketHandle(self.packets.len() as u32);
        self.packets.push(Known {
            came: now,
            bytes,
            source,
            marked: false,
        });
        self.counts.offered += u64::from(now >= self.from);
        let offer = Offer {
            packet,
            flow: FlowId(flow),
            bytes,
            ecn: self.setting.ecn(),
            ..Offer::default()
        };
        let number = self.number();
        match self.link.offer(now, number, &offer) {
            Admission::Accepted { .. } => {}
            Admission::Marked { .. } => self.packets[packet.0 as usize].marked = true,
            Admission::Dropped(_) => self.dropped(now, packet),
        }
        self.settle(now);
    }

    /// Handles the packets that the queue has dropped or marked.
    fn settle(&mut self, now: Instant) {
        while let Some((packet, _)) = self.link.take_drop() {
            self.dropped(now, packet);
        }
        while let Some(packet) = self.link.take_mark() {
            self.packets[packet.0 as usize].marked = true;
        }
    }

    fn dropped(&mut self, now: Instant, packet: PacketHandle) {
        let known = self.packets[packet.0 as usize];
        self.counts.dropped += u64::from(known.came >= self.from);
        self.left(now, known, true);
    }

    fn deliver(&mut self, now: Instant) {
        while let Some(flight) = self.link.take_arrival(now) {
            debug_assert_eq!(flight.fate, Fate::Arrived);
            let known = self.packets[flight.packet.0 as usize];
            if known.came >= self.from {
                let sending = self.rate.transmission_time(u64::from(known.bytes));
                self.counts.delivered += 1;
                self.counts.marked += u64::from(known.marked);
                self.counts.wait_s += now.since(known.came).saturating_sub(sending).as_secs_f64();
            }
            self.left(now, known, known.marked);
        }
    }

    /// Schedules the notification of the source, one round-trip time after a packet has left the queue or was dropped.
    fn left(&mut self, now: Instant, known: Known, congested: bool) {
        if let Some((window, number)) = known.source {
            let event = Event::Hear {
                window,
                number,
                congested,
            };
            self.plan(now + self.windows[window].rtt, event);
        }
    }

    fn plan(&mut self, at: Instant, event: Event) {
        let order = self.number().0;
        self.events.push(Reverse((at, order, event)));
    }

    fn number(&mut self) -> InsertionNumber {
        self.numbers += 1;
        InsertionNumber(self.numbers)
    }
}
