//! The line chart: a measure over a sweep, with one line per stack and confidence intervals.

use super::FigureError;
use super::axis::{Axis, Scale};
use super::canvas::{Canvas, Stroke, picture};
use super::chart::{Heading, MARGIN, X_NAMES_HEIGHT, Y_NAME_HEIGHT, panel_right};
use super::legend::{Legend, Sample};
use super::panel::{Frame, Labels, Panel};
use super::style::{Look, WIDTH, look, reference_look};
use super::words;

const PANEL_HEIGHT: f64 = 360.0;
const LINE_WIDTH: f64 = 2.0;
const REFERENCE_WIDTH: f64 = 1.2;
/// Maximum number of points of a series with whiskers. Longer series show their confidence intervals as a band.
const WHISKERED_POINTS_MAX: usize = 16;
/// Maximum number of points of a series with markers.
const MARKED_POINTS_MAX: usize = 40;

/// A measure over a quantity, with one line per series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions, such as path, seeds and the meaning of the whiskers. May be empty.
    pub subtitle: String,
    /// Horizontal quantity with its unit.
    pub x_label: String,
    /// Measure with its unit.
    pub y_label: String,
    /// Scale of the horizontal quantity.
    pub x_scale: Scale,
    /// Scale of the measure.
    pub y_scale: Scale,
    /// `true` if a linear vertical axis begins at zero.
    pub y_from_zero: bool,
    /// The lines, in the order of the legend and the colours.
    pub series: Vec<Series>,
    /// Reference lines, such as those of a formula. They are thin, grey and dashed, have no markers, and are last in
    /// the legend. The axes fit only the series, and parts of a reference outside the axes are not drawn.
    pub references: Vec<Series>,
}

/// One line of a [`LineChart`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// The points, in the order in which they are connected.
    pub points: Vec<Point>,
}

/// A point with its confidence interval, in the units of the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Mean of the measure.
    pub mean: f64,
    /// Half the width of the confidence interval, if there is one.
    pub half_width: Option<f64>,
}

impl Point {
    /// Returns the ends of the confidence interval.
    fn interval(&self) -> Option<(f64, f64)> {
        let half = self
            .half_width
            .filter(|half| half.is_finite() && *half >= 0.0)?;
        Some((self.mean - half, self.mean + half))
    }
}

impl From<(f64, f64, Option<f64>)> for Point {
    fn from((x, mean, half_width): (f64, f64, Option<f64>)) -> Self {
        Self {
            x,
            mean,
            half_width,
        }
    }
}

impl LineChart {
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
        let y = self.y_axis(frame.height());
        frame.left = Panel::left_of(y.as_ref());
        let xs = self.visible().map(|point| point.x);
        let x = Axis::horizontal(xs, self.x_scale, frame.width());
        picture(
            (WIDTH, bottom + X_NAMES_HEIGHT + MARGIN / 2.0),
            (&self.title, &words::of_lines(self)),
            |canvas| {
                heading.draw(canvas)?;
                frame.draw_names(canvas, &self.x_label, &self.y_label)?;
                legend.draw(canvas, frame.right + 20.0, top)?;
                let Some((x, y)) = x.zip(y) else {
                    return frame.draw_empty(canvas);
                };
                let panel = Panel { frame, x, y };
                panel.draw_grid(canvas, Labels::Shown)?;
                for (index, reference) in self.references.iter().enumerate() {
                    draw_reference(canvas, &panel, reference, reference_look(index))?;
                }
                for (index, series) in self.series.iter().enumerate() {
                    self.draw_spread(canvas, &panel, series, look(index))?;
                }
                for (index, series) in self.series.iter().enumerate() {
                    self.draw_line(canvas, &panel, series, look(index))?;
                }
                Ok(())
            },
        )
    }

    pub(super) fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        // A single line without a name needs no legend.
        let nameless = self.series.iter().all(|series| series.name.is_empty());
        if self.series.len() == 1 && nameless && self.references.is_empty() {
            return legend;
        }
        for (index, series) in self.series.iter().enumerate() {
            let marked = series.points.len() <= MARKED_POINTS_MAX;
            legend.add(
                &series.name,
                Sample::Line {
                    look: look(index),
                    width: LINE_WIDTH,
                    marked,
                },
            );
        }
        for (index, reference) in self.references.iter().enumerate() {
            legend.add(
                &reference.name,
                Sample::Line {
                    look: reference_look(index),
                    width: REFERENCE_WIDTH,
                    marked: false,
                },
            );
        }
        legend
    }

    pub(super) fn shows(&self, point: &Point) -> bool {
        self.x_scale.shows(point.x) && self.y_scale.shows(point.mean)
    }

    pub(super) fn visible(&self) -> impl Iterator<Item = Point> {
        let points = self.series.iter().flat_map(|series| &series.points);
        points.filter(|point| self.shows(point)).copied()
    }

    /// Returns the vertical axis, which covers the whiskers. If no mean is negative, whiskers do not extend the axis
    /// below zero. On a logarithmic axis, whiskers do not extend it below a tenth of the lowest positive mean.
    pub(super) fn y_axis(&self, length: f64) -> Option<Axis> {
        let lowest = self.visible().map(|point| point.mean).reduce(f64::min)?;
        let positive = self
            .visible()
            .map(|point| point.mean)
            .filter(|&mean| mean > 0.0);
        let floor = match self.y_scale {
            Scale::Linear if lowest >= 0.0 => 0.0,
            Scale::Linear => f64::NEG_INFINITY,
            Scale::Log | Scale::LogAndZero => positive.fold(f64::INFINITY, f64::min) / 10.0,
        };
        let values = self.visible().flat_map(|point| {
            let (low, high) = point.interval().unwrap_or((point.mean, point.mean));
            // A mean of zero and the low end of its interval are both drawn at the separate place for zero.
            let low = if point.mean == 0.0 {
                0.0
            } else {
                low.max(floor)
            };
            [low, point.mean, high]
        });
        Axis::vertical(values, self.y_scale, self.y_from_zero, length)
    }

    pub(super) fn draw_spread(
        &self,
        canvas: &Canvas<'_>,
        panel: &Panel,
        series: &Series,
        look: Look,
    ) -> Result<(), FigureError> {
        let points = series.points.iter().filter(|point| self.shows(point));
        let ends: Vec<(f64, f64, f64)> = points
            .filter_map(|point| {
                let (low, high) = point.interval()?;
                Some((
                    panel.across(point.x),
                    panel.up_within(low),
                    panel.up_within(high),
                ))
            })
            .collect();
        if ends.len() > WHISKERED_POINTS_MAX {
            let upper = ends.iter().map(|&(x, _, high)| (x, high));
            let lower = ends.iter().rev().map(|&(x, low, _)| (x, low));
            let outline: Vec<_> = upper.chain(lower).collect();
            return canvas.polygon(&outline, look.color, 0.16);
        }
        let stroke = Stroke {
            opacity: 0.8,
            ..Stroke::solid(look.color, 1.3)
        };
        for (x, low, high) in ends {
            canvas.line(&[(x, low), (x, high)], &stroke)?;
            // The caps of the whiskers are omitted if the marker would cover them.
            if (low - high).abs() > 8.0 {
                canvas.line(&[(x - 4.0, low), (x + 4.0, low)], &stroke)?;
                canvas.line(&[(x - 4.0, high), (x + 4.0, high)], &stroke)?;
            }
        }
        Ok(())
    }

    pub(super) fn draw_line(
        &self,
        canvas: &Canvas<'_>,
        panel: &Panel,
        series: &Series,
        look: Look,
    ) -> Result<(), FigureError> {
        let stroke = Stroke {
            dash: look.dash,
            ..Stroke::solid(look.color, LINE_WIDTH)
        };
        // A point that cannot be shown interrupts the line.
        for run in series.points.split(|point| !self.shows(point)) {
            let places: Vec<_> = run
                .iter()
                .map(|point| panel.at(point.x, point.mean))
                .collect();
            let is_whole =
                |a: &Point, b: &Point| !panel.breaks_between((a.x, a.mean), (b.x, b.mean));
            let mut drawn = 0;
            for part in run.chunk_by(is_whole) {
                canvas.line(&places[drawn..drawn + part.len()], &stroke)?;
                drawn += part.len();
                // A thin line across the break of an axis only shows which points are connected. Its slope has no
                // meaning.
                if let Some(over) = places.get(drawn - 1..=drawn) {
                    canvas.line(
                        over,
                        &Stroke {
                            opacity: 0.45,
                            ..Stroke::solid(look.color, 1.0)
                        },
                    )?;
                }
            }
            if series.points.len() <= MARKED_POINTS_MAX || places.len() == 1 {
                for &place in &places {
                    canvas.marker(look.marker, place, 4.0, look.color)?;
                }
            }
        }
        Ok(())
    }
}

/// Draws the part of a reference line that is inside the frame.
fn draw_reference(
    canvas: &Canvas<'_>,
    panel: &Panel,
    reference: &Series,
    look: Look,
) -> Result<(), FigureError> {
    let frame = panel.frame;
    let stroke = Stroke {
        dash: look.dash,
        ..Stroke::solid(look.color, REFERENCE_WIDTH)
    };
    let inside = |point: &Point| {
        let (x, y) = panel.at(point.x, point.mean);
        (frame.left - 1.0..=frame.right + 1.0).contains(&x)
            && (frame.top..=frame.bottom).contains(&y)
            && panel.x.is_beyond_break(point.x)
    };
    for run in reference.points.split(|point| !inside(point)) {
        let places = run.iter().map(|point| panel.at(point.x, point.mean));
        canvas.line(&places.collect::<Vec<_>>(), &stroke)?;
    }
    Ok(())
}
