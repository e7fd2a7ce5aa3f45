//! Checks of our captures with tshark and tcptrace (Debian packages of these names): the tools must find no malformed
//! packet and no wrong checksum, and must find every byte. If a tool is not installed, its checks are skipped with a
//! message that bypasses the test harness.

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Output};

/// Value of tshark's `tcp.checksum.status` and `ip.checksum.status` for a correct checksum.
pub const GOOD: &str = "1";
/// Value of these fields for a checksum that cannot be verified.
pub const UNVERIFIED: &str = "2";

/// Runs a tool and returns its output, or `None` if the tool is not installed.
///
/// # Panics
/// If the tool cannot be started for another reason.
pub fn run(tool: &str, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(tool);
    // The user's preferences are not used, because they may change any result, or may be unreadable.
    command
        .env("HOME", "/nonexistent")
        .env_remove("XDG_CONFIG_HOME");
    match command.args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // The test harness would hide the output of `eprintln`.
            let _ = writeln!(
                std::io::stderr(),
                "\n*** SKIPPED: {tool} is not installed, so captures are not checked with it"
            );
            None
        }
        Err(error) => panic!("{tool} does not run: {error}"),
    }
}

/// Arguments with which tshark dissects the payload of TCP as plain data, regardless of the ports. Some ports that a
/// kernel chooses for a client (34980, 48049, 57000) belong to protocols that our payload does not follow.
pub const DATA_ONLY: [&str; 2] = ["-d", "tcp.port==1-65535,data"];

/// Converts the output of a tool to text.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns one row per packet, with one string for each of `fields`. Returns `None` if tshark is not installed.
///
/// # Panics
/// If tshark fails.
pub fn tshark(path: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = path.to_str().expect("the path is UTF-8");
    let mut arguments = vec![
        "-r",
        path,
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
        "-T",
        "fields",
        "-E",
        "separator=|",
    ];
    arguments.extend(DATA_ONLY);
    for field in fields {
        arguments.extend(["-e", field]);
    }
    let output = run("tshark", &arguments)?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    Some(
        text(&output.stdout)
            .lines()
            .map(|line| line.split('|').map(str::to_owned).collect())
            .collect(),
    )
}

/// Part of each packet that a capture contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// The capture contains whole packets, so every checksum is verified.
    Verified,
    /// The capture contains whole short packets, but only the headers of long packets. Checksums of truncated packets
    /// cannot be verified.
    CutShort,
}

/// Checks with tshark that a capture of TCP has no fault, and returns the number of its packets. Returns `None` if
/// tshark is not installed.
///
/// # Panics
/// If there is a malformed packet or a wrong checksum, or if the packets are not captured as `data` states.
pub fn find_no_fault(path: &Path, data: Data) -> Option<usize> {
    let fields = [
        "_ws.malformed",
        "ip.version",
        "ip.checksum.status",
        "tcp.checksum.status",
        "frame.len",
        "frame.cap_len",
    ];
    let rows = tshark(path, &fields)?;
    let mut cut_short = 0;
    for (row, number) in rows.iter().zip(1..) {
        let [malformed, version, ip, tcp, length, captured] = row.as_slice() else {
            panic!("{row:?}");
        };
        let of_ip = if version == "4" { GOOD } else { "" };
        let of_tcp = if length == captured {
            GOOD
        } else {
            cut_short += 1;
            UNVERIFIED
        };
        assert_eq!(
            (malformed.as_str(), ip.as_str(), tcp.as_str()),
            ("", of_ip, of_tcp),
            "{}, packet {number}: {row:?}",
            path.display()
        );
    }
    let has_all = cut_short == 0;
    assert_eq!(has_all, data == Data::Verified, "{}", path.display());
    Some(rows.len())
}

/// Returns the two columns of `tcptrace -l`: one map per connection, from the label to the values (sender, receiver).
/// Returns `None` if tcptrace is not installed.
///
/// # Panics
/// If tcptrace fails or prints a warning.
pub fn tcptrace(path: &Path) -> Option<Vec<HashMap<String, (String, String)>>> {
    let output = run("tcptrace", &["-l", path.to_str().expect("UTF-8")])?;
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for complaint in ["WARNING", "Unknown", "PCAP error", "did not understand"] {
        assert!(!printed.contains(complaint), "{complaint} in {printed}");
        assert!(!text(&output.stderr).contains(complaint), "{complaint}");
    }
    let mut connections = Vec::new();
    for line in printed.lines() {
        if line.starts_with("TCP connection ") && !line.contains("info") {
            connections.push(HashMap::new());
        }
        let parts: Vec<&str> = line.split(':').map(str::trim).collect();
        if let ([label, left, right], Some(rows)) = (parts.as_slice(), connections.last_mut()) {
            let mut words = left.split_whitespace();
            let value = words.next().unwrap_or_default().to_owned();
            let other = right.split_whitespace().next().unwrap_or_default();
            rows.insert((*label).to_owned(), (value, other.to_owned()));
        }
    }
    Some(connections)
}
