//! Estimates that a survey computes from its statistics.

use dupack_tcp::facts::LossCause;
use dupack_tcp::time::Duration;

use super::losses::{Kinds, Overflow, bursts_of_unknown_cause};
use super::policer::Found;
use super::rate::Spreading;
use super::reordering::Order;
use super::writes::Write;
use super::{
    Acknowledging, Bursts, Clustering, Company, Distance, Duplicates, Policer, Reordering, Spread,
    Steadiness, Survey, Vote, policer,
};
use crate::analyse::budget::{Filling, PathFacts};
use crate::read::vantage::Place;
use crate::told::Told;

/// Maximum spread of the queueing delays at overflows, as a fraction of their median. If the spread is greater, the
/// queue drops packets before it is full (our choice).
const EARLY: f64 = 0.35;

/// Maximum ratio of the queue to the maximum flight size without cross traffic in the queue (our choice: the flight
/// size is known to within a few packets).
const OURS: f64 = 1.25;

/// Mean remaining transmission time of the packet on the link when another packet finds the queue full, in transmission
/// times of a packet (our choice: on average, half of the packet has been transmitted).
const HALF_A_PACKET: f64 = 0.5;

/// Reason for an unknown rate that a policer may hide, and the capture that would show it.
const PERHAPS_POLICED: &str = "losses look like those of a policer, and several rates explain them";
const LONGER: &str = "a capture of a longer transfer";

/// Estimates of a path from one data stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Path {
    /// Capture point.
    pub place: Place,
    /// Minimum round-trip time of a full segment and its ACK.
    pub least_rtt: Told<Duration>,
    /// Distribution of round-trip times; `None` without samples.
    pub round_trips: Option<Spread>,
    /// Rate of the bottleneck in bit/s, including IP and TCP headers. If there is a policer, it is the policer's rate.
    pub rate: Told<f64>,
    /// Steadiness of the rate.
    pub steadiness: Steadiness,
    /// Presence of cross traffic in the bottleneck's queue.
    pub company: Company,
    /// Fraction of the measured stretches in which packets arrived unevenly, as with cross traffic.
    pub uneven: f64,
    /// Fraction of the packets that waited longer than this flow's own packets in the queue explain.
    pub foreign: f64,
    /// Fraction of the time with outstanding data in which the bottleneck did not pause.
    pub full: f64,
    /// Number of deliveries with a known delay, on which `full` is based.
    pub timed: u64,
    /// Size of the bottleneck's buffer.
    pub room: Told<Room>,
    /// Number of lost transmissions of segments.
    pub losses: u64,
    /// Number of transmissions of segments.
    pub transmissions: u64,
    /// Fraction of the transmissions that were lost.
    pub loss: Told<f64>,
    /// Fraction of the transmissions that were lost for other reasons than a full queue.
    pub random_loss: Told<f64>,
    /// Fraction of the losses that a full queue caused, according to the delays near the losses.
    pub queue_share: Told<f64>,
    /// Bursts of the losses that were not caused by a full queue.
    pub bursts: Bursts,
    /// Votes of the loss differentiations about the loss events.
    pub votes: Vec<Vote>,
    /// Reordering of packets.
    pub reordering: Reordering,
    /// ACK behaviour of the receiver.
    pub acks: Acknowledging,
    /// Policer, if the losses show one.
    pub policer: Option<Policer>,
    /// Mahimahi trace of the path; `None` if the rate is constant, or unknown for much of the time.
    pub trace: Option<String>,
    /// Size of a full segment in bytes.
    pub smss: u64,
    /// Header length of a data packet in bytes.
    pub headers: u64,
    /// Facts about the transfer.
    pub transfer: Transfer,
}

/// Size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Size in bytes, including headers.
    pub bytes: f64,
    /// Size in full packets.
    pub packets: f64,
}

/// Facts about a transfer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Transfer {
    /// Number of acknowledged bytes.
    pub bytes: u64,
    /// Time from the first segment to the last ACK of new data.
    pub duration: Duration,
    /// Number of expiries of the retransmission timer.
    pub timeouts: u64,
    /// Number of retransmitted segments.
    pub retransmissions: u64,
    /// 95 % quantile of the granted receive windows in bytes, with an error of at most 0.4 %; `None` if the window
    /// scale is unknown.
    pub receive_window: Option<u64>,
    /// Writes of the application, as far as pauses show them.
    pub writes: Vec<Write>,
}

impl Transfer {
    /// Returns the rate of acknowledged payload in bit/s.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        let seconds = self.duration.as_secs_f64();
        if seconds > 0.0 {
            self.bytes as f64 * 8.0 / seconds
        } else {
            0.0
        }
    }
}

/// Minimum number of deliveries with known delays to conclude that no packet waited for earlier ones at a bottleneck
/// (our choice).
const MANY: u64 = 32;

/// Quantile of the granted windows that is reported: a receiver rarely grants its largest windows, for example before
/// it has buffered any data (our choice).
const GRANTED: f64 = 0.95;

/// Size of a handshake segment on the wire in bytes: headers, and 20 bytes of options in most cases.
const SHORT: u64 = 60;

/// Converts a round-trip time that was measured with short segments on the path to the sender to that of segments with
/// `full` bytes on the wire. `packet` is the transmission time of such a segment at the bottleneck, and `slowest` is an
/// upper bound of it.
fn longer(
    told: Told<Duration>,
    (packet, slowest): (Duration, Duration),
    full: u64,
) -> Told<Duration> {
    let part = full.saturating_sub(SHORT) as f64 / full.max(1) as f64;
    let beyond = |packet: Duration| Duration::from_secs_f64(packet.as_secs_f64() * part);
    let slowest = slowest.max(packet);
    // If only a bound of the rate is known, it may be the rate of the application, so the additional time of a full
    // segment is unknown.
    match told {
        Told::Between { value, low, high } => Told::Between {
            value: value + beyond(packet),
            low: low + beyond(packet),
            high: high + beyond(slowest),
        },
        other => other,
    }
}

/// Returns the rate of the bottleneck: that of the policer if there is one, or else that of the link, `link`.
const fn limiting(link: Told<f64>, found: Option<Found>) -> Told<f64> {
    match found {
        Some(Found::One(policer)) => policer.rate,
        Some(Found::Perhaps(bound)) => Told::AtLeast {
            bound,
            why: PERHAPS_POLICED,
            remedy: LONGER,
        },
        None => link,
    }
}

impl Survey {
    /// Returns the current estimates of the path.
    #[must_use]
    pub fn path(&self) -> Path {
        let least = self.trips.least();
        let rate = self.rates.told();
        let full_packet = (self.smss + self.headers) as f64;
        let packet = rate.value().map(|rate| full_packet * 8.0 / rate);
        let packet = packet.map_or(Duration::ZERO, Duration::from_secs_f64);
        // If only a lower bound of the rate is known, it gives an upper bound of the transmission time.
        let slowest = rate.at_least().map(|rate| full_packet * 8.0 / rate);
        let slowest = slowest.map_or(packet, Duration::from_secs_f64);
        let base = match self.place {
            Place::Receiver => self.way.or(least),
            _ => self.trips.least_alone(packet),
        };
        let base = base.unwrap_or_default();
        let kinds = self.losses.kinds(base, packet);
        let found = self.policer(base, rate);
        let policer = found.and_then(Found::one);
        let random = |lost: &super::losses::Lost| {
            let queueing = lost.delay.map(|delay| delay.saturating_sub(base));
            policer.is_none() && !queueing.is_some_and(|q| kinds.is_congestive(q))
        };
        let bursts = self.losses.bursts(&random);
        let clumping = match policer {
            // The losses at a policer also occur in bursts.
            Some(_) => self.losses.bursts(&|_| true).clumping(),
            None => bursts.clumping(),
        };
        let queue_share = match found {
            Some(Found::Perhaps(_)) => Told::CannotBeTold {
                why: PERHAPS_POLICED,
                remedy: LONGER,
            },
            _ => self.queue_share(&kinds, clumping, policer.is_some()),
        };
        let random_loss = self.random_loss(&queue_share, clumping, policer.is_some());
        let bursts = match random_loss {
            Told::CannotBeTold { why, remedy } => bursts_of_unknown_cause(why, remedy),
            Told::Between { .. } | Told::AtLeast { .. } => bursts,
        };
        Path {
            place: self.place,
            least_rtt: self.least_rtt(packet, slowest),
            round_trips: self.trips.spread(),
            steadiness: self.rates.steadiness(),
            company: self.rates.company(),
            uneven: self.rates.uneven(),
            foreign: self.rates.foreign(),
            full: self.full(),
            timed: self.timed,
            room: match &policer {
                None => self.room(&rate, &kinds, base, full_packet),
                Some(_) => Told::CannotBeTold {
                    why: "a policer drops packets before a queue is full",
                    remedy: "a capture of another path",
                },
            },
            losses: self.losses.count(),
            transmissions: self.losses.transmissions(),
            loss: self.losses.rate((1.0, (1.0, 1.0)), clumping).map(share),
            random_loss: random_loss.map(share),
            queue_share: queue_share.map(share),
            votes: self.judges.count(&self.judged(&kinds, base)),
            bursts,
            reordering: self.overtaking.told(self.order()),
            acks: self.acks.told(least, rate.value()),
            policer,
            trace: self.trace(),
            rate: limiting(rate, found).map(f64::floor),
            smss: self.smss,
            headers: self.headers,
            transfer: self.transfer(),
        }
    }

    /// Returns the minimum round-trip time. It is at most the mean of the samples, and at most the round-trip time of
    /// the handshake plus the transmission time of a full packet at the bottleneck.
    fn least_rtt(&self, packet: Duration, slowest: Duration) -> Told<Duration> {
        let told = self.least_of_samples(packet, slowest);
        // At the receiver, the samples are delays in excess of the minimum.
        let mean = self.trips.mean().filter(|_| self.place != Place::Receiver);
        let handshake = self.handshake.map(|short| short + slowest.max(packet));
        let bounds = [mean, handshake];
        let Some(bound) = bounds.into_iter().flatten().min() else {
            return told;
        };
        match told {
            Told::Between { value, low, high } => Told::Between {
                value: value.min(bound),
                low: low.min(bound),
                high: high.min(bound.max(value.min(bound))),
            },
            other => other,
        }
    }

    fn least_of_samples(&self, packet: Duration, slowest: Duration) -> Told<Duration> {
        match self.distance {
            Distance::Known => self.trips.told(packet, slowest),
            Distance::KnownOfShort(handshake) => {
                let told = self.trips.told(packet, slowest);
                // If the delay was measured with data that follows ACKs, it already includes the transmission time of
                // full segments.
                let short = handshake + slowest.max(packet) / 2;
                match told.value() {
                    Some(value) if value < short => {
                        longer(told, (packet, slowest), self.smss + self.headers)
                    }
                    _ => told,
                }
            }
            Distance::Unknown => Told::CannotBeTold {
                why: "the delay between the sender and the capture point is unknown",
                remedy: "a capture at the sender, or one from the beginning of the connection",
            },
        }
    }

    /// Returns the fraction of the losses that the queue caused.
    fn queue_share(&self, kinds: &Kinds, clumping: f64, policed: bool) -> Told<f64> {
        let cannot = |why, remedy| Told::CannotBeTold { why, remedy };
        if self.losses.count() == 0 {
            return cannot("nothing was lost", "a longer capture");
        }
        if policed {
            return Told::Between {
                value: 0.0,
                low: 0.0,
                high: 0.0,
            };
        }
        if self.rates.spread() == Spreading::Wide {
            return cannot(
                "the rate varies, and with it the delay of a full queue",
                "a capture at the bottleneck",
            );
        }
        let Some((value, (low, high))) = kinds.congestive(clumping) else {
            return cannot(
                "the length of the queue at the losses is unknown, or the queue is too short or always full",
                "a capture at the sender, or one with timestamps, of a longer queue that is not always full",
            );
        };
        Told::Between { value, low, high }
    }

    /// Returns the fraction of the transmissions that were lost for other reasons than the queue.
    fn random_loss(&self, queue_share: &Told<f64>, clumping: f64, policed: bool) -> Told<f64> {
        if policed {
            return self.losses.rate((0.0, (0.0, 0.0)), clumping);
        }
        match queue_share {
            Told::Between { value, low, high } => {
                let share = (1.0 - value, (1.0 - high, 1.0 - low));
                self.losses.rate(share, clumping)
            }
            Told::CannotBeTold { why, remedy } if self.losses.count() > 0 => {
                Told::CannotBeTold { why, remedy }
            }
            _ => self.losses.rate((1.0, (1.0, 1.0)), clumping),
        }
    }

    /// Returns the maximum flight size in bytes on the wire.
    const fn flight_max(&self) -> u64 {
        let payload = self.transfer.flight_max;
        self.wire(payload, payload.div_ceil(self.smss))
    }

    fn transfer(&self) -> Transfer {
        let seen = &self.transfer;
        Transfer {
            bytes: seen.acked,
            duration: seen
                .first
                .map_or(Duration::ZERO, |first| seen.last.since(first)),
            timeouts: seen.timeouts,
            retransmissions: seen.retransmissions,
            receive_window: seen
                .windows
                .upper_quantile(GRANTED)
                .map(|window| window.min(seen.window_max)),
            writes: self.writes.kept().to_vec(),
        }
    }

    /// Returns the votes about each loss event, and the cause that the queue shows.
    fn judged(&self, kinds: &Kinds, base: Duration) -> Vec<(u32, Option<LossCause>)> {
        let judged = self.losses.kept().iter().filter_map(|lost| {
            let evidence =
                lost.delay.map(
                    |delay| match kinds.is_congestive(delay.saturating_sub(base)) {
                        true => LossCause::Congestion,
                        false => LossCause::Wireless,
                    },
                );
            Some((lost.votes?, evidence))
        });
        judged.collect()
    }

    const fn order(&self) -> Order {
        match (self.place, self.transfer.duplicates) {
            (Place::Receiver, _) | (_, Duplicates::None | Duplicates::Sack) => Order::Known,
            (_, Duplicates::Bare) => Order::Unknown,
        }
    }

    fn full(&self) -> f64 {
        let seen = &self.transfer;
        let open = seen.active_since.map(|since| seen.last.since(since));
        let active = seen.active + open.unwrap_or_default();
        let share = self.rates.busy().as_secs_f64() / active.as_secs_f64();
        if share.is_finite() {
            share.min(1.0)
        } else {
            0.0
        }
    }

    fn policer(&self, base: Duration, link: Told<f64>) -> Option<Found> {
        let full_packet = (self.smss + self.headers) as f64;
        let found = policer::find(self.losses.kept(), &self.course, base, full_packet, link)?;
        // On a link with a variable rate, the link's own losses may look like those of a policer, because they vary
        // with the rate.
        if self.rates.spread() == Spreading::Narrow {
            return Some(found);
        }
        let rate = found.one()?.rate.value()?;
        (rate <= policer::BELOW_LINK * self.rates.slowest()?).then_some(found)
    }

    fn room(&self, rate: &Told<f64>, kinds: &Kinds, base: Duration, packet: f64) -> Told<Room> {
        const REMEDY: &str = "a capture at the sender of a transfer that overflows the queue";
        let cannot = |why| Told::CannotBeTold {
            why,
            remedy: REMEDY,
        };
        let (Some(rate), Some((low, high))) = (rate.value(), rate.interval()) else {
            return cannot("the bottleneck's rate is unknown");
        };
        if self.rates.spread() == Spreading::Wide {
            return cannot("the rate varies, and with it the delay of a full queue");
        }
        if kinds.overflow == Overflow::NotSeen {
            // A delay longer than the transmission time of all outstanding data has another cause.
            let bytes = kinds.sure.as_secs_f64() * rate / 8.0;
            let bytes = bytes.min(self.flight_max() as f64);
            return Told::AtLeast {
                bound: Room {
                    bytes,
                    packets: bytes / packet,
                },
                why: "there is no evidence that the queue overflowed",
                remedy: REMEDY,
            };
        }
        let full = self.losses.at_overflow(kinds, base);
        let at = |q: f64| {
            let place = (full.len().saturating_sub(1) as f64 * q) as usize;
            full.get(place).map(|delay| delay.as_secs_f64())
        };
        let (Some(tenth), Some(median), Some(ninth)) = (at(0.1), at(0.5), at(0.9)) else {
            return cannot("there is no evidence that the queue overflowed");
        };
        if ninth - tenth > EARLY * median && (ninth - tenth) * rate / 8.0 > 3.0 * packet {
            return cannot(
                "losses begin at different queue lengths: the queue drops packets early",
            );
        }
        let ours = OURS * self.flight_max() as f64 + 2.0 * packet;
        if median * rate / 8.0 > ours {
            return cannot(
                "the queue held more than this transfer had outstanding: it also held cross traffic",
            );
        }
        let room = |delay: f64, rate: f64, more: f64| {
            let bytes = (delay * rate / 8.0 + more * packet).max(0.0);
            Room {
                bytes,
                packets: bytes / packet,
            }
        };
        Told::Between {
            value: room(median, rate, HALF_A_PACKET),
            low: room(tenth, low, -HALF_A_PACKET),
            high: room(ninth, high, 1.0 + HALF_A_PACKET),
        }
    }

    fn trace(&self) -> Option<String> {
        match self.rates.steadiness() {
            Steadiness::Constant | Steadiness::Unknown => None,
            Steadiness::LinkVaries | Steadiness::PerhapsShared => self.over_time.trace(),
        }
    }
}

/// Returns `share`, limited to 0..=1; 0 if it is not a number.
fn share(share: f64) -> f64 {
    if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    }
}

impl Path {
    /// `true` if the losses that were not caused by a full queue come in bursts.
    #[must_use]
    pub fn has_bursts(&self) -> bool {
        self.bursts.clustering == Clustering::Bursts
    }

    /// `true` if the rate varies and is known over time ([`Path::trace`]).
    #[must_use]
    pub fn varies(&self) -> bool {
        self.steadiness == Steadiness::LinkVaries && self.trace.is_some()
    }

    /// Returns the facts that the time budget uses.
    #[must_use]
    pub fn facts(&self) -> PathFacts {
        let wire = (self.smss + self.headers).max(1) as f64;
        let bits = self.rate.value();
        let payload = self.smss as f64 / wire;
        let room = self.room.value().map(|room| room.bytes * 8.0);
        let queue = room.zip(bits.filter(|bits| *bits > 0.0));
        PathFacts {
            rtt_min: self.least_rtt.value(),
            bytes_per_second: bits.map(|bits| bits / 8.0 * payload),
            queue_max: queue.map(|(room, rate)| Duration::from_secs_f64(room / rate)),
            filling: match self.rate {
                Told::AtLeast { .. } if self.full <= 0.0 && self.timed >= MANY => Filling::Never,
                _ => Filling::Perhaps,
            },
        }
    }
}

#[cfg(test)]
mod tests;
