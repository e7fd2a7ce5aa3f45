//! How quantities are compared: by their 95 % intervals, with an answer in three values.
//!
//! [`beside`] is behind the signs `<` and `>`, the others are behind words of the language. They
//! differ in what they do with an interval that holds the bound.

use std::cmp::Ordering;

use dupack_lab::stats::Summary;

use crate::verdict::Verdict;

/// The 95 % interval, or the mean alone if there is only one sample.
pub(crate) fn interval(summary: &Summary) -> (f64, f64) {
    summary
        .interval_95()
        .unwrap_or((summary.mean, summary.mean))
}

/// Whether a mean is on one side of a bound: for certain if its whole interval is.
pub(crate) fn beside(summary: &Summary, bound: f64, wanted: Ordering, or_equal: bool) -> Verdict {
    let (low, high) = interval(summary);
    let is = |value: f64| match value.partial_cmp(&bound) {
        Some(Ordering::Equal) => or_equal,
        other => other == Some(wanted),
    };
    match (is(low), is(high)) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::DoesNotHold,
        _ => Verdict::CannotBeTold,
    }
}

/// Whether a mean lies within bounds: it does not if the interval lies outside of them, and
/// cannot be told if only the mean does.
pub(crate) fn within(summary: &Summary, low: f64, high: f64) -> Verdict {
    let (from, to) = interval(summary);
    if to < low || high < from {
        Verdict::DoesNotHold
    } else if low <= summary.mean && summary.mean <= high {
        Verdict::Holds
    } else {
        Verdict::CannotBeTold
    }
}

/// Whether a mean is on its side of a bound. On the other side with an interval that contains
/// the bound, it cannot be told.
pub(crate) fn leans(summary: &Summary, bound: f64, wanted: Ordering) -> Verdict {
    let (low, high) = interval(summary);
    if summary.mean.partial_cmp(&bound) == Some(wanted) {
        Verdict::Holds
    } else if low <= bound && bound <= high {
        Verdict::CannotBeTold
    } else {
        Verdict::DoesNotHold
    }
}

/// Whether one mean is above another: for certain if the intervals do not touch.
pub(crate) fn exceeds(one: &Summary, other: &Summary) -> Verdict {
    if interval(one).0 > interval(other).1 {
        Verdict::Holds
    } else if one.mean > other.mean {
        Verdict::CannotBeTold
    } else {
        Verdict::DoesNotHold
    }
}

/// Whether a curve grows: not if a step falls for certain or the ends do not rise, and it cannot
/// be told if the ends' intervals overlap.
pub(crate) fn grows(curve: &[Summary]) -> Verdict {
    let falls = |pair: &[Summary]| interval(&pair[1]).1 < interval(&pair[0]).0;
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else {
        return Verdict::CannotBeTold;
    };
    if curve.windows(2).any(falls) || last.mean <= first.mean {
        Verdict::DoesNotHold
    } else if interval(last).0 > interval(first).1 {
        Verdict::Holds
    } else {
        Verdict::CannotBeTold
    }
}
