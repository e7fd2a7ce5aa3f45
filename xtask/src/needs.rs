//! Programs and targets that the tests need in addition to Rust, and the tests that are skipped without them.

use std::path::{Path, PathBuf};

use dupack_build::rustc;

/// A program or a target that may be installed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    Program(&'static str),
    /// The standard library for another platform.
    Target(&'static str),
}

/// A requirement, the checks that are skipped without it, and the command that installs it.
pub struct Need {
    pub thing: Thing,
    pub left_out: &'static str,
    pub remedy: &'static str,
}

/// Target of a platform without an operating system. The endpoint must compile for it.
pub const BARE: &str = "thumbv7em-none-eabihf";

/// Target of browsers and Node.
pub const WASM: &str = "wasm32-unknown-unknown";

/// `true` if the committed instruction counts are for this platform.
pub const COMPARABLE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

pub const VALGRIND: Need = Need {
    thing: Thing::Program("valgrind"),
    left_out: "instructions per packet are not counted",
    remedy: "apt-get install valgrind",
};
pub const NODE: Need = Need {
    thing: Thing::Program("node"),
    left_out: "no experiment runs in WebAssembly",
    remedy: "apt-get install nodejs",
};
pub const NO_SYSTEM: Need = Need {
    thing: Thing::Target(BARE),
    left_out: "the endpoint is not built for a machine without an operating system",
    remedy: "rustup target add thumbv7em-none-eabihf",
};
pub const WEB: Need = Need {
    thing: Thing::Target(WASM),
    left_out: "nothing is built for WebAssembly",
    remedy: "rustup target add wasm32-unknown-unknown",
};

pub const TYPOS: Need = Need {
    thing: Thing::Program("typos"),
    left_out: "spelling is not checked",
    remedy: "pip install typos",
};

/// Requirements of all tests.
pub const NEEDS: [Need; 10] = [
    VALGRIND,
    TYPOS,
    Need {
        thing: Thing::Program("tshark"),
        left_out: "captures are not compared with it",
        remedy: "apt-get install tshark",
    },
    Need {
        thing: Thing::Program("tcptrace"),
        left_out: "captures are not compared with it",
        remedy: "apt-get install tcptrace",
    },
    Need {
        thing: Thing::Program("curl"),
        left_out: "the endpoint is not tested with it",
        remedy: "apt-get install curl",
    },
    Need {
        thing: Thing::Program("nginx"),
        left_out: "the endpoint is not tested with it",
        remedy: "apt-get install nginx-light",
    },
    Need {
        thing: Thing::Program("iperf3"),
        left_out: "the endpoint is not tested with it",
        remedy: "apt-get install iperf3",
    },
    NODE,
    NO_SYSTEM,
    WEB,
];

impl Thing {
    /// Returns `true` if the program or target is installed.
    pub fn is_here(self) -> bool {
        match self {
            Self::Program(name) => find(name).is_some(),
            Self::Target(name) => has_target(name),
        }
    }
}

impl Need {
    /// Returns a line with the missing program or target, the skipped checks, and the remedy.
    pub fn message(&self) -> String {
        let name = match self.thing {
            Thing::Program(name) | Thing::Target(name) => name,
        };
        let (left_out, remedy) = (self.left_out, self.remedy);
        format!("{name} is missing: {left_out} (`{remedy}`)")
    }
}

/// Returns the requirements that are not met here. Valgrind is not required on a platform where instructions are not
/// counted.
pub fn missing() -> Vec<&'static Need> {
    let wanted = |need: &&Need| COMPARABLE || need.thing != VALGRIND.thing;
    let wanted = NEEDS.iter().filter(wanted);
    wanted.filter(|need| !need.thing.is_here()).collect()
}

/// Finds a program in the folders of `PATH` or in `/usr/sbin`.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let mut places = folders.map(|folder| folder.join(program));
    places.find(|place| place.is_file())
}

fn has_target(name: &str) -> bool {
    let folder = rustc(&["--print", "target-libdir", "--target", name]);
    folder.is_ok_and(|folder| Path::new(&folder).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_programs_are_found() {
        assert!(Thing::Program("sh").is_here());
        assert!(!Thing::Program("no-such-program").is_here());
        assert!(!Thing::Target("no-such-target").is_here());
    }

    #[test]
    fn a_missing_program_is_reported_with_its_remedy() {
        let told = "node is missing: no experiment runs in WebAssembly (`apt-get install nodejs`)";
        assert_eq!(NODE.message(), told);
    }
}
