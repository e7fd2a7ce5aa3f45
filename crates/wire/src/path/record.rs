//! Captures the packets of the path in two files: one as seen at the near host, and one as seen at the far host.
//!
//! There are two files instead of one with two interfaces because tcptrace and tcpdump cannot read two interfaces of
//! raw IP (see [`capture`](dupack_packet::capture)), and Wireshark treats a packet that appears twice as a
//! retransmission. A packet was lost on the path if it is in the file of the end at which it entered but not in the
//! other file.
//!
//! The files contain packets as on a real link: long packets are cut into segments, and every checksum is complete. At
//! the entry, the timestamp is the time at which the packet was read. At the exit, it is the time after the packet was
//! written. Packets that the path does not carry, such as multicast, are in neither file.
//!
//! The path's thread copies packets into a channel and never blocks. A separate thread writes them. If the channel is
//! full, the packet is missing from the file and is counted.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use dupack_tcp::time::{Duration, Instant};
use thiserror::Error;

use super::Side;
use super::frame::Piece;
use crate::clock::WallClock;
use dupack_packet::capture::{CaptureError, CapturePart, CaptureTime, CaptureWriter, Snap};

/// Maximum number of packets that wait to be written: about 50 MB of packets of 1500 bytes. Each data packet is
/// captured twice and causes half an ACK on average, so a path of 400 Mbit/s fills the channel in a third of a second
/// if the writer stalls.
const WAITING: usize = 1 << 15;

/// Time that the writer sleeps if there is nothing to write. The writer polls, so that the path's thread need not spend
/// time on waking it.
const PAUSE: Duration = Duration::from_millis(5);

/// Names and contents of the capture files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFiles {
    /// File for packets that enter and leave at the near end. The file must not exist yet.
    pub near: PathBuf,
    /// File for packets that enter and leave at the far end. The file must not exist yet.
    pub far: PathBuf,
    /// Part of each packet to keep.
    pub snap: Snap,
}

/// Packet counts of a path's captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// Counts of the near end.
    pub near: Captured,
    /// Counts of the far end.
    pub far: Captured,
}

/// Packet counts of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Packets in the file.
    pub written: u64,
    /// Packets that are missing from the file because the disk was too slow.
    pub missed: u64,
}

/// Error that prevented or ended a capture.
#[derive(Debug, Error)]
#[error("cannot write the capture {}", path.display())]
pub struct CaptureFileError {
    path: PathBuf,
    source: CaptureError,
}

/// Writes both captures on a separate thread until all [`Tap`]s are dropped.
#[derive(Debug)]
pub(super) struct Recorder {
    thread: Option<JoinHandle<Result<[u64; 2], CaptureFileError>>>,
    missed: Missed,
}

/// Number of packets lost because the channel was full, for each side.
type Missed = Arc<[AtomicU64; 2]>;

/// Copies the packets of one direction of the path to the recorder.
#[derive(Debug)]
pub(super) struct Tap {
    /// Side at which packets enter.
    entry: Side,
    sightings: SyncSender<Sighting>,
    missed: Missed,
}

/// A copy of a packet.
#[derive(Debug)]
struct Sighting {
    side: Side,
    at: Instant,
    bytes: Vec<u8>,
}

impl Captures {
    /// Returns the number of packets that are missing from both files together.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.near.missed + self.far.missed
    }
}

impl Recorder {
    /// Creates the files and starts to write. Returns the taps of the forward and the backward direction. Packet times
    /// are measured by `clock`.
    pub(super) fn start(
        files: &CaptureFiles,
        clock: WallClock,
    ) -> Result<(Self, [Tap; 2]), CaptureFileError> {
        let create = |path: &Path| {
            let file = File::create_new(path);
            let file = file.map_err(CaptureFileError::at_start(path))?;
            Ok((path.to_owned(), file))
        };
        let files_made = [create(&files.near)?, create(&files.far)?];
        Self::start_writing(files_made, files.snap, clock, WAITING)
    }

    fn start_writing<W: Write + Send + 'static>(
        files: [(PathBuf, W); 2],
        snap: Snap,
        clock: WallClock,
        waiting: usize,
    ) -> Result<(Self, [Tap; 2]), CaptureFileError> {
        let (sender, receiver) = sync_channel(waiting);
        let missed = Missed::default();
        let taps = [Side::Near, Side::Far].map(|entry| Tap {
            entry,
            sightings: sender.clone(),
            missed: Arc::clone(&missed),
        });
        let near = files[0].0.clone();
        let job = move || write_all(files, snap, clock, &receiver);
        let thread = thread::Builder::new().name("capture".to_owned()).spawn(job);
        let thread = thread.map_err(CaptureFileError::at_start(&near))?;
        let recorder = Self {
            thread: Some(thread),
            missed,
        };
        Ok((recorder, taps))
    }

    /// Waits until everything is written. The path must have ended, because the writer runs until both taps are
    /// dropped.
    pub(super) fn finish(mut self) -> Result<Captures, CaptureFileError> {
        let written = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written?,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => [0; 2],
        };
        let captured = |side: Side| Captured {
            written: written[side.index()],
            missed: self.missed[side.index()].load(Ordering::Relaxed),
        };
        Ok(Captures {
            near: captured(Side::Near),
            far: captured(Side::Far),
        })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // When the thread has ended, the files are complete. `finish` returns the thread's result.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Tap {
    /// Records a packet that enters the path.
    pub(super) fn enters(&self, at: Instant, packet: &Piece<'_>) {
        self.see(self.entry, at, packet);
    }

    /// Records a packet that leaves the path at the other end.
    pub(super) fn leaves(&self, at: Instant, packet: &Piece<'_>) {
        self.see(self.entry.other(), at, packet);
    }

    fn see(&self, side: Side, at: Instant, packet: &Piece<'_>) {
        let bytes = [packet.head(), packet.tail].concat();
        match self.sightings.try_send(Sighting { side, at, bytes }) {
            // If the receiver is disconnected, the writer has failed. `finish` returns the error.
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => {
                self.missed[side.index()].fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Body of the writer's thread. Returns the number of packets in each file.
fn write_all<W: Write>(
    files: [(PathBuf, W); 2],
    snap: Snap,
    clock: WallClock,
    sightings: &Receiver<Sighting>,
) -> Result<[u64; 2], CaptureFileError> {
    let origin = CaptureTime::from_unix_nanos(clock.unix_nanos_at_zero());
    let [near, far] = files;
    let mut books = [
        Book::open(near, snap, "near end")?,
        Book::open(far, snap, "far end")?,
    ];
    loop {
        match sightings.try_recv() {
            Ok(Sighting { side, at, bytes }) => {
                books[side.index()].add(origin.after(at.since(Instant::ZERO)), &bytes)?;
            }
            Err(TryRecvError::Empty) => {
                thread::sleep(std::time::Duration::from_nanos(PAUSE.as_nanos()));
            }
            Err(TryRecvError::Disconnected) => break,
        }
    }
    let [near, far] = books;
    Ok([near.close()?, far.close()?])
}

/// One of the capture files.
struct Book<W: Write> {
    path: PathBuf,
    capture: CaptureWriter<W>,
    written: u64,
}

impl<W: Write> Book<W> {
    fn open(
        (path, file): (PathBuf, W),
        snap: Snap,
        interface: &str,
    ) -> Result<Self, CaptureFileError> {
        let capture = CaptureWriter::named(file, snap, interface);
        let capture = capture.map_err(CaptureFileError::of(&path))?;
        Ok(Self {
            path,
            capture,
            written: 0,
        })
    }

    fn add(&mut self, at: CaptureTime, packet: &[u8]) -> Result<(), CaptureFileError> {
        let written = self.capture.write(at, packet, None);
        written.map_err(CaptureFileError::of(&self.path))?;
        self.written += 1;
        Ok(())
    }

    fn close(self) -> Result<u64, CaptureFileError> {
        let finished = self.capture.finish();
        finished.map_err(CaptureFileError::of(&self.path))?;
        Ok(self.written)
    }
}

impl CaptureFileError {
    fn of(path: &Path) -> impl Fn(CaptureError) -> Self {
        move |source| Self {
            path: path.to_owned(),
            source,
        }
    }

    /// Wraps the error of a capture that cannot be started.
    fn at_start(path: &Path) -> impl Fn(io::Error) -> Self {
        let part = CapturePart::Header;
        move |source| Self::of(path)(CaptureError::Write { part, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Pending, Received};
    use crate::path::frame::Frame;

    fn frame() -> Frame {
        let mut bytes = Vec::new();
        etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .udp(50_000, 53)
            .write(&mut bytes, &[7; 100])
            .unwrap();
        let mut frame = Frame::default();
        let received = Received {
            at: Instant::ZERO,
            pending: Pending::NOTHING,
            bytes: &bytes,
        };
        frame.load(&received).unwrap();
        frame
    }

    /// A file that blocks until it is released.
    struct Stuck(std::sync::mpsc::Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn packets_without_room_are_counted_and_nobody_blocks() {
        const ROOM: usize = 10;
        const PACKETS: u64 = 500;
        let (go, wait) = std::sync::mpsc::channel();
        let (go_far, wait_far) = std::sync::mpsc::channel();
        let files = [("near", wait), ("far", wait_far)];
        let files = files.map(|(name, wait)| (PathBuf::from(name), Stuck(wait)));
        let (recorder, taps) =
            Recorder::start_writing(files, Snap::Full, WallClock::start(), ROOM).unwrap();
        for packet in 0..PACKETS {
            taps[0].enters(Instant::from_nanos(packet), &frame().cut_plain(0));
        }
        drop((taps, go, go_far));
        let captures = recorder.finish().unwrap();
        assert_eq!(captures.far, Captured::default());
        let Captured { written, missed } = captures.near;
        assert_eq!(written + missed, PACKETS);
        // The file's buffer takes some packets even while the file blocks.
        assert!(missed > 0 && written >= ROOM as u64, "{captures:?}");
    }

    #[test]
    fn a_full_disk_is_an_error_with_the_name_of_the_file() {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let files = [("a.near", full()), ("a.far", full())];
        let files = files.map(|(name, file)| (PathBuf::from(name), file));
        let (recorder, taps) =
            Recorder::start_writing(files, Snap::Full, WallClock::start(), 10).unwrap();
        taps[1].enters(Instant::ZERO, &frame().cut_plain(0));
        drop(taps);
        let error = recorder.finish().unwrap_err();
        assert!(error.to_string().contains("a.near"), "{error}");
        let CaptureError::Write { source, .. } = error.source else {
            panic!("{error:?}");
        };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let files = CaptureFiles {
            near: PathBuf::from("/dev/null"),
            far: PathBuf::from("/dev/null"),
            snap: Snap::Full,
        };
        let error = Recorder::start(&files, WallClock::start()).unwrap_err();
        assert!(error.to_string().contains("/dev/null"), "{error}");
    }
}
