//! Measures how fast bytes move between this machine's kernel and a TCP endpoint over a TUN device.
//!
//! `cargo run --release -p dupack-wire --example wire_speed -- --help`
//!
//! One run measures one endpoint: ours, smoltcp's, or a second kernel behind a thread that only relays packets between
//! two devices. The endpoint, or this thread, has one core. The program that reads or writes on the kernel's side has
//! another. The line on standard output contains the number of bytes transferred and the processor time of both sides.
//! `cargo measure wire-speed` runs all combinations and writes docs/wire-speed.md.

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
