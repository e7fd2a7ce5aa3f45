//! What is amiss with a capture, for people.

use std::fmt;

use dupack_tcp::time::Duration;

use super::input::Packing;
use crate::capture::CaptureTime;

/// How many damages are told one by one; of the others, the number. Ours: a screen has some fifty lines.
const DAMAGES_TOLD: usize = 8;

/// A part of a file that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins: bytes from the file's start, unpacked.
    pub at: u64,
    /// Bytes that were passed over.
    pub skipped: u64,
    /// Whether records follow it, or it goes on to the end.
    pub found_next: bool,
}

/// Something that is amiss with a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// It ends within a record, of which nothing is read.
    CutShort {
        /// Where the record begins: bytes from the file's start, unpacked.
        at: u64,
        /// Bytes of it that there are.
        left: u64,
    },
    /// It cannot be unpacked to its end.
    PackingEnds {
        /// What the unpacker says.
        what: String,
    },
    /// A part of it is no record.
    Damaged(Damage),
    /// So many more parts are no records.
    MoreDamaged {
        /// Their number.
        count: u64,
        /// Bytes that were passed over in them.
        skipped: u64,
    },
    /// Times go backwards.
    Backwards {
        /// How often.
        count: u64,
        /// The first packet that is earlier than the one before it.
        first: u64,
        /// By how much at most.
        most: Duration,
    },
    /// Packets without a time, which have that of the packet before.
    Timeless {
        /// Their number.
        count: u64,
    },
    /// Packets on interfaces that the file does not describe, or more than are kept: nobody knows what their
    /// first header is.
    Undescribed {
        /// Their number.
        count: u64,
    },
    /// Packets that the system dropped while it captured, as it says itself.
    Dropped {
        /// Their number.
        count: u64,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutShort { at, left } => write!(
                f,
                "the capture ends within a record, of which there are {left} bytes, from byte {at} on: all before it was read"
            ),
            Self::PackingEnds { what } => write!(
                f,
                "the capture cannot be unpacked to its end ({what}): all before that was read"
            ),
            Self::Damaged(Damage {
                at,
                skipped,
                found_next,
            }) => {
                write!(f, "the capture is damaged at byte {at}: ")?;
                match found_next {
                    true => write!(f, "{skipped} bytes were passed over"),
                    false => write!(
                        f,
                        "nothing in the {skipped} bytes from there to its end can be read"
                    ),
                }
            }
            Self::MoreDamaged { count, skipped } => write!(
                f,
                "the capture is damaged in {count} more places: {skipped} bytes were passed over"
            ),
            Self::Backwards { count, first, most } => write!(
                f,
                "times go backwards, by {most} at most, first at packet {first}; so often: {count}"
            ),
            Self::Timeless { count } => write!(
                f,
                "packets without a time: {count}; each is taken to be captured with the packet before it"
            ),
            Self::Undescribed { count } => write!(
                f,
                "packets on interfaces that the capture does not describe, which cannot be read: {count}"
            ),
            Self::Dropped { count } => write!(
                f,
                "packets that the system dropped while it captured, as the capture says: {count}"
            ),
        }
    }
}

/// Notes in the making.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) packing: Packing,
    /// Packets without a time.
    pub(super) timeless: u64,
    /// Packets on unknown interfaces.
    pub(super) undescribed: u64,
    /// The file's last record, if it is cut.
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
    /// A packet's time.
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

    /// The time of the last packet.
    pub(super) const fn last(&self) -> Option<CaptureTime> {
        self.last
    }

    /// The file ends after `left` bytes of the record that begins at `at`.
    #[cold]
    pub(super) const fn cut_short(&mut self, at: u64, left: u64) {
        if left > 0 {
            self.cut_short = Some((at, left));
        }
    }

    /// The file has ended, by what the unpacker said if that is why.
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
