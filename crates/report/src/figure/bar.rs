//! The bar chart: a measure by category, grouped by series, with confidence intervals.
//!
//! The length of a bar is its value, so the value axis always begins at zero and is never logarithmic. Bars are
//! vertical if the names of the categories fit below them, and horizontal otherwise, so that a dozen stacks with long
//! names are readable.

use super::FigureError;
use super::axis::{Axis, Scale, in_company};
use super::canvas::{Canvas, Lettering, Place, Stroke, fold, picture, text_width, wrap};
use super::chart::{Heading, MARGIN, X_NAMES_HEIGHT, X_TICKS_HEIGHT, Y_NAME_HEIGHT, panel_right};
use super::legend::{Legend, Sample};
use super::panel::{Frame, Panel};
use super::style::{
    AXIS, Dash, GRID, INK, LABEL, Look, Marker, SOFT_INK, TICK, VALUE, WIDTH, look,
};
use super::words;

const STANDING_HEIGHT: f64 = 320.0;
const LYING_BAR: f64 = 20.0;
const STANDING_BAR_MAX: f64 = 54.0;
const STANDING_BAR_MIN: f64 = 5.0;
const NAME_LINE: f64 = 16.0;
/// Maximum width of the category names to the left of horizontal bars, in px. Longer names are broken.
const LYING_NAME_MAX: f64 = 280.0;
/// Minimum thickness of a horizontal bar whose value is written next to it, in px.
const VALUED_LYING_BAR_MIN: f64 = 11.0;
const VALUED_STANDING_BAR_MIN: f64 = 36.0;

/// A measure by category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarChart {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions. May be empty.
    pub subtitle: String,
    /// Name of the measure with its unit.
    pub value_label: String,
    /// Names of the categories, in order.
    pub categories: Vec<String>,
    /// The series, each with one bar in every category.
    pub series: Vec<BarSeries>,
    /// Reference value.
    pub reference: Option<Reference>,
}

/// A series of a [`BarChart`], drawn in one colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeries {
    /// Name in the legend.
    pub name: String,
    /// One bar for each category, in the order of the categories. `None` leaves the place of the bar empty.
    pub bars: Vec<Option<Bar>>,
}

/// A mean with its confidence interval, in the unit of the measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Mean of the measure.
    pub mean: f64,
    /// Half the width of the confidence interval, if there is one.
    pub half_width: Option<f64>,
}

/// A reference line across the bars, such as the value in a paper or a ratio of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Position of the line, in the unit of the measure.
    pub value: f64,
    /// Name in the legend.
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Orientation {
    Standing,
    Lying,
}

/// Position of the parts of a chart. The value axis is along one side of the frame, and the categories are along the
/// other.
struct Layout {
    orientation: Orientation,
    frame: Frame,
    values: Axis,
    /// Width of one category, in px.
    slot: f64,
    /// Thickness of one bar, in px.
    bar: f64,
    names: Vec<Vec<String>>,
    /// Largest absolute mean, which determines the number of decimals of the printed values.
    magnitude: f64,
}

impl Bar {
    fn interval(&self) -> Option<(f64, f64)> {
        let half = self
            .half_width
            .filter(|half| half.is_finite() && *half >= 0.0)?;
        Some((self.mean - half, self.mean + half))
    }
}

impl BarChart {
    /// Returns the chart as an SVG picture 900 px wide.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let heading = Heading::new(&self.title, &self.subtitle);
        let legend = self.legend();
        let seen = words::of_bars(self);
        let words = (self.title.as_str(), seen.as_str());
        let top = heading.bottom() + Y_NAME_HEIGHT;
        let right = panel_right(&[&legend]);
        let Some(layout) = self.layout(top, right, legend.height()) else {
            let frame = Frame {
                left: MARGIN + 33.0,
                top,
                right,
                bottom: top + STANDING_HEIGHT,
            };
            return picture((WIDTH, frame.bottom + MARGIN), words, |canvas| {
                heading.draw(canvas)?;
                frame.draw_names(canvas, "", &self.value_label)?;
                frame.draw_empty(canvas)
            });
        };
        let below = match layout.orientation {
            Orientation::Standing => most_lines(&layout.names) as f64 * NAME_LINE + 12.0,
            Orientation::Lying => X_NAMES_HEIGHT - 4.0,
        };
        let bottom = (layout.frame.bottom + below).max(layout.frame.top + legend.height());
        picture((WIDTH, bottom + MARGIN / 2.0), words, |canvas| {
            heading.draw(canvas)?;
            legend.draw(canvas, right + 20.0, layout.frame.top)?;
            layout.draw_axes(canvas, &self.value_label)?;
            for (index, series) in self.series.iter().enumerate() {
                for (category, bar) in self.bars(series) {
                    self.draw_bar(canvas, &layout, (category, index), bar)?;
                }
            }
            self.draw_reference(canvas, &layout)
        })
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        if self.series.len() > 1 {
            for (index, series) in self.series.iter().enumerate() {
                legend.add(&series.name, Sample::Box(look(index).color));
            }
        }
        if let Some(reference) = &self.reference {
            let look = Look {
                color: INK,
                marker: Marker::Dot,
                dash: Dash::Dashed,
            };
            legend.add(
                &reference.name,
                Sample::Line {
                    look,
                    width: 1.5,
                    marked: false,
                },
            );
        }
        legend
    }

    /// Returns the bars of a series that can be drawn, with the indices of their categories.
    pub(super) fn bars<'c>(&self, series: &'c BarSeries) -> impl Iterator<Item = (usize, &'c Bar)> {
        let bars = series.bars.iter().take(self.categories.len()).enumerate();
        bars.filter_map(|(category, bar)| Some((category, bar.as_ref()?)))
            .filter(|(_, bar)| bar.mean.is_finite())
    }

    /// Returns the value axis, with space for the values that are written at the ends of the bars.
    fn value_axis(&self, length: f64) -> Option<Axis> {
        let bars = || {
            self.series
                .iter()
                .flat_map(|series| self.bars(series))
                .map(|(_, bar)| bar)
        };
        let lowest = bars().map(|bar| bar.mean).reduce(f64::min)?;
        let floor = if lowest >= 0.0 {
            0.0
        } else {
            f64::NEG_INFINITY
        };
        let values = bars()
            .flat_map(|bar| {
                let (low, high) = bar.interval().unwrap_or((bar.mean, bar.mean));
                [low.max(floor), high * 1.06]
            })
            .chain(self.reference.iter().map(|reference| reference.value));
        Axis::vertical(values, Scale::Linear, true, length)
    }

    fn layout(&self, top: f64, right: f64, legend_height: f64) -> Option<Layout> {
        let bottom = top + STANDING_HEIGHT.max(legend_height);
        let values = self.value_axis(bottom - top)?;
        let left = Panel::left_of(Some(&values));
        let slot = (right - left) / self.categories.len() as f64;
        let bar = (slot * 0.78 / self.series.len() as f64).min(STANDING_BAR_MAX);
        let names = self.names(|name| wrap(name, TICK, slot - 8.0));
        if widest(&names) > slot - 6.0 || most_lines(&names) > 3 || bar < STANDING_BAR_MIN {
            return self.lying_layout(top, right);
        }
        Some(Layout {
            orientation: Orientation::Standing,
            frame: Frame {
                left,
                top,
                right,
                bottom,
            },
            values,
            slot,
            bar,
            names,
            magnitude: self.magnitude(),
        })
    }

    fn lying_layout(&self, top: f64, right: f64) -> Option<Layout> {
        let series = self.series.len() as f64;
        let names = self.names(|name| fold(name, TICK, LYING_NAME_MAX));
        let bar = (LYING_BAR - 2.0 * (series - 1.0)).clamp(7.0, LYING_BAR);
        let slot = (bar * series + 8.0).max(most_lines(&names) as f64 * NAME_LINE + 6.0);
        // The name of the value axis is below the chart, so no space is needed above.
        let top = top - Y_NAME_HEIGHT + 8.0;
        let bottom = top + slot * self.categories.len() as f64;
        let frame = Frame {
            left: MARGIN + widest(&names) + 10.0,
            top,
            right,
            bottom,
        };
        Some(Layout {
            orientation: Orientation::Lying,
            // Labels next to each other need more space than labels above each other.
            values: self.value_axis(frame.width() * 0.6)?,
            frame,
            slot,
            bar,
            names,
            magnitude: self.magnitude(),
        })
    }

    fn names(&self, broken: impl Fn(&str) -> Vec<String>) -> Vec<Vec<String>> {
        self.categories.iter().map(|name| broken(name)).collect()
    }

    fn magnitude(&self) -> f64 {
        let bars = self.series.iter().flat_map(|series| self.bars(series));
        bars.map(|(_, bar)| bar.mean.abs()).fold(0.0, f64::max)
    }

    fn draw_bar(
        &self,
        canvas: &Canvas<'_>,
        layout: &Layout,
        (category, index): (usize, usize),
        bar: &Bar,
    ) -> Result<(), FigureError> {
        let group = layout.bar * self.series.len() as f64;
        let start = layout.slot * (category as f64 + 0.5) - group / 2.0 + layout.bar * index as f64;
        let (near, far) = (start + 0.7, start + layout.bar - 0.7);
        let color = look(index).color;
        canvas.rectangle(layout.at(near, 0.0), layout.at(far, bar.mean), color, 1.0)?;
        let middle = f64::midpoint(near, far);
        let mut end = bar.mean;
        if let Some((low, high)) = bar.interval() {
            let stroke = Stroke::solid(INK, 1.2);
            let cap = (layout.bar * 0.22).min(5.0);
            canvas.line(&[layout.at(middle, low), layout.at(middle, high)], &stroke)?;
            for edge in [low, high] {
                let ends = [layout.at(middle - cap, edge), layout.at(middle + cap, edge)];
                canvas.line(&ends, &stroke)?;
            }
            end = if bar.mean < 0.0 { low } else { high };
        }
        layout.draw_value(canvas, middle, end, &in_company(bar.mean, layout.magnitude))
    }

    fn draw_reference(&self, canvas: &Canvas<'_>, layout: &Layout) -> Result<(), FigureError> {
        let Some(reference) = self
            .reference
            .as_ref()
            .filter(|line| line.value.is_finite())
        else {
            return Ok(());
        };
        let stroke = Stroke {
            dash: Dash::Dashed,
            ..Stroke::solid(INK, 1.5)
        };
        let end = layout.slot * self.categories.len() as f64;
        let ends = [
            layout.at(0.0, reference.value),
            layout.at(end, reference.value),
        ];
        canvas.line(&ends, &stroke)
    }
}

impl Layout {
    /// Returns the place that is `along` px into the categories and at `value` on the value axis, within the frame.
    fn at(&self, along: f64, value: f64) -> Place {
        let position = self.values.position(value).clamp(0.0, 1.0);
        match self.orientation {
            Orientation::Standing => (
                self.frame.left + along,
                self.frame.bottom - position * self.frame.height(),
            ),
            Orientation::Lying => (
                self.frame.left + position * self.frame.width(),
                self.frame.top + along,
            ),
        }
    }

    fn draw_axes(&self, canvas: &Canvas<'_>, value_name: &str) -> Result<(), FigureError> {
        let Frame {
            left,
            top,
            right,
            bottom,
        } = self.frame;
        for tick in &self.values.ticks {
            let (x, y) = self.at(0.0, tick.value);
            match self.orientation {
                Orientation::Standing => {
                    canvas.line(&[(left, y), (right, y)], &Stroke::solid(GRID, 1.0))?;
                    let lettering = Lettering::right(TICK, SOFT_INK);
                    canvas.text(&tick.label, (left - 8.0, y), &lettering)?;
                }
                Orientation::Lying => {
                    canvas.line(&[(x, top), (x, bottom)], &Stroke::solid(GRID, 1.0))?;
                    let place = (x, bottom + X_TICKS_HEIGHT / 2.0);
                    canvas.text(&tick.label, place, &Lettering::centre(TICK, SOFT_INK))?;
                }
            }
        }
        let end = self.slot * self.names.len() as f64;
        canvas.line(
            &[self.at(0.0, 0.0), self.at(end, 0.0)],
            &Stroke::solid(AXIS, 1.2),
        )?;
        match self.orientation {
            Orientation::Standing => self.frame.draw_names(canvas, "", value_name)?,
            Orientation::Lying => {
                let place = (f64::midpoint(left, right), bottom + 37.0);
                canvas.text(value_name, place, &Lettering::centre(LABEL, INK))?;
            }
        }
        self.draw_category_names(canvas)
    }

    fn draw_category_names(&self, canvas: &Canvas<'_>) -> Result<(), FigureError> {
        for (category, lines) in self.names.iter().enumerate() {
            let middle = self.slot * (category as f64 + 0.5);
            let (mut place, lettering) = match self.orientation {
                Orientation::Standing => (
                    (self.frame.left + middle, self.frame.bottom + 15.0),
                    Lettering::centre(TICK, INK),
                ),
                Orientation::Lying => {
                    let (_, y) = self.at(middle, 0.0);
                    let first = y - NAME_LINE * (lines.len() as f64 - 1.0) / 2.0;
                    ((self.frame.left - 8.0, first), Lettering::right(TICK, INK))
                }
            };
            for line in lines {
                canvas.text(line, place, &lettering)?;
                place.1 += NAME_LINE;
            }
        }
        Ok(())
    }

    /// Writes the value of a bar beyond the end of the bar, if the bar is thick enough.
    fn draw_value(
        &self,
        canvas: &Canvas<'_>,
        middle: f64,
        end: f64,
        text: &str,
    ) -> Result<(), FigureError> {
        let (x, y) = self.at(middle, end);
        match self.orientation {
            Orientation::Standing if self.bar >= VALUED_STANDING_BAR_MIN => {
                let y = if end < 0.0 { y + 10.0 } else { y - 10.0 };
                canvas.text(text, (x, y), &Lettering::centre(VALUE, INK))
            }
            Orientation::Lying if self.bar >= VALUED_LYING_BAR_MIN => {
                if end < 0.0 {
                    canvas.text(text, (x - 6.0, y), &Lettering::right(VALUE, INK))
                } else {
                    canvas.text(text, (x + 6.0, y), &Lettering::left(VALUE, INK))
                }
            }
            Orientation::Standing | Orientation::Lying => Ok(()),
        }
    }
}

fn widest(names: &[Vec<String>]) -> f64 {
    names
        .iter()
        .flatten()
        .map(|line| text_width(line, TICK))
        .fold(0.0, f64::max)
}

fn most_lines(names: &[Vec<String>]) -> usize {
    names.iter().map(Vec::len).max().unwrap_or(0)
}
