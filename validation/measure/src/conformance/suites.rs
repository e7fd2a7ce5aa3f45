//! Scripts of other projects, and their scope.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// The contents of `suites.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suites {
    #[serde(rename = "suite")]
    pub suites: Vec<Suite>,
}

/// Scripts of one project.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Key of the suite in `reasons.toml` and in file names.
    pub key: String,
    pub name: String,
    pub source: String,
    /// File by which a folder with the scripts of this suite is recognised, relative to the folder.
    marker: String,
    /// A note about the scripts.
    pub note: Option<String>,
    /// MTU, in bytes, that the runner of the suite sets for IPv6 scripts that set no MTU.
    pub mtu_ipv6: Option<u16>,
    /// Folders about recovery and congestion control.
    #[serde(default)]
    pub counted: Vec<String>,
    #[serde(default)]
    pub out_of_scope: Vec<OutOfScope>,
    #[serde(default)]
    pub apart: Vec<Apart>,
}

/// A group of scripts that are out of scope.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutOfScope {
    prefix: String,
    pub why: String,
}

/// A group of scripts that are counted separately.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apart {
    prefix: String,
    pub name: String,
}

/// Scope of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    In,
    Apart,
    Out,
}

impl Suites {
    /// Reads `suites.toml`.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Returns the suite to which a folder of scripts belongs.
    pub fn of(&self, folder: &Path) -> Result<&Suite, String> {
        let found = self.suites.iter().find(|s| folder.join(&s.marker).exists());
        found.ok_or_else(|| {
            let names: Vec<&str> = self.suites.iter().map(|s| &*s.name).collect();
            format!("{} is none of {}", folder.display(), names.join(", "))
        })
    }
}

impl Suite {
    /// Returns the scope of a script.
    pub fn scope(&self, script: &str) -> Scope {
        if self
            .out_of_scope
            .iter()
            .any(|out| script.starts_with(&out.prefix))
        {
            Scope::Out
        } else if self
            .apart
            .iter()
            .any(|apart| script.starts_with(&apart.prefix))
        {
            Scope::Apart
        } else {
            Scope::In
        }
    }

    /// Returns the folder of a script, or the beginning of its name if all scripts are in one folder.
    pub fn group<'s>(&self, script: &'s str) -> &'s str {
        if let Some((folder, _)) = script.rsplit_once('/') {
            return folder;
        }
        let stem = script.trim_end_matches(".pkt");
        let name = stem.strip_prefix("tcp_").unwrap_or(stem);
        // The name of a script begins with its topic.
        let known = TWO_WORDS.iter().find(|known| name.starts_with(**known));
        match known {
            Some(known) => &name[..known.len()],
            None => name.split(['_', '-']).next().unwrap_or(name),
        }
    }
}

/// Topics in the names of Linux's scripts that have more than one word.
const TWO_WORDS: [&str; 9] = [
    "fast_recovery",
    "fastopen_server",
    "limited_transmit",
    "mtu_probe",
    "notsent_lowat",
    "slow_start",
    "syscall_bad_arg",
    "tcp_info",
    "user_timeout",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_well_formed_and_gives_scopes_and_groups() {
        let path = dupack_build::root().join("validation/peers/packetdrill/suites.toml");
        let suites = Suites::read(&path).expect("a file");
        let linux = &suites.suites[1];
        assert_eq!(linux.scope("tcp_fastopen_server_basic-rw.pkt"), Scope::Out);
        assert_eq!(linux.scope("tcp_accecn_noopt.pkt"), Scope::Apart);
        assert_eq!(linux.scope("tcp_basic_client.pkt"), Scope::In);
        assert_eq!(
            linux.group("tcp_slow_start_slow-start-app-limited.pkt"),
            "slow_start"
        );
        assert_eq!(linux.group("tcp_ooo-before-and-after-accept.pkt"), "ooo");
        assert_eq!(suites.suites[0].group("sack/a.pkt"), "sack");
        assert_eq!(linux.mtu_ipv6, Some(1520));
        let accurate = &suites.suites[2];
        assert_eq!(accurate.scope("reflector/syn-ce.pkt"), Scope::In);
        assert!(accurate.note.is_some());
        assert!(suites.of(Path::new("/")).is_err());
    }
}
