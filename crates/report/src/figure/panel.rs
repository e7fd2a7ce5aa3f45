//! A panel: the rectangle that contains the data, with a grid, ticks and axis names.

use plotters::style::WHITE;

use super::FigureError;
use super::axis::Axis;
use super::canvas::{Canvas, Lettering, Place, Stroke};
use super::chart::MARGIN;
use super::style::{AXIS, FINE_GRID, GRID, INK, LABEL, SOFT_INK, TICK};

/// A rectangle on the canvas, in px.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

/// Labels that are drawn along the axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Labels {
    /// The grid and all labels.
    Shown,
    /// The grid, and the labels on the left. The panel below has the labels of the horizontal axis.
    Hidden,
    /// The grid, and the labels below. The panel on the left has the labels of the vertical axis.
    Below,
    /// Only the grid.
    None,
}

/// A frame with its two axes.
pub(super) struct Panel {
    pub(super) frame: Frame,
    pub(super) x: Axis,
    pub(super) y: Axis,
}

impl Frame {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// Draws the names of the axes. The name of the vertical axis is above the frame and is written horizontally.
    pub(super) fn draw_names(
        &self,
        canvas: &Canvas<'_>,
        x_name: &str,
        y_name: &str,
    ) -> Result<(), FigureError> {
        canvas.text(
            y_name,
            (MARGIN, self.top - 19.0),
            &Lettering::left(LABEL, INK),
        )?;
        self.draw_x_name(canvas, x_name)
    }

    /// Draws only the name of the horizontal axis.
    pub(super) fn draw_x_name(&self, canvas: &Canvas<'_>, name: &str) -> Result<(), FigureError> {
        let middle = f64::midpoint(self.left, self.right);
        let place = (middle, self.bottom + 39.0);
        canvas.text(name, place, &Lettering::centre(LABEL, INK))
    }

    /// Draws an empty frame with the note that there is no data.
    pub(super) fn draw_empty(&self, canvas: &Canvas<'_>) -> Result<(), FigureError> {
        let Self {
            left,
            top,
            right,
            bottom,
        } = *self;
        let outline = [
            (left, top),
            (right, top),
            (right, bottom),
            (left, bottom),
            (left, top),
        ];
        canvas.line(&outline, &Stroke::solid(GRID, 1.0))?;
        let middle = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        canvas.text("no data", middle, &Lettering::centre(LABEL, SOFT_INK))
    }
}

impl Panel {
    /// Returns the left edge of the frame, with space on its left for the labels of `y`.
    pub(super) fn left_of(y: Option<&Axis>) -> f64 {
        MARGIN + y.map_or(0.0, Axis::label_width).max(24.0) + 9.0
    }

    /// Returns the place of a data point.
    pub(super) fn at(&self, x: f64, y: f64) -> Place {
        (self.across(x), self.up(y))
    }

    /// Returns the horizontal position of `x`, in px from the left of the canvas.
    pub(super) fn across(&self, x: f64) -> f64 {
        self.frame.left + self.x.position(x) * self.frame.width()
    }

    /// Returns the vertical position of `y`, in px from the top of the canvas.
    pub(super) fn up(&self, y: f64) -> f64 {
        self.frame.bottom - self.y.position(y) * self.frame.height()
    }

    /// Returns `true` if the break of one of the axes lies between two data points.
    pub(super) fn breaks_between(&self, one: (f64, f64), other: (f64, f64)) -> bool {
        self.x.breaks_between(one.0, other.0) || self.y.breaks_between(one.1, other.1)
    }

    /// Like `up`, but the position is always inside the frame.
    pub(super) fn up_within(&self, y: f64) -> f64 {
        self.up(y).clamp(self.frame.top, self.frame.bottom)
    }

    pub(super) fn draw_grid(&self, canvas: &Canvas<'_>, labels: Labels) -> Result<(), FigureError> {
        let Frame {
            left,
            top,
            right,
            bottom,
        } = self.frame;
        let fine = Stroke::solid(FINE_GRID, 1.0);
        for &value in &self.x.fine {
            canvas.line(
                &[(self.across(value), top), (self.across(value), bottom)],
                &fine,
            )?;
        }
        for &value in &self.y.fine {
            canvas.line(&[(left, self.up(value)), (right, self.up(value))], &fine)?;
        }
        let grid = Stroke::solid(GRID, 1.0);
        for tick in &self.x.ticks {
            let x = self.across(tick.value);
            canvas.line(&[(x, top), (x, bottom)], &grid)?;
            if matches!(labels, Labels::Shown | Labels::Below) {
                canvas.line(&[(x, bottom), (x, bottom + 5.0)], &Stroke::solid(AXIS, 1.0))?;
                let lettering = Lettering::centre(TICK, SOFT_INK);
                canvas.text(&tick.label, (x, bottom + 16.0), &lettering)?;
            }
        }
        for tick in &self.y.ticks {
            let y = self.up(tick.value);
            canvas.line(&[(left, y), (right, y)], &grid)?;
            if matches!(labels, Labels::Shown | Labels::Hidden) {
                let lettering = Lettering::right(TICK, SOFT_INK);
                canvas.text(&tick.label, (left - 8.0, y), &lettering)?;
            }
        }
        canvas.line(
            &[(left, bottom), (right, bottom)],
            &Stroke::solid(AXIS, 1.2),
        )?;
        self.draw_breaks(canvas)
    }

    /// Draws two strokes across each axis that has a break.
    fn draw_breaks(&self, canvas: &Canvas<'_>) -> Result<(), FigureError> {
        const HALF: f64 = 5.0;
        let Frame { left, bottom, .. } = self.frame;
        let across = self.x.broken_at();
        let across = across.map(|at| (left + at * self.frame.width(), bottom));
        let up = self.y.broken_at();
        let up = up.map(|at| (left, bottom - at * self.frame.height()));
        let ink = Stroke::solid(SOFT_INK, 1.4);
        if let Some((x, y)) = across {
            canvas.rectangle((x - 2.5, y - 2.0), (x + 2.5, y + 2.0), WHITE, 1.0)?;
            for x in [x - 2.5, x + 2.5] {
                canvas.line(&[(x - 2.0, y + HALF), (x + 2.0, y - HALF)], &ink)?;
            }
        }
        if let Some((x, y)) = up {
            for y in [y - 2.5, y + 2.5] {
                canvas.line(&[(x - HALF, y + 2.0), (x + HALF, y - 2.0)], &ink)?;
            }
        }
        Ok(())
    }
}
