//! Several time–sequence plots on the same axes, which compare how senders handle the same losses.

use super::FigureError;
use super::axis::Axis;
use super::canvas::{Canvas, Lettering, picture};
use super::chart::{Heading, MARGIN, X_NAMES_HEIGHT, Y_NAME_HEIGHT, panel_right};
use super::flow_panels::{Looks, legends, packet_axis, window_axis};
use super::legend::Legend;
use super::panel::{Frame, Panel};
use super::phases;
use super::steps;
use super::style::{INK, LABEL, WIDTH};
use super::time_sequence::TimeSequence;

/// Height of the line with a plot's name, in px.
const NAME: f64 = 26.0;
/// Height of the strip of phases, in px, and height of the space below the strip.
const STRIP: f64 = 14.0;
const BELOW_STRIP: f64 = 4.0;
/// Gap between the packets and the windows of a plot, in px.
const GAP: f64 = 10.0;
/// Gap between two plots, in px.
const BETWEEN: f64 = 34.0;
/// Minimum width of each plot when plots are side by side, in px.
const WIDTH_MIN: f64 = 330.0;

/// Arrangement of several plots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// The plots are one above another, so that equal times are aligned.
    #[default]
    Above,
    /// The plots are side by side, so that equal packet numbers are aligned.
    Beside,
}

/// Time–sequence plots with the same axes and one legend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aligned {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions.
    pub subtitle: String,
    /// Text description for readers who cannot see the figure.
    pub description: String,
    /// Arrangement of the plots.
    pub arrangement: Arrangement,
    /// The plots, each with its title. All plots have the same time range.
    pub plots: Vec<TimeSequence>,
}

/// Heights of the parts of a plot, in px.
#[derive(Clone, Copy)]
struct Heights {
    packets: f64,
    windows: f64,
}

/// Position of a plot.
#[derive(Clone, Copy)]
struct Place {
    /// Top of the line with the name of the plot.
    top: f64,
    strip: Frame,
    packets: Frame,
    windows: Frame,
}

/// Properties that all plots share.
struct Common {
    looks: Looks,
    time: Option<Axis>,
    packets: Option<Axis>,
    windows: Option<Axis>,
}

impl Aligned {
    /// Returns the figure as an SVG picture, 900 px wide, or wider if several plots are side by side.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let plots: Vec<&TimeSequence> = self.plots.iter().collect();
        let times = plots.iter().flat_map(|plot| plot.times());
        let asked = plots.first().and_then(|plot| plot.time_range);
        let range = steps::window(asked, times);
        let looks = Looks::of(&plots);
        let (mut packets, windows) = legends(&plots, &looks, range);
        if let Some((from, until)) = range {
            let spans = plots
                .iter()
                .flat_map(|plot| phases::spans(&plot.phases, from, until));
            phases::add_to(&mut packets, spans.map(|span| span.2));
        }
        let heights = self.heights();
        let mut common = Common {
            looks,
            time: None,
            packets: range.and_then(|range| packet_axis(&plots, range, heights.packets)),
            windows: range.and_then(|range| window_axis(&plots, range, heights.windows)),
        };
        let width = self.width(&[&packets, &windows]);
        let heading = Heading::of_width(&self.title, &self.subtitle, width);
        let right = width - WIDTH + panel_right(&[&packets, &windows]);
        let places = self.places(&common, heights, heading.bottom(), right);
        let (first, last) = (places.first(), places.last());
        let frame = first.map(|place| place.packets);
        common.time = range
            .zip(frame)
            .map(|((from, until), frame)| Axis::exact(from, until, frame.width()));
        let legend_top = first.map_or(heading.bottom(), |place| place.strip.top);
        let bottom = last.map_or(legend_top, |place| place.windows.bottom);
        let between = 24.0;
        let legends_bottom = legend_top + packets.height() + between + windows.height();
        let height = bottom.max(legends_bottom - X_NAMES_HEIGHT) + X_NAMES_HEIGHT + MARGIN / 2.0;
        let words = (self.title.as_str(), self.description.as_str());
        picture((width, height), words, |canvas| {
            heading.draw(canvas)?;
            packets.draw(canvas, right + 20.0, legend_top)?;
            let windows_top = legend_top + packets.height() + between;
            windows.draw(canvas, right + 20.0, windows_top)?;
            for (plot, place) in self.plots.iter().zip(&places) {
                if self.name_height() > 0.0 {
                    common.draw_name(canvas, plot, place)?;
                }
                common.draw(canvas, plot, place)?;
            }
            // If plots are one above another, only the lowest one has the name of the time axis.
            let lowest = places.iter().filter(|place| place.windows.bottom >= bottom);
            { lowest }.try_for_each(|place| place.windows.draw_x_name(canvas, "time (s)"))
        })
    }

    /// Returns the heights of the parts of a plot. The heights decrease with the number of plots above one another.
    fn heights(&self) -> Heights {
        let [packets, windows] = match (self.arrangement, self.plots.len()) {
            (Arrangement::Beside, _) | (_, 0..=1) => [350.0, 160.0],
            (Arrangement::Above, 2) => [260.0, 120.0],
            (Arrangement::Above, _) => [210.0, 100.0],
        };
        Heights { packets, windows }
    }

    /// Returns the height of the line with the name of a plot. The height is 0 for a single plot whose title is the
    /// beginning of the figure's title.
    fn name_height(&self) -> f64 {
        match self.plots.as_slice() {
            [one] if self.title.starts_with(&one.title) => 0.0,
            _ => NAME,
        }
    }

    fn columns(&self) -> usize {
        match self.arrangement {
            Arrangement::Above => 1,
            Arrangement::Beside => self.plots.len().max(1),
        }
    }

    fn width(&self, legends: &[&Legend]) -> f64 {
        let columns = self.columns() as f64;
        let beside = WIDTH - panel_right(legends) + MARGIN;
        WIDTH.max(beside + columns * (WIDTH_MIN + 50.0))
    }

    fn places(&self, common: &Common, heights: Heights, top: f64, right: f64) -> Vec<Place> {
        let room =
            Panel::left_of(common.packets.as_ref()).max(Panel::left_of(common.windows.as_ref()));
        let name = self.name_height();
        let columns = self.columns();
        let column = (right - room + MARGIN) / columns as f64;
        let place = |index: usize| {
            let (row, nth) = (index / columns, index % columns);
            let whole = name
                + Y_NAME_HEIGHT
                + STRIP
                + BELOW_STRIP
                + heights.packets
                + GAP
                + Y_NAME_HEIGHT
                + heights.windows;
            let top = top + row as f64 * (whole + BETWEEN);
            // The leftmost plot already has space for its axis labels on the left.
            let left = room + nth as f64 * column;
            let right = left + column - if columns > 1 { room } else { MARGIN };
            let frame = |top: f64, height: f64| Frame {
                left,
                top,
                right,
                bottom: top + height,
            };
            let strip = frame(top + name + Y_NAME_HEIGHT, STRIP);
            let packets = frame(strip.bottom + BELOW_STRIP, heights.packets);
            let windows = frame(packets.bottom + GAP + Y_NAME_HEIGHT, heights.windows);
            Place {
                top,
                strip,
                packets,
                windows,
            }
        };
        (0..self.plots.len()).map(place).collect()
    }
}

impl Common {
    /// Returns the left edge of the plot's name and of the names of its axes.
    fn left(&self, place: &Place) -> f64 {
        place.packets.left - Panel::left_of(self.packets.as_ref()) + MARGIN
    }

    fn draw_name(
        &self,
        canvas: &Canvas<'_>,
        plot: &TimeSequence,
        place: &Place,
    ) -> Result<(), FigureError> {
        let at = (self.left(place), place.top + NAME / 2.0);
        canvas.text(&plot.title, at, &Lettering::left(LABEL + 2.0, INK))
    }

    fn draw(
        &self,
        canvas: &Canvas<'_>,
        plot: &TimeSequence,
        place: &Place,
    ) -> Result<(), FigureError> {
        let name_left = self.left(place);
        let small = Lettering::left(LABEL, INK);
        let y_names = [
            ("packet number", place.strip.top),
            ("window (packets)", place.windows.top),
        ];
        for (y_name, top) in y_names {
            canvas.text(y_name, (name_left, top - 17.0), &small)?;
        }
        let axes = self.time.clone().zip(self.packets.clone());
        let Some(((x, y), below)) = axes.zip(self.windows.clone()) else {
            place.packets.draw_empty(canvas)?;
            return place.windows.draw_empty(canvas);
        };
        let packets = Panel {
            frame: place.packets,
            x: x.clone(),
            y,
        };
        let windows = Panel {
            frame: place.windows,
            x,
            y: below,
        };
        let both = [&packets, &windows];
        phases::draw(canvas, &place.strip, &both, &plot.phases)?;
        plot.draw_packets(canvas, &packets, &self.looks)?;
        plot.draw_windows(canvas, &windows, &self.looks)
    }
}
