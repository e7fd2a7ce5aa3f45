//! Figures drawn from recorded packets: figures 3, 4 and 5, and the recoveries of table 3.

use super::LOST;
use super::episode::{Episode, SYN, acknowledgments};
use crate::evidence::ExperimentResults;
use crate::reproduction::Exhibit;
use dupack_lab::trace::Trace;
use dupack_report::figure::{StepChart, StepSeries, TimeSequence};
use dupack_report::trace::{Span, time_sequence};
use dupack_tcp::time::{Duration, Instant};

/// Time range of figures 3 and 5: from before the loss until NewReno has recovered.
const SHOWN: (Duration, Duration) = (Duration::from_millis(600), Duration::from_millis(3000));
/// Time range of figure 5, in s.
const FIGURE_5: (f64, f64) = (0.6, 4.0);
/// Time range of figure 4, in s.
const FIGURE_4: (f64, f64) = (0.5, 4.0);
const PATH: &str = "1 Mbit/s · 200 ms · initial ssthresh 10";

/// Senders of both experiments, in order.
const SENDERS: [&str; 6] = [
    "NewReno",
    "SACK",
    "FACK",
    "Momentary",
    "SACK, ns-2's default",
    "FACK, halving",
];

/// Panels of figure 3, followed by panels that the paper does not have: name, title, caption.
const PANELS: [(&str, &str, &str); 6] = [
    (
        "figure3a-newreno",
        "Figure 3(a): NewReno, slow but steady",
        "One retransmission per round trip; new data from the fourth on.",
    ),
    (
        "figure3b-sack",
        "Figure 3(b): SACK, two retransmissions per partial ACK",
        "One, two and four retransmissions in three round trips; the timer expires just before the last are acknowledged.",
    ),
    (
        "figure3c-fack",
        "Figure 3(c): FACK as ns-2 has it",
        "Nothing is sent for the first duplicate ACKs, and the window restarts from one packet.",
    ),
    (
        "figure3d-momentary",
        "Figure 3(d): Momentary",
        "Two new packets and three retransmissions, then four retransmissions and two new packets: the window never stops growing.",
    ),
    (
        "figure3-sack-default",
        "Not in the paper: SACK as ns-2.35 has it by default",
        "After the second retransmission no ACK is left to send the third: a timeout, and slow start.",
    ),
    (
        "figure3-fack-halved",
        "Not in the paper: FACK as its authors describe it",
        "The window is halved and frozen until everything is repaired.",
    ),
];

pub(super) fn panels(part: &ExperimentResults) -> Vec<Exhibit> {
    let panels = PANELS.into_iter().enumerate();
    let drawn = panels.filter_map(|(sender, (name, title, caption))| {
        let trace = part.trace(0, sender)?;
        Some(Exhibit::figure(name, caption, panel(trace, title).svg()))
    });
    drawn.collect()
}

/// Draws a panel of figure 3 with ns-2's packet numbers, from before the loss until three round trips after the end of
/// the recovery.
fn panel(trace: &Trace, title: &str) -> TimeSequence {
    let until = Episode::of(trace).map_or(Instant::ZERO + SHOWN.1, |e| e.complete + e.rtt * 3);
    let span = Span {
        from: Instant::ZERO + SHOWN.0,
        until,
    };
    let (first, last) = (LOST[0], LOST[LOST.len() - 1]);
    let subtitle = format!("{PATH} · first transmissions of {first} to {last} lost");
    let mut figure = time_sequence(trace, span, title, &subtitle);
    let shift = SYN as f64;
    let own = [&mut figure.sends, &mut figure.acks, &mut figure.drops];
    let repeated = figure.retransmissions.iter_mut().map(|r| &mut r.points);
    for points in own.into_iter().chain(repeated) {
        for point in points {
            point.1 += shift;
        }
    }
    for block in &mut figure.sacks {
        block.first += shift;
        block.end += shift;
    }
    figure
}

pub(super) fn windows(part: &ExperimentResults) -> Vec<Exhibit> {
    let series = SENDERS.iter().enumerate().filter_map(|(sender, name)| {
        let trace = part.trace(0, sender)?;
        let smss = trace.segment_bytes();
        let states = trace.states();
        Some(StepSeries {
            name: (*name).to_owned(),
            points: states
                .map(|(at, state)| (at.as_secs_f64(), state.cwnd / smss))
                .collect(),
        })
    });
    let chart = StepChart {
        title: "Figure 4: the congestion window through seven losses".to_owned(),
        subtitle: PATH.to_owned(),
        x_label: "time (s)".to_owned(),
        y_label: "cwnd (packets)".to_owned(),
        time_range: Some(FIGURE_4),
        series: series.collect(),
    };
    vec![Exhibit::figure(
        "figure4-cwnd",
        "cwnd of all senders of figure 3. Momentary's window grows from the reduction on; the others wait, restart from one \
         packet, or have a timeout.",
        chart.svg(),
    )]
}

/// Draws a panel of figure 5 for each number of losses.
pub(super) fn figure_5(part: &ExperimentResults) -> Vec<Exhibit> {
    let panels = (0..part.results.points.len()).map(|point| {
        let losses = match point {
            0 => "one loss".to_owned(),
            _ => format!("{} losses", point + 1),
        };
        let senders = SENDERS.iter().enumerate();
        let series = senders.filter_map(|(sender, name)| {
            Some(StepSeries {
                name: (*name).to_owned(),
                points: acknowledgments(part.trace(point, sender)?),
            })
        });
        let chart = acknowledged(
            format!("Figure 5: {losses}"),
            PATH,
            FIGURE_5,
            series.collect(),
        );
        Exhibit::figure(
            &format!("figure5-{}-lost", point + 1),
            "Cumulatively acknowledged packets over time.",
            chart.svg(),
        )
    });
    panels.collect()
}

fn acknowledged(
    title: String,
    subtitle: &str,
    range: (f64, f64),
    series: Vec<StepSeries>,
) -> StepChart {
    StepChart {
        title,
        subtitle: subtitle.to_owned(),
        x_label: "time (s)".to_owned(),
        y_label: "acknowledged (packets)".to_owned(),
        time_range: Some(range),
        series,
    }
}

/// Recorded runs of table 3: the runs of NewReno, whose recovery takes longest, and the runs of the other senders.
type Overruns<'p> = [Option<&'p ExperimentResults>; 2];

pub(super) fn table_3(overruns: Overruns<'_>) -> Vec<Exhibit> {
    let all = Exhibit::figure(
        "table3-recovery",
        "Cumulatively acknowledged packets; FACK's line lies below Momentary's. SACK's second loss follows its first \
         recovery at once.",
        sequences(overruns, 10.0).svg(),
    );
    let newreno = Exhibit::figure(
        "table3-newreno",
        "NewReno alone, over a longer time: it repairs one hole per round trip for 76 s, and then the data that arrived \
         beyond the holes is acknowledged at once.",
        sequences([overruns[0], None], 81.0).svg(),
    );
    vec![all, newreno]
}

/// Maximum number of points per line.
const POINTS: usize = 2000;

/// Draws the cumulatively acknowledged packets of each sender up to `end` seconds.
fn sequences(overruns: Overruns<'_>, end: f64) -> StepChart {
    let trace_of = |sender: usize| match sender {
        0 => overruns[0]?.trace(0, 0),
        other => overruns[1]?.trace(0, other - 1),
    };
    let of_the_paper = SENDERS.iter().take(4).enumerate();
    let series = of_the_paper.filter_map(|(sender, name)| {
        let mut points = acknowledgments(trace_of(sender)?);
        points.retain(|(at, _)| *at <= end);
        let every = points.len().div_ceil(POINTS).max(1);
        Some(StepSeries {
            name: (*name).to_owned(),
            points: points.into_iter().step_by(every).collect(),
        })
    });
    acknowledged(
        "Table 3: the recovery from 190 losses".to_owned(),
        "one flow · 20 Mbit/s · 400 ms · buffer 298 packets · ssthresh 1000",
        (0.0, end),
        series.collect(),
    )
}
