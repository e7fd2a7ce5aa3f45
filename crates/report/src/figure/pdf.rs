//! Conversion of SVG to PDF with one built-in font. Lines stay lines, and text stays searchable text.

use std::sync::Arc;

use krilla::Document;
use krilla::geom::Size;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};
use usvg::{FontResolver, Options, Tree, fontdb};

use super::FigureError;

/// Points of PDF per pixel of SVG: 1/96 inch per 1/72 inch.
const POINTS_PER_PX: f32 = 72.0 / 96.0;

/// Returns an SVG picture as PDF, on one page of its size, in the colours for a light background. The same picture
/// gives the same bytes.
///
/// # Errors
///
/// Returns an error if `svg` is not an SVG picture, or cannot be drawn as PDF.
pub fn pdf(svg: &str) -> Result<Vec<u8>, FigureError> {
    let unfit = |why: String| FigureError::Encode(why);
    let tree = { Tree::from_str(svg, &options()) }.map_err(|e| FigureError::Svg(e.to_string()))?;
    let width = tree.size().width() * POINTS_PER_PX;
    let height = tree.size().height() * POINTS_PER_PX;
    let size = Size::from_wh(width, height)
        .ok_or_else(|| unfit(format!("a page cannot have {width} by {height} points")))?;
    let mut document = Document::new();
    let mut page = document.start_page_with(PageSettings::new(size));
    let mut surface = page.surface();
    surface
        .draw_svg(&tree, size, SvgSettings::default())
        .ok_or_else(|| unfit("the picture does not fit on its page".to_owned()))?;
    surface.finish();
    page.finish();
    document.finish().map_err(|error| unfit(error.to_string()))
}

/// Ubuntu Light for every text, independent of the requested and installed fonts.
fn options() -> Options<'static> {
    let mut fonts = fontdb::Database::new();
    let ubuntu = Arc::new(epaint_default_fonts::UBUNTU_LIGHT);
    let ids = fonts.load_font_source(fontdb::Source::Binary(ubuntu));
    let only = ids.first().copied();
    Options {
        fontdb: Arc::new(fonts),
        font_resolver: FontResolver {
            select_font: Box::new(move |_, _| only),
            select_fallback: Box::new(|_, _, _| None),
        },
        ..Options::default()
    }
}
