//! How fast bytes move between this machine's kernel and a TCP endpoint over a TUN device.
//!
//! `cargo run --release -p dupack-wire --example wire_speed -- --help`
//!
//! One run measures one endpoint: ours, smoltcp's, or a second kernel behind a thread that does
//! nothing but carry packets from one device to the other. The endpoint, or that thread, has one
//! core, the program that reads or writes on the kernel's side another. The line on standard
//! output says how many bytes crossed and what processor time both took for it; `cargo measure
//! wire-speed` runs all of them in turn and writes docs/wire-speed.md.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("TUN devices need Linux");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    linux::main()
}
