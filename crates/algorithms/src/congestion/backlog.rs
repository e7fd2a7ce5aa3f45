//! Backlog: the number of a connection's segments in the bottleneck's queue.
//!
//! ```text
//! N = (cwnd/RTTmin − cwnd/RTT) · RTTmin = cwnd · (RTT − RTTmin) / RTT   segments
//! ```
//!
//! This is the expected rate without a queue minus the actual rate, times the round-trip time without a queue: L. S.
//! Brakmo, L. L. Peterson, "TCP Vegas: end to end congestion avoidance on a global internet", IEEE JSAC 13(8), 1995,
//! §III. [`vegas`](super::vegas) controls the window by the backlog; [`veno`](super::veno) and the differentiation of
//! the same name use the backlog as a sign of congestion.

use dupack_tcp::time::Duration;

/// Returns N for a window of `cwnd` segments, or `None` without a round-trip time.
///
/// A coarse clock may round `rtt` to a value below the minimum. The backlog is then 0.
#[must_use]
pub fn backlog(cwnd: f64, rtt: Option<Duration>, rtt_min: Option<Duration>) -> Option<f64> {
    let rtt = rtt.filter(|rtt| !rtt.is_zero())?;
    let queued = rtt.saturating_sub(rtt_min?);
    Some(cwnd * queued.as_secs_f64() / rtt.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let ms = |n| Some(Duration::from_millis(n));
        // 20 segments, and 25 ms of the 125 ms are queueing delay: 20 · 25/125.
        assert_eq!(backlog(20.0, ms(125), ms(100)), Some(4.0));
        assert_eq!(backlog(20.0, ms(100), ms(100)), Some(0.0));
        assert_eq!(backlog(20.0, ms(99), ms(100)), Some(0.0));
        assert_eq!(backlog(20.0, ms(0), ms(0)), None);
        assert_eq!(backlog(20.0, None, ms(100)), None);
        assert_eq!(backlog(20.0, ms(100), None), None);
    }
}
