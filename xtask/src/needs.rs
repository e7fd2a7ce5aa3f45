//! What the tests take beyond Rust, and what is left out where it is not installed.

use std::path::{Path, PathBuf};

use dupack_build::rustc;

/// What is found on a machine or not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    Program(&'static str),
    /// The standard library for another kind of machine.
    Target(&'static str),
}

/// A thing, what is not tested without it, and how to get it.
pub struct Need {
    pub thing: Thing,
    pub left_out: &'static str,
    pub remedy: &'static str,
}

/// The least that a machine without an operating system has: the endpoint shall run there.
pub const BARE: &str = "thumbv7em-none-eabihf";

/// A page in a browser, and Node.
pub const WASM: &str = "wasm32-unknown-unknown";

/// Whether the committed instruction counts are for this kind of machine.
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

/// Everything that some test needs.
pub const NEEDS: [Need; 9] = [
    VALGRIND,
    Need {
        thing: Thing::Program("tshark"),
        left_out: "captures are not held against it",
        remedy: "apt-get install tshark",
    },
    Need {
        thing: Thing::Program("tcptrace"),
        left_out: "captures are not held against it",
        remedy: "apt-get install tcptrace",
    },
    Need {
        thing: Thing::Program("curl"),
        left_out: "the endpoint is not held against it",
        remedy: "apt-get install curl",
    },
    Need {
        thing: Thing::Program("nginx"),
        left_out: "the endpoint is not held against it",
        remedy: "apt-get install nginx-light",
    },
    Need {
        thing: Thing::Program("iperf3"),
        left_out: "the endpoint is not held against it",
        remedy: "apt-get install iperf3",
    },
    NODE,
    NO_SYSTEM,
    WEB,
];

impl Thing {
    /// Whether it is here.
    pub fn is_here(self) -> bool {
        match self {
            Self::Program(name) => find(name).is_some(),
            Self::Target(name) => has_target(name),
        }
    }
}

impl Need {
    /// One line: what is missing, what is left out, what to do about it.
    pub fn told(&self) -> String {
        let name = match self.thing {
            Thing::Program(name) | Thing::Target(name) => name,
        };
        let (left_out, remedy) = (self.left_out, self.remedy);
        format!("{name} is missing: {left_out} (`{remedy}`)")
    }
}

/// Those that are not met here. Where nothing is counted, nobody misses valgrind.
pub fn missing() -> Vec<&'static Need> {
    let wanted = |need: &&Need| COMPARABLE || need.thing != VALGRIND.thing;
    let wanted = NEEDS.iter().filter(wanted);
    wanted.filter(|need| !need.thing.is_here()).collect()
}

/// Where a program is: where programs are looked for, or where those of the system are.
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
    fn what_is_here_is_found() {
        assert!(Thing::Program("sh").is_here());
        assert!(!Thing::Program("no-such-program").is_here());
        assert!(!Thing::Target("no-such-target").is_here());
    }

    #[test]
    fn what_is_missing_is_told_with_its_remedy() {
        let told = "node is missing: no experiment runs in WebAssembly (`apt-get install nodejs`)";
        assert_eq!(NODE.told(), told);
    }
}
