//! From SVG to PNG.

use resvg::tiny_skia::{Color, Pixmap, Transform};

use super::FigureError;
use super::svg::tree;

/// Draws an SVG picture as PNG on white; `scale` is bitmap pixels per SVG pixel (2 suits
/// print and dense screens).
///
/// # Errors
/// If `svg` is not an SVG picture, or `scale` makes a bitmap that is empty or above 64
/// megapixels.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, FigureError> {
    const PIXELS_MAX: f32 = 64e6;
    let tree = tree(svg)?;
    let (width, height) = (tree.size().width() * scale, tree.size().height() * scale);
    if !(width >= 1.0 && height >= 1.0 && width * height <= PIXELS_MAX) {
        return Err(FigureError::Scale { scale });
    }
    let mut pixmap = Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .ok_or(FigureError::Scale { scale })?;
    pixmap.fill(Color::WHITE);
    resvg::render(
        &tree,
        Transform::from_scale(scale, scale),
        &mut pixmap.as_mut(),
    );
    pixmap
        .encode_png()
        .map_err(|error| FigureError::Encode(error.to_string()))
}
