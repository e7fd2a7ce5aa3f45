//! Formulas for Reno's throughput under random loss, by Mathis et al. and by Padhye et al.
//!
//! - M. Mathis, J. Semke, J. Mahdavi and T. Ott, The Macroscopic Behavior of the TCP Congestion
//!   Avoidance Algorithm, CCR 27(3), 1997: equation (3), which covers congestion avoidance alone.
//! - J. Padhye, V. Firoiu, D. Towsley and J. Kurose, Modeling TCP Throughput: A Simple Model and
//!   its Empirical Validation, SIGCOMM 1998 (and ToN 8(2), 2000): equation (31), which includes timeouts
//!   and a limited window.
//!
//! Both formulas give the sending rate, not the goodput. They assume that the loss is independent of the load and that
//! the round-trip time is constant. They ignore the rate of the link: if a formula exceeds this rate, the loss does not
//! limit the throughput. Padhye et al. also assume that after the first lost packet of a round all later packets of the
//! round are lost, as with full queues. If packets are lost independently, a good loss recovery achieves more.

use dupack_algorithms::catalog::StackSpec;
use dupack_tcp::receiver::AckPolicy;

use crate::figure::Series;
use dupack_lab::experiment::Experiment;
use dupack_lab::run::Endpoints;

/// Parameters of a connection in the formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// Payload of a full segment in bytes (MSS).
    pub segment_bytes: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
    /// First retransmission timeout in a series of timeouts, in seconds (T₀).
    pub timeout_s: f64,
    /// The receiver's window in segments (W_max).
    pub window_max: f64,
    /// Number of segments per ACK (b): 1, or 2 with delayed ACKs.
    pub segments_per_ack: f64,
}

/// Number of points of a curve.
const CURVE_POINTS: u32 = 120;

impl Connection {
    /// Returns the connection of a single flow of `stack` over the path of `experiment`. Returns `None` unless the
    /// experiment has one greedy flow over one link of known rate, with random loss only.
    ///
    /// The round-trip time excludes the queue: it is the propagation delay in both directions plus the transmission
    /// time of one full packet on the bottleneck. The timeout is the minimum RTO, or the round-trip time if this is
    /// longer.
    #[must_use]
    pub fn of(experiment: &Experiment, stack: &StackSpec) -> Option<Self> {
        let e = experiment;
        let alone = e.udp.is_empty() && e.media.is_empty() && e.flows.len() <= 1;
        let greedy = e.flows.first().is_none_or(|group| {
            group.count == 1
                && group.bytes.is_none()
                && group.writes.is_empty()
                && group.video.is_none()
                && group.web.is_none()
                && group.stack.is_none()
                && !group.reverse
        });
        let path = e.path.as_ref().filter(|_| alone && greedy)?;
        let by_chance = path.burst_loss.is_none() && path.drop.is_empty();
        let steady = path.changes.is_empty() && path.duty.is_none();
        let rate = path.rate.filter(|_| by_chance && steady)?;
        let (sender, receiver) = match e.flows.first() {
            Some(group) => (
                group.sender.over(&e.sender),
                group.receiver.over(&e.receiver),
            ),
            None => (e.sender, e.receiver),
        };
        let ends = Endpoints::new(e.dialect, stack, &sender, &receiver);
        let back = path.reverse.as_ref().and_then(|reverse| reverse.delay);
        let access = e
            .access
            .map_or(0.0, |access| 4.0 * access.delay.as_seconds());
        let segment_bytes = f64::from(ends.sender.smss);
        let packet_bits = 8.0 * (segment_bytes + f64::from(ends.headers.data_bytes));
        let rtt_s = path.delay.as_seconds()
            + back.unwrap_or(path.delay).as_seconds()
            + access
            + packet_bits / (rate.as_megabits_per_second() * 1e6);
        let window = f64::from(ends.sender.peer_window).min(ends.sender.max_window);
        Some(Self {
            segment_bytes,
            rtt_s,
            timeout_s: ends.sender.rtt.min_rto.as_secs_f64().max(rtt_s),
            window_max: window / segment_bytes,
            segments_per_ack: match ends.receiver.ack_policy {
                AckPolicy::Immediate => 1.0,
                AckPolicy::Delayed(_) | AckPolicy::Adaptive(_) => 2.0,
            },
        })
    }

    /// Returns the throughput in Mbit/s at the loss probability `p` according to Mathis et al., equation (3): MSS/RTT ·
    /// C/√p, with C = √(3/(2b)). C is 1.22 if every segment is acknowledged, and 0.87 with delayed ACKs (their table 1,
    /// periodic loss).
    #[must_use]
    pub fn mathis(&self, p: f64) -> f64 {
        let c = (1.5 / self.segments_per_ack).sqrt();
        self.mbit_s(c / p.sqrt() / self.rtt_s)
    }

    /// Returns the throughput in Mbit/s at the loss probability `p` according to Padhye et al., equation (31), the full
    /// model.
    #[must_use]
    pub fn padhye(&self, p: f64) -> f64 {
        let (b, rtt) = (self.segments_per_ack, self.rtt_s);
        let good = 1.0 - p;
        // Window at the end of a round without a timeout, equation (13).
        let own = (2.0 + b) / (3.0 * b);
        let unlimited = own + (8.0 * good / (3.0 * b * p) + own * own).sqrt();
        let window = unlimited.min(self.window_max);
        let q = timeout_share(p, window);
        // Factor for the doubling of the timeout in a series of timeouts, equation (28).
        let doubling = 1.0
            + (1..=6)
                .map(|n| f64::from(1 << (n - 1)) * p.powi(n))
                .sum::<f64>();
        let sent = good / p + window + q / good;
        let rounds = if unlimited < self.window_max {
            b / 2.0 * window + 1.0
        } else {
            b / 8.0 * window + good / (p * window) + 2.0
        };
        let time = rtt * rounds + q * self.timeout_s * doubling / good;
        self.mbit_s(sent / time)
    }

    /// Returns one line for each formula over the loss in percent, from the smallest to the largest nonzero value of
    /// `percents`.
    #[must_use]
    pub fn lines(&self, percents: &[f64]) -> Vec<Series> {
        let positive = || percents.iter().copied().filter(|p| *p > 0.0 && *p < 100.0);
        let (Some(low), Some(high)) = (positive().reduce(f64::min), positive().reduce(f64::max))
        else {
            return Vec::new();
        };
        // If the sweep contains zero, the lines extend below its smallest nonzero loss, because they are steepest
        // there.
        let low = if percents.contains(&0.0) {
            low / 20.0
        } else {
            low
        };
        let curve = |name: &str, of: &dyn Fn(f64) -> f64| {
            let points = (0..=CURVE_POINTS).map(|n| {
                let share = f64::from(n) / f64::from(CURVE_POINTS);
                let percent = low * (high / low).powf(share);
                (percent, of(percent / 100.0), None).into()
            });
            Series {
                name: name.to_owned(),
                points: points.collect(),
            }
        };
        vec![
            curve("Mathis", &|p| self.mathis(p)),
            curve("Padhye", &|p| self.padhye(p)),
        ]
    }

    fn mbit_s(&self, segments_per_s: f64) -> f64 {
        segments_per_s * self.segment_bytes * 8.0 / 1e6
    }
}

/// Returns the probability that a loss in a window of `window` segments leads to a timeout: Q̂ of Padhye et al., with
/// the exact expression instead of the approximation 3/w.
fn timeout_share(p: f64, window: f64) -> f64 {
    let good = 1.0 - p;
    let three = good.powi(3);
    let few_acks = (1.0 - three) * (1.0 + three * (1.0 - good.powf(window - 3.0)));
    (few_acks / (1.0 - good.powf(window))).min(1.0)
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::{Catalog, Dialect, Entry};
    use dupack_lab::experiment::load::Source;
    use dupack_lab::results::Answered;
    use dupack_lab::results::Measure;
    use dupack_lab::run::Plan;

    use super::*;
    use crate::comparison::theory;

    const EXAMPLE: Connection = Connection {
        segment_bytes: 1000.0,
        rtt_s: 0.1,
        timeout_s: 1.0,
        window_max: 1e9,
        segments_per_ack: 1.0,
    };

    fn near(value: f64, wanted: f64) {
        assert!((value / wanted - 1.0).abs() < 1e-4, "{value}, not {wanted}");
    }

    #[test]
    fn mathis_by_hand() {
        // 8000 bit / 0.1 s · 1.22474 / 0.1 = 0.979796 Mbit/s.
        near(EXAMPLE.mathis(0.01), 0.979_796);
        // With delayed ACKs, C is 0.866025 instead of 1.22474.
        let delayed = Connection {
            segments_per_ack: 2.0,
            ..EXAMPLE
        };
        near(delayed.mathis(0.01), 0.692_820);
        // Four times the loss halves the throughput.
        near(EXAMPLE.mathis(0.04), 0.979_796 / 2.0);
    }

    #[test]
    fn padhye_by_hand() {
        // p = 1 %, b = 1: E[W] = 1 + √(264 + 1) = 17.27882, Q = 0.210479, f = 1.010204. Sent: 99 + 17.27882 + 0.212605
        // = 116.49143. Time: 0.1 · (8.63941 + 1) + 0.214774 = 1.178715 s. The rate is 98.8291 segments per second.
        near(EXAMPLE.padhye(0.01), 98.8291 * 8e-3);
        // p = 2 %, b = 2, RTT = 0.2 s, T₀ = 2 s: E[W] = 2/3 + √(65.33333 + 0.44444) = 8.77702,
        // Q = 0.399447, f = 1.020833: 49 + 8.77702 + 0.407599 = 58.18462 in
        // 0.2 · 9.77702 + 0.832180 = 2.787584 s.
        let slower = Connection {
            rtt_s: 0.2,
            timeout_s: 2.0,
            segments_per_ack: 2.0,
            ..EXAMPLE
        };
        near(slower.padhye(0.02), 20.8728 * 8e-3);
        // p = 0.1 %, b = 2, W_max = 12, below the unlimited 37.2: Q = 0.253371, 999 + 12 + 0.253625 = 1011.2536 in 0.1
        // · (3 + 83.25 + 2) + 0.253879 = 9.078879 s.
        let narrow = Connection {
            segments_per_ack: 2.0,
            window_max: 12.0,
            ..EXAMPLE
        };
        near(narrow.padhye(0.001), 111.3853 * 8e-3);
    }

    #[test]
    fn timeouts_and_windows_only_reduce_the_throughput() {
        for p in [0.001, 0.01, 0.05, 0.2] {
            assert!(EXAMPLE.padhye(p) < 1.1 * EXAMPLE.mathis(p), "{p}");
            let narrow = Connection {
                window_max: 8.0,
                ..EXAMPLE
            };
            assert!(narrow.padhye(p) <= EXAMPLE.padhye(p) * 1.02, "{p}");
        }
        assert!(EXAMPLE.padhye(0.2) < 0.3 * EXAMPLE.mathis(0.2));
    }

    #[test]
    fn connections_are_derived_from_experiments() {
        let of = |text: &str| {
            let text = format!("stacks = [\"newreno/reno\"]\n{text}");
            let source = Source::new("test.toml", text);
            let stack = StackSpec::parse("newreno/reno", &Catalog::builtin()).unwrap();
            Connection::of(&source.parse().unwrap(), &stack)
        };
        let path = "dialect = \"ns2\"\n[sender]\nsegment = \"960B\"\nheader = \"40B\"\n\
                    [path]\nrate = \"1Mbit/s\"\ndelay = \"46ms\"\n";
        let found = of(path).unwrap();
        // The propagation takes 46 + 46 ms, and the transmission of 1000 bytes takes 8 ms.
        near(found.rtt_s, 0.1);
        near(found.timeout_s, 0.2);
        near(found.segments_per_ack, 1.0);
        let delayed = of(&format!(
            "{path}[receiver]\ndelayed_ack = \"200ms\"\nbuffer = \"20pkt\"\n"
        ));
        near(delayed.unwrap().segments_per_ack, 2.0);
        near(delayed.unwrap().window_max, 20.0);
        assert!(of(&format!("{path}[[flows]]\ncount = 2\n")).is_none());
        assert!(of(&format!("{path}drop = [\"5\"]\n")).is_none());
    }

    #[test]
    fn recoveries_of_other_crates_have_lines() {
        let mut catalog = Catalog::builtin();
        let entry = Entry::recovery("theirs", file!())
            .summary("SACK under another name")
            .citation("unpublished")
            .build(|(), context| {
                let ours = StackSpec::parse("sack/reno", &Catalog::builtin()).unwrap();
                ours.build(Dialect::Rfc, context).recovery
            });
        catalog.register(entry).unwrap();
        let source = Source::new(
            "test.toml",
            "stacks = [\"theirs/reno\"]\n[path]\nrate = \"1Mbit/s\"\ndelay = \"46ms\"\n\
             [sweep]\n\"path.loss\" = [\"1%\", \"2%\"]\n",
        );
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        let results = plan.empty_results();
        let lines = |catalog| theory(&Answered::of(&results), Measure::Goodput, catalog).len();
        assert_eq!(lines(&catalog), 2);
        assert_eq!(lines(&Catalog::builtin()), 0);
    }

    #[test]
    fn lines_cover_the_sweep_without_zero() {
        let lines = EXAMPLE.lines(&[0.0, 1.0, 5.0]);
        assert_eq!(lines.len(), 2);
        for line in &lines {
            near(line.points[0].x, 0.05);
            near(line.points.last().unwrap().x, 5.0);
        }
        assert!(EXAMPLE.lines(&[0.0]).is_empty());
    }
}
