//! Errors that prevent reading a capture.

use std::fmt;
use std::io;

use thiserror::Error;

/// Number of bytes at the start of a file that are examined and shown.
const SHOWN_BYTES: usize = 16;

/// Error when reading a capture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file, or another source, cannot be read.
    #[error("cannot read the capture")]
    Io(#[source] io::Error),
    /// The file is empty.
    #[error("the capture is empty")]
    Empty,
    /// The file begins like a capture, but ends within the header.
    #[error("the capture ends within the file header: {first}")]
    HeaderCut {
        /// First bytes of the file.
        first: FirstBytes,
    },
    /// The file has another format.
    #[error(
        "unsupported format: {kind}; expected pcap or pcapng, plain or compressed with gzip: \
         {remedy} (the file begins with {first})"
    )]
    OtherKind {
        /// Format that was recognised from the first bytes.
        kind: &'static str,
        /// Remedy for the user.
        remedy: &'static str,
        /// First bytes of the file.
        first: FirstBytes,
    },
    /// The file is not a capture.
    #[error(
        "not a capture: the file begins with {first}; expected pcap or pcapng, plain or compressed with gzip"
    )]
    NoCapture {
        /// First bytes of the file.
        first: FirstBytes,
    },
    /// The file is compressed with gzip, but cannot be decompressed even at its start.
    #[error("the capture is compressed with gzip and damaged at its start: {what}")]
    Packed {
        /// Error from the decompressor.
        what: String,
    },
}

/// First bytes of a file, at most 16.
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

    /// Returns the first bytes as a slice.
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
        // If the bytes are text, the text is more informative than their values.
        let text = self.as_slice().escape_ascii();
        if self.as_slice().iter().any(u8::is_ascii_graphic) {
            write!(f, ", \"{text}\"")?;
        }
        Ok(())
    }
}

const UNPACK: &str = "decompress it first";
const CONVERT: &str = "convert it with Wireshark's editcap";

/// Formats that are sometimes mistaken for captures: first bytes, description, and remedy.
const OTHER_KINDS: [(&[u8], &str, &str); 11] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed with zstd", UNPACK),
    (
        &[0xfd, b'7', b'z', b'X', b'Z'],
        "compressed with xz",
        UNPACK,
    ),
    (b"BZh", "compressed with bzip2", UNPACK),
    (&[0x04, 0x22, 0x4d, 0x18], "compressed with lz4", UNPACK),
    (b"PK\x03\x04", "a ZIP archive", UNPACK),
    (&[0x1f, 0x8b], "compressed with gzip twice", UNPACK),
    (b"snoop\0", "a snoop capture", CONVERT),
    (b"GMBU", "a Network Monitor capture", CONVERT),
    (b"RTSS", "a Network Monitor capture", CONVERT),
    (b"XCP\0", "a NetXRay capture", CONVERT),
    (b"TRSNIFF data", "a Sniffer capture", CONVERT),
];

/// Returns the error for a file that begins with `first` and has no supported format. `failure` is the error of the
/// decompressor, if there is one.
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
