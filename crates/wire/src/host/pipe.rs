//! An application between a connection and two streams that may wait: files, pipes, terminals.
//!
//! Each stream has a thread of its own, and a few chunks of room between it and the host.

use std::io::{self, Read, Write};
use std::sync::mpsc::{
    Receiver, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use std::thread::{self, JoinHandle};

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
    writer: JoinHandle<()>,
}

impl PipeEnd {
    /// How the connection went, once everything has been written; `None` if there never was
    /// one. Call it when the host is gone, or it may wait for ever.
    #[must_use]
    pub fn finish(self) -> Option<Outcome> {
        // If the writer panicked, the panic has been reported, and nothing more is written.
        let _ = self.writer.join();
        self.outcome.try_recv().ok()
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
        let input = match input {
            None => Input::UntilPeerEnds,
            Some(input) => {
                let (sender, chunks) = sync_channel(CHUNKS);
                let waker = waker.clone();
                thread::Builder::new()
                    .name("input".to_owned())
                    .spawn(move || read(input, &sender, &waker))?;
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
            .spawn(move || write(output, &chunks, &waker))?;
        let (outcome, outcomes) = channel();
        let pipe = Self {
            input,
            output: Some(sender),
            outcome,
        };
        let end = PipeEnd {
            outcome: outcomes,
            writer,
        };
        Ok((pipe, end))
    }
}

/// The input's thread. An input that fails has ended.
fn read(mut input: Box<dyn Read + Send>, chunks: &SyncSender<Vec<u8>>, waker: &Waker) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(length) => {
                chunk.truncate(length);
                if chunks.send(chunk).is_err() {
                    return;
                }
                waker.wake();
            }
        }
    }
    // An empty chunk is the end.
    if chunks.send(Vec::new()).is_ok() {
        waker.wake();
    }
}

/// The output's thread. An output that fails ends the host: nobody reads any more.
fn write(mut output: Box<dyn Write + Send>, chunks: &Receiver<Vec<u8>>, waker: &Waker) {
    while let Ok(chunk) = chunks.recv() {
        if output.write_all(&chunk).is_err() {
            waker.stop();
            return;
        }
        waker.wake();
    }
    if output.flush().is_err() {
        waker.stop();
    }
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
                Ok(_) | Err(TryRecvError::Disconnected) => {
                    self.input = Input::Ended;
                    return Supply::End;
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
