//! Problems of a capture, in words for users.

use std::fmt;

use dupack_tcp::time::Duration;

use super::input::Packing;
use crate::capture::CaptureTime;

/// Maximum number of damaged parts that are reported individually; further ones are only counted (our choice: a screen
/// has about fifty lines).
const DAMAGES_TOLD: usize = 8;

/// Part of a file that is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Position in the decompressed file at which the damage starts, in bytes.
    pub at: u64,
    /// Bytes that were skipped.
    pub skipped: u64,
    /// `true` if records follow the damage, `false` if it extends to the end of the file.
    pub found_next: bool,
}

/// Problem of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The file ends within a record. This record is not read.
    CutShort {
        /// Position in the decompressed file at which the record starts, in bytes.
        at: u64,
        /// Number of the record's bytes that the file contains.
        left: u64,
    },
    /// The file cannot be decompressed up to its end.
    PackingEnds {
        /// Error of the decompressor.
        what: String,
    },
    /// Part of the file is not a record.
    Damaged(Damage),
    /// More parts of the file are not records.
    MoreDamaged {
        /// Number of these parts.
        count: u64,
        /// Bytes that were skipped in these parts.
        skipped: u64,
    },
    /// Times decrease from one packet to the next.
    Backwards {
        /// Number of packets that are earlier than the previous packet.
        count: u64,
        /// Number of the first packet that is earlier than the previous packet.
        first: u64,
        /// Maximum difference between the times of two consecutive packets.
        most: Duration,
    },
    /// Packets without a time. They get the time of the previous packet.
    Timeless {
        /// Number of these packets.
        count: u64,
    },
    /// Packets on interfaces that the file does not describe, or that exceed the number of interfaces kept. The type of
    /// their first header is unknown.
    Undescribed {
        /// Number of these packets.
        count: u64,
    },
    /// Packets that the system dropped during the capture, according to the file.
    Dropped {
        /// Number of these packets.
        count: u64,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutShort { at, left } => write!(
                f,
                "the capture ends within a record that starts at byte {at}, after {left} bytes of it; everything before it was read"
            ),
            Self::PackingEnds { what } => write!(
                f,
                "the capture cannot be decompressed to its end ({what}); everything before that was read"
            ),
            Self::Damaged(Damage {
                at,
                skipped,
                found_next,
            }) => {
                write!(f, "the capture is damaged at byte {at}: ")?;
                match found_next {
                    true => write!(f, "{skipped} bytes were skipped"),
                    false => write!(f, "the remaining {skipped} bytes cannot be read"),
                }
            }
            Self::MoreDamaged { count, skipped } => write!(
                f,
                "the capture is damaged in {count} more places: {skipped} bytes were skipped"
            ),
            Self::Backwards { count, first, most } => write!(
                f,
                "times go backwards by at most {most}, first at packet {first} (occurrences: {count})"
            ),
            Self::Timeless { count } => write!(
                f,
                "packets without a time: {count}; each gets the time of the packet before it"
            ),
            Self::Undescribed { count } => write!(
                f,
                "unreadable packets, on interfaces that the capture does not describe: {count}"
            ),
            Self::Dropped { count } => write!(
                f,
                "packets that the system dropped during the capture: {count}"
            ),
        }
    }
}

/// Notes, collected while the file is read.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) packing: Packing,
    /// Number of packets without a time.
    pub(super) timeless: u64,
    /// Number of packets on unknown interfaces.
    pub(super) undescribed: u64,
    /// Last record of the file, if it is truncated: its position, and the number of its bytes in the file.
    cut_short: Option<(u64, u64)>,
    packing_ends: Option<String>,
    damages: Vec<Damage>,
    more_damaged: u64,
    more_skipped: u64,
    /// The time of the last packet.
    last: Option<CaptureTime>,
    backwards: u64,
    first_backwards: u64,
    most_backwards: u64,
}

impl Notes {
    /// Records a packet's time.
    #[inline]
    pub(super) fn time(&mut self, number: u64, at: CaptureTime) {
        let last = self.last.replace(at);
        if let Some(last) = last.filter(|last| at < *last) {
            self.went_backwards(number, last.as_unix_nanos() - at.as_unix_nanos());
        }
    }

    #[cold]
    fn went_backwards(&mut self, number: u64, nanos: u64) {
        if self.backwards == 0 {
            self.first_backwards = number;
        }
        self.backwards += 1;
        self.most_backwards = self.most_backwards.max(nanos);
    }

    /// Returns the time of the last packet.
    pub(super) const fn last(&self) -> Option<CaptureTime> {
        self.last
    }

    /// Records that the file ends after `left` bytes of the record at `at`.
    #[cold]
    pub(super) const fn cut_short(&mut self, at: u64, left: u64) {
        if left > 0 {
            self.cut_short = Some((at, left));
        }
    }

    /// Records the end of the file, and the decompressor's error if this error ended the file.
    #[cold]
    pub(super) fn ended(&mut self, failure: Option<&str>) {
        self.packing_ends = failure.map(str::to_owned);
    }

    pub(super) fn damaged(&mut self, damage: Damage) {
        if self.damages.len() < DAMAGES_TOLD {
            self.damages.push(damage);
        } else {
            self.more_damaged += 1;
            self.more_skipped = self.more_skipped.saturating_add(damage.skipped);
        }
    }

    pub(super) fn list(&self) -> Vec<Note> {
        let some = |count: u64| (count > 0).then_some(count);
        let mut list: Vec<Note> = self.damages.iter().map(|&d| Note::Damaged(d)).collect();
        list.extend(some(self.more_damaged).map(|count| Note::MoreDamaged {
            count,
            skipped: self.more_skipped,
        }));
        let what = self.packing_ends.clone();
        list.extend(what.map(|what| Note::PackingEnds { what }));
        let cut = self.cut_short;
        list.extend(cut.map(|(at, left)| Note::CutShort { at, left }));
        list.extend(some(self.backwards).map(|count| Note::Backwards {
            count,
            first: self.first_backwards,
            most: Duration::from_nanos(self.most_backwards),
        }));
        list.extend(some(self.timeless).map(|count| Note::Timeless { count }));
        list.extend(some(self.undescribed).map(|count| Note::Undescribed { count }));
        list
    }
}
