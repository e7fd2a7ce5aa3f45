//! Bytes of a capture, decompressed and in large pieces: a window on the file that moves forward.

use std::io::{self, Chain, Cursor, ErrorKind, Read};

use super::error::ReadError;
use super::unpack::Unpacker;

/// First bytes of a gzip file (RFC 1952 §2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Number of bytes requested at a time. This is our choice: large enough that the cost of a system call is negligible,
/// small enough for a processor cache.
const PIECE_BYTES: usize = 256 << 10;

/// Compression of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Packing {
    #[default]
    None,
    Gzip,
}

/// Reader that counts its bytes.
struct Counted<R> {
    reader: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// The whole input: the examined first bytes, followed by the reader.
type Whole<R> = Chain<Cursor<Vec<u8>>, Counted<R>>;

enum Source<R> {
    Plain(Whole<R>),
    Gzip(Box<Unpacker<Whole<R>>>),
}

impl<R: Read> Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(buffer),
            Self::Gzip(reader) => reader.read(buffer),
        }
    }

    fn whole(&self) -> &Whole<R> {
        match self {
            Self::Plain(reader) => reader,
            Self::Gzip(reader) => reader.get_ref(),
        }
    }
}

/// Window on the file. Bytes from the current position are first examined, and then [consumed](Self::consume).
pub(super) struct Input<R> {
    source: Source<R>,
    buffer: Vec<u8>,
    /// Start of the part of the buffer that has been read and not consumed. `end` is the end of this part.
    start: usize,
    end: usize,
    /// Position of the buffer's start in the file.
    base: u64,
    /// `true` if the source has no more bytes.
    exhausted: bool,
    /// Error from the decompressor, if it ended the file.
    failure: Option<String>,
}

impl<R: Read> Input<R> {
    /// Creates the window, and examines the first bytes of `reader` to detect compression.
    pub(super) fn new(reader: R) -> io::Result<Self> {
        let mut reader = Counted { reader, bytes: 0 };
        let mut first = [0; GZIP_MAGIC.len()];
        let mut len = 0;
        while let Some(rest) = first.get_mut(len..).filter(|rest| !rest.is_empty()) {
            match retried(|| reader.read(rest))? {
                0 => break,
                read => len += read,
            }
        }
        let looked_at = first.get(..len).unwrap_or_default().to_vec();
        let whole = Cursor::new(looked_at).chain(reader);
        let source = match first == GZIP_MAGIC {
            false => Source::Plain(whole),
            true => Source::Gzip(Box::new(Unpacker::new(whole))),
        };
        Ok(Self {
            source,
            buffer: vec![0; PIECE_BYTES],
            start: 0,
            end: 0,
            base: 0,
            exhausted: false,
            failure: None,
        })
    }

    pub(super) const fn packing(&self) -> Packing {
        match self.source {
            Source::Plain(_) => Packing::None,
            Source::Gzip(_) => Packing::Gzip,
        }
    }

    /// Returns the number of bytes read from the underlying reader, before decompression.
    pub(super) fn bytes_taken(&self) -> u64 {
        self.source.whole().get_ref().1.bytes
    }

    /// Returns the error of the decompressor if it ended the file.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Returns the current position in the decompressed file.
    pub(super) const fn position(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Returns the current position in the buffer, for [`bytes`](Self::bytes).
    pub(super) const fn start(&self) -> usize {
        self.start
    }

    /// Returns the bytes that have been read and not consumed.
    fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the next bytes, at least `least` of them, or `None` if the file ends before. The caller must bound
    /// `least`, because the function uses up to four times this amount of memory.
    #[inline]
    pub(super) fn need(&mut self, least: usize) -> Result<Option<&[u8]>, ReadError> {
        if self.end - self.start < least && !self.fill(least)? {
            return Ok(None);
        }
        Ok(Some(self.rest()))
    }

    /// Returns the first bytes of a file, which may be fewer than requested.
    pub(super) fn some(&mut self) -> Result<&[u8], ReadError> {
        self.fill(PIECE_LEAST)?;
        Ok(self.rest())
    }

    /// Returns the number of remaining bytes of a file that ends before the requested bytes.
    pub(super) const fn left(&self) -> usize {
        self.end - self.start
    }

    /// Returns `len` bytes from `start` in the buffer. They are valid until more bytes are requested.
    #[inline]
    pub(super) fn bytes(&self, start: usize, len: usize) -> &[u8] {
        let rest = self.buffer.get(start..).unwrap_or_default();
        rest.get(..len).unwrap_or_default()
    }

    /// Advances by `len` bytes, but not beyond the bytes that have been read.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        self.start = self.start.saturating_add(len).min(self.end);
    }

    /// Advances by `len` bytes without storing them. Returns the number of bytes that were not skipped because the file
    /// ended before.
    pub(super) fn skip(&mut self, len: u64) -> Result<u64, ReadError> {
        let mut rest = len;
        loop {
            let here = rest.min(self.left() as u64);
            // The value is at most the length of the buffer.
            self.consume(here as usize);
            rest -= here;
            if rest == 0 || !self.fill(1)? {
                return Ok(rest);
            }
        }
    }

    /// Reads until at least `least` bytes are available. Returns `false` if the file ends before.
    #[cold]
    fn fill(&mut self, least: usize) -> Result<bool, ReadError> {
        while self.end - self.start < least {
            if self.exhausted {
                return Ok(false);
            }
            self.make_room();
            let Self {
                source,
                buffer,
                end,
                ..
            } = self;
            let room = buffer.get_mut(*end..).unwrap_or_default();
            match retried(|| source.read(room)) {
                Ok(0) => self.exhausted = true,
                Ok(read) => self.end += read,
                Err(error) if self.is_of_packing(&error) => {
                    self.exhausted = true;
                    self.failure = Some(error.to_string());
                }
                Err(error) => {
                    self.exhausted = true;
                    return Err(ReadError::Io(error));
                }
            }
        }
        Ok(true)
    }

    /// Returns `true` if the error is in the compressed data and not in reading it.
    fn is_of_packing(&self, error: &io::Error) -> bool {
        let wrong = [
            ErrorKind::UnexpectedEof,
            ErrorKind::InvalidInput,
            ErrorKind::InvalidData,
        ];
        self.packing() == Packing::Gzip && wrong.contains(&error.kind())
    }

    /// Makes space after the bytes that have been read. If at least half of the buffer was consumed, the remaining
    /// bytes are moved to its front; otherwise the buffer is enlarged. Every byte is thus moved a bounded number of
    /// times.
    fn make_room(&mut self) {
        if self.start == self.end {
            self.base += self.start as u64;
            (self.start, self.end) = (0, 0);
        }
        if self.end < self.buffer.len() {
            return;
        }
        if self.start >= self.buffer.len() / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        } else {
            let doubled = self.buffer.len().saturating_mul(2);
            self.buffer.resize(doubled, 0);
        }
    }
}

/// Number of bytes that suffice to identify a file.
const PIECE_LEAST: usize = 24;

/// Repeats a call that was interrupted by a signal.
fn retried(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
