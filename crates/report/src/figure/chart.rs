//! The parts of every chart: a heading at the top, one or more panels, and a legend on the right.

use super::FigureError;
use super::canvas::{Canvas, Lettering, fold};
use super::legend::Legend;
use super::style::{INK, SOFT_INK, SUBTITLE, TITLE, WIDTH};

/// Margin around the picture, in px.
pub(super) const MARGIN: f64 = 16.0;
/// Height of the axis name above a panel, in px.
pub(super) const Y_NAME_HEIGHT: f64 = 32.0;
/// Height of the tick labels and the axis name below a panel, in px.
pub(super) const X_NAMES_HEIGHT: f64 = 52.0;
/// Height of the tick labels alone, in px.
pub(super) const X_TICKS_HEIGHT: f64 = 28.0;

const TITLE_LINE: f64 = 26.0;
const SUBTITLE_LINE: f64 = 19.0;

/// Title and subtitle, broken into lines that fit into the picture.
pub(super) struct Heading {
    title: Vec<String>,
    subtitle: Vec<String>,
}

impl Heading {
    pub(super) fn new(title: &str, subtitle: &str) -> Self {
        Self::of_width(title, subtitle, WIDTH)
    }

    /// Returns the heading of a picture of this width in px.
    pub(super) fn of_width(title: &str, subtitle: &str, width: f64) -> Self {
        let width = width - 2.0 * MARGIN;
        Self {
            title: fold(title, TITLE, width),
            subtitle: fold(subtitle, SUBTITLE, width),
        }
    }

    /// Returns the bottom of the heading, in px from the top.
    pub(super) fn bottom(&self) -> f64 {
        let lines =
            self.title.len() as f64 * TITLE_LINE + self.subtitle.len() as f64 * SUBTITLE_LINE;
        MARGIN + lines + if lines > 0.0 { 6.0 } else { 0.0 }
    }

    pub(super) fn draw(&self, canvas: &Canvas<'_>) -> Result<(), FigureError> {
        let mut top = MARGIN;
        for line in &self.title {
            let lettering = Lettering::left(TITLE, INK);
            canvas.text(line, (MARGIN, top + TITLE_LINE / 2.0), &lettering)?;
            top += TITLE_LINE;
        }
        for line in &self.subtitle {
            let lettering = Lettering::left(SUBTITLE, SOFT_INK);
            canvas.text(line, (MARGIN, top + SUBTITLE_LINE / 2.0), &lettering)?;
            top += SUBTITLE_LINE;
        }
        Ok(())
    }
}

/// Returns the right edge of the panels in px, with space for the widest of `legends`.
pub(super) fn panel_right(legends: &[&Legend]) -> f64 {
    let width = legends
        .iter()
        .map(|legend| legend.width())
        .fold(0.0, f64::max);
    let gap = if width > 0.0 { 20.0 } else { 8.0 };
    WIDTH - MARGIN - width - gap
}
