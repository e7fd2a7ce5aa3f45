//! Reads capture files of anybody's making: pcap and pcapng, plain or packed by gzip, down to the
//! TCP header of each packet.
//!
//! ```
//! use dupack_packet::captured::{CaptureReader, Tally};
//! # use dupack_packet::{CaptureWriter, Snap};
//! # let file = CaptureWriter::new(Vec::new(), Snap::Headers)?.finish()?;
//!
//! let mut reader = CaptureReader::new(file.as_slice())?;
//! let mut tally = Tally::default();
//! while let Some(captured) = reader.next_packet()? {
//!     let packet = captured.tcp();
//!     tally.count(&captured, &packet);
//!     if let Ok(packet) = packet {
//!         println!("{} {} > {}: {} bytes", packet.at, packet.source, packet.destination, packet.segment.len);
//!     }
//! }
//! for note in reader.notes() {
//!     println!("{note}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it is for |
//! | --- | --- |
//! | `input.rs` | bytes in large pieces, unpacked |
//! | `pcap.rs`, `pcapng.rs` | records in the file |
//! | `link.rs` | from the frame to the IP packet |
//! | `packet.rs` | from there to the TCP header |
//! | `tunnel.rs` | from there to an IP packet within |
//! | `tally.rs`, `note.rs` | what people are told of the rest |
//!
//! **Any bytes may come.** Nothing panics, and no length in a file is believed beyond a bound
//! ([`PACKET_BYTES_MAX`], [`BLOCK_BYTES_MAX`]): memory grows by what was read, not by what is promised. A
//! file that ends within a packet, or is damaged, is read as far as it goes, and a [`Note`] says so.
//!
//! **Why a reader of our own.** `pcap-file` 2.0, by which captures are written here, refuses every packet that
//! is longer than the file's snapshot length: all captures of headers alone. It takes each time in pcapng
//! for nanoseconds, and stops for good at the first damaged block. `pcap-parser` 0.17 does not know pcapng's
//! obsolete packet blocks, gives a whole packet up for one bad option, allocates where a packet has
//! options, and drops what the system says of a failed read. What remains for either is four or five numbers
//! at the start of a record: these are read here, with the bounds and the finding of the next good record
//! that neither has. The headers of IP are left to `etherparse`, and the options of TCP to the project's
//! one reader of them, [`Options::parse`](crate::Options::parse).

mod error;
mod input;
mod link;
mod note;
mod packet;
mod pcap;
mod pcapng;
mod tally;
mod tunnel;
mod unpack;

use std::fmt;
use std::io::Read;

use crate::capture::CaptureTime;

pub use error::{FirstBytes, ReadError};
pub use link::{Layer, LinkType, NotIp};
pub use note::{Damage, Note};
pub use packet::{Cut, NotTcp, Portion, TcpPacket};
pub use pcap::PACKET_BYTES_MAX;
pub use pcapng::{BLOCK_BYTES_MAX, INTERFACES_MAX, Interface};
pub use tally::{Kind, Tally};
pub use tunnel::{Tunnel, TunnelKind};

use input::Input;
use note::Notes;
use pcap::Pcap;
use pcapng::Pcapng;

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Its number in the file, from 1, as Wireshark counts.
    pub number: u64,
    /// When it was captured. Times may go backwards from one packet to the next.
    pub at: CaptureTime,
    /// What its first header is.
    pub link: LinkType,
    /// The interface it was captured on, counted over the whole file from 0.
    pub interface: u32,
    /// Which way it went there, if the file says so.
    pub heading: Heading,
    /// Its length on the link, in bytes.
    pub original_len: u32,
    /// As much of it as was kept, from its first byte on.
    pub bytes: &'a [u8],
}

/// Which way a packet went, as seen from the host that captured it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Heading {
    /// The host received it.
    Incoming,
    /// The host sent it.
    Outgoing,
    /// Nothing in the file tells.
    #[default]
    Unknown,
}

/// A packet's place in the buffer, and what its record says.
struct Record {
    at: CaptureTime,
    link: LinkType,
    interface: u32,
    heading: Heading,
    original_len: u32,
    /// Where its bytes begin in the buffer, and how many were kept.
    start: usize,
    len: usize,
}

/// Which bytes of a number come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Big,
    Little,
}

impl Order {
    const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    /// The number `at` bytes into `bytes`; 0 if they end before.
    fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.first_chunk().map_or(0, |bytes| self.u32(*bytes))
    }

    /// As [`Self::u32_at`].
    fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.first_chunk().map_or(0, |bytes| self.u16(*bytes))
    }
}

/// What kind of file it is.
#[derive(Debug)]
enum File {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Reads a capture, packet by packet, from anything that can be read: a file, standard input.
///
/// It reads in large pieces and takes what there is, so that a capture can be followed while it is taken. No buffer is needed around the
/// reader.
pub struct CaptureReader<R: Read> {
    input: Input<R>,
    file: File,
    number: u64,
    notes: Notes,
}

impl<R: Read> CaptureReader<R> {
    /// Reads the file's header.
    ///
    /// # Errors
    ///
    /// If `reader` fails, or what it gives is no capture.
    pub fn new(reader: R) -> Result<Self, ReadError> {
        let mut input = Input::new(reader).map_err(ReadError::Io)?;
        let mut notes = Notes::default();
        let first = FirstBytes::of(input.some()?);
        let file = if pcapng::begins(first.as_slice()) {
            File::Pcapng(Pcapng::new())
        } else if let Some(form) = pcap::Form::of(first.as_slice()) {
            File::Pcap(Pcap::open(form, &mut input)?)
        } else {
            return Err(error::unknown(first, input.failure()));
        };
        notes.packing = input.packing();
        Ok(Self {
            input,
            file,
            number: 0,
            notes,
        })
    }

    /// The next packet; `None` at the end of the file, or of what of it can be read. Then
    /// [`notes`](Self::notes) has told why, if it ends amiss.
    ///
    /// # Errors
    ///
    /// If the reader fails.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<Captured<'_>>, ReadError> {
        let record = match &mut self.file {
            File::Pcap(file) => file.next(&mut self.input, &mut self.notes)?,
            File::Pcapng(file) => file.next(&mut self.input, &mut self.notes)?,
        };
        let Some(record) = record else {
            self.notes.ended(self.input.failure());
            return Ok(None);
        };
        self.number += 1;
        self.notes.time(self.number, record.at);
        Ok(Some(Captured {
            number: self.number,
            at: record.at,
            link: record.link,
            interface: record.interface,
            heading: record.heading,
            original_len: record.original_len,
            bytes: self.input.bytes(record.start, record.len),
        }))
    }

    /// What is amiss with the file, as far as it was read. At most a few dozen.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = self.notes.list();
        if let File::Pcapng(file) = &self.file {
            notes.extend(file.notes());
        }
        notes
    }

    /// The interfaces that a pcapng file has described so far in the section that is being read, in
    /// order; none for pcap.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        match &self.file {
            File::Pcap(_) => &[],
            File::Pcapng(file) => file.interfaces(),
        }
    }

    /// What the file is, for people: "pcap, microseconds", and whether it is packed.
    #[must_use]
    pub fn describe(&self) -> String {
        let format = match &self.file {
            File::Pcap(file) => file.describe(),
            File::Pcapng(_) => "pcapng",
        };
        match self.notes.packing {
            input::Packing::None => format.to_owned(),
            input::Packing::Gzip => format!("{format}, packed by gzip"),
        }
    }

    /// How many packets were read.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.number
    }

    /// How many bytes were taken from the reader: of the packed ones where the file is packed, for a display of
    /// progress beside the file's length.
    #[must_use]
    pub fn bytes_taken(&self) -> u64 {
        self.input.bytes_taken()
    }
}

impl<R: Read> fmt::Debug for CaptureReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureReader")
            .field("file", &self.file)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
