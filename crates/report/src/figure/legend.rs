//! The legend: beside the panel, never over the curves, each entry with a sample of its looks.

use plotters::style::RGBColor;

use super::FigureError;
use super::canvas::{Canvas, Lettering, Stroke, fold, text_width};
use super::chart::MARGIN;
use super::style::{INK, LEGEND, Look, Marker, VALUE};

const SAMPLE_WIDTH: f64 = 30.0;
const GAP: f64 = 8.0;
const LINE_HEIGHT: f64 = 17.0;
const ENTRY_GAP: f64 = 7.0;
/// Where names are broken, in px.
const NAME_WIDTH_MAX: f64 = 150.0;

/// What stands before a name.
#[derive(Clone, Copy)]
pub(super) enum Sample {
    /// A line, with the series' marker on it or not.
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
    /// A word as it stands in the figure.
    Word(&'static str, RGBColor),
}

/// Names and their samples, from top to bottom.
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

    /// An entry whose name is not broken: for [`draw_flowing`](Self::draw_flowing).
    pub(super) fn add_whole(&mut self, name: &str, sample: Sample) {
        self.entries.push((sample, vec![name.to_owned()]));
    }

    /// Where the entries stand beside one another, in lines of at most `width` px: from the left,
    /// and in which line.
    fn flow(&self, width: f64) -> Vec<(f64, usize)> {
        const BETWEEN: f64 = 22.0;
        let (mut left, mut line) = (0.0, 0);
        let mut places = Vec::new();
        for (_, lines) in &self.entries {
            let own = SAMPLE_WIDTH + GAP + text_width(&lines.join(" "), LEGEND);
            if left > 0.0 && left + own > width {
                (left, line) = (0.0, line + 1);
            }
            places.push((left, line));
            left += own + BETWEEN;
        }
        places
    }

    /// The height in px of the entries beside one another in lines of at most `width` px.
    pub(super) fn flow_height(&self, width: f64) -> f64 {
        let last = self.flow(width).last().map(|place| place.1 + 1);
        last.unwrap_or_default() as f64 * (LINE_HEIGHT + ENTRY_GAP)
    }

    /// Draws the entries beside one another, in lines of at most `width` px.
    pub(super) fn draw_flowing(
        &self,
        canvas: &Canvas<'_>,
        top: f64,
        width: f64,
    ) -> Result<(), FigureError> {
        for ((sample, lines), (left, line)) in self.entries.iter().zip(self.flow(width)) {
            let y = top + LINE_HEIGHT / 2.0 + line as f64 * (LINE_HEIGHT + ENTRY_GAP);
            let left = MARGIN + left;
            sample.draw(canvas, left, y)?;
            let place = (left + SAMPLE_WIDTH + GAP, y);
            canvas.text(&lines.join(" "), place, &Lettering::left(LEGEND, INK))?;
        }
        Ok(())
    }

    /// Width in px; zero without entries.
    pub(super) fn width(&self) -> f64 {
        let names = self.entries.iter().flat_map(|(_, lines)| lines);
        names
            .map(|line| SAMPLE_WIDTH + GAP + text_width(line, LEGEND))
            .fold(0.0, f64::max)
    }

    /// Height in px.
    pub(super) fn height(&self) -> f64 {
        self.entries
            .iter()
            .map(|(_, lines)| lines.len() as f64 * LINE_HEIGHT + ENTRY_GAP)
            .sum()
    }

    pub(super) fn draw(&self, canvas: &Canvas<'_>, left: f64, top: f64) -> Result<(), FigureError> {
        let mut y = top + LINE_HEIGHT / 2.0;
        for (sample, lines) in &self.entries {
            sample.draw(canvas, left, y)?;
            for line in lines {
                let place = (left + SAMPLE_WIDTH + GAP, y);
                canvas.text(line, place, &Lettering::left(LEGEND, INK))?;
                y += LINE_HEIGHT;
            }
            y += ENTRY_GAP;
        }
        Ok(())
    }
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
