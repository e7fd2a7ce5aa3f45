//! The figures of a trace, gathered event by event: every packet over time, and a ladder between sender and receiver.
//!
//! The part of a run that is shown is known only after its losses are repaired, so each run is executed twice. In the
//! first execution, an [`Extent`] finds the part. In the second execution, a [`Sketch`] and a [`Rungs`] gather the
//! part, in memory that does not grow with the run. Several runs share one part that covers the parts of all of them
//! ([`Found::of_all`]), so that they have the same time axis.

use dupack_lab::trace::stream::{Account, Onlooker};
use dupack_lab::trace::{Event, Flow, Trace};
use dupack_tcp::sender::SenderStats;
use dupack_tcp::time::{Duration, Instant};

mod compose;
mod ladder;
mod part;
mod reader;
mod repair;
mod setting;
pub mod thin;

pub use compose::{Figures, Followed, Inflation, Style, figures};
pub use ladder::Rungs;
pub use repair::{Extent, Found};
pub use setting::setting;

use crate::figure::TimeSequence;
use part::FigurePart;
use reader::Reader;
use thin::MOST_POINTS;

/// A part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Beginning of the part.
    pub from: Instant,
    /// End of the part.
    pub until: Instant,
}

impl Span {
    /// Returns `true` if the part is not empty and begins before `end`, which is the end of a run.
    #[must_use]
    pub fn shows_something(self, end: Instant) -> bool {
        self.from < self.until && self.from < end
    }
}

/// The part of a trace that the user requested for a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Beginning of the part. The default is just before the first loss, or the beginning of a run without losses.
    pub from: Option<Instant>,
    /// End of the part. The default is shortly after the repair of the last of consecutive losses, or after twenty
    /// round trips of a run without losses.
    pub until: Option<Instant>,
}

/// Returns the figure of `span`. First transmissions, retransmissions by reason, ACKs, SACK blocks and drops are above,
/// and the windows are below. The figure has no phases and no counts of duplicate ACKs; [`annotated`] includes both.
#[must_use]
pub fn time_sequence(trace: &Trace, span: Span, title: &str, subtitle: &str) -> TimeSequence {
    TimeSequence {
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        phases: Vec::new(),
        duplicates: Vec::new(),
        inflated: Vec::new(),
        ..annotated(trace, span)
    }
}

/// Returns the figure of `span` with all data, including phases and counts of duplicate ACKs.
#[must_use]
pub fn annotated(trace: &Trace, span: Span) -> TimeSequence {
    let mut reader = Reader::new(&trace.flow());
    let mut part = FigurePart::new(span, usize::MAX);
    for event in &trace.events {
        reader.read(event, |entry| part.show(&entry));
    }
    part.into_figure()
}

/// Completeness of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The figure has every point.
    Full,
    /// There were too many points. Some points that are less than a pixel apart were left out.
    Thinned,
}

/// Result of a [`Sketch`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Drawn {
    /// The figure, without title.
    pub figure: TimeSequence,
    /// Completeness of the figure's points.
    pub detail: Detail,
}

/// Returns the number of undone window reductions for each detection method.
fn undone(stats: &SenderStats) -> String {
    format!(
        "  {} reductions undone: {} by timestamps, {} by DSACKs, {} by F-RTO\n",
        stats.undone(),
        stats.undone_by_timestamp,
        stats.undone_by_dsack,
        stats.undone_by_frto
    )
}

/// Returns a text about a sender: its throughput and the changes of its window.
#[must_use]
pub fn summary(account: &Account) -> String {
    let stats = &account.stats;
    let seconds = account.end.as_secs_f64().max(f64::MIN_POSITIVE);
    let goodput = account.delivered_bytes as f64 * 8.0 / seconds / 1e6;
    let mut out = format!(
        "{}: {:.3} Mbit/s over {:.1} s, {} segments sent, {} of them retransmissions, {} timeouts\n",
        account.stack, goodput, seconds, stats.segments_sent, stats.retransmissions, stats.timeouts
    );
    if stats.undone() > 0 {
        out.push_str(&undone(stats));
    }
    let smss = account.flow.segment_bytes();
    for change in &account.changes {
        out.push_str(&format!(
            "  {:>9.4} s  {}: cwnd {:.3} → {:.3}, ssthresh {:.3} segments\n",
            change.at.as_secs_f64(),
            change.cause,
            change.before.cwnd / smss,
            change.after.cwnd / smss,
            change.after.ssthresh / smss,
        ));
    }
    if account.more_changes > 0 {
        let more = account.more_changes;
        out.push_str(&format!("  and {more} more changes, in windows.csv\n"));
    }
    out
}

/// Gatherer of the figure of a part of a trace of any length while the trace is written
/// ([`stream`](dupack_lab::trace::stream::stream)), in bounded memory.
#[derive(Debug)]
pub struct Sketch {
    part: FigurePart,
    /// Reader of the events, or `None` before the trace begins.
    reader: Option<Reader>,
}

impl Sketch {
    /// Returns a sketch of this part of the trace.
    #[must_use]
    pub fn new(span: Span) -> Self {
        Self {
            part: FigurePart::new(span, MOST_POINTS),
            reader: None,
        }
    }

    /// Returns the figure.
    #[must_use]
    pub fn finish(self) -> Drawn {
        let detail = match self.part.is_thinned() {
            true => Detail::Thinned,
            false => Detail::Full,
        };
        Drawn {
            figure: self.part.into_figure(),
            detail,
        }
    }
}

impl Onlooker for Sketch {
    fn begin(&mut self, flow: &Flow, _: Option<Duration>) {
        self.reader = Some(Reader::new(flow));
    }

    fn event(&mut self, event: &Event) {
        if let Some(reader) = &mut self.reader {
            let part = &mut self.part;
            reader.read(event, |entry| part.show(&entry));
        }
    }
}
