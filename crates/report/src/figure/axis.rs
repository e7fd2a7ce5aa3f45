//! An axis: a range that fits the data, and ticks at round numbers with short labels.

use super::canvas::text_width;
use super::style::TICK;

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scale {
    /// Equal differences have equal distances.
    #[default]
    Linear,
    /// Equal ratios have equal distances. Values that are zero or negative are left out.
    Log,
    /// Like [`Log`](Self::Log), but zero has a separate place at the low end. A break in the axis shows that the
    /// distance of zero from the other values has no meaning.
    LogAndZero,
}

/// Positions on an axis with a separate zero: of zero, of the break, and of the start of the logarithmic part.
const ZERO_AT: f64 = 0.03;
const BREAK_AT: f64 = 0.075;
const LOG_FROM: f64 = 0.12;

/// A labelled position on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

/// A range of values with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    scale: Scale,
    /// The smallest and the largest value on the axis. On a logarithmic axis, only positive values count.
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<Tick>,
    /// Unlabelled lines between the decades of a logarithmic axis.
    pub(super) fine: Vec<f64>,
}

impl Scale {
    /// Returns the scale that best separates the settings of a sweep. The scale is logarithmic if the largest positive
    /// setting is at least 20 times the smallest one, if no setting is negative, and if the two closest settings are
    /// further apart on a logarithmic scale. Evenly spaced settings stay linear, however large they are.
    #[must_use]
    pub fn of_settings(values: &[f64]) -> Self {
        const SPAN_MIN: f64 = 20.0;
        let mut values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let positive: Vec<f64> = values.iter().copied().filter(|&v| v > 0.0).collect();
        let (Some(low), Some(high)) = (positive.first(), positive.last()) else {
            return Self::Linear;
        };
        let is_negative = values.first().is_some_and(|&v| v < 0.0);
        let logs: Vec<f64> = positive.iter().map(|v| v.ln()).collect();
        if is_negative || high / low < SPAN_MIN || closest(&logs) <= closest(&values) {
            return Self::Linear;
        }
        Self::with_zero(positive.len() < values.len())
    }

    /// Returns the scale for measured values. The scale is logarithmic if the largest positive value is at least 50
    /// times the smallest one, because a linear scale could not distinguish the smallest value from zero.
    #[must_use]
    pub fn of_measured(values: &[f64]) -> Self {
        const SPAN_MIN: f64 = 50.0;
        let values = || values.iter().copied().filter(|v| v.is_finite());
        let positive = || values().filter(|&v| v > 0.0);
        let low = positive().fold(f64::INFINITY, f64::min);
        let high = positive().fold(0.0, f64::max);
        if values().any(|v| v < 0.0) || high / low < SPAN_MIN {
            return Self::Linear;
        }
        Self::with_zero(values().any(|v| v == 0.0))
    }

    const fn with_zero(there_is_zero: bool) -> Self {
        match there_is_zero {
            true => Self::LogAndZero,
            false => Self::Log,
        }
    }

    /// Returns the note on the scale that follows the name of an axis.
    #[must_use]
    pub const fn note(self) -> &'static str {
        match self {
            Self::Linear => "",
            Self::Log => ", logarithmic",
            Self::LogAndZero => ", logarithmic, with 0 beyond the break",
        }
    }

    /// Returns `true` if an axis with this scale can show `value`.
    pub(super) fn shows(self, value: f64) -> bool {
        // The arithmetic of a range could overflow beyond this magnitude. Measured values are far below it.
        const MAGNITUDE_MAX: f64 = 1e100;
        const POSITIVE_MIN: f64 = 1e-100;
        value.abs() <= MAGNITUDE_MAX
            && match self {
                Self::Linear => true,
                Self::Log => value >= POSITIVE_MIN,
                Self::LogAndZero => value == 0.0 || value >= POSITIVE_MIN,
            }
    }
}

/// Returns the minimum distance between neighbours among sorted `values`, as a fraction of their range.
fn closest(values: &[f64]) -> f64 {
    let range = values.last().unwrap_or(&0.0) - values.first().unwrap_or(&0.0);
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.fold(f64::INFINITY, f64::min) / range
}

impl Axis {
    /// Returns a vertical axis of `length` px that ends at round numbers beyond the data, or `None` if there is no
    /// data.
    pub(super) fn vertical(
        values: impl Iterator<Item = f64>,
        scale: Scale,
        from_zero: bool,
        length: f64,
    ) -> Option<Self> {
        let (scale, (mut low, mut high)) = fitting(values, scale)?;
        if scale != Scale::Linear {
            let axis = Self::log(low / 1.05, high * 1.05, length / 40.0);
            return Some(axis.of_scale(scale));
        }
        if from_zero {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        let (low, high) = apart(low, high, low >= 0.0);
        let step = round_step((high - low) / (length / 52.0));
        Some(Self::linear(
            -rounded_up(-low, step),
            rounded_up(high, step),
            step,
        ))
    }

    /// Returns a vertical axis of `length` px that fits the data closely, for plots of many points.
    pub(super) fn snug(values: impl Iterator<Item = f64>, length: f64) -> Option<Self> {
        let (_, (low, high)) = fitting(values, Scale::Linear)?;
        let (low, high) = apart(low, high, false);
        let margin = (high - low) * 0.03;
        let step = round_step((high - low) / (length / 52.0));
        Some(Self::linear(low - margin, high + margin, step))
    }

    /// Returns a horizontal axis of `length` px that is slightly wider than the data. If the data has few positions,
    /// such as the settings of a sweep, the ticks are at these positions.
    pub(super) fn horizontal(
        values: impl Iterator<Item = f64>,
        scale: Scale,
        length: f64,
    ) -> Option<Self> {
        let mut values: Vec<f64> = values.filter(|&value| scale.shows(value)).collect();
        let (scale, (low, high)) = fitting(values.iter().copied(), scale)?;
        let mut axis = match scale {
            Scale::Linear => {
                let (low, high) = apart(low, high, false);
                let margin = (high - low) * 0.03;
                let step = round_step((high - low) / (length / 85.0));
                Self::linear(low - margin, high + margin, step)
            }
            Scale::Log | Scale::LogAndZero => {
                let margin = (high / low).max(2.0).powf(0.03);
                Self::log(low / margin, high * margin, length / 70.0).of_scale(scale)
            }
        };
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        if values.len() <= 12 {
            axis.mark(&values, length);
        }
        Some(axis)
    }

    /// Returns an axis with this range, such as a time window. An end that is close to a round number is moved to it.
    pub(super) fn exact(low: f64, high: f64, length: f64) -> Self {
        let (low, high) = apart(low, high, false);
        let step = round_step((high - low) / (length / 85.0));
        let near = (high - low) * 0.01;
        let (below, above) = ((low / step).floor() * step, (high / step).ceil() * step);
        let low = if low - below < near { below } else { low };
        let high = if above - high < near { above } else { high };
        Self::linear(low, high, step)
    }

    /// Returns the position of `value`: 0 at the low end and 1 at the high end. Values beyond the ends have positions
    /// from -1 to 2.
    pub(super) fn position(&self, value: f64) -> f64 {
        let position = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => self.position_of_log(value),
            Scale::LogAndZero if value == 0.0 => ZERO_AT,
            // Values below the logarithmic part, such as the low end of an interval, are drawn at the start of this
            // part.
            Scale::LogAndZero => LOG_FROM + (1.0 - LOG_FROM) * self.position_of_log(value).max(0.0),
        };
        if position.is_nan() {
            0.0
        } else {
            position.clamp(-1.0, 2.0)
        }
    }

    fn position_of_log(&self, value: f64) -> f64 {
        (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// Returns the position of the break in the units of [`position`](Self::position), or `None` if the axis has no
    /// break.
    pub(super) fn broken_at(&self) -> Option<f64> {
        (self.scale == Scale::LogAndZero).then_some(BREAK_AT)
    }

    /// Returns `true` if the break of the axis lies between the two values.
    pub(super) fn breaks_between(&self, one: f64, other: f64) -> bool {
        self.scale == Scale::LogAndZero && (one == 0.0) != (other == 0.0)
    }

    /// Returns `true` if `value` is in the part of the axis where distances have a meaning. Without a break, this is
    /// the whole axis.
    pub(super) fn is_beyond_break(&self, value: f64) -> bool {
        self.scale != Scale::LogAndZero || value >= self.low
    }

    /// Returns the axis with this logarithmic scale.
    fn of_scale(mut self, scale: Scale) -> Self {
        self.scale = scale;
        if scale == Scale::LogAndZero {
            let zero = Tick {
                value: 0.0,
                label: "0".to_owned(),
            };
            self.ticks.insert(0, zero);
        }
        self
    }

    /// Returns the width of the widest tick label in px.
    pub(super) fn label_width(&self) -> f64 {
        self.ticks
            .iter()
            .map(|tick| text_width(&tick.label, TICK))
            .fold(0.0, f64::max)
    }

    fn linear(low: f64, high: f64, step: f64) -> Self {
        // Half a thousandth of a step allows for rounding errors at the ends.
        let first = (low / step - 5e-4).ceil();
        let last = (high / step + 5e-4).floor();
        let count = (last - first).clamp(-1.0, 50.0) as i64 + 1;
        let ticks = (0..count)
            .map(|i| (first + i as f64) * step)
            .map(|value| Tick {
                value,
                label: label(value, step),
            })
            .collect();
        Self {
            scale: Scale::Linear,
            low,
            high,
            ticks,
            fine: Vec::new(),
        }
    }

    /// Returns a logarithmic axis. Its ticks are at the decades; if there are few decades, ticks are also at 2 and 5.
    fn log(low: f64, high: f64, ticks_max: f64) -> Self {
        let first = low.log10().floor() as i32;
        let last = high.log10().ceil() as i32;
        let decades = high.log10() - low.log10();
        let every = ((f64::from(last - first) / ticks_max.max(2.0)).ceil() as i32).max(1);
        let steps: &[f64] = if decades < 2.0 && 3.0 * decades < ticks_max {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let within = |value: &f64| (low..=high).contains(value);
        let mut ticks = Vec::new();
        let mut fine = Vec::new();
        for decade in first..=last {
            let base = 10_f64.powi(decade);
            fine.extend((1..10).map(|digit| base * f64::from(digit)).filter(within));
            if decade.rem_euclid(every) == 0 {
                ticks.extend(steps.iter().map(|step| base * step).filter(within));
            }
        }
        if ticks.len() < 2 {
            ticks = vec![low, high];
        }
        let ticks = ticks
            .into_iter()
            .map(|value| Tick {
                value,
                label: plain(value),
            })
            .collect();
        Self {
            scale: Scale::Log,
            low,
            high,
            ticks,
            fine,
        }
    }

    /// Replaces the ticks by ticks at `values`, which are in ascending order. Values whose labels do not fit are left
    /// out.
    fn mark(&mut self, values: &[f64], length: f64) {
        let mut ticks: Vec<Tick> = Vec::new();
        let mut free_from = f64::NEG_INFINITY;
        // The loop begins at the right: values are usually dense at the small end, and the largest value should have a
        // label.
        for &value in values.iter().rev() {
            let label = plain(value);
            let half = text_width(&label, TICK) / 2.0;
            let distance = (1.0 - self.position(value)) * length;
            if distance - half >= free_from {
                free_from = distance + half + 8.0;
                ticks.push(Tick { value, label });
            }
        }
        ticks.reverse();
        self.ticks = ticks;
        self.fine.clear();
    }
}

/// Returns the scale, and the smallest and the largest value that it shows. If the scale has a separate place for zero,
/// zero is not part of the range. The scale is linear if zero is the only value.
fn fitting(values: impl Iterator<Item = f64>, scale: Scale) -> Option<(Scale, (f64, f64))> {
    let mut zero = None;
    let mut range: Option<(f64, f64)> = None;
    for value in values.filter(|&value| scale.shows(value)) {
        if value == 0.0 && scale == Scale::LogAndZero {
            zero = Some((Scale::Linear, (0.0, 0.0)));
            continue;
        }
        range = Some(range.map_or((value, value), |(low, high)| {
            (low.min(value), high.max(value))
        }));
    }
    let scale = match (scale, zero) {
        (Scale::LogAndZero, None) => Scale::Log,
        _ => scale,
    };
    range.map(|range| (scale, range)).or(zero)
}

/// Widens a range that is a single point, or that is narrower than the precision of its numbers.
fn apart(low: f64, high: f64, not_negative: bool) -> (f64, f64) {
    let least = (low.abs().max(high.abs()) * 1e-9).max(f64::MIN_POSITIVE * 1e9);
    if high - low > least {
        return (low, high);
    }
    let room = if low == 0.0 { 1.0 } else { low.abs() * 0.5 };
    (
        if not_negative {
            (low - room).max(0.0)
        } else {
            low - room
        },
        high + room,
    )
}

/// Returns the end of an axis above `edge`. The end is the next multiple of `step`, or a little above `edge` if this
/// multiple would leave most of a step empty. An edge of zero stays zero.
fn rounded_up(edge: f64, step: f64) -> f64 {
    if edge == 0.0 {
        return 0.0;
    }
    let round = ((edge + 0.1 * step) / step).ceil() * step;
    if round - edge > 0.6 * step {
        edge + 0.3 * step
    } else {
        round
    }
}

/// Returns the next round number that is not below `step`: 1, 2, 2.5 or 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powi(step.log10().floor() as i32);
    let round = [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .find(|round| round * power >= step * 0.999);
    round.unwrap_or(10.0) * power
}

/// Returns the number of decimals that distinguish multiples of `step`.
fn decimals_of(step: f64) -> usize {
    (0..12)
        .find(|&decimals| {
            let scaled = step * 10_f64.powi(decimals as i32);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.abs() && scaled.round() != 0.0
        })
        .unwrap_or(12)
}

/// Returns the label of a tick. The labels of an axis have the same number of decimals. A large number has a suffix
/// instead, such as `k`, if neighbouring ticks stay distinguishable.
fn label(value: f64, step: f64) -> String {
    // This condition covers negative zero and rounding errors around zero.
    if value.abs() < 0.5 * step {
        return "0".to_owned();
    }
    let decimals = decimals_of(step);
    if (value.abs() >= 1e4 && step >= value.abs() * 1e-3) || value.abs() >= 1e12 || decimals > 6 {
        return plain(value);
    }
    format!("{value:.decimals$}").replace('-', "\u{2212}")
}

/// Returns `value` formatted for a group of numbers. The number of decimals gives the largest number of the group,
/// `magnitude`, three significant digits.
pub(super) fn in_company(value: f64, magnitude: f64) -> String {
    if !(1e-3..1e4).contains(&magnitude) {
        return shortened(value, 3);
    }
    let decimals = (2 - magnitude.log10().floor() as i32).clamp(0, 5) as usize;
    format!("{value:.decimals$}").replace('-', "\u{2212}")
}

/// Returns a single number with four significant digits: `0.5`, `1200`, `10k`, `2.5M`, `1e-7`.
pub(super) fn plain(value: f64) -> String {
    shortened(value, 4)
}

/// Returns a single number with `digits` significant digits.
pub(super) fn shortened(value: f64, digits: i32) -> String {
    let magnitude = value.abs();
    let (scaled, suffix) = match magnitude {
        m if m >= 1e15 => return format!("{value:.1e}").replace(".0e", "e"),
        m if m >= 1e12 => (value / 1e12, "T"),
        m if m >= 1e9 => (value / 1e9, "G"),
        m if m >= 1e6 => (value / 1e6, "M"),
        m if m >= 1e4 => (value / 1e3, "k"),
        0.0 => return "0".to_owned(),
        m if m < 1e-4 => return format!("{value:.1e}").replace(".0e", "e"),
        _ => (value, ""),
    };
    // Zeros after the last significant digit are omitted.
    let whole_digits = scaled.abs().log10().floor() as i32 + 1;
    let decimals = (digits - whole_digits).clamp(0, 7) as usize;
    let text = format!("{scaled:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}{suffix}").replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_over_decades_are_logarithmic_and_even_ones_linear() {
        let scale = Scale::of_settings;
        assert_eq!(scale(&[0.0, 0.5, 1.0, 2.0, 5.0]), Scale::Linear);
        assert_eq!(scale(&[0.0, 0.1, 1.0, 10.0]), Scale::LogAndZero);
        assert_eq!(scale(&[5.0, 20.0, 100.0, 600.0]), Scale::Log);
        let even: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(scale(&even), Scale::Linear, "even steps");
        for none in [&[][..], &[0.0], &[3.0], &[-1.0, 1.0, 1000.0], &[f64::NAN]] {
            assert_eq!(scale(none), Scale::Linear, "{none:?}");
        }
    }

    #[test]
    fn measured_values_are_logarithmic_if_the_smallest_would_be_invisible() {
        let scale = Scale::of_measured;
        assert_eq!(scale(&[0.3, 9.0]), Scale::Linear);
        assert_eq!(scale(&[0.1, 2.0, 9.0]), Scale::Log);
        assert_eq!(scale(&[0.0, 0.1, 9.0]), Scale::LogAndZero);
        assert_eq!(scale(&[0.0, 9.0]), Scale::Linear);
        assert_eq!(scale(&[-0.1, 0.1, 9.0]), Scale::Linear);
    }

    #[test]
    fn zero_is_beyond_a_break() {
        let values = [0.0, 0.1, 1.0, 10.0];
        let axis = Axis::horizontal(values.into_iter(), Scale::LogAndZero, 600.0).unwrap();
        let [zero, a, b, c] = values.map(|value| axis.position(value));
        let broken = axis.broken_at().unwrap();
        assert!(0.0 < zero && zero < broken && broken < a);
        assert!(
            ((b - a) - (c - b)).abs() < 1e-9,
            "decades have equal length"
        );
        assert!(c < 1.0);
        let labels: Vec<&str> = axis.ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["0", "0.1", "1", "10"]);
        assert!(axis.breaks_between(0.0, 0.1) && !axis.breaks_between(0.1, 1.0));
        // A formula's line below the smallest value must not be drawn as if it were near zero.
        assert!(axis.is_beyond_break(0.1) && !axis.is_beyond_break(0.01));
        assert!(axis.position(1e-9) > broken);
    }

    #[test]
    fn an_axis_without_zero_has_no_break_and_one_of_zeros_is_linear() {
        let of = |values: &[f64]| {
            Axis::vertical(values.iter().copied(), Scale::LogAndZero, true, 300.0).unwrap()
        };
        assert_eq!(of(&[0.1, 10.0]).broken_at(), None);
        let zeros = of(&[0.0, 0.0]);
        assert_eq!(zeros.broken_at(), None);
        assert_eq!(zeros.position(0.0), 0.0);
    }
}
