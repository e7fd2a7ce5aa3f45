//! Congestion window, its rounding, and the causes of its changes.

/// The two variables of TCP congestion control (RFC 5681 §2), in bytes.
///
/// Both are real numbers, because additive increase adds a fraction of a segment per ACK, and rounding would change
/// results. The number of bytes that may be sent is the integer part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window in bytes.
    pub cwnd: f64,
    /// Slow start threshold in bytes; infinite until it is first set.
    pub ssthresh: f64,
}

impl Window {
    /// Returns `true` if the window is in slow start.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Number of whole bytes that the window permits.
    #[must_use]
    pub fn whole_bytes(&self) -> u64 {
        // The cast saturates, and NaN becomes 0.
        self.cwnd as u64
    }
}

/// Rounding of a plug-in's window before the sender sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRounding {
    /// No rounding: fractions of a byte are kept.
    Exact,
    /// As in ns-2: `ssthresh` is rounded down to whole segments when a loss sets it; `cwnd` is not rounded.
    NsTwo,
    /// As in Linux: both are rounded down to whole segments when a loss or a timeout sets them.
    Segments,
}

/// Cause of a change of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowCause {
    /// Increase in slow start.
    SlowStart,
    /// Increase in congestion avoidance, or any other change by an ACK outside slow start.
    Avoidance,
    /// A loss event judged as congestion.
    Congestion,
    /// A loss event attributed to the link; the response chose the window.
    Wireless,
    /// The recovery limited the window, as NewReno does on a full acknowledgment.
    RecoveryLimit,
    /// Retransmission timeout.
    Timeout,
    /// The receiver echoed a congestion mark (RFC 3168 §6.1.2).
    Ecn,
    /// Restart after an idle period (RFC 5681 §4.1).
    Idle,
    /// A spurious reduction was undone ([`undo`](crate::undo)).
    Undo,
    /// The size of a full segment changed because the MTU of the path changed.
    SegmentSize,
    /// The SYN or SYN-ACK of the handshake was lost (RFC 5681 §3.1).
    LostSyn,
}

impl core::fmt::Display for WindowCause {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::SlowStart => "slow start",
            Self::Avoidance => "congestion avoidance",
            Self::Congestion => "congestion loss",
            Self::Wireless => "wireless loss",
            Self::RecoveryLimit => "limit set by the recovery",
            Self::Timeout => "timeout",
            Self::Ecn => "congestion mark (ECN)",
            Self::Idle => "idle",
            Self::Undo => "undo of a spurious reduction",
            Self::SegmentSize => "change of the segment size",
            Self::LostSyn => "lost SYN",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn window(cwnd: f64, ssthresh: f64) -> Window {
        Window { cwnd, ssthresh }
    }

    #[test]
    fn slow_start_lasts_until_the_threshold() {
        // RFC 5681 §3.1 permits either algorithm if cwnd equals ssthresh. We use congestion avoidance.
        assert!(window(999.5, 1000.0).in_slow_start());
        assert!(!window(1000.0, 1000.0).in_slow_start());
        assert!(!window(1001.0, 1000.0).in_slow_start());
        assert!(window(1e9, f64::INFINITY).in_slow_start());
    }

    #[test]
    fn only_whole_bytes_may_be_sent() {
        assert_eq!(window(2999.9, 0.0).whole_bytes(), 2999);
        assert_eq!(window(f64::NAN, 0.0).whole_bytes(), 0);
        assert_eq!(window(f64::INFINITY, 0.0).whole_bytes(), u64::MAX);
    }
}
