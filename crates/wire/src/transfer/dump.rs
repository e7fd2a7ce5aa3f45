//! Capture by tcpdump at a host's device. At this point, offloaded packets have not been cut into segments.

use std::io;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::namespace::{Child, Namespace};
use crate::path::Side;

/// Length of a pcap file's header in bytes. tcpdump writes the header when the capture has started.
const HEADER_BYTES: u64 = 24;

/// Maximum number of checks for the start of tcpdump.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Number of bytes kept of each packet: enough for all headers and options.
const SNAP: &str = "128";

/// A running tcpdump.
#[derive(Debug)]
pub(super) struct Dump(Child);

impl Dump {
    /// Starts to capture in `file` the packets that the device of `host` sends and receives.
    pub(super) fn start(host: &Namespace, side: Side, file: &Path) -> io::Result<Self> {
        let mut command = Command::new("tcpdump");
        command.args(["-i", side.device(), "-s", SNAP, "-B", "16384", "-U", "-n"]);
        // Without this option, tcpdump switches to a user that may lack write permission.
        command.args(["-Z", "root", "--immediate-mode"]);
        command.arg("--time-stamp-precision=nano");
        command.arg("-w").arg(file);
        let child = host.start(command).map_err(io::Error::other)?;
        for _ in 0..TRIES {
            if std::fs::metadata(file).is_ok_and(|made| made.len() >= HEADER_BYTES) {
                sleep(PAUSE);
                return Ok(Self(child));
            }
            sleep(PAUSE);
        }
        drop(child);
        Err(io::Error::other(
            "tcpdump did not start to capture; check that it is installed",
        ))
    }

    /// Ends tcpdump once it has written the captured packets.
    pub(super) fn finish(self) -> io::Result<()> {
        sleep(PAUSE);
        let number = i32::try_from(self.0.id()).map_err(io::Error::other)?;
        kill(Pid::from_raw(number), Signal::SIGINT)?;
        self.0.finish().map(drop)
    }
}
