//! The step chart: the windows of several stacks over time, in one panel.

use super::FigureError;
use super::axis::{Axis, Scale};
use super::canvas::{Stroke, picture};
use super::chart::{Heading, MARGIN, X_NAMES_HEIGHT, Y_NAME_HEIGHT, panel_right};
use super::legend::{Legend, Sample};
use super::panel::{Frame, Labels, Panel};
use super::steps;
use super::style::{Dash, Look, WIDTH, look};
use super::words;

const PANEL_HEIGHT: f64 = 330.0;
const LINE_WIDTH: f64 = 1.6;

/// Chart of values that remain constant until the next sample, such as each stack's `cwnd`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepChart {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions. May be empty.
    pub subtitle: String,
    /// Name of the horizontal axis with its unit: `"time (s)"`.
    pub x_label: String,
    /// Name of the value with its unit: `"cwnd (packets)"`.
    pub y_label: String,
    /// Time range to show in seconds, or `None` to show all times.
    pub time_range: Option<(f64, f64)>,
    /// The lines, in the order of the legend and the colours.
    pub series: Vec<StepSeries>,
}

/// One line of a [`StepChart`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepSeries {
    /// Name in the legend.
    pub name: String,
    /// Samples: a time in seconds, ascending, and the value from this time on. A value that is not finite interrupts
    /// the line.
    pub points: Vec<(f64, f64)>,
}

impl StepChart {
    /// Returns the chart as an SVG picture 900 px wide.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let heading = Heading::new(&self.title, &self.subtitle);
        let legend = self.legend();
        let top = heading.bottom() + Y_NAME_HEIGHT;
        let bottom = top + PANEL_HEIGHT.max(legend.height());
        let mut frame = Frame {
            left: 0.0,
            top,
            right: panel_right(&[&legend]),
            bottom,
        };
        let range = self.range();
        let y = range.and_then(|range| self.y_axis(range, frame.height()));
        frame.left = Panel::left_of(y.as_ref());
        picture(
            (WIDTH, bottom + X_NAMES_HEIGHT + MARGIN / 2.0),
            (&self.title, &words::of_steps(self, range)),
            |canvas| {
                heading.draw(canvas)?;
                frame.draw_names(canvas, &self.x_label, &self.y_label)?;
                legend.draw(canvas, frame.right + 20.0, top)?;
                let Some(((start, end), y)) = range.zip(y) else {
                    return frame.draw_empty(canvas);
                };
                let panel = Panel {
                    frame,
                    x: Axis::exact(start, end, frame.width()),
                    y,
                };
                panel.draw_grid(canvas, Labels::Shown)?;
                for (index, series) in self.series.iter().enumerate() {
                    let stroke = Stroke::solid(look(index).color, LINE_WIDTH);
                    let stroke = Stroke {
                        dash: dash(index),
                        ..stroke
                    };
                    let samples = steps::within(&series.points, (start, end));
                    steps::draw(canvas, &panel, samples, &stroke)?;
                }
                Ok(())
            },
        )
    }

    /// Returns the time range to show.
    fn range(&self) -> Option<(f64, f64)> {
        let points = self.series.iter().flat_map(|series| &series.points);
        steps::window(self.time_range, points.map(|point| point.0))
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        if self.series.len() == 1 && self.series.iter().all(|series| series.name.is_empty()) {
            return legend;
        }
        for (index, series) in self.series.iter().enumerate() {
            let look = Look {
                dash: dash(index),
                ..look(index)
            };
            legend.add(
                &series.name,
                Sample::Line {
                    look,
                    width: LINE_WIDTH + 0.4,
                    marked: false,
                },
            );
        }
        legend
    }

    fn y_axis(&self, range: (f64, f64), length: f64) -> Option<Axis> {
        let points = self
            .series
            .iter()
            .flat_map(|series| steps::within(&series.points, range));
        Axis::vertical(points.map(|point| point.1), Scale::Linear, true, length)
    }
}

/// Returns the dash pattern of the `index`-th line. Steps are dense, so lines are solid until colours repeat.
fn dash(index: usize) -> Dash {
    match index / 8 {
        0 => Dash::Solid,
        1 => Dash::Dashed,
        _ => Dash::Dotted,
    }
}
