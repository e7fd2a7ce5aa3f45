//! ACKs on their way from where the capture was taken to the sender.
//!
//! Where a capture was not taken at the sender, an ACK is seen before the sender has it, and a segment after
//! it left. Both together are one delay: the time from there to the sender and back. Everything is told at
//! the time at which a segment that answers it would be seen; so that an ACK captured at *t* counts at
//! *t* + delay, between segments that left before it came and those that left after.
//!
//! The delay has a least value, which the handshake tells, and grows with queues on the way. Timestamps tell
//! it exactly (RFC 7323 §4.3): a segment echoes the TSval of the last ACK that its sender has taken in. One
//! that echoes *v* left after the first ACK with *v* had come, and before any with a later value; these
//! are two bounds on the delay, a few ACKs apart. Without timestamps it is the least value.

use std::collections::VecDeque;

use dupack_tcp::connection::Timestamps;
use dupack_tcp::segment::Ack;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::read::packet::is_after;

/// Most ACKs that wait at once: those of a window of 16,384 segments, at one for each two
/// (ours; 160 Mbit/s times 600 ms, or 10 Gbit/s times 10 ms).
const WAITING_MAX: usize = 8192;

/// An ACK waits no longer than so many times the longest delay that was seen, for a queue on the way may
/// have grown (ours) ...
const GROWTH_MAX: u64 = 4;
/// ... or for so long in any case (ours): the echo may stand still for a while, where data of the other
/// direction was lost, as out of order nothing is echoed (RFC 7323 §4.3 (2)).
const PATIENCE: Duration = Duration::from_secs(1);
/// No queue of ours, or of anybody's whom we know of, delays longer (RFC 6298's greatest
/// timeout is 60 s).
const DELAY_MAX: Duration = Duration::from_secs(60);

/// An ACK as the stream takes it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// When it was captured.
    pub(crate) captured: Instant,
    /// Its number in the capture.
    pub(crate) packet: u64,
    /// What it says.
    pub(crate) ack: Ack,
    /// Its timestamps.
    pub(crate) timestamps: Option<Timestamps>,
    /// The window that it grants, if its scale is known.
    pub(crate) window: Option<u64>,
    /// The window field as it stands, if it was not cut off.
    pub(crate) field: Option<u16>,
    /// Bytes of data that the packet carries.
    pub(crate) len: u32,
}

/// The ACKs that the sender does not have yet, in the order of the capture.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    queue: VecDeque<Heard>,
    /// From the capture to the sender and back: the least value, that now, and the most.
    least: Duration,
    delay: Duration,
    most: Duration,
    /// The latest TSecr that the sender has sent, and when the last packet with one was seen.
    echoed: Option<u32>,
    learned_at: Option<Instant>,
    /// The TSval of the last ACK that was let go.
    gone: Option<u32>,
    /// Those that had to go early, as too many waited.
    crowded_out: u64,
}

impl Waiting {
    /// The least delay is known, or is known better.
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

    /// The delay as it is now.
    pub(crate) const fn delay(&self) -> Duration {
        self.delay
    }

    /// Whether ACKs count when they are captured.
    pub(crate) const fn is_at_sender(&self) -> bool {
        self.delay.is_zero()
    }

    /// ACKs that wait.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// An ACK was captured. If there are too many, the first goes at once.
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

    /// A packet of the sender's was seen at `now` that echoes `echo`: learns from it how long the way is.
    pub(crate) fn learn(&mut self, now: Instant, echo: Option<u32>) {
        let Some(echo) = echo else { return };
        if self.echoed.is_some_and(|known| is_after(known, echo)) {
            // It was overtaken by a later one.
            return;
        }
        let before = self.learned_at.replace(now);
        if self.echoed.replace(echo) != Some(echo) {
            self.bound(now, echo, before);
        }
    }

    /// The sender has just had the first ACK with this value, and had not when its packet before was seen.
    /// An ACK that is echoed by none may have been lost, so that only what is echoed tells.
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

    /// How long an ACK may wait for a segment that echoes it.
    fn patience(&self) -> Duration {
        (self.most * GROWTH_MAX).max(PATIENCE).min(DELAY_MAX)
    }

    /// The next ACK that the sender has had when a packet of its own is seen at `now`, and the time at which it
    /// counts.
    pub(crate) fn next_before(&mut self, now: Instant) -> Option<(Heard, Instant)> {
        let front = self.queue.front()?;
        let due = front.captured + self.delay;
        let goes = match (front.timestamps, self.echoed) {
            (Some(stamps), Some(echoed)) => {
                if is_after(stamps.value, echoed) {
                    now.since(front.captured) > self.patience()
                } else {
                    // Of several with one value, only the first is known to have come.
                    let first = self.gone != Some(stamps.value);
                    stamps.value != echoed || first || due <= now
                }
            }
            _ => due <= now,
        };
        let heard = if goes { self.let_go() } else { None };
        heard.map(|heard| (heard, due.min(now)))
    }

    /// The next ACK, and when it came, if the sender is silent since the last that waits, which is of all that was sent, and is due at
    /// `now`.
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

    /// The next ACK that has waited for longer than any does, at `now`.
    pub(crate) fn next_overdue(&mut self, now: Instant) -> Option<(Heard, Instant)> {
        let front = self.queue.front()?;
        if now.since(front.captured) <= self.patience() {
            return None;
        }
        let due = front.captured + self.delay;
        self.let_go().map(|heard| (heard, due.min(now)))
    }

    /// The next ACK, and when it would have come: nothing more of the sender's is to be seen.
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

    /// An ACK captured at `at` ms, with this TSval.
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

    /// A segment of the sender's at `now` that echoes `echo`: when the ACKs count that it has had, in ms.
    fn arrivals(waiting: &mut Waiting, now: f64, echo: Option<u32>) -> Vec<f64> {
        waiting.learn(ms(now), echo);
        let next = || waiting.next_before(ms(now));
        std::iter::from_fn(next)
            .map(|(_, at)| at.as_secs_f64() * 1e3)
            .collect()
    }

    #[test]
    fn without_timestamps_an_ack_takes_the_least_time() {
        let mut queue = waiting(50, &[(0.0, None), (10.0, None), (20.0, None)]);
        assert!(arrivals(&mut queue, 49.0, None).is_empty());
        assert_eq!(arrivals(&mut queue, 65.0, None), [50.0, 60.0]);
        assert_eq!(queue.next_at_end().map(|(_, at)| at), Some(ms(70.0)));
    }

    #[test]
    fn an_echo_shows_which_acks_have_come_and_which_have_not() {
        let acks = [(0.0, Some(1)), (10.0, Some(2)), (20.0, Some(3))];
        let mut queue = waiting(50, &acks);
        // A queue has delayed the segment: it left after the first ACK came, and before the second.
        assert_eq!(arrivals(&mut queue, 90.0, Some(1)), [80.0]);
        // The delay is between 80 ms, for the second had not come, and 90, for the first had.
        assert_eq!(queue.delay(), Duration::from_millis(80));
        // Sooner than it seemed: what the echo shows counts.
        assert_eq!(arrivals(&mut queue, 95.0, Some(3)), [85.0, 95.0]);
        assert_eq!(queue.delay(), Duration::from_millis(75));
    }

    #[test]
    fn of_acks_with_one_value_the_first_has_come_and_the_others_go_by_time() {
        let acks = [
            (0.0, Some(1)),
            (0.2, Some(1)),
            (0.4, Some(1)),
            (5.0, Some(6)),
        ];
        let mut queue = waiting(50, &acks);
        // By now a delay of 50.3 ms at the most has been seen, so that of two ACKs it is sure that they came.
        let first = arrivals(&mut queue, 50.3, Some(1));
        assert_eq!(first, [50.0, 50.2]);
        assert_eq!(arrivals(&mut queue, 50.5, Some(1)), [50.4]);
        assert!(arrivals(&mut queue, 60.0, Some(1)).is_empty());
    }

    #[test]
    fn an_echo_that_stands_still_is_not_waited_for_for_ever() {
        let mut queue = waiting(50, &[(0.0, Some(1)), (10.0, Some(2))]);
        assert_eq!(arrivals(&mut queue, 50.0, Some(1)), [50.0]);
        assert!(arrivals(&mut queue, 1000.0, Some(1)).is_empty());
        // More than a second, and no sign of it: it counts as late as it can have.
        assert_eq!(arrivals(&mut queue, 9000.0, Some(1)).len(), 1);
        assert!(queue.next_overdue(ms(9000.0)).is_none());
    }

    #[test]
    fn an_ack_that_was_lost_makes_the_way_no_longer() {
        // Of four ACKs the third is lost; the sender writes every 150 ms.
        let acks = [
            (0.0, Some(1)),
            (150.0, Some(151)),
            (300.0, Some(301)),
            (450.0, Some(451)),
        ];
        let mut queue = waiting(30, &acks);
        assert_eq!(arrivals(&mut queue, 145.0, Some(1)), [30.0]);
        assert_eq!(arrivals(&mut queue, 295.0, Some(151)), [180.0]);
        // The third would have been heard, and another counts.
        assert!(arrivals(&mut queue, 445.0, Some(151)).is_empty());
        assert_eq!(arrivals(&mut queue, 595.0, Some(451)), [330.0, 480.0]);
        assert_eq!(queue.delay(), Duration::from_millis(30));
    }

    #[test]
    fn a_segment_that_was_overtaken_tells_nothing() {
        let acks = [(0.0, Some(1)), (10.0, Some(2)), (20.0, Some(3))];
        let mut queue = waiting(50, &acks);
        assert_eq!(arrivals(&mut queue, 60.0, Some(2)).len(), 2);
        assert!(arrivals(&mut queue, 69.0, Some(1)).is_empty());
        assert_eq!(queue.delay(), Duration::from_millis(50));
    }

    #[test]
    fn the_number_that_waits_is_bounded() {
        let mut queue = waiting(50, &[]);
        let mut out = 0;
        for n in 0..2 * WAITING_MAX {
            out += usize::from(queue.push(heard(n as f64, None)).is_some());
        }
        assert_eq!((out, queue.len()), (WAITING_MAX, WAITING_MAX));
        assert_eq!(queue.crowded_out, WAITING_MAX as u64);
    }
}
