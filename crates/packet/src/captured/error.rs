//! Why there is nothing, or nothing more, to read.

use std::fmt;
use std::io;

use thiserror::Error;

/// How many of a file's first bytes are looked at and shown.
const SHOWN_BYTES: usize = 16;

/// Why a capture cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file, or whatever else the capture comes from, cannot be read.
    #[error("cannot read the capture")]
    Io(#[source] io::Error),
    /// There is not one byte.
    #[error("there is nothing in the capture, not even a header")]
    Empty,
    /// It begins as a capture does, and ends before its header does.
    #[error("the capture ends within the file's header: {first}")]
    HeaderCut {
        /// What there is.
        first: FirstBytes,
    },
    /// It is of another kind.
    #[error(
        "this is {kind}, which is not read here, but pcap and pcapng are, plain or packed by gzip: \
         {remedy} (it begins with {first})"
    )]
    OtherKind {
        /// What its first bytes say that it is.
        kind: &'static str,
        /// What can be done.
        remedy: &'static str,
        /// How it begins.
        first: FirstBytes,
    },
    /// It is no capture.
    #[error(
        "this is no capture: it begins with {first}; what is read are pcap and pcapng, plain or packed by gzip"
    )]
    NoCapture {
        /// How it begins.
        first: FirstBytes,
    },
    /// It is packed by gzip, and cannot be unpacked from its start.
    #[error("the capture is packed by gzip and damaged at its start: {what}")]
    Packed {
        /// What the unpacker says.
        what: String,
    },
}

/// The first bytes of a file, 16 at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstBytes {
    bytes: [u8; SHOWN_BYTES],
    len: usize,
}

impl FirstBytes {
    pub(super) fn of(file: &[u8]) -> Self {
        let len = file.len().min(SHOWN_BYTES);
        let mut bytes = [0; SHOWN_BYTES];
        for (byte, first) in bytes.iter_mut().zip(file) {
            *byte = *first;
        }
        Self { bytes, len }
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl fmt::Display for FirstBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.as_slice().iter().enumerate() {
            let gap = if place == 0 { "" } else { " " };
            write!(f, "{gap}{byte:02x}")?;
        }
        // Of a text, what it says tells more.
        let text = self.as_slice().escape_ascii();
        if self.as_slice().iter().any(u8::is_ascii_graphic) {
            write!(f, ", \"{text}\"")?;
        }
        Ok(())
    }
}

const UNPACK: &str = "unpack it first";
const CONVERT: &str = "Wireshark's editcap converts it";

/// What is taken for a capture at times, by its first bytes.
const OTHER_KINDS: [(&[u8], &str, &str); 11] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "packed by zstd", UNPACK),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "packed by xz", UNPACK),
    (b"BZh", "packed by bzip2", UNPACK),
    (&[0x04, 0x22, 0x4d, 0x18], "packed by lz4", UNPACK),
    (b"PK\x03\x04", "a ZIP archive", UNPACK),
    (&[0x1f, 0x8b], "packed by gzip twice", UNPACK),
    (b"snoop\0", "a capture of snoop's", CONVERT),
    (b"GMBU", "a capture of Network Monitor's", CONVERT),
    (b"RTSS", "a capture of Network Monitor's", CONVERT),
    (b"XCP\0", "a capture of NetXRay's", CONVERT),
    (b"TRSNIFF data", "a capture of Sniffer's", CONVERT),
];

/// The error for a file that begins with `first` and is none that is read here; `failure` is what unpacking it
/// said.
pub(super) fn unknown(first: FirstBytes, failure: Option<&str>) -> ReadError {
    let bytes = first.as_slice();
    if let Some(what) = failure {
        let what = what.to_owned();
        return ReadError::Packed { what };
    }
    if bytes.is_empty() {
        return ReadError::Empty;
    }
    let other = OTHER_KINDS
        .iter()
        .find(|(magic, ..)| bytes.starts_with(magic));
    match other {
        Some(&(_, kind, remedy)) => ReadError::OtherKind {
            kind,
            remedy,
            first,
        },
        None => ReadError::NoCapture { first },
    }
}
