//! Table 2 under other readings of what the paper leaves open: which of them comes closest to its
//! ratios.

use crate::evidence::{At, Part};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::results::Measure;
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;
use dupack_report::figure::{Bar, BarChart, BarSeries, Reference};
use dupack_report::page::{Cell, Emphasis};

/// Loss rates of both experiments, in percent.
const RATES: [f64; 3] = [0.0, 1.0, 3.0];
/// Flows against the chain, the values of the first experiment's sweep.
const REVERSE: [u32; 3] = [2, 6, 12];
/// The others by their places among the paper's, in the order of the ratios.
const OTHERS: usize = 3;
/// So many readings are listed.
const LISTED: usize = 12;
/// So many backgrounds are drawn, the nearest.
const DRAWN: usize = 3;

/// A recovery as it may be read, and its place among the stacks.
type Variant = (&'static str, usize);

const NEWRENO: usize = 0;
const SACKS: [Variant; 2] = [("two per partial ACK", 1), ("ns-2.35's default", 4)];
const FACKS: [Variant; 2] = [("ns-2's", 2), ("halving", 5)];
const MOMENTARYS: [Variant; 2] = [("a new loss halves", 3), ("a new loss is resent only", 6)];

const PAPER: &str = include_str!("../../experiments/momentary/table2.csv");
const NAMES: [&str; OTHERS] = ["NewReno", "SACK", "FACK"];

/// The paper's goodput of Momentary over that of another recovery at a loss rate in percent.
fn paper_gain(over: usize, percent: f64) -> Option<f64> {
    let goodput = |name: &str| {
        let rows = PAPER.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let own = |row: &Vec<&str>| {
            let rate = row.first().and_then(|rate| rate.parse::<f64>().ok());
            rate.is_some_and(|rate| rate.total_cmp(&percent).is_eq())
                && row.get(1).is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        rows.into_iter().find(own)?.get(2)?.parse::<f64>().ok()
    };
    Some(goodput("Momentary")? / goodput(NAMES.get(over)?)?)
}

/// One way to read the paper, and how near its ratios come.
struct Reading {
    background: String,
    sack: Variant,
    fack: Variant,
    momentary: Variant,
    /// Momentary over NewReno, SACK and FACK, by loss rate.
    ratios: Vec<[Summary; OTHERS]>,
    /// Sum of the squared logarithms of our ratios over the paper's.
    distance: f64,
}

impl Reading {
    /// A reading from `part`, whose points from `first` on are the loss rates.
    fn of(
        part: &Part,
        first: usize,
        background: &str,
        (sack, fack, momentary): (Variant, Variant, Variant),
    ) -> Option<Self> {
        let at_rate = |rate: usize| {
            let at = At {
                point: first + rate,
                stack: momentary.1,
            };
            let ratio = |base| part.ratio(at, base, Measure::Goodput);
            Some([ratio(NEWRENO)?, ratio(sack.1)?, ratio(fack.1)?])
        };
        let ratios: Vec<_> = (0..RATES.len()).map(at_rate).collect::<Option<_>>()?;
        let means: Vec<[f64; OTHERS]> = ratios.iter().map(|r| r.map(|s| s.mean)).collect();
        Some(Self {
            background: background.to_owned(),
            sack,
            fack,
            momentary,
            distance: distance(&means)?,
            ratios,
        })
    }
}

/// How far ratios (by loss rate, over NewReno, SACK, FACK) are from the paper's.
fn distance(means: &[[f64; OTHERS]]) -> Option<f64> {
    let mut sum = 0.0;
    for (row, percent) in means.iter().zip(RATES) {
        for (other, mean) in row.iter().enumerate() {
            sum += (mean / paper_gain(other, percent)?).ln().powi(2);
        }
    }
    Some(sum)
}

/// Every reading whose runs are there, the nearest first.
fn readings([droptail, red]: [Option<&Part>; 2]) -> Vec<Reading> {
    let mut backgrounds: Vec<(&Part, usize, String)> = Vec::new();
    if let Some(part) = droptail {
        let swept = REVERSE.iter().enumerate();
        backgrounds.extend(swept.map(|(n, flows)| {
            (
                part,
                n * RATES.len(),
                format!("{flows} reverse flows, DropTail"),
            )
        }));
    }
    if let Some(part) = red {
        backgrounds.push((part, 0, "6 reverse flows, RED".to_owned()));
    }
    let mut out = Vec::new();
    for (part, first, background) in &backgrounds {
        for sack in SACKS {
            for fack in FACKS {
                for momentary in MOMENTARYS {
                    out.extend(Reading::of(
                        part,
                        *first,
                        background,
                        (sack, fack, momentary),
                    ));
                }
            }
        }
    }
    out.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    out
}

/// The nearest readings as a table, and the best with each background as a picture.
pub(super) fn exhibits(backgrounds: [Option<&Part>; 2]) -> Vec<Exhibit> {
    let readings = readings(backgrounds);
    if readings.is_empty() {
        return Vec::new();
    }
    let mut out = vec![
        Exhibit::Heading("Table 2 under other readings".to_owned()),
        Exhibit::Table(table(&readings)),
    ];
    out.push(Exhibit::figure(
        "table2-readings",
        "For each of the three nearest backgrounds the reading of the recoveries that comes nearest to the paper's ratios: Momentary's goodput over \
         that of the others, and in the paper.",
        chart(&readings).svg(),
    ));
    out
}

fn table(readings: &[Reading]) -> Table {
    let rows = readings.iter().take(LISTED).map(|reading| {
        let names = [
            reading.background.clone(),
            reading.sack.0.to_owned(),
            reading.fack.0.to_owned(),
            reading.momentary.0.to_owned(),
        ];
        let ratios = reading.ratios.iter().map(|ratios| {
            let texts = ratios.map(|s| spread(&s, 2));
            texts.join(" / ")
        });
        let numbers = ratios.chain([format!("{:.3}", reading.distance)]);
        let names = names.map(|text| Cell::new(text, Emphasis::Plain));
        let numbers = numbers.map(|text| Cell::new(text, Emphasis::Number));
        names.into_iter().chain(numbers).collect()
    });
    let paper = RATES.map(|percent| {
        let texts: Vec<String> = (0..OTHERS)
            .filter_map(|other| Some(format!("{:.2}", paper_gain(other, percent)?)))
            .collect();
        texts.join(" / ")
    });
    let first = ["the paper", "", "", ""].map(|text| Cell::new(text, Emphasis::Group));
    let figures = paper.map(|text| Cell::new(text, Emphasis::Number));
    let last = Cell::new("0", Emphasis::Number);
    let first = first.into_iter().chain(figures).chain([last]).collect();
    Table {
        name: "table2-readings".to_owned(),
        caption: format!(
            "The {LISTED} nearest of {} readings: Momentary's goodput over that of NewReno / SACK / FACK, by loss rate, and the \
             sum of the squared logarithms of these ratios over the paper's (0 would be the paper's own).",
            readings.len()
        ),
        header: [
            "background",
            "SACK",
            "FACK",
            "Momentary",
            "0 %",
            "1 %",
            "3 %",
            "distance",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: std::iter::once(first).chain(rows).collect(),
    }
}

/// The best reading of each background beside the paper: bars by loss rate and recovery.
fn chart(readings: &[Reading]) -> BarChart {
    let mut best: Vec<&Reading> = Vec::new();
    for reading in readings {
        if !best.iter().any(|b| b.background == reading.background) {
            best.push(reading);
        }
    }
    best.truncate(DRAWN);
    let cells: Vec<(usize, f64, usize)> = RATES
        .iter()
        .enumerate()
        .flat_map(|(rate, percent)| (0..OTHERS).map(move |other| (rate, *percent, other)))
        .collect();
    let paper = cells.iter().map(|&(_, percent, other)| {
        paper_gain(other, percent).map(|mean| Bar {
            mean,
            half_width: None,
        })
    });
    let mut series = vec![BarSeries {
        name: "the paper".to_owned(),
        bars: paper.collect(),
    }];
    series.extend(best.iter().map(|reading| {
        let bars = cells.iter().map(|&(rate, _, other)| {
            let s = &reading.ratios[rate][other];
            Some(Bar {
                mean: s.mean,
                half_width: s.half_width_95,
            })
        });
        BarSeries {
            name: reading.background.clone(),
            bars: bars.collect(),
        }
    }));
    let categories = cells
        .iter()
        .map(|&(_, percent, other)| format!("{} {percent}\u{a0}%", NAMES[other]));
    BarChart {
        title: "Table 2 under other readings: Momentary's gain".to_owned(),
        subtitle: "the nearest reading of each of the three nearest backgrounds".to_owned(),
        value_label: "Momentary's goodput over the other's".to_owned(),
        categories: categories.collect(),
        series,
        reference: Some(Reference {
            value: 1.0,
            name: "no gain".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_gains_are_those_of_its_text() {
        let gains = [0, 1, 2].map(|other| paper_gain(other, 3.0).unwrap());
        assert_eq!(gains.map(|g| (g * 100.0).round()), [127.0, 128.0, 138.0]);
        assert_eq!(paper_gain(2, 2.0), None);
    }

    #[test]
    fn the_papers_own_ratios_are_at_no_distance() {
        let own = RATES.map(|percent| [0, 1, 2].map(|other| paper_gain(other, percent).unwrap()));
        assert!(distance(&own).unwrap().abs() < 1e-12);
        let mut off = own;
        off[1][2] *= std::f64::consts::E;
        assert!((distance(&off).unwrap() - 1.0).abs() < 1e-12);
    }
}
