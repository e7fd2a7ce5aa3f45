//! Transfers drawn from a seed: a stack over a path with known properties.

use std::fmt::Write as _;

/// A transfer that is drawn from a seed.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub seed: u64,
    pub stack: String,
    pub dialect: &'static str,
    /// Rate in bit/s. If the rate varies, `rate` is the minimum and `rate_max` is the maximum.
    pub rate: f64,
    pub rate_max: Option<f64>,
    /// One-way delay in seconds.
    pub delay: f64,
    /// Capacity of the queue in packets.
    pub room: u64,
    pub loss: Loss,
    pub kind: Kind,
    pub header: u32,
    pub segment: u32,
    seconds: f64,
    path: String,
    receiver: String,
    flow: String,
}

/// Losses of the link itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    None,
    Single(f64),
    Bursts { enter: f64, leave: f64 },
}

impl Loss {
    /// Returns the average fraction of packets that is lost.
    pub fn share(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Single(share) => share,
            Self::Bursts { enter, leave } => enter / (enter + leave),
        }
    }
}

/// Special property of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Plain,
    Reordering,
    Jitter,
    AckLoss,
    SmallWindow,
    Writes,
    /// Policer with this rate in bit/s and burst in bytes.
    Policer(f64, f64),
    Varying,
}

const RECOVERIES: [&str; 10] = [
    "rack",
    "rack",
    "rack",
    "sack",
    "sack",
    "newreno",
    "fack",
    "reno",
    "le",
    "momentary",
];
const CONTROLS: [&str; 8] = [
    "reno", "cubic", "cubic", "cubic", "bbr", "bbr", "westwood", "vegas",
];
const DIALECTS: [&str; 5] = ["rfc", "linux", "linux", "linux", "ns2"];

/// Maximum number of packets of a transfer, because longer transfers take too long to simulate.
const PACKETS_MAX: f64 = 25_000.0;

impl Drawn {
    /// Draws the transfer of a seed.
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::of(seed);
        let stack = format!("{}/{}", dice.one_of(&RECOVERIES), dice.one_of(&CONTROLS));
        let dialect = dice.one_of(&DIALECTS);
        let rate = 1e6 * 100_f64.powf(dice.share());
        let delay = 1.5e-3 * 50_f64.powf(dice.share());
        let segment = if dialect == "ns2" { 1000 } else { 1448 };
        let stamped = dialect == "linux" || dice.share() < 0.4;
        let header = if stamped { 52 } else { 40 };
        let packet_bits = f64::from(segment + header) * 8.0;
        let pipe = rate * 2.0 * delay / packet_bits;
        let room = (pipe * 0.1 * 40_f64.powf(dice.share())).max(4.0) as u64;
        let room = room.min(3000);
        let loss = match (dice.share() * 10.0) as u32 {
            0..4 => Loss::None,
            4..8 => Loss::Single(dice.one_of(&[0.005, 0.01, 0.02, 0.05])),
            _ => Loss::Bursts {
                enter: dice.one_of(&[0.001, 0.003, 0.006]),
                leave: dice.one_of(&[0.2, 0.35, 0.5]),
            },
        };
        let kind = kind(&mut dice, rate);
        let seconds = (PACKETS_MAX * packet_bits / rate).clamp(4.0, 30.0);
        let mut drawn = Self {
            seed,
            stack,
            dialect,
            rate,
            rate_max: None,
            delay,
            room,
            loss,
            kind,
            header,
            segment,
            seconds,
            path: String::new(),
            receiver: String::new(),
            flow: String::new(),
        };
        drawn.delayed_acks(&mut dice);
        drawn.say(&mut dice, pipe);
        drawn
    }

    fn delayed_acks(&mut self, dice: &mut Dice) {
        self.receiver = match dice.one_of(&[0, 1, 2, 2, 3]) {
            0 => "delayed_ack = \"0s\"\n",
            1 => "delayed_ack = \"200ms\"\n",
            2 => "delayed_ack = \"40ms\"\n",
            _ => "acks = \"adaptive\"\n",
        }
        .to_owned();
    }

    /// Adds the losses and the special property of the path in the syntax of an experiment file.
    fn say(&mut self, dice: &mut Dice, pipe: f64) {
        let _ = match self.loss {
            Loss::None => Ok(()),
            Loss::Single(share) => writeln!(self.path, "loss = \"{}%\"", share * 100.0),
            Loss::Bursts { enter, leave } => writeln!(
                self.path,
                "burst_loss = {{ enter = \"{}%\", leave = \"{}%\" }}",
                enter * 100.0,
                leave * 100.0
            ),
        };
        let _ = match self.kind {
            Kind::Plain => Ok(()),
            Kind::Reordering => {
                let share = dice.one_of(&[0.5, 1.0, 3.0]);
                let late = 1.0 + 8.0 * dice.share();
                let held = format!("probability = \"{share}%\", delay = \"{late:.1}ms\"");
                writeln!(self.path, "reorder = {{ {held} }}")
            }
            Kind::Jitter => writeln!(self.path, "jitter = \"{:.1}ms\"", 0.5 + 4.0 * dice.share()),
            Kind::AckLoss => {
                let share = dice.one_of(&[1, 5]);
                writeln!(self.path, "[path.reverse]\nloss = \"{share}%\"")
            }
            Kind::SmallWindow => {
                let packets = (pipe * (0.3 + dice.share())).max(4.0);
                let bytes = (packets * f64::from(self.segment)) as u64;
                writeln!(self.receiver, "buffer = \"{bytes}B\"")
            }
            Kind::Writes => {
                let bytes = dice.one_of(&[6, 12, 40, 200]);
                let wait = dice.one_of(&[20, 50, 200, 500]);
                let way = dice.one_of(&["after", "after", "every"]);
                let write = format!("{way} = \"{wait}ms\", bytes = \"{bytes}kB\", count = 150");
                writeln!(self.flow, "writes = [{{ {write} }}]")
            }
            Kind::Policer(rate, burst) => writeln!(
                self.path,
                "queue = \"policer\"\ntoken_bucket = {{ rate = \"{rate:.0}bit/s\", burst = \"{burst:.0}B\" }}"
            ),
            Kind::Varying => {
                let greatest = self.rate * (1.5 + 2.0 * dice.share());
                self.rate_max = Some(greatest);
                let every = dice.one_of(&[200, 1000, 3000]);
                writeln!(
                    self.path,
                    "changes = [{{ at = \"0s\", every = \"{every}ms\", rate = \"{:.0}bit/s\", rate_max = \"{greatest:.0}bit/s\" }}]",
                    self.rate
                )
            }
        };
        if self.flow.is_empty() && dice.share() < 0.5 {
            let packets = 300.0 * 60_f64.powf(dice.share());
            let _ = writeln!(
                self.flow,
                "bytes = \"{:.0}B\"",
                packets * f64::from(self.segment)
            );
        }
    }

    /// Returns the experiment as the text of a file.
    pub fn experiment(&self) -> String {
        format!(
            "stacks = [\"{}\"]\ndialect = \"{}\"\nseeds = 1\nstarts = \"given\"\nduration = \"{:.1}s\"\n\
             [sender]\nsegment = \"{}B\"\nheader = \"{}B\"\ntimestamps = {}\n\
             [receiver]\n{}\n[[flows]]\n{}\n\
             [path]\nrate = \"{:.0}bit/s\"\ndelay = \"{:.3}ms\"\nbuffer = \"{}pkt\"\n{}\n",
            self.stack,
            self.dialect,
            self.seconds,
            self.segment,
            self.header,
            self.header == 52,
            self.receiver,
            self.flow,
            self.rate,
            self.delay * 1e3,
            self.room,
            self.path,
        )
    }

    /// Returns the minimum round-trip time of a full packet and its ACK, in seconds.
    pub fn least_rtt(&self) -> f64 {
        let packet = f64::from(self.segment + self.header) * 8.0;
        let ack = f64::from(self.header) * 8.0;
        2.0 * self.delay + (packet + ack) / self.rate_max.unwrap_or(self.rate)
    }

    /// Returns the minimum round-trip time of the handshake, whose packets are short, in seconds.
    pub fn short_rtt(&self) -> f64 {
        let header = f64::from(self.header) * 8.0;
        2.0 * self.delay + 2.0 * header / self.rate_max.unwrap_or(self.rate)
    }

    /// Returns a description of the transfer in one line.
    pub fn line(&self) -> String {
        let mut line = format!(
            "{} {} {} {:.2} Mbit/s rtt {:.1} ms {} pkt {:?} {:?} {:.0} s, {} {} {}",
            self.seed,
            self.stack,
            self.dialect,
            self.rate / 1e6,
            self.least_rtt() * 1e3,
            self.room,
            self.loss,
            self.kind,
            self.seconds,
            self.receiver,
            self.path,
            self.flow,
        );
        line = line.replace('\n', " ");
        line
    }
}

fn kind(dice: &mut Dice, rate: f64) -> Kind {
    match (dice.share() * 20.0) as u32 {
        0..8 => Kind::Plain,
        8 | 9 => Kind::Reordering,
        10 => Kind::Jitter,
        11 | 12 => Kind::AckLoss,
        13 | 14 => Kind::SmallWindow,
        15 | 16 => Kind::Writes,
        17 => Kind::Policer(
            rate * (0.1 + 0.5 * dice.share()),
            1.0e4 * 20_f64.powf(dice.share()),
        ),
        _ => Kind::Varying,
    }
}

/// Generator of random numbers (xorshift64*, Vigna 2016). Its quality is sufficient for drawing paths.
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn of(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d);
        for _ in 0..4 {
            dice.roll();
        }
        dice
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a random number from 0 to below 1.
    pub fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.roll() >> 33) as usize % all.len()]
    }
}
