//! The winner map: the best stack for each combination of two settings. Each cell has the colour and the mark of the
//! winner, as in the legend. Cells without an answer are empty.

use super::FigureError;
use super::canvas::{Canvas, Lettering, Stroke, fold, picture, text_width};
use super::chart::{Heading, MARGIN};
use super::legend::{Legend, Sample};
use super::style::{GRID, INK, SOFT_INK, TICK, WIDTH, look};
use super::words;

const CELL_HEIGHT: f64 = 24.0;
const CELL_WIDTH_MAX: f64 = 60.0;
const LINE: f64 = 18.0;
/// Maximum width of the name of a row, in px.
const ROW_NAME_MAX: f64 = 110.0;
/// Radius of a winner's mark, in px.
const MARK: f64 = 5.0;
/// Opacity of the background of a cell.
const TINT: f64 = 0.25;

/// The winner in each cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Winners {
    /// Title.
    pub title: String,
    /// Subtitle with the conditions. May be empty.
    pub subtitle: String,
    /// The setting that varies from column to column.
    pub x_label: String,
    /// The setting that varies from row to row. Empty if there is one row.
    pub y_label: String,
    /// The values of the columns.
    pub columns: Vec<String>,
    /// The values of the rows, from the top.
    pub rows: Vec<String>,
    /// Names of the candidates.
    pub names: Vec<String>,
    /// Index of the winner's name, by row, then by column. `None` if there is no winner.
    pub cells: Vec<Vec<Option<usize>>>,
}

impl Winners {
    /// Returns the figure as an SVG picture 900 px wide.
    ///
    /// # Errors
    ///
    /// Returns an error if the drawing backend fails.
    pub fn svg(&self) -> Result<String, FigureError> {
        let heading = Heading::new(&self.title, &self.subtitle);
        let legend = self.legend();
        let room = WIDTH - 2.0 * MARGIN;
        let top = heading.bottom() + legend.flow_height(room) + 8.0;
        let row_names = self.rows.iter().map(|name| fold(name, TICK, ROW_NAME_MAX));
        let row_names: Vec<Vec<String>> = row_names.collect();
        let lines = row_names.iter().flatten();
        let names = lines.map(|line| text_width(line, TICK)).fold(0.0, f64::max) + 10.0;
        let columns = self.columns.len().max(1) as f64;
        let cell = ((room - names) / columns).min(CELL_WIDTH_MAX);
        let column_names = self.columns.iter().map(|name| fold(name, TICK, cell - 4.0));
        let column_names: Vec<Vec<String>> = column_names.collect();
        let below = column_names.iter().map(Vec::len).max().unwrap_or(0) as f64 * 14.0;
        let height = LINE + self.rows.len() as f64 * CELL_HEIGHT + below + 34.0;
        let seen = words::of_winners(self);
        picture((WIDTH, top + height), (&self.title, &seen), |canvas| {
            heading.draw(canvas)?;
            legend.draw_flowing(canvas, heading.bottom() + 4.0, room)?;
            self.draw_names(canvas, (top, names, cell), &row_names, &column_names)?;
            for (row, cells) in self.cells.iter().take(self.rows.len()).enumerate() {
                let y = top + LINE + CELL_HEIGHT * (row as f64 + 0.5);
                for (column, winner) in cells.iter().take(self.columns.len()).enumerate() {
                    let x = MARGIN + names + cell * column as f64;
                    draw_place(canvas, *winner, (x, y, cell))?;
                }
            }
            Ok(())
        })
    }

    /// Returns a legend of the candidates that win at least one cell.
    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        for (place, name) in self.names.iter().enumerate() {
            if self
                .cells
                .iter()
                .flatten()
                .any(|winner| *winner == Some(place))
            {
                let look = look(place);
                legend.add_whole(name, Sample::Mark(look.marker, look.color, MARK));
            }
        }
        legend
    }

    fn draw_names(
        &self,
        canvas: &Canvas<'_>,
        (top, names, cell): (f64, f64, f64),
        rows: &[Vec<String>],
        columns: &[Vec<String>],
    ) -> Result<(), FigureError> {
        let soft = Lettering::left(TICK, SOFT_INK);
        canvas.text(&self.y_label, (MARGIN, top + LINE / 2.0), &soft)?;
        for (row, name) in rows.iter().enumerate() {
            let y = top + LINE + CELL_HEIGHT * (row as f64 + 0.5);
            let first = y - 14.0 * (name.len() as f64 - 1.0) / 2.0;
            for (line, text) in name.iter().enumerate() {
                let place = (MARGIN + names - 8.0, first + 14.0 * line as f64);
                canvas.text(text, place, &Lettering::right(TICK, INK))?;
            }
        }
        let below = top + LINE + CELL_HEIGHT * self.rows.len() as f64 + 11.0;
        for (column, name) in columns.iter().enumerate() {
            let x = MARGIN + names + cell * (column as f64 + 0.5);
            for (line, text) in name.iter().enumerate() {
                let place = (x, below + 14.0 * line as f64);
                canvas.text(text, place, &Lettering::centre(TICK, INK))?;
            }
        }
        let lines = columns.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let middle = MARGIN + names + cell * self.columns.len() as f64 / 2.0;
        let place = (middle, below + 14.0 * lines + 5.0);
        canvas.text(&self.x_label, place, &Lettering::centre(TICK, SOFT_INK))
    }
}

/// Draws a cell of this width in the colour of the winner, with the winner's mark.
fn draw_place(
    canvas: &Canvas<'_>,
    winner: Option<usize>,
    (x, y, width): (f64, f64, f64),
) -> Result<(), FigureError> {
    let (left, right) = (x + 1.0, x + width - 1.0);
    let (top, bottom) = (y - CELL_HEIGHT / 2.0 + 1.0, y + CELL_HEIGHT / 2.0 - 1.0);
    let Some(winner) = winner else {
        let outline = [
            (left, top),
            (right, top),
            (right, bottom),
            (left, bottom),
            (left, top),
        ];
        return canvas.line(&outline, &Stroke::solid(GRID, 1.0));
    };
    let look = look(winner);
    canvas.rectangle((left, top), (right, bottom), look.color, TINT)?;
    canvas.marker(
        look.marker,
        (f64::midpoint(left, right), y),
        MARK,
        look.color,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::in_words;

    fn map() -> Winners {
        Winners {
            title: "Best stack by path".to_owned(),
            x_label: "loss".to_owned(),
            y_label: "delay".to_owned(),
            columns: vec!["0%".to_owned(), "1%".to_owned()],
            rows: vec!["5ms".to_owned(), "9ms".to_owned()],
            names: ["a/b", "c/d", "e/f"].map(str::to_owned).to_vec(),
            cells: vec![vec![Some(2), None], vec![Some(0), Some(2)]],
            ..Winners::default()
        }
    }

    #[test]
    fn winners_are_in_the_legend_and_in_the_description() {
        let svg = map().svg().unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts = document.descendants().filter(|n| n.has_tag_name("text"));
        let texts: Vec<String> = texts
            .filter_map(|n| n.text().map(|text| text.trim().to_owned()))
            .collect();
        for there in ["a/b", "e/f", "0%", "1%", "5ms", "9ms", "loss", "delay"] {
            assert!(texts.iter().any(|text| text == there), "{there}: {texts:?}");
        }
        assert!(!texts.iter().any(|text| text == "c/d"), "{texts:?}");
        let words = in_words(&svg).unwrap();
        assert!(words.contains("e/f: 2 of 4"), "{words}");
        assert!(words.contains("no answer: 1 of 4"), "{words}");
    }

    #[test]
    fn a_map_without_cells_can_be_drawn() {
        assert!(Winners::default().svg().unwrap().starts_with("<svg"));
    }
}
