//! Standard input that Ctrl-C ends: all that came is read.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Bytes that are read at once, and pieces that wait to be taken.
const PIECE: usize = 1 << 16;
const WAITING: usize = 8;

/// How often is looked for Ctrl-C while nothing comes.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The writer of standard input has ended it so long after Ctrl-C, or does not hear of it (ours: tcpdump takes some
/// milliseconds).
const LOOKS_AFTER: u32 = 10;

/// Standard input, read by a thread of its own, so that a silent one does not keep the program.
pub struct Input {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    taken: usize,
    ends: &'static AtomicBool,
    /// Looks in vain since Ctrl-C.
    silent: u32,
}

impl Input {
    /// Of `source`; it ends when that does, or soon after `ends` was set if nothing more comes.
    pub fn new(mut source: impl Read + Send + 'static, ends: &'static AtomicBool) -> Self {
        let (sender, pieces) = sync_channel(WAITING);
        thread::spawn(move || {
            loop {
                let mut piece = vec![0; PIECE];
                let read = source.read(&mut piece).map(|length| {
                    piece.truncate(length);
                    piece
                });
                let is_last = !matches!(&read, Ok(piece) if !piece.is_empty());
                if sender.send(read).is_err() || is_last {
                    return;
                }
            }
        });
        Self {
            pieces,
            piece: Vec::new(),
            taken: 0,
            ends,
            silent: 0,
        }
    }

    /// The next piece; empty at the end.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        loop {
            match self.pieces.recv_timeout(LOOK_EVERY) {
                Ok(piece) => {
                    self.silent = 0;
                    return piece;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
                Err(RecvTimeoutError::Timeout) => {
                    self.silent += u32::from(self.ends.load(Ordering::Relaxed));
                    if self.silent >= LOOKS_AFTER {
                        return Ok(Vec::new());
                    }
                }
            }
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken >= self.piece.len() {
            self.piece = self.next()?;
            self.taken = 0;
        }
        let left = self.piece.get(self.taken..).unwrap_or_default();
        let length = left.len().min(buffer.len());
        buffer[..length].copy_from_slice(&left[..length]);
        self.taken += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_comes_is_read_to_the_end() {
        static ENDS: AtomicBool = AtomicBool::new(false);
        let data: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        let mut read = Vec::new();
        Input::new(io::Cursor::new(data.clone()), &ENDS)
            .read_to_end(&mut read)
            .unwrap();
        assert_eq!(read, data);
    }

    #[test]
    fn a_silent_one_ends_after_ctrl_c() {
        static ENDS: AtomicBool = AtomicBool::new(true);
        let (reader, writer) = io::pipe().unwrap();
        let mut input = Input::new(reader, &ENDS);
        let mut read = Vec::new();
        assert_eq!(input.read_to_end(&mut read).unwrap(), 0);
        drop(writer);
    }
}
