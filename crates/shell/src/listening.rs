//! Waiting until a server listens.

use std::fs;
use std::io;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use dupack_wire::namespace::Namespace;
use nix::sys::signal::Signal;

use crate::supervise::{Signals, has_ended};

/// Number of checks until the shell stops waiting for a server: ten seconds (our choice; a server in Python needs half
/// a second).
const TRIES: u32 = 1000;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Result of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The server listens.
    Listens,
    /// The server has ended.
    Ended,
    /// A signal requested the end of this process.
    Interrupted(Signal),
    /// After ten seconds, the server does not listen and has not ended.
    Silent,
}

/// Waits until a socket in `home` listens. No socket may listen there before the server starts.
pub(crate) fn wait(home: &Namespace, server: &Child, signals: &Signals) -> io::Result<Waited> {
    for _ in 0..TRIES {
        if home.run(is_any) {
            return Ok(Waited::Listens);
        }
        if has_ended(server) {
            return Ok(Waited::Ended);
        }
        if let Some(signal) = signals.asked_to_end()? {
            return Ok(Waited::Interrupted(signal));
        }
        sleep(BETWEEN_TRIES);
    }
    Ok(Waited::Silent)
}

/// Returns `true` if a socket in the calling thread's namespace waits for connections or datagrams.
fn is_any() -> bool {
    let table = |name: &str| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{name}"));
        text.unwrap_or_default()
    };
    let tcp = ["tcp", "tcp6"]
        .into_iter()
        .any(|name| listens(&table(name)));
    tcp || ["udp", "udp6"]
        .into_iter()
        .any(|name| table(name).lines().count() > 1)
}

/// Returns `true` if a table of TCP sockets contains one in the state LISTEN.
fn listens(table: &str) -> bool {
    const STATE: usize = 3;
    const LISTEN: &str = "0A";
    let state = |line: &str| line.split_whitespace().nth(STATE) == Some(LISTEN);
    table.lines().skip(1).any(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_distinguished_from_a_connection() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue";
        let line = |state: &str| {
            format!("{head}\n   0: 0100007F:1F90 00000000:0000 {state} 00000000:00000000\n")
        };
        assert!(listens(&line("0A")));
        assert!(!listens(&line("01")) && !listens(head) && !listens(""));
    }
}
