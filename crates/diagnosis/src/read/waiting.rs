//! ACKs in transit from the capture point to the sender.
//!
//! If a capture was not taken at the sender, an ACK is captured before the sender receives it, and a segment is
//! captured after it was sent. The sum of both offsets is one delay: the round-trip time between the capture point and
//! the sender. Every event is reported at the time at which a segment sent in response to it would be captured.
//! Therefore, an ACK captured at *t* takes effect at *t* + delay, between the segments that were sent before it arrived
//! and those that were sent after.
//!
//! The delay has a minimum, which the handshake shows, and increases with queues along the path. Timestamps show it
//! precisely (RFC 7323 §4.3): a segment echoes the TSval of the last ACK that its sender has processed. A segment that
//! echoes *v* was sent after the first ACK with *v* arrived, and before any ACK with a later value arrived. These are
//! two bounds of the delay, which differ by a few ACKs. Without timestamps, the minimum of the delay is used.

use std::collections::VecDeque;

use dupack_tcp::connection::Timestamps;
use dupack_tcp::segment::Ack;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::read::packet::is_after;

/// Maximum number of ACKs held at once: those of a window of 16,384 segments, with one ACK for every two segments (our
/// choice; this is 160 Mbit/s times 600 ms, or 10 Gbit/s times 10 ms).
const WAITING_MAX: usize = 8192;

/// Maximum waiting time of an ACK, as a multiple of the maximum delay so far: a queue along the path may have grown
/// (our choice).
const GROWTH_MAX: u64 = 4;
/// Minimum time for which any ACK may wait (our choice). The echo may stay unchanged for some time if data of the other
/// direction was lost, because out-of-order data is not echoed (RFC 7323 §4.3 (2)).
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum delay: no known queue delays packets longer (the maximum timeout of RFC 6298 is 60 s).
const DELAY_MAX: Duration = Duration::from_secs(60);

/// ACK in the form that the stream processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Capture time.
    pub(crate) captured: Instant,
    /// Packet number in the capture.
    pub(crate) packet: u64,
    /// ACK, as the sender processes it.
    pub(crate) ack: Ack,
    /// Timestamps.
    pub(crate) timestamps: Option<Timestamps>,
    /// Window that the ACK grants, in bytes; `None` if the window scale is unknown.
    pub(crate) window: Option<u64>,
    /// Window field before scaling; `None` if the capture lacks it.
    pub(crate) field: Option<u16>,
    /// Number of data bytes in the packet.
    pub(crate) len: u32,
}

/// ACKs that the sender has not received, in capture order.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    queue: VecDeque<Heard>,
    /// Round-trip time between the capture point and the sender: the minimum, the current value, and the maximum.
    least: Duration,
    delay: Duration,
    most: Duration,
    /// Latest TSecr from the sender, and the capture time of the last packet with one.
    echoed: Option<u32>,
    learned_at: Option<Instant>,
    /// TSval of the last released ACK.
    gone: Option<u32>,
    /// Number of ACKs released early because too many were held.
    crowded_out: u64,
}

impl Waiting {
    /// Sets the minimum delay when it becomes known or when it changes.
    pub(crate) fn set_least(&mut self, least: Duration) {
        if least == self.least {
            return;
        }
        self.least = least;
        self.delay = if self.echoed.is_none() || least.is_zero() {
            least
        } else {
            self.delay.max(least)
        };
        self.most = self.most.max(self.delay);
    }

    /// Returns the current delay.
    pub(crate) const fn delay(&self) -> Duration {
        self.delay
    }

    /// Returns `true` if ACKs take effect when they are captured.
    pub(crate) const fn is_at_sender(&self) -> bool {
        self.delay.is_zero()
    }

    /// Returns the number of ACKs held.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Adds a captured ACK. If there are too many, the first one is removed and returned.
    pub(crate) fn push(&mut self, heard: Heard) -> Option<Heard> {
        let first = if self.queue.len() >= WAITING_MAX {
            self.crowded_out += 1;
            self.let_go()
        } else {
            None
        };
        self.queue.push_back(heard);
        first
    }

    /// Updates the delay with a packet of the sender that was captured at `now` and echoes `echo`.
    pub(crate) fn learn(&mut self, now: Instant, echo: Option<u32>) {
        let Some(echo) = echo else { return };
        if self.echoed.is_some_and(|known| is_after(known, echo)) {
            // A later packet has overtaken this packet.
            return;
        }
        let before = self.learned_at.replace(now);
        if self.echoed.replace(echo) != Some(echo) {
            self.bound(now, echo, before);
        }
    }

    /// Updates the bounds of the delay. The sender has just received the first ACK with the value `echo`, and had not
    /// received it when its previous packet was captured at `before`. ACKs that no packet echoes do not count, because
    /// they may have been lost.
    fn bound(&mut self, now: Instant, echo: u32, before: Option<Instant>) {
        let mut upper = None;
        let mut lower = Duration::ZERO;
        for waiting in &self.queue {
            let Some(stamps) = waiting.timestamps else {
                break;
            };
            if is_after(stamps.value, echo) {
                lower = lower.max(now.since(waiting.captured));
                break;
            }
            if upper.is_none() && stamps.value == echo {
                upper = Some(now.since(waiting.captured));
                lower = before.map_or(lower, |before| before.since(waiting.captured));
            }
        }
        let Some(upper) = upper else { return };
        if lower <= upper {
            self.delay = self.delay.max(lower).min(upper.max(self.least));
        }
        self.delay = self.delay.min(DELAY_MAX);
        self.most = self.most.max(self.delay);
    }

    /// Returns the maximum time for which an ACK waits for a segment that echoes it.
    fn patience(&self) -> Duration {
        (self.most * GROWTH_MAX).max(PATIENCE).min(DELAY_MAX)
    }

    /// Returns the next ACK that the sender has received when its packet is captured at `now`, and the time at which
    /// this ACK takes effect.
    pub(crate) fn next_before(&mut self, now: Instant) -> Option<(Heard, Instant)> {
        let front = self.queue.front()?;
        let due = front.captured + self.delay;
        let goes = match (front.timestamps, self.echoed) {
            (Some(stamps), Some(echoed)) => {
                if is_after(stamps.value, echoed) {
                    now.since(front.captured) > self.patience()
                } else {
                    // If several ACKs have the same value, only the first of them is known to have arrived.
                    let first = self.gone != Some(stamps.value);
                    stamps.value != echoed || first || due <= now
                }
            }
            _ => due <= now,
        };
        let heard = if goes { self.let_go() } else { None };
        heard.map(|heard| (heard, due.min(now)))
    }

    /// Returns the next ACK and its arrival time if the last ACK held acknowledges everything that was sent and is due
    /// at `now`. In this case, the sender has sent nothing since.
    pub(crate) fn next_before_silence(
        &mut self,
        now: Instant,
        of_all: impl Fn(SeqNumber) -> bool,
    ) -> Option<(Heard, Instant)> {
        let last = self.queue.back()?;
        if last.captured + self.delay > now || !of_all(last.ack.ack) {
            return None;
        }
        self.next_at_end()
    }

    /// Returns the next ACK that has exceeded the maximum waiting time at `now`, and the time at which it takes effect.
    pub(crate) fn next_overdue(&mut self, now: Instant) -> Option<(Heard, Instant)> {
        let front = self.queue.front()?;
        if now.since(front.captured) <= self.patience() {
            return None;
        }
        let due = front.captured + self.delay;
        self.let_go().map(|heard| (heard, due.min(now)))
    }

    /// Returns the next ACK and its expected arrival time, if no more packets of the sender follow.
    pub(crate) fn next_at_end(&mut self) -> Option<(Heard, Instant)> {
        let heard = self.let_go()?;
        Some((heard, heard.captured + self.delay))
    }

    fn let_go(&mut self) -> Option<Heard> {
        let heard = self.queue.pop_front()?;
        if let Some(stamps) = heard.timestamps {
            self.gone = Some(stamps.value);
        }
        if self.queue.is_empty() && self.queue.capacity() > WAITING_MAX / 8 {
            self.queue.shrink_to(WAITING_MAX / 8);
        }
        Some(heard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::ms;

    /// Returns an ACK captured at `at` (in ms) with the TSval `value`.
    fn heard(at: f64, value: Option<u32>) -> Heard {
        Heard {
            captured: ms(at),
            packet: 0,
            ack: Ack {
                ack: SeqNumber(0),
                ..Ack::default()
            },
            timestamps: value.map(|value| Timestamps { value, echo: 0 }),
            field: None,
            len: 0,
            window: None,
        }
    }

    fn waiting(least_ms: u64, acks: &[(f64, Option<u32>)]) -> Waiting {
        let mut waiting = Waiting::default();
        waiting.set_least(Duration::from_millis(least_ms));
        for &(at, value) in acks {
            assert_eq!(waiting.push(heard(at, value)), None);
        }
        waiting
    }

    /// Processes a segment captured at `now` (in ms) that echoes `echo`. Returns the times, in ms, at which the ACKs
    /// that the sender has received take effect.
    fn arrivals(waiting: &mut Waiting, now: f64, echo: Option<u32>) -> Vec<f64> {
        waiting.learn(ms(now), echo);
        let next = || waiting.next_before(ms(now));
        std::iter::from_fn(next)
            .map(|(_, at)| at.as_secs_f64() * 1e3)
            .collect()
    }

    #[test]
    fn without_timestamps_an_ack_takes_the_minimum_delay() {
        let mut queue = waiting(50, &[(0.0, None), (10.0, None), (20.0, None)]);
        assert!(arrivals(&mut queue, 49.0, None).is_empty());
        assert_eq!(arrivals(&mut queue, 65.0, None), [50.0, 60.0]);
        assert_eq!(queue.next_at_end().map(|(_, at)| at), Some(ms(70.0)));
    }

    #[test]
    fn an_echo_shows_which_acks_have_arrived() {
        let acks = [(0.0, Some(1)), (10.0, Some(2)), (20.0, Some(3))];
        let mut queue = waiting(50, &acks);
        // A queue delayed the segment, which was sent after the first ACK arrived and before the second one.
        assert_eq!(arrivals(&mut queue, 90.0, Some(1)), [80.0]);
        // The delay is at least 80 ms, because the second ACK had not arrived, and at most 90 ms, because the first one
        // had.
        assert_eq!(queue.delay(), Duration::from_millis(80));
        // The second ACK arrived earlier than expected, as the echo shows.
        assert_eq!(arrivals(&mut queue, 95.0, Some(3)), [85.0, 95.0]);
        assert_eq!(queue.delay(), Duration::from_millis(75));
    }

    #[test]
    fn of_acks_with_one_value_only_the_first_certainly_arrived() {
        let acks = [
            (0.0, Some(1)),
            (0.2, Some(1)),
            (0.4, Some(1)),
            (5.0, Some(6)),
        ];
        let mut queue = waiting(50, &acks);
        // At this time, the delay is at most 50.3 ms, so two ACKs have certainly arrived.
        let first = arrivals(&mut queue, 50.3, Some(1));
        assert_eq!(first, [50.0, 50.2]);
        assert_eq!(arrivals(&mut queue, 50.5, Some(1)), [50.4]);
        assert!(arrivals(&mut queue, 60.0, Some(1)).is_empty());
    }

    #[test]
    fn acks_do_not_wait_forever_for_an_echo() {
        let mut queue = waiting(50, &[(0.0, Some(1)), (10.0, Some(2))]);
        assert_eq!(arrivals(&mut queue, 50.0, Some(1)), [50.0]);
        assert!(arrivals(&mut queue, 1000.0, Some(1)).is_empty());
        // After more than a second without evidence, the ACK takes effect as late as possible.
        assert_eq!(arrivals(&mut queue, 9000.0, Some(1)).len(), 1);
        assert!(queue.next_overdue(ms(9000.0)).is_none());
    }

    #[test]
    fn a_lost_ack_does_not_lengthen_the_delay() {
        // The third of four ACKs is lost. The sender writes every 150 ms.
        let acks = [
            (0.0, Some(1)),
            (150.0, Some(151)),
            (300.0, Some(301)),
            (450.0, Some(451)),
        ];
        let mut queue = waiting(30, &acks);
        assert_eq!(arrivals(&mut queue, 145.0, Some(1)), [30.0]);
        assert_eq!(arrivals(&mut queue, 295.0, Some(151)), [180.0]);
        // If the third ACK had not been lost, it would have arrived before this segment, which still echoes the second
        // ACK.
        assert!(arrivals(&mut queue, 445.0, Some(151)).is_empty());
        assert_eq!(arrivals(&mut queue, 595.0, Some(451)), [330.0, 480.0]);
        assert_eq!(queue.delay(), Duration::from_millis(30));
    }

    #[test]
    fn an_overtaken_segment_is_ignored() {
        let acks = [(0.0, Some(1)), (10.0, Some(2)), (20.0, Some(3))];
        let mut queue = waiting(50, &acks);
        assert_eq!(arrivals(&mut queue, 60.0, Some(2)).len(), 2);
        assert!(arrivals(&mut queue, 69.0, Some(1)).is_empty());
        assert_eq!(queue.delay(), Duration::from_millis(50));
    }

    #[test]
    fn the_number_of_held_acks_is_bounded() {
        let mut queue = waiting(50, &[]);
        let mut out = 0;
        for n in 0..2 * WAITING_MAX {
            out += usize::from(queue.push(heard(n as f64, None)).is_some());
        }
        assert_eq!((out, queue.len()), (WAITING_MAX, WAITING_MAX));
        assert_eq!(queue.crowded_out, WAITING_MAX as u64);
    }
}
