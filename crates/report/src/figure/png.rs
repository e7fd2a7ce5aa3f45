//! Conversion of SVG to PNG with one built-in font, independent of the installed fonts.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::FigureError;

/// Font database that contains only Ubuntu Light, which replaces every generic family.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let family = fonts
        .faces()
        .flat_map(|face| &face.families)
        .map(|(name, _)| name.clone())
        .next();
    if let Some(family) = family {
        fonts.set_serif_family(&family);
        fonts.set_sans_serif_family(&family);
        fonts.set_monospace_family(&family);
    }
    Arc::new(fonts)
});

/// Returns an SVG picture as PNG on a white background. `scale` is the number of bitmap pixels per SVG pixel; 2 is
/// suitable for print and high-resolution screens.
///
/// # Errors
///
/// Returns an error if `svg` is not an SVG picture, or if `scale` results in a bitmap that is empty or above 64
/// megapixels.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, FigureError> {
    const PIXELS_MAX: f32 = 64e6;
    let fonts = Arc::clone(&FONTS);
    let family = fonts.family_name(&fontdb::Family::SansSerif).to_owned();
    let options = Options {
        font_family: family,
        fontdb: fonts,
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(|e| FigureError::Svg(e.to_string()))?;
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
