//! Randomly drawn transfers: sender, application, receiver and path.

use dupack_net::flow::Reader;
use dupack_tcp::time::Duration;

use super::tape::Tape;

/// Behaviour of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// The application always has more data.
    Bulk,
    /// The application sends a fixed amount of data.
    Short,
    /// The application sends responses, each some time after the previous one was acknowledged.
    Answers,
    /// The application writes data at regular times.
    Writes,
    Video,
    /// The application always has more data, and the receiver has a small window.
    SmallWindow,
    /// The application always has more data, and the receiving application reads slowly or stops reading.
    SlowReader,
}

/// A randomly drawn transfer.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub seed: u64,
    pub recovery: &'static str,
    pub control: &'static str,
    pub dialect: &'static str,
    pub work: Work,
    pub reader: Reader,
    /// The experiment as the text of a file.
    pub text: String,
    /// Description of the transfer in one line.
    pub line: String,
}

/// Recovery, congestion control and weight of each stack.
const STACKS: [(&str, &str, u32); 22] = [
    ("rack", "cubic", 6),
    ("rack", "reno", 4),
    ("rack", "bbr", 6),
    ("sack", "cubic", 4),
    ("sack", "reno", 4),
    ("newreno", "reno", 4),
    ("newreno", "cubic", 2),
    ("reno", "reno", 3),
    ("reno", "cubic", 1),
    ("tahoe", "reno", 1),
    ("fack", "reno", 2),
    ("fack", "cubic", 2),
    ("le", "reno", 2),
    ("le", "cubic", 1),
    ("momentary", "reno", 2),
    ("rack", "westwood", 2),
    ("sack", "westwood", 1),
    ("sack", "vegas", 2),
    ("rack", "vegas", 1),
    ("sack", "bbr", 1),
    ("newreno", "bbr", 1),
    ("rack", "fixed", 1),
];

const WORKS: [Work; 10] = [
    Work::Bulk,
    Work::Bulk,
    Work::Bulk,
    Work::Short,
    Work::Short,
    Work::Answers,
    Work::Writes,
    Work::Video,
    Work::SmallWindow,
    Work::SlowReader,
];

/// Size of a full packet with headers, in bytes.
const WIRE: f64 = 1500.0;
/// Approximate maximum number of packets of a transfer.
const PACKETS_MAX: f64 = 12_000.0;

impl Drawn {
    /// Draws the transfer of a seed.
    pub fn of(seed: u64) -> Self {
        let mut lot = Lot(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x2545_f491_4f6c_dd1d);
        lot.next();
        let (recovery, control) = lot.stack();
        // The pacing is that of Linux's fq.
        let paced = matches!(control, "reno" | "cubic") && lot.of(&[true, false, false, false]);
        let pace = if paced { "(pacing=on)" } else { "" };
        let dialect = lot.of(&["linux", "linux", "linux", "rfc", "ns2"]);
        let work = lot.of(&WORKS);
        let path = Way::of(&mut lot);
        let seconds = (5.0 + 40.0 * lot.share())
            .min(PACKETS_MAX * WIRE * 8.0 / path.rate / 1e6)
            .max(20.0 * path.rtt / 1e3);
        let (flow, words, window) = work.drawn(&mut lot, &path);
        let receiver = lot.of(&[
            "delayed_ack = \"40ms\"",
            "delayed_ack = \"0s\"",
            "delayed_ack = \"200ms\"",
            "acks = \"adaptive\"",
            "acks = \"adaptive\"\ncoalescing = \"50us\"",
        ]);
        let reader = match work {
            Work::SlowReader => path.reader(&mut lot),
            _ => Reader::AtOnce,
        };
        let text = format!(
            "stacks = [\"{recovery}/{control}{pace}\"]\ndialect = \"{dialect}\"\nseeds = 1\n\
             duration = \"{seconds:.1}s\"\n[path]\n{}\n[sender]\nsegment = \"1448B\"\n\
             [receiver]\n{receiver}\n{window}\n{flow}\n",
            path.text
        );
        let line = format!(
            "{recovery}/{control}{pace} {dialect} {words} {window} | {} | {receiver} {seconds:.0} s {}",
            path.words,
            match reader {
                Reader::AtOnce => String::new(),
                slow => format!("{slow:?}"),
            }
        );
        Self {
            seed,
            recovery,
            control,
            dialect,
            work,
            reader,
            text,
            line: line.replace('\n', " "),
        }
    }
}

impl Drawn {
    /// Runs the transfer and captures it.
    pub fn tape(&self) -> Tape {
        match self.reader {
            Reader::AtOnce => Tape::of(&self.text, self.seed),
            slow => Tape::to_slow_reader(&self.text, slow, self.seed),
        }
    }
}

/// A randomly drawn path.
struct Way {
    /// Rate in Mbit/s.
    rate: f64,
    /// Round-trip time in ms.
    rtt: f64,
    text: String,
    words: String,
}

impl Way {
    fn of(lot: &mut Lot) -> Self {
        let rate = 1.0 * 50.0_f64.powf(lot.share());
        let rtt = 5.0 * 50.0_f64.powf(lot.share());
        let holds = rate * 1e6 / 8.0 * rtt / 1e3 / WIRE;
        let buffer = (holds * 0.1 * 40.0_f64.powf(lot.share())).max(5.0) as u64;
        let half = rtt / 2.0;
        let reorder = format!(
            "reorder = {{ probability = \"1%\", delay = \"{:.2}ms\" }}",
            half / 4.0
        );
        let jitter = format!("jitter = \"{:.2}ms\"", half / 8.0);
        let policer = format!(
            "queue = \"policer\"\ntoken_bucket = {{ rate = \"{:.3}Mbit/s\", burst = \"{}B\" }}",
            rate * (0.2 + 0.5 * lot.share()),
            (holds * WIRE * (0.3 + lot.share())) as u64 + 15_000,
        );
        let amiss = lot
            .of(&[
                "",
                "",
                "",
                "loss = \"0.05%\"",
                "loss = \"0.3%\"",
                "loss = \"1%\"",
                "loss = \"2%\"",
                "loss = \"5%\"",
                "burst_loss = { enter = \"0.2%\", leave = \"25%\" }",
                &reorder,
                &jitter,
                &policer,
            ])
            .to_owned();
        let back = lot.of(&[
            "",
            "",
            "",
            "",
            "[path.reverse]\nloss = \"1%\"",
            "[path.reverse]\nloss = \"5%\"",
        ]);
        let text = format!(
            "rate = \"{rate:.3}Mbit/s\"\ndelay = \"{half:.3}ms\"\nbuffer = \"{buffer}pkt\"\n{amiss}\n{back}"
        );
        let words = format!(
            "{rate:.1} Mbit/s {rtt:.0} ms (holds {holds:.0}) buffer {buffer} {amiss} {back}"
        );
        Self {
            rate,
            rtt,
            text,
            words,
        }
    }
}

impl Way {
    /// Draws an application that reads more slowly than the path delivers, or that stops reading for a while.
    fn reader(&self, lot: &mut Lot) -> Reader {
        let every = lot.of(&[1, 20, 200, 1000]);
        let share = 0.1 + 0.8 * lot.share();
        let bytes = self.rate * 1e6 / 8.0 * every as f64 / 1e3 * share;
        let periodic = Reader::Periodic {
            bytes: (bytes as u64).max(1),
            every: Duration::from_millis(every),
        };
        let pausing = Reader::Pausing {
            reading: Duration::from_millis(100 + lot.next() % 2000),
            pause: Duration::from_millis(100 + lot.next() % 4000),
        };
        lot.of(&[periodic, pausing])
    }
}

impl Work {
    /// Draws the flow in the syntax of an experiment file, its description, and the receive buffer.
    fn drawn(self, lot: &mut Lot, path: &Way) -> (String, String, String) {
        let product = path.rate * 1e6 / 8.0 * path.rtt / 1e3;
        let none = String::new;
        match self {
            Self::Bulk => (none(), "bulk".to_owned(), none()),
            Self::Short => {
                let bytes = (5_000.0 * 100.0_f64.powf(lot.share())) as u64;
                let flow = format!("[[flows]]\nbytes = \"{bytes}B\"");
                (flow, format!("{bytes} B"), none())
            }
            Self::Answers => {
                let bytes = (3_000.0 * 100.0_f64.powf(lot.share())) as u64;
                let pause = (path.rtt * 20.0_f64.powf(lot.share())) as u64 / 2;
                let flow = format!(
                    "[[flows]]\nwrites = [{{ after = \"{pause}ms\", bytes = \"{bytes}B\", count = 400 }}]"
                );
                (
                    flow,
                    format!("answers of {bytes} B after {pause} ms"),
                    none(),
                )
            }
            Self::Writes => {
                let every = (path.rtt * 0.3 * 30.0_f64.powf(lot.share())).max(1.0);
                let share = 0.05 + 0.9 * lot.share();
                let bytes = (path.rate * 1e6 / 8.0 * every / 1e3 * share).max(100.0) as u64;
                let flow = format!(
                    "[[flows]]\nwrites = [{{ every = \"{every:.2}ms\", bytes = \"{bytes}B\" }}]"
                );
                let words = format!("{bytes} B every {every:.0} ms");
                (flow, words, none())
            }
            Self::Video => {
                let rate = path.rate * (0.1 + 0.8 * lot.share());
                let frame = lot.of(&["40ms", "200ms", "2s"]);
                let flow = format!(
                    "[[flows]]\nvideo = {{ rate = \"{rate:.3}Mbit/s\", frame = \"{frame}\", deadline = \"1s\" }}"
                );
                (flow, format!("video {rate:.1} Mbit/s each {frame}"), none())
            }
            Self::SlowReader => {
                let bytes = lot.of(&[16_000, 65_536, 262_144]);
                let window = format!("buffer = \"{bytes}B\"");
                (none(), "a slow reader".to_owned(), window)
            }
            Self::SmallWindow => {
                let bytes = (product * (0.1 + 2.0 * lot.share())).max(4_000.0) as u64;
                let window = format!("buffer = \"{bytes}B\"");
                (none(), "bulk".to_owned(), window)
            }
        }
    }
}

/// Generator of random numbers from a seed (SplitMix64).
struct Lot(u64);

impl Lot {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.next() % choices.len() as u64) as usize]
    }

    fn stack(&mut self) -> (&'static str, &'static str) {
        let all: u32 = STACKS.iter().map(|(_, _, times)| times).sum();
        let mut place = (self.next() % u64::from(all)) as u32;
        for (recovery, control, times) in STACKS {
            if place < times {
                return (recovery, control);
            }
            place -= times;
        }
        ("rack", "cubic")
    }
}
