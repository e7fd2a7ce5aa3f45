//! Figure of a connection: its packets, its limits, the data in flight, the round-trip times and the losses.

use std::collections::BTreeMap;

use dupack_report::figure::{
    Depth, FromZero, Hue, RowHeight, Shape, Timeline, TimelineBand, TimelineLine, TimelineMarks,
    TimelinePlot, TimelineRow, TimelineSpans, TimelineTicks,
};
use dupack_report::trace::thin::{Marks, Steps};

use crate::film::Scene;
use crate::story::headline;
use crate::summary::{UNTOLD, in_percent, retransmissions, title};
use crate::whatif::course::Course;
use crate::words;
use dupack_diagnosis::analyse::budget::{Band, Limit};
use dupack_diagnosis::analyse::cause::{Class, Need, Retransmission};
use dupack_diagnosis::findings::{ConnectionFindings, StreamFindings};
use dupack_diagnosis::untold::Untold;

/// Minimum number of bytes for the unit MB.
const MEGA_FROM: f64 = 2e6;

/// Unit of bytes on an axis.
#[derive(Clone, Copy)]
struct Unit {
    name: &'static str,
    bytes: f64,
}

impl Unit {
    fn of(most: f64) -> Self {
        if most >= MEGA_FROM {
            Self {
                name: "MB",
                bytes: 1e6,
            }
        } else {
            Self {
                name: "kB",
                bytes: 1e3,
            }
        }
    }
}

/// `true` if the figure has panels in addition to the panel of packets, because the capture shows the data in flight.
#[must_use]
pub fn has_panels(stream: &StreamFindings) -> bool {
    matches!(stream.limits_untold(), None | Some(Untold::OptionsCut))
}

/// Returns the figure of a stream. Panels that need the data in flight are left out if the capture does not show this
/// data.
#[must_use]
pub fn timeline(
    connection: &ConnectionFindings,
    stream: &StreamFindings,
    scene: &Scene,
    courses: &[Course],
) -> Timeline {
    let shares = &stream.shares;
    let (from, until) = (shares.started.as_secs_f64(), shares.ended.as_secs_f64());
    let mut rows = vec![sequence(stream, scene)];
    rows.extend(beside(scene, courses));
    if stream.limits_untold().is_none() {
        rows.push(TimelineRow {
            name: "limited by".to_owned(),
            plot: TimelinePlot::Bands(shares.bands.iter().map(band).collect()),
        });
    }
    if has_panels(stream) {
        rows.extend([in_flight(scene), round_trips(scene), losses(scene)]);
    }
    Timeline {
        title: title(connection),
        subtitle: headline(connection),
        description: in_words(stream),
        x_label: "time since the start of the capture (s)".to_owned(),
        time_range: (from < until).then_some((from, until)),
        rows,
    }
}

/// Returns a text description of the figure for readers who cannot see it.
fn in_words(stream: &StreamFindings) -> String {
    let most = in_percent(stream).into_iter().take(3);
    let most =
        most.map(|(limit, _, percent)| format!("{percent} % {}", words::limit_of(stream, limit)));
    let most = match stream.limits_untold() {
        Some(untold) => format!("{UNTOLD}, because {}", untold.why()),
        None => most.collect::<Vec<_>>().join(", "),
    };
    let again = retransmissions(stream).map_or(UNTOLD.to_owned(), |number| {
        stream.timeouts().map_or_else(
            || format!("{number} segments"),
            |timeouts| format!("{number} segments, {timeouts} of them by timeouts"),
        )
    });
    format!(
        "{} of data in {}. Limited by: {most}. Retransmitted: {again}.",
        words::bytes(stream.bytes() as f64),
        words::time(stream.shares.duration()),
    )
}

fn points(marks: &Marks, unit: f64) -> Vec<(f64, f64)> {
    let kept = marks.kept().iter();
    kept.map(|mark| (mark.time, mark.low / unit)).collect()
}

fn line(steps: &Steps, unit: f64) -> Vec<(f64, f64)> {
    let points = steps.clone().into_points().into_iter();
    points.map(|(time, value)| (time, value / unit)).collect()
}

/// Returns the colour and the shape of a class of retransmissions.
const fn looks(class: Class) -> (Hue, Shape) {
    match class {
        Class::Fast => (Hue::Orange, Shape::TriangleUp),
        Class::Further => (Hue::Purple, Shape::Diamond),
        Class::Timeout => (Hue::Vermillion, Shape::TriangleDown),
        Class::AfterTimeout => (Hue::Vermillion, Shape::Diamond),
        Class::TailLossProbe => (Hue::Black, Shape::TriangleUp),
        Class::KeepAlive | Class::WindowProbe => (Hue::Black, Shape::Cross),
        Class::Unknown => (Hue::Black, Shape::Ring),
    }
}

/// Returns the marks of retransmissions, grouped by class of their causes. Unknown causes are one class.
fn repeated(stream: &StreamFindings, scene: &Scene, unit: f64) -> Vec<TimelineMarks> {
    let mut by_class: BTreeMap<Class, Vec<(f64, f64)>> = BTreeMap::new();
    for (class, again) in Class::ALL.into_iter().zip(&scene.again) {
        let told = stream.tells_causes() || class.is_probe();
        let class = if told { class } else { Class::Unknown };
        by_class
            .entry(class)
            .or_default()
            .extend(points(again, unit));
    }
    let marks = by_class.into_iter().map(|(class, points)| {
        let (hue, shape) = looks(class);
        TimelineMarks {
            name: format!("retransmitted: {}", class.name()),
            hue,
            shape,
            points,
        }
    });
    marks.collect()
}

fn sequence(stream: &StreamFindings, scene: &Scene) -> TimelineRow {
    let most = scene.sent.kept().iter().map(|mark| mark.high);
    let unit = Unit::of(most.fold(0.0, f64::max));
    let sacks = scene.sacks.kept().iter();
    let spans = vec![TimelineSpans {
        name: "reported by SACK".to_owned(),
        hue: Hue::Green,
        points: sacks
            .map(|mark| (mark.time, mark.low / unit.bytes, mark.high / unit.bytes))
            .collect(),
    }];
    let mut lines = vec![TimelineLine {
        name: "acknowledged".to_owned(),
        hue: Hue::Grey,
        points: line(&scene.acked, unit.bytes),
    }];
    if !scene.edge.is_empty() {
        lines.push(TimelineLine {
            name: "end of the receive window".to_owned(),
            hue: Hue::Sky,
            points: near(
                &line(&scene.edge, unit.bytes),
                &points(&scene.sent, unit.bytes),
            ),
        });
    }
    let mut marks = vec![TimelineMarks {
        name: "sent".to_owned(),
        hue: Hue::Blue,
        shape: Shape::Square,
        points: points(&scene.sent, unit.bytes),
    }];
    marks.push(TimelineMarks {
        name: "overtaken".to_owned(),
        hue: Hue::Sky,
        shape: Shape::Ring,
        points: points(&scene.overtaken, unit.bytes),
    });
    marks.extend(repeated(stream, scene, unit.bytes));
    TimelineRow {
        name: format!("position in the stream ({})", unit.name),
        plot: TimelinePlot::Values {
            height: RowHeight::Tall,
            from_zero: FromZero::No,
            spans: spans.into_iter().filter(|s| !s.points.is_empty()).collect(),
            lines: lines.into_iter().filter(is_seen).collect(),
            marks,
        },
    }
}

/// Returns `true` if at least one point of the line is visible.
fn is_seen(line: &TimelineLine) -> bool {
    line.points.iter().any(|point| point.1.is_finite())
}

/// Removes the parts of the receive window's edge that are far above the data, so that the data remains readable.
fn near(edge: &[(f64, f64)], sent: &[(f64, f64)]) -> Vec<(f64, f64)> {
    /// Height of the space for the line, as a multiple of the highest data (our choice).
    const ABOVE: f64 = 1.3;
    let most = sent.iter().map(|point| point.1).fold(0.0, f64::max) * ABOVE;
    edge.iter()
        .map(|&(time, value)| (time, if value <= most { value } else { f64::NAN }))
        .collect()
}

const fn looks_of(limit: Limit) -> (Hue, Depth) {
    match limit {
        Limit::Handshake => (Hue::Grey, Depth::Half),
        Limit::Idle | Limit::Pause => (Hue::Grey, Depth::Pale),
        Limit::ReceiveWindow => (Hue::Purple, Depth::Half),
        Limit::ZeroWindow => (Hue::Purple, Depth::Full),
        Limit::Nagle => (Hue::Black, Depth::Half),
        Limit::SenderBuffer => (Hue::Black, Depth::Pale),
        Limit::SlowStart => (Hue::Sky, Depth::Half),
        Limit::CongestionWindow => (Hue::Blue, Depth::Half),
        Limit::Recovery => (Hue::Orange, Depth::Full),
        Limit::RetransmissionTimer => (Hue::Vermillion, Depth::Full),
        Limit::ProbeTimer => (Hue::Vermillion, Depth::Half),
        Limit::EmptyQueue => (Hue::Green, Depth::Pale),
        Limit::StandingQueue => (Hue::Green, Depth::Half),
        Limit::OverflowingQueue => (Hue::Green, Depth::Full),
    }
}

fn band(band: &Band) -> TimelineBand {
    let (hue, depth) = looks_of(band.limit);
    TimelineBand {
        name: words::limit(band.limit).to_owned(),
        hue,
        depth,
        from: band.from.as_secs_f64(),
        until: band.to.as_secs_f64(),
    }
}

/// Returns the panel of acknowledged bytes over time, in the capture and in simulations of the captured and of other
/// senders.
fn beside(scene: &Scene, courses: &[Course]) -> Option<TimelineRow> {
    let began = scene.sent.kept().first()?.time;
    let most = courses.iter().filter_map(|course| course.acked.last());
    let unit = Unit::of(most.map(|point| point.1).fold(0.0, f64::max));
    let hues = [Hue::Sky, Hue::Vermillion, Hue::Green];
    let simulated = courses.iter().zip(hues).map(|(course, hue)| TimelineLine {
        name: format!("{}, simulated", course.stack),
        hue,
        points: course
            .acked
            .iter()
            .map(|(time, bytes)| (began + time, bytes / unit.bytes))
            .collect(),
    });
    let captured = TimelineLine {
        name: "captured".to_owned(),
        hue: Hue::Black,
        points: line(&scene.acked, unit.bytes),
    };
    let lines: Vec<_> = std::iter::once(captured).chain(simulated).collect();
    (lines.len() > 1).then(|| TimelineRow {
        name: format!("acknowledged, captured and simulated ({})", unit.name),
        plot: TimelinePlot::Values {
            height: RowHeight::Tall,
            from_zero: FromZero::Yes,
            spans: Vec::new(),
            lines,
            marks: Vec::new(),
        },
    })
}

fn in_flight(scene: &Scene) -> TimelineRow {
    let values = scene.in_flight.clone().into_points();
    let unit = Unit::of(values.iter().map(|point| point.1).fold(0.0, f64::max));
    TimelineRow {
        name: format!("in flight ({})", unit.name),
        plot: TimelinePlot::Values {
            height: RowHeight::Low,
            from_zero: FromZero::Yes,
            spans: Vec::new(),
            lines: vec![TimelineLine {
                name: "sent and not acknowledged".to_owned(),
                hue: Hue::Blue,
                points: line(&scene.in_flight, unit.bytes),
            }],
            marks: Vec::new(),
        },
    }
}

fn round_trips(scene: &Scene) -> TimelineRow {
    TimelineRow {
        name: "round-trip time (ms)".to_owned(),
        plot: TimelinePlot::Values {
            height: RowHeight::Low,
            from_zero: FromZero::Yes,
            spans: Vec::new(),
            lines: Vec::new(),
            marks: vec![TimelineMarks {
                name: "sample".to_owned(),
                hue: Hue::Green,
                shape: Shape::Dot,
                points: points(&scene.rtt, 1e-3),
            }],
        },
    }
}

fn losses(scene: &Scene) -> TimelineRow {
    let times = |of: &dyn Fn(&Retransmission) -> bool| -> Vec<f64> {
        let all = scene.retransmissions.iter().filter(|again| of(again));
        all.map(|again| again.at.as_secs_f64()).collect()
    };
    let is_needless = |again: &Retransmission| !matches!(again.need, Need::Needed | Need::Unknown);
    let kinds = [
        (
            "repaired",
            Hue::Orange,
            times(&|again| again.need == Need::Needed && !again.lost),
        ),
        ("repair lost", Hue::Vermillion, times(&|again| again.lost)),
        ("spurious", Hue::Grey, times(&is_needless)),
        (
            "by a timeout",
            Hue::Black,
            times(&|again| again.cause.class() == Class::Timeout),
        ),
    ];
    TimelineRow {
        name: "losses and repairs".to_owned(),
        plot: TimelinePlot::Ticks(
            kinds
                .into_iter()
                .map(|(name, hue, times)| TimelineTicks {
                    name: name.to_owned(),
                    hue,
                    times,
                })
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests;
