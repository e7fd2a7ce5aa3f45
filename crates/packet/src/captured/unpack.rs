//! Decompression of a file up to the first damage. The result does not depend on the sizes of the pieces in which the
//! file is read.

use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::write::MultiGzDecoder;

/// Number of compressed bytes requested at a time.
const ASKED_BYTES: usize = 64 << 10;

/// Number of compressed bytes that are decompressed at a time. This is our choice: they expand by a factor of at most a
/// thousand, and the result must fit into memory.
const PIECE_BYTES: usize = 4 << 10;

/// Reader of the decompressed contents of `packed` (RFC 1952), which may be one file or several concatenated files.
pub(super) struct Unpacker<R> {
    packed: BufReader<R>,
    decoder: MultiGzDecoder<Vec<u8>>,
    /// Number of decompressed bytes that have been returned.
    given: usize,
    course: Course,
}

/// State of the decompression.
enum Course {
    GoesOn,
    /// The data has ended or is damaged. The result is reported after all earlier data has been returned.
    Ended(io::Result<()>),
}

impl<R: Read> Unpacker<R> {
    pub(super) fn new(packed: R) -> Self {
        Self {
            packed: BufReader::with_capacity(ASKED_BYTES, packed),
            decoder: MultiGzDecoder::new(Vec::new()),
            given: 0,
            course: Course::GoesOn,
        }
    }

    pub(super) fn get_ref(&self) -> &R {
        self.packed.get_ref()
    }

    /// Decompresses the next piece.
    fn advance(&mut self) -> io::Result<()> {
        let packed = self.packed.fill_buf()?;
        let piece = packed.get(..PIECE_BYTES).unwrap_or(packed);
        self.course = if piece.is_empty() {
            Course::Ended(self.decoder.try_finish())
        } else {
            match self.decoder.write(piece) {
                Ok(taken) => {
                    self.packed.consume(taken);
                    Course::GoesOn
                }
                Err(damage) => {
                    // This call releases the output before the damage. The damage itself is already known.
                    let _ = self.decoder.try_finish();
                    Course::Ended(Err(damage))
                }
            }
        };
        Ok(())
    }
}

impl<R: Read> Read for Unpacker<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let unpacked = self.decoder.get_mut();
            let mut rest = unpacked.get(self.given..).unwrap_or_default();
            if !rest.is_empty() || buffer.is_empty() {
                let read = rest.read(buffer)?;
                self.given += read;
                return Ok(read);
            }
            unpacked.clear();
            self.given = 0;
            if let Course::Ended(end) = &mut self.course {
                return std::mem::replace(end, Ok(())).map(|()| 0);
            }
            self.advance()?;
        }
    }
}
