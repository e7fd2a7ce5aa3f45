//! Common kinds of figures and tables, drawn as declared in a paper's `exhibits.toml`.

use dupack_algorithms::catalog::Catalog;
use dupack_claims::{Rules, Said, Value, Verdict, World};
use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::results::{Answered, Measure};
use dupack_lab::stats::spread;
use dupack_report::comparison::theory;
use dupack_report::figure::{Bar, BarChart, BarSeries, LineChart, Point, Reference, Scale, Series};
use dupack_report::page::{Cell, Emphasis};
use serde::Deserialize;

use super::Drawn;
use super::reproduction::{Exhibit, Table};

/// Content of a table cell without a number.
const NONE: &str = "–";

/// A paper's `exhibits.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exhibits {
    #[serde(default, rename = "exhibit")]
    list: Vec<Declared>,
}

/// A declared exhibit.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Declared {
    /// Heading of a figure or table of the paper.
    Heading {
        text: String,
    },
    /// A paragraph.
    Note {
        text: String,
    },
    /// An exhibit that is drawn by the paper's own code, with its name.
    Drawn {
        name: String,
    },
    Table(TableOf),
    Lines(LinesOf),
    Bars(BarsOf),
}

/// A table. Its first columns contain the names of its rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableOf {
    /// Name of the table's file.
    name: String,
    caption: String,
    #[serde(default)]
    experiment: Option<String>,
    header: Vec<Text>,
    rows: Vec<Block<Line>>,
    #[serde(default)]
    decimals: usize,
}

/// A text, or one text for each item of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected text, or a table with `each` and `text`"
)]
enum Text {
    One(String),
    Each(EachText),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EachText {
    /// A loop such as `p in points`.
    each: String,
    text: String,
}

/// Similar rows or series, repeated for each item of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block<L> {
    #[serde(default)]
    each: Option<String>,
    lines: Vec<L>,
}

/// One row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// First cell of the row.
    #[serde(default)]
    group: Option<String>,
    /// Second cell of the row.
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    whose: Whose,
    #[serde(default)]
    decimals: Option<usize>,
    cells: Vec<Cells>,
    /// Omits the row if it has no numbers, for example because a quick look does not run its experiment.
    #[serde(default)]
    optional: bool,
    /// Expression with a truth value for each cell. Cells with a true value are emphasized, in addition to the cells
    /// that `whose` emphasizes.
    #[serde(default)]
    stands_out: Option<String>,
}

/// Cells of a row: an expression with one item per cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected an expression, or a table with `value` or `text` (and `whose`, `decimals`, `unit`, `signs`)"
)]
enum Cells {
    Plain(String),
    Special(SpecialCells),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecialCells {
    #[serde(default)]
    value: Option<String>,
    /// Text with expressions in braces, instead of a value.
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    whose: Option<Whose>,
    #[serde(default)]
    decimals: Option<usize>,
    /// Unit that is written after each number.
    #[serde(default)]
    unit: String,
    #[serde(default)]
    signs: Signs,
}

/// Numbers that are written with a sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Signs {
    /// Negative numbers.
    #[default]
    Negative,
    /// All numbers.
    Always,
}

/// Origin of the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Whose {
    #[default]
    Plain,
    Paper,
    /// Our numbers, which are emphasized.
    Here,
}

/// A line chart.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinesOf {
    /// Name of the chart's file.
    name: String,
    caption: String,
    #[serde(default)]
    experiment: Option<String>,
    title: String,
    #[serde(default)]
    subtitle: String,
    x_label: String,
    y_label: String,
    #[serde(default)]
    y_from_zero: bool,
    #[serde(default)]
    x_log: bool,
    #[serde(default)]
    y_log: bool,
    /// Minimum number of samples for which intervals are drawn.
    #[serde(default)]
    whiskers_from: usize,
    #[serde(default)]
    references: References,
    series: Vec<Block<SeriesLine>>,
}

/// Reference lines behind the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum References {
    #[default]
    None,
    /// Goodput of Reno under random loss in the exhibit's experiment, by the known formulas.
    Formulas,
}

/// A bar chart.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BarsOf {
    /// Name of the chart's file.
    name: String,
    caption: String,
    #[serde(default)]
    experiment: Option<String>,
    title: String,
    #[serde(default)]
    subtitle: String,
    value_label: String,
    categories: Vec<Text>,
    series: Vec<Block<SeriesLine>>,
    #[serde(default)]
    reference: Option<ReferenceOf>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceOf {
    value: f64,
    name: String,
}

/// One series.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeriesLine {
    name: String,
    /// Expression whose value is a list of quantities.
    y: String,
    /// Expression whose value is a list of as many numbers. Defaults to the only swept key of the points.
    #[serde(default)]
    x: Option<String>,
}

/// Data from which exhibits are drawn.
pub(super) struct Drawing<'d> {
    pub(super) rules: &'d Rules,
    pub(super) world: &'d World<'d>,
    pub(super) source: &'d Source,
}

type Variables = Vec<(String, Value)>;
type DrawResult<T> = Result<T, ExperimentError>;

/// Context of an expression: the key of the exhibit in the file, its experiment, and the variables of loops.
#[derive(Clone)]
struct At<'a> {
    place: String,
    experiment: Option<&'a str>,
    variables: Variables,
}

impl Drawing<'_> {
    /// Draws all declared exhibits. `odd` contains the exhibits that the paper's code draws, by name.
    pub(super) fn all(&self, declared: &Exhibits, odd: &Drawn) -> DrawResult<Vec<Exhibit>> {
        let mut out = Vec::new();
        for (n, one) in declared.list.iter().enumerate() {
            let at = |experiment| At {
                place: format!("exhibit.{n}"),
                experiment,
                variables: Vec::new(),
            };
            match one {
                Declared::Heading { text } => {
                    out.push(Exhibit::Heading(self.fill(&at(None), "text", text)?));
                }
                Declared::Note { text } => {
                    out.push(Exhibit::Note(self.fill(&at(None), "text", text)?));
                }
                Declared::Drawn { name } => {
                    let drawn = odd.iter().find(|(known, _)| known == name);
                    let (_, drawn) = drawn.ok_or_else(|| self.nobody_draws(n, name, odd))?;
                    out.extend(drawn.iter().cloned());
                }
                Declared::Table(table) => {
                    let at = at(table.experiment.as_deref());
                    out.push(Exhibit::Table(self.table(&at, table)?));
                }
                Declared::Lines(lines) => {
                    let at = at(lines.experiment.as_deref());
                    let chart = self.lines(&at, lines)?;
                    let caption = self.fill(&at, "caption", &lines.caption)?;
                    out.push(Exhibit::figure(&lines.name, &caption, chart.svg()));
                }
                Declared::Bars(bars) => {
                    let at = at(bars.experiment.as_deref());
                    let chart = self.bars(&at, bars)?;
                    let caption = self.fill(&at, "caption", &bars.caption)?;
                    out.push(Exhibit::figure(&bars.name, &caption, chart.svg()));
                }
            }
        }
        Ok(out)
    }

    fn nobody_draws(&self, n: usize, name: &str, odd: &Drawn) -> ExperimentError {
        let message = format!("the paper's code draws nothing called `{name}`");
        let known: Vec<&str> = odd.iter().map(|(known, _)| *known).collect();
        let help = match known.is_empty() {
            true => "it draws nothing: declare a table, lines or bars".to_owned(),
            false => format!("it draws {}", known.join(", ")),
        };
        ExperimentError::at(
            self.source,
            &format!("exhibit.{n}.name"),
            message,
            Some(help),
        )
    }

    fn fill(&self, at: &At<'_>, key: &str, text: &str) -> DrawResult<String> {
        let place = format!("{}.{key}", at.place);
        self.rules
            .fill(&self.said(at, &place, text), &at.variables, self.world)
    }

    fn value(&self, at: &At<'_>, key: &str, text: &str) -> DrawResult<Value> {
        let place = format!("{}.{key}", at.place);
        self.rules
            .evaluate(&self.said(at, &place, text), &at.variables, self.world)
    }

    fn said<'a>(&'a self, at: &At<'a>, place: &'a str, text: &'a str) -> Said<'a> {
        Said {
            source: self.source,
            place,
            text,
            experiment: at.experiment,
        }
    }

    /// Returns one context per item of a loop, with the item as a variable. Without a loop, returns one context.
    fn each<'a>(&self, at: &At<'a>, text: Option<&str>) -> DrawResult<Vec<At<'a>>> {
        let Some(text) = text else {
            return Ok(vec![at.clone()]);
        };
        let Some((variable, items)) = text.split_once(" in ") else {
            let message = format!("`{text}` is not a loop");
            let help = Some("write `s in [SACK, FACK]`".to_owned());
            return Err(ExperimentError::at(self.source, &at.place, message, help));
        };
        let items = self.value(at, "each", items)?;
        let items = items.items().into_iter().map(|(_, item)| {
            let own = (variable.trim().to_owned(), item.clone());
            let variables = at.variables.iter().cloned().chain([own]).collect();
            At {
                variables,
                ..at.clone()
            }
        });
        Ok(items.collect())
    }

    /// Returns every line of the blocks at `key`, repeated for each item of the list of its block.
    fn every<'a, 'l, L>(
        &self,
        at: &At<'a>,
        key: &str,
        blocks: &'l [Block<L>],
    ) -> DrawResult<Vec<(At<'a>, &'l L)>> {
        let mut out = Vec::new();
        for (n, block) in blocks.iter().enumerate() {
            let here = At {
                place: format!("{}.{key}.{n}", at.place),
                ..at.clone()
            };
            for here in self.each(&here, block.each.as_deref())? {
                out.extend(block.lines.iter().map(|line| (here.clone(), line)));
            }
        }
        Ok(out)
    }

    fn texts(&self, at: &At<'_>, key: &str, texts: &[Text]) -> DrawResult<Vec<String>> {
        let mut out = Vec::new();
        for text in texts {
            match text {
                Text::One(text) => out.push(self.fill(at, key, text)?),
                Text::Each(EachText { each, text }) => {
                    for at in self.each(at, Some(each))? {
                        out.push(self.fill(&at, key, text)?);
                    }
                }
            }
        }
        Ok(out)
    }

    fn table(&self, at: &At<'_>, table: &TableOf) -> DrawResult<Table> {
        let rows = self.every(at, "rows", &table.rows)?.into_iter();
        let rows = rows.map(|(here, line)| self.row(&here, line, table.decimals));
        let rows = rows.filter_map(Result::transpose);
        let rows = rows.collect::<DrawResult<_>>()?;
        Ok(Table {
            name: table.name.clone(),
            caption: self.fill(at, "caption", &table.caption)?,
            header: self.texts(at, "header", &table.header)?,
            rows,
        })
    }

    /// Draws a row. Returns `None` if the row is optional and has no number.
    fn row(&self, at: &At<'_>, line: &Line, decimals: usize) -> DrawResult<Option<Vec<Cell>>> {
        let names = [
            (&line.group, Emphasis::Group),
            (&line.label, Emphasis::Plain),
        ];
        let mut row = Vec::new();
        for (name, emphasis) in names {
            if let Some(name) = name {
                row.push(Cell::new(self.fill(at, "lines", name)?, emphasis));
            }
        }
        let (named, decimals) = (row.len(), line.decimals.unwrap_or(decimals));
        for cells in &line.cells {
            match cells {
                Cells::Plain(value) => {
                    let value = self.value(at, "lines", value)?;
                    row.extend(numbers(&value, decimals, line.whose));
                }
                Cells::Special(special) => {
                    let whose = special.whose.unwrap_or(line.whose);
                    if let Some(text) = &special.text {
                        row.push(Cell::new(self.fill(at, "lines", text)?, whose.emphasis()));
                    }
                    if let Some(value) = &special.value {
                        let value = self.value(at, "lines", value)?;
                        let mut cells =
                            numbers(&value, special.decimals.unwrap_or(decimals), whose);
                        for (cell, (_, item)) in cells.iter_mut().zip(value.items()) {
                            special.dress(item, &mut cell.text);
                        }
                        row.extend(cells);
                    }
                }
            }
        }
        if line.optional && row[named..].iter().all(|cell| cell.text == NONE) {
            return Ok(None);
        }
        if let Some(truths) = &line.stands_out {
            let truths = self.value(at, "lines", truths)?;
            for (cell, (_, truth)) in row.iter_mut().skip(named).zip(truths.items()) {
                if *truth == Value::Truth(Verdict::Holds) {
                    cell.emphasis = Emphasis::Best;
                }
            }
        }
        Ok(Some(row))
    }

    fn lines(&self, at: &At<'_>, of: &LinesOf) -> DrawResult<LineChart> {
        let series = self.every(at, "series", &of.series)?.into_iter();
        let series = series.map(|(here, line)| {
            let x = line.x.as_deref().unwrap_or("value(points)");
            let (xs, ys) = (
                self.value(&here, "lines", x)?,
                self.value(&here, "lines", &line.y)?,
            );
            let pairs = xs.items().into_iter().zip(ys.items());
            let points = pairs.filter_map(|((_, x), (_, y))| {
                let (x, y) = (x.summary()?, y.summary()?);
                let half = y.half_width_95.filter(|_| y.n >= of.whiskers_from);
                Some(Point::from((x.mean, y.mean, half)))
            });
            Ok(Series {
                points: points.collect(),
                name: self.fill(&here, "lines", &line.name)?,
            })
        });
        let series = series.collect::<DrawResult<_>>()?;
        let scale = |log| if log { Scale::Log } else { Scale::Linear };
        Ok(LineChart {
            title: self.fill(at, "title", &of.title)?,
            subtitle: self.fill(at, "subtitle", &of.subtitle)?,
            x_label: of.x_label.clone(),
            y_label: of.y_label.clone(),
            x_scale: scale(of.x_log),
            y_scale: scale(of.y_log),
            y_from_zero: of.y_from_zero,
            series,
            references: self.references(at, of.references),
        })
    }

    fn references(&self, at: &At<'_>, wanted: References) -> Vec<Series> {
        match (
            wanted,
            at.experiment.and_then(|name| self.world.results(name)),
        ) {
            (References::Formulas, Some(results)) => theory(
                &Answered::of(results),
                Measure::Goodput,
                &Catalog::builtin(),
            ),
            _ => Vec::new(),
        }
    }

    fn bars(&self, at: &At<'_>, of: &BarsOf) -> DrawResult<BarChart> {
        let series = self.every(at, "series", &of.series)?.into_iter();
        let series = series.map(|(here, line)| {
            let value = self.value(&here, "lines", &line.y)?;
            let bars = value.items().into_iter().map(|(_, bar)| {
                let summary = bar.summary()?;
                Some(Bar {
                    mean: summary.mean,
                    half_width: summary.half_width_95,
                })
            });
            Ok(BarSeries {
                bars: bars.collect(),
                name: self.fill(&here, "lines", &line.name)?,
            })
        });
        let series = series.collect::<DrawResult<_>>()?;
        Ok(BarChart {
            title: self.fill(at, "title", &of.title)?,
            subtitle: self.fill(at, "subtitle", &of.subtitle)?,
            value_label: of.value_label.clone(),
            categories: self.texts(at, "categories", &of.categories)?,
            series,
            reference: of.reference.as_ref().map(|reference| Reference {
                value: reference.value,
                name: reference.name.clone(),
            }),
        })
    }
}

impl SpecialCells {
    /// Adds the sign and the unit to a number.
    fn dress(&self, item: &Value, text: &mut String) {
        let Some(summary) = item.summary() else {
            return;
        };
        if self.signs == Signs::Always && summary.mean > 0.0 {
            text.insert(0, '+');
        }
        text.push_str(&self.unit);
    }
}

impl Whose {
    const fn emphasis(self) -> Emphasis {
        match self {
            Self::Plain | Self::Paper => Emphasis::Number,
            Self::Here => Emphasis::Best,
        }
    }
}

/// Returns one cell per item of `value`.
fn numbers(value: &Value, decimals: usize, whose: Whose) -> Vec<Cell> {
    let items = value.items().into_iter().map(|(_, item)| {
        let text = match item {
            Value::Text(text) => text.clone(),
            other => other
                .summary()
                .map_or(NONE.to_owned(), |s| spread(&s, decimals)),
        };
        Cell::new(text, whose.emphasis())
    });
    items.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_sign_and_unit() {
        let cells: SpecialCells =
            toml::from_str("value = \"x\"\nunit = \" %\"\nsigns = \"always\"").unwrap();
        let dressed = |value: Value, text: &str| {
            let mut text = text.to_owned();
            cells.dress(&value, &mut text);
            text
        };
        assert_eq!(dressed(Value::Number(1.5), "1.5"), "+1.5 %");
        assert_eq!(dressed(Value::Number(-1.5), "-1.5"), "-1.5 %");
        assert_eq!(dressed(Value::Missing, NONE), NONE);
    }
}
