//! Classic pcap (draft-ietf-opsawg-pcap): a header of 24 bytes, then records, each of which consists of a header and a
//! packet.
//!
//! There is no mark at the start of a record. After damage, reading resumes where two consecutive headers are
//! plausible, the second at the position that the first implies.

use std::io::Read;

use super::error::{FirstBytes, ReadError};
use super::input::Input;
use super::link::LinkType;
use super::note::{Damage, Notes};
use super::{Heading, Order, Record};
use crate::capture::CaptureTime;

/// Maximum number of captured bytes of a packet: twice the largest segment of Linux's offload (`GSO_MAX_SIZE`, slightly
/// less than 512 KiB), and four times libpcap's own bound (`MAXIMUM_SNAPLEN`).
pub const PACKET_BYTES_MAX: u32 = 1 << 20;

/// Length of the file's header in bytes.
const FILE_HEADER_BYTES: usize = 24;

/// Length of a record's header in bytes: seconds, fraction, kept length, length on the link.
const RECORD_HEADER_BYTES: usize = 16;

/// Length of a record's header in Kuznetzov's format, which patched Linux systems write: interface, protocol and
/// direction follow.
const PATCHED_RECORD_HEADER_BYTES: usize = 24;

/// Bits of the header's link type field that contain the link type. The higher bits describe the frame check sequence.
const LINK_TYPE_BITS: u32 = 0x03ff_ffff;

/// Maximum time between two consecutive packets in a search for records. One day is our choice: a misplaced header
/// gives a random time within 136 years.
const NEIGHBOURS_SECS: u32 = 86_400;

/// Minimum number of bytes in a record that a search finds. Text or zeros may look like packets of length zero, and the
/// shortest frame with an IP packet is longer than this. This is our choice.
const FOUND_BYTES_MIN: u32 = 20;

/// Variant of the format, determined by its magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    order: Order,
    ticks: Ticks,
    header: usize,
}

/// Unit of the fraction of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ticks {
    Micros,
    Nanos,
}

impl Ticks {
    const fn nanos(self) -> u64 {
        match self {
            Self::Micros => 1000,
            Self::Nanos => 1,
        }
    }

    const fn per_second(self) -> u32 {
        match self {
            Self::Micros => 1_000_000,
            Self::Nanos => 1_000_000_000,
        }
    }
}

impl Form {
    /// Returns the variant of a file that begins with these bytes, if it is pcap.
    pub(super) fn of(file: &[u8]) -> Option<Self> {
        let magic = file.first_chunk::<4>()?;
        [Order::Big, Order::Little].into_iter().find_map(|order| {
            let (ticks, header) = match order.u32(*magic) {
                0xa1b2_c3d4 => (Ticks::Micros, RECORD_HEADER_BYTES),
                0xa1b2_3c4d => (Ticks::Nanos, RECORD_HEADER_BYTES),
                0xa1b2_cd34 => (Ticks::Micros, PATCHED_RECORD_HEADER_BYTES),
                _ => return None,
            };
            Some(Self {
                order,
                ticks,
                header,
            })
        })
    }
}

/// Order of the two lengths in a record. Old versions wrote them in reverse order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    KeptFirst,
    /// The order is unknown: the shorter length is the captured length.
    Either,
    KeptLast,
}

impl Lengths {
    /// Returns the order, as in libpcap (`sf-pcap.c`): it is reversed before version 2.3, and by some programs in 2.3.
    /// DG/UX wrote version 543.
    const fn of_version(minor: u16) -> Self {
        match minor {
            0..=2 | 543 => Self::KeptLast,
            3 => Self::Either,
            _ => Self::KeptFirst,
        }
    }
}

/// Header of a record.
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    secs: u32,
    fraction: u32,
    kept: u32,
    original: u32,
}

/// Open file in this format.
#[derive(Debug)]
pub(super) struct Pcap {
    form: Form,
    lengths: Lengths,
    /// Snapshot length in the file's header; 0 means that there is none.
    snap: u32,
    link: LinkType,
    /// Time of the last packet in seconds, for a search after damage.
    last_secs: Option<u32>,
}

impl Pcap {
    /// Reads the file's header.
    pub(super) fn open<R: Read>(form: Form, input: &mut Input<R>) -> Result<Self, ReadError> {
        let order = form.order;
        let Some(header) = input.need(FILE_HEADER_BYTES)? else {
            let first = FirstBytes::of(input.some()?);
            return Err(ReadError::HeaderCut { first });
        };
        let file = Self {
            form,
            lengths: Lengths::of_version(order.u16_at(header, 6)),
            snap: order.u32_at(header, 16),
            link: LinkType(order.u32_at(header, 20) & LINK_TYPE_BITS),
            last_secs: None,
        };
        input.consume(FILE_HEADER_BYTES);
        Ok(file)
    }

    pub(super) const fn describe(&self) -> &'static str {
        match (self.form.ticks, self.form.header) {
            (Ticks::Nanos, _) => "pcap with nanoseconds",
            (Ticks::Micros, RECORD_HEADER_BYTES) => "pcap with microseconds",
            (Ticks::Micros, _) => "pcap of patched Linux systems",
        }
    }

    /// Returns the record of the next packet.
    #[inline]
    pub(super) fn next<R: Read>(
        &mut self,
        input: &mut Input<R>,
        notes: &mut Notes,
    ) -> Result<Option<Record>, ReadError> {
        loop {
            let Some(bytes) = input.need(self.form.header)? else {
                notes.cut_short(input.position(), input.left() as u64);
                return Ok(None);
            };
            let header = self.header(bytes);
            if self.is_impossible(header) {
                if self.find_next(input, notes)? {
                    continue;
                }
                return Ok(None);
            }
            // The length is at most `PACKET_BYTES_MAX`.
            let len = header.kept as usize;
            let whole = self.form.header + len;
            if input.need(whole)?.is_none() {
                notes.cut_short(input.position(), input.left() as u64);
                return Ok(None);
            }
            let start = input.start() + self.form.header;
            input.consume(whole);
            self.last_secs = Some(header.secs);
            return Ok(Some(Record {
                at: self.time(header),
                link: self.link,
                interface: 0,
                heading: Heading::Unknown,
                original_len: header.original.max(header.kept),
                start,
                len,
            }));
        }
    }

    /// Returns the header at the start of `bytes`.
    #[inline]
    fn header(&self, bytes: &[u8]) -> Header {
        let order = self.form.order;
        let Some(&[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]) = bytes.first_chunk() else {
            return Header::default();
        };
        let (one, two) = (order.u32([i, j, k, l]), order.u32([m, n, o, p]));
        let (kept, original) = match self.lengths {
            Lengths::KeptFirst => (one, two),
            Lengths::Either => (one.min(two), one.max(two)),
            Lengths::KeptLast => (two, one),
        };
        Header {
            secs: order.u32([a, b, c, d]),
            fraction: order.u32([e, f, g, h]),
            kept,
            original,
        }
    }

    #[inline]
    fn time(&self, header: Header) -> CaptureTime {
        // The product is less than 2⁶³.
        let secs = u64::from(header.secs) * 1_000_000_000;
        let fraction = u64::from(header.fraction) * self.form.ticks.nanos();
        CaptureTime::from_unix_nanos(secs + fraction)
    }

    /// Returns `true` if no record can begin with this header. A fraction of a second or more is accepted up to 10⁹
    /// units, because some files contain such fractions. A frame of zero bytes is rejected, because a full disk leaves
    /// zeros in the file.
    #[inline]
    const fn is_impossible(&self, header: Header) -> bool {
        header.kept > PACKET_BYTES_MAX
            || header.fraction >= Ticks::Nanos.per_second()
            || header.kept | header.original == 0
    }

    /// Returns `true` if a record that a search finds may begin with this header.
    fn is_plausible(&self, header: Header, near: Option<u32>) -> bool {
        let longest = match self.snap {
            0 => PACKET_BYTES_MAX,
            snap => snap.min(PACKET_BYTES_MAX),
        };
        (FOUND_BYTES_MIN..=longest).contains(&header.kept)
            && (header.kept..=PACKET_BYTES_MAX).contains(&header.original)
            && header.fraction < self.form.ticks.per_second()
            && near.is_none_or(|near| near.abs_diff(header.secs) <= NEIGHBOURS_SECS)
    }

    /// Skips to the next plausible record. Returns `false` if there is none.
    #[cold]
    fn find_next<R: Read>(
        &self,
        input: &mut Input<R>,
        notes: &mut Notes,
    ) -> Result<bool, ReadError> {
        let at = input.position();
        loop {
            input.consume(1);
            let Some(bytes) = input.need(self.form.header)? else {
                input.skip(u64::MAX)?;
                notes.damaged(Damage {
                    at,
                    skipped: input.position() - at,
                    found_next: false,
                });
                return Ok(false);
            };
            let header = self.header(bytes);
            if self.is_plausible(header, self.last_secs) && self.is_followed(header, input)? {
                notes.damaged(Damage {
                    at,
                    skipped: input.position() - at,
                    found_next: true,
                });
                return Ok(true);
            }
        }
    }

    /// Returns `true` if another record, or the end of the file, is at the position that `header` implies.
    fn is_followed<R: Read>(
        &self,
        header: Header,
        input: &mut Input<R>,
    ) -> Result<bool, ReadError> {
        let whole = self.form.header + header.kept as usize;
        let Some(bytes) = input.need(whole + self.form.header)? else {
            return Ok(input.left() == whole);
        };
        let next = self.header(bytes.get(whole..).unwrap_or_default());
        Ok(self.is_plausible(next, Some(header.secs)))
    }
}
