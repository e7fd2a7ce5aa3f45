//! Times at which the application wrote, as far as the pauses of the sender show them.
//!
//! If a sender has no outstanding data and an open window, and sends nothing, it has no data to send. The data that it
//! sends next was written at the time of departure. Writes while earlier data is in flight are not visible.
//!
//! If the other endpoint sends data while no data is outstanding, the next data is the response, regardless of the time
//! between them.

use dupack_tcp::time::{Duration, Instant};

/// Minimum length of a pause (our choice): hosts cause shorter pauses.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// Maximum number of writes stored (our choice). Later writes are added to the last one.
const WRITES: usize = 4096;

/// Write of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Time since the first write.
    pub at: Duration,
    /// Time since all earlier data had been acknowledged.
    pub after: Duration,
    /// Size in bytes.
    pub bytes: u64,
    /// Event that preceded the write.
    pub cause: WriteCause,
    /// Duration of a response to a request: the time from the first segment of the response to the arrival of its last
    /// byte, as in the table of requests, without the delay of the ACK. `None` for other writes.
    pub answered_in: Option<Duration>,
}

/// Event that preceded a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteCause {
    /// A pause of the sender.
    Pause,
    /// Data from the other endpoint, to which the write is the response.
    Request,
}

/// Regularity of the application's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// The writes follow a clock, regardless of arrivals.
    Clock,
    /// The writes follow arrivals: each write is made a certain time after all earlier data was acknowledged, as a
    /// response follows a request.
    Answers,
}

/// Writes of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Writes {
    writes: Vec<Write>,
    begin: Option<Instant>,
    /// Time since which no data has been outstanding.
    idle_since: Option<Instant>,
    /// Estimated time at which the receiver had all data. A receiver may delay its ACK until it sends the next request.
    /// Therefore, this time is at most the last departure plus the minimum round-trip time.
    arrived: Option<Instant>,
    /// Time of the last departure, regardless of whether it carried new data.
    left: Option<Instant>,
    /// `true` if the other endpoint has sent data since all data was acknowledged.
    asked: bool,
    end: u64,
}

impl Writes {
    /// Records the departure of bytes up to `end`.
    pub(super) fn departed(&mut self, at: Instant, end: u64) {
        self.left = Some(at);
        let bytes = end.saturating_sub(self.end);
        if bytes == 0 {
            return;
        }
        self.end = end;
        let begin = *self.begin.get_or_insert(at);
        let asked = std::mem::take(&mut self.asked);
        let (idle, arrived) = (self.idle_since.take(), self.arrived.take());
        let since = if asked { arrived } else { idle };
        let pause = since.map(|since| at.since(since)).unwrap_or_default();
        let room = self.writes.len() < WRITES;
        match self.writes.last_mut() {
            Some(last) if (pause < PAUSE_MIN && !asked) || !room => {
                last.bytes = last.bytes.saturating_add(bytes);
            }
            _ => self.writes.push(Write {
                at: at.since(begin),
                after: pause,
                bytes,
                cause: match asked {
                    true => WriteCause::Request,
                    false => WriteCause::Pause,
                },
                answered_in: None,
            }),
        }
    }

    /// Records that everything was acknowledged at `at`, with an open window. `least` is the minimum round-trip time;
    /// `None` if unknown.
    pub(super) fn idle(&mut self, at: Instant, least: Option<Duration>) {
        self.idle_since.get_or_insert(at);
        let soonest = self.left.zip(least).map(|(left, least)| left + least);
        self.arrived.get_or_insert(soonest.unwrap_or(at).min(at));
    }

    /// Records the end of a response of `bytes` bytes that was sent from `from` on and had arrived completely at
    /// `over`.
    pub(super) fn answered(&mut self, bytes: u64, from: Instant, over: Instant) {
        let Some(begin) = self.begin else { return };
        let at = from.since(begin);
        // The next response may have begun, so the last two writes are searched.
        let mut latest = self.writes.iter_mut().rev().take(2);
        // A write with more bytes consists of several responses.
        if let Some(write) = latest.find(|write| write.at == at && write.bytes <= bytes) {
            write.answered_in = Some(over.since(from));
        }
    }

    /// Records data from the other endpoint that arrived when everything was acknowledged.
    pub(super) fn asked(&mut self) {
        self.asked = true;
    }

    pub(super) fn kept(&self) -> &[Write] {
        &self.writes
    }
}

/// Returns the regularity of these writes: [`Rhythm::Answers`] if most of them follow a request or if there are too few
/// writes; otherwise, the variant with the more regular intervals.
#[must_use]
pub fn rhythm(writes: &[Write]) -> Rhythm {
    /// Minimum number of intervals to determine their regularity (our choice).
    const PAUSES_MIN: usize = 4;
    if are_answers(writes) {
        return Rhythm::Answers;
    }
    let starts: Vec<f64> = writes.windows(2).filter_map(interval).collect();
    let pauses = writes.iter().skip(1).map(|write| write.after.as_secs_f64());
    let pauses: Vec<f64> = pauses.collect();
    match (variation(&starts), variation(&pauses)) {
        (Some(clock), Some(answers)) if starts.len() >= PAUSES_MIN && clock < answers => {
            Rhythm::Clock
        }
        _ => Rhythm::Answers,
    }
}

/// `true` if most of these writes are responses to a request.
#[must_use]
pub fn are_answers(writes: &[Write]) -> bool {
    let later = writes.iter().skip(1);
    let asked = later.filter(|write| write.cause == WriteCause::Request);
    asked.count() * 2 > writes.len().saturating_sub(1)
}

fn interval(pair: &[Write]) -> Option<f64> {
    match pair {
        [one, next] => Some(next.at.saturating_sub(one.at).as_secs_f64()),
        _ => None,
    }
}

/// Returns the interquartile range of `values` as a fraction of their median. It is not affected by outliers.
fn variation(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |q: usize| sorted.get(sorted.len() * q / 4).copied();
    let (low, median, high) = (at(1)?, at(2)?, at(3)?);
    (median > 0.0).then(|| (high - low) / median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_pause_with_nothing_outstanding_begins_a_write() {
        let mut writes = Writes::default();
        let at = |millis| Instant::ZERO + ms(millis);
        writes.departed(at(10), 1000);
        writes.departed(at(11), 2000);
        writes.idle(at(50), None);
        // The next segment follows at once, so the host delayed it and this is no pause.
        writes.departed(at(52), 3000);
        writes.idle(at(90), None);
        writes.departed(at(200), 5000);
        let kept = writes.kept();
        assert_eq!(kept.len(), 2);
        assert_eq!((kept[0].at, kept[0].bytes), (ms(0), 3000));
        let second = kept[1];
        assert_eq!(
            (second.at, second.after, second.bytes),
            (ms(190), ms(110), 2000)
        );
    }

    #[test]
    fn a_response_is_a_write_however_soon_it_comes() {
        let mut writes = Writes::default();
        let at = |millis| Instant::ZERO + ms(millis);
        writes.departed(at(10), 1000);
        writes.idle(at(50), None);
        writes.asked();
        writes.departed(at(51), 2000);
        writes.departed(at(52), 3000);
        let kept = writes.kept();
        assert_eq!(kept.len(), 2);
        assert_eq!((kept[1].after, kept[1].bytes), (ms(1), 2000));
        assert_eq!(kept[1].cause, WriteCause::Request);
        // The ACK was delayed until the next request, which the client sent after a pause.
        writes.idle(at(130), Some(ms(30)));
        writes.asked();
        writes.departed(at(132), 4000);
        assert_eq!(writes.kept()[2].after, ms(50));
        // Writes that follow requests count as responses even if the requests come at regular intervals.
        let write = |n: u64| Write {
            at: ms(n * 1000),
            after: ms(100 + 37 * (n % 3)),
            bytes: 1000,
            cause: WriteCause::Request,
            answered_in: None,
        };
        let all: Vec<Write> = (0..10).map(write).collect();
        assert_eq!(rhythm(&all), Rhythm::Answers);
    }

    #[test]
    fn the_table_of_requests_determines_the_end_of_a_response() {
        let mut writes = Writes::default();
        let at = |millis| Instant::ZERO + ms(millis);
        writes.departed(at(10), 1000);
        writes.idle(at(50), None);
        writes.asked();
        writes.departed(at(500), 2000);
        // The first response ends when the second one begins, because its ACK was delayed.
        writes.answered(1000, at(10), at(11));
        // A response without a write has no effect.
        writes.answered(1000, at(12), at(400));
        let answered = |n: usize| writes.kept()[n].answered_in;
        assert_eq!((answered(0), answered(1)), (Some(ms(1)), None));
        // Two responses that appear as a single write match no write.
        writes.idle(at(540), None);
        writes.departed(at(542), 3000);
        writes.answered(1000, at(500), at(501));
        assert_eq!(writes.kept().len(), 2);
        assert_eq!(writes.kept()[1].answered_in, None);
    }

    #[test]
    fn the_more_regular_intervals_determine_the_rhythm() {
        let write = |at, after| Write {
            at: ms(at),
            after: ms(after),
            bytes: 1000,
            cause: WriteCause::Pause,
            answered_in: None,
        };
        let clock = [
            write(0, 0),
            write(1000, 900),
            write(2000, 700),
            write(3000, 800),
            write(4000, 950),
        ];
        assert_eq!(rhythm(&clock), Rhythm::Clock);
        let answers = [
            write(0, 0),
            write(300, 100),
            write(900, 100),
            write(1100, 100),
            write(1900, 100),
        ];
        assert_eq!(rhythm(&answers), Rhythm::Answers);
        assert_eq!(rhythm(&clock[..2]), Rhythm::Answers);
    }
}
