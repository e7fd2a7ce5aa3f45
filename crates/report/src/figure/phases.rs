//! The appearance of a sender's phases: a strip of pale colours, which are the same in all figures.

use plotters::style::RGBColor;

use dupack_lab::trace::phase::Phase;

use super::FigureError;
use super::canvas::{Canvas, Lettering, text_width};
use super::legend::{Legend, Sample};
use super::panel::{Frame, Panel};
use super::style::{INK, ORANGE, SKY, VERMILLION};

/// Opacity of the strip and its samples.
pub(super) const OPACITY: f64 = 0.45;
/// Opacity of the background behind the points of a panel.
const OPACITY_BEHIND: f64 = 0.08;
const NAME: f64 = 11.0;

/// Returns the colour of a phase. Congestion avoidance and sending by a model of the path have none.
pub(super) const fn tint(phase: Phase) -> Option<RGBColor> {
    match phase {
        Phase::SlowStart => Some(SKY),
        Phase::Recovery => Some(ORANGE),
        Phase::Timeout => Some(VERMILLION),
        Phase::Avoidance | Phase::Model => None,
    }
}

const fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::SlowStart => "slow start",
        Phase::Recovery => "recovery",
        Phase::Timeout => "timeout (RTO)",
        Phase::Avoidance | Phase::Model => "",
    }
}

/// Returns a short name, for a strip that is too narrow for the full name.
const fn short_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Timeout => "RTO",
        _ => name(phase),
    }
}

/// Returns the phases within a time window, each as start, end and phase. Equal neighbours are merged.
pub(super) fn spans(changes: &[(f64, Phase)], low: f64, high: f64) -> Vec<(f64, f64, Phase)> {
    let mut spans: Vec<(f64, f64, Phase)> = Vec::new();
    for (index, &(from, phase)) in changes.iter().enumerate() {
        let until = changes.get(index + 1).map_or(high, |next| next.0);
        let (from, until) = (from.max(low), until.min(high));
        match spans.last_mut() {
            Some(last) if last.2 == phase => last.1 = last.1.max(until),
            _ if from < until => spans.push((from, until, phase)),
            _ => {}
        }
    }
    spans
}

/// Adds legend entries for the phases of `seen` that have a colour.
pub(super) fn add_to(legend: &mut Legend, seen: impl Iterator<Item = Phase>) {
    let seen: Vec<Phase> = seen.collect();
    for phase in [Phase::SlowStart, Phase::Recovery, Phase::Timeout] {
        if let Some(color) = tint(phase).filter(|_| seen.contains(&phase)) {
            legend.add(name(phase), Sample::Tint(color, OPACITY));
        }
    }
}

/// Draws the strip above a panel with the names that fit, and pale backgrounds of the same colours behind all `panels`.
pub(super) fn draw(
    canvas: &Canvas<'_>,
    strip: &Frame,
    panels: &[&Panel],
    changes: &[(f64, Phase)],
) -> Result<(), FigureError> {
    let Some(panel) = panels.first() else {
        return Ok(());
    };
    for (from, until, phase) in spans(changes, panel.x.low, panel.x.high) {
        let Some(color) = tint(phase) else { continue };
        let (left, right) = (panel.across(from), panel.across(until));
        canvas.rectangle((left, strip.top), (right, strip.bottom), color, OPACITY)?;
        for behind in panels {
            let Frame { top, bottom, .. } = behind.frame;
            canvas.rectangle((left, top), (right, bottom), color, OPACITY_BEHIND)?;
        }
        let fits = |name: &&str| text_width(name, NAME) + 6.0 <= right - left;
        if let Some(name) = [name(phase), short_name(phase)].into_iter().find(fits) {
            let middle = f64::midpoint(left, right);
            let place = (middle, f64::midpoint(strip.top, strip.bottom));
            canvas.text(name, place, &Lettering::centre(NAME, INK))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_within_the_window_and_equal_neighbours_merged() {
        let changes = [
            (0.0, Phase::SlowStart),
            (1.0, Phase::Recovery),
            (2.0, Phase::Recovery),
            (3.0, Phase::Timeout),
            (3.0, Phase::Avoidance),
        ];
        assert_eq!(
            spans(&changes, 0.5, 4.0),
            [
                (0.5, 1.0, Phase::SlowStart),
                (1.0, 3.0, Phase::Recovery),
                (3.0, 4.0, Phase::Avoidance),
            ]
        );
        assert_eq!(spans(&[], 0.0, 1.0), []);
    }
}
