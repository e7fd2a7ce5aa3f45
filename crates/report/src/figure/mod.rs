//! Pictures for reports: charts of measures, windows over time, and the time-sequence plot.
//!
//! Each chart is a plain struct of labels and numbers whose `svg` method draws it; with the
//! features `png` and `pdf`, the functions of those names turn the result into such a file with a
//! built-in font, so that a picture is the same on every machine. Dark ink on white (light on black where
//! the reader's system asks for that), and Okabe and Ito's colours, told apart by markers and dashes
//! as well. Each picture says in words what is seen in it ([`in_words`]). Units belong into the axis labels (`"goodput (Mbit/s)"`). Points that are not finite,
//! or not positive on a logarithmic axis, are left out; a chart without any draws an empty
//! frame that says so.

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
    /// File name without its ending.
    pub name: String,
    /// The picture.
    pub svg: String,
    /// What it shows.
    pub caption: String,
}

/// Why there is no picture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FigureError {
    /// The drawing backend gave up.
    #[error("the chart could not be drawn: {0}")]
    Draw(String),
    /// The text is not an SVG picture.
    #[cfg(any(feature = "png", feature = "pdf"))]
    #[error("the picture is not valid SVG: {0}")]
    Svg(String),
    /// The scale makes a bitmap of an impossible size.
    #[cfg(feature = "png")]
    #[error("a scale of {scale} makes a bitmap that is empty or too large")]
    Scale {
        /// The scale as given: bitmap pixels per SVG pixel.
        scale: f32,
    },
    /// The picture could not be written as PNG or PDF.
    #[cfg(any(feature = "png", feature = "pdf"))]
    #[error("the picture could not be encoded: {0}")]
    Encode(String),
}
