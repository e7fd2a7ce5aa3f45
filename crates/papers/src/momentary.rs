//! J.-H. Hwang, S.-H. Yoo and C. Yoo, Momentary Recovery Algorithm, IEICE Trans. Commun.
//! E92-B(12), 2009: figures 3, 4 and 5 here; tables 1 to 3, the future work and related
//! work in files of their own.

mod episode;
mod exhibits;
mod future;
mod numbers;
mod readings;
mod related;
mod table1;
mod table2;
mod table3;

use dupack_algorithms::recovery::newreno::PARTIAL_ACK;
use dupack_tcp::facts::SendReason;
use dupack_tcp::time::{Duration, Instant};

use super::claims::{Finding, Verdict};
use super::evidence::Part;
use super::{Evidence, ExperimentFile, Judgement, Observe, Paper};
use dupack_lab::experiment::Experiment;
use dupack_lab::trace::{Repeated, Sent};
use episode::{Episode, SYN, acknowledged};

pub(super) static PAPER: Paper = Paper {
    key: "momentary",
    claims: include_str!("../experiments/momentary/claims.toml"),
    readme: include_str!("../experiments/momentary/README.md"),
    files: &[],
    facts: super::no_facts,
    experiments: &[
        ExperimentFile {
            name: "figure3",
            text: include_str!("../experiments/momentary/figure3.toml"),
            observe: Observe::Packets,
            quicken,
        },
        ExperimentFile {
            name: "figure5",
            text: include_str!("../experiments/momentary/figure5.toml"),
            observe: Observe::Packets,
            quicken,
        },
        ExperimentFile {
            name: "table1-alone",
            text: include_str!("../experiments/momentary/table1-alone.toml"),
            observe: Observe::Measures,
            quicken: table1::quicken,
        },
        ExperimentFile {
            name: "table1-start",
            text: include_str!("../experiments/momentary/table1-start.toml"),
            observe: Observe::Measures,
            quicken: table1::quicken_start,
        },
        ExperimentFile {
            name: "table1-300",
            text: include_str!("../experiments/momentary/table1-300.toml"),
            observe: Observe::Measures,
            quicken: table1::quicken,
        },
        ExperimentFile {
            name: "table1-500",
            text: include_str!("../experiments/momentary/table1-500.toml"),
            observe: Observe::Measures,
            quicken: table1::quicken,
        },
        ExperimentFile {
            name: "table1-700",
            text: include_str!("../experiments/momentary/table1-700.toml"),
            observe: Observe::Measures,
            quicken: table1::quicken,
        },
        ExperimentFile {
            name: "table2",
            text: include_str!("../experiments/momentary/table2.toml"),
            observe: Observe::Measures,
            quicken: table2::quicken,
        },
        ExperimentFile {
            name: "table2-readings",
            text: include_str!("../experiments/momentary/table2-readings.toml"),
            observe: Observe::Measures,
            quicken: readings::quicken,
        },
        ExperimentFile {
            name: "table2-red",
            text: include_str!("../experiments/momentary/table2-red.toml"),
            observe: Observe::Measures,
            quicken: readings::quicken,
        },
        ExperimentFile {
            name: "table3",
            text: include_str!("../experiments/momentary/table3.toml"),
            observe: Observe::Measures,
            quicken: table3::quicken,
        },
        ExperimentFile {
            name: "table3-newreno",
            text: include_str!("../experiments/momentary/table3-newreno.toml"),
            observe: Observe::Packets,
            quicken,
        },
        ExperimentFile {
            name: "table3-recovery",
            text: include_str!("../experiments/momentary/table3-recovery.toml"),
            observe: Observe::Packets,
            quicken,
        },
        ExperimentFile {
            name: "future",
            text: include_str!("../experiments/momentary/future.toml"),
            observe: Observe::Measures,
            quicken: future::quicken,
        },
        ExperimentFile {
            name: "related-work",
            text: include_str!("../experiments/momentary/related-work.toml"),
            observe: Observe::Measures,
            quicken: related::quicken_chain,
        },
        ExperimentFile {
            name: "related-fair",
            text: include_str!("../experiments/momentary/related-fair.toml"),
            observe: Observe::Measures,
            quicken: related::quicken_fair,
        },
    ],
    judge,
};

/// They take no time as they are.
fn quicken(_: &mut Experiment) {}

/// The senders of both experiments, in their order. The claims are about the first four.
const SENDERS: [&str; 6] = [
    "NewReno",
    "SACK",
    "FACK",
    "Momentary",
    "SACK, ns-2's default",
    "FACK, halving",
];
const NEWRENO: usize = 0;
const SACK: usize = 1;
const FACK: usize = 2;
const MOMENTARY: usize = 3;
const FACK_HALVED: usize = 5;
/// The senders of the paper.
const OF_THE_PAPER: usize = 4;

/// The packets lost in figure 3, as ns-2 counts.
const LOST: [u64; 7] = [24, 25, 26, 27, 28, 29, 30];
/// When the senders of figure 5 are compared.
const COMPARED_AT: Duration = Duration::from_secs(4);

fn judge(evidence: &Evidence) -> Judgement {
    let mut judgement = Judgement::default();
    if let Some(part) = evidence.part("figure3") {
        let episodes: Vec<Option<Episode<'_>>> = (0..SENDERS.len())
            .map(|sender| part.trace(0, sender).and_then(Episode::of))
            .collect();
        judgement.findings.extend(figure3(&episodes));
        judgement
            .exhibits
            .extend(exhibits::figures_3_and_4(part, &episodes));
    }
    if let Some(part) = evidence.part("figure5") {
        let leads = Leads::of(part);
        judgement
            .findings
            .push(("figure5-fastest", leads.as_ref().map(Leads::fastest)));
        judgement
            .findings
            .push(("figure5-more-notable", leads.as_ref().map(Leads::rising)));
        judgement
            .exhibits
            .extend(exhibits::figure_5(part, leads.as_ref()));
    }
    judge_tables(evidence, &mut judgement);
    judgement
}

fn judge_tables(evidence: &Evidence, judgement: &mut Judgement) {
    let mixes = table1::Mixes::of(evidence);
    judgement.findings.extend(table1::findings(mixes.as_ref()));
    if let Some(mixes) = &mixes {
        judgement.exhibits.extend(table1::exhibits(mixes));
    }
    if let Some(part) = evidence.part("table2") {
        judgement.findings.extend(table2::findings(part));
        judgement.exhibits.extend(table2::exhibits(part));
    }
    let readings = ["table2-readings", "table2-red"].map(|name| evidence.part(name));
    judgement
        .exhibits
        .extend(readings::exhibits(readings[0], readings[1]));
    let table3 = evidence.part("table3");
    let traced = ["table3-newreno", "table3-recovery"].map(|name| evidence.part(name));
    judgement.findings.extend(table3::findings(table3, traced));
    judgement.exhibits.extend(table3::exhibits(table3, traced));
    if let Some(part) = evidence.part("future") {
        judgement.findings.extend(future::findings(part));
        judgement.exhibits.extend(future::exhibits(part));
    }
    let related = ["related-work", "related-fair"].map(|name| evidence.part(name));
    judgement
        .findings
        .extend(related::findings(related[0], related[1]));
    judgement
        .exhibits
        .extend(related::exhibits(related[0], related[1]));
}

type Episodes<'e> = [Option<Episode<'e>>];

fn figure3(episodes: &Episodes<'_>) -> Vec<(&'static str, Option<Finding>)> {
    let on = |sender: usize, rule: fn(&Episode<'_>) -> Finding| episodes[sender].as_ref().map(rule);
    vec![
        ("window-before-and-after", window_before_and_after(episodes)),
        ("all-halve", all_halve(episodes)),
        ("newreno-first-sends", on(NEWRENO, newreno_first_sends)),
        ("newreno-one-per-rtt", on(NEWRENO, newreno_one_per_rtt)),
        ("newreno-new-data", on(NEWRENO, newreno_new_data)),
        ("sack-two-per-partial", on(SACK, sack_two_per_partial)),
        ("sack-four-rtts", on(SACK, sack_four_rtts)),
        ("fack-silent", on(FACK, fack_silent)),
        ("momentary-first-round", on(MOMENTARY, first_round)),
        ("momentary-second-round", on(MOMENTARY, second_round)),
        ("momentary-full-ack", full_ack(episodes)),
        (
            "momentary-increases-at-once",
            on(MOMENTARY, increases_at_once),
        ),
        ("others-wait", others_wait(episodes)),
        ("restart-newreno", restart(episodes, NEWRENO, 6.0)),
        ("restart-sack", restart(episodes, SACK, 3.0)),
        ("restart-fack", restart(episodes, FACK, 1.0)),
    ]
}

fn near(value: f64, wanted: f64, tolerance: f64) -> bool {
    (value - wanted).abs() <= tolerance
}

fn window_before_and_after(episodes: &Episodes<'_>) -> Option<Finding> {
    let mut holds = true;
    let mut parts = Vec::new();
    for sender in [NEWRENO, SACK, MOMENTARY] {
        let (before, after) = episodes[sender].as_ref()?.cwnd;
        holds &= near(before, 11.408, 0.001) && near(after, 5.704, 0.001);
        parts.push(format!("{} {before:.4} → {after:.4}", SENDERS[sender]));
    }
    Some(Finding::new(Verdict::of(holds), parts.join(", ")))
}

fn all_halve(episodes: &Episodes<'_>) -> Option<Finding> {
    let mut holds = true;
    let mut parts = Vec::new();
    for sender in [NEWRENO, SACK, FACK, MOMENTARY, FACK_HALVED] {
        let (before, after) = episodes[sender].as_ref()?.cwnd;
        if sender < OF_THE_PAPER {
            holds &= near(after, before / 2.0, 0.001);
        }
        parts.push(format!("{} {before:.3} → {after:.3}", SENDERS[sender]));
    }
    Some(Finding::new(Verdict::of(holds), parts.join("; ")))
}

/// A packet with a sign for a repetition: `35`, `24 again`.
fn describe(sends: &[(Instant, &Sent)]) -> String {
    let texts = sends.iter().map(|(_, sent)| {
        let number = sent.number + SYN;
        match sent.repeated {
            Repeated::First => format!("{number}"),
            Repeated::Needed | Repeated::Needless => format!("{number} again"),
        }
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        "nothing".to_owned()
    } else {
        texts.join(", ")
    }
}

/// Whether `sends` are exactly these packets in this order.
fn are(sends: &[(Instant, &Sent)], wanted: &[(u64, Repeated)]) -> bool {
    let sent = sends.iter().map(|(_, s)| (s.number + SYN, s.repeated));
    sent.eq(wanted.iter().copied())
}

const NEW: Repeated = Repeated::First;
const AGAIN: Repeated = Repeated::Needed;

fn newreno_first_sends(e: &Episode<'_>) -> Finding {
    let after_detection = e.detection + Duration::from_nanos(1);
    let sends = e.sends(e.first_duplicate, after_detection);
    let limited = sends
        .iter()
        .filter(|(_, s)| s.why == SendReason::LimitedTransmit)
        .count();
    let holds = are(&sends, &[(35, NEW), (36, NEW), (24, AGAIN)]) && limited == 2;
    Finding::new(Verdict::of(holds), describe(&sends))
}

fn newreno_one_per_rtt(e: &Episode<'_>) -> Finding {
    let resent = e.retransmissions();
    let numbers: Vec<u64> = resent.iter().map(|(_, number)| *number).collect();
    let gaps = resent.windows(2).map(|pair| e.rtts(pair[0].0, pair[1].0));
    let least = gaps.fold(f64::INFINITY, f64::min);
    let length = e.length_rtts();
    let holds = numbers == LOST && least >= 0.95 && near(length, 7.0, 0.5);
    Finding::new(
        Verdict::of(holds),
        format!(
            "{} retransmissions at least {least:.2} RTT apart; recovery takes {length:.2} RTT",
            numbers.len()
        ),
    )
}

fn newreno_new_data(e: &Episode<'_>) -> Finding {
    let resent = e.retransmissions();
    let sends = e.sends(e.detection, e.complete);
    let new = sends.iter().find(|(_, sent)| sent.repeated == NEW);
    let Some((at, sent)) = new else {
        return Finding::new(Verdict::DoesNotHold, "no new data in recovery");
    };
    let with = resent.iter().filter(|(time, _)| time <= at).count();
    let gap = resent
        .get(3)
        .map(|(fourth, _)| e.rtts(*fourth, *at) * e.rtt.as_secs_f64());
    Finding::new(
        Verdict::of(gap.is_some_and(|gap| gap.abs() <= 1e-3)),
        format!(
            "packet {} goes out with retransmission {with}",
            sent.number + SYN
        ),
    )
}

fn sack_two_per_partial(e: &Episode<'_>) -> Finding {
    let by_partial = |sent: &Sent| sent.why == SendReason::Retransmit(PARTIAL_ACK);
    let mut resent: Vec<u64> = vec![LOST[0]];
    let mut answers = Vec::new();
    let mut holds = true;
    for (at, _) in e.partial_acks() {
        let left = LOST.iter().filter(|n| !resent.contains(n)).count();
        if left < 2 {
            break;
        }
        let sends = e.sends(at, at + Duration::from_nanos(1));
        let again: Vec<u64> = sends
            .iter()
            .filter(|(_, sent)| by_partial(sent))
            .map(|(_, sent)| sent.number + SYN)
            .collect();
        holds &= again.len() == 2 && sends.len() == 2;
        answers.push(format!("{again:?}"));
        resent.extend(again);
    }
    Finding::new(
        Verdict::of(holds && !answers.is_empty()),
        format!("answers to the partial ACKs: {}", answers.join(", ")),
    )
}

fn sack_four_rtts(e: &Episode<'_>) -> Finding {
    let length = e.length_rtts();
    let timeouts = e.timeouts();
    Finding::new(
        Verdict::of(near(length, 4.0, 0.5) && timeouts == 0),
        format!("{length:.2} RTT, and timeouts: {timeouts}"),
    )
}

fn fack_silent(e: &Episode<'_>) -> Finding {
    let last_advance = e.last_advance();
    let sends = e.sends(last_advance + Duration::from_nanos(1), e.detection);
    Finding::new(
        Verdict::of(sends.is_empty()),
        format!("before the detection: {}", describe(&sends)),
    )
}

fn first_round(e: &Episode<'_>) -> Finding {
    let sends = e.sends(e.first_duplicate, e.first_duplicate + e.rtt);
    let wanted = [(35, NEW), (36, NEW), (24, AGAIN), (25, AGAIN), (26, AGAIN)];
    Finding::new(Verdict::of(are(&sends, &wanted)), describe(&sends))
}

fn second_round(e: &Episode<'_>) -> Finding {
    let begin = e.first_duplicate + e.rtt;
    let sends = e.sends(begin, begin + e.rtt);
    let wanted = [
        (27, AGAIN),
        (28, AGAIN),
        (29, AGAIN),
        (30, AGAIN),
        (37, NEW),
        (38, NEW),
    ];
    Finding::new(
        Verdict::of(are(&sends, &wanted)),
        format!("{} packets: {}", sends.len(), describe(&sends)),
    )
}

fn full_ack(episodes: &Episodes<'_>) -> Option<Finding> {
    let (own, fack) = (episodes[MOMENTARY].as_ref()?, episodes[FACK].as_ref()?);
    let later = own.rtts(fack.complete, own.complete);
    Some(Finding::new(
        Verdict::of(later.abs() <= 0.5),
        format!(
            "Momentary at {:.3} s, FACK at {:.3} s: {later:+.2} RTT",
            own.complete.as_secs_f64(),
            fack.complete.as_secs_f64()
        ),
    ))
}

fn increases_at_once(e: &Episode<'_>) -> Finding {
    let first = e.avoidance_from(e.detection);
    let holds = first.is_some() && first == e.next_ack();
    let found = first.map_or("never".to_owned(), |at| {
        let ms = at.since(e.detection).as_secs_f64() * 1e3;
        format!("{ms:.1} ms after the detection, with the next ACK")
    });
    Finding::new(Verdict::of(holds), found)
}

fn others_wait(episodes: &Episodes<'_>) -> Option<Finding> {
    let mut holds = true;
    let mut parts = Vec::new();
    for sender in [NEWRENO, SACK, FACK, FACK_HALVED] {
        let e = episodes[sender].as_ref()?;
        let grew = e.grew_before_the_end();
        if sender < OF_THE_PAPER {
            holds &= !grew;
        }
        let what = match (grew, e.timeouts()) {
            (false, _) => "waits",
            (true, 0) => "grows in recovery",
            (true, _) => "times out and grows",
        };
        parts.push(format!("{} {what}", SENDERS[sender]));
    }
    Some(Finding::new(Verdict::of(holds), parts.join(", ")))
}

/// Round trips by which congestion avoidance restarts later than with Momentary; and, counted from
/// Momentary's very first increase.
fn later_than_momentary(episodes: &Episodes<'_>, sender: usize) -> Option<(f64, f64)> {
    let (own, other) = (episodes[MOMENTARY].as_ref()?, episodes[sender].as_ref()?);
    let restart = own.avoidance_from(own.detection + own.rtt)?;
    let first = own.avoidance_from(own.detection)?;
    Some((
        own.rtts(restart, other.complete),
        own.rtts(first, other.complete),
    ))
}

fn restart(episodes: &Episodes<'_>, sender: usize, wanted: f64) -> Option<Finding> {
    let (later, from_first) = later_than_momentary(episodes, sender)?;
    Some(Finding::new(
        Verdict::of(near(later, wanted, 0.5)),
        format!("{later:.2} RTT ({from_first:.2} from Momentary's very first increase)"),
    ))
}

/// Figure 5 in numbers: what was acknowledged at [`COMPARED_AT`], by losses and sender.
struct Leads {
    acknowledged: Vec<[u64; SENDERS.len()]>,
}

impl Leads {
    fn of(part: &Part) -> Option<Self> {
        let at = Instant::ZERO + COMPARED_AT;
        let row = |point| {
            let mut row = [0; SENDERS.len()];
            for (sender, cell) in row.iter_mut().enumerate() {
                *cell = acknowledged(part.trace(point, sender)?, at);
            }
            Some(row)
        };
        let points = 0..part.results.points.len();
        let acknowledged: Option<Vec<_>> = points.map(row).collect();
        acknowledged
            .filter(|rows| !rows.is_empty())
            .map(|acknowledged| Self { acknowledged })
    }

    /// By how many packets Momentary leads, for each number of losses.
    fn over(&self, sender: usize) -> Vec<f64> {
        let rows = self.acknowledged.iter();
        rows.map(|row| row[MOMENTARY] as f64 - row[sender] as f64)
            .collect()
    }

    fn fastest(&self) -> Finding {
        let others = [NEWRENO, SACK, FACK];
        let leads = others.map(|sender| self.over(sender));
        let holds = leads.iter().flatten().all(|lead| *lead > 0.0);
        Finding::new(Verdict::of(holds), lead_list(&others, &leads))
    }

    fn rising(&self) -> Finding {
        let others = [NEWRENO, SACK, FACK];
        let leads = others.map(|sender| self.over(sender));
        let rises = |lead: &Vec<f64>| {
            slope(lead) > 0.0 && lead.last().zip(lead.first()).is_some_and(|(l, f)| l > f)
        };
        let slopes: Vec<String> = others
            .iter()
            .zip(&leads)
            // Rounded first, and a negative zero made positive.
            .map(|(&sender, lead)| (SENDERS[sender], (slope(lead) * 10.0).round() / 10.0 + 0.0))
            .map(|(name, slope)| format!("{name} {slope:+.1}"))
            .collect();
        Finding::new(
            Verdict::of(leads.iter().all(rises)),
            format!("packets of lead per loss: {}", slopes.join(", ")),
        )
    }
}

fn lead_list(senders: &[usize], leads: &[Vec<f64>]) -> String {
    let parts = senders.iter().zip(leads).map(|(&sender, lead)| {
        let texts: Vec<String> = lead.iter().map(|l| format!("{l:.0}")).collect();
        format!("over {} {}", SENDERS[sender], texts.join(", "))
    });
    let parts: Vec<String> = parts.collect();
    format!("lead in packets {}", parts.join("; "))
}

/// Of the straight line through values at 1, 2, 3, …
fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let x_mean = (n + 1.0) / 2.0;
    let y_mean = values.iter().sum::<f64>() / n;
    let xs = (1..).map(f64::from);
    let (mut over, mut under) = (0.0, 0.0);
    for (x, y) in xs.zip(values) {
        over += (x - x_mean) * (y - y_mean);
        under += (x - x_mean) * (x - x_mean);
    }
    over / under
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_line_is_its_slope() {
        assert!((slope(&[1.0, 3.0, 5.0, 7.0]) - 2.0).abs() < 1e-12);
        assert!(slope(&[4.0, 4.0, 4.0]).abs() < 1e-12);
    }
}
