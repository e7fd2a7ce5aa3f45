//! Counters of a station.

use dupack_tcp::time::Duration;

/// Counters of a station's MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StationCounters {
    /// Data frames transmitted, including retries.
    pub data_frames: u64,
    /// RTS frames transmitted.
    pub rts_frames: u64,
    /// Data frames that were acknowledged.
    pub acknowledged: u64,
    /// Attempts that failed because of other transmissions: the frame or its answer overlapped with another frame, or
    /// the receiver was not listening.
    pub collisions: u64,
    /// Attempts that failed because the data frame was corrupted.
    pub frame_errors: u64,
    /// Packets that were dropped at the retry limit and had not arrived.
    pub retry_drops: u64,
    /// Data frames that arrived once more because their ACK was lost. They are not passed on.
    pub duplicates: u64,
    /// Packets that the interface queue dropped.
    pub queue_drops: u64,
    /// Total time of transmissions, including answers.
    pub transmitting: Duration,
    /// Total time in which the station transmitted or sensed a carrier.
    pub busy: Duration,
}

impl StationCounters {
    /// Returns the counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            data_frames: self.data_frames - earlier.data_frames,
            rts_frames: self.rts_frames - earlier.rts_frames,
            acknowledged: self.acknowledged - earlier.acknowledged,
            collisions: self.collisions - earlier.collisions,
            frame_errors: self.frame_errors - earlier.frame_errors,
            retry_drops: self.retry_drops - earlier.retry_drops,
            duplicates: self.duplicates - earlier.duplicates,
            queue_drops: self.queue_drops - earlier.queue_drops,
            transmitting: self.transmitting - earlier.transmitting,
            busy: self.busy - earlier.busy,
        }
    }
}
