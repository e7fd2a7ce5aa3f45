//! A drawing surface with fractional pixels, based on the SVG backend of `plotters`.
//!
//! The backend supports only whole numbers. Pictures are therefore drawn at ten times their size, and the `viewBox`
//! attribute scales them down, so positions are exact to a tenth of a pixel.

use std::sync::LazyLock;

use plotters::coord::Shift;
use plotters::element::{Circle, DashedPathElement, PathElement, Polygon, Rectangle};
use plotters::prelude::{DrawingArea, IntoDrawingArea, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, ShapeStyle, TextStyle};

use super::FigureError;
use super::style::{Dash, IN_THE_DARK, Marker};

/// Drawing units per pixel.
const UNITS_PER_PX: f64 = 10.0;

/// A place on the canvas, in px from its top left corner.
pub(super) type Place = (f64, f64);

/// Drawing surface of a picture.
pub(super) struct Canvas<'s> {
    area: DrawingArea<SVGBackend<'s>, Shift>,
}

/// Style of a line. Its width is in px.
#[derive(Clone, Copy)]
pub(super) struct Stroke {
    pub(super) color: RGBColor,
    pub(super) width: f64,
    pub(super) dash: Dash,
    pub(super) opacity: f64,
}

impl Stroke {
    pub(super) fn solid(color: RGBColor, width: f64) -> Self {
        Self {
            color,
            width,
            dash: Dash::Solid,
            opacity: 1.0,
        }
    }
}

/// Style of a text: its size in px, and its alignment to the given place. Vertically, the place is the middle of the
/// line.
#[derive(Clone, Copy)]
pub(super) struct Lettering {
    pub(super) size: f64,
    pub(super) color: RGBColor,
    pub(super) anchor: HPos,
}

impl Lettering {
    pub(super) fn left(size: f64, color: RGBColor) -> Self {
        Self {
            size,
            color,
            anchor: HPos::Left,
        }
    }

    pub(super) fn right(size: f64, color: RGBColor) -> Self {
        Self {
            size,
            color,
            anchor: HPos::Right,
        }
    }

    pub(super) fn centre(size: f64, color: RGBColor) -> Self {
        Self {
            size,
            color,
            anchor: HPos::Center,
        }
    }
}

/// Draws a picture of `size` px. Screen readers get the name and the description, which may be empty. The background is
/// white, or dark if the reader's system prefers dark colours.
pub(super) fn picture(
    size: (f64, f64),
    (name, description): (&str, &str),
    draw: impl FnOnce(&Canvas<'_>) -> Result<(), FigureError>,
) -> Result<String, FigureError> {
    let mut body = String::new();
    let units = (unit(size.0).max(1) as u32, unit(size.1).max(1) as u32);
    {
        let area = SVGBackend::with_string(&mut body, units).into_drawing_area();
        let canvas = Canvas { area };
        canvas.rectangle((0.0, 0.0), size, plotters::style::WHITE, 1.0)?;
        draw(&canvas)?;
        canvas
            .area
            .present()
            .map_err(|error| FigureError::Draw(error.to_string()))?;
    }
    let head = body.find('>').map_or(0, |end| end + 1);
    let (width, height) = size;
    let (name, description) = (escape(name), escape(description));
    let words = match description.as_str() {
        "" => String::new(),
        text => format!("<title>{name}</title><desc>{text}</desc>"),
    };
    let label = match description.as_str() {
        "" => name,
        text => format!("{name}. {text}"),
    };
    let style = dark_style();
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{label}\" \
         style=\"max-width:100%;height:auto\" stroke-linejoin=\"round\" \
         stroke-linecap=\"butt\">{words}{style}{}",
        units.0,
        units.1,
        &body[head..],
    ))
}

/// Returns CSS rules that replace every colour of [`style`](super::style) by its dark variant. The rules select
/// elements by attribute because the backend writes no classes.
fn dark_style() -> &'static str {
    static STYLE: LazyLock<String> = LazyLock::new(|| {
        let hex = |color: RGBColor| format!("#{:02X}{:02X}{:02X}", color.0, color.1, color.2);
        let rules = IN_THE_DARK.iter().map(|&(light, dark)| {
            let (light, dark) = (hex(light), hex(dark));
            format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
        });
        let rules: String = rules.collect();
        format!("<style>@media (prefers-color-scheme:dark){{{rules}}}</style>")
    });
    &STYLE
}

/// Returns the text description of a picture of this crate, including its name, for readers who cannot see the picture.
/// Returns `None` if `svg` is not a picture of this crate.
#[must_use]
pub fn in_words(svg: &str) -> Option<String> {
    const BEFORE: &str = " aria-label=\"";
    let head = svg.get(..svg.find('>')?)?;
    let label = head.get(head.find(BEFORE)? + BEFORE.len()..)?;
    let label = label.get(..label.find('"')?)?;
    let plain = label.replace("&quot;", "\"").replace("&lt;", "<");
    Some(plain.replace("&gt;", ">").replace("&amp;", "&"))
}

impl Canvas<'_> {
    /// Draws a line through `places`. Nothing is drawn if there are fewer than two places.
    pub(super) fn line(&self, places: &[Place], stroke: &Stroke) -> Result<(), FigureError> {
        if places.len() < 2 {
            return Ok(());
        }
        let style = ShapeStyle {
            color: stroke.color.mix(stroke.opacity),
            filled: false,
            stroke_width: unit(stroke.width).max(1) as u32,
        };
        let (dash, gap) = match stroke.dash {
            Dash::Solid => return self.draw(&PathElement::new(units(places), style)),
            Dash::Dashed => (7.0, 3.5),
            Dash::Dotted => (2.5, 2.5),
        };
        let element = DashedPathElement::new(units(places), unit(dash), unit(gap), style);
        self.draw(&element)
    }

    /// Draws a filled rectangle between two opposite corners.
    pub(super) fn rectangle(
        &self,
        corner: Place,
        opposite: Place,
        color: RGBColor,
        opacity: f64,
    ) -> Result<(), FigureError> {
        let low = (corner.0.min(opposite.0), corner.1.min(opposite.1));
        let high = (corner.0.max(opposite.0), corner.1.max(opposite.1));
        self.draw(&Rectangle::new(
            [at(low), at(high)],
            color.mix(opacity).filled(),
        ))
    }

    /// Draws a filled polygon.
    pub(super) fn polygon(
        &self,
        corners: &[Place],
        color: RGBColor,
        opacity: f64,
    ) -> Result<(), FigureError> {
        if corners.len() < 3 {
            return Ok(());
        }
        self.draw(&Polygon::new(units(corners), color.mix(opacity)))
    }

    /// Draws one line of text.
    pub(super) fn text(
        &self,
        text: &str,
        place: Place,
        lettering: &Lettering,
    ) -> Result<(), FigureError> {
        // The backend divides the size of a font by this factor.
        const BACKEND_SIZE_FACTOR: f64 = 1.24;
        let font = (
            "Ubuntu, sans-serif",
            lettering.size * UNITS_PER_PX * BACKEND_SIZE_FACTOR,
        );
        let style = TextStyle::from(font.into_font())
            .color(&lettering.color)
            .pos(Pos::new(lettering.anchor, VPos::Center));
        self.area
            .draw_text(&legible(text), &style, at(place))
            .map_err(|error| FigureError::Draw(error.to_string()))
    }

    /// Draws a marker with a half-width of `radius` px.
    pub(super) fn marker(
        &self,
        marker: Marker,
        (x, y): Place,
        radius: f64,
        color: RGBColor,
    ) -> Result<(), FigureError> {
        let r = radius;
        let thin = Stroke::solid(color, (r * 0.45).max(0.8));
        match marker {
            Marker::Circle => self.circle((x, y), r, color.filled()),
            Marker::Dot => self.circle((x, y), r * 0.5, color.filled()),
            Marker::Ring => {
                self.circle((x, y), r, plotters::style::WHITE.filled())?;
                let width = unit(thin.width) as u32;
                self.circle((x, y), r, color.stroke_width(width))
            }
            Marker::Square => {
                let r = r * 0.9;
                self.rectangle((x - r, y - r), (x + r, y + r), color, 1.0)
            }
            Marker::TriangleUp => {
                let r = r * 1.15;
                self.polygon(
                    &[(x, y - r), (x + r, y + r * 0.8), (x - r, y + r * 0.8)],
                    color,
                    1.0,
                )
            }
            Marker::TriangleDown => {
                let r = r * 1.15;
                self.polygon(
                    &[(x, y + r), (x + r, y - r * 0.8), (x - r, y - r * 0.8)],
                    color,
                    1.0,
                )
            }
            Marker::Diamond => {
                let r = r * 1.25;
                self.polygon(
                    &[(x, y - r), (x + r, y), (x, y + r), (x - r, y)],
                    color,
                    1.0,
                )
            }
            Marker::Cross => {
                self.line(&[(x - r, y - r), (x + r, y + r)], &thin)?;
                self.line(&[(x - r, y + r), (x + r, y - r)], &thin)
            }
            Marker::Plus => {
                let r = r * 1.2;
                self.line(&[(x - r, y), (x + r, y)], &thin)?;
                self.line(&[(x, y - r), (x, y + r)], &thin)
            }
        }
    }

    fn circle(&self, centre: Place, radius: f64, style: ShapeStyle) -> Result<(), FigureError> {
        self.draw(&Circle::new(at(centre), unit(radius).max(1), style))
    }

    fn draw<'e, E>(&self, element: &'e E) -> Result<(), FigureError>
    where
        &'e E: plotters::element::PointCollection<'e, (i32, i32)>,
        E: for<'d> plotters::element::Drawable<SVGBackend<'d>>,
    {
        self.area
            .draw(element)
            .map_err(|error| FigureError::Draw(error.to_string()))
    }
}

/// Returns pixels as drawing units. Values far outside any picture are clamped.
fn unit(px: f64) -> i32 {
    (px * UNITS_PER_PX).round().clamp(-1e6, 1e6) as i32
}

fn at(place: Place) -> (i32, i32) {
    (unit(place.0), unit(place.1))
}

fn units(places: &[Place]) -> Vec<(i32, i32)> {
    places.iter().copied().map(at).collect()
}

/// Returns `text` without control characters, which XML does not allow even if they are escaped.
fn legible(text: &str) -> String {
    text.chars()
        .filter(|c| !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')))
        .collect()
}

fn escape(text: &str) -> String {
    legible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns the width of `text` at `size`, in px. The width is a conservative estimate for common sans-serif fonts,
/// because a browser may not have the built-in font.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '(' | ')' => 0.33,
        'f' | 't' | 'r' | '/' | '-' | '[' | ']' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '—' | '…' => 0.92,
        c if c.is_uppercase() => 0.68,
        c if c.is_ascii() => 0.57,
        _ => 0.7,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// Breaks `text` into lines of at most `width` px. Breaks are after blanks, slashes and commas, and before brackets.
/// Text between two possible breaks is not broken, even if it is longer than a line.
pub(super) fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    fill(pieces(text, &[' ', '/', ',']), size, width)
}

/// Like `wrap`, but text that is longer than a line is also broken after `=`, `_`, `-` and `.`, and if necessary
/// anywhere.
pub(super) fn fold(text: &str, size: f64, width: f64) -> Vec<String> {
    let fits = |line: &String| text_width(line, size) <= width;
    let mut lines = Vec::new();
    for long in wrap(text, size, width) {
        if fits(&long) {
            lines.push(long);
            continue;
        }
        for piece in fill(pieces(&long, &['=', '_', '-', '.']), size, width) {
            if fits(&piece) {
                lines.push(piece);
                continue;
            }
            let letters = piece.char_indices();
            let letters = letters.map(|(at, c)| &piece[at..at + c.len_utf8()]);
            lines.extend(fill(letters.collect(), size, width));
        }
    }
    lines
}

/// Returns the pieces of `text`, which is cut after each character of `ends` and before each opening bracket.
fn pieces<'t>(text: &'t str, ends: &[char]) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    for word in text.split_inclusive(ends) {
        let mut from = 0;
        for (at, _) in word.match_indices('(').filter(|(at, _)| *at > 0) {
            pieces.push(&word[from..at]);
            from = at;
        }
        pieces.push(&word[from..]);
    }
    pieces
}

/// Returns `pieces` in lines of at most `width` px, with as many pieces as fit on each line.
fn fill(pieces: Vec<&str>, size: f64, width: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in pieces {
        let longer = format!("{line}{piece}");
        if !line.is_empty() && text_width(longer.trim_end(), size) > width {
            lines.push(line.trim_end().to_owned());
            piece.clone_into(&mut line);
        } else {
            line = longer;
        }
    }
    if !line.trim_end().is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long name is broken between its parts, and within a word only if necessary.
    #[test]
    fn stacks_are_broken_between_their_parts() {
        let name = "rack/bbr(loss_thresh=0.9,beta=0.99,headroom=0)";
        assert_eq!(
            fold(name, 14.0, 150.0),
            ["rack/bbr", "(loss_thresh=0.9,", "beta=0.99,", "headroom=0)"]
        );
        let word = "a_very_long_parameter_of_somebody=1";
        let lines = fold(word, 14.0, 100.0);
        assert!(lines.len() > 1 && lines.concat() == word, "{lines:?}");
        let ends = lines.iter().rev().skip(1);
        assert!({ ends }.all(|line| line.ends_with('_') || line.ends_with('=')));
        let endless = "x".repeat(60);
        let lines = fold(&endless, 14.0, 100.0);
        assert_eq!(lines.concat(), endless);
        assert!(lines.iter().all(|line| text_width(line, 14.0) <= 100.0));
    }

    #[test]
    fn pictures_contain_their_description() {
        let words = ("a < \"b\"", "c > d & e");
        let svg = picture((10.0, 10.0), words, |_| Ok(())).unwrap();
        let found = in_words(&svg);
        assert_eq!(found.as_deref(), Some("a < \"b\". c > d & e"));
        assert_eq!(in_words("<svg>"), None);
        assert!(svg.contains("prefers-color-scheme:dark"));
    }
}
