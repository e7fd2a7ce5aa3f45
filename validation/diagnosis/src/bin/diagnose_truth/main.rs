//! `dupack diagnose` on real packets, held against what senders, kernel and path know: `cargo measure diagnose` writes
//! `docs/diagnose-truth.md`.
//!
//! Arguments: `--seed N` (1) for the paths' random numbers, `--jobs N` (3) for transfers at a time, `--only TEXT` for
//! those whose sender and path have it (`kernel:cubic over 2 % loss`), `--out DIR` for captures and what was wrong,
//! `--again` to diagnose the captures of an earlier run there instead of making transfers,
//! `--page FILE` for the page, `--what-if` for the predictions instead (`--repeat N`, 10, for how often each is held
//! against the wire).
//!
//! It takes root: namespaces, and the kernel's tracing, which is mounted in a mount namespace of its own where the
//! system has not. Everything that it makes ends with it.

#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod packets;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod score;
#[cfg(target_os = "linux")]
mod told;
#[cfg(target_os = "linux")]
mod truth;
#[cfg(target_os = "linux")]
mod what_if;
#[cfg(target_os = "linux")]
mod work;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    work::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("real packets need Linux");
}
