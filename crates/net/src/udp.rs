//! Datagram sources: constant rate, Poisson, on/off. They put load on links and do not react to the network.

use dupack_tcp::time::{Duration, Instant};

use crate::link::RateClock;
use crate::random::Stream;
use crate::units::BitRate;

/// Configuration of a datagram source.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UdpConfig {
    /// Timing and rate of datagrams.
    pub pattern: UdpPattern,
    /// Size of each datagram on the wire in bytes, including headers.
    pub packet_bytes: u32,
    /// Start time.
    pub start: Instant,
    /// Time from which nothing more is sent. With [`Instant::FAR_FUTURE`], the source never stops.
    pub stop: Instant,
}

impl UdpConfig {
    /// Creates a source of datagrams of `packet_bytes` on the wire that starts with the run and never stops.
    #[must_use]
    pub const fn new(pattern: UdpPattern, packet_bytes: u32) -> Self {
        Self {
            pattern,
            packet_bytes,
            start: Instant::ZERO,
            stop: Instant::FAR_FUTURE,
        }
    }
}

/// Timing of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum UdpPattern {
    /// Evenly spaced datagrams, with exactly this long-term rate.
    Constant {
        /// Rate on the wire.
        rate: BitRate,
    },
    /// Exponentially distributed spacing.
    Poisson {
        /// Mean rate on the wire.
        rate: BitRate,
    },
    /// Evenly spaced datagrams in on periods, none in off periods. The source starts with an on period.
    OnOff {
        /// Rate on the wire in on periods.
        rate: BitRate,
        /// Duration of on periods. Each on period sends at least one datagram, at its start.
        on: Spans,
        /// Duration of off periods.
        off: Spans,
    },
}

/// Distribution of the duration of on or off periods.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Spans {
    /// Always the same duration.
    Constant(Duration),
    /// Exponentially distributed.
    Exponential {
        /// Mean duration.
        mean: Duration,
    },
    /// Pareto-distributed. With shapes below 2, the traffic of many such sources is self-similar (Willinger et al.,
    /// IEEE/ACM ToN 5(1), 1997).
    Pareto {
        /// Mean duration.
        mean: Duration,
        /// Shape, above 1.
        shape: f64,
    },
}

impl Spans {
    fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Self::Constant(span) => span,
            Self::Exponential { mean } => stream.exponential(mean),
            Self::Pareto { mean, shape } => stream.pareto(mean, shape),
        }
    }
}

/// A datagram source at run time; sans-I/O.
#[derive(Clone, Debug)]
pub struct UdpSource {
    config: UdpConfig,
    stream: Stream,
    next: Instant,
    /// Spaces packets exactly, including fractions of a nanosecond.
    spacing: RateClock,
    on_until: Instant,
    sent: u64,
}

impl UdpSource {
    /// Creates a source that draws from `stream`.
    #[must_use]
    pub fn new(config: UdpConfig, mut stream: Stream) -> Self {
        let (rate, on_until) = match config.pattern {
            UdpPattern::Constant { rate } | UdpPattern::Poisson { rate } => {
                (rate, Instant::FAR_FUTURE)
            }
            UdpPattern::OnOff { rate, on, .. } => (rate, config.start + on.draw(&mut stream)),
        };
        Self {
            config,
            stream,
            next: config.start,
            spacing: RateClock::new(rate),
            on_until,
            sent: 0,
        }
    }

    /// Returns the time of the next datagram; `None` if there is none.
    #[must_use]
    pub fn next_send(&self) -> Option<Instant> {
        (self.next < self.config.stop).then_some(self.next)
    }

    /// Sends the datagram that is due and schedules the next one. Returns its number, counted from 0.
    pub fn send(&mut self) -> u64 {
        let evenly = self.spacing.book(self.next, self.config.packet_bytes).end;
        self.next = match self.config.pattern {
            UdpPattern::Constant { .. } => evenly,
            UdpPattern::Poisson { rate } => {
                let mean = rate.transmission_time(u64::from(self.config.packet_bytes));
                self.next + self.stream.exponential(mean)
            }
            UdpPattern::OnOff { on, off, .. } if evenly >= self.on_until => {
                let start = self.on_until + off.draw(&mut self.stream);
                self.on_until = start + on.draw(&mut self.stream);
                // The source is never faster than the rate, even with short periods.
                start.max(evenly)
            }
            UdpPattern::OnOff { .. } => evenly,
        };
        let number = self.sent;
        self.sent += 1;
        number
    }

    /// Returns the size of each datagram on the wire.
    #[must_use]
    pub const fn packet_bytes(&self) -> u32 {
        self.config.packet_bytes
    }

    /// Returns the number of datagrams sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn source(pattern: UdpPattern, stop: Instant) -> UdpSource {
        let config = UdpConfig {
            pattern,
            packet_bytes: 1000,
            start: at(100),
            stop,
        };
        UdpSource::new(config, Stream::derive(1, "udp"))
    }

    fn times(source: &mut UdpSource) -> Vec<Instant> {
        core::iter::from_fn(|| {
            let time = source.next_send()?;
            source.send();
            Some(time)
        })
        .collect()
    }

    #[test]
    fn a_constant_source_is_exact() {
        // 1000 bytes at 3 Mbit/s take 8/3 ms each, so there are 375 datagrams in one second.
        let rate = BitRate::from_mbps(3);
        let sent = times(&mut source(UdpPattern::Constant { rate }, at(1100)));
        assert_eq!(sent.len(), 375);
        assert_eq!(sent[0], at(100));
        assert_eq!(sent[3], at(108));
        assert_eq!(sent[300], at(900));
    }

    #[test]
    fn an_on_off_source_is_silent_while_off() {
        let pattern = UdpPattern::OnOff {
            rate: BitRate::from_mbps(8),
            on: Spans::Constant(Duration::from_millis(3)),
            off: Spans::Constant(Duration::from_millis(7)),
        };
        // There is one packet per millisecond: at 100, 101, 102, then at 110, 111, 112, then at 120 ms.
        let sent = times(&mut source(pattern, at(121)));
        let millis: Vec<u64> = sent.iter().map(|t| t.as_nanos() / 1_000_000).collect();
        assert_eq!(millis, [100, 101, 102, 110, 111, 112, 120]);
    }

    #[test]
    fn random_sources_have_the_configured_mean() {
        let rate = BitRate::from_mbps(8);
        let second = Duration::from_secs(1);
        // With 1000 packets/s for 100 s, the standard deviation is √100000 = 316.
        let poisson = times(&mut source(UdpPattern::Poisson { rate }, at(100_100)));
        assert!(
            (98_700..101_300).contains(&poisson.len()),
            "{}",
            poisson.len()
        );
        // The source is on for half of 1000 s, with periods of 0.1 s on average. This gives 5000 cycles of 100 ± 100
        // packets, with a standard deviation of about 1 % of 500,000 packets.
        let on_off = UdpPattern::OnOff {
            rate,
            on: Spans::Exponential { mean: second / 10 },
            off: Spans::Exponential { mean: second / 10 },
        };
        let sent = times(&mut source(on_off, at(1_000_100))).len();
        assert!((480_000..525_000).contains(&sent), "{sent}");
    }

    #[test]
    fn periods_of_zero_length_do_not_stop_time() {
        let nothing = Spans::Constant(Duration::ZERO);
        let pattern = UdpPattern::OnOff {
            rate: BitRate::from_mbps(8),
            on: nothing,
            off: nothing,
        };
        let mut source = source(pattern, Instant::FAR_FUTURE);
        let first = source.next_send();
        source.send();
        assert!(source.next_send() > first);
    }
}
