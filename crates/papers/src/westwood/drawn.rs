//! Figures 1 to 5: the estimate and the window over time.

use super::courses::available;
use crate::reproduction::Exhibit;
use crate::{At, ExperimentResults};
use dupack_lab::stats::mean;
use dupack_report::figure::{LineChart, Point, Series, StepChart, StepSeries};

/// Number of samples of the estimate per point of figure 1.
const PER_POINT: usize = 5;
/// Stacks whose windows are drawn, by their indices in the experiments.
const DRAWN: [(usize, &str); 2] = [(0, "Westwood"), (1, "Reno")];

/// Returns the cell of a stack in an experiment with one point.
const fn only(stack: usize) -> At {
    At { point: 0, stack }
}

pub(super) fn figures(
    lossless: Option<&ExperimentResults>,
    lossy: Option<&ExperimentResults>,
) -> Vec<Exhibit> {
    let mut out = Vec::new();
    if let Some(part) = lossless {
        out.push(Exhibit::figure(
            "figure1-estimate",
            "Westwood's estimate, averaged over half a second, beside what the UDP sources leave.",
            estimate(part).svg(),
        ));
    }
    for (part, numbers, how, ending) in [
        (lossless, [2, 3], "", ""),
        (lossy, [4, 5], ", random loss", "-lossy"),
    ] {
        let Some(part) = part else { continue };
        for (number, stack) in numbers.into_iter().zip(DRAWN) {
            let name = format!("figure{number}-{}{ending}", stack.1.to_lowercase());
            out.extend(window(part, stack, (&name, number, how)));
        }
    }
    out
}

/// Describes the rate, delay and random loss of a transient.
fn path_of(part: &ExperimentResults) -> String {
    let path = part.results.experiment.path.as_ref();
    let rate = path.and_then(|path| path.rate);
    let loss = path.map_or(0.0, |path| path.loss.as_fraction());
    let known = [
        rate.map(|rate| format!("{} Mbit/s", rate.as_megabits_per_second())),
        Some("100 ms one way".to_owned()),
        (loss > 0.0).then(|| format!("a loss in {:.0} packets", 1.0 / loss)),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    known.join(" · ")
}

fn estimate(part: &ExperimentResults) -> LineChart {
    let experiment = &part.results.experiment;
    let moments = part
        .course(only(DRAWN[0].0))
        .map_or(&[][..], |course| &course.moments);
    let points = moments.chunks(PER_POINT).filter_map(|chunk| {
        let values: Vec<f64> = chunk.iter().filter_map(|m| m.estimate).collect();
        let at = chunk.first()?.at;
        Some(Point::from((at, mean(&values)?, None)))
    });
    let mut steps = Vec::new();
    for pair in moments.windows(2) {
        let [before, after] = [0, 1].map(|n| available(experiment, pair[n].at));
        if steps.is_empty() {
            steps.push(Point::from((pair[0].at, before, None)));
        }
        if before != after {
            steps.push(Point::from((pair[1].at, before, None)));
            steps.push(Point::from((pair[1].at, after, None)));
        }
    }
    if let Some(last) = moments.last() {
        steps.push(Point::from((last.at, available(experiment, last.at), None)));
    }
    LineChart {
        title: "Figure 1: the bandwidth estimate".to_owned(),
        subtitle: path_of(part),
        x_label: "time (s)".to_owned(),
        y_label: "Mbit/s".to_owned(),
        y_from_zero: true,
        series: vec![Series {
            name: "estimate".to_owned(),
            points: points.collect(),
        }],
        references: vec![Series {
            name: "available".to_owned(),
            points: steps,
        }],
        ..LineChart::default()
    }
}

/// Draws `cwnd` and `ssthresh` of a stack.
fn window(
    part: &ExperimentResults,
    (stack, of): (usize, &str),
    (name, number, how): (&str, u32, &str),
) -> Option<Exhibit> {
    let moments = &part.course(only(stack))?.moments;
    let chart = StepChart {
        title: format!("Figure {number}: cwnd and ssthresh of {of}{how}"),
        subtitle: path_of(part),
        x_label: "time (s)".to_owned(),
        y_label: "packets".to_owned(),
        time_range: None,
        series: vec![
            StepSeries {
                name: "cwnd".to_owned(),
                points: moments.iter().map(|m| (m.at, m.cwnd)).collect(),
            },
            StepSeries {
                name: "ssthresh".to_owned(),
                points: moments.iter().map(|m| (m.at, m.ssthresh)).collect(),
            },
        ],
    };
    Some(Exhibit::figure(
        name,
        "Sampled ten times a second; ssthresh begins without limit.",
        chart.svg(),
    ))
}
