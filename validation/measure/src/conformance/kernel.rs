//! Runs our own scripts against the kernel of this machine, by packetdrill in a separate network namespace for each
//! script.
//!
//! The settings in a new namespace are the kernel's defaults, but the congestion control cannot be set there. Therefore
//! a line is added to each script, which chooses the control of the script's first socket: CUBIC, unless the script
//! requests another control. Another added line gives the device a plain queue, because a fair queue would pace the
//! packets.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::results::{Played, Results, ScriptOutcome};

/// Runs scripts against the kernel.
pub struct Kernel<'p> {
    packetdrill: &'p Path,
    folder: PathBuf,
    release: String,
}

/// Tolerance of times in microseconds. A tolerance is necessary because the machine may send a packet late.
const TOLERANCE_US: u32 = 10_000;

/// Maximum duration of a script, in seconds.
const LONGEST_S: &str = "60";

/// Maximum number of attempts before a script counts as failed. Several attempts are necessary because packets are late
/// on a busy machine.
const TRIES: usize = 3;

/// A script that passes with every kernel.
const TRIAL: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 close(3) = 0\n";

/// Command that sets the queue of a namespace's device.
const QUEUE: &str = "tc qdisc replace dev tun0 root pfifo";

impl<'p> Kernel<'p> {
    /// Checks the requirements, and returns an error if a requirement is missing.
    pub fn new(packetdrill: &'p Path) -> Result<Self, String> {
        let mut namespace = Command::new("unshare");
        namespace.args(["--net", "true"]);
        dupack_build::output(&mut namespace)
            .map_err(|e| format!("network namespaces cannot be made here (be root): {e}"))?;
        let (release, _) = dupack_build::output(Command::new("uname").arg("-r"))?;
        let folder = dupack_build::target().join("conformance");
        fs::create_dir_all(&folder)
            .map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        let kernel = Self {
            packetdrill,
            folder,
            release: release.trim().to_owned(),
        };
        match kernel.once(TRIAL)? {
            None => Ok(kernel),
            Some((_, said)) => Err(format!("packetdrill cannot play scripts here: {said}")),
        }
    }

    /// Runs all scripts in `folder`.
    pub fn play(&self, folder: &Path) -> Result<Results, String> {
        let mut scripts = Vec::new();
        collect(folder, &mut scripts).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut played = Vec::new();
        for path in &scripts {
            let text = fs::read_to_string(path)
                .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            let short = path.strip_prefix(folder).unwrap_or(path);
            let mut came = self.once(&text)?;
            for _ in 1..TRIES {
                if came.is_some() {
                    came = self.once(&text)?;
                }
            }
            let (line, reason) = came.clone().unwrap_or_default();
            played.push(Played {
                script: short.display().to_string(),
                outcome: match came {
                    None => ScriptOutcome::Passed,
                    Some(_) => ScriptOutcome::Failed,
                },
                line,
                reason,
            });
        }
        Ok(Results {
            revision: format!("Linux {}", self.release),
            played,
        })
    }

    /// Runs a script once. Returns the line at which the kernel deviates and the deviation, or `None` if the script
    /// passes.
    fn once(&self, text: &str) -> Result<Option<(u64, String)>, String> {
        let path = self.folder.join("script.pkt");
        let (text, added) = prepared(text);
        fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        let mut command = Command::new("unshare");
        command.args(["--net", "timeout", LONGEST_S]);
        command.arg(self.packetdrill);
        command.arg(format!("--tolerance_usecs={TOLERANCE_US}"));
        let said = command
            .arg(&path)
            .output()
            .map_err(|e| format!("cannot start {}: {e}", self.packetdrill.display()))?;
        if said.status.success() {
            return Ok(None);
        }
        let said_of = String::from_utf8_lossy(&said.stderr).into_owned();
        let (line, reason) = told(&said_of);
        match (line, said.status.code()) {
            (0, Some(124)) => Ok(Some((0, "packetdrill did not terminate".to_owned()))),
            (0, _) => Ok(Some((
                0,
                said_of.lines().next().unwrap_or_default().to_owned(),
            ))),
            (line, _) => {
                let added = added.iter().filter(|at| **at <= line).count();
                Ok(Some((line - added as u64, reason)))
            }
        }
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<_> = folder.read_dir()?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
    Ok(())
}

/// Adds to the script a line that sets the queue and a line that chooses the control of the first socket. Returns the
/// new script and the numbers of the added lines.
fn prepared(text: &str) -> (String, Vec<u64>) {
    let control = control(text);
    let choice = format!(
        "   +0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"{control}\", {}) = 0",
        control.len()
    );
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut added = Vec::new();
    if let Some(commands) = lines.iter_mut().find(|line| line.starts_with('`')) {
        commands.insert_str(1, &format!("{QUEUE}; "));
    } else if let Some(at) = lines
        .iter()
        .position(|line| line.trim_start().starts_with("0 "))
    {
        lines.insert(at, format!("`{QUEUE}`"));
        added.push(at as u64 + 1);
    }
    let opens = |line: &String| line.contains("socket(") && line.trim_end().ends_with("= 3");
    if !text.contains("TCP_CONGESTION")
        && let Some(at) = lines.iter().position(opens)
    {
        lines.insert(at + 1, choice);
        added.push(at as u64 + 2);
    }
    (lines.join("\n") + "\n", added)
}

/// Returns the control that a script chooses by a sysctl, or CUBIC. The sysctl itself cannot be set in a namespace.
fn control(text: &str) -> &str {
    let asked = text.split_once("tcp_congestion_control=");
    let name = asked.map_or("", |(_, rest)| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
        &rest[..end.unwrap_or(rest.len())]
    });
    if name.is_empty() { "cubic" } else { name }
}

/// Returns the line number and the message in packetdrill's output: `script.pkt:12: error …`.
fn told(said: &str) -> (u64, String) {
    for line in said.lines() {
        let Some((_, rest)) = line.split_once("script.pkt:") else {
            continue;
        };
        let Some((number, message)) = rest.split_once(':') else {
            continue;
        };
        if let Ok(number) = number.trim().parse() {
            let mut message = message.trim().to_owned();
            let assertion = said
                .lines()
                .map(str::trim)
                .find(|line| line.starts_with("assert "));
            if let Some(assertion) = assertion {
                message = format!("{message}: {assertion}");
            }
            return (number, message);
        }
    }
    (0, String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_and_cubic_are_chosen_by_default() {
        let text = "// a\n 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n +0 listen(3, 1) = 0\n";
        let (more, added) = prepared(text);
        assert_eq!(added, [2, 4]);
        let lines: Vec<&str> = more.lines().collect();
        assert!(lines[1].starts_with("`tc qdisc") && lines[3].contains("cubic"));
        assert!(lines[4].contains("listen"));
        let chosen =
            "`sysctl a=1`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 TCP_CONGESTION\n";
        let (more, added) = prepared(chosen);
        assert!(
            added.is_empty() && more.starts_with("`tc qdisc replace dev tun0 root pfifo; sysctl")
        );
    }

    #[test]
    fn the_line_is_found_in_the_output_of_packetdrill() {
        let said = "/x/script.pkt:15: error handling packet: wrong flags\nscript packet: 1\n";
        assert_eq!(
            told(said),
            (15, "error handling packet: wrong flags".to_owned())
        );
        assert_eq!(told("no tun"), (0, String::new()));
    }
}
