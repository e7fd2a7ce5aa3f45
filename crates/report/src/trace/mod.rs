//! The time–sequence figure of a trace, gathered event by event.

use std::collections::VecDeque;

use dupack_tcp::facts::SendReason;
use dupack_tcp::segment::Ack;
use dupack_tcp::sender::SenderStats;
use dupack_tcp::time::{Duration, Instant};

mod repair;
mod thin;

use crate::figure::{Retransmissions, SackBlock, TimeSequence};
use dupack_lab::trace::stream::{Account, Onlooker};
use dupack_lab::trace::{Event, Flow, Repeated, Sent, State, Trace, What};
use repair::Repair;
use thin::{MOST_POINTS, Mark, Marks, Steps};

/// A part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub from: Instant,
    /// Its end.
    pub until: Instant,
}

impl Span {
    /// Whether there is something to see of it in a run that ends at `end`.
    #[must_use]
    pub fn shows_something(self, end: Instant) -> bool {
        self.from < self.until && self.from < end
    }
}

/// The part of a trace that a figure is asked to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Its beginning; if none, just before the first loss, or that of the run if nothing is lost.
    pub from: Option<Instant>,
    /// Its end; if none, a little after the last of the losses that followed each other is
    /// repaired, or after twenty round trips if nothing is lost.
    pub until: Option<Instant>,
}

/// The figure of `span`: sends, retransmissions by reason, ACKs, SACK blocks and drops above,
/// the windows below.
#[must_use]
pub fn time_sequence(trace: &Trace, span: Span, title: &str, subtitle: &str) -> TimeSequence {
    let mut reader = Reader::new(&trace.flow());
    let mut part = Part::new(span.from, Some(span.until), usize::MAX);
    for event in &trace.events {
        reader.read(event, |entry| part.show(&entry));
    }
    TimeSequence {
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        time_range: Some((span.from.as_secs_f64(), span.until.as_secs_f64())),
        ..part.into_figure()
    }
}

/// Whether a figure has every point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// It has.
    Full,
    /// There were too many: of those closer than a pixel, some were left out.
    Thinned,
}

/// What came of a [`Sketch`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Drawn {
    /// What the figure shows.
    pub span: Span,
    /// The figure, without title.
    pub figure: TimeSequence,
    /// Whether the figure has every point.
    pub detail: Detail,
}

/// How many reductions of the window were undone, and by which sign.
fn undone(stats: &SenderStats) -> String {
    format!(
        "  {} reductions undone: {} by timestamps, {} by DSACKs, {} by F-RTO\n",
        stats.undone(),
        stats.undone_by_timestamp,
        stats.undone_by_dsack,
        stats.undone_by_frto
    )
}

/// What the sender did, in words: how much came through, and what became of its window.
#[must_use]
pub fn summary(account: &Account) -> String {
    let stats = &account.stats;
    let seconds = account.end.as_secs_f64().max(f64::MIN_POSITIVE);
    let goodput = account.delivered_bytes as f64 * 8.0 / seconds / 1e6;
    let mut out = format!(
        "{}: {:.3} Mbit/s over {:.1} s, {} segments sent, {} of them again, {} timeouts\n",
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

/// Gathers the figure of a trace of any length while it is written
/// ([`stream`](dupack_lab::trace::stream::stream)), in bounded memory.
#[derive(Debug)]
pub struct Sketch {
    asked: Asked,
    /// None before the trace begins.
    gathering: Option<Gathering>,
}

impl Sketch {
    /// Of the part of the trace that is `asked` for.
    #[must_use]
    pub const fn new(asked: Asked) -> Self {
        Self {
            asked,
            gathering: None,
        }
    }

    /// The figure of a run that ended at `end`; `None` if the trace never began.
    #[must_use]
    pub fn finish(self, end: Instant) -> Option<Drawn> {
        self.gathering.map(|gathering| gathering.finish(end))
    }
}

impl Onlooker for Sketch {
    fn begin(&mut self, flow: &Flow, srtt: Option<Duration>) {
        self.gathering = Some(Gathering::new(flow, self.asked, srtt));
    }

    fn event(&mut self, event: &Event) {
        if let Some(gathering) = &mut self.gathering {
            gathering.event(event);
        }
    }
}

/// A figure of a run whose losses are yet to come.
#[derive(Debug)]
struct Gathering {
    asked: Asked,
    reader: Reader,
    repair: Repair,
    /// What is shown if nothing is lost, as long as nothing is.
    beginning: Option<Part>,
    /// The last two round trips, as long as nothing is lost: it is not known yet where the figure
    /// begins. Before them, the last state.
    recent: VecDeque<Entry>,
    /// What is shown if something is lost, once its beginning is known.
    losses: Option<Part>,
}

impl Gathering {
    /// For a flow with this first estimate of the round-trip time.
    fn new(flow: &Flow, asked: Asked, srtt: Option<Duration>) -> Self {
        let repair = Repair::new(flow, srtt);
        let calm = repair.calm();
        let beginning = Part::new(
            asked.from.unwrap_or(calm.from),
            Some(asked.until.unwrap_or(calm.until)),
            MOST_POINTS,
        );
        let losses = asked
            .from
            .map(|from| Part::new(from, asked.until, MOST_POINTS));
        Self {
            asked,
            reader: Reader::new(flow),
            repair,
            beginning: Some(beginning),
            recent: VecDeque::new(),
            losses,
        }
    }

    /// Takes the next event.
    fn event(&mut self, event: &Event) {
        self.repair.event(event);
        if let Some(from) = self.repair.from() {
            self.beginning = None;
            let (asked, recent) = (self.asked, &mut self.recent);
            let losses = self.losses.get_or_insert_with(|| {
                let mut part = Part::new(from, asked.until, MOST_POINTS);
                recent.drain(..).for_each(|entry| part.show(&entry));
                part
            });
            if losses.until.is_none() {
                losses.until = self.repair.until(event.at);
            }
        } else if self.losses.is_none() {
            self.forget_before(self.repair.start_if_lost(event.at));
        }
        let keep_recent = self.repair.from().is_none() && self.asked.from.is_none();
        let recent = &mut self.recent;
        let (beginning, losses) = (&mut self.beginning, &mut self.losses);
        self.reader.read(event, |entry| {
            for part in [&mut *beginning, &mut *losses].into_iter().flatten() {
                part.show(&entry);
            }
            if keep_recent {
                recent.push_back(entry);
            }
        });
    }

    /// Forgets what came before `from`, save the last state: it holds until the next.
    fn forget_before(&mut self, from: Instant) {
        let is_state = |entry: &Entry| matches!(entry.what, Shown::State { .. });
        let mut state = None;
        while let Some(entry) = self.recent.pop_front_if(|entry| entry.at < from) {
            if is_state(&entry) {
                state = Some(entry);
            }
        }
        if let Some(state) = state {
            self.recent.push_front(state);
        }
    }

    /// The figure of a run that ended at `end`.
    fn finish(self, end: Instant) -> Drawn {
        let whole = self.repair.span(end);
        let span = Span {
            from: self.asked.from.unwrap_or(whole.from),
            until: self.asked.until.unwrap_or(whole.until),
        };
        let part = match self.beginning {
            Some(part) => part,
            None => self
                .losses
                .unwrap_or_else(|| Part::new(span.from, Some(span.until), MOST_POINTS)),
        };
        let detail = part.detail();
        let figure = TimeSequence {
            time_range: Some((span.from.as_secs_f64(), span.until.as_secs_f64())),
            ..part.into_figure()
        };
        Drawn {
            span,
            figure,
            detail,
        }
    }
}

/// Something that a figure shows. Packets and windows in segments.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    what: Shown,
}

#[derive(Clone, Copy, Debug)]
enum Shown {
    Sent(f64),
    Again(SendReason, f64),
    Dropped(f64),
    Acked(f64),
    Sacked(f64, f64),
    State {
        cwnd: f64,
        ssthresh: f64,
        in_flight: f64,
    },
}

/// Reads off events what a figure shows.
#[derive(Debug)]
struct Reader {
    flow: Flow,
    /// The highest cumulative acknowledgment: its offset in the stream.
    una: u64,
}

impl Reader {
    fn new(flow: &Flow) -> Self {
        Self {
            flow: *flow,
            una: 0,
        }
    }

    fn read(&mut self, event: &Event, mut show: impl FnMut(Entry)) {
        let at = event.at;
        let mut show = |what| show(Entry { at, what });
        match &event.what {
            What::State(state) => show(self.state(state)),
            What::Sent(Sent {
                number,
                why,
                repeated,
                ..
            }) => show(match repeated {
                Repeated::First => Shown::Sent(*number as f64),
                Repeated::Needed | Repeated::Needless => Shown::Again(*why, *number as f64),
            }),
            What::DataDropped { number, .. } => show(Shown::Dropped(*number as f64)),
            What::AckArrived(ack) => self.ack(ack, show),
            _ => {}
        }
    }

    fn state(&self, state: &State) -> Shown {
        let smss = self.flow.segment_bytes();
        Shown::State {
            cwnd: state.cwnd / smss,
            ssthresh: state.ssthresh / smss,
            in_flight: state.in_flight as f64 / smss,
        }
    }

    fn ack(&mut self, ack: &Ack, mut show: impl FnMut(Shown)) {
        let (isn, smss) = (self.flow.sender.isn, self.flow.segment_bytes());
        let Some(offset) = ack.ack.offset(isn, self.una) else {
            return;
        };
        self.una = self.una.max(offset);
        show(Shown::Acked(offset as f64 / smss));
        for block in ack.sacks.as_slice() {
            let first = block.start.offset(isn, offset);
            let end = block.end.offset(isn, offset);
            if let Some((first, end)) = first.zip(end) {
                show(Shown::Sacked(first as f64 / smss, end as f64 / smss));
            }
        }
    }
}

/// The points of a figure of one part of a trace.
#[derive(Debug)]
struct Part {
    from: Instant,
    /// None as long as it is not known.
    until: Option<Instant>,
    most: usize,
    sends: Marks,
    again: Vec<(String, Marks)>,
    acks: Marks,
    sacks: Marks,
    drops: Marks,
    cwnd: Steps,
    ssthresh: Steps,
    in_flight: Steps,
}

impl Part {
    /// With at most so many points of each kind.
    fn new(from: Instant, until: Option<Instant>, most: usize) -> Self {
        let (marks, steps) = (|| Marks::new(most), || Steps::new(most));
        Self {
            from,
            until,
            most,
            sends: marks(),
            again: Vec::new(),
            acks: marks(),
            sacks: marks(),
            drops: marks(),
            cwnd: steps(),
            ssthresh: steps(),
            in_flight: steps(),
        }
    }

    fn show(&mut self, entry: &Entry) {
        let ended = self.until.is_some_and(|until| entry.at > until);
        let inside = self.from <= entry.at && !ended;
        let time = entry.at.as_secs_f64();
        let mark = |low, high| Mark { time, low, high };
        match entry.what {
            Shown::State {
                cwnd,
                ssthresh,
                in_flight,
            } => {
                // The lines begin with the last values before the part.
                let begins = entry.at <= self.from;
                let lines = [
                    (&mut self.cwnd, cwnd),
                    (&mut self.ssthresh, ssthresh),
                    (&mut self.in_flight, in_flight),
                ];
                for (line, value) in lines {
                    if begins {
                        line.clear();
                    }
                    if !ended || line.is_empty() {
                        line.push((time, value));
                    }
                }
            }
            _ if !inside => {}
            Shown::Sent(packet) => self.sends.push(mark(packet, packet)),
            Shown::Again(why, packet) => self.again(why, mark(packet, packet)),
            Shown::Dropped(packet) => self.drops.push(mark(packet, packet)),
            Shown::Acked(packet) => self.acks.push(mark(packet, packet)),
            Shown::Sacked(first, end) => self.sacks.push(mark(first, end)),
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

    fn detail(&self) -> Detail {
        let marks = [&self.sends, &self.acks, &self.sacks, &self.drops];
        let again = self.again.iter().map(|(_, marks)| marks);
        let steps = [&self.cwnd, &self.ssthresh, &self.in_flight];
        let thinned = marks.into_iter().chain(again).any(Marks::is_thinned)
            || steps.into_iter().any(Steps::is_thinned);
        if thinned {
            Detail::Thinned
        } else {
            Detail::Full
        }
    }

    fn into_figure(self) -> TimeSequence {
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
        TimeSequence {
            sends: points(&self.sends),
            retransmissions: again.collect(),
            acks: points(&self.acks),
            sacks: sacks.collect(),
            drops: points(&self.drops),
            cwnd: self.cwnd.into_points(),
            ssthresh: self.ssthresh.into_points(),
            in_flight: self.in_flight.into_points(),
            ..TimeSequence::default()
        }
    }
}
