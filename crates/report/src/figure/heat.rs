//! The heat map: tables whose cells are shaded by their numbers, for a measure that depends on two settings. There is
//! one table per stack, and all tables have the same shades.
//!
//! Ratios have two colours that the colour-blind can distinguish: orange below one and blue above one. Ratios that are
//! not significantly different from one have a neutral colour. Amounts have one colour, which is darker for larger
//! amounts. The number is in the cell, so that colour is never the only information.

use plotters::style::RGBColor;

use super::FigureError;
use super::axis::{Scale, in_company, plain, shortened};
use super::canvas::{Canvas, Lettering, Stroke, fold, picture, text_width};
use super::chart::{Heading, MARGIN};
use super::style::{
    AMOUNTS, GRID, INK, LABEL, ON_MIDDLE, ON_STRONG, RATIOS, SOFT_INK, TICK, VALUE, WIDTH,
};
use super::words;

const CELL_HEIGHT: f64 = 30.0;
const CELL_WIDTH_MAX: f64 = 92.0;
/// Minimum width of a cell that contains its number, in px.
const NUMBERED_MIN: f64 = 34.0;
/// Minimum width of a cell if tables are side by side, in px.
const BESIDE_MIN: f64 = 44.0;
const LINE: f64 = 18.0;
const GAP: f64 = 30.0;
/// Maximum width of the name of a row, in px.
const ROW_NAME_MAX: f64 = 110.0;
/// Size of a box in the legend of shades, in px.
const SWATCH: (f64, f64) = (58.0, 14.0);
const SCALE_HEIGHT: f64 = 64.0;

/// Boundaries of the shades of ratios.
const RATIO_EDGES: [f64; 8] = [0.5, 0.67, 0.8, 0.95, 1.05, 1.25, 1.5, 2.0];

/// Kind of the numbers of a [`HeatMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shades {
    /// Ratios. The value one is neutral.
    #[default]
    Ratio,
    /// Amounts.
    Amount,
}

/// Shaded tables: a measure by two settings, one table per stack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions. May be empty.
    pub subtitle: String,
    /// The setting that varies from column to column.
    pub x_label: String,
    /// The setting that varies from row to row.
    pub y_label: String,
    /// Name of the numbers, with their unit.
    pub value_label: String,
    /// Kind of the shades.
    pub shades: Shades,
    /// The values of the columns.
    pub columns: Vec<String>,
    /// The values of the rows, from the top.
    pub rows: Vec<String>,
    /// The tables, in reading order.
    pub panels: Vec<HeatPanel>,
}

/// A table of a [`HeatMap`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatPanel {
    /// Name of the table.
    pub name: String,
    /// The cells by row, then by column. `None` leaves a cell empty.
    pub cells: Vec<Vec<Option<HeatCell>>>,
}

/// A number in a [`HeatMap`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatCell {
    /// The number.
    pub value: f64,
    /// The 95 % confidence interval of the number, if there is one.
    pub interval: Option<(f64, f64)>,
}

impl HeatCell {
    /// Returns `true` if the ratio is significantly different from one, or has no interval.
    pub(super) fn is_told(&self) -> bool {
        self.interval
            .is_none_or(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// Positions of the tables.
struct Layout {
    /// Number of tables side by side.
    beside: usize,
    /// Width of a table with its row names, in px.
    width: f64,
    /// Width of the row names, in px.
    names: f64,
    cell: f64,
    row_names: Vec<Vec<String>>,
    column_names: Vec<Vec<String>>,
}

impl HeatMap {
    /// Returns the figure as an SVG picture 900 px wide.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let heading = Heading::new(&self.title, &self.subtitle);
        let layout = self.layout();
        let tables_top = heading.bottom() + SCALE_HEIGHT;
        let mut places = Vec::new();
        let mut top = tables_top;
        for row in self.panels.chunks(layout.beside) {
            let names: Vec<Vec<String>> = { row.iter() }
                .map(|panel| fold(&panel.name, LABEL, layout.width))
                .collect();
            let lines = names.iter().map(Vec::len).max().unwrap_or_default();
            for (index, name) in names.into_iter().enumerate() {
                let left = MARGIN + index as f64 * (layout.width + GAP);
                places.push((left, top, lines, name));
            }
            top += lines as f64 * LINE + layout.height() + GAP * 0.7;
        }
        let size = (WIDTH, top);
        let seen = words::of_heat(self);
        picture(size, (&self.title, &seen), |canvas| {
            heading.draw(canvas)?;
            let edges = self.edges();
            self.draw_scale(canvas, heading.bottom() + 6.0, &edges)?;
            for (panel, (left, top, lines, name)) in self.panels.iter().zip(places) {
                for (line, text) in name.iter().enumerate() {
                    let place = (left, top + LINE * (line as f64 + 0.5));
                    canvas.text(text, place, &Lettering::left(LABEL, INK))?;
                }
                let top = top + lines as f64 * LINE;
                self.draw_table(canvas, panel, &layout, (left, top), &edges)?;
            }
            Ok(())
        })
    }

    fn layout(&self) -> Layout {
        let row_names = self.rows.iter().map(|name| fold(name, TICK, ROW_NAME_MAX));
        let row_names: Vec<Vec<String>> = row_names.collect();
        let widths = row_names
            .iter()
            .flatten()
            .map(|line| text_width(line, TICK));
        let names = widths.fold(0.0, f64::max) + 10.0;
        let columns = self.columns.len().max(1) as f64;
        let whole = WIDTH - 2.0 * MARGIN;
        let half = (whole - GAP) / 2.0;
        let beside = match self.panels.len() > 1 && (half - names) / columns >= BESIDE_MIN {
            true => 2,
            false => 1,
        };
        let width = if beside == 2 { half } else { whole };
        let cell = ((width - names) / columns).min(CELL_WIDTH_MAX);
        let column_names = self.columns.iter().map(|name| fold(name, TICK, cell - 4.0));
        Layout {
            beside,
            width,
            names,
            cell,
            row_names,
            column_names: column_names.collect(),
        }
    }

    /// Returns the boundaries between shades, in ascending order.
    fn edges(&self) -> Vec<f64> {
        if self.shades == Shades::Ratio {
            return RATIO_EDGES.to_vec();
        }
        let cells = self.panels.iter().flat_map(|panel| &panel.cells);
        let values = cells.flatten().flatten().map(|cell| cell.value);
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let is_log = Scale::of_measured(&values) != Scale::Linear;
        let positive = |value: &&f64| !is_log || **value > 0.0;
        let values = || values.iter().filter(positive).copied();
        let (low, high) = (
            values().fold(f64::INFINITY, f64::min),
            values().fold(f64::NEG_INFINITY, f64::max),
        );
        if low >= high {
            return Vec::new();
        }
        let shades = AMOUNTS.len() as f64;
        let edge = |n: usize| match n as f64 / shades {
            share if is_log => low * (high / low).powf(share),
            share => low + (high - low) * share,
        };
        (1..AMOUNTS.len()).map(edge).collect()
    }

    /// Returns the index of a cell's shade.
    fn shade(&self, cell: &HeatCell, edges: &[f64]) -> usize {
        match self.shades {
            Shades::Ratio if !cell.is_told() => RATIOS.len() / 2,
            _ => edges.iter().filter(|&&edge| cell.value >= edge).count(),
        }
    }

    /// Returns a shade and the text colour that is legible on it.
    fn color(&self, shade: usize) -> (RGBColor, RGBColor) {
        let (shades, from_ends) = match self.shades {
            Shades::Ratio => (
                &RATIOS[..],
                shade.min(RATIOS.len() - 1 - shade.min(RATIOS.len() - 1)),
            ),
            Shades::Amount => (
                &AMOUNTS[..],
                AMOUNTS.len() - 1 - shade.min(AMOUNTS.len() - 1),
            ),
        };
        let ink = match from_ends {
            0 => ON_STRONG,
            1 => ON_MIDDLE,
            _ => INK,
        };
        (shades[shade.min(shades.len() - 1)], ink)
    }

    /// Returns a number as text for a cell.
    pub(super) fn number(&self, value: f64) -> String {
        match (self.shades, value) {
            (_, value) if value == f64::INFINITY => "\u{221e}".to_owned(),
            (Shades::Ratio, value) if value < 10.0 => format!("{value:.2}"),
            (Shades::Ratio, value) if value < 100.0 => format!("{value:.1}"),
            (Shades::Ratio, value) => plain(value),
            (Shades::Amount, value) => shortened(value, 3),
        }
    }

    /// Draws the legend of shades, with the boundaries between them.
    fn draw_scale(&self, canvas: &Canvas<'_>, top: f64, edges: &[f64]) -> Result<(), FigureError> {
        let soft = Lettering::left(TICK, SOFT_INK);
        canvas.text(&self.value_label, (MARGIN, top + 8.0), &soft)?;
        let y = top + 20.0;
        let magnitude = edges.last().copied().unwrap_or_default();
        for shade in 0..=edges.len() {
            let left = MARGIN + SWATCH.0 * shade as f64;
            let (color, _) = self.color(shade);
            canvas.rectangle((left, y), (left + SWATCH.0, y + SWATCH.1), color, 1.0)?;
            let Some(&edge) = edges.get(shade) else {
                continue;
            };
            let label = match self.shades {
                Shades::Ratio => plain(edge),
                Shades::Amount => in_company(edge, magnitude),
            };
            let place = (left + SWATCH.0, y + SWATCH.1 + 9.0);
            canvas.text(&label, place, &Lettering::centre(VALUE, SOFT_INK))?;
        }
        Ok(())
    }

    fn draw_table(
        &self,
        canvas: &Canvas<'_>,
        panel: &HeatPanel,
        layout: &Layout,
        (left, top): (f64, f64),
        edges: &[f64],
    ) -> Result<(), FigureError> {
        let soft = |text: &str, place| canvas.text(text, place, &Lettering::left(TICK, SOFT_INK));
        soft(&self.y_label, (left, top + LINE / 2.0))?;
        let (cells_left, cells_top) = (left + layout.names, top + LINE + 2.0);
        for (row, name) in layout.row_names.iter().enumerate() {
            let y = cells_top + CELL_HEIGHT * (row as f64 + 0.5);
            let first = y - 14.0 * (name.len() as f64 - 1.0) / 2.0;
            for (line, text) in name.iter().enumerate() {
                let place = (cells_left - 8.0, first + 14.0 * line as f64);
                canvas.text(text, place, &Lettering::right(TICK, INK))?;
            }
            let cells = panel.cells.get(row).into_iter().flatten();
            for (column, cell) in cells.enumerate().take(self.columns.len()) {
                let x = cells_left + layout.cell * column as f64;
                self.draw_cell(canvas, cell.as_ref(), (x, y, layout.cell), edges)?;
            }
        }
        let below = cells_top + CELL_HEIGHT * self.rows.len() as f64 + 11.0;
        for (column, name) in layout.column_names.iter().enumerate() {
            let x = cells_left + layout.cell * (column as f64 + 0.5);
            for (line, text) in name.iter().enumerate() {
                let place = (x, below + 14.0 * line as f64);
                canvas.text(text, place, &Lettering::centre(TICK, INK))?;
            }
        }
        let lines = layout.column_lines();
        let middle = cells_left + layout.cell * self.columns.len() as f64 / 2.0;
        let place = (middle, below + 14.0 * lines + 5.0);
        canvas.text(&self.x_label, place, &Lettering::centre(TICK, SOFT_INK))
    }

    fn draw_cell(
        &self,
        canvas: &Canvas<'_>,
        cell: Option<&HeatCell>,
        (x, y, width): (f64, f64, f64),
        edges: &[f64],
    ) -> Result<(), FigureError> {
        let (top, bottom) = (y - CELL_HEIGHT / 2.0 + 1.0, y + CELL_HEIGHT / 2.0 - 1.0);
        let (left, right) = (x + 1.0, x + width - 1.0);
        let Some(cell) = cell.filter(|cell| !cell.value.is_nan()) else {
            let outline = [
                (left, top),
                (right, top),
                (right, bottom),
                (left, bottom),
                (left, top),
            ];
            return canvas.line(&outline, &Stroke::solid(GRID, 1.0));
        };
        let (color, ink) = self.color(self.shade(cell, edges));
        canvas.rectangle((left, top), (right, bottom), color, 1.0)?;
        if width < NUMBERED_MIN {
            return Ok(());
        }
        let is_exact = cell.interval.is_none_or(|(low, high)| high - low < 1e-9);
        let sign = match self.shades {
            Shades::Ratio if !cell.is_told() && !is_exact => "\u{2248}",
            _ => "",
        };
        let text = format!("{sign}{}", self.number(cell.value));
        let place = (f64::midpoint(left, right), y);
        canvas.text(&text, place, &Lettering::centre(VALUE, ink))
    }
}

impl Layout {
    fn column_lines(&self) -> f64 {
        self.column_names
            .iter()
            .map(Vec::len)
            .max()
            .unwrap_or_default() as f64
    }

    /// Returns the height of a table without its name.
    fn height(&self) -> f64 {
        let rows = self.row_names.len() as f64;
        LINE + 2.0 + rows * CELL_HEIGHT + 14.0 * self.column_lines() + 26.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tables_are_side_by_side_if_their_cells_have_room() {
        let layout = |columns: usize, panels: usize| {
            let map = HeatMap {
                columns: vec!["1".to_owned(); columns],
                rows: vec!["a".to_owned()],
                panels: vec![HeatPanel::default(); panels],
                ..HeatMap::default()
            };
            let Layout { beside, width, .. } = map.layout();
            (beside, width)
        };
        let whole = WIDTH - 2.0 * MARGIN;
        assert_eq!(layout(4, 2), (2, (whole - GAP) / 2.0));
        assert_eq!(layout(4, 1), (1, whole));
        // 40 columns of 44 px would be wider than the picture.
        assert_eq!(layout(40, 2), (1, whole));
    }
}
