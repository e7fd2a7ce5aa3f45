//! Real connections over real packets (`dupack-packet` writes and reads the packets).
//!
//! [`Secret`] makes the numbers that strangers must not guess. The rest needs Linux, from the bottom up:
//!
//! | module | contents |
//! | --- | --- |
//! | `namespace` | network namespaces that vanish with the process |
//! | `device` | sources and sinks of packets, on which the following stand; a pair in memory |
//! | `tun` | a TUN device of the kernel's, with offload where it has it |
//! | `path` | the simulator's links in real time between two devices |
//! | `host` | connections over a device, and the applications that use them |
//! | `transfer` | one transfer over a path to a kernel that receives, every byte checked |

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

/// The README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
