//! Time of a stream, divided among its limits.

use dupack_tcp::time::{Duration, Instant};

use super::AckTimes;
use super::limit::{Group, Limit};
use super::quiet::{Look, Settled};
use super::span::{Flights, Kind, Level, Span};
use crate::analyse::cause::Retransmission;

/// Minimum fraction of the bottleneck's rate that an interval must have moved for the bottleneck to be its limit. Our
/// choice: the rate is known to about 5 %, and the bytes of a round are known to one segment.
const BUSY_SHARE: f64 = 0.9;

/// Minimum fraction of the queue's capacity that must be occupied throughout an interval for the queue to count as
/// overflowing even without a loss. Our choice.
const FULL_SHARE: (u64, u64) = (9, 10);

/// Minimum fraction of the queue's capacity that must be occupied at a loss for the queue to have caused the loss. Our
/// choice: even if the samples of a round miss the maximum delay, they exceed this fraction when the queue overflows.
const LOSS_SHARE: (u64, u64) = (1, 2);

/// Minimum number of rounds with the same flight, before the first loss, that indicate another limit than the
/// congestion window. A congestion window that is in use grows by at least half a segment per round (Reno, and CUBIC's
/// lower bound, RFC 9438 §4.3).
const FLAT_ROUNDS: u32 = 8;

/// Minimum number of rounds with the same flight after a loss: CUBIC's window stays near its previous maximum for one
/// or two seconds.
const FLAT_ROUNDS_AFTER_LOSS: u32 = 64;

/// Minimum number of rounds, and maximum growth of the flight over these rounds in segments, for a limit other than the
/// congestion window. A congestion window that is in use grows by 8 segments in 16 rounds (half a segment per round,
/// see [`FLAT_ROUNDS`]). Our choice.
const GREATEST_ROUNDS: u32 = 16;
const GREATEST_SEGMENTS: u64 = 2;

/// Facts about the path that are known at the end of the stream. An unknown fact is `None` and is not used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathFacts {
    /// Minimum round-trip time. If it is `None`, the minimum of the stream is used.
    pub rtt_min: Option<Duration>,
    /// Number of payload bytes that the bottleneck passes per second.
    pub bytes_per_second: Option<f64>,
    /// Queueing delay of a full queue at the bottleneck.
    pub queue_max: Option<Duration>,
    /// Evidence of queueing at a bottleneck.
    pub filling: Filling,
}

/// Evidence of queueing at a bottleneck, derived from the times between arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filling {
    /// Data of the stream was queued, or it is unknown whether it was.
    #[default]
    Perhaps,
    /// Many packets show that no data was queued, so a queue is not the cause of longer round trips.
    Never,
}

/// Interval with its main limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Start of the interval.
    pub from: Instant,
    /// End of the interval.
    pub to: Instant,
    /// Limit of the sender for most of the interval.
    pub limit: Limit,
}

/// Time of the stream as the sender's kernel would count it (Linux: `tcp_info`, since 4.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelView {
    /// Time during which data was outstanding or waited to be sent: `tcpi_busy_time`.
    pub busy: Duration,
    /// Part of the busy time during which the receive window was full: `tcpi_rwnd_limited`.
    pub receive_window: Duration,
    /// Part of the busy time during which the send buffer was full and everything in it had been sent:
    /// `tcpi_sndbuf_limited`. Any unknown limit also counts here.
    pub sender_buffer: Duration,
}

/// Time of a stream for each limit. The sum over all limits equals the stream's duration, to the nanosecond.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Start of the stream.
    pub started: Instant,
    /// End of the stream.
    pub ended: Instant,
    times: [Duration; Limit::COUNT],
    /// Intervals of the stream in order, without gaps.
    pub bands: Vec<Band>,
    /// Time as the sender's kernel would count it.
    pub kernel: KernelView,
    /// Number of bytes that arrived.
    pub delivered: u64,
    /// Number of segments sent, including retransmissions.
    pub segments: u64,
    /// Number of retransmitted segments.
    pub retransmissions: u64,
    /// Number of times that a closed receive window became the limit. A window is closed if it is zero, or if it has no
    /// space for a segment while no data is outstanding.
    pub shut_times: u64,
    /// Number of short segments that waited for an ACK (Nagle's algorithm).
    pub nagle_waits: u64,
    /// Time during which short segments may have waited for an ACK. The times at which the sender received its ACKs are
    /// not certain.
    pub nagle_perhaps: Duration,
    /// Total time without packets in the middle of messages, in a capture away from the sender. Each of these times
    /// exceeded a retransmission timeout, although no data was visibly outstanding. The remaining part of each message
    /// may have been lost before the capture point.
    pub cut_short: Duration,
    /// Number of loss repairs. All losses in one window count as one repair.
    pub losses: u64,
    /// Size of the largest segment in bytes.
    pub segment_size: u64,
    /// Mean receive window in bytes while it was full, weighted by time.
    pub window_when_full: Option<f64>,
    /// Mean round-trip time while the receive window was full, weighted by time.
    pub rtt_when_full: Option<Duration>,
    /// Mean of the rounds' maximum flights while the congestion window was the limit, in bytes.
    pub flight: Option<f64>,
    /// Number of bytes delivered per second while the bottleneck was busy.
    pub busy_bytes_per_second: Option<f64>,
    /// Mean queueing delay while the bottleneck was busy.
    pub queue_mean: Option<Duration>,
    /// Mean round-trip time.
    pub rtt_mean: Option<Duration>,
    /// Minimum round-trip time.
    pub rtt_min: Option<Duration>,
    /// Knowledge of the receive window at departures.
    pub window: Window,
    /// Source of the times at which the sender received its ACKs.
    pub ack_times: AckTimes,
    /// Presence of timestamps in the stream's segments.
    pub stamps: Stamps,
    /// Total time without packets after bursts. Only times of at least 20 ms count. The segments of such a burst
    /// arrived so fast that no bottleneck spaced them.
    pub after_bursts: Duration,
}

/// Presence of timestamps in segments (RFC 7323 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamps {
    /// The segments have timestamps, or there are no segments.
    #[default]
    Seen,
    /// The segments have no timestamps, or the capture truncated them.
    Missing,
}

/// Knowledge of the receive window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// The size of the window is known.
    #[default]
    Known,
    /// The scale of the window is unknown, because the options of the SYN are missing from the capture (RFC 7323 §2.2).
    Unscaled,
    /// The scale of the window is unknown, but the sender hardly ever reached the end of the window for any possible
    /// scale.
    Roomy,
}

impl Shares {
    /// Creates the shares of a stream from the time of each limit. All other values are unknown.
    #[must_use]
    pub fn of_times(spent: &[(Limit, Duration)]) -> Self {
        let mut made = divide(
            &[],
            Instant::ZERO,
            Instant::ZERO,
            1000,
            &Notes::default(),
            &PathFacts::default(),
        );
        for (limit, time) in spent {
            if let Some(sum) = made.times.get_mut(limit.index()) {
                *sum += *time;
            }
            made.ended += *time;
        }
        made
    }

    /// Returns the duration of the stream.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.ended.since(self.started)
    }

    /// Returns the time during which `limit` limited the stream.
    #[must_use]
    pub fn of(&self, limit: Limit) -> Duration {
        self.times.get(limit.index()).copied().unwrap_or_default()
    }

    /// Returns the total time of all limits of `group`.
    #[must_use]
    pub fn of_group(&self, group: Group) -> Duration {
        let members = Limit::ALL.into_iter().filter(|l| l.group() == group);
        members.fold(Duration::ZERO, |sum, limit| sum + self.of(limit))
    }

    /// Moves up to `time` from the application and the congestion window to [`Limit::SenderBuffer`], because the
    /// sending host itself set the rate during this time.
    pub(crate) fn held_back(&mut self, time: Duration) {
        let of_others = [
            Limit::Pause,
            Limit::SlowStart,
            Limit::CongestionWindow,
            Limit::Idle,
        ];
        let mut left = time.saturating_sub(self.of(Limit::SenderBuffer));
        for limit in of_others {
            let moved = self.of(limit).min(left);
            left = left.saturating_sub(moved);
            if limit == Limit::Idle {
                self.kernel.busy += moved;
            }
            if let Some(slot) = self.times.get_mut(limit.index()) {
                *slot = slot.saturating_sub(moved);
            }
            if let Some(slot) = self.times.get_mut(Limit::SenderBuffer.index()) {
                *slot += moved;
            }
        }
    }

    /// Returns `time` as a fraction of the duration, from 0 to 1; 0 if the duration is zero.
    #[must_use]
    pub fn share(&self, time: Duration) -> f64 {
        let all = self.duration().as_secs_f64();
        if all > 0.0 {
            time.as_secs_f64() / all
        } else {
            0.0
        }
    }
}

/// Counters maintained in addition to the times.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    pub(super) delivered: u64,
    pub(super) losses: u64,
    /// Number and total duration of the intervals during which the window was closed. `is_shut` is `true` if the last
    /// piece belongs to such an interval.
    shut_times: u64,
    shut: Duration,
    is_shut: bool,
    pub(super) nagle_waits: u64,
    pub(super) nagle_perhaps: Duration,
    pub(super) cut_short: Duration,
    /// Presence of timestamps in the last departure.
    pub(super) stamps: Stamps,
    pub(super) after_bursts: Duration,
    /// Number of departures of new data while the receive window was known, and while it was unknown.
    in_window: u64,
    in_unknown_window: u64,
    /// `true` if a repair is in progress.
    pub(super) repairing: bool,
    segments: u64,
    retransmissions: u64,
    full: Duration,
    idle: Duration,
    window_sum: f64,
    rtt_sum: f64,
    full_known: f64,
    samples: u64,
    samples_sum: Duration,
}

impl Notes {
    pub(super) fn sent(&mut self, segments: usize) {
        self.segments = self.segments.saturating_add(segments as u64);
    }

    /// Returns the time during which the window was closed.
    pub(super) const fn shut(&self) -> Duration {
        self.shut
    }

    /// Records a departure of new data. `window_left` is the part of the receive window that remains after it; `None`
    /// if unknown.
    pub(super) const fn left(&mut self, window_left: Option<u64>) {
        match window_left {
            Some(_) => self.in_window += 1,
            None => self.in_unknown_window += 1,
        }
    }

    const fn window(&self) -> Window {
        if self.in_unknown_window > self.in_window {
            Window::Unscaled
        } else {
            Window::Known
        }
    }

    pub(super) const fn repeated(&mut self, again: &Retransmission) {
        if !again.cause.class().is_probe() {
            self.retransmissions = self.retransmissions.saturating_add(1);
        }
    }

    pub(super) fn rtt(&mut self, rtt: Duration) {
        self.samples = self.samples.saturating_add(1);
        self.samples_sum += rtt;
    }

    /// Records time that was assigned. During this time, the receive window was `window` bytes; `None` if unknown.
    pub(super) fn passed(
        &mut self,
        settled: &Settled,
        time: Duration,
        window: Option<u64>,
        rtt: Duration,
    ) {
        if !time.is_zero() {
            let was_shut = core::mem::replace(&mut self.is_shut, settled.kind == Kind::ZeroWindow);
            self.shut_times += u64::from(self.is_shut && !was_shut);
            self.shut += time.saturating_mul(u64::from(self.is_shut));
        }
        match (settled.kind, settled.look) {
            (Kind::Handshake | Kind::Idle, _) => self.idle += time,
            (Kind::Pause, _) => {}
            (_, Look::Full | Look::Shut(_)) => self.full += time,
            _ => {}
        }
        if settled.kind == Kind::ReceiveWindow
            && let Some(window) = window
        {
            let weight = time.as_secs_f64();
            self.window_sum += window as f64 * weight;
            self.rtt_sum += rtt.as_secs_f64() * weight;
            self.full_known += weight;
        }
    }
}

/// Interval whose time is divided among limits.
struct Divided<'a> {
    span: &'a Span,
    times: [Duration; Limit::COUNT],
}

/// Divides the time of all intervals, after the path is known.
pub(super) fn divide(
    epochs: &[Span],
    started: Instant,
    ended: Instant,
    mss: u64,
    notes: &Notes,
    path: &PathFacts,
) -> Shares {
    let flat = flat_stretches(epochs, mss);
    let divided: Vec<Divided<'_>> = epochs
        .iter()
        .zip(&flat)
        .map(|(span, flat)| Divided {
            span,
            times: limits_of(span, *flat, path),
        })
        .collect();
    let mut times = [Duration::ZERO; Limit::COUNT];
    for stretch in &divided {
        for (all, part) in times.iter_mut().zip(stretch.times) {
            *all += part;
        }
    }
    let busy = BusyPath::of(&divided, path);
    let known = notes.full_known > 0.0;
    let all = ended.since(started);
    let sender_buffer = times.get(Limit::SenderBuffer.index());
    Shares {
        started,
        ended,
        bands: bands(&divided),
        kernel: KernelView {
            busy: all - notes.idle,
            receive_window: notes.full,
            sender_buffer: sender_buffer.copied().unwrap_or_default(),
        },
        delivered: notes.delivered,
        segments: notes.segments,
        retransmissions: notes.retransmissions,
        shut_times: notes.shut_times,
        nagle_waits: notes.nagle_waits,
        nagle_perhaps: notes.nagle_perhaps,
        cut_short: notes.cut_short,
        losses: notes.losses,
        segment_size: mss,
        window_when_full: known.then(|| notes.window_sum / notes.full_known),
        rtt_when_full: known.then(|| Duration::from_secs_f64(notes.rtt_sum / notes.full_known)),
        flight: mean_flight(&divided),
        busy_bytes_per_second: busy.rate(),
        queue_mean: busy.queue(),
        rtt_mean: (notes.samples > 0).then(|| notes.samples_sum / notes.samples),
        rtt_min: path.rtt_min,
        window: notes.window(),
        ack_times: AckTimes::Known,
        stamps: notes.stamps,
        after_bursts: notes.after_bursts,
        times,
    }
}

/// State of an interval: `Flat` if it belongs to a run of rounds with the same flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Flat,
    Moving,
}

fn flat_stretches(epochs: &[Span], mss: u64) -> Vec<Shape> {
    let mut shapes = vec![Shape::Moving; epochs.len()];
    let mut lost = false;
    let mut first = 0;
    let mut run = Flights::default();
    let mut close = |first: usize, after: usize, run: &Flights, lost: bool| {
        let enough = if lost {
            FLAT_ROUNDS_AFTER_LOSS
        } else {
            FLAT_ROUNDS
        };
        if run.rounds >= enough {
            let stretch = shapes.get_mut(first..after).into_iter().flatten();
            stretch.for_each(|shape| *shape = Shape::Flat);
        }
    };
    for (index, span) in epochs.iter().enumerate() {
        let mut longer = run;
        longer.merge(&span.flights);
        let ends = span.losses > 0 || longer.high.saturating_sub(longer.low) > mss;
        if ends {
            close(first, index, &run, lost);
            first = index;
            run = if span.losses > 0 {
                Flights::default()
            } else {
                span.flights
            };
            lost |= span.losses > 0;
            if span.flights.high.saturating_sub(span.flights.low) > mss {
                first = index + 1;
                run = Flights::default();
            }
        } else {
            run = longer;
        }
    }
    close(first, epochs.len(), &run, lost);
    let (from, to) = at_its_greatest(epochs, mss);
    let stretch = shapes.get_mut(from..to).into_iter().flatten();
    stretch.for_each(|shape| *shape = Shape::Flat);
    shapes
}

/// Returns the range of intervals before the first loss that starts at the first interval whose flight is close to the
/// maximum. The range is empty if it has fewer than [`GREATEST_ROUNDS`] rounds. Smaller flights in the range do not
/// matter, because a congestion window that is in use only grows before a loss.
fn at_its_greatest(epochs: &[Span], mss: u64) -> (usize, usize) {
    let lossless = epochs.iter().take_while(|span| span.losses == 0);
    let to = lossless.count();
    let spans = epochs.get(..to).unwrap_or_default();
    let greatest = spans.iter().map(|span| span.flights.high).max();
    let edge = greatest
        .unwrap_or(0)
        .saturating_sub(GREATEST_SEGMENTS.saturating_mul(mss));
    let from = spans
        .iter()
        .position(|span| span.flights.rounds > 0 && span.flights.high > edge);
    let Some(from) = from else {
        return (0, 0);
    };
    let after = spans.get(from..).unwrap_or_default();
    let rounds = after.iter().map(|span| span.flights.rounds);
    let rounds = rounds.fold(0_u32, u32::saturating_add);
    if rounds >= GREATEST_ROUNDS {
        (from, to)
    } else {
        (0, 0)
    }
}

/// Limits of an interval in which the bottleneck is the limit, for each queue level that was recorded during the
/// transfer.
struct BottleneckLimits {
    clear: Option<Limit>,
    standing: Limit,
    overflowing: Limit,
}

impl BottleneckLimits {
    fn of(span: &Span, path: &PathFacts) -> Self {
        let queue = |share: (u64, u64), rtt: Option<Duration>| {
            let (rtt, least) = rtt.zip(path.rtt_min)?;
            let full = path.queue_max?;
            Some(rtt.saturating_sub(least).saturating_mul(share.1) >= full.saturating_mul(share.0))
        };
        let always_full = queue(FULL_SHARE, span.rtt.min()) == Some(true);
        let never_full = queue(LOSS_SHARE, span.rtt.max()) == Some(false);
        let queued = path
            .rtt_min
            .zip(span.rtt.min())
            .is_some_and(|(least, min)| {
                min.saturating_sub(least) > super::queue_noise(least) && span.rtt.count() > 1
            });
        let standing = if always_full {
            Limit::OverflowingQueue
        } else {
            Limit::StandingQueue
        };
        let clear = if queued {
            Some(standing)
        } else {
            moved_at_its_rate(span, path).then_some(Limit::EmptyQueue)
        };
        Self {
            clear,
            standing,
            overflowing: if never_full {
                standing
            } else {
                Limit::OverflowingQueue
            },
        }
    }
}

/// `true` if an interval moved data at the bottleneck's rate.
fn moved_at_its_rate(span: &Span, path: &PathFacts) -> bool {
    let Some(rate) = path.bytes_per_second.filter(|rate| *rate > 0.0) else {
        return false;
    };
    let moving = span.times().sum(Kind::moves_data).as_secs_f64();
    moving > 0.0 && span.delivered as f64 / moving >= BUSY_SHARE * rate
}

/// Returns the part of an interval's pauses during which the bottleneck still transmitted data that the application had
/// written before. It is the number of bytes delivered in the pauses, divided by the bottleneck's rate.
fn time_to_drain(span: &Span, path: &PathFacts) -> Duration {
    let Some(rate) = path.bytes_per_second.filter(|rate| *rate > 0.0) else {
        return Duration::ZERO;
    };
    let seconds = span.drained as f64 / rate;
    let silent = span.times().sum(Kind::is_silence);
    if seconds < silent.as_secs_f64() {
        Duration::from_secs_f64(seconds)
    } else {
        silent
    }
}

/// Returns the limit while the bottleneck transmitted earlier data in a pause. This data forms a queue, unless the
/// round-trip times show that there was none.
fn queue_of_drain(span: &Span, path: &PathFacts) -> Limit {
    let none = path
        .rtt_min
        .zip(span.rtt.max())
        .is_some_and(|(least, max)| max.saturating_sub(least) <= super::queue_noise(least));
    if none {
        Limit::EmptyQueue
    } else {
        Limit::StandingQueue
    }
}

fn limits_of(span: &Span, shape: Shape, path: &PathFacts) -> [Duration; Limit::COUNT] {
    let mut times = [Duration::ZERO; Limit::COUNT];
    let mut add = |limit: Limit, time: Duration| {
        if let Some(slot) = times.get_mut(limit.index()) {
            *slot += time;
        }
    };
    let verdict = BottleneckLimits::of(span, path);
    let mut drained = time_to_drain(span, path);
    add(queue_of_drain(span, path), drained);
    for kind in [Kind::Pause, Kind::Idle] {
        let time = span.time(kind);
        add(limit_of(kind, shape), time.saturating_sub(drained));
        drained = drained.saturating_sub(time);
    }
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.is_silence()) {
        let alone = limit_of(kind, shape);
        if !kind.yields_to_path() {
            add(alone, span.time(kind));
            continue;
        }
        for level in Level::ALL {
            let limit = match level {
                _ if path.filling == Filling::Never => alone,
                Level::Clear => verdict.clear.unwrap_or(alone),
                Level::Standing => verdict.standing,
                Level::Overflowing => verdict.overflowing,
            };
            add(limit, span.at(level).of(kind));
        }
    }
    times
}

const fn limit_of(kind: Kind, shape: Shape) -> Limit {
    match kind {
        Kind::Handshake => Limit::Handshake,
        Kind::Idle => Limit::Idle,
        Kind::Pause => Limit::Pause,
        Kind::ReceiveWindow => Limit::ReceiveWindow,
        Kind::ZeroWindow => Limit::ZeroWindow,
        Kind::RetransmissionTimer => Limit::RetransmissionTimer,
        Kind::ProbeTimer => Limit::ProbeTimer,
        Kind::Nagle => Limit::Nagle,
        Kind::SenderBuffer => Limit::SenderBuffer,
        Kind::SlowStart => Limit::SlowStart,
        Kind::Congestion => match shape {
            Shape::Flat => Limit::SenderBuffer,
            Shape::Moving => Limit::CongestionWindow,
        },
        Kind::Recovery => Limit::Recovery,
    }
}

/// Converts intervals to bands. Each band has the limit of most of its time, and neighbours with the same limit are
/// merged.
fn bands(divided: &[Divided<'_>]) -> Vec<Band> {
    let mut bands: Vec<Band> = Vec::new();
    for stretch in divided {
        if stretch.span.duration().is_zero() {
            continue;
        }
        let time = |limit: &Limit| stretch.times.get(limit.index()).copied();
        let Some(limit) = Limit::ALL.into_iter().max_by_key(time) else {
            continue;
        };
        match bands.last_mut() {
            Some(last) if last.limit == limit => last.to = stretch.span.to,
            _ => bands.push(Band {
                from: stretch.span.from,
                to: stretch.span.to,
                limit,
            }),
        }
    }
    bands
}

fn mean_flight(divided: &[Divided<'_>]) -> Option<f64> {
    let mut sum = 0.0;
    let mut weight = 0.0;
    for Divided { span, times } in divided {
        if span.flights.rounds == 0 {
            continue;
        }
        let time = times.get(Limit::CongestionWindow.index());
        let time = time.copied().unwrap_or_default().as_secs_f64();
        sum += (span.flights.low as f64 / 2.0 + span.flights.high as f64 / 2.0) * time;
        weight += time;
    }
    (weight > 0.0).then(|| sum / weight)
}

/// Number of bytes, time, and queueing delay of the bottleneck while it was busy.
#[derive(Default)]
struct BusyPath {
    bytes: f64,
    secs: f64,
    queue: f64,
    queue_secs: f64,
}

impl BusyPath {
    fn of(divided: &[Divided<'_>], path: &PathFacts) -> Self {
        let mut busy = Self::default();
        for Divided { span, times } in divided {
            let path_times = Limit::ALL.into_iter().zip(times);
            let at_path = path_times.filter(|(limit, _)| limit.group() == Group::Path);
            let secs: f64 = at_path.map(|(_, time)| time.as_secs_f64()).sum();
            let drained = time_to_drain(span, path).as_secs_f64();
            busy.bytes += drained * path.bytes_per_second.unwrap_or_default();
            busy.secs += drained;
            let secs = secs - drained;
            let moving = span.times().sum(Kind::moves_data).as_secs_f64();
            if secs <= 0.0 || moving <= 0.0 {
                continue;
            }
            busy.bytes += span.delivered as f64 * (secs / moving).min(1.0);
            busy.secs += secs;
            if let Some((mean, least)) = span.rtt.mean().zip(path.rtt_min) {
                busy.queue += mean.saturating_sub(least).as_secs_f64() * secs;
                busy.queue_secs += secs;
            }
        }
        busy
    }

    fn rate(&self) -> Option<f64> {
        (self.secs > 0.0).then(|| self.bytes / self.secs)
    }

    fn queue(&self) -> Option<Duration> {
        (self.queue_secs > 0.0).then(|| Duration::from_secs_f64(self.queue / self.queue_secs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_scale_is_known_if_it_was_known_for_most_new_data() {
        let window = |known, unknown| {
            let mut notes = Notes::default();
            (0..known).for_each(|_| notes.left(Some(1)));
            (0..unknown).for_each(|_| notes.left(None));
            notes.window()
        };
        assert_eq!(window(3, 2), Window::Known);
        assert_eq!(window(2, 3), Window::Unscaled);
        assert_eq!(window(0, 0), Window::Known);
    }
}
