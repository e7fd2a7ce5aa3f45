//! Selection of packets and connections, used each time a capture is read.
//!
//! Packets are selected by a [`Filter`] and a [`TimeRange`] before any connection receives them, so connections are
//! numbered in the order of their first selected packets. Connections are selected by a [`Flow`] at the end of the
//! reading. A selection does not change the numbers and times of packets: both refer to the whole capture. Two readings
//! with the same selection give the same numbers to packets and connections.

use dupack_packet::CaptureTime;
use dupack_packet::captured::TcpPacket;

use crate::findings::Flow;
use crate::read::filter::Filter;
use crate::read::packet::Packet;
use crate::read::time_range::{Span, TimeRange};

/// Selection of packets and connections. By default, everything is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selection {
    /// Connections whose findings are reported.
    pub flow: Flow,
    /// Packets to analyse, by address and port; `None` for all.
    pub filter: Option<Filter>,
    /// Packets to analyse, by time.
    pub time: TimeRange,
    /// Time of the earliest TCP packet of the capture, from which all times are counted. If it is `None`, the time of
    /// the first record is used. Further readings use [`Diagnosis::first`](crate::Diagnosis::first), because records
    /// may be out of order.
    pub origin: Option<CaptureTime>,
}

impl Selection {
    /// Returns a selector for one reading of a capture.
    #[must_use]
    pub fn selector(&self) -> Selector<'_> {
        let mut selector = Selector {
            selection: self,
            first: None,
            span: Span::default(),
            left_out: LeftOut::default(),
        };
        if let Some(origin) = self.origin {
            selector.begin(origin);
        }
        selector
    }
}

impl From<Flow> for Selection {
    fn from(flow: Flow) -> Self {
        Self {
            flow,
            ..Self::default()
        }
    }
}

/// Numbers of TCP packets that are not selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of packets outside the time range.
    pub by_time: u64,
    /// Number of packets inside the time range that do not pass the filter.
    pub by_filter: u64,
}

impl LeftOut {
    /// Returns the total number of packets that are not selected.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.by_time.saturating_add(self.by_filter)
    }
}

/// Selector of the packets of one reading.
#[derive(Clone, Debug)]
pub struct Selector<'a> {
    selection: &'a Selection,
    first: Option<CaptureTime>,
    span: Span,
    left_out: LeftOut,
}

impl Selector<'_> {
    /// Starts the reading of a capture whose earliest TCP packet was captured at `first`.
    pub(crate) fn begin(&mut self, first: CaptureTime) {
        self.span = self.selection.time.in_capture(first);
        self.first = Some(first);
    }

    /// Returns the next TCP packet of the capture if it is selected; its time is counted from the first TCP packet of
    /// the capture.
    #[inline]
    pub fn take(&mut self, packet: &TcpPacket) -> Option<Packet> {
        let first = match self.first {
            Some(first) => first,
            None => {
                self.begin(packet.at);
                packet.at
            }
        };
        if !self.span.contains(packet.at) {
            self.left_out.by_time += 1;
            return None;
        }
        let filter = self.selection.filter.as_ref();
        if filter.is_some_and(|filter| !filter.takes(packet.source, packet.destination)) {
            self.left_out.by_filter += 1;
            return None;
        }
        Some(Packet::new(packet, first))
    }

    /// Returns the time of the first TCP packet of the capture, regardless of whether it is selected.
    #[must_use]
    pub const fn first(&self) -> Option<CaptureTime> {
        self.first
    }

    /// Returns the numbers of packets that were not selected so far.
    #[must_use]
    pub const fn left_out(&self) -> LeftOut {
        self.left_out
    }
}
