//! An application between a connection and two streams that may wait: files, pipes, terminals.
//!
//! Each stream has a thread of its own, and a few chunks of room between it and the host. A stream
//! that fails aborts the connection: neither end takes a part for the whole.

use std::io::{self, Read, Write};
use std::sync::mpsc::{
    Receiver, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use std::thread::{self, JoinHandle};

use thiserror::Error;

use super::Waker;
use super::application::{Application, Outcome, Supply};

/// Bytes read or written at once, and chunks of them that wait at most.
const CHUNK_BYTES: usize = 1 << 16;
const CHUNKS: usize = 16;

/// Sends what an input gives until its end, and writes what comes to an output.
#[derive(Debug)]
pub struct Pipe {
    input: Input,
    /// `None` once the peer's stream has ended.
    output: Option<SyncSender<Vec<u8>>>,
    outcome: Sender<Outcome>,
}

/// What remains of a [`Pipe`] with whoever made it.
#[derive(Debug)]
pub struct PipeEnd {
    outcome: Receiver<Outcome>,
    /// Why the input ended before its end. Its thread may wait for the input for ever.
    input_failure: Receiver<io::Error>,
    writer: JoinHandle<io::Result<()>>,
}

/// Which stream of a pipe failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PipeError {
    /// The input: not everything has been sent.
    #[error("cannot read what is to be sent")]
    Input(#[source] io::Error),
    /// The output: not everything that came is there.
    #[error("cannot write what has come")]
    Output(#[source] io::Error),
}

impl PipeEnd {
    /// How the connection went, once everything has been written; `None` if there never was
    /// one. Call it when the host is gone, or it may wait for ever.
    ///
    /// # Errors
    ///
    /// If one of the streams failed, however the connection went.
    pub fn finish(self) -> Result<Option<Outcome>, PipeError> {
        // All that came is written first, whatever became of the input.
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

/// Where the bytes for the peer come from.
#[derive(Debug)]
enum Input {
    /// From chunks, the first of which has been sent in part.
    Chunks {
        chunks: Receiver<Vec<u8>>,
        current: Vec<u8>,
        used: usize,
    },
    /// From nowhere; the stream ends when the peer's does.
    UntilPeerEnds,
    Ended,
}

impl Pipe {
    /// A pipe that sends what `input` gives; without one, nothing, until the peer has ended its
    /// stream. `waker` is that of the host.
    ///
    /// # Errors
    ///
    /// If there is no room for a thread.
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

/// The input's thread. An empty chunk is the end of the input; a channel that closes without one
/// is its failure.
fn feed(
    input: Box<dyn Read + Send>,
    chunks: SyncSender<Vec<u8>>,
    failures: &Sender<io::Error>,
    waker: &Waker,
) {
    if let Err(failure) = read(input, &chunks, waker) {
        // Nobody may be waiting.
        let _ = failures.send(failure);
    }
    drop(chunks);
    waker.wake();
}

/// Reads the input to its end, or until nobody takes it any more.
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

/// The output's thread. An output that fails ends the host: nobody reads any more.
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
            // What nobody reads is thrown away; the output's thread has stopped the host.
            Some(Ok(()) | Err(TrySendError::Disconnected(_))) | None => chunk.len(),
        }
    }

    fn finished(&mut self) {
        self.output = None;
        if matches!(self.input, Input::UntilPeerEnds) {
            self.input = Input::Ended;
        }
    }

    fn closed(&mut self, outcome: &Outcome) {
        // Nobody may be waiting.
        let _ = self.outcome.send(*outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An input that gives a few bytes, and then what it is told.
    struct Source(Option<io::Result<usize>>, &'static [u8]);

    impl Read for Source {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            if self.1.is_empty() {
                return self.0.take().expect("nobody asks again");
            }
            self.1.read(room)
        }
    }

    /// Asks a pipe for bytes until it says that there are no more, and gives those and what it
    /// said.
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
    fn an_input_that_fails_aborts_and_one_that_ends_ends() {
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
    fn an_output_that_fails_is_told_though_the_connection_is_over() {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let waker = Waker::new().unwrap();
        let (mut pipe, end) = Pipe::new(None, Box::new(full.unwrap()), &waker).unwrap();
        assert_eq!(pipe.take(b"bytes"), 5);
        pipe.finished();
        pipe.closed(&Outcome {
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
