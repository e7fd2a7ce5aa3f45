//! Figures 3, 4 and 5 redrawn, and what can be read off them as tables.

use super::episode::{Episode, SYN, acknowledgments};
use super::{
    COMPARED_AT, Episodes, FACK, LOST, Leads, MOMENTARY, NEWRENO, OF_THE_PAPER, SACK, SENDERS,
    later_than_momentary,
};
use crate::evidence::Part;
use crate::judging::figure;
use crate::reproduction::{Exhibit, Table};
use dupack_lab::trace::Trace;
use dupack_report::figure::{LineChart, Point, Series, StepChart, StepSeries, TimeSequence};
use dupack_report::page::{Cell, Emphasis};
use dupack_report::trace::{Span, time_sequence};
use dupack_tcp::time::{Duration, Instant};

/// The part of figures 3 and 5 that is shown at most: from before the loss until NewReno is through.
const SHOWN: (Duration, Duration) = (Duration::from_millis(600), Duration::from_millis(3000));
const PATH: &str = "1 Mbit/s · 200 ms · initial ssthresh 10";

/// The panels of figure 3, and after them what the paper does not show.
const PANELS: [(&str, &str); 6] = [
    ("figure3a-newreno", "Figure 3(a): NewReno, slow but steady"),
    (
        "figure3b-sack",
        "Figure 3(b): SACK, two retransmissions per partial ACK",
    ),
    ("figure3c-fack", "Figure 3(c): FACK as ns-2 has it"),
    ("figure3d-momentary", "Figure 3(d): Momentary"),
    (
        "figure3-sack-default",
        "Not in the paper: SACK as ns-2.35 has it by default",
    ),
    (
        "figure3-fack-halved",
        "Not in the paper: FACK as its authors describe it",
    ),
];

const CAPTIONS: [&str; 6] = [
    "One retransmission per round trip; new data from the fourth on.",
    "One, two and four retransmissions in three round trips; the timer expires just before the last are acknowledged.",
    "Nothing is sent for the first duplicate ACKs, and the window starts again from one packet.",
    "Two new packets and three retransmissions, then four retransmissions and two new packets: the window never stops growing.",
    "After the second retransmission no ACK is left to send the third: a timeout, and slow start.",
    "The window is halved and frozen until all is repaired.",
];

pub(super) fn figures_3_and_4(part: &Part, episodes: &Episodes<'_>) -> Vec<Exhibit> {
    let mut out = vec![
        Exhibit::Heading("Figure 3: packets and ACKs, seven losses".to_owned()),
        Exhibit::Note(
            "Packets are counted as ns-2 does: its packet 0 is the SYN. The paper's curves are not in our hands; \
             what its text says of them is judged above. Each panel ends three round trips after the repair."
                .to_owned(),
        ),
    ];
    for (sender, (name, title)) in PANELS.into_iter().enumerate() {
        let Some(trace) = part.trace(0, sender) else {
            continue;
        };
        let span = span(episodes[sender].as_ref());
        out.extend(figure(
            name,
            CAPTIONS[sender],
            panel(trace, title, span).svg(),
        ));
    }
    out.push(Exhibit::Heading(
        "Figure 4: the congestion window".to_owned(),
    ));
    out.extend(figure(
        "figure4-cwnd",
        "cwnd of all senders of figure 3. Momentary's grows from the reduction on; the others' wait, start again from one, or \
         meet the timer.",
        windows(part).svg(),
    ));
    out.push(Exhibit::Table(recoveries(episodes)));
    out
}

/// From before the loss to three round trips after its repair.
fn span(episode: Option<&Episode<'_>>) -> Span {
    let until = episode.map_or(Instant::ZERO + SHOWN.1, |e| e.complete + e.rtt * 3);
    Span {
        from: Instant::ZERO + SHOWN.0,
        until,
    }
}

/// A panel of figure 3, its packets counted as ns-2 does.
fn panel(trace: &Trace, title: &str, span: Span) -> TimeSequence {
    let first = LOST[0];
    let last = LOST[LOST.len() - 1];
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

fn windows(part: &Part) -> StepChart {
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
    StepChart {
        title: "Figure 4: the congestion window through seven losses".to_owned(),
        subtitle: PATH.to_owned(),
        x_label: "time (s)".to_owned(),
        y_label: "cwnd (packets)".to_owned(),
        time_range: Some((0.5, 4.0)),
        series: series.collect(),
    }
}

/// What figures 3 and 4 show, in numbers.
fn recoveries(episodes: &Episodes<'_>) -> Table {
    let paper = |sender: usize| match sender {
        NEWRENO => "6",
        SACK => "3",
        FACK => "1",
        MOMENTARY => "0",
        _ => "",
    };
    let rows = episodes.iter().enumerate().filter_map(|(sender, episode)| {
        let e: &Episode<'_> = episode.as_ref()?;
        let number = |text: String| Cell::new(text, Emphasis::Number);
        let later = match sender {
            MOMENTARY => Some((0.0, 0.0)),
            _ => later_than_momentary(episodes, sender),
        };
        let later = later.map_or("–".to_owned(), |(later, _)| format!("{later:.2}"));
        Some(vec![
            Cell::new(SENDERS[sender], Emphasis::Group),
            number(format!("{:.3}", e.cwnd.0)),
            number(format!("{:.3}", e.cwnd.1)),
            number(format!("{:.3}", e.detection.as_secs_f64())),
            number(format!("{:.2}", e.length_rtts())),
            number(later),
            number(paper(sender).to_owned()),
            number(e.retransmissions().len().to_string()),
            number(e.timeouts().to_string()),
        ])
    });
    Table {
        name: "figure4-recoveries".to_owned(),
        caption: "The recoveries of figures 3 and 4. Congestion avoidance restarts: for Momentary, the first increase an RTT \
                  or more after the detection; for the others, when everything outstanding at the detection is acknowledged."
            .to_owned(),
        header: [
            "",
            "cwnd before",
            "after",
            "detected at (s)",
            "recovery takes (RTT)",
            "restarts later than Momentary by (RTT)",
            "the paper",
            "retrans.",
            "timeouts",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: rows.collect(),
    }
}

pub(super) fn figure_5(part: &Part, leads: Option<&Leads>) -> Vec<Exhibit> {
    let mut out = vec![Exhibit::Heading("Figure 5: one to eight losses".to_owned())];
    if let Some(leads) = leads {
        out.push(Exhibit::Table(lead_table(leads)));
        out.extend(figure(
            "figure5-lead",
            "How far Momentary is ahead. Where a line jumps, the other sender meets its timer.",
            lead_chart(leads).svg(),
        ));
    }
    for point in 0..part.results.points.len() {
        let losses = point + 1;
        out.extend(figure(
            &format!("figure5-{losses}-lost"),
            "Cumulatively acknowledged packets over time.",
            sequences(part, point).svg(),
        ));
    }
    out
}

/// A panel of figure 5.
fn sequences(part: &Part, point: usize) -> StepChart {
    let senders = SENDERS.iter().enumerate();
    let series = senders.filter_map(|(sender, name)| {
        Some(StepSeries {
            name: (*name).to_owned(),
            points: acknowledgments(part.trace(point, sender)?),
        })
    });
    let losses = match point {
        0 => "one loss".to_owned(),
        _ => format!("{} losses", point + 1),
    };
    StepChart {
        title: format!("Figure 5: {losses}"),
        subtitle: PATH.to_owned(),
        x_label: "time (s)".to_owned(),
        y_label: "acknowledged (packets)".to_owned(),
        time_range: Some((SHOWN.0.as_secs_f64(), COMPARED_AT.as_secs_f64())),
        series: series.collect(),
    }
}

fn lead_table(leads: &Leads) -> Table {
    let rows = SENDERS.iter().enumerate().map(|(sender, name)| {
        let cells = leads.acknowledged.iter().map(|row| {
            let best = row[..OF_THE_PAPER].iter().max() == Some(&row[sender]);
            let emphasis = if best {
                Emphasis::Best
            } else {
                Emphasis::Number
            };
            Cell::new(row[sender].to_string(), emphasis)
        });
        std::iter::once(Cell::new(*name, Emphasis::Group))
            .chain(cells)
            .collect()
    });
    let losses = (1..=leads.acknowledged.len()).map(|n| match n {
        1 => "1 loss".to_owned(),
        _ => n.to_string(),
    });
    Table {
        name: "figure5-acknowledged".to_owned(),
        caption: format!(
            "Packets acknowledged {} s into the run, by the number of losses; the most in bold.",
            COMPARED_AT.as_secs_f64()
        ),
        header: std::iter::once(String::new()).chain(losses).collect(),
        rows: rows.collect(),
    }
}

fn lead_chart(leads: &Leads) -> LineChart {
    let others = (0..SENDERS.len()).filter(|sender| *sender != MOMENTARY);
    let series = others.map(|sender| {
        let points = leads.over(sender).into_iter().zip(1..);
        Series {
            name: format!("over {}", SENDERS[sender]),
            points: points
                .map(|(lead, losses)| Point::from((f64::from(losses), lead, None)))
                .collect(),
        }
    });
    LineChart {
        title: format!(
            "Momentary's lead {} s into the run",
            COMPARED_AT.as_secs_f64()
        ),
        subtitle: PATH.to_owned(),
        x_label: "packets lost".to_owned(),
        y_label: "lead (packets acknowledged)".to_owned(),
        y_from_zero: true,
        series: series.collect(),
        ..LineChart::default()
    }
}
