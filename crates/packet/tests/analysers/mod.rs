//! The tools that captures are for, tshark and tcptrace (Debian packages of these names), and
//! what they have to find: no malformed packet, no bad checksum, every byte. A tool that is not
//! installed is skipped, and that is said past the test harness.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Output};

/// Values of tshark's `tcp.checksum.status` and `ip.checksum.status`.
pub const GOOD: &str = "1";
pub const UNVERIFIED: &str = "2";

/// Runs a tool; `None` if it is not installed.
pub fn run(tool: &str, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(tool);
    // Nobody's preferences, which may say anything, or may not be read.
    command
        .env("HOME", "/nonexistent")
        .env_remove("XDG_CONFIG_HOME");
    match command.args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Not `eprintln`, which the harness keeps to itself when a test passes.
            let _ = writeln!(
                std::io::stderr(),
                "\n*** SKIPPED: {tool} is not installed, and captures are not held against it"
            );
            None
        }
        Err(error) => panic!("{tool} does not run: {error}"),
    }
}

/// Has tshark take what TCP carries for bytes, whatever the ports. Among those that a kernel picks
/// for a client there are some of protocols (34980, 48049, 57000), and ours is none of them.
pub const DATA_ONLY: [&str; 2] = ["-d", "tcp.port==1-65535,data"];

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One row for each packet, one string for each of `fields`.
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

/// How much of its packets a capture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// All of each: every checksum is verified.
    Verified,
    /// All of short ones, the headers of long ones, of which there are some. Checksums of packets
    /// that are cut short cannot be verified.
    CutShort,
}

/// Whether tshark finds a fault in a capture of TCP; says how many packets there are.
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

/// The two columns of `tcptrace -l`: (sender, receiver) by label, one map a connection.
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
