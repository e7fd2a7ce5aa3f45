//! How quantities are compared: by their 95 % intervals, with an answer in three values.
//!
//! [`beside`] is behind the signs `<` and `>`, the others are behind words of the language. An
//! interval that holds the bound decides nothing, unless it is so narrow that the value and the bound
//! are alike for every purpose.

use std::cmp::Ordering;

use dupack_lab::stats::Summary;

use crate::verdict::Verdict;

/// The 95 % interval, or the mean alone if there is only one sample.
pub(crate) fn interval(summary: &Summary) -> (f64, f64) {
    summary
        .interval_95()
        .unwrap_or((summary.mean, summary.mean))
}

/// The share of a bound within which a value is taken as equal to it, if its whole interval is.
///
/// More runs would tell such a value from the bound at last, or never if they are equal; no reader
/// would do anything else for it.
const ALIKE: f64 = 0.02;

/// Whether an interval lies so near to a bound that no more runs are wanted.
fn alike((low, high): (f64, f64), bound: f64, scale: f64) -> bool {
    let near = |value: f64| (value - bound).abs() <= ALIKE * scale.abs();
    near(low) && near(high)
}

/// A bound, and the size of which a share of 2 % does not matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) at: f64,
    pub(crate) scale: f64,
}

impl From<f64> for Bound {
    fn from(at: f64) -> Self {
        Self { at, scale: at }
    }
}

/// Whether a mean is on one side of a bound: for certain if its whole interval is. One that is
/// within 2 % of the bound for certain is equal to it.
pub(crate) fn beside(
    summary: &Summary,
    bound: impl Into<Bound>,
    wanted: Ordering,
    or_equal: bool,
) -> Verdict {
    let Bound { at, scale } = bound.into();
    let (low, high) = interval(summary);
    let is = |value: f64| match value.partial_cmp(&at) {
        Some(Ordering::Equal) => or_equal,
        other => other == Some(wanted),
    };
    match (is(low), is(high)) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::DoesNotHold,
        _ if alike((low, high), at, scale) => Verdict::of(or_equal),
        _ => Verdict::CannotBeTold,
    }
}

/// Whether a mean lies within bounds: for certain if its whole interval does. The bounds belong to
/// it, and so does what is within 2 % of one for certain.
pub(crate) fn within(summary: &Summary, low: f64, high: f64) -> Verdict {
    let (from, to) = interval(summary);
    if low <= from && to <= high {
        Verdict::Holds
    } else if to < low || high < from {
        Verdict::DoesNotHold
    } else if alike((from, to), low, low) || alike((from, to), high, high) {
        Verdict::Holds
    } else {
        Verdict::CannotBeTold
    }
}

/// Whether one mean differs from another by at most this share of it; nothing if the other may
/// be 0, as there is no share of nothing.
pub(crate) fn near(one: &Summary, other: &Summary, share: f64) -> Option<Verdict> {
    let ((low, high), (least, most)) = (interval(one), interval(other));
    if least <= 0.0 && 0.0 <= most {
        return None;
    }
    let ratios = [low / least, low / most, high / least, high / most];
    let from = ratios.into_iter().fold(f64::INFINITY, f64::min);
    let to = ratios.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let off = |ratio: f64| (ratio - 1.0).abs();
    // Of an interval the ends are the farthest, and the nearest if 1 is outside.
    let farthest = off(from).max(off(to));
    let nearest = if from <= 1.0 && 1.0 <= to {
        0.0
    } else {
        off(from).min(off(to))
    };
    Some(if farthest <= share {
        Verdict::Holds
    } else if nearest > share {
        Verdict::DoesNotHold
    } else if [1.0 - share, 1.0 + share]
        .into_iter()
        .any(|edge| alike((from, to), edge, edge))
    {
        Verdict::Holds
    } else {
        Verdict::CannotBeTold
    })
}

/// Whether one mean is above another: for certain if the intervals do not touch, and for certain
/// not if they do not and it is below, or if both lie within 2 %.
pub(crate) fn exceeds(one: &Summary, other: &Summary) -> Verdict {
    let mean = other.mean;
    let (one, other) = (interval(one), interval(other));
    let both = (one.0.min(other.0), one.1.max(other.1));
    if one.0 > other.1 {
        Verdict::Holds
    } else if one.1 < other.0 || one == other || alike(both, mean, mean) {
        Verdict::DoesNotHold
    } else {
        Verdict::CannotBeTold
    }
}

/// Whether each item of a curve is above the one before.
pub(crate) fn rises<'s>(curve: impl IntoIterator<Item = &'s Summary>) -> Verdict {
    let mut curve = curve.into_iter();
    let Some(mut before) = curve.next() else {
        return Verdict::Holds;
    };
    curve.fold(Verdict::Holds, |so_far, next| {
        so_far.and(exceeds(next, std::mem::replace(&mut before, next)))
    })
}

/// Whether a curve grows: not if a step falls for certain or the ends do not rise, and it cannot
/// be told if the ends' intervals overlap.
pub(crate) fn grows(curve: &[Summary]) -> Verdict {
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else {
        return Verdict::CannotBeTold;
    };
    let falls = |pair: &[Summary]| exceeds(&pair[0], &pair[1]) == Verdict::Holds;
    if curve.windows(2).any(falls) {
        return Verdict::DoesNotHold;
    }
    exceeds(last, first)
}
