//! Packed bytes, unpacked as far as they are whole: what stands before damage is given, however the file comes in pieces.

use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::write::MultiGzDecoder;

/// Packed bytes that are asked for at a time.
const ASKED_BYTES: usize = 64 << 10;

/// Packed bytes that are unpacked at a time. Ours: they become a thousand times as many at most, which is what is
/// kept in memory.
const PIECE_BYTES: usize = 4 << 10;

/// A reader of what `packed` holds (RFC 1952), of one file or several in a row.
pub(super) struct Unpacker<R> {
    packed: BufReader<R>,
    decoder: MultiGzDecoder<Vec<u8>>,
    /// How much of what is unpacked has been given.
    given: usize,
    course: Course,
}

/// How far unpacking has come.
enum Course {
    GoesOn,
    /// There is no more, or it is damaged: to be told when everything before is given.
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

    /// Unpacks some more.
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
                    // Hands over what came out before; that the rest is missing is known.
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
