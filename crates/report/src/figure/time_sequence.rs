//! The time–sequence plot of the literature on loss recovery (Fall and Floyd 1996): every packet of a connection is
//! shown above, and the windows below, on one time axis.

use dupack_lab::trace::phase::Phase;

use super::FigureError;
use super::axis::Axis;
use super::canvas::picture;
use super::chart::{Heading, MARGIN, X_NAMES_HEIGHT, Y_NAME_HEIGHT, panel_right};
use super::flow_panels::{Looks, legends, packet_axis, window_axis};
use super::flow_words::part_in_words;
use super::panel::{Frame, Panel};
use super::steps;
use super::style::WIDTH;
use super::words;

const PACKETS_HEIGHT: f64 = 350.0;
const WINDOWS_HEIGHT: f64 = 160.0;
const GAP: f64 = 14.0;

/// The packets and windows of one connection over time. Times are in seconds and ascend, and vertical values are in
/// packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSequence {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions, such as path, stack and seed. May be empty.
    pub subtitle: String,
    /// Time range to show in seconds, or `None` to show all times. The vertical axes fit the values in this range.
    pub time_range: Option<(f64, f64)>,
    /// First transmissions: time and packet number.
    pub sends: Vec<(f64, f64)>,
    /// Retransmissions, grouped by their reason.
    pub retransmissions: Vec<Retransmissions>,
    /// Cumulative acknowledgements at the sender: time and next packet expected.
    pub acks: Vec<(f64, f64)>,
    /// SACK blocks that reach the sender.
    pub sacks: Vec<SackBlock>,
    /// Packets that the network dropped: time and packet number.
    pub drops: Vec<(f64, f64)>,
    /// Congestion window: time and value from this time on.
    pub cwnd: Vec<(f64, f64)>,
    /// Slow-start threshold: time and value from this time on. A value is not drawn if it is not finite, or if it is
    /// above the panel, like most initial values.
    pub ssthresh: Vec<(f64, f64)>,
    /// Textbook window, which is inflated during fast recovery (RFC 5681 §3.2): time and value. Empty if it is not
    /// shown.
    pub inflated: Vec<(f64, f64)>,
    /// Sender's estimate of the data in flight: time and value from this time on.
    pub in_flight: Vec<(f64, f64)>,
    /// Congestion windows of other flows, with the names of the flows.
    pub others: Vec<(String, Vec<(f64, f64)>)>,
    /// Series of consecutive duplicate ACKs.
    pub duplicates: Vec<Duplicates>,
    /// Phases of the sender, each with its start time.
    pub phases: Vec<(f64, Phase)>,
}

/// A series of consecutive duplicate ACKs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplicates {
    /// Arrival time of the last ACK of the series at the sender, in seconds.
    pub time: f64,
    /// Number of the packet that the duplicate ACKs ask for.
    pub packet: f64,
    /// Number of duplicate ACKs.
    pub count: u32,
}

/// Retransmissions of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retransmissions {
    /// Reason of the retransmissions, as in the legend: `"fast retransmit"`.
    pub reason: String,
    /// Time in seconds and packet number of each retransmission.
    pub points: Vec<(f64, f64)>,
}

/// A block of a selective acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SackBlock {
    /// Arrival time at the sender, in seconds.
    pub time: f64,
    /// First packet of the block.
    pub first: f64,
    /// Packet after the last packet of the block.
    pub end: f64,
}

impl TimeSequence {
    /// Returns the plot as an SVG picture 900 px wide, without phases. [`Aligned`](super::Aligned) also shows phases.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let heading = Heading::new(&self.title, &self.subtitle);
        let range = steps::window(self.time_range, self.times());
        let looks = Looks::of(&[self]);
        let seen = range.map(|range| part_in_words(self, range));
        let seen = seen.unwrap_or_else(|| words::NOTHING.to_owned());
        let (packets_legend, windows_legend) = legends(&[self], &looks, range);
        let right = panel_right(&[&packets_legend, &windows_legend]);
        let top = heading.bottom() + Y_NAME_HEIGHT;
        let bottom = top + PACKETS_HEIGHT.max(packets_legend.height());
        let lower_top = bottom + GAP + Y_NAME_HEIGHT;
        let lower_bottom = lower_top + WINDOWS_HEIGHT;
        let packets = range.and_then(|range| packet_axis(&[self], range, bottom - top));
        let windows = range.and_then(|range| window_axis(&[self], range, lower_bottom - lower_top));
        let left = Panel::left_of(packets.as_ref()).max(Panel::left_of(windows.as_ref()));
        let upper = Frame {
            left,
            top,
            right,
            bottom,
        };
        let lower = Frame {
            left,
            top: lower_top,
            right,
            bottom: lower_bottom,
        };
        let time = range.map(|(start, end)| Axis::exact(start, end, upper.width()));
        picture(
            (WIDTH, lower_bottom + X_NAMES_HEIGHT + MARGIN / 2.0),
            (&self.title, &seen),
            |canvas| {
                heading.draw(canvas)?;
                upper.draw_names(canvas, "", "packet number")?;
                lower.draw_names(canvas, "time (s)", "window (packets)")?;
                packets_legend.draw(canvas, right + 20.0, top)?;
                windows_legend.draw(canvas, right + 20.0, lower_top)?;
                match time.clone().zip(packets) {
                    Some((x, y)) => {
                        let frame = upper;
                        self.draw_packets(canvas, &Panel { frame, x, y }, &looks)?;
                    }
                    None => upper.draw_empty(canvas)?,
                }
                match time.zip(windows) {
                    Some((x, y)) => {
                        let frame = lower;
                        self.draw_windows(canvas, &Panel { frame, x, y }, &looks)
                    }
                    None => lower.draw_empty(canvas),
                }
            },
        )
    }
}
