//! SVG as it is read for other formats, with one built-in font, whatever is installed on the machine.

use std::sync::{Arc, LazyLock};

use resvg::usvg::{Options, Tree, fontdb};

use super::FigureError;

/// Ubuntu Light alone, standing in for every generic family.
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

/// What an SVG picture consists of, its texts in the built-in font.
pub(super) fn tree(svg: &str) -> Result<Tree, FigureError> {
    let fonts = Arc::clone(&FONTS);
    let family = fonts.family_name(&fontdb::Family::SansSerif).to_owned();
    let options = Options {
        font_family: family,
        fontdb: fonts,
        ..Options::default()
    };
    Ok(Tree::from_str(svg, &options)?)
}
