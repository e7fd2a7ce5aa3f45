//! Comparison of quantities by their 95 % confidence intervals, with a three-valued result.
//!
//! [`beside`] implements the signs `<` and `>`. The others implement functions of the language, and differ in how they
//! treat an interval that contains the bound.

use std::cmp::Ordering;

use dupack_lab::stats::Summary;

use crate::verdict::Verdict;

/// Returns the 95 % confidence interval, or the mean alone if there is only one sample.
pub(crate) fn interval(summary: &Summary) -> (f64, f64) {
    summary
        .interval_95()
        .unwrap_or((summary.mean, summary.mean))
}

/// Returns whether a mean is on the wanted side of a bound. The verdict is decided only if the whole interval is on one
/// side.
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

/// Returns whether a mean is within bounds. This is decided only if the whole interval is inside or outside.
pub(crate) fn within(summary: &Summary, low: f64, high: f64) -> Verdict {
    let (from, to) = interval(summary);
    if low <= from && to <= high {
        Verdict::Holds
    } else if to < low || high < from {
        Verdict::DoesNotHold
    } else {
        Verdict::CannotBeTold
    }
}

/// Returns whether the mean of `one` differs from that of `other` by at most `share` of the mean of `other`. Returns
/// `None` if the interval of `other` contains 0, because a share of 0 is undefined.
pub(crate) fn near(one: &Summary, other: &Summary, share: f64) -> Option<Verdict> {
    let ((low, high), (least, most)) = (interval(one), interval(other));
    if least <= 0.0 && 0.0 <= most {
        return None;
    }
    let ratios = [low / least, low / most, high / least, high / most];
    let from = ratios.into_iter().fold(f64::INFINITY, f64::min);
    let to = ratios.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let off = |ratio: f64| (ratio - 1.0).abs();
    // One end of the interval is farthest from 1. One end is also nearest to 1, unless the interval contains 1.
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
    } else {
        Verdict::CannotBeTold
    })
}

/// Returns whether the mean of `one` is above that of `other`. This is decided if the intervals do not overlap. Equal
/// intervals are decided, too: the mean is then not above.
pub(crate) fn exceeds(one: &Summary, other: &Summary) -> Verdict {
    let (one, other) = (interval(one), interval(other));
    if one.0 > other.1 {
        Verdict::Holds
    } else if one.1 < other.0 || one == other {
        Verdict::DoesNotHold
    } else {
        Verdict::CannotBeTold
    }
}

/// Returns whether each item of a curve is above the previous one.
pub(crate) fn rises<'s>(curve: impl IntoIterator<Item = &'s Summary>) -> Verdict {
    let mut curve = curve.into_iter();
    let Some(mut before) = curve.next() else {
        return Verdict::Holds;
    };
    curve.fold(Verdict::Holds, |so_far, next| {
        so_far.and(exceeds(next, std::mem::replace(&mut before, next)))
    })
}

/// Returns whether a curve grows: `DoesNotHold` if a step certainly falls, or if the last item is certainly not above
/// the first; `CannotBeTold` if the intervals of the first and last item overlap.
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
