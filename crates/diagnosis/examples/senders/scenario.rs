//! Transfers drawn from a seed.

/// A transfer: a stack over a path.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Where it was drawn from.
    pub seed: u64,
    /// Its recovery, by its name in a stack.
    pub recovery: &'static str,
    /// Its control.
    pub control: &'static str,
    dialect: &'static str,
    rate_mbit: f64,
    /// Of a round trip without a queue.
    rtt_ms: f64,
    buffer_packets: u64,
    loss_percent: f64,
    delayed_ack_ms: u32,
    seconds: f64,
    bytes: Option<u64>,
}

const RECOVERIES: [&str; 8] = [
    "rack",
    "rack",
    "sack",
    "newreno",
    "fack",
    "reno",
    "le",
    "momentary",
];
const CONTROLS: [&str; 8] = [
    "reno", "cubic", "bbr", "westwood", "vegas", "fixed", "cubic", "reno",
];
const LOSSES: [f64; 9] = [0.0, 0.0, 0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 3.0];
const DIALECTS: [&str; 5] = ["rfc", "linux", "linux", "rfc", "ns2"];

impl Drawn {
    /// That of a seed.
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        for _ in 0..4 {
            dice.roll();
        }
        let control = dice.one_of(&CONTROLS);
        let recovery = dice.one_of(&RECOVERIES);
        let rate_mbit = 2.0 * 50.0_f64.powf(dice.share());
        let rtt_ms = 10.0 * 20.0_f64.powf(dice.share());
        let product = rate_mbit * 1e6 / 8.0 * rtt_ms / 1e3 / 1500.0;
        let buffer = product * 0.5 * 8.0_f64.powf(dice.share());
        // No more packets than a minute at 20 Mbit/s has.
        let most = (20.0 * 60.0 / rate_mbit).max(15.0);
        let is_short = dice.share() < 0.1;
        let bytes = (20_000.0 * 50.0_f64.powf(dice.share())) as u64;
        Self {
            seed,
            recovery,
            control,
            dialect: dice.one_of(&DIALECTS),
            rate_mbit,
            rtt_ms,
            buffer_packets: (buffer as u64).max(10),
            loss_percent: dice.one_of(&LOSSES),
            delayed_ack_ms: dice.one_of(&[0, 40, 40]),
            seconds: (20.0 + 40.0 * dice.share()).min(most),
            bytes: is_short.then_some(bytes),
        }
    }

    /// The stack.
    pub fn stack(&self) -> String {
        format!("{}/{}", self.recovery, self.control)
    }

    /// The experiment, as a file has it.
    pub fn experiment(&self) -> String {
        let flow = self.bytes.map_or(String::new(), |bytes| {
            format!("[[flows]]\nbytes = \"{bytes}B\"\n")
        });
        format!(
            r#"
            stacks = ["{}"]
            dialect = "{}"
            seeds = [{}]
            duration = "{:.1}s"
            [path]
            rate = "{:.3}Mbit/s"
            delay = "{:.3}ms"
            buffer = "{}pkt"
            loss = "{}%"
            [sender]
            segment = "1448B"
            [receiver]
            delayed_ack = "{}ms"
            {flow}"#,
            self.stack(),
            self.dialect,
            self.seed + 1,
            self.seconds,
            self.rate_mbit,
            self.rtt_ms / 2.0,
            self.buffer_packets,
            self.loss_percent,
            self.delayed_ack_ms,
        )
    }

    /// All of it in a line.
    pub fn line(&self) -> String {
        let product = self.rate_mbit * 1e6 / 8.0 * self.rtt_ms / 1e3 / 1500.0;
        format!(
            "{} {} {:.1} Mbit/s {:.0} ms (holds {product:.0}) buffer {} loss {} % delayed ACK {} ms {:.0} s {}",
            self.stack(),
            self.dialect,
            self.rate_mbit,
            self.rtt_ms,
            self.buffer_packets,
            self.loss_percent,
            self.delayed_ack_ms,
            self.seconds,
            self.bytes.map_or(String::new(), |b| format!("{b} B")),
        )
    }
}

/// xorshift64* (Vigna 2016): enough to draw paths with.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.roll() >> 33) as usize % all.len()]
    }
}
