//! Datagram flow in the network: a source and its sink.

use crate::fabric::{Fabric, TimerId};
use crate::ids::FlowId;
use crate::link::{DropCause, DropCounts};
use crate::observer::Observer;
use crate::packet::{Body, Packet};
use crate::random::Stream;
use crate::route::Hop;
use crate::udp::{UdpConfig, UdpSource};

/// A datagram source and its sink.
#[derive(Debug)]
pub struct UdpFlow {
    id: FlowId,
    config: UdpConfig,
    /// `None` before the run begins.
    source: Option<UdpSource>,
    there: Hop,
    counters: UdpCounters,
    baseline: UdpCounters,
}

/// Counters of a datagram flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UdpCounters {
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Datagrams that reached the sink, including second copies.
    pub received_packets: u64,
    /// Bytes of the received datagrams on the wire.
    pub received_bytes: u64,
    /// Datagrams dropped, by cause.
    pub drops: DropCounts,
}

impl UdpCounters {
    /// Returns the counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            sent_packets: self.sent_packets - earlier.sent_packets,
            received_packets: self.received_packets - earlier.received_packets,
            received_bytes: self.received_bytes - earlier.received_bytes,
            drops: self.drops.since(&earlier.drops),
        }
    }
}

impl UdpFlow {
    /// Creates a source in its state at the start of a run, without random numbers.
    pub(crate) fn new(id: FlowId, config: UdpConfig, there: Hop) -> Self {
        Self {
            id,
            config,
            source: None,
            there,
            counters: UdpCounters::default(),
            baseline: UdpCounters::default(),
        }
    }

    /// Begins a run, with random numbers from `stream`.
    pub(crate) fn begin(&mut self, stream: Stream, fabric: &mut Fabric) {
        self.source = Some(UdpSource::new(self.config, stream));
        self.arm(fabric);
    }

    /// Handles a datagram that has reached the sink.
    pub(crate) fn arrived(&mut self, wire_bytes: u32) {
        self.counters.received_packets += 1;
        self.counters.received_bytes += u64::from(wire_bytes);
    }

    /// Handles the drop of a datagram.
    pub(crate) fn dropped(&mut self, cause: DropCause) {
        self.counters.drops.add(cause);
    }

    /// Starts measuring.
    pub(crate) fn begin_measurement(&mut self) {
        self.baseline = self.counters;
    }

    /// Returns the counts since the start of the run.
    #[must_use]
    pub const fn totals(&self) -> UdpCounters {
        self.counters
    }

    /// Returns the counts since measuring began.
    #[must_use]
    pub fn measured(&self) -> UdpCounters {
        self.counters.since(&self.baseline)
    }

    fn arm(&self, fabric: &mut Fabric) {
        if let Some(at) = self.source.as_ref().and_then(UdpSource::next_send) {
            fabric.set_timer(TimerId(2 * self.id.0), at);
        }
    }

    /// Handles an expiry of the source's timer.
    pub(crate) fn send<O: Observer>(&mut self, fabric: &mut Fabric, observer: &mut O) {
        let Some(source) = &mut self.source else {
            return;
        };
        let packet = Packet {
            flow: self.id,
            wire_bytes: source.packet_bytes(),
            number: source.send(),
            body: Body::Udp,
        };
        self.counters.sent_packets += 1;
        if let Err(cause) = fabric.send(packet, self.there, observer) {
            self.counters.drops.add(cause);
        }
        self.arm(fabric);
    }
}
