//! Paths on which senders are captured. This module builds the paths from descriptions in the format of experiment
//! files.

use dupack_algorithms::catalog::{Catalog, Dialect};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::Plan;
use dupack_lab::units::{Buffer, Room};
use dupack_net::link::LinkConfig;
use dupack_tcp::time::Duration;
use dupack_testbed::{SenderSpec, writes};
use dupack_wire::transfer::{Origin, ReadPauses, Write};

/// Payload of a full segment with timestamps, in bytes.
const SEGMENT_BYTES: u64 = 1448;

/// Size of a full packet, in bits.
const PACKET_BITS: f64 = 1500.0 * 8.0;

/// A path, and the amount of data that is sent over it.
#[derive(Clone, Debug)]
pub struct Place {
    pub name: String,
    /// Rate, round-trip time and buffer in words.
    pub numbers: String,
    /// The part of an experiment file that describes the path.
    pub experiment: String,
    /// Amount of data in bytes, unless the flow of the experiment has writes.
    pub bytes: u64,
    /// Pauses in which the application of the receiver does not read.
    pub reader: Option<ReadPauses>,
}

/// A path in the form that transfers need.
pub struct Built {
    pub forward: LinkConfig,
    pub backward: LinkConfig,
    pub window: Option<u64>,
    pub writes: Vec<Write>,
    /// Rate that a diagnosis should find, in bit/s.
    pub rate: f64,
    /// `true` if `rate` is the rate of a policer.
    pub policed: bool,
    /// Minimum round-trip time: both delays plus the transmission time of a full packet.
    pub least_rtt: Duration,
    /// Capacity of the queue in packets.
    pub room: Option<f64>,
}

/// The senders that are captured on each path.
pub const SENDERS: [&str; 8] = [
    "rack/cubic",
    "sack/reno",
    "le/westwood",
    "rack/bbr",
    "newreno/reno",
    "kernel:cubic",
    "kernel:reno",
    "kernel:bbr",
];

/// A kind of path. Seed 1 uses these numbers; other seeds multiply them by random factors.
struct Kind {
    name: &'static str,
    bytes: u64,
    /// Rate in Mbit/s.
    rate: f64,
    /// One-way delay in ms.
    delay: f64,
    /// Buffer in packets.
    buffer: f64,
    /// Further lines of the table `[path]`, and lines after this table. `{rate}` stands for the rate of a policer in
    /// Mbit/s.
    rest: &'static str,
}

/// Name of the path whose receiver stops reading. Experiment files cannot describe such a receiver.
const READER: &str = "a reader with pauses, 0.5 % loss";

/// During a pause, a window of 64 kB fills, and the sender sends window probes.
const PAUSES: ReadPauses = ReadPauses {
    every: 800_000,
    time: Duration::from_millis(900),
};

/// The kinds of path. A transfer over each kind takes some seconds.
const KINDS: [Kind; 10] = [
    Kind {
        name: "no loss",
        bytes: 6_000_000,
        rate: 10.0,
        delay: 10.0,
        buffer: 50.0,
        rest: "",
    },
    Kind {
        name: "1 % loss",
        bytes: 3_500_000,
        rate: 10.0,
        delay: 10.0,
        buffer: 50.0,
        rest: "loss = '1%'",
    },
    Kind {
        name: "2 % loss",
        bytes: 2_500_000,
        rate: 20.0,
        delay: 15.0,
        buffer: 60.0,
        rest: "loss = '2%'",
    },
    Kind {
        name: "5 % loss",
        bytes: 1_200_000,
        rate: 10.0,
        delay: 10.0,
        buffer: 50.0,
        rest: "loss = '5%'",
    },
    Kind {
        name: "reordering",
        bytes: 3_000_000,
        rate: 10.0,
        delay: 10.0,
        buffer: 50.0,
        rest: "loss = '0.3%'\nreorder = { probability = '2%', delay = '5ms' }",
    },
    Kind {
        name: "small receive window",
        bytes: 4_000_000,
        rate: 20.0,
        delay: 20.0,
        buffer: 100.0,
        rest: "[receiver]\nbuffer = '32kB'",
    },
    Kind {
        name: READER,
        bytes: 4_000_000,
        rate: 20.0,
        delay: 10.0,
        buffer: 100.0,
        rest: "loss = '0.5%'\n[receiver]\nbuffer = '64kB'",
    },
    Kind {
        name: "answers with pauses, 2 % loss",
        bytes: 0,
        rate: 10.0,
        delay: 10.0,
        buffer: 50.0,
        rest: "loss = '2%'\n[[flows]]\n\
               writes = [{ bytes = '30kB' }, { after = '100ms', bytes = '30kB', count = 39 }]",
    },
    Kind {
        name: "policer",
        bytes: 3_000_000,
        rate: 40.0,
        delay: 10.0,
        buffer: 200.0,
        rest: "queue = 'policer'\ntoken_bucket = { rate = '{rate}Mbit/s', burst = '40kB' }",
    },
    Kind {
        name: "bursts of loss, short queue",
        bytes: 2_500_000,
        rate: 10.0,
        delay: 25.0,
        buffer: 15.0,
        rest: "burst_loss = { enter = '0.3%', leave = '40%' }",
    },
];

/// Factors from which a seed chooses at random.
const RATES: [f64; 4] = [0.5, 1.0, 1.5, 2.0];
const DELAYS: [f64; 5] = [0.5, 1.0, 1.5, 2.5, 4.0];
const BUFFERS: [f64; 3] = [0.5, 1.0, 2.0];

/// Rate of a policer, as a fraction of the link's rate.
const POLICED: f64 = 0.125;

/// Returns all paths of `seed`.
pub fn places(seed: u64) -> Vec<Place> {
    let mut draws = Draws(seed);
    KINDS
        .iter()
        .map(|kind| kind.place(&mut draws, seed))
        .collect()
}

impl Kind {
    fn place(&self, draws: &mut Draws, seed: u64) -> Place {
        let drawn = [draws.one(&RATES), draws.one(&DELAYS), draws.one(&BUFFERS)];
        let [rate, delay, buffer] = if seed == 1 { [1.0; 3] } else { drawn };
        let (rate, delay) = (self.rate * rate, self.delay * delay);
        let buffer = (self.buffer * buffer).max(8.0).round();
        let rest = self.rest.replace("{rate}", &(rate * POLICED).to_string());
        Place {
            name: self.name.to_owned(),
            numbers: format!("{rate} Mbit/s, {} ms, {buffer} packets", 2.0 * delay),
            experiment: format!(
                "[path]\nrate = '{rate}Mbit/s'\ndelay = '{delay}ms'\nbuffer = '{buffer}pkt'\n{rest}"
            ),
            bytes: self.bytes,
            reader: (self.name == READER).then_some(PAUSES),
        }
    }
}

/// Random number generator (SplitMix64, Steele, Lea and Flood, OOPSLA 2014).
struct Draws(u64);

impl Draws {
    fn one(&mut self, from: &[f64]) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        // There are only a few values, so the bias of the remainder does not matter.
        let place = (word % from.len().max(1) as u64) as usize;
        from.get(place).copied().unwrap_or(1.0)
    }
}

impl Place {
    /// Builds the path for one transfer. `seed` determines its random numbers.
    pub fn build(&self, seed: u64) -> Result<Built, String> {
        let text = format!(
            "stacks = ['sack/reno']\nduration = '120s'\nstarts = 'given'\n{}\n",
            self.experiment
        );
        let source = Source::new(&self.name, text);
        let said = |error: &dyn std::fmt::Debug| format!("{}: {error:?}", self.name);
        let experiment = source.parse().map_err(|error| said(&error))?;
        let catalog = Catalog::builtin();
        let plan = Plan::new(experiment.clone(), &source, &catalog).map_err(|e| said(&e))?;
        let job = plan.jobs().into_iter().next();
        let job = job.ok_or_else(|| format!("{}: no run", self.name))?;
        let links = plan.scenario(job).path_links(seed);
        let (forward, backward) = links.map_err(|error| said(&error))?;
        let path = experiment.path.as_ref();
        let bucket = path.and_then(|path| path.token_bucket);
        let rate = bucket.map(|bucket| bucket.rate);
        let link = path.and_then(|path| path.rate);
        let link = link.map_or(f64::INFINITY, |rate| rate.as_bits_per_second() as f64);
        let full = Duration::from_secs_f64(PACKET_BITS / link);
        let least_rtt = forward.delay + backward.delay + full;
        let rate = rate.or_else(|| path.and_then(|path| path.rate));
        Ok(Built {
            forward,
            backward,
            window: experiment.receiver.buffer.map(in_bytes),
            writes: writes(&experiment),
            rate: rate.map_or(0.0, |rate| rate.as_bits_per_second() as f64),
            policed: bucket.is_some(),
            least_rtt,
            room: match path.and_then(|path| path.buffer) {
                Some(Room::Fixed(Buffer::Packets(packets))) => Some(f64::from(packets)),
                _ => None,
            },
        })
    }
}

fn in_bytes(buffer: Buffer) -> u64 {
    match buffer {
        Buffer::Bytes(bytes) => bytes,
        Buffer::Packets(packets) => u64::from(packets) * SEGMENT_BYTES,
    }
}

/// Returns a sender in the form that transfers need.
pub fn origin(sender: &str) -> Result<Origin, String> {
    let catalog = Catalog::builtin();
    let sender = SenderSpec::parse(sender, &catalog).map_err(|error| error.to_string())?;
    Ok(sender.origin(Dialect::Linux))
}
