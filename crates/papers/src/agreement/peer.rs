//! The recorded results of ns-2.35 in `validation/peers/ns2`: scenarios, and the runs of each sender.

use serde::Deserialize;

const SCENARIOS: &str = include_str!("../../ns2/scenarios.csv");
const RESULTS: &str = include_str!("../../ns2/results.csv");
const NISHIDA: &str = include_str!("../../ns2/nishida.csv");
const DIFFERENCES: &str = include_str!("../../ns2/differences.csv");

/// Version of ns-2 that produced the numbers.
pub const VERSION: &str = "ns-2.35 (Debian 2.35+dfsg-5)";

/// Number of packets in the transfers of `nishida.csv`.
const NISHIDA_PACKETS: u64 = 100_000;

/// A line of `scenarios.csv`: one transfer over one link.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Scenario {
    /// Scenario id.
    pub id: String,
    /// Rate of the link in each direction.
    pub rate_bps: u64,
    /// One-way delay.
    pub delay_s: f64,
    /// Probability that a data packet is lost before the queue.
    pub loss: f64,
    /// ns-2's queue limit, including the packet in transmission.
    pub buffer_packets: u32,
    /// Delayed-ACK interval. With 0, every packet is acknowledged.
    pub delack_s: f64,
    /// Payload of a packet in bytes.
    pub packet_bytes: u64,
    /// Header of a packet in bytes.
    pub header_bytes: u64,
    /// Initial slow-start threshold in packets. 0 for no threshold.
    pub initial_ssthresh: u32,
    /// Duration of the run, or its maximum if `packets` is given.
    pub duration_s: f64,
    /// Number of packets to transfer. `None` if the sender always has data to send.
    #[serde(skip)]
    pub packets: Option<u64>,
}

/// One run of ns-2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerRun {
    /// Payload bytes acknowledged per second.
    pub goodput: f64,
    /// Number of retransmitted packets.
    pub retransmissions: f64,
    /// Number of expiries of the retransmission timer.
    pub timeouts: f64,
}

#[derive(Deserialize)]
struct ResultLine {
    id: String,
    recovery: String,
    goodput_bytes_per_s: f64,
    retransmissions: f64,
    timeouts: f64,
}

#[derive(Deserialize)]
struct NishidaLine {
    loss: f64,
    goodput_bytes_per_s: f64,
    retransmissions: f64,
    timeouts: f64,
}

/// A known difference and the rule that explains it: a line of `differences.csv`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Difference {
    /// Scenario id.
    pub id: String,
    /// ns-2's sender.
    pub sender: String,
    /// Minimum ratio of our mean to ns-2's mean that the rule explains.
    pub least: f64,
    /// Maximum ratio that the rule explains.
    pub greatest: f64,
    /// The rule.
    pub rule: String,
}

/// A sender: its name in ns-2's results, and the stack that represents it here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Name in `results.csv`.
    pub name: &'static str,
    /// The stack.
    pub stack: &'static str,
}

/// All senders that were measured, in the order of `results.csv`.
pub const SENDERS: [Sender; 6] = [
    sender("reno", "reno/reno"),
    sender("newreno", "newreno/reno"),
    sender("newreno-sbs", "newreno(variant=slow-but-steady)/reno"),
    sender("sack", "sack/reno"),
    sender("sack-pa", "sack(partial_ack=resend)/reno"),
    sender("fack", "fack/reno"),
];

const fn sender(name: &'static str, stack: &'static str) -> Sender {
    Sender { name, stack }
}

/// Returns the scenarios of `scenarios.csv`.
///
/// # Panics
/// If the embedded file is damaged.
#[must_use]
pub fn scenarios() -> Vec<Scenario> {
    lines(SCENARIOS)
}

/// Returns the runs of `sender` in `scenario`, from either file of results.
///
/// # Panics
/// If the embedded files are damaged.
#[must_use]
pub fn runs(scenario: &Scenario, sender: Sender) -> Vec<PeerRun> {
    if scenario.packets.is_some() {
        return nishida_runs(scenario, sender);
    }
    lines::<ResultLine>(RESULTS)
        .into_iter()
        .filter(|line| line.id == scenario.id && line.recovery == sender.name)
        .map(|line| PeerRun {
            goodput: line.goodput_bytes_per_s,
            retransmissions: line.retransmissions,
            timeouts: line.timeouts,
        })
        .collect()
}

fn nishida_runs(scenario: &Scenario, sender: Sender) -> Vec<PeerRun> {
    lines::<NishidaLine>(NISHIDA)
        .into_iter()
        .filter(|line| line.loss == scenario.loss && sender.name == "newreno")
        .map(|line| PeerRun {
            goodput: line.goodput_bytes_per_s,
            retransmissions: line.retransmissions,
            timeouts: line.timeouts,
        })
        .collect()
}

/// Returns the transfers of `nishida.csv`, one scenario per loss rate. Only `newreno` was measured.
///
/// # Panics
/// If the embedded file is damaged.
#[must_use]
pub fn nishida() -> Vec<Scenario> {
    let mut losses: Vec<f64> = lines::<NishidaLine>(NISHIDA)
        .iter()
        .map(|line| line.loss)
        .collect();
    losses.dedup();
    let scenario = |loss: f64| Scenario {
        id: format!("nishida-l{}", (loss * 100.0).round()),
        rate_bps: 10_000_000,
        delay_s: 0.002,
        loss,
        buffer_packets: 50,
        delack_s: 0.2,
        packet_bytes: 1000,
        header_bytes: 40,
        initial_ssthresh: 0,
        duration_s: 3600.0,
        packets: Some(NISHIDA_PACKETS),
    };
    losses.into_iter().map(scenario).collect()
}

/// Returns the known differences.
///
/// # Panics
/// If the embedded file is damaged.
#[must_use]
pub fn differences() -> Vec<Difference> {
    lines(DIFFERENCES)
}

fn lines<T: for<'a> Deserialize<'a>>(text: &str) -> Vec<T> {
    csv::Reader::from_reader(text.as_bytes())
        .into_deserialize()
        .collect::<Result<_, _>>()
        .expect("the tables in validation/peers/ns2 are well formed")
}
