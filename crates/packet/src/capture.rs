//! Capture files: pcapng (draft-ietf-opsawg-pcapng) with times in nanoseconds.
//!
//! **Format.** Classic pcap has no comments, but comments give the reason for each transmission. Wireshark, tshark and
//! tcpdump read pcapng. tcptrace also reads it, through libpcap, which gives it times in microseconds.
//!
//! **Link type.** The capture has a single interface for all flows, with link type raw IP (101), because simulated
//! packets have no Ethernet header. All of these tools support raw IP. tcptrace 6.6.7 does not support the link type
//! for IPv4 only (228). libpcap 1.10 treats two raw IP interfaces as interfaces of different types and reads neither of
//! them.
//!
//! The same packets give the same file, byte for byte, on every machine.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufWriter, Write};

use dupack_tcp::time::{Duration, Instant};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use thiserror::Error;

use crate::emit::{EmitError, MAX_HEADER_BYTES};

/// Number of bytes of each packet that [`Snap::Headers`] keeps: the IP and TCP headers, regardless of their options,
/// and some payload.
pub const HEADERS_SNAP_BYTES: u32 = 128;
const _: () = assert!(HEADERS_SNAP_BYTES as usize >= MAX_HEADER_BYTES);

/// Length of the largest IP packet in bytes.
const FULL_SNAP_BYTES: u32 = 65_535;

/// Maximum length of a comment in bytes. The length of a pcapng option is a 16-bit field, and a multiple of four needs
/// no padding.
const MAX_COMMENT_BYTES: usize = 65_532;

/// Default name of the interface.
const INTERFACE: &str = "dupack";

/// Wall-clock time of a simulation's time zero: 2000-01-01 00:00:00 UTC. It is not 1970, because handshakes take place
/// before time zero, and analysers treat an all-zero time as missing.
const SIMULATION_ORIGIN_UNIX_NS: u64 = 946_684_800_000_000_000;

/// Part of each packet that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Snap {
    /// The first [`HEADERS_SNAP_BYTES`] bytes. Readers cannot verify the TCP checksum of a truncated packet.
    #[default]
    Headers,
    /// The whole packet.
    Full,
}

impl Snap {
    const fn bytes(self) -> u32 {
        match self {
            Self::Headers => HEADERS_SNAP_BYTES,
            Self::Full => FULL_SNAP_BYTES,
        }
    }
}

/// Time in a capture file, in nanoseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaptureTime(u64);

impl CaptureTime {
    /// Creates the time `nanos` nanoseconds after 1970-01-01 00:00:00 UTC.
    #[must_use]
    pub const fn from_unix_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Converts the simulation time `at`; time zero is the beginning of the year 2000.
    #[must_use]
    pub const fn from_simulation(at: Instant) -> Self {
        Self(SIMULATION_ORIGIN_UNIX_NS.saturating_add(at.as_nanos()))
    }

    /// Returns the nanoseconds since 1970-01-01 00:00:00 UTC.
    #[must_use]
    pub const fn as_unix_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time that is `span` earlier, but not before 1970.
    #[must_use]
    pub const fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.as_nanos()))
    }

    /// Returns the time that is `span` later.
    #[must_use]
    pub const fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.as_nanos()))
    }
}

impl fmt::Display for CaptureTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (secs, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        write!(f, "{secs}.{nanos:09}s")
    }
}

/// Part of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CapturePart {
    /// The section header and the interface description.
    Header,
    /// A packet.
    Packet,
    /// The remaining buffered data at the end of the file.
    End,
}

impl fmt::Display for CapturePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "the file header",
            Self::Packet => "a packet",
            Self::End => "the end",
        })
    }
}

/// Error when writing a capture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file, or another destination, rejected a write.
    #[error("cannot write {part} of the capture")]
    Write {
        /// Part of the file that was being written.
        part: CapturePart,
        /// Error from the operating system.
        #[source]
        source: io::Error,
    },
    /// pcapng cannot express a part of the capture.
    #[error("cannot express {part} of the capture in pcapng")]
    Format {
        /// Part of the file that was being written.
        part: CapturePart,
        /// Error from the encoder.
        #[source]
        source: PcapError,
    },
    /// The segment does not fit into a packet.
    #[error("cannot build a packet for the capture")]
    Packet(#[from] EmitError),
    /// The packet is earlier than the last written packet. Packets must be written in the order of their times. Packets
    /// that are known before earlier packets must be scheduled.
    #[error("the packet at {at} is out of order: the capture has already reached {reached}")]
    Late {
        /// Time of the packet.
        at: CaptureTime,
        /// Time of the last written packet.
        reached: CaptureTime,
    },
}

impl CaptureError {
    /// Creates an error for writing the header.
    pub(crate) fn of_header(error: PcapError) -> Self {
        Self::new(CapturePart::Header, error)
    }

    /// Creates an error for writing a packet.
    pub(crate) fn of_packet(error: PcapError) -> Self {
        Self::new(CapturePart::Packet, error)
    }

    /// Creates an error for writing the remaining buffered data.
    pub(crate) const fn of_end(source: io::Error) -> Self {
        Self::Write {
            part: CapturePart::End,
            source,
        }
    }

    fn new(part: CapturePart, error: PcapError) -> Self {
        match error {
            PcapError::IoError(source) => Self::Write { part, source },
            source => Self::Format { part, source },
        }
    }
}

/// Packet that waits for the time at which it is written.
#[derive(Debug)]
struct Scheduled {
    packet: Vec<u8>,
    comment: Option<String>,
}

/// Writes a capture file. [`finish`](Self::finish) must be called at the end; otherwise scheduled packets are lost.
///
/// The output is buffered internally, so the underlying writer needs no buffer.
pub struct CaptureWriter<W: Write> {
    file: PcapNgWriter<BufWriter<W>>,
    snap: Snap,
    /// Scheduled packets, sorted by time and then by the order of scheduling.
    scheduled: BTreeMap<(CaptureTime, u64), Scheduled>,
    scheduled_so_far: u64,
    /// Time of the last written packet.
    reached: CaptureTime,
}

impl<W: Write> CaptureWriter<W> {
    /// Starts a capture by writing its header.
    ///
    /// # Errors
    ///
    /// Returns an error if `writer` fails.
    pub fn new(writer: W, snap: Snap) -> Result<Self, CaptureError> {
        Self::named(writer, snap, INTERFACE)
    }

    /// Starts a capture whose interface is called `interface`.
    ///
    /// # Errors
    ///
    /// Returns an error if `writer` fails.
    pub fn named(writer: W, snap: Snap, interface: &str) -> Result<Self, CaptureError> {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(
                concat!("dupack ", env!("CARGO_PKG_VERSION")),
            ))],
            ..SectionHeaderBlock::default()
        };
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: snap.bytes(),
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(cut(interface))),
                // Times are in units of 10⁻⁹ s.
                InterfaceDescriptionOption::IfTsResol(9),
            ],
        };
        let header = |error| CaptureError::new(CapturePart::Header, error);
        let mut file =
            PcapNgWriter::with_section_header(BufWriter::new(writer), section).map_err(header)?;
        file.write_pcapng_block(interface).map_err(header)?;
        Ok(Self {
            file,
            snap,
            scheduled: BTreeMap::new(),
            scheduled_so_far: 0,
            reached: CaptureTime(0),
        })
    }

    /// Writes `packet`, an IP packet captured at `at`, after all packets that were scheduled for this time or earlier.
    /// The comment is stored with the packet; Wireshark shows it as a packet comment.
    ///
    /// # Errors
    ///
    /// Returns an error if the writer fails, or if a packet with a later time has already been written.
    pub fn write(
        &mut self,
        at: CaptureTime,
        packet: &[u8],
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        self.write_scheduled(Some(at))?;
        self.append(at, packet, comment)
    }

    /// Stores `packet` until the capture reaches `at`, or ends. This method is for packets that are known before their
    /// time, such as the handshake of a flow that has not started.
    pub fn schedule(&mut self, at: CaptureTime, packet: Vec<u8>, comment: Option<String>) {
        self.scheduled
            .insert((at, self.scheduled_so_far), Scheduled { packet, comment });
        self.scheduled_so_far += 1;
    }

    /// Writes all scheduled packets, flushes the writer and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the writer fails, or if a packet was scheduled for a time that had passed.
    pub fn finish(mut self) -> Result<W, CaptureError> {
        self.write_scheduled(None)?;
        let end = |source| CaptureError::Write {
            part: CapturePart::End,
            source,
        };
        let mut writer = self
            .file
            .into_inner()
            .into_inner()
            .map_err(|error| end(error.into_error()))?;
        writer.flush().map_err(end)?;
        Ok(writer)
    }

    /// Writes the packets that are scheduled for `until` or earlier, or all of them if `until` is `None`.
    fn write_scheduled(&mut self, until: Option<CaptureTime>) -> Result<(), CaptureError> {
        while let Some(next) = self.scheduled.first_entry() {
            let at = next.key().0;
            if until.is_some_and(|until| at > until) {
                break;
            }
            let Scheduled { packet, comment } = next.remove();
            self.append(at, &packet, comment.as_deref())?;
        }
        Ok(())
    }

    fn append(
        &mut self,
        at: CaptureTime,
        packet: &[u8],
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        if at < self.reached {
            return Err(CaptureError::Late {
                at,
                reached: self.reached,
            });
        }
        let kept = packet.len().min(self.snap.bytes() as usize);
        let comment = comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(cut(text))));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: std::time::Duration::from_nanos(at.as_unix_nanos()),
            // An IP packet is shorter than 64 KiB, except for IPv6 jumbograms.
            original_len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&packet[..kept]),
            options: comment.into_iter().collect(),
        };
        self.file
            .write_pcapng_block(block)
            .map_err(|error| CaptureError::new(CapturePart::Packet, error))?;
        self.reached = at;
        Ok(())
    }
}

impl<W: Write> fmt::Debug for CaptureWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureWriter")
            .field("snap", &self.snap)
            .field("scheduled", &self.scheduled.len())
            .field("reached", &self.reached)
            .finish_non_exhaustive()
    }
}

/// Returns the beginning of `text` that fits into an option.
pub(crate) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_COMMENT_BYTES)]
}
