//! Compares diagnoses of real packets by `dupack diagnose` with the truth that the senders, the kernel and the path
//! know. `cargo measure diagnose` runs this program and writes `docs/diagnose-truth.md`.
//!
//! Arguments: `--seed N` (1) for the random numbers of the paths, `--jobs N` (3) for the number of simultaneous
//! transfers, `--only TEXT` for transfers whose sender and path contain the text (`kernel:cubic over 2 % loss`), `--out
//! DIR` for captures and wrong diagnoses, `--again` to diagnose the captures of an earlier run in that folder again
//! without new transfers, `--page FILE` for the page, `--what-if` to measure predictions instead of diagnoses
//! (`--repeat N`, 10, is the number of real runs with which each prediction is compared).
//!
//! The command must run as root: it needs namespaces and the kernel's tracing. If necessary, the tracing is mounted in
//! a separate mount namespace. Everything that the command creates in the kernel is removed when the command ends.

#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod packets;
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
mod truth_page;
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
