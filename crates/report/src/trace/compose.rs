//! The two figures of a trace, composed from the data that was gathered for each flow.

use super::{Detail, Drawn, Found};
use crate::figure::{
    Aligned, Arrangement, Ladder, LadderColumn, TimeSequence, ladder_in_words, plot_in_words,
};

/// Data gathered for one flow.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Name of the flow.
    pub name: String,
    /// Packets and windows of the flow.
    pub drawn: Drawn,
    /// Ladder between the sender and the receiver of the flow.
    pub ladder: LadderColumn,
    /// Congestion windows of other flows of the same run, with the names of the flows.
    pub others: Vec<(String, Vec<(f64, f64)>)>,
}

/// Congestion windows that are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inflation {
    /// Only the congestion window of the sender.
    #[default]
    Hidden,
    /// Also the textbook window, which is inflated during fast recovery.
    Shown,
}

/// Titles and style of the figures.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions.
    pub subtitle: String,
    /// Arrangement of the plots of several flows.
    pub arrangement: Arrangement,
    /// Congestion windows that the figures show.
    pub inflation: Inflation,
}

/// The figures of a trace.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Figures {
    /// Packets and windows over time.
    pub time_sequence: Aligned,
    /// Segments and ACKs between senders and receivers.
    pub ladder: Ladder,
    /// Completeness of [`Figures::time_sequence`].
    pub detail: Detail,
}

/// Returns the figures of the parts `found`.
#[must_use]
pub fn figures(style: &Style, found: &Found, followed: Vec<Followed>) -> Figures {
    let thinned = followed
        .iter()
        .any(|flow| flow.drawn.detail == Detail::Thinned);
    let (mut plots, mut columns) = (Vec::new(), Vec::new());
    for flow in followed {
        let inflated = match style.inflation {
            Inflation::Hidden => Vec::new(),
            Inflation::Shown => flow.drawn.figure.inflated,
        };
        plots.push(TimeSequence {
            title: flow.name,
            others: flow.others,
            inflated,
            ..flow.drawn.figure
        });
        columns.push(flow.ladder);
    }
    let time_sequence = Aligned {
        title: style.title.clone(),
        subtitle: match thinned {
            true => format!("{} · points thinned", style.subtitle),
            false => style.subtitle.clone(),
        },
        description: sentences(plots.iter().map(plot_in_words)),
        arrangement: style.arrangement,
        plots,
    };
    Figures {
        time_sequence,
        ladder: ladder(style, found, columns),
        detail: match thinned {
            true => Detail::Thinned,
            false => Detail::Full,
        },
    }
}

fn ladder(style: &Style, found: &Found, columns: Vec<LadderColumn>) -> Ladder {
    let span = found.ladder;
    let mut ladder = Ladder {
        title: style.title.clone(),
        subtitle: style.subtitle.clone(),
        description: String::new(),
        time_range: (span.from.as_secs_f64(), span.until.as_secs_f64()),
        columns,
    };
    let shown = ladder.shown();
    if shown.1 < ladder.time_range.1 {
        let (end, whole) = (shown.1, ladder.time_range.1);
        let note =
            format!("cut off at {end:.3} s, because all until {whole:.3} s would be illegible");
        ladder.subtitle = format!("{} · {note}", ladder.subtitle);
    }
    let words = ladder.columns.iter();
    ladder.description = sentences(words.map(|column| ladder_in_words(column, shown)));
    ladder
}

fn sentences(all: impl Iterator<Item = String>) -> String {
    all.collect::<Vec<String>>().join(" ")
}
