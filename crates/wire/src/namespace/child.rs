//! Child processes that do not outlive this process.

use std::io;
use std::process::{Command, Output, Stdio};

/// A program of util-linux. It sets the signal that the kernel sends when the parent thread ends, and then executes
/// another program.
const SETPRIV: &str = "setpriv";

/// A running program, which is killed when this value is dropped.
#[derive(Debug)]
pub struct Child {
    /// `None` once the program has been waited for.
    process: Option<std::process::Child>,
}

impl Child {
    /// Starts `command` so that the program dies with the calling thread. Its input is empty, and its output is kept
    /// for [`finish`](Self::finish).
    pub(super) fn start(command: &Command) -> io::Result<Self> {
        let mut guarded = Command::new(SETPRIV);
        guarded
            .args(["--pdeathsig", "KILL", "--"])
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => guarded.env(name, value),
                None => guarded.env_remove(name),
            };
        }
        if let Some(directory) = command.get_current_dir() {
            guarded.current_dir(directory);
        }
        let process = guarded
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Self {
            process: Some(process),
        })
    }

    /// Returns the process ID of the program, or zero if it has ended.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.as_ref().map_or(0, std::process::Child::id)
    }

    /// Waits for the program to end and returns its output.
    ///
    /// # Errors
    ///
    /// Returns an error if waiting fails.
    pub fn finish(mut self) -> io::Result<Output> {
        match self.process.take() {
            Some(process) => process.wait_with_output(),
            None => Err(io::Error::other("the program has already been waited for")),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // Both calls fail only if the program has ended and has been waited for.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
