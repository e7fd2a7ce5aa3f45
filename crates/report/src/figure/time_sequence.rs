//! The time-sequence plot of the loss-recovery literature (Fall and Floyd 1996): every packet
//! of a connection above, the windows that let it go below, on one time axis.

use std::collections::HashSet;

use plotters::style::RGBColor;

use super::FigureError;
use super::axis::{Axis, Scale};
use super::canvas::{Canvas, Stroke, picture};
use super::chart::{Heading, MARGIN, X_NAMES_HEIGHT, Y_NAME_HEIGHT, panel_right};
use super::legend::{Legend, Sample};
use super::panel::{Frame, Labels, Panel};
use super::steps;
use super::style::{
    BLACK, BLUE, Dash, GREEN, GREY, Look, Marker, ORANGE, PURPLE, SKY, SOFT_INK, VERMILLION, WIDTH,
};

const PACKETS_HEIGHT: f64 = 350.0;
const WINDOWS_HEIGHT: f64 = 160.0;
const GAP: f64 = 14.0;

const SENT: (Marker, RGBColor) = (Marker::Square, BLUE);
const DROPPED: (Marker, RGBColor) = (Marker::Cross, VERMILLION);
const ACKED: (Marker, RGBColor) = (Marker::Dot, SOFT_INK);
const SACKED: RGBColor = GREEN;

/// The looks of retransmissions, by the order of their reasons.
const RETRANSMITTED: [(Marker, RGBColor); 5] = [
    (Marker::TriangleUp, ORANGE),
    (Marker::Diamond, PURPLE),
    (Marker::TriangleDown, BLACK),
    (Marker::Ring, VERMILLION),
    (Marker::Circle, SKY),
];

const CWND: Look = Look {
    color: BLUE,
    marker: Marker::Dot,
    dash: Dash::Solid,
};
const SSTHRESH: Look = Look {
    color: VERMILLION,
    marker: Marker::Dot,
    dash: Dash::Dashed,
};
const IN_FLIGHT: Look = Look {
    color: GREY,
    marker: Marker::Dot,
    dash: Dash::Solid,
};
const CWND_WIDTH: f64 = 2.0;
const SSTHRESH_WIDTH: f64 = 1.6;
const IN_FLIGHT_WIDTH: f64 = 1.0;

/// The packets and windows of one connection over time. Times are seconds, ascending; the
/// vertical values are packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSequence {
    /// What the plot shows, in a few words.
    pub title: String,
    /// What one must know to read it: path, stack, seed. May be empty.
    pub subtitle: String,
    /// The part to show, in seconds; all if none. The vertical axes fit themselves to it.
    pub time_range: Option<(f64, f64)>,
    /// First transmissions: time, packet number.
    pub sends: Vec<(f64, f64)>,
    /// Repeated transmissions, by why they were sent.
    pub retransmissions: Vec<Retransmissions>,
    /// Cumulative acknowledgements at the sender: time, next packet expected.
    pub acks: Vec<(f64, f64)>,
    /// SACK blocks as they reach the sender.
    pub sacks: Vec<SackBlock>,
    /// Packets that the network dropped: time, packet number.
    pub drops: Vec<(f64, f64)>,
    /// The congestion window from each time on.
    pub cwnd: Vec<(f64, f64)>,
    /// The slow-start threshold from each time on. Where it is not finite, or above the panel
    /// as its initial value often is, it is left out.
    pub ssthresh: Vec<(f64, f64)>,
    /// What the sender counts as in flight, from each time on.
    pub in_flight: Vec<(f64, f64)>,
}

/// Retransmissions of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retransmissions {
    /// Why they were sent, as the legend names it: `"fast retransmit"`.
    pub reason: String,
    /// Time in seconds, packet number.
    pub points: Vec<(f64, f64)>,
}

/// A block of a selective acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SackBlock {
    /// When it reached the sender, in seconds.
    pub time: f64,
    /// Its first packet.
    pub first: f64,
    /// The packet after its last.
    pub end: f64,
}

/// The marks of one kind of packet.
struct Marks<'p> {
    name: &'p str,
    points: &'p [(f64, f64)],
    look: (Marker, RGBColor),
    /// The size, in px, below which it would be overlooked.
    radius_min: f64,
}

impl TimeSequence {
    /// The plot as an SVG picture 900 px wide.
    ///
    /// # Errors
    /// If the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let heading = Heading::new(&self.title, &self.subtitle);
        let range = steps::window(self.time_range, self.times());
        let packets_legend = self.packets_legend(range);
        let windows_legend = self.windows_legend();
        let right = panel_right(&[&packets_legend, &windows_legend]);
        let top = heading.bottom() + Y_NAME_HEIGHT;
        let bottom = top + PACKETS_HEIGHT.max(packets_legend.height());
        let lower_top = bottom + GAP + Y_NAME_HEIGHT;
        let lower_bottom = lower_top + WINDOWS_HEIGHT;
        let packets = range.and_then(|range| self.packet_axis(range, bottom - top));
        let windows = range.and_then(|range| self.window_axis(range, lower_bottom - lower_top));
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
            &self.title,
            |canvas| {
                heading.draw(canvas)?;
                upper.draw_names(canvas, "", "packet number")?;
                lower.draw_names(canvas, "time (s)", "window (packets)")?;
                packets_legend.draw(canvas, right + 20.0, top)?;
                windows_legend.draw(canvas, right + 20.0, lower_top)?;
                match time.clone().zip(packets) {
                    Some((x, y)) => self.draw_packets(canvas, &Panel { frame: upper, x, y })?,
                    None => upper.draw_empty(canvas)?,
                }
                match time.zip(windows) {
                    Some((x, y)) => self.draw_windows(canvas, &Panel { frame: lower, x, y }),
                    None => lower.draw_empty(canvas),
                }
            },
        )
    }

    /// Every kind of mark, in the order of the legend; drawn in that order too, the rare ones
    /// on top.
    fn marks(&self) -> impl Iterator<Item = Marks<'_>> {
        let (dot, common, rare) = (2.2, 1.3, 3.6);
        let kinds = [
            Marks {
                name: "ACK",
                points: &self.acks,
                look: ACKED,
                radius_min: dot,
            },
            Marks {
                name: "sent",
                points: &self.sends,
                look: SENT,
                radius_min: common,
            },
        ];
        let retransmitted = self
            .retransmissions
            .iter()
            .enumerate()
            .map(move |(index, kind)| Marks {
                name: &kind.reason,
                points: &kind.points,
                look: RETRANSMITTED[index % RETRANSMITTED.len()],
                radius_min: rare,
            });
        let dropped = Marks {
            name: "dropped",
            points: &self.drops,
            look: DROPPED,
            radius_min: rare,
        };
        kinds.into_iter().chain(retransmitted).chain([dropped])
    }

    /// The kinds that occur in the part shown.
    fn packets_legend(&self, range: Option<(f64, f64)>) -> Legend {
        let inside = |time: f64| range.is_some_and(|(start, end)| (start..=end).contains(&time));
        let mut legend = Legend::default();
        if self.sacks.iter().any(|block| inside(block.time)) {
            legend.add("SACK block", Sample::Bar(SACKED));
        }
        for marks in self.marks() {
            if marks.points.iter().any(|point| inside(point.0)) {
                let (marker, color) = marks.look;
                legend.add(
                    marks.name,
                    Sample::Mark(marker, color, marks.radius_min.max(3.2)),
                );
            }
        }
        legend
    }

    fn windows_legend(&self) -> Legend {
        let mut legend = Legend::default();
        let lines = [
            ("cwnd", &self.cwnd, CWND, CWND_WIDTH),
            ("ssthresh", &self.ssthresh, SSTHRESH, SSTHRESH_WIDTH),
            ("in flight", &self.in_flight, IN_FLIGHT, IN_FLIGHT_WIDTH),
        ];
        for (name, points, look, width) in lines {
            if !points.is_empty() {
                legend.add(
                    name,
                    Sample::Line {
                        look,
                        width,
                        marked: false,
                    },
                );
            }
        }
        legend
    }

    fn times(&self) -> impl Iterator<Item = f64> {
        let points = self.marks().flat_map(|marks| marks.points);
        let windows = [&self.cwnd, &self.ssthresh, &self.in_flight]
            .into_iter()
            .flatten();
        let sacks = self.sacks.iter().map(|block| block.time);
        points.chain(windows).map(|point| point.0).chain(sacks)
    }

    fn packet_axis(&self, range: (f64, f64), length: f64) -> Option<Axis> {
        let inside = |time: f64| (range.0..=range.1).contains(&time);
        let points = self.marks().flat_map(|marks| marks.points);
        let points = points.filter(|point| inside(point.0)).map(|point| point.1);
        let sacks = self.sacks.iter().filter(|block| inside(block.time));
        let sacks = sacks.flat_map(|block| [block.first, block.end]);
        Axis::snug(points.chain(sacks), length)
    }

    /// Fits `cwnd` and the flight; `ssthresh` only while it is of their size.
    fn window_axis(&self, range: (f64, f64), length: f64) -> Option<Axis> {
        const SSTHRESH_OVER_CWND_MAX: f64 = 1.5;
        let value = |point: &(f64, f64)| point.1;
        let cwnd = steps::within(&self.cwnd, range).iter().map(value);
        let in_flight = steps::within(&self.in_flight, range).iter().map(value);
        let used: Vec<f64> = cwnd
            .chain(in_flight)
            .filter(|value| value.is_finite())
            .collect();
        let most = used
            .iter()
            .copied()
            .reduce(f64::max)
            .unwrap_or(f64::INFINITY);
        let ssthresh = steps::within(&self.ssthresh, range).iter().map(value);
        let ssthresh = ssthresh.filter(|&value| value <= most * SSTHRESH_OVER_CWND_MAX);
        Axis::vertical(
            used.iter().copied().chain(ssthresh),
            Scale::Linear,
            true,
            length,
        )
    }

    fn draw_packets(&self, canvas: &Canvas<'_>, panel: &Panel) -> Result<(), FigureError> {
        panel.draw_grid(canvas, Labels::Hidden)?;
        // As large as the packets are apart, within what can be told from its neighbours.
        const RADIUS_MAX: f64 = 3.2;
        let apart = panel.frame.height() / (panel.y.high - panel.y.low);
        self.draw_sacks(canvas, panel)?;
        for marks in self.marks() {
            let radius = (apart * 0.42).min(RADIUS_MAX).max(marks.radius_min);
            draw_marks(canvas, panel, &marks, radius)?;
        }
        Ok(())
    }

    fn draw_sacks(&self, canvas: &Canvas<'_>, panel: &Panel) -> Result<(), FigureError> {
        let stroke = Stroke {
            opacity: 0.7,
            ..Stroke::solid(SACKED, 1.2)
        };
        let mut drawn = HashSet::new();
        for block in &self.sacks {
            let inside = (panel.x.low..=panel.x.high).contains(&block.time);
            if !(inside && block.first.is_finite() && block.end.is_finite()) {
                continue;
            }
            let x = panel.across(block.time);
            let (low, high) = (panel.up_within(block.first), panel.up_within(block.end));
            if drawn.insert((pixel(x), pixel(low), pixel(high))) {
                canvas.line(&[(x, low), (x, high)], &stroke)?;
            }
        }
        Ok(())
    }

    fn draw_windows(&self, canvas: &Canvas<'_>, panel: &Panel) -> Result<(), FigureError> {
        panel.draw_grid(canvas, Labels::Shown)?;
        let range = (panel.x.low, panel.x.high);
        for (points, look, width) in [
            (&self.in_flight, IN_FLIGHT, IN_FLIGHT_WIDTH),
            (&self.ssthresh, SSTHRESH, SSTHRESH_WIDTH),
            (&self.cwnd, CWND, CWND_WIDTH),
        ] {
            let stroke = Stroke {
                dash: look.dash,
                ..Stroke::solid(look.color, width)
            };
            steps::draw(canvas, panel, steps::within(points, range), &stroke)?;
        }
        Ok(())
    }
}

/// Draws the marks inside the panel, one for those in the same place.
fn draw_marks(
    canvas: &Canvas<'_>,
    panel: &Panel,
    marks: &Marks<'_>,
    radius: f64,
) -> Result<(), FigureError> {
    let (marker, color) = marks.look;
    let mut drawn = HashSet::new();
    for &(time, packet) in marks.points {
        let inside = (panel.x.low..=panel.x.high).contains(&time) && packet.is_finite();
        let place = panel.at(time, packet);
        if inside && drawn.insert((pixel(place.0), pixel(place.1))) {
            canvas.marker(marker, place, radius, color)?;
        }
    }
    Ok(())
}

/// To a whole pixel: what falls into the same one looks the same.
fn pixel(px: f64) -> i32 {
    px.round() as i32
}
