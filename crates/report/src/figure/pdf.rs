//! From SVG to PDF: lines stay lines, and text stays text that can be searched.

use krilla::Document;
use krilla::geom::Size;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};

use super::FigureError;
use super::svg::tree;

/// A point of PDF is 1/72 inch, a pixel of SVG is 1/96.
const POINTS_PER_PX: f32 = 0.75;

/// Draws an SVG picture as PDF, on a page of its size. The same picture gives the same bytes.
///
/// # Errors
/// If `svg` is not an SVG picture, or cannot be drawn as PDF.
pub fn pdf(svg: &str) -> Result<Vec<u8>, FigureError> {
    let tree = tree(svg)?;
    let undrawn = |why: String| FigureError::Encode(why);
    let (width, height) = (tree.size().width(), tree.size().height());
    let (width, height) = (width * POINTS_PER_PX, height * POINTS_PER_PX);
    let size = Size::from_wh(width, height)
        .ok_or_else(|| undrawn(format!("a page of {width} by {height} points")))?;
    let mut document = Document::new();
    let mut page = document.start_page_with(PageSettings::new(size));
    let mut surface = page.surface();
    { surface.draw_svg(&tree, size, SvgSettings::default()) }
        .ok_or_else(|| undrawn("the picture has no place on its page".to_owned()))?;
    surface.finish();
    page.finish();
    { document.finish() }.map_err(|error| undrawn(format!("{error:?}")))
}
