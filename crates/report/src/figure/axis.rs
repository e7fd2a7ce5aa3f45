//! An axis: the range that fits the data, and ticks at round numbers with short labels.

use super::canvas::text_width;
use super::style::TICK;

/// How an axis places its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scale {
    /// Equal differences are equally far apart.
    #[default]
    Linear,
    /// Equal ratios are equally far apart; values that are not positive are left out.
    Log,
}

/// A labelled place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

/// A range of values and where it is marked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<Tick>,
    /// Unlabelled lines between the decades of a logarithmic axis.
    pub(super) fine: Vec<f64>,
}

impl Scale {
    /// Whether the axis has a place for `value`.
    pub(super) fn shows(self, value: f64) -> bool {
        // Beyond these the arithmetic of a range could overflow; nothing we measure comes near.
        const MAGNITUDE_MAX: f64 = 1e100;
        const POSITIVE_MIN: f64 = 1e-100;
        value.abs() <= MAGNITUDE_MAX && (self == Self::Linear || value >= POSITIVE_MIN)
    }
}

impl Axis {
    /// A vertical axis of `length` px: it ends at round numbers beyond the data. None without
    /// data.
    pub(super) fn vertical(
        values: impl Iterator<Item = f64>,
        scale: Scale,
        from_zero: bool,
        length: f64,
    ) -> Option<Self> {
        let (mut low, mut high) = extent(values, scale)?;
        if scale == Scale::Log {
            return Some(Self::log(low / 1.05, high * 1.05, length / 40.0));
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

    /// A vertical axis of `length` px that fits the data closely, for plots of many points.
    pub(super) fn snug(values: impl Iterator<Item = f64>, length: f64) -> Option<Self> {
        let (low, high) = extent(values, Scale::Linear)?;
        let (low, high) = apart(low, high, false);
        let margin = (high - low) * 0.03;
        let step = round_step((high - low) / (length / 52.0));
        Some(Self::linear(low - margin, high + margin, step))
    }

    /// A horizontal axis of `length` px, a little wider than the data. Where the data has few
    /// places (a sweep's settings) those are the ticks.
    pub(super) fn horizontal(
        values: impl Iterator<Item = f64>,
        scale: Scale,
        length: f64,
    ) -> Option<Self> {
        let mut values: Vec<f64> = values.filter(|&value| scale.shows(value)).collect();
        let (low, high) = extent(values.iter().copied(), scale)?;
        let mut axis = match scale {
            Scale::Linear => {
                let (low, high) = apart(low, high, false);
                let margin = (high - low) * 0.03;
                let step = round_step((high - low) / (length / 85.0));
                Self::linear(low - margin, high + margin, step)
            }
            Scale::Log => {
                let margin = (high / low).max(2.0).powf(0.03);
                Self::log(low / margin, high * margin, length / 70.0)
            }
        };
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        if values.len() <= 12 {
            axis.mark(&values, length);
        }
        Some(axis)
    }

    /// An axis of this range, such as a time window's; ends that are all but round become so.
    pub(super) fn exact(low: f64, high: f64, length: f64) -> Self {
        let (low, high) = apart(low, high, false);
        let step = round_step((high - low) / (length / 85.0));
        let near = (high - low) * 0.01;
        let (below, above) = ((low / step).floor() * step, (high / step).ceil() * step);
        let low = if low - below < near { below } else { low };
        let high = if above - high < near { above } else { high };
        Self::linear(low, high, step)
    }

    /// Where `value` is: 0 at the low end, 1 at the high end, and up to one axis beyond them.
    pub(super) fn position(&self, value: f64) -> f64 {
        let position = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        if position.is_nan() {
            0.0
        } else {
            position.clamp(-1.0, 2.0)
        }
    }

    /// The width of the widest tick label, in px.
    pub(super) fn label_width(&self) -> f64 {
        self.ticks
            .iter()
            .map(|tick| text_width(&tick.label, TICK))
            .fold(0.0, f64::max)
    }

    fn linear(low: f64, high: f64, step: f64) -> Self {
        // Half a thousandth of a step lets rounding noise at the ends pass.
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

    /// Ticks at decades if there are several of them, else at 1, 2 and 5 as well.
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

    /// Puts the ticks at `values`, in ascending order, as many as fit beside each other.
    fn mark(&mut self, values: &[f64], length: f64) {
        let mut ticks: Vec<Tick> = Vec::new();
        let mut free_from = f64::NEG_INFINITY;
        // From the right: sweeps crowd at their small end, and the far end should be named.
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

/// The smallest and the largest value that the scale shows.
fn extent(values: impl Iterator<Item = f64>, scale: Scale) -> Option<(f64, f64)> {
    values
        .filter(|&value| scale.shows(value))
        .map(|value| (value, value))
        .reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
}

/// Keeps a range from being a point, or narrower than its numbers can tell.
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

/// The end of an axis above `edge`: the next multiple of `step`, unless that would leave most
/// of a step empty. Zero is an end by itself.
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

/// The round number (1, 2, 2.5 or 5 times a power of ten) nearest above `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powi(step.log10().floor() as i32);
    let round = [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .find(|round| round * power >= step * 0.999);
    round.unwrap_or(10.0) * power
}

/// Decimals needed to tell multiples of `step` apart.
fn decimals_of(step: f64) -> usize {
    (0..12)
        .find(|&decimals| {
            let scaled = step * 10_f64.powi(decimals as i32);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.abs() && scaled.round() != 0.0
        })
        .unwrap_or(12)
}

/// A tick's label: the same decimals all along an axis, large numbers shortened where their
/// neighbours differ enough.
fn label(value: f64, step: f64) -> String {
    // Minus zero, and what rounding leaves of zero.
    if value.abs() < 0.5 * step {
        return "0".to_owned();
    }
    let decimals = decimals_of(step);
    if (value.abs() >= 1e4 && step >= value.abs() * 1e-3) || value.abs() >= 1e12 || decimals > 6 {
        return plain(value);
    }
    format!("{value:.decimals$}").replace('-', "\u{2212}")
}

/// Writes `value` so that the largest of its company, `magnitude`, shows three significant
/// digits, and all of them the same decimals.
pub(super) fn in_company(value: f64, magnitude: f64) -> String {
    if !(1e-3..1e4).contains(&magnitude) {
        return shortened(value, 3);
    }
    let decimals = (2 - magnitude.log10().floor() as i32).clamp(0, 5) as usize;
    format!("{value:.decimals$}").replace('-', "\u{2212}")
}

/// A number by itself, to four significant digits: `0.5`, `1200`, `10k`, `2.5M`, `1e-7`.
pub(super) fn plain(value: f64) -> String {
    shortened(value, 4)
}

/// A number by itself, to so many significant digits.
fn shortened(value: f64, digits: i32) -> String {
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
    // No zeros behind the last digit that counts.
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
