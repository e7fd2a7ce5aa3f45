//! Properties of the sender's windows, inferred from its flights. A capture does not contain the congestion window,
//! which is at least the maximum flight since the last loss.

use dupack_tcp::time::{Duration, Instant};

use super::span::{Flights, Kind};

/// Minimum growth factor from round to round in slow start. Our choice: slow start grows by a factor of 2, or of 1.5 if
/// the receiver acknowledges two segments at once and the sender counts ACKs (RFC 5681 §3.1); congestion avoidance
/// grows by a factor of less than 1.25 from four segments on.
const SLOW_START_GROWTH: (u64, u64) = (5, 4);

/// Number of consecutive rounds with less than this growth that end slow start. Our choice: a single round may be
/// disturbed.
const SLOW_ROUNDS: u8 = 2;

/// Inverse of the fraction of the window that a sender may leave unused for a short time in order to send larger
/// packets (Linux: `tcp_tso_win_divisor`).
const DEFERRED_PART: u64 = 3;

/// Inverse of a fraction of the window. If less than this fraction is in use, pacing, offload, and a send buffer that
/// is refilled late (Linux wakes a writer when a third is free) do not explain it. Our choice.
const AMPLE_PART: u64 = 2;

/// Phase of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The window has doubled in each round since the beginning.
    Start,
    /// There has been no loss, and the window no longer doubles.
    Steady,
    AfterLoss,
}

/// Limit of the flights of a round: a window, or another limit such as the application or the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    ByWindow,
    ByOthers,
}

/// Maximum flights of rounds, and the state of the windows.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    phase: Phase,
    /// Offset whose arrival ends the round; `None` if no data is outstanding. In this case, the round begins with the
    /// next ACK.
    round_ends: Option<u64>,
    flight_max: u64,
    flight_before: Option<u64>,
    slow_rounds: u8,
    fill: Fill,
    /// Maximum flight in bytes that the window is known to have allowed since the last loss.
    proven: u64,
    /// Maximum size of a segment, and of a packet, in bytes.
    mss: u64,
    packet_max: u64,
    emptied_at: Option<Instant>,
}

impl Windows {
    pub(super) fn new(segment_size: u64) -> Self {
        Self {
            phase: Phase::Start,
            round_ends: None,
            flight_max: 0,
            flight_before: None,
            slow_rounds: 0,
            fill: Fill::ByWindow,
            proven: 0,
            mss: segment_size.max(1),
            packet_max: 1,
            emptied_at: None,
        }
    }

    pub(super) const fn mss(&self) -> u64 {
        self.mss
    }

    /// Returns the kind of time while the window is full.
    pub(super) const fn kind(&self) -> Kind {
        match self.phase {
            Phase::Start => Kind::SlowStart,
            Phase::Steady | Phase::AfterLoss => Kind::Congestion,
        }
    }

    /// `true` if far less data is in flight than the window is known to allow.
    pub(super) fn has_ample_room(&self, flight: u64) -> bool {
        self.has_room(flight) && flight < self.proven / AMPLE_PART
    }

    /// `true` if less data is in flight than the window is known to allow.
    pub(super) fn has_room(&self, flight: u64) -> bool {
        let deferred = (self.proven / DEFERRED_PART).max(self.packet_max);
        let slack = deferred.max(self.mss.saturating_mul(2));
        flight.saturating_add(slack) < self.proven
    }

    /// Records a departure after which `flight` bytes are outstanding.
    pub(super) fn left(
        &mut self,
        now: Instant,
        packet: u64,
        segment: u64,
        flight: u64,
        rto: Duration,
    ) {
        self.mss = self.mss.max(segment);
        self.packet_max = self.packet_max.max(packet);
        if let Some(since) = self.emptied_at.take()
            && now.since(since) > rto
        {
            self.restart();
        }
        self.flight_max = self.flight_max.max(flight);
        self.proven = self.proven.max(flight);
    }

    /// Discards the known window after an idle time of one timeout, because the sender may have restarted its window
    /// (RFC 5681 §4.1).
    fn restart(&mut self) {
        self.proven = 0;
        self.flight_before = None;
        if self.phase == Phase::Steady {
            self.phase = Phase::Start;
        }
        self.slow_rounds = 0;
    }

    /// Records that all data is acknowledged.
    pub(super) fn emptied(&mut self, now: Instant) {
        self.emptied_at.get_or_insert(now);
    }

    /// Records a reduction of the window after a loss or a congestion mark.
    pub(super) const fn reduced(&mut self) {
        self.phase = Phase::AfterLoss;
        self.proven = 0;
        self.flight_max = 0;
        self.flight_before = None;
    }

    /// Records that another limit than a window limited the sender in this round.
    pub(super) const fn held_by_others(&mut self) {
        self.fill = Fill::ByOthers;
    }

    /// Records that all data before `arrived` has arrived, and that `sent` is the end of the sent data. Returns the
    /// maximum flight of the round at its end, or no flight if another limit than a window limited the sender. Returns
    /// `None` before the end.
    pub(super) fn arrived(&mut self, arrived: u64, sent: u64, flight: u64) -> Option<Flights> {
        if arrived < *self.round_ends.get_or_insert(sent) {
            return None;
        }
        self.round_ends = (sent > arrived).then_some(sent);
        let largest = core::mem::replace(&mut self.flight_max, flight);
        let fill = core::mem::replace(&mut self.fill, Fill::ByWindow);
        if fill == Fill::ByOthers || largest == 0 {
            self.flight_before = None;
            self.slow_rounds = 0;
            return Some(Flights::default());
        }
        let before = self.flight_before.replace(largest);
        self.proven = largest.max(before.unwrap_or(0)).max(flight);
        let (growth, of) = SLOW_START_GROWTH;
        let slow =
            before.is_some_and(|before| largest.saturating_mul(of) < before.saturating_mul(growth));
        self.slow_rounds = if slow {
            self.slow_rounds.saturating_add(1)
        } else {
            0
        };
        if self.phase == Phase::Start && self.slow_rounds >= SLOW_ROUNDS {
            self.phase = Phase::Steady;
        }
        Some(Flights::one(largest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::budget::film::{at, ms};

    const MSS: u64 = 1000;

    /// Simulates a round in which `segments` segments were in flight and arrived.
    fn round(windows: &mut Windows, segments: u64) {
        windows.left(at(0), MSS, MSS, segments * MSS, ms(1000));
        windows.arrived(1, 1, 0);
    }

    fn after(rounds: &[u64]) -> Windows {
        let mut windows = Windows::new(MSS);
        rounds
            .iter()
            .for_each(|&segments| round(&mut windows, segments));
        windows
    }

    #[test]
    fn a_window_has_room_below_two_thirds_of_its_greatest_flight_and_ample_room_below_half() {
        let mut windows = Windows::new(MSS);
        assert!(!windows.has_room(0));
        windows.left(at(0), MSS, MSS, 30 * MSS, ms(1000));
        assert!(windows.has_room(19_999) && !windows.has_room(20_000));
        assert!(windows.has_ample_room(14_999) && !windows.has_ample_room(15_000));
        // A large packet of offload is not sent until the window has space for all of it.
        windows.left(at(0), 16 * MSS, MSS, 30 * MSS, ms(1000));
        assert!(windows.has_room(13_999) && !windows.has_room(14_000));
        // With a window of a few segments, space for two segments does not count as unused.
        let mut small = Windows::new(MSS);
        small.left(at(0), MSS, MSS, 4 * MSS, ms(1000));
        assert!(small.has_room(1999) && !small.has_room(2000));
    }

    #[test]
    fn slow_start_ends_after_two_rounds_without_doubling() {
        assert_eq!(after(&[10, 20, 40]).kind(), Kind::SlowStart);
        assert_eq!(after(&[10, 20, 21]).kind(), Kind::SlowStart);
        assert_eq!(after(&[10, 20, 21, 22]).kind(), Kind::Congestion);
        assert_eq!(after(&[10, 10, 20, 20]).kind(), Kind::SlowStart);
        // Growth by a quarter still counts as slow start.
        assert_eq!(after(&[16, 20, 25]).kind(), Kind::SlowStart);
        assert_eq!(after(&[16, 20, 24, 29]).kind(), Kind::Congestion);
    }

    #[test]
    fn rounds_with_other_limits_do_not_count() {
        let mut windows = after(&[10]);
        for _ in 0..4 {
            windows.held_by_others();
            round(&mut windows, 10);
        }
        assert_eq!(windows.kind(), Kind::SlowStart);
    }

    #[test]
    fn a_window_idle_for_a_timeout_is_no_longer_known() {
        let idle_for = |long: u64, rounds: &[u64]| {
            let mut windows = after(rounds);
            windows.emptied(at(1000));
            windows.left(at(1000 + long), MSS, MSS, MSS, ms(300));
            (windows.has_room(MSS), windows.kind())
        };
        assert_eq!(idle_for(300, &[10, 20]), (true, Kind::SlowStart));
        assert_eq!(idle_for(301, &[10, 20]), (false, Kind::SlowStart));
        // The sender may restart its window with slow start.
        let steady = [10, 20, 20, 20];
        assert_eq!(idle_for(300, &steady), (true, Kind::Congestion));
        assert_eq!(idle_for(301, &steady), (false, Kind::SlowStart));
    }

    #[test]
    fn a_loss_ends_slow_start_and_forgets_the_known_window() {
        let mut windows = after(&[10, 20, 40]);
        windows.reduced();
        assert!(!windows.has_room(0));
        for segments in [5, 10, 20] {
            round(&mut windows, segments);
        }
        assert_eq!(windows.kind(), Kind::Congestion);
        windows.emptied(at(0));
        windows.left(at(5000), MSS, MSS, MSS, ms(300));
        assert_eq!(windows.kind(), Kind::Congestion);
    }
}
