//! Real-time media over RTP: frames at regular intervals, at a rate that adapts in steps.
//!
//! RFC 8867 specifies tests of the congestion control of such media. It assumes a video codec and leaves the algorithm
//! open. Here both are as simple as possible: the source represents a video call in parallel with other flows, not an
//! algorithm under test.
//!
//! RFC 8867 (§4.3) specifies the following, for callers that choose these values: rates from 150 kbit/s to 1.5 Mbit/s,
//! starting with the lowest; 10 to 30 frames per second (default here: 25); and a single rate of 20 kbit/s for audio.
//! Two properties of its codec are not implemented: a rate that varies by 5 %, and up to 100 ms until a new rate takes
//! effect. All other values are our own unless a source is named:
//!
//! * The rate determines the number of bytes of a frame. A frame is sent at once, in packets of equal size except
//!   for the last. A source with a single rate does not react to anything.
//! * At regular intervals, the receiver reports how many packets arrived and the longest time that a packet waited, in
//!   excess of the minimum one-way delay so far. Reports travel like other packets and may be lost.
//! * The sender steps one rate down if more than 10 % of the packets of a report were lost, or if a packet waited
//!   longer than a limit. It steps one rate up if, for some time, at most 2 % were lost and no packet waited longer
//!   than half of the limit. The percentages are those of Google's congestion control
//!   (draft-ietf-rmcat-gcc-02, section 6); the limit, the steps and the time are ours. Four missing reports
//!   count as losses, which is also our choice.
//!
//! A packet that arrives after its deadline is as useless as a lost packet. RFC 8867 has no deadline.

use dupack_tcp::time::{Duration, Instant};

use crate::units::BitRate;

/// Configuration of a real-time source and its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaConfig {
    /// Rates on the wire that the source may use, in ascending order; at least one. The source starts with the first
    /// rate.
    pub rates: Vec<BitRate>,
    /// Interval between frames.
    pub frame: Duration,
    /// Maximum size of a packet on the wire, in bytes.
    pub packet_bytes: u32,
    /// Start time.
    pub start: Instant,
    /// Time from which nothing more is sent.
    pub stop: Instant,
    /// Interval between reports.
    pub report: Duration,
    /// Size of a report on the wire, in bytes.
    pub report_bytes: u32,
    /// Waiting time of a packet above which the source steps down, as after losses.
    pub delay_limit: Duration,
    /// Time without problems after which the source steps up.
    pub hold: Duration,
    /// Maximum useful one-way delay of a packet.
    pub deadline: Duration,
}

impl MediaConfig {
    /// Creates a source that starts with the run and never stops. It sends 25 frames per second in packets of 1200
    /// bytes and gets a report of 80 bytes every 100 ms. A step up follows 2 s in which no packet waited longer than 50
    /// ms. The deadline is 400 ms (the maximum one-way delay for conversation in ITU-T G.114).
    #[must_use]
    pub const fn new(rates: Vec<BitRate>) -> Self {
        Self {
            rates,
            frame: Duration::from_millis(40),
            packet_bytes: 1200,
            start: Instant::ZERO,
            stop: Instant::FAR_FUTURE,
            report: Duration::from_millis(100),
            report_bytes: 80,
            delay_limit: Duration::from_millis(100),
            hold: Duration::from_secs(2),
            deadline: Duration::from_millis(400),
        }
    }
}

/// Report of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaReport {
    /// Packets received so far.
    pub received: u64,
    /// Number of packets sent so far, as far as the receiver knows: the highest number received plus one.
    pub expected: u64,
    /// Longest wait of a packet since the last report, in excess of the minimum one-way delay.
    pub waited: Duration,
}

/// Sending half; sans-I/O.
#[derive(Clone, Debug)]
pub(crate) struct MediaSender {
    config: MediaConfig,
    /// Index of the current rate.
    step: usize,
    next_frame: Instant,
    /// Fraction of a byte that the frames so far have left over, in bits · 10⁻⁹.
    carry: u128,
    sent: u64,
    last: MediaReport,
    /// Time at which the last report arrived, or at which reports were found to be missing.
    heard: Instant,
    /// Time since which there have been no problems at this rate.
    well_since: Instant,
}

const BITS_PER_BYTE_NANOS: u128 = 8_000_000_000;

/// Number of missing reports after which the source steps down.
const MISSED_REPORTS: u64 = 4;

impl MediaSender {
    pub(crate) fn new(config: MediaConfig) -> Self {
        let start = config.start;
        Self {
            config,
            step: 0,
            next_frame: start,
            carry: 0,
            sent: 0,
            last: MediaReport::default(),
            heard: start,
            well_since: start,
        }
    }

    /// Returns the time of the next frame; `None` if there is none.
    pub(crate) fn next_frame(&self) -> Option<Instant> {
        (self.next_frame < self.config.stop).then_some(self.next_frame)
    }

    /// Starts the frame that is due. Returns its size in bytes.
    pub(crate) fn frame(&mut self, now: Instant) -> u64 {
        self.next_frame = now + self.config.frame;
        let silence = self.config.report.saturating_mul(MISSED_REPORTS);
        if now.since(self.heard) >= silence {
            self.heard = now;
            self.go_down(now);
        }
        let rate = self.config.rates.get(self.step).map_or(0, |r| r.as_bps());
        let bits = u128::from(rate) * u128::from(self.config.frame.as_nanos()) + self.carry;
        self.carry = bits % BITS_PER_BYTE_NANOS;
        (bits / BITS_PER_BYTE_NANOS) as u64
    }

    /// Returns the number of the next packet, from 0.
    pub(crate) fn number(&mut self) -> u64 {
        self.sent += 1;
        self.sent - 1
    }

    /// Handles a report. A report that was overtaken by a later one is ignored.
    pub(crate) fn hear(&mut self, now: Instant, report: &MediaReport) {
        if report.expected < self.last.expected || report.received < self.last.received {
            return;
        }
        let expected = report.expected - self.last.expected;
        let lost = expected.saturating_sub(report.received - self.last.received);
        self.last = *report;
        self.heard = now;
        let limit = self.config.delay_limit;
        if lost * 10 > expected || report.waited > limit {
            self.go_down(now);
        } else if lost * 50 > expected || report.waited > limit / 2 {
            self.well_since = now;
        } else if now.since(self.well_since) >= self.config.hold {
            self.well_since = now;
            self.step = (self.step + 1).min(self.config.rates.len() - 1);
        }
    }

    fn go_down(&mut self, now: Instant) {
        self.step = self.step.saturating_sub(1);
        self.well_since = now;
    }
}

/// Receiving half; sans-I/O.
#[derive(Clone, Debug)]
pub(crate) struct MediaReceiver {
    every: Duration,
    report: MediaReport,
    least: Option<Duration>,
    next_report: Option<Instant>,
}

impl MediaReceiver {
    pub(crate) const fn new(every: Duration) -> Self {
        Self {
            every,
            report: MediaReport {
                received: 0,
                expected: 0,
                waited: Duration::ZERO,
            },
            least: None,
            next_report: None,
        }
    }

    /// Handles the arrival of packet `number` at `now`. `way` is its one-way delay.
    pub(crate) fn take(&mut self, now: Instant, number: u64, way: Duration) {
        let least = self.least.map_or(way, |least| least.min(way));
        self.least = Some(least);
        self.report.received += 1;
        self.report.expected = self.report.expected.max(number + 1);
        self.report.waited = self.report.waited.max(way.saturating_sub(least));
        self.next_report.get_or_insert(now + self.every);
    }

    /// Returns the time of the next report.
    pub(crate) const fn next_report(&self) -> Option<Instant> {
        self.next_report
    }

    /// Returns the report that is due. The next report is scheduled when another packet arrives.
    pub(crate) fn report(&mut self) -> MediaReport {
        let report = self.report;
        self.report.waited = Duration::ZERO;
        self.next_report = None;
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn sender() -> MediaSender {
        let rates = [150_000, 500_000, 1_500_000].map(|bps| BitRate::new(bps).unwrap());
        MediaSender::new(MediaConfig::new(rates.to_vec()))
    }

    fn report(received: u64, expected: u64, waited: u64) -> MediaReport {
        MediaReport {
            received,
            expected,
            waited: ms(waited),
        }
    }

    #[test]
    fn frames_have_the_rate_exactly() {
        // 150 kbit/s at 30 frames per second is 625 bytes per frame; a frame of 33333333 ns has 624.99 bytes.
        let mut config = MediaConfig::new(vec![BitRate::new(150_000).unwrap()]);
        config.frame = Duration::from_nanos(33_333_333);
        let mut sender = MediaSender::new(config);
        let mut bytes = 0;
        for _ in 0..3000 {
            let now = sender.next_frame().unwrap();
            let frame = sender.frame(now);
            sender.heard = now;
            assert!((624..=625).contains(&frame), "{frame}");
            bytes += frame;
        }
        // 3000 frames take 99.999999 s.
        assert_eq!(bytes, 1_874_999);
    }

    #[test]
    fn the_rate_steps_up_after_a_delay_and_down_at_once() {
        let mut sender = sender();
        sender.hear(at(1999), &report(10, 10, 0));
        assert_eq!(sender.step, 0);
        sender.hear(at(2000), &report(20, 20, 50));
        assert_eq!(sender.step, 1);
        // A wait of 51 ms does not cause a step down, but restarts the time without problems.
        sender.hear(at(3900), &report(30, 30, 51));
        sender.hear(at(4100), &report(40, 40, 0));
        assert_eq!(sender.step, 1);
        sender.hear(at(5900), &report(50, 50, 0));
        assert_eq!(sender.step, 2);
        sender.hear(at(9000), &report(60, 60, 0));
        assert_eq!(sender.step, 2, "this is the highest rate");
        sender.hear(at(9100), &report(70, 70, 101));
        assert_eq!(sender.step, 1);
        // One lost packet of ten is not more than 10 %, but two are.
        sender.hear(at(9200), &report(79, 80, 0));
        assert_eq!(sender.step, 1);
        sender.hear(at(9300), &report(87, 90, 0));
        assert_eq!(sender.step, 0);
    }

    #[test]
    fn an_overtaken_report_is_ignored() {
        let mut sender = sender();
        sender.hear(at(3000), &report(20, 20, 0));
        assert_eq!(sender.step, 1);
        sender.hear(at(3001), &report(5, 19, 500));
        assert_eq!(sender.step, 1);
    }

    #[test]
    fn missing_reports_count_as_losses() {
        let mut sender = sender();
        sender.hear(at(2000), &report(1, 1, 0));
        let size = |sender: &mut MediaSender, millis| sender.frame(at(millis));
        assert_eq!(size(&mut sender, 2399), 2500);
        assert_eq!(size(&mut sender, 2400), 750);
        assert_eq!(sender.next_frame(), Some(at(2440)));
    }

    #[test]
    fn a_receiver_reports_its_packets_and_the_longest_wait() {
        let mut receiver = MediaReceiver::new(ms(100));
        assert_eq!(receiver.next_report(), None);
        receiver.take(at(50), 0, ms(50));
        receiver.take(at(130), 2, ms(90));
        receiver.take(at(131), 1, ms(60));
        assert_eq!(receiver.next_report(), Some(at(150)));
        assert_eq!(receiver.report(), report(3, 3, 40));
        assert_eq!(receiver.next_report(), None);
        receiver.take(at(200), 4, ms(45));
        assert_eq!(receiver.next_report(), Some(at(300)));
        assert_eq!(receiver.report(), report(4, 5, 0));
    }
}
