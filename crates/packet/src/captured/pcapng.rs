//! pcapng (draft-ietf-opsawg-pcapng): blocks that begin and end with their length.
//!
//! After damage, reading resumes at the next block of a known kind whose two lengths are equal.

mod interface;
mod options;

use std::io::Read;

use super::error::ReadError;
use super::input::Input;
use super::link::LinkType;
use super::note::{Damage, Note, Notes};
use super::pcap::PACKET_BYTES_MAX;
use super::{Heading, Order, Record};
use crate::capture::CaptureTime;

pub use interface::Interface;
use options::Options;

/// Maximum length of a block that is accepted: a packet, and the same amount of options. Blocks without information
/// about packets, such as names and keys, may be longer, and are skipped.
pub const BLOCK_BYTES_MAX: u32 = 2 * PACKET_BYTES_MAX;

/// Maximum length of a block that is skipped, as in Wireshark (`MAX_BLOCK_SIZE`).
const SKIPPED_BYTES_MAX: u32 = 16 << 20;

/// Maximum number of interfaces kept per section, so that memory is bounded. This is our choice: twice the largest
/// observed number of containers on a machine.
pub const INTERFACES_MAX: usize = 4096;

/// Length of the shortest block in bytes: kind, length, and the length again.
const FRAMING_BYTES: usize = 12;

/// Length in bytes of kind and length, before the body of a block.
const BEFORE_BODY: usize = 8;

/// Kind of a section header block, which is the same in both byte orders.
const SECTION_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Number that shows the byte order of a section.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Kinds of blocks (draft-ietf-opsawg-pcapng §11.1).
mod kind {
    pub(super) const SECTION: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE: u32 = 1;
    pub(super) const OBSOLETE_PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const NAMES: u32 = 4;
    pub(super) const STATISTICS: u32 = 5;
    pub(super) const PACKET: u32 = 6;
    pub(super) const JOURNAL: u32 = 9;
    pub(super) const SECRETS: u32 = 10;
    pub(super) const CUSTOM: u32 = 0x0000_0bad;
    pub(super) const CUSTOM_NOT_COPIED: u32 = 0x4000_0bad;

    /// Kinds of blocks without information about packets, which may be long.
    pub(super) const BULKY: [u32; 5] = [NAMES, JOURNAL, SECRETS, CUSTOM, CUSTOM_NOT_COPIED];

    /// Kinds of blocks that a search after damage accepts.
    pub(super) const KNOWN: [u32; 11] = [
        PACKET,
        SECTION,
        INTERFACE,
        OBSOLETE_PACKET,
        SIMPLE_PACKET,
        NAMES,
        STATISTICS,
        JOURNAL,
        SECRETS,
        CUSTOM,
        CUSTOM_NOT_COPIED,
    ];
}

/// Returns `true` if a file that begins with these bytes is pcapng.
pub(super) fn begins(file: &[u8]) -> bool {
    file.starts_with(&SECTION_MAGIC) && section_order(file).is_some()
}

/// Returns the byte order of a section that begins with these bytes.
fn section_order(block: &[u8]) -> Option<Order> {
    let magic = block.get(BEFORE_BODY..)?.first_chunk()?;
    [Order::Big, Order::Little]
        .into_iter()
        .find(|order| order.u32(*magic) == BYTE_ORDER_MAGIC)
}

/// Kind and length of a block.
#[derive(Clone, Copy, Debug)]
struct Head {
    kind: u32,
    /// Length of the whole block, in bytes.
    len: u32,
    order: Order,
}

impl Head {
    /// Returns the head of the block at the start of `bytes`, in a section with this byte order; `None` if there is no
    /// valid head.
    #[inline]
    fn of(bytes: &[u8], order: Order) -> Option<Self> {
        let order = match bytes.starts_with(&SECTION_MAGIC) {
            true => section_order(bytes)?,
            false => order,
        };
        let head = Self {
            kind: order.u32_at(bytes, 0),
            len: order.u32_at(bytes, 4),
            order,
        };
        let longest = match head.is_bulky() {
            true => SKIPPED_BYTES_MAX,
            false => BLOCK_BYTES_MAX,
        };
        let fits = (FRAMING_BYTES as u32..=longest).contains(&head.len);
        (fits && head.len.is_multiple_of(4)).then_some(head)
    }

    fn is_bulky(self) -> bool {
        kind::BULKY.contains(&self.kind)
    }

    /// Returns `true` if the block must be skipped without being stored.
    fn is_skipped(self) -> bool {
        self.len > BLOCK_BYTES_MAX
    }
}

/// Open file in this format.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: Order,
    /// Interfaces of the current section.
    interfaces: Vec<Interface>,
    /// Number of interfaces in previous sections.
    interfaces_before: u32,
    /// Number of interfaces of the current section that were not kept.
    interfaces_left_out: u32,
    /// Number of packets dropped in previous sections.
    dropped_before: u64,
}

/// Contents of a packet block.
struct Packet {
    /// Number of the interface within the section.
    interface: u32,
    /// Time in the interface's ticks; `None` if the block has no time.
    ticks: Option<u64>,
    kept: u32,
    original: u32,
    /// Offset of the packet in the block.
    data_at: usize,
}

impl Pcapng {
    pub(super) const fn new() -> Self {
        Self {
            order: Order::Little,
            interfaces: Vec::new(),
            interfaces_before: 0,
            interfaces_left_out: 0,
            dropped_before: 0,
        }
    }

    pub(super) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Returns a note on the dropped packets that the blocks report, if there are any.
    pub(super) fn notes(&self) -> Option<Note> {
        let count = self.dropped();
        (count > 0).then_some(Note::Dropped { count })
    }

    fn dropped(&self) -> u64 {
        let here = self.interfaces.iter().map(|interface| interface.dropped);
        here.fold(self.dropped_before, u64::saturating_add)
    }

    /// Returns the record of the next packet.
    #[inline]
    pub(super) fn next<R: Read>(
        &mut self,
        input: &mut Input<R>,
        notes: &mut Notes,
    ) -> Result<Option<Record>, ReadError> {
        loop {
            let Some(bytes) = input.need(FRAMING_BYTES)? else {
                notes.cut_short(input.position(), input.left() as u64);
                return Ok(None);
            };
            let Some(head) = Head::of(bytes, self.order) else {
                if self.find_next(input, notes)? {
                    continue;
                }
                return Ok(None);
            };
            if head.is_skipped() {
                let at = input.position();
                if input.skip(u64::from(head.len))? > 0 {
                    notes.cut_short(at, input.position() - at);
                    return Ok(None);
                }
                continue;
            }
            // The length is at most `BLOCK_BYTES_MAX`.
            let len = head.len as usize;
            let Some(bytes) = input.need(len)? else {
                notes.cut_short(input.position(), input.left() as u64);
                return Ok(None);
            };
            let Some(body) = body(bytes, head) else {
                if self.find_next(input, notes)? {
                    continue;
                }
                return Ok(None);
            };
            let record = self.block(head, body, notes);
            let start = input.start();
            input.consume(len);
            if let Some(mut record) = record {
                record.start += start;
                return Ok(Some(record));
            }
        }
    }

    /// Handles one block. The start in the returned record is relative to the block.
    #[inline]
    fn block(&mut self, head: Head, body: &[u8], notes: &mut Notes) -> Option<Record> {
        let order = self.order;
        let packet = match head.kind {
            kind::PACKET => Packet {
                interface: order.u32_at(body, 0),
                ticks: Some(ticks(order, body)),
                kept: order.u32_at(body, 12),
                original: order.u32_at(body, 16),
                data_at: 20,
            },
            kind::OBSOLETE_PACKET => Packet {
                interface: u32::from(order.u16_at(body, 0)),
                ticks: Some(ticks(order, body)),
                kept: order.u32_at(body, 12),
                original: order.u32_at(body, 16),
                data_at: 20,
            },
            kind::SIMPLE_PACKET => self.simple(body),
            kind::SECTION => {
                self.begin_section(head.order);
                return None;
            }
            kind::INTERFACE => {
                self.describe(body);
                return None;
            }
            kind::STATISTICS => {
                self.count_dropped(body);
                return None;
            }
            _ => return None,
        };
        Some(self.record(packet, body, notes))
    }

    /// Parses a simple packet block, which contains only the packet and its length on the link, and neither a time nor
    /// an interface.
    fn simple(&self, body: &[u8]) -> Packet {
        let original = self.order.u32_at(body, 0);
        let snap = match self.interfaces.first().map(|interface| interface.snap) {
            None | Some(0) => u32::MAX,
            Some(snap) => snap,
        };
        Packet {
            interface: 0,
            ticks: None,
            kept: original.min(snap),
            original,
            data_at: 4,
        }
    }

    #[inline]
    fn record(&self, packet: Packet, body: &[u8], notes: &mut Notes) -> Record {
        let data = body.get(packet.data_at..).unwrap_or_default();
        // The length is at most that of the block.
        let len = data.len().min(packet.kept as usize);
        let described = self.interfaces.get(packet.interface as usize);
        let at = match (packet.ticks, described) {
            (Some(ticks), Some(interface)) => interface.time(ticks),
            (Some(ticks), None) => Interface::time_by_default(ticks),
            (None, _) => {
                notes.timeless += 1;
                notes.last().unwrap_or(CaptureTime::from_unix_nanos(0))
            }
        };
        if described.is_none() {
            notes.undescribed += 1;
        }
        let after = data.get(len.next_multiple_of(4)..).unwrap_or_default();
        let heading = match after {
            [] => Heading::Unknown,
            options => heading(Options::new(self.order, options)),
        };
        Record {
            at,
            link: described.map_or(LinkType::UNDESCRIBED, |interface| interface.link),
            interface: self.interfaces_before.saturating_add(packet.interface),
            heading,
            // The length is at most that of the block.
            original_len: packet.original.max(len as u32),
            start: BEFORE_BODY + packet.data_at,
            len,
        }
    }

    fn begin_section(&mut self, order: Order) {
        self.dropped_before = self.dropped();
        let count = self.interfaces.len() as u32;
        let all = count.saturating_add(self.interfaces_left_out);
        self.interfaces_before = self.interfaces_before.saturating_add(all);
        self.interfaces_left_out = 0;
        self.interfaces.clear();
        self.order = order;
    }

    fn describe(&mut self, body: &[u8]) {
        if self.interfaces.len() < INTERFACES_MAX {
            self.interfaces.push(Interface::parse(self.order, body));
        } else {
            self.interfaces_left_out = self.interfaces_left_out.saturating_add(1);
        }
    }

    /// Handles the statistics of an interface. Their counts include all packets of the interface so far.
    fn count_dropped(&mut self, body: &[u8]) {
        let number = self.order.u32_at(body, 0) as usize;
        if let Some(interface) = self.interfaces.get_mut(number) {
            let options = body.get(12..).unwrap_or_default();
            interface.count_dropped(Options::new(self.order, options));
        }
    }

    /// Skips to the next block. Returns `false` if there is none.
    #[cold]
    fn find_next<R: Read>(
        &self,
        input: &mut Input<R>,
        notes: &mut Notes,
    ) -> Result<bool, ReadError> {
        let at = input.position();
        loop {
            input.consume(1);
            let Some(bytes) = input.need(FRAMING_BYTES)? else {
                input.skip(u64::MAX)?;
                notes.damaged(Damage {
                    at,
                    skipped: input.position() - at,
                    found_next: false,
                });
                return Ok(false);
            };
            let Some(head) = Head::of(bytes, self.order).filter(|head| head.is_wanted()) else {
                continue;
            };
            let whole = input.need(head.len as usize)?;
            if whole.is_some_and(|bytes| body(bytes, head).is_some()) {
                notes.damaged(Damage {
                    at,
                    skipped: input.position() - at,
                    found_next: true,
                });
                return Ok(true);
            }
        }
    }
}

impl Head {
    /// Returns `true` if a search after damage accepts a block with this head.
    fn is_wanted(self) -> bool {
        kind::KNOWN.contains(&self.kind) && !self.is_skipped()
    }
}

/// Returns the time in a packet block. The high half comes first in both byte orders.
#[inline]
fn ticks(order: Order, body: &[u8]) -> u64 {
    u64::from(order.u32_at(body, 4)) << 32 | u64::from(order.u32_at(body, 8))
}

/// Returns the body of a block, if the lengths at its start and end are equal.
#[inline]
fn body(bytes: &[u8], head: Head) -> Option<&[u8]> {
    let len = head.len as usize;
    let after = len.checked_sub(4)?;
    let body = bytes.get(BEFORE_BODY..after)?;
    (head.order.u32_at(bytes, after) == head.len).then_some(body)
}

/// Returns the direction of a packet according to its flags (§4.3, option `epb_flags`).
fn heading(options: Options<'_>) -> Heading {
    const FLAGS: u16 = 2;
    let order = options.order();
    for (code, value) in options {
        if code == FLAGS {
            return match order.u32_at(value, 0) & 0b11 {
                0b01 => Heading::Incoming,
                0b10 => Heading::Outgoing,
                _ => Heading::Unknown,
            };
        }
    }
    Heading::Unknown
}
