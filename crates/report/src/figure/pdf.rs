//! Conversion of SVG to PDF with one built-in font. Lines remain vector graphics, and text remains searchable.

use std::sync::Arc;

use krilla::Document;
use krilla::geom::Size;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};
use usvg::{FontResolver, Options, Tree, fontdb};

use super::FigureError;

/// PDF points per SVG pixel. A point is 1/72 inch, and a pixel is 1/96 inch.
const POINTS_PER_PX: f32 = 72.0 / 96.0;

/// Returns an SVG picture as PDF, on one page of the picture's size, in the colours for a light background. The same
/// picture always gives the same bytes.
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

/// Returns options that use Ubuntu Light for all text, independent of the requested and the installed fonts.
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
