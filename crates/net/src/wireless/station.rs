//! A station: its interface queue, its backoff, and the state of its MAC.

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::airtime::Airtime;
use super::counters::StationCounters;
use crate::ids::LinkId;
use crate::link::{Offer, QueueLimit};
use crate::random::Stream;

/// A packet at a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) offer: Offer,
    pub(super) link: LinkId,
    pub(super) to: u8,
}

/// Packet that the MAC works on, with the results of its attempts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) queued: Queued,
    pub(super) airtime: Duration,
    pub(super) protection: Protection,
    /// State of the arrival. Once a copy has arrived, further copies are only acknowledged.
    pub(super) arrival: Arrival,
    /// Short retry count: failed attempts with a short frame or an RTS since the last CTS.
    pub(super) short_retries: u32,
    /// Long retry count: failed attempts with a long frame.
    pub(super) long_retries: u32,
    /// Number of all failed attempts. `corrupted` is the number of those with a corrupted data frame.
    pub(super) failures: u32,
    pub(super) corrupted: u32,
    /// State of the current attempt.
    pub(super) attempt: Attempt,
}

/// Access method of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Basic access.
    None,
    /// RTS and CTS before the frame.
    Rts,
}

/// Progress of a packet to the next station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    NotYet,
    Done,
}

/// State of the current attempt's data frame, as known to the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Clean,
    Corrupted,
}

/// State of a station's MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Contending for the channel, or without a packet.
    Free,
    /// About to send this frame, a SIFS after the frame that it answers.
    Answering(Frame),
    /// Transmitting this frame.
    Sending(Frame),
    /// Waiting for the answer to an RTS or a data frame.
    Awaiting(Answer),
}

/// A frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    pub(super) to: u8,
    /// Duration of the remaining exchange after this frame. Other stations put it into their NAV.
    pub(super) reserves: Duration,
}

/// The four frames of DCF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Rts,
    Cts,
    Data,
    Ack,
}

/// The two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Cts,
    Ack,
}

/// Backoff (IEEE 802.11-2007 §9.2.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backoff {
    /// No backoff: a packet is sent as soon as the channel has been idle for DIFS or EIFS.
    None,
    /// Number of idle slots that still have to pass.
    Slots(u32),
}

/// Frame that a receiver is locked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    pub(super) sender: u8,
    pub(super) since: Instant,
    pub(super) state: Reception,
}

/// State of a reception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception {
    Intact,
    Destroyed,
}

/// A station at run time.
#[derive(Clone, Debug)]
pub(super) struct Station {
    pub(super) phase: Phase,
    pub(super) backoff: Backoff,
    /// Contention window.
    pub(super) cw: u32,
    /// Time since which the station has sensed no carrier and has not transmitted; far in the future if it senses a
    /// carrier or transmits.
    pub(super) idle_since: Instant,
    /// End of EIFS after a frame in error; a received frame ends it early.
    pub(super) eifs_until: Instant,
    /// End of the reservation of the channel by other stations.
    pub(super) nav: Instant,
    pub(super) lock: Option<Lock>,
    pub(super) head: Option<Head>,
    pub(super) queue: VecDeque<Queued>,
    pub(super) queue_bytes: u64,
    pub(super) busy_from: Instant,
    pub(super) counters: StationCounters,
    pub(super) random: Draws,
}

/// Random streams of a station, one per purpose.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    pub(super) backoff: Stream,
    pub(super) frame_error: Stream,
    pub(super) packet_error: Stream,
}

impl Head {
    /// Returns the first frame that the station sends for the packet.
    pub(super) fn first_frame(&self, times: &Airtime) -> Frame {
        match self.protection {
            Protection::None => self.data_frame(times),
            Protection::Rts => Frame {
                kind: FrameKind::Rts,
                to: self.queued.to,
                reserves: times.sifs * 3 + times.cts + self.airtime + times.ack,
            },
        }
    }

    /// Returns the frame with the packet itself.
    pub(super) fn data_frame(&self, times: &Airtime) -> Frame {
        Frame {
            kind: FrameKind::Data,
            to: self.queued.to,
            reserves: times.sifs + times.ack,
        }
    }
}

impl Draws {
    fn derive(seed: u64, name: &str) -> Self {
        let stream = |purpose: &str| Stream::derive(seed, &format!("{name} {purpose}"));
        Self {
            backoff: stream("backoff"),
            frame_error: stream("frame error"),
            packet_error: stream("packet error"),
        }
    }
}

impl Station {
    /// Creates a station called `name` that has always been idle.
    pub(super) fn new(cw_min: u32, seed: u64, name: &str) -> Self {
        Self {
            phase: Phase::Free,
            backoff: Backoff::None,
            cw: cw_min,
            idle_since: Instant::ZERO,
            eifs_until: Instant::ZERO,
            nav: Instant::ZERO,
            lock: None,
            head: None,
            queue: VecDeque::new(),
            queue_bytes: 0,
            busy_from: Instant::ZERO,
            counters: StationCounters::default(),
            random: Draws::derive(seed, name),
        }
    }

    /// Returns `true` if another packet of `bytes` bytes fits into the queue.
    pub(super) fn has_room(&self, limit: QueueLimit, bytes: u32) -> bool {
        match limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (self.queue.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.queue_bytes + u64::from(bytes) <= limit,
        }
    }

    pub(super) fn push(&mut self, queued: Queued) {
        self.queue_bytes += u64::from(queued.offer.bytes);
        self.queue.push_back(queued);
    }

    pub(super) fn pop(&mut self) -> Option<Queued> {
        let first = self.queue.pop_front()?;
        self.queue_bytes -= u64::from(first.offer.bytes);
        Some(first)
    }

    /// Returns the time from which backoff slots count: DIFS after the channel became idle and the NAV expired, but not
    /// before the end of EIFS after a frame in error (IEEE 802.11-2007 §9.2.3).
    pub(super) fn slots_from(&self, times: &Airtime) -> Instant {
        (self.idle_since.max(self.nav) + times.difs).max(self.eifs_until)
    }

    /// Returns the time at which the station may send if the channel remains idle.
    pub(super) fn access(&self, times: &Airtime) -> Instant {
        let slots = match self.backoff {
            Backoff::None => 0,
            Backoff::Slots(slots) => slots,
        };
        self.slots_from(times) + times.slot * u64::from(slots)
    }

    /// Draws a backoff, after a failure or a success, or because the channel was busy.
    pub(super) fn draw_backoff(&mut self) {
        let slots = self.random.backoff.below(u64::from(self.cw) + 1);
        self.backoff = Backoff::Slots(slots as u32);
    }

    /// Subtracts the slots that have passed by `now` from the backoff, because the channel becomes busy.
    pub(super) fn freeze(&mut self, now: Instant, times: &Airtime) {
        if self.idle_since == Instant::FAR_FUTURE {
            return;
        }
        match self.backoff {
            Backoff::Slots(slots) => {
                let passed = now.since(self.slots_from(times)).as_nanos() / times.slot.as_nanos();
                let left = u64::from(slots).saturating_sub(passed);
                self.backoff = match (left, self.head) {
                    (0, None) if now >= self.slots_from(times) => Backoff::None,
                    _ => Backoff::Slots(left as u32),
                };
            }
            // The station was about to send without backoff, but the channel is no longer idle.
            Backoff::None if self.head.is_some() && self.phase == Phase::Free => {
                self.draw_backoff();
            }
            Backoff::None => {}
        }
        self.idle_since = Instant::FAR_FUTURE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wireless::RadioConfig;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// Creates a station whose channel has been idle since 1 ms, with a backoff of ten slots.
    fn counting() -> (Station, Airtime) {
        let mut station = Station::new(31, 1, "station");
        station.idle_since = at(1000);
        station.backoff = Backoff::Slots(10);
        (station, Airtime::new(&RadioConfig::DSSS_11_MBPS))
    }

    #[test]
    fn whole_slots_after_difs_are_subtracted() {
        // DIFS ends at 1050 µs; 65 µs later, three slots of 20 µs have passed.
        for (now, left) in [(1030, 10), (1069, 10), (1070, 9), (1115, 7)] {
            let (mut station, times) = counting();
            assert_eq!(station.access(&times), at(1250));
            station.freeze(at(now), &times);
            assert_eq!(station.backoff, Backoff::Slots(left), "{now}");
            assert_eq!(station.idle_since, Instant::FAR_FUTURE);
        }
    }

    #[test]
    fn slots_count_after_nav_and_eifs_only() {
        let (mut station, times) = counting();
        station.nav = at(1200);
        assert_eq!(station.access(&times), at(1450));
        station.eifs_until = at(1300);
        assert_eq!(station.access(&times), at(1500));
    }

    #[test]
    fn a_backoff_expires_without_a_packet() {
        let (mut station, times) = counting();
        station.freeze(at(1250), &times);
        assert_eq!(station.backoff, Backoff::None);
    }
}
