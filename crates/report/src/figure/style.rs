//! The common style of charts: colours, sizes, and the styles that distinguish series.

use plotters::style::RGBColor;

/// Width of every figure in px, which is the width of a report's page.
pub(super) const WIDTH: f64 = 900.0;

pub(super) const INK: RGBColor = RGBColor(0x1a, 0x1a, 0x1a);
pub(super) const SOFT_INK: RGBColor = RGBColor(0x4d, 0x4d, 0x4d);
pub(super) const AXIS: RGBColor = RGBColor(0x80, 0x80, 0x80);
pub(super) const GRID: RGBColor = RGBColor(0xde, 0xde, 0xde);
pub(super) const FINE_GRID: RGBColor = RGBColor(0xf0, 0xf0, 0xf0);

/// Text sizes in px.
pub(super) const TITLE: f64 = 20.0;
pub(super) const SUBTITLE: f64 = 14.0;
pub(super) const LABEL: f64 = 14.0;
pub(super) const TICK: f64 = 13.0;
pub(super) const LEGEND: f64 = 14.0;
pub(super) const VALUE: f64 = 12.0;

pub(super) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
pub(super) const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
pub(super) const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);
pub(super) const PURPLE: RGBColor = RGBColor(0xcc, 0x79, 0xa7);
pub(super) const ORANGE: RGBColor = RGBColor(0xe6, 0x9f, 0x00);
pub(super) const SKY: RGBColor = RGBColor(0x56, 0xb4, 0xe9);
pub(super) const BLACK: RGBColor = RGBColor(0x00, 0x00, 0x00);
pub(super) const GREY: RGBColor = RGBColor(0x80, 0x80, 0x80);

/// Shades of ratios, from far below one to far above it: orange and blue, which the colour-blind can distinguish, and
/// grey for neutral values.
pub(super) const RATIOS: [RGBColor; 9] = [
    RGBColor(0xa6, 0x3c, 0x01),
    RGBColor(0xde, 0x7c, 0x3c),
    RGBColor(0xf2, 0xb0, 0x86),
    RGBColor(0xfa, 0xdf, 0xce),
    RGBColor(0xf2, 0xf2, 0xf3),
    RGBColor(0xd2, 0xe6, 0xf4),
    RGBColor(0x98, 0xc7, 0xe6),
    RGBColor(0x52, 0xa0, 0xd6),
    RGBColor(0x00, 0x54, 0x88),
];
/// Shades of amounts, from small to large.
pub(super) const AMOUNTS: [RGBColor; 5] = [RATIOS[4], RATIOS[5], RATIOS[6], RATIOS[7], RATIOS[8]];
/// Text colours on shades: on all shades except the darkest, and on the darkest. The first is dark even on a dark
/// background.
pub(super) const ON_MIDDLE: RGBColor = RGBColor(0x11, 0x11, 0x12);
pub(super) const ON_STRONG: RGBColor = RGBColor(0xfd, 0xfd, 0xfe);

/// Pairs of each colour above and its variant for a dark background. Both have the same contrast with their background.
pub(super) const IN_THE_DARK: [(RGBColor, RGBColor); 24] = [
    (plotters::style::WHITE, RGBColor(0x14, 0x16, 0x1a)),
    (INK, RGBColor(0xe8, 0xe8, 0xe8)),
    (SOFT_INK, RGBColor(0xb8, 0xb8, 0xb8)),
    (AXIS, RGBColor(0x9a, 0x9a, 0x9a)),
    (GRID, RGBColor(0x36, 0x39, 0x40)),
    (FINE_GRID, RGBColor(0x26, 0x28, 0x2e)),
    (BLUE, RGBColor(0x4a, 0xa8, 0xe8)),
    (VERMILLION, RGBColor(0xff, 0x82, 0x33)),
    (GREEN, RGBColor(0x2c, 0xc7, 0x9a)),
    (PURPLE, RGBColor(0xe0, 0x9b, 0xc4)),
    (ORANGE, RGBColor(0xf2, 0xb6, 0x26)),
    (SKY, RGBColor(0x7a, 0xc8, 0xf5)),
    (BLACK, RGBColor(0xff, 0xff, 0xff)),
    (GREY, RGBColor(0x9a, 0x9a, 0x9a)),
    (RATIOS[0], RGBColor(0xff, 0xab, 0x73)),
    (RATIOS[1], RGBColor(0xd0, 0x72, 0x36)),
    (RATIOS[2], RGBColor(0x7c, 0x43, 0x20)),
    (RATIOS[3], RGBColor(0x48, 0x30, 0x22)),
    (RATIOS[4], RGBColor(0x2c, 0x2f, 0x35)),
    (RATIOS[5], RGBColor(0x20, 0x38, 0x4a)),
    (RATIOS[6], RGBColor(0x22, 0x5a, 0x82)),
    (RATIOS[7], RGBColor(0x44, 0x98, 0xd2)),
    (RATIOS[8], RGBColor(0x9a, 0xd2, 0xfa)),
    (ON_STRONG, RGBColor(0x10, 0x10, 0x11)),
];

/// Palette of Okabe and Ito, with the most different colours first. Grey replaces their yellow, because a thin yellow
/// line is invisible on white.
const PALETTE: [RGBColor; 8] = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY];

/// Shape of a point's marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Square,
    TriangleUp,
    Diamond,
    TriangleDown,
    Ring,
    Cross,
    Plus,
    Dot,
}

const MARKERS: [Marker; 8] = [
    Marker::Circle,
    Marker::Square,
    Marker::TriangleUp,
    Marker::Diamond,
    Marker::TriangleDown,
    Marker::Ring,
    Marker::Cross,
    Marker::Plus,
];

/// Dash pattern of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Dashed,
    Dotted,
}

const DASHES: [Dash; 3] = [Dash::Solid, Dash::Dashed, Dash::Dotted];

/// Style of a series and of its legend entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) color: RGBColor,
    pub(super) marker: Marker,
    pub(super) dash: Dash,
}

/// Returns the style of the `index`-th series. The first 24 series differ in colour or dash pattern, and series of the
/// same colour have different markers.
pub(super) fn look(index: usize) -> Look {
    let round = index / PALETTE.len();
    Look {
        color: PALETTE[index % PALETTE.len()],
        marker: MARKERS[(index + round) % MARKERS.len()],
        dash: DASHES[index % DASHES.len()],
    }
}

/// Returns the style of the `index`-th reference line: grey, each with its own dash pattern.
pub(super) fn reference_look(index: usize) -> Look {
    Look {
        color: GREY,
        marker: Marker::Dot,
        dash: DASHES[1 + index % (DASHES.len() - 1)],
    }
}
