//! The legend, which is next to the panel and never over the curves. Each entry has a sample of its style.

use plotters::style::RGBColor;

use super::FigureError;
use super::canvas::{Canvas, Lettering, Place, Stroke, fold, text_width};
use super::chart::MARGIN;
use super::style::{INK, LEGEND, Look, Marker, VALUE, WIDTH};

const SAMPLE_WIDTH: f64 = 30.0;
const GAP: f64 = 8.0;
const LINE_HEIGHT: f64 = 17.0;
const ENTRY_GAP: f64 = 7.0;
/// Maximum width of names, in px. Longer names are broken.
const NAME_WIDTH_MAX: f64 = 150.0;

/// Sample that precedes a name.
#[derive(Clone, Copy)]
pub(super) enum Sample {
    /// A line, with or without the marker of the series.
    Line {
        look: Look,
        width: f64,
        marked: bool,
    },
    /// A filled box.
    Box(RGBColor),
    /// A marker of this radius in px.
    Mark(Marker, RGBColor, f64),
    /// A thin vertical bar.
    Bar(RGBColor),
    /// A filled box of this opacity.
    Tint(RGBColor, f64),
    /// A word, as it is written in the figure.
    Word(&'static str, RGBColor),
}

/// Names with their samples, in order from top to bottom.
#[derive(Default)]
pub(super) struct Legend {
    entries: Vec<(Sample, Vec<String>)>,
}

impl Legend {
    pub(super) fn add(&mut self, name: &str, sample: Sample) {
        let mut lines = fold(name, LEGEND, NAME_WIDTH_MAX);
        if lines.is_empty() {
            lines.push("\u{2014}".to_owned());
        }
        self.entries.push((sample, lines));
    }

    /// Adds an entry for [`draw_flowing`](Self::draw_flowing). The name is broken only if it is wider than the whole
    /// figure.
    pub(super) fn add_whole(&mut self, name: &str, sample: Sample) {
        let lines = fold(name, LEGEND, WIDTH - 2.0 * MARGIN - SAMPLE_WIDTH - GAP);
        self.entries.push((sample, lines));
    }

    /// Returns the left and top position of each entry, in rows of at most `width` px, and the bottom of the last row.
    fn flow(&self, width: f64) -> (Vec<Place>, f64) {
        const BETWEEN: f64 = 22.0;
        let (mut left, mut top, mut bottom) = (0.0, 0.0, 0.0_f64);
        let mut places = Vec::new();
        for (_, lines) in &self.entries {
            let own = SAMPLE_WIDTH + GAP + widest(lines);
            if left > 0.0 && left + own > width {
                (left, top) = (0.0, bottom);
            }
            places.push((left, top));
            left += own + BETWEEN;
            bottom = bottom.max(top + lines.len() as f64 * LINE_HEIGHT + ENTRY_GAP);
        }
        (places, bottom)
    }

    /// Returns the height in px of the entries in rows of at most `width` px.
    pub(super) fn flow_height(&self, width: f64) -> f64 {
        self.flow(width).1
    }

    /// Draws the entries in rows of at most `width` px.
    pub(super) fn draw_flowing(
        &self,
        canvas: &Canvas<'_>,
        top: f64,
        width: f64,
    ) -> Result<(), FigureError> {
        let (places, _) = self.flow(width);
        { self.entries.iter().zip(places) }.try_for_each(|(entry, (left, down))| {
            draw_entry(canvas, entry, (MARGIN + left, top + down))
        })
    }

    /// Returns the width in px. The width is zero if there are no entries.
    pub(super) fn width(&self) -> f64 {
        let widths = self.entries.iter().map(|(_, lines)| widest(lines));
        widths
            .map(|name| SAMPLE_WIDTH + GAP + name)
            .fold(0.0, f64::max)
    }

    /// Returns the height in px.
    pub(super) fn height(&self) -> f64 {
        self.entries
            .iter()
            .map(|(_, lines)| lines.len() as f64 * LINE_HEIGHT + ENTRY_GAP)
            .sum()
    }

    pub(super) fn draw(&self, canvas: &Canvas<'_>, left: f64, top: f64) -> Result<(), FigureError> {
        let mut top = top;
        for entry in &self.entries {
            draw_entry(canvas, entry, (left, top))?;
            top += entry.1.len() as f64 * LINE_HEIGHT + ENTRY_GAP;
        }
        Ok(())
    }
}

/// Draws a sample with the lines of its name to its right.
fn draw_entry(
    canvas: &Canvas<'_>,
    (sample, lines): &(Sample, Vec<String>),
    (left, top): Place,
) -> Result<(), FigureError> {
    let mut y = top + LINE_HEIGHT / 2.0;
    sample.draw(canvas, left, y)?;
    for line in lines {
        let place = (left + SAMPLE_WIDTH + GAP, y);
        canvas.text(line, place, &Lettering::left(LEGEND, INK))?;
        y += LINE_HEIGHT;
    }
    Ok(())
}

fn widest(lines: &[String]) -> f64 {
    let widths = lines.iter().map(|line| text_width(line, LEGEND));
    widths.fold(0.0, f64::max)
}

impl Sample {
    fn draw(self, canvas: &Canvas<'_>, left: f64, y: f64) -> Result<(), FigureError> {
        let middle = left + SAMPLE_WIDTH / 2.0;
        match self {
            Self::Line {
                look,
                width,
                marked,
            } => {
                let stroke = Stroke {
                    dash: look.dash,
                    ..Stroke::solid(look.color, width)
                };
                canvas.line(&[(left, y), (left + SAMPLE_WIDTH, y)], &stroke)?;
                if marked {
                    canvas.marker(look.marker, (middle, y), 4.0, look.color)?;
                }
                Ok(())
            }
            Self::Box(color) => canvas.rectangle(
                (left + 12.0, y - 6.0),
                (left + SAMPLE_WIDTH, y + 6.0),
                color,
                1.0,
            ),
            Self::Tint(color, opacity) => {
                let right = left + SAMPLE_WIDTH;
                canvas.rectangle((left + 6.0, y - 6.0), (right, y + 6.0), color, opacity)
            }
            Self::Word(word, color) => {
                canvas.text(word, (middle, y), &Lettering::centre(VALUE, color))
            }
            Self::Mark(marker, color, radius) => canvas.marker(marker, (middle, y), radius, color),
            Self::Bar(color) => canvas.line(
                &[(middle, y - 7.0), (middle, y + 7.0)],
                &Stroke::solid(color, 2.0),
            ),
        }
    }
}
