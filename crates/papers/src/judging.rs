//! What declared and drawn exhibits share.

use super::reproduction::Exhibit;
use dupack_report::comparison::Figure;
use dupack_report::figure::FigureError;

/// A figure, if it can be drawn.
pub(super) fn figure(
    name: &str,
    caption: &str,
    svg: Result<String, FigureError>,
) -> Option<Exhibit> {
    Some(Exhibit::Figure(Figure {
        name: name.to_owned(),
        svg: svg.ok()?,
        caption: caption.to_owned(),
    }))
}
