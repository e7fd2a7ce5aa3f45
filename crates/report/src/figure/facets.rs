//! Small charts side by side on shared axes, one per value of a second swept key. All charts have the same scales.

use super::FigureError;
use super::axis::{Axis, Scale};
use super::canvas::{Canvas, Lettering, fold, picture};
use super::chart::{Heading, MARGIN, X_NAMES_HEIGHT, X_TICKS_HEIGHT, Y_NAME_HEIGHT};
use super::legend::{Legend, Sample};
use super::line::{LineChart, Series};
use super::panel::{Frame, Labels, Panel};
use super::style::{INK, LABEL, WIDTH, look};
use super::words;

/// Gap between two panels side by side, in px.
const GAP: f64 = 18.0;
const NAME_LINE: f64 = 18.0;

/// Line charts side by side: a measure over one quantity, with one chart per value of another quantity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facets {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions. May be empty.
    pub subtitle: String,
    /// The horizontal quantity of all panels, with its unit.
    pub x_label: String,
    /// Measure with its unit.
    pub y_label: String,
    /// Scale of the horizontal quantity.
    pub x_scale: Scale,
    /// Scale of the measure.
    pub y_scale: Scale,
    /// The panels, in reading order.
    pub panels: Vec<Facet>,
}

/// A panel of [`Facets`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facet {
    /// The value that all lines of the panel share: `"one-way delay 25ms"`.
    pub name: String,
    /// The lines of the panel. All panels have the same lines in the same order, even if a line has no points.
    pub series: Vec<Series>,
}

/// Positions of panels with shared axes.
struct Grid {
    frames: Vec<Frame>,
    /// Lines of text of each panel's name.
    names: Vec<Vec<String>>,
    columns: usize,
}

impl Grid {
    /// Returns a grid of panels of `height` px below `top`, with space for the labels of `y` on the left.
    fn new(names: &[String], columns: usize, top: f64, height: f64, y: Option<&Axis>) -> Self {
        let left = Panel::left_of(y);
        let count = columns as f64;
        let width = (WIDTH - MARGIN - left - GAP * (count - 1.0)) / count;
        let names: Vec<Vec<String>> = names.iter().map(|name| fold(name, LABEL, width)).collect();
        let mut frames = Vec::new();
        let mut top = top;
        for row in names.chunks(columns) {
            let lines = row.iter().map(Vec::len).max().unwrap_or_default() as f64;
            top += lines * NAME_LINE + 6.0;
            for column in 0..row.len() {
                let left = left + column as f64 * (width + GAP);
                frames.push(Frame {
                    left,
                    top,
                    right: left + width,
                    bottom: top + height,
                });
            }
            top += height + X_TICKS_HEIGHT;
        }
        Self {
            frames,
            names,
            columns,
        }
    }

    fn bottom(&self) -> f64 {
        self.frames.last().map_or(0.0, |frame| frame.bottom)
    }

    fn width(&self) -> f64 {
        self.frames.first().map_or(WIDTH, Frame::width)
    }

    /// Returns the labels of a panel. The leftmost panels have the labels of the vertical axis, and panels without a
    /// panel below them have the labels of the horizontal axis.
    fn labels(&self, index: usize) -> Labels {
        let is_left = index.is_multiple_of(self.columns);
        let is_lowest = index + self.columns >= self.frames.len();
        match (is_left, is_lowest) {
            (true, true) => Labels::Shown,
            (true, false) => Labels::Hidden,
            (false, true) => Labels::Below,
            (false, false) => Labels::None,
        }
    }

    fn draw_names(&self, canvas: &Canvas<'_>) -> Result<(), FigureError> {
        for (lines, frame) in self.names.iter().zip(&self.frames) {
            let mut y = frame.top - 12.0 - NAME_LINE * (lines.len() as f64 - 1.0);
            for line in lines {
                canvas.text(line, (frame.left, y), &Lettering::left(LABEL, INK))?;
                y += NAME_LINE;
            }
        }
        Ok(())
    }

    /// Draws the name of the horizontal axis below the middle of all panels.
    fn draw_x_name(&self, canvas: &Canvas<'_>, name: &str) -> Result<(), FigureError> {
        let (Some(first), Some(last)) = (self.frames.first(), self.frames.last()) else {
            return Ok(());
        };
        let all = Frame {
            left: first.left,
            right: WIDTH - MARGIN,
            ..*last
        };
        all.draw_x_name(canvas, name)
    }
}

impl Facets {
    /// Returns the figure as an SVG picture 900 px wide.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let whole = self.whole();
        let heading = Heading::new(&self.title, &self.subtitle);
        let legend = self.legend();
        let room = WIDTH - 2.0 * MARGIN;
        let top = heading.bottom() + legend.flow_height(room) + Y_NAME_HEIGHT;
        let (columns, height) = self.arrangement();
        let y = whole.y_axis(height);
        let names: Vec<String> = self.panels.iter().map(|panel| panel.name.clone()).collect();
        let grid = Grid::new(&names, columns, top, height, y.as_ref());
        let xs = whole.visible().map(|point| point.x);
        let x = Axis::horizontal(xs, self.x_scale, grid.width());
        let size = (
            WIDTH,
            grid.bottom().max(top) + X_NAMES_HEIGHT + MARGIN / 2.0,
        );
        let seen = words::of_facets(self);
        picture(size, (&self.title, &seen), |canvas| {
            heading.draw(canvas)?;
            legend.draw_flowing(canvas, heading.bottom() + 4.0, room)?;
            let name = (MARGIN, top - 16.0);
            canvas.text(&self.y_label, name, &Lettering::left(LABEL, INK))?;
            grid.draw_names(canvas)?;
            grid.draw_x_name(canvas, &self.x_label)?;
            for (index, (facet, frame)) in self.panels.iter().zip(&grid.frames).enumerate() {
                let Some((x, y)) = x.clone().zip(y.clone()) else {
                    frame.draw_empty(canvas)?;
                    continue;
                };
                let frame = *frame;
                let panel = Panel { frame, x, y };
                panel.draw_grid(canvas, grid.labels(index))?;
                for (index, series) in facet.series.iter().enumerate() {
                    whole.draw_spread(canvas, &panel, series, look(index))?;
                }
                for (index, series) in facet.series.iter().enumerate() {
                    whole.draw_line(canvas, &panel, series, look(index))?;
                }
            }
            Ok(())
        })
    }

    /// Returns all lines as one chart, whose axes are the axes of every panel.
    pub(super) fn whole(&self) -> LineChart {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        LineChart {
            x_label: self.x_label.clone(),
            y_label: self.y_label.clone(),
            x_scale: self.x_scale,
            y_scale: self.y_scale,
            y_from_zero: true,
            series: series.cloned().collect(),
            ..LineChart::default()
        }
    }

    /// Returns the number of panels side by side, and the height of each.
    const fn arrangement(&self) -> (usize, f64) {
        match self.panels.len() {
            0 | 1 => (1, 340.0),
            2 | 4 => (2, 250.0),
            _ => (3, 210.0),
        }
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        let series = self.panels.first().map_or(&[][..], |panel| &panel.series);
        for (index, series) in series.iter().enumerate() {
            let sample = Sample::Line {
                look: look(index),
                width: 2.0,
                marked: true,
            };
            legend.add_whole(&series.name, sample);
        }
        legend
    }
}
