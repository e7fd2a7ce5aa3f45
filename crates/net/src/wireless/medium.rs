//! The channel and its frame exchanges: DCF (IEEE 802.11-2007 §9.2) for all stations together.
//!
//! Each station has at most one instant at which it acts next, in `due`: the end of its frame, the end of the SIFS
//! before its answer, the end of its wait for an answer, or its access to the channel. Backoff slots are not events.
//! While the channel is idle, the access time is known: the time since which it is idle, plus DIFS or EIFS, plus the
//! slots. When a carrier appears, the whole slots that have passed are subtracted. Stations that access the channel at
//! the same instant all transmit, and collide.

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::airtime::Airtime;
use super::config::{Answering, Position, RadioConfig, RtsThreshold, SensedFrames};
use super::counters::StationCounters;
use super::reach::{Reach, Stations, members, only};
use super::station::{
    Answer, Arrival, Attempt, Backoff, Frame, FrameKind, Head, Lock, Phase, Protection, Queued,
    Reception, Station,
};
use crate::ids::{LinkId, StationId};
use crate::link::{Admission, DropCause, Fate, Offer};

/// Two ends of a radio link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioPort {
    /// Station in whose queue packets enter the link.
    pub from: StationId,
    /// Station that receives the packets.
    pub to: StationId,
}

/// A packet whose transmission on a medium has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmitted {
    /// Radio link on which the packet was offered.
    pub link: LinkId,
    /// The packet as it was offered.
    pub packet: Offer,
    /// Fate of the packet. Media never deliver a packet twice.
    pub fate: Fate,
}

/// A shared channel and its stations at run time.
#[derive(Clone, Debug)]
pub struct Medium {
    config: RadioConfig,
    times: Airtime,
    reach: Reach,
    stations: Vec<Station>,
    /// Time of each station's next action.
    due: Vec<Instant>,
    /// Earliest time in `due`.
    next: Instant,
    /// Stations that are transmitting.
    on_air: Stations,
    outcomes: VecDeque<Transmitted>,
}

/// Time of an action that is not planned.
const NEVER: Instant = Instant::FAR_FUTURE;

impl Medium {
    /// Creates a medium with the given stations, each with its name and position, in the run with `seed`. The seed and
    /// the names determine all random numbers. The topology builder has validated the configuration.
    #[must_use]
    pub fn new(config: &RadioConfig, stations: &[(String, Position)], seed: u64) -> Self {
        let places: Vec<_> = stations.iter().map(|(_, place)| *place).collect();
        Self {
            times: Airtime::new(config),
            reach: Reach::new(config, &places),
            stations: stations
                .iter()
                .map(|(name, _)| Station::new(config.cw_min, seed, name))
                .collect(),
            due: vec![NEVER; stations.len()],
            next: NEVER,
            on_air: 0,
            outcomes: VecDeque::new(),
            config: config.clone(),
        }
    }

    /// Offers a packet of `link` to the station where the link begins. Calls must be in the order of time.
    pub fn offer(
        &mut self,
        now: Instant,
        packet: &Offer,
        link: LinkId,
        port: RadioPort,
    ) -> Admission {
        let s = port.from.index();
        let queued = Queued {
            offer: *packet,
            link,
            to: port.to.0 as u8,
        };
        let station = &mut self.stations[s];
        if station.head.is_some() {
            if !station.has_room(self.config.queue, packet.bytes) {
                station.counters.queue_drops += 1;
                return Admission::Dropped(DropCause::QueueFull);
            }
            station.push(queued);
        } else {
            let head = self.head_of(queued);
            self.begin_contention(s, head, now);
        }
        Admission::Accepted {
            wait: Duration::ZERO,
        }
    }

    /// Returns the time of the next event, assuming that no packet is offered before.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        (self.next != NEVER).then_some(self.next)
    }

    /// Handles everything that is due at `now`. The fates of packets are fetched with [`Medium::take_outcome`].
    pub fn advance(&mut self, now: Instant) {
        let (mut ended, mut expired, mut started) = (0, 0, 0);
        for (s, &due) in self.due.iter().enumerate() {
            if due <= now {
                match self.stations[s].phase {
                    Phase::Sending(_) => ended |= only(s),
                    Phase::Awaiting(_) => expired |= only(s),
                    Phase::Free | Phase::Answering(_) => started |= only(s),
                }
            }
        }
        self.on_air &= !ended;
        for s in members(ended) {
            self.end(s, ended, now);
        }
        for s in members(expired) {
            self.fail(s, now);
        }
        for s in members(started) {
            self.start(s, now);
        }
        // A receiver can lock on a frame only when all frames that begin at this instant are known.
        for s in members(started) {
            self.spread(s, now);
        }
        self.plan();
    }

    /// Returns the next packet whose transmission has ended. Packets are returned in the order of time.
    pub fn take_outcome(&mut self) -> Option<Transmitted> {
        self.outcomes.pop_front()
    }

    /// Returns `true` if [`Medium::take_outcome`] would return a packet.
    #[must_use]
    pub fn has_outcome(&self) -> bool {
        !self.outcomes.is_empty()
    }

    /// Returns the counters of a station. Busy time is counted up to the last change.
    #[must_use]
    pub fn counters(&self, station: StationId) -> &StationCounters {
        &self.stations[station.index()].counters
    }

    /// Returns the number of stations.
    #[must_use]
    pub fn station_count(&self) -> usize {
        self.stations.len()
    }

    /// Returns the durations of frames and exchanges on the channel.
    #[must_use]
    pub const fn times(&self) -> &Airtime {
        &self.times
    }

    /// Returns the packets and bytes in a station's interface queue, without the packet that its MAC works on.
    #[must_use]
    pub fn backlog(&self, station: StationId) -> (u64, u64) {
        let station = &self.stations[station.index()];
        (station.queue.len() as u64, station.queue_bytes)
    }

    /// Returns the stations that transmit, with their frames.
    #[cfg(test)]
    pub(super) fn frames(&self) -> Vec<(usize, FrameKind)> {
        let frames = self.stations.iter().enumerate();
        frames
            .filter_map(|(s, station)| match station.phase {
                Phase::Sending(frame) => Some((s, frame.kind)),
                _ => None,
            })
            .collect()
    }

    /// Gives an idle station `s` a packet, so that the station contends for the channel.
    fn begin_contention(&mut self, s: usize, head: Head, now: Instant) {
        let station = &mut self.stations[s];
        station.head = Some(head);
        let answering = station.phase != Phase::Free && self.config.answering == Answering::Busy;
        let idle = station.idle_since != NEVER && station.nav <= now && !answering;
        match station.backoff {
            // The backoff after the last packet has expired.
            Backoff::Slots(_) if idle && station.access(&self.times) <= now => {
                station.backoff = Backoff::None;
            }
            Backoff::None if !idle => station.draw_backoff(),
            Backoff::Slots(_) | Backoff::None => {}
        }
        self.schedule(s, now);
        self.next = self.next.min(self.due[s]);
    }

    fn head_of(&self, queued: Queued) -> Head {
        let packet_bytes = queued.offer.bytes;
        let frame_bytes =
            packet_bytes.saturating_add(self.config.mac_bytes + self.config.llc_bytes);
        Head {
            queued,
            airtime: self.times.data(packet_bytes),
            protection: match self.config.rts_threshold {
                RtsThreshold::Above(bytes) if frame_bytes > bytes => Protection::Rts,
                RtsThreshold::Above(_) | RtsThreshold::Off => Protection::None,
            },
            arrival: Arrival::NotYet,
            short_retries: 0,
            long_retries: 0,
            failures: 0,
            corrupted: 0,
            attempt: Attempt::Clean,
        }
    }

    /// Moves the next packet from the queue to the MAC, if there is one.
    fn take_next(&mut self, s: usize) {
        let next = self.stations[s].pop();
        self.stations[s].head = next.map(|queued| self.head_of(queued));
    }

    /// Schedules a free station's access to the channel.
    fn schedule(&mut self, s: usize, now: Instant) {
        let station = &self.stations[s];
        if station.phase != Phase::Free {
            return;
        }
        self.due[s] = if station.head.is_some() && station.idle_since != NEVER {
            station.access(&self.times).max(now)
        } else {
            NEVER
        };
    }

    fn plan(&mut self) {
        // This loop has a branch that is rarely taken, and is faster than the iterator's minimum.
        let mut next = NEVER;
        for &due in &self.due {
            if due < next {
                next = due;
            }
        }
        self.next = next;
    }

    /// Returns `true` if `s` neither senses a carrier nor transmits.
    fn is_idle(&self, s: usize) -> bool {
        self.on_air & (self.reach.senses(s) | only(s)) == 0
    }

    /// Updates the state of `s` because the channel is busy for it.
    fn pause(&mut self, s: usize, now: Instant) {
        let station = &mut self.stations[s];
        if station.idle_since == NEVER {
            return;
        }
        station.freeze(now, &self.times);
        station.busy_from = now;
        self.schedule(s, now);
    }

    /// Updates the state of `s` if the channel has become idle for it.
    fn resume(&mut self, s: usize, now: Instant) {
        if !self.is_idle(s) {
            return;
        }
        let station = &mut self.stations[s];
        if station.idle_since == NEVER {
            station.counters.busy += now.since(station.busy_from);
        }
        station.idle_since = now;
        self.schedule(s, now);
    }

    /// Starts the transmission of the frame of `s`.
    fn start(&mut self, s: usize, now: Instant) {
        let station = &mut self.stations[s];
        if station.phase == Phase::Free {
            station.backoff = Backoff::Slots(0);
        }
        self.pause(s, now);
        let station = &mut self.stations[s];
        let frame = match (station.phase, &station.head) {
            (Phase::Answering(frame), _) => frame,
            (_, Some(head)) => {
                station.backoff = Backoff::None;
                head.first_frame(&self.times)
            }
            (_, None) => {
                debug_assert!(false, "nothing to send");
                return;
            }
        };
        let airtime = match (frame.kind, &station.head) {
            (FrameKind::Data, Some(head)) => {
                station.counters.data_frames += 1;
                head.airtime
            }
            (FrameKind::Rts, _) => {
                station.counters.rts_frames += 1;
                self.times.rts
            }
            (FrameKind::Cts, _) => self.times.cts,
            (FrameKind::Ack | FrameKind::Data, _) => self.times.ack,
        };
        station.counters.transmitting += airtime;
        station.phase = Phase::Sending(frame);
        station.lock = None;
        self.due[s] = now + airtime;
        self.on_air |= only(s);
    }

    /// Notifies all other stations that `x` has begun to transmit.
    fn spread(&mut self, x: usize, now: Instant) {
        // The stations that `x` senses are those that sense `x`.
        let sensing = self.reach.senses(x);
        for r in members(self.reach.affects(x) & !self.on_air) {
            if sensing & only(r) != 0 {
                self.pause(r, now);
            }
            self.listen(r, x, now);
        }
    }

    /// Updates the reception at `r` when a frame from `x` begins.
    fn listen(&mut self, r: usize, x: usize, now: Instant) {
        let receivable = self.reach.receives(r) & only(x) != 0;
        if let Some(lock) = &mut self.stations[r].lock {
            let sender = usize::from(lock.sender);
            if self.reach.disturbers(r, sender) & only(x) != 0 {
                lock.state = Reception::Destroyed;
            }
            // Of several frames that begin at the same time, the strongest is received.
            let stronger = self.reach.nearer(r, sender) & only(x) != 0;
            if !(receivable && stronger && lock.since == now) {
                return;
            }
        } else if !receivable {
            return;
        }
        let disturbed = self.on_air & self.reach.disturbers(r, x) != 0;
        if disturbed && self.config.sensed_frames == SensedFrames::Difs {
            // Other frames interfered with the preamble, so the station senses only noise and no frame.
            return;
        }
        self.stations[r].lock = Some(Lock {
            sender: x as u8,
            since: now,
            state: if disturbed {
                Reception::Destroyed
            } else {
                Reception::Intact
            },
        });
        // A station that waits for an answer now waits for the end of this frame, which may be the answer.
        if matches!(self.stations[r].phase, Phase::Awaiting(_)) {
            self.due[r] = NEVER;
        }
    }

    /// Ends the transmission of the frame of `x`. `ended` contains all stations whose frames end at this instant; these
    /// stations could not receive each other.
    fn end(&mut self, x: usize, ended: Stations, now: Instant) {
        let Phase::Sending(frame) = self.stations[x].phase else {
            debug_assert!(false, "no frame to end");
            return;
        };
        let answer = match frame.kind {
            FrameKind::Data => Some(Answer::Ack),
            FrameKind::Rts => Some(Answer::Cts),
            FrameKind::Ack | FrameKind::Cts => None,
        };
        self.due[x] = now + self.times.answer_timeout;
        self.stations[x].phase = answer.map_or(Phase::Free, Phase::Awaiting);
        self.schedule(x, now);
        self.resume(x, now);
        let sensing = self.reach.senses(x);
        for r in members(self.reach.affects(x) & !ended) {
            let sensed = sensing & only(r) != 0;
            match self.stations[r].lock {
                Some(lock) if usize::from(lock.sender) == x => {
                    self.stations[r].lock = None;
                    match self.reception(r, x, frame, lock.state) {
                        Reception::Intact => self.received(r, x, frame, now),
                        Reception::Destroyed => self.garbled(r, now),
                    }
                }
                _ if sensed => self.overheard(r, now),
                _ => {}
            }
            if sensed {
                self.resume(r, now);
            }
        }
    }

    /// Returns the result of the reception of a frame. The addressee of a data frame may find it corrupted.
    fn reception(&mut self, r: usize, x: usize, frame: Frame, state: Reception) -> Reception {
        let may_err = state == Reception::Intact
            && frame.kind == FrameKind::Data
            && usize::from(frame.to) == r;
        let sender = &mut self.stations[x];
        if may_err && sender.random.frame_error.chance(self.config.frame_error) {
            if let Some(head) = &mut sender.head {
                head.attempt = Attempt::Corrupted;
            }
            return Reception::Destroyed;
        }
        state
    }

    /// Handles a frame that `r` has received from `x`.
    fn received(&mut self, r: usize, x: usize, frame: Frame, now: Instant) {
        self.stations[r].eifs_until = Instant::ZERO;
        let ours = usize::from(frame.to) == r;
        match (frame.kind, self.stations[r].phase) {
            (FrameKind::Ack, Phase::Awaiting(Answer::Ack)) if ours => return self.succeed(r),
            (FrameKind::Cts, Phase::Awaiting(Answer::Cts)) if ours => {
                return self.send_data(r, now);
            }
            // Any other frame in place of the answer means that the answer is missing.
            (_, Phase::Awaiting(_)) => self.fail(r, now),
            _ => {}
        }
        let station = &mut self.stations[r];
        if !ours {
            station.nav = station.nav.max(now + frame.reserves);
            return;
        }
        let (kind, reserves) = match frame.kind {
            FrameKind::Data => (FrameKind::Ack, Duration::ZERO),
            FrameKind::Rts if station.nav <= now => {
                let left = frame.reserves - self.times.sifs - self.times.cts;
                (FrameKind::Cts, left)
            }
            FrameKind::Rts | FrameKind::Cts | FrameKind::Ack => return,
        };
        station.phase = Phase::Answering(Frame {
            kind,
            to: x as u8,
            reserves,
        });
        self.due[r] = now + self.times.sifs;
        if frame.kind == FrameKind::Data {
            self.accept(r, x);
        }
    }

    /// Delivers the packet of `x` to `r`, unless `r` already has it.
    fn accept(&mut self, r: usize, x: usize) {
        let sender = &mut self.stations[x];
        let Some(head) = &mut sender.head else {
            debug_assert!(false, "a data frame without a packet");
            return;
        };
        if head.arrival == Arrival::Done {
            self.stations[r].counters.duplicates += 1;
            return;
        }
        head.arrival = Arrival::Done;
        let queued = head.queued;
        let lost = sender.random.packet_error.chance(self.config.packet_error);
        self.outcomes.push_back(Transmitted {
            link: queued.link,
            packet: queued.offer,
            fate: if lost {
                Fate::Lost(DropCause::Random)
            } else {
                Fate::Arrived
            },
        });
    }

    /// Handles the loss of a frame that `r` was locked on.
    fn garbled(&mut self, r: usize, now: Instant) {
        self.stations[r].eifs_until = now + self.times.eifs;
        if matches!(self.stations[r].phase, Phase::Awaiting(_)) {
            self.fail(r, now);
        }
    }

    /// Handles a frame that `r` has sensed but could not receive.
    fn overheard(&mut self, r: usize, now: Instant) {
        let station = &mut self.stations[r];
        let listening = !matches!(station.phase, Phase::Sending(_));
        if listening && self.config.sensed_frames == SensedFrames::Eifs {
            station.eifs_until = now + self.times.eifs;
        }
    }

    /// Handles a CTS by sending the data frame.
    fn send_data(&mut self, s: usize, now: Instant) {
        let station = &mut self.stations[s];
        if let Some(head) = &mut station.head {
            head.short_retries = 0;
            station.phase = Phase::Answering(head.data_frame(&self.times));
            self.due[s] = now + self.times.sifs;
        }
    }

    /// Handles an ACK. The backoff that follows prevents a station from sending two packets in a row without
    /// contending. The backoff starts when the channel becomes idle, which happens now.
    fn succeed(&mut self, s: usize) {
        let station = &mut self.stations[s];
        station.counters.acknowledged += 1;
        station.cw = self.config.cw_min;
        station.draw_backoff();
        station.phase = Phase::Free;
        self.due[s] = NEVER;
        self.take_next(s);
    }

    /// Handles a missing answer: draws a longer backoff for another attempt, or drops the packet at the retry limit.
    fn fail(&mut self, s: usize, now: Instant) {
        let station = &mut self.stations[s];
        let awaited = station.phase;
        station.phase = Phase::Free;
        let Some(head) = &mut station.head else {
            debug_assert!(false, "a failure without a packet");
            return;
        };
        head.failures += 1;
        match head.attempt {
            Attempt::Clean => station.counters.collisions += 1,
            Attempt::Corrupted => {
                head.corrupted += 1;
                station.counters.frame_errors += 1;
            }
        }
        head.attempt = Attempt::Clean;
        if head.protection == Protection::Rts && awaited == Phase::Awaiting(Answer::Ack) {
            head.long_retries += 1;
        } else {
            head.short_retries += 1;
        }
        let exhausted = head.short_retries >= self.config.short_retry_limit
            || head.long_retries >= self.config.long_retry_limit;
        station.cw = if exhausted {
            self.config.cw_min
        } else {
            (2 * station.cw + 1).min(self.config.cw_max)
        };
        station.draw_backoff();
        if exhausted {
            self.give_up(s);
        }
        self.due[s] = NEVER;
        self.resume(s, now);
    }

    /// Drops a packet at the retry limit. The reported cause is that of most of the failed attempts.
    fn give_up(&mut self, s: usize) {
        let station = &mut self.stations[s];
        if let Some(head) = station.head
            && head.arrival == Arrival::NotYet
        {
            station.counters.retry_drops += 1;
            let cause = if 2 * head.corrupted > head.failures {
                DropCause::FrameError
            } else {
                DropCause::Collision
            };
            self.outcomes.push_back(Transmitted {
                link: head.queued.link,
                packet: head.queued.offer,
                fate: Fate::Lost(cause),
            });
        }
        self.take_next(s);
    }
}
