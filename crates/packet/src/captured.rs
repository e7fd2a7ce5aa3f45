//! Reader of capture files of any origin: pcap and pcapng, plain or compressed with gzip. It parses each packet down to
//! the TCP header.
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
//! | file | contents |
//! | --- | --- |
//! | `input.rs` | bytes of the file, decompressed, in large pieces |
//! | `pcap.rs`, `pcapng.rs` | records of the file |
//! | `link.rs` | from the frame to the IP packet |
//! | `packet.rs` | from the IP packet to the TCP header |
//! | `tunnel.rs` | from the IP packet to an encapsulated IP packet |
//! | `tally.rs`, `note.rs` | counts of packets, and problems of the file, for users |
//!
//! **The input is untrusted.** No input causes a panic, and no length in a file is trusted beyond a bound
//! ([`PACKET_BYTES_MAX`], [`BLOCK_BYTES_MAX`]): memory grows with the bytes read, not with the announced lengths. A
//! file that ends within a packet, or is damaged, is read as far as possible, and a [`Note`] reports the damage.
//!
//! **Reason for a custom reader.** `pcap-file` 2.0, which writes our captures, rejects every packet that is longer than
//! the file's snapshot length, and thus all captures that contain only headers. It treats each time in pcapng as
//! nanoseconds, and stops at the first damaged block. `pcap-parser` 0.17 does not support pcapng's obsolete packet
//! blocks, discards a whole packet because of one invalid option, allocates memory for a packet with options, and loses
//! the system's error when a read fails. A record starts with four or five numbers. The reader here checks their bounds
//! and resynchronises after damage, which neither crate does. `etherparse` parses the IP headers. The project's only
//! parser of TCP options, [`Options::parse`](crate::Options::parse), parses the TCP options.

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

/// Packet in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Number in the file, counted from 1 as in Wireshark.
    pub number: u64,
    /// Time of capture. Times may go backwards from one packet to the next.
    pub at: CaptureTime,
    /// Type of the first header of the packet.
    pub link: LinkType,
    /// Interface on which the packet was captured, counted from 0 over the whole file.
    pub interface: u32,
    /// Direction of the packet at this interface, if the file contains it.
    pub heading: Heading,
    /// Length of the packet on the link, in bytes.
    pub original_len: u32,
    /// Captured bytes of the packet: the first ones.
    pub bytes: &'a [u8],
}

/// Direction of a packet, as seen from the capturing host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Heading {
    /// The host received the packet.
    Incoming,
    /// The host sent the packet.
    Outgoing,
    /// The file does not contain the direction.
    #[default]
    Unknown,
}

/// Position of a packet in the buffer, and the contents of its record.
struct Record {
    at: CaptureTime,
    link: LinkType,
    interface: u32,
    heading: Heading,
    original_len: u32,
    /// Start of the packet's bytes in the buffer. `len` is the number of captured bytes.
    start: usize,
    len: usize,
}

/// Byte order of the numbers in a file.
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

    /// Returns the 32-bit number at offset `at` of `bytes`; 0 if `bytes` is too short.
    fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.first_chunk().map_or(0, |bytes| self.u32(*bytes))
    }

    /// Returns the 16-bit number at offset `at` of `bytes`; 0 if `bytes` is too short.
    fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.first_chunk().map_or(0, |bytes| self.u16(*bytes))
    }
}

/// File in one of the two formats.
#[derive(Debug)]
enum File {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Reads a capture, packet by packet, from any reader, such as a file or standard input.
///
/// The input is read in large pieces, and all available bytes are used, so that a capture can be followed while it is
/// being written. The underlying reader needs no buffer.
pub struct CaptureReader<R: Read> {
    input: Input<R>,
    file: File,
    number: u64,
    notes: Notes,
}

impl<R: Read> CaptureReader<R> {
    /// Creates a reader and reads the file's header.
    ///
    /// # Errors
    ///
    /// Returns an error if `reader` fails, or if its data is not a capture.
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

    /// Returns the next packet; `None` at the end of the file or of its readable part. If the file ends unexpectedly,
    /// [`notes`](Self::notes) gives the reason.
    ///
    /// # Errors
    ///
    /// Returns an error if the reader fails.
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

    /// Returns the problems found in the part of the file that has been read. There are at most a few dozen.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = self.notes.list();
        if let File::Pcapng(file) = &self.file {
            notes.extend(file.notes());
        }
        notes
    }

    /// Returns the interfaces that a pcapng file has described so far in the current section, in order. A pcap file has
    /// none.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        match &self.file {
            File::Pcap(_) => &[],
            File::Pcapng(file) => file.interfaces(),
        }
    }

    /// Returns a description of the format for users, such as "pcap with microseconds", and the compression, if there
    /// is one.
    #[must_use]
    pub fn describe(&self) -> String {
        let format = match &self.file {
            File::Pcap(file) => file.describe(),
            File::Pcapng(_) => "pcapng",
        };
        match self.notes.packing {
            input::Packing::None => format.to_owned(),
            input::Packing::Gzip => format!("{format}, compressed with gzip"),
        }
    }

    /// Returns the number of packets read.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.number
    }

    /// Returns the number of bytes read from the underlying reader, before decompression. Together with the length of
    /// the file, this shows the progress.
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
