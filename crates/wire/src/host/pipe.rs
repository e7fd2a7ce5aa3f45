//! Application that connects two blocking streams, such as files, pipes or terminals, to a connection.
//!
//! Each stream has its own thread and a small queue of chunks between it and the host. A stream that fails aborts the
//! connection, so that neither end takes an incomplete stream for a complete one.

use std::io::{self, Read, Write};
use std::sync::mpsc::{
    Receiver, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use std::thread::{self, JoinHandle};

use thiserror::Error;

use super::Waker;
use super::application::{Application, ConnectionReport, Supply};

/// Bytes read or written at once, and the maximum number of such chunks in a queue.
const CHUNK_BYTES: usize = 1 << 16;
const CHUNKS: usize = 16;

/// Sends the contents of an input until its end, and writes received data to an output.
#[derive(Debug)]
pub struct Pipe {
    input: Input,
    /// `None` once the peer's stream has ended.
    output: Option<SyncSender<Vec<u8>>>,
    outcome: Sender<ConnectionReport>,
}

/// The part of a [`Pipe`] that stays with its creator.
#[derive(Debug)]
pub struct PipeEnd {
    outcome: Receiver<ConnectionReport>,
    /// Error that ended the input early. The thread of the input is not joined, because it may block forever.
    input_failure: Receiver<io::Error>,
    writer: JoinHandle<io::Result<()>>,
}

/// Stream of a pipe that failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PipeError {
    /// The input failed: not all data has been sent.
    #[error("cannot read the data to send")]
    Input(#[source] io::Error),
    /// The output failed: not all received data has been written.
    #[error("cannot write the received data")]
    Output(#[source] io::Error),
}

impl PipeEnd {
    /// Waits until everything has been written and returns the result of the connection, or `None` if there never was a
    /// connection. Call this method only after the host is dropped. Otherwise, the call may block forever.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the streams failed, regardless of the connection's result.
    pub fn finish(self) -> Result<Option<ConnectionReport>, PipeError> {
        // All received data is written first, even if the input failed.
        let written = self.writer.join();
        if let Ok(failure) = self.input_failure.try_recv() {
            return Err(PipeError::Input(failure));
        }
        written
            .unwrap_or_else(|_| Err(io::Error::other("the output's thread panicked")))
            .map_err(PipeError::Output)?;
        Ok(self.outcome.try_recv().ok())
    }
}

/// Source of the bytes for the peer.
#[derive(Debug)]
enum Input {
    /// Chunks from the input. The first `used` bytes of `current` have been sent.
    Chunks {
        chunks: Receiver<Vec<u8>>,
        current: Vec<u8>,
        used: usize,
    },
    /// No input. Our stream ends when the peer's does.
    UntilPeerEnds,
    Ended,
}

impl Pipe {
    /// Creates a pipe that sends the contents of `input`. Without an input it sends nothing, and its stream ends when
    /// the peer's does. `waker` must be that of the host.
    ///
    /// # Errors
    ///
    /// Returns an error if a thread cannot be started.
    pub fn new(
        input: Option<Box<dyn Read + Send>>,
        output: Box<dyn Write + Send>,
        waker: &Waker,
    ) -> io::Result<(Self, PipeEnd)> {
        let (failures, input_failure) = channel();
        let input = match input {
            None => Input::UntilPeerEnds,
            Some(input) => {
                let (sender, chunks) = sync_channel(CHUNKS);
                let waker = waker.clone();
                thread::Builder::new()
                    .name("input".to_owned())
                    .spawn(move || feed(input, sender, &failures, &waker))?;
                Input::Chunks {
                    chunks,
                    current: Vec::new(),
                    used: 0,
                }
            }
        };
        let (sender, chunks) = sync_channel(CHUNKS);
        let waker = waker.clone();
        let writer = thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || drain(output, &chunks, &waker))?;
        let (outcome, outcomes) = channel();
        let pipe = Self {
            input,
            output: Some(sender),
            outcome,
        };
        let end = PipeEnd {
            outcome: outcomes,
            input_failure,
            writer,
        };
        Ok((pipe, end))
    }
}

/// Body of the input's thread. An empty chunk marks the end of the input. A channel that closes without an empty chunk
/// indicates a failure.
fn feed(
    input: Box<dyn Read + Send>,
    chunks: SyncSender<Vec<u8>>,
    failures: &Sender<io::Error>,
    waker: &Waker,
) {
    if let Err(failure) = read(input, &chunks, waker) {
        // The receiver may have been dropped.
        let _ = failures.send(failure);
    }
    drop(chunks);
    waker.wake();
}

/// Reads the input to its end, or until the receiver is dropped.
fn read(
    mut input: Box<dyn Read + Send>,
    chunks: &SyncSender<Vec<u8>>,
    waker: &Waker,
) -> io::Result<()> {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let length = match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        chunk.truncate(length);
        if chunks.send(chunk).is_err() || length == 0 {
            return Ok(());
        }
        waker.wake();
    }
}

/// Body of the output's thread. If the output fails, received data can no longer be written, so the host is stopped.
fn drain(
    output: Box<dyn Write + Send>,
    chunks: &Receiver<Vec<u8>>,
    waker: &Waker,
) -> io::Result<()> {
    let written = write(output, chunks, waker);
    if written.is_err() {
        waker.stop();
    }
    written
}

fn write(
    mut output: Box<dyn Write + Send>,
    chunks: &Receiver<Vec<u8>>,
    waker: &Waker,
) -> io::Result<()> {
    while let Ok(chunk) = chunks.recv() {
        output.write_all(&chunk)?;
        waker.wake();
    }
    output.flush()
}

impl Application for Pipe {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        let Input::Chunks {
            chunks,
            current,
            used,
        } = &mut self.input
        else {
            return match self.input {
                Input::UntilPeerEnds => Supply::NothingNow,
                _ => Supply::End,
            };
        };
        if *used == current.len() {
            match chunks.try_recv() {
                Ok(chunk) if !chunk.is_empty() => {
                    *current = chunk;
                    *used = 0;
                }
                Err(TryRecvError::Empty) => return Supply::NothingNow,
                Ok(_) => {
                    self.input = Input::Ended;
                    return Supply::End;
                }
                Err(TryRecvError::Disconnected) => {
                    self.input = Input::Ended;
                    return Supply::Abort;
                }
            }
        }
        let length = room.len().min(current.len() - *used);
        room[..length].copy_from_slice(&current[*used..*used + length]);
        *used += length;
        Supply::Bytes(length)
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        let chunk = &bytes[..bytes.len().min(CHUNK_BYTES)];
        match self
            .output
            .as_ref()
            .map(|output| output.try_send(chunk.to_vec()))
        {
            Some(Err(TrySendError::Full(_))) => 0,
            // If the output has failed, the data is dropped: the output's thread has stopped the host.
            Some(Ok(()) | Err(TrySendError::Disconnected(_))) | None => chunk.len(),
        }
    }

    fn finished(&mut self) {
        self.output = None;
        if matches!(self.input, Input::UntilPeerEnds) {
            self.input = Input::Ended;
        }
    }

    fn closed(&mut self, outcome: &ConnectionReport) {
        // The receiver may have been dropped.
        let _ = self.outcome.send(*outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An input that yields a few bytes and then the given result.
    struct Source(Option<io::Result<usize>>, &'static [u8]);

    impl Read for Source {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            if self.1.is_empty() {
                return self.0.take().expect("nobody asks again");
            }
            self.1.read(room)
        }
    }

    /// Asks a pipe for bytes until there are no more. Returns the bytes and the last answer.
    fn supplied(pipe: &mut Pipe) -> (Vec<u8>, Supply) {
        let mut bytes = Vec::new();
        loop {
            let mut room = [0; 7];
            match pipe.supply(&mut room) {
                Supply::Bytes(length) => bytes.extend_from_slice(&room[..length]),
                Supply::NothingNow => thread::yield_now(),
                last => return (bytes, last),
            }
        }
    }

    #[test]
    fn a_failed_input_aborts_and_a_finished_input_ends() {
        for (last, expected) in [
            (Ok(0), Supply::End),
            (
                Err(io::Error::from(io::ErrorKind::IsADirectory)),
                Supply::Abort,
            ),
        ] {
            let input = Source(Some(last), b"some bytes");
            let waker = Waker::new().unwrap();
            let (mut pipe, end) =
                Pipe::new(Some(Box::new(input)), Box::new(io::sink()), &waker).unwrap();
            assert_eq!(supplied(&mut pipe), (b"some bytes".to_vec(), expected));
            drop(pipe);
            match (end.finish(), expected) {
                (Err(PipeError::Input(failure)), Supply::Abort) => {
                    assert_eq!(failure.kind(), io::ErrorKind::IsADirectory);
                }
                (Ok(None), Supply::End) => {}
                (finished, _) => panic!("{finished:?}"),
            }
        }
    }

    #[test]
    fn a_failed_output_is_reported_even_if_the_connection_is_over() {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let waker = Waker::new().unwrap();
        let (mut pipe, end) = Pipe::new(None, Box::new(full.unwrap()), &waker).unwrap();
        assert_eq!(pipe.take(b"bytes"), 5);
        pipe.finished();
        pipe.closed(&ConnectionReport {
            reason: None,
            negotiated: None,
            sender: None,
            path: dupack_tcp::connection::PathCounters::default(),
            segment_size: None,
            sent_bytes: 0,
            received_bytes: 5,
        });
        match end.finish() {
            Err(PipeError::Output(failure)) => {
                assert_eq!(failure.kind(), io::ErrorKind::StorageFull);
            }
            finished => panic!("{finished:?}"),
        }
        assert!(waker.is_stopping());
    }
}
