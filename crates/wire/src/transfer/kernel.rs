//! What the kernel counts of its own TCP, per namespace. In one that was made for a single
//! transfer these are the counters of its sender.

use std::fs;
use std::io;

/// What a kernel's sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelStats {
    /// Retransmitted segments, those of the handshake included (`RetransSegs`, RFC 4022).
    pub retransmissions: u64,
    /// Retransmission timeouts (`TCPTimeouts`).
    pub timeouts: u64,
}

impl KernelStats {
    /// Those of the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell them.
    pub(super) fn read() -> io::Result<Self> {
        let read = |file: &str, group, name| {
            let text = fs::read_to_string(format!("/proc/thread-self/net/{file}"))?;
            counter(&text, group, name).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("no {group} {name} in {file}"),
                )
            })
        };
        Ok(Self {
            retransmissions: read("snmp", "Tcp:", "RetransSegs")?,
            timeouts: read("netstat", "TcpExt:", "TCPTimeouts")?,
        })
    }
}

/// A counter of a group: a line of names is followed by a line of values.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_below_its_name() {
        let text = "Ip: A B\nIp: 1 2\nTcp: MaxConn RetransSegs InErrs\nTcp: -1 77 3\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), Some(77));
        assert_eq!(counter(text, "Ip:", "B"), Some(2));
        assert_eq!(counter(text, "Tcp:", "MaxConn"), None);
        assert_eq!(counter(text, "Udp:", "A"), None);
    }
}
