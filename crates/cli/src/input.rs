//! Standard input that ends at Ctrl-C, after all data was read.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Maximum number of bytes per read. `WAITING` is the maximum number of reads whose data waits in the queue.
const PIECE: usize = 1 << 16;
const WAITING: usize = 8;

/// Interval of checks for Ctrl-C while no data arrives.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Number of consecutive checks without data after Ctrl-C at which the input ends. A writer that receives the signal
/// has ended the input by then (our choice: tcpdump takes some milliseconds).
const LOOKS_AFTER: u32 = 10;

/// Standard input. A separate thread reads it, so that an input without data does not block the program.
pub struct Input {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    taken: usize,
    ends: &'static AtomicBool,
    /// Number of consecutive checks without data since Ctrl-C.
    silent: u32,
}

impl Input {
    /// Returns an input that reads `source`. The input ends at the end of `source`. After `ends` is set, the input also
    /// ends if no data arrives for about a second.
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

    /// Returns the next piece of data. An empty piece marks the end.
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
    fn all_data_is_read_to_the_end() {
        static ENDS: AtomicBool = AtomicBool::new(false);
        let data: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        let mut read = Vec::new();
        Input::new(io::Cursor::new(data.clone()), &ENDS)
            .read_to_end(&mut read)
            .unwrap();
        assert_eq!(read, data);
    }

    #[test]
    fn silent_input_ends_after_ctrl_c() {
        static ENDS: AtomicBool = AtomicBool::new(true);
        let (reader, writer) = io::pipe().unwrap();
        let mut input = Input::new(reader, &ENDS);
        let mut read = Vec::new();
        assert_eq!(input.read_to_end(&mut read).unwrap(), 0);
        drop(writer);
    }
}
