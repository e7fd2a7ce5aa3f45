//! Values over time, with one panel for each of several runs. The panels are one above another on the same axes, so
//! that no line hides another.

use super::FigureError;
use super::axis::{Axis, Scale};
use super::canvas::{Canvas, Lettering, Place, Stroke, picture};
use super::chart::{Heading, MARGIN, X_NAMES_HEIGHT, Y_NAME_HEIGHT, panel_right};
use super::legend::{Legend, Sample};
use super::panel::{Frame, Labels, Panel};
use super::steps;
use super::style::{Dash, GREY, INK, LABEL, Look, Marker, WIDTH, look};

/// Height of the line with a panel's name, in px.
const NAME: f64 = 24.0;
const LINE_WIDTH: f64 = 1.3;
const REFERENCE_WIDTH: f64 = 1.0;

/// Panels of one value over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimePanels {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions. May be empty.
    pub subtitle: String,
    /// Text description for readers who cannot see the figure.
    pub description: String,
    /// Name of the horizontal axis with its unit: `"time (s)"`.
    pub x_label: String,
    /// Name of the value with its unit: `"cwnd (segments)"`.
    pub y_label: String,
    /// The panels, from top to bottom.
    pub panels: Vec<TimePanel>,
    /// A grey reference line that all panels contain.
    pub reference: Option<TimePanel>,
}

/// A panel with its name and its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimePanel {
    /// Name of the panel.
    pub name: String,
    /// Samples: a time in seconds, ascending, and the value at this time.
    pub points: Vec<(f64, f64)>,
}

impl TimePanels {
    /// Returns the figure as an SVG picture 900 px wide.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let heading = Heading::new(&self.title, &self.subtitle);
        let legend = self.legend();
        let right = panel_right(&[&legend]);
        let top = heading.bottom() + Y_NAME_HEIGHT;
        let height = self.panel_height();
        let count = self.panels.len().max(1) as f64;
        let bottom = (top + count * (NAME + height)).max(top + legend.height());
        let range = steps::window(None, self.points().map(|point| point.0));
        let values = self.points().map(|point| point.1);
        let y = Axis::vertical(values, Scale::Linear, true, height);
        let left = Panel::left_of(y.as_ref());
        let frame = |index: usize| {
            let bottom = top + (index + 1) as f64 * (NAME + height);
            Frame {
                left,
                top: bottom - height,
                right,
                bottom,
            }
        };
        let size = (WIDTH, bottom + X_NAMES_HEIGHT + MARGIN / 2.0);
        let words = (self.title.as_str(), self.description.as_str());
        picture(size, words, |canvas| {
            heading.draw(canvas)?;
            legend.draw(canvas, right + 20.0, top + NAME)?;
            let label = Lettering::left(LABEL, INK);
            canvas.text(&self.y_label, (MARGIN, top - 15.0), &label)?;
            let last = self.panels.len().saturating_sub(1);
            frame(last).draw_x_name(canvas, &self.x_label)?;
            let Some(((start, end), y)) = range.zip(y) else {
                return frame(last).draw_empty(canvas);
            };
            for (index, series) in self.panels.iter().enumerate() {
                let frame = frame(index);
                let panel = Panel {
                    frame,
                    x: Axis::exact(start, end, frame.width()),
                    y: y.clone(),
                };
                let name = (frame.left, frame.top - NAME / 2.0 + 1.0);
                canvas.text(&series.name, name, &Lettering::left(LABEL, INK))?;
                let labels = match index == last {
                    true => Labels::Shown,
                    false => Labels::Hidden,
                };
                panel.draw_grid(canvas, labels)?;
                if let Some(reference) = &self.reference {
                    draw(canvas, &panel, &reference.points, &reference_stroke())?;
                }
                let stroke = Stroke::solid(look(0).color, LINE_WIDTH);
                draw(canvas, &panel, &series.points, &stroke)?;
            }
            Ok(())
        })
    }

    /// Returns the height of a panel in px, which decreases with the number of panels.
    fn panel_height(&self) -> f64 {
        match self.panels.len() {
            0..=2 => 150.0,
            3..=5 => 110.0,
            _ => 74.0,
        }
    }

    fn points(&self) -> impl Iterator<Item = &(f64, f64)> {
        let all = self.panels.iter().chain(&self.reference);
        all.flat_map(|panel| &panel.points)
    }

    /// Returns a legend with the reference line, which is the same in all panels. The name of each panel is above the
    /// panel.
    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        if let Some(reference) = &self.reference {
            let look = Look {
                color: GREY,
                marker: Marker::Dot,
                dash: Dash::Solid,
            };
            let sample = Sample::Line {
                look,
                width: REFERENCE_WIDTH + 0.4,
                marked: false,
            };
            legend.add(&reference.name, sample);
        }
        legend
    }
}

fn reference_stroke() -> Stroke {
    Stroke::solid(GREY, REFERENCE_WIDTH)
}

/// Draws straight lines between samples. Of each pixel column, only the minimum and the maximum are drawn.
fn draw(
    canvas: &Canvas<'_>,
    panel: &Panel,
    samples: &[(f64, f64)],
    stroke: &Stroke,
) -> Result<(), FigureError> {
    let finite = samples.iter().filter(|sample| sample.1.is_finite());
    let places: Vec<Place> = finite.map(|&(time, value)| panel.at(time, value)).collect();
    canvas.line(&envelope(&places), stroke)
}

/// Returns the highest and the lowest place of each pixel column, in time order.
fn envelope(places: &[Place]) -> Vec<Place> {
    let mut kept = Vec::new();
    for column in places.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let extreme = |better: fn(f64, f64) -> bool| {
            (0..column.len()).reduce(|a, b| match better(column[b].1, column[a].1) {
                true => b,
                false => a,
            })
        };
        let mut indices = [extreme(|a, b| a < b), extreme(|a, b| a > b)];
        indices.sort_unstable();
        kept.extend(indices.iter().flatten().map(|&index| column[index]));
    }
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sawtooth with 20 teeth from 20 to 40, with several samples per pixel.
    fn sawtooth() -> TimePanel {
        let points = (0..6000).map(|n| (f64::from(n) / 100.0, 20.0 + f64::from(n % 300) / 15.0));
        TimePanel {
            name: "sack/reno".to_owned(),
            points: points.collect(),
        }
    }

    /// Returns the places of every line of a picture, in px.
    fn lines(svg: &str) -> Vec<Vec<Place>> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let lines = document.descendants();
        let points = lines.filter_map(|node| node.attribute("points"));
        let place = |pair: &str| {
            let (x, y) = pair.split_once(',').unwrap();
            (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
        };
        points
            .map(|points| points.split_whitespace().map(place).collect())
            .collect()
    }

    #[test]
    fn every_run_has_a_panel_with_its_name_and_every_tooth() {
        let other = TimePanel {
            name: "rack/cubic".to_owned(),
            ..sawtooth()
        };
        let figure = TimePanels {
            title: "Congestion window over time".to_owned(),
            x_label: "time (s)".to_owned(),
            y_label: "cwnd (segments)".to_owned(),
            panels: vec![sawtooth(), other],
            ..TimePanels::default()
        };
        let svg = figure.svg().unwrap();
        for word in ["sack/reno", "rack/cubic", "time (s)", "cwnd (segments)"] {
            assert!(svg.contains(word), "{word}");
        }
        let curves: Vec<_> = { lines(&svg) }
            .into_iter()
            .filter(|l| l.len() > 100)
            .collect();
        assert_eq!(curves.len(), 2);
        for curve in &curves {
            let heights = || curve.iter().map(|place| place.1);
            let (low, high) = (
                heights().fold(0.0, f64::max),
                heights().fold(f64::MAX, f64::min),
            );
            let falls = curve.windows(2).filter(|pair| {
                // Vertical positions increase downwards.
                pair[1].1 - pair[0].1 > 0.9 * (low - high)
            });
            assert_eq!(falls.count(), 19);
            assert!(curve.len() < 2000, "{}", curve.len());
        }
        let highest = |curve: &[Place]| curve.iter().map(|p| p.1).fold(f64::MAX, f64::min);
        assert!(
            highest(&curves[1]) > highest(&curves[0]) + 100.0,
            "below one another"
        );
    }

    #[test]
    fn empty_panels_have_a_note() {
        let figure = TimePanels::default();
        assert!(figure.svg().unwrap().contains("no data"));
    }
}
