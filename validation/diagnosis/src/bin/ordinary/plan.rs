//! An application and its path, chosen at random from a seed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The kinds of application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Download,
    Upload,
    Duplex,
    Requests,
    Echo,
    KeepAlive,
    Page,
    SlowReader,
    Nagle,
    Periodic,
    LossyService,
}

impl Kind {
    pub const ALL: [Self; 11] = [
        Self::Download,
        Self::Upload,
        Self::Duplex,
        Self::Requests,
        Self::Echo,
        Self::KeepAlive,
        Self::Page,
        Self::SlowReader,
        Self::Nagle,
        Self::Periodic,
        Self::LossyService,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
            Self::Duplex => "duplex",
            Self::Requests => "requests",
            Self::Echo => "echo",
            Self::KeepAlive => "keep-alive",
            Self::Page => "page",
            Self::SlowReader => "slow-reader",
            Self::Nagle => "nagle",
            Self::Periodic => "periodic",
            Self::LossyService => "lossy-service",
        }
    }

    /// Returns the description of the kind, for tables.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Download => "bulk download",
            Self::Upload => "bulk upload",
            Self::Duplex => "upload and download in one connection",
            Self::Requests => "request and answer with think time",
            Self::Echo => "interactive echo",
            Self::KeepAlive => "idle connection with keep-alives",
            Self::Page => "page over several connections",
            Self::SlowReader => "slow reader",
            Self::Nagle => "write, write, read without TCP_NODELAY",
            Self::Periodic => "periodic small messages",
            Self::LossyService => "small responses over a lossy path",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("unknown kind `{text}`: expected one of {names}")
        })
    }
}

/// One action of a program.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Write(u64),
    Read(u64),
    Sleep(Duration),
    /// Reads `bytes` bytes, at most `chunk` at once, and sleeps for `pause` after each read.
    ReadSlowly {
        bytes: u64,
        chunk: u64,
        pause: Duration,
    },
    /// Reads to the end of the stream.
    ReadAll,
    /// Sends a FIN.
    Finish,
}

/// A program at one end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Lists of actions. Each list runs on a separate thread.
    pub lanes: Vec<Vec<Step>>,
    pub no_delay: bool,
    /// Size of `SO_SNDBUF` in bytes, or `None` if the kernel chooses it. The next field is the same for `SO_RCVBUF`.
    pub send_buffer: Option<usize>,
    pub receive_buffer: Option<usize>,
    /// Interval of keep-alive probes, in seconds.
    pub keep_alive: Option<u32>,
    /// Congestion control.
    pub control: &'static str,
}

/// A connection: the programs of client and server, and the time at which the connection is opened.
#[derive(Clone, Debug)]
pub struct Plug {
    pub after: Duration,
    pub client: Program,
    pub server: Program,
}

/// A path.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Route {
    pub rtt_ms: f64,
    /// Rate of each direction, in bit/s.
    pub rate: u64,
    /// Loss probability from the client to the server, and in the opposite direction.
    pub loss: [f64; 2],
    /// Capacity of the buffer of each direction, in packets.
    pub buffer: u64,
    pub v6: bool,
    /// Rate in bit/s of a token bucket (tbf) on the host that sends most of the data. The bucket is before the capture
    /// point.
    #[serde(default)]
    pub shaper: Option<u64>,
    /// `true` for each end (client, server) whose device has no offload and handles single segments.
    #[serde(default)]
    pub single: [bool; 2],
}

/// Plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub kind: Kind,
    pub route: Route,
    pub plugs: Vec<Plug>,
}

/// Random number generator (SplitMix64, Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x5851_f42d_4c95_7f2d))
    }

    pub const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Returns a uniformly distributed number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a uniformly distributed number from `low` to `high`.
    pub fn even(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns a log-uniformly distributed number from `low` to `high`.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        (self.even(low.ln(), high.ln())).exp()
    }

    pub fn count(&mut self, low: u64, high: u64) -> u64 {
        low + self.word() % (high - low + 1)
    }

    pub fn one<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.word() % from.len() as u64) as usize]
    }

    fn ms(&mut self, low: f64, high: f64) -> Duration {
        Duration::from_secs_f64(self.log(low, high) / 1e3)
    }
}

/// Size of a full packet on the link, in bits.
const PACKET_BITS: f64 = 12_000.0;

impl Route {
    fn draw(draws: &mut Draws, kind: Kind) -> Self {
        let rtt_ms = draws.log(1.0, 200.0);
        let rate = draws.log(1e6, 100e6) as u64;
        let lossy = kind == Kind::LossyService || draws.chance(0.4);
        let loss = match (kind, lossy) {
            (_, false) => 0.0,
            (Kind::LossyService, true) => draws.even(0.01, 0.03),
            (_, true) => draws.log(0.001, 0.03),
        };
        let packets = rate as f64 * rtt_ms / 1e3 / PACKET_BITS;
        let buffer = (packets * draws.one(&[0.5, 1.0, 2.0, 4.0])).clamp(10.0, 2000.0) as u64;
        let both = draws.chance(0.3);
        Self {
            rtt_ms,
            rate,
            loss: match kind {
                Kind::Upload => [loss, if both { loss } else { 0.0 }],
                Kind::Duplex => [loss, loss],
                _ => [if both { loss } else { 0.0 }, loss],
            },
            buffer,
            v6: draws.chance(0.25),
            shaper: None,
            single: [false; 2],
        }
    }

    /// Chooses the behaviour of the hosts, with separate random numbers.
    fn draw_hosts(&mut self, draws: &mut Draws, kind: Kind) {
        let shaped = matches!(kind, Kind::Download | Kind::Upload) && draws.chance(0.3);
        let part = draws.even(0.5, 0.9);
        self.shaper = shaped.then_some((self.rate as f64 * part) as u64);
        self.single = [draws.chance(0.25), draws.chance(0.25)];
    }

    /// Returns the approximate number of bytes that a bulk transfer sends in `seconds` seconds (Mathis et al., CCR
    /// 1997).
    fn bytes_in(&self, seconds: f64) -> u64 {
        let loss = self.loss[0].max(self.loss[1]);
        let rate = self.slowest() / 8.0;
        let bound = if loss > 0.0 {
            1448.0 / (self.rtt_ms / 1e3) * 1.3 / loss.sqrt()
        } else {
            f64::INFINITY
        };
        (rate.min(bound) * seconds).clamp(20e3, 60e6) as u64
    }

    /// Returns the bandwidth-delay product: the number of payload bytes that fill the path without a queue.
    pub fn product(&self) -> f64 {
        let seconds = self.rtt_ms / 1e3 + PACKET_BITS / self.slowest();
        self.slowest() / 8.0 * seconds * 1448.0 / 1500.0
    }

    /// Returns the minimum of the rates of the path and of the shaper, in bit/s.
    fn slowest(&self) -> f64 {
        self.shaper.unwrap_or(self.rate).min(self.rate) as f64
    }
}

impl Plan {
    /// Returns the plan of a seed for an application of this kind.
    pub fn draw(seed: u64, kind: Kind) -> Self {
        let mut draws = Draws::new(seed * 32 + kind as u64);
        let mut route = Route::draw(&mut draws, kind);
        route.draw_hosts(&mut Draws::new(seed ^ 0x686f_7374), kind);
        let mut plan = Self {
            seed,
            kind,
            route,
            plugs: Vec::new(),
        };
        plan.fill(&mut draws);
        plan
    }

    pub fn name(&self) -> String {
        format!("{:04}-{}", self.seed, self.kind)
    }

    /// Returns a description of the plan in one line.
    pub fn line(&self) -> String {
        let Route {
            rtt_ms,
            rate,
            loss,
            buffer,
            v6,
            shaper,
            single,
        } = self.route;
        let first = self.plugs.first();
        let of = |program: &Program| {
            let mut text = program.control.to_owned();
            if program.no_delay {
                text += " nodelay";
            }
            if let Some(bytes) = program.send_buffer {
                text += &format!(" sndbuf {bytes}");
            }
            if let Some(bytes) = program.receive_buffer {
                text += &format!(" rcvbuf {bytes}");
            }
            text
        };
        format!(
            "{} seed {}: {rtt_ms:.1} ms, {:.1} Mbit/s, loss {:.2}/{:.2} %, {buffer} packets{}{}{}; {}",
            self.kind,
            self.seed,
            rate as f64 / 1e6,
            loss[0] * 100.0,
            loss[1] * 100.0,
            if v6 { ", IPv6" } else { "" },
            shaper.map_or_else(String::new, |rate| format!(
                ", tbf {:.1} Mbit/s",
                rate as f64 / 1e6
            )),
            match single {
                [false, false] => "",
                [true, false] => ", no offload at the client",
                [false, true] => ", no offload at the server",
                [true, true] => ", no offload",
            },
            first.map_or_else(String::new, |plug| format!(
                "client {}, server {}",
                of(&plug.client),
                of(&plug.server)
            ))
        )
    }

    fn program(&self, draws: &mut Draws, lanes: Vec<Vec<Step>>) -> Program {
        let no_delay = match self.kind {
            Kind::Nagle => false,
            Kind::Echo | Kind::Page => true,
            _ => draws.chance(0.5),
        };
        let bulk = matches!(self.kind, Kind::Download | Kind::Upload | Kind::Duplex);
        Program {
            lanes,
            no_delay,
            send_buffer: (bulk && draws.chance(0.2)).then(|| draws.log(16e3, 128e3) as usize),
            receive_buffer: (bulk && draws.chance(0.15)).then(|| draws.log(16e3, 128e3) as usize),
            keep_alive: None,
            control: draws.one(&["cubic", "cubic", "reno", "bbr"]),
        }
    }

    fn plug(&mut self, draws: &mut Draws, client: Vec<Vec<Step>>, server: Vec<Vec<Step>>) {
        let client = self.program(draws, client);
        let server = self.program(draws, server);
        self.plugs.push(Plug {
            after: Duration::ZERO,
            client,
            server,
        });
    }

    fn fill(&mut self, draws: &mut Draws) {
        use Step::{Finish, Read, ReadAll, ReadSlowly, Sleep, Write};
        let seconds = draws.even(2.0, 7.0);
        let bulk = self.route.bytes_in(seconds);
        match self.kind {
            Kind::Download => {
                let ask = draws.count(100, 900);
                self.plug(
                    draws,
                    vec![vec![Write(ask), ReadAll]],
                    vec![vec![Read(ask), Write(bulk)]],
                );
            }
            Kind::Upload => {
                let answer = draws.count(100, 400);
                self.plug(
                    draws,
                    vec![vec![Write(bulk), Read(answer)]],
                    vec![vec![Read(bulk), Write(answer)]],
                );
            }
            Kind::Duplex => {
                let down = (bulk as f64 * draws.log(0.3, 1.0)) as u64;
                self.plug(
                    draws,
                    vec![vec![Write(bulk), Finish], vec![ReadAll]],
                    vec![vec![Write(down), Finish], vec![ReadAll]],
                );
            }
            Kind::Requests => self.requests(draws, seconds),
            Kind::Echo => {
                let (mut keys, mut echoes) = (Vec::new(), Vec::new());
                let mut left = seconds;
                while left > 0.0 {
                    let pause = draws.ms(60.0, 600.0);
                    left -= pause.as_secs_f64();
                    keys.extend([Write(1), Sleep(pause)]);
                    echoes.extend([Read(1), Write(draws.one(&[1, 1, 1, 20, 400]))]);
                }
                self.plug(draws, vec![keys, vec![ReadAll]], vec![echoes]);
            }
            Kind::KeepAlive => {
                let (ask, answer) = (draws.count(50, 500), draws.log(100.0, 50e3) as u64);
                let idle = Duration::from_secs_f64(draws.even(3.0, 8.0));
                let mut client = vec![Write(ask), Read(answer), Sleep(idle)];
                let mut server = vec![Read(ask), Write(answer)];
                if draws.chance(0.5) {
                    client.extend([Write(ask), Read(answer)]);
                    server.extend([Read(ask), Write(answer)]);
                }
                server.push(ReadAll);
                self.plug(draws, vec![client], vec![server]);
                if let Some(plug) = self.plugs.first_mut() {
                    plug.client.keep_alive = Some(1);
                    plug.server.keep_alive = draws.chance(0.3).then_some(2);
                }
            }
            Kind::Page => {
                let page = self.route.bytes_in(seconds) / 2;
                let connections = draws.count(3, 6);
                for number in 0..connections {
                    let (mut client, mut server) = (Vec::new(), Vec::new());
                    for _ in 0..draws.count(1, 4) {
                        let ask = draws.count(300, 1200);
                        let share = page as f64 / connections as f64 * draws.log(0.05, 1.0);
                        let answer = (share as u64).clamp(2_000, 4_000_000);
                        client.extend([Write(ask), Read(answer)]);
                        server.push(Read(ask));
                        if draws.chance(0.4) {
                            server.push(Sleep(draws.ms(5.0, 300.0)));
                        }
                        server.push(Write(answer));
                        if draws.chance(0.2) {
                            client.push(Sleep(draws.ms(50.0, 800.0)));
                        }
                    }
                    self.plug(draws, vec![client], vec![server]);
                    if let Some(plug) = self.plugs.last_mut()
                        && number > 0
                    {
                        let wait = self.route.rtt_ms * 2.0 + draws.even(5.0, 200.0);
                        plug.after = Duration::from_secs_f64(wait / 1e3);
                    }
                }
            }
            Kind::SlowReader => {
                let ask = draws.count(100, 600);
                let buffer = draws.log(20e3, 200e3);
                let stops = draws.chance(0.5);
                let client = if stops {
                    let early = (buffer * draws.even(0.5, 4.0)) as u64;
                    let stop = Duration::from_secs_f64(seconds);
                    vec![Write(ask), Read(early), Sleep(stop), ReadAll]
                } else {
                    let chunk = buffer * draws.even(0.1, 0.8);
                    let pause = draws.ms(30.0, 700.0);
                    let count = (seconds / pause.as_secs_f64()).ceil();
                    let slow = ReadSlowly {
                        bytes: (chunk * count) as u64,
                        chunk: chunk as u64,
                        pause,
                    };
                    vec![Write(ask), slow, ReadAll]
                };
                let bytes = match client.get(1) {
                    Some(ReadSlowly { bytes, .. }) => *bytes,
                    _ => (buffer * draws.even(5.0, 15.0)) as u64,
                };
                self.plug(draws, vec![client], vec![vec![Read(ask), Write(bytes)]]);
                if let Some(plug) = self.plugs.first_mut() {
                    plug.client.receive_buffer = Some(buffer as usize);
                }
            }
            Kind::Nagle => {
                let (mut client, mut server) = (Vec::new(), Vec::new());
                let rounds = (seconds / (self.route.rtt_ms * 2.0 / 1e3 + 0.06)).clamp(8.0, 100.0);
                let two_answers = draws.chance(0.5);
                let pause = draws.chance(0.5).then(|| draws.ms(2.0, 60.0));
                for _ in 0..rounds as u64 {
                    let (head, body) = (draws.count(40, 300), draws.count(20, 900));
                    let answer = draws.count(50, 1000);
                    client.extend([Write(head), Write(body), Read(answer)]);
                    server.push(Read(head + body));
                    if two_answers {
                        server.extend([Write(20), Write(answer - 20)]);
                    } else {
                        server.push(Write(answer));
                    }
                    client.extend(pause.map(Sleep));
                }
                self.plug(draws, vec![client], vec![server]);
            }
            Kind::Periodic => {
                let size = draws.log(50.0, 3000.0) as u64;
                let every = draws.ms(30.0, 700.0);
                let count = (seconds / every.as_secs_f64()).ceil() as usize;
                let messages: Vec<Step> = [Write(size), Sleep(every)].repeat(count);
                let up = draws.chance(0.5);
                let (client, server) = if up {
                    (vec![messages], vec![vec![ReadAll]])
                } else {
                    (vec![vec![Write(50), ReadAll]], vec![messages])
                };
                self.plug(draws, client, server);
            }
            Kind::LossyService => {
                let (mut client, mut server) = (Vec::new(), Vec::new());
                let each = self.route.rtt_ms / 1e3 * 1.5 + 0.03;
                let pause = draws.chance(0.5).then(|| draws.ms(1.0, 30.0));
                for _ in 0..(seconds / each).clamp(20.0, 300.0) as u64 {
                    let answer = draws.log(500.0, 15e3) as u64;
                    client.extend([Write(200), Read(answer)]);
                    server.extend([Read(200), Write(answer)]);
                    client.extend(pause.map(Sleep));
                }
                self.plug(draws, vec![client], vec![server]);
            }
        }
    }

    fn requests(&mut self, draws: &mut Draws, seconds: f64) {
        use Step::{Read, Sleep, Write};
        let (mut client, mut server) = (Vec::new(), Vec::new());
        let (server_thinks, client_thinks) = (draws.log(5.0, 500.0), draws.log(5.0, 1500.0));
        let largest = (self.route.bytes_in(1.0) as f64).clamp(5e3, 1e6);
        let mut left = seconds;
        while left > 0.0 {
            let ask = draws.count(100, 2000);
            let answer = draws.log(500.0, largest) as u64;
            let think = draws.ms(server_thinks / 2.0, server_thinks * 2.0);
            client.extend([Write(ask), Read(answer)]);
            server.extend([Read(ask), Sleep(think), Write(answer)]);
            left -= think.as_secs_f64() + 2.0 * self.route.rtt_ms / 1e3;
            if draws.chance(0.6) {
                let think = draws.ms(client_thinks / 2.0, client_thinks * 2.0);
                left -= think.as_secs_f64();
                client.push(Sleep(think));
            }
        }
        self.plug(draws, vec![client], vec![server]);
    }
}
