//! The points of a figure of one part of a trace. The number of points is bounded.

use dupack_lab::trace::phase::Phase;
use dupack_tcp::facts::SendReason;
use dupack_tcp::time::Instant;

use super::Span;
use super::reader::{Entry, Shown, Windows};
use super::thin::{Mark, Marks, Steps};
use crate::figure::{Duplicates, Retransmissions, SackBlock, TimeSequence};

/// The points of a figure of one part of a trace.
#[derive(Debug)]
pub(super) struct FigurePart {
    span: Span,
    most: usize,
    sends: Marks,
    again: Vec<(String, Marks)>,
    acks: Marks,
    sacks: Marks,
    drops: Marks,
    /// Series of duplicate ACKs: the packet that they ask for as `low`, and the length of the series as `high`.
    duplicates: Marks,
    /// The last series of duplicate ACKs, which may still become longer.
    row: Option<Mark>,
    cwnd: Steps,
    inflated: Steps,
    ssthresh: Steps,
    in_flight: Steps,
    phases: Steps,
}

/// All phases. [`FigurePart::phases`] contains indices into this array. If a figure is thinned, the last phase of each
/// pixel column is always kept.
const PHASES: [Phase; 5] = [
    Phase::Avoidance,
    Phase::Model,
    Phase::SlowStart,
    Phase::Recovery,
    Phase::Timeout,
];

impl FigurePart {
    /// Returns a part with at most `most` points of each kind.
    pub fn new(span: Span, most: usize) -> Self {
        let (marks, steps) = (|| Marks::new(most), || Steps::new(most));
        Self {
            span,
            most,
            sends: marks(),
            again: Vec::new(),
            acks: marks(),
            sacks: marks(),
            drops: marks(),
            duplicates: marks(),
            row: None,
            cwnd: steps(),
            inflated: steps(),
            ssthresh: steps(),
            in_flight: steps(),
            phases: steps(),
        }
    }

    pub fn show(&mut self, entry: &Entry) {
        let ended = entry.at > self.span.until;
        let inside = self.span.from <= entry.at && !ended;
        let time = entry.at.as_secs_f64();
        let mark = |low, high| Mark { time, low, high };
        match entry.what {
            Shown::State(windows) => self.state(entry.at, &windows),
            _ if !inside => {}
            Shown::Sent(packet) => self.sends.push(mark(packet, packet)),
            Shown::Again(why, packet) => self.again(why, mark(packet, packet)),
            Shown::Dropped(packet) => self.drops.push(mark(packet, packet)),
            Shown::Acked(packet) => self.acks.push(mark(packet, packet)),
            Shown::Sacked(first, end) => self.sacks.push(mark(first, end)),
            Shown::Duplicates(count, packet) => self.duplicate(mark(packet, f64::from(count))),
        }
    }

    /// Adds a state. Each line begins with its last value before the part.
    fn state(&mut self, at: Instant, windows: &Windows) {
        let (begins, ended) = (at <= self.span.from, at > self.span.until);
        let phase = PHASES.iter().position(|&phase| phase == windows.phase);
        let lines = [
            (&mut self.cwnd, windows.cwnd),
            (&mut self.inflated, windows.inflated),
            (&mut self.ssthresh, windows.ssthresh),
            (&mut self.in_flight, windows.in_flight),
            (&mut self.phases, phase.unwrap_or_default() as f64),
        ];
        for (line, value) in lines {
            if begins {
                line.clear();
            }
            if !ended || line.is_empty() {
                line.push((at.as_secs_f64(), value));
            }
        }
    }

    /// Extends the last series of duplicate ACKs, or begins a new one.
    fn duplicate(&mut self, mark: Mark) {
        let goes_on = |row: &Mark| row.low == mark.low && row.high < mark.high;
        if let Some(row) = self.row.replace(mark).filter(|row| !goes_on(row)) {
            self.duplicates.push(row);
        }
    }

    fn again(&mut self, why: SendReason, mark: Mark) {
        let reason = why.to_string();
        let reason = reason.strip_prefix("retransmission: ").unwrap_or(&reason);
        if let Some((_, marks)) = self.again.iter_mut().find(|(r, _)| r == reason) {
            marks.push(mark);
            return;
        }
        let mut marks = Marks::new(self.most);
        marks.push(mark);
        self.again.push((reason.to_owned(), marks));
    }

    pub fn is_thinned(&self) -> bool {
        let marks = [
            &self.sends,
            &self.acks,
            &self.sacks,
            &self.drops,
            &self.duplicates,
        ];
        let again = self.again.iter().map(|(_, marks)| marks);
        let steps = [
            &self.cwnd,
            &self.inflated,
            &self.ssthresh,
            &self.in_flight,
            &self.phases,
        ];
        marks.into_iter().chain(again).any(Marks::is_thinned)
            || steps.into_iter().any(Steps::is_thinned)
    }

    /// Returns the figure with all data, including `inflated`.
    pub fn into_figure(mut self) -> TimeSequence {
        if let Some(row) = self.row.take() {
            self.duplicates.push(row);
        }
        let points = |marks: &Marks| marks.kept().iter().map(|m| (m.time, m.low)).collect();
        let again = self.again.iter().map(|(reason, marks)| Retransmissions {
            reason: reason.clone(),
            points: points(marks),
        });
        let sacks = self.sacks.kept().iter().map(|mark| SackBlock {
            time: mark.time,
            first: mark.low,
            end: mark.high,
        });
        let duplicates = self.duplicates.kept().iter().map(|mark| Duplicates {
            time: mark.time,
            packet: mark.low,
            count: mark.high as u32,
        });
        let phases = self.phases.into_points().into_iter();
        let phase = |code: f64| PHASES.get(code as usize).copied().unwrap_or_default();
        let Span { from, until } = self.span;
        TimeSequence {
            time_range: Some((from.as_secs_f64(), until.as_secs_f64())),
            sends: points(&self.sends),
            retransmissions: again.collect(),
            acks: points(&self.acks),
            sacks: sacks.collect(),
            drops: points(&self.drops),
            duplicates: duplicates.collect(),
            cwnd: self.cwnd.into_points(),
            inflated: self.inflated.into_points(),
            ssthresh: self.ssthresh.into_points(),
            in_flight: self.in_flight.into_points(),
            phases: phases.map(|(time, code)| (time, phase(code))).collect(),
            ..TimeSequence::default()
        }
    }
}
