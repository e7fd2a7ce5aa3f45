//! The paper's future work: Momentary under CUBIC, on a long fat path with random loss.

use crate::claims::{Finding, Verdict};
use crate::evidence::{At, Part};
use crate::judging::{all_above, figure, finding, interval, list};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::experiment::{Experiment, Seeds};
use dupack_lab::results::Measure;
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;
use dupack_lab::units::Delay;
use dupack_report::figure::{LineChart, Point, Scale, Series};
use dupack_report::page::{Cell, Emphasis};

/// The stacks of `future.toml`, in their order.
const STACKS: [&str; 7] = [
    "SACK, Reno",
    "FACK, Reno",
    "Momentary, Reno",
    "SACK, CUBIC",
    "FACK, CUBIC",
    "Momentary, CUBIC",
    "RACK-TLP, CUBIC",
];
const SACK_RENO: usize = 0;
const FACK_RENO: usize = 1;
const MOMENTARY_RENO: usize = 2;
const SACK_CUBIC: usize = 3;
const FACK_CUBIC: usize = 4;
const MOMENTARY_CUBIC: usize = 5;
const RACK_CUBIC: usize = 6;

/// Loss rates of the experiment, in percent.
const RATES: [f64; 4] = [0.01, 0.1, 1.0, 3.0];

/// Two seeds, and eight seconds.
pub(super) fn quicken(experiment: &mut Experiment) {
    experiment.seeds = Seeds::Count(2);
    experiment.duration = Delay::from_nanos(8_000_000_000);
}

/// The findings of the experiment.
pub(super) fn findings(part: &Part) -> Vec<(&'static str, Option<Finding>)> {
    vec![
        ("cubic-lossy", lossy(part)),
        ("cubic-greater-gain", greater_gain(part)),
    ]
}

fn gains(part: &Part, own: usize, base: usize) -> Option<Vec<Summary>> {
    part.ratios(own, base, Measure::Goodput)
}

fn lossy(part: &Part) -> Option<Finding> {
    let sack = gains(part, MOMENTARY_CUBIC, SACK_CUBIC)?;
    let fack = gains(part, MOMENTARY_CUBIC, FACK_CUBIC)?;
    let rack = gains(part, MOMENTARY_CUBIC, RACK_CUBIC)?;
    finding(
        all_above(&sack, 1.0) && all_above(&fack, 1.0),
        format!(
            "over SACK: {}; over FACK: {}; over RACK-TLP: {}",
            list(&sack, 2),
            list(&fack, 2),
            list(&rack, 2)
        ),
    )
}

fn greater_gain(part: &Part) -> Option<Finding> {
    let cubic = gains(part, MOMENTARY_CUBIC, SACK_CUBIC)?;
    let reno = gains(part, MOMENTARY_RENO, SACK_RENO)?;
    let pairs = || cubic.iter().zip(&reno);
    let verdict = if pairs().all(|(c, r)| interval(c).0 > interval(r).1) {
        Verdict::Holds
    } else if pairs().all(|(c, r)| c.mean > r.mean) {
        Verdict::CannotBeTold
    } else {
        Verdict::DoesNotHold
    };
    Some(Finding::new(
        verdict,
        format!(
            "Momentary / SACK under CUBIC: {}; under Reno: {}",
            list(&cubic, 2),
            list(&reno, 2)
        ),
    ))
}

/// Goodputs, ratios and a picture.
pub(super) fn exhibits(part: &Part) -> Vec<Exhibit> {
    let mut out = vec![
        Exhibit::Heading("Future work: Momentary under CUBIC".to_owned()),
        Exhibit::Table(goodputs(part)),
        Exhibit::Table(ratios(part)),
    ];
    out.extend(figure(
        "future-gain",
        "Momentary's goodput over that of another recovery under the same control, paired by seed; the whiskers are 95 % confidence intervals.",
        chart(part).svg(),
    ));
    out
}

fn header() -> Vec<String> {
    let rates = RATES.iter().map(|rate| format!("{rate} %"));
    std::iter::once(String::new()).chain(rates).collect()
}

fn goodputs(part: &Part) -> Table {
    let rows = STACKS.iter().enumerate().map(|(stack, name)| {
        let cells = (0..RATES.len()).map(|point| {
            let goodput = part.summary(At { point, stack }, Measure::Goodput);
            let text = goodput.map_or("–".to_owned(), |s| spread(&s, 2));
            Cell::new(text, Emphasis::Number)
        });
        std::iter::once(Cell::new(*name, Emphasis::Group))
            .chain(cells)
            .collect()
    });
    Table {
        name: "future-goodput".to_owned(),
        caption: "Goodput in Mbit/s by loss rate on a path of 100 Mbit/s and 100 ms; mean ± half the 95 % confidence interval."
            .to_owned(),
        header: header(),
        rows: rows.collect(),
    }
}

fn ratios(part: &Part) -> Table {
    let pairs = [
        (MOMENTARY_RENO, SACK_RENO),
        (MOMENTARY_RENO, FACK_RENO),
        (MOMENTARY_CUBIC, SACK_CUBIC),
        (MOMENTARY_CUBIC, FACK_CUBIC),
        (MOMENTARY_CUBIC, RACK_CUBIC),
        (MOMENTARY_CUBIC, MOMENTARY_RENO),
    ];
    let rows = pairs.map(|(own, base)| {
        let ratios = gains(part, own, base).unwrap_or_default();
        let cells = ratios
            .iter()
            .map(|s| Cell::new(spread(s, 2), Emphasis::Number));
        let name = format!("{} / {}", STACKS[own], STACKS[base]);
        std::iter::once(Cell::new(name, Emphasis::Group))
            .chain(cells)
            .collect()
    });
    Table {
        name: "future-ratios".to_owned(),
        caption: "The same as ratios, paired by seed.".to_owned(),
        header: header(),
        rows: rows.to_vec(),
    }
}

fn chart(part: &Part) -> LineChart {
    let pairs = [
        (MOMENTARY_RENO, SACK_RENO),
        (MOMENTARY_RENO, FACK_RENO),
        (MOMENTARY_CUBIC, SACK_CUBIC),
        (MOMENTARY_CUBIC, FACK_CUBIC),
        (MOMENTARY_CUBIC, RACK_CUBIC),
    ];
    let series = pairs.map(|(own, base)| {
        let ratios = gains(part, own, base).unwrap_or_default();
        let points = ratios.iter().zip(RATES);
        Series {
            name: format!("over {}", STACKS[base]),
            points: points
                .map(|(s, rate)| Point::from((rate, s.mean, s.half_width_95)))
                .collect(),
        }
    });
    LineChart {
        title: "Momentary's gain under Reno and CUBIC".to_owned(),
        subtitle: "one flow · 100 Mbit/s · 100 ms · buffer 1000 packets · ns-2's rules".to_owned(),
        x_label: "packet loss (%)".to_owned(),
        y_label: "Momentary's goodput over the other's, same control".to_owned(),
        x_scale: Scale::Log,
        series: series.to_vec(),
        ..LineChart::default()
    }
}
