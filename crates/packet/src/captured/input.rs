//! The bytes of a capture, unpacked, in large pieces: a window on the file that moves forward.

use std::io::{self, Chain, Cursor, ErrorKind, Read};

use super::error::ReadError;
use super::unpack::Unpacker;

/// How gzip's files begin (RFC 1952 §2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Bytes that are asked for at a time. Ours: large enough that a call to the system costs nothing beside
/// what it gives, small enough for a cache of the processor's.
const PIECE_BYTES: usize = 256 << 10;

/// How the file is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Packing {
    #[default]
    None,
    Gzip,
}

/// A reader that says how much it has given.
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

/// The reader, and before it those of its bytes that were looked at.
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

/// A window on the file: the bytes from where reading has come to are looked at, then
/// [consumed](Self::consume).
pub(super) struct Input<R> {
    source: Source<R>,
    buffer: Vec<u8>,
    /// What of the buffer is read and not consumed.
    start: usize,
    end: usize,
    /// Where in the file the buffer begins.
    base: u64,
    /// Whether the source has no more.
    exhausted: bool,
    /// What went wrong with unpacking, if that is how it ended.
    failure: Option<String>,
}

impl<R: Read> Input<R> {
    /// Looks at the first bytes to know whether they are packed.
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

    /// Bytes that the reader gave, packed if they are.
    pub(super) fn bytes_taken(&self) -> u64 {
        self.source.whole().get_ref().1.bytes
    }

    /// What the unpacker said, if the file ended by that.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Where in the unpacked file reading has come to.
    pub(super) const fn position(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Where in the buffer reading has come to, for [`bytes`](Self::bytes).
    pub(super) const fn start(&self) -> usize {
        self.start
    }

    /// What is read and not consumed.
    fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// The next bytes: as many as `least` or more, or `None` if the file ends before. It is for the caller to
    /// bound `least`: so much memory is needed four times over.
    #[inline]
    pub(super) fn need(&mut self, least: usize) -> Result<Option<&[u8]>, ReadError> {
        if self.end - self.start < least && !self.fill(least)? {
            return Ok(None);
        }
        Ok(Some(self.rest()))
    }

    /// The first bytes of a file, however few.
    pub(super) fn some(&mut self) -> Result<&[u8], ReadError> {
        self.fill(PIECE_LEAST)?;
        Ok(self.rest())
    }

    /// What is left of a file that ends before the bytes that were needed.
    pub(super) const fn left(&self) -> usize {
        self.end - self.start
    }

    /// `len` bytes from `start` in the buffer: to be called before more is needed.
    #[inline]
    pub(super) fn bytes(&self, start: usize, len: usize) -> &[u8] {
        let rest = self.buffer.get(start..).unwrap_or_default();
        rest.get(..len).unwrap_or_default()
    }

    /// Goes on by `len` bytes, or to the end of what is read.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        self.start = self.start.saturating_add(len).min(self.end);
    }

    /// Goes on by `len` bytes without keeping them. Says how many are missing at the end of the file.
    pub(super) fn skip(&mut self, len: u64) -> Result<u64, ReadError> {
        let mut rest = len;
        loop {
            let here = rest.min(self.left() as u64);
            // No more than is in the buffer.
            self.consume(here as usize);
            rest -= here;
            if rest == 0 || !self.fill(1)? {
                return Ok(rest);
            }
        }
    }

    /// Reads until there are `least` bytes; says whether there are.
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

    /// Whether it is the packed bytes that are wrong, not how they are read.
    fn is_of_packing(&self, error: &io::Error) -> bool {
        let wrong = [
            ErrorKind::UnexpectedEof,
            ErrorKind::InvalidInput,
            ErrorKind::InvalidData,
        ];
        self.packing() == Packing::Gzip && wrong.contains(&error.kind())
    }

    /// Makes room behind what is read: by moving it to the front where that moves no more than was consumed
    /// before, else by a larger buffer. So every byte is moved a bounded number of times.
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

/// Enough bytes to know a file by.
const PIECE_LEAST: usize = 24;

/// Calls again what a signal interrupted.
fn retried(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
