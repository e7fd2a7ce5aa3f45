//! Figures of a comparison: there is one figure per measure, and the kind of chart depends on the sweep.
//!
//! | swept | figure |
//! | --- | --- |
//! | nothing, or a list of points | bars |
//! | one numeric key | lines over it |
//! | one key of words | bars by its values |
//! | two keys, one of them numeric | lines over the key with more values, a panel for each value of the other |
//! | two keys of words, or more panels than are readable | a shaded table of the values per stack |
//! | more keys | the same for each combination of the remaining keys |
//!
//! Panels are preferred to shaded tables because they show confidence intervals, and because all stacks have the same
//! scale. However, panels do not show at a glance where a stack has a gain, so an additional shaded table shows the
//! ratio of its goodput to the first stack's goodput.

mod grid;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use dupack_algorithms::catalog::{Axis, Catalog, StackSpec};
use dupack_lab::results::{Answered, Measure, scaled};

use crate::figure::{
    Bar, BarChart, BarSeries, Facet, Facets, Figure, FigureError, HeatCell, HeatMap, HeatPanel,
    LineChart, Point, Scale, Series, Shades, Winners,
};
use crate::shown::Shown;
use crate::theory::Connection;
use grid::{Grid, Key};

/// Measures with a figure.
pub(crate) const FIGURES: [Measure; 13] = [
    Measure::Goodput,
    Measure::Retransmissions,
    Measure::Timeouts,
    Measure::DelayP95,
    Measure::Fairness,
    Measure::HarmGoodput,
    Measure::HarmDelay,
    Measure::Completion,
    Measure::FramesInTime,
    Measure::StallTime,
    Measure::CompletionShort,
    Measure::MediaDelayP95,
    Measure::MediaLate,
];

/// Maximum number of panels. More panels would be too small to be readable.
const PANELS_MAX: usize = 9;
/// Maximum number of combinations of the remaining keys that have a figure. The files contain the numbers of all
/// combinations.
const SLICES_MAX: usize = 4;

const WHISKERS: &str = "mean over the seeds; the whiskers are 95 % confidence intervals.";

/// Description of the lines of [`theory`] for captions.
const THEORY: &str = " Grey: formulas of Mathis et al. (1997) and Padhye et al. (1998) for Reno at this loss. Their \
    round-trip time is the propagation in both directions and the transmission of one packet. They ignore the queue \
    and the rate of the link, and Padhye et al. assume that after the first lost packet of a round the rest of the \
    round is lost.";

/// The figures, and a note on the combinations of keys without a figure.
#[derive(Debug, Default)]
pub(crate) struct Charts {
    pub(crate) figures: Vec<Figure>,
    pub(crate) note: Option<String>,
}

/// Returns the figures of a comparison: one per meaningful measure and slice of the sweep.
///
/// # Errors
///
/// Returns an error if a picture cannot be drawn.
pub(crate) fn charts(results: &dyn Shown, catalog: &Catalog) -> Result<Charts, FigureError> {
    let measures = FIGURES
        .into_iter()
        .filter(|&measure| results.tells(measure));
    let mut charts = Charts::default();
    let Some(grid) = Grid::of(results) else {
        for measure in measures {
            let svg = bars(results, measure).svg()?;
            let caption = format!("{}, {WHISKERS}", title(measure));
            charts.add(measure.key(), svg, caption);
        }
        return Ok(charts);
    };
    let slices = grid.slices();
    for measure in measures {
        for slice in slices.iter().take(SLICES_MAX) {
            let place = Place {
                results,
                grid: &grid,
                slice,
                measure,
            };
            place.draw(catalog, &mut charts)?;
        }
    }
    charts.note = (slices.len() > SLICES_MAX).then(|| {
        format!(
            "Figures show the first {SLICES_MAX} of the {} values of {}; summary.csv has the numbers of all.",
            slices.len(),
            grid.others()
        )
    });
    Ok(charts)
}

impl Charts {
    fn add(&mut self, name: &str, svg: String, caption: String) {
        self.figures.push(Figure {
            name: name.to_owned(),
            svg,
            caption,
        });
    }
}

/// One measure in one slice of a sweep.
struct Place<'r> {
    results: &'r dyn Shown,
    grid: &'r Grid,
    slice: &'r grid::Slice,
    measure: Measure,
}

impl Place<'_> {
    fn draw(&self, catalog: &Catalog, charts: &mut Charts) -> Result<(), FigureError> {
        let name = match self.slice.slug.as_str() {
            "" => self.measure.key().to_owned(),
            slug => format!("{}-{slug}", self.measure.key()),
        };
        let title = title(self.measure);
        let Some(second) = &self.grid.second else {
            let (svg, theory) = match self.grid.first.scale {
                Some(_) => {
                    let chart = self.lines(catalog);
                    (chart.svg()?, !chart.references.is_empty())
                }
                None => (bars(self.results, self.measure).svg()?, false),
            };
            let more = if theory { THEORY } else { "" };
            charts.add(&name, svg, format!("{title}, {WHISKERS}{more}"));
            return Ok(());
        };
        let (x, y) = (&self.grid.first.label, &second.label);
        if self.grid.first.scale.is_some() && second.values.len() <= PANELS_MAX {
            let svg = self.facets(second).svg()?;
            charts.add(&name, svg, format!("{title} by {y}, {WHISKERS}"));
        } else {
            let svg = self.table_of_amounts(second).svg()?;
            let caption = format!("{title} by {x} and {y}, mean over the seeds.");
            charts.add(&name, svg, caption);
        }
        if self.measure == Measure::Goodput && self.results.stacks().len() > 1 {
            let svg = self.table_of_ratios(second).svg()?;
            let caption = format!(
                "Goodput relative to {}, by {x} and {y}: mean over pairs of the same seed. Blue is more, orange is \
                 less. Grey with ≈: the 95 % confidence interval includes 1.",
                self.results.stacks()[0]
            );
            charts.add(&format!("{name}-ratio"), svg, caption);
        }
        Ok(())
    }

    fn subtitle(&self) -> String {
        match self.slice.label.as_str() {
            "" => self.results.subtitle(),
            label => format!("{label} · {}", self.results.subtitle()),
        }
    }

    /// Returns one line per stack over the first key. If there is a second key, it has its `row`-th value.
    fn series(&self, row: usize) -> Vec<Series> {
        let series = self
            .results
            .stacks()
            .iter()
            .enumerate()
            .map(|(stack, name)| {
                let points = self.grid.first.values.iter().enumerate();
                let points = points.filter_map(|(column, value)| {
                    let point = self.slice.points[row][column]?;
                    let mean = self.results.mean(point, stack, self.measure)?;
                    Some(Point {
                        x: scaled(value)?.0,
                        mean: mean.mean,
                        half_width: mean.half_width_95,
                    })
                });
                Series {
                    points: points.collect(),
                    name: name.clone(),
                }
            });
        series.collect()
    }

    /// Returns the scale of the vertical axis. The scale is logarithmic only for measures that can differ by orders of
    /// magnitude between points. Delays and counts are always linear, because differences between values near zero are
    /// negligible even if their ratio is large.
    fn y_scale(&self, series: &[Series]) -> Scale {
        if !matches!(self.measure, Measure::Goodput | Measure::Completion) {
            return Scale::Linear;
        }
        let means = series.iter().flat_map(|line| &line.points);
        Scale::of_measured(&means.map(|point| point.mean).collect::<Vec<f64>>())
    }

    fn lines(&self, catalog: &Catalog) -> LineChart {
        let series = self.series(0);
        let x_scale = self.grid.first.scale.unwrap_or_default();
        let y_scale = self.y_scale(&series);
        LineChart {
            title: title(self.measure),
            subtitle: self.subtitle(),
            x_label: format!("{}{}", self.grid.first.with_unit(), x_scale.note()),
            y_label: format!("{}{}", self.measure.label(), y_scale.note()),
            x_scale,
            y_scale,
            y_from_zero: true,
            series,
            references: theory_of(self.results, self.measure, catalog),
        }
    }

    fn facets(&self, second: &Key) -> Facets {
        let panels = second.values.iter().enumerate().map(|(row, value)| Facet {
            name: format!("{} {value}", second.label),
            series: self.series(row),
        });
        let panels: Vec<Facet> = panels.collect();
        let all: Vec<Series> = panels.iter().flat_map(|p| p.series.clone()).collect();
        let x_scale = self.grid.first.scale.unwrap_or_default();
        let y_scale = self.y_scale(&all);
        Facets {
            title: format!("{} by {}", title(self.measure), second.label),
            subtitle: self.subtitle(),
            x_label: format!("{}{}", self.grid.first.with_unit(), x_scale.note()),
            y_label: format!("{}{}", self.measure.label(), y_scale.note()),
            x_scale,
            y_scale,
            panels,
        }
    }

    fn table_of_ratios(&self, second: &Key) -> HeatMap {
        let first = &self.results.stacks()[0];
        let points = self.slice.points.iter().flatten().flatten();
        let compared: BTreeMap<usize, Vec<Option<HeatCell>>> = points
            .map(|&point| (point, self.results.ratios(point)))
            .collect();
        let ratio = |point: usize, stack: usize| *compared.get(&point)?.get(stack)?;
        let stacks = 1..self.results.stacks().len();
        HeatMap {
            title: format!("{} relative to {first}", title(self.measure)),
            value_label: format!("times the goodput of {first}"),
            shades: Shades::Ratio,
            ..self.table(second, stacks, &ratio)
        }
    }

    fn table_of_amounts(&self, second: &Key) -> HeatMap {
        let amount = |point: usize, stack: usize| {
            let mean = self.results.mean(point, stack, self.measure)?;
            Some(HeatCell {
                value: mean.mean,
                interval: None,
            })
        };
        HeatMap {
            title: title(self.measure),
            value_label: self.measure.label().to_owned(),
            shades: Shades::Amount,
            ..self.table(second, 0..self.results.stacks().len(), &amount)
        }
    }

    /// Returns one table per stack. The first key varies from left to right, and the second key from top to bottom.
    fn table(
        &self,
        second: &Key,
        stacks: std::ops::Range<usize>,
        cell: &dyn Fn(usize, usize) -> Option<HeatCell>,
    ) -> HeatMap {
        let panels = stacks.map(|stack| {
            let rows = self.slice.points.iter();
            let rows = rows.map(|row| { row.iter() }.map(|point| cell((*point)?, stack)).collect());
            HeatPanel {
                name: self.results.stacks()[stack].clone(),
                cells: rows.collect(),
            }
        });
        let names = |key: &Key| key.values.iter().map(ToString::to_string).collect();
        HeatMap {
            subtitle: self.subtitle(),
            x_label: self.grid.first.label.clone(),
            y_label: second.label.clone(),
            columns: names(&self.grid.first),
            rows: names(second),
            panels: panels.collect(),
            ..HeatMap::default()
        }
    }
}

/// Returns one map of the best stack at each point for each of the first slices of a sweep over numbers or words. A
/// list of points has no map. `first` contains the best stack of each point that is shown, or `None` if the point has
/// no answer.
///
/// # Errors
///
/// Returns an error if a picture cannot be drawn.
pub(crate) fn winners(
    results: &dyn Shown,
    first: &[Option<usize>],
) -> Result<Vec<Figure>, FigureError> {
    let Some(grid) = Grid::of(results) else {
        return Ok(Vec::new());
    };
    let mut charts = Charts::default();
    for slice in grid.slices().iter().take(SLICES_MAX) {
        let names = |key: &Key| key.values.iter().map(ToString::to_string).collect();
        let second = grid.second.as_ref();
        let subtitle = match slice.label.as_str() {
            "" => results.subtitle(),
            label => format!("{label} · {}", results.subtitle()),
        };
        let winner = |point: &Option<usize>| *first.get((*point)?)?;
        let map = Winners {
            title: "Best stack".to_owned(),
            subtitle,
            x_label: grid.first.label.clone(),
            y_label: second.map_or_else(String::new, |key| key.label.clone()),
            columns: names(&grid.first),
            rows: second.map_or_else(|| vec![String::new()], names),
            names: results.stacks().to_vec(),
            cells: { slice.points.iter() }
                .map(|row| row.iter().map(winner).collect())
                .collect(),
        };
        let name = match slice.slug.as_str() {
            "" => "winners".to_owned(),
            slug => format!("winners-{slug}"),
        };
        let caption = "First of the stacks with a ★. Empty cells have no answer.";
        charts.add(&name, map.svg()?, caption.to_owned());
    }
    Ok(charts.figures)
}

/// Returns the goodput that the formulas predict. The formulas apply if the congestion control is Reno's, there is one
/// flow, and loss is the only swept key; otherwise the result is empty. `catalog` contains the stacks.
#[must_use]
pub fn theory(results: &Answered<'_>, measure: Measure, catalog: &Catalog) -> Vec<Series> {
    theory_of(results, measure, catalog)
}

fn theory_of(results: &dyn Shown, measure: Measure, catalog: &Catalog) -> Vec<Series> {
    let sweep = &results.experiment().sweep;
    if measure != Measure::Goodput || sweep.len() != 1 {
        return Vec::new();
    }
    let Some(losses) = sweep.get("path.loss") else {
        return Vec::new();
    };
    let percents: Vec<f64> = losses.iter().filter_map(scaled).map(|(p, _)| p).collect();
    let connection =
        reno(results, catalog).and_then(|stack| Connection::of(results.experiment(), &stack));
    connection.map_or_else(Vec::new, |connection| connection.lines(&percents))
}

/// Returns the first stack whose congestion control is Reno's.
fn reno(results: &dyn Shown, catalog: &Catalog) -> Option<StackSpec> {
    let stacks = results.stacks().iter();
    let mut stacks = stacks.filter_map(|text| StackSpec::parse(text, catalog).ok());
    stacks.find(|stack| stack.name(Axis::Control) == "reno")
}

fn bars(results: &dyn Shown, measure: Measure) -> BarChart {
    let (points, stacks) = (results.points(), results.stacks());
    let bar = |point: usize, stack: usize| {
        results.mean(point, stack, measure).map(|mean| Bar {
            mean: mean.mean,
            half_width: mean.half_width_95,
        })
    };
    let (categories, series) = if points.len() == 1 {
        let bars = (0..stacks.len()).map(|s| bar(0, s)).collect();
        let name = measure.label().to_owned();
        (stacks.to_vec(), vec![BarSeries { name, bars }])
    } else {
        let labels = { points.iter() }.map(dupack_lab::experiment::points::Point::label);
        let series = stacks.iter().enumerate().map(|(s, name)| BarSeries {
            name: name.clone(),
            bars: (0..points.len()).map(|p| bar(p, s)).collect(),
        });
        (labels.collect(), series.collect())
    };
    BarChart {
        title: title(measure),
        subtitle: results.subtitle(),
        value_label: measure.label().to_owned(),
        categories,
        series,
        reference: None,
    }
}

/// Returns the name of a measure without its unit, because the axis shows the unit.
pub(super) fn title(measure: Measure) -> String {
    let label = measure.label();
    capitalised(label.split(" (").next().unwrap_or(label))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
