//! Advertised window. It opens when the application reads, in steps that are large enough for silly window avoidance,
//! and never shrinks (RFC 9293 §3.8.6).

use super::bandwidth::Arrivals;
use super::{Due, Receiver};

impl Receiver {
    /// Returns the receiver with windows advertised in units of 2^`shift` bytes (RFC 7323 §2.3). The peer cannot see,
    /// and therefore cannot use, the part of a window that is less than a unit.
    #[must_use]
    pub const fn telling_shifted(mut self, shift: u8) -> Self {
        self.window_shift = shift;
        self
    }

    /// Reads up to `bytes` bytes for the application, and returns the number of bytes read. This may open the window,
    /// so call [`poll_ack`](Self::poll_ack) afterwards.
    pub fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.next - self.read);
        self.read += taken;
        // Receiver's part of silly window avoidance (RFC 9293 §3.8.6.2.2): the window is advertised only if it opens by
        // at least one segment or half the buffer.
        let (edge, advertised) = (self.edge_now(), self.visible(self.edge));
        let worth = self.worthwhile_opening();
        if edge - self.edge >= worth
            && self.visible(edge) - advertised >= worth
            && advertised < u64::from(self.config.mss) * 2
        {
            self.due = Due::Yes;
        }
        self.acknowledge_read(taken);
        taken
    }

    /// Returns the minimum number of bytes by which the window must open to be advertised: one segment or half the
    /// buffer, whichever is smaller (RFC 9293 §3.8.6.2.2).
    pub(super) fn worthwhile_opening(&self) -> u64 {
        u64::from(self.config.mss).min(u64::from(self.config.buffer / 2).max(1))
    }

    /// Returns the number of bytes that a peer sees of a window whose right edge is `edge`.
    const fn visible(&self, edge: u64) -> u64 {
        edge.saturating_sub(self.next) >> self.window_shift << self.window_shift
    }

    /// Returns the right edge that the buffer permits now, limited by the bandwidth if the window follows the
    /// bandwidth. It is never below the advertised edge.
    pub(super) fn edge_now(&self) -> u64 {
        let permitted = self.read + u64::from(self.config.buffer);
        let arrivals = self.extras.as_ref().and_then(|e| e.arrivals.as_ref());
        let followed = arrivals.and_then(Arrivals::window);
        let edge = followed.map_or(permitted, |window| permitted.min(self.next + window));
        edge.max(self.edge)
    }

    /// Right edge of the window that was advertised, as a stream offset.
    #[must_use]
    pub const fn advertised_edge(&self) -> u64 {
        self.edge
    }
}
