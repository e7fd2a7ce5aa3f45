//! Linux kernels and the congestion controls that they offer. A host offers the controls in the lists that it prints,
//! and a kernel version those that were introduced by its release.

use core::fmt;
use core::str::FromStr;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::deploy::Deployment;
use super::linux::{KernelControl, Setting, Usual};

/// Version of Linux, such as 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelVersion {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number; zero if there is none.
    pub patch: u16,
}

impl KernelVersion {
    /// Returns the version `major.minor`.
    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self::of(major, minor, 0)
    }

    /// Returns the version `major.minor.patch`.
    #[must_use]
    pub const fn of(major: u16, minor: u16, patch: u16) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        match self.patch {
            0 => Ok(()),
            patch => write!(f, ".{patch}"),
        }
    }
}

/// Error: the text does not name a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKernel {
    /// Text that was given.
    pub text: String,
}

impl fmt::Display for UnknownKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid kernel `{}`: expected a version, such as kernel:6.1",
            self.text.escape_debug()
        )
    }
}

impl core::error::Error for UnknownKernel {}

impl FromStr for KernelVersion {
    type Err = UnknownKernel;

    /// Reads `6.1`, `6.1.4` and the output of `uname -r`, such as `6.1.0-18-amd64`.
    fn from_str(text: &str) -> Result<Self, UnknownKernel> {
        let unknown = || UnknownKernel {
            text: text.to_string(),
        };
        let mut numbers = text.split(|c: char| !c.is_ascii_digit());
        let mut next = || numbers.next().and_then(|number| number.parse().ok());
        let (major, minor) = (next().ok_or_else(unknown)?, next().ok_or_else(unknown)?);
        // 2.6.13 differs from 2.6.12; in later versions the third number is ignored.
        let patch = next().filter(|_| major == 2).unwrap_or(0);
        Ok(Self {
            major,
            minor,
            patch,
        })
    }
}

/// Linux kernel with the congestion controls that it offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    name: String,
    offers: Offers,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Offers {
    /// Controls that a host lists, and modules that it can load.
    Listed {
        available: Vec<String>,
        modules: Vec<String>,
    },
    /// All controls with which a kernel of this version can be built.
    Released(KernelVersion),
}

/// Availability of a congestion control in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Built in or loaded.
    Ready,
    /// In a module that can be loaded.
    Module,
    /// Not available.
    Absent,
}

impl Kernel {
    /// Returns the kernel of a host. `release` is the output of `uname -r`, `available` the value of
    /// `net.ipv4.tcp_available_congestion_control`, and `modules` the names of the modules that the host can load (such
    /// as `tcp_bbr`).
    #[must_use]
    pub fn host(release: &str, available: &str, modules: Vec<String>) -> Self {
        let available = available.split_whitespace().map(str::to_string);
        Self {
            name: format!("this host, Linux {release}"),
            offers: Offers::Listed {
                available: available.collect(),
                modules,
            },
        }
    }

    /// Returns a kernel of `version` with all modules, as built by distributions.
    #[must_use]
    pub fn released(version: KernelVersion) -> Self {
        Self {
            name: format!("Linux {version}"),
            offers: Offers::Released(version),
        }
    }

    /// Returns the name of the kernel, such as `this host, Linux 6.1.0-18-amd64` or `Linux 6.1`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the availability of `control` in the kernel.
    #[must_use]
    pub fn presence(&self, control: &KernelControl) -> Presence {
        match &self.offers {
            Offers::Listed { available, modules } => {
                if available.iter().any(|name| *name == control.name) {
                    return Presence::Ready;
                }
                let module = control.module.as_ref();
                match module.is_some_and(|module| modules.iter().any(|name| name == module)) {
                    true => Presence::Module,
                    false => Presence::Absent,
                }
            }
            Offers::Released(version) if *version < control.since => Presence::Absent,
            Offers::Released(_) if control.is_built_in() => Presence::Ready,
            Offers::Released(_) => Presence::Module,
        }
    }

    /// Returns the commands, to be run as root, that make the kernel use a stack for all new connections; `None` if
    /// this is not possible. Settings that are Linux's defaults are not changed.
    #[must_use]
    pub fn commands(&self, deployment: &Deployment) -> Option<Vec<String>> {
        let control = deployment
            .control
            .as_ref()
            .filter(|_| deployment.is_possible())?;
        let mut commands = Vec::new();
        match self.presence(control) {
            Presence::Absent => return None,
            Presence::Ready => {}
            Presence::Module => {
                let module = control.module.iter();
                commands.extend(module.map(|module| format!("modprobe {module}")));
            }
        }
        let changed = deployment
            .settings
            .iter()
            .filter(|setting| setting.usual == Usual::No);
        commands.extend(changed.map(Setting::command));
        commands.push(control.command());
        Some(commands)
    }
}

impl FromStr for Kernel {
    type Err = UnknownKernel;

    /// Reads a version with or without the prefix `kernel:`, such as `kernel:6.1`.
    fn from_str(text: &str) -> Result<Self, UnknownKernel> {
        let unknown = |_| UnknownKernel {
            text: text.to_string(),
        };
        let version = text.strip_prefix("kernel:").unwrap_or(text);
        version.parse().map(Self::released).map_err(unknown)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::catalog::{Catalog, StackSpec};

    fn commands(kernel: &Kernel, stack: &str) -> Option<Vec<String>> {
        let spec = StackSpec::parse(stack, &Catalog::builtin()).unwrap();
        kernel.commands(&Deployment::of(&spec))
    }

    #[test]
    fn a_host_offers_what_it_lists_and_can_load() {
        let modules = vec!["tcp_vegas".to_string()];
        let host = Kernel::host("6.18.1", "reno cubic\n", modules);
        let cubic = "sysctl -w net.ipv4.tcp_congestion_control=cubic".to_string();
        assert_eq!(commands(&host, "rack/cubic"), Some(vec![cubic]));
        let vegas = commands(&host, "rack/vegas").unwrap();
        assert_eq!(vegas[0], "modprobe tcp_vegas");
        assert_eq!(commands(&host, "rack/westwood-linux"), None);
        assert_eq!(commands(&host, "le/cubic"), None);
    }

    #[test]
    fn a_version_offers_the_controls_that_existed_by_then() {
        let has = |kernel: &str, stack: &str| {
            let kernel: Kernel = kernel.parse().unwrap();
            commands(&kernel, stack).is_some()
        };
        assert!(has("kernel:6.1", "rack/veno"));
        assert!(!has("kernel:2.6.17", "rack/veno"));
        assert!(has("kernel:2.6.18", "rack/veno"));
        let cubic = commands(&"kernel:6.1".parse().unwrap(), "rack/cubic").unwrap();
        assert_eq!(cubic.len(), 1, "{cubic:?}");
    }

    #[test]
    fn a_text_that_names_no_kernel_is_an_error() {
        for text in ["kernel:", "6", "bsd", "kernel:six.one"] {
            let error = text.parse::<Kernel>().unwrap_err().to_string();
            assert!(error.contains("kernel:6.1"), "{error}");
        }
        let version: KernelVersion = "6.1.0-18-amd64".parse().unwrap();
        assert_eq!(version, KernelVersion::new(6, 1));
    }
}
