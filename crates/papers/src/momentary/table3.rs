//! Table 3: one flow that loses 190 packets out of a window of 1000 (section 5), and what CUBIC
//! makes of it (the paper's future work).

use super::episode::{Episode, acknowledgments};
use super::numbers::{number, paper_rows};
use crate::claims::{Finding, Verdict};
use crate::evidence::{At, Part};
use crate::judging::{Whose, figure, finding, row};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::experiment::Experiment;
use dupack_lab::results::Measure;
use dupack_lab::trace::{Trace, What};
use dupack_lab::units::Delay;
use dupack_report::figure::{Bar, BarChart, BarSeries, StepChart, StepSeries};
use dupack_report::page::{Cell, Emphasis};
use dupack_tcp::time::Duration;

const PAPER: &str = include_str!("../../experiments/momentary/table3.csv");

/// The stacks of `table3.toml`, in their order; the paper's come first.
const STACKS: [&str; 10] = [
    "NewReno",
    "SACK",
    "FACK",
    "Momentary",
    "SACK, ns-2.35's default",
    "FACK, halving",
    "SACK, CUBIC",
    "FACK, CUBIC",
    "RACK-TLP, CUBIC",
    "Momentary, CUBIC",
];
const NEWRENO: usize = 0;
const SACK: usize = 1;
const FACK: usize = 2;
const MOMENTARY: usize = 3;
const OF_THE_PAPER: usize = 4;
const CUBIC_OTHERS: [usize; 3] = [6, 7, 8];
const CUBIC_MOMENTARY: usize = 9;

/// Places in the sweep over the receive window.
const UNLIMITED: usize = 0;
const LIMITED: usize = 1;

/// A third as long, and without the narrow receive window.
pub(super) fn quicken(experiment: &mut Experiment) {
    experiment.duration = Delay::from_nanos(30_000_000_000);
    for values in experiment.sweep.values_mut() {
        values.truncate(1);
    }
}

/// Throughput in kbit/s, and packets lost, in the paper.
fn paper(stack: usize) -> Option<(f64, f64)> {
    let rows = paper_rows(PAPER);
    let found = rows.get(stack)?;
    Some((number(found, 1)?, number(found, 2)?))
}

/// A measure of a stack; every run is the only one of its cell.
fn measure(part: &Part, point: usize, stack: usize, measure: Measure) -> Option<f64> {
    Some(part.summary(At { point, stack }, measure)?.mean)
}

/// In kbit/s.
fn throughput(part: &Part, stack: usize) -> Option<f64> {
    Some(measure(part, UNLIMITED, stack, Measure::Goodput)? * 1e3)
}

fn losses(part: &Part, stack: usize) -> Option<f64> {
    measure(part, UNLIMITED, stack, Measure::QueueDrops)
}

/// The recorded runs: NewReno's, whose recovery takes longest, and those of the others.
type Traced<'p> = [Option<&'p Part>; 2];

/// The trace of one of the paper's stacks.
fn trace_of<'p>(traced: Traced<'p>, stack: usize) -> Option<&'p Trace> {
    match stack {
        NEWRENO => traced[0]?.trace(0, 0),
        other => traced[1]?.trace(0, other - 1),
    }
}

/// A recorded recovery, and when packets were lost.
struct Overrun<'t> {
    episode: Episode<'t>,
    /// Packets dropped before the first recovery was complete, and after.
    dropped: (usize, usize),
}

impl<'t> Overrun<'t> {
    fn of(trace: &'t Trace) -> Option<Self> {
        let episode = Episode::of(trace)?;
        let complete = episode.complete;
        let drops = || {
            let events = trace.events.iter();
            events.filter(|event| matches!(event.what, What::DataDropped { .. }))
        };
        let before = drops().filter(|event| event.at <= complete).count();
        Some(Self {
            episode,
            dropped: (before, drops().count() - before),
        })
    }

    fn seconds(&self) -> f64 {
        let e = &self.episode;
        e.complete.since(e.detection).as_secs_f64()
    }
}

/// The findings of this table; the recoveries are another experiment's.
pub(super) fn findings(
    part: Option<&Part>,
    traced: Traced<'_>,
) -> Vec<(&'static str, Option<Finding>)> {
    let overrun = |stack| trace_of(traced, stack).and_then(Overrun::of);
    let overruns: Option<Vec<Overrun<'_>>> = (0..OF_THE_PAPER).map(overrun).collect();
    let overruns = overruns.as_deref();
    vec![
        ("loss-of-190", overruns.and_then(loss_of_190)),
        ("newreno-76-s", overruns.and_then(newreno_76_s)),
        ("newreno-poor", part.and_then(newreno_poor)),
        ("sack-shorter", overruns.and_then(sack_shorter)),
        ("sack-extra", overruns.and_then(sack_extra)),
        (
            "fack-momentary-clean",
            part.zip(overruns).and_then(|(p, o)| clean(p, o)),
        ),
        ("fack-momentary-alike", part.and_then(alike)),
        ("table3-figures", part.and_then(figures_agree)),
        ("cubic-overrun", part.and_then(cubic_overrun)),
    ]
}

fn loss_of_190(overruns: &[Overrun<'_>]) -> Option<Finding> {
    let mut holds = true;
    let mut texts = Vec::new();
    for (overrun, name) in overruns.iter().zip(STACKS) {
        let (cwnd, _) = overrun.episode.cwnd;
        let lost = overrun.dropped.0;
        holds &= (950.0..=1050.0).contains(&cwnd) && (180..=200).contains(&lost);
        texts.push(format!("{name} {lost} of {cwnd:.0}"));
    }
    finding(holds, texts.join(", "))
}

fn newreno_76_s(overruns: &[Overrun<'_>]) -> Option<Finding> {
    let newreno = overruns.get(NEWRENO)?;
    let (seconds, lost) = (newreno.seconds(), newreno.dropped.0);
    let rtts = newreno.episode.length_rtts();
    finding(
        (72.0..=80.0).contains(&seconds) && (rtts - lost as f64).abs() <= 10.0,
        format!("{seconds:.1} s, {rtts:.0} RTT, {lost} losses"),
    )
}

fn newreno_poor(part: &Part) -> Option<Finding> {
    let all: Vec<f64> = (0..OF_THE_PAPER)
        .map(|stack| throughput(part, stack))
        .collect::<Option<_>>()?;
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let mut found = format!(
        "NewReno {:.0}, SACK {:.0}, Momentary {:.0} kbit/s",
        all[NEWRENO], all[SACK], all[MOMENTARY]
    );
    if let Some(limited) = measure(part, LIMITED, NEWRENO, Measure::Goodput) {
        let text = format!(
            "; NewReno with a receive window of 1000 packets: {:.0}",
            limited * 1e3
        );
        found.push_str(&text);
    }
    finding(
        all[NEWRENO] <= least && all[NEWRENO] <= all[MOMENTARY] / 4.0,
        found,
    )
}

fn sack_shorter(overruns: &[Overrun<'_>]) -> Option<Finding> {
    let (sack, newreno) = (
        overruns.get(SACK)?.seconds(),
        overruns.get(NEWRENO)?.seconds(),
    );
    finding(
        sack < newreno,
        format!("SACK {sack:.1} s, NewReno {newreno:.1} s"),
    )
}

fn sack_extra(overruns: &[Overrun<'_>]) -> Option<Finding> {
    let (before, after) = overruns.get(SACK)?.dropped;
    finding(
        after >= 100,
        format!("{before} packets lost up to the end of the first recovery, {after} after"),
    )
}

fn clean(part: &Part, overruns: &[Overrun<'_>]) -> Option<Finding> {
    let (fack, own) = (losses(part, FACK)?, losses(part, MOMENTARY)?);
    let first = |stack: usize| Some(overruns.get(stack)?.dropped.0 as f64);
    let (fack_first, own_first) = (first(FACK)?, first(MOMENTARY)?);
    let (fack_after, own_after) = (fack - fack_first, own - own_first);
    finding(
        fack.total_cmp(&own).is_eq() && fack_after + own_after < 0.5,
        format!(
            "FACK {fack_first:.0} and {fack_after:.0} later, Momentary {own_first:.0} and {own_after:.0} later"
        ),
    )
}

fn alike(part: &Part) -> Option<Finding> {
    let [sack, fack, own] = [SACK, FACK, MOMENTARY].map(|stack| throughput(part, stack));
    let (sack, fack, own) = (sack?, fack?, own?);
    let ratio = own / fack;
    finding(
        (0.98..=1.02).contains(&ratio) && fack.min(own) > 2.0 * sack,
        format!("Momentary {own:.0}, FACK {fack:.0} (×{ratio:.3}), SACK {sack:.0} kbit/s"),
    )
}

/// How far a throughput may be from the paper's.
const TOLERANCE: f64 = 0.10;

fn figures_agree(part: &Part) -> Option<Finding> {
    let mut holds = true;
    let mut texts = Vec::new();
    for (stack, name) in STACKS.iter().enumerate().take(OF_THE_PAPER) {
        let ratio = throughput(part, stack)? / paper(stack)?.0;
        holds &= (ratio - 1.0).abs() <= TOLERANCE;
        texts.push(format!("{name} ×{ratio:.2}"));
    }
    finding(holds, format!("{} of the paper's", texts.join(", ")))
}

fn cubic_overrun(part: &Part) -> Option<Finding> {
    let own = throughput(part, CUBIC_MOMENTARY)?;
    let mut holds = true;
    let mut texts = vec![format!("Momentary {own:.0}")];
    for stack in CUBIC_OTHERS {
        let other = throughput(part, stack)?;
        holds &= own > other;
        let name = STACKS[stack].trim_end_matches(", CUBIC");
        texts.push(format!("{name} {other:.0}"));
    }
    Some(Finding::new(
        Verdict::of(holds),
        format!("under CUBIC, in kbit/s: {}", texts.join(", ")),
    ))
}

/// The table beside the paper's, and the sequence numbers over time.
pub(super) fn exhibits(part: Option<&Part>, traced: Traced<'_>) -> Vec<Exhibit> {
    let mut out = vec![Exhibit::Heading(
        "Table 3: many losses out of a large window".to_owned(),
    )];
    if let Some(part) = part {
        out.push(Exhibit::Table(table(part)));
        out.extend(figure(
            "table3-throughput",
            "Throughput over 100 s; every run is exact.",
            chart(part).svg(),
        ));
    }
    out.extend(figure(
        "table3-recovery",
        "Cumulatively acknowledged packets; FACK's line lies below Momentary's. SACK's second loss follows its first \
         recovery at once.",
        sequences(traced, 10).svg(),
    ));
    out.extend(figure(
        "table3-newreno",
        "NewReno alone, for longer: it repairs one hole in each round trip for 76 s, and then what arrived beyond them counts \
         at once.",
        sequences([traced[0], None], 81).svg(),
    ));
    out
}

fn table(part: &Part) -> Table {
    let mut rows = Vec::new();
    for (stack, name) in STACKS.iter().enumerate() {
        if let Some((kbps, lost)) = paper(stack) {
            let cells = [format!("{kbps:.0}"), format!("{lost:.0}")];
            rows.push(row(name, Whose::Paper, "the paper", cells));
        }
        for (point, label) in [(UNLIMITED, "here"), (LIMITED, "receive window of 1000")] {
            rows.extend(measured_row(part, point, stack, name, label));
        }
    }
    Table {
        name: "table3".to_owned(),
        caption: "100 s on a path of 20 Mbit/s, 400 ms and a buffer of 298 packets; slow start up to a window of 1000.".to_owned(),
        header: [
            "",
            "",
            "throughput (kbit/s)",
            "packets lost",
            "retransmissions",
            "timeouts",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
    }
}

fn measured_row(
    part: &Part,
    point: usize,
    stack: usize,
    name: &str,
    label: &str,
) -> Option<Vec<Cell>> {
    let of = |m| measure(part, point, stack, m);
    let cells = [
        format!("{:.0}", of(Measure::Goodput)? * 1e3),
        format!("{:.0}", of(Measure::QueueDrops)?),
        format!("{:.0}", of(Measure::Retransmissions)?),
        format!("{:.0}", of(Measure::Timeouts)?),
    ];
    let group = if point == UNLIMITED && paper(stack).is_none() {
        name
    } else {
        ""
    };
    if point == UNLIMITED {
        return Some(row(group, Whose::Ours, label, cells));
    }
    let names = [
        Cell::new("", Emphasis::Group),
        Cell::new(label, Emphasis::Plain),
    ];
    let cells = cells.map(|text| Cell::new(text, Emphasis::Number));
    Some(names.into_iter().chain(cells).collect())
}

fn chart(part: &Part) -> BarChart {
    let bars = |of: &dyn Fn(usize) -> Option<f64>| {
        let bar = |mean| Bar {
            mean,
            half_width: None,
        };
        (0..STACKS.len()).map(|stack| of(stack).map(bar)).collect()
    };
    let series = |name: &str, bars| BarSeries {
        name: name.to_owned(),
        bars,
    };
    BarChart {
        title: "Table 3: throughput after the loss of 190 packets".to_owned(),
        subtitle: "one flow · 20 Mbit/s · 400 ms · buffer 298 packets · ssthresh 1000 · 100 s"
            .to_owned(),
        value_label: "throughput (kbit/s)".to_owned(),
        categories: STACKS.map(str::to_owned).to_vec(),
        series: vec![
            series("here", bars(&|stack| throughput(part, stack))),
            series(
                "the paper",
                bars(&|stack| paper(stack).map(|(kbps, _)| kbps)),
            ),
        ],
        reference: None,
    }
}

/// So many points a line are enough for the eye.
const POINTS: usize = 2000;

/// Acknowledged packets over the first `seconds`.
fn sequences(traced: Traced<'_>, seconds: u64) -> StepChart {
    let end = Duration::from_secs(seconds).as_secs_f64();
    let line = |stack: usize| {
        let mut points = acknowledgments(trace_of(traced, stack)?);
        points.retain(|(at, _)| *at <= end);
        let every = points.len().div_ceil(POINTS).max(1);
        Some(StepSeries {
            name: STACKS[stack].to_owned(),
            points: points.into_iter().step_by(every).collect(),
        })
    };
    StepChart {
        title: "Table 3: the recovery from 190 losses".to_owned(),
        subtitle: "one flow · 20 Mbit/s · 400 ms · buffer 298 packets · ssthresh 1000".to_owned(),
        x_label: "time (s)".to_owned(),
        y_label: "acknowledged (packets)".to_owned(),
        time_range: Some((0.0, end)),
        series: (0..OF_THE_PAPER).filter_map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_rows_are_in_the_order_of_the_stacks() {
        let throughputs: Vec<f64> = (0..OF_THE_PAPER)
            .filter_map(|stack| paper(stack).map(|(kbps, _)| kbps))
            .collect();
        assert_eq!(throughputs, [1852.03, 4571.09, 11_575.16, 11_593.67]);
        assert_eq!(paper(OF_THE_PAPER), None);
    }
}
