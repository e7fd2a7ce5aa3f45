//! Pictures for reports: charts of measures, windows over time, and the time–sequence plot.
//!
//! Each chart is a plain struct of labels and numbers, whose `svg` method draws it. With the features `png` and `pdf`,
//! the functions of the same names convert the result with a built-in font, so a picture is the same on every machine.
//! Pictures have dark ink on white, or light ink on black if the reader's system prefers this. They use the colours of
//! Okabe and Ito, with markers and dashes as a second distinction. Each picture contains a text description
//! ([`in_words`]). Axis labels include units (`"goodput (Mbit/s)"`). Points are left out if they are not finite, or if
//! they are not positive on a logarithmic axis. A chart without points is an empty frame with a note.

mod aligned;
mod axis;
mod bar;
mod canvas;
mod chart;
mod facets;
mod flow_panels;
mod flow_words;
mod heat;
mod ladder;
mod legend;
mod line;
mod panel;
#[cfg(feature = "pdf")]
mod pdf;
mod phases;
#[cfg(feature = "png")]
mod png;
mod step;
mod steps;
mod style;
mod time_panels;
mod time_sequence;
mod timeline;
mod winners;
mod words;

#[cfg(test)]
mod tests;

pub use aligned::{Aligned, Arrangement};
pub use axis::Scale;
pub use bar::{Bar, BarChart, BarSeries, Reference};
pub use canvas::in_words;
pub use facets::{Facet, Facets};
pub(crate) use flow_words::{ladder_in_words, plot_in_words};
pub use heat::{HeatCell, HeatMap, HeatPanel, Shades};
pub use ladder::{Ladder, LadderColumn, Rung, RungEnd, RungKind};
pub use line::{LineChart, Point, Series};
#[cfg(feature = "pdf")]
pub use pdf::pdf;
#[cfg(feature = "png")]
pub use png::png;
pub use step::{StepChart, StepSeries};
pub use time_panels::{TimePanel, TimePanels};
pub use time_sequence::{Duplicates, Retransmissions, SackBlock, TimeSequence};
pub use timeline::{
    Depth, FromZero, Hue, RowHeight, Shape, Timeline, TimelineBand, TimelineLine, TimelineMarks,
    TimelinePlot, TimelineRow, TimelineSpans, TimelineTicks,
};

pub use winners::Winners;

use thiserror::Error;

/// A figure with the name of its file.
#[derive(Clone, Debug)]
pub struct Figure {
    /// File name without extension.
    pub name: String,
    /// The picture.
    pub svg: String,
    /// Caption.
    pub caption: String,
}

/// Errors when drawing and converting pictures.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FigureError {
    /// The drawing backend failed.
    #[error("cannot draw the chart: {0}")]
    Draw(String),
    /// The text is not an SVG picture.
    #[cfg(any(feature = "png", feature = "pdf"))]
    #[error("the picture is not valid SVG: {0}")]
    Svg(String),
    /// The scale results in a bitmap of an impossible size.
    #[cfg(feature = "png")]
    #[error("a scale of {scale} gives a bitmap that is empty or too large")]
    Scale {
        /// The given scale: bitmap pixels per SVG pixel.
        scale: f32,
    },
    /// The picture cannot be encoded as PNG or PDF.
    #[cfg(any(feature = "png", feature = "pdf"))]
    #[error("cannot encode the picture: {0}")]
    Encode(String),
}
