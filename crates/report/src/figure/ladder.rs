//! The ladder: the sender is on the left, the receiver on the right, and time runs downwards. Every segment and every
//! ACK is a line between sender and receiver. Several stacks are side by side on one time axis.

mod numbers;

use plotters::style::RGBColor;

use dupack_lab::trace::phase::Phase;

use super::FigureError;
use super::axis::Axis;
use super::canvas::{Canvas, Lettering, Place, Stroke, picture, text_width};
use super::chart::{Heading, MARGIN};
use super::legend::{Legend, Sample};
use super::phases::{self, tint};
use super::style::{
    AXIS, BLUE, Dash, GRID, INK, LABEL, Look, Marker, ORANGE, PURPLE, SOFT_INK, TICK, VERMILLION,
    WIDTH,
};
use numbers::{Group, draw_numbers};

/// Width of the labels of the time axis, in px.
const TIMES: f64 = 62.0;
/// Minimum width of a column, in px.
const COLUMN_MIN: f64 = 250.0;
/// Minimum distance between sender and receiver, in px.
const CROSSING_MIN: f64 = 120.0;
/// Space next to a host's line and beyond its packet numbers, in px, for gaps and the bar of phases.
const BESIDE: f64 = 28.0;
/// Width of the bar of phases, in px.
const BAR: f64 = 7.0;
/// Height of a column's names, in px.
const NAMES: f64 = 46.0;
/// Range of heights of a ladder, in px.
const HEIGHT: std::ops::RangeInclusive<f64> = 500.0..=2600.0;
/// Distance between back-to-back segments, in px: from the minimum at which segments are distinguishable to the maximum
/// that is useful.
const APART: std::ops::RangeInclusive<f64> = 4.0..=11.0;
const NUMBER: f64 = 11.0;

/// Segments and ACKs between senders and receivers over time. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ladder {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions.
    pub subtitle: String,
    /// Text description for readers who cannot see the figure.
    pub description: String,
    /// Time range to show in seconds. If the range is too long to be legible, its end is left out.
    pub time_range: (f64, f64),
    /// The ladders, one for each stack.
    pub columns: Vec<LadderColumn>,
}

/// The ladder of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LadderColumn {
    /// Name of the stack.
    pub name: String,
    /// Segments and ACKs between sender and receiver, in sending order.
    pub rungs: Vec<Rung>,
    /// Time in seconds after which rungs are missing, or `None` if all rungs are present.
    pub full_at: Option<f64>,
    /// Phases of the sender, each with its start time in seconds.
    pub phases: Vec<(f64, Phase)>,
}

/// A segment or an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    /// Kind of the rung.
    pub kind: RungKind,
    /// Number of the segment, or of the packet that the ACK asks for.
    pub packet: f64,
    /// Time in seconds at which the segment or ACK was sent.
    pub sent: f64,
    /// Fate of the segment or ACK.
    pub end: RungEnd,
}

/// Kind of a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RungKind {
    /// New data.
    Segment,
    /// A retransmission.
    Again,
    /// An ACK.
    Ack,
    /// An ACK that the sender counts as a duplicate, with its number in the series of consecutive duplicates.
    Duplicate(u32),
}

/// Fate of a segment or an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RungEnd {
    /// The segment or ACK arrives at this time.
    Arrived(f64),
    /// The network drops the segment or ACK at this time.
    Lost(f64),
    /// The segment or ACK is in flight when the run ends.
    UnderWay,
}

impl RungKind {
    const fn is_ack(self) -> bool {
        matches!(self, Self::Ack | Self::Duplicate(_))
    }

    const fn color(self) -> RGBColor {
        match self {
            Self::Segment => BLUE,
            Self::Again => ORANGE,
            Self::Ack => AXIS,
            Self::Duplicate(_) => PURPLE,
        }
    }
}

/// Positions of times and hosts on the canvas.
struct Layout {
    top: f64,
    bottom: f64,
    time: Axis,
    width: f64,
    column: f64,
    /// Widths of the widest packet number at the senders and at the receivers, in px.
    numbers: [f64; 2],
}

/// Horizontal positions of the two hosts of a column.
#[derive(Clone, Copy)]
struct Hosts {
    sender: f64,
    receiver: f64,
}

impl Layout {
    fn hosts(&self, column: usize) -> Hosts {
        let left = MARGIN + TIMES + column as f64 * self.column;
        Hosts {
            sender: left + self.numbers[0] + BESIDE,
            receiver: left + self.column - self.numbers[1] - BESIDE,
        }
    }

    fn down(&self, time: f64) -> f64 {
        self.top + self.time.position(time) * (self.bottom - self.top)
    }

    fn shows(&self, time: f64) -> bool {
        (self.time.low..=self.time.high).contains(&time)
    }
}

impl Ladder {
    /// Returns the legible part of the time range, as start and end in seconds.
    #[must_use]
    pub fn shown(&self) -> (f64, f64) {
        let (from, until) = self.time_range;
        let full = self.columns.iter().filter_map(|column| column.full_at);
        let until = full.fold(until, f64::min);
        (from, until.min(from + HEIGHT.end() / self.px_per_second()))
    }

    /// Returns the scale of the time axis in px per second. The axis is stretched as far as this improves legibility.
    fn px_per_second(&self) -> f64 {
        let (from, until) = self.time_range;
        let most = HEIGHT.end() / (until - from).max(1e-9);
        let Some(gap) = self.gap() else { return most };
        most.clamp(APART.start() / gap, APART.end() / gap)
    }

    /// Returns the usual time between two arrivals of segments at a receiver: the median of all nonzero gaps.
    fn gap(&self) -> Option<f64> {
        let gaps = |column: &LadderColumn| {
            let arrivals = column.rungs.iter().filter_map(|rung| match rung.end {
                RungEnd::Arrived(at) if !rung.kind.is_ack() => Some(at),
                _ => None,
            });
            let mut times: Vec<f64> = arrivals.collect();
            times.sort_unstable_by(f64::total_cmp);
            let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
            gaps.filter(|&gap| gap > 1e-6).collect::<Vec<f64>>()
        };
        let mut gaps: Vec<f64> = self.columns.iter().flat_map(gaps).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        gaps.get(gaps.len() / 2).copied()
    }

    /// Returns the figure as an SVG picture, 900 px wide with up to three ladders.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let count = self.columns.len().max(1) as f64;
        let [left, right] = self.number_widths();
        let column_min = COLUMN_MIN.max(left + right + 2.0 * BESIDE + CROSSING_MIN);
        let width = WIDTH.max(MARGIN * 2.0 + TIMES + count * column_min);
        let heading = Heading::of_width(&self.title, &self.subtitle, width);
        let legend = self.legend();
        let legend_top = heading.bottom() + 6.0;
        let top = legend_top + legend.flow_height(width - 2.0 * MARGIN) + NAMES;
        let (from, until) = self.shown();
        let height = (until - from) * self.px_per_second();
        let bottom = top + height.clamp(*HEIGHT.start(), *HEIGHT.end());
        let layout = Layout {
            top,
            bottom,
            time: Axis::exact(from, until, bottom - top),
            width,
            column: (width - 2.0 * MARGIN - TIMES) / count,
            numbers: self.number_widths(),
        };
        let size = (width, bottom + MARGIN * 1.5);
        let words = (self.title.as_str(), self.description.as_str());
        picture(size, words, |canvas| {
            heading.draw(canvas)?;
            legend.draw_flowing(canvas, legend_top, width - 2.0 * MARGIN)?;
            layout.draw_times(canvas)?;
            for (index, column) in self.columns.iter().enumerate() {
                column.draw(canvas, &layout, layout.hosts(index))?;
            }
            Ok(())
        })
    }

    fn number_widths(&self) -> [f64; 2] {
        let (scale, (from, until)) = (self.px_per_second(), self.shown());
        let groups = |column| {
            let shows = |time| (from..=until).contains(&time);
            Group::of_all(column, shows, |time| (time - from) * scale)
        };
        let groups: Vec<Group<'_>> = self.columns.iter().flat_map(groups).collect();
        [false, true].map(|acks| {
            let own = groups.iter();
            let own = own.filter(|group| group.first.kind.is_ack() == acks);
            own.map(|group| text_width(&group.numbers(), NUMBER))
                .fold(0.0, f64::max)
        })
    }

    fn legend(&self) -> Legend {
        type Is = fn(RungKind) -> bool;
        let mut legend = Legend::default();
        let line = |color| Sample::Line {
            look: Look {
                color,
                marker: Marker::Dot,
                dash: Dash::Solid,
            },
            width: 1.6,
            marked: false,
        };
        let has = |kind: Is| {
            let mut rungs = self.columns.iter().flat_map(|column| &column.rungs);
            rungs.any(|rung| kind(rung.kind))
        };
        let entries: [(&str, Is, RGBColor); 4] = [
            ("segment", |k| k == RungKind::Segment, BLUE),
            ("retransmission", |k| k == RungKind::Again, ORANGE),
            ("ACK", |k| k == RungKind::Ack, AXIS),
            (
                "duplicate ACK: ×3, the third in a row",
                |k| matches!(k, RungKind::Duplicate(_)),
                PURPLE,
            ),
        ];
        for (name, kind, color) in entries {
            if has(kind) {
                legend.add_whole(name, line(color));
            }
        }
        let mut rungs = self.columns.iter().flat_map(|column| &column.rungs);
        if rungs.any(|rung| matches!(rung.end, RungEnd::Lost(_))) {
            legend.add_whole("lost", Sample::Mark(Marker::Cross, VERMILLION, 4.0));
        }
        let seen = self.columns.iter().flat_map(|column| &column.phases);
        phases::add_to(&mut legend, seen.map(|change| change.1));
        legend
    }
}

impl Layout {
    fn draw_times(&self, canvas: &Canvas<'_>) -> Result<(), FigureError> {
        let name = (MARGIN, self.top - NAMES + 12.0);
        canvas.text("time (s)", name, &Lettering::left(LABEL, INK))?;
        for tick in &self.time.ticks {
            let y = self.down(tick.value);
            let right = self.width - MARGIN;
            let line = [(MARGIN + TIMES - 8.0, y), (right, y)];
            canvas.line(&line, &Stroke::solid(GRID, 1.0))?;
            let place = (MARGIN + TIMES - 14.0, y);
            canvas.text(&tick.label, place, &Lettering::right(TICK, SOFT_INK))?;
        }
        Ok(())
    }
}

impl LadderColumn {
    fn draw(&self, canvas: &Canvas<'_>, layout: &Layout, hosts: Hosts) -> Result<(), FigureError> {
        let Hosts { sender, receiver } = hosts;
        let middle = f64::midpoint(sender, receiver);
        let names = layout.top - NAMES;
        canvas.text(
            &self.name,
            (middle, names + 10.0),
            &Lettering::centre(LABEL, INK),
        )?;
        let soft = Lettering::centre(TICK, SOFT_INK);
        canvas.text("sender", (sender, names + 30.0), &soft)?;
        canvas.text("receiver", (receiver, names + 30.0), &soft)?;
        self.draw_phases(canvas, layout, sender)?;
        for x in [sender, receiver] {
            let line = [(x, layout.top), (x, layout.bottom)];
            canvas.line(&line, &Stroke::solid(SOFT_INK, 1.4))?;
        }
        let usual = self.crossing();
        let shown = || self.rungs.iter().filter(|rung| layout.shows(rung.sent));
        // Rare rungs are drawn last, on top.
        for common in [true, false] {
            let is_common = |rung: &&Rung| matches!(rung.kind, RungKind::Segment | RungKind::Ack);
            for rung in shown().filter(|rung| is_common(rung) == common) {
                rung.draw(canvas, layout, hosts, usual)?;
            }
        }
        draw_numbers(canvas, layout, hosts, self)
    }

    fn draw_phases(
        &self,
        canvas: &Canvas<'_>,
        layout: &Layout,
        sender: f64,
    ) -> Result<(), FigureError> {
        let right = sender - layout.numbers[0] - 10.0;
        for (from, until, phase) in phases::spans(&self.phases, layout.time.low, layout.time.high) {
            if let Some(color) = tint(phase) {
                let corners = (
                    (right - BAR, layout.down(from)),
                    (right, layout.down(until)),
                );
                canvas.rectangle(corners.0, corners.1, color, phases::OPACITY)?;
            }
        }
        Ok(())
    }

    /// Returns the usual one-way delay: the median over all rungs that arrived.
    fn crossing(&self) -> f64 {
        let times = self.rungs.iter().filter_map(|rung| match rung.end {
            RungEnd::Arrived(at) => Some(at - rung.sent),
            _ => None,
        });
        let mut times: Vec<f64> = times.collect();
        times.sort_unstable_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(1.0)
    }
}

impl Rung {
    /// Draws the line of a rung. The line ends at the arrival, or where the segment or ACK is lost or cut off.
    fn draw(
        &self,
        canvas: &Canvas<'_>,
        layout: &Layout,
        hosts: Hosts,
        usual: f64,
    ) -> Result<(), FigureError> {
        let (from, to) = match self.kind.is_ack() {
            true => (hosts.receiver, hosts.sender),
            false => (hosts.sender, hosts.receiver),
        };
        let start = (from, layout.down(self.sent));
        let part_of_way = |time: f64| {
            // The position of a drop on the path is unknown. The share is clamped because a cross close to the start
            // would be invisible.
            let share = ((time - self.sent) / usual).clamp(0.2, 0.85);
            (from + (to - from) * share, layout.down(time))
        };
        let end = match self.end {
            RungEnd::Arrived(time) => (to, layout.down(time)),
            RungEnd::Lost(time) => part_of_way(time),
            RungEnd::UnderWay => part_of_way(layout.time.high),
        };
        let stroke = Stroke {
            opacity: 0.85,
            ..Stroke::solid(
                self.kind.color(),
                if self.kind.is_ack() { 0.9 } else { 1.2 },
            )
        };
        let end = cut(start, end, layout.bottom);
        canvas.line(&[start, end], &stroke)?;
        match self.end {
            RungEnd::Lost(time) if layout.shows(time) => {
                canvas.marker(Marker::Cross, end, 4.0, VERMILLION)
            }
            RungEnd::Arrived(time) if layout.shows(time) => head(canvas, start, end, &stroke),
            _ => Ok(()),
        }
    }
}

/// Returns the end of a line, which is cut at the bottom of the figure.
fn cut(start: Place, end: Place, bottom: f64) -> Place {
    if end.1 <= bottom || end.1 <= start.1 {
        return end;
    }
    let share = (bottom - start.1) / (end.1 - start.1);
    (start.0 + (end.0 - start.0) * share, bottom)
}

/// Draws the head of an arrow. The head is small enough not to cover the heads next to it.
fn head(canvas: &Canvas<'_>, start: Place, end: Place, stroke: &Stroke) -> Result<(), FigureError> {
    const LENGTH: f64 = 6.0;
    const HALF_WIDTH: f64 = 2.0;
    let (dx, dy) = (end.0 - start.0, end.1 - start.1);
    let length = dx.hypot(dy).max(1e-9);
    let (ux, uy) = (dx / length, dy / length);
    let back = (end.0 - ux * LENGTH, end.1 - uy * LENGTH);
    let corners = [
        end,
        (back.0 - uy * HALF_WIDTH, back.1 + ux * HALF_WIDTH),
        (back.0 + uy * HALF_WIDTH, back.1 - ux * HALF_WIDTH),
    ];
    canvas.polygon(&corners, stroke.color, stroke.opacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(kind: RungKind, packet: f64, sent: f64) -> Rung {
        let end = RungEnd::Arrived(sent + 0.1);
        Rung {
            kind,
            packet,
            sent,
            end,
        }
    }

    fn column(rungs: Vec<Rung>) -> LadderColumn {
        LadderColumn {
            rungs,
            ..LadderColumn::default()
        }
    }

    #[test]
    fn ladders_are_cut_off_if_too_long_or_incomplete() {
        // One segment is sent per millisecond, and segments are at least 4 px apart, so 2600 px show 0.65 s.
        let segments = (0..2000).map(|n| rung(RungKind::Segment, f64::from(n), f64::from(n) / 1e3));
        let mut ladder = Ladder {
            time_range: (0.0, 2.0),
            columns: vec![column(segments.collect())],
            ..Ladder::default()
        };
        let (from, until) = ladder.shown();
        assert_eq!(from, 0.0);
        assert!((until - 0.65).abs() < 1e-6, "{until}");
        ladder.columns[0].full_at = Some(0.5);
        assert_eq!(ladder.shown(), (0.0, 0.5));
        ladder.time_range.1 = 0.1;
        assert_eq!(ladder.shown(), (0.0, 0.1));
    }

    #[test]
    fn ladders_have_a_line_for_each_rung_and_name_both_hosts() {
        let mut lost = rung(RungKind::Segment, 2.0, 0.01);
        lost.end = RungEnd::Lost(0.02);
        let rungs = vec![
            rung(RungKind::Segment, 1.0, 0.0),
            lost,
            rung(RungKind::Duplicate(3), 2.0, 0.1),
        ];
        let ladder = Ladder {
            title: "a < b".to_owned(),
            description: "one of two lost".to_owned(),
            time_range: (0.0, 0.3),
            columns: vec![column(rungs)],
            ..Ladder::default()
        };
        let svg = ladder.svg().unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: Vec<&str> = document.descendants().filter_map(|n| n.text()).collect();
        let texts: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
        for text in ["sender", "receiver", "2 ×3", "lost", "one of two lost"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
        let root = document.root_element();
        let label = root.attribute("aria-label").unwrap();
        assert_eq!(label, "a < b. one of two lost");
        assert!(svg.contains("prefers-color-scheme:dark"));
    }

    #[test]
    fn an_empty_ladder_is_drawn() {
        assert!(Ladder::default().svg().is_ok());
    }
}
