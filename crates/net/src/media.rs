//! Real-time media over RTP: frames at regular times, at a rate that goes up and down in steps.
//!
//! RFC 8867 tests the congestion control of such media. It presumes a video codec and leaves the
//! algorithm open; here both are as simple as they can be, so that the source stands for "somebody in
//! a video call" beside other flows, and not for an algorithm under test.
//!
//! From RFC 8867 (§4.3) are, for whoever sets them so: rates of 150 kbit/s to 1.5 Mbit/s, beginning with
//! the least, 10 to 30 frames a second (25 here, if nothing is said), and a single rate of 20 kbit/s for
//! audio. Of its codec two things are not here: a rate that varies by 5 %, and up to 100 ms until a
//! new rate is heeded. All else is ours, but for what names a source:
//!
//! * A frame has as many bytes as the rate gives it, and leaves at once, in packets of one size but
//!   the last. With a single rate that is all: the source reacts to nothing.
//! * The receiver reports at regular times how much came and how long it waited, beyond the least
//!   time on the way that it has seen. Reports travel like other packets, and may be lost.
//! * The sender goes a rate down if more than 10 % of a report's packets were lost, or they waited
//!   longer than a limit, and one up if less than 2 % were and they did not wait for half of that,
//!   for some time. The shares are those of Google's congestion control
//!   (draft-ietf-rmcat-gcc-02, section 6); the limit, the steps and the time are ours. Four reports
//!   that do not come are as bad as losses, which is ours, too.
//!
//! A packet that comes later than its deadline is as useless as one that is lost. RFC 8867 has no deadline.

use dupack_tcp::time::{Duration, Instant};

use crate::units::BitRate;

/// A real-time source and its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaConfig {
    /// The rates on the wire that it may have, ascending, at least one; it starts with the first.
    pub rates: Vec<BitRate>,
    /// Time between two frames.
    pub frame: Duration,
    /// The most bytes of a packet on the wire.
    pub packet_bytes: u32,
    /// When it starts.
    pub start: Instant,
    /// From when on it sends nothing more.
    pub stop: Instant,
    /// Time between two reports.
    pub report: Duration,
    /// Size of a report on the wire, in bytes.
    pub report_bytes: u32,
    /// A wait of this length is as bad as losses.
    pub delay_limit: Duration,
    /// How long all is well before it goes a rate up.
    pub hold: Duration,
    /// The longest way of a packet that is of use, from its sending to its arrival.
    pub deadline: Duration,
}

impl MediaConfig {
    /// From the beginning and without end: 25 frames a second in packets of 1200 bytes, a report of 80
    /// bytes every 100 ms, a rate up after 2 s without more than 50 ms of wait, a deadline of 400 ms
    /// (ITU-T G.114 has no longer way for conversation).
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

/// What a receiver reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaReport {
    /// Packets that came so far.
    pub received: u64,
    /// Packets sent so far, as far as the receiver can know: the highest number seen, and one.
    pub expected: u64,
    /// The longest wait of a packet since the last report, beyond the least time on the way.
    pub waited: Duration,
}

/// The sending half; sans-I/O.
#[derive(Clone, Debug)]
pub(crate) struct MediaSender {
    config: MediaConfig,
    /// Which of the rates it has.
    step: usize,
    next_frame: Instant,
    /// What the frames so far left over, in bits · 10⁻⁹.
    carry: u128,
    sent: u64,
    last: MediaReport,
    /// When the last report came, or was missed.
    heard: Instant,
    /// Since when all is well at this rate.
    well_since: Instant,
}

const BITS_PER_BYTE_NANOS: u128 = 8_000_000_000;

/// Reports that do not come before it is taken for a loss.
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

    /// When the next frame is due; `None` if there is none.
    pub(crate) fn next_frame(&self) -> Option<Instant> {
        (self.next_frame < self.config.stop).then_some(self.next_frame)
    }

    /// A frame is due: its size in bytes.
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

    /// The number of the next packet, from 0.
    pub(crate) fn number(&mut self) -> u64 {
        self.sent += 1;
        self.sent - 1
    }

    /// A report has come. One that an earlier one says more than says nothing.
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

/// The receiving half; sans-I/O.
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

    /// Packet `number` has come, `way` after it was sent.
    pub(crate) fn take(&mut self, now: Instant, number: u64, way: Duration) {
        let least = self.least.map_or(way, |least| least.min(way));
        self.least = Some(least);
        self.report.received += 1;
        self.report.expected = self.report.expected.max(number + 1);
        self.report.waited = self.report.waited.max(way.saturating_sub(least));
        self.next_report.get_or_insert(now + self.every);
    }

    /// When it reports next.
    pub(crate) const fn next_report(&self) -> Option<Instant> {
        self.next_report
    }

    /// The report that is due. The next one is not before something has come.
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
    fn frames_have_the_rate_to_the_byte() {
        // 150 kbit/s at 30 frames a second: 625 bytes, of a frame of 33333333 ns 624.99.
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
    fn the_rate_goes_up_after_a_while_and_down_at_once() {
        let mut sender = sender();
        sender.hear(at(1999), &report(10, 10, 0));
        assert_eq!(sender.step, 0);
        sender.hear(at(2000), &report(20, 20, 50));
        assert_eq!(sender.step, 1);
        // 51 ms are no reason to go down, but the time begins anew.
        sender.hear(at(3900), &report(30, 30, 51));
        sender.hear(at(4100), &report(40, 40, 0));
        assert_eq!(sender.step, 1);
        sender.hear(at(5900), &report(50, 50, 0));
        assert_eq!(sender.step, 2);
        sender.hear(at(9000), &report(60, 60, 0));
        assert_eq!(sender.step, 2, "there is no more");
        sender.hear(at(9100), &report(70, 70, 101));
        assert_eq!(sender.step, 1);
        // One of ten is not more than 10 %, two are.
        sender.hear(at(9200), &report(79, 80, 0));
        assert_eq!(sender.step, 1);
        sender.hear(at(9300), &report(87, 90, 0));
        assert_eq!(sender.step, 0);
    }

    #[test]
    fn a_report_that_is_overtaken_says_nothing() {
        let mut sender = sender();
        sender.hear(at(3000), &report(20, 20, 0));
        assert_eq!(sender.step, 1);
        sender.hear(at(3001), &report(5, 19, 500));
        assert_eq!(sender.step, 1);
    }

    #[test]
    fn silence_is_as_bad_as_losses() {
        let mut sender = sender();
        sender.hear(at(2000), &report(1, 1, 0));
        let size = |sender: &mut MediaSender, millis| sender.frame(at(millis));
        assert_eq!(size(&mut sender, 2399), 2500);
        assert_eq!(size(&mut sender, 2400), 750);
        assert_eq!(sender.next_frame(), Some(at(2440)));
    }

    #[test]
    fn a_receiver_reports_what_came_and_the_longest_wait_since() {
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
