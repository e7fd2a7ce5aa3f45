//! Rate at which segments are sent, if a shaper or pacing before the capture point sets this rate.
//!
//! Such a rate has two properties. The time between two packets is the transmission time of the second packet at this
//! rate, and it does not depend on ACKs. A window-limited sender has neither property: it sends packets when ACKs
//! arrive, and as many at once as they acknowledge.

use dupack_tcp::time::{Duration, Instant};

/// Number of packets in an interval whose rate is measured, and the minimum number of intervals (our choice).
const STRETCH: usize = 16;
const STRETCHES_MIN: usize = 6;
/// Maximum number of intervals stored.
const STRETCHES_MAX: usize = 512;

/// Minimum fraction of the time in intervals with a rate near the median, and the maximum deviation from the median
/// (our choice: that of a shaper's clock).
const EVEN_PART: f64 = 0.8;
const EVEN_WITHIN: f64 = 0.05;

/// Minimum fraction of an interval's packets that follow the previous packet after the time that the rate requires, and
/// the maximum deviation from this time (our choice: timers of hosts are late by about 20 µs, and sometimes by more).
const EVEN_PACKETS: f64 = 0.75;
const EVEN_GAP: f64 = 0.25;

/// Minimum fraction of the active time that the intervals must cover (our choice): without this minimum, bursts would
/// count, but their rate is that of the host's link.
const MEASURED_PART: f64 = 0.6;

/// Maximum time from an ACK to a packet that it triggers, absolute and as the inverse of a fraction of the time since
/// the previous packet (our choice: a host takes about 10 µs, and an ACK rarely arrives so shortly before a packet by
/// chance).
const PROMPT: Duration = Duration::from_millis(1);
const PROMPT_PART: u64 = 8;
/// Minimum fraction of packets that follow an ACK promptly for an interval to depend on ACKs (our choice).
const ANSWERS_PART: f64 = 0.75;
/// Maximum ratio of the variation of the times from ACK to packet to the variation of the times between packets, for an
/// interval that depends on ACKs (our choice). The times between packets include the variation of the ACKs. If the
/// ratio is greater, ACKs precede packets by chance.
const ANSWERS_UNEVEN: f64 = 2.0;

/// Minimum fraction of the announced size for a segment to count as full (our choice: options take a part of this
/// size).
const FULL: f64 = 0.9;

/// Multiple of the usual time between two packets above which the time is a pause, if everything was acknowledged (our
/// choice).
const PAUSE: u32 = 4;

/// Length of the headers of IPv4 and TCP with timestamps, in bytes. Headers also take time at a shaper.
const HEADERS: u64 = 52;

/// Constant rate at which segments are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantRate {
    /// Rate in bytes of data per second, with full segments.
    pub bytes_per_second: f64,
    /// Time during which segments were sent at this rate.
    pub time: Duration,
}

/// Packet, or several packets that were sent as one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) at: Instant,
    /// Total number of data bytes.
    pub(super) bytes: u64,
    /// Number of segments, and the maximum size of a segment in bytes.
    pub(super) segments: u64,
    pub(super) largest: u32,
}

/// Packet of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// Number of bytes, including headers.
    bytes: u64,
    /// Time since the previous packet.
    gap: Duration,
    /// `true` if the packet consists of full segments.
    is_full: bool,
    /// Time since an ACK; `None` unless an ACK arrived just before.
    after_ack: Option<Duration>,
}

/// Collector of rates.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Size of a full segment in bytes, according to the handshake.
    smss: u32,
    largest: u32,
    last: Option<Instant>,
    steps: Vec<Step>,
    /// Number of intervals, their total time, and the duration of the last one.
    stretches: usize,
    measured: Duration,
    latest: Duration,
    /// Rate of each interval that has one, in bytes per second including headers, and the duration of the interval.
    rates: Vec<(f64, Duration)>,
    /// Total time between packets, without pauses.
    active: Duration,
    acked_at: Option<Instant>,
    has_paused: bool,
}

impl Pace {
    /// Creates a collector for segments of `smss` bytes.
    pub(super) fn new(smss: u32) -> Self {
        Self {
            smss,
            ..Self::default()
        }
    }

    /// `true` if `leaving` consists of full segments, as from a sender that always has more data to send. Messages end
    /// with short segments.
    fn is_full(&self, leaving: &Leaving) -> bool {
        leaving.bytes >= leaving.segments * u64::from(self.largest) && self.fills_segments()
    }

    fn fills_segments(&self) -> bool {
        f64::from(self.largest) >= FULL * f64::from(self.smss)
    }

    /// Records a departure of data.
    pub(super) fn left(&mut self, leaving: Leaving) {
        self.largest = self.largest.max(leaving.largest);
        let acked_at = self.acked_at.take();
        let Some(last) = self.last.replace(leaving.at) else {
            return;
        };
        let gap = leaving.at.since(last);
        let bytes = leaving.bytes + HEADERS * leaving.segments;
        let is_full = self.is_full(&leaving);
        if gap.is_zero() && is_full && self.steps.last().is_none_or(|step| step.is_full) {
            // The packet was captured before the interface split it.
            if let Some(step) = self.steps.last_mut() {
                step.bytes += bytes;
            }
            return;
        }
        if core::mem::take(&mut self.has_paused) && self.is_pause(gap) {
            self.steps.clear();
            return;
        }
        self.active += gap;
        let soon = PROMPT.min(gap / PROMPT_PART);
        self.steps.push(Step {
            bytes,
            gap,
            is_full,
            after_ack: acked_at
                .map(|at| leaving.at.since(at))
                .filter(|after| *after <= soon),
        });
        if self.steps.len() > STRETCH {
            let begun = self.steps.pop();
            self.end_stretch();
            self.steps.clear();
            self.steps.extend(begun);
        }
    }

    fn end_stretch(&mut self) {
        let time = time_of(&self.steps);
        if self.stretches >= STRETCHES_MAX || time.is_zero() {
            return;
        }
        self.stretches += 1;
        self.measured += time;
        self.latest = time;
        if let Some(rate) = rate_of(&self.steps, time) {
            self.rates.push((rate, time));
        }
    }

    /// Records an ACK.
    pub(super) const fn acked(&mut self, at: Instant) {
        self.acked_at = Some(at);
    }

    /// Records that no data is outstanding, so the following pause may be caused by the application.
    pub(super) const fn emptied(&mut self) {
        self.has_paused = true;
    }

    /// Records data from the peer. The next departure may be the response to it.
    pub(super) fn asked(&mut self) {
        self.steps.clear();
        self.last = None;
    }

    fn is_pause(&self, gap: Duration) -> bool {
        let (all, count) = match self.stretches {
            0 => (time_of(&self.steps), self.steps.len()),
            _ => (self.latest, STRETCH),
        };
        count > 0 && gap > all * u64::from(PAUSE) / count as u64
    }

    /// Returns the rate; `None` if it is not constant.
    pub(super) fn constant(&self) -> Option<ConstantRate> {
        // Small messages at regular intervals come from an application: with a shaper, messages would wait and be
        // combined into full segments.
        if self.rates.len() < STRETCHES_MIN || !self.fills_segments() {
            return None;
        }
        let mut rates = self.rates.clone();
        rates.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (median, _) = *rates.get(rates.len() / 2)?;
        let near = rates
            .iter()
            .filter(|(rate, _)| (rate - median).abs() <= EVEN_WITHIN * median);
        let time = near.fold(Duration::ZERO, |sum, (_, time)| sum + *time);
        let [time_s, all_s, active_s] =
            [time, self.measured, self.active].map(Duration::as_secs_f64);
        // Only the first intervals of a long transfer are stored.
        let kept_all = self.stretches < STRETCHES_MAX;
        let measured = !kept_all || time_s >= MEASURED_PART * active_s;
        let full = u64::from(self.largest);
        (time_s >= EVEN_PART * all_s && measured).then(|| ConstantRate {
            bytes_per_second: median * full as f64 / (full + HEADERS) as f64,
            time: if kept_all {
                time
            } else {
                self.active * ((time_s / all_s * 1000.0) as u64) / 1000
            },
        })
    }
}

fn time_of(steps: &[Step]) -> Duration {
    let gaps = steps.iter().map(|step| step.gap);
    gaps.fold(Duration::ZERO, |sum, gap| sum + gap)
}

/// Returns the rate of an interval of this duration in bytes per second, including headers; `None` unless its packets
/// are sent at regular intervals and independently of ACKs.
fn rate_of(steps: &[Step], time: Duration) -> Option<f64> {
    let bytes: u64 = steps.iter().map(|step| step.bytes).sum();
    let part = |such: usize| such as f64 / steps.len().max(1) as f64;
    let rate = bytes as f64 / time.as_secs_f64();
    let is_even = |step: &&Step| {
        let due = step.bytes as f64 / rate;
        (step.gap.as_secs_f64() - due).abs() <= EVEN_GAP * due
    };
    if part(steps.iter().filter(is_even).count()) < EVEN_PACKETS {
        return None;
    }
    let after = steps.iter().filter_map(|step| step.after_ack);
    let often = part(after.clone().count()) > ANSWERS_PART;
    let gaps = steps.iter().map(|step| step.gap);
    let follows = || deviation(after) <= ANSWERS_UNEVEN * deviation(gaps);
    let is_full = steps.iter().all(|step| step.is_full);
    let answers = often && (!is_full || follows());
    (!answers).then_some(rate)
}

/// Returns the mean absolute deviation from the mean, in seconds.
fn deviation(times: impl Iterator<Item = Duration> + Clone) -> f64 {
    let seconds = times.map(Duration::as_secs_f64);
    let count = seconds.clone().count().max(1) as f64;
    let mean = seconds.clone().sum::<f64>() / count;
    seconds.map(|time| (time - mean).abs()).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::ms;

    /// Simulates segments of 1448 bytes at `times` and ACKs at `acks`, all in ms.
    fn pace(times: impl Iterator<Item = f64>, acks: &[f64]) -> Pace {
        let mut events: Vec<(f64, bool)> = times.map(|at| (at, true)).collect();
        events.extend(acks.iter().map(|at| (*at, false)));
        events.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut pace = Pace::default();
        for (at, leaves) in events {
            if leaves {
                pace.left(Leaving {
                    at: ms(at),
                    bytes: 1448,
                    segments: 1,
                    largest: 1448,
                });
            } else {
                pace.acked(ms(at));
            }
        }
        pace
    }

    fn rate(pace: &Pace) -> Option<f64> {
        pace.constant().map(|rate| rate.bytes_per_second)
    }

    #[test]
    fn evenly_spaced_packets_have_a_rate_with_any_acks() {
        for rtt in [0.2, 1.0, 10.3, 41.7] {
            let times = || (0..200).map(|n| f64::from(n) * 1.5);
            let acks: Vec<f64> = times().step_by(2).map(|at| at + rtt).collect();
            let told = rate(&pace(times(), &acks)).unwrap();
            assert!((told / 965_333.3 - 1.0).abs() < 0.01, "{rtt}: {told}");
        }
    }

    /// The interface of the host splits packets, and all segments of one packet are captured at once.
    #[test]
    fn segments_that_leave_together_are_one_packet() {
        let at = |n: i32| f64::from(n / 4) * 6.0;
        let mut pace = Pace::default();
        for n in 0..800 {
            if n % 4 == 0 {
                pace.emptied();
            }
            pace.left(Leaving {
                at: ms(at(n)),
                bytes: 1448,
                segments: 1,
                largest: 1448,
            });
        }
        let told = rate(&pace).unwrap();
        assert!((told / 965_333.3 - 1.0).abs() < 0.01, "{told}");
    }

    /// Messages have 12,040 bytes and are sent every 45 ms. The last segment of each message is short.
    #[test]
    fn messages_at_even_intervals_have_no_rate() {
        let mut pace = Pace::new(1460);
        for n in 0..900_u32 {
            let last = n % 9 == 8;
            pace.left(Leaving {
                at: ms(f64::from(n / 9) * 45.0),
                bytes: if last { 456 } else { 1448 },
                segments: 1,
                largest: if last { 456 } else { 1448 },
            });
            if last {
                pace.acked(ms(f64::from(n / 9) * 45.0 + 44.0 + f64::from(n % 5) * 0.1));
                pace.emptied();
            }
        }
        assert_eq!(rate(&pace), None);
    }

    #[test]
    fn small_messages_at_even_intervals_have_no_rate() {
        let told = |smss: u32| {
            let mut pace = Pace::new(smss);
            for n in 0..400_u32 {
                pace.left(Leaving {
                    at: ms(f64::from(n) * 15.0),
                    bytes: 497,
                    segments: 1,
                    largest: 497,
                });
            }
            rate(&pace)
        };
        assert_eq!(told(1460), None);
        assert!(told(536).is_some());
    }

    /// The packets have passed a shaper, and their ACKs arrive shortly before the next packet by chance.
    #[test]
    fn acks_shortly_before_packets_by_chance_are_no_trigger() {
        let at = |n: i32| f64::from(n) * 7.9 + f64::from(n % 2) * 0.01;
        let before = |n: i32| at(n) - 0.75 - f64::from(n * 7 % 5) * 0.05;
        let acks: Vec<f64> = (1..400).map(before).collect();
        let told = rate(&pace((0..400).map(at), &acks)).unwrap();
        assert!((told * 7.9e-3 / 1448.0 - 1.0).abs() < 0.01, "{told}");
        // With a window, the times between ACKs vary as much as the times between packets.
        let acks: Vec<f64> = (1..400).map(before).collect();
        let answers = acks
            .iter()
            .enumerate()
            .map(|(n, at)| at + 0.02 + 0.01 * (n % 3) as f64);
        assert_eq!(rate(&pace(answers, &acks)), None);
    }

    #[test]
    fn a_window_of_any_size_has_no_rate() {
        for window in [1, 2, 3, 4, 8, 16, 20, 32, 48] {
            for gap in [0.0, 0.1, 1.0] {
                // One window is sent every 60 ms. The first segment follows the first ACK, and so on.
                let at = |n: i32| f64::from(n / window * 60) + f64::from(n % window) * gap + 0.02;
                let times: Vec<f64> = (0..1000).map(at).collect();
                let acks: Vec<f64> = times.iter().map(|at| at - 0.02).collect();
                let told = rate(&pace(times.into_iter(), &acks));
                assert_eq!(told, None, "{window} {gap}");
            }
        }
    }

    #[test]
    fn bursts_have_no_rate() {
        // The bursts are pairs, as with delayed ACKs, then 3 segments every 100 ms, and 16 segments every 20 ms.
        for (burst, every) in [(2, 2.4), (3, 100.0), (16, 20.0)] {
            let at = |n: i32| f64::from(n / burst) * every + f64::from(n % burst) * 0.01;
            assert_eq!(rate(&pace((0..500).map(at), &[])), None, "{burst}");
        }
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut pace = Pace::default();
        for n in 0..200_u32 {
            let pause = f64::from(n / 40) * 1000.0;
            if n > 0 && n % 40 == 0 {
                pace.emptied();
            }
            pace.left(Leaving {
                at: ms(pause + f64::from(n)),
                bytes: 1448,
                segments: 1,
                largest: 1448,
            });
        }
        let told = pace.constant().unwrap();
        assert!((told.bytes_per_second / 1.448e6 - 1.0).abs() < 0.01);
        assert!(told.time <= Duration::from_millis(200), "{:?}", told.time);
    }
}
