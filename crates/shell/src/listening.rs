//! Waiting until a server listens.

use std::fs;
use std::io;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use dupack_wire::namespace::Namespace;
use nix::sys::signal::Signal;

use crate::supervise::{Signals, has_ended};

/// How long a server may take to listen: ten seconds (ours; one in Python takes half a second).
const TRIES: u32 = 1000;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// What came of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// It listens.
    Listens,
    /// It has ended.
    Ended,
    /// Somebody asked for the end.
    Interrupted(Signal),
    /// It neither listens nor has ended after ten seconds.
    Silent,
}

/// Waits until a socket in `home` listens, where there was none before.
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

/// Whether a socket of the calling thread's namespace waits for connections or datagrams.
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

/// Whether a table of TCP's sockets has one in the state LISTEN.
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
