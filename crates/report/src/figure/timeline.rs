//! Rows over one time axis: rows with marks and lines, rows with coloured bands, and rows with ticks.

use std::collections::HashSet;

use plotters::style::RGBColor;

use super::FigureError;
use super::axis::{Axis, Scale};
use super::canvas::{Canvas, Lettering, Stroke, picture, text_width};
use super::chart::{Heading, MARGIN, X_NAMES_HEIGHT, Y_NAME_HEIGHT, panel_right};
use super::legend::{Legend, Sample};
use super::panel::{Frame, Labels, Panel};
use super::steps;
use super::style::{
    BLACK, BLUE, Dash, GREEN, GREY, INK, LABEL, Look, Marker, ORANGE, PURPLE, SKY, VERMILLION,
    WIDTH,
};

/// Rows over one time axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions. May be empty.
    pub subtitle: String,
    /// Text description for readers who cannot see the figure.
    pub description: String,
    /// Name of the horizontal axis with its unit: `"time (s)"`.
    pub x_label: String,
    /// Time range to show in seconds, or `None` to show all times.
    pub time_range: Option<(f64, f64)>,
    /// The rows, from top to bottom.
    pub rows: Vec<TimelineRow>,
}

/// A row of a [`Timeline`].
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineRow {
    /// Name of the row with its unit: `"in flight (kB)"`.
    pub name: String,
    /// Contents of the row.
    pub plot: TimelinePlot,
}

/// Contents of a row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TimelinePlot {
    /// Values on a separate vertical axis.
    Values {
        /// Height of the row.
        height: RowHeight,
        /// Lower end of the axis.
        from_zero: FromZero,
        /// Vertical bars from one value to another.
        spans: Vec<TimelineSpans>,
        /// Lines of values that remain constant until the next sample.
        lines: Vec<TimelineLine>,
        /// Marks. Rare marks come last, so that they are drawn on top.
        marks: Vec<TimelineMarks>,
    },
    /// A strip of coloured bands.
    Bands(Vec<TimelineBand>),
    /// Events, with a line of ticks for each kind.
    Ticks(Vec<TimelineTicks>),
}

/// Height of a row with an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowHeight {
    /// Height of the main row.
    Tall,
    /// Height of the other rows.
    Low,
}

/// Lower end of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromZero {
    /// The axis begins at zero.
    Yes,
    /// The axis begins at the smallest value.
    No,
}

/// A colour that is distinguishable from the others on light and on dark backgrounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names describe them")]
pub enum Hue {
    Blue,
    Vermillion,
    Green,
    Purple,
    Orange,
    Sky,
    Black,
    Grey,
}

/// Intensity of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// Full intensity.
    Full,
    /// Half intensity.
    Half,
    /// Very pale.
    Pale,
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names describe them")]
pub enum Shape {
    Dot,
    Square,
    Cross,
    TriangleUp,
    TriangleDown,
    Diamond,
    Ring,
}

/// Marks of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineMarks {
    /// Name in the legend.
    pub name: String,
    /// Colour of the marks.
    pub hue: Hue,
    /// Shape of the marks.
    pub shape: Shape,
    /// Time in seconds and value of each mark.
    pub points: Vec<(f64, f64)>,
}

/// Vertical bars of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineSpans {
    /// Name in the legend.
    pub name: String,
    /// Colour of the bars.
    pub hue: Hue,
    /// Time in seconds, lower value and upper value of each bar.
    pub points: Vec<(f64, f64, f64)>,
}

/// A line of values that remain constant until the next sample.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineLine {
    /// Name in the legend.
    pub name: String,
    /// Colour of the line.
    pub hue: Hue,
    /// Samples: a time in seconds, ascending, and the value from this time on. A value that is not finite interrupts
    /// the line.
    pub points: Vec<(f64, f64)>,
}

/// A coloured interval of time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineBand {
    /// Name of the band. The legend contains each name once.
    pub name: String,
    /// Colour of the band.
    pub hue: Hue,
    /// Intensity of the colour.
    pub depth: Depth,
    /// Start time in seconds.
    pub from: f64,
    /// End time in seconds.
    pub until: f64,
}

/// Ticks of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineTicks {
    /// Name of the ticks, which is written next to them.
    pub name: String,
    /// Colour of the ticks.
    pub hue: Hue,
    /// Times of the ticks in seconds.
    pub times: Vec<f64>,
}

const TALL: f64 = 330.0;
const LOW: f64 = 120.0;
const STRIP: f64 = 26.0;
const TICK_LINE: f64 = 22.0;
const BETWEEN: f64 = 16.0;
const LEGEND_GAP: f64 = 14.0;
const MARK: f64 = 3.4;
/// Number of marks above which a kind is considered ordinary, so that its marks are drawn small.
const MANY: usize = 300;
const SMALL_MARK: f64 = 1.4;
/// Size of the names of bands, in px.
const BAND_NAME: f64 = 11.0;

impl Hue {
    const fn color(self) -> RGBColor {
        match self {
            Self::Blue => BLUE,
            Self::Vermillion => VERMILLION,
            Self::Green => GREEN,
            Self::Purple => PURPLE,
            Self::Orange => ORANGE,
            Self::Sky => SKY,
            Self::Black => BLACK,
            Self::Grey => GREY,
        }
    }
}

impl Depth {
    const fn opacity(self) -> f64 {
        match self {
            Self::Full => 0.85,
            Self::Half => 0.5,
            Self::Pale => 0.22,
        }
    }
}

impl Shape {
    const fn marker(self) -> Marker {
        match self {
            Self::Dot => Marker::Circle,
            Self::Square => Marker::Square,
            Self::Cross => Marker::Cross,
            Self::TriangleUp => Marker::TriangleUp,
            Self::TriangleDown => Marker::TriangleDown,
            Self::Diamond => Marker::Diamond,
            Self::Ring => Marker::Ring,
        }
    }
}

impl TimelineMarks {
    fn radius(&self) -> f64 {
        if self.points.len() > MANY {
            SMALL_MARK
        } else {
            MARK
        }
    }
}

impl TimelinePlot {
    fn height(&self) -> f64 {
        match self {
            Self::Values { height, .. } => match height {
                RowHeight::Tall => TALL,
                RowHeight::Low => LOW,
            },
            Self::Bands(_) => STRIP,
            Self::Ticks(kinds) => TICK_LINE * kinds.len().max(1) as f64,
        }
    }

    /// Returns the legend to the right of the row.
    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        match self {
            Self::Values {
                spans,
                lines,
                marks,
                ..
            } => {
                for kind in spans {
                    legend.add(&kind.name, Sample::Bar(kind.hue.color()));
                }
                for line in lines {
                    let look = Look {
                        color: line.hue.color(),
                        marker: Marker::Dot,
                        dash: Dash::Solid,
                    };
                    let (width, marked) = (1.6, false);
                    legend.add(
                        &line.name,
                        Sample::Line {
                            look,
                            width,
                            marked,
                        },
                    );
                }
                for kind in marks.iter().filter(|kind| !kind.points.is_empty()) {
                    let radius = kind.radius().max(2.4);
                    let sample = Sample::Mark(kind.shape.marker(), kind.hue.color(), radius);
                    legend.add(&kind.name, sample);
                }
            }
            // Ticks have their names next to them, and the legend of bands is below the figure.
            Self::Bands(_) | Self::Ticks(_) => {}
        }
        legend
    }

    fn times(&self) -> Vec<f64> {
        match self {
            Self::Values {
                spans,
                lines,
                marks,
                ..
            } => {
                let spans = spans.iter().flat_map(|kind| &kind.points).map(|p| p.0);
                let lines = lines.iter().flat_map(|line| &line.points).map(|p| p.0);
                let marks = marks.iter().flat_map(|kind| &kind.points).map(|p| p.0);
                spans.chain(lines).chain(marks).collect()
            }
            Self::Bands(bands) => bands.iter().flat_map(|b| [b.from, b.until]).collect(),
            Self::Ticks(kinds) => kinds.iter().flat_map(|k| k.times.clone()).collect(),
        }
    }

    fn axis(&self, range: (f64, f64)) -> Option<Axis> {
        let Self::Values {
            from_zero,
            spans,
            lines,
            marks,
            ..
        } = self
        else {
            return None;
        };
        let inside = |time: f64| (range.0..=range.1).contains(&time);
        let mut values: Vec<f64> = Vec::new();
        for (time, low, high) in spans.iter().flat_map(|kind| &kind.points) {
            if inside(*time) {
                values.extend([*low, *high]);
            }
        }
        for line in lines {
            values.extend(steps::within(&line.points, range).iter().map(|p| p.1));
        }
        let points = marks.iter().flat_map(|kind| &kind.points);
        values.extend(points.filter(|p| inside(p.0)).map(|p| p.1));
        let values = values.into_iter().filter(|value| value.is_finite());
        let zero = *from_zero == FromZero::Yes;
        Axis::vertical(values, Scale::Linear, zero, self.height())
    }
}

/// A row with its position and its vertical axis.
struct Placed<'t> {
    row: &'t TimelineRow,
    frame: Frame,
    axis: Option<Axis>,
    legend: Legend,
}

impl Timeline {
    /// Returns the figure as an SVG picture 900 px wide.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let heading = Heading::new(&self.title, &self.subtitle);
        let times = self.rows.iter().flat_map(|row| row.plot.times());
        let range = steps::window(self.time_range, times);
        let placed = self.place(heading.bottom(), range);
        let bottom = placed
            .last()
            .map_or(heading.bottom(), |row| row.frame.bottom);
        let bands = self.band_names();
        let below = bottom + X_NAMES_HEIGHT + if bands.is_some() { LEGEND_GAP } else { 0.0 };
        let room = WIDTH - 2.0 * MARGIN;
        let height = below
            + bands
                .as_ref()
                .map_or(0.0, |legend| legend.flow_height(room));
        let words = (self.title.as_str(), self.description.as_str());
        picture((WIDTH, height + MARGIN / 2.0), words, |canvas| {
            heading.draw(canvas)?;
            for (index, row) in placed.iter().enumerate() {
                row.draw(canvas, range, index + 1 == placed.len())?;
            }
            if let Some(row) = placed.last() {
                row.frame.draw_x_name(canvas, &self.x_label)?;
            }
            match bands {
                Some(legend) => legend.draw_flowing(canvas, below, room),
                None => Ok(()),
            }
        })
    }

    fn place(&self, top: f64, range: Option<(f64, f64)>) -> Vec<Placed<'_>> {
        let legends: Vec<Legend> = self.rows.iter().map(|row| row.plot.legend()).collect();
        let mut right = panel_right(&legends.iter().collect::<Vec<_>>());
        let axes = self.rows.iter();
        let axes = axes.map(|row| range.and_then(|range| row.plot.axis(range)));
        let axes: Vec<Option<Axis>> = axes.collect();
        let left = axes.iter().map(|axis| Panel::left_of(axis.as_ref()));
        let mut left = left.fold(0.0, f64::max);
        for row in &self.rows {
            if let TimelinePlot::Ticks(kinds) = &row.plot {
                let names = kinds.iter().map(|kind| text_width(&kind.name, LABEL));
                let widest = names.fold(0.0, f64::max);
                right = right.min(WIDTH - MARGIN - widest - 12.0);
            }
        }
        left = left.min(right / 2.0);
        let mut top = top;
        let rows = self.rows.iter().zip(axes).zip(legends);
        let place = rows.map(|((row, axis), legend)| {
            let from = top + Y_NAME_HEIGHT;
            let height = row.plot.height();
            let bottom = from + height;
            top = bottom.max(from + legend.height() - Y_NAME_HEIGHT) + BETWEEN;
            let frame = Frame {
                left,
                top: from,
                right,
                bottom,
            };
            Placed {
                row,
                frame,
                axis,
                legend,
            }
        });
        place.collect()
    }

    /// Returns a legend with the name of each band once, in order of appearance, or `None` if there are no bands.
    fn band_names(&self) -> Option<Legend> {
        let mut seen: Vec<&str> = Vec::new();
        let mut legend = Legend::default();
        for row in &self.rows {
            let TimelinePlot::Bands(bands) = &row.plot else {
                continue;
            };
            for band in bands {
                if !seen.contains(&band.name.as_str()) {
                    seen.push(&band.name);
                    let sample = Sample::Tint(band.hue.color(), band.depth.opacity());
                    legend.add_whole(&band.name, sample);
                }
            }
        }
        (!seen.is_empty()).then_some(legend)
    }
}

impl Placed<'_> {
    fn draw(
        &self,
        canvas: &Canvas<'_>,
        range: Option<(f64, f64)>,
        is_last: bool,
    ) -> Result<(), FigureError> {
        let frame = self.frame;
        canvas.text(
            &self.row.name,
            (MARGIN, frame.top - 15.0),
            &Lettering::left(LABEL, INK),
        )?;
        self.legend.draw(canvas, frame.right + 20.0, frame.top)?;
        let Some((start, end)) = range else {
            return frame.draw_empty(canvas);
        };
        let x = Axis::exact(start, end, frame.width());
        let y = match (&self.row.plot, &self.axis) {
            (TimelinePlot::Values { .. }, None) => return frame.draw_empty(canvas),
            (_, Some(axis)) => axis.clone(),
            // This axis has no labels. It only maps positions from 0 to 1 to the height of the frame.
            (_, None) => {
                let mut axis = Axis::exact(0.0, 1.0, frame.height());
                axis.ticks.clear();
                axis
            }
        };
        let labels = match (is_last, &self.row.plot) {
            (true, _) => Labels::Shown,
            (false, TimelinePlot::Values { .. }) => Labels::Hidden,
            (false, _) => Labels::None,
        };
        let panel = Panel { frame, x, y };
        panel.draw_grid(canvas, labels)?;
        match &self.row.plot {
            TimelinePlot::Values {
                spans,
                lines,
                marks,
                ..
            } => {
                draw_spans(canvas, &panel, spans)?;
                draw_lines(canvas, &panel, lines)?;
                draw_marks(canvas, &panel, marks)
            }
            TimelinePlot::Bands(bands) => draw_bands(canvas, &panel, bands),
            TimelinePlot::Ticks(kinds) => draw_ticks(canvas, &panel, kinds),
        }
    }
}

fn inside(panel: &Panel, time: f64) -> bool {
    (panel.x.low..=panel.x.high).contains(&time)
}

fn draw_spans(
    canvas: &Canvas<'_>,
    panel: &Panel,
    all: &[TimelineSpans],
) -> Result<(), FigureError> {
    for kind in all {
        let stroke = Stroke {
            opacity: 0.7,
            ..Stroke::solid(kind.hue.color(), 1.2)
        };
        let mut drawn = HashSet::new();
        for &(time, low, high) in &kind.points {
            if !(inside(panel, time) && low.is_finite() && high.is_finite()) {
                continue;
            }
            let x = panel.across(time);
            let (low, high) = (panel.up_within(low), panel.up_within(high));
            if drawn.insert((pixel(x), pixel(low), pixel(high))) {
                canvas.line(&[(x, low), (x, high)], &stroke)?;
            }
        }
    }
    Ok(())
}

fn draw_lines(canvas: &Canvas<'_>, panel: &Panel, all: &[TimelineLine]) -> Result<(), FigureError> {
    let range = (panel.x.low, panel.x.high);
    for line in all {
        let stroke = Stroke::solid(line.hue.color(), 1.3);
        let points = steps::within(&line.points, range);
        steps::draw(canvas, panel, points, &stroke)?;
    }
    Ok(())
}

fn draw_marks(
    canvas: &Canvas<'_>,
    panel: &Panel,
    all: &[TimelineMarks],
) -> Result<(), FigureError> {
    for kind in all {
        let (marker, color, radius) = (kind.shape.marker(), kind.hue.color(), kind.radius());
        let mut drawn = HashSet::new();
        for &(time, value) in &kind.points {
            let place = panel.at(time, value);
            let seen = inside(panel, time) && value.is_finite();
            if seen && drawn.insert((pixel(place.0), pixel(place.1))) {
                canvas.marker(marker, place, radius, color)?;
            }
        }
    }
    Ok(())
}

/// Minimum width of a visible band, in px.
const BAND_MIN: f64 = 0.8;

fn draw_bands(canvas: &Canvas<'_>, panel: &Panel, all: &[TimelineBand]) -> Result<(), FigureError> {
    let Frame { top, bottom, .. } = panel.frame;
    for band in all {
        let (from, until) = (band.from.max(panel.x.low), band.until.min(panel.x.high));
        if !(from.is_finite() && until.is_finite() && from <= until) {
            continue;
        }
        let left = panel.across(from);
        let right = panel.across(until).max(left + BAND_MIN);
        let (color, opacity) = (band.hue.color(), band.depth.opacity());
        canvas.rectangle((left, top), (right, bottom), color, opacity)?;
        let fits = text_width(&band.name, BAND_NAME) + 8.0 <= right - left;
        // A name is hard to read on a full colour, so such a name is only in the legend.
        if fits && band.depth != Depth::Full {
            let middle = (f64::midpoint(left, right), f64::midpoint(top, bottom));
            canvas.text(&band.name, middle, &Lettering::centre(BAND_NAME, INK))?;
        }
    }
    Ok(())
}

fn draw_ticks(
    canvas: &Canvas<'_>,
    panel: &Panel,
    all: &[TimelineTicks],
) -> Result<(), FigureError> {
    for (index, kind) in all.iter().enumerate() {
        let top = panel.frame.top + index as f64 * TICK_LINE;
        let middle = top + TICK_LINE / 2.0;
        let place = (panel.frame.right + 10.0, middle);
        canvas.text(&kind.name, place, &Lettering::left(LABEL, INK))?;
        let stroke = Stroke::solid(kind.hue.color(), 1.4);
        let mut drawn = HashSet::new();
        for &time in &kind.times {
            let x = panel.across(time);
            if inside(panel, time) && drawn.insert(pixel(x)) {
                canvas.line(&[(x, top + 3.0), (x, top + TICK_LINE - 3.0)], &stroke)?;
            }
        }
    }
    Ok(())
}

/// Returns the nearest whole pixel. Marks at the same pixel are indistinguishable.
fn pixel(px: f64) -> i32 {
    px.round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(name: &str, from: f64, until: f64) -> TimelineBand {
        TimelineBand {
            name: name.to_owned(),
            hue: Hue::Sky,
            depth: Depth::Half,
            from,
            until,
        }
    }

    fn figure() -> Timeline {
        let marks = |name: &str, shape, points: &[(f64, f64)]| TimelineMarks {
            name: name.to_owned(),
            hue: Hue::Blue,
            shape,
            points: points.to_vec(),
        };
        let values = TimelinePlot::Values {
            height: RowHeight::Tall,
            from_zero: FromZero::Yes,
            spans: vec![TimelineSpans {
                name: "SACK block".to_owned(),
                hue: Hue::Green,
                points: vec![(1.0, 2.0, 5.0)],
            }],
            lines: vec![TimelineLine {
                name: "window".to_owned(),
                hue: Hue::Grey,
                points: vec![(0.0, 8.0), (3.0, 9.0)],
            }],
            marks: vec![
                marks("sent", Shape::Square, &[(0.0, 1.0), (2.0, 4.0)]),
                marks("never", Shape::Cross, &[]),
            ],
        };
        let row = |name: &str, plot| TimelineRow {
            name: name.to_owned(),
            plot,
        };
        Timeline {
            title: "A transfer".to_owned(),
            description: "What is seen.".to_owned(),
            x_label: "time (s)".to_owned(),
            rows: vec![
                row("sequence number (kB)", values),
                row(
                    "limited by",
                    TimelinePlot::Bands(vec![
                        band("slow start", 0.0, 2.0),
                        band("recovery", 2.0, 2.0),
                        band("slow start", 2.0, 4.0),
                    ]),
                ),
                row(
                    "losses",
                    TimelinePlot::Ticks(vec![TimelineTicks {
                        name: "lost again".to_owned(),
                        hue: Hue::Vermillion,
                        times: vec![1.5],
                    }]),
                ),
            ],
            ..Timeline::default()
        }
    }

    #[test]
    fn rows_have_names_and_the_legend_only_what_occurs() {
        let svg = figure().svg().unwrap();
        for word in [
            "sequence number (kB)",
            "limited by",
            "losses",
            "lost again",
            "SACK block",
            "window",
            "time (s)",
            "What is seen.",
        ] {
            assert!(svg.contains(word), "{word}");
        }
        assert!(!svg.contains("never"));
        // The name is once in the legend, and on each band that is wide enough.
        assert_eq!(svg.matches("slow start").count(), 3);
    }

    #[test]
    fn empty_timelines_can_be_drawn_and_empty_rows_have_a_note() {
        assert!(Timeline::default().svg().is_ok());
        let empty = TimelinePlot::Values {
            height: RowHeight::Low,
            from_zero: FromZero::No,
            spans: Vec::new(),
            lines: Vec::new(),
            marks: Vec::new(),
        };
        let rows = vec![TimelineRow {
            name: "nothing".to_owned(),
            plot: empty,
        }];
        let figure = Timeline {
            rows,
            time_range: Some((0.0, 1.0)),
            ..Timeline::default()
        };
        assert!(figure.svg().unwrap().contains("no data"));
    }
}
