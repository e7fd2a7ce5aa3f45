//! Requests: the time from each request to the end of its answer, and the parts of this time.
//!
//! From the viewpoint of the requesting endpoint, a request lasts from its first byte until the last byte of the answer
//! arrives:
//!
//! ```text
//! requesting endpoint   ├─ sending ─┤                                       ┌─ transfer, repair, window, pauses ─┤
//!                                    ╲ network                             ╱ network
//! answering endpoint                  └───────────── server ──────────────┘
//! ```
//!
//! The capture shows each packet at the time at which it passed the capture point. The distances from there to both
//! endpoints ([`Vantage`]) are added: the request reaches the answering endpoint after its capture, and so does the
//! answer at the requesting endpoint. The sum of both distances is one round trip, the minimum of the capture.
//! Therefore, queueing delays on the path count as time of the server or of the transfer.
//!
//! Repair is the time of a recovery, the time until a timer expired, and the time after the last new byte. Window time
//! is the time during which the receive window was full. A pause is time within an answer during which the application
//! provided no data. The [`budget`](super::budget) of each stream provides all three times. If the first bytes of the
//! answer are lost before the capture point, their repair counts as time of the server. Only a capture at the answering
//! endpoint shows such losses.
//!
//! The vantage is most reliable at the end of the capture. Until then, only times of the capture are recorded. The
//! distances add the same time to every request, so they shift every quantile by this time.

use dupack_tcp::time::{Duration, Instant};

use super::hints::Hint;
use crate::path::bins::LogBins;
use crate::read::side::Side;
use crate::read::turns::{Message, Turn};
use crate::read::vantage::{Place, Vantage};

/// Maximum number of requests whose details are stored: the longest ones (our choice: about 16 kB).
pub const WORST_MAX: usize = 64;

/// Maximum time in which a host acknowledges a request, with or without an answer (Linux: `TCP_DELACK_MAX`).
const DELAYED_ACK_MAX: Duration = Duration::from_millis(200);

/// Minimum number of turns for a table of requests: a connection with fewer turns is one transfer (our choice).
pub const TURNS_MIN: u64 = 2;

/// Distribution of times, with an error of at most 0.4 %.
type Times = LogBins<7>;

/// Message of a request: the part that one endpoint sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTiming {
    /// Capture time of the first byte.
    pub first_at: Instant,
    /// Capture number of the packet with the first byte.
    pub first_packet: u64,
    /// Capture time of the last byte: that of the last packet whose data was not yet acknowledged.
    pub last_at: Instant,
    /// Capture number of the packet with the last byte.
    pub last_packet: u64,
    /// Number of bytes of the message.
    pub bytes: u64,
    /// Content of the first bytes; `None` unless they were looked up and are HTTP/1 or TLS.
    pub hint: Option<Hint>,
}

/// Parts of the time of a request. Their sum is the total time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// One round trip.
    pub network: Duration,
    /// Time of the transfer of the request.
    pub sending: Duration,
    /// Time from the arrival of the request to the beginning of the answer.
    pub server: Duration,
    /// Time of the transfer of the answer.
    pub transfer: Duration,
    /// Time of recoveries and of waits for timers.
    pub repair: Duration,
    /// Time during which the receive window was full.
    pub window: Duration,
    /// Time during which the answering application provided no more data.
    pub pauses: Duration,
}

impl Parts {
    /// Returns the sum of all parts.
    #[must_use]
    pub fn sum(&self) -> Duration {
        self.named()
            .into_iter()
            .fold(Duration::ZERO, |sum, (_, time)| sum + time)
    }

    /// Returns all parts with short names.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, Duration); 7] {
        [
            ("network", self.network),
            ("request transfer", self.sending),
            ("server", self.server),
            ("transfer", self.transfer),
            ("loss repair", self.repair),
            ("receive window", self.window),
            ("server pauses", self.pauses),
        ]
    }
}

/// Request with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the request in its connection, counted from 1.
    pub number: u64,
    /// Request.
    pub request: MessageTiming,
    /// Answer.
    pub answer: MessageTiming,
    /// Number of pipelined requests after the first one. The boundaries of their answers are not visible.
    pub joined: u32,
    /// Time from the end of the previous answer to the request, at the requesting endpoint; `None` for the first
    /// request.
    pub think: Option<Duration>,
    /// Parts of the time of the request.
    pub parts: Parts,
}

impl Request {
    /// Returns the time from the first byte of the request to the end of the answer, at the requesting endpoint.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.parts.sum()
    }
}

/// Quantiles of a time, by the nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// Median: half of the values are not longer.
    pub p50: Duration,
    /// 95 % quantile: 95 of 100 values are not longer.
    pub p95: Duration,
    /// Maximum value.
    pub max: Duration,
}

impl Quantiles {
    fn map(self, change: impl Fn(Duration) -> Duration) -> Self {
        Self {
            p50: change(self.p50),
            p95: change(self.p95),
            max: change(self.max),
        }
    }
}

/// Requests of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    /// Endpoint that sends the requests.
    pub asker: Side,
    /// Number of turns. Pipelined requests count as one.
    pub count: u64,
    /// Number of turns with several pipelined requests.
    pub joined: u64,
    /// Time from the first byte of a request to the last byte of its answer, at the requesting endpoint. The quantiles
    /// are exact for up to [`WORST_MAX`] turns, and have an error of at most 0.4 % for more.
    pub duration: Quantiles,
    /// Time until the answer began, without the time of the network.
    pub server: Quantiles,
    /// Round-trip time that counts as network; `None` if the capture does not show it. In that case, it is part of the
    /// server's time.
    pub round_trip: Option<Duration>,
    /// Total time between answers in the capture: from the end of each answer to the beginning of the next one.
    pub between: Duration,
    /// Total time from the end of each request to the end of its answer, in the capture.
    pub answering: Duration,
    /// Total time by which the requesting endpoint delayed the ACKs of whole answers.
    pub ack_held: Duration,
    /// Total time of the waits in which neither an ACK of the request nor its answer arrived for longer than any host
    /// delays an ACK. In most cases, packets of the answering endpoint were lost before the capture point.
    pub unheard: Duration,
    /// Longest requests, at most [`WORST_MAX`], in descending order of their durations.
    pub worst: Vec<Request>,
}

impl Requests {
    /// Counts pauses as transfer, because a rate limit at the answering endpoint caused them.
    pub(crate) fn held_back(&mut self) {
        for request in &mut self.worst {
            let parts = &mut request.parts;
            parts.transfer += core::mem::take(&mut parts.pauses);
        }
    }
}

/// Collector of the turns of a connection.
#[derive(Clone, Debug)]
pub struct Gathered {
    asker: Side,
    count: u64,
    joined: u64,
    durations: Times,
    waits: Times,
    longest: Duration,
    longest_wait: Duration,
    between: Duration,
    answering: Duration,
    ack_held: Duration,
    /// Number and total time of long waits with neither an ACK nor an answer.
    unheard: (u64, Duration),
    /// Longest turns with their numbers.
    worst: Vec<(u64, Turn)>,
    least: Duration,
}

impl Gathered {
    /// Creates a collector without turns for a connection in which `asker` sends the requests.
    #[must_use]
    pub fn new(asker: Side) -> Self {
        Self {
            asker,
            count: 0,
            joined: 0,
            durations: Times::default(),
            waits: Times::default(),
            longest: Duration::ZERO,
            longest_wait: Duration::ZERO,
            between: Duration::ZERO,
            answering: Duration::ZERO,
            ack_held: Duration::ZERO,
            unheard: (0, Duration::ZERO),
            worst: Vec::new(),
            least: Duration::ZERO,
        }
    }

    /// Returns the endpoint that sends the requests.
    #[must_use]
    pub const fn asker(&self) -> Side {
        self.asker
    }

    /// Records the next turn.
    pub fn take(&mut self, turn: &Turn) {
        self.count += 1;
        self.joined += u64::from(turn.joined > 0);
        let (duration, wait) = (seen(turn), wait(turn));
        self.durations.record(duration.as_nanos());
        self.waits.record(wait.as_nanos());
        self.longest = self.longest.max(duration);
        self.longest_wait = self.longest_wait.max(wait);
        let before = turn.answered_before.unwrap_or(turn.answer.first_at);
        self.between += turn.answer.first_at.since(before);
        self.answering += turn.answer.over_at.since(turn.request.last_at);
        self.ack_held += turn.answer.ack_held;
        let (request, answered_at) = (&turn.request, turn.answer.first_at);
        let heard_at = request.heard_at.unwrap_or(answered_at).min(answered_at);
        if heard_at.since(request.sent_at) > DELAYED_ACK_MAX {
            self.unheard.0 += 1;
            self.unheard.1 += answered_at.since(request.sent_at);
        }
        self.keep(duration, (self.count, *turn));
    }

    /// Stores a turn if it is among the longest.
    fn keep(&mut self, duration: Duration, turn: (u64, Turn)) {
        if self.worst.len() < WORST_MAX {
            self.worst.push(turn);
        } else if duration > self.least {
            let least = self.worst.iter_mut().min_by_key(|(_, turn)| seen(turn));
            if let Some(least) = least {
                *least = turn;
            }
        } else {
            return;
        }
        if self.worst.len() >= WORST_MAX {
            let all = self.worst.iter().map(|(_, turn)| seen(turn));
            self.least = all.min().unwrap_or_default();
        }
    }

    /// Returns the findings of a capture taken at `vantage`, from the viewpoint of the requesting endpoint.
    /// `round_trip` is the round-trip time of the path, which is used if the vantage does not show it. Returns `None`
    /// if there were fewer than [`TURNS_MIN`] turns.
    #[must_use]
    pub fn finish(mut self, vantage: &Vantage, round_trip: Option<Duration>) -> Option<Requests> {
        if self.count < TURNS_MIN {
            return None;
        }
        let to_asker = vantage.to_sender;
        // A distance of zero means that it is unknown, unless the capture shows that the answering endpoint answers at
        // once.
        let is_known = !vantage.to_receiver.is_zero()
            || matches!(vantage.place, Place::Receiver | Place::Middle);
        let whole = is_known.then(|| to_asker + vantage.to_receiver);
        let round_trip = whole.or(round_trip);
        let to_answerer = round_trip.unwrap_or_default().saturating_sub(to_asker);
        let ways = (to_asker, to_answerer);
        self.worst
            .sort_by_key(|(number, turn)| (std::cmp::Reverse(seen(turn)), *number));
        let duration = self.quantiles(seen, &self.durations, self.longest);
        let server = self.quantiles(wait, &self.waits, self.longest_wait);
        Some(Requests {
            asker: self.asker,
            count: self.count,
            joined: self.joined,
            duration: duration.map(|seen| seen + to_asker),
            server: server.map(|wait| wait.saturating_sub(to_answerer)),
            round_trip,
            between: self.between,
            answering: self.answering,
            ack_held: self.ack_held,
            unheard: self.unheard(to_answerer),
            worst: self
                .worst
                .iter()
                .map(|(number, turn)| request(*number, turn, ways))
                .collect(),
        })
    }

    /// Returns [`Requests::unheard`] for this distance to the answering endpoint.
    fn unheard(&self, to_answerer: Duration) -> Duration {
        let (count, waits) = self.unheard;
        // If the distance is longer, every answer takes at least this time, so the waits show nothing.
        match to_answerer < DELAYED_ACK_MAX {
            true => waits.saturating_sub(to_answerer.saturating_mul(count)),
            false => Duration::ZERO,
        }
    }

    /// Returns the quantiles, which are exact as long as every turn is stored.
    fn quantiles(&self, of: fn(&Turn) -> Duration, bins: &Times, max: Duration) -> Quantiles {
        if self.count == self.worst.len() as u64 {
            let mut all: Vec<Duration> = self.worst.iter().map(|(_, turn)| of(turn)).collect();
            all.sort_unstable();
            let at = |percent: usize| {
                let rank = (all.len() * percent).div_ceil(100);
                all.get(rank.saturating_sub(1)).copied().unwrap_or_default()
            };
            return Quantiles {
                p50: at(50),
                p95: at(95),
                max,
            };
        }
        let at = |q| {
            let time = bins.quantile(q).map(Duration::from_nanos);
            time.unwrap_or_default().min(max)
        };
        Quantiles {
            p50: at(0.5),
            p95: at(0.95),
            max,
        }
    }
}

/// Returns the time from the first byte of a request to the last byte of its answer, in the capture.
const fn seen(turn: &Turn) -> Duration {
    turn.answer.over_at.since(turn.request.first_at)
}

/// Returns the time between request and answer, in the capture.
const fn wait(turn: &Turn) -> Duration {
    turn.answer.first_at.since(turn.request.last_at)
}

fn request(number: u64, turn: &Turn, ways: (Duration, Duration)) -> Request {
    let think = turn.answered_before.map(|before| {
        let gap = turn.request.first_at.since(before);
        gap.saturating_sub(ways.0)
    });
    Request {
        number,
        request: part(&turn.request),
        answer: part(&turn.answer),
        joined: turn.joined,
        think,
        parts: parts(turn, ways),
    }
}

const fn part(message: &Message) -> MessageTiming {
    MessageTiming {
        first_at: message.first_at,
        first_packet: message.first_packet,
        last_at: message.last_at,
        last_packet: message.last_packet,
        bytes: message.bytes,
        hint: None,
    }
}

/// Takes at most `time` from the remaining time `left`, and returns the time taken.
fn take(left: &mut Duration, time: Duration) -> Duration {
    let taken = time.min(*left);
    *left = left.saturating_sub(taken);
    taken
}

/// Divides the time of a turn. `to_asker` and `to_answerer` are the round trips from the capture point to the
/// endpoints.
fn parts(turn: &Turn, (to_asker, to_answerer): (Duration, Duration)) -> Parts {
    let (request, answer) = (&turn.request, &turn.answer);
    // The last of several pipelined requests may have been sent after the answer had begun.
    let mut sending = request.last_at.min(answer.first_at).since(request.first_at);
    let mut wait = wait(turn);
    let mut transfer = answer.over_at.since(answer.first_at);
    let repair =
        take(&mut sending, request.spent.repair) + take(&mut transfer, answer.spent.repair);
    let window =
        take(&mut sending, request.spent.window) + take(&mut transfer, answer.spent.window);
    let pauses = take(&mut transfer, answer.spent.paused);
    let network = to_asker + take(&mut wait, to_answerer);
    Parts {
        network,
        sending,
        server: wait,
        transfer,
        repair,
        window,
        pauses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::from;
    use crate::read::turns::{Spent, Turns};
    use crate::read::vantage::Reason;

    /// Returns turns with one packet in each direction, sent at these times in milliseconds.
    fn gathered(times: impl IntoIterator<Item = (f64, f64)>) -> Gathered {
        let mut turns = Turns::new(Side::Opener);
        let mut gathered = Gathered::new(Side::Opener);
        let (mut client, mut server) = (1, 1);
        for (asked, answered) in times {
            let packets = [
                (
                    Side::Opener,
                    from(Side::Opener, asked, client).len(10).ack(server),
                ),
                (
                    Side::Answerer,
                    from(Side::Answerer, answered, server)
                        .len(20)
                        .ack(client + 10),
                ),
            ];
            client += 10;
            server += 20;
            for (side, packet) in packets {
                if let Some(turn) = turns.take(side, &packet, Spent::default) {
                    gathered.take(&turn);
                }
            }
        }
        if let Some(turn) = turns.finish() {
            gathered.take(&turn);
        }
        gathered
    }

    fn millis(time: Duration) -> u64 {
        time.as_nanos() / 1_000_000
    }

    fn vantage(to_sender: u64, to_receiver: u64) -> Vantage {
        Vantage {
            place: match to_receiver {
                0 => Place::Unknown,
                _ => Place::Middle,
            },
            to_sender: Duration::from_millis(to_sender),
            to_receiver: Duration::from_millis(to_receiver),
            reason: Reason::Handshake,
        }
    }

    #[test]
    fn the_distances_to_both_ends_are_the_network() {
        let found = gathered([(0.0, 50.0), (100.0, 180.0)]);
        let found = found.finish(&vantage(10, 30), None).unwrap();
        let times = |quantiles: Quantiles| {
            let Quantiles { p50, p95, max } = quantiles;
            [p50, p95, max].map(millis)
        };
        assert_eq!(times(found.duration), [60, 90, 90]);
        assert_eq!(times(found.server), [20, 50, 50]);
        let worst = found.worst[0];
        assert_eq!(worst.number, 2);
        assert_eq!(worst.think, Some(Duration::from_millis(40)));
        assert_eq!(worst.parts.network, Duration::from_millis(40));
        assert_eq!(worst.parts.server, Duration::from_millis(50));
        assert_eq!(worst.duration(), Duration::from_millis(90));
    }

    #[test]
    fn without_a_vantage_the_round_trip_is_the_paths() {
        let gathered = gathered([(0.0, 50.0), (100.0, 180.0)]);
        let found = |round_trip| {
            let found = gathered.clone().finish(&vantage(0, 0), round_trip);
            let found = found.unwrap();
            (found.round_trip, found.server.max)
        };
        let trip = Some(Duration::from_millis(20));
        assert_eq!(found(trip), (trip, Duration::from_millis(60)));
        assert_eq!(found(None), (None, Duration::from_millis(80)));
    }

    #[test]
    fn long_waits_without_an_ack_or_answer_are_counted() {
        let mut turns = Turns::new(Side::Opener);
        let mut gathered = Gathered::new(Side::Opener);
        for n in 0..4_u32 {
            let (at, ask, answer) = (f64::from(n) * 1000.0, 1 + n * 10, 1 + n * 20);
            let mut packets = vec![from(Side::Opener, at, ask).len(10).ack(answer)];
            // The second request is acknowledged soon, and the third one after it was retransmitted. The last one is
            // answered at once.
            if n == 1 {
                packets.push(from(Side::Answerer, at + 60.0, answer).ack(ask + 10));
            }
            if n == 2 {
                packets.push(from(Side::Opener, at + 250.0, ask).len(10).ack(answer));
                packets.push(from(Side::Answerer, at + 270.0, answer).ack(ask + 10));
            }
            let answered = at + if n == 3 { 90.0 } else { 400.0 };
            packets.push(from(Side::Answerer, answered, answer).len(20).ack(ask + 10));
            for packet in packets {
                let side = match packet.segment.len {
                    10 => Side::Opener,
                    _ => Side::Answerer,
                };
                if let Some(turn) = turns.take(side, &packet, Spent::default) {
                    gathered.take(&turn);
                }
            }
        }
        gathered.take(&turns.finish().unwrap());
        let unheard = |way| {
            gathered
                .clone()
                .finish(&vantage(0, way), None)
                .unwrap()
                .unheard
        };
        assert_eq!(unheard(20), Duration::from_millis(2 * 380));
        assert_eq!(unheard(250), Duration::ZERO);
    }

    #[test]
    fn a_single_turn_gives_no_table() {
        assert_eq!(gathered([(0.0, 50.0)]).finish(&vantage(0, 10), None), None);
    }

    #[test]
    fn the_worst_requests_are_kept_and_all_are_counted() {
        // The durations are multiples of 10 ms, in an order in which the shortest of the stored turns is often
        // replaced.
        let times = (1..=1000_u32).map(|n| {
            let at = f64::from(n) * 20_000.0;
            (at, at + f64::from(n * 7919 % 1009) * 10.0)
        });
        let found = gathered(times).finish(&vantage(0, 0), None).unwrap();
        assert_eq!((found.count, found.worst.len()), (1000, WORST_MAX));
        let durations: Vec<u64> = found
            .worst
            .iter()
            .map(|worst| millis(worst.duration()) / 10)
            .collect();
        let mut all: Vec<u64> = (1..=1000).map(|n| n * 7919 % 1009).collect();
        all.sort_unstable();
        let largest: Vec<u64> = all.iter().rev().take(WORST_MAX).copied().collect();
        assert_eq!(durations, largest);
        let near = |told: Duration, rank: usize| {
            let right = all[rank] * 10;
            let off = millis(told).abs_diff(right);
            assert!(off * 200 <= right, "{told:?} is not {right} ms");
        };
        near(found.duration.p50, 499);
        near(found.duration.p95, 949);
        assert_eq!(millis(found.duration.max), all[999] * 10);
    }
}
