//! Transfers over randomly drawn paths, for every recovery with several congestion controls, in all dialects.

/// Stacks, each of which runs in every dialect.
pub const STACKS: [&str; 16] = [
    "tahoe/reno",
    "reno/reno",
    "newreno/reno",
    "newreno/cubic",
    "sack/reno",
    "sack/cubic",
    "sack/westwood",
    "fack/reno",
    "rack/reno",
    "rack/cubic",
    "rack/bbr",
    "rack/westwood",
    "le/reno",
    "le/cubic",
    "momentary/reno",
    "newreno/bbr",
];

const DIALECTS: [&str; 3] = ["rfc", "linux", "ns2"];

/// One transfer.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub stack: &'static str,
    pub dialect: &'static str,
    /// Short description of the path.
    pub path: String,
    pub text: String,
    pub seed: u64,
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

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.next() % choices.len() as u64) as usize]
    }
}

/// Draws `count` transfers for each stack from `seed`.
pub fn draw(count: u64, seed: u64) -> Vec<Transfer> {
    let mut transfers = Vec::new();
    for (s, stack) in STACKS.iter().enumerate() {
        for n in 0..count {
            let lot = Lot(seed.wrapping_mul(1_000_003) ^ (s as u64 * 7919 + n));
            transfers.push(one(stack, lot, n));
        }
    }
    transfers
}

fn one(stack: &'static str, mut lot: Lot, n: u64) -> Transfer {
    let dialect = DIALECTS[(n % 3) as usize];
    let rate = lot.of(&["1Mbit/s", "5Mbit/s", "10Mbit/s", "20Mbit/s"]);
    let delay = lot.of(&["3ms", "10ms", "25ms", "50ms", "100ms", "150ms"]);
    let buffer = lot.of(&["5pkt", "20pkt", "50pkt", "100pkt", "300pkt"]);
    let (kind, losses) = lot.of(&[
        ("clean", ""),
        ("0.5 %", "loss = \"0.5%\""),
        ("1 %", "loss = \"1%\""),
        ("2 %", "loss = \"2%\""),
        ("5 %", "loss = \"5%\""),
        (
            "bursts",
            "burst_loss = { enter = \"0.3%\", leave = \"25%\" }",
        ),
        (
            "reordering",
            "reorder = { probability = \"1%\", delay = \"8ms\" }\nloss = \"0.5%\"",
        ),
        ("jitter", "jitter = \"4ms\"\nloss = \"0.5%\""),
        ("copies", "duplicate = \"0.5%\"\nloss = \"1%\""),
    ]);
    let acks = lot.of(&[
        "",
        "",
        "[path.reverse]\nloss = \"1%\"",
        "[path.reverse]\nloss = \"5%\"",
    ]);
    let delayed = lot.of(&["", "delayed_ack = \"40ms\"", "delayed_ack = \"200ms\""]);
    let room = lot.of(&["", "", "", "buffer = \"16000B\"", "buffer = \"64000B\""]);
    let work = lot.of(&["", "", "bytes = \"200kB\"", "bytes = \"30kB\"", "video"]);
    let flows = match work {
        "" => String::new(),
        "video" => {
            "[[flows]]\nvideo = { rate = \"400kbit/s\", frame = \"200ms\", deadline = \"1s\" }"
                .to_owned()
        }
        bytes => format!("[[flows]]\n{bytes}"),
    };
    let text = format!(
        "stacks = [\"{stack}\"]\ndialect = \"{dialect}\"\nseeds = 1\nduration = \"20s\"\n\
         [path]\nrate = \"{rate}\"\ndelay = \"{delay}\"\nbuffer = \"{buffer}\"\n{losses}\n{acks}\n\
         [receiver]\n{delayed}\n{room}\n{flows}\n"
    );
    Transfer {
        stack,
        dialect,
        path: format!("{rate} {delay} {buffer} {kind} {delayed} {room} {work}"),
        text,
        seed: lot.next() >> 1,
    }
}
