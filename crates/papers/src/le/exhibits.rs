//! Figures 4 and 6 redrawn, and what can be read off them as tables.

use dupack_algorithms::catalog::{Axis, Catalog, StackSpec};

use super::controls::Panel;
use super::window_losses::{WindowLosses, in_one_rtt, timed_out};
use super::{FACK, LE, NEWRENO, RECOVERIES, SACK, percents};
use crate::evidence::Part;
use crate::judging::figure;
use crate::reproduction::{Exhibit, Table};
use dupack_lab::results::Measure;
use dupack_lab::stats::spread;
use dupack_report::figure::{LineChart, Point, Series};
use dupack_report::page::{Cell, Emphasis};
use dupack_report::theory::Connection;

/// The senders of figure 4's experiment after the five of the paper.
const VARIANTS: [&str; 3] = [
    "NewReno, slow but steady",
    "SACK, two per partial ACK",
    "FACK as its authors describe it",
];

const WINDOW_PATH: &str = "8 Mbit/s · 50 ms · window of 32 · ns-2's rules · ten runs";
const PATH: &str = "8 Mbit/s · 50 ms · 50 packets of buffer · ns-2's rules · ten runs";

/// The numbers of losses in the table of figure 4.
const TABLED: [usize; 10] = [1, 4, 8, 12, 15, 18, 19, 24, 29, 31];

pub(super) fn figure_4(losses: &WindowLosses) -> Vec<Exhibit> {
    let note = "From the first drop to the ACK that covers the whole window, in least round trips (about 51 ms): of \
                these, one passes before the loss can be noticed, and one is the last repair's own. The paper's curves \
                are not in our hands; what its text says of them is judged above.";
    let mut out = vec![
        Exhibit::Heading("Figure 4: n losses out of a window of 32".to_owned()),
        Exhibit::Note(note.to_owned()),
    ];
    let paper: Vec<(usize, &str)> = RECOVERIES.iter().copied().enumerate().collect();
    out.extend(figure(
        "figure4",
        "Mean over ten random choices of the packets; the whiskers are 95 % confidence intervals.",
        durations(losses, "Figure 4: time to recover", &paper).svg(),
    ));
    let variants: Vec<(usize, &str)> = [NEWRENO, SACK, FACK]
        .into_iter()
        .map(|sender| (sender, RECOVERIES[sender]))
        .chain((RECOVERIES.len()..).zip(VARIANTS))
        .collect();
    out.extend(figure(
        "figure4-variants",
        "Not in the paper: other ways of three of the senders, beside those of figure 4.",
        durations(losses, "Variants of NewReno, SACK and FACK", &variants).svg(),
    ));
    out.push(Exhibit::Table(duration_table(losses)));
    out.push(Exhibit::Table(break_points(losses)));
    out
}

fn durations(losses: &WindowLosses, title: &str, senders: &[(usize, &str)]) -> LineChart {
    let series = senders.iter().map(|&(sender, name)| {
        let points = (1..=losses.most()).filter_map(|n| {
            let duration = losses.duration(sender, n)?;
            Some(Point::from((
                n as f64,
                duration.mean,
                duration.half_width_95,
            )))
        });
        Series {
            name: name.to_owned(),
            points: points.collect(),
        }
    });
    LineChart {
        title: title.to_owned(),
        subtitle: WINDOW_PATH.to_owned(),
        x_label: "packets lost out of 32".to_owned(),
        y_label: "first loss to full recovery (RTT)".to_owned(),
        y_from_zero: true,
        series: series.collect(),
        ..LineChart::default()
    }
}

fn duration_table(losses: &WindowLosses) -> Table {
    let names = RECOVERIES.into_iter().chain(VARIANTS);
    let rows = names.enumerate().map(|(sender, name)| {
        let cells = TABLED.map(|n| {
            let text = losses
                .summary(sender, n, |r| r.duration_ms)
                .map_or("–".to_owned(), |s| spread(&s, 0));
            Cell::new(text, Emphasis::Number)
        });
        std::iter::once(Cell::new(name, Emphasis::Group))
            .chain(cells)
            .collect()
    });
    let header = TABLED.map(|n| match n {
        1 => "1 loss".to_owned(),
        n => n.to_string(),
    });
    Table {
        name: "figure4-durations".to_owned(),
        caption: "First loss to full recovery in ms, by the number of losses: means ± half the 95 % confidence interval."
            .to_owned(),
        header: std::iter::once(String::new()).chain(header).collect(),
        rows: rows.collect(),
    }
}

/// Up to how many losses most runs are repaired in one round trip, and without a timeout.
fn break_points(losses: &WindowLosses) -> Table {
    let paper = |sender: usize| match sender {
        SACK => ["8", "18"],
        FACK => ["15", ""],
        LE => ["", "29"],
        _ => ["", ""],
    };
    let names = RECOVERIES.into_iter().chain(VARIANTS);
    let rows = names.enumerate().map(|(sender, name)| {
        let [one, without] = paper(sender);
        let number = |text: String| Cell::new(text, Emphasis::Number);
        let ours = |n: usize| Cell::new(n.to_string(), Emphasis::Best);
        vec![
            Cell::new(name, Emphasis::Group),
            number(one.to_owned()),
            ours(losses.majority_up_to(sender, in_one_rtt)),
            number(without.to_owned()),
            ours(losses.majority_up_to(sender, |r| !timed_out(r))),
        ]
    });
    Table {
        name: "figure4-break-points".to_owned(),
        caption: "Up to how many losses most of the runs resend everything within one round trip, and have no timeout."
            .to_owned(),
        header: [
            "",
            "one round trip: the paper",
            "here",
            "no timeout: the paper",
            "here",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: rows.collect(),
    }
}

/// The panels of figure 6: file name and title.
const PANELS: [(&str, &str); 4] = [
    ("figure6a", "Figure 6(a): AIMD"),
    ("figure6b", "Figure 6(b): a fixed window of 32"),
    ("figure6c", "Figure 6(c): Westwood"),
    (
        "figure6d",
        "Figure 6(d): ten flows under Westwood, their sum",
    ),
];

const CAPTION: &str = "Goodput over the loss rate: means and 95 % confidence intervals.";
const THEORY: &str =
    "Grey: the formulas of Mathis et al. (1997) and Padhye et al. (1998) for Reno.";

/// What formulas say of Reno's control under random loss; nothing if they do not apply.
fn theory(part: &Part) -> Vec<Series> {
    let Some(stack) = part.results.stacks.first() else {
        return Vec::new();
    };
    let connection = StackSpec::parse(stack, &Catalog::builtin())
        .ok()
        .filter(|stack| stack.name(Axis::Control) == "reno")
        .and_then(|stack| Connection::of(&part.results.experiment, &stack));
    connection.map_or_else(Vec::new, |connection| connection.lines(&percents(part)))
}

/// What stands in figure 6(a) beside the paper's five.
const OTHER_READING: &str = "LE, opening with every delivery";

pub(super) fn figure_6(panels: [&Panel<'_>; 4]) -> Vec<Exhibit> {
    let mut out = vec![Exhibit::Heading(
        "Figure 6: five recoveries, three congestion controls".to_owned(),
    )];
    let stacks: Vec<(usize, &str)> = RECOVERIES.iter().copied().enumerate().collect();
    for ((name, title), panel) in PANELS.into_iter().zip(panels) {
        let mut shown = stacks.clone();
        if panel.0.results.stacks.len() > stacks.len() {
            shown.push((stacks.len(), OTHER_READING));
        }
        let mut chart = goodputs(panel.0, title, PATH, &shown);
        let caption = match theory(panel.0) {
            lines if lines.is_empty() => CAPTION.to_owned(),
            lines => {
                chart.references = lines;
                format!("{CAPTION} {THEORY}")
            }
        };
        out.extend(figure(name, &caption, chart.svg()));
    }
    out.push(Exhibit::Table(gain_table(panels)));
    out
}

/// Goodput over the loss rate.
pub(super) fn goodputs(
    part: &Part,
    title: &str,
    subtitle: &str,
    stacks: &[(usize, &str)],
) -> LineChart {
    let xs = percents(part);
    let series = stacks.iter().map(|&(stack, name)| {
        let summaries = part.curve(stack, Measure::Goodput).unwrap_or_default();
        let points = xs.iter().zip(summaries);
        Series {
            name: name.to_owned(),
            points: points
                .map(|(x, s)| Point::from((*x, s.mean, s.half_width_95)))
                .collect(),
        }
    });
    LineChart {
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        x_label: "packet loss (%)".to_owned(),
        y_label: "goodput (Mbit/s)".to_owned(),
        y_from_zero: true,
        series: series.collect(),
        ..LineChart::default()
    }
}

/// LE over the next best, by panel and loss rate.
fn gain_table(panels: [&Panel<'_>; 4]) -> Table {
    let mut rows = Vec::new();
    for ((_, title), panel) in PANELS.into_iter().zip(panels) {
        for (base, name) in RECOVERIES.iter().enumerate().take(LE) {
            let group = if base == 0 { title } else { "" };
            let gains = panel.gains(base, 0.0).unwrap_or_default();
            let cells = gains
                .iter()
                .map(|gain| Cell::new(spread(gain, 2), Emphasis::Number));
            let names = [
                Cell::new(group, Emphasis::Group),
                Cell::new(format!("LE / {name}"), Emphasis::Plain),
            ];
            rows.push(names.into_iter().chain(cells).collect());
        }
    }
    let rates = percents(panels[0].0).into_iter().map(|p| format!("{p} %"));
    Table {
        name: "figure6-gains".to_owned(),
        caption: "LE's goodput over that of each other recovery, paired by seed, by loss rate."
            .to_owned(),
        header: [String::new(), String::new()]
            .into_iter()
            .chain(rates)
            .collect(),
        rows,
    }
}
