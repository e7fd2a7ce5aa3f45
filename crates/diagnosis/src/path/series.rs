//! Delivered data of a stream over time, on the clock of the capture, so that streams can be compared.
//!
//! Windows begin at multiples of their width, and the widths of all streams differ only by powers of two. Therefore,
//! two streams have the same windows after the narrower windows are merged. A short stream has no windows, and a long
//! one at most [`WINDOWS_MAX`].

use dupack_tcp::time::{Duration, Instant};

use super::delivery::Delivery;
use crate::grow;

/// Width of the narrowest windows, in nanoseconds (our choice: less than most round-trip times).
const WIDTH_NS: u64 = 10_000_000;

/// Maximum number of windows (our choice: about 16 kB). If it is exceeded, pairs of windows are merged.
pub(crate) const WINDOWS_MAX: usize = 1024;

/// Number of deliveries before a stream gets windows (our choice: short connections are numerous and give no evidence).
const DELIVERIES_MIN: u64 = 32;

/// Lower bound of the limit on the number of windows. The limit is half the number of deliveries, so a stream with few
/// deliveries has few wide windows.
const WINDOWS_MIN: u64 = 64;

/// Data delivered in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// Number of bytes, including headers.
    pub bytes: u32,
    /// Sum of the delays of the deliveries in microseconds, and the number of these delays.
    pub delay_us: u32,
    pub delays: u32,
    /// Time without outstanding data, in microseconds.
    pub idle_us: u32,
}

impl Window {
    const fn join(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            delay_us: self.delay_us.saturating_add(other.delay_us),
            delays: self.delays.saturating_add(other.delays),
            idle_us: self.idle_us.saturating_add(other.idle_us),
        }
    }
}

/// Delivered data of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    deliveries: u64,
    /// Binary logarithm of the width divided by [`WIDTH_NS`].
    doublings: u32,
    /// Number of the first window, counted from the beginning of the capture in units of the width.
    first: u64,
    windows: Vec<Window>,
    /// Window of the last delivery: its index, its start and its end.
    at: (usize, Instant, Instant),
    idle_since: Option<Instant>,
}

impl Series {
    /// Processes a delivery.
    pub(super) fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries += 1;
        if self.deliveries < DELIVERIES_MIN {
            return;
        }
        let Some(window) = self.window(delivery.at) else {
            return;
        };
        let bytes = u32::try_from(delivery.bytes).unwrap_or(u32::MAX);
        window.bytes = window.bytes.saturating_add(bytes);
        if let Some(delay) = delivery.delay {
            let micros = u32::try_from(delay.as_nanos() / 1000).unwrap_or(u32::MAX);
            window.delay_us = window.delay_us.saturating_add(micros);
            window.delays = window.delays.saturating_add(1);
        }
    }

    /// Records that no data is outstanding from `at` on.
    pub(super) const fn idle(&mut self, at: Instant) {
        if self.idle_since.is_none() {
            self.idle_since = Some(at);
        }
    }

    /// Records that data was sent.
    pub(super) fn busy(&mut self, at: Instant) {
        let Some(since) = self.idle_since.take() else {
            return;
        };
        if self.windows.is_empty() {
            return;
        }
        let mut from = since;
        while from < at {
            let width = self.width();
            let end = self.beginning(from.as_nanos() / width.as_nanos().max(1) + 1, width);
            let until = end.min(at);
            if let Some(window) = self.window(from) {
                let micros = u32::try_from(until.since(from).as_nanos() / 1000);
                window.idle_us = window.idle_us.saturating_add(micros.unwrap_or(u32::MAX));
            }
            // The call of `window` may have widened the windows.
            from = until.max(from + Duration::from_nanos(1));
        }
    }

    /// Returns the width of the windows.
    pub(crate) const fn width(&self) -> Duration {
        Duration::from_nanos(WIDTH_NS << self.doublings)
    }

    const fn beginning(&self, number: u64, width: Duration) -> Instant {
        Instant::from_nanos(number.saturating_mul(width.as_nanos()))
    }

    fn window(&mut self, at: Instant) -> Option<&mut Window> {
        let (place, from, until) = self.at;
        if at >= from && at < until {
            return self.windows.get_mut(place);
        }
        let most = (self.deliveries / 2).max(WINDOWS_MIN);
        let most = usize::try_from(most).map_or(WINDOWS_MAX, |most| most.min(WINDOWS_MAX));
        loop {
            let width = self.width();
            let number = at.as_nanos() / width.as_nanos().max(1);
            if self.windows.is_empty() {
                self.first = number;
            }
            // A delivery with a time before the first window is added to the first window.
            let place = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
            if place >= most {
                self.widen();
                continue;
            }
            if place >= self.windows.len() {
                grow::make_room(&mut self.windows, place + 1, WINDOWS_MAX);
                self.windows.resize(place + 1, Window::default());
            }
            let from = self.beginning(number, width);
            self.at = (place, from, from + width);
            return self.windows.get_mut(place);
        }
    }

    fn widen(&mut self) {
        self.doublings += 1;
        self.windows = joined(self.first, &self.windows, 2);
        self.first /= 2;
        self.at = (0, Instant::ZERO, Instant::ZERO);
    }

    /// Returns the number of bytes delivered in all windows.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = self.windows.iter().map(|window| u64::from(window.bytes));
        bytes.sum()
    }

    /// Returns the number of the first window and all windows at `width`, which is the current width times a power of
    /// two.
    pub(crate) fn at_width(&self, width: Duration) -> (u64, Vec<Window>) {
        let times = (width.as_nanos() / self.width().as_nanos().max(1)).max(1);
        let windows = joined(self.first, &self.windows, times);
        (self.first / times, windows)
    }
}

/// Merges every `times` windows into one; the first window has the number `first`.
fn joined(first: u64, windows: &[Window], times: u64) -> Vec<Window> {
    let mut joined: Vec<Window> = Vec::with_capacity(windows.len() / 2 + 1);
    let mut last = None;
    for (number, window) in (first..).zip(windows) {
        let place = number / times.max(1);
        match joined.last_mut().filter(|_| last == Some(place)) {
            Some(before) => *before = before.join(*window),
            None => joined.push(*window),
        }
        last = Some(place);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::delivery::{News, Rest};

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn delivery(millis: u64, bytes: u64) -> Delivery {
        Delivery {
            at: at(millis),
            orders: (0, 0),
            segments: 1,
            bytes,
            sent: (at(millis), at(millis)),
            start: 0,
            delay: Some(Duration::from_millis(7)),
            news: News::AsAlways,
            rest: Rest::More,
        }
    }

    #[test]
    fn two_series_have_the_same_windows_once_the_finer_is_merged() {
        let (mut long, mut short) = (Series::default(), Series::default());
        for n in 0..40_000 {
            long.delivered(&delivery(1005 + n, 100));
        }
        for n in 0..1000 {
            short.delivered(&delivery(10_000 + n, 100));
        }
        assert_eq!(short.width(), Duration::from_millis(10));
        assert_eq!(long.width(), Duration::from_millis(40));
        assert!(long.windows.len() <= WINDOWS_MAX);
        let (first, windows) = short.at_width(long.width());
        // The time 10 s is in window 250, and the first 31 deliveries do not count.
        assert_eq!(first, 250);
        assert_eq!(windows.len(), 25);
        assert_eq!(windows[3].bytes, 4000);
        assert_eq!((windows[3].delay_us, windows[3].delays), (280_000, 40));
        let (first, windows) = long.at_width(long.width());
        assert_eq!(windows[250 - first as usize].bytes, 4000);
        let bytes: u32 = windows.iter().map(|window| window.bytes).sum();
        assert_eq!(u64::from(bytes), long.bytes());
        assert_eq!(bytes, 100 * (40_000 - 31));
    }

    #[test]
    fn idle_time_is_kept_by_window() {
        let mut series = Series::default();
        for n in 0..100 {
            series.delivered(&delivery(1000 + n, 100));
        }
        series.idle(at(1100));
        series.busy(at(1135));
        series.delivered(&delivery(1140, 100));
        let (first, windows) = series.at_width(Duration::from_millis(10));
        let idle: Vec<u32> = (110..=114)
            .map(|number: u64| windows[(number - first) as usize].idle_us)
            .collect();
        assert_eq!(idle, [10_000, 10_000, 10_000, 5000, 0]);
    }

    #[test]
    fn a_stream_that_sends_rarely_takes_little_memory() {
        let mut series = Series::default();
        for n in 0..200 {
            series.idle(at(n * 60_000 + 10));
            series.busy(at(n * 60_000));
            series.delivered(&delivery(n * 60_000, 100));
        }
        assert!(series.windows.len() <= 100, "{}", series.windows.len());
        let mut short = Series::default();
        for n in 0..31 {
            short.delivered(&delivery(n, 100));
        }
        assert!(short.windows.is_empty());
    }
}
