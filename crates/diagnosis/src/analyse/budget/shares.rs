//! What a stream's time was spent on, all told.

use dupack_tcp::time::{Duration, Instant};

use super::AckTimes;
use super::limit::{Group, Limit};
use super::quiet::{Look, Settled};
use super::span::{Flights, Kind, Level, Span};
use crate::analyse::cause::Retransmission;

/// Of the bottleneck's rate that a stretch must have moved for the bottleneck to be what limited it. Ours: the
/// rate itself is known to some 5 %, and a round's bytes to a segment.
const BUSY_SHARE: f64 = 0.9;

/// Of the queue's capacity that always stands for it to overflow, where no loss says so. Ours.
const FULL_SHARE: (u64, u64) = (9, 10);

/// Of the queue's capacity that a loss must find for it to be the queue's. Ours: less than what an overflow
/// shows in a round whose samples miss the peak.
const LOSS_SHARE: (u64, u64) = (1, 2);

/// So many rounds with the same flight show a limit that is no congestion window, which grows by half a
/// segment per round or more (Reno, and CUBIC's lower bound, RFC 9438 §4.3), while nothing was lost yet.
const FLAT_ROUNDS: u32 = 8;

/// And after a loss, where CUBIC stands still for longer around its old maximum: a second or two.
const FLAT_ROUNDS_AFTER_LOSS: u32 = 64;

/// A congestion window that is used grows by 8 segments in so many rounds (half a segment per round, as above); a flight that has
/// grown by no more than so many is bounded by something else. Ours.
const GREATEST_ROUNDS: u32 = 16;
const GREATEST_SEGMENTS: u64 = 2;

/// What is known of the path at the end. What is `None` is not known, and the budget then does without.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathFacts {
    /// The least round-trip time; without it, the least that the stream saw counts.
    pub rtt_min: Option<Duration>,
    /// Bytes of payload that the bottleneck passes in a second.
    pub bytes_per_second: Option<f64>,
    /// What the queue before the bottleneck delays by when it is full.
    pub queue_max: Option<Duration>,
    /// Evidence that something waited at a bottleneck.
    pub filling: Filling,
}

/// Evidence that something of a stream waited at a bottleneck: the times between what came through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filling {
    /// It did, or that is not known.
    #[default]
    Perhaps,
    /// Nothing did, of many packets: longer round trips are no queue.
    Never,
}

/// A stretch of time and what limited most of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// When it began.
    pub from: Instant,
    /// When it ended.
    pub to: Instant,
    /// What limited the sender for most of it.
    pub limit: Limit,
}

/// The same time as the sender's kernel would count it (Linux: `tcp_info`, since 4.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelView {
    /// Something was outstanding, or waited to be sent: `tcpi_busy_time`.
    pub busy: Duration,
    /// Of that, the receive window was full: `tcpi_rwnd_limited`.
    pub receive_window: Duration,
    /// Of that, the send buffer was full and everything in it sent: `tcpi_sndbuf_limited`, but any limit
    /// that is not known counts here.
    pub sender_buffer: Duration,
}

/// What a stream's time was spent on. The sum over all limits is the stream's duration, to the nanosecond.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// When the stream began.
    pub started: Instant,
    /// When it ended.
    pub ended: Instant,
    times: [Duration; Limit::COUNT],
    /// The same over time, in order and without gaps.
    pub bands: Vec<Band>,
    /// As the sender's kernel would count.
    pub kernel: KernelView,
    /// Bytes that arrived.
    pub delivered: u64,
    /// Segments that left, those that were sent again among them.
    pub segments: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// How often the receive window shut and was the limit: it was zero, or had no room for a segment while nothing was outstanding.
    pub shut_times: u64,
    /// Short segments that waited for an ACK (Nagle's algorithm).
    pub nagle_waits: u64,
    /// The time in which short segments may have waited so: it is not known when their sender had which ACK.
    pub nagle_perhaps: Duration,
    /// Silences in the middle of messages, away from the sender, that are longer than a timer runs, with nothing outstanding as
    /// far as was seen: the rest of the message may have been lost before the capture.
    pub cut_short: Duration,
    /// Repairs that began: one for all losses of a window.
    pub losses: u64,
    /// The largest segment, in bytes.
    pub segment_size: u64,
    /// The receive window while it was full, on average over that time; in bytes.
    pub window_when_full: Option<f64>,
    /// The round-trip time while it was full, on average over that time.
    pub rtt_when_full: Option<Duration>,
    /// The greatest flights of the rounds while the congestion window was the limit, on average; in bytes.
    pub flight: Option<f64>,
    /// What was delivered in a second while the bottleneck was busy.
    pub busy_bytes_per_second: Option<f64>,
    /// The mean queueing delay meanwhile.
    pub queue_mean: Option<Duration>,
    /// The mean round-trip time.
    pub rtt_mean: Option<Duration>,
    /// The least.
    pub rtt_min: Option<Duration>,
    /// Knowledge of the receive window while data left.
    pub window: Window,
    /// Knowledge of the times at which the sender had its ACKs.
    pub ack_times: AckTimes,
    /// Whether its segments say when they left.
    pub stamps: Stamps,
    /// Silences of 20 ms or more after segments that came faster, by so much that no bottleneck on the way spaced them.
    pub after_bursts: Duration,
}

/// Timestamps of segments (RFC 7323 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamps {
    /// The segments have them, or there are no segments.
    #[default]
    Seen,
    /// They have none, or the capture cut them off.
    Missing,
}

/// Knowledge of the receive window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// Its size is known.
    #[default]
    Known,
    /// Its scale is not known: the options of the SYN are not in the capture (RFC 7323 §2.2).
    Unscaled,
    /// Its scale is not known, and whatever it is, the sender hardly ever went to where the window ends.
    Roomy,
}

impl Shares {
    /// Shares of a stream that spent these times, and of which nothing else is known.
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

    /// How long the stream was.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.ended.since(self.started)
    }

    /// How long `limit` was what limited it.
    #[must_use]
    pub fn of(&self, limit: Limit) -> Duration {
        self.times.get(limit.index()).copied().unwrap_or_default()
    }

    /// The same for all limits of a group.
    #[must_use]
    pub fn of_group(&self, group: Group) -> Duration {
        let members = Limit::ALL.into_iter().filter(|l| l.group() == group);
        members.fold(Duration::ZERO, |sum, limit| sum + self.of(limit))
    }

    /// Something on the sending host set the rate for so long: what of that time was given to the application or to a window is the
    /// sender's.
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

    /// Part of the duration, from 0 to 1; 0 of a stream without one.
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

/// What is noted on the way, beside time.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    pub(super) delivered: u64,
    pub(super) losses: u64,
    /// Stretches of time that the shut window took, and their sum; `is_shut` if the last piece of time was of one.
    shut_times: u64,
    shut: Duration,
    is_shut: bool,
    pub(super) nagle_waits: u64,
    pub(super) nagle_perhaps: Duration,
    pub(super) cut_short: Duration,
    /// Of the segment that left last.
    pub(super) stamps: Stamps,
    pub(super) after_bursts: Duration,
    /// New data that left while the receive window was known, and while it was not.
    in_window: u64,
    in_unknown_window: u64,
    /// Whether a repair is under way.
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

    /// Time that the shut window took.
    pub(super) const fn shut(&self) -> Duration {
        self.shut
    }

    /// New data left, and so much of the receive window is beyond it, if that is known.
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

    /// Time was given away while the receive window was `window`.
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

/// A stretch with its time divided among limits.
struct Divided<'a> {
    span: &'a Span,
    times: [Duration; Limit::COUNT],
}

/// Divides the time of all stretches, now that the path is known.
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

/// Whether a stretch belongs to a run of rounds with the same flights.
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

/// The stretches before the first loss in which the flight had reached its greatest, if they had [`GREATEST_ROUNDS`] rounds. It
/// may have been smaller between: a congestion window that is used only grows before a loss.
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

/// What the bottleneck had to do with a stretch, beside what its round-trip times said at the time.
struct Verdict {
    clear: Option<Limit>,
    standing: Limit,
    overflowing: Limit,
}

impl Verdict {
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

/// Whether a stretch moved what the bottleneck passes.
fn moved_at_its_rate(span: &Span, path: &PathFacts) -> bool {
    let Some(rate) = path.bytes_per_second.filter(|rate| *rate > 0.0) else {
        return false;
    };
    let moving = span.times().sum(Kind::moves_data).as_secs_f64();
    moving > 0.0 && span.delivered as f64 / moving >= BUSY_SHARE * rate
}

/// The part of the silences of a stretch in which the bottleneck was busy with what the application had sent before: as long as what
/// was delivered in them takes at the bottleneck's rate.
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

/// What stood before the bottleneck meanwhile: what was sent at once is a queue, unless its round-trip times show none.
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
    let verdict = Verdict::of(span, path);
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

/// Stretches as bands: each under what limited most of it, neighbours of the same joined.
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

/// What the bottleneck did while it was busy.
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
    fn the_scale_of_the_windows_is_known_if_it_was_for_most_of_the_new_data() {
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
