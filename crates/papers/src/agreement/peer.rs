//! What ns-2.35 did, as `validation/peers/ns2` holds it: scenarios, and the runs of each of its senders.

use serde::Deserialize;

const SCENARIOS: &str = include_str!("../../ns2/scenarios.csv");
const RESULTS: &str = include_str!("../../ns2/results.csv");
const NISHIDA: &str = include_str!("../../ns2/nishida.csv");
const DIFFERENCES: &str = include_str!("../../ns2/differences.csv");

/// The version of ns-2 that the numbers are from.
pub const VERSION: &str = "ns-2.35 (Debian 2.35+dfsg-5)";

/// Packets of the transfers in `nishida.csv`.
const NISHIDA_PACKETS: u64 = 100_000;

/// A line of `scenarios.csv`: one transfer over one link.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Scenario {
    /// Its name.
    pub id: String,
    /// Rate of the link, both ways.
    pub rate_bps: u64,
    /// One-way delay.
    pub delay_s: f64,
    /// Probability that a data packet is lost in front of the queue.
    pub loss: f64,
    /// ns-2's queue limit, the packet in transmission included.
    pub buffer_packets: u32,
    /// Delayed-ACK interval; 0 acknowledges every packet.
    pub delack_s: f64,
    /// Payload of a packet.
    pub packet_bytes: u64,
    /// Header of a packet.
    pub header_bytes: u64,
    /// Initial slow start threshold in packets; 0 for none.
    pub initial_ssthresh: u32,
    /// Length of the transfer, or the longest that it may last.
    pub duration_s: f64,
    /// Packets to transfer; without it there is always more.
    #[serde(skip)]
    pub packets: Option<u64>,
}

/// One run of ns-2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerRun {
    /// Payload bytes acknowledged per second.
    pub goodput: f64,
    /// Packets sent again.
    pub retransmissions: f64,
    /// Expiries of the retransmission timer.
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

/// A difference that is known, and traced to a rule: a line of `differences.csv`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Difference {
    /// The scenario.
    pub id: String,
    /// ns-2's sender.
    pub sender: String,
    /// The least ratio of our mean to ns-2's that the rule explains.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
    /// The rule.
    pub rule: String,
}

/// A sender: what it is called in ns-2's results, and the stack that stands for it here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Its name in `results.csv`.
    pub name: &'static str,
    /// The stack.
    pub stack: &'static str,
}

/// Every sender that was measured, in the order of `results.csv`.
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

/// The scenarios of `scenarios.csv`.
///
/// # Panics
/// If the file, which is part of the program, is damaged.
#[must_use]
pub fn scenarios() -> Vec<Scenario> {
    lines(SCENARIOS)
}

/// The runs of `sender` in `scenario`, in either results file.
///
/// # Panics
/// If the files, which are part of the program, are damaged.
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

/// The transfers of `nishida.csv`, a scenario per loss rate; only `newreno` was measured.
///
/// # Panics
/// If the file, which is part of the program, is damaged.
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

/// The differences that are known.
///
/// # Panics
/// If the file, which is part of the program, is damaged.
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
