//! One direction of the emulated path: carries packets from one device through a link to the other device.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;

use dupack_net::event::InsertionNumber;
use dupack_net::link::{Admission, Fate, Flight, Link, LinkConfig, Offer};
use dupack_net::packet::PacketKind;
use dupack_tcp::time::{Duration, Instant};

use super::frame::Unfit;
use super::numbers::{FlowNumbers, Name};
use super::payload::PayloadCount;
use super::record::Tap;
use super::report::{FlowPassage, LaneReport};
use super::store::{FrameStore, SegmentId};
use super::{HopSays, NarrowHop};
use crate::clock::WallClock;
use crate::device::{Device, Granted, Received, Writing};
use dupack_packet::icmp::packet_too_big;

/// Number of bytes that a router quotes of a dropped packet: the longest headers of IPv6 and TCP.
const QUOTED_BYTES: usize = 100;

/// A link that runs in real time, and the packets on it.
#[derive(Debug)]
pub(super) struct Lane {
    link: Link,
    frames: FrameStore,
    next_number: u64,
    run: Run,
    report: LaneReport,
    tap: Option<Tap>,
    hop: Option<NarrowHop>,
    /// `true` to count data by destination port.
    by_port: bool,
    /// Counter of the delivered payload, if requested.
    payload: Option<PayloadCount>,
    /// ICMP messages from the hop to the near end.
    messages: Vec<Vec<u8>>,
    /// Additional delay of packets from these ports.
    detours: BTreeMap<u16, Duration>,
    /// Segments that have left the link and are delayed further. The segment that is due next comes first.
    detoured: BinaryHeap<Reverse<(Instant, u64, usize, usize)>>,
}

/// Consecutive segments of one packet that are due together.
#[derive(Debug, Default)]
struct Run {
    slot: usize,
    first: usize,
    /// Due time of each segment. Empty if there is no run.
    due: Vec<Instant>,
}

impl Lane {
    pub(super) fn new(config: &LinkConfig, seed: u64, name: &str, tap: Option<Tap>) -> Self {
        Self {
            link: Link::new(config, seed, name),
            frames: FrameStore::default(),
            next_number: 0,
            run: Run::default(),
            report: LaneReport::default(),
            tap,
            hop: None,
            by_port: false,
            payload: None,
            messages: Vec::new(),
            detours: BTreeMap::new(),
            detoured: BinaryHeap::new(),
        }
    }

    /// Puts the lane behind a router, if there is one.
    pub(super) fn behind(self, hop: Option<NarrowHop>) -> Self {
        Self { hop, ..self }
    }

    /// Enables or disables the count by destination port.
    pub(super) fn counting(self, by_port: bool) -> Self {
        Self { by_port, ..self }
    }

    /// Sets the additional delays of packets from some ports.
    pub(super) fn detouring(self, detours: &BTreeMap<u16, Duration>) -> Self {
        Self {
            detours: detours.clone(),
            ..self
        }
    }

    /// Returns the additional delay of a stored packet.
    fn detour(&self, slot: usize) -> Option<Duration> {
        if self.detours.is_empty() {
            return None;
        }
        let frame = self.frames.frame(slot);
        let header = frame.shape().transport(frame.bytes())?;
        let port = [*header.first()?, *header.get(1)?];
        self.detours.get(&u16::from_be_bytes(port)).copied()
    }

    /// Enables or disables the count of delivered payload.
    pub(super) fn counting_payload(self, counting: bool) -> Self {
        let payload = counting.then(PayloadCount::default);
        Self { payload, ..self }
    }

    /// Ends the count by port.
    pub(super) const fn end_count_by_port(&mut self) {
        self.by_port = false;
    }

    /// Returns the counters of the flow that a stored packet belongs to, if it carries data and data is counted by
    /// port.
    fn passage(&mut self, slot: usize) -> Option<&mut FlowPassage> {
        if !self.by_port {
            return None;
        }
        let frame = self.frames.frame(slot);
        let shape = frame.shape();
        let header = shape.transport(frame.bytes())?;
        let port = [*header.get(2)?, *header.get(3)?];
        if shape.kind != PacketKind::Data {
            return None;
        }
        let flows = &mut self.report.by_port;
        Some(flows.entry(u16::from_be_bytes(port)).or_default())
    }

    /// Counts and releases a segment that the link has lost.
    fn lose(&mut self, slot: usize) {
        if let Some(flow) = self.passage(slot) {
            flow.dropped += 1;
        }
        self.frames.release(slot, 1);
    }

    /// Removes and returns an ICMP message that must be written to the near end.
    pub(super) fn take_message(&mut self) -> Option<Vec<u8>> {
        self.messages.pop()
    }

    /// Returns `true` if the hop drops a segment. In that case, the hop's ICMP message is already queued.
    fn is_dropped_by_hop(&mut self, id: SegmentId, bytes: u32) -> bool {
        let Some(hop) = self.hop.filter(|hop| bytes > u32::from(hop.mtu)) else {
            return false;
        };
        let frame = self.frames.frame(id.slot);
        if frame.may_be_fragmented() {
            return false;
        }
        self.report.too_big += 1;
        if hop.says == HopSays::PacketTooBig {
            let piece = frame.cut_plain(id.index);
            let head = piece.head().iter().chain(piece.tail);
            let quoted: Vec<u8> = head.take(QUOTED_BYTES).copied().collect();
            self.messages.extend(packet_too_big(&quoted, hop.mtu));
        }
        true
    }

    /// Offers every segment of a packet to the link.
    pub(super) fn take_in(&mut self, received: &Received<'_>, flows: &mut FlowNumbers) {
        let slot = match self.frames.insert(received) {
            Ok(slot) => slot,
            Err(Unfit::LinkLocal) => return self.report.link_local += 1,
            Err(Unfit::Malformed) => return self.report.malformed += 1,
            Err(Unfit::NoRoom) => return self.report.no_room += 1,
        };
        self.advance(received.at);
        let frame = self.frames.frame(slot);
        let shape = *frame.shape();
        let name = self.link.tells_packets_apart().then(|| flows.name(frame));
        if let Some(tap) = &self.tap {
            for index in 0..shape.segments() {
                tap.enters(received.at, &frame.cut_plain(index));
            }
        }
        for index in 0..shape.segments() {
            let Name { flow, number } = match name {
                Some(name) => Name {
                    number: name.number.saturating_add(index as u64),
                    ..name
                },
                None => Name::NOBODY,
            };
            let offer = Offer {
                packet: SegmentId { slot, index }.handle(),
                kind: shape.kind,
                flow,
                number,
                bytes: shape.wire_bytes(index),
                ecn: shape.ecn,
                acknowledges: shape.acknowledges,
                ..Offer::default()
            };
            if self.is_dropped_by_hop(SegmentId { slot, index }, offer.bytes) {
                self.frames.release(slot, 1);
                continue;
            }
            self.next_number += 1;
            let number = InsertionNumber(self.next_number);
            let verdict = self.link.offer(received.at, number, &offer);
            if let Some(flow) = self.passage(slot) {
                flow.offered += 1;
                if let Admission::Accepted { wait } | Admission::Marked { wait } = verdict {
                    flow.waits.record(wait);
                }
            }
            match verdict {
                Admission::Accepted { .. } => {}
                Admission::Marked { .. } => self.frames.mark(SegmentId { slot, index }),
                Admission::Dropped(_) => self.lose(slot),
            }
            self.settle();
        }
    }

    /// Executes the steps of a managed queue that were due by `now`, each at its own time.
    fn advance(&mut self, now: Instant) {
        while let Some(at) = self.link.next_transmission().filter(|&at| at <= now) {
            self.next_number += 1;
            self.link.transmit(at, InsertionNumber(self.next_number));
            self.settle();
        }
    }

    /// Applies a managed queue's marks and drops to the stored frames.
    fn settle(&mut self) {
        while let Some(packet) = self.link.take_mark() {
            self.frames.mark(SegmentId::of(packet));
        }
        while let Some((packet, _)) = self.link.take_drop() {
            self.lose(SegmentId::of(packet).slot);
        }
    }

    /// Counts data that was read but is not a valid packet.
    pub(super) const fn take_in_garbage(&mut self) {
        self.report.malformed += 1;
    }

    /// Returns the time at which the next packet is due at the far end.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let arrival = self.link.next_arrival().map(|(at, _)| at);
        let transmission = self.link.next_transmission();
        let detoured = self.detoured.peek().map(|Reverse((at, ..))| *at);
        let link = arrival.into_iter().chain(transmission);
        link.chain(detoured).min()
    }

    /// Writes all packets that are due to `out`.
    pub(super) fn deliver<D: Device>(&mut self, clock: &WallClock, out: &mut D) -> io::Result<()> {
        let now = clock.now();
        self.advance(now);
        while let Some(flight) = self.link.take_arrival(now) {
            if let (Fate::Arrived, id) = (flight.fate, SegmentId::of(flight.packet))
                && let Some(longer) = self.detour(id.slot)
            {
                self.next_number += 1;
                let at = flight.arrival + longer;
                let entry = (at, self.next_number, id.slot, id.index);
                self.detoured.push(Reverse(entry));
                continue;
            }
            self.land(&flight, clock, out)?;
        }
        self.flush(clock, out)?;
        while let Some(Reverse((at, _, slot, index))) = self.detoured.peek().copied() {
            if at > now {
                break;
            }
            self.detoured.pop();
            self.run.begin(SegmentId { slot, index }, at);
            self.flush(clock, out)?;
        }
        Ok(())
    }

    fn land<D: Device>(
        &mut self,
        flight: &Flight,
        clock: &WallClock,
        out: &mut D,
    ) -> io::Result<()> {
        let id = SegmentId::of(flight.packet);
        match flight.fate {
            Fate::Lost(_) => self.lose(id.slot),
            Fate::Arrived if self.run.goes_on_with(id) && self.is_marked_alike(id) => {
                self.run.due.push(flight.arrival);
            }
            Fate::Arrived => {
                self.flush(clock, out)?;
                self.run.begin(id, flight.arrival);
            }
            Fate::FirstOfTwo => {
                self.flush(clock, out)?;
                self.run.begin(id, flight.arrival);
                self.write_run(clock, out)?;
                self.run.due.clear();
            }
        }
        Ok(())
    }

    /// Returns `true` if the segment's mark equals that of the run.
    fn is_marked_alike(&self, id: SegmentId) -> bool {
        let frame = self.frames.frame(id.slot);
        frame.is_marked(id.index) == frame.is_marked(self.run.first)
    }

    /// Writes the run, if there is one, and releases its segments.
    fn flush<D: Device>(&mut self, clock: &WallClock, out: &mut D) -> io::Result<()> {
        if self.run.due.is_empty() {
            return Ok(());
        }
        self.write_run(clock, out)?;
        self.frames.release(self.run.slot, self.run.due.len());
        self.run.due.clear();
        Ok(())
    }

    fn write_run<D: Device>(&mut self, clock: &WallClock, out: &mut D) -> io::Result<()> {
        let Run { slot, first, due } = &self.run;
        let frame = self.frames.frame(*slot);
        let segments = *first..first + due.len();
        let mut written = Writing::Done;
        match out.offload() {
            Granted::Offload => {
                let piece = frame.cut(*first, due.len());
                written = out.write(&piece.pending, piece.head(), piece.tail)?;
                self.report.count(written, due.len());
            }
            Granted::Plain => {
                for index in segments.clone() {
                    let piece = frame.cut_plain(index);
                    let done = out.write(&piece.pending, piece.head(), piece.tail)?;
                    self.report.count(done, 1);
                    if done == Writing::Refused {
                        written = done;
                    }
                }
            }
        }
        let now = clock.now();
        for due in due {
            self.report.lateness.record(now.since(*due));
        }
        if let (Some(count), Writing::Done) = (&mut self.payload, written) {
            for index in segments.clone() {
                count.arrives(now, frame, index);
            }
        }
        if let (Some(tap), Writing::Done) = (&self.tap, written) {
            for index in segments {
                tap.leaves(now, &frame.cut_plain(index));
            }
        }
        Ok(())
    }

    /// Returns the report on the traffic so far.
    pub(super) fn report(&self) -> LaneReport {
        LaneReport {
            link: *self.link.counters(),
            waits: self.link.waits().cloned(),
            under_way: self.frames.live(),
            payload: self.payload.as_ref().map(PayloadCount::payload),
            ..self.report.clone()
        }
    }
}

impl LaneReport {
    fn count(&mut self, writing: Writing, segments: usize) {
        match writing {
            Writing::Done => self.delivered += segments as u64,
            Writing::Refused => self.refused += segments as u64,
        }
    }
}

impl Run {
    fn begin(&mut self, id: SegmentId, due: Instant) {
        self.slot = id.slot;
        self.first = id.index;
        self.due.push(due);
    }

    fn goes_on_with(&self, id: SegmentId) -> bool {
        !self.due.is_empty() && self.slot == id.slot && self.first + self.due.len() == id.index
    }
}
