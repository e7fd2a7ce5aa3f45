//! Capture files: pcapng (draft-ietf-opsawg-pcapng) with times in nanoseconds.
//!
//! Why this format: classic pcap has no comments, and a comment is where a capture says why a
//! segment was sent. Wireshark, tshark and tcpdump read it; so does tcptrace, which leaves the
//! reading to libpcap and gets times in microseconds from it.
//!
//! Why raw IP (link type 101) and a single interface for all flows: a simulated packet has no
//! Ethernet header, and all of these tools know raw IP. tcptrace 6.6.7 does not know the link
//! type that says IPv4 alone (228), and libpcap 1.10 takes two raw IP interfaces for interfaces
//! of different types and reads neither.
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

/// Bytes kept of each packet by [`Snap::Headers`]: any IP and TCP header, and some payload.
pub const HEADERS_SNAP_BYTES: u32 = 128;
const _: () = assert!(HEADERS_SNAP_BYTES as usize >= MAX_HEADER_BYTES);

/// Largest IP packet.
const FULL_SNAP_BYTES: u32 = 65_535;

/// The longest comment in bytes: the length of a pcapng option is a 16-bit field, and a
/// multiple of four is left free of padding.
const MAX_COMMENT_BYTES: usize = 65_532;

/// The name of the interface where nothing else is said.
const INTERFACE: &str = "dupack";

/// When a simulation's clock stood at zero: 2000-01-01 00:00:00 UTC. Not 1970, as handshakes
/// come before time zero and analysers take an all-zero time for none.
const SIMULATION_ORIGIN_UNIX_NS: u64 = 946_684_800_000_000_000;

/// How much of each packet is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Snap {
    /// The first [`HEADERS_SNAP_BYTES`] bytes. Readers cannot verify the TCP checksum of a
    /// packet that is cut short.
    #[default]
    Headers,
    /// All of it.
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

/// A time in a capture file, in nanoseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaptureTime(u64);

impl CaptureTime {
    /// The time `nanos` nanoseconds after 1970-01-01 00:00:00 UTC.
    #[must_use]
    pub const fn from_unix_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The time of `at` in a simulation, whose clock stood at zero when the year 2000 began.
    #[must_use]
    pub const fn from_simulation(at: Instant) -> Self {
        Self(SIMULATION_ORIGIN_UNIX_NS.saturating_add(at.as_nanos()))
    }

    /// Nanoseconds since 1970-01-01 00:00:00 UTC.
    #[must_use]
    pub const fn as_unix_nanos(self) -> u64 {
        self.0
    }

    /// `span` earlier; not before 1970.
    #[must_use]
    pub const fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.as_nanos()))
    }

    /// `span` later.
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
pub enum Part {
    /// The section header and the interface description.
    Header,
    /// A packet.
    Packet,
    /// What was still buffered.
    End,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "the file header",
            Self::Packet => "a packet",
            Self::End => "the end",
        })
    }
}

/// Why a capture could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file, or whatever else the capture goes to, did not take it.
    #[error("cannot write {part} of the capture")]
    Write {
        /// Which part.
        part: Part,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// pcapng cannot express it.
    #[error("cannot express {part} of the capture in pcapng")]
    Format {
        /// Which part.
        part: Part,
        /// What is wrong.
        #[source]
        source: PcapError,
    },
    /// The segment has no packet.
    #[error("cannot build a packet for the capture")]
    Packet(#[from] EmitError),
    /// Packets must come in the order of time; schedule those that cannot.
    #[error("a packet at {at} comes after the capture has reached {reached}")]
    Late {
        /// When the packet was captured.
        at: CaptureTime,
        /// The time of the last packet written.
        reached: CaptureTime,
    },
}

impl CaptureError {
    /// The header was not written.
    pub(crate) fn of_header(error: PcapError) -> Self {
        Self::new(Part::Header, error)
    }

    /// A packet was not.
    pub(crate) fn of_packet(error: PcapError) -> Self {
        Self::new(Part::Packet, error)
    }

    /// What was still buffered was not.
    pub(crate) const fn of_end(source: io::Error) -> Self {
        Self::Write {
            part: Part::End,
            source,
        }
    }

    fn new(part: Part, error: PcapError) -> Self {
        match error {
            PcapError::IoError(source) => Self::Write { part, source },
            source => Self::Format { part, source },
        }
    }
}

/// A packet that waits for its time.
#[derive(Debug)]
struct Scheduled {
    packet: Vec<u8>,
    comment: Option<String>,
}

/// Writes a capture file. Call [`finish`](Self::finish) at the end: scheduled packets are lost
/// otherwise.
///
/// The writer is buffered here; it need not be outside.
pub struct CaptureWriter<W: Write> {
    file: PcapNgWriter<BufWriter<W>>,
    snap: Snap,
    /// By time, then in the order in which they came.
    scheduled: BTreeMap<(CaptureTime, u64), Scheduled>,
    scheduled_so_far: u64,
    /// Time of the last packet written.
    reached: CaptureTime,
}

impl<W: Write> CaptureWriter<W> {
    /// Starts a capture: writes its header.
    ///
    /// # Errors
    ///
    /// If `writer` fails.
    pub fn new(writer: W, snap: Snap) -> Result<Self, CaptureError> {
        Self::named(writer, snap, INTERFACE)
    }

    /// Starts a capture of which the interface has this name.
    ///
    /// # Errors
    ///
    /// If `writer` fails.
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
                // Times count in units of 10⁻⁹ s.
                InterfaceDescriptionOption::IfTsResol(9),
            ],
        };
        let header = |error| CaptureError::new(Part::Header, error);
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

    /// Writes `packet`, an IP packet captured at `at`, and before it everything scheduled until
    /// then. The comment stands with the packet in the file; Wireshark shows it as a packet
    /// comment.
    ///
    /// # Errors
    ///
    /// If the writer fails, or if a packet with a later time has been written already.
    pub fn write(
        &mut self,
        at: CaptureTime,
        packet: &[u8],
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        self.write_scheduled(Some(at))?;
        self.append(at, packet, comment)
    }

    /// Keeps `packet` until the capture has reached `at`, or its end. This is for packets known
    /// ahead of time, such as the handshake of a flow that is yet to start.
    pub fn schedule(&mut self, at: CaptureTime, packet: Vec<u8>, comment: Option<String>) {
        self.scheduled
            .insert((at, self.scheduled_so_far), Scheduled { packet, comment });
        self.scheduled_so_far += 1;
    }

    /// Writes everything still scheduled and hands back the writer, flushed.
    ///
    /// # Errors
    ///
    /// If the writer fails, or a packet was scheduled for a time that had passed.
    pub fn finish(mut self) -> Result<W, CaptureError> {
        self.write_scheduled(None)?;
        let end = |source| CaptureError::Write {
            part: Part::End,
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

    /// Writes what is scheduled for `until` and before; all of it if `until` is `None`.
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
            // An IP packet has less than 64 KiB, IPv6's jumbograms excepted.
            original_len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&packet[..kept]),
            options: comment.into_iter().collect(),
        };
        self.file
            .write_pcapng_block(block)
            .map_err(|error| CaptureError::new(Part::Packet, error))?;
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

/// As much of `text` as an option holds.
pub(crate) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_COMMENT_BYTES)]
}
