//! Delivered data over time, and a Mahimahi trace of this data.
//!
//! A trace has one line, a time in milliseconds, for every 1500 bytes that could be delivered (Netravali et al., USENIX
//! ATC 2015). The delivered data equals the deliverable data only while the bottleneck does not pause. For a window
//! with pauses, the rate of the time without pauses is used.

use std::fmt::Write;

use dupack_tcp::time::{Duration, Instant};

use super::rate::Before;

/// Initial width of a window (our choice: about a round trip). The width doubles in a long capture.
const WIDTH: Duration = Duration::from_millis(100);

/// Maximum number of windows (our choice). If it is exceeded, pairs of windows are merged.
const WINDOWS: usize = 2048;

/// Minimum fraction of a window without a pause of the bottleneck for the window's rate to be known (our choice).
const FULL: f64 = 0.5;

/// Minimum fraction of windows with a known rate for a capture to be converted to a trace (our choice: with a smaller
/// fraction, much of the trace would be made up).
const MOSTLY: f64 = 0.8;

/// Maximum number of lines of a trace (our choice): about 30 MB of text.
const LINES_MAX: f64 = 4e6;

/// Number of bytes that one line of a trace stands for.
const OPPORTUNITY: f64 = 1500.0;

/// Delivered data in the windows of one stream.
#[derive(Clone, Debug)]
pub(super) struct OverTime {
    begin: Option<Instant>,
    width: Duration,
    windows: Vec<Window>,
}

/// Data delivered in a window while the bottleneck had no pause, in bytes, and the time without a pause, in
/// microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    bytes: u32,
    busy_us: u32,
}

impl Default for OverTime {
    fn default() -> Self {
        Self {
            begin: None,
            width: WIDTH,
            windows: Vec::new(),
        }
    }
}

impl OverTime {
    /// Adds `bytes` delivered at `at`. `before` is the state of the bottleneck before this delivery.
    pub(super) fn delivered(&mut self, at: Instant, bytes: u64, before: Before) {
        let begin = *self.begin.get_or_insert(at);
        let place = loop {
            let place = at.since(begin).as_nanos() / self.width.as_nanos().max(1);
            match usize::try_from(place) {
                Ok(place) if place < WINDOWS => break place,
                _ => self.widen(),
            }
        };
        if place >= self.windows.len() {
            self.windows.resize(place + 1, Window::default());
        }
        if let (Before::Busy(gap), Some(window)) = (before, self.windows.get_mut(place)) {
            let gap_us = u32::try_from(gap.as_nanos() / 1000).unwrap_or(u32::MAX);
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            window.bytes = window.bytes.saturating_add(bytes);
            window.busy_us = window.busy_us.saturating_add(gap_us);
        }
    }

    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        let pairs = self.windows.chunks(2).map(|pair| {
            pair.iter().fold(Window::default(), |sum, window| Window {
                bytes: sum.bytes.saturating_add(window.bytes),
                busy_us: sum.busy_us.saturating_add(window.busy_us),
            })
        });
        self.windows = pairs.collect();
    }

    /// Returns the rate of each window in bytes per second; `None` if the bottleneck paused for too long.
    fn rates(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        let full = self.width.as_secs_f64() * FULL;
        self.windows.iter().map(move |window| {
            let busy = f64::from(window.busy_us) / 1e6;
            (busy >= full).then(|| f64::from(window.bytes) / busy)
        })
    }

    /// Returns the fraction of the windows with a known rate.
    pub(super) fn known(&self) -> f64 {
        let known = self.rates().flatten().count();
        known as f64 / self.windows.len().max(1) as f64
    }

    /// Returns a Mahimahi trace of the capture; `None` if too few windows have a known rate, or if the trace would be
    /// too long. A window without a known rate takes the rate of the previous window.
    pub(super) fn trace(&self) -> Option<String> {
        let total: f64 = self.windows.iter().map(|w| f64::from(w.bytes)).sum();
        if self.known() < MOSTLY || total / OPPORTUNITY > LINES_MAX {
            return None;
        }
        let mut rate = self.rates().flatten().next()?;
        let (mut due, mut now_ms) = (0.0, 0);
        let mut lines = String::new();
        let width_ms = self.width.as_nanos() / 1_000_000;
        for window in self.rates() {
            rate = window.unwrap_or(rate);
            for _ in 0..width_ms {
                now_ms += 1;
                due += rate / 1000.0 / OPPORTUNITY;
                while due >= 1.0 {
                    due -= 1.0;
                    let _ = writeln!(lines, "{now_ms}");
                }
            }
        }
        (!lines.is_empty()).then_some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers `packets` packets of 1500 bytes, one every `gap_us` microseconds, beginning after `from_us`
    /// microseconds. Returns the time of the last packet in microseconds.
    fn stream(over: &mut OverTime, from_us: u64, gap_us: u64, packets: u64) -> u64 {
        for n in 1..=packets {
            let at = Instant::ZERO + Duration::from_micros(from_us + n * gap_us);
            over.delivered(at, 1500, Before::Busy(Duration::from_micros(gap_us)));
        }
        from_us + packets * gap_us
    }

    #[test]
    fn a_trace_contains_the_delivered_data() {
        let mut over = OverTime::default();
        // A packet is delivered every millisecond for 1 s, and then every 4 ms for 1 s.
        let half = stream(&mut over, 0, 1000, 1000);
        stream(&mut over, half, 4000, 250);
        let trace = over.trace().unwrap();
        let times: Vec<u64> = trace.lines().map(|line| line.parse().unwrap()).collect();
        let early = times.iter().filter(|&&ms| ms <= 1000).count();
        assert!((985..=1005).contains(&early), "{early}");
        let late = times.len() - early;
        assert!((240..=260).contains(&late), "{late}");
    }

    #[test]
    fn pauses_are_not_attributed_to_the_link() {
        let mut over = OverTime::default();
        stream(&mut over, 0, 1000, 500);
        stream(&mut over, 2_000_000, 1000, 500);
        assert!(over.known() < 0.5);
        assert_eq!(over.trace(), None);
    }

    #[test]
    fn a_long_capture_takes_no_more_memory() {
        let mut over = OverTime::default();
        let end = stream(&mut over, 0, 50_000, 20_000);
        assert_eq!(end, 1_000_000_000);
        assert!(over.windows.len() <= WINDOWS && over.width == Duration::from_millis(800));
        assert!((over.known() - 1.0).abs() < 0.01);
    }
}
