//! Recorded link traces in Mahimahi's format (Netravali et al., USENIX ATC 2015, §4.1).
//!
//! A trace is a text file with one number per line: the millisecond in which the link could have delivered one
//! 1500-byte packet. The times do not decrease. A repeated time means several packets in that millisecond. The last
//! time is also the period after which the trace repeats.

use core::fmt;
use std::sync::Arc;

/// Number of bytes that one delivery opportunity carries.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// A validated trace; clones share its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// Milliseconds since the start of the trace. The times do not decrease, there is at least one, and the last is not
    /// zero.
    times_ms: Arc<[u32]>,
    /// Millisecond of the trace at the link's time zero, less than the period.
    begin_ms: u32,
}

/// Error in a trace, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// The trace has no line.
    Empty,
    /// A line is not a number of milliseconds.
    NotMilliseconds {
        /// Line number, from 1.
        line: usize,
        /// The line's text, shortened.
        text: String,
    },
    /// A time is earlier than the previous one.
    Decreasing {
        /// Line number, from 1.
        line: usize,
        /// Time on this line, in milliseconds.
        time_ms: u32,
        /// Time on the previous line, in milliseconds.
        before_ms: u32,
    },
    /// The last time is zero, so the period would be zero.
    ZeroPeriod {
        /// Line number of the last line, from 1.
        line: usize,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(
                f,
                "the trace is empty: expected at least one line with the millisecond of a \
                 delivery opportunity"
            ),
            Self::NotMilliseconds { line, text } => write!(
                f,
                "line {line} of the trace reads {text:?}: write one whole number of \
                 milliseconds per line, from 0 to {}, and nothing else",
                u32::MAX
            ),
            Self::Decreasing {
                line,
                time_ms,
                before_ms,
            } => write!(
                f,
                "line {line} of the trace goes back from {before_ms} ms to {time_ms} ms: sort \
                 the lines by time, counted from the start of the trace"
            ),
            Self::ZeroPeriod { line } => write!(
                f,
                "the trace ends at 0 ms on line {line}, so its period would be zero: end it with \
                 the time at which it repeats"
            ),
        }
    }
}

impl core::error::Error for TraceError {}

impl DeliveryTrace {
    /// Parses the text of a trace file.
    ///
    /// # Errors
    ///
    /// Returns an error that names the line and the remedy if the text is not in the format.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut times_ms = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let time: u32 = line
                .trim()
                .parse()
                .map_err(|_| TraceError::NotMilliseconds {
                    line: index + 1,
                    text: line.chars().take(40).collect(),
                })?;
            times_ms.push(time);
        }
        Self::new(times_ms)
    }

    /// Creates a trace with an opportunity at each of `times_ms`.
    ///
    /// # Errors
    ///
    /// Returns an error if there are no times, if they decrease, or if the last is zero; lines are counted as in a
    /// file.
    pub fn new(times_ms: Vec<u32>) -> Result<Self, TraceError> {
        for (index, pair) in times_ms.windows(2).enumerate() {
            if pair[1] < pair[0] {
                return Err(TraceError::Decreasing {
                    line: index + 2,
                    time_ms: pair[1],
                    before_ms: pair[0],
                });
            }
        }
        match times_ms.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::ZeroPeriod {
                line: times_ms.len(),
            }),
            Some(_) => Ok(Self {
                times_ms: times_ms.into(),
                begin_ms: 0,
            }),
        }
    }

    /// Returns the trace with the link's time zero at millisecond `begin_ms` of the trace. After its end, the trace
    /// continues with its start as usual. A time beyond the period is taken modulo the period.
    #[must_use]
    pub fn beginning_at(mut self, begin_ms: u64) -> Self {
        // The remainder is smaller than the period, which has 32 bits.
        self.begin_ms = (begin_ms % u64::from(self.period_ms())) as u32;
        self
    }

    /// Returns the millisecond of the trace at the link's time zero.
    #[must_use]
    pub const fn begin_ms(&self) -> u32 {
        self.begin_ms
    }

    /// Returns the opportunities of one period, in milliseconds from its start.
    #[must_use]
    pub fn times_ms(&self) -> &[u32] {
        &self.times_ms
    }

    /// Returns the opportunities of one period, in memory that is shared with other clones.
    pub(super) fn into_times(self) -> Arc<[u32]> {
        self.times_ms
    }

    /// Returns the period in milliseconds; never zero.
    #[must_use]
    pub fn period_ms(&self) -> u32 {
        self.times_ms.last().copied().unwrap_or(1)
    }

    /// Returns the mean rate in bit/s, assuming that every opportunity is used.
    #[must_use]
    pub fn mean_rate_bps(&self) -> f64 {
        let bits = self.times_ms.len() as f64 * f64::from(OPPORTUNITY_BYTES) * 8.0;
        bits * 1e3 / f64::from(self.period_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_trace_is_parsed() {
        let trace = DeliveryTrace::parse("0\n3\r\n3\n 10 \n").unwrap();
        assert_eq!(trace.times_ms(), [0, 3, 3, 10]);
        assert_eq!(trace.period_ms(), 10);
        // The trace has four opportunities of 1500 bytes in 10 ms.
        assert!((trace.mean_rate_bps() - 4.8e6).abs() < 1e-6);
    }

    #[test]
    fn errors_name_the_line_and_the_remedy() {
        let error = |text| DeliveryTrace::parse(text).unwrap_err().to_string();
        assert!(error("").contains("is empty"));
        assert!(error("1\n2\nx3\n").contains("line 3 of the trace reads \"x3\""));
        assert!(error("1\n\n2\n").contains("line 2 of the trace reads \"\""));
        assert!(error("1\n-2\n").contains("line 2"));
        assert!(error("1\n2.5\n").contains("whole number of milliseconds"));
        assert!(error("99999999999\n").contains("line 1"));
        assert!(error("5\n9\n8\n").contains("line 3 of the trace goes back from 9 ms to 8 ms"));
        assert!(error("0\n0\n").contains("0 ms on line 2"));
    }

    #[test]
    fn a_long_line_is_quoted_partially() {
        let long = "x".repeat(1_000_000);
        assert!(DeliveryTrace::parse(&long).unwrap_err().to_string().len() < 300);
    }
}
