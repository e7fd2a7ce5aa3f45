//! What a survey makes of what it has gathered.

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

/// Overflows whose queueing delays differ by more than this share of their middle are no full queue's but
/// those of one that drops early (ours).
const EARLY: f64 = 0.35;

/// A queue that holds this many times as much as was outstanding at most holds others' packets (ours: what is
/// outstanding is known to some packets).
const OURS: f64 = 1.25;

/// Where in a packet's time a full queue finds the link, on average (ours: an arrival finds the packet in
/// transmission half gone).
const HALF_A_PACKET: f64 = 0.5;

/// Why a policer hides the rate, and what would show it.
const PERHAPS_POLICED: &str =
    "losses come as if a policer made them, and several rates explain them";
const LONGER: &str = "a capture of a longer transfer";

/// What one stream of data tells of its path.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Path {
    /// Where it was seen from.
    pub place: Place,
    /// The least round-trip time, of a full segment and its ACK.
    pub least_rtt: Told<Duration>,
    /// How round-trip times are spread; `None` if there are none.
    pub round_trips: Option<Spread>,
    /// The bottleneck's rate in bit/s, headers of IP and TCP included: the policer's if there is one.
    pub rate: Told<f64>,
    /// Whether it stays the same.
    pub steadiness: Steadiness,
    /// Whether others' packets were in the bottleneck's queue.
    pub company: Company,
    /// The share of the stretches without a pause in which packets came out unevenly, as beside others.
    pub uneven: f64,
    /// The share of the packets that waited longer than for what was ours in the queue.
    pub foreign: f64,
    /// The share of the time with something outstanding in which the bottleneck had no pause.
    pub full: f64,
    /// Deliveries of which the delay is known, by which that is known.
    pub timed: u64,
    /// The room of the bottleneck's queue.
    pub room: Told<Room>,
    /// Transmissions of segments that were lost.
    pub losses: u64,
    /// Transmissions of segments.
    pub transmissions: u64,
    /// The share of the transmissions that was lost.
    pub loss: Told<f64>,
    /// The share that was lost for other reasons than a full queue.
    pub random_loss: Told<f64>,
    /// The share of the losses that a full queue made, by the delays beside them.
    pub queue_share: Told<f64>,
    /// In what bursts those came that no full queue made.
    pub bursts: Bursts,
    /// What loss differentiations say of the loss events.
    pub votes: Vec<Vote>,
    /// Packets that others overtook.
    pub reordering: Reordering,
    /// How ACKs come.
    pub acks: Acknowledging,
    /// A policer, if the losses look like one's.
    pub policer: Option<Policer>,
    /// The path over time as a Mahimahi trace, where its rate varies and it was full for most of the time.
    pub trace: Option<String>,
    /// Bytes of a full segment.
    pub smss: u64,
    /// Bytes of the headers of a data packet.
    pub headers: u64,
    /// How the transfer went.
    pub transfer: Transfer,
}

/// The room of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// In bytes, headers included.
    pub bytes: f64,
    /// In full packets.
    pub packets: f64,
}

/// How a transfer went.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Transfer {
    /// Bytes that were acknowledged.
    pub bytes: u64,
    /// From the first segment until everything that was acknowledged was.
    pub duration: Duration,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// The receive window in bytes, within 0.4 %: all but the largest 5 % of those that were granted are no larger;
    /// `None` if their scale is not known.
    pub receive_window: Option<u64>,
    /// What the application wrote when, as far as pauses tell.
    pub writes: Vec<Write>,
}

impl Transfer {
    /// Payload acknowledged per second, in bit per second.
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

/// So many deliveries whose delays are known would show it if one of them waited for those before it at a bottleneck (ours).
const MANY: u64 = 32;

/// A receiver grants the largest of its windows at times only, such as before it has anything to keep (ours).
const GRANTED: f64 = 0.95;

/// Bytes of a segment of a handshake on the wire: headers, and 20 bytes of options at most times.
const SHORT: u64 = 60;

/// A round trip whose way to the sender is that of short segments, for one whose data is `full` bytes long, which is
/// `packet` at the bottleneck, or up to `slowest`.
fn longer(
    told: Told<Duration>,
    (packet, slowest): (Duration, Duration),
    full: u64,
) -> Told<Duration> {
    let part = full.saturating_sub(SHORT) as f64 / full.max(1) as f64;
    let beyond = |packet: Duration| Duration::from_secs_f64(packet.as_secs_f64() * part);
    let slowest = slowest.max(packet);
    // Where the rate has only a bound, that may be the application's, and nothing tells how much longer a full segment takes.
    match told {
        Told::Between { value, low, high } => Told::Between {
            value: value + beyond(packet),
            low: low + beyond(packet),
            high: high + beyond(slowest),
        },
        other => other,
    }
}

/// The rate of the bottleneck: a policer's, or `link`, that of the link.
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
    /// What is known of the path by now.
    #[must_use]
    pub fn path(&self) -> Path {
        let least = self.trips.least();
        let rate = self.rates.told();
        let full_packet = (self.smss + self.headers) as f64;
        let packet = rate.value().map(|rate| full_packet * 8.0 / rate);
        let packet = packet.map_or(Duration::ZERO, Duration::from_secs_f64);
        // Where the rate is not known, it is no less than its bound.
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
            // What it drops comes in bursts, too.
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
                    why: "a policer drops before a queue is full",
                    remedy: "a capture of another way",
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

    /// The least round-trip time: no more than the mean of what data shows, nor than the handshake took and a full packet takes
    /// at most.
    fn least_rtt(&self, packet: Duration, slowest: Duration) -> Told<Duration> {
        let told = self.least_of_samples(packet, slowest);
        // At the receiver samples are of how long data was under way beyond the least.
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
                // Data that follows ACKs may have told the way, too: then it is that of full segments.
                let short = handshake + slowest.max(packet) / 2;
                match told.value() {
                    Some(value) if value < short => {
                        longer(told, (packet, slowest), self.smss + self.headers)
                    }
                    _ => told,
                }
            }
            Distance::Unknown => Told::CannotBeTold {
                why: "nothing tells how far the sender is from where the capture was taken",
                remedy: "a capture at the sender, or one from the beginning of the connection",
            },
        }
    }

    /// The share of the losses that the queue made.
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
                "the rate varies, and with it how long a full queue takes",
                "a capture at the bottleneck",
            );
        }
        let Some((value, (low, high))) = kinds.congestive(clumping) else {
            return cannot(
                "nothing tells how long the queue was when segments were lost, or it is too short, or always full",
                "a capture at the sender, or one with timestamps, of a longer queue that is not always full",
            );
        };
        Told::Between { value, low, high }
    }

    /// The share of the transmissions that was lost for other reasons than the queue.
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

    /// The most that was outstanding at once, as bytes on the wire.
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

    /// Each loss event's votes, and the cause that the queue's evidence gives.
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
        // Where the link varies, its own losses come and go with its rate.
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
            return cannot("the bottleneck's rate is not known");
        };
        if self.rates.spread() == Spreading::Wide {
            return cannot("the rate varies, and with it how long a full queue takes");
        }
        if kinds.overflow == Overflow::NotSeen {
            // Longer than all that was outstanding takes, it waited for something else.
            let bytes = kinds.sure.as_secs_f64() * rate / 8.0;
            let bytes = bytes.min(self.flight_max() as f64);
            return Told::AtLeast {
                bound: Room {
                    bytes,
                    packets: bytes / packet,
                },
                why: "nothing shows that the queue overflowed",
                remedy: REMEDY,
            };
        }
        let full = self.losses.at_overflow(kinds, base);
        let at = |q: f64| {
            let place = (full.len().saturating_sub(1) as f64 * q) as usize;
            full.get(place).map(|delay| delay.as_secs_f64())
        };
        let (Some(tenth), Some(median), Some(ninth)) = (at(0.1), at(0.5), at(0.9)) else {
            return cannot("nothing shows that the queue overflowed");
        };
        if ninth - tenth > EARLY * median && (ninth - tenth) * rate / 8.0 > 3.0 * packet {
            return cannot("losses begin at different lengths of the queue: it drops early");
        }
        let ours = OURS * self.flight_max() as f64 + 2.0 * packet;
        if median * rate / 8.0 > ours {
            return cannot("more waited in the queue than was outstanding: others were in it, too");
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

/// `share` within 0 and 1.
fn share(share: f64) -> f64 {
    if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    }
}

impl Path {
    /// Whether its losses that no full queue made come in bursts.
    #[must_use]
    pub fn has_bursts(&self) -> bool {
        self.bursts.clustering == Clustering::Bursts
    }

    /// `true` if its rate varies, and is known over time ([`Path::trace`]).
    #[must_use]
    pub fn varies(&self) -> bool {
        self.steadiness == Steadiness::LinkVaries && self.trace.is_some()
    }

    /// The facts that the budget of time rests on.
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
