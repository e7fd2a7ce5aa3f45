//! The two panels of a flow, with packets and windows over time. Flows side by side share axes, styles and legends.

use std::collections::HashSet;

use plotters::style::RGBColor;

use super::FigureError;
use super::axis::{Axis, Scale};
use super::canvas::{Canvas, Lettering, Place, Stroke, text_width};
use super::legend::{Legend, Sample};
use super::panel::{Labels, Panel};
use super::steps;
use super::style::{
    BLACK, BLUE, Dash, GREEN, GREY, Look, Marker, ORANGE, PURPLE, SKY, SOFT_INK, VERMILLION,
};
use super::time_sequence::TimeSequence;

const SENT: (Marker, RGBColor) = (Marker::Square, BLUE);
const DROPPED: (Marker, RGBColor) = (Marker::Cross, VERMILLION);
const ACKED: (Marker, RGBColor) = (Marker::Dot, SOFT_INK);
const SACKED: RGBColor = GREEN;

/// Styles of retransmissions, in the order of their reasons.
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
const INFLATED: Look = Look {
    color: PURPLE,
    marker: Marker::Dot,
    dash: Dash::Solid,
};
/// Colours of the windows of other flows.
const OTHERS: [RGBColor; 4] = [GREEN, ORANGE, SKY, BLACK];

const CWND_WIDTH: f64 = 2.0;
const SSTHRESH_WIDTH: f64 = 1.6;
const IN_FLIGHT_WIDTH: f64 = 1.0;
const INFLATED_WIDTH: f64 = 1.4;
const OTHERS_WIDTH: f64 = 1.2;

/// Size of the counts of duplicate ACKs, in px.
const COUNT: f64 = 11.0;

/// The marks of one kind of packet.
struct Marks<'p> {
    name: &'p str,
    points: &'p [(f64, f64)],
    look: (Marker, RGBColor),
    /// Minimum radius in px at which the marks are visible.
    radius_min: f64,
}

/// Styles that all figures side by side share, although the runs differ.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    /// Reasons of retransmissions.
    reasons: Vec<String>,
    /// Names of the other flows whose windows are shown.
    others: Vec<String>,
}

impl Looks {
    pub(super) fn of(figures: &[&TimeSequence]) -> Self {
        let mut looks = Self::default();
        let add = |names: &mut Vec<String>, name: &String| {
            if !names.contains(name) {
                names.push(name.clone());
            }
        };
        for figure in figures {
            for kind in &figure.retransmissions {
                add(&mut looks.reasons, &kind.reason);
            }
            for (name, _) in &figure.others {
                add(&mut looks.others, name);
            }
        }
        looks
    }

    fn retransmission(&self, reason: &str) -> (Marker, RGBColor) {
        let place = self.reasons.iter().position(|known| known == reason);
        RETRANSMITTED[place.unwrap_or_default() % RETRANSMITTED.len()]
    }

    fn other(&self, name: &str) -> Look {
        let place = self.others.iter().position(|known| known == name);
        let place = place.unwrap_or_default();
        Look {
            color: OTHERS[place % OTHERS.len()],
            marker: Marker::Dot,
            dash: match place / OTHERS.len() {
                0 => Dash::Solid,
                _ => Dash::Dotted,
            },
        }
    }
}

/// Returns the legends of packets and windows. The legends have an entry for every kind in the part shown, in drawing
/// order.
pub(super) fn legends(
    figures: &[&TimeSequence],
    looks: &Looks,
    range: Option<(f64, f64)>,
) -> (Legend, Legend) {
    let inside = |time: f64| range.is_some_and(|(start, end)| (start..=end).contains(&time));
    let mut packets = Legend::default();
    let sacks = figures.iter().flat_map(|figure| &figure.sacks);
    if { sacks }.any(|block| inside(block.time)) {
        packets.add("SACK block", Sample::Bar(SACKED));
    }
    let names = ["ACK", "sent"].into_iter();
    let names = names.chain(looks.reasons.iter().map(String::as_str));
    for name in names.chain(["dropped"]) {
        let all = figures.iter().flat_map(|figure| figure.marks(looks));
        let mut seen = all.filter(|marks| marks.name == name && marks.occur(inside));
        if let Some(marks) = seen.next() {
            let (marker, color) = marks.look;
            let sample = Sample::Mark(marker, color, marks.radius_min.max(3.2));
            packets.add(name, sample);
        }
    }
    let rows = figures.iter().flat_map(|figure| &figure.duplicates);
    if { rows }.any(|row| inside(row.time)) {
        packets.add("duplicate ACKs in a row", Sample::Word("×3", SOFT_INK));
    }
    (packets, windows_legend(figures, looks))
}

fn windows_legend(figures: &[&TimeSequence], looks: &Looks) -> Legend {
    type Points = fn(&TimeSequence) -> &Vec<(f64, f64)>;
    let mut legend = Legend::default();
    let mut line = |name: &str, look, width| {
        let marked = false;
        legend.add(
            name,
            Sample::Line {
                look,
                width,
                marked,
            },
        );
    };
    let lines: [(&str, Points, Look, f64); 4] = [
        ("cwnd", |f| &f.cwnd, CWND, CWND_WIDTH),
        (
            "cwnd inflated as in textbooks",
            |f| &f.inflated,
            INFLATED,
            INFLATED_WIDTH,
        ),
        ("ssthresh", |f| &f.ssthresh, SSTHRESH, SSTHRESH_WIDTH),
        ("in flight", |f| &f.in_flight, IN_FLIGHT, IN_FLIGHT_WIDTH),
    ];
    for (name, points, look, width) in lines {
        if figures.iter().any(|figure| !points(figure).is_empty()) {
            line(name, look, width);
        }
    }
    for name in &looks.others {
        line(name, looks.other(name), OTHERS_WIDTH);
    }
    legend
}

/// Returns an axis that covers the packets of all figures.
pub(super) fn packet_axis(
    figures: &[&TimeSequence],
    range: (f64, f64),
    length: f64,
) -> Option<Axis> {
    let inside = |time: f64| (range.0..=range.1).contains(&time);
    let looks = Looks::default();
    let mut values = Vec::new();
    for figure in figures {
        let points = figure.marks(&looks).flat_map(|marks| marks.points);
        values.extend(points.filter(|point| inside(point.0)).map(|point| point.1));
        let sacks = figure.sacks.iter().filter(|block| inside(block.time));
        values.extend(sacks.flat_map(|block| [block.first, block.end]));
    }
    Axis::snug(values.into_iter(), length)
}

/// Returns an axis that fits the windows and the in-flight data of all figures. The axis also fits values of `ssthresh`
/// that are at most 1.5 times the largest window.
pub(super) fn window_axis(
    figures: &[&TimeSequence],
    range: (f64, f64),
    length: f64,
) -> Option<Axis> {
    const SSTHRESH_OVER_CWND_MAX: f64 = 1.5;
    let values = |points: &[(f64, f64)]| -> Vec<f64> {
        let within = steps::within(points, range).iter();
        within
            .map(|point| point.1)
            .filter(|v| v.is_finite())
            .collect()
    };
    let used = figures.iter().flat_map(|figure| {
        let others = figure.others.iter().map(|(_, points)| points);
        let own = [&figure.cwnd, &figure.inflated, &figure.in_flight];
        own.into_iter()
            .chain(others)
            .flat_map(|points| values(points))
    });
    let mut used: Vec<f64> = used.collect();
    let most = used.iter().copied().reduce(f64::max);
    let most = most.unwrap_or(f64::INFINITY) * SSTHRESH_OVER_CWND_MAX;
    let thresholds = figures.iter().flat_map(|figure| values(&figure.ssthresh));
    used.extend(thresholds.filter(|&value| value <= most));
    Axis::vertical(used.into_iter(), Scale::Linear, true, length)
}

impl Marks<'_> {
    fn occur(&self, inside: impl Fn(f64) -> bool) -> bool {
        self.points.iter().any(|point| inside(point.0))
    }
}

impl TimeSequence {
    /// Returns the times of packets, ACKs, drops and window changes.
    pub(super) fn times(&self) -> impl Iterator<Item = f64> {
        let kinds = [&self.sends, &self.acks, &self.drops];
        let again = self.retransmissions.iter().map(|kind| &kind.points);
        let windows = [&self.cwnd, &self.ssthresh, &self.in_flight];
        let points = kinds.into_iter().chain(again).chain(windows).flatten();
        let sacks = self.sacks.iter().map(|block| block.time);
        points.map(|point| point.0).chain(sacks)
    }

    /// Returns every kind of mark in drawing order, which is also the order of the legend. Rare kinds are drawn last,
    /// on top.
    fn marks<'s>(&'s self, looks: &'s Looks) -> impl Iterator<Item = Marks<'s>> {
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
        let retransmitted = self.retransmissions.iter().map(move |kind| Marks {
            name: &kind.reason,
            points: &kind.points,
            look: looks.retransmission(&kind.reason),
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

    pub(super) fn draw_packets(
        &self,
        canvas: &Canvas<'_>,
        panel: &Panel,
        looks: &Looks,
    ) -> Result<(), FigureError> {
        panel.draw_grid(canvas, Labels::Hidden)?;
        // The marks are as large as the distance between packets permits, within the limits of legibility.
        const RADIUS_MAX: f64 = 3.2;
        let apart = panel.frame.height() / (panel.y.high - panel.y.low);
        self.draw_sacks(canvas, panel)?;
        for marks in self.marks(looks) {
            let radius = (apart * 0.42).min(RADIUS_MAX).max(marks.radius_min);
            draw_marks(canvas, panel, &marks, radius)?;
        }
        self.draw_duplicates(canvas, panel)
    }

    /// Draws the number of duplicate ACKs below the last ACK of each series of duplicates. If several series are too
    /// close together, only the first of them has a number.
    fn draw_duplicates(&self, canvas: &Canvas<'_>, panel: &Panel) -> Result<(), FigureError> {
        let mut drawn: Vec<Place> = Vec::new();
        for row in &self.duplicates {
            let inside = (panel.x.low..=panel.x.high).contains(&row.time);
            if !(inside && row.packet.is_finite()) {
                continue;
            }
            let count = format!("×{}", row.count);
            let (x, y) = panel.at(row.time, row.packet);
            let place = (x, (y + 10.0).min(panel.frame.bottom - 6.0));
            let half = text_width(&count, COUNT) / 2.0;
            let is_free = drawn.iter().all(|other| {
                (other.0 - x).abs() > 2.0 * half + 4.0 || (other.1 - place.1).abs() > COUNT
            });
            if is_free {
                drawn.push(place);
                canvas.text(&count, place, &Lettering::centre(COUNT, SOFT_INK))?;
            }
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

    pub(super) fn draw_windows(
        &self,
        canvas: &Canvas<'_>,
        panel: &Panel,
        looks: &Looks,
    ) -> Result<(), FigureError> {
        panel.draw_grid(canvas, Labels::Shown)?;
        let range = (panel.x.low, panel.x.high);
        let others = self.others.iter();
        let others = others.map(|(name, points)| (points, looks.other(name), OTHERS_WIDTH));
        let own = [
            (&self.in_flight, IN_FLIGHT, IN_FLIGHT_WIDTH),
            (&self.ssthresh, SSTHRESH, SSTHRESH_WIDTH),
            (&self.inflated, INFLATED, INFLATED_WIDTH),
            (&self.cwnd, CWND, CWND_WIDTH),
        ];
        for (points, look, width) in others.chain(own) {
            let stroke = Stroke {
                dash: look.dash,
                ..Stroke::solid(look.color, width)
            };
            steps::draw(canvas, panel, steps::within(points, range), &stroke)?;
        }
        Ok(())
    }
}

/// Draws the marks inside the panel. Of several marks at the same pixel, only one is drawn.
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

/// Returns the nearest whole pixel. Marks at the same pixel are indistinguishable.
fn pixel(px: f64) -> i32 {
    px.round() as i32
}
