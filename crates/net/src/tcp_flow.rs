//! A TCP flow in the network: the two ends exchange segments as packets.
//!
//! Timers are lazy. Each end has one timer in the event queue. If the timer fires before the deadline, which may have
//! moved back many times, the timer is set again. A retransmission timer that every ACK restarts therefore costs the
//! event queue nothing.

use dupack_tcp::segment::{Ack, Bit, Codepoint, DataSegment};
use dupack_tcp::sender::{Transmit, TransmitKind};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{Receiver, Sender};

use crate::coalescing::Coalescing;
use crate::fabric::{Fabric, TimerId};
use crate::flow::{Application, HeaderSizes, TcpFlowConfig};
use crate::ids::FlowId;
use crate::informed::inform;
use crate::link::DropCause;
use crate::misbehaviour::Liar;
use crate::observer::Observer;
use crate::packet::{Body, Copy, Data, Packet};
use crate::random::Stream;
use crate::reader::ReaderState;
use crate::route::Hop;
use crate::truth::{FlowTruth, Judgements, TruthCounters};
use crate::video::{VideoCounters, Viewers};

mod writer;

use writer::WriterState;

/// A TCP transfer at run time.
#[derive(Debug)]
pub struct TcpFlow {
    id: FlowId,
    sender: Sender,
    receiver: Receiver,
    /// Present if the application does not read at once, or if the receiver reneges. This is rare.
    reader: Option<Box<ReaderState>>,
    writer: WriterState,
    /// Present if the application sends video. This is rare.
    viewers: Option<Box<Viewers>>,
    /// Present if the receiver's host coalesces segments, or if the receiver misbehaves. This is rare.
    oddities: Option<Box<Oddities>>,
    truth: FlowTruth,
    headers: HeaderSizes,
    smss: u32,
    there: Hop,
    back: Hop,
    start: Instant,
    progress: Progress,
    /// Counters at the start of the measured interval; `None` if all counters were zero, as without a warm-up.
    baseline: Option<Box<Baseline>>,
}

/// Rare properties of the receiver's host.
#[derive(Debug)]
struct Oddities {
    coalescing: Option<Coalescing>,
    liar: Option<Liar>,
}

impl Oddities {
    /// Returns `None` if `config` has neither of these properties.
    fn new(config: &TcpFlowConfig) -> Option<Box<Self>> {
        let oddities = Self {
            coalescing: config.coalescing.map(Coalescing::new),
            liar: Liar::new(config.misbehaviour),
        };
        let any = oddities.coalescing.is_some() || oddities.liar.is_some();
        any.then(|| Box::new(oddities))
    }
}

/// Counters of a flow and of its video.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Baseline {
    flow: FlowCounters,
    video: VideoCounters,
}

/// Progress of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The start time is in the future.
    NotStarted,
    /// There is more to deliver.
    Running,
    /// The receiver had all bytes in order at this time.
    Finished(Instant),
}

/// Counters of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowCounters {
    /// Stream bytes received in order.
    pub delivered_bytes: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    /// Counters of the sender's packets and their true fate.
    pub truth: TruthCounters,
    /// The sender's judgements of its loss events.
    pub judgements: Judgements,
}

impl FlowCounters {
    /// Returns the counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            delivered_bytes: self.delivered_bytes - earlier.delivered_bytes,
            acks_sent: self.acks_sent - earlier.acks_sent,
            truth: self.truth.since(&earlier.truth),
            judgements: self.judgements.since(&earlier.judgements),
        }
    }
}

impl TcpFlow {
    /// Creates a transfer in its state at the start of a run, without random numbers.
    pub(crate) fn new(id: FlowId, config: TcpFlowConfig, there: Hop, back: Hop) -> Self {
        let oddities = Oddities::new(&config);
        let viewers = match config.application {
            Application::Video(video) => Some(Box::new(Viewers::new(video, config.start))),
            _ => None,
        };
        let mut receiver = config.receiver;
        receiver.application = config.reader.reading();
        let truth = FlowTruth::default();
        Self {
            id,
            smss: config.sender.smss.max(1),
            sender: Sender::new(config.sender, inform(config.stack, truth.losses())),
            receiver: Receiver::new(receiver),
            reader: ReaderState::new(config.reader, config.reneging, config.start).map(Box::new),
            writer: WriterState::new(config.application, config.writes, config.start),
            viewers,
            oddities,
            truth,
            headers: config.headers,
            there,
            back,
            start: config.start,
            progress: Progress::NotStarted,
            baseline: None,
        }
    }

    /// Begins a run, with random numbers from `stream`: sets the first timers.
    pub(crate) fn begin(&mut self, stream: Stream, fabric: &mut Fabric) {
        fabric.set_timer(self.sender_timer(), self.start);
        let Some(reader) = &mut self.reader else {
            return;
        };
        reader.begin(self.start, stream);
        if let Some(at) = reader.next_timeout() {
            fabric.set_timer(self.receiver_timer(), at);
        }
    }

    /// Handles an expiry of the sender's timer.
    pub(crate) fn sender_timeout<O: Observer>(&mut self, fabric: &mut Fabric, observer: &mut O) {
        let now = fabric.now();
        let writes = self.writer.next_write().is_some_and(|at| at <= now);
        if writes && self.writer.write(now, self.start, &mut self.sender) {
            self.note_start(now);
        }
        let due = self.sender.next_timeout().is_some_and(|at| at <= now);
        if due {
            self.sender.handle_timeout(now);
        }
        if writes || due {
            self.pump(fabric, observer);
        } else {
            self.rearm_sender(fabric);
        }
    }

    /// Handles an expiry of the receiver's timer.
    pub(crate) fn receiver_timeout<O: Observer>(&mut self, fabric: &mut Fabric, observer: &mut O) {
        let now = fabric.now();
        if let Some(reader) = &mut self.reader {
            reader.handle_timeout(now, &mut self.receiver);
        }
        let oddities = self.oddities.as_mut();
        let coalescing = oddities.and_then(|oddities| oddities.coalescing.as_mut());
        let joined = coalescing.and_then(|coalescing| coalescing.expire(now));
        if let Some(joined) = joined {
            self.hand_up(now, &joined.segment, joined.ecn, joined.cwr);
        }
        self.receiver.handle_timeout(now);
        self.acknowledge(fabric, observer);
    }

    /// Handles a data packet that has arrived at the receiver.
    pub(crate) fn data_arrived<O: Observer>(
        &mut self,
        data: &Data,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        let now = fabric.now();
        if data.segment.len > 0 {
            self.truth.arrived(data);
            if data.ecn == Codepoint::Ce {
                self.truth.arrived_marked();
            }
        }
        if let Some(oddities) = &mut self.oddities {
            if let Some(liar) = &mut oddities.liar {
                liar.sees(data.offset + u64::from(data.segment.len));
            }
            if oddities.coalescing.is_some() {
                self.coalesce(data, fabric, observer);
                return;
            }
        }
        self.hand_up(now, &data.segment, data.ecn, data.cwr);
        self.acknowledge(fabric, observer);
    }

    /// Joins the arrived segment with waiting segments, and hands up all segments that need not wait.
    #[inline(never)]
    fn coalesce<O: Observer>(&mut self, data: &Data, fabric: &mut Fabric, observer: &mut O) {
        let now = fabric.now();
        let oddities = self.oddities.as_mut();
        let up = match oddities.and_then(|oddities| oddities.coalescing.as_mut()) {
            Some(coalescing) => coalescing.take(now, data),
            None => [None, None],
        };
        for joined in up.into_iter().flatten() {
            self.hand_up(now, &joined.segment, joined.ecn, joined.cwr);
            self.acknowledge(fabric, observer);
        }
        self.rearm_receiver(fabric);
    }

    /// Hands a segment to the receiver.
    #[inline(always)]
    fn hand_up(&mut self, now: Instant, segment: &DataSegment, ecn: Codepoint, cwr: Bit) {
        if self.sender.config().ecn.is_on() {
            self.receiver.note_ecn(segment, ecn, cwr);
        }
        if self.receiver.wants_round_trip() {
            // Both ends have measured the round-trip time of the handshake, and timestamps give the receiver later
            // samples.
            let rtt = self.sender.rtt();
            self.receiver.tell_round_trip(rtt.srtt(), rtt.rto());
        }
        self.receiver.handle_data(now, segment);
        if let Some(reader) = &self.reader {
            reader.data_arrived(&mut self.receiver);
        }
        self.note_progress(now);
    }

    /// Handles an ACK that has arrived at the sender.
    pub(crate) fn ack_arrived<O: Observer>(
        &mut self,
        ack: &Ack,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        self.sender.handle_ack(fabric.now(), ack);
        self.pump(fabric, observer);
    }

    /// Handles the drop of one of the flow's packets.
    pub(crate) fn dropped(&mut self, body: &Body, cause: DropCause) {
        match body {
            Body::Data(data) if data.segment.len > 0 => {
                let una = self.sender.scoreboard().una();
                let arrived = self.receiver.holds(data.offset);
                self.truth.dropped(data, cause, una, arrived);
            }
            Body::Ack(_) => self.truth.ack_dropped(cause),
            Body::Data(_) | Body::Udp | Body::Media { .. } | Body::Report(_) => {}
        }
    }

    /// Starts measuring at `now`.
    pub(crate) fn begin_measurement(&mut self, now: Instant) {
        let baseline = Baseline {
            flow: self.totals(),
            video: self.video_totals(now).unwrap_or_default(),
        };
        self.baseline = (baseline != Baseline::default()).then(|| Box::new(baseline));
    }

    /// Returns the sender.
    #[must_use]
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Returns the receiver.
    #[must_use]
    pub const fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Returns the ground truth.
    #[must_use]
    pub const fn truth(&self) -> &FlowTruth {
        &self.truth
    }

    /// Returns the start time of the transfer.
    #[must_use]
    pub const fn start(&self) -> Instant {
        self.start
    }

    /// Returns the number of bytes to deliver; `None` if it is unlimited.
    #[must_use]
    pub const fn total_bytes(&self) -> Option<u64> {
        self.writer.total_bytes()
    }

    /// Returns the progress of the transfer.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        self.progress
    }

    /// Returns the counts since the start of the run.
    #[must_use]
    pub fn totals(&self) -> FlowCounters {
        FlowCounters {
            delivered_bytes: self.receiver.in_order_bytes(),
            acks_sent: self.receiver.acks_sent() + self.liar().map_or(0, Liar::extra_acks),
            truth: *self.truth.counters(),
            judgements: self.truth.judgements(),
        }
    }

    /// Returns the counts since measuring began.
    #[must_use]
    pub fn measured(&self) -> FlowCounters {
        match &self.baseline {
            Some(baseline) => self.totals().since(&baseline.flow),
            None => self.totals(),
        }
    }

    /// Returns the playout of the flow's video since measuring began, if it carries one.
    #[must_use]
    pub fn video(&self, now: Instant) -> Option<VideoCounters> {
        let totals = self.video_totals(now)?;
        Some(match &self.baseline {
            Some(baseline) => totals.since(&baseline.video),
            None => totals,
        })
    }

    fn video_totals(&self, now: Instant) -> Option<VideoCounters> {
        let viewers = self.viewers.as_ref()?;
        Some(viewers.counters(now))
    }

    fn note_start(&mut self, now: Instant) {
        if self.progress == Progress::NotStarted {
            self.progress = Progress::Running;
            self.note_progress(now);
        }
    }

    /// Sends all segments that the sender may send now.
    fn pump<O: Observer>(&mut self, fabric: &mut Fabric, observer: &mut O) {
        let now = fabric.now();
        while let Some(transmit) = self.sender.poll_transmit(now) {
            if O::ACTIVE {
                observer.transmission(now, self.id, &transmit, &self.sender);
            }
            self.transmit(&transmit, fabric, observer);
        }
        // The changes are taken even without an observer, so that the log does not grow.
        if self.sender.has_window_changes() {
            for change in self.sender.take_window_changes() {
                if O::ACTIVE {
                    observer.window_change(self.id, &change);
                }
            }
        }
        if O::ACTIVE {
            observer.sender(now, self.id, &self.sender);
        }
        self.rearm_sender(fabric);
    }

    #[inline(always)]
    fn transmit<O: Observer>(
        &mut self,
        transmit: &Transmit,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        let len = transmit.segment.len;
        let copy = match transmit.kind {
            TransmitKind::First => {
                self.truth.sent_first(len);
                Copy::First
            }
            TransmitKind::Repeat => {
                let arrived = self.receiver.holds(transmit.offset);
                self.truth.sent_again(transmit.offset, len, arrived)
            }
            TransmitKind::Probe => Copy::First,
        };
        let packet = Packet {
            flow: self.id,
            wire_bytes: len + self.headers.data_bytes,
            number: transmit.offset / u64::from(self.smss),
            body: Body::Data(Data {
                segment: transmit.segment,
                offset: transmit.offset,
                order: transmit.order,
                copy,
                why: transmit.why,
                ecn: transmit.ecn,
                cwr: transmit.cwr,
            }),
        };
        if let Err(cause) = fabric.send(packet, self.there, observer) {
            self.dropped(&packet.body, cause);
        }
    }

    /// Sends all ACKs that the receiver has to send now.
    #[inline(always)]
    fn acknowledge<O: Observer>(&mut self, fabric: &mut Fabric, observer: &mut O) {
        while let Some(ack) = self.receiver.poll_ack() {
            if self.oddities.is_some() {
                self.acknowledge_oddly(ack, fabric, observer);
            } else {
                self.send_ack(ack, self.receiver.acks_sent() - 1, fabric, observer);
            }
        }
        self.rearm_receiver(fabric);
    }

    /// Sends an ACK of an honest receiver, or the forged ACKs of a misbehaving receiver.
    #[inline(never)]
    fn acknowledge_oddly<O: Observer>(&mut self, ack: Ack, fabric: &mut Fabric, observer: &mut O) {
        let honest = self.receiver.acks_sent() - 1;
        let in_order = self.receiver.in_order_bytes();
        let liar = self.oddities.as_mut().and_then(|o| o.liar.as_mut());
        let Some(liar) = liar else {
            self.send_ack(ack, honest, fabric, observer);
            return;
        };
        let first = honest + liar.extra_acks();
        let forged = liar.forge(ack, in_order);
        for n in 1..=forged.pieces() {
            self.send_ack(forged.piece(n), first + n - 1, fabric, observer);
        }
    }

    #[inline(always)]
    fn send_ack<O: Observer>(
        &mut self,
        ack: Ack,
        number: u64,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        let packet = Packet {
            flow: self.id,
            wire_bytes: self.headers.ack_with(ack.sacks.as_slice().len()),
            number,
            body: Body::Ack(ack),
        };
        if let Err(cause) = fabric.send(packet, self.back, observer) {
            self.truth.ack_dropped(cause);
        }
    }

    fn liar(&self) -> Option<&Liar> {
        self.oddities.as_ref()?.liar.as_ref()
    }

    #[inline(always)]
    fn rearm_receiver(&self, fabric: &mut Fabric) {
        let mut next = self.receiver.next_timeout();
        if self.reader.is_some() || self.oddities.is_some() {
            next = earlier(next, self.next_reading());
        }
        if let Some(at) = next {
            let timer = self.receiver_timer();
            fabric.set_timer_lazily(timer, no_earlier_than_next(fabric.now(), at));
        }
    }

    /// Returns the next time at which the application reads or waiting segments are handed up.
    #[inline(never)]
    fn next_reading(&self) -> Option<Instant> {
        // Once all data has been received, nothing depends on the application.
        let reading = match (&self.reader, self.progress) {
            (None, _) | (_, Progress::Finished(_)) => None,
            (Some(reader), _) => reader.next_timeout(),
        };
        let oddities = self.oddities.as_ref();
        let coalescing = oddities.and_then(|oddities| oddities.coalescing.as_ref());
        let handing_up = coalescing.and_then(Coalescing::next_timeout);
        earlier(reading, handing_up)
    }

    #[inline(always)]
    fn rearm_sender(&mut self, fabric: &mut Fabric) {
        if self.writer.next_write().is_none() && self.sender.next_timeout().is_none() {
            self.writer.wait_by_script(fabric.now(), &self.sender);
        }
        if let Some(at) = earlier(self.sender.next_timeout(), self.writer.next_write()) {
            let timer = self.sender_timer();
            fabric.set_timer_lazily(timer, no_earlier_than_next(fabric.now(), at));
        }
    }

    fn note_progress(&mut self, now: Instant) {
        if let Some(viewers) = &mut self.viewers {
            viewers.received(now, self.receiver.in_order_bytes());
        }
        if let Some(bytes) = self.writer.total_bytes()
            && self.progress == Progress::Running
            && self.receiver.in_order_bytes() >= bytes
        {
            self.progress = Progress::Finished(now);
        }
    }

    const fn sender_timer(&self) -> TimerId {
        TimerId(2 * self.id.0)
    }

    const fn receiver_timer(&self) -> TimerId {
        TimerId(2 * self.id.0 + 1)
    }
}

/// Returns the earlier of two deadlines.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// Returns `at`, but not earlier than the next nanosecond. A deadline that was just handled therefore cannot be due
/// again, and time advances for any time that a plug-in returns.
fn no_earlier_than_next(now: Instant, at: Instant) -> Instant {
    at.max(now + Duration::from_nanos(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Flight;

    /// Checks the sizes stated in `docs/how-an-event-travels.md`.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn sizes_are_those_of_the_page() {
        let parts = [
            size_of::<TcpFlow>(),
            size_of::<Sender>(),
            size_of::<Receiver>(),
            size_of::<FlowTruth>(),
        ];
        assert_eq!(parts, [1496, 760, 336, 240]);
        let in_flight = [
            size_of::<Packet>(),
            size_of::<Flight>(),
            size_of::<dupack_tcp::scoreboard::Segment>(),
        ];
        assert_eq!(in_flight, [80, 32, 40]);
    }
}
