//! TCP connections over real packets. The crate `dupack-packet` reads and writes the packets.
//!
//! [`Secret`] generates the numbers that an attacker must not be able to guess. The other modules need Linux. From the
//! bottom up:
//!
//! | module | contents |
//! | --- | --- |
//! | `namespace` | network namespaces that are removed when the process ends |
//! | `device` | sources and sinks of packets, the base of the modules below; a pair in memory |
//! | `tun` | a TUN device of the kernel, with offload if the kernel supports it |
//! | `path` | the simulator's links in real time between two devices |
//! | `host` | connections over a device, and the applications that use them |
//! | `transfer` | a transfer over a path to a receiver in the kernel, with every byte verified |

#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod device;
mod family;
#[cfg(target_os = "linux")]
pub mod host;
pub mod isn;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod path;
#[cfg(target_os = "linux")]
mod poll;
#[cfg(target_os = "linux")]
mod processor;
#[cfg(target_os = "linux")]
pub mod transfer;
#[cfg(target_os = "linux")]
pub mod tun;

pub use family::Family;
pub use isn::Secret;

/// Compiles the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
