//! Real-time media flow in the network: packets in one direction, reports in the other.

use dupack_tcp::time::{Duration, Instant};

use crate::fabric::{Fabric, TimerId};
use crate::histogram::Histogram;
use crate::ids::FlowId;
use crate::link::{DropCause, DropCounts};
use crate::media::{MediaConfig, MediaReceiver, MediaReport, MediaSender};
use crate::observer::Observer;
use crate::packet::{Body, Packet};
use crate::route::Hop;

/// A real-time source, its receiver, and their counters.
#[derive(Debug)]
pub struct MediaFlow {
    id: FlowId,
    there: Hop,
    back: Hop,
    packet_bytes: u32,
    report_bytes: u32,
    deadline: Duration,
    start: Instant,
    measuring_since: Instant,
    sender: MediaSender,
    receiver: MediaReceiver,
    counters: MediaCounters,
    baseline: MediaCounters,
    ways: Histogram,
}

/// Counters of a real-time source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaCounters {
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets received, including second copies.
    pub received_packets: u64,
    /// Bytes of the received packets on the wire.
    pub received_bytes: u64,
    /// Packets that were sent since measuring began and whose fate is known: they arrived or were dropped.
    pub settled_packets: u64,
    /// Number of these packets that arrived by their deadline.
    pub in_time_packets: u64,
    /// Packets dropped, by cause.
    pub drops: DropCounts,
    /// Reports received by the sender.
    pub reports: u64,
}

impl MediaCounters {
    /// Returns the counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            sent_packets: self.sent_packets - earlier.sent_packets,
            received_packets: self.received_packets - earlier.received_packets,
            received_bytes: self.received_bytes - earlier.received_bytes,
            settled_packets: self.settled_packets - earlier.settled_packets,
            in_time_packets: self.in_time_packets - earlier.in_time_packets,
            drops: self.drops.since(&earlier.drops),
            reports: self.reports - earlier.reports,
        }
    }
}

impl MediaFlow {
    /// Creates a source in its state at the start of a run.
    pub(crate) fn new(id: FlowId, config: MediaConfig, there: Hop, back: Hop) -> Self {
        Self {
            id,
            there,
            back,
            packet_bytes: config.packet_bytes.max(1),
            report_bytes: config.report_bytes,
            deadline: config.deadline,
            start: config.start,
            measuring_since: Instant::ZERO,
            receiver: MediaReceiver::new(config.report),
            sender: MediaSender::new(config),
            counters: MediaCounters::default(),
            baseline: MediaCounters::default(),
            ways: Histogram::default(),
        }
    }

    /// Begins a run. The source has no random numbers.
    pub(crate) fn begin(&self, fabric: &mut Fabric) {
        fabric.set_timer(self.sender_timer(), self.start);
    }

    /// Sends the frame that is due.
    pub(crate) fn send<O: Observer>(&mut self, fabric: &mut Fabric, observer: &mut O) {
        let now = fabric.now();
        if self.sender.next_frame().is_none_or(|at| at > now) {
            return;
        }
        let mut left = self.sender.frame(now);
        while left > 0 {
            let bytes = left.min(u64::from(self.packet_bytes));
            left -= bytes;
            let packet = Packet {
                flow: self.id,
                wire_bytes: bytes as u32,
                number: self.sender.number(),
                body: Body::Media { sent: now },
            };
            self.counters.sent_packets += 1;
            if let Err(cause) = fabric.send(packet, self.there, observer) {
                self.dropped(&packet.body, cause);
            }
        }
        if let Some(at) = self.sender.next_frame() {
            fabric.set_timer(self.sender_timer(), at);
        }
    }

    /// Handles a packet that has reached the receiver.
    pub(crate) fn arrived(&mut self, packet: &Packet, sent: Instant, fabric: &mut Fabric) {
        let now = fabric.now();
        let way = now.since(sent);
        self.counters.received_packets += 1;
        self.counters.received_bytes += u64::from(packet.wire_bytes);
        if sent >= self.measuring_since {
            self.counters.settled_packets += 1;
            self.counters.in_time_packets += u64::from(way <= self.deadline);
        }
        self.ways.record(way);
        self.receiver.take(now, packet.number, way);
        if let Some(at) = self.receiver.next_report() {
            fabric.set_timer_lazily(self.receiver_timer(), at);
        }
    }

    /// Handles an expiry of the receiver's timer.
    pub(crate) fn report<O: Observer>(&mut self, fabric: &mut Fabric, observer: &mut O) {
        if self
            .receiver
            .next_report()
            .is_none_or(|at| at > fabric.now())
        {
            return;
        }
        let packet = Packet {
            flow: self.id,
            wire_bytes: self.report_bytes,
            number: self.counters.reports,
            body: Body::Report(self.receiver.report()),
        };
        // The sender notices that a report is missing, so an error is ignored here.
        let _ = fabric.send(packet, self.back, observer);
    }

    /// Handles a report that has reached the sender.
    pub(crate) fn heard(&mut self, now: Instant, report: &MediaReport) {
        self.counters.reports += 1;
        self.sender.hear(now, report);
    }

    /// Handles the drop of a packet.
    pub(crate) fn dropped(&mut self, body: &Body, cause: DropCause) {
        if let Body::Media { sent } = body {
            self.counters.drops.add(cause);
            self.counters.settled_packets += u64::from(*sent >= self.measuring_since);
        }
    }

    /// Starts measuring at `now`.
    pub(crate) fn begin_measurement(&mut self, now: Instant) {
        self.measuring_since = now;
        self.baseline = self.counters;
        self.ways.clear();
    }

    /// Returns the counts since measuring began.
    #[must_use]
    pub fn measured(&self) -> MediaCounters {
        self.counters.since(&self.baseline)
    }

    /// Returns the one-way delays of packets since measuring began.
    #[must_use]
    pub const fn ways(&self) -> &Histogram {
        &self.ways
    }

    const fn sender_timer(&self) -> TimerId {
        TimerId(2 * self.id.0)
    }

    const fn receiver_timer(&self) -> TimerId {
        TimerId(2 * self.id.0 + 1)
    }
}
